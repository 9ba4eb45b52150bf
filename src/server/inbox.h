/*
 * The inbox: what the other threads of a program ask of a server that runs inside of it.
 *
 * Such a server has no listeners. The program hands it one end of a socket pair for each
 * connection. A program that can open the directory can change everything in it, so its connections
 * have all rights, whatever users the log has.
 *
 * An eventfd wakes the loop, and the turn takes all requests.
 */
#ifndef SERVER_INBOX_H
#define SERVER_INBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct acl;
struct buf;
struct event;
struct server;

struct inbox {
	int fd;
	struct event *event;
	struct acl *acl; /* its default user is that of the connections; NULL: there is no inbox */
	pthread_mutex_t mutex; /* guards the fields below */
	int *sockets;	       /* that wait for the loop */
	size_t count;
	bool must_stop;
	bool is_stopping; /* sockets are refused */
};

/* Returns -1 with a line in `ret_error`. */
int inbox_open(struct server *s, struct buf *ret_error);
void inbox_close(struct server *s);
/* The server serves no longer: close the sockets that nobody took, and refuse others. */
void inbox_refuse(struct server *s);

#endif
