/*
 * One turn of the loop:
 *
 *	1. wait until something happens, unless there is work left over from the turn before;
 *	2. for each socket that has something: read it and run the requests, at most a share of the
 *	   turn for each connection; leave the rest to the next turn if much waits for a sync;
 *	3. go on with the connections that had more requests than their share, run the commands of
 *	   internal clients, hand jobs to the clients that wait for them, and deliver messages;
 *	4. write the records of what was changed to the log;
 *	5. send the replies whose records are as durable as configured;
 *	6. free the connections that died, and a part of the flushed databases.
 *
 * Thousands of connections may have requests, output or their end at once. So each of these steps
 * has a limit of time, and leaves the rest to the next turn.
 */
#ifndef SERVER_TURN_H
#define SERVER_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;

/* The processor time of turns. It is read less often than once a turn, see turn.c. */
struct turn_cpu {
	int64_t last_us;   /* the last reading */
	int64_t unread_us; /* duration of the turns since then */
};

struct turn {
	size_t share; /* number of commands that a connection may run in this turn, see share.h */
	unsigned handshakes_left; /* number of steps of TLS handshakes left for this turn */
	int64_t handshakes_ns;	  /* time that these took in this turn */
	struct turn_cpu cpu;
	bool has_flushed; /* a part of a flushed database has not been freed */
	bool has_dead;	  /* connections, subscriptions or listeners that ended are not yet freed */
	bool has_pubsub;  /* messages or checks of subscriptions wait, or used their share of it */
	bool has_read;	  /* a client may have seen the state in this turn; for nodes of a group */
	bool is_running;  /* turns do not nest */
	bool loop_failed;
};

/* Returns whether the turn should read no more sockets, because it has taken long already. */
bool turn_is_late(const struct server *s);

/* Run one turn. Waits for an event if `wait` is true and nothing is left to do. */
void turn_run(struct server *s, bool wait);

#endif
