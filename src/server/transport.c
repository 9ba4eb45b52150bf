#include "server/transport.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static ssize_t plain_read(struct transport *t, char *to, size_t size)
{
	for (;;) {
		ssize_t n = recv(t->fd, to, size, 0);

		t->has_more = n == (ssize_t)size;
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		return errno == EAGAIN || errno == EWOULDBLOCK ? TRANSPORT_WANT_READ
							       : TRANSPORT_FAILED;
	}
}

static ssize_t plain_write(struct transport *t, const struct iovec *iov, int count)
{
	for (;;) {
		ssize_t n;

		if (count == 1) {
			n = send(t->fd, iov[0].iov_base, iov[0].iov_len, MSG_NOSIGNAL);
		} else {
			/* sendmsg() instead of writev(), because it can suppress SIGPIPE. */
			struct msghdr message = {
				.msg_iov = (struct iovec *)(uintptr_t)iov,
				.msg_iovlen = (size_t)count,
			};

			n = sendmsg(t->fd, &message, MSG_NOSIGNAL);
		}
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		return errno == EAGAIN || errno == EWOULDBLOCK ? TRANSPORT_WANT_WRITE
							       : TRANSPORT_FAILED;
	}
}

void transport_shutdown_socket(struct transport *t)
{
	shutdown(t->fd, SHUT_WR);
}

bool transport_socket_is_delivered(const struct transport *t)
{
	int waiting;

	return ioctl(t->fd, SIOCOUTQ, &waiting) == 0 && waiting == 0;
}

static void plain_done(struct transport *t)
{
	(void)t;
}

void transport_init_plain(struct transport *t, int fd)
{
	static const struct transport_ops ops = {
		.name = "plain",
		.read = plain_read,
		.write = plain_write,
		.shutdown = transport_shutdown_socket,
		.is_delivered = transport_socket_is_delivered,
		.done = plain_done,
	};

	*t = (struct transport){ .ops = &ops, .fd = fd };
}

const char *transport_error(const struct transport *t)
{
	return t->error != NULL ? t->error : strerror(errno);
}
