/*
 * Recurring jobs: they make jobs at fixed intervals, or at the ticks of a schedule.
 */
#ifndef ENGINE_RECUR_H
#define ENGINE_RECUR_H

#include <stdint.h>

#include "qless.h"
#include "engine/due.h"
#include "engine/schedule.h"
#include "util/hash.h"
#include "util/intern.h"
#include "util/skiplist.h"
#include "util/str.h"

struct limit_set;

struct qless_recur {
	struct hash_node hash; /* aux: length of the jid */
	struct queue *queue;
	struct intern *klass;
	struct intern **tags;	   /* names of tags, in order */
	struct limit_set *limits;  /* of its jobs; NULL: none */
	struct qless_terms *terms; /* of its jobs; NULL: none */
	uint32_t tag_count;
	uint32_t data_len;
	char *data;
	double priority;
	double retries;
	struct schedule *schedule; /* NULL: it has an interval */
	double interval;	   /* 0 if it has a schedule */
	double backlog;
	uint64_t count;
	struct skipnode node; /* score: when the next run is due. The jid follows the levels */
};

/* Make up to `max` jobs of runs that are due. Returns the number of jobs. */
int64_t recur_spawn(struct qless *q, struct queue *queue, double now, int64_t max);
/* When it makes its next job, as of `now`. A backlog or a schedule skips runs that were missed. */
double recur_next_run(const struct qless_recur *recur, double now);
/* About the number of runs that are due, at most `max`. The recurring job is due. */
double recur_count_due(const struct qless_recur *recur, double now, double max);
/* Set when the next run is due. The recurring job is in its queue. */
void recur_set_next(struct qless *q, struct qless_recur *recur, double next);
/* Note when the next run falls due. A run that was due before 1970 never is: the reference ignores
 * negative times. */
static inline void recur_falls_due(struct qless *q, const struct qless_recur *recur)
{
	if (recur->schedule != NULL)
		schedule_falls_due(q, recur->schedule, recur->node.score);
	if (recur->node.score >= 0)
		queue_falls_due(q, recur->queue, recur->node.score);
}
struct qless_str recur_jid(const struct qless_recur *recur);
struct qless_recur *recur_from_node(const struct skipnode *node);
void recur_free(struct qless *q, struct qless_recur *recur);
struct qless_str recur_member(const struct skipnode *node);
struct qless_str recur_key(const struct hash_node *node);

#endif
