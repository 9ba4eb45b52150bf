#include "server/nodes.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/nodes_int.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/mem.h"

/* Connections that wait to be accepted. */
#define BACKLOG 32

/*
 * Nodes
 */

struct node *nodes_find(const struct nodes *nodes, uint64_t id)
{
	struct node *node;

	TAILQ_FOREACH(node, &nodes->nodes, entry) {
		if (node->id == id && !node->is_gone)
			return node;
	}
	return NULL;
}

static struct node *add_node(struct nodes *nodes, uint64_t id, struct qless_str address)
{
	struct node *node = mem_zalloc(sizeof *node);

	assert(address.len < sizeof node->address);
	node->nodes = nodes;
	node->id = id;
	if (address.len != 0)
		memcpy(node->address, address.ptr, address.len);
	buf_init(&node->small, BUF_NO_MAX);
	dial_init(&node->dial, nodes, FRAME_FOR_MESSAGES);
	TAILQ_INSERT_TAIL(&nodes->nodes, node, entry);
	return node;
}

struct node *nodes_add_guest(struct nodes *nodes, uint64_t id, struct qless_str address)
{
	struct node *node = add_node(nodes, id, address);

	if (nodes->options.has_group)
		dial_start(&node->dial, node);
	return node;
}

/* Close the connections of a node, which is freed at the end of the turn. */
static void drop_node(struct node *node, const char *reason)
{
	node->is_gone = true;
	base_lose_source(node->nodes, node);
	dial_stop(&node->dial);
	if (node->receiver != NULL)
		node_link_close(node->receiver, "%s", reason);
	if (node->reader != NULL)
		node_link_close(node->reader, "%s", reason);
	nodes_arm_turn(node->nodes);
}

void nodes_check_guest(struct node *node)
{
	if (!node->is_member && !node->is_gone && node->receiver == NULL && node->reader == NULL)
		drop_node(node, "it is no member");
}

static void free_node(struct node *node)
{
	TAILQ_REMOVE(&node->nodes->nodes, node, entry);
	dial_done(&node->dial);
	buf_done(&node->small);
	free(node);
}

static void set_member(struct nodes *nodes, const struct member *member)
{
	struct node *node = nodes_find(nodes, member->id);

	if (node != NULL && strcmp(node->address, member->address) != 0) {
		drop_node(node, "its address has changed");
		node = NULL;
	}
	if (node == NULL)
		node = add_node(nodes, member->id, str_from(member->address));
	node->is_member = true;
	if (nodes->options.has_group)
		dial_start(&node->dial, node);
}

void nodes_set_members(struct nodes *nodes, const struct members *members)
{
	struct node *node;

	TAILQ_FOREACH(node, &nodes->nodes, entry) {
		if (node->is_gone || members_find(members, node->id) != NULL)
			continue;
		if (node->is_member)
			drop_node(node, "it is no member any more");
	}
	for (unsigned i = 0; i < members->count; i++) {
		if (members->member[i].id != nodes->options.id)
			set_member(nodes, &members->member[i]);
	}
}

void nodes_set_group(struct nodes *nodes, const unsigned char group[FRAME_GROUP_BYTES])
{
	struct node *node;

	memcpy(nodes->options.group, group, FRAME_GROUP_BYTES);
	nodes->options.has_group = true;
	TAILQ_FOREACH(node, &nodes->nodes, entry) {
		if (!node->is_gone)
			dial_start(&node->dial, node);
	}
}

void nodes_set_tls(struct nodes *nodes, const struct tls *tls)
{
	nodes->options.tls = tls;
}

uint64_t nodes_random(struct nodes *nodes, uint64_t limit)
{
	uint64_t z = (nodes->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (z ^ (z >> 31)) % limit;
}

/*
 * Messages
 */

static bool is_sending(const struct node *node)
{
	return node->dial.link != NULL && node->dial.link->state == LINK_OPEN;
}

/* Returns the node if a message can be sent to it. Otherwise counts the message as dropped. */
static struct node *open_node(struct nodes *nodes, uint64_t id)
{
	struct node *node = nodes_find(nodes, id);

	if (node == NULL)
		return NULL;
	if (is_sending(node) && node->small.len < NODES_QUEUE_BYTES)
		return node;
	node->dropped++;
	return NULL;
}

static void note_output(struct node *node)
{
	node->has_output = true;
	nodes_arm_turn(node->nodes);
}

static void send_frame(struct nodes *nodes, uint64_t to, const struct frame *frame)
{
	struct node *node = open_node(nodes, to);

	if (node == NULL)
		return;
	frame_encode(&node->small, frame);
	note_output(node);
}

void nodes_send(struct nodes *nodes, uint64_t to, const struct core_message *message)
{
	struct frame frame = { .type = FRAME_MESSAGE, .term = message->term };

	if (message->kind == CORE_ENTRIES) {
		struct node *node = open_node(nodes, to);

		if (node == NULL)
			return;
		if (range_add(&node->range, message)) {
			note_output(node);
			return;
		}
	}
	frame.message = *message;
	if (message->kind == CORE_ENTRIES &&
	    message->entries.commit > message->entries.previous_index)
		frame.message.entries.commit = message->entries.previous_index;
	send_frame(nodes, to, &frame);
}

void nodes_send_probe(struct nodes *nodes, uint64_t to, uint64_t term, uint64_t number)
{
	const struct frame frame = { .type = FRAME_PROBE, .term = term, .probe = number };

	send_frame(nodes, to, &frame);
}

void nodes_answer_probe(struct nodes *nodes, uint64_t to, uint64_t term, uint64_t number)
{
	const struct frame frame = { .type = FRAME_PROBE_RESULT, .term = term, .probe = number };

	send_frame(nodes, to, &frame);
}

void nodes_offer_base(struct nodes *nodes, uint64_t to, const struct core_message *message,
		      const struct frame_base *base)
{
	struct frame frame = { .type = FRAME_MESSAGE, .term = message->term, .base = *base };

	assert(message->kind == CORE_BASE_OFFER);
	frame.message = *message;
	send_frame(nodes, to, &frame);
}

/*
 * The event loop
 */

void nodes_flush(struct nodes *nodes)
{
	struct node *node;

	TAILQ_FOREACH(node, &nodes->nodes, entry) {
		if (!node->has_output)
			continue;
		node->has_output = false;
		if (is_sending(node))
			node_link_write(node->dial.link);
	}
}

void nodes_arm_turn(struct nodes *nodes)
{
	static const struct timeval at_once = { .tv_sec = 0 };

	if (!event_pending(nodes->turn, EV_TIMEOUT, NULL))
		event_add(nodes->turn, &at_once);
}

static void free_dead(struct nodes *nodes)
{
	struct node_link *l, *next_link;
	struct node *node, *next;

	for (l = TAILQ_FIRST(&nodes->links); l != NULL; l = next_link) {
		next_link = TAILQ_NEXT(l, entry);
		if (l->state == LINK_DEAD)
			node_link_free(l);
	}
	for (node = TAILQ_FIRST(&nodes->nodes); node != NULL; node = next) {
		next = TAILQ_NEXT(node, entry);
		if (node->is_gone)
			free_node(node);
	}
}

/* A timer without a delay runs in the next turn, after the events of sockets that are ready. */
static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct nodes *nodes = arg;
	struct node_link *l;

	(void)fd;
	(void)what;
	nodes->handshakes_left = NODES_HANDSHAKES_PER_TURN;
	/* Connections that die here stay in the list until free_dead(). */
	TAILQ_FOREACH(l, &nodes->links, entry)
		node_link_resume(l);
	base_turn(nodes);
	nodes_flush(nodes);
	free_dead(nodes);
}

void nodes_wake(struct nodes *nodes)
{
	struct node_link *l;

	TAILQ_FOREACH(l, &nodes->links, entry) {
		if (l->state == LINK_OPEN)
			node_link_delay(l);
	}
}

/* One heartbeat for a connection. Time is counted in beats: while this process stands still, no
 * other node falls silent. */
static void beat_link(struct node_link *l)
{
	struct nodes *nodes = l->nodes;

	l->beats++;
	l->silent_beats++;
	if (l->state == LINK_DEAD)
		return;
	if (l->state != LINK_OPEN) {
		if (l->beats > nodes->hello_beats)
			node_link_close(l, l->dial != NULL ? "there is no answer"
							   : "it has not said HELLO in time");
		return;
	}
	if (l->silent_beats > nodes->options.silent_beats) {
		node_link_close(l, "there was no sign of life for %u ms",
				nodes->options.silent_beats * nodes->options.heartbeat_ms);
		return;
	}
	/* Otherwise two nodes with the same id would end each other's connections all the time. */
	if (l->dial != NULL && l->beats == NODES_SETTLED_BEATS)
		dial_settle(l->dial);
	if (l->out.len == 0)
		output_put_alive(l);
	node_link_write(l);
	if (l->state == LINK_OPEN && l->in.len == 0)
		buf_shrink(&l->in, NODES_KEEP_BYTES);
	if (l->state == LINK_OPEN && l->out.len == 0)
		buf_shrink(&l->out, NODES_KEEP_BYTES);
}

static void resume_accepting(struct nodes *nodes)
{
	if (!nodes->is_accept_paused)
		return;
	nodes->is_accept_paused = false;
	for (size_t i = 0; i < nodes->listener_count; i++)
		event_add(nodes->listeners[i].event, NULL);
}

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
	struct nodes *nodes = arg;
	struct node_link *l;

	(void)fd;
	(void)what;
	resume_accepting(nodes);
	base_beat(nodes);
	TAILQ_FOREACH(l, &nodes->links, entry)
		beat_link(l);
}

/*
 * Listening
 */

static void format_peer(const struct sockaddr_storage *address, char *to)
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)address;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
		snprintf(to, NODES_PEER_SIZE, "[%s]:%u", host, ntohs(in6->sin6_port));
	} else {
		const struct sockaddr_in *in = (const void *)address;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		snprintf(to, NODES_PEER_SIZE, "%s:%u", host, ntohs(in->sin_port));
	}
}

/* If all places for strangers are taken, the oldest one gives up its place. */
static void make_room(struct nodes *nodes)
{
	struct node_link *l;

	if (nodes->strangers < NODES_STRANGERS_MAX)
		return;
	TAILQ_FOREACH(l, &nodes->links, entry) {
		if (l->state != LINK_DEAD && l->dial == NULL && l->node == NULL) {
			node_link_close(l, "others have taken its place");
			return;
		}
	}
}

static void on_connection(evutil_socket_t fd, short what, void *arg)
{
	struct node_listener *listener = arg;
	struct nodes *nodes = listener->nodes;

	(void)what;
	for (int i = 0; i < NODES_ACCEPTS_PER_TURN; i++) {
		struct sockaddr_storage address;
		socklen_t len = sizeof address;
		int client = accept4(fd, (void *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		char peer[NODES_PEER_SIZE];

		if (client >= 0) {
			make_room(nodes);
			format_peer(&address, peer);
			node_link_new(nodes, client, NULL, peer);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN && errno != EWOULDBLOCK && !nodes->is_accept_paused) {
			/* The event would come again at once. */
			nodes->is_accept_paused = true;
			for (size_t j = 0; j < nodes->listener_count; j++)
				event_del(nodes->listeners[j].event);
		}
		return;
	}
}

static int open_socket(const struct addrinfo *ai)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

static void add_listener(struct nodes *nodes, int fd)
{
	struct node_listener *moved;

	/* Events point to their listeners. */
	moved = mem_realloc_array(NULL, nodes->listener_count + 1, sizeof *moved);
	for (size_t i = 0; i < nodes->listener_count; i++) {
		moved[i] = nodes->listeners[i];
		event_free(moved[i].event);
	}
	free(nodes->listeners);
	nodes->listeners = moved;
	moved[nodes->listener_count++] = (struct node_listener){ .nodes = nodes, .fd = fd };
	for (size_t i = 0; i < nodes->listener_count; i++) {
		moved[i].event = event_new(nodes->base, moved[i].fd, EV_READ | EV_PERSIST,
					   on_connection, &moved[i]);
		event_add(moved[i].event, NULL);
	}
}

int nodes_listen(struct nodes *nodes, const char *host, int port, struct buf *ret_error)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	bool is_any = strcmp(host, "*") == 0 || strcmp(host, "::*") == 0;
	struct sockaddr_storage own;
	socklen_t len = sizeof own;
	struct addrinfo *found;
	char service[8];
	int rc, fd;

	snprintf(service, sizeof service, "%d", port);
	if (is_any)
		hints.ai_family = host[0] == '*' ? AF_INET : AF_INET6;
	rc = getaddrinfo(is_any ? NULL : host, service, &hints, &found);
	if (rc != 0) {
		buf_printf(ret_error, "cannot listen on %s: %s", host, gai_strerror(rc));
		return -1;
	}
	fd = open_socket(found);
	rc = errno;
	freeaddrinfo(found);
	if (fd < 0 || getsockname(fd, (void *)&own, &len) < 0) {
		buf_printf(ret_error, "cannot listen on %s port %d: %s", host, port, strerror(rc));
		return -1;
	}
	add_listener(nodes, fd);
	return own.ss_family == AF_INET6
		       ? ntohs(((const struct sockaddr_in6 *)(const void *)&own)->sin6_port)
		       : ntohs(((const struct sockaddr_in *)(const void *)&own)->sin_port);
}

/*
 * Life
 */

static const char *copy_address(char *to, const char *address)
{
	size_t len = strlen(address);

	assert(len < MEMBERS_ADDRESS_SIZE);
	return memcpy(to, address, len + 1);
}

struct nodes *nodes_new(const struct nodes_options *options, struct event_base *base)
{
	struct nodes *nodes = mem_zalloc(sizeof *nodes);
	const struct timeval beat = {
		.tv_sec = options->heartbeat_ms / 1000,
		.tv_usec = options->heartbeat_ms % 1000 * 1000,
	};

	assert(options->heartbeat_ms != 0);
	nodes->options = *options;
	nodes->options.address = copy_address(nodes->address, options->address);
	nodes->options.announce = copy_address(nodes->announce, options->announce);
	if (nodes->options.silent_beats == 0)
		nodes->options.silent_beats = NODES_SILENT_BEATS;
	nodes->base = base;
	nodes->random = options->seed;
	nodes->handshakes_left = NODES_HANDSHAKES_PER_TURN;
	nodes->hello_beats = options->hello_ms / options->heartbeat_ms + 1;
	TAILQ_INIT(&nodes->nodes);
	TAILQ_INIT(&nodes->links);
	dial_init(&nodes->fetch.dial, nodes, FRAME_FOR_BASE);
	nodes->turn = event_new(base, -1, 0, on_turn, nodes);
	nodes->beat = event_new(base, -1, EV_PERSIST, on_beat, nodes);
	event_add(nodes->beat, &beat);
	return nodes;
}

void nodes_free(struct nodes *nodes)
{
	struct node *node;
	struct node_link *l;

	if (nodes == NULL)
		return;
	nodes_stop_base(nodes);
	TAILQ_FOREACH(node, &nodes->nodes, entry) {
		if (!node->is_gone)
			drop_node(node, "this node stops");
	}
	TAILQ_FOREACH(l, &nodes->links, entry)
		node_link_close(l, "this node stops");
	free_dead(nodes);
	dial_done(&nodes->fetch.dial);
	for (size_t i = 0; i < nodes->listener_count; i++) {
		event_free(nodes->listeners[i].event);
		close(nodes->listeners[i].fd);
	}
	free(nodes->listeners);
	event_free(nodes->turn);
	event_free(nodes->beat);
	free(nodes);
}

void nodes_set_address(struct nodes *nodes, const char *address)
{
	copy_address(nodes->address, address);
}

/*
 * Figures
 */

static size_t node_memory(const struct node *node)
{
	size_t bytes = sizeof *node + node->small.cap;

	if (node->dial.link != NULL)
		bytes += node_link_memory(node->dial.link);
	if (node->receiver != NULL)
		bytes += node_link_memory(node->receiver);
	if (node->reader != NULL)
		bytes += node_link_memory(node->reader);
	return bytes;
}

bool nodes_get_member(const struct nodes *nodes, uint64_t id, struct nodes_member_info *ret_info)
{
	const struct node *node = nodes_find(nodes, id);

	if (node == NULL)
		return false;
	*ret_info = (struct nodes_member_info){
		.id = id,
		.announce = node->announce,
		.is_sending = is_sending(node),
		.is_receiving = node->receiver != NULL,
		.has_clock = node->has_clock,
		.clock_ahead_us = node->clock_ahead_us,
		.connects = node->connects,
		.dropped = node->dropped,
		.sent = node->sent,
		.received = node->received,
		.memory = node_memory(node),
		.error = is_sending(node) ? "" : node->error,
	};
	return true;
}

void nodes_get_info(const struct nodes *nodes, struct nodes_info *ret_info)
{
	const struct node *node;
	const struct node_link *l;

	*ret_info = (struct nodes_info){
		.strangers = nodes->strangers,
		.refused = nodes->refused,
		.memory = sizeof *nodes,
	};
	TAILQ_FOREACH(node, &nodes->nodes, entry)
		ret_info->memory += sizeof *node + node->small.cap;
	TAILQ_FOREACH(l, &nodes->links, entry) {
		ret_info->connections += l->state != LINK_DEAD;
		ret_info->memory += node_link_memory(l);
	}
}
