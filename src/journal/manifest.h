/*
 * The manifest, which names the files that make up the log, and the names of these files.
 *
 *	qlessd-manifest 1
 *	base base-00000004 181225
 *	log log-00000005
 *	log log-00000006
 *	checksum 5d6f0a0c9cf4d1c8
 *
 * The log of a group of servers has a second line, with the identifier of the group:
 *
 *	group 1c0a6f0d0b8e4ad29d6f2f5f0e3c9b71
 *
 * The base is a snapshot. The number after its name is the sequence number of the last record in
 * it. Until the first rewrite there is no such line. The log segments are in order, and only the
 * last one is written to. The checksum is XXH3-64 with seed 0 over all lines before its own, in
 * hexadecimal. A rename replaces the file as a whole.
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
/* This file exists while a log is created from a state that comes from elsewhere. Until there is a
 * manifest, all other files of the log are pieces of that state. */
#define MANIFEST_UNFINISHED "unfinished"
/* Largest size of a manifest, in bytes. Hundreds of thousands of files fit. */
#define MANIFEST_BYTES_MAX   ((size_t)8 * 1024 * 1024)
#define MANIFEST_GROUP_BYTES ((size_t)16)

struct manifest {
	bool has_group; /* the log is that of a group of servers */
	unsigned char group[MANIFEST_GROUP_BYTES];
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

/* Write a manifest as text, and read one from text. If the text is invalid, `ret_error` gets a
 * sentence and `m` is empty. */
void manifest_format(const struct manifest *m, struct buf *out);
int manifest_parse(struct manifest *m, struct qless_str text, struct buf *ret_error);

/* Read the manifest of a directory, or a manifest by its path. -ENOENT if there is none, -EBADMSG
 * if it is damaged, or another errno. Except for -ENOENT, `ret_error` gets a line. */
int manifest_read(struct manifest *m, const struct journal_io *io, const char *dir,
		  struct buf *ret_error);
int manifest_read_file(struct manifest *m, const struct journal_io *io, const char *path,
		       struct buf *ret_error);
/* Write a manifest to a new file with any name, and sync the file. Removes a file that has the
 * name. */
int manifest_write_file(const struct manifest *m, const struct journal_io *io, const char *path);
/* Make a manifest the current one: write it under another name, sync it and the directory, rename
 * it and sync the directory again. The files that it names exist and are synced. If this fails and
 * *ret_unclear is set, either the old or the new manifest may be current after a crash. */
int manifest_replace(const struct manifest *m, const struct journal_io *io, const char *dir,
		     bool *ret_unclear);

/* "<dir>/<name>". journal_check_dir() has accepted the directory. */
void journal_path(char to[JOURNAL_PATH_MAX], const char *dir, const char *name);
void journal_log_path(char to[JOURNAL_PATH_MAX], const char *dir, uint64_t number);
void journal_base_path(char to[JOURNAL_PATH_MAX], const char *dir, uint64_t number);
/* Whether paths in the directory fit into JOURNAL_PATH_MAX: 0 or -ENAMETOOLONG. */
int journal_check_dir(const char *dir);
/* Returns whether a name is that of a snapshot or a log segment. */
bool journal_parse_name(const char *name, bool *ret_is_base, uint64_t *ret_number);
/* Get the highest number in the names of the files in a directory, whatever follows the number. A
 * new file gets a higher one, so it never has the name of a file that is there. 0 or an errno. */
int journal_find_highest(const struct journal_io *io, const char *dir, uint64_t *ret_number);
/* Read the number that follows a prefix. Returns false if the name has another form. */
bool journal_parse_number(const char *name, const char *prefix, uint64_t *ret_number);

#endif
