/*
 * What was found in the state that is moved and is not as qless leaves it: counted by kind, with
 * the first examples of each. Every kind has its rule for what is done about it, which is part of
 * its row; qlessd-import(1) has the list.
 */
#ifndef MOVING_FINDINGS_H
#define MOVING_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "moving/keys.h"
#include "util/str.h"

/*	  name		     what was found				what is done */
#define FINDINGS(X)                                                                                \
	X(FOREIGN_KEY, "foreign-key", "key that qless does not have", "left out")                  \
	X(WRONG_TYPE, "wrong-type", "key of a type that qless does not give it", "left out")       \
	X(TOO_LONG, "too-long", "name that is longer than qlessd takes", "left out")               \
	X(OPTION, "option", "option with a value that cannot be", "left out")                      \
	X(PARTIAL_JOB, "partial-job", "hash that lacks its own jid: remains of a job", "left out") \
	X(LOST_JOB, "lost-job", "entry of a list whose job does not exist", "left out")            \
	X(SECOND_PLACE, "second-place", "entry for a job that is in another list",                 \
	  "the place that goes with its state counts, else the first")                             \
	X(WRONG_STATE, "wrong-state", "job whose state does not go with its list",                 \
	  "gets the state of the list")                                                            \
	X(STRAY_JOB, "stray-job", "job in no list", "goes where its state says")                   \
	X(FIELD, "field", "field that is missing or not what it should be", "gets its default")    \
	X(LEFTOVER, "leftover", "field that means nothing in the state of its job", "left out")    \
	X(FOREIGN_FIELD, "foreign-field", "field that qless does not have", "left out")            \
	X(DATA, "data", "data that is not JSON", "kept as a JSON string")                          \
	X(HISTORY, "history", "entry of a history that cannot be read", "left out")                \
	X(NO_HISTORY, "no-history", "job without a history", "begins with a put")                  \
	X(OLD_HISTORY, "old-history", "job with its history in a field, as versions of old did",   \
	  "is given the entries")                                                                  \
	X(LOCK, "lock", "lock that expires at two times", "the list of the queue counts")          \
	X(TAG, "tag", "tag that a job or its list does not know of", "the job counts")             \
	X(TAG_COUNT, "tag-count", "list of tags with other counters", "counted again")             \
	X(DEPENDENCY, "dependency", "dependency that cannot be", "left out")                       \
	X(NOT_WAITING, "not-waiting", "job that depends on nothing that is open", "goes on")       \
	X(RECURRING, "recurring", "recurring job that is not complete", "left out")                \
	X(STATISTICS, "statistics", "statistics that cannot have been", "left out")                \
	X(GROUP, "group", "list of failure groups with others than there are", "made anew")

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
	struct keys touched;		    /* keys that will not be what they were */
};

void findings_init(struct findings *f, uint64_t seed);
void findings_done(struct findings *f);

/* Note a finding about a key, which will therefore differ. `detail` may be empty. */
void findings_add(struct findings *f, enum finding kind, struct qless_str key,
		  struct qless_str detail);
/* Another key that will differ because of one. */
void findings_touch(struct findings *f, struct qless_str key);
bool findings_is_touched(const struct findings *f, struct qless_str key);

uint64_t findings_total(const struct findings *f);
/* A line for each kind, with its examples below. */
void findings_print(const struct findings *f, FILE *to);

#endif
