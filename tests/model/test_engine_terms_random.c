/*
 * Random operations on jobs with terms. The jobs keep what their terms promise, and the state
 * follows from the recorded operations alone: a replay, with snapshots in between, ends in the same
 * state.
 */
#include "replayed.h"

#include <math.h>

#define STEPS 30000
#define JOBS  12

/* The largest backoff and runtime of a job, and the heartbeat of its queue, in seconds. */
#define BACKOFF_MAX  40.0
#define HEARTBEAT    30.0
#define GRACE_PERIOD 5.0

/* The model of a job. */
static struct model_job {
	char jid[8];
	double runtime; /* 0: that of the queue */
	double backoff;
	double ends; /* of its run; INFINITY without a limit */
	bool is_running;
} jobs[JOBS];

static double queue_runtime;

void setUp(void)
{
	replayed_set_up(1);
	queue_runtime = 0;
	memset(jobs, 0, sizeof jobs);
	for (int i = 0; i < JOBS; i++)
		snprintf(jobs[i].jid, sizeof jobs[i].jid, "j%d", i);
}

void tearDown(void)
{
	replayed_tear_down();
}

static struct model_job *model_of(struct qless_str jid)
{
	for (int i = 0; i < JOBS; i++) {
		if (str_equal(jid, str_from(jobs[i].jid)))
			return &jobs[i];
	}
	TEST_FAIL_MESSAGE("a job that nobody put");
	return NULL;
}

/* ---- operations ---- */

static void put_one(struct model_job *job)
{
	struct operation op = { .kind = OPERATION_PUT };
	struct operation_outcome outcome;
	struct qless_terms terms = { 0 };
	bool was_there = exists(job->jid);

	op.put = a_put("q", job->jid);
	op.put.terms = draw(4) != 0 ? &terms : NULL;
	op.put.has_retries = true;
	op.put.retries = draw(3);
	terms.has_at = draw(3) == 0;
	terms.at = now + draw(20) - 5;
	terms.is_raw = draw(3) == 0;
	terms.is_new = draw(4) == 0;
	terms.has_runtime = draw(2) == 0;
	terms.runtime = draw(3) * 13;
	terms.has_backoff = draw(2) == 0;
	terms.backoff = (struct qless_backoff){ draw(4), 1 + draw(20), BACKOFF_MAX };
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
	if (op.put.terms != NULL && terms.is_new && was_there) {
		TEST_ASSERT_FALSE(outcome.changed);
		return;
	}
	if (!was_there)
		job->runtime = job->backoff = 0;
	job->is_running = false;
	if (op.put.terms != NULL && terms.has_runtime)
		job->runtime = terms.runtime;
	if (op.put.terms != NULL && terms.has_backoff)
		job->backoff = terms.backoff.kind != QLESS_BACKOFF_NONE ? terms.backoff.base : 0;
	TEST_ASSERT_EQUAL_INT(op.put.terms != NULL && terms.is_raw, info_of(job->jid).is_raw);
	if (op.put.terms != NULL && terms.has_at)
		TEST_ASSERT_EQUAL_INT(terms.at > now ? QLESS_SCHEDULED : QLESS_WAITING,
				      info_of(job->jid).state);
}

static void pop_some(void)
{
	struct operation op = { .kind = OPERATION_POP };
	struct operation_outcome outcome;

	op.pop.queue = STR("q");
	op.pop.worker = draw(2) == 0 ? STR("w0") : STR("w1");
	op.pop.count = 1 + draw(3);
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
	for (size_t i = 0; i < outcome.jobs.count; i++) {
		struct qless_job_info info;
		struct model_job *job;
		double allowed;

		qless_job_read(outcome.jobs.items[i], &info);
		job = model_of(info.jid);
		allowed = job->runtime > 0 ? job->runtime : queue_runtime;
		job->is_running = true;
		job->ends = allowed > 0 ? now + allowed : INFINITY;
		TEST_ASSERT_EQUAL_DOUBLE(fmin(now + HEARTBEAT, job->ends), info.expires);
	}
}

static bool is_held(const struct model_job *job, struct qless_job_info *ret_info)
{
	if (!exists(job->jid))
		return false;
	*ret_info = info_of(job->jid);
	return ret_info->state == QLESS_RUNNING;
}

static void beat(const struct model_job *job)
{
	struct operation op = { .kind = OPERATION_HEARTBEAT };
	struct operation_outcome outcome;
	struct qless_job_info info;
	bool held = is_held(job, &info);
	int rc;

	op.heartbeat.jid = str_from(job->jid);
	op.heartbeat.worker = held ? info.worker : STR("w0");
	rc = run(&op, &outcome);
	TEST_ASSERT_EQUAL_INT(held && now < job->ends, rc == 0);
	if (rc == 0)
		TEST_ASSERT_EQUAL_DOUBLE(fmin(now + HEARTBEAT, job->ends), outcome.expires);
}

/* A job that has used up a retry waits for its backoff, or at once. */
static void check_backoff(const struct model_job *job, double remaining)
{
	struct qless_job_info info = info_of(job->jid);
	double left = qless_next_due(q);

	if (remaining < 1) {
		TEST_ASSERT_EQUAL_INT(QLESS_FAILED, info.state);
		return;
	}
	TEST_ASSERT_EQUAL_DOUBLE(remaining - 1, info.remaining);
	TEST_ASSERT_EQUAL_INT(job->backoff > 0 ? QLESS_SCHEDULED : QLESS_WAITING, info.state);
	if (job->backoff > 0)
		TEST_ASSERT_TRUE(left <= now + BACKOFF_MAX);
}

static void end_one(struct model_job *job)
{
	struct operation op = { .kind = OPERATION_OVERTIME };
	struct operation_outcome outcome;
	struct qless_job_info info;
	bool is_over = is_held(job, &info) && now >= job->ends;

	op.overtime = str_from(job->jid);
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
	TEST_ASSERT_EQUAL_INT(is_over, outcome.flag);
	if (!is_over)
		return;
	check_backoff(job, info.remaining);
	if (info.remaining < 1)
		ASSERT_STR("timed-out", info_of(job->jid).failure.group);
}

static void retry(const struct model_job *job)
{
	struct operation op = { .kind = OPERATION_RETRY };
	struct operation_outcome outcome;
	struct qless_job_info info;

	if (!is_held(job, &info))
		return;
	op.retry = (struct qless_retry){ .jid = str_from(job->jid),
					 .queue = STR("q"),
					 .worker = info.worker,
					 .backs_off = draw(2) == 0 };
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
	if (op.retry.backs_off)
		check_backoff(job, info.remaining);
	else if (info.remaining >= 1)
		TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of(job->jid).state);
}

static void finish(const struct model_job *job)
{
	struct operation op = { .kind = OPERATION_COMPLETE };
	struct operation_outcome outcome;
	struct qless_job_info info;

	if (!is_held(job, &info))
		return;
	op.complete = (struct qless_complete){ .jid = str_from(job->jid),
					       .worker = info.worker,
					       .queue = STR("q"),
					       .data = STR("[]") };
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
}

static void renew_or_release(void)
{
	bool releases = draw(3) == 0;
	struct operation op = { .kind = releases ? OPERATION_WORKER_RELEASE
						 : OPERATION_WORKER_RENEW };
	struct operation_outcome outcome;

	if (releases)
		op.release = (struct qless_release){ STR("w1"), draw(2) == 0, 5 };
	else
		op.renewal = (struct qless_renewal){ STR("w1"), 0, now + 1000, 5 };
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
}

static void set_runtime(void)
{
	struct operation op = { .kind = OPERATION_CONFIG_SET };
	struct operation_outcome outcome;
	char text[16];

	queue_runtime = draw(3) * 17;
	snprintf(text, sizeof text, "%g", queue_runtime);
	op.config.name = STR("q-runtime");
	op.config.value = str_from(text);
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
}

/* No lock outlasts its run, and the earliest end is known. */
static void check_runs(void)
{
	double first = INFINITY;

	for (int i = 0; i < JOBS; i++) {
		struct qless_job_info info;

		if (!is_held(&jobs[i], &info))
			continue;
		TEST_ASSERT_TRUE(jobs[i].is_running && info.expires <= jobs[i].ends);
		first = fmin(first, jobs[i].ends);
	}
	TEST_ASSERT_TRUE(first == qless_next_overtime(q, NULL));
}

static void step(void)
{
	struct model_job *job = &jobs[draw(JOBS)];

	switch (draw(12)) {
	case 0:
	case 1:
	case 2:
		put_one(job);
		break;
	case 3:
	case 4:
	case 5:
		pop_some();
		break;
	case 6:
		beat(job);
		break;
	case 7:
	case 8:
		end_one(job);
		break;
	case 9:
		retry(job);
		break;
	case 10:
		draw(2) == 0 ? finish(job) : renew_or_release();
		break;
	default:
		set_runtime();
	}
	check_runs();
}

static void jobs_keep_what_their_terms_promise(void)
{
	struct operation op = { .kind = OPERATION_CONFIG_SET };
	struct operation_outcome outcome;

	op.config.name = STR("heartbeat");
	op.config.value = STR("30");
	run(&op, &outcome);
	op.config.name = STR("grace-period");
	op.config.value = STR("5");
	run(&op, &outcome);
	for (int i = 0; i < STEPS; i++) {
		now += draw(8) / 2.0;
		step();
		if (draw(500) == 0)
			reload_engine(&replayed, (uint64_t)i);
		if (draw(700) == 0)
			reload_engine(&q, (uint64_t)i);
		if (draw(100) == 0)
			compare_engines();
	}
	compare_engines();
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(jobs_keep_what_their_terms_promise);
	return UNITY_END();
}
