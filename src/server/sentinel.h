/*
 * The group as clients of Redis Sentinel see it.
 *
 * Client libraries ask Sentinel for the address of the server, and ask again when they lose it.
 * Each node of a group answers these questions at its own port, about the group that it belongs to:
 * the leader is the master, the nodes that follow are its replicas, and each node is a Sentinel.
 */
#ifndef SERVER_SENTINEL_H
#define SERVER_SENTINEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replication/members.h"
#include "util/str.h"

struct buf;
struct config;
struct server;

/* Length of a run ID, in hexadecimal digits. */
#define SENTINEL_RUN_ID_BYTES 40
/* Longest address that clients are told: that of a HELLO between nodes. */
#define SENTINEL_ADDRESS_SIZE 300
/* The channel with changes of the leader. */
#define SENTINEL_CHANNEL "+switch-master"

struct sentinel_node {
	uint64_t id;
	char run_id[SENTINEL_RUN_ID_BYTES]; /* no NUL follows */
	char address[SENTINEL_ADDRESS_SIZE];
	struct qless_str host; /* a part of `address`, without brackets */
	struct qless_str port; /* empty: where clients reach the node is not known yet */
	bool is_own;	       /* this node */
	bool is_leader;	       /* it leads and serves clients, as far as this node knows */
	bool is_voter;
	bool is_reached; /* this node, or one with a connection to or from it */
};

struct sentinel_view {
	uint64_t term;
	size_t count;
	struct sentinel_node nodes[MEMBERS_MAX];
	const struct sentinel_node *own;    /* NULL: this node is not a member */
	const struct sentinel_node *leader; /* NULL: none is known, or not its address */
	unsigned quorum;		    /* voters that choose a leader */
	unsigned reached;		    /* voters with `is_reached` */
};

/* Divides "host:port" or "[host]:port". Returns false, with both empty, if there is no port. */
bool sentinel_split_address(const char *address, struct qless_str *ret_host,
			    struct qless_str *ret_port);

/* Returns whether clients can be told the name of the group and the address of this node. Otherwise
 * writes a line to `ret_error`. */
bool sentinel_check_config(const struct config *config, struct buf *ret_error);

/* Where clients reach this node, as far as the configuration tells: replication-announce, otherwise
 * the first address of `bind` or `replication-bind` that is one address. Empty if none is. */
void sentinel_configured_address(const struct server *s, char to[SENTINEL_ADDRESS_SIZE]);

/* `local` is the address of this server that a client is connected to, or NULL. It stands in for
 * the own address if replication-announce is empty. `s` is a node of a group. The view contains
 * pointers to itself: do not copy it. */
void sentinel_look(const struct server *s, const char *local, struct sentinel_view *ret);

/* The turn ends: publish the address of the leader if it has changed. */
void sentinel_note_leader(struct server *s);

#endif
