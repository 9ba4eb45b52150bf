#include "unit.h"

#include "engine/state.h"
#include "moving/build.h"
#include "moving/view.h"

static struct keys keys;
static struct findings findings;
static struct comparison comparison;
static struct qless *q;

void setUp(void)
{
	keys_init(&keys, 1);
	findings_init(&findings, 1);
	comparison = (struct comparison){ .examples = BUF_INIT(BUF_NO_MAX) };
	q = qless_new(NULL);
}

void tearDown(void)
{
	qless_free(q);
	findings_done(&findings);
	keys_done(&keys);
	comparison_done(&comparison);
}

static void delete_key(const char *name)
{
	struct key *key = keys_find(&keys, str_from(name));

	if (key != NULL)
		hash_remove(&keys.table, &key->hash);
	key_free(key);
}

/* Set a key; NULL ends the elements. Replaces an existing key. */
static void set_key(const char *name, enum key_type type, const char *const *elements)
{
	struct key *key = key_new(str_from(name), type);

	delete_key(name);
	for (; *elements != NULL; elements += key_type_stride(type)) {
		if (key_type_stride(type) == 2)
			key_add_pair(key, str_from(elements[0]), str_from(elements[1]));
		else
			key_add(key, str_from(elements[0]));
	}
	keys_add(&keys, key);
}

#define SET(name, type, ...) set_key(name, type, (const char *const[]){ __VA_ARGS__, NULL })

/* A waiting job as qless puts it at time 10. */
static void set_job(const char *key, const char *jid)
{
	SET(key, KEY_HASH, "jid", jid, "klass", "k", "data", "{}", "priority", "0", "tags", "{}",
	    "state", "waiting", "worker", "", "expires", "0", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "10.00000000000000000000");
}

static void set_usual(void)
{
	set_job("ql:j:a", "a");
	SET("ql:j:a-history", KEY_LIST, "[10,\"put\",{\"q\":\"q\"}]");
	SET("ql:q:q-work", KEY_ZSET, "a", "-1.0000000000000001e-09");
	SET("ql:queues", KEY_ZSET, "q", "10");
}

static bool append_saved(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
	return true;
}

static struct qless_str next_piece(void *arg)
{
	struct qless_str *rest = arg, piece = *rest;

	rest->len = 0;
	return piece;
}

/* The log that is written begins with a snapshot. */
static void check_snapshot(void)
{
	struct buf saved = BUF_INIT(BUF_NO_MAX), again = BUF_INIT(BUF_NO_MAX);
	struct qless *loaded = qless_new(NULL);
	struct qless_str rest;

	state_save(q, append_saved, &saved);
	rest = buf_str(&saved);
	if (state_load(loaded, next_piece, &rest) < 0)
		TEST_FAIL_MESSAGE(qless_error_text(loaded).ptr);
	state_save(loaded, append_saved, &again);
	TEST_ASSERT_TRUE(str_equal(buf_str(&saved), buf_str(&again)));
	qless_free(loaded);
	buf_done(&saved);
	buf_done(&again);
}

/* The engine is consistent and can be loaded, and findings explain its differences. */
static void build(void)
{
	build_engine(q, &keys, 100, &findings);
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, NULL, NULL));
	check_snapshot();
	compare_keys(q, &keys, &findings, &comparison);
	if (comparison.different > 0)
		TEST_FAIL_MESSAGE(buf_cstr(&comparison.examples));
}

static enum qless_state state_of(const char *jid)
{
	const struct qless_job *job = qless_get(q, str_from(jid));
	struct qless_job_info info;

	TEST_ASSERT_NOT_NULL(job);
	qless_job_read(job, &info);
	return info.state;
}

#define ASSERT_FOUND(kind, times)                                           \
	do {                                                                \
		TEST_ASSERT_EQUAL_UINT64(times, findings.counts[kind]);     \
		TEST_ASSERT_EQUAL_UINT64(times, findings_total(&findings)); \
	} while (0)

static void a_state_of_qless_is_built_without_a_finding(void)
{
	set_usual();
	build();
	TEST_ASSERT_EQUAL_UINT64(0, findings_total(&findings));
	TEST_ASSERT_EQUAL_UINT64(4, comparison.equal);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, state_of("a"));
}

static void an_empty_redis_gives_an_empty_engine(void)
{
	build();
	TEST_ASSERT_EQUAL_UINT64(0, comparison.equal);
}

static void foreign_keys_and_types_are_left_out(void)
{
	set_usual();
	SET("ql:lock", KEY_OTHER, NULL);
	build();
	ASSERT_FOUND(FINDING_FOREIGN_KEY, 1);
}

static void a_key_of_another_type_is_left_out(void)
{
	set_usual();
	SET("ql:workers", KEY_SET, "w");
	SET("ql:q:r-locks", KEY_SET, "w");
	build();
	ASSERT_FOUND(FINDING_WRONG_TYPE, 2);
}

static void an_entry_without_its_job_is_left_out(void)
{
	set_usual();
	SET("ql:q:q-work", KEY_ZSET, "a", "-1.0000000000000001e-09", "gone", "0");
	SET("ql:f:g", KEY_LIST, "lost");
	build();
	TEST_ASSERT_EQUAL_UINT64(2, findings.counts[FINDING_LOST_JOB]);
}

static void the_remains_of_a_job_are_left_out(void)
{
	set_usual();
	SET("ql:j:b", KEY_HASH, "tags", "{}");
	SET("ql:j:c-history", KEY_LIST, "[10,\"done\"]");
	build();
	ASSERT_FOUND(FINDING_PARTIAL_JOB, 2);
	TEST_ASSERT_NULL(qless_get(q, STR("b")));
}

static void a_job_in_two_lists_stays_in_the_one_of_its_state(void)
{
	set_usual();
	SET("ql:q:q-scheduled", KEY_ZSET, "a", "50");
	SET("ql:q:q-locks", KEY_ZSET, "a", "60");
	build();
	TEST_ASSERT_EQUAL_UINT64(2, findings.counts[FINDING_SECOND_PLACE]);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, state_of("a"));
}

static void the_list_of_a_job_determines_its_state(void)
{
	set_usual();
	SET("ql:q:other-scheduled", KEY_ZSET, "a", "50");
	delete_key("ql:q:q-work");
	build();
	ASSERT_FOUND(FINDING_WRONG_STATE, 1);
	TEST_ASSERT_EQUAL_INT(QLESS_SCHEDULED, state_of("a"));
}

static void a_job_in_no_list_goes_where_its_state_says(void)
{
	set_usual();
	delete_key("ql:q:q-work");
	build();
	ASSERT_FOUND(FINDING_STRAY_JOB, 1);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, state_of("a"));
}

static void invalid_fields_get_their_defaults(void)
{
	struct qless_job_info info;

	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "data", "not json", "priority", "high", "tags", "[1]",
	    "state", "waiting", "worker", "", "expires", "0", "queue", "q", "remaining", "5",
	    "time", "10", "colour", "red");
	build();
	qless_job_read(qless_get(q, STR("a")), &info);
	TEST_ASSERT_TRUE(info.priority == 0 && info.retries == 5);
	ASSERT_STR("\"not json\"", info.data);
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_DATA]);
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_FOREIGN_FIELD]);
	TEST_ASSERT_EQUAL_UINT64(4, findings.counts[FINDING_FIELD]);
}

static void fields_of_another_state_are_left_out(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "{}", "state", "waiting", "worker", "", "expires", "0", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "10", "grace", "1", "scheduled", "30");
	build();
	ASSERT_FOUND(FINDING_LEFTOVER, 2);
}

static void an_unreadable_history_is_replaced(void)
{
	set_usual();
	SET("ql:j:a-history", KEY_LIST, "\x93\x01\xa3put", "[1]", "[1,\"x\",2]");
	build();
	TEST_ASSERT_EQUAL_UINT64(3, findings.counts[FINDING_HISTORY]);
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_NO_HISTORY]);
}

static void other_history_entries_keep_their_bytes(void)
{
	struct qless_event event;
	size_t cursor = 0;

	set_usual();
	SET("ql:j:a-history", KEY_LIST, "[10,\"put\",{\"q\":\"q\"}]",
	    "[11,\"a,\\\"b\",{\"x\" : [1, 2]}]", "[12,\"popped\",{\"worker\":\"w\",\"y\":1}]");
	build();
	qless_job_next_event(qless_get(q, STR("a")), &cursor, &event);
	TEST_ASSERT_EQUAL_INT(QLESS_EVENT_PUT, event.kind);
	qless_job_next_event(qless_get(q, STR("a")), &cursor, &event);
	ASSERT_STR("a,\"b", event.what);
	ASSERT_STR("{\"x\" : [1, 2]}", event.item);
	qless_job_next_event(qless_get(q, STR("a")), &cursor, &event);
	TEST_ASSERT_EQUAL_INT(QLESS_EVENT_LOG, event.kind);
	TEST_ASSERT_EQUAL_UINT64(0, findings_total(&findings));
}

static void a_history_of_an_old_version_becomes_entries(void)
{
	struct qless_event event;
	size_t cursor = 0;
	int count = 0;

	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "{}", "state", "waiting", "worker", "", "expires", "0", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "10", "history",
	    "[{\"q\":\"q\",\"put\":1.5,\"popped\":2,\"worker\":\"w\",\"failed\":3},{\"q\":\"q\","
	    "\"put\":4,\"done\":5}]");
	delete_key("ql:j:a-history");
	build();
	while (qless_job_next_event(qless_get(q, STR("a")), &cursor, &event))
		count++;
	TEST_ASSERT_EQUAL_INT(5, count);
	TEST_ASSERT_TRUE(event.when == 5 && event.kind == QLESS_EVENT_DONE);
}

static void a_job_without_open_dependencies_goes_on(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "{}", "state", "depends", "worker", "", "expires", "0", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "10");
	SET("ql:j:a-dependencies", KEY_SET, "gone");
	delete_key("ql:q:q-work");
	SET("ql:q:q-depends", KEY_ZSET, "a", "10");
	build();
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_DEPENDENCY]);
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_NOT_WAITING]);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, state_of("a"));
}

static void tags_on_one_side_only_follow_the_job(void)
{
	set_usual();
	SET("ql:t:x", KEY_ZSET, "a", "10");
	SET("ql:tags", KEY_ZSET, "x", "3");
	build();
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_TAG]);
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_TAG_COUNT]);
}

static void a_tag_missing_from_its_list_follows_the_job(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "[\"x\"]", "state", "waiting", "worker", "", "expires", "0", "queue", "q", "retries",
	    "5", "remaining", "5", "time", "10");
	SET("ql:t:x", KEY_ZSET, "gone", "10");
	SET("ql:tags", KEY_ZSET, "x", "1");
	build();
	ASSERT_FOUND(FINDING_TAG, 2);
}

static void infinite_times_are_ignored(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "[\"x\"]", "state", "waiting", "worker", "", "expires", "0", "queue", "q", "retries",
	    "5", "remaining", "5", "time", "10");
	SET("ql:t:x", KEY_ZSET, "a", "inf");
	SET("ql:tags", KEY_ZSET, "x", "1");
	SET("ql:tracked", KEY_ZSET, "a", "-inf");
	build();
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_FIELD]);
	TEST_ASSERT_TRUE(findings.counts[FINDING_TAG] > 0);
}

static void a_zero_has_no_sign(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "[\"x\",\"y\"]", "state", "waiting", "worker", "", "expires", "0", "queue", "q",
	    "retries", "5", "remaining", "5", "time", "0");
	SET("ql:j:b", KEY_HASH, "jid", "b", "klass", "k", "data", "{}", "priority", "-0", "tags",
	    "[\"y\",\"x\",\"x\"]", "state", "waiting", "worker", "", "expires", "0", "queue", "q",
	    "retries", "5", "remaining", "5", "time", "-0");
	SET("ql:j:b-history", KEY_LIST, "[10,\"put\",{\"q\":\"q\"}]");
	SET("ql:q:q-work", KEY_ZSET, "a", "0", "b", "0");
	SET("ql:t:x", KEY_ZSET, "a", "-0", "b", "0");
	SET("ql:t:y", KEY_ZSET, "a", "0", "b", "-0");
	SET("ql:tags", KEY_ZSET, "y", "2", "x", "3");
	build();
	TEST_ASSERT_EQUAL_UINT64(findings.counts[FINDING_TAG_COUNT], findings_total(&findings));
}

static void a_job_that_timed_out_is_first_or_waits(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "{}", "state", "stalled", "worker", "", "expires", "0", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "10");
	SET("ql:q:q-work", KEY_ZSET, "a", "-inf");
	build();
	ASSERT_FOUND(FINDING_WRONG_STATE, 1);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, state_of("a"));
}

static void empty_fields_get_their_defaults(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags", "",
	    "state", "depends", "worker", "", "expires", "", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "", "scheduled", "");
	delete_key("ql:q:q-work");
	SET("ql:q:q-depends", KEY_ZSET, "a", "10");
	build();
	TEST_ASSERT_EQUAL_UINT64(4, findings.counts[FINDING_FIELD]);
}

static void a_failed_job_has_no_lock(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "{}", "state", "failed", "worker", "", "expires", "0", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "10", "failure",
	    "{\"group\":\"g\",\"message\":\"m\",\"when\":10,\"worker\":\"w\"}");
	delete_key("ql:q:q-work");
	SET("ql:f:g", KEY_LIST, "a");
	SET("ql:failures", KEY_SET, "g");
	build();
	ASSERT_FOUND(FINDING_LEFTOVER, 1);
}

static void a_failed_job_without_a_failure_gets_one(void)
{
	static const char *const failures[] = { "{}", "[]" };

	for (size_t i = 0; i < 3; i++) {
		tearDown();
		setUp();
		set_usual();
		SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0",
		    "tags", "{}", "state", "failed", "worker", "", "expires", "", "queue", "q",
		    "retries", "5", "remaining", "5", "time", "10", i < 2 ? "failure" : NULL,
		    failures[i % 2]);
		delete_key("ql:q:q-work");
		SET("ql:f:g", KEY_LIST, "a");
		build();
		TEST_ASSERT_TRUE(findings.counts[FINDING_FIELD] > 0);
		TEST_ASSERT_EQUAL_INT(QLESS_FAILED, state_of("a"));
	}
}

static void a_failure_with_other_members_is_adapted(void)
{
	static const char *const failures[] = {
		"{\"group\":\"g\",\"message\":\"m\",\"worker\":\"w\"}",
		"{\"group\":\"g\",\"message\":\"m\",\"worker\":\"w\",\"when\":\"now\"}",
		"{\"group\":\"g\",\"message\":\"m\",\"worker\":\"w\",\"when\":1,\"x\":1}",
	};

	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
		tearDown();
		setUp();
		set_usual();
		SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0",
		    "tags", "{}", "state", "waiting", "worker", "", "expires", "0", "queue", "q",
		    "retries", "5", "remaining", "5", "time", "10", "failure", failures[i]);
		build();
		ASSERT_FOUND(FINDING_FIELD, 1);
	}
}

static void times_with_extra_digits_may_differ(void)
{
	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "{}", "state", "waiting", "worker", "", "expires", "0", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "10", "failure",
	    "{\"group\":\"g\",\"message\":\"m\",\"when\":0.1234567890123456,\"worker\":\"w\"}");
	SET("ql:j:a-history", KEY_LIST, "[10,\"put\",{\"q\":\"q\"}]", "[9007199254740993,\"x\"]",
	    "[-0.0,\"x\"]");
	build();
	TEST_ASSERT_EQUAL_UINT64(0, findings_total(&findings));
	TEST_ASSERT_EQUAL_UINT64(2, comparison.explained);
}

static void lists_with_long_names_are_left_out(void)
{
	static char name[QLESS_MAX_NAME_BYTES + 16];

	set_usual();
	delete_key("ql:q:q-work");
	memset(name, 'x', sizeof name - 1);
	memcpy(name, "ql:q:", 5);
	memcpy(name + sizeof name - 1 - 5, "-work", 5);
	SET(name, KEY_ZSET, "a", "10");
	build();
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_TOO_LONG]);
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_STRAY_JOB]);
}

static void statistics_in_another_spelling_are_left_out(void)
{
	set_usual();
	SET("ql:s:wait:86400:a", KEY_HASH, "total", "inf", "mean", "5", "vk", "0");
	SET("ql:s:wait:86400:b", KEY_HASH, "total", "1", "mean", "nan", "vk", "0");
	SET("ql:s:wait:86400:c", KEY_HASH, "total", "1", "vk", "0");
	SET("ql:s:wait:86400:d", KEY_HASH, "total", "1", "mean", "5", "vk", "0", "s05", "1");
	SET("ql:s:run:86400.0:e", KEY_HASH, "total", "1", "mean", "5", "vk", "0", "s5", "1");
	SET("ql:s:run:86400:f", KEY_HASH, "total", "1e300", "mean", "5", "vk", "0", "s5",
	    "9223372036854775808");
	SET("ql:s:stats: 86400:g", KEY_HASH, "failures", "1");
	SET("ql:s:stats:86400:h", KEY_HASH, "retries", "9007199254740992");
	SET("ql:s:stats:86400:i", KEY_HASH, "failures", "-1");
	build();
	ASSERT_FOUND(FINDING_STATISTICS, 9);
}

static void invalid_options_and_statistics_are_left_out(void)
{
	set_usual();
	SET("ql:config", KEY_HASH, "heartbeat", "soon", "application", "mine");
	SET("ql:s:wait:86400:q", KEY_HASH, "total", "1", "mean", "5", "vk", "0", "s5", "2");
	SET("ql:s:run:86401:q", KEY_HASH, "total", "1", "mean", "5", "vk", "0", "s5", "1");
	SET("ql:s:stats:0:q", KEY_HASH, "failed", "2", "failures", "1");
	build();
	TEST_ASSERT_EQUAL_UINT64(1, findings.counts[FINDING_OPTION]);
	TEST_ASSERT_EQUAL_UINT64(3, findings.counts[FINDING_STATISTICS]);
}

static void a_recurring_job_in_no_queue_is_left_out(void)
{
	set_usual();
	SET("ql:r:r", KEY_HASH, "jid", "r", "klass", "k", "data", "{}", "queue", "q", "interval",
	    "60");
	SET("ql:q:p-recur", KEY_ZSET, "s", "100");
	build();
	ASSERT_FOUND(FINDING_RECURRING, 2);
}

static void a_recurring_job_of_another_qlessd_keeps_its_schedule(void)
{
	struct qless_recur_info info;

	set_usual();
	SET("ql:r:r", KEY_HASH, "jid", "r", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "{}", "state", "recur", "queue", "q", "type", "cron", "count", "3", "interval", "0",
	    "retries", "0", "backlog", "0", "cron", "@daily", "tz", "Europe/Berlin", "rule",
	    "CET-1CEST,M3.5.0,M10.5.0/3", "missed", "skip", "overlap", "skip");
	SET("ql:q:q-recur", KEY_ZSET, "r", "1795215600");
	build();
	TEST_ASSERT_EQUAL_UINT64(0, findings.counts[FINDING_RECURRING]);
	TEST_ASSERT_NOT_NULL(qless_recur_get(q, STR("r")));
	qless_recur_read(qless_recur_get(q, STR("r")), &info);
	TEST_ASSERT_TRUE(info.has_schedule);
	ASSERT_STR("@daily", info.schedule.cron);
	TEST_ASSERT_EQUAL_INT(QLESS_MISSED_SKIP, info.schedule.missed);
	TEST_ASSERT_EQUAL_INT(QLESS_OVERLAP_SKIP, info.schedule.overlap);
	TEST_ASSERT_TRUE(qless_next_tick(q, NULL) == 1795215600);
}

static void a_lock_expires_when_the_list_says(void)
{
	struct qless_job_info info;

	set_usual();
	SET("ql:j:a", KEY_HASH, "jid", "a", "klass", "k", "data", "{}", "priority", "0", "tags",
	    "{}", "state", "running", "worker", "w", "expires", "60", "queue", "q", "retries", "5",
	    "remaining", "5", "time", "10");
	delete_key("ql:q:q-work");
	SET("ql:q:q-locks", KEY_ZSET, "a", "70");
	SET("ql:w:w:jobs", KEY_ZSET, "a", "80", "ghost", "5");
	SET("ql:workers", KEY_ZSET, "w", "10");
	build();
	qless_job_read(qless_get(q, STR("a")), &info);
	TEST_ASSERT_TRUE(info.expires == 70);
	ASSERT_FOUND(FINDING_LOCK, 2);
}

static void differences_without_a_finding_are_reported(void)
{
	set_usual();
	build_engine(q, &keys, 100, &findings);
	SET("ql:queues", KEY_ZSET, "q", "11");
	compare_keys(q, &keys, &findings, &comparison);
	TEST_ASSERT_EQUAL_UINT64(1, comparison.different);
}

static void numbers_and_json_may_have_another_spelling(void)
{
	struct key *hash = key_new(STR("ql:j:a"), KEY_HASH);

	TEST_ASSERT_TRUE(view_same(hash, STR("time"), STR("10"), STR("10.000")));
	TEST_ASSERT_TRUE(view_same(hash, STR("tags"), STR("[]"), STR("{}")));
	TEST_ASSERT_TRUE(view_same(hash, STR("tags"), STR("[\"a\\/b\"]"), STR("[\"a/b\"]")));
	TEST_ASSERT_FALSE(view_same(hash, STR("data"), STR("{ }"), STR("{}")));
	TEST_ASSERT_FALSE(view_same(hash, STR("worker"), STR("1"), STR("1.0")));
	key_free(hash);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_state_of_qless_is_built_without_a_finding);
	RUN(an_empty_redis_gives_an_empty_engine);
	RUN(foreign_keys_and_types_are_left_out);
	RUN(a_key_of_another_type_is_left_out);
	RUN(an_entry_without_its_job_is_left_out);
	RUN(the_remains_of_a_job_are_left_out);
	RUN(a_job_in_two_lists_stays_in_the_one_of_its_state);
	RUN(the_list_of_a_job_determines_its_state);
	RUN(a_job_in_no_list_goes_where_its_state_says);
	RUN(invalid_fields_get_their_defaults);
	RUN(fields_of_another_state_are_left_out);
	RUN(an_unreadable_history_is_replaced);
	RUN(other_history_entries_keep_their_bytes);
	RUN(a_history_of_an_old_version_becomes_entries);
	RUN(a_job_without_open_dependencies_goes_on);
	RUN(tags_on_one_side_only_follow_the_job);
	RUN(a_tag_missing_from_its_list_follows_the_job);
	RUN(infinite_times_are_ignored);
	RUN(a_zero_has_no_sign);
	RUN(a_job_that_timed_out_is_first_or_waits);
	RUN(empty_fields_get_their_defaults);
	RUN(a_failed_job_has_no_lock);
	RUN(a_failed_job_without_a_failure_gets_one);
	RUN(a_failure_with_other_members_is_adapted);
	RUN(times_with_extra_digits_may_differ);
	RUN(lists_with_long_names_are_left_out);
	RUN(statistics_in_another_spelling_are_left_out);
	RUN(invalid_options_and_statistics_are_left_out);
	RUN(a_recurring_job_in_no_queue_is_left_out);
	RUN(a_recurring_job_of_another_qlessd_keeps_its_schedule);
	RUN(a_lock_expires_when_the_list_says);
	RUN(differences_without_a_finding_are_reported);
	RUN(numbers_and_json_may_have_another_spelling);
	return UNIT_RESULT();
}
