#include "command/classic_viewer.h"

#include <stdlib.h>

#include "command/key.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/json.h"
#include "util/mem.h"

static bool is_shown(const struct request *req, struct qless_str jid)
{
	const struct user *viewer = permit_viewer(req);

	return viewer == NULL || permit_jid(viewer, req->engine, jid, ACL_READ);
}

/* ---- pages of jobs ---- */

enum {
	PART_COUNT,
	PART_WRITE,
};

int viewer_begin_page(struct request *req, struct listing *l, const struct view_range *all,
		      const struct classic_page *page)
{
	l->page_offset = page->offset;
	l->page_count = page->count;
	listing_add_range(l, all);
	listing_add_range(l, all);
	listing_begin(req, l);
	return 0;
}

/* Counts the job, or returns whether it is on the page. After the last one, the part ends. */
static bool is_on_page(struct listing *l, const struct request *req, struct qless_str jid)
{
	if (!is_shown(req, jid))
		return false;
	if (l->part == PART_COUNT) {
		l->cursor++;
		return false;
	}
	if (l->page_offset > 0) {
		l->page_offset--;
		return false;
	}
	if (--l->page_count == 0)
		l->parts[PART_WRITE].count = 1;
	return true;
}

size_t viewer_write_member(struct listing *l, struct request *req, const struct skiplist *list,
			   const struct skipnode *node)
{
	return is_on_page(l, req, list->member(node)) ? listing_write_member(l, req, list, node)
						      : 0;
}

size_t viewer_write_json(struct listing *l, struct request *req, const struct skiplist *list,
			 const struct skipnode *node)
{
	return is_on_page(l, req, list->member(node)) ? listing_write_json(l, req, list, node) : 0;
}

void viewer_end_part(struct listing *l, struct request *req)
{
	size_t first = 0, count = 0;

	(void)req;
	if (l->part != PART_COUNT)
		return;
	key_index_range(l->cursor, l->page_offset, l->page_offset + l->page_count - 1, &first,
			&count);
	l->number = (double)l->cursor;
	l->page_offset = (int64_t)first;
	l->page_count = (int64_t)count;
	if (count == 0)
		l->parts[PART_WRITE].count = 0;
}

struct qless_str *viewer_keep(const struct user *viewer, const struct qless *engine,
			      struct qless_list *list)
{
	struct qless_str *items = mem_realloc_array(NULL, list->count + 1, sizeof(*items));
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (permit_jid(viewer, engine, list->items[i], ACL_READ))
			items[kept++] = list->items[i];
	}
	*list = (struct qless_list){ items, kept, kept };
	return items;
}

/* ---- tallies ---- */

struct tally;

/* How to list names by the jobs that belong to them. */
struct tally_form {
	/* Returns the jobs of a name, or NULL if there are none. */
	const struct skiplist *(*find)(const struct qless *q, struct qless_str name);
	/* Counts a job of the viewer. Returns false if no more jobs of this name matter. */
	bool (*count)(struct tally *t, const struct request *req, double score);
	/* Writes the name, unless its jobs were too few. */
	void (*write)(struct tally *t, struct request *req, struct qless_str name);
	char open, close;
};

/* Work that counts the viewer's jobs of each of many names. It remembers its place in the jobs of a
 * name by score and member, like a listing. */
struct tally {
	struct work work;
	const struct tally_form *form;
	struct buf names; /* for each its length, a size_t, and its bytes */
	size_t at;	  /* the place of the current name */
	bool is_scanning; /* more groups follow, from this cursor on */
	uint32_t cursor;
	bool has_visited; /* a job of the current name, whose place follows */
	double score;
	struct buf member;
	uint64_t jobs;
	uint64_t stalled;
	struct classic_page page; /* of TAG top */
	size_t written;
	bool is_complete; /* no more names are wanted */
	bool has_begun;
	struct reply_deferred text;
};

static void free_tally(struct work *work)
{
	struct tally *t = container_of(work, struct tally, work);

	chain_done(&t->text.body);
	buf_done(&t->names);
	buf_done(&t->member);
	free(t);
}

static void add_name(struct tally *t, struct qless_str name)
{
	buf_append(&t->names, &name.len, sizeof(name.len));
	buf_append_str(&t->names, name);
}

/* The current name; *ret_next is the place of the next one. */
static struct qless_str current_name(const struct tally *t, size_t *ret_next)
{
	const char *at = buf_data(&t->names) + t->at;
	struct qless_str name;

	memcpy(&name.len, at, sizeof(name.len));
	name.ptr = at + sizeof(name.len);
	*ret_next = t->at + sizeof(name.len) + name.len;
	return name;
}

/* Counts some jobs of a name, at most *left. Returns true after the last one. */
static bool count_some(struct tally *t, const struct request *req, struct qless_str name, int *left)
{
	const struct skiplist *jobs = t->form->find(req->engine, name);
	const struct skipnode *node = NULL;

	if (jobs != NULL)
		node = t->has_visited
			       ? skiplist_first_gt_member(jobs, t->score, buf_str(&t->member))
			       : skiplist_first(jobs);
	for (; node != NULL && *left > 0; node = skiplist_next(node), --*left) {
		t->score = node->score;
		if (is_shown(req, jobs->member(node)) && !t->form->count(t, req, node->score))
			return true;
		if (*left > 1)
			continue;
		t->has_visited = true;
		buf_clear(&t->member);
		buf_append_str(&t->member, jobs->member(node));
	}
	return node == NULL;
}

/* Writes what precedes a name. */
static struct buf *next_text(struct tally *t, struct request *req)
{
	struct buf *text = &req->env->scratch->json;

	buf_append_char(text, t->written++ == 0 ? t->form->open : ',');
	return text;
}

static void end_tally(struct tally *t, struct request *req)
{
	struct buf *text = &req->env->scratch->json;

	if (t->written != 0)
		buf_append_char(text, t->form->close);
	else if (t->form->open == '{' || req->style->whole == JSON_EMPTY_OBJECT)
		buf_append_str(text, STR("{}"));
	else
		buf_append_str(text, STR("[]"));
}

static void add_scanned_name(void *arg, struct qless_str name)
{
	add_name(arg, name);
}

/* Returns whether there is a current name. */
static bool has_name(struct tally *t, const struct request *req)
{
	if (t->is_complete)
		return false;
	if (t->at == t->names.len && t->is_scanning) {
		buf_clear(&t->names);
		t->at = 0;
		t->cursor = view_scan(req->engine, VIEW_GROUPS, t->cursor, add_scanned_name, t);
		t->is_scanning = t->cursor != 0;
	}
	return t->at < t->names.len;
}

static bool has_more(const struct tally *t)
{
	return !t->is_complete && (t->is_scanning || t->at < t->names.len);
}

static bool tally_some(struct work *work, struct request *req)
{
	struct tally *t = container_of(work, struct tally, work);
	struct buf *text = &req->env->scratch->json;
	int left = WORK_PART_ELEMENTS;
	bool more;

	buf_clear(text);
	if (!t->has_begun)
		reply_deferred_begin(req->reply, &t->text, REPLY_TEXT);
	t->has_begun = true;
	for (; left > 0 && has_more(t) && text->len < WORK_PART_BYTES; left--) {
		struct qless_str name;
		size_t next;

		if (!has_name(t, req))
			continue;
		name = current_name(t, &next);
		if (!count_some(t, req, name, &left))
			break;
		t->form->write(t, req, name);
		t->at = next;
		t->has_visited = false;
		t->jobs = t->stalled = 0;
	}
	more = has_more(t);
	if (!more)
		end_tally(t, req);
	reply_deferred_append(req->reply, &t->text, buf_str(text));
	buf_clear(text);
	if (!more)
		reply_deferred_end(req->reply, &t->text, 0);
	return more;
}

static struct tally *tally_new(const struct tally_form *form)
{
	static const struct work_ops ops = { .go_on = tally_some, .free = free_tally };
	struct tally *t = mem_zalloc(sizeof(*t));

	t->work.ops = &ops;
	t->form = form;
	buf_init(&t->names, BUF_NO_MAX);
	buf_init(&t->member, BUF_NO_MAX);
	return t;
}

/* ---- FAILED ---- */

static bool count_failed(struct tally *t, const struct request *req, double score)
{
	(void)req;
	(void)score;
	t->jobs++;
	return true;
}

static void write_group(struct tally *t, struct request *req, struct qless_str name)
{
	struct buf *text;

	if (t->jobs == 0)
		return;
	text = next_text(t, req);
	json_append_string(text, name);
	buf_append_char(text, ':');
	json_append_number(text, (double)t->jobs);
}

/* The groups are in no order, because sorting many of them would take long. */
int viewer_failed(struct request *req)
{
	static const struct tally_form form = { view_group, count_failed, write_group, '{', '}' };
	struct tally *t = tally_new(&form);

	t->is_scanning = true;
	work_begin(req, &t->work);
	return 0;
}

/* ---- TAG top ---- */

static bool count_tagged(struct tally *t, const struct request *req, double score)
{
	(void)req;
	(void)score;
	return ++t->jobs < 2;
}

/* A negative offset gives nothing, a negative count everything. */
static void write_tag(struct tally *t, struct request *req, struct qless_str name)
{
	if (t->jobs < 2 || t->page.offset-- != 0)
		return;
	t->page.offset = 0;
	if (t->page.count == 0) {
		t->is_complete = true;
		return;
	}
	t->page.count--;
	json_append_string(next_text(t, req), name);
}

int viewer_top_tags(struct request *req, const struct classic_page *page)
{
	static const struct tally_form form = { view_tag_jobs, count_tagged, write_tag, '[', ']' };
	struct tally *t = tally_new(&form);
	struct qless_list tags;

	t->page = *page;
	qless_top_tags(req->engine, 0, page->offset >= 0 ? -1 : 0, &tags);
	for (size_t i = 0; i < tags.count; i++)
		add_name(t, tags.items[i]);
	work_begin(req, &t->work);
	return 0;
}

/* ---- WORKERS ---- */

/* The score is the time at which the lock expires. */
static bool count_held(struct tally *t, const struct request *req, double score)
{
	t->jobs += score >= req->now;
	t->stalled += score <= req->now;
	return true;
}

static void write_worker(struct tally *t, struct request *req, struct qless_str name)
{
	struct buf *text;

	if (t->jobs + t->stalled == 0)
		return;
	text = next_text(t, req);
	buf_append_str(text, STR("{\"stalled\":"));
	json_append_number(text, (double)t->stalled);
	buf_append_str(text, STR(",\"name\":"));
	json_append_string(text, name);
	buf_append_str(text, STR(",\"jobs\":"));
	json_append_number(text, (double)t->jobs);
	buf_append_char(text, '}');
}

int viewer_workers(struct request *req)
{
	static const struct tally_form form = { view_worker_jobs, count_held, write_worker, '[',
						']' };
	const struct skiplist *workers = view_workers(req->engine);
	struct tally *t = tally_new(&form);

	for (const struct skipnode *node = skiplist_last(workers); node != NULL;
	     node = skiplist_prev(node))
		add_name(t, workers->member(node));
	work_begin(req, &t->work);
	return 0;
}

/* ---- UNFAIL ---- */

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
	struct qless_terms terms = { 0 };
	struct qless_job_info info;
	int rc;

	qless_job_read(job, &info);
	terms.is_raw = info.is_raw;
	op.put = (struct qless_put){ .worker = STR(""),
				     .queue = queue,
				     .jid = keep_text(info.jid),
				     .klass = keep_text(info.klass),
				     .data = keep_text(info.data),
				     .terms = info.is_raw ? &terms : NULL };
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

/* Finds up to `max` jobs that the viewer may move, the oldest first. */
static size_t find_movable(const struct request *req, const struct user *viewer,
			   struct qless_str group, size_t max, const struct qless_job **ret_jobs)
{
	const struct skiplist *jobs = view_group(req->engine, group);
	const struct skipnode *node = jobs != NULL ? skiplist_first(jobs) : NULL;
	size_t found = 0;

	for (size_t i = 0; i < VIEWER_UNFAIL_MAX && node != NULL && found < max; i++) {
		const struct qless_job *job = qless_get(req->engine, jobs->member(node));

		if (permit_job(viewer, req->engine, job, ACL_READ | ACL_WRITE))
			ret_jobs[found++] = job;
		node = skiplist_next(node);
	}
	return found;
}

int viewer_unfail(struct request *req, const struct user *viewer, const struct operation *op)
{
	size_t max = VIEWER_UNFAIL_MAX, count, moved = 0;
	const struct qless_job **jobs;
	int rc = check_unfail(req, op);

	if (rc < 0)
		return rc;
	if ((uint64_t)op->unfail.count < max)
		max = (size_t)op->unfail.count;
	jobs = mem_realloc_array(NULL, max + 1, sizeof(*jobs));
	count = find_movable(req, viewer, op->unfail.group, max, jobs);
	while (rc == 0 && moved < count) {
		rc = put_again(req, op->unfail.queue, jobs[moved]);
		moved += rc == 0;
	}
	free(jobs);
	return rc < 0 ? rc : answer_integer(req, (double)moved);
}
