/*
 * The HTTP client that posts jobs: libcurl's multi interface, driven by the event loop.
 *
 * A post is a POST request with its answer. Many run at the same time, and connections are kept
 * alive and used again. No redirect is followed. An answer ends early if its body is longer than
 * push-max-response-size: what came is the answer then. An answer with too many headers is none.
 *
 *	POSTED --> (answered: the callback is called; freed)
 *	   |
 *	   +-----> (cancelled: freed)
 */
#ifndef SERVER_PUSH_CLIENT_H
#define SERVER_PUSH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"
#include "util/str.h"

struct post;
struct push_client;
struct server;

/* The answer to a post. Texts are valid until the callback returns. */
struct post_answer {
	int status;	   /* 0: there is none */
	bool is_timeout;   /* there was none within the time */
	const char *error; /* why there is none */
	struct qless_str body;
	struct qless_str retry_after; /* the header; empty: there is none */
	double seconds;		      /* that it took */
};

/* May begin posts and cancel others. */
typedef void post_fn(void *arg, const struct post_answer *answer);

struct post_request {
	struct qless_str url;
	struct qless_str body;
	double timeout_s; /* 0: none */
	/* Lines `Name: value`, each with a NUL at its end. */
	const char *const *headers;
	size_t header_count;
};

/* Returns NULL, with a sentence in `ret_error`, without a usable libcurl. */
struct push_client *push_client_new(struct server *s, struct buf *ret_error);
/* All posts have ended. NULL is a no-op. */
void push_client_free(struct push_client *client);

/* Directives have changed: connections that exist are not used again. */
void push_client_apply_config(struct push_client *client);

/* Begins a post. Copies the request. Calls the callback later, never at once. */
struct post *push_client_post(struct push_client *client, const struct post_request *request,
			      post_fn *fn, void *arg);
/* Ends a post without an answer. Its callback is not called. */
void post_cancel(struct post *post);

/* Returns whether push-allow allows the host of a URL by its name, or as an address. */
bool push_client_allows(const struct server *s, struct qless_str url);

#endif
