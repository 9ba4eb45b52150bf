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

/* A program that rotates logs or renews certificates may have replaced both. */
static void on_reload_signal(evutil_socket_t number, short what, void *arg)
{
	struct buf error = BUF_INIT(4096);
	struct server *s = arg;

	(void)number;
	(void)what;
	if (!s->loading)
		notify_reloading(&s->notify);
	if (log_reopen(&error) == 0)
		log_notice("SIGHUP received, log file reopened");
	else
		log_warning("SIGHUP received, but %s", buf_cstr(&error));
	buf_clear(&error);
	if (s->certificates.tls != NULL && certificates_load(s, s->config, &error) == 0)
		log_notice("certificate and key reloaded");
	else if (s->certificates.tls != NULL)
		log_warning("cannot reload the certificate, the old one stays in use: %s",
			    buf_cstr(&error));
	buf_done(&error);
	if (!s->loading)
		notify_ready(&s->notify, NULL);
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
