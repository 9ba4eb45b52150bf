#include "server/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/config.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/buf.h"
#include "util/mem.h"

#define DAY_S INT64_C(86400)

struct tls {
	SSL_CTX *ctx;
	const char *cert_directive;
	int64_t begins_s;
	int64_t expires_s;
};

/* The files of a context, and the directives that name them. */
struct tls_files {
	const char *cert_directive;
	const char *cert;
	const char *key_directive;
	const char *key;
	const char *passphrase;
	const char *ca_directive;
	const char *ca; /* empty: none */
};

/* Append OpenSSL's reason for the last failure, or the system's. The first error in OpenSSL's
 * queue is the cause; those after it name the callers. */
static int fail(struct buf *ret_error, const char *directive, const char *value)
{
	unsigned long code = ERR_peek_error();
	const char *reason = ERR_reason_error_string(code);

	if (ERR_SYSTEM_ERROR(code))
		reason = strerror(ERR_GET_REASON(code));
	buf_printf(ret_error, "%s %s: %s", directive, value,
		   reason != NULL ? reason : "OpenSSL does not say what is wrong");
	ERR_clear_error();
	return -1;
}

/* If a file cannot be opened, the system's error says more than OpenSSL's. */
static int check_readable(const char *directive, const char *path, struct buf *ret_error)
{
	if (access(path, R_OK) == 0)
		return 0;
	buf_printf(ret_error, "%s %s: %s", directive, path, strerror(errno));
	return -1;
}

/* Without this callback, OpenSSL would ask for a passphrase at the terminal. */
static int give_passphrase(char *to, int size, int is_writing, void *arg)
{
	const struct tls_files *files = arg;
	size_t len = strlen(files->passphrase);

	(void)is_writing;
	if (len > (size_t)size)
		return -1;
	memcpy(to, files->passphrase, len);
	return (int)len;
}

static int64_t seconds_of(const ASN1_TIME *time)
{
	struct tm tm;

	return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static int load_certificate(struct tls *tls, const struct tls_files *files, struct buf *ret_error)
{
	const char *cert = files->cert, *key = files->key;
	const X509 *own;
	struct stat st;
	int rc;

	if (check_readable(files->cert_directive, cert, ret_error) < 0 ||
	    check_readable(files->key_directive, key, ret_error) < 0)
		return -1;
	if (SSL_CTX_use_certificate_chain_file(tls->ctx, cert) != 1)
		return fail(ret_error, files->cert_directive, cert);
	SSL_CTX_set_default_passwd_cb(tls->ctx, give_passphrase);
	SSL_CTX_set_default_passwd_cb_userdata(tls->ctx, (void *)(uintptr_t)files);
	rc = SSL_CTX_use_PrivateKey_file(tls->ctx, key, SSL_FILETYPE_PEM);
	SSL_CTX_set_default_passwd_cb_userdata(tls->ctx, NULL);
	SSL_CTX_set_default_passwd_cb(tls->ctx, NULL);
	if (rc != 1 && ERR_GET_REASON(ERR_peek_last_error()) != X509_R_KEY_VALUES_MISMATCH)
		return fail(ret_error, files->key_directive, key);
	if (rc != 1 || SSL_CTX_check_private_key(tls->ctx) != 1) {
		ERR_clear_error();
		buf_printf(ret_error, "%s %s: the key does not match the certificate in %s",
			   files->key_directive, key, cert);
		return -1;
	}
	if (stat(key, &st) == 0 && (st.st_mode & S_IROTH) != 0)
		log_warning("every user can read the private key %s: take that permission away "
			    "(chmod o-r)",
			    key);
	own = SSL_CTX_get0_certificate(tls->ctx);
	tls->cert_directive = files->cert_directive;
	tls->begins_s = seconds_of(X509_get0_notBefore(own));
	tls->expires_s = seconds_of(X509_get0_notAfter(own));
	return 0;
}

static int load_ca(struct tls *tls, const struct tls_files *files, struct buf *ret_error)
{
	if (check_readable(files->ca_directive, files->ca, ret_error) < 0)
		return -1;
	if (SSL_CTX_load_verify_file(tls->ctx, files->ca) != 1)
		return fail(ret_error, files->ca_directive, files->ca);
	/* A client with several certificates chooses one by these names. */
	SSL_CTX_set_client_CA_list(tls->ctx, SSL_load_client_CA_file(files->ca));
	return 0;
}

/* Load the CAs that sign clients' certificates, and whether a certificate is required. */
static int set_verification(struct tls *tls, const struct tls_files *files,
			    const struct config *config, struct buf *ret_error)
{
	const char *dir = config->tls_ca_cert_dir;
	int mode = SSL_VERIFY_PEER;

	if (config->tls_auth_clients == CONFIG_AUTH_CLIENTS_NO)
		return 0;
	if (files->ca[0] != '\0' && load_ca(tls, files, ret_error) < 0)
		return -1;
	if (dir[0] != '\0') {
		if (check_readable("tls-ca-cert-dir", dir, ret_error) < 0)
			return -1;
		if (SSL_CTX_load_verify_dir(tls->ctx, dir) != 1)
			return fail(ret_error, "tls-ca-cert-dir", dir);
	}
	if (config->tls_auth_clients == CONFIG_AUTH_CLIENTS_YES)
		mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	SSL_CTX_set_verify(tls->ctx, mode, NULL);
	return 0;
}

static int set_protocols(struct tls *tls, const struct config *config, struct buf *ret_error)
{
	bool has_12 = config->tls_protocols.count == 0, has_13 = has_12;

	for (size_t i = 0; i < config->tls_protocols.count; i++) {
		bool is_12 = strcasecmp(config->tls_protocols.words[i], "TLSv1.2") == 0;

		has_12 |= is_12;
		has_13 |= !is_12;
	}
	SSL_CTX_set_min_proto_version(tls->ctx, has_12 ? TLS1_2_VERSION : TLS1_3_VERSION);
	SSL_CTX_set_max_proto_version(tls->ctx, has_13 ? TLS1_3_VERSION : TLS1_2_VERSION);
	if (config->tls_ciphers[0] != '\0' &&
	    SSL_CTX_set_cipher_list(tls->ctx, config->tls_ciphers) != 1)
		return fail(ret_error, "tls-ciphers", config->tls_ciphers);
	if (config->tls_ciphersuites[0] != '\0' &&
	    SSL_CTX_set_ciphersuites(tls->ctx, config->tls_ciphersuites) != 1)
		return fail(ret_error, "tls-ciphersuites", config->tls_ciphersuites);
	return 0;
}

/*
 * Clients resume sessions by tickets. The server keeps only the key of the tickets, which ends with
 * this context. After a reload, clients need a new handshake, which checks the new rules.
 *
 * The end of a stream without close_notify is an orderly end: a request that was cut off never
 * runs, and clients of Redis just close.
 */
static void set_modes(struct tls *tls)
{
	static const unsigned char id[] = "qlessd";

	SSL_CTX_set_options(tls->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					      SSL_OP_CIPHER_SERVER_PREFERENCE |
					      SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(tls->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
					   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					   SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(tls->ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_session_id_context(tls->ctx, id, sizeof id - 1);
	/* One read takes a record and what follows it, instead of one read for the header and
	 * one for the body. */
	SSL_CTX_set_read_ahead(tls->ctx, 1);
}

/* Make a context without verification. Returns NULL with a reason. */
static struct tls *make(const SSL_METHOD *method, const struct tls_files *files,
			const struct config *config, struct buf *ret_error)
{
	struct tls *tls = mem_zalloc(sizeof *tls);

	ERR_clear_error();
	tls->ctx = SSL_CTX_new(method);
	if (tls->ctx == NULL) {
		fail(ret_error, files->cert_directive, "cannot be used");
		goto fail;
	}
	set_modes(tls);
	if (set_protocols(tls, config, ret_error) < 0 ||
	    load_certificate(tls, files, ret_error) < 0)
		goto fail;
	return tls;

fail:
	tls_free(tls);
	return NULL;
}

struct tls *tls_new(const struct config *config, struct buf *ret_error)
{
	const struct tls_files files = {
		.cert_directive = "tls-cert-file",
		.cert = config->tls_cert_file,
		.key_directive = "tls-key-file",
		.key = config->tls_key_file,
		.passphrase = config->tls_key_file_pass,
		.ca_directive = "tls-ca-cert-file",
		.ca = config->tls_ca_cert_file,
	};
	struct tls *tls = make(TLS_server_method(), &files, config, ret_error);

	if (tls == NULL)
		return NULL;
	if (set_verification(tls, &files, config, ret_error) < 0) {
		tls_free(tls);
		return NULL;
	}
	tls_warn_of_expiry(tls, clock_wall_us() / 1000000);
	return tls;
}

/* The key belongs to the certificate, so both come from the same place. */
static struct tls_files files_for_nodes(const struct config *config)
{
	struct tls_files files = {
		.cert_directive = "replication-tls-cert-file",
		.cert = config->replication_tls_cert_file,
		.key_directive = "replication-tls-key-file",
		.key = config->replication_tls_key_file,
		.passphrase = config->replication_tls_key_file_pass,
		.ca_directive = "replication-tls-ca-cert-file",
		.ca = config->replication_tls_ca_cert_file,
	};

	if (files.cert[0] == '\0') {
		files.cert_directive = "tls-cert-file";
		files.cert = config->tls_cert_file;
		files.key_directive = "tls-key-file";
		files.key = config->tls_key_file;
		files.passphrase = config->tls_key_file_pass;
	}
	if (files.ca[0] == '\0') {
		files.ca_directive = "tls-ca-cert-file";
		files.ca = config->tls_ca_cert_file;
	}
	return files;
}

bool tls_has_files_for_nodes(const struct config *config)
{
	struct tls_files files = files_for_nodes(config);

	return files.cert[0] != '\0' && files.ca[0] != '\0';
}

struct tls *tls_new_for_nodes(const struct config *config, struct buf *ret_error)
{
	const struct tls_files files = files_for_nodes(config);
	struct tls *tls = make(TLS_method(), &files, config, ret_error);

	if (tls == NULL)
		return NULL;
	if (load_ca(tls, &files, ret_error) < 0) {
		tls_free(tls);
		return NULL;
	}
	SSL_CTX_set_verify(tls->ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	tls_warn_of_expiry(tls, clock_wall_us() / 1000000);
	return tls;
}

void tls_free(struct tls *tls)
{
	if (tls == NULL)
		return;
	SSL_CTX_free(tls->ctx);
	free(tls);
}

struct ssl_st *tls_new_session(const struct tls *tls)
{
	SSL *ssl = SSL_new(tls->ctx);

	if (ssl != NULL)
		SSL_set_accept_state(ssl);
	return ssl;
}

struct ssl_st *tls_new_client_session(const struct tls *tls)
{
	SSL *ssl = SSL_new(tls->ctx);

	if (ssl != NULL)
		SSL_set_connect_state(ssl);
	return ssl;
}

int64_t tls_expires_s(const struct tls *tls)
{
	return tls->expires_s;
}

void tls_warn_of_expiry(const struct tls *tls, int64_t now_s)
{
	int64_t left_s = tls->expires_s - now_s;
	time_t expires = (time_t)tls->expires_s;
	char when[32];
	struct tm tm;

	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&expires, &tm));
	if (left_s <= 0)
		log_warning("the certificate in %s expired at %s: clients that verify it do not "
			    "connect",
			    tls->cert_directive, when);
	else if (left_s < TLS_WARN_DAYS * DAY_S)
		log_warning("the certificate in %s expires in less than %d days, at %s",
			    tls->cert_directive, TLS_WARN_DAYS, when);
	if (tls->begins_s > now_s)
		log_warning("the certificate in %s is not valid yet", tls->cert_directive);
}
