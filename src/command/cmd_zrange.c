/*
 * Ranges of sorted sets. A range by rank, score or member is turned into the ranks from `begin` to
 * one before `end` in O(log n). Only the returned members are visited.
 */
#include <ctype.h>
#include <math.h>

#include "command/handlers.h"
#include "command/key.h"
#include "command/listing.h"
#include "util/num.h"

enum range_by {
	BY_RANK,
	BY_SCORE,
	BY_LEX,
};

struct score_bound {
	double score;
	bool exclusive;
};

enum lex_kind {
	LEX_MIN,
	LEX_MAX,
	LEX_MEMBER,
};

struct lex_bound {
	enum lex_kind kind;
	struct qless_str member;
	bool exclusive;
};

struct range {
	enum range_by by;
	bool reverse;
	bool with_scores;
	int64_t offset;
	int64_t limit; /* negative: no limit */
	/* Only the bounds of its kind are set. */
	int64_t start, stop;
	struct score_bound min_score, max_score;
	struct lex_bound min_lex, max_lex;
};

/* ---- bounds ---- */

/* Like strtod() in Redis: blanks may precede the number, and an empty text is 0. */
static bool parse_score_bound(struct qless_str text, struct score_bound *ret_bound)
{
	struct score_bound bound = { .exclusive = false };

	if (text.len != 0 && text.ptr[0] == '(') {
		bound.exclusive = true;
		text = str_make(text.ptr + 1, text.len - 1);
	}
	if (text.len != 0 &&
	    (isspace((unsigned char)text.ptr[text.len - 1]) || !num_parse_lua(text, &bound.score)))
		return false;
	*ret_bound = bound;
	return !isnan(bound.score);
}

static bool parse_score_bounds(struct request *req, struct qless_str min, struct qless_str max,
			       struct range *range)
{
	if (parse_score_bound(min, &range->min_score) && parse_score_bound(max, &range->max_score))
		return true;
	reply_error(req->reply, "ERR", STR("min or max is not a float"));
	return false;
}

static bool parse_lex_bound(struct qless_str text, struct lex_bound *ret_bound)
{
	struct lex_bound bound = { .kind = LEX_MEMBER };

	if (str_equal(text, STR("-"))) {
		bound.kind = LEX_MIN;
	} else if (str_equal(text, STR("+"))) {
		bound.kind = LEX_MAX;
	} else if (text.len != 0 && (text.ptr[0] == '[' || text.ptr[0] == '(')) {
		bound.exclusive = text.ptr[0] == '(';
		bound.member = str_make(text.ptr + 1, text.len - 1);
	} else {
		return false;
	}
	*ret_bound = bound;
	return true;
}

static bool parse_lex_bounds(struct request *req, struct qless_str min, struct qless_str max,
			     struct range *range)
{
	if (parse_lex_bound(min, &range->min_lex) && parse_lex_bound(max, &range->max_lex))
		return true;
	reply_error(req->reply, "ERR", STR("min or max not valid string range item"));
	return false;
}

/* Reads the two arguments after the key. In a reverse range by score or member, the maximum comes
 * first. */
static bool parse_bounds(struct request *req, struct range *range)
{
	struct qless_str min = req->args[range->reverse ? 2 : 1];
	struct qless_str max = req->args[range->reverse ? 1 : 2];

	switch (range->by) {
	case BY_RANK:
		return key_parse_integer(req, req->args[1], &range->start) &&
		       key_parse_integer(req, req->args[2], &range->stop);
	case BY_SCORE:
		return parse_score_bounds(req, min, max, range);
	case BY_LEX:
		return parse_lex_bounds(req, min, max, range);
	}
	return false;
}

/* ---- options ---- */

/* The options that a command takes. */
enum range_option {
	MAY_REVERSE = 1 << 0,
	MAY_CHOOSE = 1 << 1, /* the kind of the range */
};

static bool parse_option(struct request *req, size_t *at, unsigned *may, struct range *range)
{
	struct qless_str word = req->args[*at];

	if (str_equal_nocase(word, STR("WITHSCORES"))) {
		range->with_scores = true;
	} else if (str_equal_nocase(word, STR("LIMIT")) && *at + 2 < req->nargs) {
		*at += 2;
		return key_parse_integer(req, req->args[*at - 1], &range->offset) &&
		       key_parse_integer(req, req->args[*at], &range->limit);
	} else if ((*may & MAY_REVERSE) != 0 && str_equal_nocase(word, STR("REV"))) {
		range->reverse = true;
		*may &= ~(unsigned)MAY_REVERSE;
	} else if ((*may & MAY_CHOOSE) != 0 && str_equal_nocase(word, STR("BYSCORE"))) {
		range->by = BY_SCORE;
		*may &= ~(unsigned)MAY_CHOOSE;
	} else if ((*may & MAY_CHOOSE) != 0 && str_equal_nocase(word, STR("BYLEX"))) {
		range->by = BY_LEX;
		*may &= ~(unsigned)MAY_CHOOSE;
	} else {
		key_write_syntax_error(req);
		return false;
	}
	return true;
}

static bool parse_options(struct request *req, unsigned may, struct range *range)
{
	for (size_t at = 3; at < req->nargs; at++) {
		if (!parse_option(req, &at, &may, range))
			return false;
	}
	if (range->limit != -1 && range->by == BY_RANK) {
		reply_error(req->reply, "ERR",
			    STR("syntax error, LIMIT is only supported in combination with "
				"either BYSCORE or BYLEX"));
		return false;
	}
	/* Redis ignores a limit of -1 here, and the offset with it. */
	if (range->by == BY_RANK)
		range->offset = 0;
	if (range->with_scores && range->by == BY_LEX) {
		reply_error(req->reply, "ERR",
			    STR("syntax error, WITHSCORES not supported in combination with "
				"BYLEX"));
		return false;
	}
	return true;
}

/* ---- from bounds to ranks ---- */

static void find_by_rank(const struct skipmerge *order, const struct range *range,
			 size_t *ret_begin, size_t *ret_end)
{
	size_t total = skipmerge_count(order), first, count;

	*ret_begin = *ret_end = 0;
	if (!key_index_range(total, range->start, range->stop, &first, &count))
		return;
	*ret_begin = range->reverse ? total - first - count : first;
	*ret_end = *ret_begin + count;
}

static void find_by_score(const struct skipmerge *order, const struct range *range,
			  size_t *ret_begin, size_t *ret_end)
{
	const struct score_bound *min = &range->min_score, *max = &range->max_score;

	*ret_begin = min->exclusive ? skipmerge_count_le(order, min->score)
				    : skipmerge_count_lt(order, min->score);
	*ret_end = max->exclusive ? skipmerge_count_lt(order, max->score)
				  : skipmerge_count_le(order, max->score);
}

/* Returns the number of nodes before the bound. A range by member makes sense only if all scores
 * are equal; otherwise only the nodes with the lowest score count. */
static size_t count_before_lex(const struct skipmerge *order, const struct lex_bound *bound,
			       bool inclusive)
{
	const struct skipnode *node;
	double score = skipmerge_first(order)->score;

	switch (bound->kind) {
	case LEX_MIN:
		return 0;
	case LEX_MAX:
		return skipmerge_count(order);
	case LEX_MEMBER:
		break;
	}
	node = inclusive ? skipmerge_first_gt_member(order, score, bound->member)
			 : skipmerge_first_ge_member(order, score, bound->member);
	return node != NULL ? skipmerge_rank(order, node) : skipmerge_count(order);
}

static void find_by_lex(const struct skipmerge *order, const struct range *range, size_t *ret_begin,
			size_t *ret_end)
{
	*ret_begin = count_before_lex(order, &range->min_lex, range->min_lex.exclusive);
	*ret_end = count_before_lex(order, &range->max_lex, !range->max_lex.exclusive);
}

/* The ranks from begin to end - 1; none if begin >= end. */
static void find_range(const struct skipmerge *order, const struct range *range, size_t *ret_begin,
		       size_t *ret_end)
{
	switch (range->by) {
	case BY_RANK:
		find_by_rank(order, range, ret_begin, ret_end);
		break;
	case BY_SCORE:
		find_by_score(order, range, ret_begin, ret_end);
		break;
	case BY_LEX:
		find_by_lex(order, range, ret_begin, ret_end);
		break;
	}
}

/* ---- replies ---- */

/* Applies LIMIT to `total` members. A negative offset leaves none. */
static size_t limited(const struct range *range, size_t total)
{
	size_t left;

	if (range->offset < 0 || (uint64_t)range->offset >= total)
		return 0;
	left = total - (size_t)range->offset;
	return range->limit < 0 || (uint64_t)range->limit > left ? left : (size_t)range->limit;
}

static void write_nodes(struct reply *w, const struct skipmerge *order, const struct skipnode *node,
			size_t count, const struct range *range)
{
	bool in_pairs = range->with_scores && w->ops->nests_pairs;

	reply_array(w, range->with_scores && !in_pairs ? 2 * count : count);
	for (; count != 0; count--) {
		if (in_pairs)
			reply_array(w, 2);
		reply_bulk(w, skipmerge_member(order, node));
		if (range->with_scores)
			reply_double(w, node->score);
		node = range->reverse ? skipmerge_prev(order, node) : skipmerge_next(order, node);
	}
}

static bool find_listed(const struct listing *l, const struct request *req,
			struct skipmerge *ret_order)
{
	struct keyspace_key key;

	(void)l;
	if (!keyspace_find(key_engine(req), req->args[0], &key) || key.type != KEYSPACE_ZSET)
		return false;
	*ret_order = key.order;
	return true;
}

static size_t write_scored(struct listing *l, struct request *req, const struct skiplist *list,
			   const struct skipnode *node)
{
	struct reply *w = req->reply;

	(void)l;
	if (w->ops->nests_pairs)
		reply_array(w, 2);
	reply_bulk(w, list->member(node));
	reply_double(w, node->score);
	return w->ops->nests_pairs ? 1 : 2;
}

/* Writes many members over several turns. */
static void list_nodes(struct request *req, size_t first, size_t count, const struct range *range)
{
	static const struct listing_form members = { .type = REPLY_ARRAY,
						     .find_order = find_listed,
						     .write = listing_write_member };
	static const struct listing_form scored = { .type = REPLY_ARRAY,
						    .find_order = find_listed,
						    .write = write_scored };
	struct listing *l = listing_new(range->with_scores ? &scored : &members);

	listing_add(l, first, count, range->reverse);
	listing_begin(req, l);
}

static void write_range(struct request *req, enum range_by by, bool reverse, unsigned may)
{
	struct range range = { .by = by, .reverse = reverse, .limit = -1 };
	const struct skipnode *node = NULL;
	struct keyspace_key key;
	size_t begin, end, count, first;

	if (!parse_options(req, may, &range) || !parse_bounds(req, &range) ||
	    !key_open(req, KEYSPACE_ZSET, KEY_MISSING_ARRAY, &key))
		return;
	find_range(&key.order, &range, &begin, &end);
	count = begin < end ? limited(&range, end - begin) : 0;
	if (count != 0) {
		size_t offset = (size_t)range.offset;

		first = range.reverse ? end - 1 - offset : begin + offset;
		if (count > LISTING_SHORT) {
			list_nodes(req, first, count, &range);
			return;
		}
		node = skipmerge_at(&key.order, (uint32_t)first);
	}
	write_nodes(req->reply, &key.order, node, count, &range);
}

void cmd_zrange(struct request *req)
{
	write_range(req, BY_RANK, false, MAY_REVERSE | MAY_CHOOSE);
}

void cmd_zrevrange(struct request *req)
{
	write_range(req, BY_RANK, true, 0);
}

void cmd_zrangebyscore(struct request *req)
{
	write_range(req, BY_SCORE, false, 0);
}

void cmd_zrevrangebyscore(struct request *req)
{
	write_range(req, BY_SCORE, true, 0);
}

void cmd_zrangebylex(struct request *req)
{
	write_range(req, BY_LEX, false, 0);
}

void cmd_zrevrangebylex(struct request *req)
{
	write_range(req, BY_LEX, true, 0);
}

static void write_count(struct request *req, enum range_by by)
{
	struct range range = { .by = by };
	struct keyspace_key key;
	size_t begin, end;

	if (!parse_bounds(req, &range) || !key_open(req, KEYSPACE_ZSET, KEY_MISSING_ZERO, &key))
		return;
	find_range(&key.order, &range, &begin, &end);
	reply_integer(req->reply, begin < end ? (int64_t)(end - begin) : 0);
}

void cmd_zcount(struct request *req)
{
	write_count(req, BY_SCORE);
}

void cmd_zlexcount(struct request *req)
{
	write_count(req, BY_LEX);
}
