/*
 * Loading snapshots: limits, and the sets of limits that jobs name.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "engine/fair.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/state_load.h"
#include "engine/vec.h"
#include "util/mem.h"
#include "util/wire.h"

/* Whether a rule can come from qless_limit_set(). */
static bool is_rule(const struct limit_rule *rule)
{
	double bound = (double)rule->concurrency;

	return fabs(bound) <= NUMBER_MAX && rule->rate >= 0 && rule->rate <= NUMBER_MAX &&
	       rule->per > 0 && rule->per <= NUMBER_MAX && rule->burst >= 1 &&
	       rule->burst <= NUMBER_MAX && rule->weight > 0 && rule->weight <= NUMBER_MAX &&
	       isfinite(limit_rule_interval(rule)) == (rule->rate > 0);
}

static struct limit_rule load_rule(struct state_loader *l, unsigned flags)
{
	struct limit_rule rule = { .expires = INFINITY };

	rule.concurrency = wire_unzigzag(state_read_varint(l));
	rule.rate = state_read_number(l);
	rule.per = state_read_number(l);
	rule.burst = state_read_number(l);
	rule.weight = state_read_number(l);
	if (flags & STATE_LIMIT_EXPIRES)
		rule.expires = state_read_time(l);
	if (!is_rule(&rule))
		state_read_fail(l, "a limit has a rule that it cannot have");
	return rule;
}

/* Whether a limit can have the name. */
static bool is_name(struct qless_str name)
{
	return name.len > 0 && !(limit_name_is_pattern(name) && limit_name_is_of_queue(name));
}

static void load_limit(struct state_loader *l)
{
	struct intern *name = state_read_name(l, STATE_LIMIT);
	unsigned flags = state_read_byte(l);
	struct limit_rule rule = { .rate = 0 };
	double tat, held;
	struct named_limit *limit;

	if (flags & STATE_LIMIT_RULE)
		rule = load_rule(l, flags);
	tat = flags & STATE_LIMIT_TAT ? state_read_time(l) : -INFINITY;
	held = flags & STATE_LIMIT_HELD ? state_read_time(l) : -INFINITY;
	if (flags > STATE_LIMIT_FLAGS || flags == 0 ||
	    (flags & (STATE_LIMIT_RULE | STATE_LIMIT_EXPIRES)) == STATE_LIMIT_EXPIRES)
		state_read_fail(l, "a limit has flags that are not known");
	if (l->failed)
		return;
	if (name->user != NULL || !is_name(intern_str(name))) {
		state_read_fail(l, "a limit comes twice, or has a name that it cannot have");
		return;
	}
	/* The tokens come first, because a rule keeps a limit that has nothing else. */
	limit = named_limit_need(l->q, intern_str(name));
	limit->held_until = held;
	limit->tat = tat;
	if (flags & STATE_LIMIT_RULE)
		limit_rule_load(l->q, limit, &rule);
}

void state_load_limits(struct state_loader *l)
{
	uint64_t count = state_read_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++)
		load_limit(l);
	if (!l->failed)
		limit_rules_follow(l->q);
}

/* Load the names of a set that is used for the first time. */
static void load_new_set(struct state_loader *l)
{
	struct qless_str names[QLESS_MAX_LIMITS];
	uint64_t count = state_read_varint(l);
	struct limit_set *set;

	if (count == 0 || count > QLESS_MAX_LIMITS)
		state_read_fail(l, "a job has too many limits, or none");
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct intern *name = state_read_name(l, STATE_LIMIT);

		if (l->failed)
			return;
		names[i] = intern_str(name);
		if (limit_find_fault(names[i]) != NULL)
			state_read_fail(l, "a job has a limit that it cannot have");
	}
	if (l->failed)
		return;
	set = limit_set_get(l->q, names, (size_t)count);
	l->sets = mem_grow(l->sets, &l->set_cap, l->set_count + 1, sizeof *l->sets);
	l->sets[l->set_count++] = set;
	if (set->count != count)
		state_read_fail(l, "a job has a limit twice");
}

struct limit_set *state_load_set(struct state_loader *l)
{
	uint64_t number = state_read_varint(l);

	if (number == 0)
		return NULL;
	if (number > l->set_count + 1)
		state_read_fail(l, "a set of limits is missing");
	else if (number == l->set_count + 1)
		load_new_set(l);
	return l->failed ? NULL : l->sets[number - 1];
}

static double load_pass(struct state_loader *l)
{
	double pass = state_read_number(l);

	if (pass < 0)
		state_read_fail(l, "a queue has a negative number of turns");
	return pass;
}

void state_load_turns(struct state_loader *l, struct queue *queue)
{
	bool is_fair = state_read_byte(l) != 0;
	uint64_t count;

	if (!l->failed && is_fair != (queue->fair != NULL))
		state_read_fail(l, "a queue has turns without fair order, or the other way round");
	if (l->failed || !is_fair)
		return;
	queue->fair->pass = load_pass(l);
	queue->fair->plain = load_pass(l);
	count = state_read_varint(l);
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct intern *name = state_read_name(l, STATE_LIMIT);
		double pass = load_pass(l);

		if (!l->failed)
			turn_set_pass(l->q, turn_need(l->q, queue, name), pass);
	}
}

void state_settle_limits(struct state_loader *l)
{
	struct hash_iter it;
	struct hash_node *node;

	for (size_t i = 0; i < l->set_count; i++)
		limit_set_unref(l->q, l->sets[i]);
	free(l->sets);
	HASH_FOREACH(node, &it, &l->q->limit_names.hash) {
		struct named_limit *limit = intern_from_node(node)->user;

		if (limit != NULL)
			named_limit_settle(l->q, limit, -INFINITY);
	}
}
