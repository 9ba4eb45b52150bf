/*
 * Writing a snapshot: the state of all databases, and operations for everything else. Identifiers
 * call it a base, as the name of its file does.
 */
#ifndef JOURNAL_BASE_H
#define JOURNAL_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/record.h"
#include "qless.h"
#include "util/buf.h"

struct base_options {
	const struct journal_io *io;
	const char *dir;
	uint64_t number;
	uint64_t sequence; /* of the last record that it covers */
	uint64_t salt;
	int64_t wall_us;
	const struct record_group *group; /* of a group: its term and members; or NULL */
	uint64_t bytes_per_second;	  /* limits the load on the disk; 0: no limit */
	/* Called from time to time with the bytes written so far. May be NULL. */
	void (*progress)(void *arg, uint64_t bytes);
	void *progress_arg;
};

struct base_writer {
	struct base_options options;
	int fd;
	int rc; /* the first failure, after which no more is written */
	struct buf out;
	uint64_t sequence;
	uint64_t bytes;
	uint64_t unsynced;
	uint64_t state_bytes; /* of the database that is being written */
	int64_t started_us;
};

/* Begin the file. base_finish() returns the first failure. */
void base_begin(struct base_writer *w, const struct base_options *options);
void base_add_database(struct base_writer *w, unsigned db, const struct qless *engine);
/* Add operations as operation_encode() writes them. */
void base_add_operations(struct base_writer *w, struct qless_str operations);
/* End the file, sync it and close it. 0 or a negative errno. */
int base_finish(struct base_writer *w, uint64_t *ret_bytes);

#endif
