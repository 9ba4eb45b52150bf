/*
 * Workers: when they were last seen, what they hold, what they did.
 */
#ifndef ENGINE_WORKER_H
#define ENGINE_WORKER_H

#include <stdint.h>

#include "qless.h"
#include "util/hash.h"
#include "util/intern.h"
#include "util/skiplist.h"
#include "util/str.h"

struct job_vec;

/* What a worker holds, or once held: after a timeout the entry stays until the worker gives the job
 * back or is forgotten, even if the job is gone by then. */
struct holding {
	struct hash_node hash; /* aux: length of the jid */
	struct skipnode node;  /* score: expiry. The jid follows the levels */
};

enum deed {
	DEED_POPPED,
	DEED_COMPLETED,
	DEED_FAILED,
	DEED_LOST,
	DEED_TOTAL,
};

struct worker_day {
	double day; /* when it began */
	uint64_t deeds[DEED_TOTAL];
};

struct worker {
	struct intern *name;
	struct hash held; /* of holdings, by jid */
	struct skiplist by_expiry;
	struct worker_day *days; /* oldest first; they stay when the worker is forgotten */
	uint32_t day_count;
	uint32_t day_cap;
	struct skipnode node; /* in qless.workers while known; score: last seen */
};

struct worker *worker_find(const struct qless *q, struct qless_str name);
/* Remember when it was seen. */
void worker_seen(struct qless *q, struct intern *name, double now);
/* It holds the job until then; a new expiry if it did already. */
void worker_hold(struct qless *q, struct intern *name, struct qless_str jid, double expires);
void worker_hold_job(struct qless *q, struct intern *name, const struct qless_job *job,
		     double expires);
/* The same for many jobs. */
void worker_hold_jobs(struct qless *q, struct intern *name, const struct job_vec *jobs,
		      double expires);
/* The job's worker does not hold it any more. */
void worker_drop_job(struct qless *q, const struct qless_job *job);
void worker_free(struct qless *q, struct worker *worker);
/* Count what a worker did, or what became of its lock. */
void worker_count(struct qless *q, struct intern *name, double now, enum deed deed, uint64_t count);
/* Forget up to `max` workers that have not been seen for too long, with what they hold; returns how
 * many. */
int64_t worker_forget_old(struct qless *q, double now, int64_t max);
/* Forget the days before that one. */
void worker_drop_days(struct qless *q, struct worker *worker, double first_day);
struct qless_str holding_jid(const struct holding *holding);
/* Where it is among what the worker holds, or NULL. */
const struct skipnode *worker_find_job(const struct worker *worker, struct qless_str jid);
/* Free the worker if nothing is left that would make it visible. */
void worker_release(struct qless *q, struct worker *worker);
/* Repair what the worker holds; returns how many repairs were made. */
size_t worker_resolve(struct qless *q, struct worker *worker);

#endif
