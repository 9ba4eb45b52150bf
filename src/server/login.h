/*
 * Logins wait after failed logins of the same address.
 *
 * The password of a login that waits is not compared, because the time of the reply would tell
 * whether it is right. The connection waits instead, and its other requests with it.
 */
#ifndef SERVER_LOGIN_H
#define SERVER_LOGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "util/str.h"

struct client;
struct command;
struct event;
struct guesses;
struct server;

struct login {
	struct guesses *guesses;
	struct event *timer; /* runs while connections wait */
};

void login_init(struct server *s);
void login_done(struct server *s);

/* Returns whether the command, which needs no authentication, is a login that has to wait. */
bool login_must_wait(const struct client *c, const struct command *cmd,
		     const struct qless_str *args, size_t nargs);
/* Returns whether logins of the address of the client have to wait. */
bool login_is_delayed(const struct client *c);
/* Have the client, which is held, try again when its address may. */
void login_wait(struct client *c);
/* Count a failed login of the client. */
void login_failed(struct client *c);

#endif
