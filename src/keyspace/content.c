/*
 * The content of keys.
 */
#include "keyspace/keyspace.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/view.h"
#include "keyspace/names.h"
#include "util/base64.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/num.h"

/* ---- hashes ---- */

/* A walk over the fields: all of them, or a search for one. A search formats no other value. */
struct fields {
	const struct qless_str *only; /* the field to find, or NULL for all */
	bool names_only;	      /* values are not needed, and stay empty */
	keyspace_field_fn *visit;
	void *arg;
	struct buf text;
};

/* Whether to visit the value of the field. */
static bool wants(const struct fields *f, struct qless_str name)
{
	if (f->only != NULL && !str_equal(*f->only, name))
		return false;
	if (f->names_only)
		f->visit(f->arg, name, STR(""));
	return !f->names_only;
}

static void field(struct fields *f, struct qless_str name, struct qless_str value)
{
	if (wants(f, name))
		f->visit(f->arg, name, value);
}

static void field_number(struct fields *f, struct qless_str name, double value)
{
	char text[NUM_MAX];

	if (wants(f, name))
		f->visit(f->arg, name, str_make(text, num_format_g17(text, value)));
}

static void field_f20(struct fields *f, struct qless_str name, double value)
{
	char text[NUM_F20_MAX];

	if (wants(f, name))
		f->visit(f->arg, name, str_make(text, num_format_f20(text, value)));
}

static void field_integer(struct fields *f, struct qless_str name, int64_t value)
{
	char text[NUM_MAX];

	if (wants(f, name))
		f->visit(f->arg, name, str_make(text, num_format_i64(text, value)));
}

static void add_list_item(struct buf *b, struct qless_str item)
{
	buf_append_char(b, b->len == 0 ? '[' : ',');
	json_append_stored_string(b, item);
}

/* Close the list of tags in JSON. Without tags it is an empty object. */
static void end_list(struct buf *b)
{
	buf_append_str(b, b->len == 0 ? STR("{}") : STR("]"));
}

static void field_job_tags(struct fields *f, const struct qless_job *job)
{
	struct qless_str tag;
	size_t cursor = 0;

	if (!wants(f, NAMES_FIELD(TAGS)))
		return;
	while (qless_job_next_tag(job, &cursor, &tag))
		add_list_item(&f->text, tag);
	end_list(&f->text);
	f->visit(f->arg, NAMES_FIELD(TAGS), buf_str(&f->text));
}

static void field_recur_tags(struct fields *f, const struct qless_recur *recur)
{
	struct qless_str tag;
	size_t cursor = 0;

	if (!wants(f, NAMES_FIELD(TAGS)))
		return;
	while (qless_recur_next_tag(recur, &cursor, &tag))
		add_list_item(&f->text, tag);
	end_list(&f->text);
	f->visit(f->arg, NAMES_FIELD(TAGS), buf_str(&f->text));
}

/* Bytes appear as JSON, as in replies. */
static void field_data(struct fields *f, struct qless_str data, bool is_raw)
{
	if (!is_raw) {
		field(f, NAMES_FIELD(DATA), data);
		return;
	}
	if (!wants(f, NAMES_FIELD(DATA)))
		return;
	buf_clear(&f->text);
	base64_append_json(&f->text, data);
	f->visit(f->arg, NAMES_FIELD(DATA), buf_str(&f->text));
	buf_clear(&f->text);
}

static void field_failure(struct fields *f, const struct qless_failure *failure)
{
	struct buf *b = &f->text;

	if (!wants(f, NAMES_FIELD(FAILURE)))
		return;
	buf_clear(b);
	buf_append_str(b, STR("{\"group\":"));
	json_append_stored_string(b, failure->group);
	buf_append_str(b, STR(",\"message\":"));
	json_append_stored_string(b, failure->message);
	buf_append_str(b, STR(",\"when\":"));
	json_append_number(b, failure->when);
	buf_append_str(b, STR(",\"worker\":"));
	json_append_stored_string(b, failure->worker);
	buf_append_char(b, '}');
	f->visit(f->arg, NAMES_FIELD(FAILURE), buf_str(b));
}

static void each_job_field(struct fields *f, const struct qless_job *job)
{
	struct qless_job_info info;
	struct view_job view;

	qless_job_read(job, &info);
	view_job(job, &view);
	field(f, NAMES_FIELD(JID), info.jid);
	field(f, NAMES_FIELD(KLASS), info.klass);
	field_data(f, info.data, info.is_raw);
	field_number(f, NAMES_FIELD(PRIORITY), info.priority);
	field_job_tags(f, job);
	field(f, NAMES_FIELD(STATE), qless_state_text(info.state));
	field(f, NAMES_FIELD(WORKER), info.worker);
	if (info.state == QLESS_FAILED)
		field(f, NAMES_FIELD(EXPIRES), STR(""));
	else
		field_number(f, NAMES_FIELD(EXPIRES), info.expires);
	field(f, NAMES_FIELD(QUEUE), info.queue);
	field_number(f, NAMES_FIELD(RETRIES), info.retries);
	field_number(f, NAMES_FIELD(REMAINING), info.remaining);
	field_f20(f, NAMES_FIELD(TIME), info.time);
	if (info.has_failure)
		field_failure(f, &info.failure);
	else if (view.failure_cleared)
		field(f, NAMES_FIELD(FAILURE), STR("{}"));
	if (info.spawned_from.ptr != NULL)
		field(f, NAMES_FIELD(SPAWNED_FROM), info.spawned_from);
	if (view.is_warned)
		field(f, NAMES_FIELD(GRACE), STR("1"));
	if (!isnan(view.due))
		field_number(f, NAMES_FIELD(SCHEDULED), view.due);
}

static void each_schedule_field(struct fields *f, const struct qless_schedule *schedule)
{
	field(f, NAMES_FIELD(CRON), schedule->cron);
	field(f, NAMES_FIELD(TZ), schedule->zone);
	field(f, NAMES_FIELD(RULE), schedule->rule);
	field(f, NAMES_FIELD(MISSED), qless_missed_text(schedule->missed));
	field(f, NAMES_FIELD(OVERLAP), qless_overlap_text(schedule->overlap));
}

static void each_recur_field(struct fields *f, const struct qless_recur *recur)
{
	struct qless_recur_info info;

	qless_recur_read(recur, &info);
	field(f, NAMES_FIELD(JID), info.jid);
	field(f, NAMES_FIELD(KLASS), info.klass);
	field_data(f, info.data, info.terms != NULL && info.terms->is_raw);
	field_number(f, NAMES_FIELD(PRIORITY), info.priority);
	field_recur_tags(f, recur);
	field(f, NAMES_FIELD(STATE), STR("recur"));
	field(f, NAMES_FIELD(QUEUE), info.queue);
	field(f, NAMES_FIELD(TYPE), info.has_schedule ? STR("cron") : STR("interval"));
	field_integer(f, NAMES_FIELD(COUNT), (int64_t)info.count);
	field_number(f, NAMES_FIELD(INTERVAL), info.interval);
	field_number(f, NAMES_FIELD(RETRIES), info.retries);
	field_number(f, NAMES_FIELD(BACKLOG), info.backlog);
	if (info.has_schedule)
		each_schedule_field(f, &info.schedule);
}

static void each_option(struct fields *f, const struct qless *q)
{
	struct qless_option option;
	size_t cursor = 0;

	if (f->only != NULL) {
		if (qless_config_get(q, *f->only, &option) && option.is_set)
			field(f, option.name, option.value);
		return;
	}
	while (qless_config_next(q, &cursor, &option)) {
		if (option.is_set)
			field(f, option.name, option.value);
	}
}

static void each_series_field(struct fields *f, const struct view_series *series)
{
	size_t i;

	field_number(f, STR(NAMES_SERIES_TOTAL), series->count);
	field_number(f, STR(NAMES_SERIES_MEAN), series->mean);
	field_number(f, STR(NAMES_SERIES_VK), series->vk);
	for (i = 0; i < series->bucket_count; i++) {
		struct view_bucket bucket = view_bucket(series, i);
		char name[1 + NUM_MAX];
		size_t len;

		if (f->only != NULL && (f->only->len == 0 || f->only->ptr[0] != bucket.unit))
			continue;
		len = num_format_g14(name + 1, bucket.value);
		name[0] = bucket.unit;
		field_integer(f, str_make(name, len + 1), (int64_t)bucket.count);
	}
}

static void each_counter(struct fields *f, const struct view_day *day)
{
	static const struct qless_str names[VIEW_COUNTERS] = {
		[VIEW_RETRIES] = STR_INIT(NAMES_COUNTER_RETRIES),
		[VIEW_FAILURES] = STR_INIT(NAMES_COUNTER_FAILURES),
		[VIEW_FAILED] = STR_INIT(NAMES_COUNTER_FAILED),
	};
	int i;

	for (i = 0; i < VIEW_COUNTERS; i++) {
		if (day->counted[i])
			field_integer(f, names[i], day->counters[i]);
	}
}

static void walk_fields(const struct keyspace_key *key, struct fields *f)
{
	struct view_day day = { 0 };

	assert(key->type == KEYSPACE_HASH);
	buf_init(&f->text, BUF_NO_MAX);
	view_find_stats_day(key->engine, key->name, key->day, &day);
	switch (key->kind) {
	case KEYSPACE_JOB:
		each_job_field(f, key->job);
		break;
	case KEYSPACE_RECUR:
		each_recur_field(f, key->recur);
		break;
	case KEYSPACE_CONFIG:
		each_option(f, key->engine);
		break;
	case KEYSPACE_STATS_WAIT:
		each_series_field(f, &day.wait);
		break;
	case KEYSPACE_STATS_RUN:
		each_series_field(f, &day.run);
		break;
	case KEYSPACE_STATS_COUNTERS:
		each_counter(f, &day);
		break;
	default:
		break;
	}
	buf_done(&f->text);
}

void keyspace_each_field(const struct keyspace_key *key, keyspace_field_fn *visit, void *arg)
{
	struct fields f = { .visit = visit, .arg = arg };

	walk_fields(key, &f);
}

void keyspace_each_field_name(const struct keyspace_key *key, keyspace_field_fn *visit, void *arg)
{
	struct fields f = { .names_only = true, .visit = visit, .arg = arg };

	walk_fields(key, &f);
}

void keyspace_find_field(const struct keyspace_key *key, struct qless_str name,
			 keyspace_field_fn *visit, void *arg)
{
	struct fields f = { .only = &name, .visit = visit, .arg = arg };

	walk_fields(key, &f);
}

/* ---- lists ---- */

size_t keyspace_list_length(const struct keyspace_key *key)
{
	struct view_job view;

	assert(key->type == KEYSPACE_LIST);
	if (key->kind == KEYSPACE_GROUP)
		return skiplist_count(key->list);
	view_job(key->job, &view);
	return view.history_count;
}

/* The members of an entry after its time and event. */
static void append_event_item(struct buf *b, const struct qless_event *event)
{
	switch (event->kind) {
	case QLESS_EVENT_PUT:
		buf_append_str(b, STR(",{\"q\":"));
		json_append_stored_string(b, event->queue);
		buf_append_char(b, '}');
		break;
	case QLESS_EVENT_POPPED:
		buf_append_str(b, STR(",{\"worker\":"));
		json_append_stored_string(b, event->worker);
		buf_append_char(b, '}');
		break;
	case QLESS_EVENT_FAILED:
		buf_append_str(b, STR(",{\"group\":"));
		json_append_stored_string(b, event->group);
		buf_append_str(b, STR(",\"worker\":"));
		json_append_stored_string(b, event->worker);
		buf_append_char(b, '}');
		break;
	case QLESS_EVENT_EXHAUSTED:
		buf_append_str(b, STR(",{\"group\":"));
		json_append_stored_string(b, event->group);
		buf_append_char(b, '}');
		break;
	case QLESS_EVENT_LOG:
		if (event->item.ptr == NULL)
			break;
		buf_append_char(b, ',');
		buf_append_str(b, event->item);
		break;
	case QLESS_EVENT_DONE:
	case QLESS_EVENT_TIMED_OUT:
		break;
	}
}

static void each_event(const struct keyspace_key *key, size_t first, size_t count,
		       keyspace_value_fn *visit, void *arg)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_event event;
	size_t cursor = 0;
	size_t i;

	for (i = 0; count > 0 && qless_job_next_event(key->job, &cursor, &event); i++) {
		if (i < first)
			continue;
		buf_clear(&text);
		buf_append_char(&text, '[');
		json_append_number(&text, event.when);
		buf_append_char(&text, ',');
		json_append_stored_string(&text, event.what);
		append_event_item(&text, &event);
		buf_append_char(&text, ']');
		visit(arg, buf_str(&text));
		count--;
	}
	buf_done(&text);
}

void keyspace_each_element(const struct keyspace_key *key, size_t first, size_t count,
			   keyspace_value_fn *visit, void *arg)
{
	struct skipnode *node;

	assert(key->type == KEYSPACE_LIST);
	if (key->kind == KEYSPACE_HISTORY) {
		each_event(key, first, count, visit, arg);
		return;
	}
	if (first >= skiplist_count(key->list))
		return;
	node = skiplist_at(key->list, skiplist_count(key->list) - 1 - (uint32_t)first);
	for (; count > 0 && node != NULL; count--, node = skiplist_prev(node))
		visit(arg, key->list->member(node));
}

/* ---- sets ---- */

/* Names to be sorted. They belong to the engine, which does not change meanwhile. */
struct names {
	const struct qless *engine;
	struct qless_str *items;
	size_t count;
	size_t cap;
};

static void add_name(void *arg, struct qless_str name)
{
	struct names *names = arg;

	names->items = mem_grow(names->items, &names->cap, names->count + 1, sizeof(*names->items));
	names->items[names->count++] = name;
}

static void add_if_paused(void *arg, struct qless_str queue)
{
	const struct names *names = arg;

	if (view_is_paused(names->engine, queue))
		add_name(arg, queue);
}

static int compare_names(const void *a, const void *b)
{
	return str_compare(*(const struct qless_str *)a, *(const struct qless_str *)b);
}

void keyspace_each_member(const struct keyspace_key *key, size_t max, keyspace_value_fn *visit,
			  void *arg)
{
	struct names names = { .engine = key->engine };
	struct skipnode *node;
	size_t i;

	assert(key->type == KEYSPACE_SET);
	if (key->kind == KEYSPACE_RELATED) {
		node = skiplist_first(key->list);
		for (; max > 0 && node != NULL; max--, node = skiplist_next(node))
			visit(arg, key->list->member(node));
		return;
	}
	if (key->kind == KEYSPACE_PAUSED)
		view_each(key->engine, VIEW_QUEUES, add_if_paused, &names);
	else
		view_each(key->engine, VIEW_GROUPS, add_name, &names);
	if (names.count > 0)
		qsort(names.items, names.count, sizeof(*names.items), compare_names);
	for (i = 0; i < names.count && i < max; i++)
		visit(arg, names.items[i]);
	free(names.items);
}

size_t keyspace_set_size(const struct keyspace_key *key)
{
	struct view_counts counts;

	assert(key->type == KEYSPACE_SET);
	if (key->kind == KEYSPACE_RELATED)
		return skiplist_count(key->list);
	view_counts(key->engine, &counts);
	return key->kind == KEYSPACE_PAUSED ? counts.paused_queues : counts.groups;
}

bool keyspace_set_has(const struct keyspace_key *key, struct qless_str member)
{
	assert(key->type == KEYSPACE_SET);
	if (key->kind == KEYSPACE_RELATED)
		return skiplist_find(key->list, 0, member) != NULL;
	if (key->kind == KEYSPACE_PAUSED)
		return view_is_paused(key->engine, member);
	return view_group(key->engine, member) != NULL;
}

/* ---- sorted sets ---- */

const struct skipnode *keyspace_zset_find(const struct keyspace_key *key, struct qless_str member)
{
	const struct qless *q = key->engine;

	assert(key->type == KEYSPACE_ZSET);
	switch (key->kind) {
	case KEYSPACE_JOBS:
		return view_find_job(q, key->list, member);
	case KEYSPACE_QUEUE_RECURS:
		return view_find_recur(q, key->list, member);
	case KEYSPACE_WORKER_JOBS:
		return view_find_worker_job(q, key->name, member);
	case KEYSPACE_TAG_JOBS:
		return view_find_tag_job(q, key->name, member);
	case KEYSPACE_QUEUES:
		return view_find_queue(q, member);
	case KEYSPACE_WORKERS:
		return view_find_worker(q, member);
	case KEYSPACE_TRACKED:
		return view_find_tracked(q, member);
	case KEYSPACE_TAGS:
		return view_find_tag(q, member);
	default:
		return NULL;
	}
}

/* ---- any ---- */

static void hash_value(void *arg, struct qless_str value)
{
	uint64_t *hash = arg;

	*hash = hash_bytes(*hash, value);
}

static void hash_field(void *arg, struct qless_str field, struct qless_str value)
{
	hash_value(arg, field);
	hash_value(arg, value);
}

static void hash_order(uint64_t *hash, const struct skipmerge *order)
{
	const struct skipnode *node;

	for (node = skipmerge_first(order); node != NULL; node = skipmerge_next(order, node)) {
		hash_value(hash, skipmerge_member(order, node));
		hash_value(hash, str_make((const char *)&node->score, sizeof(node->score)));
	}
}

static size_t count_elements(const struct keyspace_key *key)
{
	switch (key->type) {
	case KEYSPACE_HASH:
		return 0; /* a hash never has as many fields */
	case KEYSPACE_LIST:
		return keyspace_list_length(key);
	case KEYSPACE_SET:
		return keyspace_set_size(key);
	case KEYSPACE_ZSET:
		return skipmerge_count(&key->order);
	}
	return 0;
}

uint64_t keyspace_fingerprint(const struct qless *q, struct qless_str name)
{
	struct keyspace_key key;
	uint64_t hash, changes;

	if (!keyspace_find(q, name, &key))
		return 0;
	hash = 1 + (uint64_t)key.type;
	if (count_elements(&key) > KEYSPACE_FINGERPRINT_MAX) {
		changes = qless_changes(q);
		hash_value(&hash, str_make((const char *)&changes, sizeof(changes)));
		return hash;
	}
	switch (key.type) {
	case KEYSPACE_HASH:
		keyspace_each_field(&key, hash_field, &hash);
		break;
	case KEYSPACE_LIST:
		keyspace_each_element(&key, 0, SIZE_MAX, hash_value, &hash);
		break;
	case KEYSPACE_SET:
		keyspace_each_member(&key, SIZE_MAX, hash_value, &hash);
		break;
	case KEYSPACE_ZSET:
		hash_order(&hash, &key.order);
		break;
	}
	return hash;
}
