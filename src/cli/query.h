/*
 * A request that is put together word by word.
 */
#ifndef CLI_QUERY_H
#define CLI_QUERY_H

#include <stddef.h>

#include "util/str.h"

struct query {
	struct qless_str *words;
	size_t count;
	size_t cap;
};

/* All zero is an empty query. */
void query_done(struct query *q);

/* Adds a copy of a word. */
void query_add(struct query *q, struct qless_str word);
void query_text(struct query *q, const char *word);
void query_number(struct query *q, double number);

/* Adds the words of a text that are separated by blanks. */
void query_words(struct query *q, const char *words);

/* Adds the words of a text that are separated by commas. */
void query_list(struct query *q, const char *words);

/* Adds a JSON array of the names in a text, which commas separate. */
void query_json_list(struct query *q, const char *names);

#endif
