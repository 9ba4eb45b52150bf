/*
 * A store for a test: of a directory of this process, or on a server.
 */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "qless_store.h"
#include "tempdir.h"
#include "unit.h"
#include "wait.h"

#define WORDS_MAX 24

static struct tempdir dir;
static struct qless_store *store;
static struct qless_store_error error;

/* Fails with the text of the error unless the call has succeeded. */
#define MUST(call) TEST_ASSERT_EQUAL_INT_MESSAGE(0, (call), error.text)
/* A call that returns 1 for something found. */
#define MUST_FIND(call) TEST_ASSERT_EQUAL_INT_MESSAGE(1, (call), error.text)
/* A call that fails with this code. */
#define MUST_FAIL(code_, call)                                                  \
	do {                                                                    \
		TEST_ASSERT_EQUAL_INT_MESSAGE((code_), (call), error.text);     \
		TEST_ASSERT_EQUAL_INT((code_), error.code);                     \
		TEST_ASSERT_TRUE_MESSAGE(error.text[0] != '\0', "no sentence"); \
	} while (0)

static inline void expect_text(const char *expected, struct qless_str text)
{
	TEST_ASSERT_EQUAL_STRING_LEN(expected, text.ptr, text.len);
	TEST_ASSERT_EQUAL_UINT64(strlen(expected), text.len);
}

static inline void expect_in(const char *part, const char *text)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, part), text);
}

static inline void open_store(enum qless_store_sync sync)
{
	struct qless_store_options options = { .size = sizeof options, .sync = sync };

	MUST(qless_store_open(dir.path, &options, &store, &error));
}

static inline void close_store(void)
{
	MUST(qless_store_close(store, &error));
	store = NULL;
}

/* Runs a command whose words are separated by blanks. */
static inline int run_words(struct qless_store *s, const char *line,
			    const struct qless_call_options *options, struct qless_reply **ret)
{
	struct qless_str argv[WORDS_MAX];
	size_t argc = 0;

	for (const char *at = line; *at != '\0'; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		TEST_ASSERT_TRUE(argc < WORDS_MAX);
		argv[argc++] = (struct qless_str){ at, len };
		at += len;
	}
	return qless_store_call(s, argv, argc, options, ret, &error);
}

static inline struct qless_reply *ask(const char *line)
{
	struct qless_reply *reply;

	MUST(run_words(store, line, NULL, &reply));
	return reply;
}

/* Runs a command and expects a text. */
static inline void expect_answer(const char *expected, const char *line)
{
	struct qless_reply *reply = ask(line);

	expect_text(expected, qless_reply_text(reply));
	qless_reply_free(reply);
}

static inline void tell(const char *line)
{
	qless_reply_free(ask(line));
}

static inline void put_job(const char *queue, const char *jid, double delay_s)
{
	struct qless_store_put put = { .size = sizeof put,
				       .queue = qless_text(queue),
				       .jid = qless_text(jid),
				       .klass = qless_text("Send"),
				       .data = qless_text("{\"to\":\"ann\"}"),
				       .delay_s = delay_s };

	MUST(qless_store_put(store, &put, NULL, &error));
}

static inline struct qless_store_worker *start_worker(const char *name)
{
	/* A busy machine may need long to attach it again. */
	struct qless_store_worker_options options = { .size = sizeof options,
						      .name = qless_text(name),
						      .grace_s = 1000 };
	struct qless_store_worker *worker;

	MUST(qless_store_worker_new(store, &options, &worker, &error));
	return worker;
}

static inline void end_worker(struct qless_store_worker *worker)
{
	MUST(qless_store_worker_free(worker, &error));
}

/* Waits for the next job of a queue. */
static inline struct qless_store_job *next_job(struct qless_store_worker *worker, const char *queue)
{
	struct qless_str name = qless_text(queue);
	struct qless_store_job *job;

	MUST_FIND(qless_store_next(worker, &name, 1, NULL, &job, &error));
	return job;
}

/* Returns whether the queue has a job now. Frees it. */
static inline bool has_job(struct qless_store_worker *worker, const char *queue)
{
	struct qless_next_options options = { .size = sizeof options, .timeout_s = -1 };
	struct qless_str name = qless_text(queue);
	struct qless_store_job *job;
	int rc = qless_store_next(worker, &name, 1, &options, &job, &error);

	TEST_ASSERT_TRUE_MESSAGE(rc >= 0, error.text);
	if (rc == 1)
		qless_store_job_free(job);
	return rc == 1;
}

static inline void expect_state(const char *state, const char *jid)
{
	struct qless_store_job *job;

	MUST_FIND(qless_store_get(store, qless_text(jid), &job, &error));
	expect_text(state, qless_store_job_state(job));
	qless_store_job_free(job);
}

static inline bool is_in_state(const char *state, const char *jid)
{
	struct qless_store_job *job;
	bool is;

	MUST_FIND(qless_store_get(store, qless_text(jid), &job, &error));
	is = strcmp(state, qless_store_job_state(job).ptr) == 0;
	qless_store_job_free(job);
	return is;
}

/* Returns a number of INFO. */
static inline int64_t read_figure(const char *name)
{
	struct qless_reply *reply = ask("INFO everything");
	const char *at = strstr(qless_reply_text(reply).ptr, name);
	int64_t value;

	TEST_ASSERT_NOT_NULL_MESSAGE(at, name);
	value = atoll(at + strlen(name) + 1);
	qless_reply_free(reply);
	return value;
}

/* Whether a client waits for jobs. */
static inline bool somebody_waits(void)
{
	return read_figure("blocked_clients") > 0;
}

/* A thread that waits for a job of the queue `mail`. */
struct waiter {
	pthread_t thread;
	struct qless_store_worker *worker;
	struct qless_stopper *stopper;
	double timeout_s;
	struct qless_store_job *job;
	struct qless_store_error error;
	int rc; /* of qless_store_next() */
};

static inline void *wait_for_job(void *arg)
{
	struct waiter *waiter = arg;
	struct qless_next_options options = { .size = sizeof options,
					      .timeout_s = waiter->timeout_s,
					      .stopper = waiter->stopper };
	struct qless_str queue = qless_text("mail");

	waiter->rc =
		qless_store_next(waiter->worker, &queue, 1, &options, &waiter->job, &waiter->error);
	return NULL;
}

static inline void begin_wait(struct waiter *waiter, struct qless_store_worker *worker,
			      struct qless_stopper *stopper)
{
	*waiter = (struct waiter){ .worker = worker, .stopper = stopper };
	TEST_ASSERT_EQUAL_INT(0, pthread_create(&waiter->thread, NULL, wait_for_job, waiter));
	WAIT_UNTIL(somebody_waits());
}

#endif
