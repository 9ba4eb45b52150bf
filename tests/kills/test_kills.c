/*
 * Workers and the server are killed again and again, while workers wait for jobs and the log is
 * synced before each reply. No acknowledged job is lost, and none is handed out twice under a good
 * lock; judge.h has the rules. Two cases with a fault show that the judge would notice.
 *
 * The environment variable QLESSD_KILL_ROUNDS sets the number of rounds, QLESSD_KILL_SEED the
 * random numbers. With QLESSD_KILL_LATE_MS, the jobs of a killed worker must be handed out again
 * within this many milliseconds after they may be.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ahead.h"
#include "history.h"
#include "judge.h"
#include "party.h"
#include "peer.h"
#include "unit.h"
#include "wait.h"

#define PRODUCERS 2
#define WORKERS	  16
/* Workers that have one name, so that only the numbers of hand-outs tell them apart. The others are
 * attached. */
#define SHARING 6
/* One of this many new workers does not take the name of the one that was killed. */
#define NEW_NAME_EVERY 4
#define ROUNDS_DEFAULT "40"
#define SEED_DEFAULT   "4711"
/* After this many rounds, all jobs end and the judge compares them with the server. */
#define ROUNDS_OF_EPOCH 20
/* Entries of the history between two kills. */
#define ENTRIES_MAX   400
#define KILLED_MAX    3
#define REWRITE_EVERY 8 /* rounds */
/* Rounds in which a fault must be found. */
#define FAULT_ROUNDS_MAX 200
/* Bytes that are cut from the log, if records are to be lost. A record has some hundred. */
#define CUT_MAX 1000
/* Time that passes for the server alone, if locks are to end early. */
#define CLOCK_STEP_US 200000
/* Completed jobs that the server keeps, which is more than those of an epoch. */
#define KEPT_JOBS "20000"

static struct qlessd q;
static struct peer *asker;
static struct history *history;
static struct judge *judge;
static FILE *findings;
static char *text;
static size_t text_len;

static pid_t producers[PRODUCERS];
static struct {
	pid_t pid;
	uint32_t process, name;
} workers[WORKERS];
static uint32_t processes; /* that were started */

static unsigned long long rng;
static uint64_t server_kills, worker_kills, waiting_at_kills;
static bool is_log_cut; /* a fault */
static bool was_cut;	/* in this epoch, which then ends: nothing waits for jobs that are lost */

static struct ahead ahead;   /* another fault: the clock of the server */
static uint64_t epoch_begin; /* entry of the history */

void setUp(void)
{
	const char *seed = getenv("QLESSD_KILL_SEED");

	rng = strtoull(seed != NULL ? seed : SEED_DEFAULT, NULL, 10);
	history = history_new();
	findings = open_memstream(&text, &text_len);
	judge = judge_new(&(struct judge_options){ .grace_s = PARTY_GRACE_S,
						   .attach_grace_s = PARTY_ATTACH_GRACE_S },
			  findings);
	processes = 0;
	server_kills = worker_kills = waiting_at_kills = 0;
}

static void end_process(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

void tearDown(void)
{
	for (size_t i = 0; i < PRODUCERS; i++)
		end_process(&producers[i]);
	for (size_t i = 0; i < WORKERS; i++)
		end_process(&workers[i].pid);
	peer_close_all();
	qlessd_stop(&q);
	judge_free(judge);
	fclose(findings);
	free(text);
	history_free(history);
}

static unsigned below(unsigned limit)
{
	return (unsigned)(unit_random(&rng) % limit);
}

/* ---- processes ---- */

static void start_server(void)
{
	const char *const args[] = {
		"--appendfsync",	"always", "--port", "0", "--log-segment-size", "64kb",
		"--rewrite-rate-limit", "1mb",	  NULL
	};

	if (ahead.us != NULL)
		ahead_begin_start();
	if (q.socket_path[0] == '\0')
		qlessd_start_with(&q, args);
	else
		qlessd_start_again(&q, args);
	ahead_end_start();
	asker = peer_connect_unix(&q);
	ASK(asker, "CONSISTENCYCHECK", "*0\r\n");
}

static void configure_queues(void)
{
	char words[64];

	snprintf(words, sizeof words, "CONFIG.SET heartbeat %g", PARTY_LOCK_S);
	peer_ask(asker, words);
	snprintf(words, sizeof words, "CONFIG.SET grace-period %g", PARTY_GRACE_S);
	peer_ask(asker, words);
	peer_ask(asker, "CONFIG.SET jobs-history-count " KEPT_JOBS);
}

static struct party next_party(void)
{
	return (struct party){
		.history = history,
		.socket_path = q.socket_path,
		.process = processes++,
		.seed = unit_random(&rng),
	};
}

static void start_producer(size_t i)
{
	struct party p = next_party();

	producers[i] = party_start_producer(&p);
	TEST_ASSERT_GREATER_THAN(0, producers[i]);
}

static void start_worker(size_t i, uint32_t name)
{
	struct party p = next_party();

	p.name = name;
	p.is_attached = i >= SHARING;
	workers[i].process = p.process;
	workers[i].name = name;
	workers[i].pid = party_start_worker(&p);
	TEST_ASSERT_GREATER_THAN(0, workers[i].pid);
}

static void kill_worker(size_t i, uint64_t round)
{
	history_enter(history, HISTORY_WORKER_KILLED,
		      (struct history_entry){ .process = workers[i].process, .job = round });
	end_process(&workers[i].pid);
}

/* The position after the last record. Zeros follow it, because a segment has its size beforehand.
 */
static long end_of_records(FILE *f)
{
	long end = 0;

	rewind(f);
	for (int c = getc(f); c != EOF; c = getc(f)) {
		if (c != 0)
			end = ftell(f);
	}
	return end;
}

/* Remove the last records of the log, as if replies had left before they were written. */
static void cut_log(void)
{
	DIR *d = opendir(q.dir.path);
	char name[256] = "";
	long end;
	FILE *f;

	TEST_ASSERT_NOT_NULL(d);
	for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d)) {
		if (strncmp(entry->d_name, "log-", 4) == 0 && strcmp(entry->d_name, name) > 0)
			snprintf(name, sizeof name, "%s", entry->d_name);
	}
	closedir(d);
	f = fopen(tempdir_file(&q.dir, name), "r+");
	TEST_ASSERT_NOT_NULL(f);
	end = end_of_records(f);
	was_cut = end > 3L * CUT_MAX;
	TEST_ASSERT_EQUAL_INT(0, ftruncate(fileno(f), was_cut ? end - CUT_MAX : end));
	fclose(f);
}

static void kill_server(void)
{
	history_enter(history, HISTORY_SERVER_KILLED, (struct history_entry){ 0 });
	kill(q.pid, SIGKILL);
	qlessd_wait(&q);
	history_enter(history, HISTORY_SERVER_DEAD, (struct history_entry){ 0 });
	server_kills++;
	peer_close_all();
	if (is_log_cut)
		cut_log();
	start_server();
}

/* ---- rounds ---- */

/* Whether a process still has a job that it neither returned nor completed, and that no other
 * process got. */
static bool has_jobs(uint32_t process)
{
	uint64_t count = history->count;

	for (uint64_t i = epoch_begin; i < count; i++) {
		const struct history_entry *e = &history->entries[i];
		bool is_gone = false;

		if (e->what != HISTORY_HANDED_OUT || e->process != process)
			continue;
		for (uint64_t k = i + 1; k < count && !is_gone; k++) {
			const struct history_entry *later = &history->entries[k];

			is_gone = later->job == e->job && (later->what == HISTORY_COMPLETE_SENT ||
							   later->what == HISTORY_RETRY_SENT ||
							   later->what == HISTORY_HANDED_OUT);
		}
		if (!is_gone)
			return true;
	}
	return false;
}

static void replace_worker(size_t i, uint32_t name, uint64_t round)
{
	kill_worker(i, round);
	worker_kills++;
	start_worker(i, name);
}

/* Returns WORKERS if there is none. */
static size_t find_busy_worker(size_t first)
{
	for (size_t i = 0; i < WORKERS; i++) {
		if (has_jobs(workers[(first + i) % WORKERS].process))
			return (first + i) % WORKERS;
	}
	return WORKERS;
}

/* Nothing else is killed until its jobs are back. No process of its name releases them. */
static void kill_a_busy_worker(uint64_t round)
{
	size_t first = below(WORKERS), i;
	uint32_t process;

	WAIT_UNTIL((i = find_busy_worker(first)) < WORKERS);
	process = workers[i].process;
	replace_worker(i, processes, round);
	WAIT_UNTIL(!has_jobs(process));
}

static void kill_workers(uint64_t round)
{
	for (unsigned count = 1 + below(KILLED_MAX); count > 0; count--) {
		size_t i = below(WORKERS);

		replace_worker(i, below(NEW_NAME_EVERY) == 0 ? processes : workers[i].name, round);
	}
}

static void run_round(uint64_t round)
{
	uint64_t target = history->count + below(ENTRIES_MAX);

	WAIT_UNTIL(history->count >= target);
	if (ahead.us != NULL) {
		ahead.us[0] += CLOCK_STEP_US;
		ahead.us[1] += CLOCK_STEP_US;
	}
	waiting_at_kills += (uint64_t)peer_ask_number(asker, "INFO clients", "blocked_clients:");
	if (below(REWRITE_EVERY) == 0)
		peer_ask(asker, "BGREWRITEAOF");
	switch (below(6)) {
	case 0:
		kill_a_busy_worker(round);
		break;
	case 1:
	case 2:
		kill_workers(round);
		break;
	case 3:
		kill_workers(round);
		kill_server();
		break;
	default:
		kill_server();
	}
}

static bool has_none(const char *info, const char *field)
{
	const char *at = strstr(info, field);

	TEST_ASSERT_NOT_NULL(at);
	return strtoll(at + strlen(field), NULL, 10) == 0;
}

/* One reply says it all, because a job may change its state between two. */
static bool is_drained(void)
{
	const char *info = peer_ask(asker, "INFO queues");

	return has_none(info, "jobs_waiting:") && has_none(info, "jobs_running:") &&
	       has_none(info, "jobs_stalled:") && has_none(info, "jobs_scheduled:");
}

static int64_t clients(void)
{
	return peer_ask_number(asker, "INFO clients", "connected_clients:");
}

/* Let the workers finish, end them, and compare each job of the epoch with the server. */
static void settle(uint64_t first_job, uint64_t round)
{
	for (size_t i = 0; i < PRODUCERS; i++)
		end_process(&producers[i]);
	WAIT_UNTIL(clients() == WORKERS + 1);
	WAIT_UNTIL(is_drained());
	for (size_t i = 0; i < WORKERS; i++)
		kill_worker(i, round);
	WAIT_UNTIL(clients() == 1);
	judge_read(judge, history);
	for (uint64_t job = first_job; job < history->next_job; job++) {
		char words[64];
		const char *reply;

		snprintf(words, sizeof words, "HGET ql:j:j%llu state", (unsigned long long)job);
		reply = peer_ask(asker, words);
		judge_settle(judge, job, reply[1] == '-' ? '-' : strchr(reply, '\n')[1]);
	}
	ASK(asker, "CONSISTENCYCHECK", "*0\r\n");
}

/* Returns the number of rounds, which is smaller if the judge found something. */
static uint64_t run_rounds(uint64_t count)
{
	uint64_t round = 0;

	start_server();
	configure_queues();
	while (round < count && judge_counts(judge)->findings == 0) {
		uint64_t first_job = history->next_job;

		was_cut = false;
		epoch_begin = history->count;
		for (size_t i = 0; i < PRODUCERS; i++)
			start_producer(i);
		for (size_t i = 0; i < WORKERS; i++)
			start_worker(i, i < SHARING ? 0 : processes);
		do {
			run_round(round++);
		} while (round < count && round % ROUNDS_OF_EPOCH != 0 && !was_cut);
		settle(first_job, round);
	}
	fflush(findings);
	return round;
}

static void print_returns(const char *whose, const struct judge_returns *r)
{
	printf("%llu jobs of %s came back %.1f ms after they could, at most %.1f ms\n",
	       (unsigned long long)r->count, whose,
	       r->count == 0 ? 0 : r->sum_s / (double)r->count * 1000, r->max_s * 1000);
}

static void print_counts(uint64_t rounds)
{
	const struct judge_counts *c = judge_counts(judge);

	printf("%llu rounds: %llu kills of the server, %llu of workers, %.1f clients waiting\n",
	       (unsigned long long)rounds, (unsigned long long)server_kills,
	       (unsigned long long)worker_kills, (double)waiting_at_kills / (double)rounds);
	printf("acknowledged: %llu puts, %llu hand-outs, %llu heartbeats, %llu retries, "
	       "%llu completions; %llu refused, %llu hand-outs after a lock had ended\n",
	       (unsigned long long)c->puts, (unsigned long long)c->hand_outs,
	       (unsigned long long)c->heartbeats, (unsigned long long)c->retries,
	       (unsigned long long)c->completions, (unsigned long long)c->refusals,
	       (unsigned long long)c->expired);
	print_returns("killed workers", &c->returns);
	print_returns("killed workers that were attached", &c->attached_returns);
}

static void kills_lose_no_job_and_share_no_lock(void)
{
	const char *rounds = getenv("QLESSD_KILL_ROUNDS"), *late_ms = getenv("QLESSD_KILL_LATE_MS");
	const struct judge_counts *c = judge_counts(judge);

	print_counts(run_rounds(strtoull(rounds != NULL ? rounds : ROUNDS_DEFAULT, NULL, 10)));
	TEST_ASSERT_EQUAL_STRING("", text);
	TEST_ASSERT_GREATER_THAN_UINT64(0, c->expired);
	TEST_ASSERT_GREATER_THAN_UINT64(0, waiting_at_kills);
	if (late_ms != NULL) {
		uint64_t limit_ms = strtoull(late_ms, NULL, 10);

		TEST_ASSERT_LESS_OR_EQUAL_UINT64(limit_ms, (uint64_t)(c->returns.max_s * 1000));
		TEST_ASSERT_LESS_OR_EQUAL_UINT64(limit_ms,
						 (uint64_t)(c->attached_returns.max_s * 1000));
	}
}

/* ---- faults ---- */

static void lost_records_are_found(void)
{
	is_log_cut = true;
	run_rounds(FAULT_ROUNDS_MAX);
	is_log_cut = false;
	TEST_ASSERT_NOT_EQUAL_UINT64(0, judge_counts(judge)->findings);
}

static void locks_that_end_early_are_found(void)
{
	ahead_init(&ahead);
	run_rounds(FAULT_ROUNDS_MAX);
	ahead_done(&ahead);
	ahead.us = NULL;
	TEST_ASSERT_NOT_NULL(strstr(text, "is handed out with lock"));
}

int main(int argc, char **argv)
{
	const char *seed = getenv("QLESSD_KILL_SEED");

	qlessd_take_args(&argc, argv);
	printf("seed %s\n", seed != NULL ? seed : SEED_DEFAULT);
	UNITY_BEGIN();
	RUN(kills_lose_no_job_and_share_no_lock);
	RUN(lost_records_are_found);
	RUN(locks_that_end_early_are_found);
	return UNIT_RESULT();
}
