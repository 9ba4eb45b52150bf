#include "server/hints.h"

#include <string.h>

#include "command/request.h"
#include "server/server_int.h"
#include "sys/log.h"

static bool is_kept(const struct hints *hints, const struct hint *hint)
{
	for (size_t i = 0; i < HINTS_MAX && i < hints->count; i++) {
		const struct hint *kept = &hints->kept[i];

		if (kept->row == hint->row && kept->db == hint->db &&
		    str_equal(hint_worker(kept), hint_worker(hint)) &&
		    str_equal(hint_queue(kept), hint_queue(hint)))
			return true;
	}
	return false;
}

static void log_hint(struct server *s, const struct request *req, const struct hint *hint)
{
	if (s->hints.logged_us != 0 &&
	    s->clocks.mono_us - s->hints.logged_us < HINTS_LOG_DISTANCE_US)
		return;
	s->hints.logged_us = s->clocks.mono_us;
	log_write(
		LOG_LEVEL_NOTICE,
		LOG_FIELDS(LOG_INT("id", req->session->id), LOG_TEXT("addr", client_of(req)->peer)),
		"a client may have swapped two arguments of %s: its queue '%.*s' did not exist, "
		"and its worker '%.*s' has the name of a queue",
		hint->row->name, (int)hint->queue_len, hint->queue, (int)hint->worker_len,
		hint->worker);
}

void hints_note_swapped(void *arg, const struct request *req, struct qless_str worker,
			struct qless_str queue)
{
	struct server *s = arg;
	struct hints *hints = &s->hints;
	struct hint hint = { .row = req->row, .db = req->session->db };

	if (worker.len > HINTS_NAME_BYTES || queue.len > HINTS_NAME_BYTES)
		return;
	hint.worker_len = worker.len;
	hint.queue_len = queue.len;
	memcpy(hint.worker, worker.ptr, worker.len);
	if (queue.len != 0)
		memcpy(hint.queue, queue.ptr, queue.len);
	if (is_kept(hints, &hint))
		return;
	hints->kept[hints->count++ % HINTS_MAX] = hint;
	log_hint(s, req, &hint);
}

void hints_each(const struct hints *hints, hint_fn *fn, void *arg)
{
	for (uint64_t i = hints->count; i-- > 0 && hints->count - i <= HINTS_MAX;)
		fn(arg, &hints->kept[i % HINTS_MAX]);
}
