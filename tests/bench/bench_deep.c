/*
 * The life of jobs on top of a backlog, in-process: the time of put, pop and complete with 1,000
 * and with a million other jobs.
 *
 *	bench_deep [rounds [backlog]...]
 *
 * All engines exist at once and take turns. The results are medians over the rounds, so that other
 * load on the machine affects all of them alike.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build_config.h"
#include "qless.h"

#ifdef HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

#define DEFAULT_ROUNDS	100
#define ROUNDS_MAX	100000
#define BACKLOGS_MAX	8
#define LIVES_PER_ROUND 4096
#define BATCH		32 /* jobs that are put, then popped, then completed together */
#define DATA_BYTES	100
#define JID_BYTES	32
#define START		1700000000.0
#define STEP		1e-6  /* seconds between two calls */
#define FAR_AWAY	1e6   /* seconds until scheduled jobs are due */
#define COMPLETED_KEPT	50000 /* the default of jobs-history-count */

enum phase {
	PHASE_PUT,
	PHASE_POP,
	PHASE_COMPLETE,
	PHASES,
};

struct subject {
	struct qless *engine;
	unsigned long backlog;
	bool is_scheduled;
	unsigned long jobs; /* jobs made so far */
	double now;
	double *ns[PHASES]; /* nanoseconds of one call, for each round */
	double *total;
};

static const char data[DATA_BYTES + 1] = "{\"to\":\"somebody@example.com\",\"subject\":\"hello\","
					 "\"attempt\":1,\"list\":[1,2,3],\"more\":[4,5,6,7]}";

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check(int rc)
{
	if (rc != 0)
		abort();
}

static void make_jid(char jid[JID_BYTES], unsigned long i)
{
	static const char digits[] = "0123456789abcdef";
	unsigned long mixed = (i + 1) * 0x9e3779b97f4a7c15UL;
	int k;

	for (k = 0; k < 16; k++)
		jid[k] = digits[mixed >> 4 * k & 15];
	for (k = 0; k < 16; k++)
		jid[16 + k] = digits[i >> (60 - 4 * k) & 15];
}

static void put(struct subject *s, double delay)
{
	char jid[JID_BYTES];
	struct qless_put put = { .worker = QLESS_STR("client"),
				 .queue = QLESS_STR("queue"),
				 .jid = { jid, JID_BYTES },
				 .klass = QLESS_STR("Klass"),
				 .data = { data, DATA_BYTES },
				 .delay = delay };

	make_jid(jid, s->jobs++);
	check(qless_put(s->engine, s->now, &put));
	s->now += STEP;
}

/* Returns the number of jobs popped. */
static size_t pop(struct subject *s, char jid[JID_BYTES])
{
	struct qless_jobs popped;
	struct qless_job_info info;

	check(qless_pop(s->engine, s->now, QLESS_STR("queue"), QLESS_STR("worker"), 1, &popped));
	s->now += STEP;
	if (popped.count == 0)
		return 0;
	qless_job_read(popped.items[0], &info);
	memcpy(jid, info.jid.ptr, JID_BYTES);
	return 1;
}

static void complete(struct subject *s, const char jid[JID_BYTES])
{
	struct qless_complete call = { .jid = { jid, JID_BYTES },
				       .worker = QLESS_STR("worker"),
				       .queue = QLESS_STR("queue"),
				       .data = { data, DATA_BYTES } };
	enum qless_state state;

	check(qless_complete(s->engine, s->now, &call, &state));
	s->now += STEP;
}

/* Run `lives` lives, and add the seconds of each phase to spent[]. */
static void live(struct subject *s, unsigned lives, double spent[PHASES])
{
	char jids[BATCH][JID_BYTES];
	unsigned done, i;

	for (done = 0; done < lives; done += BATCH) {
		double times[PHASES + 1];

		times[0] = seconds();
		for (i = 0; i < BATCH; i++)
			put(s, 0);
		times[1] = seconds();
		for (i = 0; i < BATCH; i++) {
			if (pop(s, jids[i]) != 1)
				abort();
		}
		times[2] = seconds();
		for (i = 0; i < BATCH; i++)
			complete(s, jids[i]);
		times[3] = seconds();
		for (i = 0; i < PHASES; i++)
			spent[i] += times[i + 1] - times[i];
	}
}

static void subject_init(struct subject *s, unsigned long backlog, bool is_scheduled,
			 unsigned rounds)
{
	double spent[PHASES] = { 0 };
	unsigned long i;
	int phase;

	memset(s, 0, sizeof(*s));
	s->backlog = backlog;
	s->is_scheduled = is_scheduled;
	s->engine = qless_new(NULL);
	s->now = START;
	for (phase = 0; phase < PHASES; phase++)
		s->ns[phase] = calloc(rounds, sizeof(double));
	s->total = calloc(rounds, sizeof(double));
	for (i = 0; i < backlog; i++)
		put(s, is_scheduled ? FAR_AWAY + (double)(i % 86400) : 0);
	/* From here on, each life ends with the purge of an old job. */
	live(s, COMPLETED_KEPT + BATCH, spent);
}

static void subject_run(struct subject *s, unsigned round)
{
	double spent[PHASES] = { 0 };
	int phase;

	live(s, LIVES_PER_ROUND, spent);
	for (phase = 0; phase < PHASES; phase++) {
		s->ns[phase][round] = spent[phase] * 1e9 / LIVES_PER_ROUND;
		s->total[round] += s->ns[phase][round];
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), compare);
	return values[count / 2];
}

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

static void report(struct subject *subjects, unsigned count, unsigned rounds)
{
	double base = median(subjects[0].total, rounds);
	unsigned i;

	printf("allocator: %s\n", allocator());
	printf("%20s %8s %8s %8s %8s %8s\n", "backlog", "put", "pop", "complete", "life", "speed");
	for (i = 0; i < count; i++) {
		struct subject *s = &subjects[i];
		double total = median(s->total, rounds);

		printf("%10lu %-9s %5.0f ns %5.0f ns %5.0f ns %5.0f ns %8.2f\n", s->backlog,
		       s->is_scheduled ? "scheduled" : "waiting", median(s->ns[PHASE_PUT], rounds),
		       median(s->ns[PHASE_POP], rounds), median(s->ns[PHASE_COMPLETE], rounds),
		       total, base / total);
	}
}

static void subject_done(struct subject *s)
{
	int phase;

	qless_free(s->engine);
	for (phase = 0; phase < PHASES; phase++)
		free(s->ns[phase]);
	free(s->total);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_ROUNDS;
	unsigned long backlogs[BACKLOGS_MAX] = { 1000, 100000, 1000000 };
	struct subject subjects[2 * BACKLOGS_MAX];
	unsigned count = 3;
	unsigned round, i;

	if (rounds == 0 || rounds > ROUNDS_MAX || argc > 2 + BACKLOGS_MAX)
		return 2;
	if (argc > 2) {
		count = (unsigned)argc - 2;
		for (i = 0; i < count; i++)
			backlogs[i] = strtoul(argv[2 + i], NULL, 10);
	}
	for (i = 0; i < count; i++) {
		subject_init(&subjects[i], backlogs[i], false, (unsigned)rounds);
		subject_init(&subjects[count + i], backlogs[i], true, (unsigned)rounds);
	}
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < 2 * count; i++)
			subject_run(&subjects[i], round);
	}
	report(subjects, 2 * count, (unsigned)rounds);
	for (i = 0; i < 2 * count; i++)
		subject_done(&subjects[i]);
	return 0;
}
