/*
 * Lanes: the waiting jobs with limits, filed by what may keep them from running.
 *
 * A lane has the waiting jobs of one filing that name the same limits, the best on top: as long as
 * one of these limits is shut, none of its jobs can run. A lane has a seat in a bundle, see
 * bundle.h, and is filed under one of its limits, in the group of that limit and seat. A seat has
 * its groups in a tree by when their limits open, in which each node knows the best job below. So
 * the best job under all limits that are open is found in O(log n).
 *
 * A pop checks all limits of that job. If another limit is shut, the lane moves to the group of
 * that one, and the pop looks for the next job. Where a lane is filed never decides which job is
 * next, so it is not part of the state.
 *
 * A pop that would look at too many lanes stops, and the next ones go on with the search. How many
 * lanes it looks at follows from where they are filed. So the log says how many steps such a pop
 * took, and a replay stops after as many.
 *
 * The key of a group may be too early, never too late: if a limit may open before the key says, its
 * groups get new keys, and their queues wake. After a search without a result, all keys of the
 * queue are later than its time.
 *
 * A rule of a pattern may open very many limits at once. Then their groups are stale: a key may be
 * too late, and their queues wake. Searches give them new keys before anything else.
 */
#ifndef ENGINE_LANE_H
#define ENGINE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "qless.h"
#include "util/besttree.h"
#include "util/hash.h"

struct filing;
struct limit_set;
struct named_limit;
struct qless_job;
struct queue;
struct seat;
struct shelf;

struct lane {
	struct hash_node hash;
	/* The key. */
	struct filing *filing;
	struct limit_set *set;
	struct qless_job *root; /* of the tree of jobs, see lane_jobs.c */
	struct qless_job *best;
	struct qless_job *last;
	struct lane_group *group;
	struct seat *seat;
	struct besttree_node node; /* in its group */
};

/* Lanes of one seat that are filed under one limit. */
struct lane_group {
	struct hash_node hash;
	/* The key. */
	struct seat *seat;
	struct named_limit *limit;
	struct lane_group *prev; /* of the same limit */
	struct lane_group *next;
	struct besttree lanes;	       /* by their best jobs; all keys are 0 */
	struct lane_group *prev_stale; /* of the same queue */
	struct lane_group *next_stale;
	/* In the groups of its seat. Key: when the limit opens, or -INFINITY */
	struct besttree_node node;
};

struct qless_str lane_key(const struct hash_node *node);
struct qless_str lane_group_key(const struct hash_node *node);
/* Compares groups of one seat, see besttree_is_better_fn. */
bool lane_group_is_better(const struct besttree_node *a, const struct besttree_node *b);
/* A group and its best lane, by the node of the group. */
struct lane_group *lane_group_of(const struct besttree_node *node);
struct lane *lane_group_best(const struct besttree_node *node);

/* File a waiting job that has entered the list of its queue: in the filing of the shelf that takes
 * it, or in that of the queue. */
void lane_enter(struct qless *q, struct qless_job *job);
/* Remove a job that leaves that list. Its score is still the one it entered with. */
void lane_leave(struct qless *q, struct qless_job *job);

/* Lanes and names that a search looks at, at most. A look takes a microsecond or less. A worker
 * that waits makes up to three searches before it gives way to other commands. */
#define LANE_LOOKS_MAX 2500

/* File a waiting job anew, because its shelf begins or ends to take its jobs. */
void lane_refile(struct qless *q, struct qless_job *job);
/* Whether the job waits in a lane of the filing. */
bool lane_is_in(struct qless *q, struct filing *filing, const struct qless_job *job);
/* A waiting job of a filing, NULL if it has none. */
struct qless_job *lane_any_job(const struct filing *filing);

/* The bounds of a search for jobs, and what it has done. */
struct lane_search {
	bool is_question;   /* a slot of a holder whose lock has expired counts as free */
	unsigned late_left; /* expired locks of holders */
	uint64_t looks_left;
	uint64_t steps_left;
	uint64_t steps; /* taken so far */
	bool is_stopped;
};

/* Count a look at a lane, or at a name. Returns false if the search has to stop. */
bool lane_search_look(struct qless *q, struct lane_search *search);
/* Count a step, which is a change of the state that the search makes or asks for. Returns false if
 * that was the last one. */
bool lane_search_step(struct lane_search *search);

/* The best job of a queue with limits that are all open, and that precedes `rival`, which may be
 * NULL. It is one of the shelf, unless that is NULL. Returns NULL if there is none, or if the
 * search stops.
 *
 * The lock of a holder that has expired is treated as by a pop of the queue of the holder, which is
 * a step. If the search may treat no more locks, it returns NULL and wakes the queue. */
struct qless_job *lane_choose(struct qless *q, struct queue *queue, struct shelf *shelf, double now,
			      const struct qless_job *rival, struct lane_search *search);
/* Take the tokens and slots of a job that lane_choose() returned, and that has left its lane. */
void lane_charge(struct qless *q, struct qless_job *job, double now, double expires);

/* When the first limit opens, after `time`, that lanes of the queue wait for; INFINITY if none
 * does. */
double lanes_next_open_after(const struct queue *queue, double time);

/* File all waiting jobs again, for a repair. */
void lanes_rebuild(struct qless *q);
/* Whether each lane has the jobs of its list, and is filed where they are found. */
bool lanes_are_sound(const struct qless *q);
/* Free a lane or a group. Returns false if nothing was left. */
bool lanes_discard_one(struct qless *q);

/* ---- what bundle.c and lane_choose.c need ---- */

/* The limit of a set that opens last, if that is after `now`; NULL if all are open. */
struct named_limit *lane_find_shut(const struct limit_set *set, double now);
/* Move a lane to the group of a limit that is shut, or correct the key of that group. */
void lane_move(struct qless *q, struct lane *lane, struct named_limit *shut, double now);

/* Move a lane of an outdated bundle to the bundle where it belongs now. */
void lane_renew(struct qless *q, struct lane *lane);
/* Whether the key of a group may be too late. */
bool lane_group_is_stale(const struct lane_group *group);
/* Give the stale groups of a queue new keys. Returns false if the search stops. */
bool lanes_freshen(struct qless *q, struct filing *filing, struct lane_search *search);

/* ---- the jobs of a lane ---- */

/* Whether `a` is handed out before `b`. */
bool lane_job_precedes(const struct qless_job *a, const struct qless_job *b);
void lane_insert(struct lane *lane, struct qless_job *job);
void lane_remove(struct lane *lane, struct qless_job *job);
/* Whether a job that waits in some lane is in this one. */
bool lane_has(const struct lane *lane, const struct qless_job *job);
/* Returns the number of jobs of a lane, or SIZE_MAX if its tree is damaged. */
size_t lane_count_jobs(const struct lane *lane);

#endif
