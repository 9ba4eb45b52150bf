/*
 * A server as a node of a group: replication/group.h on the event loop.
 *
 * A server alone has no member (`s->member` is NULL), and none of this.
 *
 *	        elected, its log is applied          another leads
 *	FOLLOWS ---------------------------> LEADS ---------------> FOLLOWS
 *
 * The leader serves clients. When a node ceases to lead, it closes the connections of all clients:
 * what they have sent and got no answer to may or may not have happened, and closed connections
 * make client libraries look for the new leader. A node that follows refuses commands, except for
 * those about the connection or the server, and applies what the leader has committed. Everything
 * that a server does by its own clock is for leaders only: environment_may_change() says so.
 *
 * An engine that has run what the new leader has replaced is thrown away, and made again from the
 * log (loading.h). Meanwhile the node takes entries and votes.
 */
#ifndef SERVER_MEMBER_H
#define SERVER_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "operation/operation.h"
#include "server/sentinel.h"

struct buf;
struct membership;
struct sentinel_node;
struct server;

/* Wishes of the command line. */
struct member_birth {
	bool begins;	     /* make a group of the log */
	bool joins;	     /* begin as a node that a group adds */
	const char *group;   /* its id in hexadecimal digits; NULL: a random one */
	const char *members; /* "1=host:port 2=host:port"; NULL: this node alone */
};

/* The log has been read: begin as a node if the log is that of a group, or becomes one. `newest_us`
 * is the newest time in the log. Returns -1 with a line in `ret_error`. */
int member_begin(struct server *s, const struct member_birth *birth, int64_t newest_us,
		 struct buf *ret_error);
/* NULL is a no-op. Before the log is closed. */
void member_done(struct server *s);

/* Returns whether this node leads, and clients may use it. */
bool member_leads(const struct server *s);
/* Returns whether clients must not take this server for the leader of a group: it follows, or it
 * still loads its log and may follow then. For every server. */
bool member_follows(const struct server *s);
/* Returns whether the log takes changes from this server: it is not applying those of another. */
bool member_takes_changes(const struct server *s);

/* The log has been flushed: note who leads, and apply what is committed. */
void member_end_turn(struct server *s);
/* Write to the other nodes what the turn has made. */
void member_send(struct server *s);
/* Returns whether the next turn has work, so that the loop must not wait. */
bool member_can_run(const struct server *s);

/* Returns whether the state must be loaded again. That cannot be done inside of a turn. */
bool member_needs_loading(const struct server *s);
/* Returns the highest sequence number up to which it can be loaded. */
uint64_t member_loadable(const struct server *s);
/* The state is that of the log up to `sequence`. */
void member_loaded(struct server *s, uint64_t sequence);

/* Hand over to the voter with this address, or to any one if it is NULL. Returns at once; false,
 * with a line in `ret_error`, if that is impossible. This node leads. */
bool member_begin_handover(struct server *s, const char *address, struct buf *ret_error);

/* Change the members, on the leader. The calls return at once, and the changes that follow are made
 * at the ends of turns. A change that has been made already is no error. They return -1, with a
 * line in `ret_error`, if nothing has changed. */
int member_add(struct server *s, uint64_t id, const char *address, struct buf *ret_error);
int member_remove(struct server *s, uint64_t id, struct buf *ret_error);
/* Add `new`, and remove `old` as soon as `new` votes. */
int member_replace(struct server *s, uint64_t old, uint64_t new, const char *address,
		   struct buf *ret_error);

/* One node of the group. The texts are valid until the turn ends. */
struct member_peer {
	uint64_t id;
	const char *address;
	const char *clients; /* where clients reach it; "" if that is unknown */
	const char *role;
	const char *progress; /* of a change; "" if there is none */
	bool is_connected;
	bool has_index;
	uint64_t index; /* of the last entry that it has on its disk */
	uint64_t last;	/* of this node */
	bool has_clock;
	int64_t clock_ahead_us;
};

unsigned member_count(const struct server *s);
void member_get_peer(const struct server *s, unsigned i, struct member_peer *ret_peer);

/* Returns why clients are not served here, as the line of an error reply: where the leader is. NULL
 * if this node leads. */
const char *member_refusal(const struct server *s);

/* Returns whether the state is one that the group has committed. A node that has ceased to lead may
 * have run commands that are replaced. */
bool member_has_copy(const struct server *s);

/* Append the lines of INFO replication. */
void member_append_info(const struct server *s, struct buf *out);

/* Returns whether a node is what Redis calls a connected replica. */
bool member_is_replica(const struct sentinel_node *node);
/* Returns the number of nodes that are connected to this one, if it leads. 0 for a server alone. */
unsigned member_replicas(const struct server *s);
/* Returns the index of the last entry that a node is known to have, if this one leads. */
uint64_t member_offset(const struct server *s, uint64_t id);

struct member_role {
	bool leads;
	uint64_t commit;
	char leader[SENTINEL_ADDRESS_SIZE]; /* where its clients reach it, host:port; empty: unknown
					     */
};

void member_get_role(const struct server *s, struct member_role *ret_role);

#endif
