#include "certs.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#define YEAR_S (365 * CERTS_DAY_S)
/* The names of this machine in a certificate. */
#define OWN_NAMES "IP:127.0.0.1,DNS:localhost"

struct pair {
	EVP_PKEY *key;
	X509 *cert;
};

static FILE *create(struct tempdir *dir, const char *name, const char *extension, mode_t mode)
{
	char file[64];
	int fd;
	FILE *f;

	snprintf(file, sizeof file, "%s.%s", name, extension);
	unlink(tempdir_file(dir, file));
	fd = open(tempdir_file(dir, file), O_WRONLY | O_CREAT | O_CLOEXEC, mode);
	fchmod(fd, mode); /* independent of the umask */
	f = fdopen(fd, "w");
	TEST_ASSERT_NOT_NULL(f);
	return f;
}

static void write_pair(struct tempdir *dir, const char *name, const struct pair *p)
{
	FILE *f = create(dir, name, "crt", 0644);

	TEST_ASSERT_EQUAL_INT(1, PEM_write_X509(f, p->cert));
	fclose(f);
	f = create(dir, name, "key", 0600);
	TEST_ASSERT_EQUAL_INT(1, PEM_write_PrivateKey(f, p->key, NULL, NULL, 0, NULL, NULL));
	fclose(f);
}

static void extend(const struct pair *p, const struct pair *ca, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&ctx, ca->cert, p->cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	TEST_ASSERT_NOT_NULL(extension);
	X509_add_ext(p->cert, extension, -1);
	X509_EXTENSION_free(extension);
}

/* Without a `ca` the certificate is a CA, or self-signed. */
static struct pair make_for(EVP_PKEY *key, const char *name, const char *names,
			    const struct pair *ca, long from_s, long to_s)
{
	static long serial;
	struct pair p = { key, X509_new() };
	X509_NAME *subject = X509_get_subject_name(p.cert);

	TEST_ASSERT_NOT_NULL(p.key);
	if (ca == NULL)
		ca = &p;
	X509_set_version(p.cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(p.cert), ++serial + getpid() * 1000L);
	X509_gmtime_adj(X509_getm_notBefore(p.cert), from_s);
	X509_gmtime_adj(X509_getm_notAfter(p.cert), to_s);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
				   0);
	X509_set_issuer_name(p.cert, X509_get_subject_name(ca->cert));
	X509_set_pubkey(p.cert, p.key);
	extend(&p, ca, NID_subject_key_identifier, "hash");
	/* Some clients insist on what RFC 5280 says of CAs and of what they sign. */
	if (ca == &p) {
		extend(&p, ca, NID_basic_constraints, "critical,CA:TRUE");
		extend(&p, ca, NID_key_usage, "critical,digitalSignature,keyCertSign");
	} else {
		extend(&p, ca, NID_authority_key_identifier, "keyid:always");
		extend(&p, ca, NID_subject_alt_name, names);
	}
	TEST_ASSERT_TRUE(X509_sign(p.cert, ca->key, EVP_sha256()) > 0);
	return p;
}

static struct pair make(const char *name, const struct pair *ca, long from_s, long to_s)
{
	return make_for(EVP_EC_gen("P-256"), name, OWN_NAMES, ca, from_s, to_s);
}

static void release(struct pair *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
}

static void make_and_write(struct tempdir *dir, const char *name, const struct pair *ca,
			   long from_s, long to_s)
{
	struct pair p = make(name, ca, from_s, to_s);

	write_pair(dir, name, &p);
	release(&p);
}

void certs_make(struct tempdir *dir)
{
	struct pair ca = make("ca", NULL, -CERTS_DAY_S, YEAR_S);

	write_pair(dir, "ca", &ca);
	make_and_write(dir, "server", &ca, -CERTS_DAY_S, YEAR_S);
	make_and_write(dir, "client", &ca, -CERTS_DAY_S, YEAR_S);
	make_and_write(dir, "stranger", NULL, -CERTS_DAY_S, YEAR_S);
	release(&ca);
}

void certs_make_named(struct tempdir *dir, const char *name, const char *names)
{
	struct pair ca, named;
	FILE *f = fopen(tempdir_file(dir, "ca.crt"), "r");

	ca.cert = PEM_read_X509(f, NULL, NULL, NULL);
	fclose(f);
	f = fopen(tempdir_file(dir, "ca.key"), "r");
	ca.key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
	fclose(f);
	named = make_for(EVP_EC_gen("P-256"), name, names, &ca, -CERTS_DAY_S, YEAR_S);
	write_pair(dir, name, &named);
	release(&named);
	release(&ca);
}

void certs_make_server(struct tempdir *dir, long from_s, long to_s)
{
	struct pair ca = make("another ca", NULL, -CERTS_DAY_S, YEAR_S);

	make_and_write(dir, "server", &ca, from_s, to_s);
	release(&ca);
}

void certs_make_large_key(struct tempdir *dir)
{
	struct pair p = make_for(EVP_RSA_gen(4096), "large", OWN_NAMES, NULL, -CERTS_DAY_S, YEAR_S);

	write_pair(dir, "server", &p);
	release(&p);
}

void certs_encrypt_key(struct tempdir *dir, const char *passphrase)
{
	FILE *f = fopen(tempdir_file(dir, "server.key"), "r");
	EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, NULL, NULL);

	fclose(f);
	TEST_ASSERT_NOT_NULL(key);
	f = create(dir, "server", "key", 0600);
	TEST_ASSERT_EQUAL_INT(1, PEM_write_PrivateKey(f, key, EVP_aes_128_cbc(),
						      (const unsigned char *)passphrase,
						      (int)strlen(passphrase), NULL, NULL));
	fclose(f);
	EVP_PKEY_free(key);
}
