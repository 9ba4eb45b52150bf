/*
 * The conditions by which JOB.SEARCH selects jobs. A job must meet all of them.
 */
#ifndef COMMAND_JOB_FILTER_H
#define COMMAND_JOB_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "command/json.h"
#include "qless.h"
#include "util/hash.h"
#include "util/json_path.h"
#include "util/json_value.h"

struct request;

/* Conditions of TAG and of DATA that a search may have, of each kind. */
#define JOB_FILTER_TAGS_MAX 8
#define JOB_FILTER_DATA_MAX 8

/* A value in the data of a job, compared as json_value.h does. */
struct job_filter_data {
	struct json_path path;
	enum json_kind kind;
	size_t value; /* argument with its text */
	unsigned char hash[HASH_WIDE_BYTES];
};

/* Texts are numbers of arguments, because each part of work gets a request of its own. Conditions
 * that the client did not send are 0; that argument is the name of the first condition. */
struct job_filter {
	size_t jid;
	size_t prefix;
	size_t klass;
	size_t queue;
	unsigned states;
	size_t tags[JOB_FILTER_TAGS_MAX];
	size_t tag_count;
	struct job_filter_data data[JOB_FILTER_DATA_MAX];
	size_t data_count;
	struct json_value_room room;
};

/* Reads the value, or the values, of the condition named in argument *at, and moves *at after them.
 * Sets *ret_is_condition to whether the argument names a condition. Returns 0, or a negative code
 * with the error worded. */
int job_filter_parse(struct request *req, size_t *at, struct job_filter *filter,
		     bool *ret_is_condition);
/* A zeroed struct is allowed. */
void job_filter_done(struct job_filter *filter);

/* Whether a job meets the conditions, and the user of the request may read it. Adds the bytes of
 * data that were read to *bytes. */
bool job_filter_matches(struct job_filter *filter, const struct request *req,
			const struct qless_job *job, size_t *bytes);

#endif
