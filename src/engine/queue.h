/*
 * Queues. A queue exists while something names it.
 */
#ifndef ENGINE_QUEUE_H
#define ENGINE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "qless.h"
#include "engine/lists.h"
#include "engine/meter.h"
#include "util/besttree.h"
#include "util/heap.h"
#include "util/intern.h"
#include "util/skiplist.h"
#include "util/str.h"

struct fair;
struct named_limit;
struct shelves;
struct stats_day;

struct queue {
	struct intern *name;
	union {
		struct skiplist lists[QUEUE_ALL_LISTS];
		struct {
#define QUEUE_LIST_FIELD(NAME, field, ...) struct skiplist field;
			QUEUE_LIST_ROWS(QUEUE_LIST_FIELD) QUEUE_HIDDEN_LIST_ROWS(QUEUE_LIST_FIELD)
#undef QUEUE_LIST_FIELD
		};
	};
	struct stats_day *days; /* oldest first */
	uint32_t day_count;
	uint32_t day_cap;
	uint64_t job_count; /* jobs that name this queue */
	double heartbeat;   /* its own options; NAN if not set */
	double max_concurrency;
	double start_timeout;	   /* 0: none */
	double runtime;		   /* 0: runs have no limit but that of the job */
	double retain;		   /* seconds; NAN: complete jobs are not retained */
	struct named_limit *limit; /* `queue:<name>`; NULL if there is none */
	struct filing *filing;	   /* its lanes, see bundle.h; NULL if it never had any */
	struct shelves *shelves;   /* see shelf.h; NULL if there are none */
	double class_due;	   /* when a pop of one class tries again; INFINITY if none does */
	struct fair *fair;	   /* NULL unless the order is fair */
	uint32_t name_len;	   /* so that the name can be passed on without reading it */
	uint32_t index;		   /* in qless.all_queues */
	bool paused;
	bool is_woken;	      /* in the list of woken queues */
	struct heap_node due; /* in qless.due, see due.c */
	struct queue *prev_woken;
	struct queue *next_woken;
	struct meter meter;
	struct skipnode node; /* in qless.queues while known */
};

struct queue *queue_find(const struct qless *q, struct qless_str name);
/* queue_find() that is faster for the queue of the last call. */
struct queue *queue_recall(struct qless *q, struct qless_str name);
/* Returns the queue, a new one if there was none. */
struct queue *queue_need(struct qless *q, struct qless_str name);
/* Free the queue unless something keeps it visible. */
void queue_release(struct qless *q, struct queue *queue);
void queue_free(struct qless *q, struct queue *queue);
/* Visit all queues. A visit may free its queue, and no other. */
typedef void queue_visit_fn(struct queue *queue, void *arg);
void queue_each(const struct qless *q, queue_visit_fn *visit, void *arg);
/* Add the queue to the list of known ones, unless it is there. */
void queue_know(struct qless *q, struct queue *queue, double now);
/* Let the limit bound the queue of that name, if there is one; NULL: nothing does. */
void queue_use_limit(struct qless *q, struct qless_str name, struct named_limit *limit);
/* Note that the limit of a queue may open earlier than before, or that it opens later. */
void queue_reopen(struct qless *q, const struct named_limit *limit);
/* The jobs that run under a valid lock. */
uint64_t queue_count_locks(const struct queue *queue, double now);
uint64_t queue_count_waiting(const struct queue *queue);
/* When a lock expires that is taken at `now`. */
double queue_lock_expiry(const struct qless *q, const struct queue *queue, double now);
/* The ranks of the due scheduled jobs: `*ret_first` up to, but not including, `*ret_end`. */
void queue_due_range(const struct queue *queue, double now, uint32_t *ret_first, uint32_t *ret_end);
struct qless_str queue_name(const struct queue *queue);

#endif
