/*
 * SLOWLOG: recent commands that took long.
 */
#ifndef SERVER_SLOWLOG_H
#define SERVER_SLOWLOG_H

#include "server/client.h"

/* Arguments of a command that are kept, and bytes of each. */
#define SLOWLOG_MAX_ARGS      32
#define SLOWLOG_MAX_ARG_BYTES 128

struct config;

struct slowlog_entry {
	uint64_t id;
	int64_t when_s;
	int64_t elapsed_us;
	char *peer;
	char *client_name; /* never NULL */
	int argc;
	struct qless_str argv[SLOWLOG_MAX_ARGS]; /* each from malloc() */
	TAILQ_ENTRY(slowlog_entry) link;
};
TAILQ_HEAD(slowlog_entries, slowlog_entry);

struct slowlog {
	struct slowlog_entries entries; /* newest first */
	size_t count;
	uint64_t next_id;
};

struct slowlog *slowlog_new(void);
void slowlog_free(struct slowlog *log);

/* Keep the command if it took long enough. Arguments of secret commands are not kept. */
void slowlog_note(struct slowlog *log, const struct config *config, const struct client *c,
		  const struct qless_str *argv, int argc, int64_t elapsed_us);
/* Drop the oldest entries until at most `count` are left. */
void slowlog_trim(struct slowlog *log, size_t count);

#endif
