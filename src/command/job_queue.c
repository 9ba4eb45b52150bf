#include "command/job_queue.h"

#include "util/num.h"

/* If the number of entries in a history is limited, the first one stays, and the ones after it make
 * room. */
static size_t history_max(const struct qless *engine)
{
	struct qless_option option;
	double max;

	if (!qless_config_get(engine, STR("max-job-history"), &option) ||
	    !num_parse_lua(option.value, &max) || max < 1 || max > 1e9)
		return SIZE_MAX;
	return (size_t)max;
}

/* Finds the queue of a complete job: the last one that it was put into. Returns false if the
 * history does not tell: all that is left is the first entry, and others were dropped. */
static bool find_last_queue(const struct qless *engine, const struct qless_job *job,
			    struct qless_str *ret_queue)
{
	struct qless_event event;
	size_t cursor = 0, entries = 0, last_put = 0;

	while (qless_job_next_event(job, &cursor, &event)) {
		entries++;
		if (event.kind != QLESS_EVENT_PUT)
			continue;
		last_put = entries;
		*ret_queue = event.queue;
	}
	return last_put > 1 || (last_put == 1 && entries < history_max(engine));
}

bool job_queue_find(const struct qless *engine, const struct qless_job *job,
		    const struct qless_job_info *info, struct qless_str *ret_queue)
{
	if (info->state == QLESS_COMPLETE)
		return find_last_queue(engine, job, ret_queue);
	*ret_queue = info->queue;
	return true;
}
