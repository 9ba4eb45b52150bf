#include "server/resolve.h"

#include <event2/event.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "util/mem.h"

/* Bytes of the stack of a thread that looks up a name. */
#define STACK_BYTES ((size_t)256 * 1024)

/* The part of a lookup that the thread uses. It belongs to both sides; the last one frees it. */
struct lookup {
	atomic_int users;
	char *host;
	char service[8];
	unsigned choice;
	int fd; /* readable when the result is there; -1 if there is no thread */
	int rc;
	socklen_t len; /* 0: there is no address */
	struct sockaddr_storage address;
};

struct resolving {
	struct lookup *lookup;
	struct event *event;
	resolve_fn *fn;
	void *arg;
};

static void release(struct lookup *l)
{
	if (atomic_fetch_sub(&l->users, 1) != 1)
		return;
	if (l->fd >= 0)
		close(l->fd);
	free(l->host);
	free(l);
}

static void look_up(struct lookup *l, int flags)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICSERV | flags };
	struct addrinfo *found, *chosen;
	unsigned count = 1;

	l->rc = getaddrinfo(l->host, l->service, &hints, &found);
	if (l->rc != 0)
		return;
	for (chosen = found->ai_next; chosen != NULL; chosen = chosen->ai_next)
		count++;
	chosen = found;
	for (unsigned skip = l->choice % count; skip != 0; skip--)
		chosen = chosen->ai_next;
	memcpy(&l->address, chosen->ai_addr, chosen->ai_addrlen);
	l->len = chosen->ai_addrlen;
	freeaddrinfo(found);
}

static void *run(void *arg)
{
	struct lookup *l = arg;
	const uint64_t one = 1;

	look_up(l, AI_ADDRCONFIG);
	(void)!write(l->fd, &one, sizeof one);
	release(l);
	return NULL;
}

/* Signals are for the thread of the server. */
static bool start_thread(struct lookup *l)
{
	pthread_attr_t attributes;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	l->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (l->fd < 0)
		return false;
	atomic_fetch_add(&l->users, 1);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attributes, run, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	if (rc == 0)
		return true;
	atomic_fetch_sub(&l->users, 1);
	close(l->fd);
	l->fd = -1;
	return false;
}

static void on_result(evutil_socket_t fd, short what, void *arg)
{
	struct resolving *r = arg;
	struct lookup *l = r->lookup;
	struct sockaddr_storage address = l->address;
	const char *error = NULL;
	socklen_t len = l->len;

	(void)fd;
	(void)what;
	if (len == 0)
		error = l->rc != 0 ? gai_strerror(l->rc)
				   : "a thread to look up its name is missing";
	event_free(r->event);
	release(l);
	r->fn(r->arg, len != 0 ? (const struct sockaddr *)&address : NULL, len, error);
	free(r);
}

struct resolving *resolve(struct event_base *base, const char *host, int port, unsigned choice,
			  resolve_fn *fn, void *arg)
{
	static const struct timeval at_once = { .tv_sec = 0 };
	struct resolving *r = mem_zalloc(sizeof *r);
	struct lookup *l = mem_zalloc(sizeof *l);

	l->host = mem_dup(host, strlen(host));
	l->choice = choice;
	l->fd = -1;
	atomic_init(&l->users, 1);
	snprintf(l->service, sizeof l->service, "%d", port);
	r->lookup = l;
	r->fn = fn;
	r->arg = arg;
	look_up(l, AI_NUMERICHOST);
	if (l->rc == EAI_NONAME) {
		l->rc = 0;
		if (start_thread(l)) {
			r->event = event_new(base, l->fd, EV_READ, on_result, r);
			event_add(r->event, NULL);
			return r;
		}
	}
	r->event = event_new(base, -1, 0, on_result, r);
	event_add(r->event, &at_once);
	return r;
}

void resolve_cancel(struct resolving *r)
{
	if (r == NULL)
		return;
	event_free(r->event);
	release(r->lookup);
	free(r);
}
