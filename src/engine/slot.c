/*
 * Slots: which running jobs have one of a limit. A job has a slot of each limit that it names, also
 * of those that allow any number, so that a rule that comes later counts it.
 *
 * The slots of a limit are in the order in which the locks of the jobs expire. If a worker is gone,
 * whoever waits for the limit knows when the first slot is free at the latest.
 */
#include <assert.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "util/container.h"
#include "util/mem.h"

static struct qless_str slot_member(const struct skipnode *node)
{
	return job_jid(container_of(node, const struct slot, node)->job);
}

void slots_init(struct skiplist *slots)
{
	skiplist_init(slots, slot_member);
}

static struct slot **slots_of(struct qless_job *job)
{
	assert(job->flags & JOB_LIMITED);
	return &job_limited(job)->slots;
}

static struct slot *take(struct qless *q, struct qless_job *job, struct named_limit *limit,
			 double expires)
{
	unsigned height = engine_draw_height(q);
	struct slot *slot = mem_alloc(offsetof(struct slot, node) + skipnode_size(height));
	bool was_full = named_limit_is_full(limit);

	skipnode_init(&slot->node, height);
	slot->next = NULL;
	slot->job = job;
	slot->limit = limit;
	skiplist_insert(&limit->slots, &slot->node, expires);
	/* A snapshot may have waiting jobs before a lock that expires earlier than all before it.
	 */
	if (was_full && skiplist_first(&limit->slots) == &slot->node)
		named_limit_reopen(q, limit);
	return slot;
}

/* Give the slots of a job another expiry. A full limit whose first holder expires earlier than
 * before may open earlier. */
static void rescore(struct qless *q, struct slot *slot, double expires)
{
	for (; slot != NULL; slot = slot->next) {
		bool is_earlier = expires < slot->node.score;

		if (slot->node.score != expires)
			skiplist_rescore(&slot->limit->slots, &slot->node, expires);
		if (is_earlier && named_limit_is_full(slot->limit))
			named_limit_reopen(q, slot->limit);
	}
}

void slots_hold(struct qless *q, struct qless_job *job, double expires)
{
	struct slot **at = slots_of(job);
	const struct limit_set *set = job_limits(job);

	if (q->are_limits_suspended) {
		q->are_limits_stale = true;
		return;
	}
	if (*at != NULL) {
		rescore(q, *at, expires);
		return;
	}
	for (uint32_t i = 0; i < set->count; i++) {
		*at = take(q, job, set->limits[i], expires);
		at = &(*at)->next;
	}
}

void slots_release(struct qless *q, struct qless_job *job)
{
	struct slot **slots = slots_of(job);

	if (q->are_limits_suspended) {
		q->are_limits_stale = true;
		return;
	}
	while (*slots != NULL) {
		struct slot *slot = *slots;
		struct named_limit *limit = slot->limit;
		bool was_full = named_limit_is_full(limit);

		*slots = slot->next;
		skiplist_remove(&limit->slots, &slot->node);
		free(slot);
		if (was_full)
			named_limit_reopen(q, limit);
	}
}

void slots_discard(struct qless_job *job)
{
	struct slot *slot = *slots_of(job);

	while (slot != NULL) {
		struct slot *next = slot->next;

		free(slot);
		slot = next;
	}
}

bool qless_limit_next_holder(const struct qless *q, struct qless_str name, const void **cursor,
			     struct qless_limit_holder *ret_holder)
{
	const struct skipnode *node = *cursor;
	const struct named_limit *limit;
	const struct qless_job *job;

	if (node == NULL) {
		limit = named_limit_find(q, name);
		node = limit != NULL ? skiplist_first(&limit->slots) : NULL;
	} else {
		node = skiplist_next(node);
	}
	if (node == NULL)
		return false;
	*cursor = node;
	job = container_of(node, const struct slot, node)->job;
	*ret_holder = (struct qless_limit_holder){
		.jid = job_jid(job),
		.queue = queue_name(job->queue),
		.worker = intern_str(job->worker),
		.expires = node->score,
	};
	return true;
}
