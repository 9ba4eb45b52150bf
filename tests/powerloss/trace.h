/*
 * The trace: what the processes of a daemon did to its directory and its clients, in one order.
 *
 * The recorder (recorder.c) writes the trace, and the judge reads it. The trace is a file that all
 * processes of the daemon have mapped. It begins with a header, and events follow, each at a
 * multiple of eight bytes.
 *
 * An event is written after its call returned, so the trace never promises more than happened:
 * - A write that the trace has after the beginning of a sync is not covered by that sync. A sync
 *   has two events for this reason.
 * - A reply is in the trace once its bytes have left, before the daemon can do anything else in the
 *   same thread.
 */
#ifndef POWERLOSS_TRACE_H
#define POWERLOSS_TRACE_H

#include <pthread.h>
#include <stdint.h>

#define TRACE_MAGIC UINT64_C(0x31656361727471)
/* Largest size of a trace, in bytes. The file is sparse, so it takes only what is written. */
#define TRACE_BYTES_MAX	 (UINT64_C(1) << 30)
#define TRACE_NAME_BYTES 64

/* Names in the environment of the daemon. */
#define TRACE_ENV_FILE	    "POWERLOSS_TRACE"
#define TRACE_ENV_DIR	    "POWERLOSS_DIR"	     /* the directory of the log */
#define TRACE_ENV_SEED	    "POWERLOSS_SEED"	     /* of the random numbers below */
#define TRACE_ENV_DELAY	    "POWERLOSS_DELAY_US"     /* average time of a sync, in microseconds */
#define TRACE_ENV_LOG_DELAY "POWERLOSS_LOG_DELAY_US" /* the same of log segments; 0: no other */
#define TRACE_ENV_FAIL	    "POWERLOSS_FAIL_EVERY" /* one of this many syncs fails; 0: none does */
#define TRACE_ENV_FAULT	    "POWERLOSS_FAULT"	   /* which syncs do nothing: see recorder.c */

enum trace_kind {
	TRACE_START = 1,  /* a process begins; older handles are gone */
	TRACE_OPEN,	  /* handle, value: flags of open(2), name */
	TRACE_WRITE,	  /* handle, offset, length, and the bytes, unless all are zero */
	TRACE_TRUNCATE,	  /* handle, value: the new size */
	TRACE_SYNC_BEGIN, /* handle of a file or of the directory */
	TRACE_SYNC_END, /* the same handle, value: 0 or 1 for a failure, offset: of its begin in the
			   trace */
	TRACE_RENAME,	/* both names */
	TRACE_UNLINK,	/* name */
	TRACE_LINK,	/* both names */
	TRACE_ACCEPT,	/* handle of a connection */
	TRACE_RECEIVE,	/* handle, bytes of requests */
	TRACE_SEND,	/* handle, bytes of replies */
	TRACE_UNKNOWN,	/* a call that the model does not know: its name */
	TRACE_KINDS,
};

struct trace_header {
	uint64_t magic;
	uint64_t end;	      /* offset after the last event */
	uint32_t last_handle; /* handles are never used again */
	pthread_mutex_t lock; /* of `end` and `last_handle`; a process may die while it has it */
};

/* Events follow the header from here on. */
#define TRACE_FIRST ((uint64_t)4096)

struct trace_event {
	uint32_t bytes; /* of the event with its data, up to the next event */
	uint16_t kind;
	uint16_t is_zero; /* the bytes of the write are zeros, and are left out */
	uint32_t handle;
	uint32_t data_bytes; /* after the event */
	uint64_t time_us;
	uint64_t offset;
	uint64_t value; /* also: the number of bytes of a write */
};

_Static_assert(sizeof(struct trace_event) % 8 == 0, "events are at multiples of eight bytes");

/* The directory has this handle. */
#define TRACE_DIRECTORY UINT32_C(1)

#endif
