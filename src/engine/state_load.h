/*
 * What the files that load snapshots share; for state_read.c, state_load_job.c and state_load.c
 * alone.
 */
#ifndef ENGINE_STATE_LOAD_H
#define ENGINE_STATE_LOAD_H

#include "engine/state_int.h"

/* So many jobs are put into the hash table at once. */
#define STATE_FRESH_MAX 256

struct state_loader {
	struct qless *q;
	state_read_fn *read;
	void *arg;
	bool failed;
	uint64_t version;
	/* What is being read: a piece, or what was put together from the ends of pieces; and how
	 * the last piece goes on behind that. */
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
	struct job_vec depended;  /* numbered */
	double failure_number;	  /* the highest of a failed job */
	struct str_vec tags;
	double *tag_times;
	size_t tag_cap;
};

/* ---- state_read.c ---- */

/* Say what is wrong with the bytes, if nothing was before. False, as a convenience. */
bool state_read_fail(struct state_loader *l, const char *what);

unsigned state_read_byte(struct state_loader *l);
uint64_t state_read_varint(struct state_loader *l);
/* Any at all, NAN included. */
double state_read_double(struct state_loader *l);
double state_read_any_number(struct state_loader *l);
/* Finite. */
double state_read_number(struct state_loader *l);
/* Finite, or infinite where a score may be. */
double state_read_score(struct state_loader *l);
double state_read_time(struct state_loader *l);
/* Good until the next read. */
struct qless_str state_read_text(struct state_loader *l, size_t max);
/* Good until the next call of it. */
struct qless_str state_read_kept_text(struct state_loader *l, size_t max);
/* NULL on failure. The reference is the loader's, until state_read_done(). */
struct intern *state_read_name(struct state_loader *l, enum state_kind kind);
bool state_read_is_at_end(struct state_loader *l);
/* Let go of the names and of what the reading needed. */
void state_read_done(struct state_loader *l);

/* ---- state_load_job.c ---- */

/* Where jobs are loaded into. */
struct state_place {
	enum qless_state state;
	struct queue *queue; /* NULL for failed jobs, which name theirs, and completed ones */
	struct intern *group;
};

/* A list of jobs. */
void state_load_jobs(struct state_loader *l, const struct state_place *place);
/* Have all jobs that were loaded be found by their jids. */
void state_find_jobs(struct state_loader *l);
/* Names into l->tags, and their times, if there are any, into l->tag_times. */
void state_load_tag_list(struct state_loader *l, bool with_times);

#endif
