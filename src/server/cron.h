/*
 * What happens once a second, and telling the service manager's watchdog that the server is alive.
 */
#ifndef SERVER_CRON_H
#define SERVER_CRON_H

#include <stdint.h>

struct event;
struct server;

struct cron {
	struct event *timer;
	struct event *watchdog;
	int64_t maintained_us; /* when old statistics were dropped last */
};

void cron_init(struct server *s);
void cron_done(struct server *s);

#endif
