/*
 * The objects of a request: the queues, jobs, keys and channels that it names.
 *
 * Permissions depend on this, so it is derived from the row of the command and from the arguments
 * alone. Each queue command has a function, in its column `objects`. Other commands have flags.
 */
#ifndef COMMAND_OBJECTS_H
#define COMMAND_OBJECTS_H

#include "command/acl.h"
#include "command/command.h"
#include "command/request.h"

enum object_kind {
	OBJECT_QUEUE,
	OBJECT_JOB,	  /* a job that exists */
	OBJECT_NEW_JOB,	  /* a job that the command makes, or moves if it exists */
	OBJECT_RECUR,	  /* a recurring job that exists */
	OBJECT_NEW_RECUR, /* a recurring job that the command makes or replaces */
	OBJECT_WORKER,
	OBJECT_OPTION, /* of the queues */
	OBJECT_KEY,
	OBJECT_EVERYTHING, /* all queues, or the whole database; the name is "*" */
	OBJECT_CHANNEL,
	OBJECT_PATTERN, /* of channels */
};

struct object {
	enum object_kind kind;
	unsigned access;
	struct qless_str name;
	/* The queue to which the command moves the job; NULL if it stays in its queue. */
	const struct qless_str *queue;
};

/* Returns false to end the walk. The object is valid during the call. */
typedef bool object_fn(void *arg, const struct object *object);

/* A walk over the objects of a request. */
struct object_walk {
	const struct qless_str *args;
	size_t nargs;
	/* The jids "*" and "+" stand for new ones, and literal words may be in any case. */
	bool is_native;
	object_fn *visit;
	void *arg;
};

/* A request on its own, without a session. */
struct object_request {
	const struct command *row;
	enum request_form form;
	const struct qless_str *args;
	size_t nargs;
};

/* Visits each object of a request. Returns false if `visit` ended the walk. Arguments that make no
 * sense name nothing: the handler refuses them. */
bool objects_each(const struct object_request *request, object_fn *visit, void *arg);

/* If the request is QLESS or a script, replaces it by the request of the queue command that it
 * names. Leaves it alone if there is no such command. */
void objects_unwrap(const struct command_table *table, struct object_request *request);

/* The column `objects` of queue_commands.def. */
bool objects_of_attach(const struct object_walk *walk);
bool objects_of_cancel(const struct object_walk *walk);
bool objects_of_complete(const struct object_walk *walk);
bool objects_of_config_get(const struct object_walk *walk);
bool objects_of_config_set(const struct object_walk *walk);
bool objects_of_depends(const struct object_walk *walk);
bool objects_of_endpoint_set(const struct object_walk *walk);
bool objects_of_get(const struct object_walk *walk);
bool objects_of_meta(const struct object_walk *walk);
bool objects_of_search(const struct object_walk *walk);
bool objects_of_start(const struct object_walk *walk);
bool objects_of_job_wait(const struct object_walk *walk);
bool objects_of_job(const struct object_walk *walk);
bool objects_of_jobs(const struct object_walk *walk);
bool objects_of_limit_get(const struct object_walk *walk);
bool objects_of_limit_set(const struct object_walk *walk);
bool objects_of_multicomplete(const struct object_walk *walk);
bool objects_of_multiput(const struct object_walk *walk);
bool objects_of_peek(const struct object_walk *walk);
bool objects_of_pop(const struct object_walk *walk);
bool objects_of_mpop(const struct object_walk *walk);
bool objects_of_bpop(const struct object_walk *walk);
bool objects_of_put(const struct object_walk *walk);
bool objects_of_queues(const struct object_walk *walk);
bool objects_of_recur(const struct object_walk *walk);
bool objects_of_recur_get(const struct object_walk *walk);
bool objects_of_recur_tag(const struct object_walk *walk);
bool objects_of_recur_update(const struct object_walk *walk);
bool objects_of_requeue(const struct object_walk *walk);
bool objects_of_release(const struct object_walk *walk);
bool objects_of_retry(const struct object_walk *walk);
bool objects_of_tag(const struct object_walk *walk);
bool objects_of_track(const struct object_walk *walk);
bool objects_of_unfail(const struct object_walk *walk);
bool objects_of_worker_list(const struct object_walk *walk);
bool objects_of_workers(const struct object_walk *walk);

#endif
