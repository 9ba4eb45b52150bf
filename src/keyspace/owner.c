#include "keyspace/owner.h"

#include "keyspace/names.h"

/* A job `x-history` comes before the history of job `x`; see keyspace.h. */
static const struct qless_job *find_job(const struct qless *q, struct qless_str rest)
{
	static const struct qless_str suffixes[] = {
		STR_INIT(NAMES_JOB_HISTORY),
		STR_INIT(NAMES_JOB_DEPENDENCIES),
		STR_INIT(NAMES_JOB_DEPENDENTS),
	};
	const struct qless_job *job = qless_get(q, rest);
	struct qless_str jid;

	for (size_t i = 0; job == NULL && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (str_strip_suffix(rest, suffixes[i], &jid))
			job = qless_get(q, jid);
	}
	return job;
}

static void set_queue(struct keyspace_owner *owner, struct qless_str queue)
{
	owner->has_queue = true;
	owner->queue = queue;
}

static void find_queue(struct qless_str rest, struct keyspace_owner *owner)
{
	struct qless_str queue;

	for (int i = 0; i < QUEUE_LISTS; i++) {
		if (!str_strip_suffix(rest, names_queue_suffixes[i], &queue))
			continue;
		set_queue(owner, queue);
		return;
	}
}

/* After the prefix come the day, a colon, and the queue. */
static void find_queue_of_stats(struct qless_str rest, struct keyspace_owner *owner)
{
	const char *colon = rest.len > 0 ? memchr(rest.ptr, ':', rest.len) : NULL;

	if (colon != NULL)
		set_queue(owner, str_make(colon + 1, (size_t)(rest.ptr + rest.len - colon - 1)));
}

static void find_queue_of_recur(const struct qless *q, struct qless_str jid,
				struct keyspace_owner *owner)
{
	const struct qless_recur *recur = qless_recur_get(q, jid);
	struct qless_recur_info info;

	if (recur == NULL)
		return;
	qless_recur_read(recur, &info);
	set_queue(owner, info.queue);
}

void keyspace_find_owner(const struct qless *q, struct qless_str key,
			 struct keyspace_owner *ret_owner)
{
	struct qless_str rest;

	*ret_owner = (struct keyspace_owner){ .has_queue = false };
	if (str_strip_prefix(key, STR(NAMES_JOB), &rest))
		ret_owner->job = find_job(q, rest);
	else if (str_strip_prefix(key, STR(NAMES_QUEUE), &rest))
		find_queue(rest, ret_owner);
	else if (str_strip_prefix(key, STR(NAMES_RECUR), &rest))
		find_queue_of_recur(q, rest, ret_owner);
	else if (str_strip_prefix(key, STR(NAMES_STATS_WAIT), &rest) ||
		 str_strip_prefix(key, STR(NAMES_STATS_RUN), &rest) ||
		 str_strip_prefix(key, STR(NAMES_STATS_COUNTERS), &rest))
		find_queue_of_stats(rest, ret_owner);
}
