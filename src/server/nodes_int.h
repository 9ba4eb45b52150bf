/*
 * The interface between the files nodes*.c.
 *
 *	nodes.c		members, listeners, the beat, messages to send
 *	nodes_link.c	one connection: its socket, its events, its end
 *	nodes_greet.c	HELLO, and who is refused
 *	nodes_input.c	frames that arrive
 *	nodes_output.c	frames that leave
 *	nodes_base.c	pieces of snapshots, to and from
 *	nodes_dial.c	addresses, and connections that are made again
 */
#ifndef SERVER_NODES_INT_H
#define SERVER_NODES_INT_H

#include <sys/queue.h>

#include "replication/range.h"
#include "server/complaints.h"
#include "server/nodes.h"
#include "server/transport.h"
#include "util/buf.h"

/* Bytes of a text about a connection, with NUL. */
#define NODES_TEXT_SIZE 160
/* Bytes of an address with port as text, with NUL. */
#define NODES_PEER_SIZE 64
/* Requests for pieces of a snapshot that a connection may have unanswered. */
#define NODES_ASKS_MAX 4
/* Requests that a node which fetches a snapshot sends ahead: one is answered while the other one is
 * on its way. */
#define NODES_ASKS_AHEAD 2
/* Bytes of buffers that an idle connection keeps. */
#define NODES_KEEP_BYTES ((size_t)64 * 1024)
/* Bytes of room for input, at most. */
#define NODES_ROOM_MAX_BYTES ((size_t)256 * 1024)
/* Steps of TLS handshakes in a turn: each may take a millisecond. */
#define NODES_HANDSHAKES_PER_TURN 2
/* Connections that are accepted in a turn. */
#define NODES_ACCEPTS_PER_TURN 4
/* Milliseconds before a lost connection is made again: the first pause, and the longest. */
#define NODES_PAUSE_MIN_MS 20
#define NODES_PAUSE_MAX_MS 1000
/* Heartbeats after which a connection counts as a good one, and the pauses begin anew. */
#define NODES_SETTLED_BEATS 20

struct event;
struct resolving;

enum link_state {
	LINK_CONNECTING, /* outgoing: the socket is not connected */
	LINK_HANDSHAKE,	 /* of TLS */
	LINK_GREETING,	 /* waits for HELLO, or for the answer to it */
	LINK_OPEN,
	LINK_DEAD, /* closed; stays in the list until it is freed at the end of the turn */
};

/* A request for a piece of a snapshot. */
struct ask {
	struct frame_base base;
	uint64_t offset;
	uint32_t length;
};

/* A connection. */
struct node_link {
	TAILQ_ENTRY(node_link) entry; /* of nodes->links, oldest first */
	struct nodes *nodes;
	struct node *node; /* NULL: a stranger */
	struct dial *dial; /* NULL: the other node has made the connection */
	enum link_state state;
	enum frame_purpose purpose;
	bool is_delayed;       /* it has more to do in the next turn */
	size_t read_left;      /* bytes that it may read in this turn */
	size_t write_left;     /* and write; a little more is possible */
	bool reads_on_write;   /* TLS reads when the socket can be written to */
	unsigned beats;	       /* since the connection exists */
	unsigned silent_beats; /* since a byte arrived */
	struct transport transport;
	struct event *readable;
	struct event *writable;
	struct buf in;
	struct buf out;
	char peer[NODES_PEER_SIZE];

	/* A large entry that arrives in pieces: the fields of its last piece, its term, and its
	 * encoded bytes so far. */
	struct frame_piece piece;
	uint64_t piece_term;
	struct buf entry_bytes;

	/* Requests of the other node for pieces of a snapshot, in order. */
	struct ask asks[NODES_ASKS_MAX];
	unsigned ask_count;
};

TAILQ_HEAD(node_link_list, node_link);

/* A connection that is made again when it breaks. */
struct dial {
	struct nodes *nodes;
	struct node *node; /* NULL: nothing is to be connected */
	enum frame_purpose purpose;
	struct node_link *link; /* NULL: there is none */
	struct event *timer;
	unsigned pause_ms;
	unsigned attempts;
	struct resolving *resolving; /* the address is being looked up */
};

/* Another node. */
struct node {
	TAILQ_ENTRY(node) entry;
	struct nodes *nodes;
	uint64_t id;
	char address[MEMBERS_ADDRESS_SIZE];
	char announce[MEMBERS_ADDRESS_SIZE];
	bool is_member; /* otherwise it was admitted, and goes with its connection */
	bool is_gone;	/* freed at the end of the turn */
	struct dial dial;
	struct node_link *receiver; /* messages from it; NULL: there is none */
	struct node_link *reader;   /* its connection for pieces of a snapshot */
	struct range range;
	struct buf small; /* encoded small messages */
	bool has_output;
	bool has_clock;
	int64_t clock_ahead_us;
	uint64_t connects;
	uint64_t dropped;
	uint64_t sent;
	uint64_t received;
	char error[NODES_TEXT_SIZE];
	char logged[NODES_TEXT_SIZE]; /* the last error in the log */
};

TAILQ_HEAD(node_list, node);

struct node_listener {
	struct nodes *nodes;
	int fd;
	struct event *event;
};

/* The snapshot that this node fetches. */
struct base_fetch {
	bool is_active;
	uint64_t from;
	struct frame_base base;
	uint64_t offset; /* bytes before this one were handed over */
	uint64_t asked;	 /* bytes before this one were asked for */
	uint64_t number; /* of the fetching, to tell it from the next one */
	bool is_lost; /* it ends in the next turn: there is nobody to ask, or nothing to ask for */
	struct dial dial;
};

struct nodes {
	struct nodes_options options;
	char address[MEMBERS_ADDRESS_SIZE];
	char announce[MEMBERS_ADDRESS_SIZE];
	struct event_base *base;
	struct node_list nodes;
	struct node_link_list links;
	struct node_listener *listeners;
	size_t listener_count;
	bool is_accept_paused; /* no descriptors are left */
	struct event *beat;
	struct event *turn; /* runs what has to wait for the next turn of the loop */
	size_t strangers;
	unsigned handshakes_left;
	unsigned hello_beats;
	int64_t base_tokens; /* bytes of snapshots that may be sent now */
	struct base_fetch fetch;
	uint64_t random;
	uint64_t refused;
	struct complaints complaints;
};

/* nodes.c */

/* Run on_turn() in the next turn of the loop. */
void nodes_arm_turn(struct nodes *nodes);
struct node *nodes_find(const struct nodes *nodes, uint64_t id);
/* Make a node that is not in the list of members. */
struct node *nodes_add_guest(struct nodes *nodes, uint64_t id, struct qless_str address);
/* A guest goes with its last connection. */
void nodes_check_guest(struct node *node);
/* Returns a random number below `limit`. */
uint64_t nodes_random(struct nodes *nodes, uint64_t limit);

/* nodes_link.c */

/* Make a connection of a socket: one that was accepted, or for `dial`, one that is connected or
 * about to be. */
struct node_link *node_link_new(struct nodes *nodes, int fd, struct dial *dial, const char *peer);
/* The way is free for HELLO. */
void node_link_greet(struct node_link *l);
/* HELLO has been exchanged. */
void node_link_open(struct node_link *l);
/* Write what there is, as far as the socket takes it. */
void node_link_write(struct node_link *l);
/* Do more in the next turn. */
void node_link_delay(struct node_link *l);
/* A new turn has begun: continue what was delayed. */
void node_link_resume(struct node_link *l);
/* Close the connection. The text says why. */
void node_link_close(struct node_link *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Free a connection that is closed. */
void node_link_free(struct node_link *l);
size_t node_link_memory(const struct node_link *l);

/* nodes_greet.c */

/* Say HELLO on a connection that this node has made. */
void greet_send_hello(struct node_link *l);
/* The first frame has arrived. */
void greet_take(struct node_link *l, const struct frame *frame);
/* Note and perhaps log that a stranger was turned away. */
void greet_note_refusal(struct node_link *l, const char *reason);

/* nodes_input.c */

/* Handle the frames that are complete. Returns false if the connection was closed. */
bool input_take(struct node_link *l);
/* Returns the bytes to make room for. */
size_t input_room(const struct node_link *l);

/* nodes_output.c */

/* Append at least one frame to the output, which is empty. Returns false if there is none. */
bool output_fill(struct node_link *l);
void output_put_alive(struct node_link *l);

/* nodes_base.c */

/* The frames of a connection for a snapshot. Return false if the frame does not belong there. */
bool base_take_request(struct node_link *l, const struct frame *frame);
bool base_take_answer(struct node_link *l, const struct frame *frame);
/* Append an answer to the output. */
bool base_fill(struct node_link *l);
/* The connection for fetching is open. */
void base_ask(struct node_link *l);
/* A heartbeat has passed: more may be sent. */
void base_beat(struct nodes *nodes);
/* A node goes, from which the snapshot may come. */
void base_lose_source(struct nodes *nodes, const struct node *node);
/* End a fetching that has nobody to ask. */
void base_turn(struct nodes *nodes);

/* nodes_dial.c */

void dial_init(struct dial *d, struct nodes *nodes, enum frame_purpose purpose);
/* Ends the connection and all attempts. */
void dial_stop(struct dial *d);
void dial_done(struct dial *d);
/* Begin to connect to a node, if there is no connection. */
void dial_start(struct dial *d, struct node *node);
/* The connection is open. */
void dial_opened(struct dial *d);
/* The connection has been open for a while, so the next one needs no long pause. */
void dial_settle(struct dial *d);
/* The connection has ended: connect again after a pause. */
void dial_lost(struct dial *d);
/* Divide host:port or [address]:port. Returns false if it is neither. `ret_host` has room for
 * MEMBERS_ADDRESS_SIZE bytes. */
bool dial_split(struct qless_str address, char *ret_host, int *ret_port);

#endif
