/*
 * Dependencies: jobs that wait until others complete.
 *
 * A dependency is a pair of edges, one in the list of each job, so it is found from either side in
 * O(log n). A job has dependencies if and only if it is in the state depends. A completed job has
 * no edges.
 */
#include "engine/depends.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/failed_history.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/vec.h"
#include "util/container.h"
#include "util/mem.h"

static struct edge *edge_from_node(const struct skipnode *node)
{
	return container_of((struct skipnode *)(uintptr_t)node, struct edge, node);
}

static struct qless_str edge_member(const struct skipnode *node)
{
	return job_jid(container_of(node, const struct edge, node)->job);
}

static struct edge *edge_new(struct qless *q, struct qless_job *to)
{
	unsigned height = engine_draw_height(q);
	struct edge *edge = mem_alloc(offsetof(struct edge, node) + skipnode_size(height));

	skipnode_init(&edge->node, height);
	edge->job = to;
	return edge;
}

/* `count` is the number of jobs that have a list in this direction. */
static void edge_insert(struct skiplist **list, struct edge *edge, uint64_t *count)
{
	if (*list == NULL) {
		*list = mem_alloc(sizeof(**list));
		skiplist_init(*list, edge_member);
		++*count;
	}
	skiplist_insert(*list, &edge->node, 0);
}

static void edge_remove(struct skiplist **list, struct edge *edge, uint64_t *count)
{
	skiplist_remove(*list, &edge->node);
	free(edge);
	if (skiplist_count(*list) > 0)
		return;
	skiplist_done(*list);
	free(*list);
	*list = NULL;
	--*count;
}

static const struct skiplist *dependencies_of(const struct qless_job *job)
{
	return job_extra(job) != NULL ? job_extra(job)->dependencies : NULL;
}

static const struct skiplist *dependents_of(const struct qless_job *job)
{
	return job_extra(job) != NULL ? job_extra(job)->dependents : NULL;
}

static void link_jobs(struct qless *q, struct qless_job *job, struct qless_job *on)
{
	struct edge *edge = edge_new(q, on);
	struct edge *twin = edge_new(q, job);

	assert(on->state != QLESS_COMPLETE);
	edge->twin = twin;
	twin->twin = edge;
	edge_insert(&job_need_extra(job)->dependencies, edge, &q->depending_count);
	edge_insert(&job_need_extra(on)->dependents, twin, &q->depended_count);
	if (skiplist_count(job_extra(on)->dependents) > q->most_dependents)
		q->most_dependents = skiplist_count(job_extra(on)->dependents);
	engine_changed(q);
}

/* `edge` is in the dependencies of `job`. Not inline, so that callers are short for the usual job,
 * which has no dependencies. */
static __attribute__((noinline)) void unlink_jobs(struct qless *q, struct qless_job *job,
						  struct edge *edge)
{
	struct qless_job *on = edge->job;

	assert(edge->twin->twin == edge && edge->twin->job == job);
	assert(q->depending_count > 0 && q->depended_count > 0);
	edge_remove(&job_extra(on)->dependents, edge->twin, &q->depended_count);
	edge_remove(&job_extra(job)->dependencies, edge, &q->depending_count);
	if (on->state == QLESS_FAILED && on->node.linked && dependents_of(on) == NULL)
		failed_history_free(q, on);
	job_release_extra(on);
	if (on != job)
		job_release_extra(job);
	engine_changed(q);
}

static struct edge *find_dependency(const struct qless_job *job, struct qless_str jid)
{
	const struct skiplist *list = dependencies_of(job);
	struct skipnode *node = list != NULL ? skiplist_find(list, 0, jid) : NULL;

	return node != NULL ? edge_from_node(node) : NULL;
}

bool depends_is_open(const struct qless_job *job)
{
	return dependencies_of(job) != NULL;
}

void depends_add(struct qless *q, struct qless_job *job, const struct qless_str *jids, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct qless_job *on = job_find(q, jids[i]);

		if (on != NULL && on->state != QLESS_COMPLETE &&
		    find_dependency(job, jids[i]) == NULL)
			link_jobs(q, job, on);
	}
}

void depends_drop_all(struct qless *q, struct qless_job *job)
{
	const struct skiplist *list;

	while ((list = dependencies_of(job)) != NULL)
		unlink_jobs(q, job, edge_from_node(skiplist_first(list)));
}

void depends_keep_only(struct qless *q, struct qless_job *job, const struct qless_str *jids,
		       size_t count)
{
	const struct skiplist *list = dependencies_of(job);
	struct skipnode *node;
	size_t i;

	if (list == NULL)
		return;
	for (i = 0; i < count; i++) {
		struct edge *edge = find_dependency(job, jids[i]);

		if (edge != NULL)
			edge->node.aux = 1;
	}
	node = skiplist_first(list);
	while (node != NULL) {
		struct edge *edge = edge_from_node(node);

		node = skiplist_next(node);
		if (edge->node.aux == 0)
			unlink_jobs(q, job, edge);
		else
			edge->node.aux = 0;
	}
}

/* Schedule a job that is in no list and remembers when it is due. */
static void schedule_when_due(struct qless *q, struct qless_job *job)
{
	double due = job_due(job);

	job_set_due(job, NAN);
	job_place_as(q, job, QLESS_SCHEDULED, due);
}

/* Release a job that no longer depends on others. If it remembers when it is due it is
 * scheduled. */
static void go_on(struct qless *q, struct qless_job *job, double now)
{
	assert(job->state == QLESS_DEPENDS && !depends_is_open(job));
	job_leave(q, job);
	if (isnan(job_due(job)))
		job_place(q, job, now, 0);
	else
		schedule_when_due(q, job);
	engine_changed(q);
}

/* Release all jobs in `picked`. Jobs of the same list leave and enter it together, because each
 * finds its place next to the one before. */
static void go_on_picked(struct qless *q, double now)
{
	struct queue *queue = NULL;
	size_t i;

	for (i = 0; i < q->picked.count; i++) {
		struct qless_job *job = q->picked.items[i];

		assert(job->state == QLESS_DEPENDS && job->node.linked && !depends_is_open(job));
		if (job->queue != queue && queue != NULL)
			skiplist_remove_batch(&queue->depends, &q->batch);
		queue = job->queue;
		skiplist_batch_add(&q->batch, &job->node, 0);
	}
	if (queue != NULL)
		skiplist_remove_batch(&queue->depends, &q->batch);
	for (i = 0; i < q->picked.count; i++) {
		struct qless_job *job = q->picked.items[i];

		if (job->queue != queue)
			job_place_batch(q, queue, QLESS_WAITING);
		queue = job->queue;
		if (isnan(job_due(job)))
			job_batch_as(q, job, QLESS_WAITING, job_work_score(job, now));
		else
			schedule_when_due(q, job);
		engine_changed(q);
	}
	if (queue != NULL)
		job_place_batch(q, queue, QLESS_WAITING);
	job_vec_clear(&q->picked);
}

void depends_satisfy(struct qless *q, struct qless_job *job, double now)
{
	const struct skiplist *list;

	job_vec_clear(&q->picked);
	while ((list = dependents_of(job)) != NULL) {
		struct edge *twin = edge_from_node(skiplist_first(list));
		struct qless_job *dependent = twin->job;

		unlink_jobs(q, dependent, twin->twin);
		if (!depends_is_open(dependent))
			job_vec_push(&q->picked, dependent);
	}
	go_on_picked(q, now);
}

void depends_forget_dependents(struct qless *q, struct qless_job *job)
{
	const struct skiplist *list;

	while ((list = dependents_of(job)) != NULL) {
		struct edge *twin = edge_from_node(skiplist_first(list));

		unlink_jobs(q, twin->job, twin->twin);
	}
}

/* Find a job whose dependencies may be changed. */
static int find_depending(struct qless *q, double now, struct qless_str jid,
			  struct qless_job **ret_job)
{
	struct qless_job *job;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	job = job_find(q, jid);
	if (job == NULL)
		return engine_fail_job(q, QLESS_OP_DEPENDS, QLESS_WHY_NO_WAITING_JOB, jid, STR(""));
	if (job->state != QLESS_DEPENDS)
		return engine_fail_job(q, QLESS_OP_DEPENDS, QLESS_WHY_NOT_DEPENDS, jid,
				       qless_state_text(job->state));
	*ret_job = job;
	return 0;
}

size_t depends_count(const struct qless_job *job)
{
	const struct skiplist *list = dependencies_of(job);

	return list != NULL ? skiplist_count(list) : 0;
}

static int fail_dependents(struct qless *q, const struct qless_job *on)
{
	return engine_fail(q, (struct qless_error){ .reason = QLESS_WHY_DEPENDENTS,
						    .jid = job_jid(on),
						    .number = (double)q->limits.max_dependents });
}

int depends_check_more(struct qless *q, struct qless_str jid, const struct qless_str *jids,
		       size_t count, size_t jobs)
{
	const struct qless_job *job;
	size_t i;

	if (q->most_dependents + jobs <= q->limits.max_dependents)
		return 0;
	job = job_find(q, jid);
	for (i = 0; i < count; i++) {
		const struct qless_job *on = job_find(q, jids[i]);

		if (on == NULL || on->state == QLESS_COMPLETE || dependents_of(on) == NULL ||
		    skiplist_count(dependents_of(on)) + jobs <= q->limits.max_dependents)
			continue;
		if (job == NULL || find_dependency(job, jids[i]) == NULL)
			return fail_dependents(q, on);
	}
	return 0;
}

/* Check that the job may have these dependencies too. A new one that is given twice counts
 * twice. */
static int check_more(struct qless *q, const struct qless_job *job, const struct qless_str *jids,
		      size_t count)
{
	uint64_t had = skiplist_count(dependencies_of(job));
	uint64_t added = count;
	size_t i;

	if (had + count <= q->limits.max_dependencies)
		return 0;
	for (i = 0; i < count; i++) {
		const struct qless_job *on = job_find(q, jids[i]);

		added -= on == NULL || on->state == QLESS_COMPLETE ||
			 find_dependency(job, jids[i]) != NULL;
	}
	return added > 0 ? limit_check_dependencies(q, had + added) : 0;
}

int qless_depends_on(struct qless *q, double now, struct qless_str jid,
		     const struct qless_str *jids, size_t count)
{
	struct qless_job *job = NULL;
	int rc = find_depending(q, now, jid, &job);

	if (rc < 0)
		return rc;
	if (limit_check_jobs(q, (int64_t)count) < 0 || check_more(q, job, jids, count) < 0 ||
	    depends_check_more(q, jid, jids, count, 1) < 0)
		return engine_fail_during(q, QLESS_OP_DEPENDS);
	depends_add(q, job, jids, count);
	return 0;
}

int qless_depends_off(struct qless *q, double now, struct qless_str jid,
		      const struct qless_str *jids, size_t count)
{
	struct qless_job *job = NULL;
	int rc = find_depending(q, now, jid, &job);
	size_t i;

	if (rc < 0)
		return rc;
	if (limit_check_jobs(q, (int64_t)count) < 0)
		return engine_fail_during(q, QLESS_OP_DEPENDS);
	for (i = 0; i < count && depends_is_open(job); i++) {
		struct edge *edge = find_dependency(job, jids[i]);

		if (edge != NULL)
			unlink_jobs(q, job, edge);
	}
	if (!depends_is_open(job))
		go_on(q, job, now);
	return 0;
}

int qless_depends_off_all(struct qless *q, double now, struct qless_str jid)
{
	struct qless_job *job = NULL;
	int rc = find_depending(q, now, jid, &job);

	if (rc < 0)
		return rc;
	depends_drop_all(q, job);
	go_on(q, job, now);
	return 0;
}

static bool next_edge(const struct skiplist *list, const void **cursor, struct qless_str *ret_jid)
{
	const struct skipnode *node = *cursor;

	if (list == NULL)
		return false;
	node = node == NULL ? skiplist_first(list) : skiplist_next(node);
	if (node == NULL)
		return false;
	*cursor = node;
	*ret_jid = edge_member(node);
	return true;
}

bool qless_job_next_dependency(const struct qless_job *job, const void **cursor,
			       struct qless_str *ret_jid)
{
	return next_edge(dependencies_of(job), cursor, ret_jid);
}

bool qless_job_next_dependent(const struct qless_job *job, const void **cursor,
			      struct qless_str *ret_jid)
{
	return next_edge(dependents_of(job), cursor, ret_jid);
}

/* Drop the dependents that do not name this job as a dependency. */
static size_t drop_unknown_dependents(struct qless *q, struct qless_job *job)
{
	struct skipnode *node = skiplist_first(job_extra(job)->dependents);
	size_t repairs = 0;

	while (node != NULL) {
		struct edge *edge = edge_from_node(node);
		struct edge *twin = edge->twin;

		node = skiplist_next(node);
		if (twin->node.linked)
			continue;
		free(twin);
		repairs++;
		edge_remove(&job_extra(job)->dependents, edge, &q->depended_count);
	}
	return repairs;
}

/* Add the job to the dependents of the jobs that it waits for. */
static size_t tell_dependencies(struct qless *q, struct qless_job *job)
{
	struct skipnode *node = skiplist_first(job_extra(job)->dependencies);
	size_t repairs = 0;

	for (; node != NULL; node = skiplist_next(node)) {
		struct edge *edge = edge_from_node(node);

		if (!edge->twin->node.linked) {
			edge_insert(&job_need_extra(edge->job)->dependents, edge->twin,
				    &q->depended_count);
			repairs++;
		}
		if (edge->node.aux != 0) {
			edge->node.aux = 0;
			repairs++;
		}
	}
	return repairs;
}

size_t depends_resolve(struct qless *q, struct qless_job *job)
{
	size_t repairs = 0;

	if (dependencies_of(job) != NULL)
		repairs += tell_dependencies(q, job);
	if (dependents_of(job) != NULL)
		repairs += drop_unknown_dependents(q, job);
	return repairs;
}

/* `count` is the number of jobs that have a list in this direction. */
static size_t drop_empty(struct skiplist **list, uint64_t *count)
{
	if (*list == NULL || skiplist_count(*list) > 0)
		return 0;
	skiplist_done(*list);
	free(*list);
	*list = NULL;
	--*count;
	return 1;
}

size_t depends_settle(struct qless *q, struct qless_job *job)
{
	size_t repairs = 0;

	if (job_extra(job) != NULL) {
		repairs += drop_empty(&job_extra(job)->dependencies, &q->depending_count);
		repairs += drop_empty(&job_extra(job)->dependents, &q->depended_count);
		job_release_extra(job);
	}
	if (job->state == QLESS_COMPLETE && dependents_of(job) != NULL) {
		depends_satisfy(q, job, q->now);
		repairs++;
	}
	if (job->state == QLESS_DEPENDS && !depends_is_open(job)) {
		go_on(q, job, q->now);
		repairs++;
	}
	return repairs;
}
