/*
 * What the engine is made of; for the files of this folder alone.
 *
 * Everything hangs off struct qless. Names that many objects share (queues, workers, classes,
 * groups, tags) are interned, each kind in a table of its own, and the interned name leads to the
 * object that goes by it. Lists in a visible order are skiplists; hash tables serve only to find
 * things, and nothing that can be seen ever comes out in their order.
 *
 * A job is in exactly one list at any time, and which one follows from its state:
 *
 *	waiting, stalled	its queue's work	score: priority - time / 1e10
 *	running			its queue's locks	score: when the lock expires
 *	scheduled		its queue's scheduled	score: when it is due
 *	depends			its queue's depends	score: when it was put there
 *	failed			its group's jobs	score: running number of the failure
 *	complete		qless.completed		score: when it was completed
 *
 * so one node in the job serves them all. Functions here that change something assume that the call
 * has been checked: they cannot fail.
 */
#ifndef ENGINE_INT_H
#define ENGINE_INT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "qless.h"

#include "engine/error.h"
#include "engine/settings.h"
#include "engine/vec.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/heap.h"
#include "util/intern.h"
#include "util/skiplist.h"
#include "util/str.h"

struct qless {
	struct qless_hooks hooks;
	uint64_t heights; /* the generator of node heights */
	uint64_t changes;
	bool kept_data; /* by the call under way */
	double now;	/* of the call being served */
	double latest;
	double failure_number; /* of the last failure */
	struct qless_limits limits;

	struct hash jobs;
	struct hash recurs;
	struct hash tracked;
	struct intern_table queue_names; /* user: struct queue */
	struct intern_table worker_names;
	struct intern_table group_names;
	struct intern_table tag_names;
	struct intern_table names; /* classes, and jids of recurring jobs in what they made */

	struct queue_vec all_queues; /* also those that are not known; in no order */
	struct heap due;	     /* queues by when something next falls due in them */
	double due_taken;	     /* the latest time of a qless_take_due() */
	struct queue *first_woken;   /* queues nobody has taken since they woke, oldest first */
	struct queue *last_woken;
	struct skiplist queues;
	struct skiplist workers;
	struct skiplist completed;
	struct skiplist tracks;
	struct skiplist tags;
	struct settings settings;

	/* So that nobody needs to walk to know them. */
	uint64_t depending_count; /* jobs that have dependencies */
	uint64_t depended_count;  /* jobs that have dependents */
	uint64_t busy_count;	  /* workers that hold something */
	uint64_t group_count;
	uint64_t paused_count;

	struct engine_error error;
	struct buf event;   /* payload being built */
	struct buf channel; /* its channel */
	/* Results of the last call, and room for the call being served. */
	struct job_vec jobs_out;
	struct job_vec picked;
	struct skiplist_batch batch;
	struct str_vec list;
	struct str_vec list2;
	struct queue_vec queues_out;
	struct qless_queue_counts *queue_counts;
	struct qless_worker_counts *worker_counts;
	uint64_t *group_counts;
	/* Of an engine that is being freed, what has been begun. */
	struct qless_job *going_job;
	struct worker *going_worker;
};

/* Begin a call: remember the time. False, with the error recorded, if `now` is not finite. */
bool engine_begin(struct qless *q, double now);
/* Count a change. */
void engine_changed(struct qless *q);

static inline unsigned engine_draw_height(struct qless *q)
{
	return skiplist_draw_height(&q->heights);
}

/* The hash of a jid or name in each of the engine's tables: they share a seed. Calls that look for
 * the same jid in several of them compute it once. */
static inline uint32_t engine_hash(const struct qless *q, struct qless_str name)
{
	return hash_compute(q->hooks.hash_seed, name);
}

static inline void engine_copy(char *to, struct qless_str s)
{
	if (s.len > 0)
		memcpy(to, s.ptr, s.len);
}

/* A copy on the heap. */
char *engine_dup(struct qless_str s);

/* A finite sum, as large as a double can be where the exact one is larger. */
double finite_add(double a, double b);

#endif
