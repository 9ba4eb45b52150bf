#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"
#include "wait.h"

#define MAX_PEERS    12000
#define READ_BYTES   ((size_t)64 * 1024)
#define SHOWN_BYTES  400
#define SMALL_BUFFER 4096

static struct peer *peers[MAX_PEERS];
static bool small_buffers;

void peer_connect_small_buffers(bool small)
{
	small_buffers = small;
}

static struct peer *connect_socket(const struct sockaddr *address, socklen_t len)
{
	struct peer *p = calloc(1, sizeof *p);
	int slot = 0, size = SMALL_BUFFER;

	while (slot < MAX_PEERS && peers[slot] != NULL)
		slot++;
	TEST_ASSERT_TRUE(slot < MAX_PEERS);
	peers[slot] = p;
	p->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (small_buffers)
		setsockopt(p->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
	if (connect(p->fd, address, len) < 0)
		TEST_FAIL_MESSAGE(strerror(errno));
	return p;
}

struct peer *peer_connect_to(const char *host, int port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV }, *found;
	char service[8];
	struct peer *p;

	snprintf(service, sizeof service, "%d", port);
	TEST_ASSERT_EQUAL_INT(0, getaddrinfo(host, service, &hints, &found));
	p = connect_socket(found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return p;
}

struct peer *peer_connect(const struct qlessd *q)
{
	return peer_connect_to("127.0.0.1", q->port);
}

struct peer *peer_connect_unix(const struct qlessd *q)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	snprintf(un.sun_path, sizeof un.sun_path, "%s", q->socket_path);
	return connect_socket((const void *)&un, sizeof un);
}

/* With TLS a record becomes readable when all of it has arrived, so polling the socket is not
 * enough. */
static ssize_t take(struct peer *p, void *to, size_t size, int flags)
{
	size_t n = 0;

	for (;;) {
		struct pollfd pfd = { .fd = p->fd };

		ERR_clear_error();
		if (SSL_read_ex(p->ssl, to, size, &n) == 1)
			return (ssize_t)n;
		switch (SSL_get_error(p->ssl, 0)) {
		case SSL_ERROR_WANT_READ:
			pfd.events = POLLIN;
			break;
		case SSL_ERROR_WANT_WRITE:
			pfd.events = POLLOUT;
			break;
		default:
			return 0;
		}
		if ((flags & MSG_DONTWAIT) != 0)
			return -1;
		if (poll(&pfd, 1, WAIT_MAX_MS) != 1)
			TEST_FAIL_MESSAGE("the server says nothing");
	}
}

static char tls_error[256];

const char *peer_tls_error(void)
{
	return tls_error;
}

static SSL_CTX *make_context(const struct peer_tls *tls)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	if (tls->max_version != 0)
		SSL_CTX_set_max_proto_version(ctx, tls->max_version);
	if (tls->ca != NULL) {
		TEST_ASSERT_EQUAL_INT(1, SSL_CTX_load_verify_file(ctx, tls->ca));
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	}
	if (tls->cert != NULL) {
		TEST_ASSERT_EQUAL_INT(
			1, SSL_CTX_use_certificate_file(ctx, tls->cert, SSL_FILETYPE_PEM));
		TEST_ASSERT_EQUAL_INT(1,
				      SSL_CTX_use_PrivateKey_file(ctx, tls->key, SSL_FILETYPE_PEM));
	}
	return ctx;
}

struct peer *peer_connect_tls(int port, const struct peer_tls *tls)
{
	struct peer *p = peer_connect_to("127.0.0.1", port);
	SSL_CTX *ctx = make_context(tls);
	SSL *ssl = SSL_new(ctx);

	signal(SIGPIPE, SIG_IGN); /* OpenSSL cannot suppress it for each call */
	SSL_CTX_free(ctx);
	SSL_set_fd(ssl, p->fd);
	if (tls->session != NULL)
		SSL_set_session(ssl, tls->session);
	ERR_clear_error();
	if (SSL_connect(ssl) != 1) {
		snprintf(tls_error, sizeof tls_error, "%s",
			 ERR_error_string(ERR_get_error(), NULL));
		SSL_free(ssl);
		peer_close(p);
		return NULL;
	}
	fcntl(p->fd, F_SETFL, O_NONBLOCK);
	p->ssl = ssl;
	return p;
}

void peer_close_notify(struct peer *p)
{
	TEST_ASSERT_EQUAL_INT(0, SSL_shutdown(p->ssl));
}

bool peer_was_notified(const struct peer *p)
{
	return (SSL_get_shutdown(p->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
}

void peer_close(struct peer *p)
{
	for (int i = 0; i < MAX_PEERS; i++) {
		if (peers[i] == p)
			peers[i] = NULL;
	}
	SSL_free(p->ssl);
	close(p->fd);
	free(p->buf);
	free(p->reply);
	free(p);
}

void peer_close_all(void)
{
	for (int i = 0; i < MAX_PEERS; i++) {
		if (peers[i] != NULL)
			peer_close(peers[i]);
	}
	small_buffers = false;
}

void peer_reset(struct peer *p)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	peer_close(p);
}

void peer_shutdown(struct peer *p)
{
	TEST_ASSERT_EQUAL_INT(0, shutdown(p->fd, SHUT_WR));
}

static void wait_for(struct peer *p, short events)
{
	struct pollfd pfd = { .fd = p->fd, .events = events };

	if (events == POLLIN && p->ssl != NULL && SSL_pending(p->ssl) != 0)
		return;
	if (poll(&pfd, 1, WAIT_MAX_MS) != 1)
		TEST_FAIL_MESSAGE(events == POLLIN ? "the server says nothing"
						   : "the server reads nothing");
}

bool peer_has_input(struct peer *p, int timeout_ms)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };

	return p->start != p->end || (p->ssl != NULL && SSL_pending(p->ssl) != 0) ||
	       poll(&pfd, 1, timeout_ms) == 1;
}

size_t peer_try_send(struct peer *p, const void *bytes, size_t len)
{
	size_t by_tls = 0;
	ssize_t n;

	if (p->ssl != NULL) {
		if (SSL_write_ex(p->ssl, bytes, len, &by_tls) != 1 &&
		    SSL_get_error(p->ssl, 0) != SSL_ERROR_WANT_WRITE)
			TEST_FAIL_MESSAGE("cannot write");
		return by_tls;
	}
	n = send(p->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN)
		TEST_FAIL_MESSAGE(strerror(errno));
	return n < 0 ? 0 : (size_t)n;
}

void peer_send_blindly(struct peer *p, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len != 0) {
		ssize_t n = send(p->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			wait_for(p, POLLOUT);
		} else {
			return;
		}
	}
}

void peer_ask_for_echo(struct peer *p, size_t len)
{
	char *bytes = malloc(len), head[64];

	memset(bytes, 'x', len);
	snprintf(head, sizeof head, "*2\r\n$4\r\nECHO\r\n$%zu\r\n", len);
	peer_send_blindly(p, head, strlen(head));
	peer_send_blindly(p, bytes, len);
	peer_send_blindly(p, "\r\n", 2);
	free(bytes);
}

void peer_skip_echo(struct peer *p, size_t len)
{
	char head[64];

	snprintf(head, sizeof head, "$%zu\r\n", len);
	peer_expect(p, head);
	peer_skip(p, len + 2);
}

/* Read what has arrived. Returns false at the end of the connection, or if nothing has arrived. */
static bool fill(struct peer *p, int flags)
{
	ssize_t n;

	if (p->start == p->end)
		p->start = p->end = 0;
	if (p->cap - p->end < READ_BYTES) {
		if (p->start != 0)
			memmove(p->buf, p->buf + p->start, p->end - p->start);
		p->end -= p->start;
		p->start = 0;
		if (p->cap - p->end < READ_BYTES) {
			p->cap = 2 * p->cap + READ_BYTES;
			p->buf = realloc(p->buf, p->cap);
		}
	}
	if (p->ssl != NULL)
		n = take(p, p->buf + p->end, p->cap - p->end, flags);
	else
		n = recv(p->fd, p->buf + p->end, p->cap - p->end, flags);
	if (n > 0)
		p->end += (size_t)n;
	return n > 0;
}

/* Reads while it cannot write, so that two full sockets do not wait for each other. */
void peer_send(struct peer *p, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len != 0) {
		struct pollfd pfd = { .fd = p->fd, .events = POLLIN | POLLOUT };
		size_t n = peer_try_send(p, at, len);

		at += n;
		len -= n;
		if (len == 0)
			return;
		if (poll(&pfd, 1, WAIT_MAX_MS) != 1)
			TEST_FAIL_MESSAGE("the server reads nothing");
		if ((pfd.revents & POLLIN) != 0)
			fill(p, MSG_DONTWAIT);
	}
}

bool peer_is_delivered(struct peer *p)
{
	int waiting;

	TEST_ASSERT_EQUAL_INT(0, ioctl(p->fd, SIOCOUTQ, &waiting));
	return waiting == 0;
}

void peer_send_text(struct peer *p, const char *text)
{
	peer_send(p, text, strlen(text));
}

void peer_send_words(struct peer *p, const char *words)
{
	char out[8192];
	size_t used = 0;
	int count = 1;

	for (const char *at = words; *at != '\0'; at++)
		count += *at == ' ';
	used += (size_t)snprintf(out, sizeof out, "*%d\r\n", count);
	for (const char *at = words; count != 0; count--) {
		int len = (int)strcspn(at, " ");

		used += (size_t)snprintf(out + used, sizeof out - used, "$%d\r\n%.*s\r\n", len, len,
					 at);
		TEST_ASSERT_TRUE(used < sizeof out);
		at += len + 1;
	}
	peer_send(p, out, used);
}

/* Read until there are at least `len` bytes. */
static void need(struct peer *p, size_t len)
{
	while (p->end - p->start < len) {
		wait_for(p, POLLIN);
		if (!fill(p, 0)) {
			char text[SHOWN_BYTES + 64];
			size_t have = p->end - p->start;

			snprintf(text, sizeof text, "the connection has ended after: %.*s",
				 (int)(have < SHOWN_BYTES ? have : SHOWN_BYTES),
				 have != 0 ? p->buf + p->start : "");
			TEST_FAIL_MESSAGE(text);
		}
	}
}

void peer_expect(struct peer *p, const char *bytes)
{
	size_t len = strlen(bytes), same = 0;
	char text[2 * SHOWN_BYTES + 64];

	while (same < len) {
		need(p, same + 1);
		while (same < len && same < p->end - p->start &&
		       p->buf[p->start + same] == bytes[same])
			same++;
		if (same < len && same < p->end - p->start) {
			/* Read the rest of the wrong reply, to show it. */
			while (peer_has_input(p, 50) && fill(p, MSG_DONTWAIT))
				;
			snprintf(text, sizeof text, "expected %.*s but got %.*s", SHOWN_BYTES,
				 bytes,
				 (int)(p->end - p->start < SHOWN_BYTES ? p->end - p->start
								       : SHOWN_BYTES),
				 p->buf + p->start);
			TEST_FAIL_MESSAGE(text);
		}
	}
	p->start += len;
}

bool peer_gets_more(struct peer *p)
{
	if (p->start != p->end)
		return true;
	wait_for(p, POLLIN);
	return fill(p, 0);
}

void peer_expect_end(struct peer *p)
{
	char text[SHOWN_BYTES + 64];

	if (!peer_gets_more(p))
		return;
	snprintf(text, sizeof text, "expected the end of the connection but got %.*s",
		 (int)(p->end - p->start < SHOWN_BYTES ? p->end - p->start : SHOWN_BYTES),
		 p->buf + p->start);
	TEST_FAIL_MESSAGE(text);
}

void peer_skip(struct peer *p, size_t len)
{
	while (len != 0) {
		size_t have;

		need(p, 1);
		have = p->end - p->start;
		if (have > len)
			have = len;
		p->start += have;
		len -= have;
	}
}

/* The length of the line at `at`, with its end. */
static size_t line_length(struct peer *p, size_t at)
{
	for (size_t i = at;; i++) {
		need(p, i + 1);
		if (p->buf[p->start + i] == '\n')
			return i + 1 - at;
	}
}

/* The length of the reply at `at`. */
static size_t reply_length(struct peer *p, size_t at)
{
	size_t len = line_length(p, at);
	char type = p->buf[p->start + at];
	long count = strtol(p->buf + p->start + at + 1, NULL, 10);

	if (strchr("$=!", type) != NULL) {
		if (count >= 0)
			len += (size_t)count + 2;
		need(p, at + len);
	} else if (strchr("*~>%|", type) != NULL) {
		if (type == '%' || type == '|')
			count *= 2;
		for (long i = 0; i < count; i++)
			len += reply_length(p, at + len);
	} else if (strchr("+-:_,#(", type) == NULL) {
		TEST_FAIL_MESSAGE("not a reply");
	}
	return len;
}

const char *peer_reply(struct peer *p)
{
	size_t len = reply_length(p, 0);

	free(p->reply);
	p->reply = malloc(len + 1);
	memcpy(p->reply, p->buf + p->start, len);
	p->reply[len] = '\0';
	p->reply_len = len;
	p->start += len;
	return p->reply;
}

void peer_skip_replies(struct peer *p, int count)
{
	while (count-- > 0)
		p->start += reply_length(p, 0);
}

const char *peer_ask(struct peer *p, const char *words)
{
	peer_send_words(p, words);
	return peer_reply(p);
}

int64_t peer_ask_number(struct peer *p, const char *words, const char *field)
{
	const char *reply = peer_ask(p, words);
	const char *at = strstr(reply, field);

	return at != NULL ? strtoll(at + strlen(field), NULL, 10) : -1;
}
