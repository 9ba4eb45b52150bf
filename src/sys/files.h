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

/* Append what is in the file to `out`. -EFBIG, and nothing appended, if that is more than
 * `max_bytes`. */
int files_read(const char *path, size_t max_bytes, struct buf *out);

/* Write all of it, however often the kernel takes only a part. */
int files_write_all(int fd, struct qless_str data);

/*
 * Replace the file's content: whoever opens the file sees the old or the new bytes, also after a
 * crash. Permissions and owner stay; a file that is not there yet gets `mode`. A symbolic link is
 * followed, not replaced.
 */
int files_replace(const char *path, struct qless_str data, mode_t mode);

/* True if everybody on this machine may write to this file or directory. */
bool files_is_open_to_all(const char *path);

/* Make names that were created, renamed or removed in the directory durable. */
int files_sync_dir(const char *dir);
/* The same for the directory the file is in. */
int files_sync_parent(const char *path);

#endif
