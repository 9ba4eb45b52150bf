#include "server/http_places.h"

#include <assert.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "util/mem.h"

/* When all places are taken, one in this many is made free. To find the slowest, all events of the
 * loop are walked, which is not worth doing for a single one. */
#define CUT_ONE_IN 4

void http_places_init(struct http_places *p, struct event_base *base, size_t limit)
{
	*p = (struct http_places){ .base = base, .limit = limit };
	p->taken = mem_realloc_array(NULL, limit, sizeof *p->taken);
}

void http_places_done(struct http_places *p)
{
	free(p->taken);
}

static struct http_place *find(struct http_places *p, const struct event *input)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->taken[i].input == input)
			return &p->taken[i];
	}
	return NULL;
}

static void give_up(struct http_places *p, struct http_place *place)
{
	*place = p->taken[--p->count];
}

static int note_event(const struct event_base *base, const struct event *ev, void *arg)
{
	struct http_places *p = arg;
	struct http_place *place;

	(void)base;
	if (event_get_callback(ev) != p->on_input)
		return 0;
	place = find(p, ev);
	if (place != NULL) {
		place->is_found = true;
		place->fd = event_get_fd(ev);
	}
	return 0;
}

void http_places_recount(struct http_places *p)
{
	for (size_t i = 0; i < p->count; i++)
		p->taken[i].is_found = false;
	event_base_foreach_event(p->base, note_event, p);
	for (size_t i = p->count; i-- != 0;) {
		if (!p->taken[i].is_found)
			give_up(p, &p->taken[i]);
	}
}

/* Close the connection that did nothing useful for the longest time. evhttp sees the end of the
 * stream, and frees it. */
static void cut_slowest(struct http_places *p)
{
	struct http_place *slowest = &p->taken[0];

	for (size_t i = 1; i < p->count; i++) {
		if (p->taken[i].useful_us < slowest->useful_us)
			slowest = &p->taken[i];
	}
	shutdown(slowest->fd, SHUT_RDWR);
	give_up(p, slowest);
}

size_t http_places_add(struct http_places *p, struct bufferevent *made, int64_t now_us)
{
	const struct event *input = &made->ev_read;
	struct http_place *old = find(p, input);
	size_t cut = 0;

	p->on_input = event_get_callback(input);
	/* The memory of a connection that has ended is used again. */
	if (old != NULL)
		give_up(p, old);
	if (p->count == p->limit) {
		http_places_recount(p);
		for (; p->count > p->limit - p->limit / CUT_ONE_IN; cut++)
			cut_slowest(p);
	}
	assert(p->count < p->limit);
	p->taken[p->count++] = (struct http_place){ .input = input, .useful_us = now_us };
	return cut;
}

void http_places_touch(struct http_places *p, struct bufferevent *connection, int64_t now_us)
{
	struct http_place *place = find(p, &connection->ev_read);

	if (place != NULL)
		place->useful_us = now_us;
}
