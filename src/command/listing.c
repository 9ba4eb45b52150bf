#include "command/listing.h"

#include <assert.h>
#include <stdlib.h>

#include "util/container.h"
#include "util/json.h"
#include "util/mem.h"

static struct listing *listing_of(struct work *work)
{
	return container_of(work, struct listing, work);
}

static void free_listing(struct work *work)
{
	struct listing *l = listing_of(work);

	chain_done(&l->deferred.body);
	buf_done(&l->member);
	free(l);
}

static struct buf *text_of(const struct request *req)
{
	return &req->env->scratch->json;
}

/* Returns the node to go on with, or NULL. */
static const struct skipnode *next_node(const struct listing *l, const struct skipmerge *order)
{
	const struct listing_part *part = &l->parts[l->part];

	if (!l->has_visited)
		return part->first < skipmerge_count(order)
			       ? skipmerge_at(order, (uint32_t)part->first)
			       : NULL;
	if (part->is_reverse)
		return skipmerge_last_lt_member(order, l->score, buf_str(&l->member));
	return skipmerge_first_gt_member(order, l->score, buf_str(&l->member));
}

static void remember(struct listing *l, const struct skiplist *list, const struct skipnode *node)
{
	l->has_visited = true;
	l->score = node->score;
	buf_clear(&l->member);
	buf_append_str(&l->member, list->member(node));
}

static void begin_part(struct listing *l, struct request *req)
{
	l->in_part = true;
	l->has_visited = false;
	if (l->form->begin_part != NULL)
		l->form->begin_part(l, req);
}

static size_t written(const struct listing *l, const struct request *req)
{
	return l->form->type == REPLY_TEXT ? text_of(req)->len : req->reply->out->len;
}

/* Finds the list of the current part. Returns false if it is gone. */
static bool find_order(const struct listing *l, const struct request *req, struct skipmerge *ret)
{
	if (l->form->find_order != NULL)
		return l->form->find_order(l, req, ret);
	*ret = (struct skipmerge){ .first = l->form->find(l, req) };
	return ret->first != NULL;
}

/* Visits some elements of the part. Returns false if there are no more. */
static bool visit_some(struct listing *l, struct request *req)
{
	struct listing_part *part = &l->parts[l->part];
	struct skipmerge order;
	bool is_there = part->count != 0 && find_order(l, req, &order);
	const struct skipnode *node = is_there ? next_node(l, &order) : NULL;
	const struct skipnode *last = NULL;
	size_t until = written(l, req) + WORK_PART_BYTES;

	for (int i = 0;
	     i < WORK_PART_ELEMENTS && node != NULL && part->count != 0 && written(l, req) < until;
	     i++, part->count--) {
		l->values += l->form->write(l, req, order.first, node);
		last = node;
		node = part->is_reverse ? skipmerge_prev(&order, node)
					: skipmerge_next(&order, node);
	}
	if (last != NULL)
		remember(l, order.first, last);
	return node != NULL && part->count != 0;
}

static void begin(struct listing *l, struct request *req)
{
	l->has_begun = true;
	if (l->form->begin != NULL)
		l->form->begin(l, req);
	reply_deferred_begin(req->reply, &l->deferred, l->form->type);
}

static bool go_on(struct work *work, struct request *req)
{
	struct listing *l = listing_of(work);
	struct buf *text = text_of(req);

	if (!l->has_begun && l->form->prepare != NULL && !l->form->prepare(req))
		return true;
	buf_clear(text);
	if (!l->has_begun)
		begin(l, req);
	if (!l->in_part)
		begin_part(l, req);
	if (!visit_some(l, req)) {
		if (l->form->end_part != NULL)
			l->form->end_part(l, req);
		l->in_part = false;
		l->part++;
	}
	if (l->part == l->part_count && l->form->end != NULL)
		l->form->end(l, req);
	if (l->form->type == REPLY_TEXT)
		reply_deferred_append(req->reply, &l->deferred, buf_str(text));
	buf_clear(text);
	if (l->part < l->part_count)
		return true;
	reply_deferred_end(req->reply, &l->deferred, l->values);
	return false;
}

struct listing *listing_new(const struct listing_form *form)
{
	static const struct work_ops ops = { .go_on = go_on, .free = free_listing };
	struct listing *l = mem_zalloc(sizeof *l);

	l->work.ops = &ops;
	l->form = form;
	buf_init(&l->member, BUF_NO_MAX);
	return l;
}

void listing_add(struct listing *l, uint64_t first, uint64_t count, bool is_reverse)
{
	assert(l->part_count < LISTING_PARTS);
	l->parts[l->part_count++] =
		(struct listing_part){ .first = first, .count = count, .is_reverse = is_reverse };
}

void listing_add_range(struct listing *l, const struct view_range *range)
{
	listing_add(l, range->first, range->count, range->is_reverse);
}

void listing_begin(struct request *req, struct listing *l)
{
	assert(l->part_count != 0);
	work_begin(req, &l->work);
}

size_t listing_write_member(struct listing *l, struct request *req, const struct skiplist *list,
			    const struct skipnode *node)
{
	(void)l;
	reply_bulk(req->reply, list->member(node));
	return 1;
}

size_t listing_write_json(struct listing *l, struct request *req, const struct skiplist *list,
			  const struct skipnode *node)
{
	json_append_string(listing_next_json(l, req), list->member(node));
	return 0;
}

/* The bracket comes with the first element, because an empty list may be spelled in another way. */
struct buf *listing_next_json(struct listing *l, struct request *req)
{
	struct buf *text = text_of(req);

	buf_append_char(text, l->elements++ == 0 ? '[' : ',');
	return text;
}

void listing_end_json(struct listing *l, struct request *req, enum json_empty empty)
{
	struct buf *text = text_of(req);

	if (l->elements != 0)
		buf_append_char(text, ']');
	else
		buf_append_str(text, empty == JSON_EMPTY_OBJECT ? STR("{}") : STR("[]"));
	l->elements = 0;
}
