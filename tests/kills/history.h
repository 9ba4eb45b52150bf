/*
 * The history of a run: what producers and workers sent and learned, in one order.
 *
 * The processes share its memory. A process enters what it sends before it sends it, and a reply
 * after it has read it. So the order of the entries agrees with cause and effect. A process that is
 * killed while it enters something leaves an empty entry. It had not sent that request yet, or it
 * never acted on that reply.
 */
#ifndef TESTS_KILLS_HISTORY_H
#define TESTS_KILLS_HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum happening {
	HISTORY_EMPTY,
	HISTORY_PUT_SENT,
	HISTORY_PUT_DONE,
	HISTORY_HANDED_OUT, /* a worker has the job, with `lock` and `expires` */
	HISTORY_HEARTBEAT_SENT,
	HISTORY_HEARTBEAT_DONE, /* `expires` is the new expiry */
	HISTORY_COMPLETE_SENT,
	HISTORY_COMPLETE_DONE,
	HISTORY_RETRY_SENT,
	HISTORY_RETRY_DONE,
	HISTORY_REFUSED,       /* the last request of this process: the worker has lost the lock */
	HISTORY_ODD_REPLY,     /* a reply that no request can have */
	HISTORY_ATTACH_SENT,   /* `name` */
	HISTORY_ATTACH_DONE,   /* the server keeps the locks of this process from now on */
	HISTORY_RELEASE_SENT,  /* all jobs of `name`; this process knows of none */
	HISTORY_WORKER_KILLED, /* entered before the signal is sent */
	HISTORY_SERVER_KILLED, /* entered before the signal is sent */
	HISTORY_SERVER_DEAD,   /* all replies of the server have been sent */
};

struct history_entry {
	_Atomic uint32_t what; /* enum happening; written last */
	uint32_t process;      /* number of the producer or worker */
	uint32_t name;	       /* of the worker that is attached */
	uint64_t job;	       /* or, for the kill of a worker, the number of the round */
	uint64_t lock;	       /* number of the hand-out */
	double expires;	       /* end of the lock, in seconds since 1970 */
	double time;	       /* of the entry, in seconds since 1970 */
};

struct history {
	_Atomic uint64_t count;
	_Atomic uint64_t next_job;
	struct history_entry *entries;
};

/* Room for a run of many thousand rounds. Only entries that are used take memory. */
#define HISTORY_ENTRIES_MAX ((uint64_t)1 << 26)

/* In memory that is shared with the processes that are forked later. */
struct history *history_new(void);
void history_free(struct history *h);

double history_now(void);
/* Sets the time of the entry. */
void history_enter(struct history *h, enum happening what, struct history_entry entry);

#endif
