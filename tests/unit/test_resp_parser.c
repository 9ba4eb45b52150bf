#include "resp/parser.h"

#include "unit.h"
#include "util/buf.h"
#include "util/mem.h"

static struct resp_limits limits;
static struct resp_parser parser;
static struct resp_request request;

void setUp(void)
{
	limits = (struct resp_limits)RESP_LIMITS_DEFAULT;
	resp_parser_init(&parser);
	resp_request_init(&request);
}

void tearDown(void)
{
	resp_request_done(&request);
}

/* ---- a connection, as a server would have it ---- */

/* The results of a stream as text: [3:SET,1:k] for a request, !text for an error. */
struct transcript {
	struct buf text;
	size_t requests;
	bool failed;
};

/* Bytes that were not consumed yet, in a block of exactly their size. Each delivery moves them to
 * another block, so that a sanitizer sees a parser that keeps an address or reads past the end. */
struct inbox {
	char *bytes;
	size_t len;
};

static void note_request(struct transcript *t, const struct resp_request *r)
{
	buf_append_char(&t->text, '[');
	for (size_t i = 0; i < r->argc; i++) {
		buf_printf(&t->text, "%s%zu:", i != 0 ? "," : "", r->argv[i].len);
		buf_append_str(&t->text, r->argv[i]);
	}
	buf_append_char(&t->text, ']');
	t->requests++;
}

static void deliver(struct inbox *in, struct qless_str piece, struct transcript *t)
{
	enum resp_status status = RESP_NEED_MORE;
	char *bytes = mem_alloc(in->len + piece.len);
	size_t at = 0;

	if (in->len != 0)
		memcpy(bytes, in->bytes, in->len);
	if (piece.len != 0)
		memcpy(bytes + in->len, piece.ptr, piece.len);
	free(in->bytes);
	in->bytes = bytes;
	in->len += piece.len;

	while (!t->failed) {
		status = resp_parse(&parser, &limits, in->bytes + at, in->len - at, &request);
		if (status == RESP_REQUEST) {
			TEST_ASSERT_TRUE(request.consumed != 0);
			TEST_ASSERT_TRUE(request.consumed <= in->len - at);
			note_request(t, &request);
			at += request.consumed;
		} else if (status == RESP_ERROR) {
			buf_printf(&t->text, "!%s", request.error);
			t->failed = true;
		} else {
			break;
		}
	}
	in->len -= at;
	memmove(in->bytes, in->bytes + at, in->len);
	in->bytes = mem_realloc(in->bytes, in->len);
}

static void start_transcript(struct transcript *t, struct inbox *in)
{
	*t = (struct transcript){ .text = BUF_INIT(BUF_NO_MAX) };
	*in = (struct inbox){ 0 };
	resp_parser_init(&parser);
}

/* Pieces of random size up to `max_piece`, or one piece if that is 0. */
static void read_in_pieces(struct qless_str stream, size_t max_piece, unsigned long long seed,
			   struct transcript *ret_t)
{
	struct inbox in;

	start_transcript(ret_t, &in);
	while (stream.len != 0) {
		size_t len = max_piece != 0 ? 1 + unit_random(&seed) % max_piece : stream.len;

		if (len > stream.len)
			len = stream.len;
		deliver(&in, str_make(stream.ptr, len), ret_t);
		stream.ptr += len;
		stream.len -= len;
	}
	free(in.bytes);
}

static void assert_transcript(struct qless_str expected, const struct transcript *t)
{
	struct qless_str actual = buf_str(&t->text);

	TEST_ASSERT_EQUAL_size_t(expected.len, actual.len);
	if (expected.len != 0)
		TEST_ASSERT_EQUAL_MEMORY(expected.ptr, actual.ptr, expected.len);
}

/* The stream gives this in one piece, cut in two at every place, and byte by byte. */
static void assert_reads(struct qless_str stream, struct qless_str expected)
{
	struct transcript t;
	struct inbox in;

	for (size_t cut = 1; cut <= stream.len; cut++) {
		start_transcript(&t, &in);
		deliver(&in, str_make(stream.ptr, cut), &t);
		deliver(&in, str_make(stream.ptr + cut, stream.len - cut), &t);
		free(in.bytes);
		assert_transcript(expected, &t);
		buf_done(&t.text);
	}
	read_in_pieces(stream, 1, 0, &t);
	assert_transcript(expected, &t);
	buf_done(&t.text);
}

#define READS(stream, expected) assert_reads(STR(stream), STR(expected))

/* ---- arrays ---- */

static void an_array_of_bulk_strings_is_a_request(void)
{
	READS("*1\r\n$4\r\nPING\r\n", "[4:PING]");
	READS("*3\r\n$3\r\nSET\r\n$5\r\nhello\r\n$12\r\nhello, world\r\n",
	      "[3:SET,5:hello,12:hello, world]");
}

static void arguments_may_be_empty_and_hold_any_byte(void)
{
	READS("*2\r\n$0\r\n\r\n$7\r\n\r\n$1\0\r\n\r\n", "[0:,7:\r\n$1\0\r\n]");
	READS("*1\r\n$2\r\n\xff\x80\r\n", "[2:\xff\x80]");
}

static void arguments_are_not_copied(void)
{
	static const char bytes[] = "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n";

	TEST_ASSERT_EQUAL_INT(RESP_REQUEST,
			      resp_parse(&parser, &limits, bytes, sizeof bytes - 1, &request));
	TEST_ASSERT_EQUAL_PTR(bytes + 8, request.argv[0].ptr);
	TEST_ASSERT_EQUAL_PTR(bytes + 18, request.argv[1].ptr);
	TEST_ASSERT_EQUAL_size_t(sizeof bytes - 1, request.consumed);
}

static void an_empty_array_is_a_request_without_arguments(void)
{
	READS("*0\r\n", "[]");
	READS("*-1\r\n*-17\r\n*1\r\n$1\r\nx\r\n", "[][][1:x]");
}

static void requests_follow_each_other_without_a_gap(void)
{
	READS("*1\r\n$1\r\na\r\nb c\r\n\n*2\r\n$1\r\nd\r\n$10\r\n0123456789\r\n*0\r\ne\n",
	      "[1:a][1:b,1:c][][1:d,10:0123456789][][1:e]");
}

static void a_long_pipeline_needs_no_more_memory_than_one_request(void)
{
	struct buf stream = BUF_INIT(BUF_NO_MAX);
	size_t at = 0, count = 0;

	for (int i = 0; i < 100000; i++)
		buf_append_str(&stream, STR("*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n"));
	while (resp_parse(&parser, &limits, buf_data(&stream) + at, stream.len - at, &request) ==
	       RESP_REQUEST) {
		TEST_ASSERT_EQUAL_size_t(2, request.argc);
		at += request.consumed;
		count++;
	}
	TEST_ASSERT_EQUAL_size_t(100000, count);
	TEST_ASSERT_EQUAL_size_t(stream.len, at);
	TEST_ASSERT_TRUE(request.argv_cap <= 16);
	buf_done(&stream);
}

static void one_request_object_serves_many_parsers(void)
{
	static const char stream[] = "*2\r\n$1\r\na\r\n$2\r\nbc\r\n";
	struct resp_parser parsers[sizeof stream - 1];

	for (size_t i = 0; i < sizeof stream - 1; i++) {
		resp_parser_init(&parsers[i]);
		TEST_ASSERT_EQUAL_INT(RESP_NEED_MORE,
				      resp_parse(&parsers[i], &limits, stream, i, &request));
	}
	for (size_t i = 0; i < sizeof stream - 1; i++) {
		TEST_ASSERT_EQUAL_INT(RESP_REQUEST, resp_parse(&parsers[i], &limits, stream,
							       sizeof stream - 1, &request));
		TEST_ASSERT_EQUAL_size_t(2, request.argc);
		ASSERT_STR("a", request.argv[0]);
		ASSERT_STR("bc", request.argv[1]);
	}
}

/* ---- inline commands ---- */

static void a_line_is_split_into_words(void)
{
	READS("PING\r\n", "[4:PING]");
	READS("PING\n", "[4:PING]");
	READS("  SET\tk   v  \r\n", "[3:SET,1:k,1:v]");
	READS("a\rb\r\r\n", "[1:a,1:b]");
	READS("\va\vb\f c\n", "[4:a\vb\f,1:c]");
	READS("a\0b $3 *\n", "[3:a\0b,2:$3,1:*]");
}

static void an_empty_line_is_a_request_without_arguments(void)
{
	READS("\r\n", "[]");
	READS("\n \t \r\nx\n", "[][][1:x]");
}

static void words_may_be_quoted(void)
{
	READS("a \"\" '' \"b c\" 'd e'\n", "[1:a,0:,0:,3:b c,3:d e]");
	READS("ab\"c d\" e'f g'\n", "[5:abc d,4:ef g]");
	READS("\"it's\" 'say \"hi\"'\r\n", "[4:it's,8:say \"hi\"]");
	READS("\"x\"\v'y'\n", "[1:x,1:y]");
}

static void double_quotes_have_escapes(void)
{
	READS("\"\\n\\r\\t\\b\\a\\\\\\\"\\q\"\n", "[8:\n\r\t\b\a\\\"q]");
	READS("\"\\x00\\xfF\\x4a\"\n", "[3:\0\xffJ]");
	READS("\"\\xg0\\x4\"\n", "[5:xg0x4]");
}

static void single_quotes_escape_only_themselves(void)
{
	READS("'\\'\\n\\x41\\\\ '\n", "[10:'\\n\\x41\\\\ ]");
}

static void http_is_parsed_as_words(void)
{
	READS("POST / HTTP/1.1\r\nHost: localhost:6379\r\n\r\n",
	      "[4:POST,1:/,8:HTTP/1.1][5:Host:,14:localhost:6379][]");
}

static void unbalanced_quotes_are_refused(void)
{
	static const char *const lines[] = {
		"\"\n", "'\r\n", "a \"b\n", "\"a\"b\n", "'a'b\n", "\"a\\\"\n", "'a\\'\n", "\"a\\\n",
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_reads(str_from(lines[i]),
			     STR("!Protocol error: unbalanced quotes in request"));
}

/* ---- errors ---- */

static void a_tls_handshake_is_refused_at_its_first_byte(void)
{
	READS("\x16", "!Protocol error: this is TLS, for which there is the tls-port");
	READS("PING\r\n\x16\x03\x01",
	      "[4:PING]!Protocol error: this is TLS, for which there is the "
	      "tls-port");
}

static void a_count_has_one_spelling(void)
{
	static const char *const headers[] = {
		"*\r\n",
		"*x\r\n",
		"*1x\r\n",
		"*-\r\n",
		"*--1\r\n",
		"*-0\r\n",
		"*+1\r\n",
		"*00\r\n",
		"*01\r\n",
		"* 1\r\n",
		"*1 \r\n",
		"*1\rx",
		"*\r\r\n\n",
		"*9223372036854775808\r\n",
		"*-9223372036854775809\r\n",
		"*99999999999999999999999\r\n",
		"*0x1\r\n",
	};

	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		assert_reads(str_from(headers[i]),
			     STR("!Protocol error: invalid multibulk length"));
	READS("*-9223372036854775808\r\n", "[]");
}

static void a_length_has_one_spelling(void)
{
	static const char *const headers[] = {
		"*1\r\n$\r\n",	 "*1\r\n$x\r\n",
		"*1\r\n$-1\r\n", "*1\r\n$-0\r\n",
		"*1\r\n$01\r\n", "*1\r\n$+1\r\n",
		"*1\r\n$1\rx",	 "*1\r\n$99999999999999999999999\r\n",
	};

	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		assert_reads(str_from(headers[i]), STR("!Protocol error: invalid bulk length"));
}

static void only_bulk_strings_are_arguments(void)
{
	READS("*1\r\n:1\r\n", "!Protocol error: expected '$', got ':'");
	READS("*2\r\n$1\r\na\r\n*0\r\n", "!Protocol error: expected '$', got '*'");
	READS("*1\r\n\r\n", "!Protocol error: expected '$', got '\\x0d'");
	READS("*1\r\n\xff", "!Protocol error: expected '$', got '\\xff'");
}

static void a_bulk_string_must_end_at_its_length(void)
{
	READS("*1\r\n$4\r\nPINGS\r\n", "!Protocol error: expected CRLF after bulk");
	READS("*1\r\n$4\r\nPING\n\n", "!Protocol error: expected CRLF after bulk");
	READS("*1\r\n$4\r\nPING\r\r", "!Protocol error: expected CRLF after bulk");
}

static void requests_before_an_error_are_returned(void)
{
	READS("PING\n*1\r\n$1\r\nx\r\n*1\r\n!",
	      "[4:PING][1:x]!Protocol error: expected '$', got '!'");
}

static void an_error_is_permanent(void)
{
	struct qless_str good = STR("PING\r\n");

	TEST_ASSERT_EQUAL_INT(RESP_ERROR, resp_parse(&parser, &limits, "*x\r\n", 4, &request));
	for (int i = 0; i < 3; i++) {
		request.error = NULL;
		TEST_ASSERT_EQUAL_INT(RESP_ERROR,
				      resp_parse(&parser, &limits, good.ptr, good.len, &request));
		TEST_ASSERT_EQUAL_STRING("Protocol error: invalid multibulk length", request.error);
	}
	resp_parser_init(&parser);
	TEST_ASSERT_EQUAL_INT(RESP_REQUEST,
			      resp_parse(&parser, &limits, good.ptr, good.len, &request));
}

/* ---- limits ---- */

#define BIG_COUNT  "!Protocol error: invalid multibulk length: over client-max-arguments"
#define BIG_LENGTH "!Protocol error: invalid bulk length: over proto-max-bulk-len"

static void the_largest_request_is_limited(void)
{
	READS("*1048577\r\n", BIG_COUNT);
	READS("*1\r\n$536870913\r\n", BIG_LENGTH);
}

static void bulk_length_is_limited(void)
{
	limits.max_bulk = 12;
	READS("*1\r\n$12\r\n0123456789ab\r\n", "[12:0123456789ab]");
	READS("*1\r\n$13\r\n", BIG_LENGTH);
	READS("*1\r\n$9223372036854775807\r\n", BIG_LENGTH);
}

static void argument_count_is_limited(void)
{
	limits.max_args = 2;
	READS("*2\r\n$1\r\na\r\n$1\r\nb\r\n", "[1:a,1:b]");
	READS("*3\r\n", BIG_COUNT);
	READS("a b\n", "[1:a,1:b]");
	READS("a b c\n", BIG_COUNT);
}

static void line_length_is_limited_wherever_the_line_was_cut(void)
{
	limits.max_inline = 8;
	READS("12345678\n1234567\r\n", "[8:12345678][7:1234567]");
	READS("123456789", "!Protocol error: too big inline request");
	READS("12345678\r\n", "!Protocol error: too big inline request");
	READS("*xxxxxxx\r\n", "!Protocol error: invalid multibulk length");
	READS("*xxxxxxxx\r\n", "!Protocol error: too big mbulk count string");
	READS("*1\r\n$xxxxxxx\r\n", "!Protocol error: invalid bulk length");
	READS("*1\r\n$xxxxxxxx\r\n", "!Protocol error: too big bulk count string");
	limits.max_inline = 3;
	READS("*1\r\n$10\r\n0123456789\r\n", "[10:0123456789]");
	READS("*1\r\n$100\r\n", "!Protocol error: too big bulk count string");
}

static void request_length_is_limited(void)
{
	limits.max_request = 22;
	READS("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", "[4:ECHO,2:hi]");
	READS("*2\r\n$4\r\nECHO\r\n$3\r\n", "!Protocol error: too big request");
	READS("*1\r\n$13\r\n", "!Protocol error: too big request");
	READS("*4\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n", "!Protocol error: too big request");
}

static void limits_are_tighter_before_authentication(void)
{
	struct buf stream = BUF_INIT(BUF_NO_MAX);
	struct transcript t;

	limits.unauthenticated = true;
	READS("*11\r\n", "!Protocol error: unauthenticated multibulk length");
	READS("*1\r\n$16385\r\n", "!Protocol error: unauthenticated bulk length");

	buf_append_str(&stream, STR("*10\r\n$16384\r\n"));
	for (int i = 0; i < 16384; i++)
		buf_append_char(&stream, 'x');
	for (int i = 0; i < 9; i++)
		buf_append_str(&stream, STR("\r\n$1\r\ny"));
	buf_append_str(&stream, STR("\r\n"));
	read_in_pieces(buf_str(&stream), 0, 0, &t);
	TEST_ASSERT_EQUAL_size_t(1, t.requests);
	TEST_ASSERT_FALSE(t.failed);
	buf_done(&t.text);
	buf_done(&stream);
}

static void new_limits_apply_from_the_next_header(void)
{
	struct qless_str stream = STR("*12\r\n$1\r\na\r\n");

	TEST_ASSERT_EQUAL_INT(RESP_NEED_MORE,
			      resp_parse(&parser, &limits, stream.ptr, stream.len, &request));
	limits.unauthenticated = true;
	limits.max_bulk = 0;
	TEST_ASSERT_EQUAL_INT(RESP_NEED_MORE,
			      resp_parse(&parser, &limits, stream.ptr, stream.len, &request));
	stream = STR("*12\r\n$1\r\na\r\n$1\r\n");
	TEST_ASSERT_EQUAL_INT(RESP_ERROR,
			      resp_parse(&parser, &limits, stream.ptr, stream.len, &request));
	TEST_ASSERT_EQUAL_STRING("Protocol error: invalid bulk length: over proto-max-bulk-len",
				 request.error);
}

/* ---- what it costs ---- */

static void announced_arguments_allocate_nothing(void)
{
	struct qless_str count = STR("*1048576\r\n");
	struct qless_str length = STR("*1048576\r\n$536870912\r\nabc");

	TEST_ASSERT_EQUAL_INT(RESP_NEED_MORE,
			      resp_parse(&parser, &limits, count.ptr, count.len, &request));
	TEST_ASSERT_EQUAL_INT(RESP_NEED_MORE,
			      resp_parse(&parser, &limits, length.ptr, length.len, &request));
	TEST_ASSERT_EQUAL_size_t(0, request.argv_cap);
	TEST_ASSERT_EQUAL_size_t(0, request.text_cap);
	TEST_ASSERT_EQUAL_size_t(RESP_WANTED_MIN, resp_parser_wanted(&parser, length.len));
}

static void arguments_take_memory_only_as_they_arrive(void)
{
	struct buf stream = BUF_INIT(BUF_NO_MAX);

	buf_append_str(&stream, STR("*1048576\r\n"));
	for (int i = 0; i < 20000; i++) {
		buf_append_str(&stream, STR("$0\r\n\r\n"));
		TEST_ASSERT_EQUAL_INT(
			RESP_NEED_MORE,
			resp_parse(&parser, &limits, buf_data(&stream), stream.len, &request));
		TEST_ASSERT_TRUE(request.argv_cap <= 16);
	}
	resp_parser_init(&parser);
	TEST_ASSERT_EQUAL_INT(RESP_NEED_MORE, resp_parse(&parser, &limits, buf_data(&stream),
							 stream.len, &request));
	TEST_ASSERT_TRUE(request.argv_cap <= 2 * 20000);
	buf_done(&stream);
}

static void the_largest_request_is_read_in_one_piece_and_in_many(void)
{
	struct buf stream = BUF_INIT(BUF_NO_MAX);
	size_t len = 0;

	buf_append_str(&stream, STR("*1048576\r\n"));
	for (size_t i = 0; i < RESP_MAX_ARGS; i++)
		buf_append_str(&stream, STR("$1\r\nx\r\n"));
	TEST_ASSERT_EQUAL_INT(RESP_REQUEST, resp_parse(&parser, &limits, buf_data(&stream),
						       stream.len, &request));
	TEST_ASSERT_EQUAL_size_t(RESP_MAX_ARGS, request.argc);
	resp_request_trim(&request);
	TEST_ASSERT_EQUAL_size_t(0, request.argv_cap);

	while (len < stream.len - 1) {
		len = len + 11 < stream.len - 1 ? len + 11 : stream.len - 1;
		TEST_ASSERT_EQUAL_INT(RESP_NEED_MORE, resp_parse(&parser, &limits,
								 buf_data(&stream), len, &request));
	}
	TEST_ASSERT_EQUAL_INT(RESP_REQUEST, resp_parse(&parser, &limits, buf_data(&stream),
						       stream.len, &request));
	TEST_ASSERT_EQUAL_size_t(RESP_MAX_ARGS, request.argc);
	TEST_ASSERT_EQUAL_PTR(buf_data(&stream) + stream.len - 3,
			      request.argv[RESP_MAX_ARGS - 1].ptr);
	buf_done(&stream);
}

/* Changes bytes that were read, and restores them only for the last call. */
static void assert_reads_once(struct qless_str head, size_t body_len, struct qless_str tail)
{
	struct buf stream = BUF_INIT(BUF_NO_MAX), copy = BUF_INIT(BUF_NO_MAX);
	char *bytes;

	buf_append_str(&stream, head);
	for (size_t i = 0; i < body_len; i++)
		buf_append_char(&stream, 'b');
	buf_append_str(&stream, tail);
	buf_append_str(&copy, buf_str(&stream));
	bytes = buf_data(&stream);
	resp_parser_init(&parser);
	for (size_t len = head.len; len < stream.len; len++) {
		TEST_ASSERT_EQUAL_INT(RESP_NEED_MORE,
				      resp_parse(&parser, &limits, bytes, len, &request));
		for (size_t i = len == head.len ? 0 : len - 1; i < len; i++)
			bytes[i] = '\n';
	}
	TEST_ASSERT_EQUAL_INT(RESP_REQUEST,
			      resp_parse(&parser, &limits, buf_data(&copy), copy.len, &request));
	TEST_ASSERT_EQUAL_size_t(2, request.argc);
	TEST_ASSERT_EQUAL_size_t(body_len, request.argv[1].len);
	buf_done(&copy);
	buf_done(&stream);
}

static void bytes_are_read_once_however_they_arrive(void)
{
	assert_reads_once(STR("*2\r\n$4\r\nECHO\r\n$1000000\r\n"), 1000000, STR("\r\n"));
	assert_reads_once(STR("ECHO "), 60000, STR("\n"));
}

static void trimming_keeps_the_usual_memory(void)
{
	struct qless_str stream = STR("a \"b\" c\n");
	struct qless_str *argv;

	TEST_ASSERT_EQUAL_INT(RESP_REQUEST,
			      resp_parse(&parser, &limits, stream.ptr, stream.len, &request));
	argv = request.argv;
	resp_request_trim(&request);
	TEST_ASSERT_EQUAL_PTR(argv, request.argv);
	TEST_ASSERT_TRUE(request.text_cap != 0);
	TEST_ASSERT_EQUAL_size_t(0, request.argc);
}

static void trimming_frees_the_memory_of_a_long_line(void)
{
	char line[40000];

	memset(line, ' ', sizeof line);
	for (size_t i = 0; i < sizeof line - 4; i += 4)
		memcpy(line + i, "'a' ", 4);
	line[sizeof line - 1] = '\n';
	TEST_ASSERT_EQUAL_INT(RESP_REQUEST,
			      resp_parse(&parser, &limits, line, sizeof line, &request));
	TEST_ASSERT_EQUAL_size_t(9999, request.argc);
	ASSERT_STR("a", request.argv[9998]);
	resp_request_trim(&request);
	TEST_ASSERT_EQUAL_size_t(0, request.argv_cap);
	TEST_ASSERT_EQUAL_size_t(0, request.text_cap);
}

static void wanted_is_the_missing_part_of_the_bulk_string_within_limits(void)
{
	struct qless_str stream = STR("*1\r\n$100\r\nabc");
	struct buf large = BUF_INIT(BUF_NO_MAX);

	TEST_ASSERT_EQUAL_size_t(1, resp_parser_wanted(&parser, 0));
	resp_parse(&parser, &limits, stream.ptr, 6, &request);
	TEST_ASSERT_EQUAL_size_t(1, resp_parser_wanted(&parser, 6));
	resp_parse(&parser, &limits, stream.ptr, stream.len, &request);
	TEST_ASSERT_EQUAL_size_t(99, resp_parser_wanted(&parser, stream.len));

	resp_parser_init(&parser);
	buf_append_str(&large, STR("*1\r\n$1000000\r\n"));
	while (large.len < 20000)
		buf_append_char(&large, 'x');
	resp_parse(&parser, &limits, buf_data(&large), large.len, &request);
	TEST_ASSERT_EQUAL_size_t(20000, resp_parser_wanted(&parser, large.len));
	buf_done(&large);
}

static void a_parser_is_idle_between_requests_only(void)
{
	struct qless_str stream = STR("*1\r\n$4\r\nPING\r\n");

	TEST_ASSERT_TRUE(resp_parser_is_idle(&parser));
	resp_parse(&parser, &limits, stream.ptr, 0, &request);
	TEST_ASSERT_TRUE(resp_parser_is_idle(&parser));
	for (size_t len = 1; len < stream.len; len++) {
		resp_parse(&parser, &limits, stream.ptr, len, &request);
		TEST_ASSERT_FALSE(resp_parser_is_idle(&parser));
	}
	resp_parse(&parser, &limits, stream.ptr, stream.len, &request);
	TEST_ASSERT_TRUE(resp_parser_is_idle(&parser));
}

/* ---- random streams ---- */

static void random_bytes(struct buf *b, size_t len, unsigned long long *state)
{
	while (len-- != 0)
		buf_append_char(b, (char)unit_random(state));
}

/* A random request as it is sent, and as note_request() notes it. */
static void make_request(struct buf *stream, struct buf *expected, unsigned long long *state)
{
	bool is_line = unit_random(state) % 4 == 0;
	size_t argc = unit_random(state) % 5, most = unit_random(state) % 16 != 0 ? 20 : 5000;

	if (!is_line)
		buf_printf(stream, "*%zu\r\n", argc);
	buf_append_char(expected, '[');
	for (size_t i = 0; i < argc; i++) {
		size_t len = is_line ? unit_random(state) % 20 : unit_random(state) % most;
		size_t start = expected->len;

		buf_printf(expected, "%s%zu:", i != 0 ? "," : "", len);
		start = expected->len;
		random_bytes(expected, len, state);
		if (is_line) {
			buf_append_str(stream, STR(" \""));
			for (size_t k = 0; k < len; k++)
				buf_printf(stream, "\\x%02x",
					   (unsigned char)buf_data(expected)[start + k]);
			buf_append_char(stream, '"');
		} else {
			buf_printf(stream, "$%zu\r\n", len);
			buf_append(stream, buf_data(expected) + start, len);
			buf_append_str(stream, STR("\r\n"));
		}
	}
	buf_append_char(expected, ']');
	if (is_line)
		buf_append_str(stream, STR("\r\n"));
}

static void random_pipelines_read_the_same_in_any_pieces(void)
{
	static const size_t max_pieces[] = { 0, 1, 2, 7, 100, 4000 };
	unsigned long long state = 7;

	for (int round = 0; round < 60; round++) {
		struct buf stream = BUF_INIT(BUF_NO_MAX);
		struct buf expected = BUF_INIT(BUF_NO_MAX);
		struct transcript t;

		for (unsigned long long n = unit_random(&state) % 20; n != 0; n--)
			make_request(&stream, &expected, &state);
		for (size_t i = 0; i < sizeof max_pieces / sizeof *max_pieces; i++) {
			read_in_pieces(buf_str(&stream), max_pieces[i], state, &t);
			assert_transcript(buf_str(&expected), &t);
			buf_done(&t.text);
		}
		buf_done(&stream);
		buf_done(&expected);
	}
}

/* Streams of pieces of the grammar, most of them invalid somewhere. */
static void random_nonsense_reads_the_same_in_any_pieces(void)
{
	static const char *const bits[] = {
		"*",	  "$",	  "1",	"2",  "3",	"0",	       "-",
		"\r\n",	  "\r\n", "\n", "\r", "\"",	"'",	       "\\",
		"x4",	  " ",	  "ab", "c",  "*1\r\n", "$1\r\na\r\n", "$2\r\nbc\r\n",
		"*2\r\n",
	};
	unsigned long long state = 11;

	limits.max_inline = 24;
	limits.max_args = 12;
	limits.max_bulk = 30;
	for (int round = 0; round < 20000; round++) {
		struct buf stream = BUF_INIT(BUF_NO_MAX);
		struct transcript whole, pieces;

		for (unsigned long long n = 1 + unit_random(&state) % 20; n != 0; n--)
			buf_append_str(
				&stream,
				str_from(bits[unit_random(&state) % (sizeof bits / sizeof *bits)]));
		read_in_pieces(buf_str(&stream), 0, 0, &whole);
		read_in_pieces(buf_str(&stream), 1 + state % 5, state, &pieces);
		assert_transcript(buf_str(&whole.text), &pieces);
		buf_done(&whole.text);
		buf_done(&pieces.text);
		buf_done(&stream);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_array_of_bulk_strings_is_a_request);
	RUN(arguments_may_be_empty_and_hold_any_byte);
	RUN(arguments_are_not_copied);
	RUN(an_empty_array_is_a_request_without_arguments);
	RUN(requests_follow_each_other_without_a_gap);
	RUN(a_long_pipeline_needs_no_more_memory_than_one_request);
	RUN(one_request_object_serves_many_parsers);
	RUN(a_line_is_split_into_words);
	RUN(an_empty_line_is_a_request_without_arguments);
	RUN(words_may_be_quoted);
	RUN(double_quotes_have_escapes);
	RUN(single_quotes_escape_only_themselves);
	RUN(http_is_parsed_as_words);
	RUN(unbalanced_quotes_are_refused);
	RUN(a_tls_handshake_is_refused_at_its_first_byte);
	RUN(a_count_has_one_spelling);
	RUN(a_length_has_one_spelling);
	RUN(only_bulk_strings_are_arguments);
	RUN(a_bulk_string_must_end_at_its_length);
	RUN(requests_before_an_error_are_returned);
	RUN(an_error_is_permanent);
	RUN(the_largest_request_is_limited);
	RUN(bulk_length_is_limited);
	RUN(argument_count_is_limited);
	RUN(line_length_is_limited_wherever_the_line_was_cut);
	RUN(request_length_is_limited);
	RUN(limits_are_tighter_before_authentication);
	RUN(new_limits_apply_from_the_next_header);
	RUN(announced_arguments_allocate_nothing);
	RUN(arguments_take_memory_only_as_they_arrive);
	RUN(the_largest_request_is_read_in_one_piece_and_in_many);
	RUN(bytes_are_read_once_however_they_arrive);
	RUN(trimming_keeps_the_usual_memory);
	RUN(trimming_frees_the_memory_of_a_long_line);
	RUN(wanted_is_the_missing_part_of_the_bulk_string_within_limits);
	RUN(a_parser_is_idle_between_requests_only);
	RUN(random_pipelines_read_the_same_in_any_pieces);
	RUN(random_nonsense_reads_the_same_in_any_pieces);
	return UNIT_RESULT();
}
