/*
 * A reader of flat JSON objects, which the data of most jobs is: objects without arrays or other
 * objects in them, whose strings are ASCII without escapes.
 *
 * Such a text is checked and taken apart at a fraction of the cost of any other.
 */
#ifndef UTIL_JSON_FLAT_H
#define UTIL_JSON_FLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/str.h"

/* Members and bytes of an object that is read as a flat one. */
#define JSON_FLAT_MEMBERS 12
#define JSON_FLAT_BYTES	  512

/* Offsets in the text. A string has its quotes. */
struct json_flat_member {
	uint16_t name;
	uint16_t name_end;
	uint16_t value;
	uint16_t value_end;
};

struct json_flat {
	unsigned count;
	bool has_fraction; /* a number has a fraction */
	struct json_flat_member members[JSON_FLAT_MEMBERS];
};

/* Returns false if the text is no flat object, or none of the usual kind: it begins with its brace
 * and ends with it, has a member, and has no other white space than spaces and no number with an
 * exponent. A text for which this returns true is valid JSON. */
bool json_flat_read(struct qless_str text, struct json_flat *ret_flat);

/* Read a text that is valid JSON. Its strings may have characters beyond ASCII. */
bool json_flat_read_valid(struct qless_str text, struct json_flat *ret_flat);

#endif
