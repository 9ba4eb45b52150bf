/*
 * A store leaves the process of the program as it was, and knows about forks.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fixture.h"

#define SIGNALS_MAX 65

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

/* ---- the process ---- */

struct process {
	struct sigaction actions[SIGNALS_MAX];
	sigset_t blocked;
	struct rlimit files;
	mode_t umask;
	char directory[4096];
	int descriptors;
	int threads;
};

static int count_entries(const char *path)
{
	DIR *d = opendir(path);
	int count = 0;

	TEST_ASSERT_NOT_NULL(d);
	while (readdir(d) != NULL)
		count++;
	closedir(d);
	return count;
}

static void look(struct process *process)
{
	memset(process, 0, sizeof *process);
	for (int i = 1; i < SIGNALS_MAX; i++)
		sigaction(i, NULL, &process->actions[i]);
	pthread_sigmask(SIG_SETMASK, NULL, &process->blocked);
	getrlimit(RLIMIT_NOFILE, &process->files);
	process->umask = umask(0);
	umask(process->umask);
	TEST_ASSERT_NOT_NULL(getcwd(process->directory, sizeof process->directory));
	process->descriptors = count_entries("/proc/self/fd");
	process->threads = count_entries("/proc/self/task");
}

static void expect_same_settings(const struct process *before, const struct process *after)
{
	for (int i = 1; i < SIGNALS_MAX; i++)
		TEST_ASSERT_TRUE_MESSAGE(before->actions[i].sa_handler ==
						 after->actions[i].sa_handler,
					 strsignal(i));
	TEST_ASSERT_EQUAL_INT(0, memcmp(&before->blocked, &after->blocked, sizeof(sigset_t)));
	TEST_ASSERT_EQUAL_UINT64(before->files.rlim_cur, after->files.rlim_cur);
	TEST_ASSERT_EQUAL_UINT(before->umask, after->umask);
	TEST_ASSERT_EQUAL_STRING(before->directory, after->directory);
}

static void the_process_stays_as_it_was(void)
{
	struct process before, during, after;
	struct qless_store_worker *worker;

	/* The first store may load what stays loaded. */
	open_store(QLESS_STORE_SYNC_EVERYSEC);
	close_store();
	look(&before);
	open_store(QLESS_STORE_SYNC_ALWAYS);
	worker = start_worker("w1");
	put_job("mail", "j1", 0);
	TEST_ASSERT_TRUE(has_job(worker, "mail"));
	tell("BGREWRITEAOF");
	WAIT_UNTIL(read_figure("aof_rewrites_from_log") == 1);
	look(&during);
	expect_same_settings(&before, &during);
	/* There are no child processes, either. */
	TEST_ASSERT_EQUAL_INT(-1, waitpid(-1, NULL, WNOHANG));
	end_worker(worker);
	close_store();
	/* A thread that was joined may be listed for a moment. */
	WAIT_UNTIL(count_entries("/proc/self/task") == before.threads);
	look(&after);
	expect_same_settings(&before, &after);
	TEST_ASSERT_EQUAL_INT(before.descriptors, after.descriptors);
}

static void its_threads_take_no_signals(void)
{
	char path[64], line[256];
	struct dirent *entry;
	DIR *d;

	open_store(QLESS_STORE_SYNC_EVERYSEC);
	end_worker(start_worker("w1"));
	d = opendir("/proc/self/task");
	TEST_ASSERT_NOT_NULL(d);
	while ((entry = readdir(d)) != NULL) {
		unsigned long long blocked = 0;
		FILE *file;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%.20s/status", entry->d_name);
		file = fopen(path, "r");
		TEST_ASSERT_NOT_NULL(file);
		while (fgets(line, sizeof line, file) != NULL)
			sscanf(line, "SigBlk: %llx", &blocked);
		fclose(file);
		TEST_ASSERT_TRUE((blocked & (1ull << (SIGTERM - 1))) != 0);
		TEST_ASSERT_TRUE((blocked & (1ull << (SIGPIPE - 1))) != 0);
	}
	closedir(d);
}

/* ---- several stores ---- */

static void two_stores_have_nothing_in_common(void)
{
	struct qless_store *first, *second;
	char path[128];

	open_store(QLESS_STORE_SYNC_EVERYSEC);
	first = store;
	snprintf(path, sizeof path, "%s/second", dir.path);
	TEST_ASSERT_EQUAL_INT(0, mkdir(path, 0700));
	MUST(qless_store_open(path, NULL, &second, &error));
	store = second;
	put_job("mail", "j1", 0);
	expect_state("waiting", "j1");
	store = first;
	TEST_ASSERT_EQUAL_INT(0, qless_store_get(store, qless_text("j1"),
						 &(struct qless_store_job *){ NULL }, &error));
	MUST(qless_store_close(second, &error));
	put_job("mail", "j2", 0);
	expect_state("waiting", "j2");
	snprintf(path, sizeof path, "rm -r %s/second", dir.path);
	TEST_ASSERT_EQUAL_INT(0, system(path));
}

/* ---- forks ---- */

static void expect_child(pid_t pid)
{
	int status;

	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	TEST_ASSERT_EQUAL_INT(0, WEXITSTATUS(status));
}

static void a_child_gets_an_error_from_every_call(void)
{
	struct qless_store_worker *worker;
	struct qless_str queue = qless_text("mail");
	struct qless_store_job *job;
	pid_t pid;

	open_store(QLESS_STORE_SYNC_EVERYSEC);
	worker = start_worker("w1");
	put_job("mail", "j1", 0);
	job = next_job(worker, "mail");
	pid = fork();
	if (pid == 0) {
		bool ok = run_words(store, "PING", NULL, NULL) == QLESS_STORE_EFORKED &&
			  error.code == QLESS_STORE_EFORKED &&
			  qless_store_complete(job, NULL, NULL) == QLESS_STORE_EFORKED &&
			  qless_store_next(worker, &queue, 1, NULL, &job, NULL) ==
				  QLESS_STORE_EFORKED &&
			  qless_store_worker_new(store, NULL, &worker, NULL) == QLESS_STORE_EFORKED;

		_exit(ok && qless_store_close(store, NULL) == 0 ? 0 : 1);
	}
	expect_child(pid);
	/* The parent goes on. */
	MUST(qless_store_complete(job, NULL, &error));
	qless_store_job_free(job);
	end_worker(worker);
	expect_state("complete", "j1");
}

static void a_child_that_has_closed_the_store_does_not_keep_it_locked(void)
{
	int to_parent[2], to_child[2];
	char byte;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, pipe(to_parent));
	TEST_ASSERT_EQUAL_INT(0, pipe(to_child));
	open_store(QLESS_STORE_SYNC_EVERYSEC);
	put_job("mail", "j1", 0);
	pid = fork();
	if (pid == 0) {
		qless_store_close(store, NULL);
		if (write(to_parent[1], "x", 1) != 1 || read(to_child[0], &byte, 1) != 1)
			_exit(1);
		_exit(0);
	}
	TEST_ASSERT_EQUAL_INT64(1, read(to_parent[0], &byte, 1));
	close_store();
	open_store(QLESS_STORE_SYNC_EVERYSEC);
	expect_state("waiting", "j1");
	TEST_ASSERT_EQUAL_INT64(1, write(to_child[1], "x", 1));
	expect_child(pid);
	for (int i = 0; i < 2; i++) {
		close(to_parent[i]);
		close(to_child[i]);
	}
}

/* A program that does not care for SIGPIPE is not killed by it. */
static void a_closed_connection_raises_no_signal(void)
{
	pid_t pid;

	open_store(QLESS_STORE_SYNC_EVERYSEC);
	close_store();
	pid = fork();
	if (pid == 0) {
		struct qless_store_error own;

		signal(SIGPIPE, SIG_DFL);
		if (qless_store_open(dir.path, NULL, &store, &own) < 0)
			_exit(1);
		run_words(store, "SHUTDOWN", NULL, NULL);
		for (int i = 0; i < 20; i++)
			run_words(store, "PING", NULL, NULL);
		_exit(qless_store_close(store, NULL) == 0 ? 0 : 1);
	}
	expect_child(pid);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_process_stays_as_it_was);
	RUN(its_threads_take_no_signals);
	RUN(two_stores_have_nothing_in_common);
	RUN(a_child_gets_an_error_from_every_call);
	RUN(a_child_that_has_closed_the_store_does_not_keep_it_locked);
	RUN(a_closed_connection_raises_no_signal);
	return UNIT_RESULT();
}
