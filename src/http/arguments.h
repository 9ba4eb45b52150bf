/*
 * The arguments of the command of a route, from the path, the query and the body of a request.
 *
 * A request has nothing that is not understood: a member or parameter that the route does not know,
 * or that occurs twice, is an error. So is a value of another kind than that of the row. What a
 * number or a word may be is left to the command.
 *
 * Arguments are slices of the request where possible. What has to be decoded is in the room.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_ARGUMENTS_H
#define HTTP_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "http/routes.h"
#include "util/buf.h"
#include "util/str.h"

/* Bytes of the text of an error at most. */
#define ARGUMENTS_ERROR_MAX ((size_t)1024)

/* An argument that the server adds, because only it knows the job. */
enum arguments_gap_kind {
	ARGUMENTS_GAP_QUEUE,
	ARGUMENTS_GAP_CLASS,
	ARGUMENTS_GAP_DATA,
};

struct arguments_gap {
	enum arguments_gap_kind kind;
	size_t at; /* in argv, where there is an empty slice */
};
#define ARGUMENTS_GAPS_MAX 3

struct arguments_context {
	struct qless_str user;
	struct qless_str idempotency_prefix; /* of unique keys, at most 64 bytes */
	double now;
	size_t max_json_depth; /* of a value in the body */
	size_t max_jobs;       /* in an array; 0 for any number */
	size_t max_args;       /* of a command, with lists; 0 for any number */
};

/* A value of a row in the request. */
struct arguments_value {
	struct qless_str text;
	bool is_set;
};

/* One serves all requests of a thread. */
struct arguments {
	/* The result. */
	struct qless_str *argv;
	size_t argc;
	size_t job_count;   /* in the array of the body; 0 if that is no array */
	bool is_keyed;	    /* the job has a unique key */
	bool is_idempotent; /* the key stands for an Idempotency-Key */
	bool has_db;	    /* the query has a parameter `db` */
	struct qless_str db;
	struct qless_str jid; /* of the path; empty if it has none */
	struct arguments_gap gaps[ARGUMENTS_GAPS_MAX];
	size_t gap_count;
	/* After an error. */
	const char *code;
	struct buf error;

	/* Private. */
	const struct route *route;
	const struct http_request *req;
	const struct arguments_context *context;
	size_t argv_cap;
	struct buf text;
	struct buf filled;
	struct arguments_value values[ROUTE_ARGS_MAX];
	struct arguments_value timeout;
	bool data_is_args;
	size_t element; /* of an array, from 1 on; 0: the body is no array */
};

void arguments_init(struct arguments *a);
void arguments_done(struct arguments *a);
size_t arguments_memory(const struct arguments *a);
/* Frees memory that a large request needed. */
void arguments_trim(struct arguments *a);

/* Makes the arguments of a request. Returns false, with the code and the text of an error, if the
 * request is not valid. The arguments are valid until the next call, and no longer than those of
 * the call. */
bool arguments_make(struct arguments *a, const struct route *route, const struct http_request *req,
		    const struct arguments_context *context);

/* The same in two steps, for a large body: the first one checks that the body is JSON. The request
 * must be in the same place for both. */
bool arguments_begin(struct arguments *a, const struct route *route, const struct http_request *req,
		     const struct arguments_context *context);
bool arguments_end(struct arguments *a, const struct arguments_context *context);

/* Fills the gaps with copies of what the job has. Raw data gets the option for it. */
void arguments_fill(struct arguments *a, struct qless_str queue, struct qless_str klass,
		    struct qless_str data, bool data_is_raw);

#endif
