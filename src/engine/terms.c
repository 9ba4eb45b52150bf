#include "engine/terms.h"

#include <math.h>
#include <stdlib.h>

#include "engine/carried.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/numbering.h"
#include "engine/retain.h"
#include "engine/state_load.h"
#include "engine/state_save.h"
#include "util/mem.h"

/* The terms that a snapshot has: bits of a varint. The terms follow in this order. */
enum terms_flag {
	TERMS_BACKOFF = 1 << 0,
	TERMS_RUNTIME = 1 << 1,
	TERMS_UNIQUE = 1 << 2,
	TERMS_RAW = 1 << 3,
	TERMS_RETAIN = 1 << 4,
	TERMS_FLAGS = (1 << 5) - 1,
};

struct job_terms *terms_new(void)
{
	struct job_terms *terms = mem_zalloc(sizeof *terms);

	heap_node_init(&terms->run);
	return terms;
}

bool terms_are_empty(const struct job_terms *terms)
{
	return terms->backoff.kind == QLESS_BACKOFF_NONE && terms->runtime == 0 && !terms->is_raw &&
	       !terms->has_retain && terms->retained == NULL && !heap_has(&terms->run);
}

void terms_free(struct qless *q, struct job_terms *terms)
{
	if (heap_has(&terms->run))
		heap_remove(&q->runs, &terms->run);
	if (terms->retained != NULL)
		retained_free(q, terms->retained);
	free(terms);
}

void terms_discard(struct job_terms *terms)
{
	if (terms != NULL)
		retained_discard(terms->retained);
	free(terms);
}

size_t terms_bytes(const struct job_terms *terms)
{
	return sizeof *terms + (terms->retained != NULL ? retained_bytes(terms->retained) : 0);
}

struct qless_str qless_backoff_text(enum qless_backoff_kind kind)
{
	static const struct qless_str texts[] = {
		[QLESS_BACKOFF_NONE] = STR_INIT("none"),
		[QLESS_BACKOFF_FIXED] = STR_INIT("fixed"),
		[QLESS_BACKOFF_LINEAR] = STR_INIT("linear"),
		[QLESS_BACKOFF_EXPONENTIAL] = STR_INIT("exponential"),
	};

	return texts[kind];
}

/* ---- puts ---- */

static int check_seconds(struct qless *q, enum qless_operation operation, const char *argument,
			 double seconds)
{
	if (!isfinite(seconds))
		return engine_fail_number(q, operation, QLESS_WHY_NO_NUMBER, argument, seconds);
	if (seconds < 0)
		return engine_fail_number(q, operation, QLESS_WHY_NEGATIVE, argument, seconds);
	return 0;
}

static int check_backoff(struct qless *q, enum qless_operation operation,
			 const struct qless_backoff *backoff)
{
	int rc = check_seconds(q, operation, "base", backoff->base);

	return rc < 0 ? rc : check_seconds(q, operation, "max", backoff->max);
}

int terms_check(struct qless *q, enum qless_operation operation, const struct qless_terms *terms)
{
	if (terms == NULL)
		return 0;
	if (terms->has_at && !isfinite(terms->at))
		return engine_fail_number(q, operation, QLESS_WHY_NO_NUMBER, "at", terms->at);
	if (terms->has_number && !(terms->number >= 0 && terms->number <= NUMBERING_MAX &&
				   terms->number == floor(terms->number)))
		return engine_fail_number(q, operation, QLESS_WHY_NO_INTEGER, "number",
					  terms->number);
	if (terms->has_runtime && check_seconds(q, operation, "runtime", terms->runtime) < 0)
		return q->error.last.code;
	if (terms->has_backoff && check_backoff(q, operation, &terms->backoff) < 0)
		return q->error.last.code;
	if (terms->has_retain && terms->retain != INFINITY &&
	    check_seconds(q, operation, "retain", terms->retain) < 0)
		return q->error.last.code;
	return terms->has_unique ? unique_check(q, operation, &terms->unique) : 0;
}

void terms_apply(struct qless *q, struct qless_job *job, const struct qless_terms *terms)
{
	if (terms == NULL)
		return;
	if (terms->has_unique)
		unique_claim(q, job, &terms->unique);
	if (!terms->has_backoff && !terms->has_runtime && !terms->has_retain)
		return;
	if (terms->has_backoff)
		job_need_terms(job)->backoff = terms->backoff;
	if (terms->has_runtime)
		job_need_terms(job)->runtime = terms->runtime;
	if (terms->has_retain) {
		job_need_terms(job)->has_retain = true;
		job_terms(job)->retain = terms->retain;
	}
	job_release_terms(q, job);
}

void terms_apply_data(struct qless *q, struct qless_job *job, const struct qless_terms *terms)
{
	if (terms != NULL && terms->is_raw) {
		job_need_terms(job)->is_raw = true;
	} else if (job_terms(job) != NULL) {
		job_terms(job)->is_raw = false;
		job_release_terms(q, job);
	}
}

bool job_is_raw(const struct qless_job *job)
{
	const struct job_terms *terms = job_terms(job);

	return terms != NULL && terms->is_raw;
}

bool qless_job_terms(const struct qless_job *job, struct qless_terms *ret_terms)
{
	const struct job_terms *terms = job_terms(job);

	*ret_terms = (struct qless_terms){ 0 };
	ret_terms->has_unique = unique_read(job, &ret_terms->unique);
	if (terms == NULL)
		return ret_terms->has_unique;
	ret_terms->has_backoff = terms->backoff.kind != QLESS_BACKOFF_NONE;
	ret_terms->backoff = terms->backoff;
	ret_terms->has_runtime = terms->runtime > 0;
	ret_terms->runtime = terms->runtime;
	ret_terms->is_raw = terms->is_raw;
	ret_terms->has_retain = terms->has_retain;
	ret_terms->retain = terms->retain;
	return ret_terms->has_backoff || ret_terms->has_runtime || ret_terms->has_unique ||
	       ret_terms->is_raw || ret_terms->has_retain;
}

/* The part of a delay that is jitter, so that jobs that failed together do not come back together.
 */
#define JITTER 0.2
/* Doublings after which any base exceeds any maximum. */
#define DOUBLINGS_MAX 2100

double job_backoff(const struct qless_job *job)
{
	const struct job_terms *terms = job_terms(job);
	double attempt = fmax(job->retries - job->remaining, 1);
	double delay, jitter;

	if (terms == NULL || terms->backoff.kind == QLESS_BACKOFF_NONE)
		return 0;
	delay = terms->backoff.base;
	if (terms->backoff.kind == QLESS_BACKOFF_LINEAR)
		delay *= attempt;
	else if (terms->backoff.kind == QLESS_BACKOFF_EXPONENTIAL)
		delay = ldexp(delay, (int)fmin(attempt - 1, DOUBLINGS_MAX));
	delay = fmin(delay, terms->backoff.max);
	jitter = (double)hash_compute((uint64_t)fmin(attempt, UINT32_MAX), job_jid(job)) /
		 ((double)UINT32_MAX + 1);
	return delay - delay * JITTER * jitter;
}

struct qless_terms *terms_dup(const struct qless_terms *from)
{
	struct qless_terms *terms;
	struct qless_terms given;

	if (from == NULL)
		return NULL;
	given = *from;
	given.has_at = given.is_new = given.has_number = false;
	given.has_backoff = given.has_backoff && given.backoff.kind != QLESS_BACKOFF_NONE;
	given.has_runtime = given.has_runtime && given.runtime > 0;
	if (!given.has_backoff && !given.has_runtime && !given.has_unique && !given.is_raw &&
	    !given.has_retain)
		return NULL;
	if (!given.has_unique)
		given.unique.key = STR("");
	given.unique.hint = 0;
	terms = mem_alloc(sizeof *terms + given.unique.key.len);
	engine_copy((char *)(terms + 1), given.unique.key);
	given.unique.key.ptr = (char *)(terms + 1);
	*terms = given;
	return terms;
}

int terms_check_change(struct qless *q, enum qless_operation operation,
		       const struct qless_terms *change)
{
	struct qless_terms terms = *change;

	terms.has_unique = terms.has_unique && terms.unique.key.len > 0;
	return terms_check(q, operation, &terms);
}

struct qless_terms *terms_change(const struct qless_terms *old, const struct qless_terms *change)
{
	struct qless_terms terms = { 0 };

	if (old != NULL)
		terms = *old;
	if (change->has_backoff) {
		terms.has_backoff = true;
		terms.backoff = change->backoff;
	}
	if (change->has_runtime) {
		terms.has_runtime = true;
		terms.runtime = change->runtime;
	}
	if (change->has_retain) {
		terms.has_retain = true;
		terms.retain = change->retain;
	}
	if (change->has_unique) {
		terms.has_unique = change->unique.key.len > 0;
		terms.unique = change->unique;
	}
	return terms_dup(&terms);
}

/* ---- snapshots ---- */

/* The bits of the byte that a key begins with, besides enum qless_until. */
enum unique_flag {
	UNIQUE_UNTIL = 3,
	UNIQUE_HELD = 1 << 2,
	UNIQUE_REPLACE = 1 << 3,
	UNIQUE_FLAGS = (1 << 4) - 1,
};

static void save_unique(struct saver *s, const struct qless_unique *unique)
{
	state_save_byte(s, unique->until | (unique->is_held ? UNIQUE_HELD : 0u) |
				   (unique->replace ? UNIQUE_REPLACE : 0u));
	if (unique->until == QLESS_UNTIL_SECONDS) {
		state_save_number(s, unique->seconds);
		state_save_number(s, unique->ends);
	}
	state_save_text(s, unique->key);
}

void terms_save(struct saver *s, const struct qless_terms *terms)
{
	uint64_t flags = 0;

	if (terms->has_backoff)
		flags |= TERMS_BACKOFF;
	if (terms->has_runtime)
		flags |= TERMS_RUNTIME;
	if (terms->is_raw)
		flags |= TERMS_RAW;
	if (terms->has_unique)
		flags |= TERMS_UNIQUE;
	if (terms->has_retain)
		flags |= TERMS_RETAIN;
	state_save_varint(s, flags);
	if (flags & TERMS_BACKOFF) {
		state_save_byte(s, terms->backoff.kind);
		state_save_number(s, terms->backoff.base);
		state_save_number(s, terms->backoff.max);
	}
	if (flags & TERMS_RUNTIME)
		state_save_number(s, terms->runtime);
	if (flags & TERMS_RETAIN)
		retain_save(s, terms->retain);
	if (flags & TERMS_UNIQUE)
		save_unique(s, &terms->unique);
}

static struct qless_backoff load_backoff(struct state_loader *l)
{
	unsigned kind = state_read_byte(l);
	struct qless_backoff backoff = { .base = state_read_number(l) };

	backoff.max = state_read_number(l);
	if (kind > QLESS_BACKOFF_EXPONENTIAL || backoff.base < 0 || backoff.max < 0)
		state_read_fail(l, "the backoff of a job is out of range");
	else
		backoff.kind = (enum qless_backoff_kind)kind;
	return backoff;
}

/* The key is valid until the next read. */
static void load_unique(struct state_loader *l, struct qless_unique *ret_unique)
{
	unsigned flags = state_read_byte(l);
	struct qless_unique unique = { .until = flags & UNIQUE_UNTIL };

	if (flags > UNIQUE_FLAGS || unique.until > QLESS_UNTIL_SECONDS)
		state_read_fail(l, "a unique key has flags that are not known");
	unique.is_held = (flags & UNIQUE_HELD) != 0;
	unique.replace = (flags & UNIQUE_REPLACE) != 0;
	if (unique.until == QLESS_UNTIL_SECONDS) {
		unique.seconds = state_read_number(l);
		unique.ends = state_read_number(l);
	}
	unique.key = state_read_text(l, QLESS_MAX_NAME_BYTES);
	if (unique.key.len == 0 || unique.seconds < 0)
		state_read_fail(l, "a unique key is empty, or ends before it begins");
	*ret_unique = unique;
}

bool terms_load(struct state_loader *l, struct qless_terms *ret_terms)
{
	uint64_t flags = state_read_varint(l);

	*ret_terms = (struct qless_terms){ 0 };
	if (flags == 0 || flags > TERMS_FLAGS)
		return state_read_fail(l, "the terms of a job have flags that are not known");
	if (flags & TERMS_BACKOFF) {
		ret_terms->has_backoff = true;
		ret_terms->backoff = load_backoff(l);
	}
	if (flags & TERMS_RUNTIME) {
		ret_terms->has_runtime = true;
		ret_terms->runtime = state_read_number(l);
		if (!(ret_terms->runtime > 0))
			state_read_fail(l, "the runtime of a job is out of range");
	}
	ret_terms->is_raw = (flags & TERMS_RAW) != 0;
	if (flags & TERMS_RETAIN) {
		ret_terms->has_retain = true;
		ret_terms->retain = retain_load(l);
	}
	/* The last one, because the next read ends the validity of its text. */
	if (flags & TERMS_UNIQUE) {
		ret_terms->has_unique = true;
		load_unique(l, &ret_terms->unique);
	}
	return !l->failed;
}
