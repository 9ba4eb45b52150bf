/*
 * The calls about limits: rules, holds, and what there is to read.
 *
 * The concurrency of a queue is an option that is older than limits. The rule of `queue:<name>`
 * has the rest, and both are set and read together.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/limit.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/settings.h"
#include "util/json.h"

static int refuse_name(struct qless *q, const char *fault, struct qless_str name)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int rc;

	buf_append_str(&text, str_from(fault));
	if (name.len > 0)
		json_append_string(&text, name);
	rc = engine_fail_text(q, QLESS_OP_ANY, QLESS_WHY_LIMIT_NAME, "the name of a limit",
			      buf_str(&text));
	buf_done(&text);
	return rc;
}

static int check_name(struct qless *q, struct qless_str name)
{
	int rc = limit_check_name(q, "name", name);

	if (rc == 0 && name.len == 0)
		return refuse_name(q, "empty", name);
	if (rc == 0 && limit_name_is_pattern(name) && limit_name_is_of_queue(name))
		return refuse_name(q, "a pattern of queues, ", name);
	return rc;
}

/* ---- rules ---- */

/* A member of a rule that is given: its range as numbers and in words. */
struct rule_range {
	const char *argument;
	const char *words;
	double value;
	double min;
	bool is_given;
	bool is_whole;
};

static int check_range(struct qless *q, const struct rule_range *range)
{
	if (!range->is_given || (range->value >= range->min && range->value <= NUMBER_MAX &&
				 (!range->is_whole || range->value == floor(range->value))))
		return 0;
	return engine_fail(q, (struct qless_error){
				      .operation = QLESS_OP_LIMIT_SET,
				      .reason = QLESS_WHY_RANGE,
				      .argument = range->argument,
				      .detail = str_from(range->words),
				      .number = range->value,
			      });
}

/* The shortest time and the least rate, so that times stay finite. */
#define PER_MIN	   0.001
#define RATE_MIN   0.000001
#define WEIGHT_MIN 0.001

static int check_change(struct qless *q, const struct qless_limit_change *change)
{
	bool is_queue = limit_name_is_of_queue(change->name);
	const struct rule_range ranges[] = {
		{ "concurrency", is_queue ? "from 0 to 1e+15" : "from -1e+15 to 1e+15",
		  (double)change->concurrency, is_queue ? 0 : -NUMBER_MAX, change->has_concurrency,
		  true },
		{ "rate", "0, or from 0.000001 to 1e+15", change->rate, RATE_MIN,
		  change->has_rate && change->rate != 0, false },
		{ "per", "from 0.001 to 1e+15", change->per, PER_MIN,
		  change->has_rate && change->rate != 0, false },
		{ "burst", "a whole number from 1 to 1e+15", change->burst, 1, change->has_burst,
		  true },
		{ "weight", "from 0.001 to 1e+15", change->weight, WEIGHT_MIN, change->has_weight,
		  false },
		{ "ttl", "from 0 to 1e+15", change->ttl, 0, change->has_ttl, false },
	};
	int rc = check_name(q, change->name);

	for (size_t i = 0; rc == 0 && i < sizeof ranges / sizeof *ranges; i++)
		rc = check_range(q, &ranges[i]);
	return rc < 0 ? engine_fail_during(q, QLESS_OP_LIMIT_SET) : 0;
}

static struct limit_rule changed_rule(const struct limit_rule *old,
				      const struct qless_limit_change *change, double now)
{
	struct limit_rule rule = { .per = 1, .burst = 1, .weight = 1, .expires = INFINITY };

	if (old != NULL)
		rule = *old;
	if (change->has_concurrency)
		rule.concurrency = change->concurrency;
	if (change->has_rate) {
		rule.rate = change->rate;
		rule.per = change->rate != 0 ? change->per : 1;
	}
	if (change->has_burst)
		rule.burst = change->burst;
	if (change->has_weight)
		rule.weight = change->weight;
	if (change->has_ttl)
		rule.expires = change->ttl > 0 ? now + change->ttl : INFINITY;
	return rule;
}

static bool same_rule(const struct limit_rule *a, const struct limit_rule *b)
{
	return a != NULL && a->concurrency == b->concurrency && a->rate == b->rate &&
	       a->per == b->per && a->burst == b->burst && a->weight == b->weight &&
	       a->expires == b->expires;
}

/* Set the rule. A change of nothing but the concurrency of a queue needs no rule. */
static void set_rule(struct qless *q, const struct qless_limit_change *change)
{
	struct named_limit *limit;
	struct limit_rule rule;

	if (limit_name_is_of_queue(change->name) && !change->has_rate && !change->has_burst &&
	    !change->has_weight && !change->has_ttl)
		return;
	limit = named_limit_need(q, change->name);
	rule = changed_rule(limit->own, change, q->now);
	if (limit->is_queue)
		rule.concurrency = 0;
	if (same_rule(limit->own, &rule))
		return;
	limit_rule_replace(q, limit, &rule);
	engine_changed(q);
}

int qless_limit_set(struct qless *q, double now, const struct qless_limit_change *change)
{
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	rc = check_change(q, change);
	if (rc < 0)
		return rc;
	if (limit_name_is_of_queue(change->name) && change->has_concurrency) {
		rc = settings_set_concurrency(q, limit_queue_name(change->name),
					      change->concurrency);
		if (rc < 0)
			return engine_fail_during(q, QLESS_OP_LIMIT_SET);
	}
	set_rule(q, change);
	return 0;
}

int qless_limit_delete(struct qless *q, double now, struct qless_str name, bool *ret_was)
{
	struct named_limit *limit;
	bool was = false;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (check_name(q, name) < 0)
		return engine_fail_during(q, QLESS_OP_LIMIT_DELETE);
	if (limit_name_is_of_queue(name))
		was = settings_unset_concurrency(q, limit_queue_name(name));
	limit = named_limit_find(q, name);
	if (limit != NULL && limit->own != NULL) {
		limit_rule_replace(q, limit, NULL);
		engine_changed(q);
		was = true;
	}
	*ret_was = was;
	return 0;
}

/* ---- holds ---- */

static int check_hold(struct qless *q, struct qless_str name, double seconds)
{
	int rc = check_name(q, name);

	if (rc < 0)
		return rc;
	if (limit_name_is_pattern(name))
		return refuse_name(q, "a pattern, ", name);
	if (seconds >= 0 && seconds <= NUMBER_MAX)
		return 0;
	return engine_fail(q, (struct qless_error){
				      .reason = QLESS_WHY_RANGE,
				      .argument = "seconds",
				      .detail = STR("from 0 to 1e+15"),
				      .number = seconds,
			      });
}

int qless_limit_hold(struct qless *q, double now, struct qless_str name, double seconds,
		     double *ret_until)
{
	double until = seconds > 0 ? now + seconds : -INFINITY;
	struct named_limit *limit;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (check_hold(q, name, seconds) < 0)
		return engine_fail_during(q, QLESS_OP_LIMIT_HOLD);
	*ret_until = now + seconds;
	limit = seconds > 0 ? named_limit_need(q, name) : named_limit_find(q, name);
	if (limit == NULL || limit->held_until == until)
		return 0;
	limit->held_until = until;
	named_limit_reopen(q, limit);
	named_limit_settle(q, limit, now);
	named_limit_sweep_some(q);
	engine_changed(q);
	return 0;
}

/* ---- reading ---- */

static void read_rule(const struct limit_rule *rule, struct qless_limit_info *info)
{
	info->concurrency = rule->concurrency;
	info->rate = rule->rate;
	info->per = rule->per;
	info->burst = rule->burst;
	info->weight = rule->weight;
	info->expires = rule->expires;
}

/* When the first of the locks expires that are still valid, of which there is one. */
static double first_expiry(const struct queue *queue, double now)
{
	uint32_t expired = skiplist_count_range(&queue->locks, 0, now);
	const struct skipnode *node = skiplist_at(&queue->locks, expired);

	assert(node != NULL);
	return node->score;
}

/* Read the limit of a queue, and count its jobs. Returns whether anything does. */
static bool read_queue(const struct qless *q, double now, struct qless_limit_info *info)
{
	struct qless_str name = limit_queue_name(info->name);
	const struct queue *queue = queue_find(q, name);
	double max = settings_queue_number(q, name, STR("-max-concurrency"));

	if (queue != NULL) {
		info->running = queue_count_locks(queue, now);
		info->waiting = queue_count_waiting(queue);
	}
	if (isnan(max))
		return false;
	info->concurrency = max > 0 ? (int64_t)max : 0;
	info->is_full = info->concurrency > 0 && info->running >= (uint64_t)info->concurrency;
	if (info->is_full)
		info->opens = fmax(info->opens, first_expiry(queue, now));
	return true;
}

/* How many jobs the rate would hand out at once. */
static double count_tokens(const struct limit_rule *rule, double tat, double now)
{
	double spent;

	if (rule == NULL || rule->rate == 0)
		return 0;
	spent = fmax(tat - now, 0) / limit_rule_interval(rule);
	return fmax(rule->burst - ceil(spent), 0);
}

static void read_limit(const struct named_limit *limit, double now, struct qless_limit_info *info)
{
	info->held_until = limit->held_until > now ? limit->held_until : 0;
	info->opens = named_limit_opens(limit);
	info->tokens = count_tokens(limit->rule, limit->tat, now);
	info->running = skiplist_count(&limit->slots);
	info->waiting = limit->waiting;
	info->is_full = named_limit_is_full(limit);
	if (limit->own != NULL)
		info->rule = info->name;
}

bool qless_limit_get(const struct qless *q, double now, struct qless_str name,
		     struct qless_limit_info *ret_info)
{
	const struct named_limit *limit = named_limit_find(q, name);
	struct qless_limit_info info = {
		.name = name,
		.per = 1,
		.burst = 1,
		.weight = 1,
		.expires = INFINITY,
		.opens = -INFINITY,
	};
	const struct limit_rule *rule = limit_rule_of_pattern(q, name, &info.rule);

	if (limit != NULL) {
		info.name = intern_str(limit->name);
		read_limit(limit, now, &info);
		rule = limit->rule;
	}
	if (rule != NULL)
		read_rule(rule, &info);
	if (limit == NULL) {
		info.tokens = count_tokens(rule, -INFINITY, now);
		info.is_full = rule != NULL && rule->concurrency < 0;
		info.opens = info.is_full ? INFINITY : -INFINITY;
	}
	if (limit_name_is_of_queue(name) && !read_queue(q, now, &info) && limit == NULL)
		return false;
	if (limit == NULL && rule == NULL && !limit_name_is_of_queue(name))
		return false;
	*ret_info = info;
	return true;
}

struct name_visit {
	void (*visit)(void *arg, struct qless_str name);
	void *arg;
};

static void visit_name(struct hash_node *node, void *arg)
{
	const struct name_visit *visit = arg;
	const struct intern *name = intern_from_node(node);

	if (name->user != NULL)
		visit->visit(visit->arg, intern_str(name));
}

uint32_t qless_limit_scan(const struct qless *q, uint32_t cursor,
			  void (*visit)(void *arg, struct qless_str name), void *arg)
{
	struct name_visit names = { visit, arg };

	return hash_scan(&q->limit_names.hash, cursor, visit_name, &names);
}

size_t qless_limit_count(const struct qless *q)
{
	return intern_count(&q->limit_names);
}
