/*
 * Reports of workers about jobs: JOB.START, JOB.PROGRESS, JOB.META, results and errors; JOB.ABORT
 * and JOB.DELETE.
 */
#include "native.h"

#include "command/acl.h"
#include "command/attach.h"
#include "flatmap.h"

static struct native_fixture f;
static bool is_here; /* the supervisor is attached to the connection of the test */

static const struct databases_limits strict = {
	.engine = { .is_strict = true,
		    .max_result_bytes = 10,
		    .max_note_bytes = 5,
		    .max_meta_fields = 3,
		    .max_meta_bytes = 20 },
	.max_json_depth = 1000,
};

void setUp(void)
{
	native_setup(&f);
	databases_set_limits(f.call.env.databases, &strict);
	is_here = true;
}

void tearDown(void)
{
	native_teardown(&f);
}

static void put(const char *jid)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", jid, "k", "{\"a\":1}", "0");
	f.now += 1;
}

static void run(const char *jid)
{
	put(jid);
	ASSERT_BEGINS("$", &f, "POP", "q", "w", "1");
	f.now += 1;
}

#define ASSERT_JSON(expected, jid)                                             \
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(NATIVE(&f, "GET", jid), expected), \
				     NATIVE(&f, "GET", jid))
#define ASSERT_NOT_JSON(member, jid) \
	TEST_ASSERT_NULL_MESSAGE(strstr(NATIVE(&f, "GET", jid), member), NATIVE(&f, "GET", jid))

/* ---- JOB.START ---- */

static void start_replies_with_the_data(void)
{
	run("j");
	ASSERT_NATIVE("$7\r\n{\"a\":1}\r\n", &f, "JOB.START", "j", "w");
	ASSERT_JSON("\"started\":1002", "j");
	ASSERT_NOT_JSON("\"pid\"", "j");
	ASSERT_NOT_JSON("\"node\"", "j");
	f.now += 5;
	ASSERT_NATIVE("$7\r\n{\"a\":1}\r\n", &f, "JOB.START", "j", "w", "pid", "42", "NODE",
		      "host1", "LOCK", "1");
	ASSERT_JSON("\"started\":1002", "j");
	ASSERT_JSON("\"pid\":42,\"node\":\"host1\"", "j");
}

static void only_the_worker_of_a_running_job_starts_it(void)
{
	put("j");
	ASSERT_BEGINS("-NOJOB ", &f, "JOB.START", "none", "w");
	ASSERT_BEGINS("-NOTRUNNING ", &f, "JOB.START", "j", "w");
	ASSERT_BEGINS("$", &f, "POP", "q", "w", "1");
	ASSERT_BEGINS("-NOTOWNER ", &f, "JOB.START", "j", "other");
	ASSERT_BEGINS("-NOTOWNER ", &f, "JOB.START", "j", "w", "LOCK", "7");
	ASSERT_NOT_JSON("\"started\"", "j");
}

static void the_next_run_has_not_started(void)
{
	run("j");
	ASSERT_BEGINS("$", &f, "JOB.START", "j", "w", "PID", "42");
	ASSERT_NATIVE("+OK\r\n", &f, "JOB.PROGRESS", "j", "w", "50", "half");
	ASSERT_BEGINS(":", &f, "RETRY", "j", "q", "w");
	ASSERT_NOT_JSON("\"started\"", "j");
	ASSERT_JSON("\"progress\":50", "j");
	ASSERT_BEGINS("$", &f, "POP", "q", "w", "1");
	ASSERT_NOT_JSON("\"started\"", "j");
	ASSERT_NOT_JSON("\"progress\"", "j");
	ASSERT_NOT_JSON("\"note\"", "j");
}

static void listings_tell_which_jobs_have_started(void)
{
	run("a");
	run("b");
	ASSERT_BEGINS("$", &f, "JOB.START", "b", "w", "PID", "42", "NODE", "host1");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*1\r\n$1\r\na\r\n", &f, "QUEUE.JOBS", "q", "STATE",
		      "reserved");
	ASSERT_NATIVE(
		"*2\r\n$1\r\n0\r\n*1\r\n*8\r\n$3\r\njid\r\n$1\r\nb\r\n$6\r\nworker\r\n$1\r\nw\r\n"
		"$3\r\npid\r\n:42\r\n$4\r\nnode\r\n$5\r\nhost1\r\n",
		&f, "QUEUE.JOBS", "q", "STATE", "started", "WITH", "jid", "worker", "pid", "node");
	ASSERT_BEGINS("*2\r\n$1\r\n0\r\n*2\r\n", &f, "QUEUE.JOBS", "q", "STATE", "running");
}

/* ---- JOB.WHY ---- */

#define ASSERT_WHY(expected, member) ASSERT_MEMBER(expected, member, NATIVE(&f, "JOB.WHY", "j"))

static void why_tells_a_started_job_from_a_reserved_one(void)
{
	run("j");
	ASSERT_WHY("running", "reason");
	ASSERT_WHY("reserved", "run");
	ASSERT_WHY("1001", "since");
	ASSERT_WHY("Worker w popped the job, and has not reported a start. Its lock expires in 59 "
		   "seconds unless the worker renews it",
		   "explanation");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "JOB.WHY", "j"), "start-by"));
	ASSERT_BEGINS("$", &f, "JOB.START", "j", "w", "PID", "42", "NODE", "host1");
	f.now += 8;
	ASSERT_WHY("running", "reason");
	ASSERT_WHY("started", "run");
	ASSERT_WHY("1002", "started");
	ASSERT_WHY("42", "pid");
	ASSERT_WHY("host1", "node");
	ASSERT_WHY("Worker w started the job 8 seconds ago on node host1. Its lock expires in 51 "
		   "seconds unless the worker renews it",
		   "explanation");
}

static void why_tells_until_when_a_job_must_be_started(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-start-timeout", "10");
	run("j");
	f.now += 3;
	ASSERT_WHY("reserved", "run");
	ASSERT_WHY("10", "start-timeout");
	ASSERT_WHY("1011", "start-by");
	ASSERT_WHY("Worker w popped the job, and must start it within 6 seconds. Otherwise it goes "
		   "to the next worker",
		   "explanation");
	ASSERT_BEGINS("$", &f, "JOB.START", "j", "w");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "JOB.WHY", "j"), "start-by"));
}

/* ---- <queue>-start-timeout ---- */

static void a_job_that_is_not_started_in_time_is_handed_out_again(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-start-timeout", "10");
	run("j");
	ASSERT_JSON("\"expires\":1011", "j");
	f.now = 1005;
	ASSERT_NATIVE(":1011\r\n", &f, "HEARTBEAT", "j", "w");
	f.now = 1011;
	ASSERT_BEGINS("-NOTRUNNING The run of job j is over: its worker did not start it within 10 "
		      "seconds",
		      &f, "HEARTBEAT", "j", "w");
	ASSERT_BEGINS("-NOTRUNNING The run of job j is over", &f, "JOB.START", "j", "w");
	ASSERT_BEGINS("$", &f, "POP", "q", "v", "1");
	ASSERT_JSON("\"worker\":\"v\"", "j");
	ASSERT_JSON("\"remaining\":4", "j");
}

static void a_started_job_has_a_lock_as_usual(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-start-timeout", "10");
	run("j");
	f.now = 1006;
	ASSERT_BEGINS("$", &f, "JOB.START", "j", "w");
	ASSERT_JSON("\"expires\":1066", "j");
	f.now = 1020;
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "POP", "q", "v", "1");
	ASSERT_NATIVE(":1080\r\n", &f, "HEARTBEAT", "j", "w");
}

static void the_start_does_not_extend_the_runtime(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-start-timeout", "10");
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-runtime", "30");
	run("j");
	ASSERT_JSON("\"expires\":1011", "j");
	f.now = 1006;
	ASSERT_BEGINS("$", &f, "JOB.START", "j", "w");
	ASSERT_JSON("\"expires\":1031", "j");
	f.now = 1031;
	ASSERT_BEGINS("-NOTRUNNING The run of job j is over: it took longer than its runtime of 30 "
		      "seconds",
		      &f, "HEARTBEAT", "j", "w");
}

static void a_job_that_nobody_starts_uses_up_its_retries(void)
{
	ASSERT_NATIVE("$-1\r\n", &f, "CONFIG.SET", "q-start-timeout", "10");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "j", "k", "{}", "0", "retries", "0");
	ASSERT_BEGINS("$", &f, "POP", "q", "w", "1");
	f.now += 11;
	ASSERT_NATIVE("$2\r\n[]\r\n", &f, "POP", "q", "w", "1");
	ASSERT_JSON("\"group\":\"failed-retries-q\"", "j");
	ASSERT_JSON("The worker did not start the job within 10 seconds", "j");
}

/* ---- JOB.PROGRESS ---- */

static void progress_is_shown_and_published(void)
{
	run("j");
	buf_clear(&f.events);
	ASSERT_NATIVE("+OK\r\n", &f, "JOB.PROGRESS", "j", "w", "12.5");
	ASSERT_JSON("\"progress\":12.5", "j");
	TEST_ASSERT_EQUAL_STRING("ql:log {\"jid\":\"j\",\"event\":\"progress\",\"queue\":\"q\","
				 "\"progress\":12.5}\n",
				 buf_cstr(&f.events));
	buf_clear(&f.events);
	ASSERT_NATIVE("+OK\r\n", &f, "JOB.PROGRESS", "j", "w", "90", "soon", "LOCK", "1");
	ASSERT_JSON("\"progress\":90,\"note\":\"soon\"", "j");
	TEST_ASSERT_EQUAL_STRING("ql:log {\"jid\":\"j\",\"event\":\"progress\",\"queue\":\"q\","
				 "\"progress\":90,\"note\":\"soon\"}\n",
				 buf_cstr(&f.events));
	ASSERT_BEGINS("-LIMIT The note is longer than max-note-size (5 bytes)", &f, "JOB.PROGRESS",
		      "j", "w", "91", "sooner");
	ASSERT_JSON("\"progress\":90,\"note\":\"soon\"", "j");
	ASSERT_BEGINS("-NOTOWNER ", &f, "JOB.PROGRESS", "j", "other", "91");
	ASSERT_BEGINS("-NOTOWNER ", &f, "JOB.PROGRESS", "j", "w", "91", "LOCK", "9");
}

/* ---- results and errors ---- */

static void a_result_is_kept_with_the_job(void)
{
	run("j");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "j", "w", "q", "{}", "RESULT",
		      "4 \"ok\"");
	ASSERT_JSON("\"result\":\"4 \\\"ok\\\"\"", "j");
	ASSERT_NATIVE("*6\r\n$3\r\njid\r\n$1\r\nj\r\n$5\r\nstate\r\n$8\r\ncomplete\r\n"
		      "$6\r\nresult\r\n$6\r\n4 \"ok\"\r\n",
		      &f, "JOB.RESULT", "j");
	ASSERT_NATIVE("*1\r\n*3\r\n$1\r\nj\r\n$8\r\ncomplete\r\n$6\r\n4 \"ok\"\r\n", &f, "JOB.WAIT",
		      "0", "j");
	ASSERT_NATIVE("*2\r\n$1\r\n0\r\n*1\r\n*2\r\n$6\r\nresult\r\n$6\r\n4 \"ok\"\r\n", &f,
		      "QUEUE.JOBS", "q", "WITH", "result");
}

static void a_long_result_is_refused(void)
{
	run("j");
	ASSERT_BEGINS("-LIMIT The result is longer than max-result-size (10 bytes)", &f, "COMPLETE",
		      "j", "w", "q", "{}", "result", "0123456789a");
	ASSERT_JSON("\"state\":\"running\"", "j");
	ASSERT_BEGINS("-LIMIT The error is longer than max-result-size (10 bytes)", &f, "FAIL", "j",
		      "w", "g", "m", "error", "0123456789a");
	ASSERT_JSON("\"state\":\"running\"", "j");
}

static void complete_without_data_keeps_it(void)
{
	run("a");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "a", "w", "q");
	ASSERT_JSON("\"data\":\"{\\\"a\\\":1}\"", "a");
	run("b");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "b", "w", "q", "result", "done", "lock",
		      "2");
	ASSERT_JSON("\"data\":\"{\\\"a\\\":1}\"", "b");
	ASSERT_JSON("\"result\":\"done\"", "b");
	run("c");
	ASSERT_NATIVE("$7\r\nwaiting\r\n", &f, "COMPLETE", "c", "w", "q", "next", "q");
	ASSERT_JSON("\"data\":\"{\\\"a\\\":1}\"", "c");
	ASSERT_BEGINS("-NOJOB ", &f, "COMPLETE", "none", "w", "q");
	ASSERT_BEGINS("-BADJSON ", &f, "COMPLETE", "c", "w", "q", "next");
}

static void a_new_run_forgets_the_result(void)
{
	run("j");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "j", "w", "q", "result", "first");
	put("j");
	ASSERT_JSON("\"result\":\"first\"", "j");
	ASSERT_BEGINS("$", &f, "POP", "q", "w", "1");
	ASSERT_NOT_JSON("\"result\"", "j");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "j", "w", "q");
	ASSERT_MEMBER("null", "result", NATIVE(&f, "JOB.RESULT", "j"));
}

static void a_failure_may_have_the_text_of_an_error(void)
{
	run("j");
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "FAIL", "j", "w", "g", "m", "error", "line 1\n2", "lock",
		      "1");
	ASSERT_JSON("\"error\":\"line 1\\n2\"", "j");
	ASSERT_JSON("\"data\":\"{\\\"a\\\":1}\"", "j");
	ASSERT_MEMBER("line 1\n2", "error", NATIVE(&f, "JOB.RESULT", "j"));
	ASSERT_MEMBER("m", "message", NATIVE(&f, "JOB.RESULT", "j"));
	ASSERT_NATIVE(":1\r\n", &f, "UNFAIL", "q", "g");
	ASSERT_BEGINS("$", &f, "POP", "q", "w", "1");
	ASSERT_JSON("\"error\":\"line 1\\n2\"", "j");
	/* The next failure has no such text. */
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "FAIL", "j", "w", "g", "m2", "{}");
	ASSERT_NOT_JSON("\"error\"", "j");
	ASSERT_MEMBER("m2", "error", NATIVE(&f, "JOB.RESULT", "j"));
	run("k");
	ASSERT_NATIVE("$1\r\nk\r\n", &f, "FAIL", "k", "w", "g", "m", "{\"b\":2}", "ERROR", "e");
	ASSERT_JSON("\"data\":\"{\\\"b\\\":2}\"", "k");
	ASSERT_JSON("\"error\":\"e\"", "k");
}

static void other_forms_do_not_know_results(void)
{
	run("j");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "QLESS", "complete", "1002", "j", "w", "q", "{}",
		      "result", "x");
	ASSERT_MEMBER("null", "result", NATIVE(&f, "JOB.RESULT", "j"));
	run("k");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "k", "w", "q", "result", "x");
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "QLESS", "get", "1002", "k"), "\"result\""));
}

/* ---- JOB.META ---- */

static void an_application_has_fields_of_its_own(void)
{
	put("j");
	ASSERT_NATIVE(":2\r\n", &f, "JOB.META", "j", "SET", "b", "2", "a", "1");
	ASSERT_NATIVE(":1\r\n", &f, "JOB.META", "j", "set", "b", "3", "c", "4");
	ASSERT_NATIVE("*6\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n3\r\n$1\r\nc\r\n$1\r\n4\r\n",
		      &f, "JOB.META", "j", "GET");
	ASSERT_NATIVE("*2\r\n$1\r\n3\r\n$-1\r\n", &f, "JOB.META", "j", "get", "b", "x");
	ASSERT_JSON("\"meta\":{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}", "j");
	ASSERT_NATIVE(":1\r\n", &f, "JOB.META", "j", "DEL", "b", "x");
	ASSERT_NATIVE(":2\r\n", &f, "JOB.META", "j", "DEL", "a", "c");
	ASSERT_NATIVE("*0\r\n", &f, "JOB.META", "j", "GET");
	ASSERT_NOT_JSON("\"meta\"", "j");
	ASSERT_NATIVE("$-1\r\n", &f, "JOB.META", "none", "GET");
	ASSERT_BEGINS("-NOJOB ", &f, "JOB.META", "none", "SET", "a", "1");
}

static void fields_stay_while_the_job_moves_on(void)
{
	run("j");
	ASSERT_NATIVE(":1\r\n", &f, "JOB.META", "j", "SET", "a", "1");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "j", "w", "q");
	run("j");
	ASSERT_NATIVE("*1\r\n$1\r\n1\r\n", &f, "JOB.META", "j", "GET", "a");
}

static void fields_are_limited(void)
{
	put("j");
	ASSERT_NATIVE(":3\r\n", &f, "JOB.META", "j", "SET", "a", "1", "b", "2", "c", "3");
	ASSERT_BEGINS("-LIMIT The job would have more fields than max-meta-fields (3)", &f,
		      "JOB.META", "j", "SET", "d", "4");
	ASSERT_BEGINS("-LIMIT The fields of the job would be larger than max-meta-size (20 bytes)",
		      &f, "JOB.META", "j", "SET", "a", "0123456789abcdef");
	ASSERT_NATIVE(":0\r\n", &f, "JOB.META", "j", "SET", "a", "0123456789abcde");
	ASSERT_NATIVE("*1\r\n$15\r\n0123456789abcde\r\n", &f, "JOB.META", "j", "GET", "a");
	/* The old value of a field that is set twice makes room once. */
	ASSERT_BEGINS("-LIMIT The fields of the job would be larger than max-meta-size (20 bytes)",
		      &f, "JOB.META", "j", "SET", "a", "", "a", "", "b", "0123456789abcdefg");
	ASSERT_NATIVE(":0\r\n", &f, "JOB.META", "j", "SET", "a", "1", "a", "2");
	ASSERT_NATIVE("*1\r\n$1\r\n2\r\n", &f, "JOB.META", "j", "GET", "a");
}

/* ---- JOB.ABORT ---- */

static bool find_worker(void *arg, unsigned db, struct qless_str worker,
			struct worker_view *ret_view)
{
	(void)arg;
	(void)db;
	if (!str_equal(worker, STR("monitor")) && !str_equal(worker, STR("attached")))
		return false;
	*ret_view = (struct worker_view){ .name = worker, .node = STR("host1") };
	return true;
}

static bool is_attached_here(void *arg, const struct request *req, struct qless_str worker)
{
	(void)arg;
	(void)req;
	return is_here && str_equal(worker, STR("monitor"));
}

static void watch_workers(void)
{
	static const struct attach_ops ops = { .find = find_worker,
					       .is_attached_here = is_attached_here };

	f.call.env.presence = &ops;
}

/* Gives the user of the test rules that are separated by spaces. */
static void set_rules(const char *rules)
{
	struct qless_str parts[16] = { STR("ACL"), STR("SETUSER"), STR("default") };
	char words[100];
	int count = 3;

	snprintf(words, sizeof words, "%s", rules);
	for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
		parts[count++] = str_from(word);
	TEST_ASSERT_EQUAL_STRING("+OK\r\n", call_run_argv(&f.call, parts, count));
}

static void a_monitor_on_the_same_node_aborts_a_job(void)
{
	watch_workers();
	set_rules("-@supervise");
	run("j");
	ASSERT_BEGINS("-NOPERM The supervisor must be attached", &f, "JOB.ABORT", "j", "monitor",
		      "died", "m");
	ASSERT_BEGINS("$", &f, "JOB.START", "j", "w", "NODE", "host2");
	ASSERT_BEGINS("-NOPERM ", &f, "JOB.ABORT", "j", "monitor", "died", "m");
	ASSERT_BEGINS("$", &f, "JOB.START", "j", "w", "NODE", "host1");
	ASSERT_BEGINS("-NOPERM ", &f, "JOB.ABORT", "j", "attached", "died", "m");
	is_here = false;
	ASSERT_BEGINS("-NOPERM ", &f, "JOB.ABORT", "j", "monitor", "died", "m");
	is_here = true;
	buf_clear(&f.events);
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "JOB.ABORT", "j", "monitor", "died", "signal 9");
	TEST_ASSERT_NOT_NULL(
		strstr(buf_cstr(&f.events),
		       "ql:w:w {\"jid\":\"j\",\"event\":\"lock_lost\",\"worker\":\"w\"}"));
	ASSERT_JSON("\"failure\":{\"message\":\"signal 9\",\"group\":\"died\",\"when\":1002,"
		    "\"worker\":\"monitor\"}",
		    "j");
	ASSERT_JSON("\"state\":\"failed\"", "j");
	ASSERT_BEGINS("-NOTRUNNING ", &f, "JOB.ABORT", "j", "monitor", "died", "m");
	ASSERT_BEGINS("-NOJOB ", &f, "JOB.ABORT", "none", "monitor", "died", "m");
	ASSERT_BEGINS("-NOTRUNNING ", &f, "COMPLETE", "j", "w", "q");
}

static void the_node_of_an_attached_worker_counts(void)
{
	watch_workers();
	set_rules("-@supervise");
	put("j");
	ASSERT_BEGINS("$", &f, "POP", "q", "attached", "1");
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "JOB.ABORT", "j", "monitor", "died", "m");
}

static void a_user_may_have_the_permission_to_supervise(void)
{
	watch_workers();
	run("j");
	is_here = false;
	set_rules("-@all +acl +@write +@read");
	ASSERT_BEGINS("-NOPERM ", &f, "JOB.ABORT", "j", "monitor", "died", "m");
	set_rules("+@supervise");
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "JOB.ABORT", "j", "anybody", "died", "m");
	run("k");
	set_rules("-@supervise");
	ASSERT_BEGINS("-NOPERM ", &f, "JOB.ABORT", "k", "monitor", "died", "m");
}

static void a_user_that_may_do_everything_may_supervise(void)
{
	watch_workers();
	run("j");
	is_here = false;
	set_rules("+@all -@supervise");
	ASSERT_BEGINS("-NOPERM ", &f, "JOB.ABORT", "j", "monitor", "died", "m");
	set_rules("+@all");
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "JOB.ABORT", "j", "anybody", "died", "m");
	run("k");
	set_rules("allcommands -get");
	ASSERT_NATIVE("$1\r\nk\r\n", &f, "JOB.ABORT", "k", "anybody", "died", "m");
}

static void the_default_user_may_supervise(void)
{
	watch_workers();
	run("j");
	is_here = false;
	ASSERT_NATIVE("$1\r\nj\r\n", &f, "JOB.ABORT", "j", "anybody", "died", "m");
}

/* ---- JOB.DELETE ---- */

static void finished_and_failed_jobs_are_deleted(void)
{
	run("a");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "a", "w", "q", "result", "x");
	run("b");
	ASSERT_NATIVE("$1\r\nb\r\n", &f, "FAIL", "b", "w", "g", "m");
	buf_clear(&f.events);
	ASSERT_NATIVE(":2\r\n", &f, "JOB.DELETE", "a", "none", "b", "a");
	TEST_ASSERT_EQUAL_STRING("ql:log {\"jid\":\"a\",\"event\":\"deleted\",\"queue\":false}\n"
				 "ql:log {\"jid\":\"b\",\"event\":\"deleted\",\"queue\":\"q\"}\n",
				 buf_cstr(&f.events));
	ASSERT_NATIVE("$-1\r\n", &f, "GET", "a");
	ASSERT_NATIVE("$2\r\n{}\r\n", &f, "FAILED");
	ASSERT_NATIVE("*0\r\n", &f, "JOBS", "complete");
	ASSERT_NATIVE(":0\r\n", &f, "JOB.DELETE", "a");
}

static void jobs_that_have_not_ended_are_not_deleted(void)
{
	run("a");
	ASSERT_NATIVE("$8\r\ncomplete\r\n", &f, "COMPLETE", "a", "w", "q");
	put("b");
	ASSERT_BEGINS("-NOTFINISHED Job b is not complete or failed: its state is waiting", &f,
		      "JOB.DELETE", "a", "b");
	ASSERT_JSON("\"state\":\"complete\"", "a");
}

static void a_job_that_others_wait_for_is_not_deleted(void)
{
	run("a");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "b", "k", "{}", "0", "depends", "[\"a\"]");
	ASSERT_NATIVE("$1\r\na\r\n", &f, "FAIL", "a", "w", "g", "m");
	ASSERT_BEGINS("-DEPENDENTS Job b depends on job a", &f, "JOB.DELETE", "a");
	ASSERT_BEGINS("*2\r\n", &f, "CANCEL", "a", "b");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(start_replies_with_the_data);
	RUN(only_the_worker_of_a_running_job_starts_it);
	RUN(the_next_run_has_not_started);
	RUN(listings_tell_which_jobs_have_started);
	RUN(why_tells_a_started_job_from_a_reserved_one);
	RUN(why_tells_until_when_a_job_must_be_started);
	RUN(a_job_that_is_not_started_in_time_is_handed_out_again);
	RUN(a_started_job_has_a_lock_as_usual);
	RUN(the_start_does_not_extend_the_runtime);
	RUN(a_job_that_nobody_starts_uses_up_its_retries);
	RUN(progress_is_shown_and_published);
	RUN(a_result_is_kept_with_the_job);
	RUN(a_long_result_is_refused);
	RUN(complete_without_data_keeps_it);
	RUN(a_new_run_forgets_the_result);
	RUN(a_failure_may_have_the_text_of_an_error);
	RUN(other_forms_do_not_know_results);
	RUN(an_application_has_fields_of_its_own);
	RUN(fields_stay_while_the_job_moves_on);
	RUN(fields_are_limited);
	RUN(a_monitor_on_the_same_node_aborts_a_job);
	RUN(the_node_of_an_attached_worker_counts);
	RUN(a_user_may_have_the_permission_to_supervise);
	RUN(a_user_that_may_do_everything_may_supervise);
	RUN(the_default_user_may_supervise);
	RUN(finished_and_failed_jobs_are_deleted);
	RUN(jobs_that_have_not_ended_are_not_deleted);
	RUN(a_job_that_others_wait_for_is_not_deleted);
	return UNIT_RESULT();
}
