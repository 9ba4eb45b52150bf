/*
 * The jobs of a lane: a treap, which is a search tree with random weights that fall from the root
 * to the leaves, so its depth is O(log n). The weight of a job is a hash of its address, so a job
 * needs no room for it. Jobs nearly always enter as the last one and leave as the first, so the
 * lane knows both.
 */
#include <assert.h>

#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/lane.h"

/* The two sides of a node: better jobs, and worse ones. */
enum side {
	BETTER,
	WORSE,
};

bool lane_job_precedes(const struct qless_job *a, const struct qless_job *b)
{
	double x = a->node.score, y = b->node.score;

	return x != y ? x > y : str_compare(job_jid(a), job_jid(b)) > 0;
}

static uint64_t weight_of(const struct qless_job *job)
{
	uint64_t weight = (uintptr_t)job;

	/* The finalizer of MurmurHash3. */
	weight ^= weight >> 33;
	weight *= UINT64_C(0xff51afd7ed558ccd);
	weight ^= weight >> 33;
	weight *= UINT64_C(0xc4ceb9fe1a85ec53);
	return weight ^ weight >> 33;
}

static struct lane_links *links(const struct qless_job *job)
{
	return &job_limited(job)->lane;
}

static struct qless_job *child(const struct qless_job *job, enum side side)
{
	return links(job)->child[side];
}

/* The end of a subtree on one side. */
static struct qless_job *end_of(struct qless_job *job, enum side side)
{
	while (job != NULL && child(job, side) != NULL)
		job = child(job, side);
	return job;
}

/* Let `job`, which may be NULL, take the place of `old` below the parent of that. */
static void replace(struct lane *lane, const struct qless_job *old, struct qless_job *job)
{
	struct qless_job *up = links(old)->up;

	if (up == NULL)
		lane->root = job;
	else
		links(up)->child[child(up, WORSE) == old ? WORSE : BETTER] = job;
	if (job != NULL)
		links(job)->up = up;
}

/* Let a job and its parent change places. The order stays. */
static void rotate(struct lane *lane, struct qless_job *job)
{
	struct qless_job *up = links(job)->up;
	enum side side = child(up, WORSE) == job ? WORSE : BETTER;
	struct qless_job *inner = child(job, side == WORSE ? BETTER : WORSE);

	replace(lane, up, job);
	links(job)->child[side == WORSE ? BETTER : WORSE] = up;
	links(up)->up = job;
	links(up)->child[side] = inner;
	if (inner != NULL)
		links(inner)->up = up;
}

/* Attach a new leaf. */
static void attach(struct lane *lane, struct qless_job *job, struct qless_job *up, enum side side)
{
	*links(job) = (struct lane_links){ .up = up };
	if (up == NULL)
		lane->root = job;
	else
		links(up)->child[side] = job;
}

void lane_insert(struct lane *lane, struct qless_job *job)
{
	struct qless_job *up = lane->last;
	enum side side = WORSE;

	if (up != NULL && !lane_job_precedes(up, job)) {
		struct qless_job *next = lane->root;

		while (next != NULL) {
			up = next;
			side = lane_job_precedes(job, up) ? BETTER : WORSE;
			next = child(up, side);
		}
	}
	attach(lane, job, up, side);
	if (up == NULL || (side == BETTER && up == lane->best))
		lane->best = job;
	if (up == NULL || (side == WORSE && up == lane->last))
		lane->last = job;
	while (links(job)->up != NULL && weight_of(job) > weight_of(links(job)->up))
		rotate(lane, job);
}

/* The next job on a side of one that has nothing beyond it on the other side. */
static struct qless_job *neighbour(const struct qless_job *job, enum side side)
{
	struct qless_job *inner = child(job, side);

	return inner != NULL ? end_of(inner, side == WORSE ? BETTER : WORSE) : links(job)->up;
}

void lane_remove(struct lane *lane, struct qless_job *job)
{
	if (lane->best == job)
		lane->best = neighbour(job, WORSE);
	if (lane->last == job)
		lane->last = neighbour(job, BETTER);
	while (child(job, BETTER) != NULL && child(job, WORSE) != NULL) {
		bool is_worse = weight_of(child(job, WORSE)) > weight_of(child(job, BETTER));

		rotate(lane, child(job, is_worse ? WORSE : BETTER));
	}
	replace(lane, job, child(job, BETTER) != NULL ? child(job, BETTER) : child(job, WORSE));
	assert((lane->root == NULL) == (lane->best == NULL && lane->last == NULL));
}

/* The job after `job` in the order of the lane. */
static struct qless_job *next_of(const struct qless_job *job)
{
	const struct qless_job *up = links(job)->up;

	if (child(job, WORSE) != NULL)
		return end_of(child(job, WORSE), BETTER);
	while (up != NULL && child(up, WORSE) == job) {
		job = up;
		up = links(up)->up;
	}
	return (struct qless_job *)(uintptr_t)up;
}

static bool is_sound(const struct lane *lane, const struct qless_job *job)
{
	const struct qless_job *up = links(job)->up;

	return up == NULL ? lane->root == job
			  : (child(up, BETTER) == job || child(up, WORSE) == job) &&
				    weight_of(up) >= weight_of(job);
}

size_t lane_count_jobs(const struct lane *lane)
{
	const struct qless_job *job = end_of(lane->root, BETTER), *last = NULL;
	size_t count = 0;

	if (job != lane->best)
		return SIZE_MAX;
	for (; job != NULL; last = job, job = next_of(job), count++) {
		if (!is_sound(lane, job) || (last != NULL && !lane_job_precedes(last, job)))
			return SIZE_MAX;
	}
	return last == lane->last ? count : SIZE_MAX;
}

bool lane_has(const struct lane *lane, const struct qless_job *job)
{
	while (links(job)->up != NULL)
		job = links(job)->up;
	return lane->root == job;
}
