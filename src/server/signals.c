#include "server/signals.h"

#include <assert.h>
#include <signal.h>

#include "server/info.h"
#include "server/server_int.h"
#include "sys/log.h"

static void on_stop_signal(evutil_socket_t number, short what, void *arg)
{
	const char *name = number == SIGINT ? "SIGINT" : "SIGTERM";
	struct server *s = arg;

	(void)what;
	if (s->stop.is_begun) {
		log_notice("%s received again, stopping without the last replies", name);
		stop_at_once(s);
		return;
	}
	log_notice("%s received, stopping", name);
	stop_begin(s);
}

static void on_reload_signal(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	server_read_clock(arg);
	reload_run(arg);
}

static void on_report_signal(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	server_read_clock(arg);
	info_report(arg);
}

static void add_signal(struct server *s, int number, event_callback_fn handler)
{
	struct event *ev = evsignal_new(s->base, number, handler, s);

	assert(s->signals.count < SIGNALS_COUNT);
	event_add(ev, NULL);
	s->signals.events[s->signals.count++] = ev;
}

void signals_init(struct server *s)
{
	add_signal(s, SIGTERM, on_stop_signal);
	add_signal(s, SIGINT, on_stop_signal);
	add_signal(s, SIGHUP, on_reload_signal);
	add_signal(s, SIGUSR1, on_report_signal);
}

void signals_done(struct server *s)
{
	while (s->signals.count > 0)
		event_free(s->signals.events[--s->signals.count]);
}
