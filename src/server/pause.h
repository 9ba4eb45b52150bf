/*
 * CLIENT PAUSE: holds commands back for a while.
 */
#ifndef SERVER_PAUSE_H
#define SERVER_PAUSE_H

#include <stdint.h>

#include "command/request.h"

struct event;
struct server;

struct pause {
	enum pause_mode mode;
	int64_t until_us; /* monotonic */
	struct event *timer;
};

void pause_init(struct server *s);
void pause_done(struct server *s);

/* Hold back commands. A pause never makes an earlier one shorter or weaker, and ends
 * automatically. */
void pause_begin(struct server *s, enum pause_mode mode, int64_t duration_us);
void pause_end(struct server *s);

#endif
