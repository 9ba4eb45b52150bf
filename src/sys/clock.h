/*
 * The time.
 */
#ifndef SYS_CLOCK_H
#define SYS_CLOCK_H

#include <stdint.h>

/* Microseconds since 1970. Goes back when the administrator sets the clock. */
int64_t clock_wall_us(void);

/* Since some moment in the past; never goes back. For durations. */
int64_t clock_mono_us(void);
int64_t clock_mono_ns(void);

/* Seconds, as the engine takes them. Different microseconds give different numbers until the year
 * 2242. */
static inline double clock_seconds(int64_t us)
{
	return (double)us / 1e6;
}

/* And back, to the nearest microsecond. */
static inline int64_t clock_from_seconds(double seconds)
{
	return (int64_t)(seconds * 1e6 + 0.5);
}

/* Where a steady clock gets its time from. */
struct clock_source {
	int64_t (*wall_us)(void *arg);
	int64_t (*mono_us)(void *arg);
	void *arg;
};

/*
 * Wall time for the engine: every reading is later than the one before, and the clock never stands
 * still.
 *
 * It follows the wall clock. When that is set back, this one goes on from where it was, a little
 * slower than real time, until the wall clock has caught up.
 */
struct steady_clock {
	struct clock_source source;
	int64_t last_us; /* what the last reading returned */
	/* Where the wall clock was last seen ahead of this one, and when that was. */
	int64_t anchor_us;
	int64_t anchor_mono_us;
};

/* Copies the source; NULL for the clocks of the system. */
void steady_clock_init(struct steady_clock *clock, const struct clock_source *source);

int64_t steady_clock_read_us(struct steady_clock *clock);

/* From now on be later than `us`: for the newest time found in a log that is replayed. */
void steady_clock_pass(struct steady_clock *clock, int64_t us);

#endif
