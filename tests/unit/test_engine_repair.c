/*
 * Repairs in portions, compared with repairs in one piece, on random states that were damaged on
 * purpose. Only this test and test_engine_check.c reach into the engine.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/run.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/worker.h"
#include "portions.h"

#ifdef __SANITIZE_ADDRESS__
#define ROUNDS 100
#else
#define ROUNDS 500
#endif
#define JOBS   60
#define QUEUES 3
#define NAMES  5 /* workers, groups, tags, classes */

static struct qless *q;
static uint64_t state;
static double now;

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

static bool chance(unsigned one_of)
{
	return draw(one_of) == 0;
}

/* ---- random states ---- */

static char texts[8][32];

/* A text that lasts for eight calls. */
static struct qless_str name(const char *prefix, unsigned number)
{
	static unsigned next;
	char *to = texts[next++ % 8];

	snprintf(to, sizeof texts[0], "%s%u", prefix, number);
	return str_from(to);
}

static void put(unsigned number)
{
	static const struct qless_terms retained[] = {
		{ .has_retain = true, .retain = 500 },
		{ .has_retain = true, .retain = INFINITY },
	};
	struct qless_str tags[3], on[2];
	struct qless_put put = { .worker = STR("putter"),
				 .queue = name("q", draw(QUEUES)),
				 .jid = name("j", number),
				 .klass = name("class", draw(NAMES)),
				 .data = STR("{}"),
				 .delay = chance(6) ? 1000 + draw(50) : 0,
				 .has_tags = true,
				 .tags = tags,
				 .depends = on,
				 .terms = number % 4 < 2 ? &retained[number % 2] : NULL };

	for (put.tag_count = 0; put.tag_count < draw(4) && put.tag_count < 3; put.tag_count++)
		tags[put.tag_count] = str_make("tttttttttt", 1 + draw(NAMES));
	if (number > 2 && chance(3)) {
		on[put.depend_count++] = name("j", draw(number));
		on[put.depend_count++] = name("j", draw(number));
	}
	TEST_ASSERT_EQUAL_INT(0, qless_put(q, now += 1, &put));
}

/* Run a job: it completes, fails, or runs on. */
static void run_one(void)
{
	struct qless_str queue = name("q", draw(QUEUES)), worker = name("w", draw(NAMES));
	struct qless_job_info info;
	struct qless_jobs jobs;
	struct qless_complete complete;
	enum qless_state after;
	char jid[32];

	TEST_ASSERT_EQUAL_INT(0, qless_pop(q, now += 1, queue, worker, 1, &jobs));
	if (jobs.count == 0 || chance(2))
		return;
	qless_job_read(jobs.items[0], &info);
	snprintf(jid, sizeof jid, "%.*s", (int)info.jid.len, info.jid.ptr);
	if (chance(2)) {
		TEST_ASSERT_EQUAL_INT(0, qless_fail(q, now += 1, str_from(jid), worker,
						    name("g", draw(NAMES)), STR("m"), NULL));
		return;
	}
	complete = (struct qless_complete){
		.jid = str_from(jid), .worker = worker, .queue = queue, .data = STR("{}")
	};
	TEST_ASSERT_EQUAL_INT(0, qless_complete(q, now += 1, &complete, &after));
}

static void build_state(unsigned seed)
{
	bool is_new;

	state = seed;
	now = 1000;
	q = qless_new(NULL);
	for (unsigned i = 0; i < JOBS; i++) {
		put(i);
		if (chance(2))
			run_one();
		if (chance(10))
			TEST_ASSERT_EQUAL_INT(0,
					      qless_track(q, now, name("j", draw(i + 1)), &is_new));
	}
	for (unsigned i = 0; i < 4; i++) {
		struct qless_recur_put recur = { .queue = name("q", draw(QUEUES)),
						 .jid = name("r", i),
						 .klass = STR("class1"),
						 .data = STR("{}"),
						 .interval = 60,
						 .offset = 60 };

		TEST_ASSERT_EQUAL_INT(0, qless_recur(q, now, &recur));
	}
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
}

void setUp(void)
{
}

void tearDown(void)
{
	qless_free(q);
	q = NULL;
}

/* ---- random damage ---- */

static void damage_edges(struct qless_job *job)
{
	struct job_extra *extra = job_extra(job);

	if (extra == NULL)
		return;
	if (extra->dependencies != NULL && chance(2))
		skiplist_remove(extra->dependencies, skiplist_first(extra->dependencies));
	else if (extra->dependencies != NULL && chance(2))
		skiplist_first(extra->dependencies)->aux = 1;
	else if (extra->dependents != NULL)
		skiplist_remove(extra->dependents, skiplist_first(extra->dependents));
}

static void damage_tags(struct qless_job *job)
{
	struct tag_list *tags = job_extra(job) != NULL ? job_extra(job)->tags : NULL;
	struct tagging *tagging;

	if (tags == NULL)
		return;
	tagging = tags->items[draw(tags->count)];
	if (chance(3))
		tagging->node.aux += 1;
	else if (chance(2))
		tags->items[0] = tags->items[tags->count - 1];
	else if (tagging->node.linked)
		skiplist_remove(&tagging->tag->jobs, &tagging->node);
}

static void damage_job(struct qless_job *job)
{
	bool is_over = job->state == QLESS_COMPLETE || job->state == QLESS_FAILED;

	switch (draw(9)) {
	case 0: /* out of its list */
		skiplist_remove(job_list(q, job), &job->node);
		break;
	case 1: /* in a list of another state */
		if (job->state == QLESS_WAITING)
			job->state = QLESS_SCHEDULED;
		break;
	case 2: /* out of order */
		job->node.score = (double)draw(4000) - 2000;
		break;
	case 3: /* unknown to the table */
		hash_remove(&q->jobs, &job->hash);
		break;
	case 4:
		job->flags ^= JOB_TRACKED | JOB_CHOSEN;
		break;
	case 5:
		if (is_over)
			job_set_worker(q, job, intern_find(&q->worker_names, STR("putter")));
		if (is_over)
			job->expires = 7;
		break;
	case 6:
		damage_edges(job);
		break;
	case 7:
		damage_tags(job);
		break;
	default:
		job->klass->node.aux += 1 + draw(3);
		break;
	}
}

static void damage_worker(struct worker *worker)
{
	struct hash_iter it;
	struct hash_node *held = hash_first(&it, &worker->held);
	struct holding *holding;

	if (held == NULL)
		return;
	holding = container_of(held, struct holding, hash);
	if (chance(3))
		hash_remove(&worker->held, held);
	else if (chance(2))
		skiplist_remove(&worker->by_expiry, &holding->node);
	else
		holding->node.score = draw(4000);
}

static void damage_rest(void)
{
	struct queue *queue = queue_find(q, name("q", draw(QUEUES)));
	struct qless_recur *recur =
		(struct qless_recur *)(uintptr_t)qless_recur_get(q, name("r", draw(4)));
	struct skipnode *node = skiplist_first(&q->tracks);
	struct worker *worker = worker_find(q, name("w", draw(NAMES)));

	if (chance(3))
		q->depending_count += draw(5);
	if (chance(3))
		q->busy_count += draw(5);
	if (chance(3))
		q->group_count += draw(5);
	if (chance(3))
		q->failure_number = 0;
	if (chance(3))
		queue->job_count += draw(5);
	if (chance(3))
		queue->heartbeat = draw(100);
	if (chance(3))
		skiplist_remove(&recur->queue->recurring, &recur->node);
	if (chance(3) && node != NULL)
		skiplist_remove(&q->tracks, node);
	if (chance(3) && skiplist_count(&q->tags) > 0)
		skiplist_first(&q->tags)->score += draw(9);
	if (chance(3))
		intern_get(&q->worker_names, STR("nobody"));
	if (worker != NULL && chance(2))
		damage_worker(worker);
}

/* Damage one of the indexes of retained jobs, in turns. */
static void damage_retained(unsigned turn)
{
	if (turn % 4 == 0 && skiplist_count(&q->retained.list) > 0)
		skiplist_remove(&q->retained.list, skiplist_first(&q->retained.list));
	else if (turn % 4 == 1 && q->retained.ends.count > 0)
		heap_remove(&q->retained.ends, heap_first(&q->retained.ends));
	else if (turn % 4 == 2)
		q->retained.below = 2000;
}

/* Damage each job at most once. */
static void damage_state(void)
{
	unsigned one_of = 2 + draw(20);

	for (unsigned i = 0; i < JOBS; i++) {
		struct qless_job *job = job_find(q, name("j", i));

		if (job != NULL && chance(one_of))
			damage_job(job);
	}
	damage_rest();
	damage_retained(one_of);
}

/* ---- cases ---- */

static void resolve_in_child(struct qless *copy, struct buf *ret)
{
	qless_resolve(copy, 2000);
	describe_state(copy, ret);
}

static void portions_lead_to_the_same_state_as_one_piece(void)
{
	unsigned damaged = 0, clean = 0;

	for (unsigned seed = 1; seed <= ROUNDS; seed++) {
		struct buf piece = BUF_INIT(BUF_NO_MAX), portions = BUF_INIT(BUF_NO_MAX);

		build_state(seed);
		damage_state();
		damaged += qless_check(q, NULL, NULL) > 0;
		run_in_child(q, resolve_in_child, &piece);
		repair_in_portions(q, NULL);
		describe_state(q, &portions);
		if (strcmp(buf_cstr(&piece), buf_cstr(&portions)) != 0)
			printf("seed %u\n", seed);
		TEST_ASSERT_EQUAL_STRING(buf_cstr(&piece), buf_cstr(&portions));
		clean += qless_check(q, NULL, NULL) == 0;
		buf_done(&piece);
		buf_done(&portions);
		qless_free(q);
		q = NULL;
	}
	TEST_ASSERT_GREATER_THAN_UINT(ROUNDS * 9 / 10, damaged);
	TEST_ASSERT_GREATER_THAN_UINT(ROUNDS * 9 / 10, clean);
}

/* A state that is sound, or damaged in the same way each time. */
static struct qless *build(unsigned seed, bool is_damaged)
{
	build_state(seed);
	if (is_damaged)
		damage_state();
	return q;
}

static void replay(struct qless *engine, struct qless_str bytes)
{
	struct operation_room room = { 0 };
	struct operation op;
	struct operation_outcome outcome;
	struct buf error = BUF_INIT(4096);

	while (bytes.len != 0) {
		TEST_ASSERT_EQUAL_INT(0, operation_decode(&bytes, &room, &op, &error));
		TEST_ASSERT_EQUAL_INT(0, operation_run(engine, &op, &outcome));
	}
	operation_room_done(&room);
}

/* The log is replayed on a state without the damage, or if a defect of the program made it, on the
 * same state. */
static void a_replay_repairs_the_same_damage_and_leaves_a_sound_state_alone(void)
{
	for (unsigned seed = 1; seed <= ROUNDS / 10; seed++) {
		struct buf log = BUF_INIT(BUF_NO_MAX), live = BUF_INIT(BUF_NO_MAX),
			   again = BUF_INIT(BUF_NO_MAX);
		uint64_t changes;

		build(seed, true);
		repair_in_portions(q, &log);
		describe_state(q, &live);
		qless_free(q);
		build(seed, true);
		replay(q, buf_str(&log));
		describe_state(q, &again);
		TEST_ASSERT_EQUAL_STRING(buf_cstr(&live), buf_cstr(&again));
		qless_free(q);
		build(seed, false);
		changes = qless_changes(q);
		replay(q, buf_str(&log));
		TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
		qless_free(q);
		q = NULL;
		buf_done(&log);
		buf_done(&live);
		buf_done(&again);
	}
}

/* Damage that calls of clients survive. */
static void damage_without_breaking_calls(void)
{
	for (unsigned i = 0; i < JOBS; i++) {
		struct qless_job *job = job_find(q, name("j", i));

		if (job->state == QLESS_WAITING)
			job->node.score = (double)draw(4000) - 2000;
		if (chance(3))
			job->klass->node.aux += 1 + draw(3);
	}
	q->depending_count += 3;
	q->depended_count += 2;
	q->busy_count += 5;
	q->group_count += 1;
	queue_find(q, STR("q0"))->job_count += 4;
	queue_find(q, STR("q1"))->heartbeat = 7;
	skiplist_first(&q->tags)->score += 20;
}

static void call_something(unsigned *next_jid)
{
	struct qless_str jid = name("j", draw(*next_jid));
	const struct qless_job *job = qless_get(q, jid);
	int rc;

	put((*next_jid)++);
	run_one();
	/* A job that others depend on is not canceled. */
	rc = job != NULL ? qless_cancel(q, now += 1, &jid, 1) : 0;
	(void)rc;
}

static void assert_counters_are_right(void)
{
	struct buf findings = BUF_INIT(BUF_NO_MAX);

	qless_check(q, append_line, &findings);
	if (findings.len != 0) {
		TEST_ASSERT_NULL(strstr(buf_cstr(&findings), "has a wrong reference count"));
		TEST_ASSERT_NULL(strstr(buf_cstr(&findings), "has a wrong number of jobs"));
		TEST_ASSERT_NULL(strstr(buf_cstr(&findings), "number of \""));
	}
	buf_done(&findings);
}

static void the_state_may_change_while_it_is_repaired(void)
{
	for (unsigned seed = 1; seed <= ROUNDS; seed++) {
		unsigned next_jid = JOBS, rounds = 0;

		build_state(seed);
		damage_without_breaking_calls();
		TEST_ASSERT_GREATER_THAN_size_t(0, qless_check(q, NULL, NULL));
		for (; qless_check(q, NULL, NULL) > 0; rounds++) {
			struct buf portions = BUF_INIT(BUF_NO_MAX);
			struct qless_str left;

			run_in_child(q, find_in_child, &portions);
			if (rounds == 0)
				call_something(&next_jid);
			left = buf_str(&portions);
			while (left.len != 0) {
				run_portion(q, &left, NULL);
				/* In the second round nothing happens, so that it is the last. */
				if (rounds == 0)
					call_something(&next_jid);
			}
			buf_done(&portions);
			assert_counters_are_right();
			TEST_ASSERT_LESS_THAN_UINT(2, rounds);
		}
		qless_free(q);
		q = NULL;
	}
}

/* A log may say anything. */
static void repairs_that_were_not_aimed_never_damage_a_sound_state(void)
{
	for (unsigned seed = 1; seed <= ROUNDS / 10; seed++) {
		build_state(seed);
		for (unsigned i = 0; i < 3000; i++) {
			const struct qless_repair repair = {
				.kind = 1 + draw(QLESS_REPAIR_LIMITS),
				.what = draw(14),
				.name = chance(2) ? name("q", draw(QUEUES))
						  : name(chance(2) ? "w" : "class", draw(NAMES)),
				.member = name(chance(9) ? "q" : "j", draw(JOBS)),
				.other = name("j", draw(JOBS)),
				.score = draw(2000),
				.from = draw(40),
				.to = draw(40),
			};

			TEST_ASSERT_EQUAL_size_t(0, qless_repair(q, 2000, &repair, 1));
		}
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
		qless_free(q);
		q = NULL;
	}
}

/* ---- long lists ---- */

#define MANY 20000

static void put_many(void)
{
	q = qless_new(NULL);
	for (unsigned i = 0; i < MANY; i++) {
		struct qless_put one = { .worker = STR("w"),
					 .queue = STR("q"),
					 .jid = name("j", i),
					 .klass = STR("k"),
					 .data = STR("{}") };

		TEST_ASSERT_EQUAL_INT(0, qless_put(q, 1000 + i, &one));
	}
}

struct weights {
	size_t repairs;
	size_t heaviest;
};

static void weigh(void *arg, const struct qless_repair *repair, size_t weight)
{
	struct weights *w = arg;

	(void)repair;
	w->repairs++;
	w->heaviest = weight > w->heaviest ? weight : w->heaviest;
}

/* Every other job is in a place of its own. */
static void a_long_list_is_put_in_order_a_node_at_a_time(void)
{
	struct weights w = { 0 };

	state = 1;
	put_many();
	for (unsigned i = 0; i < MANY; i += 2)
		job_find(q, name("j", i))->node.score = draw(1000000);
	TEST_ASSERT_TRUE(qless_find_repairs(q, 2000, weigh, &w));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
	TEST_ASSERT_UINT_WITHIN(MANY / 100, MANY / 2, w.repairs);
	TEST_ASSERT_EQUAL_size_t(1, w.heaviest);
}

static void a_node_that_is_in_order_stays_in_its_place(void)
{
	const struct qless_repair first = {
		.kind = QLESS_REPAIR_MOVE_FIRST, .what = 8, .name = STR("q"), .member = STR("j100")
	};

	put_many();
	TEST_ASSERT_EQUAL_size_t(0, qless_repair(q, 2000, &first, 1));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
}

static void a_long_list_with_damaged_links_prevents_repairs(void)
{
	struct weights w = { 0 };

	put_many();
	job_find(q, STR("j7"))->flags |= JOB_CHOSEN;
	job_find(q, STR("j100"))->node.prev = NULL;
	TEST_ASSERT_FALSE(qless_find_repairs(q, 2000, weigh, &w));
	TEST_ASSERT_EQUAL_size_t(0, w.repairs);
	TEST_ASSERT_GREATER_THAN_size_t(1, qless_check(q, NULL, NULL));
}

static void a_short_list_with_damaged_links_is_linked_anew(void)
{
	build_state(1);
	job_find(q, STR("j7"))->node.linked = false;
	q->completed.last = NULL;
	TEST_ASSERT_GREATER_THAN_size_t(1, qless_check(q, NULL, NULL));
	repair_in_portions(q, NULL);
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
}

/* ---- portions ---- */

static void portions_are_as_heavy_as_one_part_of_the_work_may_be(void)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct operation_room room = { 0 };
	struct buf error = BUF_INIT(4096);
	struct operation op;
	struct portions p;
	struct qless_str left;
	size_t operations = 0, repairs = 0;

	portions_begin(&p, &bytes);
	for (size_t i = 0; i < PORTION_REPAIRS_MAX + 10; i++)
		portions_add(&p,
			     &(struct qless_repair){ .kind = QLESS_REPAIR_JOB,
						     .member = name("j", (unsigned)i) },
			     i == 5 ? PORTION_WEIGHT_MAX * 2 : 1);
	portions_end(&p);
	for (left = buf_str(&bytes); left.len != 0; operations++) {
		TEST_ASSERT_EQUAL_INT(0, operation_decode(&left, &room, &op, &error));
		TEST_ASSERT_EQUAL_INT(OPERATION_REPAIR, op.kind);
		TEST_ASSERT_LESS_OR_EQUAL_size_t(PORTION_WEIGHT_MAX, op.repair.count);
		if (repairs == 5)
			TEST_ASSERT_EQUAL_size_t(1, op.repair.count);
		for (size_t i = 0; i < op.repair.count; i++, repairs++)
			TEST_ASSERT_TRUE(
				str_equal(name("j", (unsigned)repairs), op.repair.items[i].member));
	}
	TEST_ASSERT_EQUAL_size_t(PORTION_REPAIRS_MAX, repairs);
	operation_room_done(&room);
	buf_done(&bytes);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(portions_lead_to_the_same_state_as_one_piece);
	RUN(a_replay_repairs_the_same_damage_and_leaves_a_sound_state_alone);
	RUN(the_state_may_change_while_it_is_repaired);
	RUN(repairs_that_were_not_aimed_never_damage_a_sound_state);
	RUN(a_node_that_is_in_order_stays_in_its_place);
	RUN(a_long_list_is_put_in_order_a_node_at_a_time);
	RUN(a_long_list_with_damaged_links_prevents_repairs);
	RUN(a_short_list_with_damaged_links_is_linked_anew);
	RUN(portions_are_as_heavy_as_one_part_of_the_work_may_be);
	return UNIT_RESULT();
}
