/*
 * Replies in JSON, as operations of a reply (resp/reply.h).
 *
 *	map			object; each key is a string
 *	array, set, push	array
 *	string			string, or {"base64": "..."} if it is not UTF-8
 *	bytes			{"base64": "..."}
 *	JSON text		the value that it is
 *	status			string; OK is true
 *	null			null
 *	double			number; NaN is null, and an infinity is the largest number of its
 *				sign
 *	error			{"error": {"code": "...", "message": "..."}}
 *
 * A reply that is only null is not written: the caller looks at `is_null` and says what it means.
 * A name may wrap the reply in an object, because later versions can add members to one.
 *
 * The commas and brackets depend on what was written before. That is in a struct json_reply, which
 * all writers of one client share: a command that goes on in later turns writes with its own.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_JSON_REPLY_H
#define HTTP_JSON_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp/reply.h"
#include "util/chain.h"
#include "util/str.h"

/* Levels of nesting of a reply, without those of JSON texts in it. No command has half as many. */
#define JSON_REPLY_LEVELS 16

/* How a verbatim text is written. */
enum json_reply_text {
	JSON_REPLY_STRING,
	JSON_REPLY_INFO,    /* INFO: an object of sections */
	JSON_REPLY_CLIENTS, /* CLIENT LIST: an array of objects */
};

struct json_reply_level {
	bool is_map;
	bool is_deferred; /* ends when the deferred value does, whatever its count */
	size_t total;	  /* elements, or keys and values */
	size_t written;
};

/* The progress within one reply. */
struct json_reply {
	/* The caller sets these before the reply. One name: the reply is the member of an object.
	 * Several names with blanks between them: the reply is an array, and its elements are the
	 * members. Empty: the reply is written as it is. */
	struct qless_str wrap;
	enum json_reply_text text;

	/* The result. */
	bool is_null;	 /* the reply was null, and nothing was written */
	bool is_error;	 /* the reply was an error */
	bool has_number; /* the reply was the integer `number` */
	int64_t number;

	/* Private. */
	unsigned depth;
	bool names_members; /* of the outermost aggregate */
	struct qless_str names_left;
	struct json_reply_level levels[JSON_REPLY_LEVELS];
};

/* Begins to write JSON. Borrows the state. */
void json_reply_init(struct reply *r, struct chain *out, struct json_reply *state);

/* Forgets the last reply, and sets how the next one is wrapped and its text is written. `wrap` is
 * borrowed. */
void json_reply_begin(struct json_reply *state, struct qless_str wrap, enum json_reply_text text);

#endif
