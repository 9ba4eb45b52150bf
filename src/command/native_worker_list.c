/*
 * WORKER.LIST, and what WORKERS shows of an attached worker.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "command/attach.h"
#include "command/options.h"
#include "command/permit.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/json.h"
#include "util/mem.h"

struct list_work {
	struct work work;
	bool in_waiting; /* the attached workers have been visited */
	uint32_t cursor;
	struct buf json;
};

struct list_part {
	struct request *req;
	struct list_work *list;
	const struct qless_str *queue; /* NULL: workers of all queues */
	int visited;
};

static void append_text(struct buf *json, struct qless_str before, struct qless_str text)
{
	buf_append_str(json, before);
	json_append_string(json, text);
}

static void append_number(struct buf *json, struct qless_str before, double number)
{
	buf_append_str(json, before);
	json_append_number(json, number);
}

/* ---- a worker ---- */

static void append_connection(struct buf *json, const struct worker_view *view)
{
	append_text(json, STR("\"node\":"), view->node);
	append_number(json, STR(",\"pid\":"), (double)view->pid);
	append_text(json, STR(",\"address\":"), view->address);
	append_number(json, STR(",\"since\":"), view->since_s);
	append_number(json, STR(",\"idle\":"), view->idle_s);
	if (view->is_attached)
		append_number(json, STR(",\"grace\":"), view->grace_s);
}

/* Appends the queues that the viewer may see. Returns whether `queue` is among them; NULL stands
 * for any. */
static bool append_queues(const struct list_part *part, struct buf *json,
			  const struct worker_view *view)
{
	const struct attach_ops *ops = part->req->env->presence;
	const struct user *viewer = permit_viewer(part->req);
	bool is_shown = part->queue == NULL && viewer == NULL;
	size_t begin;

	buf_append_str(json, STR(",\"queues\":"));
	begin = json_begin_list(json);
	for (size_t i = 0; i < view->queue_count; i++) {
		struct qless_str queue = ops->queue_at(view, i);

		if (!permit_shows_queue(viewer, queue))
			continue;
		json_next_item(json, begin);
		json_append_string(json, queue);
		is_shown |= part->queue == NULL || str_equal(queue, *part->queue);
	}
	json_end_list(json, begin, JSON_EMPTY_ARRAY);
	return is_shown;
}

/* A user that may not see all jobs does not learn how many a worker has. */
static void append_jobs(const struct request *req, struct buf *json, struct qless_str worker)
{
	const struct skiplist *jobs = view_worker_jobs(req->engine, worker);

	if (permit_viewer(req) == NULL)
		append_number(json, STR(",\"jobs\":"), jobs != NULL ? skiplist_count(jobs) : 0);
}

static void list_worker(void *arg, const struct worker_view *view)
{
	struct list_part *part = arg;
	struct buf *json = &part->list->json;
	size_t begin = json->len;

	part->visited += 1 + (int)view->queue_count;
	append_text(json, begin == 0 ? STR("[{\"name\":") : STR(",{\"name\":"), view->name);
	buf_append_str(json, STR(",\"attached\":"));
	json_append_bool(json, view->is_attached);
	buf_append_char(json, ',');
	append_connection(json, view);
	append_jobs(part->req, json, view->name);
	if (append_queues(part, json, view))
		buf_append_char(json, '}');
	else
		buf_truncate(json, begin);
}

/* ---- WORKER.LIST ---- */

static bool go_on(struct work *work, struct request *req)
{
	struct list_work *list = container_of(work, struct list_work, work);
	const struct attach_ops *ops = req->env->presence;
	struct list_part part = { req, list, request_has(req, 1) ? &req->args[1] : NULL, 0 };

	for (int i = 0; i < WORK_PART_ELEMENTS && part.visited < WORK_PART_ELEMENTS; i++) {
		list->cursor = (list->in_waiting ? ops->scan_waiting : ops->scan_attached)(
			req->env->arg, req->database->index, list->cursor, list_worker, &part);
		if (list->cursor != 0)
			continue;
		if (list->in_waiting) {
			buf_append_str(&list->json, list->json.len == 0 ? STR("[]") : STR("]"));
			reply_json(req->reply, buf_str(&list->json));
			return false;
		}
		list->in_waiting = true;
	}
	/* A reply that is too large already need not be finished. */
	if (list->json.len > reply_room(req->reply)) {
		reply_json(req->reply, buf_str(&list->json));
		return false;
	}
	return true;
}

static void free_list(struct work *work)
{
	struct list_work *list = container_of(work, struct list_work, work);

	buf_done(&list->json);
	free(list);
}

int native_worker_list(struct request *req)
{
	static const struct work_ops ops = { go_on, free_list };
	const struct qless_str *queue = NULL;
	const struct option_slot slots[] = { { STR_INIT("QUEUE"), &queue, 1 } };
	int rc = options_read(req, 0, req->nargs, slots, 1);
	struct list_work *list;

	if (rc == 0 && req->env->presence == NULL)
		rc = request_fail(req, QLESS_EBADARG, "This server attaches no workers");
	if (rc < 0)
		return rc;
	list = mem_zalloc(sizeof *list);
	list->work.ops = &ops;
	buf_init(&list->json, BUF_NO_MAX);
	work_begin(req, &list->work);
	return 0;
}

/* ---- WORKERS ---- */

void append_attachment(struct request *req, struct buf *json, struct qless_str worker)
{
	const struct command_env *env = req->env;
	struct worker_view view;

	if (req->form != REQUEST_NATIVE || env->presence == NULL ||
	    !env->presence->find(env->arg, req->database->index, worker, &view))
		return;
	buf_append_str(json, STR(",\"attached\":{"));
	append_connection(json, &view);
	buf_append_char(json, '}');
}
