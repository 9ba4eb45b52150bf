#include "engine/unique.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/carried.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/run.h"
#include "engine/terms.h"
#include "util/container.h"
#include "util/json_value.h"
#include "util/mem.h"
#include "util/wire.h"

static_assert(QLESS_ARGS_KEY_BYTES == 1 + HASH_WIDE_BYTES, "a mark and a hash");

static struct unique_key *key_from_node(const struct hash_node *node)
{
	return container_of((struct hash_node *)(uintptr_t)node, struct unique_key, hash);
}

struct qless_str unique_key_text(const struct hash_node *node)
{
	return str_make(key_from_node(node)->text, node->aux);
}

/* The claim of a job; NULL if it has none. */
static struct unique_claim *claim_of(const struct qless_job *job)
{
	struct unique_claim *claim;

	if (!(job->flags & JOB_CARRIES))
		return NULL;
	claim = &job_carried(job)->unique;
	return claim->key != NULL ? claim : NULL;
}

/* ---- keys of class and data ---- */

struct qless_args_room {
	struct json_value_room value;
};

struct qless_args_room *qless_args_room_new(void)
{
	return mem_zalloc(sizeof(struct qless_args_room));
}

void qless_args_room_free(struct qless_args_room *room)
{
	if (room != NULL)
		json_value_room_done(&room->value);
	free(room);
}

void qless_args_key(struct qless_args_room *room, struct qless_str klass, struct qless_str data,
		    char ret_key[QLESS_ARGS_KEY_BYTES])
{
	ret_key[0] = UNIQUE_ARGS_MARK;
	json_hash_value(klass, data, &room->value, (unsigned char *)ret_key + 1);
}

bool unique_make_flat_key(struct qless_str klass, const char *data, const struct json_flat *flat,
			  char ret_key[QLESS_ARGS_KEY_BYTES])
{
	ret_key[0] = UNIQUE_ARGS_MARK;
	return json_hash_flat(klass, data, flat, (unsigned char *)ret_key + 1);
}

bool qless_is_args_key(struct qless_str key)
{
	return unique_is_args_key(key);
}

/* The hash of a key in the table. A key of class and data is a hash, of which that is taken. */
static uint32_t hash_of(const struct qless *q, struct qless_str key)
{
	if (!unique_is_args_key(key))
		return engine_hash(q, key);
	return hash_compute_wide(q->hooks.hash_seed, (const unsigned char *)key.ptr + 1);
}

/* ---- puts ---- */

struct qless_str qless_until_text(enum qless_until until)
{
	static const struct qless_str texts[] = {
		[QLESS_UNTIL_FINISHED] = STR_INIT("finished"),
		[QLESS_UNTIL_POPPED] = STR_INIT("popped"),
		[QLESS_UNTIL_SECONDS] = STR_INIT("seconds"),
	};

	return texts[until];
}

int unique_check(struct qless *q, enum qless_operation operation, const struct qless_unique *unique)
{
	if (unique_is_args_key(unique->key)) {
		if (unique->until != QLESS_UNTIL_SECONDS)
			return 0;
	} else if (unique->key.len == 0) {
		return engine_fail_text(q, operation, QLESS_WHY_LIMIT_NAME, "unique", STR("empty"));
	} else if (limit_check_name(q, "unique key", unique->key) < 0) {
		return engine_fail_during(q, operation);
	}
	if (unique->until != QLESS_UNTIL_SECONDS)
		return 0;
	if (!isfinite(unique->seconds))
		return engine_fail_number(q, operation, QLESS_WHY_NO_NUMBER, "until",
					  unique->seconds);
	if (unique->seconds <= 0)
		return engine_fail_number(q, operation, QLESS_WHY_NOT_POSITIVE, "until",
					  unique->seconds);
	return 0;
}

/* ---- holding ---- */

/* Whether a job holds the key that it claims while it is in a state. */
static inline bool should_hold(const struct unique_claim *claim, enum qless_state state, double now)
{
	/* The states that free a key, as bits. */
	static const unsigned freeing[] = {
		[QLESS_UNTIL_FINISHED] = 1u << QLESS_FAILED | 1u << QLESS_COMPLETE,
		[QLESS_UNTIL_POPPED] =
			1u << QLESS_RUNNING | 1u << QLESS_FAILED | 1u << QLESS_COMPLETE,
	};

	if (__builtin_expect(claim->until != QLESS_UNTIL_SECONDS, 1))
		return !(freeing[claim->until] >> state & 1);
	return now < claim->ends;
}

/* The job that holds the key at `now`. Only a claim until a time may be over. */
static inline __attribute__((always_inline)) struct qless_job *holder_at(
	const struct unique_key *key, double now)
{
	struct qless_job *holder = key->holder;

	if (holder == NULL || should_hold(claim_of(holder), holder->state, now))
		return holder;
	assert(claim_of(holder)->until == QLESS_UNTIL_SECONDS);
	return NULL;
}

static struct unique_key *find_key(const struct qless *q, struct qless_str text, uint32_t hash)
{
	struct hash_node *node = hash_find_hashed(&q->unique_keys, text, hash);

	return node != NULL ? key_from_node(node) : NULL;
}

struct qless_job *unique_find_holder(const struct qless *q, struct qless_str text, double now)
{
	const struct unique_key *key;

	if (hash_count(&q->unique_keys) == 0)
		return NULL;
	key = find_key(q, text, hash_of(q, text));
	return key != NULL ? holder_at(key, now) : NULL;
}

/* Marks a hint, of which the lower half is the hash of the key. */
#define HINT_SET ((uint64_t)1 << 32)
/* Says that the table lacks the key. */
#define HINT_MISSING ((uint64_t)1 << 33)

uint64_t unique_prefetch(const struct qless *q, struct qless_str key)
{
	const struct hash *keys = &q->unique_keys;

	return HINT_SET | (unique_is_args_key(key)
				   ? hash_prefetch_wide(keys, (const unsigned char *)key.ptr + 1)
				   : hash_prefetch_key(keys, key));
}

struct qless_job *unique_find_for_put(struct qless *q, const struct qless_unique *unique)
{
	uint32_t hash = unique->hint != 0 ? (uint32_t)unique->hint : hash_of(q, unique->key);
	const struct hash_node *node;

	q->key_hint = HINT_SET | HINT_MISSING | hash;
	node = hash_find_hashed(&q->unique_keys, unique->key, hash);
	if (__builtin_expect(node == NULL, 1))
		return NULL;
	q->key_hint &= ~HINT_MISSING;
	return holder_at(key_from_node(node), q->now);
}

void unique_forget_hint(struct qless *q)
{
	q->key_hint = 0;
}

/* ---- memory of keys ---- */

/* Most keys are claimed by one job. So a key is part of the allocation of what its first job
 * carries, unless the job has that already:
 *
 *	struct job_carried | struct job_extra | struct unique_key
 *
 * The allocation is freed once the job does not use it, and nobody claims the key. */

/* The key, or the place for one, in the allocation of a claim. */
static struct unique_key *key_beside(const struct unique_claim *claim)
{
	char *carried = (char *)container_of((struct unique_claim *)(uintptr_t)claim,
					     struct job_carried, unique);

	return (struct unique_key *)(void *)(carried + sizeof(struct job_carried) +
					     sizeof(struct job_extra));
}

/* Free a key that is not in the table any more. */
static void free_key(struct unique_key *key)
{
	if (key->place == KEY_ALONE)
		free(key);
	else if (key->place == KEY_LEFT)
		free((char *)key - sizeof(struct job_carried) - sizeof(struct job_extra));
}

bool unique_keep_key(const struct unique_claim *claim)
{
	struct unique_key *key = key_beside(claim);

	if (!claim->has_room || key->claims == 0)
		return false;
	key->place = KEY_LEFT;
	return true;
}

/* Make a key that is not in the table, at `key`. */
static inline void init_key(struct unique_key *key, enum key_place place, struct qless_str text)
{
	key->hash.aux = (uint32_t)text.len;
	key->holder = NULL;
	key->claims = 0;
	key->place = (uint8_t)place;
	wire_put_bytes((unsigned char *)key->text, (const unsigned char *)text.ptr, text.len);
}

/* Bytes of a key, with those that init_key() may write after its text. */
static size_t key_room(struct qless_str text)
{
	return offsetof(struct unique_key, text) + (text.len < 8 ? 8 : text.len);
}

/* ---- claims ---- */

/* Let a job that carries something claim a key; NULL: a new one. */
static __attribute__((noinline)) struct unique_claim *claim_again(struct qless *q,
								  struct qless_job *job,
								  struct unique_key *key,
								  struct qless_str text,
								  uint32_t hash)
{
	struct unique_claim *claim = &job_need_carried(job)->unique;

	if (key == NULL) {
		key = mem_alloc(key_room(text));
		init_key(key, KEY_ALONE, text);
		hash_insert_hashed(&q->unique_keys, &key->hash, hash);
	}
	key->claims++;
	if (claim->key != NULL)
		unique_release(q, job, claim);
	claim->key = key;
	claim->seconds = claim->ends = 0;
	return claim;
}

/* Let a job that carries nothing claim a new key. */
static inline struct unique_claim *claim_first(struct qless *q, struct qless_job *job,
					       struct qless_str text, uint32_t hash)
{
	struct unique_claim *claim = &job_make_carried(job, key_room(text))->unique;
	struct unique_key *key = key_beside(claim);

	init_key(key, KEY_WITH_JOB, text);
	key->claims = 1;
	claim->key = key;
	claim->has_room = true;
	hash_insert_hashed(&q->unique_keys, &key->hash, hash);
	return claim;
}

void unique_release(struct qless *q, const struct qless_job *job, struct unique_claim *claim)
{
	struct unique_key *key = claim->key;

	if (key == NULL)
		return;
	if (key->holder == job)
		key->holder = NULL;
	claim->key = NULL;
	assert(key->claims > 0);
	if (--key->claims > 0)
		return;
	assert(key->holder == NULL);
	hash_remove(&q->unique_keys, &key->hash);
	free_key(key);
}

void unique_drop(struct qless *q, struct qless_job *job)
{
	struct unique_claim *claim = claim_of(job);

	if (claim == NULL)
		return;
	unique_release(q, job, claim);
	job_release_carried(job);
}

void unique_claim(struct qless *q, struct qless_job *job, const struct qless_unique *unique)
{
	uint64_t hint = q->key_hint;
	uint32_t hash = hint != 0 ? (uint32_t)hint : hash_of(q, unique->key);
	struct unique_key *key = hint & HINT_MISSING ? NULL : find_key(q, unique->key, hash);
	struct unique_claim *claim;

	q->key_hint = 0;
	if (key == NULL && !(job->flags & JOB_CARRIES))
		claim = claim_first(q, job, unique->key, hash);
	else
		claim = claim_again(q, job, key, unique->key, hash);
	claim->until = unique->until;
	if (unique->until == QLESS_UNTIL_SECONDS) {
		claim->seconds = unique->seconds;
		claim->ends = finite_add(q->now, unique->seconds);
	}
}

void unique_follow(struct qless *q, struct qless_job *job)
{
	struct unique_claim *claim = &job_carried(job)->unique;

	if (claim->key == NULL)
		return;
	if (!should_hold(claim, job->state, q->now)) {
		/* A claim until a time ends by itself, whatever the state. */
		if (claim->key->holder == job && claim->until != QLESS_UNTIL_SECONDS)
			claim->key->holder = NULL;
	} else if (holder_at(claim->key, q->now) == NULL) {
		claim->key->holder = job;
	}
}

/* ---- debouncing ---- */

/* Place a job anew because its due time is replaced. A job that waits, and is to wait, keeps its
 * place unless its priority changes. */
static void place_again(struct qless *q, struct qless_job *job, const struct qless_put *put,
			double now)
{
	const struct qless_terms *terms = put->terms;
	double due = terms->has_at ? terms->at : finite_add(now, put->delay);

	if (job->state == QLESS_DEPENDS) {
		job_set_due(job, due > now ? due : NAN);
		return;
	}
	if (job->state == QLESS_WAITING && due <= now) {
		if (put->has_priority)
			job_rescore(q, job, job_work_score(job, job->time));
		return;
	}
	job_leave(q, job);
	job->time = now;
	job_place_at(q, job, now, due);
}

void unique_replace(struct qless *q, struct qless_job *job, const struct qless_put *put, double now)
{
	bool kept_data = q->kept_data;

	if (job->state != QLESS_WAITING && job->state != QLESS_SCHEDULED &&
	    job->state != QLESS_DEPENDS)
		return;
	/* The record of the call may omit the data of its own job, which is another one. */
	job_set_data(q, job, put->data);
	q->kept_data = kept_data;
	terms_apply_data(q, job, put->terms);
	if (put->has_priority)
		job->priority = put->priority;
	place_again(q, job, put, now);
	engine_changed(q);
}

/* ---- reading, and snapshots ---- */

bool unique_read(const struct qless_job *job, struct qless_unique *ret_unique)
{
	const struct unique_claim *claim = claim_of(job);

	if (claim == NULL)
		return false;
	*ret_unique = (struct qless_unique){
		.key = unique_key_text(&claim->key->hash),
		.until = claim->until,
		.seconds = claim->seconds,
		.ends = claim->ends,
		.is_held = claim->key->holder == job,
	};
	return true;
}

bool unique_restore(struct qless_job *job, const struct qless_unique *unique)
{
	struct unique_claim *claim = claim_of(job);

	claim->ends = unique->ends;
	if (!unique->is_held)
		return true;
	if (claim->key->holder != NULL || !should_hold(claim, job->state, -INFINITY))
		return false;
	claim->key->holder = job;
	return true;
}

bool qless_unique_holder(const struct qless *q, struct qless_str key, double now,
			 struct qless_str *ret_jid)
{
	const struct qless_job *holder = unique_find_holder(q, key, now);

	if (holder == NULL)
		return false;
	*ret_jid = job_jid(holder);
	return true;
}

size_t qless_unique_count(const struct qless *q)
{
	return hash_count(&q->unique_keys);
}

size_t unique_claim_bytes(const struct unique_claim *claim)
{
	const struct unique_key *key = claim->key;

	if (key == NULL)
		return 0;
	return (offsetof(struct unique_key, text) + key->hash.aux + sizeof(struct hash_node *)) /
	       key->claims;
}

bool unique_discard_one(struct qless *q)
{
	struct hash_node *node = hash_take(&q->unique_keys);

	if (node == NULL)
		return false;
	free_key(key_from_node(node));
	return true;
}

/* ---- checks and repairs ---- */

/* Whether the table finds the key that a job claims. */
static bool is_claim_sound(const struct qless *q, const struct unique_claim *claim)
{
	struct qless_str text = unique_key_text(&claim->key->hash);

	return find_key(q, text, hash_of(q, text)) == claim->key;
}

/* Whether the holder of a key claims it, in a state that allows that. */
static bool is_holder_sound(const struct unique_key *key)
{
	const struct unique_claim *claim = key->holder != NULL ? claim_of(key->holder) : NULL;

	if (claim == NULL)
		return key->holder == NULL;
	return claim->key == key && should_hold(claim, key->holder->state, -INFINITY);
}

bool unique_is_sound(const struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;
	uint64_t claims = 0, counted = 0;

	HASH_FOREACH(node, &it, &q->jobs) {
		const struct unique_claim *claim =
			claim_of(container_of(node, struct qless_job, hash));

		if (claim == NULL)
			continue;
		claims++;
		if (!is_claim_sound(q, claim))
			return false;
	}
	HASH_FOREACH(node, &it, &q->unique_keys) {
		const struct unique_key *key = key_from_node(node);

		counted += key->claims;
		if (key->claims == 0 || !is_holder_sound(key))
			return false;
	}
	return claims == counted;
}

/* Let the claim of a job lead to the key in the table. */
static void settle_claim(struct qless *q, struct unique_claim *claim)
{
	struct qless_str text = unique_key_text(&claim->key->hash);
	struct unique_key *known = find_key(q, text, hash_of(q, text));

	if (known == NULL) {
		claim->key->claims = 0;
		hash_insert_hashed(&q->unique_keys, &claim->key->hash, hash_of(q, text));
	} else if (known != claim->key) {
		/* The key that is lost is freed together with its allocation. */
		claim->key->claims = 0;
		claim->key = known;
	}
	claim->key->claims++;
}

void unique_rebuild(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->unique_keys)
		key_from_node(node)->claims = 0;
	HASH_FOREACH(node, &it, &q->jobs) {
		struct unique_claim *claim = claim_of(container_of(node, struct qless_job, hash));

		if (claim != NULL)
			settle_claim(q, claim);
	}
	HASH_FOREACH(node, &it, &q->unique_keys) {
		struct unique_key *key = key_from_node(node);

		if (!is_holder_sound(key))
			key->holder = NULL;
		if (key->claims > 0)
			continue;
		hash_remove(&q->unique_keys, node);
		free_key(key);
	}
}
