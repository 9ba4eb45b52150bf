/*
 * Requests to a whole server without sockets. Every command meets the state that earlier commands
 * left. Nothing may crash, the invariants of the engines hold after each request, and all replies
 * are well-formed RESP. At the end the metrics are well-formed, too.
 *
 * An input is text. Its first byte chooses the configuration. The first byte of each line chooses
 * one of a few connections, and the rest is sent there with a line end. Usually that is an inline
 * command, but lines may also spell a request in the protocol. A new connection replaces one that
 * the server has closed.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "command/acl.h"
#include "command/databases.h"
#include "command/scripts.h"
#include "config/config.h"
#include "qless.h"
#include "server/metrics.h"
#include "server/server_int.h"
#include "sys/log.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/num.h"

#define PEERS	  3
#define MAX_LINES 100
/* More turns than any input needs, to detect an endless loop. */
#define MAX_TURNS 1000

/* Known from the start as the SHA-1 of the script of qless, for EVALSHA. */
#define SCRIPT_SHA "0123456789abcdef0123456789abcdef01234567"

static const char *const configurations[] = {
	"",
	"requirepass secret\n",
	"user a on >a ~* &* +@all\nuser b on nopass ~* +@read +put\n"
	"slowlog-log-slower-than 0\nlatency-monitor-threshold 1\n",
	"max-name-length 64\nmax-tags 16\nmax-jobs-per-call 100\nmax-json-depth 8\n"
	"script-error-format redis6\ncommands-per-turn 1\n",
};

/* ---- connections that are memory ---- */

struct peer {
	struct conn *conn; /* NULL when the server has freed it */
	struct qless_str to_read;
	struct buf written;
};

static ssize_t peer_read(struct transport *t, char *to, size_t size)
{
	struct peer *p = t->state;

	t->has_more = false;
	if (p->to_read.len == 0)
		return TRANSPORT_WANT_READ;
	if (size > p->to_read.len)
		size = p->to_read.len;
	memcpy(to, p->to_read.ptr, size);
	p->to_read.ptr += size;
	p->to_read.len -= size;
	t->has_more = p->to_read.len > 0;
	return (ssize_t)size;
}

static ssize_t peer_write(struct transport *t, const struct iovec *iov, int count)
{
	struct peer *p = t->state;
	size_t before = p->written.len;

	for (int i = 0; i < count; i++)
		buf_append(&p->written, iov[i].iov_base, iov[i].iov_len);
	return (ssize_t)(p->written.len - before);
}

static void peer_shutdown(struct transport *t)
{
	(void)t;
}

static bool peer_is_delivered(const struct transport *t)
{
	(void)t;
	return true;
}

static void peer_done(struct transport *t)
{
	struct peer *p = t->state;

	p->conn = NULL;
	p->to_read.len = 0;
}

static void peer_connect(struct peer *p, struct server *s)
{
	static const struct transport_ops ops = {
		.name = "memory",
		.read = peer_read,
		.write = peer_write,
		.shutdown = peer_shutdown,
		.is_delivered = peer_is_delivered,
		.done = peer_done,
	};
	/* For the loop, this descriptor is always readable and writable, and writing to it triggers
	 * a new event. */
	int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
	const struct user *user = acl_default_user(s->env.acl);

	assert(fd >= 0);
	p->conn = conn_new(s, fd, true, mem_dup("memory:0", 8), mem_dup("memory:1", 8));
	p->conn->transport.ops = &ops;
	p->conn->transport.state = p;
	conn_begin(p->conn);
	if (acl_user_needs_no_password(user))
		p->conn->client.session.user = user;
}

/* ---- what comes back ---- */

static struct qless_str take_line(struct qless_str *rest)
{
	const char *end = memchr(rest->ptr, '\n', rest->len);
	struct qless_str line;

	assert(end != NULL && end > rest->ptr && end[-1] == '\r');
	line = str_make(rest->ptr, (size_t)(end - 1 - rest->ptr));
	assert(memchr(line.ptr, '\r', line.len) == NULL);
	rest->len -= line.len + 2;
	rest->ptr = end + 1;
	return line;
}

/* The number of values that follow and belong to this one. */
static uint64_t take_value(struct qless_str *rest)
{
	struct qless_str line = take_line(rest);
	int64_t number = 0;

	assert(line.len > 0);
	if (strchr(":$*%~>=!", line.ptr[0]) != NULL)
		assert(num_parse_i64(str_make(line.ptr + 1, line.len - 1), &number));
	switch (line.ptr[0]) {
	case '+':
	case '-':
	case ':':
	case ',':
	case '#':
	case '_':
	case '(':
		return 0;
	case '$':
	case '=':
	case '!':
		if (number == -1)
			return 0;
		assert(number >= 0 && rest->len >= (uint64_t)number + 2);
		assert(memcmp(rest->ptr + number, "\r\n", 2) == 0);
		rest->ptr += number + 2;
		rest->len -= (size_t)number + 2;
		return 0;
	case '*':
	case '~':
	case '>':
		return number > 0 ? (uint64_t)number : 0;
	case '%':
		return 2 * (uint64_t)number;
	default:
		abort();
	}
}

/* Complete replies and nothing else. */
static void check_written(struct peer *p)
{
	struct qless_str rest = buf_str(&p->written);

	while (rest.len > 0) {
		uint64_t open = 1;

		while (open > 0)
			open = open - 1 + take_value(&rest);
	}
	buf_clear(&p->written);
}

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
	abort();
}

static void check_engines(struct server *s)
{
	for (unsigned db = 0; db < databases_count(s->env.databases); db++) {
		const struct qless *q = databases_peek(s->env.databases, db);

		if (q != NULL)
			qless_check(q, fail_finding, NULL);
	}
}

/* Names from outside stay inside their quotes, and each line except comments ends with a number. */
static void check_sample(struct qless_str line)
{
	bool is_quoted = false;
	size_t blank = 0;
	double value;

	for (size_t i = 0; i < line.len; i++) {
		assert((unsigned char)line.ptr[i] >= ' ');
		if (line.ptr[i] == '\\' && is_quoted)
			i++;
		else if (line.ptr[i] == '"')
			is_quoted = !is_quoted;
		else if (line.ptr[i] == ' ' && !is_quoted)
			blank = i;
	}
	assert(!is_quoted && blank > 0);
	assert(num_parse_lua(str_make(line.ptr + blank, line.len - blank), &value));
}

static void check_metrics(struct server *s)
{
	struct metrics *metrics = metrics_new(s);
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str rest;

	while (metrics_append(metrics, &text, 1000))
		;
	metrics_free(metrics);
	rest = buf_str(&text);
	while (rest.len > 0) {
		const char *end = memchr(rest.ptr, '\n', rest.len);

		assert(end != NULL && end > rest.ptr);
		if (rest.ptr[0] != '#')
			check_sample(str_make(rest.ptr, (size_t)(end - rest.ptr)));
		rest.len -= (size_t)(end - rest.ptr) + 1;
		rest.ptr = end + 1;
	}
	buf_done(&text);
}

/* ---- the server ---- */

static void configure(struct config *config, uint8_t choice)
{
	struct buf text = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(4096);
	const char *chosen =
		configurations[choice % (sizeof configurations / sizeof *configurations)];
	int rc;

	/* A server must listen somewhere; no client uses this socket. */
	buf_printf(&text, "port 0\nunixsocket /tmp/qlessd-fuzz-%d.sock\n", (int)getpid());
	buf_printf(&text, "appendonly no\ndatabases 3\n%s", chosen);
	config_init(config);
	rc = config_parse_text(config, "fuzz.conf", buf_str(&text), &error);
	if (rc < 0)
		fprintf(stderr, "%s\n", buf_cstr(&error));
	assert(rc == 0);
	buf_done(&text);
	buf_done(&error);
}

static void quiet_log(void)
{
	const struct log_options options = { .level = LOG_LEVEL_NOTICE, .file = "/dev/null" };
	static bool is_open;
	struct buf error = BUF_INIT(4096);

	if (!is_open)
		assert(log_open(&options, &error) == 0);
	is_open = true;
	buf_done(&error);
}

static bool is_busy(const struct server *s, const struct peer *p)
{
	return p->to_read.len > 0 || !TAILQ_EMPTY(&s->conns.ready);
}

/* Deliver one line of the input, and run all that follows from it. */
static void deliver(struct server *s, struct peer *peers, struct peer *to, struct qless_str line)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);

	if (to->conn == NULL)
		peer_connect(to, s);
	buf_append_str(&bytes, line);
	buf_append_str(&bytes, STR("\r\n"));
	to->to_read = buf_str(&bytes);
	eventfd_write(to->conn->transport.fd, 1);
	for (int turn = 0; turn == 0 || is_busy(s, to); turn++) {
		assert(turn < MAX_TURNS);
		turn_run(s, /* wait= */ false);
		/* End a pause, because time does not pass here. */
		if (s->pause.mode != PAUSE_NONE && to->conn != NULL && to->conn->state == CONN_HELD)
			pause_end(s);
		if (to->conn == NULL)
			break;
	}
	to->to_read.len = 0;
	for (int i = 0; i < PEERS; i++)
		check_written(&peers[i]);
	check_engines(s);
	buf_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qless_str rest = str_make((const char *)data, size);
	struct buf error = BUF_INIT(4096);
	struct peer peers[PEERS] = { 0 };
	struct config config;
	struct server *s;

	if (size == 0)
		return 0;
	quiet_log();
	configure(&config, data[0]);
	s = server_new(&config, NULL, &error);
	if (s == NULL)
		fprintf(stderr, "%s\n", buf_cstr(&error));
	assert(s != NULL);
	scripts_add(s->env.scripts, STR(SCRIPT_SHA), &dialect_classic, NULL, 0);
	for (int i = 0; i < PEERS; i++)
		buf_init(&peers[i].written, BUF_NO_MAX);

	rest.ptr++;
	rest.len--;
	for (int lines = 0; rest.len > 1 && lines < MAX_LINES && !s->stop.is_begun; lines++) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		struct qless_str line =
			str_make(rest.ptr, end != NULL ? (size_t)(end - rest.ptr) : rest.len);

		rest.ptr += line.len;
		rest.len -= line.len;
		if (end != NULL) {
			rest.ptr++;
			rest.len--;
		}
		if (line.len > 0)
			deliver(s, peers, &peers[(uint8_t)line.ptr[0] % PEERS],
				str_make(line.ptr + 1, line.len - 1));
	}
	check_metrics(s);
	server_free(s);
	for (int i = 0; i < PEERS; i++)
		buf_done(&peers[i].written);
	config_done(&config);
	log_set_level(LOG_LEVEL_NOTICE);
	buf_done(&error);
	return 0;
}
