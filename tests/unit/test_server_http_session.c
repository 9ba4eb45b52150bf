/*
 * Sessions of browsers without connections: the test sets the clock.
 */
#include "server/http_session.h"

#include <stdlib.h>

#include "command/acl.h"
#include "command/table.h"
#include "server/commands.h"
#include "server/server_int.h"
#include "unit.h"
#include "util/mem.h"

#define SECOND INT64_C(1000000)

static struct server *server;
static struct config config;
static struct command_table *table;
static struct acl *acl;
static struct buf error;

void setUp(void)
{
	server = mem_zalloc(sizeof *server);
	config = (struct config){ .http_sessions = 3,
				  .http_user_sessions = 3,
				  .http_session_timeout_s = 100,
				  .http_session_lifetime_s = 250 };
	server->config = &config;
	server->clocks.mono_us = SECOND;
	table = commands_new(/* has_group= */ false);
	acl = acl_new(table);
	buf_init(&error, BUF_NO_MAX);
	http_sessions_init(server);
}

void tearDown(void)
{
	http_sessions_done(server);
	acl_free(acl);
	command_table_free(table);
	buf_done(&error);
	free(server);
}

static const struct user *make_user(const char *name, const char *rule)
{
	struct qless_str rules[] = { STR("on"), str_from(rule) };

	TEST_ASSERT_TRUE(acl_set_user(acl, str_from(name), rules, 2, &error));
	return acl_find(acl, str_from(name));
}

struct token {
	char text[HTTP_SESSION_TOKEN_BYTES + 1];
};

static struct token begin(const struct user *user)
{
	struct token token;

	http_session_begin(server, user, token.text);
	return token;
}

static const struct user *use(const struct token *token)
{
	return http_session_use(server, str_from(token->text));
}

static void pass(int64_t seconds)
{
	server->clocks.mono_us += seconds * SECOND;
}

static void a_token_stands_for_its_user(void)
{
	const struct user *alice = make_user("alice", ">one"), *bob = make_user("bob", ">two");
	struct token a = begin(alice), b = begin(bob), wrong = a;

	TEST_ASSERT_EQUAL_size_t(HTTP_SESSION_TOKEN_BYTES, strlen(a.text));
	TEST_ASSERT_EQUAL_size_t(HTTP_SESSION_TOKEN_BYTES, strspn(a.text, "0123456789abcdef"));
	TEST_ASSERT_TRUE(strcmp(a.text, b.text) != 0);
	TEST_ASSERT_EQUAL_PTR(alice, use(&a));
	TEST_ASSERT_EQUAL_PTR(bob, use(&b));
	wrong.text[63] = wrong.text[63] == '0' ? '1' : '0';
	TEST_ASSERT_NULL(use(&wrong));
	TEST_ASSERT_NULL(http_session_use(server, STR("")));
	TEST_ASSERT_NULL(http_session_use(server, str_make(a.text, 63)));
	TEST_ASSERT_EQUAL_size_t(2, http_session_count(server));
}

static void a_session_ends_with_the_logout(void)
{
	struct token a = begin(make_user("alice", ">one"));

	TEST_ASSERT_TRUE(http_session_end(server, str_from(a.text)));
	TEST_ASSERT_NULL(use(&a));
	TEST_ASSERT_FALSE(http_session_end(server, str_from(a.text)));
}

static void a_session_ends_when_it_was_not_used_for_long(void)
{
	struct token a = begin(make_user("alice", ">one"));

	pass(99);
	TEST_ASSERT_NOT_NULL(use(&a));
	pass(99);
	TEST_ASSERT_NOT_NULL(use(&a));
	pass(100);
	TEST_ASSERT_NULL(use(&a));
	TEST_ASSERT_EQUAL_size_t(0, http_session_count(server));
}

static void a_session_ends_when_it_is_old_although_it_is_used(void)
{
	struct token a = begin(make_user("alice", ">one"));

	for (int i = 0; i < 24; i++) {
		pass(10);
		TEST_ASSERT_NOT_NULL(use(&a));
	}
	pass(10);
	TEST_ASSERT_NULL(use(&a));
}

static void the_second_removes_sessions_that_are_over(void)
{
	const struct user *alice = make_user("alice", ">one");
	struct token a, b;

	begin(alice);
	pass(60);
	a = begin(alice);
	pass(40);
	http_sessions_tick(server);
	TEST_ASSERT_EQUAL_size_t(1, http_session_count(server));
	TEST_ASSERT_NOT_NULL(use(&a));
	b = begin(alice);
	config.http_sessions = 1;
	http_sessions_tick(server);
	TEST_ASSERT_NULL(use(&a));
	TEST_ASSERT_NOT_NULL(use(&b));
}

static void a_login_ends_the_session_that_was_not_used_for_longest(void)
{
	const struct user *alice = make_user("alice", ">one");
	struct token a = begin(alice), b = begin(alice), c = begin(alice), d;

	TEST_ASSERT_NOT_NULL(use(&a));
	d = begin(alice);
	TEST_ASSERT_EQUAL_size_t(3, http_session_count(server));
	TEST_ASSERT_NULL(use(&b));
	TEST_ASSERT_NOT_NULL(use(&a));
	TEST_ASSERT_NOT_NULL(use(&c));
	TEST_ASSERT_NOT_NULL(use(&d));
}

static void a_login_ends_no_session_of_a_user_that_has_fewer(void)
{
	const struct user *alice = make_user("alice", ">one"), *bob = make_user("bob", ">two");
	struct token a = begin(alice), b;

	pass(1);
	for (int i = 0; i < 10; i++)
		b = begin(bob);
	TEST_ASSERT_EQUAL_size_t(3, http_session_count(server));
	TEST_ASSERT_EQUAL_PTR(alice, use(&a));
	TEST_ASSERT_EQUAL_PTR(bob, use(&b));
}

static void a_user_has_a_number_of_sessions_of_its_own(void)
{
	const struct user *alice = make_user("alice", ">one"), *bob = make_user("bob", ">two");
	struct token a, b, c;

	config.http_user_sessions = 1;
	a = begin(alice);
	b = begin(bob);
	c = begin(bob);
	TEST_ASSERT_EQUAL_size_t(2, http_session_count(server));
	TEST_ASSERT_EQUAL_PTR(alice, use(&a));
	TEST_ASSERT_NULL(use(&b));
	TEST_ASSERT_EQUAL_PTR(bob, use(&c));
	config.http_user_sessions = 2;
	b = begin(bob);
	config.http_user_sessions = 1;
	http_sessions_tick(server);
	TEST_ASSERT_NOT_NULL(use(&a));
	TEST_ASSERT_NOT_NULL(use(&b));
	TEST_ASSERT_NULL(use(&c));
}

static void a_change_of_the_user_ends_its_sessions_alone(void)
{
	static const char *const changes[] = {
		">new", "<one", "off", "-get", "resetkeys", "nopass"
	};
	struct token bob = begin(make_user("bob", ">two")), alice;

	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct qless_str rules[] = { STR("reset"), STR("on"), STR(">one"), STR("+@all") };
		struct qless_str change = str_from(changes[i]);

		TEST_ASSERT_TRUE(acl_set_user(acl, STR("alice"), rules, 4, &error));
		alice = begin(acl_find(acl, STR("alice")));
		http_sessions_check(server);
		TEST_ASSERT_NOT_NULL(use(&alice));
		TEST_ASSERT_TRUE(acl_set_user(acl, STR("alice"), &change, 1, &error));
		http_sessions_check(server);
		TEST_ASSERT_NULL_MESSAGE(use(&alice), changes[i]);
		TEST_ASSERT_NOT_NULL(use(&bob));
	}
}

static void a_deleted_user_has_no_sessions(void)
{
	const struct user *alice = make_user("alice", ">one");
	struct token a = begin(alice), b = begin(make_user("bob", ">two"));

	http_sessions_forget_user(server, alice);
	TEST_ASSERT_TRUE(acl_delete_user(acl, STR("alice")));
	TEST_ASSERT_NULL(use(&a));
	TEST_ASSERT_NOT_NULL(use(&b));
}

/* ---- cookies ---- */

static const char *token_for(const char *host, const char *header)
{
	static char text[200];
	struct qless_str token;

	if (!http_session_find_token(str_from(host), str_from(header), &token))
		return "none";
	snprintf(text, sizeof text, "%.*s", (int)token.len, token.ptr);
	return text;
}

static const char *token_in(const char *header)
{
	return token_for("jobs.example", header);
}

static void the_cookie_is_found_among_others(void)
{
	TEST_ASSERT_EQUAL_STRING("abc", token_in("qlessd=abc"));
	TEST_ASSERT_EQUAL_STRING("abc", token_in("a=b; qlessd=abc; c=d"));
	TEST_ASSERT_EQUAL_STRING("abc", token_in("a=b;\tqlessd=abc \t;qlessd=def"));
	TEST_ASSERT_EQUAL_STRING("", token_in("qlessd="));
	TEST_ASSERT_EQUAL_STRING("a=b", token_in(";;; ;qlessd=a=b"));
	TEST_ASSERT_EQUAL_STRING("none", token_in(""));
	TEST_ASSERT_EQUAL_STRING("none", token_in("qlessd"));
	TEST_ASSERT_EQUAL_STRING("none", token_in("Qlessd=abc"));
	TEST_ASSERT_EQUAL_STRING("none", token_in("xqlessd=abc; a=qlessd=abc"));
}

static const char *name_for(const char *host)
{
	static struct buf name = BUF_INIT(BUF_NO_MAX);

	buf_clear(&name);
	http_session_append_name(&name, str_from(host));
	return buf_cstr(&name);
}

static void each_port_of_a_host_has_a_cookie_of_its_own(void)
{
	static const char *const without_port[] = {
		"", "a", "a:", "80", "a80", "a:8x", "a:x8", "a:123456", "::", "[::1]",
	};

	TEST_ASSERT_EQUAL_STRING("qlessd-80", name_for("a:80"));
	TEST_ASSERT_EQUAL_STRING("qlessd-65535", name_for("127.0.0.1:65535"));
	TEST_ASSERT_EQUAL_STRING("qlessd-8", name_for("[::1]:8"));
	for (size_t i = 0; i < sizeof without_port / sizeof without_port[0]; i++) {
		TEST_ASSERT_EQUAL_STRING("qlessd", name_for(without_port[i]));
		TEST_ASSERT_EQUAL_STRING("b", token_for(without_port[i], "qlessd-80=a; qlessd=b"));
	}
	TEST_ASSERT_EQUAL_STRING("b", token_for("a:80", "qlessd-8=a; qlessd-80=b; qlessd=c"));
	TEST_ASSERT_EQUAL_STRING("a", token_for("a:8", "qlessd-8=a; qlessd-80=b"));
	TEST_ASSERT_EQUAL_STRING("none", token_for("a:80", "qlessd=a; qlessd80=b; qlessd-800=c"));
}

static void headers_at_random_have_no_cookie_that_is_not_there(void)
{
	static const char letters[] = "qlesd=; \t\"x";
	unsigned long long seed = 3;
	unsigned found = 0;

	for (int round = 0; round < 200000; round++) {
		char header[33], *copy;
		size_t len = unit_random(&seed) % sizeof header;
		struct qless_str token;

		for (size_t i = 0; i < len; i++)
			header[i] = letters[unit_random(&seed) % (sizeof letters - 1)];
		if (len > 12 && unit_random(&seed) % 4 == 0)
			memcpy(header + unit_random(&seed) % (len - 7), "qlessd=", 7);
		/* A copy that ends where its memory ends, so that a sanitizer sees reads after it.
		 */
		copy = mem_alloc(len);
		memcpy(copy, header, len);
		if (http_session_find_token(STR("a"), str_make(copy, len), &token)) {
			found++;
			TEST_ASSERT_TRUE(token.ptr >= copy + 7 &&
					 token.ptr + token.len <= copy + len);
			TEST_ASSERT_EQUAL_MEMORY("qlessd=", token.ptr - 7, 7);
			TEST_ASSERT_NULL(memchr(token.ptr, ';', token.len));
		}
		free(copy);
	}
	TEST_ASSERT_GREATER_THAN_UINT(1000, found);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_token_stands_for_its_user);
	RUN(a_session_ends_with_the_logout);
	RUN(a_session_ends_when_it_was_not_used_for_long);
	RUN(a_session_ends_when_it_is_old_although_it_is_used);
	RUN(the_second_removes_sessions_that_are_over);
	RUN(a_login_ends_the_session_that_was_not_used_for_longest);
	RUN(a_login_ends_no_session_of_a_user_that_has_fewer);
	RUN(a_user_has_a_number_of_sessions_of_its_own);
	RUN(a_change_of_the_user_ends_its_sessions_alone);
	RUN(a_deleted_user_has_no_sessions);
	RUN(the_cookie_is_found_among_others);
	RUN(each_port_of_a_host_has_a_cookie_of_its_own);
	RUN(headers_at_random_have_no_cookie_that_is_not_there);
	return UNIT_RESULT();
}
