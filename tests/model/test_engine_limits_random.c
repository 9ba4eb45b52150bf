/*
 * Random calls about jobs with limits, on the engine and on the slow model of limits_model.h. The
 * engine must hand out exactly the jobs of the model, in its order. Besides, the jobs that it hands
 * out are held against the rules themselves, whatever the model says. The operations also run on a
 * second engine as they are recorded, and a snapshot takes the place of the engine now and then.
 * Some pops are those of one class, and their shelves come and go.
 *
 * QLESSD_LIMITS_STEPS and QLESSD_LIMITS_SEED in the environment select another length and another
 * first seed.
 */
#include "limits_model.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

#include "engine/engine_int.h"
#include "engine/lane.h"
#include "engine/shelf.h"
#include "engine/state.h"
#include "operation/operation.h"
#include "util/buf.h"

#define STEPS	     24000
#define STEPS_A_SEED 4000

#define START 1000000.0 /* seconds */

/* Hand-outs under a limit that are remembered to verify its rate. */
#define OUTS_MAX 64

/* Operations that are shown if something is wrong. */
#define SHOWN 40

struct outs {
	double times[OUTS_MAX]; /* by a clock that nobody sets */
	unsigned count;
	unsigned rule_changes; /* of the limit before these hand-outs */
};

static unsigned long long rng;
static unsigned long long seed;
static unsigned step;
static struct model model;
static struct qless *engine;
static struct qless *twin; /* runs what is recorded */
static struct operation_room room;
static double now;    /* the clock that calls see */
static double passed; /* seconds since the start, whatever happens to the clock */
static double latest; /* of the clock that waiting workers see, which does not go back */
static bool awake[MODEL_QUEUES];
static struct outs outs[MODEL_LIMITS];
static char shown[SHOWN][400];
static unsigned noted;
static unsigned long total, handed_out, checked_waits, woken_for_nothing, stopped, shelves_built;

static unsigned pick(unsigned below)
{
	return (unsigned)(unit_random(&rng) % below);
}

static bool one_in(unsigned n)
{
	return pick(n) == 0;
}

/* ---- engines ---- */

static void report(void *arg, struct qless_str finding)
{
	(void)arg;
	printf("%.*s\n", (int)finding.len, finding.ptr);
}

static void append_text(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static bool append_piece(void *arg, struct qless_str piece)
{
	return buf_append_str(arg, piece);
}

static struct qless_str give_all(void *arg)
{
	struct qless_str *left = arg, all = *left;

	*left = STR("");
	return all;
}

/* Write the last operations, also in a signal handler. */
static void show_calls(void)
{
	for (unsigned i = 0; i < SHOWN; i++) {
		const char *line = shown[(noted + i) % SHOWN];

		if (write(STDOUT_FILENO, line, strlen(line)) < 0 ||
		    write(STDOUT_FILENO, "\n", 1) < 0)
			return;
	}
}

/* An assertion of the engine failed. */
static void on_abort(int number)
{
	(void)number;
	show_calls();
}

/* Show the last operations, then fail. */
static void fail(const char *what)
{
	static char text[200];

	fflush(stdout);
	show_calls();
	snprintf(text, sizeof text, "seed %llu step %u at %.2f: %s", seed, step, now, what);
	TEST_FAIL_MESSAGE(text);
}

static void require(bool condition, const char *what)
{
	if (!condition)
		fail(what);
}

static void note(const struct operation *op)
{
	struct buf line = BUF_INIT(BUF_NO_MAX);

	operation_describe(op, &line);
	snprintf(shown[noted++ % SHOWN], sizeof shown[0], "%u %.2f %s", step, op->now,
		 buf_cstr(&line));
	buf_done(&line);
}

static void run_recorded(const struct operation *op)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(256);
	struct operation_outcome outcome;
	struct operation decoded;
	struct qless_str rest;

	operation_encode(op, &bytes);
	rest = buf_str(&bytes);
	require(operation_decode(&rest, &room, &decoded, &error) == 0, "the record is unreadable");
	require(rest.len == 0, "the record has bytes left");
	require(operation_run(twin, &decoded, &outcome) == 0, "the record fails in a replay");
	buf_done(&bytes);
	buf_done(&error);
}

/* Run an operation, and record it if it changes something. */
static int run(struct operation *op, struct operation_outcome *ret_outcome)
{
	int rc;

	op->now = now;
	note(op);
	rc = operation_run(engine, op, ret_outcome);
	if (rc == 0 && ret_outcome->changed) {
		op->keeps_data = ret_outcome->kept_data;
		if (ret_outcome->is_stopped) {
			op->pop.has_steps = true;
			op->pop.steps = ret_outcome->steps;
		}
		run_recorded(op);
	}
	return rc;
}

static void expect(int expected, struct operation *op)
{
	struct operation_outcome outcome;
	int rc = run(op, &outcome);

	if (rc != expected) {
		struct qless_str text = rc < 0 ? qless_error_text(engine) : STR("no error");

		printf("expected %d, got %d: %.*s\n", expected, rc, (int)text.len, text.ptr);
		fail("the call has another outcome");
	}
}

/* Show the first line in which two texts differ. */
static void show_difference(struct qless_str a, struct qless_str b)
{
	size_t at = 0, line = 0;

	for (; at < a.len && at < b.len && a.ptr[at] == b.ptr[at]; at++) {
		if (a.ptr[at] == '\n')
			line = at + 1;
	}
	printf("%.*s\n%.*s\n", (int)strcspn(a.ptr + line, "\n"), a.ptr + line,
	       (int)strcspn(b.ptr + line, "\n"), b.ptr + line);
}

static void compare_dumps(const struct qless *left, const struct qless *right, const char *what)
{
	struct buf a = BUF_INIT(BUF_NO_MAX), b = BUF_INIT(BUF_NO_MAX);

	qless_dump(left, append_text, &a);
	qless_dump(right, append_text, &b);
	if (!str_equal(buf_str(&a), buf_str(&b))) {
		show_difference(buf_str(&a), buf_str(&b));
		fail(what);
	}
	buf_done(&a);
	buf_done(&b);
}

/* Let an engine that is loaded from a snapshot take the place of this one. */
static void reload(struct qless **q, uint64_t hash_seed)
{
	struct qless *loaded = qless_new(&(struct qless_hooks){ .hash_seed = hash_seed });
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct qless_str left;

	require(state_save(*q, append_piece, &bytes), "the snapshot is incomplete");
	left = buf_str(&bytes);
	if (state_load(loaded, give_all, &left) < 0) {
		left = qless_error_text(loaded);
		printf("%.*s\n", (int)left.len, left.ptr);
		fail("the snapshot is invalid");
	}
	compare_dumps(*q, loaded, "the snapshot holds another state");
	qless_free(*q);
	*q = loaded;
	buf_done(&bytes);
}

/* With every other seed, a search looks at few lanes, so that many pops stop early. A bundle and a
 * name of it take a look each, and only then something is known. */
static void limit_engine(void)
{
	if (seed % 2 == 0)
		engine->looks_max = 2 + seed / 2 % 4;
	/* So few indexes of classes that one often gives way to another one. */
	if (seed % 3 == 0)
		qless_set_limits(engine, &(struct qless_limits){ .max_class_indexes = 2 });
}

static void reload_engine(void)
{
	reload(&engine, pick(1000));
	limit_engine();
	/* Those who wait ask an engine that was loaded once. */
	for (int i = 0; i < MODEL_QUEUES; i++)
		awake[i] = true;
}

/* ---- the rules, held against what was handed out ---- */

/* At most `burst` jobs at once, and one more for each interval, between any two of them. */
static void check_rate(int limit)
{
	const struct model_rule *rule = model_rule_of(&model, limit);
	double interval = model_interval(rule);
	struct outs *o = &outs[limit];

	if (interval == 0)
		return;
	if (o->rule_changes != model.limits[limit].rule_changes || o->count == OUTS_MAX)
		*o = (struct outs){ .rule_changes = model.limits[limit].rule_changes };
	for (unsigned i = 0; i < o->count; i++)
		require(o->count - i + 1 <= rule->burst + (passed - o->times[i]) / interval,
			"more jobs are handed out than the rate allows");
	o->times[o->count++] = passed;
}

static void check_hand_out(int queue, const struct model_job *job)
{
	for (int i = 0; i < job->limit_count; i++) {
		const struct model_rule *rule = model_rule_of(&model, job->limits[i]);

		require(rule == NULL || rule->concurrency == 0 ||
				model_running(&model, job->limits[i]) <= rule->concurrency,
			"more jobs are running than the limit allows");
		require(model.limits[job->limits[i]].held_until <= now,
			"a job is handed out under a limit on hold");
		check_rate(job->limits[i]);
	}
	check_rate(MODEL_NAMES + queue);
}

/* ---- the engine, held against the model ---- */

static void show_job(const struct model_job *job)
{
	printf("model: state %d queue %d worker %d priority %g remaining %g score %.17g expires "
	       "%g grace %d limits",
	       job->exists ? (int)job->state : -1, job->queue, job->worker, job->priority,
	       job->remaining, job->score, job->expires, job->in_grace);
	for (int i = 0; i < job->limit_count; i++)
		printf(" %s", model_rule_name(job->limits[i]).ptr);
	printf("\n");
}

static void show_queue(int queue)
{
	printf("queue %d at %.2f, next due %.2f\n", queue, latest, qless_next_due(engine));
	for (int i = 0; i < MODEL_JOBS; i++) {
		if (model.jobs[i].exists && model.jobs[i].queue == queue) {
			printf("j%02d ", i);
			show_job(&model.jobs[i]);
		}
	}
	for (int i = 0; i < MODEL_LIMITS; i++)
		printf("%s opens %.2f running %d tat %.2f held %.2f\n", model_rule_name(i).ptr,
		       model_opens(&model, i), model_running(&model, i), model.limits[i].tat,
		       model.limits[i].held_until);
}

static bool is_same_job(const struct model_job *job, const struct qless_job *real)
{
	struct qless_job_info info;
	struct qless_str name;
	size_t cursor = 0;
	int limits = 0;

	if (!job->exists || real == NULL)
		return !job->exists && real == NULL;
	qless_job_read(real, &info);
	while (qless_job_next_limit(real, &cursor, &name)) {
		if (limits >= job->limit_count ||
		    !str_equal(name, model_rule_name(job->limits[limits++])))
			return false;
	}
	return limits == job->limit_count && info.state == job->state &&
	       info.priority == job->priority && info.remaining == job->remaining &&
	       info.retries == job->retries &&
	       str_equal(info.queue,
			 job->queue != MODEL_NONE ? model_queue_name(job->queue) : STR("")) &&
	       (job->state != QLESS_RUNNING ||
		(info.expires == job->expires &&
		 str_equal(info.worker, model_worker_name(job->worker))));
}

static void compare_jobs(void)
{
	for (int i = 0; i < MODEL_JOBS; i++) {
		const struct qless_job *real = qless_get(engine, model_jid(i));

		if (is_same_job(&model.jobs[i], real))
			continue;
		show_job(&model.jobs[i]);
		if (real != NULL) {
			struct qless_job_info info;

			qless_job_read(real, &info);
			printf("engine: state %d queue %.*s worker %.*s priority %g remaining %g "
			       "expires %g\n",
			       info.state, (int)info.queue.len, info.queue.ptr,
			       (int)info.worker.len, info.worker.ptr, info.priority, info.remaining,
			       info.expires);
		}
		printf("job %s\n", model_jid(i).ptr);
		fail("a job is not as in the model");
	}
}

/* All waiting jobs come in the order of their scores, whatever limits them. */
static void compare_peek(int queue)
{
	int expected[2 * MODEL_JOBS];
	struct qless_queue_counts counts;
	struct qless_job_info info;
	struct qless_jobs jobs;
	int expired = model_expired(&model, queue, now, expected);
	int waiting = model_waiting(&model, queue, expected + expired);

	require(qless_peek(engine, now, model_queue_name(queue), MODEL_JOBS, &jobs) == 0,
		"a peek fails");
	require(jobs.count == (size_t)(expired + waiting), "a peek shows another number of jobs");
	for (size_t i = 0; i < jobs.count; i++) {
		qless_job_read(jobs.items[i], &info);
		require(model_job_number(info.jid) == expected[i], "a peek shows another job");
	}
	require(qless_queue_counts(engine, now, model_queue_name(queue), &counts) == 0 &&
			counts.waiting == (uint64_t)waiting,
		"the queue counts another number of waiting jobs");
}

static void compare_limit(int limit)
{
	struct qless_limit_info info;
	const struct model_rule *rule = model_rule_of(&model, limit);
	double opens = model_opens(&model, limit);
	uint64_t waiting = 0;

	if (!qless_limit_get(engine, now, model_rule_name(limit), &info)) {
		require(rule == NULL && model_is_idle(&model, limit, fmax(now, latest)),
			"a limit that is in use does not exist");
		return;
	}
	for (int i = 0; i < MODEL_JOBS; i++) {
		const struct model_job *job = &model.jobs[i];

		waiting += job->exists &&
			   (job->state == QLESS_WAITING || job->state == QLESS_STALLED) &&
			   model_names_limit(job, limit);
	}
	require((info.rule.ptr != NULL) == (rule != NULL) &&
			(rule == NULL ||
			 str_equal(info.rule, model_rule_name((int)(rule - model.rules)))),
		"another rule applies to a limit");
	require(info.running == (uint64_t)model_running(&model, limit),
		"a limit counts another number of running jobs");
	require(info.waiting == waiting, "a limit counts another number of waiting jobs");
	require((info.opens <= now) == (opens <= now) && (opens <= now || info.opens == opens),
		"a limit opens at another time");
}

/* The limit of a job or of its queue that opens last is what holds it. */
static void compare_why(int number)
{
	const struct model_job *job = &model.jobs[number];
	struct qless_why why;
	double opens;

	require(qless_why(engine, now, model_jid(number), &why) == job->exists,
		"why knows other jobs");
	if (!job->exists || (job->state != QLESS_WAITING && job->state != QLESS_STALLED))
		return;
	require(why.state == job->state && why.is_paused == model.queues[job->queue].is_paused,
		"why gives another state");
	require(why.place == (uint64_t)model_place(&model, number), "why gives another place");
	opens = model_opens(&model, MODEL_NAMES + job->queue);
	for (int i = 0; i < job->limit_count; i++)
		opens = fmax(opens, model_opens(&model, job->limits[i]));
	require(opens <= now || (why.held != QLESS_HELD_NOT && why.opens == opens),
		"why does not see a limit that is shut");
}

/* ---- workers that wait ---- */

/* Ask as a worker does that looks whenever the queue wakes: a search that stops early wakes it. */
static bool ask(double time, int queue)
{
	struct qless_str name;
	bool is_poppable, is_woken;

	do {
		is_poppable = qless_is_poppable(engine, time, model_queue_name(queue));
		is_woken = false;
		while (qless_take_woken(engine, &name))
			is_woken |= name.ptr[1] - '0' == queue;
	} while (is_woken);
	return is_poppable;
}

/* A worker that waits looks only when its queue has woken, and then until it finds nothing. So a
 * queue in which a pop would change something must have woken since it last would not. */
static void check_sleep(void)
{
	struct qless_str name;

	latest = fmax(latest, now);
	while (qless_take_due(engine, latest, &name))
		continue;
	require(qless_next_due(engine) > latest, "the next due time has passed");
	while (qless_take_woken(engine, &name))
		awake[name.ptr[1] - '0'] = true;
	for (int i = 0; i < MODEL_QUEUES; i++) {
		/* A lock that expires at this very instant still takes up room in its queue. */
		double after = nextafter(latest, INFINITY);
		bool has_something = model_pop_changes(&model, after, i);
		bool is_poppable = awake[i] && ask(after, i);

		if (has_something && !is_poppable)
			show_queue(i);
		require(!has_something || awake[i],
			"a pop would find something, but the queue sleeps");
		require(!has_something || is_poppable,
			"a pop would find something, but the queue says it would not");
		checked_waits += has_something;
		woken_for_nothing += awake[i] && !has_something;
		awake[i] = has_something;
	}
}

static void check_next_due(void)
{
	for (int i = 0; i < MODEL_QUEUES; i++) {
		double next;

		/* A queue that is awake is popped from at once. */
		if (model.queues[i].is_paused || awake[i])
			continue;
		next = model_next_change(&model, nextafter(latest, INFINITY), i);
		if (qless_next_due(engine) > next) {
			show_queue(i);
			printf("a pop at %.17g would change something\n", next);
		}
		require(qless_next_due(engine) <= next, "the engine would wake too late");
	}
}

/* ---- shelves ---- */

/* Make and drop shelves, a few jobs at a time. Nothing else may notice. */
static void change_shelf(void)
{
	struct queue *queue = queue_find(engine, model_queue_name((int)pick(MODEL_QUEUES)));
	struct qless_str klass = model_klass_name((int)pick(MODEL_KLASSES));
	size_t left = pick(8);
	struct shelf *shelf;

	if (queue == NULL)
		return;
	shelf = shelf_find(queue, klass);
	if (shelf != NULL && one_in(3))
		shelf_begin_dropping(shelf);
	else
		shelf_prepare(engine, queue, klass, (struct shelf_wish){ latest, false }, &left);
	shelf = shelf_find(queue, klass);
	shelves_built += shelf != NULL && shelf->state == SHELF_FULL;
	require(lanes_are_sound(engine), "the lanes or the shelves are damaged");
}

/* A worker that waits for a class learns that there is something for it. */
static void check_class(void)
{
	double after = nextafter(latest, INFINITY);
	int queue = (int)pick(MODEL_QUEUES), klass = (int)pick(MODEL_KLASSES);
	bool has_something = model_class_pop_changes(&model, after, queue, klass);
	bool is_poppable = qless_is_class_poppable(engine, after, model_queue_name(queue),
						   model_klass_name(klass));

	require(!has_something || is_poppable,
		"a pop of the class would find something, but the queue says it would not");
	require(!has_something || qless_is_poppable(engine, after, model_queue_name(queue)),
		"a pop of the class would find something, but one of any class would not");
}

/* ---- calls ---- */

static int some_job(enum qless_state state)
{
	int first = (int)pick(MODEL_JOBS);

	for (int i = 0; i < MODEL_JOBS; i++) {
		int number = (first + i) % MODEL_JOBS;

		if (model.jobs[number].exists && model.jobs[number].state == state)
			return number;
	}
	return first;
}

static int some_queue(void)
{
	return (int)pick(MODEL_QUEUES);
}

static int some_klass(void)
{
	return (int)pick(MODEL_KLASSES);
}

static int some_worker(void)
{
	return (int)pick(MODEL_WORKERS);
}

/* The worker of a job, seldom another one. */
static int worker_of(int job)
{
	return model.jobs[job].worker == MODEL_NONE || one_in(15) ? some_worker()
								  : model.jobs[job].worker;
}

static int queue_of(int job)
{
	return model.jobs[job].queue == MODEL_NONE || one_in(15) ? some_queue()
								 : model.jobs[job].queue;
}

static void pick_limits(struct model_put *put)
{
	put->has_limits = !one_in(4);
	put->limit_count = (int)pick(MODEL_JOB_LIMITS + 1);
	for (int i = 0; i < put->limit_count; i++)
		put->limits[i] = (int)pick(MODEL_NAMES);
}

/* A job that another one may depend on: its number is higher, so there are no circles. */
static int pick_dependency(int job)
{
	int on = job + 1 + (int)pick(4);

	return one_in(8) && on < MODEL_JOBS && model.jobs[on].exists ? on : MODEL_NONE;
}

static struct model_put some_put(void)
{
	struct model_put put = {
		.queue = some_queue(),
		.job = (int)pick(MODEL_JOBS),
		.worker = some_worker(),
		.klass = some_klass(),
		.delay = one_in(6) ? pick(40) * 0.25 : 0,
		.has_priority = one_in(3),
		.priority = pick(4),
		.has_retries = one_in(4),
		.retries = pick(4),
	};

	/* Rarely move a job that runs or waits. */
	if (!one_in(6)) {
		for (int i = 0; i < 8 && model.jobs[put.job].exists &&
				model.jobs[put.job].state != QLESS_COMPLETE;
		     i++)
			put.job = (int)pick(MODEL_JOBS);
	}
	put.depends = pick_dependency(put.job);
	pick_limits(&put);
	return put;
}

struct put_texts {
	struct qless_str limits[MODEL_JOB_LIMITS];
	struct qless_str depends;
};

static void name_limits(const struct model_put *put, struct put_texts *texts)
{
	for (int i = 0; i < put->limit_count; i++)
		texts->limits[i] = model_rule_name(put->limits[i]);
	if (put->depends != MODEL_NONE)
		texts->depends = model_jid(put->depends);
}

static void call_put(void)
{
	struct model_put put = some_put();
	struct put_texts texts;
	struct operation op = {
		.kind = OPERATION_PUT,
		.put = { .worker = model_worker_name(put.worker),
			 .queue = model_queue_name(put.queue),
			 .jid = model_jid(put.job),
			 .klass = model_klass_name(put.klass),
			 .data = STR("{}"),
			 .delay = put.delay,
			 .has_priority = put.has_priority,
			 .priority = put.priority,
			 .has_retries = put.has_retries,
			 .retries = put.retries,
			 .has_limits = put.has_limits,
			 .limits = texts.limits,
			 .limit_count = (size_t)put.limit_count,
			 .depends = &texts.depends,
			 .depend_count = put.depends != MODEL_NONE },
	};

	name_limits(&put, &texts);
	if (one_in(8)) {
		op.kind = OPERATION_REQUEUE;
		if (!model.jobs[put.job].exists) {
			expect(QLESS_ENOJOB, &op);
			return;
		}
	}
	expect(model_put_job(&model, now, &put), &op);
}

/* Several jobs with the same options come a microsecond after each other. */
static void call_put_many(void)
{
	struct model_put put = some_put();
	struct put_texts texts;
	struct qless_str jobs[4 * 3];
	struct operation op = {
		.kind = OPERATION_PUT_MANY,
		.put_many.common = { .worker = model_worker_name(put.worker),
				     .queue = model_queue_name(put.queue),
				     .delay = put.delay,
				     .has_priority = put.has_priority,
				     .priority = put.priority,
				     .has_retries = put.has_retries,
				     .retries = put.retries,
				     .has_limits = put.has_limits,
				     .limits = texts.limits,
				     .limit_count = (size_t)put.limit_count },
	};
	unsigned count = 1 + pick(4);

	put.depends = MODEL_NONE;
	name_limits(&put, &texts);
	for (unsigned i = 0; i < count; i++) {
		put.job = (int)pick(MODEL_JOBS);
		jobs[3 * i] = model_jid(put.job);
		jobs[3 * i + 1] = model_klass_name(put.klass);
		jobs[3 * i + 2] = STR("{}");
		model_put_job(&model, now + i / 1e6, &put);
	}
	op.put_many.jobs.items = jobs;
	op.put_many.jobs.count = 3 * (size_t)count;
	expect(0, &op);
}

/* Returns whether the pop stopped early. It hands out what the model does in as many steps. */
static bool pop_some(int queue, int worker, int klass, int count)
{
	struct qless_str name = model_klass_name(klass != MODEL_NONE ? klass : 0);
	struct operation op = { .kind = OPERATION_POP,
				.pop = { .queue = model_queue_name(queue),
					 .worker = model_worker_name(worker),
					 .klass = klass != MODEL_NONE ? &name : NULL,
					 .count = count,
					 .may_stop = true } };
	struct operation_outcome outcome;
	struct qless_job_info info;
	int expected[MODEL_JOBS];
	struct model before = model;
	int expected_count, steps;

	require(run(&op, &outcome) == 0, "a pop fails");
	steps = outcome.is_stopped ? (int)outcome.steps : INT_MAX;
	expected_count =
		klass != MODEL_NONE
			? model_pop_class(&model, now, queue, worker, klass, count, steps, expected)
			: model_pop(&model, now, queue, worker, count, steps, expected);
	for (size_t i = 0; i < outcome.jobs.count || i < (size_t)expected_count; i++) {
		int got = MODEL_NONE;

		if (i < outcome.jobs.count) {
			qless_job_read(outcome.jobs.items[i], &info);
			got = model_job_number(info.jid);
		}
		if (i < (size_t)expected_count && got == expected[i])
			continue;
		printf("place %zu: expected %d, got %d\n", i,
		       i < (size_t)expected_count ? expected[i] : MODEL_NONE, got);
		if (got != MODEL_NONE)
			show_job(&model.jobs[got]);
		if (i < (size_t)expected_count)
			show_job(&model.jobs[expected[i]]);
		model = before;
		show_queue(queue);
		fail("a pop hands out another job");
	}
	for (int i = 0; i < expected_count; i++)
		check_hand_out(queue, &model.jobs[expected[i]]);
	handed_out += (unsigned)expected_count;
	require(!outcome.is_stopped || qless_has_woken(engine),
		"a pop stops early, but the queue sleeps");
	return outcome.is_stopped;
}

/* Each pop that stops early has filed lanes, so that one of the next finds what may run. */
static void pop_from(int queue, int worker, int klass, int count)
{
	int tries = 1;

	for (; pop_some(queue, worker, klass, count); tries++)
		require(tries < 1000, "one pop after another stops early");
	stopped += (unsigned)tries - 1;
}

static void call_pop(void)
{
	int worker = some_worker();
	int first = some_queue();
	int queues = one_in(4) ? MODEL_QUEUES : 1;
	int klass = one_in(2) ? some_klass() : MODEL_NONE;

	for (int i = 0; i < queues; i++)
		pop_from((first + i) % MODEL_QUEUES, worker, klass,
			 one_in(3) ? 1 + (int)pick(6) : 1);
}

static void call_complete(void)
{
	int job = some_job(QLESS_RUNNING);
	int worker = worker_of(job), queue = queue_of(job);
	struct operation op = { .kind = OPERATION_COMPLETE,
				.complete = { .jid = model_jid(job),
					      .worker = model_worker_name(worker),
					      .queue = model_queue_name(queue),
					      .data = STR("{}") } };

	expect(model_complete(&model, now, job, worker, queue, NULL), &op);
}

static void call_complete_next(void)
{
	int job = some_job(QLESS_RUNNING);
	int worker = worker_of(job), queue = queue_of(job);
	struct model_put next = { .queue = some_queue(),
				  .delay = one_in(3) ? pick(20) * 0.25 : 0,
				  .depends = MODEL_NONE };
	struct put_texts texts;
	struct qless_str name = model_queue_name(next.queue);
	struct operation op = { .kind = OPERATION_COMPLETE };

	pick_limits(&next);
	if (model.jobs[job].exists && model.jobs[job].depends == MODEL_NONE)
		next.depends = pick_dependency(job);
	name_limits(&next, &texts);
	op.complete = (struct qless_complete){ .jid = model_jid(job),
					       .worker = model_worker_name(worker),
					       .queue = model_queue_name(queue),
					       .data = STR("{\"n\":1}"),
					       .next = &name,
					       .delay = next.delay,
					       .has_limits = next.has_limits,
					       .limits = texts.limits,
					       .limit_count = (size_t)next.limit_count,
					       .depends = &texts.depends,
					       .depend_count = next.depends != MODEL_NONE };
	expect(model_complete(&model, now, job, worker, queue, &next), &op);
}

static void call_fail(void)
{
	int job = some_job(QLESS_RUNNING), worker = worker_of(job);
	struct operation op = { .kind = OPERATION_FAIL,
				.fail = { .jid = model_jid(job),
					  .worker = model_worker_name(worker),
					  .group = model_group_name(0),
					  .message = STR("message") } };

	expect(model_fail(&model, now, job, worker), &op);
}

static void call_retry(void)
{
	int job = some_job(QLESS_RUNNING), worker = worker_of(job);
	int queue = one_in(3) ? some_queue() : queue_of(job);
	double delay = one_in(3) ? pick(20) * 0.25 : 0;
	struct operation op = { .kind = OPERATION_RETRY,
				.retry = { .jid = model_jid(job),
					   .queue = model_queue_name(queue),
					   .worker = model_worker_name(worker),
					   .delay = delay } };

	expect(model_retry(&model, now, job, worker, queue, delay), &op);
}

static void call_timeout(void)
{
	int job = some_job(QLESS_RUNNING);
	struct qless_str jid = model_jid(job);
	struct operation op = { .kind = OPERATION_TIMEOUT, .names = { &jid, 1 } };

	expect(model_timeout(&model, now, job), &op);
}

static void call_cancel(void)
{
	int job = one_in(2) ? some_job(QLESS_RUNNING) : (int)pick(MODEL_JOBS);
	struct qless_str jid = model_jid(job);
	struct operation op = { .kind = OPERATION_CANCEL, .names = { &jid, 1 } };

	expect(model_cancel(&model, job), &op);
}

static void call_heartbeat(void)
{
	int job = some_job(QLESS_RUNNING), worker = worker_of(job);
	struct operation op = { .kind = OPERATION_HEARTBEAT,
				.heartbeat = { model_jid(job), model_worker_name(worker), NULL } };

	expect(model_heartbeat(&model, now, job, worker), &op);
}

static void call_unfail(void)
{
	int queue = some_queue(), group = (int)pick(MODEL_GROUPS), count = 1 + (int)pick(3);
	struct operation op = { .kind = OPERATION_UNFAIL,
				.unfail = { model_queue_name(queue), model_group_name(group),
					    count } };

	model_unfail(&model, now, queue, group, count);
	expect(0, &op);
}

static void call_priority(void)
{
	int job = one_in(4) ? some_job(QLESS_STALLED) : some_job(QLESS_WAITING);
	double priority = pick(4);
	struct operation op = { .kind = OPERATION_PRIORITY,
				.priority = { model_jid(job), priority } };

	expect(model_priority(&model, job, priority), &op);
}

static void call_release(void)
{
	int worker = some_worker();
	bool counts = one_in(2);
	struct operation op = { .kind = OPERATION_WORKER_RELEASE,
				.release = { model_worker_name(worker), counts, 1000 } };

	model_release(&model, worker, counts);
	expect(0, &op);
}

static void call_renew(void)
{
	int worker = some_worker();
	struct operation op = {
		.kind = OPERATION_WORKER_RENEW,
		.renewal = { model_worker_name(worker), -1, 1e15, 1000 },
	};

	model_renew(&model, now, worker);
	expect(0, &op);
}

static void call_pause(void)
{
	int queue = some_queue();
	struct qless_str name = model_queue_name(queue);
	bool pause = !model.queues[queue].is_paused && one_in(2);
	struct operation op = { .kind = pause ? OPERATION_PAUSE : OPERATION_UNPAUSE,
				.names = { &name, 1 } };

	model.queues[queue].is_paused = pause;
	expect(0, &op);
}

static void call_advance(void)
{
	int queue = some_queue(), max = (int)pick(4);
	struct operation op = {
		.kind = OPERATION_ADVANCE,
		.advance = { QLESS_ADVANCE_QUEUE, model_queue_name(queue), max },
	};

	model_advance(&model, now, queue, max);
	expect(0, &op);
}

static void set_option(const char *name, double value)
{
	struct operation op = { .kind = OPERATION_CONFIG_SET };
	char text[40];

	snprintf(text, sizeof text, "%.17g", value);
	op.config.name = str_from(name);
	op.config.value = str_from(text);
	expect(0, &op);
}

static void set_order(int queue, bool is_fair)
{
	struct operation op = { .kind = OPERATION_CONFIG_SET };
	char name[40];

	snprintf(name, sizeof name, "q%d-order", queue);
	op.config.name = str_from(name);
	op.config.value = is_fair ? STR("fair") : STR("priority");
	model_set_fair(&model, queue, is_fair);
	expect(0, &op);
}

static void call_config(void)
{
	int queue = some_queue();
	double value = pick(12);
	char name[40];

	switch (pick(5)) {
	case 0:
		set_option("heartbeat", model.heartbeat = 1 + value);
		break;
	case 1:
		set_option("grace-period", model.grace = value / 2);
		break;
	case 2:
		snprintf(name, sizeof name, "q%d-heartbeat", queue);
		set_option(name, model.queues[queue].heartbeat = 1 + value);
		break;
	case 3:
		set_order(queue, !model.queues[queue].is_fair);
		break;
	default:
		snprintf(name, sizeof name, "q%d-max-concurrency", queue);
		set_option(name, model.queues[queue].max_concurrency = floor(value / 2));
	}
}

/* Rates whose intervals are exact, so that sums of them are. */
static void pick_rate(struct qless_limit_change *change)
{
	static const double rates[][2] = { { 0, 1 }, { 1, 1 }, { 2, 1 },  { 4, 1 },
					   { 1, 2 }, { 1, 5 }, { 1, 10 }, { 4, 8 } };
	unsigned n = pick(sizeof rates / sizeof rates[0]);

	change->rate = rates[n][0];
	change->per = rates[n][1];
}

static void call_limit_set(void)
{
	int rule = (int)pick(MODEL_RULES);
	bool is_queue = rule >= MODEL_NAMES && rule < MODEL_LIMITS;
	struct operation op = {
		.kind = OPERATION_LIMIT_SET,
		.limit_set = { .name = model_rule_name(rule),
			       .has_concurrency = one_in(2),
			       .concurrency = (int64_t)pick(5),
			       .has_rate = one_in(2),
			       .has_burst = one_in(3),
			       .burst = 1 + pick(4),
			       .has_weight = one_in(4),
			       .weight = pick(3) == 0 ? 0.5 : 1 + pick(4),
			       .has_ttl = one_in(4),
			       .ttl = pick(80) * 0.25 },
	};

	if (!is_queue && one_in(25))
		op.limit_set.concurrency = -1;
	if (op.limit_set.has_rate)
		pick_rate(&op.limit_set);
	model_limit_set(&model, now, rule, &op.limit_set);
	expect(0, &op);
}

static void call_limit_delete(void)
{
	int rule = (int)pick(MODEL_RULES);
	struct operation op = { .kind = OPERATION_LIMIT_DELETE,
				.limit_name = model_rule_name(rule) };

	model_limit_delete(&model, now, rule);
	expect(0, &op);
}

static void call_limit_hold(void)
{
	int limit = (int)pick(MODEL_LIMITS);
	double seconds = one_in(4) ? 0 : pick(40) * 0.25;
	struct operation op = { .kind = OPERATION_LIMIT_HOLD,
				.limit_hold = { model_rule_name(limit), seconds } };

	model_limit_hold(&model, now, limit, seconds);
	expect(0, &op);
}

/* A consistent state needs no repair. */
static void call_resolve(void)
{
	struct operation op = { .kind = OPERATION_RESOLVE };
	struct operation_outcome outcome;

	require(run(&op, &outcome) == 0 && !outcome.changed && outcome.count == 0,
		"a consistent state is repaired");
}

static void call_limit_sweep(void)
{
	struct operation op = { .kind = OPERATION_LIMIT_SWEEP, .limit_sweep = { 1000 } };

	model_limit_sweep(&model, now);
	expect(0, &op);
}

/* ---- the clock ---- */

static void step_clock(double by)
{
	struct operation op = { .kind = OPERATION_STEP_CLOCK, .step_clock = { now } };

	model_step_clock(&model, now + by, now);
	now += by;
	latest = fmin(latest, now);
	expect(0, &op);
}

/* As the server does, sweep before anything else if there is something to sweep. Then no call
 * sweeps on the side, and the model knows which rules apply. */
static void sweep(void)
{
	if (qless_next_limit_sweep(engine) <= now)
		call_limit_sweep();
}

static void move_clock(void)
{
	static const double waits[] = { 0, 0, 0.25, 0.25, 0.5, 1, 2 };
	double by = one_in(60) ? pick(40) : waits[pick(sizeof waits / sizeof waits[0])];

	passed += by;
	now += by;
	if (one_in(400))
		step_clock((pick(2) == 0 ? -1.0 : 1.0) * (1 + pick(12)));
	else if (one_in(300))
		now -= pick(12) * 0.25;
}

/* ---- all of it ---- */

struct kind {
	void (*call)(void);
	unsigned weight;
};

static const struct kind kinds[] = {
	{ call_put, 230 },	   { call_put_many, 15 },      { call_pop, 260 },
	{ call_complete, 130 },	   { call_complete_next, 30 }, { call_fail, 25 },
	{ call_retry, 45 },	   { call_timeout, 20 },       { call_cancel, 30 },
	{ call_heartbeat, 50 },	   { call_unfail, 15 },	       { call_priority, 25 },
	{ call_release, 8 },	   { call_renew, 8 },	       { call_pause, 10 },
	{ call_advance, 8 },	   { call_config, 8 },	       { call_limit_set, 50 },
	{ call_limit_delete, 10 }, { call_limit_hold, 20 },    { call_resolve, 2 },
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static void call_something(void)
{
	unsigned all = 0, at;

	for (size_t i = 0; i < KINDS; i++)
		all += kinds[i].weight;
	at = pick(all);
	for (size_t i = 0; i < KINDS; i++) {
		if (at < kinds[i].weight) {
			kinds[i].call();
			return;
		}
		at -= kinds[i].weight;
	}
}

void setUp(void)
{
}

void tearDown(void)
{
	operation_room_done(&room);
	qless_free(engine);
	qless_free(twin);
	engine = twin = NULL;
}

static void begin(void)
{
	qless_free(engine);
	qless_free(twin);
	rng = seed;
	model_init(&model);
	memset(outs, 0, sizeof outs);
	memset(awake, 0, sizeof awake);
	now = START;
	latest = passed = 0;
	engine = qless_new(&(struct qless_hooks){ .hash_seed = seed });
	limit_engine();
	twin = qless_new(&(struct qless_hooks){ .hash_seed = ~seed });
	/* No completed job is purged, however long the run is. */
	set_option("jobs-history", 1e12);
	set_option("heartbeat", model.heartbeat = 8);
	set_option("grace-period", model.grace = 3);
}

static void run_steps(unsigned steps)
{
	for (step = 0; step < steps; step++) {
		move_clock();
		sweep();
		call_something();
		compare_jobs();
		check_sleep();
		if (one_in(5))
			change_shelf();
		check_class();
		if (one_in(10)) {
			compare_peek(some_queue());
			compare_limit((int)pick(MODEL_NAMES));
			compare_why(one_in(2) ? some_job(QLESS_WAITING) : (int)pick(MODEL_JOBS));
			check_next_due();
		}
		if (one_in(50))
			require(qless_check(engine, report, NULL) == 0,
				"the state is inconsistent");
		if (one_in(200))
			compare_dumps(engine, twin, "the replayed engine is in another state");
		if (one_in(800))
			reload_engine();
		if (one_in(800))
			reload(&twin, pick(1000));
	}
	require(qless_check(twin, report, NULL) == 0, "the replayed state is inconsistent");
	total += steps;
}

static unsigned long long number_from(const char *name, unsigned long long fallback)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : fallback;
}

static void the_engine_hands_out_what_the_model_says(void)
{
	unsigned long long steps = number_from("QLESSD_LIMITS_STEPS", STEPS);

	signal(SIGABRT, on_abort);
	seed = number_from("QLESSD_LIMITS_SEED", 1);
	for (total = 0; total < steps; seed++) {
		begin();
		run_steps(STEPS_A_SEED);
	}
	printf("%lu steps, %lu jobs handed out, %lu queues with work, %lu woken in vain, %lu pops "
	       "stopped early\n",
	       total, handed_out, checked_waits, woken_for_nothing, stopped);
	TEST_ASSERT_GREATER_THAN(total / 20, handed_out);
	TEST_ASSERT_GREATER_THAN(total / 500, stopped);
	TEST_ASSERT_GREATER_THAN(total / 500, shelves_built);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_engine_hands_out_what_the_model_says);
	return UNIT_RESULT();
}
