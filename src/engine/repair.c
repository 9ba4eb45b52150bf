/*
 * Repairs of named objects, each verified against the state when it is made.
 *
 * A repair is found in a copy of the state (repair_plan.c) and made later, when the state may have
 * changed. So it names objects, finds them again, and does nothing unless the state needs it.
 * Running it twice is running it once. A list is never searched by its order before that is
 * repaired: tables find the nodes, and skiplist_has() tells whether the list has them.
 *
 * A counter cannot be verified without walking the whole state. But calls keep the difference
 * between a counter and what it counts. So a repair of a counter is aimed just before it runs: it
 * says the value that the counter has, and the right one. It does nothing if the counter has
 * another value, which happens if the log is replayed on a state without the defect. A repair that
 * was not aimed, and finds the value that it names, is verified by a walk: logs are not trusted.
 */
#include "engine/repair.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/check.h"
#include "engine/depends.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/fail.h"
#include "engine/failed_history.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/refs.h"
#include "engine/resolve.h"
#include "engine/retain.h"
#include "engine/run.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/unique.h"
#include "engine/worker.h"
#include "util/container.h"

/* Nodes that may have come between the places of a move since it was found; otherwise the node
 * stays where it is. */
#define MOVE_STEPS_MAX 1000

/* ---- finding the objects ---- */

static struct skiplist *find_list(struct qless *q, unsigned list, struct qless_str name)
{
	struct queue *queue;
	struct group *group;
	struct worker *worker;
	struct tag *tag;

	switch (list) {
	case LIST_QUEUES:
		return &q->queues;
	case LIST_WORKERS:
		return &q->workers;
	case LIST_COMPLETED:
		return &q->completed;
	case LIST_TRACKS:
		return &q->tracks;
	case LIST_TAGS:
		return &q->tags;
	case LIST_GROUP:
		group = group_find(q, name);
		return group != NULL ? &group->jobs : NULL;
	case LIST_WORKER:
		worker = worker_find(q, name);
		return worker != NULL ? &worker->by_expiry : NULL;
	case LIST_TAG:
		tag = tag_find(q, name);
		return tag != NULL ? &tag->jobs : NULL;
	default:
		queue = list - LIST_QUEUE < QUEUE_ALL_LISTS ? queue_find(q, name) : NULL;
		return queue != NULL ? &queue->lists[list - LIST_QUEUE] : NULL;
	}
}

static struct qless_recur *find_recur(const struct qless *q, struct qless_str jid)
{
	struct hash_node *node = hash_find(&q->recurs, jid);

	return node != NULL ? container_of(node, struct qless_recur, hash) : NULL;
}

static struct skipnode *find_job_node(const struct qless *q, struct qless_str jid)
{
	struct qless_job *job = job_find(q, jid);

	return job != NULL ? &job->node : NULL;
}

static struct skipnode *find_held_node(const struct qless *q, struct qless_str name,
				       struct qless_str jid)
{
	const struct worker *worker = worker_find(q, name);
	struct holding *holding = worker != NULL ? worker_find_holding(worker, jid) : NULL;

	return holding != NULL ? &holding->node : NULL;
}

static struct skipnode *find_tag_node(const struct qless *q, struct qless_str name,
				      struct qless_str jid)
{
	const struct qless_job *job = job_find(q, jid);
	const struct tag *tag = tag_find(q, name);

	if (job == NULL || tag == NULL)
		return NULL;
	return (struct skipnode *)(uintptr_t)job_find_tag(job, tag);
}

/* The node of a member by the table that finds it; it may be in another list. NULL: none. */
static struct skipnode *find_node(const struct qless *q, const struct qless_repair *r,
				  struct qless_str member)
{
	struct queue *queue;
	struct worker *worker;
	struct tracked *tracked;
	struct tag *tag;
	struct qless_recur *recur;

	switch (r->what) {
	case LIST_QUEUES:
		queue = queue_find(q, member);
		return queue != NULL ? &queue->node : NULL;
	case LIST_WORKERS:
		worker = worker_find(q, member);
		return worker != NULL ? &worker->node : NULL;
	case LIST_TRACKS:
		tracked = tracked_find(q, member);
		return tracked != NULL ? &tracked->node : NULL;
	case LIST_TAGS:
		tag = tag_find(q, member);
		return tag != NULL ? &tag->node : NULL;
	case LIST_WORKER:
		return find_held_node(q, r->name, member);
	case LIST_TAG:
		return find_tag_node(q, r->name, member);
	case LIST_QUEUE + QUEUE_RECUR:
		recur = find_recur(q, member);
		return recur != NULL ? &recur->node : NULL;
	default:
		return find_job_node(q, member);
	}
}

/* ---- the order of lists ---- */

static size_t rebuild(struct qless *q, const struct qless_repair *r)
{
	struct skiplist *list = find_list(q, r->what, r->name);

	return list != NULL ? resolve_sort_list(list) : 0;
}

static double score_of(const struct skipnode *node)
{
	return isnan(node->score) ? 0 : node->score;
}

static bool precedes(const struct skiplist *list, const struct skipnode *a,
		     const struct skipnode *b)
{
	double x = score_of(a), y = score_of(b);

	return x != y ? x < y : str_compare(list->member(a), list->member(b)) < 0;
}

/* Move a node to its place after another node, or to the beginning. */
static size_t move(struct qless *q, const struct qless_repair *r)
{
	struct skiplist *list = find_list(q, r->what, r->name);
	struct skipnode *node = list != NULL ? find_node(q, r, r->member) : NULL;
	struct skipnode *before = NULL, *next;

	if (node == NULL || !skiplist_has(list, node))
		return 0;
	if (r->kind == QLESS_REPAIR_MOVE_AFTER) {
		before = find_node(q, r, r->other);
		if (before == NULL || !skiplist_has(list, before) || !precedes(list, before, node))
			return 0;
	}
	next = before != NULL ? skiplist_next(before) : skiplist_first(list);
	for (int i = 0; next != NULL && next != node && precedes(list, next, node); i++) {
		if (i == MOVE_STEPS_MAX)
			return 0;
		before = next;
		next = skiplist_next(next);
	}
	if (next == node && !isnan(node->score))
		return 0;
	skiplist_remove(list, node);
	skiplist_insert_after(list, node, score_of(node), before);
	return 1;
}

/* ---- tables and lists ---- */

static size_t insert_once(struct hash *table, struct hash_node *node, struct qless_str key)
{
	if (hash_find(table, key) != NULL)
		return 0;
	hash_insert(table, node);
	return 1;
}

/* Find a node that its table does not find: by its place, or in a list out of order by its
 * neighbour. */
static struct skipnode *find_unknown(const struct qless *q, const struct skiplist *list,
				     const struct qless_repair *r)
{
	const struct skipnode *before = find_node(q, r, r->other);
	struct skipnode *node = skiplist_first(list);

	if (before != NULL && skiplist_has(list, before))
		node = skiplist_next(before);
	if (node != NULL && str_equal(list->member(node), r->member))
		return node;
	return isnan(r->score) ? NULL : skiplist_find(list, r->score, r->member);
}

/* Let the table find what the list has. */
static size_t enter_table(struct qless *q, const struct qless_repair *r)
{
	struct skiplist *list = find_list(q, r->what, r->name);
	struct skipnode *node = list != NULL ? find_unknown(q, list, r) : NULL;
	struct worker *worker;

	if (node == NULL)
		return 0;
	if (r->what == LIST_TRACKS)
		return insert_once(&q->tracked, &container_of(node, struct tracked, node)->hash,
				   r->member);
	if (r->what == LIST_WORKER) {
		worker = worker_find(q, r->name);
		return insert_once(&worker->held, &container_of(node, struct holding, node)->hash,
				   r->member);
	}
	if (!repair_list_has_jobs(r->what))
		return 0;
	return insert_once(&q->jobs, &job_from_node(node)->hash, r->member);
}

static size_t evict_job(struct qless *q, struct skiplist *list, struct qless_str jid)
{
	struct qless_job *job = job_find(q, jid);

	if (job == NULL || !skiplist_has(list, &job->node) || resolve_belongs(q, job, list))
		return 0;
	skiplist_remove(list, &job->node);
	if (q->are_limits_suspended)
		q->are_limits_stale = true;
	return 1;
}

/* Remove from a list what belongs elsewhere. */
static size_t evict(struct qless *q, const struct qless_repair *r)
{
	struct skiplist *list = find_list(q, r->what, r->name);
	struct skipnode *node;

	if (list == NULL)
		return 0;
	if (repair_list_has_jobs(r->what))
		return evict_job(q, list, r->member);
	if (r->what != LIST_TAG || isnan(r->score))
		return 0;
	node = skiplist_find(list, r->score, r->member);
	return node != NULL ? tag_drop_unknown(tag_find(q, r->name),
					       container_of(node, struct tagging, node))
			    : 0;
}

static size_t enter_held(struct qless *q, const struct qless_repair *r)
{
	struct worker *worker = worker_find(q, r->name);
	struct holding *holding = worker != NULL ? worker_find_holding(worker, r->member) : NULL;
	bool was_busy;
	size_t repairs;

	if (holding == NULL || isnan(holding->node.score) ||
	    (holding->node.linked && !skiplist_has(&worker->by_expiry, &holding->node)))
		return 0;
	was_busy = skiplist_count(&worker->by_expiry) > 0;
	repairs = worker_list_holding(q, worker, holding);
	q->busy_count += !was_busy && skiplist_count(&worker->by_expiry) > 0;
	return repairs;
}

/* Insert into the list what the table has. */
static size_t enter_list(struct qless *q, const struct qless_repair *r)
{
	struct skiplist *list = NULL;
	struct skipnode *node;
	struct qless_recur *recur;

	if (r->what == LIST_WORKER)
		return enter_held(q, r);
	node = find_node(q, r, r->member);
	if (node == NULL || node->linked || isnan(node->score))
		return 0;
	if (r->what == LIST_TRACKS)
		list = &q->tracks;
	if (r->what == LIST_QUEUE + QUEUE_RECUR) {
		recur = find_recur(q, r->member);
		list = &recur->queue->recurring;
	}
	if (list == NULL)
		return 0;
	skiplist_insert(list, node, node->score);
	if (r->what == LIST_QUEUE + QUEUE_RECUR)
		recur_falls_due(q, recur_from_node(node));
	return 1;
}

/* ---- jobs ---- */

/* Whether the job names the list that it belongs to, and the list exists. */
static bool has_own_list(const struct qless_job *job)
{
	if (!resolve_knows_list(job))
		return false;
	return job->state != QLESS_FAILED || job_extra(job)->failure->group->user != NULL;
}

static size_t place_job(struct qless *q, struct qless_job *job)
{
	if (!resolve_knows_list(job))
		return 0;
	if (has_own_list(job) && skiplist_has(job_list(q, job), &job->node))
		return resolve_score(q, job);
	if (job->node.prev != NULL || job->node.next != NULL)
		return 0; /* another list has it */
	if (job->node.linked)
		resolve_reset_node(&job->node);
	resolve_enter_list(q, job);
	return 1;
}

/* References to a worker stay counted, because nothing counts them again. */
static size_t repair_job(struct qless *q, struct qless_job *job)
{
	bool is_over = job->state == QLESS_COMPLETE || job->state == QLESS_FAILED;
	size_t repairs = is_over && job->worker != NULL;

	if (repairs > 0)
		job_set_worker(q, job, NULL);
	repairs += resolve_fields(q, job);
	return repairs + place_job(q, job);
}

static size_t run_on_job(struct qless *q, const struct qless_repair *r)
{
	struct qless_job *job = job_find(q, r->member);

	if (job == NULL)
		return 0;
	switch (r->kind) {
	case QLESS_REPAIR_JOB:
		return repair_job(q, job);
	case QLESS_REPAIR_EDGES:
		return depends_resolve(q, job);
	case QLESS_REPAIR_STATE:
		return job->node.linked ? depends_settle(q, job) : 0;
	default:
		return job_resolve_tags(job);
	}
}

/* ---- what jobs hang on ---- */

static size_t repair_queue(struct qless *q, struct queue *queue)
{
	size_t repairs = resolve_figures(q, queue);

	if (!queue->paused && queue->due.key > queue_next_due_after(queue, q->due_taken))
		repairs++;
	if (repairs > 0)
		queue_resume(q, queue);
	return repairs;
}

/* Free what nothing refers to. */
static size_t drop(struct qless *q, const struct qless_repair *r)
{
	struct queue *queue;
	struct worker *worker;
	struct group *group;

	switch (r->what) {
	case LIST_QUEUES:
		queue = queue_find(q, r->name);
		if (queue == NULL)
			return 0;
		queue_release(q, queue);
		return queue_find(q, r->name) == NULL;
	case LIST_WORKERS:
		worker = worker_find(q, r->name);
		if (worker == NULL)
			return 0;
		worker_release(q, worker);
		return worker_find(q, r->name) == NULL;
	case LIST_GROUP:
		group = group_find(q, r->name);
		if (group == NULL)
			return 0;
		group_release(q, group);
		return group_find(q, r->name) == NULL;
	default:
		return 0;
	}
}

/* ---- counters ---- */

struct intern_table *repair_names(struct qless *q, unsigned counter)
{
	switch (counter) {
	case COUNTS_QUEUE_NAME:
		return &q->queue_names;
	case COUNTS_WORKER_NAME:
		return &q->worker_names;
	case COUNTS_GROUP_NAME:
		return &q->group_names;
	case COUNTS_TAG_NAME:
		return &q->tag_names;
	case COUNTS_NAME:
		return &q->names;
	default:
		return NULL;
	}
}

/* The counter unless it counts references; NULL if there is no such counter. */
static uint64_t *find_tally(struct qless *q, const struct qless_repair *r)
{
	struct queue *queue;

	switch (r->what) {
	case COUNTS_QUEUE_JOBS:
		queue = queue_find(q, r->name);
		return queue != NULL ? &queue->job_count : NULL;
	case COUNTS_DEPENDING:
		return &q->depending_count;
	case COUNTS_DEPENDED:
		return &q->depended_count;
	case COUNTS_BUSY:
		return &q->busy_count;
	case COUNTS_GROUPS:
		return &q->group_count;
	case COUNTS_PAUSED:
		return &q->paused_count;
	default:
		return NULL;
	}
}

static struct intern *find_counted_name(struct qless *q, const struct qless_repair *r)
{
	struct intern_table *table = repair_names(q, r->what);

	return table != NULL ? intern_find(table, r->name) : NULL;
}

static size_t recount_name(struct qless *q, const struct qless_repair *r)
{
	struct intern *name = find_counted_name(q, r);

	if (name != NULL && r->what == COUNTS_NAME && name->user != NULL && r->to == 0)
		klass_drop_meter(q, name->user);
	/* An object always refers to its name. */
	if (name == NULL || name->node.aux != r->from || r->to > UINT32_MAX ||
	    (r->to == 0 && name->user != NULL))
		return 0;
	name->node.aux = r->to > 0 ? (uint32_t)r->to : 1;
	if (r->to == 0)
		intern_unref(repair_names(q, r->what), name);
	return 1;
}

static size_t recount(struct qless *q, const struct qless_repair *r)
{
	uint64_t *tally;

	if (r->from == r->to)
		return 0;
	if (repair_names(q, r->what) != NULL)
		return recount_name(q, r);
	tally = find_tally(q, r);
	if (tally == NULL || *tally != r->from)
		return 0;
	*tally = r->to;
	return 1;
}

static void aim(struct qless *q, struct qless_repair *r)
{
	const struct intern *name = find_counted_name(q, r);
	const uint64_t *tally = find_tally(q, r);
	uint64_t wrong_by = r->from - r->to, now;

	if (name == NULL && tally == NULL)
		return;
	now = name != NULL ? name->node.aux : *tally;
	r->from = now;
	/* Below 0 it wraps around: then the difference is no longer what it was. */
	r->to = (int64_t)(now - wrong_by) >= 0 ? now - wrong_by : now;
}

void qless_aim_repairs(struct qless *q, struct qless_repair *repairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (repairs[i].kind == QLESS_REPAIR_COUNT)
			aim(q, &repairs[i]);
	}
	q->has_aimed = true;
}

/* The values that the counters should have. */
struct counted {
	struct refs refs;
	struct tallies tallies;
	bool is_known;
};

static void forget(struct counted *c)
{
	if (c->is_known)
		refs_done(&c->refs);
	c->is_known = false;
}

static void count_all(const struct qless *q, struct counted *c)
{
	if (c->is_known)
		return;
	refs_init(&c->refs, q);
	refs_tally(q, &c->tallies);
	c->is_known = true;
}

static uint64_t find_right_count(struct qless *q, const struct qless_repair *r,
				 const struct counted *c)
{
	switch (r->what) {
	case COUNTS_QUEUE_JOBS:
		return refs_count(&c->refs, queue_find(q, r->name));
	case COUNTS_DEPENDING:
		return c->tallies.depending;
	case COUNTS_DEPENDED:
		return c->tallies.depended;
	case COUNTS_BUSY:
		return c->tallies.busy;
	case COUNTS_GROUPS:
		return c->tallies.groups;
	case COUNTS_PAUSED:
		return c->tallies.paused;
	default:
		return refs_count(&c->refs, find_counted_name(q, r));
	}
}

/* Whether a repair that was not aimed is about the value that the counter has, and leads to the
 * right one. */
static bool is_right(struct qless *q, const struct qless_repair *r, struct counted *c)
{
	const struct intern *name = find_counted_name(q, r);
	const uint64_t *tally = find_tally(q, r);

	if (name != NULL ? name->node.aux != r->from : tally == NULL || *tally != r->from)
		return false;
	count_all(q, c);
	return find_right_count(q, r, c) == r->to;
}

/* ---- limits ---- */

static size_t repair_limits(struct qless *q)
{
	bool is_wrong = limits_resume(q) > 0 || !limits_are_sound(q);

	if (is_wrong)
		limits_rebuild(q);
	limits_suspend(q);
	return is_wrong;
}

/* ---- unique keys ---- */

static size_t repair_unique(struct qless *q)
{
	if (unique_is_sound(q))
		return 0;
	unique_rebuild(q);
	return 1;
}

/* ---- retained jobs ---- */

static size_t repair_retained(struct qless *q)
{
	if (retain_is_sound(q))
		return 0;
	retain_rebuild(q);
	return 1;
}

/* ---- all kinds ---- */

size_t repair_run(struct qless *q, const struct qless_repair *r)
{
	struct queue *queue;
	struct group *group;
	struct tag *tag;

	switch ((enum qless_repair_kind)r->kind) {
	case QLESS_REPAIR_REBUILD:
		return rebuild(q, r);
	case QLESS_REPAIR_MOVE_FIRST:
	case QLESS_REPAIR_MOVE_AFTER:
		return move(q, r);
	case QLESS_REPAIR_ENTER_TABLE:
		return enter_table(q, r);
	case QLESS_REPAIR_EVICT:
		return evict(q, r);
	case QLESS_REPAIR_ENTER_LIST:
		return enter_list(q, r);
	case QLESS_REPAIR_JOB:
	case QLESS_REPAIR_EDGES:
	case QLESS_REPAIR_STATE:
	case QLESS_REPAIR_TAGS:
		return run_on_job(q, r);
	case QLESS_REPAIR_TAG:
		tag = tag_find(q, r->name);
		return tag != NULL ? tag_resolve(q, tag) : 0;
	case QLESS_REPAIR_QUEUE:
		queue = queue_find(q, r->name);
		return queue != NULL ? repair_queue(q, queue) : 0;
	case QLESS_REPAIR_GROUP:
		group = group_find(q, r->name);
		return group != NULL ? resolve_group(q, group) : 0;
	case QLESS_REPAIR_DROP:
		return drop(q, r);
	case QLESS_REPAIR_COUNT:
		return recount(q, r);
	case QLESS_REPAIR_LIMITS:
		return repair_limits(q);
	case QLESS_REPAIR_UNIQUE:
		return repair_unique(q);
	case QLESS_REPAIR_RETAINED:
		return repair_retained(q);
	}
	return 0;
}

size_t qless_repair(struct qless *q, double now, const struct qless_repair *repairs, size_t count)
{
	struct counted counted = { .is_known = false };
	bool has_aimed = q->has_aimed;
	size_t made = 0;

	q->has_aimed = false;
	if (!engine_begin(q, now))
		return 0;
	failed_history_forget(q);
	retain_forget(q);
	limits_suspend(q);
	for (size_t i = 0; i < count; i++) {
		const struct qless_repair *r = &repairs[i];
		bool counts = r->kind == QLESS_REPAIR_COUNT;
		size_t had = made;

		if (counts && !has_aimed && !is_right(q, r, &counted))
			continue;
		made += repair_run(q, r);
		if (made > had && !counts)
			forget(&counted);
	}
	forget(&counted);
	limits_resume(q);
	if (made > 0)
		engine_changed(q);
	return made;
}

/* ---- the cost ---- */

/* Edges, tags or nodes that take as long as a search in O(log n). */
#define PER_SEARCH 16

static size_t count_edges(const struct qless_job *job)
{
	const struct job_extra *extra = job_extra(job);
	size_t count = 0;

	if (extra != NULL && extra->dependencies != NULL)
		count += skiplist_count(extra->dependencies);
	if (extra != NULL && extra->dependents != NULL)
		count += skiplist_count(extra->dependents);
	return count;
}

/* Each occurrence of a tag is counted by walking the list. */
static size_t square_tags(const struct qless_job *job)
{
	size_t count = job_extra(job) != NULL && job_extra(job)->tags != NULL
			       ? job_extra(job)->tags->count
			       : 0;

	return count * count / PER_SEARCH;
}

size_t repair_weight(const struct qless *q, const struct qless_repair *r)
{
	const struct qless_job *job = NULL;
	const struct queue *queue;
	const struct skiplist *list;

	switch ((enum qless_repair_kind)r->kind) {
	case QLESS_REPAIR_REBUILD:
		list = find_list((struct qless *)(uintptr_t)q, r->what, r->name);
		return list != NULL ? 1 + skiplist_count(list) : 1;
	case QLESS_REPAIR_EDGES:
		job = job_find(q, r->member);
		return job != NULL ? 1 + count_edges(job) / PER_SEARCH : 1;
	case QLESS_REPAIR_STATE:
		job = job_find(q, r->member);
		return job != NULL ? 1 + count_edges(job) : 1;
	case QLESS_REPAIR_TAGS:
		job = job_find(q, r->member);
		return job != NULL ? 1 + square_tags(job) / PER_SEARCH : 1;
	case QLESS_REPAIR_QUEUE:
		queue = queue_find(q, r->name);
		return queue != NULL ? 1 + queue->day_count : 1;
	default:
		return 1;
	}
}
