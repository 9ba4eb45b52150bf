/*
 * A directory for one test case, removed with its content.
 */
#ifndef TESTS_TEMPDIR_H
#define TESTS_TEMPDIR_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

struct tempdir {
	char path[64];
	char file[256]; /* the last result of tempdir_file() */
};

static inline void tempdir_init(struct tempdir *dir)
{
	snprintf(dir->path, sizeof dir->path, "/tmp/qlessd-test-XXXXXX");
	TEST_ASSERT_NOT_NULL(mkdtemp(dir->path));
}

/* The path of a file in the directory, valid until the next call. */
static inline const char *tempdir_file(struct tempdir *dir, const char *name)
{
	snprintf(dir->file, sizeof dir->file, "%s/%s", dir->path, name);
	return dir->file;
}

static inline void tempdir_write(struct tempdir *dir, const char *name, struct qless_str text)
{
	int fd = open(tempdir_file(dir, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	TEST_ASSERT_TRUE(fd >= 0);
	TEST_ASSERT_EQUAL_INT64((long long)text.len, write(fd, text.ptr, text.len));
	close(fd);
}

/* Up to 64 KB of the file, with a NUL after it, valid until the next call. */
static inline const char *tempdir_read(struct tempdir *dir, const char *name)
{
	static char text[64 * 1024];
	int fd = open(tempdir_file(dir, name), O_RDONLY | O_CLOEXEC);
	ssize_t got;

	TEST_ASSERT_TRUE(fd >= 0);
	got = read(fd, text, sizeof text - 1);
	TEST_ASSERT_TRUE(got >= 0);
	text[got] = '\0';
	close(fd);
	return text;
}

/* The number of files in the directory. */
static inline int tempdir_count(const struct tempdir *dir)
{
	DIR *d = opendir(dir->path);
	int count = 0;

	TEST_ASSERT_NOT_NULL(d);
	for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d))
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(d);
	return count;
}

/* Removes one level of files. */
static inline void tempdir_done(struct tempdir *dir)
{
	DIR *d = opendir(dir->path);

	TEST_ASSERT_NOT_NULL(d);
	for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d)) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	closedir(d);
	TEST_ASSERT_EQUAL_INT(0, rmdir(dir->path));
}

#endif
