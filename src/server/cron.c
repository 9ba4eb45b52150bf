#include "server/cron.h"

#include <stdlib.h>
#include <unistd.h>

#include "server/environment.h"
#include "server/member_tls.h"
#include "server/queues.h"
#include "server/rewrite_watch.h"
#include "server/server_int.h"

/* Seconds between two removals of old statistics. They are kept by the day. */
#define MAINTAIN_SECONDS 3600

static void maintain(struct server *s)
{
	int64_t begin_us;

	if (s->clocks.mono_us - s->cron.maintained_us < MAINTAIN_SECONDS * INT64_C(1000000))
		return;
	begin_us = stats_begin_latency(s);
	s->cron.maintained_us = s->clocks.mono_us;
	environment_maintain(s);
	stats_end_latency(s, "expire-cycle", begin_us);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	server_read_clock(s);
	complaints_tick(&s->complaints);
	conns_check(s);
	resp_request_trim(&s->intake.request);
	memory_watch_tick(s);
	maintain(s);
	certificates_tick(s);
	member_tls_tick(s);
	clock_watch_tick(s);
	rewrite_watch_tick(s);
	if (s->persist != NULL)
		copy_watch_tick(&s->copies, ".", s->clocks.mono_us);
	queues_tick(s);
	listeners_tick(s);
	limit_watch_tick(s);
	sweep_watch_tick(s);
	http_sessions_tick(s);
	event_streams_tick(s);
	stats_sample_rates(s);
}

static void on_watchdog(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	notify_watchdog(&s->notify);
}

static struct event *repeat(struct server *s, int64_t interval_us, event_callback_fn callback)
{
	struct timeval interval = { .tv_sec = interval_us / 1000000,
				    .tv_usec = interval_us % 1000000 };
	struct event *timer = event_new(s->base, -1, EV_PERSIST, callback, s);

	event_add(timer, &interval);
	return timer;
}

void cron_init(struct server *s)
{
	int64_t watchdog_us = notify_watchdog_interval_us(getenv("WATCHDOG_USEC"),
							  getenv("WATCHDOG_PID"), getpid());

	s->cron.maintained_us = s->clocks.mono_us;
	s->cron.timer = repeat(s, 1000000, on_second);
	/* Twice as often as the manager expects it. */
	if (watchdog_us != 0 && notify_is_active(&s->notify))
		s->cron.watchdog = repeat(s, watchdog_us / 2, on_watchdog);
}

void cron_done(struct server *s)
{
	if (s->cron.timer != NULL)
		event_free(s->cron.timer);
	if (s->cron.watchdog != NULL)
		event_free(s->cron.watchdog);
}
