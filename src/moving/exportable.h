/*
 * Things of a qlessd that qless lacks, and that must not be exported.
 */
#ifndef MOVING_EXPORTABLE_H
#define MOVING_EXPORTABLE_H

#include <stddef.h>

#include "moving/keys.h"
#include "util/str.h"

/* Returns the number of recurring jobs with a cron expression, and the jid of the first. They have
 * no interval, so qless would make jobs of them without end. */
size_t exportable_count_schedules(const struct keys *keys, struct qless_str *ret_first);

#endif
