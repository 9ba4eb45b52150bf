/*
 * Processes that work in the background, and how much processor time they get.
 *
 * Such a process gives way to others. On a crowded machine that could leave it nearly no time for
 * as long as the crowd lasts. So it looks every second how long it had to wait for a processor, and
 * takes the next class if it got only a small part of the time that it could use.
 */
#ifndef SYS_BACKGROUND_H
#define SYS_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>

enum background_class {
	/* Time that no other process wants, which may be none. Unlike with the lowest priority, a
	 * process that wakes up never waits for this one to use up its time slice. */
	BACKGROUND_IDLE,
	/* Idle time, and about a tenth of what another process gets. */
	BACKGROUND_LOW,
	/* As much as any other process gets, but this one does not interrupt others. */
	BACKGROUND_FAIR,
};

/* Processor time that the process had, and time that it waited for a processor. */
struct background_times {
	int64_t ran_ns;
	int64_t waited_ns;
};

struct background {
	enum background_class class;
	int nice; /* of the process before it began */
	struct background_times since;
	void (*refused)(enum background_class next);
};

/* Nanoseconds of processor time that a process could use, after which its share is judged. */
#define BACKGROUND_PERIOD_NS INT64_C(2000000000)
/* A process that gets less than one part in BACKGROUND_SHARE of that time starves. */
#define BACKGROUND_SHARE 20

/* Give the calling process a class, and watch how much time it gets. The kernel kills it first when
 * memory runs out. The process has one thread and handles SIGALRM no further. If it starves and the
 * system does not let it take the next class, `refused` is called from the signal handler, unless
 * it is NULL or the process has run for longer than it has waited. `b` lives as long as the
 * process. */
void background_begin(struct background *b, enum background_class class,
		      void (*refused)(enum background_class next));

/* Returns whether the process starves, if enough time has passed since `since` to judge that, and
 * begins a new period. Pure. */
bool background_starves(struct background_times *since, const struct background_times *now);

#endif
