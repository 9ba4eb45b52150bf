/*
 * MULTI, EXEC and what comes in between; WATCH, and FLUSHALL, which is what it notices.
 */
#include <stdio.h>
#include <stdlib.h>

#include "peer.h"
#include "unit.h"

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

static void nothing_in_between_is_an_empty_array(void)
{
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "EXEC", "*0\r\n");
}

static void exec_and_discard_need_multi(void)
{
	ASK(p, "EXEC", "-ERR EXEC without MULTI\r\n");
	ASK(p, "DISCARD", "-ERR DISCARD without MULTI\r\n");
}

static void one_command_that_is_refused_spoils_all(void)
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

static void discard_forgets(void)
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

static void watch_stands_before_multi(void)
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

static void a_flush_ends_transactions_that_watch_something(void)
{
	struct peer *other = peer_connect(&q);

	ASK(p, "WATCH a", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK(other, "FLUSHALL", "+OK\r\n");
	ASK(p, "EXEC", "*-1\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK(other, "FLUSHALL", "+OK\r\n");
	ASK(p, "EXEC", "*1\r\n+PONG\r\n");
	ASK(p, "WATCH a", "+OK\r\n");
	ASK(other, "FLUSHALL", "+OK\r\n");
	ASK(p, "UNWATCH", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "EXEC", "*0\r\n");
}

static void a_flush_of_one_database_leaves_those_alone_that_watch_another(void)
{
	struct peer *other = peer_connect(&q);

	ASK(p, "WATCH a", "+OK\r\n");
	ASK(other, "SELECT 1", "+OK\r\n");
	ASK(other, "FLUSHDB", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "EXEC", "*0\r\n");
	ASK(p, "WATCH a", "+OK\r\n");
	ASK(p, "SELECT 2", "+OK\r\n");
	ASK(other, "SELECT 0", "+OK\r\n");
	ASK(other, "FLUSHDB", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "EXEC", "*-1\r\n");
	ASK(p, "WATCH a", "+OK\r\n");
	ASK(p, "SELECT 3", "+OK\r\n");
	ASK(p, "WATCH a", "+OK\r\n");
	ASK(other, "SELECT 2", "+OK\r\n");
	ASK(other, "FLUSHDB", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "EXEC", "*-1\r\n");
}

static void flushes_delete_what_they_say(void)
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

static void a_subscription_may_begin_within(void)
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

static void permissions_count_when_exec_runs(void)
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

static void a_user_who_lost_the_right_to_exec_keeps_the_transaction_from_running(void)
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

static void a_user_may_delete_itself_within(void)
{
	ASK(p, "ACL SETUSER u on >pw +@all", "+OK\r\n");
	ASK(p, "AUTH u pw", "+OK\r\n");
	ASK(p, "MULTI", "+OK\r\n");
	ASK(p, "ACL DELUSER u", "+QUEUED\r\n");
	ASK(p, "PING", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "*2\r\n:1\r\n-NOPERM");
	peer_expect_end(p);
}

static void a_client_may_kill_itself_within(void)
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
}

static void a_long_transaction_runs_whole(void)
{
	const int count = 20000;

	peer_send_text(p, "MULTI\r\n");
	for (int i = 0; i < count; i++)
		peer_send_text(p, "PING\r\n");
	peer_send_text(p, "EXEC\r\n");
	peer_expect(p, "+OK\r\n");
	for (int i = 0; i < count; i++)
		peer_expect(p, "+QUEUED\r\n");
	peer_expect(p, "*20000\r\n");
	for (int i = 0; i < count; i++)
		peer_expect(p, "+PONG\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(commands_wait_until_exec);
	RUN(nothing_in_between_is_an_empty_array);
	RUN(exec_and_discard_need_multi);
	RUN(one_command_that_is_refused_spoils_all);
	RUN(discard_forgets);
	RUN(multi_cannot_be_nested);
	RUN(watch_stands_before_multi);
	RUN(a_flush_ends_transactions_that_watch_something);
	RUN(a_flush_of_one_database_leaves_those_alone_that_watch_another);
	RUN(flushes_delete_what_they_say);
	RUN(the_list_of_clients_shows_a_transaction);
	RUN(reset_ends_a_transaction);
	RUN(quit_ends_a_transaction_and_the_connection);
	RUN(a_subscription_may_begin_within);
	RUN(the_reply_of_exec_always_has_all_its_elements);
	RUN(replies_that_are_off_stay_off_in_exec);
	RUN(permissions_count_when_exec_runs);
	RUN(a_user_who_lost_the_right_to_exec_keeps_the_transaction_from_running);
	RUN(a_user_may_delete_itself_within);
	RUN(a_client_may_kill_itself_within);
	RUN(a_transaction_is_limited_in_size);
	RUN(a_long_transaction_runs_whole);
	return UNIT_RESULT();
}
