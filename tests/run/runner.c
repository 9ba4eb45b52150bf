#include "runner.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "textfile.h"
#include "unit.h"
#include "wait.h"

#define MAX_ARGS 40

static struct tempdir dir;

void runner_begin(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	tempdir_init(&dir);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void runner_done(void)
{
	int left = runner_count_scratch();

	if (dir.path[0] != '\0')
		nftw(dir.path, remove_entry, 10, FTW_DEPTH | FTW_PHYS);
	dir.path[0] = '\0';
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, left, "scratch directories are left");
}

/* All children that were started on purpose have been waited for. */
static bool has_no_children(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		;
	return pid < 0;
}

void runner_expect_no_orphans(void)
{
	WAIT_UNTIL(has_no_children());
}

const char *runner_path(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%s/%s", dir.path, name);
	return path;
}

int runner_count_lines(const char *name)
{
	char *text = textfile_read(runner_path(name));
	int count = 0;

	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		count++;
	free(text);
	return count;
}

void runner_touch(const char *name)
{
	textfile_write(runner_path(name), "");
}

bool runner_is_unlocked(const char *name)
{
	int fd = open(runner_path(name), O_RDWR | O_CLOEXEC);
	bool is_unlocked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;

	if (fd >= 0)
		close(fd);
	return is_unlocked;
}

static const char *find_program(const char *variable)
{
	const char *path = getenv(variable);

	TEST_ASSERT_NOT_NULL_MESSAGE(path, variable);
	return path;
}

const char *runner_handler(void)
{
	return find_program("HANDLER");
}

void runner_start_with(struct runner *r, const struct qlessd *q, const char *const *args)
{
	static int count;
	const char *argv[MAX_ARGS] = { find_program("QLESS_RUN") };
	char port[16], log[32];
	int n = 1, fd;

	snprintf(port, sizeof port, "%d", q->port);
	snprintf(log, sizeof log, "run-%d.log", count++);
	snprintf(r->log_path, sizeof r->log_path, "%s", runner_path(log));
	argv[n++] = "-p";
	argv[n++] = port;
	argv[n++] = "--scratch";
	argv[n++] = runner_path("scratch");
	argv[n++] = "--verbose";
	while (*args != NULL) {
		TEST_ASSERT_TRUE(n + 1 < MAX_ARGS);
		argv[n++] = *args++;
	}
	argv[n] = NULL;
	fd = open(r->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	TEST_ASSERT_TRUE(fd >= 0);
	r->pid = fork();
	TEST_ASSERT_TRUE(r->pid >= 0);
	if (r->pid != 0) {
		close(fd);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

void runner_signal(const struct runner *r, int number)
{
	TEST_ASSERT_EQUAL_INT(0, kill(r->pid, number));
}

int runner_wait(struct runner *r)
{
	int status = -1;

	waitpid(r->pid, &status, 0);
	r->pid = 0;
	return status;
}

/* In tearDown() of a test that has failed, an assertion would end the cleaning up. */
void runner_stop(struct runner *r)
{
	int status;

	if (r->pid == 0)
		return;
	kill(r->pid, SIGTERM);
	if (Unity.CurrentTestFailed)
		kill(r->pid, SIGINT); /* its jobs may never end */
	status = runner_wait(r);
	/* After a failure, a second one would end tearDown() before it has stopped the server. */
	if (!Unity.CurrentTestFailed)
		TEST_ASSERT_EQUAL_INT(0, status);
}

bool runner_has_logged(const struct runner *r, const char *text)
{
	char *log = textfile_read(r->log_path);
	bool has = log != NULL && strstr(log, text) != NULL;

	free(log);
	return has;
}

long runner_find_process(const struct runner *r, const char *jid)
{
	char *log = textfile_read(r->log_path), text[100];
	long pid = 0;

	snprintf(text, sizeof text, "job started jid=%s ", jid);
	for (const char *at = log; (at = strstr(at, text)) != NULL; at++) {
		const char *found = strstr(at, " pid=");

		TEST_ASSERT_NOT_NULL(found);
		pid = atol(found + strlen(" pid="));
	}
	free(log);
	return pid;
}

int runner_count_scratch(void)
{
	DIR *scratch = opendir(runner_path("scratch"));
	int count = 0;

	if (scratch == NULL)
		return 0;
	for (struct dirent *entry = readdir(scratch); entry != NULL; entry = readdir(scratch))
		count += entry->d_name[0] != '.';
	closedir(scratch);
	return count;
}
