#include "client/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/mem.h"

/* Bytes that one step asks of a session at a time. */
#define PIECE_BYTES ((size_t)16 * 1024)

struct client_tls {
	SSL_CTX *context;
};

struct client_tls_session {
	SSL *ssl;
	BIO *from_socket;
	BIO *to_socket;
};

/* Appends what failed, and the first error that OpenSSL has. */
static bool refuse(struct buf *error, const char *what, const char *file)
{
	unsigned long code = ERR_peek_error();
	const char *reason = NULL;

	if (code != 0)
		reason = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
						: ERR_reason_error_string(code);
	buf_printf(error, "%s%s%s%s%s", what, file != NULL ? " " : "", file != NULL ? file : "",
		   reason != NULL ? ": " : "", reason != NULL ? reason : "");
	ERR_clear_error();
	return false;
}

static bool load_trust(SSL_CTX *context, const struct client_settings *s, struct buf *error)
{
	if (s->cacert == NULL && s->cacertdir == NULL) {
		SSL_CTX_set_default_verify_paths(context);
		ERR_clear_error();
		return true;
	}
	if (SSL_CTX_load_verify_locations(context, s->cacert, s->cacertdir) != 1)
		return refuse(error, "cannot load the trusted certificates of",
			      s->cacert != NULL ? s->cacert : s->cacertdir);
	return true;
}

static bool load_identity(SSL_CTX *context, const struct client_settings *s, struct buf *error)
{
	if (s->cert == NULL && s->key == NULL)
		return true;
	if (s->cert == NULL || s->key == NULL)
		return refuse(error, "--cert and --key must be given together", NULL);
	if (SSL_CTX_use_certificate_chain_file(context, s->cert) != 1)
		return refuse(error, "cannot load the certificate", s->cert);
	if (SSL_CTX_use_PrivateKey_file(context, s->key, SSL_FILETYPE_PEM) != 1)
		return refuse(error, "cannot load the key", s->key);
	return true;
}

static bool set_ciphers(SSL_CTX *context, const struct client_settings *s, struct buf *error)
{
	if (s->ciphers != NULL && SSL_CTX_set_cipher_list(context, s->ciphers) != 1)
		return refuse(error, "--tls-ciphers is invalid", NULL);
	if (s->ciphersuites != NULL && SSL_CTX_set_ciphersuites(context, s->ciphersuites) != 1)
		return refuse(error, "--tls-ciphersuites is invalid", NULL);
	return true;
}

struct client_tls *client_tls_new(const struct client_settings *s, struct buf *error)
{
	SSL_CTX *context;
	struct client_tls *tls;

	ERR_clear_error();
	context = SSL_CTX_new(TLS_client_method());
	if (context == NULL) {
		refuse(error, "TLS is not available", NULL);
		return NULL;
	}
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_verify(context, s->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	if (!load_trust(context, s, error) || !load_identity(context, s, error) ||
	    !set_ciphers(context, s, error)) {
		SSL_CTX_free(context);
		return NULL;
	}
	tls = mem_zalloc(sizeof *tls);
	tls->context = context;
	return tls;
}

void client_tls_free(struct client_tls *tls)
{
	if (tls == NULL)
		return;
	SSL_CTX_free(tls->context);
	free(tls);
}

static bool is_ip_address(const char *text)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* The name that the certificate must have. A Unix socket has none, unless --sni names it. */
static const char *expected_name(const struct client_settings *s)
{
	if (s->sni != NULL)
		return s->sni;
	return s->socket == NULL ? s->host : NULL;
}

struct client_tls_session *client_tls_session_new(struct client_tls *tls,
						  const struct client_settings *settings)
{
	struct client_tls_session *session = mem_zalloc(sizeof *session);
	const char *name = expected_name(settings);

	session->ssl = SSL_new(tls->context);
	session->from_socket = BIO_new(BIO_s_mem());
	session->to_socket = BIO_new(BIO_s_mem());
	if (session->ssl == NULL || session->from_socket == NULL || session->to_socket == NULL)
		abort(); /* out of memory */
	BIO_set_mem_eof_return(session->from_socket, -1);
	SSL_set_bio(session->ssl, session->from_socket, session->to_socket);
	SSL_set_connect_state(session->ssl);
	if (name != NULL && is_ip_address(name)) {
		X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session->ssl), name);
	} else if (name != NULL) {
		/* The macro for this call discards const by a cast that clang complains about. */
		SSL_ctrl(session->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
			 (void *)(uintptr_t)name);
		SSL_set1_host(session->ssl, name);
	}
	return session;
}

void client_tls_session_free(struct client_tls_session *session)
{
	if (session == NULL)
		return;
	SSL_free(session->ssl); /* and both BIOs */
	free(session);
}

/* The state of the session after a call that returned `rc`. */
static enum client_tls_result check(struct client_tls_session *session, int rc, struct buf *error)
{
	long verified = SSL_get_verify_result(session->ssl);

	switch (SSL_get_error(session->ssl, rc)) {
	case SSL_ERROR_NONE:
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return CLIENT_TLS_GOES_ON;
	case SSL_ERROR_ZERO_RETURN:
		buf_printf(error, "the connection failed: the server closed it");
		return CLIENT_TLS_ENDED;
	default:
		break;
	}
	if (verified != X509_V_OK && SSL_get_verify_mode(session->ssl) != SSL_VERIFY_NONE) {
		ERR_clear_error();
		buf_printf(error, "the certificate of the server is not valid: %s",
			   X509_verify_cert_error_string(verified));
		return CLIENT_TLS_FAILED;
	}
	refuse(error, "TLS failed", NULL);
	return CLIENT_TLS_FAILED;
}

/* Give the session everything that has arrived. Memory always takes it. */
static void feed(struct client_tls_session *session, struct buf *received)
{
	while (received->len > 0) {
		int len = received->len > INT_MAX ? INT_MAX : (int)received->len;

		if (BIO_write(session->from_socket, buf_data(received), len) != len)
			abort(); /* out of memory */
		buf_consume(received, (size_t)len);
	}
}

static enum client_tls_result decrypt(struct client_tls_session *session, struct buf *in,
				      struct buf *error)
{
	for (;;) {
		char *to = buf_reserve(in, PIECE_BYTES);
		size_t got;
		int rc;

		if (to == NULL)
			return CLIENT_TLS_GOES_ON; /* the caller makes room */
		rc = SSL_read_ex(session->ssl, to, PIECE_BYTES, &got);
		if (rc != 1)
			return check(session, rc, error);
		buf_commit(in, got);
	}
}

static enum client_tls_result encrypt(struct client_tls_session *session, struct buf *out,
				      struct buf *error)
{
	while (out->len > 0) {
		size_t written;
		int rc = SSL_write_ex(session->ssl, buf_data(out), out->len, &written);

		if (rc != 1)
			return check(session, rc, error);
		buf_consume(out, written);
	}
	return CLIENT_TLS_GOES_ON;
}

static void drain(struct client_tls_session *session, struct buf *to_send)
{
	char piece[PIECE_BYTES];
	int got;

	while ((got = BIO_read(session->to_socket, piece, sizeof piece)) > 0)
		buf_append(to_send, piece, (size_t)got);
}

enum client_tls_result client_tls_session_step(struct client_tls_session *session,
					       struct buf *received, struct buf *in,
					       struct buf *out, struct buf *to_send, bool *ret_open,
					       struct buf *error)
{
	enum client_tls_result result = CLIENT_TLS_GOES_ON;

	ERR_clear_error();
	feed(session, received);
	if (!SSL_is_init_finished(session->ssl)) {
		int rc = SSL_do_handshake(session->ssl);

		if (rc != 1)
			result = check(session, rc, error);
	}
	*ret_open = SSL_is_init_finished(session->ssl);
	/* With TLS 1.3, a server refuses the certificate of a client after the handshake. So the
	 * alert arrives as data. */
	if (result == CLIENT_TLS_GOES_ON && *ret_open) {
		result = encrypt(session, out, error);
		if (result == CLIENT_TLS_GOES_ON)
			result = decrypt(session, in, error);
	}
	drain(session, to_send); /* also an alert */
	return result;
}
