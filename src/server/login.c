#include "server/login.h"

#include "command/table.h"
#include "server/commands.h"
#include "server/guesses.h"
#include "server/server_int.h"

/* Milliseconds between two looks at the connections that wait. */
#define LOOK_MS 50

static bool is_login(const struct command *cmd, const struct qless_str *args, size_t nargs)
{
	if (cmd->handler == cmd_auth)
		return true;
	if (cmd->handler != cmd_hello)
		return false;
	for (size_t i = 1; i < nargs; i++) {
		if (str_equal_nocase(args[i], STR("AUTH")))
			return true;
	}
	return false;
}

bool login_is_delayed(const struct client *c)
{
	const struct server *s = c->server;
	const struct guesses *g = s->login.guesses;

	return c->kind != CLIENT_INTERNAL && s->config->auth_failure_delay_ms != 0 &&
	       guesses_retry_us(g, guesses_address(g, c->peer), s->clocks.mono_us) != 0;
}

bool login_must_wait(const struct client *c, const struct command *cmd,
		     const struct qless_str *args, size_t nargs)
{
	return is_login(cmd, args, nargs) && login_is_delayed(c);
}

void login_failed(struct client *c)
{
	struct server *s = c->server;
	struct guesses *g = s->login.guesses;

	s->stats.auth_failures++;
	if (c->kind != CLIENT_INTERNAL)
		guesses_add(g, guesses_address(g, c->peer), s->clocks.mono_us,
			    s->config->auth_failure_delay_ms * 1000);
}

static void look_soon(struct login *login)
{
	struct timeval delay = { .tv_usec = LOOK_MS * 1000 };

	event_add(login->timer, &delay);
}

void login_wait(struct client *c)
{
	struct server *s = c->server;

	s->stats.auth_delays++;
	c->hold = HOLD_LOGIN;
	if (!evtimer_pending(s->login.timer, NULL))
		look_soon(&s->login);
}

/* Release the connections that may try again. One that was released with others of its address
 * waits again if the login of another fails first. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	bool is_awaited = false;
	struct conn *c;

	(void)fd;
	(void)what;
	server_read_clock(s);
	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (c->client.hold != HOLD_LOGIN)
			continue;
		if (login_is_delayed(&c->client))
			is_awaited = true;
		else
			conn_release(c);
	}
	if (is_awaited)
		look_soon(&s->login);
}

void login_init(struct server *s)
{
	s->login.guesses = guesses_new(s->hash_seed);
	s->login.timer = evtimer_new(s->base, on_look, s);
}

void login_done(struct server *s)
{
	if (s->login.timer != NULL)
		event_free(s->login.timer);
	guesses_free(s->login.guesses);
}
