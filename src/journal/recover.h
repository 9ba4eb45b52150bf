/*
 * From the files of a directory back to the state: the base, then what was recorded since.
 *
 * Reading changes nothing on the disk. What a crash may leave, a torn end of the last log file, is
 * passed over and reported; any other damage ends the recovery with a sentence that names the file,
 * the offset and the sequence number.
 */
#ifndef JOURNAL_RECOVER_H
#define JOURNAL_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "journal/io.h"
#include "journal/manifest.h"
#include "journal/record.h"
#include "qless.h"
#include "util/buf.h"

struct recovery_progress {
	uint64_t bytes_done;
	uint64_t bytes_total;
	uint64_t records;
	uint64_t sequence;
};

/* Who owns the state. Each callback may be NULL. */
struct recovery_target {
	void *arg;
	/* The engine of a database, which is new; NULL if there is no such database. */
	struct qless *(*engine)(void *arg, unsigned db);
	/* Do again what a record of the types RECORD_OPERATIONS and RECORD_COMMANDS says, and add
	 * to *ret_count how much that was. Negative, with a sentence in `ret_error`, if it cannot
	 * be done. */
	int (*apply)(void *arg, const struct record *record, uint64_t *ret_count,
		     struct buf *ret_error);
	/* Called for every record that counts, before it is applied. */
	void (*visit)(void *arg, const char *path, uint64_t offset, const struct record *record);
	/* Called every now and then. False ends the recovery with -ECANCELED. */
	bool (*progress)(void *arg, const struct recovery_progress *progress);
};

/* How far to go. */
struct recovery_limit {
	uint64_t sequence; /* the last record to be applied; UINT64_MAX: all */
	int64_t wall_us;   /* nothing that was written later, to about a second; INT64_MAX: all */
};

#define RECOVERY_NO_LIMIT ((struct recovery_limit){ UINT64_MAX, INT64_MAX })

struct recovery {
	struct manifest manifest; /* of those in the directory the one that leads to the limit */
	struct record_file_header tail; /* of the last log file */
	uint64_t tail_size;		/* up to the end of its last intact record */
	uint64_t cut_bytes;		/* what is behind that, and torn */
	uint64_t spare_bytes;		/* zeros at the end, written in advance */
	bool sealed; /* the last record says that everything before it was on the disk */
	uint64_t base_bytes;
	int64_t base_us; /* when it was made; 0: there is none */
	uint64_t log_bytes;
	uint64_t last_sequence; /* of the last record that was applied */
	uint64_t records;
	uint64_t operations; /* that the target has applied */
	int64_t first_us;    /* when the oldest file was begun; 0: unknown */
	int64_t last_us;     /* the newest time that a mark or a file tells */
	bool limited;	     /* the limit was reached: there is more */
	/* Damage in a log file. If recovery failed because of it, `damaged` is set; otherwise it is
	 * what `cut_bytes` counts. */
	bool damaged;
	uint64_t damaged_file; /* its number; 0: there is none */
	uint64_t damaged_offset;
	uint64_t damaged_sequence; /* of the record that should be there */
};

/* -ENOENT: the directory holds no log. Other failures leave a line in `ret_error`: -EBADMSG for
 * damage, -ERANGE if the limit lies before the oldest base, -ECANCELED, or an errno.
 * recovery_done() is to be called in any case. */
int recovery_run(struct recovery *r, const struct journal_io *io, const char *dir,
		 const struct recovery_limit *limit, const struct recovery_target *target,
		 struct buf *ret_error);
void recovery_done(struct recovery *r);

#endif
