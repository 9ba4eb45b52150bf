#include "run/link.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "sys/clock.h"

/* Milliseconds of the longest pause between two attempts to connect. It is well below the time for
 * which the server keeps a lock that expired while it was down, which is 10 seconds by default. */
#define PAUSE_MAX_MS 2000
/* Seconds that the server gets to close a connection whose sending direction is closed. */
#define END_SECONDS 5

static void on_io(evutil_socket_t fd, short what, void *arg);
static void on_pause(evutil_socket_t fd, short what, void *arg);

void link_init(struct link *l, struct event_base *base, const struct client_settings *settings,
	       const struct link_events *events, void *arg)
{
	*l = (struct link){
		.base = base,
		.settings = settings,
		.events = events,
		.arg = arg,
		.backoff = BACKOFF_INIT,
	};
	l->backoff.max_ms = PAUSE_MAX_MS;
	l->io = event_new(base, -1, 0, on_io, l);
	l->pause = evtimer_new(base, on_pause, l);
	if (l->io == NULL || l->pause == NULL)
		abort();
}

void link_done(struct link *l)
{
	link_close(l);
	event_free(l->io);
	event_free(l->pause);
}

static void drop(struct link *l)
{
	event_del(l->io);
	event_del(l->pause);
	connection_close(l->connection);
	l->connection = NULL;
	l->is_ready = false;
}

static struct timeval make_timeval(int64_t us)
{
	return (struct timeval){ .tv_sec = (time_t)(us / 1000000), .tv_usec = us % 1000000 };
}

/* Wait for what the connection waits for. Its descriptor may have changed. */
static void arm(struct link *l)
{
	short wants = connection_wants(l->connection), events = 0;
	int64_t deadline_us = connection_deadline_us(l->connection), left_us;
	struct timeval timeout;

	if ((wants & POLLIN) != 0)
		events |= EV_READ;
	if ((wants & POLLOUT) != 0)
		events |= EV_WRITE;
	event_del(l->io);
	event_assign(l->io, l->base, connection_fd(l->connection), events, on_io, l);
	if (deadline_us == INT64_MAX) {
		event_add(l->io, NULL);
		return;
	}
	left_us = deadline_us - clock_mono_us();
	timeout = make_timeval(left_us > 0 ? left_us : 0);
	event_add(l->io, &timeout);
}

static void fail(struct link *l, const char *error, bool is_refused)
{
	struct timeval pause = make_timeval((int64_t)backoff_next_ms(&l->backoff) * 1000);
	bool is_ending = l->is_ending;

	l->is_ready = false;
	l->is_ending = false;
	if (is_ending)
		l->is_open = false;
	l->events->lost(l->arg, error, is_refused);
	if (l->connection != NULL)
		drop(l);
	if (l->is_open)
		event_add(l->pause, &pause);
}

/* An event may close the link. */
static void go_on(struct link *l)
{
	struct connection *c = l->connection;
	struct client_reply reply;

	connection_step(c);
	if (!l->is_ready && connection_state(c) == CONNECTION_READY) {
		l->is_ready = true;
		backoff_reset(&l->backoff);
		l->events->ready(l->arg);
	}
	while (l->connection == c && connection_next(c, &reply)) {
		l->events->replied(l->arg, &reply);
		client_reply_done(&reply);
	}
	if (l->connection != c)
		return;
	if (connection_has_failed(c))
		fail(l, connection_error(c), connection_state(c) == CONNECTION_REFUSED);
	else
		arm(l);
}

static void on_io(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	go_on(arg);
}

static void on_pause(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd;
	(void)what;
	if (l->connection != NULL) {
		fail(l, "the server does not close the connection", false);
		return;
	}
	l->connection = connection_open(l->settings);
	go_on(l);
}

void link_open(struct link *l)
{
	struct timeval now = { 0 };

	if (l->is_open)
		return;
	l->is_open = true;
	event_add(l->pause, &now);
}

void link_close(struct link *l)
{
	l->is_open = false;
	l->is_ending = false;
	event_del(l->pause);
	if (l->connection != NULL)
		drop(l);
}

void link_end(struct link *l)
{
	struct timeval limit = { .tv_sec = END_SECONDS };

	if (!l->is_ready) {
		link_close(l);
		return;
	}
	if (l->is_ending)
		return;
	l->is_ending = true;
	shutdown(connection_fd(l->connection), SHUT_WR);
	event_add(l->pause, &limit);
}

void link_break(struct link *l, const char *error)
{
	if (l->connection != NULL)
		fail(l, error, false);
}

void link_send(struct link *l, const struct qless_str *argv, size_t argc)
{
	assert(l->is_ready);
	connection_send(l->connection, argv, argc);
	arm(l);
}
