/*
 * Responses of HTTP/1.1, written to a chain.
 *
 *	http_write_status(out, 200);
 *	http_write_field(out, STR("Content-Type"), STR("text/plain"));
 *	http_write_length(out, body.len);
 *	http_write_head_end(out);
 *
 * Instead of a length, a response may have "Transfer-Encoding: chunked". Then its body consists of
 * chunks, each between http_write_chunk_begin() and http_write_chunk_end(), and ends with
 * http_write_last_chunk().
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_RESPONSE_H
#define HTTP_RESPONSE_H

#include <stddef.h>
#include <stdint.h>

#include "util/chain.h"
#include "util/str.h"

/* Bytes of a date, such as "Sun, 06 Nov 1994 08:49:37 GMT", with a NUL. */
#define HTTP_DATE_SIZE 30

/* Returns the words for a status, such as "Not Found". An unknown status has those of its class. */
struct qless_str http_reason(int status);

void http_write_status(struct chain *out, int status);
/* Write a header field. A control character in the value becomes a blank. */
void http_write_field(struct chain *out, struct qless_str name, struct qless_str value);
void http_write_length(struct chain *out, size_t len);
void http_write_head_end(struct chain *out);

/* Write the lines around a chunk of `len` bytes, which is not empty. */
void http_write_chunk_begin(struct chain *out, size_t len);
void http_write_chunk_end(struct chain *out);
void http_write_last_chunk(struct chain *out);

/* Write a time in seconds since 1970, from then to the end of November 9999, as the field Date has
 * it. */
void http_format_date(char to[HTTP_DATE_SIZE], int64_t seconds);

#endif
