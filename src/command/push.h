/*
 * Push, as the commands see it: the part of the server that posts jobs to endpoints.
 */
#ifndef COMMAND_PUSH_H
#define COMMAND_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

struct endpoint;
struct request;

/* The state of an endpoint. Times are in seconds since 1970; 0 means that there is none. */
struct push_status {
	const char *state; /* "closed", "open", "half-open", or "unavailable" */
	uint64_t running;  /* requests under way */
	uint64_t failures; /* in a row */
	double opens;	   /* the end of the pause, if the state is open */
	uint64_t sent;
	uint64_t completed;
	uint64_t retried;
	uint64_t failed;
	double last_sent;
	int last_status;	     /* of HTTP; 0: no answer */
	struct qless_str last_error; /* why there was no answer; empty: there was one */
};

struct push_ops {
	/* Returns whether jobs may be posted to the URL, which is one. */
	bool (*allows)(void *arg, struct qless_str url);
	/* Gets what an endpoint is doing. The text is valid until the next call. */
	void (*status)(void *arg, unsigned db, struct qless_str name, struct push_status *ret);
	/* Work calls this last in a part: posts a test to the endpoint. The next part comes after
	 * the answer, with a text in the output of the request: the status, the milliseconds that
	 * it took, and the error, each followed by a line feed. Returns NULL, or why there is no
	 * request. */
	const char *(*begin_test)(void *arg, struct request *req, const struct endpoint *endpoint,
				  const void *work);
	/* The work has ended, perhaps before the answer: nothing refers to it any more. */
	void (*end_test)(void *arg, const void *work);
};

#endif
