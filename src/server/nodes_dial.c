/*
 * Connections to other nodes: their addresses, and pauses between attempts.
 */
#include "server/nodes_int.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/resolve.h"
#include "sys/log.h"
#include "util/minmax.h"
#include "util/num.h"

static void attempt(struct dial *d);

bool dial_split(struct qless_str address, char *ret_host, int *ret_port)
{
	const char *colon = memrchr(address.ptr, ':', address.len);
	struct qless_str host, port;
	int64_t number;

	if (colon == NULL || address.len >= MEMBERS_ADDRESS_SIZE)
		return false;
	host = str_make(address.ptr, (size_t)(colon - address.ptr));
	port = str_make(colon + 1, address.len - host.len - 1);
	if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = str_make(host.ptr + 1, host.len - 2);
	else if (memchr(host.ptr, ':', host.len) != NULL)
		return false;
	if (host.len == 0 || memchr(host.ptr, '\0', host.len) != NULL ||
	    !num_parse_i64(port, &number) || number < 1 || number > 65535)
		return false;
	memcpy(ret_host, host.ptr, host.len);
	ret_host[host.len] = '\0';
	*ret_port = (int)number;
	return true;
}

/* Attempts after a pause of half to all of the current length, so that nodes that lost each other
 * at the same time do not meet again and again. */
static void pause_dial(struct dial *d)
{
	unsigned half = d->pause_ms / 2;
	uint64_t ms = half + nodes_random(d->nodes, d->pause_ms - half + 1);
	struct timeval delay = { .tv_sec = (time_t)(ms / 1000),
				 .tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	event_add(d->timer, &delay);
	d->pause_ms = (unsigned)min_u64(d->pause_ms * 2ULL, NODES_PAUSE_MAX_MS);
}

/* Note why there is no connection, when not even a socket has come of the attempt. */
static void fail(struct dial *d, const char *reason)
{
	if (d->purpose == FRAME_FOR_MESSAGES)
		snprintf(d->node->error, sizeof d->node->error, "%s", reason);
	pause_dial(d);
}

static void connect_to(struct dial *d, const struct sockaddr *address, socklen_t len)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || (connect(fd, address, len) < 0 && errno != EINPROGRESS)) {
		char reason[NODES_TEXT_SIZE];

		snprintf(reason, sizeof reason, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		fail(d, reason);
		return;
	}
	d->link = node_link_new(d->nodes, fd, d, d->node->address);
}

static void on_resolved(void *arg, const struct sockaddr *address, socklen_t len, const char *error)
{
	struct dial *d = arg;

	d->resolving = NULL;
	if (address != NULL)
		connect_to(d, address, len);
	else
		fail(d, error);
}

static void attempt(struct dial *d)
{
	char host[MEMBERS_ADDRESS_SIZE];
	int port;

	assert(d->link == NULL && d->resolving == NULL);
	if (!dial_split(str_from(d->node->address), host, &port)) {
		fail(d, "its address is not host:port");
		return;
	}
	d->resolving = resolve(d->nodes->base, host, port, d->attempts++, on_resolved, d);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	attempt(arg);
}

void dial_init(struct dial *d, struct nodes *nodes, enum frame_purpose purpose)
{
	*d = (struct dial){ .nodes = nodes, .purpose = purpose, .pause_ms = NODES_PAUSE_MIN_MS };
	d->timer = event_new(nodes->base, -1, 0, on_timer, d);
}

void dial_start(struct dial *d, struct node *node)
{
	static const struct timeval at_once = { .tv_sec = 0 };

	if (d->node != NULL)
		return;
	d->node = node;
	d->pause_ms = NODES_PAUSE_MIN_MS;
	event_add(d->timer, &at_once);
}

void dial_stop(struct dial *d)
{
	struct node_link *l = d->link;

	d->node = NULL;
	event_del(d->timer);
	resolve_cancel(d->resolving);
	d->resolving = NULL;
	if (l != NULL)
		node_link_close(l, "it is not needed any more");
}

void dial_done(struct dial *d)
{
	assert(d->link == NULL);
	resolve_cancel(d->resolving);
	event_free(d->timer);
}

void dial_settle(struct dial *d)
{
	d->pause_ms = NODES_PAUSE_MIN_MS;
}

void dial_opened(struct dial *d)
{
	struct node *node = d->node;

	if (d->purpose == FRAME_FOR_BASE) {
		base_ask(d->link);
		return;
	}
	node->connects++;
	node->logged[0] = '\0';
	range_clear(&node->range);
	log_notice("connected to node %llu at %s", (unsigned long long)node->id, node->address);
}

void dial_lost(struct dial *d)
{
	struct node *node = d->node;

	if (d->purpose == FRAME_FOR_MESSAGES && node != NULL) {
		/* The core sends again what it still needs. */
		range_clear(&node->range);
		buf_done(&node->small);
	}
	if (node != NULL)
		pause_dial(d);
}
