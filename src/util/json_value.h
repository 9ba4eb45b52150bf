/*
 * Values of JSON texts, to tell whether two texts mean the same.
 *
 * Two texts have the same value if they differ only in white space, in the order of the members of
 * objects, and in how strings and numbers are written:
 *
 *	strings		are compared by their characters: \u0041 and A are equal, and so are \/ and
 *			/. Characters that only look alike differ; there is no normalisation
 *	numbers		are compared by their exact decimal value, see json_decimal.h: 1, 1.0, 10e-1
 *			and 1e0 are equal, and so are 0 and -0
 *	objects		if a name occurs more than once, its last member counts, as for most readers
 *	arrays		the order of the elements counts
 *
 * A string never equals a number. There is no limit of nesting: memory for the open arrays and
 * objects is allocated.
 */
#ifndef UTIL_JSON_VALUE_H
#define UTIL_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"
#include "util/hash.h"
#include "util/json_flat.h"
#include "util/str.h"

struct json_member;
struct json_level;

/* Memory of json_hash_value(), which later calls use again. Starts zeroed. */
struct json_value_room {
	struct buf padded;
	struct buf text;
	struct buf sorted;
	struct json_member *members;
	size_t member_count;
	size_t member_cap;
	struct json_level *levels;
	size_t level_count;
	size_t level_cap;
};

/* Bytes that a room keeps from one call to the next. */
#define JSON_VALUE_KEEP_BYTES ((size_t)16 * 1024)

void json_value_room_done(struct json_value_room *room);

/* Bytes of the longest text. */
#define JSON_VALUE_BYTES_MAX ((size_t)UINT32_MAX / 2)

/* Computes a hash of a label and of the value of a text: the same hash for all texts of one value
 * with one label. In practice, other labels and values have other hashes. It is the same in every
 * process, so it may be stored. The text must be valid JSON of at most JSON_VALUE_BYTES_MAX. */
void json_hash_value(struct qless_str label, struct qless_str text, struct json_value_room *room,
		     unsigned char ret_hash[HASH_WIDE_BYTES]);

/* Computes the hash of a label and of a flat object that was read from the text. Returns false if
 * it is left to json_hash_value(). */
bool json_hash_flat(struct qless_str label, const char *text, const struct json_flat *flat,
		    unsigned char ret_hash[HASH_WIDE_BYTES]);

#endif
