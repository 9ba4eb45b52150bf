#include "sys/background.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "sys/child.h"

/* Nice value that BACKGROUND_LOW adds: about a tenth of the weight of another process. */
#define LOW_NICE 10
/* Seconds between two looks at the times. */
#define LOOK_SECONDS 1

bool background_starves(struct background_times *since, const struct background_times *now)
{
	int64_t ran_ns = now->ran_ns - since->ran_ns;
	int64_t wanted_ns = ran_ns + now->waited_ns - since->waited_ns;

	if (wanted_ns < BACKGROUND_PERIOD_NS)
		return false;
	*since = *now;
	return ran_ns * BACKGROUND_SHARE < wanted_ns;
}

/* Also called by a signal handler. Returns false if the kernel does not count these times. */
static bool read_times(struct background_times *ret)
{
	int fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	char text[128], *end;
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, text, sizeof text - 1);
	close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	ret->ran_ns = strtoll(text, &end, 10);
	ret->waited_ns = strtoll(end, &end, 10);
	return true;
}

static bool set_policy(int policy)
{
	struct sched_param none = { 0 };

	return sched_setscheduler(0, policy, &none) == 0;
}

static bool set_class(const struct background *b, enum background_class class)
{
	switch (class) {
	case BACKGROUND_IDLE:
		return set_policy(SCHED_IDLE);
	case BACKGROUND_LOW:
		return setpriority(PRIO_PROCESS, 0, b->nice + LOW_NICE) == 0 &&
		       (sched_getscheduler(0) != SCHED_IDLE || set_policy(SCHED_OTHER));
	case BACKGROUND_FAIR:
		return setpriority(PRIO_PROCESS, 0, b->nice) == 0 && set_policy(SCHED_BATCH);
	}
	return false;
}

static void look(struct background *b)
{
	struct background_times now;
	enum background_class next = b->class + 1;

	if (b->class == BACKGROUND_FAIR || !read_times(&now) ||
	    !background_starves(&b->since, &now))
		return;
	if (set_class(b, next))
		b->class = next;
	else if (b->refused != NULL && now.waited_ns >= now.ran_ns)
		b->refused(next);
}

static void on_alarm(int number, siginfo_t *info, void *context)
{
	int error = errno;

	(void)number;
	(void)context;
	look(info->si_value.sival_ptr);
	errno = error;
}

static bool watch(struct background *b)
{
	struct sigaction action = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGALRM,
				  .sigev_value.sival_ptr = b };
	struct itimerspec often = { .it_value.tv_sec = LOOK_SECONDS,
				    .it_interval.tv_sec = LOOK_SECONDS };
	timer_t timer;

	if (!read_times(&b->since) || sigaction(SIGALRM, &action, NULL) < 0 ||
	    timer_create(CLOCK_MONOTONIC, &event, &timer) < 0)
		return false;
	return timer_settime(timer, 0, &often, NULL) == 0;
}

/* A process that cannot see that it starves must not starve. */
void background_begin(struct background *b, enum background_class class,
		      void (*refused)(enum background_class next))
{
	*b = (struct background){ .nice = getpriority(PRIO_PROCESS, 0), .refused = refused };
	if (!watch(b) && class == BACKGROUND_IDLE)
		class = BACKGROUND_LOW;
	b->class = class;
	if (!set_class(b, class) && class == BACKGROUND_IDLE) {
		b->class = BACKGROUND_LOW;
		set_class(b, BACKGROUND_LOW);
	}
	child_be_killed_first();
}
