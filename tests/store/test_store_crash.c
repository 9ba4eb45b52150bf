/*
 * A program with a store, killed at random moments, many times: nothing is lost that was answered.
 *
 * The program tells the test of each answer through a pipe, which is the ledger. After a kill the
 * jobs must be as the answers say, or one step further, because the last step may have had no
 * answer yet. Each thread of the program has jobs of its own, which it puts, takes and completes in
 * turn.
 *
 * The environment variable STORE_CRASH_ROUNDS sets the number of rounds.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "fixture.h"

#define THREADS 3
/* Largest number of answers before a kill. A sync takes as long as many writes. */
#define ANSWERS_EVERYSEC 1500
#define ANSWERS_ALWAYS	 200
#define STEPS_A_JOB	 3
/* Milliseconds between two attempts to rewrite the log. */
#define REWRITE_MS 2

/* The number of answered steps of each thread. */
struct ledger {
	unsigned steps[THREADS];
};

struct actor {
	unsigned number;
	unsigned done; /* steps before this round */
	int fd;
};

static unsigned long long rng = 42;

void setUp(void)
{
	tempdir_init(&dir);
}

void tearDown(void)
{
	qless_store_close(store, NULL);
	store = NULL;
	tempdir_done(&dir);
}

/* ---- the program that is killed ---- */

static void name_job(char jid[32], unsigned thread, unsigned job)
{
	snprintf(jid, 32, "t%u-%u", thread, job);
}

/* Step 0 puts the job, step 1 takes it, and step 2 completes it. */
static int take_step(const struct actor *actor, struct qless_store_worker *worker, unsigned step,
		     struct qless_store_job **job)
{
	struct qless_store_error own;
	struct qless_str name;
	char queue[32], jid[32];
	int rc;

	snprintf(queue, sizeof queue, "q%u", actor->number);
	name = qless_text(queue);
	name_job(jid, actor->number, step / STEPS_A_JOB);
	if (step % STEPS_A_JOB == 0) {
		struct qless_store_put put = { .size = sizeof put,
					       .queue = name,
					       .jid = qless_text(jid),
					       .klass = qless_text("Send") };

		return qless_store_put(store, &put, NULL, &own);
	}
	/* The first step of a round may be about a job that the earlier program has taken. */
	if (*job == NULL) {
		rc = qless_store_next(worker, &name, 1, NULL, job, &own);
		if (rc != 1)
			return -1;
	}
	if (step % STEPS_A_JOB == 1)
		return 0;
	rc = qless_store_complete(*job, NULL, &own);
	qless_store_job_free(*job);
	*job = NULL;
	return rc;
}

static void *act(void *arg)
{
	const struct actor *actor = arg;
	struct qless_store_worker_options options = { .size = sizeof options, .resumes = true };
	struct qless_store_worker *worker;
	struct qless_store_job *job = NULL;
	unsigned char byte = (unsigned char)actor->number;
	char name[32];

	snprintf(name, sizeof name, "w%u", actor->number);
	options.name = qless_text(name);
	if (qless_store_worker_new(store, &options, &worker, NULL) < 0)
		_exit(2);
	for (unsigned step = actor->done;; step++) {
		if (take_step(actor, worker, step, &job) < 0)
			_exit(3);
		if (write(actor->fd, &byte, 1) != 1)
			_exit(4);
	}
	return NULL;
}

static void run_program(int fd, enum qless_store_sync sync, const struct ledger *ledger)
{
	struct qless_store_options options = { .size = sizeof options, .sync = sync };
	struct qless_str rewrite = qless_text("BGREWRITEAOF");
	struct actor actors[THREADS];
	pthread_t threads[THREADS];

	if (qless_store_open(dir.path, &options, &store, &error) < 0)
		_exit(1);
	for (unsigned i = 0; i < THREADS; i++) {
		actors[i] = (struct actor){ .number = i, .done = ledger->steps[i], .fd = fd };
		if (pthread_create(&threads[i], NULL, act, &actors[i]) != 0)
			_exit(1);
	}
	/* One rewrite follows the other, so that kills hit them. */
	for (;;) {
		if (qless_store_call(store, &rewrite, 1, NULL, NULL, &error) ==
		    QLESS_STORE_EREFUSED)
			poll(NULL, 0, REWRITE_MS);
	}
}

/* ---- the test ---- */

/* Returns the number of steps that the jobs of a thread show. */
static unsigned count_steps(unsigned thread, unsigned answered)
{
	unsigned job = answered / STEPS_A_JOB, steps = job * STEPS_A_JOB;
	struct qless_store_job *found;
	char jid[32];

	if (job > 0) {
		name_job(jid, thread, job - 1);
		expect_state("complete", jid);
	}
	/* At most one step had no answer, so at most two jobs can tell. */
	for (unsigned i = job; i < job + 2; i++) {
		name_job(jid, thread, i);
		if (qless_store_get(store, qless_text(jid), &found, &error) == 0)
			return steps;
		if (strcmp(qless_store_job_state(found).ptr, "complete") == 0)
			steps += 3;
		else if (strcmp(qless_store_job_state(found).ptr, "running") == 0)
			steps += 2;
		else
			steps += 1;
		qless_store_job_free(found);
	}
	return steps;
}

/* The ledger continues with the steps that the files show. */
static void compare(struct ledger *ledger)
{
	open_store(QLESS_STORE_SYNC_EVERYSEC);
	for (unsigned i = 0; i < THREADS; i++) {
		unsigned shown = count_steps(i, ledger->steps[i]);
		char text[96];

		snprintf(text, sizeof text, "thread %u: %u steps answered, %u found", i,
			 ledger->steps[i], shown);
		TEST_ASSERT_TRUE_MESSAGE(shown == ledger->steps[i] || shown == ledger->steps[i] + 1,
					 text);
		ledger->steps[i] = shown;
	}
	close_store();
}

static bool has_first_segment(void)
{
	return access(tempdir_file(&dir, "log-00000001"), F_OK) == 0;
}

/* With `waits`, the program is killed after a rewrite has removed the first segment of the log. */
static void play_round(struct ledger *ledger, enum qless_store_sync sync, unsigned answers_max,
		       bool waits)
{
	unsigned answers = (unsigned)(unit_random(&rng) % answers_max), count = 0;
	unsigned char byte;
	int ends[2], status;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, pipe(ends));
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		run_program(ends[1], sync, ledger);
	}
	close(ends[1]);
	while ((count < answers || (waits && has_first_segment())) &&
	       read(ends[0], &byte, 1) == 1) {
		ledger->steps[byte]++;
		count++;
	}
	kill(pid, SIGKILL);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE_MESSAGE(WIFSIGNALED(status), "the program has failed");
	/* Answers that were on their way. */
	while (read(ends[0], &byte, 1) == 1)
		ledger->steps[byte]++;
	close(ends[0]);
}

static void play(enum qless_store_sync sync, unsigned answers_max)
{
	const char *text = getenv("STORE_CRASH_ROUNDS");
	int rounds = text != NULL ? atoi(text) : 20;
	struct ledger ledger = { .steps = { 0 } };

	for (int i = 0; i < rounds; i++) {
		play_round(&ledger, sync, answers_max, /* waits= */ i == rounds / 2);
		compare(&ledger);
	}
	TEST_ASSERT_TRUE(ledger.steps[0] > (unsigned)rounds);
	TEST_ASSERT_FALSE(has_first_segment());
}

static void kills_lose_nothing_with_everysec(void)
{
	play(QLESS_STORE_SYNC_EVERYSEC, ANSWERS_EVERYSEC);
}

static void kills_lose_nothing_with_always(void)
{
	play(QLESS_STORE_SYNC_ALWAYS, ANSWERS_ALWAYS);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(kills_lose_nothing_with_everysec);
	RUN(kills_lose_nothing_with_always);
	return UNIT_RESULT();
}
