/*
 * The native form of each queue command: arguments in the order of the manual and without a time,
 * errors that begin with their code, and empty lists as lists.
 */
#include "native.h"

#include "command/rows.h"

static struct native_fixture f;

void setUp(void)
{
	native_setup(&f);
}

void tearDown(void)
{
	native_teardown(&f);
}

static void at(double now)
{
	f.now = now;
}

/* Expect a bulk string that contains the text. */
#define ASSERT_HAS(expected, ...)                                               \
	do {                                                                    \
		const char *reply_ = NATIVE(&f, __VA_ARGS__);                   \
                                                                                \
		if (reply_[0] != '$' || strstr(reply_, expected) == NULL)       \
			TEST_ASSERT_EQUAL_STRING("..." expected "...", reply_); \
	} while (0)

static void put(const char *jid)
{
	ASSERT_BEGINS("$", &f, "put", "w", "q", jid, "k", "{}", "0");
	at(f.now + 1);
}

static void pop(const char *jid)
{
	put(jid);
	ASSERT_BEGINS("$", &f, "pop", "q", "w", "1");
}

/* ---- while nothing may change ---- */

static const char *always_refused(void *arg, size_t bytes)
{
	(void)arg;
	(void)bytes;
	return "MISCONF the disk is full";
}

static void listings_do_not_move_due_jobs_while_nothing_may_change(void)
{
	at(100);
	ASSERT_BEGINS("$", &f, "put", "w", "q", "due", "k", "{}", "5");
	at(200);
	f.call.env.log_refusal = always_refused;
	ASSERT_HAS("\"waiting\":0", "queues", "q");
	ASSERT_HAS("\"scheduled\":1", "qless", "queues", "200", "q");
	ASSERT_NATIVE("*1\r\n$3\r\ndue\r\n", &f, "jobs", "scheduled", "q");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "peek", "q", "5");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "workers");
	ASSERT_HAS("\"state\":\"scheduled\"", "get", "due");
	ASSERT_NATIVE("-MISCONF the disk is full\r\n", &f, "pop", "q", "w", "1");
	ASSERT_NATIVE("-MISCONF the disk is full\r\n", &f, "qless", "pop", "200", "q", "w", "1");
	f.call.env.log_refusal = NULL;
	ASSERT_HAS("\"waiting\":1", "queues", "q");
	ASSERT_HAS("\"state\":\"waiting\"", "get", "due");
}

static void listings_of_tags_and_of_tracked_jobs_answer_while_nothing_may_change(void)
{
	at(100);
	ASSERT_BEGINS("$", &f, "put", "w", "q", "j1", "k", "{}", "0", "tags", "[\"a\"]");
	ASSERT_BEGINS("$", &f, "put", "w", "q", "j2", "k", "{}", "0", "tags", "[\"a\"]");
	ASSERT_NATIVE("$1\r\n1\r\n", &f, "track", "track", "j1");
	f.call.env.log_refusal = always_refused;
	ASSERT_HAS("\"total\":2", "tag", "get", "a");
	ASSERT_HAS("\"total\":2", "qless", "tag", "100", "get", "a");
	ASSERT_HAS("[\"a\"]", "tag", "top");
	ASSERT_HAS("\"jid\":\"j1\"", "track");
	ASSERT_HAS("\"jid\":\"j1\"", "qless", "track", "100");
	ASSERT_NATIVE("-MISCONF the disk is full\r\n", &f, "tag", "add", "j1", "b");
	ASSERT_NATIVE("-MISCONF the disk is full\r\n", &f, "tag", "remove", "j1", "a");
	ASSERT_NATIVE("-MISCONF the disk is full\r\n", &f, "qless", "tag", "100", "add", "j1");
	ASSERT_NATIVE("-MISCONF the disk is full\r\n", &f, "track", "untrack", "j1");
	f.call.env.log_refusal = NULL;
}

/* ---- the table ---- */

static void every_queue_command_is_in_the_table(void)
{
	const struct command *row;

	for (size_t i = 0; i < queue_command_rows.count; i++) {
		row = command_table_find(f.call.table, str_from(queue_command_rows.rows[i].name));
		TEST_ASSERT_NOT_NULL_MESSAGE(row, queue_command_rows.rows[i].name);
		TEST_ASSERT_NOT_NULL_MESSAGE(row->handler, row->name);
		TEST_ASSERT_TRUE_MESSAGE(row->categories & CAT_QLESS, row->name);
	}
}

static void each_command_that_writes_is_logged(void)
{
	for (size_t i = 0; i < queue_command_rows.count; i++) {
		const struct command *row = &queue_command_rows.rows[i];

		TEST_ASSERT_EQUAL_INT_MESSAGE((row->flags & CMD_WRITE) != 0, command_is_logged(row),
					      row->name);
	}
}

/* ---- jobs ---- */

static void put_get_and_multiget(void)
{
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "put", "w", "q", "j", "Klass", "{\"a\":1}", "0",
		      "priority", "3", "tags", "[\"t\"]", "retries", "2", "depends", "[]");
	ASSERT_NATIVE("$287\r\n"
		      "{\"jid\":\"j\",\"retries\":2,\"data\":\"{\\\"a\\\":1}\",\"failure\":{},"
		      "\"expires\":0,\"remaining\":2,\"spawned_from_jid\":false,"
		      "\"dependencies\":[],\"klass\":\"Klass\",\"tracked\":false,"
		      "\"tags\":[\"t\"],\"queue\":\"q\",\"state\":\"waiting\","
		      "\"history\":[{\"when\":1000,\"q\":\"q\",\"what\":\"put\"}],"
		      "\"dependents\":[],\"priority\":3,\"worker\":\"\"}\r\n",
		      &f, "get", "j");
	ASSERT_NATIVE("$-1\r\n", &f, "get", "none");
	ASSERT_HAS("[{\"jid\":\"j\",", "multiget", "none", "j");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "multiget", "none");
}

static void put_and_recur_replace_a_star_by_a_new_jid(void)
{
	ASSERT_NATIVE("$32\r\n00000000000000000000000000000001\r\n", &f, "put", "w", "q", "*", "k",
		      "{}", "0");
	ASSERT_NATIVE("$32\r\n00000000000000000000000000000002\r\n", &f, "recur", "q", "*", "k",
		      "{}", "interval", "60", "0");
	ASSERT_HAS("\"jid\":\"00000000000000000000000000000001\"", "get",
		   "00000000000000000000000000000001");
	ASSERT_HAS("\"jid\":\"00000000000000000000000000000002\"", "recur.get",
		   "00000000000000000000000000000002");
	/* Only the native form has this. */
	ASSERT_NATIVE("$32\r\n00000000000000000000000000000003\r\n", &f, "put", "*", "*", "*", "*",
		      "{}", "0");
	ASSERT_NATIVE("$1\r\n*\r\n", &f, "qless", "put", "1", "w", "q", "*", "k", "{}", "0");
	ASSERT_NATIVE("-NOJOB Job x does not exist\r\n", &f, "requeue", "w", "q", "x", "k", "{}",
		      "0");
}

static void a_star_among_many_arguments_is_replaced(void)
{
	struct qless_str argv[5 + 3 * 40] = { STR("multiput"), STR("w"), STR("q"), STR("0"),
					      STR("jobs") };

	for (size_t i = 5; i < sizeof argv / sizeof *argv; i += 3) {
		argv[i] = i == 5 ? STR("*") : STR("j");
		argv[i + 1] = STR("k");
		argv[i + 2] = STR("{}");
	}
	TEST_ASSERT_EQUAL_STRING_LEN("*40\r\n$32\r\n00000000000000000000000000000001\r\n$1\r\nj",
				     call_run_argv(&f.call, argv, sizeof argv / sizeof *argv), 48);
}

static void requeue(void)
{
	put("j");
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "requeue", "w", "other", "j", "k", "{}", "0");
	ASSERT_HAS("\"queue\":\"other\"", "get", "j");
	ASSERT_NATIVE("-NOJOB Job none does not exist\r\n", &f, "requeue", "w", "q", "none", "k",
		      "{}", "0");
}

static void pop_heartbeat_and_complete(void)
{
	put("j");
	at(2000);
	ASSERT_HAS("[{\"jid\":\"j\",", "pop", "q", "w", "1");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "pop", "q", "w", "1");
	at(2010);
	ASSERT_NATIVE(":2070\r\n", &f, "heartbeat", "j", "w");
	ASSERT_NATIVE(":2070\r\n", &f, "heartbeat", "j", "w", "{\"new\":1}");
	ASSERT_NATIVE("$7\r\nwaiting\r\n", &f, "complete", "j", "w", "q", "{}", "next", "q2");
	at(2020);
	ASSERT_HAS("[{\"jid\":\"j\",", "pop", "q2", "w", "5");
	ASSERT_NATIVE("$9\r\nscheduled\r\n", &f, "complete", "j", "w", "q2", "{}", "next", "q",
		      "delay", "5");
	at(2030);
	ASSERT_HAS("[{\"jid\":\"j\",", "pop", "q", "w", "1");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "complete", "j", "w", "q", "{}");
}

static void a_lock_number_protects_a_job_from_an_earlier_hand_out(void)
{
	put("j");
	ASSERT_HAS("\"lock\":1,", "pop", "q", "w", "1");
	ASSERT_BEGINS(":", &f, "heartbeat", "j", "w", "LOCK", "1");
	ASSERT_BEGINS(":", &f, "heartbeat", "j", "w", "{}", "lock", "1");
	ASSERT_NATIVE(":4\r\n", &f, "retry", "j", "q", "w", "Lock", "1");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "get", "j"), "\"lock\""));
	ASSERT_HAS("\"lock\":2,", "pop", "q", "w", "1");
	ASSERT_HAS("\"lock\":2,", "get", "j");
#define AGAIN "was handed out again, and its lock is 2\r\n"
	ASSERT_NATIVE("-NOTOWNER Job j " AGAIN, &f, "heartbeat", "j", "w", "LOCK", "1");
	ASSERT_NATIVE("-NOTOWNER Job j " AGAIN, &f, "complete", "j", "w", "q", "{}", "LOCK", "1",
		      "next", "q2");
	ASSERT_NATIVE("-NOTOWNER Job j " AGAIN, &f, "fail", "j", "w", "g", "m", "LOCK", "1");
	ASSERT_NATIVE("-NOTOWNER Job j " AGAIN, &f, "fail", "j", "w", "g", "m", "{}", "LOCK", "1");
	ASSERT_NATIVE("-NOTOWNER Job j " AGAIN, &f, "retry", "j", "q", "w", "5", "LOCK", "3");
#undef AGAIN
	ASSERT_NATIVE("$7\r\nwaiting\r\n", &f, "complete", "j", "w", "q", "{}", "LOCK", "2", "next",
		      "q2");
	ASSERT_BEGINS("-NOTRUNNING ", &f, "heartbeat", "j", "w", "LOCK", "2");
	ASSERT_BEGINS("-NOJOB ", &f, "heartbeat", "none", "w", "LOCK", "2");
}

static void a_lock_that_is_no_number_is_an_error(void)
{
	pop("j");
	for (size_t i = 0; i < 5; i++) {
		const char *wrong[] = { "x", "0", "-1", "1.5", "281474976710656" };

		ASSERT_BEGINS("-BADARG LOCK must be the number of a hand-out", &f, "heartbeat", "j",
			      "w", "LOCK", wrong[i]);
	}
	ASSERT_BEGINS("-ERR wrong number of arguments", &f, "heartbeat", "j", "w", "{}", "x", "y");
	ASSERT_BEGINS("-BADJSON ", &f, "heartbeat", "j", "w", "LOCK");
}

static void the_classic_forms_do_not_show_locks(void)
{
	put("j");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "qless", "pop", "200", "q", "w", "1"), "\"lock\""));
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "qless", "get", "200", "j"), "\"lock\""));
	ASSERT_HAS("\"lock\":1,", "get", "j");
}

static void peek(void)
{
	put("a");
	put("b");
	ASSERT_HAS("[{\"jid\":\"a\",", "peek", "q", "1");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "peek", "none", "1");
}

static void fail_failed_and_unfail(void)
{
	ASSERT_NATIVE("$2\r\n{}\r\n", &f, "failed");
	pop("a");
	ASSERT_NATIVE("$1\r\na\r\n", &f, "fail", "a", "w", "group", "message");
	pop("b");
	ASSERT_NATIVE("$1\r\nb\r\n", &f, "fail", "b", "w", "group", "message", "{\"d\":1}");
	ASSERT_NATIVE("$11\r\n{\"group\":2}\r\n", &f, "failed");
	ASSERT_NATIVE("$28\r\n{\"jobs\":[\"b\",\"a\"],\"total\":2}\r\n", &f, "failed", "group");
	ASSERT_NATIVE("$24\r\n{\"jobs\":[\"a\"],\"total\":2}\r\n", &f, "failed", "group", "1", "1");
	ASSERT_NATIVE("$21\r\n{\"jobs\":[],\"total\":0}\r\n", &f, "failed", "none");
	ASSERT_NATIVE(":1\r\n", &f, "unfail", "q", "group", "1");
	ASSERT_NATIVE(":1\r\n", &f, "unfail", "q", "group");
	ASSERT_NATIVE(":0\r\n", &f, "unfail", "q", "group");
}

static void retry(void)
{
	pop("j");
	ASSERT_NATIVE(":4\r\n", &f, "retry", "j", "q", "w");
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_NATIVE(":3\r\n", &f, "retry", "j", "q", "w", "60", "group", "message");
	ASSERT_HAS("\"state\":\"scheduled\"", "get", "j");
}

/* Expects a job without a worker and an expiry, in each reply that shows it. */
static void assert_no_run(const char *jid)
{
	const char *const commands[] = { "get", "multiget" };

	for (size_t i = 0; i < 2; i++) {
		const char *reply = NATIVE(&f, commands[i], jid);

		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply, "\"worker\":\"\"}"), reply);
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply, "\"expires\":0,"), reply);
	}
}

static void a_job_that_does_not_run_shows_no_worker_and_no_expiry(void)
{
	pop("j");
	ASSERT_HAS("\"expires\":1061,", "get", "j");
	NATIVE(&f, "retry", "j", "q", "w");
	assert_no_run("j");
	ASSERT_HAS("\"worker\":\"\"}", "peek", "q", "1");
	/* The other forms show what the reference stores. */
	ASSERT_HAS("\"expires\":1061,", "qless", "get", "2000", "j");
	NATIVE(&f, "pop", "q", "w", "1");
	NATIVE(&f, "retry", "j", "q", "w", "5");
	assert_no_run("j");
	at(2000);
	NATIVE(&f, "pop", "q", "w", "1");
	NATIVE(&f, "timeout", "j");
	ASSERT_HAS("\"state\":\"stalled\"", "get", "j");
	assert_no_run("j");
	/* The lock expires, the grace period ends, and another worker gets the job. */
	NATIVE(&f, "pop", "q", "w", "1");
	at(2100);
	NATIVE(&f, "pop", "q", "v", "1");
	at(2200);
	ASSERT_HAS("\"worker\":\"v\"}", "pop", "q", "v", "1");
	ASSERT_HAS("\"expires\":2260,", "get", "j");
	NATIVE(&f, "put", "w", "q", "j", "k", "{}", "0");
	assert_no_run("j");
	NATIVE(&f, "pop", "q", "w", "1");
	NATIVE(&f, "fail", "j", "w", "group", "message");
	assert_no_run("j");
}

static void timeout_and_cancel(void)
{
	pop("a");
	ASSERT_NATIVE("$-1\r\n", &f, "timeout", "a");
	ASSERT_HAS("\"state\":\"stalled\"", "get", "a");
	put("b");
	ASSERT_NATIVE("*2\r\n$1\r\na\r\n$1\r\nb\r\n", &f, "cancel", "a", "b");
	ASSERT_NATIVE("$-1\r\n", &f, "get", "a");
}

static void cancel_replies_with_the_jobs_that_it_deleted(void)
{
	put("a");
	put("b");
	pop("done");
	NATIVE(&f, "pop", "q", "w", "5");
	NATIVE(&f, "complete", "a", "w", "q", "{}");
	ASSERT_NATIVE("*0\r\n", &f, "cancel", "none");
	ASSERT_NATIVE("*0\r\n", &f, "cancel", "a");
	ASSERT_HAS("\"state\":\"complete\"", "get", "a");
	ASSERT_NATIVE("*1\r\n$1\r\nb\r\n", &f, "cancel", "none", "b", "a");
	ASSERT_NATIVE("*1\r\n$4\r\ndone\r\n", &f, "cancel", "done");
	/* The other forms reply like the reference. */
	ASSERT_NATIVE("*2\r\n$4\r\nnone\r\n$1\r\na\r\n", &f, "qless", "cancel", "3000", "none",
		      "a");
}

static void unrecur_replies_with_the_number_of_jobs_that_it_deleted(void)
{
	NATIVE(&f, "recur", "q", "r", "k", "{}", "interval", "60", "0");
	ASSERT_NATIVE(":0\r\n", &f, "unrecur", "none");
	ASSERT_NATIVE(":1\r\n", &f, "unrecur", "r");
	ASSERT_NATIVE(":0\r\n", &f, "unrecur", "r");
	ASSERT_NATIVE(":1\r\n", &f, "qless", "unrecur", "3000", "r");
}

static void depends(void)
{
	put("a");
	put("b");
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "put", "w", "q", "j", "k", "{}", "0", "depends",
		      "[\"a\"]");
	ASSERT_NATIVE(":1\r\n", &f, "depends", "j", "on", "b");
	ASSERT_HAS("\"dependencies\":[\"a\",\"b\"]", "get", "j");
	ASSERT_NATIVE(":1\r\n", &f, "depends", "j", "off", "a");
	ASSERT_NATIVE(":1\r\n", &f, "depends", "j", "off", "all");
	ASSERT_HAS("\"state\":\"waiting\"", "get", "j");
}

static void priority_and_log(void)
{
	put("j");
	ASSERT_NATIVE(":7\r\n", &f, "priority", "j", "7");
	ASSERT_NATIVE("$-1\r\n", &f, "log", "j", "hello");
	ASSERT_NATIVE("$-1\r\n", &f, "log", "j", "hello", "{\"a\":1}");
	ASSERT_HAS("{\"a\":1,\"when\":1001,\"what\":\"hello\"}", "get", "j");
}

static void tag_and_track(void)
{
	put("j");
	ASSERT_NATIVE("$9\r\n[\"t\",\"u\"]\r\n", &f, "tag", "add", "j", "t", "u");
	ASSERT_NATIVE("$24\r\n{\"jobs\":[\"j\"],\"total\":1}\r\n", &f, "tag", "get", "t", "0",
		      "10");
	ASSERT_NATIVE("$5\r\n[\"u\"]\r\n", &f, "tag", "remove", "j", "t");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "tag", "top", "0", "10");
	ASSERT_NATIVE("$1\r\n1\r\n", &f, "track", "track", "j");
	ASSERT_HAS("{\"expired\":[],\"jobs\":[{\"jid\":\"j\",", "track");
	ASSERT_NATIVE("$1\r\n1\r\n", &f, "track", "untrack", "j");
	ASSERT_NATIVE("$24\r\n{\"expired\":[],\"jobs\":[]}\r\n", &f, "track");
}

/* ---- queues ---- */

static void jobs_lists_every_state(void)
{
	pop("a");
	NATIVE(&f, "complete", "a", "w", "q", "{}");
	pop("b");
	ASSERT_NATIVE("*1\r\n$1\r\na\r\n", &f, "jobs", "complete");
	ASSERT_NATIVE("*1\r\n$1\r\nb\r\n", &f, "jobs", "running", "q");
	ASSERT_NATIVE("*0\r\n", &f, "jobs", "stalled", "q", "0", "5");
	NATIVE(&f, "put", "w", "q", "c", "k", "{}", "60");
	ASSERT_NATIVE("*1\r\n$1\r\nc\r\n", &f, "jobs", "scheduled", "q");
	NATIVE(&f, "put", "w", "q", "d", "k", "{}", "0", "depends", "[\"c\"]");
	ASSERT_NATIVE("*1\r\n$1\r\nd\r\n", &f, "jobs", "depends", "q");
	ASSERT_NATIVE("*0\r\n", &f, "jobs", "recurring", "q");
	at(5000);
	ASSERT_NATIVE("*1\r\n$1\r\nb\r\n", &f, "jobs", "stalled", "q");
}

static void queues_length_and_forget(void)
{
	const char *counts = "{\"paused\":false,\"running\":0,\"name\":\"q\",\"waiting\":1,"
			     "\"recurring\":0,\"depends\":0,\"stalled\":0,\"scheduled\":0}";
	char expected[200];

	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "queues");
	put("j");
	snprintf(expected, sizeof expected, "$%zu\r\n%s\r\n", strlen(counts), counts);
	ASSERT_NATIVE(expected, &f, "queues", "q");
	snprintf(expected, sizeof expected, "$%zu\r\n[%s]\r\n", strlen(counts) + 2, counts);
	ASSERT_NATIVE(expected, &f, "queues");
	ASSERT_NATIVE(":1\r\n", &f, "length", "q");
	ASSERT_NATIVE("$-1\r\n", &f, "queue.forget", "q");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "queues");
}

static void pause_and_unpause(void)
{
	put("j");
	ASSERT_NATIVE("$-1\r\n", &f, "pause", "q", "r");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "pop", "q", "w", "1");
	ASSERT_NATIVE("$-1\r\n", &f, "unpause", "q", "r");
	ASSERT_HAS("[{\"jid\":\"j\",", "pop", "q", "w", "1");
}

static void stats(void)
{
	pop("j");
	ASSERT_HAS("\"failures\":0,\"retries\":0,\"failed\":0,\"wait\":{\"std\":0,", "stats", "q",
		   "1000");
}

/* ---- recurring jobs ---- */

static void recurring_jobs(void)
{
	ASSERT_NATIVE("$1\r\nr\r\n", &f, "recur", "q", "r", "k", "{}", "interval", "60", "0",
		      "priority", "1", "tags", "[\"t\"]", "retries", "2", "backlog", "3");
	ASSERT_HAS("\"interval\":60,\"klass\":\"k\",\"backlog\":3,\"priority\":1}", "recur.get",
		   "r");
	ASSERT_NATIVE("$9\r\n[\"t\",\"u\"]\r\n", &f, "recur.tag", "r", "u");
	ASSERT_NATIVE("$5\r\n[\"u\"]\r\n", &f, "recur.untag", "r", "t");
	ASSERT_NATIVE(":1\r\n", &f, "recur.update", "r", "interval", "30", "klass", "other");
	ASSERT_HAS("[{\"jid\":\"r-1\",", "pop", "q", "w", "1");
	ASSERT_NATIVE("*1\r\n$1\r\nr\r\n", &f, "jobs", "recurring", "q");
	ASSERT_NATIVE(":1\r\n", &f, "unrecur", "r");
	ASSERT_NATIVE("$-1\r\n", &f, "recur.get", "r");
}

/* ---- workers ---- */

static void workers_and_their_days(void)
{
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "workers");
	ASSERT_NATIVE("$34\r\n{\"stalled\":[],\"jobs\":[],\"days\":[]}\r\n", &f, "workers", "w");
	at(100000);
	pop("a");
	at(186400);
	pop("b");
	NATIVE(&f, "fail", "b", "w", "g", "m");
	ASSERT_NATIVE("$35\r\n[{\"stalled\":0,\"name\":\"w\",\"jobs\":0}]\r\n", &f, "workers");
	ASSERT_NATIVE("$152\r\n{\"stalled\":[],\"jobs\":[],\"days\":["
		      "{\"day\":172800,\"popped\":1,\"completed\":0,\"failed\":1,\"lost\":0},"
		      "{\"day\":86400,\"popped\":1,\"completed\":0,\"failed\":0,\"lost\":0}]}\r\n",
		      &f, "workers", "w");
	/* The other forms reply like the reference. */
	ASSERT_NATIVE("$24\r\n{\"stalled\":[],\"jobs\":[]}\r\n", &f, "qless", "workers", "186402",
		      "w");
	ASSERT_NATIVE("$-1\r\n", &f, "worker.deregister", "w");
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "workers");
	ASSERT_HAS("{\"day\":172800,", "workers", "w");
}

/* ---- options ---- */

static void options_of_the_queues(void)
{
	ASSERT_NATIVE(":60\r\n", &f, "config.get", "heartbeat");
	ASSERT_NATIVE("$-1\r\n", &f, "config.get", "none");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "heartbeat", "30");
	ASSERT_NATIVE("$2\r\n30\r\n", &f, "config.get", "heartbeat");
	ASSERT_HAS("\"heartbeat\":\"30\"", "config.get");
	ASSERT_NATIVE("$-1\r\n", &f, "config.unset", "heartbeat");
	ASSERT_NATIVE(":60\r\n", &f, "config.get", "heartbeat");
}

static void options_that_may_be_set(void)
{
	static const char *const names[] = {
		"application",	  "max-job-history",	  "max-worker-age",
		"mail-heartbeat", "a-b-heartbeat",	  "x-",
		"x-anything",	  "q-max-concurrency",	  "mail-x-heartbeat",
		"failed-history", "failed-history-count", "mail-retain",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		ASSERT_NATIVE("$-1\r\n", &f, "config.set", names[i], "5");
	/* An option that a client of the reference has set. */
	NATIVE(&f, "qless", "config.set", "1", "own", "1");
	ASSERT_NATIVE("$-1\r\n", &f, "config.set", "own", "2");
	ASSERT_NATIVE("$1\r\n2\r\n", &f, "config.get", "own");
	ASSERT_NATIVE("$-1\r\n", &f, "config.unset", "own");
	ASSERT_BEGINS("-BADARG Unknown option \"own\"", &f, "config.set", "own", "2");
}

/* ---- errors ---- */

static void errors_begin_with_their_code(void)
{
	put("a");
	NATIVE(&f, "put", "w", "q", "waits", "k", "{}", "0", "depends", "[\"a\"]");
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_BEGINS(
		"-BADARG count must be a whole number from 0 to 1e+15; found \"x\" (expected: ", &f,
		"pop", "q", "w", "x");
	ASSERT_BEGINS("-BADJSON ", &f, "put", "w", "q", "j", "k", "{", "0");
	ASSERT_BEGINS("-NOJOB ", &f, "heartbeat", "none", "w");
	ASSERT_BEGINS("-NOTRUNNING ", &f, "heartbeat", "waits", "w");
	ASSERT_BEGINS("-NOTOWNER ", &f, "heartbeat", "a", "other");
	ASSERT_BEGINS("-WRONGQUEUE ", &f, "complete", "a", "w", "other", "{}");
	ASSERT_BEGINS("-NOTDEPENDS ", &f, "depends", "a", "on", "waits");
	ASSERT_BEGINS("-DEPENDENTS ", &f, "cancel", "a");
	/* Only the log can bring such a job, because the limits of a server refuse it. */
	NATIVE(&f, "qless", "put", "1", "w", "q", "f", "k", "{}", "0", "retries", "1.5");
	NATIVE(&f, "pop", "q", "w", "1");
	ASSERT_BEGINS("-RETRIES ", &f, "retry", "f", "q", "w");
	ASSERT_BEGINS("-LIMIT ", &f, "pop", "q", "w", "1e10");
	ASSERT_BEGINS(
		"-ERR wrong number of arguments for 'put' command (expected: PUT worker queue "
		"jid klass data delay [<'priority' n |",
		&f, "put", "w", "q", "j");
}

static void qless_errors_have_no_code(void)
{
	ASSERT_NATIVE("-ERR Heartbeat(): Job none does not exist\r\n", &f, "qless", "heartbeat",
		      "1", "none", "w");
	ASSERT_NATIVE("-ERR Unknown command nothing\r\n", &f, "qless", "nothing", "1");
	ASSERT_NATIVE("-ERR Unknown command Put\r\n", &f, "qless", "Put", "1");
	ASSERT_BEGINS("-ERR Arg \"now\" missing or not a number", &f, "qless", "queues");
	ASSERT_BEGINS("-ERR Arg \"now\" missing or not a number", &f, "qless", "queues", "inf");
}

static void names_of_native_commands_ignore_case(void)
{
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "PUT", "w", "q", "j", "k", "{}", "0");
	ASSERT_NATIVE(":60\r\n", &f, "Config.Get", "heartbeat");
}

/* ---- consistencycheck ---- */

static void consistencycheck_finds_no_inconsistency(void)
{
	pop("a");
	ASSERT_NATIVE("*0\r\n", &f, "consistencycheck");
	ASSERT_NATIVE("*0\r\n", &f, "consistencycheck", "RESOLVE");
	ASSERT_NATIVE("-BADARG The argument must be \"RESOLVE\"; found \"now\" (expected: "
		      "CONSISTENCYCHECK [RESOLVE])\r\n",
		      &f, "consistencycheck", "now");
	ASSERT_NATIVE("*0\r\n", &f, "qless", "consistencycheck", "1");
}

static void queue_commands_are_found_by_their_exact_name(void)
{
	const struct command_table *t = f.call.table;

	for (size_t i = 0; i < queue_command_rows.count; i++) {
		struct qless_str name = str_from(queue_command_rows.rows[i].name);

		TEST_ASSERT_TRUE(command_table_find_queue(t, name) == command_table_find(t, name));
	}
	TEST_ASSERT_NULL(command_table_find_queue(t, STR("PUT")));
	TEST_ASSERT_NULL(command_table_find_queue(t, STR("ping")));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(listings_do_not_move_due_jobs_while_nothing_may_change);
	RUN(listings_of_tags_and_of_tracked_jobs_answer_while_nothing_may_change);
	RUN(every_queue_command_is_in_the_table);
	RUN(each_command_that_writes_is_logged);
	RUN(put_get_and_multiget);
	RUN(put_and_recur_replace_a_star_by_a_new_jid);
	RUN(a_star_among_many_arguments_is_replaced);
	RUN(requeue);
	RUN(pop_heartbeat_and_complete);
	RUN(a_lock_number_protects_a_job_from_an_earlier_hand_out);
	RUN(a_lock_that_is_no_number_is_an_error);
	RUN(the_classic_forms_do_not_show_locks);
	RUN(peek);
	RUN(fail_failed_and_unfail);
	RUN(retry);
	RUN(a_job_that_does_not_run_shows_no_worker_and_no_expiry);
	RUN(timeout_and_cancel);
	RUN(cancel_replies_with_the_jobs_that_it_deleted);
	RUN(unrecur_replies_with_the_number_of_jobs_that_it_deleted);
	RUN(depends);
	RUN(priority_and_log);
	RUN(tag_and_track);
	RUN(jobs_lists_every_state);
	RUN(queues_length_and_forget);
	RUN(pause_and_unpause);
	RUN(stats);
	RUN(recurring_jobs);
	RUN(workers_and_their_days);
	RUN(options_of_the_queues);
	RUN(options_that_may_be_set);
	RUN(errors_begin_with_their_code);
	RUN(qless_errors_have_no_code);
	RUN(names_of_native_commands_ignore_case);
	RUN(consistencycheck_finds_no_inconsistency);
	RUN(queue_commands_are_found_by_their_exact_name);
	return UNIT_RESULT();
}
