/*
 * qless-run over TLS: it has no other connection to the server.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "certs.h"
#include "peer.h"
#include "runner.h"
#include "unit.h"
#include "wait.h"

static struct tempdir certs;
static struct qlessd q;
static struct peer *p;
static struct runner r;
static char tls_port[8], cert[100], key[100], ca[100], client_cert[100], client_key[100];

static void name_file(char path[100], const char *name)
{
	snprintf(path, 100, "%s/%s", certs.path, name);
}

void setUp(void)
{
	runner_begin();
	tempdir_init(&certs);
	certs_make(&certs);
	name_file(cert, "server.crt");
	name_file(key, "server.key");
	name_file(ca, "ca.crt");
	name_file(client_cert, "client.crt");
	name_file(client_key, "client.key");
	snprintf(tls_port, sizeof tls_port, "%d", qlessd_free_port());
}

void tearDown(void)
{
	runner_stop(&r);
	peer_close_all();
	qlessd_stop(&q);
	runner_expect_no_orphans();
	tempdir_done(&certs);
	runner_done();
}

#define TLS_OPTIONS                                                             \
	"--tls-port", tls_port, "--tls-cert-file", cert, "--tls-key-file", key, \
		"--tls-ca-cert-file", ca

static void start_server(const char *auth_clients)
{
	QLESSD_START(&q, TLS_OPTIONS, "--tls-auth-clients", auth_clients);
	p = peer_connect(&q);
}

static bool has(const char *words, const char *text)
{
	return strstr(peer_ask(p, words), text) != NULL;
}

static void program_runs_a_job(void)
{
	start_server("no");
	RUNNER_START(&r, &q, "-p", tls_port, "--tls", "--cacert", ca, "-q", "mail", "--",
		     runner_handler(), "exit", "0", "");
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
}

static void worker_with_a_certificate_is_let_in(void)
{
	char uri[64];

	start_server("yes");
	snprintf(uri, sizeof uri, "rediss://127.0.0.1:%s", tls_port);
	RUNNER_START(&r, &q, "-u", uri, "--cacert", ca, "--cert", client_cert, "--key", client_key,
		     "-q", "mail", "--", runner_handler(), "exit", "0", "");
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
}

static void worker_goes_on_after_a_restart_of_the_server(void)
{
	start_server("no");
	RUNNER_START(&r, &q, "-p", tls_port, "--tls", "--cacert", ca, "-q", "mail", "--",
		     runner_handler(), "exit", "0", "");
	WAIT_UNTIL(has("QUEUES mail", "\"listeners\":1"));
	peer_close_all();
	TEST_ASSERT_EQUAL_INT(0, kill(q.pid, SIGTERM));
	qlessd_wait(&q);
	qlessd_start_again(&q,
			   (const char *const[]){ TLS_OPTIONS, "--tls-auth-clients", "no", NULL });
	p = peer_connect(&q);
	peer_ask(p, "PUT w mail j1 Send {} 0");
	WAIT_UNTIL(has("GET j1", "\"state\":\"complete\""));
}

static void unknown_certificate_of_the_server_ends_the_worker(void)
{
	start_server("no");
	/* The certificate of the client is that of no authority. */
	RUNNER_START(&r, &q, "-p", tls_port, "--tls", "--cacert", client_cert, "-q", "mail", "--",
		     runner_handler(), "exit", "0", "");
	TEST_ASSERT_EQUAL_INT(1 << 8, runner_wait(&r));
	TEST_ASSERT_TRUE(runner_has_logged(&r, "certificate"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(program_runs_a_job);
	RUN(worker_with_a_certificate_is_let_in);
	RUN(worker_goes_on_after_a_restart_of_the_server);
	RUN(unknown_certificate_of_the_server_ends_the_worker);
	return UNIT_RESULT();
}
