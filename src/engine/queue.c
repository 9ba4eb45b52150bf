/*
 * Queues. A queue exists while something names it.
 */
#include "engine/queue.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/bundle.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/fair.h"
#include "engine/job.h"
#include "engine/lane.h"
#include "engine/limit.h"
#include "engine/lists.h"
#include "engine/named_limit.h"
#include "engine/recur.h"
#include "engine/settings.h"
#include "engine/shelf.h"
#include "engine/stats.h"
#include "engine/vec.h"
#include "util/container.h"
#include "util/mem.h"

/* Queues between a prefetch and the use of its memory: far enough for memory to answer. */
#define AHEAD 8

const struct queue_list_row queue_lists[QUEUE_ALL_LISTS] = {
#define QUEUE_LIST_ROW(NAME, field, figure, state, since, word, what, help) \
	[QUEUE_##NAME] = { #figure, (state), (since), (word), (what) },
	QUEUE_LIST_ROWS(QUEUE_LIST_ROW) QUEUE_HIDDEN_LIST_ROWS(QUEUE_LIST_ROW)
#undef QUEUE_LIST_ROW
};

struct qless_str queue_name(const struct queue *queue)
{
	return str_make(queue->name->text, queue->name_len);
}

struct queue *queue_find(const struct qless *q, struct qless_str name)
{
	struct intern *found = intern_find(&q->queue_names, name);

	return found != NULL ? found->user : NULL;
}

struct queue *queue_recall(struct qless *q, struct qless_str name)
{
	struct intern *found = intern_recall(&q->queue_names, name);

	return found != NULL ? found->user : NULL;
}

/* The limit of the queue; NULL if there is none. */
static struct named_limit *find_limit(const struct qless *q, struct qless_str name)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct named_limit *limit;

	if (intern_count(&q->limit_names) == 0)
		return NULL;
	buf_append_str(&text, STR(QUEUE_LIMIT_PREFIX));
	buf_append_str(&text, name);
	limit = named_limit_find(q, buf_str(&text));
	buf_done(&text);
	return limit;
}

void queue_use_limit(struct qless *q, struct qless_str name, struct named_limit *limit)
{
	struct queue *queue = queue_find(q, name);

	if (queue == NULL)
		return;
	queue->limit = limit;
	/* Perhaps the limit opened a moment ago, and nobody has reported that. */
	if (limit == NULL)
		queue_wake(q, queue);
}

void queue_reopen(struct qless *q, const struct named_limit *limit)
{
	struct queue *queue = queue_find(q, limit_queue_name(intern_str(limit->name)));
	double ready = named_limit_ready(limit);

	if (queue == NULL)
		return;
	queue_wake(q, queue);
	if (ready > -INFINITY)
		queue_falls_due(q, queue, ready);
}

static struct queue *queue_new(struct qless *q, struct qless_str name)
{
	unsigned height = engine_draw_height(q);
	struct queue *queue = mem_zalloc(offsetof(struct queue, node) + skipnode_size(height));

	skipnode_init(&queue->node, height);
	queue->name = intern_get(&q->queue_names, name);
	assert(queue->name->user == NULL);
	queue->name->user = queue;
	queue->name_len = queue->name->len;
	for (int i = 0; i < QUEUE_LISTS; i++)
		skiplist_init(&queue->lists[i],
			      queue_list_has_jobs((enum queue_list)i) ? job_member : recur_member);
	skiplist_init_packed(&queue->limited, job_member, job_block);
	queue->heartbeat = settings_queue_number(q, name, STR("-heartbeat"));
	queue->max_concurrency = settings_queue_number(q, name, STR("-max-concurrency"));
	queue->runtime = settings_runtime(q, name);
	queue->start_timeout = settings_start_timeout(q, name);
	queue->retain = settings_retain(q, name);
	heap_node_init(&queue->due);
	queue->class_due = INFINITY;
	queue->index = (uint32_t)q->all_queues.count;
	queue_vec_push(&q->all_queues, queue);
	queue->limit = find_limit(q, name);
	if (queue->limit != NULL)
		queue_reopen(q, queue->limit);
	queue_set_fair(q, queue, settings_is_fair(q, name));
	return queue;
}

/* The last queue takes the place of the one that leaves. */
static void leave_all(struct queue_vec *all, const struct queue *queue)
{
	struct queue *last;

	assert(queue->index < all->count && all->items[queue->index] == queue);
	last = all->items[--all->count];
	last->index = queue->index;
	all->items[last->index] = last;
}

struct queue *queue_need(struct qless *q, struct qless_str name)
{
	struct queue *queue = queue_recall(q, name);

	return queue != NULL ? queue : queue_new(q, name);
}

void queue_release(struct qless *q, struct queue *queue)
{
	if (queue->job_count > 0 || skiplist_count(&queue->recurring) > 0 || queue->node.linked ||
	    queue->paused || queue->day_count > 0)
		return;
	queue_free(q, queue);
}

void queue_free(struct qless *q, struct queue *queue)
{
	assert(queue->name->user == queue && queue->job_count == 0 && !queue->paused);
	for (int i = 0; i < QUEUE_ALL_LISTS; i++)
		assert(skiplist_count(&queue->lists[i]) == 0);
	if (queue->node.linked)
		skiplist_remove(&q->queues, &queue->node);
	if (heap_has(&queue->due))
		heap_remove(&q->due, &queue->due);
	queue_forget_woken(q, queue);
	for (int i = 0; i < QUEUE_ALL_LISTS; i++)
		skiplist_done(&queue->lists[i]);
	fair_free(q, queue->fair);
	while (shelves_discard_one(queue))
		continue;
	filing_free(q, queue->filing);
	stats_free_days(queue);
	leave_all(&q->all_queues, queue);
	queue->name->user = NULL;
	intern_unref(&q->queue_names, queue->name);
	free(queue);
}

static void prefetch_queue(const struct queue *queue)
{
	size_t at;

	for (at = 0; at < offsetof(struct queue, meter); at += CACHE_LINE_BYTES)
		__builtin_prefetch((const char *)queue + at);
}

/* Thousands of queues do not fit into the cache. Prefetch the queue at `far`, and the first lock of
 * the queue at `near`, which shows whether any locks expired. */
static void look_ahead(const struct queue_vec *v, size_t near, size_t far)
{
	if (far < v->count)
		prefetch_queue(v->items[far]);
	if (near < v->count)
		__builtin_prefetch(skiplist_first(&v->items[near]->locks));
}

void queue_each(const struct qless *q, queue_visit_fn *visit, void *arg)
{
	const struct queue_vec *all = &q->all_queues;
	size_t i;

	/* Backwards, because the queue that takes the place of a freed one was visited. */
	for (i = all->count; i-- > 0;) {
		look_ahead(all, i - AHEAD, i - (size_t)2 * AHEAD);
		visit(all->items[i], arg);
	}
}

void queue_know(struct qless *q, struct queue *queue, double now)
{
	if (queue->node.linked)
		return;
	assert(queue->name->user == queue);
	skiplist_insert(&q->queues, &queue->node, now);
	engine_changed(q);
}

double queue_lock_expiry(const struct qless *q, const struct queue *queue, double now)
{
	double own = queue != NULL ? queue->heartbeat : NAN;

	return finite_add(now, isnan(own) ? q->settings.heartbeat : own);
}

void queue_due_range(const struct queue *queue, double now, uint32_t *ret_first, uint32_t *ret_end)
{
	*ret_first = skiplist_count_lt(&queue->scheduled, 0);
	*ret_end = now >= 0 ? skiplist_count_le(&queue->scheduled, now) : *ret_first;
	assert(*ret_first <= *ret_end && *ret_end <= skiplist_count(&queue->scheduled));
}

void qless_queues(struct qless *q, struct qless_list *ret_names)
{
	struct skipnode *node;

	str_vec_clear(&q->list);
	for (node = skiplist_first(&q->queues); node != NULL; node = skiplist_next(node))
		str_vec_push(&q->list, queue_name(container_of(node, struct queue, node)));
	*ret_names = (struct qless_list){ q->list.items, q->list.count, q->list.count };
}

uint64_t queue_count_locks(const struct queue *queue, double now)
{
	return skiplist_count(&queue->locks) - skiplist_count_range(&queue->locks, 0, now);
}

uint64_t queue_count_waiting(const struct queue *queue)
{
	return (uint64_t)skiplist_count(&queue->work) + skiplist_count(&queue->limited);
}

static void count_queue(const struct queue *queue, double now,
			struct qless_queue_counts *ret_counts)
{
	uint64_t stalled = skiplist_count_range(&queue->locks, 0, now);
	uint32_t first_due, due_end;

	queue_due_range(queue, now, &first_due, &due_end);
	*ret_counts = (struct qless_queue_counts){
		.name = queue_name(queue),
		.waiting = queue_count_waiting(queue),
		.running = skiplist_count(&queue->locks) - stalled,
		.stalled = stalled,
		.scheduled = skiplist_count(&queue->scheduled),
		.due = due_end - first_due,
		.depends = skiplist_count(&queue->depends),
		.recurring = skiplist_count(&queue->recurring),
		.paused = queue->paused,
	};
}

int qless_queue_counts(struct qless *q, double now, struct qless_str name,
		       struct qless_queue_counts *ret_counts)
{
	const struct queue *queue = queue_find(q, name);

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (queue != NULL)
		count_queue(queue, now, ret_counts);
	else
		*ret_counts = (struct qless_queue_counts){ .name = name };
	return 0;
}

int qless_all_queue_counts(struct qless *q, double now, const struct qless_queue_counts **ret_items,
			   size_t *ret_count)
{
	struct queue_vec *queues = &q->queues_out;
	struct skipnode *node;
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	queues->count = 0;
	for (node = skiplist_first(&q->queues); node != NULL; node = skiplist_next(node))
		queue_vec_push(queues, container_of(node, struct queue, node));
	q->queue_counts =
		mem_realloc_array(q->queue_counts, queues->count + 1, sizeof(*q->queue_counts));
	for (i = 0; i < queues->count; i++) {
		look_ahead(queues, i + AHEAD, i + (size_t)2 * AHEAD);
		count_queue(queues->items[i], now, &q->queue_counts[i]);
	}
	*ret_items = q->queue_counts;
	*ret_count = queues->count;
	return 0;
}

uint64_t qless_queue_length(const struct qless *q, struct qless_str name)
{
	const struct queue *queue = queue_find(q, name);

	if (queue == NULL)
		return 0;
	return queue_count_waiting(queue) + skiplist_count(&queue->locks) +
	       skiplist_count(&queue->scheduled);
}

int qless_pause(struct qless *q, double now, const struct qless_str *names, size_t count)
{
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_names(q, "queues", names, count) < 0)
		return engine_fail_during(q, QLESS_OP_PAUSE);
	for (i = 0; i < count; i++) {
		struct queue *queue = queue_need(q, names[i]);

		if (queue->paused)
			continue;
		queue->paused = true;
		q->paused_count++;
		assert(q->paused_count <= q->all_queues.count);
		engine_changed(q);
	}
	return 0;
}

int qless_unpause(struct qless *q, double now, const struct qless_str *names, size_t count)
{
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	for (i = 0; i < count; i++) {
		struct queue *queue = queue_find(q, names[i]);

		if (queue == NULL || !queue->paused)
			continue;
		assert(q->paused_count > 0);
		queue->paused = false;
		q->paused_count--;
		queue_resume(q, queue);
		engine_changed(q);
		queue_release(q, queue);
	}
	return 0;
}

int qless_queue_forget(struct qless *q, double now, const struct qless_str *names, size_t count)
{
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	for (i = 0; i < count; i++) {
		struct queue *queue = queue_find(q, names[i]);

		if (queue == NULL || !queue->node.linked)
			continue;
		skiplist_remove(&q->queues, &queue->node);
		engine_changed(q);
		queue_release(q, queue);
	}
	return 0;
}
