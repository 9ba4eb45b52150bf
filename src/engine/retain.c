#include "engine/retain.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/carried.h"
#include "engine/check.h"
#include "engine/state_load.h"
#include "engine/state_save.h"
#include "engine/terms.h"
#include "util/container.h"
#include "util/mem.h"

static struct retained *from_node(const struct skipnode *node)
{
	return container_of((struct skipnode *)(uintptr_t)node, struct retained, node);
}

static struct retained *from_end(const struct heap_node *node)
{
	return container_of((struct heap_node *)(uintptr_t)node, struct retained, end);
}

/* The entry of a job; NULL if the job is not retained. */
static struct retained *retained_of(const struct qless_job *job)
{
	const struct job_terms *terms = job_terms(job);

	return terms != NULL ? terms->retained : NULL;
}

struct qless_str retained_member(const struct skipnode *node)
{
	return job_jid(from_node(node)->job);
}

/* ---- one job ---- */

double retain_seconds_by_terms(const struct qless_job *job)
{
	const struct job_terms *terms = job_terms(job);

	return terms != NULL && terms->has_retain ? terms->retain : job->queue->retain;
}

void retain_prepare(struct qless *q, struct qless_job *job, double seconds)
{
	unsigned height = engine_draw_height(q);
	struct retained *retained;

	assert(seconds > 0);
	/* A state that is being repaired may have one. */
	retain_end(q, job);
	retained = mem_alloc(offsetof(struct retained, node) + skipnode_size(height));
	retained->job = job;
	retained->seconds = seconds;
	heap_node_init(&retained->end);
	skipnode_init(&retained->node, height);
	job_need_terms(job)->retained = retained;
}

/* Let both indexes find the job, which is in the list of completed jobs. */
static void enter(struct qless *q, struct retained *retained)
{
	double score = retained->job->node.score;

	assert(!retained->node.linked && !heap_has(&retained->end));
	skiplist_insert(&q->retained.list, &retained->node, score);
	if (isfinite(retained->seconds))
		heap_insert(&q->retained.ends, &retained->end,
			    finite_add(score, retained->seconds));
}

static void leave(struct qless *q, struct retained *retained)
{
	if (retained->node.linked)
		skiplist_remove(&q->retained.list, &retained->node);
	if (heap_has(&retained->end))
		heap_remove(&q->retained.ends, &retained->end);
}

void retain_begin(struct qless *q, struct qless_job *job, double seconds)
{
	assert(job->state == QLESS_COMPLETE && job->node.linked);
	retain_prepare(q, job, seconds);
	enter(q, retained_of(job));
}

void retain_restore(struct qless *q, struct qless_job *job)
{
	struct retained *retained = retained_of(job);

	if (retained == NULL)
		retain_note_other(q, job->node.score);
	else if (!retained->node.linked)
		enter(q, retained);
}

void retain_end(struct qless *q, struct qless_job *job)
{
	struct retained *retained = retained_of(job);

	if (retained == NULL)
		return;
	job_terms(job)->retained = NULL;
	retained_free(q, retained);
	job_release_terms(q, job);
}

void retained_free(struct qless *q, struct retained *retained)
{
	leave(q, retained);
	retained_discard(retained);
}

void retained_discard(struct retained *retained)
{
	free(retained);
}

size_t retained_bytes(const struct retained *retained)
{
	return offsetof(struct retained, node) + skipnode_size(retained->node.height) +
	       (heap_has(&retained->end) ? sizeof(struct heap_node *) : 0);
}

/* ---- passing over retained jobs ---- */

/* Neighbours that a search looks at before it takes larger steps. */
#define NEIGHBOURS 8

/* Whether the job at one rank of the list is the one at another rank of the index. */
static bool is_retained_at(const struct qless *q, uint32_t rank, uint32_t index)
{
	const struct skipnode *node = skiplist_at(&q->retained.list, index);

	return node != NULL && skiplist_at(&q->completed, rank) == &from_node(node)->job->node;
}

/* The first node after those that are retained from `node` on, which is. In both orders these jobs
 * follow each other, and the first difference ends them. */
static struct skipnode *skip_run(const struct qless *q, const struct skipnode *node,
				 const struct retained *retained)
{
	uint32_t rank = skiplist_rank(&q->completed, node);
	uint32_t index = skiplist_rank(&q->retained.list, &retained->node);
	uint32_t low = 1, high = skiplist_count(&q->retained.list) - index;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (is_retained_at(q, rank + mid, index + mid))
			low = mid + 1;
		else
			high = mid;
	}
	return skiplist_at(&q->completed, rank + low);
}

/* The first node that is not retained, from `node` on, which may be NULL. */
struct skipnode *retain_search(const struct qless *q, struct skipnode *node)
{
	for (unsigned i = 0; node != NULL; i++) {
		const struct retained *retained = retained_of(job_from_node(node));

		if (retained == NULL)
			break;
		if (i < NEIGHBOURS || !retained->node.linked)
			node = skiplist_next(node);
		else
			node = skip_run(q, node, retained);
	}
	return node;
}

struct skipnode *retain_search_first(struct qless *q, double score)
{
	double below = q->retained.below;
	struct skipnode *node;

	node = retain_search(q, skiplist_first_ge(&q->completed, fmax(score, below)));
	if (score <= below)
		q->retained.below = node != NULL ? node->score : INFINITY;
	return node;
}

/* ---- snapshots ---- */

void retain_save(struct saver *s, double seconds)
{
	state_save_byte(s, seconds == INFINITY);
	if (seconds != INFINITY)
		state_save_number(s, seconds);
}

double retain_load(struct state_loader *l)
{
	unsigned is_infinite = state_read_byte(l);
	double seconds = is_infinite == 1 ? INFINITY : state_read_number(l);

	if (is_infinite > 1 || seconds < 0)
		state_read_fail(l, "the seconds that a job is retained are out of range");
	return seconds;
}

/* ---- what callers see ---- */

bool qless_job_retained(const struct qless_job *job, struct qless_retained *ret_retained)
{
	const struct retained *retained = retained_of(job);

	if (retained == NULL)
		return false;
	*ret_retained = (struct qless_retained){ retained->seconds, retained->end.key };
	return true;
}

size_t qless_retained_count(const struct qless *q)
{
	return skiplist_count(&q->retained.list);
}

double qless_next_retained_sweep(const struct qless *q, struct qless_str *ret_jid)
{
	const struct heap_node *node = heap_first(&q->retained.ends);

	if (node == NULL)
		return INFINITY;
	*ret_jid = job_jid(from_end(node)->job);
	return node->key;
}

/* ---- checks and repairs ---- */

void retain_forget(struct qless *q)
{
	q->retained.below = -INFINITY;
}

/* Whether both indexes have a retained job, where the list of completed jobs has it. */
static bool is_filed(const struct qless *q, const struct retained *retained,
		     const struct qless_job *job)
{
	const struct heap_node *end = &retained->end;
	bool ends = isfinite(retained->seconds);

	return retained->job == job && job->state == QLESS_COMPLETE && job->node.linked &&
	       retained->node.linked && retained->node.score == job->node.score &&
	       heap_has(end) == ends &&
	       (!ends ||
		(end->place < q->retained.ends.count && q->retained.ends.nodes[end->place] == end &&
		 end->key == finite_add(job->node.score, retained->seconds)));
}

/* Whether the index has the retained jobs of the list, in its order, and nothing else. */
static bool is_in_order(const struct qless *q)
{
	const struct skipnode *node = skiplist_first(&q->completed);
	const struct skipnode *at = skiplist_first(&q->retained.list);

	for (; node != NULL; node = skiplist_next(node)) {
		const struct retained *retained = retained_of(job_from_node(node));

		if (retained == NULL && node->score < q->retained.below)
			return false;
		if (retained == NULL)
			continue;
		if (at != &retained->node)
			return false;
		at = skiplist_next(at);
	}
	return at == NULL && check_is_ordered(&q->retained.list);
}

bool retain_is_sound(const struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;
	size_t count = 0;

	HASH_FOREACH(node, &it, &q->jobs) {
		const struct qless_job *job = container_of(node, const struct qless_job, hash);
		const struct retained *retained = retained_of(job);

		if (retained != NULL && !is_filed(q, retained, job))
			return false;
		count += retained != NULL;
	}
	return count == skiplist_count(&q->retained.list) && heap_is_ordered(&q->retained.ends) &&
	       is_in_order(q);
}

void retain_rebuild(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	skiplist_clear(&q->retained.list);
	q->retained.ends.count = 0;
	HASH_FOREACH(node, &it, &q->jobs) {
		struct qless_job *job = container_of(node, struct qless_job, hash);
		struct retained *retained = retained_of(job);

		if (retained == NULL)
			continue;
		retained->job = job;
		skipnode_init(&retained->node, retained->node.height);
		heap_node_init(&retained->end);
		if (job->state == QLESS_COMPLETE && job->node.linked)
			enter(q, retained);
		else
			retain_end(q, job);
	}
	retain_forget(q);
}
