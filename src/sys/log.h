/*
 * The log of the daemon: one event, one line, one write.
 *
 * Text:   2026-11-18T14:03:22.123Z 1234 notice client closed id=7 addr=127.0.0.1:4711
 * logfmt: ts=2026-11-18T14:03:22.123Z pid=1234 level=notice msg="client closed" id=7 addr=...
 *
 * If standard error is systemd's journal, which adds the time and the process id, lines on it begin
 * with their priority instead: <5>client closed id=7 addr=...
 *
 * Control bytes are written as escapes such as \n, \t and \xHH, and ambiguous values are quoted. So
 * no client can forge a line or a field. A line longer than LOG_LINE_MAX_BYTES is cut.
 *
 * The process has one log, which is global so that any function can report an error. Before
 * log_open() it is standard error at level notice. Any thread may write lines. The other calls are
 * for the main thread.
 */
#ifndef SYS_LOG_H
#define SYS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

#define LOG_LINE_MAX_BYTES 4096

enum log_level {
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_VERBOSE,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_FATAL, /* the server cannot start, or has to stop */
};

enum log_format {
	LOG_FORMAT_TEXT,
	LOG_FORMAT_LOGFMT,
};

struct log_options {
	enum log_level level;
	enum log_format format;
	const char *file; /* NULL or empty for standard error, unless syslog is set */
	bool syslog;
	const char *syslog_ident;
	int syslog_facility; /* LOG_LOCAL0 and so on from <syslog.h> */
};

/* Copies the options. If the file cannot be opened, it writes a line to `ret_error`, fails, and
 * leaves the log unchanged. */
int log_open(const struct log_options *options, struct buf *ret_error);
/* Restores the state before log_open(). */
void log_close(void);

/* Note whether the service manager has connected standard error to its journal. At the start. */
void log_find_journal(void);
/* Whether lines go to the journal. */
bool log_is_journal(void);

/* Open the file again by name, after a log rotation renamed it. If that fails, the old file stays
 * in use. */
int log_reopen(struct buf *ret_error);

void log_set_level(enum log_level level);
void log_set_format(enum log_format format);
bool log_is_enabled(enum log_level level);

/* The descriptor that lines go to, or standard error if they go only to syslog. For the crash
 * handler. */
int log_fd(void);

/* Lines that could not be written, for example because the disk is full. */
uint64_t log_lines_lost(void);

/* Let the lines of this thread go to a function instead of the log of the process, for a server
 * inside another program. A line has the message and its fields, with escapes, and ends with a NUL.
 * The thread has a level of its own, which begins with notice. NULL ends that. */
typedef void log_line_fn(void *arg, enum log_level level, const char *line);
void log_redirect_thread(log_line_fn *fn, void *arg);

/* A key and its value. Keys are literals. */
struct log_field {
	const char *key; /* NULL in the last field */
	struct qless_str text;
	int64_t number;
	bool is_number;
};

#define LOG_STR(k, slice)                   \
	{                                   \
		.key = (k), .text = (slice) \
	}
#define LOG_TEXT(k, cstring) LOG_STR(k, str_from(cstring))
#define LOG_INT(k, integer)                                              \
	{                                                                \
		.key = (k), .number = (int64_t)(integer), .is_number = 1 \
	}
#define LOG_FIELDS(...) ((const struct log_field[]){ __VA_ARGS__, { .key = NULL } })

/* fields: LOG_FIELDS(LOG_INT("id", 7), ...) or NULL. */
void log_write(enum log_level level, const struct log_field *fields, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define log_debug(...)	 log_write(LOG_LEVEL_DEBUG, NULL, __VA_ARGS__)
#define log_verbose(...) log_write(LOG_LEVEL_VERBOSE, NULL, __VA_ARGS__)
#define log_notice(...)	 log_write(LOG_LEVEL_NOTICE, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, NULL, __VA_ARGS__)
#define log_fatal(...)	 log_write(LOG_LEVEL_FATAL, NULL, __VA_ARGS__)

#endif
