#include "server/acl_log.h"

#include <stdlib.h>

#include "command/acl.h"
#include "server/server_int.h"
#include "server/txn.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/num.h"

/* As in Redis, an event within this time of an equal one is counted with it. */
#define GROUPING_MS 60000

#define REPLY_DEFAULT 10

struct entry {
	uint64_t id;
	uint64_t count;
	const char *reason;
	const char *context;
	struct qless_str object; /* this and the next two are from malloc() */
	struct qless_str user;
	struct qless_str client;
	int64_t created_ms;
	int64_t updated_ms;
	TAILQ_ENTRY(entry) link;
};
TAILQ_HEAD(entries, entry);

struct acl_log {
	struct entries entries; /* the latest first */
	size_t count;
	uint64_t next_id;
};

struct acl_log *acl_log_new(void)
{
	struct acl_log *log = mem_zalloc(sizeof *log);

	TAILQ_INIT(&log->entries);
	return log;
}

void acl_log_free(struct acl_log *log)
{
	if (log != NULL)
		acl_log_trim(log, 0);
	free(log);
}

size_t acl_log_count(const struct acl_log *log)
{
	return log->count;
}

/* ---- entries ---- */

static struct qless_str keep(struct qless_str text)
{
	return str_make(mem_dup(text.ptr, text.len), text.len);
}

static void drop(struct qless_str text)
{
	free((char *)(uintptr_t)text.ptr);
}

static struct qless_str cut(struct qless_str name)
{
	return str_make(name.ptr, name.len < ACL_LOG_NAME_BYTES ? name.len : ACL_LOG_NAME_BYTES);
}

static void entry_free(struct acl_log *log, struct entry *e)
{
	TAILQ_REMOVE(&log->entries, e, link);
	log->count--;
	drop(e->object);
	drop(e->user);
	drop(e->client);
	free(e);
}

void acl_log_trim(struct acl_log *log, size_t count)
{
	while (log->count > count)
		entry_free(log, TAILQ_LAST(&log->entries, entries));
}

static struct entry *find_equal(struct acl_log *log, const struct entry *like, int64_t now_ms)
{
	struct entry *e;

	TAILQ_FOREACH(e, &log->entries, link) {
		if (now_ms - e->updated_ms <= GROUPING_MS && e->reason == like->reason &&
		    e->context == like->context && str_equal(e->object, like->object) &&
		    str_equal(e->user, like->user))
			return e;
	}
	return NULL;
}

static struct qless_str describe_client(const struct client *c)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct qless_str kept;

	if (c->kind != CLIENT_INTERNAL)
		conn_describe(conn_of(c), &text);
	kept = keep(buf_str(&text));
	buf_done(&text);
	return kept;
}

/* Adds an entry, or counts the event with an equal one, which becomes the latest. */
static void note(struct client *c, struct entry like)
{
	struct server *s = c->server;
	struct acl_log *log = s->acl_log;
	int64_t now_ms = s->clocks.wall_us / 1000;
	struct entry *e;

	if (s->config->acl_log_max_len == 0)
		return;
	like.object = cut(like.object);
	like.user = cut(like.user);
	e = find_equal(log, &like, now_ms);
	if (e != NULL) {
		TAILQ_REMOVE(&log->entries, e, link);
		drop(e->client);
	} else {
		e = mem_zalloc(sizeof *e);
		*e = like;
		e->object = keep(like.object);
		e->user = keep(like.user);
		e->id = log->next_id++;
		e->created_ms = now_ms;
		log->count++;
	}
	e->count++;
	e->updated_ms = now_ms;
	e->client = describe_client(c);
	TAILQ_INSERT_HEAD(&log->entries, e, link);
	acl_log_trim(log, s->config->acl_log_max_len);
}

/* ---- events ---- */

/* Texts are compared by their addresses. */
static const char at_top_level[] = "toplevel";
static const char in_transaction[] = "multi";
static const char in_script[] = "lua";
static const char by_login[] = "auth";

static const char *const reasons[] = {
	[DENIAL_COMMAND] = "command",
	[DENIAL_KEY] = "key",
	[DENIAL_CHANNEL] = "channel",
};

static const char *context_of(const struct request *req)
{
	if (req->form == REQUEST_SCRIPT)
		return in_script;
	return req->txn != NULL || req->parts_left != NULL ? in_transaction : at_top_level;
}

static void count_denial(struct server_stats *stats, enum denial reason)
{
	switch (reason) {
	case DENIAL_COMMAND:
		stats->denied_commands++;
		break;
	case DENIAL_KEY:
		stats->denied_keys++;
		break;
	case DENIAL_CHANNEL:
		stats->denied_channels++;
		break;
	}
}

void acl_log_note_denial(void *arg, const struct request *req, enum denial reason,
			 struct qless_str object)
{
	struct server *s = arg;
	struct entry like = { .reason = reasons[reason],
			      .context = context_of(req),
			      .object = object };

	count_denial(&s->stats, reason);
	/* The sessions of a deleted user have none. */
	if (req->session->user != NULL)
		like.user = acl_user_name(req->session->user);
	note(client_of(req), like);
}

static bool is_http(const struct client *c)
{
	return c->kind != CLIENT_INTERNAL && conn_of(c)->http != NULL;
}

void acl_log_note_login(struct client *c, struct qless_str user)
{
	struct entry like = {
		.reason = by_login,
		.context = txn_is_open(c) ? in_transaction : at_top_level,
		.object = is_http(c) ? STR("http") : str_from(c->last_command->name),
		.user = user,
	};

	note(c, like);
}

/* ---- ACL LOG ---- */

static void write_field(struct reply *w, const char *name, struct qless_str value)
{
	reply_bulk(w, str_from(name));
	reply_bulk(w, value);
}

static void write_number(struct reply *w, const char *name, uint64_t value)
{
	reply_bulk(w, str_from(name));
	reply_integer(w, (int64_t)value);
}

static void write_entry(struct reply *w, const struct entry *e, int64_t now_ms)
{
	reply_map(w, 10);
	write_number(w, "count", e->count);
	write_field(w, "reason", str_from(e->reason));
	write_field(w, "context", str_from(e->context));
	write_field(w, "object", e->object);
	write_field(w, "username", e->user);
	reply_bulk(w, STR("age-seconds"));
	reply_double(w, (double)(now_ms - e->created_ms) / 1000);
	write_field(w, "client-info", e->client);
	write_number(w, "entry-id", e->id);
	write_number(w, "timestamp-created", (uint64_t)e->created_ms);
	write_number(w, "timestamp-last-updated", (uint64_t)e->updated_ms);
}

void acl_log_reply(struct request *req)
{
	struct server *s = server_of(req);
	int64_t now_ms = s->clocks.wall_us / 1000, count = REPLY_DEFAULT;
	const struct entry *e;

	if (req->nargs == 1 && str_equal_nocase(req->args[0], STR("RESET"))) {
		acl_log_trim(s->acl_log, 0);
		reply_ok(req->reply);
		return;
	}
	if (req->nargs == 1 && !num_parse_i64(req->args[0], &count)) {
		reply_error(req->reply, "ERR", STR("value is not an integer or out of range"));
		return;
	}
	if (count < 0)
		count = 0;
	if ((uint64_t)count > s->acl_log->count)
		count = (int64_t)s->acl_log->count;
	reply_array(req->reply, (size_t)count);
	TAILQ_FOREACH(e, &s->acl_log->entries, link) {
		if (count-- == 0)
			break;
		write_entry(req->reply, e, now_ms);
	}
}
