/*
 * JSON between clients and the engine: arguments are read here, jobs written.
 *
 * yyjson stays behind this file. What clients get is spelled by util/json.h.
 */
#ifndef COMMAND_JSON_H
#define COMMAND_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/str.h"

/* How deep arrays and objects may be nested at most. */
#define JSON_DEPTH_MAX 100000

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* Whether more than `max` arrays and objects are in one another. The text may be anything. */
bool json_is_deeper(struct qless_str text, size_t max);

/* Whether the text is one JSON document (RFC 8259), and of what kind. If not, what is wrong and
 * where goes to `error`, which is cleared before. */
bool json_check(struct qless_str text, enum json_kind *ret_kind, struct buf *error);

/* True only if json_check() would be, for most texts without its cost: plain is JSON of the usual
 * kind, nested no deeper than JSON_PLAIN_DEPTH_MAX. The kind means nothing if it is not. */
#define JSON_PLAIN_DEPTH_MAX 64
bool json_is_plain(struct qless_str text, enum json_kind *ret_kind);

/* An array of strings, read from text. Numbers in it are taken as they are written, and an empty
 * object for an empty array, for that is how some clients spell it. */
struct json_strings {
	void *doc; /* holds the strings */
	struct qless_str *items;
	size_t count;
};

/* The text is good JSON. False if it is something else than such an array. An object that is not
 * empty counts as one if `objects` says so: it names nothing. */
bool json_read_strings(struct qless_str text, bool objects, struct json_strings *ret_strings);
/* Fine with a zeroed struct. */
void json_strings_done(struct json_strings *strings);

/* How an empty list is written: [] is right, {} is what a script of Lua makes of it. */
enum json_empty {
	JSON_EMPTY_ARRAY,
	JSON_EMPTY_OBJECT,
};

/* The name of the queue in a history's entry of a put. */
enum json_put_key {
	JSON_PUT_Q,
	JSON_PUT_QUEUE,
};

/* How a reply spells what dialects and forms spell in different ways. */
struct json_style {
	enum json_empty whole; /* an empty list that is the whole reply */
	enum json_empty inner; /* an empty list inside an object */
	enum json_put_key put_key;
};

/* Elements are written between the brackets by the caller; json_end_list() puts what an empty list
 * needs if nothing has been since json_begin_list(). */
size_t json_begin_list(struct buf *b);
void json_end_list(struct buf *b, size_t begin, enum json_empty empty);
/* Before each element. */
void json_next_item(struct buf *b, size_t begin);

void json_append_list(struct buf *b, const struct qless_list *list, enum json_empty empty);

/* The members of a log item, each with a comma behind it, but `when` and `what`, which every entry
 * of a history has of its own. */
void json_append_item_members(struct buf *b, struct qless_str item);

void json_append_job(struct buf *b, const struct qless_job *job, const struct json_style *style);
void json_append_job_tags(struct buf *b, const struct qless_job *job, enum json_empty empty);

/* How something was written the last time, and what it was. */
struct json_text_memo {
	struct qless_str text; /* the same bytes at the same place */
	size_t len;
	char written[64];
};

struct json_number_memo {
	double value; /* NaN if there was none */
	size_t len;
	char written[NUM_MAX];
};

/* What the jobs of a reply, and the parts of one job, often have in common. */
struct json_job_memo {
	struct json_text_memo queue, worker, klass, state;
	struct json_number_memo put, popped, expires;
};

/*
 * A list of jobs, written one after the other. The buffer may be emptied in between, so that a long
 * list need not be in it as a whole; the engine must not change meanwhile.
 */
struct json_job_list {
	struct buf *buf;
	size_t count;
	const struct json_style *style;
	struct json_job_memo memo;
};

/* `style` is not copied. */
void json_job_list_begin(struct json_job_list *list, struct buf *b, const struct json_style *style);
void json_job_list_add(struct json_job_list *list, const struct qless_job *job);
void json_job_list_end(struct json_job_list *list);

void json_append_recur(struct buf *b, const struct qless_recur *recur,
		       const struct json_style *style);
void json_append_recur_tags(struct buf *b, const struct qless_recur *recur, enum json_empty empty);

#endif
