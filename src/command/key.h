/*
 * What the commands on keys have in common.
 *
 * The keys are the read-only view of the engine in keyspace/. There is nothing behind them to
 * change, so these commands only look.
 */
#ifndef COMMAND_KEY_H
#define COMMAND_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/request.h"
#include "keyspace/keyspace.h"
#include "resp/reply.h"

/* The engine of the session's database; NULL if that is empty. */
const struct qless *key_engine(const struct request *req);

/* What is answered if there is no such key. */
enum key_missing {
	KEY_MISSING_NULL,
	KEY_MISSING_ZERO,
	KEY_MISSING_ARRAY,
	KEY_MISSING_MAP,
	KEY_MISSING_SET,
	KEY_MISSING_SCAN,
};

/* The key that is the first argument. False if there is none, or it is of another type: then the
 * reply has been written. */
bool key_open(struct request *req, enum keyspace_type type, enum key_missing missing,
	      struct keyspace_key *ret_key);

/* The same for a command that answers something about each of its arguments even if there is no
 * such key. False only if the key is of another type. */
bool key_open_any(struct request *req, enum keyspace_type type, struct keyspace_key *ret_key,
		  bool *ret_exists);

/* False if the text is not an integer: then the reply has been written. */
bool key_parse_integer(struct request *req, struct qless_str text, int64_t *ret_value);

void key_write_syntax_error(struct request *req);

/* Of `total` elements, those from index start to stop, where negative indices count from the end.
 * False if there are none. */
bool key_index_range(size_t total, int64_t start, int64_t stop, size_t *ret_first,
		     size_t *ret_count);

/* Write a value; a visitor for all that is visited. `arg` is the writer. */
void key_write_value(void *arg, struct qless_str value);

/* ---- SCAN and its like ---- */

struct key_scan {
	uint64_t cursor;
	int64_t count;
	bool has_pattern;
	struct qless_str pattern;
	bool has_type;
	struct qless_str type;
};

/* The cursor, from an argument; then the options, from argument `first` on. Each returns false if
 * they are wrong: then the reply has been written. */
bool key_parse_cursor(struct request *req, struct qless_str text, struct key_scan *ret_scan);
bool key_parse_scan_options(struct request *req, size_t first, bool takes_type,
			    struct key_scan *scan);

bool key_scan_matches(const struct key_scan *scan, struct qless_str text);

/* Begin the reply to a scan whose cursor is known already; its elements follow as an array. */
void key_write_cursor(struct reply *w, uint64_t cursor);

/* The bytes that a pattern begins with and that stand for themselves. */
struct qless_str key_pattern_prefix(struct qless_str pattern);

#endif
