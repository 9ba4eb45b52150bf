/*
 * Listings of the jobs of a queue, one page at a time.
 */
#include "engine/engine_int.h"

#include <assert.h>

#include "engine/job.h"
#include "engine/page.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/vec.h"

static void push_range(struct qless *q, const struct skiplist *list, uint64_t first, uint64_t count,
		       skiplist_member_fn *member)
{
	struct skipnode *node = skiplist_at(list, (uint32_t)first);

	for (; count > 0; count--, node = skiplist_next(node)) {
		assert(node != NULL);
		str_vec_push(&q->list, member(node));
	}
}

/* Append the nodes of ranks `begin` to `end` - 1, paged as a limit. */
static void push_limited(struct qless *q, const struct skiplist *list, uint32_t begin, uint32_t end,
			 int64_t offset, int64_t count, skiplist_member_fn *member)
{
	uint64_t first;
	uint64_t left;

	if (limit_range(end - begin, offset, count, &first, &left))
		push_range(q, list, begin + first, left, member);
}

static void push_page(struct qless *q, const struct skiplist *list, int64_t offset, int64_t count)
{
	uint64_t first;
	uint64_t left;

	if (page_range(skiplist_count(list), offset, count, &first, &left))
		push_range(q, list, first, left, job_member);
}

/* Append the scheduled jobs that are not due. They lie before and after the due ones. */
static void push_not_due(struct qless *q, const struct queue *queue, double now, int64_t offset,
			 int64_t count)
{
	uint32_t first_due, due_end, before;
	uint64_t first, left;

	queue_due_range(queue, now, &first_due, &due_end);
	if (!page_range(skiplist_count(&queue->scheduled) - (due_end - first_due), offset, count,
			&first, &left))
		return;
	before = first < first_due ? first_due - (uint32_t)first : 0;
	if (before > left)
		before = (uint32_t)left;
	push_range(q, &queue->scheduled, first, before, job_member);
	push_range(q, &queue->scheduled, first + before + (due_end - first_due), left - before,
		   job_member);
}

static void push_completed(struct qless *q, int64_t offset, int64_t count)
{
	uint32_t total = skiplist_count(&q->completed);
	struct skipnode *node;
	uint64_t first;
	uint64_t left;

	if (!page_range(total, offset, count, &first, &left))
		return;
	node = skiplist_at(&q->completed, total - 1 - (uint32_t)first);
	for (; left > 0; left--, node = skiplist_prev(node))
		str_vec_push(&q->list, job_member(node));
}

static void push_of_queue(struct qless *q, double now, enum qless_listing listing,
			  const struct queue *queue, int64_t offset, int64_t count)
{
	const struct skiplist *locks = &queue->locks;
	const struct skiplist *recurring = &queue->recurring;

	switch (listing) {
	case QLESS_LIST_COMPLETE:
		break;
	case QLESS_LIST_RUNNING:
		push_limited(q, locks, skiplist_count_lt(locks, now), skiplist_count(locks), offset,
			     count, job_member);
		break;
	case QLESS_LIST_STALLED:
		push_limited(q, locks, 0, skiplist_count_le(locks, now), offset, count, job_member);
		break;
	case QLESS_LIST_SCHEDULED:
		push_page(q, &queue->scheduled, offset, count);
		break;
	case QLESS_LIST_NOT_DUE:
		push_not_due(q, queue, now, offset, count);
		break;
	case QLESS_LIST_DEPENDS:
		push_page(q, &queue->depends, offset, count);
		break;
	case QLESS_LIST_RECURRING:
		push_limited(q, recurring, skiplist_count_lt(recurring, 0),
			     skiplist_count(recurring), offset, count, recur_member);
		break;
	}
}

int qless_jobs(struct qless *q, double now, enum qless_listing listing, struct qless_str queue_text,
	       int64_t offset, int64_t count, struct qless_list *ret_jids)
{
	const struct queue *queue;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	queue = queue_find(q, queue_text);
	if (listing == QLESS_LIST_COMPLETE)
		push_completed(q, offset, count);
	else if (queue != NULL)
		push_of_queue(q, now, listing, queue, offset, count);
	*ret_jids = (struct qless_list){ q->list.items, q->list.count, q->list.count };
	return 0;
}
