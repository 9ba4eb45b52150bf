/*
 * Repairing single objects, for repairs of the whole state (resolve.c) and of named objects
 * (repair.c).
 */
#ifndef ENGINE_RESOLVE_H
#define ENGINE_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"

struct group;
struct queue;
struct skiplist;
struct skipnode;

/* Each function that repairs returns the number of repairs. */

/* Mark a node as being in no list. */
void resolve_reset_node(struct skipnode *node);
/* Insert the nodes of a list again unless it is in order. */
size_t resolve_sort_list(struct skiplist *list);
/* Whether the state of the job says which list it belongs to. */
bool resolve_knows_list(const struct qless_job *job);
/* Whether the job may stay in the list. */
bool resolve_belongs(const struct qless *q, const struct qless_job *job,
		     const struct skiplist *list);
/* Place a job that is in no list and knows which it belongs to. The due time of a scheduled job is
 * lost with its place. A failed job becomes the newest of its group. */
void resolve_enter_list(struct qless *q, struct qless_job *job);
/* Repair the score of a job in its list, where it follows from the members of the job. */
size_t resolve_score(struct qless *q, struct qless_job *job);
/* Clear the members that do not fit the state of the job. The reference to a worker that is cleared
 * is not dropped. */
size_t resolve_fields(struct qless *q, struct qless_job *job);
/* Repair the statistics and the options of a queue. */
size_t resolve_figures(const struct qless *q, struct queue *queue);
/* Raise the number of the last failure to those of the group. */
size_t resolve_group(struct qless *q, struct group *group);

#endif
