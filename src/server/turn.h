/*
 * One turn of the loop:
 *
 *	1. wait until something happens, unless there is work left over from the turn before;
 *	2. for each socket that has something: read it and run the requests, at most a share of the
 *	   turn for each connection; leave the rest to the next turn if much waits for a sync;
 *	3. go on with the connections that had more requests than their share, and run the commands
 *	   of internal clients;
 *	4. write the records of what was changed to the log;
 *	5. send the replies whose records are as durable as configured;
 *	6. free the connections that died, and a part of the flushed databases.
 */
#ifndef SERVER_TURN_H
#define SERVER_TURN_H

#include <stdbool.h>
#include <stddef.h>

struct server;

struct turn {
	size_t share;		  /* commands of a connection in a turn, see share.h */
	unsigned handshakes_left; /* steps of TLS handshakes that this turn still takes */
	bool has_flushed;	  /* a part of flushed databases is not freed yet */
	bool is_running;	  /* turns do not nest */
	bool loop_failed;
};

/* Run one turn. Without `wait` it ends at once if nothing has happened. */
void turn_run(struct server *s, bool wait);

#endif
