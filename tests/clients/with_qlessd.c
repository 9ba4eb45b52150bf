/*
 * usage: with_qlessd COMMAND [ARGUMENT]...
 *
 * Runs a client of Redis with a qlessd of its own. The environment of the client has the ports on
 * 127.0.0.1 in QLESSD_PORT and QLESSD_TLS_PORT, the first one also as a URL in QLESSD_URL, and the
 * directory of ca.crt, client.crt and client.key in QLESSD_TLS_DIR. The client may end that qlessd
 * with SIGTERM or SIGKILL, and it is then started again on the same port. Fails if the client
 * fails, or if qlessd ever ends with an error or by another signal.
 *
 * Standard output belongs to the client.
 */
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "certs.h"
#include "qlessd.h"
#include "unit.h"

#define EXIT_NOT_STARTED 127

static struct qlessd q;
static struct tempdir certs;
static char tls_port[8], cert[80], key[80], ca[80];
/* Clients publish on channels of the server to see what their subscribers receive. */
static const char *const arguments[] = { "--user",
					 "default",
					 "on",
					 "nopass",
					 "+@all",
					 "+@events",
					 "--tls-port",
					 tls_port,
					 "--tls-cert-file",
					 cert,
					 "--tls-key-file",
					 key,
					 "--tls-ca-cert-file",
					 ca,
					 NULL };
static char **client_argv;
static int client_output;
static pid_t client;

void setUp(void)
{
	tempdir_init(&certs);
	certs_make(&certs);
	snprintf(tls_port, sizeof tls_port, "%d", qlessd_free_port());
	snprintf(cert, sizeof cert, "%s/server.crt", certs.path);
	snprintf(key, sizeof key, "%s/server.key", certs.path);
	snprintf(ca, sizeof ca, "%s/ca.crt", certs.path);
	qlessd_start_with(&q, arguments);
}

void tearDown(void)
{
	if (client > 0)
		kill(client, SIGKILL);
	qlessd_stop(&q);
	tempdir_done(&certs);
}

static void start_client(void)
{
	char port[8], url[40];

	snprintf(port, sizeof port, "%d", q.port);
	snprintf(url, sizeof url, "redis://127.0.0.1:%d", q.port);
	setenv("QLESSD_PORT", port, 1);
	setenv("QLESSD_URL", url, 1);
	setenv("QLESSD_TLS_PORT", tls_port, 1);
	setenv("QLESSD_TLS_DIR", certs.path, 1);
	fflush(NULL);
	client = fork();
	if (client == 0) {
		dup2(client_output, STDOUT_FILENO);
		execvp(client_argv[0], client_argv);
		perror(client_argv[0]);
		_exit(EXIT_NOT_STARTED);
	}
	TEST_ASSERT_GREATER_THAN(0, client);
}

static bool was_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void the_client_is_content(void)
{
	int status = 0;
	pid_t ended;

	start_client();
	while ((ended = waitpid(-1, &status, 0)) != client) {
		TEST_ASSERT_EQUAL_INT(q.pid, ended);
		q.pid = 0;
		TEST_ASSERT_TRUE_MESSAGE(status == 0 || was_killed(status),
					 "qlessd did not end well");
		qlessd_start_again(&q, arguments);
	}
	client = 0;
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, status, "the client failed");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: with_qlessd COMMAND [ARGUMENT]...\n");
		return 2;
	}
	client_argv = argv + 1;
	client_output = dup(STDOUT_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO); /* for messages of Unity */
	UNITY_BEGIN();
	RUN_TEST(the_client_is_content);
	return UNIT_RESULT();
}
