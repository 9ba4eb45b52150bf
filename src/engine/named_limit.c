/*
 * Limits by name: which rule applies to them, and how long they exist.
 *
 * A pattern is found by the length of its prefix: the table of names is searched once for each
 * length that a pattern has, the longest first.
 */
#include "engine/named_limit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/lane.h"
#include "engine/queue.h"
#include "engine/settings.h"
#include "util/container.h"
#include "util/mem.h"

/* Limits that a call which makes or charges limits lets go at most. Two for each keep up. */
#define SWEEP_SOME 2

/* Limits that memory delivers at a time. */
#define LIMITS_AT_A_TIME 64

struct named_limit *named_limit_find(const struct qless *q, struct qless_str name)
{
	struct intern *found = intern_find(&q->limit_names, name);

	return found != NULL ? found->user : NULL;
}

/* ---- rules ---- */

/* The pattern whose prefix is the first `len` bytes of the name. */
static struct named_limit *find_pattern(const struct qless *q, struct buf *text,
					struct qless_str name, size_t len)
{
	buf_clear(text);
	buf_append(text, name.ptr, len);
	buf_append_char(text, '*');
	return named_limit_find(q, buf_str(text));
}

const struct limit_rule *limit_rule_of_pattern(const struct qless *q, struct qless_str name,
					       struct qless_str *ret_pattern)
{
	const struct named_limit *pattern = NULL;
	struct buf text = BUF_INIT(BUF_NO_MAX);

	if (limit_name_is_of_queue(name) || limit_name_is_pattern(name))
		return NULL;
	for (size_t i = 0; pattern == NULL && i < q->pattern_count; i++) {
		if (q->patterns[i].len <= name.len)
			pattern = find_pattern(q, &text, name, q->patterns[i].len);
		if (pattern != NULL && pattern->own == NULL)
			pattern = NULL;
	}
	buf_done(&text);
	if (pattern == NULL)
		return NULL;
	if (ret_pattern != NULL)
		*ret_pattern = intern_str(pattern->name);
	return pattern->own;
}

static const struct limit_rule *find_rule(const struct qless *q, const struct named_limit *limit)
{
	if (limit->own != NULL)
		return limit->own;
	return limit_rule_of_pattern(q, intern_str(limit->name), NULL);
}

/* Count a pattern among those of its length. The lengths are in falling order. */
static void count_pattern(struct qless *q, size_t len, bool is_added)
{
	struct pattern_length *lengths;
	size_t i = 0;

	while (i < q->pattern_count && q->patterns[i].len > len)
		i++;
	if (i < q->pattern_count && q->patterns[i].len == len) {
		q->patterns[i].count += is_added ? 1 : (size_t)-1;
		if (q->patterns[i].count > 0)
			return;
		q->pattern_count--;
		memmove(q->patterns + i, q->patterns + i + 1,
			(q->pattern_count - i) * sizeof *q->patterns);
		return;
	}
	assert(is_added);
	lengths = mem_grow(q->patterns, &q->pattern_cap, q->pattern_count + 1, sizeof *lengths);
	memmove(lengths + i + 1, lengths + i, (q->pattern_count - i) * sizeof *lengths);
	lengths[i] = (struct pattern_length){ .len = len, .count = 1 };
	q->patterns = lengths;
	q->pattern_count++;
}

/* Let a limit follow a rule that is new to it or has new values. A bucket that was charged under a
 * slower rate is full after a burst under the new one. Returns whether its tokens have changed. */
static bool follow_rule(struct qless *q, struct named_limit *limit, const struct limit_rule *rule)
{
	double tat = limit->tat;

	limit->rule = rule;
	if (rule != NULL && rule->rate > 0)
		limit->tat = fmin(tat, q->now + rule->burst * limit_rule_interval(rule));
	return limit->tat != tat;
}

/* Whether a pattern that is new applies to a limit: it wins over a shorter one. */
static bool takes_over(const struct named_limit *limit, const struct limit_rule *rule,
		       struct qless_str prefix)
{
	return limit->own == NULL && !limit->is_queue && !limit->is_pattern &&
	       (limit->rule == NULL || limit->rule->prefix_len < rule->prefix_len) &&
	       str_starts_with(intern_str(limit->name), prefix);
}

/* That `rule` replaces `old`; NULL: there is or was none. */
struct pattern_change {
	struct qless_str prefix;
	const struct limit_rule *old;
	const struct limit_rule *rule;
	struct named_limit **unused; /* limits of no set whose tokens have changed */
	size_t count;
	size_t cap;
};

static void follow_change(struct qless *q, struct named_limit *limit, struct pattern_change *change)
{
	const struct limit_rule *rule = change->rule;
	bool has_changed;

	if (change->old == NULL ? !takes_over(limit, rule, change->prefix)
				: limit->rule != change->old || limit->is_pattern)
		return;
	has_changed = follow_rule(q, limit, rule != NULL ? rule : find_rule(q, limit));
	if (limit->groups != NULL || limit->bundles != NULL)
		named_limit_reopen_later(q, limit);
	/* Its tokens decide when a sweep frees a limit that nothing else keeps. */
	if (!has_changed || limit->set_count > 0)
		return;
	change->unused = mem_grow(change->unused, &change->cap, change->count + 1,
				  sizeof(struct named_limit *));
	change->unused[change->count++] = limit;
}

/* Let several limits follow a change. Few of them are in the processor's cache. So each loop asks
 * memory for what the next one needs. */
static void follow_changes(struct qless *q, struct intern *const *names, size_t count,
			   struct pattern_change *change)
{
	for (size_t i = 0; i < count; i++)
		__builtin_prefetch(names[i]);
	for (size_t i = 0; i < count; i++) {
		const struct named_limit *limit = names[i]->user;

		if (limit == NULL)
			continue;
		__builtin_prefetch(limit);
		__builtin_prefetch(&limit->groups);
	}
	for (size_t i = 0; i < count; i++) {
		const struct named_limit *limit = names[i]->user;

		if (limit == NULL || limit->groups == NULL)
			continue;
		__builtin_prefetch(limit->groups);
		__builtin_prefetch(&limit->groups->node.key);
	}
	for (size_t i = 0; i < count; i++) {
		if (names[i]->user != NULL)
			follow_change(q, names[i]->user, change);
	}
}

/* Let all limits follow a pattern whose rule is new, has new values, or is deleted: `rule` replaces
 * `old`. There may be many limits, so each is looked at once, and patterns are searched for only
 * after a deletion. */
static void follow_pattern(struct qless *q, struct qless_str prefix, const struct limit_rule *old,
			   const struct limit_rule *rule)
{
	struct pattern_change change = { .prefix = prefix, .old = old, .rule = rule };
	struct intern *names[LIMITS_AT_A_TIME];
	size_t count = 0;
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->limit_names.hash) {
		names[count++] = intern_from_node(node);
		if (count < LIMITS_AT_A_TIME)
			continue;
		follow_changes(q, names, count, &change);
		count = 0;
	}
	follow_changes(q, names, count, &change);
	for (size_t i = 0; i < change.count; i++)
		named_limit_settle(q, change.unused[i], q->now);
	free(change.unused);
}

static struct limit_rule *copy_rule(const struct named_limit *limit, const struct limit_rule *rule)
{
	struct limit_rule *copy = mem_alloc(sizeof *copy);

	*copy = *rule;
	copy->prefix_len = limit->is_pattern ? limit->name->len - 1 : SIZE_MAX;
	return copy;
}

void limit_rule_replace(struct qless *q, struct named_limit *limit, const struct limit_rule *rule)
{
	struct limit_rule *old = limit->own;

	if (limit->is_pattern && (old == NULL) != (rule == NULL))
		count_pattern(q, limit->name->len - 1, rule != NULL);
	limit->own = rule != NULL ? copy_rule(limit, rule) : NULL;
	if (limit->is_pattern) {
		limit->rule = limit->own;
		follow_pattern(q, str_make(limit->name->text, limit->name->len - 1), old,
			       limit->own);
	} else {
		follow_rule(q, limit, find_rule(q, limit));
		if (limit->groups != NULL || limit->bundles != NULL || limit->is_queue)
			named_limit_reopen(q, limit);
	}
	free(old);
	named_limit_settle(q, limit, q->now);
}

void limit_rule_load(struct qless *q, struct named_limit *limit, const struct limit_rule *rule)
{
	assert(limit->own == NULL);
	limit->own = copy_rule(limit, rule);
	if (limit->is_pattern)
		count_pattern(q, limit->name->len - 1, true);
}

void limit_rules_follow(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->limit_names.hash) {
		struct named_limit *limit = intern_from_node(node)->user;

		if (limit != NULL)
			limit->rule = find_rule(q, limit);
	}
}

/* ---- existence ---- */

struct named_limit *named_limit_need(struct qless *q, struct qless_str name)
{
	struct intern *interned = intern_get(&q->limit_names, name);
	struct named_limit *limit = interned->user;
	unsigned height;

	if (limit != NULL) {
		intern_unref(&q->limit_names, interned);
		return limit;
	}
	height = engine_draw_height(q);
	limit = mem_zalloc(offsetof(struct named_limit, node) + skipnode_size(height));
	skipnode_init(&limit->node, height);
	limit->name = interned;
	interned->user = limit;
	limit->tat = -INFINITY;
	limit->held_until = -INFINITY;
	limit->is_pattern = limit_name_is_pattern(name);
	limit->is_queue = limit_name_is_of_queue(name);
	slots_init(&limit->slots);
	limit->rule = find_rule(q, limit);
	if (limit->is_queue)
		queue_use_limit(q, limit_queue_name(intern_str(interned)), limit);
	return limit;
}

void named_limit_free(struct named_limit *limit)
{
	skiplist_done(&limit->slots);
	free(limit->own);
	free(limit);
}

static void drop(struct qless *q, struct named_limit *limit)
{
	struct intern *name = limit->name;

	assert(limit->set_count == 0 && limit->waiting == 0 && limit->groups == NULL);
	assert(limit->bundles == NULL);
	assert(skiplist_count(&limit->slots) == 0 && !limit->node.linked);
	if (limit->is_queue)
		queue_use_limit(q, limit_queue_name(intern_str(name)), NULL);
	named_limit_free(limit);
	name->user = NULL;
	intern_unref(&q->limit_names, name);
}

double named_limit_sweep_time(const struct named_limit *limit)
{
	if (limit->own != NULL)
		return limit->own->expires;
	if (limit->set_count > 0)
		return INFINITY;
	return fmax(limit->tat, limit->held_until);
}

void named_limit_settle(struct qless *q, struct named_limit *limit, double now)
{
	double when = named_limit_sweep_time(limit);
	bool is_idle = limit->own == NULL && limit->set_count == 0 && when <= now;

	if (limit->node.linked && (is_idle || limit->node.score != when))
		skiplist_remove(&q->limit_sweeps, &limit->node);
	if (is_idle)
		drop(q, limit);
	else if (when < INFINITY && !limit->node.linked)
		skiplist_insert(&q->limit_sweeps, &limit->node, when);
}

/* Delete the rule of the limit, or free the limit. */
static void sweep(struct qless *q, struct named_limit *limit)
{
	if (limit->own == NULL) {
		named_limit_settle(q, limit, q->now);
		return;
	}
	if (limit->is_queue)
		settings_unset_concurrency(q, limit_queue_name(intern_str(limit->name)));
	limit_rule_replace(q, limit, NULL);
}

/* Without `may_walk`, stops at the rule of a pattern, because deleting it walks all limits. */
static uint64_t sweep_up_to(struct qless *q, int64_t max, bool may_walk)
{
	struct skipnode *node;
	uint64_t swept = 0;

	for (; max > 0; max--) {
		node = skiplist_first(&q->limit_sweeps);
		if (node == NULL || node->score > q->now)
			break;
		if (!may_walk && container_of(node, struct named_limit, node)->is_pattern)
			break;
		sweep(q, container_of(node, struct named_limit, node));
		engine_changed(q);
		swept++;
	}
	return swept;
}

void named_limit_sweep_some(struct qless *q)
{
	sweep_up_to(q, SWEEP_SOME, false);
}

int qless_limit_sweep(struct qless *q, double now, int64_t max, uint64_t *ret_swept)
{
	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (max < 0)
		return engine_fail_number(q, QLESS_OP_LIMIT_SWEEP, QLESS_WHY_NEGATIVE, "max",
					  (double)max);
	*ret_swept = sweep_up_to(q, max, true);
	return 0;
}

double qless_next_limit_sweep(const struct qless *q)
{
	const struct skipnode *node = skiplist_first(&q->limit_sweeps);

	return node != NULL ? node->score : INFINITY;
}

double named_limit_opens(const struct named_limit *limit)
{
	double opens = named_limit_ready(limit);

	if (!named_limit_is_full(limit))
		return opens;
	if (limit->rule->concurrency < 0)
		return INFINITY;
	return fmax(opens, skiplist_first(&limit->slots)->score);
}
