/*
 * The qless job engine as a library: queues, jobs, exclusive locks with heartbeats, retries,
 * priorities, schedules, recurring jobs, dependencies, tags, tracking, failure groups, statistics.
 *
 * The engine is pure: no I/O, no clock, no randomness, no threads. Whatever depends on time takes
 * `now`, in seconds. The same calls in the same order always leave the same state, return the same
 * results and publish the same events.
 *
 * Calls return 0 or one of the negative codes below. A call that fails has changed nothing and
 * published nothing, and leaves its outputs alone; qless_last_error() then says what was wrong, as
 * data, and qless_error_text() in English. Memory that runs out ends the process.
 *
 * Strings are slices of bytes: any byte may occur, nothing follows the end. Arguments are copied
 * where the engine keeps them. Results borrow from the engine until its next call, unless said
 * otherwise, so they cannot be arguments of a call that changes something. JSON (job data, log
 * items) is text the engine stores and returns byte for byte; the caller vouches that it is well
 * formed.
 *
 *	struct qless *q = qless_new(NULL);
 *	struct qless_put put = { .queue = QLESS_STR("mail"), .jid = QLESS_STR("j1"),
 *				 .klass = QLESS_STR("Send"), .data = QLESS_STR("{}") };
 *	struct qless_jobs jobs;
 *
 *	qless_put(q, now, &put);
 *	qless_pop(q, now, QLESS_STR("mail"), QLESS_STR("worker-1"), 1, &jobs);
 */
#ifndef QLESS_H
#define QLESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef QLESS_STR_DEFINED
#define QLESS_STR_DEFINED
struct qless_str {
	const char *ptr;
	size_t len;
};
#endif

/* A slice of a string literal. */
#define QLESS_STR(literal) ((struct qless_str){ "" literal, sizeof(literal) - 1 })

#define QLESS_CHECK __attribute__((warn_unused_result))

/* The errors: name, value, the code word a client reads. The list is closed: a new kind of error
 * is a change of this contract. */
#define QLESS_ERRORS(X)                        \
	X(QLESS_EBADARG, -1, "BADARG")         \
	X(QLESS_EBADJSON, -2, "BADJSON")       \
	X(QLESS_ENOJOB, -3, "NOJOB")           \
	X(QLESS_ENOTRUNNING, -4, "NOTRUNNING") \
	X(QLESS_ENOTOWNER, -5, "NOTOWNER")     \
	X(QLESS_EWRONGQUEUE, -6, "WRONGQUEUE") \
	X(QLESS_ENOTDEPENDS, -7, "NOTDEPENDS") \
	X(QLESS_EDEPENDENTS, -8, "DEPENDENTS") \
	X(QLESS_ERETRIES, -9, "RETRIES")       \
	X(QLESS_ELIMIT, -10, "LIMIT")

enum qless_code {
#define QLESS_ERROR_ENUM(name, value, word) name = (value),
	QLESS_ERRORS(QLESS_ERROR_ENUM)
#undef QLESS_ERROR_ENUM
};

/* Why a call fails: name, code, the sentence of qless_error_text(), in which %j is the jid of the
 * error, %d its detail, %a its argument, %n its number, and %v its detail or, without one, its
 * number. A code can have several reasons. */
#define QLESS_REASONS(X)                                                                        \
	X(QLESS_WHY_NO_JOB, QLESS_ENOJOB, "job %j does not exist")                              \
	X(QLESS_WHY_NO_RECUR, QLESS_ENOJOB, "recurring job %j does not exist")                  \
	/* detail: the state of the job */                                                      \
	X(QLESS_WHY_STATE, QLESS_ENOTRUNNING, "job %j is not running, its state is %d")         \
	/* detail: the worker that holds the job */                                             \
	X(QLESS_WHY_WORKER, QLESS_ENOTOWNER, "job %j is held by another worker, %d")            \
	/* detail: the queue of the job */                                                      \
	X(QLESS_WHY_QUEUE, QLESS_EWRONGQUEUE, "job %j is in another queue, %d")                 \
	X(QLESS_WHY_NO_WAITING_JOB, QLESS_ENOTDEPENDS, "job %j does not exist")                 \
	/* detail: the state of the job */                                                      \
	X(QLESS_WHY_NOT_DEPENDS, QLESS_ENOTDEPENDS,                                             \
	  "job %j does not wait for other jobs, its state is %d")                               \
	/* detail: a job that depends on it */                                                  \
	X(QLESS_WHY_DEPENDENT, QLESS_EDEPENDENTS, "job %d depends on job %j and is not listed") \
	X(QLESS_WHY_RETRIES, QLESS_ERETRIES, "job %j has retries left that are no integer")     \
	/* argument; detail: its text if it is one, otherwise number */                         \
	X(QLESS_WHY_NO_NUMBER, QLESS_EBADARG, "%a is not a finite number: %v")                  \
	X(QLESS_WHY_NO_INTEGER, QLESS_EBADARG, "%a is not an integer: %v")                      \
	X(QLESS_WHY_NEGATIVE, QLESS_EBADARG, "%a must not be negative: %n")                     \
	X(QLESS_WHY_NOT_POSITIVE, QLESS_EBADARG, "%a must be greater than 0: %n")               \
	X(QLESS_WHY_NO_FIELD, QLESS_EBADARG, "%a is not a member of a recurring job")           \
	/* detail: what is wrong */                                                             \
	X(QLESS_WHY_SNAPSHOT, QLESS_EBADARG, "the snapshot is invalid: %d")                     \
	/* number: the limit */                                                                 \
	X(QLESS_WHY_NAME_BYTES, QLESS_ELIMIT, "%a is longer than max-name-length (%n bytes)")   \
	X(QLESS_WHY_DATA_BYTES, QLESS_ELIMIT, "%a is longer than max-data-size (%n bytes)")     \
	X(QLESS_WHY_TAGS, QLESS_ELIMIT, "the job would have more tags than max-tags (%n)")      \
	X(QLESS_WHY_DEPENDENCIES, QLESS_ELIMIT,                                                 \
	  "the job would have more dependencies than max-dependencies (%n)")                    \
	X(QLESS_WHY_JOBS, QLESS_ELIMIT, "more jobs in one call than max-jobs-per-call (%n)")    \
	X(QLESS_WHY_HISTORY, QLESS_ELIMIT, "the history of job %j is full (%n bytes)")

enum qless_reason {
#define QLESS_REASON_ENUM(name, code, text) name,
	QLESS_REASONS(QLESS_REASON_ENUM)
#undef QLESS_REASON_ENUM
};

/* The calls that can fail: name, and the word that qless_error_text() begins with. */
#define QLESS_OPERATIONS(X)                      \
	/* any call, when `now` is not finite */ \
	X(QLESS_OP_ANY, "")                      \
	X(QLESS_OP_LOAD, "load")                 \
	X(QLESS_OP_PUT, "put")                   \
	X(QLESS_OP_REQUEUE, "requeue")           \
	X(QLESS_OP_POP, "pop")                   \
	X(QLESS_OP_PEEK, "peek")                 \
	X(QLESS_OP_ADVANCE, "advance")           \
	X(QLESS_OP_HEARTBEAT, "heartbeat")       \
	X(QLESS_OP_COMPLETE, "complete")         \
	X(QLESS_OP_FAIL, "fail")                 \
	X(QLESS_OP_RETRY, "retry")               \
	X(QLESS_OP_TIMEOUT, "timeout")           \
	X(QLESS_OP_CANCEL, "cancel")             \
	X(QLESS_OP_DEPENDS, "depends")           \
	X(QLESS_OP_PRIORITY, "priority")         \
	X(QLESS_OP_LOG, "log")                   \
	X(QLESS_OP_UNFAIL, "unfail")             \
	X(QLESS_OP_PAUSE, "pause")               \
	X(QLESS_OP_TAG, "tag")                   \
	X(QLESS_OP_UNTAG, "untag")               \
	X(QLESS_OP_TRACK, "track")               \
	X(QLESS_OP_UNTRACK, "untrack")           \
	X(QLESS_OP_RECUR, "recur")               \
	X(QLESS_OP_RECUR_UPDATE, "recur_update") \
	X(QLESS_OP_RECUR_TAG, "recur_tag")       \
	X(QLESS_OP_RECUR_UNTAG, "recur_untag")   \
	X(QLESS_OP_CONFIG_SET, "config_set")     \
	X(QLESS_OP_CONFIG_UNSET, "config_unset")

enum qless_operation {
#define QLESS_OPERATION_ENUM(name, word) name,
	QLESS_OPERATIONS(QLESS_OPERATION_ENUM)
#undef QLESS_OPERATION_ENUM
};

enum qless_state {
	QLESS_WAITING,
	QLESS_RUNNING,
	QLESS_STALLED, /* timed out by hand; waits before everything else */
	QLESS_SCHEDULED,
	QLESS_DEPENDS,
	QLESS_FAILED,
	QLESS_COMPLETE,
};

/* What no engine goes beyond (QLESS_ELIMIT), and what struct qless_limits starts with. */
#define QLESS_MAX_NAME_BYTES   ((size_t)64 * 1024)
#define QLESS_MAX_TEXT_BYTES   ((size_t)512 * 1024 * 1024)
#define QLESS_MAX_TAGS	       ((size_t)1024 * 1024)
#define QLESS_MAX_DEPENDENCIES ((size_t)1024 * 1024)
#define QLESS_MAX_JOBS	       ((size_t)1000 * 1000 * 1000)

struct qless;
struct qless_job;   /* read with qless_job_read() and its companions */
struct qless_recur; /* read with qless_recur_read() */

struct qless_hooks {
	/* An event on a channel (`ql:log`, `ql:w:<worker>`, `ql:completed` ...). Called while the
	 * engine is at work: it must not call the engine, and the slices end with the call. */
	void (*publish)(void *arg, struct qless_str channel, struct qless_str payload);
	/* Whether anybody listens at all. While nobody does, events are not even put together.
	 * NULL: somebody always does. */
	bool (*listens)(void *arg);
	void *arg;
	/* Seeds the hash tables, against clients that choose colliding names. It has no influence
	 * on anything that can be seen. */
	uint64_t hash_seed;
};

/* ---- the engine ---- */

/* `hooks` is copied; NULL means no events and seed 0. */
struct qless *qless_new(const struct qless_hooks *hooks);
void qless_free(struct qless *q);
/* Free a part of the engine, up to so many things, of which a job is one, and so is each of its
 * dependencies, a queue, a lock, a name: for those who cannot wait until all of it is freed. True
 * if there is more. After the first time nothing else may be done with the engine; once it was
 * false the engine is gone. */
bool qless_free_some(struct qless *q, size_t things);

/* What was wrong with a call, for programs that have words of their own for it. Slices longer than
 * QLESS_MAX_NAME_BYTES are cut. */
struct qless_error {
	int code; /* what the call returned; 0 before the first failure */
	enum qless_reason reason;
	enum qless_operation operation;
	struct qless_str jid;	 /* the job, if the error is about one */
	struct qless_str detail; /* QLESS_REASONS says what */
	const char *argument;	 /* the argument or member that is wrong; NULL if none is */
	double number;
};

/* The error of the last call that failed. Good until the next one fails. */
const struct qless_error *qless_last_error(const struct qless *q);
/* The same as a sentence in English, with no full stop. Good until the next call of this. */
struct qless_str qless_error_text(struct qless *q);
/* The code word of an error, such as "NOJOB". */
const char *qless_error_word(int code);
/* The text of a state, such as "waiting". */
struct qless_str qless_state_text(enum qless_state state);

/* How much a call may store or ask for. Going beyond fails with QLESS_ELIMIT, and the sentence says
 * which limit it was, by the name in brackets, and its value. */
struct qless_limits {
	/* Bytes of a jid, queue, worker, class, tag, group or option [max-name-length]. */
	size_t max_name_bytes;
	/* Bytes of data, a message, a log item or the value of an option [max-data-size]. */
	size_t max_data_bytes;
	size_t max_tags;	 /* of one job [max-tags] */
	size_t max_dependencies; /* of one job [max-dependencies] */
	size_t max_jobs;	 /* in one pop, peek, unfail or put_many [max-jobs-per-call] */
};

/* Copied. Values above the largest there are, and 0, mean these; NULL means them all. What is
 * stored already stays, whatever its size, and can be worked with. */
void qless_set_limits(struct qless *q, const struct qless_limits *limits);
/* Those in force. */
const struct qless_limits *qless_get_limits(const struct qless *q);

/* How many changes there have been so far. A call that leaves it as it was has changed nothing and
 * need not be recorded anywhere. */
uint64_t qless_changes(const struct qless *q);
/* Whether the last call gave a job the very data that it had, which then need not be recorded. */
bool qless_kept_data(const struct qless *q);
/* The largest `now` of all calls that changed something; -INFINITY before the first. */
double qless_latest(const struct qless *q);

/* ---- what comes due, and what wakes ---- */

/* When the next scheduled job, recurring job or lock falls due in a queue that is not paused;
 * INFINITY if none does. What is overdue counts with the time it was due, until qless_take_due()
 * has reported its queue. Takes O(1), amortized. */
double qless_next_due(struct qless *q);
/* When the next one falls due in one queue, reported or not. */
double qless_queue_next_due(const struct qless *q, struct qless_str queue);
/* Report a queue in which something has come due by `now`, once for each time; false if there is
 * none. The queue counts as woken: expired locks wait for a pop, and what else came due is moved by
 * qless_advance(). Changes nothing of the state. */
bool qless_take_due(struct qless *q, double now, struct qless_str *ret_queue);

/* What qless_advance() moves. */
enum qless_advance_kind {
	/* What a pop of `max` jobs from `queue` would move: its recurring jobs make jobs, and its
	 * scheduled jobs that are due go to the waiting ones. Jobs whose lock expired count towards
	 * `max`, because a pop would hand them out first. */
	QLESS_ADVANCE_POP,
	/* Up to `max` scheduled jobs of `queue` that are due. */
	QLESS_ADVANCE_QUEUE,
	/* Up to `max` of them of all known queues, in the order of qless_queues(). */
	QLESS_ADVANCE_KNOWN,
	/* Up to `max` workers not seen for as long as the option max-worker-age says: they are
	 * forgotten. */
	QLESS_ADVANCE_WORKERS,
};

struct qless_advance {
	enum qless_advance_kind kind;
	struct qless_str queue; /* QLESS_ADVANCE_POP, QLESS_ADVANCE_QUEUE */
	int64_t max;
};

/* Enough to keep up, and not so many that others notice: a good `max`. */
#define QLESS_ADVANCE_MAX 1000

/* Move what has come due by `now`. Calls that read leave it where it is: a caller that wants them
 * to see it moved calls this first. *ret_moved counts jobs moved and made, or workers. */
QLESS_CHECK int qless_advance(struct qless *q, double now, const struct qless_advance *advance,
			      uint64_t *ret_moved);

/* Take the name of a queue that may have something new to hand out since it was taken the last
 * time; false if there is none. A queue wakes when a job becomes ready in it (however it came),
 * when it is unpaused, when its limit on running jobs changes or a run ends under it, and when
 * qless_take_due() reports it. By the time it is taken, others may have popped what woke it. */
bool qless_take_woken(struct qless *q, struct qless_str *ret_queue);

/* ---- results ---- */

struct qless_jobs {
	const struct qless_job *const *items;
	size_t count;
};

struct qless_list {
	const struct qless_str *items;
	size_t count;
	uint64_t total; /* how many there are in all, where the call pages */
};

/* ---- reading jobs ---- */

struct qless_failure {
	struct qless_str group;
	struct qless_str message;
	struct qless_str worker;
	double when;
};

struct qless_job_info {
	struct qless_str jid;
	struct qless_str klass;
	struct qless_str queue;	 /* empty once complete */
	struct qless_str worker; /* empty if none */
	struct qless_str data;
	struct qless_str spawned_from; /* ptr is NULL unless a recurring job made it */
	enum qless_state state;
	double priority;
	double retries;
	double remaining;
	double expires; /* of the lock; 0 while idle */
	double time;	/* last put, pop or complete */
	bool tracked;
	bool has_failure;
	struct qless_failure failure; /* the last one, also after the job went on */
	bool has_lists;		      /* tags, dependencies or dependents: to be stepped through */
};

enum qless_event_kind {
	QLESS_EVENT_PUT,    /* queue */
	QLESS_EVENT_POPPED, /* worker */
	QLESS_EVENT_DONE,
	QLESS_EVENT_TIMED_OUT,
	QLESS_EVENT_FAILED,    /* group, worker */
	QLESS_EVENT_EXHAUSTED, /* group */
	QLESS_EVENT_LOG,       /* what, item */
};

/* One entry of a job's history. */
struct qless_event {
	enum qless_event_kind kind;
	double when; /* whole seconds */
	struct qless_str what;
	struct qless_str queue;
	struct qless_str worker;
	struct qless_str group;
	struct qless_str item; /* a JSON object; ptr is NULL if none was given */
};

/* A call that follows soon is going to look for that jid: have memory get ready what it looks at.
 * Worth it where there is something else to do meanwhile, like checking the other arguments. */
void qless_prefetch(const struct qless *q, struct qless_str jid);

/* NULL if there is no such job. Good until the next call that may change something. */
const struct qless_job *qless_get(const struct qless *q, struct qless_str jid);
void qless_job_read(const struct qless_job *job, struct qless_job_info *ret_info);

/* Step through a job's lists. `*cursor` starts as 0 (or NULL); false means the end. */
bool qless_job_next_tag(const struct qless_job *job, size_t *cursor, struct qless_str *ret_tag);
bool qless_job_next_event(const struct qless_job *job, size_t *cursor,
			  struct qless_event *ret_event);
bool qless_job_next_dependency(const struct qless_job *job, const void **cursor,
			       struct qless_str *ret_jid);
bool qless_job_next_dependent(const struct qless_job *job, const void **cursor,
			      struct qless_str *ret_jid);

/* ---- the life of a job ---- */

struct qless_put {
	struct qless_str worker; /* who puts; lock_lost is not sent to it */
	struct qless_str queue;
	struct qless_str jid;
	struct qless_str klass;
	struct qless_str data;
	double delay; /* <= 0: at once */
	/* What is not given is inherited from an existing job of that jid. */
	bool has_priority;
	double priority;
	bool has_retries;
	double retries;
	bool has_tags;
	const struct qless_str *tags;
	size_t tag_count;
	const struct qless_str *depends; /* none leaves existing dependencies alone */
	size_t depend_count;
};

/* Create the job, or move an existing one wherever it is. */
QLESS_CHECK int qless_put(struct qless *q, double now, const struct qless_put *put);
/* Several of them, or none: as if one after the other, a microsecond apart, so that they are popped
 * in their order. *ret_until is the time of the last; later calls had better be later than that. */
QLESS_CHECK int qless_put_many(struct qless *q, double now, const struct qless_put *puts,
			       size_t count, double *ret_until);
/* The same as qless_put() for a job that must exist (QLESS_ENOJOB). */
QLESS_CHECK int qless_requeue(struct qless *q, double now, const struct qless_put *put);

/* Lock up to `count` jobs for `worker`: jobs whose lock expired for good first, then those with the
 * highest priority, oldest first. Fails with QLESS_ERETRIES if a job with a fractional number of
 * retries would lose its lock. */
QLESS_CHECK int qless_pop(struct qless *q, double now, struct qless_str queue,
			  struct qless_str worker, int64_t count, struct qless_jobs *ret_jobs);
/* The jobs that a pop would consider next. Expired locks are left alone, and so is what has come
 * due: see qless_advance(). */
QLESS_CHECK int qless_peek(struct qless *q, double now, struct qless_str queue, int64_t count,
			   struct qless_jobs *ret_jobs);

/* Extend the lock; `data` replaces the job's unless it is NULL. QLESS_ENOJOB, QLESS_ENOTRUNNING,
 * QLESS_ENOTOWNER. */
QLESS_CHECK int qless_heartbeat(struct qless *q, double now, struct qless_str jid,
				struct qless_str worker, const struct qless_str *data,
				double *ret_expires);

struct qless_complete {
	struct qless_str jid;
	struct qless_str worker;
	struct qless_str queue;
	struct qless_str data;
	const struct qless_str *next; /* NULL: the job is complete for good */
	double delay;		      /* in `next` */
	const struct qless_str *depends;
	size_t depend_count;
};

/* *ret_state: complete, waiting, scheduled or depends. QLESS_ENOJOB, QLESS_ENOTRUNNING,
 * QLESS_ENOTOWNER, QLESS_EWRONGQUEUE. Old completed jobs are purged on the way. */
QLESS_CHECK int qless_complete(struct qless *q, double now, const struct qless_complete *complete,
			       enum qless_state *ret_state);

/* QLESS_ENOJOB, QLESS_ENOTRUNNING, QLESS_ENOTOWNER. */
QLESS_CHECK int qless_fail(struct qless *q, double now, struct qless_str jid,
			   struct qless_str worker, struct qless_str group,
			   struct qless_str message, const struct qless_str *data);

struct qless_retry {
	struct qless_str jid;
	struct qless_str queue; /* a queue other than the job's moves the job */
	struct qless_str worker;
	double delay;
	const struct qless_str *group; /* NULL: not given */
	const struct qless_str *message;
};

/* Give the job back. *ret_remaining is what is left of its retries; below 0 the job has failed.
 * QLESS_ENOJOB, QLESS_ENOTRUNNING, QLESS_ENOTOWNER, QLESS_ERETRIES. */
QLESS_CHECK int qless_retry(struct qless *q, double now, const struct qless_retry *retry,
			    double *ret_remaining);

/* Take the jobs away from their workers. QLESS_ENOJOB, QLESS_ENOTRUNNING. */
QLESS_CHECK int qless_timeout(struct qless *q, double now, const struct qless_str *jids,
			      size_t count);
/* Delete the jobs. Those that others depend on need these others in the list too
 * (QLESS_EDEPENDENTS). Unknown and completed ones are passed over. */
QLESS_CHECK int qless_cancel(struct qless *q, double now, const struct qless_str *jids,
			     size_t count);

/* Add and remove dependencies of a job in the depends state (QLESS_ENOTDEPENDS otherwise). When
 * none is left the job goes on. */
QLESS_CHECK int qless_depends_on(struct qless *q, double now, struct qless_str jid,
				 const struct qless_str *jids, size_t count);
QLESS_CHECK int qless_depends_off(struct qless *q, double now, struct qless_str jid,
				  const struct qless_str *jids, size_t count);
QLESS_CHECK int qless_depends_off_all(struct qless *q, double now, struct qless_str jid);

/* QLESS_ENOJOB. A waiting job becomes the oldest of its new priority. */
QLESS_CHECK int qless_priority(struct qless *q, double now, struct qless_str jid, double priority);
/* Append to the history. `item` (a JSON object) may be NULL. QLESS_ENOJOB. */
QLESS_CHECK int qless_log(struct qless *q, double now, struct qless_str jid,
			  struct qless_str message, const struct qless_str *item);

/* ---- listings ---- */

enum qless_listing {
	QLESS_LIST_COMPLETE, /* newest first; the queue is ignored */
	QLESS_LIST_RUNNING,
	QLESS_LIST_STALLED,
	QLESS_LIST_SCHEDULED, /* all of them, also those that are due */
	QLESS_LIST_NOT_DUE,   /* those of them that are not due */
	QLESS_LIST_DEPENDS,
	QLESS_LIST_RECURRING,
};

/* The running, stalled and recurring listings take `offset` and `count` as a limit does: a negative
 * offset gives nothing, a negative count everything. The others, and all listings below, take the
 * index range offset .. offset + count - 1, where negative indices count from the end. */
QLESS_CHECK int qless_jobs(struct qless *q, double now, enum qless_listing listing,
			   struct qless_str queue, int64_t offset, int64_t count,
			   struct qless_list *ret_jids);

/* ---- failures ---- */

/* The groups with failed jobs by name, and how many jobs each has. *ret_counts is as long as the
 * list. */
void qless_failures(struct qless *q, struct qless_list *ret_groups, const uint64_t **ret_counts);
/* The jobs of a group, newest first. */
void qless_failed(struct qless *q, struct qless_str group, int64_t offset, int64_t count,
		  struct qless_list *ret_jids);
/* Put the `count` oldest failed jobs of a group into `queue`. */
QLESS_CHECK int qless_unfail(struct qless *q, double now, struct qless_str queue,
			     struct qless_str group, int64_t count, uint64_t *ret_count);

/* ---- queues ---- */

struct qless_queue_counts {
	struct qless_str name;
	uint64_t waiting;
	uint64_t running;
	uint64_t stalled;
	uint64_t scheduled;
	uint64_t due; /* of the scheduled jobs, those that are due */
	uint64_t depends;
	uint64_t recurring;
	bool paused;
};

/* The known queues in the order they were first seen. */
void qless_queues(struct qless *q, struct qless_list *ret_names);
/* Counts of a queue, or of all known queues in the order they were first seen. */
QLESS_CHECK int qless_queue_counts(struct qless *q, double now, struct qless_str queue,
				   struct qless_queue_counts *ret_counts);
QLESS_CHECK int qless_all_queue_counts(struct qless *q, double now,
				       const struct qless_queue_counts **ret_items,
				       size_t *ret_count);
/* Jobs waiting, running and scheduled. */
uint64_t qless_queue_length(const struct qless *q, struct qless_str queue);
QLESS_CHECK int qless_pause(struct qless *q, double now, const struct qless_str *queues,
			    size_t count);
QLESS_CHECK int qless_unpause(struct qless *q, double now, const struct qless_str *queues,
			      size_t count);
/* Drop queues from the list of known ones; their jobs stay. */
QLESS_CHECK int qless_queue_forget(struct qless *q, double now, const struct qless_str *queues,
				   size_t count);

/* ---- statistics ---- */

/* s0..s59, m1..m59, h1..h23, d1..d6 */
#define QLESS_HISTOGRAM_BUCKETS (60 + 59 + 23 + 6)

struct qless_series {
	double count;
	double mean;
	double deviation;
	uint64_t histogram[QLESS_HISTOGRAM_BUCKETS];
};

struct qless_stats {
	struct qless_series wait;
	struct qless_series run;
	int64_t retries;
	int64_t failures;
	int64_t failed;
};

/* Statistics of a queue for the day (UTC) in which `date` lies. */
void qless_stats(const struct qless *q, struct qless_str queue, double date,
		 struct qless_stats *ret_stats);
/* Drop statistics, of queues and of workers, that are older than the options stats-history and
 * histogram-history say, counted in days back from qless_latest(). */
void qless_maintain(struct qless *q);

/* ---- workers ---- */

struct qless_worker_counts {
	struct qless_str name;
	uint64_t jobs;
	uint64_t stalled;
};

struct qless_workers {
	const struct qless_worker_counts *items;
	size_t count;
};

/* The known workers, last seen first. */
QLESS_CHECK int qless_workers(struct qless *q, double now, struct qless_workers *ret_workers);
/* The jobs of one worker: locks still good, and expired. */
QLESS_CHECK int qless_worker_jobs(struct qless *q, double now, struct qless_str worker,
				  struct qless_list *ret_jobs, struct qless_list *ret_stalled);
QLESS_CHECK int qless_worker_deregister(struct qless *q, double now,
					const struct qless_str *workers, size_t count);

/* What a worker did on a day (UTC). */
struct qless_worker_day {
	double day; /* when it began */
	uint64_t popped;
	uint64_t completed;
	uint64_t failed; /* by the worker's own word, or when it gave the last retry back */
	uint64_t lost;	 /* locks taken away: expired, timed out by hand, or put elsewhere */
};

/* The days on which the worker did something, newest first, whether it is still known or not. They
 * are kept as long as statistics are. `*cursor` starts as 0; false means the end. */
bool qless_worker_next_day(const struct qless *q, struct qless_str worker, size_t *cursor,
			   struct qless_worker_day *ret_day);

/* ---- tags ---- */

/* *ret_tags are all tags of the job afterwards. QLESS_ENOJOB. */
QLESS_CHECK int qless_tag(struct qless *q, double now, struct qless_str jid,
			  const struct qless_str *tags, size_t count,
			  const struct qless_job **ret_job);
QLESS_CHECK int qless_untag(struct qless *q, double now, struct qless_str jid,
			    const struct qless_str *tags, size_t count,
			    const struct qless_job **ret_job);
/* The jobs with a tag, first tagged first. */
void qless_tagged(struct qless *q, struct qless_str tag, int64_t offset, int64_t count,
		  struct qless_list *ret_jids);
/* The tags that at least two jobs have, most used first. Pages as a limit does. */
void qless_top_tags(struct qless *q, int64_t offset, int64_t count, struct qless_list *ret_tags);

/* ---- tracking ---- */

/* The tracked jids, first tracked first, whether the jobs exist or not. */
void qless_tracked(struct qless *q, struct qless_list *ret_jids);
/* *ret_new: it was not tracked before. QLESS_ENOJOB. */
QLESS_CHECK int qless_track(struct qless *q, double now, struct qless_str jid, bool *ret_new);
/* *ret_was: it was tracked. The job need not exist any more. */
QLESS_CHECK int qless_untrack(struct qless *q, double now, struct qless_str jid, bool *ret_was);

/* ---- recurring jobs ---- */

struct qless_recur_put {
	struct qless_str queue;
	struct qless_str jid;
	struct qless_str klass;
	struct qless_str data;
	double interval; /* > 0 */
	double offset;	 /* first run at now + offset */
	double priority;
	double retries;
	double backlog; /* how many missed runs are made up for; 0: all */
	const struct qless_str *tags;
	size_t tag_count;
};

struct qless_recur_info {
	struct qless_str jid;
	struct qless_str klass;
	struct qless_str data;
	struct qless_str queue;
	double priority;
	double retries;
	double interval;
	double backlog;
	uint64_t count; /* jobs made so far */
};

/* One change of a recurring job. */
struct qless_recur_change {
	enum {
		QLESS_RECUR_PRIORITY,
		QLESS_RECUR_INTERVAL,
		QLESS_RECUR_RETRIES,
		QLESS_RECUR_BACKLOG,
		QLESS_RECUR_DATA,
		QLESS_RECUR_KLASS,
		QLESS_RECUR_QUEUE,
	} field;
	double number;	       /* the first four */
	struct qless_str text; /* the others */
};

QLESS_CHECK int qless_recur(struct qless *q, double now, const struct qless_recur_put *put);
/* Jobs it has made stay. An unknown jid is no error. */
QLESS_CHECK int qless_unrecur(struct qless *q, double now, struct qless_str jid);
const struct qless_recur *qless_recur_get(const struct qless *q, struct qless_str jid);
void qless_recur_read(const struct qless_recur *recur, struct qless_recur_info *ret_info);
bool qless_recur_next_tag(const struct qless_recur *recur, size_t *cursor,
			  struct qless_str *ret_tag);
/* All or none of the changes. QLESS_ENOJOB, QLESS_EBADARG. */
QLESS_CHECK int qless_recur_update(struct qless *q, double now, struct qless_str jid,
				   const struct qless_recur_change *changes, size_t count);
QLESS_CHECK int qless_recur_tag(struct qless *q, double now, struct qless_str jid,
				const struct qless_str *tags, size_t count);
QLESS_CHECK int qless_recur_untag(struct qless *q, double now, struct qless_str jid,
				  const struct qless_str *tags, size_t count);

/* ---- options ---- */

struct qless_option {
	struct qless_str name;
	struct qless_str value; /* as text */
	bool is_set;		/* otherwise a default */
};

/* *ret_option: the value set, else the built-in default. False if there is neither. */
bool qless_config_get(const struct qless *q, struct qless_str name,
		      struct qless_option *ret_option);
/* The options that every program shows, then the others that are set. `*cursor` starts as 0. */
bool qless_config_next(const struct qless *q, size_t *cursor, struct qless_option *ret_option);
/* Options the engine knows must be numbers (QLESS_EBADARG). */
QLESS_CHECK int qless_config_set(struct qless *q, double now, struct qless_str name,
				 struct qless_str value);
QLESS_CHECK int qless_config_unset(struct qless *q, double now, struct qless_str name);

/* ---- for tests and operators ---- */

/* Verify every invariant of the state; each finding is reported as a sentence. Returns how many
 * there were. Takes time proportional to the whole state. */
size_t qless_check(const struct qless *q, void (*report)(void *arg, struct qless_str finding),
		   void *arg);
/* Repair what has one right answer, whatever it was that broke it: list memberships follow the
 * state of the job, dependencies what the waiting job says, counters what is counted. Returns how
 * many repairs were made; qless_check() then tells what is left. */
size_t qless_resolve(struct qless *q, double now);
/* Write the whole state as text in an order that depends on nothing but the state: equal states
 * give equal bytes. */
void qless_dump(const struct qless *q, void (*write)(void *arg, struct qless_str piece), void *arg);

#ifdef __cplusplus
}
#endif

#endif
