/*
 * Replies: a handler replies with values (a map, a null, a double), and the protocol of the client
 * encodes them.
 *
 * A protocol is a table of operations. RESP2 and RESP3 are two of them (writer.h). Another protocol
 * is a new file, and changes no handler. All of them append to a chain that the caller owns and
 * sends.
 *
 * An aggregate is a header with a count, followed by that many values. If the count is not known
 * before the values, use reply_deferred_begin().
 *
 * A reply may have a limit. The value that would exceed it is not written, and neither is any after
 * it: the reply is full. The caller then cuts what was written, and replies with an error instead.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef RESP_REPLY_H
#define RESP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/chain.h"
#include "util/str.h"

/* Longest code word of an error that is remembered, in bytes. */
#define REPLY_ERROR_CODE_MAX 31
/* Longest text that reply_errorf() sends, in bytes. */
#define REPLY_ERROR_TEXT_MAX 4096
/* Bytes of a reply without a limit. */
#define REPLY_NO_MAX (SIZE_MAX / 4)

struct reply;
struct reply_deferred;

enum reply_type {
	REPLY_ARRAY,
	REPLY_MAP, /* counts pairs: a key and a value each */
	REPLY_SET,
	REPLY_PUSH, /* out of band: not the reply to a command */
	REPLY_TEXT, /* a JSON text, written in pieces; for reply_deferred_begin() alone */
};

/* Encodes values in a protocol. A muted reply calls no operation. */
struct reply_ops {
	void (*status)(struct reply *r, struct qless_str text);
	/* `text` may be empty: then the error is the code word alone. */
	void (*error)(struct reply *r, struct qless_str code, struct qless_str text);
	void (*integer)(struct reply *r, int64_t value);
	void (*boolean)(struct reply *r, bool value);
	void (*null)(struct reply *r);
	void (*null_array)(struct reply *r);
	void (*number)(struct reply *r, double value);
	void (*short_number)(struct reply *r, double value);
	void (*big_number)(struct reply *r, struct qless_str digits);
	void (*bulk)(struct reply *r, struct qless_str s);
	void (*json)(struct reply *r, struct qless_str text);
	void (*bytes)(struct reply *r, struct qless_str s);
	void (*shared_bulk)(struct reply *r, struct shared_bytes *s);
	void (*verbatim)(struct reply *r, const char *type, struct qless_str s);
	void (*header)(struct reply *r, enum reply_type type, size_t count);
	/* A deferred value begins, and what is written next stands before or after it. NULL: the
	 * protocol does not care. */
	void (*begin)(struct reply *r, struct reply_deferred *d);
	void (*leave)(struct reply *r, struct reply_deferred *d);
	/* The reply is written again from its beginning. NULL: the protocol does not care. */
	void (*restart)(struct reply *r);
	/* Writes a deferred value to r->out: a header with the count, then its body, which
	 * reply_deferred_move() moves. */
	void (*finish)(struct reply *r, struct reply_deferred *d, size_t count);
	/* A list of pairs is a list of lists of two. Otherwise it is one flat list. */
	bool nests_pairs;
	/* Data of a job is a value within the JSON of the job. Otherwise it is a string there. */
	bool embeds_data;
};

struct reply {
	const struct reply_ops *ops; /* may change between two replies (HELLO) */
	struct chain *out;	     /* borrowed */
	void *state;	 /* of a protocol that needs to know what was written; borrowed */
	size_t max;	 /* bytes that `out` may hold; REPLY_NO_MAX: any number */
	bool muted;	 /* nothing is written, but errors count (CLIENT REPLY OFF) */
	bool is_full;	 /* a value exceeded `max`; the reply is muted then */
	uint64_t errors; /* number of error replies, which a caller compares before and after a
			    command */
	char last_error[REPLY_ERROR_CODE_MAX + 1]; /* code word of the last error reply */
};

void reply_init(struct reply *r, const struct reply_ops *ops, struct chain *out);

/* ---- limits ---- */

/* A value exceeds the limit: mutes the reply. Returns false. */
bool reply_fill(struct reply *r);

/* Returns whether a value of about that many bytes is to be written. Short values count as 0: they
 * exceed the limit by less than a line. */
static inline bool reply_takes(struct reply *r, size_t bytes)
{
	if (r->muted)
		return false;
	return r->out->len + bytes <= r->max || reply_fill(r);
}

/* Returns whether anything that is written now has an effect. A long listing ends early if not. */
static inline bool reply_is_wanted(const struct reply *r)
{
	return !r->muted;
}

/* Returns how many bytes may still be written. */
static inline size_t reply_room(const struct reply *r)
{
	return r->out->len < r->max ? r->max - r->out->len : 0;
}

/* Removes what was written after the first `len` bytes of `out`, and writes again. The reply stays
 * full. No deferred value is open. */
void reply_cut(struct reply *r, size_t len);

/* ---- simple replies ---- */

/* A simple string. CR and LF in it become blanks. */
static inline void reply_status(struct reply *r, struct qless_str text)
{
	if (reply_takes(r, 0))
		r->ops->status(r, text);
}

static inline void reply_ok(struct reply *r)
{
	reply_status(r, STR("OK"));
}

/* An error. `code` is one word, such as "ERR". CR and LF in the text become blanks. */
void reply_error(struct reply *r, const char *code, struct qless_str text);

/* Formats the text like printf; cuts it at REPLY_ERROR_TEXT_MAX bytes. */
void reply_errorf(struct reply *r, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* An error whose text begins with the code: "NOJOB no job with that id". */
void reply_error_line(struct reply *r, struct qless_str line);

static inline void reply_integer(struct reply *r, int64_t value)
{
	if (reply_takes(r, 0))
		r->ops->integer(r, value);
}

static inline void reply_boolean(struct reply *r, bool value)
{
	if (reply_takes(r, 0))
		r->ops->boolean(r, value);
}

static inline void reply_null(struct reply *r)
{
	if (reply_takes(r, 0))
		r->ops->null(r);
}

static inline void reply_null_array(struct reply *r)
{
	if (reply_takes(r, 0))
		r->ops->null_array(r);
}

static inline void reply_double(struct reply *r, double value)
{
	if (reply_takes(r, 0))
		r->ops->number(r, value);
}

/* With 14 significant digits, as in JSON. */
static inline void reply_short_double(struct reply *r, double value)
{
	if (reply_takes(r, 0))
		r->ops->short_number(r, value);
}

/* `digits` is an integer of any length in decimal. */
static inline void reply_big_number(struct reply *r, struct qless_str digits)
{
	if (reply_takes(r, 0))
		r->ops->big_number(r, digits);
}

/* ---- strings ---- */

static inline void reply_bulk(struct reply *r, struct qless_str s)
{
	if (reply_takes(r, s.len))
		r->ops->bulk(r, s);
}

/* A string that is a JSON text. */
static inline void reply_json(struct reply *r, struct qless_str text)
{
	if (reply_takes(r, text.len))
		r->ops->json(r, text);
}

/* A string that need not be text. */
static inline void reply_bytes(struct reply *r, struct qless_str s)
{
	if (reply_takes(r, s.len))
		r->ops->bytes(r, s);
}

/* A string that several replies contain. It is not copied. */
static inline void reply_shared_bulk(struct reply *r, struct shared_bytes *s)
{
	if (reply_takes(r, s->len))
		r->ops->shared_bulk(r, s);
}

void reply_bulk_integer(struct reply *r, int64_t value);
void reply_bulkf(struct reply *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text for people. `type` is exactly three bytes: "txt" or "mkd". */
static inline void reply_verbatim(struct reply *r, const char *type, struct qless_str s)
{
	if (reply_takes(r, s.len))
		r->ops->verbatim(r, type, s);
}

/* ---- aggregates ---- */

static inline void reply_header(struct reply *r, enum reply_type type, size_t count)
{
	if (reply_takes(r, 0))
		r->ops->header(r, type, count);
}

static inline void reply_array(struct reply *r, size_t count)
{
	reply_header(r, REPLY_ARRAY, count);
}

static inline void reply_map(struct reply *r, size_t count)
{
	reply_header(r, REPLY_MAP, count);
}

static inline void reply_set(struct reply *r, size_t count)
{
	reply_header(r, REPLY_SET, count);
}

static inline void reply_push(struct reply *r, size_t count)
{
	reply_header(r, REPLY_PUSH, count);
}

/*
 * A value whose length is known only once it has been written. Between begin and end, values go to
 * a chain of their own (r->out points to it); the end writes the header, then the chain. Deferred
 * values nest.
 *
 *	struct reply_deferred keys;
 *
 *	reply_deferred_begin(r, &keys, REPLY_ARRAY);
 *	... reply_bulk(r, key) for each key; count++ ...
 *	reply_deferred_end(r, &keys, count);
 *
 * Values written between reply_deferred_leave() and the end stand before the aggregate.
 *
 * A REPLY_TEXT is written by reply_deferred_append() alone, and the count does not matter.
 */
struct reply_deferred {
	enum reply_type type;
	unsigned level; /* for the operations of the protocol */
	struct chain body;
	struct chain *out;
	size_t max; /* of the reply, for `out` */
};

void reply_deferred_begin(struct reply *r, struct reply_deferred *d, enum reply_type type);
void reply_deferred_append(struct reply *r, struct reply_deferred *d, struct qless_str piece);
void reply_deferred_leave(struct reply *r, struct reply_deferred *d);
void reply_deferred_end(struct reply *r, struct reply_deferred *d, size_t count);

/* Forget what was written since begin; errors stay counted. The end does that, too, if the reply is
 * muted. */
void reply_deferred_drop(struct reply *r, struct reply_deferred *d);

/* For the operation `finish`: moves the body to r->out. */
void reply_deferred_move(struct reply *r, struct reply_deferred *d);

#endif
