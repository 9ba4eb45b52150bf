/*
 * The keeper: a thread that looks after the links of workers while their programs work on jobs.
 *
 * If a link ends, it attaches the worker again before the grace period is over. It sleeps until a
 * link ends, so a worker that takes one job after the other never wakes it.
 */
#ifndef EMBED_KEEPER_H
#define EMBED_KEEPER_H

struct keeper;
struct qless_store;
struct qless_store_error;
struct qless_store_worker;

/* Starts the keeper of a store unless there is one, and gives it a worker. Returns 0 or
 * QLESS_STORE_EUNAVAILABLE. */
int keeper_add(struct qless_store *store, struct qless_store_worker *worker,
	       struct qless_store_error *error);
/* Takes a worker away from it. Waits while the keeper uses it. */
void keeper_remove(struct qless_store *store, struct qless_store_worker *worker);
/* A worker has another link, or none, or somebody waits for the keeper to let go of it. */
void keeper_wake(struct qless_store *store);

/* Ends the thread. NULL is a no-op. */
void keeper_free(struct keeper *k);

#endif
