/*
 * The engine as a whole: its creation, and helpers that all calls share.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "engine/bundle.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/job.h"
#include "engine/lane.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/settings.h"
#include "engine/shelf.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/retain.h"
#include "engine/unique.h"
#include "engine/vec.h"
#include "engine/worker.h"
#include "util/container.h"
#include "util/mem.h"
#include "util/num.h"

/* Bytes of events that are kept for the next call. A larger buffer is freed, so that one large call
 * does not pin memory. */
#define KEEP_BYTES ((size_t)64 * 1024)

static struct qless_str queue_member(const struct skipnode *node)
{
	return intern_str(container_of(node, const struct queue, node)->name);
}

static struct qless_str worker_member(const struct skipnode *node)
{
	return intern_str(container_of(node, const struct worker, node)->name);
}

static struct qless_str limit_member(const struct skipnode *node)
{
	return intern_str(container_of(node, const struct named_limit, node)->name);
}

static struct qless_str tag_member(const struct skipnode *node)
{
	return intern_str(container_of(node, const struct tag, node)->name);
}

struct qless *qless_new(const struct qless_hooks *hooks)
{
	struct qless *q = mem_zalloc(sizeof(*q));
	uint64_t seed;

	if (hooks != NULL)
		q->hooks = *hooks;
	seed = q->hooks.hash_seed;
	q->heights = seed;
	q->latest = -INFINITY;
	q->due_taken = -INFINITY;
	q->looks_max = LANE_LOOKS_MAX;
	q->looks_shared = UINT64_MAX;

	hash_init(&q->jobs, job_key, seed);
	hash_init(&q->recurs, recur_key, seed);
	hash_init(&q->tracked, tracked_key, seed);
	intern_init(&q->queue_names, seed);
	intern_init(&q->worker_names, seed);
	intern_init(&q->group_names, seed);
	intern_init(&q->tag_names, seed);
	intern_init(&q->names, seed);
	intern_init(&q->limit_names, seed);
	hash_init(&q->limit_sets, limit_set_key, seed);
	hash_init(&q->unique_keys, unique_key_text, seed);
	skiplist_init(&q->limit_sweeps, limit_member);
	hash_init(&q->lanes, lane_key, seed);
	hash_init(&q->lane_groups, lane_group_key, seed);
	hash_init(&q->seats, seat_key, seed);
	hash_init(&q->bundles, bundle_key, seed);
	skiplist_init(&q->queues, queue_member);
	skiplist_init(&q->workers, worker_member);
	skiplist_init(&q->completed, job_member);
	skiplist_init(&q->retained.list, retained_member);
	q->retained.below = -INFINITY;
	skiplist_init(&q->tracks, tracked_member);
	skiplist_init(&q->tags, tag_member);
	shelves_init(q);
	settings_init(&q->settings);
	meter_set_max_classes(q, METER_CLASSES_DEFAULT);
	qless_set_limits(q, NULL);
	engine_error_init(&q->error);
	buf_init(&q->event, BUF_NO_MAX);
	buf_init(&q->channel, BUF_NO_MAX);
	return q;
}

struct qless_str qless_state_text(enum qless_state state)
{
	static const struct qless_str texts[] = {
		[QLESS_WAITING] = STR_INIT("waiting"),	 [QLESS_RUNNING] = STR_INIT("running"),
		[QLESS_STALLED] = STR_INIT("stalled"),	 [QLESS_SCHEDULED] = STR_INIT("scheduled"),
		[QLESS_DEPENDS] = STR_INIT("depends"),	 [QLESS_FAILED] = STR_INIT("failed"),
		[QLESS_COMPLETE] = STR_INIT("complete"),
	};

	return texts[state];
}

uint64_t qless_changes(const struct qless *q)
{
	return q->changes;
}

bool qless_kept_data(const struct qless *q)
{
	return q->kept_data;
}

void qless_watch_ends(struct qless *q, bool on)
{
	assert(q->hooks.tell_end != NULL || !on);
	q->watches_ends = on;
}

double qless_latest(const struct qless *q)
{
	return q->latest;
}

bool engine_begin(struct qless *q, double now)
{
	if (!isfinite(now)) {
		engine_fail_number(q, QLESS_OP_ANY, QLESS_WHY_NO_NUMBER, "now", now);
		return false;
	}
	/* No call leaves a batch unfinished. */
	assert(q->batch.count == 0);
	q->now = now;
	q->kept_data = false;
	q->refused_count = 0;
	job_vec_clear(&q->jobs_out);
	job_vec_clear(&q->picked);
	str_vec_clear(&q->list);
	str_vec_clear(&q->list2);
	if (q->event.cap > KEEP_BYTES) {
		buf_clear(&q->event);
		buf_shrink(&q->event, KEEP_BYTES);
	}
	return true;
}

char *engine_dup(struct qless_str s)
{
	return mem_dup(s.len > 0 ? s.ptr : "", s.len);
}

double finite_add(double a, double b)
{
	double sum = a + b;

	if (isfinite(sum))
		return sum;
	return sum > 0 ? DBL_MAX : -DBL_MAX;
}
