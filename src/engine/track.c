/*
 * Tracked jids. A jid stays tracked when its job is gone.
 */
#include "engine/track.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/vec.h"
#include "util/container.h"
#include "util/mem.h"

struct qless_str tracked_jid(const struct tracked *tracked)
{
	return engine_node_text(&tracked->node, tracked->hash.aux);
}

struct qless_str tracked_member(const struct skipnode *node)
{
	return tracked_jid(container_of(node, const struct tracked, node));
}

struct qless_str tracked_key(const struct hash_node *node)
{
	return tracked_jid(container_of(node, const struct tracked, hash));
}

struct tracked *tracked_find(const struct qless *q, struct qless_str jid)
{
	struct hash_node *node = hash_find(&q->tracked, jid);

	return node != NULL ? container_of(node, struct tracked, hash) : NULL;
}

void tracked_add(struct qless *q, struct qless_str jid, double now)
{
	unsigned height = engine_draw_height(q);
	struct tracked *tracked =
		mem_alloc(offsetof(struct tracked, node) + skipnode_size(height) + jid.len);

	tracked->hash.aux = (uint32_t)jid.len;
	engine_init_node(&tracked->node, height, jid);
	hash_insert(&q->tracked, &tracked->hash);
	skiplist_insert(&q->tracks, &tracked->node, now);
	assert(hash_count(&q->tracked) == skiplist_count(&q->tracks));
}

void tracked_free(struct tracked *tracked)
{
	free(tracked);
}

void qless_tracked(struct qless *q, struct qless_list *ret_jids)
{
	struct skipnode *node;

	str_vec_clear(&q->list);
	for (node = skiplist_first(&q->tracks); node != NULL; node = skiplist_next(node))
		str_vec_push(&q->list, tracked_member(node));
	*ret_jids = (struct qless_list){ q->list.items, q->list.count, q->list.count };
}

int qless_track(struct qless *q, double now, struct qless_str jid, bool *ret_new)
{
	struct tracked *tracked;
	struct qless_job *job;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	job = job_find(q, jid);
	if (job == NULL)
		return engine_fail_job(q, QLESS_OP_TRACK, QLESS_WHY_NO_JOB, jid, STR(""));

	event_jid(q, "ql:track", jid);
	tracked = tracked_find(q, jid);
	if (tracked == NULL) {
		tracked_add(q, jid, now);
		job->flags |= JOB_TRACKED;
		engine_changed(q);
	} else if (tracked->node.score != now) {
		skiplist_rescore(&q->tracks, &tracked->node, now);
		engine_changed(q);
	}
	*ret_new = tracked == NULL;
	return 0;
}

int qless_untrack(struct qless *q, double now, struct qless_str jid, bool *ret_was)
{
	struct tracked *tracked;
	struct qless_job *job;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_published(q, "jid", &jid, 1) < 0)
		return engine_fail_during(q, QLESS_OP_UNTRACK);
	job = job_find(q, jid);
	tracked = tracked_find(q, jid);

	event_jid(q, "ql:untrack", jid);
	*ret_was = tracked != NULL;
	if (tracked == NULL)
		return 0;
	hash_remove(&q->tracked, &tracked->hash);
	skiplist_remove(&q->tracks, &tracked->node);
	assert(hash_count(&q->tracked) == skiplist_count(&q->tracks));
	tracked_free(tracked);
	if (job != NULL)
		job->flags &= (uint8_t)~JOB_TRACKED;
	engine_changed(q);
	return 0;
}
