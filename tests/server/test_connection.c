/*
 * Identity and rights of a connection: HELLO, AUTH, CLIENT and related commands.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

#define NOAUTH	  "-NOAUTH Authentication required.\r\n"
#define WRONGPASS "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

static struct qlessd q;
static struct peer *p;

void setUp(void)
{
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void start(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
}

static void hello_refuses_unknown_versions_and_options(void)
{
	start();
	ASK(p, "HELLO 4", "-NOPROTO unsupported protocol version\r\n");
	ASK(p, "HELLO 1", "-NOPROTO unsupported protocol version\r\n");
	ASK(p, "HELLO x", "-ERR Protocol version is not an integer or out of range\r\n");
	ASK(p, "HELLO 3 NOSUCH", "-ERR Syntax error in HELLO option 'NOSUCH'\r\n");
	ASK(p, "HELLO 3 AUTH a", "-ERR Syntax error in HELLO option 'AUTH'\r\n");
	ASK(p, "HELLO 3 SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'\r\n");
	ASK(p, "HELLO 3 AUTH no one", WRONGPASS);
	/* Nothing has changed. */
	ASK(p, "CLIENT GETNAME", "$-1\r\n");
	peer_send_text(p, "HELLO 3 SETNAME \"a b\"\r\n");
	peer_expect(p, "-ERR Client names cannot contain spaces, newlines or special "
		       "characters.\r\n");
	ASK(p, "CLIENT GETNAME", "$-1\r\n");
	TEST_ASSERT_EQUAL_INT('*', peer_ask(p, "HELLO")[0]);
	TEST_ASSERT_EQUAL_INT('%', peer_ask(p, "HELLO 3 SETNAME me AUTH default any")[0]);
	ASK(p, "CLIENT GETNAME", "$2\r\nme\r\n");
	TEST_ASSERT_EQUAL_INT('%', peer_ask(p, "HELLO")[0]);
}

static void with_a_password_nothing_runs_before_auth(void)
{
	QLESSD_START(&q, "--requirepass", "secret");
	p = peer_connect(&q);
	ASK(p, "PING", NOAUTH);
	ASK(p, "CLIENT ID", NOAUTH);
	ASK(p, "MULTI", NOAUTH);
	ASK(p, "NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: \r\n");
	ASK_HAS(p, "HELLO 3", "-NOAUTH HELLO must be called with the client already authenticated");
	ASK(p, "AUTH wrong", WRONGPASS);
	ASK(p, "AUTH default wrong", WRONGPASS);
	ASK(p, "AUTH other secret", WRONGPASS);
	ASK(p, "AUTH a b c",
	    "-ERR wrong number of arguments for 'auth' command (expected: AUTH [username] "
	    "password)\r\n");
	ASK(p, "PING", NOAUTH);
	ASK(p, "AUTH secret", "+OK\r\n");
	ASK(p, "PING", "+PONG\r\n");
	ASK(p, "AUTH wrong", WRONGPASS);
	ASK(p, "PING", "+PONG\r\n");
	ASK(p, "RESET", "+RESET\r\n");
	ASK(p, "PING", NOAUTH);
	TEST_ASSERT_EQUAL_INT('%', peer_ask(p, "HELLO 3 AUTH default secret")[0]);
	ASK(p, "ACL WHOAMI", "$7\r\ndefault\r\n");
	TEST_ASSERT_EQUAL_INT64(4, peer_ask_number(p, "INFO stats", "acl_access_denied_auth:"));
	ASK(p, "QUIT", "+OK\r\n");
	peer_expect_end(p);
}

static void unauthenticated_clients_may_send_little(void)
{
	struct peer *other;

	QLESSD_START(&q, "--requirepass", "secret");
	p = peer_connect(&q);
	peer_send_text(p, "*11\r\n");
	peer_expect(p, "-ERR Protocol error: unauthenticated multibulk length\r\n");
	peer_expect_end(p);
	p = peer_connect(&q);
	peer_send_text(p, "*2\r\n$4\r\nAUTH\r\n$16385\r\n");
	peer_expect(p, "-ERR Protocol error: unauthenticated bulk length\r\n");
	peer_expect_end(p);
	other = peer_connect(&q);
	peer_send_text(other, "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*11\r\n");
	peer_expect(other, "+OK\r\n");
	for (int i = 0; i < 11; i++)
		peer_send_text(other, "$1\r\nx\r\n");
	TEST_ASSERT_EQUAL_INT('-', peer_reply(other)[0]);
	ASK(other, "PING", "+PONG\r\n");
}

static void a_password_can_be_set_and_removed_at_run_time(void)
{
	struct peer *other;

	start();
	ASK(p, "AUTH x",
	    "-ERR AUTH <password> called without any password configured for the default user. Are "
	    "you sure your configuration is correct?\r\n");
	ASK(p, "CONFIG SET requirepass abc", "+OK\r\n");
	ASK(p, "PING", "+PONG\r\n");
	other = peer_connect(&q);
	ASK(other, "PING", NOAUTH);
	ASK(other, "AUTH abc", "+OK\r\n");
	ASK(p, "CONFIG GET requirepass", "*2\r\n$11\r\nrequirepass\r\n$3\r\nabc\r\n");
	peer_send_text(p, "CONFIG SET requirepass ''\r\n");
	peer_expect(p, "+OK\r\n");
	other = peer_connect(&q);
	ASK(other, "PING", "+PONG\r\n");
}

static void configured_users_have_their_rights(void)
{
	struct tempdir dir;
	char path[256];

	tempdir_init(&dir);
	snprintf(path, sizeof path, "%s", tempdir_file(&dir, "conf"));
	textfile_write(path, "user ann on >pw +ping +client|id\nuser bob off nopass +@all\n"
			     "user carl on nopass +@connection -@dangerous\n");
	QLESSD_START(&q, path);
	tempdir_done(&dir);
	p = peer_connect(&q);
	ASK(p, "AUTH bob x", WRONGPASS);
	ASK(p, "AUTH ann pw", "+OK\r\n");
	ASK(p, "ECHO a", "-NOPERM this user has no permissions to run the 'echo' command\r\n");
	ASK(p, "CLIENT INFO",
	    "-NOPERM this user has no permissions to run the 'client|info' command\r\n");
	ASK(p, "ACL WHOAMI",
	    "-NOPERM this user has no permissions to run the 'acl|whoami' command\r\n");
	ASK(p, "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT(':', peer_ask(p, "CLIENT ID")[0]);
	ASK(p, "AUTH carl anything", "+OK\r\n");
	ASK_HAS(p, "CLIENT KILL ID 1", "-NOPERM");
	ASK_HAS(p, "CLIENT INFO", " user=carl ");
	/* Commands that need no rights work for every user. */
	ASK(p, "AUTH ann pw", "+OK\r\n");
	ASK(p, "RESET", "+RESET\r\n");
	ASK(p, "ACL WHOAMI", "$7\r\ndefault\r\n");
	TEST_ASSERT_EQUAL_INT64(4, peer_ask_number(p, "INFO stats", "acl_access_denied_cmd:"));
}

static void sessions_of_a_deleted_user_are_closed(void)
{
	struct peer *ann;

	start();
	ASK(p, "ACL SETUSER ann on >pw +@all", "+OK\r\n");
	ann = peer_connect(&q);
	ASK(ann, "AUTH ann pw", "+OK\r\n");
	ASK(p, "ACL DELUSER ann nobody", ":1\r\n");
	peer_expect_end(ann);
	ASK(p, "ACL DELUSER default", "-ERR The 'default' user cannot be removed\r\n");
	ASK(p, "ACL SETUSER ann on >pw +@all", "+OK\r\n");
	ASK(p, "AUTH ann pw", "+OK\r\n");
	ASK(p, "ACL DELUSER ann", ":1\r\n");
	peer_expect_end(p);
}

/* Returns an address of this machine other than loopback. */
static char host[INET_ADDRSTRLEN];

static bool find_address(void)
{
	struct ifaddrs *all, *at;
	bool found = false;

	TEST_ASSERT_EQUAL_INT(0, getifaddrs(&all));
	for (at = all; at != NULL && !found; at = at->ifa_next) {
		const struct sockaddr_in *in = (const void *)at->ifa_addr;

		if (in == NULL || in->sin_family != AF_INET ||
		    ntohl(in->sin_addr.s_addr) >> 24 == 127)
			continue;
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		found = true;
	}
	freeifaddrs(all);
	return found;
}

static void protected_mode_refuses_other_machines(void)
{
	struct peer *far;

	QLESSD_START(&q, "--bind", host, "127.0.0.1");
	p = peer_connect(&q);
	ASK(p, "PING", "+PONG\r\n");
	far = peer_connect_to(host, q.port);
	ASK_HAS(far, "PING", "-DENIED qlessd is running in protected mode");
	peer_expect_end(far);
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO stats", "rejected_connections:"));
	ASK(p, "CONFIG SET requirepass abc", "+OK\r\n");
	far = peer_connect_to(host, q.port);
	ASK(far, "PING", NOAUTH);
	ASK(far, "AUTH abc", "+OK\r\n");
	ASK_HAS(far, "CLIENT INFO", host);
	peer_send_text(p, "CONFIG SET requirepass '' protected-mode no\r\n");
	peer_expect(p, "+OK\r\n");
	far = peer_connect_to(host, q.port);
	ASK(far, "PING", "+PONG\r\n");
	ASK_HAS(far, "DEBUG SLEEP 0", "-ERR DEBUG command not allowed");
}

static void reset_makes_a_connection_like_new(void)
{
	struct peer *other;

	start();
	other = peer_connect(&q);
	peer_ask(p, "HELLO 3 SETNAME me");
	ASK(p, "SELECT 3", "+OK\r\n");
	ASK(p, "CLIENT NO-EVICT ON", "+OK\r\n");
	ASK(p, "CLIENT NO-TOUCH ON", "+OK\r\n");
	ASK(p, "ACL SETUSER u on nopass +@all", "+OK\r\n");
	ASK(p, "AUTH u x", "+OK\r\n");
	peer_ask(p, "SUBSCRIBE x");
	peer_ask(p, "PSUBSCRIBE y");
	ASK(p, "WATCH k", "+OK\r\n");
	ASK(p, "MONITOR", "+OK\r\n");
	ASK_HAS(other, "CLIENT LIST", " flags=OPeT ");
	peer_skip_replies(p, 1);
	peer_send_text(p, "MULTI\r\nPING\r\nCLIENT REPLY OFF\r\nRESET\r\n");
	/* The monitor sees MULTI and RESET before their replies. */
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(p), "\"MULTI\""));
	peer_expect(p, "+OK\r\n+QUEUED\r\n-ERR Command not allowed inside a transaction\r\n");
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(p), "\"RESET\""));
	peer_expect(p, "+RESET\r\n");
	ASK(p, "CLIENT GETNAME", "$-1\r\n");
	ASK_HAS(p, "CLIENT INFO", "flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 watch=0 ");
	ASK_HAS(p, "CLIENT INFO", " user=default redir=-1 resp=2 ");
	peer_send_text(p, "CLIENT REPLY OFF\r\nRESET\r\n");
	peer_expect(p, "+RESET\r\n");
}

static void select_takes_database_numbers(void)
{
	start();
	ASK(p, "SELECT 15", "+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", " db=15 ");
	ASK(p, "SELECT 16", "-ERR DB index is out of range\r\n");
	ASK(p, "SELECT -1", "-ERR DB index is out of range\r\n");
	ASK(p, "SELECT x", "-ERR value is not an integer or out of range\r\n");
	ASK(p, "SELECT",
	    "-ERR wrong number of arguments for 'select' command (expected: SELECT index)\r\n");
	ASK_HAS(p, "CLIENT INFO", " db=15 ");
}

static void quit_replies_ok_and_closes(void)
{
	start();
	peer_send_text(p, "PING\r\nQUIT\r\nPING\r\nPING\r\n");
	peer_expect(p, "+PONG\r\n+OK\r\n");
	peer_expect_end(p);
}

static void names_are_plain_words(void)
{
	char name[2000];

	start();
	ASK(p, "CLIENT SETNAME me", "+OK\r\n");
	ASK(p, "CLIENT GETNAME", "$2\r\nme\r\n");
	peer_send_text(p, "CLIENT SETNAME \"a b\"\r\nCLIENT SETNAME \"a\\n\"\r\n");
	for (int i = 0; i < 2; i++)
		peer_expect(p, "-ERR Client names cannot contain spaces, newlines or special "
			       "characters.\r\n");
	ASK(p, "CLIENT GETNAME", "$2\r\nme\r\n");
	peer_send_text(p, "CLIENT SETNAME ''\r\n");
	peer_expect(p, "+OK\r\n");
	ASK(p, "CLIENT GETNAME", "$-1\r\n");
	memcpy(name, "CLIENT SETNAME ", 15);
	memset(name + 15, 'n', 1025);
	name[15 + 1025] = '\0';
	TEST_ASSERT_EQUAL_INT('-', peer_ask(p, name)[0]);
	ASK(p, "CLIENT SETINFO LIB-NAME hiredis", "+OK\r\n");
	ASK(p, "CLIENT SETINFO lib-ver 1.2", "+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", " lib-name=hiredis lib-ver=1.2");
	ASK_HAS(p, "CLIENT SETINFO OTHER x", "-ERR Unrecognized option 'OTHER'");
	peer_send_text(p, "CLIENT SETINFO LIB-NAME 'a b'\r\n");
	TEST_ASSERT_EQUAL_INT('-', peer_reply(p)[0]);
}

static void client_list_filters_by_type_and_id(void)
{
	struct peer *other, *third;
	char line[64];
	long long id;

	start();
	other = peer_connect_unix(&q);
	third = peer_connect(&q);
	ASK(p, "CLIENT SETNAME first", "+OK\r\n");
	ASK(other, "CLIENT SETNAME second", "+OK\r\n");
	id = peer_ask_number(other, "CLIENT ID", ":");
	peer_ask(third, "SUBSCRIBE x");
	ASK_HAS(p, "CLIENT LIST", " name=first ");
	ASK_HAS(p, "CLIENT LIST", " name=second ");
	ASK_HAS(p, "CLIENT LIST", "/socket:0 ");
	ASK_HAS(p, "CLIENT LIST TYPE pubsub", " flags=P ");
	ASK_LACKS(p, "CLIENT LIST TYPE pubsub", "first");
	ASK_LACKS(p, "CLIENT LIST TYPE normal", " flags=P ");
	ASK(p, "CLIENT LIST TYPE master", "$0\r\n\r\n");
	ASK(p, "CLIENT LIST TYPE nosuch", "-ERR Unknown client type 'nosuch'\r\n");
	snprintf(line, sizeof line, "CLIENT LIST ID %lld 99999", id);
	ASK_HAS(p, line, " name=second ");
	ASK_LACKS(p, line, " name=first ");
	ASK(p, "CLIENT LIST ID x", "-ERR Invalid client ID\r\n");
	ASK(p, "CLIENT LIST ID", "-ERR syntax error\r\n");
	ASK(p, "CLIENT LIST nosuch", "-ERR syntax error\r\n");
	ASK_HAS(p, "CLIENT INFO", " cmd=client|info ");
	ASK(p, "CLIENT",
	    "-ERR wrong number of arguments for 'client' command (expected: CLIENT and a "
	    "subcommand; see "
	    "CLIENT HELP)\r\n");
	ASK(p, "CLIENT nosuch", "-ERR unknown subcommand 'nosuch'. Try CLIENT HELP.\r\n");
	ASK_HAS(p, "CLIENT HELP", "KILL");
}

static void client_kill_filters_by_attributes(void)
{
	struct peer *v;
	char line[128];

	start();
	v = peer_connect(&q);
	snprintf(line, sizeof line, "CLIENT KILL ID %lld",
		 (long long)peer_ask_number(v, "CLIENT ID", ":"));
	ASK(p, line, ":1\r\n");
	peer_expect_end(v);
	ASK(p, line, ":0\r\n");
	v = peer_connect_unix(&q);
	peer_ask(v, "PING");
	snprintf(line, sizeof line, "CLIENT KILL ADDR %s:0", q.socket_path);
	ASK(p, line, ":1\r\n");
	peer_expect_end(v);
	snprintf(line, sizeof line, "CLIENT KILL %s:0", q.socket_path);
	ASK(p, line, "-ERR No such client\r\n");
	v = peer_connect_unix(&q);
	peer_ask(v, "PING");
	ASK(p, line, "+OK\r\n");
	peer_expect_end(v);
	ASK(p, "ACL SETUSER u on nopass +@all", "+OK\r\n");
	v = peer_connect(&q);
	peer_ask(v, "AUTH u x");
	ASK(p, "CLIENT KILL USER u TYPE pubsub", ":0\r\n");
	ASK(p, "CLIENT KILL USER u TYPE normal", ":1\r\n");
	peer_expect_end(v);
	ASK(p, "CLIENT KILL USER nosuch", "-ERR No such user 'nosuch'\r\n");
	v = peer_connect(&q);
	peer_ask(v, "PING");
	snprintf(line, sizeof line, "CLIENT KILL LADDR 127.0.0.1:%d", q.port);
	ASK(p, line, ":1\r\n");
	peer_expect_end(v);
	ASK(p, "CLIENT KILL MAXAGE 100000 SKIPME no", ":0\r\n");
	ASK(p, "CLIENT KILL ID 0", "-ERR client-id should be greater than 0\r\n");
	ASK(p, "CLIENT KILL ID", "-ERR No such client\r\n");
	ASK(p, "CLIENT KILL ID 1 TYPE", "-ERR syntax error\r\n");
	ASK(p, "CLIENT KILL NOSUCH 1", "-ERR syntax error\r\n");
	ASK(p, "CLIENT KILL SKIPME maybe", "-ERR syntax error\r\n");
	peer_send_text(p, "PING\r\nCLIENT KILL TYPE normal SKIPME no\r\nPING\r\n");
	peer_expect(p, "+PONG\r\n:1\r\n");
	peer_expect_end(p);
}

static void client_reply_switches_replies_off(void)
{
	start();
	peer_send_text(p, "CLIENT REPLY OFF\r\nPING\r\nNOSUCH\r\nCLIENT REPLY SKIP\r\n"
			  "CLIENT REPLY ON\r\nPING\r\n");
	peer_expect(p, "+OK\r\n+PONG\r\n");
	peer_send_text(p, "CLIENT REPLY SKIP\r\nNOSUCH\r\nPING 1\r\nCLIENT REPLY SKIP\r\n"
			  "CLIENT REPLY SKIP\r\nPING\r\nPING 2\r\n");
	peer_expect(p, "$1\r\n1\r\n$1\r\n2\r\n");
	ASK(p, "CLIENT REPLY maybe", "-ERR syntax error\r\n");
	ASK(p, "CLIENT NO-EVICT maybe", "-ERR syntax error\r\n");
	ASK(p, "CLIENT NO-EVICT on", "+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", "flags=e ");
	ASK(p, "CLIENT NO-EVICT off", "+OK\r\n");
	ASK(p, "CLIENT UNBLOCK 1", ":0\r\n");
	ASK(p, "CLIENT UNBLOCK 1 maybe",
	    "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR\r\n");
	ASK(p, "CLIENT UNBLOCK x", "-ERR value is not an integer or out of range\r\n");
}

static void a_pause_holds_commands_and_lets_them_run_in_order(void)
{
	struct peer *held, *gone, *reset;

	start();
	held = peer_connect(&q);
	gone = peer_connect(&q);
	reset = peer_connect(&q);
	peer_ask(held, "PING");
	peer_ask(gone, "PING");
	peer_ask(reset, "PING");
	ASK(p, "CLIENT PAUSE 1000000", "+OK\r\n");
	peer_send_text(held, "ECHO 1\r\nECHO 2\r\n");
	peer_send_text(gone, "SELECT 5\r\nPUBLISH x 1\r\n");
	peer_send_text(reset, "SELECT 6\r\n");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 3);
	peer_send_text(held, "ECHO 3\r\nMULTI\r\nPING\r\nEXEC\r\n");
	peer_shutdown(held);
	peer_close(gone);
	peer_reset(reset);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 2);
	ASK_HAS(p, "CLIENT LIST", " flags=b ");
	TEST_ASSERT_FALSE(peer_has_input(held, 0));
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	peer_expect(held, "$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n");
	peer_expect_end(held);
	ASK(p, "PING", "+PONG\r\n");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 1);
}

/* The system reports both at once. */
static void a_client_that_leaves_during_a_pause_is_noticed(void)
{
	struct peer *reset;

	start();
	reset = peer_connect(&q);
	peer_ask(reset, "PING");
	ASK(p, "CLIENT PAUSE 1000000", "+OK\r\n");
	qlessd_halt(&q);
	peer_send_text(reset, "PING\r\n");
	peer_reset(reset);
	qlessd_go_on(&q);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "connected_clients:") == 1);
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
}

static struct peer *send_held(const char *text, int64_t held)
{
	struct peer *client = peer_connect(&q);

	peer_send_text(client, text);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == held);
	return client;
}

static void a_write_pause_holds_writes_and_lets_reads_run(void)
{
	struct peer *put, *pop, *txn, *flush;

	start();
	ASK(p, "QLESS put 1000 w q due k {} 1", "$3\r\ndue\r\n");
	ASK(p, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	put = send_held("PUT w q a k {} 0\r\nGET due\r\n", 1);
	pop = send_held("QLESS pop 2000 q w 1\r\n", 2);
	txn = send_held("MULTI\r\nLENGTH q\r\nPUT w q b k {} 0\r\nEXEC\r\n", 3);
	peer_expect(txn, "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
	flush = send_held("FLUSHALL\r\n", 4);
	TEST_ASSERT_FALSE(peer_has_input(put, 0));
	TEST_ASSERT_FALSE(peer_has_input(pop, 0));
	/* Reads run, and see the state as it is: a job that is due has not moved. */
	ASK_HAS(p, "QUEUES q", "\"scheduled\":1");
	ASK(p, "PEEK q 5", "$2\r\n[]\r\n");
	ASK(p, "JOBS scheduled q", "*1\r\n$3\r\ndue\r\n");
	ASK(p, "WORKERS", "$2\r\n[]\r\n");
	ASK(p, "TAG top", "$2\r\n[]\r\n");
	ASK_HAS(p, "TRACK", "\"expired\":");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "QUEUES q", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "\"scheduled\":1");
	ASK_HAS(p, "GET due", "\"state\":\"scheduled\"");
	ASK(p, "ZCARD ql:q:q-scheduled", ":1\r\n");
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	/* In the order of their arrival. */
	peer_expect(put, "$1\r\na\r\n");
	peer_skip_replies(put, 1);
	TEST_ASSERT_NOT_NULL(strstr(peer_reply(pop), "\"due\""));
	peer_expect(txn, "*2\r\n:2\r\n$1\r\nb\r\n");
	peer_expect(flush, "+OK\r\n");
	ASK(p, "LENGTH q", ":0\r\n");
}

static void a_pause_ends_automatically(void)
{
	start();
	ASK(p, "CLIENT PAUSE 60", "+OK\r\n");
	ASK(p, "PING", "+PONG\r\n");
	ASK(p, "CLIENT PAUSE 0", "+OK\r\n");
	ASK(p, "PING", "+PONG\r\n");
	ASK(p, "CLIENT PAUSE x", "-ERR timeout is not an integer or out of range\r\n");
	ASK(p, "CLIENT PAUSE -1", "-ERR timeout is negative\r\n");
	ASK(p, "CLIENT PAUSE 1 maybe", "-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n");
	/* A later and shorter pause does not shorten the first. */
	ASK(p, "CLIENT PAUSE 1000000 WRITE", "+OK\r\n");
	ASK(p, "CLIENT PAUSE 1 WRITE", "+OK\r\n");
	ASK(p, "PING", "+PONG\r\n");
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
}

static void held_clients_can_be_killed_and_do_not_delay_shutdown(void)
{
	struct peer *a, *b;
	char line[64];

	start();
	a = peer_connect(&q);
	b = peer_connect(&q);
	snprintf(line, sizeof line, "CLIENT KILL ID %lld",
		 (long long)peer_ask_number(a, "CLIENT ID", ":"));
	peer_ask(b, "PING");
	ASK(p, "CLIENT PAUSE 1000000", "+OK\r\n");
	peer_send_text(a, "PING\r\n");
	peer_send_text(b, "PING\r\n");
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "blocked_clients:") == 2);
	ASK(p, line, ":1\r\n");
	peer_expect_end(a);
}

/* Otherwise `timeout` would close the connection before the reply. */
static void a_held_client_is_not_idle(void)
{
	struct peer *held;
	char line[64];
	int64_t released_ms, idle_s;

	start();
	held = peer_connect(&q);
	snprintf(line, sizeof line, "CLIENT LIST ID %lld",
		 (long long)peer_ask_number(held, "CLIENT ID", ":"));
	ASK(p, "CLIENT PAUSE 1000000", "+OK\r\n");
	peer_send_text(held, "ECHO 1\r\n");
	WAIT_UNTIL(peer_ask_number(p, line, " idle=") >= 1);
	released_ms = wait_now_ms();
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	peer_expect(held, "$1\r\n1\r\n");
	idle_s = peer_ask_number(p, line, " idle=");
	TEST_ASSERT_LESS_OR_EQUAL_INT64((wait_now_ms() - released_ms) / 1000, idle_s);
}

static void input_of_a_held_client_is_limited(void)
{
	struct peer *a;
	char junk[4096];
	size_t sent = 0, n;
	int64_t len;

	start();
	a = peer_connect(&q);
	peer_ask(a, "PING");
	memset(junk, '\n', sizeof junk);
	ASK(p, "CLIENT PAUSE 1000000", "+OK\r\n");
	peer_send_text(a, "PING\r\n");
	do {
		n = peer_try_send(a, junk, sizeof junk);
		sent += n;
		peer_ask(p, "CLIENT LIST");
	} while (n != 0 && sent < (size_t)64 * 1024 * 1024);
	TEST_ASSERT_LESS_THAN((size_t)64 * 1024 * 1024, sent);
	len = peer_ask_number(p, "INFO clients", "client_max_input_buffer:");
	TEST_ASSERT_LESS_THAN(4 * 1024 * 1024, len);
	ASK(p, "CLIENT UNPAUSE", "+OK\r\n");
	peer_send_text(a, "PING 2\r\n");
	peer_expect(a, "+PONG\r\n$1\r\n2\r\n");
}

static void config_get_shows_passwords_only_to_admins_that_ask_by_name(void)
{
	struct peer *other;

	QLESSD_START(&q, "--requirepass", "topsecret", "--tls-key-file-pass", "topsecret");
	p = peer_connect(&q);
	other = peer_connect(&q);
	ASK(p, "AUTH topsecret", "+OK\r\n");
	ASK_HAS(p, "CONFIG GET *", "$11\r\nrequirepass\r\n$10\r\n(redacted)\r\n");
	ASK_LACKS(p, "CONFIG GET *", "topsecret");
	ASK_LACKS(p, "CONFIG GET requirepas? tls-key-file-pas?", "topsecret");
	ASK_HAS(p, "CONFIG GET RequirePass", "$9\r\ntopsecret\r\n");
	ASK_HAS(p, "CONFIG GET * tls-key-file-pass", "$9\r\ntopsecret\r\n");
	ASK(p, "ACL SETUSER monitor on >m +config|get", "+OK\r\n");
	ASK(other, "AUTH monitor m", "+OK\r\n");
	ASK_LACKS(other, "CONFIG GET requirepass tls-key-file-pass", "topsecret");
}

static void clients_cannot_forge_events(void)
{
	struct peer *other;

	start();
	other = peer_connect(&q);
	peer_ask(other, "SUBSCRIBE ql:log mine");
	peer_skip_replies(other, 1);
	ASK(p, "PUBLISH ql:log {}",
	    "-NOPERM No permissions to access the channel 'ql:log': the server publishes events "
	    "there, and the user lacks +@events\r\n");
	ASK(p, "PUBLISH mine 1", ":1\r\n");
	ASK(p, "ACL SETUSER default +@events", "+OK\r\n");
	ASK(p, "PUBLISH ql:log 2", ":1\r\n");
	peer_expect(other, "*3\r\n$7\r\nmessage\r\n$4\r\nmine\r\n$1\r\n1\r\n"
			   "*3\r\n$7\r\nmessage\r\n$6\r\nql:log\r\n$1\r\n2\r\n");
}

/* The rules that the documents recommend for workers. */
static void a_worker_cannot_disturb_the_others(void)
{
	static const char *const refused[] = { "SCRIPT FLUSH", "MEMORY DOCTOR", "MEMORY PURGE",
					       "MEMORY STATS", "MEMORY QUEUES", "MEMORY USAGE k",
					       "KEYS *",       "FLUSHALL",	"CONFIG GET *" };

	start();
	ASK(p, "ACL SETUSER worker on >w +@all -@admin -@dangerous", "+OK\r\n");
	ASK(p, "AUTH worker w", "+OK\r\n");
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		ASK_HAS(p, refused[i], "-NOPERM ");
	ASK(p, "PUT w q j1 k {} 0", "$2\r\nj1\r\n");
	ASK_HAS(p, "SCRIPT EXISTS x", "*1\r\n");
	ASK_HAS(p, "MEMORY HELP", "*");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(hello_refuses_unknown_versions_and_options);
	RUN(with_a_password_nothing_runs_before_auth);
	RUN(unauthenticated_clients_may_send_little);
	RUN(a_password_can_be_set_and_removed_at_run_time);
	RUN(configured_users_have_their_rights);
	RUN(sessions_of_a_deleted_user_are_closed);
	/* Without a network there is no other address. */
	if (find_address())
		RUN(protected_mode_refuses_other_machines);
	RUN(reset_makes_a_connection_like_new);
	RUN(select_takes_database_numbers);
	RUN(quit_replies_ok_and_closes);
	RUN(names_are_plain_words);
	RUN(client_list_filters_by_type_and_id);
	RUN(client_kill_filters_by_attributes);
	RUN(client_reply_switches_replies_off);
	RUN(a_pause_holds_commands_and_lets_them_run_in_order);
	RUN(a_client_that_leaves_during_a_pause_is_noticed);
	RUN(a_write_pause_holds_writes_and_lets_reads_run);
	RUN(a_pause_ends_automatically);
	RUN(held_clients_can_be_killed_and_do_not_delay_shutdown);
	RUN(a_held_client_is_not_idle);
	RUN(input_of_a_held_client_is_limited);
	RUN(config_get_shows_passwords_only_to_admins_that_ask_by_name);
	RUN(clients_cannot_forge_events);
	RUN(a_worker_cannot_disturb_the_others);
	return UNIT_RESULT();
}
