/*
 * Requests: bytes to argument lists.
 *
 * The parser reads arrays of bulk strings, which client libraries send, and inline commands, which
 * people type. The caller keeps the bytes in one piece that begins with the current request, and
 * calls resp_parse() whenever more arrive. They may arrive in pieces of any size, and move in
 * memory between calls. Arguments are not copied: a request is a list of slices of the caller's
 * bytes. Only quoted words of inline commands are copied, to decode their escapes.
 *
 *	struct resp_parser	the progress within the current request: a few words for each
 *				connection, nothing on the heap, nothing to free
 *	struct resp_request	the result of resp_parse(); one serves all parsers of a thread
 *
 * Bytes are not read again when more arrive. So a request that comes byte by byte costs no more
 * than a small multiple of one that comes whole. Nothing is allocated for a request before all of
 * it has arrived: a header that announces a million arguments costs the sender more than the
 * server.
 *
 * Error texts and limits are those of Redis 7, with these differences. A bulk string must be
 * followed by CR LF, a CR in a header line by LF. The size of a whole request is limited as well.
 * Whether a line is too long depends only on the line, not on how it arrived in pieces. A NUL in an
 * inline command is an ordinary byte. An error shows an unprintable byte as \xHH.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef RESP_PARSER_H
#define RESP_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/str.h"

/* The defaults. All except the first are those of Redis; the first is that of Redis before version
 * 7. */
#define RESP_MAX_ARGS	 ((size_t)1024 * 1024)
#define RESP_MAX_BULK	 ((size_t)512 * 1024 * 1024)
#define RESP_MAX_INLINE	 ((size_t)64 * 1024)
#define RESP_MAX_REQUEST ((size_t)1024 * 1024 * 1024)

/* Limits of a connection that has not authenticated: enough for HELLO and AUTH. */
#define RESP_UNAUTH_MAX_ARGS ((size_t)10)
#define RESP_UNAUTH_MAX_BULK ((size_t)16 * 1024)

struct resp_limits {
	size_t max_args;      /* arguments of a request, at most UINT32_MAX */
	size_t max_bulk;      /* bytes of one argument */
	size_t max_inline;    /* bytes of an inline command or of a header line */
	size_t max_request;   /* bytes of a request as sent, with headers */
	bool unauthenticated; /* RESP_UNAUTH_* apply as well */
};

#define RESP_LIMITS_DEFAULT                                                     \
	{                                                                       \
		.max_args = RESP_MAX_ARGS, .max_bulk = RESP_MAX_BULK,           \
		.max_inline = RESP_MAX_INLINE, .max_request = RESP_MAX_REQUEST, \
	}

enum resp_status {
	RESP_NEED_MORE, /* the request has not arrived completely */
	RESP_REQUEST,	/* a request, in argc, argv and consumed */
	RESP_ERROR,	/* the stream is invalid: send `error`, then close */
};

/* resp_parse() sets the fields. They are valid until its next call with the same resp_request, and
 * the slices no longer than until the caller's bytes move. */
struct resp_request {
	/* With RESP_REQUEST. The caller may write to argv[0] .. argv[argc - 1]. `argc` is 0 for an
	 * empty line, and for an array of zero or a negative number of elements. Such a request is
	 * not executed and gets no reply, but `consumed` counts. */
	size_t argc;
	struct qless_str *argv;
	size_t consumed; /* bytes of the request: the next one begins at base + consumed */

	/* With RESP_ERROR: "Protocol error: ...", to be sent after "-ERR ". */
	const char *error;

	/* Private. */
	size_t argv_cap;
	char *text; /* inline words with their quotes removed */
	size_t text_cap;
	char error_text[64];
};

struct resp_parser {
	/* Private: all zero between two requests. Offsets count from the `base` of resp_parse(). */
	uint8_t state;
	uint8_t error;
	uint8_t unexpected; /* the byte that an error is about */
	uint32_t args_total;
	uint32_t args_left;
	size_t pos;	/* start of the current line or bulk string */
	size_t scanned; /* no line end before this */
	size_t bulk_len;
};

void resp_request_init(struct resp_request *r);
void resp_request_done(struct resp_request *r);

/* Frees memory that a large request needed, but not what ordinary ones need. Ends the current
 * request. */
void resp_request_trim(struct resp_request *r);

/* Makes the parser ready for the first byte of a request. There is no resp_parser_done(): a parser
 * owns nothing. */
void resp_parser_init(struct resp_parser *p);

/*
 * Continue to parse. `base` is the start of the current request. `len` counts all bytes from there
 * that have arrived, also those of earlier calls.
 *
 * After RESP_REQUEST the caller continues with base + consumed, where more requests may follow.
 * RESP_NEED_MORE needs more bytes than `len`. RESP_ERROR is permanent: the parser stays in error
 * until resp_parser_init().
 *
 * The limits may change between two calls. Each is checked when a header is read, not again.
 */
enum resp_status resp_parse(struct resp_parser *p, const struct resp_limits *limits,
			    const char *base, size_t len, struct resp_request *ret_request);

/* After RESP_NEED_MORE with `len` bytes: how many bytes to make room for, at least 1. This is the
 * missing part of the current bulk string, limited to the larger of the bytes that have arrived and
 * RESP_WANTED_MIN. So memory follows what a peer sent, not what it announced. */
#define RESP_WANTED_MIN ((size_t)16 * 1024)
size_t resp_parser_wanted(const struct resp_parser *p, size_t len);

/* Whether every byte seen so far belongs to a request that was returned. */
bool resp_parser_is_idle(const struct resp_parser *p);

#endif
