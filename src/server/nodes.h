/*
 * Connections between the nodes of a group: a listener, and a connection to each other member.
 *
 * A node sends its messages to another one over the connection that it has made itself, and
 * receives those of the other one over the connection that the other one has made. The accepting
 * side of a connection only says that it is alive. A lost connection is made again, after pauses
 * that grow to a second.
 *
 *	nodes_send() --> small messages --------+
 *	            \-> one range of entries ---+--> output, up to 1 MiB --> socket
 *	                        ^
 *	             ops->fetch /  when the socket takes more
 *
 * Nothing here is reliable. A message that is sent while there is no connection is dropped, and so
 * are those that a connection has not delivered when it ends. The core notices and sends again. So
 * a slow or dead node costs a bounded amount of memory: its queue holds NODES_QUEUE_BYTES of small
 * messages, and the indices of the entries that it is to get, but not their bytes.
 *
 * Messages of one connection arrive in the order in which they were sent, with two exceptions:
 *
 * - Small messages overtake entries.
 * - A heartbeat, which is a message of kind CORE_ENTRIES without entries, does not wait for
 *entries. Its commit index becomes that of the waiting ones. If an entry is under way in pieces, a
 *   heartbeat leaves between two pieces. Its previous entry is the one before the pieces, because
 *   a node refuses a heartbeat after an entry that it does not have yet.
 *
 * No frame has more than 1 MiB of entries, so one message may arrive as several. A larger entry is
 * sent in pieces and handed over when all of them are there. The commit index that arrives is never
 * above the last entry of its message or, without entries, above the previous one. It would
 * otherwise cover old entries that follow there in the receiver's log and differ from the leader's.
 *
 * If the core sends entries that wait or are under way already, they are not sent twice, unless the
 * other node has refused some since. See range.h.
 *
 * A new connection is a stranger until its HELLO has been accepted. Strangers have a time limit and
 * NODES_STRANGERS_MAX places; if all are taken, the oldest one loses its place. They cannot make
 * the node allocate more than FRAME_HELLO_MAX bytes each.
 *
 * With TLS, both sides show a certificate that the CA of the group has signed and that has the host
 * of the member's address as a name. Without TLS, anybody who reaches the port can be a member.
 *
 * Callbacks come from the event loop. They may call everything here except nodes_free().
 */
#ifndef SERVER_NODES_H
#define SERVER_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replication/frame.h"
#include "replication/message.h"
#include "util/str.h"

struct buf;
struct event_base;
struct nodes;
struct tls;

/* Bytes of small messages that wait for one node; further ones are dropped. */
#define NODES_QUEUE_BYTES ((size_t)64 * 1024)
/* Bytes of entries or of a snapshot that one connection reads or writes in a turn. */
#define NODES_TURN_BYTES ((size_t)1024 * 1024)
/* Connections whose HELLO has not been accepted. */
#define NODES_STRANGERS_MAX 16
/* Heartbeats without a byte from the other side after which a connection is given up, if the
 * options do not say otherwise. The kernel repeats a lost packet after 200 ms, and then after twice
 * the time before. So a connection outlives the loss of three packets if heartbeats come every 80
 * ms. */
#define NODES_SILENT_BEATS 20

enum nodes_fetched {
	NODES_FETCHED, /* `*ret_count` entries are appended, at least one */
	NODES_LARGE,   /* the first entry has more than FRAME_ENTRIES_BYTES bytes: fetch_piece() */
	NODES_LATER,   /* they have to be read first: nodes_wake() will be called */
	NODES_GONE, /* they are not in the log any more, or this node has ceased to lead in `term`
		     */
};

enum nodes_base_end {
	NODES_BASE_COMPLETE, /* all bytes were handed over */
	NODES_BASE_GONE,     /* the other node does not have the file any more */
	NODES_BASE_STOPPED,  /* ops->base_piece() returned false */
};

struct nodes_ops {
	/* A message has arrived, with its encoded entries if it is of kind CORE_ENTRIES. Both are
	 * borrowed until the callback returns. */
	void (*received)(void *arg, uint64_t from, const struct core_message *message,
			 struct qless_str entries);

	/* The next three are also called inside of nodes_flush(). They only read, and call nothing
	 * of this interface. */

	/* Append encoded entries (frame_put_entry()) from `first` on: at most `count`, and at most
	 * `max` bytes. The message that they belong to was sent in `term`: if this node does not
	 * lead in that term any more, its entries may be others by now, and must not be sent. */
	enum nodes_fetched (*fetch)(void *arg, uint64_t term, uint64_t first, uint64_t count,
				    size_t max, struct buf *out, uint64_t *ret_count);
	/* Append `max` bytes, or as many as there are, of the payload of a large entry from
	 * `offset` on. *ret_entry gets its term and kind, and the length of the payload; not the
	 * bytes. */
	enum nodes_fetched (*fetch_piece)(void *arg, uint64_t term, uint64_t index, size_t offset,
					  size_t max, struct buf *out,
					  struct frame_entry *ret_entry);

	/* Append `max` bytes of the file of a snapshot from `offset` on, or as many as there are.
	 * NODES_FETCHED, NODES_LATER or NODES_GONE. */
	enum nodes_fetched (*base_read)(void *arg, const struct frame_base *base, uint64_t offset,
					size_t max, struct buf *out);

	/* A read round: another node asks whether this one agrees that it leads in `term`, or
	 * answers with its own term. NULL: not used. */
	void (*probed)(void *arg, uint64_t from, uint64_t term, uint64_t number);
	void (*probe_answered)(void *arg, uint64_t from, uint64_t term, uint64_t number);

	/* A node that is not a member, or of which this node has no list yet, says HELLO. With TLS,
	 * its certificate has the name of the address that it says it has. Returns whether to
	 * accept it as a sender. NULL: never. */
	bool (*admit)(void *arg, const struct frame_hello *hello);

	/* The leader offers a snapshot, with its file. */
	void (*base_offered)(void *arg, uint64_t from, const struct core_message *message,
			     const struct frame_base *base);
	/* The next piece of the snapshot that this node fetches has arrived. Returns false if it
	 * cannot be stored, which ends the fetching. */
	bool (*base_piece)(void *arg, uint64_t offset, struct qless_str bytes);
	/* The fetching has ended. */
	void (*base_ended)(void *arg, enum nodes_base_end end);
	void *arg;
};

struct nodes_options {
	uint64_t id; /* of this node */
	/* The group. Without one, this node has yet to join: it makes no connections, and
	 * ops->admit decides about every HELLO. */
	unsigned char group[FRAME_GROUP_BYTES];
	bool has_group;
	/* Where other nodes reach this one, as host:port. Copied. */
	const char *address;
	/* Where clients reach this one; empty if that is not known. Copied. */
	const char *announce;
	/* Certificate, key and CA. NULL: no TLS. Borrowed; see nodes_set_tls(). */
	const struct tls *tls;
	unsigned heartbeat_ms;
	unsigned silent_beats; /* 0: NODES_SILENT_BEATS */
	/* Milliseconds for a handshake, a HELLO and the answer to it. */
	unsigned hello_ms;
	/* Bytes of snapshots a second that this node sends, to all others together. 0: no limit. */
	uint64_t base_rate;
	uint64_t seed;	      /* for pauses that differ between nodes */
	struct nodes_ops ops; /* copied */
};

/* Borrows the event loop. */
struct nodes *nodes_new(const struct nodes_options *options, struct event_base *base);
/* Closes all connections without a callback. NULL is a no-op. */
void nodes_free(struct nodes *nodes);

/* Listen on an address; port 0 is any free one. `host` is an address, "*" or "::*". Returns the
 * port, or -1 with a line in `ret_error`. */
int nodes_listen(struct nodes *nodes, const char *host, int port, struct buf *ret_error);

/* Where other nodes reach this one from now on. Copied. */
void nodes_set_address(struct nodes *nodes, const char *address);
/* The group of a node that has joined one. */
void nodes_set_group(struct nodes *nodes, const unsigned char group[FRAME_GROUP_BYTES]);
/* The members have changed. Makes connections to new ones, and closes those of members that have
 * left. Copied. This node may be among them. */
void nodes_set_members(struct nodes *nodes, const struct members *members);
/* Use another certificate for new connections. The old one must live until this returns. */
void nodes_set_tls(struct nodes *nodes, const struct tls *tls);

/* Send a message, or drop it. Entries are sent as far as ops->fetch() has them. */
void nodes_send(struct nodes *nodes, uint64_t to, const struct core_message *message);
void nodes_send_probe(struct nodes *nodes, uint64_t to, uint64_t term, uint64_t number);
void nodes_answer_probe(struct nodes *nodes, uint64_t to, uint64_t term, uint64_t number);
/* Send CORE_BASE_OFFER with the file. */
void nodes_offer_base(struct nodes *nodes, uint64_t to, const struct core_message *message,
		      const struct frame_base *base);

/* Write what was queued in this turn. Without this call, the next turn of the loop does it. */
void nodes_flush(struct nodes *nodes);
/* Entries or bytes of a snapshot that a callback had to read first are there. */
void nodes_wake(struct nodes *nodes);

/* Fetch a snapshot from a member from `offset` on, over a connection of its own that is made again
 * when it breaks. Only one at a time; another one that is under way ends without a callback. */
void nodes_fetch_base(struct nodes *nodes, uint64_t from, const struct frame_base *base,
		      uint64_t offset);
void nodes_stop_base(struct nodes *nodes);
/* Bytes that the current fetching has handed over, or 0. */
uint64_t nodes_base_offset(const struct nodes *nodes);

struct nodes_member_info {
	uint64_t id;
	const char *announce; /* where clients reach it; "" until it has said so */
	bool is_sending;      /* the connection to it is open */
	bool is_receiving;    /* and the one from it */
	/* Microseconds by which its wall clock is ahead of this node's, plus the way of a frame. */
	bool has_clock;
	int64_t clock_ahead_us;
	uint64_t connects; /* connections to it that were opened */
	uint64_t dropped;  /* messages that were not sent */
	uint64_t sent;	   /* bytes */
	uint64_t received; /* bytes */
	size_t memory;	   /* bytes that its connections and its queue hold */
	const char *error; /* why the last connection to it failed or ended; "" if it is open */
};

struct nodes_info {
	size_t connections;
	size_t strangers;
	uint64_t refused; /* connections from others that were refused or timed out */
	size_t memory;	  /* bytes of all connections and queues */
};

/* Returns false if there is no such member, or it is this node. The texts are valid until the
 * event loop runs again. */
bool nodes_get_member(const struct nodes *nodes, uint64_t id, struct nodes_member_info *ret_info);
void nodes_get_info(const struct nodes *nodes, struct nodes_info *ret_info);

#endif
