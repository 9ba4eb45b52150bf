/*
 * The parser of requests.
 *
 * Only offsets are stored, because the bytes may move between two calls. A line is read when its
 * end has arrived, and its end is searched only in bytes that are new. The bytes of chunks are
 * moved together as they arrive, each byte once.
 */
#include "http/parser.h"

#include <assert.h>
#include <string.h>

#include "util/hex.h"

/* CR LF */
#define LINE_END_LEN 2

/* Empty lines before a request that are skipped. Some old clients send one after a body. */
#define EMPTY_LINES_MAX 2

/* Digits of a length at most: they fit into a size_t. */
#define LENGTH_DIGITS_MAX 18
#define CHUNK_DIGITS_MAX  15

/* The first byte that a TLS client sends. */
#define TLS_HANDSHAKE 0x16

enum state {
	AT_START, /* before the first byte; zero, so that a zeroed parser is ready */
	IN_REQUEST_LINE,
	IN_FIELDS,
	AT_HEAD, /* the head is complete, and the body not accepted */
	IN_BODY,
	IN_CHUNK_LINE,
	IN_CHUNK,
	IN_CHUNK_END,
	IN_TRAILER,
	AT_END, /* the request is complete */
	IN_ERROR,
};

/* Classes of bytes. */
enum {
	TOKEN = 1,  /* of names of methods and fields */
	VALUE = 2,  /* of values of fields */
	TARGET = 4, /* of targets */
	NAME = 8,   /* of hosts, with their ports */
};

#define ALL (TOKEN | VALUE | TARGET | NAME)

#define TWO(c, class)	[c] = (class), [(c) + 1] = (class)
#define FOUR(c, class)	TWO(c, class), TWO((c) + 2, class)
#define EIGHT(c, class) FOUR(c, class), FOUR((c) + 4, class)
#define LETTERS(c)	EIGHT(c, ALL), EIGHT((c) + 8, ALL), EIGHT((c) + 16, ALL), TWO((c) + 24, ALL)
#define UPPER_32(c) \
	EIGHT(c, VALUE), EIGHT((c) + 8, VALUE), EIGHT((c) + 16, VALUE), EIGHT((c) + 24, VALUE)

static const unsigned char classes[256] = {
	['\t'] = VALUE,
	[' '] = VALUE,
	['!'] = TOKEN | VALUE | TARGET,
	['"'] = VALUE | TARGET,
	['#'] = TOKEN | VALUE,
	['$'] = TOKEN | VALUE | TARGET,
	['%'] = ALL,
	['&'] = TOKEN | VALUE | TARGET,
	['\''] = TOKEN | VALUE | TARGET,
	['('] = VALUE | TARGET,
	[')'] = VALUE | TARGET,
	['*'] = TOKEN | VALUE | TARGET,
	['+'] = TOKEN | VALUE | TARGET,
	[','] = VALUE | TARGET,
	['-'] = ALL,
	['.'] = ALL,
	['/'] = VALUE | TARGET,
	EIGHT('0', ALL),
	TWO('8', ALL),
	[':'] = VALUE | TARGET | NAME,
	[';'] = VALUE | TARGET,
	['<'] = VALUE | TARGET,
	['='] = VALUE | TARGET,
	['>'] = VALUE | TARGET,
	['?'] = VALUE | TARGET,
	['@'] = VALUE | TARGET,
	LETTERS('A'),
	['['] = VALUE | TARGET | NAME,
	['\\'] = VALUE | TARGET,
	[']'] = VALUE | TARGET | NAME,
	['^'] = TOKEN | VALUE | TARGET,
	['_'] = ALL,
	['`'] = TOKEN | VALUE | TARGET,
	LETTERS('a'),
	['{'] = VALUE | TARGET,
	['|'] = TOKEN | VALUE | TARGET,
	['}'] = VALUE | TARGET,
	['~'] = ALL,
	UPPER_32(0x80),
	UPPER_32(0xa0),
	UPPER_32(0xc0),
	UPPER_32(0xe0),
};

static const struct qless_str method_names[HTTP_METHOD_COUNT] = {
	[HTTP_METHOD_GET] = STR_INIT("GET"),	     [HTTP_METHOD_HEAD] = STR_INIT("HEAD"),
	[HTTP_METHOD_POST] = STR_INIT("POST"),	     [HTTP_METHOD_PUT] = STR_INIT("PUT"),
	[HTTP_METHOD_PATCH] = STR_INIT("PATCH"),     [HTTP_METHOD_DELETE] = STR_INIT("DELETE"),
	[HTTP_METHOD_OPTIONS] = STR_INIT("OPTIONS"),
};

static const struct {
	struct qless_str name;
	bool may_repeat;
} field_rows[HTTP_FIELD_COUNT] = {
#define FIELD_ROW(constant, text, may_repeat) \
	[HTTP_FIELD_##constant] = { STR_INIT(text), may_repeat },
	HTTP_FIELDS(FIELD_ROW)
#undef FIELD_ROW
};

static_assert(HTTP_FIELD_COUNT <= 32, "a parser has a bit for each field");
static_assert(HTTP_HEAD_MAX <= UINT16_MAX, "a slice of a head has offsets of 16 bits");

struct qless_str http_method_name(enum http_method method)
{
	return method_names[method];
}

void http_parser_init(struct http_parser *p)
{
	*p = (struct http_parser){ 0 };
}

bool http_parser_is_idle(const struct http_parser *p)
{
	return p->state == AT_START;
}

size_t http_parser_wanted(const struct http_parser *p, size_t len)
{
	size_t most = len > HTTP_WANTED_MIN ? len : HTTP_WANTED_MIN;
	size_t end;

	if (p->state == IN_BODY)
		end = p->body + p->left;
	else if (p->state == IN_CHUNK)
		end = p->line + p->left + LINE_END_LEN;
	else
		return 1;
	if (end <= len)
		return 1;
	return end - len < most ? end - len : most;
}

/* ---- states ---- */

static bool may_follow(enum state from, enum state to)
{
	switch (to) {
	case AT_START:
		return false;
	case IN_REQUEST_LINE:
		return from == AT_START;
	case IN_FIELDS:
		return from == IN_REQUEST_LINE;
	case AT_HEAD:
		return from == IN_FIELDS;
	case IN_BODY:
		return from == AT_HEAD;
	case IN_CHUNK_LINE:
		return from == AT_HEAD || from == IN_CHUNK_END;
	case IN_CHUNK:
	case IN_TRAILER:
		return from == IN_CHUNK_LINE;
	case IN_CHUNK_END:
		return from == IN_CHUNK;
	case AT_END:
		return from == IN_BODY || from == IN_TRAILER;
	case IN_ERROR:
		return from != IN_ERROR;
	}
	return false;
}

static void enter(struct http_parser *p, enum state state)
{
	assert(may_follow((enum state)p->state, state));
	p->state = (uint8_t)state;
}

/* Returns false. */
static bool fail(struct http_parser *p, int status, const char *error)
{
	enter(p, IN_ERROR);
	p->status = (uint16_t)status;
	p->error = error;
	return false;
}

/* ---- lines ---- */

static bool all_are(struct qless_str s, unsigned char class)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((classes[(unsigned char)s.ptr[i]] & class) == 0)
			return false;
	}
	return true;
}

static struct http_slice slice_of(const char *base, struct qless_str s)
{
	return (struct http_slice){ .at = (uint16_t)(s.ptr - base), .len = (uint16_t)s.len };
}

static struct qless_str str_of(const char *base, struct http_slice s)
{
	return str_make(base + s.at, s.len);
}

/* Takes the next line, without its end, which must come before `limit` bytes from the base. Returns
 * false if it has not arrived, or is refused. */
static bool take_line(struct http_parser *p, const char *base, size_t len, size_t limit, int status,
		      const char *error, struct qless_str *ret_line)
{
	size_t stop = len < limit ? len : limit;
	const char *end = NULL;

	if (p->scanned < stop)
		end = memchr(base + p->scanned, '\n', stop - p->scanned);
	if (end == NULL) {
		p->scanned = stop;
		return stop == limit ? fail(p, status, error) : false;
	}
	if (end == base + p->line || end[-1] != '\r')
		return fail(p, 400, "a line ends without CR");
	*ret_line = str_make(base + p->line, (size_t)(end - base) - p->line - 1);
	p->line = p->scanned = (size_t)(end - base) + 1;
	return true;
}

/* ---- the request line ---- */

static bool set_method(struct http_parser *p, struct qless_str name)
{
	if (name.len == 0 || !all_are(name, TOKEN))
		return fail(p, 400, "the request line does not begin with a method");
	for (int i = 0; i < HTTP_METHOD_COUNT; i++) {
		if (str_equal(name, method_names[i])) {
			p->method = (uint8_t)i;
			return true;
		}
	}
	return fail(p, 501, "the method is not known");
}

static bool set_version(struct http_parser *p, struct qless_str version)
{
	static const struct qless_str name = STR_INIT("HTTP/");
	const char *digits = version.ptr + name.len;

	if (version.len != name.len + 3 || !str_starts_with(version, name) || digits[1] != '.' ||
	    (unsigned char)(digits[0] - '0') > 9 || (unsigned char)(digits[2] - '0') > 9)
		return fail(p, 400, "the request line does not end with a version of HTTP");
	if (digits[0] != '1')
		return fail(p, 505, "the version is not HTTP/1.0 or HTTP/1.1");
	p->minor = digits[2] != '0';
	return true;
}

static bool strip_scheme(struct qless_str target, struct qless_str *ret_rest)
{
	static const struct qless_str schemes[] = { STR_INIT("http://"), STR_INIT("https://") };

	for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
		size_t len = schemes[i].len;

		if (target.len > len && str_equal_nocase(str_make(target.ptr, len), schemes[i])) {
			*ret_rest = str_make(target.ptr + len, target.len - len);
			return true;
		}
	}
	return false;
}

/* A client may name the host in the target, as if it spoke to a proxy. */
static bool set_target(struct http_parser *p, const char *base, struct qless_str target)
{
	struct qless_str rest;
	size_t len = 0;

	if (target.len == 0 || !all_are(target, TARGET))
		return fail(p, 400, "the target is empty, or has a byte that must be encoded");
	if (strip_scheme(target, &rest)) {
		while (len < rest.len && (classes[(unsigned char)rest.ptr[len]] & NAME) != 0)
			len++;
		p->authority = slice_of(base, str_make(rest.ptr, len));
		target = str_make(rest.ptr + len, rest.len - len);
		if (len == 0 || target.len == 0)
			return fail(p, 400, "the target names a host without a path");
	}
	if (target.ptr[0] != '/')
		return fail(p, 400, http_target_error_text(HTTP_TARGET_NOT_A_PATH));
	p->target = slice_of(base, target);
	return true;
}

static bool read_request_line(struct http_parser *p, const char *base, struct qless_str line)
{
	const char *end = line.ptr + line.len;
	const char *first = memchr(line.ptr, ' ', line.len);
	const char *second = NULL;

	if (line.ptr[0] == TLS_HANDSHAKE)
		return fail(p, 400, "this is TLS, for which there is https-port");
	if (first != NULL)
		second = memchr(first + 1, ' ', (size_t)(end - first - 1));
	if (second == NULL)
		return fail(p, 400, "the request line is not a method, a target and a version");
	return set_version(p, str_make(second + 1, (size_t)(end - second - 1))) &&
	       set_method(p, str_make(line.ptr, (size_t)(first - line.ptr))) &&
	       set_target(p, base, str_make(first + 1, (size_t)(second - first - 1)));
}

static bool take_request_line(struct http_parser *p, const char *base, size_t len)
{
	struct qless_str line;

	do {
		/* A TLS client waits for an answer after bytes that may have no line end. */
		if (p->line < len && base[p->line] == TLS_HANDSHAKE)
			return fail(p, 400, "this is TLS, for which there is https-port");
		if (!take_line(p, base, len, HTTP_HEAD_MAX, 414, "the request line is too long",
			       &line))
			return false;
	} while (line.len == 0 && p->lines++ < EMPTY_LINES_MAX);
	p->lines = 0;
	if (line.len == 0)
		return fail(p, 400, "the request begins with empty lines");
	if (!read_request_line(p, base, line))
		return false;
	enter(p, IN_FIELDS);
	return true;
}

/* ---- header fields ---- */

static bool has_field(const struct http_parser *p, enum http_field field)
{
	return (p->present & UINT32_C(1) << field) != 0;
}

/* Returns the field of that name, or HTTP_FIELD_COUNT. */
static enum http_field find_field(struct qless_str name)
{
	int i = 0;

	while (i < HTTP_FIELD_COUNT && !str_equal_nocase(name, field_rows[i].name))
		i++;
	return (enum http_field)i;
}

static struct qless_str trim(struct qless_str s)
{
	while (s.len != 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = str_make(s.ptr + 1, s.len - 1);
	while (s.len != 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

static void read_connection(struct http_parser *p, struct qless_str value)
{
	while (value.len != 0) {
		const char *comma = memchr(value.ptr, ',', value.len);
		size_t len = comma != NULL ? (size_t)(comma - value.ptr) : value.len;
		struct qless_str option = trim(str_make(value.ptr, len));

		if (str_equal_nocase(option, STR("close")))
			p->is_closing = true;
		else if (str_equal_nocase(option, STR("keep-alive")))
			p->is_kept_alive = true;
		if (comma == NULL)
			break;
		value = str_make(comma + 1, value.len - len - 1);
	}
}

static bool set_field(struct http_parser *p, const char *base, enum http_field field,
		      struct qless_str value)
{
	if (field == HTTP_FIELD_CONNECTION)
		read_connection(p, value);
	if (has_field(p, field)) {
		if (field == HTTP_FIELD_CONTENT_LENGTH)
			return fail(p, 400, "Content-Length is there twice");
		if (field == HTTP_FIELD_HOST)
			return fail(p, 400, "Host is there twice");
		return field_rows[field].may_repeat ||
		       fail(p, 400, "a header field that has one value is there twice");
	}
	p->present |= UINT32_C(1) << field;
	p->fields[field] = slice_of(base, value);
	return true;
}

/* Splits a line of a head or a trailer. */
static bool split_line(struct http_parser *p, struct qless_str line, struct qless_str *ret_name,
		       struct qless_str *ret_value)
{
	const char *colon = memchr(line.ptr, ':', line.len);
	size_t len = colon != NULL ? (size_t)(colon - line.ptr) : 0;

	if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
		return fail(p, 400, "a header line is folded");
	if (colon == NULL)
		return fail(p, 400, "a header line has no colon");
	*ret_name = str_make(line.ptr, len);
	*ret_value = str_make(colon + 1, line.len - len - 1);
	if (len == 0 || !all_are(*ret_name, TOKEN))
		return fail(p, 400,
			    "the name of a header field is empty or has a byte that no "
			    "name has");
	if (!all_are(*ret_value, VALUE))
		return fail(p, 400, "the value of a header field has a control character");
	*ret_value = trim(*ret_value);
	return true;
}

static bool read_field(struct http_parser *p, const char *base, struct qless_str line)
{
	struct qless_str name, value;
	enum http_field field;

	if (p->lines++ == HTTP_LINES_MAX)
		return fail(p, 431, "the request has more than 64 header lines");
	if (!split_line(p, line, &name, &value))
		return false;
	field = find_field(name);
	return field == HTTP_FIELD_COUNT || set_field(p, base, field, value);
}

/* ---- the end of the head ---- */

static bool check_host(struct http_parser *p, const char *base)
{
	struct qless_str host = str_of(base, p->fields[HTTP_FIELD_HOST]);

	if (!has_field(p, HTTP_FIELD_HOST))
		return (p->minor == 0 && p->authority.len == 0) || fail(p, 400, "there is no Host");
	if (!all_are(host, NAME))
		return fail(p, 400, "Host has a byte that no name of a host has");
	if (p->authority.len != 0 && !str_equal_nocase(host, str_of(base, p->authority)))
		return fail(p, 400, "the target names another host than Host");
	return true;
}

static bool read_length(struct http_parser *p, struct qless_str digits)
{
	size_t value = 0;

	if (digits.len == 0)
		return fail(p, 400, "Content-Length is not a number of bytes");
	for (size_t i = 0; i < digits.len; i++) {
		unsigned digit = (unsigned char)digits.ptr[i] - (unsigned)'0';

		if (digit > 9)
			return fail(p, 400, "Content-Length is not a number of bytes");
		if (i == LENGTH_DIGITS_MAX)
			return fail(p, 413, "the body is too large");
		value = 10 * value + digit;
	}
	p->left = value;
	return true;
}

static bool check_framing(struct http_parser *p, const char *base)
{
	bool has_length = has_field(p, HTTP_FIELD_CONTENT_LENGTH);

	p->is_chunked = has_field(p, HTTP_FIELD_TRANSFER_ENCODING);
	if (p->is_chunked) {
		struct qless_str coding = str_of(base, p->fields[HTTP_FIELD_TRANSFER_ENCODING]);

		if (has_length)
			return fail(p, 400, "there are Content-Length and Transfer-Encoding");
		if (p->minor == 0)
			return fail(p, 400, "HTTP/1.0 has no Transfer-Encoding");
		if (!str_equal_nocase(coding, STR("chunked")))
			return fail(p, 501, "the only Transfer-Encoding is chunked");
	}
	return !has_length || read_length(p, str_of(base, p->fields[HTTP_FIELD_CONTENT_LENGTH]));
}

static bool check_expectation(struct http_parser *p, const char *base)
{
	if (!has_field(p, HTTP_FIELD_EXPECT) || p->minor == 0)
		return true;
	if (!str_equal_nocase(str_of(base, p->fields[HTTP_FIELD_EXPECT]), STR("100-continue")))
		return fail(p, 417, "the only Expect is 100-continue");
	p->wants_continue = p->is_chunked || p->left != 0;
	return true;
}

static bool take_fields(struct http_parser *p, const char *base, size_t len)
{
	struct qless_str line;

	for (;;) {
		if (!take_line(p, base, len, HTTP_HEAD_MAX, 431,
			       "the head of the request is longer than 8192 bytes", &line))
			return false;
		if (line.len == 0)
			break;
		if (!read_field(p, base, line))
			return false;
	}
	if (!check_host(p, base) || !check_framing(p, base) || !check_expectation(p, base))
		return false;
	p->body = p->line;
	enter(p, AT_HEAD);
	return true;
}

/* ---- the body ---- */

void http_parser_accept(struct http_parser *p, size_t max_body)
{
	assert(p->state == AT_HEAD);
	p->max_body = max_body;
	if (p->is_chunked)
		enter(p, IN_CHUNK_LINE);
	else
		enter(p, IN_BODY);
}

static bool take_body(struct http_parser *p, size_t len)
{
	if (p->left > p->max_body)
		return fail(p, 413, "the body is too large");
	if (len - p->body < p->left)
		return false;
	p->body_len = p->left;
	p->line = p->body + p->left;
	enter(p, AT_END);
	return true;
}

/* Reads the size of a chunk. Extensions after it are skipped. */
static bool read_chunk_size(struct http_parser *p, struct qless_str line, size_t *ret_size)
{
	size_t size = 0, digits = 0;
	struct qless_str rest;
	int digit;

	while (digits < line.len && (digit = hex_value(line.ptr[digits])) >= 0) {
		if (digits++ == CHUNK_DIGITS_MAX)
			return fail(p, 413, "the body is too large");
		size = size << 4 | (size_t)digit;
	}
	rest = str_make(line.ptr + digits, line.len - digits);
	if (digits == 0 || (rest.len != 0 && rest.ptr[0] != ';') || !all_are(rest, VALUE))
		return fail(p, 400, "the size of a chunk is not a hexadecimal number");
	*ret_size = size;
	return true;
}

static bool take_chunk_line(struct http_parser *p, const char *base, size_t len)
{
	struct qless_str line;
	size_t size;

	if (!take_line(p, base, len, p->line + HTTP_CHUNK_LINE_MAX, 400,
		       "the line before a chunk is too long", &line) ||
	    !read_chunk_size(p, line, &size))
		return false;
	if (size == 0) {
		p->left = HTTP_TRAILER_MAX;
		enter(p, IN_TRAILER);
		return true;
	}
	if (p->line - p->body > p->max_body || size > p->max_body - (p->line - p->body))
		return fail(p, 413, "the body is too large");
	p->left = size;
	enter(p, IN_CHUNK);
	return true;
}

/* Moves what has arrived of a chunk to the bytes of the body before it. */
static bool take_chunk(struct http_parser *p, char *base, size_t len)
{
	size_t there = len - p->line;
	size_t take = there < p->left ? there : p->left;

	memmove(base + p->body + p->body_len, base + p->line, take);
	p->body_len += take;
	p->left -= take;
	p->line += take;
	p->scanned = p->line;
	if (p->left != 0)
		return false;
	enter(p, IN_CHUNK_END);
	return true;
}

static bool take_chunk_end(struct http_parser *p, const char *base, size_t len)
{
	size_t there = len - p->line < LINE_END_LEN ? len - p->line : LINE_END_LEN;

	if (memcmp(base + p->line, "\r\n", there) != 0)
		return fail(p, 400, "a chunk is longer than its size");
	if (there < LINE_END_LEN)
		return false;
	p->line += LINE_END_LEN;
	p->scanned = p->line;
	enter(p, IN_CHUNK_LINE);
	return true;
}

/* The fields of a trailer are checked and ignored. */
static bool take_trailer(struct http_parser *p, const char *base, size_t len)
{
	for (;;) {
		struct qless_str line, name, value;
		size_t begin = p->line;

		if (!take_line(p, base, len, begin + p->left, 431, "the trailer is too long",
			       &line))
			return false;
		p->left -= p->line - begin;
		if (line.len == 0)
			break;
		if (!split_line(p, line, &name, &value))
			return false;
	}
	enter(p, AT_END);
	return true;
}

/* ---- results ---- */

static bool fill(struct http_parser *p, const char *base, struct http_request *r)
{
	int rc = http_target_parse(&r->target, str_of(base, p->target));

	if (rc < 0)
		return fail(p, rc == HTTP_TARGET_BAD_ESCAPE ? 400 : 414,
			    http_target_error_text(rc));
	r->method = (enum http_method)p->method;
	r->minor = p->minor;
	r->keep_alive = !p->is_closing && (p->minor != 0 || p->is_kept_alive);
	r->has_body = p->is_chunked || has_field(p, HTTP_FIELD_CONTENT_LENGTH);
	r->wants_continue = p->wants_continue;
	for (int i = 0; i < HTTP_FIELD_COUNT; i++)
		r->fields[i] = has_field(p, (enum http_field)i) ? str_of(base, p->fields[i])
								: str_make(NULL, 0);
	r->body = str_make(base + p->body, p->body_len);
	r->consumed = p->line;
	return true;
}

/* Makes one step. Returns false if it needs more bytes, or fails. */
static bool step(struct http_parser *p, char *base, size_t len)
{
	switch ((enum state)p->state) {
	case AT_START:
		if (len == 0)
			return false;
		enter(p, IN_REQUEST_LINE);
		return true;
	case IN_REQUEST_LINE:
		return take_request_line(p, base, len);
	case IN_FIELDS:
		return take_fields(p, base, len);
	case IN_BODY:
		return take_body(p, len);
	case IN_CHUNK_LINE:
		return take_chunk_line(p, base, len);
	case IN_CHUNK:
		return take_chunk(p, base, len);
	case IN_CHUNK_END:
		return take_chunk_end(p, base, len);
	case IN_TRAILER:
		return take_trailer(p, base, len);
	case AT_HEAD:
	case AT_END:
	case IN_ERROR:
		break;
	}
	return false;
}

enum http_parse_status http_parse(struct http_parser *p, char *base, size_t len,
				  struct http_request *ret_request)
{
	while (p->state != AT_HEAD && p->state != AT_END && step(p, base, len))
		continue;
	if ((p->state == AT_HEAD || p->state == AT_END) && fill(p, base, ret_request))
		return p->state == AT_HEAD ? HTTP_HEAD : HTTP_REQUEST;
	if (p->state != IN_ERROR)
		return HTTP_NEED_MORE;
	ret_request->status = p->status;
	ret_request->error = p->error;
	return HTTP_ERROR;
}
