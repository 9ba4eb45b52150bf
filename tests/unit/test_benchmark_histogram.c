#include "benchmark/histogram.h"

#include "unit.h"

static struct histogram h;

void setUp(void)
{
	h = (struct histogram){ 0 };
}

void tearDown(void)
{
}

static void an_empty_histogram_has_zeros(void)
{
	TEST_ASSERT_EQUAL_UINT64(0, histogram_percentile(&h, 50));
	TEST_ASSERT_EQUAL_UINT64(0, histogram_percentile(&h, 100));
	TEST_ASSERT_EQUAL_UINT64(0, histogram_count_below(&h, UINT64_MAX));
	TEST_ASSERT_TRUE(histogram_mean(&h) == 0);
}

static void small_values_are_exact(void)
{
	for (uint64_t value = 0; value < 128; value++)
		histogram_add(&h, value);
	TEST_ASSERT_EQUAL_UINT64(63, histogram_percentile(&h, 50));
	TEST_ASSERT_EQUAL_UINT64(127, histogram_percentile(&h, 100));
	TEST_ASSERT_EQUAL_UINT64(100, histogram_count_below(&h, 100));
	TEST_ASSERT_TRUE(histogram_mean(&h) == 63.5);
}

/* Compares with a sorted array. */
static void percentiles_are_exact_to_one_percent(void)
{
	static uint64_t values[100000];
	unsigned long long state = 1;
	size_t count = sizeof values / sizeof values[0];

	for (size_t i = 0; i < count; i++) {
		values[i] = (i + 1) * (i + 1); /* 1 .. 10 billion, sorted */
		histogram_add(&h, values[i]);
	}
	for (int i = 0; i < 1000; i++) {
		size_t rank = 1 + (size_t)(unit_random(&state) % count);
		double percent = ((double)rank - 0.5) * 100 / (double)count;
		uint64_t got = histogram_percentile(&h, percent);

		TEST_ASSERT_TRUE(got >= values[rank - 1]);
		TEST_ASSERT_TRUE((double)got <= (double)values[rank - 1] * 1.01);
	}
	TEST_ASSERT_EQUAL_UINT64(values[count - 1], h.max);
	TEST_ASSERT_EQUAL_UINT64(values[count - 1], histogram_percentile(&h, 100));
}

static void the_largest_value_bounds_every_percentile(void)
{
	histogram_add(&h, 1000001);
	TEST_ASSERT_EQUAL_UINT64(1000001, histogram_percentile(&h, 50));
	TEST_ASSERT_EQUAL_UINT64(1000001, histogram_percentile(&h, 99.99));
}

static void values_above_the_range_count_as_its_last(void)
{
	histogram_add(&h, UINT64_MAX);
	histogram_add(&h, 1);
	TEST_ASSERT_EQUAL_UINT64(UINT64_MAX, h.max);
	TEST_ASSERT_EQUAL_UINT64(1, histogram_percentile(&h, 50));
	TEST_ASSERT_TRUE(histogram_percentile(&h, 99) >= (uint64_t)1 << 36);
	TEST_ASSERT_EQUAL_UINT64(2, histogram_count_below(&h, UINT64_MAX));
}

static void every_power_of_two_begins_a_bucket(void)
{
	for (int bit = 0; bit < HISTOGRAM_VALUE_BITS; bit++)
		histogram_add(&h, (uint64_t)1 << bit);
	for (int bit = 0; bit < HISTOGRAM_VALUE_BITS; bit++)
		TEST_ASSERT_EQUAL_UINT64(bit, histogram_count_below(&h, (uint64_t)1 << bit));
}

static void merging_adds_all_counts(void)
{
	struct histogram other = { 0 };

	histogram_add(&h, 10);
	histogram_add(&other, 5000);
	histogram_add(&other, 20);
	histogram_merge(&h, &other);
	TEST_ASSERT_EQUAL_UINT64(3, h.count);
	TEST_ASSERT_EQUAL_UINT64(5030, h.sum);
	TEST_ASSERT_EQUAL_UINT64(5000, h.max);
	TEST_ASSERT_EQUAL_UINT64(20, histogram_percentile(&h, 50));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_empty_histogram_has_zeros);
	RUN(small_values_are_exact);
	RUN(percentiles_are_exact_to_one_percent);
	RUN(the_largest_value_bounds_every_percentile);
	RUN(values_above_the_range_count_as_its_last);
	RUN(every_power_of_two_begins_a_bucket);
	RUN(merging_adds_all_counts);
	return UNIT_RESULT();
}
