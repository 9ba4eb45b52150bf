/*
 * Background processes: their classes, and that none starves. A busy process competes with them for
 * one processor.
 */
#include "sys/background.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"
#include "wait.h"

/* The highest nice value. */
#define NICEST 19
#define NOBODY 65534
#define PERIOD BACKGROUND_PERIOD_NS

/* A message of a background process, in shared memory. */
struct told {
	volatile int refused; /* the class that it could not take; -1: none */
};

static struct told *told;
static pid_t busy, background;

void setUp(void)
{
	told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT_TRUE(told != MAP_FAILED);
	told->refused = -1;
	busy = background = 0;
}

static void end(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

void tearDown(void)
{
	end(busy);
	end(background);
	munmap(told, sizeof *told);
}

static void note_refusal(enum background_class next)
{
	told->refused = (int)next;
}

/* Fork a process that never sleeps, on the first processor that this one may use. Returns its id.
 * `begin` runs in it. */
static pid_t fork_busy(void (*begin)(void))
{
	cpu_set_t allowed, one;
	pid_t pid;
	size_t cpu = 0;

	sched_getaffinity(0, sizeof allowed, &allowed);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	fflush(NULL);
	pid = fork();
	TEST_ASSERT_TRUE(pid >= 0);
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setaffinity(0, sizeof one, &one);
	begin();
	for (volatile unsigned i = 0;; i++)
		;
}

static struct background state;

static void begin_idle(void)
{
	background_begin(&state, BACKGROUND_IDLE, note_refusal);
}

static void begin_low(void)
{
	background_begin(&state, BACKGROUND_LOW, note_refusal);
}

static void begin_fair(void)
{
	background_begin(&state, BACKGROUND_FAIR, note_refusal);
}

/* Without privileges, SCHED_IDLE is final. */
static void begin_idle_as_nobody(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_NICE, &none);
	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		_exit(1);
	begin_idle();
}

/* Its weight is a third of the usual one: the background process starves, but runs often enough to
 * notice that soon. */
static void begin_competing(void)
{
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 5);
}

static int nice_plus(int more)
{
	int sum = getpriority(PRIO_PROCESS, 0) + more;

	return sum < NICEST ? sum : NICEST;
}

static bool has_class(pid_t pid, int policy, int nice)
{
	return sched_getscheduler(pid) == policy && getpriority(PRIO_PROCESS, (id_t)pid) == nice;
}

static bool is_killed_first(pid_t pid)
{
	char path[64];
	int score = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	if (fscanf(file, "%d", &score) != 1)
		score = 0;
	fclose(file);
	return score == 1000;
}

static void each_class_has_its_policy_and_priority(void)
{
	background = fork_busy(begin_idle);
	WAIT_UNTIL(has_class(background, SCHED_IDLE, nice_plus(0)));
	WAIT_UNTIL(is_killed_first(background));
	end(background);
	background = fork_busy(begin_low);
	WAIT_UNTIL(has_class(background, SCHED_OTHER, nice_plus(10)));
	WAIT_UNTIL(is_killed_first(background));
	end(background);
	background = fork_busy(begin_fair);
	WAIT_UNTIL(has_class(background, SCHED_BATCH, nice_plus(0)));
	WAIT_UNTIL(is_killed_first(background));
}

static void a_share_is_judged_after_a_period(void)
{
	struct background_times since = { 0, 0 };

	TEST_ASSERT_FALSE(background_starves(&since, &(struct background_times){ 0, PERIOD - 1 }));
	TEST_ASSERT_TRUE(background_starves(&since, &(struct background_times){ 0, PERIOD }));
	/* A new period has begun. */
	TEST_ASSERT_FALSE(background_starves(&since, &(struct background_times){ 0, PERIOD + 1 }));
}

static void a_process_that_gets_its_share_does_not_starve(void)
{
	struct background_times since = { 0, 0 };
	int64_t share = PERIOD / BACKGROUND_SHARE;

	TEST_ASSERT_FALSE(
		background_starves(&since, &(struct background_times){ share, PERIOD - share }));
	TEST_ASSERT_FALSE(background_starves(&since, &(struct background_times){ PERIOD, PERIOD }));
}

static void only_the_last_period_counts(void)
{
	struct background_times since = { 0, 0 };

	TEST_ASSERT_FALSE(background_starves(&since, &(struct background_times){ 9 * PERIOD, 0 }));
	TEST_ASSERT_TRUE(
		background_starves(&since, &(struct background_times){ 9 * PERIOD, PERIOD }));
}

static void a_process_that_starves_takes_the_next_class(void)
{
	if (geteuid() != 0)
		TEST_IGNORE_MESSAGE("only root may leave SCHED_IDLE");
	busy = fork_busy(begin_competing);
	background = fork_busy(begin_idle);
	WAIT_UNTIL(has_class(background, SCHED_OTHER, nice_plus(10)));
	TEST_ASSERT_EQUAL_INT(-1, told->refused);
}

static void a_process_without_privileges_says_that_it_starves(void)
{
	busy = fork_busy(begin_competing);
	background = fork_busy(begin_idle_as_nobody);
	WAIT_UNTIL(told->refused == BACKGROUND_LOW);
	TEST_ASSERT_EQUAL_INT(SCHED_IDLE, sched_getscheduler(background));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(each_class_has_its_policy_and_priority);
	RUN(a_share_is_judged_after_a_period);
	RUN(a_process_that_gets_its_share_does_not_starve);
	RUN(only_the_last_period_counts);
	RUN(a_process_that_starves_takes_the_next_class);
	RUN(a_process_without_privileges_says_that_it_starves);
	return UNIT_RESULT();
}
