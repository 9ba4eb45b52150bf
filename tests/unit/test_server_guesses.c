#include <stdio.h>

#include "server/guesses.h"
#include "unit.h"

#define SECOND INT64_C(1000000)

static struct guesses *g;

void setUp(void)
{
	g = guesses_new(7);
}

void tearDown(void)
{
	guesses_free(g);
}

/* Fails `count` times at the same moment. Returns how long the next attempt has to wait. */
static int64_t delay_after(const char *peer, int count, int64_t now_us)
{
	uint64_t address = guesses_address(g, peer);
	int64_t retry_us;

	for (int i = 0; i < count; i++)
		guesses_add(g, address, now_us, SECOND);
	retry_us = guesses_retry_us(g, address, now_us);
	return retry_us != 0 ? retry_us - now_us : 0;
}

static void the_first_failures_are_free_and_then_delays_double(void)
{
	TEST_ASSERT_EQUAL_INT64(0, delay_after("10.0.0.1:1", GUESSES_FREE, SECOND));
	TEST_ASSERT_EQUAL_INT64(20000, delay_after("10.0.0.1:2", 1, SECOND));
	TEST_ASSERT_EQUAL_INT64(40000, delay_after("10.0.0.1:3", 1, SECOND));
	TEST_ASSERT_EQUAL_INT64(640000, delay_after("10.0.0.1:3", 4, SECOND));
	TEST_ASSERT_EQUAL_INT64(SECOND, delay_after("10.0.0.1:4", 1, SECOND));
	TEST_ASSERT_EQUAL_INT64(SECOND, delay_after("10.0.0.1:4", 1000, SECOND));
	TEST_ASSERT_EQUAL_INT64(0, delay_after("10.0.0.2:4", 1, SECOND));
}

static void an_address_may_try_again_after_its_delay(void)
{
	uint64_t address = guesses_address(g, "10.0.0.1:1");

	delay_after("10.0.0.1:1", 100, SECOND);
	TEST_ASSERT_EQUAL_INT64(2 * SECOND, guesses_retry_us(g, address, 2 * SECOND - 1));
	TEST_ASSERT_EQUAL_INT64(0, guesses_retry_us(g, address, 2 * SECOND));
	TEST_ASSERT_EQUAL_INT64(SECOND, delay_after("10.0.0.1:1", 1, 3 * SECOND));
}

static void a_minute_without_a_failure_is_forgiven(void)
{
	delay_after("10.0.0.1:1", 100, SECOND);
	TEST_ASSERT_EQUAL_INT64(
		0, delay_after("10.0.0.1:1", GUESSES_FREE, SECOND + GUESSES_FORGET_US));
}

static void a_network_of_ipv6_counts_as_one_address(void)
{
	uint64_t address = guesses_address(g, "[2001:db8:1:2::1]:80");

	TEST_ASSERT_TRUE(address == guesses_address(g, "[2001:db8:1:2:ffff::9]:81"));
	TEST_ASSERT_FALSE(address == guesses_address(g, "[2001:db8:1:3::1]:80"));
	TEST_ASSERT_FALSE(guesses_address(g, "[::ffff:10.0.0.1]:1") ==
			  guesses_address(g, "[::ffff:10.0.0.2]:1"));
	TEST_ASSERT_TRUE(guesses_address(g, "/run/q.sock:0") ==
			 guesses_address(g, "/run/q.sock:0"));
}

/* A million addresses fail once each; the one that goes on failing is still delayed. */
static void a_flood_of_addresses_does_not_hide_a_busy_one(void)
{
	char peer[64];

	for (int i = 0; i < 1000000; i++) {
		snprintf(peer, sizeof peer, "10.%d.%d.%d:1", i >> 16, i >> 8 & 255, i & 255);
		guesses_add(g, guesses_address(g, peer), SECOND + i, SECOND);
		if (i % 500 == 0)
			delay_after("192.168.0.1:1", 1, SECOND + i);
	}
	TEST_ASSERT_EQUAL_INT64(SECOND, delay_after("192.168.0.1:1", 1, 2 * SECOND));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_first_failures_are_free_and_then_delays_double);
	RUN(an_address_may_try_again_after_its_delay);
	RUN(a_minute_without_a_failure_is_forgiven);
	RUN(a_network_of_ipv6_counts_as_one_address);
	RUN(a_flood_of_addresses_does_not_hide_a_busy_one);
	return UNIT_RESULT();
}
