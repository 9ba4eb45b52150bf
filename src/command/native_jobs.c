#include "command/native_jobs.h"

#include <assert.h>
#include <stdlib.h>

#include "command/classic_int.h"
#include "command/job_queue.h"
#include "command/listing.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/heap.h"
#include "util/mem.h"

/* Failed jobs up to the end of a page, because a page of them is sorted. */
#define FAILED_MAX 10000

bool native_jobs_has_list(const struct qless_str *args, size_t nargs)
{
	double offset;

	if (nargs == 0)
		return false;
	if (str_equal_nocase(args[0], STR("waiting")) || str_equal_nocase(args[0], STR("failed")))
		return true;
	return nargs > 1 && str_equal_nocase(args[0], STR("complete")) &&
	       !text_is_number(args[1], &offset);
}

/* ---- waiting jobs ---- */

static bool find_waiting(const struct listing *l, const struct request *req,
			 struct skipmerge *ret_order)
{
	(void)l;
	return view_queue_order(req->engine, req->args[1], QUEUE_WORK, ret_order);
}

/* Lists them in the order in which a pop without limits would hand them out. */
static int list_waiting(struct request *req, const struct classic_page *page)
{
	static const struct listing_form form = { .type = REPLY_ARRAY,
						  .find_order = find_waiting,
						  .write = listing_write_member };
	struct listing *l = listing_new(&form);
	uint64_t total = 0, offset = (uint64_t)page->offset, count = (uint64_t)page->count;
	struct skipmerge order;

	if (find_waiting(l, req, &order))
		total = skipmerge_count(&order);
	if (offset >= total)
		listing_add(l, 0, 0, true);
	else
		listing_add(l, total - 1 - offset, count < total - offset ? count : total - offset,
			    true);
	listing_begin(req, l);
	return 0;
}

/* ---- complete jobs ---- */

static bool is_of_queue(const struct request *req, struct qless_str jid)
{
	const struct qless_job *job = qless_get(req->engine, jid);
	struct qless_job_info info;
	struct qless_str queue;

	if (job == NULL)
		return false;
	qless_job_read(job, &info);
	return job_queue_find(req->engine, job, &info, &queue) && str_equal(queue, req->args[1]);
}

static const struct skiplist *find_complete(const struct listing *l, const struct request *req)
{
	(void)l;
	return view_completed(req->engine);
}

/* After the last job of the page, the listing ends. */
static size_t write_complete(struct listing *l, struct request *req, const struct skiplist *list,
			     const struct skipnode *node)
{
	if (!is_of_queue(req, list->member(node)) || l->page_offset-- > 0)
		return 0;
	l->page_offset = 0;
	if (--l->page_count == 0)
		l->parts[0].count = 1;
	return listing_write_member(l, req, list, node);
}

static int list_complete(struct request *req, const struct classic_page *page)
{
	static const struct listing_form form = { .type = REPLY_ARRAY,
						  .find = find_complete,
						  .write = write_complete };
	struct listing *l = listing_new(&form);
	uint64_t total = skiplist_count(view_completed(req->engine));

	l->page_offset = page->offset;
	l->page_count = page->count;
	listing_add(l, total == 0 ? 0 : total - 1, page->count == 0 ? 0 : total, true);
	listing_begin(req, l);
	return 0;
}

/* ---- failed jobs ---- */

/*
 * The engine files failed jobs by group, and numbers all failures. So the work walks through each
 * group, newest jobs first, and keeps the newest jobs of the queue that it has found in any group.
 * A group ends where its jobs are older than all that were kept. The page is a part of what is
 * kept, so all of it is sorted at the end.
 */
struct kept_job {
	struct heap_node by_number; /* of the failure */
	size_t jid_len;
	char jid[];
};

struct failed_work {
	struct work work;
	struct classic_page page;
	size_t room;	   /* jobs to keep */
	struct heap kept;  /* the oldest on top */
	bool scans;	   /* there are more groups, from this cursor on */
	uint32_t cursor;   /* of the groups */
	struct buf groups; /* for each its length, a size_t, and its bytes */
	size_t at;	   /* the place of the current group */
	bool has_visited;  /* a job of the current group, whose number follows */
	double number;	   /* of a failure */
};

static struct kept_job *kept_of(struct heap_node *node)
{
	return container_of(node, struct kept_job, by_number);
}

static void free_oldest(struct failed_work *f)
{
	struct kept_job *job = kept_of(heap_first(&f->kept));

	heap_remove(&f->kept, &job->by_number);
	free(job);
}

static void free_failed(struct work *work)
{
	struct failed_work *f = container_of(work, struct failed_work, work);

	while (f->kept.count != 0)
		free_oldest(f);
	heap_done(&f->kept);
	buf_done(&f->groups);
	free(f);
}

static void keep(struct failed_work *f, struct qless_str jid, double number)
{
	struct kept_job *job = mem_alloc(sizeof *job + jid.len);

	if (f->kept.count == f->room)
		free_oldest(f);
	job->jid_len = jid.len;
	if (jid.len != 0)
		memcpy(job->jid, jid.ptr, jid.len);
	heap_node_init(&job->by_number);
	heap_insert(&f->kept, &job->by_number, number);
}

static bool is_too_old(const struct failed_work *f, double number)
{
	return f->kept.count == f->room && number <= heap_first(&f->kept)->key;
}

/* Looks at some jobs of a group, at most *left. Returns true after the last one that matters. */
static bool look_at_some(struct failed_work *f, const struct request *req, struct qless_str group,
			 int *left)
{
	const struct skiplist *jobs = view_group(req->engine, group);
	const struct skipnode *node = NULL;

	if (jobs != NULL)
		node = f->has_visited ? skiplist_last_lt(jobs, f->number) : skiplist_last(jobs);
	for (; node != NULL && *left > 0; node = skiplist_prev(node), --*left) {
		if (is_too_old(f, node->score))
			return true;
		if (is_of_queue(req, jobs->member(node)))
			keep(f, jobs->member(node), node->score);
		f->has_visited = true;
		f->number = node->score;
	}
	return node == NULL;
}

static void add_group(void *arg, struct qless_str name)
{
	struct failed_work *f = arg;

	buf_append(&f->groups, &name.len, sizeof name.len);
	buf_append_str(&f->groups, name);
}

/* Finds the current group, and the place of the next one. Returns false if there is none for now.
 */
static bool find_group(struct failed_work *f, const struct request *req, struct qless_str *ret_name,
		       size_t *ret_next)
{
	if (f->at == f->groups.len) {
		buf_clear(&f->groups);
		f->at = 0;
		f->cursor = view_scan(req->engine, VIEW_GROUPS, f->cursor, add_group, f);
		f->scans = f->cursor != 0;
	}
	if (f->at == f->groups.len)
		return false;
	memcpy(&ret_name->len, buf_data(&f->groups) + f->at, sizeof ret_name->len);
	ret_name->ptr = buf_data(&f->groups) + f->at + sizeof ret_name->len;
	*ret_next = f->at + sizeof ret_name->len + ret_name->len;
	return true;
}

static bool has_more(const struct failed_work *f)
{
	return f->scans || f->at < f->groups.len;
}

static void write_page(struct failed_work *f, struct request *req)
{
	size_t total = f->kept.count, offset = (size_t)f->page.offset;
	size_t count = total > offset ? total - offset : 0;
	struct kept_job **jobs;

	if (count > (size_t)f->page.count)
		count = (size_t)f->page.count;
	jobs = mem_realloc_array(NULL, total + 1, sizeof(struct kept_job *));
	for (size_t i = total; i-- > 0;) {
		jobs[i] = kept_of(heap_first(&f->kept));
		heap_remove(&f->kept, &jobs[i]->by_number);
	}
	reply_array(req->reply, count);
	for (size_t i = 0; i < total; i++) {
		if (i >= offset && i < offset + count)
			reply_bulk(req->reply, str_make(jobs[i]->jid, jobs[i]->jid_len));
		free(jobs[i]);
	}
	free(jobs);
}

static bool find_failed(struct work *work, struct request *req)
{
	struct failed_work *f = container_of(work, struct failed_work, work);
	int left = WORK_PART_ELEMENTS;
	struct qless_str group;
	size_t next;

	for (; left > 0 && has_more(f); left--) {
		if (!find_group(f, req, &group, &next))
			continue;
		if (!look_at_some(f, req, group, &left))
			return true;
		f->at = next;
		f->has_visited = false;
	}
	if (has_more(f))
		return true;
	write_page(f, req);
	return false;
}

static int list_failed(struct request *req, const struct classic_page *page)
{
	static const struct work_ops ops = { find_failed, free_failed };
	struct failed_work *f;

	if (page->count > FAILED_MAX || page->offset > FAILED_MAX - page->count)
		return request_fail(req, QLESS_EBADARG,
				    "offset and count of failed jobs must be at most %g together; "
				    "found %g. QUEUE.JOBS lists all of them",
				    (double)FAILED_MAX, (double)page->offset + (double)page->count);
	if (page->count == 0) {
		reply_array(req->reply, 0);
		return 0;
	}
	f = mem_zalloc(sizeof *f);
	f->work.ops = &ops;
	f->page = *page;
	f->room = (size_t)(page->offset + page->count);
	f->scans = true;
	buf_init(&f->groups, BUF_NO_MAX);
	work_begin(req, &f->work);
	return 0;
}

/* ---- JOBS ---- */

#define WHOLE "a whole number from 0 to 1e+15"

static int parse_page(struct request *req, struct classic_page *ret)
{
	double offset = 0, count = 0;
	int rc = request_optional_whole(req, 2, "offset must be " WHOLE, 0, 0, &offset);

	if (rc == 0)
		rc = request_optional_whole(req, 3, "count must be " WHOLE, 0, 25, &count);
	return rc < 0 ? rc : request_limit_page(req, offset, count, ret);
}

int native_jobs(struct request *req)
{
	struct classic_page page;
	struct qless_str queue;
	int rc = request_need(req, 1, "Jobs(): Arg \"queue\" missing", &queue);

	if (rc == 0)
		rc = parse_page(req, &page);
	if (rc < 0)
		return rc;
	if (str_equal_nocase(req->args[0], STR("complete")))
		return list_complete(req, &page);
	if (str_equal_nocase(req->args[0], STR("failed")))
		return list_failed(req, &page);
	rc = request_advance(req, QLESS_ADVANCE_QUEUE, queue, QLESS_ADVANCE_MAX);
	return rc < 0 ? rc : list_waiting(req, &page);
}
