#include "run/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Directories below the top are moved to the top, under such names, instead of descending. */
#define MOVED_NAME_MAX 32

struct removal {
	int top;
	unsigned long long moved; /* makes names of moved directories */
};

/* Give the owner all rights on a directory that its program has closed. The descriptor cannot be a
 * symbolic link, so chmod() of it reaches nothing else. */
static void make_accessible(int parent, const char *name)
{
	char path[64];
	struct stat st;
	int fd = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		chmod(path, S_IRWXU);
	close(fd);
}

static DIR *open_directory(int parent, const char *name)
{
	DIR *dir;
	int fd;

	make_accessible(parent, name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	dir = fdopendir(fd);
	if (dir == NULL)
		close(fd);
	return dir;
}

/* Removes a file or an empty directory. Returns 0, or -ENOTEMPTY for a directory with content, or
 * another negative errno. */
static int remove_one(int parent, const char *name)
{
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == EEXIST || errno == EACCES ? -ENOTEMPTY : -errno;
}

/* The next entry except for the directory itself and its parent. */
static const char *next_name(DIR *dir)
{
	struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	}
	return NULL;
}

/* A name that is taken is tried once, and then the next one. An empty directory of this name is
 * replaced, which removes it. */
static int move_to_top(struct removal *r, int parent, const char *name)
{
	char target[MOVED_NAME_MAX];

	make_accessible(parent, name);
	do {
		snprintf(target, sizeof target, "~%llu", r->moved++);
		if (renameat(parent, name, r->top, target) == 0)
			return 0;
	} while (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR);
	return -errno;
}

/* Removes a directory of the top, after moving its directories to the top. */
static int remove_directory(struct removal *r, const char *name)
{
	DIR *dir = open_directory(r->top, name);
	const char *entry;
	int rc, first = 0;

	if (dir == NULL)
		return -errno;
	while ((entry = next_name(dir)) != NULL) {
		rc = remove_one(dirfd(dir), entry);
		if (rc == -ENOTEMPTY)
			rc = move_to_top(r, dirfd(dir), entry);
		if (rc < 0 && first == 0)
			first = rc;
	}
	closedir(dir);
	if (first == 0 && unlinkat(r->top, name, AT_REMOVEDIR) < 0)
		first = -errno;
	return first;
}

/* Goes through the top until nothing is left there, or nothing more can be removed. */
static int remove_content(struct removal *r, DIR *top)
{
	int rc, first;
	bool has_removed;

	do {
		const char *name;

		has_removed = false;
		first = 0;
		rewinddir(top);
		while ((name = next_name(top)) != NULL) {
			rc = remove_one(r->top, name);
			if (rc == -ENOTEMPTY)
				rc = remove_directory(r, name);
			if (rc == 0)
				has_removed = true;
			else if (first == 0)
				first = rc;
		}
	} while (has_removed);
	return first;
}

int remove_tree(int parent, const char *name)
{
	struct removal r = { 0 };
	DIR *top;
	int rc = remove_one(parent, name);

	if (rc != -ENOTEMPTY)
		return rc;
	top = open_directory(parent, name);
	if (top == NULL)
		return -errno;
	r.top = dirfd(top);
	rc = remove_content(&r, top);
	closedir(top);
	if (rc == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0)
		rc = -errno;
	return rc;
}
