#include "server/txn.h"

#include "command/admission.h"
#include "command/databases.h"
#include "command/inner.h"
#include "command/links.h"
#include "command/popping.h"
#include "command/purging.h"
#include "command/table.h"
#include "command/weight.h"
#include "command/work.h"
#include "server/commands.h"
#include "server/dispatch.h"
#include "server/persist.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/mem.h"
#include "util/num.h"

/* Microseconds of processor time after which a transaction begins no more commands that only read
 * and may take long. */
#define TXN_READ_US 5000

struct queued_command {
	const struct command *cmd;
	int argc;
	int name_args;
	struct qless_str *argv; /* the bytes of the arguments follow in the same allocation */
};

/* A watched key, and its content at the time of WATCH. */
struct watched_key {
	char *name;
	size_t len;
	unsigned db;
	struct database_version version;
	uint64_t fingerprint;
};

struct txn {
	struct transaction state;
	bool is_open;
	bool failed;
	struct watched_key *watched;
	unsigned watched_count;
	uint32_t watched_cap;
	struct queued_command *commands;
	int count;
	size_t cap;
	size_t weight; /* of all commands, see weight.h */
};

static struct txn *txn_get(struct client *c)
{
	if (c->txn == NULL)
		c->txn = mem_zalloc(sizeof *c->txn);
	return c->txn;
}

static void forget_watched(struct txn *txn)
{
	for (unsigned i = 0; i < txn->watched_count; i++) {
		txn->state.bytes -= txn->watched[i].len + sizeof txn->watched[i];
		free(txn->watched[i].name);
	}
	free(txn->watched);
	txn->watched = NULL;
	txn->watched_count = 0;
	txn->watched_cap = 0;
}

void txn_free(struct txn *txn)
{
	if (txn == NULL)
		return;
	forget_watched(txn);
	for (int i = 0; i < txn->count; i++)
		free(txn->commands[i].argv);
	free(txn->commands);
	free(txn);
}

void txn_discard(struct client *c)
{
	txn_free(c->txn);
	c->txn = NULL;
}

bool txn_is_open(const struct client *c)
{
	return c->txn != NULL && c->txn->is_open;
}

int txn_length(const struct client *c)
{
	return txn_is_open(c) ? c->txn->count : -1;
}

unsigned txn_watched(const struct client *c)
{
	return c->txn != NULL ? c->txn->watched_count : 0;
}

size_t txn_memory(const struct client *c)
{
	return c->txn != NULL ? c->txn->state.bytes : 0;
}

const struct transaction *txn_state(const struct client *c)
{
	return txn_is_open(c) ? &c->txn->state : NULL;
}

void txn_fail(struct client *c)
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

/* Returns why no further command can be queued, or NULL. EXEC runs all commands at once, so they
 * have the limits of one command. */
static const char *refusal_of(const struct txn *txn, const struct config *config)
{
	if (txn->state.bytes > config->client_query_buffer_bytes)
		return "transaction is larger than client-query-buffer-limit";
	if (txn->state.bytes > config->max_call_bytes)
		return "transaction is larger than max-call-size";
	if ((size_t)txn->count >= config->max_transaction_commands)
		return "transaction has more commands than max-transaction-commands";
	if (txn->weight > config->max_jobs_per_call)
		return "transaction names or asks for more jobs than max-jobs-per-call";
	return NULL;
}

void txn_queue(struct client *c, const struct request *req)
{
	struct txn *txn = c->txn;
	const char *refusal;
	struct queued_command *q;
	size_t bytes;

	txn->weight += weight_of(req);
	refusal = refusal_of(txn, c->server->config);

	if (refusal != NULL) {
		txn->failed = true;
		reply_error(&c->writer, "ERR", str_from(refusal));
		return;
	}
	txn->commands =
		mem_grow(txn->commands, &txn->cap, (size_t)txn->count + 1, sizeof *txn->commands);
	q = &txn->commands[txn->count++];
	*q = (struct queued_command){ .cmd = req->row,
				      .argc = req->argc,
				      .name_args = req->argc - (int)req->nargs };
	q->argv = copy_arguments(req->argv, req->argc, &bytes);
	txn->state.bytes += bytes + sizeof *q;
	if (!command_is_listing(req->row, req->args, req->nargs)) {
		txn->state.writes |= (req->row->flags & CMD_WRITE) != 0;
		txn->state.is_logged |= txn->state.writes || command_is_logged(req->row);
	}
	txn->state.grows |= command_grows(req->row, req->args, req->nargs);
	reply_status(&c->writer, STR("QUEUED"));
}

void cmd_multi(struct request *req)
{
	struct client *c = client_of(req);

	if (txn_is_open(c)) {
		reply_error(req->reply, "ERR", STR("MULTI calls can not be nested"));
		return;
	}
	txn_get(c)->is_open = true;
	reply_ok(req->reply);
}

void cmd_discard(struct request *req)
{
	struct client *c = client_of(req);

	if (!txn_is_open(c)) {
		reply_error(req->reply, "ERR", STR("DISCARD without MULTI"));
		return;
	}
	txn_discard(c);
	reply_ok(req->reply);
}

/* All replies are formatted at once, so together they are limited more than a long one that is
 * written over several turns. */
static void limit_replies(struct client *c)
{
	size_t max = c->out.len + c->server->config->max_transaction_reply_bytes;

	if (max < c->writer.max) {
		c->writer.max = max;
		c->reply_ends_client = false;
	}
}

/* The rest of the time that a transaction may take while others wait. */
struct txn_budget {
	unsigned parts_left;
	size_t purges_left;
	size_t slots_left;
	uint64_t looks_left;
	int64_t cpu_end_us; /* after this, no command begins that only reads and may take long */
};

static void run_queued(struct client *c, const struct queued_command *q, struct txn_budget *budget)
{
	struct request req = dispatch_make_request(c, q->cmd, q->argv, q->argc, q->name_args);
	struct verdict verdict;

	req.parts_left = &budget->parts_left;
	req.purges_left = &budget->purges_left;
	req.slots_left = &budget->slots_left;
	req.looks_left = &budget->looks_left;
	verdict = admission_decide_queued(&req);
	if (verdict.kind != VERDICT_RUN)
		admission_refuse(&req, &verdict);
	else if (weight_is_slow_read(&req) && clock_thread_cpu_us() > budget->cpu_end_us)
		reply_error(&c->writer, "LIMIT",
			    STR("Not run, because this transaction takes too long. Send commands "
				"that only read outside of MULTI"));
	else if (c->writer.is_full && !command_changes(q->cmd, req.args, req.nargs))
		reply_error(&c->writer, "ERR", STR(REQUEST_NOT_RUN));
	else
		dispatch_run(&req);
}

/* A key that existed when its database was flushed has changed, even if the same key exists
 * again. */
static bool has_changed(const struct watched_key *w, const struct databases *databases)
{
	struct database_version version = databases_version(databases, w->db);

	if (version.flushes != w->version.flushes && w->fingerprint != 0)
		return true;
	if (version.flushes == w->version.flushes && version.changes == w->version.changes)
		return false;
	return databases_fingerprint(databases, w->db, str_make(w->name, w->len)) != w->fingerprint;
}

static bool any_watched_changed(const struct txn *txn, const struct databases *databases)
{
	for (unsigned i = 0; i < txn->watched_count; i++) {
		if (has_changed(&txn->watched[i], databases))
			return true;
	}
	return false;
}

/* The database that a command of the transaction leaves selected. */
static unsigned next_database(const struct request *req, unsigned db)
{
	int64_t number;

	if (req->row->handler != cmd_select || !num_parse_i64(req->args[0], &number) ||
	    number < 0 || number >= (int64_t)databases_count(req->env->databases))
		return db;
	return (unsigned)number;
}

/* Returns whether the commands together have more links than they may. One command may have as many
 * as its own limits allow. */
static bool has_too_many_links(struct client *c, const struct txn *txn)
{
	const struct command_env *env = &c->server->env;
	double now = env->now(env->arg);
	unsigned db = c->session.db;
	struct links links = { 0 };

	for (int i = 0; i < txn->count; i++) {
		const struct queued_command *q = &txn->commands[i];
		struct request req =
			dispatch_make_request(c, q->cmd, q->argv, q->argc, q->name_args);
		struct inner_command inner = inner_find(&req);

		links_add(&links, databases_peek(env->databases, db), now, &inner);
		db = next_database(&req, db);
	}
	return links.sum > env->limits.links && links.sum != links.most;
}

void cmd_exec(struct request *req)
{
	struct client *c = client_of(req);
	struct txn *txn = c->txn;
	struct txn_budget budget;
	struct verdict verdict;

	if (!txn_is_open(c)) {
		reply_error(req->reply, "ERR", STR("EXEC without MULTI"));
		return;
	}
	if (txn->failed) {
		txn_discard(c);
		reply_error(req->reply, "EXECABORT",
			    STR("Transaction discarded because of previous errors."));
		return;
	}
	if (any_watched_changed(txn, req->env->databases)) {
		txn_discard(c);
		reply_null_array(req->reply);
		return;
	}
	/* Nothing of it is begun that could not be recorded to its end. */
	verdict = admission_decide_exec(req);
	if (verdict_is_refusal(&verdict)) {
		admission_refuse(req, &verdict);
		txn_discard(c);
		return;
	}
	if (has_too_many_links(c, txn)) {
		txn_discard(c);
		reply_errorf(req->reply, "EXECABORT",
			     "Transaction discarded because its commands change more tags, "
			     "dependencies, dependents and limits than max-links-per-call (%zu)",
			     c->server->config->max_links_per_call);
		return;
	}
	limit_replies(c);
	budget.parts_left = WORK_PARTS_AT_ONCE;
	budget.purges_left = PURGING_PER_CALL;
	budget.slots_left = POPPING_SLOTS;
	budget.looks_left = POPPING_LOOKS;
	budget.cpu_end_us = clock_thread_cpu_us() + TXN_READ_US;
	/* Detach the transaction, so that its commands run outside of it. */
	c->txn = NULL;
	recording_begin_group(c->server);
	reply_array(req->reply, (size_t)txn->count);
	for (int i = 0; i < txn->count; i++) {
		run_queued(c, &txn->commands[i], &budget);
		client_output_grew(c);
	}
	recording_end_group(c->server);
	txn_free(txn);
}

static bool is_watched(const struct txn *txn, unsigned db, struct qless_str key)
{
	for (unsigned i = 0; i < txn->watched_count; i++) {
		const struct watched_key *w = &txn->watched[i];

		if (w->db == db && str_equal(str_make(w->name, w->len), key))
			return true;
	}
	return false;
}

static void watch(struct txn *txn, const struct request *req, struct qless_str key)
{
	const struct databases *databases = req->env->databases;
	unsigned db = req->session->db;
	struct watched_key *w;

	if (is_watched(txn, db, key))
		return;
	txn->watched = mem_grow32(txn->watched, &txn->watched_cap, (size_t)txn->watched_count + 1,
				  sizeof *txn->watched);
	w = &txn->watched[txn->watched_count++];
	*w = (struct watched_key){
		.name = mem_dup(key.ptr, key.len),
		.len = key.len,
		.db = db,
		.version = databases_version(databases, db),
		.fingerprint = databases_fingerprint(databases, db, key),
	};
	txn->state.bytes += key.len + sizeof *w;
}

/* Watched keys count against the same limit as queued commands. */
static bool may_watch(struct client *c, const struct txn *txn, const struct request *req)
{
	size_t bytes = txn->state.bytes;

	if (req->nargs > TXN_WATCH_MAX - txn->watched_count) {
		reply_errorf(req->reply, "ERR", "more than %d watched keys", TXN_WATCH_MAX);
		return false;
	}
	for (size_t i = 0; i < req->nargs; i++)
		bytes += req->args[i].len;
	if (bytes <= c->server->config->client_query_buffer_bytes)
		return true;
	reply_error(req->reply, "ERR",
		    STR("watched keys are larger than client-query-buffer-limit"));
	return false;
}

void cmd_watch(struct request *req)
{
	struct client *c = client_of(req);
	struct txn *txn;

	if (txn_is_open(c)) {
		reply_error(req->reply, "ERR", STR("WATCH inside MULTI is not allowed"));
		return;
	}
	txn = txn_get(c);
	if (!may_watch(c, txn, req))
		return;
	for (size_t i = 0; i < req->nargs; i++)
		watch(txn, req, req->args[i]);
	reply_ok(req->reply);
}

void cmd_unwatch(struct request *req)
{
	struct client *c = client_of(req);

	if (c->txn != NULL)
		forget_watched(c->txn);
	reply_ok(req->reply);
}
