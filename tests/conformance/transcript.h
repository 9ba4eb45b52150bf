/*
 * Recorded scenarios: reading them, and telling where what came out differs from what was recorded.
 */
#ifndef CONFORMANCE_TRANSCRIPT_H
#define CONFORMANCE_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include <yyjson.h>

#include "util/buf.h"
#include "util/str.h"

/* The scenario that is being run. */
struct scenario {
	char *id;
	yyjson_val *step; /* the one being run, or that was run last */
	bool failed;	  /* a difference has been told; the rest is passed over */
};

/* What to do with a scenario: it begins, each of its lines, it ends. */
struct transcript_ops {
	void (*begin)(void *arg);
	void (*line)(void *arg, yyjson_val *line);
	void (*end)(void *arg);
};

struct tally {
	size_t passed;
	size_t failed;
};

/* Run the scenarios of a file, or the only one with that id unless it is NULL. Ends the process if
 * the file cannot be read. */
void transcript_run(const char *path, const char *only, struct scenario *s,
		    const struct transcript_ops *ops, void *arg, struct tally *tally);

/* Begin to tell of the first difference of the scenario. */
void scenario_differ(struct scenario *s, const char *what);

void show_text(const char *label, struct qless_str text);
void show_json(const char *label, yyjson_val *value);

/* The bytes of a string of JSON. */
struct qless_str json_text(yyjson_val *value);

/* The arguments of the step: command, now, the rest. To be freed; they point into the step. */
struct qless_str *step_arguments(const struct scenario *s, size_t *ret_count);

/* Compare the reply of the step, in RESP2, with what was recorded. An error may be wrapped as that
 * of a script. */
void check_reply(struct scenario *s, struct qless_str reply);

/* Events one after the other: channel and payload, each with its length before it. */
struct events {
	struct buf text;
	size_t count;
};

void events_add(struct events *events, struct qless_str channel, struct qless_str payload);
void check_events(struct scenario *s, const struct events *events);

/* A text with its length before it, and back. */
void append_text(struct buf *to, struct qless_str text);
struct qless_str take_text(struct qless_str *from);

#endif
