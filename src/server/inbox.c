#include "server/inbox.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "command/acl.h"
#include "server/server_int.h"
#include "util/mem.h"

/* The address of connections from the program, in CLIENT LIST and elsewhere. */
#define INSIDE_ADDRESS "inside:0"

static void wake(struct server *s)
{
	uint64_t one = 1;

	/* If the counter is full, the loop has news already. */
	if (write(s->inbox.fd, &one, sizeof one) < 0)
		return;
}

int server_take_socket(struct server *s, int fd)
{
	struct inbox *inbox = &s->inbox;
	int rc = -1;

	pthread_mutex_lock(&inbox->mutex);
	if (!inbox->is_stopping && !inbox->must_stop) {
		inbox->sockets =
			mem_realloc_array(inbox->sockets, inbox->count + 1, sizeof *inbox->sockets);
		inbox->sockets[inbox->count++] = fd;
		rc = 0;
	}
	pthread_mutex_unlock(&inbox->mutex);
	if (rc == 0)
		wake(s);
	return rc;
}

void server_ask_to_stop(struct server *s)
{
	pthread_mutex_lock(&s->inbox.mutex);
	s->inbox.must_stop = true;
	pthread_mutex_unlock(&s->inbox.mutex);
	wake(s);
}

static void greet(struct server *s, int fd)
{
	struct conn *c;

	if (s->stop.is_begun || !strangers_make_room(s)) {
		close(fd);
		return;
	}
	c = conn_new(s, fd, /* is_unix= */ true, mem_dup(INSIDE_ADDRESS, sizeof INSIDE_ADDRESS - 1),
		     mem_dup(INSIDE_ADDRESS, sizeof INSIDE_ADDRESS - 1));
	c->client.session.user = acl_default_user(s->inbox.acl);
	conn_begin(c);
	strangers_update(c);
}

static void on_news(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct inbox *inbox = &s->inbox;
	size_t count;
	int *sockets;
	uint64_t news;
	bool must_stop;

	(void)what;
	server_read_clock(s);
	if (read(fd, &news, sizeof news) < 0)
		return;
	pthread_mutex_lock(&inbox->mutex);
	sockets = inbox->sockets;
	count = inbox->count;
	must_stop = inbox->must_stop;
	inbox->sockets = NULL;
	inbox->count = 0;
	pthread_mutex_unlock(&inbox->mutex);
	for (size_t i = 0; i < count; i++)
		greet(s, sockets[i]);
	free(sockets);
	if (must_stop)
		stop_begin(s);
}

int inbox_open(struct server *s, struct buf *ret_error)
{
	struct inbox *inbox = &s->inbox;

	pthread_mutex_init(&inbox->mutex, NULL);
	inbox->acl = acl_new(s->table);
	inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inbox->fd < 0) {
		buf_printf(ret_error, "cannot make an eventfd: %s", strerror(errno));
		return -1;
	}
	inbox->event = event_new(s->base, inbox->fd, EV_READ | EV_PERSIST, on_news, s);
	event_add(inbox->event, NULL);
	return 0;
}

void inbox_refuse(struct server *s)
{
	struct inbox *inbox = &s->inbox;

	if (inbox->acl == NULL)
		return;
	pthread_mutex_lock(&inbox->mutex);
	inbox->is_stopping = true;
	for (size_t i = 0; i < inbox->count; i++)
		close(inbox->sockets[i]);
	inbox->count = 0;
	pthread_mutex_unlock(&inbox->mutex);
}

void inbox_close(struct server *s)
{
	struct inbox *inbox = &s->inbox;

	if (inbox->acl == NULL)
		return;
	inbox_refuse(s);
	if (inbox->event != NULL)
		event_free(inbox->event);
	if (inbox->fd >= 0)
		close(inbox->fd);
	free(inbox->sockets);
	acl_free(inbox->acl);
	pthread_mutex_destroy(&inbox->mutex);
}
