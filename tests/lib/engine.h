/*
 * An engine for each case of a unit test, the events it published, and short names for frequent
 * calls. After each case the state must be consistent.
 */
#ifndef TESTS_ENGINE_H
#define TESTS_ENGINE_H

#include <stdio.h>
#include <stdlib.h>

#include "qless.h"
#include "unit.h"
#include "util/buf.h"

#define UNUSED_OK __attribute__((unused))

static struct qless *q;
static struct buf events; /* a line for each: channel, blank, payload */
static bool is_heard;	  /* whether events have a listener */

static void on_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	(void)arg;
	buf_append_str(&events, channel);
	buf_append_char(&events, ' ');
	buf_append_str(&events, payload);
	buf_append_char(&events, '\n');
}

static bool somebody_listens(void *arg)
{
	(void)arg;
	return is_heard;
}

static void on_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	printf("%.*s\n", (int)finding.len, finding.ptr);
}

static void engine_set_up(void)
{
	struct qless_hooks hooks = {
		.publish = on_event,
		.listens = somebody_listens,
		.hash_seed = 42,
	};

	is_heard = true;
	q = qless_new(&hooks);
	buf_init(&events, BUF_NO_MAX);
}

static void engine_tear_down(void)
{
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
	qless_free(q);
	buf_done(&events);
}

/* Compares all events since its last use. */
#define ASSERT_EVENTS(expected)                         \
	do {                                            \
		ASSERT_STR(expected, buf_str(&events)); \
		buf_clear(&events);                     \
	} while (0)

UNUSED_OK static void forget_events(void)
{
	buf_clear(&events);
}

#define ASSERT_ERROR(code, text, call)                 \
	do {                                           \
		TEST_ASSERT_EQUAL_INT((code), (call)); \
		ASSERT_STR(text, qless_error_text(q)); \
	} while (0)

#define OK(call) TEST_ASSERT_EQUAL_INT(0, (call))

UNUSED_OK static struct qless_put a_put(const char *queue, const char *jid)
{
	return (struct qless_put){ .worker = STR("client"),
				   .queue = str_from(queue),
				   .jid = str_from(jid),
				   .klass = STR("Klass"),
				   .data = STR("{}") };
}

UNUSED_OK static void put(double now, const char *queue, const char *jid)
{
	struct qless_put p = a_put(queue, jid);

	OK(qless_put(q, now, &p));
}

UNUSED_OK static void put_priority(double now, const char *queue, const char *jid, double priority)
{
	struct qless_put p = a_put(queue, jid);

	p.has_priority = true;
	p.priority = priority;
	OK(qless_put(q, now, &p));
}

UNUSED_OK static void put_delayed(double now, const char *queue, const char *jid, double delay)
{
	struct qless_put p = a_put(queue, jid);

	p.delay = delay;
	OK(qless_put(q, now, &p));
}

UNUSED_OK static void put_retries(double now, const char *queue, const char *jid, double retries)
{
	struct qless_put p = a_put(queue, jid);

	p.has_retries = true;
	p.retries = retries;
	OK(qless_put(q, now, &p));
}

UNUSED_OK static void put_depending(double now, const char *queue, const char *jid, const char *on)
{
	struct qless_put p = a_put(queue, jid);
	struct qless_str jids[1] = { str_from(on) };

	p.depends = jids;
	p.depend_count = 1;
	OK(qless_put(q, now, &p));
}

/* The jids that were popped, each followed by a blank. */
UNUSED_OK static const char *pop(double now, const char *queue, const char *worker, int64_t count)
{
	static char text[512];
	struct qless_jobs jobs;
	struct qless_job_info info;
	size_t len = 0;
	size_t i;

	OK(qless_pop(q, now, str_from(queue), str_from(worker), count, &jobs));
	text[0] = '\0';
	for (i = 0; i < jobs.count; i++) {
		qless_job_read(jobs.items[i], &info);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ", (int)info.jid.len,
					info.jid.ptr);
	}
	return text;
}

/* The strings of a list, each followed by a blank. */
UNUSED_OK static const char *words(const struct qless_list *list)
{
	static char text[512];
	size_t len = 0;
	size_t i;

	text[0] = '\0';
	for (i = 0; i < list->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ",
					(int)list->items[i].len, list->items[i].ptr);
	return text;
}

UNUSED_OK static const char *jobs_in(double now, enum qless_listing listing, const char *queue)
{
	struct qless_list jids;

	OK(qless_jobs(q, now, listing, str_from(queue), 0, 25, &jids));
	return words(&jids);
}

/* How many were moved. */
UNUSED_OK static uint64_t advance(double now, enum qless_advance_kind kind, const char *queue,
				  int64_t max)
{
	struct qless_advance call = { .kind = kind, .queue = str_from(queue), .max = max };
	uint64_t moved = 0;

	OK(qless_advance(q, now, &call, &moved));
	return moved;
}

UNUSED_OK static struct qless_job_info info_of(const char *jid)
{
	const struct qless_job *job = qless_get(q, str_from(jid));
	struct qless_job_info info;

	TEST_ASSERT_NOT_NULL(job);
	qless_job_read(job, &info);
	return info;
}

UNUSED_OK static bool exists(const char *jid)
{
	return qless_get(q, str_from(jid)) != NULL;
}

UNUSED_OK static void complete(double now, const char *queue, const char *jid, const char *worker)
{
	struct qless_complete c = { .jid = str_from(jid),
				    .worker = str_from(worker),
				    .queue = str_from(queue),
				    .data = STR("{}") };
	enum qless_state state;

	OK(qless_complete(q, now, &c, &state));
	TEST_ASSERT_EQUAL_INT(QLESS_COMPLETE, state);
}

UNUSED_OK static void fail(double now, const char *jid, const char *worker, const char *group)
{
	OK(qless_fail(q, now, str_from(jid), str_from(worker), str_from(group), STR("message"),
		      NULL));
}

UNUSED_OK static void set_option(const char *name, const char *value)
{
	OK(qless_config_set(q, 0, str_from(name), str_from(value)));
}

/* Event and time of each entry of the history, each followed by a blank. */
UNUSED_OK static const char *history_of(const char *jid)
{
	static char text[512];
	struct qless_event event;
	size_t cursor = 0;
	size_t len = 0;

	text[0] = '\0';
	while (qless_job_next_event(qless_get(q, str_from(jid)), &cursor, &event))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s@%.14g ",
					(int)event.what.len, event.what.ptr, event.when);
	return text;
}

UNUSED_OK static void append_piece(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

#endif
