/*
 * Fields of jobs that a client selects by name, as `WITH` of QUEUE.JOBS does.
 */
#ifndef COMMAND_JOB_FIELDS_H
#define COMMAND_JOB_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"

struct request;

/* The number of fields that there are at most. */
#define JOB_FIELDS_MAX 40

/* A selection of fields, in the order in which the client named them. */
struct job_fields {
	unsigned char items[JOB_FIELDS_MAX];
	size_t count;
};

/* Adds a field by its name. Returns 0, or a negative code with the error worded: there is no such
 * field, or the selection has it. */
int job_fields_add(struct request *req, struct job_fields *fields, struct qless_str name);

/* Writes the data of a job. */
void job_fields_write_data(struct request *req, const struct qless_job_info *info);

/* Writes the selected fields of a job as a map. A field that the job lacks is null. */
void job_fields_write(struct request *req, const struct job_fields *fields,
		      const struct qless_job *job);

#endif
