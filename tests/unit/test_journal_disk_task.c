/*
 * Disk tasks on a disk that does nothing but note its calls.
 */
#include "unit.h"

#include <errno.h>

#include "journal/disk_task.h"

#define FD	  5  /* of the segment */
#define OTHER_FD  6  /* of every file that a task opens */
#define CALLS_MAX 40 /* of one task */

static char calls[CALLS_MAX + 1]; /* a letter for each */
static size_t call_count;
static size_t fail_at; /* this call fails */
static int open_files;
static struct disk_task task;

static int note(char letter)
{
	TEST_ASSERT_TRUE(call_count < CALLS_MAX);
	calls[call_count] = letter;
	calls[call_count + 1] = '\0';
	return call_count++ == fail_at ? -EIO : 0;
}

static int fake_open(void *arg, const char *path, int flags)
{
	(void)arg;
	(void)path;
	(void)flags;
	if (note('o') < 0)
		return -EIO;
	open_files++;
	return OTHER_FD;
}

static int fake_close(void *arg, int fd)
{
	(void)arg;
	TEST_ASSERT_EQUAL_INT(OTHER_FD, fd);
	open_files--;
	return note('c');
}

static ssize_t fake_write(void *arg, int fd, const void *bytes, size_t len, uint64_t offset)
{
	(void)arg;
	(void)fd;
	(void)bytes;
	(void)offset;
	return note('w') < 0 ? -EIO : (ssize_t)len;
}

static int fake_truncate(void *arg, int fd, uint64_t size)
{
	(void)arg;
	TEST_ASSERT_EQUAL_INT(FD, fd);
	TEST_ASSERT_EQUAL_UINT64(1000, size);
	return note('t');
}

static int fake_sync(void *arg, int fd)
{
	(void)arg;
	(void)fd;
	return note('s');
}

static int fake_sync_dir(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return note('d');
}

static int fake_rename(void *arg, const char *from, const char *to)
{
	(void)arg;
	(void)from;
	(void)to;
	return note('r');
}

static int fake_list(void *arg, const char *path, journal_name_fn *each, void *each_arg)
{
	(void)arg;
	(void)path;
	(void)each;
	(void)each_arg;
	return note('l');
}

static const struct journal_io io = {
	.open = fake_open,
	.close = fake_close,
	.write = fake_write,
	.truncate = fake_truncate,
	.sync = fake_sync,
	.sync_dir = fake_sync_dir,
	.rename = fake_rename,
	.list = fake_list,
};

static struct manifest current = { .base = 1 };
static const struct disk_create create = { .header = { .kind = RECORD_FILE_LOG, .number = 9 } };

void setUp(void)
{
	call_count = 0;
	fail_at = SIZE_MAX;
	open_files = 0;
	manifest_add_log(&current, 2);
}

void tearDown(void)
{
	disk_task_done(&task, &io);
	TEST_ASSERT_EQUAL_INT(0, open_files);
	manifest_done(&current);
	current.base = 1;
}

static void init(enum disk_task_kind kind)
{
	struct disk_write write = {
		.records = STR("abc"), .offset = 1000, .zero_from = 1003, .zero_to = 2000
	};
	struct vote vote = { .content = { .term = 3, .node = 1 }, .counter = 7 };
	struct disk_replace replace = { .obsolete = &current, .manifest = { .base = 8 } };

	switch (kind) {
	case DISK_TASK_SYNC:
		disk_task_init_sync(&task, FD, &write);
		break;
	case DISK_TASK_ZEROS:
		disk_task_init_zeros(&task, FD, 1000, 2000);
		break;
	case DISK_TASK_ROTATE:
		disk_task_init_rotate(&task, FD, 1000, &create, &current);
		break;
	case DISK_TASK_BEGIN:
		disk_task_init_begin(&task, &create, &current);
		break;
	case DISK_TASK_SWITCH:
		manifest_add_log(&replace.manifest, 7);
		disk_task_init_switch(&task, FD, &replace);
		break;
	case DISK_TASK_RESTART:
		disk_task_init_restart(&task, &create, &replace);
		break;
	case DISK_TASK_VOTE:
		disk_task_init_vote(&task, &vote);
		break;
	case DISK_TASK_NONE:
		break;
	}
	manifest_done(&replace.manifest);
}

/* A new segment: open, write its header, sync. A new manifest: open, write, sync, close, sync the
 * directory, rename, sync the directory. Sweeping lists the directory twice. */
static const struct {
	enum disk_task_kind kind;
	const char *calls;
} kinds[] = {
	{ DISK_TASK_SYNC, "wws" },
	{ DISK_TASK_ZEROS, "w" },
	{ DISK_TASK_ROTATE, "ts"
			    "ows"
			    "owscdrd" },
	{ DISK_TASK_BEGIN, "ows"
			   "owscdrd" },
	{ DISK_TASK_SWITCH, "s"
			    "owscdrd"
			    "ll" },
	{ DISK_TASK_RESTART, "ows"
			     "owscdrd"
			     "ll" },
	{ DISK_TASK_VOTE, "owsc"
			  "owsc" },
};

static void each_kind_has_its_steps_in_order(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		call_count = 0;
		init(kinds[i].kind);
		disk_task_run(&task, &io, "dir");
		TEST_ASSERT_EQUAL_STRING(kinds[i].calls, calls);
		TEST_ASSERT_EQUAL_INT(0, task.result.rc);
		TEST_ASSERT_EQUAL_INT(DISK_STEP_DONE, task.result.reached);
		disk_task_done(&task, &io);
		TEST_ASSERT_EQUAL_INT(DISK_TASK_NONE, task.kind);
		TEST_ASSERT_EQUAL_INT(0, open_files);
	}
}

/* Closing a file and listing a directory may fail without harm. */
static void a_failed_call_ends_the_task_and_leaves_nothing_open(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		for (fail_at = 0; fail_at < strlen(kinds[i].calls); fail_at++) {
			char failed = kinds[i].calls[fail_at];

			call_count = 0;
			init(kinds[i].kind);
			disk_task_run(&task, &io, "dir");
			if (failed == 'c' || failed == 'l') {
				TEST_ASSERT_EQUAL_INT(DISK_STEP_DONE, task.result.reached);
			} else {
				TEST_ASSERT_EQUAL_INT(-EIO, task.result.rc);
				TEST_ASSERT_TRUE(task.result.reached < DISK_STEP_DONE);
			}
			disk_task_done(&task, &io);
			TEST_ASSERT_EQUAL_INT(0, open_files);
		}
	}
}

static void it_says_how_far_it_got(void)
{
	static const enum disk_step reached[] = { DISK_STEP_CUT,    DISK_STEP_SYNC,
						  DISK_STEP_CREATE, DISK_STEP_CREATE,
						  DISK_STEP_CREATE, DISK_STEP_REPLACE };

	for (fail_at = 0; fail_at < sizeof reached / sizeof *reached; fail_at++) {
		call_count = 0;
		init(DISK_TASK_ROTATE);
		disk_task_run(&task, &io, "dir");
		TEST_ASSERT_EQUAL_INT(reached[fail_at], task.result.reached);
		TEST_ASSERT_FALSE(task.result.is_unclear);
		disk_task_done(&task, &io);
	}
}

/* From the rename on, a crash may leave either manifest. */
static void a_failure_after_the_rename_is_unclear(void)
{
	const char *rename;

	init(DISK_TASK_BEGIN);
	rename = strchr(kinds[3].calls, 'r');
	for (fail_at = (size_t)(rename - kinds[3].calls); fail_at <= strlen(kinds[3].calls) - 1;
	     fail_at++) {
		disk_task_done(&task, &io);
		call_count = 0;
		init(DISK_TASK_BEGIN);
		disk_task_run(&task, &io, "dir");
		TEST_ASSERT_EQUAL_INT(DISK_STEP_REPLACE, task.result.reached);
		TEST_ASSERT_TRUE(task.result.is_unclear);
	}
}

static void its_results_can_be_taken(void)
{
	struct manifest made;

	init(DISK_TASK_ROTATE);
	disk_task_run(&task, &io, "dir");
	TEST_ASSERT_EQUAL_INT(OTHER_FD, disk_task_take_fd(&task));
	made = disk_task_take_manifest(&task);
	disk_task_done(&task, &io);
	TEST_ASSERT_EQUAL_size_t(2, made.log_count);
	TEST_ASSERT_EQUAL_UINT64(9, made.logs[1]);
	TEST_ASSERT_EQUAL_INT(1, open_files);
	io.close(NULL, OTHER_FD);
	manifest_done(&made);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(each_kind_has_its_steps_in_order);
	RUN(a_failed_call_ends_the_task_and_leaves_nothing_open);
	RUN(it_says_how_far_it_got);
	RUN(a_failure_after_the_rename_is_unclear);
	RUN(its_results_can_be_taken);
	return UNIT_RESULT();
}
