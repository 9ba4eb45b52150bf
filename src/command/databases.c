#include "command/databases.h"

#include <assert.h>

#include "command/json.h"
#include "util/mem.h"

struct database {
	struct qless *engine;
	struct classic classic;
};

struct databases {
	struct qless_hooks hooks;
	struct databases_limits limits;
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
	for (unsigned i = 0; i < d->count; i++) {
		if (d->of[i].engine == NULL)
			continue;
		classic_done(&d->of[i].classic);
		qless_free(d->of[i].engine);
	}
	free(d);
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
