/*
 * Verifying the state: the invariants that hold between two calls.
 */
#include "engine/check.h"

#include <math.h>
#include <stdlib.h>

#include "engine/carried.h"
#include "engine/depends.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/fail.h"
#include "engine/failed_history.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/lists.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/refs.h"
#include "engine/retain.h"
#include "engine/run.h"
#include "engine/runtime.h"
#include "engine/settings.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/unique.h"
#include "engine/worker.h"
#include "util/container.h"
#include "util/json.h"
#include "util/mem.h"

struct check {
	const struct qless *q;
	void (*report)(void *arg, struct qless_str finding);
	void *arg;
	size_t findings;
	struct buf text;
	struct refs refs;
	/* The jobs in all lists, to be compared with the number of jobs. */
	uint64_t listed;
};

/* Report a finding about a thing by name: `what "name" sentence`. */
static void find(struct check *c, const char *what, struct qless_str name, const char *sentence)
{
	c->findings++;
	if (c->report == NULL)
		return;
	buf_clear(&c->text);
	buf_append_str(&c->text, str_from(what));
	buf_append_char(&c->text, ' ');
	json_append_string(&c->text, name);
	buf_append_char(&c->text, ' ');
	buf_append_str(&c->text, str_from(sentence));
	c->report(c->arg, buf_str(&c->text));
}

static void expect(struct check *c, bool holds, const char *what, struct qless_str name,
		   const char *sentence)
{
	if (!holds)
		find(c, what, name, sentence);
}

/* Check that a list is in order, has no duplicates, has the length that it says, and is linked in
 * both directions. */
static void check_list(struct check *c, const struct skiplist *list, const char *what,
		       struct qless_str name)
{
	const struct skipnode *prev = NULL;
	const struct skipnode *node;
	uint32_t count = 0;

	for (node = skiplist_first(list); node != NULL; node = skiplist_next(node)) {
		count++;
		expect(c, node->linked, what, name, "has a node that is not marked as linked");
		expect(c, skiplist_prev(node) == prev, what, name, "has a wrong link backwards");
		expect(c, !isnan(node->score), what, name, "has a score that is not a number");
		if (prev != NULL && (prev->score > node->score ||
				     (prev->score == node->score &&
				      str_compare(list->member(prev), list->member(node)) >= 0)))
			find(c, what, name, "is out of order");
		prev = node;
	}
	expect(c, skiplist_last(list) == prev, what, name, "has a wrong last node");
	expect(c, skiplist_count(list) == count, what, name, "has a wrong length");
}

bool check_is_in(const struct skiplist *list, const struct skipnode *node)
{
	return node->linked && skiplist_find(list, node->score, list->member(node)) == node;
}

bool check_is_ordered(const struct skiplist *list)
{
	struct check c = { .q = NULL };

	check_list(&c, list, "", STR(""));
	return c.findings == 0;
}

/* ---- jobs ---- */

static void check_state(struct check *c, const struct qless_job *job)
{
	struct qless_str jid = job_jid(job);
	bool is_complete = job->state == QLESS_COMPLETE;
	bool is_over = is_complete || job->state == QLESS_FAILED;
	double score = job->node.score;

	expect(c, (job->queue == NULL) == is_complete, "job", jid,
	       "is complete but in a queue, or not complete and in none");
	if (job->state == QLESS_FAILED &&
	    (job_extra(job) == NULL || job_extra(job)->failure == NULL ||
	     job_extra(job)->failure->group->user == NULL)) {
		find(c, "job", jid, "has failed but has no failure");
		return;
	}
	expect(c, !(job->flags & JOB_CARRIES) || !job_carries_nothing(job), "job", jid,
	       "has room for terms but carries nothing");
	if (job->queue == NULL && !is_complete)
		return;
	expect(c, runtime_is_sound(c->q, job), "job", jid,
	       "has a runtime that does not fit its run");
	expect(c, check_is_in(job_list(c->q, job), &job->node), "job", jid,
	       "is missing from the list of its state");
	expect(c, job->state != QLESS_RUNNING || job->worker != NULL, "job", jid,
	       "is running without a worker");
	expect(c, !is_over || job->worker == NULL, "job", jid, "has ended but has a worker");
	expect(c, !is_over || job->expires == 0, "job", jid, "has ended but has a lock");
	expect(c, job->state != QLESS_RUNNING || job->flags & JOB_GRACE || score == job->expires,
	       "job", jid, "has a lock whose expiry is wrong");
	expect(c, !is_complete || score == job->time, "job", jid,
	       "has a completion time that differs from its score");
	expect(c, job->state == QLESS_RUNNING || !(job->flags & JOB_GRACE), "job", jid,
	       "has a grace period without a lock");
	expect(c,
	       job->state != QLESS_STALLED || job->queue->name->len == 0 || isfinite(score) ||
		       score > 0,
	       "job", jid, "timed out but is not the first waiting job");
	expect(c,
	       isfinite(job->priority) && isfinite(job->retries) && isfinite(job->remaining) &&
		       isfinite(job->time) && isfinite(job->expires),
	       "job", jid, "has a number that is not finite");
	expect(c, !(job->flags & JOB_CHOSEN), "job", jid, "was left marked by a call");
	expect(c, ((job->flags & JOB_TRACKED) != 0) == (tracked_find(c->q, jid) != NULL), "job",
	       jid, "has a wrong flag for being tracked");
}

static void check_history(struct check *c, const struct qless_job *job)
{
	struct qless_event event;
	size_t cursor = 0;
	uint32_t count = 0;

	while (history_next(&job->history, &cursor, &event))
		count++;
	expect(c, cursor == job->history.len && count == job->history.count, "job", job_jid(job),
	       "has a history whose length is wrong");
	expect(c, count > 0, "job", job_jid(job), "has no history");
}

/* Check that each tagging of the job is in the list of its tag, and counts its occurrences in the
 * list of the job. */
static void check_tags_of(struct check *c, const struct qless_job *job)
{
	const struct tag_list *list = job_extra(job)->tags;
	uint32_t i;

	if (list == NULL)
		return;
	for (i = 0; i < list->count; i++) {
		const struct tagging *tagging = list->items[i];

		expect(c,
		       tagging->job == job && tagging->node.aux == refs_count(&c->refs, tagging) &&
			       check_is_in(&tagging->tag->jobs, &tagging->node),
		       "job", job_jid(job), "has a tag that does not list it");
	}
	expect(c, list->count > 0, "job", job_jid(job), "has an empty list of tags");
}

static void check_edges(struct check *c, const struct qless_job *job, const struct skiplist *list,
			bool are_dependencies)
{
	const struct skipnode *node;

	if (list == NULL)
		return;
	check_list(c, list, "list of dependencies of job", job_jid(job));
	expect(c, skiplist_count(list) > 0, "job", job_jid(job),
	       "has an empty list of dependencies");
	for (node = skiplist_first(list); node != NULL; node = skiplist_next(node)) {
		const struct edge *edge = container_of(node, const struct edge, node);
		const struct qless_job *other = edge->job;

		if (job_find(c->q, job_jid(other)) != other || job_extra(other) == NULL) {
			find(c, "job", job_jid(job), "has a dependency with a job that is gone");
			continue;
		}
		list = are_dependencies ? job_extra(other)->dependents
					: job_extra(other)->dependencies;
		expect(c,
		       edge->twin->twin == edge && edge->twin->job == job && list != NULL &&
			       check_is_in(list, &edge->twin->node),
		       "job", job_jid(job), "has a dependency without a twin");
		expect(c, other->state != QLESS_COMPLETE, "job", job_jid(job),
		       "has a dependency with a completed job");
		expect(c, edge->node.aux == 0, "job", job_jid(job),
		       "has a dependency that a call left marked");
	}
}

static void check_job(struct check *c, const struct qless_job *job)
{
	const struct job_extra *extra = job_extra(job);

	expect(c, job_find(c->q, job_jid(job)) == job, "job", job_jid(job),
	       "is missing from the table of jobs");
	check_state(c, job);
	check_history(c, job);
	expect(c, (job->state == QLESS_DEPENDS) == depends_is_open(job), "job", job_jid(job),
	       "is in the state depends without dependencies, or the other way round");
	expect(c, job->state == QLESS_DEPENDS || isnan(job_due(job)), "job", job_jid(job),
	       "remembers a due time but does not depend on others");
	if (extra == NULL)
		return;
	check_tags_of(c, job);
	check_edges(c, job, extra->dependencies, true);
	check_edges(c, job, extra->dependents, false);
}

static void check_jobs(struct check *c)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &c->q->jobs)
		check_job(c, container_of(node, struct qless_job, hash));
	check_list(c, &c->q->completed, "list of", STR("completed jobs"));
	c->listed += skiplist_count(&c->q->completed);
	expect(c, c->listed == hash_count(&c->q->jobs), "list of", STR("jobs"),
	       "does not match the lists that they are in");
}

/* ---- what jobs hang on ---- */

static void check_series(struct check *c, const struct queue *queue, const struct series *series)
{
	uint32_t i;

	expect(c, stats_is_series(series), "queue", queue_name(queue),
	       "has statistics that are impossible for durations");
	/* The histogram may have been dropped or started again. */
	expect(c, stats_sum(series) <= series->count, "queue", queue_name(queue),
	       "has a histogram with more entries than its count");
	for (i = 1; i < series->bucket_count; i++)
		expect(c,
		       series->buckets[i - 1].unit < series->buckets[i].unit ||
			       (series->buckets[i - 1].unit == series->buckets[i].unit &&
				series->buckets[i - 1].value < series->buckets[i].value),
		       "queue", queue_name(queue), "has a histogram that is out of order");
}

static void check_days(struct check *c, const struct queue *queue)
{
	uint32_t i;

	for (i = 0; i < queue->day_count; i++) {
		const struct stats_day *day = &queue->days[i];

		expect(c, day->day == stats_day_start(day->day), "queue", queue_name(queue),
		       "has statistics of a day that does not begin at midnight");
		expect(c, i == 0 || queue->days[i - 1].day < day->day, "queue", queue_name(queue),
		       "has statistics that are out of order");
		check_series(c, queue, &day->wait);
		check_series(c, queue, &day->run);
		expect(c, day->counters[COUNTER_FAILED] <= day->counters[COUNTER_FAILURES], "queue",
		       queue_name(queue), "has more failed jobs than failures");
	}
}

/* Check what wakes the queue. Its key may be lower than the next due time, and higher than a time
 * that qless_take_due() has reported. */
static void check_due(struct check *c, const struct queue *queue)
{
	const struct qless *q = c->q;
	double due = queue_next_due_after(queue, q->due_taken);
	bool is_listed = queue->prev_woken != NULL || q->first_woken == queue;

	expect(c, !heap_has(&queue->due) || q->due.nodes[queue->due.place] == &queue->due, "queue",
	       queue_name(queue), "is missing from the heap of due times");
	expect(c, queue->paused || queue->due.key <= due, "queue", queue_name(queue),
	       "has a due time that is too late");
	expect(c,
	       queue->is_woken == is_listed &&
		       (!is_listed || queue->next_woken != NULL || q->last_woken == queue),
	       "queue", queue_name(queue), "woke but is not listed, or the other way round");
}

/* Check the lists of the queue. Returns the number of jobs in them. */
static uint64_t check_queue_lists(struct check *c, const struct queue *queue)
{
	struct buf what = BUF_INIT(BUF_NO_MAX);
	uint64_t listed = 0;

	for (int i = 0; i < QUEUE_ALL_LISTS; i++) {
		buf_clear(&what);
		buf_append_str(&what, str_from(queue_lists[i].what));
		buf_append_str(&what, STR(" of queue"));
		buf_append_char(&what, '\0');
		check_list(c, &queue->lists[i], buf_data(&what), queue_name(queue));
		if (queue_list_has_jobs((enum queue_list)i))
			listed += skiplist_count(&queue->lists[i]);
	}
	buf_done(&what);
	return listed;
}

static void check_queue(struct check *c, const struct queue *queue)
{
	struct qless_str name = queue_name(queue);
	uint64_t listed = check_queue_lists(c, queue);

	check_days(c, queue);
	check_due(c, queue);
	c->listed += listed;
	expect(c, refs_count(&c->refs, queue) == queue->job_count && listed <= queue->job_count,
	       "queue", name, "has a wrong number of jobs");
	expect(c, !queue->node.linked || check_is_in(&c->q->queues, &queue->node), "queue", name,
	       "is missing from the list of known queues");
	expect(c,
	       queue->index < c->q->all_queues.count &&
		       c->q->all_queues.items[queue->index] == queue,
	       "queue", name, "is missing from the list of all queues");
	expect(c,
	       queue->job_count > 0 || skiplist_count(&queue->recurring) > 0 || queue->paused ||
		       queue->node.linked || queue->day_count > 0,
	       "queue", name, "should have been freed");
	expect(c,
	       same_option(queue->heartbeat,
			   settings_queue_number(c->q, name, STR("-heartbeat"))) &&
		       same_option(queue->max_concurrency,
				   settings_queue_number(c->q, name, STR("-max-concurrency"))),
	       "queue", name, "does not match its options");
	expect(c, queue->runtime == settings_runtime(c->q, name), "queue", name,
	       "has another runtime than its option");
	expect(c, queue->start_timeout == settings_start_timeout(c->q, name), "queue", name,
	       "has another time to start jobs than its option");
	expect(c, same_option(queue->retain, settings_retain(c->q, name)), "queue", name,
	       "has another time to retain jobs than its option");
	expect(c, (queue->fair != NULL) == settings_is_fair(c->q, name), "queue", name,
	       "has another order than its option");
}

static void check_worker(struct check *c, const struct worker *worker)
{
	struct qless_str name = intern_str(worker->name);
	const struct skipnode *node;
	uint32_t i;

	check_list(c, &worker->by_expiry, "jobs of worker", name);
	expect(c, hash_count(&worker->held) == skiplist_count(&worker->by_expiry), "worker", name,
	       "holds jobs that its table lacks");
	for (node = skiplist_first(&worker->by_expiry); node != NULL; node = skiplist_next(node)) {
		const struct qless_job *job = job_find(c->q, worker->by_expiry.member(node));

		expect(c,
		       hash_find(&worker->held, worker->by_expiry.member(node)) ==
			       &container_of(node, const struct holding, node)->hash,
		       "worker", name, "holds a job that its table lacks");
		expect(c,
		       job == NULL || job->state != QLESS_RUNNING || job->worker != worker->name ||
			       node->score == job->expires,
		       "worker", name, "has a lock whose expiry is wrong");
	}
	expect(c, !worker->node.linked || check_is_in(&c->q->workers, &worker->node), "worker",
	       name, "is missing from the list of known workers");
	for (i = 0; i < worker->day_count; i++)
		expect(c,
		       worker->days[i].day == stats_day_start(worker->days[i].day) &&
			       (i == 0 || worker->days[i - 1].day < worker->days[i].day),
		       "worker", name, "has days that are out of order");
	expect(c,
	       worker->node.linked || skiplist_count(&worker->by_expiry) > 0 ||
		       worker->day_count > 0,
	       "worker", name, "should have been freed");
}

static void check_group(struct check *c, const struct group *group)
{
	const struct skipnode *node;

	check_list(c, &group->jobs, "jobs of group", intern_str(group->name));
	expect(c, skiplist_count(&group->jobs) > 0, "group", intern_str(group->name),
	       "should have been freed");
	for (node = skiplist_first(&group->jobs); node != NULL; node = skiplist_next(node)) {
		expect(c, node->score <= c->q->failure_number, "group", intern_str(group->name),
		       "has a failure with a number above the last one");
		expect(c, failed_history_finds(c->q, group, job_from_node(node)), "group",
		       intern_str(group->name), "has a job that the sweep passes over");
	}
	c->listed += skiplist_count(&group->jobs);
}

static void check_tag(struct check *c, const struct tag *tag)
{
	struct qless_str name = intern_str(tag->name);

	check_list(c, &tag->jobs, "jobs of tag", name);
	expect(c, tag->mine == NULL, "tag", name, "was left marked by a call");
	expect(c, skiplist_count(&tag->jobs) > 0, "tag", name, "should have been freed");
	expect(c,
	       check_is_in(&c->q->tags, &tag->node) &&
		       tag->node.score == skiplist_count(&tag->jobs),
	       "tag", name, "has a wrong counter");
}

/* Check every object of a table, and that its name leads back to the object. */
#define CHECK_EACH(c, table, type, check_one)                                          \
	do {                                                                           \
		struct hash_iter it_;                                                  \
		struct hash_node *node_;                                               \
                                                                                       \
		HASH_FOREACH(node_, &it_, &(table)->hash) {                            \
			const struct intern *name_ = intern_from_node(node_);          \
			const type *object_ = name_->user;                             \
                                                                                       \
			if (object_ == NULL)                                           \
				continue;                                              \
			expect((c), object_->name == name_, "name", intern_str(name_), \
			       "leads to an object with another name");                \
			check_one((c), object_);                                       \
		}                                                                      \
	} while (0)

/* Check that each name counts its references. */
static void check_names(struct check *c, const struct intern_table *table, const char *what)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &table->hash) {
		const struct intern *name = intern_from_node(node);

		expect(c, name->node.aux == refs_count(&c->refs, name), what, intern_str(name),
		       "has a wrong reference count");
	}
}

static void check_recurs(struct check *c)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &c->q->recurs) {
		const struct qless_recur *recur = container_of(node, struct qless_recur, hash);

		expect(c, check_is_in(&recur->queue->recurring, &recur->node), "recurring job",
		       recur_jid(recur), "is missing from the list of its queue");
		expect(c,
		       recur->schedule != NULL ? recur->interval == 0
					       : recur->interval > 0 && isfinite(recur->interval),
		       "recurring job", recur_jid(recur), "has an invalid interval");
		expect(c,
		       recur->schedule == NULL || !recur->node.linked ||
			       recur->schedule->tick.key == recur->node.score,
		       "recurring job", recur_jid(recur), "has its next tick at two times");
	}
}

static void check_tracked(struct check *c)
{
	struct hash_iter it;
	struct hash_node *node;

	check_list(c, &c->q->tracks, "list of", STR("tracked jobs"));
	expect(c, hash_count(&c->q->tracked) == skiplist_count(&c->q->tracks), "list of",
	       STR("tracked jobs"), "and the table of tracked jids differ");
	HASH_FOREACH(node, &it, &c->q->tracked) {
		const struct tracked *tracked = container_of(node, struct tracked, hash);

		expect(c, check_is_in(&c->q->tracks, &tracked->node), "tracked job",
		       tracked_jid(tracked), "is missing from the list of tracked jobs");
	}
}

static void check_tallies(struct check *c)
{
	const struct qless *q = c->q;
	struct tallies t;

	refs_tally(q, &t);
	expect(c, q->depending_count == t.depending, "number of", STR("jobs with dependencies"),
	       "is wrong");
	expect(c, q->depended_count == t.depended, "number of", STR("jobs with dependents"),
	       "is wrong");
	expect(c, q->busy_count == t.busy, "number of", STR("workers with jobs"), "is wrong");
	expect(c, q->group_count == t.groups, "number of", STR("groups"), "is wrong");
	expect(c, failed_history_is_sound(q), "heap of", STR("failed jobs"),
	       "does not match the groups");
	expect(c, q->all_queues.count == t.queues, "number of", STR("queues"), "is wrong");
	expect(c, q->paused_count == t.paused, "number of", STR("paused queues"), "is wrong");
}

/* Check what follows from the limits that jobs name. */
static void check_limits(struct check *c)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &c->q->limit_sets) {
		const struct limit_set *set = container_of(node, const struct limit_set, hash);

		expect(c, set->refs == refs_count(&c->refs, set), "set of limits that begins with",
		       intern_str(set->limits[0]->name), "has a wrong reference count");
	}
	expect(c, limits_are_sound(c->q), "slots and lanes of", STR("jobs with limits"),
	       "do not match the jobs");
}

size_t qless_check(const struct qless *q, void (*report)(void *arg, struct qless_str finding),
		   void *arg)
{
	struct check c = { .q = q, .report = report, .arg = arg };

	buf_init(&c.text, BUF_NO_MAX);
	refs_init(&c.refs, q);
	check_names(&c, &q->queue_names, "queue");
	check_names(&c, &q->worker_names, "worker");
	check_names(&c, &q->group_names, "group");
	check_names(&c, &q->tag_names, "tag");
	check_names(&c, &q->names, "class or jid");
	CHECK_EACH(&c, &q->queue_names, struct queue, check_queue);
	CHECK_EACH(&c, &q->worker_names, struct worker, check_worker);
	CHECK_EACH(&c, &q->group_names, struct group, check_group);
	CHECK_EACH(&c, &q->tag_names, struct tag, check_tag);
	check_list(&c, &q->queues, "list of", STR("queues"));
	check_list(&c, &q->workers, "list of", STR("workers"));
	check_list(&c, &q->tags, "list of", STR("tags"));
	check_jobs(&c);
	check_recurs(&c);
	check_tracked(&c);
	check_limits(&c);
	expect(&c, unique_is_sound(q), "table of", STR("unique keys"), "does not match the jobs");
	expect(&c, retain_is_sound(q), "indexes of", STR("retained jobs"), "do not match the jobs");
	check_tallies(&c);
	expect(&c, heap_is_ordered(&q->ticks), "heap of", STR("ticks"), "is out of order");
	expect(&c, heap_is_ordered(&q->due), "heap of", STR("queues by due time"),
	       "is out of order");
	refs_done(&c.refs);
	buf_done(&c.text);
	return c.findings;
}
