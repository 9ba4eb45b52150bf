#include "client/client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>

#include "client/backoff.h"
#include "client/connection.h"
#include "sys/clock.h"
#include "util/mem.h"

/* Milliseconds of the longest pause between two searches for the leader of a group. */
#define GROUP_BACKOFF_MAX_MS 500

struct client {
	struct client_settings settings;
	struct connection *connection; /* or NULL */
	struct client_reply reply;
	int interrupt_fd;
	enum client_status status;
	struct buf error;
};

struct client *client_new(const struct client_settings *settings)
{
	struct client *client = mem_zalloc(sizeof *client);

	client_settings_copy(&client->settings, settings);
	client->interrupt_fd = -1;
	buf_init(&client->error, BUF_NO_MAX);
	return client;
}

void client_free(struct client *client)
{
	if (client == NULL)
		return;
	client_disconnect(client);
	client_settings_done(&client->settings);
	buf_done(&client->error);
	free(client);
}

void client_set_interrupt(struct client *client, int fd)
{
	client->interrupt_fd = fd;
}

enum client_status client_status(const struct client *client)
{
	return client->status;
}

const char *client_error(const struct client *client)
{
	return buf_str(&client->error).ptr;
}

void client_disconnect(struct client *client)
{
	connection_close(client->connection);
	client->connection = NULL;
	client_reply_done(&client->reply);
}

static bool fail(struct client *client, enum client_status status, const char *error)
{
	client->status = status;
	buf_clear(&client->error);
	buf_printf(&client->error, "%s", error);
	buf_cstr(&client->error);
	return false;
}

/* Fails with the reason of the connection, and closes it. */
static bool fail_connection(struct client *client)
{
	fail(client,
	     connection_state(client->connection) == CONNECTION_REFUSED ? CLIENT_REFUSED
									: CLIENT_LOST,
	     connection_error(client->connection));
	client_disconnect(client);
	return false;
}

/* An answer that comes later would be taken for that of the next request. */
static bool fail_by_timeout(struct client *client)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	client_settings_print_address(&client->settings, &text);
	buf_printf(&text, ": the server does not answer in time");
	fail(client, CLIENT_TIMED_OUT, buf_cstr(&text));
	buf_done(&text);
	client_disconnect(client);
	return false;
}

static int milliseconds_until(int64_t deadline_us)
{
	int64_t left_us;

	if (deadline_us == INT64_MAX)
		return -1;
	left_us = deadline_us - clock_mono_us();
	if (left_us <= 0)
		return 0;
	return left_us / 1000 >= INT_MAX ? INT_MAX : (int)(left_us / 1000) + 1;
}

/* Waits for the socket, if there is one, or the deadline. Returns false if it was interrupted. */
static bool wait_for(struct client *client, int fd, short wants, int64_t deadline_us)
{
	struct pollfd fds[2] = { { .fd = client->interrupt_fd, .events = POLLIN },
				 { .fd = fd, .events = wants } };
	int rc = poll(fds, 2, milliseconds_until(deadline_us));

	if (rc < 0 && errno == EINTR)
		return client->interrupt_fd >= 0 || fail(client, CLIENT_INTERRUPTED, "interrupted");
	if (rc > 0 && fds[0].revents != 0)
		return fail(client, CLIENT_INTERRUPTED, "interrupted");
	return true;
}

/* One turn of the connection. Returns false if it was interrupted. */
static bool turn(struct client *client, int64_t deadline_us)
{
	struct connection *c = client->connection;
	int64_t own_us = connection_deadline_us(c);

	if (!wait_for(client, connection_fd(c), connection_wants(c),
		      own_us < deadline_us ? own_us : deadline_us))
		return false;
	connection_step(c);
	return true;
}

static bool connect_once(struct client *client)
{
	client->status = CLIENT_OK;
	if (client->connection == NULL)
		client->connection = connection_open(&client->settings);
	while (connection_state(client->connection) < CONNECTION_READY) {
		if (!turn(client, INT64_MAX)) {
			client_disconnect(client);
			return false;
		}
	}
	return connection_has_failed(client->connection) ? fail_connection(client) : true;
}

bool client_connect_patiently(struct client *client, double limit_s, client_failure_fn *on_failure,
			      void *arg)
{
	struct backoff backoff = BACKOFF_INIT;
	int64_t end_us = limit_s > 0 ? clock_mono_us() + clock_from_seconds(limit_s) : INT64_MAX;

	if (client->settings.others != NULL)
		backoff.max_ms = GROUP_BACKOFF_MAX_MS;
	while (!connect_once(client)) {
		unsigned delay_ms = backoff_next_ms(&backoff);
		int64_t until_us = clock_mono_us() + INT64_C(1000) * delay_ms;

		if (client->status != CLIENT_LOST || until_us >= end_us)
			return false;
		if (on_failure != NULL)
			on_failure(arg, client_error(client), delay_ms);
		while (clock_mono_us() < until_us) {
			if (!wait_for(client, -1, 0, until_us))
				return false;
		}
	}
	return true;
}

bool client_connect(struct client *client)
{
	if (client->settings.others == NULL || client->connection != NULL)
		return connect_once(client);
	return client_connect_patiently(client, client->settings.connect_timeout_s, NULL, NULL);
}

void client_take(struct client *client, struct client_reply *ret_reply)
{
	*ret_reply = client->reply;
	client->reply = (struct client_reply){ .type = CLIENT_REPLY_NULL };
}

bool client_send(struct client *client, const struct qless_str *argv, size_t argc)
{
	if (!client_connect(client))
		return false;
	connection_send(client->connection, argv, argc);
	return true;
}

const struct client_reply *client_receive(struct client *client, double timeout_s)
{
	int64_t deadline_us =
		timeout_s < 0 ? INT64_MAX : clock_mono_us() + clock_from_seconds(timeout_s);

	client_reply_done(&client->reply);
	client->status = CLIENT_OK;
	if (client->connection == NULL) {
		fail(client, CLIENT_LOST, "there is no connection");
		return NULL;
	}
	while (!connection_next(client->connection, &client->reply)) {
		if (connection_has_failed(client->connection)) {
			fail_connection(client);
			return NULL;
		}
		if (!turn(client, deadline_us))
			return NULL;
		if (clock_mono_us() < deadline_us)
			continue;
		if (connection_next(client->connection, &client->reply))
			break;
		fail(client, CLIENT_TIMED_OUT, "nothing has arrived in time");
		return NULL;
	}
	return &client->reply;
}

const struct client_reply *client_call_within(struct client *client, double timeout_s,
					      const struct qless_str *argv, size_t argc)
{
	const struct client_reply *reply;

	/* A connection that was idle may be closed by now, which only reading shows. */
	if (client->connection != NULL &&
	    connection_state(client->connection) == CONNECTION_READY) {
		connection_step(client->connection);
		if (connection_has_failed(client->connection))
			client_disconnect(client);
	}
	if (!client_send(client, argv, argc))
		return NULL;
	do
		reply = client_receive(client, timeout_s > 0 ? timeout_s : -1);
	while (reply != NULL && reply->type == CLIENT_REPLY_PUSH);
	if (reply == NULL && client->status == CLIENT_TIMED_OUT)
		fail_by_timeout(client);
	else if (reply == NULL && client->connection != NULL)
		client_disconnect(client); /* interrupted: the reply may still come */
	return reply;
}

const struct client_reply *client_call(struct client *client, const struct qless_str *argv,
				       size_t argc)
{
	return client_call_within(client, client->settings.timeout_s, argv, argc);
}
