#include "command/databases.h"

#include <assert.h>

#include "command/classic.h"
#include "command/json.h"
#include "command/request.h"
#include "command/rows.h"
#include "keyspace/keyspace.h"
#include "resp/writer.h"
#include "util/mem.h"

/* What is recorded besides the commands of the classic API. */
static const struct qless_str flush_name = STR_INIT("@flush");
static const struct qless_str maintain_name = STR_INIT("@maintain");

struct databases {
	struct database_recorder recorder; /* its function is NULL: nobody is told */
	/* What commands that are done again answer goes here, and nowhere else. */
	struct chunk_pool chunks;
	struct chain answer;
	struct reply writer;
	struct scratch scratch;
	struct command_env env;
	struct qless_hooks hooks;
	struct databases_limits limits;
	struct qless **flushed; /* engines to be freed, bit by bit */
	size_t flushed_count;
	unsigned count;
	struct database of[];
};

struct databases *databases_new(unsigned count, const struct qless_hooks *hooks)
{
	struct databases *d = mem_zalloc(sizeof *d + count * sizeof d->of[0]);

	d->hooks = *hooks;
	d->count = count;
	chunk_pool_init(&d->chunks, 1);
	chain_init(&d->answer, &d->chunks);
	scratch_init(&d->scratch);
	d->env.scratch = &d->scratch;
	resp_writer_init(&d->writer, &d->answer, RESP_PROTO_MIN);
	d->limits.max_json_depth = JSON_DEPTH_MAX;
	return d;
}

void databases_free(struct databases *d)
{
	if (d == NULL)
		return;
	d->recorder.record = NULL;
	for (unsigned i = 0; i < d->count; i++)
		databases_flush(d, i);
	while (databases_free_some(d, SIZE_MAX))
		;
	chain_done(&d->answer);
	scratch_done(&d->scratch);
	chunk_pool_done(&d->chunks);
	free(d);
}

/* Of something that does not depend on the time. */
static void record(const struct databases *d, unsigned index, struct qless_str name)
{
	if (d->recorder.record != NULL)
		d->recorder.record(d->recorder.arg, index, 0, name, NULL, 0);
}

void databases_flush(struct databases *d, unsigned index)
{
	struct database *db = &d->of[index];

	assert(index < d->count);
	if (db->engine == NULL)
		return;
	d->flushed = mem_realloc_array(d->flushed, d->flushed_count + 1, sizeof(struct qless *));
	d->flushed[d->flushed_count++] = db->engine;
	db->engine = NULL;
	db->flushes++;
	record(d, index, flush_name);
}

void databases_set_recorder(struct databases *d, const struct database_recorder *recorder)
{
	d->recorder = *recorder;
	for (unsigned i = 0; i < d->count; i++) {
		if (d->of[i].engine != NULL)
			d->of[i].recorder = &d->recorder;
	}
}

static int apply_command(struct databases *d, unsigned index, double now, struct qless_str name,
			 const struct qless_str *args, size_t count, struct buf *ret_error)
{
	struct request req = {
		.row = queue_command_find(name),
		.form = REQUEST_QLESS,
		.now = now,
		.args = args,
		.nargs = count,
		.reply = &d->writer,
		.env = &d->env,
	};
	struct qless_str said;
	int rc;

	if (req.row == NULL) {
		buf_printf(ret_error, "there is no command %.*s", (int)name.len, name.ptr);
		return QLESS_EBADARG;
	}
	request_use_database(&req, databases_get(d, index));
	rc = classic_run_again(&req);
	if (rc < 0 && d->answer.len == 0) {
		buf_printf(ret_error, "%.*s means the data of a job that is not there",
			   (int)name.len, name.ptr);
		return rc;
	}
	chain_consume(&d->answer, d->answer.len);
	if (rc < 0) {
		said = buf_str(&d->scratch.error);
		buf_printf(ret_error, "%.*s failed: %.*s", (int)name.len, name.ptr, (int)said.len,
			   said.ptr);
	}
	return rc;
}

int databases_apply(struct databases *d, unsigned index, double now, struct qless_str name,
		    const struct qless_str *args, size_t count, struct buf *ret_error)
{
	if (index >= d->count) {
		buf_printf(ret_error, "there is no database %u: see the directive databases",
			   index);
		return QLESS_EBADARG;
	}
	if (str_equal(name, flush_name)) {
		databases_flush(d, index);
		return 0;
	}
	if (str_equal(name, maintain_name)) {
		qless_maintain(databases_get(d, index)->engine);
		return 0;
	}
	return apply_command(d, index, now, name, args, count, ret_error);
}

bool databases_free_some(struct databases *d, size_t things)
{
	if (d->flushed_count == 0)
		return false;
	if (!qless_free_some(d->flushed[d->flushed_count - 1], things))
		d->flushed_count--;
	if (d->flushed_count != 0)
		return true;
	free(d->flushed);
	d->flushed = NULL;
	return false;
}

unsigned databases_count(const struct databases *d)
{
	return d->count;
}

static void apply_limits(struct database *db, const struct databases_limits *limits)
{
	qless_set_limits(db->engine, &limits->engine);
	db->max_json_depth = limits->max_json_depth;
}

void databases_set_limits(struct databases *d, const struct databases_limits *limits)
{
	static const struct databases_limits widest = { .max_json_depth = JSON_DEPTH_MAX };

	d->limits = limits != NULL ? *limits : widest;
	for (unsigned i = 0; i < d->count; i++) {
		if (d->of[i].engine != NULL)
			apply_limits(&d->of[i], &d->limits);
	}
}

struct database *databases_get(struct databases *d, unsigned index)
{
	struct database *db = &d->of[index];

	assert(index < d->count);
	if (db->engine == NULL) {
		db->engine = qless_new(&d->hooks);
		db->index = index;
		if (d->recorder.record != NULL)
			db->recorder = &d->recorder;
		apply_limits(db, &d->limits);
	}
	return db;
}

struct qless *databases_peek(const struct databases *d, unsigned index)
{
	assert(index < d->count);
	return d->of[index].engine;
}

struct database_version databases_version(const struct databases *d, unsigned index)
{
	const struct qless *engine = databases_peek(d, index);

	return (struct database_version){
		.flushes = d->of[index].flushes,
		.changes = engine != NULL ? qless_changes(engine) : 0,
	};
}

size_t databases_count_keys(const struct databases *d, unsigned index)
{
	return keyspace_count(databases_peek(d, index));
}

uint64_t databases_fingerprint(const struct databases *d, unsigned index, struct qless_str key)
{
	return keyspace_fingerprint(databases_peek(d, index), key);
}

void databases_maintain(struct databases *d)
{
	for (unsigned i = 0; i < d->count; i++) {
		struct qless *engine = d->of[i].engine;
		uint64_t changes;

		if (engine == NULL)
			continue;
		changes = qless_changes(engine);
		qless_maintain(engine);
		if (qless_changes(engine) != changes)
			record(d, i, maintain_name);
	}
}
