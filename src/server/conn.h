/*
 * Connections: clients with a socket.
 *
 * conn.c has the states, birth and death. conn_input.c reads requests and has them run.
 * conn_output.c holds replies back until the log is durable, writes them, and enforces limits.
 */
#ifndef SERVER_CONN_H
#define SERVER_CONN_H

#include <assert.h>
#include <event2/event_struct.h>
#include <stdint.h>

#include "resp/parser.h"
#include "server/client.h"
#include "server/gate.h"
#include "server/http_conn.h"
#include "server/strangers.h"
#include "server/transport.h"
#include "util/buf.h"
#include "util/hash.h"

/* Bytes read from a connection in one go. */
#define CONN_READ_BYTES ((size_t)64 * 1024)

/* The reason that is logged when the log fails and a connection has output that waits for it. */
#define CONN_OUTPUT_LOST "its replies could not be made durable"

/*
 *             +---------------------------> CLOSING --> LEAVING --+
 *             |  the last reply is on its way                     v
 *   NEW ---> OPEN ---------------------------------------------> DEAD --> (freed at the end of
 *    |        ^  ^  |                                             ^    this or a later turn)
 *    |        |  |  v  CLIENT PAUSE, a long command, BPOP         |
 *    |        | HELD ---------------------------------------------+
 *    | TLS    |                                                   |
 *    +--> HANDSHAKE ----------------------------------------------+
 */
enum conn_state {
	CONN_NEW,	/* has a socket, and no events yet */
	CONN_OPEN,	/* requests are read and run */
	CONN_HANDSHAKE, /* the transport is not ready; nothing is read or written */
	CONN_HELD, /* its next request waits; client.hold is the reason, such as its last command */
	CONN_CLOSING, /* runs no more requests; closed when its output has left */
	CONN_LEAVING, /* all is written; waits until the peer has taken it */
	CONN_DEAD,    /* on the list of the dead */
};

enum conn_class {
	CONN_CLASS_NORMAL,
	CONN_CLASS_PUBSUB,
	CONN_CLASS_COUNT,
};

/* Bytes of output that wait until the log is durable up to a record. */
struct held_output {
	size_t bytes;
	struct gate_wait wait; /* waits while `bytes` is not 0 */
};

TAILQ_HEAD(conn_list, conn);

struct conn {
	struct client client;
	struct transport transport;
	struct http_conn *http; /* NULL: it speaks RESP */
	enum conn_state state;

	bool is_ready;	      /* on conns.ready: requests wait in `in`, or there is more to read */
	bool awaits_writable; /* the write event is armed: the socket was full */
	bool reading_waits;   /* the transport has to write before it can read on */
	bool on_edges;	      /* edge-triggered: see conn_input.c */
	bool end_of_input;    /* the peer sends no more, and all it has sent is read */
	bool end_is_near;     /* the peer sends no more, but what it has sent may not all be read */
	bool over_limit;      /* on conns.over_limit: its output exceeds a limit */

	enum conn_standing standing; /* strangers.c */
	size_t stranger_bytes;
	struct {
		size_t bytes; /* 0 for new and dead connections */
		size_t queued_bytes;
	} counted; /* client_memory.c */

	struct event read_event;
	struct event write_event;

	struct resp_parser parser;
	struct buf in; /* input that was read and has not been run; empty most of the time */
	/* client.out consists of these parts, in this order: output that may leave, the older
	 * run of held output, the newer one, and the output of this turn. */
	size_t cleared;
	struct held_output held[2];
	unsigned newest_held; /* which of the two was held last */

	char *local; /* as client.peer */

	int64_t created_us; /* monotonic, as all that follow */
	int64_t active_us;
	int64_t over_soft_us; /* since when the output is over the soft limit; 0 if it is not */
	int64_t closing_us;
	int64_t stranger_us; /* since when it has its standing */

	TAILQ_ENTRY(conn) all; /* in the order of their ids */
	struct hash_node by_id;
	TAILQ_ENTRY(conn) ready;
	TAILQ_ENTRY(conn) writable;
	struct conn_list *output_list; /* that `writable` links it in, or NULL */
	TAILQ_ENTRY(conn) over_limit_link;
	TAILQ_ENTRY(conn) dead;
	TAILQ_ENTRY(conn) stranger;
	TAILQ_ENTRY(conn) by_memory;
};

/* All connections. */
struct conns {
	struct conn_list all;
	struct hash by_id;
	struct conn_list ready;
	/* A connection with output is on one of these lists. */
	struct conn_list served;   /* the end of the turn writes these first */
	struct conn_list writable; /* and then these */
	struct conn_list late;	   /* the end of the next turn writes these */
	bool writable_first;	   /* in this turn, because the last one was too short for them */
	struct conn_list over_limit;
	struct conn_list dead;
	size_t count;		   /* of those that speak RESP, without the dead */
	size_t dead_count;	   /* they still have descriptors */
	size_t limit;		   /* maxclients, or what the system allows if that is less */
	size_t output_check_bytes; /* no output smaller than this is over any limit */
};

/* State that connections share for reading requests. */
struct intake {
	struct resp_limits limits;
	struct resp_limits stranger_limits; /* before a connection has authenticated */
	struct resp_request request;
	char *scratch; /* CONN_READ_BYTES of input that was just read */
};

void conns_init(struct server *s);
/* Close and free all connections. */
void conns_done(struct server *s);
void conns_apply_config(struct server *s);

/* Get descriptors for this many clients. Returns false if the system allows fewer; then the
 * limit is lower. */
bool conns_make_room(struct server *s, size_t clients);

/* Call this once a second: closes idle connections, enforces the soft limits of output, and
 * frees input buffers. */
void conns_check(struct server *s);
/* Free dead connections until the monotonic time, and one of them in any case. */
void conns_free_dead(struct server *s, int64_t until_us);

/* Make a connection for a connected socket. Takes `peer` and `local`, both from malloc(). It
 * reads nothing before conn_begin() or conn_begin_tls(). */
struct conn *conn_new(struct server *s, int fd, bool is_unix, char *peer, char *local);
/* The same, but it speaks HTTP. */
struct conn *conn_new_http(struct server *s, int fd, char *peer, char *local);

/* Read requests from now on. */
void conn_begin(struct conn *c);
/* Encrypt the connection, beginning with a handshake. Returns false if that is not possible; the
 * connection is dead then. */
bool conn_begin_tls(struct conn *c);

/* Returns the connection with that id, or NULL. Dead connections are not found. */
struct conn *conn_find(const struct server *s, uint64_t id);

/* Append the line of CLIENT INFO (cmd_client.c). */
void conn_describe(const struct conn *c, struct buf *out);

/* Drop the output, and run no more requests. The socket is closed at the end of this turn, or of a
 * later one if many connections die at once. `reason` goes to the log unless it is NULL.
 * Does nothing to the dead. */
void conn_kill(struct conn *c, const char *reason);
/* Run no more requests, and close once all output has left. */
void conn_finish(struct conn *c);

/* Returns whether the peer has closed the connection, or will send no more. */
bool conn_peer_is_gone(const struct conn *c);

/* Run the requests in the buffer of a connection on conns.ready, and read on if there may be
 * more. */
void conn_run_ready(struct conn *c);
/* The reason of a hold is gone: run the next request. */
void conn_release(struct conn *c);

/* Send the output of a connection, if there is any, before that of the other connections. */
void conn_send_first(struct conn *c);

/*
 * End the turn of a connection with output. Holds the output of this turn back until everything
 * recorded by now is durable, and writes the output that may leave. So no client learns of a state
 * that a crash can undo, whoever caused that state.
 */
void conn_send(struct conn *c);

/* Returns whether there is anything to send. */
static inline bool conns_have_output(const struct conns *conns)
{
	return !TAILQ_EMPTY(&conns->served) || !TAILQ_EMPTY(&conns->writable) ||
	       !TAILQ_EMPTY(&conns->late);
}
/* Returns whether one connection has output of this turn, and no other. */
bool conns_one_has_output(const struct server *s);
/* Close the connections that have output of this turn. */
void conns_kill_with_output(struct server *s, const char *reason);
/* Call this before the first conns_send_next() of a turn. */
void conns_begin_sending(struct server *s);
/* Send the output of the next connection. Returns false if there is none. */
bool conns_send_next(struct server *s);
/* No more is sent in this turn. */
void conns_end_sending(struct server *s);

enum conn_class conn_class(const struct conn *c);
const char *conn_class_name(enum conn_class class);
size_t conn_memory(const struct conn *c);

/* Returns whether strangers_update() has to look at the connection. */
static inline bool conn_is_stranger(const struct conn *c)
{
	return c->standing != CONN_KNOWN || c->client.session.user == NULL;
}

/* Returns the connection that embeds the client. The client must not be an internal one. */
static inline struct conn *conn_of(const struct client *client)
{
	assert(client->kind != CLIENT_INTERNAL);
	return (struct conn *)((char *)(uintptr_t)client - offsetof(struct conn, client));
}

#endif
