#include "server/pause.h"

#include <assert.h>
#include <stddef.h>

#include "server/server_int.h"

static void on_over(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	server_read_clock(arg);
	pause_end(arg);
}

void pause_init(struct server *s)
{
	s->pause.timer = evtimer_new(s->base, on_over, s);
}

void pause_done(struct server *s)
{
	if (s->pause.timer != NULL)
		event_free(s->pause.timer);
}

void pause_begin(struct server *s, enum pause_mode mode, int64_t duration_us)
{
	struct pause *p = &s->pause;
	int64_t until_us = s->clocks.mono_us + duration_us;
	struct timeval delay;

	assert(mode != PAUSE_NONE && duration_us >= 0);
	if (p->mode != PAUSE_NONE && p->until_us > until_us)
		until_us = p->until_us;
	if (mode > p->mode)
		p->mode = mode;
	p->until_us = until_us;
	delay.tv_sec = (until_us - s->clocks.mono_us) / 1000000;
	delay.tv_usec = (until_us - s->clocks.mono_us) % 1000000;
	event_add(p->timer, &delay);
}

void pause_end(struct server *s)
{
	struct conn *c;

	s->pause.mode = PAUSE_NONE;
	event_del(s->pause.timer);
	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (c->client.hold == HOLD_PAUSE)
			conn_release(c);
	}
	submissions_release(s);
}
