/*
 * Clocks: wall time, monotonic time, and a wall time that never goes back.
 */
#ifndef SYS_CLOCK_H
#define SYS_CLOCK_H

#include <stdbool.h>
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

/* Microseconds since the machine started, and never back. Unlike monotonic time, it includes the
 * time that the machine slept. */
int64_t clock_boot_us(void);

/* The clocks that a steady clock reads. */
struct clock_source {
	int64_t (*wall_us)(void *arg);
	int64_t (*mono_us)(void *arg);
	int64_t (*boot_us)(void *arg);
	void *arg;
};

/* Microseconds by which the wall clock may be ahead of what the monotonic clock lets expect. A wall
 * clock that is further ahead was set, and a steady clock waits before it follows. */
#define STEADY_CLOCK_AHEAD_US INT64_C(1000000)
/* Microseconds by which the wall clock may be set back while a steady clock only runs slower: it
 * makes up for ten minutes in less than three hours. Beyond this, the steady clock goes back. */
#define STEADY_CLOCK_BACK_US (10 * INT64_C(60000000))
/* Microseconds for which a wall clock that was set must keep its new time, before a steady clock
 * believes it. */
#define STEADY_CLOCK_CONFIRM_US INT64_C(60000000)

enum clock_step_kind {
	CLOCK_NO_STEP,
	CLOCK_STEP_SEEN,   /* the wall clock was set from `from_us` to `to_us` */
	CLOCK_STEP_UNDONE, /* it was set back before it was believed */
	CLOCK_STEP_DUE,	   /* it kept its new time: time is about to step */
	CLOCK_SLEEP_DUE,   /* the machine slept: time is about to step */
};

struct clock_step {
	enum clock_step_kind kind;
	int64_t from_us;
	int64_t to_us;
};

static inline bool clock_step_is_due(const struct clock_step *step)
{
	return step->kind == CLOCK_STEP_DUE || step->kind == CLOCK_SLEEP_DUE;
}

/*
 * Wall time for the engine: every reading is later than the one before, except after a step back.
 *
 * It follows the wall clock as long as that runs like the monotonic clock. When the wall clock is
 * set back a little, this clock continues from where it was, a little slower than real time, until
 * the wall clock has caught up. When the wall clock is set far away, this clock runs on like the
 * monotonic clock. The owner asks for steps every second, and carries out those that are due.
 */
struct steady_clock {
	struct clock_source source;
	int64_t last_us; /* the last reading */
	/* The last time at which the wall clock was ahead of this one, on both clocks. */
	int64_t anchor_us;
	int64_t anchor_mono_us;
	int64_t slept_us; /* boot time minus monotonic time, as of the last step */
	/* A wall clock that was set and is not believed yet. */
	bool is_doubting;
	int64_t doubt_mono_us; /* since when */
	int64_t doubt_us;      /* wall time minus monotonic time */
};

/* Copies the source; NULL means the clocks of the system. */
void steady_clock_init(struct steady_clock *clock, const struct clock_source *source);

int64_t steady_clock_read_us(struct steady_clock *clock);

/* The time of this clock now, without making later readings differ from it. */
int64_t steady_clock_peek_us(const struct steady_clock *clock);

/* Makes all further readings later than `us`, such as the newest time in a log that was replayed.
 */
void steady_clock_pass(struct steady_clock *clock, int64_t us);

/* Compares the clocks; call this every second. A due step is reported again until it is carried
 * out. */
struct clock_step steady_clock_watch(struct steady_clock *clock);

/* Carries out a step that is due. */
void steady_clock_step(struct steady_clock *clock, const struct clock_step *step);

#endif
