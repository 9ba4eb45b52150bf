/*
 * Jobs: their memory and their fields. run.h has their lists.
 */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include <assert.h>
#include <stdint.h>

#include "qless.h"
#include "engine/history.h"
#include "engine/named_limit.h"
#include "util/container.h"
#include "util/hash.h"
#include "util/intern.h"
#include "util/skiplist.h"
#include "util/str.h"

struct queue;
struct tag_list;

struct failure {
	struct intern *group;
	struct intern *worker; /* NULL: the retries were exhausted, no worker reported it */
	double when;
	uint32_t message_len;
	char message[];
};

/* Members that most jobs do without. */
struct job_extra {
	struct tag_list *tags;
	struct failure *failure;
	struct intern *spawned_from;
	struct skiplist *dependencies; /* of struct edge */
	struct skiplist *dependents;
	double due; /* when it is due once its dependencies are complete; NAN if at once */
};

/* The place of a waiting job in its lane, see lane_jobs.c. */
struct lane_links {
	struct qless_job *child[2];
	struct qless_job *up;
};

/* Members that a job with limits has besides. */
struct job_limited {
	struct job_extra *extra; /* NULL if it does without */
	struct limit_set *set;
	struct skiplist_block *block; /* of queue->limited, while it waits */
	union {
		struct lane_links lane; /* while it waits */
		struct slot *slots;	/* while it is running; NULL in the other states */
	};
};

static_assert(sizeof(struct job_limited) == 48, "limits take no more memory");

enum job_flag {
	JOB_TRACKED = 1 << 0,
	JOB_GRACE = 1 << 1,	      /* the lock expired and its worker was warned */
	JOB_FAILURE_CLEARED = 1 << 2, /* it was completed: its failure reads as an empty object */
	JOB_CHOSEN = 1 << 3,	      /* scratch for calls that take lists of jids */
	JOB_SEEN_BELOW = 1 << 4,      /* scratch for the search for circles */
	JOB_SEEN_ABOVE = 1 << 5,      /* scratch for the search for circles */
	JOB_LIMITED = 1 << 6,	      /* it names limits: `parts` is a struct job_limited */
	JOB_CARRIES = 1 << 7,	      /* a struct job_carried is before its struct job_extra */
};

/* One allocation holds the struct, the upper levels of its node, the jid, and the first data. */
struct qless_job {
	struct hash_node hash; /* aux: length of the jid */
	struct queue *queue;   /* NULL once complete */
	struct intern *klass;
	struct intern *worker; /* NULL if none; stays after a retry */
	void *parts;	       /* struct job_limited or job_extra; NULL if it has neither */
	char *data;
	double priority;
	double retries;
	double remaining;
	double time;
	double expires;
	struct history history;
	uint8_t state; /* enum qless_state */
	uint8_t flags;
	uint16_t lock_low;    /* of the number of the last hand-out, see job_lock() */
	struct skipnode node; /* aux: length of the data */
};

static_assert(sizeof(struct qless_job) == 152, "a waiting job takes no more memory");
static_assert(sizeof(struct job_extra) == 48, "a job without limits takes no more memory");

/* The number of the last hand-out, 48 bits; 0 if there was none. They are in three places that
 * would be padding, because a job takes no byte for a number that only running jobs need. */
static inline uint64_t job_lock(const struct qless_job *job)
{
	return (uint64_t)job->node.aux16 << 32 | (uint32_t)job->history.aux << 16 | job->lock_low;
}

static inline void job_set_lock(struct qless_job *job, uint64_t number)
{
	job->node.aux16 = (uint16_t)(number >> 32);
	job->history.aux = (uint16_t)(number >> 16);
	job->lock_low = (uint16_t)number;
}

/* Bytes of a line of the processor's cache. */
#define CACHE_LINE_BYTES 64

static inline struct qless_job *job_from_node(const struct skipnode *node)
{
	return container_of((struct skipnode *)(uintptr_t)node, struct qless_job, node);
}

/* The part of a job that names limits. */
static inline struct job_limited *job_limited(const struct qless_job *job)
{
	assert(job->flags & JOB_LIMITED);
	return job->parts;
}

/* The members that most jobs do without; NULL if the job has none. Most jobs pay for one test. */
static inline struct job_extra *job_extra(const struct qless_job *job)
{
	if (__builtin_expect(job->parts == NULL, 1))
		return NULL;
	return job->flags & JOB_LIMITED ? job_limited(job)->extra : job->parts;
}

static inline struct qless_str job_jid(const struct qless_job *job)
{
	return str_make((const char *)&job->node + skipnode_size(job->node.height), job->hash.aux);
}

static inline struct qless_str job_data(const struct qless_job *job)
{
	return str_make(job->data, job->node.aux);
}

/* For skiplists of jobs. */
struct qless_str job_member(const struct skipnode *node);
/* For the list of waiting jobs with limits. */
struct skiplist_block **job_block(struct skipnode *node);
struct qless_str job_key(const struct hash_node *node);

struct qless_job *job_find(const struct qless *q, struct qless_str jid);
struct qless_job *job_find_hashed(const struct qless *q, struct qless_str jid, uint32_t hash);
/* Make a job that is found by its jid, is in no list, and has no class and no queue. */
struct qless_job *job_new(struct qless *q, struct qless_str jid, struct qless_str data);
struct qless_job *job_new_hashed(struct qless *q, struct qless_str jid, uint32_t hash,
				 struct qless_str data);
/* Make a job like job_new() that is not found until the caller adds it to qless.jobs. */
struct qless_job *job_make(struct qless *q, struct qless_str jid, struct qless_str data);

/* Bytes of a job with its jid and data of the usual size. */
#define JOB_PREFETCH_BYTES 320

/* Prefetch the job of a node, or nothing if the node is NULL. With many jobs, most of the time of a
 * call is spent waiting for memory. Inline, because gcc drops calls of a function that does nothing
 * but prefetch. */
static inline __attribute__((always_inline)) void job_prefetch(const struct skipnode *node)
{
	const char *job;

	if (node == NULL)
		return;
	job = (const char *)job_from_node(node);
	for (size_t at = 0; at < JOB_PREFETCH_BYTES; at += CACHE_LINE_BYTES)
		__builtin_prefetch(job + at);
}

/* Free the job and its data, and nothing that hangs on it. */
void job_free_memory(struct qless_job *job);
/* Free a job that is in no list, with all that hangs on it. */
void job_delete(struct qless *q, struct qless_job *job);
void job_set_data(struct qless *q, struct qless_job *job, struct qless_str data);
void job_set_klass(struct qless *q, struct qless_job *job, struct qless_str klass);
void job_set_worker(struct qless *q, struct qless_job *job, struct intern *worker);
/* Move the job to a queue, or to none. Frees its old queue if nothing keeps that visible. */
void job_set_queue(struct qless *q, struct qless_job *job, struct queue *queue);
void job_set_failure(struct qless *q, struct qless_job *job, struct intern *group,
		     struct qless_str message, double when, struct intern *worker);
void job_clear_failure(struct qless *q, struct qless_job *job);
void job_set_due(struct qless_job *job, double due);
double job_due(const struct qless_job *job);
/* Returns the extra part, a new one if there was none. */
struct job_extra *job_need_extra(struct qless_job *job);
/* Free the extra part if it is empty. */
void job_release_extra(struct qless_job *job);
/* Give the job a new extra part, or none. The caller frees the old one. */
void job_set_extra(struct qless_job *job, struct job_extra *extra);
/* Make or free what a job has that names limits. The caller answers for the set. */
struct job_limited *job_add_limited(struct qless_job *job);
void job_drop_limited(struct qless_job *job);
/* Free the memory of both, and nothing that hangs on it. */
void job_free_parts(struct qless_job *job);

static inline struct qless_str failure_message(const struct failure *failure)
{
	return str_make(failure->message, failure->message_len);
}

#endif
