/*
 * Vectors: results of a call, and room for the call being served.
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

/* Empty the vector. The room that a large call has left is given back. */
void job_vec_clear(struct job_vec *v);
void str_vec_clear(struct str_vec *v);

void job_vec_push(struct job_vec *v, struct qless_job *job);
void queue_vec_push(struct queue_vec *v, struct queue *queue);
void str_vec_push(struct str_vec *v, struct qless_str s);

#endif
