/*
 * The data of a job in the JSON of native replies.
 */
#ifndef CLIENT_JOB_DATA_H
#define CLIENT_JOB_DATA_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/str.h"

/* Appends the data of a job, which is an object that json_read_check() has checked: JSON, or the
 * bytes of a raw job. Returns false if the object has no data, or that of a raw job is invalid. */
bool job_data_read(struct qless_str job, struct buf *out, bool *ret_is_raw);

#endif
