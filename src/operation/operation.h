/*
 * Operations: all changes of the state, as data.
 *
 * A command of a client becomes an operation, and the operation runs on the engine. The log keeps
 * the bytes of each operation that changed something. Loading the log runs these operations again,
 * and needs no code that knows the syntax of a client. This layer alone knows what a log can
 * contain: operations on queues, and changes of databases, scripts and users.
 *
 * The layer is pure: the same operations in the same order lead to the same state.
 *
 *	struct operation op = { .kind = OPERATION_PAUSE, .now = now };
 *	struct operation_outcome outcome;
 *
 *	op.names.items = queues;
 *	op.names.count = 2;
 *	if (operation_run(q, &op, &outcome) == 0 && outcome.changed)
 *		operation_encode(&op, &bytes);
 */
#ifndef OPERATION_OPERATION_H
#define OPERATION_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qless.h"
#include "util/buf.h"
#include "util/str.h"

/*
 * The log contains these numbers, so a number never changes and is never reused. layout.c says how
 * to add a kind and how to change the fields of one.
 */
enum operation_kind {
	OPERATION_PUT = 1,
	OPERATION_PUT_MANY = 2,
	OPERATION_REQUEUE = 3,
	OPERATION_POP = 4,
	OPERATION_ADVANCE = 5,
	OPERATION_HEARTBEAT = 6,
	OPERATION_HEARTBEAT_MANY = 7,
	OPERATION_COMPLETE = 8,
	OPERATION_COMPLETE_MANY = 9,
	OPERATION_FAIL = 10,
	OPERATION_RETRY = 11,
	OPERATION_TIMEOUT = 12,
	OPERATION_CANCEL = 13,
	OPERATION_DEPENDS_ON = 14,
	OPERATION_DEPENDS_OFF = 15,
	OPERATION_DEPENDS_OFF_ALL = 16,
	OPERATION_PRIORITY = 17,
	OPERATION_LOG = 18,
	OPERATION_UNFAIL = 19,
	OPERATION_PAUSE = 20,
	OPERATION_UNPAUSE = 21,
	OPERATION_QUEUE_FORGET = 22,
	OPERATION_WORKER_DEREGISTER = 23,
	OPERATION_TAG = 24,
	OPERATION_UNTAG = 25,
	OPERATION_TRACK = 26,
	OPERATION_UNTRACK = 27,
	OPERATION_RECUR = 28,
	OPERATION_UNRECUR = 29,
	OPERATION_RECUR_UPDATE = 30,
	OPERATION_RECUR_TAG = 31,
	OPERATION_RECUR_UNTAG = 32,
	OPERATION_CONFIG_SET = 33,
	OPERATION_CONFIG_UNSET = 34,
	OPERATION_RESOLVE = 35,
	OPERATION_MAINTAIN = 36,
	OPERATION_STEP_CLOCK = 37, /* `now` is the new time */
	OPERATION_REPAIR = 38,
	OPERATION_WORKER_RENEW = 39,
	OPERATION_WORKER_RELEASE = 40,
	OPERATION_LIMIT_SET = 41,
	OPERATION_LIMIT_DELETE = 42,
	OPERATION_LIMIT_HOLD = 43,
	OPERATION_LIMIT_SWEEP = 44,
	OPERATION_TICK = 45,
	OPERATION_OVERTIME = 46,
	OPERATION_JOB_START = 50,
	OPERATION_JOB_PROGRESS = 51,
	OPERATION_JOB_META = 52,
	OPERATION_JOB_DELETE = 53,
	OPERATION_JOB_ABORT = 54,
	OPERATION_COMPLETE_WITH = 55, /* COMPLETE with a result */
	/* The kinds below do not change an engine. The first three are about an endpoint of a
	 * database. */
	OPERATION_ENDPOINT_SET = 58,
	OPERATION_ENDPOINT_DELETE = 59,
	OPERATION_ENDPOINT_PAUSE = 60,
	OPERATION_FLUSH = 64, /* empty the database */
	OPERATION_SCRIPT_ADDED = 65,
	OPERATION_SCRIPTS_CLEARED = 66,
	OPERATION_USER_SET = 67,
	OPERATION_USER_DELETED = 68,
	OPERATION_USER_AS_CONFIGURED = 69,
};

struct operation_names {
	const struct qless_str *items;
	size_t count;
};

struct operation {
	enum operation_kind kind;
	unsigned db; /* 0 if the operation is not about a database */
	double now;  /* not used by MAINTAIN and by the kinds that do not change an engine */
	/* COMPLETE, COMPLETE_WITH, HEARTBEAT and FAIL: the job keeps its data, and `data` is
	 * ignored. This saves space in the log: clients send the data with each call and rarely
	 * change it. */
	bool keeps_data;
	union {
		struct qless_put put; /* PUT, REQUEUE */
		struct {
			/* Everything that the jobs have in common: all but jid, class and data. */
			struct qless_put common;
			/* jid, class and data of each job, one after the other. */
			struct operation_names jobs;
			/* A unique key for each job, which counts instead of the one in `common`.
			 * Without any, all jobs have the terms in `common`. */
			struct operation_names keys;
		} put_many;
		struct {
			struct qless_str queue;
			struct qless_str worker;
			const struct qless_str *klass; /* NULL: any class */
			int64_t count;
			/* It takes little time, and may stop early. Not in the log: once the pop
			 * has run, the log needs the steps that it took. */
			bool may_stop;
			bool has_steps; /* it stopped after that number of steps */
			int64_t steps;
		} pop;
		struct qless_advance advance;
		struct {
			struct qless_str jid;
			struct qless_str worker;
			const struct qless_str *data; /* NULL: no new data */
		} heartbeat;
		struct {
			struct qless_str worker;
			struct operation_names jids;
		} heartbeat_many;
		struct qless_complete complete; /* COMPLETE_WITH, too */
		struct {
			struct qless_str worker;
			struct qless_str queue;
			/* jid and data of each job, one after the other. */
			struct operation_names jobs;
			/* From this job on, each purges at most one old completed job. */
			bool has_purge_end;
			int64_t purge_end;
		} complete_many;
		struct qless_fail fail;
		struct qless_abort abort;
		struct qless_start start;
		struct qless_progress progress;
		struct {
			struct qless_str jid;
			struct operation_names set; /* name and value of each field */
			struct operation_names removed;
		} meta;
		struct qless_retry retry;
		/* TIMEOUT, CANCEL, JOB_DELETE: jids. PAUSE, UNPAUSE, QUEUE_FORGET: queues.
		 * WORKER_DEREGISTER: workers. */
		struct operation_names names;
		/* DEPENDS_ON, DEPENDS_OFF: other jids. TAG, UNTAG, RECUR_TAG, RECUR_UNTAG: tags.
		 * DEPENDS_OFF_ALL, TRACK, UNTRACK, UNRECUR: only the jid. */
		struct {
			struct qless_str jid;
			struct operation_names names;
		} job;
		struct {
			struct qless_str jid;
			double priority;
		} priority;
		struct {
			struct qless_str jid;
			struct qless_str message;
			const struct qless_str *item; /* NULL: no item */
		} log;
		struct {
			struct qless_str queue;
			struct qless_str group;
			int64_t count;
		} unfail;
		struct qless_recur_put recur;
		struct {
			struct qless_str jid;
			const struct qless_recur_change *changes;
			size_t count;
		} recur_update;
		struct {
			struct qless_str jid;
			int64_t max;
		} tick;
		struct qless_str overtime; /* a jid */
		struct {
			struct qless_str name;
			struct qless_str value; /* CONFIG_SET only */
		} config;
		struct {
			double from;
		} step_clock;
		struct qless_renewal renewal;
		struct qless_release release;
		struct qless_limit_change limit_set;
		struct qless_str limit_name; /* LIMIT_DELETE */
		struct {
			struct qless_str name;
			double seconds;
		} limit_hold;
		struct {
			int64_t max;
		} limit_sweep;
		struct {
			const struct qless_repair *items;
			size_t count;
		} repair;
		/* Strings that are absent are NULL. Headers are names and values, one after the
		 * other. ENDPOINT_DELETE has only the name, and ENDPOINT_PAUSE the name and whether
		 * the endpoint is paused from now on. */
		struct {
			struct qless_str name;
			struct qless_str url;
			struct operation_names queues;
			const struct qless_str *klass;
			int64_t concurrency;
			double timeout_s;
			struct operation_names headers;
			const struct qless_str *secret;
			bool is_paused;
		} endpoint;
		struct {
			struct qless_str sha;
			struct qless_str dialect; /* its name: numbers of dialects may change */
			struct operation_names options; /* of its put, which qlessd lacks */
		} script;
		struct {
			struct qless_str name;
			struct operation_names rules; /* USER_SET only */
			/* In USER_SET and USER_DELETED from logs before format 4. The operation
			 * counts only if this is the fingerprint of the user in the current
			 * configuration. NULL: it always counts. Never written. */
			const struct qless_str *basis;
		} user;
	};
};

/* The outcome of an operation. Results borrow from the engine until its next call. */
struct operation_outcome {
	bool changed;	/* the operation changed the state and must be recorded */
	bool kept_data; /* the job already had the data; see keeps_data */
	double until;	/* the latest time that the operation used: `now`, or later */
	/* POP: it stopped early, after that many steps. */
	bool is_stopped;
	int64_t steps;
	/* Valid only after success. */
	union {
		struct qless_jobs jobs;	     /* POP, PEEK */
		struct qless_list jids;	     /* JOBS */
		enum qless_state state;	     /* COMPLETE */
		double expires;		     /* HEARTBEAT, LIMIT_HOLD */
		double remaining;	     /* RETRY */
		const struct qless_job *job; /* TAG, UNTAG */
		/* TRACK: it is new. UNTRACK: it was tracked. LIMIT_DELETE: there was a rule.
		 * OVERTIME: the run ended */
		bool flag;
		/* ADVANCE: moved. UNFAIL, TICK, JOB_DELETE: jobs. JOB_META: fields. RESOLVE,
		 * REPAIR: repairs. LIMIT_SWEEP: limits */
		uint64_t count;
		struct qless_renewed renewed;	/* WORKER_RENEW */
		struct qless_released released; /* WORKER_RELEASE */
	};
};

/* The name of a kind, such as "put"; NULL if there is no such kind. */
const char *operation_name(unsigned kind);

/* Returns whether the operation changes an engine, so that operation_run() can run it. */
static inline bool operation_is_for_engine(const struct operation *op)
{
	return op->kind < OPERATION_ENDPOINT_SET;
}

/* Returns whether the operation is about an endpoint of its database. */
static inline bool operation_is_for_endpoint(const struct operation *op)
{
	return op->kind == OPERATION_ENDPOINT_SET || op->kind == OPERATION_ENDPOINT_DELETE ||
	       op->kind == OPERATION_ENDPOINT_PAUSE;
}

/* Returns whether the operation is about a user of the server. */
static inline bool operation_is_for_user(const struct operation *op)
{
	return op->kind == OPERATION_USER_SET || op->kind == OPERATION_USER_DELETED ||
	       op->kind == OPERATION_USER_AS_CONFIGURED;
}

/* ---- running ---- */

/* Call the engine. Returns 0 or the code of the engine; qless_last_error() then has the error. An
 * operation of several parts succeeds even if the engine refuses some of them. */
int operation_run(struct qless *q, const struct operation *op,
		  struct operation_outcome *ret_outcome);

/* HEARTBEAT_MANY and COMPLETE_MANY have a part for each job. These functions run one part, for a
 * caller that needs the outcome of each; operation_run() runs all of them in order. */
size_t operation_count_parts(const struct operation *op);
int operation_run_part(struct qless *q, const struct operation *op, size_t i,
		       struct operation_outcome *ret_outcome);

/* Called with each operation that changed something. The operation is valid during the call. */
struct operation_recorder {
	void (*record)(void *arg, const struct operation *op);
	void *arg;
};

/* ---- bytes ---- */

/* Append the bytes of an operation to a buffer without a maximum. Several operations may follow
 * each other. */
void operation_encode(const struct operation *op, struct buf *out);

/* Memory for the lists of decoded operations. Starts zeroed. */
struct operation_room {
	struct operation_room_block *blocks;
};

void operation_room_done(struct operation_room *room);

/*
 * Take the first operation off the bytes. All bytes give an operation or an error: negative, with a
 * sentence in `ret_error`. The result borrows from the bytes, and from `room` until the next
 * operation is decoded there.
 */
int operation_decode(struct qless_str *bytes, struct operation_room *room, struct operation *ret_op,
		     struct buf *ret_error);

/* ---- for people ---- */

/* Append one line without time and newline: `db0 pop queue="mail" worker="w1" count=1`. Leaves out
 * the hashes of passwords, and the secrets and headers of endpoints. */
void operation_describe(const struct operation *op, struct buf *out);

/* Returns whether the text is one of the arguments. */
bool operation_mentions(const struct operation *op, struct qless_str text);

#endif
