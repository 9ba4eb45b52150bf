#include "command/databases.h"

#include <assert.h>

#include "util/mem.h"

struct database {
	struct qless *engine;
	struct classic classic;
};

struct databases {
	struct qless_hooks hooks;
	enum classic_envelope envelope;
	unsigned count;
	struct database of[];
};

struct databases *databases_new(unsigned count, const struct qless_hooks *hooks)
{
	struct databases *d = mem_zalloc(sizeof *d + count * sizeof d->of[0]);

	d->hooks = *hooks;
	d->count = count;
	return d;
}

void databases_free(struct databases *d)
{
	if (d == NULL)
		return;
	for (unsigned i = 0; i < d->count; i++)
		databases_flush(d, i);
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
	qless_free(db->engine);
	db->engine = NULL;
}

unsigned databases_count(const struct databases *d)
{
	return d->count;
}

struct classic *databases_get(struct databases *d, unsigned index)
{
	struct database *db = &d->of[index];

	assert(index < d->count);
	if (db->engine == NULL) {
		db->engine = qless_new(&d->hooks);
		classic_init(&db->classic, db->engine);
		db->classic.envelope = d->envelope;
	}
	return &db->classic;
}

struct qless *databases_peek(const struct databases *d, unsigned index)
{
	assert(index < d->count);
	return d->of[index].engine;
}

void databases_maintain(struct databases *d)
{
	for (unsigned i = 0; i < d->count; i++) {
		if (d->of[i].engine != NULL)
			qless_maintain(d->of[i].engine);
	}
}
