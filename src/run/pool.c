#include "run/pool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/family.h"
#include "sys/log.h"
#include "util/mem.h"

/* Bytes that are read from a slot at once. */
#define READ_BYTES ((size_t)64 * 1024)

/* The name of the process differs from qless-run, so that killing all processes of that name leaves
 * the slots, which then kill their programs. */
#define PROCESS_NAME "qless-slot"

struct slot_handle {
	struct pool *pool;
	unsigned number;
	pid_t pid; /* 0 if there is no process */
	int socket;
	bool has_job;
	bool is_dead; /* its process is gone, and what it left is not yet */
	int status;   /* of the dead process */
	struct buf in, out;
	struct event *readable, *writable;
};

struct pool {
	const struct slot_settings *settings;
	const struct pool_events *events;
	void *arg;
	struct event_base *base;
	unsigned count;
	bool is_quitting;
	struct slot_handle slots[];
};

/* ---- processes ---- */

/* Move the descriptors that a slot needs next to the standard ones, and close all others: those of
 * other slots, so that only qless-run holds the other ends of their sockets, and those of the
 * connections. */
static void keep_descriptors(struct slot_handle *h, struct scratch *scratch, int socket)
{
	int *kept[] = { &scratch->base, &scratch->own, &scratch->lock, &h->socket };
	int from[] = { scratch->base, scratch->own, scratch->lock, socket };
	int first = 3, high = first + (int)(sizeof kept / sizeof kept[0]);

	/* First out of the way, because a descriptor may have the number that another one gets. */
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
		from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, high);
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
		*kept[i] = first + (int)i;
		dup3(from[i], *kept[i], O_CLOEXEC);
	}
	if (close_range((unsigned)high, ~0u, 0) == 0)
		return;
	for (int fd = high; fd < sysconf(_SC_OPEN_MAX); fd++)
		close(fd);
}

/* The terminal and the service manager send signals to all processes. A slot leaves them to
 * qless-run, which tells it what to do. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGTERM, SIGPIPE,
				       SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU };

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
}

static void be_slot(struct slot_handle *h, int socket)
{
	struct slot_settings settings = *h->pool->settings;
	struct scratch scratch = *settings.scratch;

	prctl(PR_SET_NAME, PROCESS_NAME);
	ignore_signals();
	keep_descriptors(h, &scratch, socket);
	settings.scratch = &scratch;
	slot_serve(&settings, h->number, h->socket);
	_exit(0);
}

static void fork_slot(struct slot_handle *h)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		log_fatal("cannot make a socket for a slot: %s", strerror(errno));
		exit(1);
	}
	h->pid = fork();
	if (h->pid < 0) {
		log_fatal("cannot fork a process for a slot: %s", strerror(errno));
		exit(1);
	}
	if (h->pid == 0)
		be_slot(h, ends[1]);
	close(ends[1]);
	h->socket = ends[0];
}

struct pool *pool_new(const struct slot_settings *settings, unsigned slots,
		      const struct pool_events *events, void *arg)
{
	struct pool *p = mem_zalloc(sizeof *p + slots * sizeof p->slots[0]);

	assert(slots > 0 && slots <= POOL_SLOTS_MAX);
	p->settings = settings;
	p->events = events;
	p->arg = arg;
	p->count = slots;
	/* If a slot dies, its processes become children of this one. */
	family_adopt();
	for (unsigned i = 0; i < slots; i++) {
		struct slot_handle *h = &p->slots[i];

		h->pool = p;
		h->number = i;
		buf_init(&h->in, BUF_NO_MAX);
		buf_init(&h->out, BUF_NO_MAX);
		fork_slot(h);
	}
	return p;
}

static void disconnect(struct slot_handle *h)
{
	if (h->readable != NULL)
		event_free(h->readable);
	if (h->writable != NULL)
		event_free(h->writable);
	h->readable = h->writable = NULL;
	if (h->socket >= 0)
		close(h->socket);
	h->socket = -1;
	buf_clear(&h->in);
	buf_clear(&h->out);
}

void pool_free(struct pool *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->count; i++) {
		disconnect(&p->slots[i]);
		buf_done(&p->slots[i].in);
		buf_done(&p->slots[i].out);
	}
	free(p);
}

/* ---- messages ---- */

static void receive(struct slot_handle *h, const struct message *message)
{
	struct pool *p = h->pool;
	int64_t pid;

	switch (message->kind) {
	case MESSAGE_STARTED:
		memcpy(&pid, message->body.ptr, sizeof pid);
		p->events->started(p->arg, h->number, (pid_t)pid);
		break;
	case MESSAGE_PROGRESS:
		p->events->progress(p->arg, h->number, message->body);
		break;
	case MESSAGE_ENDED:
		h->has_job = false;
		p->events->ended(p->arg, h->number, message->body);
		break;
	case MESSAGE_RUN:
	case MESSAGE_END:
	case MESSAGE_KILL:
	case MESSAGE_QUIT:
		break;
	}
}

static void receive_all(struct slot_handle *h)
{
	struct message message;
	size_t len;

	while ((len = message_read(&h->in, &message)) != 0) {
		receive(h, &message);
		buf_consume(&h->in, len);
	}
}

/* Returns whether there may be more. The end of the socket is noticed by the end of the process. */
static bool read_some(struct slot_handle *h)
{
	ssize_t got = recv(h->socket, buf_reserve(&h->in, READ_BYTES), READ_BYTES, MSG_DONTWAIT);

	if (got > 0) {
		buf_commit(&h->in, (size_t)got);
		receive_all(h);
	} else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
		event_del(h->readable);
	}
	return got > 0;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_some(arg);
}

static void write_some(struct slot_handle *h)
{
	ssize_t sent = 0;

	while (h->out.len != 0 && sent >= 0) {
		sent = send(h->socket, buf_data(&h->out), h->out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent > 0)
			buf_consume(&h->out, (size_t)sent);
	}
	if (h->out.len != 0 && errno == EAGAIN)
		event_add(h->writable, NULL);
	else
		buf_clear(&h->out); /* all was sent, or the slot is dead */
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	write_some(arg);
}

static void send_message(struct slot_handle *h, enum message_kind kind, struct qless_str body)
{
	if (h->socket < 0)
		return;
	message_append(&h->out, kind, body, STR(""));
	write_some(h);
}

static void connect_slot(struct slot_handle *h)
{
	h->readable = event_new(h->pool->base, h->socket, EV_READ | EV_PERSIST, on_readable, h);
	h->writable = event_new(h->pool->base, h->socket, EV_WRITE, on_writable, h);
	if (h->readable == NULL || h->writable == NULL)
		abort();
	event_add(h->readable, NULL);
}

void pool_attach(struct pool *p, struct event_base *base)
{
	p->base = base;
	for (unsigned i = 0; i < p->count; i++)
		connect_slot(&p->slots[i]);
}

unsigned pool_run(struct pool *p, struct qless_str json)
{
	unsigned i = 0;

	while (p->slots[i].has_job || p->slots[i].is_dead) {
		i++;
		assert(i < p->count);
	}
	p->slots[i].has_job = true;
	send_message(&p->slots[i], MESSAGE_RUN, json);
	return i;
}

unsigned pool_count_free(const struct pool *p)
{
	unsigned count = 0;

	for (unsigned i = 0; i < p->count; i++)
		count += !p->slots[i].has_job && !p->slots[i].is_dead;
	return count;
}

void pool_end(struct pool *p, unsigned slot)
{
	send_message(&p->slots[slot], MESSAGE_END, STR(""));
}

void pool_kill(struct pool *p, unsigned slot)
{
	send_message(&p->slots[slot], MESSAGE_KILL, STR(""));
}

/* ---- ends ---- */

void pool_quit(struct pool *p)
{
	p->is_quitting = true;
	for (unsigned i = 0; i < p->count; i++)
		send_message(&p->slots[i], MESSAGE_QUIT, STR(""));
}

bool pool_is_over(const struct pool *p)
{
	for (unsigned i = 0; i < p->count; i++) {
		if (p->slots[i].pid != 0 || p->slots[i].is_dead)
			return false;
	}
	return true;
}

static struct slot_handle *find_slot(const struct pool *p, pid_t pid)
{
	for (unsigned i = 0; i < p->count; i++) {
		if (p->slots[i].pid == pid)
			return (struct slot_handle *)(uintptr_t)&p->slots[i];
	}
	return NULL;
}

static bool is_slot(void *arg, pid_t pid)
{
	return find_slot(arg, pid) != NULL;
}

/* Reports that a slot sent before its death count. */
static void note_death(struct slot_handle *h, int status)
{
	while (h->socket >= 0 && read_some(h))
		;
	h->pid = 0;
	h->is_dead = true;
	h->status = status;
	disconnect(h);
}

static void replace(struct slot_handle *h)
{
	struct pool *p = h->pool;
	bool had_job = h->has_job;

	h->is_dead = false;
	h->has_job = false;
	if (p->is_quitting)
		return;
	log_warning("the process of slot %u was killed, and is replaced", h->number);
	fork_slot(h);
	connect_slot(h);
	if (had_job)
		p->events->died(p->arg, h->number, h->status);
}

/* Children that are no slots were left by a slot that was killed. Their jobs are over when they are
 * dead. */
void pool_bury(struct pool *p)
{
	struct family_death death;
	bool has_dead = false;

	do {
		struct slot_handle *h;

		death = family_bury();
		h = death.pid != 0 ? find_slot(p, death.pid) : NULL;
		if (h != NULL)
			note_death(h, death.status);
	} while (death.pid != 0);
	for (unsigned i = 0; i < p->count; i++)
		has_dead |= p->slots[i].is_dead;
	if (!has_dead || (death.has_children && family_kill(is_slot, p) != 0))
		return;
	for (unsigned i = 0; i < p->count; i++) {
		if (p->slots[i].is_dead)
			replace(&p->slots[i]);
	}
}
