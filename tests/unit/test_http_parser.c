#include "http/parser.h"

#include <stdlib.h>

#include "unit.h"
#include "util/buf.h"
#include "util/mem.h"

#define MAX_BODY ((size_t)1000)

static struct http_parser parser;
static struct http_request request;
static struct buf log_text;

void setUp(void)
{
	buf_init(&log_text, BUF_NO_MAX);
}

void tearDown(void)
{
	buf_done(&log_text);
}

/* ---- a connection, as a server would have it ---- */

static void note_request(const struct http_request *r)
{
	static const char *const marks[HTTP_FIELD_COUNT] = {
		[HTTP_FIELD_HOST] = "host",
		[HTTP_FIELD_AUTHORIZATION] = "auth",
		[HTTP_FIELD_CONTENT_TYPE] = "type",
	};

	buf_append_char(&log_text, '[');
	buf_append_str(&log_text, http_method_name(r->method));
	buf_append_char(&log_text, ' ');
	buf_append_str(&log_text, r->target.path);
	buf_printf(&log_text, " 1.%d%s%s", r->minor, r->keep_alive ? "" : " close",
		   r->wants_continue ? " continue" : "");
	for (int i = 0; i < HTTP_FIELD_COUNT; i++) {
		if (marks[i] == NULL || r->fields[i].ptr == NULL)
			continue;
		buf_printf(&log_text, " %s=", marks[i]);
		buf_append_str(&log_text, r->fields[i]);
	}
	if (r->has_body) {
		buf_append_char(&log_text, ' ');
		buf_append_str(&log_text, r->body);
	}
	buf_append_char(&log_text, ']');
}

/* The requests of a stream of which each delivery brings up to `max_piece` more bytes. Each
 * delivery moves the bytes to another block, so that a sanitizer sees a parser that keeps an
 * address or reads past the end. */
static const char *read_pieces(struct qless_str stream, size_t max_piece)
{
	enum http_parse_status status = HTTP_NEED_MORE;
	char *bytes = mem_alloc(1);
	size_t len = 0, sent = 0;

	buf_clear(&log_text);
	http_parser_init(&parser);
	while (sent < stream.len && status != HTTP_ERROR) {
		size_t piece = stream.len - sent < max_piece ? stream.len - sent : max_piece;
		char *moved = mem_alloc(len + piece);
		size_t at = 0;

		memcpy(moved, bytes, len);
		memcpy(moved + len, stream.ptr + sent, piece);
		free(bytes);
		bytes = moved;
		len += piece;
		sent += piece;
		while ((status = http_parse(&parser, bytes + at, len - at, &request)) ==
			       HTTP_HEAD ||
		       status == HTTP_REQUEST) {
			if (status == HTTP_HEAD) {
				http_parser_accept(&parser, MAX_BODY);
				continue;
			}
			TEST_ASSERT_TRUE(request.consumed != 0 && request.consumed <= len - at);
			note_request(&request);
			at += request.consumed;
			http_parser_init(&parser);
		}
		if (status == HTTP_ERROR)
			buf_printf(&log_text, "!%d %s", request.status, request.error);
		else
			TEST_ASSERT_TRUE(http_parser_wanted(&parser, len - at) >= 1);
		len -= at;
		memmove(bytes, bytes + at, len);
	}
	free(bytes);
	return buf_cstr(&log_text);
}

/* The result must not depend on how the bytes arrive. */
static void check_bytes(struct qless_str stream, const char *expected)
{
	static const size_t pieces[] = { 1, 2, 3, 7, 50 };

	TEST_ASSERT_EQUAL_STRING(expected, read_pieces(stream, stream.len));
	for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
		TEST_ASSERT_EQUAL_STRING(expected, read_pieces(stream, pieces[i]));
}

static void check(const char *stream, const char *expected)
{
	check_bytes(str_from(stream), expected);
}

#define HOST "Host: h\r\n"
#define GET  "GET / HTTP/1.1\r\n"
#define POST "POST /j HTTP/1.1\r\n" HOST

/* ---- requests ---- */

static void a_request_has_a_method_a_path_and_fields(void)
{
	check(GET HOST "\r\n", "[GET / 1.1 host=h]");
	check("DELETE /v1/jobs/j1?x=y HTTP/1.1\r\nhOsT: \t q.example:80 \t\r\nAuthorization: "
	      "Bearer "
	      "t\r\nX-Other: y\r\n\r\n",
	      "[DELETE /v1/jobs/j1 1.1 auth=Bearer t host=q.example:80]");
	check("OPTIONS /v1 HTTP/1.1\r\nHost:\r\n\r\n", "[OPTIONS /v1 1.1 host=]");
}

static void requests_follow_each_other(void)
{
	check(GET HOST "\r\n" POST "Content-Length: 3\r\n\r\nabc" GET HOST "\r\n",
	      "[GET / 1.1 host=h][POST /j 1.1 host=h abc][GET / 1.1 host=h]");
	check("\r\n\r\n" GET HOST "\r\n\r\n" GET HOST "\r\n",
	      "[GET / 1.1 host=h][GET / 1.1 host=h]");
}

static void an_empty_body_is_a_body(void)
{
	check(POST "Content-Length: 0\r\n\r\n", "[POST /j 1.1 host=h ]");
	check(POST "\r\n", "[POST /j 1.1 host=h]");
}

static void a_connection_is_kept_as_the_version_and_the_client_say(void)
{
	check(GET HOST "Connection: close\r\n\r\n", "[GET / 1.1 close host=h]");
	check(GET HOST "Connection: x, CLOSE ,y\r\n\r\n", "[GET / 1.1 close host=h]");
	check(GET HOST "Connection: x\r\nConnection: close\r\n\r\n", "[GET / 1.1 close host=h]");
	check("GET / HTTP/1.0\r\n\r\n", "[GET / 1.0 close]");
	check("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "[GET / 1.0]");
	check("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "[GET / 1.0 close]");
	check("GET / HTTP/1.7\r\n" HOST "\r\n", "[GET / 1.1 host=h]");
}

static void chunks_become_one_body(void)
{
	check(POST
	      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n" GET
		      HOST "\r\n",
	      "[POST /j 1.1 host=h abc0123456789][GET / 1.1 host=h]");
	check(POST "Transfer-Encoding: Chunked\r\n\r\n0001\r\n\n\r\n00\r\nX: y\r\nZ: \r\n\r\n",
	      "[POST /j 1.1 host=h \n]");
	check(POST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "[POST /j 1.1 host=h ]");
}

static void a_client_may_ask_before_it_sends_a_body(void)
{
	check(POST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
	      "[POST /j 1.1 continue host=h x]");
	check(POST "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", "[POST /j 1.1 host=h ]");
	check("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
	      "[POST / 1.0 close x]");
	check(POST "Expect: 200-ok\r\n\r\n", "!417 the only Expect is 100-continue");
}

static void a_target_may_name_the_host(void)
{
	check("GET HTTP://h/x HTTP/1.1\r\nHost: H\r\n\r\n", "[GET /x 1.1 host=H]");
	check("GET http://other/x HTTP/1.1\r\n" HOST "\r\n",
	      "!400 the target names another host than Host");
	check("GET http://h HTTP/1.1\r\n" HOST "\r\n",
	      "!400 the target names a host without a path");
	check("GET http://u@h/ HTTP/1.1\r\n" HOST "\r\n",
	      "!400 the target must be a path that begins with /");
	check("GET http://h/ HTTP/1.0\r\n\r\n", "!400 there is no Host");
}

static void the_head_is_there_before_the_body(void)
{
	char text[] = POST "Content-Length: 4\r\n\r\nab";

	http_parser_init(&parser);
	TEST_ASSERT_TRUE(http_parser_is_idle(&parser));
	TEST_ASSERT_EQUAL(HTTP_HEAD, http_parse(&parser, text, sizeof text - 1, &request));
	TEST_ASSERT_FALSE(http_parser_is_idle(&parser));
	TEST_ASSERT_TRUE(request.has_body);
	TEST_ASSERT_EQUAL(HTTP_HEAD, http_parse(&parser, text, sizeof text - 1, &request));
	http_parser_accept(&parser, 4);
	TEST_ASSERT_EQUAL(HTTP_NEED_MORE, http_parse(&parser, text, sizeof text - 1, &request));
	TEST_ASSERT_EQUAL(2, http_parser_wanted(&parser, sizeof text - 1));
}

static void a_result_can_be_asked_for_again(void)
{
	char text[] = POST "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\nGET";
	char *copy = mem_dup(text, sizeof text - 1);

	http_parser_init(&parser);
	TEST_ASSERT_EQUAL(HTTP_HEAD, http_parse(&parser, text, sizeof text - 1, &request));
	http_parser_accept(&parser, MAX_BODY);
	TEST_ASSERT_EQUAL(HTTP_REQUEST, http_parse(&parser, text, sizeof text - 1, &request));
	ASSERT_STR("abc", request.body);
	memcpy(copy, text, sizeof text - 1);
	memset(&request, 0xff, sizeof request);
	TEST_ASSERT_EQUAL(HTTP_REQUEST, http_parse(&parser, copy, sizeof text - 1, &request));
	ASSERT_STR("abc", request.body);
	ASSERT_STR("h", request.fields[HTTP_FIELD_HOST]);
	TEST_ASSERT_EQUAL(sizeof text - 1 - 3, request.consumed);
	free(copy);
}

/* ---- what is refused ---- */

static void a_request_line_is_exact(void)
{
	check("GET /\r\n", "!400 the request line is not a method, a target and a version");
	check("GET  / HTTP/1.1\r\n", "!400 the request line does not end with a version of HTTP");
	check("GET / HTTP/1.1 \r\n", "!400 the request line does not end with a version of HTTP");
	check("GET / http/1.1\r\n", "!400 the request line does not end with a version of HTTP");
	check("GET / HTTP/1.10\r\n", "!400 the request line does not end with a version of HTTP");
	check("GET\t/ HTTP/1.1\r\n",
	      "!400 the request line is not a method, a target and a version");
	check(" GET / HTTP/1.1\r\n", "!400 the request line does not end with a version of HTTP");
	check("G(T / HTTP/1.1\r\n", "!400 the request line does not begin with a method");
	check("BREW / HTTP/1.1\r\n", "!501 the method is not known");
	check("get / HTTP/1.1\r\n", "!501 the method is not known");
	check("PRI * HTTP/2.0\r\n", "!505 the version is not HTTP/1.0 or HTTP/1.1");
	check("GET / HTTP/0.9\r\n", "!505 the version is not HTTP/1.0 or HTTP/1.1");
	check("GET x HTTP/1.1\r\n", "!400 the target must be a path that begins with /");
	check("GET * HTTP/1.1\r\n", "!400 the target must be a path that begins with /");
	check("GET /a\x7f HTTP/1.1\r\n",
	      "!400 the target is empty, or has a byte that must be encoded");
	check("GET /a#b HTTP/1.1\r\n",
	      "!400 the target is empty, or has a byte that must be encoded");
	check("GET /\xc3\xa4 HTTP/1.1\r\n",
	      "!400 the target is empty, or has a byte that must be encoded");
	check("\r\n\r\n\r\n" GET, "!400 the request begins with empty lines");
	check("\x16\x03\x01\x02", "!400 this is TLS, for which there is https-port");
}

static void a_bad_escape_in_the_target_is_refused_with_the_head(void)
{
	check("GET /%zz HTTP/1.1\r\n" HOST "\r\n",
	      "!400 the target has a % without two hexadecimal digits after it");
}

static void a_line_ends_with_cr_and_lf(void)
{
	check("GET / HTTP/1.1\nHost: h\r\n\r\n", "!400 a line ends without CR");
	check(GET "Host: h\n\r\n", "!400 a line ends without CR");
	check(GET HOST "\n", "!400 a line ends without CR");
	check(GET "Host: h\r\r\n\r\n", "!400 the value of a header field has a control character");
	check(GET "Host: h\rX: y\r\n\r\n",
	      "!400 the value of a header field has a control character");
}

static void a_header_line_is_exact(void)
{
	check(GET "Host : h\r\n\r\n",
	      "!400 the name of a header field is empty or has a byte that no name has");
	check(GET ": h\r\n\r\n",
	      "!400 the name of a header field is empty or has a byte that no name has");
	check(GET "Host\r\n\r\n", "!400 a header line has no colon");
	check(GET HOST "X: y\r\n z\r\n\r\n", "!400 a header line is folded");
	check(GET " Host: h\r\n\r\n", "!400 a header line is folded");
	check_bytes(STR(GET HOST "X: a\0b\r\n\r\n"),
		    "!400 the value of a header field has a control character");
	check(GET HOST "X: a\x01\r\n\r\n",
	      "!400 the value of a header field has a control character");
	check(GET HOST "X\xc3: a\r\n\r\n",
	      "!400 the name of a header field is empty or has a byte that no name has");
	check(GET HOST "X: \xc3\xa4\r\n\r\n", "[GET / 1.1 host=h]");
}

static void a_request_names_one_host(void)
{
	check(GET "\r\n", "!400 there is no Host");
	check(GET HOST HOST "\r\n", "!400 Host is there twice");
	check(GET "Host: a b\r\n\r\n", "!400 Host has a byte that no name of a host has");
	check(GET "Host: u@h\r\n\r\n", "!400 Host has a byte that no name of a host has");
	check(GET "Host: h/x\r\n\r\n", "!400 Host has a byte that no name of a host has");
}

static void the_length_of_a_body_is_said_once(void)
{
	check(POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
	      "!400 Content-Length is there twice");
	check(POST "Content-Length: 1, 1\r\n\r\n", "!400 Content-Length is not a number of bytes");
	check(POST "Content-Length: +1\r\n\r\n", "!400 Content-Length is not a number of bytes");
	check(POST "Content-Length: -1\r\n\r\n", "!400 Content-Length is not a number of bytes");
	check(POST "Content-Length: 0x1\r\n\r\n", "!400 Content-Length is not a number of bytes");
	check(POST "Content-Length:\r\n\r\n", "!400 Content-Length is not a number of bytes");
	check(POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
	      "!400 there are Content-Length and Transfer-Encoding");
	check(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	      "!400 a header field that has one value is there twice");
	check(POST "Transfer-Encoding: gzip, chunked\r\n\r\n",
	      "!501 the only Transfer-Encoding is chunked");
	check(POST "Transfer-Encoding: identity\r\n\r\n",
	      "!501 the only Transfer-Encoding is chunked");
	check(POST "Transfer-Encoding: xchunked\r\n\r\n",
	      "!501 the only Transfer-Encoding is chunked");
	check(POST "Transfer-Encoding: \x0b"
		   "chunked\r\n\r\n",
	      "!400 the value of a header field has a control character");
	check("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
	      "!400 HTTP/1.0 has no Transfer-Encoding");
}

static void a_field_that_decides_is_there_once(void)
{
	check(GET HOST "Authorization: a\r\nAuthorization: b\r\n\r\n",
	      "!400 a header field that has one value is there twice");
	check(GET HOST "Origin: a\r\norigin: b\r\n\r\n",
	      "!400 a header field that has one value is there twice");
	check(GET HOST "Accept: a\r\nAccept: b\r\n\r\n", "[GET / 1.1 host=h]");
}

static void a_chunk_is_exact(void)
{
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
	check(CHUNKED "\r\n", "!400 the size of a chunk is not a hexadecimal number");
	check(CHUNKED "0x1\r\n", "!400 the size of a chunk is not a hexadecimal number");
	check(CHUNKED " 1\r\n", "!400 the size of a chunk is not a hexadecimal number");
	check(CHUNKED "1 \r\n", "!400 the size of a chunk is not a hexadecimal number");
	check(CHUNKED "+1\r\n", "!400 the size of a chunk is not a hexadecimal number");
	check(CHUNKED "1;\x01\r\n", "!400 the size of a chunk is not a hexadecimal number");
	check(CHUNKED "1\n", "!400 a line ends without CR");
	check(CHUNKED "1\r\nab\r\n", "!400 a chunk is longer than its size");
	check(CHUNKED "1\r\na\n", "!400 a chunk is longer than its size");
	check(CHUNKED "0\r\nX y\r\n", "!400 a header line has no colon");
	check(CHUNKED "0\r\n X: y\r\n", "!400 a header line is folded");
	check(CHUNKED "fffffffffffffff0\r\n", "!413 the body is too large");
	check(CHUNKED "00000000000000000001\r\n", "!413 the body is too large");
}

/* ---- limits ---- */

static char *repeat(const char *begin, const char *piece, size_t count, const char *end)
{
	struct buf b = BUF_INIT(BUF_NO_MAX);
	char *text;

	buf_append_str(&b, str_from(begin));
	for (size_t i = 0; i < count; i++)
		buf_append_str(&b, str_from(piece));
	buf_append_str(&b, str_from(end));
	text = mem_dup(buf_data(&b), b.len);
	text = mem_realloc(text, b.len + 1);
	text[b.len] = '\0';
	buf_done(&b);
	return text;
}

static void check_repeated(const char *begin, const char *piece, size_t count, const char *end,
			   const char *expected)
{
	char *text = repeat(begin, piece, count, end);

	check(text, expected);
	free(text);
}

static void a_head_has_limits(void)
{
	const size_t fixed = strlen("GET / HTTP/1.1\r\nHost: h\r\nX: \r\n\r\n");

	check_repeated("GET /", "a", HTTP_HEAD_MAX, " HTTP/1.1\r\n",
		       "!414 the request line is too long");
	check_repeated(GET HOST "X: ", "y", HTTP_HEAD_MAX - fixed, "\r\n\r\n",
		       "[GET / 1.1 host=h]");
	check_repeated(GET HOST "X: ", "y", HTTP_HEAD_MAX - fixed + 1, "\r\n\r\n",
		       "!431 the head of the request is longer than 8192 bytes");
	check_repeated(GET HOST, "X:\r\n", HTTP_LINES_MAX - 1, "\r\n", "[GET / 1.1 host=h]");
	check_repeated(GET HOST, "X:\r\n", HTTP_LINES_MAX, "\r\n",
		       "!431 the request has more than 64 header lines");
	check_repeated("GET ", "/a", HTTP_TARGET_SEGMENTS_MAX + 1, " HTTP/1.1\r\n" HOST "\r\n",
		       "!414 the path has more than 16 segments");
}

static void a_body_has_a_limit(void)
{
	check(POST "Content-Length: 1001\r\n\r\n", "!413 the body is too large");
	check(POST "Content-Length: 1000000000000000000\r\n\r\n", "!413 the body is too large");
	check(CHUNKED "3e9\r\n", "!413 the body is too large");
	/* Framing counts: a sender of short chunks would cost many times as much as its body. */
	check_repeated(CHUNKED, "1\r\na\r\n", 300, "", "!413 the body is too large");
	check_repeated(CHUNKED "1;", "a", HTTP_CHUNK_LINE_MAX, "\r\n",
		       "!400 the line before a chunk is too long");
	check_repeated(CHUNKED "0\r\n", "X: y\r\n", HTTP_TRAILER_MAX / 6, "", "");
	check_repeated(CHUNKED "0\r\n", "X: y\r\n", HTTP_TRAILER_MAX / 6 + 1, "",
		       "!431 the trailer is too long");
}

/* The parser asks for no more room than a small multiple of what has arrived. */
static void announced_bytes_cost_nothing(void)
{
	char text[] = POST "Content-Length: 900000000\r\n\r\n";

	http_parser_init(&parser);
	TEST_ASSERT_EQUAL(HTTP_HEAD, http_parse(&parser, text, sizeof text - 1, &request));
	http_parser_accept(&parser, (size_t)1 << 40);
	TEST_ASSERT_EQUAL(HTTP_NEED_MORE, http_parse(&parser, text, sizeof text - 1, &request));
	TEST_ASSERT_EQUAL(HTTP_WANTED_MIN, http_parser_wanted(&parser, sizeof text - 1));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_request_has_a_method_a_path_and_fields);
	RUN(requests_follow_each_other);
	RUN(an_empty_body_is_a_body);
	RUN(a_connection_is_kept_as_the_version_and_the_client_say);
	RUN(chunks_become_one_body);
	RUN(a_client_may_ask_before_it_sends_a_body);
	RUN(a_target_may_name_the_host);
	RUN(the_head_is_there_before_the_body);
	RUN(a_result_can_be_asked_for_again);
	RUN(a_request_line_is_exact);
	RUN(a_bad_escape_in_the_target_is_refused_with_the_head);
	RUN(a_line_ends_with_cr_and_lf);
	RUN(a_header_line_is_exact);
	RUN(a_request_names_one_host);
	RUN(the_length_of_a_body_is_said_once);
	RUN(a_field_that_decides_is_there_once);
	RUN(a_chunk_is_exact);
	RUN(a_head_has_limits);
	RUN(a_body_has_a_limit);
	RUN(announced_bytes_cost_nothing);
	return UNIT_RESULT();
}
