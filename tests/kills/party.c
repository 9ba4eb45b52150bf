#include "party.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <yyjson.h>

#include "unit.h"

#define WORDS_MAX 16
/* Microseconds between attempts to connect, or while the server loads its log. */
#define AGAIN_US 2000
/* Jobs that a producer puts at once, and microseconds between two bursts. */
#define BURST_MAX   5
#define REST_MAX_US 20000
/* Microseconds that a step of a job takes. Some jobs take longer, and some workers fall asleep
 * until the lock is gone. */
#define STEP_MAX_US 1000
#define LONG_MAX_US 50000
#define ASLEEP_US   600000
#define SECOND_US   250000 /* of a job whose lock was lost before */
#define POP_MAX	    3

static const char *const queues[] = { "a", "b", "c" };

struct actor {
	struct party p;
	redisContext *context; /* NULL while there is no connection */
	bool may_have_jobs;    /* of which it does not know */
	unsigned long long rng;
	char name[16];
};

static unsigned below(struct actor *a, unsigned limit)
{
	return (unsigned)(unit_random(&a->rng) % limit);
}

static bool one_of(struct actor *a, unsigned number)
{
	return below(a, number) == 0;
}

static void enter(struct actor *a, enum happening what, struct history_entry entry)
{
	entry.process = a->p.process;
	history_enter(a->p.history, what, entry);
}

/* ---- requests ---- */

static void disconnect(struct actor *a)
{
	redisFree(a->context);
	a->context = NULL;
}

static bool begins(const redisReply *reply, const char *code)
{
	return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, code, strlen(code)) == 0;
}

static void enter_odd_reply(struct actor *a, const char *words, const redisReply *reply)
{
	fprintf(stderr, "%s: %s\n", words, reply->str != NULL ? reply->str : "a reply of a type");
	enter(a, HISTORY_ODD_REPLY, (struct history_entry){ 0 });
}

static bool attach(struct actor *a)
{
	redisReply *reply;
	bool is_done;

	enter(a, HISTORY_ATTACH_SENT, (struct history_entry){ .name = a->p.name });
	reply = redisCommand(a->context, "WORKER.ATTACH %s GRACE %f", a->name,
			     PARTY_ATTACH_GRACE_S);
	is_done = reply != NULL && reply->type == REDIS_REPLY_STATUS;
	if (is_done)
		enter(a, HISTORY_ATTACH_DONE, (struct history_entry){ .name = a->p.name });
	else if (reply != NULL && !begins(reply, "LOADING "))
		enter_odd_reply(a, "WORKER.ATTACH", reply);
	freeReplyObject(reply);
	return is_done;
}

static void connect_again(struct actor *a)
{
	while (a->context == NULL) {
		a->context = redisConnectUnix(a->p.socket_path);
		if (a->context != NULL && a->context->err == 0 && (!a->p.is_attached || attach(a)))
			return;
		disconnect(a);
		usleep(AGAIN_US);
	}
}

/* Sends words that are separated by blanks. The caller frees the reply. Returns NULL if the
 * connection ended; the next call connects again. */
static redisReply *ask(struct actor *a, const char *words)
{
	const char *argv[WORDS_MAX];
	size_t lens[WORDS_MAX];
	redisReply *reply;
	int argc = 0;

	while (*words != '\0') {
		argv[argc] = words;
		lens[argc] = strcspn(words, " ");
		words += lens[argc] + (words[lens[argc]] != '\0');
		argc++;
	}
	for (;;) {
		connect_again(a);
		reply = redisCommandArgv(a->context, argc, argv, lens);
		if (reply == NULL) {
			disconnect(a);
			return NULL;
		}
		if (!begins(reply, "LOADING"))
			return reply;
		freeReplyObject(reply);
		usleep(AGAIN_US);
	}
}

static bool is_refusal(const redisReply *reply)
{
	return begins(reply, "NOTOWNER ") || begins(reply, "NOTRUNNING ") ||
	       begins(reply, "WRONGQUEUE ") || begins(reply, "NOJOB ");
}

/* ---- producers ---- */

static void put(struct actor *a)
{
	struct history_entry e = { .job = atomic_fetch_add(&a->p.history->next_job, 1) };
	redisReply *reply;
	char words[128];

	/* A job whose lock is lost again and again must not run out of retries. */
	snprintf(words, sizeof words, "PUT producer %s j%llu Kill {} 0%s retries 100000",
		 queues[below(a, 3)], (unsigned long long)e.job, one_of(a, 5) ? ".03" : "");
	enter(a, HISTORY_PUT_SENT, e);
	reply = ask(a, words);
	if (reply == NULL)
		return;
	if (reply->type == REDIS_REPLY_STRING)
		enter(a, HISTORY_PUT_DONE, e);
	else
		enter_odd_reply(a, words, reply);
	freeReplyObject(reply);
}

static void produce(struct actor *a)
{
	for (;;) {
		for (unsigned n = 1 + below(a, BURST_MAX); n > 0; n--)
			put(a);
		usleep(below(a, REST_MAX_US));
	}
}

/* ---- workers ---- */

/* Ask until there is a reply, and enter what it says: `what` and then DONE or REFUSED. */
static void report(struct actor *a, enum happening sent, struct history_entry e, const char *words)
{
	redisReply *reply;

	do {
		enter(a, sent, e);
		reply = ask(a, words);
	} while (reply == NULL);
	if (is_refusal(reply)) {
		enter(a, HISTORY_REFUSED, (struct history_entry){ 0 });
	} else if (reply->type == REDIS_REPLY_ERROR) {
		enter_odd_reply(a, words, reply);
	} else {
		if (sent == HISTORY_HEARTBEAT_SENT)
			e.expires = (double)reply->integer;
		enter(a, (enum happening)(sent + 1), e);
	}
	freeReplyObject(reply);
}

/* Microseconds for which the worker works on a job. */
static unsigned duration(struct actor *a, yyjson_val *job)
{
	double left = yyjson_get_num(yyjson_obj_get(job, "remaining"));

	/* The worker that lost the job wakes up while this one works on it. */
	if (left < yyjson_get_num(yyjson_obj_get(job, "retries")) && one_of(a, 2))
		return SECOND_US;
	if (one_of(a, 100))
		return ASLEEP_US;
	return below(a, one_of(a, 20) ? LONG_MAX_US : STEP_MAX_US);
}

static void work(struct actor *a, struct history_entry e, yyjson_val *of)
{
	const char *queue = yyjson_get_str(yyjson_obj_get(of, "queue"));
	unsigned long long job = e.job, lock = e.lock;
	char words[128];

	usleep(duration(a, of));
	if (one_of(a, 3)) {
		snprintf(words, sizeof words, "HEARTBEAT j%llu %s lock %llu", job, a->name, lock);
		report(a, HISTORY_HEARTBEAT_SENT, e, words);
		usleep(below(a, STEP_MAX_US));
	}
	if (one_of(a, 50)) {
		snprintf(words, sizeof words, "RETRY j%llu %s %s 0 lock %llu", job, queue, a->name,
			 lock);
		report(a, HISTORY_RETRY_SENT, e, words);
	} else {
		snprintf(words, sizeof words, "COMPLETE j%llu %s %s {} lock %llu", job, a->name,
			 queue, lock);
		report(a, HISTORY_COMPLETE_SENT, e, words);
	}
}

static struct history_entry read_job(yyjson_val *job)
{
	const char *jid = yyjson_get_str(yyjson_obj_get(job, "jid"));

	return (struct history_entry){
		.job = strtoull(jid + 1, NULL, 10),
		.lock = yyjson_get_uint(yyjson_obj_get(job, "lock")),
		.expires = yyjson_get_num(yyjson_obj_get(job, "expires")),
	};
}

static void work_on_all(struct actor *a, const redisReply *reply)
{
	yyjson_doc *doc = yyjson_read(reply->str, reply->len, 0);
	yyjson_val *jobs = yyjson_doc_get_root(doc), *job;
	size_t i, count;

	yyjson_arr_foreach(jobs, i, count, job) enter(a, HISTORY_HANDED_OUT, read_job(job));
	yyjson_arr_foreach(jobs, i, count, job) work(a, read_job(job), job);
	yyjson_doc_free(doc);
}

/* The server may keep locks for a process that was killed, or for a reply to BPOP that was lost. */
static void release_jobs(struct actor *a)
{
	redisReply *reply;
	char words[64];

	snprintf(words, sizeof words, "WORKER.RELEASE %s", a->name);
	do {
		enter(a, HISTORY_RELEASE_SENT, (struct history_entry){ .name = a->p.name });
		reply = ask(a, words);
	} while (reply == NULL);
	if (reply->type != REDIS_REPLY_INTEGER)
		enter_odd_reply(a, words, reply);
	freeReplyObject(reply);
}

static void wait_and_work(struct actor *a)
{
	unsigned first = below(a, 3);
	redisReply *reply;
	char words[128];

	if (a->p.is_attached && a->may_have_jobs)
		release_jobs(a);

	snprintf(words, sizeof words, "BPOP %s %s 3 %s %s %s COUNT %u ORDER %s",
		 one_of(a, 2) ? "0" : "0.05", a->name, queues[first], queues[(first + 1) % 3],
		 queues[(first + 2) % 3], 1 + below(a, POP_MAX),
		 one_of(a, 2) ? "ordered" : "roundrobin");
	reply = ask(a, words);
	a->may_have_jobs = reply == NULL;
	if (reply == NULL)
		return;
	if (reply->type == REDIS_REPLY_STRING)
		work_on_all(a, reply);
	else if (reply->type != REDIS_REPLY_NIL)
		enter_odd_reply(a, words, reply);
	freeReplyObject(reply);
}

/* ---- processes ---- */

static pid_t start(const struct party *p, void (*run)(struct actor *a))
{
	struct actor a = { .p = *p, .rng = p->seed, .may_have_jobs = true };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);		/* the server may end while hiredis writes */
	close_range(STDERR_FILENO + 1, ~0U, 0); /* the connections of the parent */
	snprintf(a.name, sizeof a.name, "w%u", p->name);
	run(&a);
	_exit(0);
}

static void work_for_ever(struct actor *a)
{
	for (;;)
		wait_and_work(a);
}

pid_t party_start_producer(const struct party *p)
{
	return start(p, produce);
}

pid_t party_start_worker(const struct party *p)
{
	return start(p, work_for_ever);
}
