#include "engine.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

static const struct qless_str ab[] = { STR_INIT("a"), STR_INIT("b") };
static const struct qless_str aba[] = { STR_INIT("a"), STR_INIT("b"), STR_INIT("a") };

static void put_tagged(double now, const char *jid, const struct qless_str *tags, size_t count)
{
	struct qless_put p = a_put("q", jid);

	p.has_tags = true;
	p.tags = tags;
	p.tag_count = count;
	OK(qless_put(q, now, &p));
}

static const char *tags_of(const char *jid)
{
	static char text[256];
	struct qless_str tag;
	size_t cursor = 0;
	size_t len = 0;

	text[0] = '\0';
	while (qless_job_next_tag(qless_get(q, str_from(jid)), &cursor, &tag))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%.*s ", (int)tag.len,
					tag.ptr);
	return text;
}

static const char *tagged(const char *tag)
{
	struct qless_list jids;

	qless_tagged(q, str_from(tag), 0, 25, &jids);
	return words(&jids);
}

static void a_job_keeps_its_tags_as_given(void)
{
	put_tagged(1, "j", aba, 3);
	TEST_ASSERT_EQUAL_STRING("a b a ", tags_of("j"));
	TEST_ASSERT_EQUAL_STRING("j ", tagged("a"));
}

static void the_jobs_with_a_tag_are_listed_by_when_they_got_it(void)
{
	put_tagged(2, "late", ab, 1);
	put_tagged(1, "early", ab, 1);
	TEST_ASSERT_EQUAL_STRING("early late ", tagged("a"));
	/* A put counts as tagging again, even with inherited tags. */
	put(3, "q", "early");
	TEST_ASSERT_EQUAL_STRING("late early ", tagged("a"));
}

static void only_a_new_tag_is_added_to_the_list(void)
{
	const struct qless_job *job;

	put_tagged(1, "j", ab, 1);
	OK(qless_tag(q, 2, STR("j"), aba, 3, &job));
	TEST_ASSERT_EQUAL_STRING("a b ", tags_of("j"));
	OK(qless_tag(q, 2, STR("j"), NULL, 0, &job));
	TEST_ASSERT_EQUAL_STRING("a b ", tags_of("j"));
}

static void removing_a_tag_removes_every_copy(void)
{
	const struct qless_job *job;
	struct qless_str remove[] = { STR_INIT("a"), STR_INIT("nope"), STR_INIT("a") };

	put_tagged(1, "j", aba, 3);
	OK(qless_untag(q, 2, STR("j"), remove, 3, &job));
	TEST_ASSERT_EQUAL_STRING("b ", tags_of("j"));
	TEST_ASSERT_EQUAL_STRING("", tagged("a"));
	OK(qless_untag(q, 2, STR("j"), ab, 2, &job));
	TEST_ASSERT_EQUAL_STRING("", tags_of("j"));
}

static void tags_are_counted_by_the_jobs_that_have_them(void)
{
	const struct qless_job *job;
	struct qless_list top;
	struct qless_str jid = STR("k");

	put_tagged(1, "j", aba, 3);
	OK(qless_tag(q, 1, STR("j"), aba, 3, &job));
	qless_top_tags(q, 0, 25, &top);
	TEST_ASSERT_EQUAL_STRING("", words(&top));
	put_tagged(1, "k", ab, 2);
	put_tagged(1, "l", ab, 1);
	qless_top_tags(q, 0, 25, &top);
	TEST_ASSERT_EQUAL_STRING("a b ", words(&top));
	qless_top_tags(q, 1, 1, &top);
	TEST_ASSERT_EQUAL_STRING("b ", words(&top));
	OK(qless_cancel(q, 2, &jid, 1));
	qless_top_tags(q, 0, 25, &top);
	TEST_ASSERT_EQUAL_STRING("a ", words(&top));
}

static void an_empty_list_takes_all_tags_away(void)
{
	put_tagged(1, "j", ab, 2);
	put_tagged(2, "j", NULL, 0);
	TEST_ASSERT_EQUAL_STRING("", tags_of("j"));
	TEST_ASSERT_EQUAL_STRING("", tagged("a"));
}

static void only_existing_jobs_can_be_tagged(void)
{
	const struct qless_job *job;

	ASSERT_ERROR(QLESS_ENOJOB, "tag: job j does not exist",
		     qless_tag(q, 1, STR("j"), ab, 2, &job));
	ASSERT_ERROR(QLESS_ENOJOB, "untag: job j does not exist",
		     qless_untag(q, 1, STR("j"), ab, 2, &job));
}

static void many_tags_on_one_job_stay_fast(void)
{
	struct qless_str *tags = malloc(20000 * sizeof(*tags));
	const struct qless_job *job;
	char(*text)[8] = malloc(20000 * sizeof(*text));
	int i;

	for (i = 0; i < 20000; i++)
		tags[i] = str_make(text[i], (size_t)snprintf(text[i], sizeof(text[i]), "%d", i));
	put_tagged(1, "j", tags, 20000);
	OK(qless_tag(q, 1, STR("j"), tags, 20000, &job));
	OK(qless_untag(q, 1, STR("j"), tags, 20000, &job));
	TEST_ASSERT_EQUAL_STRING("", tags_of("j"));
	free(tags);
	free(text);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_job_keeps_its_tags_as_given);
	RUN(the_jobs_with_a_tag_are_listed_by_when_they_got_it);
	RUN(only_a_new_tag_is_added_to_the_list);
	RUN(removing_a_tag_removes_every_copy);
	RUN(tags_are_counted_by_the_jobs_that_have_them);
	RUN(an_empty_list_takes_all_tags_away);
	RUN(only_existing_jobs_can_be_tagged);
	RUN(many_tags_on_one_job_stay_fast);
	return UNIT_RESULT();
}
