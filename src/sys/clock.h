/*
 * Clocks: wall time, monotonic time, and a wall time that never goes back.
 */
#ifndef SYS_CLOCK_H
#define SYS_CLOCK_H

#include <stdint.h>

/* Microseconds since 1970. Goes back when the administrator sets the clock. */
int64_t clock_wall_us(void);

/* Microseconds since an unspecified moment; never goes back. For durations. */
int64_t clock_mono_us(void);
int64_t clock_mono_ns(void);

/* Microseconds of processor time of this thread. Each call is a system call. */
int64_t clock_thread_cpu_us(void);

/* Converts to seconds, as the engine takes them. Different microseconds give different numbers
 * until the year 2242. */
static inline double clock_seconds(int64_t us)
{
	return (double)us / 1e6;
}

/* Converts seconds to the nearest microsecond. */
static inline int64_t clock_from_seconds(double seconds)
{
	return (int64_t)(seconds * 1e6 + 0.5);
}

/* The clocks that a steady clock reads. */
struct clock_source {
	int64_t (*wall_us)(void *arg);
	int64_t (*mono_us)(void *arg);
	void *arg;
};

/*
 * Wall time for the engine: every reading is later than the one before.
 *
 * It follows the wall clock. When that is set back, this clock continues from where it was, a
 * little slower than real time, until the wall clock has caught up.
 */
struct steady_clock {
	struct clock_source source;
	int64_t last_us; /* the last reading */
	/* The last time at which the wall clock was ahead of this one, on both clocks. */
	int64_t anchor_us;
	int64_t anchor_mono_us;
};

/* Copies the source; NULL means the clocks of the system. */
void steady_clock_init(struct steady_clock *clock, const struct clock_source *source);

int64_t steady_clock_read_us(struct steady_clock *clock);

/* Makes all further readings later than `us`, the newest time in a log that was replayed. */
void steady_clock_pass(struct steady_clock *clock, int64_t us);

#endif
