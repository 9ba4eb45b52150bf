/*
 * The API: requests under /v1 run as commands.
 *
 * A request becomes the arguments of a command (http/routes.h), which runs through the same
 * dispatch as one of RESP: admission, permissions, statistics, the slow log, MONITOR, the gate. Its
 * reply is the body of the answer.
 */
#ifndef SERVER_HTTP_API_H
#define SERVER_HTTP_API_H

#include "http/request.h"
#include "http/routes.h"
#include "server/dispatch.h"

struct conn;
struct http_api;
struct http_api_large;

/* A request from http_api_run() to the end of its command, for each connection. */
struct http_api_call {
	const struct route *route;
	size_t job_count; /* in the array of the body; 0 if that is no array */
	bool is_keyed;
	struct http_api_large *large; /* NULL unless the request waits for its next turn */
};

/* State that all requests share. */
struct http_api *http_api_new(void);
/* NULL is a no-op. */
void http_api_free(struct http_api *api);

/* Carries out a request under /v1, whose client has its user. With DISPATCH_DONE the client has its
 * answer. After DISPATCH_WAIT, http_api_finish() is called when the command has ended. The steps of
 * a request with a large body take a turn each: DISPATCH_NEXT until the last one. */
enum dispatch_result http_api_run(struct conn *c, const struct http_request *r);
/* Forgets the steps that a large request has made. */
void http_api_forget(struct http_api_call *call);
size_t http_api_memory(const struct http_api_call *call);
void http_api_finish(struct conn *c);

#endif
