/*
 * Kept manifests: listing, reading, writing and removing them.
 */
#include "journal/kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/mem.h"

#define PREFIX "manifest-"

static void kept_path(char to[JOURNAL_PATH_MAX], const char *dir, uint64_t number)
{
	snprintf(to, JOURNAL_PATH_MAX, "%s/" PREFIX "%08" PRIu64, dir, number);
}

static void note_name(void *arg, const char *name)
{
	struct kept *kept = arg;
	uint64_t number;

	if (!journal_parse_number(name, PREFIX, &number))
		return;
	kept->numbers = mem_grow(kept->numbers, &kept->cap, kept->count + 1, sizeof *kept->numbers);
	kept->numbers[kept->count++] = number;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int kept_list(struct kept *kept, const struct journal_io *io, const char *dir)
{
	int rc;

	*kept = (struct kept){ 0 };
	rc = io->list(io->arg, dir, note_name, kept);
	if (kept->count > 1)
		qsort(kept->numbers, kept->count, sizeof *kept->numbers, compare_numbers);
	return rc;
}

void kept_done(struct kept *kept)
{
	free(kept->numbers);
	*kept = (struct kept){ 0 };
}

int kept_read(struct manifest *m, uint64_t number, const struct journal_io *io, const char *dir,
	      struct buf *ret_error)
{
	char path[JOURNAL_PATH_MAX];

	kept_path(path, dir, number);
	return manifest_read_file(m, io, path, ret_error);
}

int kept_write(const struct manifest *m, uint64_t number, const struct journal_io *io,
	       const char *dir)
{
	char path[JOURNAL_PATH_MAX];

	kept_path(path, dir, number);
	return manifest_write_file(m, io, path);
}

int kept_remove(uint64_t number, const struct journal_io *io, const char *dir)
{
	char path[JOURNAL_PATH_MAX];

	kept_path(path, dir, number);
	return io->remove(io->arg, path);
}
