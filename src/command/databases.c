#include "command/databases.h"

#include <assert.h>

#include "command/json.h"
#include "keyspace/keyspace.h"
#include "util/mem.h"

struct database {
	struct qless *engine;
	struct classic classic;
	uint64_t flushes;
};

struct databases {
	struct qless_hooks hooks;
	struct databases_limits limits;
	enum classic_envelope envelope;
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
	d->limits.max_json_depth = JSON_DEPTH_MAX;
	return d;
}

void databases_free(struct databases *d)
{
	if (d == NULL)
		return;
	for (unsigned i = 0; i < d->count; i++)
		databases_flush(d, i);
	while (databases_free_some(d, SIZE_MAX))
		;
	free(d);
}

void databases_set_envelope(struct databases *d, enum classic_envelope envelope)
{
	d->envelope = envelope;
	for (unsigned i = 0; i < d->count; i++)
		d->of[i].classic.envelope = envelope;
}

void databases_flush(struct databases *d, unsigned index)
{
	struct database *db = &d->of[index];

	assert(index < d->count);
	if (db->engine == NULL)
		return;
	classic_done(&db->classic);
	d->flushed = mem_realloc_array(d->flushed, d->flushed_count + 1, sizeof(struct qless *));
	d->flushed[d->flushed_count++] = db->engine;
	db->engine = NULL;
	db->flushes++;
}

bool databases_free_some(struct databases *d, size_t jobs)
{
	if (d->flushed_count == 0)
		return false;
	if (!qless_free_some(d->flushed[d->flushed_count - 1], jobs))
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
	db->classic.max_json_depth = limits->max_json_depth;
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

struct classic *databases_get(struct databases *d, unsigned index)
{
	struct database *db = &d->of[index];

	assert(index < d->count);
	if (db->engine == NULL) {
		db->engine = qless_new(&d->hooks);
		classic_init(&db->classic, db->engine);
		apply_limits(db, &d->limits);
		db->classic.envelope = d->envelope;
	}
	return &db->classic;
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
		if (d->of[i].engine != NULL)
			qless_maintain(d->of[i].engine);
	}
}
