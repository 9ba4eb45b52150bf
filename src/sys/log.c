#include "sys/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/files.h"
#include "util/escape.h"
#include "util/mem.h"

/* Longer messages are cut, so that there is room for the fields after them. */
#define LOG_MESSAGE_MAX_BYTES (LOG_LINE_MAX_BYTES / 2)

/* Bytes at the end of a line for what a cut line needs: dots, a closing quote and a newline. */
#define LOG_LINE_RESERVE 5

/* The log of the process, see log.h. The descriptor keeps its number when the file is reopened, so
 * a line from another thread goes to the old or the new file. */
static struct {
	atomic_int level;  /* enum log_level */
	atomic_int format; /* enum log_format */
	int fd;		   /* -1: only to syslog */
	bool has_journal;  /* standard error is the journal */
	char *file;
	bool syslog;
	char *syslog_ident; /* libc keeps this pointer */
	atomic_uint_fast64_t lines_lost;
} sink = {
	.level = LOG_LEVEL_NOTICE,
	.fd = STDERR_FILENO,
};

/* Where the lines of this thread go, if not to the log of the process. */
static _Thread_local struct {
	log_line_fn *fn; /* NULL: to the log of the process */
	void *arg;
	enum log_level level;
} redirection;

static const struct {
	const char *name;
	int syslog_priority;
} levels[] = {
	[LOG_LEVEL_DEBUG] = { "debug", LOG_DEBUG },
	[LOG_LEVEL_VERBOSE] = { "verbose", LOG_INFO },
	[LOG_LEVEL_NOTICE] = { "notice", LOG_NOTICE },
	[LOG_LEVEL_WARNING] = { "warning", LOG_WARNING },
	[LOG_LEVEL_FATAL] = { "fatal", LOG_CRIT },
};

static int open_file(const char *path, struct buf *ret_error)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);

	if (fd < 0)
		buf_printf(ret_error, "cannot open log file \"%s\": %s", path, strerror(errno));
	return fd;
}

int log_open(const struct log_options *options, struct buf *ret_error)
{
	bool has_file = options->file != NULL && options->file[0] != '\0';
	int fd = options->syslog ? -1 : STDERR_FILENO;

	if (has_file) {
		fd = open_file(options->file, ret_error);
		if (fd < 0)
			return -1;
	}
	log_close();
	sink.level = options->level;
	sink.format = options->format;
	sink.fd = fd;
	if (has_file)
		sink.file = mem_dup(options->file, strlen(options->file));
	if (options->syslog) {
		sink.syslog = true;
		sink.syslog_ident = mem_dup(options->syslog_ident, strlen(options->syslog_ident));
		openlog(sink.syslog_ident, LOG_PID | LOG_NDELAY, options->syslog_facility);
	}
	return 0;
}

void log_close(void)
{
	if (sink.file != NULL)
		close(sink.fd);
	if (sink.syslog)
		closelog();
	free(sink.file);
	free(sink.syslog_ident);
	sink.file = NULL;
	sink.syslog = false;
	sink.syslog_ident = NULL;
	sink.fd = STDERR_FILENO;
	sink.level = LOG_LEVEL_NOTICE;
	sink.format = LOG_FORMAT_TEXT;
}

/* JOURNAL_STREAM has the device and the inode of the journal's socket. A program between us and the
 * service manager may have put something else in its place. */
void log_find_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	sink.has_journal = false;
	if (stream == NULL || fstat(STDERR_FILENO, &st) < 0)
		return;
	snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	sink.has_journal = strcmp(stream, own) == 0;
}

bool log_is_journal(void)
{
	return sink.has_journal && sink.fd == STDERR_FILENO;
}

int log_reopen(struct buf *ret_error)
{
	int fd;

	if (sink.file == NULL)
		return 0;
	fd = open_file(sink.file, ret_error);
	if (fd < 0)
		return -1;
	dup3(fd, sink.fd, O_CLOEXEC);
	close(fd);
	return 0;
}

void log_set_level(enum log_level level)
{
	if (redirection.fn != NULL)
		redirection.level = level;
	else
		sink.level = level;
}

void log_set_format(enum log_format format)
{
	sink.format = format;
}

bool log_is_enabled(enum log_level level)
{
	if (redirection.fn != NULL)
		return level >= redirection.level;
	return (int)level >= atomic_load_explicit(&sink.level, memory_order_relaxed);
}

int log_fd(void)
{
	return sink.fd >= 0 ? sink.fd : STDERR_FILENO;
}

uint64_t log_lines_lost(void)
{
	return atomic_load_explicit(&sink.lines_lost, memory_order_relaxed);
}

/* A line under construction. It is on the stack, because the message may be that memory ran out. */
struct line {
	char bytes[LOG_LINE_MAX_BYTES];
	size_t len;
	bool is_cut;
	bool in_quotes;
};

static void put(struct line *line, const char *bytes, size_t len)
{
	if (line->is_cut || len > sizeof line->bytes - LOG_LINE_RESERVE - line->len) {
		line->is_cut = true;
		return;
	}
	memcpy(line->bytes + line->len, bytes, len);
	line->len += len;
}

static void put_text(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static void put_control(struct line *line, char c)
{
	char escape[ESCAPE_MAX];

	put(line, escape, (size_t)(escape_write(escape, c) - escape));
}

static void put_escaped(struct line *line, struct qless_str s)
{
	for (size_t i = 0; i < s.len && !line->is_cut; i++) {
		char c = s.ptr[i];

		if (is_control(c)) {
			put_control(line, c);
		} else {
			if (line->in_quotes && (c == '"' || c == '\\'))
				put(line, "\\", 1);
			put(line, &c, 1);
		}
	}
}

static void put_quoted(struct line *line, struct qless_str s)
{
	put(line, "\"", 1);
	line->in_quotes = !line->is_cut;
	put_escaped(line, s);
	if (!line->is_cut) {
		put(line, "\"", 1);
		line->in_quotes = line->is_cut;
	}
}

static bool needs_quotes(struct qless_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (c == ' ' || c == '"' || c == '=' || c == '\\' || is_control(c))
			return true;
	}
	return s.len == 0;
}

static void put_fields(struct line *line, const struct log_field *field)
{
	char number[24];

	for (; field != NULL && field->key != NULL; field++) {
		put(line, " ", 1);
		put_text(line, field->key);
		put(line, "=", 1);
		if (field->is_number) {
			snprintf(number, sizeof number, "%lld", (long long)field->number);
			put_text(line, number);
		} else if (needs_quotes(field->text)) {
			put_quoted(line, field->text);
		} else {
			put(line, field->text.ptr, field->text.len);
		}
	}
}

/* Milliseconds and an explicit time zone. */
static void put_time(struct line *line)
{
	int64_t now_us = clock_wall_us();
	time_t seconds = (time_t)(now_us / 1000000);
	char text[40];
	struct tm tm;
	size_t len;

	gmtime_r(&seconds, &tm);
	len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, sizeof text - len, ".%03dZ", (int)(now_us / 1000 % 1000));
	put_text(line, text);
}

static void put_head_for_journal(struct line *line, enum log_level level, enum log_format format)
{
	char priority[] = "<0>";

	priority[1] = (char)('0' + levels[level].syslog_priority);
	put_text(line, priority);
	if (format == LOG_FORMAT_LOGFMT) {
		put_text(line, "level=");
		put_text(line, levels[level].name);
		put_text(line, " msg=");
	}
}

static void put_head(struct line *line, enum log_level level, enum log_format format)
{
	char pid[16];

	if (log_is_journal()) {
		put_head_for_journal(line, level, format);
		return;
	}
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	if (format == LOG_FORMAT_LOGFMT) {
		put_text(line, "ts=");
		put_time(line);
		put_text(line, " pid=");
		put_text(line, pid);
		put_text(line, " level=");
		put_text(line, levels[level].name);
		put_text(line, " msg=");
	} else {
		put_time(line);
		put(line, " ", 1);
		put_text(line, pid);
		put(line, " ", 1);
		put_text(line, levels[level].name);
		put(line, " ", 1);
	}
}

/* Uses the bytes that put() reserved. */
static void end_line(struct line *line)
{
	if (line->is_cut) {
		memcpy(line->bytes + line->len, "...", 3);
		line->len += 3;
		if (line->in_quotes)
			line->bytes[line->len++] = '"';
	}
	line->bytes[line->len++] = '\n';
}

static void write_to_file(enum log_level level, const struct log_field *fields,
			  struct qless_str message)
{
	enum log_format format =
		(enum log_format)atomic_load_explicit(&sink.format, memory_order_relaxed);
	struct line line = { .len = 0 };

	put_head(&line, level, format);
	if (format == LOG_FORMAT_LOGFMT)
		put_quoted(&line, message);
	else
		put_escaped(&line, message);
	put_fields(&line, fields);
	end_line(&line);
	if (files_write_all(sink.fd, str_make(line.bytes, line.len)) != 0)
		atomic_fetch_add_explicit(&sink.lines_lost, 1, memory_order_relaxed);
}

/* The system logger adds the time, the process id and the level. */
static void write_to_syslog(enum log_level level, const struct log_field *fields,
			    struct qless_str message)
{
	struct line line = { .len = 0 };

	put_escaped(&line, message);
	put_fields(&line, fields);
	end_line(&line);
	syslog(levels[level].syslog_priority, "%.*s", (int)line.len - 1, line.bytes);
}

void log_redirect_thread(log_line_fn *fn, void *arg)
{
	redirection.fn = fn;
	redirection.arg = arg;
	redirection.level = LOG_LEVEL_NOTICE;
}

static void write_to_function(enum log_level level, const struct log_field *fields,
			      struct qless_str message)
{
	struct line line = { .len = 0 };

	put_escaped(&line, message);
	put_fields(&line, fields);
	end_line(&line);
	line.bytes[line.len - 1] = '\0';
	redirection.fn(redirection.arg, level, line.bytes);
}

void log_write(enum log_level level, const struct log_field *fields, const char *format, ...)
{
	int saved_errno = errno;
	char text[LOG_MESSAGE_MAX_BYTES];
	struct qless_str message;
	va_list args;
	int len;

	if (!log_is_enabled(level))
		return;
	va_start(args, format);
	len = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (len < 0)
		len = 0;
	if ((size_t)len >= sizeof text) {
		len = sizeof text - 1;
		memcpy(text + len - 3, "...", 3);
	}
	message = str_make(text, (size_t)len);
	if (redirection.fn != NULL) {
		write_to_function(level, fields, message);
		errno = saved_errno;
		return;
	}
	if (sink.fd >= 0)
		write_to_file(level, fields, message);
	if (sink.syslog)
		write_to_syslog(level, fields, message);
	errno = saved_errno;
}
