#include "check/whole.h"

#include <stdlib.h>

#include "check/state.h"
#include "sys/entropy.h"
#include "util/mem.h"

/* Number of objects of flushed databases that are freed at each report of progress. */
#define FREE_THINGS 65536

/* ---- users ---- */

static struct whole_user *find_user(const struct whole *w, struct qless_str name)
{
	for (size_t i = 0; i < w->user_count; i++) {
		if (str_equal(buf_str(&w->users[i].name), name))
			return &w->users[i];
	}
	return NULL;
}

static void forget_user(struct whole *w, struct whole_user *user)
{
	buf_done(&user->name);
	buf_done(&user->operation);
	*user = w->users[--w->user_count];
}

/* Without an operation, a user is as configured. */
static void note_user(struct whole *w, const struct operation *op)
{
	struct whole_user *user = find_user(w, op->user.name);

	if (user != NULL)
		forget_user(w, user);
	if (op->kind == OPERATION_USER_AS_CONFIGURED)
		return;
	w->users = mem_grow(w->users, &w->user_cap, w->user_count + 1, sizeof *w->users);
	user = &w->users[w->user_count++];
	buf_init(&user->name, BUF_NO_MAX);
	buf_init(&user->operation, BUF_NO_MAX);
	buf_append_str(&user->name, op->user.name);
	operation_encode(op, &user->operation);
}

/* ---- loading ---- */

/* Run an operation on its database, and notice if it changes nothing. */
static int apply_stored(struct whole *w, const struct operation *op, struct buf *ret_error)
{
	bool has_database = operation_is_for_engine(op) && op->db < CHECK_DATABASES_MAX;
	struct database_version before = { 0 }, after = { 0 };
	int rc;

	if (has_database)
		before = databases_version(w->stored.databases, op->db);
	rc = stored_apply(&w->stored, op, ret_error);
	if (has_database)
		after = databases_version(w->stored.databases, op->db);
	if (rc == 0 && has_database && before.changes == after.changes)
		w->tally.idle++;
	return rc;
}

static int apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct whole *w = arg;
	int rc = 0;

	if (operation_is_for_user(op))
		note_user(w, op);
	else
		rc = apply_stored(w, op, ret_error);
	if (rc == 0 || !w->is_tolerant)
		return rc;
	w->tally.refused++;
	buf_clear(ret_error);
	return 0;
}

static void count_refused(void *arg)
{
	struct whole *w = arg;

	w->tally.refused++;
}

static int apply_record(void *arg, const struct record *record, uint64_t *ret_count,
			struct buf *ret_error)
{
	struct whole *w = arg;
	int rc = stored_replay(&w->replay, record, ret_count, ret_error);

	if (rc == 0 || !w->is_tolerant)
		return rc;
	w->tally.refused++;
	return 0;
}

static struct qless *engine_of(void *arg, unsigned db)
{
	struct whole *w = arg;

	return stored_engine(&w->stored, db);
}

static bool go_on(void *arg, const struct recovery_progress *progress)
{
	struct whole *w = arg;

	(void)progress;
	databases_free_some(w->stored.databases, FREE_THINGS);
	return true;
}

struct recovery_target whole_target(struct whole *w)
{
	return (struct recovery_target){
		.arg = w, .engine = engine_of, .apply = apply_record, .progress = go_on
	};
}

/* ---- the state ---- */

static void begin(struct whole *w)
{
	struct qless_hooks hooks = { .hash_seed = entropy_u64() };

	w->stored.databases = databases_new(CHECK_DATABASES_MAX, &hooks);
	w->stored.scripts = scripts_new(hooks.hash_seed, NULL);
	databases_set_limits(w->stored.databases, NULL);
	replay_init(&w->replay, w->stored.databases, apply, w);
	if (w->is_tolerant)
		w->replay.refused = count_refused;
}

void whole_init(struct whole *w, bool is_tolerant)
{
	*w = (struct whole){ .is_tolerant = is_tolerant };
	begin(w);
}

void whole_done(struct whole *w)
{
	while (w->user_count > 0)
		forget_user(w, &w->users[0]);
	free(w->users);
	w->users = NULL;
	w->user_cap = 0;
	replay_done(&w->replay);
	databases_free(w->stored.databases);
	scripts_free(w->stored.scripts);
}

void whole_clear(void *whole)
{
	struct whole *w = whole;

	whole_done(w);
	begin(w);
}

void whole_save(void *whole, struct base_writer *writer)
{
	const struct whole *w = whole;

	stored_save(&w->stored, writer);
	for (size_t i = 0; i < w->user_count; i++)
		base_add_operations(writer, buf_str(&w->users[i].operation));
}
