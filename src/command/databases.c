#include "command/databases.h"

#include <assert.h>

#include "command/endpoints.h"
#include "command/json.h"
#include "engine/meter.h"
#include "keyspace/keyspace.h"
#include "util/mem.h"

struct databases {
	struct operation_recorder recorder; /* its function is NULL: nothing is recorded */
	struct qless_hooks hooks;
	struct databases_limits limits;
	struct qless **flushed; /* engines that databases_free_some() frees */
	size_t flushed_count;
	struct endpoints **endpoints; /* of each database; NULL: there are none */
	unsigned count;
	struct database of[];
};

struct databases *databases_new(unsigned count, const struct qless_hooks *hooks)
{
	struct databases *d = mem_zalloc(sizeof *d + count * sizeof d->of[0]);

	d->hooks = *hooks;
	d->endpoints = mem_zalloc(count * sizeof(struct endpoints *));
	d->count = count;
	d->limits.max_json_depth = JSON_DEPTH_MAX;
	d->limits.metered_classes = METER_CLASSES_DEFAULT;
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
	free(d->endpoints);
	free(d);
}

static void record(const struct databases *d, const struct operation *op)
{
	if (d->recorder.record != NULL)
		d->recorder.record(d->recorder.arg, op);
}

void databases_flush(struct databases *d, unsigned index)
{
	struct database *db = &d->of[index];

	assert(index < d->count);
	if (db->engine == NULL && d->endpoints[index] == NULL)
		return;
	endpoints_free(d->endpoints[index]);
	d->endpoints[index] = NULL;
	if (db->engine != NULL) {
		d->flushed =
			mem_realloc_array(d->flushed, d->flushed_count + 1, sizeof(struct qless *));
		d->flushed[d->flushed_count++] = db->engine;
		db->engine = NULL;
	}
	db->flushes++;
	record(d, &(struct operation){ .kind = OPERATION_FLUSH, .db = index });
}

void databases_set_recorder(struct databases *d, const struct operation_recorder *recorder)
{
	d->recorder = *recorder;
	for (unsigned i = 0; i < d->count; i++) {
		if (d->of[i].engine != NULL)
			d->of[i].recorder = &d->recorder;
	}
}

void databases_complain(unsigned index, struct buf *ret_error)
{
	buf_printf(ret_error, "there is no database %u: see the directive databases", index);
}

static int run(struct databases *d, const struct operation *op, struct buf *ret_error)
{
	struct qless *engine = databases_get(d, op->db)->engine;
	struct operation_outcome outcome;
	struct qless_str error;
	int rc = operation_run(engine, op, &outcome);

	if (rc < 0) {
		error = qless_error_text(engine);
		buf_printf(ret_error, "%s was refused: %.*s", operation_name(op->kind),
			   (int)error.len, error.ptr);
	}
	return rc;
}

/* Returns whether the operation changed something. */
static bool apply_endpoint(struct databases *d, const struct operation *op)
{
	struct endpoints **endpoints = &d->endpoints[op->db];
	bool is_changed;

	if (*endpoints == NULL)
		*endpoints = endpoints_new(d->hooks.hash_seed);
	is_changed = endpoints_apply(*endpoints, op);
	if (endpoints_count(*endpoints) == 0) {
		endpoints_free(*endpoints);
		*endpoints = NULL;
	}
	return is_changed;
}

bool databases_run_endpoint(struct databases *d, const struct operation *op)
{
	bool is_changed = apply_endpoint(d, op);

	if (is_changed)
		record(d, op);
	return is_changed;
}

const struct endpoints *databases_endpoints(const struct databases *d, unsigned index)
{
	assert(index < d->count);
	return d->endpoints[index];
}

int databases_apply(struct databases *d, const struct operation *op, struct buf *ret_error)
{
	if (op->db >= d->count) {
		databases_complain(op->db, ret_error);
		return QLESS_EBADARG;
	}
	if (operation_is_for_engine(op))
		return run(d, op, ret_error);
	if (operation_is_for_endpoint(op)) {
		apply_endpoint(d, op);
		return 0;
	}
	assert(op->kind == OPERATION_FLUSH);
	databases_flush(d, op->db);
	return 0;
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
	meter_set_max_classes(db->engine, limits->metered_classes);
	db->max_json_depth = limits->max_json_depth;
}

void databases_set_limits(struct databases *d, const struct databases_limits *limits)
{
	static const struct databases_limits widest = { .max_json_depth = JSON_DEPTH_MAX,
							.metered_classes = METER_CLASSES_DEFAULT };

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

int databases_run(struct databases *d, const struct operation *op,
		  struct operation_outcome *ret_outcome)
{
	int rc = operation_run(databases_get(d, op->db)->engine, op, ret_outcome);

	if (ret_outcome->changed)
		record(d, op);
	return rc;
}

/* Run an operation on each database that has an engine. */
static void run_on_all(struct databases *d, struct operation *op)
{
	struct operation_outcome outcome;

	for (op->db = 0; op->db < d->count; op->db++) {
		struct qless *engine = d->of[op->db].engine;

		if (engine != NULL && operation_run(engine, op, &outcome) == 0 && outcome.changed)
			record(d, op);
	}
}

void databases_maintain(struct databases *d)
{
	struct operation op = { .kind = OPERATION_MAINTAIN };

	run_on_all(d, &op);
}

void databases_step_clock(struct databases *d, double now, double from)
{
	struct operation op = {
		.kind = OPERATION_STEP_CLOCK,
		.now = now,
		.step_clock = { .from = from },
	};

	run_on_all(d, &op);
}
