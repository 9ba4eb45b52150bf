/*
 * Tags: the list of each job, and for each tag the jobs that have it.
 *
 * The list of a job keeps the order in which tags were given, with duplicates. A tag counts each
 * job once. While a call works on a job, each of its tags points to its tagging (tag.mine), so the
 * call finds out in O(1) whether the job has a tag.
 */
#include "engine/tag.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/page.h"
#include "engine/vec.h"
#include "util/container.h"
#include "util/mem.h"

static struct qless_str tagging_member(const struct skipnode *node)
{
	return job_jid(container_of(node, const struct tagging, node)->job);
}

struct tag *tag_find(const struct qless *q, struct qless_str name)
{
	struct intern *found = intern_find(&q->tag_names, name);

	return found != NULL ? found->user : NULL;
}

struct intern *tag_name_get(struct qless *q, struct qless_str name)
{
	return intern_get(&q->tag_names, name);
}

static struct tag *tag_need(struct qless *q, struct qless_str name)
{
	struct intern *interned = intern_get(&q->tag_names, name);
	struct tag *tag = interned->user;
	unsigned height;

	if (tag != NULL) {
		intern_unref(&q->tag_names, interned);
		return tag;
	}
	height = engine_draw_height(q);
	tag = mem_zalloc(offsetof(struct tag, node) + skipnode_size(height));
	skipnode_init(&tag->node, height);
	tag->name = interned;
	interned->user = tag;
	skiplist_init(&tag->jobs, tagging_member);
	skiplist_insert(&q->tags, &tag->node, 0);
	return tag;
}

/* Update the counter in the list of tags. A tag without jobs is freed. */
static void tag_recount(struct qless *q, struct tag *tag)
{
	uint32_t count = skiplist_count(&tag->jobs);

	assert(tag->name->user == tag && tag->node.linked);
	if (count > 0) {
		skiplist_rescore(&q->tags, &tag->node, count);
		return;
	}
	skiplist_remove(&q->tags, &tag->node);
	skiplist_done(&tag->jobs);
	tag->name->user = NULL;
	intern_unref(&q->tag_names, tag->name);
	free(tag);
}

static inline struct tag_list *tags_of(const struct qless_job *job)
{
	const struct job_extra *extra = job_extra(job);

	return __builtin_expect(extra != NULL, 1) ? extra->tags : NULL;
}

const struct skipnode *job_find_tag(const struct qless_job *job, const struct tag *tag)
{
	struct tag_list *list = tags_of(job);
	uint32_t i;

	for (i = 0; list != NULL && i < list->count; i++) {
		if (list->items[i]->tag == tag)
			return &list->items[i]->node;
	}
	return NULL;
}

static inline void mark_tags(const struct tag_list *list)
{
	uint32_t i;

	for (i = 0; list != NULL && i < list->count; i++)
		list->items[i]->tag->mine = list->items[i];
}

static inline void unmark_tags(const struct tag_list *list)
{
	uint32_t i;

	for (i = 0; list != NULL && i < list->count; i++)
		list->items[i]->tag->mine = NULL;
}

/* Make room for `count` more tags in the list of the job. */
static struct tag_list *grow_list(struct qless_job *job, size_t count)
{
	struct job_extra *extra = job_extra(job) != NULL ? job_extra(job) : job_need_extra(job);
	uint32_t had = extra->tags != NULL ? extra->tags->count : 0;

	extra->tags = mem_realloc(extra->tags,
				  sizeof(*extra->tags) + (had + count) * sizeof(struct tagging *));
	extra->tags->count = had;
	return extra->tags;
}

/* The tagging of the job with that tag, found by its mark or new, as of `now`. */
static struct tagging *touch_tag(struct qless *q, struct qless_job *job, struct qless_str name,
				 double now)
{
	struct tag *tag = tag_need(q, name);
	struct tagging *tagging = tag->mine;
	unsigned height;

	if (tagging != NULL) {
		assert(tagging->job == job && tagging->tag == tag);
		skiplist_rescore(&tag->jobs, &tagging->node, now);
		return tagging;
	}
	height = engine_draw_height(q);
	tagging = mem_alloc(offsetof(struct tagging, node) + skipnode_size(height));
	skipnode_init(&tagging->node, height);
	tagging->tag = tag;
	tagging->job = job;
	tag->mine = tagging;
	skiplist_insert(&tag->jobs, &tagging->node, now);
	tag_recount(q, tag);
	return tagging;
}

static void free_tagging(struct qless *q, struct tagging *tagging)
{
	struct tag *tag = tagging->tag;

	assert(tagging->node.aux == 0 && tag->mine != tagging);
	skiplist_remove(&tag->jobs, &tagging->node);
	tag_recount(q, tag);
	free(tagging);
}

void job_drop_tags(struct qless *q, struct qless_job *job)
{
	struct tag_list *list = tags_of(job);
	uint32_t i;

	if (list == NULL)
		return;
	for (i = 0; i < list->count; i++) {
		if (--list->items[i]->node.aux == 0)
			free_tagging(q, list->items[i]);
	}
	free(list);
	job_extra(job)->tags = NULL;
	job_release_extra(job);
}

void job_set_tags(struct qless *q, struct qless_job *job, const struct qless_str *tags,
		  size_t count, double now)
{
	struct tag_list *list;
	size_t i;

	job_drop_tags(q, job);
	if (count == 0)
		return;
	list = grow_list(job, count);
	assert(list->count == 0);
	for (i = 0; i < count; i++) {
		struct tagging *tagging = touch_tag(q, job, tags[i], now);

		tagging->node.aux++;
		list->items[list->count++] = tagging;
	}
	unmark_tags(list);
}

void job_refresh_tags(struct qless *q, struct qless_job *job, double now)
{
	struct tag_list *list = tags_of(job);
	uint32_t i;

	(void)q;
	for (i = 0; list != NULL && i < list->count; i++)
		skiplist_rescore(&list->items[i]->tag->jobs, &list->items[i]->node, now);
}

/* Check that the job may have these tags too. A new one that is given twice counts twice. */
static int check_more_tags(struct qless *q, const struct qless_job *job,
			   const struct tag_list *list, const struct qless_str *tags, size_t count)
{
	uint64_t had = list != NULL ? list->count : 0;
	uint64_t added = 0;
	size_t bytes = 0;
	size_t i;
	int rc;

	if (had + count <= q->limits.max_tags &&
	    job->history.len + (had + count) * QLESS_MAX_NAME_BYTES <= q->limits.max_job_bytes)
		return 0;
	mark_tags(list);
	for (i = 0; i < count; i++) {
		const struct tag *tag = tag_find(q, tags[i]);

		if (tag != NULL && tag->mine != NULL)
			continue;
		added++;
		bytes += tags[i].len;
	}
	unmark_tags(list);
	if (added == 0)
		return 0;
	rc = limit_check_tags(q, had + added);
	return rc < 0 ? rc : limit_check_job_bytes(q, job, job->history.len, bytes);
}

int qless_tag(struct qless *q, double now, struct qless_str jid, const struct qless_str *tags,
	      size_t count, const struct qless_job **ret_job)
{
	struct qless_job *job;
	struct tag_list *list;
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_names(q, "tags", tags, count) < 0)
		return engine_fail_during(q, QLESS_OP_TAG);
	job = job_find(q, jid);
	if (job == NULL)
		return engine_fail_job(q, QLESS_OP_TAG, QLESS_WHY_NO_JOB, jid, STR(""));
	list = tags_of(job);
	if (check_more_tags(q, job, list, tags, count) < 0)
		return engine_fail_during(q, QLESS_OP_TAG);

	*ret_job = job;
	if (count == 0)
		return 0;
	mark_tags(list);
	list = grow_list(job, count);
	for (i = 0; i < count; i++) {
		struct tagging *tagging = touch_tag(q, job, tags[i], now);

		if (tagging->node.aux > 0)
			continue;
		tagging->node.aux = 1;
		list->items[list->count++] = tagging;
	}
	unmark_tags(list);
	engine_changed(q);
	return 0;
}

int qless_untag(struct qless *q, double now, struct qless_str jid, const struct qless_str *tags,
		size_t count, const struct qless_job **ret_job)
{
	struct qless_job *job;
	struct tag_list *list;
	uint32_t kept = 0;
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	job = job_find(q, jid);
	if (job == NULL)
		return engine_fail_job(q, QLESS_OP_UNTAG, QLESS_WHY_NO_JOB, jid, STR(""));

	*ret_job = job;
	list = tags_of(job);
	if (list == NULL)
		return 0;
	/* The tags that stay keep their mark. */
	mark_tags(list);
	for (i = 0; i < count; i++) {
		struct tag *tag = tag_find(q, tags[i]);

		if (tag != NULL)
			tag->mine = NULL;
	}
	for (i = 0; i < list->count; i++) {
		struct tagging *tagging = list->items[i];

		if (tagging->tag->mine != NULL)
			list->items[kept++] = tagging;
		else if (--tagging->node.aux == 0)
			free_tagging(q, tagging);
	}
	if (kept < list->count)
		engine_changed(q);
	list->count = kept;
	unmark_tags(list);
	if (kept == 0)
		job_drop_tags(q, job);
	return 0;
}

bool qless_job_next_tag(const struct qless_job *job, size_t *cursor, struct qless_str *ret_tag)
{
	const struct tag_list *list = tags_of(job);
	size_t at = *cursor;

	if (list == NULL || at >= list->count)
		return false;
	*cursor = at + 1;
	*ret_tag = intern_str(list->items[at]->tag->name);
	return true;
}

void qless_tagged(struct qless *q, struct qless_str name, int64_t offset, int64_t count,
		  struct qless_list *ret_jids)
{
	const struct tag *tag = tag_find(q, name);
	uint64_t first;
	uint64_t left;

	str_vec_clear(&q->list);
	if (tag != NULL && page_range(skiplist_count(&tag->jobs), offset, count, &first, &left)) {
		struct skipnode *node = skiplist_at(&tag->jobs, (uint32_t)first);

		for (; left > 0; left--, node = skiplist_next(node))
			str_vec_push(&q->list, tagging_member(node));
	}
	*ret_jids = (struct qless_list){ q->list.items, q->list.count,
					 tag != NULL ? skiplist_count(&tag->jobs) : 0 };
}

void qless_top_tags(struct qless *q, int64_t offset, int64_t count, struct qless_list *ret_tags)
{
	uint32_t total = skiplist_count(&q->tags) - skiplist_count_lt(&q->tags, 2);
	uint64_t first;
	uint64_t left;

	str_vec_clear(&q->list);
	if (limit_range(total, offset, count, &first, &left)) {
		uint32_t rank = skiplist_count(&q->tags) - 1 - (uint32_t)first;
		struct skipnode *node = skiplist_at(&q->tags, rank);

		for (; left > 0; left--, node = skiplist_prev(node))
			str_vec_push(&q->list,
				     intern_str(container_of(node, struct tag, node)->name));
	}
	*ret_tags = (struct qless_list){ q->list.items, q->list.count, total };
}

/* ---- repairs ---- */

static uint32_t count_copies(const struct tag_list *list, const struct tagging *tagging)
{
	uint32_t copies = 0;
	uint32_t i;

	for (i = 0; list != NULL && i < list->count; i++)
		copies += list->items[i] == tagging;
	return copies;
}

size_t job_resolve_tags(const struct qless_job *job)
{
	struct tag_list *list = tags_of(job);
	size_t repairs = 0;
	uint32_t i;

	for (i = 0; list != NULL && i < list->count; i++) {
		struct tagging *tagging = list->items[i];
		uint32_t copies = count_copies(list, tagging);

		if (!tagging->node.linked) {
			skiplist_insert(&tagging->tag->jobs, &tagging->node, job->time);
			repairs++;
		}
		if (tagging->node.aux != copies) {
			tagging->node.aux = copies;
			repairs++;
		}
	}
	return repairs;
}

bool tagging_is_known(const struct tagging *tagging)
{
	return count_copies(tags_of(tagging->job), tagging) > 0;
}

size_t tag_drop_unknown(struct tag *tag, struct tagging *tagging)
{
	if (tagging_is_known(tagging))
		return 0;
	skiplist_remove(&tag->jobs, &tagging->node);
	free(tagging);
	return 1;
}

size_t tag_resolve(struct qless *q, struct tag *tag)
{
	size_t repairs = tag->mine != NULL;

	tag->mine = NULL;
	if (!tag->node.linked)
		skiplist_insert(&q->tags, &tag->node, 0);
	if (tag->node.score != skiplist_count(&tag->jobs)) {
		tag_recount(q, tag);
		repairs++;
	}
	return repairs;
}

/* Drop the jobs of the tag that do not have it. The tag may be freed. */
static size_t resolve_all_of_tag(struct qless *q, struct tag *tag)
{
	struct skipnode *node = skiplist_first(&tag->jobs);
	size_t repairs = 0;

	while (node != NULL) {
		struct tagging *tagging = container_of(node, struct tagging, node);

		node = skiplist_next(node);
		repairs += tag_drop_unknown(tag, tagging);
	}
	return repairs + tag_resolve(q, tag);
}

size_t tags_resolve(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;
	size_t repairs = 0;

	HASH_FOREACH(node, &it, &q->jobs)
		repairs += job_resolve_tags(container_of(node, struct qless_job, hash));
	HASH_FOREACH(node, &it, &q->tag_names.hash) {
		struct tag *tag = intern_from_node(node)->user;

		if (tag != NULL)
			repairs += resolve_all_of_tag(q, tag);
	}
	return repairs;
}
