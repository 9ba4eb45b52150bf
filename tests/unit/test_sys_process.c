#include "sys/process.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/entropy.h"
#include "sys/memory.h"
#include "sys/rlimit.h"
#include "unit.h"

#include "build_config.h"

void setUp(void)
{
}

void tearDown(void)
{
}

static void the_process_knows_its_system_and_executable(void)
{
	struct process_info info;

	process_info_read(&info);
	TEST_ASSERT_EQUAL_INT(getpid(), info.pid);
	TEST_ASSERT_EQUAL_INT(0, strncmp(info.os, "Linux ", 6));
	TEST_ASSERT_EQUAL_INT(0, access(info.executable, X_OK));
	TEST_ASSERT_NOT_NULL(strstr(info.executable, "test_sys_process"));
	TEST_ASSERT_TRUE(info.bits == 64 || info.bits == 32);
}

static void processor_time_and_memory_are_counted(void)
{
	struct process_usage before, after;
	volatile unsigned spin = 0;

	process_usage_read(&before);
	do {
		for (int i = 0; i < 1000000; i++)
			spin++;
		process_usage_read(&after);
	} while (after.user_us == before.user_us);
	TEST_ASSERT_TRUE(after.user_us > before.user_us);
	TEST_ASSERT_TRUE(after.peak_rss_bytes > 100000);
}

/* Allocate and use some memory. */
static char *take(size_t size)
{
	char *block = malloc(size);

	TEST_ASSERT_NOT_NULL(block);
	for (size_t i = 0; i < size; i += 1000)
		((volatile char *)block)[i] = 1;
	return block;
}

static void the_figure_of_the_kernel_follows_allocations(void)
{
	size_t size = (size_t)64 << 20;
	struct memory_figures before, after;
	char *block;

	memory_read(&before);
	block = take(size);
	memory_read(&after);
	TEST_ASSERT_TRUE(after.rss > before.rss + size / 2);
	TEST_ASSERT_TRUE(after.rss < memory_of_machine());
	free(block);
}

#ifdef HAVE_JEMALLOC
static void the_figures_of_the_allocator_follow_allocations(void)
{
	size_t size = (size_t)64 << 20, in_use;
	struct memory_gauge gauge;
	struct memory_figures before, after;
	char *block;

	memory_read(&before);
	memory_gauge_init(&gauge);
	in_use = memory_gauge_read(&gauge);
	block = take(size);
	memory_read(&after);
	TEST_ASSERT_TRUE(memory_gauge_read(&gauge) >= in_use + size);
	TEST_ASSERT_TRUE(after.allocated >= before.allocated + size);
	TEST_ASSERT_TRUE(after.allocated <= after.active);
	TEST_ASSERT_TRUE(after.active <= after.resident);
	TEST_ASSERT_TRUE(after.resident <= after.mapped);
	free(block);
	TEST_ASSERT_TRUE(memory_gauge_read(&gauge) < in_use + size);
	memory_purge();
	memory_read(&after);
	TEST_ASSERT_TRUE(after.rss < before.rss + size / 2);
}
#endif

static void the_allocator_has_a_name(void)
{
#ifdef HAVE_JEMALLOC
	TEST_ASSERT_EQUAL_INT(0, strncmp(memory_allocator(), "jemalloc-5.", 11));
#else
	TEST_ASSERT_EQUAL_STRING("libc", memory_allocator());
#endif
}

/* In a child, because a lowered limit may stay. */
static int files_from(uint64_t soft, uint64_t hard, uint64_t wanted, bool as_nobody)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct rlimit limit = { soft, hard };
		uint64_t got;

		if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || (as_nobody && setuid(65534) != 0))
			_exit(255);
		got = rlimit_raise_files(wanted);
		getrlimit(RLIMIT_NOFILE, &limit);
		_exit(got == limit.rlim_cur ? (int)got : 254);
	}
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_TRUE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_limit_of_open_files_is_raised_as_far_as_allowed(void)
{
	bool is_root = geteuid() == 0;

	TEST_ASSERT_EQUAL_INT(100, files_from(50, 200, 100, is_root));
	TEST_ASSERT_EQUAL_INT(90, files_from(50, 90, 100, is_root));
	TEST_ASSERT_EQUAL_INT(120, files_from(120, 200, 100, is_root));
}

static void random_bytes_differ(void)
{
	char a[33], b[33];

	entropy_hex(a, 16);
	entropy_hex(b, 16);
	TEST_ASSERT_EQUAL_size_t(32, strlen(a));
	TEST_ASSERT_EQUAL_size_t(32, strspn(a, "0123456789abcdef"));
	TEST_ASSERT_TRUE(strcmp(a, b) != 0);
	TEST_ASSERT_TRUE(entropy_u64() != entropy_u64());
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_process_knows_its_system_and_executable);
	RUN(processor_time_and_memory_are_counted);
	RUN(the_figure_of_the_kernel_follows_allocations);
#ifdef HAVE_JEMALLOC
	RUN(the_figures_of_the_allocator_follow_allocations);
#endif
	RUN(the_allocator_has_a_name);
	RUN(the_limit_of_open_files_is_raised_as_far_as_allowed);
	RUN(random_bytes_differ);
	return UNIT_RESULT();
}
