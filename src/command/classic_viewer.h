/*
 * Listings for a viewer: a user that may not use all keys. They show the jobs that it may read, in
 * the order of the whole listing, and count no others. A page of them is cut from the whole
 * listing, so they take time in proportion to it.
 *
 * For the handlers of the queue commands. The viewer is that of permit_viewer(), and not NULL.
 */
#ifndef COMMAND_CLASSIC_VIEWER_H
#define COMMAND_CLASSIC_VIEWER_H

#include "command/classic_int.h"
#include "command/permit.h"

/* As many jobs as there are. */
#define VIEWER_ALL INT64_MAX

/* Replace a list of jids by those of jobs that the viewer may use. The caller frees the result,
 * which holds the items of the new list. */
struct qless_str *viewer_keep(const struct user *viewer, const struct qless *engine,
			      struct qless_list *list, unsigned access);
/* Cuts an index range from what viewer_keep() leaves to read. `total` counts all of them. */
struct qless_str *viewer_page(const struct user *viewer, const struct qless *engine,
			      struct qless_list *list, const struct classic_page *page);

/* The number of failed jobs of a group that the viewer may read. */
uint64_t viewer_count_failed(const struct user *viewer, const struct qless *engine,
			     struct qless_str group);

/* Lists the tags that at least two of the jobs have. The caller frees the result. */
struct qless_str *viewer_top_tags(const struct user *viewer, struct qless *engine,
				  const struct classic_page *page, struct qless_list *ret_tags);

/* Handle WORKERS without a worker: lists the workers that hold a job which the viewer may read. */
int viewer_workers(struct request *req, const struct user *viewer);

/* Handle UNFAIL: moves the oldest of those jobs of the group that the viewer may read and change.
 * The log records a REQUEUE for each. */
int viewer_unfail(struct request *req, const struct user *viewer, const struct operation *op);

#endif
