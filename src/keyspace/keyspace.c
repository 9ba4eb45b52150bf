#include "keyspace/keyspace.h"

#include <math.h>

#include "keyspace/keyspace_int.h"
#include "util/num.h"

const struct qless_str keyspace_singles[KEYSPACE_SINGLES] = {
	STR_INIT(NAMES_QUEUES),	 STR_INIT(NAMES_WORKERS), STR_INIT(NAMES_COMPLETED),
	STR_INIT(NAMES_TRACKED), STR_INIT(NAMES_TAGS),	  STR_INIT(NAMES_FAILURES),
	STR_INIT(NAMES_CONFIG),	 STR_INIT(NAMES_PAUSED),
};

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

static bool found(enum keyspace_type type, enum keyspace_kind kind, struct keyspace_key *ret_key)
{
	ret_key->type = type;
	ret_key->kind = kind;
	return true;
}

/* An empty list has no key. */
static bool found_list(const struct skiplist *list, enum keyspace_type type,
		       enum keyspace_kind kind, struct keyspace_key *ret_key)
{
	if (list == NULL || skiplist_count(list) == 0)
		return false;
	ret_key->list = list;
	ret_key->order = (struct skipmerge){ .first = list };
	return found(type, kind, ret_key);
}

static bool found_zset(const struct skiplist *list, enum keyspace_kind kind,
		       struct keyspace_key *ret_key)
{
	return found_list(list, KEYSPACE_ZSET, kind, ret_key);
}

static bool found_related(const struct skiplist *list, struct keyspace_key *ret_key)
{
	return found_list(list, KEYSPACE_SET, KEYSPACE_RELATED, ret_key);
}

static bool find_job_key(const struct qless *q, struct qless_str rest, struct keyspace_key *ret_key)
{
	struct qless_str jid;

	ret_key->job = qless_get(q, rest);
	if (ret_key->job != NULL)
		return found(KEYSPACE_HASH, KEYSPACE_JOB, ret_key);
	if (str_strip_suffix(rest, STR(NAMES_JOB_HISTORY), &jid)) {
		ret_key->job = qless_get(q, jid);
		return ret_key->job != NULL && found(KEYSPACE_LIST, KEYSPACE_HISTORY, ret_key);
	}
	if (str_strip_suffix(rest, STR(NAMES_JOB_DEPENDENCIES), &jid)) {
		ret_key->job = qless_get(q, jid);
		return ret_key->job != NULL &&
		       found_related(view_dependencies(ret_key->job), ret_key);
	}
	if (str_strip_suffix(rest, STR(NAMES_JOB_DEPENDENTS), &jid)) {
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

	for (i = 0; i < QUEUE_LISTS; i++) {
		if (!str_strip_suffix(rest, names_queue_suffixes[i], &queue))
			continue;
		if (!view_queue_order(q, queue, (enum queue_list)i, &ret_key->order) ||
		    skipmerge_count(&ret_key->order) == 0)
			return false;
		ret_key->list = ret_key->order.first;
		return found(KEYSPACE_ZSET,
			     queue_list_has_jobs((enum queue_list)i) ? KEYSPACE_JOBS
								     : KEYSPACE_QUEUE_RECURS,
			     ret_key);
	}
	return false;
}

bool keyspace_has_counts(const struct view_day *day, enum keyspace_kind kind)
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

/* Find <day>:<queue>. The day must be spelled as the engine does. */
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
	ret_key->name = str_make(colon + 1, rest.len - text.len - 1);
	if (!view_find_stats_day(q, ret_key->name, ret_key->day, &day) ||
	    !keyspace_has_counts(&day, kind))
		return false;
	return found(KEYSPACE_HASH, kind, ret_key);
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
	struct view_counts counts;

	if (str_equal(key, STR(NAMES_QUEUES)))
		return found_zset(view_queues(q), KEYSPACE_QUEUES, ret_key);
	if (str_equal(key, STR(NAMES_WORKERS)))
		return found_zset(view_workers(q), KEYSPACE_WORKERS, ret_key);
	if (str_equal(key, STR(NAMES_COMPLETED)))
		return found_zset(view_completed(q), KEYSPACE_JOBS, ret_key);
	if (str_equal(key, STR(NAMES_TRACKED)))
		return found_zset(view_tracked(q), KEYSPACE_TRACKED, ret_key);
	if (str_equal(key, STR(NAMES_TAGS)))
		return found_zset(view_tags(q), KEYSPACE_TAGS, ret_key);
	if (str_equal(key, STR(NAMES_CONFIG)))
		return has_options(q) && found(KEYSPACE_HASH, KEYSPACE_CONFIG, ret_key);
	view_counts(q, &counts);
	if (str_equal(key, STR(NAMES_FAILURES)))
		return counts.groups > 0 && found(KEYSPACE_SET, KEYSPACE_FAILURES, ret_key);
	if (str_equal(key, STR(NAMES_PAUSED)))
		return counts.paused_queues > 0 && found(KEYSPACE_SET, KEYSPACE_PAUSED, ret_key);
	return false;
}

static bool find_worker_key(const struct qless *q, struct qless_str rest,
			    struct keyspace_key *ret_key)
{
	if (!str_strip_suffix(rest, STR(NAMES_WORKER_JOBS), &ret_key->name))
		return false;
	return found_zset(view_worker_jobs(q, ret_key->name), KEYSPACE_WORKER_JOBS, ret_key);
}

static bool find_tag_key(const struct qless *q, struct qless_str tag, struct keyspace_key *ret_key)
{
	ret_key->name = tag;
	return found_zset(view_tag_jobs(q, tag), KEYSPACE_TAG_JOBS, ret_key);
}

static bool find_group_key(const struct qless *q, struct qless_str group,
			   struct keyspace_key *ret_key)
{
	return found_list(view_group(q, group), KEYSPACE_LIST, KEYSPACE_GROUP, ret_key);
}

static bool find_key(const struct qless *q, struct qless_str key, struct keyspace_key *ret_key)
{
	struct qless_str rest;

	if (str_strip_prefix(key, STR(NAMES_JOB), &rest))
		return find_job_key(q, rest, ret_key);
	if (str_strip_prefix(key, STR(NAMES_QUEUE), &rest))
		return find_queue_key(q, rest, ret_key);
	if (str_strip_prefix(key, STR(NAMES_RECUR), &rest)) {
		ret_key->recur = qless_recur_get(q, rest);
		return ret_key->recur != NULL && found(KEYSPACE_HASH, KEYSPACE_RECUR, ret_key);
	}
	if (str_strip_prefix(key, STR(NAMES_WORKER), &rest))
		return find_worker_key(q, rest, ret_key);
	if (str_strip_prefix(key, STR(NAMES_GROUP), &rest))
		return find_group_key(q, rest, ret_key);
	if (str_strip_prefix(key, STR(NAMES_TAG), &rest))
		return find_tag_key(q, rest, ret_key);
	if (str_strip_prefix(key, STR(NAMES_STATS_WAIT), &rest))
		return find_stats_key(q, rest, KEYSPACE_STATS_WAIT, ret_key);
	if (str_strip_prefix(key, STR(NAMES_STATS_RUN), &rest))
		return find_stats_key(q, rest, KEYSPACE_STATS_RUN, ret_key);
	if (str_strip_prefix(key, STR(NAMES_STATS_COUNTERS), &rest))
		return find_stats_key(q, rest, KEYSPACE_STATS_COUNTERS, ret_key);
	return find_single_key(q, key, ret_key);
}

bool keyspace_find(const struct qless *q, struct qless_str key, struct keyspace_key *ret_key)
{
	struct keyspace_key found_key = { .engine = q };

	if (q == NULL || !find_key(q, key, &found_key))
		return false;
	*ret_key = found_key;
	return true;
}
