/*
 * Commands of internal clients, on a whole server inside this process, without connections.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/acl.h"
#include "command/databases.h"
#include "config/config.h"
#include "engine/engine_int.h"
#include "server/loading.h"
#include "server/server_int.h"
#include "server/slowlog.h"
#include "sys/log.h"
#include "submitting.h"
#include "unit.h"
#include "util/buf.h"

static void a_command_is_answered_at_the_end_of_the_turn(void)
{
	start("appendonly no\n");
	submit("ping");
	TEST_ASSERT_EQUAL_INT(0, answer_count);
	turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_INT(1, answer_count);
	assert_answer(0, "ping", "+PONG\r\n");
}

static void commands_are_answered_in_their_order_and_counted(void)
{
	uint64_t before;

	start("appendonly no\n");
	before = server->stats.commands;
	submit("put w1 mail j1 Send {} 0");
	submit("length mail");
	submit("nonsense");
	turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_INT(3, answer_count);
	assert_answer(0, "put w1 mail j1 Send {} 0", "$2\r\nj1\r\n");
	assert_answer(1, "length mail", ":1\r\n");
	TEST_ASSERT_EQUAL_STRING_LEN("-ERR unknown command", buf_cstr(&answers[2].reply), 20);
	TEST_ASSERT_EQUAL_UINT64(2, server->stats.commands - before);
	TEST_ASSERT_EQUAL_UINT64(1, server->stats.error_replies);
}

static void an_answer_waits_until_the_log_is_durable(void)
{
	start("appendonly yes\nappendfsync always\n");
	submit("put w1 mail j1 Send {} 0");
	turns_until(1);
	assert_answer(0, "put w1 mail j1 Send {} 0", "$2\r\nj1\r\n");
	TEST_ASSERT_TRUE(server->gate.durable > 0);
	TEST_ASSERT_TRUE(gate_is_empty(&server->gate));
	stop();
	answer_count = 0;
	buf_clear(&answers[0].reply);
	start("appendonly yes\nappendfsync always\n");
	submit("length mail");
	turns_until(1);
	assert_answer(0, "length mail", ":1\r\n");
}

static void submit_more(void *arg, enum submit_outcome outcome, const struct chain *reply)
{
	note(arg, outcome, reply);
	submit("put w1 mail j2 Send {} 0");
}

static void a_callback_may_submit_more_which_waits_for_the_log_like_the_first(void)
{
	start("appendonly yes\nappendfsync always\n");
	submit_with(&by, "put w1 mail j1 Send {} 0", submit_more, "first");
	turns_until(2);
	assert_answer(1, "put w1 mail j2 Send {} 0", "$2\r\nj2\r\n");
	TEST_ASSERT_TRUE(server->gate.durable >= 2);
}

static void a_log_that_fails_loses_what_has_not_become_durable(void)
{
	struct rlimit limit, small = { .rlim_cur = 1 };

	start("appendonly yes\nappendfsync always\n");
	signal(SIGXFSZ, SIG_IGN);
	TEST_ASSERT_EQUAL_INT(0, getrlimit(RLIMIT_FSIZE, &limit));
	small.rlim_max = limit.rlim_max;
	TEST_ASSERT_EQUAL_INT(0, setrlimit(RLIMIT_FSIZE, &small));
	submit("put w1 mail j1 Send {} 0");
	turns_until(1);
	setrlimit(RLIMIT_FSIZE, &limit);
	TEST_ASSERT_EQUAL_INT(SUBMIT_LOST, answers[0].outcome);
	TEST_ASSERT_EQUAL_size_t(0, answers[0].reply.len);
}

static void the_rights_are_those_of_the_user(void)
{
	start("appendonly no\nuser reader on nopass ~* +length\n");
	by.client.session.user = acl_find(server->env.acl, STR("reader"));
	submit("length mail");
	submit("put w1 mail j1 Send {} 0");
	turn_run(server, /* wait= */ true);
	assert_answer(0, "length mail", ":0\r\n");
	TEST_ASSERT_EQUAL_STRING_LEN("-NOPERM", buf_cstr(&answers[1].reply), 7);

	submit("acl deluser reader");
	by.client.session.user = acl_default_user(server->env.acl);
	turn_run(server, /* wait= */ true);
	assert_answer(2, "acl deluser reader", ":1\r\n");
}

static void a_client_whose_user_is_deleted_has_no_rights(void)
{
	struct submitter reader;

	start("appendonly no\nuser reader on nopass ~* +length\n");
	submitter_init(&reader, server, "internal:reader",
		       acl_find(server->env.acl, STR("reader")));
	submit("acl deluser reader");
	submit_with(&reader, "length mail", note, "length");
	turn_run(server, /* wait= */ true);
	assert_answer(0, "acl deluser reader", ":1\r\n");
	assert_answer(1, "length", "-NOAUTH Authentication required.\r\n");
	submitter_done(&reader);
}

static void a_pause_holds_commands_back_in_their_order(void)
{
	start("appendonly no\n");
	submit("client pause 100000 write");
	turn_run(server, /* wait= */ true);
	submit("put w1 mail j1 Send {} 0");
	submit("length mail");
	for (int i = 0; i < 3; i++)
		turn_run(server, /* wait= */ false);
	TEST_ASSERT_EQUAL_INT(1, answer_count);
	TEST_ASSERT_FALSE(server->submissions.can_run);
	pause_end(server);
	turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_INT(3, answer_count);
	assert_answer(1, "put w1 mail j1 Send {} 0", "$2\r\nj1\r\n");
	assert_answer(2, "length mail", ":1\r\n");
}

/* Jobs whose listing takes many turns, also on a fast machine: a turn spends a millisecond on it.
 */
#define MANY_JOBS    20000
#define LONG_COMMAND "peek mail 20000"

static void put_many_jobs(void)
{
	static const char *const words[] = { "multiput", "w1", "mail", "0", "jobs" };
	struct qless_str *argv = calloc(5 + 3 * MANY_JOBS, sizeof *argv);
	int argc = 0;

	for (size_t i = 0; i < 5; i++)
		argv[argc++] = str_from(words[i]);
	for (int i = 0; i < MANY_JOBS; i++) {
		argv[argc++] = STR("*");
		argv[argc++] = STR("Send");
		argv[argc++] = STR("{}");
	}
	server_submit(server, &by, argv, argc, NULL, NULL);
	free(argv);
	turn_run(server, /* wait= */ false);
}

static void turns_until_waiting(void)
{
	while (answer_count == 0 && server->waitings.count == 0)
		turn_run(server, /* wait= */ false);
	TEST_ASSERT_EQUAL_size_t(1, server->waitings.count);
}

static void a_command_that_goes_on_is_answered_before_those_after_it(void)
{
	start("appendonly no\nmax-jobs-per-call 100000\n");
	put_many_jobs();
	submit(LONG_COMMAND);
	submit("length mail");
	turns_until_waiting();
	TEST_ASSERT_EQUAL_INT(0, answer_count);
	turns_until(2);
	assert_answer(1, "length mail", ":20000\r\n");
	TEST_ASSERT_EQUAL_STRING(LONG_COMMAND, answers[0].arg);
	TEST_ASSERT_EQUAL_MEMORY("}]\r\n", buf_data(&answers[0].reply) + answers[0].reply.len - 4,
				 4);
}

static void a_command_that_goes_on_ends_when_the_server_stops(void)
{
	start("appendonly no\nmax-jobs-per-call 100000\n");
	put_many_jobs();
	submit(LONG_COMMAND);
	turns_until_waiting();
	stop_begin(server);
	turns_until(1);
	TEST_ASSERT_EQUAL_INT(SUBMIT_CLOSED, answers[0].outcome);
	TEST_ASSERT_EQUAL_size_t(0, server->waitings.count);
}

/* A child process checks a large state, and the server repairs it. */
static void a_child_checks_a_large_state(void)
{
	struct qless *q;

	start("appendonly no\nmax-jobs-per-call 100000\n");
	put_many_jobs();
	submit("consistencycheck");
	submit("consistencycheck resolve");
	turns_until(2);
	assert_answer(0, "consistencycheck", "*0\r\n");
	assert_answer(1, "consistencycheck resolve", "*0\r\n");
	q = databases_peek(server->env.databases, 0);
	q->depending_count++;
	submit("consistencycheck");
	turns_until(3);
	assert_answer(2, "consistencycheck",
		      "*1\r\n$43\r\nnumber of \"jobs with dependencies\" is wrong\r\n");
	submit("consistencycheck resolve");
	submit("consistencycheck");
	turns_until(5);
	assert_answer(3, "consistencycheck resolve",
		      "*1\r\n$53\r\nrepaired: number of \"jobs with dependencies\" is wrong\r\n");
	assert_answer(4, "consistencycheck", "*0\r\n");
	TEST_ASSERT_EQUAL_INT(0, server->child_work.pid);
}

static void one_child_checks_at_a_time_and_is_killed_with_its_client(void)
{
	struct submitter other;

	start("appendonly no\nmax-jobs-per-call 100000\n");
	put_many_jobs();
	submitter_init(&other, server, "internal:other", acl_default_user(server->env.acl));
	submit_with(&other, "consistencycheck", note, "other");
	turn_run(server, /* wait= */ false);
	TEST_ASSERT_NOT_EQUAL_INT(0, server->child_work.pid);
	submit("consistencycheck");
	turns_until(1);
	assert_answer(0, "consistencycheck",
		      "-ERR The check cannot begin: the same command of another client has not "
		      "ended\r\n");
	submitter_done(&other);
	while (server->child_work.pid != 0)
		turn_run(server, /* wait= */ true);
	submit("consistencycheck");
	turns_until(2);
	assert_answer(1, "consistencycheck", "*0\r\n");
}

static void a_client_may_end_while_its_command_goes_on(void)
{
	start("appendonly no\nmax-jobs-per-call 100000\n");
	put_many_jobs();
	submit(LONG_COMMAND);
	turns_until_waiting();
	stop();
	TEST_ASSERT_EQUAL_INT(0, answer_count);
}

static void a_transaction_works_as_on_a_connection(void)
{
	start("appendonly no\n");
	submit("multi");
	submit("put w1 mail j1 Send {} 0");
	submit("length mail");
	submit("exec");
	turn_run(server, /* wait= */ true);
	assert_answer(0, "multi", "+OK\r\n");
	assert_answer(1, "put w1 mail j1 Send {} 0", "+QUEUED\r\n");
	assert_answer(3, "exec", "*2\r\n$2\r\nj1\r\n:1\r\n");
}

static void commands_about_a_connection_are_refused(void)
{
	static const char *const lines[] = { "subscribe news", "psubscribe n*", "monitor",
					     "client info" };

	start("appendonly no\n");
	for (int i = 0; i < 4; i++)
		submit(lines[i]);
	turn_run(server, /* wait= */ true);
	for (int i = 0; i < 4; i++)
		assert_answer(i, lines[i],
			      "-ERR this command is only available to connections\r\n");
}

static void nothing_runs_after_quit(void)
{
	start("appendonly no\n");
	submit("quit");
	submit("ping");
	turn_run(server, /* wait= */ true);
	assert_answer(0, "quit", "+OK\r\n");
	TEST_ASSERT_EQUAL_INT(SUBMIT_CLOSED, answers[1].outcome);
}

static void nothing_runs_once_the_server_stops(void)
{
	start("appendonly no\n");
	submit("ping");
	stop_begin(server);
	TEST_ASSERT_FALSE(stop_is_over(server));
	turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_INT(SUBMIT_CLOSED, answers[0].outcome);
	TEST_ASSERT_TRUE(stop_is_over(server));
}

static void a_client_that_ends_forgets_what_it_submitted(void)
{
	struct submitter other;

	start("appendonly yes\nappendfsync always\n");
	submitter_init(&other, server, "internal:other", acl_default_user(server->env.acl));
	submit_with(&other, "put w1 mail j1 Send {} 0", note, "other");
	turn_run(server, /* wait= */ false);
	submit_with(&other, "put w1 mail j2 Send {} 0", note, "other");
	submitter_done(&other);
	answer_count = 0;
	submit("length mail");
	turns_until(1);
	assert_answer(0, "length mail", ":1\r\n");
	TEST_ASSERT_EQUAL_size_t(0, server->submissions.count);
}

static void free_submitter(void *arg, enum submit_outcome outcome, const struct chain *reply)
{
	static char name[] = "freed";

	note(name, outcome, reply);
	submitter_done(arg);
}

static void a_callback_may_end_its_client(void)
{
	struct submitter other;
	struct qless_str ping = STR("ping");

	start("appendonly no\n");
	submitter_init(&other, server, "internal:other", acl_default_user(server->env.acl));
	server_submit(server, &other, &ping, 1, free_submitter, &other);
	submit_with(&other, "ping", note, "never");
	submit("ping");
	turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_INT(2, answer_count);
	TEST_ASSERT_EQUAL_STRING("freed", answers[0].arg);
	TEST_ASSERT_EQUAL_STRING("ping", answers[1].arg);
}

static void the_slow_log_names_the_client(void)
{
	start("appendonly no\nslowlog-log-slower-than 0\n");
	submit("ping");
	turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_STRING("internal:test", TAILQ_FIRST(&server->slowlog->entries)->peer);
}

int main(int argc, char **argv)
{
	const struct log_options quiet = { .level = LOG_LEVEL_NOTICE, .file = "/dev/null" };
	struct buf error = BUF_INIT(4096);

	if (log_open(&quiet, &error) < 0)
		return 1;
	UNITY_BEGIN();
	RUN(a_command_is_answered_at_the_end_of_the_turn);
	RUN(commands_are_answered_in_their_order_and_counted);
	RUN(an_answer_waits_until_the_log_is_durable);
	RUN(a_callback_may_submit_more_which_waits_for_the_log_like_the_first);
	RUN(a_log_that_fails_loses_what_has_not_become_durable);
	RUN(the_rights_are_those_of_the_user);
	RUN(a_client_whose_user_is_deleted_has_no_rights);
	RUN(a_pause_holds_commands_back_in_their_order);
	RUN(a_command_that_goes_on_is_answered_before_those_after_it);
	RUN(a_command_that_goes_on_ends_when_the_server_stops);
	RUN(a_client_may_end_while_its_command_goes_on);
	RUN(a_child_checks_a_large_state);
	RUN(one_child_checks_at_a_time_and_is_killed_with_its_client);
	RUN(a_transaction_works_as_on_a_connection);
	RUN(commands_about_a_connection_are_refused);
	RUN(nothing_runs_after_quit);
	RUN(nothing_runs_once_the_server_stops);
	RUN(a_client_that_ends_forgets_what_it_submitted);
	RUN(a_callback_may_end_its_client);
	RUN(the_slow_log_names_the_client);
	return UNIT_RESULT();
}
