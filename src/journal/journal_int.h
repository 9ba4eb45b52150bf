/*
 * What the files of the log share; for this folder alone.
 */
#ifndef JOURNAL_JOURNAL_INT_H
#define JOURNAL_JOURNAL_INT_H

#include <sys/types.h>

#include "journal/journal.h"
#include "journal/manifest.h"
#include "journal/helper.h"
#include "journal/rewriter.h"

#define JOURNAL_COMPLAINT_MAX 256

/* What the helper is doing for us. */
enum journal_work {
	WORK_NONE,
	WORK_SYNC,   /* what has been written */
	WORK_ZEROS,  /* make more of them behind the records */
	WORK_ROTATE, /* end this log file and make the next one */
	WORK_SWITCH, /* put a new base in force */
};

/*
 *	NONE --> WANTED --> READY --> RUNNING --> SWITCHING --> NONE
 *	            next log file  begun     base written
 *
 * A log that has failed goes from WANTED to READY at once. If the base could not be made from the
 * files it goes from RUNNING back to READY.
 */
enum rewrite_phase {
	REWRITE_NONE,
	REWRITE_WANTED,
	REWRITE_READY,
	REWRITE_RUNNING,
	REWRITE_SWITCHING,
};

struct rewrite {
	enum rewrite_phase phase;
	pid_t pid;	   /* 0: there is no process */
	int fd;		   /* to hear how far the base is: the pipe, or the rewriter's; or -1 */
	bool from_log;	   /* the base is made from the files */
	bool must_fork;	   /* that has failed once */
	bool is_cancelled; /* its process is to end before it is done */
	uint64_t number;   /* of the base */
	uint64_t sequence; /* of the last record in it */
	uint64_t bytes;
	uint64_t first_log;   /* the files before this one are no longer needed */
	uint64_t ended_bytes; /* of those */
	bool to_recover;      /* the log had failed: a new log file goes with the base */
	size_t buffered;      /* bytes of pending records that are in the base, in that case */
	int64_t started_us;
	int64_t wall_us;
	int result; /* of the process, once it is over */
	bool over;
	bool keep_base; /* the manifest that names it may be in force */
};

struct journal {
	struct commit_log log;
	struct journal_options options;
	const struct journal_io *io;
	int lock_fd;
	struct helper *helper;
	struct rewriter *rewriter; /* NULL: there is none */
	enum journal_work work;
	struct job job;

	struct manifest manifest; /* in force */
	int fd;			  /* of the last log file */
	uint64_t number;
	uint64_t first; /* sequence number of the first record that it has or will have */
	uint64_t salt;
	uint64_t size;	      /* of whole records in the file */
	uint64_t zeroed;      /* what is between size and here is there, and is zeros */
	uint64_t sync_size;   /* how long the file was when the last sync of it began */
	uint64_t allocated;   /* room that the file has at least */
	bool no_allocate;     /* the file system cannot make room ahead */
	uint64_t ended_bytes; /* of the log files before it */
	uint64_t base_bytes;
	int64_t base_wall_us;
	uint64_t next_number;

	struct buf pending; /* appended and not written */
	struct buf writing; /* being written by the helper, together with the next sync */
	bool gap;	    /* records were dropped: only a newer base can follow */
	uint64_t written;   /* sequence numbers */
	uint64_t syncing;
	uint64_t synced;
	uint64_t marked; /* what the last mark says was durable */
	int64_t mark_wall_us;
	int64_t mono_us; /* of the last flush */
	int64_t wall_us;
	int64_t sync_started_us;
	int64_t job_us;	       /* how long writing and syncing took last, but for zeros */
	int64_t second_us;     /* when this second began, and what was written by ourselves */
	uint64_t second_bytes; /* in it */
	uint64_t last_second_bytes;
	bool is_ending;		 /* the file is long enough, and was synced once for that */
	bool is_urgent;		 /* see struct commit_log_turn */
	int64_t rotate_after_us; /* when rotation may be tried again */
	int64_t retry_after_us;	 /* when FULL may be found over */

	char complaint[JOURNAL_COMPLAINT_MAX];

	struct rewrite rewrite;
	char rebuild_error[JOURNAL_COMPLAINT_MAX];
	struct journal_info info;
};

/* ---- open.c ---- */

void journal_read_clocks(struct journal *j);
/* The head of a log file that begins with the record `sequence`. */
void journal_describe_log(const struct journal *j, struct record_file_header *header,
			  uint64_t number, uint64_t sequence);

/* ---- append.c ---- */

extern const struct commit_log_ops journal_log_ops;

/* Tell the owner how far the log is committed. */
void journal_publish(struct journal *j);

void journal_fail(struct journal *j, enum commit_log_state state, int rc, const char *doing);
void journal_set_well(struct journal *j);
/* Write what is pending, unless the log is not well. Not while the helper writes. */
void journal_write_pending(struct journal *j);

/* ---- rewrite.c ---- */

/* Go on with a rewrite, if there is one, as far as that goes now. */
void rewrite_step(struct journal *j);
/* The helper is done with putting the base in force. */
void rewrite_switched(struct journal *j, const struct job *job);
void rewrite_give_up(struct journal *j, int rc);

#endif
