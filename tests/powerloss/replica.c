#include "replica.h"

#include <stdlib.h>
#include <xxhash.h>

#include "endpoint_dump.h"
#include "server/users_log.h"
#include "util/mem.h"

/* As many databases as the daemon of the tests has. */
#define DATABASES 4

struct replica_user {
	struct buf name;
	struct buf operation; /* that makes the user what it is */
};

static struct replica_user *find_user(struct replica *r, struct qless_str name)
{
	for (size_t i = 0; i < r->user_count; i++) {
		if (str_equal(buf_str(&r->users[i].name), name))
			return &r->users[i];
	}
	return NULL;
}

static void remove_user(struct replica *r, struct qless_str name)
{
	struct replica_user *user = find_user(r, name);

	if (user == NULL)
		return;
	buf_done(&user->name);
	buf_done(&user->operation);
	*user = r->users[--r->user_count];
}

/* A deleted user is like one that never was, because no user is in a configuration here. */
static void apply_user(struct replica *r, const struct operation *op)
{
	struct replica_user *user;

	remove_user(r, op->user.name);
	if (op->kind != OPERATION_USER_SET)
		return;
	r->users = mem_grow(r->users, &r->user_cap, r->user_count + 1, sizeof *r->users);
	user = &r->users[r->user_count++];
	buf_init(&user->name, BUF_NO_MAX);
	buf_init(&user->operation, BUF_NO_MAX);
	buf_append_str(&user->name, op->user.name);
	operation_encode(op, &user->operation);
}

static int apply_operation(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct replica *r = arg;

	if (!operation_is_for_user(op))
		return stored_apply(&r->stored, op, ret_error);
	apply_user(r, op);
	return 0;
}

void replica_init(struct replica *r)
{
	struct qless_hooks hooks = { 0 };

	*r = (struct replica){ 0 };
	r->stored.databases = databases_new(DATABASES, &hooks);
	r->stored.scripts = scripts_new(/* hash_seed= */ 1, NULL);
	databases_set_limits(r->stored.databases, NULL);
	replay_init(&r->replay, r->stored.databases, apply_operation, r);
}

void replica_done(struct replica *r)
{
	while (r->user_count > 0)
		remove_user(r, buf_str(&r->users[0].name));
	free(r->users);
	replay_done(&r->replay);
	scripts_free(r->stored.scripts);
	databases_free(r->stored.databases);
}

static struct qless *engine_of(void *arg, unsigned db)
{
	struct replica *r = arg;

	return stored_engine(&r->stored, db);
}

static int apply_record(void *arg, const struct record *record, uint64_t *ret_count,
			struct buf *ret_error)
{
	struct replica *r = arg;

	return stored_replay(&r->replay, record, ret_count, ret_error);
}

struct recovery_target replica_target(struct replica *r)
{
	return (struct recovery_target){ .arg = r, .engine = engine_of, .apply = apply_record };
}

int replica_apply(struct replica *r, struct qless_str payload, struct buf *ret_error)
{
	uint64_t count = 0;

	return replay_operations(&r->replay, payload, &count, ret_error);
}

/* ---- digests ---- */

static void add_piece(void *arg, struct qless_str piece)
{
	uint64_t *digest = arg;

	*digest = XXH3_64bits_withSeed(piece.ptr, piece.len, *digest);
}

/* Scripts have no order, so their digests are added up. */
static void add_script(void *arg, const struct script *script)
{
	struct operation op = stored_describe_script(script);
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	uint64_t *digest = arg;

	operation_encode(&op, &bytes);
	*digest += XXH3_64bits(buf_data(&bytes), bytes.len);
	buf_done(&bytes);
}

/* Calls `each` with the endpoints of a database as text. */
static void each_endpoints(const struct replica *r, unsigned db,
			   void (*each)(void *arg, struct qless_str piece), void *arg)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	endpoint_dump(databases_endpoints(r->stored.databases, db), &text);
	each(arg, buf_str(&text));
	buf_done(&text);
}

uint64_t replica_digest(const struct replica *r)
{
	uint64_t digest = 0;

	/* An engine without content is like one that nobody has used yet. */
	for (unsigned db = 0; db < DATABASES; db++) {
		add_piece(&digest, STR("database"));
		qless_dump(databases_get(r->stored.databases, db)->engine, add_piece, &digest);
		each_endpoints(r, db, add_piece, &digest);
	}
	scripts_each(r->stored.scripts, add_script, &digest);
	for (size_t i = 0; i < r->user_count; i++)
		digest += XXH3_64bits(buf_data(&r->users[i].operation), r->users[i].operation.len);
	return digest;
}

struct search {
	token_fn *each;
	void *arg;
};

static void search_piece(void *arg, struct qless_str piece)
{
	const struct search *search = arg;

	tokens_find(piece, search->each, search->arg);
}

void replica_find_tokens(const struct replica *r, token_fn *each, void *arg)
{
	struct search search = { each, arg };

	for (unsigned db = 0; db < DATABASES; db++) {
		qless_dump(databases_get(r->stored.databases, db)->engine, search_piece, &search);
		each_endpoints(r, db, search_piece, &search);
	}
	for (size_t i = 0; i < r->user_count; i++)
		tokens_find(buf_str(&r->users[i].name), each, arg);
}

static void add_finding(void *arg, struct qless_str finding)
{
	struct buf *findings = arg;

	buf_append_str(findings, finding);
	buf_append_char(findings, '\n');
}

size_t replica_check(const struct replica *r, struct buf *ret_findings)
{
	size_t count = 0;

	for (unsigned db = 0; db < DATABASES; db++) {
		if (databases_peek(r->stored.databases, db) != NULL)
			count += qless_check(databases_peek(r->stored.databases, db), add_finding,
					     ret_findings);
	}
	return count;
}
