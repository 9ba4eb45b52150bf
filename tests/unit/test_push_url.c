#include "push/url.h"

#include "unit.h"
#include "util/buf.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void expect_wrong(struct qless_str text, const char *expected)
{
	struct url url;
	const char *wrong = url_read(text, &url);

	TEST_ASSERT_NOT_NULL_MESSAGE(wrong, text.ptr);
	TEST_ASSERT_EQUAL_STRING(expected, wrong);
}

static void a_url_has_a_host_and_a_port(void)
{
	static const struct {
		struct qless_str text;
		const char *host;
		unsigned port;
		bool is_secure;
	} good[] = {
		{ STR_INIT("http://a"), "a", 80, false },
		{ STR_INIT("HTTPS://a.example/x?y=1&z=%20"), "a.example", 443, true },
		{ STR_INIT("http://10.0.0.1:8080"), "10.0.0.1", 8080, false },
		{ STR_INIT("http://a_b-c.d:65535?q"), "a_b-c.d", 65535, false },
		{ STR_INIT("https://[::1]/x"), "::1", 443, true },
		{ STR_INIT("https://[fe80::1.2.3.4]:1/x"), "fe80::1.2.3.4", 1, true },
	};
	struct url url;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		TEST_ASSERT_NULL_MESSAGE(url_read(good[i].text, &url), good[i].text.ptr);
		TEST_ASSERT_EQUAL_INT(good[i].is_secure, url.is_secure);
		TEST_ASSERT_EQUAL_UINT(good[i].port, url.port);
		TEST_ASSERT_TRUE(str_equal(url.host, str_from(good[i].host)));
	}
}

static void a_url_of_another_kind_is_refused(void)
{
	static const char scheme[] = "does not begin with http:// or https://";

	expect_wrong(STR(""), scheme);
	expect_wrong(STR("ftp://a"), scheme);
	expect_wrong(STR("file:///etc/passwd"), scheme);
	expect_wrong(STR("http:/a"), scheme);
	expect_wrong(STR("//a"), scheme);
	expect_wrong(STR("http://"), "has no host");
	expect_wrong(STR("http:///x"), "has no host");
	expect_wrong(STR("http://:80"), "has no host");
	expect_wrong(STR("http://a#b"), "has a fragment");
}

static void a_url_cannot_hide_its_host(void)
{
	static const char user[] = "has a user; use the option HEADER for Authorization";
	static const char port[] = "has a port that is no number from 1 to 65535";

	expect_wrong(STR("http://good@evil/"), user);
	expect_wrong(STR("http://a:b@c"), user);
	expect_wrong(STR("http://a:"), port);
	expect_wrong(STR("http://a:0"), port);
	expect_wrong(STR("http://a:65536"), port);
	expect_wrong(STR("http://a:80:80"), port);
	expect_wrong(STR("http://[::1"), "has an address without a closing bracket");
	expect_wrong(STR("http://[]"), "has no address in its brackets");
	expect_wrong(STR("http://[::1%25eth0]"), "has no address in its brackets");
	expect_wrong(STR("http://[::1]a"), "has an address that something follows");
	expect_wrong(STR("http://a,b"), "has a character that no host may have");
	expect_wrong(STR("http://%61"), "has a character that no host may have");
}

static void a_url_cannot_break_a_line(void)
{
	static const char character[] = "has a character that must be percent-encoded";

	expect_wrong(STR("http://a/x y"), character);
	expect_wrong(STR("http://a/\r\nX: y"), character);
	expect_wrong(STR("http://a/\0"), character);
	expect_wrong(STR("http://a/\x7f"), character);
	expect_wrong(STR("http://a/\xc3\xa4"), character);
	expect_wrong(STR("http://a\\b"), character);
}

static void a_url_has_a_longest_length(void)
{
	char text[URL_MAX + 1];
	struct url url;

	memset(text, 'x', sizeof text);
	memcpy(text, "http://a/", 9);
	TEST_ASSERT_NULL(url_read(str_make(text, URL_MAX), &url));
	expect_wrong(str_make(text, sizeof text), "is longer than 2048 bytes");
}

static void expect_masked(const char *text, const char *expected)
{
	struct buf masked = BUF_INIT(BUF_NO_MAX);

	url_append_masked(&masked, str_from(text));
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&masked));
	buf_done(&masked);
}

static void what_may_be_secret_is_masked(void)
{
	expect_masked("http://10.0.0.7:80/send", "http://10.0.0.7:80/send");
	expect_masked("https://a", "https://a");
	expect_masked("https://a/b?token=s3cret", "https://a/b?token=(redacted)");
	expect_masked("https://a?s3cret", "https://a?(redacted)");
	expect_masked("https://a/?a=s3c=ret&b=&&c&d=s3cret&",
		      "https://a/?a=(redacted)&b=&&(redacted)&d=(redacted)&");
	expect_masked("https://a/?", "https://a/?");
	expect_masked("https://user:s3cret@host:1/p@q", "https://(redacted)@host:1/p@q");
	expect_masked("HTTP://s3cret@[::1]/", "HTTP://(redacted)@[::1]/");
	expect_masked("https://user:s3c@ret@host", "https://(redacted)@host");
	expect_masked("https://@host", "https://host");
	expect_masked("https://a/#s3cret", "https://a/#(redacted)");
	expect_masked("user:s3cret@host", "(redacted)@host");
	expect_masked("", "");
	expect_masked("/?x=s3cret", "/?x=(redacted)");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_url_has_a_host_and_a_port);
	RUN(a_url_of_another_kind_is_refused);
	RUN(a_url_cannot_hide_its_host);
	RUN(a_url_cannot_break_a_line);
	RUN(a_url_has_a_longest_length);
	RUN(what_may_be_secret_is_masked);
	return UNIT_RESULT();
}
