/*
 * Signals: SIGTERM and SIGINT stop the server, SIGHUP reopens the log file and loads the
 * certificate again, SIGUSR1 writes a report to the log.
 */
#ifndef SERVER_SIGNALS_H
#define SERVER_SIGNALS_H

struct event;
struct server;

#define SIGNALS_COUNT 4

struct signals {
	struct event *events[SIGNALS_COUNT];
	int count;
};

void signals_init(struct server *s);
void signals_done(struct server *s);

#endif
