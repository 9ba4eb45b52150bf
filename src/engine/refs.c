/*
 * References to interned names, queues and taggings, found by walking the whole state.
 */
#include "engine/refs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/tag.h"
#include "engine/worker.h"
#include "util/container.h"
#include "util/mem.h"

static void add(void *arg, const struct intern *object)
{
	struct refs *refs = arg;

	if (object == NULL)
		return;
	refs->items = mem_grow(refs->items, &refs->cap, refs->count + 1, sizeof(*refs->items));
	refs->items[refs->count++] = object;
}

static void add_job(struct refs *refs, const struct qless_job *job)
{
	const struct job_extra *extra = job_extra(job);
	uint32_t i;

	add(refs, job->klass);
	add(refs, job->worker);
	add(refs, (const void *)job->queue);
	history_each_name(&job->history, add, refs);
	add(refs, (const void *)job_limits(job));
	if (extra == NULL)
		return;
	add(refs, extra->spawned_from);
	for (i = 0; extra->tags != NULL && i < extra->tags->count; i++)
		add(refs, (const void *)extra->tags->items[i]);
	if (extra->failure != NULL) {
		add(refs, extra->failure->group);
		add(refs, extra->failure->worker);
	}
}

static void add_recur(struct refs *refs, const struct qless_recur *recur)
{
	uint32_t i;

	add(refs, recur->klass);
	add(refs, (const void *)recur->limits);
	for (i = 0; i < recur->tag_count; i++)
		add(refs, recur->tags[i]);
}

/* An object refers to its name. */
static void add_objects(struct refs *refs, const struct intern_table *table)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &table->hash) {
		const struct intern *name = intern_from_node(node);

		if (name->user != NULL)
			add(refs, name);
	}
}

static int compare(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (const void *const *)a;
	uintptr_t y = (uintptr_t) * (const void *const *)b;

	return x < y ? -1 : x > y;
}

void refs_init(struct refs *refs, const struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	memset(refs, 0, sizeof(*refs));
	HASH_FOREACH(node, &it, &q->jobs)
		add_job(refs, container_of(node, struct qless_job, hash));
	HASH_FOREACH(node, &it, &q->recurs)
		add_recur(refs, container_of(node, struct qless_recur, hash));
	add_objects(refs, &q->queue_names);
	add_objects(refs, &q->worker_names);
	add_objects(refs, &q->group_names);
	add_objects(refs, &q->tag_names);
	if (refs->count > 0)
		qsort(refs->items, refs->count, sizeof(*refs->items), compare);
}

void refs_done(struct refs *refs)
{
	free(refs->items);
}

/* The number of items below the object, or not above it. */
static size_t find_bound(const struct refs *refs, const void *object, bool above)
{
	size_t low = 0;
	size_t high = refs->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = compare(&refs->items[mid], &object);

		if (order < 0 || (above && order == 0))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t refs_count(const struct refs *refs, const void *object)
{
	size_t end = find_bound(refs, object, true), begin = find_bound(refs, object, false);

	assert(begin <= end && end <= refs->count);
	return end - begin;
}

void refs_tally(const struct qless *q, struct tallies *ret_tallies)
{
	struct tallies t = { 0 };
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->jobs) {
		const struct job_extra *extra =
			job_extra(container_of(node, struct qless_job, hash));

		t.depending += extra != NULL && extra->dependencies != NULL;
		t.depended += extra != NULL && extra->dependents != NULL;
	}
	HASH_FOREACH(node, &it, &q->worker_names.hash) {
		const struct worker *worker = intern_from_node(node)->user;

		t.busy += worker != NULL && skiplist_count(&worker->by_expiry) > 0;
	}
	HASH_FOREACH(node, &it, &q->group_names.hash)
		t.groups += intern_from_node(node)->user != NULL;
	HASH_FOREACH(node, &it, &q->queue_names.hash) {
		const struct queue *queue = intern_from_node(node)->user;

		t.queues += queue != NULL;
		t.paused += queue != NULL && queue->paused;
	}
	*ret_tallies = t;
}
