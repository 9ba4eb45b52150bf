/*
 * What the engine is made of; for the files of this folder alone.
 *
 * Everything hangs off struct qless. Names that many objects share (queues, workers, classes,
 * groups, tags) are interned, each kind in a table of its own, and the interned name leads to the
 * object that goes by it. Lists in a visible order are skiplists; hash tables serve only to find
 * things, and nothing that can be seen ever comes out in their order.
 *
 * A job is in exactly one list at any time, and which one follows from its state:
 *
 *	waiting, stalled	its queue's work	score: priority - time / 1e10
 *	running			its queue's locks	score: when the lock expires
 *	scheduled		its queue's scheduled	score: when it is due
 *	depends			its queue's depends	score: when it was put there
 *	failed			its group's jobs	score: running number of the failure
 *	complete		qless.completed		score: when it was completed
 *
 * so one node in the job serves them all. Functions here that change something assume that the call
 * has been checked: they cannot fail.
 */
#ifndef ENGINE_INT_H
#define ENGINE_INT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qless.h"

#include "engine/error.h"
#include "engine/lists.h"
#include "engine/meter.h"
#include "engine/run.h"
#include "util/buf.h"
#include "util/container.h"
#include "util/hash.h"
#include "util/heap.h"
#include "util/intern.h"
#include "util/skiplist.h"
#include "util/str.h"

/* Completed jobs that are purged in one call; the rest is left to the next ones. */
#define ENGINE_PURGE_MAX 1000

enum counter {
	COUNTER_RETRIES,
	COUNTER_FAILURES,
	COUNTER_FAILED,
	COUNTER_TOTAL,
};

/* ---- history.c ---- */

/* A job's history as compact bytes: see history.c. The first entries of most jobs fit into the
 * struct itself. */
#define HISTORY_INLINE_BYTES 16

/* Longer than this no log entry makes it. */
#define HISTORY_LOG_BYTES_MAX ((size_t)1 << 29)

struct history {
	uint32_t len;
	uint32_t cap; /* 0: the bytes are in `room`, otherwise `room` holds a pointer to them */
	uint32_t count;
	unsigned char room[HISTORY_INLINE_BYTES];
};

/* ---- jobs ---- */

/* The names one job has been given, in order; the same tag may be there more than once. */
struct tag_list {
	uint32_t count;
	struct tagging *items[];
};

struct failure {
	struct intern *group;
	struct intern *worker; /* NULL: exhausted retries, nobody reported it */
	double when;
	uint32_t message_len;
	char message[];
};

/* One direction of a dependency. The twin is in the other job's list, and leads back. */
struct edge {
	struct edge *twin;
	struct qless_job *job; /* the other job */
	struct skipnode node;
};

/* What most jobs do without. */
struct job_extra {
	struct tag_list *tags;
	struct failure *failure;
	struct intern *spawned_from;
	struct skiplist *dependencies; /* of struct edge */
	struct skiplist *dependents;
	double due; /* remembered while waiting for dependencies; NAN if none */
};

enum job_flag {
	JOB_TRACKED = 1 << 0,
	JOB_GRACE = 1 << 1,	      /* its worker has been warned that the lock expired */
	JOB_FAILURE_CLEARED = 1 << 2, /* it was completed: the failure reads as an empty object */
	JOB_CHOSEN = 1 << 3,	      /* scratch for calls that take lists of jids */
};

/* One allocation: the struct, the upper levels of its node, the jid, the data as first put. */
struct qless_job {
	struct hash_node hash; /* aux: length of the jid */
	struct queue *queue;   /* NULL once complete */
	struct intern *klass;
	struct intern *worker; /* NULL if none; stays after a retry */
	struct job_extra *extra;
	char *data;
	double priority;
	double retries;
	double remaining;
	double time;
	double expires;
	struct history history;
	uint8_t state; /* enum qless_state */
	uint8_t flags;
	struct skipnode node; /* aux: length of the data */
};

/* A line of the processor's cache. */
#define CACHE_LINE_BYTES 64

/* ---- what jobs hang on ---- */

struct bucket {
	double unit; /* 's', 'm', 'h' or 'd' */
	double value;
	uint64_t count;
};

struct series {
	double count; /* 0: nothing recorded */
	double mean;
	double vk;
	struct bucket *buckets; /* by unit and value */
	uint32_t bucket_count;
	uint32_t bucket_cap;
};

struct stats_day {
	double day; /* when it began */
	struct series wait;
	struct series run;
	int64_t counters[COUNTER_TOTAL];
	bool counted[COUNTER_TOTAL];
};

struct queue {
	struct intern *name;
	union {
		struct skiplist lists[QUEUE_LISTS];
		struct {
#define QUEUE_LIST_FIELD(NAME, field, ...) struct skiplist field;
			QUEUE_LIST_ROWS(QUEUE_LIST_FIELD)
#undef QUEUE_LIST_FIELD
		};
	};
	struct stats_day *days; /* oldest first */
	uint32_t day_count;
	uint32_t day_cap;
	uint64_t job_count; /* jobs that name this queue */
	double heartbeat;   /* its own options; NAN if not set */
	double max_concurrency;
	uint32_t name_len; /* so that a name need not be looked at to be passed on */
	uint32_t index;	   /* in qless.all_queues */
	bool paused;
	bool is_woken;	      /* in the list of woken queues */
	struct heap_node due; /* in qless.due, see due.c */
	struct queue *prev_woken;
	struct queue *next_woken;
	struct meter meter;
	struct skipnode node; /* in qless.queues while known */
};

/* What a worker holds, or once held: after a timeout the entry stays until the worker gives the job
 * back or is forgotten, even if the job is gone by then. */
struct holding {
	struct hash_node hash; /* aux: length of the jid */
	struct skipnode node;  /* score: expiry. The jid follows the levels */
};

enum deed {
	DEED_POPPED,
	DEED_COMPLETED,
	DEED_FAILED,
	DEED_LOST,
	DEED_TOTAL,
};

struct worker_day {
	double day; /* when it began */
	uint64_t deeds[DEED_TOTAL];
};

struct worker {
	struct intern *name;
	struct hash held; /* of holdings, by jid */
	struct skiplist by_expiry;
	struct worker_day *days; /* oldest first; they stay when the worker is forgotten */
	uint32_t day_count;
	uint32_t day_cap;
	struct skipnode node; /* in qless.workers while known; score: last seen */
};

struct group {
	struct intern *name;
	struct skiplist jobs;
};

struct tag {
	struct intern *name;
	struct skiplist jobs; /* of taggings; score: time tagged */
	struct tagging *mine; /* scratch: the tagging of the job being worked on */
	struct skipnode node; /* in qless.tags; score: number of jobs */
};

struct tagging {
	struct tag *tag;
	struct qless_job *job;
	struct skipnode node; /* aux: how often it is in the job's list */
};

struct tracked {
	struct hash_node hash; /* aux: length of the jid */
	struct skipnode node;  /* score: time of tracking. The jid follows the levels */
};

struct qless_recur {
	struct hash_node hash; /* aux: length of the jid */
	struct queue *queue;
	struct intern *klass;
	struct intern **tags; /* in order, names of tags */
	uint32_t tag_count;
	uint32_t data_len;
	char *data;
	double priority;
	double retries;
	double interval;
	double backlog;
	uint64_t count;
	struct skipnode node; /* score: next run. The jid follows the levels */
};

struct option {
	char *name;
	char *value;
	size_t name_len;
	size_t value_len;
};

struct settings {
	struct option *options; /* by name */
	size_t count;
	size_t cap;
	/* What the engine looks at, as numbers. */
	double heartbeat;
	double grace_period;
	double stats_history;
	double histogram_history;
	double jobs_history;
	double jobs_history_count;
	double max_job_history;
	double max_worker_age;
};

struct job_vec {
	struct qless_job **items;
	size_t count;
	size_t cap;
};

struct queue_vec {
	struct queue **items;
	size_t count;
	size_t cap;
};

struct str_vec {
	struct qless_str *items;
	size_t count;
	size_t cap;
};

struct qless {
	struct qless_hooks hooks;
	uint64_t heights; /* the generator of node heights */
	uint64_t changes;
	bool kept_data; /* by the call under way */
	double now;	/* of the call being served */
	double latest;
	double failure_number; /* of the last failure */
	struct qless_limits limits;

	struct hash jobs;
	struct hash recurs;
	struct hash tracked;
	struct intern_table queue_names; /* user: struct queue */
	struct intern_table worker_names;
	struct intern_table group_names;
	struct intern_table tag_names;
	struct intern_table names; /* classes, and jids of recurring jobs in what they made */

	struct queue_vec all_queues; /* also those that are not known; in no order */
	struct heap due;	     /* queues by when something next falls due in them */
	double due_taken;	     /* the latest time of a qless_take_due() */
	struct queue *first_woken;   /* queues nobody has taken since they woke, oldest first */
	struct queue *last_woken;
	struct skiplist queues;
	struct skiplist workers;
	struct skiplist completed;
	struct skiplist tracks;
	struct skiplist tags;
	struct settings settings;

	/* So that nobody needs to walk to know them. */
	uint64_t depending_count; /* jobs that have dependencies */
	uint64_t depended_count;  /* jobs that have dependents */
	uint64_t busy_count;	  /* workers that hold something */
	uint64_t group_count;
	uint64_t paused_count;

	struct engine_error error;
	struct buf event;   /* payload being built */
	struct buf channel; /* its channel */
	/* Results of the last call, and room for the call being served. */
	struct job_vec jobs_out;
	struct job_vec picked;
	struct skiplist_batch batch;
	struct str_vec list;
	struct str_vec list2;
	struct queue_vec queues_out;
	struct qless_queue_counts *queue_counts;
	struct qless_worker_counts *worker_counts;
	uint64_t *group_counts;
	/* Of an engine that is being freed, what has been begun. */
	struct qless_job *going_job;
	struct worker *going_worker;
};

/* ---- engine.c ---- */

/* Begin a call: remember the time. False, with the error recorded, if `now` is not finite. */
bool engine_begin(struct qless *q, double now);
/* Count a change. */
void engine_changed(struct qless *q);

static inline unsigned engine_draw_height(struct qless *q)
{
	return skiplist_draw_height(&q->heights);
}

/* The hash of a jid or name in each of the engine's tables: they share a seed. Calls that look for
 * the same jid in several of them compute it once. */
static inline uint32_t engine_hash(const struct qless *q, struct qless_str name)
{
	return hash_compute(q->hooks.hash_seed, name);
}

static inline void engine_copy(char *to, struct qless_str s)
{
	if (s.len > 0)
		memcpy(to, s.ptr, s.len);
}

/* A copy on the heap. */
char *engine_dup(struct qless_str s);

void job_vec_clear(struct job_vec *v);
void job_vec_push(struct job_vec *v, struct qless_job *job);
void str_vec_clear(struct str_vec *v);
void str_vec_push(struct str_vec *v, struct qless_str s);

/* The nodes with indices from start to stop of a list of `count`, as Redis takes them: negative
 * ones count from the end, what lies outside is cut off. False if nothing is left. */
bool index_range(uint64_t count, int64_t start, int64_t stop, uint64_t *ret_first,
		 uint64_t *ret_count);
/* offset .. offset + count - 1 as such a range, without overflow. */
bool page_range(uint64_t total, int64_t offset, int64_t count, uint64_t *ret_first,
		uint64_t *ret_count);
/* A LIMIT of `offset` and `count`: a negative offset gives nothing, a negative count everything. */
bool limit_range(uint64_t total, int64_t offset, int64_t count, uint64_t *ret_first,
		 uint64_t *ret_count);
/* A finite sum, as large as a double can be where the exact one is larger. */
double finite_add(double a, double b);

/* ---- limit.c ---- */

/* Each returns 0, or QLESS_ELIMIT with an error recorded, whose operation engine_fail_during()
 * adds. The argument of a list is its plural. */
int limit_check_name(struct qless *q, const char *argument, struct qless_str name);
int limit_check_names(struct qless *q, const char *argument, const struct qless_str *names,
		      size_t count);
int limit_check_data(struct qless *q, const char *argument, struct qless_str data);
/* So many of one job. */
int limit_check_tags(struct qless *q, uint64_t count);
int limit_check_dependencies(struct qless *q, uint64_t count);
/* So many in one call. */
int limit_check_jobs(struct qless *q, int64_t count);
/* For names that are not stored but published. */
int limit_check_published(struct qless *q, const char *argument, const struct qless_str *names,
			  size_t count);

/* ---- history.c ---- */

void history_append_put(struct qless *q, struct history *h, double now, struct queue *queue);
void history_append_popped(struct qless *q, struct history *h, double now, struct intern *worker);
void history_append_plain(struct qless *q, struct history *h, double now,
			  enum qless_event_kind kind);
/* `worker` is NULL if the retries were exhausted. */
void history_append_failed(struct qless *q, struct history *h, double now, struct intern *group,
			   struct intern *worker);
void history_append_log(struct qless *q, struct history *h, double now, struct qless_str what,
			const struct qless_str *item);
/* Whether a log entry of that size still fits. */
bool history_has_room(const struct history *h, struct qless_str what, const struct qless_str *item);
/* Each reference to a name that the history holds. */
void history_each_name(const struct history *h, void (*visit)(void *arg, const struct intern *name),
		       void *arg);
/* Step through; `*cursor` starts as 0. */
bool history_next(const struct history *h, size_t *cursor, struct qless_event *ret_event);
void history_done(struct qless *q, struct history *h);
/* The same where the names it refers to go as well. */
void history_discard(struct history *h);

/* ---- job.c ---- */

static inline struct qless_job *job_from_node(const struct skipnode *node)
{
	return container_of((struct skipnode *)(uintptr_t)node, struct qless_job, node);
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
struct qless_str job_key(const struct hash_node *node);

struct qless_job *job_find(const struct qless *q, struct qless_str jid);
struct qless_job *job_find_hashed(const struct qless *q, struct qless_str jid, uint32_t hash);
/* A new job, found by its jid from now on, in no list, without class and queue. */
struct qless_job *job_new(struct qless *q, struct qless_str jid, struct qless_str data);
struct qless_job *job_new_hashed(struct qless *q, struct qless_str jid, uint32_t hash,
				 struct qless_str data);
/* The same, but found only once the caller has put it into qless.jobs. */
struct qless_job *job_make(struct qless *q, struct qless_str jid, struct qless_str data);
/* A call that follows soon is going to read the job of that node, if there is one: have memory get
 * it ready. With a large backlog, to wait for memory is most of what a call takes. */
void job_prefetch(const struct skipnode *node);
/* What is allocated for the job itself and its data, and nothing else. */
void job_free_memory(struct qless_job *job);
/* Free a job that is in no list, with all that hangs on it. */
void job_delete(struct qless *q, struct qless_job *job);
void job_set_data(struct qless *q, struct qless_job *job, struct qless_str data);
void job_set_klass(struct qless *q, struct qless_job *job, struct qless_str klass);
void job_set_worker(struct qless *q, struct qless_job *job, struct intern *worker);
/* The queue must not be let go of by queue_release() while the job changes over. */
void job_set_queue(struct qless *q, struct qless_job *job, struct queue *queue);
void job_set_failure(struct qless *q, struct qless_job *job, struct intern *group,
		     struct qless_str message, double when, struct intern *worker);
void job_clear_failure(struct qless *q, struct qless_job *job);
void job_set_due(struct qless_job *job, double due);
double job_due(const struct qless_job *job);
struct job_extra *job_need_extra(struct qless_job *job);
/* Free the extra part if nothing is in it. */
void job_release_extra(struct qless_job *job);

/* ---- queue.c ---- */

struct queue *queue_find(const struct qless *q, struct qless_str name);
/* The same, quicker for the queue of the last call. */
struct queue *queue_recall(struct qless *q, struct qless_str name);
/* Makes the queue if there is none. */
struct queue *queue_need(struct qless *q, struct qless_str name);
/* Free the queue if nothing is left that would make it visible. */
void queue_release(struct qless *q, struct queue *queue);
void queue_free(struct qless *q, struct queue *queue);
/* Visit all queues; each may go away by that, and no other. */
typedef void queue_visit_fn(struct queue *queue, void *arg);
void queue_each(const struct qless *q, queue_visit_fn *visit, void *arg);
/* Into the list of known queues, unless it is there. */
void queue_know(struct qless *q, struct queue *queue, double now);
/* When a lock taken now expires. */
double queue_lock_expiry(const struct qless *q, const struct queue *queue, double now);
/* The ranks of the scheduled jobs that are due: `*ret_first` up to, but not including,
 * `*ret_end`. */
void queue_due_range(const struct queue *queue, double now, uint32_t *ret_first, uint32_t *ret_end);
struct qless_str queue_name(const struct queue *queue);

/* ---- due.c ---- */

/* The queue goes to the list of those that woke, unless it is there or paused. */
void queue_enter_woken(struct qless *q, struct queue *queue);
void queue_forget_woken(struct qless *q, struct queue *queue);
/* Something falls due in the queue earlier than what did so far. */
void queue_falls_due_earlier(struct qless *q, struct queue *queue, double when);
/* The queue is no longer paused, or has been changed in many places: it wakes, and what falls due
 * in it is looked for. */
void queue_resume(struct qless *q, struct queue *queue);
double queue_next_due(const struct queue *queue);
/* The first time after `time` at which something falls due in the queue. */
double queue_next_due_after(const struct queue *queue, double time);

/* The queue may have something new to hand out. */
static inline void queue_wake(struct qless *q, struct queue *queue)
{
	if (!queue->is_woken)
		queue_enter_woken(q, queue);
}

/* Something in the queue falls due then. */
static inline void queue_falls_due(struct qless *q, struct queue *queue, double when)
{
	if (when < queue->due.key)
		queue_falls_due_earlier(q, queue, when);
}

/* ---- advance.c ---- */

/* Move what has come due in a queue, as a pop of `max` jobs does. */
int64_t advance_for_pop(struct qless *q, struct queue *queue, double now, int64_t max);

/* ---- worker.c ---- */

struct worker *worker_find(const struct qless *q, struct qless_str name);
/* Remember when it was seen. */
void worker_seen(struct qless *q, struct intern *name, double now);
/* It holds the job until then; a new expiry if it did already. */
void worker_hold(struct qless *q, struct intern *name, struct qless_str jid, double expires);
void worker_hold_job(struct qless *q, struct intern *name, const struct qless_job *job,
		     double expires);
/* The same for many jobs. */
void worker_hold_jobs(struct qless *q, struct intern *name, const struct job_vec *jobs,
		      double expires);
/* The job's worker does not hold it any more. */
void worker_drop_job(struct qless *q, const struct qless_job *job);
void worker_free(struct qless *q, struct worker *worker);
/* Count what a worker did, or what became of its lock. */
void worker_count(struct qless *q, struct intern *name, double now, enum deed deed, uint64_t count);
/* Forget up to `max` workers that have not been seen for too long, with what they hold; returns how
 * many. */
int64_t worker_forget_old(struct qless *q, double now, int64_t max);
/* Forget the days before that one. */
void worker_drop_days(struct qless *q, struct worker *worker, double first_day);
struct qless_str holding_jid(const struct holding *holding);
/* Where it is among what the worker holds, or NULL. */
const struct skipnode *worker_find_job(const struct worker *worker, struct qless_str jid);

/* ---- fail.c ---- */

struct group *group_find(const struct qless *q, struct qless_str name);
/* Makes the group if there is none. */
struct group *group_need(struct qless *q, struct intern *name);
static inline struct qless_str failure_message(const struct failure *failure)
{
	return str_make(failure->message, failure->message_len);
}

/* A job whose run has ended used up its retries: it fails in its queue. `group` and `message` may
 * be NULL, for failed-retries-<queue> and what is said of it. */
void job_exhaust(struct qless *q, struct qless_job *job, const struct qless_str *group,
		 const struct qless_str *message);
/* Before a failed job goes elsewhere: one failed job less in the statistics. */
void job_forgive(struct qless *q, struct qless_job *job);
void group_release(struct qless *q, struct group *group);
/* ---- lock.c ---- */

/* Whether that is the lock of a job and has expired. */
bool lock_is_expired(const struct skipnode *node, double now);
/* Fails if a job whose lock is about to be taken away has a fractional number of retries. */
int lock_check_expired(struct qless *q, struct queue *queue, double now, int64_t max);
/* Warn of expired locks and take away those that were warned of before. Jobs to hand out again are
 * appended to `ret_jobs`. */
void lock_expire(struct qless *q, struct queue *queue, double now, int64_t max,
		 struct job_vec *ret_jobs);
/* remaining - 1 if that is an integer. */
bool retries_are_whole(const struct qless_job *job);

/* ---- depends.c ---- */

/* Make `job` depend on those of the jids that are jobs not yet complete. */
void depends_add(struct qless *q, struct qless_job *job, const struct qless_str *jids,
		 size_t count);
bool depends_is_open(const struct qless_job *job);
/* Remove every dependency of `job` that is not in the list. */
void depends_keep_only(struct qless *q, struct qless_job *job, const struct qless_str *jids,
		       size_t count);
void depends_drop_all(struct qless *q, struct qless_job *job);
/* The job is complete or gone: those that waited for nothing else go on. */
void depends_satisfy(struct qless *q, struct qless_job *job, double now);
/* Forget what depends on the job, without letting it go on. */
void depends_forget_dependents(struct qless *q, struct qless_job *job);

/* ---- tag.c ---- */

struct tag *tag_find(const struct qless *q, struct qless_str name);
/* Replace all tags of the job. */
void job_set_tags(struct qless *q, struct qless_job *job, const struct qless_str *tags,
		  size_t count, double now);
void job_refresh_tags(struct qless *q, struct qless_job *job, double now);
void job_drop_tags(struct qless *q, struct qless_job *job);
/* Where the job is among those with the tag, or NULL. */
const struct skipnode *job_find_tag(const struct qless_job *job, const struct tag *tag);
/* For lists of names that do not hang on jobs. */
struct intern *tag_name_get(struct qless *q, struct qless_str name);

/* ---- recur.c ---- */

/* Make the jobs that have come due, up to `max`; returns how many. */
int64_t recur_spawn(struct qless *q, struct queue *queue, double now, int64_t max);
/* When it next makes a job, as of `now`: a backlog may have it pass over runs. */
double recur_next_run(const struct qless_recur *recur, double now);
/* As the reference has it, a run that was due before 1970 never is. */
static inline void recur_falls_due(struct qless *q, const struct qless_recur *recur)
{
	if (recur->node.score >= 0)
		queue_falls_due(q, recur->queue, recur->node.score);
}
struct qless_str recur_jid(const struct qless_recur *recur);
struct qless_recur *recur_from_node(const struct skipnode *node);
void recur_free(struct qless *q, struct qless_recur *recur);
struct qless_str recur_member(const struct skipnode *node);
struct qless_str recur_key(const struct hash_node *node);

/* ---- stats.c ---- */

/* The day `t` lies in: midnight UTC. */
double stats_day_start(double t);
void stats_record_wait(struct qless *q, struct queue *queue, double now, double seconds);
void stats_record_run(struct qless *q, struct queue *queue, double now, double seconds);
void stats_count(struct qless *q, struct queue *queue, double now, enum counter counter);
/* Take one back from the day of `when`, if that is still there. */
void stats_uncount(struct qless *q, struct queue *queue, double when, enum counter counter);
void stats_free_days(struct queue *queue);
const struct stats_day *stats_find(const struct queue *queue, double date);

/* The day `now` lies in, made if need be. */
struct stats_day *stats_need_day(struct queue *queue, double now);
/* Sum of the buckets. */
double stats_sum(const struct series *series);
/* Whether there can be such a bucket, and whether `b` may come right behind `a`. */
bool stats_is_bucket(const struct bucket *b);
bool stats_follows(const struct bucket *b, const struct bucket *a);
/* Behind the others, and not checked. */
void stats_add_bucket(struct series *series, const struct bucket *bucket);
/* The same for all values that have one name. */
double stats_bucket_value(double value);
/* Whether count, mean and squares are what durations can have. Nothing that follows from them is
 * then without a number. */
bool stats_is_series(const struct series *series);

/* ---- meter.c ---- */

void meter_add_duration(struct meter_durations *durations, double seconds);

/* ---- refs.c ---- */

/* All there is that refers to names, queues and taggings, to be compared with what they count
 * themselves. */
struct refs {
	const void **items; /* sorted */
	size_t count;
	size_t cap;
};

void refs_init(struct refs *refs, const struct qless *q);
void refs_done(struct refs *refs);
/* How many there are to a name; how many jobs name a queue; how often a tagging is in its job's
 * list. */
uint64_t refs_count(const struct refs *refs, const void *object);

/* The counters of struct qless that only save walking, walked for. */
struct tallies {
	uint64_t depending;
	uint64_t depended;
	uint64_t busy;
	uint64_t groups;
	uint64_t queues;
	uint64_t paused;
};

void refs_tally(const struct qless *q, struct tallies *ret_tallies);

/* ---- check.c ---- */

/* In order, and each node where the list finds it. */
bool check_is_in(const struct skiplist *list, const struct skipnode *node);
bool check_is_ordered(const struct skiplist *list);

/* ---- repairs, each by the file that knows the thing; they return how many ---- */

size_t depends_resolve(struct qless *q, struct qless_job *job);
/* When that has been done for all jobs: go on with those that wait for nothing. */
size_t depends_settle(struct qless *q, struct qless_job *job);
size_t tags_resolve(struct qless *q);
size_t worker_resolve(struct qless *q, struct worker *worker);
/* Free the worker if nothing is left that would make it visible. */
void worker_release(struct qless *q, struct worker *worker);

/* ---- settings.c ---- */

void settings_init(struct settings *s);
void settings_done(struct settings *s);
/* The value set for a name, or NULL. */
const struct option *settings_find(const struct settings *s, struct qless_str name);
/* The number of an option `<prefix><suffix>`, NAN if it is not set. */
double settings_queue_number(const struct qless *q, struct qless_str queue,
			     struct qless_str suffix);
/* Whether two such numbers are the same: NAN is, to itself. */
static inline bool same_option(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* ---- track.c ---- */

struct tracked *tracked_find(const struct qless *q, struct qless_str jid);
/* One that is not tracked yet. Its job, if there is one, is the caller's to mark. */
void tracked_add(struct qless *q, struct qless_str jid, double now);
struct qless_str tracked_jid(const struct tracked *tracked);
struct qless_str tracked_member(const struct skipnode *node);
struct qless_str tracked_key(const struct hash_node *node);
void tracked_free(struct tracked *tracked);

/* ---- event.c ---- */

void event_put(struct qless *q, struct qless_str jid, struct qless_str queue);
void event_lock_lost(struct qless *q, struct qless_str jid, struct qless_str worker);
void event_completed(struct qless *q, struct qless_str jid, struct qless_str queue);
void event_advanced(struct qless *q, struct qless_str jid, struct qless_str from,
		    struct qless_str to);
void event_failed(struct qless *q, struct qless_str jid, struct qless_str group,
		  struct qless_str message, struct qless_str worker);
/* `queue` and `worker` are NULL if there is no such job. */
void event_canceled(struct qless *q, struct qless_str jid, const struct qless_str *queue,
		    const struct qless_str *worker);
void event_config_set(struct qless *q, struct qless_str option, struct qless_str value);
void event_config_unset(struct qless *q, struct qless_str option);
/* A jid on a channel of its own: "ql:track", or for tracked jobs "ql:popped" and so on. */
void event_jid(struct qless *q, const char *channel, struct qless_str jid);
void event_tracked(struct qless *q, const struct qless_job *job, const char *channel);

#endif
