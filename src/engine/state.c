/*
 * Snapshots: their format, and saving.
 *
 * The format, version 3. A varint has seven bits a byte, the low ones first, and the top bit set in
 * every byte but the last; zigzag maps 0 -1 1 -2 to 0 1 2 3.
 *
 *	text	varint length, bytes
 *	number	varint 0 and 8 bytes of a double, or the zigzag of an integer plus one as varint
 *	time	varint 0 and 8 bytes of a double, or one more than the zigzag of the difference in
 *		microseconds to the time before it (0 at first)
 *	name	varint: how many different names of its kind came before the first use of this one;
 *		in its first use the text follows. Kinds: queue, worker, group, tag, the rest
 *		(classes, and the recurring jobs that made jobs), and limit
 *
 * A snapshot is, in this order:
 *
 *	version		varint, 3. Versions 1 and 2 lack what is marked so
 *	options		varint count; each: name text, value text
 *	tracked		varint count; each: jid text, score time
 *	limits		since version 3: varint count; each, by name: limit name, flags byte (enum
 *			state_limit_flag); rule, if RULE: concurrency varint (zigzag), rate, per,
 *			burst, weight numbers; expires time, if EXPIRES; tat time, if TAT; held
 *			time, if HELD
 *	recurring jobs	varint count; each: jid text, queue name, class name, data text, priority,
 *			retries, interval, backlog numbers, made varint, next time, tags; since
 *			version 3 also its set, flags byte (enum state_recur_flag); schedule, if
 *			SCHEDULE; terms, if TERMS
 *	queues		by name; each: byte 1, queue name, flags byte (1 known, 2 paused), score
 *			time if known, days, and a list of jobs for each row of queue_lists[] that
 *			has jobs; since version 3 also its turns; after the last queue a byte 0
 *	groups		by name; each: byte 1, group name, list of jobs; then a byte 0
 *	completed	list of jobs
 *	dependencies	of each job in the lists `depends`, in the order in which these came: varint
 *			count; each: varint, the number of a job with dependents, counted in the
 *			order in which these came
 *	workers		by name; each: byte 1, worker name, flags byte (1 known), score time if
 *			known; holdings: varint count, each: jid text, expiry time; days: varint
 *			count, each: day number and four varints; then a byte 0
 *	totals		changes varint, latest number, number of the last failure; since version 2
 *			also varint, number of the last hand-out
 *	last number	since version 3, if a job was numbered: byte 0x52, number
 *	end		byte 0x51
 *
 *	turns		byte 0, or if the order of the queue is fair: byte 1, pass of the queue
 *			number, pass of jobs without limits number, varint count; each, by name:
 *			limit name, pass number
 *	days		varint count; each: day number, two series (wait, run), three counters
 *	series		count, mean, vk numbers; varint count of buckets; each: unit byte, value
 *			number, varint
 *	counter		varint: 0 if never counted, otherwise one more than the zigzag of it
 *	tags		varint count; each: tag name
 *	set		varint: 0 without limits, otherwise one more than the number of different
 *			sets before the first use of this one; in its first use follow a varint
 *			count, and each: limit name
 *	terms		varint: bits of enum terms_flag; then what terms_save() has for each. Of a
 *			unique key: byte, enum qless_until and enum unique_flag; seconds and end
 *			numbers, if it has them; text
 *	schedule	expression, name of the zone, rule texts; enum qless_missed and enum
 *			qless_overlap bytes
 *	list of jobs	varint count; the jobs in the order of the list, so that each is appended
 *			when it is loaded
 *
 * A job is, in this order, where `if` names a flag of enum state_job_flag:
 *
 *	flags		varint
 *	jid text, class name, data text
 *	priority number, time time, retries number
 *	remaining	number, if REMAINING; otherwise it equals retries
 *	expires		time, if EXPIRES; otherwise 0
 *	score		byte 0 and 8 bytes of a double, if SCORE; otherwise job_usual_score()
 *	worker		name, if WORKER
 *	lock		varint, if LOCK (since version 2): number of the last hand-out
 *	queue		name, if the job is in a group; others are in the queue of their list
 *	tags		if TAGS: varint count; each: tag name, time
 *	failure		if FAILURE: group name, message text, time; worker: byte 1, name, or byte 0
 *	spawned from	name, if SPAWNED
 *	due		time, if DUE
 *	set		if LIMITS (since version 3)
 *	terms		if TERMS (since version 3)
 *	account		if ACCOUNT (since version 3), see account.c
 *	run		if RUN (since version 3): time at which it is over, numbers of the
 *			runtime and of the time to start
 *	retained	if RETAINED (since version 3): byte 1, or byte 0 and number of the seconds
 *	history		varint count; each: kind byte, time, and by its kind:
 *			put: queue name; popped: worker name; failed: group name, worker name;
 *			exhausted: group name; log: text, byte 1 and item text, or byte 0
 */
#include "engine/state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/account.h"
#include "engine/carried.h"
#include "engine/depends.h"
#include "engine/engine_int.h"
#include "engine/fail.h"
#include "engine/fair.h"
#include "engine/history.h"
#include "engine/job.h"
#include "engine/lists.h"
#include "engine/named_limit.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/retain.h"
#include "engine/run.h"
#include "engine/runtime.h"
#include "engine/schedule.h"
#include "engine/settings.h"
#include "engine/state_int.h"
#include "engine/state_save.h"
#include "engine/stats.h"
#include "engine/tag.h"
#include "engine/terms.h"
#include "engine/track.h"
#include "engine/worker.h"
#include "util/container.h"
#include "util/mem.h"
#include "util/wire.h"

/* A map by the address of the text: equal interned names have the same address. */
struct name_map {
	struct name_slot {
		const char *text;
		uint64_t id;
	} * slots;
	size_t count;
	size_t cap; /* a power of two */
};

struct saver {
	const struct qless *q;
	state_write_fn *write;
	void *arg;
	bool failed;
	unsigned char *piece;
	size_t len;
	int64_t last_us;
	struct name_map names;
	uint64_t name_counts[STATE_KINDS];
	struct name_map sets; /* by the address of the set */
	uint64_t set_count;
	struct name_map jobs; /* jobs with dependents, by their jid */
	uint64_t job_count;
};

static struct name_slot *find_slot(struct name_map *map, const char *text)
{
	size_t i = (size_t)(((uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15)) >> 20);

	while (map->slots[i & (map->cap - 1)].text != NULL &&
	       map->slots[i & (map->cap - 1)].text != text)
		i++;
	return &map->slots[i & (map->cap - 1)];
}

static void grow_map(struct name_map *map)
{
	struct name_map old = *map;

	map->cap = old.cap == 0 ? 64 : 2 * old.cap;
	map->slots = mem_zalloc(map->cap * sizeof(*map->slots));
	for (size_t i = 0; i < old.cap; i++) {
		if (old.slots[i].text != NULL)
			*find_slot(map, old.slots[i].text) = old.slots[i];
	}
	free(old.slots);
}

/* The slot of a text. A new slot has no text yet. */
static struct name_slot *need_slot(struct name_map *map, const char *text)
{
	if (2 * map->count >= map->cap)
		grow_map(map);
	return find_slot(map, text);
}

static void flush(struct saver *s)
{
	if (s->len > 0 && !s->failed && !s->write(s->arg, str_make((const char *)s->piece, s->len)))
		s->failed = true;
	s->len = 0;
}

/* Room for `size` bytes, which are few. */
static unsigned char *room(struct saver *s, size_t size)
{
	assert(s->len <= STATE_PIECE_BYTES && size <= STATE_PIECE_BYTES);
	if (STATE_PIECE_BYTES - s->len < size)
		flush(s);
	return s->piece + s->len;
}

static void save_byte(struct saver *s, unsigned value)
{
	*room(s, 1) = (unsigned char)value;
	s->len++;
}

static void save_varint(struct saver *s, uint64_t value)
{
	s->len += wire_put_varint(room(s, WIRE_VARINT_MAX), value);
}

static void save_raw_double(struct saver *s, double value)
{
	unsigned char *to = room(s, 1 + sizeof(value));

	to[0] = 0;
	wire_put_double(to + 1, value);
	s->len += 1 + sizeof(value);
}

static void save_number(struct saver *s, double value)
{
	if (value == floor(value) && fabs(value) < STATE_INTEGER_MAX &&
	    !(value == 0 && signbit(value)))
		save_varint(s, wire_zigzag((int64_t)value) + 1);
	else
		save_raw_double(s, value);
}

static void save_time(struct saver *s, double value)
{
	double us = value * 1e6;
	int64_t whole;

	if (!(fabs(us) < STATE_INTEGER_MAX)) {
		save_raw_double(s, value);
		return;
	}
	whole = (int64_t)(us < 0 ? us - 0.5 : us + 0.5);
	if ((double)whole / 1e6 != value || (value == 0 && signbit(value))) {
		save_raw_double(s, value);
		return;
	}
	save_varint(s, wire_zigzag(whole - s->last_us) + 1);
	s->last_us = whole;
}

static void save_text(struct saver *s, struct qless_str text)
{
	save_varint(s, text.len);
	while (text.len > 0) {
		size_t n = STATE_PIECE_BYTES - s->len;

		if (n > text.len)
			n = text.len;
		memcpy(s->piece + s->len, text.ptr, n);
		s->len += n;
		text.ptr += n;
		text.len -= n;
		if (s->len == STATE_PIECE_BYTES)
			flush(s);
	}
}

/* `text` belongs to an interned name of the kind. */
static void save_name(struct saver *s, enum state_kind kind, struct qless_str text)
{
	struct name_slot *slot = need_slot(&s->names, text.ptr);

	if (slot->text != NULL) {
		save_varint(s, slot->id);
		return;
	}
	slot->text = text.ptr;
	slot->id = s->name_counts[kind]++;
	s->names.count++;
	save_varint(s, slot->id);
	save_text(s, text);
}

static void save_intern(struct saver *s, enum state_kind kind, const struct intern *name)
{
	save_name(s, kind, intern_str(name));
}

/* ---- the same for other files ---- */

void state_save_byte(struct saver *s, unsigned value)
{
	save_byte(s, value);
}

void state_save_varint(struct saver *s, uint64_t value)
{
	save_varint(s, value);
}

void state_save_number(struct saver *s, double value)
{
	save_number(s, value);
}

void state_save_time(struct saver *s, double value)
{
	save_time(s, value);
}

void state_save_text(struct saver *s, struct qless_str text)
{
	save_text(s, text);
}

void state_save_name(struct saver *s, enum state_kind kind, const struct intern *name)
{
	save_intern(s, kind, name);
}

/* ---- jobs ---- */

static void save_set(struct saver *s, const struct limit_set *set)
{
	struct name_slot *slot;

	if (set == NULL) {
		save_varint(s, 0);
		return;
	}
	slot = need_slot(&s->sets, (const char *)set);
	if (slot->text != NULL) {
		save_varint(s, slot->id + 1);
		return;
	}
	slot->text = (const char *)set;
	slot->id = s->set_count++;
	s->sets.count++;
	save_varint(s, slot->id + 1);
	save_varint(s, set->count);
	for (uint32_t i = 0; i < set->count; i++)
		save_intern(s, STATE_LIMIT, set->limits[i]->name);
}

static void save_event(struct saver *s, const struct qless_event *event)
{
	save_byte(s, event->kind);
	save_time(s, event->when);
	switch (event->kind) {
	case QLESS_EVENT_PUT:
		save_name(s, STATE_QUEUE, event->queue);
		break;
	case QLESS_EVENT_POPPED:
		save_name(s, STATE_WORKER, event->worker);
		break;
	case QLESS_EVENT_FAILED:
		save_name(s, STATE_GROUP, event->group);
		save_name(s, STATE_WORKER, event->worker);
		break;
	case QLESS_EVENT_EXHAUSTED:
		save_name(s, STATE_GROUP, event->group);
		break;
	case QLESS_EVENT_LOG:
		save_text(s, event->what);
		save_byte(s, event->item.ptr != NULL);
		if (event->item.ptr != NULL)
			save_text(s, event->item);
		break;
	case QLESS_EVENT_DONE:
	case QLESS_EVENT_TIMED_OUT:
		break;
	}
}

static void save_history(struct saver *s, const struct history *history)
{
	struct qless_event event;
	size_t cursor = 0;

	save_varint(s, history->count);
	while (history_next(history, &cursor, &event))
		save_event(s, &event);
}

static void save_tags(struct saver *s, const struct tag_list *tags)
{
	save_varint(s, tags->count);
	for (uint32_t i = 0; i < tags->count; i++) {
		save_intern(s, STATE_TAG, tags->items[i]->tag->name);
		save_time(s, tags->items[i]->node.score);
	}
}

static void save_failure(struct saver *s, const struct failure *failure)
{
	save_intern(s, STATE_GROUP, failure->group);
	save_text(s, failure_message(failure));
	save_time(s, failure->when);
	save_byte(s, failure->worker != NULL);
	if (failure->worker != NULL)
		save_intern(s, STATE_WORKER, failure->worker);
}

static void save_extra(struct saver *s, const struct job_extra *extra, unsigned flags)
{
	if (flags & STATE_JOB_TAGS)
		save_tags(s, extra->tags);
	if (flags & STATE_JOB_FAILURE)
		save_failure(s, extra->failure);
	if (flags & STATE_JOB_SPAWNED)
		save_intern(s, STATE_NAME, extra->spawned_from);
	if (flags & STATE_JOB_DUE)
		save_time(s, extra->due);
}

static void save_limits_of(struct saver *s, const struct qless_job *job, unsigned flags)
{
	if (flags & STATE_JOB_LIMITS)
		save_set(s, job_limits(job));
}

static void save_terms_of(struct saver *s, const struct qless_job *job)
{
	struct qless_terms terms;

	qless_job_terms(job, &terms);
	terms_save(s, &terms);
}

static void save_carried(struct saver *s, const struct qless_job *job, unsigned flags)
{
	if (flags & STATE_JOB_TERMS)
		save_terms_of(s, job);
	if (flags & STATE_JOB_ACCOUNT)
		account_save(s, job_account(job));
	if (flags & STATE_JOB_RUN) {
		save_time(s, runtime_ends(job));
		save_number(s, job_terms(job)->allowed);
		save_number(s, job_terms(job)->to_start);
	}
	if (flags & STATE_JOB_RETAINED)
		retain_save(s, job_terms(job)->retained->seconds);
}

static unsigned carried_flags(const struct qless_job *job)
{
	struct qless_terms terms;
	unsigned flags = 0;

	if (qless_job_terms(job, &terms))
		flags |= STATE_JOB_TERMS;
	if (job_account(job) != NULL)
		flags |= STATE_JOB_ACCOUNT;
	if (isfinite(runtime_ends(job)))
		flags |= STATE_JOB_RUN;
	if (job_terms(job) != NULL && job_terms(job)->retained != NULL)
		flags |= STATE_JOB_RETAINED;
	return flags;
}

static unsigned job_flags(const struct qless_job *job)
{
	const struct job_extra *extra = job_extra(job);
	unsigned flags = 0;

	if (job->worker != NULL)
		flags |= STATE_JOB_WORKER;
	if (job->flags & JOB_GRACE)
		flags |= STATE_JOB_GRACE;
	if (job->flags & JOB_FAILURE_CLEARED)
		flags |= STATE_JOB_CLEARED;
	if (job->state == QLESS_STALLED)
		flags |= STATE_JOB_STALLED;
	if (job_lock(job) != 0)
		flags |= STATE_JOB_LOCK;
	if (job->flags & JOB_LIMITED)
		flags |= STATE_JOB_LIMITS;
	if (job->flags & JOB_CARRIES)
		flags |= carried_flags(job);
	if (job->remaining != job->retries || signbit(job->remaining) != signbit(job->retries))
		flags |= STATE_JOB_REMAINING;
	if (job->expires != 0 || signbit(job->expires))
		flags |= STATE_JOB_EXPIRES;
	if (job->node.score != job_usual_score(job))
		flags |= STATE_JOB_SCORE;
	if (extra == NULL)
		return flags;
	if (extra->tags != NULL)
		flags |= STATE_JOB_TAGS;
	if (extra->failure != NULL)
		flags |= STATE_JOB_FAILURE;
	if (extra->spawned_from != NULL)
		flags |= STATE_JOB_SPAWNED;
	if (!isnan(extra->due))
		flags |= STATE_JOB_DUE;
	if (extra->dependents != NULL)
		flags |= STATE_JOB_DEPENDENTS;
	return flags;
}

/* Number the job, so that the jobs that depend on it can name it. */
static void number_job(struct saver *s, const struct qless_job *job)
{
	struct name_slot *slot = need_slot(&s->jobs, job_jid(job).ptr);

	assert(slot->text == NULL);
	slot->text = job_jid(job).ptr;
	slot->id = s->job_count++;
	s->jobs.count++;
}

static void save_job(struct saver *s, const struct qless_job *job)
{
	unsigned flags = job_flags(job);

	save_varint(s, flags);
	save_text(s, job_jid(job));
	save_intern(s, STATE_NAME, job->klass);
	save_text(s, job_data(job));
	save_number(s, job->priority);
	save_time(s, job->time);
	save_number(s, job->retries);
	if (flags & STATE_JOB_REMAINING)
		save_number(s, job->remaining);
	if (flags & STATE_JOB_EXPIRES)
		save_time(s, job->expires);
	if (flags & STATE_JOB_SCORE)
		save_raw_double(s, job->node.score);
	if (flags & STATE_JOB_WORKER)
		save_intern(s, STATE_WORKER, job->worker);
	if (flags & STATE_JOB_LOCK)
		save_varint(s, job_lock(job));
	if (job->state == QLESS_FAILED)
		save_intern(s, STATE_QUEUE, job->queue->name);
	if (job_extra(job) != NULL)
		save_extra(s, job_extra(job), flags);
	save_limits_of(s, job, flags);
	save_carried(s, job, flags);
	save_history(s, &job->history);
	if (flags & STATE_JOB_DEPENDENTS)
		number_job(s, job);
}

static void save_jobs(struct saver *s, const struct skiplist *list)
{
	const struct skipnode *node;

	save_varint(s, skiplist_count(list));
	for (node = skiplist_first(list); node != NULL && !s->failed; node = skiplist_next(node))
		save_job(s, job_from_node(node));
}

/* ---- what jobs hang on ---- */

static void save_options(struct saver *s)
{
	const struct settings *settings = &s->q->settings;

	save_varint(s, settings->count);
	for (size_t i = 0; i < settings->count; i++) {
		const struct option *option = &settings->options[i];

		save_text(s, str_make(option->name, option->name_len));
		save_text(s, str_make(option->value, option->value_len));
	}
}

static void save_tracked(struct saver *s)
{
	const struct skipnode *node;

	save_varint(s, skiplist_count(&s->q->tracks));
	for (node = skiplist_first(&s->q->tracks); node != NULL; node = skiplist_next(node)) {
		save_text(s, tracked_member(node));
		save_time(s, node->score);
	}
}

static void save_schedule(struct saver *s, const struct schedule *schedule)
{
	struct qless_schedule read = schedule_read(schedule);

	save_text(s, read.cron);
	save_text(s, read.zone);
	save_text(s, read.rule);
	save_byte(s, read.missed);
	save_byte(s, read.overlap);
}

static void save_recur(struct saver *s, const struct qless_recur *recur)
{
	save_text(s, recur_jid(recur));
	save_intern(s, STATE_QUEUE, recur->queue->name);
	save_intern(s, STATE_NAME, recur->klass);
	save_text(s, str_make(recur->data, recur->data_len));
	save_number(s, recur->priority);
	save_number(s, recur->retries);
	save_number(s, recur->interval);
	save_number(s, recur->backlog);
	save_varint(s, recur->count);
	save_time(s, recur->node.score);
	save_varint(s, recur->tag_count);
	for (uint32_t i = 0; i < recur->tag_count; i++)
		save_intern(s, STATE_TAG, recur->tags[i]);
	save_set(s, recur->limits);
	save_byte(s, (recur->schedule != NULL ? STATE_RECUR_SCHEDULE : 0u) |
			     (recur->terms != NULL ? STATE_RECUR_TERMS : 0u));
	if (recur->schedule != NULL)
		save_schedule(s, recur->schedule);
	if (recur->terms != NULL)
		terms_save(s, recur->terms);
}

static void save_series(struct saver *s, const struct series *series)
{
	save_number(s, series->count);
	save_number(s, series->mean);
	save_number(s, series->vk);
	save_varint(s, series->bucket_count);
	for (uint32_t i = 0; i < series->bucket_count; i++) {
		save_byte(s, (unsigned char)series->buckets[i].unit);
		save_number(s, series->buckets[i].value);
		save_varint(s, series->buckets[i].count);
	}
}

static void save_day(struct saver *s, const struct stats_day *day)
{
	save_number(s, day->day);
	save_series(s, &day->wait);
	save_series(s, &day->run);
	for (int i = 0; i < COUNTER_TOTAL; i++)
		save_varint(s, day->counted[i] ? wire_zigzag(day->counters[i]) + 1 : 0);
}

static void save_turns(struct saver *s, const struct fair *fair)
{
	struct turn **turns;
	size_t count;

	save_byte(s, fair != NULL);
	if (fair == NULL)
		return;
	save_number(s, fair->pass);
	save_number(s, fair->plain);
	turns = fair_sort_turns(fair, &count);
	save_varint(s, count);
	for (size_t i = 0; i < count; i++) {
		save_intern(s, STATE_LIMIT, turns[i]->name);
		save_number(s, turns[i]->pass);
	}
	free(turns);
}

static void save_queue(struct saver *s, const struct queue *queue)
{
	save_byte(s, 1);
	save_intern(s, STATE_QUEUE, queue->name);
	save_byte(s, (queue->node.linked ? STATE_KNOWN : 0u) | (queue->paused ? STATE_PAUSED : 0u));
	if (queue->node.linked)
		save_time(s, queue->node.score);
	save_varint(s, queue->day_count);
	for (uint32_t i = 0; i < queue->day_count; i++)
		save_day(s, &queue->days[i]);
	for (int i = 0; i < QUEUE_ALL_LISTS; i++) {
		if (queue_list_has_jobs((enum queue_list)i))
			save_jobs(s, &queue->lists[i]);
	}
	save_turns(s, queue->fair);
}

static void save_worker(struct saver *s, const struct worker *worker)
{
	const struct skipnode *node;

	save_byte(s, 1);
	save_intern(s, STATE_WORKER, worker->name);
	save_byte(s, worker->node.linked ? STATE_KNOWN : 0u);
	if (worker->node.linked)
		save_time(s, worker->node.score);
	save_varint(s, skiplist_count(&worker->by_expiry));
	for (node = skiplist_first(&worker->by_expiry); node != NULL; node = skiplist_next(node)) {
		save_text(s, holding_jid(container_of(node, const struct holding, node)));
		save_time(s, node->score);
	}
	save_varint(s, worker->day_count);
	for (uint32_t i = 0; i < worker->day_count; i++) {
		save_number(s, worker->days[i].day);
		for (int deed = 0; deed < DEED_TOTAL; deed++)
			save_varint(s, worker->days[i].deeds[deed]);
	}
}

static int compare_names(const void *a, const void *b)
{
	return str_compare(intern_str(*(struct intern *const *)a),
			   intern_str(*(struct intern *const *)b));
}

/* The names of the objects in a table, sorted. The caller frees the list. */
static struct intern **sort_names(const struct intern_table *table, size_t *ret_count)
{
	struct intern **list = mem_realloc_array(NULL, intern_count(table) + 1, sizeof(*list));
	struct hash_iter it;
	struct hash_node *node;

	*ret_count = 0;
	HASH_FOREACH(node, &it, &table->hash) {
		struct intern *name = intern_from_node(node);

		if (name->user != NULL)
			list[(*ret_count)++] = name;
	}
	if (*ret_count > 0)
		qsort(list, *ret_count, sizeof(*list), compare_names);
	return list;
}

static unsigned limit_flags(const struct named_limit *limit)
{
	unsigned flags = 0;

	if (limit->own != NULL)
		flags |= STATE_LIMIT_RULE;
	if (limit->own != NULL && isfinite(limit->own->expires))
		flags |= STATE_LIMIT_EXPIRES;
	if (isfinite(limit->tat))
		flags |= STATE_LIMIT_TAT;
	if (isfinite(limit->held_until))
		flags |= STATE_LIMIT_HELD;
	return flags;
}

static void save_limit(struct saver *s, const struct named_limit *limit)
{
	unsigned flags = limit_flags(limit);

	save_intern(s, STATE_LIMIT, limit->name);
	save_byte(s, flags);
	if (flags & STATE_LIMIT_RULE) {
		save_varint(s, wire_zigzag(limit->own->concurrency));
		save_number(s, limit->own->rate);
		save_number(s, limit->own->per);
		save_number(s, limit->own->burst);
		save_number(s, limit->own->weight);
	}
	if (flags & STATE_LIMIT_EXPIRES)
		save_time(s, limit->own->expires);
	if (flags & STATE_LIMIT_TAT)
		save_time(s, limit->tat);
	if (flags & STATE_LIMIT_HELD)
		save_time(s, limit->held_until);
}

/* Save the limits that are more than a name. The others come with the sets that name them. */
static void save_limits(struct saver *s)
{
	size_t count, kept = 0;
	struct intern **names = sort_names(&s->q->limit_names, &count);

	for (size_t i = 0; i < count; i++) {
		if (limit_flags(names[i]->user) != 0)
			names[kept++] = names[i];
	}
	save_varint(s, kept);
	for (size_t i = 0; i < kept; i++)
		save_limit(s, names[i]->user);
	free(names);
}

static void save_recurs(struct saver *s, struct intern **queues, size_t count)
{
	const struct skipnode *node;

	save_varint(s, hash_count(&s->q->recurs));
	for (size_t i = 0; i < count; i++) {
		const struct queue *queue = queues[i]->user;

		node = skiplist_first(&queue->recurring);
		for (; node != NULL; node = skiplist_next(node))
			save_recur(s, recur_from_node(node));
	}
}

static void save_groups(struct saver *s)
{
	size_t count;
	struct intern **groups = sort_names(&s->q->group_names, &count);

	for (size_t i = 0; i < count; i++) {
		const struct group *group = groups[i]->user;

		save_byte(s, 1);
		save_intern(s, STATE_GROUP, group->name);
		save_jobs(s, &group->jobs);
	}
	save_byte(s, 0);
	free(groups);
}

static void save_dependencies(struct saver *s, const struct queue *queue)
{
	const struct skipnode *node = skiplist_first(&queue->depends);

	for (; node != NULL; node = skiplist_next(node)) {
		const struct skiplist *list = job_extra(job_from_node(node))->dependencies;
		const struct skipnode *at;

		save_varint(s, skiplist_count(list));
		for (at = skiplist_first(list); at != NULL; at = skiplist_next(at)) {
			const struct edge *edge = container_of(at, const struct edge, node);
			const struct name_slot *slot;

			slot = need_slot(&s->jobs, job_jid(edge->job).ptr);
			assert(slot->text != NULL);
			save_varint(s, slot->id);
		}
	}
}

static void save_workers(struct saver *s)
{
	size_t count;
	struct intern **workers = sort_names(&s->q->worker_names, &count);

	for (size_t i = 0; i < count; i++)
		save_worker(s, workers[i]->user);
	save_byte(s, 0);
	free(workers);
}

static void save_all(struct saver *s)
{
	size_t count;
	struct intern **queues = sort_names(&s->q->queue_names, &count);

	save_varint(s, STATE_VERSION);
	save_options(s);
	save_tracked(s);
	save_limits(s);
	save_recurs(s, queues, count);
	for (size_t i = 0; i < count && !s->failed; i++)
		save_queue(s, queues[i]->user);
	save_byte(s, 0);
	save_groups(s);
	save_jobs(s, &s->q->completed);
	for (size_t i = 0; i < count && !s->failed; i++)
		save_dependencies(s, queues[i]->user);
	save_workers(s);
	save_varint(s, s->q->changes);
	save_number(s, s->q->latest);
	save_number(s, s->q->failure_number);
	save_varint(s, s->q->last_lock);
	if (s->q->last_number > 0) {
		save_byte(s, STATE_NUMBER_MARK);
		save_number(s, s->q->last_number);
	}
	save_byte(s, STATE_END_MARK);
	flush(s);
	free(queues);
}

bool state_save(const struct qless *q, state_write_fn *write, void *arg)
{
	struct saver s = { .q = q, .write = write, .arg = arg };

	s.piece = mem_alloc(STATE_PIECE_BYTES);
	save_all(&s);
	free(s.piece);
	free(s.names.slots);
	free(s.sets.slots);
	free(s.jobs.slots);
	return !s.failed;
}
