/*
 * Replies: values in, RESP2 or RESP3 out.
 *
 * A writer appends to a chain that somebody else owns and sends. Callers say what they mean (a map,
 * a null, a double) and the writer spells it in the protocol that the connection speaks; RESP2 has
 * no word for most things and gets what Redis sends there instead:
 *
 *				RESP2			RESP3
 *	null			$-1			_
 *	null array		*-1			_
 *	map of n pairs		*2n			%n
 *	set of n		*n			~n
 *	push of n		*n			>n
 *	boolean			:1 or :0		#t or #f
 *	double			bulk string		,
 *	big number		bulk string		(
 *	verbatim string		bulk string		=
 *
 * An aggregate is its header followed by as many values as the header says; whose number is not
 * known beforehand is written with resp_deferred_begin().
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef RESP_WRITER_H
#define RESP_WRITER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/chain.h"
#include "util/str.h"

#define RESP_PROTO_MIN 2
#define RESP_PROTO_MAX 3

/* Of the code word of an error no more than this is remembered. */
#define RESP_ERROR_CODE_MAX 31

struct resp_writer {
	struct chain *out; /* borrowed */
	int proto;	   /* 2 or 3; may change between two replies (HELLO) */
	bool muted;	   /* nothing is written, though errors still count (CLIENT REPLY OFF) */
	uint64_t errors;   /* error replies so far: whoever wants to know if a command failed
			    * compares before and after */
	char last_error[RESP_ERROR_CODE_MAX + 1]; /* the code word of the last of them */
};

void resp_writer_init(struct resp_writer *w, struct chain *out, int proto);

/* ---- simple replies ---- */

void resp_write_ok(struct resp_writer *w);

/* A simple string. CR and LF in it become blanks. */
void resp_write_status(struct resp_writer *w, struct qless_str text);

/* -CODE text. CR and LF become blanks. `code` is one word, such as "ERR". */
void resp_write_error(struct resp_writer *w, const char *code, struct qless_str text);

/* The same with a text from printf, of which no more than RESP_ERROR_TEXT_MAX bytes are sent. */
#define RESP_ERROR_TEXT_MAX 4096
void resp_write_errorf(struct resp_writer *w, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* An error whose text begins with the code: "NOJOB no job with that id". */
void resp_write_error_line(struct resp_writer *w, struct qless_str line);

void resp_write_integer(struct resp_writer *w, int64_t value);
void resp_write_boolean(struct resp_writer *w, bool value);
void resp_write_null(struct resp_writer *w);
void resp_write_null_array(struct resp_writer *w);

/* As %.17g, which is what Redis 7.0 sends; inf, -inf and nan. */
void resp_write_double(struct resp_writer *w, double value);

/* `digits` is an integer of any length in decimal. */
void resp_write_big_number(struct resp_writer *w, struct qless_str digits);

/* ---- strings ---- */

void resp_write_bulk(struct resp_writer *w, struct qless_str s);
void resp_write_bulk_integer(struct resp_writer *w, int64_t value);
void resp_write_bulkf(struct resp_writer *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Text for people. `type` is exactly three bytes: "txt" or "mkd". */
void resp_write_verbatim(struct resp_writer *w, const char *type, struct qless_str s);

/* ---- aggregates ---- */

enum resp_aggregate {
	RESP_ARRAY,
	RESP_MAP, /* the count is of pairs; a key and a value each */
	RESP_SET,
	RESP_PUSH, /* out of band: not the reply to a command */
};

void resp_write_header(struct resp_writer *w, enum resp_aggregate type, size_t count);

static inline void resp_write_array(struct resp_writer *w, size_t count)
{
	resp_write_header(w, RESP_ARRAY, count);
}

static inline void resp_write_map(struct resp_writer *w, size_t count)
{
	resp_write_header(w, RESP_MAP, count);
}

static inline void resp_write_set(struct resp_writer *w, size_t count)
{
	resp_write_header(w, RESP_SET, count);
}

static inline void resp_write_push(struct resp_writer *w, size_t count)
{
	resp_write_header(w, RESP_PUSH, count);
}

/*
 * Something whose length is known only once it has been written. Between begin and end, what the
 * writer is given goes to a chain of its own (w->out is changed meanwhile); the end writes the
 * header and puts that chain behind it. May be nested.
 *
 *	struct resp_deferred keys;
 *
 *	resp_deferred_begin(w, &keys);
 *	... resp_write_bulk(w, key), as many as there are; count++ ...
 *	resp_deferred_end(w, &keys, RESP_ARRAY, count);
 *
 * resp_deferred_leave() may come before the end: what is written between the two stands in front of
 * the aggregate.
 *
 * resp_deferred_end_bulk() makes one bulk string of the bytes, which are put there by
 * chain_append() to w->out and its like.
 */
struct resp_deferred {
	struct chain body;
	struct chain *out;
};

void resp_deferred_begin(struct resp_writer *w, struct resp_deferred *d);
void resp_deferred_leave(struct resp_writer *w, struct resp_deferred *d);
void resp_deferred_end(struct resp_writer *w, struct resp_deferred *d, enum resp_aggregate type,
		       size_t count);
void resp_deferred_end_bulk(struct resp_writer *w, struct resp_deferred *d);

/* Forget what was written since begin; errors stay counted. */
void resp_deferred_drop(struct resp_writer *w, struct resp_deferred *d);

/* ---- prepared bytes ---- */

/* Bytes that are a whole reply already, in the protocol of this writer. */
void resp_write_raw(struct resp_writer *w, struct qless_str bytes);

/* Replies that never change and read the same in both protocols, for resp_write_raw(). */
#define RESP_OK		 STR("+OK\r\n")
#define RESP_PONG	 STR("+PONG\r\n")
#define RESP_QUEUED	 STR("+QUEUED\r\n")
#define RESP_ZERO	 STR(":0\r\n")
#define RESP_ONE	 STR(":1\r\n")
#define RESP_EMPTY_BULK	 STR("$0\r\n\r\n")
#define RESP_EMPTY_ARRAY STR("*0\r\n")

#endif
