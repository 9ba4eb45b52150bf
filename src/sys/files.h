/*
 * Whole files. Functions return 0 or a negative errno.
 */
#ifndef SYS_FILES_H
#define SYS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "util/buf.h"
#include "util/str.h"

/* Append the content of the file to `out`. Returns -EFBIG, and appends nothing, if the file has
 * more than `max_bytes`. */
int files_read(const char *path, size_t max_bytes, struct buf *out);

/* Write all bytes, with as many system calls as needed. */
int files_write_all(int fd, struct qless_str data);

/*
 * Replace the content of a file atomically: a reader sees the old or the new bytes, even after a
 * crash. Permissions and owner stay; a new file gets `mode`. Follows a symbolic link rather than
 * replacing it.
 */
int files_replace(const char *path, struct qless_str data, mode_t mode);

/* Whether every user of this machine may write to this file or directory. */
bool files_is_open_to_all(const char *path);

/* Make the creation, renaming and removal of names in the directory durable. */
int files_sync_dir(const char *dir);
/* files_sync_dir() for the directory that contains the file. */
int files_sync_parent(const char *path);

#endif
