/*
 * Requests of HTTP/1.0 and HTTP/1.1 from bytes that arrive in pieces.
 *
 * The caller keeps the bytes in one piece that begins with the current request, and calls
 * http_parse() whenever more arrive. They may move in memory between calls. No byte is read twice,
 * and nothing is allocated.
 *
 * A request comes in two steps. When its head is complete, the caller decides whether the client
 * may send the body, and how large that may be. Then the body is collected:
 *
 *	HTTP_NEED_MORE ... HTTP_HEAD --http_parser_accept()--> HTTP_NEED_MORE ... HTTP_REQUEST
 *	       ^                                                                      |
 *	       +------------------------- http_parser_init() ------------------------+
 *
 * The parser keeps the result until http_parser_init(): each further call returns it again, for the
 * bytes where they are now. So a request can wait in the input.
 *
 * The parser refuses whatever two programs could read in different ways: a length and a transfer
 * encoding, two lengths, folded lines, blanks before a colon, a line end without CR, control
 * characters, a missing or repeated Host, and every transfer encoding except chunked.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_PARSER_H
#define HTTP_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/request.h"

/* Bytes of a request line and all header lines, with their ends. */
#define HTTP_HEAD_MAX ((size_t)8 * 1024)
/* Header lines of a request. */
#define HTTP_LINES_MAX 64
/* Bytes of the line before a chunk, and of the trailer after the last one. */
#define HTTP_CHUNK_LINE_MAX ((size_t)256)
#define HTTP_TRAILER_MAX    ((size_t)1024)

enum http_parse_status {
	HTTP_NEED_MORE, /* the head or the body has not arrived completely */
	HTTP_HEAD,	/* the head, without the body: call http_parser_accept(), or refuse */
	HTTP_REQUEST,	/* the whole request */
	HTTP_ERROR,	/* `status` and `error` say why; answer, then close the connection */
};

struct http_slice {
	uint16_t at;
	uint16_t len;
};

struct http_parser {
	/* Private: all zero between two requests. Offsets count from the `base` of http_parse(). */
	uint8_t state;
	uint8_t method;
	uint8_t minor;
	uint8_t lines;
	uint16_t status; /* of the error */
	bool is_chunked;
	bool is_closing;    /* Connection: close */
	bool is_kept_alive; /* Connection: keep-alive */
	bool wants_continue;
	uint32_t present; /* a bit for each field, which may be empty */
	const char *error;
	struct http_slice target;
	struct http_slice authority; /* of a target such as http://name/path */
	struct http_slice fields[HTTP_FIELD_COUNT];
	size_t line;	 /* start of the current line */
	size_t scanned;	 /* no line end before this */
	size_t body;	 /* start of the body */
	size_t body_len; /* bytes that are there, without framing */
	size_t left;	 /* bytes of the body or of the chunk that have not been taken */
	size_t max_body;
};

/* Make the parser ready for the first byte of a request. It owns nothing. */
void http_parser_init(struct http_parser *p);

/* Returns whether no byte of the current request has been seen. */
bool http_parser_is_idle(const struct http_parser *p);

/* Continue to parse. `base` is the start of the current request. `len` counts all bytes from there
 * that have arrived, also those of earlier calls. The framing of a chunked body is removed in
 * place, so the bytes of the caller change. */
enum http_parse_status http_parse(struct http_parser *p, char *base, size_t len,
				  struct http_request *ret_request);

/* After HTTP_HEAD: accept the body, which with its framing may have up to `max_body` bytes. */
void http_parser_accept(struct http_parser *p, size_t max_body);

/* After HTTP_NEED_MORE with `len` bytes: how many bytes to make room for, at least 1 and at most as
 * many as have arrived or HTTP_WANTED_MIN. */
#define HTTP_WANTED_MIN ((size_t)16 * 1024)
size_t http_parser_wanted(const struct http_parser *p, size_t len);

#endif
