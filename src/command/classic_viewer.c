#include "command/classic_viewer.h"

#include "command/key.h"
#include "engine/view.h"
#include "util/json.h"
#include "util/mem.h"

static struct qless_str *copy_list(const struct qless_list *list)
{
	struct qless_str *items = mem_realloc_array(NULL, list->count + 1, sizeof(*items));

	if (list->count != 0)
		memcpy(items, list->items, list->count * sizeof(*items));
	return items;
}

struct qless_str *viewer_keep(const struct user *viewer, const struct qless *engine,
			      struct qless_list *list, unsigned access)
{
	struct qless_str *items = copy_list(list);
	size_t count = permit_keep_jids(viewer, engine, items, list->count, access);

	*list = (struct qless_list){ items, count, count };
	return items;
}

struct qless_str *viewer_page(const struct user *viewer, const struct qless *engine,
			      struct qless_list *list, const struct classic_page *page)
{
	struct qless_str *items = viewer_keep(viewer, engine, list, ACL_READ);
	size_t first = 0, count = 0;

	key_index_range(list->count, page->offset, page->offset + page->count - 1, &first, &count);
	list->items = items + first;
	list->count = count;
	return items;
}

/* Counts up to `max` jobs of a list that the viewer may read. */
static uint64_t count_jobs(const struct user *viewer, const struct qless *engine,
			   const struct skiplist *jobs, uint64_t max)
{
	const struct skipnode *node = jobs != NULL ? skiplist_first(jobs) : NULL;
	uint64_t count = 0;

	for (; node != NULL && count < max; node = skiplist_next(node))
		count += permit_jid(viewer, engine, jobs->member(node), ACL_READ);
	return count;
}

uint64_t viewer_count_failed(const struct user *viewer, const struct qless *engine,
			     struct qless_str group)
{
	return count_jobs(viewer, engine, view_group(engine, group), UINT64_MAX);
}

struct qless_str *viewer_top_tags(const struct user *viewer, struct qless *engine,
				  const struct classic_page *page, struct qless_list *ret_tags)
{
	struct qless_str *tags;
	size_t kept = 0, first, count;

	qless_top_tags(engine, 0, -1, ret_tags);
	tags = copy_list(ret_tags);
	for (size_t i = 0; i < ret_tags->count; i++) {
		if (count_jobs(viewer, engine, view_tag_jobs(engine, tags[i]), 2) == 2)
			tags[kept++] = tags[i];
	}
	/* A negative offset gives nothing, a negative count everything. */
	first = page->offset >= 0 && (uint64_t)page->offset < kept ? (size_t)page->offset : kept;
	count = kept - first;
	if (page->count >= 0 && (uint64_t)page->count < count)
		count = (size_t)page->count;
	*ret_tags = (struct qless_list){ tags + first, count, kept };
	return tags;
}

/* ---- workers ---- */

static struct qless_str *copy_workers(const struct qless_workers *workers)
{
	struct qless_str *names = mem_realloc_array(NULL, workers->count + 1, sizeof(*names));

	for (size_t i = 0; i < workers->count; i++)
		names[i] = workers->items[i].name;
	return names;
}

static int append_worker(struct request *req, const struct user *viewer, struct qless_str name,
			 struct buf *json, size_t begin)
{
	struct qless_list jobs, stalled;
	int rc = qless_worker_jobs(req->engine, req->now, name, &jobs, &stalled);
	struct qless_str *kept_jobs, *kept_stalled;

	if (rc < 0)
		return rc;
	kept_jobs = viewer_keep(viewer, req->engine, &jobs, ACL_READ);
	kept_stalled = viewer_keep(viewer, req->engine, &stalled, ACL_READ);
	free(kept_jobs);
	free(kept_stalled);
	if (jobs.count + stalled.count == 0)
		return 0;
	json_next_item(json, begin);
	buf_append_str(json, STR("{\"stalled\":"));
	json_append_number(json, (double)stalled.count);
	buf_append_str(json, STR(",\"name\":"));
	json_append_string(json, name);
	buf_append_str(json, STR(",\"jobs\":"));
	json_append_number(json, (double)jobs.count);
	buf_append_char(json, '}');
	return 0;
}

int viewer_workers(struct request *req, const struct user *viewer)
{
	struct buf *json = request_json_buf(req);
	struct qless_workers workers;
	struct qless_str *names;
	size_t begin;
	int rc = qless_workers(req->engine, req->now, &workers);

	if (rc < 0)
		return rc;
	names = copy_workers(&workers);
	begin = json_begin_list(json);
	for (size_t i = 0, count = workers.count; rc == 0 && i < count; i++)
		rc = append_worker(req, viewer, names[i], json, begin);
	free(names);
	if (rc < 0)
		return rc;
	json_end_list(json, begin, req->style->whole);
	return answer_json(req);
}

/* ---- unfail ---- */

static struct qless_str keep_text(struct qless_str text)
{
	return str_make(mem_dup(text.ptr, text.len), text.len);
}

static void free_text(struct qless_str text)
{
	free((char *)(uintptr_t)text.ptr);
}

/* Puts the job into a queue as it is. An operation must not borrow from the job that it changes. */
static int put_again(struct request *req, struct qless_str queue, const struct qless_job *job)
{
	struct operation op = { .kind = OPERATION_REQUEUE };
	struct operation_outcome outcome;
	struct qless_job_info info;
	int rc;

	qless_job_read(job, &info);
	op.put = (struct qless_put){ .worker = STR(""),
				     .queue = queue,
				     .jid = keep_text(info.jid),
				     .klass = keep_text(info.klass),
				     .data = keep_text(info.data) };
	rc = request_run(req, &op, &outcome);
	free_text(op.put.jid);
	free_text(op.put.klass);
	free_text(op.put.data);
	return rc;
}

/* Says what UNFAIL says about arguments that the engine does not accept. */
static int check_unfail(struct request *req, const struct operation *op)
{
	size_t max = qless_get_limits(req->engine)->max_jobs;
	uint64_t count;

	if ((uint64_t)op->unfail.count > max)
		return request_fail(req, QLESS_ELIMIT,
				    "unfail: more jobs in one call than max-jobs-per-call (%g)",
				    (double)max);
	return qless_unfail(req->engine, req->now, op->unfail.queue, op->unfail.group, 0, &count);
}

int viewer_unfail(struct request *req, const struct user *viewer, const struct operation *op)
{
	struct qless_list jids;
	struct qless_str *items;
	int64_t moved = 0;
	int rc = check_unfail(req, op);

	if (rc < 0)
		return rc;
	qless_failed(req->engine, op->unfail.group, 0, VIEWER_ALL, &jids);
	items = viewer_keep(viewer, req->engine, &jids, ACL_READ | ACL_WRITE);
	/* The newest is the first. */
	for (size_t i = jids.count; rc == 0 && i > 0 && moved < op->unfail.count; i--) {
		rc = put_again(req, op->unfail.queue, qless_get(req->engine, items[i - 1]));
		moved += rc == 0;
	}
	free(items);
	return rc < 0 ? rc : answer_integer(req, (double)moved);
}
