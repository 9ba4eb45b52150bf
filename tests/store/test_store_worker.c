/*
 * Workers. All cases run twice: with jobs in a directory of this process, and on a server.
 */
#include <signal.h>

#include "fixture.h"
#include "qlessd.h"

static bool on_server;
static struct qlessd q;

void setUp(void)
{
	char address[128];

	if (!on_server) {
		tempdir_init(&dir);
		open_store(QLESS_STORE_SYNC_EVERYSEC);
		return;
	}
	qlessd_start(&q);
	snprintf(address, sizeof address, "unix://%s", q.socket_path);
	MUST(qless_connect(address, NULL, &store, &error));
}

void tearDown(void)
{
	qless_store_close(store, NULL);
	store = NULL;
	if (on_server)
		qlessd_stop(&q);
	else
		tempdir_done(&dir);
}

/* ---- jobs from their beginning to their end ---- */

static void a_worker_completes_fails_and_retries_jobs(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	put_job("mail", "j1", 0);
	put_job("mail", "j2", 0);
	put_job("mail", "j3", 0);
	expect_text("w1", qless_store_worker_name(worker));
	job = next_job(worker, "mail");
	expect_text("j1", qless_store_job_jid(job));
	expect_text("running", qless_store_job_state(job));
	expect_text("{\"to\":\"ann\"}", qless_store_job_data(job));
	TEST_ASSERT_EQUAL_INT64(1, qless_store_job_lock(job));
	MUST(qless_store_heartbeat(job, qless_text(NULL), &error));
	MUST(qless_store_complete(job, NULL, &error));
	MUST_FAIL(QLESS_STORE_EARGUMENT, qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	expect_state("complete", "j1");

	job = next_job(worker, "mail");
	MUST(qless_store_fail(job, qless_text("refused"), qless_text("550"),
			      qless_text("{\"tries\":2}"), &error));
	qless_store_job_free(job);
	MUST_FIND(qless_store_get(store, qless_text("j2"), &job, &error));
	expect_text("failed", qless_store_job_state(job));
	expect_text("{\"tries\":2}", qless_store_job_data(job));
	expect_in("\"group\":\"refused\"", qless_store_job_json(job).ptr);
	MUST_FAIL(QLESS_STORE_EARGUMENT, qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);

	job = next_job(worker, "mail");
	TEST_ASSERT_EQUAL_INT_MESSAGE(4, qless_store_retry(job, 0, &error), error.text);
	qless_store_job_free(job);
	job = next_job(worker, "mail");
	expect_text("j3", qless_store_job_jid(job));
	TEST_ASSERT_EQUAL_INT64(4, qless_store_job_retries_left(job));
	qless_store_job_free(job);
	end_worker(worker);
}

static void a_completed_job_moves_to_its_next_queue(void)
{
	const struct qless_store_complete options = { .size = sizeof options,
						      .data = qless_text("{\"step\":2}"),
						      .next = qless_text("archive"),
						      .delay_s = 60 };
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	put_job("mail", "j1", 0);
	job = next_job(worker, "mail");
	MUST(qless_store_complete(job, &options, &error));
	qless_store_job_free(job);
	MUST_FIND(qless_store_get(store, qless_text("j1"), &job, &error));
	expect_text("archive", qless_store_job_queue(job));
	expect_text("scheduled", qless_store_job_state(job));
	expect_text("{\"step\":2}", qless_store_job_data(job));
	qless_store_job_free(job);
	end_worker(worker);
}

static void a_result_is_kept_with_the_job(void)
{
	const struct qless_store_complete options = { .size = sizeof options,
						      .result = qless_text("queued as 4711") };
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;
	struct qless_reply *reply;

	put_job("mail", "j1", 0);
	job = next_job(worker, "mail");
	MUST(qless_store_complete(job, &options, &error));
	qless_store_job_free(job);
	reply = ask("JOB.RESULT j1");
	expect_text("complete", qless_reply_text(qless_reply_find(reply, "state")));
	expect_text("queued as 4711", qless_reply_text(qless_reply_find(reply, "result")));
	qless_reply_free(reply);
	/* The data stay as they were put. */
	MUST_FIND(qless_store_get(store, qless_text("j1"), &job, &error));
	expect_text("{\"to\":\"ann\"}", qless_store_job_data(job));
	qless_store_job_free(job);
	end_worker(worker);
}

static void a_raw_job_has_the_bytes_that_were_put(void)
{
	static const char bytes[] = { 'a', 0, '"', (char)0xff, '\n', '{' };
	const struct qless_str raw = qless_text("raw");
	const struct qless_store_put put = { .size = sizeof put,
					     .queue = qless_text("mail"),
					     .jid = qless_text("j1"),
					     .klass = qless_text("Send"),
					     .data = { bytes, sizeof bytes },
					     .words = &raw,
					     .word_count = 1 };
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job, *read;

	MUST(qless_store_put(store, &put, NULL, &error));
	job = next_job(worker, "mail");
	TEST_ASSERT_EQUAL_UINT64(sizeof bytes, qless_store_job_data(job).len);
	TEST_ASSERT_EQUAL_MEMORY(bytes, qless_store_job_data(job).ptr, sizeof bytes);
	expect_in("\"raw\":true", qless_store_job_json(job).ptr);
	MUST(qless_store_heartbeat(job, (struct qless_str){ bytes, 2 }, &error));
	MUST_FIND(qless_store_get(store, qless_text("j1"), &read, &error));
	TEST_ASSERT_EQUAL_UINT64(2, qless_store_job_data(read).len);
	TEST_ASSERT_EQUAL_MEMORY(bytes, qless_store_job_data(read).ptr, 2);
	qless_store_job_free(read);
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	end_worker(worker);
}

static void a_retry_without_a_delay_leaves_it_to_the_backoff_of_the_job(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	tell("PUT me mail j1 Send {} 0 backoff fixed 1000 1000");
	job = next_job(worker, "mail");
	TEST_ASSERT_EQUAL_INT_MESSAGE(4, qless_store_retry(job, -1, &error), error.text);
	qless_store_job_free(job);
	expect_state("scheduled", "j1");
	end_worker(worker);
}

static void queues_are_served_in_order_or_in_turn(void)
{
	const struct qless_str queues[] = { qless_text("a"), qless_text("b") };
	struct qless_next_options options = { .size = sizeof options };
	struct qless_store_worker *worker = start_worker("w1");
	static const char *const jids[] = { "a1", "a2", "b1", "b2" };
	static const char *const expected[] = { "a1", "a2", "b1", "b2", "a1", "b1", "a2", "b2" };

	for (int i = 0; i < 8; i++) {
		struct qless_store_job *job;

		for (int k = 0; i % 4 == 0 && k < 4; k++)
			put_job(jids[k][0] == 'a' ? "a" : "b", jids[k], 0);
		options.round_robin = i >= 4;
		MUST_FIND(qless_store_next(worker, queues, 2, &options, &job, &error));
		expect_text(expected[i], qless_store_job_jid(job));
		MUST(qless_store_complete(job, NULL, &error));
		qless_store_job_free(job);
	}
	end_worker(worker);
}

static void jobs_of_a_worker_that_ends_return_at_once(void)
{
	struct qless_store_worker *worker = start_worker("w1");

	put_job("mail", "j1", 0);
	put_job("mail", "j2", 0);
	/* A job that is freed stays with its worker. */
	qless_store_job_free(next_job(worker, "mail"));
	qless_store_job_free(next_job(worker, "mail"));
	TEST_ASSERT_FALSE(has_job(worker, "mail"));
	expect_state("running", "j1");
	end_worker(worker);
	expect_state("waiting", "j1");
	expect_state("waiting", "j2");
}

/* ---- waiting ---- */

static void expect_job(struct waiter *waiter, const char *jid)
{
	pthread_join(waiter->thread, NULL);
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, waiter->rc, waiter->error.text);
	expect_text(jid, qless_store_job_jid(waiter->job));
	qless_store_job_free(waiter->job);
}

static void a_worker_waits_for_a_job_that_another_thread_puts(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct waiter waiter;

	begin_wait(&waiter, worker, NULL);
	put_job("mail", "j1", 0);
	expect_job(&waiter, "j1");
	end_worker(worker);
}

static void a_wait_ends_when_its_time_is_over(void)
{
	struct qless_next_options options = { .size = sizeof options, .timeout_s = 0.02 };
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_str queue = qless_text("mail");
	struct qless_store_job *job = NULL;

	TEST_ASSERT_EQUAL_INT(0, qless_store_next(worker, &queue, 1, &options, &job, &error));
	TEST_ASSERT_NULL(job);
	end_worker(worker);
}

static void what_becomes_due_ends_a_wait(void)
{
	struct qless_store_worker *worker = start_worker("w1");

	put_job("mail", "delayed", 0.1);
	qless_store_job_free(next_job(worker, "mail"));
	expect_state("running", "delayed");

	tell("CONFIG.SET heartbeat 0.2");
	tell("CONFIG.SET grace-period 0");
	put_job("stuck", "j1", 0);
	tell("MPOP another 1 stuck");
	qless_store_job_free(next_job(worker, "stuck"));
	expect_state("running", "j1");
	end_worker(worker);
}

static void ticks_of_a_clock_end_a_wait(void)
{
	const struct qless_str recur[] = { qless_text("RECUR"),	     qless_text("mail"),
					   qless_text("r"),	     qless_text("Send"),
					   qless_text("{}"),	     qless_text("cron"),
					   qless_text("* * * * * *") };
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	MUST(qless_store_call(store, recur, 7, NULL, NULL, &error));
	job = next_job(worker, "mail");
	expect_text("r-1", qless_store_job_jid(job));
	qless_store_job_free(job);
	end_worker(worker);
}

static void a_stopper_ends_a_wait(void)
{
	struct qless_stopper *stopper = qless_stopper_new();
	struct qless_store_worker *worker = start_worker("w1");
	struct waiter waiter;

	for (int i = 0; i < 3; i++) {
		begin_wait(&waiter, worker, stopper);
		qless_stopper_stop(stopper);
		pthread_join(waiter.thread, NULL);
		TEST_ASSERT_EQUAL_INT(QLESS_STORE_ESTOPPED, waiter.rc);
		TEST_ASSERT_FALSE(somebody_waits());
		/* It ends calls to come, too, until it is reset. */
		wait_for_job(&waiter);
		TEST_ASSERT_EQUAL_INT(QLESS_STORE_ESTOPPED, waiter.rc);
		TEST_ASSERT_TRUE(qless_stopper_is_stopped(stopper));
		qless_stopper_reset(stopper);
		TEST_ASSERT_FALSE(qless_stopper_is_stopped(stopper));
	}
	/* Nothing is handed to a wait that was stopped. */
	put_job("mail", "j1", 0);
	expect_state("waiting", "j1");
	TEST_ASSERT_TRUE(has_job(worker, "mail"));
	end_worker(worker);
	qless_stopper_free(stopper);
}

static struct qless_stopper *signalled;

static void on_signal(int number)
{
	(void)number;
	qless_stopper_stop(signalled);
}

static void a_signal_handler_may_stop_a_wait(void)
{
	struct sigaction action = { .sa_handler = on_signal }, before;
	struct qless_store_worker *worker = start_worker("w1");
	struct waiter waiter;

	signalled = qless_stopper_new();
	sigaction(SIGUSR2, &action, &before);
	begin_wait(&waiter, worker, signalled);
	pthread_kill(waiter.thread, SIGUSR2);
	pthread_join(waiter.thread, NULL);
	TEST_ASSERT_EQUAL_INT(QLESS_STORE_ESTOPPED, waiter.rc);
	sigaction(SIGUSR2, &before, NULL);
	end_worker(worker);
	qless_stopper_free(signalled);
}

/* Whatever the moment in which a wait is stopped, the job is either with its worker or waiting. */
static void no_job_is_lost_between_a_stop_and_a_hand_over(void)
{
	struct qless_stopper *stopper = qless_stopper_new();
	struct qless_store_worker *worker = start_worker("w1");
	unsigned long long rng = 3;
	struct waiter waiter;
	int given = 0;

	for (int i = 0; i < 200; i++) {
		unsigned long long turns = unit_random(&rng) % 2000;

		begin_wait(&waiter, worker, stopper);
		put_job("mail", "j1", 0);
		for (volatile unsigned long long k = 0; k < turns; k++)
			;
		qless_stopper_stop(stopper);
		pthread_join(waiter.thread, NULL);
		qless_stopper_reset(stopper);
		if (waiter.rc == 1)
			given++;
		else
			waiter.job = next_job(worker, "mail");
		expect_text("j1", qless_store_job_jid(waiter.job));
		MUST(qless_store_complete(waiter.job, NULL, &error));
		qless_store_job_free(waiter.job);
	}
	TEST_ASSERT_TRUE(given > 0);
	end_worker(worker);
	qless_stopper_free(stopper);
}

static void one_thread_at_a_time_waits_with_a_worker(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_str queue = qless_text("mail");
	struct qless_store_job *job;
	struct waiter waiter;

	begin_wait(&waiter, worker, NULL);
	MUST_FAIL(QLESS_STORE_EARGUMENT, qless_store_next(worker, &queue, 1, NULL, &job, &error));
	MUST_FAIL(QLESS_STORE_EARGUMENT, qless_store_worker_free(worker, &error));
	put_job("mail", "j1", 0);
	expect_job(&waiter, "j1");
	end_worker(worker);
}

/* ---- locks ---- */

static double read_expiry(const char *jid)
{
	struct qless_store_job *job;
	const char *at;
	double expires;

	MUST_FIND(qless_store_get(store, qless_text(jid), &job, &error));
	at = strstr(qless_store_job_json(job).ptr, "\"expires\":");
	TEST_ASSERT_NOT_NULL(at);
	expires = strtod(at + strlen("\"expires\":"), NULL);
	qless_store_job_free(job);
	return expires;
}

static void the_lock_of_a_long_job_is_renewed(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;
	double first;

	tell("CONFIG.SET heartbeat 0.5");
	put_job("mail", "j1", 0);
	job = next_job(worker, "mail");
	first = read_expiry("j1");
	WAIT_UNTIL(read_expiry("j1") > first + 1);
	TEST_ASSERT_FALSE(qless_store_job_is_lost(job));
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	end_worker(worker);
}

static void a_cancelled_job_is_lost(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	put_job("mail", "j1", 0);
	job = next_job(worker, "mail");
	TEST_ASSERT_FALSE(qless_store_job_is_lost(job));
	tell("CANCEL j1");
	WAIT_UNTIL(qless_store_job_is_lost(job));
	MUST_FAIL(QLESS_STORE_EREFUSED, qless_store_complete(job, NULL, &error));
	TEST_ASSERT_EQUAL_STRING("NOJOB", error.word);
	qless_store_job_free(job);
	end_worker(worker);
}

static void an_earlier_hand_out_cannot_end_a_job(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *first, *second;

	put_job("mail", "j1", 0);
	first = next_job(worker, "mail");
	tell("TIMEOUT j1");
	second = next_job(worker, "mail");
	TEST_ASSERT_TRUE(qless_store_job_lock(second) > qless_store_job_lock(first));
	MUST_FAIL(QLESS_STORE_EREFUSED, qless_store_complete(first, NULL, &error));
	TEST_ASSERT_EQUAL_STRING("NOTOWNER", error.word);
	TEST_ASSERT_TRUE(qless_store_job_is_lost(first));
	MUST_FAIL(QLESS_STORE_EREFUSED, qless_store_heartbeat(first, qless_text(NULL), &error));
	MUST(qless_store_complete(second, NULL, &error));
	qless_store_job_free(first);
	qless_store_job_free(second);
	end_worker(worker);
}

/* ---- lost connections ---- */

static int count_attached(void)
{
	struct qless_reply *reply = ask("WORKER.LIST");
	const char *text = qless_reply_text(reply).ptr;
	int count = 0;

	/* A worker whose connection has ended has no address. */
	for (const char *at = text; (at = strstr(at, "\"address\":\"")) != NULL; at++)
		count += at[strlen("\"address\":\"")] != '"';
	qless_reply_free(reply);
	return count;
}

/* Ends all connections but that of the call. */
static void end_connections(void)
{
	tell("CLIENT KILL TYPE normal");
}

static void a_worker_that_works_is_attached_again(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	put_job("mail", "j1", 0);
	job = next_job(worker, "mail");
	for (int i = 0; i < 3; i++) {
		end_connections();
		WAIT_UNTIL(count_attached() == 1);
	}
	TEST_ASSERT_FALSE(qless_store_job_is_lost(job));
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	put_job("mail", "j2", 0);
	TEST_ASSERT_TRUE(has_job(worker, "mail"));
	end_worker(worker);
	TEST_ASSERT_EQUAL_INT(0, count_attached());
}

/* The thread that watches connections looks around while the worker waits. */
static void the_connection_of_a_worker_is_watched_after_a_wait(void)
{
	struct qless_store_worker *worker = start_worker("w1"), *other;
	struct qless_store_job *job;
	struct waiter waiter;

	begin_wait(&waiter, worker, NULL);
	other = start_worker("w2");
	put_job("mail", "j1", 0);
	pthread_join(waiter.thread, NULL);
	TEST_ASSERT_EQUAL_INT(1, waiter.rc);
	job = waiter.job;
	end_connections();
	WAIT_UNTIL(count_attached() == 2);
	TEST_ASSERT_FALSE(qless_store_job_is_lost(job));
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	end_worker(worker);
	end_worker(other);
}

static void a_worker_that_waits_goes_on_waiting(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct waiter waiter;

	begin_wait(&waiter, worker, NULL);
	end_connections();
	WAIT_UNTIL(somebody_waits());
	put_job("mail", "j1", 0);
	expect_job(&waiter, "j1");
	end_worker(worker);
}

/* A pop in the name of the worker stands for a reply that was lost on its way. */
static void a_job_whose_hand_over_was_lost_comes_with_the_next_call(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	put_job("mail", "j1", 0);
	tell("MPOP w1 1 mail");
	TEST_ASSERT_FALSE(has_job(worker, "mail"));
	end_connections();
	WAIT_UNTIL(count_attached() == 1);
	job = next_job(worker, "other");
	expect_text("j1", qless_store_job_jid(job));
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	end_worker(worker);
}

static void a_worker_may_resume_the_jobs_of_an_earlier_one(void)
{
	struct qless_store_worker_options options = { .size = sizeof options,
						      .name = qless_text("w1"),
						      .resumes = true };
	struct qless_store_worker *worker;
	struct qless_store_job *job;

	put_job("mail", "j1", 0);
	put_job("mail", "j2", 0);
	tell("MPOP w1 1 mail COUNT 2");
	tell("COMPLETE j2 w1 mail {}");
	worker = start_worker("w1");
	TEST_ASSERT_FALSE(has_job(worker, "mail"));
	/* The jobs of the earlier one stay with its name. */
	end_worker(worker);
	expect_state("running", "j1");

	MUST(qless_store_worker_new(store, &options, &worker, &error));
	job = next_job(worker, "mail");
	expect_text("j1", qless_store_job_jid(job));
	TEST_ASSERT_FALSE(has_job(worker, "mail"));
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	end_worker(worker);
}

static void a_worker_without_a_name_gets_one_of_its_own(void)
{
	struct qless_store_worker *a, *b;

	MUST(qless_store_worker_new(store, NULL, &a, &error));
	MUST(qless_store_worker_new(store, NULL, &b, &error));
	TEST_ASSERT_TRUE(strcmp(qless_store_worker_name(a).ptr, qless_store_worker_name(b).ptr) !=
			 0);
	TEST_ASSERT_EQUAL_INT(2, count_attached());
	end_worker(a);
	end_worker(b);
}

/* ---- jobs that are kept ---- */

static bool is_gone(const char *jid)
{
	struct qless_store_job *job;
	int rc = qless_store_get(store, qless_text(jid), &job, &error);

	TEST_ASSERT_TRUE_MESSAGE(rc >= 0, error.text);
	if (rc == 1)
		qless_store_job_free(job);
	return rc == 0;
}

static void fail_job(struct qless_store_worker *worker, const char *jid)
{
	struct qless_store_job *job;

	put_job("mail", jid, 0);
	job = next_job(worker, "mail");
	MUST(qless_store_fail(job, qless_text("refused"), qless_text("550"), qless_text(""),
			      &error));
	qless_store_job_free(job);
}

static void the_oldest_failed_jobs_are_deleted(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	char jid[16];

	for (int i = 0; i < 30; i++) {
		snprintf(jid, sizeof jid, "j%d", i);
		fail_job(worker, jid);
	}
	tell("CONFIG.SET failed-history-count 10");
	WAIT_UNTIL(is_gone("j19"));
	TEST_ASSERT_FALSE(is_gone("j20"));
	TEST_ASSERT_EQUAL_INT64(20, read_figure("failed_swept"));
	tell("CONFIG.SET failed-history 0.001");
	WAIT_UNTIL(is_gone("j29"));
	end_worker(worker);
}

static void complete_jobs_are_deleted_when_their_time_is_over(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	tell("PUT me mail short Send {} 0 priority 1 retain 0.01");
	tell("PUT me mail long Send {} 0 retain 1000");
	for (int i = 0; i < 2; i++) {
		job = next_job(worker, "mail");
		MUST(qless_store_complete(job, NULL, &error));
		qless_store_job_free(job);
	}
	WAIT_UNTIL(is_gone("short"));
	expect_state("complete", "long");
	end_worker(worker);
}

static void run_all(int argc, char **argv)
{
	RUN(a_worker_completes_fails_and_retries_jobs);
	RUN(a_completed_job_moves_to_its_next_queue);
	RUN(a_result_is_kept_with_the_job);
	RUN(a_raw_job_has_the_bytes_that_were_put);
	RUN(a_retry_without_a_delay_leaves_it_to_the_backoff_of_the_job);
	RUN(queues_are_served_in_order_or_in_turn);
	RUN(jobs_of_a_worker_that_ends_return_at_once);
	RUN(a_worker_waits_for_a_job_that_another_thread_puts);
	RUN(a_wait_ends_when_its_time_is_over);
	RUN(what_becomes_due_ends_a_wait);
	RUN(ticks_of_a_clock_end_a_wait);
	RUN(a_stopper_ends_a_wait);
	RUN(a_signal_handler_may_stop_a_wait);
	RUN(no_job_is_lost_between_a_stop_and_a_hand_over);
	RUN(one_thread_at_a_time_waits_with_a_worker);
	RUN(the_lock_of_a_long_job_is_renewed);
	RUN(a_cancelled_job_is_lost);
	RUN(an_earlier_hand_out_cannot_end_a_job);
	RUN(a_worker_that_works_is_attached_again);
	RUN(the_connection_of_a_worker_is_watched_after_a_wait);
	RUN(a_worker_that_waits_goes_on_waiting);
	RUN(a_job_whose_hand_over_was_lost_comes_with_the_next_call);
	RUN(a_worker_may_resume_the_jobs_of_an_earlier_one);
	RUN(a_worker_without_a_name_gets_one_of_its_own);
	RUN(the_oldest_failed_jobs_are_deleted);
	RUN(complete_jobs_are_deleted_when_their_time_is_over);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	run_all(argc, argv);
	on_server = true;
	run_all(argc, argv);
	return UNIT_RESULT();
}
