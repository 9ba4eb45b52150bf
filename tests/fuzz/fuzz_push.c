/*
 * Any text as what an endpoint or a client of ENDPOINT.SET may send: a URL, a header, a
 * Retry-After, a body, and an element of push-allow.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "push/allow.h"
#include "push/header.h"
#include "push/url.h"
#include "push/verdict.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/utf8.h"

#define RETRY_AFTER_MAX 3600
#define TEXT_MAX	100

/* A URL that is accepted can be sent in a line, and its host is a part of it. */
static void check_url(struct qless_str text)
{
	struct url url;

	if (url_read(text, &url) != NULL)
		return;
	assert(url.host.len != 0 && url.port >= 1 && url.port <= 65535);
	assert(url.host.ptr > text.ptr && url.host.ptr + url.host.len <= text.ptr + text.len);
	for (size_t i = 0; i < text.len; i++)
		assert(text.ptr[i] > ' ' && text.ptr[i] <= '~');
}

static void check_header(struct qless_str text)
{
	if (header_check_name(text) == NULL) {
		assert(text.len != 0 && memchr(text.ptr, ':', text.len) == NULL);
		header_is_secret(text);
	}
	if (header_check_value(text) == NULL)
		assert(memchr(text.ptr, '\n', text.len) == NULL &&
		       memchr(text.ptr, '\r', text.len) == NULL);
}

static void check_answer(struct qless_str text)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);
	double after = push_read_retry_after(text, 1700000000, RETRY_AFTER_MAX);

	assert(after == -1 || (after >= 0 && after <= RETRY_AFTER_MAX));
	push_append_text(&out, text, TEXT_MAX);
	assert(out.len <= TEXT_MAX && utf8_is_valid(buf_str(&out)));
	if (text.len <= TEXT_MAX && utf8_is_valid(text))
		assert(str_equal(buf_str(&out), text));
	buf_done(&out);
	for (unsigned attempt = 0; attempt < 40; attempt++) {
		double delay = push_backoff(text, attempt);

		assert(delay > 0 && delay <= VERDICT_BACKOFF_MAX);
	}
}

/* An address is in the network of itself alone. */
static void check_allow(struct qless_str text)
{
	unsigned char address[ALLOW_ADDRESS_MAX];
	size_t len = allow_read_address(text, address);

	allow_is_element(text);
	allow_host(text, STR("a.example.org"));
	assert(len == 0 || len == 4 || len == ALLOW_ADDRESS_MAX);
	if (len == 4)
		assert(allow_address(text, address, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A block of exactly that size, so that a sanitizer notices reads beyond the end. */
	char *copy = mem_alloc(size + (size == 0));
	struct qless_str text = str_make(copy, size);

	if (size != 0)
		memcpy(copy, data, size);
	check_url(text);
	check_header(text);
	check_answer(text);
	check_allow(text);
	free(copy);
	return 0;
}
