#include "client/client_reply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"
#include "util/num.h"

bool client_reply_has_code(const struct client_reply *r, const char *code)
{
	size_t len = strlen(code);

	return r->type == CLIENT_REPLY_ERROR && r->len >= len && memcmp(r->ptr, code, len) == 0 &&
	       (r->len == len || r->ptr[len] == ' ');
}

void client_reply_done(struct client_reply *r)
{
	/* At most CLIENT_REPLY_DEPTH_MAX levels. */
	for (size_t i = 0; i < r->count; i++)
		client_reply_done(&r->elements[i]); /* NOLINT(misc-no-recursion): bounded */
	free(r->elements);
	free(r->ptr);
	*r = (struct client_reply){ .type = CLIENT_REPLY_NULL };
}

void client_reply_parser_init(struct client_reply_parser *p)
{
	*p = (struct client_reply_parser){ .depth = 0 };
}

void client_reply_parser_done(struct client_reply_parser *p)
{
	client_reply_done(&p->root);
	client_reply_parser_init(p);
}

/* Returns where the next value goes: the root, or a new element of the array that is arriving. */
static struct client_reply *next_place(struct client_reply_parser *p)
{
	struct client_reply *at = &p->root;

	if (p->depth == 0)
		return at;
	for (unsigned i = 1; i < p->depth; i++)
		at = &at->elements[at->count - 1];
	at->elements = mem_grow(at->elements, &at->cap, at->count + 1, sizeof *at->elements);
	assert(p->left[p->depth - 1] > 0);
	p->left[p->depth - 1]--;
	at = &at->elements[at->count++];
	*at = (struct client_reply){ .type = CLIENT_REPLY_NULL };
	return at;
}

static bool refuse(struct client_reply_parser *p, const char *error)
{
	p->error = error;
	return false;
}

static struct client_reply *put_text(struct client_reply_parser *p, enum client_reply_type type,
				     struct qless_str text)
{
	struct client_reply *r = next_place(p);

	r->type = type;
	r->ptr = mem_dup(text.ptr, text.len);
	r->len = text.len;
	return r;
}

static bool put_integer(struct client_reply_parser *p, struct qless_str text)
{
	struct client_reply *r;
	int64_t value;

	if (!num_parse_i64(text, &value))
		return refuse(p, "an integer is invalid");
	r = put_text(p, CLIENT_REPLY_INTEGER, text);
	r->integer = value;
	r->number = (double)value;
	return true;
}

static bool put_double(struct client_reply_parser *p, struct qless_str text)
{
	double value;

	if (!num_parse_lua(text, &value))
		return refuse(p, "a number is invalid");
	put_text(p, CLIENT_REPLY_DOUBLE, text)->number = value;
	return true;
}

static bool put_bool(struct client_reply_parser *p, struct qless_str text)
{
	struct client_reply *r;

	if (text.len != 1 || (text.ptr[0] != 't' && text.ptr[0] != 'f'))
		return refuse(p, "a boolean is invalid");
	r = next_place(p);
	r->type = CLIENT_REPLY_BOOL;
	r->integer = text.ptr[0] == 't';
	return true;
}

static bool begin_bulk(struct client_reply_parser *p, char kind, struct qless_str text)
{
	uint64_t len;

	if (str_equal(text, STR("-1"))) {
		next_place(p)->type = CLIENT_REPLY_NULL;
		return true;
	}
	if (!num_parse_u64(text, 0, CLIENT_REPLY_STRING_MAX, &len))
		return refuse(p, "the length of a string is invalid");
	p->in_bulk = true;
	p->is_verbatim = kind == '=';
	p->bulk_type = kind == '!' ? CLIENT_REPLY_ERROR : CLIENT_REPLY_STRING;
	p->bulk_len = (size_t)len;
	return true;
}

static bool begin_array(struct client_reply_parser *p, char kind, struct qless_str text)
{
	uint64_t count;
	struct client_reply *r;

	if (str_equal(text, STR("-1"))) {
		next_place(p)->type = CLIENT_REPLY_NULL;
		return true;
	}
	if (!num_parse_u64(text, 0, UINT32_MAX, &count))
		return refuse(p, "the length of an array is invalid");
	if (p->depth == CLIENT_REPLY_DEPTH_MAX)
		return refuse(p, "arrays are nested too deeply");
	r = next_place(p);
	r->type = kind == '%'	? CLIENT_REPLY_MAP
		  : kind == '>' ? CLIENT_REPLY_PUSH
				: CLIENT_REPLY_ARRAY;
	p->left[p->depth++] = kind == '%' ? 2 * count : count;
	return true;
}

static bool take_line(struct client_reply_parser *p, struct qless_str line)
{
	struct qless_str text;

	if (line.len == 0)
		return refuse(p, "a line is empty");
	text = str_make(line.ptr + 1, line.len - 1);
	switch (line.ptr[0]) {
	case '+':
		put_text(p, CLIENT_REPLY_STRING, text);
		return true;
	case '-':
		put_text(p, CLIENT_REPLY_ERROR, text);
		return true;
	case ':':
		return put_integer(p, text);
	case ',':
		return put_double(p, text);
	case '(':
		put_text(p, CLIENT_REPLY_STRING, text);
		return true;
	case '#':
		return put_bool(p, text);
	case '_':
		next_place(p)->type = CLIENT_REPLY_NULL;
		return true;
	case '$':
	case '=':
	case '!':
		return begin_bulk(p, line.ptr[0], text);
	case '*':
	case '~':
	case '%':
	case '>':
		return begin_array(p, line.ptr[0], text);
	default:
		return refuse(p, "a value has an unknown type");
	}
}

/* Returns false if the line has not arrived or is invalid. */
static bool read_line(struct client_reply_parser *p, struct buf *in)
{
	struct qless_str all = buf_str(in);
	const char *lf = memchr(all.ptr + p->scanned, '\n', all.len - p->scanned);
	size_t len = lf != NULL ? (size_t)(lf - all.ptr) : all.len;

	if (len > CLIENT_REPLY_LINE_MAX)
		return refuse(p, "a line is too long");
	if (lf == NULL) {
		p->scanned = len;
		return false;
	}
	p->scanned = 0;
	if (len == 0 || all.ptr[len - 1] != '\r')
		return refuse(p, "a line does not end in CR LF");
	if (!take_line(p, str_make(all.ptr, len - 1)))
		return false;
	buf_consume(in, len + 1);
	return true;
}

static bool read_bulk(struct client_reply_parser *p, struct buf *in)
{
	struct qless_str all = buf_str(in);
	struct qless_str text = str_make(all.ptr, p->bulk_len);

	if (all.len < p->bulk_len + 2)
		return false;
	if (memcmp(all.ptr + p->bulk_len, "\r\n", 2) != 0)
		return refuse(p, "a string does not end in CR LF");
	/* The format of a verbatim string has three letters and a colon. */
	if (p->is_verbatim && text.len >= 4)
		text = str_make(text.ptr + 4, text.len - 4);
	put_text(p, p->bulk_type, text);
	buf_consume(in, p->bulk_len + 2);
	p->in_bulk = false;
	return true;
}

enum client_reply_status client_reply_parse(struct client_reply_parser *p, struct buf *in,
					    struct client_reply *ret_reply)
{
	if (p->error != NULL)
		return CLIENT_REPLY_INVALID;
	while (p->in_bulk ? read_bulk(p, in) : read_line(p, in)) {
		if (p->in_bulk)
			continue;
		while (p->depth > 0 && p->left[p->depth - 1] == 0)
			p->depth--;
		if (p->depth > 0)
			continue;
		*ret_reply = p->root;
		p->root = (struct client_reply){ .type = CLIENT_REPLY_NULL };
		return CLIENT_REPLY_WHOLE;
	}
	return p->error != NULL ? CLIENT_REPLY_INVALID : CLIENT_REPLY_MORE;
}
