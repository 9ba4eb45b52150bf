/*
 * For unit tests of limits: short names for frequent calls, and comparing an engine with one that
 * was loaded from its snapshot.
 */
#ifndef TESTS_LIMITING_H
#define TESTS_LIMITING_H

#include <math.h>

#include "engine.h"

#include "engine/state.h"

#define LIMIT_NAMES_MAX 8

/* Split a list of names at blanks. */
UNUSED_OK static size_t split_names(const char *list, struct qless_str names[LIMIT_NAMES_MAX])
{
	size_t count = 0;

	while (*list != '\0') {
		size_t len = strcspn(list, " ");

		TEST_ASSERT_TRUE(count < LIMIT_NAMES_MAX);
		names[count++] = str_make(list, len);
		list += len;
		list += *list == ' ';
	}
	return count;
}

/* A put with limits, which are separated by blanks. */
UNUSED_OK static struct qless_put a_limited_put(const char *queue, const char *jid,
						const char *limits,
						struct qless_str names[LIMIT_NAMES_MAX])
{
	struct qless_put p = a_put(queue, jid);

	p.has_limits = true;
	p.limits = names;
	p.limit_count = split_names(limits, names);
	return p;
}

UNUSED_OK static void put_limited(double now, const char *queue, const char *jid,
				  const char *limits)
{
	struct qless_str names[LIMIT_NAMES_MAX];
	struct qless_put p = a_limited_put(queue, jid, limits, names);

	OK(qless_put(q, now, &p));
}

UNUSED_OK static void put_limited_priority(double now, const char *queue, const char *jid,
					   const char *limits, double priority)
{
	struct qless_str names[LIMIT_NAMES_MAX];
	struct qless_put p = a_limited_put(queue, jid, limits, names);

	p.has_priority = true;
	p.priority = priority;
	OK(qless_put(q, now, &p));
}

UNUSED_OK static void set_concurrency(double now, const char *name, int64_t concurrency)
{
	struct qless_limit_change change = {
		.name = str_from(name),
		.has_concurrency = true,
		.concurrency = concurrency,
	};

	OK(qless_limit_set(q, now, &change));
}

UNUSED_OK static void set_rate(double now, const char *name, double rate, double per, double burst)
{
	struct qless_limit_change change = {
		.name = str_from(name),
		.has_rate = true,
		.rate = rate,
		.per = per,
		.has_burst = true,
		.burst = burst,
	};

	OK(qless_limit_set(q, now, &change));
}

UNUSED_OK static void hold(double now, const char *name, double seconds)
{
	double until;

	OK(qless_limit_hold(q, now, str_from(name), seconds, &until));
	TEST_ASSERT_EQUAL_DOUBLE(now + seconds, until);
}

UNUSED_OK static bool delete_rule(double now, const char *name)
{
	bool was;

	OK(qless_limit_delete(q, now, str_from(name), &was));
	return was;
}

UNUSED_OK static struct qless_limit_info limit_of(double now, const char *name)
{
	struct qless_limit_info info;

	TEST_ASSERT_TRUE_MESSAGE(qless_limit_get(q, now, str_from(name), &info), name);
	return info;
}

UNUSED_OK static bool has_limit(const char *name)
{
	struct qless_limit_info info;

	return qless_limit_get(q, 0, str_from(name), &info);
}

/* The limits of a job, each followed by a blank. */
UNUSED_OK static const char *limits_of(const char *jid)
{
	static char text[512];
	struct qless_str name;
	size_t cursor = 0, len = 0;

	text[0] = '\0';
	while (qless_job_next_limit(qless_get(q, str_from(jid)), &cursor, &name))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ", (int)name.len,
					name.ptr);
	return text;
}

/* ---- snapshots ---- */

static bool append_state(void *arg, struct qless_str piece)
{
	return buf_append_str(arg, piece);
}

static void append_dump(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static struct qless_str take_state(void *arg)
{
	struct qless_str *left = arg, piece = *left;

	left->len = 0;
	return piece;
}

/* Continue with an engine that is loaded from a snapshot of this one. Both are in the same state.
 */
UNUSED_OK static void reload(void)
{
	struct qless_hooks hooks = { .publish = on_event, .listens = somebody_listens };
	struct buf state = BUF_INIT(BUF_NO_MAX), before = BUF_INIT(BUF_NO_MAX),
		   after = BUF_INIT(BUF_NO_MAX);
	struct qless *loaded;
	struct qless_str left;

	TEST_ASSERT_TRUE(state_save(q, append_state, &state));
	left = buf_str(&state);
	hooks.hash_seed = 7;
	loaded = qless_new(&hooks);
	TEST_ASSERT_EQUAL_INT(0, state_load(loaded, take_state, &left));
	qless_dump(q, append_dump, &before);
	qless_dump(loaded, append_dump, &after);
	buf_append_char(&before, '\0');
	buf_append_char(&after, '\0');
	TEST_ASSERT_EQUAL_STRING(buf_data(&before), buf_data(&after));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(loaded, on_finding, NULL));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
	qless_free(q);
	q = loaded;
	buf_done(&state);
	buf_done(&before);
	buf_done(&after);
}

#endif
