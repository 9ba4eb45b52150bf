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
#include "engine/view.h"

struct ranges {
	struct view_range *items;
	unsigned count;
};

static void add_range(struct ranges *ranges, const struct skiplist *list, uint64_t first,
		      uint64_t count, bool is_reverse)
{
	if (count == 0)
		return;
	assert(ranges->count < VIEW_RANGES_MAX);
	ranges->items[ranges->count++] = (struct view_range){
		.list = list,
		.first = (uint32_t)first,
		.count = count,
		.is_reverse = is_reverse,
	};
}

/* The nodes of ranks `begin` to `end` - 1, paged as a limit. */
static void add_limited(struct ranges *ranges, const struct skiplist *list, uint32_t begin,
			uint32_t end, int64_t offset, int64_t count)
{
	uint64_t first;
	uint64_t left;

	if (limit_range(end - begin, offset, count, &first, &left))
		add_range(ranges, list, begin + first, left, false);
}

static void add_page(struct ranges *ranges, const struct skiplist *list, int64_t offset,
		     int64_t count)
{
	uint64_t first;
	uint64_t left;

	if (page_range(skiplist_count(list), offset, count, &first, &left))
		add_range(ranges, list, first, left, false);
}

/* A page that counts from the end of the list. */
static void add_page_from_end(struct ranges *ranges, const struct skiplist *list, int64_t offset,
			      int64_t count)
{
	uint32_t total = skiplist_count(list);
	uint64_t first;
	uint64_t left;

	if (page_range(total, offset, count, &first, &left))
		add_range(ranges, list, total - 1 - first, left, true);
}

/* The scheduled jobs that are not due. They lie before and after the due ones. */
static void add_not_due(struct ranges *ranges, const struct queue *queue, double now,
			int64_t offset, int64_t count)
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
	add_range(ranges, &queue->scheduled, first, before, false);
	add_range(ranges, &queue->scheduled, first + before + (due_end - first_due), left - before,
		  false);
}

static void add_of_queue(struct ranges *ranges, double now, enum qless_listing listing,
			 const struct queue *queue, int64_t offset, int64_t count)
{
	const struct skiplist *locks = &queue->locks;
	const struct skiplist *recurring = &queue->recurring;

	switch (listing) {
	case QLESS_LIST_COMPLETE:
		break;
	case QLESS_LIST_RUNNING:
		add_limited(ranges, locks, skiplist_count_lt(locks, now), skiplist_count(locks),
			    offset, count);
		break;
	case QLESS_LIST_STALLED:
		add_limited(ranges, locks, 0, skiplist_count_le(locks, now), offset, count);
		break;
	case QLESS_LIST_SCHEDULED:
		add_page(ranges, &queue->scheduled, offset, count);
		break;
	case QLESS_LIST_NOT_DUE:
		add_not_due(ranges, queue, now, offset, count);
		break;
	case QLESS_LIST_DEPENDS:
		add_page(ranges, &queue->depends, offset, count);
		break;
	case QLESS_LIST_RECURRING:
		add_limited(ranges, recurring, skiplist_count_lt(recurring, 0),
			    skiplist_count(recurring), offset, count);
		break;
	}
}

unsigned view_jobs(const struct qless *q, double now, enum qless_listing listing,
		   struct qless_str queue_text, int64_t offset, int64_t count,
		   struct view_range ret_ranges[VIEW_RANGES_MAX])
{
	const struct queue *queue = queue_find(q, queue_text);
	struct ranges ranges = { .items = ret_ranges };

	if (listing == QLESS_LIST_COMPLETE)
		add_page_from_end(&ranges, &q->completed, offset, count);
	else if (queue != NULL)
		add_of_queue(&ranges, now, listing, queue, offset, count);
	return ranges.count;
}

void view_tagged(const struct qless *q, struct qless_str tag, int64_t offset, int64_t count,
		 struct view_range *ret_range)
{
	struct ranges ranges = { .items = ret_range };

	*ret_range = (struct view_range){ .list = view_tag_jobs(q, tag) };
	if (ret_range->list != NULL)
		add_page(&ranges, ret_range->list, offset, count);
}

void view_failed(const struct qless *q, struct qless_str group, int64_t offset, int64_t count,
		 struct view_range *ret_range)
{
	struct ranges ranges = { .items = ret_range };

	*ret_range = (struct view_range){ .list = view_group(q, group) };
	if (ret_range->list != NULL)
		add_page_from_end(&ranges, ret_range->list, offset, count);
}

unsigned view_peek(const struct qless *q, double now, struct qless_str queue_text, int64_t count,
		   struct view_range ret_ranges[VIEW_RANGES_MAX])
{
	const struct queue *queue = queue_find(q, queue_text);
	struct ranges ranges = { .items = ret_ranges };
	uint64_t left = count > 0 ? (uint64_t)count : 0;
	uint32_t waiting;
	uint64_t expired;

	if (queue == NULL)
		return 0;
	expired = skiplist_count_le(&queue->locks, now);
	if (expired > left)
		expired = left;
	left -= expired;
	add_range(&ranges, &queue->locks, 0, expired, false);
	waiting = (uint32_t)queue_count_waiting(queue);
	if (waiting != 0)
		add_range(&ranges, &queue->work, waiting - 1, left < waiting ? left : waiting,
			  true);
	return ranges.count;
}

static void push_range(struct qless *q, const struct view_range *range)
{
	struct skipnode *node = skiplist_at(range->list, range->first);

	for (uint64_t i = 0; i < range->count; i++) {
		assert(node != NULL);
		str_vec_push(&q->list, range->list->member(node));
		node = range->is_reverse ? skiplist_prev(node) : skiplist_next(node);
	}
}

int qless_jobs(struct qless *q, double now, enum qless_listing listing, struct qless_str queue,
	       int64_t offset, int64_t count, struct qless_list *ret_jids)
{
	struct view_range ranges[VIEW_RANGES_MAX];
	unsigned range_count;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	range_count = view_jobs(q, now, listing, queue, offset, count, ranges);
	for (unsigned i = 0; i < range_count; i++)
		push_range(q, &ranges[i]);
	*ret_jids = (struct qless_list){ q->list.items, q->list.count, q->list.count };
	return 0;
}
