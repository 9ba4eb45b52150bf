/*
 * The client of limits.py, which starts the server and calls this program:
 *
 *	bench_limits fill PORT QUEUE NAMES JOBS limited|unlimited
 *		Puts JOBS jobs for each of NAMES names, all jobs of a name together. If limited,
 *		each job has the limit `domain:<number of the name>`.
 *
 *	bench_limits work PORT QUEUE WORKERS NAMES SECONDS INTERVAL [JOBS]
 *		Lets WORKERS connections wait for jobs and complete them at once. Given JOBS, they
 *		take at most that number of jobs in each interval of that many seconds. Prints
 *		what each name got, as JSON.
 *
 *	bench_limits live PORT QUEUE NAMES JOBS limited|unlimited
 *		Puts, pops and completes JOBS jobs, BATCH at a time, on one connection.
 *
 * The time of a hand-out is that of the server: when the lock expires, less HEARTBEAT_SECONDS.
 */
#include <math.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hiredis/hiredis.h>

#define HEARTBEAT_SECONDS 60 /* the default of the option */
#define WORKERS_MAX	  1024
#define BATCH		  64
#define JOBS_OF_A_CALL	  1000
#define CALLS_AHEAD	  64 /* calls that are sent before their replies are read */
#define DATA		  "{\"url\":\"https://example.com/some/page/of/the/site\",\"depth\":3,\"attempt\":1}"
#define TEXT_BYTES	  48

/* The hand-outs of a name. */
struct served {
	double first, last; /* times of hand-outs */
	unsigned count;
};

struct worker {
	redisContext *redis;
	char name[TEXT_BYTES];
	bool waits; /* a BPOP is under way */
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "bench_limits: %s: %s\n", what, why);
	exit(1);
}

static unsigned long number_of(const char *text)
{
	return strtoul(text, NULL, 10);
}

static redisContext *open_connection(const char *port)
{
	redisContext *redis = redisConnect("127.0.0.1", (int)number_of(port));

	if (redis == NULL || redis->err != 0)
		fail("connect", redis != NULL ? redis->errstr : "no memory");
	return redis;
}

/* ---- fill ---- */

static void await_replies(redisContext *redis, unsigned count)
{
	for (; count > 0; count--) {
		redisReply *reply;

		if (redisGetReply(redis, (void **)&reply) != REDIS_OK)
			fail("put", redis->errstr);
		if (reply->type == REDIS_REPLY_ERROR)
			fail("put", reply->str);
		freeReplyObject(reply);
	}
}

/* Put the jobs of a name from number `first` on. */
static void append_put(redisContext *redis, const char *queue, unsigned name, unsigned first,
		       unsigned jobs, bool is_limited)
{
	const char **argv = calloc(7 + (size_t)jobs * 3, sizeof *argv);
	char(*jids)[TEXT_BYTES] = calloc(jobs, sizeof *jids);
	char limits[TEXT_BYTES];
	int argc = 0;

	argv[argc++] = "multiput";
	argv[argc++] = "client";
	argv[argc++] = queue;
	argv[argc++] = "0";
	if (is_limited) {
		snprintf(limits, sizeof limits, "[\"domain:%u\"]", name);
		argv[argc++] = "limits";
		argv[argc++] = limits;
	}
	argv[argc++] = "jobs";
	for (unsigned i = 0; i < jobs; i++) {
		snprintf(jids[i], sizeof jids[i], "%u-%u", name, first + i);
		argv[argc++] = jids[i];
		argv[argc++] = "Fetch";
		argv[argc++] = DATA;
	}
	redisAppendCommandArgv(redis, argc, argv, NULL);
	free(argv);
	free(jids);
}

static void fill(char **argv)
{
	redisContext *redis = open_connection(argv[0]);
	unsigned names = (unsigned)number_of(argv[2]), jobs = (unsigned)number_of(argv[3]);
	bool is_limited = strcmp(argv[4], "limited") == 0;
	unsigned ahead = 0;

	for (unsigned name = 0; name < names; name++) {
		for (unsigned first = 0; first < jobs; first += JOBS_OF_A_CALL) {
			unsigned left = jobs - first;

			append_put(redis, argv[1], name, first,
				   left < JOBS_OF_A_CALL ? left : JOBS_OF_A_CALL, is_limited);
			if (++ahead == CALLS_AHEAD) {
				await_replies(redis, ahead);
				ahead = 0;
			}
		}
	}
	await_replies(redis, ahead);
	redisFree(redis);
}

/* ---- live ---- */

static void live(char **argv)
{
	redisContext *redis = open_connection(argv[0]);
	const char *queue = argv[1];
	unsigned count = (unsigned)number_of(argv[2]), jobs = (unsigned)number_of(argv[3]);
	bool is_limited = strcmp(argv[4], "limited") == 0;

	for (unsigned job = 0; job < jobs; job += BATCH) {
		for (unsigned i = job; i < job + BATCH; i++) {
			if (is_limited)
				redisAppendCommand(
					redis,
					"put client %s j-%u Fetch %s 0 limits [\"domain:%u\"]",
					queue, i, DATA, i % count);
			else
				redisAppendCommand(redis, "put client %s j-%u Fetch %s 0", queue, i,
						   DATA);
		}
		await_replies(redis, BATCH);
		for (unsigned i = 0; i < BATCH; i++)
			redisAppendCommand(redis, "pop %s worker 1", queue);
		await_replies(redis, BATCH);
		for (unsigned i = job; i < job + BATCH; i++)
			redisAppendCommand(redis, "complete j-%u worker %s %s", i, queue, DATA);
		await_replies(redis, BATCH);
	}
	redisFree(redis);
}

/* ---- work ---- */

static struct served *served;
static unsigned names;
static unsigned long handed_out;
static double shortest_gap = INFINITY;

/* The number after a member of the only object of a text. */
static double member(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	if (at == NULL)
		fail("a reply lacks", name);
	return strtod(at + strlen(name), NULL);
}

static void serve(const char *job)
{
	unsigned name = (unsigned)member(job, "\"jid\":\"");
	double time = member(job, "\"expires\":") - HEARTBEAT_SECONDS;
	struct served *s = &served[name];

	if (name >= names)
		fail("a reply has", "an unknown name");
	if (s->count > 0)
		shortest_gap = fmin(shortest_gap, time - s->last);
	else
		s->first = time;
	s->last = time;
	s->count++;
	handed_out++;
}

static void append_wait(struct worker *w, const char *queue)
{
	redisAppendCommand(w->redis, "bpop 0 %s 1 %s", w->name, queue);
	w->waits = true;
}

static void flush(struct worker *w)
{
	int done = 0;

	while (!done) {
		if (redisBufferWrite(w->redis, &done) != REDIS_OK)
			fail("write", w->redis->errstr);
	}
}

/* Take what a worker got, and complete it. */
static void take(struct worker *w, const char *queue, redisReply *reply)
{
	const char *begin, *end;

	if (reply->type == REDIS_REPLY_ERROR)
		fail("work", reply->str);
	if (reply->type != REDIS_REPLY_STRING)
		return;
	begin = strstr(reply->str, "\"jid\":\"");
	if (begin == NULL)
		return; /* the reply to COMPLETE */
	serve(reply->str);
	begin += strlen("\"jid\":\"");
	end = strchr(begin, '"');
	redisAppendCommand(w->redis, "complete %b %s %s {}", begin, (size_t)(end - begin), w->name,
			   queue);
	w->waits = false;
}

/* Read what arrived. `may_wait` says whether the worker takes another job. */
static void advance(struct worker *w, const char *queue, bool may_wait)
{
	redisReply *reply;

	if (redisBufferRead(w->redis) != REDIS_OK)
		fail("read", w->redis->errstr);
	while (redisGetReplyFromReader(w->redis, (void **)&reply) == REDIS_OK && reply != NULL) {
		take(w, queue, reply);
		freeReplyObject(reply);
	}
	if (!w->waits && may_wait)
		append_wait(w, queue);
	flush(w);
}

static void print_served(double interval, double end)
{
	unsigned least = UINT32_MAX, most = 0, late = 0;

	for (unsigned i = 0; i < names; i++) {
		const struct served *s = &served[i];
		double possible = floor((end - s->first) / interval) + 1;

		least = s->count < least ? s->count : least;
		most = s->count > most ? s->count : most;
		late += s->count == 0 || s->count + 1 < possible;
	}
	printf("{\"jobs\":%lu,\"names\":%u,\"least\":%u,\"most\":%u,\"missed\":%u,"
	       "\"shortest_gap\":%.4f}\n",
	       handed_out, names, least, most, late, handed_out > names ? shortest_gap : 0);
}

static void work(int argc, char **argv)
{
	const char *queue = argv[1];
	unsigned count = (unsigned)number_of(argv[2]);
	double interval = strtod(argv[5], NULL);
	unsigned long most = argc > 6 ? strtoul(argv[6], NULL, 10) : 0;
	static struct worker workers[WORKERS_MAX];
	static struct pollfd polls[WORKERS_MAX];
	double begin, end;

	if (count > WORKERS_MAX)
		fail("workers", "too many");
	names = (unsigned)number_of(argv[3]);
	served = calloc(names, sizeof *served);
	for (unsigned i = 0; i < count; i++) {
		workers[i].redis = open_connection(argv[0]);
		snprintf(workers[i].name, sizeof workers[i].name, "worker-%u", i);
		polls[i] = (struct pollfd){ workers[i].redis->fd, POLLIN, 0 };
	}
	begin = seconds();
	end = begin + strtod(argv[4], NULL);
	for (;;) {
		double now = seconds();
		unsigned long allowed =
			most == 0 ? handed_out + 1
				  : most * (unsigned long)(1 + floor((now - begin) / interval));
		bool may_wait = handed_out < allowed;

		if (now >= end)
			break;
		for (unsigned i = 0; may_wait && i < count; i++) {
			if (!workers[i].waits) {
				append_wait(&workers[i], queue);
				flush(&workers[i]);
			}
		}
		if (poll(polls, count, 20) < 0)
			fail("poll", "it failed");
		for (unsigned i = 0; i < count; i++) {
			if (polls[i].revents != 0)
				advance(&workers[i], queue, may_wait);
		}
	}
	print_served(interval, end);
}

int main(int argc, char **argv)
{
	if (argc == 7 && strcmp(argv[1], "fill") == 0) {
		fill(argv + 2);
	} else if (argc == 7 && strcmp(argv[1], "live") == 0) {
		live(argv + 2);
	} else if (argc >= 8 && strcmp(argv[1], "work") == 0) {
		work(argc - 2, argv + 2);
	} else {
		fprintf(stderr, "usage: see the beginning of bench_limits.c\n");
		return 2;
	}
	return 0;
}
