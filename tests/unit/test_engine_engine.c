/*
 * The engine as a library: errors, counters, the dump, and freeing.
 */
#include <math.h>

#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static void an_engine_needs_no_hooks(void)
{
	struct qless *quiet = qless_new(NULL);
	struct qless_put p = a_put("q", "j");
	struct qless_jobs jobs;

	OK(qless_put(quiet, 1, &p));
	OK(qless_pop(quiet, 2, STR("q"), STR("w"), 1, &jobs));
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
	qless_free(quiet);
	qless_free(NULL);
}

static void errors_have_code_words(void)
{
	TEST_ASSERT_EQUAL_STRING("NOJOB", qless_error_word(QLESS_ENOJOB));
	TEST_ASSERT_EQUAL_STRING("NOTOWNER", qless_error_word(QLESS_ENOTOWNER));
	TEST_ASSERT_EQUAL_STRING("ERR", qless_error_word(-1000));
}

static void reading_counts_no_change(void)
{
	struct qless_jobs jobs;
	struct qless_list list;
	uint64_t changes;

	put(1, "q", "j");
	changes = qless_changes(q);
	TEST_ASSERT_TRUE(changes > 0);
	OK(qless_peek(q, 2, STR("q"), 5, &jobs));
	OK(qless_jobs(q, 2, QLESS_LIST_SCHEDULED, STR("q"), 0, 25, &list));
	qless_queue_length(q, STR("q"));
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(q));
}

static void the_latest_time_is_that_of_changes(void)
{
	struct qless_jobs jobs;

	TEST_ASSERT_TRUE(isinf(qless_latest(q)));
	put(5, "q", "j");
	put(3, "q", "k");
	OK(qless_peek(q, 100, STR("q"), 5, &jobs));
	TEST_ASSERT_TRUE(qless_latest(q) == 5);
}

static void a_time_that_is_not_finite_is_refused(void)
{
	struct qless_put p = a_put("q", "j");
	struct qless_queue_counts counts;
	struct qless_jobs jobs;

	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_put(q, NAN, &p));
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_pop(q, INFINITY, STR("q"), STR("w"), 1, &jobs));
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_queue_counts(q, NAN, STR("q"), &counts));
	ASSERT_STR("now is not a finite number: nan", qless_error_text(q));
	TEST_ASSERT_EQUAL_UINT64(0, qless_changes(q));
}

static void names_have_a_largest_length(void)
{
	struct qless_put p = a_put("q", "j");
	char *name = malloc(QLESS_MAX_NAME_BYTES + 1);

	memset(name, 'x', QLESS_MAX_NAME_BYTES + 1);
	p.jid = str_make(name, QLESS_MAX_NAME_BYTES);
	OK(qless_put(q, 1, &p));
	p.jid.len++;
	TEST_ASSERT_EQUAL_INT(QLESS_ELIMIT, qless_put(q, 1, &p));
	p.jid.len--;
	p.queue = str_make(name, QLESS_MAX_NAME_BYTES + 1);
	TEST_ASSERT_EQUAL_INT(QLESS_ELIMIT, qless_put(q, 1, &p));
	free(name);
}

static void the_dump_follows_from_the_state_alone(void)
{
	struct qless_hooks hooks = { .hash_seed = 4711 };
	struct qless *other = qless_new(&hooks);
	struct qless_put p = a_put("q", "");
	struct buf dumps[2] = { BUF_INIT(BUF_NO_MAX), BUF_INIT(BUF_NO_MAX) };
	char jid[8];
	int i;

	for (i = 0; i < 100; i++) {
		p.jid = str_make(jid, (size_t)snprintf(jid, sizeof(jid), "%d", i * 37 % 100));
		OK(qless_put(q, i, &p));
		OK(qless_put(other, i, &p));
	}
	qless_dump(q, append_piece, &dumps[0]);
	qless_dump(other, append_piece, &dumps[1]);
	TEST_ASSERT_TRUE(dumps[0].len > 1000);
	TEST_ASSERT_TRUE(str_equal(buf_str(&dumps[0]), buf_str(&dumps[1])));
	OK(qless_put(other, 99, &p));
	buf_clear(&dumps[1]);
	qless_dump(other, append_piece, &dumps[1]);
	TEST_ASSERT_FALSE(str_equal(buf_str(&dumps[0]), buf_str(&dumps[1])));
	buf_done(&dumps[0]);
	buf_done(&dumps[1]);
	qless_free(other);
}

/* Four jobs, and one of every other object. */
static void fill(struct qless *engine)
{
	const struct qless_str tags[] = { STR("t"), STR("u"), STR("t") };
	const struct qless_str on[] = { STR("a"), STR("b") };
	struct qless_str queue = STR("q"), data = STR("[1,2,3,4,5,6]");
	struct qless_put p = a_put("q", "a");
	struct qless_recur_put r = { .queue = STR("r"),
				     .jid = STR("rj"),
				     .klass = STR("K"),
				     .data = STR("{}"),
				     .interval = 60,
				     .tags = tags,
				     .tag_count = 3 };
	struct qless_jobs jobs;
	bool was_new;

	p.has_tags = true;
	p.tags = tags;
	p.tag_count = 3;
	OK(qless_put(engine, 1, &p));
	p.jid = STR("b");
	OK(qless_put(engine, 2, &p));
	p.jid = STR("c");
	p.depends = on;
	p.depend_count = 2;
	OK(qless_put(engine, 3, &p));
	OK(qless_pop(engine, 4, queue, STR("w"), 2, &jobs));
	OK(qless_fail(engine, 5, on[0], STR("w"), STR("g"), STR("m"), &data));
	OK(qless_track(engine, 6, on[0], &was_new));
	OK(qless_recur(engine, 7, &r));
	OK(qless_pop(engine, 8, r.queue, STR("w"), 1, &jobs));
	OK(qless_config_set(engine, 9, STR("q-heartbeat"), STR("5")));
	OK(qless_pause(engine, 10, &queue, 1));
}

/* The sanitizers find memory that is leaked or freed twice. */
static void an_engine_can_be_freed_in_parts(void)
{
	for (size_t step = 1; step <= 3; step++) {
		struct qless *engine = qless_new(NULL);
		size_t steps = 1;

		fill(engine);
		while (qless_free_some(engine, step))
			steps++;
		TEST_ASSERT_TRUE(steps * step >= 20 && steps * step <= 60);
	}
}

/* A job, a worker and a queue, each with more parts than one call frees. */
static void an_object_with_many_parts_is_freed_in_parts(void)
{
	struct qless *engine = qless_new(NULL);
	struct qless_str jid = STR("all wait for this");
	struct qless_put first = a_put("q", jid.ptr);
	struct qless_jobs jobs;
	char text[16];
	size_t steps = 1;

	OK(qless_put(engine, 1, &first));
	for (int i = 0; i < 500; i++) {
		struct qless_put put;

		snprintf(text, sizeof text, "j%d", i);
		put = a_put("q", text);
		OK(qless_put(engine, 1, &put));
		snprintf(text, sizeof text, "waits%d", i);
		put = a_put("q", text);
		put.depends = &jid;
		put.depend_count = 1;
		OK(qless_put(engine, 2, &put));
	}
	OK(qless_pop(engine, 3, STR("q"), STR("w"), 500, &jobs));
	TEST_ASSERT_EQUAL_size_t(500, jobs.count);
	while (qless_free_some(engine, 10))
		steps++;
	/* 1,001 jobs, two ends of 500 dependencies, 500 locks, and several names. */
	TEST_ASSERT_TRUE(steps >= 250 && steps <= 255);
}

static void an_empty_engine_is_freed_at_once(void)
{
	TEST_ASSERT_FALSE(qless_free_some(qless_new(NULL), 1));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_engine_needs_no_hooks);
	RUN(errors_have_code_words);
	RUN(reading_counts_no_change);
	RUN(the_latest_time_is_that_of_changes);
	RUN(a_time_that_is_not_finite_is_refused);
	RUN(names_have_a_largest_length);
	RUN(the_dump_follows_from_the_state_alone);
	RUN(an_engine_can_be_freed_in_parts);
	RUN(an_object_with_many_parts_is_freed_in_parts);
	RUN(an_empty_engine_is_freed_at_once);
	return UNIT_RESULT();
}
