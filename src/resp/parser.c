/*
 * The request parser.
 *
 * Of an incomplete request, only the state of the parser is stored: the start of the current line
 * or bulk string, and the number of those to come. Arguments are not stored, because a hostile
 * header could announce any number of them. Nearly every request is complete in one call, and then
 * its slices are taken as the headers are read. If it came in pieces, they are collected at the end
 * by stepping from header to header, all of which were found valid by then.
 */
#include "resp/parser.h"

#include <assert.h>
#include <stdio.h>

#include "util/escape.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/wire.h"

/* The memory that resp_request_trim() keeps: more than ordinary requests need. */
#define KEEP_ARGS 256
#define KEEP_TEXT 1024

/* Digits of a usual header at most; they always fit into 32 bits. */
#define SHORT_DIGITS 9

/* The first byte that a TLS client sends. */
#define TLS_HANDSHAKE 0x16

/* CR LF */
#define LINE_END_LEN 2

/* "$99" and the line end. Every bulk string is at least this long with its header and its end. */
#define TINY_HEADER_MAX (3 + LINE_END_LEN)
#define TINY_BULK_MAX	99

enum state {
	AT_START, /* before the first byte; zero, so that a zeroed parser is ready */
	IN_INLINE,
	IN_COUNT,  /* in "*<count>" */
	IN_LENGTH, /* in "$<length>" */
	IN_BULK,   /* in the bytes of a bulk string, and the CR LF after them */
	IN_ERROR,
};

enum error {
	NO_ERROR,
	BAD_COUNT,
	BAD_LENGTH,
	BIG_COUNT,
	BIG_LENGTH,
	BAD_TYPE,
	BAD_BULK_END,
	BAD_QUOTES,
	LONG_INLINE,
	LONG_COUNT,
	LONG_LENGTH,
	BIG_REQUEST,
	UNAUTH_COUNT,
	UNAUTH_LENGTH,
	FOREIGN_TLS,
};

static const char *const error_texts[] = {
	[BAD_COUNT] = "Protocol error: invalid multibulk length",
	[BAD_LENGTH] = "Protocol error: invalid bulk length",
	[BIG_COUNT] = "Protocol error: invalid multibulk length: over client-max-arguments",
	[BIG_LENGTH] = "Protocol error: invalid bulk length: over proto-max-bulk-len",
	[BAD_BULK_END] = "Protocol error: expected CRLF after bulk",
	[BAD_QUOTES] = "Protocol error: unbalanced quotes in request",
	[LONG_INLINE] = "Protocol error: too big inline request",
	[LONG_COUNT] = "Protocol error: too big mbulk count string",
	[LONG_LENGTH] = "Protocol error: too big bulk count string",
	[BIG_REQUEST] = "Protocol error: too big request",
	[UNAUTH_COUNT] = "Protocol error: unauthenticated multibulk length",
	[UNAUTH_LENGTH] = "Protocol error: unauthenticated bulk length",
	[FOREIGN_TLS] = "Protocol error: this is TLS, for which there is the tls-port",
};

void resp_request_init(struct resp_request *r)
{
	*r = (struct resp_request){ 0 };
}

void resp_request_done(struct resp_request *r)
{
	free(r->argv);
	free(r->text);
	resp_request_init(r);
}

void resp_request_trim(struct resp_request *r)
{
	r->argc = 0;
	if (r->argv_cap > KEEP_ARGS) {
		free(r->argv);
		r->argv = NULL;
		r->argv_cap = 0;
	}
	if (r->text_cap > KEEP_TEXT) {
		free(r->text);
		r->text = NULL;
		r->text_cap = 0;
	}
}

static void reserve_args(struct resp_request *r, size_t count)
{
	if (count <= r->argv_cap)
		return;
	r->argv = mem_realloc_array(r->argv, count, sizeof *r->argv);
	r->argv_cap = count;
}

static inline void add_arg(struct resp_request *r, const char *ptr, size_t len)
{
	if (r->argc == r->argv_cap)
		r->argv = mem_grow(r->argv, &r->argv_cap, r->argc + 1, sizeof *r->argv);
	r->argv[r->argc++] = str_make(ptr, len);
}

void resp_parser_init(struct resp_parser *p)
{
	*p = (struct resp_parser){ 0 };
}

bool resp_parser_is_idle(const struct resp_parser *p)
{
	return p->state == AT_START;
}

size_t resp_parser_wanted(const struct resp_parser *p, size_t len)
{
	size_t end = p->pos + p->bulk_len + LINE_END_LEN;
	size_t most = len > RESP_WANTED_MIN ? len : RESP_WANTED_MIN;

	if (p->state != IN_BULK || end <= len)
		return 1;
	return end - len < most ? end - len : most;
}

static enum resp_status fail(struct resp_parser *p, enum error error)
{
	assert(p->state != IN_ERROR && error != NO_ERROR);
	p->state = IN_ERROR;
	p->error = (uint8_t)error;
	return RESP_ERROR;
}

static void explain_error(const struct resp_parser *p, struct resp_request *r)
{
	char *text = r->error_text;

	if (p->error != BAD_TYPE) {
		r->error = error_texts[p->error];
		return;
	}
	if (p->unexpected >= ' ' && p->unexpected <= '~')
		snprintf(text, sizeof r->error_text, "Protocol error: expected '$', got '%c'",
			 p->unexpected);
	else
		snprintf(text, sizeof r->error_text, "Protocol error: expected '$', got '\\x%02x'",
			 p->unexpected);
	r->error = text;
}

static enum resp_status finish(struct resp_parser *p, struct resp_request *r, size_t consumed)
{
	r->consumed = consumed;
	resp_parser_init(p);
	return RESP_REQUEST;
}

/* ---- lines ---- */

/* Whether a parser may go from one state to the other. Any state may fail; finish() starts again.
 */
static bool may_follow(enum state from, enum state to)
{
	switch (to) {
	case IN_INLINE:
	case IN_COUNT:
		return from == AT_START;
	case IN_LENGTH:
		return from == IN_COUNT || from == IN_LENGTH || from == IN_BULK;
	case IN_BULK:
		return from == IN_LENGTH;
	case AT_START:
	case IN_ERROR:
		break;
	}
	return false;
}

static void enter(struct resp_parser *p, enum state state, size_t pos)
{
	assert(may_follow(p->state, state) && pos >= p->pos);
	p->state = (uint8_t)state;
	p->pos = pos;
	p->scanned = pos;
}

/* The end of the line at p->pos, within `max` bytes. NULL if it has not arrived or is not within
 * these. */
static const char *find_line_end(struct resp_parser *p, char end, size_t max, const char *base,
				 size_t len)
{
	size_t stop = len - p->pos > max ? p->pos + max + 1 : len;
	const char *found = NULL;

	if (p->scanned < stop)
		found = memchr(base + p->scanned, end, stop - p->scanned);
	p->scanned = found != NULL ? (size_t)(found - base) : stop;
	return found;
}

static inline bool is_line_end(const char *at)
{
	return memcmp(at, "\r\n", LINE_END_LEN) == 0;
}

/* Four bytes of text as a number, the first of them the lowest. */
#define FOUR_BYTES(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/*
 * Read the header of a bulk string with a length of one or two digits, as nearly all have. Returns
 * the length of the header, or 0. TINY_HEADER_MAX bytes are readable.
 *
 * The exclusive or of four bytes with "$0\r\n" leaves the digit and zeros, and with "$00\r" both
 * digits. They are checked together: in the sums, the highest bit of a byte is set if it is too
 * large. The first digit minus one is at most 8.
 */
static inline size_t read_tiny_header(const char *at, uint32_t *ret_value)
{
	uint32_t bytes = wire_get_u32((const unsigned char *)at);
	uint32_t one = bytes ^ FOUR_BYTES('$', '0', '\r', '\n');
	uint32_t two = bytes ^ FOUR_BYTES('$', '0', '0', '\r');
	uint32_t less = two - FOUR_BYTES(0, 1, 0, 0);
	uint32_t sums = less + FOUR_BYTES(0x7f, 0x7f - 8, 0x7f - 9, 0x7f);

	one = one >> 8 | one << 24;
	if (one <= 9) {
		*ret_value = one;
		return 2 + LINE_END_LEN;
	}
	if (((less | sums) & FOUR_BYTES(0x80, 0x80, 0x80, 0x80)) != 0 || at[4] != '\n')
		return 0;
	*ret_value = 10 * (two >> 8 & 0xff) + (two >> 16);
	return 3 + LINE_END_LEN;
}

/* Read a usual header: a type, a number without a sign, and CR LF, all of which has arrived.
 * Returns its length, or 0 for any other header, which is left to read_any_header(). */
static inline size_t read_short_header(const char *at, const char *end, uint32_t *ret_value)
{
	const char *digit = at + 1;
	const char *stop = end - at > SHORT_DIGITS + 1 ? digit + SHORT_DIGITS : end - 1;
	uint32_t value = 0;

	for (; digit < stop; digit++) {
		uint32_t units = (uint32_t)(unsigned char)*digit - '0';

		if (units > 9)
			break;
		value = 10 * value + units;
	}
	if (end - digit < LINE_END_LEN || digit[0] != '\r' || digit[1] != '\n')
		return 0;
	if (digit == at + 1 || (at[1] == '0' && digit != at + 2))
		return 0;
	*ret_value = value;
	return (size_t)(digit - at) + LINE_END_LEN;
}

/* Read a header that is long, invalid or incomplete. */
static enum resp_status read_any_header(struct resp_parser *p, const struct resp_limits *limits,
					const char *base, size_t len, int64_t *ret_value)
{
	bool counting = p->state == IN_COUNT;
	const char *number = base + p->pos + 1;
	const char *cr = find_line_end(p, '\r', limits->max_inline, base, len);

	if (cr == NULL) {
		if (len - p->pos > limits->max_inline)
			return fail(p, counting ? LONG_COUNT : LONG_LENGTH);
		return RESP_NEED_MORE;
	}
	if (base + len - cr < LINE_END_LEN)
		return RESP_NEED_MORE;
	if (cr[1] != '\n' || !num_parse_i64(str_make(number, (size_t)(cr - number)), ret_value))
		return fail(p, counting ? BAD_COUNT : BAD_LENGTH);
	p->pos = (size_t)(cr - base) + LINE_END_LEN;
	return RESP_REQUEST;
}

/* Read the header at p->pos, in any form, complete or not. With RESP_REQUEST the parser is after
 * it. */
static inline enum resp_status read_header(struct resp_parser *p, const struct resp_limits *limits,
					   const char *base, size_t len, int64_t *ret_value)
{
	uint32_t value;
	size_t line_len = read_short_header(base + p->pos, base + len, &value);

	if (line_len == 0 || line_len - LINE_END_LEN > limits->max_inline)
		return read_any_header(p, limits, base, len, ret_value);
	*ret_value = value;
	p->pos += line_len;
	return RESP_REQUEST;
}

/* ---- arrays ---- */

static enum resp_status read_count(struct resp_parser *p, const struct resp_limits *limits,
				   const char *base, size_t len)
{
	int64_t value;
	enum resp_status status = read_header(p, limits, base, len, &value);

	assert(limits->max_args <= UINT32_MAX);
	if (status != RESP_REQUEST)
		return status;
	if (value > (int64_t)limits->max_args)
		return fail(p, BIG_COUNT);
	if (limits->unauthenticated && value > (int64_t)RESP_UNAUTH_MAX_ARGS)
		return fail(p, UNAUTH_COUNT);
	p->args_total = p->args_left = value > 0 ? (uint32_t)value : 0;
	enter(p, IN_LENGTH, p->pos);
	return RESP_REQUEST;
}

static enum resp_status read_length(struct resp_parser *p, const struct resp_limits *limits,
				    const char *base, size_t len)
{
	enum resp_status status;
	int64_t value;
	size_t room;

	if (p->pos == len)
		return RESP_NEED_MORE;
	if (base[p->pos] != '$') {
		p->unexpected = (uint8_t)base[p->pos];
		return fail(p, BAD_TYPE);
	}
	status = read_header(p, limits, base, len, &value);
	if (status != RESP_REQUEST)
		return status;
	if (value < 0)
		return fail(p, BAD_LENGTH);
	if ((uint64_t)value > limits->max_bulk)
		return fail(p, BIG_LENGTH);
	if (limits->unauthenticated && (uint64_t)value > RESP_UNAUTH_MAX_BULK)
		return fail(p, UNAUTH_LENGTH);
	room = p->pos < limits->max_request ? limits->max_request - p->pos : 0;
	if (room < LINE_END_LEN || (uint64_t)value > room - LINE_END_LEN)
		return fail(p, BIG_REQUEST);
	p->bulk_len = (size_t)value;
	enter(p, IN_BULK, p->pos);
	return RESP_REQUEST;
}

/* Collect the slices of a complete request, all of whose headers are valid. */
static void collect_args(struct resp_request *r, const char *base, uint32_t count)
{
	const char *at = base;

	reserve_args(r, count);
	while (*at++ != '\n')
		continue;
	for (uint32_t i = 0; i < count; i++) {
		size_t len = 0;

		for (at++; *at != '\r'; at++)
			len = 10 * len + (size_t)(*at - '0');
		at += LINE_END_LEN;
		r->argv[i] = str_make(at, len);
		at += len + LINE_END_LEN;
	}
	r->argc = count;
}

/* Take arguments as long as they have arrived, are within the limits, have a usual header, and fit
 * into the request. read_args() continues with the first that is none of this, and finds what is
 * missing or wrong. This is a function of its own so that all of its variables are in registers. */
static __attribute__((noinline)) void take_usual_args(struct resp_parser *p,
						      const struct resp_limits *limits,
						      const char *base, size_t len,
						      struct resp_request *r)
{
	/* Offsets, because a length may lead beyond the buffer. */
	size_t at = p->pos, end = len < limits->max_request ? len : limits->max_request;
	size_t max_bulk = limits->max_bulk;
	size_t room = r->argv_cap - r->argc;
	struct qless_str *arg = r->argv + r->argc;
	struct qless_str *last = arg + (p->args_left < room ? p->args_left : room);

	if (limits->unauthenticated && max_bulk > RESP_UNAUTH_MAX_BULK)
		max_bulk = RESP_UNAUTH_MAX_BULK;
	if (limits->max_inline <= SHORT_DIGITS || max_bulk < TINY_BULK_MAX || end < TINY_HEADER_MAX)
		return;
	for (; arg != last && at <= end - TINY_HEADER_MAX; arg++) {
		uint32_t bulk_len;
		size_t line_len = read_tiny_header(base + at, &bulk_len), bulk_end;

		if (line_len == 0) {
			if (base[at] == '$')
				line_len = read_short_header(base + at, base + end, &bulk_len);
			if (line_len == 0 || bulk_len > max_bulk)
				break;
		}
		bulk_end = at + line_len + bulk_len;
		if (bulk_end > end - LINE_END_LEN || !is_line_end(base + bulk_end))
			break;
		*arg = str_make(base + at + line_len, bulk_len);
		at = bulk_end + LINE_END_LEN;
	}
	p->args_left -= (uint32_t)(arg - r->argv) - (uint32_t)r->argc;
	r->argc = (size_t)(arg - r->argv);
	enter(p, IN_LENGTH, at);
}

static enum resp_status read_args(struct resp_parser *p, const struct resp_limits *limits,
				  const char *base, size_t len, struct resp_request *r)
{
	/* Arguments that an earlier call read can only be collected at the end. */
	bool taking = p->args_left == p->args_total;

	if (taking && p->state == IN_LENGTH && r->argv_cap != 0)
		take_usual_args(p, limits, base, len, r);
	while (taking && p->args_left != 0 && r->argc != 0 && r->argc == r->argv_cap) {
		reserve_args(r, 2 * r->argv_cap);
		take_usual_args(p, limits, base, len, r);
	}
	while (p->args_left != 0) {
		const char *bulk, *end;

		if (p->state == IN_LENGTH) {
			enum resp_status status = read_length(p, limits, base, len);

			if (status != RESP_REQUEST)
				return status;
		}
		if (len - p->pos < p->bulk_len + LINE_END_LEN)
			return RESP_NEED_MORE;
		bulk = base + p->pos;
		end = bulk + p->bulk_len;
		if (end[0] != '\r' || end[1] != '\n')
			return fail(p, BAD_BULK_END);
		if (taking)
			add_arg(r, bulk, p->bulk_len);
		p->args_left--;
		enter(p, IN_LENGTH, p->pos + p->bulk_len + LINE_END_LEN);
	}
	if (!taking)
		collect_args(r, base, p->args_total);
	return finish(p, r, p->pos);
}

/* ---- inline commands ---- */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Differs from is_space(): a vertical tab or a form feed separates words but does not end one, as
 * in Redis. */
static bool ends_word(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Both copy the inside of quotes, from the byte after the opening one. They return the position of
 * the closing one, or `end` if there is none. */
static const char *copy_double_quoted(const char *at, const char *end, char **to)
{
	while (at < end && *at != '"') {
		if (*at == '\\' && end - at >= 2)
			*(*to)++ = escape_read(at + 1, end, &at);
		else
			*(*to)++ = *at++;
	}
	return at;
}

static const char *copy_single_quoted(const char *at, const char *end, char **to)
{
	while (at < end && *at != '\'') {
		if (*at == '\\' && end - at >= 2 && at[1] == '\'')
			at++;
		*(*to)++ = *at++;
	}
	return at;
}

/* Words are slices of the line, except those with quotes, whose text is built in r->text. A closing
 * quote ends its word, so there is at most one quoted part, at the end: ab"c d" is one word of five
 * bytes. */
static enum error split_line(struct resp_request *r, const char *line, const char *end,
			     size_t max_args)
{
	const char *at = line;
	char *to = NULL;

	for (;;) {
		const char *word;
		char *copy;

		while (at < end && is_space(*at))
			at++;
		if (at == end)
			return NO_ERROR;
		if (r->argc == max_args)
			return BIG_COUNT;
		word = at;
		while (at < end && !ends_word(*at) && *at != '"' && *at != '\'')
			at++;
		if (at == end || ends_word(*at)) {
			add_arg(r, word, (size_t)(at - word));
			if (at < end)
				at++;
			continue;
		}
		if (to == NULL) {
			/* The copy is never longer than its source. */
			if (r->text_cap < (size_t)(end - line)) {
				r->text_cap = (size_t)(end - line);
				r->text = mem_realloc(r->text, r->text_cap);
			}
			to = r->text;
		}
		copy = to;
		memcpy(to, word, (size_t)(at - word));
		to += at - word;
		at = *at == '"' ? copy_double_quoted(at + 1, end, &to)
				: copy_single_quoted(at + 1, end, &to);
		if (at == end || (at + 1 < end && !is_space(at[1])))
			return BAD_QUOTES;
		at++;
		add_arg(r, copy, (size_t)(to - copy));
	}
}

static enum resp_status read_inline(struct resp_parser *p, const struct resp_limits *limits,
				    const char *base, size_t len, struct resp_request *r)
{
	const char *lf = find_line_end(p, '\n', limits->max_inline, base, len);
	const char *end = lf;
	enum error error;

	/* A TLS handshake may contain no line end, and its sender waits for an answer. */
	if (*base == TLS_HANDSHAKE)
		return fail(p, FOREIGN_TLS);
	if (lf == NULL)
		return len > limits->max_inline ? fail(p, LONG_INLINE) : RESP_NEED_MORE;
	if (end > base && end[-1] == '\r')
		end--;
	error = split_line(r, base, end, limits->max_args);
	if (error != NO_ERROR)
		return fail(p, error);
	return finish(p, r, (size_t)(lf - base) + 1);
}

/* ---- all of it ---- */

enum resp_status resp_parse(struct resp_parser *p, const struct resp_limits *limits,
			    const char *base, size_t len, struct resp_request *ret_request)
{
	enum resp_status status = RESP_REQUEST;

	assert(p->pos <= len || p->state == IN_ERROR); /* bytes do not disappear */
	ret_request->argc = 0;
	if (p->state == AT_START) {
		if (len == 0)
			return RESP_NEED_MORE;
		enter(p, *base == '*' ? IN_COUNT : IN_INLINE, 0);
	}
	if (p->state == IN_INLINE)
		status = read_inline(p, limits, base, len, ret_request);
	else if (p->state == IN_COUNT)
		status = read_count(p, limits, base, len);
	if (status == RESP_REQUEST && (p->state == IN_LENGTH || p->state == IN_BULK))
		status = read_args(p, limits, base, len, ret_request);
	if (p->state == IN_ERROR) {
		explain_error(p, ret_request);
		status = RESP_ERROR;
	}
	return status;
}
