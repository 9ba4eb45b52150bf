#include "sys/clock.h"

#include <assert.h>
#include <stddef.h>
#include <time.h>

/* A steady clock that is ahead of the wall clock runs slower by one part in this many. That
 * lengthens locks only a little, and makes up for an hour in less than a day. */
#define STEADY_CLOCK_SLOWDOWN 16

static int64_t read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_wall_us(void)
{
	return read_ns(CLOCK_REALTIME) / 1000;
}

int64_t clock_mono_us(void)
{
	return read_ns(CLOCK_MONOTONIC) / 1000;
}

int64_t clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_thread_cpu_us(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID) / 1000;
}

static int64_t system_wall_us(void *arg)
{
	(void)arg;
	return clock_wall_us();
}

static int64_t system_mono_us(void *arg)
{
	(void)arg;
	return clock_mono_us();
}

static void set_anchor(struct steady_clock *clock, int64_t us)
{
	clock->last_us = us;
	clock->anchor_us = us;
	clock->anchor_mono_us = clock->source.mono_us(clock->source.arg);
}

void steady_clock_init(struct steady_clock *clock, const struct clock_source *source)
{
	static const struct clock_source of_system = { system_wall_us, system_mono_us, NULL };

	clock->source = source != NULL ? *source : of_system;
	set_anchor(clock, clock->source.wall_us(clock->source.arg));
}

int64_t steady_clock_read_us(struct steady_clock *clock)
{
	int64_t wall_us = clock->source.wall_us(clock->source.arg);
	int64_t before_us = clock->last_us;
	/* Computed from the anchor: relative to the last reading, the slowdown of a short interval
	 * would be rounded to nothing. */
	int64_t passed_us = clock->source.mono_us(clock->source.arg) - clock->anchor_mono_us;
	int64_t slow_us = clock->anchor_us + passed_us - passed_us / STEADY_CLOCK_SLOWDOWN;

	if (wall_us >= slow_us && wall_us > clock->last_us)
		set_anchor(clock, wall_us);
	else
		clock->last_us = slow_us > clock->last_us ? slow_us : clock->last_us + 1;
	assert(clock->last_us > before_us);
	return clock->last_us;
}

void steady_clock_pass(struct steady_clock *clock, int64_t us)
{
	if (us > clock->last_us)
		set_anchor(clock, us);
}
