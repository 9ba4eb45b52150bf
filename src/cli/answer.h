/*
 * An answer of the server as JSON: its text, and its values.
 *
 * Some commands reply with JSON, others with arrays and maps of the protocol, which become JSON
 * here. Missing members are empty, 0 or false, so an older server only leaves cells empty.
 */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include <stdbool.h>
#include <yyjson.h>

#include "client/client_reply.h"
#include "util/buf.h"

struct answer {
	struct buf text; /* JSON */
	yyjson_doc *doc; /* of the text */
	yyjson_val *root;
};

/* All zero is an answer that is empty. */
void answer_done(struct answer *a);

/* Sets the answer from a reply that is a text of JSON. Returns false if it is not. */
bool answer_parse(struct answer *a, struct qless_str json);

/* Sets the answer from the values of a reply. */
void answer_convert(struct answer *a, const struct client_reply *reply);

/* Appends the values of a reply as JSON. A byte that is not UTF-8 becomes \u00xx. */
void answer_append_reply(struct buf *out, const struct client_reply *reply);

/* Appends a value as JSON. */
void answer_append_value(struct buf *out, yyjson_val *value);

/* A member of an object, or the value itself if `name` is NULL. */
struct qless_str answer_str(yyjson_val *object, const char *name);
double answer_number(yyjson_val *object, const char *name);
bool answer_bool(yyjson_val *object, const char *name);
yyjson_val *answer_get(yyjson_val *object, const char *name);
/* Whether the member is there, and is neither null nor an empty text. */
bool answer_has(yyjson_val *object, const char *name);

#endif
