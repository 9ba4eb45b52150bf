#include "client/client_reply.h"

#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

static struct client_reply_parser parser;
static struct buf in;
static struct client_reply reply;

void setUp(void)
{
	client_reply_parser_init(&parser);
	buf_init(&in, BUF_NO_MAX);
}

void tearDown(void)
{
	client_reply_parser_done(&parser);
	client_reply_done(&reply);
	buf_done(&in);
}

/* Appends a reply in a notation of its own, which the cases compare with. */
static void describe(const struct client_reply *r, struct buf *out)
{
	static const char *const opening[] = {
		[CLIENT_REPLY_ARRAY] = "[", [CLIENT_REPLY_MAP] = "{", [CLIENT_REPLY_PUSH] = ">"
	};

	switch (r->type) {
	case CLIENT_REPLY_NULL:
		buf_printf(out, "null ");
		return;
	case CLIENT_REPLY_STRING:
		buf_printf(out, "'%.*s' ", (int)r->len, r->ptr);
		return;
	case CLIENT_REPLY_ERROR:
		buf_printf(out, "!%.*s ", (int)r->len, r->ptr);
		return;
	case CLIENT_REPLY_INTEGER:
		buf_printf(out, "%lld ", (long long)r->integer);
		return;
	case CLIENT_REPLY_DOUBLE:
		buf_printf(out, "%g ", r->number);
		return;
	case CLIENT_REPLY_BOOL:
		buf_printf(out, "%s ", r->integer != 0 ? "true" : "false");
		return;
	case CLIENT_REPLY_ARRAY:
	case CLIENT_REPLY_MAP:
	case CLIENT_REPLY_PUSH:
		break;
	}
	buf_printf(out, "%s ", opening[r->type]);
	for (size_t i = 0; i < r->count; i++)
		describe(&r->elements[i], out);
	buf_printf(out, "] ");
}

/* Feeds the bytes in pieces of a size, and compares what comes out. */
static void assert_parsed_in_pieces(const char *expected, struct qless_str bytes, size_t piece)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);

	for (size_t at = 0; at < bytes.len; at += piece) {
		size_t len = bytes.len - at < piece ? bytes.len - at : piece;
		enum client_reply_status status;

		buf_append(&in, bytes.ptr + at, len);
		while ((status = client_reply_parse(&parser, &in, &reply)) == CLIENT_REPLY_WHOLE) {
			describe(&reply, &out);
			client_reply_done(&reply);
		}
		if (status == CLIENT_REPLY_INVALID) {
			buf_printf(&out, "invalid: %s", parser.error);
			break;
		}
	}
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&out));
	buf_done(&out);
	tearDown();
	setUp();
}

/* Any division into pieces gives the same replies. */
static void assert_parsed(const char *expected, const char *bytes)
{
	for (size_t piece = 1; piece <= strlen(bytes); piece++)
		assert_parsed_in_pieces(expected, str_from(bytes), piece);
}

static void values_of_resp2_are_read(void)
{
	assert_parsed("'OK' ", "+OK\r\n");
	assert_parsed("!ERR no ", "-ERR no\r\n");
	assert_parsed("-12 ", ":-12\r\n");
	assert_parsed("'a\r\nb' ", "$4\r\na\r\nb\r\n");
	assert_parsed("'' null null [ ] ", "$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n");
	assert_parsed("[ 'a' [ 1 null ] 'b' ] 'next' ",
		      "*3\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n$1\r\nb\r\n+next\r\n");
}

static void values_of_resp3_are_read(void)
{
	assert_parsed("null true false 1.5 inf '123' ",
		      "_\r\n#t\r\n#f\r\n,1.5\r\n,inf\r\n(123\r\n");
	assert_parsed("{ 'a' 1 'b' [ ] ] ", "%2\r\n+a\r\n:1\r\n+b\r\n~0\r\n");
	assert_parsed("> 'message' 'x' ] 'text' !SYNTAX bad ",
		      ">2\r\n+message\r\n+x\r\n=8\r\ntxt:text\r\n!10\r\nSYNTAX bad\r\n");
}

static void a_string_keeps_every_byte(void)
{
	buf_append_str(&in, STR("$3\r\n\0\xff\n\r\n"));
	TEST_ASSERT_EQUAL_INT(CLIENT_REPLY_WHOLE, client_reply_parse(&parser, &in, &reply));
	ASSERT_STR("\0\xff\n", client_reply_str(&reply));
	TEST_ASSERT_EQUAL_size_t(0, in.len);
}

static void bytes_that_are_no_replies_are_refused(void)
{
	assert_parsed("invalid: a value has an unknown type", "HTTP/1.1 400 Bad Request\r\n");
	assert_parsed("invalid: a line does not end in CR LF", "+OK\n");
	assert_parsed("invalid: a line is empty", "\r\n");
	assert_parsed("invalid: an integer is invalid", ":1x\r\n");
	assert_parsed("invalid: a number is invalid", ",x\r\n");
	assert_parsed("invalid: a boolean is invalid", "#true\r\n");
	assert_parsed("invalid: the length of a string is invalid", "$99999999999\r\n");
	assert_parsed("invalid: the length of a string is invalid", "$-2\r\n");
	assert_parsed("invalid: the length of an array is invalid", "*99999999999\r\n");
	assert_parsed("invalid: a string does not end in CR LF", "$1\r\nabc\r\n");
}

static void nesting_is_limited(void)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i <= CLIENT_REPLY_DEPTH_MAX; i++)
		buf_printf(&bytes, "*1\r\n");
	assert_parsed_in_pieces("invalid: arrays are nested too deeply", buf_str(&bytes), 7);
	buf_done(&bytes);
}

static void a_line_is_limited(void)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);

	for (size_t i = 0; i < CLIENT_REPLY_LINE_MAX + 2; i++)
		buf_append_char(&bytes, '+');
	assert_parsed_in_pieces("invalid: a line is too long", buf_str(&bytes), 1000);
	buf_done(&bytes);
}

static void an_announced_array_takes_no_memory(void)
{
	buf_append_str(&in, STR("*4000000000\r\n:1\r\n"));
	TEST_ASSERT_EQUAL_INT(CLIENT_REPLY_MORE, client_reply_parse(&parser, &in, &reply));
	TEST_ASSERT_TRUE(parser.root.cap < 100);
}

static void the_code_of_an_error_is_its_first_word(void)
{
	buf_append_str(&in, STR("-NOAUTH Authentication required.\r\n"));
	TEST_ASSERT_EQUAL_INT(CLIENT_REPLY_WHOLE, client_reply_parse(&parser, &in, &reply));
	TEST_ASSERT_TRUE(client_reply_has_code(&reply, "NOAUTH"));
	TEST_ASSERT_FALSE(client_reply_has_code(&reply, "NO"));
	TEST_ASSERT_FALSE(client_reply_has_code(&reply, "NOAUTHX"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(values_of_resp2_are_read);
	RUN(values_of_resp3_are_read);
	RUN(a_string_keeps_every_byte);
	RUN(bytes_that_are_no_replies_are_refused);
	RUN(nesting_is_limited);
	RUN(a_line_is_limited);
	RUN(an_announced_array_takes_no_memory);
	RUN(the_code_of_an_error_is_its_first_word);
	return UNIT_RESULT();
}
