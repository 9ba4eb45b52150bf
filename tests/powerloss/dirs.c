#include "dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/files.h"

#define PATH_BYTES 4096

typedef int path_fn(void *arg, const char *path, const char *name);

static int each_path(const char *dir, path_fn *each, void *arg)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[PATH_BYTES];
	int rc = 0;

	if (d == NULL)
		return -errno;
	while (rc == 0 && (entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
		rc = each(arg, path, entry->d_name);
	}
	closedir(d);
	return rc;
}

static int remove_path(void *arg, const char *path, const char *name)
{
	(void)arg;
	(void)name;
	return unlink(path) < 0 ? -errno : 0;
}

int dirs_empty(const char *dir)
{
	return each_path(dir, remove_path, NULL);
}

int dirs_read_file(const char *path, struct buf *ret_content)
{
	buf_clear(ret_content);
	return files_read(path, BUF_NO_MAX - 1, ret_content);
}

int dirs_write_file(const char *path, struct qless_str content)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc;

	if (fd < 0)
		return -errno;
	rc = files_write_all(fd, content);
	close(fd);
	return rc;
}

struct reading {
	dirs_file_fn *each;
	void *arg;
	struct buf content;
};

static int read_path(void *arg, const char *path, const char *name)
{
	struct reading *reading = arg;
	int rc = dirs_read_file(path, &reading->content);

	if (rc == 0)
		reading->each(reading->arg, name, buf_str(&reading->content));
	return rc;
}

int dirs_read_all(const char *dir, dirs_file_fn *each, void *arg)
{
	struct reading reading = { each, arg, BUF_INIT(BUF_NO_MAX) };
	int rc = each_path(dir, read_path, &reading);

	buf_done(&reading.content);
	return rc;
}
