/*
 * Printing the records of a log, one operation on each line.
 */
#ifndef CHECK_DUMP_H
#define CHECK_DUMP_H

#include <math.h>
#include <stdint.h>

#include "command/legacy.h"
#include "journal/record.h"
#include "operation/operation.h"
#include "util/buf.h"
#include "util/str.h"

#define DUMP_TIME_MAX 40

/* Which operations to print. */
struct dump_filter {
	struct qless_str jid;	/* operations with this argument; ptr is NULL: all */
	struct qless_str queue; /* the same for a queue */
	double since;		/* seconds since 1970; -INFINITY: no limit */
	double until;		/* INFINITY: no limit */
};

#define DUMP_FILTER_NONE ((struct dump_filter){ .since = -INFINITY, .until = INFINITY })

struct dump {
	struct dump_filter filter;
	struct operation_room room;
	struct legacy legacy;
	struct buf line;
};

void dump_init(struct dump *d, const struct dump_filter *filter);
void dump_done(struct dump *d);

/* Print a record to stdout. A record of several operations takes several lines. With a filter,
 * marks and records of the state are left out. It is a callback of struct recovery_target. */
void dump_record(void *dump, const char *path, uint64_t offset, const struct record *record);

/* Write a time as 2026-11-18T12:34:56.123456Z. Returns `to`. */
const char *dump_format_time(double seconds, char to[DUMP_TIME_MAX]);

#endif
