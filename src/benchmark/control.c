#include "benchmark/control.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "benchmark/beanstalk.h"

#define READ_BYTES ((size_t)64 * 1024)
/* Seconds to wait for the reply to a single call. A server may be loading a large log, for example.
 * */
#define TIMEOUT_S 60

static int connect_unix(const char *path, struct buf *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof address.sun_path) {
		buf_printf(error, "the path of the socket is too long: %s", path);
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
		buf_printf(error, "cannot connect to %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int connect_tcp(const char *host, unsigned port, struct buf *error)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *found;
	char service[8];
	int fd = -1, rc, on = 1;

	snprintf(service, sizeof service, "%u", port);
	rc = getaddrinfo(host, service, &hints, &found);
	if (rc != 0) {
		buf_printf(error, "cannot find %s: %s", host, gai_strerror(rc));
		return -1;
	}
	for (struct addrinfo *a = found; a != NULL && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
			rc = errno;
			close(fd);
			fd = -1;
			errno = rc;
		}
	}
	if (fd < 0)
		buf_printf(error, "cannot connect to %s port %u: %s", host, port, strerror(errno));
	else
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	freeaddrinfo(found);
	return fd;
}

/* Whether both ends of the connection have the same address. */
static bool has_local_peer(int fd)
{
	struct sockaddr_storage here = { 0 }, there = { 0 };
	socklen_t here_len = sizeof here, there_len = sizeof there;

	if (getsockname(fd, (struct sockaddr *)&here, &here_len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&there, &there_len) < 0)
		return false;
	if (there.ss_family == AF_INET)
		return ((struct sockaddr_in *)&here)->sin_addr.s_addr ==
		       ((struct sockaddr_in *)&there)->sin_addr.s_addr;
	if (there.ss_family == AF_INET6)
		return memcmp(&((struct sockaddr_in6 *)&here)->sin6_addr,
			      &((struct sockaddr_in6 *)&there)->sin6_addr,
			      sizeof(struct in6_addr)) == 0;
	return there.ss_family == AF_UNIX;
}

static int greet(struct control *c, const struct options *options, struct buf *error)
{
	struct reply reply;
	char database[8];
	int rc = 0;

	if (options->user != NULL)
		rc = CONTROL_CALL(c, &reply, error, "AUTH", options->user, options->password);
	else if (options->password != NULL)
		rc = CONTROL_CALL(c, &reply, error, "AUTH", options->password);
	if (rc == 0 && options->database != 0) {
		snprintf(database, sizeof database, "%u", (unsigned)options->database);
		rc = CONTROL_CALL(c, &reply, error, "SELECT", database);
	}
	return rc;
}

int control_open(struct control *c, const struct options *options, struct buf *error)
{
	struct timeval timeout = { .tv_sec = TIMEOUT_S };

	*c = (struct control){ .in = BUF_INIT(BUF_NO_MAX), .scan = reply_scan };
	if (options->dialect == OPTIONS_BEANSTALKD)
		c->scan = beanstalk_scan;
	if (options->socket != NULL)
		c->fd = connect_unix(options->socket, error);
	else
		c->fd = connect_tcp(options->host, (unsigned)options->port, error);
	if (c->fd < 0)
		return -1;
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
	c->is_local = has_local_peer(c->fd);
	return options->dialect != OPTIONS_BEANSTALKD ? greet(c, options, error) : 0;
}

void control_done(struct control *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	buf_done(&c->in);
}

int control_release(struct control *c)
{
	int fd = c->fd;

	c->fd = -1;
	control_done(c);
	return fd;
}

static int fail(struct buf *error, const char *what)
{
	buf_printf(error, "%s: %s", what,
		   errno == EAGAIN ? "the server does not reply" : strerror(errno));
	return -1;
}

static int receive(struct control *c, struct reply *ret_reply, struct buf *error)
{
	ptrdiff_t len;

	buf_clear(&c->in);
	while ((len = c->scan(buf_str(&c->in), ret_reply)) == 0) {
		ssize_t n = recv(c->fd, buf_reserve(&c->in, READ_BYTES), READ_BYTES, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(error, "cannot receive");
		if (n == 0) {
			buf_printf(error, "the server has closed the connection");
			return -1;
		}
		buf_commit(&c->in, (size_t)n);
	}
	if (len < 0 || (size_t)len != c->in.len) {
		buf_printf(error, "the server does not speak the protocol of %s",
			   c->scan == reply_scan ? "Redis" : "beanstalkd");
		return -1;
	}
	if (ret_reply->type == REPLY_ERROR) {
		buf_printf(error, "the server replied: %.*s", (int)ret_reply->text.len,
			   ret_reply->text.ptr);
		return -1;
	}
	return 0;
}

int control_send(struct control *c, struct qless_str request, struct reply *ret_reply,
		 struct buf *error)
{
	while (request.len != 0) {
		ssize_t n = send(c->fd, request.ptr, request.len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(error, "cannot send");
		request = str_make(request.ptr + n, request.len - (size_t)n);
	}
	return receive(c, ret_reply, error);
}

int control_call(struct control *c, const char *const *words, struct reply *ret_reply,
		 struct buf *error)
{
	struct buf request = BUF_INIT(BUF_NO_MAX);
	size_t count = 0;
	int rc;

	while (words[count] != NULL)
		count++;
	buf_printf(&request, "*%zu\r\n", count);
	for (size_t i = 0; i < count; i++) {
		struct qless_str word = str_from(words[i]);

		buf_printf(&request, "$%zu\r\n", word.len);
		buf_append_str(&request, word);
		buf_append_str(&request, STR("\r\n"));
	}
	rc = control_send(c, buf_str(&request), ret_reply, error);
	buf_done(&request);
	return rc;
}
