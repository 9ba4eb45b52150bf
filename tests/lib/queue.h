/*
 * Queue commands on an engine: no session, no permissions, no server.
 */
#ifndef TESTS_QUEUE_H
#define TESTS_QUEUE_H

#include "command/classic.h"
#include "command/databases.h"
#include "command/json.h"
#include "command/request.h"
#include "command/rows.h"
#include "resp/writer.h"

struct queue_caller {
	struct database own;
	struct database *database; /* `own`, or a borrowed one */
	struct scratch scratch;
	struct command_env env;
	struct qless_str sha; /* SHA-1 of the script, for its errors */
};

/* Borrows the database, which must outlive the caller. */
static inline void queue_caller_init_in(struct queue_caller *c, struct database *database)
{
	*c = (struct queue_caller){ .database = database };
	scratch_init(&c->scratch);
	c->env.scratch = &c->scratch;
}

/* Borrows the engine, which must outlive the caller. */
static inline void queue_caller_init(struct queue_caller *c, struct qless *engine)
{
	queue_caller_init_in(c, NULL);
	c->own = (struct database){ .engine = engine, .max_json_depth = JSON_DEPTH_MAX };
	c->database = &c->own;
}

static inline void queue_caller_done(struct queue_caller *c)
{
	scratch_done(&c->scratch);
}

static inline struct request queue_request(struct queue_caller *c, enum request_form form,
					   double now, const struct qless_str *args, size_t count,
					   struct reply *reply)
{
	struct request req = { .form = form,
			       .now = now,
			       .args = args,
			       .nargs = count,
			       .reply = reply,
			       .env = &c->env,
			       .sha = c->sha };

	request_use_database(&req, c->database);
	return req;
}

/* Arguments without `now`. Returns 0 or an error of the engine. */
static inline int queue_run(struct queue_caller *c, const struct command *command,
			    enum request_form form, double now, const struct qless_str *args,
			    size_t count, struct reply *reply)
{
	struct request req = queue_request(c, form, now, args, count, reply);

	req.row = command;
	return classic_run(&req);
}

#endif
