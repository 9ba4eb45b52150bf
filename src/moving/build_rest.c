/*
 * Building everything that refers to jobs. The name of each key determines what it is.
 */
#include "moving/build_int.h"

#include <stdlib.h>

#include "util/mem.h"
#include "util/num.h"

/* The largest integer up to which a double is exact. */
#define COUNT_MAX (UINT64_C(1) << 53)

void build_options(struct build *b)
{
	const struct key *key = keys_find(b->keys, STR(NAMES_CONFIG));
	struct qless_str name, value;
	size_t at = 0;

	if (key == NULL || key->type != KEY_HASH)
		return;
	while (key_next_pair(key, &at, &name, &value)) {
		if (qless_config_set(b->engine, 0, name, value) < 0)
			findings_add(b->findings, FINDING_OPTION, key->name, name);
	}
}

void build_tracked(struct build *b)
{
	const struct key *key = keys_find(b->keys, STR(NAMES_TRACKED));
	struct qless_str jid, time;
	size_t at = 0;

	if (key == NULL || key->type != KEY_ZSET)
		return;
	while (key_next_pair(key, &at, &jid, &time)) {
		double score = build_score(time);

		if (!isfinite(score)) {
			findings_add(b->findings, FINDING_FIELD, key->name, jid);
			score = 0;
		}
		if (build_is_name(b, key->name, jid))
			import_tracked(&b->import, jid, score);
	}
}

/* ---- by kind of key ---- */

static void build_queues(struct build *b, const struct key *key)
{
	struct qless_str name, time;
	size_t at = 0;

	while (key_next_pair(key, &at, &name, &time)) {
		if (build_is_name(b, key->name, name))
			import_queue(&b->import, name, build_score(time));
	}
}

static void build_workers(struct build *b, const struct key *key)
{
	struct qless_str name, time;
	size_t at = 0;

	while (key_next_pair(key, &at, &name, &time)) {
		if (build_is_name(b, key->name, name))
			import_worker(&b->import, name, build_score(time));
	}
}

static void build_paused(struct build *b, const struct key *key)
{
	struct qless_str name;
	size_t at = 0;

	while (key_next(key, &at, &name)) {
		if (build_is_name(b, key->name, name))
			import_paused(&b->import, name);
	}
}

static void build_holdings(struct build *b, const struct key *key, struct qless_str worker)
{
	struct qless_str jid, expires;
	size_t at = 0;

	if (!build_is_name(b, key->name, worker))
		return;
	while (key_next_pair(key, &at, &jid, &expires)) {
		if (!build_is_name(b, key->name, jid))
			continue;
		if (!import_holding(&b->import, worker, jid, build_score(expires)))
			findings_add(b->findings, FINDING_LOCK, key->name, jid);
	}
}

static void build_tag(struct build *b, const struct key *key, struct qless_str tag)
{
	struct qless_str jid, time;
	const struct skiplist *jobs;
	size_t at = 0, known = 0;

	while (key_next_pair(key, &at, &jid, &time)) {
		double score = build_score(time);

		if (isfinite(score) && import_tag_time(&b->import, tag, jid, score))
			known++;
		else
			findings_add(b->findings, FINDING_TAG, key->name, jid);
	}
	jobs = view_tag_jobs(b->engine, tag);
	if (jobs != NULL && skiplist_count(jobs) != known)
		findings_add(b->findings, FINDING_TAG, key->name, STR(""));
}

static void build_dependencies(struct build *b, const struct key *key, struct qless_str jid)
{
	struct qless_str on;
	size_t at = 0;

	while (key_next(key, &at, &on)) {
		if (!import_dependency(&b->import, jid, on))
			findings_add(b->findings, FINDING_DEPENDENCY, key->name, on);
	}
}

/* A job that depends on no other job will leave the list of depending jobs. */
static void note_settled(struct build *b)
{
	for (size_t i = 0; i < b->found_count; i++) {
		const struct qless_job *job = qless_get(b->engine, b->found[i].jid);
		struct qless_job_info info;

		if (job == NULL)
			continue;
		qless_job_read(job, &info);
		if (info.state != QLESS_DEPENDS || view_dependencies(job) != NULL)
			continue;
		findings_add(b->findings, FINDING_NOT_WAITING, b->found[i].key->name, STR(""));
		findings_touch(b->findings, build_name(b, STR(NAMES_QUEUE), info.queue,
						       STR(NAMES_QUEUE_DEPENDS)));
		findings_touch(b->findings,
			       build_name(b, STR(NAMES_QUEUE), info.queue, STR(NAMES_QUEUE_WORK)));
		findings_touch(b->findings, build_name(b, STR(NAMES_QUEUE), info.queue,
						       STR(NAMES_QUEUE_SCHEDULED)));
	}
}

/* ---- recurring jobs ---- */

/* Read the schedule of a recurring job of another qlessd. Returns false if it has none. */
static bool read_schedule(const struct key *key, struct qless_schedule *ret_schedule)
{
	struct qless_str missed = key_field(key, NAMES_FIELD(MISSED));

	*ret_schedule = (struct qless_schedule){
		.cron = key_field(key, NAMES_FIELD(CRON)),
		.zone = key_field(key, NAMES_FIELD(TZ)),
		.rule = key_field(key, NAMES_FIELD(RULE)),
	};
	while (ret_schedule->missed < QLESS_MISSED_ALL &&
	       !str_equal(missed, qless_missed_text(ret_schedule->missed)))
		ret_schedule->missed++;
	if (str_equal(key_field(key, NAMES_FIELD(OVERLAP)), qless_overlap_text(QLESS_OVERLAP_SKIP)))
		ret_schedule->overlap = QLESS_OVERLAP_SKIP;
	return ret_schedule->cron.ptr != NULL && ret_schedule->zone.ptr != NULL &&
	       ret_schedule->rule.ptr != NULL;
}

static bool read_recur(struct build *b, const struct key *key, struct qless_str queue,
		       struct qless_str jid, struct qless_recur_put *put)
{
	put->queue = queue;
	put->jid = jid;
	put->klass = key_field(key, NAMES_FIELD(KLASS));
	put->data = key_field(key, NAMES_FIELD(DATA));
	put->interval = build_number(b, key, NAMES_FIELD(INTERVAL), 0);
	put->priority = build_number(b, key, NAMES_FIELD(PRIORITY), 0);
	put->retries = build_number(b, key, NAMES_FIELD(RETRIES), 5);
	put->backlog = build_number_if(b, key, NAMES_FIELD(BACKLOG), 0);
	return put->klass.ptr != NULL && put->data.ptr != NULL &&
	       str_equal(key_field(key, NAMES_FIELD(QUEUE)), queue);
}

static void build_recur(struct build *b, const struct key *list, struct qless_str queue,
			struct qless_str jid, double next)
{
	const struct key *key = keys_find(b->keys, build_name(b, STR(NAMES_RECUR), jid, STR("")));
	struct qless_recur_put put = { .offset = 0 };
	struct qless_schedule schedule;
	double made;
	void *tags;

	if (key == NULL || key->type != KEY_HASH || !isfinite(next) ||
	    !read_recur(b, key, queue, jid, &put)) {
		findings_add(b->findings, FINDING_RECURRING, list->name, jid);
		return;
	}
	if (read_schedule(key, &schedule))
		put.schedule = &schedule;
	tags = build_tags(b, key);
	put.tags = b->tags;
	put.tag_count = b->tag_count;
	made = build_number_if(b, key, NAMES_FIELD(COUNT), 0);
	if (!(made >= 0 && made < 9007199254740992.0))
		made = 0;
	if (!import_recur(&b->import, &put, (uint64_t)made, next))
		findings_add(b->findings, FINDING_RECURRING, list->name, jid);
	build_tags_done(tags);
}

static void build_recurs(struct build *b, const struct key *key, struct qless_str queue)
{
	struct qless_str jid, next;
	size_t at = 0;

	while (key_next_pair(key, &at, &jid, &next))
		build_recur(b, key, queue, jid, build_score(next));
}

static void check_recur(struct build *b, const struct key *key, struct qless_str jid)
{
	if (qless_recur_get(b->engine, jid) == NULL)
		findings_add(b->findings, FINDING_RECURRING, key->name, STR(""));
}

/* ---- statistics ---- */

/* Parses a number in the spelling of qless. Within the name of a key, another spelling is another
 * name. */
static bool read_spelled(struct qless_str text, double *ret_value)
{
	char spelled[NUM_MAX];

	return num_parse_lua(text, ret_value) && isfinite(*ret_value) &&
	       str_equal(text, str_make(spelled, num_format_g14(spelled, *ret_value)));
}

static bool split_day(struct qless_str text, double *ret_day, struct qless_str *ret_queue)
{
	const char *colon = text.len > 0 ? memchr(text.ptr, ':', text.len) : NULL;

	if (colon == NULL)
		return false;
	*ret_queue = str_make(colon + 1, text.len - (size_t)(colon + 1 - text.ptr));
	return read_spelled(str_make(text.ptr, (size_t)(colon - text.ptr)), ret_day);
}

static bool read_bucket(struct qless_str field, struct qless_str text, struct view_bucket *bucket)
{
	uint64_t count;

	if (field.len < 2 || strchr("smhd", field.ptr[0]) == NULL ||
	    !num_parse_u64(text, 0, COUNT_MAX, &count) ||
	    !read_spelled(str_make(field.ptr + 1, field.len - 1), &bucket->value))
		return false;
	bucket->unit = field.ptr[0];
	bucket->count = count;
	return true;
}

static bool read_field(const struct key *key, struct qless_str field, double *ret_value)
{
	struct qless_str text = key_field(key, field);

	return text.ptr != NULL && num_parse_lua(text, ret_value);
}

static void build_series(struct build *b, const struct key *key, struct qless_str rest,
			 bool is_wait)
{
	struct import_series series = { .buckets = mem_alloc(key->count *
							     sizeof(struct view_bucket)) };
	struct qless_str queue, field, value;
	bool good = read_field(key, STR(NAMES_SERIES_TOTAL), &series.count) &&
		    read_field(key, STR(NAMES_SERIES_MEAN), &series.mean) &&
		    read_field(key, STR(NAMES_SERIES_VK), &series.vk);
	double day = 0;
	size_t at = 0;

	while (good && key_next_pair(key, &at, &field, &value)) {
		if (!str_equal(field, STR(NAMES_SERIES_TOTAL)) &&
		    !str_equal(field, STR(NAMES_SERIES_MEAN)) &&
		    !str_equal(field, STR(NAMES_SERIES_VK)))
			good = read_bucket(field, value, &series.buckets[series.bucket_count++]);
	}
	if (!good || !split_day(rest, &day, &queue) || !build_is_name(b, key->name, queue) ||
	    !import_series(&b->import, queue, day, is_wait, &series))
		findings_add(b->findings, FINDING_STATISTICS, key->name, STR(""));
	free(series.buckets);
}

static void build_counters(struct build *b, const struct key *key, struct qless_str rest)
{
	static const struct qless_str names[VIEW_COUNTERS] = {
		[VIEW_RETRIES] = STR_INIT(NAMES_COUNTER_RETRIES),
		[VIEW_FAILURES] = STR_INIT(NAMES_COUNTER_FAILURES),
		[VIEW_FAILED] = STR_INIT(NAMES_COUNTER_FAILED),
	};
	struct qless_str queue, text;
	size_t known = 0;
	int64_t value;
	double day;

	if (!split_day(rest, &day, &queue) || !build_is_name(b, key->name, queue)) {
		findings_add(b->findings, FINDING_STATISTICS, key->name, STR(""));
		return;
	}
	for (int i = 0; i < VIEW_COUNTERS; i++) {
		text = key_field(key, names[i]);
		if (text.ptr == NULL)
			continue;
		known++;
		if (!num_parse_i64(text, &value) ||
		    !import_counter(&b->import, queue, day, (enum view_counter)i, value))
			findings_add(b->findings, FINDING_STATISTICS, key->name, names[i]);
	}
	if (known != key->count)
		findings_add(b->findings, FINDING_FOREIGN_FIELD, key->name, STR(""));
}

/* ---- which is which ---- */

struct key_form {
	const char *prefix;
	const char *suffix;
	enum key_type type;
	void (*build)(struct build *b, const struct key *key, struct qless_str middle);
};

static void build_wait(struct build *b, const struct key *key, struct qless_str rest)
{
	build_series(b, key, rest, true);
}

static void build_run(struct build *b, const struct key *key, struct qless_str rest)
{
	build_series(b, key, rest, false);
}

/* More specific forms come first. Keys without a function were read before, or follow from other
 * keys. */
static const struct key_form forms[] = {
	{ NAMES_JOB, NAMES_JOB_HISTORY, KEY_LIST, NULL },
	{ NAMES_JOB, NAMES_JOB_DEPENDENCIES, KEY_SET, build_dependencies },
	{ NAMES_JOB, NAMES_JOB_DEPENDENTS, KEY_SET, NULL },
	{ NAMES_JOB, "", KEY_HASH, NULL },
	{ NAMES_RECUR, "", KEY_HASH, check_recur },
	{ NAMES_QUEUE, NAMES_QUEUE_RECUR, KEY_ZSET, build_recurs },
	{ NAMES_WORKER, NAMES_WORKER_JOBS, KEY_ZSET, build_holdings },
	{ NAMES_GROUP, "", KEY_LIST, NULL },
	{ NAMES_TAG, "", KEY_ZSET, build_tag },
	{ NAMES_STATS_WAIT, "", KEY_HASH, build_wait },
	{ NAMES_STATS_RUN, "", KEY_HASH, build_run },
	{ NAMES_STATS_COUNTERS, "", KEY_HASH, build_counters },
#define QUEUE_LIST_FORM(NAME, ...) { NAMES_QUEUE, NAMES_QUEUE_##NAME, KEY_ZSET, NULL },
	QUEUE_LIST_ROWS(QUEUE_LIST_FORM)
#undef QUEUE_LIST_FORM
};

struct single_form {
	const char *name;
	enum key_type type;
	void (*build)(struct build *b, const struct key *key);
};

static const struct single_form singles[] = {
	{ NAMES_QUEUES, KEY_ZSET, build_queues }, { NAMES_WORKERS, KEY_ZSET, build_workers },
	{ NAMES_PAUSED, KEY_SET, build_paused },  { NAMES_COMPLETED, KEY_ZSET, NULL },
	{ NAMES_TRACKED, KEY_ZSET, NULL },	  { NAMES_TAGS, KEY_ZSET, NULL },
	{ NAMES_FAILURES, KEY_SET, NULL },	  { NAMES_CONFIG, KEY_HASH, NULL },
};

static bool build_single(struct build *b, const struct key *key)
{
	for (size_t i = 0; i < sizeof singles / sizeof *singles; i++) {
		if (!str_equal(key->name, str_from(singles[i].name)))
			continue;
		if (key->type != singles[i].type)
			findings_add(b->findings, FINDING_WRONG_TYPE, key->name,
				     str_from(key_type_text(key->type)));
		else if (singles[i].build != NULL)
			singles[i].build(b, key);
		return true;
	}
	return false;
}

static void build_key(struct build *b, const struct key *key)
{
	struct qless_str middle;
	bool is_known = false;

	if (build_single(b, key))
		return;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (!build_between(key->name, str_from(forms[i].prefix), str_from(forms[i].suffix),
				   &middle))
			continue;
		is_known = true;
		if (key->type != forms[i].type)
			continue;
		if (forms[i].build != NULL)
			forms[i].build(b, key, middle);
		return;
	}
	findings_add(b->findings, is_known ? FINDING_WRONG_TYPE : FINDING_FOREIGN_KEY, key->name,
		     str_from(key_type_text(key->type)));
}

/* A job that is missing from the list of its tag gets the job's own time there. */
static void check_tags(struct build *b, const struct found_job *from)
{
	const struct qless_job *job = qless_get(b->engine, from->jid);
	struct qless_str tag;
	size_t cursor = 0;

	while (job != NULL && qless_job_next_tag(job, &cursor, &tag)) {
		struct qless_str name = build_name(b, STR(NAMES_TAG), tag, STR(""));

		if (keys_find(b->keys, name) == NULL)
			findings_add(b->findings, FINDING_TAG, name, from->jid);
	}
}

/* Report a history or dependents without a job. */
static void check_companion(struct build *b, const struct key *key)
{
	static const struct qless_str suffixes[] = { STR_INIT(NAMES_JOB_HISTORY),
						     STR_INIT(NAMES_JOB_DEPENDENTS) };
	struct qless_str jid;

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		if (key->type != KEY_HASH &&
		    build_between(key->name, STR(NAMES_JOB), suffixes[i], &jid) &&
		    qless_get(b->engine, jid) == NULL)
			findings_add(b->findings, FINDING_PARTIAL_JOB, key->name, STR(""));
	}
}

static void check_dependents(struct build *b, const struct key *key)
{
	struct qless_str on, jid;
	size_t at = 0;

	if (key->type != KEY_SET ||
	    !build_between(key->name, STR(NAMES_JOB), STR(NAMES_JOB_DEPENDENTS), &on))
		return;
	while (key_next(key, &at, &jid)) {
		const struct qless_job *job = qless_get(b->engine, jid);
		const struct skiplist *list = job != NULL ? view_dependencies(job) : NULL;

		if (list == NULL || skiplist_find(list, 0, on) == NULL)
			findings_add(b->findings, FINDING_DEPENDENCY, key->name, jid);
	}
}

void build_rest(struct build *b)
{
	/* The lists of queues must come before the hashes of recurring jobs, whatever the order of
	 * their names. */
	for (size_t i = 0; i < b->count; i++) {
		if (!str_starts_with(b->sorted[i]->name, STR(NAMES_RECUR)))
			build_key(b, b->sorted[i]);
	}
	for (size_t i = 0; i < b->count; i++) {
		if (str_starts_with(b->sorted[i]->name, STR(NAMES_RECUR)))
			build_key(b, b->sorted[i]);
		check_companion(b, b->sorted[i]);
		check_dependents(b, b->sorted[i]);
	}
	for (size_t i = 0; i < b->found_count; i++)
		check_tags(b, &b->found[i]);
	note_settled(b);
}
