#include "client/connection.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/tls.h"
#include "sys/clock.h"
#include "util/mem.h"
#include "util/num.h"

/* Bytes of one recv(). */
#define PIECE_BYTES ((size_t)64 * 1024)
/* Bytes that one step reads at most, so that a fast server does not hold up an event loop. */
#define STEP_BYTES ((size_t)1024 * 1024)
/* Bytes that may wait for the rest of a reply: the longest string, and what follows it. */
#define INPUT_MAX (CLIENT_REPLY_STRING_MAX + 2 * STEP_BYTES)
/* Bytes of a message about a failure. */
#define ERROR_MAX 1024
/* Requests of a login: HELLO or AUTH, CLIENT SETNAME, SELECT, and ROLE. */
#define LOGIN_MAX 4
/* Seconds without a sign of life, after which the kernel asks for one, and seconds between two
 * questions. After KEEPALIVE_COUNT of them without an answer, the connection is lost. */
#define KEEPALIVE_IDLE_S     30
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_COUNT	     3

struct connection {
	const struct client_settings *settings; /* with one server */
	const struct client_settings *group; /* with all servers of a group; NULL: there is none */
	struct client_settings chosen;	     /* the settings with the current server of the group */
	size_t server;			     /* its position in the list */
	enum connection_state state;
	int fd;
	int64_t deadline_us;
	struct addrinfo *addresses;
	struct addrinfo *address; /* the current one, or NULL for a Unix socket */
	struct client_tls *tls;
	struct client_tls_session *session; /* NULL without TLS */
	struct buf held;		    /* requests until the login is complete */
	struct buf out;
	struct buf to_send; /* `out` as TLS sends it */
	struct buf received;
	struct buf in; /* `received` as TLS reads it */
	struct client_reply_parser parser;
	/* Whether an error as the reply to this request fails the login. */
	bool login_must_succeed[LOGIN_MAX];
	unsigned login_sent;
	unsigned login_answered;
	unsigned role_at; /* position of ROLE among the requests of the login of a group */
	int64_t id;
	struct buf error;
};

static void append_request(struct buf *out, const struct qless_str *argv, size_t argc)
{
	buf_printf(out, "*%zu\r\n", argc);
	for (size_t i = 0; i < argc; i++) {
		buf_printf(out, "$%zu\r\n", argv[i].len);
		buf_append_str(out, argv[i]);
		buf_append_str(out, STR("\r\n"));
	}
}

/* ---- states ---- */

static bool may_follow(enum connection_state from, enum connection_state to)
{
	switch (to) {
	case CONNECTION_CONNECTING: /* the next address, or the next server of a group */
		return from < CONNECTION_READY;
	case CONNECTION_HANDSHAKE:
		return from == CONNECTION_CONNECTING;
	case CONNECTION_LOGIN:
		return from == CONNECTION_CONNECTING || from == CONNECTION_HANDSHAKE;
	case CONNECTION_READY:
		return from == CONNECTION_LOGIN;
	case CONNECTION_LOST:
	case CONNECTION_REFUSED:
		return from != CONNECTION_LOST && from != CONNECTION_REFUSED;
	}
	return false;
}

static void set_state(struct connection *c, enum connection_state state)
{
	assert(may_follow(c->state, state));
	c->state = state;
}

static void close_socket(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static bool try_next_server(struct connection *c);

/* Fails, unless another server of the group may be used. Then it connects to that one. */
static void fail(struct connection *c, enum connection_state state, const char *what,
		 const char *why)
{
	if (connection_has_failed(c))
		return;
	if (state == CONNECTION_LOST && c->state < CONNECTION_READY && try_next_server(c))
		return;
	client_settings_print_address(c->group != NULL && c->state < CONNECTION_READY ? c->group
										      : c->settings,
				      &c->error);
	buf_printf(&c->error, ": %s%s%s", what, why != NULL ? ": " : "", why != NULL ? why : "");
	buf_cstr(&c->error);
	set_state(c, state);
	close_socket(c);
	c->deadline_us = INT64_MAX;
}

/* ---- connecting ---- */

static void set_deadline(struct connection *c)
{
	double timeout_s = c->settings->connect_timeout_s;

	c->deadline_us =
		timeout_s > 0 ? clock_mono_us() + clock_from_seconds(timeout_s) : INT64_MAX;
}

static void set_socket_options(int fd)
{
	const int on = 1, idle = KEEPALIVE_IDLE_S, interval = KEEPALIVE_INTERVAL_S,
		  count = KEEPALIVE_COUNT;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

/* Returns 0 or a negative errno. */
static int begin_connect(struct connection *c, int family, const struct sockaddr *address,
			 socklen_t len)
{
	close_socket(c);
	c->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	if (family != AF_UNIX)
		set_socket_options(c->fd);
	set_deadline(c);
	if (connect(c->fd, address, len) < 0 && errno != EINPROGRESS)
		return -errno;
	return 0;
}

/* Tries the addresses from the current one. `rc` is why the last one failed. */
static void try_addresses(struct connection *c, int rc)
{
	while (c->address != NULL) {
		rc = begin_connect(c, c->address->ai_family, c->address->ai_addr,
				   c->address->ai_addrlen);
		if (rc == 0)
			return;
		c->address = c->address->ai_next;
	}
	fail(c, CONNECTION_LOST, "cannot connect", strerror(-rc));
}

static void fail_address(struct connection *c, int rc)
{
	if (c->address != NULL)
		c->address = c->address->ai_next;
	try_addresses(c, rc);
}

static void open_socket(struct connection *c, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int rc;

	if (strlen(path) >= sizeof address.sun_path) {
		fail(c, CONNECTION_REFUSED, "the path of the socket is too long", NULL);
		return;
	}
	memcpy(address.sun_path, path, strlen(path));
	rc = begin_connect(c, AF_UNIX, (const struct sockaddr *)&address, sizeof address);
	if (rc < 0)
		fail(c, CONNECTION_LOST, "cannot connect", strerror(-rc));
}

static void open_host(struct connection *c)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char port[NUM_MAX];
	int rc;

	num_format_u64(port, (uint64_t)c->settings->port);
	rc = getaddrinfo(c->settings->host, port, &hints, &c->addresses);
	if (rc != 0) {
		c->addresses = NULL;
		fail(c, CONNECTION_LOST, "cannot resolve the name",
		     rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
		return;
	}
	c->address = c->addresses;
	try_addresses(c, -EHOSTUNREACH);
}

/* ---- the servers of a group ---- */

static void choose_server(struct connection *c)
{
	client_settings_done(&c->chosen);
	client_settings_copy(&c->chosen, c->group);
}

/* Forgets the current server, and what it has said. */
static void forget_server(struct connection *c)
{
	close_socket(c);
	if (c->addresses != NULL)
		freeaddrinfo(c->addresses);
	c->addresses = c->address = NULL;
	client_tls_session_free(c->session);
	c->session = NULL;
	buf_clear(&c->out);
	buf_clear(&c->to_send);
	buf_clear(&c->received);
	buf_clear(&c->in);
	client_reply_parser_done(&c->parser);
	client_reply_parser_init(&c->parser);
	c->login_sent = c->login_answered = 0;
	c->id = 0;
}

static bool try_next_server(struct connection *c)
{
	if (c->group == NULL)
		return false;
	choose_server(c);
	if (!client_settings_choose(&c->chosen, ++c->server))
		return false;
	forget_server(c);
	set_state(c, CONNECTION_CONNECTING);
	open_host(c);
	return true;
}

static struct connection *new_connection(const struct client_settings *settings)
{
	struct connection *c = mem_zalloc(sizeof *c);

	c->settings = settings;
	c->fd = -1;
	c->deadline_us = INT64_MAX;
	buf_init(&c->held, BUF_NO_MAX);
	buf_init(&c->out, BUF_NO_MAX);
	buf_init(&c->to_send, BUF_NO_MAX);
	buf_init(&c->received, BUF_NO_MAX);
	buf_init(&c->in, INPUT_MAX);
	buf_init(&c->error, BUF_NO_MAX);
	client_reply_parser_init(&c->parser);
	return c;
}

/* Returns false if the settings of TLS are wrong. */
static bool prepare_tls(struct connection *c)
{
	struct buf reason = BUF_INIT(ERROR_MAX);

	if (!c->settings->tls)
		return true;
	c->tls = client_tls_new(c->settings, &reason);
	if (c->tls == NULL)
		fail(c, CONNECTION_REFUSED, buf_cstr(&reason), NULL);
	buf_done(&reason);
	return c->tls != NULL;
}

struct connection *connection_open(const struct client_settings *settings)
{
	struct connection *c = new_connection(settings);

	if (settings->others != NULL && settings->socket == NULL) {
		c->group = settings;
		c->settings = &c->chosen;
		choose_server(c);
		client_settings_choose(&c->chosen, 0);
	}
	if (!prepare_tls(c))
		return c;
	if (settings->socket != NULL)
		open_socket(c, settings->socket);
	else
		open_host(c);
	return c;
}

struct connection *connection_adopt(int fd, const struct client_settings *settings)
{
	struct connection *c = new_connection(settings);
	int flags = fcntl(fd, F_GETFL);

	c->fd = fd;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		fail(c, CONNECTION_LOST, "the socket cannot be used", strerror(errno));
		return c;
	}
	if (!prepare_tls(c))
		return c;
	/* The next step finds the socket connected. */
	set_deadline(c);
	return c;
}

void connection_close(struct connection *c)
{
	if (c == NULL)
		return;
	close_socket(c);
	if (c->addresses != NULL)
		freeaddrinfo(c->addresses);
	client_tls_session_free(c->session);
	client_tls_free(c->tls);
	client_reply_parser_done(&c->parser);
	buf_done(&c->held);
	buf_done(&c->out);
	buf_done(&c->to_send);
	buf_done(&c->received);
	buf_done(&c->in);
	buf_done(&c->error);
	client_settings_done(&c->chosen);
	free(c);
}

/* ---- login ---- */

static void send_login(struct connection *c, const struct qless_str *argv, size_t argc,
		       bool must_succeed)
{
	assert(c->login_sent < LOGIN_MAX);
	append_request(&c->out, argv, argc);
	c->login_must_succeed[c->login_sent++] = must_succeed;
}

#define LOGIN(c, must_succeed, ...)                                                              \
	send_login((c), (const struct qless_str[]){ __VA_ARGS__ },                               \
		   sizeof((const struct qless_str[]){ __VA_ARGS__ }) / sizeof(struct qless_str), \
		   (must_succeed))

static void begin_login(struct connection *c)
{
	const struct client_settings *s = c->settings;
	struct qless_str user = str_from(s->user != NULL ? s->user : "default");
	char db[NUM_MAX];

	set_state(c, CONNECTION_LOGIN);
	if (s->proto == 3 && s->password != NULL)
		LOGIN(c, true, STR("HELLO"), STR("3"), STR("AUTH"), user, str_from(s->password));
	else if (s->proto == 3)
		LOGIN(c, true, STR("HELLO"), STR("3"));
	else if (s->password != NULL && s->user != NULL)
		LOGIN(c, true, STR("AUTH"), user, str_from(s->password));
	else if (s->password != NULL)
		LOGIN(c, true, STR("AUTH"), str_from(s->password));
	/* A user may be forbidden to name connections. */
	if (s->name != NULL)
		LOGIN(c, false, STR("CLIENT"), STR("SETNAME"), str_from(s->name));
	if (s->db != 0)
		LOGIN(c, true, STR("SELECT"), str_make(db, num_format_u64(db, s->db)));
	c->role_at = c->login_sent;
	if (c->group != NULL)
		LOGIN(c, false, STR("ROLE"));
}

/* The server may be ready later: an error that says so is not final. */
static bool is_temporary(const struct client_reply *r)
{
	return client_reply_has_code(r, "LOADING") || client_reply_has_code(r, "BUSY") ||
	       str_starts_with(client_reply_str(r), STR("ERR max number of clients"));
}

static bool take_reply(struct connection *c, struct client_reply *ret_reply)
{
	switch (client_reply_parse(&c->parser, &c->in, ret_reply)) {
	case CLIENT_REPLY_WHOLE:
		return true;
	case CLIENT_REPLY_INVALID:
		fail(c, CONNECTION_REFUSED, "the server does not speak RESP", c->parser.error);
		return false;
	case CLIENT_REPLY_MORE:
		return false;
	}
	return false;
}

/* HELLO replies with a map. */
static void take_id(struct connection *c, const struct client_reply *hello)
{
	for (size_t i = 0; hello->type == CLIENT_REPLY_MAP && i + 1 < hello->count; i += 2) {
		if (str_equal(client_reply_str(&hello->elements[i]), STR("id")))
			c->id = hello->elements[i + 1].integer;
	}
}

/* ROLE replies with an array. A user that may not ask is told later who leads. */
static bool follows(const struct client_reply *role)
{
	return role->type == CLIENT_REPLY_ARRAY && role->count != 0 &&
	       str_equal(client_reply_str(&role->elements[0]), STR("slave"));
}

static void continue_login(struct connection *c)
{
	struct client_reply reply;

	while (c->state == CONNECTION_LOGIN && c->login_answered < c->login_sent) {
		bool must_succeed = c->login_must_succeed[c->login_answered];
		bool is_role = c->group != NULL && c->login_answered == c->role_at;

		if (!take_reply(c, &reply))
			return;
		if (reply.type != CLIENT_REPLY_PUSH)
			c->login_answered++;
		take_id(c, &reply);
		if (must_succeed && client_reply_is_error(&reply))
			fail(c, is_temporary(&reply) ? CONNECTION_LOST : CONNECTION_REFUSED,
			     "the server refuses the login", reply.ptr);
		else if (is_role && follows(&reply))
			fail(c, CONNECTION_LOST, "the server does not lead its group", NULL);
		client_reply_done(&reply);
	}
	if (c->state != CONNECTION_LOGIN)
		return;
	set_state(c, CONNECTION_READY);
	c->deadline_us = INT64_MAX;
	buf_append_str(&c->out, buf_str(&c->held));
	buf_done(&c->held);
}

/* ---- bytes ---- */

/* Returns whether the other side has closed the connection, or it failed. */
static bool read_socket(struct connection *c, int *ret_error)
{
	struct buf *to = c->session != NULL ? &c->received : &c->in;
	size_t total = 0;

	*ret_error = 0;
	while (total < STEP_BYTES) {
		char *at = buf_reserve(to, PIECE_BYTES);
		ssize_t n;

		if (at == NULL)
			return false; /* connection_next() makes room */
		n = recv(c->fd, at, PIECE_BYTES, 0);
		if (n == 0)
			return true;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return false;
		if (n < 0) {
			*ret_error = errno;
			return true;
		}
		buf_commit(to, (size_t)n);
		total += (size_t)n;
	}
	return false;
}

static int write_socket(struct connection *c)
{
	struct buf *from = c->session != NULL ? &c->to_send : &c->out;

	while (from->len > 0) {
		ssize_t n = send(c->fd, buf_data(from), from->len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
		buf_consume(from, (size_t)n);
	}
	return 0;
}

/* Runs TLS, if there is any. Returns false if it has ended. */
static bool step_tls(struct connection *c)
{
	struct buf reason = BUF_INIT(ERROR_MAX);
	enum client_tls_result result;
	bool is_open;

	if (c->session == NULL)
		return true;
	do {
		result = client_tls_session_step(c->session, &c->received, &c->in, &c->out,
						 &c->to_send, &is_open, &reason);
		if (result == CLIENT_TLS_GOES_ON && is_open && c->state == CONNECTION_HANDSHAKE)
			begin_login(c);
	} while (result == CLIENT_TLS_GOES_ON && c->out.len > 0 && is_open);
	if (result != CLIENT_TLS_GOES_ON) {
		write_socket(c); /* the alert */
		/* Replies that arrived before the end count. */
		continue_login(c);
		if (c->state == CONNECTION_CONNECTING)
			result = CLIENT_TLS_FAILED; /* the next server is tried already */
		else
			fail(c,
			     result == CLIENT_TLS_FAILED && c->state != CONNECTION_READY
				     ? CONNECTION_REFUSED
				     : CONNECTION_LOST,
			     buf_cstr(&reason), NULL);
	}
	buf_done(&reason);
	return result == CLIENT_TLS_GOES_ON;
}

static void exchange(struct connection *c)
{
	int error = 0, write_error;
	bool ended = read_socket(c, &error);

	if (!step_tls(c))
		return;
	if (c->state == CONNECTION_LOGIN)
		continue_login(c);
	if (connection_has_failed(c) || c->state == CONNECTION_CONNECTING)
		return;
	/* A login that has just become complete adds the requests that were held. */
	if (!step_tls(c))
		return;
	write_error = write_socket(c);
	if (ended && error == 0)
		fail(c, CONNECTION_LOST, "the connection failed", "the server closed it");
	else if (ended || write_error != 0)
		fail(c, CONNECTION_LOST, "the connection failed",
		     strerror(ended ? error : write_error));
}

/* The kernel has decided about connecting. */
static void finish_connect(struct connection *c)
{
	int error = 0;
	socklen_t len = sizeof error;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error != 0) {
		fail_address(c, -error);
		return;
	}
	if (c->tls != NULL) {
		c->session = client_tls_session_new(c->tls, c->settings);
		set_state(c, CONNECTION_HANDSHAKE);
	} else {
		begin_login(c);
	}
	exchange(c);
}

void connection_step(struct connection *c)
{
	if (connection_has_failed(c))
		return;
	if (c->state == CONNECTION_CONNECTING) {
		struct pollfd ready = { .fd = c->fd, .events = POLLOUT };

		if (poll(&ready, 1, 0) > 0)
			finish_connect(c);
		else if (clock_mono_us() >= c->deadline_us)
			fail_address(c, -ETIMEDOUT);
		return;
	}
	exchange(c);
	if (!connection_has_failed(c) && clock_mono_us() >= c->deadline_us)
		fail(c, CONNECTION_LOST, "the server does not answer", NULL);
}

/* ---- for the caller ---- */

enum connection_state connection_state(const struct connection *c)
{
	return c->state;
}

bool connection_has_failed(const struct connection *c)
{
	return c->state == CONNECTION_LOST || c->state == CONNECTION_REFUSED;
}

const char *connection_error(const struct connection *c)
{
	return buf_str(&c->error).ptr;
}

int64_t connection_id(const struct connection *c)
{
	return c->id;
}

int connection_fd(const struct connection *c)
{
	return c->fd;
}

short connection_wants(const struct connection *c)
{
	if (c->state == CONNECTION_CONNECTING)
		return POLLOUT;
	return connection_unsent(c) > 0 ? POLLIN | POLLOUT : POLLIN;
}

int64_t connection_deadline_us(const struct connection *c)
{
	return c->deadline_us;
}

void connection_send(struct connection *c, const struct qless_str *argv, size_t argc)
{
	if (connection_has_failed(c))
		return;
	append_request(c->state == CONNECTION_READY ? &c->out : &c->held, argv, argc);
}

/* Held requests wait for replies, not for the socket. */
size_t connection_unsent(const struct connection *c)
{
	return c->out.len + c->to_send.len;
}

bool connection_next(struct connection *c, struct client_reply *ret_reply)
{
	if (c->login_answered < c->login_sent || c->state < CONNECTION_READY)
		return false;
	return take_reply(c, ret_reply);
}
