/*
 * The qless job engine as a library: queues, jobs, exclusive locks with heartbeats, retries,
 * priorities, schedules, recurring jobs, dependencies, tags, tracking, failure groups, statistics.
 *
 * The engine is pure: it does no I/O, has no clock, no randomness and no threads. Calls that depend
 * on time take `now`, in seconds. The same calls in the same order always leave the same state,
 * return the same results and publish the same events.
 *
 * A call returns 0 or one of the negative codes below. A call that fails changes nothing, publishes
 * nothing and leaves its outputs alone. qless_last_error() then describes the error as data,
 * qless_error_text() in English. The process ends if memory runs out.
 *
 * Strings are slices of bytes: any byte may occur, and no NUL follows. The engine copies the
 * arguments that it keeps. Unless a comment says otherwise, results borrow from the engine and are
 * valid until its next call, so they must not be arguments of a call that changes something. JSON
 * (job data, log items) is text that the engine stores and returns byte for byte; the caller makes
 * sure that it is well formed. Data of a job may also be other bytes, see qless_terms.is_raw.
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

/* The error codes: name, value, the code word that clients read. The list is closed: a new code
 * changes this contract. */
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
	X(QLESS_ELIMIT, -10, "LIMIT")          \
	X(QLESS_ENOTFINISHED, -11, "NOTFINISHED")

enum qless_code {
#define QLESS_ERROR_ENUM(name, value, word) name = (value),
	QLESS_ERRORS(QLESS_ERROR_ENUM)
#undef QLESS_ERROR_ENUM
};

/* The reasons why a call fails: name, code, and the sentence of qless_error_text(). In the sentence
 * %j is the jid of the error, %d its detail, %a its argument, %n its number, and %v its detail or,
 * without one, its number. Several reasons may share a code. */
#define QLESS_REASONS(X)                                                                        \
	X(QLESS_WHY_NO_JOB, QLESS_ENOJOB, "job %j does not exist")                              \
	X(QLESS_WHY_NO_RECUR, QLESS_ENOJOB, "recurring job %j does not exist")                  \
	/* detail: the state of the job */                                                      \
	X(QLESS_WHY_STATE, QLESS_ENOTRUNNING, "job %j is not running, its state is %d")         \
	/* number: its runtime */                                                               \
	X(QLESS_WHY_OVERTIME, QLESS_ENOTRUNNING,                                                \
	  "the run of job %j is over, it took longer than %n seconds")                          \
	/* number: the time to start it */                                                      \
	X(QLESS_WHY_NO_START, QLESS_ENOTRUNNING,                                                \
	  "the run of job %j is over, its worker did not start it within %n seconds")           \
	/* detail: the worker that holds the job */                                             \
	X(QLESS_WHY_WORKER, QLESS_ENOTOWNER, "job %j is held by another worker, %d")            \
	/* number: that of the last hand-out */                                                 \
	X(QLESS_WHY_LOCK, QLESS_ENOTOWNER, "job %j was handed out again, and its lock is %n")   \
	/* detail: the queue of the job */                                                      \
	X(QLESS_WHY_QUEUE, QLESS_EWRONGQUEUE, "job %j is in another queue, %d")                 \
	X(QLESS_WHY_NO_WAITING_JOB, QLESS_ENOTDEPENDS, "job %j does not exist")                 \
	/* detail: the state of the job */                                                      \
	X(QLESS_WHY_NOT_DEPENDS, QLESS_ENOTDEPENDS,                                             \
	  "job %j does not wait for other jobs, its state is %d")                               \
	/* detail: a job that depends on it */                                                  \
	X(QLESS_WHY_DEPENDENT, QLESS_EDEPENDENTS, "job %d depends on job %j and is not listed") \
	/* detail: the state of the job */                                                      \
	X(QLESS_WHY_NOT_FINISHED, QLESS_ENOTFINISHED,                                           \
	  "job %j is not complete or failed, its state is %d")                                  \
	X(QLESS_WHY_RETRIES, QLESS_ERETRIES, "job %j has retries left that are no integer")     \
	/* argument; detail: its text if it is one, otherwise number */                         \
	X(QLESS_WHY_NO_NUMBER, QLESS_EBADARG, "%a is not a finite number: %v")                  \
	X(QLESS_WHY_NO_INTEGER, QLESS_EBADARG, "%a is not an integer: %v")                      \
	X(QLESS_WHY_NEGATIVE, QLESS_EBADARG, "%a must not be negative: %n")                     \
	X(QLESS_WHY_NOT_POSITIVE, QLESS_EBADARG, "%a must be greater than 0: %n")               \
	X(QLESS_WHY_NO_FIELD, QLESS_EBADARG, "%a is not a member of a recurring job")           \
	/* argument, number; detail: what it must be */                                         \
	X(QLESS_WHY_RANGE, QLESS_EBADARG, "%a must be %d: %n")                                  \
	/* jid: the option; number; detail: what it must be */                                  \
	X(QLESS_WHY_OPTION, QLESS_EBADARG, "option %j must be %d: %n")                          \
	/* jid; detail: the circle, from the job back to itself */                              \
	X(QLESS_WHY_CIRCLE, QLESS_EBADARG, "job %j would wait for itself: %d")                  \
	/* argument; detail: the name in quotes, with an escape for each invalid byte */        \
	X(QLESS_WHY_NOT_UTF8, QLESS_EBADARG, "%a is not UTF-8: %d")                             \
	/* detail: what is wrong */                                                             \
	X(QLESS_WHY_SCHEDULE, QLESS_EBADARG, "the schedule is invalid: %d")                     \
	/* detail: what is wrong */                                                             \
	X(QLESS_WHY_SNAPSHOT, QLESS_EBADARG, "the snapshot is invalid: %d")                     \
	/* argument; detail: what it must not be, with the name */                              \
	X(QLESS_WHY_LIMIT_NAME, QLESS_EBADARG, "%a must not be %d")                             \
	/* number: the limit */                                                                 \
	X(QLESS_WHY_NAME_BYTES, QLESS_ELIMIT, "%a is longer than max-name-length (%n bytes)")   \
	X(QLESS_WHY_DATA_BYTES, QLESS_ELIMIT, "%a is longer than max-data-size (%n bytes)")     \
	X(QLESS_WHY_RESULT_BYTES, QLESS_ELIMIT, "%a is longer than max-result-size (%n bytes)") \
	X(QLESS_WHY_NOTE_BYTES, QLESS_ELIMIT, "%a is longer than max-note-size (%n bytes)")     \
	X(QLESS_WHY_META_FIELDS, QLESS_ELIMIT,                                                  \
	  "the job would have more fields than max-meta-fields (%n)")                           \
	X(QLESS_WHY_META_BYTES, QLESS_ELIMIT,                                                   \
	  "the fields of the job would be larger than max-meta-size (%n bytes)")                \
	X(QLESS_WHY_TAGS, QLESS_ELIMIT, "the job would have more tags than max-tags (%n)")      \
	X(QLESS_WHY_LIMITS, QLESS_ELIMIT,                                                       \
	  "the job would have more limits than max-limits-per-job (%n)")                        \
	X(QLESS_WHY_DEPENDENCIES, QLESS_ELIMIT,                                                 \
	  "the job would have more dependencies than max-dependencies (%n)")                    \
	X(QLESS_WHY_DEPENDENTS, QLESS_ELIMIT,                                                   \
	  "more jobs would depend on job %j than max-dependents (%n)")                          \
	X(QLESS_WHY_CALL_DEPENDENCIES, QLESS_ELIMIT,                                            \
	  "the jobs of one call have more dependencies than max-dependencies (%n)")             \
	X(QLESS_WHY_CALL_TAGS, QLESS_ELIMIT,                                                    \
	  "the jobs of one call have more tags than max-jobs-per-call (%n)")                    \
	X(QLESS_WHY_JOBS, QLESS_ELIMIT, "more jobs in one call than max-jobs-per-call (%n)")    \
	X(QLESS_WHY_HISTORY, QLESS_ELIMIT, "the history of job %j is full (%n bytes)")          \
	X(QLESS_WHY_CIRCLE_STEPS, QLESS_ELIMIT,                                                 \
	  "the search for a circle of dependencies needs more than max-dependency-steps (%n)")  \
	X(QLESS_WHY_JOB_BYTES, QLESS_ELIMIT,                                                    \
	  "history and tags of the job would be larger than max-job-size (%n bytes)")

enum qless_reason {
#define QLESS_REASON_ENUM(name, code, text) name,
	QLESS_REASONS(QLESS_REASON_ENUM)
#undef QLESS_REASON_ENUM
};

/* The calls that can fail: name, and the word that qless_error_text() begins with. */
#define QLESS_OPERATIONS(X)                          \
	/* any call, when `now` is not finite */     \
	X(QLESS_OP_ANY, "")                          \
	X(QLESS_OP_LOAD, "load")                     \
	X(QLESS_OP_PUT, "put")                       \
	X(QLESS_OP_REQUEUE, "requeue")               \
	X(QLESS_OP_POP, "pop")                       \
	X(QLESS_OP_PEEK, "peek")                     \
	X(QLESS_OP_ADVANCE, "advance")               \
	X(QLESS_OP_HEARTBEAT, "heartbeat")           \
	X(QLESS_OP_COMPLETE, "complete")             \
	X(QLESS_OP_FAIL, "fail")                     \
	X(QLESS_OP_RETRY, "retry")                   \
	X(QLESS_OP_TIMEOUT, "timeout")               \
	X(QLESS_OP_CANCEL, "cancel")                 \
	X(QLESS_OP_DEPENDS, "depends")               \
	X(QLESS_OP_PRIORITY, "priority")             \
	X(QLESS_OP_LOG, "log")                       \
	X(QLESS_OP_UNFAIL, "unfail")                 \
	X(QLESS_OP_PAUSE, "pause")                   \
	X(QLESS_OP_TAG, "tag")                       \
	X(QLESS_OP_UNTAG, "untag")                   \
	X(QLESS_OP_TRACK, "track")                   \
	X(QLESS_OP_UNTRACK, "untrack")               \
	X(QLESS_OP_RECUR, "recur")                   \
	X(QLESS_OP_RECUR_UPDATE, "recur_update")     \
	X(QLESS_OP_RECUR_TAG, "recur_tag")           \
	X(QLESS_OP_RECUR_UNTAG, "recur_untag")       \
	X(QLESS_OP_TICK, "tick")                     \
	X(QLESS_OP_CONFIG_SET, "config_set")         \
	X(QLESS_OP_CONFIG_UNSET, "config_unset")     \
	X(QLESS_OP_WORKER_RENEW, "worker_renew")     \
	X(QLESS_OP_WORKER_RELEASE, "worker_release") \
	X(QLESS_OP_LIMIT_SET, "limit_set")           \
	X(QLESS_OP_LIMIT_DELETE, "limit_delete")     \
	X(QLESS_OP_LIMIT_HOLD, "limit_hold")         \
	X(QLESS_OP_LIMIT_SWEEP, "limit_sweep")       \
	X(QLESS_OP_JOB_START, "start")               \
	X(QLESS_OP_JOB_PROGRESS, "progress")         \
	X(QLESS_OP_JOB_META, "meta")                 \
	X(QLESS_OP_JOB_DELETE, "delete")             \
	X(QLESS_OP_JOB_ABORT, "abort")

enum qless_operation {
#define QLESS_OPERATION_ENUM(name, word) name,
	QLESS_OPERATIONS(QLESS_OPERATION_ENUM)
#undef QLESS_OPERATION_ENUM
};

enum qless_state {
	QLESS_WAITING,
	QLESS_RUNNING,
	QLESS_STALLED, /* timed out by a call; popped before all waiting jobs */
	QLESS_SCHEDULED,
	QLESS_DEPENDS,
	QLESS_FAILED,
	QLESS_COMPLETE,
};

/* The limits of every engine (QLESS_ELIMIT). struct qless_limits starts with these values. */
#define QLESS_MAX_NAME_BYTES	((size_t)64 * 1024)
#define QLESS_MAX_TEXT_BYTES	((size_t)512 * 1024 * 1024)
#define QLESS_MAX_TAGS		((size_t)1024 * 1024)
#define QLESS_MAX_DEPENDENCIES	((size_t)1024 * 1024)
#define QLESS_MAX_DEPENDENTS	((size_t)1000 * 1000 * 1000)
#define QLESS_MAX_STEPS		SIZE_MAX
#define QLESS_MAX_LIMITS	((size_t)64)
#define QLESS_MAX_CLASS_INDEXES ((size_t)1024 * 1024)
#define QLESS_MAX_META_FIELDS	((size_t)1024 * 1024)
#define QLESS_MAX_JOBS		((size_t)1000 * 1000 * 1000)
#define QLESS_MAX_JOB_BYTES	SIZE_MAX

struct qless;
struct qless_job;   /* read with qless_job_read() and its companions */
struct qless_recur; /* read with qless_recur_read() */

struct qless_hooks {
	/* Publishes an event on a channel (`ql:log`, `ql:w:<worker>`, `ql:completed` ...). It is
	 * called during a call of the engine, so it must not call the engine. The slices are valid
	 * until it returns. */
	void (*publish)(void *arg, struct qless_str channel, struct qless_str payload);
	/* Publishes an event of `ql:log` that is about a job, for those who only follow one queue.
	 * A job that moves from one queue to the next tells both. The rules of `publish` hold. NULL
	 * means that nobody follows a queue. */
	void (*publish_to_queue)(void *arg, struct qless_str queue, struct qless_str payload);
	/* Returns whether anybody listens. The engine builds no events while this is false. NULL
	 * means that somebody always listens. */
	bool (*listens)(void *arg);
	/* Tells of an event for a worker, `lock_lost` or `canceled`, whether anybody listens or
	 * not. `q` is the engine. NULL means that nobody is told. */
	void (*tell_worker)(void *arg, const struct qless *q, struct qless_str worker,
			    struct qless_str event, struct qless_str jid);
	/* Tells that a job has ended, while qless_watch_ends() asks for it. The job is complete or
	 * failed, or about to be deleted before it ended. `q` is the engine, which may be read.
	 * NULL means that nobody asks. */
	void (*tell_end)(void *arg, const struct qless *q, const struct qless_job *job,
			 bool is_deleted);
	void *arg;
	/* The seed of the hash tables, a defence against clients that choose colliding names. It
	 * has no visible effect. */
	uint64_t hash_seed;
};

/* ---- the engine ---- */

/* Copies `hooks`. NULL means no events and seed 0. */
struct qless *qless_new(const struct qless_hooks *hooks);
void qless_free(struct qless *q);
/* Free up to `things` parts of the engine: a job, a dependency, a queue, a lock or a name each
 * count as one. For callers that must not block until everything is freed. Returns true while parts
 * are left. After the first call no other call is allowed; once it returns false the engine is
 * gone. */
bool qless_free_some(struct qless *q, size_t things);

/* The data of an error, for programs that word errors themselves. Slices longer than
 * QLESS_MAX_NAME_BYTES are cut. */
struct qless_error {
	int code; /* what the call returned; 0 before the first failure */
	enum qless_reason reason;
	enum qless_operation operation;
	struct qless_str jid;	 /* the job, if the error is about one */
	struct qless_str detail; /* see QLESS_REASONS */
	const char *argument;	 /* the invalid argument or member; NULL if there is none */
	double number;
};

/* The error of the last call that failed, valid until the next one fails. */
const struct qless_error *qless_last_error(const struct qless *q);
/* That error as an English sentence without a full stop, valid until the next call of this
 * function. */
struct qless_str qless_error_text(struct qless *q);
/* The code word of an error, such as "NOJOB". */
const char *qless_error_word(int code);
/* The text of a state, such as "waiting". */
struct qless_str qless_state_text(enum qless_state state);

/* How much a call may store or ask for. A call that asks for more fails with QLESS_ELIMIT. Its
 * sentence names the limit, by the name in brackets, and its value. */
struct qless_limits {
	/* Names that are stored must be UTF-8, retries must be whole numbers, and options of the
	 * engine must be in a range that times can have (QLESS_EBADARG). */
	bool is_strict;
	/* Bytes of a jid, queue, worker, class, tag, group or option [max-name-length]. */
	size_t max_name_bytes;
	/* Bytes of data, a message, a log item or the value of an option [max-data-size]. */
	size_t max_data_bytes;
	size_t max_tags;	  /* of one job [max-tags] */
	size_t max_job_bytes;	  /* of tags and history of one job together [max-job-size] */
	size_t max_dependencies;  /* of one job, or of all jobs of a call [max-dependencies] */
	size_t max_jobs;	  /* in one call, and tags of all its jobs [max-jobs-per-call] */
	size_t max_dependents;	  /* jobs that depend on one job [max-dependents] */
	size_t max_limits;	  /* that one job names [max-limits-per-job] */
	size_t max_class_indexes; /* see qless_prepare_class() [max-class-indexes] */
	size_t max_result_bytes;  /* of a result, or of the text of an error [max-result-size] */
	size_t max_note_bytes;	  /* of the note of a progress, or of a node [max-note-size] */
	size_t max_meta_fields;	  /* of one job [max-meta-fields] */
	size_t max_meta_bytes;	  /* of names and values of the fields of one job [max-meta-size] */
	/* Dependencies that qless_check_circle() follows [max-dependency-steps]. */
	size_t max_dependency_steps;
};

/* Copies the limits. 0 and values above the largest possible mean the largest possible; NULL means
 * the largest of all. Stored objects stay, whatever their size, and remain usable. */
void qless_set_limits(struct qless *q, const struct qless_limits *limits);
/* The current limits. */
const struct qless_limits *qless_get_limits(const struct qless *q);

/* The number of changes so far. A call that leaves it unchanged changed nothing, so it need not be
 * recorded. */
uint64_t qless_changes(const struct qless *q);
/* Whether the last call gave a job the data that it already had. A record of the call can then omit
 * the data. */
bool qless_kept_data(const struct qless *q);
/* The largest `now` of all calls that changed something; -INFINITY before the first. */
double qless_latest(const struct qless *q);

/* Ask the hook `tell_end` to tell of each end of a job from now on, or no more. */
void qless_watch_ends(struct qless *q, bool on);

/* ---- what comes due, and what wakes ---- */

/* When the next scheduled job, recurring job or lock falls due in a queue that is not paused;
 * INFINITY if there is none. An overdue time is returned as it is, until qless_take_due() has
 * reported its queue. Takes amortized O(1). */
double qless_next_due(struct qless *q);
/* When the next of them falls due in one queue, reported or not. */
double qless_queue_next_due(const struct qless *q, struct qless_str queue);
/* Report a queue in which something has come due by `now`, once for each due time. Returns false if
 * there is none. The queue counts as woken. Expired locks wait for a pop; qless_advance() moves
 * scheduled and recurring jobs. The state does not change. */
bool qless_take_due(struct qless *q, double now, struct qless_str *ret_queue);

/* The kinds of qless_advance(). */
enum qless_advance_kind {
	/* Everything that a pop of `max` jobs from `queue` would move: due recurring jobs make
	 * jobs, and due scheduled jobs become waiting. Jobs with an expired lock count towards
	 * `max`, because a pop would hand them out first. */
	QLESS_ADVANCE_POP,
	/* Up to `max` due scheduled jobs of `queue`. */
	QLESS_ADVANCE_QUEUE,
	/* Up to `max` due scheduled jobs of all known queues, in the order of qless_queues(). */
	QLESS_ADVANCE_KNOWN,
	/* Up to `max` workers that were not seen for the time in the option max-worker-age: they
	 * are forgotten. */
	QLESS_ADVANCE_WORKERS,
};

struct qless_advance {
	enum qless_advance_kind kind;
	struct qless_str queue; /* QLESS_ADVANCE_POP, QLESS_ADVANCE_QUEUE */
	int64_t max;
};

/* A `max` that is large enough to keep up and small enough not to delay other calls. */
#define QLESS_ADVANCE_MAX 1000

/* Move what has come due by `now`. Calls that read never do that, so a caller that wants to see it
 * moved calls this first. *ret_moved is the number of jobs moved and made, or of workers. */
QLESS_CHECK int qless_advance(struct qless *q, double now, const struct qless_advance *advance,
			      uint64_t *ret_moved);

/* Take a queue that may have something new to hand out since it was last taken. Returns false if
 * there is none. A queue wakes when a job becomes ready in it, when it is unpaused, when its limit
 * on running jobs changes, when a run ends under that limit, and when qless_take_due() reports it.
 * Another worker may already have popped the job that woke it. */
bool qless_take_woken(struct qless *q, struct qless_str *ret_queue);
/* Whether qless_take_woken() would return a queue. */
bool qless_has_woken(const struct qless *q);
/* Whether a pop from the queue would find something: a job to hand out, an expired lock, or
 * something that is due. If not, a pop hands out nothing. */
bool qless_is_poppable(const struct qless *q, double now, struct qless_str queue);

/* ---- results ---- */

struct qless_jobs {
	const struct qless_job *const *items;
	size_t count;
};

struct qless_list {
	const struct qless_str *items;
	size_t count;
	uint64_t total; /* the length of the whole list, where the call pages */
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
	uint64_t lock;	/* number of the last hand-out; 0 if there was none */
	double time;	/* last put, pop or complete */
	bool tracked;
	bool has_failure;
	struct qless_failure failure; /* the last one, even if the job has moved on */
	bool has_lists;		      /* it has tags, dependencies or dependents */
	bool has_limits;	      /* see qless_job_next_limit() */
	bool carries;		      /* see qless_job_terms() */
	bool is_raw;		      /* the data is bytes, and not JSON */
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

/* Prefetch the memory that a search for that jid reads. Useful if the search follows after other
 * work, such as checking the other arguments. The result spares a call with that jid a part of the
 * search if it is passed as its `jid_hint`. */
uint64_t qless_prefetch(const struct qless *q, struct qless_str jid);

/* Returns NULL if there is no such job. The result is valid until the next call that may change
 * something. */
const struct qless_job *qless_get(const struct qless *q, struct qless_str jid);
void qless_job_read(const struct qless_job *job, struct qless_job_info *ret_info);

/* Step through the lists of a job. `*cursor` starts as 0 (or NULL); false means the end. */
bool qless_job_next_tag(const struct qless_job *job, size_t *cursor, struct qless_str *ret_tag);
bool qless_job_next_limit(const struct qless_job *job, size_t *cursor, struct qless_str *ret_name);
bool qless_job_next_event(const struct qless_job *job, size_t *cursor,
			  struct qless_event *ret_event);
bool qless_job_next_dependency(const struct qless_job *job, const void **cursor,
			       struct qless_str *ret_jid);
bool qless_job_next_dependent(const struct qless_job *job, const void **cursor,
			      struct qless_str *ret_jid);

/* ---- the life of a job ---- */

/* How the delay before the next attempt of a job grows from attempt to attempt. */
enum qless_backoff_kind {
	QLESS_BACKOFF_NONE,	   /* there is no delay */
	QLESS_BACKOFF_FIXED,	   /* base */
	QLESS_BACKOFF_LINEAR,	   /* base, 2 * base, 3 * base ... */
	QLESS_BACKOFF_EXPONENTIAL, /* base, 2 * base, 4 * base ... */
};

struct qless_backoff {
	enum qless_backoff_kind kind;
	double base; /* seconds */
	double max;  /* no delay is longer */
};

/* The name of a kind, such as "fixed". */
struct qless_str qless_backoff_text(enum qless_backoff_kind kind);

/* How long a job holds its unique key. */
enum qless_until {
	QLESS_UNTIL_FINISHED, /* until it has failed, or is complete for good */
	QLESS_UNTIL_POPPED,   /* until it is handed out, and again while it waits for a retry */
	QLESS_UNTIL_SECONDS,  /* for some seconds from its put on, whatever happens to the job */
};

/* The name of a choice, such as "finished". */
struct qless_str qless_until_text(enum qless_until until);

/*
 * A key that one job holds at a time. A put that finds the key held by another job creates nothing.
 *
 * The key is free as soon as the job no longer holds it: at the end that it was put for, or when
 * the job is deleted. A job that comes back, by a retry or out of a group of failures, takes its
 * key again if that is free, and goes on without if not.
 */
struct qless_unique {
	struct qless_str key;
	enum qless_until until;
	/* A put that finds the key held gives the data, the due time and the priority, if it has
	 * one, to the holder, unless that has been handed out. */
	bool replace;
	bool is_held;	/* of the key of a job: it has it now. Ignored in puts */
	double seconds; /* QLESS_UNTIL_SECONDS; > 0 */
	double ends;	/* like is_held, for QLESS_UNTIL_SECONDS: when the job no longer holds it */
	uint64_t hint;	/* of the engine, where it looks the key up; 0 */
};

/* The terms that a put may have, besides what every job has. */
struct qless_terms {
	/* Unlike other terms, the key of a job does not stay when it is put without one. It stays
	 * when the job is requeued, or moves on to its next queue. */
	bool has_unique;
	bool has_backoff;
	bool has_runtime;
	bool has_retain;
	bool is_raw; /* the data of this put is bytes, and not JSON */
	/* The job does not keep the terms that these say it has: they are about one put. */
	bool is_new; /* put the job only if its jid is free; see qless_read_put_end() */
	bool has_at;
	bool has_number;
	struct qless_unique unique;
	struct qless_backoff backoff;
	/* Seconds that one run may take, at least 0.001; 0: as long as the option <queue>-runtime
	 * says. See qless_overtime(). */
	double runtime;
	/* Seconds that the job is retained once it is complete, see qless_job_retained(); INFINITY:
	 * until it is deleted; 0: it is deleted when it completes. */
	double retain;
	/* The job is due at this time, whatever the delay. Jobs of one call are due a microsecond
	 * apart, in their order. */
	double at;
	/* The jids of the call, or some of them, are numbers up to this one, so that
	 * qless_next_number() returns none of them again. */
	double number;
};

/* Read the terms of a job. Returns false if it has none. */
bool qless_job_terms(const struct qless_job *job, struct qless_terms *ret_terms);

/* The account of a job: what its workers reported about it. The ptr of a text that is missing is
 * NULL. */
struct qless_account {
	/* The current run, or the last one until the next begins. */
	bool is_started; /* see qless_job_start() */
	double started;
	int64_t pid; /* 0: not given */
	struct qless_str node;
	bool has_progress; /* see qless_job_progress() */
	double percent;
	struct qless_str note;
	struct qless_str result; /* of the last completion, until the next run begins */
	struct qless_str error;	 /* of the last failure */
	size_t meta_count;	 /* see qless_job_next_meta() */
};

/* Read the account of a job. Returns false if it has none. */
bool qless_job_account(const struct qless_job *job, struct qless_account *ret_account);
/* Step through the fields of the application, in the order of their names. `*cursor` starts as 0;
 * false means the end. */
bool qless_job_next_meta(const struct qless_job *job, size_t *cursor, struct qless_str *ret_field,
			 struct qless_str *ret_value);
/* Get the value of a field. Returns false if the job has no such field. */
bool qless_job_find_meta(const struct qless_job *job, struct qless_str field,
			 struct qless_str *ret_value);

struct qless_put {
	struct qless_str worker; /* the worker that puts the job; it gets no lock_lost */
	struct qless_str queue;
	struct qless_str jid;
	uint64_t jid_hint; /* from qless_prefetch() of this jid, or 0 */
	struct qless_str klass;
	struct qless_str data;
	double delay; /* <= 0: at once */
	/* Options that are not given are inherited from an existing job of that jid. */
	bool has_priority;
	double priority;
	bool has_retries;
	double retries;
	bool has_tags;
	const struct qless_str *tags;
	size_t tag_count;
	const struct qless_str *depends; /* an empty list leaves existing dependencies alone */
	size_t depend_count;
	/* The limits that the job counts under, see qless_limit_set(). The first name is also the
	 * one that takes turns. A name that occurs twice counts once. An empty list removes the
	 * limits of the job. A limit of a job has no name that is empty, ends in `*` or begins with
	 * `queue:` (QLESS_EBADARG). */
	bool has_limits;
	const struct qless_str *limits;
	size_t limit_count;
	const struct qless_terms *terms; /* NULL: none are given */
};

/* Memory for qless_args_key(), which several calls may use one after the other. */
struct qless_args_room;
struct qless_args_room *qless_args_room_new(void);
void qless_args_room_free(struct qless_args_room *room);

/* Make a unique key of a class and data: jobs have the same key if their classes are equal and
 * their data has the same value as JSON. White space, the order of members, escapes, and how a
 * number is written do not matter; numbers are compared by all of their digits. If an object has
 * several members of one name, the last one counts. `data` must be valid JSON. Only these keys
 * begin with a byte 0xff. */
#define QLESS_ARGS_KEY_BYTES 17
void qless_args_key(struct qless_args_room *room, struct qless_str klass, struct qless_str data,
		    char ret_key[QLESS_ARGS_KEY_BYTES]);
bool qless_is_args_key(struct qless_str key);

/* Find the job that holds a key. Returns false if none does. */
bool qless_unique_holder(const struct qless *q, struct qless_str key, double now,
			 struct qless_str *ret_jid);
/* The number of keys that jobs hold, or would hold if they came back. */
size_t qless_unique_count(const struct qless *q);

/* Create the job, or move an existing one from any state. */
QLESS_CHECK int qless_put(struct qless *q, double now, const struct qless_put *put);
/* Put several jobs, or none if one is invalid, a microsecond apart, so that they are popped in
 * their order. *ret_until is the time of the last; later calls should use a later time. */
QLESS_CHECK int qless_put_many(struct qless *q, double now, const struct qless_put *puts,
			       size_t count, double *ret_until);
/* qless_put() for a job that must exist (QLESS_ENOJOB). */
QLESS_CHECK int qless_requeue(struct qless *q, double now, const struct qless_put *put);

/* The ends of a put that was valid. */
enum qless_put_end {
	QLESS_PUT_DONE,
	QLESS_PUT_EXISTS, /* nothing: its jid was not free */
	QLESS_PUT_HELD,	  /* nothing: another job holds its unique key */
};

/* The end of put number `index` of the last call, from 0 on. *ret_holder is the jid of the job that
 * holds the key, or empty. */
enum qless_put_end qless_read_put_end(const struct qless *q, size_t index,
				      struct qless_str *ret_holder);

/* The next number that is free as a jid, above `after` and above all numbers that were given to
 * puts as qless_terms.number. A caller that numbers several jobs of a call passes the last one. */
double qless_next_number(const struct qless *q, double after);

/* Lock up to `count` jobs for `worker`: first jobs whose lock and grace period expired, then those
 * with the highest priority, oldest first. A job that would lose its lock, and whose retries are
 * not a whole number, fails in the group invalid-retries-<queue>. */
QLESS_CHECK int qless_pop(struct qless *q, double now, struct qless_str queue,
			  struct qless_str worker, int64_t count, struct qless_jobs *ret_jobs);
/* A pop that takes little time even if it would have to look at very many jobs with limits that
 * turn out to be shut. If it stops early, the queue wakes, and the next pop goes on with the
 * search. Such a pop can be repeated only by qless_pop_steps(), with *ret_steps. */
QLESS_CHECK int qless_pop_some(struct qless *q, double now, struct qless_str queue,
			       struct qless_str worker, int64_t count, struct qless_jobs *ret_jobs,
			       bool *ret_is_stopped, uint64_t *ret_steps);
/* From now on, calls of qless_pop_some() and qless_is_poppable() together look at no more jobs with
 * shut limits than `looks`, or than one of them may, but at one each. Returns how many looks the
 * calls so far have left. With UINT64_MAX each call has its own again. For several pops that follow
 * each other without a break. */
uint64_t qless_share_looks(struct qless *q, uint64_t looks);
/* qless_pop() that stops after as many steps as a call of qless_pop_some() took. */
QLESS_CHECK int qless_pop_steps(struct qless *q, double now, struct qless_str queue,
				struct qless_str worker, int64_t count, uint64_t steps,
				struct qless_jobs *ret_jobs);

/* Pops of the jobs of one class. They leave the others alone, and are as fast with a million of
 * them ahead. A null pointer as class is any class.
 *
 * Locks that expired are treated whatever the class of their jobs. A job that is taken away waits,
 * and is handed out by its priority. A call looks after a limited number of expired locks and of
 * jobs that are due. If there are more, the queue wakes. So as long as the class is poppable, the
 * next pop may find something. */
QLESS_CHECK int qless_pop_class_some(struct qless *q, double now, struct qless_str queue,
				     struct qless_str worker, struct qless_str klass, int64_t count,
				     struct qless_jobs *ret_jobs, bool *ret_is_stopped,
				     uint64_t *ret_steps);
QLESS_CHECK int qless_pop_class_steps(struct qless *q, double now, struct qless_str queue,
				      struct qless_str worker, struct qless_str klass,
				      int64_t count, uint64_t steps, struct qless_jobs *ret_jobs);
/* Go on to make the index that a pop of that class needs, in little time: looks at *left jobs at
 * most, and takes them off *left. Returns false if the index is not ready. The queue wakes when a
 * caller that can wait should call again. A pop makes what is missing. Calls are not recorded,
 * because indexes are no part of the state.
 *
 * A queue has indexes of up to 64 classes, and all queues together [max-class-indexes]. If there
 * are more classes, they take turns. While callers wait for their turns, making indexes takes about
 * a tenth of the time. */
bool qless_prepare_class(struct qless *q, double now, struct qless_str queue,
			 struct qless_str klass, bool can_wait, size_t *left);
/* Drop what qless_prepare_class() has made, up to *left jobs, and take them off *left. Returns
 * whether nothing is left. A repair drops everything at once; call this first if that could take
 * long. For some time after a call, nothing is prepared. */
bool qless_drop_classes(struct qless *q, size_t *left);
/* The indexes of classes, and their entries: each has one for each of its waiting jobs without
 * limits. */
size_t qless_class_index_count(const struct qless *q);
size_t qless_class_entry_count(const struct qless *q);
/* qless_is_poppable() for a pop of that class. It is true, too, if something is due in the queue
 * whose class is not known, or if the class is not prepared and anything waits. */
bool qless_is_class_poppable(const struct qless *q, double now, struct qless_str queue,
			     struct qless_str klass);

/* Largest number of a hand-out. */
#define QLESS_LOCK_MAX ((UINT64_C(1) << 48) - 1)

/* Check that a running job was not handed out again since the hand-out of that number. Each
 * hand-out has a larger number than all before it, see qless_job_info.lock. `operation` is named in
 * errors: QLESS_ENOJOB, QLESS_ENOTRUNNING, QLESS_ENOTOWNER. */
QLESS_CHECK int qless_check_lock(struct qless *q, enum qless_operation operation,
				 struct qless_str jid, uint64_t number);

/* The jobs that a pop would hand out next. Expired locks are left alone, and due jobs are not
 * moved: see qless_advance(). */
QLESS_CHECK int qless_peek(struct qless *q, double now, struct qless_str queue, int64_t count,
			   struct qless_jobs *ret_jobs);
/* How many of the next `count` jobs that a pop would hand out have `max_bytes` of data and history
 * together; at least 1, and `count` if there are no more jobs. Also stops at 25,000 limits of jobs
 * with expired locks. With `due`, jobs that have come due count first: use it to learn whether they
 * might be too large, and without it after qless_advance(). */
int64_t qless_count_poppable(struct qless *q, double now, struct qless_str queue, int64_t count,
			     size_t max_bytes, bool due);

/* Extend the lock. `data` replaces the data of the job unless it is NULL. QLESS_ENOJOB,
 * QLESS_ENOTRUNNING, QLESS_ENOTOWNER. */
QLESS_CHECK int qless_heartbeat(struct qless *q, double now, struct qless_str jid,
				struct qless_str worker, const struct qless_str *data,
				double *ret_expires);

/* The most completed jobs that one call purges, so that it stays short. */
#define QLESS_PURGE_MAX 1000

struct qless_complete {
	struct qless_str jid;
	uint64_t jid_hint; /* from qless_prefetch() of this jid, or 0 */
	struct qless_str worker;
	struct qless_str queue;
	struct qless_str data;
	const struct qless_str *next; /* NULL: the job is complete for good */
	double delay;		      /* in `next` */
	const struct qless_str *depends;
	size_t depend_count;
	bool has_limits; /* the job has these limits in `next`; otherwise it keeps its own */
	const struct qless_str *limits;
	size_t limit_count;
	const struct qless_terms *terms; /* for `next`; those that are not given stay */
	const struct qless_str *result;	 /* kept until the next run of the job; NULL: none */
	bool has_purge_max;		 /* the call purges at most this many old completed jobs */
	int64_t purge_max;
};

/* *ret_state is complete, waiting, scheduled or depends. The call also purges old completed jobs,
 * up to QLESS_PURGE_MAX; later calls purge the rest. QLESS_ENOJOB, QLESS_ENOTRUNNING,
 * QLESS_ENOTOWNER, QLESS_EWRONGQUEUE. */
QLESS_CHECK int qless_complete(struct qless *q, double now, const struct qless_complete *complete,
			       enum qless_state *ret_state);

/* QLESS_ENOJOB, QLESS_ENOTRUNNING, QLESS_ENOTOWNER. */
QLESS_CHECK int qless_fail(struct qless *q, double now, struct qless_str jid,
			   struct qless_str worker, struct qless_str group,
			   struct qless_str message, const struct qless_str *data);

struct qless_fail {
	struct qless_str jid;
	struct qless_str worker;
	struct qless_str group;
	struct qless_str message;
	const struct qless_str *data;  /* NULL: the job keeps its data */
	const struct qless_str *error; /* a longer text than the message; NULL: none */
};

/* qless_fail() with the text of an error. */
QLESS_CHECK int qless_fail_with(struct qless *q, double now, const struct qless_fail *fail);

struct qless_abort {
	struct qless_str jid;
	struct qless_str supervisor; /* the history and the failure name it */
	struct qless_str group;
	struct qless_str message;
};

/* Fail a running job for its worker, whose process has died. The worker gets `lock_lost`.
 * QLESS_ENOJOB, QLESS_ENOTRUNNING. */
QLESS_CHECK int qless_abort(struct qless *q, double now, const struct qless_abort *abort);

struct qless_start {
	struct qless_str jid;
	struct qless_str worker;
	int64_t pid; /* of the process that runs the job; 0: not given */
	struct qless_str node;
};

/* Note that the worker of a running job has begun with it. A later call replaces pid and node.
 * QLESS_ENOJOB, QLESS_ENOTRUNNING, QLESS_ENOTOWNER. */
QLESS_CHECK int qless_job_start(struct qless *q, double now, const struct qless_start *start);

struct qless_progress {
	struct qless_str jid;
	struct qless_str worker;
	double percent;		      /* from 0 to 100 */
	const struct qless_str *note; /* NULL: none */
};

/* Note how far a running job is, and publish it as the event `progress`. QLESS_ENOJOB,
 * QLESS_ENOTRUNNING, QLESS_ENOTOWNER. */
QLESS_CHECK int qless_job_progress(struct qless *q, double now,
				   const struct qless_progress *progress);

struct qless_meta {
	struct qless_str jid;
	const struct qless_str *pairs; /* field and value of each, one after the other */
	size_t pair_count;
	const struct qless_str *removed; /* fields */
	size_t removed_count;
};

/* Set and remove fields of the application, in any state of the job. *ret_count is the number of
 * new fields and of those that were removed. QLESS_ENOJOB. */
QLESS_CHECK int qless_job_meta(struct qless *q, double now, const struct qless_meta *meta,
			       uint64_t *ret_count);

/* Delete complete and failed jobs. *ret_count is their number: unknown jobs are ignored.
 * QLESS_ENOTFINISHED; QLESS_EDEPENDENTS if a job waits for one of them. */
QLESS_CHECK int qless_job_delete(struct qless *q, double now, const struct qless_str *jids,
				 size_t count, uint64_t *ret_count);

/*
 * Failed jobs are kept for ever, unless the options failed-history (seconds) or
 * failed-history-count say otherwise. The engine deletes none by itself. A program asks for the
 * next one, and deletes it with qless_job_delete(). Jobs on which others depend are left out.
 */

/* When the oldest failed job is to be deleted, and which: INFINITY if none is, -INFINITY if there
 * are more than failed-history-count. A search takes O(log n). If it was not over after a number of
 * jobs that are left out, it returns -INFINITY, and ret_jid->ptr is NULL: call again. */
double qless_next_failed_sweep(struct qless *q, struct qless_str *ret_jid);

/*
 * Complete jobs are retained as their terms say, or else the option <queue>-retain of the queue in
 * which they completed: a number of seconds, or `ack`. They do not count for jobs-history-count,
 * and are not purged. The engine deletes none by itself, unless the seconds are 0. A program asks
 * for the next one, and deletes it with qless_job_delete(). A job that is put again is no longer
 * retained.
 */

/* Both are INFINITY if the job is retained until it is deleted. */
struct qless_retained {
	double seconds; /* since the job completed */
	double ends;	/* when it is to be deleted */
};

/* Read how long a job is retained. Returns false if it is not, or not complete. */
bool qless_job_retained(const struct qless_job *job, struct qless_retained *ret_retained);
/* The number of jobs that are retained. */
size_t qless_retained_count(const struct qless *q);
/* When the next retained job is to be deleted, and which; INFINITY if none is. */
double qless_next_retained_sweep(const struct qless *q, struct qless_str *ret_jid);

struct qless_retry {
	struct qless_str jid;
	struct qless_str queue; /* another queue moves the job there */
	struct qless_str worker;
	double delay;
	const struct qless_str *group; /* NULL: not given */
	const struct qless_str *message;
	/* No delay was given: if the job has a backoff, that decides, and `delay` if not. The
	 * attempts are the retries that the job has used, with this one. */
	bool backs_off;
};

/* Return the job to its queue. *ret_remaining is the number of retries left; below 0 the job has
 * failed. QLESS_ENOJOB, QLESS_ENOTRUNNING, QLESS_ENOTOWNER, QLESS_ERETRIES. */
QLESS_CHECK int qless_retry(struct qless *q, double now, const struct qless_retry *retry,
			    double *ret_remaining);

/* Take the jobs from their workers. QLESS_ENOJOB, QLESS_ENOTRUNNING. */
QLESS_CHECK int qless_timeout(struct qless *q, double now, const struct qless_str *jids,
			      size_t count);

/* The locks of a worker to renew: those that expire after `after`, and not after `until`. Up to
 * `max` of them, the last to expire first. */
struct qless_renewal {
	struct qless_str worker;
	double after;
	double until;
	int64_t max;
};

struct qless_renewed {
	size_t count;
	/* The next portion has this as its `until`. It is not above `after` if nothing is left. */
	double until;
};

/* Renew locks of a worker, as qless_heartbeat() does one by one. A job whose lock expired, and
 * whose worker was warned, is left out. */
QLESS_CHECK int qless_worker_renew(struct qless *q, double now, const struct qless_renewal *renewal,
				   struct qless_renewed *ret_renewed);
/* Find the lock of a worker that expires first, but after `after`. Returns false if there is none.
 * *ret_lease is how many seconds a renewal lasts; 0 if the run of the job has ended, and the next
 * renewal drops the lock. Locks that last as long as the runtime of their jobs are passed over, but
 * not very many of them. */
bool qless_worker_first_lock(const struct qless *q, struct qless_str worker, double after,
			     double *ret_expires, double *ret_lease);

/*
 * A job may have a runtime, of its own or that of its queue. Its lock then ends no later than that
 * after the hand-out, whatever the worker does, and without a grace period. Later heartbeats fail
 * (QLESS_ENOTRUNNING). The run counts as a lost one: it uses up a retry, and the job backs off.
 * Without retries left, the job fails in the group `timed-out`. A pop from its queue does all that
 * to the jobs that it finds. A program that does not wait for a pop calls qless_overtime().
 */

/* When the next run is over, and of which job; INFINITY if there is none. `ret_jid` may be NULL.
 * Takes O(1). */
double qless_next_overtime(const struct qless *q, struct qless_str *ret_jid);
/* End the run of a job if it is over. *ret_ended is whether it was. */
QLESS_CHECK int qless_overtime(struct qless *q, double now, struct qless_str jid, bool *ret_ended);

struct qless_release {
	struct qless_str worker;
	/* Each job uses up one of its retries and backs off, or fails if none are left. */
	bool counts;
	int64_t max;
};

struct qless_released {
	size_t count;
	bool more;
};

/* Return up to `max` jobs of a worker to their queues, where they wait from the time of their
 * hand-out on. The first to expire go first. */
QLESS_CHECK int qless_worker_release(struct qless *q, double now,
				     const struct qless_release *release,
				     struct qless_released *ret_released);

/* Delete the jobs. If another job depends on one of them, it must be in the list too
 * (QLESS_EDEPENDENTS). Unknown and completed jobs are ignored. */
QLESS_CHECK int qless_cancel(struct qless *q, double now, const struct qless_str *jids,
			     size_t count);

/* Add and remove dependencies of a job in the state depends (QLESS_ENOTDEPENDS otherwise). When
 * none is left the job becomes waiting or scheduled. */
QLESS_CHECK int qless_depends_on(struct qless *q, double now, struct qless_str jid,
				 const struct qless_str *jids, size_t count);
QLESS_CHECK int qless_depends_off(struct qless *q, double now, struct qless_str jid,
				  const struct qless_str *jids, size_t count);
QLESS_CHECK int qless_depends_off_all(struct qless *q, double now, struct qless_str jid);

/* Jobs that are to depend on others: a put, a move or qless_depends_on() that has not happened. */
struct qless_circle {
	const struct qless_str *jids; /* each job at a multiple of `stride` */
	size_t count;
	size_t stride;
	const struct qless_str *depends; /* each of the jobs is to depend on all of these */
	size_t depend_count;
};

/* Check that no job would wait for itself, directly or over others (QLESS_EBADARG). The calls that
 * make dependencies do not check this: such jobs wait until somebody removes a dependency. The
 * search ends with QLESS_ELIMIT if it gets too long. */
QLESS_CHECK int qless_check_circle(struct qless *q, const struct qless_circle *circle);

/* A waiting job becomes the oldest of its new priority. QLESS_ENOJOB. */
QLESS_CHECK int qless_priority(struct qless *q, double now, struct qless_str jid, double priority);
/* Append to the history. `item` (a JSON object) may be NULL. QLESS_ENOJOB. */
QLESS_CHECK int qless_log(struct qless *q, double now, struct qless_str jid,
			  struct qless_str message, const struct qless_str *item);

/* ---- listings ---- */

enum qless_listing {
	QLESS_LIST_COMPLETE, /* newest first; the queue is ignored */
	QLESS_LIST_RUNNING,
	QLESS_LIST_STALLED,
	QLESS_LIST_SCHEDULED, /* all scheduled jobs, due or not */
	QLESS_LIST_NOT_DUE,   /* those of them that are not due */
	QLESS_LIST_DEPENDS,
	QLESS_LIST_RECURRING,
};

/* The running, stalled and recurring listings take `offset` and `count` as a limit: a negative
 * offset gives nothing, a negative count everything. The others, and all listings below, take the
 * index range offset .. offset + count - 1, in which negative indices count from the end. */
QLESS_CHECK int qless_jobs(struct qless *q, double now, enum qless_listing listing,
			   struct qless_str queue, int64_t offset, int64_t count,
			   struct qless_list *ret_jids);

/* ---- failures ---- */

/* The groups with failed jobs by name, and the number of jobs in each. Both lists have the same
 * length. */
void qless_failures(struct qless *q, struct qless_list *ret_groups, const uint64_t **ret_counts);
/* The jobs of a group, newest first. */
void qless_failed(struct qless *q, struct qless_str group, int64_t offset, int64_t count,
		  struct qless_list *ret_jids);
/* Move the `count` oldest failed jobs of a group to `queue`. */
QLESS_CHECK int qless_unfail(struct qless *q, double now, struct qless_str queue,
			     struct qless_str group, int64_t count, uint64_t *ret_count);

/* ---- queues ---- */

struct qless_queue_counts {
	struct qless_str name;
	uint64_t waiting;
	uint64_t running;
	uint64_t stalled;
	uint64_t scheduled;
	uint64_t due; /* those of the scheduled jobs that are due */
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
/* The number of waiting, running and scheduled jobs. */
uint64_t qless_queue_length(const struct qless *q, struct qless_str queue);
QLESS_CHECK int qless_pause(struct qless *q, double now, const struct qless_str *queues,
			    size_t count);
QLESS_CHECK int qless_unpause(struct qless *q, double now, const struct qless_str *queues,
			      size_t count);
/* Remove queues from the list of known ones; their jobs stay. */
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

/* Runs of a recurring job that a step of the clock leaves to make up for. */
#define QLESS_STEP_RUNS_MAX 100

/*
 * The clock that `now` is taken from was set from the time `from` to the time `now`, or the machine
 * slept. Locks that were taken by the old time keep the time that was left. After a step forward, a
 * recurring job makes up for at most QLESS_STEP_RUNS_MAX runs of the gap. After a step back, one
 * that ran by the old time runs again within its interval. One with a schedule keeps its next tick
 * if the step back is shorter than three hours.
 */
QLESS_CHECK int qless_step_clock(struct qless *q, double now, double from);

/* The statistics of a queue for the day (UTC) of `date`. */
void qless_stats(const struct qless *q, struct qless_str queue, double date,
		 struct qless_stats *ret_stats);
/* Drop statistics of queues and workers that are older than the options stats-history and
 * histogram-history allow, in days before qless_latest(). */
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
/* The jobs of one worker: those with a valid lock, and those whose lock expired. */
QLESS_CHECK int qless_worker_jobs(struct qless *q, double now, struct qless_str worker,
				  struct qless_list *ret_jobs, struct qless_list *ret_stalled);
QLESS_CHECK int qless_worker_deregister(struct qless *q, double now,
					const struct qless_str *workers, size_t count);

/* The deeds of a worker on a day (UTC). */
struct qless_worker_day {
	double day; /* when it began */
	uint64_t popped;
	uint64_t completed;
	uint64_t failed; /* the worker reported the failure or used the last retry */
	uint64_t lost;	 /* lost locks: expired, timed out by a call, or put elsewhere */
};

/* The days on which the worker did something, newest first, even if it is no longer known. They are
 * kept as long as statistics. `*cursor` starts as 0; false means the end. */
bool qless_worker_next_day(const struct qless *q, struct qless_str worker, size_t *cursor,
			   struct qless_worker_day *ret_day);

/* ---- tags ---- */

/* *ret_job is the job with its new tags. QLESS_ENOJOB. */
QLESS_CHECK int qless_tag(struct qless *q, double now, struct qless_str jid,
			  const struct qless_str *tags, size_t count,
			  const struct qless_job **ret_job);
QLESS_CHECK int qless_untag(struct qless *q, double now, struct qless_str jid,
			    const struct qless_str *tags, size_t count,
			    const struct qless_job **ret_job);
/* The jobs with a tag, in the order in which they were tagged. */
void qless_tagged(struct qless *q, struct qless_str tag, int64_t offset, int64_t count,
		  struct qless_list *ret_jids);
/* The tags of at least two jobs, most used first. Pages as a limit. */
void qless_top_tags(struct qless *q, int64_t offset, int64_t count, struct qless_list *ret_tags);

/* ---- tracking ---- */

/* The tracked jids, in the order in which they were tracked, whether the jobs exist or not. */
void qless_tracked(struct qless *q, struct qless_list *ret_jids);
/* *ret_new tells whether the job was not tracked before. QLESS_ENOJOB. */
QLESS_CHECK int qless_track(struct qless *q, double now, struct qless_str jid, bool *ret_new);
/* *ret_was tells whether the jid was tracked. The job need not exist any more. */
QLESS_CHECK int qless_untrack(struct qless *q, double now, struct qless_str jid, bool *ret_was);

/* ---- recurring jobs ---- */

/* How a schedule makes up for ticks that have passed without a job, because the program did not run
 * or nobody asked for jobs. */
enum qless_missed {
	QLESS_MISSED_ONE, /* one job, for the last of them */
	/* No job, unless the last tick is not longer ago than QLESS_MISSED_SECONDS. */
	QLESS_MISSED_SKIP,
	QLESS_MISSED_ALL, /* a job for each */
};

/* Seconds after which a tick counts as missed. */
#define QLESS_MISSED_SECONDS 60

/* Whether a schedule makes a job while the last one that it made is neither complete nor failed. */
enum qless_overlap {
	QLESS_OVERLAP_ALLOW, /* make one more */
	QLESS_OVERLAP_SKIP,  /* make none */
};

/* The times at which a recurring job makes jobs. */
struct qless_schedule {
	/* Five fields, or six with seconds; or a word such as `@daily`. */
	struct qless_str cron;
	struct qless_str zone; /* its name, for people: `Europe/Berlin` */
	/* The POSIX rule of the zone, the last line of its zone file: `CET-1CEST,M3.5.0,M10.5.0/3`.
	 * It alone decides when ticks are. */
	struct qless_str rule;
	enum qless_missed missed;
	enum qless_overlap overlap;
};

/* Names of the choices, such as "one" and "allow". */
struct qless_str qless_missed_text(enum qless_missed missed);
struct qless_str qless_overlap_text(enum qless_overlap overlap);

struct qless_recur_put {
	struct qless_str queue;
	struct qless_str jid;
	struct qless_str klass;
	struct qless_str data;
	double interval; /* > 0 */
	double offset;	 /* first run at now + offset */
	double priority;
	double retries;
	double backlog; /* the most missed runs that are made up for; 0: all */
	const struct qless_str *tags;
	size_t tag_count;
	const struct qless_str *limits; /* of the jobs that it makes */
	size_t limit_count;
	/* NULL: it recurs in intervals. Otherwise interval, offset and backlog are not used. A
	 * recurring job that had the same expression and rule keeps its next tick. */
	const struct qless_schedule *schedule;
	const struct qless_terms *terms; /* of the jobs that it makes; NULL: none */
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
	uint64_t count;	   /* jobs made so far */
	bool has_schedule; /* the interval is 0 */
	struct qless_schedule schedule;
	const struct qless_terms *terms; /* of the jobs that it makes; NULL: none */
};

/* One change of a recurring job. */
struct qless_recur_change {
	enum qless_recur_field {
		QLESS_RECUR_PRIORITY,
		QLESS_RECUR_INTERVAL,
		QLESS_RECUR_RETRIES,
		QLESS_RECUR_BACKLOG,
		QLESS_RECUR_DATA,
		QLESS_RECUR_KLASS,
		QLESS_RECUR_QUEUE,
		QLESS_RECUR_LIMITS,
		/* A job with intervals gets a schedule by QLESS_RECUR_CRON; its zone is UTC unless
		 * the same call sets it. QLESS_RECUR_INTERVAL takes the schedule away. */
		QLESS_RECUR_CRON,
		QLESS_RECUR_ZONE, /* comes with its rule */
		QLESS_RECUR_RULE,
		QLESS_RECUR_MISSED,
		QLESS_RECUR_OVERLAP,
		/* The unique key of the jobs that it makes. Nothing changes if they have none. */
		QLESS_RECUR_UNIQUE,
		/* Those terms of the jobs that are given. An empty unique key, a runtime of 0 and a
		 * backoff of QLESS_BACKOFF_NONE remove the term. `is_raw` is ignored. */
		QLESS_RECUR_TERMS,
		QLESS_RECUR_RAW, /* whether the data is bytes: 0 or 1 */
	} field;
	double number;	       /* the first four, RAW, and MISSED and OVERLAP: their enum */
	struct qless_str text; /* the others but the limits */
	/* The limits of the jobs that it makes from now on. An empty list removes them. */
	const struct qless_str *limits;
	size_t limit_count;
	const struct qless_terms *terms; /* QLESS_RECUR_TERMS */
};

QLESS_CHECK int qless_recur(struct qless *q, double now, const struct qless_recur_put *put);
/* The jobs that it made stay. An unknown jid is no error. */
QLESS_CHECK int qless_unrecur(struct qless *q, double now, struct qless_str jid);
const struct qless_recur *qless_recur_get(const struct qless *q, struct qless_str jid);
void qless_recur_read(const struct qless_recur *recur, struct qless_recur_info *ret_info);
bool qless_recur_next_tag(const struct qless_recur *recur, size_t *cursor,
			  struct qless_str *ret_tag);
bool qless_recur_next_limit(const struct qless_recur *recur, size_t *cursor,
			    struct qless_str *ret_name);
/* When the next tick of a schedule is due, and of which recurring job; INFINITY if there is none. A
 * pop from its queue makes the jobs of a tick. A program that does not wait for a pop calls
 * qless_tick() then. `ret_jid` may be NULL. Takes O(1). */
double qless_next_tick(const struct qless *q, struct qless_str *ret_jid);
/* Make up to `max` jobs of a recurring job with a schedule, also if its queue is paused. *ret_made
 * is their number. QLESS_ENOJOB. */
QLESS_CHECK int qless_tick(struct qless *q, double now, struct qless_str jid, int64_t max,
			   uint64_t *ret_made);
/* When it makes jobs after `now`, if somebody asks for them at once: `count` times, fewer if there
 * are no more. Returns the number of times. */
size_t qless_recur_times(const struct qless_recur *recur, double now, double *ret_times,
			 size_t count);
/* Apply all changes, or none if one is invalid. QLESS_ENOJOB, QLESS_EBADARG. */
QLESS_CHECK int qless_recur_update(struct qless *q, double now, struct qless_str jid,
				   const struct qless_recur_change *changes, size_t count);
QLESS_CHECK int qless_recur_tag(struct qless *q, double now, struct qless_str jid,
				const struct qless_str *tags, size_t count);
QLESS_CHECK int qless_recur_untag(struct qless *q, double now, struct qless_str jid,
				  const struct qless_str *tags, size_t count);

/* ---- limits ---- */

/*
 * A limit has a name, and bounds the jobs of all queues that name it: how many run at the same time
 * (concurrency), how many are handed out in a time (rate), or both. A rate is a bucket of `burst`
 * tokens that fills with `rate` tokens in `per` seconds. Each hand-out takes a token, which is not
 * returned. Each run takes a slot, and its end releases the slot.
 *
 * A rule says what a limit allows. A rule with a name that ends in `*` is a pattern. It applies to
 * each limit that has no rule of its own, and whose name begins with the text before the `*`. Of
 * several patterns the longest applies. A limit without a rule allows everything.
 *
 * The limit `queue:<name>` bounds all jobs of a queue, which do not name it. Its concurrency is the
 * option <name>-max-concurrency. Patterns do not apply to the limits of queues.
 */

struct qless_limit_change {
	struct qless_str name; /* of the rule */
	/* Values that are not given stay as they are. */
	bool has_concurrency;
	int64_t concurrency; /* 0: any number of jobs; negative: none */
	bool has_rate;
	double rate; /* jobs in `per` seconds; 0: any number */
	double per;
	bool has_burst;
	double burst; /* a whole number, 1 unless it is set */
	bool has_weight;
	double weight; /* turns in a queue with fair order; 1 unless it is set */
	bool has_ttl;
	double ttl; /* seconds after which a sweep deletes the rule; 0: it stays */
};

/* Make a rule, or change one. QLESS_EBADARG. */
QLESS_CHECK int qless_limit_set(struct qless *q, double now,
				const struct qless_limit_change *change);
/* Delete a rule. Tokens, holds and slots of its limits stay. *ret_was is whether there was one. */
QLESS_CHECK int qless_limit_delete(struct qless *q, double now, struct qless_str name,
				   bool *ret_was);
/* Hand out nothing under a limit for some seconds; 0 ends that. *ret_until is when the hold ends. A
 * pattern cannot be held (QLESS_EBADARG). */
QLESS_CHECK int qless_limit_hold(struct qless *q, double now, struct qless_str name, double seconds,
				 double *ret_until);
/* Delete up to `max` rules whose time is over, and limits that nothing names and whose tokens and
 * hold are as those of a new limit. *ret_swept is their number. */
QLESS_CHECK int qless_limit_sweep(struct qless *q, double now, int64_t max, uint64_t *ret_swept);
/* When the next qless_limit_sweep() has something to do; INFINITY if nothing is due. */
double qless_next_limit_sweep(const struct qless *q);

struct qless_limit_info {
	struct qless_str name;
	struct qless_str rule; /* the name of the rule that applies; ptr is NULL if none does */
	/* The values of the rule. */
	int64_t concurrency;
	double rate;
	double per;
	double burst;
	double weight;
	double expires;	   /* when its time is over; INFINITY: never */
	double held_until; /* 0 if the limit is not held */
	/* When it opens, as far as is known: not after `now` if it is open, INFINITY if somebody
	 * has to change its rule. */
	double opens;
	uint64_t running; /* slots that are taken */
	uint64_t waiting; /* jobs that wait and name it */
	bool is_full;	  /* all slots are taken */
	double tokens;	  /* jobs that the rate would hand out at once; 0 without a rate */
};

/* Returns false if no rule applies to the name and nothing names it. */
bool qless_limit_get(const struct qless *q, double now, struct qless_str name,
		     struct qless_limit_info *ret_info);
/* Visit the names of some rules and limits; the engine may change between the calls. `cursor` is 0
 * first, then the value returned; 0 is returned at the end. A name that exists all the time is
 * visited exactly once. */
uint32_t qless_limit_scan(const struct qless *q, uint32_t cursor,
			  void (*visit)(void *arg, struct qless_str name), void *arg);
/* The number of names that qless_limit_scan() visits. */
size_t qless_limit_count(const struct qless *q);

/* A job that has a slot of a limit. */
struct qless_limit_holder {
	struct qless_str jid;
	struct qless_str queue;
	struct qless_str worker;
	double expires; /* its lock, or the grace period after it */
};

/* The holders of a limit, the first to expire first. `*cursor` starts as NULL; false means the
 * end. */
bool qless_limit_next_holder(const struct qless *q, struct qless_str name, const void **cursor,
			     struct qless_limit_holder *ret_holder);

/* Why a limit hands out nothing. */
enum qless_held {
	QLESS_HELD_NOT,
	QLESS_HELD_CONCURRENCY, /* all slots are taken */
	QLESS_HELD_RATE,	/* there is no token */
	QLESS_HELD_HOLD,	/* see qless_limit_hold() */
	QLESS_HELD_CLOSED,	/* its concurrency is negative */
};

struct qless_why {
	enum qless_state state;
	bool is_paused;	       /* its queue is paused */
	bool is_full;	       /* its queue has reached <queue>-max-concurrency */
	uint64_t place;	       /* waiting jobs of its queue that are before it */
	uint64_t dependencies; /* jobs that it waits for */
	double due;	       /* of a scheduled job; otherwise 0 */
	double start_by;       /* when a running job must be started; INFINITY if not at all */
	double start_timeout;  /* seconds from the hand-out until then */
	/* The limit of the job or its queue that opens last, of those that are shut. */
	enum qless_held held;
	struct qless_str limit; /* ptr is NULL if none is shut */
	double opens;		/* the latest time at which it opens; INFINITY if that is unknown */
	/* QLESS_HELD_CONCURRENCY: the holder whose lock expires first. */
	struct qless_str holder;
	struct qless_str holder_worker;
};

/* Find out why a job does not run. Returns false if there is no such job. */
bool qless_why(const struct qless *q, double now, struct qless_str jid, struct qless_why *ret_why);

/* ---- options ---- */

struct qless_option {
	struct qless_str name;
	struct qless_str value; /* as text */
	bool is_set;		/* otherwise a default */
};

/* *ret_option is the value that is set or, without one, the default. Returns false if there is
 * neither. */
bool qless_config_get(const struct qless *q, struct qless_str name,
		      struct qless_option *ret_option);
/* The options that every program shows, then the others that are set. `*cursor` starts as 0; false
 * means the end. */
bool qless_config_next(const struct qless *q, size_t *cursor, struct qless_option *ret_option);
/* The name of an option that the engine knows, by its number from 0 on; ptr is NULL after the last.
 * Names of options of a queue end in qless_queue_option_name(), after the queue and a hyphen. */
struct qless_str qless_option_name(size_t i);
struct qless_str qless_queue_option_name(size_t i);
/* The range in which the value of an option makes sense. Returns false unless the engine uses the
 * option. qless_config_set() also accepts others: a negative heartbeat, for example, gives locks
 * that have expired already. */
bool qless_option_range(struct qless_str name, double *ret_min, double *ret_max);
/* The values of options that the engine knows must be numbers (QLESS_EBADARG). */
QLESS_CHECK int qless_config_set(struct qless *q, double now, struct qless_str name,
				 struct qless_str value);
QLESS_CHECK int qless_config_unset(struct qless *q, double now, struct qless_str name);

/* ---- for tests and operators ---- */

/* Verify every invariant of the state and report each finding as a sentence. Returns the number of
 * findings. Takes time proportional to the whole state. */
size_t qless_check(const struct qless *q, void (*report)(void *arg, struct qless_str finding),
		   void *arg);
/* Report each circle of dependencies, whose jobs wait for each other until somebody removes a
 * dependency or cancels them, as a sentence. A circle is no defect of the state. Returns the number
 * of circles; of several that share a job, one is enough. Takes time proportional to the number of
 * jobs and dependencies. */
size_t qless_find_circles(struct qless *q, void (*report)(void *arg, struct qless_str finding),
			  void *arg);
/* Repair everything that has one right answer: lists follow the states of the jobs, dependencies
 * follow the waiting jobs, and counters are counted again. Returns the number of repairs;
 * qless_check() then tells what is left. */
size_t qless_resolve(struct qless *q, double now);

/*
 * qless_resolve() in portions, for a large state that is in use: qless_find_repairs() says in a
 * copy of the state, such as that of a child process, what has to be repaired. qless_repair() makes
 * some of these repairs in the state itself, which may have changed in the meantime. Once it has
 * made all of them, in their order, the state is as after qless_resolve().
 */

/* The kinds have numbers that never change, because the log contains them. */
enum qless_repair_kind {
	QLESS_REPAIR_REBUILD = 1,     /* link the nodes of a list anew */
	QLESS_REPAIR_MOVE_FIRST = 2,  /* move a member to the beginning of its list */
	QLESS_REPAIR_MOVE_AFTER = 3,  /* move a member to its place after another one */
	QLESS_REPAIR_ENTER_TABLE = 4, /* let a table find what a list has */
	QLESS_REPAIR_EVICT = 5,	      /* remove from a list what belongs elsewhere */
	QLESS_REPAIR_ENTER_LIST = 6,  /* insert into a list what a table finds */
	QLESS_REPAIR_JOB = 7,	      /* members and place of a job */
	QLESS_REPAIR_EDGES = 8,	      /* dependencies of a job: both ends know each other */
	QLESS_REPAIR_STATE = 9,	      /* release a job that waits for nothing */
	QLESS_REPAIR_TAGS = 10,	      /* tags of a job */
	QLESS_REPAIR_TAG = 11,	      /* place of a tag among all tags */
	QLESS_REPAIR_QUEUE = 12,      /* statistics, options and due time of a queue */
	QLESS_REPAIR_GROUP = 13,      /* number of the last failure */
	QLESS_REPAIR_DROP = 14,	      /* free what nothing refers to */
	QLESS_REPAIR_COUNT = 15,      /* a counter */
	QLESS_REPAIR_LIMITS = 16,     /* slots and filing of all jobs with limits */
	QLESS_REPAIR_UNIQUE = 17,     /* unique keys, and the jobs that hold them */
	QLESS_REPAIR_RETAINED = 18,   /* retained jobs, and when they are deleted */
};

struct qless_repair {
	unsigned kind;		 /* enum qless_repair_kind */
	unsigned what;		 /* which list or counter; the numbers are those of the engine */
	struct qless_str name;	 /* of the owner of the list or counter */
	struct qless_str member; /* of the list; or the jid of the job */
	struct qless_str other;	 /* MOVE_AFTER */
	double score;		 /* ENTER_TABLE and EVICT: the place of the member */
	uint64_t from;		 /* COUNT: the counter has this value, */
	uint64_t to;		 /* and this is the right one */
};

/* Nodes of a list with damaged links that can be repaired in portions. The list is linked anew in
 * one portion, which takes milliseconds. */
#define QLESS_REBUILD_MAX 5000

/* Make the repairs of the whole state, and report each of them. Its weight is about the number of
 * searches in O(log n) that it takes. Returns false, and repairs nothing, if the links of a list
 * with more than QLESS_REBUILD_MAX nodes are damaged. */
bool qless_find_repairs(struct qless *q, double now,
			void (*report)(void *arg, const struct qless_repair *repair, size_t weight),
			void *arg);
/* Adjust repairs of counters, which were found in a copy, to the values that the counters have now.
 * The next qless_repair() trusts them. Without this, as for those of a log, it walks the whole
 * state to verify a repair of a counter that has the value `from`. */
void qless_aim_repairs(struct qless *q, struct qless_repair *repairs, size_t count);
/* Make the repairs that the state still needs. Returns their number. */
size_t qless_repair(struct qless *q, double now, const struct qless_repair *repairs, size_t count);
/* Write the whole state as text in an order that follows from the state alone: equal states give
 * equal bytes. */
void qless_dump(const struct qless *q, void (*write)(void *arg, struct qless_str piece), void *arg);

#ifdef __cplusplus
}
#endif

#endif
