#include "server/alarm.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "server/server_int.h"

/* Microseconds that the alarm waits at most. */
#define ALARM_MAX_US (INT64_C(86400) * 1000000)

/* The turn does the work. */
static void on_ring(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	uint64_t expirations;

	(void)what;
	if (read(fd, &expirations, sizeof expirations) < 0)
		return;
	s->alarm.rings_us = INT64_MAX;
	server_read_clock(s);
}

int alarm_init(struct server *s, struct buf *ret_error)
{
	struct alarm *alarm = &s->alarm;

	alarm->rings_us = INT64_MAX;
	alarm->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (alarm->fd < 0) {
		buf_printf(ret_error, "cannot make a timer: %s", strerror(errno));
		return -1;
	}
	alarm->event = event_new(s->base, alarm->fd, EV_READ | EV_PERSIST, on_ring, s);
	event_add(alarm->event, NULL);
	return 0;
}

void alarm_done(struct server *s)
{
	if (s->alarm.event == NULL)
		return;
	event_free(s->alarm.event);
	close(s->alarm.fd);
}

void alarm_ring_in(struct server *s, double delay_us)
{
	struct alarm *alarm = &s->alarm;
	int64_t now_us = clock_mono_us();
	struct itimerspec delay = { 0 };
	int64_t us;

	if (delay_us == INFINITY)
		return;
	us = (int64_t)ceil(fmin(fmax(delay_us, 1), (double)ALARM_MAX_US));
	if (alarm->rings_us <= now_us + us)
		return;
	alarm->rings_us = now_us + us;
	delay.it_value.tv_sec = us / 1000000;
	delay.it_value.tv_nsec = us % 1000000 * 1000;
	timerfd_settime(alarm->fd, 0, &delay, NULL);
}
