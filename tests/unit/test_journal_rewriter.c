/*
 * The rewriter: with real files, and with states that misbehave.
 */
#include "journal/rewriter.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "journal_fixture.h"
#include "tempdir.h"
#include "wait.h"

#define CHANGES 300

static struct tempdir dir;
static struct rewriter *rewriter;
static struct rebuild_options odd;
static struct fixture f;

void setUp(void)
{
	tempdir_init(&dir);
	fixture_init(&f);
	odd = (struct rebuild_options){ 0 };
}

void tearDown(void)
{
	rewriter_free(rewriter);
	rewriter = NULL;
	fixture_done(&f);
	tempdir_done(&dir);
}

static struct rewriter_report wait_for_report(void)
{
	struct pollfd news = { .fd = rewriter_fd(rewriter), .events = POLLIN };
	struct rewriter_report report = { 0 };

	while (!rewriter_poll(rewriter, &report))
		TEST_ASSERT_EQUAL_INT(1, poll(&news, 1, WAIT_MAX_MS));
	return report;
}

static struct rewriter_report wait_for_end(void)
{
	struct rewriter_report report;

	do {
		report = wait_for_report();
	} while (!report.is_over);
	return report;
}

static void start_rewriter(const struct rebuild_options *options)
{
	rewriter = rewriter_new(options, dir.path);
	TEST_ASSERT_NOT_NULL(rewriter);
}

static int order(uint64_t number, uint64_t sequence)
{
	struct base_options base = { .number = number, .sequence = sequence, .wall_us = 1 };

	return rewriter_begin(rewriter, &base, STR(""));
}

/* ---- with real files ---- */

static void start_journal(void)
{
	fixture_rebuild(&f);
	f.options.dir = dir.path;
	f.options.io = NULL;
	f.options.threads = true;
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, fixture_start(&f), buf_cstr(&f.error));
}

static void make_changes(struct random_calls *calls)
{
	for (int i = 0; i < CHANGES; i++) {
		if (fixture_step(&f, calls))
			fixture_flush(&f);
	}
}

static void it_makes_the_snapshots_of_a_journal(void)
{
	struct random_calls calls;
	struct journal_info info;

	random_calls_init(&calls, 3);
	start_journal();
	for (unsigned i = 1; i <= 3; i++) {
		make_changes(&calls);
		TEST_ASSERT_TRUE(journal_rewrite(f.journal));
		make_changes(&calls);
		journal_wait(f.journal);
		journal_get_info(f.journal, &info);
		TEST_ASSERT_EQUAL_STRING("", journal_rebuild_error(f.journal));
		TEST_ASSERT_EQUAL_UINT64(i, info.rewrites);
		TEST_ASSERT_EQUAL_UINT64(i, info.rebuilds);
		TEST_ASSERT_EQUAL_UINT64(0, info.forks);
	}
	fixture_expect_same_after_restart(&f);
	TEST_ASSERT_TRUE(f.recovery.manifest.base != 0);
}

static void an_impossible_order_is_answered_with_a_reason(void)
{
	struct rewriter_report report;
	struct random_calls calls;

	random_calls_init(&calls, 4);
	start_journal();
	make_changes(&calls);
	journal_wait(f.journal);
	start_rewriter(&f.rebuild);
	TEST_ASSERT_EQUAL_INT(0, order(9, journal_log(f.journal)->last + 1000));
	report = wait_for_end();
	TEST_ASSERT_EQUAL_INT(-EBADMSG, report.result);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(report.error, "instead of"), report.error);
	/* The rewriter keeps running. */
	TEST_ASSERT_EQUAL_INT(0, order(9, journal_log(f.journal)->last));
	report = wait_for_end();
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, report.result, report.error);
	TEST_ASSERT_EQUAL_INT(0, access(tempdir_file(&dir, "base-00000009"), F_OK));
	TEST_ASSERT_TRUE(report.bytes > RECORD_FILE_HEADER_BYTES);
}

/* ---- with states that misbehave ---- */

static struct recovery_target die(void *arg)
{
	(void)arg;
	raise(SIGKILL);
	return (struct recovery_target){ 0 };
}

static void the_death_of_a_worker_is_reported(void)
{
	odd.begin = die;
	start_rewriter(&odd);
	for (int i = 0; i < 3; i++) {
		struct rewriter_report report;

		TEST_ASSERT_EQUAL_INT(0, order(1, 1));
		report = wait_for_end();
		TEST_ASSERT_EQUAL_INT(-ECHILD, report.result);
		TEST_ASSERT_FALSE(rewriter_poll(rewriter, &report));
	}
}

/* Tell the test that the worker is running, and never end. */
static struct recovery_target hang(void *arg)
{
	int *ends = arg;

	(void)!write(ends[1], "x", 1);
	while (pause() < 0)
		; /* ignored signals do not end it */
	return (struct recovery_target){ 0 };
}

static void start_hanging(int ends[2])
{
	char byte;

	TEST_ASSERT_EQUAL_INT(0, pipe(ends));
	/* Only the standard file descriptors stay open. */
	dup2(ends[1], STDIN_FILENO);
	close(ends[1]);
	ends[1] = STDIN_FILENO;
	odd.begin = hang;
	odd.arg = ends;
	start_rewriter(&odd);
	TEST_ASSERT_EQUAL_INT(0, order(1, 1));
	TEST_ASSERT_EQUAL_INT64(1, read(ends[0], &byte, 1));
	TEST_ASSERT_NOT_NULL(freopen("/dev/null", "r", stdin));
}

/* Every process that had the other end is gone. */
static void expect_gone(int end)
{
	ssize_t got;
	char byte;

	do {
		got = read(end, &byte, 1);
	} while (got == 1);
	TEST_ASSERT_EQUAL_INT64(0, got);
	close(end);
}

static void a_worker_that_hangs_can_be_cancelled(void)
{
	struct rewriter_report report;
	int ends[2];

	start_hanging(ends);
	TEST_ASSERT_FALSE(rewriter_poll(rewriter, &report));
	rewriter_cancel(rewriter);
	rewriter_cancel(rewriter);
	report = wait_for_end();
	TEST_ASSERT_EQUAL_INT(-ECHILD, report.result);
	/* There is nothing left to cancel. */
	rewriter_cancel(rewriter);
	TEST_ASSERT_EQUAL_INT(0, order(1, 1));
	rewriter_free(rewriter);
	rewriter = NULL;
	expect_gone(ends[0]);
}

static void a_worker_that_hangs_ends_with_its_owner(void)
{
	int ends[2];

	start_hanging(ends);
	rewriter_free(rewriter);
	rewriter = NULL;
	expect_gone(ends[0]);
}

/* The only child of this process. */
static pid_t find_child(void)
{
	char path[64];
	int child = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
	file = fopen(path, "r");
	TEST_ASSERT_NOT_NULL(file);
	TEST_ASSERT_EQUAL_INT(1, fscanf(file, "%d", &child));
	fclose(file);
	return child;
}

static void the_owner_does_not_wait_for_a_stopped_rewriter(void)
{
	int ends[2];

	start_hanging(ends);
	kill(find_child(), SIGSTOP);
	rewriter_free(rewriter);
	rewriter = NULL;
	expect_gone(ends[0]);
}

static void an_order_fails_if_the_rewriter_is_gone(void)
{
	struct rewriter_report report;
	int ends[2];

	start_hanging(ends);
	kill(find_child(), SIGKILL);
	report = wait_for_end();
	TEST_ASSERT_EQUAL_INT(-ECHILD, report.result);
	expect_gone(ends[0]);
	TEST_ASSERT_EQUAL_INT(-EPIPE, order(1, 1));
	TEST_ASSERT_FALSE(rewriter_poll(rewriter, &report));
}

static void an_order_has_a_size_limit(void)
{
	struct base_options base = { .number = 1 };
	char *extra = calloc(1, REWRITER_EXTRA_MAX + 1);

	TEST_ASSERT_NOT_NULL(extra);
	odd.begin = die;
	start_rewriter(&odd);
	TEST_ASSERT_EQUAL_INT(
		-E2BIG, rewriter_begin(rewriter, &base, str_make(extra, REWRITER_EXTRA_MAX + 1)));
	TEST_ASSERT_EQUAL_INT(0,
			      rewriter_begin(rewriter, &base, str_make(extra, REWRITER_EXTRA_MAX)));
	TEST_ASSERT_EQUAL_INT(-ECHILD, wait_for_end().result);
	free(extra);
}

/* ---- on a crowded processor ---- */

#define NOBODY 65534
/* The snapshot of an order, and a file that a worker has begun. */
#define ORDERED	   1
#define BEGUN_NAME "base-00000001"

/* In memory that the test shares with the workers. */
struct workers {
	volatile int count;
	volatile bool found_a_file; /* that the worker before has begun */
	volatile int policy;	    /* of the last one */
};

/* Begin a file, and need processor time until the class is not the lowest one. */
static struct recovery_target need_time(void *arg)
{
	struct workers *workers = arg;
	const char *path = tempdir_file(&dir, BEGUN_NAME);

	workers->found_a_file |= access(path, F_OK) == 0;
	workers->count++;
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	while (sched_getscheduler(0) == SCHED_IDLE)
		;
	workers->policy = sched_getscheduler(0);
	raise(SIGKILL);
	return (struct recovery_target){ 0 };
}

/* Processes that need all the time they get. Together they have a third of the weight of a process
 * with the usual priority: a worker starves, but runs often enough to notice that soon. If the test
 * itself runs with the lowest priority, they are still 25 times as heavy as the worker. */
#define BUSY	  5
#define BUSY_NICE 12

static pid_t fork_busy(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + BUSY_NICE);
	for (volatile unsigned i = 0;; i++)
		;
}

/* Start a rewriter that may not raise priorities. It shares one processor with this process. */
static void start_without_privileges(void)
{
	struct rlimit limit;
	uid_t user = geteuid();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	TEST_ASSERT_EQUAL_INT(0, sched_setaffinity(0, sizeof one, &one));
	getrlimit(RLIMIT_NICE, &limit);
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_NICE, &limit);
	TEST_ASSERT_EQUAL_INT(0, chmod(dir.path, 0777));
	TEST_ASSERT_EQUAL_INT(0, seteuid(user == 0 ? NOBODY : user));
	start_rewriter(&odd);
	TEST_ASSERT_EQUAL_INT(0, seteuid(user));
}

static void a_worker_that_starves_is_replaced_by_one_that_does_not(void)
{
	struct workers *workers = mmap(NULL, sizeof *workers, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cpu_set_t before;
	pid_t busy[BUSY];

	TEST_ASSERT_TRUE(workers != MAP_FAILED);
	TEST_ASSERT_EQUAL_INT(0, sched_getaffinity(0, sizeof before, &before));
	odd.begin = need_time;
	odd.arg = workers;
	start_without_privileges();
	for (int i = 0; i < BUSY; i++)
		busy[i] = fork_busy();
	TEST_ASSERT_EQUAL_INT(0, order(ORDERED, 1));
	TEST_ASSERT_EQUAL_INT(-ECHILD, wait_for_end().result);
	for (int i = 0; i < BUSY; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
	sched_setaffinity(0, sizeof before, &before);
	TEST_ASSERT_EQUAL_INT(2, workers->count);
	TEST_ASSERT_EQUAL_INT(SCHED_OTHER, workers->policy);
	TEST_ASSERT_FALSE(workers->found_a_file);
	munmap(workers, sizeof *workers);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(it_makes_the_snapshots_of_a_journal);
	RUN(an_impossible_order_is_answered_with_a_reason);
	RUN(the_death_of_a_worker_is_reported);
	RUN(a_worker_that_hangs_can_be_cancelled);
	RUN(a_worker_that_hangs_ends_with_its_owner);
	RUN(the_owner_does_not_wait_for_a_stopped_rewriter);
	RUN(an_order_fails_if_the_rewriter_is_gone);
	RUN(an_order_has_a_size_limit);
	RUN(a_worker_that_starves_is_replaced_by_one_that_does_not);
	return UNIT_RESULT();
}
