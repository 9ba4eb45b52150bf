/*
 * Compares the content of ql:* keys with the recorded content.
 */
#ifndef CONFORMANCE_STATE_H
#define CONFORMANCE_STATE_H

#include <stddef.h>

#include "transcript.h"

/* The content of a key, wherever it was read. Its texts follow each other as append_text() writes
 * them: fields and values, members and scores, or members. */
struct content {
	struct qless_str type; /* "none" if the key does not exist */
	struct buf texts;
	size_t count;
};

void content_clear(struct content *content, struct qless_str type);
void content_add(struct content *content, struct qless_str text);

/* The name in a line `key`. */
struct qless_str state_key_name(yyjson_val *line);

/* Compares with a line `key`, or a number of keys with a line `state`. */
void check_key(struct scenario *s, yyjson_val *line, const struct content *got);
/* Returns false if they differ. */
bool check_key_count(struct scenario *s, yyjson_val *line, size_t got);

#endif
