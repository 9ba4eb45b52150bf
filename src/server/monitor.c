#include "server/monitor.h"

#include "server/server_int.h"

void monitor_quote(struct buf *out, struct qless_str s)
{
	static const char hex[] = "0123456789abcdef";

	buf_append_char(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char byte = (unsigned char)s.ptr[i];
		char escaped[4] = { '\\', 'x', hex[byte >> 4], hex[byte & 15] };

		switch (byte) {
		case '\\':
		case '"':
			escaped[1] = (char)byte;
			buf_append(out, escaped, 2);
			break;
		case '\n':
			buf_append(out, "\\n", 2);
			break;
		case '\r':
			buf_append(out, "\\r", 2);
			break;
		case '\t':
			buf_append(out, "\\t", 2);
			break;
		case '\a':
			buf_append(out, "\\a", 2);
			break;
		case '\b':
			buf_append(out, "\\b", 2);
			break;
		default:
			if (byte < 0x20 || byte > 0x7e)
				buf_append(out, escaped, 4);
			else
				buf_append_char(out, (char)byte);
		}
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
