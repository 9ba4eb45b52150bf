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
 * The best job of a name may be shut. So a bundle has the seats of its names in two trees: by the
 * best job of the groups that count as open, and by when the next of their other groups opens. A
 * search takes the best seat of the first tree. A seat of the second tree whose time has come only
 * matters if its best job, shut or not, would precede that. Then its groups are looked at again,
 * once for each group that opens.
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

struct bundle;
struct lane_search;
struct limit_set;
struct qless_job;
struct queue;
struct seat;

/* A name of a queue. */
struct turn {
	struct hash_node hash;
	struct queue *queue;
	struct intern *name;
	double pass;
	uint32_t lanes;	      /* lanes with jobs of that name */
	struct seat *seats;   /* its seats in the bundles of the queue */
	struct skipnode idle; /* in fair.idle while it has no lanes; last, as it may be longer */
};

struct fair {
	double pass;  /* the highest of a hand-out */
	double plain; /* of the jobs without limits */
	struct hash table;
	struct skiplist idle; /* names without lanes, by pass and name */
	struct fair *next;    /* in filing.outdated */
};

struct qless_str turn_key(const struct hash_node *node);

/* Let the queue have fair order or not. Searches file its lanes anew. */
void queue_set_fair(struct qless *q, struct queue *queue, bool is_fair);
/* Free one of its names. Returns false if none was left. */
bool fair_discard_one(struct qless *q, struct fair *fair);
/* Free it with its names, whose references are not released if `q` is NULL. NULL is a no-op. */
void fair_free(struct qless *q, struct fair *fair);

/* The name of the jobs of a set, for a lane that is new or was filed under none. Returns NULL
 * without fair order. */
struct turn *turn_join(struct qless *q, struct queue *queue, const struct limit_set *set);
/* A lane of the name is empty. */
void turn_leave(struct qless *q, struct turn *turn);
/* The name of that text; NULL if it is not known. */
struct turn *turn_find(const struct fair *fair, struct qless_str name);
/* The name, which need not have lanes; for snapshots. */
struct turn *turn_need(struct qless *q, struct queue *queue, struct intern *name);
/* A seat of the name comes or goes. */
void turn_enter_seat(struct turn *turn, struct seat *seat);
void turn_leave_seat(struct turn *turn, struct seat *seat);
/* Initialise the trees of the seats of a bundle. */
void fair_init_seats(struct bundle *bundle);
/* Note that a key or the best job of the groups of a seat has changed, or that it has no group. */
void fair_update_seat(struct qless *q, struct seat *seat);
/* The group of a bundle with the best job of those whose limits open at `now` or before; NULL if
 * all of them are shut, or if the search stops. */
const struct besttree_node *fair_best_group(struct qless *q, struct bundle *bundle, double now,
					    struct lane_search *search);
/* The group with the best job of a bundle that has some, open or shut. */
const struct besttree_node *fair_best_of_all(const struct bundle *bundle);
/* Whether the best job of group `a` is handed out before that of `b`, if both may run. Queues may
 * have fair order or not. */
bool fair_group_precedes(const struct besttree_node *a, const struct besttree_node *b);
/* Whether each seat of a bundle is where a search finds it. */
bool fair_are_seats_sound(const struct bundle *bundle);

/* Let all names forget their lanes, which are made anew. */
void fair_forget_lanes(struct fair *fair);
/* Whether the names know their lanes. */
bool fair_is_sound(const struct fair *fair);
void turn_set_pass(struct qless *q, struct turn *turn, double pass);

/* A job without limits enters a list of waiting jobs that was empty. */
void fair_enter_plain(struct fair *fair);
/* Count a hand-out of a job that is in its list. */
void fair_count(struct qless *q, struct queue *queue, const struct qless_job *job);
/* Whether `a` is handed out before `b`; both wait in a queue with fair order, and may run. */
bool fair_precedes(const struct fair *fair, const struct qless_job *a, const struct qless_job *b);

/* The names by their text; the caller frees the list. Before the first turns, names without one are
 * left out: they are like names that nobody has seen, and outdated bundles may have more of them.
 */
struct turn **fair_sort_turns(const struct fair *fair, size_t *ret_count);

#endif
