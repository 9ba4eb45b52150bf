#include "run/family.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/files.h"
#include "util/buf.h"

/* Bytes of a list of children, or of a line about a process, that are read. */
#define PROC_TEXT_MAX ((size_t)16 * 1024 * 1024)

int family_adopt(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? 0 : -errno;
}

struct family_death family_bury(void)
{
	struct family_death death = { 0 };
	pid_t pid = waitpid(-1, &death.status, WNOHANG | __WALL);

	death.has_children = pid >= 0;
	death.pid = pid > 0 ? pid : 0;
	return death;
}

struct killing {
	bool (*is_spared)(void *arg, pid_t pid);
	void *arg;
	size_t count;
};

static void kill_child(struct killing *k, pid_t pid)
{
	if (pid <= 0 || (k->is_spared != NULL && k->is_spared(k->arg, pid)))
		return;
	if (kill(pid, SIGKILL) == 0)
		k->count++;
}

/* The kernel lists the children of a thread if it was built to. */
static bool kill_listed(struct killing *k)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	char path[64], *at, *end;
	int rc;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	rc = files_read(path, PROC_TEXT_MAX, &text);
	if (rc == 0) {
		for (at = buf_cstr(&text);; at = end) {
			pid_t pid = (pid_t)strtol(at, &end, 10);

			if (end == at)
				break;
			kill_child(k, pid);
		}
	}
	buf_done(&text);
	return rc == 0;
}

/* The parent of a process, or -1. The name before it may contain anything, also brackets. */
static pid_t find_parent(const char *pid)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	char path[300];
	const char *end;
	int parent = -1;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	if (files_read(path, PROC_TEXT_MAX, &text) == 0) {
		end = strrchr(buf_cstr(&text), ')');
		if (end == NULL ||
		    sscanf(end + 1, " %*c %d", &parent) != 1) /* NOLINT(cert-err34-c) */
			parent = -1;
	}
	buf_done(&text);
	return parent;
}

static void kill_found(struct killing *k)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (proc == NULL)
		return;
	while ((entry = readdir(proc)) != NULL) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    find_parent(entry->d_name) == getpid())
			kill_child(k, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	closedir(proc);
}

size_t family_kill(bool (*is_spared)(void *arg, pid_t pid), void *arg)
{
	struct killing k = { .is_spared = is_spared, .arg = arg };

	if (!kill_listed(&k))
		kill_found(&k);
	return k.count;
}
