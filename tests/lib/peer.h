/*
 * A client at the level of bytes: tests spell requests and replies in the protocol. A reply that
 * takes too long fails the test.
 */
#ifndef TESTS_PEER_H
#define TESTS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qlessd.h"

struct ssl_ctx_st;
struct ssl_session_st;
struct ssl_st;

struct peer {
	int fd;
	struct ssl_st *ssl; /* NULL without TLS */
	char *buf;	    /* bytes that were read and not used yet: buf[start] .. buf[end - 1] */
	size_t start, end, cap;
	char *reply; /* the last result of peer_reply() */
	size_t reply_len;
};

/* Connect over TCP, over the Unix socket, or to another address. */
struct peer *peer_connect(const struct qlessd *q);
struct peer *peer_connect_unix(const struct qlessd *q);
struct peer *peer_connect_to(const char *host, int port);

/* Options of a TLS connection; all may be NULL or 0. */
struct peer_tls {
	const char *ca; /* CA that must have signed the server's certificate; NULL for no check */
	const char *cert, *key;
	int max_version;		/* TLS1_2_VERSION, for example */
	struct ssl_session_st *session; /* session to resume */
};
/* Returns NULL if the handshake fails; peer_tls_error() then returns the reason. */
struct peer *peer_connect_tls(int port, const struct peer_tls *tls);
const char *peer_tls_error(void);
/* Send close_notify and leave the socket open. */
void peer_close_notify(struct peer *p);
/* Whether the server ended the session by close_notify, not just by closing the connection. */
bool peer_was_notified(const struct peer *p);

/* Closes all connections of a test that are still open; for tearDown(). */
void peer_close_all(void);
void peer_close(struct peer *p);
/* Close so that the other side finds the connection reset. */
void peer_reset(struct peer *p);
/* Close the sending direction. */
void peer_shutdown(struct peer *p);
/* Use small kernel buffers, so that the server soon notices that the peer does not read. */
void peer_connect_small_buffers(bool small);

void peer_send(struct peer *p, const void *bytes, size_t len);
/* peer_send() that does not read in between, and does not fail if the server closes the connection.
 * */
void peer_send_blindly(struct peer *p, const void *bytes, size_t len);
/* Ask for an echo of `len` bytes, and read nothing of it. peer_skip_echo() does that. */
void peer_ask_for_echo(struct peer *p, size_t len);
void peer_skip_echo(struct peer *p, size_t len);
/* Whether the server can read everything that was sent. The last bytes may wait on this side until
 * the others are acknowledged. */
bool peer_is_delivered(struct peer *p);
void peer_send_text(struct peer *p, const char *text);
/* Sends what the kernel takes without waiting; returns the number of bytes. */
size_t peer_try_send(struct peer *p, const void *bytes, size_t len);
/* Sends one request as an array of bulk strings; blanks separate the words. */
void peer_send_words(struct peer *p, const char *words);

/* Expects exactly these bytes next. */
void peer_expect(struct peer *p, const char *bytes);
/* Expects the end of the connection, or a reset. */
void peer_expect_end(struct peer *p);
/* Waits for something to read. Returns false at the end of the connection, or after a reset. */
bool peer_gets_more(struct peer *p);
/* Skips the next `len` bytes. */
void peer_skip(struct peer *p, size_t len);
/* Skips `count` replies. */
void peer_skip_replies(struct peer *p, int count);
/* The next reply as it was sent, in RESP2 or RESP3, with a NUL after it. Valid until the next call.
 * */
const char *peer_reply(struct peer *p);
/* Whether something can be read within this time. */
bool peer_has_input(struct peer *p, int timeout_ms);

/* Sends words and compares the reply with the bytes. */
#define ASK(who, words, reply)                \
	do {                                  \
		struct peer *who_ = (who);    \
		peer_send_words(who_, words); \
		peer_expect(who_, reply);     \
	} while (0)

/* Sends words and searches a text in the reply. */
#define ASK_HAS(who, words, text)                                           \
	do {                                                                \
		struct peer *who_ = (who);                                  \
		const char *reply_;                                         \
		peer_send_words(who_, words);                               \
		reply_ = peer_reply(who_);                                  \
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply_, text), reply_); \
	} while (0)
#define ASK_LACKS(who, words, text)                                     \
	do {                                                            \
		struct peer *who_ = (who);                              \
		const char *reply_;                                     \
		peer_send_words(who_, words);                           \
		reply_ = peer_reply(who_);                              \
		TEST_ASSERT_NULL_MESSAGE(strstr(reply_, text), reply_); \
	} while (0)

/* Sends words and returns the reply. */
const char *peer_ask(struct peer *p, const char *words);
/* peer_ask() that returns the number after `field` in the reply, such as "connected_clients:", or
 * -1. */
int64_t peer_ask_number(struct peer *p, const char *words, const char *field);

#endif
