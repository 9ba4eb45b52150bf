/*
 * Meters by class. A class has one while some job or recurring job names it, up to a number of
 * classes. The others count together, as the class `other`.
 *
 * The interned name of a class points to its meter, so counting needs no search.
 */
#ifndef ENGINE_KLASS_H
#define ENGINE_KLASS_H

#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/meter.h"
#include "engine/queue.h"

struct klass {
	struct intern *name; /* its user is this */
	size_t at;	     /* in qless.klasses */
	struct meter meter;
};

/* Returns a new meter for a class without one, or the meter of all classes without one. */
struct meter *klass_add_meter(struct qless *q, struct intern *name);

static inline struct meter *klass_meter(struct qless *q, const struct qless_job *job)
{
	struct klass *klass = job->klass->user;

	return __builtin_expect(klass != NULL, 1) ? &klass->meter : klass_add_meter(q, job->klass);
}

/* Free the meter of a class. The class `other` gets its counts, so that sums never shrink. */
void klass_drop_meter(struct qless *q, struct klass *klass);

/* Drop a reference to a name of qless.names, like intern_unref(). */
static inline void klass_unref(struct qless *q, struct intern *name)
{
	if (name != NULL && name->node.aux == 1 && name->user != NULL)
		klass_drop_meter(q, name->user);
	intern_unref(&q->names, name);
}

/* Free all meters of an engine that is being freed. */
void klasses_done(struct klasses *klasses);

/* Count an event of a job that belongs to a queue. */
static inline void job_count(struct qless *q, const struct qless_job *job, enum meter_event event)
{
	job->queue->meter.counts[event]++;
	klass_meter(q, job)->counts[event]++;
}

/* Count a pop of the job after it waited. */
void job_count_pop(struct qless *q, const struct qless_job *job, double seconds);

/* Count a completion of the job after it ran. Its retries have not been restored yet. */
void job_count_run(struct qless *q, const struct qless_job *job, double seconds);

/* Count that the job fails now, and ends. */
void job_count_fail(struct qless *q, const struct qless_job *job);

/* Count another end of the job, now and in its queue. */
void job_count_end(struct qless *q, const struct qless_job *job, enum meter_end end);

#endif
