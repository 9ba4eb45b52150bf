/*
 * Admission: which commands may run, and the errors of those that may not.
 */
#include "native.h"

static struct native_fixture f;
static struct conditions now;
static const char *log_line; /* the error of the log; NULL: it records changes */
static size_t logged_bytes;
static bool was_still; /* the last request that was decided about */

static void tell_conditions(void *arg, struct conditions *ret)
{
	(void)arg;
	*ret = now;
}

static const char *refuse_log(void *arg, size_t bytes)
{
	(void)arg;
	logged_bytes = bytes;
	return log_line;
}

void setUp(void)
{
	native_setup(&f);
	now = (struct conditions){ .pause = PAUSE_NONE };
	log_line = NULL;
	logged_bytes = 0;
	f.call.env.conditions = tell_conditions;
	f.call.env.log_refusal = refuse_log;
}

void tearDown(void)
{
	native_teardown(&f);
}

/* Decides about a request, whose words are separated by blanks. */
static struct verdict decide(const struct transaction *txn, const char *words)
{
	static struct qless_str argv[16];
	struct request req = { .argv = argv,
			       .reply = &f.call.writer,
			       .session = &f.call.session,
			       .txn = txn,
			       .env = &f.call.env };
	struct verdict verdict;
	int name_args;

	for (const char *word = words; *word != '\0';) {
		size_t len = strcspn(word, " ");

		argv[req.argc++] = str_make(word, len);
		word += len + (word[len] == ' ');
	}
	req.row = command_table_lookup(f.call.table, argv, req.argc, &name_args);
	req.args = argv + name_args;
	req.nargs = (size_t)(req.argc - name_args);
	verdict = admission_decide(&req);
	was_still = req.is_still;
	return verdict;
}

#define ASSERT_VERDICT(kind_, txn, words) TEST_ASSERT_EQUAL_INT(kind_, decide(txn, words).kind)

static void log_out(void)
{
	f.call.session.user = NULL;
}

static void a_command_runs_if_no_check_fails(void)
{
	ASSERT_VERDICT(VERDICT_RUN, NULL, "put w q j k {} 0");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "get j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "PING");
}

static void the_first_check_that_fails_decides(void)
{
	struct transaction txn = { .writes = false };

	log_out();
	now = (struct conditions){ .pause = PAUSE_ALL, .loading = true, .is_full = true };
	f.call.session.subscribed = true;
	log_line = "MISCONF full";
	ASSERT_VERDICT(VERDICT_UNKNOWN, &txn, "nope");
	ASSERT_VERDICT(VERDICT_UNKNOWN, &txn, "client nope");
	ASSERT_VERDICT(VERDICT_ARITY, &txn, "bgrewriteaof x");
	ASSERT_VERDICT(VERDICT_HOLD, &txn, "bgrewriteaof");
	now.pause = PAUSE_NONE;
	ASSERT_VERDICT(VERDICT_NOT_AUTHENTICATED, &txn, "bgrewriteaof");
	f.call.session.user = acl_default_user(f.call.env.acl);
	ASSERT_VERDICT(VERDICT_MEMORY, &txn, "bgrewriteaof");
	now.is_full = false;
	ASSERT_VERDICT(VERDICT_SUBSCRIBED, &txn, "bgrewriteaof");
	f.call.session.subscribed = false;
	ASSERT_VERDICT(VERDICT_LOADING, &txn, "bgrewriteaof");
	now.loading = false;
	ASSERT_VERDICT(VERDICT_IN_TRANSACTION, &txn, "bgrewriteaof");
	ASSERT_VERDICT(VERDICT_QUEUE, &txn, "put w q j k {} 0");
	ASSERT_VERDICT(VERDICT_LOG, NULL, "put w q j k {} 0");
}

static void a_write_pause_holds_commands_that_write(void)
{
	struct transaction reads = { .writes = false }, writes = { .writes = true };

	now.pause = PAUSE_WRITE;
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "put w q j k {} 0");
	TEST_ASSERT_EQUAL_INT(HOLD_PAUSE, decide(NULL, "flushall").hold);
	ASSERT_VERDICT(VERDICT_RUN, NULL, "get j");
	ASSERT_VERDICT(VERDICT_QUEUE, &writes, "put w q j k {} 0");
	ASSERT_VERDICT(VERDICT_RUN, &reads, "exec");
	ASSERT_VERDICT(VERDICT_HOLD, &writes, "exec");
	now.pause = PAUSE_ALL;
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "get j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "client unpause");
}

static void changes_wait_while_earlier_ones_are_unsynced(void)
{
	struct transaction reads = { .is_logged = false }, changes = { .is_logged = true };

	now.is_unsynced = true;
	TEST_ASSERT_EQUAL_INT(HOLD_SYNC, decide(NULL, "put w q j k {} 0").hold);
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "pop w q 1");
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "qless put 1 w q j k {} 0");
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "eval script 0 put 1 w q j k {} 0");
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "evalsha sha 0 put 1 w q j k {} 0");
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "qless tag 1 add j t");
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "flushall");
	ASSERT_VERDICT(VERDICT_HOLD, NULL, "acl setuser u");
	ASSERT_VERDICT(VERDICT_QUEUE, &reads, "put w q j k {} 0");
	ASSERT_VERDICT(VERDICT_HOLD, &changes, "exec");
}

static void reads_go_on_while_changes_are_unsynced(void)
{
	struct transaction reads = { .is_logged = false };

	ASSERT_VERDICT(VERDICT_RUN, NULL, "peek q 1");
	TEST_ASSERT_FALSE(was_still);
	now.is_unsynced = true;
	ASSERT_VERDICT(VERDICT_RUN, NULL, "get j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "peek q 1");
	TEST_ASSERT_TRUE(was_still); /* jobs that have come due are not moved */
	ASSERT_VERDICT(VERDICT_RUN, NULL, "tag get t");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "track");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "qless get 1 j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "qless tag 1 get t");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "qless track 1");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "qless nope");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "evalsha sha 0 get 1 j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "evalsha sha 0");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "PING");
	ASSERT_VERDICT(VERDICT_RUN, &reads, "exec");
}

/* The client learns at once what no sync will change. */
static void refusals_do_not_wait_for_a_sync(void)
{
	now = (struct conditions){ .is_unsynced = true, .is_full = true };
	ASSERT_VERDICT(VERDICT_MEMORY, NULL, "put w q j k {} 0");
	now.is_full = false;
	log_out();
	ASSERT_VERDICT(VERDICT_NOT_AUTHENTICATED, NULL, "put w q j k {} 0");
}

static void commands_that_need_memory_are_refused_above_maxmemory(void)
{
	struct transaction shrinks = { .grows = false }, grows = { .grows = true };

	now.is_full = true;
	ASSERT_VERDICT(VERDICT_MEMORY, NULL, "put w q j k {} 0");
	ASSERT_VERDICT(VERDICT_MEMORY, NULL, "tag add j t");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "tag remove j t");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "cancel j");
	ASSERT_VERDICT(VERDICT_MEMORY, &shrinks, "cancel j");
	ASSERT_VERDICT(VERDICT_RUN, &shrinks, "exec");
	ASSERT_VERDICT(VERDICT_MEMORY, &grows, "exec");
	ASSERT_VERDICT(VERDICT_RUN, &grows, "discard");
}

static void the_log_decides_only_about_changes(void)
{
	log_line = "MISCONF full";
	ASSERT_VERDICT(VERDICT_LOG, NULL, "pop q w 1");
	TEST_ASSERT_EQUAL_size_t(3 + strlen("qw1"), logged_bytes);
	ASSERT_VERDICT(VERDICT_LOG, NULL, "flushdb");
	ASSERT_VERDICT(VERDICT_LOG, NULL, "acl setuser bob");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "get j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "qless pop 1 q w 1");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "set k v");
}

static void foreign_commands_learn_what_to_use(void)
{
#define IS "': qlessd is a server for job queues, not a Redis database; "
	ASSERT_NATIVE("-ERR unknown command 'BLPOP" IS "use BPOP to wait for a job\r\n", &f,
		      "BLPOP", "queue:default", "2");
	ASSERT_NATIVE("-ERR unknown command 'rpoplpush" IS
		      "use POP to get a job, and BPOP to wait for one\r\n",
		      &f, "rpoplpush", "a", "b");
	ASSERT_NATIVE("-ERR unknown command 'XAdd" IS "use PUT to add a job\r\n", &f, "XAdd", "s",
		      "*", "a", "b");
	ASSERT_NATIVE("-ERR unknown command 'incr" IS "use PUT to add a job with data\r\n", &f,
		      "incr", "x");
#undef IS
}

static void refusals_have_the_texts_of_redis(void)
{
	ASSERT_NATIVE("-ERR unknown command 'nope', with args beginning with: 'x' \r\n", &f, "nope",
		      "x");
	ASSERT_NATIVE("-ERR unknown subcommand 'x'. Try CLIENT HELP.\r\n", &f, "client", "x");
	ASSERT_NATIVE("-ERR wrong number of arguments for 'get' command (expected: GET jid)\r\n",
		      &f, "get");
	ASSERT_NATIVE("-ERR wrong number of arguments for 'client' command (expected: CLIENT "
		      "and a subcommand; see CLIENT HELP)\r\n",
		      &f, "client");
	now.loading = true;
	ASSERT_NATIVE("-LOADING qlessd is loading the dataset in memory\r\n", &f, "get", "j");
	f.call.session.subscribed = true;
	ASSERT_NATIVE("-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / "
		      "QUIT / RESET are allowed in this context\r\n",
		      &f, "get", "j");
	now.is_full = true;
	ASSERT_NATIVE("-OOM command not allowed when used memory > 'maxmemory'.\r\n", &f, "put",
		      "w", "q", "j", "k", "{}", "0");
	log_out();
	ASSERT_NATIVE("-NOAUTH Authentication required.\r\n", &f, "get", "j");
}

static void qless_needs_permission_for_its_inner_command(void)
{
	struct qless_str rules[] = { STR("on"), STR("nopass"), STR("+qless"), STR("+get"),
				     STR("+pop") };
	struct buf error = BUF_INIT(BUF_NO_MAX);

	TEST_ASSERT_TRUE(acl_set_user(f.call.env.acl, STR("bob"), rules, 5, &error));
	f.call.session.user = acl_find(f.call.env.acl, STR("bob"));
	ASSERT_NATIVE("-NOPERM this user has no permissions to run the 'cancel' command\r\n", &f,
		      "qless", "cancel", "1", "j");
	ASSERT_NATIVE("$-1\r\n", &f, "qless", "get", "1", "j");
	log_line = "MISCONF full";
	ASSERT_NATIVE("$-1\r\n", &f, "qless", "get", "1", "j");
	ASSERT_NATIVE("-MISCONF full\r\n", &f, "qless", "pop", "1", "q", "w", "1");
}

static void the_log_decides_about_a_whole_transaction(void)
{
	struct transaction reads = { .bytes = 7 }, changes = { .is_logged = true, .bytes = 7 };
	struct request req = { .row = command_table_find(f.call.table, STR("exec")),
			       .reply = &f.call.writer,
			       .session = &f.call.session,
			       .txn = &reads,
			       .env = &f.call.env };
	struct verdict verdict;

	log_line = "MISCONF full";
	TEST_ASSERT_EQUAL_INT(VERDICT_RUN, admission_decide_exec(&req).kind);
	req.txn = &changes;
	verdict = admission_decide_exec(&req);
	TEST_ASSERT_EQUAL_INT(VERDICT_LOG, verdict.kind);
	TEST_ASSERT_EQUAL_size_t(7, logged_bytes);
	admission_refuse(&req, &verdict);
	ASSERT_NATIVE("-EXECABORT Transaction discarded because of: MISCONF full\r\n+PONG\r\n", &f,
		      "ping");
}

static void a_queued_command_needs_permission_when_it_runs(void)
{
	struct request req = { .row = command_table_find(f.call.table, STR("put")),
			       .reply = &f.call.writer,
			       .session = &f.call.session,
			       .env = &f.call.env };
	struct verdict verdict;

	TEST_ASSERT_EQUAL_INT(VERDICT_RUN, admission_decide_queued(&req).kind);
	log_out();
	verdict = admission_decide_queued(&req);
	TEST_ASSERT_EQUAL_INT(VERDICT_NO_LONGER_PERMITTED, verdict.kind);
	admission_refuse(&req, &verdict);
	f.call.session.user = acl_default_user(f.call.env.acl);
	ASSERT_NATIVE("-NOPERM ACLs rules changed between the moment the transaction was "
		      "accumulated and the EXEC call. No permission to run 'put'\r\n+PONG\r\n",
		      &f, "ping");
}

static void another_server_answers_all_but_what_concerns_this_one(void)
{
	now.elsewhere = "READONLY the leader is host:1";
	ASSERT_NATIVE("-READONLY the leader is host:1\r\n", &f, "get", "j");
	ASSERT_NATIVE("-READONLY the leader is host:1\r\n", &f, "put", "w", "q", "j", "k", "{}",
		      "0");
	ASSERT_NATIVE("$7\r\ndefault\r\n", &f, "acl", "whoami");
	now.elsewhere = NULL;
	ASSERT_NATIVE("$-1\r\n", &f, "get", "j");
}

static void a_copy_is_read_by_connections_that_ask_for_it(void)
{
	now.elsewhere = "READONLY the leader is 10.0.0.1:7537";
	now.is_copy = true;
	ASSERT_VERDICT(VERDICT_ELSEWHERE, NULL, "get j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "ping");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "info");
	f.call.session.reads_copies = true;
	ASSERT_VERDICT(VERDICT_RUN, NULL, "get j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "qless get 1 j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "tag top");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "keys *");
	ASSERT_VERDICT(VERDICT_ELSEWHERE, NULL, "put w q j k {} 0");
	ASSERT_VERDICT(VERDICT_ELSEWHERE, NULL, "qless put 1 w q j k {} 0");
	ASSERT_VERDICT(VERDICT_ELSEWHERE, NULL, "tag add j t");
	ASSERT_VERDICT(VERDICT_ELSEWHERE, NULL, "job.wait 0 j");
	ASSERT_VERDICT(VERDICT_ELSEWHERE, NULL, "flushall");
	now.is_copy = false;
	ASSERT_VERDICT(VERDICT_ELSEWHERE, NULL, "get j");
	ASSERT_VERDICT(VERDICT_RUN, NULL, "ping");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_command_runs_if_no_check_fails);
	RUN(the_first_check_that_fails_decides);
	RUN(a_write_pause_holds_commands_that_write);
	RUN(changes_wait_while_earlier_ones_are_unsynced);
	RUN(reads_go_on_while_changes_are_unsynced);
	RUN(refusals_do_not_wait_for_a_sync);
	RUN(commands_that_need_memory_are_refused_above_maxmemory);
	RUN(the_log_decides_only_about_changes);
	RUN(foreign_commands_learn_what_to_use);
	RUN(refusals_have_the_texts_of_redis);
	RUN(qless_needs_permission_for_its_inner_command);
	RUN(the_log_decides_about_a_whole_transaction);
	RUN(a_queued_command_needs_permission_when_it_runs);
	RUN(another_server_answers_all_but_what_concerns_this_one);
	RUN(a_copy_is_read_by_connections_that_ask_for_it);
	return UNIT_RESULT();
}
