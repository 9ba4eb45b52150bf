/*
 * Loading snapshots. state.c describes the format.
 *
 * Nothing that is read is trusted: whatever the bytes are, the result is an engine whose invariants
 * hold, or an error. The first error sticks: from then on every read gives zeros and every loop
 * ends, so that it need be looked at in a few places only.
 */
#include "engine/state_int.h"

#include <stdlib.h>

#include "util/mem.h"
#include "util/wire.h"

struct loader {
	struct qless *q;
	state_read_fn *read;
	void *arg;
	bool failed;
	/* What is being read: a piece, or what was put together from several. */
	const unsigned char *at;
	size_t left;
	struct buf joined;
	bool in_joined;
	int64_t last_us;
	struct name_list {
		struct intern **items;
		size_t count;
		size_t cap;
	} names[STATE_KINDS];
	struct buf text;
	struct job_vec depending; /* in the lists `depends` */
	struct job_vec depended;  /* numbered */
	double failure_number;	  /* the highest of a failed job */
	struct str_vec tags;
	double *tag_times;
	size_t tag_cap;
};

static bool fail(struct loader *l, const char *what)
{
	if (!l->failed)
		engine_fail(l->q, QLESS_EBADARG, "The snapshot is not valid: %s", what);
	l->failed = true;
	l->left = 0;
	return false;
}

/* ---- reading ---- */

/* True if so many bytes are there in one piece. */
static bool refill(struct loader *l, size_t size)
{
	if (l->failed)
		return false;
	if (l->in_joined) {
		buf_consume(&l->joined, l->joined.len - l->left);
	} else {
		buf_clear(&l->joined);
		if (l->left > 0)
			buf_append(&l->joined, l->at, l->left);
	}
	while (l->joined.len < size) {
		struct qless_str piece = l->read(l->arg);

		if (piece.len == 0)
			return fail(l, "it ends too early");
		/* Mostly the rest of the last piece was all there was, and nothing is copied. */
		if (l->joined.len == 0 && piece.len >= size) {
			l->at = (const unsigned char *)piece.ptr;
			l->left = piece.len;
			l->in_joined = false;
			return true;
		}
		buf_append(&l->joined, piece.ptr, piece.len);
	}
	l->in_joined = true;
	l->at = (const unsigned char *)buf_data(&l->joined);
	l->left = l->joined.len;
	return true;
}

static inline bool have(struct loader *l, size_t size)
{
	return l->left >= size || refill(l, size);
}

static inline void used(struct loader *l, size_t size)
{
	l->at += size;
	l->left -= size;
}

static unsigned load_byte(struct loader *l)
{
	unsigned value;

	if (!have(l, 1))
		return 0;
	value = l->at[0];
	used(l, 1);
	return value;
}

static uint64_t load_varint(struct loader *l)
{
	uint64_t value = 0;
	size_t size;

	if (!have(l, 1))
		return 0;
	size = wire_get_varint(l->at, l->left, &value);
	for (size_t want = l->left + 1; size == 0 && want <= WIRE_VARINT_MAX; want = l->left + 1) {
		if (!have(l, want))
			return 0;
		size = wire_get_varint(l->at, l->left, &value);
	}
	if (size == 0) {
		fail(l, "a number is too large");
		return 0;
	}
	used(l, size);
	return value;
}

static double load_raw_double(struct loader *l)
{
	double value;

	if (!have(l, sizeof(value)))
		return 0;
	value = wire_get_double(l->at);
	used(l, sizeof(value));
	return value;
}

static double load_any_number(struct loader *l)
{
	uint64_t code = load_varint(l);

	return code == 0 && !l->failed ? load_raw_double(l) : (double)wire_unzigzag(code - 1);
}

static double load_number(struct loader *l)
{
	double value = load_any_number(l);

	if (!isfinite(value))
		fail(l, "a number is not finite");
	return value;
}

/* Finite, or infinite where a score may be. */
static double load_score(struct loader *l)
{
	uint64_t code = load_varint(l);
	int64_t delta = wire_unzigzag(code - 1);
	double value;

	if (code == 0 && !l->failed) {
		value = load_raw_double(l);
		if (isnan(value))
			fail(l, "a time is not a number");
		return value;
	}
	if (__builtin_add_overflow(l->last_us, delta, &l->last_us))
		fail(l, "a time is out of range");
	return (double)l->last_us / 1e6;
}

static double load_time(struct loader *l)
{
	double value = load_score(l);

	if (!isfinite(value))
		fail(l, "a time is not finite");
	return value;
}

/* Good until the next read. */
static struct qless_str load_text(struct loader *l, size_t max)
{
	uint64_t len = load_varint(l);
	struct qless_str text;

	if (len > max) {
		fail(l, "a text is too long");
		return STR("");
	}
	if (!have(l, (size_t)len))
		return STR("");
	text = str_make((const char *)l->at, (size_t)len);
	used(l, (size_t)len);
	return text;
}

/* Good until the next call. */
static struct qless_str load_kept_text(struct loader *l, size_t max)
{
	buf_clear(&l->text);
	buf_append_str(&l->text, load_text(l, max));
	return buf_str(&l->text);
}

static struct intern_table *table_of(struct qless *q, enum state_kind kind)
{
	switch (kind) {
	case STATE_QUEUE:
		return &q->queue_names;
	case STATE_WORKER:
		return &q->worker_names;
	case STATE_GROUP:
		return &q->group_names;
	case STATE_TAG:
		return &q->tag_names;
	case STATE_NAME:
	case STATE_KINDS:
		break;
	}
	return &q->names;
}

/* NULL on failure. The reference is the loader's. */
static struct intern *load_name(struct loader *l, enum state_kind kind)
{
	struct name_list *list = &l->names[kind];
	uint64_t id = load_varint(l);
	struct qless_str text;

	if (l->failed)
		return NULL;
	if (id < list->count)
		return list->items[id];
	if (id > list->count) {
		fail(l, "a name is missing");
		return NULL;
	}
	text = load_text(l, QLESS_MAX_NAME_BYTES);
	if (l->failed)
		return NULL;
	if (list->count == list->cap) {
		list->cap = list->cap == 0 ? 64 : 2 * list->cap;
		list->items = mem_realloc_array(list->items, list->cap, sizeof(*list->items));
	}
	list->items[list->count++] = intern_get(table_of(l->q, kind), text);
	return list->items[id];
}

/* ---- jobs ---- */

static void load_log_event(struct loader *l, struct history *h, double when)
{
	struct qless_str what = load_kept_text(l, QLESS_MAX_TEXT_BYTES);
	bool has_item = load_byte(l) != 0;
	struct qless_str item = has_item ? load_text(l, QLESS_MAX_TEXT_BYTES) : STR("");

	if (!history_has_room(h, what, has_item ? &item : NULL))
		fail(l, "a history is too long");
	if (!l->failed)
		history_append_log(l->q, h, when, what, has_item ? &item : NULL);
}

static void load_failed_event(struct loader *l, struct history *h, double when, bool exhausted)
{
	struct intern *group = load_name(l, STATE_GROUP);
	struct intern *worker = exhausted ? NULL : load_name(l, STATE_WORKER);

	if (!l->failed)
		history_append_failed(l->q, h, when, group, worker);
}

static void load_event(struct loader *l, struct history *h)
{
	unsigned kind = load_byte(l);
	double when = load_time(l);
	struct queue queue;
	struct intern *worker;

	if (l->failed)
		return;
	switch (kind) {
	case QLESS_EVENT_PUT:
		/* Nothing but its name is looked at, and the queue itself may be long gone. */
		queue.name = load_name(l, STATE_QUEUE);
		if (!l->failed)
			history_append_put(l->q, h, when, &queue);
		break;
	case QLESS_EVENT_POPPED:
		worker = load_name(l, STATE_WORKER);
		if (!l->failed)
			history_append_popped(l->q, h, when, worker);
		break;
	case QLESS_EVENT_DONE:
	case QLESS_EVENT_TIMED_OUT:
		history_append_plain(l->q, h, when, kind);
		break;
	case QLESS_EVENT_FAILED:
	case QLESS_EVENT_EXHAUSTED:
		load_failed_event(l, h, when, kind == QLESS_EVENT_EXHAUSTED);
		break;
	case QLESS_EVENT_LOG:
		load_log_event(l, h, when);
		break;
	default:
		fail(l, "an event is of no known kind");
	}
}

static void load_history(struct loader *l, struct history *h)
{
	uint64_t count = load_varint(l);

	if (count == 0)
		fail(l, "a job has no history");
	for (uint64_t i = 0; i < count && !l->failed; i++)
		load_event(l, h);
}

static void load_tag_list(struct loader *l, bool with_times)
{
	uint64_t count = load_varint(l);

	str_vec_clear(&l->tags);
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct intern *name = load_name(l, STATE_TAG);
		double time = with_times ? load_time(l) : 0;

		if (l->failed)
			return;
		str_vec_push(&l->tags, intern_str(name));
		if (l->tag_cap < l->tags.cap) {
			l->tag_cap = l->tags.cap;
			l->tag_times = mem_realloc_array(l->tag_times, l->tag_cap, sizeof(double));
		}
		l->tag_times[i] = time;
	}
}

static void load_tags(struct loader *l, struct qless_job *job)
{
	struct tag_list *tags;

	load_tag_list(l, true);
	if (l->failed)
		return;
	if (l->tags.count == 0) {
		fail(l, "a list of tags is empty");
		return;
	}
	job_set_tags(l->q, job, l->tags.items, l->tags.count, l->tag_times[0]);
	tags = job->extra->tags;
	for (uint32_t i = 0; i < tags->count; i++) {
		if (tags->items[i]->node.score != l->tag_times[i])
			skiplist_rescore(&tags->items[i]->tag->jobs, &tags->items[i]->node,
					 l->tag_times[i]);
	}
}

static void load_failure(struct loader *l, struct qless_job *job)
{
	struct intern *group = load_name(l, STATE_GROUP);
	struct qless_str message = load_kept_text(l, QLESS_MAX_TEXT_BYTES);
	double when = load_time(l);
	struct intern *worker = load_byte(l) != 0 ? load_name(l, STATE_WORKER) : NULL;

	if (!l->failed)
		job_set_failure(l->q, job, group, message, when, worker);
}

static void load_extra(struct loader *l, struct qless_job *job, uint64_t flags)
{
	struct intern *name;

	if (flags & STATE_JOB_TAGS)
		load_tags(l, job);
	if (flags & STATE_JOB_FAILURE)
		load_failure(l, job);
	if (flags & STATE_JOB_SPAWNED) {
		name = load_name(l, STATE_NAME);
		if (!l->failed)
			job_need_extra(job)->spawned_from = intern_ref(name);
	}
	if (flags & STATE_JOB_DUE)
		job_set_due(job, load_time(l));
}

/* Where jobs are loaded into. */
struct place {
	enum qless_state state;
	struct queue *queue; /* NULL for failed jobs, which name theirs, and completed ones */
	struct intern *group;
};

/* Into its list, with the score that was saved. All that can be wrong has been looked for. */
static void place_job(struct loader *l, struct qless_job *job, uint64_t flags, double score)
{
	if (!(flags & STATE_JOB_SCORE))
		score = state_usual_score(job);
	if (job->state != QLESS_FAILED) {
		skiplist_insert(job_list(l->q, job), &job->node, score);
		return;
	}
	job_enter_failed(l->q, job);
	skiplist_rescore(job_list(l->q, job), &job->node, score);
	l->failure_number = fmax(l->failure_number, score);
}

static void check_job(struct loader *l, const struct qless_job *job, const struct place *place,
		      uint64_t flags)
{
	if ((flags & STATE_JOB_STALLED) && job->state != QLESS_STALLED)
		fail(l, "a job is stalled outside of a queue");
	if (job->state == QLESS_RUNNING && job->worker == NULL)
		fail(l, "a running job has no worker");
	if (job->state != QLESS_RUNNING && (flags & STATE_JOB_GRACE))
		fail(l, "a job has a grace period without a lock");
	if ((job->state == QLESS_FAILED || job->state == QLESS_COMPLETE) &&
	    (job->worker != NULL || job->expires != 0))
		fail(l, "a job is over and has a lock");
	if (job->state != QLESS_DEPENDS && (flags & STATE_JOB_DUE))
		fail(l, "a job remembers a time without waiting for others");
	if (job->state == QLESS_FAILED &&
	    (!(flags & STATE_JOB_FAILURE) || job->extra->failure->group != place->group))
		fail(l, "a failed job has no failure");
	if (job->state == QLESS_COMPLETE && (flags & STATE_JOB_DEPENDENTS))
		fail(l, "a job depends on one that is complete");
}

/* The fields of a new job, up to what decides about its place. */
static double load_fields(struct loader *l, struct qless_job *job, const struct place *place,
			  uint64_t flags)
{
	double score = 0;
	struct intern *name;

	job->state = (uint8_t)place->state;
	if ((flags & STATE_JOB_STALLED) && place->state == QLESS_WAITING)
		job->state = QLESS_STALLED;
	job->priority = load_number(l);
	job->time = load_time(l);
	job->retries = load_number(l);
	job->remaining = flags & STATE_JOB_REMAINING ? load_number(l) : job->retries;
	job->expires = flags & STATE_JOB_EXPIRES ? load_time(l) : 0;
	if (flags & STATE_JOB_SCORE) {
		load_byte(l);
		score = load_raw_double(l);
		if (isnan(score))
			fail(l, "a score is not a number");
	}
	if (flags & STATE_JOB_WORKER) {
		name = load_name(l, STATE_WORKER);
		if (!l->failed)
			job_set_worker(l->q, job, name);
	}
	if (place->state == QLESS_FAILED) {
		name = load_name(l, STATE_QUEUE);
		if (!l->failed)
			job_set_queue(l->q, job, queue_need(l->q, intern_str(name)));
	} else if (place->queue != NULL) {
		job_set_queue(l->q, job, place->queue);
	}
	return score;
}

/* Half a job is of no use, but has to be where qless_free() can deal with it. */
static void abandon_job(struct qless *q, struct qless_job *job)
{
	job->state = QLESS_COMPLETE;
	job_set_queue(q, job, NULL);
	skiplist_insert(&q->completed, &job->node, 0);
}

static void load_job(struct loader *l, const struct place *place)
{
	uint64_t flags = load_varint(l);
	struct qless_str jid = load_kept_text(l, QLESS_MAX_NAME_BYTES);
	struct intern *klass = load_name(l, STATE_NAME);
	struct qless_str data = load_text(l, QLESS_MAX_TEXT_BYTES);
	struct qless_job *job;
	double score;

	if (flags > STATE_JOB_FLAGS)
		fail(l, "a job has flags that are not known");
	if (job_find(l->q, jid) != NULL)
		fail(l, "a job comes twice");
	if (l->failed)
		return;
	job = job_new(l->q, jid, data);
	job->klass = intern_ref(klass);
	score = load_fields(l, job, place, flags);
	load_extra(l, job, flags);
	if (!l->failed)
		check_job(l, job, place, flags);
	if (l->failed) {
		abandon_job(l->q, job);
		return;
	}
	if (flags & STATE_JOB_GRACE)
		job->flags |= JOB_GRACE;
	if (flags & STATE_JOB_CLEARED)
		job->flags |= JOB_FAILURE_CLEARED;
	place_job(l, job, flags, score);
	load_history(l, &job->history);
	if (job->state == QLESS_DEPENDS)
		job_vec_push(&l->depending, job);
	if (flags & STATE_JOB_DEPENDENTS)
		job_vec_push(&l->depended, job);
}

static void load_jobs(struct loader *l, const struct place *place)
{
	uint64_t count = load_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++)
		load_job(l, place);
}

/* ---- what jobs hang on ---- */

static void load_options(struct loader *l)
{
	uint64_t count = load_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct qless_str name = load_kept_text(l, QLESS_MAX_NAME_BYTES);
		struct qless_str value = load_text(l, QLESS_MAX_TEXT_BYTES);

		if (!l->failed && qless_config_set(l->q, 0, name, value) < 0)
			fail(l, "an option has a value that it cannot have");
	}
}

static void load_tracked(struct loader *l)
{
	uint64_t count = load_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct qless_str jid = load_kept_text(l, QLESS_MAX_NAME_BYTES);
		double time = load_time(l);
		unsigned height = engine_draw_height(l->q);
		struct tracked *tracked;

		if (tracked_find(l->q, jid) != NULL)
			fail(l, "a jid is tracked twice");
		if (l->failed)
			return;
		tracked =
			mem_alloc(offsetof(struct tracked, node) + skipnode_size(height) + jid.len);
		skipnode_init(&tracked->node, height);
		tracked->hash.aux = (uint32_t)jid.len;
		engine_copy((char *)&tracked->node + skipnode_size(height), jid);
		hash_insert(&l->q->tracked, &tracked->hash);
		skiplist_insert(&l->q->tracks, &tracked->node, time);
	}
}

/* Into the list of known queues or out of it, as it was. */
static void set_known(struct qless *q, struct queue *queue, bool known, double score)
{
	if (queue->node.linked)
		skiplist_remove(&q->queues, &queue->node);
	if (known)
		skiplist_insert(&q->queues, &queue->node, score);
}

static void load_recur(struct loader *l)
{
	struct qless_str jid = load_kept_text(l, QLESS_MAX_NAME_BYTES);
	struct intern *queue = load_name(l, STATE_QUEUE);
	struct intern *klass = load_name(l, STATE_NAME);
	struct qless_str data = load_text(l, QLESS_MAX_TEXT_BYTES);
	char *kept = engine_dup(data); /* there is more to read before it is used */
	struct qless_recur_put put = { .jid = jid, .data = str_make(kept, data.len) };
	struct qless_recur *recur;
	uint64_t made;
	double next;

	put.priority = load_number(l);
	put.retries = load_number(l);
	put.interval = load_number(l);
	put.backlog = load_number(l);
	made = load_varint(l);
	next = load_time(l);
	load_tag_list(l, false);
	if (!l->failed && qless_recur_get(l->q, jid) != NULL)
		fail(l, "a recurring job comes twice");
	if (!l->failed) {
		put.queue = intern_str(queue);
		put.klass = intern_str(klass);
		put.tags = l->tags.items;
		put.tag_count = l->tags.count;
		if (qless_recur(l->q, next, &put) < 0) {
			fail(l, "a recurring job has values that it cannot have");
		} else {
			recur = (struct qless_recur *)(uintptr_t)qless_recur_get(l->q, jid);
			recur->count = made;
			set_known(l->q, recur->queue, false, 0);
		}
	}
	free(kept);
}

static void load_recurs(struct loader *l)
{
	uint64_t count = load_varint(l);

	for (uint64_t i = 0; i < count && !l->failed; i++)
		load_recur(l);
}

static bool is_bucket(const struct bucket *b)
{
	if (!isfinite(b->value) || b->value != floor(b->value))
		return false;
	switch ((char)b->unit) {
	case 's':
		return b->value < 60;
	case 'm':
		return b->value >= 1 && b->value < 60;
	case 'h':
		return b->value >= 1 && b->value < 24;
	case 'd':
		return b->value >= 1;
	default:
		return false;
	}
}

static bool follows(const struct bucket *b, const struct bucket *a)
{
	return a->unit < b->unit || (a->unit == b->unit && a->value < b->value);
}

static void load_series(struct loader *l, struct series *series)
{
	uint64_t count;

	series->count = load_number(l);
	series->mean = load_any_number(l);
	series->vk = load_any_number(l);
	count = load_varint(l);
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct bucket bucket;

		bucket.unit = (double)(char)load_byte(l);
		bucket.value = load_any_number(l);
		bucket.count = load_varint(l);
		if (l->failed)
			return;
		if (!is_bucket(&bucket) || (i > 0 && !follows(&bucket, &series->buckets[i - 1]))) {
			fail(l, "statistics are out of range");
			return;
		}
		if (series->bucket_count == series->bucket_cap) {
			series->bucket_cap = series->bucket_cap == 0 ? 4 : 2 * series->bucket_cap;
			series->buckets = mem_realloc_array(series->buckets, series->bucket_cap,
							    sizeof(*series->buckets));
		}
		series->buckets[series->bucket_count++] = bucket;
	}
	if (stats_sum(series) > series->count)
		fail(l, "a histogram is of more than was counted");
}

static void load_day(struct loader *l, struct queue *queue)
{
	double start = load_number(l);
	struct stats_day *day;

	if (start != stats_day_start(start) ||
	    (queue->day_count > 0 && start <= queue->days[queue->day_count - 1].day))
		fail(l, "days are out of order");
	if (l->failed)
		return;
	if (queue->day_count == queue->day_cap) {
		queue->day_cap = queue->day_cap == 0 ? 1 : 2 * queue->day_cap;
		queue->days = mem_realloc_array(queue->days, queue->day_cap, sizeof(*queue->days));
	}
	day = &queue->days[queue->day_count++];
	*day = (struct stats_day){ .day = start };
	load_series(l, &day->wait);
	load_series(l, &day->run);
	for (int i = 0; i < COUNTER_TOTAL; i++) {
		uint64_t code = load_varint(l);

		day->counted[i] = code != 0;
		day->counters[i] = code != 0 ? wire_unzigzag(code - 1) : 0;
	}
	if (day->counters[COUNTER_FAILED] > day->counters[COUNTER_FAILURES])
		fail(l, "more jobs have failed than failures were counted");
}

/* The next name of a section that is sorted by names; NULL at its end. */
static struct intern *load_next(struct loader *l, enum state_kind kind, struct intern *last)
{
	struct intern *name;

	if (load_byte(l) == 0)
		return NULL;
	name = load_name(l, kind);
	if (name != NULL && last != NULL && str_compare(intern_str(last), intern_str(name)) >= 0)
		fail(l, "names are out of order");
	return l->failed ? NULL : name;
}

static void load_queue(struct loader *l, struct intern *name)
{
	struct queue *queue = queue_need(l->q, intern_str(name));
	struct place place = { .queue = queue };
	unsigned flags = load_byte(l);
	double score = flags & STATE_KNOWN ? load_score(l) : 0;
	uint64_t days = load_varint(l);

	set_known(l->q, queue, !l->failed && (flags & STATE_KNOWN), score);
	queue->paused = (flags & STATE_PAUSED) != 0;
	l->q->paused_count += queue->paused;
	for (uint64_t i = 0; i < days && !l->failed; i++)
		load_day(l, queue);
	place.state = QLESS_WAITING;
	load_jobs(l, &place);
	place.state = QLESS_RUNNING;
	load_jobs(l, &place);
	place.state = QLESS_SCHEDULED;
	load_jobs(l, &place);
	place.state = QLESS_DEPENDS;
	load_jobs(l, &place);
}

static void load_worker_days(struct loader *l, struct intern *name)
{
	uint64_t count = load_varint(l);
	double last = -INFINITY;

	for (uint64_t i = 0; i < count && !l->failed; i++) {
		double start = load_number(l);

		if (start != stats_day_start(start) || start <= last)
			fail(l, "days of a worker are out of order");
		last = start;
		for (int deed = 0; deed < DEED_TOTAL; deed++) {
			uint64_t times = load_varint(l);

			if (!l->failed)
				worker_count(l->q, name, start, (enum deed)deed, times);
		}
	}
}

/* The lock of a running job expires when its worker has to be ready. */
static void check_holding(struct loader *l, const struct intern *name, struct qless_str jid,
			  double expires)
{
	const struct qless_job *job = job_find(l->q, jid);

	if (job != NULL && job->state == QLESS_RUNNING && job->worker == name &&
	    job->expires != expires)
		fail(l, "a lock expires at two times");
}

static void load_worker(struct loader *l, struct intern *name)
{
	unsigned flags = load_byte(l);
	double score = flags & STATE_KNOWN ? load_score(l) : 0;
	uint64_t count = load_varint(l);

	if (!l->failed && (flags & STATE_KNOWN))
		worker_seen(l->q, name, score);
	for (uint64_t i = 0; i < count && !l->failed; i++) {
		struct qless_str jid = load_kept_text(l, QLESS_MAX_NAME_BYTES);
		double expires = load_score(l);

		check_holding(l, name, jid, expires);
		if (!l->failed)
			worker_hold(l->q, name, jid, expires);
	}
	load_worker_days(l, name);
}

static void load_dependencies(struct loader *l)
{
	for (size_t i = 0; i < l->depending.count && !l->failed; i++) {
		struct qless_job *job = l->depending.items[i];
		uint64_t count = load_varint(l);
		uint64_t k;

		for (k = 0; k < count && !l->failed; k++) {
			uint64_t number = load_varint(l);
			struct qless_str jid;

			if (number >= l->depended.count) {
				fail(l, "a job depends on one that is missing");
				break;
			}
			jid = job_jid(l->depended.items[number]);
			depends_add(l->q, job, &jid, 1);
		}
		if (!l->failed &&
		    (!depends_is_open(job) || skiplist_count(job->extra->dependencies) != count))
			fail(l, "a job has other dependencies than it should");
	}
}

/* Queues that nothing would make visible are not kept. */
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

static void load_totals(struct loader *l)
{
	uint64_t changes = load_varint(l);
	double latest = load_any_number(l);
	double failure_number = load_number(l);

	if (load_byte(l) != STATE_END_MARK || isnan(latest) || latest == INFINITY)
		fail(l, "its end is not where it should be");
	else if (l->left > 0 || l->read(l->arg).len > 0)
		fail(l, "it does not end where it should");
	if (failure_number < l->failure_number)
		fail(l, "a failure is yet to come");
	l->q->changes = changes;
	l->q->latest = latest;
	l->q->failure_number = failure_number;
}

static void load_all(struct loader *l)
{
	struct place failed = { .state = QLESS_FAILED };
	struct place complete = { .state = QLESS_COMPLETE };
	struct intern *name;
	double max_history;

	if (load_varint(l) != STATE_VERSION) {
		fail(l, "its version is not known");
		return;
	}
	load_options(l);
	/* Histories may be longer than the option allows today, until something is added. */
	max_history = l->q->settings.max_job_history;
	l->q->settings.max_job_history = 0;
	load_tracked(l);
	load_recurs(l);
	for (name = NULL; (name = load_next(l, STATE_QUEUE, name)) != NULL;)
		load_queue(l, name);
	for (name = NULL; (name = load_next(l, STATE_GROUP, name)) != NULL;) {
		failed.group = name;
		load_jobs(l, &failed);
	}
	load_jobs(l, &complete);
	load_dependencies(l);
	for (name = NULL; (name = load_next(l, STATE_WORKER, name)) != NULL;)
		load_worker(l, name);
	load_totals(l);
	l->q->settings.max_job_history = max_history;
}

static void loader_done(struct loader *l)
{
	for (int kind = 0; kind < STATE_KINDS; kind++) {
		struct name_list *list = &l->names[kind];

		for (size_t i = 0; i < list->count; i++)
			intern_unref(table_of(l->q, (enum state_kind)kind), list->items[i]);
		free(list->items);
	}
	buf_done(&l->joined);
	buf_done(&l->text);
	free(l->depending.items);
	free(l->depended.items);
	free(l->tags.items);
	free(l->tag_times);
}

int state_load(struct qless *q, state_read_fn *read, void *arg)
{
	struct loader l = {
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
	qless_set_limits(q, &limits);
	release_queues(q);
	loader_done(&l);
	q->hooks.publish = publish;
	return l.failed ? QLESS_EBADARG : 0;
}
