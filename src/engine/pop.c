/*
 * Handing jobs out, and showing those that would be handed out next.
 */
#include <assert.h>
#include <math.h>

#include "engine/account.h"
#include "engine/advance.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/fair.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/lane.h"
#include "engine/limit.h"
#include "engine/lock.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/run.h"
#include "engine/runtime.h"
#include "engine/shelf.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/vec.h"
#include "engine/worker.h"
#include "util/minmax.h"
#include "util/skipmerge.h"

/* Jobs for which prefetched memory is still in the cache when they are completed. */
#define FEW_JOBS 64u

/* Expired locks of holders of limits, of all queues, that one pop looks after. If all workers of a
 * limit with 100,000 slots die at once, the next pops share the work. */
#define LATE_HOLDERS_MAX 1000u

/* Bytes of the jobs that one pop chooses from a queue with limited jobs, unless the first one alone
 * has more. The caller cannot count them in advance: it does not know which jobs may run. */
#define CHOSEN_BYTES_MAX ((size_t)4 * 1024 * 1024)
/* Slots of limits that one pop takes, unless the first job alone has more, and slots of the expired
 * locks that it looks after. Taking a slot costs about a quarter of handing out a job. */
#define CHOSEN_SLOTS_MAX 25000u

/* Expired locks, and jobs that are due, that a pop of one class looks after: they are in no order
 * of classes, so it treats those of all classes. The next pops go on. */
#define CLASS_LATE_MAX	250
#define CLASS_MOVED_MAX 1000
/* Jobs that are due that such a pop moves at once. */
#define CLASS_MOVED_AT_ONCE 64

/* For pops of any class. */
#define ANY_CLASS str_make(NULL, 0)

/* Bytes of a dependent in the listing of its job, roughly. */
#define DEPENDENT_BYTES 64
/* Bytes of a tag in the listing of its job, roughly. */
#define TAG_BYTES 16
/* Making a job with a tag takes as long as this many bytes of data. */
#define NEW_TAG_BYTES 256

/* Hand the job to the worker. All jobs of a pop enter the lists together, from the batch. */
static void hand_out(struct qless *q, struct queue *queue, struct qless_job *job, double now,
		     struct intern *worker, double expires)
{
	assert(job->queue == queue);
	/* A job that was chosen has left its list, so that the next one could be chosen. The run of
	 * a job that another worker lost has ended already. */
	if (job->node.linked)
		job_leave(q, job);
	history_append_popped(q, &job->history, now, worker);
	stats_record_wait(q, queue, now, now - job->time);
	job_count_pop(q, job, now - job->time);
	job->time = now;
	job_set_worker(q, job, worker);
	job->expires = expires;
	if (job->flags & JOB_CARRIES)
		account_begin_run(q, job);
	assert(q->last_lock < QLESS_LOCK_MAX);
	job_set_lock(job, ++q->last_lock);
	job_batch_as(q, job, QLESS_RUNNING, expires);
	event_tracked(q, job, "ql:popped");
	engine_changed(q);
	/* The worker will complete the job. If there are many jobs, the cache forgets the first
	 * before that. */
	if (q->jobs_out.count <= FEW_JOBS)
		hash_prefetch(&q->jobs, job->hash.hash);
}

/* Insert the batch into the locks, and let the worker hold its jobs. Both lists have the jobs in
 * the same order, so they are sorted once. */
static void enter_locks(struct qless *q, struct queue *queue, double now, struct intern *worker,
			double expires)
{
	struct skiplist_batch *batch = &q->batch;
	size_t count = q->jobs_out.count, i;

	if (count == 0)
		return;
	assert(batch->count == count);
	skiplist_sort_batch(&queue->locks, batch);
	job_vec_clear(&q->picked);
	for (i = 0; i < count; i++)
		job_vec_push(&q->picked, job_from_node(skiplist_batch_node(batch, i)));
	job_place_batch(q, queue, QLESS_RUNNING);
	worker_hold_jobs(q, worker, &q->picked, expires);
	worker_count(q, worker, now, DEED_POPPED, count);
}

/* Decide when the runs of the jobs that were handed out are over. */
static __attribute__((noinline)) void begin_runtimes(struct qless *q, double now)
{
	for (size_t i = 0; i < q->jobs_out.count; i++)
		runtime_begin(q, q->jobs_out.items[i], now);
}

/* Count the hand-out in a queue with fair order. */
static void count_turn(struct qless *q, struct queue *queue, const struct qless_job *job)
{
	if (queue->fair != NULL)
		fair_count(q, queue, job);
}

/* Bytes of what a job has most of. */
static size_t job_bytes(const struct qless_job *job)
{
	size_t bytes = job->node.aux + job->history.len;

	if (job_extra(job) == NULL)
		return bytes;
	if (job_extra(job)->dependents != NULL)
		bytes += (size_t)skiplist_count(job_extra(job)->dependents) * DEPENDENT_BYTES;
	if (job_extra(job)->tags != NULL)
		bytes += job_extra(job)->tags->count * TAG_BYTES;
	return bytes;
}

/* The room that a pop has left for its jobs. */
struct budget {
	size_t bytes;
	size_t slots; /* of their limits */
};

/* Takes a job off the budget. Returns false if it is too large for what is left. */
static bool takes_job(const struct skipnode *node, struct budget *left)
{
	const struct qless_job *job = job_from_node(node);
	size_t bytes = job_bytes(job);
	size_t slots = job->flags & JOB_LIMITED ? job_limits(job)->count : 0;

	if (bytes > left->bytes || slots > left->slots)
		return false;
	left->bytes -= bytes;
	left->slots -= slots;
	return true;
}

/* Prefetch a job with limits that is probably handed out soon: first the job, and what it points to
 * once another question has found the same job. */
static void prefetch_limited(struct qless *q, const struct qless_job *job)
{
	const char *limited;

	if (q->prefetched != job) {
		q->prefetched = job;
		job_prefetch(&job->node);
		return;
	}
	limited = (const char *)job_limited(job);
	__builtin_prefetch(limited);
	__builtin_prefetch(limited + sizeof(struct job_limited) - 1);
	__builtin_prefetch(job->node.prev);
	__builtin_prefetch(job->node.next);
}

/* Prefetch the job that is probably the best of a lane once this one has left. */
static inline void prefetch_next_of_lane(const struct qless_job *job)
{
	const struct lane_links *links = &job_limited(job)->lane;
	const struct qless_job *next = links->child[1] != NULL ? links->child[1] : links->up;

	if (next == NULL)
		return;
	__builtin_prefetch(next);
	__builtin_prefetch(&next->node);
}

/* The best waiting job without limits: on the shelf, unless that is NULL. */
static inline struct qless_job *best_plain(const struct queue *queue, const struct shelf *shelf)
{
	const struct skipnode *node;

	if (shelf != NULL)
		return shelf_best(shelf);
	node = skiplist_last(&queue->work);
	return node != NULL ? job_from_node(node) : NULL;
}

/* Move more of what is due for a pop of one class, up to *left jobs, most of which may have another
 * class. Returns whether there was anything. */
static bool move_due_of_any(struct qless *q, struct queue *queue, double now, int64_t *left)
{
	int64_t moved;

	if (*left <= 0) {
		queue_wake(q, queue);
		return false;
	}
	moved = advance_for_pop(q, queue, now, CLASS_MOVED_AT_ONCE);
	*left -= moved;
	return moved > 0;
}

/* Move more of what is due, because nothing that waits may be handed out. Returns whether there was
 * anything. */
static __attribute__((noinline)) bool move_due(struct qless *q, struct queue *queue,
					       const struct shelf *shelf, double now, int64_t max,
					       int64_t *left)
{
	return shelf == NULL ? advance_for_pop(q, queue, now, max) > 0
			     : move_due_of_any(q, queue, now, left);
}

/* Choose the best jobs that may run, on the shelf unless that is NULL, and take their tokens and
 * slots. If all that wait are shut, go on with what is due: the jobs that came due first may all be
 * shut, too. */
static void choose_waiting(struct qless *q, struct queue *queue, struct shelf *shelf, double now,
			   int64_t max, double expires, struct lane_search *search)
{
	struct budget left = { CHOSEN_BYTES_MAX, CHOSEN_SLOTS_MAX };
	int64_t moves_left = CLASS_MOVED_MAX;

	while (max > 0 && !search->is_stopped) {
		struct qless_job *other = best_plain(queue, shelf);
		struct qless_job *limited = lane_choose(q, queue, shelf, now, other, search);
		struct qless_job *job = limited != NULL ? limited : other;

		if (search->is_stopped)
			break;
		if (job == NULL) {
			if (!move_due(q, queue, shelf, now, max, &moves_left))
				break;
			lane_search_step(search);
			continue;
		}
		if (limited != NULL)
			prefetch_next_of_lane(job);
		if (!takes_job(&job->node, &left) && q->jobs_out.count > 0)
			break;
		count_turn(q, queue, job);
		job_leave(q, job);
		if (limited != NULL)
			lane_charge(q, job, now, expires);
		job_vec_push(&q->jobs_out, job);
		max--;
		lane_search_step(search);
	}
}

static void push_waiting(const struct queue *queue, int64_t max, struct job_vec *ret_jobs)
{
	struct skipnode *node = skiplist_last(&queue->work);

	for (; max > 0 && node != NULL; max--, node = skiplist_prev(node))
		job_vec_push(ret_jobs, job_from_node(node));
}

/* The waiting jobs, with limits or without. */
static struct skipmerge waiting_order(const struct queue *queue)
{
	return (struct skipmerge){ &queue->work, &queue->limited };
}

static void push_all_waiting(const struct queue *queue, int64_t max, struct job_vec *ret_jobs)
{
	struct skipmerge order = waiting_order(queue);
	const struct skipnode *node;

	if (skipmerge_is_single(&order)) {
		push_waiting(queue, max, ret_jobs);
		return;
	}
	node = skipmerge_last(&order);
	for (; max > 0 && node != NULL; max--, node = skipmerge_prev(&order, node))
		job_vec_push(ret_jobs, job_from_node(node));
}

/* `count`, or less if the option <queue>-max-concurrency leaves less room. */
static int64_t limit_concurrency(const struct queue *queue, double now, int64_t count)
{
	double running;
	double room;

	if (isnan(queue->max_concurrency) || queue->max_concurrency <= 0)
		return count;
	running = skiplist_count(&queue->locks) - skiplist_count_lt(&queue->locks, now);
	assert(running >= 0);
	room = fmax(0, queue->max_concurrency - running);
	return room < (double)count ? (int64_t)room : count;
}

/* The hand-outs that the limit `queue:<name>` allows, at most `count`. */
static int64_t limit_rate(const struct queue *queue, double now, int64_t count)
{
	struct named_limit trial;
	int64_t allowed = 0;

	if (queue->limit == NULL)
		return count;
	trial = *queue->limit;
	if (trial.rule == NULL || !(trial.rule->rate > 0))
		return named_limit_ready(&trial) <= now ? count : 0;
	for (; allowed < count && named_limit_ready(&trial) <= now; allowed++)
		named_limit_charge(&trial, now);
	return allowed;
}

/* Take the tokens of `queue:<name>`. */
static void charge_queue(struct qless *q, struct queue *queue, double now, size_t count)
{
	struct named_limit *limit = queue->limit;
	double ready;

	if (limit == NULL || limit->rule == NULL || !(limit->rule->rate > 0) || count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		named_limit_charge(limit, now);
	ready = named_limit_ready(limit);
	if (ready > q->due_taken)
		queue_falls_due(q, queue, ready);
	named_limit_settle(q, limit, now);
}

static int check_count(struct qless *q, enum qless_operation operation, int64_t count)
{
	if (count < 0)
		return engine_fail_number(q, operation, QLESS_WHY_NEGATIVE, "count", (double)count);
	if (limit_check_jobs(q, count) < 0)
		return engine_fail_during(q, operation);
	return 0;
}

static void set_result(struct qless *q, struct qless_jobs *ret_jobs)
{
	*ret_jobs = (struct qless_jobs){
		(const struct qless_job *const *)q->jobs_out.items,
		q->jobs_out.count,
	};
}

/* Move what is due as a pop of a class does that finds no job. */
static void move_without_choice(struct qless *q, struct queue *queue, double now,
				struct lane_search *search)
{
	int64_t left = CLASS_MOVED_MAX;

	while (!search->is_stopped && move_due_of_any(q, queue, now, &left))
		lane_search_step(search);
}

/* Choose jobs of one class. The jobs whose locks expired wait for their turn. */
static void choose_of_class(struct qless *q, struct queue *queue, struct qless_str klass,
			    double now, int64_t count, double expires, struct lane_search *search)
{
	struct shelf *shelf;

	if (!lock_expire_any(q, queue, now, CLASS_LATE_MAX))
		queue_wake(q, queue);
	advance_for_pop(q, queue, now, count);
	shelf = shelf_need(q, queue, klass, now);
	if (search->steps_left == 0)
		return;
	if (shelf != NULL)
		choose_waiting(q, queue, shelf, now, count, expires, search);
	else
		move_without_choice(q, queue, now, search);
}

/* Choose jobs of any class. */
static void choose(struct qless *q, struct queue *queue, double now, int64_t count, double expires,
		   struct lane_search *search)
{
	lock_expire(q, queue, now, count, &q->jobs_out);
	count -= (int64_t)q->jobs_out.count;
	assert(count >= 0);
	advance_for_pop(q, queue, now, count);
	if (skiplist_count(&queue->limited) == 0 && queue->fair == NULL)
		push_waiting(queue, count, &q->jobs_out);
	else if (search->steps_left > 0)
		choose_waiting(q, queue, NULL, now, count, expires, search);
}

/* Pop from a queue that exists, into jobs_out. The arguments have been checked, and nothing that a
 * job contains makes this fail. */
static void pop_from(struct qless *q, struct queue *queue, double now, struct intern *worker,
		     struct qless_str klass, int64_t count, struct lane_search *search)
{
	double expires = queue_lock_expiry(q, queue, now);
	unsigned flags = 0;
	size_t i;

	count = limit_rate(queue, now, limit_concurrency(queue, now, count));
	worker_seen(q, worker, now);
	if (count == 0)
		return;
	if (__builtin_expect(queue->shelves != NULL, 0))
		shelves_tidy(q, queue);
	if (__builtin_expect(klass.ptr != NULL, 0))
		choose_of_class(q, queue, klass, now, count, expires, search);
	else
		choose(q, queue, now, count, expires, search);
	charge_queue(q, queue, now, q->jobs_out.count);
	assert(q->batch.count == 0);
	for (i = 0; i < q->jobs_out.count; i++) {
		flags |= q->jobs_out.items[i]->flags;
		hand_out(q, queue, q->jobs_out.items[i], now, worker, expires);
	}
	enter_locks(q, queue, now, worker, expires);
	assert(q->batch.count == 0);
	if ((flags & JOB_CARRIES) || queue->runtime > 0 || queue->start_timeout > 0)
		begin_runtimes(q, now);
	job_prefetch(skiplist_last(&queue->work));
}

static int pop(struct qless *q, double now, struct qless_str queue_text,
	       struct qless_str worker_text, struct qless_str klass, int64_t count,
	       struct lane_search *search, struct qless_jobs *ret_jobs)
{
	struct queue *queue;
	struct intern *worker;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_name(q, "worker", worker_text) < 0)
		return engine_fail_during(q, QLESS_OP_POP);
	rc = check_count(q, QLESS_OP_POP, count);
	if (rc < 0)
		return rc;
	queue = queue_recall(q, queue_text);
	if (queue == NULL || !queue->paused) {
		worker = intern_get(&q->worker_names, worker_text);
		if (queue != NULL)
			pop_from(q, queue, now, worker, klass, count, search);
		else
			worker_seen(q, worker, now);
		intern_unref(&q->worker_names, worker);
	}
	set_result(q, ret_jobs);
	return 0;
}

int qless_pop(struct qless *q, double now, struct qless_str queue, struct qless_str worker,
	      int64_t count, struct qless_jobs *ret_jobs)
{
	return qless_pop_steps(q, now, queue, worker, count, UINT64_MAX, ret_jobs);
}

int qless_pop_steps(struct qless *q, double now, struct qless_str queue, struct qless_str worker,
		    int64_t count, uint64_t steps, struct qless_jobs *ret_jobs)
{
	return qless_pop_class_steps(q, now, queue, worker, ANY_CLASS, count, steps, ret_jobs);
}

int qless_pop_class_steps(struct qless *q, double now, struct qless_str queue,
			  struct qless_str worker, struct qless_str klass, int64_t count,
			  uint64_t steps, struct qless_jobs *ret_jobs)
{
	struct lane_search search = {
		.late_left = LATE_HOLDERS_MAX,
		.looks_left = UINT64_MAX,
		.steps_left = steps,
	};

	return pop(q, now, queue, worker, klass, count, &search, ret_jobs);
}

uint64_t qless_share_looks(struct qless *q, uint64_t looks)
{
	uint64_t left = q->looks_shared;

	q->looks_shared = looks == UINT64_MAX ? looks : min_u64(looks, q->looks_max);
	return left;
}

/* The looks of the next search. */
static uint64_t begin_looks(const struct qless *q)
{
	return q->looks_shared == UINT64_MAX ? q->looks_max : max_u64(q->looks_shared, 1);
}

/* A search that had `given` looks has some of them left. */
static void end_looks(struct qless *q, uint64_t given, uint64_t left)
{
	if (q->looks_shared != UINT64_MAX)
		q->looks_shared -= min_u64(given - min_u64(left, given), q->looks_shared);
}

int qless_pop_some(struct qless *q, double now, struct qless_str queue, struct qless_str worker,
		   int64_t count, struct qless_jobs *ret_jobs, bool *ret_is_stopped,
		   uint64_t *ret_steps)
{
	return qless_pop_class_some(q, now, queue, worker, ANY_CLASS, count, ret_jobs,
				    ret_is_stopped, ret_steps);
}

int qless_pop_class_some(struct qless *q, double now, struct qless_str queue,
			 struct qless_str worker, struct qless_str klass, int64_t count,
			 struct qless_jobs *ret_jobs, bool *ret_is_stopped, uint64_t *ret_steps)
{
	struct lane_search search = {
		.late_left = LATE_HOLDERS_MAX,
		.looks_left = begin_looks(q),
		.steps_left = UINT64_MAX,
	};
	uint64_t given = search.looks_left;
	int rc = pop(q, now, queue, worker, klass, count, &search, ret_jobs);

	end_looks(q, given, search.looks_left);
	*ret_is_stopped = search.is_stopped;
	*ret_steps = search.steps;
	return rc;
}

static bool is_due(const struct skiplist *list, double now)
{
	const struct skipnode *node = skiplist_first_ge(list, 0);

	return node != NULL && node->score <= now;
}

/* Whether a job with limits may run, on the shelf unless that is NULL, or the search stops. It
 * files lanes, which is no change of the state. */
static bool has_open_lane(const struct qless *q, struct queue *queue, struct shelf *shelf,
			  double now)
{
	struct lane_search search = {
		.is_question = true,
		.looks_left = begin_looks(q),
		.steps_left = UINT64_MAX,
	};
	uint64_t given = search.looks_left;
	struct qless *changing = (struct qless *)(uintptr_t)q;
	const struct qless_job *job = lane_choose(changing, queue, shelf, now, NULL, &search);

	end_looks(changing, given, search.looks_left);
	if (job == NULL)
		return search.is_stopped;
	prefetch_limited(changing, job);
	return true;
}

/* Whether a pop may hand out anything. */
static bool may_hand_out(const struct queue *queue, double now)
{
	return !queue->paused && limit_concurrency(queue, now, 1) > 0 &&
	       limit_rate(queue, now, 1) > 0;
}

/* Whether a pop finds an expired lock, or something that is due. */
static bool has_something_due(const struct queue *queue, double now)
{
	return lock_is_expired(skiplist_first(&queue->locks), now) ||
	       is_due(&queue->scheduled, now) || is_due(&queue->recurring, now);
}

bool qless_is_poppable(const struct qless *q, double now, struct qless_str queue_text)
{
	struct queue *queue = queue_find(q, queue_text);

	return queue != NULL && may_hand_out(queue, now) &&
	       (skiplist_count(&queue->work) != 0 ||
		(skiplist_count(&queue->limited) != 0 && has_open_lane(q, queue, NULL, now)) ||
		has_something_due(queue, now));
}

/* ---- pops of one class ---- */

bool qless_prepare_class(struct qless *q, double now, struct qless_str queue_text,
			 struct qless_str klass, bool can_wait, size_t *left)
{
	struct shelf_wish wish = { now, can_wait };
	struct queue *queue = queue_find(q, queue_text);

	return queue == NULL || shelf_prepare(q, queue, klass, wish, left);
}

size_t qless_class_index_count(const struct qless *q)
{
	return q->shelf_books.kept + q->shelf_books.dropped;
}

size_t qless_class_entry_count(const struct qless *q)
{
	return q->shelf_books.entries;
}

/* Whether a job of the class waits and may run. Nobody knows that before the shelf is full. */
static bool has_waiting(const struct qless *q, struct queue *queue, struct qless_str klass,
			double now)
{
	struct shelf *shelf = shelf_find(queue, klass);

	if (shelf == NULL || shelf->state != SHELF_FULL)
		return shelf_has_jobs(q, klass) && queue_count_waiting(queue) > 0;
	shelf_ask(shelf, now);
	return shelf_best(shelf) != NULL || has_open_lane(q, queue, shelf, now);
}

bool qless_is_class_poppable(const struct qless *q, double now, struct qless_str queue_text,
			     struct qless_str klass)
{
	struct queue *queue = queue_find(q, queue_text);

	return queue != NULL && may_hand_out(queue, now) &&
	       (has_something_due(queue, now) || has_waiting(q, queue, klass, now));
}

/* Bytes of the jobs that a recurring job makes if it is due: at most `count` jobs. */
static size_t made_bytes(const struct qless_recur *recur, double now, int64_t count)
{
	size_t each = recur->data_len + (size_t)recur->tag_count * NEW_TAG_BYTES;

	return each * (size_t)recur_count_due(recur, now, (double)count);
}

/* Bytes of up to `count` jobs that are due, and of as many jobs of each recurring one. */
static size_t due_bytes(const struct queue *queue, double now, int64_t count)
{
	const struct skipnode *node;
	size_t bytes = 0;
	int64_t left = count;

	node = skiplist_first(&queue->scheduled);
	for (; left > 0 && node != NULL && node->score <= now; left--, node = skiplist_next(node))
		bytes += job_bytes(job_from_node(node));
	left = count;
	node = skiplist_first(&queue->recurring);
	for (; left > 0 && node != NULL && node->score <= now; left--, node = skiplist_next(node))
		bytes += made_bytes(recur_from_node(node), now, count);
	return bytes;
}

int64_t qless_count_poppable(struct qless *q, double now, struct qless_str queue_text,
			     int64_t count, size_t max_bytes, bool due)
{
	const struct queue *queue = queue_recall(q, queue_text);
	const struct skipnode *node;
	struct budget left = { max_bytes, CHOSEN_SLOTS_MAX };
	int64_t fit = 0;

	if (queue == NULL)
		return count;
	if (due) {
		size_t bytes = due_bytes(queue, now, count);

		if (bytes > left.bytes)
			return 1;
		left.bytes -= bytes;
	}
	node = skiplist_first(&queue->locks);
	for (; fit < count && lock_is_expired(node, now); fit++, node = skiplist_next(node)) {
		if (!takes_job(node, &left))
			return fit > 0 ? fit : 1;
	}
	/* The pop itself counts the bytes and slots of jobs that it chooses by their limits. */
	if (skiplist_count(&queue->limited) > 0)
		return count;
	node = skiplist_last(&queue->work);
	for (; fit < count && node != NULL; fit++, node = skiplist_prev(node)) {
		if (!takes_job(node, &left))
			return fit > 0 ? fit : 1;
	}
	return count;
}

int qless_peek(struct qless *q, double now, struct qless_str queue_text, int64_t count,
	       struct qless_jobs *ret_jobs)
{
	const struct queue *queue;
	struct skipnode *node;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	rc = check_count(q, QLESS_OP_PEEK, count);
	if (rc < 0)
		return rc;
	queue = queue_recall(q, queue_text);
	if (queue != NULL) {
		node = skiplist_first(&queue->locks);
		for (; count > 0 && lock_is_expired(node, now); count--, node = skiplist_next(node))
			job_vec_push(&q->jobs_out, job_from_node(node));
		push_all_waiting(queue, count, &q->jobs_out);
	}
	set_result(q, ret_jobs);
	return 0;
}
