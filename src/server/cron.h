/*
 * Work that is done once a second, and the signs of life for the service manager's watchdog.
 */
#ifndef SERVER_CRON_H
#define SERVER_CRON_H

#include <stdint.h>

struct event;
struct server;

struct cron {
	struct event *timer;
	struct event *watchdog;
	int64_t maintained_us; /* when old statistics were last dropped; monotonic */
};

void cron_init(struct server *s);
void cron_done(struct server *s);

#endif
