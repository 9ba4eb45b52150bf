#include "sys/crash.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sys/log.h"
#include "tempdir.h"
#include "unit.h"

#define STACK_BYTES ((rlim_t)8 * 1024 * 1024)

static struct tempdir dir;

void setUp(void)
{
	tempdir_init(&dir);
}

void tearDown(void)
{
	tempdir_done(&dir);
}

/* Exported, so that a backtrace can name them. */
void touch_an_address(volatile int *address);
void recurse_without_end(volatile char *from);
void raise_a_signal(int number);

/* Must not be inlined into its caller. */
__attribute__((noinline)) void touch_an_address(volatile int *address)
{
	*address = 1;
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void recurse_without_end(volatile char *from)
{
	volatile char frame[4096];

	frame[0] = from != NULL ? from[0] : 0;
	if (frame[0] == 0)
		recurse_without_end(frame);
	frame[1] = 1;
}

__attribute__((noinline)) void raise_a_signal(int number)
{
	raise(number);
	__asm__ volatile("" ::: "memory");
}

static void touch_page_zero(void)
{
	touch_an_address((volatile int *)(uintptr_t)0x10);
}

static void overflow_the_stack(void)
{
	recurse_without_end(NULL);
}

static void abort_as_an_assertion_does(void)
{
	abort();
}

static void raise_sigfpe(void)
{
	raise_a_signal(SIGFPE);
}

/* Crash in a child whose log is a file. Returns the signal; tempdir_read() returns the report. */
static int crash_by(void (*body)(void))
{
	const struct log_options options = { .level = LOG_LEVEL_NOTICE,
					     .file = tempdir_file(&dir, "log") };
	struct buf error = BUF_INIT(1000);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rlimit stack;

		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		/* The stack may be unlimited, and endless recursion would use all memory. */
		getrlimit(RLIMIT_STACK, &stack);
		stack.rlim_cur = STACK_BYTES < stack.rlim_max ? STACK_BYTES : stack.rlim_max;
		setrlimit(RLIMIT_STACK, &stack);
		if (log_open(&options, &error) != 0)
			_exit(1);
		crash_install("1.2.3");
		body();
		_exit(2);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFSIGNALED(status));
	return WTERMSIG(status);
}

static void the_report_names_the_signal_and_the_place(void)
{
	const char *report;

	TEST_ASSERT_EQUAL_INT(SIGSEGV, crash_by(touch_page_zero));
	report = tempdir_read(&dir, "log");
	TEST_ASSERT_EQUAL_INT(
		0, strncmp(report, "=== qlessd 1.2.3 crashed: SIGSEGV (11), code 1, address 0x10, ",
			   62));
	TEST_ASSERT_NOT_NULL(strstr(report, "touch_an_address"));
	TEST_ASSERT_NOT_NULL(strstr(report, " is loaded at 0x"));
	TEST_ASSERT_NOT_NULL(strstr(report, "\naddr2line -pifCe /"));
	TEST_ASSERT_NOT_NULL(strstr(report, "test_sys_crash"));
	TEST_ASSERT_NOT_NULL(strstr(report, "=== End of the crash report\n"));
}

static void a_signal_that_was_sent_is_reported_without_an_address(void)
{
	const char *report;

	TEST_ASSERT_EQUAL_INT(SIGFPE, crash_by(raise_sigfpe));
	report = tempdir_read(&dir, "log");
	TEST_ASSERT_NOT_NULL(strstr(report, "SIGFPE (8), code -6, at instruction 0x"));
	TEST_ASSERT_NOT_NULL(strstr(report, "raise_a_signal"));
}

static void an_abort_is_reported(void)
{
	TEST_ASSERT_EQUAL_INT(SIGABRT, crash_by(abort_as_an_assertion_does));
	TEST_ASSERT_NOT_NULL(strstr(tempdir_read(&dir, "log"), "crashed: SIGABRT (6)"));
}

static void a_stack_overflow_is_reported(void)
{
	TEST_ASSERT_EQUAL_INT(SIGSEGV, crash_by(overflow_the_stack));
	TEST_ASSERT_NOT_NULL(strstr(tempdir_read(&dir, "log"), "recurse_without_end"));
	TEST_ASSERT_NOT_NULL(strstr(tempdir_read(&dir, "log"), "=== End of the crash report\n"));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_report_names_the_signal_and_the_place);
	RUN(a_signal_that_was_sent_is_reported_without_an_address);
	RUN(an_abort_is_reported);
	RUN(a_stack_overflow_is_reported);
	return UNIT_RESULT();
}
