#include "keyspace/keyspace.h"

#include <math.h>
#include <stdlib.h>

#include "engine/view.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/num.h"

#define PREFIX_JOB	   STR("ql:j:")
#define PREFIX_RECUR	   STR("ql:r:")
#define PREFIX_QUEUE	   STR("ql:q:")
#define PREFIX_WORKER	   STR("ql:w:")
#define PREFIX_GROUP	   STR("ql:f:")
#define PREFIX_TAG	   STR("ql:t:")
#define PREFIX_STATS_WAIT  STR("ql:s:wait:")
#define PREFIX_STATS_RUN   STR("ql:s:run:")
#define PREFIX_STATS	   STR("ql:s:stats:")
#define SUFFIX_HISTORY	   STR("-history")
#define SUFFIX_NEEDS	   STR("-dependencies")
#define SUFFIX_NEEDED_BY   STR("-dependents")
#define SUFFIX_WORKER_JOBS STR(":jobs")

static const struct qless_str queue_suffixes[] = {
	[VIEW_WORK] = STR_INIT("-work"),	   [VIEW_LOCKS] = STR_INIT("-locks"),
	[VIEW_SCHEDULED] = STR_INIT("-scheduled"), [VIEW_DEPENDS] = STR_INIT("-depends"),
	[VIEW_RECUR] = STR_INIT("-recur"),
};

#define QUEUE_SUFFIX_COUNT (sizeof(queue_suffixes) / sizeof(queue_suffixes[0]))

const char *keyspace_type_name(enum keyspace_type type)
{
	switch (type) {
	case KEYSPACE_HASH:
		return "hash";
	case KEYSPACE_LIST:
		return "list";
	case KEYSPACE_SET:
		return "set";
	case KEYSPACE_ZSET:
		return "zset";
	}
	return "none";
}

/* ---- from a key to what it names ---- */

/* What is behind the prefix. */
static bool strip_prefix(struct qless_str s, struct qless_str prefix, struct qless_str *ret_rest)
{
	if (!str_starts_with(s, prefix))
		return false;
	*ret_rest = str_make(s.ptr + prefix.len, s.len - prefix.len);
	return true;
}

static bool strip_suffix(struct qless_str s, struct qless_str suffix, struct qless_str *ret_rest)
{
	if (s.len < suffix.len ||
	    !str_equal(str_make(s.ptr + s.len - suffix.len, suffix.len), suffix))
		return false;
	*ret_rest = str_make(s.ptr, s.len - suffix.len);
	return true;
}

static bool found_zset(const struct skiplist *list, struct keyspace_key *ret_key)
{
	if (list == NULL || skiplist_count(list) == 0)
		return false;
	ret_key->type = KEYSPACE_ZSET;
	ret_key->kind = KEYSPACE_SORTED;
	ret_key->list = list;
	return true;
}

static bool found_related(const struct skiplist *list, struct keyspace_key *ret_key)
{
	if (!found_zset(list, ret_key))
		return false;
	ret_key->type = KEYSPACE_SET;
	ret_key->kind = KEYSPACE_RELATED;
	return true;
}

static bool found(enum keyspace_type type, enum keyspace_kind kind, struct keyspace_key *ret_key)
{
	ret_key->type = type;
	ret_key->kind = kind;
	return true;
}

static bool find_job_key(const struct qless *q, struct qless_str rest, struct keyspace_key *ret_key)
{
	struct qless_str jid;

	ret_key->job = qless_get(q, rest);
	if (ret_key->job != NULL)
		return found(KEYSPACE_HASH, KEYSPACE_JOB, ret_key);
	if (strip_suffix(rest, SUFFIX_HISTORY, &jid)) {
		ret_key->job = qless_get(q, jid);
		return ret_key->job != NULL && found(KEYSPACE_LIST, KEYSPACE_HISTORY, ret_key);
	}
	if (strip_suffix(rest, SUFFIX_NEEDS, &jid)) {
		ret_key->job = qless_get(q, jid);
		return ret_key->job != NULL &&
		       found_related(view_dependencies(ret_key->job), ret_key);
	}
	if (strip_suffix(rest, SUFFIX_NEEDED_BY, &jid)) {
		ret_key->job = qless_get(q, jid);
		return ret_key->job != NULL &&
		       found_related(view_dependents(ret_key->job), ret_key);
	}
	return false;
}

static bool find_queue_key(const struct qless *q, struct qless_str rest,
			   struct keyspace_key *ret_key)
{
	struct qless_str queue;
	int i;

	for (i = 0; i < (int)QUEUE_SUFFIX_COUNT; i++) {
		if (strip_suffix(rest, queue_suffixes[i], &queue))
			return found_zset(view_queue(q, queue, (enum view_queue_list)i), ret_key);
	}
	return false;
}

static bool has_counts(const struct view_day *day, enum keyspace_kind kind)
{
	switch (kind) {
	case KEYSPACE_STATS_WAIT:
		return day->wait.count > 0;
	case KEYSPACE_STATS_RUN:
		return day->run.count > 0;
	default:
		return day->any_counted;
	}
}

/* <day>:<queue>, the day spelled as the engine does. */
static bool find_stats_key(const struct qless *q, struct qless_str rest, enum keyspace_kind kind,
			   struct keyspace_key *ret_key)
{
	const char *colon = rest.len > 0 ? memchr(rest.ptr, ':', rest.len) : NULL;
	char canonical[NUM_MAX];
	struct view_day day;
	struct qless_str text;
	size_t len;

	if (colon == NULL)
		return false;
	text = str_make(rest.ptr, (size_t)(colon - rest.ptr));
	if (!num_parse_lua(text, &ret_key->day) || !isfinite(ret_key->day))
		return false;
	len = num_format_g14(canonical, ret_key->day);
	if (!str_equal(text, str_make(canonical, len)))
		return false;
	ret_key->queue = str_make(colon + 1, rest.len - text.len - 1);
	if (!view_find_stats_day(q, ret_key->queue, ret_key->day, &day) || !has_counts(&day, kind))
		return false;
	return found(KEYSPACE_HASH, kind, ret_key);
}

static void ignore_name(void *arg, struct qless_str name)
{
	(void)name;
	++*(size_t *)arg;
}

static bool has_failures(const struct qless *q)
{
	size_t count = 0;

	view_each_group(q, ignore_name, &count);
	return count > 0;
}

struct paused {
	const struct qless *engine;
	keyspace_value_fn *visit;
	void *arg;
};

static void visit_if_paused(void *arg, struct qless_str queue)
{
	struct paused *paused = arg;

	if (view_is_paused(paused->engine, queue))
		paused->visit(paused->arg, queue);
}

static void each_paused(const struct qless *q, keyspace_value_fn *visit, void *arg)
{
	struct paused paused = { q, visit, arg };

	view_each_queue(q, visit_if_paused, &paused);
}

static bool has_paused(const struct qless *q)
{
	size_t count = 0;

	each_paused(q, ignore_name, &count);
	return count > 0;
}

static bool has_options(const struct qless *q)
{
	struct qless_option option;
	size_t cursor = 0;

	while (qless_config_next(q, &cursor, &option)) {
		if (option.is_set)
			return true;
	}
	return false;
}

static bool find_single_key(const struct qless *q, struct qless_str key,
			    struct keyspace_key *ret_key)
{
	if (str_equal(key, STR("ql:queues")))
		return found_zset(view_queues(q), ret_key);
	if (str_equal(key, STR("ql:workers")))
		return found_zset(view_workers(q), ret_key);
	if (str_equal(key, STR("ql:completed")))
		return found_zset(view_completed(q), ret_key);
	if (str_equal(key, STR("ql:tracked")))
		return found_zset(view_tracked(q), ret_key);
	if (str_equal(key, STR("ql:tags")))
		return found_zset(view_tags(q), ret_key);
	if (str_equal(key, STR("ql:failures")))
		return has_failures(q) && found(KEYSPACE_SET, KEYSPACE_FAILURES, ret_key);
	if (str_equal(key, STR("ql:paused_queues")))
		return has_paused(q) && found(KEYSPACE_SET, KEYSPACE_PAUSED, ret_key);
	if (str_equal(key, STR("ql:config")))
		return has_options(q) && found(KEYSPACE_HASH, KEYSPACE_CONFIG, ret_key);
	return false;
}

static bool find_group_key(const struct qless *q, struct qless_str group,
			   struct keyspace_key *ret_key)
{
	if (!found_zset(view_group(q, group), ret_key))
		return false;
	return found(KEYSPACE_LIST, KEYSPACE_GROUP, ret_key);
}

static bool find_key(const struct qless *q, struct qless_str key, struct keyspace_key *ret_key)
{
	struct qless_str rest;
	struct qless_str worker;

	if (strip_prefix(key, PREFIX_JOB, &rest))
		return find_job_key(q, rest, ret_key);
	if (strip_prefix(key, PREFIX_QUEUE, &rest))
		return find_queue_key(q, rest, ret_key);
	if (strip_prefix(key, PREFIX_RECUR, &rest)) {
		ret_key->recur = qless_recur_get(q, rest);
		return ret_key->recur != NULL && found(KEYSPACE_HASH, KEYSPACE_RECUR, ret_key);
	}
	if (strip_prefix(key, PREFIX_WORKER, &rest))
		return strip_suffix(rest, SUFFIX_WORKER_JOBS, &worker) &&
		       found_zset(view_worker_jobs(q, worker), ret_key);
	if (strip_prefix(key, PREFIX_GROUP, &rest))
		return find_group_key(q, rest, ret_key);
	if (strip_prefix(key, PREFIX_TAG, &rest))
		return found_zset(view_tag_jobs(q, rest), ret_key);
	if (strip_prefix(key, PREFIX_STATS_WAIT, &rest))
		return find_stats_key(q, rest, KEYSPACE_STATS_WAIT, ret_key);
	if (strip_prefix(key, PREFIX_STATS_RUN, &rest))
		return find_stats_key(q, rest, KEYSPACE_STATS_RUN, ret_key);
	if (strip_prefix(key, PREFIX_STATS, &rest))
		return find_stats_key(q, rest, KEYSPACE_STATS_COUNTERS, ret_key);
	return find_single_key(q, key, ret_key);
}

bool keyspace_find(const struct qless *q, struct qless_str key, struct keyspace_key *ret_key)
{
	struct keyspace_key found_key = { .engine = q };

	if (!find_key(q, key, &found_key))
		return false;
	*ret_key = found_key;
	return true;
}

/* ---- all keys ---- */

/* Texts one behind the other, to be sorted. */
struct texts {
	const struct qless *engine;
	struct buf bytes;
	size_t *starts;
	size_t count;
	size_t cap;
};

static void texts_init(struct texts *t, const struct qless *q)
{
	*t = (struct texts){ .engine = q };
	buf_init(&t->bytes, BUF_NO_MAX);
}

static void texts_done(struct texts *t)
{
	buf_done(&t->bytes);
	free(t->starts);
}

static void begin_text(struct texts *t)
{
	if (t->count + 1 >= t->cap) {
		t->cap = t->cap == 0 ? 64 : 2 * t->cap;
		t->starts = mem_realloc_array(t->starts, t->cap, sizeof(*t->starts));
	}
	t->starts[t->count++] = t->bytes.len;
	t->starts[t->count] = t->bytes.len;
}

static void add_part(struct texts *t, struct qless_str part)
{
	buf_append_str(&t->bytes, part);
	t->starts[t->count] = t->bytes.len;
}

static void add_text(void *arg, struct qless_str text)
{
	begin_text(arg);
	add_part(arg, text);
}

/* Unless there is a job whose key is the same. */
static void add_companion(struct texts *t, struct qless_str jid, struct qless_str suffix)
{
	size_t start;

	begin_text(t);
	add_part(t, PREFIX_JOB);
	start = t->bytes.len;
	add_part(t, jid);
	add_part(t, suffix);
	if (qless_get(t->engine, str_make(buf_data(&t->bytes) + start, t->bytes.len - start)) ==
	    NULL)
		return;
	t->count--;
	buf_truncate(&t->bytes, t->starts[t->count]);
}

static void add_job(void *arg, struct qless_str jid)
{
	struct texts *t = arg;
	const struct qless_job *job = qless_get(t->engine, jid);

	add_text(t, PREFIX_JOB);
	add_part(t, jid);
	add_companion(t, jid, SUFFIX_HISTORY);
	if (view_dependencies(job) != NULL)
		add_companion(t, jid, SUFFIX_NEEDS);
	if (view_dependents(job) != NULL)
		add_companion(t, jid, SUFFIX_NEEDED_BY);
}

static void add_recur(void *arg, struct qless_str jid)
{
	add_text(arg, PREFIX_RECUR);
	add_part(arg, jid);
}

static void add_stats(struct texts *t, struct qless_str prefix, double day, struct qless_str queue)
{
	char text[NUM_MAX];
	size_t len = num_format_g14(text, day);

	add_text(t, prefix);
	add_part(t, str_make(text, len));
	add_part(t, STR(":"));
	add_part(t, queue);
}

static void add_queue(void *arg, struct qless_str queue)
{
	struct texts *t = arg;
	struct view_day day;
	int i;

	for (i = 0; i < (int)QUEUE_SUFFIX_COUNT; i++) {
		const struct skiplist *list = view_queue(t->engine, queue, (enum view_queue_list)i);

		if (skiplist_count(list) == 0)
			continue;
		add_text(t, PREFIX_QUEUE);
		add_part(t, queue);
		add_part(t, queue_suffixes[i]);
	}
	for (i = 0; view_stats_day(t->engine, queue, (size_t)i, &day); i++) {
		if (has_counts(&day, KEYSPACE_STATS_WAIT))
			add_stats(t, PREFIX_STATS_WAIT, day.day, queue);
		if (has_counts(&day, KEYSPACE_STATS_RUN))
			add_stats(t, PREFIX_STATS_RUN, day.day, queue);
		if (has_counts(&day, KEYSPACE_STATS_COUNTERS))
			add_stats(t, PREFIX_STATS, day.day, queue);
	}
}

static void add_worker(void *arg, struct qless_str worker)
{
	struct texts *t = arg;

	if (skiplist_count(view_worker_jobs(t->engine, worker)) == 0)
		return;
	add_text(t, PREFIX_WORKER);
	add_part(t, worker);
	add_part(t, SUFFIX_WORKER_JOBS);
}

static void add_group(void *arg, struct qless_str group)
{
	add_text(arg, PREFIX_GROUP);
	add_part(arg, group);
}

static void add_tag(void *arg, struct qless_str tag)
{
	add_text(arg, PREFIX_TAG);
	add_part(arg, tag);
}

static void add_singles(struct texts *t)
{
	static const struct qless_str singles[] = {
		STR_INIT("ql:queues"),	STR_INIT("ql:workers"),	      STR_INIT("ql:completed"),
		STR_INIT("ql:tracked"), STR_INIT("ql:tags"),	      STR_INIT("ql:failures"),
		STR_INIT("ql:config"),	STR_INIT("ql:paused_queues"),
	};
	struct keyspace_key key;
	size_t i;

	for (i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
		if (keyspace_find(t->engine, singles[i], &key))
			add_text(t, singles[i]);
	}
}

static void add_all(struct texts *t)
{
	view_each_job(t->engine, add_job, t);
	view_each_recur(t->engine, add_recur, t);
	view_each_queue(t->engine, add_queue, t);
	view_each_worker(t->engine, add_worker, t);
	view_each_group(t->engine, add_group, t);
	view_each_tag(t->engine, add_tag, t);
	add_singles(t);
}

static int compare_texts(const void *a, const void *b)
{
	return str_compare(*(const struct qless_str *)a, *(const struct qless_str *)b);
}

static void each_sorted(const struct texts *t, keyspace_value_fn *visit, void *arg)
{
	struct qless_str *items = mem_realloc_array(NULL, t->count + 1, sizeof(*items));
	size_t i;

	for (i = 0; i < t->count; i++)
		items[i] = str_make(buf_data(&t->bytes) + t->starts[i],
				    t->starts[i + 1] - t->starts[i]);
	qsort(items, t->count, sizeof(*items), compare_texts);
	for (i = 0; i < t->count; i++)
		visit(arg, items[i]);
	free(items);
}

void keyspace_each_key(const struct qless *q, keyspace_value_fn *visit, void *arg)
{
	struct texts texts;

	texts_init(&texts, q);
	add_all(&texts);
	if (texts.count > 0)
		each_sorted(&texts, visit, arg);
	texts_done(&texts);
}

size_t keyspace_count(const struct qless *q)
{
	struct texts texts;
	size_t count;

	texts_init(&texts, q);
	add_all(&texts);
	count = texts.count;
	texts_done(&texts);
	return count;
}

/* ---- hashes ---- */

struct fields {
	keyspace_field_fn *visit;
	void *arg;
	struct buf text;
};

static void field(struct fields *f, struct qless_str name, struct qless_str value)
{
	f->visit(f->arg, name, value);
}

static void field_number(struct fields *f, struct qless_str name, double value)
{
	char text[NUM_MAX];
	size_t len = num_format_g17(text, value);

	field(f, name, str_make(text, len));
}

static void field_f20(struct fields *f, struct qless_str name, double value)
{
	char text[NUM_F20_MAX];
	size_t len = num_format_f20(text, value);

	field(f, name, str_make(text, len));
}

static void field_integer(struct fields *f, struct qless_str name, int64_t value)
{
	char text[NUM_MAX];
	size_t len = num_format_i64(text, value);

	field(f, name, str_make(text, len));
}

static void add_list_item(struct buf *b, struct qless_str item)
{
	buf_append_char(b, b->len == 0 ? '[' : ',');
	json_append_string(b, item);
}

/* The list that is in f->text; an empty one reads as an empty object. */
static void field_list(struct fields *f, struct qless_str name)
{
	buf_append_str(&f->text, f->text.len == 0 ? STR("{}") : STR("]"));
	field(f, name, buf_str(&f->text));
}

static void append_failure(struct buf *b, const struct qless_failure *failure)
{
	buf_clear(b);
	buf_append_str(b, STR("{\"group\":"));
	json_append_string(b, failure->group);
	buf_append_str(b, STR(",\"message\":"));
	json_append_string(b, failure->message);
	buf_append_str(b, STR(",\"when\":"));
	json_append_number(b, failure->when);
	buf_append_str(b, STR(",\"worker\":"));
	json_append_string(b, failure->worker);
	buf_append_char(b, '}');
}

static void each_job_field(struct fields *f, const struct qless_job *job)
{
	struct qless_job_info info;
	struct view_job view;
	struct qless_str tag;
	size_t cursor = 0;

	qless_job_read(job, &info);
	view_job(job, &view);
	field(f, STR("jid"), info.jid);
	field(f, STR("klass"), info.klass);
	field(f, STR("data"), info.data);
	field_number(f, STR("priority"), info.priority);
	while (qless_job_next_tag(job, &cursor, &tag))
		add_list_item(&f->text, tag);
	field_list(f, STR("tags"));
	field(f, STR("state"), qless_state_text(info.state));
	field(f, STR("worker"), info.worker);
	if (info.state == QLESS_FAILED)
		field(f, STR("expires"), STR(""));
	else
		field_number(f, STR("expires"), info.expires);
	field(f, STR("queue"), info.queue);
	field_number(f, STR("retries"), info.retries);
	field_number(f, STR("remaining"), info.remaining);
	field_f20(f, STR("time"), info.time);
	if (info.has_failure) {
		append_failure(&f->text, &info.failure);
		field(f, STR("failure"), buf_str(&f->text));
	} else if (view.failure_cleared) {
		field(f, STR("failure"), STR("{}"));
	}
	if (info.spawned_from.ptr != NULL)
		field(f, STR("spawned_from_jid"), info.spawned_from);
	if (view.is_warned)
		field(f, STR("grace"), STR("1"));
	if (!isnan(view.due))
		field_number(f, STR("scheduled"), view.due);
}

static void each_recur_field(struct fields *f, const struct qless_recur *recur)
{
	struct qless_recur_info info;
	struct qless_str tag;
	size_t cursor = 0;

	qless_recur_read(recur, &info);
	field(f, STR("jid"), info.jid);
	field(f, STR("klass"), info.klass);
	field(f, STR("data"), info.data);
	field_number(f, STR("priority"), info.priority);
	while (qless_recur_next_tag(recur, &cursor, &tag))
		add_list_item(&f->text, tag);
	field_list(f, STR("tags"));
	field(f, STR("state"), STR("recur"));
	field(f, STR("queue"), info.queue);
	field(f, STR("type"), STR("interval"));
	field_integer(f, STR("count"), (int64_t)info.count);
	field_number(f, STR("interval"), info.interval);
	field_number(f, STR("retries"), info.retries);
	field_number(f, STR("backlog"), info.backlog);
}

static void each_option(struct fields *f, const struct qless *q)
{
	struct qless_option option;
	size_t cursor = 0;

	while (qless_config_next(q, &cursor, &option)) {
		if (option.is_set)
			field(f, option.name, option.value);
	}
}

static void each_series_field(struct fields *f, const struct view_series *series)
{
	size_t i;

	field_number(f, STR("total"), series->count);
	field_number(f, STR("mean"), series->mean);
	field_number(f, STR("vk"), series->vk);
	for (i = 0; i < series->bucket_count; i++) {
		struct view_bucket bucket = view_bucket(series, i);
		char name[1 + NUM_MAX];
		size_t len = num_format_g14(name + 1, bucket.value);

		name[0] = bucket.unit;
		field_integer(f, str_make(name, len + 1), (int64_t)bucket.count);
	}
}

static void each_counter(struct fields *f, const struct view_day *day)
{
	static const struct qless_str names[VIEW_COUNTERS] = {
		[VIEW_RETRIES] = STR_INIT("retries"),
		[VIEW_FAILURES] = STR_INIT("failures"),
		[VIEW_FAILED] = STR_INIT("failed"),
	};
	int i;

	for (i = 0; i < VIEW_COUNTERS; i++) {
		if (day->counted[i])
			field_integer(f, names[i], day->counters[i]);
	}
}

void keyspace_each_field(const struct keyspace_key *key, keyspace_field_fn *visit, void *arg)
{
	struct fields f = { .visit = visit, .arg = arg, .text = BUF_INIT(BUF_NO_MAX) };
	struct view_day day = { 0 };

	view_find_stats_day(key->engine, key->queue, key->day, &day);
	switch (key->kind) {
	case KEYSPACE_JOB:
		each_job_field(&f, key->job);
		break;
	case KEYSPACE_RECUR:
		each_recur_field(&f, key->recur);
		break;
	case KEYSPACE_CONFIG:
		each_option(&f, key->engine);
		break;
	case KEYSPACE_STATS_WAIT:
		each_series_field(&f, &day.wait);
		break;
	case KEYSPACE_STATS_RUN:
		each_series_field(&f, &day.run);
		break;
	case KEYSPACE_STATS_COUNTERS:
		each_counter(&f, &day);
		break;
	default:
		break;
	}
	buf_done(&f.text);
}

/* ---- lists ---- */

size_t keyspace_list_length(const struct keyspace_key *key)
{
	struct view_job view;

	if (key->kind == KEYSPACE_GROUP)
		return skiplist_count(key->list);
	view_job(key->job, &view);
	return view.history_count;
}

/* The members that an entry has beside time and event. */
static void append_event_item(struct buf *b, const struct qless_event *event)
{
	switch (event->kind) {
	case QLESS_EVENT_PUT:
		buf_append_str(b, STR(",{\"q\":"));
		json_append_string(b, event->queue);
		buf_append_char(b, '}');
		break;
	case QLESS_EVENT_POPPED:
		buf_append_str(b, STR(",{\"worker\":"));
		json_append_string(b, event->worker);
		buf_append_char(b, '}');
		break;
	case QLESS_EVENT_FAILED:
		buf_append_str(b, STR(",{\"group\":"));
		json_append_string(b, event->group);
		buf_append_str(b, STR(",\"worker\":"));
		json_append_string(b, event->worker);
		buf_append_char(b, '}');
		break;
	case QLESS_EVENT_EXHAUSTED:
		buf_append_str(b, STR(",{\"group\":"));
		json_append_string(b, event->group);
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
		json_append_string(&text, event.what);
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

void keyspace_each_member(const struct keyspace_key *key, keyspace_value_fn *visit, void *arg)
{
	struct texts texts;
	struct skipnode *node;

	if (key->kind == KEYSPACE_RELATED) {
		for (node = skiplist_first(key->list); node != NULL; node = skiplist_next(node))
			visit(arg, key->list->member(node));
		return;
	}
	texts_init(&texts, key->engine);
	if (key->kind == KEYSPACE_PAUSED)
		each_paused(key->engine, add_text, &texts);
	else
		view_each_group(key->engine, add_text, &texts);
	if (texts.count > 0)
		each_sorted(&texts, visit, arg);
	texts_done(&texts);
}

size_t keyspace_set_size(const struct keyspace_key *key)
{
	size_t count = 0;

	if (key->kind == KEYSPACE_RELATED)
		return skiplist_count(key->list);
	keyspace_each_member(key, ignore_name, &count);
	return count;
}

bool keyspace_set_has(const struct keyspace_key *key, struct qless_str member)
{
	if (key->kind == KEYSPACE_RELATED)
		return skiplist_find(key->list, 0, member) != NULL;
	if (key->kind == KEYSPACE_PAUSED)
		return view_is_paused(key->engine, member);
	return view_group(key->engine, member) != NULL;
}

/* ---- sorted sets ---- */

bool keyspace_zset_score(const struct keyspace_key *key, struct qless_str member, double *ret_score)
{
	const struct skipnode *node;

	for (node = skiplist_first(key->list); node != NULL; node = skiplist_next(node)) {
		if (!str_equal(key->list->member(node), member))
			continue;
		*ret_score = node->score;
		return true;
	}
	return false;
}
