/*
 * Helpers of the commands on keys.
 *
 * The keys are the read-only view of the engine in keyspace/. These commands change nothing.
 */
#ifndef COMMAND_KEY_H
#define COMMAND_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/request.h"
#include "keyspace/keyspace.h"
#include "resp/reply.h"

/* Returns the engine of the session's database; NULL if that is empty. */
const struct qless *key_engine(const struct request *req);

/* The reply if there is no such key. */
enum key_missing {
	KEY_MISSING_NULL,
	KEY_MISSING_ZERO,
	KEY_MISSING_ARRAY,
	KEY_MISSING_MAP,
	KEY_MISSING_SET,
	KEY_MISSING_SCAN,
};

/* Finds the key in the first argument. Returns false, and has replied, if there is no such key or
 * it has another type. */
bool key_open(struct request *req, enum keyspace_type type, enum key_missing missing,
	      struct keyspace_key *ret_key);

/* Finds the key for a command that answers for each of its arguments, even without the key. Returns
 * false, and has replied, only if the key has another type. */
bool key_open_any(struct request *req, enum keyspace_type type, struct keyspace_key *ret_key,
		  bool *ret_exists);

/* Returns false, and has replied, if the text is not an integer. */
bool key_parse_integer(struct request *req, struct qless_str text, int64_t *ret_value);

void key_write_syntax_error(struct request *req);

/* Computes the range from index start to stop of `total` elements. Negative indices count from the
 * end. Returns false if the range is empty. */
bool key_index_range(size_t total, int64_t start, int64_t stop, size_t *ret_first,
		     size_t *ret_count);

/* Writes a value, as a visitor of the keyspace. `arg` is the writer. */
void key_write_value(void *arg, struct qless_str value);

/* ---- SCAN, HSCAN, SSCAN and ZSCAN ---- */

struct key_scan {
	uint64_t cursor;
	int64_t count;
	bool has_pattern;
	struct qless_str pattern;
	bool has_type;
	struct qless_str type;
};

/* Read the cursor from an argument, and the options from argument `first` on. Each returns false,
 * and has replied, if they are wrong. */
bool key_parse_cursor(struct request *req, struct qless_str text, struct key_scan *ret_scan);
bool key_parse_scan_options(struct request *req, size_t first, bool takes_type,
			    struct key_scan *scan);

bool key_scan_matches(const struct key_scan *scan, struct qless_str text);

/* Begins the reply to a scan with the next cursor; its elements follow as an array. */
void key_write_cursor(struct reply *w, uint64_t cursor);

#endif
