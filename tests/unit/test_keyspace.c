/*
 * The ql:* view in states that random calls made. Counting, visiting, scanning and finding keys
 * must agree, and every change must be visible. tests/conformance compares the content of keys with
 * recordings of qless.
 */
#include <stdio.h>
#include <stdlib.h>

#include "keyspace/keyspace.h"
#include "unit.h"
#include "util/mem.h"

static struct qless *q;
static unsigned long long seed;

void setUp(void)
{
	const struct qless_hooks hooks = { .hash_seed = 42 };

	q = qless_new(&hooks);
	seed = 1;
}

void tearDown(void)
{
	qless_free(q);
}

/* ---- random calls ---- */

static unsigned draw(unsigned n)
{
	return (unsigned)(unit_random(&seed) % n);
}

/* One of few names, valid until eight more have been drawn. */
static struct qless_str draw_name(char kind)
{
	static char names[8][16];
	static unsigned next;
	char *name = names[next++ % 8];

	return str_make(name, (size_t)snprintf(name, 16, "%c%u", kind, draw(kind == 'j' ? 40 : 4)));
}

static int put_something(double now)
{
	struct qless_str depends = draw_name('j'), tags[2] = { draw_name('t'), draw_name('t') };
	struct qless_put put = {
		.worker = draw_name('w'),
		.queue = draw_name('q'),
		.jid = draw_name('j'),
		.klass = STR("k"),
		.data = STR("{}"),
		.delay = draw(3) == 0 ? draw(100) : 0,
		.has_tags = draw(2) == 0,
		.tags = tags,
		.tag_count = draw(3),
		.depends = &depends,
		.depend_count = draw(4) == 0,
	};

	return qless_put(q, now, &put);
}

static int recur_something(double now)
{
	struct qless_recur_put put = {
		.queue = draw_name('q'),
		.jid = draw_name('r'),
		.klass = STR("k"),
		.data = STR("{}"),
		.interval = 1 + draw(50),
		.retries = 5,
	};

	return qless_recur(q, now, &put);
}

static int finish_something(double now)
{
	const struct qless_job *job = qless_get(q, draw_name('j'));
	struct qless_job_info info;
	struct qless_str next = draw_name('q');
	struct qless_complete complete;
	struct qless_retry retry;
	enum qless_state state;
	double remaining;

	if (job == NULL)
		return 0;
	qless_job_read(job, &info);
	if (draw(3) == 0)
		return qless_fail(q, now, info.jid, info.worker, draw_name('g'), STR("m"), NULL);
	if (draw(3) == 0) {
		retry = (struct qless_retry){
			.jid = info.jid,
			.queue = info.queue,
			.worker = info.worker,
		};
		return qless_retry(q, now, &retry, &remaining);
	}
	complete = (struct qless_complete){
		.jid = info.jid,
		.worker = info.worker,
		.queue = info.queue,
		.data = STR("{}"),
		.next = draw(3) == 0 ? &next : NULL,
	};
	return qless_complete(q, now, &complete, &state);
}

static int change_something(double now)
{
	struct qless_str name = draw_name('j'), queue = draw_name('q'), worker = draw_name('w');
	struct qless_str tag = draw_name('t');
	const struct qless_job *job;
	uint64_t count;
	bool was;

	switch (draw(14)) {
	case 0:
		return qless_cancel(q, now, &name, 1);
	case 1:
		return qless_timeout(q, now, &name, 1);
	case 2:
		return qless_track(q, now, name, &was);
	case 3:
		return qless_untrack(q, now, name, &was);
	case 4:
		return qless_tag(q, now, name, &tag, 1, &job);
	case 5:
		return qless_untag(q, now, name, &tag, 1, &job);
	case 6:
		return qless_pause(q, now, &queue, 1);
	case 7:
		return qless_unpause(q, now, &queue, 1);
	case 8:
		return qless_queue_forget(q, now, &queue, 1);
	case 9:
		return qless_worker_deregister(q, now, &worker, 1);
	case 10:
		return qless_unfail(q, now, queue, draw_name('g'), 5, &count);
	case 11:
		return qless_unrecur(q, now, draw_name('r'));
	case 12:
		return draw(2) == 0 ? qless_config_set(q, now, STR("heartbeat"), STR("20"))
				    : qless_config_unset(q, now, STR("heartbeat"));
	default:
		return qless_priority(q, now, name, draw(10));
	}
}

/* The call may fail. */
static void call_something(double now)
{
	struct qless_jobs jobs;
	struct qless_workers workers;
	int rc;

	switch (draw(8)) {
	case 0:
	case 1:
		rc = put_something(now);
		break;
	case 2:
		rc = recur_something(now);
		break;
	case 3:
		rc = qless_pop(q, now, draw_name('q'), draw_name('w'), 1 + draw(3), &jobs);
		break;
	case 4:
	case 5:
		rc = finish_something(now);
		break;
	case 6:
		rc = qless_workers(q, now, &workers);
		qless_maintain(q);
		break;
	default:
		rc = change_something(now);
		break;
	}
	(void)rc;
}

/* ---- keys in a table of the test's own ---- */

struct table {
	struct entry {
		char name[64];
		enum keyspace_type type;
		uint64_t fingerprint;
	} entries[1024];
	size_t count;
};

static void collect(void *arg, struct qless_str key, enum keyspace_type type)
{
	struct table *table = arg;
	struct entry *entry = &table->entries[table->count++];

	TEST_ASSERT_TRUE(table->count <= 1024 && key.len < sizeof entry->name);
	memcpy(entry->name, key.ptr, key.len);
	entry->name[key.len] = '\0';
	entry->type = type;
	entry->fingerprint = keyspace_fingerprint(q, key);
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void collect_all(struct table *table)
{
	table->count = 0;
	keyspace_each_key(q, STR(""), collect, table);
	qsort(table->entries, table->count, sizeof table->entries[0], compare_entries);
}

static void scan_all(struct table *table)
{
	uint64_t cursor = 0;

	table->count = 0;
	do {
		cursor = keyspace_scan(q, cursor, STR(""), collect, table);
	} while (cursor != 0);
	qsort(table->entries, table->count, sizeof table->entries[0], compare_entries);
}

static void assert_same(const struct table *a, const struct table *b)
{
	TEST_ASSERT_EQUAL_size_t(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		TEST_ASSERT_EQUAL_STRING(a->entries[i].name, b->entries[i].name);
		TEST_ASSERT_EQUAL_INT(a->entries[i].type, b->entries[i].type);
		TEST_ASSERT_EQUAL_UINT64(a->entries[i].fingerprint, b->entries[i].fingerprint);
	}
}

/* ---- the cases ---- */

static void counting_visiting_and_scanning_agree(void)
{
	static struct table all, scanned;

	for (int i = 0; i < 3000; i++) {
		call_something(1000 + i);
		collect_all(&all);
		scan_all(&scanned);
		assert_same(&all, &scanned);
		TEST_ASSERT_EQUAL_size_t(all.count, keyspace_count(q));
	}
	TEST_ASSERT_GREATER_THAN_size_t(50, all.count);
}

static void every_visited_key_is_found_and_not_empty(void)
{
	static struct table all;
	struct keyspace_key key;

	for (int i = 0; i < 3000; i++) {
		call_something(1000 + i);
		if (i % 10 != 0)
			continue;
		collect_all(&all);
		for (size_t k = 0; k < all.count; k++) {
			const struct entry *entry = &all.entries[k];

			TEST_ASSERT_TRUE_MESSAGE(keyspace_find(q, str_from(entry->name), &key),
						 entry->name);
			TEST_ASSERT_EQUAL_INT(entry->type, key.type);
			TEST_ASSERT_TRUE(entry->fingerprint != 0);
			if (key.type == KEYSPACE_LIST)
				TEST_ASSERT_TRUE(keyspace_list_length(&key) > 0);
			if (key.type == KEYSPACE_SET)
				TEST_ASSERT_TRUE(keyspace_set_size(&key) > 0);
		}
	}
}

static void count_member(void *arg, struct qless_str member)
{
	(void)member;
	++*(size_t *)arg;
}

static void every_member_of_a_set_is_found(void)
{
	static struct table all;
	struct keyspace_key key;

	for (int i = 0; i < 3000; i++) {
		call_something(1000 + i);
		if (i % 10 != 0)
			continue;
		collect_all(&all);
		for (size_t k = 0; k < all.count; k++) {
			size_t count = 0;

			keyspace_find(q, str_from(all.entries[k].name), &key);
			if (key.type == KEYSPACE_SET) {
				keyspace_each_member(&key, SIZE_MAX, count_member, &count);
				TEST_ASSERT_EQUAL_size_t(count, keyspace_set_size(&key));
			}
			if (key.type != KEYSPACE_ZSET)
				continue;
			for (struct skipnode *node = skiplist_first(key.list); node != NULL;
			     node = skiplist_next(node))
				TEST_ASSERT_EQUAL_PTR(
					node, keyspace_zset_find(&key, key.list->member(node)));
			TEST_ASSERT_NULL(keyspace_zset_find(&key, STR("nosuch")));
		}
	}
}

#define FIELDS_MAX 200

/* The fields of one hash. */
struct field_table {
	size_t count;
	char names[FIELDS_MAX][64];
	char values[FIELDS_MAX][256];
};

static void copy_text(char *to, size_t size, struct qless_str text)
{
	TEST_ASSERT_LESS_THAN_size_t(size, text.len);
	memcpy(to, text.ptr, text.len);
	to[text.len] = '\0';
}

static void collect_field(void *arg, struct qless_str field, struct qless_str value)
{
	struct field_table *t = arg;

	TEST_ASSERT_LESS_THAN_size_t(FIELDS_MAX, t->count);
	copy_text(t->names[t->count], sizeof t->names[0], field);
	copy_text(t->values[t->count], sizeof t->values[0], value);
	t->count++;
}

static void assert_fields_are_found_alone(const struct keyspace_key *key)
{
	static struct field_table all, names, one;

	all.count = names.count = 0;
	keyspace_each_field(key, collect_field, &all);
	keyspace_each_field_name(key, collect_field, &names);
	TEST_ASSERT_EQUAL_size_t(all.count, names.count);
	for (size_t i = 0; i < all.count; i++) {
		TEST_ASSERT_EQUAL_STRING(all.names[i], names.names[i]);
		TEST_ASSERT_EQUAL_STRING("", names.values[i]);
		one.count = 0;
		keyspace_find_field(key, str_from(all.names[i]), collect_field, &one);
		TEST_ASSERT_EQUAL_size_t_MESSAGE(1, one.count, all.names[i]);
		TEST_ASSERT_EQUAL_STRING(all.names[i], one.names[0]);
		TEST_ASSERT_EQUAL_STRING(all.values[i], one.values[0]);
	}
	one.count = 0;
	keyspace_find_field(key, STR("nosuch"), collect_field, &one);
	keyspace_find_field(key, STR(""), collect_field, &one);
	/* An option that is not set has a default, but no field. */
	keyspace_find_field(key, STR("max-worker-age"), collect_field, &one);
	TEST_ASSERT_EQUAL_size_t(0, one.count);
}

static void every_field_is_found_alone_and_among_all(void)
{
	static struct table all;
	struct keyspace_key key;
	size_t hashes = 0;

	for (int i = 0; i < 3000; i++) {
		call_something(1000 + i);
		if (i % 50 != 0)
			continue;
		collect_all(&all);
		for (size_t k = 0; k < all.count; k++) {
			keyspace_find(q, str_from(all.entries[k].name), &key);
			if (key.type != KEYSPACE_HASH)
				continue;
			assert_fields_are_found_alone(&key);
			hashes++;
		}
	}
	TEST_ASSERT_GREATER_THAN_size_t(500, hashes);
}

static void visiting_members_stops_at_the_maximum(void)
{
	struct qless_str deps[] = { STR("a"), STR("b"), STR("c") };
	struct qless_put put = { .queue = STR("q"), .klass = STR("k"), .data = STR("{}") };
	struct keyspace_key key;
	size_t count = 0;

	for (size_t i = 0; i < 3; i++) {
		put.jid = deps[i];
		TEST_ASSERT_EQUAL_INT(0, qless_put(q, 1, &put));
	}
	put.jid = STR("d");
	put.depends = deps;
	put.depend_count = 3;
	TEST_ASSERT_EQUAL_INT(0, qless_put(q, 2, &put));
	TEST_ASSERT_TRUE(keyspace_find(q, STR("ql:j:d-dependencies"), &key));
	keyspace_each_member(&key, 2, count_member, &count);
	TEST_ASSERT_EQUAL_size_t(2, count);
	TEST_ASSERT_EQUAL_size_t(3, keyspace_set_size(&key));
}

/* WATCH relies on this. */
static void every_change_is_counted_and_changes_the_fingerprint(void)
{
	static struct table before, after;
	uint64_t changes;

	for (int i = 0; i < 3000; i++) {
		collect_all(&before);
		changes = qless_changes(q);
		call_something(1000 + i);
		collect_all(&after);
		if (qless_changes(q) == changes)
			assert_same(&before, &after);
	}
}

static void fields_scores_and_order_change_the_fingerprint(void)
{
	struct qless_str jids[] = { STR("a"), STR("b") };
	const struct qless_str tags[] = { STR("x") };
	const struct qless_job *job;
	uint64_t hash, work, tag;

	for (int i = 0; i < 2; i++) {
		struct qless_put put = {
			.queue = STR("q"), .jid = jids[i], .klass = STR("k"), .data = STR("{}")
		};

		TEST_ASSERT_EQUAL_INT(0, qless_put(q, 1, &put));
	}
	hash = keyspace_fingerprint(q, STR("ql:j:a"));
	work = keyspace_fingerprint(q, STR("ql:q:q-work"));
	tag = keyspace_fingerprint(q, STR("ql:t:x"));
	TEST_ASSERT_EQUAL_UINT64(0, tag);
	TEST_ASSERT_EQUAL_INT(0, qless_priority(q, 2, STR("a"), 5));
	TEST_ASSERT_TRUE(keyspace_fingerprint(q, STR("ql:j:a")) != hash);
	TEST_ASSERT_TRUE(keyspace_fingerprint(q, STR("ql:q:q-work")) != work);
	TEST_ASSERT_EQUAL_INT(0, qless_tag(q, 3, STR("a"), tags, 1, &job));
	TEST_ASSERT_TRUE(keyspace_fingerprint(q, STR("ql:t:x")) != tag);
	TEST_ASSERT_EQUAL_UINT64(keyspace_fingerprint(q, STR("ql:j:a")),
				 keyspace_fingerprint(q, STR("ql:j:a")));
}

/* Reading all of it for every WATCH and EXEC would take too long. */
static void a_long_list_counts_as_changed_after_any_change(void)
{
	struct qless_put put = { .queue = STR("q"), .klass = STR("k"), .data = STR("{}") };
	char jid[16];
	uint64_t work, job;

	for (int i = 0; i <= KEYSPACE_FINGERPRINT_MAX; i++) {
		put.jid = str_make(jid, (size_t)snprintf(jid, sizeof jid, "j%d", i));
		TEST_ASSERT_EQUAL_INT(0, qless_put(q, 1, &put));
	}
	work = keyspace_fingerprint(q, STR("ql:q:q-work"));
	job = keyspace_fingerprint(q, STR("ql:j:j1"));
	TEST_ASSERT_EQUAL_UINT64(work, keyspace_fingerprint(q, STR("ql:q:q-work")));
	TEST_ASSERT_EQUAL_INT(0, qless_config_set(q, 2, STR("x"), STR("y")));
	TEST_ASSERT_TRUE(keyspace_fingerprint(q, STR("ql:q:q-work")) != work);
	TEST_ASSERT_EQUAL_UINT64(job, keyspace_fingerprint(q, STR("ql:j:j1")));
}

/* A key that is also that of a job belongs to the job. It exists once, but counts twice. */
static void a_jid_may_equal_the_key_of_another_history(void)
{
	static struct table all;
	struct qless_str jids[] = { STR("a"), STR("a-history") };
	struct keyspace_key key;

	for (int i = 0; i < 2; i++) {
		struct qless_put put = {
			.queue = STR("q"), .jid = jids[i], .klass = STR("k"), .data = STR("{}")
		};

		TEST_ASSERT_EQUAL_INT(0, qless_put(q, 1, &put));
	}
	TEST_ASSERT_TRUE(keyspace_find(q, STR("ql:j:a-history"), &key));
	TEST_ASSERT_EQUAL_INT(KEYSPACE_HASH, key.type);
	collect_all(&all);
	TEST_ASSERT_EQUAL_size_t(5, all.count);
	TEST_ASSERT_EQUAL_size_t(6, keyspace_count(q));
}

static void note_prefix(void *arg, struct qless_str key, enum keyspace_type type)
{
	size_t *jobs = arg;

	(void)type;
	*jobs += str_starts_with(key, STR("ql:j:"));
}

static void a_walk_skips_tables_without_matching_keys(void)
{
	size_t jobs = 0;
	uint64_t cursor = 0;

	for (int i = 0; i < 100; i++)
		TEST_ASSERT_TRUE(put_something(1000) <= 0);
	keyspace_each_key(q, STR("ql:q:"), note_prefix, &jobs);
	TEST_ASSERT_EQUAL_size_t(0, jobs);
	do {
		cursor = keyspace_scan(q, cursor, STR("ql:s:run"), note_prefix, &jobs);
	} while (cursor != 0);
	TEST_ASSERT_EQUAL_size_t(0, jobs);
	keyspace_each_key(q, STR("ql:"), note_prefix, &jobs);
	TEST_ASSERT_GREATER_THAN_size_t(0, jobs);
}

static void any_key_may_be_picked(void)
{
	static struct table all;
	struct buf key = BUF_INIT(BUF_NO_MAX);
	size_t *picked;

	TEST_ASSERT_FALSE(keyspace_pick(q, 1, &key));
	for (int i = 0; i < 500; i++)
		call_something(1000 + i);
	collect_all(&all);
	picked = mem_zalloc(all.count * sizeof *picked);
	for (size_t i = 0; i < 300 * all.count; i++) {
		struct entry name = { .fingerprint = 0 };
		const struct entry *entry;

		TEST_ASSERT_TRUE(keyspace_pick(q, unit_random(&seed), &key));
		memcpy(name.name, buf_data(&key), key.len);
		entry = bsearch(&name, all.entries, all.count, sizeof name, compare_entries);
		TEST_ASSERT_NOT_NULL_MESSAGE(entry, name.name);
		picked[entry - all.entries]++;
	}
	for (size_t i = 0; i < all.count; i++)
		TEST_ASSERT_INT_WITHIN_MESSAGE(250, 300, (int)picked[i], all.entries[i].name);
	free(picked);
	buf_done(&key);
}

static void a_missing_engine_has_no_keys(void)
{
	static struct table none;
	struct buf picked = BUF_INIT(BUF_NO_MAX);
	struct keyspace_key key;

	TEST_ASSERT_FALSE(keyspace_find(NULL, STR("ql:queues"), &key));
	TEST_ASSERT_EQUAL_UINT64(0, keyspace_fingerprint(NULL, STR("ql:queues")));
	TEST_ASSERT_EQUAL_size_t(0, keyspace_count(NULL));
	keyspace_each_key(NULL, STR(""), collect, &none);
	TEST_ASSERT_EQUAL_UINT64(0, keyspace_scan(NULL, 0, STR(""), collect, &none));
	TEST_ASSERT_EQUAL_size_t(0, none.count);
	TEST_ASSERT_FALSE(keyspace_pick(NULL, 1, &picked));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(counting_visiting_and_scanning_agree);
	RUN(every_visited_key_is_found_and_not_empty);
	RUN(every_member_of_a_set_is_found);
	RUN(every_field_is_found_alone_and_among_all);
	RUN(visiting_members_stops_at_the_maximum);
	RUN(every_change_is_counted_and_changes_the_fingerprint);
	RUN(fields_scores_and_order_change_the_fingerprint);
	RUN(a_long_list_counts_as_changed_after_any_change);
	RUN(a_jid_may_equal_the_key_of_another_history);
	RUN(a_walk_skips_tables_without_matching_keys);
	RUN(any_key_may_be_picked);
	RUN(a_missing_engine_has_no_keys);
	return UNIT_RESULT();
}
