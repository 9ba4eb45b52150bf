/*
 * The native commands on databases of their own, with the table of the real server and a clock that
 * a test sets.
 */
#ifndef TESTS_NATIVE_H
#define TESTS_NATIVE_H

#include <stdio.h>

#include "call.h"

#include "command/databases.h"
#include "server/commands.h"

#define NATIVE_DATABASES 2

struct native_fixture {
	struct call_fixture call;
	double now;	   /* the time of the next native command */
	double passed;	   /* the latest time that a command reported as used */
	unsigned made;	   /* jids made so far */
	struct buf events; /* "channel payload\n" of each */
	struct buf dump;
};

static inline double native_now(void *arg)
{
	struct native_fixture *f = arg;

	return f->now;
}

/* Makes 00..01, 00..02 and so on. */
static inline void native_make_jid(void *arg, char to[COMMAND_JID_BYTES])
{
	struct native_fixture *f = arg;
	char text[COMMAND_JID_BYTES + 1];

	snprintf(text, sizeof text, "%032x", ++f->made);
	memcpy(to, text, COMMAND_JID_BYTES);
}

static inline void native_pass(void *arg, double now)
{
	struct native_fixture *f = arg;

	f->passed = now;
}

static inline void native_publish(void *arg, struct qless_str channel, struct qless_str payload)
{
	struct native_fixture *f = arg;

	buf_append_str(&f->events, channel);
	buf_append_char(&f->events, ' ');
	buf_append_str(&f->events, payload);
	buf_append_char(&f->events, '\n');
}

/* `publish_to_queue` is the hook of the engine; it may be NULL. */
static inline void native_setup_followed(struct native_fixture *f,
					 void (*publish_to_queue)(void *arg, struct qless_str queue,
								  struct qless_str payload))
{
	struct qless_hooks hooks = { .publish = native_publish,
				     .publish_to_queue = publish_to_queue,
				     .arg = f,
				     .hash_seed = 7 };

	*f = (struct native_fixture){ .now = 1000,
				      .events = BUF_INIT(BUF_NO_MAX),
				      .dump = BUF_INIT(BUF_NO_MAX) };
	call_setup(&f->call, commands_new(/* has_group= */ false));
	f->call.env.databases = databases_new(NATIVE_DATABASES, &hooks);
	f->call.env.now = native_now;
	f->call.env.pass = native_pass;
	f->call.env.make_jid = native_make_jid;
	f->call.env.arg = f;
}

static inline void native_setup(struct native_fixture *f)
{
	native_setup_followed(f, NULL);
}

static inline void native_fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	TEST_FAIL_MESSAGE(mem_dup(finding.ptr, finding.len));
}

static inline struct qless *native_engine(struct native_fixture *f)
{
	return databases_get(f->call.env.databases, f->call.session.db)->engine;
}

/* Also checks that the state is consistent at the end of every test. */
static inline void native_teardown(struct native_fixture *f)
{
	qless_check(native_engine(f), native_fail_finding, NULL);
	databases_free(f->call.env.databases);
	buf_done(&f->events);
	buf_done(&f->dump);
	call_teardown(&f->call);
}

static inline void native_append_dump(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

/* The whole state as text, borrowed until the next call. */
static inline const char *native_dump(struct native_fixture *f)
{
	buf_clear(&f->dump);
	qless_dump(native_engine(f), native_append_dump, &f->dump);
	return buf_cstr(&f->dump);
}

#define NATIVE(f, ...)			CALL(&(f)->call, __VA_ARGS__)
#define ASSERT_NATIVE(expected, f, ...) ASSERT_REPLY(expected, &(f)->call, __VA_ARGS__)

/* The reply begins with `expected`. */
#define ASSERT_BEGINS(expected, f, ...)                                   \
	do {                                                              \
		const char *reply_ = NATIVE(f, __VA_ARGS__);              \
                                                                          \
		if (strncmp(reply_, expected, sizeof(expected) - 1) != 0) \
			TEST_ASSERT_EQUAL_STRING(expected, reply_);       \
	} while (0)

#endif
