/*
 * Recovery: from the files of a directory back to the state. Load the snapshot, then run the
 * records after it.
 *
 * Recovery only reads. It reports a torn end of the last log segment, as a crash may leave it, and
 * does not count it as damage. Any other damage ends the recovery with a sentence that names the
 * file, the offset and the sequence number.
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

struct log_index;

struct recovery_progress {
	uint64_t bytes_done;
	uint64_t bytes_total;
	uint64_t records;
	uint64_t sequence;
};

/* The owner of the state. Each callback may be NULL. */
struct recovery_target {
	void *arg;
	/* Returns the empty engine of a database, or NULL if there is no such database. */
	struct qless *(*engine)(void *arg, unsigned db);
	/* Apply a record of type RECORD_OPERATIONS or RECORD_COMMANDS, and add the number of its
	 * operations to *ret_count. Returns 0, or a negative number with a sentence in `ret_error`.
	 */
	int (*apply)(void *arg, const struct record *record, uint64_t *ret_count,
		     struct buf *ret_error);
	/* Called for every record that is not skipped, before it is applied. */
	void (*visit)(void *arg, const char *path, uint64_t offset, const struct record *record);
	/* Called from time to time. If it returns false, recovery ends with -ECANCELED. */
	bool (*progress)(void *arg, const struct recovery_progress *progress);
	/* Gets what the log of a group has in its files. */
	struct log_index *index;
};

/* Where to stop. */
struct recovery_limit {
	uint64_t sequence; /* the last record to apply; UINT64_MAX: all */
	int64_t wall_us;   /* apply no record written later, to about a second; INT64_MAX: all */
	/* The entries of a group up to `sequence` are committed, even if no mark says so yet.
	 * UINT64_MAX: all that are there. */
	bool is_committed;
};

#define RECOVERY_NO_LIMIT ((struct recovery_limit){ UINT64_MAX, INT64_MAX, false })

/* Parse a limit: a sequence number, @seconds since 1970, or a time such as 2026-11-18T14:00:00
 * (UTC). Returns false, and changes nothing, if the text is none of them. */
bool recovery_parse_limit(const char *text, struct recovery_limit *limit);

struct recovery {
	struct manifest manifest;	/* the one that leads to the limit: current or kept */
	struct record_file_header tail; /* of the last log segment */
	uint64_t tail_size;		/* its bytes up to the end of the last intact record */
	uint64_t cut_bytes;		/* bytes of a torn end after that */
	uint64_t spare_bytes;		/* zeros at the end, which were written ahead */
	bool sealed; /* the last record is a mark that vouches for all before it */
	bool closed; /* the header of the last segment says that it ends there */
	uint64_t base_bytes;
	int64_t base_us; /* when the snapshot was made; 0: there is none */
	uint64_t log_bytes;
	/* The number of the last record that was applied. The log of a group may have more
	 * entries, which are not known to be committed and were not applied. */
	uint64_t last_sequence;
	uint64_t log_end; /* sequence number after the last record of the log, or of the limit */
	uint64_t records;
	uint64_t operations; /* that the target has applied */
	int64_t first_us;    /* when the oldest file was created; 0: unknown */
	int64_t last_us;     /* the latest time of a mark or a file */
	bool limited;	     /* the limit was reached, and there are later records */
	/* Damage in a log segment. `damaged` says that recovery failed because of it. Otherwise it
	 * is the torn end that `cut_bytes` counts. */
	bool damaged;
	uint64_t damaged_file; /* number of the segment; 0: there is no damage */
	uint64_t damaged_offset;
	uint64_t damaged_sequence; /* of the record that was expected there */
	/* Names of the files that journal_recover() has set aside, one a line: see sweep.h. */
	struct buf orphans;
};

/* Recover the log in a directory. -ENOENT without an error text: there is no log. After any other
 * failure `ret_error` has a line: -EBADMSG for damage, -ERANGE if the limit is before the oldest
 * snapshot, -ECANCELED, or another errno. The caller calls recovery_done() in either case. */
int recovery_run(struct recovery *r, const struct journal_io *io, const char *dir,
		 const struct recovery_limit *limit, const struct recovery_target *target,
		 struct buf *ret_error);
/* Recover what a manifest names that need not be the current one. */
int recovery_run_manifest(struct recovery *r, const struct journal_io *io, const char *dir,
			  const struct manifest *manifest, const struct recovery_target *target,
			  struct buf *ret_error);
void recovery_done(struct recovery *r);

#endif
