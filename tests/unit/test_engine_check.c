/*
 * Verification and repair of states that were damaged on purpose. Only this test reaches into the
 * engine.
 */
#include "unit.h"

#include <stdlib.h>

#include "engine/check.h"
#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/run.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/worker.h"
#include "portions.h"

static struct qless *q;
static struct buf findings;

/* A job in each state, named after the state, and one of every other object. */
static void put(const char *jid, double delay, const char *depends)
{
	const struct qless_str on = str_from(depends != NULL ? depends : "");
	const struct qless_str tags[] = { STR("t"), STR("u"), STR("t") };
	struct qless_put put = { .worker = STR("w"),
				 .queue = STR("q"),
				 .jid = str_from(jid),
				 .klass = STR("k"),
				 .data = STR("{}"),
				 .delay = delay,
				 .has_tags = true,
				 .tags = tags,
				 .tag_count = 3,
				 .depends = &on,
				 .depend_count = depends != NULL };

	TEST_ASSERT_EQUAL_INT(0, qless_put(q, 1000, &put));
}

static void pop(const char *jid, const char *depends)
{
	struct qless_jobs jobs;

	put(jid, 0, depends);
	TEST_ASSERT_EQUAL_INT(0, qless_pop(q, 1001, STR("q"), STR("w"), 1, &jobs));
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
}

static void complete(const char *jid)
{
	struct qless_complete complete = {
		.jid = str_from(jid), .worker = STR("w"), .queue = STR("q"), .data = STR("{}")
	};
	enum qless_state state;

	TEST_ASSERT_EQUAL_INT(0, qless_complete(q, 1002, &complete, &state));
}

void setUp(void)
{
	struct qless_recur_put recur = { .queue = STR("q"),
					 .jid = STR("recurring"),
					 .klass = STR("k"),
					 .data = STR("{}"),
					 .interval = 60,
					 .offset = 60 };
	bool is_new;

	q = qless_new(NULL);
	findings = (struct buf)BUF_INIT(BUF_NO_MAX);
	pop("complete", NULL);
	complete("complete");
	pop("complete2", NULL);
	complete("complete2");
	pop("failed", NULL);
	TEST_ASSERT_EQUAL_INT(
		0, qless_fail(q, 1002, STR("failed"), STR("w"), STR("g"), STR("m"), NULL));
	pop("running", NULL);
	put("waiting", 0, NULL);
	put("waiting2", 0, NULL);
	put("scheduled", 60, NULL);
	put("depends", 0, "waiting");
	TEST_ASSERT_EQUAL_INT(0, qless_recur(q, 1000, &recur));
	TEST_ASSERT_EQUAL_INT(0, qless_track(q, 1000, STR("waiting"), &is_new));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
}

void tearDown(void)
{
	qless_free(q);
	buf_done(&findings);
}

static struct qless_job *job(const char *jid)
{
	struct qless_job *found = job_find(q, str_from(jid));

	TEST_ASSERT_NOT_NULL(found);
	return found;
}

static void add_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	buf_append_str(&findings, finding);
	buf_append_char(&findings, '\n');
}

static void assert_found(const char *expected)
{
	buf_clear(&findings);
	qless_check(q, add_finding, NULL);
	if (strstr(buf_cstr(&findings), expected) == NULL)
		TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&findings));
}

static void resolve_in_child(struct qless *copy, struct buf *ret)
{
	repair_in_portions(copy, NULL);
	describe_state(copy, ret);
}

/* Resolve the state in one piece. Assert that portions lead to the same state. */
static size_t resolve(void)
{
	struct buf portions = BUF_INIT(BUF_NO_MAX), piece = BUF_INIT(BUF_NO_MAX);
	size_t repairs;

	run_in_child(q, resolve_in_child, &portions);
	repairs = qless_resolve(q, 2000);
	describe_state(q, &piece);
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&piece), buf_cstr(&portions));
	buf_done(&portions);
	buf_done(&piece);
	return repairs;
}

/* Assert that the damage is found and repaired completely. */
static void assert_repaired(const char *expected)
{
	uint64_t changes = qless_changes(q);

	assert_found(expected);
	TEST_ASSERT_GREATER_THAN(0, resolve());
	TEST_ASSERT_GREATER_THAN(changes, qless_changes(q));
	buf_clear(&findings);
	qless_check(q, add_finding, NULL);
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&findings));
	TEST_ASSERT_EQUAL_size_t(0, qless_resolve(q, 2000));
}

static void assert_left(const char *expected)
{
	assert_found(expected);
	resolve();
	assert_found(expected);
}

static void a_sound_state_needs_no_repair(void)
{
	uint64_t changes = qless_changes(q);

	TEST_ASSERT_EQUAL_size_t(0, qless_resolve(q, 2000));
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
}

static void a_job_in_no_list_enters_the_list_of_its_state(void)
{
	static const char *const jids[] = { "complete", "failed",    "running",
					    "waiting",	"scheduled", "depends" };

	for (size_t i = 0; i < sizeof jids / sizeof *jids; i++) {
		struct qless_job *lost = job(jids[i]);

		skiplist_remove(job_list(q, lost), &lost->node);
		assert_repaired("is missing from the list of its state");
	}
}

static void a_job_in_a_list_of_another_state_moves(void)
{
	job("waiting")->state = QLESS_SCHEDULED;
	assert_repaired("job \"waiting\" is missing from the list of its state");
	TEST_ASSERT_TRUE(check_is_in(&queue_find(q, STR("q"))->scheduled, &job("waiting")->node));
}

static void a_stalled_job_is_first_again(void)
{
	struct qless_job *stalled = job("waiting2");

	skiplist_remove(job_list(q, stalled), &stalled->node);
	stalled->state = QLESS_STALLED;
	assert_repaired("job \"waiting2\" is missing from the list of its state");
	TEST_ASSERT_TRUE(isinf(stalled->node.score));
}

static void a_node_that_is_marked_as_linked_by_mistake_enters_its_list(void)
{
	struct qless_job *lost = job("waiting");

	skiplist_remove(job_list(q, lost), &lost->node);
	lost->node.linked = true;
	assert_repaired("job \"waiting\" is missing from the list of its state");
}

static void a_list_out_of_order_is_sorted(void)
{
	job("waiting")->node.score = 1000;
	job("waiting2")->node.score = -1000;
	assert_repaired("waiting jobs of queue \"q\" is out of order");
}

static void a_job_missing_from_the_table_is_inserted(void)
{
	struct qless_job *lost = job("waiting");

	hash_remove(&q->jobs, &lost->hash);
	assert_repaired("list of \"jobs\" does not match the lists that they are in");
	TEST_ASSERT_EQUAL_PTR(lost, job("waiting"));
}

static void completed_jobs_are_ordered_by_their_completion(void)
{
	skiplist_rescore(&q->completed, &job("complete")->node, 5);
	assert_repaired("job \"complete\" has a completion time that differs from its score");
}

static void a_lock_expires_when_its_job_says(void)
{
	skiplist_rescore(&queue_find(q, STR("q"))->locks, &job("running")->node, 5);
	assert_repaired("job \"running\" has a lock whose expiry is wrong");
}

static void marks_that_calls_left_are_removed(void)
{
	job("waiting")->flags |= JOB_CHOSEN;
	assert_repaired("job \"waiting\" was left marked by a call");
	tag_find(q, STR("t"))->mine = job_extra(job("waiting"))->tags->items[0];
	assert_repaired("tag \"t\" was left marked by a call");
	skiplist_first(job_extra(job("depends"))->dependencies)->aux = 1;
	assert_repaired("job \"depends\" has a dependency that a call left marked");
}

static void members_that_do_not_fit_the_state_are_cleared(void)
{
	job("waiting")->flags |= JOB_GRACE;
	assert_repaired("job \"waiting\" has a grace period without a lock");
	job_set_due(job("waiting"), 5);
	assert_repaired("job \"waiting\" remembers a due time but does not depend on others");
	job("complete")->expires = 5;
	assert_repaired("job \"complete\" has ended but has a lock");
	job_set_worker(q, job("failed"), job("running")->worker);
	assert_repaired("job \"failed\" has ended but has a worker");
}

static void a_job_knows_that_it_is_tracked(void)
{
	job("waiting")->flags &= (uint8_t)~JOB_TRACKED;
	job("waiting2")->flags |= JOB_TRACKED;
	assert_repaired("job \"waiting\" has a wrong flag for being tracked");
	TEST_ASSERT_FALSE(job("waiting2")->flags & JOB_TRACKED);
}

static void tracked_jobs_are_listed_and_found(void)
{
	struct tracked *tracked = tracked_find(q, STR("waiting"));

	skiplist_remove(&q->tracks, &tracked->node);
	assert_repaired("tracked job \"waiting\" is missing from the list of tracked jobs");
	hash_remove(&q->tracked, &tracked->hash);
	assert_repaired("list of \"tracked jobs\" and the table of tracked jids differ");
}

static void a_dependency_lists_the_job_that_waits_for_it(void)
{
	struct qless_job *on = job("waiting");

	skiplist_remove(job_extra(on)->dependents, skiplist_first(job_extra(on)->dependents));
	assert_repaired("job \"depends\" has a dependency without a twin");
	TEST_ASSERT_EQUAL_INT(QLESS_DEPENDS, job("depends")->state);
}

static void a_job_in_depends_without_dependencies_is_released(void)
{
	struct qless_job *depends = job("depends");

	skiplist_remove(job_extra(depends)->dependencies,
			skiplist_first(job_extra(depends)->dependencies));
	assert_repaired("job \"waiting\" has a dependency without a twin");
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, job("depends")->state);
}

static void nothing_waits_for_a_completed_job(void)
{
	struct qless_job *done = job("waiting");

	job_leave(q, done);
	job_set_queue(q, done, NULL);
	done->state = QLESS_COMPLETE;
	skiplist_insert(&q->completed, &done->node, done->time);
	assert_repaired("job \"depends\" has a dependency with a completed job");
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, job("depends")->state);
}

static void a_waiting_job_with_dependencies_is_left(void)
{
	struct qless_job *depends = job("depends");

	job_leave(q, depends);
	job_place_as(q, depends, QLESS_WAITING, job_work_score(depends, 1000));
	assert_left("job \"depends\" is in the state depends without dependencies, or the other "
		    "way round");
}

static void counters_of_tags_are_exact(void)
{
	skiplist_rescore(&q->tags, &tag_find(q, STR("t"))->node, 99);
	assert_repaired("tag \"t\" has a wrong counter");
}

static void a_tag_has_the_jobs_that_have_it(void)
{
	struct tag_list *tags = job_extra(job("waiting"))->tags;
	struct tagging *tagging = tags->items[1];

	skiplist_remove(&tagging->tag->jobs, &tagging->node);
	assert_repaired("job \"waiting\" has a tag that does not list it");
	tags->items[0]->node.aux = 1;
	assert_repaired("job \"waiting\" has a tag that does not list it");
	/* "u", which the job no longer has. */
	tags->items[1] = tags->items[0];
	assert_repaired("job \"waiting\" has a tag that does not list it");
}

static void a_worker_finds_what_it_holds(void)
{
	struct worker *worker = worker_find(q, STR("w"));
	struct hash_node *held = hash_find(&worker->held, STR("running"));
	struct holding *holding = container_of(held, struct holding, hash);

	hash_remove(&worker->held, held);
	assert_repaired("worker \"w\" holds jobs that its table lacks");
	skiplist_remove(&worker->by_expiry, &holding->node);
	assert_repaired("worker \"w\" holds jobs that its table lacks");
	skiplist_rescore(&worker->by_expiry, &holding->node, 5);
	assert_repaired("worker \"w\" has a lock whose expiry is wrong");
}

static void recurring_jobs_are_in_their_queue(void)
{
	struct qless_recur *recur =
		(struct qless_recur *)(uintptr_t)qless_recur_get(q, STR("recurring"));

	skiplist_remove(&recur->queue->recurring, &recur->node);
	assert_repaired("recurring job \"recurring\" is missing from the list of its queue");
	TEST_ASSERT_TRUE(recur->node.score == 1060);
}

static void a_queue_knows_how_many_jobs_it_has(void)
{
	queue_find(q, STR("q"))->job_count = 3;
	assert_repaired("queue \"q\" has a wrong number of jobs");
}

static void a_queue_follows_its_options(void)
{
	queue_find(q, STR("q"))->heartbeat = 5;
	assert_repaired("queue \"q\" does not match its options");
}

static void names_count_their_references(void)
{
	job("waiting")->klass->node.aux += 2;
	assert_repaired("class or jid \"k\" has a wrong reference count");
	queue_find(q, STR("q"))->name->node.aux = 1;
	assert_repaired("queue \"q\" has a wrong reference count");
	intern_get(&q->worker_names, STR("nobody"));
	assert_repaired("worker \"nobody\" has a wrong reference count");
	TEST_ASSERT_NULL(intern_find(&q->worker_names, STR("nobody")));
}

static void counters_of_the_engine_are_exact(void)
{
	q->depending_count++;
	assert_repaired("number of \"jobs with dependencies\" is wrong");
	q->depended_count = 0;
	assert_repaired("number of \"jobs with dependents\" is wrong");
	q->busy_count += 3;
	assert_repaired("number of \"workers with jobs\" is wrong");
	q->group_count = 0;
	assert_repaired("number of \"groups\" is wrong");
	q->paused_count = 1;
	assert_repaired("number of \"paused queues\" is wrong");
}

static void failures_are_numbered(void)
{
	q->failure_number = 0;
	assert_repaired("group \"g\" has a failure with a number above the last one");
}

static void a_histogram_has_no_more_entries_than_its_count(void)
{
	queue_find(q, STR("q"))->days[0].wait.buckets[0].count += 10;
	assert_repaired("queue \"q\" has a histogram with more entries than its count");
}

static void statistics_that_contradict_each_other_are_left(void)
{
	queue_find(q, STR("q"))->days[0].counters[COUNTER_FAILED] = 7;
	assert_left("queue \"q\" has more failed jobs than failures");
	queue_find(q, STR("q"))->days[0].day += 1;
	assert_left("queue \"q\" has statistics of a day that does not begin at midnight");
	worker_find(q, STR("w"))->days[0].day += 1;
	assert_left("worker \"w\" has days that are out of order");
}

static void damage_without_one_right_answer_is_left(void)
{
	struct qless_job *failed = job("failed");
	struct failure *failure = job_extra(failed)->failure;

	job_set_worker(q, job("running"), NULL);
	assert_left("job \"running\" is running without a worker");
	job("running")->priority = INFINITY;
	assert_left("job \"running\" has a number that is not finite");

	job_extra(failed)->failure = NULL;
	assert_found("job \"failed\" has failed but has no failure");
	job_extra(failed)->failure = failure;

	job("waiting2")->state = QLESS_COMPLETE;
	assert_left("job \"waiting2\" is complete but in a queue, or not complete and in none");
	job("waiting2")->state = QLESS_WAITING;
}

static void several_kinds_of_damage_are_repaired_together(void)
{
	struct qless_job *lost = job("running");

	skiplist_remove(job_list(q, lost), &lost->node);
	queue_find(q, STR("q"))->job_count = 0;
	job("waiting")->node.score = 1000;
	job("waiting2")->node.score = -1000;
	job("waiting2")->flags |= JOB_CHOSEN;
	skiplist_remove(job_extra(job("waiting"))->dependents,
			skiplist_first(job_extra(job("waiting"))->dependents));
	assert_repaired("job \"running\" is missing from the list of its state");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_sound_state_needs_no_repair);
	RUN(a_job_in_no_list_enters_the_list_of_its_state);
	RUN(a_job_in_a_list_of_another_state_moves);
	RUN(a_stalled_job_is_first_again);
	RUN(a_node_that_is_marked_as_linked_by_mistake_enters_its_list);
	RUN(a_list_out_of_order_is_sorted);
	RUN(a_job_missing_from_the_table_is_inserted);
	RUN(completed_jobs_are_ordered_by_their_completion);
	RUN(a_lock_expires_when_its_job_says);
	RUN(marks_that_calls_left_are_removed);
	RUN(members_that_do_not_fit_the_state_are_cleared);
	RUN(a_job_knows_that_it_is_tracked);
	RUN(tracked_jobs_are_listed_and_found);
	RUN(a_dependency_lists_the_job_that_waits_for_it);
	RUN(a_job_in_depends_without_dependencies_is_released);
	RUN(nothing_waits_for_a_completed_job);
	RUN(a_waiting_job_with_dependencies_is_left);
	RUN(counters_of_tags_are_exact);
	RUN(a_tag_has_the_jobs_that_have_it);
	RUN(a_worker_finds_what_it_holds);
	RUN(recurring_jobs_are_in_their_queue);
	RUN(a_queue_knows_how_many_jobs_it_has);
	RUN(a_queue_follows_its_options);
	RUN(names_count_their_references);
	RUN(counters_of_the_engine_are_exact);
	RUN(failures_are_numbered);
	RUN(a_histogram_has_no_more_entries_than_its_count);
	RUN(statistics_that_contradict_each_other_are_left);
	RUN(damage_without_one_right_answer_is_left);
	RUN(several_kinds_of_damage_are_repaired_together);
	return UNIT_RESULT();
}
