/*
 * Shelves: the waiting jobs of one class in a queue, for pops that hand out that class only.
 *
 * A queue has a shelf for each class that somebody asked for, and most queues have none. A shelf
 * has an entry for each waiting job without limits, in the order of the queue. Jobs with limits are
 * in lanes, see lane.h: those on a shelf have a filing of their own, so a search can look at them
 * alone. A pop of any class looks at all filings of the queue.
 *
 *	SHELF_BUILDING --> SHELF_FULL --> SHELF_DROPPING --> (freed)
 *	      ^   |                        |   ^
 *	      |   +------------------------+---+
 *	      +----------------------------+
 *
 * A shelf never decides which job is next, only how soon it is found. So it is no part of the
 * state, and may be made and dropped at any time. Both are done in portions, because a queue may
 * have millions of jobs. While a shelf is built, new jobs go there at once. A shelf is dropped once
 * it had more changes since it was last asked for than making it anew would take.
 *
 * A class without jobs has no shelf. A queue has SHELVES_MAX shelves, and a database
 * max-class-indexes: a search for jobs looks at all shelves of a queue, and each takes memory. If
 * another class needs one, the shelf that was asked for least recently gives way. A queue may have
 * clients for more classes than that. So a shelf that is being built stays, or none would ever be
 * full, and clients that wait let shelves give way at a limited rate.
 */
#ifndef ENGINE_SHELF_H
#define ENGINE_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "qless.h"
#include "engine/job.h"
#include "engine/queue.h"
#include "util/buf.h"
#include "util/skiplist.h"

struct filing;

/* The most shelves of a queue, without those that are being dropped. */
#define SHELVES_MAX 64
/* The most shelves of a database that are being dropped when another one has to give way. */
#define SHELVES_DROPPING_MAX 64

enum shelf_state {
	SHELF_BUILDING,
	SHELF_FULL,
	SHELF_DROPPING,
};

struct shelf {
	struct shelf_books *books;
	struct queue *queue;
	TAILQ_ENTRY(shelf) link; /* in books->asked, or in books->dropping */
	struct filing *filing;	 /* of its jobs with limits */
	enum shelf_state state;
	struct skiplist plain; /* entries of its jobs without limits */
	uint64_t changes;      /* since it was last asked for */
	uint64_t asked;	       /* number of that call */
	double asked_at;       /* its time */
	/* While it is built: the next job to look at. */
	bool is_at_limited; /* it is in queue->limited, and queue->work is done */
	bool has_at;
	double at_score;
	struct buf at_jid;
	size_t len;
	char klass[];
};

/* The shelves of a queue. */
struct shelves {
	size_t count;
	size_t kept; /* without those that are being dropped */
	size_t cap;
	struct shelf **items;
};

/* Whether somebody waits for the shelf, and when. */
struct shelf_wish {
	double now;
	bool can_wait; /* the caller may come back once the queue has woken */
};

void shelves_init(struct qless *q);

/* The shelf of a class; NULL if there is none. */
struct shelf *shelf_find(const struct queue *queue, struct qless_str klass);

/* The shelf of the class of a job in its queue, whether or not the job is on it. */
static inline struct shelf *shelf_of(const struct qless_job *job)
{
	if (__builtin_expect(job->queue->shelves == NULL, 1))
		return NULL;
	return shelf_find(job->queue, intern_str(job->klass));
}

/* The shelf for a job that begins to wait; NULL if there is none. */
static inline struct shelf *shelf_that_takes(const struct qless_job *job)
{
	struct shelf *shelf = shelf_of(job);

	return shelf != NULL && shelf->state != SHELF_DROPPING ? shelf : NULL;
}

/* The filings of a queue, one after the other: *at is 0 before the first call. NULL: no more. */
static inline struct filing *shelf_next_filing(const struct queue *queue, size_t *at)
{
	size_t i = (*at)++;

	if (i == 0)
		return queue->filing;
	if (__builtin_expect(queue->shelves == NULL, 1) || i > queue->shelves->count)
		return NULL;
	return queue->shelves->items[i - 1]->filing;
}

/* Note that a job without limits begins to wait with that score, or no longer waits. */
void shelf_enter(const struct qless_job *job, double score);
void shelf_leave(const struct qless_job *job);

/* Go on to make the shelf of a class: look at *left jobs at most, and take them off *left. Returns
 * whether a pop finds it ready. If not, the queue wakes, or falls due when another try makes sense.
 */
bool shelf_prepare(struct qless *q, struct queue *queue, struct qless_str klass,
		   struct shelf_wish wish, size_t *left);
/* The full shelf of a class, which is made now unless it was prepared. NULL if no job has the
 * class. */
struct shelf *shelf_need(struct qless *q, struct queue *queue, struct qless_str klass, double now);
/* Note that somebody asks for a shelf. */
void shelf_ask(struct shelf *shelf, double now);
/* Let a shelf take no more jobs, and be dropped by and by. */
void shelf_begin_dropping(struct shelf *shelf);
/* Whether any job may have the class. */
bool shelf_has_jobs(const struct qless *q, struct qless_str klass);
/* The best job without limits on a full shelf; NULL if there is none. */
struct qless_job *shelf_best(const struct shelf *shelf);

/* Drop some of the jobs of shelves that nobody asks for. Call this when no search is under way. */
void shelves_tidy(struct qless *q, struct queue *queue);
/* Drop all shelves of all queues, before a repair. */
void shelves_drop(struct qless *q);

/* Free a part of the shelves of a queue whose jobs are discarded. Returns false if nothing was
 * left. */
bool shelves_discard_one(struct queue *queue);
/* Whether full shelves have the jobs of their classes. */
bool shelves_are_sound(const struct qless *q, const struct queue *queue);

#endif
