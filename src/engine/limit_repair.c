/*
 * Verifying and repairing what follows from the limits of jobs: slots, lanes and counters.
 *
 * All of it follows from the jobs, so it is made anew if anything is wrong. While other repairs are
 * made, jobs change their states without lanes and slots, see limits_suspend().
 */
#include <assert.h>
#include <stdlib.h>

#include "engine/check.h"
#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/lane.h"
#include "engine/named_limit.h"
#include "engine/recur.h"
#include "engine/shelf.h"
#include "util/container.h"

/* ---- checks ---- */

/* Whether the running job has a slot of each of its limits, in their order. */
static bool has_slots(const struct qless_job *job)
{
	const struct limit_set *set = job_limits(job);
	const struct slot *slot = job_limited(job)->slots;

	for (uint32_t i = 0; i < set->count; i++, slot = slot->next) {
		if (slot == NULL || slot->job != job || slot->limit != set->limits[i] ||
		    slot->node.score != job->node.score ||
		    !check_is_in(&slot->limit->slots, &slot->node))
			return false;
	}
	return slot == NULL;
}

/* Whether the slots of each limit are those of the running jobs. */
static bool are_slots_sound(const struct qless *q)
{
	uint64_t taken = 0, listed = 0;
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->jobs) {
		const struct qless_job *job = container_of(node, struct qless_job, hash);

		if (!(job->flags & JOB_LIMITED) || job->state != QLESS_RUNNING)
			continue;
		if (!has_slots(job))
			return false;
		taken += job_limits(job)->count;
	}
	HASH_FOREACH(node, &it, &q->limit_names.hash) {
		const struct named_limit *limit = intern_from_node(node)->user;

		if (limit == NULL)
			continue;
		if (!check_is_ordered(&limit->slots))
			return false;
		listed += skiplist_count(&limit->slots);
	}
	return taken == listed;
}

/* Whether a limit is what its members say, and is where a sweep finds it. */
static bool is_limit_sound(const struct qless *q, const struct intern *name)
{
	const struct named_limit *limit = name->user;
	double when;

	if (limit == NULL || limit->name != name)
		return limit == NULL;
	when = named_limit_sweep_time(limit);
	return (limit->own == NULL || limit->rule == limit->own) &&
	       limit->node.linked == (when < INFINITY) &&
	       (!limit->node.linked ||
		(limit->node.score == when && check_is_in(&q->limit_sweeps, &limit->node)));
}

static bool are_limits_sound(const struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->limit_names.hash) {
		if (!is_limit_sound(q, intern_from_node(node)))
			return false;
	}
	return check_is_ordered(&q->limit_sweeps);
}

bool limits_are_sound(const struct qless *q)
{
	return are_slots_sound(q) && lanes_are_sound(q) && are_limits_sound(q);
}

/* ---- repairs ---- */

void limits_suspend(struct qless *q)
{
	shelves_drop(q);
	q->are_limits_suspended = hash_count(&q->limit_sets) > 0;
	q->are_limits_stale = false;
}

static void drop_slots(struct named_limit *limit)
{
	struct skipnode *node;

	while ((node = skiplist_pop_first(&limit->slots)) != NULL)
		free(container_of(node, struct slot, node));
}

/* Let all jobs forget their slots and their lanes, and count their sets. */
static void forget_jobs(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->limit_sets)
		container_of(node, struct limit_set, hash)->refs = 0;
	HASH_FOREACH(node, &it, &q->jobs) {
		struct qless_job *job = container_of(node, struct qless_job, hash);

		if (job->flags & JOB_LIMITED) {
			job_limited(job)->slots = NULL;
			limit_set_ref(job_limited(job)->set);
		}
	}
	HASH_FOREACH(node, &it, &q->recurs)
		limit_set_ref(container_of(node, struct qless_recur, hash)->limits);
}

static void take_slots(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->jobs) {
		struct qless_job *job = container_of(node, struct qless_job, hash);

		if ((job->flags & JOB_LIMITED) && job->state == QLESS_RUNNING && job->node.linked)
			slots_hold(q, job, job->node.score);
	}
}

void limits_rebuild(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	q->are_limits_suspended = q->are_limits_stale = false;
	HASH_FOREACH(node, &it, &q->limit_names.hash) {
		if (intern_from_node(node)->user != NULL)
			drop_slots(intern_from_node(node)->user);
	}
	forget_jobs(q);
	take_slots(q);
	lanes_rebuild(q);
}

size_t limits_resume(struct qless *q)
{
	bool is_stale = q->are_limits_stale;

	q->are_limits_suspended = false;
	if (is_stale)
		limits_rebuild(q);
	return is_stale;
}
