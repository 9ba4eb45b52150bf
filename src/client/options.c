#include "client/options.h"

#include <stdlib.h>
#include <string.h>

#include "client/askpass.h"
#include "util/num.h"

/* ---- tables of options ---- */

static bool parse_count(const struct flag *row, const char *text, uint64_t *ret_value,
			struct buf *error)
{
	if (num_parse_u64(str_from(text), row->min, row->max, ret_value))
		return true;
	if (row->max == UINT64_MAX)
		buf_printf(error, "--%s must be a number from %llu, not '%s'", row->name,
			   (unsigned long long)row->min, text);
	else
		buf_printf(error, "--%s must be a number from %llu to %llu, not '%s'", row->name,
			   (unsigned long long)row->min, (unsigned long long)row->max, text);
	return false;
}

static bool parse_seconds(const struct flag *row, const char *text, double *ret_value,
			  struct buf *error)
{
	double value;

	if (num_parse_double(str_from(text), &value) && value >= (double)row->min &&
	    value <= (double)row->max) {
		*ret_value = value;
		return true;
	}
	buf_printf(error, "--%s must be seconds from %llu to %llu, not '%s'", row->name,
		   (unsigned long long)row->min, (unsigned long long)row->max, text);
	return false;
}

static bool set(const struct flag *row, void *into, const char *value, struct buf *error)
{
	void *field = (char *)into + row->field;

	switch (row->type) {
	case FLAG_SET:
		*(bool *)field = true;
		return true;
	case FLAG_TEXT:
		*(const char **)field = value;
		return true;
	case FLAG_COUNT:
		return parse_count(row, value, field, error);
	case FLAG_SECONDS:
		return parse_seconds(row, value, field, error);
	case FLAG_CALL:
		return row->set(into, value, error);
	}
	return false;
}

/* Whether `text`, after "--", names the row. *ret_value is what follows a "=", or NULL. */
static bool has_name(const struct flag *row, const char *text, const char **ret_value)
{
	size_t len = strlen(row->name);

	if (strncmp(text, row->name, len) != 0 || (text[len] != '\0' && text[len] != '='))
		return false;
	*ret_value = text[len] == '=' ? text + len + 1 : NULL;
	return true;
}

static const struct flag *find(const struct flag *rows, const char *text, const char **ret_value)
{
	*ret_value = NULL;
	if (text[0] != '-' || text[1] == '\0')
		return NULL;
	for (const struct flag *row = rows; row->name != NULL; row++) {
		if (text[1] == '-' && has_name(row, text + 2, ret_value))
			return row;
		if (text[1] == '-' || row->letter != text[1])
			continue;
		if (text[2] == '\0')
			return row;
		if (row->value != NULL) {
			*ret_value = text + 2;
			return row;
		}
	}
	return NULL;
}

const struct flag *flags_find(const struct flag *rows, const char *argument)
{
	const char *value;

	return find(rows, argument, &value);
}

int flags_take(const struct flag *rows, void *into, int argc, char *const *argv, int *at,
	       struct buf *error)
{
	const char *text = argv[*at], *value;
	const struct flag *row = find(rows, text, &value);

	if (row == NULL)
		return 0;
	if (row->value == NULL && value != NULL) {
		buf_printf(error, "--%s has no value", row->name);
		return -1;
	}
	if (row->value != NULL && value == NULL) {
		if (*at + 1 >= argc) {
			buf_printf(error, "%s needs a value: %s", text, row->value);
			return -1;
		}
		value = argv[++*at];
	}
	if (!set(row, into, value, error))
		return -1;
	++*at;
	return 1;
}

void flags_print(const struct flag *rows, FILE *to)
{
	for (const struct flag *row = rows; row->name != NULL; row++) {
		char left[64];
		int len = 0;

		if (row->help == NULL)
			continue;
		if (row->letter != 0)
			len = snprintf(left, sizeof left, "-%c, ", row->letter);
		snprintf(left + len, sizeof left - (size_t)len, "--%s%s%s", row->name,
			 row->value != NULL ? " " : "", row->value != NULL ? row->value : "");
		fprintf(to, "  %-26s  %s\n", left, row->help);
	}
}

/* ---- the server ---- */

static bool set_host(void *into, const char *value, struct buf *error)
{
	struct client_options *o = into;

	if (value[0] == '\0') {
		buf_printf(error, "--host is empty");
		return false;
	}
	client_settings_set_text(&o->settings.host, value);
	client_settings_set_text(&o->settings.socket, NULL);
	client_settings_set_text(&o->settings.others, NULL);
	return true;
}

static bool set_port(void *into, const char *value, struct buf *error)
{
	struct client_options *o = into;
	uint64_t port;

	if (!num_parse_u64(str_from(value), 1, 65535, &port)) {
		buf_printf(error, "--port must be a number from 1 to 65535, not '%s'", value);
		return false;
	}
	o->settings.port = (int)port;
	client_settings_set_text(&o->settings.socket, NULL);
	return true;
}

static bool set_uri(void *into, const char *value, struct buf *error)
{
	struct client_options *o = into;
	char *before = o->settings.password;

	/* The old text is freed when a new one is set. */
	o->settings.password = NULL;
	if (!client_settings_set_uri(&o->settings, value, error)) {
		free(before);
		return false;
	}
	if (o->settings.password == NULL)
		o->settings.password = before;
	else {
		free(before);
		o->has_exposed_password = true;
	}
	return true;
}

static bool set_password(void *into, const char *value, struct buf *error)
{
	struct client_options *o = into;

	(void)error;
	client_settings_set_text(&o->settings.password, value);
	o->has_exposed_password = true;
	return true;
}

static bool set_db(void *into, const char *value, struct buf *error)
{
	struct client_options *o = into;
	uint64_t db;

	if (!num_parse_u64(str_from(value), 0, CLIENT_DB_MAX, &db)) {
		buf_printf(error, "--db must be a number from 0 to %d, not '%s'", CLIENT_DB_MAX,
			   value);
		return false;
	}
	o->settings.db = (unsigned)db;
	return true;
}

/* Setters of texts of the settings. */
#define TEXT_SETTER(member)                                                                 \
	static bool set_##member(void *into, const char *value, struct buf *error)          \
	{                                                                                   \
		(void)error;                                                                \
		client_settings_set_text(&((struct client_options *)into)->settings.member, \
					 value);                                            \
		return true;                                                                \
	}

TEXT_SETTER(socket)
TEXT_SETTER(user)
TEXT_SETTER(sni)
TEXT_SETTER(cacert)
TEXT_SETTER(cacertdir)
TEXT_SETTER(cert)
TEXT_SETTER(key)
TEXT_SETTER(ciphers)
TEXT_SETTER(ciphersuites)

#define FIELD(member)	offsetof(struct client_options, member)
#define SETTING(member) offsetof(struct client_options, settings.member)
#define TIMEOUT_MAX_S	86400

const struct flag client_options_rows[] = {
	{ "host", 'h', FLAG_CALL, 0, 0, 0, "name", "host of the server (127.0.0.1)", set_host },
	{ "port", 'p', FLAG_CALL, 0, 0, 0, "number", "port of the server (7537)", set_port },
	{ "socket", 's', FLAG_CALL, 0, 0, 0, "path", "Unix socket to use instead", set_socket },
	{ "uri", 'u', FLAG_CALL, 0, 0, 0, "uri",
	  "redis://user:password@host:port/db, rediss:// for TLS, or unix://path", set_uri },
	{ "db", 'n', FLAG_CALL, 0, 0, 0, "number", "database to use (0)", set_db },
	{ "user", 0, FLAG_CALL, 0, 0, 0, "name", "user to authenticate as", set_user },
	{ "pass", 'a', FLAG_CALL, 0, 0, 0, "text",
	  "password; default: QLESSCLI_AUTH in the environment", set_password },
	{ "askpass", 0, FLAG_SET, FIELD(ask_password), 0, 0, NULL, "ask for the password", NULL },
	{ "no-auth-warning", 0, FLAG_SET, FIELD(no_auth_warning), 0, 0, NULL,
	  "do not warn about a password among the arguments", NULL },
	{ "tls", 0, FLAG_SET, FIELD(tls), 0, 0, NULL, "connect with TLS", NULL },
	{ "cacert", 0, FLAG_CALL, 0, 0, 0, "file", "certificates to trust (those of the system)",
	  set_cacert },
	{ "cacertdir", 0, FLAG_CALL, 0, 0, 0, "dir", "directory of certificates to trust",
	  set_cacertdir },
	{ "cert", 0, FLAG_CALL, 0, 0, 0, "file", "certificate of this client", set_cert },
	{ "key", 0, FLAG_CALL, 0, 0, 0, "file", "key of this client", set_key },
	{ "sni", 0, FLAG_CALL, 0, 0, 0, "name", "name in the certificate of the server (the host)",
	  set_sni },
	{ "insecure", 0, FLAG_SET, SETTING(insecure), 0, 0, NULL,
	  "do not verify the certificate of the server", NULL },
	{ "tls-ciphers", 0, FLAG_CALL, 0, 0, 0, "list", "ciphers up to TLS 1.2", set_ciphers },
	{ "tls-ciphersuites", 0, FLAG_CALL, 0, 0, 0, "list", "ciphers of TLS 1.3",
	  set_ciphersuites },
	{ "connect-timeout", 't', FLAG_SECONDS, SETTING(connect_timeout_s), 0, TIMEOUT_MAX_S,
	  "seconds", "time limit for connecting (10)", NULL },
	{ "reply-timeout", 0, FLAG_SECONDS, SETTING(timeout_s), 0, TIMEOUT_MAX_S, "seconds",
	  "time limit for a reply (60); 0: none", NULL },
	{ NULL, 0, FLAG_SET, 0, 0, 0, NULL, NULL, NULL },
};

bool client_options_init(struct client_options *o, struct buf *error)
{
	const char *password = getenv(CLIENT_OPTIONS_AUTH);
	const char *url = getenv(CLIENT_OPTIONS_URL);

	*o = (struct client_options){ .tls = false };
	client_settings_init(&o->settings);
	if (url != NULL && url[0] != '\0' && !client_settings_set_any(&o->settings, url, error)) {
		buf_printf(error, " (in the environment: " CLIENT_OPTIONS_URL ")");
		return false;
	}
	if (password != NULL && password[0] != '\0')
		client_settings_set_text(&o->settings.password, password);
	return true;
}

void client_options_done(struct client_options *o)
{
	client_settings_done(&o->settings);
}

int client_options_take(struct client_options *o, int argc, char *const *argv, int *at,
			struct buf *error)
{
	return flags_take(client_options_rows, o, argc, argv, at, error);
}

bool client_options_finish(struct client_options *o, const char *program, struct buf *error)
{
	if (o->tls)
		o->settings.tls = true;
	if (o->ask_password) {
		char *password = askpass_read("Password: ", error);

		if (password == NULL)
			return false;
		client_settings_set_text(&o->settings.password, password);
		explicit_bzero(password, strlen(password));
		free(password);
	} else if (o->has_exposed_password && !o->no_auth_warning) {
		fprintf(stderr,
			"%s: warning: other users of this machine can read a password among the "
			"arguments. Use --askpass or " CLIENT_OPTIONS_AUTH "\n",
			program);
	}
	return true;
}
