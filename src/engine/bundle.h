/*
 * Bundles: the lanes of a queue, by the limits that they share with very many others.
 *
 * If thousands of lanes name the same two limits, and one of them shuts while the other one opens,
 * no lane may move for it. So all lanes of a queue that name the same widely shared limits are a
 * bundle. While one of these limits is shut, a search passes over the bundle as a whole.
 *
 * The lanes of a bundle have a seat. In a queue with fair order, each name has a seat of its own in
 * each bundle. A seat has its groups in a tree by when their limits open.
 *
 * A limit is widely shared if at least the square root of all sets name it. So a set has few such
 * limits, and few lanes move if another limit opens or shuts. Which limits are shared is decided
 * when a lane gets its first job. If that changes later, searches take longer, but find the same
 * jobs.
 *
 * Most queues have one bundle. If there are several, the queue has them in two trees, as a bundle
 * has its seats in fair order: by the best job that counts as open, and by when something else in
 * them opens. After a change of its lanes, a bundle is looked at again before any other.
 *
 * If the order of a queue changes, its bundles are outdated. Searches file their lanes anew, before
 * anything else.
 */
#ifndef ENGINE_BUNDLE_H
#define ENGINE_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "qless.h"
#include "util/besttree.h"
#include "util/hash.h"

struct fair;
struct lane_group;
struct lane_search;
struct limit_set;
struct named_limit;
struct queue;
struct turn;

/* Lanes of a bundle; with fair order, those of one name. */
struct seat {
	struct hash_node hash;
	/* The key. */
	struct bundle *bundle;
	struct turn *turn;	/* NULL without fair order. Invalid if the bundle is outdated */
	struct besttree groups; /* by when their limits open */
	uint32_t lanes;
	struct seat *prev; /* of the same bundle */
	struct seat *next;
	/* With fair order: see fair.h. */
	struct seat *prev_of_turn;
	struct seat *next_of_turn;
	double seen;
	const struct besttree_node *open_group;
	struct besttree_node open;
	struct besttree_node shut;
};

/* That a bundle names a widely shared limit. */
struct bundle_link {
	struct bundle *bundle;
	struct bundle_link *prev;
	struct bundle_link *next;
};

struct bundle {
	struct hash_node hash;
	struct bundle *prev; /* of the same queue: outdated bundles follow the others */
	struct bundle *next;
	struct seat *seats;
	struct besttree open; /* with fair order: seats, see fair.h */
	struct besttree shut;
	uint32_t lanes;
	uint32_t count;		   /* of limits */
	struct bundle_link *links; /* for each limit */
	double key;		   /* when its limits open, or -INFINITY; never too late */
	/* If the queue has several bundles: */
	double seen;				/* what opens until then counts as open */
	const struct besttree_node *open_group; /* the best of those; NULL: not known, or none */
	struct besttree_node in_open;		/* in filing.open if there may be one; key: 0 */
	struct besttree_node in_shut;		/* in filing.shut; key: when something else opens */
	struct queue *queue;
	/* The key. */
	struct filing *filing;
	uint64_t era;
	struct named_limit *limits[];
};

/* The bundles of a queue: those of the jobs without shelf, or those of one shelf, see shelf.h. */
struct filing {
	struct queue *queue;
	struct bundle *first;
	struct bundle *last;
	struct bundle *plain; /* the one without limits; NULL if there is none */
	uint32_t count;	      /* of bundles that are not outdated */
	bool has_trees;	      /* there were several */
	uint64_t era; /* number of changes of the order; bundles of an earlier one are outdated */
	struct besttree open;  /* bundles by the best job that counts as open */
	struct besttree shut;  /* bundles by when something else in them opens; best: of all jobs */
	struct fair *outdated; /* names of earlier orders, to be freed */
	struct lane_group *stale; /* the first of those that need new keys, see lane.h */
};

struct qless_str bundle_key(const struct hash_node *node);
struct qless_str seat_key(const struct hash_node *node);

static inline bool bundle_has(const struct bundle *bundle, const struct named_limit *limit)
{
	for (uint32_t i = 0; i < bundle->count; i++) {
		if (bundle->limits[i] == limit)
			return true;
	}
	return false;
}

bool bundle_is_outdated(const struct bundle *bundle);
/* When all of its limits are open. */
double bundle_opens(const struct bundle *bundle);

/* The seat for a new lane. */
struct seat *seat_join(struct qless *q, struct filing *filing, const struct limit_set *set);
/* A lane of the seat is gone, or files under another one. Frees a seat without lanes. */
void seat_leave(struct qless *q, struct seat *seat);
/* Note that a group of the seat has come, has gone, or has another key or best job. */
void seat_update(struct qless *q, struct seat *seat);
/* Put a node of a tree where it belongs: with a key, or in no tree. */
void bundle_place_node(struct besttree *tree, struct besttree_node *node, bool belongs, double key);

/* Note that something in a bundle, or one of its limits, has changed. */
void bundle_update(struct qless *q, struct bundle *bundle);
/* Note that a limit may open earlier than before. */
void bundles_reopen(struct qless *q, const struct named_limit *limit);
/* The group with the best job of those that are open at `now`, as far as is known: a limit of that
 * job may be shut under which it is not filed. NULL if all are shut, or if the search stops. */
const struct besttree_node *bundles_best_group(struct qless *q, struct filing *filing, double now,
					       struct lane_search *search);
/* When the first limit opens, after `time`, that lanes of the filing wait for; INFINITY if none
 * does. */
double bundles_next_open_after(const struct filing *filing, double time);

/* Let all bundles of the filing be outdated, and free `fair`, which may be NULL, with them. */
void bundles_outdate(struct qless *q, struct filing *filing, struct fair *fair);
/* File the lanes of outdated bundles anew. Returns false if the search stops. */
bool bundles_renew(struct qless *q, struct filing *filing, struct lane_search *search);

/* Whether the bundles of a filing are where a search finds them. */
bool bundles_are_sound(const struct filing *filing);
/* Forget all bundles of a filing, which are freed elsewhere. */
void bundles_forget(struct filing *filing);
/* Free a seat or a bundle. Returns false if nothing was left. */
bool bundles_discard_one(struct qless *q);
struct filing *filing_new(struct queue *queue);
/* Free what is not in the tables of `q`, which is NULL if names are not released. */
void filing_free(struct qless *q, struct filing *filing);

#endif
