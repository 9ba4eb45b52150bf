/*
 * Clients that have not authenticated: the time, the places and the guesses that they get.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "ahead.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"

#define WRONGPASS "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
/* Number of guesses that one connection sends at once. */
#define GUESSES 200

static struct qlessd q;
static struct peer *p;
static struct ahead ahead;

void setUp(void)
{
	struct rlimit files;

	ahead_init(&ahead);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	ahead_done(&ahead);
}

static void pass(double seconds)
{
	ahead_pass(&ahead, &q, seconds);
}

static struct peer *connect_user(void)
{
	struct peer *user = peer_connect(&q);

	ASK(user, "AUTH secret", "+OK\r\n");
	return user;
}

static int64_t strangers(void)
{
	return peer_ask_number(p, "INFO clients", "unauthenticated_clients:");
}

static void a_client_that_does_not_authenticate_is_closed(void)
{
	struct peer *silent, *busy;

	AHEAD_START(&q, "--requirepass", "secret", "--authentication-timeout", "1000");
	p = connect_user();
	silent = peer_connect(&q);
	busy = peer_connect(&q);
	ASK_HAS(busy, "PING", "-NOAUTH");
	WAIT_UNTIL(strangers() == 2);
	pass(600);
	ASK_HAS(busy, "PING", "-NOAUTH");
	TEST_ASSERT_EQUAL_INT64(2, strangers());
	pass(600);
	peer_expect_end(silent);
	peer_expect_end(busy);
	TEST_ASSERT_EQUAL_INT64(0, strangers());
	TEST_ASSERT_EQUAL_INT64(
		2, peer_ask_number(p, "INFO stats", "unauthenticated_disconnections:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "client closed before it had authenticated"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "reason=authentication-timeout"));
}

static void reset_makes_a_client_a_stranger_again(void)
{
	struct peer *other;

	AHEAD_START(&q, "--requirepass", "secret", "--authentication-timeout", "1000");
	p = connect_user();
	other = connect_user();
	pass(1200);
	TEST_ASSERT_EQUAL_INT64(0, strangers());
	ASK(other, "RESET", "+RESET\r\n");
	TEST_ASSERT_EQUAL_INT64(1, strangers());
	pass(600);
	ASK_HAS(other, "PING", "-NOAUTH");
	pass(600);
	peer_expect_end(other);
}

/* More silent connections than there are places. */
static void strangers_leave_places_to_users(void)
{
	struct peer *flood[60];

	QLESSD_START(&q, "--requirepass", "secret", "--maxclients", "20");
	p = connect_user();
	for (int i = 0; i < 60; i++)
		flood[i] = peer_connect(&q);
	WAIT_UNTIL(peer_ask_number(p, "INFO stats", "total_connections_received:") >= 61);
	TEST_ASSERT_EQUAL_INT64(10, strangers());
	peer_expect_end(flood[0]);
	peer_expect_end(flood[49]);
	ASK_HAS(flood[50], "PING", "-NOAUTH");
	for (int i = 0; i < 19; i++)
		connect_user();
	TEST_ASSERT_EQUAL_INT64(20, peer_ask_number(p, "INFO clients", "connected_clients:"));
	peer_expect(peer_connect(&q), "-ERR max number of clients reached\r\n");
}

static void memory_of_strangers_is_bounded_in_sum(void)
{
	static char argument[900];

	QLESSD_START(&q, "--requirepass", "secret", "--unauthenticated-memory-limit", "1mb",
		     "--maxclients", "4000");
	p = connect_user();
	memset(argument, 'x', sizeof argument);
	for (int i = 0; i < 800; i++) {
		struct peer *stranger = peer_connect(&q);

		peer_send_text(stranger, "*2\r\n$4\r\nAUTH\r\n$900\r\n");
		peer_send_blindly(stranger, argument, sizeof argument);
	}
	WAIT_UNTIL(peer_ask_number(p, "INFO stats", "unauthenticated_disconnections:") > 0);
	WAIT_UNTIL(peer_ask_number(p, "INFO clients", "unauthenticated_memory:") <= 1048576);
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "reason=unauthenticated-memory-limit"));
	connect_user();
}

/* Without a password, clients that only connect are welcome until somebody needs their place. */
static void a_silent_client_gives_up_its_place_when_all_are_taken(void)
{
	struct peer *silent;

	AHEAD_START(&q, "--maxclients", "3", "--authentication-timeout", "1000");
	silent = peer_connect(&q);
	p = peer_connect(&q);
	ASK(p, "PING", "+PONG\r\n");
	ASK(peer_connect(&q), "PING", "+PONG\r\n");
	TEST_ASSERT_EQUAL_INT64(3, peer_ask_number(p, "INFO clients", "connected_clients:"));
	peer_expect(peer_connect(&q), "-ERR max number of clients reached\r\n");
	pass(1200);
	WAIT_UNTIL(peer_ask(peer_connect(&q), "PING")[0] == '+');
	peer_expect_end(silent);
	ASK(p, "PING", "+PONG\r\n");
}

static void send_guesses(struct peer *guesser, int count)
{
	for (int i = 0; i < count; i++)
		peer_send_text(guesser, "AUTH wrong\r\n");
}

static void guesses_of_an_address_slow_down(void)
{
	struct peer *guesser, *user;
	int64_t started_ms;

	QLESSD_START(&q, "--requirepass", "secret", "--auth-failure-delay", "200");
	p = connect_user();
	guesser = peer_connect(&q);
	started_ms = wait_now_ms();
	send_guesses(guesser, 20);
	for (int i = 0; i < 20; i++)
		peer_expect(guesser, WRONGPASS);
	/* 20 + 40 + 80 + 160 + 5 * 200 milliseconds after the eleventh and later ones */
	TEST_ASSERT_GREATER_THAN_INT64(1200, wait_now_ms() - started_ms);
	TEST_ASSERT_GREATER_THAN_INT64(0, peer_ask_number(p, "INFO stats", "auth_delays:"));
	/* A login of the same address waits as well, and succeeds. */
	user = peer_connect(&q);
	peer_send_text(user, "HELLO 3 AUTH default secret\r\n");
	TEST_ASSERT_EQUAL_INT('%', peer_reply(user)[0]);
	/* A client that is logged in is served all the time. */
	send_guesses(guesser, 100);
	for (int i = 0; i < 1000; i++)
		ASK(p, "PING", "+PONG\r\n");
}

static void many_connections_do_not_guess_faster(void)
{
	struct peer *guessers[50];
	int64_t started_ms, made;

	QLESSD_START(&q, "--requirepass", "secret");
	p = connect_user();
	started_ms = wait_now_ms();
	for (int i = 0; i < 50; i++) {
		guessers[i] = peer_connect(&q);
		send_guesses(guessers[i], GUESSES);
	}
	/* 20 + 40 + 80 + 160 + 320 + 640 + 1000 milliseconds after the eleventh and later ones */
	WAIT_UNTIL(peer_ask_number(p, "INFO stats", "acl_access_denied_auth:") >= 18);
	made = peer_ask_number(p, "INFO stats", "acl_access_denied_auth:");
	TEST_ASSERT_LESS_OR_EQUAL_INT64(10 + 7 + (wait_now_ms() - started_ms) / 1000 + 1, made);
}

static void a_transaction_does_not_guess_faster(void)
{
	QLESSD_START(&q, "--requirepass", "secret", "--auth-failure-delay", "60000");
	p = connect_user();
	ASK(p, "MULTI", "+OK\r\n");
	for (int i = 0; i < 40; i++)
		ASK(p, "AUTH wrong", "+QUEUED\r\n");
	ASK_HAS(p, "EXEC", "-ERR too many failed logins from this address");
	TEST_ASSERT_EQUAL_INT64(11, peer_ask_number(p, "INFO stats", "acl_access_denied_auth:"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_client_that_does_not_authenticate_is_closed);
	RUN(reset_makes_a_client_a_stranger_again);
	RUN(strangers_leave_places_to_users);
	RUN(memory_of_strangers_is_bounded_in_sum);
	RUN(a_silent_client_gives_up_its_place_when_all_are_taken);
	RUN(guesses_of_an_address_slow_down);
	RUN(many_connections_do_not_guess_faster);
	RUN(a_transaction_does_not_guess_faster);
	return UNIT_RESULT();
}
