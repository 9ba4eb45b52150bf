#include "engine/vec.h"

#include <stdlib.h>

#include "util/mem.h"
#include "util/str.h"

void job_vec_release(struct job_vec *v)
{
	free(v->items);
	*v = (struct job_vec){ 0 };
}

void str_vec_release(struct str_vec *v)
{
	free(v->items);
	*v = (struct str_vec){ 0 };
}

void job_vec_push(struct job_vec *v, struct qless_job *job)
{
	v->items = mem_grow(v->items, &v->cap, v->count + 1, sizeof(*v->items));
	v->items[v->count++] = job;
}

void queue_vec_push(struct queue_vec *v, struct queue *queue)
{
	v->items = mem_grow(v->items, &v->cap, v->count + 1, sizeof(*v->items));
	v->items[v->count++] = queue;
}

void str_vec_push(struct str_vec *v, struct qless_str s)
{
	v->items = mem_grow(v->items, &v->cap, v->count + 1, sizeof(*v->items));
	v->items[v->count++] = s;
}

static int compare_strings(const void *a, const void *b)
{
	return str_compare(*(const struct qless_str *)a, *(const struct qless_str *)b);
}

void str_vec_sort(struct str_vec *v)
{
	if (v->count > 1)
		qsort(v->items, v->count, sizeof(*v->items), compare_strings);
}
