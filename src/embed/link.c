#include "embed/link.h"

#include <poll.h>
#include <stdlib.h>

#include "embed/stopper.h"
#include "sys/clock.h"
#include "util/mem.h"
#include "util/str.h"

/* Milliseconds of one wait at most. */
#define POLL_MAX_MS 3600000

struct link_limits link_limits_make(double timeout_s, const struct qless_stopper *stopper)
{
	struct link_limits limits = { INT64_MAX, stopper };

	/* Longer than a year is for ever, and fits into the clock. */
	if (timeout_s > 0 && timeout_s < 365 * 86400.0)
		limits.deadline_us = clock_mono_us() + clock_from_seconds(timeout_s);
	return limits;
}

struct link *link_new(struct connection *connection)
{
	struct link *link = mem_zalloc(sizeof *link);

	link->connection = connection;
	return link;
}

void link_free(struct link *link)
{
	if (link == NULL)
		return;
	connection_close(link->connection);
	free(link);
}

const char *link_error(const struct link *link)
{
	return connection_error(link->connection);
}

static void step(struct link *link)
{
	connection_step(link->connection);
	if (connection_state(link->connection) == CONNECTION_READY)
		link->was_ready = true;
}

/* Returns false if no reply has arrived. Handles the pushes before it. */
static bool next_reply(struct link *link, struct client_reply *ret_reply)
{
	struct client_reply reply;

	while (connection_next(link->connection, &reply)) {
		if (reply.type != CLIENT_REPLY_PUSH) {
			*ret_reply = reply;
			return true;
		}
		if (link->on_push != NULL)
			link->on_push(link->push_arg, &reply);
		client_reply_done(&reply);
	}
	return false;
}

bool link_refresh(struct link *link)
{
	struct client_reply reply;

	step(link);
	/* Nothing was asked, so there is no reply unless the server is about to close. */
	if (next_reply(link, &reply)) {
		client_reply_done(&reply);
		return false;
	}
	return !connection_has_failed(link->connection);
}

void link_send(struct link *link, const struct qless_str *argv, size_t argc)
{
	connection_send(link->connection, argv, argc);
}

static enum link_result judge_failure(const struct link *link)
{
	if (link->was_ready)
		return LINK_LOST;
	return connection_state(link->connection) == CONNECTION_REFUSED ? LINK_REFUSED
									: LINK_UNAVAILABLE;
}

static int milliseconds_until(int64_t deadline_us)
{
	int64_t left_us;

	if (deadline_us == INT64_MAX)
		return POLL_MAX_MS;
	left_us = deadline_us - clock_mono_us();
	if (left_us <= 0)
		return 0;
	return left_us / 1000 < POLL_MAX_MS ? (int)(left_us / 1000) + 1 : POLL_MAX_MS;
}

/* Waits until the socket is ready. Returns false if the limits end the wait. */
static bool wait_for_socket(const struct link *link, const struct link_limits *limits)
{
	const struct connection *c = link->connection;
	int64_t deadline_us = connection_deadline_us(c);
	struct pollfd fds[] = {
		{ .fd = connection_fd(c), .events = connection_wants(c) },
		{ .fd = stopper_fd(limits->stopper), .events = POLLIN },
	};

	if (clock_mono_us() >= limits->deadline_us)
		return false;
	if (limits->deadline_us < deadline_us)
		deadline_us = limits->deadline_us;
	return poll(fds, 2, milliseconds_until(deadline_us)) <= 0 || fds[1].revents == 0 ||
	       fds[0].revents != 0;
}

enum link_result link_wait_for_login(struct link *link, const struct link_limits *limits)
{
	for (;;) {
		step(link);
		if (connection_has_failed(link->connection))
			return judge_failure(link);
		if (link->was_ready)
			return LINK_ANSWERED;
		if (!wait_for_socket(link, limits))
			return LINK_STOPPED;
	}
}

enum link_result link_receive(struct link *link, const struct link_limits *limits,
			      struct client_reply *ret_reply)
{
	for (;;) {
		step(link);
		if (next_reply(link, ret_reply))
			return LINK_ANSWERED;
		if (connection_has_failed(link->connection))
			return judge_failure(link);
		if (!wait_for_socket(link, limits))
			return LINK_STOPPED;
	}
}

enum link_result link_call(struct link *link, const struct qless_str *argv, size_t argc,
			   const struct link_limits *limits, struct client_reply *ret_reply)
{
	link_send(link, argv, argc);
	return link_receive(link, limits, ret_reply);
}
