/*
 * Job queues for programs: kept durably by the program itself, or by a server. The same calls
 * do both.
 *
 *	struct qless_store *store;
 *	struct qless_store_error error;
 *
 *	if (qless_store_open("/var/lib/mail", NULL, &store, &error) < 0)
 *		complain(error.text);
 *
 * opens a directory in which this program keeps its jobs. Another program has them in a qlessd:
 *
 *	if (qless_connect("redis://10.0.0.5", NULL, &store, &error) < 0)
 *		complain(error.text);
 *
 * qless_store_open() runs the server of qlessd in a thread of this process, without a socket that
 * others could reach. The directory has the log of a server, and one process at a time uses it. So
 * a qlessd can take it over after qless_store_close(), and the other way round. A killed process
 * and a power failure lose nothing that was answered, as far as `sync` says.
 *
 * Every command of qlessd-commands(7) is a call: qless_store_call(). There are typed calls for what
 * most workers and producers need. Strings are slices of bytes: any byte may occur, and no NUL
 * follows unless a comment says so.
 *
 * Errors are data. A call returns 0 or a positive result, or one of the negative codes below. Then
 * it leaves its other outputs alone, and fills in `error` unless that is NULL. The process ends if
 * memory runs out.
 *
 * Threads: every thread may call everything with a store, a worker, a job or a stopper. Only the
 * functions that free something need it to be unused. Calls of several threads share a sync.
 *
 * Forks: a child process gets QLESS_STORE_EFORKED from every call with what its parent opened. It
 * may call qless_store_close(), which then only frees memory and closes descriptors. A child that
 * neither does that nor executes another program keeps the directory locked as long as it lives.
 *
 * The library handles no signals, blocks all of them in its threads, and raises no SIGPIPE. It has
 * no settings for the whole process, reads no environment variable but TZDIR, and writes nothing to
 * standard output or standard error.
 */
#ifndef QLESS_STORE_H
#define QLESS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Returns the slice of a text that ends with a NUL. NULL is the empty text. */
static inline struct qless_str qless_text(const char *text)
{
	struct qless_str slice = { text, text != NULL ? strlen(text) : 0 };

	return slice;
}

#ifndef QLESS_CHECK
#define QLESS_CHECK __attribute__((warn_unused_result))
#endif

/* Returns the version of the library, such as "0.1.0". */
const char *qless_store_version(void);

/* ---- errors ---- */

enum qless_store_code {
	QLESS_STORE_EARGUMENT = -1,    /* an argument of the call is invalid; nothing was sent */
	QLESS_STORE_EREFUSED = -2,     /* the answer is an error, or the login is refused */
	QLESS_STORE_ELOST = -3,	       /* the answer was lost, and the command may have run */
	QLESS_STORE_EUNAVAILABLE = -4, /* there is no connection; the command did not run */
	QLESS_STORE_ESTOPPED = -5,     /* the stopper of the call was used, or its time is over */
	QLESS_STORE_ECLOSED = -6,      /* the store was shut down */
	QLESS_STORE_EFORKED = -7,      /* the parent of this process opened the store */
	QLESS_STORE_EINUSE = -8,       /* another process, or this one, uses the directory */
	QLESS_STORE_EOPEN = -9,	       /* the directory cannot be used, or its log is damaged */
};

struct qless_store_error {
	int code; /* enum qless_store_code; 0 after success */
	/* Whether the command may have run, although the call failed. With QLESS_STORE_EREFUSED:
	 * an earlier attempt of the call may be the reason for the refusal. */
	bool may_have_run;
	char word[32];	/* the first word of an error answer, such as "NOJOB"; otherwise empty */
	char text[472]; /* a sentence, without the word */
};

/* ---- opening ---- */

enum qless_store_sync {
	QLESS_STORE_SYNC_EVERYSEC, /* answers wait for a write: a power failure loses up to 2 s */
	QLESS_STORE_SYNC_ALWAYS,   /* answers wait for a sync */
	QLESS_STORE_SYNC_NO, /* answers wait for a write, and the system decides when to sync */
};

enum qless_store_level {
	QLESS_STORE_NOTICE,
	QLESS_STORE_WARNING,
	QLESS_STORE_FATAL,
};

/* Called with each event that a server would log: one line, without a newline. It comes from other
 * threads, one call at a time, and must not call the library. */
typedef void qless_store_log_fn(void *arg, enum qless_store_level level, const char *line);

/* Structs of options begin with their size, which tells the library what the program knows. Set it
 * to sizeof, and everything that is not needed to 0. A NULL pointer stands for all defaults. */
struct qless_store_options {
	size_t size;
	enum qless_store_sync sync;
	unsigned database; /* that the calls use */
	/* Directives of qlessd.conf(5) and their values in turn, such as "max-data-size", "8mb".
	 * They may be those about limits of what a call may send, and about rewriting of the log.
	 */
	const char *const *directives;
	size_t directive_count;	 /* of both together */
	qless_store_log_fn *log; /* NULL: events are not told */
	void *log_arg;
};

struct qless_connect_options {
	size_t size;
	const char *user; /* default: that of the address, or none */
	const char *password;
	unsigned database;	 /* default: that of the address, or 0 */
	const char *ca_file;	 /* of TLS: certificates to trust; default: those of the system */
	const char *certificate; /* of this client */
	const char *key;
	const char *server_name;  /* in the certificate of the server; default: the host */
	double connect_timeout_s; /* for each attempt; 0: 10 seconds */
	/* Seconds for which calls try again if the connection is lost, and that cannot do harm;
	 * 0: 30 seconds. qless_store_next() tries until its time is over. */
	double patience_s;
	qless_store_log_fn *log; /* told when a worker loses its connection */
	void *log_arg;
};

/* Jobs in a directory of this process, or on a server. */
struct qless_store;

/* Open a directory, which must exist and not be writable for everybody. An empty one begins an
 * empty log. Returns once the log is loaded. */
QLESS_CHECK int qless_store_open(const char *directory, const struct qless_store_options *options,
				 struct qless_store **ret_store, struct qless_store_error *error);

/* Connect to a server: "redis://[user:password@]host[:port][/database]", the same with "rediss://"
 * for TLS, "unix:///path", "host:port", or the path of a socket. Succeeds if the server accepts the
 * login. */
QLESS_CHECK int qless_connect(const char *address, const struct qless_connect_options *options,
			      struct qless_store **ret_store, struct qless_store_error *error);

/* Close a store. Its workers, jobs and calls have ended before. A directory is synced and unlocked.
 * Returns QLESS_STORE_EOPEN if the log could not be written to its end. NULL is a no-op. */
int qless_store_close(struct qless_store *store, struct qless_store_error *error);

/* ---- stoppers ---- */

/* Ends calls that wait, from another thread or a signal handler. Any number of calls may have the
 * same stopper. */
struct qless_stopper;

/* Returns NULL, with errno, if there is no file descriptor left. */
struct qless_stopper *qless_stopper_new(void);
void qless_stopper_free(struct qless_stopper *stopper);
/* End the calls that have this stopper, and those to come. Allowed in signal handlers. */
void qless_stopper_stop(struct qless_stopper *stopper);
bool qless_stopper_is_stopped(const struct qless_stopper *stopper);
/* Let calls to come run again. */
void qless_stopper_reset(struct qless_stopper *stopper);

/* ---- commands ---- */

enum qless_reply_kind {
	QLESS_REPLY_NULL,
	QLESS_REPLY_TEXT,
	QLESS_REPLY_INTEGER,
	QLESS_REPLY_NUMBER,
	QLESS_REPLY_BOOLEAN,
	QLESS_REPLY_LIST,
	QLESS_REPLY_MAP,
	QLESS_REPLY_ERROR, /* only within a list, such as the reply to QUEUE.JOBS */
};

/* A reply: a tree. Parts of it live as long as its root. */
struct qless_reply;

void qless_reply_free(struct qless_reply *root);
enum qless_reply_kind qless_reply_kind(const struct qless_reply *reply);
/* Returns a text, a number as the server spelled it, or an error. A NUL follows. Otherwise empty.
 */
struct qless_str qless_reply_text(const struct qless_reply *reply);
/* Returns an integer, a boolean as 0 or 1, or 0. */
int64_t qless_reply_integer(const struct qless_reply *reply);
/* Returns a number, or an integer as one. */
double qless_reply_number(const struct qless_reply *reply);
/* Returns the number of elements of a list, or of pairs of a map; otherwise 0. */
size_t qless_reply_count(const struct qless_reply *reply);
/* Returns an element of a list, or the value of a pair. NULL if there are not as many. */
const struct qless_reply *qless_reply_at(const struct qless_reply *reply, size_t i);
/* Returns the key of a pair. NULL if there are not as many. */
const struct qless_reply *qless_reply_key(const struct qless_reply *reply, size_t i);
/* Returns the value of the pair with that key, or NULL. */
const struct qless_reply *qless_reply_find(const struct qless_reply *reply, const char *key);

struct qless_call_options {
	size_t size;
	struct qless_stopper *stopper;
	/* Seconds after which the call ends with QLESS_STORE_ESTOPPED; 0: when there is an answer.
	 */
	double timeout_s;
};

/* Run a command: its name and its arguments, as in qlessd-commands(7). A command that waits can be
 * stopped. Then it has had no effect, unless `may_have_run` is set. `ret_reply` may be NULL.
 *
 * Each call may use another connection. So commands about the connection are refused, such as
 * MULTI, SELECT and SUBSCRIBE, and so is WORKER.ATTACH. A call of a command is never repeated. */
QLESS_CHECK int qless_store_call(struct qless_store *store, const struct qless_str *argv,
				 size_t argc, const struct qless_call_options *options,
				 struct qless_reply **ret_reply, struct qless_store_error *error);

/* ---- producers ---- */

struct qless_store_put {
	size_t size;
	struct qless_str queue;
	struct qless_str jid; /* empty: the store makes one */
	struct qless_str klass;
	struct qless_str data; /* JSON; empty: {} */
	double delay_s;
	/* Further options of PUT as words, such as "priority", "10", "tags", "[\"eu\"]". */
	const struct qless_str *words;
	size_t word_count;
};

/* Put a job. *ret_jid, unless it is NULL, is a text for qless_reply_text(), or null if an option
 * did not let the job be put. */
QLESS_CHECK int qless_store_put(struct qless_store *store, const struct qless_store_put *put,
				struct qless_reply **ret_jid, struct qless_store_error *error);

/* ---- jobs ---- */

/* A job as it was when it was handed out, or read. */
struct qless_store_job;

/* Free the memory. The store keeps the job. NULL is a no-op. */
void qless_store_job_free(struct qless_store_job *job);

/* These return texts with a NUL after them. */
struct qless_str qless_store_job_jid(const struct qless_store_job *job);
struct qless_str qless_store_job_queue(const struct qless_store_job *job);
struct qless_str qless_store_job_klass(const struct qless_store_job *job);
struct qless_str qless_store_job_state(const struct qless_store_job *job);
/* JSON, or the bytes of a job that was put with the option `raw`. */
struct qless_str qless_store_job_data(const struct qless_store_job *job);
/* The whole job as JSON, as native GET returns it. */
struct qless_str qless_store_job_json(const struct qless_store_job *job);
/* The number of this hand-out. A later one of the same job has a larger number. */
int64_t qless_store_job_lock(const struct qless_store_job *job);
/* How often the job may still be retried. */
int64_t qless_store_job_retries_left(const struct qless_store_job *job);

/* Read a job. Returns 1, or 0 if there is none of that name. */
QLESS_CHECK int qless_store_get(struct qless_store *store, struct qless_str jid,
				struct qless_store_job **ret_job, struct qless_store_error *error);

/* ---- workers ---- */

struct qless_store_worker_options {
	size_t size;
	/* One worker at a time may have a name. Empty: host, process id and random digits. */
	struct qless_str name;
	struct qless_str node; /* empty: the name of the machine */
	/* Seconds after which the jobs of a worker are released whose process has ended, or whose
	 * connection is lost; 0: 5 seconds. */
	double grace_s;
	/* The first calls of qless_store_next() return the jobs that an earlier worker of the same
	 * name left running. Otherwise these wait until their locks expire. */
	bool resumes;
};

/* A worker. The store knows that it lives, and renews the locks of its jobs. So jobs may take any
 * time, and no heartbeats are needed. */
struct qless_store_worker;

QLESS_CHECK int qless_store_worker_new(struct qless_store *store,
				       const struct qless_store_worker_options *options,
				       struct qless_store_worker **ret_worker,
				       struct qless_store_error *error);
/* End a worker. Its jobs that have not ended return to their queues at once. Free their objects
 * first. NULL is a no-op. */
int qless_store_worker_free(struct qless_store_worker *worker, struct qless_store_error *error);

/* Returns the name, with a NUL after it. */
struct qless_str qless_store_worker_name(const struct qless_store_worker *worker);

struct qless_next_options {
	size_t size;
	/* Seconds; 0: no limit, negative: do not wait. */
	double timeout_s;
	struct qless_stopper *stopper;
	bool round_robin; /* take jobs from the queues in turn; otherwise the first one is emptied
			     first */
};

/* Get the next job from one of the queues, and wait for it if there is none. Returns 1, or 0 if the
 * time is over. A lost connection is made again while the call waits. If a job was handed out at
 * the moment in which the call was stopped, the call returns that job. */
QLESS_CHECK int qless_store_next(struct qless_store_worker *worker, const struct qless_str *queues,
				 size_t queue_count, const struct qless_next_options *options,
				 struct qless_store_job **ret_job, struct qless_store_error *error);

/* Returns whether the worker is known to have lost the job: it was cancelled, or its lock was lost.
 * Cheap, and does not ask the store. For long tasks, which should end then. */
bool qless_store_job_is_lost(const struct qless_store_job *job);

/* The calls that end a job say which hand-out they are about, so a later worker is never disturbed.
 * If the connection is lost, they are repeated for some seconds. `data` is JSON that replaces the
 * data of the job; empty: it keeps them. */

/* Ask whether the worker still has the job, and renew the lock. For a worker with work that does
 * not need the lock kept, this is never necessary. */
QLESS_CHECK int qless_store_heartbeat(struct qless_store_job *job, struct qless_str data,
				      struct qless_store_error *error);

struct qless_store_complete {
	size_t size;
	struct qless_str data;
	struct qless_str result; /* a text for JOB.RESULT; empty: none */
	struct qless_str next;	 /* the queue that the job moves to; empty: none */
	double delay_s;		 /* in that queue */
};

/* The job has succeeded. `options` may be NULL. */
QLESS_CHECK int qless_store_complete(struct qless_store_job *job,
				     const struct qless_store_complete *options,
				     struct qless_store_error *error);

/* The job has failed, and stays until somebody retries or cancels it. */
QLESS_CHECK int qless_store_fail(struct qless_store_job *job, struct qless_str group,
				 struct qless_str message, struct qless_str data,
				 struct qless_store_error *error);

/* Put the job back, for another attempt after a delay; a negative one leaves it to the backoff of
 * the job. Without retries left it fails. Returns the number of retries left, at least 0. */
QLESS_CHECK int qless_store_retry(struct qless_store_job *job, double delay_s,
				  struct qless_store_error *error);

#ifdef __cplusplus
}
#endif

#endif
