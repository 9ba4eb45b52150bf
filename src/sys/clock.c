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

int64_t clock_boot_us(void)
{
	return read_ns(CLOCK_BOOTTIME) / 1000;
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

static int64_t system_boot_us(void *arg)
{
	(void)arg;
	return clock_boot_us();
}

static int64_t wall_us(const struct steady_clock *clock)
{
	return clock->source.wall_us(clock->source.arg);
}

static int64_t mono_us(const struct steady_clock *clock)
{
	return clock->source.mono_us(clock->source.arg);
}

static int64_t slept_us(const struct steady_clock *clock)
{
	return clock->source.boot_us(clock->source.arg) - mono_us(clock);
}

static void set_anchor(struct steady_clock *clock, int64_t us)
{
	clock->last_us = us;
	clock->anchor_us = us;
	clock->anchor_mono_us = mono_us(clock);
}

void steady_clock_init(struct steady_clock *clock, const struct clock_source *source)
{
	static const struct clock_source of_system = { system_wall_us, system_mono_us,
						       system_boot_us, NULL };

	*clock = (struct steady_clock){ .source = source != NULL ? *source : of_system };
	set_anchor(clock, wall_us(clock));
	clock->slept_us = slept_us(clock);
}

/* The time by the other clocks. */
struct estimate {
	int64_t wall_us;
	int64_t expected_us; /* by the monotonic clock */
	int64_t slow_us;     /* by a slower monotonic clock */
};

static struct estimate estimate(const struct steady_clock *clock)
{
	/* Computed from the anchor: relative to the last reading, the slowdown of a short interval
	 * would be rounded to nothing. */
	int64_t passed_us = mono_us(clock) - clock->anchor_mono_us;
	int64_t expected_us = clock->anchor_us + passed_us;

	return (struct estimate){
		.wall_us = wall_us(clock),
		.expected_us = expected_us,
		.slow_us = expected_us - passed_us / STEADY_CLOCK_SLOWDOWN,
	};
}

/* Returns whether the wall clock was set ahead. */
static bool is_too_far_ahead(const struct estimate *now)
{
	return now->wall_us > now->expected_us + STEADY_CLOCK_AHEAD_US;
}

/* Returns whether the wall clock can be followed as it is. */
static bool can_follow(const struct steady_clock *clock, const struct estimate *now)
{
	return now->wall_us >= now->slow_us && now->wall_us > clock->last_us &&
	       !is_too_far_ahead(now);
}

/* The time while the wall clock cannot be followed. */
static int64_t time_alone(const struct estimate *now)
{
	return is_too_far_ahead(now) ? now->expected_us : now->slow_us;
}

int64_t steady_clock_read_us(struct steady_clock *clock)
{
	struct estimate now = estimate(clock);
	int64_t before_us = clock->last_us;
	int64_t alone_us;

	if (can_follow(clock, &now)) {
		set_anchor(clock, now.wall_us);
	} else {
		alone_us = time_alone(&now);
		clock->last_us = alone_us > before_us ? alone_us : before_us + 1;
	}
	assert(clock->last_us > before_us);
	return clock->last_us;
}

int64_t steady_clock_peek_us(const struct steady_clock *clock)
{
	struct estimate now = estimate(clock);
	int64_t us = can_follow(clock, &now) ? now.wall_us : time_alone(&now);

	return us > clock->last_us ? us : clock->last_us;
}

void steady_clock_pass(struct steady_clock *clock, int64_t us)
{
	if (us > clock->last_us)
		set_anchor(clock, us);
}

static bool differ_by_more(int64_t a, int64_t b, int64_t by)
{
	return a > b ? a - b > by : b - a > by;
}

static struct clock_step step_to(const struct steady_clock *clock, enum clock_step_kind kind,
				 int64_t to_us)
{
	return (struct clock_step){ kind, steady_clock_peek_us(clock), to_us };
}

/* Doubt the wall clock until it has kept its time for a while. */
static struct clock_step doubt(struct steady_clock *clock, int64_t wall)
{
	int64_t mono = mono_us(clock);

	if (!clock->is_doubting ||
	    differ_by_more(wall - mono, clock->doubt_us, STEADY_CLOCK_AHEAD_US)) {
		clock->is_doubting = true;
		clock->doubt_mono_us = mono;
		clock->doubt_us = wall - mono;
		return step_to(clock, CLOCK_STEP_SEEN, wall);
	}
	return step_to(clock,
		       mono - clock->doubt_mono_us >= STEADY_CLOCK_CONFIRM_US ? CLOCK_STEP_DUE
									      : CLOCK_NO_STEP,
		       wall);
}

struct clock_step steady_clock_watch(struct steady_clock *clock)
{
	int64_t slept = slept_us(clock) - clock->slept_us;
	struct estimate now = estimate(clock);

	if (slept > STEADY_CLOCK_AHEAD_US)
		return step_to(clock, CLOCK_SLEEP_DUE, steady_clock_peek_us(clock) + slept);
	if (is_too_far_ahead(&now) || now.wall_us < clock->last_us - STEADY_CLOCK_BACK_US)
		return doubt(clock, now.wall_us);
	/* Keeps the anchor recent, so that a slow drift does not add up to a step. */
	if (can_follow(clock, &now))
		set_anchor(clock, now.wall_us);
	if (!clock->is_doubting)
		return step_to(clock, CLOCK_NO_STEP, now.wall_us);
	clock->is_doubting = false;
	return step_to(clock, CLOCK_STEP_UNDONE, now.wall_us);
}

void steady_clock_step(struct steady_clock *clock, const struct clock_step *step)
{
	assert(clock_step_is_due(step));
	set_anchor(clock, step->to_us);
	clock->slept_us = slept_us(clock);
	clock->is_doubting = false;
}
