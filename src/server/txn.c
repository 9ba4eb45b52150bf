#include "server/txn.h"

#include "command/acl.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "util/mem.h"

struct queued_command {
	const struct command *cmd;
	int argc;
	int name_args;
	struct qless_str *argv; /* one allocation, the bytes of the arguments behind the slices */
};

struct txn {
	bool is_open;
	bool failed;
	bool writes;
	bool touched; /* something watched has changed: EXEC does nothing */
	unsigned watched;
	unsigned watched_db; /* where; TXN_ALL_DATABASES if in several */
	struct queued_command *commands;
	int count;
	int cap;
	size_t bytes;
};

static struct txn *txn_get(struct conn *c)
{
	if (c->txn == NULL)
		c->txn = mem_zalloc(sizeof *c->txn);
	return c->txn;
}

void txn_free(struct txn *txn)
{
	if (txn == NULL)
		return;
	for (int i = 0; i < txn->count; i++)
		free(txn->commands[i].argv);
	free(txn->commands);
	free(txn);
}

void txn_discard(struct conn *c)
{
	txn_free(c->txn);
	c->txn = NULL;
}

bool txn_is_open(const struct conn *c)
{
	return c->txn != NULL && c->txn->is_open;
}

int txn_length(const struct conn *c)
{
	return txn_is_open(c) ? c->txn->count : -1;
}

unsigned txn_watched(const struct conn *c)
{
	return c->txn != NULL ? c->txn->watched : 0;
}

size_t txn_memory(const struct conn *c)
{
	return c->txn != NULL ? c->txn->bytes : 0;
}

bool txn_writes(const struct conn *c)
{
	return txn_is_open(c) && c->txn->writes;
}

void txn_fail(struct conn *c)
{
	if (txn_is_open(c))
		c->txn->failed = true;
}

static struct qless_str *copy_arguments(const struct qless_str *argv, int argc, size_t *ret_bytes)
{
	size_t bytes = (size_t)argc * sizeof *argv;
	struct qless_str *copy;
	char *to;

	for (int i = 0; i < argc; i++)
		bytes += argv[i].len;
	copy = mem_alloc(bytes);
	to = (char *)(copy + argc);
	for (int i = 0; i < argc; i++) {
		copy[i] = str_make(to, argv[i].len);
		if (argv[i].len != 0)
			memcpy(to, argv[i].ptr, argv[i].len);
		to += argv[i].len;
	}
	*ret_bytes = bytes;
	return copy;
}

void txn_queue(struct conn *c, const struct command *cmd, const struct qless_str *argv, int argc,
	       int name_args)
{
	struct txn *txn = c->txn;
	struct queued_command *q;
	size_t bytes;

	/* What waits counts like a request that is still arriving. */
	if (txn->bytes > c->server->config->client_query_buffer_bytes) {
		txn->failed = true;
		resp_write_error(&c->writer, "ERR",
				 STR("transaction is larger than client-query-buffer-limit"));
		return;
	}
	if (txn->count == txn->cap) {
		txn->cap = txn->cap != 0 ? txn->cap * 2 : 8;
		txn->commands =
			mem_realloc_array(txn->commands, (size_t)txn->cap, sizeof *txn->commands);
	}
	q = &txn->commands[txn->count++];
	*q = (struct queued_command){ .cmd = cmd, .argc = argc, .name_args = name_args };
	q->argv = copy_arguments(argv, argc, &bytes);
	txn->bytes += bytes + sizeof *q;
	txn->writes |= (cmd->flags & CMD_WRITE) != 0;
	resp_write_raw(&c->writer, RESP_QUEUED);
}

void cmd_multi(struct call *call)
{
	struct conn *c = conn_of(call);

	if (txn_is_open(c)) {
		resp_write_error(call->reply, "ERR", STR("MULTI calls can not be nested"));
		return;
	}
	txn_get(c)->is_open = true;
	resp_write_ok(call->reply);
}

void cmd_discard(struct call *call)
{
	struct conn *c = conn_of(call);

	if (!txn_is_open(c)) {
		resp_write_error(call->reply, "ERR", STR("DISCARD without MULTI"));
		return;
	}
	txn_discard(c);
	resp_write_ok(call->reply);
}

/* Permissions may have changed since a command was queued. */
static void run_queued(struct conn *c, struct queued_command *q)
{
	if (c->session.user == NULL || !acl_may_run(c->session.user, c->server->table, q->cmd)) {
		resp_write_errorf(&c->writer, "NOPERM",
				  "ACLs rules changed between the moment the transaction was "
				  "accumulated and the EXEC call. No permission to run '%s'",
				  q->cmd->name);
		return;
	}
	dispatch_run(c, q->cmd, q->argv, q->argc, q->name_args);
}

void cmd_exec(struct call *call)
{
	struct conn *c = conn_of(call);
	struct txn *txn = c->txn;

	if (!txn_is_open(c)) {
		resp_write_error(call->reply, "ERR", STR("EXEC without MULTI"));
		return;
	}
	if (txn->failed) {
		txn_discard(c);
		resp_write_error(call->reply, "EXECABORT",
				 STR("Transaction discarded because of previous errors."));
		return;
	}
	if (txn->touched) {
		txn_discard(c);
		resp_write_null_array(call->reply);
		return;
	}
	/* Detached, so that the commands find themselves outside of a transaction. */
	c->txn = NULL;
	conn_exec_begin(c);
	resp_write_array(call->reply, (size_t)txn->count);
	for (int i = 0; i < txn->count; i++)
		run_queued(c, &txn->commands[i]);
	conn_exec_end(c);
	txn_free(txn);
}

void cmd_watch(struct call *call)
{
	struct conn *c = conn_of(call);
	struct txn *txn;

	if (txn_is_open(c)) {
		resp_write_error(call->reply, "ERR", STR("WATCH inside MULTI is not allowed"));
		return;
	}
	txn = txn_get(c);
	if (txn->watched == 0)
		txn->watched_db = call->session->db;
	else if (txn->watched_db != call->session->db)
		txn->watched_db = TXN_ALL_DATABASES;
	txn->watched += (unsigned)call->nargs;
	resp_write_ok(call->reply);
}

void cmd_unwatch(struct call *call)
{
	struct conn *c = conn_of(call);

	if (c->txn != NULL) {
		c->txn->watched = 0;
		c->txn->touched = false;
	}
	resp_write_ok(call->reply);
}

void txn_touch_database(struct server *s, unsigned db)
{
	struct conn *c;

	TAILQ_FOREACH(c, &s->conns, all) {
		struct txn *txn = c->txn;

		if (txn != NULL && txn->watched != 0 &&
		    (db == TXN_ALL_DATABASES || txn->watched_db == TXN_ALL_DATABASES ||
		     txn->watched_db == db))
			txn->touched = true;
	}
}
