/*
 * Recurring jobs: they make jobs at fixed intervals, or at the ticks of a schedule.
 */
#include "engine/recur.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/job.h"
#include "engine/klass.h"
#include "engine/limit.h"
#include "engine/named_limit.h"
#include "engine/numbering.h"
#include "engine/queue.h"
#include "engine/run.h"
#include "engine/schedule.h"
#include "engine/tag.h"
#include "engine/terms.h"
#include "engine/unique.h"
#include "engine/vec.h"
#include "util/container.h"
#include "util/mem.h"
#include "util/num.h"

struct qless_str recur_jid(const struct qless_recur *recur)
{
	return engine_node_text(&recur->node, recur->hash.aux);
}

struct qless_str recur_member(const struct skipnode *node)
{
	return recur_jid(container_of(node, const struct qless_recur, node));
}

struct qless_str recur_key(const struct hash_node *node)
{
	return recur_jid(container_of(node, const struct qless_recur, hash));
}

struct qless_recur *recur_from_node(const struct skipnode *node)
{
	return container_of((struct skipnode *)(uintptr_t)node, struct qless_recur, node);
}

static struct qless_recur *recur_find(const struct qless *q, struct qless_str jid)
{
	struct hash_node *node = hash_find(&q->recurs, jid);

	return node != NULL ? container_of(node, struct qless_recur, hash) : NULL;
}

static struct qless_recur *recur_new(struct qless *q, struct qless_str jid)
{
	unsigned height = engine_draw_height(q);
	struct qless_recur *recur =
		mem_zalloc(offsetof(struct qless_recur, node) + skipnode_size(height) + jid.len);

	recur->hash.aux = (uint32_t)jid.len;
	engine_init_node(&recur->node, height, jid);
	hash_insert(&q->recurs, &recur->hash);
	return recur;
}

static void drop_tags(struct qless *q, struct qless_recur *recur)
{
	uint32_t i;

	for (i = 0; i < recur->tag_count; i++)
		intern_unref(&q->tag_names, recur->tags[i]);
	free(recur->tags);
	recur->tags = NULL;
	recur->tag_count = 0;
}

/* Leave the queue, which may be freed. */
static void leave_queue(struct qless *q, struct qless_recur *recur)
{
	struct queue *queue = recur->queue;

	assert(recur->node.linked);
	skiplist_remove(&queue->recurring, &recur->node);
	recur->queue = NULL;
	queue_release(q, queue);
}

static void enter_queue(struct qless *q, struct qless_recur *recur, struct queue *queue,
			double next, double now)
{
	assert((recur->interval > 0) == (recur->schedule == NULL) && !recur->node.linked);
	recur->queue = queue;
	skiplist_insert(&queue->recurring, &recur->node, next);
	recur_falls_due(q, recur);
	queue_know(q, queue, now);
}

void recur_free(struct qless *q, struct qless_recur *recur)
{
	hash_remove(&q->recurs, &recur->hash);
	leave_queue(q, recur);
	drop_tags(q, recur);
	limit_set_unref(q, recur->limits);
	klass_unref(q, recur->klass);
	free(recur->data);
	schedule_free(q, recur->schedule);
	free(recur->terms);
	free(recur);
}

void recur_set_next(struct qless *q, struct qless_recur *recur, double next)
{
	skiplist_rescore(&recur->queue->recurring, &recur->node, next);
	recur_falls_due(q, recur);
}

static double next_time(const struct qless_recur *recur, double when)
{
	if (recur->schedule != NULL)
		return schedule_next(recur->schedule, when);
	return finite_add(when, recur->interval);
}

static void set_klass(struct qless *q, struct qless_recur *recur, struct qless_str klass)
{
	struct intern *name = intern_get(&q->names, klass);

	klass_unref(q, recur->klass);
	recur->klass = name;
}

static void set_data(struct qless_recur *recur, struct qless_str data)
{
	free(recur->data);
	recur->data = engine_dup(data);
	recur->data_len = (uint32_t)data.len;
}

static void add_tags(struct qless *q, struct qless_recur *recur, const struct qless_str *tags,
		     size_t count)
{
	size_t i;

	if (count == 0)
		return;
	recur->tags =
		mem_realloc_array(recur->tags, recur->tag_count + count, sizeof(*recur->tags));
	for (i = 0; i < count; i++)
		recur->tags[recur->tag_count++] = tag_name_get(q, tags[i]);
}

static void set_limits(struct qless *q, struct qless_recur *recur, const struct qless_str *names,
		       size_t count)
{
	struct limit_set *old = recur->limits;

	recur->limits = limit_set_get(q, names, count);
	limit_set_unref(q, old);
}

static void set_terms(struct qless_recur *recur, const struct qless_terms *terms)
{
	struct qless_terms *old = recur->terms;

	recur->terms = terms_dup(terms);
	free(old);
}

static void change_terms(struct qless_recur *recur, const struct qless_terms *change)
{
	struct qless_terms *old = recur->terms;

	recur->terms = terms_change(old, change);
	free(old);
}

static void set_raw(struct qless_recur *recur, bool is_raw)
{
	struct qless_terms terms = { 0 };

	if (recur->terms != NULL)
		terms = *recur->terms;
	terms.is_raw = is_raw;
	set_terms(recur, &terms);
}

static void set_key(struct qless_recur *recur, struct qless_str key)
{
	struct qless_terms terms;

	if (recur->terms == NULL || !recur->terms->has_unique)
		return;
	terms = *recur->terms;
	terms.unique.key = key;
	set_terms(recur, &terms);
}

static int check_finite(struct qless *q, enum qless_operation operation, const char *argument,
			double number)
{
	if (isfinite(number))
		return 0;
	return engine_fail_number(q, operation, QLESS_WHY_NO_NUMBER, argument, number);
}

static int check_recur(struct qless *q, const struct qless_recur_put *put)
{
	int rc;

	if (limit_check_name(q, "queue", put->queue) < 0 ||
	    limit_check_name(q, "jid", put->jid) < 0 ||
	    limit_check_name(q, "klass", put->klass) < 0 ||
	    limit_check_data(q, "data", put->data) < 0 ||
	    limit_check_names(q, "tags", put->tags, put->tag_count) < 0 ||
	    limit_check_tags(q, put->tag_count) < 0 ||
	    limit_check_tag_bytes(q, put->tags, put->tag_count) < 0 ||
	    limit_check_limits(q, put->limits, put->limit_count) < 0)
		return engine_fail_during(q, QLESS_OP_RECUR);
	rc = terms_check(q, QLESS_OP_RECUR, put->terms);
	rc = rc < 0 ? rc : check_finite(q, QLESS_OP_RECUR, "interval", put->interval);
	rc = rc < 0 ? rc : check_finite(q, QLESS_OP_RECUR, "offset", put->offset);
	rc = rc < 0 ? rc : check_finite(q, QLESS_OP_RECUR, "priority", put->priority);
	rc = rc < 0 ? rc : check_finite(q, QLESS_OP_RECUR, "retries", put->retries);
	rc = rc < 0 ? rc : limit_check_retries(q, QLESS_OP_RECUR, put->retries);
	rc = rc < 0 ? rc : check_finite(q, QLESS_OP_RECUR, "backlog", put->backlog);
	if (rc == 0 && put->schedule != NULL)
		return schedule_check(q, QLESS_OP_RECUR, put->schedule);
	if (rc == 0 && put->interval <= 0)
		rc = engine_fail_number(q, QLESS_OP_RECUR, QLESS_WHY_NOT_POSITIVE, "interval",
					put->interval);
	return rc;
}

/* Set when the recurring job makes jobs. Returns when it makes the next one. */
static double set_times(struct qless *q, struct qless_recur *recur,
			const struct qless_recur_put *put, double now)
{
	struct schedule *old = recur->schedule;
	double next;

	recur->schedule = NULL;
	recur->interval = put->interval;
	recur->backlog = put->backlog;
	next = finite_add(now, put->offset);
	if (put->schedule != NULL) {
		recur->schedule = schedule_new(put->schedule, recur);
		recur->interval = 0;
		recur->backlog = 0;
		/* Programs often set up their recurring jobs whenever they start. A tick that is
		 * due must survive that. */
		next = old != NULL && schedule_has_ticks_of(old, put->schedule)
			       ? recur->node.score
			       : schedule_next(recur->schedule, now);
	}
	schedule_free(q, old);
	return next;
}

int qless_recur(struct qless *q, double now, const struct qless_recur_put *put)
{
	struct qless_recur *recur;
	struct queue *queue;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	rc = check_recur(q, put);
	if (rc < 0)
		return rc;

	recur = recur_find(q, put->jid);
	if (recur != NULL)
		leave_queue(q, recur);
	else
		recur = recur_new(q, put->jid);
	queue = queue_need(q, put->queue);
	set_klass(q, recur, put->klass);
	set_data(recur, put->data);
	drop_tags(q, recur);
	add_tags(q, recur, put->tags, put->tag_count);
	set_limits(q, recur, put->limits, put->limit_count);
	set_terms(recur, put->terms);
	numbering_use(q, put->terms);
	recur->priority = put->priority;
	recur->retries = put->retries;
	enter_queue(q, recur, queue, set_times(q, recur, put, now), now);
	engine_changed(q);
	return 0;
}

int qless_unrecur(struct qless *q, double now, struct qless_str jid)
{
	struct qless_recur *recur;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	recur = recur_find(q, jid);
	if (recur != NULL) {
		recur_free(q, recur);
		engine_changed(q);
	}
	return 0;
}

const struct qless_recur *qless_recur_get(const struct qless *q, struct qless_str jid)
{
	return recur_find(q, jid);
}

void qless_recur_read(const struct qless_recur *recur, struct qless_recur_info *ret_info)
{
	*ret_info = (struct qless_recur_info){
		.jid = recur_jid(recur),
		.klass = intern_str(recur->klass),
		.data = str_make(recur->data, recur->data_len),
		.queue = queue_name(recur->queue),
		.priority = recur->priority,
		.retries = recur->retries,
		.interval = recur->interval,
		.backlog = recur->backlog,
		.count = recur->count,
		.has_schedule = recur->schedule != NULL,
		.terms = recur->terms,
	};
	if (recur->schedule != NULL)
		ret_info->schedule = schedule_read(recur->schedule);
}

size_t qless_recur_times(const struct qless_recur *recur, double now, double *ret_times,
			 size_t count)
{
	double when = recur_next_run(recur, now);
	size_t made = 0;

	if (when <= now && recur->schedule != NULL)
		when = schedule_next(recur->schedule, now);
	else if (when <= now)
		when += (floor((now - when) / recur->interval) + 1) * recur->interval;
	while (made < count && when < DBL_MAX) {
		ret_times[made++] = when;
		when = next_time(recur, when);
	}
	return made;
}

bool qless_recur_next_tag(const struct qless_recur *recur, size_t *cursor,
			  struct qless_str *ret_tag)
{
	if (*cursor >= recur->tag_count)
		return false;
	*ret_tag = intern_str(recur->tags[(*cursor)++]);
	return true;
}

/* Check that the number is that of an enum. */
static int check_choice(struct qless *q, const char *argument, double number, int max)
{
	if (number >= 0 && number <= max && number == floor(number))
		return 0;
	return engine_fail(q, (struct qless_error){ .operation = QLESS_OP_RECUR_UPDATE,
						    .reason = QLESS_WHY_RANGE,
						    .argument = argument,
						    .number = number,
						    .detail = STR("one of its words") });
}

static int check_change(struct qless *q, const struct qless_recur_change *change)
{
	switch (change->field) {
	case QLESS_RECUR_PRIORITY:
		return check_finite(q, QLESS_OP_RECUR_UPDATE, "priority", change->number);
	case QLESS_RECUR_RETRIES:
		if (check_finite(q, QLESS_OP_RECUR_UPDATE, "retries", change->number) < 0)
			return engine_fail_during(q, QLESS_OP_RECUR_UPDATE);
		return limit_check_retries(q, QLESS_OP_RECUR_UPDATE, change->number);
	case QLESS_RECUR_BACKLOG:
		return check_finite(q, QLESS_OP_RECUR_UPDATE, "backlog", change->number);
	case QLESS_RECUR_INTERVAL:
		if (!isfinite(change->number) || change->number <= 0)
			return engine_fail_number(q, QLESS_OP_RECUR_UPDATE, QLESS_WHY_NOT_POSITIVE,
						  "interval", change->number);
		return 0;
	case QLESS_RECUR_DATA:
		return limit_check_data(q, "data", change->text);
	case QLESS_RECUR_KLASS:
		return limit_check_name(q, "klass", change->text);
	case QLESS_RECUR_QUEUE:
		return limit_check_name(q, "queue", change->text);
	case QLESS_RECUR_LIMITS:
		if (limit_check_limits(q, change->limits, change->limit_count) < 0)
			return engine_fail_during(q, QLESS_OP_RECUR_UPDATE);
		return 0;
	case QLESS_RECUR_UNIQUE:
		return unique_check(q, QLESS_OP_RECUR_UPDATE,
				    &(struct qless_unique){ .key = change->text });
	case QLESS_RECUR_TERMS:
		return terms_check_change(q, QLESS_OP_RECUR_UPDATE, change->terms);
	case QLESS_RECUR_RAW:
		return check_choice(q, "raw", change->number, 1);
	case QLESS_RECUR_MISSED:
		return check_choice(q, "missed", change->number, QLESS_MISSED_ALL);
	case QLESS_RECUR_OVERLAP:
		return check_choice(q, "overlap", change->number, QLESS_OVERLAP_SKIP);
	case QLESS_RECUR_CRON:
	case QLESS_RECUR_ZONE:
	case QLESS_RECUR_RULE:
		return 0; /* check_schedule() looks at all of them together */
	}
	return engine_fail_number(q, QLESS_OP_RECUR_UPDATE, QLESS_WHY_NO_FIELD, "field",
				  change->field);
}

/* The schedule after the changes. Returns false if they are about no schedule, or take it away. */
static bool change_schedule(const struct qless_recur *recur,
			    const struct qless_recur_change *changes, size_t count,
			    struct qless_schedule *ret_schedule)
{
	bool is_changed = false;

	*ret_schedule = (struct qless_schedule){ .zone = STR("UTC"), .rule = STR("UTC0") };
	if (recur->schedule != NULL)
		*ret_schedule = schedule_read(recur->schedule);
	for (size_t i = 0; i < count; i++) {
		const struct qless_recur_change *change = &changes[i];

		is_changed = is_changed || (change->field >= QLESS_RECUR_CRON &&
					    change->field <= QLESS_RECUR_OVERLAP);
		if (change->field == QLESS_RECUR_INTERVAL)
			return false;
		if (change->field == QLESS_RECUR_CRON)
			ret_schedule->cron = change->text;
		else if (change->field == QLESS_RECUR_ZONE)
			ret_schedule->zone = change->text;
		else if (change->field == QLESS_RECUR_RULE)
			ret_schedule->rule = change->text;
		else if (change->field == QLESS_RECUR_MISSED)
			ret_schedule->missed = (unsigned)change->number;
		else if (change->field == QLESS_RECUR_OVERLAP)
			ret_schedule->overlap = (unsigned)change->number;
	}
	return is_changed;
}

static int check_schedule(struct qless *q, const struct qless_recur *recur,
			  const struct qless_recur_change *changes, size_t count)
{
	struct qless_schedule schedule;

	if (!change_schedule(recur, changes, count, &schedule))
		return 0;
	return schedule_check(q, QLESS_OP_RECUR_UPDATE, &schedule);
}

static void apply_schedule(struct qless *q, struct qless_recur *recur,
			   const struct qless_recur_change *changes, size_t count, double now)
{
	struct qless_schedule schedule;
	struct schedule *old = recur->schedule;

	if (!change_schedule(recur, changes, count, &schedule))
		return;
	recur->schedule = schedule_new(&schedule, recur);
	recur->interval = 0;
	recur->backlog = 0;
	recur_set_next(q, recur,
		       old != NULL && schedule_has_ticks_of(old, &schedule)
			       ? recur->node.score
			       : schedule_next(recur->schedule, now));
	schedule_free(q, old);
}

/* The next run moves by the difference of the intervals. */
static void set_interval(struct qless *q, struct qless_recur *recur, double interval, double now)
{
	double next = finite_add(recur->node.score, interval - recur->interval);

	if (recur->schedule != NULL)
		next = finite_add(now, interval);
	schedule_free(q, recur->schedule);
	recur->schedule = NULL;
	recur->interval = interval;
	recur_set_next(q, recur, next);
}

static void move_to(struct qless *q, struct qless_recur *recur, struct qless_str name, double now)
{
	double next = recur->node.score;
	struct queue *queue = queue_need(q, name);

	if (queue != recur->queue)
		leave_queue(q, recur);
	else
		skiplist_remove(&queue->recurring, &recur->node);
	enter_queue(q, recur, queue, next, now);
}

static void apply_change(struct qless *q, struct qless_recur *recur,
			 const struct qless_recur_change *change, double now)
{
	switch (change->field) {
	case QLESS_RECUR_PRIORITY:
		recur->priority = change->number;
		break;
	case QLESS_RECUR_RETRIES:
		recur->retries = change->number;
		break;
	case QLESS_RECUR_BACKLOG:
		recur->backlog = change->number;
		break;
	case QLESS_RECUR_INTERVAL:
		set_interval(q, recur, change->number, now);
		break;
	case QLESS_RECUR_DATA:
		set_data(recur, change->text);
		break;
	case QLESS_RECUR_KLASS:
		set_klass(q, recur, change->text);
		break;
	case QLESS_RECUR_QUEUE:
		move_to(q, recur, change->text, now);
		break;
	case QLESS_RECUR_LIMITS:
		set_limits(q, recur, change->limits, change->limit_count);
		break;
	case QLESS_RECUR_UNIQUE:
		set_key(recur, change->text);
		break;
	case QLESS_RECUR_TERMS:
		change_terms(recur, change->terms);
		break;
	case QLESS_RECUR_RAW:
		set_raw(recur, change->number != 0);
		break;
	case QLESS_RECUR_CRON:
	case QLESS_RECUR_ZONE:
	case QLESS_RECUR_RULE:
	case QLESS_RECUR_MISSED:
	case QLESS_RECUR_OVERLAP:
		break; /* apply_schedule() applies all of them together */
	}
	engine_changed(q);
}

int qless_recur_update(struct qless *q, double now, struct qless_str jid,
		       const struct qless_recur_change *changes, size_t count)
{
	struct qless_recur *recur;
	size_t i;
	int rc;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	recur = recur_find(q, jid);
	if (recur == NULL)
		return engine_fail_job(q, QLESS_OP_RECUR_UPDATE, QLESS_WHY_NO_RECUR, jid, STR(""));
	for (i = 0; i < count; i++) {
		rc = check_change(q, &changes[i]);
		if (rc < 0)
			return rc;
	}
	rc = check_schedule(q, recur, changes, count);
	if (rc < 0)
		return rc;
	for (i = 0; i < count; i++)
		apply_change(q, recur, &changes[i], now);
	apply_schedule(q, recur, changes, count, now);
	return 0;
}

/* A set of names: sorted pointers. Their order is never visible. */
struct name_set {
	const struct intern **items;
	size_t count;
};

static int compare_pointers(const void *a, const void *b)
{
	uintptr_t left = (uintptr_t) * (const struct intern *const *)a;
	uintptr_t right = (uintptr_t) * (const struct intern *const *)b;

	return left < right ? -1 : left > right;
}

/* NULL stands for a name that nothing has; it is in no set. */
static bool name_set_has(const struct name_set *set, const struct intern *name)
{
	return name != NULL && set->count > 0 &&
	       bsearch(&name, set->items, set->count, sizeof(*set->items), compare_pointers) !=
		       NULL;
}

static void name_set_sort(struct name_set *set)
{
	if (set->count > 1)
		qsort(set->items, set->count, sizeof(*set->items), compare_pointers);
}

static struct name_set name_set_of_recur(const struct qless_recur *recur)
{
	struct name_set set = { .count = recur->tag_count };
	size_t i;

	set.items = mem_realloc_array(NULL, set.count + 1, sizeof(*set.items));
	for (i = 0; i < set.count; i++)
		set.items[i] = recur->tags[i];
	name_set_sort(&set);
	return set;
}

static struct name_set name_set_of_tags(const struct qless *q, const struct qless_str *tags,
					size_t count)
{
	struct name_set set = { .count = 0 };
	size_t i;

	set.items = mem_realloc_array(NULL, count + 1, sizeof(*set.items));
	for (i = 0; i < count; i++) {
		const struct intern *name = intern_find(&q->tag_names, tags[i]);

		if (name != NULL)
			set.items[set.count++] = name;
	}
	name_set_sort(&set);
	return set;
}

/* Check that the recurring job may have these tags, too. */
static int check_tag_bytes(struct qless *q, const struct qless_recur *recur,
			   const struct qless_str *tags, size_t count)
{
	struct qless_str tag;
	size_t cursor = 0, bytes = 0;

	while (qless_recur_next_tag(recur, &cursor, &tag))
		bytes += tag.len;
	for (size_t i = 0; i < count; i++)
		bytes += tags[i].len;
	return limit_check_job_bytes(q, NULL, 0, bytes);
}

int qless_recur_tag(struct qless *q, double now, struct qless_str jid, const struct qless_str *tags,
		    size_t count)
{
	struct qless_recur *recur;
	struct name_set had;
	uint64_t added = 0;
	size_t i;
	int rc = 0;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_names(q, "tags", tags, count) < 0)
		return engine_fail_during(q, QLESS_OP_RECUR_TAG);
	recur = recur_find(q, jid);
	if (recur == NULL)
		return engine_fail_job(q, QLESS_OP_RECUR_TAG, QLESS_WHY_NO_RECUR, jid, STR(""));

	/* Only the tags that it had before count: a tag given twice is added twice. */
	had = name_set_of_recur(recur);
	for (i = 0; i < count; i++)
		added += !name_set_has(&had, intern_find(&q->tag_names, tags[i]));
	if (added > 0 && (limit_check_tags(q, had.count + added) < 0 ||
			  check_tag_bytes(q, recur, tags, count) < 0))
		rc = engine_fail_during(q, QLESS_OP_RECUR_TAG);
	for (i = 0; rc == 0 && i < count; i++) {
		if (name_set_has(&had, intern_find(&q->tag_names, tags[i])))
			continue;
		add_tags(q, recur, &tags[i], 1);
		engine_changed(q);
	}
	free(had.items);
	return rc;
}

int qless_recur_untag(struct qless *q, double now, struct qless_str jid,
		      const struct qless_str *tags, size_t count)
{
	struct qless_recur *recur;
	struct name_set gone;
	uint32_t kept = 0;
	uint32_t i;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	recur = recur_find(q, jid);
	if (recur == NULL)
		return engine_fail_job(q, QLESS_OP_RECUR_UNTAG, QLESS_WHY_NO_RECUR, jid, STR(""));

	gone = name_set_of_tags(q, tags, count);
	for (i = 0; i < recur->tag_count; i++) {
		if (!name_set_has(&gone, recur->tags[i])) {
			recur->tags[kept++] = recur->tags[i];
			continue;
		}
		intern_unref(&q->tag_names, recur->tags[i]);
		engine_changed(q);
	}
	assert(kept <= recur->tag_count);
	recur->tag_count = kept;
	free(gone.items);
	return 0;
}

/* Numbers of existing jobs that one run skips. With more, the run makes no job, so that nobody can
 * hold up a pop by putting jobs with these names. */
#define TAKEN_MAX 10000

/* Ticks that are counted one by one to see how many are due. */
#define DUE_COUNTED 1000

/* The next free jid <recurring jid>-<number>; numbers of existing jobs are skipped. Empty if too
 * many are. */
static struct qless_str next_jid(struct qless *q, struct qless_recur *recur)
{
	char number[NUM_MAX];
	unsigned tried = 0;

	do {
		if (tried++ == TAKEN_MAX)
			return STR("");
		recur->count++;
		buf_clear(&q->channel);
		buf_append_str(&q->channel, recur_jid(recur));
		buf_append_char(&q->channel, '-');
		buf_append(&q->channel, number, num_format_u64(number, recur->count));
	} while (job_find(q, buf_str(&q->channel)) != NULL);
	return buf_str(&q->channel);
}

/* Make the job of a run. Returns false if there is no free jid for it. */
static bool make_job(struct qless *q, struct qless_recur *recur, double now, double when)
{
	struct qless_str jid = next_jid(q, recur), tag;
	struct qless_job *job;
	size_t cursor = 0;

	engine_changed(q);
	if (jid.len == 0)
		return false;
	job = job_new(q, jid, str_make(recur->data, recur->data_len));
	job_set_klass(q, job, intern_str(recur->klass));
	job_need_extra(job)->spawned_from = intern_get(&q->names, recur_jid(recur));
	str_vec_clear(&q->list);
	while (qless_recur_next_tag(recur, &cursor, &tag))
		str_vec_push(&q->list, tag);
	job_set_tags(q, job, q->list.items, q->list.count, now);
	job_use_limits(q, job, limit_set_ref(recur->limits));
	terms_apply(q, job, recur->terms);
	terms_apply_data(q, job, recur->terms);
	job->priority = recur->priority;
	job->retries = recur->retries;
	job->remaining = recur->retries;
	job->time = when;
	assert(recur->node.linked && when <= now);
	job_join(q, job, recur->queue, when);
	job_place(q, job, when, 0);
	return true;
}

double recur_next_run(const struct qless_recur *recur, double now)
{
	double when = floor(recur->node.score);
	double missed;

	if (recur->schedule != NULL)
		return schedule_catch_up(recur->schedule, when, now);
	missed = (now - when) / recur->interval;
	if (recur->backlog != 0 && missed > recur->backlog)
		when += ceil(missed - recur->backlog) * recur->interval;
	return when;
}

double recur_count_due(const struct qless_recur *recur, double now, double max)
{
	const struct schedule *schedule = recur->schedule;
	double due = 1, when = recur->node.score;

	if (schedule == NULL) {
		due = floor((now - recur->node.score) / recur->interval) + 1;
	} else if (schedule->missed == QLESS_MISSED_ALL &&
		   schedule->overlap == QLESS_OVERLAP_ALLOW) {
		while (due < DUE_COUNTED && (when = schedule_next(schedule, when)) <= now)
			due++;
		/* There are no more ticks than seconds. */
		if (due == DUE_COUNTED)
			due = fmax(due, now - recur->node.score + 1);
	}
	return due < max ? due : max;
}

/* Returns whether the last job that it made is neither complete nor failed. */
static bool is_busy(struct qless *q, const struct qless_recur *recur)
{
	char number[NUM_MAX];
	const struct qless_job *job;

	buf_clear(&q->channel);
	buf_append_str(&q->channel, recur_jid(recur));
	buf_append_char(&q->channel, '-');
	buf_append(&q->channel, number, num_format_u64(number, recur->count));
	job = job_find(q, buf_str(&q->channel));
	/* Somebody else may have put a job with this name. */
	return job != NULL && job->state != QLESS_COMPLETE && job->state != QLESS_FAILED &&
	       job_extra(job) != NULL && job_extra(job)->spawned_from != NULL &&
	       str_equal(intern_str(job_extra(job)->spawned_from), recur_jid(recur));
}

/* Returns whether the runs up to `now` make no job, because the last one is not over. */
static bool skips_overlap(struct qless *q, const struct qless_recur *recur)
{
	return recur->schedule != NULL && recur->schedule->overlap == QLESS_OVERLAP_SKIP &&
	       is_busy(q, recur);
}

/* Returns whether the runs up to `now` make no job, because a job holds the unique key of their
 * jobs. */
static bool finds_holder(const struct qless *q, const struct qless_recur *recur, double now)
{
	const struct qless_terms *terms = recur->terms;

	return terms != NULL && terms->has_unique &&
	       unique_find_holder(q, terms->unique.key, now) != NULL;
}

/* The first run after `now`, where `when` is a run that is due. */
static double skip_due(const struct qless_recur *recur, double when, double now)
{
	if (recur->schedule != NULL)
		return schedule_next(recur->schedule, now);
	return finite_add(when, (floor((now - when) / recur->interval) + 1) * recur->interval);
}

/* Make up to `max` due jobs of one recurring job. Returns the number of jobs. *ret_has_room is
 * whether each run found a free jid. */
static int64_t make_due_jobs(struct qless *q, struct qless_recur *recur, double now, int64_t max,
			     bool *ret_has_room)
{
	double when = recur_next_run(recur, now);
	bool has_room = true, has_run = when > now && recur->schedule != NULL;
	bool is_skipped = false;
	int64_t made = 0;

	assert(recur->node.linked && recur->node.score <= now);
	while (when <= now && made < max && has_room) {
		has_run = true;
		if (skips_overlap(q, recur) || finds_holder(q, recur, now)) {
			when = skip_due(recur, when, now);
			is_skipped = true;
			break;
		}
		has_room = make_job(q, recur, now, when);
		when = next_time(recur, when);
		made += has_room;
	}
	if (has_run)
		recur_set_next(q, recur, when);
	/* Runs that make no job change the state, too. */
	if (has_run && (recur->schedule != NULL || is_skipped))
		engine_changed(q);
	*ret_has_room = has_room;
	return made;
}

int64_t recur_spawn(struct qless *q, struct queue *queue, double now, int64_t max)
{
	struct skipnode *node = skiplist_first_ge(&queue->recurring, 0);
	bool has_room = true;
	int64_t made = 0;

	/* A recurring job that made jobs moves after all due ones, so the next one keeps its
	 * place. */
	while (made < max && has_room && node != NULL && node->score <= now) {
		struct qless_recur *recur = recur_from_node(node);

		node = skiplist_next(node);
		made += make_due_jobs(q, recur, now, max - made, &has_room);
	}
	assert(made <= max);
	return made;
}

int qless_tick(struct qless *q, double now, struct qless_str jid, int64_t max, uint64_t *ret_made)
{
	struct qless_recur *recur;
	bool has_room;

	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (max < 0)
		return engine_fail_number(q, QLESS_OP_TICK, QLESS_WHY_NEGATIVE, "max", (double)max);
	recur = recur_find(q, jid);
	if (recur == NULL)
		return engine_fail_job(q, QLESS_OP_TICK, QLESS_WHY_NO_RECUR, jid, STR(""));
	*ret_made = 0;
	if (recur->schedule != NULL && recur->node.linked && recur->node.score <= now && max > 0)
		*ret_made = (uint64_t)make_due_jobs(q, recur, now, max, &has_room);
	return 0;
}
