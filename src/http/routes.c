#include "http/routes.h"

#include <string.h>

/* ---- the table ---- */

#define ARGS(...) ((const struct route_arg[]){ __VA_ARGS__, { .name = NULL } })
#define NO_ARGS	  ((const struct route_arg[]){ { .name = NULL } })

#define WORD(text)                                                       \
	{                                                                \
		.kind = ROUTE_WORD, .need = ROUTE_REQUIRED, .word = text \
	}
#define SEGMENT(name_)                                                       \
	{                                                                    \
		.kind = ROUTE_SEGMENT, .need = ROUTE_REQUIRED, .name = name_ \
	}
#define VALUE(name_, kind_, need_, word_, fallback_, help_)                                 \
	{                                                                                   \
		.kind = ROUTE_##kind_, .need = ROUTE_##need_, .name = name_, .word = word_, \
		.fallback = fallback_, .help = help_                                        \
	}
/* A value without a word before it. */
#define NEED(name, kind, help)		    VALUE(name, kind, REQUIRED, NULL, NULL, help)
#define MAY(name, kind, help)		    VALUE(name, kind, OPTIONAL, NULL, NULL, help)
#define DEFAULT(name, kind, fallback, help) VALUE(name, kind, DEFAULT, NULL, fallback, help)
#define FILLED(name, kind, fallback, help)  VALUE(name, kind, FILLED, NULL, fallback, help)
#define DEFAULT_USER(name, help)	    VALUE(name, TEXT, USER, NULL, NULL, help)
#define DEFAULT_NOW(name, help)		    VALUE(name, NUMBER, NOW, NULL, NULL, help)
#define DEFAULT_JOB(name, kind, help)	    VALUE(name, kind, JOB, NULL, NULL, help)
/* An option: a word, and the value after it. */
#define OPTION(name, kind, help)	     VALUE(name, kind, OPTIONAL, name, NULL, help)
#define OPTION_NAMED(name, word, kind, help) VALUE(name, kind, OPTIONAL, word, NULL, help)
#define EITHER(name, kind, help)	     VALUE(name, kind, EITHER, name, NULL, help)

#define LOCK OPTION("lock", NUMBER, "the number of the hand-out, as the job has it")
#define CURSOR                                                                               \
	OPTION("cursor", TEXT, "0 to begin, or the cursor of the last reply; 0 is the end"), \
		OPTION("count", NUMBER, "elements at most")
#define RAW_DATA(word) \
	VALUE("raw", RAW, OPTIONAL, word, NULL, "data is bytes: {\"base64\": \"...\"}, or a string")
#define PUT_DATA VALUE("data", DATA, REQUIRED, NULL, NULL, "the data; or an array `args`")
#define JOB_DATA VALUE("data", DATA, JOB, NULL, NULL, "the data; or an array `args`")
#define NEW_DATA VALUE("data", DATA, OPTIONAL, NULL, NULL, "the new data"), RAW_DATA(NULL)

/* Options of all commands that put a job. */
#define KEPT_OPTIONS                                                                             \
	OPTION("backoff", BACKOFF, "delays of retries: kind, base and max"),                     \
		OPTION("runtime", NUMBER, "seconds that one run may take"),                      \
		OPTION("retain", SCALAR, "seconds that it is kept once it is complete, or ack"), \
		OPTION("unique", TEXT, "key: no other live job has it"),                         \
		OPTION("until", SCALAR, "popped, finished, or seconds that the key is held")
#define TERM_OPTIONS                                                            \
	KEPT_OPTIONS, OPTION("at", NUMBER, "the time at which the job is due"), \
		OPTION("replace", FLAG, "change the job that has the key")
#define JOB_OPTIONS                                                               \
	OPTION("priority", NUMBER, "the priority"), OPTION("tags", JSON, "tags"), \
		OPTION("retries", NUMBER, "how often it may be retried"),         \
		OPTION("limits", JSON, "limits that apply to it")
#define PUT_OPTIONS                                                                   \
	JOB_OPTIONS, OPTION("depends", JSON, "jids that it waits for"), TERM_OPTIONS, \
		RAW_DATA("raw")
#define SCHEDULE                                                                                   \
	VALUE("interval", INTERVAL, EITHER, "interval", NULL, "seconds from one job to the next"), \
		VALUE("offset", OFFSET, OPTIONAL, NULL, NULL, "seconds until the first job"),      \
		EITHER("cron", TEXT, "a cron expression")
#define RECUR_OPTIONS                                                               \
	JOB_OPTIONS, OPTION("backlog", NUMBER, "missed jobs that are put at most"), \
		OPTION("tz", TEXT, "the time zone of the cron expression"),         \
		OPTION("missed", TEXT, "skip, one or all"),                         \
		OPTION("overlap", TEXT, "allow or skip"), KEPT_OPTIONS, RAW_DATA("raw")

#define ROW(method_, path_, command_, waiting_, many_, args_, status_, wrap_, reply_, null_, \
	    text_, summary_)                                                                 \
	{ .method = HTTP_METHOD_##method_,                                                   \
	  .path = path_,                                                                     \
	  .command = command_,                                                               \
	  .waiting = waiting_,                                                               \
	  .many = many_,                                                                     \
	  .args = args_,                                                                     \
	  .status = status_,                                                                 \
	  .wrap = wrap_,                                                                     \
	  .reply = reply_,                                                                   \
	  .null = ROUTE_NULL_##null_,                                                        \
	  .text = JSON_REPLY_##text_,                                                        \
	  .summary = summary_ },
#define ROUTE(method, path, command, args, status, wrap, reply, null, summary) \
	ROW(method, path, command, NULL, NULL, args, status, wrap, reply, null, STRING, summary)
#define ROUTE_MANY(method, path, command, many, args, status, wrap, reply, null, summary) \
	ROW(method, path, command, NULL, many, args, status, wrap, reply, null, STRING, summary)
#define ROUTE_WAITING(method, path, command, waiting, args, status, wrap, reply, null, summary) \
	ROW(method, path, command, waiting, NULL, args, status, wrap, reply, null, STRING, summary)
#define ROUTE_TEXT(method, path, command, args, status, wrap, reply, null, text, summary) \
	ROW(method, path, command, NULL, NULL, args, status, wrap, reply, null, text, summary)

static const struct route rows[] = {
#include "http/routes.def"
};

#define ROWS (sizeof rows / sizeof *rows)

size_t routes_count(void)
{
	return ROWS;
}

const struct route *routes_row(size_t i)
{
	return &rows[i];
}

/* ---- finding ---- */

/* Takes the next segment of a pattern. */
static bool next_segment(const char **at, struct qless_str *ret_segment)
{
	const char *begin = *at;

	if (*begin++ != '/')
		return false;
	*at = begin + strcspn(begin, "/");
	*ret_segment = str_make(begin, (size_t)(*at - begin));
	return true;
}

/* Whether a path has the pattern. A segment in braces stands for any name, but not for none. */
static bool matches(const char *pattern, const struct http_target *target)
{
	struct qless_str expected;
	size_t i = 0;

	while (next_segment(&pattern, &expected)) {
		if (i == target->segment_count)
			return false;
		if (expected.ptr[0] == '{' ? target->segments[i].len == 0
					   : !str_equal(expected, target->segments[i]))
			return false;
		i++;
	}
	return i == target->segment_count;
}

const struct route *routes_find(enum http_method method, const struct http_target *target,
				unsigned *ret_allowed)
{
	*ret_allowed = 0;
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].method == method && matches(rows[i].path, target))
			return &rows[i];
	}
	for (size_t i = 0; i < ROWS; i++) {
		if (matches(rows[i].path, target))
			*ret_allowed |= 1u << rows[i].method;
	}
	return NULL;
}
