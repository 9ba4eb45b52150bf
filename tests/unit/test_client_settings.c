/*
 * Addresses, URIs and options of the programs that connect to a server.
 */
#include "client/settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/backoff.h"
#include "client/options.h"
#include "unit.h"

#define WORDS_MAX 16

static struct client_options options;
static struct buf text;

void setUp(void)
{
	unsetenv(CLIENT_OPTIONS_AUTH);
	unsetenv(CLIENT_OPTIONS_URL);
	buf_init(&text, BUF_NO_MAX);
	TEST_ASSERT_TRUE(client_options_init(&options, &text));
}

void tearDown(void)
{
	client_options_done(&options);
	buf_done(&text);
}

static void again(void)
{
	tearDown();
	setUp();
}

/* The settings in words, without the defaults. */
static const char *described(void)
{
	const struct client_settings *s = &options.settings;

	buf_clear(&text);
	client_settings_print_address(s, &text);
	if (s->user != NULL)
		buf_printf(&text, " user=%s", s->user);
	if (s->password != NULL)
		buf_printf(&text, " password=%s", s->password);
	if (s->db != 0)
		buf_printf(&text, " db=%u", s->db);
	if (s->tls || options.tls)
		buf_printf(&text, " tls");
	return buf_cstr(&text);
}

static void assert_any(const char *expected, const char *given)
{
	again();
	TEST_ASSERT_TRUE_MESSAGE(client_settings_set_any(&options.settings, given, &text), given);
	TEST_ASSERT_EQUAL_STRING(expected, described());
}

static void assert_refused(const char *expected, const char *given)
{
	again();
	TEST_ASSERT_FALSE_MESSAGE(client_settings_set_any(&options.settings, given, &text), given);
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&text));
}

/* Offers words to the table of options. Returns what flags_take() returned last. */
static int take(const char *const *words)
{
	char *argv[WORDS_MAX];
	int argc = 0, at = 0, taken = 1;

	for (; words[argc] != NULL; argc++)
		argv[argc] = strdup(words[argc]);
	buf_clear(&text);
	while (at < argc && taken == 1)
		taken = client_options_take(&options, argc, argv, &at, &text);
	for (int i = 0; i < argc; i++)
		free(argv[i]);
	return taken;
}
#define TAKE(...) take((const char *const[]){ __VA_ARGS__, NULL })

static void addresses_have_a_host_and_a_port(void)
{
	assert_any("127.0.0.1:7537", "127.0.0.1");
	assert_any("example.org:99", "example.org:99");
	assert_any("[::1]:7537", "::1");
	assert_any("[::1]:80", "[::1]:80");
	assert_any("[fe80::1%eth0]:7537", "[fe80::1%eth0]");
	assert_any("/run/qlessd.sock", "/run/qlessd.sock");
	assert_any("./sock", "./sock");
}

static void a_list_names_the_servers_of_a_group(void)
{
	struct client_settings chosen;

	assert_any("a:1,b:2,[::1]:3", "a:1,b:2,[::1]:3");
	assert_any("a:1,b:2 user=u password=p,q db=4 tls", "rediss://u:p,q@a:1,b:2/4");
	client_settings_copy(&chosen, &options.settings);
	TEST_ASSERT_TRUE(client_settings_choose(&chosen, 0));
	TEST_ASSERT_EQUAL_STRING("a", chosen.host);
	TEST_ASSERT_EQUAL_INT(1, chosen.port);
	TEST_ASSERT_NULL(chosen.others);
	client_settings_done(&chosen);
	client_settings_copy(&chosen, &options.settings);
	TEST_ASSERT_TRUE(client_settings_choose(&chosen, 1));
	TEST_ASSERT_EQUAL_STRING("b", chosen.host);
	TEST_ASSERT_EQUAL_INT(2, chosen.port);
	client_settings_done(&chosen);
	client_settings_copy(&chosen, &options.settings);
	TEST_ASSERT_FALSE(client_settings_choose(&chosen, 2));
	client_settings_done(&chosen);
	/* A later address of one server replaces the list. */
	again();
	TEST_ASSERT_EQUAL_INT(1, TAKE("-u", "redis://a:1,b:2", "-h", "c"));
	TEST_ASSERT_EQUAL_STRING("c:1", described());
}

static void wrong_addresses_are_refused(void)
{
	assert_refused("'' has no host", "a,,b");
	assert_refused("'x' is not a port: give a number from 1 to 65535", "a:1,b:x");
	assert_refused("there are 10 servers: a group has at most 9", "a,b,c,d,e,f,g,h,i,j");
	assert_refused("'' has no host", "");
	assert_refused("':99' has no host", ":99");
	assert_refused("'0' is not a port: give a number from 1 to 65535", "h:0");
	assert_refused("'65536' is not a port: give a number from 1 to 65535", "h:65536");
	assert_refused("'' is not a port: give a number from 1 to 65535", "h:");
	assert_refused("'[::1' is not an address: give [address]:port", "[::1");
	assert_refused("'[::1]x' is not an address: give [address]:port", "[::1]x");
}

static void uris_name_everything(void)
{
	assert_any("127.0.0.1:7537", "redis://");
	assert_any("h:7537", "redis://h");
	assert_any("h:1 db=3", "redis://h:1/3");
	assert_any("h:1 tls", "rediss://h:1/");
	assert_any("127.0.0.1:99", "qless://:99");
	assert_any("h:7537 password=secret", "redis://secret@h");
	assert_any("h:7537 password=secret", "redis://:secret@h");
	assert_any("h:7537 user=bob password=a@b:c", "redis://bob:a@b:c@h");
	assert_any("h:7537 user=b/b password=\x01", "redis://b%2fb:%01@h");
	assert_any("[::1]:5 user=u password=p db=1 tls", "rediss://u:p@[::1]:5/1");
	assert_any("/run/q.sock", "unix:///run/q.sock");
	assert_any("/run/q s user=u password=p db=7", "redis+unix://u:p@/run/q%20s?db=7");
}

static void wrong_uris_are_refused(void)
{
	assert_refused("the URI does not begin with redis://, rediss:// or unix://",
		       "http://u:secret@h");
	assert_refused("'x' is not a database: give a number from 0 to 16383", "redis://h/x");
	assert_refused("'16384' is not a database: give a number from 0 to 16383",
		       "redis://h/16384");
	assert_refused("the password in the URI has an invalid %xx", "redis://:a%zz@h");
	assert_refused("the password in the URI has an invalid %xx", "redis://:a%00@h");
	assert_refused("the URI has no absolute path of a socket", "unix://sock");
	assert_refused("the URI has an unknown query: only ?db=number may follow the path",
		       "unix:///sock?x=1");
}

static void options_are_those_of_redis_cli(void)
{
	TEST_ASSERT_EQUAL_INT(1, TAKE("-h", "h", "-p", "1", "-n", "2", "--user", "u", "-a", "p",
				      "--tls", "--sni", "x", "--cacert", "c", "--insecure"));
	TEST_ASSERT_EQUAL_STRING("h:1 user=u password=p db=2 tls", described());
	TEST_ASSERT_EQUAL_STRING("x", options.settings.sni);
	TEST_ASSERT_EQUAL_STRING("c", options.settings.cacert);
	TEST_ASSERT_TRUE(options.settings.insecure);
	TEST_ASSERT_TRUE(options.has_exposed_password);
	again();
	TEST_ASSERT_EQUAL_INT(1, TAKE("-s", "/sock", "--pass=x", "-n5", "--no-auth-warning"));
	TEST_ASSERT_EQUAL_STRING("/sock password=x db=5", described());
	TEST_ASSERT_TRUE(options.no_auth_warning);
	again();
	TEST_ASSERT_EQUAL_INT(1, TAKE("-a", "x", "-u", "redis://h"));
	TEST_ASSERT_EQUAL_STRING("h:7537 password=x", described());
}

static void wrong_options_are_refused(void)
{
	TEST_ASSERT_EQUAL_INT(-1, TAKE("-p", "x"));
	TEST_ASSERT_EQUAL_STRING("--port must be a number from 1 to 65535, not 'x'",
				 buf_cstr(&text));
	TEST_ASSERT_EQUAL_INT(-1, TAKE("--host"));
	TEST_ASSERT_EQUAL_STRING("--host needs a value: name", buf_cstr(&text));
	TEST_ASSERT_EQUAL_INT(-1, TAKE("--tls=yes"));
	TEST_ASSERT_EQUAL_STRING("--tls has no value", buf_cstr(&text));
	TEST_ASSERT_EQUAL_INT(-1, TAKE("--reply-timeout", "-1"));
	TEST_ASSERT_EQUAL_STRING("--reply-timeout must be seconds from 0 to 86400, not '-1'",
				 buf_cstr(&text));
	TEST_ASSERT_EQUAL_INT(0, TAKE("--nothing"));
	TEST_ASSERT_EQUAL_INT(0, TAKE("queues"));
	TEST_ASSERT_EQUAL_INT(0, TAKE("-"));
	TEST_ASSERT_EQUAL_INT(0, TAKE("--"));
	TEST_ASSERT_EQUAL_INT(0, TAKE("--tl"));
}

static void the_environment_has_the_password_and_the_address(void)
{
	tearDown();
	setenv(CLIENT_OPTIONS_AUTH, "secret", 1);
	setenv(CLIENT_OPTIONS_URL, "rediss://h:9/1", 1);
	buf_init(&text, BUF_NO_MAX);
	TEST_ASSERT_TRUE(client_options_init(&options, &text));
	TEST_ASSERT_EQUAL_STRING("h:9 password=secret db=1 tls", described());
	client_options_done(&options);
	buf_clear(&text);
	setenv(CLIENT_OPTIONS_URL, "http://h", 1);
	TEST_ASSERT_FALSE(client_options_init(&options, &text));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&text), CLIENT_OPTIONS_URL));
}

static void a_copy_shares_nothing(void)
{
	struct client_settings copy;

	TEST_ASSERT_EQUAL_INT(1, TAKE("-u", "redis://u:p@h"));
	client_settings_copy(&copy, &options.settings);
	again();
	TEST_ASSERT_EQUAL_STRING("h", copy.host);
	TEST_ASSERT_EQUAL_STRING("p", copy.password);
	client_settings_done(&copy);
}

static void delays_grow_up_to_a_maximum(void)
{
	struct backoff backoff = { .first_ms = 100, .max_ms = 1000 };
	static const unsigned most_ms[] = { 100, 200, 400, 800, 1000, 1000 };

	for (size_t i = 0; i < sizeof most_ms / sizeof most_ms[0]; i++) {
		unsigned delay_ms = backoff_next_ms(&backoff);

		TEST_ASSERT_TRUE(delay_ms <= most_ms[i] && delay_ms >= most_ms[i] / 2);
	}
	backoff_reset(&backoff);
	TEST_ASSERT_TRUE(backoff_next_ms(&backoff) <= 100);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(addresses_have_a_host_and_a_port);
	RUN(a_list_names_the_servers_of_a_group);
	RUN(wrong_addresses_are_refused);
	RUN(uris_name_everything);
	RUN(wrong_uris_are_refused);
	RUN(options_are_those_of_redis_cli);
	RUN(wrong_options_are_refused);
	RUN(the_environment_has_the_password_and_the_address);
	RUN(a_copy_shares_nothing);
	RUN(delays_grow_up_to_a_maximum);
	return UNIT_RESULT();
}
