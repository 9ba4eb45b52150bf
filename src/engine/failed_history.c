#include "engine/failed_history.h"

#include <assert.h>
#include <math.h>

#include "engine/engine_int.h"
#include "engine/job.h"
#include "util/container.h"

/* Jobs and groups that one search looks at. */
#define LOOKS_MAX 64

static struct group *group_from_node(struct heap_node *node)
{
	return container_of(node, struct group, oldest);
}

static bool has_dependents(const struct qless_job *job)
{
	return job_extra(job) != NULL && job_extra(job)->dependents != NULL;
}

static void lower(struct qless *q, struct group *group, double number)
{
	if (number < group->oldest.key)
		heap_rekey(&q->failures, &group->oldest, number);
}

void failed_history_add(struct qless *q, struct group *group, double number)
{
	q->failed_count++;
	lower(q, group, number);
}

void failed_history_remove(struct qless *q)
{
	q->failed_count--;
}

void failed_history_free(struct qless *q, struct qless_job *job)
{
	assert(job->state == QLESS_FAILED && job->node.linked);
	/* A damaged job may have no group. */
	if (!q->are_failures_stale)
		lower(q, job_extra(job)->failure->group->user, job->node.score);
}

/* ---- repairs ---- */

void failed_history_forget(struct qless *q)
{
	q->are_failures_stale = true;
}

static uint64_t count_failed(const struct qless *q)
{
	uint64_t count = 0;

	for (size_t i = 0; i < q->failures.count; i++)
		count += skiplist_count(&group_from_node(q->failures.nodes[i])->jobs);
	return count;
}

/* With equal keys, any order is that of a heap. */
static void recount(struct qless *q)
{
	for (size_t i = 0; i < q->failures.count; i++)
		q->failures.nodes[i]->key = -INFINITY;
	q->failed_count = count_failed(q);
	q->are_failures_stale = false;
}

bool failed_history_is_sound(const struct qless *q)
{
	return q->are_failures_stale ||
	       (heap_is_ordered(&q->failures) && q->failures.count == q->group_count &&
		q->failed_count == count_failed(q));
}

bool failed_history_finds(const struct qless *q, const struct group *group,
			  const struct qless_job *job)
{
	return q->are_failures_stale || has_dependents(job) || group->oldest.key <= job->node.score;
}

/* ---- the oldest job ---- */

/* Look at the group that may have the oldest job. Returns the job, or NULL if the number of the
 * group was too low. */
static struct qless_job *look(struct qless *q, struct heap_node *top)
{
	const struct skipnode *node = skiplist_first_ge(&group_from_node(top)->jobs, top->key);
	double number = INFINITY;

	/* Failures have different numbers, so the next number passes over one job. */
	if (node != NULL && has_dependents(job_from_node(node)))
		number = nextafter(node->score, INFINITY);
	else if (node != NULL && node->score > top->key)
		number = node->score;
	else if (node != NULL)
		return job_from_node(node);
	heap_rekey(&q->failures, top, number);
	return NULL;
}

double qless_next_failed_sweep(struct qless *q, struct qless_str *ret_jid)
{
	double seconds = q->settings.failed_history, count = q->settings.failed_history_count;
	struct qless_job *job = NULL;
	struct heap_node *top;

	*ret_jid = str_make(NULL, 0);
	if (seconds <= 0 && count <= 0)
		return INFINITY;
	if (q->are_failures_stale)
		recount(q);
	for (unsigned looks = 0; looks < LOOKS_MAX && job == NULL; looks++) {
		top = heap_first(&q->failures);
		if (top == NULL || top->key == INFINITY)
			return INFINITY;
		job = look(q, top);
	}
	if (job == NULL)
		return -INFINITY;
	*ret_jid = job_jid(job);
	if (count > 0 && (double)q->failed_count > count)
		return -INFINITY;
	return seconds > 0 ? finite_add(job_extra(job)->failure->when, seconds) : INFINITY;
}
