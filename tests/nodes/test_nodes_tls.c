/*
 * TLS between nodes: both sides need a certificate of the group's CA with their address as a name.
 */
#include <openssl/ssl.h>

#include "certs.h"
#include "config/config.h"
#include "endpoint.h"
#include "raw_peer.h"
#include "server/member_tls.h"
#include "server/tls.h"
#include "unit.h"

static struct endpoint *const one = &endpoints[1], *const two = &endpoints[2];

static struct tempdir dir;
static struct config config;
static struct tls *good, *other;

/* A client of TLS in the hand of the test. */
static struct raw_peer peer;
static SSL_CTX *client_ctx;
static SSL *client;

static void set(const char *directive, const char *value)
{
	struct buf error = BUF_INIT(BUF_NO_MAX), line = BUF_INIT(BUF_NO_MAX);

	buf_printf(&line, "%s %s", directive, value);
	if (config_parse_text(&config, "test", buf_str(&line), &error) < 0)
		TEST_FAIL_MESSAGE(buf_cstr(&error));
	buf_done(&line);
	buf_done(&error);
}

static void set_file(const char *directive, const char *name, const char *extension)
{
	char file[64];

	snprintf(file, sizeof file, "%s.%s", name, extension);
	set(directive, tempdir_file(&dir, file));
}

static struct tls *load_configured(void)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);
	struct tls *tls = tls_new_for_nodes(&config, &error);

	if (tls == NULL)
		TEST_FAIL_MESSAGE(buf_cstr(&error));
	buf_done(&error);
	return tls;
}

static void set_files(const char *name, const char *ca)
{
	set_file("replication-tls-cert-file", name, "crt");
	set_file("replication-tls-key-file", name, "key");
	set_file("replication-tls-ca-cert-file", ca, "crt");
}

/* Load the certificate `name` as that of a node. */
static struct tls *load(const char *name, const char *ca)
{
	set_files(name, ca);
	return load_configured();
}

void setUp(void)
{
	endpoints_init();
	tempdir_init(&dir);
	config_init(&config);
	certs_make(&dir);
	good = load("server", "ca");
	other = NULL;
	endpoint_options.tls = good;
	peer.fd = -1;
}

void tearDown(void)
{
	SSL_free(client);
	SSL_CTX_free(client_ctx);
	client = NULL;
	client_ctx = NULL;
	raw_close(&peer);
	endpoints_done();
	tls_free(good);
	tls_free(other);
	config_done(&config);
	tempdir_done(&dir);
}

/* Make nodes 1 and 2, of which the second one has another certificate or none. */
static void open_with(const struct tls *second)
{
	static const uint64_t ids[] = { 1, 2, 0 };

	endpoint_open(1);
	endpoint_options.tls = second;
	endpoint_open(2);
	endpoint_set_members(one, ids);
	endpoint_set_members(two, ids);
}

static bool is_error(struct endpoint *e, uint64_t id, const char *expected)
{
	return strcmp(endpoint_member(e, id).error, expected) == 0;
}

static void assert_apart(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, endpoint_member(one, 2).connects);
	TEST_ASSERT_EQUAL_UINT64(0, endpoint_member(two, 1).connects);
	TEST_ASSERT_FALSE(endpoint_member(one, 2).is_receiving);
	TEST_ASSERT_FALSE(endpoint_member(two, 1).is_receiving);
}

static void nodes_with_good_certificates_connect(void)
{
	open_with(good);
	LOOP_UNTIL(endpoints_are_connected(2));
	endpoint_send_simple(one, 2, CORE_VOTE);
	endpoint_send_simple(two, 1, CORE_VOTE);
	LOOP_UNTIL(one->messages == 1 && two->messages == 1);
}

static void entries_arrive_over_tls(void)
{
	open_with(good);
	LOOP_UNTIL(endpoints_are_connected(2));
	one->leads = 5;
	one->first = 1;
	one->last = 20000;
	one->entry_bytes = 1000;
	one->large_index = 10000;
	one->large_bytes = 5 * 1024 * 1024;
	endpoint_send_entries(one, 2, 1, 20000, 0);
	LOOP_UNTIL(two->entries == 20000);
	TEST_ASSERT_LESS_THAN_size_t(6 * NODES_TURN_BYTES, endpoint_info(one).memory);
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
}

static void a_node_with_the_address_of_another_is_refused(void)
{
	certs_make_named(&dir, "named", "IP:127.0.0.2,DNS:two.example");
	other = load("named", "ca");
	open_with(other);
	LOOP_UNTIL(is_error(one, 2, "its certificate does not have its address as a name"));
	LOOP_UNTIL(is_error(two, 1,
			    "it refuses this node: the certificate of this node does not have "
			    "its address as a name"));
	assert_apart();
}

static void a_node_with_a_certificate_of_another_ca_is_refused(void)
{
	other = load("stranger", "ca");
	open_with(other);
	LOOP_UNTIL(is_error(one, 2, "TLS handshake failed: certificate verify failed"));
	LOOP_UNTIL(endpoint_info(one).refused != 0 && endpoint_member(two, 1).error[0] != '\0');
	assert_apart();
}

static void a_node_with_the_ca_of_another_group_leaves(void)
{
	other = load("server", "stranger");
	open_with(other);
	LOOP_UNTIL(is_error(two, 1, "TLS handshake failed: certificate verify failed"));
	LOOP_UNTIL(endpoint_member(one, 2).error[0] != '\0');
	assert_apart();
}

static void a_node_without_tls_is_refused(void)
{
	open_with(NULL);
	LOOP_UNTIL(endpoint_member(one, 2).error[0] != '\0' &&
		   endpoint_member(two, 1).error[0] != '\0');
	LOOP_UNTIL(endpoint_info(one).refused != 0 && endpoint_info(two).refused != 0);
	assert_apart();
}

static void a_new_certificate_is_used_for_new_connections(void)
{
	static const uint64_t ids[] = { 1, 2, 0 };

	certs_make_named(&dir, "named", "IP:127.0.0.2");
	other = load("named", "ca");
	open_with(other);
	LOOP_UNTIL(is_error(one, 2, "its certificate does not have its address as a name"));
	nodes_set_tls(two->nodes, good);
	LOOP_UNTIL(endpoints_are_connected(2));
	/* Open connections stay. */
	nodes_set_tls(two->nodes, other);
	loop_beats(5);
	TEST_ASSERT_TRUE(endpoints_are_connected(2));
	TEST_ASSERT_EQUAL_UINT64(1, endpoint_member(one, 2).connects);
	endpoint_set_members(one, ids);
}

/*
 * Clients that are no nodes
 */

/* Begin a session as a client with this certificate, or with none. */
static void begin_session(const char *cert)
{
	peer = raw_connect(one->port);
	client_ctx = SSL_CTX_new(TLS_client_method());
	if (cert != NULL) {
		char file[300];

		snprintf(file, sizeof file, "%s/%s.crt", dir.path, cert);
		TEST_ASSERT_EQUAL_INT(1, SSL_CTX_use_certificate_chain_file(client_ctx, file));
		snprintf(file, sizeof file, "%s/%s.key", dir.path, cert);
		TEST_ASSERT_EQUAL_INT(
			1, SSL_CTX_use_PrivateKey_file(client_ctx, file, SSL_FILETYPE_PEM));
	}
	client = SSL_new(client_ctx);
	SSL_set_fd(client, peer.fd);
	LOOP_UNTIL(SSL_connect(client) == 1);
}

/* Returns what the node answers to a HELLO with an address. */
static struct frame say_hello(const char *address)
{
	struct frame hello = raw_make_hello(7, 1), answer = { .type = FRAME_ALIVE };
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	const char *error = "";
	char in[2000];
	size_t size;
	int got = 0;

	hello.hello.address = str_from(address);
	frame_encode(&bytes, &hello);
	TEST_ASSERT_EQUAL_INT((int)bytes.len, SSL_write(client, buf_data(&bytes), (int)bytes.len));
	buf_done(&bytes);
	LOOP_UNTIL((got = SSL_read(client, in, sizeof in)) > 0);
	TEST_ASSERT_EQUAL_INT(FRAME_READY,
			      frame_decode(in, (size_t)got, FRAME_MAX, &answer, &size, &error));
	return answer;
}

static void a_client_without_a_certificate_is_refused(void)
{
	char byte;

	endpoint_open(1);
	begin_session(NULL);
	/* In TLS 1.3 the client has finished before the server refuses. */
	LOOP_UNTIL(endpoint_info(one).refused == 1);
	TEST_ASSERT_EQUAL_size_t(0, endpoint_info(one).strangers);
	TEST_ASSERT_LESS_OR_EQUAL_INT(0, SSL_read(client, &byte, 1));
	TEST_ASSERT_EQUAL_INT(SSL_ERROR_SSL, SSL_get_error(client, -1));
}

static void an_admitted_node_needs_a_certificate_with_the_address_that_it_claims(void)
{
	struct frame answer;

	certs_make_named(&dir, "named", "DNS:two.example");
	endpoint_open(1);
	one->admits = true;
	begin_session("named");
	answer = say_hello("three.example:1");
	TEST_ASSERT_EQUAL_INT(FRAME_REFUSED, answer.type);
	TEST_ASSERT_EQUAL_INT(FRAME_REFUSED_CERTIFICATE, answer.refusal);
	TEST_ASSERT_EQUAL_UINT64(0, one->admitted);
}

static void a_name_of_a_host_may_be_in_the_certificate(void)
{
	certs_make_named(&dir, "named", "DNS:two.example");
	endpoint_open(1);
	one->admits = true;
	begin_session("named");
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, say_hello("two.example:1").type);
	TEST_ASSERT_EQUAL_UINT64(1, one->admitted);
}

static void an_address_of_ipv6_may_be_in_the_certificate(void)
{
	certs_make_named(&dir, "named", "IP:fd00::7");
	endpoint_open(1);
	one->admits = true;
	begin_session("named");
	TEST_ASSERT_EQUAL_INT(FRAME_HELLO, say_hello("[fd00::7]:1").type);
}

static void assert_cannot_load(const char *expected)
{
	struct buf error = BUF_INIT(BUF_NO_MAX);

	TEST_ASSERT_NULL(tls_new_for_nodes(&config, &error));
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&error));
	buf_done(&error);
}

static void files_that_are_missing_are_named_with_their_directive(void)
{
	set("replication-tls-cert-file", "/nowhere/node.crt");
	assert_cannot_load(
		"replication-tls-cert-file /nowhere/node.crt: No such file or directory");
	set_file("replication-tls-cert-file", "server", "crt");
	set("replication-tls-key-file", "/nowhere/node.key");
	assert_cannot_load("replication-tls-key-file /nowhere/node.key: No such file or directory");
	set_file("replication-tls-key-file", "server", "key");
	set("replication-tls-ca-cert-file", "/nowhere/ca.crt");
	assert_cannot_load(
		"replication-tls-ca-cert-file /nowhere/ca.crt: No such file or directory");
}

static void the_files_for_clients_stand_in_for_those_of_nodes(void)
{
	config_done(&config);
	config_init(&config);
	TEST_ASSERT_FALSE(tls_has_files_for_nodes(&config));
	set_file("tls-cert-file", "server", "crt");
	set_file("tls-key-file", "server", "key");
	TEST_ASSERT_FALSE(tls_has_files_for_nodes(&config));
	set_file("tls-ca-cert-file", "ca", "crt");
	TEST_ASSERT_TRUE(tls_has_files_for_nodes(&config));
	other = load_configured();
	open_with(other);
	LOOP_UNTIL(endpoints_are_connected(2));
	set("tls-key-file", "/nowhere/client.key");
	assert_cannot_load("tls-key-file /nowhere/client.key: No such file or directory");
	/* A certificate of its own comes with a key of its own. */
	set_file("replication-tls-cert-file", "client", "crt");
	assert_cannot_load("replication-tls-key-file : No such file or directory");
}

static void a_node_without_a_certificate_listens_on_loopback_only(void)
{
	static const char *const loopback[] = { "127.0.0.1", "127.0.0.1 ::1", "127.1.2.3" };
	static const char *const others[] = { "10.0.0.1", "127.0.0.1 10.0.0.1", "*", "::", "::*" };
	struct buf error = BUF_INIT(BUF_NO_MAX);
	struct tls *tls;

	config_done(&config);
	config_init(&config);
	for (size_t i = 0; i < sizeof loopback / sizeof *loopback; i++) {
		set("replication-bind", loopback[i]);
		TEST_ASSERT_EQUAL_INT(0, member_tls_load(&config, &tls, &error));
		TEST_ASSERT_NULL(tls);
	}
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		set("replication-bind", others[i]);
		TEST_ASSERT_EQUAL_INT(-1, member_tls_load(&config, &tls, &error));
		TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&error), "Set replication-tls-cert-file"));
		buf_clear(&error);
		set("replication-tls", "no");
		TEST_ASSERT_EQUAL_INT(0, member_tls_load(&config, &tls, &error));
		TEST_ASSERT_NULL(tls);
		set("replication-tls", "yes");
	}
	set_files("server", "ca");
	TEST_ASSERT_EQUAL_INT(0, member_tls_load(&config, &tls, &error));
	TEST_ASSERT_NOT_NULL(tls);
	tls_free(tls);
	buf_done(&error);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(nodes_with_good_certificates_connect);
	RUN(entries_arrive_over_tls);
	RUN(a_node_with_the_address_of_another_is_refused);
	RUN(a_node_with_a_certificate_of_another_ca_is_refused);
	RUN(a_node_with_the_ca_of_another_group_leaves);
	RUN(a_node_without_tls_is_refused);
	RUN(a_new_certificate_is_used_for_new_connections);
	RUN(a_client_without_a_certificate_is_refused);
	RUN(an_admitted_node_needs_a_certificate_with_the_address_that_it_claims);
	RUN(a_name_of_a_host_may_be_in_the_certificate);
	RUN(an_address_of_ipv6_may_be_in_the_certificate);
	RUN(files_that_are_missing_are_named_with_their_directive);
	RUN(the_files_for_clients_stand_in_for_those_of_nodes);
	RUN(a_node_without_a_certificate_listens_on_loopback_only);
	return UNIT_RESULT();
}
