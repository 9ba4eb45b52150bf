#include "run/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/remove_tree.h"
#include "sys/entropy.h"
#include "sys/files.h"
#include "util/hash.h"
#include "util/mem.h"

#define LOCK_NAME   "lock"
#define WORKER_NAME "worker"
/* Directories of workers begin with this; others are left alone. */
#define PREFIX "w-"
/* Directories that are being removed begin with this. Nobody uses them. */
#define TRASH_PREFIX "x-"
/* Bytes of a file about a worker: more than any address and name of a worker. */
#define WORKER_FILE_MAX ((size_t)1024 * 1024)

void scratch_default_base(struct buf *out)
{
	const char *dir = getenv("TMPDIR");

	buf_printf(out, "%s/qless-run-%u", dir != NULL && *dir == '/' ? dir : "/tmp",
		   (unsigned)geteuid());
}

/* Returns why the base cannot be used, or NULL. */
static const char *find_fault(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return strerror(errno);
	if (st.st_uid != geteuid())
		return "it belongs to another user";
	if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return "others may write to it";
	return NULL;
}

int scratch_open(struct scratch *s, const char *base, struct buf *error)
{
	const char *fault;

	*s = (struct scratch){ .base = -1, .own = -1, .lock = -1 };
	if (mkdir(base, S_IRWXU) < 0 && errno != EEXIST) {
		fault = strerror(errno);
	} else {
		s->base = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fault = s->base < 0 ? strerror(errno) : find_fault(s->base);
	}
	if (fault == NULL) {
		s->base_path = realpath(base, NULL);
		if (s->base_path == NULL)
			fault = strerror(errno);
	}
	if (fault == NULL)
		return 0;
	buf_printf(error, "cannot use the scratch directory %s: %s", base, fault);
	scratch_close(s);
	return -1;
}

void scratch_close(struct scratch *s)
{
	if (s->lock >= 0)
		close(s->lock);
	if (s->own >= 0)
		close(s->own);
	if (s->base >= 0)
		close(s->base);
	free(s->base_path);
	*s = (struct scratch){ .base = -1, .own = -1, .lock = -1 };
}

/* Whether the descriptor is still the file of this name. Another process may have removed it. */
static bool is_current(int base, const char *name, int lock)
{
	char path[NAME_MAX + sizeof LOCK_NAME + 1];
	struct stat held, named;

	snprintf(path, sizeof path, "%s/" LOCK_NAME, name);
	return fstat(lock, &held) == 0 && fstatat(base, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* Opens a directory of the base, and takes its lock. */
static int take(int base, const char *name, int *ret_dir, int *ret_lock)
{
	int dir = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), lock, rc;

	if (dir < 0)
		return -errno;
	lock = openat(dir, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	if (rc == 0 && !is_current(base, name, lock))
		rc = -ENOENT;
	if (rc < 0) {
		if (lock >= 0)
			close(lock);
		close(dir);
		return rc;
	}
	*ret_dir = dir;
	*ret_lock = lock;
	return 0;
}

/* The file has the server, a newline and the name of the worker. */
static void read_worker(int dir, struct buf *out)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d/" WORKER_NAME, dir);
	files_read(path, WORKER_FILE_MAX, out);
}

static int write_worker(int dir, struct qless_str server, struct qless_str worker)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, rc;
	int fd = openat(dir, WORKER_NAME, flags, 0600);

	if (fd < 0)
		return -errno;
	buf_append_str(&text, server);
	buf_append_char(&text, '\n');
	buf_append_str(&text, worker);
	rc = files_write_all(fd, buf_str(&text));
	close(fd);
	buf_done(&text);
	return rc;
}

/* Removes a directory whose lock this process has. The directory first loses its name at once,
 * because a new worker of this name must not find it half removed, and lock it again. */
static void discard(int base, const char *name)
{
	char trash[32];

	snprintf(trash, sizeof trash, TRASH_PREFIX "%016llx", (unsigned long long)entropy_u64());
	if (renameat(base, name, base, trash) == 0)
		remove_tree(base, trash);
}

static void sweep_one(struct scratch *s, const char *name, struct qless_str server,
		      struct scratch_dead **head)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	struct scratch_dead *dead;
	struct qless_str rest;
	int directory = -1, lock = -1;

	if (strlen(name) >= sizeof dead->name || take(s->base, name, &directory, &lock) < 0)
		return;
	dead = mem_zalloc(sizeof *dead);
	*dead = (struct scratch_dead){ .next = *head, .directory = directory, .lock = lock };
	snprintf(dead->name, sizeof dead->name, "%s", name);
	buf_init(&dead->worker, BUF_NO_MAX);
	*head = dead;
	read_worker(directory, &text);
	if (str_strip_prefix(buf_str(&text), server, &rest) && rest.len > 1 && rest.ptr[0] == '\n')
		buf_append(&dead->worker, rest.ptr + 1, rest.len - 1);
	else
		scratch_bury(s, head);
	buf_done(&text);
}

void scratch_sweep(struct scratch *s, struct qless_str server, struct scratch_dead **head)
{
	int fd = openat(s->base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		struct qless_str name = str_from(entry->d_name);

		if (str_starts_with(name, STR(PREFIX)))
			sweep_one(s, entry->d_name, server, head);
		else if (str_starts_with(name, STR(TRASH_PREFIX)))
			remove_tree(s->base, entry->d_name);
	}
	closedir(dir);
}

static void drop_first(struct scratch_dead **head)
{
	struct scratch_dead *dead = *head;

	*head = dead->next;
	close(dead->lock);
	close(dead->directory);
	buf_done(&dead->worker);
	free(dead);
}

void scratch_bury(struct scratch *s, struct scratch_dead **head)
{
	discard(s->base, (*head)->name);
	drop_first(head);
}

void scratch_spare(struct scratch_dead **head)
{
	while (*head != NULL)
		drop_first(head);
}

int scratch_enter(struct scratch *s, struct qless_str server, struct qless_str worker)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int rc;

	buf_append_str(&text, server);
	buf_append_char(&text, '\n');
	buf_append_str(&text, worker);
	snprintf(s->name, sizeof s->name, PREFIX "%016llx",
		 (unsigned long long)hash_bytes(0, buf_str(&text)));
	buf_done(&text);
	do {
		if (mkdirat(s->base, s->name, S_IRWXU) < 0 && errno != EEXIST)
			return -errno;
		rc = take(s->base, s->name, &s->own, &s->lock);
	} while (rc == -ENOENT); /* another process has removed the directory of a dead one */
	return rc < 0 ? rc : write_worker(s->own, server, worker);
}

void scratch_leave(struct scratch *s)
{
	if (s->own >= 0)
		discard(s->base, s->name);
}

int scratch_make(const struct scratch *s, unsigned slot, struct buf *ret_path)
{
	char name[16];

	snprintf(name, sizeof name, "%u", slot);
	if (mkdirat(s->own, name, S_IRWXU) < 0)
		return -errno;
	buf_printf(ret_path, "%s/%s/%s", s->base_path, s->name, name);
	return 0;
}

int scratch_remove(const struct scratch *s, unsigned slot)
{
	char name[16];

	snprintf(name, sizeof name, "%u", slot);
	return remove_tree(s->own, name);
}
