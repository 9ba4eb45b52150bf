#include "command/scanning.h"

#include <assert.h>
#include <stdlib.h>

#include "command/key.h"
#include "util/container.h"
#include "util/mem.h"

static struct scanning *scanning_of(struct work *work)
{
	return container_of(work, struct scanning, work);
}

static void free_scanning(struct work *work)
{
	struct scanning *sc = scanning_of(work);

	chain_done(&sc->deferred.body);
	free(sc);
}

struct visit {
	struct scanning *sc;
	struct request *req;
	int left;
};

static void visit_name(void *arg, struct qless_str name)
{
	struct visit *visit = arg;

	visit->left--;
	visit->sc->form->visit(visit->sc, visit->req, name);
}

/* Visits some names. Returns false if there are no more in any table. */
static bool visit_some(struct scanning *sc, struct request *req)
{
	const struct qless *engine = key_engine(req);
	struct visit visit = { .sc = sc, .req = req, .left = WORK_PART_ELEMENTS };

	for (int i = 0; engine != NULL && i < WORK_PART_ELEMENTS && visit.left > 0; i++) {
		sc->cursor = view_scan(engine, sc->form->tables[sc->table], sc->cursor, visit_name,
				       &visit);
		if (sc->cursor == 0)
			break;
	}
	if (sc->cursor == 0 || engine == NULL) {
		sc->cursor = 0;
		sc->table++;
	}
	return sc->table < sc->form->table_count;
}

static void begin(struct scanning *sc, struct request *req)
{
	sc->has_begun = true;
	if (sc->form->begin != NULL)
		sc->form->begin(sc, req);
	reply_deferred_begin(req->reply, &sc->deferred, sc->form->type);
	if (sc->form->begin_values != NULL)
		sc->form->begin_values(sc, req);
}

static bool go_on(struct work *work, struct request *req)
{
	struct scanning *sc = scanning_of(work);
	bool is_text = sc->form->type == REPLY_TEXT, more;
	struct buf *text = &req->env->scratch->json;

	buf_clear(text);
	if (!sc->has_begun)
		begin(sc, req);
	more = visit_some(sc, req);
	if (is_text) {
		if (!more && sc->form->end != NULL)
			sc->form->end(sc, req);
		reply_deferred_append(req->reply, &sc->deferred, buf_str(text));
		buf_clear(text);
	}
	if (more)
		return true;
	reply_deferred_end(req->reply, &sc->deferred, sc->values);
	if (!is_text && sc->form->end != NULL)
		sc->form->end(sc, req);
	return false;
}

struct scanning *scanning_new(const struct scanning_form *form, size_t size)
{
	static const struct work_ops ops = { .go_on = go_on, .free = free_scanning };
	struct scanning *sc;

	assert(size >= sizeof *sc);
	sc = mem_zalloc(size);
	sc->work.ops = &ops;
	sc->form = form;
	return sc;
}

void scanning_begin(struct request *req, struct scanning *sc)
{
	work_begin(req, &sc->work);
}
