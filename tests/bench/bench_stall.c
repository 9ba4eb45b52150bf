/*
 * The longest time of a single call, in-process. For each kind of call that does many things at
 * once it prints the slowest call in milliseconds, with as many things as a large installation may
 * have. Only the processor time of this process counts.
 *
 *	bench_stall [jobs [part of a name]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build_config.h"
#include "qless.h"

#ifdef HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

#define DEFAULT_JOBS 1000000
#define MANY	     10000 /* jobs in a call, queues, workers, groups */
#define DAYS	     40
#define JID_MAX	     33
#define START	     1700000000.0
#define DAY	     86400.0
#define HUGE_COUNT   1000000000

static struct qless *q;
static double now;
static double worst;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Run a statement, and store its time if it is the longest so far. */
#define TIMED(statement)                                 \
	do {                                             \
		double since_ = seconds();               \
                                                         \
		statement;                               \
		since_ = seconds() - since_;             \
		worst = since_ > worst ? since_ : worst; \
	} while (0)

static void check(int rc)
{
	struct qless_str error = qless_error_text(q);

	if (rc == 0)
		return;
	fprintf(stderr, "%.*s\n", (int)error.len, error.ptr);
	exit(1);
}

static struct qless_str text(char to[JID_MAX], const char *prefix, unsigned long i)
{
	int len = snprintf(to, JID_MAX, "%08lx-%s-%lu", i * 2654435761UL & 0xffffffffUL, prefix, i);

	return (struct qless_str){ to, (size_t)len };
}

static struct qless_put put_of(char jid[JID_MAX], unsigned long i)
{
	return (struct qless_put){ .worker = QLESS_STR("client"),
				   .queue = QLESS_STR("queue"),
				   .jid = text(jid, "job", i),
				   .klass = QLESS_STR("Klass"),
				   .data = QLESS_STR("{\"some\":\"data of a job\"}") };
}

static void put(unsigned long i, double delay)
{
	char jid[JID_MAX];
	struct qless_put put = put_of(jid, i);

	put.delay = delay;
	check(qless_put(q, now += 1e-6, &put));
}

static void put_all(unsigned long jobs, double delay)
{
	unsigned long i;

	for (i = 0; i < jobs; i++)
		put(i, delay);
}

static void pop(int64_t count)
{
	struct qless_jobs popped;

	check(qless_pop(q, now += 1e-6, QLESS_STR("queue"), QLESS_STR("worker"), count, &popped));
	if (popped.count == 0)
		abort();
}

static void pop_all(unsigned long jobs)
{
	unsigned long i;

	for (i = 0; i < jobs; i += MANY)
		pop(MANY);
}

static int complete(unsigned long i)
{
	char jid[JID_MAX];
	struct qless_complete complete = { .jid = text(jid, "job", i),
					   .worker = QLESS_STR("worker"),
					   .queue = QLESS_STR("queue"),
					   .data = QLESS_STR("{}") };
	enum qless_state state;

	return qless_complete(q, now += 1e-6, &complete, &state);
}

static void fail_all(unsigned long jobs)
{
	char jid[JID_MAX];
	unsigned long i;

	for (i = 0; i < jobs; i++)
		check(qless_fail(q, now, text(jid, "job", i), QLESS_STR("worker"),
				 QLESS_STR("group"), QLESS_STR("message"), NULL));
}

/* Move what has come due, as commands that read do first. */
static void advance(enum qless_advance_kind kind, int64_t max)
{
	struct qless_advance advance = { kind, QLESS_STR("queue"), max };
	uint64_t moved;

	check(qless_advance(q, now, &advance, &moved));
}

/* ---- the cases ---- */

static void counting_when_all_are_due(unsigned long jobs)
{
	struct qless_queue_counts counts;
	int i;

	put_all(jobs, 60);
	now += 120;
	for (i = 0; i < 10; i++) {
		TIMED({
			advance(QLESS_ADVANCE_QUEUE, QLESS_ADVANCE_MAX);
			check(qless_queue_counts(q, now, QLESS_STR("queue"), &counts));
		});
	}
	if (counts.waiting + counts.due != jobs)
		abort();
}

static void listing_scheduled_when_all_are_due(unsigned long jobs)
{
	struct qless_list jids;
	int i;

	put_all(jobs, 60);
	now += 120;
	for (i = 0; i < 10; i++) {
		TIMED({
			advance(QLESS_ADVANCE_QUEUE, QLESS_ADVANCE_MAX);
			check(qless_jobs(q, now, QLESS_LIST_NOT_DUE, QLESS_STR("queue"), 0, 25,
					 &jids));
		});
	}
}

static void popping_many(unsigned long jobs)
{
	unsigned long i;

	put_all(jobs, 0);
	for (i = 0; i + MANY <= jobs && i < 10 * MANY; i += MANY)
		TIMED(pop(MANY));
}

static void popping_many_that_are_due(unsigned long jobs)
{
	unsigned long i;

	put_all(jobs, 60);
	now += 120;
	for (i = 0; i + MANY <= jobs && i < 10 * MANY; i += MANY)
		TIMED(pop(MANY));
}

static void popping_many_that_lost_their_locks(unsigned long jobs)
{
	struct qless_jobs popped;
	unsigned long i;

	put_all(jobs, 0);
	pop_all(jobs);
	now += 1000;
	for (i = 0; i < jobs; i += MANY)
		TIMED(check(qless_pop(q, now += 1e-6, QLESS_STR("queue"), QLESS_STR("worker"), MANY,
				      &popped)));
	now += 1000;
	for (i = 0; i + MANY <= jobs && i < 10 * MANY; i += MANY)
		TIMED(pop(MANY));
}

static void popping_many_that_recur(unsigned long jobs)
{
	char jid[JID_MAX];
	unsigned long i;

	for (i = 0; i < jobs / 10; i++) {
		struct qless_recur_put put = { .queue = QLESS_STR("queue"),
					       .jid = text(jid, "recur", i),
					       .klass = QLESS_STR("Klass"),
					       .data = QLESS_STR("{}"),
					       .interval = 60,
					       .retries = 5 };

		check(qless_recur(q, now, &put));
	}
	now += 3600;
	for (i = 0; i < 10; i++)
		TIMED(pop(MANY));
}

static void completing_under_a_lower_limit(unsigned long jobs)
{
	unsigned long i;

	put_all(jobs, 0);
	pop_all(jobs);
	for (i = 0; i < 60000 && i < jobs; i++)
		check(complete(i));
	check(qless_config_set(q, now, QLESS_STR("jobs-history-count"), QLESS_STR("0")));
	for (; i < 60100 && i < jobs; i++)
		TIMED(check(complete(i)));
}

/* All jobs except one depend on that one. */
static void put_fan(unsigned long jobs)
{
	char first[JID_MAX], jid[JID_MAX];
	struct qless_str on = text(first, "job", 0);
	unsigned long i;

	put(0, 0);
	pop(1);
	for (i = 1; i < jobs; i++) {
		struct qless_put put = put_of(jid, i);

		put.depends = &on;
		put.depend_count = 1;
		check(qless_put(q, now += 1e-6, &put));
	}
}

static void completing_what_others_wait_for(unsigned long jobs)
{
	put_fan(jobs);
	TIMED(check(complete(0)));
}

static void cancelling_many(unsigned long jobs)
{
	static char jids[MANY][JID_MAX];
	static struct qless_str list[MANY];
	unsigned long i, k;

	put_all(jobs, 0);
	for (k = 0; (k + 1) * MANY <= jobs && k < 10; k++) {
		for (i = 0; i < MANY; i++)
			list[i] = text(jids[i], "job", k * MANY + i);
		TIMED(check(qless_cancel(q, now, list, MANY)));
	}
}

static void putting_many(unsigned long jobs)
{
	static char jids[MANY][JID_MAX];
	static struct qless_put puts[MANY];
	double until;
	unsigned long i, k;

	put_all(jobs, 0);
	for (k = 0; k < 10; k++) {
		for (i = 0; i < MANY; i++)
			puts[i] = put_of(jids[i], jobs + k * MANY + i);
		TIMED(check(qless_put_many(q, now, puts, MANY, &until)));
	}
}

static void unfailing_many(unsigned long jobs)
{
	uint64_t count;
	unsigned long i;

	put_all(jobs, 0);
	pop_all(jobs);
	fail_all(jobs);
	for (i = 0; (i + 1) * MANY <= jobs && i < 10; i++)
		TIMED(check(qless_unfail(q, now, QLESS_STR("queue"), QLESS_STR("group"), MANY,
					 &count)));
}

static void listing_many_groups(unsigned long jobs)
{
	struct qless_list groups;
	const uint64_t *counts;
	char jid[JID_MAX], group[JID_MAX];
	unsigned long i;

	(void)jobs;
	put_all(MANY, 0);
	pop_all(MANY);
	for (i = 0; i < MANY; i++)
		check(qless_fail(q, now, text(jid, "job", i), QLESS_STR("worker"),
				 text(group, "group", i), QLESS_STR("message"), NULL));
	for (i = 0; i < 10; i++)
		TIMED(qless_failures(q, &groups, &counts));
}

static void forgetting_a_worker_that_held_all(unsigned long jobs)
{
	struct qless_workers workers;
	int i;

	put_all(jobs, 0);
	pop_all(jobs);
	now += 2 * DAY;
	for (i = 0; i < 10; i++) {
		TIMED({
			advance(QLESS_ADVANCE_WORKERS, INT64_MAX);
			check(qless_workers(q, now, &workers));
		});
	}
}

static void listing_the_jobs_of_a_worker(unsigned long jobs)
{
	struct qless_list held, stalled;

	put_all(jobs, 0);
	pop_all(jobs);
	TIMED(check(qless_worker_jobs(q, now, QLESS_STR("worker"), &held, &stalled)));
}

static void listing_many_workers(unsigned long jobs)
{
	struct qless_workers workers;
	struct qless_jobs popped;
	char name[JID_MAX];
	unsigned long i;

	put_all(jobs, 0);
	for (i = 0; i < MANY; i++)
		check(qless_pop(q, now, QLESS_STR("queue"), text(name, "worker", i), 10, &popped));
	for (i = 0; i < 10; i++)
		TIMED(check(qless_workers(q, now, &workers)));
}

static void put_into_many_queues(unsigned long jobs)
{
	char jid[JID_MAX], name[JID_MAX];
	unsigned long i;

	for (i = 0; i < jobs; i++) {
		struct qless_put put = put_of(jid, i);

		put.queue = text(name, "queue", i % MANY);
		put.delay = i % 2 == 0 ? 60 : 0;
		check(qless_put(q, now += 1e-6, &put));
	}
}

static void counting_many_queues(unsigned long jobs)
{
	const struct qless_queue_counts *counts;
	size_t count;
	int round;

	put_into_many_queues(jobs);
	now += 120;
	for (round = 0; round < 10; round++) {
		TIMED({
			advance(QLESS_ADVANCE_KNOWN, QLESS_ADVANCE_MAX);
			check(qless_all_queue_counts(q, now, &counts, &count));
		});
	}
}

static void asking_many_queues_what_is_due(unsigned long jobs)
{
	int i;

	put_into_many_queues(jobs);
	for (i = 0; i < 10; i++)
		TIMED(qless_next_due(q));
}

static void dropping_old_statistics(unsigned long jobs)
{
	char name[JID_MAX];
	struct qless_jobs popped;
	unsigned long i;
	int day;

	put_into_many_queues(jobs);
	for (day = 0; day < DAYS; day++) {
		for (i = 0; i < MANY; i++)
			check(qless_pop(q, now, text(name, "queue", i), QLESS_STR("worker"), 1,
					&popped));
		now += DAY;
	}
	TIMED(qless_maintain(q));
	for (i = 0; i < 10; i++)
		TIMED(qless_maintain(q));
}

static void cancelling_what_has_tags(unsigned long jobs)
{
	struct qless_str tags[] = { QLESS_STR("a"), QLESS_STR("b") };
	char jid[JID_MAX];
	struct qless_str one;
	unsigned long i;

	for (i = 0; i < jobs; i++) {
		struct qless_put put = put_of(jid, i);

		put.has_tags = true;
		put.tags = tags;
		put.tag_count = 2;
		check(qless_put(q, now += 1e-6, &put));
	}
	for (i = 0; i < MANY; i++) {
		one = text(jid, "job", i * 7);
		TIMED(check(qless_cancel(q, now, &one, 1)));
	}
}

static void ignore(void *arg, struct qless_str finding)
{
	(void)arg;
	(void)finding;
}

static void checking_consistency(unsigned long jobs)
{
	put_all(jobs, 0);
	TIMED(qless_check(q, ignore, NULL));
}

static void freeing_some(unsigned long jobs)
{
	struct qless *gone;
	bool more = true;

	put_all(jobs, 0);
	gone = q;
	q = qless_new(NULL);
	while (more)
		TIMED(more = qless_free_some(gone, 1000));
}

struct scenario {
	const char *name;
	void (*run)(unsigned long jobs);
};

#define SCENARIO(function)          \
	{                           \
#function, function \
	}

static const struct scenario scenarios[] = {
	SCENARIO(counting_when_all_are_due),
	SCENARIO(listing_scheduled_when_all_are_due),
	SCENARIO(popping_many),
	SCENARIO(popping_many_that_are_due),
	SCENARIO(popping_many_that_lost_their_locks),
	SCENARIO(popping_many_that_recur),
	SCENARIO(completing_under_a_lower_limit),
	SCENARIO(completing_what_others_wait_for),
	SCENARIO(cancelling_many),
	SCENARIO(putting_many),
	SCENARIO(unfailing_many),
	SCENARIO(listing_many_groups),
	SCENARIO(forgetting_a_worker_that_held_all),
	SCENARIO(listing_the_jobs_of_a_worker),
	SCENARIO(listing_many_workers),
	SCENARIO(counting_many_queues),
	SCENARIO(asking_many_queues_what_is_due),
	SCENARIO(dropping_old_statistics),
	SCENARIO(cancelling_what_has_tags),
	SCENARIO(checking_consistency),
	SCENARIO(freeing_some),
};

/* The call also makes sure that the program is linked with the allocator. */
static const char *allocator(void)
{
	const char *version = NULL;

#ifdef HAVE_JEMALLOC
	size_t len = sizeof(version);

	mallctl("version", &version, &len, NULL, 0);
#endif
	return version != NULL ? version : "of libc";
}

int main(int argc, char **argv)
{
	unsigned long jobs = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_JOBS;
	size_t i;

	if (jobs < MANY || jobs > HUGE_COUNT)
		return 2;
	printf("%lu jobs, %d in a call, allocator %s\n", jobs, MANY, allocator());
	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (argc > 2 && strstr(scenarios[i].name, argv[2]) == NULL)
			continue;
		q = qless_new(NULL);
		now = START;
		worst = 0;
		scenarios[i].run(jobs);
		printf("%-40s %9.2f ms\n", scenarios[i].name, worst * 1e3);
		fflush(stdout);
		qless_free(q);
	}
	return 0;
}
