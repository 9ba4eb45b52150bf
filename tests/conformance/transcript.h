/*
 * Recorded scenarios: reading them, and reporting differences between results and the recording.
 */
#ifndef CONFORMANCE_TRANSCRIPT_H
#define CONFORMANCE_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include <yyjson.h>

#include "util/buf.h"
#include "util/str.h"

/* The current scenario. */
struct scenario {
	char *id;
	yyjson_val *step; /* the current step, or the last one */
	bool failed;	  /* a difference was reported; the rest is skipped */
};

/* Callbacks for the begin of a scenario, each of its lines, and its end. */
struct transcript_ops {
	void (*begin)(void *arg);
	void (*line)(void *arg, yyjson_val *line);
	void (*end)(void *arg);
};

struct tally {
	size_t passed;
	size_t failed;
};

/* Run the scenarios of a file, or only the one with that id unless it is NULL. Ends the process if
 * the file cannot be read. */
void transcript_run(const char *path, const char *only, struct scenario *s,
		    const struct transcript_ops *ops, void *arg, struct tally *tally);

/* Report the first difference of the scenario; the details follow. */
void scenario_differ(struct scenario *s, const char *what);

void show_text(const char *label, struct qless_str text);
void show_json(const char *label, yyjson_val *value);

/* The bytes of a JSON string. */
struct qless_str json_text(yyjson_val *value);

/* The arguments of the step: command, now, the rest. The caller frees the array; its items point
 * into the step. */
struct qless_str *step_arguments(const struct scenario *s, size_t *ret_count);

/* Compare the reply of the step, in RESP2, with the recorded one. An error may be wrapped as that
 * of a script. */
void check_reply(struct scenario *s, struct qless_str reply);

/* Events in order: channel and payload, each after its length. */
struct events {
	struct buf text;
	size_t count;
};

void events_add(struct events *events, struct qless_str channel, struct qless_str payload);
void check_events(struct scenario *s, const struct events *events);

/* Append a text after its length, and take one from the front. */
void append_text(struct buf *to, struct qless_str text);
struct qless_str take_text(struct qless_str *from);

#endif
