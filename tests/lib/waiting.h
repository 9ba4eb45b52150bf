/*
 * Clients that wait for jobs: begin a wait, put jobs, and see who gets them.
 */
#ifndef TESTS_WAITING_H
#define TESTS_WAITING_H

#include <stdio.h>

#include "peer.h"
#include "unit.h"
#include "wait.h"

/* The reply of BPOP when its time is over. */
#define WAITING_NOTHING "*-1\r\n"

static inline int64_t waiting_clients(struct peer *asker)
{
	return peer_ask_number(asker, "INFO clients", "blocked_clients:");
}

static inline void waiting_await(struct peer *asker, int64_t clients)
{
	WAIT_UNTIL(waiting_clients(asker) == clients);
}

/* Sends the words, and returns when the server has one more client that waits. */
static inline void waiting_begin(struct peer *asker, struct peer *worker, const char *words)
{
	int64_t before = waiting_clients(asker);

	peer_send_words(worker, words);
	waiting_await(asker, before + 1);
}

static inline void waiting_put(struct peer *asker, const char *queue, const char *jid)
{
	char words[256];

	snprintf(words, sizeof words, "PUT w %s %s klass {} 0", queue, jid);
	TEST_ASSERT_EQUAL_INT('$', peer_ask(asker, words)[0]);
}

/* Expects a reply with exactly these jobs, whose jids are separated by blanks. */
static inline void waiting_expect_jobs(struct peer *worker, const char *jids)
{
	const char *reply = peer_reply(worker), *at = reply;
	char list[4096] = "";
	size_t len = 0;

	while ((at = strstr(at, "{\"jid\":\"")) != NULL) {
		at += strlen("{\"jid\":\"");
		len += (size_t)snprintf(list + len, sizeof list - len, "%s%.*s",
					len != 0 ? " " : "", (int)strcspn(at, "\""), at);
		TEST_ASSERT_LESS_THAN_size_t(sizeof list, len);
	}
	TEST_ASSERT_EQUAL_STRING_MESSAGE(jids, list, reply);
}

static inline void waiting_expect_nothing_yet(struct peer *asker, struct peer *worker)
{
	/* The server has answered a later request, so a reply would have been sent. */
	ASK(asker, "PING", "+PONG\r\n");
	TEST_ASSERT_FALSE(peer_has_input(worker, 0));
}

#endif
