#include "server/tls_session.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/tls.h"
#include "util/mem.h"

/* Bytes of data in a record, at most. */
#define RECORD_BYTES ((size_t)SSL3_RT_MAX_PLAIN_LENGTH)
/* Bytes. A piece of output of at least this size gets a record of its own; smaller ones share
 * one. */
#define WHOLE_BYTES (RECORD_BYTES / 2)
/* The first byte of a TLS handshake. */
#define FIRST_BYTE SSL3_RT_HANDSHAKE
/* Records without bytes for us that a peer may send in a row, also in the handshake. OpenSSL reads
 * such records in one call, as long as they arrive. An ordinary handshake has fewer than ten, and a
 * long chain of certificates in small records takes most of this number. */
#define IDLE_RECORDS_MAX 64

struct session {
	SSL *ssl;
	unsigned idle_records; /* in a row, up to the last */
};

static SSL *ssl_of(const struct transport *t)
{
	return ((const struct session *)t->state)->ssl;
}

static bool is_idle_too_long(const struct transport *t)
{
	return ((const struct session *)t->state)->idle_records > IDLE_RECORDS_MAX;
}

static void note_data(struct transport *t)
{
	((struct session *)t->state)->idle_records = 0;
}

/* Counts the records of the peer. OpenSSL reads no more of them after the end of the stream. */
static void on_message(int is_ours, int version, int type, const void *bytes, size_t len, SSL *ssl,
		       void *arg)
{
	struct session *session = arg;

	(void)version;
	(void)bytes;
	(void)len;
	if (is_ours != 0 || type != SSL3_RT_HEADER)
		return;
	session->idle_records++;
	if (session->idle_records > IDLE_RECORDS_MAX)
		SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

/* Returns the transport_result for a call of OpenSSL that returned `rc`. */
static int result_of(struct transport *t, int rc)
{
	unsigned long code;

	if (is_idle_too_long(t)) {
		t->error = "the peer sends too many TLS records without data";
		ERR_clear_error();
		return TRANSPORT_FAILED;
	}
	switch (SSL_get_error(ssl_of(t), rc)) {
	case SSL_ERROR_WANT_READ:
		return TRANSPORT_WANT_READ;
	case SSL_ERROR_WANT_WRITE:
		return TRANSPORT_WANT_WRITE;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		t->error = errno == 0 ? "the peer has gone" : NULL;
		return TRANSPORT_FAILED;
	default:
		/* The first error is the cause. The others say where it was noticed. */
		code = ERR_peek_error();
		t->error = ERR_reason_error_string(code);
		if (t->error == NULL)
			t->error = "TLS failed";
		ERR_clear_error();
		return TRANSPORT_FAILED;
	}
}

/* OpenSSL keeps errors in a queue for each thread. Old ones would be taken for errors of the
 * next call. */
static void begin_call(struct transport *t)
{
	t->error = NULL;
	errno = 0;
	ERR_clear_error();
}

/* Peek: the bytes stay for the next reader. */
static int look_at_first_byte(struct transport *t)
{
	unsigned char first;
	ssize_t n = recv(t->fd, &first, 1, MSG_PEEK);

	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return TRANSPORT_WANT_READ;
	if (n == 0)
		t->error = "the peer has gone";
	if (n <= 0)
		return TRANSPORT_FAILED;
	if (first == FIRST_BYTE)
		return 0;
	t->error = "the peer does not speak TLS";
	return TRANSPORT_FOREIGN;
}

static int session_handshake(struct transport *t)
{
	int rc;

	begin_call(t);
	if (SSL_is_server(ssl_of(t)) && !tls_session_has_begun(t)) {
		rc = look_at_first_byte(t);
		if (rc != 0)
			return rc;
	}
	rc = SSL_do_handshake(ssl_of(t));
	if (rc == 1) {
		note_data(t);
		/* The first request may have arrived together with the end of the handshake. */
		t->has_more = true;
		return 0;
	}
	rc = result_of(t, rc);
	if (rc != 0)
		return rc;
	t->error = "the peer has gone";
	return TRANSPORT_FAILED;
}

/*
 * One call of OpenSSL returns at most one record. Many small ones may have arrived together, so
 * read them all before requests run. When the session is empty, the socket is not tried again: it
 * is level-triggered.
 */
static ssize_t session_read(struct transport *t, char *to, size_t size)
{
	SSL *ssl = ssl_of(t);
	size_t got = 0;
	int rc = 1;

	begin_call(t);
	t->has_more = false;
	while (got < size) {
		size_t n;

		rc = SSL_read_ex(ssl, to + got, size - got, &n);
		if (rc != 1)
			break;
		note_data(t);
		got += n;
		if (SSL_has_pending(ssl) == 0)
			return (ssize_t)got;
	}
	if (rc == 1) {
		t->has_more = true;
		return (ssize_t)got;
	}
	rc = result_of(t, rc);
	if (got == 0)
		return rc;
	/* The next call reports an end or a failure again, but no event announces it. */
	t->has_more = rc != TRANSPORT_WANT_READ;
	return (ssize_t)got;
}

/* Returns the front of the output as one piece of at most a record. A record for each small
 * piece would cost more than the copy. */
static size_t gather(char *to, const struct iovec *iov, int count, size_t skip)
{
	size_t len = 0;

	for (int i = 0; i < count && len < RECORD_BYTES; i++) {
		size_t part = iov[i].iov_len - skip;

		if (part > RECORD_BYTES - len)
			part = RECORD_BYTES - len;
		memcpy(to + len, (const char *)iov[i].iov_base + skip, part);
		len += part;
		skip = 0;
	}
	return len;
}

/*
 * The session keeps a record that the socket took in part. The next call must offer the same bytes
 * again, or more after them. So the bytes of a call depend only on the front of the output, which
 * may only grow.
 */
static ssize_t session_write(struct transport *t, const struct iovec *iov, int count)
{
	char record[SSL3_RT_MAX_PLAIN_LENGTH];
	size_t written = 0, skip = 0;
	int rc;

	begin_call(t);
	while (count > 0) {
		const char *from = (const char *)iov->iov_base + skip;
		size_t len = iov->iov_len - skip, n;

		if (len < WHOLE_BYTES && count > 1) {
			len = gather(record, iov, count, skip);
			from = record;
		}
		rc = SSL_write_ex(ssl_of(t), from, len, &n);
		if (rc != 1) {
			rc = result_of(t, rc);
			if (rc == TRANSPORT_WANT_WRITE)
				return written != 0 ? (ssize_t)written : rc;
			/* Writing waits for reading only during renegotiation, which is off. */
			if (rc != TRANSPORT_FAILED)
				t->error = "the session takes no more";
			return TRANSPORT_FAILED;
		}
		written += n;
		for (n += skip; count > 0 && n >= iov->iov_len; iov++, count--)
			n -= iov->iov_len;
		skip = n;
	}
	return (ssize_t)written;
}

static int session_end(struct transport *t)
{
	int rc;

	begin_call(t);
	rc = SSL_shutdown(ssl_of(t));
	/* 0: the peer has not answered, which it need not */
	return rc >= 0 ? 0 : result_of(t, rc);
}

static void session_done(struct transport *t)
{
	SSL_free(ssl_of(t));
	free(t->state);
	t->state = NULL;
}

static const struct transport_ops session_ops = {
	.name = "tls",
	.handshake = session_handshake,
	.read = session_read,
	.write = session_write,
	.end = session_end,
	.shutdown = transport_shutdown_socket,
	.is_delivered = transport_socket_is_delivered,
	.done = session_done,
};

static int init(struct transport *t, int fd, SSL *ssl)
{
	struct session *session;

	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1) {
		SSL_free(ssl);
		return -1;
	}
	session = mem_zalloc(sizeof *session);
	session->ssl = ssl;
	SSL_set_msg_callback(ssl, on_message);
	SSL_set_msg_callback_arg(ssl, session);
	*t = (struct transport){ .ops = &session_ops, .fd = fd, .state = session };
	return 0;
}

int tls_session_init(struct transport *t, int fd, const struct tls *tls)
{
	return init(t, fd, tls_new_session(tls));
}

int tls_session_connect(struct transport *t, int fd, const struct tls *tls)
{
	return init(t, fd, tls_new_client_session(tls));
}

bool tls_session_has_name(const struct transport *t, const char *host)
{
	X509 *cert = SSL_get0_peer_certificate(ssl_of(t));

	if (cert == NULL)
		return false;
	/* The first call fails with another code if the host is no address. */
	return X509_check_ip_asc(cert, host, 0) == 1 ||
	       X509_check_host(cert, host, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1;
}

const char *tls_session_version(const struct transport *t)
{
	return t->ops == &session_ops ? SSL_get_version(ssl_of(t)) : NULL;
}

bool tls_session_is_resumed(const struct transport *t)
{
	return SSL_session_reused(ssl_of(t)) != 0;
}

bool tls_session_has_begun(const struct transport *t)
{
	return SSL_in_before(ssl_of(t)) == 0;
}
