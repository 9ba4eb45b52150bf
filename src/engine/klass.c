#include "engine/klass.h"

#include <assert.h>
#include <stdlib.h>

#include "util/mem.h"

/* More hand-outs than any job has. Retries may be any number. */
#define ATTEMPTS_MAX 1e9

struct meter *klass_add_meter(struct qless *q, struct intern *name)
{
	struct klasses *klasses = &q->klasses;
	struct klass *klass;

	assert(name->user == NULL);
	/* A class of that name could not be told from the others. */
	if (klasses->count >= klasses->max || str_equal(intern_str(name), STR(METER_OTHER)))
		return &klasses->other;
	klass = mem_zalloc(sizeof *klass);
	klass->name = name;
	klass->at = klasses->count;
	name->user = klass;
	klasses->items =
		mem_grow(klasses->items, &klasses->cap, klasses->count + 1, sizeof *klasses->items);
	klasses->items[klasses->count++] = klass;
	return &klass->meter;
}

void klass_drop_meter(struct qless *q, struct klass *klass)
{
	struct klasses *klasses = &q->klasses;
	struct klass *last = klasses->items[klasses->count - 1];

	assert(klasses->items[klass->at] == klass && klass->name->user == klass);
	meter_add(&klasses->other, &klass->meter);
	klasses->items[klass->at] = last;
	last->at = klass->at;
	klasses->count--;
	klass->name->user = NULL;
	free(klass);
}

void meter_set_max_classes(struct qless *q, size_t max)
{
	q->klasses.max = max;
	while (q->klasses.count > max)
		klass_drop_meter(q, q->klasses.items[q->klasses.count - 1]);
}

void klasses_done(struct klasses *klasses)
{
	for (size_t i = 0; i < klasses->count; i++)
		free(klasses->items[i]);
	free(klasses->items);
}

void job_count_pop(struct qless *q, const struct qless_job *job, double seconds)
{
	meter_pop(&job->queue->meter, klass_meter(q, job), seconds);
}

/* The hand-outs of a job since it was put: each but the last one used up a retry. */
static double count_attempts(const struct qless_job *job)
{
	double attempts = job->retries - job->remaining + 1;

	return attempts >= 1 && attempts <= ATTEMPTS_MAX ? attempts : 1;
}

void job_count_run(struct qless *q, const struct qless_job *job, double seconds)
{
	meter_complete(&job->queue->meter, klass_meter(q, job), seconds, count_attempts(job));
}

void job_count_fail(struct qless *q, const struct qless_job *job)
{
	struct meter *queue = &job->queue->meter, *klass = klass_meter(q, job);

	queue->counts[METER_FAIL]++;
	klass->counts[METER_FAIL]++;
	meter_end(queue, klass, METER_TO_FAIL, q->now - history_since(&job->history));
}

void job_count_end(struct qless *q, const struct qless_job *job, enum meter_end end)
{
	struct meter *klass = klass_meter(q, job);

	meter_end(&job->queue->meter, klass, end, q->now - history_since(&job->history));
}
