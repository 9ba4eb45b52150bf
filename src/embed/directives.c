#include "embed/directives.h"

#include <stdlib.h>
#include <string.h>

#include "embed/failure.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/str.h"

/* Largest number of directives and values of a program. */
#define DIRECTIVES_MAX 256

/* The directives that a program may set: those about calls and about the log. Others are about
 * sockets, users and the process, which are not there, or belong to the program. */
static const char *const allowed[] = {
	"auto-rewrite-min-size",
	"auto-rewrite-percentage",
	"client-query-buffer-limit",
	"clock-skew-warning",
	"commands-per-turn",
	"databases",
	"latency-monitor-threshold",
	"latency-tracking",
	"log-keep-bases",
	"log-segment-size",
	"loglevel",
	"max-call-size",
	"max-class-indexes",
	"max-clock-skew",
	"max-data-size",
	"max-dependencies",
	"max-dependency-steps",
	"max-dependents",
	"max-job-size",
	"max-jobs-per-call",
	"max-json-depth",
	"max-limits-per-job",
	"max-links-per-call",
	"max-name-length",
	"max-names-per-call",
	"max-pattern-length",
	"max-reply-size",
	"max-tags",
	"max-unsynced-age",
	"proto-max-bulk-len",
	"rewrite-rate-limit",
	"slowlog-log-slower-than",
	"slowlog-max-len",
};

static bool is_allowed(const char *name)
{
	for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
		if (str_equal_nocase(str_from(name), str_from(allowed[i])))
			return true;
	}
	return false;
}

static const char *name_of(enum qless_store_sync sync)
{
	switch (sync) {
	case QLESS_STORE_SYNC_EVERYSEC:
		return "everysec";
	case QLESS_STORE_SYNC_ALWAYS:
		return "always";
	case QLESS_STORE_SYNC_NO:
		return "no";
	}
	return NULL;
}

static int check(const struct qless_store_options *options, struct qless_store_error *error)
{
	if (name_of(options->sync) == NULL)
		return failure_set(error, QLESS_STORE_EARGUMENT, "sync must be from 0 to 2: %d",
				   (int)options->sync);
	if (options->directive_count % 2 != 0 || options->directive_count > DIRECTIVES_MAX)
		return failure_set(
			error, QLESS_STORE_EARGUMENT,
			"directive_count counts names and values in turn, at most %d: %zu",
			DIRECTIVES_MAX, options->directive_count);
	for (size_t i = 0; i < options->directive_count; i += 2) {
		if (!is_allowed(options->directives[i]))
			return failure_set(error, QLESS_STORE_EARGUMENT,
					   "a program may not set the directive %s",
					   options->directives[i]);
	}
	return 0;
}

/* A command line of qlessd, from texts that each end with a NUL. */
struct line {
	char **words;
	int count;
};

static void add_text(struct line *line, const char *prefix, const char *text)
{
	size_t prefix_len = strlen(prefix), len = strlen(text);
	char *word = mem_alloc(prefix_len + len + 1);

	memcpy(word, prefix, prefix_len);
	memcpy(word + prefix_len, text, len + 1);
	line->words = mem_realloc_array(line->words, (size_t)line->count + 1, sizeof(char *));
	line->words[line->count++] = word;
}

static void add(struct line *line, const char *name, const char *value)
{
	add_text(line, "--", name);
	add_text(line, "", value);
}

static void free_line(struct line *line)
{
	for (int i = 0; i < line->count; i++)
		free(line->words[i]);
	free(line->words);
}

int directives_read(struct config *config, const char *dir,
		    const struct qless_store_options *options, struct qless_store_error *error)
{
	struct buf reason = BUF_INIT(4096);
	struct config_source source = { 0 };
	struct line line = { 0 };
	int rc = check(options, error);

	if (rc < 0)
		return rc;
	add_text(&line, "", "qless");
	for (size_t i = 0; i < options->directive_count; i += 2)
		add(&line, options->directives[i], options->directives[i + 1]);
	add(&line, "dir", dir);
	add(&line, "appendfsync", name_of(options->sync));
	source.argc = line.count;
	source.argv = line.words;
	if (config_read(config, &source, &reason) < 0)
		rc = failure_set(error, QLESS_STORE_EARGUMENT, "%s", buf_cstr(&reason));
	else if (options->database >= (unsigned)config->databases)
		rc = failure_set(error, QLESS_STORE_EARGUMENT,
				 "database must be below %d, as the directive databases says: %u",
				 config->databases, options->database);
	free_line(&line);
	buf_done(&reason);
	return rc;
}
