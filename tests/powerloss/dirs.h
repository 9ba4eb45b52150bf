/*
 * Directories without subdirectories: emptying, reading and writing their files.
 */
#ifndef POWERLOSS_DIRS_H
#define POWERLOSS_DIRS_H

#include "util/buf.h"
#include "util/str.h"

typedef void dirs_file_fn(void *arg, const char *name, struct qless_str content);

/* Each returns 0 or a negative errno. */
int dirs_empty(const char *dir);
int dirs_read_file(const char *path, struct buf *ret_content);
int dirs_write_file(const char *path, struct qless_str content);
/* Call `each` with every file. */
int dirs_read_all(const char *dir, dirs_file_fn *each, void *arg);

#endif
