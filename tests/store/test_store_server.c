/*
 * Stores on a server: connections that cannot be made, and servers that go away.
 */
#include <signal.h>
#include <sys/wait.h>

#include "certs.h"
#include "fixture.h"
#include "qlessd.h"

static struct qlessd q;
static char address[128];

static void start_server(const char *const *args)
{
	qlessd_start_with(&q, args);
	snprintf(address, sizeof address, "redis://127.0.0.1:%d", q.port);
}

void setUp(void)
{
	start_server((const char *const[]){ NULL });
	MUST(qless_connect(address, NULL, &store, &error));
}

void tearDown(void)
{
	qless_store_close(store, NULL);
	store = NULL;
	qlessd_stop(&q);
}

/* ---- connecting ---- */

static int try_to_connect(const char *to, const struct qless_connect_options *options)
{
	struct qless_store *second = NULL;
	int rc = qless_connect(to, options, &second, &error);

	if (rc == 0)
		qless_store_close(second, NULL);
	return rc;
}

static void an_address_may_have_several_forms(void)
{
	char text[256];

	snprintf(text, sizeof text, "127.0.0.1:%d", q.port);
	MUST(try_to_connect(text, NULL));
	MUST(try_to_connect(q.socket_path, NULL));
	snprintf(text, sizeof text, "unix://%s", q.socket_path);
	MUST(try_to_connect(text, NULL));
	MUST_FAIL(QLESS_STORE_EARGUMENT, try_to_connect("http://127.0.0.1", NULL));
	MUST_FAIL(QLESS_STORE_EARGUMENT, try_to_connect(NULL, NULL));
}

static void a_server_that_is_not_there_is_unavailable(void)
{
	char text[64];

	snprintf(text, sizeof text, "127.0.0.1:%d", qlessd_free_port());
	MUST_FAIL(QLESS_STORE_EUNAVAILABLE, try_to_connect(text, NULL));
	expect_in(text, error.text);
	TEST_ASSERT_FALSE(error.may_have_run);
}

static void a_login_is_needed_and_may_be_refused(void)
{
	struct qless_connect_options options = { .size = sizeof options, .password = "secret" };

	close_store();
	qlessd_stop(&q);
	start_server((const char *const[]){ "--requirepass", "secret", NULL });
	MUST(try_to_connect(address, &options));
	options.password = "guess";
	MUST_FAIL(QLESS_STORE_EREFUSED, try_to_connect(address, &options));
	expect_in("WRONGPASS", error.text);
	MUST_FAIL(QLESS_STORE_EREFUSED, try_to_connect(address, NULL));
	expect_in("NOAUTH", error.text);
}

static void a_connection_may_use_tls(void)
{
	struct qless_connect_options options = { .size = sizeof options };
	char port[16], url[64], ca[128], certificate[128], key[128];
	struct tempdir certificates;

	tempdir_init(&certificates);
	certs_make(&certificates);
	snprintf(port, sizeof port, "%d", qlessd_free_port());
	snprintf(url, sizeof url, "rediss://127.0.0.1:%s", port);
	snprintf(ca, sizeof ca, "%s/ca.crt", certificates.path);
	snprintf(certificate, sizeof certificate, "%s/server.crt", certificates.path);
	snprintf(key, sizeof key, "%s/server.key", certificates.path);
	close_store();
	qlessd_stop(&q);
	start_server((const char *const[]){ "--tls-port", port, "--tls-cert-file", certificate,
					    "--tls-key-file", key, "--tls-auth-clients", "no",
					    NULL });
	/* The system does not trust the authority. */
	MUST_FAIL(QLESS_STORE_EREFUSED, try_to_connect(url, NULL));
	expect_in("certificate", error.text);
	options.ca_file = ca;
	MUST(qless_connect(url, &options, &store, &error));
	put_job("mail", "j1", 0);
	expect_state("waiting", "j1");
	tempdir_done(&certificates);
}

static void a_database_is_that_of_the_address_or_the_option(void)
{
	struct qless_connect_options options = { .size = sizeof options, .database = 3 };
	struct qless_store *first = store;
	struct qless_store_job *job;
	char text[160];

	MUST(qless_connect(address, &options, &store, &error));
	put_job("mail", "j1", 0);
	close_store();
	snprintf(text, sizeof text, "%s/3", address);
	MUST(qless_connect(text, NULL, &store, &error));
	expect_state("waiting", "j1");
	close_store();
	store = first;
	TEST_ASSERT_EQUAL_INT(0, qless_store_get(store, qless_text("j1"), &job, &error));
}

/* ---- servers that go away ---- */

static void end_server(int number)
{
	kill(q.pid, number);
	qlessd_wait(&q);
}

static void start_server_again(void)
{
	qlessd_start_again(&q, (const char *const[]){ NULL });
}

static void a_call_finds_the_server_that_has_restarted(void)
{
	put_job("mail", "j1", 0);
	end_server(SIGTERM);
	MUST_FAIL(QLESS_STORE_EUNAVAILABLE, run_words(store, "PING", NULL, NULL));
	start_server_again();
	expect_answer("PONG", "PING");
	expect_state("waiting", "j1");
}

static void a_worker_waits_across_a_restart(void)
{
	struct waiter waiter;

	begin_wait(&waiter, start_worker("w1"), NULL);
	end_server(SIGKILL);
	start_server_again();
	WAIT_UNTIL(run_words(store, "PING", NULL, NULL) == 0);
	put_job("mail", "j1", 0);
	pthread_join(waiter.thread, NULL);
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, waiter.rc, waiter.error.text);
	MUST(qless_store_complete(waiter.job, NULL, &error));
	qless_store_job_free(waiter.job);
	end_worker(waiter.worker);
}

static void a_job_survives_a_restart_while_it_is_worked_on(void)
{
	struct qless_store_worker *worker = start_worker("w1");
	struct qless_store_job *job;

	put_job("mail", "j1", 0);
	job = next_job(worker, "mail");
	end_server(SIGTERM);
	start_server_again();
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	expect_state("complete", "j1");
	end_worker(worker);
}

static void a_wait_without_a_server_ends_with_its_time(void)
{
	struct waiter waiter = { .worker = start_worker("w1"), .timeout_s = 0.2 };

	end_server(SIGTERM);
	wait_for_job(&waiter);
	TEST_ASSERT_EQUAL_INT(QLESS_STORE_EUNAVAILABLE, waiter.rc);
	start_server_again();
	waiter.timeout_s = 100;
	put_job("mail", "j1", 0);
	wait_for_job(&waiter);
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, waiter.rc, waiter.error.text);
	qless_store_job_free(waiter.job);
	end_worker(waiter.worker);
}

/* Completes are repeated while the server is away, and find that it has them already. */
static void completes_are_patient(void)
{
	struct qless_connect_options options = { .size = sizeof options, .patience_s = 0.1 };
	struct qless_store_worker *worker;
	struct qless_store_job *job;

	close_store();
	MUST(qless_connect(address, &options, &store, &error));
	worker = start_worker("w1");
	put_job("mail", "j1", 0);
	job = next_job(worker, "mail");
	end_server(SIGTERM);
	MUST_FAIL(QLESS_STORE_EUNAVAILABLE, qless_store_complete(job, NULL, &error));
	/* The job has not ended, so it can be completed later. */
	start_server_again();
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	end_worker(worker);
}

/* A job of a process that dies returns after the grace period, not only when its lock expires. */
static void jobs_of_a_process_that_dies_return(void)
{
	struct qless_store_worker *worker = start_worker("w2");
	struct qless_store_job *job;
	pid_t pid;

	put_job("mail", "j1", 0);
	pid = fork();
	if (pid == 0) {
		struct qless_store_worker_options own = { .size = sizeof own,
							  .name = qless_text("w1"),
							  .grace_s = 0.05 };
		struct qless_store_worker *first;
		struct qless_str queue = qless_text("mail");

		if (qless_connect(address, NULL, &store, NULL) < 0 ||
		    qless_store_worker_new(store, &own, &first, NULL) < 0 ||
		    qless_store_next(first, &queue, 1, NULL, &job, NULL) != 1)
			_exit(1);
		raise(SIGKILL);
	}
	WAIT_UNTIL(is_in_state("running", "j1"));
	job = next_job(worker, "mail");
	expect_text("j1", qless_store_job_jid(job));
	TEST_ASSERT_EQUAL_INT64(2, qless_store_job_lock(job));
	qless_store_job_free(job);
	end_worker(worker);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_address_may_have_several_forms);
	RUN(a_server_that_is_not_there_is_unavailable);
	RUN(a_login_is_needed_and_may_be_refused);
	RUN(a_connection_may_use_tls);
	RUN(a_database_is_that_of_the_address_or_the_option);
	RUN(a_call_finds_the_server_that_has_restarted);
	RUN(a_worker_waits_across_a_restart);
	RUN(a_job_survives_a_restart_while_it_is_worked_on);
	RUN(a_wait_without_a_server_ends_with_its_time);
	RUN(completes_are_patient);
	RUN(jobs_of_a_process_that_dies_return);
	return UNIT_RESULT();
}
