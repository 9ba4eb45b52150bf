/*
 * The engine as a whole; for the files of this folder only.
 *
 * Everything is reachable from struct qless. Names that many objects share (queues, workers,
 * classes, groups, tags) are interned, each kind in its own table, and the interned name points to
 * the object of that name. Lists in a visible order are skiplists. Hash tables only find things:
 * their order is never visible.
 *
 * A job is in exactly one list, and its state says in which:
 *
 *	waiting, stalled	work of its queue, or
 *				limited if it names limits	score: job_work_score()
 *	running			locks of its queue	score: when the lock expires
 *	scheduled		scheduled of its queue	score: when it is due
 *	depends			depends of its queue	score: when it was put there
 *	failed			jobs of its group	score: number of the failure
 *	complete		qless.completed		score: when it was completed
 *
 * so a job needs one node. Functions of this folder that change something expect that the call has
 * been checked: they cannot fail.
 */
#ifndef ENGINE_INT_H
#define ENGINE_INT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/queue.h>

#include "qless.h"

#include "engine/error.h"
#include "engine/meter.h"
#include "engine/put_end.h"
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
	uint64_t heights; /* state of the generator of node heights */
	uint64_t changes;
	bool kept_data;	   /* see qless_kept_data() */
	bool watches_ends; /* see qless_watch_ends() */
	bool has_aimed;	   /* see qless_aim_repairs() */
	double now;	   /* of the current call */
	double latest;
	double failure_number; /* of the last failure */
	uint64_t last_lock;    /* number of the last hand-out */
	double last_number;    /* of a job, see numbering.h */
	double day_asked;      /* the time of the last stats_day_of(), and its day */
	double day;
	struct qless_limits limits;

	struct hash jobs;
	struct hash recurs;
	struct hash tracked;
	struct intern_table queue_names; /* user: struct queue */
	struct intern_table worker_names;
	struct intern_table group_names;
	struct intern_table tag_names;
	struct intern_table names;	 /* classes, and jids of recurring jobs that made jobs;
					  * user: struct klass */
	struct intern_table limit_names; /* user: struct named_limit */
	struct hash limit_sets;
	struct hash unique_keys;
	uint64_t key_hint; /* of the next claim, see unique_find_for_put() */
	struct hash lanes;
	struct hash lane_groups;
	struct hash seats;
	struct hash bundles;
	bool are_lanes_moving;	   /* lanes are filed anew, which gives no name another pass */
	bool are_limits_suspended; /* see limits_suspend() */
	bool are_limits_stale;	   /* a job has changed without them */
	uint64_t lanes_filed;	   /* so far, and lanes that pops looked at; for tests */
	uint64_t lanes_tried;
	uint64_t looks_max;		    /* of one search; tests lower it */
	uint64_t looks_shared;		    /* see qless_share_looks(); UINT64_MAX: none */
	const struct qless_job *prefetched; /* see prefetch_limited(); never read through */
	struct skiplist limit_sweeps;	    /* limits that a sweep changes, by when */
	/* The lengths of the prefixes of patterns, longest first, and the patterns of each. */
	struct pattern_length {
		size_t len;
		size_t count;
	} * patterns;
	size_t pattern_count;
	size_t pattern_cap;

	/* The shelves of all queues, see shelf.h. */
	struct shelf_books {
		/* Those that are kept, the one that was asked for least recently first. */
		TAILQ_HEAD(shelf_list, shelf) asked;
		struct shelf_list dropping;
		size_t kept;
		size_t dropped; /* shelves that are being dropped */
		size_t entries; /* of jobs without limits, on all shelves */
		uint64_t calls;
		uint64_t heights;  /* of the nodes of entries */
		double last_swap;  /* when a shelf gave way for a client that waits */
		double next_swap;  /* when another one may */
		unsigned refusals; /* of further shelves that are left, see qless_drop_classes() */
	} shelf_books;

	struct klasses klasses;	     /* those with meters */
	struct queue_vec all_queues; /* known or not, in no order */
	struct heap due;	     /* queues by when something next falls due in them */
	struct heap ticks;	     /* schedules by their next tick */
	struct heap runs;	     /* runs with a runtime by when they are over */
	struct heap failures;	     /* groups by their oldest job, see failed_history.h */
	double due_taken;	     /* the latest `now` of qless_take_due() */
	struct queue *first_woken;   /* queues that woke and were not taken, oldest first */
	struct queue *last_woken;
	struct skiplist queues;
	struct skiplist workers;
	struct skiplist completed;
	/* Completed jobs that are retained, see retain.h. */
	struct retained_jobs {
		struct skiplist list; /* in the order of `completed` */
		struct heap ends;     /* by when the server deletes them */
		double below;	      /* all completed jobs with lower scores are retained */
	} retained;
	struct skiplist tracks;
	struct skiplist tags;
	struct settings settings;

	/* Counters, so that nobody has to walk. */
	uint64_t depending_count; /* jobs that have dependencies */
	uint64_t depended_count;  /* jobs that have dependents */
	uint64_t most_dependents; /* the most that a job has had; never too low */
	uint64_t busy_count;	  /* workers that hold something */
	uint64_t group_count;
	uint64_t failed_count;	 /* jobs that failed */
	bool are_failures_stale; /* a repair changed groups: see failed_history_forget() */
	uint64_t paused_count;

	struct engine_error error;
	struct buf event;   /* payload being built */
	struct buf channel; /* its channel */
	/* Results of the last call, and scratch room for the current one. */
	struct refused_put *refused; /* see put_end.h */
	size_t refused_count;
	size_t refused_cap;
	struct job_vec jobs_out;
	struct job_vec picked;
	struct skiplist_batch batch;
	struct str_vec list;
	struct str_vec list2;
	struct queue_vec queues_out;
	struct qless_queue_counts *queue_counts;
	struct qless_worker_counts *worker_counts;
	uint64_t *group_counts;
	/* The objects that qless_free_some() has begun to free. */
	struct qless_job *going_job;
	struct worker *going_worker;
};

/* Begin a call: remember the time and empty the results. Returns false if `now` is not finite, with
 * the error recorded. */
bool engine_begin(struct qless *q, double now);
/* Count a change, and remember the time of the latest one. */
static inline void engine_changed(struct qless *q)
{
	q->changes++;
	if (q->now > q->latest)
		q->latest = q->now;
}

static inline unsigned engine_draw_height(struct qless *q)
{
	return skiplist_draw_height(&q->heights);
}

/* The hash of a jid or name in each table of the engine: the tables share a seed. Calls that search
 * several tables for one jid compute it once. */
static inline uint32_t engine_hash(const struct qless *q, struct qless_str name)
{
	return hash_compute(q->hooks.hash_seed, name);
}

/* Marks a hint of qless_prefetch(), of which the lower half is the hash of the jid. */
#define JID_HINT_SET ((uint64_t)1 << 32)

/* The hash of a jid, which the hint contains unless it is 0. */
static inline uint32_t engine_hash_hinted(const struct qless *q, struct qless_str jid,
					  uint64_t hint)
{
	assert(hint == 0 || (hint & JID_HINT_SET) != 0);
	return hint != 0 ? (uint32_t)hint : engine_hash(q, jid);
}

static inline void engine_copy(char *to, struct qless_str s)
{
	if (s.len > 0)
		memcpy(to, s.ptr, s.len);
}

/* Many objects end in a node and, after its levels, the text of their name. */
static inline struct qless_str engine_node_text(const struct skipnode *node, size_t len)
{
	return str_make((const char *)node + skipnode_size(node->height), len);
}

/* Make the node and the text of a new object with room for both. */
static inline void engine_init_node(struct skipnode *node, unsigned height, struct qless_str text)
{
	skipnode_init(node, height);
	engine_copy((char *)node + skipnode_size(height), text);
}

/* A copy on the heap. */
char *engine_dup(struct qless_str s);

/* The sum of two numbers; the largest finite double where it would be infinite. */
double finite_add(double a, double b);

#endif
