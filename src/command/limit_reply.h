/*
 * Limits in replies: maps of LIMIT.GET, LIMIT.LIST and JOB.WHY.
 */
#ifndef COMMAND_LIMIT_REPLY_H
#define COMMAND_LIMIT_REPLY_H

#include "qless.h"
#include "util/str.h"

struct request;

/* Jobs that a reply shows as holders of a limit, the first to expire first. */
#define LIMIT_HOLDERS_SHOWN 10

/* Writes a limit as a map, with or without its holders. */
void limit_reply_whole(struct request *req, const struct qless_limit_info *info);
void limit_reply_short(struct request *req, const struct qless_limit_info *info);

/* Writes the jobs that hold a limit as an array of maps, without those that the user may not
 * read. */
void limit_reply_holders(struct request *req, struct qless_str name);

/* Writes a time, or null if it is 0. */
void limit_reply_time(struct request *req, double seconds);

#endif
