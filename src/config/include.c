/*
 * The files that an `include` line names.
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "config/config_int.h"
#include "sys/files.h"
#include "util/mem.h"

/* Only files with such names are read from a directory, so that backups of editors and packages
 * are not. */
#define FILE_EXTENSION ".conf"

static int refuse(struct buf *why, const char *what)
{
	buf_printf(why, "include: %s", what);
	return -1;
}

static int fail(struct buf *why, const char *path, const char *reason)
{
	config_escape(str_from(path), why);
	buf_printf(why, ": %s", reason);
	return -1;
}

/* The path of an `include` line is relative to the directory of the file with the line. */
static bool resolve(const char *from, const char *path, char to[PATH_MAX])
{
	const char *slash = path[0] != '/' ? strrchr(from, '/') : NULL;
	int len;

	if (slash == NULL)
		len = snprintf(to, PATH_MAX, "%s", path);
	else
		len = snprintf(to, PATH_MAX, "%.*s/%s", (int)(slash - from), from, path);
	return len >= 0 && len < PATH_MAX;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Everybody who may add a file to such a directory decides what the server does. */
static int check_directory(const char *path, struct buf *why)
{
	if (!files_is_open_to_all(path))
		return 0;
	return fail(why, path,
		    "everybody may write to the directory, and so decide what the server does: "
		    "chmod o-w it");
}

static int check_parent(const char *file, struct buf *why)
{
	const char *slash = strrchr(file, '/');
	char parent[PATH_MAX];

	snprintf(parent, sizeof parent, "%.*s", slash != NULL ? (int)(slash - file) : 1,
		 slash != NULL ? file : ".");
	return check_directory(parent[0] != '\0' ? parent : "/", why);
}

static int add_path(struct config_list *paths, const char *path, struct buf *why)
{
	if (paths->count == CONFIG_INCLUDE_MAX_FILES) {
		buf_printf(why, "include: expected no more than %d files",
			   CONFIG_INCLUDE_MAX_FILES);
		return -1;
	}
	config_list_add(paths, str_from(path));
	return 0;
}

static int is_file_of_ours(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot != NULL && dot != entry->d_name && strcmp(dot, FILE_EXTENSION) == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int list_directory(const char *directory, struct config_list *ret_paths, struct buf *why)
{
	struct dirent **entries;
	int count, status;
	char path[PATH_MAX];

	if (check_directory(directory, why) < 0)
		return -1;
	count = scandir(directory, &entries, is_file_of_ours, compare_names);
	if (count < 0) {
		config_escape(str_from(directory), why);
		buf_printf(why, ": cannot list the directory: %s", strerror(errno));
		return -1;
	}
	status = 0;
	for (int i = 0; i < count; i++) {
		int len = snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);

		if (status == 0 && (len < 0 || (size_t)len >= sizeof path))
			status = refuse(why, "the path is too long");
		else if (status == 0)
			status = add_path(ret_paths, path, why);
		free(entries[i]);
	}
	free(entries);
	return status;
}

/* A pattern may match nothing. */
static int list_matches(const char *pattern, struct config_list *ret_paths, struct buf *why)
{
	glob_t matches;
	int status = 0;

	switch (glob(pattern, GLOB_ERR, NULL, &matches)) {
	case 0:
		break;
	case GLOB_NOMATCH:
		return 0;
	default:
		globfree(&matches);
		return fail(why, pattern, "cannot list the files that match");
	}
	for (size_t i = 0; i < matches.gl_pathc && status == 0; i++) {
		if (is_directory(matches.gl_pathv[i]))
			continue;
		status = check_parent(matches.gl_pathv[i], why);
		if (status == 0)
			status = add_path(ret_paths, matches.gl_pathv[i], why);
	}
	globfree(&matches);
	return status;
}

int config_list_included(const char *from, const struct config_list *values,
			 struct config_list *ret_paths, struct buf *why)
{
	char target[PATH_MAX];

	if (values->count != 1 || values->words[0][0] == '\0')
		return refuse(why, "expected one path");
	if (!resolve(from, values->words[0], target))
		return refuse(why, "the path is too long");
	if (is_directory(target))
		return list_directory(target, ret_paths, why);
	if (strpbrk(values->words[0], "*?[") != NULL)
		return list_matches(target, ret_paths, why);
	return add_path(ret_paths, target, why);
}
