#include "push/url.h"

#include <string.h>

#include "util/buf.h"
#include "util/num.h"

#define PORT_MAX 65535

static bool is_host_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_';
}

static bool is_ipv6_character(char c)
{
	return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9') ||
	       c == ':' || c == '.';
}

static bool all_are(struct qless_str text, bool (*test)(char c))
{
	for (size_t i = 0; i < text.len; i++) {
		if (!test(text.ptr[i]))
			return false;
	}
	return text.len != 0;
}

/* A character that a URL may have. Others have to be percent-encoded. */
static bool is_url_character(char c)
{
	return c > ' ' && c <= '~' && c != '"' && c != '<' && c != '>' && c != '\\' && c != '^' &&
	       c != '`' && c != '{' && c != '|' && c != '}';
}

/* The bytes before the first of `ends`, or all of them. */
static struct qless_str before(struct qless_str text, const char *ends)
{
	for (size_t i = 0; i < text.len; i++) {
		if (strchr(ends, text.ptr[i]) != NULL)
			return str_make(text.ptr, i);
	}
	return text;
}

static const char *read_port(struct qless_str text, struct url *url)
{
	uint64_t port;

	if (!num_parse_u64(text, 1, PORT_MAX, &port))
		return "has a port that is no number from 1 to 65535";
	url->port = (unsigned)port;
	return NULL;
}

static const char *read_ipv6(struct qless_str authority, struct url *url)
{
	const char *end = memchr(authority.ptr, ']', authority.len);
	struct qless_str rest;

	if (end == NULL)
		return "has an address without a closing bracket";
	url->host = str_make(authority.ptr + 1, (size_t)(end - authority.ptr) - 1);
	url->is_ipv6 = true;
	if (!all_are(url->host, is_ipv6_character))
		return "has no address in its brackets";
	rest = str_make(end + 1, authority.len - url->host.len - 2);
	if (rest.len == 0)
		return NULL;
	if (rest.ptr[0] != ':')
		return "has an address that something follows";
	return read_port(str_make(rest.ptr + 1, rest.len - 1), url);
}

static const char *read_authority(struct qless_str authority, struct url *url)
{
	if (memchr(authority.ptr, '@', authority.len) != NULL)
		return "has a user; use the option HEADER for Authorization";
	if (authority.len != 0 && authority.ptr[0] == '[')
		return read_ipv6(authority, url);
	url->host = before(authority, ":");
	if (url->host.len == 0)
		return "has no host";
	if (!all_are(url->host, is_host_character))
		return "has a character that no host may have";
	if (url->host.len == authority.len)
		return NULL;
	return read_port(
		str_make(authority.ptr + url->host.len + 1, authority.len - url->host.len - 1),
		url);
}

static bool strip_scheme(struct qless_str text, struct qless_str scheme, struct qless_str *ret_rest)
{
	if (text.len < scheme.len || !str_equal_nocase(str_make(text.ptr, scheme.len), scheme))
		return false;
	*ret_rest = str_make(text.ptr + scheme.len, text.len - scheme.len);
	return true;
}

const char *url_read(struct qless_str text, struct url *ret_url)
{
	struct qless_str rest;

	*ret_url = (struct url){ .port = 80 };
	if (text.len > URL_MAX)
		return "is longer than 2048 bytes";
	if (strip_scheme(text, STR("https://"), &rest)) {
		ret_url->is_secure = true;
		ret_url->port = 443;
	} else if (!strip_scheme(text, STR("http://"), &rest)) {
		return "does not begin with http:// or https://";
	}
	if (!all_are(text, is_url_character))
		return "has a character that must be percent-encoded";
	if (memchr(text.ptr, '#', text.len) != NULL)
		return "has a fragment";
	return read_authority(before(rest, "/?"), ret_url);
}

static void append_masked_value(struct buf *out, struct qless_str value)
{
	buf_append_str(out, value.len != 0 ? STR("(redacted)") : STR(""));
}

/* A parameter without a name is a value. */
static void append_masked_parameters(struct buf *out, struct qless_str query)
{
	for (;;) {
		struct qless_str parameter = before(query, "&"), name = before(parameter, "=");
		bool has_name = name.len != parameter.len;

		if (has_name)
			buf_append(out, name.ptr, name.len + 1);
		append_masked_value(out, has_name ? str_make(name.ptr + name.len + 1,
							     parameter.len - name.len - 1)
						  : parameter);
		if (parameter.len == query.len)
			return;
		buf_append_char(out, '&');
		query = str_make(parameter.ptr + parameter.len + 1, query.len - parameter.len - 1);
	}
}

/* Returns the length of the scheme and the slashes after it, or 0. */
static size_t scheme_length(struct qless_str text)
{
	struct qless_str scheme = before(text, ":/?#");
	size_t left = text.len - scheme.len;

	return left >= 3 && memcmp(scheme.ptr + scheme.len, "://", 3) == 0 ? scheme.len + 3 : 0;
}

void url_append_masked(struct buf *out, struct qless_str text)
{
	size_t start = scheme_length(text), at;
	struct qless_str rest = str_make(text.ptr + start, text.len - start), path;
	struct qless_str authority = before(rest, "/?#");

	for (at = authority.len; at > 0 && authority.ptr[at - 1] != '@'; at--)
		continue;
	buf_append(out, text.ptr, start);
	if (at > 1)
		buf_append_str(out, STR("(redacted)@"));
	path = before(str_make(rest.ptr + at, rest.len - at), "?#");
	buf_append_str(out, path);
	at += path.len;
	if (at == rest.len)
		return;
	buf_append_char(out, rest.ptr[at]);
	append_masked_parameters(out, str_make(rest.ptr + at + 1, rest.len - at - 1));
}
