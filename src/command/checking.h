/*
 * Checking: the data of many jobs is checked in parts, before a command uses it.
 *
 * A command for several jobs checks the JSON of each one, and may need a unique key of each. For
 * megabytes of data this takes longer than one turn may. So such a command begins with work that
 * only reads the request, a part of it in each turn. Then its handler runs again, as a whole, with
 * the results in `checking` of the request. So nothing has changed before everything is checked,
 * and the operation is the same as without the parts.
 *
 * The server decides about admission again before the handler runs, because the state may have
 * changed since the command arrived. Commands of EXEC run as a whole at once, so their data is not
 * checked in parts.
 */
#ifndef COMMAND_CHECKING_H
#define COMMAND_CHECKING_H

#include "command/json.h"
#include "command/request.h"

/* Bytes of data above which a command checks them in parts. Checking as many takes up to a
 * millisecond. */
#define CHECKING_BYTES ((size_t)256 * 1024)

struct checking;

/* Where the jobs of a command are among its arguments. The data is the last argument of each. */
struct checking_jobs {
	size_t first;
	size_t step;
	bool makes_keys;      /* each job needs the unique key of its class and data */
	bool is_raw;	      /* the data need not be JSON */
	bool ends_with_error; /* the command uses no job after one with invalid data */
};

/* Returns whether the data of the jobs is to be checked in parts, and has not been. */
bool checking_is_needed(const struct request *req, size_t first, size_t step);

/* Checks the data in parts, then runs the handler of the request again. The caller returns. */
void checking_begin(struct request *req, const struct checking_jobs *jobs);

/* Like request_json_text() for the data of job number `i`, which the parts have checked. */
int checking_recall(struct request *req, size_t i, enum json_kind *ret_kind);
/* Returns the unique key of job number `i`, which the parts have made. */
struct qless_str checking_key(const struct request *req, size_t i);

#endif
