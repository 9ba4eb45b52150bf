/*
 * Listings for a viewer: a user that may not use all keys. They show the jobs that the viewer may
 * read, in the order of the whole listing, and count no others.
 *
 * To find a page, a listing has to look at all jobs of the list. So these are work that is done in
 * parts; see work.h. For the handlers of the queue commands.
 */
#ifndef COMMAND_CLASSIC_VIEWER_H
#define COMMAND_CLASSIC_VIEWER_H

#include "command/classic_int.h"
#include "command/listing.h"
#include "command/permit.h"

/* UNFAIL looks at this many of the oldest jobs of the group, which takes a few milliseconds. */
#define VIEWER_UNFAIL_MAX 10000

/* ---- pages of jobs ---- */

/*
 * A listing of jobs for a viewer has two parts, which visit the same jobs: the first counts those
 * of the viewer, and the second writes those on the page. The form of the listing has one of the
 * functions viewer_write_*() and viewer_end_part(). Its `end` finds the total in `number`.
 */
int viewer_begin_page(struct request *req, struct listing *l, const struct view_range *all,
		      const struct classic_page *page);

size_t viewer_write_member(struct listing *l, struct request *req, const struct skiplist *list,
			   const struct skipnode *node);
size_t viewer_write_json(struct listing *l, struct request *req, const struct skiplist *list,
			 const struct skipnode *node);
void viewer_end_part(struct listing *l, struct request *req);

/* Removes the jids of jobs that the viewer may not read from a list. The caller frees the result,
 * which holds the items of the new list. */
struct qless_str *viewer_keep(const struct user *viewer, const struct qless *engine,
			      struct qless_list *list);

/* ---- commands ---- */

/* Handle FAILED without a group, TAG top, and WORKERS without a worker. The listing has groups with
 * a job of the viewer, tags of at least two of its jobs, and workers that hold one of its jobs. */
int viewer_failed(struct request *req);
int viewer_top_tags(struct request *req, const struct classic_page *page);
int viewer_workers(struct request *req);

/* Handles UNFAIL: moves the oldest of those jobs of the group that the viewer may read and change.
 * The log records a REQUEUE for each. */
int viewer_unfail(struct request *req, const struct user *viewer, const struct operation *op);

#endif
