/*
 * A client: whatever asks the server to run commands.
 *
 * A client holds everything that running a command needs: the session, the place for the reply, the
 * transaction, the subscriptions. A connection embeds a client and adds its socket; an internal
 * client (submit.h) has no socket. Code that runs, counts, or shows commands deals with clients.
 * Only code about sockets deals with connections.
 */
#ifndef SERVER_CLIENT_H
#define SERVER_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "command/request.h"
#include "resp/reply.h"
#include "util/chain.h"

struct attached;
struct client;
struct server;
struct subscriber;
struct txn;
struct waiting;

TAILQ_HEAD(attached_list, attached);
TAILQ_HEAD(client_list, client);

enum client_kind {
	CLIENT_TCP,	 /* a connection from an address */
	CLIENT_UNIX,	 /* a connection from a Unix socket */
	CLIENT_INTERNAL, /* a part of the server */
};

/* The directive that limits the output of each client. */
#define CLIENT_OUTPUT_LIMIT "client-output-buffer-limit"

/* Operations that depend on the kind of client. */
struct client_ops {
	/* Send the bytes that were added to `out` or `messages`, and enforce limits. */
	void (*output_grew)(struct client *c);
	/* Returns how many bytes of output the client may still get before its limit ends it. */
	size_t (*output_room)(struct client *c);
	/* The output would exceed the limit of that directive: drop it, and end the client. */
	void (*output_exceeded)(struct client *c, const char *limit);
	/* The command that the client waited for has ended: run the next one. */
	void (*command_ended)(struct client *c);
	/* Run no more requests. The client ends when its output has left. */
	void (*finish)(struct client *c);
	/* End the client at the end of this turn, and drop its output. `reason` goes to the log
	 * unless it is NULL. */
	void (*drop)(struct client *c, const char *reason);
};

struct client {
	struct session session;
	struct server *server;
	const struct client_ops *ops;
	enum client_kind kind;

	bool is_monitor; /* on server->clients.monitors */
	bool is_dropped; /* ends with this turn, and its output goes nowhere */
	bool no_evict;
	bool no_touch;
	bool reply_off;		/* CLIENT REPLY OFF */
	bool skip_next_reply;	/* CLIENT REPLY SKIP, for the command after it */
	bool reply_ends_client; /* its limit of output is nearer than max-reply-size */

	struct reply writer;   /* writes replies to `out` */
	struct chain out;      /* replies and messages that have not left */
	struct chain messages; /* messages that arrived while its command runs; they follow the
				* reply, which may be half written */

	struct txn *txn; /* between MULTI and EXEC, or while keys are watched; otherwise NULL */
	struct waiting *waiting;       /* its command goes on in later turns; otherwise NULL */
	struct subscriber *subscriber; /* its subscriptions; NULL: there are none */
	unsigned channel_count;
	unsigned pattern_count;

	struct attached_list attached; /* the workers that it has attached */
	size_t attached_count;
	size_t attached_bytes; /* their memory */

	char *name; /* CLIENT SETNAME and SETINFO; NULL or text */
	char *lib_name;
	char *lib_version;
	char *peer; /* "127.0.0.1:4711", "[::1]:4711", "/run/qlessd.sock:0" */
	const struct command *last_command;
	enum hold_reason hold;	 /* why its next request waits; HOLD_NONE: it does not */
	int64_t skew_us;	 /* monotonic: when its clock was seen to be wrong; 0 for never */
	uint64_t errors_counted; /* of writer.errors */

	TAILQ_ENTRY(client) monitor;
};

/* State that all clients share. */
struct clients {
	struct client_list monitors;
	struct client *running; /* the client whose command runs; NULL between commands */
	uint64_t last_id;
	struct chunk_pool chunks; /* of output, for reuse */
};

void clients_init(struct server *s);
void clients_done(struct server *s);

/* Begin a client without rights, in database 0. Takes `peer`, which is from malloc(). */
void client_init(struct client *c, struct server *s, enum client_kind kind,
		 const struct client_ops *ops, char *peer);
/* Free what the client holds. It is neither a monitor nor subscribed any more. */
void client_done(struct client *c);

/* Everything that writes to a client calls this afterwards. */
static inline void client_output_grew(struct client *c)
{
	c->ops->output_grew(c);
}

static inline void client_finish(struct client *c)
{
	c->ops->finish(c);
}

static inline void client_drop(struct client *c, const char *reason)
{
	c->ops->drop(c, reason);
}

/* Begin a message, such as one of a channel. It is sent whatever CLIENT REPLY says, and never
 * within a reply. The caller calls client_output_grew() afterwards. */
void client_begin_message(struct client *c, struct reply *ret_writer);

/* Call this after a command has written all of its reply: appends the messages that arrived
 * while it ran. */
static inline void client_end_reply(struct client *c)
{
	if (c->messages.len != 0)
		chain_move(&c->out, &c->messages);
}

/* Returns whether the client is a connection, and writes an error if it is not. For commands
 * that send messages later, or are about the socket. */
bool client_check_connection(struct client *c);

/* Start or stop showing the client every command that is run. */
void client_set_monitor(struct client *c, bool on);

/* End all subscriptions, and monitoring, and let the workers leave: from now on only replies are
 * sent to the client. */
void client_leave(struct client *c);

static inline bool client_is_subscribed(const struct client *c)
{
	return c->channel_count + c->pattern_count != 0;
}

static inline struct client *client_of(const struct request *req)
{
	return (struct client *)((char *)req->session - offsetof(struct client, session));
}

static inline struct server *server_of(const struct request *req)
{
	return client_of(req)->server;
}

#endif
