#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "command/acl.h"
#include "server/http_places.h"
#include "server/server_int.h"
#include "sys/log.h"
#include "util/mem.h"

/* Number of connections that are accepted before the existing ones get their turn. */
#define LISTEN_ACCEPTS_PER_TURN 64
/* Number of connections that are closed for new ones in a turn. Their descriptors are in use until
 * its end. */
#define LISTEN_CUTS_PER_TURN 8
/* Milliseconds until the next attempt after descriptors ran out. */
#define LISTEN_RETRY_MS	 100
#define LISTEN_NAME_MAX	 (INET6_ADDRSTRLEN + 16)
#define KEEPALIVE_PROBES 3

static char *format_address(const struct sockaddr *address, const char *suffix)
{
	char host[INET6_ADDRSTRLEN] = "?";
	char name[LISTEN_NAME_MAX];
	int len;

	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)address;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
		len = snprintf(name, sizeof name, "[%s]:%u%s", host, ntohs(in6->sin6_port), suffix);
	} else {
		const struct sockaddr_in *in = (const void *)address;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		len = snprintf(name, sizeof name, "%s:%u%s", host, ntohs(in->sin_port), suffix);
	}
	return mem_dup(name, (size_t)len);
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6) {
		const struct in6_addr *in6 =
			&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

		if (IN6_IS_ADDR_V4MAPPED(in6))
			return in6->s6_addr[12] == 127;
		return IN6_IS_ADDR_LOOPBACK(in6);
	}
	return (ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >>
		24) == 127;
}

/*
 * Accepting
 */

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	listen_resume(arg);
}

static void pause_accepting(struct server *s)
{
	struct timeval delay = { .tv_usec = LISTEN_RETRY_MS * 1000 };

	if (s->listening.is_paused)
		return;
	if (!s->listening.is_warned)
		log_warning("no file descriptors left with %zu clients: new connections wait until "
			    "one is free",
			    s->conns.count);
	s->listening.is_warned = true;
	s->listening.is_paused = true;
	for (int i = 0; i < s->listening.count; i++)
		event_del(s->listening.listeners[i].event);
	event_add(s->listening.timer, &delay);
}

void listen_resume(struct server *s)
{
	if (!s->listening.is_paused || s->stop.is_begun)
		return;
	s->listening.is_paused = false;
	event_del(s->listening.timer);
	for (int i = 0; i < s->listening.count; i++)
		event_add(s->listening.listeners[i].event, NULL);
}

/* Refuse a connection with a reason. The socket is new and its buffer is empty, so the text
 * leaves unless the peer is gone. With TLS nothing can be said before a handshake, which a
 * refusal is not worth. */
static void turn_away(struct listener *l, int fd, const char *text)
{
	if (!l->is_tls)
		(void)!send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
	l->server->stats.rejected_connections++;
}

static const char protected_text[] =
	"-DENIED qlessd is running in protected mode because protected mode is enabled and no "
	"password is set for the default user. In this mode connections are only accepted from the "
	"loopback interface and from Unix sockets. To connect from other machines, do one of the "
	"following: 1) set a password with 'CONFIG SET requirepass <password>' from a connection "
	"of this machine, or with the directive requirepass in the configuration file; 2) define "
	"users with passwords and switch the default user off; 3) if nobody who is not trusted can "
	"reach the port, disable protected mode with 'CONFIG SET protected-mode no' or in the "
	"configuration file.\r\n";

static void tune_tcp(const struct server *s, int fd)
{
	int on = 1, idle = (int)s->config->tcp_keepalive_s;
	int interval = idle / KEEPALIVE_PROBES, probes = KEEPALIVE_PROBES;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (idle == 0)
		return;
	if (interval == 0)
		interval = 1;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

/* Begin to read from the connection. */
static void start(const struct listener *l, struct conn *c)
{
	if (!l->is_tls)
		conn_begin(c);
	else if (!conn_begin_tls(c))
		return;
	strangers_update(c);
	log_write(LOG_LEVEL_VERBOSE,
		  LOG_FIELDS(LOG_INT("id", c->client.session.id), LOG_TEXT("addr", c->client.peer)),
		  "client connected");
}

/* Begin to serve a client of HTTP. Its requests are checked one by one: a page for monitoring needs
 * no user, and a password comes with a request. */
static void greet_http(struct listener *l, int fd, const struct sockaddr_storage *address)
{
	static const char full_text[] =
		"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\n"
		"Connection: close\r\n\r\n";
	struct server *s = l->server;
	struct sockaddr_storage own;
	socklen_t own_len = sizeof own;
	struct conn *c;

	if (!http_places_make_room(s)) {
		turn_away(l, fd, full_text);
		return;
	}
	if (getsockname(fd, (void *)&own, &own_len) < 0) {
		close(fd);
		return;
	}
	tune_tcp(s, fd);
	c = conn_new_http(s, fd, format_address((const void *)address, ""),
			  format_address((const void *)&own, ""));
	c->http->is_remote = !is_loopback((const void *)address);
	start(l, c);
}

static void greet(struct listener *l, int fd, const struct sockaddr_storage *address)
{
	struct server *s = l->server;
	const struct user *user = acl_default_user(s->env.acl);
	bool is_open = acl_user_needs_no_password(user);
	char *peer, *local;
	struct conn *c;

	if (!strangers_make_room(s)) {
		turn_away(l, fd, "-ERR max number of clients reached\r\n");
		return;
	}
	if (l->is_unix) {
		size_t size = strlen(l->name) + sizeof ":0";

		peer = mem_alloc(size);
		snprintf(peer, size, "%s:0", l->name);
		local = mem_dup(peer, size - 1);
	} else {
		struct sockaddr_storage own;
		socklen_t own_len = sizeof own;

		if (s->config->protected_mode && is_open && !is_loopback((const void *)address)) {
			turn_away(l, fd, protected_text);
			return;
		}
		if (getsockname(fd, (void *)&own, &own_len) < 0) {
			close(fd);
			return;
		}
		tune_tcp(s, fd);
		peer = format_address((const void *)address, "");
		local = format_address((const void *)&own, "");
	}
	c = conn_new(s, fd, l->is_unix, peer, local);
	if (is_open)
		c->client.session.user = user;
	start(l, c);
}

/* Connections that died in earlier turns may still have their descriptors. */
static bool has_descriptors(const struct server *s)
{
	size_t limit = s->conns.limit + (s->http != NULL ? s->http->limit : 0);

	return s->conns.count + http_connection_count(s) + s->conns.dead_count <=
	       limit + LISTEN_CUTS_PER_TURN;
}

static void on_connection(evutil_socket_t fd, short what, void *arg)
{
	struct listener *l = arg;

	(void)what;
	server_read_clock(l->server);
	for (int i = 0;
	     i < LISTEN_ACCEPTS_PER_TURN && l->server->strangers.cut < LISTEN_CUTS_PER_TURN &&
	     has_descriptors(l->server);
	     i++) {
		struct sockaddr_storage address;
		socklen_t len = sizeof address;
		int client = accept4(fd, (void *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client >= 0) {
			if (l->is_http)
				greet_http(l, client, &address);
			else
				greet(l, client, &address);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			pause_accepting(l->server);
		else if (errno == EINTR || errno == ECONNABORTED)
			continue;
		else if (errno != EAGAIN && errno != EWOULDBLOCK)
			log_warning("cannot accept a connection on %s: %s", l->name,
				    strerror(errno));
		else
			l->server->listening.is_warned = false;
		return;
	}
}

/*
 * Opening
 */

static struct listener *add_listener(struct server *s, int fd, char *name)
{
	struct listener *l;

	s->listening.listeners =
		mem_realloc_array(s->listening.listeners, (size_t)s->listening.count + 1,
				  sizeof *s->listening.listeners);
	l = &s->listening.listeners[s->listening.count++];
	*l = (struct listener){ .server = s, .fd = fd, .name = name };
	return l;
}

/* A TCP port. */
struct door {
	int port;
	bool is_tls;
	bool is_http;
};

static const char *door_suffix(struct door door)
{
	if (door.is_http)
		return door.is_tls ? "/https" : "/http";
	return door.is_tls ? "/tls" : "";
}

static int open_tcp(struct server *s, const struct addrinfo *ai, struct door door, const char *host,
		    bool is_optional, struct buf *ret_error)
{
	struct sockaddr_storage own;
	socklen_t own_len = sizeof own;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct listener *l;
	int on = 1;

	if (fd < 0)
		goto fail;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (s->listening.is_trial) {
		if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 && errno != EADDRINUSE)
			goto fail;
		s->listening.tried++;
		close(fd);
		return 0;
	}
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, s->config->tcp_backlog) < 0 ||
	    getsockname(fd, (void *)&own, &own_len) < 0)
		goto fail;
	l = add_listener(s, fd, format_address((const void *)&own, door_suffix(door)));
	l->is_tls = door.is_tls;
	l->is_http = door.is_http;
	return 0;

fail:
	if (fd >= 0)
		close(fd);
	if (is_optional &&
	    (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT)) {
		log_verbose("not listening on %s: %s", host, strerror(errno));
		return 0;
	}
	buf_printf(ret_error, "cannot listen on %s port %d: %s", host, door.port, strerror(errno));
	return -1;
}

static int open_address(struct server *s, struct door door, const char *host, struct buf *ret_error)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *found, *ai;
	bool is_optional = host[0] == '-';
	char port[8];
	int rc;

	if (is_optional)
		host++;
	snprintf(port, sizeof port, "%d", door.port);
	if (strcmp(host, "*") == 0)
		hints.ai_family = AF_INET;
	else if (strcmp(host, "::*") == 0)
		hints.ai_family = AF_INET6;
	rc = getaddrinfo(hints.ai_family != 0 ? NULL : host, port, &hints, &found);
	if (rc != 0) {
		if (is_optional)
			return 0;
		buf_printf(ret_error, "cannot listen on %s: %s", host, gai_strerror(rc));
		return -1;
	}
	for (ai = found; ai != NULL; ai = ai->ai_next) {
		rc = open_tcp(s, ai, door, host, is_optional, ret_error);
		if (rc < 0)
			break;
	}
	freeaddrinfo(found);
	return rc;
}

/* Remove a socket file that a crash left. If a server answers there, the file belongs to it. */
static int clear_unix_path(const struct sockaddr_un *address, struct buf *ret_error)
{
	struct stat st;
	int fd, rc;

	if (lstat(address->sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode)) {
		buf_printf(ret_error, "cannot listen on %s: there is a file that is not a socket",
			   address->sun_path);
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		buf_printf(ret_error, "cannot make a socket: %s", strerror(errno));
		return -1;
	}
	rc = connect(fd, (const void *)address, sizeof *address);
	close(fd);
	if (rc == 0) {
		buf_printf(ret_error, "cannot listen on %s: another server listens there",
			   address->sun_path);
		return -1;
	}
	unlink(address->sun_path);
	return 0;
}

static int open_unix(struct server *s, struct buf *ret_error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = s->config->unixsocket;
	struct listener *l;
	struct stat st;
	mode_t mask;
	int fd, rc;

	if (strlen(path) >= sizeof address.sun_path) {
		buf_printf(ret_error, "cannot listen on %s: the path is longer than %zu bytes",
			   path, sizeof address.sun_path - 1);
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	if (clear_unix_path(&address, ret_error) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		goto fail;
	/* The socket has its permissions from the start, so nobody can connect between bind and
	 * chmod. */
	mask = umask(~s->config->unixsocketperm & 0777);
	rc = bind(fd, (const void *)&address, sizeof address);
	umask(mask);
	if (rc < 0 || listen(fd, s->config->tcp_backlog) < 0 || lstat(path, &st) < 0)
		goto fail;
	l = add_listener(s, fd, mem_dup(path, strlen(path)));
	l->is_unix = true;
	l->unix_dev = st.st_dev;
	l->unix_ino = st.st_ino;
	return 0;

fail:
	buf_printf(ret_error, "cannot listen on %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int open_addresses(struct server *s, struct buf *ret_error)
{
	const struct config *config = s->config;
	const struct door plain = { .port = config->port };
	const struct door tls = { .port = config->tls_port, .is_tls = true };

	for (size_t i = 0; i < config->bind.count; i++) {
		const char *host = config->bind.words[i];

		if ((plain.port != 0 && open_address(s, plain, host, ret_error) < 0) ||
		    (tls.port != 0 && open_address(s, tls, host, ret_error) < 0))
			return -1;
	}
	return 0;
}

static int open_http_addresses(struct server *s, struct buf *ret_error)
{
	const struct config *config = s->config;
	const struct door plain = { .port = config->http_port, .is_http = true };
	const struct door tls = { .port = config->https_port, .is_tls = true, .is_http = true };

	for (size_t i = 0; i < config->http_bind.count; i++) {
		const char *host = config->http_bind.words[i];

		if ((plain.port != 0 && open_address(s, plain, host, ret_error) < 0) ||
		    (tls.port != 0 && open_address(s, tls, host, ret_error) < 0))
			return -1;
	}
	return 0;
}

static int refuse_nothing(struct buf *ret_error)
{
	buf_printf(ret_error, "nothing to listen on: no address in bind is available");
	return -1;
}

int listen_try_all(struct server *s, struct buf *ret_error)
{
	s->listening.is_trial = true;
	if (open_addresses(s, ret_error) < 0)
		return -1;
	if (s->listening.tried == 0 && s->config->unixsocket[0] == '\0')
		return refuse_nothing(ret_error);
	return open_http_addresses(s, ret_error);
}

int listen_open_all(struct server *s, struct buf *ret_error)
{
	const struct config *config = s->config;

	if (open_addresses(s, ret_error) < 0)
		goto fail;
	if (config->unixsocket[0] != '\0' && open_unix(s, ret_error) < 0)
		goto fail;
	if (s->listening.count == 0) {
		refuse_nothing(ret_error);
		goto fail;
	}
	if (open_http_addresses(s, ret_error) < 0)
		goto fail;
	s->listening.timer = evtimer_new(s->base, on_retry, s);
	/* The array does not grow any more, so its elements may be pointed at. */
	for (int i = 0; i < s->listening.count; i++) {
		struct listener *l = &s->listening.listeners[i];

		l->event = event_new(s->base, l->fd, EV_READ | EV_PERSIST, on_connection, l);
		event_add(l->event, NULL);
	}
	return 0;

fail:
	listen_close_all(s);
	return -1;
}

void listen_close_all(struct server *s)
{
	for (int i = 0; i < s->listening.count; i++) {
		struct listener *l = &s->listening.listeners[i];
		struct stat st;

		if (l->event != NULL)
			event_free(l->event);
		close(l->fd);
		if (l->is_unix && lstat(l->name, &st) == 0 && st.st_dev == l->unix_dev &&
		    st.st_ino == l->unix_ino)
			unlink(l->name);
		free(l->name);
	}
	free(s->listening.listeners);
	s->listening.listeners = NULL;
	s->listening.count = 0;
	if (s->listening.timer != NULL)
		event_free(s->listening.timer);
	s->listening.timer = NULL;
}
