/*
 * Replies of a server: bytes of RESP2 and RESP3 to a tree.
 *
 * The bytes may arrive in pieces of any size. None is parsed twice, and an array grows as its
 * elements arrive, so a header costs no memory. Attributes and streams of RESP3 are refused: qlessd
 * sends none.
 */
#ifndef CLIENT_CLIENT_REPLY_H
#define CLIENT_CLIENT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

/* Levels of nested arrays. */
#define CLIENT_REPLY_DEPTH_MAX 16
/* Bytes of one string, and of the line of any other value. */
#define CLIENT_REPLY_STRING_MAX ((size_t)512 * 1024 * 1024)
#define CLIENT_REPLY_LINE_MAX	((size_t)64 * 1024)

enum client_reply_type {
	CLIENT_REPLY_NULL,
	CLIENT_REPLY_STRING, /* bulk, verbatim or simple */
	CLIENT_REPLY_ERROR,
	CLIENT_REPLY_INTEGER,
	CLIENT_REPLY_DOUBLE,
	CLIENT_REPLY_BOOL,  /* `integer` is 0 or 1 */
	CLIENT_REPLY_ARRAY, /* or a set */
	CLIENT_REPLY_MAP,   /* elements are keys and values in turn */
	CLIENT_REPLY_PUSH,
};

struct client_reply {
	enum client_reply_type type;
	int64_t integer;
	double number;
	char *ptr; /* text of a string, an error or a number, with a NUL that `len` does not count
		    */
	size_t len;
	struct client_reply *elements;
	size_t count;
	size_t cap;
};

/* The text of a string, an error or a number; empty for any other type. */
static inline struct qless_str client_reply_str(const struct client_reply *r)
{
	return str_make(r->ptr != NULL ? r->ptr : "", r->len);
}

static inline bool client_reply_is_error(const struct client_reply *r)
{
	return r->type == CLIENT_REPLY_ERROR;
}

/* Whether the error begins with this word, such as "NOAUTH". */
bool client_reply_has_code(const struct client_reply *r, const char *code);

/* Frees the tree, but not `r` itself. */
void client_reply_done(struct client_reply *r);

struct client_reply_parser {
	/* Private. An array that is arriving is the last element of the one before it. */
	struct client_reply root;
	uint64_t left[CLIENT_REPLY_DEPTH_MAX]; /* elements to come, for each array that is arriving
						*/
	unsigned depth;
	bool in_bulk; /* a string of bulk_len bytes is arriving */
	bool is_verbatim;
	enum client_reply_type bulk_type;
	size_t bulk_len;
	size_t scanned; /* bytes of the line that are known to have no LF */
	const char *error;
};

void client_reply_parser_init(struct client_reply_parser *p);
void client_reply_parser_done(struct client_reply_parser *p);

enum client_reply_status {
	CLIENT_REPLY_MORE,    /* the reply has not arrived completely */
	CLIENT_REPLY_WHOLE,   /* *ret_reply is a reply, which the caller frees */
	CLIENT_REPLY_INVALID, /* the bytes are no RESP, and the parser cannot go on: see `error` */
};

/* Consumes bytes of `in` up to the end of a reply. */
enum client_reply_status client_reply_parse(struct client_reply_parser *p, struct buf *in,
					    struct client_reply *ret_reply);

#endif
