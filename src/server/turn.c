#include "server/turn.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "command/databases.h"
#include "server/http_history.h"
#include "server/http_pages.h"
#include "server/listen.h"
#include "server/member.h"
#include "server/pubsub.h"
#include "server/push.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "server/share.h"
#include "sys/log.h"

/* Microseconds after which a turn reads no more sockets. */
#define READ_US 4000
/* Microseconds of a turn for sending replies. */
#define SEND_US 3000
/* Microseconds of a turn for closing dead connections, and freeing subscriptions and listeners that
 * have ended. */
#define BURY_US 1000
/* Number of subscriptions, or of listeners, that are freed between two looks at the clock. */
#define BURY_SUBSCRIPTIONS 64
#define BURY_LISTENERS	   256
/* Microseconds of a turn that freeing flushed databases takes at most. */
#define FREE_US 1000
/* Number of objects that are freed between two looks at the clock. */
#define FREE_OBJECTS 128
/* Microseconds of turns after which the processor time is read. Reading it is a system call, which
 * would be expensive for each short turn. */
#define CPU_READ_US 250
/* Number of steps of TLS handshakes in a turn. Each can take a millisecond, and other clients
 * wait. */
#define HANDSHAKES_PER_TURN 8

bool turn_is_late(const struct server *s)
{
	return s->clocks.lap_ns / 1000 - s->clocks.mono_us > READ_US;
}

/* Serve each ready connection once. A connection with even more requests goes to the end of the
 * list. The first one is always served, even if much waits for a sync: otherwise the others
 * could starve it. */
static void run_ready(struct server *s)
{
	struct conn *c;
	size_t count = 0;

	TAILQ_FOREACH(c, &s->conns.ready, ready)
		count++;
	for (; count != 0 && !TAILQ_EMPTY(&s->conns.ready); count--) {
		conn_run_ready(TAILQ_FIRST(&s->conns.ready));
		if (recording_wants_end_of_turn(s) || turn_is_late(s))
			break;
	}
}

static void send_replies(struct server *s)
{
	int64_t end_us;
	struct conn *c;

	while ((c = TAILQ_FIRST(&s->conns.over_limit)) != NULL)
		conn_kill(c, NULL);
	conns_begin_sending(s);
	if (conns_send_next(s) && conns_have_output(&s->conns)) {
		end_us = clock_mono_us() + SEND_US;
		while (clock_mono_us() < end_us && conns_send_next(s))
			continue;
	}
	conns_end_sending(s);
}

static void free_the_dead(struct server *s)
{
	bool has_subscriptions = true, has_listeners = true;
	int64_t end_us = clock_mono_us() + BURY_US;

	if (!TAILQ_EMPTY(&s->conns.dead)) {
		conns_free_dead(s, end_us);
		listen_resume(s);
	}
	while (has_subscriptions && clock_mono_us() < end_us)
		has_subscriptions = pubsub_free_some(s->pubsub, BURY_SUBSCRIPTIONS);
	while (has_listeners && clock_mono_us() < end_us)
		has_listeners = listeners_free_some(s, BURY_LISTENERS);
	s->turn.has_dead = has_subscriptions || has_listeners || !TAILQ_EMPTY(&s->conns.dead);
}

static void free_the_flushed(struct server *s)
{
	int64_t begin_us = stats_begin_latency(s);

	s->turn.has_flushed = databases_free_some(s->env.databases, FREE_OBJECTS);
	if (s->turn.has_flushed) {
		int64_t end_us = clock_mono_us() + FREE_US;

		while (s->turn.has_flushed && clock_mono_us() < end_us)
			s->turn.has_flushed = databases_free_some(s->env.databases, FREE_OBJECTS);
	}
	stats_end_latency(s, "lazyfree", begin_us);
}

/* Returns the microseconds of processor time that this turn took at most: short turns before it may
 * be included, up to CPU_READ_US. Returns 0 for a turn that is too short to tell. */
static int64_t measure_cpu(struct turn_cpu *cpu, int64_t elapsed_us)
{
	int64_t now_us, used_us;

	cpu->unread_us += elapsed_us;
	if (cpu->unread_us < CPU_READ_US)
		return 0;
	now_us = clock_thread_cpu_us();
	used_us = now_us - cpu->last_us;
	*cpu = (struct turn_cpu){ .last_us = now_us };
	return used_us < elapsed_us ? used_us : elapsed_us;
}

/* The clock was read when the first event of the turn came. */
static void end_turn(struct server *s)
{
	int64_t elapsed_us = clock_mono_us() - s->clocks.mono_us;

	stats_count_turn(s, elapsed_us, measure_cpu(&s->turn.cpu, elapsed_us));
	s->turn.is_running = false;
	s->turn.share = share_next(s->turn.share, elapsed_us, s->config->commands_per_turn);
}

/* Most servers have no such clients most of the time, so the questions whether there are any are
 * inline. */
static bool is_idle(const struct server *s)
{
	return TAILQ_EMPTY(&s->conns.ready) && !conns_have_output(&s->conns) &&
	       !s->submissions.can_run && !s->turn.has_flushed && !s->turn.has_dead &&
	       !s->turn.has_pubsub && (waitings_are_idle(&s->waitings) || !waitings_can_run(s)) &&
	       (lines_are_empty(&s->lines) || !lines_can_run(s)) && !awaited_can_run(&s->awaited) &&
	       (presence_is_empty(&s->presence) || !presence_can_run(s)) &&
	       (limit_watch_is_idle(&s->limit_watch) || !limit_watch_can_run(s)) &&
	       (sweep_watch_is_idle(&s->sweep_watch) || !sweep_watch_can_run(s)) &&
	       (ticks_are_idle(&s->ticks) || !ticks_can_run(s)) &&
	       (overtime_is_idle(&s->overtime) || !overtime_can_run(s)) &&
	       (s->http == NULL || (!http_pages_can_run(s) && !http_history_can_run(s))) &&
	       (s->push == NULL || push_is_idle(s->push)) &&
	       (s->member == NULL || !member_can_run(s)) &&
	       (event_streams_are_idle(&s->event_streams) || !event_streams_can_run(s));
}

/* Goes on with what does not come from a socket in this turn. Released jobs go to the clients that
 * wait. */
static void run_others(struct server *s)
{
	if (s->push != NULL)
		push_run(s);
	if (s->submissions.can_run)
		submissions_run(s);
	if (!waitings_are_idle(&s->waitings)) {
		s->turn.has_read |= waitings_can_run(s);
		waitings_run(s);
	}
	if (!presence_is_empty(&s->presence))
		presence_run(s);
	if (!limit_watch_is_idle(&s->limit_watch))
		limit_watch_run(s);
	if (!sweep_watch_is_idle(&s->sweep_watch))
		sweep_watch_run(s);
	if (!ticks_are_idle(&s->ticks))
		ticks_run(s);
	if (!overtime_is_idle(&s->overtime))
		overtime_run(s);
	if (s->http != NULL) {
		http_pages_go_on(s);
		http_history_go_on(s);
	}
	if (!lines_are_empty(&s->lines))
		lines_run(s);
	if (!awaited_is_empty(&s->awaited))
		awaited_run(s);
	if (s->turn.has_pubsub)
		s->turn.has_pubsub = pubsub_run(s);
}

void turn_run(struct server *s, bool wait)
{
	int flags = EVLOOP_ONCE | (wait && is_idle(s) ? 0 : EVLOOP_NONBLOCK);

	assert(!s->turn.is_running);
	s->turn.is_running = true;
	clocks_begin_turn(&s->clocks);
	s->turn.handshakes_left = HANDSHAKES_PER_TURN;
	s->turn.handshakes_ns = 0;
	if (event_base_loop(s->base, flags) < 0) {
		log_warning("the event loop failed: %s", strerror(errno));
		s->turn.loop_failed = true;
		s->turn.is_running = false;
		return;
	}
	server_read_clock(s);
	run_ready(s);
	run_others(s);
	recording_end_turn(s);
	if (s->member != NULL)
		member_send(s);
	gate_release(&s->gate);
	if (!event_streams_are_idle(&s->event_streams))
		event_streams_run(s);
	send_replies(s);
	if (client_memory_is_exceeded(s))
		client_memory_enforce(s);
	if (s->submissions.count != 0)
		submissions_end_turn(s);
	if (s->turn.has_dead)
		free_the_dead(s);
	free_the_flushed(s);
	end_turn(s);
}
