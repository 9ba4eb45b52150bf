/*
 * Loading snapshots: the order of the sections, and everything but jobs. state.c describes the
 * format.
 *
 * Nothing that is read is trusted: any bytes give either an engine whose invariants hold or an
 * error. The first error sticks. From then on every read gives zeros and every loop ends, so few
 * places have to look at it.
 */
#include "engine/state_load.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "engine/depends.h"
#include "engine/engine_int.h"
#include "engine/job.h"
#include "engine/lists.h"
#include "engine/named_limit.h"
#include "engine/numbering.h"
#include "engine/queue.h"
#include "engine/recur.h"
#include "engine/schedule.h"
#include "engine/state.h"
#include "engine/stats.h"
#include "engine/terms.h"
#include "engine/track.h"
#include "engine/worker.h"
#include "util/mem.h"
#include "util/wire.h"

static void load_options(struct state_loader *l)
{
	uint64_t count = state_read_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct qless_str name = state_read_kept_text(l, STATE_NAME_BYTES_MAX);
		struct qless_str value = state_read_text(l, QLESS_MAX_TEXT_BYTES);

		if (!l->failed && qless_config_set(l->q, 0, name, value) < 0)
			state_read_fail(l, "an option has a value that it cannot have");
	}
}

static void load_tracked(struct state_loader *l)
{
	uint64_t count = state_read_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct qless_str jid = state_read_kept_text(l, STATE_NAME_BYTES_MAX);
		double time = state_read_time(l);

		if (tracked_find(l->q, jid) != NULL)
			state_read_fail(l, "a jid is tracked twice");
		if (l->failed)
			return;
		tracked_add(l->q, jid, time);
	}
}

/* Add the queue to the list of known ones, or remove it. */
static void set_known(struct qless *q, struct queue *queue, bool known, double score)
{
	if (queue->node.linked)
		skiplist_remove(&q->queues, &queue->node);
	if (known)
		skiplist_insert(&q->queues, &queue->node, score);
}

/* Read the schedule of a recurring job. The texts are in `kept`. */
static void load_schedule(struct state_loader *l, struct buf *kept,
			  struct qless_schedule *ret_schedule)
{
	static const size_t max[] = { CRON_TEXT_MAX, ZONE_NAME_MAX, ZONE_RULE_MAX };
	size_t lens[3];
	const char *at;

	for (int i = 0; i < 3; i++) {
		struct qless_str text = state_read_text(l, max[i]);

		lens[i] = text.len;
		buf_append_str(kept, text);
	}
	at = buf_str(kept).ptr;
	ret_schedule->cron = str_make(at, lens[0]);
	ret_schedule->zone = str_make(at + lens[0], lens[1]);
	ret_schedule->rule = str_make(at + lens[0] + lens[1], lens[2]);
	ret_schedule->missed = state_read_byte(l);
	ret_schedule->overlap = state_read_byte(l);
}

static void load_recur(struct state_loader *l)
{
	struct buf texts = BUF_INIT(BUF_NO_MAX);
	struct qless_schedule schedule;
	struct qless_terms terms;
	struct qless_str jid = state_read_kept_text(l, STATE_NAME_BYTES_MAX);
	struct intern *queue = state_read_name(l, STATE_QUEUE);
	struct intern *klass = state_read_name(l, STATE_NAME);
	struct qless_str data = state_read_text(l, QLESS_MAX_TEXT_BYTES);
	char *kept = engine_dup(data); /* read() reuses its memory before the data is used */
	struct qless_recur_put put = { .jid = jid, .data = str_make(kept, data.len) };
	struct limit_set *limits = NULL;
	struct qless_recur *recur;
	unsigned flags = 0;
	uint64_t made;
	double next;

	put.priority = state_read_number(l);
	put.retries = state_read_number(l);
	put.interval = state_read_number(l);
	put.backlog = state_read_number(l);
	made = state_read_varint(l);
	next = state_read_time(l);
	state_load_tag_list(l, false);
	if (l->version >= 3) {
		limits = state_load_set(l);
		flags = state_read_byte(l);
	}
	if (flags > STATE_RECUR_FLAGS)
		state_read_fail(l, "a recurring job has flags that are not known");
	if (flags & STATE_RECUR_SCHEDULE) {
		load_schedule(l, &texts, &schedule);
		put.schedule = &schedule;
	}
	if ((flags & STATE_RECUR_TERMS) && terms_load(l, &terms))
		put.terms = &terms;
	if (!l->failed && qless_recur_get(l->q, jid) != NULL)
		state_read_fail(l, "a recurring job comes twice");
	if (!l->failed) {
		put.queue = intern_str(queue);
		put.klass = intern_str(klass);
		put.tags = l->tags.items;
		put.tag_count = l->tags.count;
		if (qless_recur(l->q, next, &put) < 0) {
			state_read_fail(l, "a recurring job has values that it cannot have");
		} else {
			recur = (struct qless_recur *)(uintptr_t)qless_recur_get(l->q, jid);
			recur->count = made;
			recur->limits = limit_set_ref(limits);
			recur_set_next(l->q, recur, next);
			set_known(l->q, recur->queue, false, 0);
		}
	}
	free(kept);
	buf_done(&texts);
}

static void load_recurs(struct state_loader *l)
{
	uint64_t count = state_read_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++)
		load_recur(l);
}

static void load_series(struct state_loader *l, struct series *series)
{
	uint64_t count;

	series->count = state_read_number(l);
	series->mean = state_read_number(l);
	series->vk = state_read_number(l);
	if (!stats_is_series(series))
		state_read_fail(l, "statistics are out of range");
	count = state_read_varint(l);
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct bucket bucket;

		bucket.unit = (double)(char)state_read_byte(l);
		bucket.value = state_read_any_number(l);
		bucket.count = state_read_varint(l);
		if (l->failed)
			return;
		if (!stats_is_bucket(&bucket) ||
		    (i > 0 && !stats_follows(&bucket, &series->buckets[i - 1]))) {
			state_read_fail(l, "statistics are out of range");
			return;
		}
		stats_add_bucket(series, &bucket);
	}
	if (stats_sum(series) > series->count)
		state_read_fail(l, "a histogram is of more than was counted");
}

static void load_day(struct state_loader *l, struct queue *queue)
{
	double start = state_read_number(l);
	struct stats_day *day;

	if (start != stats_day_start(start) ||
	    (queue->day_count > 0 && start <= queue->days[queue->day_count - 1].day))
		state_read_fail(l, "days are out of order");
	if (l->failed)
		return;
	day = stats_need_day(queue, start);
	load_series(l, &day->wait);
	load_series(l, &day->run);
	for (int i = 0; i < COUNTER_TOTAL; i++) {
		uint64_t code = state_read_varint(l);

		day->counted[i] = code != 0;
		day->counters[i] = code != 0 ? wire_unzigzag(code - 1) : 0;
		/* Counters must not overflow later. */
		if (fabs((double)day->counters[i]) >= STATE_INTEGER_MAX)
			state_read_fail(l, "a counter is out of range");
	}
	if (day->counters[COUNTER_FAILED] > day->counters[COUNTER_FAILURES])
		state_read_fail(l, "more jobs have failed than failures were counted");
}

/* The next name of a section, which is sorted by name; NULL at its end. */
static struct intern *load_next(struct state_loader *l, enum state_kind kind, struct intern *last)
{
	struct intern *name;

	if (state_read_byte(l) == 0)
		return NULL;
	name = state_read_name(l, kind);
	if (name != NULL && last != NULL && str_compare(intern_str(last), intern_str(name)) >= 0)
		state_read_fail(l, "names are out of order");
	return l->failed ? NULL : name;
}

static void load_queue(struct state_loader *l, struct intern *name)
{
	struct queue *queue = queue_need(l->q, intern_str(name));
	struct state_place place = { .queue = queue };
	unsigned flags = state_read_byte(l);
	double score = flags & STATE_KNOWN ? state_read_score(l) : 0;
	uint64_t days = state_read_varint(l);

	set_known(l->q, queue, !l->failed && (flags & STATE_KNOWN), score);
	queue->paused = (flags & STATE_PAUSED) != 0;
	l->q->paused_count += queue->paused;
	for (uint64_t i = 0; i < days && !l->failed; i++)
		load_day(l, queue);
	for (int i = 0; i < QUEUE_ALL_LISTS; i++) {
		if (!queue_list_has_jobs((enum queue_list)i) || queue_lists[i].since > l->version)
			continue;
		place.state = (enum qless_state)queue_lists[i].state;
		state_load_jobs(l, &place);
	}
	if (l->version >= 3)
		state_load_turns(l, queue);
}

static void load_worker_days(struct state_loader *l, struct intern *name)
{
	uint64_t count = state_read_varint(l);
	double last = -INFINITY;

	for (uint64_t i = 0; i < count && !l->failed; i++) {
		double start = state_read_number(l);

		if (start != stats_day_start(start) || start <= last)
			state_read_fail(l, "days of a worker are out of order");
		last = start;
		for (int deed = 0; deed < DEED_TOTAL; deed++) {
			uint64_t times = state_read_varint(l);

			if (!l->failed)
				worker_count(l->q, name, start, (enum deed)deed, times);
		}
	}
}

/* Check that the lock of a running job expires when its worker has to be ready. */
static void check_holding(struct state_loader *l, const struct intern *name, struct qless_str jid,
			  double expires)
{
	const struct qless_job *job = job_find(l->q, jid);

	if (job != NULL && job->state == QLESS_RUNNING && job->worker == name &&
	    job->expires != expires)
		state_read_fail(l, "a lock expires at two times");
}

static void load_worker(struct state_loader *l, struct intern *name)
{
	unsigned flags = state_read_byte(l);
	double score = flags & STATE_KNOWN ? state_read_score(l) : 0;
	uint64_t count = state_read_varint(l);

	if (!l->failed && (flags & STATE_KNOWN))
		worker_seen(l->q, name, score);
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct qless_str jid = state_read_kept_text(l, STATE_NAME_BYTES_MAX);
		double expires = state_read_score(l);

		check_holding(l, name, jid, expires);
		if (!l->failed)
			worker_hold(l->q, name, jid, expires);
	}
	load_worker_days(l, name);
}

static void load_dependencies(struct state_loader *l)
{
	for (size_t i = 0; i < l->depending.count && !l->failed; i++) {
		struct qless_job *job = l->depending.items[i];
		uint64_t count = state_read_varint(l);
		uint64_t k;

		for (k = 0; k < count && !l->failed; k++) {
			uint64_t number = state_read_varint(l);
			struct qless_str jid;

			if (number >= l->depended.count) {
				state_read_fail(l, "a job depends on one that is missing");
				break;
			}
			jid = job_jid(l->depended.items[number]);
			depends_add(l->q, job, &jid, 1);
		}
		if (!l->failed && (!depends_is_open(job) ||
				   skiplist_count(job_extra(job)->dependencies) != count))
			state_read_fail(l, "a job has other dependencies than it should");
	}
}

/* Free the queues that nothing keeps visible. */
static void release_queues(struct qless *q)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &q->queue_names.hash) {
		struct intern *name = intern_from_node(node);

		if (name->user != NULL)
			queue_release(q, name->user);
	}
}

static void load_totals(struct state_loader *l)
{
	uint64_t changes = state_read_varint(l);
	double latest = state_read_any_number(l);
	double failure_number = state_read_number(l);
	uint64_t last_lock = l->version >= 2 ? state_read_varint(l) : 0;
	unsigned mark = state_read_byte(l);

	if (mark == STATE_NUMBER_MARK) {
		l->q->last_number = state_read_number(l);
		mark = state_read_byte(l);
	}
	if (!(l->q->last_number >= 0 && l->q->last_number <= NUMBERING_MAX))
		state_read_fail(l, "the number of the last numbered job is out of range");
	if (mark != STATE_END_MARK || isnan(latest) || latest == INFINITY)
		state_read_fail(l, "its end is not where it should be");
	else if (!state_read_is_at_end(l))
		state_read_fail(l, "it does not end where it should");
	if (failure_number < l->failure_number)
		state_read_fail(l, "a failure is yet to come");
	if (last_lock < l->last_lock || last_lock > QLESS_LOCK_MAX)
		state_read_fail(l, "a hand-out is yet to come");
	l->q->changes = changes;
	l->q->latest = latest;
	assert(l->failed || failure_number >= l->failure_number);
	l->q->failure_number = failure_number;
	l->q->last_lock = last_lock;
}

static void load_all(struct state_loader *l)
{
	struct state_place failed = { .state = QLESS_FAILED };
	struct state_place complete = { .state = QLESS_COMPLETE };
	struct intern *name;
	double max_history;

	l->version = state_read_varint(l);
	if (l->version == 0 || l->version > STATE_VERSION) {
		state_read_fail(l, "its version is not known");
		return;
	}
	load_options(l);
	/* Histories may be longer than the option allows, until an entry is added. */
	max_history = l->q->settings.max_job_history;
	l->q->settings.max_job_history = 0;
	load_tracked(l);
	if (l->version >= 3)
		state_load_limits(l);
	load_recurs(l);
	for (name = NULL; (name = load_next(l, STATE_QUEUE, name)) != NULL;)
		load_queue(l, name);
	for (name = NULL; (name = load_next(l, STATE_GROUP, name)) != NULL;) {
		failed.group = name;
		state_load_jobs(l, &failed);
	}
	state_load_jobs(l, &complete);
	state_find_jobs(l);
	load_dependencies(l);
	for (name = NULL; (name = load_next(l, STATE_WORKER, name)) != NULL;)
		load_worker(l, name);
	load_totals(l);
	l->q->settings.max_job_history = max_history;
}

static void loader_done(struct state_loader *l)
{
	state_read_done(l);
	free(l->depending.items);
	free(l->depended.items);
	free(l->tags.items);
	free(l->tag_times);
}

int state_load(struct qless *q, state_read_fn *read, void *arg)
{
	struct state_loader l = {
		.q = q,
		.read = read,
		.arg = arg,
		.joined = BUF_INIT(BUF_NO_MAX),
		.text = BUF_INIT(BUF_NO_MAX),
	};
	void (*publish)(void *arg, struct qless_str channel, struct qless_str payload) =
		q->hooks.publish;
	struct qless_limits limits;

	q->hooks.publish = NULL;
	limits = *qless_get_limits(q);
	qless_set_limits(q, NULL);
	load_all(&l);
	state_find_jobs(&l); /* also the jobs before an error, so that qless_free() finds them */
	qless_set_limits(q, &limits);
	release_queues(q);
	state_settle_limits(&l);
	loader_done(&l);
	q->hooks.publish = publish;
	return l.failed ? QLESS_EBADARG : 0;
}
