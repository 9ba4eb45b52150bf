#include "engine/shelf.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/bundle.h"
#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/lane.h"
#include "util/container.h"
#include "util/mem.h"

/* Changes that a shelf may have without being asked for, besides twice the jobs that wait: that is
 * about what it takes to make it anew. */
#define UNASKED_CHANGES 10000
/* Jobs of an abandoned shelf that one pop drops. */
#define DROPPED_AT_ONCE 32
/* Looks at jobs that take as long as making a shelf, and as moving a job with limits to another
 * filing. */
#define LOOKS_PER_SHELF	 10
#define LOOKS_PER_REFILE 4
/* Seconds after which a shelf that nobody goes on to build gives way to others. */
#define UNBUILT_S 10.0
/* Seconds until a client that waits tries again, if all shelves of its queue are being built. */
#define RETRY_S 0.01
/* After a shelf gave way for a client that waits, none does so again for this time, multiplied by
 * the waiting jobs of the queue. Making a shelf takes a tenth of that, or less. */
#define SWAP_S_PER_JOB 5e-7
/* Calls of shelf_prepare() that make no shelf after qless_drop_classes(), which therefore comes to
 * an end. */
#define REFUSALS 10000

struct entry {
	const struct qless_job *job;
	struct skipnode node; /* last, as it may be longer */
};

static struct entry *entry_of(const struct skipnode *node)
{
	return container_of((struct skipnode *)(uintptr_t)node, struct entry, node);
}

static struct qless_str entry_member(const struct skipnode *node)
{
	return job_jid(entry_of(node)->job);
}

static struct qless_str klass_of(const struct shelf *shelf)
{
	return str_make(shelf->klass, shelf->len);
}

struct shelf *shelf_find(const struct queue *queue, struct qless_str klass)
{
	const struct shelves *all = queue->shelves;

	for (size_t i = 0; all != NULL && i < all->count; i++) {
		if (str_equal(klass_of(all->items[i]), klass))
			return all->items[i];
	}
	return NULL;
}

/* ---- entries ---- */

static void add_entry(struct shelf *shelf, const struct qless_job *job, double score)
{
	unsigned height = skiplist_draw_height(&shelf->books->heights);
	struct entry *entry = mem_alloc(offsetof(struct entry, node) + skipnode_size(height));

	entry->job = job;
	skipnode_init(&entry->node, height);
	skiplist_insert(&shelf->plain, &entry->node, score);
	shelf->books->entries++;
}

static struct skipnode *find_entry(const struct shelf *shelf, const struct qless_job *job)
{
	return skiplist_find(&shelf->plain, job->node.score, job_jid(job));
}

static void free_entry(struct shelf *shelf, struct skipnode *node)
{
	skiplist_remove(&shelf->plain, node);
	free(entry_of(node));
	shelf->books->entries--;
}

void shelf_enter(const struct qless_job *job, double score)
{
	struct shelf *shelf = shelf_that_takes(job);

	assert(!(job->flags & JOB_LIMITED));
	if (shelf == NULL)
		return;
	shelf->changes++;
	add_entry(shelf, job, score);
}

void shelf_leave(const struct qless_job *job)
{
	struct shelf *shelf = shelf_of(job);
	struct skipnode *node;

	assert(!(job->flags & JOB_LIMITED));
	if (shelf == NULL)
		return;
	shelf->changes++;
	node = find_entry(shelf, job);
	if (node != NULL)
		free_entry(shelf, node);
}

struct qless_job *shelf_best(const struct shelf *shelf)
{
	const struct skipnode *node = skiplist_last(&shelf->plain);

	assert(shelf->state == SHELF_FULL);
	return node != NULL ? (struct qless_job *)(uintptr_t)entry_of(node)->job : NULL;
}

/* ---- shelves that come and go ---- */

void shelves_init(struct qless *q)
{
	TAILQ_INIT(&q->shelf_books.asked);
	TAILQ_INIT(&q->shelf_books.dropping);
}

/* Let a shelf be one of those that are kept. */
static void keep(struct shelf *shelf)
{
	TAILQ_INSERT_TAIL(&shelf->books->asked, shelf, link);
	shelf->books->kept++;
	shelf->queue->shelves->kept++;
	shelf->state = SHELF_BUILDING;
	shelf->is_at_limited = false;
	shelf->has_at = false;
}

static void unlink_kept(struct shelf *shelf)
{
	TAILQ_REMOVE(&shelf->books->asked, shelf, link);
	shelf->books->kept--;
	shelf->queue->shelves->kept--;
}

static void unlink_dropping(struct shelf *shelf)
{
	TAILQ_REMOVE(&shelf->books->dropping, shelf, link);
	shelf->books->dropped--;
}

void shelf_begin_dropping(struct shelf *shelf)
{
	if (shelf->state == SHELF_DROPPING)
		return;
	unlink_kept(shelf);
	TAILQ_INSERT_TAIL(&shelf->books->dropping, shelf, link);
	shelf->books->dropped++;
	shelf->state = SHELF_DROPPING;
}

static void add_to_queue(struct queue *queue, struct shelf *shelf)
{
	struct shelves *all = queue->shelves;

	if (all == NULL)
		all = queue->shelves = mem_zalloc(sizeof *all);
	if (all->count == all->cap) {
		all->cap = all->cap > 0 ? 2 * all->cap : 1;
		all->items = mem_realloc_array(all->items, all->cap, sizeof all->items[0]);
	}
	all->items[all->count++] = shelf;
}

static struct shelf *shelf_new(struct qless *q, struct queue *queue, struct qless_str klass)
{
	struct shelf *shelf = mem_zalloc(sizeof *shelf + klass.len);

	/* Where there are shelves, there is the filing of the other jobs, too. */
	if (queue->filing == NULL)
		queue->filing = filing_new(queue);
	add_to_queue(queue, shelf);
	shelf->books = &q->shelf_books;
	shelf->queue = queue;
	shelf->filing = filing_new(queue);
	skiplist_init(&shelf->plain, entry_member);
	buf_init(&shelf->at_jid, BUF_NO_MAX);
	shelf->len = klass.len;
	if (klass.len > 0)
		memcpy(shelf->klass, klass.ptr, klass.len);
	keep(shelf);
	return shelf;
}

/* Free a shelf without jobs. The last one takes its place. */
static void shelf_free(struct qless *q, struct shelf *shelf)
{
	struct queue *queue = shelf->queue;
	struct shelves *all = queue->shelves;
	size_t i = 0;

	assert(skiplist_count(&shelf->plain) == 0);
	if (shelf->state == SHELF_DROPPING)
		unlink_dropping(shelf);
	else
		unlink_kept(shelf);
	while (all->items[i] != shelf)
		i++;
	all->items[i] = all->items[--all->count];
	skiplist_done(&shelf->plain);
	filing_free(q, shelf->filing);
	buf_done(&shelf->at_jid);
	free(shelf);
	if (all->count == 0) {
		free(all->items);
		free(all);
		queue->shelves = NULL;
	}
}

static void use_looks(size_t *left, size_t looks)
{
	*left -= looks < *left ? looks : *left;
}

/* Drop jobs of a shelf, and take the looks off *left. Returns false if the shelf has more;
 * otherwise it is freed. */
static bool drop_some(struct qless *q, struct shelf *shelf, size_t *left)
{
	struct skipnode *node;
	struct qless_job *job;

	shelf_begin_dropping(shelf);
	for (; (node = skiplist_last(&shelf->plain)) != NULL; use_looks(left, 1)) {
		if (*left == 0)
			return false;
		free_entry(shelf, node);
	}
	for (; (job = lane_any_job(shelf->filing)) != NULL; use_looks(left, LOOKS_PER_REFILE)) {
		if (*left == 0)
			return false;
		lane_refile(q, job);
	}
	shelf_free(q, shelf);
	return true;
}

/* Go on to drop what gave way. */
static void drop_more(struct qless *q, size_t *left)
{
	while (*left > 0 && !TAILQ_EMPTY(&q->shelf_books.dropping))
		drop_some(q, TAILQ_FIRST(&q->shelf_books.dropping), left);
}

/* ---- room for another shelf ---- */

static bool is_queue_full(const struct queue *queue)
{
	return queue->shelves != NULL && queue->shelves->kept >= SHELVES_MAX;
}

static bool is_full(const struct qless *q, const struct queue *queue)
{
	return is_queue_full(queue) || q->shelf_books.kept >= q->limits.max_class_indexes;
}

/* Whether nobody goes on to build the shelf. A clock may have been set back. */
static bool is_unbuilt(const struct shelf *shelf, double now)
{
	return shelf->state == SHELF_BUILDING && fabs(now - shelf->asked_at) > UNBUILT_S;
}

/* Whether the shelf may give way to another one. */
static bool may_give_way(const struct shelf *shelf, double now)
{
	return shelf->state == SHELF_FULL || is_unbuilt(shelf, now);
}

/* The shelf of a queue that gives way; NULL if all are being built. */
static struct shelf *find_oldest_of(const struct queue *queue, double now)
{
	const struct shelves *all = queue->shelves;
	struct shelf *oldest = NULL;

	for (size_t i = 0; i < all->count; i++) {
		if (may_give_way(all->items[i], now) &&
		    (oldest == NULL || all->items[i]->asked < oldest->asked))
			oldest = all->items[i];
	}
	return oldest;
}

/* The shelf that gives way to another one of the queue; NULL if there is none. */
static struct shelf *find_oldest(const struct qless *q, const struct queue *queue, double now)
{
	struct shelf *shelf;
	int looks = 0;

	if (is_queue_full(queue))
		return find_oldest_of(queue, now);
	TAILQ_FOREACH(shelf, &q->shelf_books.asked, link) {
		if (may_give_way(shelf, now))
			return shelf;
		if (++looks == SHELVES_MAX)
			break;
	}
	return NULL;
}

/* Until when a client that waits leaves the shelves as they are; -INFINITY if it need not. */
static double swaps_begin(const struct qless *q, double now)
{
	const struct shelf_books *books = &q->shelf_books;

	/* A clock may have been set back. */
	return now >= books->last_swap && now < books->next_swap ? books->next_swap : -INFINITY;
}

/* Let the caller come back at that time, if it can wait. */
static void try_later(struct qless *q, struct queue *queue, struct shelf_wish wish, double later)
{
	if (!wish.can_wait)
		return;
	queue->class_due = fmin(queue->class_due, later);
	queue_falls_due(q, queue, later);
}

/* Let a shelf give way, if the queue or the database has too many. Returns false if the caller has
 * to try again. */
static bool make_room(struct qless *q, struct queue *queue, struct shelf_wish wish)
{
	struct shelf_books *books = &q->shelf_books;
	double later = wish.can_wait ? swaps_begin(q, wish.now) : -INFINITY;
	struct shelf *oldest;

	while (is_full(q, queue)) {
		oldest = later == -INFINITY && books->dropped < SHELVES_DROPPING_MAX
				 ? find_oldest(q, queue, wish.now)
				 : NULL;
		if (oldest == NULL) {
			try_later(q, queue, wish, fmax(later, wish.now + RETRY_S));
			return false;
		}
		shelf_begin_dropping(oldest);
		if (wish.can_wait) {
			books->last_swap = wish.now;
			books->next_swap =
				wish.now + SWAP_S_PER_JOB * (double)queue_count_waiting(queue);
		}
	}
	return true;
}

/* Let shelves give way at once. */
static void need_room(struct qless *q, struct queue *queue)
{
	struct shelf *oldest;
	size_t all = SIZE_MAX;

	while (is_full(q, queue)) {
		oldest = TAILQ_FIRST(&q->shelf_books.asked);
		while (is_queue_full(queue) && oldest->queue != queue)
			oldest = TAILQ_NEXT(oldest, link);
		drop_some(q, oldest, &all);
	}
}

/* ---- building ---- */

/* Put a waiting job of the class on the shelf, unless it is there. Returns the looks that it takes.
 */
static size_t take(struct qless *q, struct shelf *shelf, struct qless_job *job)
{
	if (!(job->flags & JOB_LIMITED)) {
		/* A damaged score is left to a repair. */
		if (!isnan(job->node.score) && find_entry(shelf, job) == NULL)
			add_entry(shelf, job, job->node.score);
	} else if (!lane_is_in(q, shelf->filing, job)) {
		lane_refile(q, job);
		return LOOKS_PER_REFILE;
	}
	return 1;
}

/* Returns false if the list has more than *left jobs to look at. */
static bool take_some(struct qless *q, struct shelf *shelf, const struct skiplist *list,
		      const struct intern *klass, size_t *left)
{
	struct skipnode *node = skiplist_last(list), *next;

	if (shelf->has_at)
		node = skiplist_last_le_member(list, shelf->at_score, buf_str(&shelf->at_jid));
	shelf->has_at = false;
	for (; node != NULL && *left > 0; node = next) {
		struct qless_job *job = job_from_node(node);

		next = skiplist_prev(node);
		if (next != NULL)
			__builtin_prefetch(&job_from_node(next)->klass);
		use_looks(left, job->klass == klass ? take(q, shelf, job) : 1);
	}
	if (node == NULL)
		return true;
	shelf->has_at = true;
	shelf->at_score = node->score;
	buf_clear(&shelf->at_jid);
	buf_append_str(&shelf->at_jid, job_jid(job_from_node(node)));
	return false;
}

/* Returns whether the shelf is full. */
static bool build_some(struct qless *q, struct shelf *shelf, size_t *left)
{
	const struct queue *queue = shelf->queue;
	const struct intern *klass = intern_find(&q->names, klass_of(shelf));

	/* Without a name, there is no job of the class. */
	if (klass != NULL && !shelf->is_at_limited &&
	    !take_some(q, shelf, &queue->work, klass, left))
		return false;
	shelf->is_at_limited = true;
	if (klass != NULL && !take_some(q, shelf, &queue->limited, klass, left))
		return false;
	shelf->state = SHELF_FULL;
	buf_done(&shelf->at_jid);
	buf_init(&shelf->at_jid, BUF_NO_MAX);
	return true;
}

bool shelf_has_jobs(const struct qless *q, struct qless_str klass)
{
	return intern_find(&q->names, klass) != NULL;
}

void shelf_ask(struct shelf *shelf, double now)
{
	struct shelf_books *books = shelf->books;

	assert(shelf->state != SHELF_DROPPING);
	shelf->changes = 0;
	shelf->asked = ++books->calls;
	shelf->asked_at = now;
	TAILQ_REMOVE(&books->asked, shelf, link);
	TAILQ_INSERT_TAIL(&books->asked, shelf, link);
}

/* The shelf of a class for which there is room: `shelf` if it was being dropped. */
static struct shelf *begin_building(struct qless *q, struct queue *queue, struct shelf *shelf,
				    struct qless_str klass)
{
	if (shelf == NULL)
		return shelf_new(q, queue, klass);
	unlink_dropping(shelf);
	keep(shelf);
	return shelf;
}

bool shelf_prepare(struct qless *q, struct queue *queue, struct qless_str klass,
		   struct shelf_wish wish, size_t *left)
{
	struct shelf_books *books = &q->shelf_books;
	size_t for_others = *left / 2;
	struct shelf *shelf;

	if (queue->class_due <= wish.now) {
		/* Others wait for that time, which is not reported any more. */
		queue->class_due = INFINITY;
		queue_wake(q, queue);
	}
	if (!shelf_has_jobs(q, klass))
		return true;
	*left -= for_others;
	drop_more(q, &for_others);
	*left += for_others;
	shelf = shelf_find(queue, klass);
	if (shelf == NULL || shelf->state == SHELF_DROPPING) {
		if (books->refusals > 0) {
			books->refusals--;
			try_later(q, queue, wish, wish.now + RETRY_S);
			return false;
		}
		if (!make_room(q, queue, wish))
			return false;
		shelf = begin_building(q, queue, shelf, klass);
		use_looks(left, LOOKS_PER_SHELF);
	}
	shelf_ask(shelf, wish.now);
	if (shelf->state == SHELF_FULL || build_some(q, shelf, left))
		return true;
	queue_wake(q, queue);
	return false;
}

struct shelf *shelf_need(struct qless *q, struct queue *queue, struct qless_str klass, double now)
{
	struct shelf *shelf = shelf_find(queue, klass);
	size_t all = SIZE_MAX;

	if (!shelf_has_jobs(q, klass))
		return NULL;
	if (shelf == NULL || shelf->state == SHELF_DROPPING) {
		need_room(q, queue);
		shelf = begin_building(q, queue, shelf, klass);
	}
	shelf_ask(shelf, now);
	if (shelf->state == SHELF_BUILDING)
		build_some(q, shelf, &all);
	return shelf;
}

/* ---- dropping ---- */

static bool is_abandoned(const struct shelf *shelf)
{
	const struct queue *queue = shelf->queue;

	return shelf->state == SHELF_DROPPING ||
	       shelf->changes > UNASKED_CHANGES + 2 * queue_count_waiting(queue);
}

void shelves_tidy(struct qless *q, struct queue *queue)
{
	struct shelves *all = queue->shelves;
	size_t left = DROPPED_AT_ONCE;

	/* Backwards, because the shelf that takes the place of a freed one was looked at. With the
	 * last shelf, all are gone. */
	for (size_t i = all->count; i-- > 0 && left > 0;) {
		if (is_abandoned(all->items[i]))
			drop_some(q, all->items[i], &left);
	}
}

void shelves_drop(struct qless *q)
{
	size_t all = SIZE_MAX;

	while (!TAILQ_EMPTY(&q->shelf_books.asked))
		shelf_begin_dropping(TAILQ_FIRST(&q->shelf_books.asked));
	drop_more(q, &all);
}

bool qless_drop_classes(struct qless *q, size_t *left)
{
	while (!TAILQ_EMPTY(&q->shelf_books.asked))
		shelf_begin_dropping(TAILQ_FIRST(&q->shelf_books.asked));
	q->shelf_books.refusals = REFUSALS;
	drop_more(q, left);
	return TAILQ_EMPTY(&q->shelf_books.dropping);
}

bool shelves_discard_one(struct queue *queue)
{
	struct shelf *shelf;
	struct skipnode *node;

	if (queue->shelves == NULL)
		return false;
	/* The jobs are gone, and with them the texts that order the entries. */
	shelf = queue->shelves->items[0];
	node = skiplist_last(&shelf->plain);
	if (node != NULL) {
		free_entry(shelf, node);
		return true;
	}
	shelf_free(NULL, shelf);
	return true;
}

/* ---- checks ---- */

static bool is_entry_sound(const struct shelf *shelf, const struct entry *entry)
{
	const struct qless_job *job = entry->job;

	return job->queue == shelf->queue && job->node.linked &&
	       job->node.score == entry->node.score && !(job->flags & JOB_LIMITED) &&
	       (job->state == QLESS_WAITING || job->state == QLESS_STALLED) &&
	       str_equal(intern_str(job->klass), klass_of(shelf));
}

static bool has_its_plain_jobs(const struct shelf *shelf)
{
	const struct skipnode *node;
	uint32_t count = 0;

	for (node = skiplist_first(&shelf->plain); node != NULL; node = skiplist_next(node)) {
		if (!is_entry_sound(shelf, entry_of(node)))
			return false;
	}
	for (node = skiplist_first(&shelf->queue->work); node != NULL; node = skiplist_next(node))
		count += shelf_of(job_from_node(node)) == shelf;
	return shelf->state == SHELF_FULL ? count == skiplist_count(&shelf->plain)
					  : count >= skiplist_count(&shelf->plain);
}

/* Whether the job with limits is filed with its shelf, if that is full, or not at all. */
static bool is_filed(struct qless *q, const struct qless_job *job)
{
	const struct shelf *shelf = shelf_of(job);
	bool is_on_shelf = shelf != NULL && lane_is_in(q, shelf->filing, job);

	if (shelf != NULL && shelf->state == SHELF_FULL)
		return is_on_shelf;
	return is_on_shelf || lane_is_in(q, job->queue->filing, job);
}

bool shelves_are_sound(const struct qless *q, const struct queue *queue)
{
	const struct shelves *all = queue->shelves;
	const struct skipnode *node = all != NULL ? skiplist_first(&queue->limited) : NULL;

	for (size_t i = 0; all != NULL && i < all->count; i++) {
		if (!has_its_plain_jobs(all->items[i]))
			return false;
	}
	for (; node != NULL; node = skiplist_next(node)) {
		if (!is_filed((struct qless *)(uintptr_t)q, job_from_node(node)))
			return false;
	}
	return true;
}
