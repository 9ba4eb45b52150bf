/*
 * Complete jobs that are retained for a number of seconds, or until a client deletes them.
 *
 * The option `retain` of a put asks for it, or the option <queue>-retain of the queue in which the
 * job completes. Retained jobs are in the list of completed jobs like all others. They do not count
 * for jobs-history-count, and no purge removes them. So the engine has two indexes of them: one in
 * the order of the list, by which a purge passes over any number of them in O(log n), and one by
 * the time at which the server deletes them. The log records which jobs were deleted.
 */
#ifndef ENGINE_RETAIN_H
#define ENGINE_RETAIN_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/queue.h"

struct saver;
struct state_loader;

struct retained {
	struct qless_job *job;
	double seconds;	      /* after its completion; INFINITY: until it is deleted */
	struct heap_node end; /* in retained_jobs.ends, unless a client must delete the job */
	struct skipnode node; /* in retained_jobs.list, with the score of the job */
};

/* For skiplists of retained jobs. */
struct qless_str retained_member(const struct skipnode *node);

/* Functions that each completion calls are inline, so that a database without retained jobs pays
 * for a test. */

double retain_seconds_by_terms(const struct qless_job *job);
struct skipnode *retain_search_first(struct qless *q, double score);
struct skipnode *retain_search(const struct qless *q, struct skipnode *node);

/* The seconds of a job that is about to complete in its queue; NAN if it is not retained. */
static inline double retain_seconds(const struct qless_job *job)
{
	return job->flags & JOB_CARRIES ? retain_seconds_by_terms(job) : job->queue->retain;
}

/* Retain a job that has entered the list of completed jobs. */
void retain_begin(struct qless *q, struct qless_job *job, double seconds);
/* Note how long a job is retained that is in no list yet. retain_restore() enters the indexes. */
void retain_prepare(struct qless *q, struct qless_job *job, double seconds);
/* Note that a snapshot or a repair has placed a job in the list of completed jobs. */
void retain_restore(struct qless *q, struct qless_job *job);
/* Note that a job is no longer in the list of completed jobs. */
void retain_end(struct qless *q, struct qless_job *job);

/* Note that a job with this score is in the list and not retained. */
static inline void retain_note_other(struct qless *q, double score)
{
	if (score < q->retained.below)
		q->retained.below = score;
}

/* The first job of the list that is not retained and has at least this score, which is finite or
 * -INFINITY; NULL if there is none. */
static inline struct skipnode *retain_first_other(struct qless *q, double score)
{
	if (__builtin_expect(skiplist_count(&q->retained.list) != 0, 0))
		return retain_search_first(q, score);
	return isinf(score) ? skiplist_first(&q->completed)
			    : skiplist_first_ge(&q->completed, score);
}

/* The first one after a node of the list. */
static inline struct skipnode *retain_next_other(const struct qless *q, const struct skipnode *node)
{
	if (__builtin_expect(skiplist_count(&q->retained.list) != 0, 0))
		return retain_search(q, skiplist_next(node));
	return skiplist_next(node);
}

/* The seconds in a snapshot. retain_load() marks the loader as failed if they are negative. */
void retain_save(struct saver *s, double seconds);
double retain_load(struct state_loader *l);

void retained_free(struct qless *q, struct retained *retained);
/* Free the memory alone, for qless_free_some(). NULL is a no-op. */
void retained_discard(struct retained *retained);
size_t retained_bytes(const struct retained *retained);

/* Note that a repair changes the list without the calls above. */
void retain_forget(struct qless *q);
/* Whether the indexes match the jobs, for qless_check(). Walks over all jobs. */
bool retain_is_sound(const struct qless *q);
/* Make the indexes anew from what the jobs say. */
void retain_rebuild(struct qless *q);

#endif
