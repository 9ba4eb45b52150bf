/*
 * Unique keys: while a job holds a key, a put with that key creates no other job.
 *
 * A job whose put named a key has a claim to it. Whether it holds the key follows from its state,
 * see enum qless_until, and is decided whenever that changes: a job that should hold its key takes
 * it if no other job holds it. Otherwise the job goes on without, until the next change of its
 * state. A claim stays until the job is deleted, or put without that key.
 *
 * A key is in the table while a job claims it, and no longer. A claim until a time ends by itself:
 * from then on the key counts as free, and the next put takes it over.
 */
#ifndef ENGINE_UNIQUE_H
#define ENGINE_UNIQUE_H

#include <stdbool.h>
#include <stddef.h>

#include "qless.h"
#include "util/hash.h"

struct json_flat;
struct qless_job;

/* Where the memory of a key is. */
enum key_place {
	KEY_ALONE,    /* an allocation of its own */
	KEY_WITH_JOB, /* after what a job carries */
	KEY_LEFT,     /* like that, but the job does not use the allocation any more */
};

struct unique_key {
	struct hash_node hash;	  /* aux: length of the text */
	struct qless_job *holder; /* NULL: free */
	uint32_t claims;
	uint8_t place; /* enum key_place */
	char text[];
};

/* The claim of a job, which is part of what it carries. */
struct unique_claim {
	struct unique_key *key; /* NULL: none */
	double seconds;		/* QLESS_UNTIL_SECONDS, from the put on */
	double ends;
	enum qless_until until;
	bool has_room; /* the job has a key in its allocation, which it may claim no more */
};

/* Begins the keys of qless_args_key(). No UTF-8 text has this byte, so no name is such a key. */
#define UNIQUE_ARGS_MARK '\xff'

/* qless_is_args_key(), inline because puts ask for each key. */
static inline bool unique_is_args_key(struct qless_str key)
{
	return key.len == QLESS_ARGS_KEY_BYTES && *key.ptr == UNIQUE_ARGS_MARK;
}

/* Make the key that qless_args_key() makes of data that was read as a flat object. Returns false if
 * only that can make it. */
bool unique_make_flat_key(struct qless_str klass, const char *data, const struct json_flat *flat,
			  char ret_key[QLESS_ARGS_KEY_BYTES]);

struct qless_str unique_key_text(const struct hash_node *node);

/* Check a key that a caller gives. Returns 0, or a code with the error recorded. */
int unique_check(struct qless *q, enum qless_operation operation,
		 const struct qless_unique *unique);

/* Returns the job that holds a key at `now`; NULL if none does. */
struct qless_job *unique_find_holder(const struct qless *q, struct qless_str key, double now);

/* Prefetch where the key of a put that will follow soon is looked up. That is quicker if its hint
 * is the result. */
uint64_t unique_prefetch(const struct qless *q, struct qless_str key);
/* Find the holder of the key of a put, which is now. If the put goes on, its claim need not search
 * again; otherwise the caller calls unique_forget_hint(). */
struct qless_job *unique_find_for_put(struct qless *q, const struct qless_unique *unique);
void unique_forget_hint(struct qless *q);

/* Let the job claim a key, instead of the one that it claims. It does not hold the key before
 * unique_follow(). */
void unique_claim(struct qless *q, struct qless_job *job, const struct qless_unique *unique);
/* Let the job have no claim. What it carries may be freed. */
void unique_drop(struct qless *q, struct qless_job *job);
/* Before what the job carries is freed: returns true if a key in its allocation is still claimed,
 * and will free that. */
bool unique_keep_key(const struct unique_claim *claim);
/* Drop the claim of a job. */
void unique_release(struct qless *q, const struct qless_job *job, struct unique_claim *claim);
/* Let the job take or release its key, as its state says. Called at each change of the state of a
 * job that carries terms. */
void unique_follow(struct qless *q, struct qless_job *job);

/* Give a waiting, scheduled or depending job the data, the priority and the due time of a put. Does
 * nothing in other states. */
void unique_replace(struct qless *q, struct qless_job *holder, const struct qless_put *put,
		    double now);

/* Read the claim. Returns false if the job has none. */
bool unique_read(const struct qless_job *job, struct qless_unique *ret_unique);
/* Let a job that is loaded hold the key that it claims. Returns false if its state forbids that, or
 * another job holds the key. */
bool unique_restore(struct qless_job *job, const struct qless_unique *unique);

/* Whether keys, claims and holders match. */
bool unique_is_sound(const struct qless *q);
/* Make the table anew from the claims of the jobs. */
void unique_rebuild(struct qless *q);

/* Free a key for qless_free_some(). Returns false if there was none left. */
bool unique_discard_one(struct qless *q);
/* Bytes of the part of its key that falls to a claim. */
size_t unique_claim_bytes(const struct unique_claim *claim);

#endif
