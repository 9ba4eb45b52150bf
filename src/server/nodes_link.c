#include "server/nodes_int.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/tls_session.h"
#include "sys/log.h"
#include "util/mem.h"

/* Bytes that the kernel holds unsent before it asks for more. What waits there cannot be overtaken
 * by a heartbeat. */
#define UNSENT_BYTES (256 * 1024)
/* Bytes that count against what a connection may move in a turn. */
#define COUNTED_BYTES ((size_t)4 * 1024)

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

/* Changes the state. Nothing else does. */
static void set_state(struct node_link *l, enum link_state state)
{
	assert(l->state != LINK_DEAD);
	assert(state > l->state);
	l->state = state;
}

static void watch_writable(struct node_link *l, bool on)
{
	if (on)
		event_add(l->writable, NULL);
	else if (!l->reads_on_write)
		event_del(l->writable);
}

/*
 * Life
 */

static void tune(int fd)
{
	int on = 1, unsent = UNSENT_BYTES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
}

/* The socket is connected. */
static void begin(struct node_link *l)
{
	struct nodes *nodes = l->nodes;
	int fd = l->transport.fd;
	int rc = 0;

	event_add(l->readable, NULL);
	if (nodes->options.tls == NULL) {
		node_link_greet(l);
		return;
	}
	set_state(l, LINK_HANDSHAKE);
	rc = l->dial != NULL ? tls_session_connect(&l->transport, fd, nodes->options.tls)
			     : tls_session_init(&l->transport, fd, nodes->options.tls);
	if (rc < 0)
		node_link_close(l, "there is no memory for TLS");
	else if (l->dial != NULL)
		node_link_delay(l);
}

struct node_link *node_link_new(struct nodes *nodes, int fd, struct dial *dial, const char *peer)
{
	struct node_link *l = mem_zalloc(sizeof *l);

	l->nodes = nodes;
	l->dial = dial;
	l->purpose = dial != NULL ? dial->purpose : FRAME_FOR_MESSAGES;
	l->node = dial != NULL ? dial->node : NULL;
	if (dial == NULL)
		nodes->strangers++;
	snprintf(l->peer, sizeof l->peer, "%s", peer);
	transport_init_plain(&l->transport, fd);
	tune(fd);
	l->read_left = l->write_left = NODES_TURN_BYTES;
	buf_init(&l->in, FRAME_MAX + NODES_ROOM_MAX_BYTES);
	buf_init(&l->out, BUF_NO_MAX);
	buf_init(&l->entry_bytes, BUF_NO_MAX);
	l->readable = event_new(nodes->base, fd, EV_READ | EV_PERSIST, on_readable, l);
	l->writable = event_new(nodes->base, fd, EV_WRITE | EV_PERSIST, on_writable, l);
	TAILQ_INSERT_TAIL(&nodes->links, l, entry);
	if (dial != NULL)
		watch_writable(l, true);
	else
		begin(l);
	return l;
}

void node_link_greet(struct node_link *l)
{
	set_state(l, LINK_GREETING);
	if (l->dial != NULL)
		greet_send_hello(l);
}

void node_link_open(struct node_link *l)
{
	set_state(l, LINK_OPEN);
}

/* Tell the node that one of its connections is gone. */
static void detach(struct node_link *l)
{
	struct node *node = l->node;

	if (l->dial != NULL) {
		l->dial->link = NULL;
		dial_lost(l->dial);
		return;
	}
	if (node == NULL) {
		l->nodes->strangers--;
		return;
	}
	if (node->receiver == l)
		node->receiver = NULL;
	if (node->reader == l)
		node->reader = NULL;
	nodes_check_guest(node);
}

/* A connection that cannot be made is tried again and again, so each reason is logged once. */
static void log_end(struct node_link *l, bool was_open, const char *reason)
{
	struct node *node = l->node;

	if (node->is_gone || l->dial != &node->dial) {
		log_verbose("the connection of node %llu with %s has ended: %s",
			    (unsigned long long)node->id, l->peer, reason);
		return;
	}
	snprintf(node->error, sizeof node->error, "%s", reason);
	if (!was_open && strcmp(node->logged, reason) == 0)
		return;
	snprintf(node->logged, sizeof node->logged, "%s", reason);
	if (was_open)
		log_warning("the connection to node %llu at %s has ended: %s",
			    (unsigned long long)node->id, node->address, reason);
	else
		log_warning("cannot connect to node %llu at %s: %s", (unsigned long long)node->id,
			    node->address, reason);
}

void node_link_close(struct node_link *l, const char *format, ...)
{
	char reason[NODES_TEXT_SIZE];
	bool was_open = l->state == LINK_OPEN;
	int fd = l->transport.fd;
	va_list args;

	if (l->state == LINK_DEAD)
		return;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	if (l->node == NULL)
		greet_note_refusal(l, reason);
	else
		log_end(l, was_open, reason);
	set_state(l, LINK_DEAD);
	event_free(l->readable);
	event_free(l->writable);
	l->readable = l->writable = NULL;
	if (was_open && l->transport.ops->end != NULL)
		l->transport.ops->end(&l->transport);
	l->transport.ops->done(&l->transport);
	close(fd);
	detach(l);
	nodes_arm_turn(l->nodes);
}

void node_link_free(struct node_link *l)
{
	assert(l->state == LINK_DEAD);
	TAILQ_REMOVE(&l->nodes->links, l, entry);
	buf_done(&l->in);
	buf_done(&l->out);
	buf_done(&l->entry_bytes);
	free(l);
}

size_t node_link_memory(const struct node_link *l)
{
	return sizeof *l + l->in.cap + l->out.cap + l->entry_bytes.cap;
}

/*
 * Handshake
 */

static void shake_hands(struct node_link *l)
{
	struct nodes *nodes = l->nodes;
	int rc;

	if (nodes->handshakes_left == 0) {
		/* Otherwise the event would come again in the same turn. */
		event_del(l->readable);
		node_link_delay(l);
		return;
	}
	nodes->handshakes_left--;
	nodes_arm_turn(nodes);
	event_add(l->readable, NULL);
	rc = l->transport.ops->handshake(&l->transport);
	watch_writable(l, rc == TRANSPORT_WANT_WRITE);
	if (rc == TRANSPORT_WANT_READ || rc == TRANSPORT_WANT_WRITE)
		return;
	if (rc != 0) {
		node_link_close(l, "TLS handshake failed: %s", transport_error(&l->transport));
		return;
	}
	node_link_greet(l);
	/* The first frame may have arrived together with the end of the handshake. */
	if (l->state != LINK_DEAD)
		node_link_delay(l);
}

static void finish_connecting(struct node_link *l)
{
	int error = 0;
	socklen_t len = sizeof error;

	if (getsockopt(l->transport.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error != 0) {
		node_link_close(l, "%s", strerror(error));
		return;
	}
	watch_writable(l, false);
	begin(l);
}

/*
 * Bytes
 */

/* Count bytes against what the connection may move in a turn. Few bytes do not count, because the
 * next turn comes at once if some do. */
static void count(struct node_link *l, size_t *left, size_t bytes)
{
	if (bytes < COUNTED_BYTES)
		return;
	*left -= bytes < *left ? bytes : *left;
	nodes_arm_turn(l->nodes);
}

/* Read what has arrived, up to a limit, and handle the frames that are complete. */
static void read_bytes(struct node_link *l)
{
	while (l->state != LINK_DEAD && l->read_left != 0) {
		size_t room = input_room(l);
		char *to = buf_reserve(&l->in, room);
		ssize_t n;

		assert(to != NULL);
		n = l->transport.ops->read(&l->transport, to, room);
		if (n == TRANSPORT_WANT_READ)
			return;
		if (n == TRANSPORT_WANT_WRITE) {
			l->reads_on_write = true;
			watch_writable(l, true);
			return;
		}
		if (n <= 0) {
			node_link_close(l, "%s",
					n == 0 ? "the other node has closed it"
					       : transport_error(&l->transport));
			return;
		}
		buf_commit(&l->in, (size_t)n);
		l->silent_beats = 0;
		if (l->node != NULL)
			l->node->received += (size_t)n;
		count(l, &l->read_left, (size_t)n);
		if (!input_take(l) || !l->transport.has_more)
			return;
	}
	if (l->state != LINK_DEAD && l->transport.has_more)
		node_link_delay(l);
}

void node_link_write(struct node_link *l)
{
	while (l->state == LINK_GREETING || l->state == LINK_OPEN) {
		struct iovec piece;
		ssize_t n;

		/* The output may get a mebibyte more. */
		if (l->out.len == 0 && l->write_left < NODES_TURN_BYTES / 2) {
			node_link_delay(l);
			break;
		}
		if (l->out.len == 0 && !output_fill(l))
			break;
		piece = (struct iovec){ buf_data(&l->out), l->out.len };
		n = l->transport.ops->write(&l->transport, &piece, 1);
		if (n == TRANSPORT_WANT_WRITE) {
			watch_writable(l, true);
			return;
		}
		if (n < 0) {
			node_link_close(l, "%s", transport_error(&l->transport));
			return;
		}
		buf_consume(&l->out, (size_t)n);
		if (l->node != NULL)
			l->node->sent += (size_t)n;
		count(l, &l->write_left, (size_t)n);
	}
	if (l->state != LINK_DEAD)
		watch_writable(l, false);
}

/*
 * Events
 */

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct node_link *l = arg;

	(void)fd;
	(void)what;
	if (l->state == LINK_HANDSHAKE)
		shake_hands(l);
	else
		read_bytes(l);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct node_link *l = arg;

	(void)fd;
	(void)what;
	if (l->state == LINK_CONNECTING) {
		finish_connecting(l);
		return;
	}
	if (l->state == LINK_HANDSHAKE) {
		shake_hands(l);
		return;
	}
	if (l->reads_on_write) {
		l->reads_on_write = false;
		read_bytes(l);
	}
	node_link_write(l);
}

void node_link_delay(struct node_link *l)
{
	assert(l->state != LINK_DEAD);
	l->is_delayed = true;
	nodes_arm_turn(l->nodes);
}

void node_link_resume(struct node_link *l)
{
	l->read_left = l->write_left = NODES_TURN_BYTES;
	if (l->state == LINK_DEAD || !l->is_delayed)
		return;
	l->is_delayed = false;
	if (l->state == LINK_HANDSHAKE) {
		shake_hands(l);
		return;
	}
	if (l->transport.has_more)
		read_bytes(l);
	node_link_write(l);
}
