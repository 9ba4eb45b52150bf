/*
 * MULTI, EXEC and commands in between; WATCH.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"
#include "util/buf.h"

static struct qlessd q;
static struct peer *p;

void setUp(void)
{
	qlessd_start(&q);
	p = peer_connect(&q);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void commands_wait_until_exec(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK(p, "ECHO a", "+QUEUED\r\n");
	ASK(p, "SELECT 99", "+QUEUED\r\n");
	ASK(p, "EXEC", "*3\r\n+PONG\r\n$1\r\na\r\n-ERR DB index is out of range\r\n");
	ASK(p, "PING", "+PONG\r\n");
}

static void exec_without_commands_is_an_empty_array(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "EXEC", "*0\r\n");
}

static void exec_and_discard_need_multi(void)
{
	ASK(p, "EXEC", "-ERR EXEC without MULTI\r\n");
	ASK(p, "DISCARD", "-ERR DISCARD without MULTI\r\n");
}

static void a_refused_command_aborts_the_transaction(void)
{
	const char *const wrong[] = { "NOSUCH", "PING a b", "CLIENT NOSUCH", "MONITOR" };

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		ASK(p, "MULTI", "+OK\r\n");
		ASK(p, "CLIENT SETNAME no", "+QUEUED\r\n");
		TEST_ASSERT_EQUAL_INT('-', peer_ask(p, wrong[i])[0]);
		ASK(p, "PING", "+QUEUED\r\n");
		ASK(p, "EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n");
		ASK(p, "CLIENT GETNAME", "$-1\r\n");
	}
}

static void discard_drops_the_queued_commands(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "CLIENT SETNAME no", "+QUEUED\r\n");
	ASK(p, "NOSUCH", "-ERR unknown command 'NOSUCH', with args beginning with: \r\n");
	ASK(p, "DISCARD", "+OK\r\n");
	ASK(p, "CLIENT GETNAME", "$-1\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK(p, "EXEC", "*1\r\n+PONG\r\n");
}

static void multi_cannot_be_nested(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "MULTI", "-ERR MULTI calls can not be nested\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK(p, "EXEC", "*1\r\n+PONG\r\n");
}

static void watch_is_refused_inside_multi(void)
{
	ASK(p, "WATCH a b", "+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", " watch=2 ");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "WATCH c", "-ERR WATCH inside MULTI is not allowed\r\n");
	ASK(p, "UNWATCH", "+QUEUED\r\n");
	ASK(p, "EXEC", "*1\r\n+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", " watch=0 ");
	ASK(p, "WATCH a", "+OK\r\n");
	ASK(p, "UNWATCH", "+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", " watch=0 ");
	ASK(p, "WATCH a", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "DISCARD", "+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", " watch=0 ");
}

#define PUT(jid)   "QLESS put 1 w q " jid " klass {} 0"
#define PUT_ANSWER "$1\r\na\r\n"

/* Returns whether EXEC runs the queued commands. */
#define ASSERT_EXEC_RUNS(peer)                 \
	do {                                   \
		ASK(peer, "MULTI", "+OK\r\n"); \
		ASK(peer, "EXEC", "*0\r\n");   \
	} while (0)
#define ASSERT_EXEC_DOES_NOTHING(peer)         \
	do {                                   \
		ASK(peer, "MULTI", "+OK\r\n"); \
		ASK(peer, "EXEC", "*-1\r\n");  \
	} while (0)

static void exec_does_nothing_if_a_watched_key_has_changed(void)
{
	struct peer *other = peer_connect(&q);

	ASK(other, PUT("a"), PUT_ANSWER);
	ASK(p, "WATCH ql:j:b ql:j:a", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "QLESS put 2 w q c klass {} 0", "+QUEUED\r\n");
	ASK(other, "QLESS priority 2 a 5", ":5\r\n");
	ASK(p, "EXEC", "*-1\r\n");
	ASK(p, "EXISTS ql:j:c", ":0\r\n");
	/* The key is not watched any more. */
	ASK(other, "QLESS priority 2 a 6", ":6\r\n");
	ASSERT_EXEC_RUNS(p);
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	peer_ask(p, "HELLO 3");
	ASK(other, "QLESS priority 2 a 7", ":7\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "EXEC", "_\r\n");
}

static void changes_of_other_keys_do_not_stop_exec(void)
{
	struct peer *other = peer_connect(&q);

	ASK(other, PUT("a"), PUT_ANSWER);
	ASK(p, "WATCH ql:j:a ql:q:r-work", "+OK\r\n");
	ASK(other, "QLESS put 2 w q b klass {} 0", "$1\r\nb\r\n");
	ASSERT_EXEC_RUNS(p);
	ASK(p, "WATCH ql:q:q-work", "+OK\r\n");
	ASK(other, "QLESS put 2 w q c klass {} 0", "$1\r\nc\r\n");
	ASSERT_EXEC_DOES_NOTHING(p);
}

static void creating_or_deleting_a_watched_key_changes_it(void)
{
	struct peer *other = peer_connect(&q);

	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(other, PUT("a"), PUT_ANSWER);
	ASSERT_EXEC_DOES_NOTHING(p);
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(other, "QLESS cancel 2 a", "*1\r\n$1\r\na\r\n");
	ASSERT_EXEC_DOES_NOTHING(p);
}

static void changes_by_the_same_client_count(void)
{
	ASK(p, PUT("a"), PUT_ANSWER);
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(p, "QLESS priority 2 a 5", ":5\r\n");
	ASSERT_EXEC_DOES_NOTHING(p);
}

static void exec_and_discard_end_watching(void)
{
	static const char *const ends[] = { "UNWATCH", "RESET" };
	struct peer *other = peer_connect(&q);

	ASK(other, PUT("a"), PUT_ANSWER);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		ASK(p, "WATCH ql:j:a", "+OK\r\n");
		peer_ask(p, ends[i]);
		ASK(other, i == 0 ? "QLESS priority 2 a 5" : "QLESS priority 2 a 6",
		    i == 0 ? ":5\r\n" : ":6\r\n");
		ASSERT_EXEC_RUNS(p);
	}
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "DISCARD", "+OK\r\n");
	ASK(other, "QLESS priority 2 a 7", ":7\r\n");
	ASSERT_EXEC_RUNS(p);
}

static void keys_are_watched_in_their_database(void)
{
	struct peer *other = peer_connect(&q);

	ASK(p, PUT("a"), PUT_ANSWER);
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(p, "SELECT 1", "+OK\r\n");
	ASK(other, "SELECT 1", "+OK\r\n");
	ASK(other, PUT("a"), PUT_ANSWER);
	ASSERT_EXEC_RUNS(p);
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(p, "SELECT 0", "+OK\r\n");
	ASK(other, "QLESS priority 2 a 5", ":5\r\n");
	ASSERT_EXEC_DOES_NOTHING(p);
}

static void the_number_of_watched_keys_is_limited(void)
{
	char line[1024 * 6] = "WATCH";
	size_t len = strlen(line);

	for (int i = 0; i < 1024; i++)
		len += (size_t)snprintf(line + len, sizeof line - len, " %d", i);
	peer_send_text(p, line);
	peer_send_text(p, " x\r\n");
	peer_expect(p, "-ERR more than 1024 watched keys\r\n");
	ASK_HAS(p, "CLIENT INFO", " watch=0 ");
	peer_send_text(p, line);
	peer_send_text(p, "\r\n");
	peer_expect(p, "+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", " watch=1024 ");
	ASK(p, "WATCH x", "-ERR more than 1024 watched keys\r\n");
}

static void a_key_that_is_watched_twice_counts_once(void)
{
	ASK(p, "WATCH a a", "+OK\r\n");
	ASK(p, "WATCH a", "+OK\r\n");
	ASK_HAS(p, "CLIENT INFO", " watch=1 ");
}

static void queue_lengths_are_read_in_one_transaction(void)
{
	ASK(p, PUT("a"), PUT_ANSWER);
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "ZCARD ql:q:q-work", "+QUEUED\r\n");
	ASK(p, "ZCARD ql:q:q-locks", "+QUEUED\r\n");
	ASK(p, "ZCARD ql:q:q-scheduled", "+QUEUED\r\n");
	ASK(p, "EXEC", "*3\r\n:1\r\n:0\r\n:0\r\n");
}

static void a_flush_changes_existing_keys(void)
{
	struct peer *other = peer_connect(&q);

	ASK(other, PUT("a"), PUT_ANSWER);
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(other, "FLUSHALL", "+OK\r\n");
	ASK(other, PUT("a"), PUT_ANSWER); /* the same content counts as a change */
	ASSERT_EXEC_DOES_NOTHING(p);
	ASK(p, "WATCH ql:j:b", "+OK\r\n");
	ASK(other, "FLUSHALL", "+OK\r\n");
	ASSERT_EXEC_RUNS(p);
	ASK(other, PUT("a"), PUT_ANSWER);
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(other, "SELECT 1", "+OK\r\n");
	ASK(other, "FLUSHDB", "+OK\r\n");
	ASSERT_EXEC_RUNS(p);
	ASK(p, "WATCH ql:j:a", "+OK\r\n");
	ASK(p, "FLUSHDB", "+OK\r\n");
	ASSERT_EXEC_DOES_NOTHING(p);
}

static void flushdb_and_flushall_delete_their_databases(void)
{
	ASK(p, "CONFIG.SET application one", "$-1\r\n");
	ASK(p, "SELECT 1", "+OK\r\n");
	ASK(p, "CONFIG.SET application two", "$-1\r\n");
	ASK(p, "FLUSHDB ASYNC", "+OK\r\n");
	ASK(p, "CONFIG.GET application", "$5\r\nqless\r\n");
	ASK(p, "SELECT 0", "+OK\r\n");
	ASK(p, "CONFIG.GET application", "$3\r\none\r\n");
	ASK(p, "FLUSHALL now", "-ERR syntax error\r\n");
	ASK(p, "FLUSHALL SYNC SYNC", "-ERR syntax error\r\n");
	ASK(p, "FLUSHALL sync", "+OK\r\n");
	ASK(p, "CONFIG.GET application", "$5\r\nqless\r\n");
}

static void the_list_of_clients_shows_a_transaction(void)
{
	struct peer *other = peer_connect(&q);

	ASK(p, "CLIENT SETNAME me", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK_HAS(other, "CLIENT LIST", " multi=0 ");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK_HAS(other, "CLIENT LIST", " multi=1 ");
	ASK_HAS(other, "CLIENT LIST", "flags=x ");
}

static void reset_ends_a_transaction(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "CLIENT SETNAME no", "+QUEUED\r\n");
	ASK(p, "RESET", "+RESET\r\n");
	ASK(p, "EXEC", "-ERR EXEC without MULTI\r\n");
	ASK(p, "CLIENT GETNAME", "$-1\r\n");
}

static void quit_ends_a_transaction_and_the_connection(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "QUIT now", "+OK\r\n");
	peer_expect_end(p);
}

static void a_transaction_may_subscribe(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "SUBSCRIBE x", "+QUEUED\r\n");
	ASK(p, "EXEC", "*1\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	ASK(p, "PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
	ASK_HAS(p, "MULTI", "-ERR Can't execute 'multi'");
	ASK(p, "RESET", "+RESET\r\n");
}

static void the_reply_of_exec_always_has_all_its_elements(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "CLIENT REPLY SKIP", "-ERR Command not allowed inside a transaction\r\n");
	ASK(p, "EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n");
}

static void replies_that_are_off_stay_off_in_exec(void)
{
	peer_send_text(p,
		       "CLIENT REPLY OFF\r\nMULTI\r\nPING\r\nEXEC\r\nCLIENT REPLY ON\r\nPING\r\n");
	peer_expect(p, "+OK\r\n+PONG\r\n");
	peer_send_text(p, "MULTI\r\nPING\r\nCLIENT GETNAME\r\n");
	peer_expect(p, "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
	peer_send_text(p, "EXEC\r\n");
	peer_expect(p, "*2\r\n+PONG\r\n$-1\r\n");
	peer_send_text(p, "CLIENT REPLY SKIP\r\nMULTI\r\nPING\r\nEXEC\r\n");
	peer_expect(p, "+QUEUED\r\n*1\r\n+PONG\r\n");
}

static void permissions_are_checked_again_by_exec(void)
{
	struct peer *admin = peer_connect(&q);

	ASK(admin, "ACL SETUSER u on >pw +@all", "+OK\r\n");
	ASK(p, "AUTH u pw", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "ECHO a", "+QUEUED\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK(admin, "ACL SETUSER u -echo", "+OK\r\n");
	ASK(p, "EXEC",
	    "*2\r\n-NOPERM ACLs rules changed between the moment the transaction was accumulated "
	    "and "
	    "the EXEC call. No permission to run 'echo'\r\n+PONG\r\n");
}

static void losing_the_right_to_exec_aborts_the_transaction(void)
{
	struct peer *admin = peer_connect(&q);

	ASK(admin, "ACL SETUSER u on >pw +@all", "+OK\r\n");
	ASK(p, "AUTH u pw", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "ECHO a", "+QUEUED\r\n");
	ASK(admin, "ACL SETUSER u nocommands", "+OK\r\n");
	ASK_HAS(p, "ECHO b", "-NOPERM");
	ASK(p, "EXEC",
	    "-EXECABORT Transaction discarded because of: NOPERM this user has no permissions to "
	    "run the 'exec' command\r\n");
	ASK_HAS(p, "CLIENT INFO", "-NOPERM");
	ASK(admin, "ACL SETUSER u allcommands", "+OK\r\n");
	ASK(p, "EXEC", "-ERR EXEC without MULTI\r\n");
	ASK(admin, "ACL DELUSER u", ":1\r\n");
	peer_expect_end(p);
}

static void a_transaction_may_delete_its_own_user(void)
{
	ASK(p, "ACL SETUSER u on >pw +@all", "+OK\r\n");
	ASK(p, "AUTH u pw", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "ACL DELUSER u", "+QUEUED\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "*2\r\n:1\r\n-NOPERM");
	peer_expect_end(p);
}

static void a_transaction_may_kill_its_own_client(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "CLIENT KILL TYPE normal SKIPME no", "+QUEUED\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK(p, "SUBSCRIBE x", "+QUEUED\r\n");
	ASK(p, "EXEC", "*3\r\n:1\r\n+PONG\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
	peer_expect_end(p);
}

static void a_transaction_is_limited_in_size(void)
{
	size_t len = (size_t)600 * 1024;
	char *bytes = malloc(len);

	memset(bytes, 'x', len);
	ASK(p, "CONFIG SET client-query-buffer-limit 1mb", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	for (int i = 0; i < 3; i++) {
		peer_send_text(p, "*2\r\n$4\r\nECHO\r\n$614400\r\n");
		peer_send(p, bytes, len);
		peer_send_text(p, "\r\n");
	}
	free(bytes);
	peer_expect(p, "+QUEUED\r\n+QUEUED\r\n"
		       "-ERR transaction is larger than client-query-buffer-limit\r\n");
	ASK(p, "EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n");
	ASK(p, "PING", "+PONG\r\n");
	ASK_HAS(p, "CLIENT INFO", " multi-mem=0 ");
	ASK(p, "CONFIG SET client-query-buffer-limit 16mb", "+OK\r\n");
}

static void a_transaction_is_limited_in_commands(void)
{
	char text[1024];

	ASK(p, "CONFIG SET max-transaction-commands 16", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	for (int i = 0; i < 16; i++)
		ASK(p, "PUT w q j K {} 0", "+QUEUED\r\n");
	ASK(p, "PUT w q j K {} 0",
	    "-ERR transaction has more commands than max-transaction-commands\r\n");
	ASK(p, "EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n");
	ASK(p, "GET j", "$-1\r\n");
	ASK(p, "CONFIG SET max-transaction-commands 10000 max-call-size 64kb", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	memset(text, 'x', sizeof text);
	peer_send_text(p, "*2\r\n$4\r\nECHO\r\n$65536\r\n");
	for (int i = 0; i < 64; i++)
		peer_send(p, text, sizeof text);
	peer_send_text(p, "\r\n");
	peer_expect(p, "+QUEUED\r\n");
	ASK(p, "PING", "-ERR transaction is larger than max-call-size\r\n");
	ASK(p, "EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n");
	ASK(p, "CONFIG SET max-call-size 4mb", "+OK\r\n");
}

static void a_long_transaction_runs_completely(void)
{
	const int count = 10000;

	peer_send_text(p, "MULTI\r\n");
	for (int i = 0; i < count; i++)
		peer_send_text(p, "PING\r\n");
	peer_send_text(p, "EXEC\r\n");
	peer_expect(p, "+OK\r\n");
	for (int i = 0; i < count; i++)
		peer_expect(p, "+QUEUED\r\n");
	peer_expect(p, "*10000\r\n");
	for (int i = 0; i < count; i++)
		peer_expect(p, "+PONG\r\n");
}

/* Appends a request that puts a job with 600 tags. */
static void append_tagged(struct buf *b, const char *jid)
{
	struct buf tags = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < 600; i++)
		buf_printf(&tags, "%s\"%d\"", i != 0 ? "," : "[", i);
	buf_append_char(&tags, ']');
	buf_printf(b,
		   "*9\r\n$3\r\nPUT\r\n$1\r\nw\r\n$1\r\nq\r\n$%zu\r\n%s\r\n$1\r\nk\r\n$2\r\n"
		   "{}\r\n$1\r\n0\r\n$4\r\ntags\r\n$%zu\r\n",
		   strlen(jid), jid, tags.len);
	buf_append_str(b, buf_str(&tags));
	buf_append_str(b, STR("\r\n"));
	buf_done(&tags);
}

static void put_tagged(const char *jid, const char *reply)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);

	append_tagged(&b, jid);
	peer_send(p, buf_data(&b), b.len);
	peer_expect(p, reply);
	buf_done(&b);
}

#define TOO_MANY_LINKS                                                             \
	"-EXECABORT Transaction discarded because its commands change more tags, " \
	"dependencies, dependents and limits than max-links-per-call (1000)\r\n"

static void a_transaction_is_limited_in_tags_and_dependencies(void)
{
	ASK(p, "CONFIG SET max-links-per-call 1000", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	put_tagged("a", "+QUEUED\r\n");
	put_tagged("b", "+QUEUED\r\n");
	ASK(p, "EXEC", TOO_MANY_LINKS);
	ASK(p, "MULTIGET a b", "$2\r\n[]\r\n");
	/* The transaction is gone. */
	put_tagged("a", "$1\r\na\r\n");
	put_tagged("b", "$1\r\nb\r\n");
	/* Existing links count, in the database that is selected then. */
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "CANCEL a", "+QUEUED\r\n");
	ASK(p, "QLESS cancel 1 b", "+QUEUED\r\n");
	ASK(p, "EXEC", TOO_MANY_LINKS);
	ASK(p, "SELECT 1", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "SELECT 0", "+QUEUED\r\n");
	ASK(p, "CANCEL a", "+QUEUED\r\n");
	ASK(p, "CANCEL b", "+QUEUED\r\n");
	ASK(p, "EXEC", TOO_MANY_LINKS);
	ASK(p, "SELECT 0", "+OK\r\n");
	ASK(p, "CANCEL a b",
	    "-LIMIT The jobs of one call have more tags, dependencies, dependents and limits than "
	    "max-links-per-call (1000)\r\n");
	/* One job has limits of its own. */
	ASK(p, "CONFIG SET max-tags 5000", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "CANCEL a", "+QUEUED\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK(p, "EXEC", "*2\r\n*1\r\n$1\r\na\r\n+PONG\r\n");
	ASK(p, "CANCEL b unknown", "*1\r\n$1\r\nb\r\n");
}

/* As many dependents as max-links-per-call allows are released in a transaction. */
static void a_transaction_is_limited_in_dependents(void)
{
	const char *const hubs[] = { "a", "b" };
	struct buf b = BUF_INIT(BUF_NO_MAX);

	for (int h = 0; h < 2; h++) {
		buf_printf(&b, "PUT w hubs %s k {} 0", hubs[h]);
		peer_ask(p, buf_cstr(&b));
		buf_clear(&b);
		for (int i = 0; i < 600; i++) {
			if (i % 100 == 0)
				buf_printf(&b, "MULTIPUT w q 0 depends [\"%s\"] jobs", hubs[h]);
			buf_printf(&b, " %s%d k {}", hubs[h], i);
			if (i % 100 == 99) {
				peer_ask(p, buf_cstr(&b));
				buf_clear(&b);
			}
		}
	}
	buf_done(&b);
	peer_ask(p, "POP hubs w 2");
	ASK(p, "CONFIG SET max-links-per-call 1000", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "COMPLETE a w hubs {}", "+QUEUED\r\n");
	ASK(p, "COMPLETE b w hubs {}", "+QUEUED\r\n");
	ASK(p, "EXEC", TOO_MANY_LINKS);
	ASK(p, "LENGTH q", ":0\r\n");
	ASK_HAS(p, "MULTICOMPLETE w hubs a {} b {}", "-LIMIT The jobs of one call have more tags");
	ASK(p, "COMPLETE a w hubs {}", "$8\r\ncomplete\r\n");
	ASK(p, "COMPLETE b w hubs {}", "$8\r\ncomplete\r\n");
	ASK(p, "LENGTH q", ":1200\r\n");
}

#define LIMITED_JOBS 126 /* together they have more than 1,000 limits */

/* Queue `words` for each of the first `count` jobs, in which a # stands for its jid. */
static const char *execute_for_jobs(const char *words, int count)
{
	size_t before = strcspn(words, "#");
	struct buf b = BUF_INIT(BUF_NO_MAX);

	ASK(p, "MULTI", "+OK\r\n");
	for (int i = 0; i < count; i++) {
		buf_printf(&b, "%.*sj%d%s", (int)before, words, i, words + before + 1);
		ASK(p, buf_cstr(&b), "+QUEUED\r\n");
		buf_clear(&b);
	}
	buf_done(&b);
	return peer_ask(p, "EXEC");
}

/* As many slots as max-links-per-call allows are renewed or released in a transaction. */
static void a_transaction_is_limited_in_limits_of_running_jobs(void)
{
	static const char *const calls[] = { "HEARTBEAT # w", "FAIL # w group message",
					     "RETRY # q w", "COMPLETE # w q {}", "TIMEOUT #" };
	struct buf put = BUF_INIT(BUF_NO_MAX);
	struct buf renew = BUF_INIT(BUF_NO_MAX);

	buf_printf(&put, "MULTIPUT w q 0 limits [\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\","
			 "\"h\"] jobs");
	buf_printf(&renew, "MULTIHEARTBEAT w");
	for (int i = 0; i < LIMITED_JOBS; i++) {
		buf_printf(&put, " j%d k {}", i);
		buf_printf(&renew, " j%d", i);
	}
	ASK_HAS(p, buf_cstr(&put), "*126\r\n");
	ASK(p, "CONFIG SET max-links-per-call 1000", "+OK\r\n");
	/* Nothing counts before the jobs run. */
	ASK_HAS(p, buf_cstr(&renew), "*126\r\n");
	peer_ask(p, "POP q w 126");
	ASK_HAS(p, buf_cstr(&renew), "-LIMIT The jobs of one call have more tags");
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		TEST_ASSERT_EQUAL_STRING(TOO_MANY_LINKS, execute_for_jobs(calls[i], LIMITED_JOBS));
	TEST_ASSERT_EQUAL_INT64(LIMITED_JOBS, peer_ask_number(p, "QUEUES q", "\"running\":"));
	TEST_ASSERT_EQUAL_INT(
		0, strncmp("*125\r\n:", execute_for_jobs("HEARTBEAT # w", LIMITED_JOBS - 1), 7));
	buf_done(&put);
	buf_done(&renew);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(commands_wait_until_exec);
	RUN(exec_without_commands_is_an_empty_array);
	RUN(exec_and_discard_need_multi);
	RUN(a_refused_command_aborts_the_transaction);
	RUN(discard_drops_the_queued_commands);
	RUN(multi_cannot_be_nested);
	RUN(watch_is_refused_inside_multi);
	RUN(exec_does_nothing_if_a_watched_key_has_changed);
	RUN(changes_of_other_keys_do_not_stop_exec);
	RUN(creating_or_deleting_a_watched_key_changes_it);
	RUN(changes_by_the_same_client_count);
	RUN(exec_and_discard_end_watching);
	RUN(keys_are_watched_in_their_database);
	RUN(the_number_of_watched_keys_is_limited);
	RUN(a_key_that_is_watched_twice_counts_once);
	RUN(queue_lengths_are_read_in_one_transaction);
	RUN(a_flush_changes_existing_keys);
	RUN(flushdb_and_flushall_delete_their_databases);
	RUN(the_list_of_clients_shows_a_transaction);
	RUN(reset_ends_a_transaction);
	RUN(quit_ends_a_transaction_and_the_connection);
	RUN(a_transaction_may_subscribe);
	RUN(the_reply_of_exec_always_has_all_its_elements);
	RUN(replies_that_are_off_stay_off_in_exec);
	RUN(permissions_are_checked_again_by_exec);
	RUN(losing_the_right_to_exec_aborts_the_transaction);
	RUN(a_transaction_may_delete_its_own_user);
	RUN(a_transaction_may_kill_its_own_client);
	RUN(a_transaction_is_limited_in_size);
	RUN(a_transaction_is_limited_in_commands);
	RUN(a_transaction_is_limited_in_tags_and_dependencies);
	RUN(a_transaction_is_limited_in_dependents);
	RUN(a_transaction_is_limited_in_limits_of_running_jobs);
	RUN(a_long_transaction_runs_completely);
	return UNIT_RESULT();
}
