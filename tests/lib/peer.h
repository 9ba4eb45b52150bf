/*
 * A client that speaks bytes: what is sent and what is expected is written out in the protocol.
 * Whatever takes too long fails the test.
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
	struct ssl_st *ssl; /* NULL: the bytes go as they are */
	char *buf;	    /* read and not yet looked at: buf[start] .. buf[end - 1] */
	size_t start, end, cap;
	char *reply; /* the last one from peer_reply() */
	size_t reply_len;
};

/* Connect over TCP, the Unix socket, or to some other address. */
struct peer *peer_connect(const struct qlessd *q);
struct peer *peer_connect_unix(const struct qlessd *q);
struct peer *peer_connect_to(const char *host, int port);

/* How to connect by TLS; all may be NULL or 0. */
struct peer_tls {
	const char *ca; /* the CA that has to vouch for the server; not checked without */
	const char *cert, *key;
	int max_version;		/* TLS1_2_VERSION, for example */
	struct ssl_session_st *session; /* to be resumed */
};
/* NULL if the handshake fails; peer_tls_error() has the reason then. */
struct peer *peer_connect_tls(int port, const struct peer_tls *tls);
const char *peer_tls_error(void);
/* Say that nothing more will be sent, and leave the socket open. */
void peer_close_notify(struct peer *p);
/* The server ended the session by close_notify, and not by just closing the connection. */
bool peer_was_notified(const struct peer *p);

/* All peers of a test are closed by this at the latest, for tearDown(). */
void peer_close_all(void);
void peer_close(struct peer *p);
/* Close in such a way that the other side finds the connection reset. */
void peer_reset(struct peer *p);
/* Nothing more will be sent. */
void peer_shutdown(struct peer *p);
/* Take less into the kernel's buffers, so that the server notices early that nobody reads. */
void peer_connect_small_buffers(bool small);

void peer_send(struct peer *p, const void *bytes, size_t len);
/* The same without reading meanwhile; and it is no failure if the server hangs up. */
void peer_send_blindly(struct peer *p, const void *bytes, size_t len);
/* Whether all that was sent is where the server can read it: the last few bytes of what is sent in
 * parts may wait on this side until the others are acknowledged. */
bool peer_is_delivered(struct peer *p);
void peer_send_text(struct peer *p, const char *text);
/* As much as the kernel takes without waiting; returns how much. */
size_t peer_try_send(struct peer *p, const void *bytes, size_t len);
/* One request as an array of bulk strings, from words that blanks separate. */
void peer_send_words(struct peer *p, const char *words);

/* The next bytes are exactly these. */
void peer_expect(struct peer *p, const char *bytes);
/* The connection is at its end, or has been reset. */
void peer_expect_end(struct peer *p);
/* Wait for something to read; false if it is the end, or a reset. */
bool peer_gets_more(struct peer *p);
/* The next `len` bytes, passed over. */
void peer_skip(struct peer *p, size_t len);
/* Whole replies, passed over. */
void peer_skip_replies(struct peer *p, int count);
/* The next whole reply as it was sent, in RESP2 or RESP3, with a NUL behind it; good until the next
 * call. */
const char *peer_reply(struct peer *p);
/* Something can be read within this time. */
bool peer_has_input(struct peer *p, int timeout_ms);

/* Send words and compare the reply with the bytes. */
#define ASK(who, words, reply)                \
	do {                                  \
		struct peer *who_ = (who);    \
		peer_send_words(who_, words); \
		peer_expect(who_, reply);     \
	} while (0)

/* Send words and look for a text in the reply. */
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

/* Send words; the reply of them. */
const char *peer_ask(struct peer *p, const char *words);
/* The same, and the number behind `field` in it, such as "connected_clients:". -1 if there is
 * none. */
int64_t peer_ask_number(struct peer *p, const char *words, const char *field);

#endif
