#include "limits_model.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"

/* Seconds that weigh as much as one unit of priority. */
#define TIME_PER_PRIORITY 10000000000.0

#define DEFAULT_RETRIES 5

/* ---- names ---- */

static const struct qless_str rule_names[MODEL_RULES] = {
	STR_INIT("a:1"),      STR_INIT("a:2"),	    STR_INIT("a:3"), STR_INIT("ab"),
	STR_INIT("b:1"),      STR_INIT("b:2"),	    STR_INIT("c"),   STR_INIT("queue:q0"),
	STR_INIT("queue:q1"), STR_INIT("queue:q2"), STR_INIT("a:*"), STR_INIT("a*"),
	STR_INIT("b:*"),      STR_INIT("*"),
};

struct qless_str model_rule_name(int rule)
{
	return rule_names[rule];
}

/* Each kind of name has its own memory, because several are used together. */
struct qless_str model_jid(int job)
{
	static char texts[MODEL_JOBS][8];

	return str_make(texts[job], (size_t)snprintf(texts[job], sizeof texts[job], "j%02d", job));
}

struct qless_str model_queue_name(int queue)
{
	static char texts[MODEL_QUEUES][8];

	return str_make(texts[queue],
			(size_t)snprintf(texts[queue], sizeof texts[queue], "q%d", queue));
}

struct qless_str model_worker_name(int worker)
{
	static char texts[MODEL_WORKERS][8];

	return str_make(texts[worker],
			(size_t)snprintf(texts[worker], sizeof texts[worker], "w%d", worker));
}

struct qless_str model_klass_name(int klass)
{
	static const struct qless_str names[MODEL_KLASSES] = { STR_INIT("Klass"), STR_INIT("Class"),
							       STR_INIT("K") };

	return names[klass];
}

struct qless_str model_group_name(int group)
{
	static const struct qless_str names[MODEL_GROUPS] = {
		STR_INIT("broken"),
		STR_INIT("failed-retries-q0"),
		STR_INIT("failed-retries-q1"),
		STR_INIT("failed-retries-q2"),
	};

	return names[group];
}

int model_job_number(struct qless_str jid)
{
	return jid.len == 3 ? (jid.ptr[1] - '0') * 10 + jid.ptr[2] - '0' : MODEL_NONE;
}

void model_init(struct model *m)
{
	*m = (struct model){ .heartbeat = 60, .grace = 10 };
	for (int i = 0; i < MODEL_LIMITS; i++)
		m->limits[i].tat = -INFINITY;
	for (int i = 0; i < MODEL_QUEUES; i++)
		m->queues[i].max_concurrency = m->queues[i].heartbeat = NAN;
}

/* ---- lists: all jobs of a queue and state, in order ---- */

static const struct model *sort_model;

static int compare_places(const void *a, const void *b)
{
	int i = *(const int *)a, j = *(const int *)b;
	double left = sort_model->jobs[i].score, right = sort_model->jobs[j].score;

	return left != right ? (left < right ? -1 : 1) : i - j;
}

static bool waits(const struct model_job *job)
{
	return job->exists && (job->state == QLESS_WAITING || job->state == QLESS_STALLED);
}

static bool is_running_in(const struct model_job *job, int queue)
{
	return job->exists && job->state == QLESS_RUNNING && job->queue == queue;
}

static void sort_jobs(const struct model *m, int *jobs, int count)
{
	sort_model = m;
	qsort(jobs, (size_t)count, sizeof *jobs, compare_places);
}

int model_waiting(const struct model *m, int queue, int ret_jobs[MODEL_JOBS])
{
	int count = 0;

	for (int i = 0; i < MODEL_JOBS; i++) {
		if (waits(&m->jobs[i]) && m->jobs[i].queue == queue)
			ret_jobs[count++] = i;
	}
	sort_jobs(m, ret_jobs, count);
	for (int i = 0; i < count / 2; i++) {
		int other = ret_jobs[count - 1 - i];

		ret_jobs[count - 1 - i] = ret_jobs[i];
		ret_jobs[i] = other;
	}
	return count;
}

int model_place(const struct model *m, int job)
{
	int jobs[MODEL_JOBS];
	int count = model_waiting(m, m->jobs[job].queue, jobs);

	for (int i = 0; i < count; i++) {
		if (jobs[i] == job)
			return i;
	}
	return MODEL_NONE;
}

int model_expired(const struct model *m, int queue, double now, int ret_jobs[MODEL_JOBS])
{
	int count = 0;

	for (int i = 0; i < MODEL_JOBS; i++) {
		if (is_running_in(&m->jobs[i], queue) && m->jobs[i].score <= now)
			ret_jobs[count++] = i;
	}
	sort_jobs(m, ret_jobs, count);
	return count;
}

/* ---- limits ---- */

bool model_names_limit(const struct model_job *job, int limit)
{
	for (int i = 0; i < job->limit_count; i++) {
		if (job->limits[i] == limit)
			return true;
	}
	return false;
}

static bool is_queue_limit(int limit)
{
	return limit >= MODEL_NAMES && limit < MODEL_LIMITS;
}

static int limit_of_queue(int queue)
{
	return MODEL_NAMES + queue;
}

/* Whether a rule of that name may be for the limit. */
static bool matches(int rule, int limit)
{
	struct qless_str pattern = rule_names[rule];

	return rule == limit || (rule >= MODEL_LIMITS && !is_queue_limit(limit) &&
				 rule_names[limit].len >= pattern.len - 1 &&
				 memcmp(rule_names[limit].ptr, pattern.ptr, pattern.len - 1) == 0);
}

/* The exact rule, or the pattern with the longest prefix. */
const struct model_rule *model_rule_of(const struct model *m, int limit)
{
	const struct model_rule *best = NULL;
	size_t longest = 0;

	if (m->rules[limit].exists)
		return &m->rules[limit];
	for (int i = MODEL_LIMITS; i < MODEL_RULES; i++) {
		if (m->rules[i].exists && matches(i, limit) && rule_names[i].len > longest) {
			best = &m->rules[i];
			longest = rule_names[i].len;
		}
	}
	return best;
}

double model_interval(const struct model_rule *rule)
{
	return rule != NULL && rule->rate > 0 ? rule->per / rule->rate : 0;
}

int model_running(const struct model *m, int limit)
{
	int running = 0;

	for (int i = 0; i < MODEL_JOBS; i++) {
		const struct model_job *job = &m->jobs[i];

		running +=
			job->exists && job->state == QLESS_RUNNING && model_names_limit(job, limit);
	}
	return running;
}

/* The running job under a limit whose lock expires first. */
static int first_holder(const struct model *m, int limit)
{
	int first = MODEL_NONE;

	for (int i = 0; i < MODEL_JOBS; i++) {
		const struct model_job *job = &m->jobs[i];

		if (job->exists && job->state == QLESS_RUNNING && model_names_limit(job, limit) &&
		    (first == MODEL_NONE || job->score < m->jobs[first].score))
			first = i;
	}
	return first;
}

static bool is_full(const struct model *m, int limit)
{
	const struct model_rule *rule = model_rule_of(m, limit);

	return rule != NULL && rule->concurrency > 0 &&
	       model_running(m, limit) >= rule->concurrency;
}

/* When rate and hold let the next job through; INFINITY if the limit is closed. */
static double opens_but_for_slots(const struct model *m, int limit)
{
	const struct model_rule *rule = model_rule_of(m, limit);
	double interval = model_interval(rule);
	double opens = m->limits[limit].held_until;

	if (rule != NULL && rule->concurrency < 0)
		return INFINITY;
	if (interval > 0)
		opens = fmax(opens, m->limits[limit].tat - (rule->burst - 1) * interval);
	return opens;
}

double model_opens(const struct model *m, int limit)
{
	double opens = opens_but_for_slots(m, limit);

	if (is_full(m, limit))
		opens = fmax(opens, m->jobs[first_holder(m, limit)].score);
	return opens;
}

bool model_is_idle(const struct model *m, int limit, double now)
{
	for (int i = 0; i < MODEL_JOBS; i++) {
		if (m->jobs[i].exists && model_names_limit(&m->jobs[i], limit))
			return false;
	}
	return m->limits[limit].tat <= now && m->limits[limit].held_until <= now;
}

static void charge(struct model *m, int limit, double now)
{
	const struct model_rule *rule = model_rule_of(m, limit);

	if (model_interval(rule) > 0)
		m->limits[limit].tat = fmax(m->limits[limit].tat, now) + model_interval(rule);
}

/* How many of `count` jobs the limit of a queue lets through at once. */
static int limit_count_of_queue(const struct model *m, int queue, double now, int count)
{
	struct model copy = *m;
	int limit = limit_of_queue(queue);
	int n = 0;

	while (n < count && opens_but_for_slots(&copy, limit) <= now) {
		charge(&copy, limit, now);
		n++;
	}
	return n;
}

/* ---- the life of a job ---- */

static double work_score(const struct model_job *job, double time)
{
	return job->priority - time / TIME_PER_PRIORITY;
}

/* The number of the name by which a job takes its turn. */
static int turn_of(const struct model_job *job)
{
	return job->limit_count > 0 ? 1 + job->limits[0] : 0;
}

static double pass_of(const struct model *m, const struct model_job *job)
{
	return m->queues[job->queue].passes[turn_of(job)];
}

/* To be called after each change of what waits: a name that has jobs again begins at the pass of
 * its queue, unless its own is higher. */
static void notice_names(struct model *m)
{
	for (int i = 0; i < MODEL_QUEUES; i++) {
		struct model_queue *queue = &m->queues[i];

		for (int turn = 0; turn <= MODEL_NAMES; turn++) {
			bool was_waiting = queue->is_waiting[turn];

			queue->is_waiting[turn] = false;
			for (int j = 0; j < MODEL_JOBS; j++) {
				const struct model_job *job = &m->jobs[j];

				if (waits(job) && job->queue == i && turn_of(job) == turn)
					queue->is_waiting[turn] = true;
			}
			if (queue->is_waiting[turn] && !was_waiting)
				queue->passes[turn] = fmax(queue->passes[turn], queue->pass);
		}
	}
}

/* Count the turn of a job that waits and is handed out. */
static void count_turn(struct model *m, const struct model_job *job)
{
	struct model_queue *queue = &m->queues[job->queue];
	const struct model_rule *rule =
		job->limit_count > 0 ? model_rule_of(m, job->limits[0]) : NULL;

	if (!queue->is_fair)
		return;
	queue->pass = fmax(queue->pass, pass_of(m, job));
	queue->passes[turn_of(job)] += 1 / (rule != NULL ? rule->weight : 1);
}

static void place(struct model_job *job, double now, double delay)
{
	if (job->depends != MODEL_NONE) {
		job->state = QLESS_DEPENDS;
		job->score = now;
		job->due = delay > 0 ? now + delay : NAN;
	} else if (delay > 0) {
		job->state = QLESS_SCHEDULED;
		job->score = now + delay;
	} else {
		job->state = QLESS_WAITING;
		job->score = work_score(job, now);
	}
}

static void fail_job(struct model *m, struct model_job *job, int group)
{
	job->state = QLESS_FAILED;
	job->worker = MODEL_NONE;
	job->is_held = job->in_grace = false;
	job->expires = 0;
	job->failure = ++m->failures;
	job->group = group;
}

static void set_limits(struct model_job *job, const struct model_put *put)
{
	if (!put->has_limits)
		return;
	job->limit_count = 0;
	for (int i = 0; i < put->limit_count; i++) {
		if (!model_names_limit(job, put->limits[i]))
			job->limits[job->limit_count++] = put->limits[i];
	}
}

static void depend(struct model *m, struct model_job *job, int on)
{
	if (on != MODEL_NONE && m->jobs[on].exists && m->jobs[on].state != QLESS_COMPLETE)
		job->depends = on;
}

int model_put_job(struct model *m, double now, const struct model_put *put)
{
	struct model_job *job = &m->jobs[put->job];

	if (!job->exists)
		*job = (struct model_job){
			.exists = true,
			.retries = DEFAULT_RETRIES,
			.depends = MODEL_NONE,
		};
	/* On its way, the job does not wait anywhere. */
	job->state = QLESS_DEPENDS;
	notice_names(m);
	/* A new dependency replaces the old one. */
	if (put->depends != MODEL_NONE)
		job->depends = MODEL_NONE;
	job->klass = put->klass;
	job->queue = put->queue;
	job->worker = MODEL_NONE;
	job->is_held = job->in_grace = false;
	if (put->has_priority)
		job->priority = put->priority;
	if (put->has_retries)
		job->retries = put->retries;
	job->remaining = job->retries;
	job->expires = 0;
	job->time = now;
	job->due = NAN;
	set_limits(job, put);
	depend(m, job, put->depends);
	place(job, now, put->delay);
	notice_names(m);
	return 0;
}

/* The lock of a job expired: its worker is warned, or loses the job. Returns whether the job is to
 * be handed out again; then it still counts as running. */
static bool expire_lock(struct model *m, double now, struct model_job *job)
{
	bool is_taken = job->in_grace || m->grace <= 0;

	job->is_held = false;
	job->in_grace = true;
	if (!is_taken) {
		job->score = now + m->grace;
		return false;
	}
	job->in_grace = false;
	job->remaining -= 1;
	if (job->remaining >= 0)
		return true;
	fail_job(m, job, 1 + job->queue);
	return false;
}

/* The job waits again, as old as its hand-out. */
static void give_back(struct model_job *job)
{
	job->state = QLESS_WAITING;
	job->score = work_score(job, job->time);
	job->worker = MODEL_NONE;
	job->expires = 0;
	job->is_held = job->in_grace = false;
}

static void hand_out(struct model *m, double now, int queue, int worker, int number)
{
	struct model_job *job = &m->jobs[number];
	double own = m->queues[queue].heartbeat;

	job->state = QLESS_RUNNING;
	job->worker = worker;
	job->time = now;
	job->expires = job->score = now + (isnan(own) ? m->heartbeat : own);
	job->in_grace = false;
	job->is_held = true;
	charge(m, limit_of_queue(queue), now);
	for (int i = 0; i < job->limit_count; i++)
		charge(m, job->limits[i], now);
}

static int promote(struct model *m, double now, int queue, int max)
{
	int due[MODEL_JOBS];
	int count = 0;

	for (int i = 0; i < MODEL_JOBS; i++) {
		const struct model_job *job = &m->jobs[i];

		if (job->exists && job->state == QLESS_SCHEDULED && job->queue == queue &&
		    job->score <= now)
			due[count++] = i;
	}
	sort_jobs(m, due, count);
	for (int i = 0; i < count && i < max; i++) {
		m->jobs[due[i]].state = QLESS_WAITING;
		m->jobs[due[i]].score = work_score(&m->jobs[due[i]], now);
	}
	return count < max ? count : max;
}

/* Whether all limits of a job let it through, apart from slots of holders whose lock expired. */
static bool may_run(const struct model *m, double now, const struct model_job *job)
{
	for (int i = 0; i < job->limit_count; i++) {
		if (model_opens(m, job->limits[i]) > now)
			return false;
	}
	return true;
}

/* Jobs that were timed out by a call come before any priority, until they are given another. */
static double priority_of(const struct model_job *job)
{
	return job->score == INFINITY ? INFINITY : job->priority;
}

static bool comes_before(const struct model *m, const struct model_job *a,
			 const struct model_job *b)
{
	if (m->queues[a->queue].is_fair) {
		if (priority_of(a) != priority_of(b))
			return priority_of(a) > priority_of(b);
		if (pass_of(m, a) != pass_of(m, b))
			return pass_of(m, a) < pass_of(m, b);
	}
	return a->score > b->score || (a->score == b->score && a > b);
}

/* The best of all jobs of a queue that may run, and have the class unless that is MODEL_NONE;
 * MODEL_NONE if there is none. */
static int best_candidate(const struct model *m, double now, int queue, int klass)
{
	int best = MODEL_NONE;

	for (int i = 0; i < MODEL_JOBS; i++) {
		if (waits(&m->jobs[i]) && m->jobs[i].queue == queue &&
		    (klass == MODEL_NONE || m->jobs[i].klass == klass) &&
		    may_run(m, now, &m->jobs[i]) &&
		    (best == MODEL_NONE || comes_before(m, &m->jobs[i], &m->jobs[best])))
			best = i;
	}
	return best;
}

/* The first full limit of a job; MODEL_NONE if all have a free slot. */
static int full_limit(const struct model *m, const struct model_job *job)
{
	for (int i = 0; i < job->limit_count; i++) {
		if (is_full(m, job->limits[i]))
			return job->limits[i];
	}
	return MODEL_NONE;
}

/* The next job to hand out. If a slot that it needs belongs to a worker whose lock expired, that
 * lock is treated as in a pop from its queue, which is a step, and the choice begins anew. Returns
 * MODEL_NONE if no step is left. */
static int choose(struct model *m, double now, int queue, int klass, int *steps)
{
	while (*steps > 0) {
		int best = best_candidate(m, now, queue, klass);
		int full = best != MODEL_NONE ? full_limit(m, &m->jobs[best]) : MODEL_NONE;
		struct model_job *holder;

		if (full == MODEL_NONE)
			return best;
		holder = &m->jobs[first_holder(m, full)];
		if (expire_lock(m, now, holder))
			give_back(holder);
		notice_names(m);
		--*steps;
	}
	return MODEL_NONE;
}

static int room_of_queue(const struct model *m, double now, int queue, int count)
{
	double max = m->queues[queue].max_concurrency;
	int running = 0;

	if (isnan(max) || max <= 0)
		return count;
	for (int i = 0; i < MODEL_JOBS; i++)
		running += is_running_in(&m->jobs[i], queue) && m->jobs[i].score >= now;
	return running >= max ? 0 : count < max - running ? count : (int)(max - running);
}

int model_pop(struct model *m, double now, int queue, int worker, int count, int steps,
	      int ret_jobs[MODEL_JOBS])
{
	int expired[MODEL_JOBS];
	int given = 0;
	int expired_count, promoted;

	if (m->queues[queue].is_paused)
		return 0;
	count = room_of_queue(m, now, queue, count);
	count = limit_count_of_queue(m, queue, now, count);
	if (count == 0)
		return 0;
	expired_count = model_expired(m, queue, now, expired);
	for (int i = 0; i < expired_count && i < count; i++) {
		struct model_job *job = &m->jobs[expired[i]];

		if (!expire_lock(m, now, job))
			continue;
		if (job->limit_count > 0)
			give_back(job);
		else
			ret_jobs[given++] = expired[i];
		notice_names(m);
	}
	for (int i = 0; i < given; i++)
		hand_out(m, now, queue, worker, ret_jobs[i]);
	do {
		promoted = promote(m, now, queue, count - given);
		notice_names(m);
		while (given < count) {
			int job = choose(m, now, queue, MODEL_NONE, &steps);

			if (job == MODEL_NONE)
				break;
			count_turn(m, &m->jobs[job]);
			hand_out(m, now, queue, worker, job);
			notice_names(m);
			ret_jobs[given++] = job;
			steps--;
		}
		/* Promoting others is a step. */
	} while (given < count && promoted > 0 && steps-- > 0);
	return given;
}

int model_pop_class(struct model *m, double now, int queue, int worker, int klass, int count,
		    int steps, int ret_jobs[MODEL_JOBS])
{
	int expired[MODEL_JOBS];
	int given = 0;
	int expired_count;

	if (m->queues[queue].is_paused)
		return 0;
	count = room_of_queue(m, now, queue, count);
	count = limit_count_of_queue(m, queue, now, count);
	if (count == 0)
		return 0;
	/* A job that its worker loses waits for its turn. */
	expired_count = model_expired(m, queue, now, expired);
	for (int i = 0; i < expired_count; i++) {
		if (expire_lock(m, now, &m->jobs[expired[i]]))
			give_back(&m->jobs[expired[i]]);
		notice_names(m);
	}
	promote(m, now, queue, count);
	notice_names(m);
	while (given < count && steps > 0) {
		int job = choose(m, now, queue, klass, &steps);

		if (job != MODEL_NONE) {
			count_turn(m, &m->jobs[job]);
			hand_out(m, now, queue, worker, job);
			ret_jobs[given++] = job;
		} else if (steps == 0 || promote(m, now, queue, MODEL_JOBS) == 0) {
			break;
		}
		notice_names(m);
		steps--;
	}
	return given;
}

static int check_running(const struct model_job *job)
{
	return !job->exists ? QLESS_ENOJOB : job->state != QLESS_RUNNING ? QLESS_ENOTRUNNING : 0;
}

static int check_owner(const struct model_job *job, int worker)
{
	int rc = check_running(job);

	return rc == 0 && job->worker != worker ? QLESS_ENOTOWNER : rc;
}

int model_heartbeat(struct model *m, double now, int number, int worker)
{
	struct model_job *job = &m->jobs[number];
	int rc = check_owner(job, worker);

	if (rc == 0) {
		double own = m->queues[job->queue].heartbeat;

		job->expires = job->score = now + (isnan(own) ? m->heartbeat : own);
		job->in_grace = false;
		job->is_held = true;
	}
	return rc;
}

/* Jobs that depended on this one wait for it no longer. */
static void satisfy(struct model *m, double now, int on)
{
	for (int i = 0; i < MODEL_JOBS; i++) {
		struct model_job *job = &m->jobs[i];

		if (!job->exists || job->depends != on)
			continue;
		job->depends = MODEL_NONE;
		if (job->state != QLESS_DEPENDS)
			continue;
		if (isnan(job->due)) {
			job->state = QLESS_WAITING;
			job->score = work_score(job, now);
		} else {
			job->state = QLESS_SCHEDULED;
			job->score = job->due;
			job->due = NAN;
		}
	}
}

int model_complete(struct model *m, double now, int number, int worker, int queue,
		   const struct model_put *next)
{
	struct model_job *job = &m->jobs[number];
	int rc = check_owner(job, worker);

	if (rc < 0)
		return rc;
	if (job->queue != queue)
		return QLESS_EWRONGQUEUE;
	job->time = now;
	job->worker = MODEL_NONE;
	job->is_held = job->in_grace = false;
	job->expires = 0;
	job->due = NAN;
	job->remaining = job->retries;
	if (next == NULL) {
		job->state = QLESS_COMPLETE;
		job->queue = MODEL_NONE;
		job->score = now;
		satisfy(m, now, number);
		notice_names(m);
		return 0;
	}
	job->queue = next->queue;
	set_limits(job, next);
	depend(m, job, next->depends);
	place(job, now, next->delay);
	notice_names(m);
	return 0;
}

int model_fail(struct model *m, double now, int number, int worker)
{
	int rc = check_owner(&m->jobs[number], worker);

	(void)now;
	if (rc == 0)
		fail_job(m, &m->jobs[number], 0);
	return rc;
}

int model_retry(struct model *m, double now, int number, int worker, int queue, double delay)
{
	struct model_job *job = &m->jobs[number];
	int rc = check_owner(job, worker);

	if (rc < 0)
		return rc;
	job->remaining -= 1;
	if (job->remaining < 0) {
		fail_job(m, job, 1 + job->queue);
		return 0;
	}
	job->is_held = job->in_grace = false;
	job->queue = queue;
	place(job, now, delay);
	notice_names(m);
	return 0;
}

int model_timeout(struct model *m, double now, int number)
{
	struct model_job *job = &m->jobs[number];
	int rc = check_running(job);

	(void)now;
	if (rc < 0)
		return rc;
	job->state = QLESS_STALLED;
	job->score = INFINITY;
	job->expires = 0;
	job->is_held = job->in_grace = false;
	notice_names(m);
	return 0;
}

int model_cancel(struct model *m, int number)
{
	struct model_job *job = &m->jobs[number];

	if (!job->exists)
		return 0;
	for (int i = 0; i < MODEL_JOBS; i++) {
		if (m->jobs[i].exists && m->jobs[i].depends == number)
			return QLESS_EDEPENDENTS;
	}
	if (job->state != QLESS_COMPLETE)
		job->exists = false;
	notice_names(m);
	return 0;
}

int model_unfail(struct model *m, double now, int queue, int group, int count)
{
	int moved = 0;

	while (moved < count) {
		struct model_job *oldest = NULL;

		for (int i = 0; i < MODEL_JOBS; i++) {
			struct model_job *job = &m->jobs[i];

			if (job->exists && job->state == QLESS_FAILED && job->group == group &&
			    (oldest == NULL || job->failure < oldest->failure))
				oldest = job;
		}
		if (oldest == NULL)
			break;
		oldest->queue = queue;
		oldest->remaining = oldest->retries;
		oldest->state = QLESS_WAITING;
		oldest->score = work_score(oldest, now);
		moved++;
	}
	notice_names(m);
	return moved;
}

int model_priority(struct model *m, int number, double priority)
{
	struct model_job *job = &m->jobs[number];
	enum qless_state state = job->state;

	if (!job->exists)
		return QLESS_ENOJOB;
	job->priority = priority;
	if (!waits(job))
		return 0;
	job->score = priority;
	/* A job with limits is filed again, so for an instant it does not wait. */
	if (job->limit_count > 0) {
		job->state = QLESS_DEPENDS;
		notice_names(m);
		job->state = state;
		notice_names(m);
	}
	return 0;
}

void model_release(struct model *m, int worker, bool counts)
{
	int held[MODEL_JOBS];
	int count = 0;

	for (int i = 0; i < MODEL_JOBS; i++) {
		const struct model_job *job = &m->jobs[i];

		if (job->exists && job->state == QLESS_RUNNING && job->worker == worker &&
		    job->is_held)
			held[count++] = i;
	}
	sort_jobs(m, held, count);
	for (int i = 0; i < count; i++) {
		struct model_job *job = &m->jobs[held[i]];

		job->remaining -= counts;
		if (counts && job->remaining < 0)
			fail_job(m, job, 1 + job->queue);
		else
			give_back(job);
		notice_names(m);
	}
}

void model_set_fair(struct model *m, int number, bool is_fair)
{
	struct model_queue *queue = &m->queues[number];

	if (queue->is_fair == is_fair)
		return;
	queue->is_fair = is_fair;
	queue->pass = 0;
	memset(queue->passes, 0, sizeof queue->passes);
}

void model_renew(struct model *m, double now, int worker)
{
	for (int i = 0; i < MODEL_JOBS; i++) {
		const struct model_job *job = &m->jobs[i];

		if (job->exists && job->state == QLESS_RUNNING && job->worker == worker &&
		    job->is_held)
			model_heartbeat(m, now, i, worker);
	}
}

void model_advance(struct model *m, double now, int queue, int max)
{
	promote(m, now, queue, max);
	notice_names(m);
}

void model_step_clock(struct model *m, double now, double from)
{
	double by = now - from;

	for (int i = 0; i < MODEL_JOBS; i++) {
		struct model_job *job = &m->jobs[i];
		double own, longest;

		if (!job->exists || job->state != QLESS_RUNNING)
			continue;
		own = m->queues[job->queue].heartbeat;
		longest = fmax(isnan(own) ? m->heartbeat : own, m->grace);
		if (job->score > (by > 0 ? from : now + longest) && job->score <= from + longest) {
			job->score += by;
			job->expires += by;
		}
	}
	for (int i = 0; i < MODEL_LIMITS; i++) {
		struct model_limit *limit = &m->limits[i];

		if (limit->tat > from)
			limit->tat += by;
		if (limit->held_until > from)
			limit->held_until += by;
	}
}

/* ---- rules ---- */

static const struct model_rule no_rule = { .per = 1, .burst = 1, .weight = 1, .expires = INFINITY };

/* Replace a rule, or delete it if `rule` does not exist. What was charged under a slower rule
 * counts for at most a burst of the one that applies now. */
static void replace_rule(struct model *m, double now, int number, const struct model_rule *rule)
{
	struct model before = *m;

	m->rules[number] = *rule;
	for (int i = 0; i < MODEL_LIMITS; i++) {
		const struct model_rule *old = model_rule_of(&before, i);
		const struct model_rule *new = model_rule_of(m, i);

		if (old != &before.rules[number] && new != &m->rules[number])
			continue;
		m->limits[i].rule_changes++;
		if (model_interval(new) > 0)
			m->limits[i].tat =
				fmin(m->limits[i].tat, now + new->burst *model_interval(new));
	}
}

static bool is_same_rule(const struct model_rule *a, const struct model_rule *b)
{
	return a->exists == b->exists && a->concurrency == b->concurrency && a->rate == b->rate &&
	       a->per == b->per && a->burst == b->burst && a->weight == b->weight &&
	       a->expires == b->expires;
}

/* The concurrency of a queue is one of its options. */
static void set_queue_concurrency(struct model *m, int limit, int64_t concurrency)
{
	m->queues[limit - MODEL_NAMES].max_concurrency =
		concurrency > 0 ? (double)concurrency : NAN;
}

void model_limit_set(struct model *m, double now, int number,
		     const struct qless_limit_change *change)
{
	struct model_rule rule = m->rules[number].exists ? m->rules[number] : no_rule;
	bool has_rule =
		change->has_rate || change->has_burst || change->has_weight || change->has_ttl;

	if (change->has_concurrency && is_queue_limit(number))
		set_queue_concurrency(m, number, change->concurrency);
	else if (change->has_concurrency)
		rule.concurrency = change->concurrency;
	if (is_queue_limit(number) && !has_rule)
		return;
	rule.exists = true;
	if (change->has_rate) {
		rule.rate = change->rate;
		rule.per = change->rate > 0 ? change->per : 1;
	}
	if (change->has_burst)
		rule.burst = change->burst;
	if (change->has_weight)
		rule.weight = change->weight;
	if (change->has_ttl)
		rule.expires = change->ttl > 0 ? now + change->ttl : INFINITY;
	if (is_same_rule(&m->rules[number], &rule))
		return;
	replace_rule(m, now, number, &rule);
}

/* Forget a limit of which nothing is left. If the clock steps back later, its hold has ended. */
static void forget_idle(struct model *m, int limit, double now)
{
	if (m->rules[limit].exists || !model_is_idle(m, limit, now))
		return;
	m->limits[limit] = (struct model_limit){
		.tat = -INFINITY,
		.rule_changes = m->limits[limit].rule_changes,
	};
}

void model_limit_delete(struct model *m, double now, int number)
{
	if (is_queue_limit(number))
		set_queue_concurrency(m, number, 0);
	if (!m->rules[number].exists)
		return;
	replace_rule(m, now, number, &(struct model_rule){ .exists = false });
	if (number < MODEL_LIMITS)
		forget_idle(m, number, now);
}

void model_limit_hold(struct model *m, double now, int limit, double seconds)
{
	m->limits[limit].held_until = seconds > 0 ? now + seconds : 0;
}

void model_limit_sweep(struct model *m, double now)
{
	for (int i = 0; i < MODEL_RULES; i++) {
		if (m->rules[i].exists && m->rules[i].expires <= now)
			model_limit_delete(m, now, i);
	}
	for (int i = 0; i < MODEL_LIMITS; i++)
		forget_idle(m, i, now);
}

/* ---- the future ---- */

static bool has_changed(const struct model_job *a, const struct model_job *b)
{
	return a->state != b->state || a->score != b->score || a->worker != b->worker ||
	       a->in_grace != b->in_grace || a->remaining != b->remaining;
}

static bool have_jobs_changed(const struct model *a, const struct model *b)
{
	for (int i = 0; i < MODEL_JOBS; i++) {
		if (a->jobs[i].exists && has_changed(&a->jobs[i], &b->jobs[i]))
			return true;
	}
	return false;
}

bool model_pop_changes(const struct model *m, double now, int queue)
{
	struct model copy = *m;
	int jobs[MODEL_JOBS];

	return model_pop(&copy, now, queue, 0, 1, INT_MAX, jobs) > 0 || have_jobs_changed(m, &copy);
}

bool model_class_pop_changes(const struct model *m, double now, int queue, int klass)
{
	struct model copy = *m;
	int jobs[MODEL_JOBS];

	return model_pop_class(&copy, now, queue, 0, klass, 1, INT_MAX, jobs) > 0 ||
	       have_jobs_changed(m, &copy);
}

/* Consider another time at which something may change. */
static void consider(const struct model *m, double now, int queue, double time, double *next)
{
	if (time > now && time < *next && model_pop_changes(m, time, queue))
		*next = time;
}

double model_next_change(const struct model *m, double now, int queue)
{
	double next = INFINITY;

	for (int i = 0; i < MODEL_JOBS; i++) {
		const struct model_job *job = &m->jobs[i];

		/* A lock that expires at an instant still takes up room in its queue. */
		consider(m, now, queue, job->score, &next);
		consider(m, now, queue, nextafter(job->score, INFINITY), &next);
	}
	for (int i = 0; i < MODEL_LIMITS; i++)
		consider(m, now, queue, opens_but_for_slots(m, i), &next);
	return next;
}
