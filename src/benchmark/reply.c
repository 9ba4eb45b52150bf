#include "benchmark/reply.h"

#include <string.h>

#include "util/num.h"

/* The header of a reply. */
struct header {
	enum reply_type type;
	int64_t number;
	struct qless_str text;
	size_t len; /* bytes of the line with its end */
};

static bool read_type(char c, enum reply_type *ret_type)
{
	switch (c) {
	case '+':
		*ret_type = REPLY_STATUS;
		return true;
	case '-':
		*ret_type = REPLY_ERROR;
		return true;
	case ':':
		*ret_type = REPLY_INTEGER;
		return true;
	case '$':
		*ret_type = REPLY_BULK;
		return true;
	case '*':
		*ret_type = REPLY_ARRAY;
		return true;
	default:
		return false;
	}
}

/* Returns 1 for a complete line, 0 for an incomplete one, and -1 if it is invalid. */
static int read_header(struct qless_str bytes, struct header *ret)
{
	const char *end;

	if (bytes.len == 0)
		return 0;
	if (!read_type(bytes.ptr[0], &ret->type))
		return -1;
	end = memchr(bytes.ptr, '\n', bytes.len);
	if (end == NULL)
		return bytes.len > REPLY_LINE_MAX ? -1 : 0;
	if (end - bytes.ptr < 2 || end[-1] != '\r')
		return -1;
	ret->len = (size_t)(end - bytes.ptr) + 1;
	ret->text = str_make(bytes.ptr + 1, ret->len - 3);
	ret->number = 0;
	if (ret->type == REPLY_STATUS || ret->type == REPLY_ERROR)
		return 1;
	if (!num_parse_i64(ret->text, &ret->number))
		return -1;
	if (ret->type == REPLY_INTEGER)
		return 1;
	if (ret->number < -1 ||
	    ret->number > (ret->type == REPLY_BULK ? REPLY_BULK_MAX : REPLY_ARRAY_MAX))
		return -1;
	if (ret->number == -1)
		ret->type = REPLY_NULL;
	return 1;
}

ptrdiff_t reply_scan(struct qless_str bytes, struct reply *ret_reply)
{
	struct reply reply = { .type = REPLY_NULL };
	uint64_t open = 1; /* replies still to come, also elements of arrays */
	size_t at = 0, inside = 0;
	bool is_first = true;

	while (open != 0) {
		struct header header;
		int rc = read_header(str_make(bytes.ptr + at, bytes.len - at), &header);

		if (rc <= 0)
			return rc;
		at += header.len;
		open--;
		if (header.type == REPLY_BULK) {
			size_t len = (size_t)header.number;

			if (bytes.len - at < len + 2)
				return 0;
			header.text = str_make(bytes.ptr + at, len);
			at += len + 2;
		} else if (header.type == REPLY_ARRAY) {
			open += (uint64_t)header.number;
		}
		if (header.type == REPLY_ERROR && reply.error.len == 0)
			reply.error = header.text;
		if (is_first) {
			reply.type = header.type;
			reply.integer = header.number;
			reply.text = header.text;
			inside = at;
			is_first = false;
		}
	}
	if (reply.type == REPLY_ARRAY)
		reply.text = str_make(bytes.ptr + inside, at - inside);
	*ret_reply = reply;
	return (ptrdiff_t)at;
}

bool reply_next(struct qless_str *rest, struct reply *ret_reply)
{
	ptrdiff_t len = reply_scan(*rest, ret_reply);

	if (len <= 0)
		return false;
	*rest = str_make(rest->ptr + len, rest->len - (size_t)len);
	return true;
}
