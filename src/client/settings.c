#include "client/settings.h"

#include <stdlib.h>
#include <string.h>

#include "util/hex.h"
#include "util/mem.h"
#include "util/num.h"

/* Every text of the settings, to copy and free them. */
static const size_t texts[] = {
	offsetof(struct client_settings, host),	   offsetof(struct client_settings, socket),
	offsetof(struct client_settings, user),	   offsetof(struct client_settings, password),
	offsetof(struct client_settings, name),	   offsetof(struct client_settings, sni),
	offsetof(struct client_settings, cacert),  offsetof(struct client_settings, cacertdir),
	offsetof(struct client_settings, cert),	   offsetof(struct client_settings, key),
	offsetof(struct client_settings, ciphers), offsetof(struct client_settings, ciphersuites),
	offsetof(struct client_settings, others),
};

#define TEXT_COUNT (sizeof texts / sizeof texts[0])

static char **text_at(struct client_settings *s, size_t i)
{
	return (char **)(void *)((char *)s + texts[i]);
}

void client_settings_set_text(char **text, const char *value)
{
	char *copy = value != NULL ? mem_dup(value, strlen(value)) : NULL;

	if (*text != NULL)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = copy;
}

void client_settings_init(struct client_settings *s)
{
	*s = (struct client_settings){ .port = CLIENT_PORT,
				       .proto = 2,
				       .connect_timeout_s = CLIENT_CONNECT_TIMEOUT_S,
				       .timeout_s = CLIENT_REPLY_TIMEOUT_S };
	client_settings_set_text(&s->host, CLIENT_HOST);
}

void client_settings_done(struct client_settings *s)
{
	for (size_t i = 0; i < TEXT_COUNT; i++)
		client_settings_set_text(text_at(s, i), NULL);
}

void client_settings_copy(struct client_settings *to, const struct client_settings *from)
{
	*to = *from;
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		char **text = text_at(to, i);

		if (*text != NULL)
			*text = mem_dup(*text, strlen(*text));
	}
}

/* ---- addresses ---- */

static bool set_port(struct client_settings *s, struct qless_str text, struct buf *error)
{
	uint64_t port;

	if (!num_parse_u64(text, 1, 65535, &port)) {
		buf_printf(error, "'%.*s' is not a port: give a number from 1 to 65535",
			   (int)text.len, text.ptr);
		return false;
	}
	s->port = (int)port;
	return true;
}

static void set_host(struct client_settings *s, struct qless_str host)
{
	char *copy = mem_dup(host.ptr, host.len);

	client_settings_set_text(&s->host, copy);
	client_settings_set_text(&s->socket, NULL);
	client_settings_set_text(&s->others, NULL);
	free(copy);
}

/* An address of version 6 without brackets has several colons, and no port. */
static bool set_host_and_port(struct client_settings *s, struct qless_str text, struct buf *error)
{
	const char *end = text.ptr + text.len;
	const char *first = memchr(text.ptr, ':', text.len);
	const char *colon = memrchr(text.ptr, ':', text.len);
	struct qless_str host = text;

	if (text.len != 0 && text.ptr[0] == '[') {
		const char *bracket = memchr(text.ptr, ']', text.len);

		if (bracket == NULL || (bracket + 1 != end && bracket[1] != ':')) {
			buf_printf(error, "'%.*s' is not an address: give [address]:port",
				   (int)text.len, text.ptr);
			return false;
		}
		host = str_make(text.ptr + 1, (size_t)(bracket - text.ptr) - 1);
		colon = bracket + 1 != end ? bracket + 1 : NULL;
	} else if (colon != NULL && colon == first) {
		host.len = (size_t)(colon - text.ptr);
	} else {
		colon = NULL;
	}
	if (colon != NULL && !set_port(s, str_make(colon + 1, (size_t)(end - colon) - 1), error))
		return false;
	if (host.len == 0 || memchr(host.ptr, '\0', host.len) != NULL) {
		buf_printf(error, "'%.*s' has no host", (int)text.len, text.ptr);
		return false;
	}
	set_host(s, host);
	return true;
}

/* Returns the part of a list before the next comma, and removes it with the comma. */
static struct qless_str take_word(struct qless_str *list)
{
	const char *comma = memchr(list->ptr, ',', list->len);
	size_t len = comma != NULL ? (size_t)(comma - list->ptr) : list->len;
	struct qless_str word = str_make(list->ptr, len);

	len += comma != NULL;
	*list = str_make(list->ptr + len, list->len - len);
	return word;
}

/* Checks the servers of a list without keeping them. */
static bool check_servers(const struct client_settings *s, struct qless_str list, struct buf *error)
{
	struct client_settings scratch;
	bool is_valid = true;
	size_t count = 1;

	client_settings_init(&scratch);
	scratch.port = s->port;
	do {
		is_valid = set_host_and_port(&scratch, take_word(&list), error);
		count++;
	} while (is_valid && list.len != 0);
	client_settings_done(&scratch);
	if (is_valid && count > CLIENT_SERVERS_MAX) {
		buf_printf(error, "there are %zu servers: a group has at most %d", count,
			   CLIENT_SERVERS_MAX);
		return false;
	}
	return is_valid;
}

static bool set_servers(struct client_settings *s, struct qless_str list, struct buf *error)
{
	struct qless_str first = take_word(&list);
	char *others;

	if (!set_host_and_port(s, first, error))
		return false;
	if (list.len == 0)
		return true;
	if (!check_servers(s, list, error))
		return false;
	others = mem_dup(list.ptr, list.len);
	client_settings_set_text(&s->others, others);
	free(others);
	return true;
}

bool client_settings_choose(struct client_settings *s, size_t server)
{
	struct buf error = BUF_INIT(0);
	char *others = s->others;
	struct qless_str list = str_from(others != NULL ? others : ""), word;
	bool is_there = server == 0;

	s->others = NULL;
	for (; server > 0 && list.len != 0; server--) {
		word = take_word(&list);
		is_there = server == 1 && set_host_and_port(s, word, &error);
	}
	free(others);
	buf_done(&error);
	return is_there;
}

bool client_settings_set_address(struct client_settings *s, const char *text, struct buf *error)
{
	if (strchr(text, '/') != NULL) {
		client_settings_set_text(&s->socket, text);
		client_settings_set_text(&s->others, NULL);
		return true;
	}
	return set_servers(s, str_from(text), error);
}

/* ---- URIs ---- */

/* Returns a new text with the bytes that %xx stands for, or NULL if an escape is invalid. */
static char *decode(struct qless_str text)
{
	char *out = mem_dup(text.ptr, text.len), *to = out;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] != '%') {
			*to++ = text.ptr[i];
			continue;
		}
		if (text.len - i < 3 || !hex_read(to, text.ptr + i + 1, 1) || *to == '\0') {
			free(out);
			return NULL;
		}
		to++;
		i += 2;
	}
	*to = '\0';
	return out;
}

static bool set_decoded(char **text, struct qless_str value, const char *what, struct buf *error)
{
	char *decoded = decode(value);

	if (decoded == NULL) {
		buf_printf(error, "the %s in the URI has an invalid %%xx", what);
		return false;
	}
	client_settings_set_text(text, decoded);
	explicit_bzero(decoded, strlen(decoded));
	free(decoded);
	return true;
}

static bool set_db(struct client_settings *s, struct qless_str text, struct buf *error)
{
	uint64_t db;

	if (!num_parse_u64(text, 0, CLIENT_DB_MAX, &db)) {
		buf_printf(error, "'%.*s' is not a database: give a number from 0 to %d",
			   (int)text.len, text.ptr, CLIENT_DB_MAX);
		return false;
	}
	s->db = (unsigned)db;
	return true;
}

/* "user:password", ":password", or only a password. */
static bool set_login(struct client_settings *s, struct qless_str text, struct buf *error)
{
	const char *colon = memchr(text.ptr, ':', text.len);
	size_t user_len = colon != NULL ? (size_t)(colon - text.ptr) : 0;
	struct qless_str password = text;

	if (colon != NULL)
		password = str_make(colon + 1, text.len - user_len - 1);
	if (user_len != 0 && !set_decoded(&s->user, str_make(text.ptr, user_len), "user", error))
		return false;
	return set_decoded(&s->password, password, "password", error);
}

static bool set_unix_uri(struct client_settings *s, struct qless_str rest, struct buf *error)
{
	const char *query = memchr(rest.ptr, '?', rest.len);
	struct qless_str path = rest, db;

	if (query != NULL) {
		path.len = (size_t)(query - rest.ptr);
		if (!str_strip_prefix(str_make(query, rest.len - path.len), STR("?db="), &db)) {
			buf_printf(error,
				   "the URI has an unknown query: only ?db=number may follow "
				   "the path");
			return false;
		}
		if (!set_db(s, db, error))
			return false;
	}
	if (path.len == 0 || path.ptr[0] != '/') {
		buf_printf(error, "the URI has no absolute path of a socket");
		return false;
	}
	return set_decoded(&s->socket, path, "path", error);
}

static bool set_inet_uri(struct client_settings *s, struct qless_str rest, struct buf *error)
{
	const char *slash = memchr(rest.ptr, '/', rest.len);
	struct qless_str address = rest;

	if (slash != NULL) {
		size_t left = rest.len - (size_t)(slash - rest.ptr) - 1;

		address.len = (size_t)(slash - rest.ptr);
		if (left != 0 && !set_db(s, str_make(slash + 1, left), error))
			return false;
	}
	if (address.len == 0) {
		client_settings_set_text(&s->socket, NULL);
		return true;
	}
	if (address.ptr[0] == ':') {
		client_settings_set_text(&s->socket, NULL);
		return set_port(s, str_make(address.ptr + 1, address.len - 1), error);
	}
	return set_servers(s, address, error);
}

bool client_settings_set_uri(struct client_settings *s, const char *uri, struct buf *error)
{
	static const struct {
		struct qless_str prefix;
		bool tls;
		bool is_unix;
	} schemes[] = {
		{ STR_INIT("redis://"), false, false }, { STR_INIT("rediss://"), true, false },
		{ STR_INIT("qless://"), false, false }, { STR_INIT("qlesss://"), true, false },
		{ STR_INIT("unix://"), false, true },	{ STR_INIT("redis+unix://"), false, true },
	};
	struct qless_str rest;

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		const char *at;

		if (!str_strip_prefix(str_from(uri), schemes[i].prefix, &rest))
			continue;
		s->tls = schemes[i].tls;
		/* A password may have any byte except a slash, which must be written as %2f. */
		at = memchr(rest.ptr, '/', rest.len);
		at = memrchr(rest.ptr, '@', at != NULL ? (size_t)(at - rest.ptr) : rest.len);
		if (at != NULL) {
			size_t len = (size_t)(at - rest.ptr);

			if (!set_login(s, str_make(rest.ptr, len), error))
				return false;
			rest = str_make(at + 1, rest.len - len - 1);
		}
		return schemes[i].is_unix ? set_unix_uri(s, rest, error)
					  : set_inet_uri(s, rest, error);
	}
	/* The text may have a password, so the message does not repeat it. */
	buf_printf(error, "the URI does not begin with redis://, rediss:// or unix://");
	return false;
}

bool client_settings_set_any(struct client_settings *s, const char *text, struct buf *error)
{
	return strstr(text, "://") != NULL ? client_settings_set_uri(s, text, error)
					   : client_settings_set_address(s, text, error);
}

void client_settings_print_address(const struct client_settings *s, struct buf *out)
{
	if (s->socket != NULL)
		buf_printf(out, "%s", s->socket);
	else if (strchr(s->host, ':') != NULL)
		buf_printf(out, "[%s]:%d", s->host, s->port);
	else
		buf_printf(out, "%s:%d", s->host, s->port);
	if (s->others != NULL && s->socket == NULL)
		buf_printf(out, ",%s", s->others);
}
