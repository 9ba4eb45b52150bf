#include "server/monitor.h"

#include "server/server_int.h"
#include "util/escape.h"

void monitor_quote(struct buf *out, struct qless_str s)
{
	char escape[ESCAPE_MAX];

	buf_append_char(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (c >= ' ' && c <= '~' && c != '"' && c != '\\')
			buf_append_char(out, c);
		else
			buf_append(out, escape, (size_t)(escape_write(escape, c) - escape));
	}
	buf_append_char(out, '"');
}

void monitor_feed(const struct client *c, const struct qless_str *argv, int argc)
{
	struct server *s = c->server;
	struct buf line = BUF_INIT(BUF_NO_MAX);
	struct reply w;
	struct client *m, *next;

	buf_printf(&line, "%lld.%06lld [%u ", (long long)(s->clocks.wall_us / 1000000),
		   (long long)(s->clocks.wall_us % 1000000), c->session.db);
	/* Redis shows a Unix socket as "unix:" and its path, without the ":0" of the address. */
	if (c->kind == CLIENT_UNIX)
		buf_printf(&line, "unix:%.*s]", (int)strlen(c->peer) - 2, c->peer);
	else
		buf_printf(&line, "%s]", c->peer);
	for (int i = 0; i < argc; i++) {
		buf_append_char(&line, ' ');
		monitor_quote(&line, argv[i]);
	}
	for (m = TAILQ_FIRST(&s->clients.monitors); m != NULL; m = next) {
		next = TAILQ_NEXT(m, monitor);
		client_begin_message(m, &w);
		reply_status(&w, buf_str(&line));
		client_output_grew(m);
	}
	buf_done(&line);
}
