/*
 * Connections that speak HTTP.
 *
 * They are connections like those of RESP: with the same shares of a turn, the same gate, TLS, and
 * limits of output. Their clients have the rights of a user for one request at a time.
 *
 *	           the request is complete          http_reply_end()
 *	READING ------------------------> ANSWERING ----------------> ANSWERED --> READING
 *	   |                               |  ^ |                      ^   ^
 *	   |                               +--+ | http_stream_begin()  |   |
 *	   |   CLIENT PAUSE, a long command     +-----> STREAMING -----+   |
 *	   +---------------------------------------------------------------+
 *	            the head of the request is refused
 *
 * While a command or a stream goes on, the connection is held. So later requests wait in its input.
 */
#ifndef SERVER_HTTP_CONN_H
#define SERVER_HTTP_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "http/json_reply.h"
#include "http/parser.h"
#include "http/response.h"
#include "server/http_api.h"
#include "server/http_login.h"
#include "server/http_places.h"
#include "util/chain.h"
#include "util/str.h"

struct conn;
struct event_stream;
struct http_conn;
struct http_history;
struct http_pages;
struct http_stream_ops;
struct server;

enum http_phase {
	HTTP_READING,	/* the request has not arrived, or waits for its turn */
	HTTP_ANSWERING, /* it is carried out */
	HTTP_STREAMING, /* its answer is sent in portions */
	HTTP_ANSWERED,
};

/* `is_head` and the three after it are about the request that is carried out. */
struct http_conn {
	struct conn *conn;
	struct http_parser parser;
	enum http_phase phase;
	bool is_remote;	  /* the client is on another machine */
	bool is_head;	  /* the answer has no body: the method is HEAD */
	bool keeps_alive; /* the connection stays after the answer */
	bool is_old;	  /* the client speaks HTTP/1.0 */
	bool is_private;  /* the answer must not be stored */
	bool tells_state; /* output may tell of jobs, so it waits until they are durable */
	bool is_chunked;  /* the stream is sent in chunks */
	int64_t begun_us; /* monotonic: since when a request arrives; 0: none does */

	struct chain reply; /* the body of the answer; the writer of the client writes to it */
	struct json_reply json;
	struct chain fields; /* further header fields of the answer */
	const struct http_stream_ops *stream;
	struct event_stream *events; /* if the stream is one of events */
	struct http_api_call api;
	struct http_login login;
	bool has_session;    /* the user of the request comes from a cookie */
	bool leaves_entries; /* the command of the request does, in the history of jobs */
	enum http_use use;
	TAILQ_ENTRY(http_conn) link; /* of connections with the same use */
};

/* The state that all connections of HTTP share. There is none without a port for them. */
struct http {
	struct http_conn_list conns[HTTP_USE_COUNT];
	size_t count;		     /* in all lists */
	size_t limit;		     /* http-maxclients, or less if descriptors are short */
	struct http_request request; /* that is being read or carried out */
	uint64_t seeds[2];	     /* of hashes of logins */
	char machine[256];	     /* the name of this machine, or empty */
	int64_t date_s;
	char date_text[HTTP_DATE_SIZE]; /* of date_s, for answers */
	struct http_pages *pages;
	struct http_api *api;
	struct http_history *history;
};

/* Make what connections share, if there is a port for HTTP. */
void http_init(struct server *s);
void http_done(struct server *s);
size_t http_connection_count(const struct server *s);

/*
 * For connections
 */

/* The new connection speaks HTTP. */
void http_conn_init(struct conn *c);
/* Free what belongs to HTTP. NULL is a no-op. */
void http_conn_free(struct http_conn *h);
/* The connection runs no more requests: ends its stream. */
void http_conn_leave(struct conn *c);
/* The connection dies. */
void http_conn_remove(struct conn *c);
/* The server stops: answer a request that waits, if there is one. */
void http_conn_stop(struct conn *c);
size_t http_conn_memory(const struct conn *c);

/* Run requests from the front of the bytes, at most this turn's share, as of RESP. */
size_t http_conn_run(struct conn *c, char *base, size_t len);
/* Returns how many bytes to read at once, if `len` bytes are there. */
size_t http_conn_room(const struct conn *c, size_t len);
/* Returns whether its answer is of no use once the peer sends no more. */
bool http_conn_ends_with_input(const struct conn *c);
/* Output has left. */
void http_conn_wrote(struct conn *c);
/* The command that the request waited for has ended. */
void http_conn_answer(struct conn *c);
/* Once a second: close the connection if its client is too slow. */
void http_conn_check(struct conn *c);
/* Answer a peer that speaks another protocol than this port. */
void http_conn_refuse_foreign(struct conn *c);
/* Changes the phase. Nothing else does. */
void http_conn_set_phase(struct http_conn *h, enum http_phase phase);

#endif
