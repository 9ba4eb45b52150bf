#include "server/stop.h"

#include <stddef.h>

#include "server/environment.h"
#include "server/http_history.h"
#include "server/listen.h"
#include "server/push.h"
#include "server/server_int.h"

/* Seconds that the last replies may take to leave. */
#define STOP_SECONDS 5
/* Milliseconds between two checks whether the last replies have left. Most are delivered long
 * before a second is over. */
#define STOP_CHECK_MS 10

static void on_check(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	server_read_clock(arg);
	conns_check(arg);
}

void stop_init(struct server *s)
{
	s->stop.timer = event_new(s->base, -1, EV_PERSIST, on_check, s);
}

void stop_done(struct server *s)
{
	if (s->stop.timer != NULL)
		event_free(s->stop.timer);
}

void stop_begin(struct server *s)
{
	struct timeval often = { .tv_usec = STOP_CHECK_MS * 1000 };
	struct conn *c, *next;

	if (s->stop.is_begun)
		return;
	s->stop.is_begun = true;
	s->stop.deadline_us = s->clocks.mono_us + STOP_SECONDS * INT64_C(1000000);
	notify_stopping(&s->notify, "Stopping");
	environment_maintain(s);
	event_add(s->stop.timer, &often);
	listen_close_all(s);
	for (c = TAILQ_FIRST(&s->conns.all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		if (c->http != NULL)
			http_conn_stop(c);
		conn_finish(c);
	}
	if (s->http != NULL)
		http_history_finish(s);
	push_stop(s);
	submissions_stop(s);
}

void stop_at_once(struct server *s)
{
	s->stop.deadline_us = 0;
}

bool stop_is_over(struct server *s)
{
	if (!s->stop.is_begun)
		return false;
	server_read_clock(s);
	return (TAILQ_EMPTY(&s->conns.all) && s->submissions.count == 0) ||
	       s->clocks.mono_us >= s->stop.deadline_us;
}
