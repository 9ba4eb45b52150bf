#include "util/nearest.h"

#include "unit.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void a_distance_counts_the_mistakes(void)
{
	TEST_ASSERT_EQUAL_size_t(0, nearest_distance(STR("delay"), STR("DELAY")));
	TEST_ASSERT_EQUAL_size_t(1, nearest_distance(STR("delays"), STR("delay")));
	TEST_ASSERT_EQUAL_size_t(1, nearest_distance(STR("dely"), STR("delay")));
	TEST_ASSERT_EQUAL_size_t(1, nearest_distance(STR("deley"), STR("delay")));
	TEST_ASSERT_EQUAL_size_t(1, nearest_distance(STR("dealy"), STR("delay")));
	TEST_ASSERT_EQUAL_size_t(2, nearest_distance(STR("edealy"), STR("delay")));
	TEST_ASSERT_EQUAL_size_t(5, nearest_distance(STR(""), STR("delay")));
	TEST_ASSERT_EQUAL_size_t(7, nearest_distance(STR("sitting"), STR("abcdeff")));
	TEST_ASSERT_EQUAL_size_t(3, nearest_distance(STR("kitten"), STR("sitting")));
}

static struct qless_str nearest_of(struct qless_str typed)
{
	static const struct qless_str names[] = {
		STR_INIT("heartbeat"),
		STR_INIT("grace-period"),
		STR_INIT("jobs-history"),
		STR_INIT("jobs-history-count"),
	};
	struct nearest nearest;

	nearest_begin(&nearest, typed);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		nearest_try(&nearest, names[i]);
	return nearest.found;
}

static void the_nearest_name_is_found(void)
{
	ASSERT_STR("heartbeat", nearest_of(STR("hartbeet")));
	ASSERT_STR("heartbeat", nearest_of(STR("HEART-BEAT")));
	ASSERT_STR("jobs-history", nearest_of(STR("job-history")));
	ASSERT_STR("jobs-history-count", nearest_of(STR("jobs-history-cuont")));
	ASSERT_STR("grace-period", nearest_of(STR("grace")));
	/* The first of equals. */
	ASSERT_STR("jobs-history", nearest_of(STR("jobs")));
}

static void a_name_that_is_like_no_other_has_no_nearest_name(void)
{
	char longest[NEAREST_MAX + 1] = { 0 };

	TEST_ASSERT_NULL(nearest_of(STR("color")).ptr);
	TEST_ASSERT_NULL(nearest_of(STR("h")).ptr);
	TEST_ASSERT_NULL(nearest_of(STR("")).ptr);
	TEST_ASSERT_NULL(nearest_of(str_make(longest, sizeof longest)).ptr);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_distance_counts_the_mistakes);
	RUN(the_nearest_name_is_found);
	RUN(a_name_that_is_like_no_other_has_no_nearest_name);
	return UNIT_RESULT();
}
