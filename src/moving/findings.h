/*
 * Findings: parts of the moved state that differ from what qless writes, counted by kind, with the
 * first examples of each. The row of a kind also says how it is handled. qlessd-import(1) lists all
 * kinds.
 */
#ifndef MOVING_FINDINGS_H
#define MOVING_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "moving/keys.h"
#include "util/str.h"

/* Name, what was found, and how it is handled. */
#define FINDINGS(X)                                                                                \
	X(FOREIGN_KEY, "foreign-key", "key that qless does not have", "left out")                  \
	X(WRONG_TYPE, "wrong-type", "key of another type than in qless", "left out")               \
	X(TOO_LONG, "too-long", "name that is too long for qlessd", "left out")                    \
	X(OPTION, "option", "option with an invalid value", "left out")                            \
	X(PARTIAL_JOB, "partial-job", "remains of a job: a hash without its jid", "left out")      \
	X(LOST_JOB, "lost-job", "entry of a list whose job does not exist", "left out")            \
	X(SECOND_PLACE, "second-place", "job that is also in another list",                        \
	  "the list that matches its state counts, otherwise the first")                           \
	X(WRONG_STATE, "wrong-state", "job whose state does not match its list",                   \
	  "gets the state of the list")                                                            \
	X(STRAY_JOB, "stray-job", "job in no list", "goes where its state says")                   \
	X(FIELD, "field", "field that is missing or invalid", "gets its default")                  \
	X(LEFTOVER, "leftover", "field without a meaning in the state of its job", "left out")     \
	X(FOREIGN_FIELD, "foreign-field", "field that qless does not have", "left out")            \
	X(DATA, "data", "data that is not JSON", "kept as a JSON string")                          \
	X(HISTORY, "history", "entry of a history that cannot be read", "left out")                \
	X(NO_HISTORY, "no-history", "job without a history", "gets an entry for its put")          \
	X(OLD_HISTORY, "old-history", "job with its history in a field, as in old versions",       \
	  "the field becomes entries")                                                             \
	X(LOCK, "lock", "lock with two expiry times", "the list of the queue counts")              \
	X(TAG, "tag", "tag that is only in its job or only in its list", "the job counts")         \
	X(TAG_COUNT, "tag-count", "list of tags with wrong counters", "computed again")            \
	X(DEPENDENCY, "dependency", "dependency on a job that is complete or missing", "left out") \
	X(NOT_WAITING, "not-waiting", "job whose dependencies are all complete", "goes on")        \
	X(RECURRING, "recurring", "recurring job that is incomplete or in no queue", "left out")   \
	X(STATISTICS, "statistics", "statistics of an impossible day", "left out")                 \
	X(GROUP, "group", "list of failure groups that contradicts the jobs", "computed again")

enum finding {
#define X(id, name, what, rule) FINDING_##id,
	FINDINGS(X)
#undef X
		FINDING_KINDS
};

#define FINDING_EXAMPLES 3

struct findings {
	uint64_t counts[FINDING_KINDS];
	struct buf examples[FINDING_KINDS]; /* lines */
	struct keys touched;		    /* keys that will differ */
};

void findings_init(struct findings *f, uint64_t seed);
void findings_done(struct findings *f);

/* Add a finding about a key, which will therefore differ. `detail` may be empty. */
void findings_add(struct findings *f, enum finding kind, struct qless_str key,
		  struct qless_str detail);
/* Mark another key that will differ because of a finding. */
void findings_touch(struct findings *f, struct qless_str key);
bool findings_is_touched(const struct findings *f, struct qless_str key);

uint64_t findings_total(const struct findings *f);
/* Print a line for each kind, followed by its examples. */
void findings_print(const struct findings *f, FILE *to);

#endif
