/*
 * A worker and its producer, wherever the jobs are:
 *
 *	worker /var/lib/mail                 in a directory of this process
 *	worker redis://127.0.0.1:7537        on a qlessd, which other workers share
 *
 * It ends after a job of the class Stop, and on SIGTERM. A job that it works on then is finished.
 */
#include <qless_store.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct qless_stopper *stopper;
static struct qless_store_error error;

static void on_term(int number)
{
	(void)number;
	qless_stopper_stop(stopper);
}

/* Returns the result of a call unless it has failed. */
static int check(int result)
{
	if (result >= 0)
		return result;
	fprintf(stderr, "error %d: %s %s\n", error.code, error.word, error.text);
	exit(1);
}

static struct qless_store *open_store(const char *where)
{
	struct qless_store *store;

	if (strstr(where, "://") != NULL)
		check(qless_connect(where, NULL, &store, &error));
	else
		check(qless_store_open(where, NULL, &store, &error));
	return store;
}

static void put(struct qless_store *store, const char *jid, const char *klass, const char *data)
{
	struct qless_store_put put = { .size = sizeof put,
				       .queue = qless_text("mail"),
				       .jid = qless_text(jid),
				       .klass = qless_text(klass),
				       .data = qless_text(data) };

	check(qless_store_put(store, &put, NULL, &error));
}

/* Returns false for the last job. */
static bool work(struct qless_store_job *job)
{
	const char *jid = qless_store_job_jid(job).ptr, *data = qless_store_job_data(job).ptr;
	struct qless_store_complete done = { .size = sizeof done };

	if (strcmp(qless_store_job_klass(job).ptr, "Stop") == 0) {
		check(qless_store_complete(job, NULL, &error));
		return false;
	}
	if (strstr(data, "@") == NULL) {
		check(qless_store_fail(job, qless_text("bad-address"), qless_text("no @"),
				       qless_text(NULL), &error));
		printf("%s failed: %s\n", jid, data);
	} else if (strstr(data, "busy") != NULL && qless_store_job_retries_left(job) == 5) {
		printf("%s is put back, with %d retries left\n", jid,
		       check(qless_store_retry(job, 0.05, &error)));
	} else {
		done.data = qless_text("{\"sent\":true}");
		check(qless_store_complete(job, &done, &error));
		printf("%s sent: %s\n", jid, data);
	}
	return true;
}

static void work_until_stopped(struct qless_store_worker *worker)
{
	struct qless_next_options options = { .size = sizeof options, .stopper = stopper };
	struct qless_str queue = qless_text("mail");
	struct qless_store_job *job;
	bool goes_on = true;

	while (goes_on) {
		int found = qless_store_next(worker, &queue, 1, &options, &job, &error);

		if (found == QLESS_STORE_ESTOPPED)
			return;
		check(found);
		goes_on = work(job);
		qless_store_job_free(job);
	}
}

int main(int argc, char **argv)
{
	struct qless_store_worker *worker;
	struct qless_store *store;
	struct qless_store_put stop = { .size = sizeof stop,
					.queue = qless_text("mail"),
					.jid = qless_text("stop"),
					.klass = qless_text("Stop"),
					.delay_s = 0.5 };

	if (argc != 2) {
		fprintf(stderr, "usage: worker DIRECTORY|ADDRESS\n");
		return 2;
	}
	stopper = qless_stopper_new();
	signal(SIGTERM, on_term);
	store = open_store(argv[1]);
	put(store, "letter-1", "Send", "{\"to\":\"ann@example.net\"}");
	put(store, "letter-2", "Send", "{\"to\":\"nobody\"}");
	put(store, "letter-3", "Send", "{\"to\":\"busy@example.net\"}");
	check(qless_store_put(store, &stop, NULL, &error));

	check(qless_store_worker_new(store, NULL, &worker, &error));
	work_until_stopped(worker);
	check(qless_store_worker_free(worker, &error));
	check(qless_store_close(store, &error));
	qless_stopper_free(stopper);
	return 0;
}
