/*
 * Requests: bytes in, argument lists out.
 *
 * Understood are arrays of bulk strings, which is what client libraries send, and inline commands,
 * which is what people type. The bytes stay with the caller, who keeps them in one piece beginning
 * with the first byte of the request at hand, and calls resp_parse() whenever there are more of
 * them. They may arrive in pieces of any size and may move in memory between calls. No argument is
 * copied: a request is a list of slices of the caller's bytes (inline words with quotes in them
 * excepted, which need their escapes undone).
 *
 *	struct resp_parser	how far the request at hand has been read: a few words for each
 *				connection, nothing on the heap, so that there is nothing to free
 *	struct resp_request	what resp_parse() hands out; one serves all parsers of a thread
 *
 * What was read once is not read again when more arrives, so a request that comes byte by byte
 * costs no more than a small multiple of one that comes whole, and nothing is allocated for a
 * request before all of it is there: a header that announces a million arguments costs the sender
 * more than it costs us.
 *
 * Wording of errors and limits are those of Redis 7, with these differences. A bulk string must be
 * followed by CR LF, a CR in a header line by LF. The size of a whole request is limited as well.
 * Whether a line is too long depends on the line alone, never on how it was cut up on its way. A
 * NUL in an inline command is a byte like any other. An error shows a byte that cannot be printed
 * as \xHH.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef RESP_PARSER_H
#define RESP_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* The defaults; all but the first are Redis's, and that one was until Redis 7. */
#define RESP_MAX_ARGS	 ((size_t)1024 * 1024)
#define RESP_MAX_BULK	 ((size_t)512 * 1024 * 1024)
#define RESP_MAX_INLINE	 ((size_t)64 * 1024)
#define RESP_MAX_REQUEST ((size_t)1024 * 1024 * 1024)

/* Limits of a connection that has yet to authenticate: enough for HELLO and AUTH. */
#define RESP_UNAUTH_MAX_ARGS ((size_t)10)
#define RESP_UNAUTH_MAX_BULK ((size_t)16 * 1024)

struct resp_limits {
	size_t max_args;      /* arguments of a request; no more than UINT32_MAX */
	size_t max_bulk;      /* bytes of one argument */
	size_t max_inline;    /* bytes of an inline command or of a header line */
	size_t max_request;   /* bytes of a request as sent, headers included */
	bool unauthenticated; /* RESP_UNAUTH_* hold as well */
};

#define RESP_LIMITS_DEFAULT                                                     \
	{                                                                       \
		.max_args = RESP_MAX_ARGS, .max_bulk = RESP_MAX_BULK,           \
		.max_inline = RESP_MAX_INLINE, .max_request = RESP_MAX_REQUEST, \
	}

enum resp_status {
	RESP_NEED_MORE, /* the request is not all there yet */
	RESP_REQUEST,	/* a request, in argc, argv and consumed */
	RESP_ERROR,	/* nothing sensible can follow: send `error`, then close */
};

/* The fields are set by resp_parse() and good until it is next called with the same resp_request;
 * the slices no longer than until the caller's bytes move. */
struct resp_request {
	/* With RESP_REQUEST. The caller may write to argv[0] .. argv[argc - 1]. argc is 0 for an
	 * empty line and for an array of no (or a negative number of) elements: there is nothing
	 * to execute and nothing to answer then, but `consumed` counts. */
	size_t argc;
	struct qless_str *argv;
	size_t consumed; /* bytes of the request: the next one begins at base + consumed */

	/* With RESP_ERROR: "Protocol error: ...", to be sent behind "-ERR ". */
	const char *error;

	/* Private. */
	size_t argv_cap;
	char *text; /* inline words with their quotes removed */
	size_t text_cap;
	char error_text[64];
};

struct resp_parser {
	/* Private: all zero between two requests. Offsets count from the base given to
	 * resp_parse(). */
	uint8_t state;
	uint8_t error;
	uint8_t unexpected; /* the byte that an error is about */
	uint32_t args_total;
	uint32_t args_left;
	size_t pos;	/* start of the line or of the bulk at hand */
	size_t scanned; /* the line's end is not before this */
	size_t bulk_len;
};

void resp_request_init(struct resp_request *r);
void resp_request_done(struct resp_request *r);

/* Give back memory that a large request left behind; what is usual stays. Ends the current
 * request. */
void resp_request_trim(struct resp_request *r);

/* Ready for the first byte of a request. There is no resp_parser_done(): a parser owns nothing. */
void resp_parser_init(struct resp_parser *p);

/* Read on. `base` is where the current request begins and `len` all bytes from there on that have
 * arrived so far, those of earlier calls included.
 *
 * With RESP_REQUEST the caller continues with base + consumed, and what it finds there may well be
 * further requests. RESP_NEED_MORE needs more bytes than `len`. RESP_ERROR is for good: the parser
 * stays in error until resp_parser_init().
 *
 * The limits may change between two calls. Each is checked when a header is read, not again. */
enum resp_status resp_parse(struct resp_parser *p, const struct resp_limits *limits,
			    const char *base, size_t len, struct resp_request *ret_request);

/* After RESP_NEED_MORE with `len` bytes: a good number of bytes to make room for, at least 1. This
 * is what is missing of the bulk string at hand, but never more than has arrived already or
 * RESP_WANTED_MIN, so that memory follows what a peer sent and not what it announced. */
#define RESP_WANTED_MIN ((size_t)16 * 1024)
size_t resp_parser_wanted(const struct resp_parser *p, size_t len);

/* No byte of a request has been seen that is not part of one already handed out. */
bool resp_parser_is_idle(const struct resp_parser *p);

#endif
