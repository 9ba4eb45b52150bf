/*
 * Random calls of the classic API from a seed, and engines to run them on through the databases of
 * the command layer. There are few names, so that calls concern the same objects, and every kind of
 * change.
 */
#ifndef TESTS_RANDOM_CALLS_H
#define TESTS_RANDOM_CALLS_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "unit.h"

#include "queue.h"
#include "command/databases.h"
#include "resp/writer.h"
#include "util/buf.h"
#include "util/chain.h"

#define RANDOM_ARGS_MAX 24
#define RANDOM_ARG_MAX	200

struct random_calls {
	unsigned long long state;
	double now;
	unsigned jids; /* number of different jids */
	unsigned made;
	struct qless_str argv[RANDOM_ARGS_MAX];
	char text[RANDOM_ARGS_MAX][RANDOM_ARG_MAX];
	size_t argc;
};

/* Engines with a reader of their replies. */
struct engines {
	struct databases *databases;
	struct chunk_pool pool;
	struct chain out;
	struct reply writer;
};

static inline void engines_init(struct engines *e, unsigned count, uint64_t hash_seed)
{
	struct qless_hooks hooks = { .hash_seed = hash_seed };

	e->databases = databases_new(count, &hooks);
	chunk_pool_init(&e->pool, 2);
	chain_init(&e->out, &e->pool);
	resp_writer_init(&e->writer, &e->out, 2);
}

static inline void engines_done(struct engines *e)
{
	databases_free(e->databases);
	chain_done(&e->out);
	chunk_pool_done(&e->pool);
}

static inline struct qless *engines_get(struct engines *e, unsigned db)
{
	return databases_get(e->databases, db)->engine;
}

/* Run a command by name and drop its reply. Returns 0 or its error. */
static inline int engines_apply(struct engines *e, unsigned db, double now, struct qless_str name,
				const struct qless_str *args, size_t count)
{
	const struct command *command = queue_command_find(name);
	struct queue_caller caller;
	int rc;

	TEST_ASSERT_NOT_NULL(command);
	queue_caller_init_in(&caller, databases_get(e->databases, db));
	rc = queue_run(&caller, command, REQUEST_QLESS, now, args, count, &e->writer);
	queue_caller_done(&caller);
	chain_consume(&e->out, e->out.len);
	return rc;
}

static inline int engines_run(struct engines *e, unsigned db, double now,
			      const struct qless_str *argv, size_t argc)
{
	return engines_apply(e, db, now, argv[0], argv + 1, argc - 1);
}

static inline void engines_append(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

/* The state as text. */
static inline void engines_dump(struct engines *e, unsigned db, struct buf *out)
{
	buf_clear(out);
	qless_dump(engines_get(e, db), engines_append, out);
}

static inline void random_calls_init(struct random_calls *r, unsigned long long seed)
{
	*r = (struct random_calls){ .state = seed, .now = 1700000000.25, .jids = 40 };
}

static inline unsigned random_pick(struct random_calls *r, unsigned below)
{
	return (unsigned)(unit_random(&r->state) % below);
}

static inline void random_add(struct random_calls *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static inline void random_add(struct random_calls *r, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(r->text[r->argc], RANDOM_ARG_MAX, format, args);
	va_end(args);
	r->argv[r->argc] = str_make(r->text[r->argc], (size_t)len);
	r->argc++;
}

static inline void random_jid(struct random_calls *r)
{
	random_add(r, "j%u", random_pick(r, r->jids));
}

static inline void random_queue(struct random_calls *r)
{
	random_add(r, "q%u", random_pick(r, 3));
}

static inline void random_worker(struct random_calls *r)
{
	random_add(r, "w%u", random_pick(r, 4));
}

static inline void random_data(struct random_calls *r)
{
	random_add(r, "{\"n\":%u,\"pad\":\"%.*s\"}", random_pick(r, 1000), (int)random_pick(r, 60),
		   "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvw");
}

static inline void random_put_options(struct random_calls *r, bool depends)
{
	if (random_pick(r, 4) == 0) {
		random_add(r, "priority");
		random_add(r, "%d", (int)random_pick(r, 7) - 3);
	}
	if (random_pick(r, 4) == 0) {
		random_add(r, "tags");
		random_add(r, "[\"t%u\",\"t%u\"]", random_pick(r, 6), random_pick(r, 6));
	}
	if (random_pick(r, 5) == 0) {
		random_add(r, "retries");
		random_add(r, "%u", random_pick(r, 3));
	}
	if (depends && random_pick(r, 4) == 0) {
		random_add(r, "depends");
		random_add(r, "[\"j%u\",\"j%u\"]", random_pick(r, r->jids),
			   random_pick(r, r->jids));
	}
}

static inline void random_put(struct random_calls *r)
{
	random_worker(r);
	random_queue(r);
	random_jid(r);
	random_add(r, "klass%u", random_pick(r, 3));
	random_data(r);
	random_add(r, "%u", random_pick(r, 5) == 0 ? random_pick(r, 100) : 0);
	random_put_options(r, true);
}

static inline void random_complete(struct random_calls *r)
{
	random_jid(r);
	random_worker(r);
	random_queue(r);
	random_data(r);
	if (random_pick(r, 4) == 0) {
		random_add(r, "next");
		random_queue(r);
		if (random_pick(r, 3) == 0) {
			random_add(r, "depends");
			random_add(r, "[\"j%u\"]", random_pick(r, r->jids));
		}
	}
}

static inline void random_recur(struct random_calls *r)
{
	random_queue(r);
	random_add(r, "r%u", random_pick(r, 4));
	random_add(r, "klass");
	random_data(r);
	random_add(r, "interval");
	random_add(r, "%u", 20 + random_pick(r, 300));
	random_add(r, "%u", random_pick(r, 30));
	if (random_pick(r, 2) == 0) {
		random_add(r, "backlog");
		random_add(r, "%u", random_pick(r, 4));
	}
	if (random_pick(r, 2) == 0) {
		random_add(r, "tags");
		random_add(r, "[\"t%u\",\"t%u\"]", random_pick(r, 6), random_pick(r, 6));
	}
}

/* Commands by frequency: the name, and how its arguments are made. */
static inline void random_arguments(struct random_calls *r, const char *name)
{
	static const char *const options[] = {
		"heartbeat",	      "grace-period",	    "max-job-history", "q1-heartbeat",
		"q2-max-concurrency", "jobs-history-count", "anything"
	};

	random_add(r, "%s", name);
	if (strcmp(name, "put") == 0) {
		random_put(r);
	} else if (strcmp(name, "pop") == 0) {
		random_queue(r);
		random_worker(r);
		random_add(r, "%u", 1 + random_pick(r, 5));
	} else if (strcmp(name, "complete") == 0) {
		random_complete(r);
	} else if (strcmp(name, "heartbeat") == 0) {
		random_jid(r);
		random_worker(r);
	} else if (strcmp(name, "fail") == 0) {
		random_jid(r);
		random_worker(r);
		random_add(r, "group%u", random_pick(r, 3));
		random_add(r, "it broke %u", random_pick(r, 9));
	} else if (strcmp(name, "retry") == 0) {
		random_jid(r);
		random_queue(r);
		random_worker(r);
		random_add(r, "%u", random_pick(r, 2) * 30);
	} else if (strcmp(name, "unfail") == 0) {
		random_queue(r);
		random_add(r, "group%u", random_pick(r, 3));
		random_add(r, "%u", 1 + random_pick(r, 3));
	} else if (strcmp(name, "depends") == 0) {
		random_jid(r);
		random_add(r, random_pick(r, 2) ? "on" : "off");
		random_jid(r);
	} else if (strcmp(name, "tag") == 0) {
		random_add(r, random_pick(r, 2) ? "add" : "remove");
		random_jid(r);
		random_add(r, "t%u", random_pick(r, 6));
	} else if (strcmp(name, "track") == 0) {
		random_add(r, random_pick(r, 3) ? "track" : "untrack");
		random_jid(r);
	} else if (strcmp(name, "log") == 0) {
		random_jid(r);
		random_add(r, "seen");
		if (random_pick(r, 2) == 0)
			random_add(r, "{\"by\":%u}", random_pick(r, 99));
	} else if (strcmp(name, "priority") == 0) {
		random_jid(r);
		random_add(r, "%u", random_pick(r, 5));
	} else if (strcmp(name, "recur") == 0) {
		random_recur(r);
	} else if (strcmp(name, "unrecur") == 0) {
		random_add(r, "r%u", random_pick(r, 4));
	} else if (strcmp(name, "config.set") == 0) {
		random_add(r, "%s", options[random_pick(r, 7)]);
		random_add(r, "%u", 3 + random_pick(r, 40));
	} else if (strcmp(name, "config.unset") == 0) {
		random_add(r, "%s", options[random_pick(r, 7)]);
	} else if (strcmp(name, "worker.deregister") == 0) {
		random_worker(r);
	} else if (strcmp(name, "peek") == 0) {
		random_queue(r);
		random_add(r, "%u", 1 + random_pick(r, 5));
	} else if (strcmp(name, "pause") == 0 || strcmp(name, "unpause") == 0 ||
		   strcmp(name, "queue.forget") == 0 || strcmp(name, "queues") == 0) {
		random_queue(r);
	} else if (strcmp(name, "cancel") == 0 || strcmp(name, "timeout") == 0) {
		random_jid(r);
	}
}

/* Make the next call: argv with the name first, and the time. */
static inline void random_next(struct random_calls *r)
{
	static const char *const often[] = { "put", "pop", "complete", "pop", "heartbeat" };
	static const char *const seldom[] = {
		"fail",	      "retry",	      "retry",	      "unfail",
		"depends",    "tag",	      "tag",	      "track",
		"log",	      "priority",     "recur",	      "unrecur",
		"peek",	      "cancel",	      "timeout",      "queues",
		"config.set", "pause",	      "unpause",      "unpause",
		"workers",    "config.unset", "queue.forget", "worker.deregister",
		"unpause",
	};

	r->argc = 0;
	r->made++;
	r->now += (double)random_pick(r, 4000) / 1000;
	if (random_pick(r, 200) == 0)
		r->now += 30000;
	if (random_pick(r, 10) < 7)
		random_arguments(r, often[random_pick(r, sizeof often / sizeof often[0])]);
	else
		random_arguments(r, seldom[random_pick(r, sizeof seldom / sizeof seldom[0])]);
}

/* Running jobs have few owners, so most calls for one of them fail. Run the next call, sometimes
 * with the right owner. Returns the result of the call. */
static inline int random_step(struct random_calls *r, struct engines *e, unsigned db)
{
	struct qless_job_info info;
	const struct qless_job *job;
	bool owned;

	random_next(r);
	owned = str_equal(r->argv[0], STR("complete")) || str_equal(r->argv[0], STR("fail")) ||
		str_equal(r->argv[0], STR("heartbeat"));
	job = owned ? qless_get(engines_get(e, db), r->argv[1]) : NULL;
	if (job != NULL && random_pick(r, 8) != 0) {
		qless_job_read(job, &info);
		r->argv[2] = str_make(r->text[2], info.worker.len);
		memcpy(r->text[2], info.worker.ptr, info.worker.len);
		if (str_equal(r->argv[0], STR("complete"))) {
			r->argv[3] = str_make(r->text[3], info.queue.len);
			memcpy(r->text[3], info.queue.ptr, info.queue.len);
		}
	}
	return engines_run(e, db, r->now, r->argv, r->argc);
}

#endif
