/*
 * JOB.SEARCH: the jobs that meet all conditions, some in each call.
 *
 * A search walks through the shortest of these: the list of a tag, the lists of a queue for the
 * states, the list of complete jobs, and the table of all jobs. A walk through a list continues
 * after the score and the jid of the last job that it has looked at, as `listing.h` does. A walk
 * through the table is that of QUEUE.JOBS. A call looks at PAGE_LOOKS_MAX jobs at most.
 *
 * The cursor says what the search walks through, and where. It is a number for the table. For a
 * list it is the kind of list, its number, the score as 16 hexadecimal digits, and the jid as
 * hexadecimal digits: `t0-41d2000000000000-6a6f62`.
 */
#include "command/classic_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/job_fields.h"
#include "command/job_filter.h"
#include "command/job_states.h"
#include "command/options.h"
#include "command/page.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/hex.h"
#include "util/mem.h"
#include "util/num.h"

enum source {
	SOURCE_TABLE,
	SOURCE_JID, /* the job of the condition JID */
	SOURCE_TAG,
	SOURCE_STATES, /* lists of a queue, one after the other */
};

/* The list of complete jobs, after the numbers of the lists of a queue. */
#define COMPLETE_LIST ((unsigned)QUEUE_ALL_LISTS)
#define LISTS	      (COMPLETE_LIST + 1)

/* Where a search goes on. */
struct position {
	enum source source;
	unsigned list;	  /* the number of the tag among the conditions, or of the list */
	uint32_t cursor;  /* in the table */
	bool has_visited; /* a job of the list, which is at: */
	double score;
	struct buf jid;
};

struct search {
	struct work work;
	struct job_filter filter;
	struct position position;
	bool has_cursor;
	bool has_count;
	int64_t count;
	struct job_fields fields; /* none: jids */
	int64_t looks_left;
	struct page_reply page;
};

static void free_search(struct work *work)
{
	struct search *search = container_of(work, struct search, work);

	page_done(&search->page);
	buf_done(&search->position.jid);
	job_filter_done(&search->filter);
	free(search);
}

/* ---- lists ---- */

/* The lists of a queue that have the jobs of these states, as bits. Returns 0 if no list has those
 * of one of the states. */
static unsigned lists_of(unsigned states)
{
	unsigned lists = 0;

	if (states == 0 || (states & JOB_FAILED) != 0)
		return 0;
	if ((states & (JOB_WAITING | JOB_STALLED)) != 0)
		lists |= 1u << QUEUE_WORK | 1u << QUEUE_LIMITED;
	if ((states & (JOB_RUNNING | JOB_STALLED)) != 0)
		lists |= 1u << QUEUE_LOCKS;
	if ((states & JOB_SCHEDULED) != 0)
		lists |= 1u << QUEUE_SCHEDULED;
	if ((states & JOB_DEPENDS) != 0)
		lists |= 1u << QUEUE_DEPENDS;
	if ((states & JOB_COMPLETE) != 0)
		lists |= 1u << COMPLETE_LIST;
	return lists;
}

/* The lists for the queue and the states of a filter, as bits; 0 if it needs the table. */
static unsigned filter_lists(const struct job_filter *filter)
{
	unsigned lists = lists_of(filter->states);
	bool is_complete = lists == 1u << COMPLETE_LIST;

	return filter->queue != 0 || is_complete ? lists : 0;
}

/* Returns NULL if there is no such list now. */
static const struct skiplist *find_list(const struct request *req, const struct job_filter *filter,
					enum source source, unsigned list)
{
	if (source == SOURCE_TAG)
		return view_tag_jobs(req->engine, req->args[filter->tags[list]]);
	if (list == COMPLETE_LIST)
		return view_completed(req->engine);
	return view_queue(req->engine, req->args[filter->queue], (enum queue_list)list);
}

static uint64_t list_length(const struct request *req, const struct job_filter *filter,
			    enum source source, unsigned list)
{
	const struct skiplist *jobs = find_list(req, filter, source, list);

	return jobs != NULL ? skiplist_count(jobs) : 0;
}

/* The first of some lists from number `from` on; LISTS if there is none. */
static unsigned next_list(unsigned lists, unsigned from)
{
	while (from < LISTS && (lists >> from & 1) == 0)
		from++;
	return from;
}

/* Finds the shortest way to all jobs that may meet the conditions. */
static void choose_source(const struct request *req, const struct job_filter *filter,
			  struct position *ret)
{
	unsigned lists = filter_lists(filter);
	struct view_counts counts;
	uint64_t least, length = 0;

	if (filter->jid != 0) {
		ret->source = SOURCE_JID;
		return;
	}
	view_counts(req->engine, &counts);
	least = counts.jobs;
	for (unsigned i = 0; i < filter->tag_count; i++) {
		length = list_length(req, filter, SOURCE_TAG, i);
		if (length <= least) {
			least = length;
			ret->source = SOURCE_TAG;
			ret->list = i;
		}
	}
	if (lists == 0)
		return;
	length = 0;
	for (unsigned i = next_list(lists, 0); i < LISTS; i = next_list(lists, i + 1))
		length += list_length(req, filter, SOURCE_STATES, i);
	if (length <= least) {
		ret->source = SOURCE_STATES;
		ret->list = next_list(lists, 0);
	}
}

/* ---- cursors ---- */

static const char source_letters[] = { [SOURCE_TAG] = 't', [SOURCE_STATES] = 's' };

static bool is_end(const struct position *position)
{
	return position->source == SOURCE_TABLE && position->cursor == 0;
}

static void write_cursor(const struct position *position, struct reply *reply)
{
	unsigned char score[sizeof(uint64_t)];
	struct buf text;
	uint64_t bits;
	size_t len;

	if (position->source == SOURCE_TABLE) {
		reply_bulk_integer(reply, position->cursor);
		return;
	}
	buf_init(&text, BUF_NO_MAX);
	buf_printf(&text, "%c%u-", source_letters[position->source], position->list);
	if (position->has_visited) {
		memcpy(&bits, &position->score, sizeof bits);
		for (size_t i = 0; i < sizeof score; i++)
			score[i] = (unsigned char)(bits >> (56 - 8 * i));
		len = position->jid.len;
		hex_write(buf_reserve(&text, 2 * (sizeof score + len) + 1), score, sizeof score);
		buf_commit(&text, 2 * sizeof score);
		buf_append_char(&text, '-');
		hex_write(buf_reserve(&text, 2 * len), buf_data(&position->jid), len);
		buf_commit(&text, 2 * len);
	}
	reply_bulk(reply, buf_str(&text));
	buf_done(&text);
}

/* Reads the place in a list: score and jid, or nothing for its beginning. */
static bool parse_place(struct qless_str text, struct position *ret)
{
	unsigned char score[sizeof(uint64_t)];
	uint64_t bits = 0;
	size_t len;

	if (text.len == 0)
		return true;
	if (text.len < 2 * sizeof score + 1 || text.ptr[2 * sizeof score] != '-' ||
	    !hex_read(score, text.ptr, sizeof score))
		return false;
	for (size_t i = 0; i < sizeof score; i++)
		bits = bits << 8 | score[i];
	memcpy(&ret->score, &bits, sizeof bits);
	text = str_make(text.ptr + 2 * sizeof score + 1, text.len - 2 * sizeof score - 1);
	len = text.len / 2;
	if (isnan(ret->score) || len == 0 || text.len % 2 != 0 ||
	    !hex_read(buf_reserve(&ret->jid, len), text.ptr, len))
		return false;
	buf_commit(&ret->jid, len);
	ret->has_visited = true;
	return true;
}

static bool is_list_of(const struct job_filter *filter, enum source source, unsigned list)
{
	if (source == SOURCE_TAG)
		return list < filter->tag_count;
	return list < LISTS && (filter_lists(filter) >> list & 1) != 0;
}

/* Returns false if no search with these conditions returned such a cursor. */
static bool parse_cursor(struct qless_str text, const struct job_filter *filter,
			 struct position *ret)
{
	const char *dash = memchr(text.ptr, '-', text.len);
	struct qless_str number;
	uint64_t value;
	size_t len;

	if (filter->jid != 0)
		return false;
	if (num_parse_u64(text, 1, UINT32_MAX, &value)) {
		ret->source = SOURCE_TABLE;
		ret->cursor = (uint32_t)value;
		return true;
	}
	if (dash == NULL || dash == text.ptr)
		return false;
	for (ret->source = SOURCE_TAG; source_letters[ret->source] != text.ptr[0]; ret->source++) {
		if (ret->source == SOURCE_STATES)
			return false;
	}
	number = str_make(text.ptr + 1, (size_t)(dash - text.ptr) - 1);
	if (!num_parse_u64(number, 0, LISTS, &value) ||
	    !is_list_of(filter, ret->source, (unsigned)value))
		return false;
	ret->list = (unsigned)value;
	len = (size_t)(dash - text.ptr) + 1;
	return parse_place(str_make(dash + 1, text.len - len), ret);
}

/* ---- arguments ---- */

static int parse_fields(struct request *req, size_t *at, struct search *search)
{
	int rc = 0;

	for (; rc == 0 && *at < req->nargs; ++*at)
		rc = job_fields_add(req, &search->fields, req->args[*at]);
	return rc;
}

static int fail_unknown(struct request *req, struct qless_str name)
{
	static const struct qless_str *unused;
	static const struct option_slot slots[] = {
		{ STR_INIT("JID"), &unused, 1 },   { STR_INIT("PREFIX"), &unused, 1 },
		{ STR_INIT("TAG"), &unused, 1 },   { STR_INIT("CLASS"), &unused, 1 },
		{ STR_INIT("QUEUE"), &unused, 1 }, { STR_INIT("STATE"), &unused, 1 },
		{ STR_INIT("DATA"), &unused, 2 },  { STR_INIT("CURSOR"), &unused, 1 },
		{ STR_INIT("COUNT"), &unused, 1 }, { STR_INIT("WITH"), &unused, 1 },
	};

	return options_fail_unknown(req, name, slots, sizeof slots / sizeof *slots);
}

/* Reads a word that is no condition. */
static int parse_option(struct request *req, size_t *at, struct search *search,
			struct qless_str *ret_cursor)
{
	struct qless_str name = req->args[(*at)++];
	bool is_cursor = str_equal_nocase(name, STR("CURSOR"));
	bool is_count = str_equal_nocase(name, STR("COUNT"));

	if (!is_cursor && !is_count && !str_equal_nocase(name, STR("WITH")))
		return fail_unknown(req, name);
	if ((is_cursor && search->has_cursor) || (is_count && search->has_count))
		return options_fail_repeated(req, name);
	if (*at >= req->nargs)
		return options_fail_without_value(req, name);
	search->has_count |= is_count;
	if (is_count)
		return page_parse_count(req, req->args[(*at)++], &search->count);
	if (!is_cursor)
		return parse_fields(req, at, search);
	search->has_cursor = true;
	*ret_cursor = req->args[(*at)++];
	return 0;
}

static int parse(struct request *req, struct search *search)
{
	struct qless_str cursor = STR("0");
	bool is_condition;
	int rc = 0;

	search->count = PAGE_COUNT_DEFAULT;
	for (size_t at = 0; rc == 0 && at < req->nargs;) {
		rc = job_filter_parse(req, &at, &search->filter, &is_condition);
		if (rc == 0 && !is_condition)
			rc = parse_option(req, &at, search, &cursor);
	}
	if (rc < 0)
		return rc;
	if (str_equal(cursor, STR("0")))
		choose_source(req, &search->filter, &search->position);
	else if (!parse_cursor(cursor, &search->filter, &search->position))
		return request_fail(req, QLESS_EBADARG,
				    "CURSOR must be 0 or the cursor of an earlier reply to the "
				    "same search; found \"%S\"",
				    cursor);
	return 0;
}

/* ---- the page ---- */

struct part {
	struct request *req;
	struct search *search;
	int looked;
	size_t bytes; /* of data that were read */
};

static void look_at(void *arg, const struct qless_job *job)
{
	struct part *part = arg;
	struct search *search = part->search;
	struct request *req = part->req;
	struct qless_job_info info;

	part->looked++;
	search->looks_left--;
	if (!job_filter_matches(&search->filter, req, job, &part->bytes))
		return;
	search->page.listed++;
	if (search->fields.count != 0) {
		job_fields_write(req, &search->fields, job);
		return;
	}
	qless_job_read(job, &info);
	reply_bulk(req->reply, info.jid);
}

static bool is_page_full(const struct search *search, const struct request *req)
{
	return search->looks_left <= 0 || page_is_full(&search->page, req, search->count);
}

static bool is_part_full(const struct part *part, size_t until)
{
	return part->looked >= WORK_PART_ELEMENTS || part->bytes >= WORK_PART_BYTES ||
	       part->req->reply->out->len >= until || is_page_full(part->search, part->req);
}

/* Looks at the job of a jid, if it may be meant. */
static void look_at_jid(struct part *part, struct qless_str jid)
{
	const struct qless_job *job = qless_get(part->req->engine, jid);

	if (job != NULL)
		look_at(part, job);
}

/* Goes on in the table. Empty places count as jobs do, so that a part takes no longer. */
static void walk_table(struct part *part, size_t until)
{
	struct position *position = &part->search->position;

	for (int i = 0; i < WORK_PART_ELEMENTS && !is_part_full(part, until); i++) {
		position->cursor =
			view_scan_jobs(part->req->engine, position->cursor, look_at, part);
		if (position->cursor == 0)
			break;
	}
}

static const struct skipnode *first_node(const struct position *position,
					 const struct skipmerge *order)
{
	if (!position->has_visited)
		return skipmerge_first(order);
	return skipmerge_first_gt_member(order, position->score, buf_str(&position->jid));
}

/* Goes on in the current list. Returns whether it has come to the end. */
static bool walk_list(struct part *part, size_t until)
{
	struct position *position = &part->search->position;
	struct skipmerge order = { .first = find_list(part->req, &part->search->filter,
						      position->source, position->list) };
	const struct skipnode *node, *last = NULL;

	if (order.first == NULL)
		return true;
	node = first_node(position, &order);
	while (node != NULL && !is_part_full(part, until)) {
		look_at_jid(part, order.first->member(node));
		last = node;
		node = skipmerge_next(&order, node);
	}
	if (last != NULL) {
		position->has_visited = true;
		position->score = last->score;
		buf_clear(&position->jid);
		buf_append_str(&position->jid, order.first->member(last));
	}
	return node == NULL;
}

/* Makes the position that of the next list, or that of the end. */
static void pass_list(struct search *search)
{
	struct position *position = &search->position;

	position->has_visited = false;
	if (position->source == SOURCE_STATES) {
		position->list = next_list(filter_lists(&search->filter), position->list + 1);
		if (position->list < LISTS)
			return;
	}
	position->source = SOURCE_TABLE;
	position->cursor = 0;
}

/* Looks at some jobs. Returns whether there may be more. */
static bool look_on(struct part *part)
{
	struct search *search = part->search;
	size_t until = part->req->reply->out->len + WORK_PART_BYTES;

	if (search->position.source == SOURCE_JID) {
		look_at_jid(part, part->req->args[search->filter.jid]);
		search->position.source = SOURCE_TABLE;
	} else if (search->position.source == SOURCE_TABLE) {
		walk_table(part, until);
	} else if (walk_list(part, until)) {
		pass_list(search);
	}
	return !is_end(&search->position);
}

static bool go_on(struct work *work, struct request *req)
{
	struct search *search = container_of(work, struct search, work);
	struct part part = { .req = req, .search = search };

	page_begin(&search->page, req);
	if (look_on(&part) && !is_page_full(search, req) && reply_is_wanted(req->reply) &&
	    page_may_take_another_part(req))
		return true;
	page_leave(&search->page, req);
	write_cursor(&search->position, req->reply);
	page_end(&search->page, req);
	return false;
}

/* Moves the jobs of the queue that have come due, because the search may walk through its waiting
 * jobs. In other searches, they count as waiting where they are: there may be many queues. */
static int advance(struct request *req, const struct job_filter *filter)
{
	bool matters = filter->states == 0 || (filter->states & JOB_WAITING) != 0;

	if (filter->queue == 0 || !matters)
		return 0;
	return request_advance(req, QLESS_ADVANCE_QUEUE, req->args[filter->queue],
			       QLESS_ADVANCE_MAX);
}

int native_job_search(struct request *req)
{
	static const struct work_ops ops = { go_on, free_search };
	struct search *search = mem_zalloc(sizeof *search);
	int rc;

	search->work.ops = &ops;
	search->looks_left = PAGE_LOOKS_MAX;
	buf_init(&search->position.jid, BUF_NO_MAX);
	rc = parse(req, search);
	if (rc == 0)
		rc = advance(req, &search->filter);
	if (rc < 0) {
		free_search(&search->work);
		return rc;
	}
	work_begin(req, &search->work);
	return 0;
}
