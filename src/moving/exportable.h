/*
 * Things of a qlessd that qless lacks: some must not be exported, and others are lost.
 */
#ifndef MOVING_EXPORTABLE_H
#define MOVING_EXPORTABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "moving/keys.h"
#include "util/str.h"

/* Returns the number of recurring jobs with a cron expression, and the jid of the first. They have
 * no interval, so qless would make jobs of them without end. */
size_t exportable_count_schedules(const struct keys *keys, struct qless_str *ret_first);

/* Members of jobs in native JSON that have no place in the keys of qless. */
#define EXPORTABLE_MEMBERS 11

/* How many jobs and recurring jobs have each of them. */
struct exportable_losses {
	uint64_t counts[EXPORTABLE_MEMBERS];
};

/* Finds the jobs, or with `recurring` the recurring jobs. Returns their jids, which borrow from the
 * keys, in an array that the caller frees. */
struct qless_str *exportable_find_jids(const struct keys *keys, bool recurring, size_t *ret_count);
/* Count what the JSON of a job has. Any other text has nothing. */
void exportable_note(struct exportable_losses *losses, struct qless_str json);
/* Print what is lost, a line for each kind. */
void exportable_print(const struct exportable_losses *losses, FILE *to);

#endif
