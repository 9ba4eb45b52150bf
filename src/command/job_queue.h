/*
 * The queue to which a job belongs, for permissions and for listings by queue.
 *
 * The engine does not file complete jobs by queue, which would cost every completion. A complete
 * job belongs to the last queue that it was put into, as its history tells.
 */
#ifndef COMMAND_JOB_QUEUE_H
#define COMMAND_JOB_QUEUE_H

#include <stdbool.h>

#include "qless.h"

/* `info` is what qless_job_read() tells about the job. Returns false if the job is complete and its
 * history has lost the last queue, because the option max-job-history dropped that entry. */
bool job_queue_find(const struct qless *engine, const struct qless_job *job,
		    const struct qless_job_info *info, struct qless_str *ret_queue);

#endif
