/*
 * The files of the web console, which scripts/embed-console.py makes part of the program.
 */
#ifndef CONSOLE_FILES_H
#define CONSOLE_FILES_H

#include <stddef.h>

#include "util/str.h"

struct console_file {
	struct qless_str path; /* of requests: "/" for the page, "/console/..." for the others */
	struct qless_str type; /* Content-Type */
	struct qless_str tag;  /* ETag */
	struct qless_str plain;
	struct qless_str packed; /* by gzip */
};

extern const struct console_file console_files[];
extern const size_t console_file_count;

/* Returns the file at the path, or NULL. */
const struct console_file *console_find(struct qless_str path);

#endif
