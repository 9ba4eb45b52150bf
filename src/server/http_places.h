/*
 * The places of http-maxclients.
 *
 * If all are taken, a new connection gets the place of one of little use. There is a list for each
 * use, in the order of time, so the choice costs the same with any number of connections.
 */
#ifndef SERVER_HTTP_PLACES_H
#define SERVER_HTTP_PLACES_H

#include <stdbool.h>
#include <sys/queue.h>

struct http;
struct http_conn;
struct server;

/* The uses of a connection, least useful first. */
enum http_use {
	HTTP_USE_STRANGER, /* its client has no user */
	HTTP_USE_IDLE,	   /* it has no request, or one that has not arrived or begun */
	HTTP_USE_BUSY,	   /* its request waits for a command, or gets a stream */
	HTTP_USE_COUNT,
};

TAILQ_HEAD(http_conn_list, http_conn);

void http_places_init(struct http *http);

/* A connection takes a place, and gives it back. */
void http_places_enter(struct http *http, struct http_conn *h);
void http_places_leave(struct http *http, struct http_conn *h);

/* Call this if the user or the phase of a connection may have changed for longer than a step. */
void http_places_update(struct http *http, struct http_conn *h);
/* The connection got an answer, so it is the last of its use to lose its place. */
void http_places_renew(struct http *http, struct http_conn *h);

/* Returns whether a new connection may be accepted. If all places are taken, closes the connection
 * of least use. Busy ones keep their places. */
bool http_places_make_room(struct server *s);

#endif
