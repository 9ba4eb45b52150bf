/*
 * JSON between clients and the engine: reads arguments and writes jobs.
 *
 * Only this module uses yyjson. util/json.h does the spelling of strings and numbers.
 */
#ifndef COMMAND_JSON_H
#define COMMAND_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/str.h"

/* Levels of nested arrays and objects. */
#define JSON_DEPTH_MAX 100000
/* Bytes above which a text is checked by json_walk(). json_check() has clearer errors, but takes up
 * to ten times as long. */
#define JSON_LONG_BYTES ((size_t)32 * 1024)

/* Name and version of the library. */
const char *json_library(void);

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* Returns the kind of a valid text that begins with this byte. */
static inline enum json_kind json_kind_of(char first)
{
	switch (first) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	case 'n':
		return JSON_NULL;
	default:
		return JSON_NUMBER;
	}
}

/* Whether arrays and objects are nested in more than `max` levels. The text need not be JSON. */
bool json_is_deeper(struct qless_str text, size_t max);

/* Whether the text is one JSON document (RFC 8259), and its kind. If it is not, `error` is replaced
 * by what is wrong and where. */
bool json_check(struct qless_str text, enum json_kind *ret_kind, struct buf *error);

/* Returns true only if json_check() would, at a fraction of its cost. Plain JSON is the usual kind,
 * nested in no more than JSON_PLAIN_DEPTH_MAX levels. The kind is set only if the text is plain. */
#define JSON_PLAIN_DEPTH_MAX 64
bool json_is_plain(struct qless_str text, enum json_kind *ret_kind);

/* Where a walk through a text ends early. */
struct json_bounds {
	size_t depth;	 /* levels of nesting, at most JSON_DEPTH_MAX */
	size_t elements; /* of the outermost array, or members of the outermost object */
};

/* The result of a walk through a text. */
struct json_shape {
	enum json_kind kind;
	size_t elements;
	bool is_too_deep; /* the walk ended because of bounds.depth */
	bool is_too_long; /* the walk ended because of bounds.elements */
};

/* Returns what json_check() returns, in time that is linear in the length with a small factor, and
 * without a document. If the text is not JSON or exceeds a bound, `error` is replaced by what is
 * wrong and where. The wording differs from that of json_check(). */
bool json_walk(struct qless_str text, const struct json_bounds *bounds,
	       struct json_shape *ret_shape, struct buf *error);

/* An array of strings, read from text. A number becomes a string as it is written, and an empty
 * object counts as an empty array, because some clients spell it so. */
struct json_strings {
	void *doc; /* holds the strings */
	struct qless_str *items;
	size_t count;
	bool has_numbers; /* as their text */
};

/* The text must be valid JSON. Returns false if it is not such an array. With `objects`, an object
 * with members counts as an empty array. */
bool json_read_strings(struct qless_str text, bool objects, struct json_strings *ret_strings);
/* A zeroed struct is allowed. */
void json_strings_done(struct json_strings *strings);

/* Read an object with the only member `base64`, and append the bytes that it stands for. Returns
 * false, with the buffer unchanged, if the text is anything else. */
bool json_read_base64(struct qless_str text, struct buf *bytes);

/* How an empty list is written: [] is correct, {} is the result of encoding it in Lua. */
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
	/* A running job has the number of its hand-out, and other jobs have neither worker nor
	 * expiry. In the reference, a job that was returned or timed out has those of its last run.
	 */
	bool tells_run;
	/* Jobs and recurring jobs have members that the reference does not know: limits, schedules.
	 */
	bool tells_own;
	/* Data is a value. Otherwise it is a string with JSON in it, as in the reference. */
	bool embeds_data;
};

/* The caller writes the elements between these two calls. json_end_list() writes the spelling of an
 * empty list if there were none. */
size_t json_begin_list(struct buf *b);
void json_end_list(struct buf *b, size_t begin, enum json_empty empty);
/* Call this before each element. */
void json_next_item(struct buf *b, size_t begin);

void json_append_list(struct buf *b, const struct qless_list *list, enum json_empty empty);

/* Appends the members of a log item, with a comma after each, except `when` and `what`: every entry
 * of a history has its own. */
void json_append_item_members(struct buf *b, struct qless_str item);

/* `now` is the time of the call: a claim to a unique key may have ended by then. */
void json_append_job(struct buf *b, const struct qless_job *job, const struct json_style *style,
		     double now);
void json_append_job_tags(struct buf *b, const struct qless_job *job, enum json_empty empty);

/* A text and its spelling in JSON, as they were written last. */
struct json_text_memo {
	struct qless_str text; /* compared by address, not by content */
	size_t len;
	char written[64];
};

struct json_number_memo {
	double value; /* NaN before the first */
	size_t len;
	char written[NUM_MAX];
};

/* Values that the jobs of a reply, and the parts of one job, often share. */
struct json_job_memo {
	double now; /* the time of the call */
	struct json_text_memo queue, worker, klass, state;
	struct json_number_memo put, popped, expires;
};

/*
 * A list of jobs, written one after the other. The caller may empty the buffer between two jobs, so
 * that it never holds the whole of a long list. If the engine changes before the end, the caller
 * calls json_job_list_forget() before the next job.
 */
struct json_job_list {
	struct buf *buf;
	size_t count;
	const struct json_style *style;
	struct json_job_memo memo;
};

/* `style` is not copied. */
void json_job_list_begin(struct json_job_list *list, struct buf *b, const struct json_style *style,
			 double now);
void json_job_list_add(struct json_job_list *list, const struct qless_job *job);
void json_job_list_forget(struct json_job_list *list);
void json_job_list_end(struct json_job_list *list);

void json_append_recur(struct buf *b, const struct qless_recur *recur,
		       const struct json_style *style);
void json_append_recur_tags(struct buf *b, const struct qless_recur *recur, enum json_empty empty);

#endif
