/*
 * Limits that jobs name: their rules, their tokens and slots, and the sets that jobs point to.
 * limit.h has the limits of what a call may store.
 *
 * A limit exists while a set or a recurring job names it, while it has a rule of its own, or while
 * its tokens or its hold differ from those of a new limit. It can be freed after that. Freeing is
 * part of calls that change something, because the state follows from these calls alone.
 */
#ifndef ENGINE_NAMED_LIMIT_H
#define ENGINE_NAMED_LIMIT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "qless.h"
#include "util/hash.h"
#include "util/intern.h"
#include "util/skiplist.h"
#include "util/str.h"

struct bundle_link;
struct lane;
struct lane_group;
struct qless_job;

/* The values that qless_limit_set() set. */
struct limit_rule {
	int64_t concurrency; /* 0: any number; negative: none */
	double rate;	     /* 0: any number */
	double per;
	double burst;
	double weight;
	double expires;	   /* INFINITY: never */
	size_t prefix_len; /* of a pattern; SIZE_MAX if the rule is for one name */
};

struct named_limit {
	struct intern *name;	       /* user: the limit */
	struct limit_rule *own;	       /* the rule of that name; NULL if there is none */
	const struct limit_rule *rule; /* the rule that applies; NULL: everything is allowed */
	double tat;	   /* theoretical arrival time, see named_limit_charge(); -INFINITY: none */
	double held_until; /* -INFINITY: not held */
	uint64_t waiting;  /* jobs that wait and name it */
	uint32_t set_count; /* sets that contain it */
	bool is_pattern;
	bool is_queue;		     /* it bounds a queue, and no job names it */
	struct skiplist slots;	     /* struct slot; score: when the lock of the job expires */
	struct lane_group *groups;   /* lanes that are filed under it, by seat; the first one */
	struct bundle_link *bundles; /* whose lanes all name it; the first one */
	struct skipnode node;	     /* in qless.limit_sweeps; score: when a sweep changes it */
};

/* A slot that a running job has. */
struct slot {
	struct slot *next; /* of the same job */
	struct qless_job *job;
	struct named_limit *limit;
	struct skipnode node;
};

/* The distinct limits of a job, in the order in which they were given. Equal lists are one set. */
struct limit_set {
	struct hash_node hash;
	uint32_t refs; /* jobs and recurring jobs */
	uint32_t count;
	struct lane *lane; /* the last one that was used; NULL if none is known */
	struct named_limit *limits[];
};

/* ---- limits ---- */

/* The beginning of the name of a limit of a queue. */
#define QUEUE_LIMIT_PREFIX "queue:"

static inline bool limit_name_is_of_queue(struct qless_str name)
{
	return str_starts_with(name, STR(QUEUE_LIMIT_PREFIX));
}

static inline bool limit_name_is_pattern(struct qless_str name)
{
	return name.len > 0 && name.ptr[name.len - 1] == '*';
}

/* The name of the queue of a limit. */
static inline struct qless_str limit_queue_name(struct qless_str name)
{
	size_t skip = sizeof QUEUE_LIMIT_PREFIX - 1;

	return str_make(name.ptr + skip, name.len - skip);
}

struct named_limit *named_limit_find(const struct qless *q, struct qless_str name);
/* Returns the limit, a new one if there was none. The caller gives it a reason to exist, or calls
 * named_limit_settle(). */
struct named_limit *named_limit_need(struct qless *q, struct qless_str name);
/* Free the limit as of `now`, or note when a sweep changes it. To be called after each change of
 * what keeps the limit. */
void named_limit_settle(struct qless *q, struct named_limit *limit, double now);
/* Let a few limits go whose time has come. Called where limits are made or charged. */
void named_limit_sweep_some(struct qless *q);
void named_limit_free(struct named_limit *limit);
/* The rule for a name that has none of its own; NULL if no pattern matches. */
const struct limit_rule *limit_rule_of_pattern(const struct qless *q, struct qless_str name,
					       struct qless_str *ret_pattern);
/* Replace the rule of a name, which is copied; NULL deletes it. The limits that the rule is for
 * follow it. */
void limit_rule_replace(struct qless *q, struct named_limit *limit, const struct limit_rule *rule);
/* Give a limit a rule that is in a snapshot. Once all have theirs, limit_rules_follow() lets each
 * limit find the rule that applies. */
void limit_rule_load(struct qless *q, struct named_limit *limit, const struct limit_rule *rule);
void limit_rules_follow(struct qless *q);
/* Note that the limit may open earlier than before, so that waiting jobs may run. */
void named_limit_reopen(struct qless *q, struct named_limit *limit);
/* The same for one of very many limits that name jobs: the next searches look after the lanes. */
void named_limit_reopen_later(struct qless *q, struct named_limit *limit);

/* Seconds in which one token arrives. */
static inline double limit_rule_interval(const struct limit_rule *rule)
{
	return rule->per / rule->rate;
}

static inline bool named_limit_is_full(const struct named_limit *limit)
{
	return limit->rule != NULL && limit->rule->concurrency != 0 &&
	       (double)skiplist_count(&limit->slots) >= (double)limit->rule->concurrency;
}

/* When its rate and its hold allow the next hand-out. */
static inline double named_limit_ready(const struct named_limit *limit)
{
	const struct limit_rule *rule = limit->rule;
	double ready = limit->held_until;

	if (rule != NULL && rule->rate > 0)
		ready = fmax(ready, limit->tat - (rule->burst - 1) * limit_rule_interval(rule));
	return ready;
}

/* When it opens. If all slots are taken, that is when the first lock of a holder expires. A limit
 * that is closed for good opens at INFINITY. */
double named_limit_opens(const struct named_limit *limit);

/* Take the token of a hand-out. The time `tat` is when the bucket would be full again. */
static inline void named_limit_charge(struct named_limit *limit, double now)
{
	if (limit->rule != NULL && limit->rule->rate > 0)
		limit->tat = fmax(limit->tat, now) + limit_rule_interval(limit->rule);
}

/* ---- sets ---- */

/* Why a job cannot name a limit, before the name; NULL if it can. */
const char *limit_find_fault(struct qless_str name);
/* Check the limits that a job is to name. Returns 0, or a code with the error recorded. */
int limit_check_limits(struct qless *q, const struct qless_str *names, size_t count);
/* Returns the set with a new reference; NULL if the list is empty. */
struct limit_set *limit_set_get(struct qless *q, const struct qless_str *names, size_t count);
struct limit_set *limit_set_ref(struct limit_set *set);
/* NULL is a no-op. */
void limit_set_unref(struct qless *q, struct limit_set *set);
struct qless_str limit_set_key(const struct hash_node *node);

/* The set of a job; NULL if it names no limits. */
struct limit_set *job_limits(const struct qless_job *job);
/* Let a job that is in no list name the limits of a set, or none if that is NULL. Takes the
 * reference. */
void job_use_limits(struct qless *q, struct qless_job *job, struct limit_set *set);
void job_set_limits(struct qless *q, struct qless_job *job, const struct qless_str *names,
		    size_t count);

/* ---- slots ---- */

/* Initialise the slots of a limit. */
void slots_init(struct skiplist *slots);
/* Let a running job have a slot of each of its limits until its lock expires. A job that has them
 * gets the new expiry. */
void slots_hold(struct qless *q, struct qless_job *job, double expires);
/* Release the slots of a job, if it has any. */
void slots_release(struct qless *q, struct qless_job *job);
/* Free the slots of a job, together with the lists that they are in. */
void slots_discard(struct qless_job *job);

/* ---- checks and repairs ---- */

/* When a sweep deletes the rule, or frees the limit; INFINITY if it does neither. */
double named_limit_sweep_time(const struct named_limit *limit);
/* Whether slots, lanes and times of sweeps agree with the jobs and the limits. */
bool limits_are_sound(const struct qless *q);
/* Until limits_resume(), jobs that change their states change no slots and lanes. */
void limits_suspend(struct qless *q);
/* Make slots and lanes anew if a job with limits has changed since. Returns the number of
 * repairs. */
size_t limits_resume(struct qless *q);
/* Make slots and lanes anew. */
void limits_rebuild(struct qless *q);

#endif
