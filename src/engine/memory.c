/*
 * Estimated memory of jobs, from what they ask of the allocator. Counting it with each change would
 * slow down every command. The jobs of a list are mostly alike, so a few of them give a good
 * estimate.
 */
#include "engine/bundle.h"
#include "engine/depends.h"

#include <assert.h>

#include "engine/carried.h"
#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/lane.h"
#include "engine/lists.h"
#include "engine/queue.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/view.h"

/* Bytes of a job in the hash table: a pointer. */
#define HASH_BYTES sizeof(void *)

static size_t edges_bytes(const struct skiplist *edges)
{
	const struct skipnode *node;
	size_t bytes = 0;

	if (edges == NULL)
		return 0;
	bytes += sizeof *edges + skiplist_memory(edges);
	for (node = skiplist_first(edges); node != NULL; node = skiplist_next(node))
		bytes += offsetof(struct edge, node) + skipnode_size(node->height);
	return bytes;
}

/* Each tag of the job has one tagging, taken to have the most common height. */
static size_t tags_bytes(const struct tag_list *tags)
{
	if (tags == NULL)
		return 0;
	return sizeof *tags +
	       tags->count * (sizeof tags->items[0] + sizeof(struct tagging) + HASH_BYTES);
}

static void add_job(const struct qless_job *job, struct view_memory *memory)
{
	const struct job_extra *extra = job_extra(job);

	memory->payload += job->hash.aux + job->node.aux;
	memory->history += job->history.cap;
	memory->index +=
		offsetof(struct qless_job, node) + skipnode_size(job->node.height) + HASH_BYTES;
	if (job->flags & JOB_LIMITED)
		memory->index += sizeof(struct job_limited);
	if ((job->flags & JOB_LIMITED) && job->state == QLESS_RUNNING)
		memory->index += (size_t)job_limits(job)->count * sizeof(struct slot);
	if (extra == NULL)
		return;
	memory->index += sizeof *extra + job_carried_bytes(job);
	memory->index += tags_bytes(extra->tags) + edges_bytes(extra->dependencies) +
			 edges_bytes(extra->dependents);
	if (extra->failure != NULL)
		memory->payload += sizeof *extra->failure + extra->failure->message_len;
}

static uint64_t scale(uint64_t bytes, uint64_t count, uint64_t sampled)
{
	return (uint64_t)((double)bytes * ((double)count / (double)sampled));
}

void view_jobs_memory(const struct skiplist *jobs, size_t samples, struct view_memory *memory)
{
	struct view_memory sum = { 0 };
	uint64_t count = skiplist_count(jobs);
	uint64_t sampled = samples < count ? samples : count;
	uint64_t i;

	assert(sampled <= count);
	if (sampled == 0)
		return;
	for (i = 0; i < sampled; i++)
		add_job(job_from_node(skiplist_at(jobs, (uint32_t)(i * count / sampled))), &sum);
	memory->jobs += count;
	memory->sampled += sampled;
	memory->payload += scale(sum.payload, count, sampled);
	memory->index += scale(sum.index, count, sampled) + skiplist_memory(jobs);
	memory->history += scale(sum.history, count, sampled);
}

void view_queue_memory(const struct qless *q, struct qless_str name, size_t samples,
		       struct view_memory *memory)
{
	const struct queue *queue = queue_find(q, name);

	if (queue == NULL)
		return;
	for (int i = 0; i < QUEUE_ALL_LISTS; i++) {
		if (queue_list_has_jobs((enum queue_list)i))
			view_jobs_memory(&queue->lists[i], samples, memory);
	}
	memory->index += sizeof *queue + queue->day_cap * sizeof *queue->days;
}

uint64_t view_limits_memory(const struct qless *q)
{
	/* Most sets have one limit, and most nodes in a skiplist the least height. */
	size_t per_limit = offsetof(struct named_limit, node) + skipnode_size(1);
	size_t per_set = sizeof(struct limit_set) + sizeof(struct named_limit *);

	return intern_memory(&q->limit_names) + hash_memory(&q->limit_sets) +
	       hash_memory(&q->lanes) + hash_memory(&q->lane_groups) +
	       intern_count(&q->limit_names) * per_limit + hash_count(&q->limit_sets) * per_set +
	       hash_count(&q->lanes) * sizeof(struct lane) +
	       hash_count(&q->lane_groups) * sizeof(struct lane_group) + hash_memory(&q->seats) +
	       hash_memory(&q->bundles) + hash_count(&q->seats) * sizeof(struct seat) +
	       hash_count(&q->bundles) * sizeof(struct bundle);
}
