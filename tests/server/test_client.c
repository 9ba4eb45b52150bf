/*
 * Connections of our programs to a real qlessd: TCP, Unix sockets, TLS, logins, and lost
 * connections.
 */
#include "client/client.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "certs.h"
#include "client/connection.h"
#include "peer.h"
#include "qlessd.h"
#include "unit.h"
#include "wait.h"

#define LONG_BYTES ((size_t)8 * 1024 * 1024)

static struct qlessd q;
static struct tempdir dir;
static struct client_settings settings;
static struct client *client;

void setUp(void)
{
	tempdir_init(&dir);
	client_settings_init(&settings);
	client = NULL;
}

void tearDown(void)
{
	client_free(client);
	client_settings_done(&settings);
	qlessd_stop(&q);
	tempdir_done(&dir);
}

/* A client of the settings as they are now. */
static void use(void)
{
	client_free(client);
	client = client_new(&settings);
}

static void use_tcp(void)
{
	settings.port = q.port;
	use();
}

static void set(char **text, const char *value)
{
	client_settings_set_text(text, value);
}

#define ASSERT_TEXT(expected, ...)                                                          \
	do {                                                                                \
		const struct client_reply *reply_ = CLIENT_CALL(client, __VA_ARGS__);       \
		TEST_ASSERT_NOT_NULL_MESSAGE(reply_, client_error(client));                 \
		TEST_ASSERT_EQUAL_STRING(expected, reply_->ptr != NULL ? reply_->ptr : ""); \
	} while (0)

static void assert_fails(enum client_status status, const char *text)
{
	TEST_ASSERT_NULL(CLIENT_CALL(client, STR("PING")));
	TEST_ASSERT_EQUAL_INT(status, client_status(client));
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(client_error(client), text), client_error(client));
}

static void tcp_and_unix_sockets_work(void)
{
	qlessd_start(&q);
	use_tcp();
	ASSERT_TEXT("PONG", STR("PING"));
	set(&settings.socket, q.socket_path);
	use();
	ASSERT_TEXT("PONG", STR("PING"));
}

static void an_error_of_the_server_is_a_reply(void)
{
	qlessd_start(&q);
	use_tcp();
	TEST_ASSERT_TRUE(client_reply_is_error(CLIENT_CALL(client, STR("NOTHING"))));
	ASSERT_TEXT("PONG", STR("PING"));
}

static void database_name_and_protocol_are_set(void)
{
	qlessd_start(&q);
	settings.db = 3;
	settings.proto = 3;
	set(&settings.name, "tester");
	use_tcp();
	TEST_ASSERT_EQUAL_INT(CLIENT_REPLY_MAP, CLIENT_CALL(client, STR("HELLO"))->type);
	ASSERT_TEXT("tester", STR("CLIENT"), STR("GETNAME"));
	TEST_ASSERT_NOT_NULL(
		strstr(CLIENT_CALL(client, STR("CLIENT"), STR("INFO"))->ptr, " db=3 "));
}

static void users_and_passwords_log_in(void)
{
	QLESSD_START(&q, "--requirepass", "secret");
	set(&settings.password, "secret");
	use_tcp();
	ASSERT_TEXT("OK", STR("ACL"), STR("SETUSER"), STR("bob"), STR("on"), STR(">hush"),
		    STR("allcommands"), STR("allkeys"));
	for (settings.proto = 2; settings.proto <= 3; settings.proto++) {
		set(&settings.user, NULL);
		set(&settings.password, "secret");
		use_tcp();
		ASSERT_TEXT("default", STR("ACL"), STR("WHOAMI"));
		set(&settings.user, "bob");
		set(&settings.password, "hush");
		use();
		ASSERT_TEXT("bob", STR("ACL"), STR("WHOAMI"));
		set(&settings.password, "wrong");
		use();
		assert_fails(CLIENT_REFUSED, "the server refuses the login: WRONGPASS");
	}
}

static void a_database_that_does_not_exist_is_refused(void)
{
	QLESSD_START(&q, "--databases", "2");
	settings.db = 2;
	use_tcp();
	assert_fails(CLIENT_REFUSED, "the server refuses the login: ERR DB index is out of range");
}

static void no_server_is_a_lost_connection(void)
{
	settings.port = qlessd_free_port();
	use();
	assert_fails(CLIENT_LOST, "cannot connect: Connection refused");
	set(&settings.socket, "/tmp/there-is-no-such-socket");
	use();
	assert_fails(CLIENT_LOST, "/tmp/there-is-no-such-socket: cannot connect: No such file");
	set(&settings.socket, NULL);
	set(&settings.host, "there-is-no-such-host.invalid");
	use();
	assert_fails(CLIENT_LOST, "cannot resolve the name");
}

static void long_requests_and_replies_arrive(void)
{
	char *data = malloc(LONG_BYTES);
	const struct client_reply *reply;

	memset(data, 'x', LONG_BYTES);
	qlessd_start(&q);
	use_tcp();
	reply = CLIENT_CALL(client, STR("ECHO"), str_make(data, LONG_BYTES));
	TEST_ASSERT_NOT_NULL_MESSAGE(reply, client_error(client));
	TEST_ASSERT_EQUAL_size_t(LONG_BYTES, reply->len);
	TEST_ASSERT_EQUAL_MEMORY(data, reply->ptr, LONG_BYTES);
	free(data);
}

static void a_call_after_a_restart_connects_again(void)
{
	qlessd_start(&q);
	use_tcp();
	ASSERT_TEXT("PONG", STR("PING"));
	kill(q.pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	assert_fails(CLIENT_LOST, "cannot connect: Connection refused");
	qlessd_start_again(&q, (const char *const[]){ NULL });
	ASSERT_TEXT("PONG", STR("PING"));
}

struct failures {
	unsigned count;
};

/* Starts the server when the client has failed twice. */
static void on_failure(void *arg, const char *error, unsigned delay_ms)
{
	struct failures *failures = arg;

	TEST_ASSERT_NOT_NULL(strstr(error, "cannot connect"));
	TEST_ASSERT_TRUE(delay_ms > 0);
	if (++failures->count == 2)
		qlessd_start_again(&q, (const char *const[]){ NULL });
}

static void a_patient_client_connects_when_the_server_is_back(void)
{
	struct failures failures = { 0 };

	qlessd_start(&q);
	kill(q.pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&q));
	use_tcp();
	TEST_ASSERT_TRUE(client_connect_patiently(client, 0, on_failure, &failures));
	TEST_ASSERT_EQUAL_UINT(2, failures.count);
	ASSERT_TEXT("PONG", STR("PING"));
}

static void a_patient_client_gives_up_after_its_limit_or_a_refusal(void)
{
	settings.port = qlessd_free_port();
	use();
	TEST_ASSERT_FALSE(client_connect_patiently(client, 0.01, NULL, NULL));
	TEST_ASSERT_EQUAL_INT(CLIENT_LOST, client_status(client));
	QLESSD_START(&q, "--requirepass", "secret");
	set(&settings.password, "wrong");
	use_tcp();
	TEST_ASSERT_FALSE(client_connect_patiently(client, 0, NULL, NULL));
	TEST_ASSERT_EQUAL_INT(CLIENT_REFUSED, client_status(client));
}

static void a_server_that_does_not_answer_is_given_up(void)
{
	qlessd_start(&q);
	settings.timeout_s = 0.05;
	use_tcp();
	TEST_ASSERT_TRUE(client_connect(client));
	qlessd_halt(&q);
	assert_fails(CLIENT_TIMED_OUT, "the server does not answer in time");
	/* The kernel still accepts connections, but nobody answers to a login. */
	settings.connect_timeout_s = 0.05;
	settings.proto = 3;
	use();
	assert_fails(CLIENT_LOST, "the server does not answer");
	qlessd_go_on(&q);
}

static void a_descriptor_interrupts_waiting(void)
{
	int pipe_fds[2];

	qlessd_start(&q);
	use_tcp();
	TEST_ASSERT_TRUE(client_connect(client));
	TEST_ASSERT_EQUAL_INT(0, pipe(pipe_fds));
	client_set_interrupt(client, pipe_fds[0]);
	TEST_ASSERT_EQUAL_INT64(1, write(pipe_fds[1], "x", 1));
	TEST_ASSERT_NULL(client_receive(client, -1));
	TEST_ASSERT_EQUAL_INT(CLIENT_INTERRUPTED, client_status(client));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void messages_arrive_without_a_request(void)
{
	struct client *other;

	qlessd_start(&q);
	use_tcp();
	TEST_ASSERT_EQUAL_INT(CLIENT_REPLY_ARRAY,
			      CLIENT_CALL(client, STR("SUBSCRIBE"), STR("news"))->type);
	other = client_new(&settings);
	TEST_ASSERT_NOT_NULL(CLIENT_CALL(other, STR("PUBLISH"), STR("news"), STR("hello")));
	client_free(other);
	TEST_ASSERT_EQUAL_STRING("hello", client_receive(client, -1)->elements[2].ptr);
	TEST_ASSERT_NULL(client_receive(client, 0.001));
	TEST_ASSERT_EQUAL_INT(CLIENT_TIMED_OUT, client_status(client));
}

/* Waits until a reply arrives. */
static void next_reply(struct connection *c, struct client_reply *ret_reply)
{
	while (!connection_next(c, ret_reply)) {
		struct pollfd ready = { .fd = connection_fd(c), .events = connection_wants(c) };

		TEST_ASSERT_FALSE_MESSAGE(connection_has_failed(c), connection_error(c));
		TEST_ASSERT_EQUAL_INT(1, poll(&ready, 1, WAIT_MAX_MS));
		connection_step(c);
	}
}

static void a_connected_socket_is_adopted(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct client_reply reply = { 0 };
	struct connection *c;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	qlessd_start(&q);
	strcpy(address.sun_path, q.socket_path);
	TEST_ASSERT_EQUAL_INT(0, connect(fd, (const struct sockaddr *)&address, sizeof address));
	settings.proto = 3;
	c = connection_adopt(fd, &settings);
	connection_send(c, (const struct qless_str[]){ STR("CLIENT"), STR("ID") }, 2);
	next_reply(c, &reply);
	TEST_ASSERT_EQUAL_INT(fd, connection_fd(c));
	TEST_ASSERT_TRUE(reply.integer > 0);
	TEST_ASSERT_EQUAL_INT64(reply.integer, connection_id(c));
	client_reply_done(&reply);
	/* A reply that is on its way still arrives after this side has ended. */
	connection_send(c, (const struct qless_str[]){ STR("PING") }, 1);
	connection_step(c);
	TEST_ASSERT_EQUAL_size_t(0, connection_unsent(c));
	shutdown(fd, SHUT_WR);
	next_reply(c, &reply);
	ASSERT_STR("PONG", client_reply_str(&reply));
	client_reply_done(&reply);
	connection_close(c);
}

/* ---- TLS ---- */

static void start_tls(const char *auth_clients)
{
	char port[16], cert[300], key[300], ca[300];

	certs_make(&dir);
	snprintf(port, sizeof port, "%d", qlessd_free_port());
	snprintf(cert, sizeof cert, "%s", tempdir_file(&dir, "server.crt"));
	snprintf(key, sizeof key, "%s", tempdir_file(&dir, "server.key"));
	snprintf(ca, sizeof ca, "%s", tempdir_file(&dir, "ca.crt"));
	QLESSD_START(&q, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key,
		     "--tls-ca-cert-file", ca, "--tls-auth-clients", auth_clients);
	settings.port = atoi(port);
	settings.tls = true;
	set(&settings.cacert, ca);
}

static void tls_works(void)
{
	char *data = malloc(LONG_BYTES);
	const struct client_reply *reply;

	memset(data, 'y', LONG_BYTES);
	start_tls("no");
	settings.db = 1;
	use();
	ASSERT_TEXT("PONG", STR("PING"));
	reply = CLIENT_CALL(client, STR("ECHO"), str_make(data, LONG_BYTES));
	TEST_ASSERT_NOT_NULL_MESSAGE(reply, client_error(client));
	TEST_ASSERT_EQUAL_size_t(LONG_BYTES, reply->len);
	free(data);
}

static void a_client_shows_its_certificate(void)
{
	start_tls("yes");
	use();
	TEST_ASSERT_NULL(CLIENT_CALL(client, STR("PING")));
	set(&settings.cert, tempdir_file(&dir, "client.crt"));
	set(&settings.key, tempdir_file(&dir, "client.key"));
	use();
	ASSERT_TEXT("PONG", STR("PING"));
}

static void a_certificate_that_is_not_trusted_is_refused(void)
{
	start_tls("no");
	set(&settings.cacert, tempdir_file(&dir, "stranger.crt"));
	use();
	assert_fails(CLIENT_REFUSED, "the certificate of the server is not valid: ");
	settings.insecure = true;
	use();
	ASSERT_TEXT("PONG", STR("PING"));
}

static void a_certificate_of_another_name_is_refused(void)
{
	start_tls("no");
	set(&settings.sni, "other.example");
	use();
	assert_fails(CLIENT_REFUSED,
		     "the certificate of the server is not valid: hostname mismatch");
}

static void a_missing_file_is_named(void)
{
	start_tls("no");
	set(&settings.cacert, "/there/is/no.crt");
	use();
	assert_fails(CLIENT_REFUSED,
		     "cannot load the trusted certificates of /there/is/no.crt: No such file");
	set(&settings.cacert, NULL);
	set(&settings.key, "/there/is/no.key");
	use();
	assert_fails(CLIENT_REFUSED, "--cert and --key must be given together");
}

static void tls_to_a_plain_port_fails(void)
{
	qlessd_start(&q);
	settings.tls = true;
	use_tcp();
	TEST_ASSERT_NULL(CLIENT_CALL(client, STR("PING")));
	TEST_ASSERT_TRUE(client_status(client) == CLIENT_REFUSED ||
			 client_status(client) == CLIENT_LOST);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(tcp_and_unix_sockets_work);
	RUN(an_error_of_the_server_is_a_reply);
	RUN(database_name_and_protocol_are_set);
	RUN(users_and_passwords_log_in);
	RUN(a_database_that_does_not_exist_is_refused);
	RUN(no_server_is_a_lost_connection);
	RUN(long_requests_and_replies_arrive);
	RUN(a_call_after_a_restart_connects_again);
	RUN(a_patient_client_connects_when_the_server_is_back);
	RUN(a_patient_client_gives_up_after_its_limit_or_a_refusal);
	RUN(a_server_that_does_not_answer_is_given_up);
	RUN(a_descriptor_interrupts_waiting);
	RUN(messages_arrive_without_a_request);
	RUN(a_connected_socket_is_adopted);
	RUN(tls_works);
	RUN(a_client_shows_its_certificate);
	RUN(a_certificate_that_is_not_trusted_is_refused);
	RUN(a_certificate_of_another_name_is_refused);
	RUN(a_missing_file_is_named);
	RUN(tls_to_a_plain_port_fails);
	return UNIT_RESULT();
}
