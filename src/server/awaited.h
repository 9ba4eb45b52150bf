/*
 * Awaited jobs: clients that wait until jobs end, with JOB.WAIT.
 *
 * Each job for which a client waits has an entry, with a place for each such client. The engine
 * tells of each end while there are entries in its database, and not otherwise. The hook finds the
 * entry by the jid, notes the end in each wait, and puts the waits that are over on a list. They
 * are answered after the command that ended the job, or at the end of the turn.
 *
 * So waiting costs nothing while nothing happens, and the end of a job for which nobody waits costs
 * one search in a table.
 *
 * A flush deletes all jobs of a database without a word for each. The end of the turn finds it by
 * the number of flushes.
 */
#ifndef SERVER_AWAITED_H
#define SERVER_AWAITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/hash.h"
#include "util/heap.h"

struct end_wait;
struct job_wait;
struct qless;
struct qless_job;
struct request;
struct server;

TAILQ_HEAD(end_wait_list, end_wait);

struct awaited {
	struct hash *by_jid;	   /* the awaited jobs of each database */
	uint64_t *flushes;	   /* of each database, when its first wait began */
	unsigned databases;	   /* the number of databases */
	size_t clients;		   /* number of waiting clients */
	struct heap timeouts;	   /* of clients, by their monotonic time in microseconds */
	struct end_wait_list over; /* waits that are to be answered */
};

void awaited_init(struct server *s);
void awaited_done(struct server *s);

/* For struct command_env: the client of the request waits for the jobs that have not ended. */
void awaited_begin(void *arg, const struct request *req, struct job_wait *wait);
/* For struct qless_hooks. */
void awaited_note_end(void *arg, const struct qless *q, const struct qless_job *job,
		      bool is_deleted);

/* Leave all entries. For waiting.c. */
void awaited_leave(struct server *s, struct end_wait *wait);
size_t awaited_memory(const struct end_wait *wait);

/* The number of jobs for which clients wait. */
size_t awaited_count(const struct awaited *awaited);

static inline bool awaited_is_empty(const struct awaited *awaited)
{
	return awaited->clients == 0;
}

/* Returns whether a client can be answered without anything new. */
static inline bool awaited_can_run(const struct awaited *awaited)
{
	return !TAILQ_EMPTY(&awaited->over);
}

/* Answer clients whose waits are over. Call this after each command, if there are any. */
void awaited_serve(struct server *s);
/* End the waits whose time is over, answer clients, and set the alarm. Once in each turn, unless
 * awaited_is_empty(). */
void awaited_run(struct server *s);

#endif
