/*
 * Paths into JSON texts, such as `user.id` and `items.0.sku`.
 *
 * A path is names with dots between them. Each name selects a member of an object, or, if it is a
 * whole number, an element of an array; the first one is 0. A backslash takes the character after
 * it as it is, so `a\.b` is one name. The empty path selects the whole text.
 */
#ifndef UTIL_JSON_PATH_H
#define UTIL_JSON_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"
#include "util/str.h"

/* Names of the longest path. A search calls itself once for each name. */
#define JSON_PATH_NAMES_MAX 32

struct json_path {
	size_t count;
	struct qless_str names[JSON_PATH_NAMES_MAX];
	struct buf text; /* of the names */
};

/* Returns false, with nothing to free, if the path has more than JSON_PATH_NAMES_MAX names or ends
 * in half an escape. */
bool json_path_parse(struct qless_str text, struct json_path *ret_path);
void json_path_done(struct json_path *path);

/* Finds the value at a path in valid JSON. If a name occurs more than once in an object, its last
 * member counts. The time is linear in the length of the text. */
bool json_path_find(const struct json_path *path, struct qless_str text,
		    struct qless_str *ret_value);

#endif
