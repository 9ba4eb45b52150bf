/*
 * Random operations on jobs that are retained, in queues that retain jobs, compared with a slow
 * model of what is kept: which jobs are retained until when, and what purges leave. The state
 * follows from the recorded operations alone: a replay, with snapshots in between, ends in the same
 * state.
 */
#include "replayed.h"

#include <math.h>

#define STEPS  40000
#define ROUNDS 5
#define JOBS   60
#define QUEUES 3

/* Neither the job nor its queue says how long. */
#define PLAIN (-1.0)

/* The model of a job. */
static struct model_job {
	char jid[8];
	bool exists;
	bool is_complete;
	bool is_retained;
	double term;	/* of its last put; PLAIN: none */
	double seconds; /* while it is retained; INFINITY: until it is deleted */
	double completed;
} jobs[JOBS];

static double queue_terms[QUEUES];
static double history, history_count;

void setUp(void)
{
	replayed_set_up(1);
	history = 604800;
	history_count = 50000;
	memset(jobs, 0, sizeof jobs);
	for (int i = 0; i < JOBS; i++)
		snprintf(jobs[i].jid, sizeof jobs[i].jid, "j%02d", i);
	for (int i = 0; i < QUEUES; i++)
		queue_terms[i] = PLAIN;
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

static struct qless_str queue_of(unsigned number)
{
	static const char *const names[QUEUES] = { "q0", "q1", "q2" };

	return str_from(names[number]);
}

static double draw_seconds(void)
{
	static const double seconds[] = { 0, 0.5, 20, 300, INFINITY, INFINITY };

	return seconds[draw(sizeof seconds / sizeof *seconds)];
}

/* ---- the model ---- */

/* The complete job that a purge removes first: not retained, and the oldest one, the first by its
 * jid if several completed at once. NULL if there is none. */
static struct model_job *oldest_other(unsigned *ret_count)
{
	struct model_job *oldest = NULL;

	*ret_count = 0;
	for (int i = 0; i < JOBS; i++) {
		struct model_job *job = &jobs[i];

		if (!job->exists || !job->is_complete || job->is_retained)
			continue;
		(*ret_count)++;
		if (oldest == NULL || job->completed < oldest->completed)
			oldest = job;
	}
	return oldest;
}

static void purge_model(void)
{
	unsigned count;
	struct model_job *job = oldest_other(&count);

	for (; job != NULL; job = oldest_other(&count)) {
		if (job->completed > now - history && count <= history_count)
			return;
		job->exists = false;
	}
}

static void complete_model(struct model_job *job, unsigned queue)
{
	double seconds = job->term != PLAIN ? job->term : queue_terms[queue];

	job->is_complete = true;
	job->is_retained = seconds > 0;
	job->seconds = seconds;
	job->completed = now;
	if (seconds == 0)
		job->exists = false;
	purge_model();
}

/* ---- operations ---- */

static void put_one(struct model_job *job)
{
	struct operation op = { .kind = draw(6) == 0 ? OPERATION_REQUEUE : OPERATION_PUT };
	struct operation_outcome outcome;
	struct qless_terms terms = { .has_retain = true, .retain = draw_seconds() };
	bool says = draw(3) == 0;

	if (op.kind == OPERATION_REQUEUE && !job->exists)
		return;
	op.put = a_put("", job->jid);
	op.put.queue = queue_of(draw(QUEUES));
	op.put.terms = says ? &terms : NULL;
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
	if (!job->exists)
		job->term = PLAIN;
	if (says)
		job->term = terms.retain;
	job->exists = true;
	job->is_complete = job->is_retained = false;
}

static void finish(const struct qless_job *popped, unsigned queue)
{
	struct operation op = { .kind = OPERATION_COMPLETE };
	struct operation_outcome outcome;
	struct qless_terms terms = { .has_retain = true, .retain = draw_seconds() };
	struct qless_str next = queue_of(draw(QUEUES));
	struct qless_job_info info;
	struct model_job *job;

	qless_job_read(popped, &info);
	job = model_of(info.jid);
	op.complete = (struct qless_complete){ .jid = str_from(job->jid),
					       .worker = STR("w"),
					       .queue = queue_of(queue),
					       .data = STR("[]") };
	if (draw(4) == 0) {
		op.kind = OPERATION_COMPLETE_WITH;
		op.complete.next = &next;
		op.complete.terms = draw(2) == 0 ? &terms : NULL;
	}
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
	if (op.complete.next == NULL)
		complete_model(job, queue);
	else if (op.complete.terms != NULL)
		job->term = terms.retain;
}

static void pop_some(void)
{
	struct operation op = { .kind = OPERATION_POP };
	struct operation_outcome outcome;
	const struct qless_job *popped[4];
	unsigned queue = draw(QUEUES);
	size_t count;

	op.pop.queue = queue_of(queue);
	op.pop.worker = STR("w");
	op.pop.count = 1 + draw(4);
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
	count = outcome.jobs.count;
	for (size_t i = 0; i < count; i++)
		popped[i] = outcome.jobs.items[i];
	for (size_t i = 0; i < count; i++)
		finish(popped[i], queue);
}

/* Deletes a job, or several. */
static void delete_jobs(struct model_job *first, unsigned count)
{
	struct operation op = { .kind = OPERATION_JOB_DELETE };
	struct operation_outcome outcome;
	struct qless_str names[3];
	bool may = true;
	uint64_t deleted = 0;

	for (unsigned i = 0; i < count; i++) {
		struct model_job *job = &jobs[(first - jobs + i) % JOBS];

		names[i] = str_from(job->jid);
		may = may && (!job->exists || job->is_complete);
		deleted += job->exists;
	}
	op.names = (struct operation_names){ names, count };
	TEST_ASSERT_EQUAL_INT(may, run(&op, &outcome) == 0);
	if (!may)
		return;
	TEST_ASSERT_EQUAL_UINT64(deleted, outcome.count);
	for (unsigned i = 0; i < count; i++)
		jobs[(first - jobs + i) % JOBS].exists = false;
}

/* Delete the jobs whose time is over, as the server does. */
static void sweep(void)
{
	struct qless_str jid;

	while (qless_next_retained_sweep(q, &jid) <= now) {
		struct model_job *job = model_of(jid);

		TEST_ASSERT_TRUE(job->exists && job->is_retained &&
				 job->completed + job->seconds <= now);
		delete_jobs(job, 1);
	}
	for (int i = 0; i < JOBS; i++)
		TEST_ASSERT_FALSE(jobs[i].exists && jobs[i].is_retained &&
				  jobs[i].completed + jobs[i].seconds <= now);
}

static void set(const char *name, const char *value)
{
	struct operation op = { .kind = OPERATION_CONFIG_SET };
	struct operation_outcome outcome;

	op.config.name = str_from(name);
	op.config.value = str_from(value);
	TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
}

static void change_queue(void)
{
	struct operation op = { .kind = OPERATION_CONFIG_UNSET };
	struct operation_outcome outcome;
	unsigned queue = draw(QUEUES);
	char name[16], value[16];

	snprintf(name, sizeof name, "q%u-retain", queue);
	queue_terms[queue] = draw(2) == 0 ? PLAIN : draw_seconds();
	if (queue_terms[queue] == PLAIN) {
		op.config.name = str_from(name);
		TEST_ASSERT_EQUAL_INT(0, run(&op, &outcome));
		return;
	}
	snprintf(value, sizeof value, isinf(queue_terms[queue]) ? "ack" : "%g", queue_terms[queue]);
	set(name, value);
}

static void change_history(void)
{
	char value[16];

	history = draw(2) == 0 ? 604800 : 10 + draw(500);
	snprintf(value, sizeof value, "%g", history);
	set("jobs-history", value);
	history_count = 1 + draw(12);
	snprintf(value, sizeof value, "%g", history_count);
	set("jobs-history-count", value);
}

/* ---- comparing ---- */

static void compare_job(const struct model_job *job)
{
	struct qless_retained retained;
	struct qless_terms terms;

	TEST_ASSERT_EQUAL_INT_MESSAGE(job->exists, exists(job->jid), job->jid);
	if (!job->exists)
		return;
	qless_job_terms(qless_get(q, str_from(job->jid)), &terms);
	TEST_ASSERT_EQUAL_INT(job->term != PLAIN, terms.has_retain);
	TEST_ASSERT_TRUE(job->term == PLAIN || terms.retain == job->term);
	TEST_ASSERT_EQUAL_INT(job->is_complete && job->is_retained,
			      qless_job_retained(qless_get(q, str_from(job->jid)), &retained));
	if (!job->is_complete || !job->is_retained)
		return;
	TEST_ASSERT_TRUE(retained.seconds == job->seconds);
	TEST_ASSERT_TRUE(retained.ends == job->completed + job->seconds);
}

static void compare_with_model(void)
{
	size_t retained = 0;

	for (int i = 0; i < JOBS; i++) {
		compare_job(&jobs[i]);
		retained += jobs[i].exists && jobs[i].is_complete && jobs[i].is_retained;
	}
	TEST_ASSERT_EQUAL_size_t(retained, qless_retained_count(q));
}

static void step(void)
{
	switch (draw(12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		put_one(&jobs[draw(JOBS)]);
		break;
	case 4:
	case 5:
	case 6:
		pop_some();
		break;
	case 7:
	case 8:
		sweep();
		break;
	case 9:
		delete_jobs(&jobs[draw(JOBS)], 1 + draw(3));
		break;
	case 10:
		change_queue();
		break;
	default:
		draw(4) == 0 ? change_history() : put_one(&jobs[draw(JOBS)]);
	}
}

static void run_round(uint64_t seed)
{
	drawn = seed;
	for (int i = 0; i < STEPS; i++) {
		now += draw(16) / 2.0;
		step();
		compare_with_model();
		if (draw(500) == 0)
			reload_engine(&replayed, (uint64_t)i);
		if (draw(700) == 0)
			reload_engine(&q, (uint64_t)i);
		if (draw(100) == 0)
			compare_engines();
	}
	compare_engines();
}

static void jobs_are_retained_as_promised(void)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		if (seed > 1) {
			tearDown();
			setUp();
		}
		run_round(seed);
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(jobs_are_retained_as_promised);
	return UNITY_END();
}
