/*
 * Files of time zones: in the directory $TZDIR, or else in /usr/share/zoneinfo.
 */
#ifndef SYS_ZONEFILE_H
#define SYS_ZONEFILE_H

#include <stdbool.h>

#include "util/buf.h"
#include "util/str.h"

/* Append the file of a zone, such as Europe/Berlin. The name has been checked: it leads to no other
 * directory. Returns false, with a phrase in `ret_error` that says what is wrong and with the path,
 * if there is no such file. */
bool zonefile_read(struct qless_str name, struct buf *ret_file, struct buf *ret_error);

#endif
