/*
 * TLS: who may connect, that everything works as on plain connections, and what happens to clients
 * that do it wrong.
 */
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ahead.h"
#include "certs.h"
#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

#define MANY	   150
#define STALLED	   20
#define BULK_BYTES ((size_t)8 * 1024 * 1024)
#define MAX_ARGS   40

static struct qlessd q;
static struct tempdir dir;
static char file_names[8][100];
static struct ahead ahead;
static int port; /* the TLS port */
static char port_text[8];

/* The options of most clients. */
static const struct peer_tls anyone;

void setUp(void)
{
	tempdir_init(&dir);
	certs_make(&dir);
	port = qlessd_free_port();
	snprintf(port_text, sizeof port_text, "%d", port);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	tempdir_done(&dir);
}

/* Returns the path of a file in the directory of the certificates, valid for a few more calls. */
static const char *file(const char *name)
{
	static unsigned next;
	char *path = file_names[next++ % 8];

	snprintf(path, sizeof file_names[0], "%s/%s", dir.path, name);
	return path;
}

/* Start with the directives that every test needs, and then the given ones. */
static const char *const *with_tls(const char *const *more)
{
	static const char *args[MAX_ARGS];
	static char cert[100], key[100];
	int argc = 0;

	snprintf(cert, sizeof cert, "%s", file("server.crt"));
	snprintf(key, sizeof key, "%s", file("server.key"));
	for (const char *const *own =
		     (const char *const[]){ "--tls-port", port_text, "--tls-cert-file", cert,
					    "--tls-key-file", key, NULL };
	     *own != NULL; own++)
		args[argc++] = *own;
	while (*more != NULL && argc < MAX_ARGS - 1)
		args[argc++] = *more++;
	args[argc] = NULL;
	return args;
}

#define START(...)	qlessd_start_with(&q, with_tls((const char *const[]){ __VA_ARGS__, NULL }))
#define START_OPEN(...) START("--tls-auth-clients", "no", __VA_ARGS__)

/* Check that the start fails with a message. */
static void assert_refused(const char *text, const char *const *more)
{
	char *output;

	TEST_ASSERT_EQUAL_INT(1, qlessd_run(with_tls(more), &output));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, text), output);
	free(output);
}
#define REFUSED(text, ...) assert_refused(text, (const char *const[]){ __VA_ARGS__, NULL })

static struct peer *join(const struct peer_tls *tls)
{
	struct peer *p = peer_connect_tls(port, tls);

	TEST_ASSERT_NOT_NULL_MESSAGE(p, peer_tls_error());
	return p;
}

/* Returns the number of log lines with the text. */
static int count_logged(const char *text)
{
	char *log = textfile_read(q.log_path);
	int count = 0;

	for (char *at = strstr(log, text); at != NULL; at = strstr(at + 1, text))
		count++;
	free(log);
	return count;
}

/* With TLSv1.3, a refused client notices at its first read. */
static bool may_join(const struct peer_tls *tls)
{
	struct peer *p = peer_connect_tls(port, tls);
	bool may;

	if (p == NULL)
		return false;
	peer_send_text(p, "PING\r\n");
	may = peer_gets_more(p);
	if (may)
		peer_expect(p, "+PONG\r\n");
	peer_close(p);
	return may;
}

static int64_t info(const char *field)
{
	struct peer *p = peer_connect_unix(&q);
	int64_t value = peer_ask_number(p, "INFO everything", field);

	peer_close(p);
	return value;
}

/*
 * Requests and replies
 */

static void every_version_of_tls_runs_commands(void)
{
	const struct peer_tls new = { .ca = file("ca.crt") };
	const struct peer_tls old = { .ca = file("ca.crt"), .max_version = TLS1_2_VERSION };
	struct peer *p, *plain;

	START_OPEN(NULL);
	p = join(&new);
	ASK(p, "PUT w q j k {} 0", "$1\r\nj\r\n");
	ASK_HAS(p, "CLIENT INFO", " tls=TLSv1.3\n");
	ASK_HAS(p, "INFO tls", "tls_clients:1\r\n");
	p = join(&old);
	ASK(p, "LENGTH q", ":1\r\n");
	ASK_HAS(p, "CLIENT INFO", " tls=TLSv1.2\n");
	ASK_HAS(p, "INFO tls", "tls_handshakes:2\r\n");
	plain = peer_connect(&q);
	ASK_HAS(plain, "CLIENT INFO", " tls=no\n");
	ASK(plain, "LENGTH q", ":1\r\n");
}

static void only_the_configured_versions_of_tls_work(void)
{
	const struct peer_tls old = { .max_version = TLS1_2_VERSION };
	const struct peer_tls older = { .max_version = TLS1_1_VERSION };
	struct peer *p;

	START_OPEN(NULL);
	TEST_ASSERT_FALSE(may_join(&older));
	TEST_ASSERT_TRUE(may_join(&old));
	p = join(&anyone);
	ASK(p, "CONFIG SET tls-protocols TLSv1.3", "+OK\r\n");
	TEST_ASSERT_FALSE(may_join(&old));
	TEST_ASSERT_TRUE(may_join(&anyone));
	ASK(p, "CONFIG SET tls-protocols TLSv1.2 tls-ciphers ECDHE-ECDSA-AES256-GCM-SHA384",
	    "+OK\r\n");
	p = join(&anyone);
	TEST_ASSERT_EQUAL_STRING("ECDHE-ECDSA-AES256-GCM-SHA384", SSL_get_cipher(p->ssl));
	ASK_HAS(p, "CONFIG SET tls-ciphers nonsense", "no cipher match");
}

static void a_server_may_have_no_plain_port(void)
{
	START_OPEN("--port", "0");
	TEST_ASSERT_TRUE(may_join(&anyone));
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "7537"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "/tls"));
}

static void large_requests_and_replies_work_with_tls(void)
{
	char *bytes = malloc(BULK_BYTES + 1), header[40];
	struct peer *p;

	START_OPEN("--client-output-buffer-limit", "normal", "0", "0", "0");
	p = join(&anyone);
	for (size_t i = 0; i < BULK_BYTES; i++)
		bytes[i] = (char)('a' + i % 23);
	bytes[BULK_BYTES] = '\0';
	snprintf(header, sizeof header, "$%zu\r\n", BULK_BYTES);
	for (int i = 0; i < 3; i++) {
		peer_send_text(p, "*2\r\n$4\r\nECHO\r\n");
		peer_send_text(p, header);
		peer_send(p, bytes, BULK_BYTES);
		peer_send_text(p, "\r\n*1\r\n$4\r\nPING\r\n");
	}
	for (int i = 0; i < 3; i++) {
		peer_expect(p, header);
		peer_expect(p, bytes);
		peer_expect(p, "\r\n+PONG\r\n");
	}
	free(bytes);
}

/* More requests than fit into one read or one turn. All of them may be inside the session when
 * the socket has nothing more to report. */
static void requests_inside_the_session_are_run(void)
{
	static char requests[200000];
	struct peer *p;
	int count = 0;

	START_OPEN("--commands-per-turn", "10");
	p = join(&anyone);
	for (size_t used = 0; used + 12 < sizeof requests; count++)
		used += (size_t)sprintf(requests + used, "ECHO %d\r\n", 10000 + count % 1000);
	peer_send_text(p, requests);
	/* Nothing more arrives on a socket that stays open. */
	peer_close_notify(p);
	for (int i = 0; i < count; i++) {
		char reply[20];

		sprintf(reply, "$5\r\n%d\r\n", 10000 + i % 1000);
		peer_expect(p, reply);
	}
	peer_expect_end(p);
	TEST_ASSERT_TRUE(peer_was_notified(p));
}

static void a_paused_tls_client_continues(void)
{
	static char requests[200000];
	struct peer *p, *admin;
	size_t used = 0;
	int count = 0;

	START_OPEN(NULL);
	admin = peer_connect(&q);
	p = join(&anyone);
	ASK(p, "PING", "+PONG\r\n");
	ASK(admin, "CLIENT PAUSE 60000", "+OK\r\n");
	for (; used + 12 < sizeof requests; count++)
		used += (size_t)sprintf(requests + used, "PING\r\n");
	peer_send_text(p, requests);
	WAIT_UNTIL(info("blocked_clients:") == 1);
	ASK(admin, "CLIENT UNPAUSE", "+OK\r\n");
	peer_skip_replies(p, count);
	ASK(p, "ECHO end", "$3\r\nend\r\n");
}

static void a_tls_client_waits_for_jobs(void)
{
	struct peer *plain, *worker, *gone;

	START_OPEN(NULL);
	plain = peer_connect_unix(&q);
	gone = join(&anyone);
	worker = join(&anyone);
	peer_send_words(gone, "BPOP 0 w0 1 q");
	WAIT_UNTIL(info("blocked_clients:") == 1);
	peer_send_words(worker, "BPOP 0 w1 1 q");
	WAIT_UNTIL(info("blocked_clients:") == 2);
	peer_close(gone);
	ASK(plain, "PUT w q j klass {} 0", "$1\r\nj\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(worker), "\"worker\":\"w1\""));
	ASK(worker, "BPOP 0.01 w1 1 q", "*-1\r\n");
	peer_send_words(worker, "BPOP 0 w1 1 q");
	WAIT_UNTIL(info("blocked_clients:") == 1);
	peer_send_words(plain, "SHUTDOWN");
	peer_expect_end(worker);
	TEST_ASSERT_TRUE(peer_was_notified(worker));
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
}

static void keys_can_be_updated_at_any_time(void)
{
	struct peer *p;

	START_OPEN(NULL);
	p = join(&anyone);
	for (int i = 0; i < 5; i++) {
		TEST_ASSERT_EQUAL_INT(1, SSL_key_update(p->ssl, SSL_KEY_UPDATE_REQUESTED));
		ASK(p, "PING", "+PONG\r\n");
	}
}

static void renegotiation_is_refused(void)
{
	const struct peer_tls old = { .max_version = TLS1_2_VERSION };
	struct peer *p;

	START_OPEN(NULL);
	p = join(&old);
	ASK(p, "PING", "+PONG\r\n");
	SSL_renegotiate(p->ssl);
	SSL_do_handshake(p->ssl);
	peer_expect_end(p);
	TEST_ASSERT_TRUE(may_join(&old));
}

static void a_session_can_be_resumed(void)
{
	struct peer_tls tls = { .ca = file("ca.crt"),
				.cert = file("client.crt"),
				.key = file("client.key") };
	struct peer *p;

	START("--tls-ca-cert-file", file("ca.crt"));
	p = join(&tls);
	ASK(p, "PING", "+PONG\r\n");
	tls.session = SSL_get1_session(p->ssl);
	p = join(&tls);
	ASK_HAS(p, "INFO tls", "tls_handshakes_resumed:1\r\n");
	SSL_SESSION_free(tls.session);
}

static void a_tls_client_over_its_output_limit_is_closed(void)
{
	static char requests[3000];
	struct peer *p;
	size_t used = 0;

	START_OPEN("--client-output-buffer-limit", "normal", "2mb", "0", "0");
	peer_connect_small_buffers(true);
	p = join(&anyone);
	while (used + 20 < sizeof requests)
		used += (size_t)sprintf(requests + used, "COMMAND\r\n");
	peer_send_text(p, requests);
	WAIT_UNTIL(qlessd_has_logged(&q, "client closed for reaching client-output-buffer-limit"));
	WAIT_UNTIL(info("tls_clients:") == 0);
	TEST_ASSERT_TRUE(may_join(&anyone));
}

static void a_slow_tls_reader_gets_everything(void)
{
	char *bytes = malloc(BULK_BYTES), header[40];
	struct peer *p;

	START_OPEN("--client-output-buffer-limit", "normal", "0", "0", "0");
	peer_connect_small_buffers(true);
	p = join(&anyone);
	memset(bytes, 'x', BULK_BYTES);
	snprintf(header, sizeof header, "$%zu\r\n", BULK_BYTES);
	peer_send_text(p, "*2\r\n$4\r\nECHO\r\n");
	peer_send_text(p, header);
	peer_send(p, bytes, BULK_BYTES);
	peer_send_text(p, "\r\n");
	WAIT_UNTIL(info("client_max_output_buffer:") > 0);
	/* Small replies follow, so that records consist of many pieces. */
	for (int i = 0; i < 500; i++)
		peer_send_text(p, "PING\r\n");
	peer_send_text(p, "QUIT\r\n");
	peer_expect(p, header);
	peer_skip(p, BULK_BYTES + 2);
	for (int i = 0; i < 500; i++)
		peer_expect(p, "+PONG\r\n");
	peer_expect(p, "+OK\r\n");
	peer_expect_end(p);
	TEST_ASSERT_TRUE(peer_was_notified(p));
	free(bytes);
}

static void many_tls_clients_can_connect(void)
{
	struct peer *peers[MANY];

	START_OPEN(NULL);
	for (int i = 0; i < MANY; i++)
		peers[i] = join(&anyone);
	for (int i = 0; i < MANY; i++)
		peer_send_text(peers[i], "PING\r\n");
	for (int i = 0; i < MANY; i++)
		peer_expect(peers[i], "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(MANY, info("tls_clients:"));
	for (int i = 0; i < MANY; i += 2)
		peer_reset(peers[i]);
	for (int i = 1; i < MANY; i += 2)
		peer_close(peers[i]);
	WAIT_UNTIL(info("tls_clients:") == 0);
}

static void the_end_of_a_session_is_announced(void)
{
	struct peer *leaver, *other;

	START_OPEN(NULL);
	leaver = join(&anyone);
	other = join(&anyone);
	ASK(other, "SUBSCRIBE news", "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n");
	ASK(leaver, "QUIT", "+OK\r\n");
	peer_expect_end(leaver);
	TEST_ASSERT_TRUE(peer_was_notified(leaver));
	kill(q.pid, SIGTERM);
	peer_expect_end(other);
	TEST_ASSERT_TRUE(peer_was_notified(other));
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
}

/*
 * Permissions
 */

static void a_client_certificate_can_be_required(void)
{
	const struct peer_tls client = { .cert = file("client.crt"), .key = file("client.key") };
	const struct peer_tls stranger = { .cert = file("stranger.crt"),
					   .key = file("stranger.key") };
	struct peer *p;

	START("--tls-ca-cert-file", file("ca.crt"));
	TEST_ASSERT_TRUE(may_join(&client));
	TEST_ASSERT_FALSE(may_join(&stranger));
	TEST_ASSERT_FALSE(may_join(&anyone));
	TEST_ASSERT_EQUAL_INT64(2, info("tls_handshake_failures:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "TLS handshake failed"));
	p = peer_connect(&q);
	ASK(p, "CONFIG SET tls-auth-clients optional", "+OK\r\n");
	TEST_ASSERT_TRUE(may_join(&client));
	TEST_ASSERT_FALSE(may_join(&stranger));
	TEST_ASSERT_TRUE(may_join(&anyone));
	ASK(p, "CONFIG SET tls-auth-clients no", "+OK\r\n");
	TEST_ASSERT_TRUE(may_join(&stranger));
}

static void cas_can_be_in_a_directory(void)
{
	const struct peer_tls client = { .cert = file("client.crt"), .key = file("client.key") };
	char command[300];
	struct peer *p;

	START("--tls-ca-cert-dir", dir.path);
	TEST_ASSERT_FALSE(may_join(&client));
	p = peer_connect(&q);
	ASK_HAS(p, "CONFIG SET tls-ca-cert-dir /nosuch/dir", "No such file or directory");
	peer_close(p);
	/* With the names that openssl rehash makes. */
	snprintf(command, sizeof command,
		 "cd %s && ln -s ca.crt $(openssl x509 -in ca.crt -noout -hash).0", dir.path);
	TEST_ASSERT_EQUAL_INT(0, system(command));
	TEST_ASSERT_TRUE(may_join(&client));
}

/*
 * Files
 */

static void invalid_files_are_errors_at_the_start(void)
{
	REFUSED("tls-auth-clients: certificates of clients can only be checked with", "--port",
		"0");
	REFUSED("tls-ca-cert-file /nosuch/ca: No such file", "--tls-ca-cert-file", "/nosuch/ca");
	REFUSED("tls-cert-file /nosuch/cert: No such file", "--tls-cert-file", "/nosuch/cert",
		"--tls-auth-clients", "no");
	REFUSED("the key does not match the certificate in", "--tls-key-file", file("client.key"),
		"--tls-auth-clients", "no");
	REFUSED("server.key: no start line", "--tls-cert-file", file("server.key"),
		"--tls-auth-clients", "no");
	REFUSED("tls-ciphersuites nonsense: no cipher match", "--tls-ciphersuites", "nonsense",
		"--tls-auth-clients", "no");
	if (geteuid() == 0) {
		TEST_ASSERT_EQUAL_INT(0, chmod(dir.path, 0755));
		REFUSED("server.key: Permission denied", "--run-as", "65534:65534",
			"--tls-auth-clients", "no");
	}
	certs_encrypt_key(&dir, "open sesame");
	REFUSED("tls-key-file ", "--tls-auth-clients", "no");
	REFUSED("tls-key-file ", "--tls-auth-clients", "no", "--tls-key-file-pass", "wrong");
	START_OPEN("--tls-key-file-pass", "open sesame");
	TEST_ASSERT_TRUE(may_join(&anyone));
}

static void doubtful_files_are_logged(void)
{
	struct peer *p;

	certs_make_server(&dir, -10 * CERTS_DAY_S, 3 * CERTS_DAY_S + 7200);
	TEST_ASSERT_EQUAL_INT(0, chmod(file("server.key"), 0644));
	START_OPEN(NULL);
	TEST_ASSERT_TRUE(
		qlessd_has_logged(&q, "tls-cert-file expires in less than 14 days, at 20"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "every user can read the private "
					       "key"));
	TEST_ASSERT_INT64_WITHIN(60, time(NULL) + 3 * CERTS_DAY_S + 7200,
				 info("tls_certificate_expires_unix_seconds:"));
	certs_make_server(&dir, -10 * CERTS_DAY_S, -1);
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "tls-cert-file expired"));
	WAIT_UNTIL(qlessd_has_logged(&q, "certificate and key reloaded"));
	/* A client that does not verify goes on working. */
	p = join(&anyone);
	ASK(p, "PING", "+PONG\r\n");
	certs_make_server(&dir, CERTS_DAY_S, 30 * CERTS_DAY_S);
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "is not valid yet"));
}

static void a_reload_uses_the_new_certificate(void)
{
	const struct peer_tls wary = { .ca = file("ca.crt") };
	struct peer *p;

	START_OPEN(NULL);
	p = join(&wary);
	certs_make_server(&dir, -1, 30 * CERTS_DAY_S);
	TEST_ASSERT_TRUE(may_join(&wary));
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "certificate and key reloaded"));
	TEST_ASSERT_FALSE(may_join(&wary));
	/* An open connection keeps its certificate. */
	ASK(p, "PING", "+PONG\r\n");
	certs_make(&dir);
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(may_join(&wary));
	ASK(p, "PING", "+PONG\r\n");
}

static void an_invalid_certificate_keeps_the_old_one(void)
{
	const struct peer_tls wary = { .ca = file("ca.crt") };
	struct peer *p;

	START_OPEN(NULL);
	textfile_write(file("server.crt"), "nonsense\n");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "cannot reload the certificate, the old one stays in use: "
					 "tls-cert-file "));
	p = join(&wary);
	ASK_HAS(p, "CONFIG SET maxclients 500 tls-cert-file /nosuch/cert",
		"tls-cert-file /nosuch/cert: No such file or directory");
	ASK_HAS(p, "CONFIG GET maxclients", "10000");
	ASK_HAS(p, "CONFIG SET tls-key-file ", "tls-port needs a certificate and its key");
	TEST_ASSERT_TRUE(may_join(&wary));
}

static void a_certificate_can_be_replaced_by_another_file(void)
{
	const struct peer_tls wary = { .ca = file("ca.crt") };
	char words[400];
	struct peer *p;

	START_OPEN(NULL);
	p = join(&wary);
	snprintf(words, sizeof words, "CONFIG SET tls-cert-file %s tls-key-file %s",
		 file("stranger.crt"), file("stranger.key"));
	ASK(p, words, "+OK\r\n");
	TEST_ASSERT_FALSE(may_join(&wary));
	TEST_ASSERT_TRUE(may_join(&anyone));
	ASK(p, "PING", "+PONG\r\n");
}

static void write_names(const char *config, const char *cert, const char *key)
{
	char text[400];

	snprintf(text, sizeof text, "tls-cert-file %s\ntls-key-file %s\ntls-auth-clients no\n",
		 file(cert), file(key));
	textfile_write(config, text);
}

static void a_reload_takes_certificates_from_where_they_are_now(void)
{
	char config[100];

	snprintf(config, sizeof config, "%s", file("qlessd.conf"));
	write_names(config, "server.crt", "server.key");
	QLESSD_START(&q, config, "--tls-port", port_text);
	TEST_ASSERT_TRUE(may_join(&anyone));
	TEST_ASSERT_EQUAL_INT(0, rename(file("server.crt"), file("moved.crt")));
	TEST_ASSERT_EQUAL_INT(0, rename(file("server.key"), file("moved.key")));
	write_names(config, "moved.crt", "moved.key");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "cannot reload the certificate") ||
		   qlessd_has_logged(&q, "certificate and key reloaded"));
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "cannot reload the certificate"));
	TEST_ASSERT_TRUE(may_join(&anyone));
}

/*
 * Clients that do it wrong
 */

static void a_plain_client_on_the_tls_port_gets_an_error(void)
{
	struct peer *p;

	START_OPEN(NULL);
	for (int i = 0; i < 20; i++) {
		p = peer_connect_to("127.0.0.1", port);
		peer_send_text(p, i % 2 == 0 ? "PING\r\n" : "GET / HTTP/1.1\r\n\r\n");
		peer_expect(p, "-ERR this port is for TLS only\r\n");
		peer_expect_end(p);
		peer_close(p);
	}
	TEST_ASSERT_EQUAL_INT64(20, info("tls_handshake_failures:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "TLS handshake failed"));
	TEST_ASSERT_TRUE(count_logged("TLS handshake failed") < 10);
}

static void a_tls_client_on_the_plain_port_gets_an_error(void)
{
	START_OPEN(NULL);
	TEST_ASSERT_NULL(peer_connect_tls(q.port, &anyone));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(peer_tls_error(), "wrong version number"),
				     peer_tls_error());
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "client closed for breaking the protocol"));
	TEST_ASSERT_TRUE(may_join(&anyone));
}

/* Returns false if the server has closed the connection. */
static bool update_keys(struct peer *p)
{
	return SSL_key_update(p->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
	       SSL_do_handshake(p->ssl) == 1;
}

static void a_flood_of_key_updates_closes_the_connection(void)
{
	struct peer *p, *other;

	START_OPEN(NULL);
	p = join(&anyone);
	ASK(p, "PING", "+PONG\r\n");
	for (int i = 0; i < 1000 && update_keys(p); i++)
		continue;
	peer_expect_end(p);
	other = join(&anyone);
	ASK(other, "PING", "+PONG\r\n");
}

static void keys_may_be_updated_often_between_requests(void)
{
	struct peer *p;

	START_OPEN(NULL);
	p = join(&anyone);
	for (int i = 0; i < 500; i++) {
		TEST_ASSERT_TRUE(update_keys(p));
		ASK(p, "PING", "+PONG\r\n");
	}
}

/* The beginning of a ClientHello that announces 512 bytes. */
static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

static void leaving_during_the_handshake_does_no_harm(void)
{
	START_OPEN(NULL);
	for (int i = 0; i < 30; i++) {
		struct peer *p = peer_connect_to("127.0.0.1", port);

		if (i % 3 != 0)
			peer_send(p, hello, (size_t)(1 + i % 11));
		if (i % 2 == 0)
			peer_close(p);
		else
			peer_reset(p);
	}
	WAIT_UNTIL(info("tls_handshake_failures:") == 30);
	WAIT_UNTIL(info("tls_clients:") == 0);
	TEST_ASSERT_TRUE(may_join(&anyone));
}

static void an_invalid_handshake_closes_the_connection(void)
{
	char bytes[600];
	struct peer *p;

	START_OPEN(NULL);
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 37);
	memcpy(bytes, hello, sizeof hello - 1);
	p = peer_connect_to("127.0.0.1", port);
	peer_send(p, bytes, sizeof bytes);
	/* An alert, and then the end. */
	peer_expect(p, "\x15\x03");
	WAIT_UNTIL(info("tls_handshake_failures:") == 1);
	TEST_ASSERT_TRUE(may_join(&anyone));
}

/* A ClientHello of 64 KiB, a byte in each record. It is not complete. */
static void a_handshake_in_too_many_records_fails(void)
{
	static const char record[] = "\x16\x03\x01\x00\x01";
	static const char begin[] = "\x01\x00\xff\xff\x03\x03";
	struct peer *p;

	START_OPEN(NULL);
	p = peer_connect_to("127.0.0.1", port);
	for (size_t i = 0; i < 1000; i++) {
		char bytes[sizeof record];

		memcpy(bytes, record, sizeof record - 1);
		bytes[sizeof record - 1] = i < sizeof begin - 1 ? begin[i] : 0;
		peer_send_blindly(p, bytes, sizeof bytes);
	}
	peer_expect_end(p);
	TEST_ASSERT_EQUAL_INT64(1, info("tls_handshake_failures:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "too many TLS records without data"));
}

/* Returns the bytes with which an ordinary client begins. */
static size_t make_hello(char *to, size_t size)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = SSL_new(ctx);
	BIO *out = BIO_new(BIO_s_mem());
	int len;

	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
	SSL_set_connect_state(ssl);
	SSL_do_handshake(ssl);
	len = BIO_read(out, to, (int)size);
	TEST_ASSERT_TRUE(len > 0 && (size_t)len < size);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	return (size_t)len;
}

/* Returns the processor time of the longest turn, in microseconds, when `count` handshakes begin at
 * once. */
static int64_t begin_handshakes(struct peer *monitor, int count)
{
	char bytes[4096];
	size_t len = make_hello(bytes, sizeof bytes);
	struct peer *peers[MANY];

	ASK(monitor, "CONFIG RESETSTAT", "+OK\r\n");
	kill(q.pid, SIGSTOP);
	for (int i = 0; i < count; i++) {
		peers[i] = peer_connect_to("127.0.0.1", port);
		peer_send_blindly(peers[i], bytes, len);
	}
	kill(q.pid, SIGCONT);
	for (int i = 0; i < count; i++) {
		TEST_ASSERT_TRUE(peer_gets_more(peers[i]));
		peer_close(peers[i]);
	}
	return peer_ask_number(monitor, "INFO stats", "eventloop_cpu_max:");
}

/* A turn begins up to eight handshakes, but only one of several milliseconds. */
static void handshakes_with_a_large_key_take_several_turns(void)
{
	struct peer *monitor;
	int64_t one, many;

	certs_make_large_key(&dir);
	START_OPEN(NULL);
	monitor = peer_connect(&q);
	one = begin_handshakes(monitor, 1);
	many = begin_handshakes(monitor, 40);
	TEST_ASSERT_TRUE_MESSAGE(many < 4 * one, "a turn had many handshakes");
}

static void a_slow_handshake_is_closed(void)
{
	struct peer *stalled[STALLED], *p;

	ahead_init(&ahead);
	ahead_begin_start();
	START_OPEN("--tls-handshake-timeout", "1000");
	ahead_end_start();
	for (int i = 0; i < STALLED; i++) {
		stalled[i] = peer_connect_to("127.0.0.1", port);
		if (i % 2 == 0)
			peer_send(stalled[i], hello, sizeof hello - 1);
	}
	p = join(&anyone);
	ASK(p, "PING", "+PONG\r\n");
	ASK_HAS(p, "CLIENT LIST", " tls=handshake\n");
	ahead_pass(&ahead, &q, 600);
	ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(0, info("tls_handshake_failures:"));
	ahead_pass(&ahead, &q, 600);
	for (int i = 0; i < STALLED; i++)
		peer_expect_end(stalled[i]);
	ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(STALLED, info("tls_handshake_failures:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "it took longer than tls-handshake-timeout"));
	ahead_done(&ahead);
}

static void handshakes_do_not_delay_shutdown(void)
{
	struct peer *p;

	START_OPEN(NULL);
	p = peer_connect_to("127.0.0.1", port);
	peer_send(p, hello, sizeof hello - 1);
	WAIT_UNTIL(info("tls_clients:") == 1);
	kill(q.pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	peer_expect_end(p);
}

/*
 * redis-cli
 */

static void redis_cli_connects_with_tls(void)
{
	char command[600], output[2000];
	size_t len;
	FILE *f;

	START("--tls-ca-cert-file", file("ca.crt"));
	snprintf(command, sizeof command,
		 "timeout 60 redis-cli -p %d --tls --cacert %s --cert %s --key %s <<'END' 2>&1\n"
		 "ping\necho hello\nclient info\nEND\n",
		 port, file("ca.crt"), file("client.crt"), file("client.key"));
	f = popen(command, "r");
	TEST_ASSERT_NOT_NULL(f);
	len = fread(output, 1, sizeof output - 1, f);
	output[len] = '\0';
	TEST_ASSERT_EQUAL_INT(0, pclose(f));
	TEST_ASSERT_EQUAL_STRING_LEN("PONG\nhello\n", output, 11);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output, " tls=TLSv1.3\n"), output);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(every_version_of_tls_runs_commands);
	RUN(only_the_configured_versions_of_tls_work);
	RUN(a_server_may_have_no_plain_port);
	RUN(large_requests_and_replies_work_with_tls);
	RUN(requests_inside_the_session_are_run);
	RUN(a_paused_tls_client_continues);
	RUN(a_tls_client_waits_for_jobs);
	RUN(keys_can_be_updated_at_any_time);
	RUN(renegotiation_is_refused);
	RUN(a_session_can_be_resumed);
	RUN(a_tls_client_over_its_output_limit_is_closed);
	RUN(a_slow_tls_reader_gets_everything);
	RUN(many_tls_clients_can_connect);
	RUN(the_end_of_a_session_is_announced);
	RUN(a_client_certificate_can_be_required);
	RUN(cas_can_be_in_a_directory);
	RUN(invalid_files_are_errors_at_the_start);
	RUN(doubtful_files_are_logged);
	RUN(a_reload_uses_the_new_certificate);
	RUN(an_invalid_certificate_keeps_the_old_one);
	RUN(a_certificate_can_be_replaced_by_another_file);
	RUN(a_reload_takes_certificates_from_where_they_are_now);
	RUN(a_plain_client_on_the_tls_port_gets_an_error);
	RUN(a_tls_client_on_the_plain_port_gets_an_error);
	RUN(leaving_during_the_handshake_does_no_harm);
	RUN(an_invalid_handshake_closes_the_connection);
	RUN(a_handshake_in_too_many_records_fails);
	RUN(a_flood_of_key_updates_closes_the_connection);
	RUN(keys_may_be_updated_often_between_requests);
	RUN(handshakes_with_a_large_key_take_several_turns);
	RUN(a_slow_handshake_is_closed);
	RUN(handshakes_do_not_delay_shutdown);
	RUN(redis_cli_connects_with_tls);
	return UNIT_RESULT();
}
