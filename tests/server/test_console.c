/*
 * The files of the web console, as the server sends them. tests/console looks at them in a browser.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "unit.h"
#include "util/buf.h"

/* Bytes of all files together, uncompressed. */
#define CONSOLE_BYTES_MAX 150000
#define PATH_MAX_BYTES	  128

static struct qlessd q;
static int http_port;
static struct buf page; /* the last answer: header and body */

void setUp(void)
{
	char port[16];

	buf_init(&page, BUF_NO_MAX);
	http_port = qlessd_free_port();
	snprintf(port, sizeof port, "%d", http_port);
	QLESSD_START(&q, "--http-port", port);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	buf_done(&page);
}

/* Sends a request with further header lines, and reads until the server closes. */
static const char *ask(const char *method, const char *path, const char *lines)
{
	struct peer *http = peer_connect_to("127.0.0.1", http_port);
	char text[512];

	buf_clear(&page);
	snprintf(text, sizeof text, "%s %s HTTP/1.0\r\nHost: 127.0.0.1\r\n%s\r\n", method, path,
		 lines);
	peer_send(http, text, strlen(text));
	while (peer_gets_more(http)) {
		buf_append(&page, http->buf + http->start, http->end - http->start);
		http->start = http->end;
	}
	peer_close(http);
	return buf_cstr(&page);
}

static const char *body(void)
{
	const char *found = strstr(buf_cstr(&page), "\r\n\r\n");

	TEST_ASSERT_NOT_NULL(found);
	return found + 4;
}

static size_t body_length(void)
{
	return page.len - (size_t)(body() - buf_cstr(&page));
}

#define ASSERT_HAS(text)   TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&page), text), text)
#define ASSERT_LACKS(text) TEST_ASSERT_NULL_MESSAGE(strstr(buf_cstr(&page), text), text)

/* Copies what the page says between `before` and a quote. Returns what follows, or NULL. */
static const char *next_link(const char *from, char ret[PATH_MAX_BYTES])
{
	const char *begin = strstr(from, "\"/console/");
	const char *end;

	if (begin == NULL)
		return NULL;
	begin++;
	end = strchr(begin, '"');
	TEST_ASSERT_NOT_NULL(end);
	TEST_ASSERT_TRUE(end - begin < PATH_MAX_BYTES);
	memcpy(ret, begin, (size_t)(end - begin));
	ret[end - begin] = '\0';
	return end;
}

static void find_script(char ret[PATH_MAX_BYTES])
{
	const char *found = strstr(ask("GET", "/", ""), "<script");

	TEST_ASSERT_NOT_NULL(found);
	TEST_ASSERT_NOT_NULL(next_link(found, ret));
}

static void the_page_has_a_strict_policy(void)
{
	ask("GET", "/", "");
	ASSERT_HAS("HTTP/1.1 200 OK\r\n");
	ASSERT_HAS("Content-Type: text/html; charset=utf-8\r\n");
	ASSERT_HAS("Content-Security-Policy: default-src 'none'; script-src 'self'; style-src "
		   "'self';");
	ASSERT_HAS("frame-ancestors 'none'");
	ASSERT_HAS("X-Frame-Options: DENY\r\n");
	ASSERT_HAS("X-Content-Type-Options: nosniff\r\n");
	ASSERT_HAS("Cache-Control: no-cache\r\n");
	ASSERT_LACKS("unsafe-");
	ASSERT_LACKS("http://");
	ASSERT_LACKS("https://");
}

static void every_file_of_the_page_is_there_and_all_are_small(void)
{
	char path[PATH_MAX_BYTES];
	char *text, *seen;
	const char *at;
	size_t total;
	int files = 0;

	ask("GET", "/", "");
	text = strdup(body());
	seen = calloc(1, page.len);
	total = body_length();
	for (at = text; (at = next_link(at, path)) != NULL;) {
		bool is_new = strstr(seen, path) == NULL;

		ask("GET", path, "");
		ASSERT_HAS("HTTP/1.1 200 OK\r\n");
		ASSERT_HAS("Cache-Control: max-age=31536000, immutable\r\n");
		ASSERT_HAS("X-Content-Type-Options: nosniff\r\n");
		TEST_ASSERT_TRUE(body_length() > 0);
		if (is_new) {
			strcat(seen, path);
			total += body_length();
			files++;
		}
	}
	TEST_ASSERT_TRUE(files > 30);
	TEST_ASSERT_TRUE(total <= CONSOLE_BYTES_MAX);
	free(seen);
	free(text);
}

static void files_are_compressed_for_clients_that_accept_it(void)
{
	char path[PATH_MAX_BYTES];
	size_t plain;

	find_script(path);
	ask("GET", path, "");
	ASSERT_LACKS("Content-Encoding");
	plain = body_length();
	ask("GET", path, "Accept-Encoding: br, GZIP;q=0.5\r\n");
	ASSERT_HAS("Content-Encoding: gzip\r\n");
	ASSERT_HAS("Vary: Accept-Encoding\r\n");
	TEST_ASSERT_TRUE(body_length() < plain / 2);
	TEST_ASSERT_EQUAL_MEMORY("\x1f\x8b", body(), 2);
	ask("GET", path, "Accept-Encoding: gzip;q=0, br\r\n");
	ASSERT_LACKS("Content-Encoding");
	ask("GET", path, "Accept-Encoding: xgzip\r\n");
	ASSERT_LACKS("Content-Encoding");
}

static void a_browser_that_has_the_page_gets_it_only_once(void)
{
	char line[160], tag[80];
	const char *found = strstr(ask("GET", "/", ""), "ETag: ");

	TEST_ASSERT_NOT_NULL(found);
	TEST_ASSERT_EQUAL_INT(1, sscanf(found, "ETag: %79[^\r]", tag));
	snprintf(line, sizeof line, "If-None-Match: \"other\", %s\r\n", tag);
	ask("GET", "/", line);
	ASSERT_HAS("HTTP/1.1 304 ");
	TEST_ASSERT_EQUAL_size_t(0, body_length());
	ask("GET", "/", "If-None-Match: \"other\"\r\n");
	ASSERT_HAS("HTTP/1.1 200 OK\r\n");
}

static void head_sends_the_header_alone(void)
{
	char line[64];

	ask("GET", "/", "");
	snprintf(line, sizeof line, "Content-Length: %zu\r\n", body_length());
	ask("HEAD", "/", "");
	ASSERT_HAS("HTTP/1.1 200 OK\r\n");
	ASSERT_HAS(line);
	TEST_ASSERT_EQUAL_size_t(0, body_length());
}

static void other_methods_and_other_files_are_refused(void)
{
	ask("DELETE", "/", "");
	ASSERT_HAS("HTTP/1.1 405 ");
	ASSERT_HAS("Allow: GET, HEAD\r\n");
	ask("GET", "/console/app.js", "");
	ASSERT_HAS("HTTP/1.1 404 ");
	ask("GET", "/console/../etc/passwd", "");
	ASSERT_HAS("HTTP/1.1 404 ");
	ask("GET", "/console", "");
	ASSERT_HAS("HTTP/1.1 404 ");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_page_has_a_strict_policy);
	RUN(every_file_of_the_page_is_there_and_all_are_small);
	RUN(files_are_compressed_for_clients_that_accept_it);
	RUN(a_browser_that_has_the_page_gets_it_only_once);
	RUN(head_sends_the_header_alone);
	RUN(other_methods_and_other_files_are_refused);
	return UNITY_END() != 0;
}
