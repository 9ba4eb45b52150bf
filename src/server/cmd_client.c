/*
 * CLIENT: shows connections and controls them.
 */
#include <stdlib.h>

#include "command/acl.h"
#include "command/work.h"
#include "server/commands.h"
#include "server/names.h"
#include "server/server_int.h"
#include "server/tls_session.h"
#include "server/txn.h"
#include "util/container.h"
#include "util/mem.h"
#include "util/num.h"

/* The text appears in a line of CLIENT LIST, so it must be printable and have no blanks. */
static bool is_plain_word(struct qless_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '!' || s.ptr[i] > '~')
			return false;
	}
	return true;
}

bool client_name_is_valid(struct reply *reply, struct qless_str name)
{
	if (name.len > CLIENT_NAME_MAX_BYTES) {
		reply_errorf(reply, "ERR", "Client names cannot be longer than %d bytes.",
			     CLIENT_NAME_MAX_BYTES);
		return false;
	}
	if (!is_plain_word(name)) {
		reply_error(reply, "ERR",
			    STR("Client names cannot contain spaces, newlines or special "
				"characters."));
		return false;
	}
	return true;
}

void client_set_text(char **text, struct qless_str value)
{
	free(*text);
	*text = value.len != 0 ? mem_dup(value.ptr, value.len) : NULL;
}

static const char *text_or_empty(const char *text)
{
	return text != NULL ? text : "";
}

/*
 * Describing
 */

static void append_flags(struct buf *out, const struct conn *c)
{
	size_t before = out->len;

	if (c->client.is_monitor)
		buf_append_char(out, 'O');
	if (c->client.session.subscribed)
		buf_append_char(out, 'P');
	if (txn_is_open(&c->client))
		buf_append_char(out, 'x');
	if (c->state == CONN_HELD)
		buf_append_char(out, 'b');
	if (c->state == CONN_CLOSING || c->state == CONN_LEAVING)
		buf_append_char(out, 'c');
	if (c->client.kind == CLIENT_UNIX)
		buf_append_char(out, 'U');
	if (c->client.no_evict)
		buf_append_char(out, 'e');
	if (c->client.no_touch)
		buf_append_char(out, 'T');
	if (c->http != NULL)
		buf_append_char(out, 'H');
	if (out->len == before)
		buf_append_char(out, 'N');
}

static const char *tls_state(const struct conn *c)
{
	const char *version = tls_session_version(&c->transport);

	if (version == NULL)
		return "no";
	return c->state == CONN_HANDSHAKE ? "handshake" : version;
}

void conn_describe(const struct conn *c, struct buf *out)
{
	const struct server *s = c->client.server;
	struct qless_str user = c->client.session.user != NULL
					? acl_user_name(c->client.session.user)
					: STR("(none)");

	buf_printf(out, "id=%llu addr=%s laddr=%s fd=%d name=%s age=%lld idle=%lld flags=",
		   (unsigned long long)c->client.session.id, c->client.peer, c->local,
		   c->transport.fd, text_or_empty(c->client.name),
		   (long long)((s->clocks.mono_us - c->created_us) / 1000000),
		   (long long)((s->clocks.mono_us - c->active_us) / 1000000));
	append_flags(out, c);
	buf_printf(out,
		   " db=%u sub=%u psub=%u ssub=0 multi=%d watch=%u qbuf=%zu qbuf-free=%zu "
		   "argv-mem=0 multi-mem=%zu rbs=0 rbp=0 obl=%zu oll=0 omem=%zu tot-mem=%zu "
		   "events=%s%s cmd=%s user=%.*s redir=-1 resp=%d lib-name=%s lib-ver=%s tls=%s\n",
		   c->client.session.db, c->client.channel_count, c->client.pattern_count,
		   txn_length(&c->client), txn_watched(&c->client), c->in.len,
		   c->in.cap - c->in.len, txn_memory(&c->client), c->client.out.len,
		   c->client.out.allocated, conn_memory(c) + txn_memory(&c->client),
		   c->end_of_input ? "" : "r", c->awaits_writable ? "w" : "",
		   c->client.last_command != NULL ? c->client.last_command->name : "NULL",
		   (int)user.len, user.ptr, c->client.session.proto,
		   text_or_empty(c->client.lib_name), text_or_empty(c->client.lib_version),
		   tls_state(c));
}

void client_id(struct request *req)
{
	reply_integer(req->reply, (int64_t)req->session->id);
}

void client_getname(struct request *req)
{
	const struct client *c = client_of(req);

	if (c->name != NULL)
		reply_bulk(req->reply, str_from(c->name));
	else
		reply_null(req->reply);
}

void client_setname(struct request *req)
{
	if (!client_name_is_valid(req->reply, req->args[0]))
		return;
	client_set_text(&client_of(req)->name, req->args[0]);
	reply_ok(req->reply);
}

void client_setinfo(struct request *req)
{
	struct client *c = client_of(req);
	struct qless_str value = req->args[1];
	const char *option;
	char **field;

	if (str_equal_nocase(req->args[0], STR("LIB-NAME"))) {
		option = "lib-name";
		field = &c->lib_name;
	} else if (str_equal_nocase(req->args[0], STR("LIB-VER"))) {
		option = "lib-ver";
		field = &c->lib_version;
	} else {
		reply_errorf(req->reply, "ERR", "Unrecognized option '%.*s'",
			     (int)(req->args[0].len < 64 ? req->args[0].len : 64),
			     req->args[0].ptr);
		return;
	}
	if (value.len > CLIENT_NAME_MAX_BYTES || !is_plain_word(value)) {
		reply_errorf(req->reply, "ERR",
			     "%s cannot contain spaces, newlines or special characters, or "
			     "be longer than %d bytes.",
			     option, CLIENT_NAME_MAX_BYTES);
		return;
	}
	client_set_text(field, value);
	reply_ok(req->reply);
}

void client_info(struct request *req)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);

	if (!client_check_connection(client_of(req)))
		return;
	conn_describe(conn_of(client_of(req)), &out);
	reply_verbatim(req->reply, "txt", buf_str(&out));
	buf_done(&out);
}

/* Parses "normal" or "pubsub". Kinds of clients that only Redis has match nothing. */
static bool parse_type(struct request *req, struct qless_str s, int *ret_class)
{
	if (str_equal_nocase(s, STR("normal"))) {
		*ret_class = CONN_CLASS_NORMAL;
	} else if (str_equal_nocase(s, STR("pubsub"))) {
		*ret_class = CONN_CLASS_PUBSUB;
	} else if (str_equal_nocase(s, STR("master")) || str_equal_nocase(s, STR("replica")) ||
		   str_equal_nocase(s, STR("slave"))) {
		*ret_class = CONN_CLASS_COUNT;
	} else {
		reply_errorf(req->reply, "ERR", "Unknown client type '%.*s'",
			     (int)(s.len < 64 ? s.len : 64), s.ptr);
		return false;
	}
	return true;
}

/* Connections that CLIENT LIST describes in one part of its work. */
#define LIST_PART 32

/* Work that describes connections. One that ends before its turn comes is left out. */
struct client_list_work {
	struct work work;
	uint64_t *ids;
	size_t count, cap;
	size_t next; /* of `ids` */
	struct buf lines;
};

static void add_id(struct client_list_work *list, uint64_t id)
{
	list->ids = mem_grow(list->ids, &list->cap, list->count + 1, sizeof *list->ids);
	list->ids[list->count++] = id;
}

static bool describe_some(struct work *work, struct request *req)
{
	struct client_list_work *list = container_of(work, struct client_list_work, work);

	for (int i = 0; i < LIST_PART && list->next < list->count; i++) {
		const struct conn *c = conn_find(server_of(req), list->ids[list->next++]);

		if (c != NULL)
			conn_describe(c, &list->lines);
	}
	if (list->next < list->count)
		return true;
	reply_verbatim(req->reply, "txt", buf_str(&list->lines));
	return false;
}

static void free_client_list(struct work *work)
{
	struct client_list_work *list = container_of(work, struct client_list_work, work);

	buf_done(&list->lines);
	free(list->ids);
	free(list);
}

static bool take_named(struct request *req, struct client_list_work *list)
{
	for (size_t i = 1; i < req->nargs; i++) {
		int64_t id;

		if (!num_parse_i64(req->args[i], &id) || id <= 0) {
			reply_error(req->reply, "ERR", STR("Invalid client ID"));
			return false;
		}
		add_id(list, (uint64_t)id);
	}
	return true;
}

/* `class` is -1 for all. */
static void take_class(const struct server *s, int class, struct client_list_work *list)
{
	const struct conn *c;

	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (class < 0 || (int)conn_class(c) == class)
			add_id(list, c->client.session.id);
	}
}

/* Takes the ids of the connections that the arguments ask for. Otherwise writes an error. */
static bool take_ids(struct request *req, struct client_list_work *list)
{
	int class = -1;

	if (req->nargs >= 2 && str_equal_nocase(req->args[0], STR("ID")))
		return take_named(req, list);
	if (req->nargs == 2 && str_equal_nocase(req->args[0], STR("TYPE"))) {
		if (!parse_type(req, req->args[1], &class))
			return false;
	} else if (req->nargs != 0) {
		reply_error(req->reply, "ERR", STR("syntax error"));
		return false;
	}
	take_class(server_of(req), class, list);
	return true;
}

void client_list(struct request *req)
{
	static const struct work_ops ops = { .go_on = describe_some, .free = free_client_list };
	struct client_list_work *list = mem_zalloc(sizeof *list);

	list->work.ops = &ops;
	buf_init(&list->lines, BUF_NO_MAX);
	if (take_ids(req, list))
		work_begin(req, &list->work);
	else
		free_client_list(&list->work);
}

/*
 * Killing
 */

struct kill_filter {
	struct qless_str addr;
	struct qless_str laddr;
	const struct user *user;
	int64_t id;
	int64_t max_age_s;
	int class;
	bool skip_me;
};

static bool parse_kill_option(struct request *req, struct qless_str name, struct qless_str value,
			      struct kill_filter *filter)
{
	if (str_equal_nocase(name, STR("ID"))) {
		if (num_parse_i64(value, &filter->id) && filter->id > 0)
			return true;
		reply_error(req->reply, "ERR", STR("client-id should be greater than 0"));
		return false;
	}
	if (str_equal_nocase(name, STR("MAXAGE"))) {
		if (num_parse_i64(value, &filter->max_age_s) && filter->max_age_s > 0)
			return true;
		reply_error(req->reply, "ERR", STR("maxage should be greater than 0"));
		return false;
	}
	if (str_equal_nocase(name, STR("TYPE")))
		return parse_type(req, value, &filter->class);
	if (str_equal_nocase(name, STR("USER"))) {
		filter->user = acl_find(req->env->acl, value);
		if (filter->user != NULL)
			return true;
		reply_errorf(req->reply, "ERR", "No such user '%.*s'",
			     (int)(value.len < 64 ? value.len : 64), value.ptr);
		return false;
	}
	if (str_equal_nocase(name, STR("ADDR"))) {
		filter->addr = value;
		return true;
	}
	if (str_equal_nocase(name, STR("LADDR"))) {
		filter->laddr = value;
		return true;
	}
	if (str_equal_nocase(name, STR("SKIPME"))) {
		filter->skip_me = str_equal_nocase(value, STR("YES"));
		if (filter->skip_me || str_equal_nocase(value, STR("NO")))
			return true;
	}
	reply_error(req->reply, "ERR", STR("syntax error"));
	return false;
}

static bool kill_matches(const struct kill_filter *f, const struct conn *c, const struct client *me)
{
	int64_t age_s = (c->client.server->clocks.mono_us - c->created_us) / 1000000;

	return !(f->skip_me && &c->client == me) &&
	       (f->id == 0 || (uint64_t)f->id == c->client.session.id) &&
	       (f->max_age_s == 0 || age_s >= f->max_age_s) &&
	       (f->class < 0 || f->class == (int)conn_class(c)) &&
	       (f->user == NULL || f->user == c->client.session.user) &&
	       (f->addr.ptr == NULL || str_equal(f->addr, str_from(c->client.peer))) &&
	       (f->laddr.ptr == NULL || str_equal(f->laddr, str_from(c->local)));
}

/* Returns the number of connections closed: 0 or 1. */
static int kill_if_matches(const struct kill_filter *filter, struct conn *c,
			   const struct client *me)
{
	if (!kill_matches(filter, c, me))
		return 0;
	if (&c->client == me)
		conn_finish(c);
	else
		conn_kill(c, "CLIENT KILL");
	return 1;
}

static int64_t kill_all(struct request *req, const struct kill_filter *filter)
{
	struct server *s = server_of(req);
	const struct client *me = client_of(req);
	struct conn *c, *next;
	int64_t count = 0;

	if (filter->id != 0) {
		c = conn_find(s, (uint64_t)filter->id);
		return c != NULL ? kill_if_matches(filter, c, me) : 0;
	}
	for (c = TAILQ_FIRST(&s->conns.all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		count += kill_if_matches(filter, c, me);
	}
	return count;
}

void client_kill(struct request *req)
{
	struct kill_filter filter = { .class = -1, .skip_me = req->nargs > 1 };

	if (req->nargs == 1) {
		filter.addr = req->args[0];
		if (kill_all(req, &filter) != 0)
			reply_ok(req->reply);
		else
			reply_error(req->reply, "ERR", STR("No such client"));
		return;
	}
	if (req->nargs % 2 != 0) {
		reply_error(req->reply, "ERR", STR("syntax error"));
		return;
	}
	for (size_t i = 0; i < req->nargs; i += 2) {
		if (!parse_kill_option(req, req->args[i], req->args[i + 1], &filter))
			return;
	}
	reply_integer(req->reply, kill_all(req, &filter));
}

/*
 * Switches
 */

/* Parses ON or OFF into *ret_on. Writes an error for anything else. */
static bool parse_switch(struct request *req, bool *ret_on)
{
	if (str_equal_nocase(req->args[0], STR("ON"))) {
		*ret_on = true;
		return true;
	}
	if (str_equal_nocase(req->args[0], STR("OFF"))) {
		*ret_on = false;
		return true;
	}
	reply_error(req->reply, "ERR", STR("syntax error"));
	return false;
}

void client_no_evict(struct request *req)
{
	if (parse_switch(req, &client_of(req)->no_evict))
		reply_ok(req->reply);
}

void client_no_touch(struct request *req)
{
	if (parse_switch(req, &client_of(req)->no_touch))
		reply_ok(req->reply);
}

void client_reply(struct request *req)
{
	struct client *c = client_of(req);

	if (str_equal_nocase(req->args[0], STR("ON"))) {
		c->reply_off = false;
		c->writer.muted = false;
		reply_ok(req->reply);
	} else if (str_equal_nocase(req->args[0], STR("OFF"))) {
		c->reply_off = true;
	} else if (str_equal_nocase(req->args[0], STR("SKIP"))) {
		/* With CLIENT REPLY OFF there is nothing to skip. */
		c->skip_next_reply = !c->reply_off;
	} else {
		reply_error(req->reply, "ERR", STR("syntax error"));
	}
}

void client_unblock(struct request *req)
{
	struct conn *c;
	int64_t id;
	bool with_error;

	if (!num_parse_i64(req->args[0], &id)) {
		reply_error(req->reply, "ERR", STR("value is not an integer or out of range"));
		return;
	}
	if (req->nargs == 2 && !str_equal_nocase(req->args[1], STR("TIMEOUT")) &&
	    !str_equal_nocase(req->args[1], STR("ERROR"))) {
		reply_error(req->reply, "ERR",
			    STR("CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
		return;
	}
	with_error = req->nargs == 2 && str_equal_nocase(req->args[1], STR("ERROR"));
	c = conn_find(server_of(req), (uint64_t)id);
	reply_integer(req->reply, c != NULL && waiting_unblock(&c->client, with_error));
}

/* One year: longer than any maintenance, and far below the overflow of times. */
#define PAUSE_MAX_MS (INT64_C(1000) * 86400 * 365)

void client_pause(struct request *req)
{
	enum pause_mode mode = PAUSE_ALL;
	int64_t ms;

	if (req->nargs == 2) {
		if (str_equal_nocase(req->args[1], STR("WRITE"))) {
			mode = PAUSE_WRITE;
		} else if (!str_equal_nocase(req->args[1], STR("ALL"))) {
			reply_error(req->reply, "ERR",
				    STR("CLIENT PAUSE mode must be WRITE or ALL"));
			return;
		}
	}
	if (!num_parse_i64(req->args[0], &ms) || ms > PAUSE_MAX_MS) {
		reply_error(req->reply, "ERR", STR("timeout is not an integer or out of range"));
		return;
	}
	if (ms < 0) {
		reply_error(req->reply, "ERR", STR("timeout is negative"));
		return;
	}
	pause_begin(server_of(req), mode, ms * 1000);
	reply_ok(req->reply);
}

void client_unpause(struct request *req)
{
	pause_end(server_of(req));
	reply_ok(req->reply);
}
