/*
 * Workers: a link that the worker is attached to, and the jobs that the worker has.
 *
 * The server renews the locks of an attached worker, and releases its jobs if the link ends and no
 * other one takes its place in time. BPOP runs on this link. The calls that end jobs take links of
 * the store, so they never wait for BPOP.
 *
 * One party at a time uses the link: qless_store_next(), or the keeper (keeper.h). It claims the
 * worker before. The rest of a worker is guarded by a mutex.
 *
 * A link may break after the server has handed out a job, and before the worker has its reply. So a
 * worker that attaches again asks which jobs it has. Those that it does not know come from the next
 * calls of qless_store_next(), and those that it no longer has are lost.
 */
#ifndef EMBED_WORKER_H
#define EMBED_WORKER_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/backoff.h"
#include "embed/job.h"
#include "embed/link.h"
#include "embed/store.h"

enum worker_user {
	WORKER_FREE,
	WORKER_NEXT,   /* qless_store_next() */
	WORKER_KEEPER, /* the keeper */
	WORKER_ENDING,
};

struct qless_store_worker {
	struct qless_store *store;
	char *name;
	char *node;
	double grace_s;

	/* For the keeper. */
	TAILQ_ENTRY(qless_store_worker) by_keeper;
	int64_t retry_us; /* monotonic: when it tries again to attach the worker */

	/* For the party that has claimed the worker. */
	struct link *link; /* NULL: it is not attached */
	bool resumes;	   /* it takes the jobs that it has and does not know */
	char **left;	   /* names of such jobs, which next calls return */
	size_t left_count;
	struct backoff backoff;

	pthread_mutex_t mutex; /* guards the fields below */
	pthread_cond_t freed;  /* nobody has claimed the worker */
	enum worker_user user;
	int fd;		      /* of the link; -1: there is none */
	bool is_left_alone;   /* the keeper does not watch the link, and waits for the party */
	struct job_list jobs; /* that have not ended */
};

/* For the keeper. Returns false if another party has claimed it, which wakes the keeper when it
 * lets go. */
bool worker_claim_for_keeper(struct qless_store_worker *worker);
/* Waits while the keeper has it. Returns false if a call of the program has it. */
bool worker_claim_for_next(struct qless_store_worker *worker);
void worker_let_go(struct qless_store_worker *worker);

/* Attaches the worker over a new link, and compares the jobs. The party has claimed it. */
int worker_attach(struct qless_store_worker *worker, const struct link_limits *limits,
		  struct qless_store_error *error);
/* For the keeper: returns the socket of its link, which need be watched. -1: there is no link, or
 * *ret_left_alone says that another party cares for it. */
int worker_fd(struct qless_store_worker *worker, bool *ret_left_alone);
/* The worker has a job. Takes it. */
void worker_add_job(struct qless_store_worker *worker, struct qless_store_job *job);
/* The link has failed. */
void worker_drop_link(struct qless_store_worker *worker);

#endif
