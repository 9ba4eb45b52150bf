/*
 * A tally: how many jobs have each value of one or two fields.
 */
#ifndef COMMAND_JOB_TALLY_H
#define COMMAND_JOB_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

struct reply;

#define JOB_TALLY_FIELDS_MAX 2
/* Different values, or pairs of them, that are counted apart at most. */
#define JOB_TALLY_ROWS_MAX 4000
/* Bytes of all values at most. */
#define JOB_TALLY_BYTES_MAX ((size_t)1024 * 1024)

struct job_tally;

struct job_tally *job_tally_new(uint64_t hash_seed, size_t fields);
void job_tally_free(struct job_tally *t);

/* Counts one job with a value for each field; without a pointer, the value is null. */
void job_tally_add(struct job_tally *t, const struct qless_str values[]);

/* Writes an array of rows: the values, then the number of jobs. The largest number comes first.
 * Jobs with values that found no place are in one more row, the last, under "other". */
void job_tally_write(const struct job_tally *t, struct reply *reply);

#endif
