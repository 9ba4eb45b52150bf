#include "call.h"

#include "command/handlers.h"

static const struct command rows[] = {
	{ .name = "ping",
	  .handler = cmd_ping,
	  .max_args = 1,
	  .flags = CMD_SUBSCRIBED,
	  .arguments = "[message]" },
	{ .name = "echo",
	  .handler = cmd_echo,
	  .min_args = 1,
	  .max_args = 1,
	  .arguments = "message" },
};

static struct call_fixture f;

void setUp(void)
{
	call_setup(&f, command_table_new(&(struct command_rows){ rows, 2 }, 1));
}

void tearDown(void)
{
	call_teardown(&f);
}

static void ping_replies_with_pong_or_the_message(void)
{
	ASSERT_REPLY("+PONG\r\n", &f, "PING");
	ASSERT_REPLY("$5\r\nhello\r\n", &f, "ping", "hello");
	ASSERT_REPLY("$0\r\n\r\n", &f, "ping", "");
	ASSERT_REPLY(
		"-ERR wrong number of arguments for 'ping' command (expected: PING [message])\r\n",
		&f, "ping", "a", "b");
}

static void ping_of_a_subscribed_connection_replies_with_an_array_in_resp2(void)
{
	f.session.subscribed = true;
	ASSERT_REPLY("*2\r\n$4\r\npong\r\n$0\r\n\r\n", &f, "ping");
	ASSERT_REPLY("*2\r\n$4\r\npong\r\n$5\r\nhello\r\n", &f, "ping", "hello");
	call_use_proto(&f, 3);
	ASSERT_REPLY("+PONG\r\n", &f, "ping");
	ASSERT_REPLY("$5\r\nhello\r\n", &f, "ping", "hello");
}

static void echo_replies_with_the_message(void)
{
	ASSERT_REPLY("$3\r\na b\r\n", &f, "echo", "a b");
	ASSERT_REPLY(
		"-ERR wrong number of arguments for 'echo' command (expected: ECHO message)\r\n",
		&f, "echo");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(ping_replies_with_pong_or_the_message);
	RUN(ping_of_a_subscribed_connection_replies_with_an_array_in_resp2);
	RUN(echo_replies_with_the_message);
	return UNIT_RESULT();
}
