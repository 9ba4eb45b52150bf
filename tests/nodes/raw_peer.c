#include "raw_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "endpoint.h"
#include "unit.h"

static struct sockaddr_in loopback(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

int raw_listen(int *ret_port)
{
	struct sockaddr_in address = loopback(0);
	socklen_t len = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	TEST_ASSERT_EQUAL_INT(0, bind(fd, (const void *)&address, sizeof address));
	TEST_ASSERT_EQUAL_INT(0, listen(fd, 8));
	TEST_ASSERT_EQUAL_INT(0, getsockname(fd, (void *)&address, &len));
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static struct raw_peer make(int fd)
{
	struct raw_peer peer = { .fd = fd };

	TEST_ASSERT_GREATER_OR_EQUAL_INT(0, fd);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	buf_init(&peer.in, BUF_NO_MAX);
	return peer;
}

struct raw_peer raw_connect(int port)
{
	struct sockaddr_in address = loopback(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	TEST_ASSERT_EQUAL_INT(0, connect(fd, (const void *)&address, sizeof address));
	return make(fd);
}

struct raw_peer raw_accept(int listener)
{
	int fd = -1;

	LOOP_UNTIL((fd = accept(listener, NULL, NULL)) >= 0);
	return make(fd);
}

void raw_close(struct raw_peer *peer)
{
	if (peer->fd >= 0)
		close(peer->fd);
	peer->fd = -1;
	buf_done(&peer->in);
}

void raw_send(struct raw_peer *peer, const void *bytes, size_t len)
{
	TEST_ASSERT_EQUAL_INT((int)len, (int)send(peer->fd, bytes, len, MSG_NOSIGNAL));
}

void raw_send_frame(struct raw_peer *peer, const struct frame *frame)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);

	frame_encode(&bytes, frame);
	raw_send(peer, buf_data(&bytes), bytes.len);
	buf_done(&bytes);
}

struct frame raw_make_hello(uint64_t from, uint64_t to)
{
	struct frame f = {
		.type = FRAME_HELLO,
		.hello = { .version_min = FRAME_VERSION_MIN,
			   .version_max = FRAME_VERSION_MAX,
			   .from = from,
			   .to = to,
			   .purpose = FRAME_FOR_MESSAGES,
			   .address = STR_INIT("127.0.0.1:1") },
	};

	memcpy(f.hello.group, endpoint_options.group, FRAME_GROUP_BYTES);
	return f;
}

void raw_send_hello(struct raw_peer *peer, uint64_t from, uint64_t to, enum frame_purpose purpose)
{
	struct frame f = raw_make_hello(from, to);

	f.hello.purpose = purpose;
	raw_send_frame(peer, &f);
}

bool raw_read(struct raw_peer *peer)
{
	for (;;) {
		char *to = buf_reserve(&peer->in, 65536);
		ssize_t n = recv(peer->fd, to, 65536, 0);

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return true;
		if (n <= 0)
			return false;
		buf_commit(&peer->in, (size_t)n);
	}
}

struct frame raw_read_frame(struct raw_peer *peer)
{
	struct frame frame = { .type = FRAME_ALIVE };

	buf_consume(&peer->in, peer->taken);
	peer->taken = 0;
	while (frame.type == FRAME_ALIVE) {
		enum frame_status status = FRAME_NEED_MORE;
		const char *error = "";
		bool is_open = true;
		size_t size = 0;

		buf_consume(&peer->in, peer->taken);
		peer->taken = 0;
		LOOP_UNTIL((is_open = raw_read(peer),
			    status = frame_decode(buf_data(&peer->in), peer->in.len, FRAME_MAX,
						  &frame, &size, &error)) != FRAME_NEED_MORE ||
			   !is_open);
		if (status != FRAME_READY)
			TEST_FAIL_MESSAGE("the connection has ended before a frame");
		peer->taken = size;
	}
	return frame;
}

bool raw_is_closed(struct raw_peer *peer)
{
	bool is_open = raw_read(peer);

	buf_consume(&peer->in, peer->in.len);
	peer->taken = 0;
	return !is_open;
}
