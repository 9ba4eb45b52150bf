/*
 * Walks over all keys, at once or in steps.
 *
 * Every key belongs to an object in one of the engine's hash tables, or is one of the single keys.
 * A walk goes through the tables one after the other. The upper half of its cursor is the number of
 * the table, and the lower half the cursor within that table. So a walk needs no state in the
 * server.
 */
#include <math.h>

#include "keyspace/keyspace_int.h"
#include "util/num.h"

#define TABLE_SHIFT 32

/* The number of the single keys in a cursor: they come after all tables. */
#define SINGLES VIEW_TABLES

struct walk {
	const struct qless *engine;
	keyspace_key_fn *visit;
	void *arg;
	bool once; /* leave out a key that another object shows too */
	struct buf key;
};

static void begin_key(struct walk *w, struct qless_str prefix)
{
	buf_clear(&w->key);
	buf_append_str(&w->key, prefix);
}

static void show_key(struct walk *w, enum keyspace_type type)
{
	w->visit(w->arg, buf_str(&w->key), type);
}

static void show(struct walk *w, struct qless_str prefix, struct qless_str name,
		 struct qless_str suffix, enum keyspace_type type)
{
	begin_key(w, prefix);
	buf_append_str(&w->key, name);
	buf_append_str(&w->key, suffix);
	show_key(w, type);
}

/* Show a key beside that of a job, unless it is also the key of another job. A walk in steps shows
 * it even then, because the walk may have passed that job's place before the job existed. */
static void show_companion(struct walk *w, struct qless_str jid, struct qless_str suffix,
			   enum keyspace_type type)
{
	struct qless_str other;

	begin_key(w, STR(NAMES_JOB));
	buf_append_str(&w->key, jid);
	buf_append_str(&w->key, suffix);
	other = buf_str(&w->key);
	other = str_make(other.ptr + STR(NAMES_JOB).len, other.len - STR(NAMES_JOB).len);
	if (qless_get(w->engine, other) == NULL)
		show_key(w, type);
	else if (!w->once)
		show_key(w, KEYSPACE_HASH);
}

static void show_job(void *arg, struct qless_str jid)
{
	struct walk *w = arg;
	const struct qless_job *job = qless_get(w->engine, jid);

	show(w, STR(NAMES_JOB), jid, STR(""), KEYSPACE_HASH);
	show_companion(w, jid, STR(NAMES_JOB_HISTORY), KEYSPACE_LIST);
	if (view_dependencies(job) != NULL)
		show_companion(w, jid, STR(NAMES_JOB_DEPENDENCIES), KEYSPACE_SET);
	if (view_dependents(job) != NULL)
		show_companion(w, jid, STR(NAMES_JOB_DEPENDENTS), KEYSPACE_SET);
}

static void show_recur(void *arg, struct qless_str jid)
{
	show(arg, STR(NAMES_RECUR), jid, STR(""), KEYSPACE_HASH);
}

static void show_stats(struct walk *w, struct qless_str prefix, double day, struct qless_str queue)
{
	char text[NUM_MAX];
	size_t len = num_format_g14(text, day);

	begin_key(w, prefix);
	buf_append(&w->key, text, len);
	buf_append_char(&w->key, ':');
	buf_append_str(&w->key, queue);
	show_key(w, KEYSPACE_HASH);
}

static void show_queue(void *arg, struct qless_str queue)
{
	struct walk *w = arg;
	struct skipmerge order;
	struct view_day day;
	size_t i;

	for (i = 0; i < QUEUE_LISTS; i++) {
		if (view_queue_order(w->engine, queue, (enum queue_list)i, &order) &&
		    skipmerge_count(&order) > 0)
			show(w, STR(NAMES_QUEUE), queue, names_queue_suffixes[i], KEYSPACE_ZSET);
	}
	for (i = 0; view_stats_day(w->engine, queue, i, &day); i++) {
		if (keyspace_has_counts(&day, KEYSPACE_STATS_WAIT))
			show_stats(w, STR(NAMES_STATS_WAIT), day.day, queue);
		if (keyspace_has_counts(&day, KEYSPACE_STATS_RUN))
			show_stats(w, STR(NAMES_STATS_RUN), day.day, queue);
		if (keyspace_has_counts(&day, KEYSPACE_STATS_COUNTERS))
			show_stats(w, STR(NAMES_STATS_COUNTERS), day.day, queue);
	}
}

static void show_worker(void *arg, struct qless_str worker)
{
	struct walk *w = arg;

	if (skiplist_count(view_worker_jobs(w->engine, worker)) > 0)
		show(w, STR(NAMES_WORKER), worker, STR(NAMES_WORKER_JOBS), KEYSPACE_ZSET);
}

static void show_group(void *arg, struct qless_str group)
{
	show(arg, STR(NAMES_GROUP), group, STR(""), KEYSPACE_LIST);
}

static void show_tag(void *arg, struct qless_str tag)
{
	show(arg, STR(NAMES_TAG), tag, STR(""), KEYSPACE_ZSET);
}

static void show_singles(struct walk *w)
{
	struct keyspace_key key;
	size_t i;

	for (i = 0; i < KEYSPACE_SINGLES; i++) {
		if (keyspace_find(w->engine, keyspace_singles[i], &key))
			w->visit(w->arg, keyspace_singles[i], key.type);
	}
}

/* ---- tables ---- */

static const struct table {
	view_name_fn *show;
	struct qless_str prefixes[2]; /* of all keys of the table */
} tables[VIEW_TABLES] = {
	[VIEW_JOBS] = { show_job, { STR_INIT(NAMES_JOB), STR_INIT(NAMES_JOB) } },
	[VIEW_RECURS] = { show_recur, { STR_INIT(NAMES_RECUR), STR_INIT(NAMES_RECUR) } },
	[VIEW_QUEUES] = { show_queue, { STR_INIT(NAMES_QUEUE), STR_INIT(NAMES_STATS) } },
	[VIEW_WORKERS] = { show_worker, { STR_INIT(NAMES_WORKER), STR_INIT(NAMES_WORKER) } },
	[VIEW_GROUPS] = { show_group, { STR_INIT(NAMES_GROUP), STR_INIT(NAMES_GROUP) } },
	[VIEW_TAGS] = { show_tag, { STR_INIT(NAMES_TAG), STR_INIT(NAMES_TAG) } },
};

/* Whether a key of the table may begin with this prefix. */
static bool table_has_prefix(const struct table *table, struct qless_str prefix)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (str_starts_with(table->prefixes[i], prefix) ||
		    str_starts_with(prefix, table->prefixes[i]))
			return true;
	}
	return false;
}

void keyspace_each_key(const struct qless *q, struct qless_str prefix, keyspace_key_fn *visit,
		       void *arg)
{
	struct walk walk = { q, visit, arg, .once = true, .key = BUF_INIT(BUF_NO_MAX) };
	int table;

	if (q == NULL)
		return;
	for (table = 0; table < VIEW_TABLES; table++) {
		if (table_has_prefix(&tables[table], prefix))
			view_each(q, (enum view_table)table, tables[table].show, &walk);
	}
	show_singles(&walk);
	buf_done(&walk.key);
}

static uint64_t make_cursor(uint64_t table, uint32_t within)
{
	return table << TABLE_SHIFT | within;
}

uint64_t keyspace_scan(const struct qless *q, uint64_t cursor, struct qless_str prefix,
		       keyspace_key_fn *visit, void *arg)
{
	struct walk walk = { q, visit, arg, .once = false, .key = BUF_INIT(BUF_NO_MAX) };
	uint64_t table = cursor >> TABLE_SHIFT;
	uint32_t within = (uint32_t)cursor;

	if (q == NULL || table > SINGLES)
		return 0;
	while (table < VIEW_TABLES && !table_has_prefix(&tables[table], prefix)) {
		table++;
		within = 0;
	}
	if (table == SINGLES) {
		show_singles(&walk);
		return 0;
	}
	within = view_scan(q, (enum view_table)table, within, tables[table].show, &walk);
	buf_done(&walk.key);
	return within != 0 ? make_cursor(table, within) : make_cursor(table + 1, 0);
}

/* ---- counting ---- */

static void ignore_key(void *arg, struct qless_str key, enum keyspace_type type)
{
	(void)key;
	(void)type;
	++*(size_t *)arg;
}

/* One key for each list, and for each kind of statistics of a day. */
static size_t count_queue_keys(const struct qless *q)
{
	struct view_queue_parts parts;

	view_count_parts(q, &parts);
	return parts.lists + parts.waits + parts.runs + parts.counters;
}

/* The number of keys of a table, or of the single keys. */
static size_t count_keys(const struct qless *q, int table)
{
	size_t count = 0;
	struct walk walk = { .engine = q, .visit = ignore_key, .arg = &count };
	struct view_counts counts;

	view_counts(q, &counts);
	switch (table) {
	case VIEW_JOBS:
		return 2 * counts.jobs + counts.depending + counts.depended_on;
	case VIEW_RECURS:
		return counts.recurs;
	case VIEW_QUEUES:
		return count_queue_keys(q);
	case VIEW_WORKERS:
		return counts.busy_workers;
	case VIEW_GROUPS:
		return counts.groups;
	case VIEW_TAGS:
		return counts.tags;
	default:
		show_singles(&walk);
		return count;
	}
}

size_t keyspace_count(const struct qless *q)
{
	size_t count = 0;
	int table;

	for (table = 0; q != NULL && table <= SINGLES; table++)
		count += count_keys(q, table);
	return count;
}

/* ---- picking ---- */

/* One of this many neighbours is picked. More neighbours make up better for the uneven distances
 * between the objects in their table. */
#define PICK_NEIGHBOURS 64

struct pick {
	uint64_t random;
	size_t seen;
	struct buf *key;
};

static uint64_t next_random(struct pick *pick)
{
	uint64_t z = pick->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Each of the n keys so far is the one that is kept with probability 1/n. */
static void maybe_pick(void *arg, struct qless_str key, enum keyspace_type type)
{
	struct pick *pick = arg;

	(void)type;
	if (next_random(pick) % ++pick->seen != 0)
		return;
	buf_clear(pick->key);
	buf_append_str(pick->key, key);
}

/* The table of the `nth` key. */
static uint64_t table_of_nth(const struct qless *q, size_t nth)
{
	int table;

	for (table = 0; table < SINGLES; table++) {
		size_t count = count_keys(q, table);

		if (nth < count)
			break;
		nth -= count;
	}
	return (uint64_t)table;
}

bool keyspace_pick(const struct qless *q, uint64_t random, struct buf *ret_key)
{
	size_t count = keyspace_count(q);
	struct pick pick = { .random = random, .key = ret_key };
	uint64_t table, cursor;
	int laps = 0;

	if (count == 0)
		return false;
	table = table_of_nth(q, (size_t)(next_random(&pick) % count));
	cursor = make_cursor(table, (uint32_t)next_random(&pick));
	while (pick.seen < PICK_NEIGHBOURS && laps < 2) {
		cursor = keyspace_scan(q, cursor, STR(""), maybe_pick, &pick);
		if (cursor >> TABLE_SHIFT == table)
			continue;
		cursor = make_cursor(table, 0);
		laps++;
	}
	return true;
}
