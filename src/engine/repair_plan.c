/*
 * Finding the repairs that a state needs, by making them.
 *
 * This runs in a copy of the state: each repair is made there as it will be made later, and
 * reported if it changed something. The order of the steps matters: tables find what the lists
 * have, lists are put in order before jobs are looked up in them, and references are counted while
 * all jobs are known and before anything is released. Each step after that keeps the counters
 * right.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/check.h"
#include "engine/engine_int.h"
#include "engine/fail.h"
#include "engine/job.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/refs.h"
#include "engine/repair.h"
#include "engine/resolve.h"
#include "engine/tag.h"
#include "engine/track.h"
#include "engine/worker.h"
#include "util/container.h"
#include "util/mem.h"

struct plan {
	struct qless *q;
	void (*report)(void *arg, const struct qless_repair *repair, size_t weight);
	void *arg;
	/* The texts of the current repair, which may free their owners. */
	struct buf texts;
	bool is_blocked;
};

/* Make a repair, and report it if the state needed it. */
static void attempt(struct plan *p, const struct qless_repair *wanted)
{
	struct qless_repair r = *wanted;
	size_t weight = repair_weight(p->q, wanted);
	const char *text;

	buf_clear(&p->texts);
	buf_append_str(&p->texts, r.name);
	buf_append_str(&p->texts, r.member);
	buf_append_str(&p->texts, r.other);
	buf_append_char(&p->texts, '\0');
	text = buf_data(&p->texts);
	r.name.ptr = text;
	r.member.ptr = text + r.name.len;
	r.other.ptr = r.member.ptr + r.member.len;
	if (repair_run(p->q, &r) > 0)
		p->report(p->arg, &r, weight);
}

/* ---- lists ---- */

typedef void list_fn(struct plan *p, unsigned what, struct qless_str name, struct skiplist *list);

static void each_list_of_names(struct plan *p, unsigned what, struct intern_table *table,
			       list_fn *visit)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &table->hash) {
		const struct intern *name = intern_from_node(node);

		if (name->user == NULL)
			continue;
		if (what == LIST_GROUP)
			visit(p, what, intern_str(name), &((struct group *)name->user)->jobs);
		else if (what == LIST_WORKER)
			visit(p, what, intern_str(name), &((struct worker *)name->user)->by_expiry);
		else if (what == LIST_TAG)
			visit(p, what, intern_str(name), &((struct tag *)name->user)->jobs);
		for (unsigned i = 0; what == LIST_QUEUE && i < QUEUE_ALL_LISTS; i++)
			visit(p, LIST_QUEUE + i, intern_str(name),
			      &((struct queue *)name->user)->lists[i]);
	}
}

static void each_list(struct plan *p, list_fn *visit)
{
	struct qless *q = p->q;

	visit(p, LIST_QUEUES, STR(""), &q->queues);
	visit(p, LIST_WORKERS, STR(""), &q->workers);
	visit(p, LIST_COMPLETED, STR(""), &q->completed);
	visit(p, LIST_TRACKS, STR(""), &q->tracks);
	visit(p, LIST_TAGS, STR(""), &q->tags);
	each_list_of_names(p, LIST_GROUP, &q->group_names, visit);
	each_list_of_names(p, LIST_WORKER, &q->worker_names, visit);
	each_list_of_names(p, LIST_TAG, &q->tag_names, visit);
	each_list_of_names(p, LIST_QUEUE, &q->queue_names, visit);
}

/* Whether the nodes are linked in both directions, and are as many as the list says. */
static bool links_are_sound(const struct skiplist *list)
{
	const struct skipnode *prev = NULL, *node;
	uint32_t count = 0;

	for (node = skiplist_first(list); node != NULL; node = skiplist_next(node)) {
		if (!node->linked || skiplist_prev(node) != prev || count == skiplist_count(list))
			return false;
		count++;
		prev = node;
	}
	return skiplist_last(list) == prev && count == skiplist_count(list);
}

static void block_on_long_list(struct plan *p, unsigned what, struct qless_str name,
			       struct skiplist *list)
{
	(void)what;
	(void)name;
	if (skiplist_count(list) > QLESS_REBUILD_MAX && !links_are_sound(list))
		p->is_blocked = true;
}

static void plan_links(struct plan *p, unsigned what, struct qless_str name, struct skiplist *list)
{
	if (!links_are_sound(list))
		attempt(p, &(struct qless_repair){
				   .kind = QLESS_REPAIR_REBUILD, .what = what, .name = name });
}

/* Whether the table of the objects in a list finds a member. */
static bool table_finds(const struct plan *p, unsigned what, struct qless_str name,
			struct qless_str member)
{
	if (what == LIST_TRACKS)
		return tracked_find(p->q, member) != NULL;
	if (what == LIST_WORKER)
		return worker_find_job(worker_find(p->q, name), member) != NULL;
	return !repair_list_has_jobs(what) || job_find(p->q, member) != NULL;
}

static void plan_tables(struct plan *p, unsigned what, struct qless_str name, struct skiplist *list)
{
	const struct skipnode *node, *prev = NULL;

	for (node = skiplist_first(list); node != NULL; node = skiplist_next(node)) {
		if (!table_finds(p, what, name, list->member(node)))
			attempt(p, &(struct qless_repair){
					   .kind = QLESS_REPAIR_ENTER_TABLE,
					   .what = what,
					   .name = name,
					   .member = list->member(node),
					   .other = prev != NULL ? list->member(prev) : STR(""),
					   .score = isnan(node->score) ? 0 : node->score });
		prev = node;
	}
}

static void evict_node(struct plan *p, unsigned what, struct qless_str name,
		       const struct skiplist *list, const struct skipnode *node)
{
	attempt(p, &(struct qless_repair){ .kind = QLESS_REPAIR_EVICT,
					   .what = what,
					   .name = name,
					   .member = list->member(node),
					   .score = what == LIST_TAG ? node->score : 0 });
}

static void plan_evictions(struct plan *p, unsigned what, struct qless_str name,
			   struct skiplist *list)
{
	struct skipnode *node = repair_list_has_jobs(what) ? skiplist_first(list) : NULL, *next;

	for (; node != NULL; node = next) {
		next = skiplist_next(node);
		if (!resolve_belongs(p->q, job_from_node(node), list))
			evict_node(p, what, name, list, node);
	}
}

/* The taggings that their jobs lack. */
static void plan_tag_evictions(struct plan *p, unsigned what, struct qless_str name,
			       struct skiplist *list)
{
	struct skipnode *node = skiplist_first(list), *next;

	for (; node != NULL; node = next) {
		next = skiplist_next(node);
		if (!tagging_is_known(container_of(node, struct tagging, node)))
			evict_node(p, what, name, list, node);
	}
}

/* ---- the order of lists ---- */

struct place {
	double score; /* 0 if it is not a number */
	struct qless_str member;
	bool is_number;
	bool stays; /* its neighbours move */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = *(const struct place *const *)a;
	const struct place *y = *(const struct place *const *)b;

	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return str_compare(x->member, y->member);
}

/* Mark the longest sequence of places that are in order already. All others have to move.
 * `tails[k]` is the last place of the sequence of length k + 1 that ends lowest; `from` has the
 * place before each. */
static void mark_ordered(struct place *places, size_t count)
{
	size_t *tails = mem_realloc_array(NULL, count, sizeof(*tails));
	size_t *from = mem_realloc_array(NULL, count, sizeof(*from));
	size_t length = 0, i;

	for (i = 0; i < count; i++) {
		const struct place *place = &places[i];
		size_t low = 0, high = length;

		if (!place->is_number)
			continue;
		while (low < high) {
			size_t mid = low + (high - low) / 2;
			const struct place *tail = &places[tails[mid]];

			if (compare_places(&tail, &place) < 0)
				low = mid + 1;
			else
				high = mid;
		}
		from[i] = low > 0 ? tails[low - 1] : i;
		tails[low] = i;
		length += low == length;
	}
	for (i = length > 0 ? tails[length - 1] : 0; length > 0; length--) {
		places[i].stays = true;
		i = from[i];
	}
	free(tails);
	free(from);
}

/* Move each node that is out of order to its place after the one that precedes it, from the first
 * to the last. So the place of each is right when its turn comes. */
static void plan_moves(struct plan *p, unsigned what, struct qless_str name,
		       const struct place *places, size_t count)
{
	const struct place **order = mem_realloc_array(NULL, count, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = &places[i];
	qsort(order, count, sizeof(*order), compare_places);
	for (size_t i = 0; i < count; i++) {
		if (order[i]->stays)
			continue;
		attempt(p,
			&(struct qless_repair){ .kind = i > 0 ? QLESS_REPAIR_MOVE_AFTER
							      : QLESS_REPAIR_MOVE_FIRST,
						.what = what,
						.name = name,
						.member = order[i]->member,
						.other = i > 0 ? order[i - 1]->member : STR("") });
	}
	free(order);
}

static void plan_order(struct plan *p, unsigned what, struct qless_str name, struct skiplist *list)
{
	const struct skipnode *node;
	struct place *places;
	size_t count = 0;

	if (check_is_ordered(list))
		return;
	places = mem_realloc_array(NULL, skiplist_count(list), sizeof(*places));
	for (node = skiplist_first(list); node != NULL; node = skiplist_next(node)) {
		bool is_number = !isnan(node->score);

		places[count++] = (struct place){ .score = is_number ? node->score : 0,
						  .member = list->member(node),
						  .is_number = is_number };
	}
	mark_ordered(places, count);
	plan_moves(p, what, name, places, count);
	free(places);
}

/* ---- counters ---- */

static void plan_count(struct plan *p, unsigned what, struct qless_str name, uint64_t from,
		       uint64_t to)
{
	if (from != to)
		attempt(p, &(struct qless_repair){ .kind = QLESS_REPAIR_COUNT,
						   .what = what,
						   .name = name,
						   .from = from,
						   .to = to });
}

static void plan_counts(struct plan *p)
{
	struct qless *q = p->q;
	struct hash_iter it;
	struct hash_node *node;
	struct tallies t;
	struct refs refs;

	refs_init(&refs, q);
	HASH_FOREACH(node, &it, &q->queue_names.hash) {
		const struct queue *queue = intern_from_node(node)->user;

		if (queue != NULL)
			plan_count(p, COUNTS_QUEUE_JOBS, queue_name(queue), queue->job_count,
				   refs_count(&refs, queue));
	}
	for (unsigned i = 0; i <= COUNTS_NAME; i++) {
		HASH_FOREACH(node, &it, &repair_names(q, i)->hash) {
			const struct intern *name = intern_from_node(node);

			plan_count(p, i, intern_str(name), name->node.aux, refs_count(&refs, name));
		}
	}
	refs_done(&refs);
	refs_tally(q, &t);
	plan_count(p, COUNTS_DEPENDING, STR(""), q->depending_count, t.depending);
	plan_count(p, COUNTS_DEPENDED, STR(""), q->depended_count, t.depended);
	plan_count(p, COUNTS_BUSY, STR(""), q->busy_count, t.busy);
	plan_count(p, COUNTS_GROUPS, STR(""), q->group_count, t.groups);
	plan_count(p, COUNTS_PAUSED, STR(""), q->paused_count, t.paused);
}

/* ---- objects ---- */

static void plan_jobs(struct plan *p, enum qless_repair_kind kind)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &p->q->jobs)
		attempt(p, &(struct qless_repair){
				   .kind = kind,
				   .member = job_jid(container_of(node, struct qless_job, hash)) });
}

static void plan_tracks(struct plan *p)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &p->q->tracked)
		attempt(p, &(struct qless_repair){ .kind = QLESS_REPAIR_ENTER_LIST,
						   .what = LIST_TRACKS,
						   .member = tracked_jid(container_of(
							   node, struct tracked, hash)) });
}

static void plan_recurs(struct plan *p)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &p->q->recurs)
		attempt(p, &(struct qless_repair){ .kind = QLESS_REPAIR_ENTER_LIST,
						   .what = LIST_QUEUE + QUEUE_RECUR,
						   .member = recur_jid(container_of(
							   node, struct qless_recur, hash)) });
}

static void plan_held(struct plan *p)
{
	struct hash_iter it, inner;
	struct hash_node *node, *held;

	HASH_FOREACH(node, &it, &p->q->worker_names.hash) {
		const struct worker *worker = intern_from_node(node)->user;

		if (worker == NULL)
			continue;
		HASH_FOREACH(held, &inner, &worker->held)
			attempt(p, &(struct qless_repair){ .kind = QLESS_REPAIR_ENTER_LIST,
							   .what = LIST_WORKER,
							   .name = intern_str(worker->name),
							   .member = holding_jid(container_of(
								   held, struct holding, hash)) });
	}
}

/* The repair may free the object of the name. */
static void plan_names(struct plan *p, struct intern_table *table, enum qless_repair_kind kind,
		       unsigned what)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &table->hash) {
		const struct intern *name = intern_from_node(node);

		if (name->user != NULL)
			attempt(p, &(struct qless_repair){
					   .kind = kind, .what = what, .name = intern_str(name) });
	}
}

static void plan_lists(struct plan *p)
{
	each_list(p, plan_links);
	each_list(p, plan_tables);
	each_list(p, plan_order);
	each_list(p, plan_evictions);
}

static void plan_objects(struct plan *p)
{
	struct qless *q = p->q;

	plan_tracks(p);
	plan_jobs(p, QLESS_REPAIR_JOB);
	plan_jobs(p, QLESS_REPAIR_EDGES);
	plan_jobs(p, QLESS_REPAIR_STATE);
	plan_recurs(p);
	plan_jobs(p, QLESS_REPAIR_TAGS);
	each_list_of_names(p, LIST_TAG, &q->tag_names, plan_tag_evictions);
	plan_names(p, &q->tag_names, QLESS_REPAIR_TAG, 0);
	plan_held(p);
	plan_names(p, &q->queue_names, QLESS_REPAIR_QUEUE, 0);
	plan_names(p, &q->group_names, QLESS_REPAIR_GROUP, 0);
}

bool qless_find_repairs(struct qless *q, double now,
			void (*report)(void *arg, const struct qless_repair *repair, size_t weight),
			void *arg)
{
	struct plan p = { .q = q, .report = report, .arg = arg };

	if (!engine_begin(q, now))
		return false;
	each_list(&p, block_on_long_list);
	if (p.is_blocked)
		return false;
	buf_init(&p.texts, BUF_NO_MAX);
	limits_suspend(q);
	plan_lists(&p);
	plan_counts(&p);
	plan_objects(&p);
	plan_counts(&p);
	plan_names(&p, &q->queue_names, QLESS_REPAIR_DROP, LIST_QUEUES);
	plan_names(&p, &q->worker_names, QLESS_REPAIR_DROP, LIST_WORKERS);
	plan_names(&p, &q->group_names, QLESS_REPAIR_DROP, LIST_GROUP);
	attempt(&p, &(struct qless_repair){ .kind = QLESS_REPAIR_LIMITS });
	attempt(&p, &(struct qless_repair){ .kind = QLESS_REPAIR_UNIQUE });
	attempt(&p, &(struct qless_repair){ .kind = QLESS_REPAIR_RETAINED });
	limits_resume(q);
	buf_done(&p.texts);
	return true;
}
