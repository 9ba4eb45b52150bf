/*
 * Places of connections to the HTTP port.
 *
 * evhttp has no limit for connections and does not report their end. So connections are found by
 * their events: nothing else in the server is a bufferevent. When all places are taken, those that
 * did nothing useful for the longest time are closed. So a new client always gets a place, however
 * slow the others are.
 */
#ifndef SERVER_HTTP_PLACES_H
#define SERVER_HTTP_PLACES_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bufferevent;

/* Number of descriptors that the HTTP port may need besides those of its connections: listeners,
 * and connections that are being closed. */
#define HTTP_OWN_DESCRIPTORS 32

struct http_place {
	const struct event *input; /* the read event of the connection, which identifies it */
	evutil_socket_t fd;	   /* valid during a walk */
	bool is_found;		   /* by the current walk */
	int64_t useful_us;	   /* monotonic: when it began, or last made progress */
};

struct http_places {
	struct event_base *base;
	event_callback_fn on_input; /* the callback of every connection's read event */
	struct http_place *taken;
	size_t count; /* includes connections that ended since the last walk */
	size_t limit;
};

void http_places_init(struct http_places *p, struct event_base *base, size_t limit);
void http_places_done(struct http_places *p);

/* Give a new connection a place. Returns the number of connections that were closed for it. */
size_t http_places_add(struct http_places *p, struct bufferevent *made, int64_t now_us);

/* The connection made progress. */
void http_places_touch(struct http_places *p, struct bufferevent *connection, int64_t now_us);

/* Forget the connections that have ended. */
void http_places_recount(struct http_places *p);

#endif
