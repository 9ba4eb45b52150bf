/*
 * Vectors for the results of a call.
 */
#ifndef ENGINE_VEC_H
#define ENGINE_VEC_H

#include <stddef.h>

#include "qless.h"

struct queue;

struct job_vec {
	struct qless_job **items;
	size_t count;
	size_t cap;
};

struct queue_vec {
	struct queue **items;
	size_t count;
	size_t cap;
};

struct str_vec {
	struct qless_str *items;
	size_t count;
	size_t cap;
};

/* A vector with room for at most this many items keeps its room when it is emptied. */
#define VEC_KEEP_ITEMS 4096

/* Free the items of a vector. */
void job_vec_release(struct job_vec *v);
void str_vec_release(struct str_vec *v);

/* Empty the vector. Each call begins with several of them, nearly always small ones. */
static inline void job_vec_clear(struct job_vec *v)
{
	v->count = 0;
	if (v->cap > VEC_KEEP_ITEMS)
		job_vec_release(v);
}

static inline void str_vec_clear(struct str_vec *v)
{
	v->count = 0;
	if (v->cap > VEC_KEEP_ITEMS)
		str_vec_release(v);
}

void job_vec_push(struct job_vec *v, struct qless_job *job);
void queue_vec_push(struct queue_vec *v, struct queue *queue);
/* By their bytes. */
void str_vec_sort(struct str_vec *v);
void str_vec_push(struct str_vec *v, struct qless_str s);

#endif
