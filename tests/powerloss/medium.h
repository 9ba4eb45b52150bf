/*
 * The medium: everything that a disk may hold after a power failure.
 *
 * It knows two things of each sector, size and name: what is safe, and what was written since.
 * After a power failure each sector of 512 bytes has its safe content or any later one, no matter
 * what other sectors have. The same holds for the size of a file. Of the changes of names, any
 * subset may have happened; a rename happens as a whole.
 *
 * - A sync of a file makes safe what was written to it before the sync began. That is the content
 *   and the size, not the name.
 * - A sync of the directory makes the changes of names safe that were made before it began.
 * - After a failed sync of a file, any of its sectors may have been written or not. The system
 *   takes them for written, so the next sync does not write them, unless they are written to again.
 */
#ifndef POWERLOSS_MEDIUM_H
#define POWERLOSS_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.h"
#include "util/buf.h"

#define MEDIUM_SECTOR ((size_t)512)

/* The content of a sector, or the size of a file, since the event at an offset of the trace. */
struct medium_sector {
	unsigned char *bytes; /* NULL: zeros */
	uint64_t at;
};

struct medium_size {
	uint64_t size;
	uint64_t at;
};

struct medium_versions {
	struct medium_sector *items; /* the first one is safe, the last one is what programs read */
	size_t count, cap;
	size_t forgotten;  /* number of versions that a failed sync took for written */
	bool is_allocated; /* the safe content was written */
	bool is_listed;	   /* in the list of sectors with more than one version */
};

struct medium_file {
	char name[TRACE_NAME_BYTES]; /* its first name */
	bool is_initial;	     /* it existed before the first event */
	struct medium_versions *sectors;
	size_t sector_count, sector_cap;
	size_t *unsafe; /* the sectors with more than one version */
	size_t unsafe_count, unsafe_cap;
	struct medium_size *sizes; /* the first one is safe */
	size_t size_count, size_cap;
};

struct medium;

struct medium *medium_new(void);
void medium_free(struct medium *m);

/* Add a file that is safe before the first event. */
void medium_add_file(struct medium *m, const char *name, struct qless_str content);

/* Apply an event. `at` is its offset in the trace. Returns false, with a sentence in `ret_error`,
 * if the model does not know such a call. */
bool medium_apply(struct medium *m, const struct trace_event *event, uint64_t at,
		  struct buf *ret_error);

/* How an image is chosen. The same numbers give the same image. */
struct medium_choice {
	uint64_t seed;
	bool old_blocks; /* unwritten sectors have what other files left there, rather than zeros */
};

/* Write an image of the present moment to an empty directory. Returns 0 or a negative errno. */
int medium_write_image(const struct medium *m, const struct medium_choice *choice, const char *dir);

/* The content that programs read, of every file that there ever was. */
size_t medium_file_count(const struct medium *m);
const struct medium_file *medium_file(const struct medium *m, size_t index);
void medium_read_file(const struct medium_file *f, struct buf *ret_content);

#endif
