/*
 * Disk tasks: what the helper thread does for the journal.
 *
 * A task is a list of file calls. Its kind says which steps it has. They run in the order of enum
 * disk_step until one fails. The owner makes a task with one of the constructors, has it run,
 * and reads its result. While it runs, the owner must not touch the task or the file descriptor in
 * it.
 *
 *	               WRITE  CUT  SYNC  CREATE  KEEP  REPLACE  REMOVE
 *	sync             x          x
 *	zeros            x
 *	rotate                 x    x      x              x
 *	begin                              x              x
 *	switch                      x             x       x        x
 *	restart                            x      x       x        x
 *
 * A vote has one step, in which its two files are written.
 */
#ifndef JOURNAL_DISK_TASK_H
#define JOURNAL_DISK_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/manifest.h"
#include "journal/record.h"
#include "journal/vote.h"
#include "util/str.h"

enum disk_task_kind {
	DISK_TASK_NONE,
	DISK_TASK_SYNC,	   /* sync the segment, after writing records to it if there are any */
	DISK_TASK_ZEROS,   /* write zeros ahead of the records */
	DISK_TASK_ROTATE,  /* end the segment, and begin the next one */
	DISK_TASK_BEGIN,   /* begin the first segment, or the first of this format */
	DISK_TASK_SWITCH,  /* make a new snapshot current */
	DISK_TASK_RESTART, /* make a new snapshot current, and a new segment after it */
	DISK_TASK_VOTE,	   /* store the vote of a group's node */
};

enum disk_step {
	DISK_STEP_WRITE,   /* records, then zeros */
	DISK_STEP_CUT,	   /* the file ends with its records */
	DISK_STEP_SYNC,	   /* the file */
	DISK_STEP_CREATE,  /* a segment with a header, and sync it */
	DISK_STEP_KEEP,	   /* keep the manifest that is replaced, if `keep_bases` is not 0 */
	DISK_STEP_REPLACE, /* make a manifest the current one */
	DISK_STEP_REMOVE,  /* remove files that no manifest names any more */
	DISK_STEP_VOTE,	   /* both files of the vote */
	DISK_STEP_DONE,
};

struct disk_write {
	struct qless_str records;    /* written at `offset` */
	uint64_t offset;	     /* the end of the records before */
	uint64_t zero_from, zero_to; /* filled with zeros, as far as the disk has space */
};

struct disk_create {
	struct record_file_header header;
	uint64_t zero_to; /* zeros follow the header up to here */
};

struct disk_replace {
	struct manifest manifest;	 /* belongs to the task until the owner takes it */
	const struct manifest *obsolete; /* the one that a switch or a restart replaces */
	unsigned keep_bases;		 /* number of replaced snapshots to keep: see kept.h */
};

struct disk_result {
	enum disk_step reached; /* the step that failed, or DISK_STEP_DONE */
	int rc;
	bool is_unclear;  /* it is unknown which manifest is current */
	int created_fd;	  /* -1: none; belongs to the task until the owner takes it */
	uint64_t zeroed;  /* the zeros go up to here; 0: there are none */
	int64_t write_us; /* how long writing or cutting took */
	int64_t sync_us;
};

struct disk_task {
	enum disk_task_kind kind;
	int fd; /* of the segment that is written to or synced; -1: none */
	struct disk_write write;
	struct disk_create create;
	struct disk_replace replace;
	struct vote vote;
	struct disk_result result;
};

/* Constructors. They copy headers and manifests. The records of a sync are borrowed until it has
 * run. */
void disk_task_init_sync(struct disk_task *task, int fd, const struct disk_write *write);
void disk_task_init_zeros(struct disk_task *task, int fd, uint64_t from, uint64_t to);
/* End the segment `fd`, which is `size` bytes long. The new segment is added to the current
 * manifest.
 */
void disk_task_init_rotate(struct disk_task *task, int fd, uint64_t size,
			   const struct disk_create *create, const struct manifest *current);
void disk_task_init_begin(struct disk_task *task, const struct disk_create *create,
			  const struct manifest *current);
/* The manifest in `replace` names the new snapshot and the segments after it. A switch syncs `fd`
 * first. A restart adds its new segment to the manifest. */
void disk_task_init_switch(struct disk_task *task, int fd, const struct disk_replace *replace);
void disk_task_init_restart(struct disk_task *task, const struct disk_create *create,
			    const struct disk_replace *replace);
void disk_task_init_vote(struct disk_task *task, const struct vote *vote);

/* Run all steps. Any thread may do that. */
void disk_task_run(struct disk_task *task, const struct journal_io *io, const char *dir);

static inline bool disk_task_has_failed(const struct disk_task *task)
{
	return task->result.rc < 0;
}

/* Take the new manifest, or the file descriptor of the new segment. It then belongs to the caller.
 */
struct manifest disk_task_take_manifest(struct disk_task *task);
int disk_task_take_fd(struct disk_task *task);

/* Free everything that was not taken. The kind of the task becomes DISK_TASK_NONE. */
void disk_task_done(struct disk_task *task, const struct journal_io *io);

#endif
