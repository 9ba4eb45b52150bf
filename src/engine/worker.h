/*
 * Workers: when they were last seen, what they hold, and what they did.
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

/* A job that a worker holds or held. After a timeout the entry stays until the worker gives the job
 * back or is forgotten, even if the job is gone. */
struct holding {
	struct hash_node hash; /* aux: length of the jid */
	struct skipnode node;  /* score: when the lock expires. The jid follows the levels */
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
	struct worker_day *days; /* oldest first; they outlive the entry among the known workers */
	uint32_t day_count;
	uint32_t day_cap;
	struct skipnode node; /* in qless.workers while known; score: last seen */
};

struct worker *worker_find(const struct qless *q, struct qless_str name);
/* Note that the worker was seen. */
void worker_seen(struct qless *q, struct intern *name, double now);
/* Let the worker hold the job until the lock expires. A job that it already holds gets the new
 * expiry. */
void worker_hold(struct qless *q, struct intern *name, struct qless_str jid, double expires);
void worker_hold_job(struct qless *q, struct intern *name, const struct qless_job *job,
		     double expires);
/* Let the worker hold many jobs. */
void worker_hold_jobs(struct qless *q, struct intern *name, const struct job_vec *jobs,
		      double expires);
/* Let the worker of the job no longer hold it. */
void worker_drop_job(struct qless *q, const struct qless_job *job);
/* Drop and free an entry. The caller calls worker_release() in the end. */
void worker_drop_holding(struct qless *q, struct worker *worker, struct holding *holding);
void worker_free(struct qless *q, struct worker *worker);
/* Count a deed of the worker, or a lock that it lost. */
void worker_count(struct qless *q, struct intern *name, double now, enum deed deed, uint64_t count);
/* Forget up to `max` workers that were not seen for too long, with the jobs they hold. Returns the
 * number of workers. */
int64_t worker_forget_old(struct qless *q, double now, int64_t max);
/* Drop the days before `first_day`. */
void worker_drop_days(struct qless *q, struct worker *worker, double first_day);
struct qless_str holding_jid(const struct holding *holding);
/* The node of the job among those that the worker holds, or NULL. */
const struct skipnode *worker_find_job(const struct worker *worker, struct qless_str jid);
/* Free the worker unless something keeps it visible. */
void worker_release(struct qless *q, struct worker *worker);
/* The entry of the job, or NULL. */
struct holding *worker_find_holding(const struct worker *worker, struct qless_str jid);
/* Repair the place of an entry in the list of held jobs. Does not count busy workers. Returns the
 * number of repairs. */
size_t worker_list_holding(struct qless *q, struct worker *worker, struct holding *holding);
/* Repair the list of held jobs. Returns the number of repairs. */
size_t worker_resolve(struct qless *q, struct worker *worker);

#endif
