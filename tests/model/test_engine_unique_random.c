/*
 * Random histories of jobs with unique keys, on the engine and on a model beside it.
 *
 * The model knows which job holds each key, and nothing else of the engine: it looks at the states
 * of the jobs before and after each call. If several jobs of one key change their states in one
 * call, their order decides; then the model only requires that no other job holds the key. A second
 * engine runs what is recorded, and now and then a snapshot takes its place. In the end all jobs
 * are deleted, and no key may be left.
 *
 * QLESSD_UNIQUE_HISTORIES and QLESSD_UNIQUE_SEED in the environment select another number of
 * histories and another first seed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "engine/state.h"
#include "operation/operation.h"
#include "util/buf.h"

#define HISTORIES 10000
#define STEPS	  100
#define JIDS	  6
#define KEYS	  3
#define QUEUES	  2
#define NONE	  (-1)
#define START	  1000000.0 /* seconds */

struct job {
	bool exists;
	enum qless_state state;
	uint64_t lock; /* of its last hand-out: a lost job may be running again at once */
	int key;       /* NONE: it claims none */
	enum qless_until until;
	double ends;
};

static const struct qless_str jids[JIDS] = { STR_INIT("a"), STR_INIT("b"), STR_INIT("c"),
					     STR_INIT("d"), STR_INIT("e"), STR_INIT("f") };
static const struct qless_str keys[KEYS] = { STR_INIT("red"), STR_INIT("green"), STR_INIT("blue") };
static const struct qless_str queues[QUEUES] = { STR_INIT("q"), STR_INIT("other") };

static unsigned long long rng;
static unsigned long long seed;
static unsigned step;
static double now;
static struct qless *engine;
static struct qless *twin; /* runs what is recorded */
static struct operation_room room;
static struct job jobs[JIDS];
static int holders[KEYS];
static unsigned long refused, replaced, came_back, went_without;

static unsigned pick(unsigned below)
{
	return (unsigned)(unit_random(&rng) % below);
}

static bool one_in(unsigned n)
{
	return pick(n) == 0;
}

static void require(bool condition, const char *what)
{
	static char text[200];

	if (condition)
		return;
	snprintf(text, sizeof text, "seed %llu step %u: %s", seed, step, what);
	TEST_FAIL_MESSAGE(text);
}

/* Unity needs both. */
void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- the model ---- */

static bool should_hold(const struct job *job)
{
	if (!job->exists || job->key == NONE)
		return false;
	switch (job->until) {
	case QLESS_UNTIL_FINISHED:
		return job->state != QLESS_FAILED && job->state != QLESS_COMPLETE;
	case QLESS_UNTIL_POPPED:
		return job->state != QLESS_RUNNING && job->state != QLESS_FAILED &&
		       job->state != QLESS_COMPLETE;
	case QLESS_UNTIL_SECONDS:
		break;
	}
	return now < job->ends;
}

/* The job that holds a key; NONE if none does. */
static int holder_of(int key)
{
	int holder = holders[key];

	return holder != NONE && jobs[holder].key == key && should_hold(&jobs[holder]) ? holder
										       : NONE;
}

/* ---- engines ---- */

static struct qless *new_engine(void)
{
	struct qless_hooks hooks = { .hash_seed = 1 };
	struct qless *made = qless_new(&hooks);

	/* Expired locks are taken away at once, and complete jobs are kept for a while. */
	require(qless_config_set(made, 0, STR("grace-period"), STR("0")) == 0 &&
			qless_config_set(made, 0, STR("heartbeat"), STR("10")) == 0 &&
			qless_config_set(made, 0, STR("jobs-history-count"), STR("2")) == 0,
		"an option is refused");
	return made;
}

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

static void compare_engines(void)
{
	struct buf one = BUF_INIT(BUF_NO_MAX), other = BUF_INIT(BUF_NO_MAX);

	qless_dump(engine, append_text, &one);
	qless_dump(twin, append_text, &other);
	require(str_equal(buf_str(&one), buf_str(&other)), "a replay leads to another state");
	buf_done(&one);
	buf_done(&other);
}

/* Let a snapshot take the place of an engine. */
static void reload(struct qless **which)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct qless_hooks hooks = { .hash_seed = 99 };
	struct qless *loaded = qless_new(&hooks);
	struct qless_str left;

	require(state_save(*which, append_piece, &bytes), "a snapshot cannot be saved");
	left = buf_str(&bytes);
	require(state_load(loaded, give_all, &left) == 0, "a snapshot cannot be loaded");
	qless_free(*which);
	*which = loaded;
	compare_engines();
	buf_done(&bytes);
}

static void run_recorded(const struct operation *op)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(256);
	struct operation_outcome outcome;
	struct operation decoded;
	struct qless_str rest;

	operation_encode(op, &bytes);
	rest = buf_str(&bytes);
	require(operation_decode(&rest, &room, &decoded, &error) == 0 && rest.len == 0,
		"a record is unreadable");
	require(operation_run(twin, &decoded, &outcome) == 0 && outcome.changed,
		"a record changes nothing in a replay");
	buf_done(&bytes);
	buf_done(&error);
}

/* ---- the model follows the engine ---- */

static void read_job(int i, struct job *ret_job)
{
	const struct qless_job *job = qless_get(engine, jids[i]);
	struct qless_job_info info;

	ret_job->exists = job != NULL;
	if (job == NULL) {
		ret_job->key = NONE;
		return;
	}
	qless_job_read(job, &info);
	ret_job->state = info.state;
	ret_job->lock = info.lock;
}

/* Whether the engine says that the job holds its key. */
static bool engine_says_held(int i)
{
	const struct qless_job *job = qless_get(engine, jids[i]);
	struct qless_terms terms;

	return job != NULL && qless_job_terms(job, &terms) && terms.has_unique &&
	       terms.unique.is_held;
}

/* Decide which job holds a key now. `changed` are the jobs whose states, or claims, have changed.
 * `previous` held the key before the call. */
static void settle_key(int key, const bool *changed, int previous)
{
	int claims_changed = 0, taker = NONE;

	if (holder_of(key) != NONE)
		return;
	for (int i = 0; i < JIDS; i++) {
		if (jobs[i].key != key || !changed[i])
			continue;
		claims_changed++;
		if (should_hold(&jobs[i]) && (taker == NONE || engine_says_held(i)))
			taker = i;
	}
	/* The order of the changes decides, which the model does not know. */
	if (taker != NONE && (claims_changed > 1 || previous != NONE) && !engine_says_held(taker))
		taker = NONE;
	holders[key] = taker;
	came_back += taker != NONE;
}

/* Compare the engine with the model, and look for two jobs that hold one key. */
static void compare_holders(void)
{
	struct qless_str jid;

	for (int key = 0; key < KEYS; key++) {
		int holder = holder_of(key);
		bool is_held = qless_unique_holder(engine, keys[key], now, &jid);

		require(is_held == (holder != NONE),
			holder != NONE ? "a key is free too early" : "a key leaks");
		require(!is_held || str_equal(jid, jids[holder]), "another job holds a key");
		for (int i = 0; i < JIDS; i++) {
			if (jobs[i].key != key || !should_hold(&jobs[i]))
				continue;
			went_without += i != holder;
			require(engine_says_held(i) == (i == holder), "a job says otherwise");
		}
	}
}

/* `put`: the job whose claim the call has stated anew; NONE if there is none. */
static void follow(int put)
{
	struct job before[JIDS];
	int previous[KEYS];
	bool changed[JIDS];

	memcpy(before, jobs, sizeof before);
	for (int key = 0; key < KEYS; key++)
		previous[key] = holder_of(key);
	for (int i = 0; i < JIDS; i++) {
		read_job(i, &jobs[i]);
		changed[i] = i == put || before[i].exists != jobs[i].exists ||
			     before[i].state != jobs[i].state || before[i].lock != jobs[i].lock;
	}
	for (int key = 0; key < KEYS; key++)
		settle_key(key, changed, previous[key]);
	compare_holders();
}

static int run(struct operation *op, struct operation_outcome *ret)
{
	int rc;

	op->now = now;
	rc = operation_run(engine, op, ret);
	if (rc == 0 && ret->changed)
		run_recorded(op);
	return rc;
}

static void run_and_follow(struct operation *op)
{
	struct operation_outcome outcome;

	(void)run(op, &outcome);
	follow(NONE);
}

/* ---- calls ---- */

static struct qless_terms pick_terms(int *ret_key)
{
	struct qless_terms terms = { .has_unique = !one_in(4) };

	*ret_key = (int)pick(KEYS);
	terms.unique.key = keys[*ret_key];
	terms.unique.until = pick(3);
	if (terms.unique.until == QLESS_UNTIL_SECONDS)
		terms.unique.seconds = 1 + pick(40);
	terms.unique.replace = terms.has_unique && one_in(3);
	return terms;
}

/* The put number `index` of a call was for the job `i`. Returns whether it put the job. */
static bool note_put(int i, int key, const struct qless_terms *terms, size_t index, bool states)
{
	struct qless_str jid;
	int holder = terms->has_unique ? holder_of(key) : NONE;

	if (holder != NONE && holder != i) {
		require(qless_read_put_end(engine, index, &jid) == QLESS_PUT_HELD,
			"a put ignores the holder of its key");
		require(str_equal(jid, jids[holder]), "a put names another holder");
		refused++;
		return false;
	}
	require(qless_read_put_end(engine, index, &jid) == QLESS_PUT_DONE, "a put is refused");
	if (terms->has_unique || states) {
		if (jobs[i].key != NONE && holders[jobs[i].key] == i)
			holders[jobs[i].key] = NONE;
		jobs[i].key = NONE;
	}
	if (terms->has_unique) {
		jobs[i].key = key;
		jobs[i].until = terms->unique.until;
		jobs[i].ends = now + terms->unique.seconds;
	}
	return true;
}

static void call_put(void)
{
	int i = (int)pick(JIDS), key;
	struct qless_terms terms = pick_terms(&key);
	bool requeues = one_in(4);
	struct operation_outcome outcome;
	struct operation op = { .kind = requeues ? OPERATION_REQUEUE : OPERATION_PUT,
				.put = { .worker = STR("w"),
					 .queue = queues[pick(QUEUES)],
					 .jid = jids[i],
					 .klass = STR("k"),
					 .data = one_in(2) ? STR("{}") : STR("[]"),
					 .delay = one_in(3) ? pick(20) : 0,
					 .terms = &terms } };
	int before = holder_of(key);

	if (run(&op, &outcome) < 0) {
		require(requeues && !jobs[i].exists, "a put fails");
		return;
	}
	if (note_put(i, key, &terms, 0, !requeues)) {
		follow(i);
		return;
	}
	require(!outcome.changed || terms.unique.replace, "a refused put changes something");
	if (outcome.changed) {
		require(jobs[before].state != QLESS_RUNNING, "a running job is replaced");
		replaced++;
	}
	follow(NONE);
}

static void call_put_many(void)
{
	struct qless_str texts[9], own[3];
	int which[3], key[3];
	struct qless_terms terms = pick_terms(&key[0]);
	struct operation_outcome outcome;
	struct operation op = { .kind = OPERATION_PUT_MANY,
				.put_many = { .common = { .worker = STR("w"),
							  .queue = queues[pick(QUEUES)],
							  .terms = &terms },
					      .jobs = { texts, 9 } } };

	terms.unique.replace = false;
	if (terms.unique.until == QLESS_UNTIL_SECONDS)
		terms.unique.until = QLESS_UNTIL_FINISHED; /* the jobs are microseconds apart */
	terms.unique.seconds = 0;
	for (int i = 0; i < 3; i++) {
		which[i] = (int)pick(JIDS);
		key[i] = (int)pick(KEYS);
		own[i] = keys[key[i]];
		texts[3 * i] = jids[which[i]];
		texts[3 * i + 1] = STR("k");
		texts[3 * i + 2] = STR("{}");
	}
	if (terms.has_unique)
		op.put_many.keys = (struct operation_names){ own, 3 };
	require(run(&op, &outcome) == 0, "a call of several puts fails");
	for (int i = 0; i < 3; i++) {
		if (!note_put(which[i], key[i], &terms, (size_t)i, true))
			continue;
		/* Each put is over before the next one. */
		jobs[which[i]].exists = true;
		jobs[which[i]].state = QLESS_WAITING;
		if (terms.has_unique && holder_of(key[i]) == NONE)
			holders[key[i]] = which[i];
	}
	follow(NONE);
}

static void call_pop(void)
{
	struct operation op = {
		.kind = OPERATION_POP,
		.pop = { .queue = queues[pick(QUEUES)], .worker = STR("w"), .count = 1 + pick(3) }
	};

	run_and_follow(&op);
}

static struct qless_job_info info_of(int i)
{
	struct qless_job_info info = { .queue = STR("q") };
	const struct qless_job *job = qless_get(engine, jids[i]);

	if (job != NULL)
		qless_job_read(job, &info);
	return info;
}

static void call_complete(void)
{
	int i = (int)pick(JIDS), key;
	struct qless_terms terms = pick_terms(&key);
	struct qless_str next = queues[pick(QUEUES)];
	bool moves = one_in(2);
	int holder = moves && terms.has_unique ? holder_of(key) : NONE;
	struct operation_outcome outcome;
	struct operation op = { .kind = OPERATION_COMPLETE,
				.complete = { .jid = jids[i],
					      .worker = STR("w"),
					      .queue = info_of(i).queue,
					      .data = STR("{}"),
					      .next = moves ? &next : NULL,
					      .terms = moves ? &terms : NULL } };

	if (run(&op, &outcome) < 0)
		return;
	require(!moves || (outcome.state == QLESS_COMPLETE) == (holder != NONE && holder != i),
		"a job moves on although its key is held, or the other way round");
	if (outcome.state == QLESS_COMPLETE || !terms.has_unique) {
		follow(NONE);
		return;
	}
	if (jobs[i].key != NONE && holders[jobs[i].key] == i)
		holders[jobs[i].key] = NONE;
	jobs[i].key = key;
	jobs[i].until = terms.unique.until;
	jobs[i].ends = now + terms.unique.seconds;
	follow(i);
}

static void call_end_of_run(void)
{
	int i = (int)pick(JIDS);
	struct qless_str queue = info_of(i).queue;
	struct operation op;

	switch (pick(4)) {
	case 0:
		op = (struct operation){ .kind = OPERATION_FAIL,
					 .fail = { jids[i], STR("w"), STR("g"), STR("m"), NULL,
						   NULL } };
		break;
	case 1:
		op = (struct operation){ .kind = OPERATION_RETRY,
					 .retry = { .jid = jids[i],
						    .queue = queue,
						    .worker = STR("w"),
						    .delay = one_in(2) ? 0 : 5 } };
		break;
	case 2:
		op = (struct operation){ .kind = OPERATION_TIMEOUT, .names = { &jids[i], 1 } };
		break;
	default:
		op = (struct operation){ .kind = OPERATION_WORKER_RELEASE,
					 .release = { STR("w"), one_in(2), 2 } };
	}
	run_and_follow(&op);
}

static void call_other(void)
{
	int i = (int)pick(JIDS);
	struct operation op;

	switch (pick(4)) {
	case 0:
		op = (struct operation){ .kind = OPERATION_CANCEL, .names = { &jids[i], 1 } };
		break;
	case 1:
		op = (struct operation){ .kind = OPERATION_UNFAIL,
					 .unfail = { queues[pick(QUEUES)], STR("g"),
						     1 + pick(3) } };
		break;
	case 2:
		op = (struct operation){ .kind = OPERATION_ADVANCE,
					 .advance = { QLESS_ADVANCE_QUEUE, queues[pick(QUEUES)],
						      10 } };
		break;
	default:
		/* Used-up retries end in this group. */
		op = (struct operation){ .kind = OPERATION_UNFAIL,
					 .unfail = { queues[pick(QUEUES)], STR("failed-retries-q"),
						     2 } };
	}
	run_and_follow(&op);
}

static void flush_all(void)
{
	qless_free(engine);
	qless_free(twin);
	engine = new_engine();
	twin = new_engine();
	for (int i = 0; i < JIDS; i++)
		jobs[i] = (struct job){ .key = NONE };
	for (int key = 0; key < KEYS; key++)
		holders[key] = NONE;
}

static void take_step(void)
{
	now += one_in(6) ? 15 : 0.5 * pick(3);
	switch (pick(16)) {
	case 0:
		if (one_in(8))
			flush_all();
		else
			reload(one_in(2) ? &engine : &twin);
		break;
	case 1:
	case 2:
		call_other();
		break;
	case 3:
	case 4:
	case 5:
		call_end_of_run();
		break;
	case 6:
	case 7:
		call_complete();
		break;
	case 8:
		call_put_many();
		break;
	case 9:
	case 10:
	case 11:
		call_pop();
		break;
	default:
		call_put();
	}
}

/* ---- the end of a history ---- */

/* Delete all jobs: the complete ones are purged by the completion of another. */
static void delete_all(void)
{
	struct operation_outcome outcome;
	struct operation op;

	op = (struct operation){ .kind = OPERATION_CONFIG_SET,
				 .config = { STR("jobs-history-count"), STR("0") } };
	require(run(&op, &outcome) == 0, "an option is refused");
	for (int i = 0; i < JIDS; i++) {
		op = (struct operation){ .kind = OPERATION_CANCEL, .names = { &jids[i], 1 } };
		require(run(&op, &outcome) == 0, "a job cannot be cancelled");
	}
	op = (struct operation){ .kind = OPERATION_PUT,
				 .put = { .worker = STR("w"),
					  .queue = STR("last"),
					  .jid = STR("last"),
					  .klass = STR("k"),
					  .data = STR("{}") } };
	require(run(&op, &outcome) == 0, "the last job cannot be put");
	op = (struct operation){ .kind = OPERATION_POP,
				 .pop = { .queue = STR("last"), .worker = STR("w"), .count = 1 } };
	require(run(&op, &outcome) == 0 && outcome.jobs.count == 1, "the last job is not popped");
	op = (struct operation){ .kind = OPERATION_COMPLETE,
				 .complete = { .jid = STR("last"),
					       .worker = STR("w"),
					       .queue = STR("last"),
					       .data = STR("{}") } };
	require(run(&op, &outcome) == 0, "the last job cannot be completed");
}

static void run_history(void)
{
	rng = seed;
	now = START;
	engine = new_engine();
	twin = new_engine();
	flush_all();
	for (step = 0; step < STEPS; step++)
		take_step();
	require(qless_check(engine, report, NULL) == 0, "the state is not consistent");
	compare_engines();
	delete_all();
	for (int i = 0; i < JIDS; i++)
		require(qless_get(engine, jids[i]) == NULL, "a job is left");
	require(qless_unique_count(engine) == 0, "a key without a job is left");
	require(qless_check(engine, report, NULL) == 0, "the last state is not consistent");
	compare_engines();
	qless_free(engine);
	qless_free(twin);
}

static unsigned long long number_from(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static void no_history_leaks_a_key_or_gives_one_to_two_jobs(void)
{
	unsigned long long histories = number_from("QLESSD_UNIQUE_HISTORIES", HISTORIES);
	unsigned long long first = number_from("QLESSD_UNIQUE_SEED", 1);

	for (seed = first; seed < first + histories; seed++)
		run_history();
	operation_room_done(&room);
	printf("%llu histories: %lu puts refused, %lu replaced, keys taken %lu times, "
	       "jobs without their key %lu times\n",
	       histories, refused, replaced, came_back, went_without);
	/* The histories must not be about nothing. */
	if (histories >= 1000) {
		TEST_ASSERT_GREATER_THAN(histories, refused);
		TEST_ASSERT_GREATER_THAN(histories / 10, replaced);
		TEST_ASSERT_GREATER_THAN(histories, came_back);
		TEST_ASSERT_GREATER_THAN(histories / 10, went_without);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(no_history_leaks_a_key_or_gives_one_to_two_jobs);
	return UNIT_RESULT();
}
