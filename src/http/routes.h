/*
 * Routes: which command a request of the API runs, and what its reply means.
 *
 * The rows are in routes.def. Dispatch, the arguments of the command, /v1/openapi.json and the
 * tables of qlessd-http(7) follow from them.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef HTTP_ROUTES_H
#define HTTP_ROUTES_H

#include <stdbool.h>
#include <stddef.h>

#include "http/json_reply.h"
#include "http/request.h"
#include "util/str.h"

/* How a value of the request becomes arguments of the command. In a query, a value is text. */
enum route_kind {
	ROUTE_WORD,    /* always the argument `word`, and no value */
	ROUTE_SEGMENT, /* a segment of the path */
	ROUTE_TEXT,    /* a string */
	ROUTE_NUMBER,  /* a number */
	ROUTE_SCALAR,  /* a string or a number */
	ROUTE_RESULT,  /* a string, or the JSON of any other value */
	ROUTE_FLAG,    /* true is the argument `word`; false is none */
	ROUTE_ANY,     /* any JSON, as it was sent */
	ROUTE_DATA,    /* any JSON, as it was sent, unless ROUTE_RAW is true; or an array `args` */
	ROUTE_RAW,     /* true: the data is bytes, from {"base64": "..."} or a string */
	ROUTE_RAW_SWITCH, /* the same, with the argument yes or no after `word` */
	ROUTE_JSON,	  /* an array of strings, as it was sent */
	ROUTE_LIST,	  /* an array of strings: an argument for each */
	ROUTE_EACH,	  /* parameters of a query: `word` and the value for each */
	ROUTE_PAIRS,	  /* the same with values `name:value`, which are two arguments */
	ROUTE_COUNTED,	  /* their number, then an argument for each */
	ROUTE_FIELDS,	  /* an object of strings: two arguments for each member */
	ROUTE_HEADERS,	  /* the same, with `word` before each name */
	ROUTE_JOBS,	  /* an array of objects with `jid` and `data`: two arguments for each */
	ROUTE_BACKOFF,	  /* an object with `kind`, `base` and `max` */
	ROUTE_INTERVAL,	  /* a number, followed by that of the ROUTE_OFFSET or 0 */
	ROUTE_OFFSET,
};

enum route_need {
	ROUTE_OPTIONAL,
	ROUTE_REQUIRED,
	ROUTE_EITHER,  /* exactly one of the values of the row with this need */
	ROUTE_DEFAULT, /* `fallback` if it is missing */
	ROUTE_FILLED,  /* `fallback` if it is missing and a later value without a word is not */
	ROUTE_USER,    /* the name of the user if it is missing */
	ROUTE_NOW,     /* the time if it is missing */
	ROUTE_JOB,     /* that of the job if it is missing, which the server looks up */
};

struct route_arg {
	enum route_kind kind;
	enum route_need need;
	const char *name; /* of the segment, parameter or member; NULL for ROUTE_WORD */
	const char *word; /* an argument before the value, or NULL */
	const char *fallback;
	const char *help; /* for the documents */
};

/* The meaning of a null that is the whole reply. */
enum route_null {
	ROUTE_NULL_NONE,	  /* 404: there is no such thing */
	ROUTE_NULL_NOJOB,	  /* 404: there is no such job */
	ROUTE_NULL_DONE,	  /* {"ok": true} */
	ROUTE_NULL_EMPTY,	  /* [] */
	ROUTE_NULL_EXISTS,	  /* 409: the jid is taken */
	ROUTE_NULL_ZERO_IS_NONE,  /* ROUTE_NULL_NONE, also for a 0 */
	ROUTE_NULL_ZERO_IS_NOJOB, /* ROUTE_NULL_NOJOB, also for a 0 */
};

struct route {
	enum http_method method;
	const char *path;    /* "/v1/jobs/{jid}" */
	const char *command; /* "queues", "config|get" */
	const char *waiting; /* the command if there is a timeout, its first argument; or NULL */
	const char *many;    /* the command if the body is an array; or NULL */
	const struct route_arg *args; /* up to one without a name and a word */
	int status;
	const char *wrap;  /* as struct json_reply has it */
	const char *reply; /* the schema of the reply, without its wrap: openapi.c */
	enum route_null null;
	enum json_reply_text text;
	const char *summary;
};

/* Values of a row at most. */
#define ROUTE_ARGS_MAX 32

/* All routes, in the order of the documents. */
size_t routes_count(void);
const struct route *routes_row(size_t i);

/* Finds the route of a request. NULL: there is none; *ret_allowed has a bit for each method that
 * has a route with this path. */
const struct route *routes_find(enum http_method method, const struct http_target *target,
				unsigned *ret_allowed);

/* Whether the arguments come from the body. Otherwise they come from the query. */
static inline bool route_has_body(const struct route *route)
{
	return route->method == HTTP_METHOD_POST || route->method == HTTP_METHOD_PUT ||
	       route->method == HTTP_METHOD_PATCH;
}

/* Whether the argument ends a row. */
static inline bool route_arg_is_end(const struct route_arg *arg)
{
	return arg->name == NULL && arg->word == NULL;
}

/* Whether a query may have the parameter several times. */
static inline bool route_arg_is_list(const struct route_arg *arg)
{
	return arg->kind == ROUTE_LIST || arg->kind == ROUTE_EACH || arg->kind == ROUTE_PAIRS;
}

#endif
