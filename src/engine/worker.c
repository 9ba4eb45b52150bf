/*
 * Workers: when they were last seen, what they hold, and what they did.
 *
 * A worker is an object while it is known, holds a job, or did something on a day that is kept.
 * Otherwise it is only a name.
 */
#include "engine/worker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/stats.h"
#include "engine/vec.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/mem.h"

/* Seconds. Locks that expire later than this from now are left out of the jobs of a worker. */
#define WORKER_HORIZON 8640000.0

struct qless_str holding_jid(const struct holding *holding)
{
	return engine_node_text(&holding->node, holding->hash.aux);
}

static struct qless_str holding_key(const struct hash_node *node)
{
	return holding_jid(container_of(node, const struct holding, hash));
}

static struct qless_str holding_member(const struct skipnode *node)
{
	return holding_jid(container_of(node, const struct holding, node));
}

struct worker *worker_find(const struct qless *q, struct qless_str name)
{
	struct intern *found = intern_find(&q->worker_names, name);

	return found != NULL ? found->user : NULL;
}

static struct worker *worker_need(struct qless *q, struct intern *name)
{
	struct worker *worker = name->user;
	unsigned height;

	if (worker != NULL)
		return worker;
	height = engine_draw_height(q);
	worker = mem_zalloc(offsetof(struct worker, node) + skipnode_size(height));
	skipnode_init(&worker->node, height);
	worker->name = intern_ref(name);
	name->user = worker;
	hash_init(&worker->held, holding_key, q->hooks.hash_seed);
	skiplist_init(&worker->by_expiry, holding_member);
	return worker;
}

static void drop_holding(struct qless *q, struct worker *worker, struct holding *holding)
{
	assert(holding->node.linked && q->busy_count > 0);
	hash_remove(&worker->held, &holding->hash);
	skiplist_remove(&worker->by_expiry, &holding->node);
	free(holding);
	assert(hash_count(&worker->held) == skiplist_count(&worker->by_expiry));
	if (skiplist_count(&worker->by_expiry) == 0)
		q->busy_count--;
}

/* The compiler does not inline a function that the library exports, so COMPLETE has a static one.
 */
void worker_drop_holding(struct qless *q, struct worker *worker, struct holding *holding)
{
	drop_holding(q, worker, holding);
}

/* All entries are freed, so none is removed from the list. */
static void drop_all(struct qless *q, struct worker *worker)
{
	struct hash_node *node;

	if (skiplist_count(&worker->by_expiry) > 0) {
		assert(q->busy_count > 0);
		q->busy_count--;
	}
	skiplist_done(&worker->by_expiry);
	while ((node = hash_take(&worker->held)) != NULL)
		free(container_of(node, struct holding, hash));
}

void worker_free(struct qless *q, struct worker *worker)
{
	assert(worker->name->user == worker);
	drop_all(q, worker);
	if (worker->node.linked)
		skiplist_remove(&q->workers, &worker->node);
	hash_done(&worker->held);
	skiplist_done(&worker->by_expiry);
	free(worker->days);
	worker->name->user = NULL;
	intern_unref(&q->worker_names, worker->name);
	free(worker);
}

void worker_release(struct qless *q, struct worker *worker)
{
	if (!worker->node.linked && skiplist_count(&worker->by_expiry) == 0 &&
	    worker->day_count == 0)
		worker_free(q, worker);
}

void worker_seen(struct qless *q, struct intern *name, double now)
{
	struct worker *worker = worker_need(q, name);

	if (!worker->node.linked)
		skiplist_insert(&q->workers, &worker->node, now);
	else if (worker->node.score != now)
		skiplist_rescore(&q->workers, &worker->node, now);
	else
		return;
	engine_changed(q);
}

static struct holding *holding_new(struct qless *q, struct qless_str jid)
{
	unsigned height = engine_draw_height(q);
	struct holding *holding =
		mem_alloc(offsetof(struct holding, node) + skipnode_size(height) + jid.len);

	holding->hash.aux = (uint32_t)jid.len;
	engine_init_node(&holding->node, height, jid);
	return holding;
}

const struct skipnode *worker_find_job(const struct worker *worker, struct qless_str jid)
{
	struct hash_node *node = hash_find(&worker->held, jid);

	return node != NULL ? &container_of(node, struct holding, hash)->node : NULL;
}

/* The entry of the job, a new one in no list if there was none. */
static struct holding *holding_need(struct qless *q, struct worker *worker, struct qless_str jid,
				    uint32_t hash)
{
	struct hash_node *node = hash_find_hashed(&worker->held, jid, hash);
	struct holding *holding;

	if (node != NULL)
		return container_of(node, struct holding, hash);
	holding = holding_new(q, jid);
	hash_insert_hashed(&worker->held, &holding->hash, hash);
	return holding;
}

static void hold(struct qless *q, struct intern *name, struct qless_str jid, uint32_t hash,
		 double expires)
{
	struct worker *worker = worker_need(q, name);
	struct holding *holding = holding_need(q, worker, jid, hash);

	if (holding->node.linked) {
		skiplist_rescore(&worker->by_expiry, &holding->node, expires);
		return;
	}
	skiplist_insert(&worker->by_expiry, &holding->node, expires);
	assert(hash_count(&worker->held) == skiplist_count(&worker->by_expiry));
	if (skiplist_count(&worker->by_expiry) == 1)
		q->busy_count++;
}

void worker_hold(struct qless *q, struct intern *name, struct qless_str jid, double expires)
{
	hold(q, name, jid, engine_hash(q, jid), expires);
}

void worker_hold_job(struct qless *q, struct intern *name, const struct qless_job *job,
		     double expires)
{
	assert(job->state == QLESS_RUNNING && job->worker == name);
	hold(q, name, job_jid(job), job->hash.hash, expires);
}

void worker_hold_jobs(struct qless *q, struct intern *name, const struct job_vec *jobs,
		      double expires)
{
	struct worker *worker = worker_need(q, name);
	bool was_busy = skiplist_count(&worker->by_expiry) > 0;
	size_t i;

	for (i = 0; i < jobs->count; i++) {
		const struct qless_job *job = jobs->items[i];
		struct holding *holding = holding_need(q, worker, job_jid(job), job->hash.hash);

		assert(job->state == QLESS_RUNNING && job->worker == name);
		if (holding->node.linked)
			skiplist_remove(&worker->by_expiry, &holding->node);
		skiplist_batch_add(&q->batch, &holding->node, expires);
	}
	skiplist_insert_batch(&worker->by_expiry, &q->batch);
	assert(hash_count(&worker->held) == skiplist_count(&worker->by_expiry));
	if (!was_busy && jobs->count > 0)
		q->busy_count++;
}

void worker_drop_job(struct qless *q, const struct qless_job *job)
{
	struct worker *worker = job->worker->user;
	struct hash_node *node;

	if (worker == NULL)
		return;
	node = hash_find_hashed(&worker->held, job_jid(job), job->hash.hash);
	if (node == NULL)
		return;
	drop_holding(q, worker, container_of(node, struct holding, hash));
	worker_release(q, worker);
}

int64_t worker_forget_old(struct qless *q, double now, int64_t max)
{
	double oldest = now - q->settings.max_worker_age;
	struct skipnode *node = skiplist_first_ge(&q->workers, 0);
	int64_t forgotten = 0;

	for (; forgotten < max && node != NULL && node->score <= oldest; forgotten++) {
		struct worker *worker = container_of(node, struct worker, node);

		node = skiplist_next(node);
		drop_all(q, worker);
		skiplist_remove(&q->workers, &worker->node);
		worker_release(q, worker);
		engine_changed(q);
	}
	return forgotten;
}

/* ---- what workers did ---- */

/* The index of the day, or where it would be inserted. */
static uint32_t find_day(const struct worker *worker, double day)
{
	uint32_t i = worker->day_count;

	/* It is nearly always the last one. */
	while (i > 0 && worker->days[i - 1].day >= day)
		i--;
	return i;
}

static struct worker_day *need_day(struct worker *worker, double day)
{
	uint32_t i = find_day(worker, day);

	if (i < worker->day_count && worker->days[i].day == day)
		return &worker->days[i];
	worker->days = mem_grow32(worker->days, &worker->day_cap, (size_t)worker->day_count + 1,
				  sizeof(*worker->days));
	memmove(worker->days + i + 1, worker->days + i,
		(worker->day_count - i) * sizeof(*worker->days));
	worker->days[i] = (struct worker_day){ .day = day };
	worker->day_count++;
	assert(i == 0 || worker->days[i - 1].day < day);
	assert(i + 1 == worker->day_count || day < worker->days[i + 1].day);
	return &worker->days[i];
}

void worker_count(struct qless *q, struct intern *name, double now, enum deed deed, uint64_t count)
{
	need_day(worker_need(q, name), stats_day_of(q, now))->deeds[deed] += count;
	engine_changed(q);
}

void worker_drop_days(struct qless *q, struct worker *worker, double first_day)
{
	uint32_t gone = find_day(worker, first_day);

	assert(gone <= worker->day_count);
	if (gone == 0)
		return;
	worker->day_count -= gone;
	memmove(worker->days, worker->days + gone, worker->day_count * sizeof(*worker->days));
	engine_changed(q);
	worker_release(q, worker);
}

bool qless_worker_next_day(const struct qless *q, struct qless_str name, size_t *cursor,
			   struct qless_worker_day *ret_day)
{
	const struct worker *worker = worker_find(q, name);
	const struct worker_day *day;

	if (worker == NULL || *cursor >= worker->day_count)
		return false;
	day = &worker->days[worker->day_count - 1 - (*cursor)++];
	*ret_day = (struct qless_worker_day){
		.day = day->day,
		.popped = day->deeds[DEED_POPPED],
		.completed = day->deeds[DEED_COMPLETED],
		.failed = day->deeds[DEED_FAILED],
		.lost = day->deeds[DEED_LOST],
	};
	return true;
}

/* ---- listings ---- */

static struct qless_worker_counts count_held(const struct worker *worker, double now)
{
	return (struct qless_worker_counts){
		.name = intern_str(worker->name),
		.jobs = skiplist_count_range(&worker->by_expiry, now, now + WORKER_HORIZON),
		.stalled = skiplist_count_range(&worker->by_expiry, 0, now),
	};
}

struct qless_worker_counts view_worker_counts(const struct qless *q, double now,
					      struct qless_str name)
{
	const struct worker *worker = worker_find(q, name);

	return worker != NULL ? count_held(worker, now)
			      : (struct qless_worker_counts){ .name = name };
}

int qless_workers(struct qless *q, double now, struct qless_workers *ret_workers)
{
	struct skipnode *node;
	size_t count = 0;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	q->worker_counts = mem_realloc_array(q->worker_counts, skiplist_count(&q->workers) + 1,
					     sizeof(*q->worker_counts));
	for (node = skiplist_last(&q->workers); node != NULL; node = skiplist_prev(node)) {
		struct worker *worker = container_of(node, struct worker, node);

		q->worker_counts[count++] = count_held(worker, now);
	}
	*ret_workers = (struct qless_workers){ q->worker_counts, count };
	return 0;
}

/* Append the jobs with min <= expiry <= max, the last to expire first. */
static void list_held(const struct worker *worker, double min, double max, struct str_vec *ret)
{
	struct skipnode *node = skiplist_last_le(&worker->by_expiry, max);

	for (; node != NULL && node->score >= min; node = skiplist_prev(node))
		str_vec_push(ret, holding_member(node));
}

int qless_worker_jobs(struct qless *q, double now, struct qless_str name,
		      struct qless_list *ret_jobs, struct qless_list *ret_stalled)
{
	const struct worker *worker;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	worker = worker_find(q, name);
	if (worker != NULL) {
		list_held(worker, now, now + WORKER_HORIZON, &q->list);
		list_held(worker, 0, now, &q->list2);
	}
	*ret_jobs = (struct qless_list){ q->list.items, q->list.count, q->list.count };
	*ret_stalled = (struct qless_list){ q->list2.items, q->list2.count, q->list2.count };
	return 0;
}

int qless_worker_deregister(struct qless *q, double now, const struct qless_str *names,
			    size_t count)
{
	size_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	for (i = 0; i < count; i++) {
		struct worker *worker = worker_find(q, names[i]);

		if (worker == NULL || !worker->node.linked)
			continue;
		skiplist_remove(&q->workers, &worker->node);
		engine_changed(q);
		worker_release(q, worker);
	}
	return 0;
}

struct holding *worker_find_holding(const struct worker *worker, struct qless_str jid)
{
	struct hash_node *node = hash_find(&worker->held, jid);

	return node != NULL ? container_of(node, struct holding, hash) : NULL;
}

size_t worker_list_holding(struct qless *q, struct worker *worker, struct holding *holding)
{
	const struct qless_job *job = job_find(q, holding_jid(holding));
	bool is_mine = job != NULL && job->state == QLESS_RUNNING && job->worker == worker->name;
	double expires = is_mine ? job->expires : holding->node.score;

	if (holding->node.linked && holding->node.score == expires)
		return 0;
	if (holding->node.linked)
		skiplist_remove(&worker->by_expiry, &holding->node);
	skiplist_insert(&worker->by_expiry, &holding->node, expires);
	return 1;
}

size_t worker_resolve(struct qless *q, struct worker *worker)
{
	struct hash_iter it;
	struct hash_node *hash;
	struct skipnode *node;
	size_t repairs = 0;

	for (node = skiplist_first(&worker->by_expiry); node != NULL; node = skiplist_next(node)) {
		struct holding *holding = container_of(node, struct holding, node);

		if (hash_find(&worker->held, holding_jid(holding)) != NULL)
			continue;
		hash_insert(&worker->held, &holding->hash);
		repairs++;
	}
	HASH_FOREACH(hash, &it, &worker->held)
		repairs += worker_list_holding(q, worker, container_of(hash, struct holding, hash));
	return repairs;
}
