#include "command/swapped.h"

static bool is_queue(const struct request *req, struct qless_str name)
{
	return view_queue(req->engine, name, QUEUE_WORK) != NULL;
}

static void note(const struct request *req, struct qless_str worker, struct qless_str queue)
{
	if (worker.len != 0 && !str_equal(worker, queue) && is_queue(req, worker))
		req->env->swapped(req->env->arg, req, worker, queue);
}

void swapped_note_new_queue(const struct request *req, struct qless_str worker,
			    struct qless_str queue)
{
	if (req->form == REQUEST_NATIVE && req->env->swapped != NULL)
		note(req, worker, queue);
}

void swapped_note_pop(const struct request *req, struct qless_str queue, struct qless_str worker)
{
	if (req->form == REQUEST_NATIVE && req->env->swapped != NULL && !is_queue(req, queue))
		note(req, worker, queue);
}
