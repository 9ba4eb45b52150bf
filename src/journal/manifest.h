/*
 * The manifest: which files of the directory make up the log. And the names of these files.
 *
 *	qlessd-manifest 1
 *	base base-00000004 181225
 *	log log-00000005
 *	log log-00000006
 *	checksum 5d6f0a0c9cf4d1c8
 *
 * The number behind the base is the sequence number up to which it goes. There is no base line as
 * long as nothing has been rewritten. The log files are in order; only the last one is written to.
 * The checksum is XXH3-64 with seed 0 over all lines before its own, in hexadecimal. The file is
 * replaced as a whole by a rename.
 */
#ifndef JOURNAL_MANIFEST_H
#define JOURNAL_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/io.h"
#include "util/buf.h"

#define JOURNAL_PATH_MAX ((size_t)4096)
#define MANIFEST_NAME	 "manifest"
#define MANIFEST_NEW	 "manifest.new"
#define MANIFEST_LOCK	 "lock"
/* There while a log is made of a state that comes from elsewhere: until there is a manifest, what
 * has the name of a base or a log file is a piece of that. */
#define MANIFEST_UNFINISHED "unfinished"
/* A manifest is not longer than this, which is room for hundreds of thousands of files. */
#define MANIFEST_BYTES_MAX ((size_t)8 * 1024 * 1024)

struct manifest {
	uint64_t base; /* number of the file; 0: there is none */
	uint64_t base_sequence;
	uint64_t *logs; /* numbers, ascending */
	size_t log_count;
	size_t log_cap;
};

void manifest_done(struct manifest *m);
void manifest_copy(struct manifest *to, const struct manifest *from);
void manifest_add_log(struct manifest *m, uint64_t number);
/* The highest number of its files. */
uint64_t manifest_highest(const struct manifest *m);
bool manifest_has(const struct manifest *m, bool is_base, uint64_t number);

/* As text, and back. On failure `ret_error` gets a sentence, and `m` is empty. */
void manifest_format(const struct manifest *m, struct buf *out);
int manifest_parse(struct manifest *m, struct qless_str text, struct buf *ret_error);

/* -ENOENT if there is none, -EBADMSG if it is damaged, or another errno; `ret_error` gets a line
 * about all but the first. */
int manifest_read(struct manifest *m, const struct journal_io *io, const char *dir,
		  struct buf *ret_error);
int manifest_read_file(struct manifest *m, const struct journal_io *io, const char *path,
		       struct buf *ret_error);
/* Write it to a file of any name, and sync that. */
int manifest_write_file(const struct manifest *m, const struct journal_io *io, const char *path);
/* Write it beside the one in force, sync it and the directory, rename it over that one and sync the
 * directory again. When that fails with *ret_unclear set, either of the two may be in force after a
 * crash. The files that it names have been made and synced. */
int manifest_replace(const struct manifest *m, const struct journal_io *io, const char *dir,
		     bool *ret_unclear);

/* "<dir>/<name>"; the directory is short enough, as journal_check_dir() says. */
void journal_path(char to[JOURNAL_PATH_MAX], const char *dir, const char *name);
void journal_log_path(char to[JOURNAL_PATH_MAX], const char *dir, uint64_t number);
void journal_base_path(char to[JOURNAL_PATH_MAX], const char *dir, uint64_t number);
/* 0 or -ENAMETOOLONG. */
int journal_check_dir(const char *dir);
/* Whether a name is one of ours, and which. */
bool journal_parse_name(const char *name, bool *ret_is_base, uint64_t *ret_number);
/* The number behind a prefix. */
bool journal_parse_number(const char *name, const char *prefix, uint64_t *ret_number);

#endif
