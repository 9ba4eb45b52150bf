/*
 * Kept manifests: listing, reading and writing them, and sweeping away files that none of them
 * names.
 */
#include "journal/kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- sweeping ---- */

struct sweep {
	const struct journal_io *io;
	const char *dir;
	const struct manifest *current;
	struct manifest *others; /* the kept ones */
	size_t other_count;
	bool uncertain;	  /* a kept manifest could not be read, so nothing is removed */
	struct buf names; /* of the files to remove, each followed by a NUL */
};

static bool is_needed(const struct sweep *s, bool is_base, uint64_t number)
{
	if (manifest_has(s->current, is_base, number))
		return true;
	for (size_t i = 0; i < s->other_count; i++) {
		if (manifest_has(&s->others[i], is_base, number))
			return true;
	}
	return false;
}

static void note_stray(void *arg, const char *name)
{
	struct sweep *s = arg;
	uint64_t number;
	bool is_base;

	/* The file "unfinished" is needed until there is a manifest. */
	if (strcmp(name, MANIFEST_NEW) == 0 ||
	    (strcmp(name, MANIFEST_UNFINISHED) == 0 && s->current->log_count > 0) ||
	    (journal_parse_name(name, &is_base, &number) && !is_needed(s, is_base, number)))
		buf_append(&s->names, name, strlen(name) + 1);
}

static void remove_kept(const struct sweep *s, uint64_t number)
{
	char path[JOURNAL_PATH_MAX];

	kept_path(path, s->dir, number);
	s->io->remove(s->io->arg, path);
}

/* Read the manifests to keep, and remove the others. A manifest that was made for a snapshot that
 * never became current does not count. */
static void choose_kept(struct sweep *s, const struct kept *kept, unsigned count)
{
	struct buf ignored = BUF_INIT(BUF_NO_MAX);

	s->others = mem_realloc_array(NULL, kept->count + 1, sizeof *s->others);
	for (size_t i = kept->count; i > 0; i--) {
		uint64_t number = kept->numbers[i - 1];
		int rc = -EBADMSG;

		if (number <= s->current->base && s->other_count < count)
			rc = kept_read(&s->others[s->other_count], number, s->io, s->dir, &ignored);
		if (rc == 0)
			s->other_count++;
		else if (rc == -EBADMSG)
			remove_kept(s, number);
		else
			s->uncertain = true;
	}
	buf_done(&ignored);
}

void kept_sweep(const struct manifest *current, unsigned count, const struct journal_io *io,
		const char *dir)
{
	struct sweep s = {
		.io = io, .dir = dir, .current = current, .names = BUF_INIT(BUF_NO_MAX)
	};
	char path[JOURNAL_PATH_MAX];
	struct kept kept;

	if (kept_list(&kept, io, dir) == 0) {
		choose_kept(&s, &kept, count);
		if (!s.uncertain)
			io->list(io->arg, dir, note_stray, &s);
	}
	for (size_t at = 0; at < s.names.len; at += strlen(buf_data(&s.names) + at) + 1) {
		journal_path(path, dir, buf_data(&s.names) + at);
		io->remove(io->arg, path);
	}
	for (size_t i = 0; i < s.other_count; i++)
		manifest_done(&s.others[i]);
	free(s.others);
	buf_done(&s.names);
	kept_done(&kept);
}
