/*
 * Many threads use one store: producers, workers, and a thread that stops and restarts them.
 */
#include <stdatomic.h>

#include "fixture.h"

#define PRODUCERS 3
#define WORKERS	  4
#define JOBS	  150 /* of each producer */

static atomic_int completed;
static atomic_int given_up;
static atomic_bool is_over;
static struct qless_stopper *stopper;

/* Results of threads. */
static char put_failed[] = "a put failed";
static char begin_failed[] = "a worker could not begin";
static char job_failed[] = "a job could not be completed";
static char end_failed[] = "a worker could not end";

void setUp(void)
{
	tempdir_init(&dir);
	completed = 0;
	given_up = 0;
	is_over = false;
	stopper = qless_stopper_new();
}

void tearDown(void)
{
	qless_store_close(store, NULL);
	store = NULL;
	qless_stopper_free(stopper);
	tempdir_done(&dir);
}

static void *produce(void *arg)
{
	int number = *(int *)arg;
	struct qless_store_error own;

	for (int i = 0; i < JOBS; i++) {
		char jid[32];
		struct qless_store_put put = { .size = sizeof put,
					       .queue = qless_text("mail"),
					       .klass = qless_text("Send") };

		snprintf(jid, sizeof jid, "p%d-%d", number, i);
		put.jid = qless_text(jid);
		if (qless_store_put(store, &put, NULL, &own) < 0)
			return put_failed;
	}
	return NULL;
}

static void *work(void *arg)
{
	struct qless_next_options options = { .size = sizeof options, .stopper = stopper };
	struct qless_str queue = qless_text("mail");
	struct qless_store_worker *worker;
	struct qless_store_error own;
	struct qless_store_job *job;
	int rc;

	(void)arg;
	if (qless_store_worker_new(store, NULL, &worker, &own) < 0)
		return begin_failed;
	while (!is_over) {
		rc = qless_store_next(worker, &queue, 1, &options, &job, &own);
		if (rc == QLESS_STORE_ESTOPPED) {
			given_up++;
			continue;
		}
		if (rc != 1 || qless_store_job_is_lost(job) ||
		    qless_store_complete(job, NULL, &own) < 0)
			return job_failed;
		qless_store_job_free(job);
		completed++;
	}
	return qless_store_worker_free(worker, &own) == 0 ? NULL : end_failed;
}

static void expect_end(pthread_t thread)
{
	void *complaint;

	pthread_join(thread, &complaint);
	TEST_ASSERT_NULL_MESSAGE(complaint, complaint);
}

static void run_all(enum qless_store_sync sync)
{
	pthread_t producers[PRODUCERS], workers[WORKERS];
	int numbers[PRODUCERS];

	open_store(sync);
	for (int i = 0; i < WORKERS; i++)
		TEST_ASSERT_EQUAL_INT(0, pthread_create(&workers[i], NULL, work, NULL));
	for (int i = 0; i < PRODUCERS; i++) {
		numbers[i] = i;
		TEST_ASSERT_EQUAL_INT(0, pthread_create(&producers[i], NULL, produce, &numbers[i]));
	}
	for (int64_t until_ms = wait_now_ms() + WAIT_MAX_MS; completed < PRODUCERS * JOBS / 2;) {
		TEST_ASSERT_TRUE(wait_now_ms() < until_ms);
		qless_stopper_stop(stopper);
		expect_answer("PONG", "PING");
		qless_stopper_reset(stopper);
	}
	for (int i = 0; i < PRODUCERS; i++)
		expect_end(producers[i]);
	WAIT_UNTIL(completed == PRODUCERS * JOBS);
	is_over = true;
	qless_stopper_stop(stopper);
	for (int i = 0; i < WORKERS; i++)
		expect_end(workers[i]);
	TEST_ASSERT_TRUE(given_up > 0);
	expect_state("complete", "p0-0");
}

static void threads_share_a_store(void)
{
	run_all(QLESS_STORE_SYNC_EVERYSEC);
}

static void threads_share_a_store_that_syncs(void)
{
	run_all(QLESS_STORE_SYNC_ALWAYS);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(threads_share_a_store);
	RUN(threads_share_a_store_that_syncs);
	return UNIT_RESULT();
}
