#include "command/queue_jobs.h"

#include <stdlib.h>

#include "command/classic_int.h"
#include "command/job_states.h"
#include "engine/view.h"
#include "util/mem.h"

/* The lists of a queue, and the states of the jobs in them. A job that TIMEOUT took from its worker
 * is stalled, and in the list of those that wait. */
static const struct {
	enum queue_list list;
	unsigned states;
} lists[] = {
	{ QUEUE_WORK, JOB_WAITING | JOB_STALLED },
	{ QUEUE_LIMITED, JOB_WAITING | JOB_STALLED },
	{ QUEUE_LOCKS, JOB_RUNNING | JOB_STALLED },
	{ QUEUE_SCHEDULED, JOB_SCHEDULED },
	{ QUEUE_DEPENDS, JOB_DEPENDS },
};

#define LISTS (sizeof lists / sizeof *lists)

/* Returns the number of jobs to look at, or SIZE_MAX if only the table tells which they are. */
static size_t count_looks(const struct request *req, unsigned states)
{
	struct view_queue_figures figures;
	size_t looks = 0;

	if (states & JOB_COMPLETE)
		looks += skiplist_count(view_completed(req->engine));
	/* Failed jobs are filed by group. */
	if ((states & JOB_FAILED) &&
	    view_queue_figures(req->engine, req->now, req->args[0], &figures) &&
	    figures.failed != 0)
		return SIZE_MAX;
	for (size_t i = 0; i < LISTS; i++) {
		const struct skiplist *list = view_queue(req->engine, req->args[0], lists[i].list);

		if ((states & lists[i].states) && list != NULL)
			looks += skiplist_count(list);
	}
	return looks;
}

static void add_list(const struct request *req, const struct skiplist *list, unsigned states,
		     struct queue_jobs *jobs)
{
	if (list == NULL)
		return;
	for (const struct skipnode *node = skiplist_first(list); node != NULL;
	     node = skiplist_next(node)) {
		const struct qless_job *job = qless_get(req->engine, list->member(node));
		struct qless_job_info info;

		if (job == NULL)
			continue;
		qless_job_read(job, &info);
		if (job_states_match(req, states, job, &info) != 0)
			jobs->items[jobs->count++] = job;
	}
}

bool queue_jobs_find(struct request *req, unsigned states, size_t max, struct queue_jobs *ret)
{
	size_t looks = count_looks(req, states);

	if (looks > max)
		return false;
	*ret = (struct queue_jobs){ .items = mem_realloc_array(NULL, looks + 1,
							       sizeof *ret->items) };
	for (size_t i = 0; i < LISTS; i++) {
		if (states & lists[i].states)
			add_list(req, view_queue(req->engine, req->args[0], lists[i].list), states,
				 ret);
	}
	if (states & JOB_COMPLETE)
		add_list(req, view_completed(req->engine), states, ret);
	return true;
}
