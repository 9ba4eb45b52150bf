/*
 * CONSISTENCYCHECK RESOLVE on a whole server inside this process, whose state was damaged on
 * purpose: a server never loads a damaged state, so no daemon has one when a test starts it.
 */
#include <stdio.h>
#include <time.h>

#include "command/databases.h"
#include "engine/engine_int.h"
#include "engine/job.h"
#include "portions.h"
#include "submitting.h"
#include "unit.h"

/* An operator's command may take this much processor time of a turn. */
#define OPERATOR_US 20000
/* Caches and memory are shared with other processes of the machine, so the best attempt counts. */
#define ATTEMPTS 3

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define IS_TIMED false
#define MILLION	 40000
#else
#define IS_TIMED true
#define MILLION	 1000000
#endif
/* One in this many jobs has a tag. The check looks it up in the list of the tag, which takes much
 * of its time. */
#define TAGGED_EACH 16
/* Bytes of the data of the other jobs. With them, the state takes as long to fork as one in which
 * all jobs have a tag. */
#define DATA_BYTES 128
/* Enough that a child process checks them. */
#define MANY 20000

#define RESOLVE "consistencycheck resolve"

static struct qless *engine(void)
{
	return databases_get(server->env.databases, 0)->engine;
}

static void put_jobs(int count)
{
	const struct qless_str tag = STR("t");
	struct qless_put put = { .worker = STR("w"),
				 .queue = STR("q"),
				 .klass = STR("k"),
				 .data = STR("{}"),
				 .has_tags = true,
				 .tags = &tag };
	char jid[32], data[DATA_BYTES];

	memset(data, '1', sizeof data);
	for (int i = 0; i < count; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		put.jid = str_from(jid);
		put.tag_count = i >= 2 * MANY && i % TAGGED_EACH == 0 ? 1 : 0;
		put.data = put.tag_count != 0 ? STR("{}") : str_make(data, sizeof data);
		TEST_ASSERT_EQUAL_INT(0, qless_put(engine(), 1000 + i, &put));
	}
}

static struct qless_job *job(int number)
{
	char jid[32];

	snprintf(jid, sizeof jid, "j%d", number);
	return job_find(engine(), str_from(jid));
}

/* Returns the processor time of the longest turn until the command is answered, in microseconds. */
static int64_t run(const char *command)
{
	int answered = answer_count;
	int64_t longest_us = 0;

	submit(command);
	while (answer_count == answered) {
		struct timespec before, after;
		int64_t us;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
		turn_run(server, /* wait= */ true);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
		us = (after.tv_sec - before.tv_sec) * 1000000 +
		     (after.tv_nsec - before.tv_nsec) / 1000;
		longest_us = us > longest_us ? us : longest_us;
	}
	return longest_us;
}

static void assert_begins(int i, const char *reply)
{
	TEST_ASSERT_EQUAL_INT(SUBMIT_ANSWERED, answers[i].outcome);
	TEST_ASSERT_EQUAL_STRING_LEN(reply, buf_cstr(&answers[i].reply), strlen(reply));
}

/* Damage some jobs and two counters, and put other jobs out of order. */
static void mark(int jobs, int marked)
{
	for (int i = 0; i < marked; i++)
		job(i * (jobs / marked))->flags |= JOB_CHOSEN;
	engine()->depending_count += 3;
	job(0)->klass->node.aux += 2;
}

static void damage(int jobs, int marked)
{
	mark(jobs, marked);
	for (int i = 0; i < marked; i += 100)
		job(i * (jobs / marked) + 1)->node.score = -(double)(i % 7919);
}

static void many_repairs_take_short_turns(void)
{
	int64_t best_us = INT64_MAX;

	start("appendonly yes\nauto-rewrite-percentage 0\n");
	put_jobs(MILLION);
	for (int i = 0; i < ATTEMPTS && best_us > OPERATOR_US; i++) {
		int64_t us;

		damage(MILLION, MILLION / 20);
		us = run(RESOLVE);
		best_us = us < best_us ? us : best_us;
		assert_begins(i, "*");
		TEST_ASSERT_NULL(strstr(buf_cstr(&answers[i].reply), "left:"));
		TEST_ASSERT_EQUAL_size_t(0, qless_check(engine(), NULL, NULL));
	}
	printf("%6.1f ms of %2.0f  %d findings\n", (double)best_us / 1e3, OPERATOR_US / 1e3,
	       MILLION / 20);
	if (IS_TIMED)
		TEST_ASSERT_LESS_THAN_INT64(OPERATOR_US, best_us);
}

/* More than are found at once. */
static void repairs_beyond_those_found_at_once_are_made_too(void)
{
	int count = 5 * MANY + 5 * MANY / 10;

	start("appendonly no\n");
	put_jobs(count);
	for (int i = 0; i < count; i++)
		job(i)->flags |= JOB_CHOSEN;
	run(RESOLVE);
	assert_begins(0, "*10001\r\n$");
	TEST_ASSERT_NULL(strstr(buf_cstr(&answers[0].reply), "left:"));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(engine(), NULL, NULL));
}

/* ---- what happens in the meantime ---- */

/* Another client, whose command the cases interrupt. */
static struct submitter other;

/* Begins a repair of many jobs, and returns after its first portions. */
static void begin_repair(const char *directives)
{
	uint64_t changes;

	start(directives);
	submitter_init(&other, server, "internal:other", acl_default_user(server->env.acl));
	put_jobs(MANY);
	damage(MANY, MANY / 2);
	changes = qless_changes(engine());
	submit_with(&other, RESOLVE, note, RESOLVE);
	while (qless_changes(engine()) == changes)
		turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_INT(0, answer_count);
	TEST_ASSERT_GREATER_THAN_size_t(0, qless_check(engine(), NULL, NULL));
}

static void other_clients_go_on_while_a_state_is_repaired(void)
{
	begin_repair("appendonly no\n");
	run("put w q new k {} 0");
	assert_answer(0, "put w q new k {} 0", "$3\r\nnew\r\n");
	TEST_ASSERT_EQUAL_INT(1, answer_count);
	while (answer_count == 1)
		turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_STRING(RESOLVE, answers[1].arg);
	TEST_ASSERT_NULL(strstr(buf_cstr(&answers[1].reply), "left:"));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(engine(), NULL, NULL));
	submitter_done(&other);
}

static void repairs_stay_if_the_client_ends(void)
{
	size_t left;

	begin_repair("appendonly no\n");
	submitter_done(&other);
	TEST_ASSERT_EQUAL_size_t(0, server->waitings.count);
	left = qless_check(engine(), NULL, NULL);
	turn_run(server, /* wait= */ false);
	TEST_ASSERT_EQUAL_size_t(left, qless_check(engine(), NULL, NULL));
	run(RESOLVE);
	TEST_ASSERT_EQUAL_size_t(0, qless_check(engine(), NULL, NULL));
}

static void a_flush_ends_the_repair(void)
{
	begin_repair("appendonly no\n");
	run("flushall");
	assert_answer(0, "flushall", "+OK\r\n");
	while (answer_count == 1)
		turn_run(server, /* wait= */ true);
	assert_answer(1, RESOLVE, "-ERR The repair has ended early: the database was flushed\r\n");
	TEST_ASSERT_EQUAL_size_t(0, qless_check(engine(), NULL, NULL));
	submitter_done(&other);
}

static const char *refuse_changes(void *arg, size_t bytes)
{
	(void)arg;
	(void)bytes;
	return "MISCONF The log is full";
}

static void a_log_that_is_no_longer_healthy_ends_the_repair(void)
{
	uint64_t changes;

	begin_repair("appendonly no\n");
	server->env.log_refusal = refuse_changes;
	changes = qless_changes(engine());
	while (answer_count == 0)
		turn_run(server, /* wait= */ true);
	assert_answer(0, RESOLVE, "-MISCONF The log is full\r\n");
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(engine()));
	submitter_done(&other);
}

/* The state from the log never had the damage. */
static void a_log_with_repairs_leads_to_the_repaired_state(void)
{
	static const char *const words[] = { "multiput", "w", "q", "0", "tags", "[\"t\"]", "jobs" };
	struct qless_str *argv = calloc(7 + 3 * MANY / 2, sizeof *argv);
	struct buf before = BUF_INIT(BUF_NO_MAX), after = BUF_INIT(BUF_NO_MAX);
	char jids[MANY / 2][8];
	int argc = 0;

	start("appendonly yes\nmax-jobs-per-call 100000\n");
	while (argc < 7) {
		argv[argc] = str_from(words[argc]);
		argc++;
	}
	for (int i = 0; i < MANY / 2; i++) {
		snprintf(jids[i], sizeof jids[i], "j%d", i);
		argv[argc++] = str_from(jids[i]);
		argv[argc++] = STR("k");
		argv[argc++] = STR("{}");
	}
	server_submit(server, &by, argv, argc, NULL, NULL);
	free(argv);
	turn_run(server, /* wait= */ false);
	mark(MANY / 2, MANY / 10);
	run(RESOLVE);
	TEST_ASSERT_NULL(strstr(buf_cstr(&answers[0].reply), "left:"));
	run("put w q last k {} 0");
	describe_state(engine(), &before);
	stop();
	start("appendonly yes\n");
	describe_state(engine(), &after);
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&before), buf_cstr(&after));
	buf_done(&before);
	buf_done(&after);
}

/* ---- forms of the command ---- */

static void a_list_with_damaged_links_is_left_with_advice(void)
{
	start("appendonly no\n");
	put_jobs(MANY);
	job(7)->flags |= JOB_CHOSEN;
	skiplist_next(&job(100)->node)->prev = NULL;
	run(RESOLVE);
	assert_answer(0, RESOLVE,
		      "*3\r\n$58\r\nleft: waiting jobs of queue \"q\" has a wrong link "
		      "backwards\r\n$40\r\nleft: job \"j7\" was left marked by a call\r\n$130\r\n"
		      "left: A list with more than 5000 entries has damaged links, so nothing is "
		      "repaired. Restart the server, which links all lists anew\r\n");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(many_repairs_take_short_turns);
	RUN(repairs_beyond_those_found_at_once_are_made_too);
	RUN(other_clients_go_on_while_a_state_is_repaired);
	RUN(repairs_stay_if_the_client_ends);
	RUN(a_flush_ends_the_repair);
	RUN(a_log_that_is_no_longer_healthy_ends_the_repair);
	RUN(a_log_with_repairs_leads_to_the_repaired_state);
	RUN(a_list_with_damaged_links_is_left_with_advice);
	return UNIT_RESULT();
}
