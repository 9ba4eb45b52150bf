/*
 * Commands on sorted sets, except those that return ranges (cmd_zrange.c).
 */
#include <math.h>

#include "command/handlers.h"
#include "command/key.h"

void cmd_zcard(struct request *req)
{
	struct keyspace_key key;

	if (key_open(req, KEYSPACE_ZSET, KEY_MISSING_ZERO, &key))
		reply_integer(req->reply, skiplist_count(key.list));
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
	rank = skiplist_rank(key.list, node);
	reply_integer(req->reply, reverse ? skiplist_count(key.list) - 1 - rank : rank);
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
	bool whole = skiplist_count(key->list) <= ZSCAN_WHOLE_MAX;
	const struct skipnode *node = skiplist_first(key->list);
	uint64_t last = 0;

	*ret_count = 0;
	if (!whole && scan->cursor != 0) {
		double score = score_of_cursor(scan->cursor);

		node = isnan(score) ? NULL : skiplist_first_ge(key->list, score);
	}
	for (int64_t seen = 0; node != NULL; node = skiplist_next(node), seen++) {
		struct qless_str member = key->list->member(node);

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

void cmd_zscan(struct request *req)
{
	const struct skipnode *next;
	struct reply_deferred list;
	struct keyspace_key key;
	struct key_scan scan;
	size_t count;

	if (!key_parse_cursor(req, req->args[1], &scan) ||
	    !key_open(req, KEYSPACE_ZSET, KEY_MISSING_SCAN, &key) ||
	    !key_parse_scan_options(req, 2, false, &scan))
		return;
	reply_deferred_begin(req->reply, &list, REPLY_ARRAY);
	next = scan_nodes(&key, &scan, req->reply, &count);
	reply_deferred_leave(req->reply, &list);
	key_write_cursor(req->reply, next != NULL ? cursor_of_score(next->score) : 0);
	reply_deferred_end(req->reply, &list, 2 * count);
}
