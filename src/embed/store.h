/*
 * A store: how to make links to its server, and those that nobody uses at the moment.
 *
 * Each call takes a link, which is an idle one or a new one, and gives it back. So calls of several
 * threads never wait for each other, and there are as many links as calls at the same time.
 */
#ifndef EMBED_STORE_H
#define EMBED_STORE_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include "client/settings.h"
#include "embed/link.h"
#include "embed/resident.h"
#include "qless_store.h"

struct keeper;

struct qless_store {
	pid_t owner;
	struct client_settings settings;
	struct resident *resident; /* NULL: the server is elsewhere */
	double patience_s;
	qless_store_log_fn *log; /* of a store on a server; NULL: nobody listens */
	void *log_arg;

	pthread_mutex_t mutex; /* guards the fields below */
	struct link *idle;
	unsigned idle_count;
	struct keeper *keeper; /* NULL: there was no worker yet */
};

/* Returns 0, or QLESS_STORE_EFORKED in a child of the process that opened the store. */
int store_check_owner(const struct qless_store *store, struct qless_store_error *error);

/* Makes a link that the caller frees. Returns NULL if the server has ended. */
struct link *store_make_link(struct qless_store *store);

/* Turns the failure of a call into an error. `link` may be NULL: it could not be made. */
int store_fail(struct qless_store *store, const struct link *link, enum link_result result,
	       struct qless_store_error *error);

/* Runs a command once. An answer that is an error is QLESS_STORE_EREFUSED. On success the caller
 * frees *ret_reply. */
int store_call(struct qless_store *store, const struct qless_str *argv, size_t argc,
	       const struct link_limits *limits, struct client_reply *ret_reply,
	       struct qless_store_error *error);

/* Runs a command that does no harm if it runs twice, and repeats it for some seconds if the
 * connection is lost. */
int store_insist(struct qless_store *store, const struct qless_str *argv, size_t argc,
		 struct client_reply *ret_reply, struct qless_store_error *error);

/* Lets a command end that waits on a link, after link_receive() was stopped. Returns LINK_ANSWERED
 * with its reply, which tells whether it had an effect. Otherwise the caller frees the link. */
enum link_result store_end_wait(struct qless_store *store, struct link *link,
				struct client_reply *ret_reply);

/* Tells the program of an event. */
void store_tell(struct qless_store *store, enum qless_store_level level, const char *line);

#endif
