/*
 * Commands on sorted sets, except those that return ranges (cmd_zrange.c).
 */
#include <math.h>

#include "command/handlers.h"
#include "command/key.h"
#include "command/listing.h"

void cmd_zcard(struct request *req)
{
	struct keyspace_key key;

	if (key_open(req, KEYSPACE_ZSET, KEY_MISSING_ZERO, &key))
		reply_integer(req->reply, skipmerge_count(&key.order));
}

static void write_score(struct reply *w, const struct skipnode *node)
{
	if (node != NULL)
		reply_double(w, node->score);
	else
		reply_null(w);
}

void cmd_zscore(struct request *req)
{
	struct keyspace_key key;

	if (key_open(req, KEYSPACE_ZSET, KEY_MISSING_NULL, &key))
		write_score(req->reply, keyspace_zset_find(&key, req->args[1]));
}

void cmd_zmscore(struct request *req)
{
	struct keyspace_key key;
	bool exists;

	if (!key_open_any(req, KEYSPACE_ZSET, &key, &exists))
		return;
	reply_array(req->reply, req->nargs - 1);
	for (size_t i = 1; i < req->nargs; i++)
		write_score(req->reply, exists ? keyspace_zset_find(&key, req->args[i]) : NULL);
}

static void write_rank(struct request *req, bool reverse)
{
	const struct skipnode *node;
	struct keyspace_key key;
	uint32_t rank;

	if (!key_open(req, KEYSPACE_ZSET, KEY_MISSING_NULL, &key))
		return;
	node = keyspace_zset_find(&key, req->args[1]);
	if (node == NULL) {
		reply_null(req->reply);
		return;
	}
	rank = skipmerge_rank(&key.order, node);
	reply_integer(req->reply, reverse ? skipmerge_count(&key.order) - 1 - rank : rank);
}

void cmd_zrank(struct request *req)
{
	write_rank(req, false);
}

void cmd_zrevrank(struct request *req)
{
	write_rank(req, true);
}

/*
 * ZSCAN
 *
 * The cursor is the next score, turned into an integer of the same order. So the scan neither skips
 * nor repeats a member whose score stays the same, even if others come and go between the calls. A
 * member whose score grows may be returned twice. Members with equal scores are returned together.
 * So are members whose scores differ only in the last bit: the cursor drops that bit, so that it
 * fits into a signed integer.
 */

/* Members that are returned at once, whatever COUNT is. */
#define ZSCAN_WHOLE_MAX 128

#define SIGN_BIT (UINT64_C(1) << 63)

static uint64_t cursor_of_score(double score)
{
	uint64_t bits;

	score += 0.0; /* turns -0 into 0 */
	memcpy(&bits, &score, sizeof bits);
	bits = (bits & SIGN_BIT) != 0 ? ~bits : bits | SIGN_BIT;
	return bits >> 1;
}

/* Returns the lowest score with that cursor; NAN if it is not a cursor. */
static double score_of_cursor(uint64_t cursor)
{
	uint64_t bits = cursor << 1;
	double score;

	bits = (bits & SIGN_BIT) != 0 ? bits & ~SIGN_BIT : ~bits;
	memcpy(&score, &bits, sizeof score);
	return score;
}

/* Writes the members of this call. Returns the node to continue with, or NULL. */
static const struct skipnode *scan_nodes(const struct keyspace_key *key,
					 const struct key_scan *scan, struct reply *w,
					 size_t *ret_count)
{
	bool whole = skipmerge_count(&key->order) <= ZSCAN_WHOLE_MAX;
	const struct skipnode *node = skipmerge_first(&key->order);
	uint64_t last = 0;

	*ret_count = 0;
	if (!whole && scan->cursor != 0) {
		double score = score_of_cursor(scan->cursor);

		node = isnan(score) ? NULL : skipmerge_first_ge(&key->order, score);
	}
	for (int64_t seen = 0; node != NULL; node = skipmerge_next(&key->order, node), seen++) {
		struct qless_str member = skipmerge_member(&key->order, node);

		if (!whole && seen >= scan->count && cursor_of_score(node->score) != last)
			break;
		last = cursor_of_score(node->score);
		if (!key_scan_matches(scan, member))
			continue;
		++*ret_count;
		reply_bulk(w, member);
		reply_bulkf(w, "%.17g", node->score);
	}
	return node;
}

/*
 * Many members, over several turns. `cursor` is the next cursor, and `kind` the index of the
 * argument that is the pattern, or 0.
 */

static bool find_scanned(const struct listing *l, const struct request *req,
			 struct skipmerge *ret_order)
{
	struct keyspace_key key;

	(void)l;
	if (!keyspace_find(key_engine(req), req->args[0], &key) || key.type != KEYSPACE_ZSET)
		return false;
	*ret_order = key.order;
	return true;
}

static void write_next_cursor(struct listing *l, struct request *req)
{
	key_write_cursor(req->reply, l->cursor);
}

static size_t write_scanned(struct listing *l, struct request *req, const struct skiplist *list,
			    const struct skipnode *node)
{
	struct qless_str member = list->member(node);
	struct key_scan scan = { .has_pattern = l->kind != 0, .pattern = req->args[l->kind] };

	if (!key_scan_matches(&scan, member))
		return 0;
	reply_bulk(req->reply, member);
	reply_bulkf(req->reply, "%.17g", node->score);
	return 2;
}

static void scan_many(struct request *req, const struct key_scan *scan, uint32_t first,
		      uint32_t end, uint64_t next)
{
	static const struct listing_form form = { .type = REPLY_ARRAY,
						  .find_order = find_scanned,
						  .write = write_scanned,
						  .begin = write_next_cursor };
	struct listing *l = listing_new(&form);

	l->cursor = next;
	for (size_t i = 0; scan->has_pattern && i < req->nargs; i++) {
		if (req->args[i].ptr == scan->pattern.ptr)
			l->kind = (int)i;
	}
	listing_add(l, first, end - first, false);
	listing_begin(req, l);
}

/* Computes the ranks of the members of a call, and its next cursor, as scan_nodes() does. */
static void find_scan(const struct skipmerge *order, const struct key_scan *scan,
		      uint32_t *ret_first, uint32_t *ret_end, uint64_t *ret_next)
{
	uint32_t total = skipmerge_count(order), first = 0;
	const struct skipnode *node;
	double next_score;

	if (scan->cursor != 0) {
		double score = score_of_cursor(scan->cursor);

		first = isnan(score) ? total : skipmerge_count_lt(order, score);
	}
	*ret_first = first;
	*ret_end = total;
	*ret_next = 0;
	if ((uint64_t)scan->count >= total - first)
		return;
	node = skipmerge_at(order, first + (uint32_t)scan->count - 1);
	/* NAN after the largest cursor. */
	next_score = score_of_cursor(cursor_of_score(node->score) + 1);
	node = isnan(next_score) ? NULL : skipmerge_first_ge(order, next_score);
	if (node == NULL)
		return;
	*ret_end = skipmerge_rank(order, node);
	*ret_next = cursor_of_score(node->score);
}

void cmd_zscan(struct request *req)
{
	uint32_t first, end;
	uint64_t next_cursor;
	const struct skipnode *next;
	struct reply_deferred list;
	struct keyspace_key key;
	struct key_scan scan;
	size_t count;

	if (!key_parse_cursor(req, req->args[1], &scan) ||
	    !key_open(req, KEYSPACE_ZSET, KEY_MISSING_SCAN, &key) ||
	    !key_parse_scan_options(req, 2, false, &scan))
		return;
	find_scan(&key.order, &scan, &first, &end, &next_cursor);
	if (end - first > ZSCAN_WHOLE_MAX) {
		scan_many(req, &scan, first, end, next_cursor);
		return;
	}
	reply_deferred_begin(req->reply, &list, REPLY_ARRAY);
	next = scan_nodes(&key, &scan, req->reply, &count);
	reply_deferred_leave(req->reply, &list);
	key_write_cursor(req->reply, next != NULL ? cursor_of_score(next->score) : 0);
	reply_deferred_end(req->reply, &list, 2 * count);
}
