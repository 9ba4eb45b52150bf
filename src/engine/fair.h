/*
 * Queues with fair order: among jobs of equal priority, names take turns.
 *
 * A job whose lock expired is handed out before them, and takes no turn, unless it names limits.
 *
 * The name of a job is the first limit that it names; all jobs without limits are one more name.
 * Each name of a queue has a pass, which grows by 1/weight with each of its hand-outs. The name
 * with the lowest pass is next. A name that gets its first waiting job starts at least at the pass
 * of the queue, which is the highest that a name had when it was handed out. So a name saves up no
 * turns while nothing of it waits.
 *
 * The best job of a name may be shut. So a queue has its names in two trees: by the best job of
 * the groups that count as open, and by when the next of their other groups opens. A search takes
 * the best name of the first tree. A name of the second tree whose time has come only matters if
 * its best job, shut or not, would precede that. Then its groups are looked at again, once for
 * each group that opens.
 *
 * Passes are part of the state. A name may be forgotten when nothing of it waits, and its pass is
 * not above that of the queue: it would start at the pass of the queue anyway. Each hand-out
 * forgets some such names, by pass and name.
 */
#ifndef ENGINE_FAIR_H
#define ENGINE_FAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "qless.h"
#include "util/besttree.h"
#include "util/hash.h"
#include "util/intern.h"
#include "util/skiplist.h"

struct lane_search;
struct limit_set;
struct qless_job;
struct queue;

/* A name of a queue. */
struct turn {
	struct hash_node hash;
	struct queue *queue;
	struct intern *name;
	double pass;
	uint32_t lanes;		/* lanes with jobs of that name */
	struct besttree groups; /* its groups, by when their limits open */
	double seen;		/* groups with a key up to this time count as open */
	const struct besttree_node *open_group; /* the best of those; NULL if there is none */
	struct besttree_node open;		/* in fair.open while there is one; key: 0 */
	struct besttree_node shut; /* in fair.shut while there are others; key: their lowest */
	struct skipnode idle; /* in fair.idle while it has no lanes; last, as it may be longer */
};

struct fair {
	double pass;  /* the highest of a hand-out */
	double plain; /* of the jobs without limits */
	struct hash table;
	struct besttree open; /* names by the best job of their open groups */
	struct besttree shut; /* names by when another group opens; best: by all of their groups */
	struct skiplist idle; /* names without lanes, by pass and name */
};

struct qless_str turn_key(const struct hash_node *node);

/* Let the queue have fair order or not. Its lanes are filed anew. */
void queue_set_fair(struct qless *q, struct queue *queue, bool is_fair);
void fair_free(struct qless *q, struct fair *fair);

/* The name of the jobs of a set, for a lane that is new or was filed under none. */
struct turn *turn_join(struct qless *q, struct queue *queue, const struct limit_set *set);
/* A lane of the name is empty. */
void turn_leave(struct qless *q, struct turn *turn);
/* The name of that text; NULL if it is not known. */
struct turn *turn_find(const struct fair *fair, struct qless_str name);
/* The name, which need not have lanes; for snapshots. */
struct turn *turn_need(struct qless *q, struct queue *queue, struct intern *name);
/* Note that a key or the best job of its groups has changed. */
void turn_update(struct qless *q, struct turn *turn);
/* The group with the best job of those whose limits open at `now` or before; NULL if all of them
 * are shut, or if the search stops. */
const struct besttree_node *fair_best_group(struct qless *q, struct queue *queue, double now,
					    struct lane_search *search);
/* Let all names forget their lanes, which are made anew. */
void fair_forget_lanes(struct fair *fair);
/* Whether each name is where a search finds it. */
bool fair_is_sound(const struct fair *fair);
void turn_set_pass(struct qless *q, struct turn *turn, double pass);

/* A job without limits enters a list of waiting jobs that was empty. */
void fair_enter_plain(struct fair *fair);
/* Count a hand-out of a job that is in its list. */
void fair_count(struct qless *q, struct queue *queue, const struct qless_job *job);
/* Whether `a` is handed out before `b`; both wait in a queue with fair order, and may run. */
bool fair_precedes(const struct fair *fair, const struct qless_job *a, const struct qless_job *b);

/* The names by their text; the caller frees the list. */
struct turn **fair_sort_turns(const struct fair *fair, size_t *ret_count);

#endif
