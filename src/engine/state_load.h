/*
 * Shared by the files that load snapshots: state_read.c, state_load_job.c and state_load.c.
 */
#ifndef ENGINE_STATE_LOAD_H
#define ENGINE_STATE_LOAD_H

#include "engine/state_int.h"

/* Jobs that are inserted into the hash table together. */
#define STATE_FRESH_MAX 256

struct state_loader {
	struct qless *q;
	state_read_fn *read;
	void *arg;
	bool failed;
	uint64_t version;
	uint64_t last_lock; /* largest number of a hand-out of the jobs */
	/* The bytes being read, which are those of a piece or were joined from the ends of pieces,
	 * and the rest of the last piece. */
	const unsigned char *at;
	size_t left;
	struct buf joined;
	bool in_joined;
	struct qless_str piece;
	int64_t last_us;
	struct state_names {
		struct intern **items;
		size_t count;
		size_t cap;
	} names[STATE_KINDS];
	struct buf text;
	struct hash_node *fresh[STATE_FRESH_MAX]; /* jobs that are not in qless.jobs yet */
	size_t fresh_count;
	struct job_vec depending; /* in the lists `depends` */
	struct job_vec depended;  /* in the order of their numbers */
	struct limit_set **sets;  /* in the order of their numbers */
	size_t set_count;
	size_t set_cap;
	double failure_number; /* the highest failure number of a failed job */
	struct str_vec tags;
	double *tag_times;
	size_t tag_cap;
};

/* ---- state_read.c ---- */

/* Record what is wrong with the bytes, unless something was wrong before. Returns false. */
bool state_read_fail(struct state_loader *l, const char *what);

unsigned state_read_byte(struct state_loader *l);
uint64_t state_read_varint(struct state_loader *l);
/* Any double, also NAN. */
double state_read_double(struct state_loader *l);
double state_read_any_number(struct state_loader *l);
/* A finite number. */
double state_read_number(struct state_loader *l);
/* A time that is finite, or infinite where a score may be. */
double state_read_score(struct state_loader *l);
double state_read_time(struct state_loader *l);
/* Valid until the next read. */
struct qless_str state_read_text(struct state_loader *l, size_t max);
/* Valid until the next call of this function. */
struct qless_str state_read_kept_text(struct state_loader *l, size_t max);
/* Returns NULL on failure. The loader keeps the reference until state_read_done(). */
struct intern *state_read_name(struct state_loader *l, enum state_kind kind);
bool state_read_is_at_end(struct state_loader *l);
/* Release the names, and free the buffers. */
void state_read_done(struct state_loader *l);

/* ---- state_load_limit.c ---- */

void state_load_limits(struct state_loader *l);
/* Load the turns of a queue, whose jobs have been loaded. */
void state_load_turns(struct state_loader *l, struct queue *queue);
/* Load a set. Returns NULL if it is none, or on failure. The loader keeps the reference. */
struct limit_set *state_load_set(struct state_loader *l);
/* Release the sets, and the limits that nothing keeps. */
void state_settle_limits(struct state_loader *l);

/* ---- state_load_job.c ---- */

/* The list that jobs are loaded into. */
struct state_place {
	enum qless_state state;
	struct queue
		*queue; /* NULL for complete jobs, and for failed ones, which name their queue */
	struct intern *group;
};

/* Load a list of jobs. */
void state_load_jobs(struct state_loader *l, const struct state_place *place);
/* Insert the loaded jobs into the hash table. */
void state_find_jobs(struct state_loader *l);
/* Load names into l->tags and, if there are any, their times into l->tag_times. */
void state_load_tag_list(struct state_loader *l, bool with_times);

#endif
