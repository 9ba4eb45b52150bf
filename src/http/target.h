/*
 * The target of a request: path and query.
 *
 *	/v1/queues/mail%2Ffast/jobs?state=running&count=10
 *
 * has the segments "v1", "queues", "mail/fast" and "jobs", and two parameters. The path is split
 * before it is decoded, so an encoded slash belongs to its segment. "." and ".." are names like any
 * other. "/" has no segment, and "/v1/" has an empty one at its end.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "util/str.h"

/* Segments of a path. */
#define HTTP_TARGET_SEGMENTS_MAX 16
/* Parameters of a query. */
#define HTTP_TARGET_PARAMETERS_MAX 64
/* Bytes of a target. */
#define HTTP_TARGET_MAX ((size_t)8 * 1024)

enum http_target_error {
	HTTP_TARGET_BAD_ESCAPE = -1, /* a % without two hexadecimal digits */
	HTTP_TARGET_LONG = -2,	     /* more than HTTP_TARGET_MAX bytes */
	HTTP_TARGET_SEGMENTS = -3,   /* too many segments */
	HTTP_TARGET_PARAMETERS = -4, /* too many parameters */
	HTTP_TARGET_NOT_A_PATH = -5, /* it does not begin with a slash */
};

struct http_parameter {
	struct qless_str name;
	struct qless_str value; /* empty for "name" and "name=" */
};

struct http_target {
	struct qless_str path;	/* as sent, without the query */
	struct qless_str query; /* as sent, without the question mark; may be empty */
	size_t segment_count;
	struct qless_str segments[HTTP_TARGET_SEGMENTS_MAX]; /* decoded */
	size_t parameter_count;
	struct http_parameter parameters[HTTP_TARGET_PARAMETERS_MAX]; /* decoded, as sent: names
								       * may occur twice */
	char text[HTTP_TARGET_MAX];				      /* what had to be decoded */
};

/* Split and decode. The slices are of `text` and of the target's own text. Returns 0, or an enum
 * http_target_error. */
int http_target_parse(struct http_target *t, struct qless_str text);

/* Returns what the error means, for the client. */
const char *http_target_error_text(int error);

/* Returns the first parameter of that name, or NULL. */
const struct http_parameter *http_target_parameter(const struct http_target *t,
						   struct qless_str name);

#endif
