#include "server/slowlog.h"

#include <stdio.h>
#include <string.h>

#include "command/table.h"
#include "server/server_int.h"
#include "util/mem.h"

struct slowlog *slowlog_new(void)
{
	struct slowlog *log = mem_zalloc(sizeof *log);

	TAILQ_INIT(&log->entries);
	return log;
}

void slowlog_free(struct slowlog *log)
{
	if (log != NULL)
		slowlog_trim(log, 0);
	free(log);
}

static struct qless_str keep(struct qless_str s)
{
	return str_make(mem_dup(s.ptr, s.len), s.len);
}

static struct qless_str keep_argument(struct qless_str s)
{
	char text[SLOWLOG_MAX_ARG_BYTES + 64];
	int len;

	if (s.len <= SLOWLOG_MAX_ARG_BYTES)
		return keep(s);
	/* Copied, because the argument may contain NUL. */
	memcpy(text, s.ptr, SLOWLOG_MAX_ARG_BYTES);
	len = snprintf(text + SLOWLOG_MAX_ARG_BYTES, sizeof text - SLOWLOG_MAX_ARG_BYTES,
		       "... (%zu more bytes)", s.len - SLOWLOG_MAX_ARG_BYTES);
	return keep(str_make(text, SLOWLOG_MAX_ARG_BYTES + (size_t)len));
}

static void keep_arguments(struct slowlog_entry *e, bool is_secret, const struct qless_str *argv,
			   int argc)
{
	int shown = argc <= SLOWLOG_MAX_ARGS ? argc : SLOWLOG_MAX_ARGS - 1;

	for (int i = 0; i < shown; i++) {
		e->argv[e->argc++] =
			is_secret && i != 0 ? keep(STR("(redacted)")) : keep_argument(argv[i]);
	}
	if (shown < argc) {
		char text[64];
		int len = snprintf(text, sizeof text, "... (%d more arguments)", argc - shown);

		e->argv[e->argc++] = keep(str_make(text, (size_t)len));
	}
}

void slowlog_note(struct slowlog *log, const struct config *config, const struct client *c,
		  const struct qless_str *argv, int argc, int64_t elapsed_us)
{
	struct slowlog_entry *e;

	if (config->slowlog_slower_than_us < 0 || elapsed_us < config->slowlog_slower_than_us ||
	    config->slowlog_max_len == 0)
		return;
	e = mem_zalloc(sizeof *e);
	e->id = log->next_id++;
	e->when_s = c->server->clocks.wall_us / 1000000;
	e->elapsed_us = elapsed_us;
	e->peer = mem_dup(c->peer, strlen(c->peer));
	e->client_name = mem_dup(c->name, c->name != NULL ? strlen(c->name) : 0);
	keep_arguments(e, command_is_secret(c->server->table, argv, argc), argv, argc);
	TAILQ_INSERT_HEAD(&log->entries, e, link);
	log->count++;
	slowlog_trim(log, config->slowlog_max_len);
}

void slowlog_trim(struct slowlog *log, size_t count)
{
	while (log->count > count) {
		struct slowlog_entry *e = TAILQ_LAST(&log->entries, slowlog_entries);

		TAILQ_REMOVE(&log->entries, e, link);
		log->count--;
		for (int i = 0; i < e->argc; i++)
			free((char *)(uintptr_t)e->argv[i].ptr);
		free(e->peer);
		free(e->client_name);
		free(e);
	}
}
