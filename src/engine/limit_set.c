/*
 * Sets of limits: which limits a job names. Most jobs of a tenant or a domain name the same limits,
 * so a job points to a set that it shares.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/limit.h"
#include "engine/named_limit.h"
#include "engine/recur.h"
#include "util/container.h"
#include "util/json.h"
#include "util/mem.h"

/* ---- checks ---- */

const char *limit_find_fault(struct qless_str name)
{
	if (name.len == 0)
		return "empty";
	if (limit_name_is_pattern(name))
		return "a pattern, ";
	if (limit_name_is_of_queue(name))
		return "a limit of a queue, ";
	return NULL;
}

static int check_name(struct qless *q, struct qless_str name)
{
	const char *fault = limit_find_fault(name);
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int rc;

	if (limit_check_name(q, "limits", name) < 0)
		return QLESS_EBADARG;
	if (fault == NULL)
		return 0;
	buf_append_str(&text, str_from(fault));
	if (name.len > 0)
		json_append_string(&text, name);
	rc = engine_fail_text(q, QLESS_OP_ANY, QLESS_WHY_LIMIT_NAME, "a limit of a job",
			      buf_str(&text));
	buf_done(&text);
	return rc;
}

int limit_check_limits(struct qless *q, const struct qless_str *names, size_t count)
{
	size_t distinct = 0;

	for (size_t i = 0; i < count; i++) {
		size_t k = 0;
		int rc = check_name(q, names[i]);

		if (rc < 0)
			return q->error.last.code;
		while (k < i && !str_equal(names[k], names[i]))
			k++;
		distinct += k == i;
		if (distinct > q->limits.max_limits)
			return engine_fail_number(q, QLESS_OP_ANY, QLESS_WHY_LIMITS, NULL,
						  (double)q->limits.max_limits);
	}
	return 0;
}

/* ---- sets ---- */

static struct qless_str key_of(struct named_limit *const *limits, size_t count)
{
	return str_make((const char *)limits, count * sizeof(struct named_limit *));
}

struct qless_str limit_set_key(const struct hash_node *node)
{
	const struct limit_set *set = container_of(node, const struct limit_set, hash);

	return key_of(set->limits, set->count);
}

struct limit_set *limit_set_ref(struct limit_set *set)
{
	if (set != NULL)
		set->refs++;
	return set;
}

/* The limits of the names, each once. Returns their number. */
static uint32_t find_limits(struct qless *q, const struct qless_str *names, size_t count,
			    struct named_limit *limits[QLESS_MAX_LIMITS])
{
	uint32_t found = 0;

	for (size_t i = 0; i < count; i++) {
		struct named_limit *limit = named_limit_need(q, names[i]);
		uint32_t k = 0;

		while (k < found && limits[k] != limit)
			k++;
		if (k < found)
			continue;
		assert(found < QLESS_MAX_LIMITS);
		limits[found++] = limit;
	}
	return found;
}

struct limit_set *limit_set_get(struct qless *q, const struct qless_str *names, size_t count)
{
	struct named_limit *limits[QLESS_MAX_LIMITS];
	struct limit_set *set;
	struct hash_node *node;
	uint32_t distinct;

	if (count == 0)
		return NULL;
	distinct = find_limits(q, names, count, limits);
	node = hash_find(&q->limit_sets, key_of(limits, distinct));
	if (node != NULL)
		return limit_set_ref(container_of(node, struct limit_set, hash));
	set = mem_alloc(sizeof *set + distinct * sizeof set->limits[0]);
	*set = (struct limit_set){ .refs = 1, .count = distinct };
	memcpy(set->limits, limits, distinct * sizeof limits[0]);
	hash_insert(&q->limit_sets, &set->hash);
	for (uint32_t i = 0; i < distinct; i++) {
		limits[i]->set_count++;
		named_limit_settle(q, limits[i], q->now);
	}
	return set;
}

void limit_set_unref(struct qless *q, struct limit_set *set)
{
	if (set == NULL)
		return;
	assert(set->refs > 0);
	if (--set->refs > 0)
		return;
	assert(set->lane == NULL);
	hash_remove(&q->limit_sets, &set->hash);
	for (uint32_t i = 0; i < set->count; i++) {
		assert(set->limits[i]->set_count > 0);
		set->limits[i]->set_count--;
		named_limit_settle(q, set->limits[i], q->now);
	}
	free(set);
}

static bool next_limit(const struct limit_set *set, size_t *cursor, struct qless_str *ret_name)
{
	if (set == NULL || *cursor >= set->count)
		return false;
	*ret_name = intern_str(set->limits[(*cursor)++]->name);
	return true;
}

/* ---- jobs ---- */

struct limit_set *job_limits(const struct qless_job *job)
{
	return job->flags & JOB_LIMITED ? job_limited(job)->set : NULL;
}

void job_use_limits(struct qless *q, struct qless_job *job, struct limit_set *set)
{
	struct limit_set *old = job_limits(job);

	assert(!job->node.linked);
	if (set != NULL && old == NULL)
		job_add_limited(job)->set = set;
	else if (set != NULL)
		job_limited(job)->set = set;
	else if (old != NULL)
		job_drop_limited(job);
	limit_set_unref(q, old);
}

void job_set_limits(struct qless *q, struct qless_job *job, const struct qless_str *names,
		    size_t count)
{
	job_use_limits(q, job, limit_set_get(q, names, count));
	named_limit_sweep_some(q);
}

bool qless_job_next_limit(const struct qless_job *job, size_t *cursor, struct qless_str *ret_name)
{
	return next_limit(job_limits(job), cursor, ret_name);
}

bool qless_recur_next_limit(const struct qless_recur *recur, size_t *cursor,
			    struct qless_str *ret_name)
{
	return next_limit(recur->limits, cursor, ret_name);
}
