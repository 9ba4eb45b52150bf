#include "operation/portion.h"

#include <stdlib.h>

#include "operation/operation.h"
#include "util/mem.h"

/* A repair, whose texts follow each other in the buffer of texts. */
struct portion_item {
	struct qless_repair repair;
	size_t texts_at;
};

void portions_begin(struct portions *p, struct buf *out)
{
	*p = (struct portions){ .out = out, .left = PORTION_REPAIRS_MAX };
	buf_init(&p->texts, BUF_NO_MAX);
}

static void end_portion(struct portions *p)
{
	struct qless_repair *repairs;
	struct operation op = { .kind = OPERATION_REPAIR };

	if (p->count == 0)
		return;
	buf_append_char(&p->texts, '\0');
	repairs = mem_realloc_array(NULL, p->count, sizeof *repairs);
	for (size_t i = 0; i < p->count; i++) {
		struct qless_repair *r = &repairs[i];

		*r = p->items[i].repair;
		r->name.ptr = buf_data(&p->texts) + p->items[i].texts_at;
		r->member.ptr = r->name.ptr + r->name.len;
		r->other.ptr = r->member.ptr + r->member.len;
	}
	op.repair.items = repairs;
	op.repair.count = p->count;
	operation_encode(&op, p->out);
	free(repairs);
	buf_clear(&p->texts);
	p->count = 0;
	p->weight = 0;
}

void portions_add(void *arg, const struct qless_repair *repair, size_t weight)
{
	struct portions *p = arg;

	if (p->left == 0)
		return;
	p->left--;
	if (p->weight + weight > PORTION_WEIGHT_MAX)
		end_portion(p);
	p->items = mem_grow(p->items, &p->cap, p->count + 1, sizeof *p->items);
	p->items[p->count++] = (struct portion_item){ .repair = *repair, .texts_at = p->texts.len };
	buf_append_str(&p->texts, repair->name);
	buf_append_str(&p->texts, repair->member);
	buf_append_str(&p->texts, repair->other);
	p->weight += weight;
}

void portions_end(struct portions *p)
{
	end_portion(p);
	buf_done(&p->texts);
	free(p->items);
}
