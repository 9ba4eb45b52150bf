/*
 * Which files are stray, and what happens to them.
 */
#include "journal/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal/kept.h"
#include "util/mem.h"

/* Largest number of files with the same name that are set aside. */
#define ORPHANS_MAX 1000

/* The manifests of a directory, and the names of files that are not in those that count. */
struct look {
	const struct sweep_options *options;
	struct manifest *kept;	  /* the kept manifests whose files stay */
	struct manifest *dropped; /* those whose files go */
	size_t kept_count, dropped_count;
	struct buf names; /* each followed by a NUL */
};

static bool is_in(const struct manifest *manifests, size_t count, bool is_base, uint64_t number)
{
	for (size_t i = 0; i < count; i++) {
		if (manifest_has(&manifests[i], is_base, number))
			return true;
	}
	return false;
}

static bool is_needed(const struct look *look, bool is_base, uint64_t number)
{
	return manifest_has(look->options->current, is_base, number) ||
	       is_in(look->kept, look->kept_count, is_base, number);
}

/* Whether a file was named until now, and its records are all in the log. */
static bool is_obsolete(const struct look *look, bool is_base, uint64_t number)
{
	const struct sweep_options *o = look->options;

	return o->sequence == UINT64_MAX ||
	       (o->obsolete != NULL && manifest_has(o->obsolete, is_base, number)) ||
	       is_in(look->dropped, look->dropped_count, is_base, number);
}

static bool is_leftover(const struct look *look, const char *name)
{
	/* The file "unfinished" is needed until there is a manifest. */
	return strcmp(name, MANIFEST_NEW) == 0 ||
	       (strcmp(name, MANIFEST_UNFINISHED) == 0 && look->options->current->log_count > 0);
}

static void note_stray(void *arg, const char *name)
{
	struct look *look = arg;
	uint64_t number;
	bool is_base;

	if (is_leftover(look, name) ||
	    (journal_parse_name(name, &is_base, &number) && !is_needed(look, is_base, number)))
		buf_append(&look->names, name, strlen(name) + 1);
}

/* Read the kept manifests. One that was made for a snapshot that never became current does not
 * count. Returns false if one that counts cannot be read: then any file may be needed. */
static bool read_kept(struct look *look, const struct kept *kept)
{
	const struct sweep_options *o = look->options;
	struct buf ignored = BUF_INIT(BUF_NO_MAX);
	bool is_certain = true;

	look->kept = mem_realloc_array(NULL, kept->count + 1, sizeof *look->kept);
	look->dropped = mem_realloc_array(NULL, kept->count + 1, sizeof *look->dropped);
	for (size_t i = kept->count; i > 0; i--) {
		uint64_t number = kept->numbers[i - 1];
		struct manifest m;
		int rc;

		if (number > o->current->base)
			continue;
		rc = kept_read(&m, number, o->io, o->dir, &ignored);
		if (rc < 0)
			is_certain &= rc == -EBADMSG;
		else if (look->kept_count < o->keep_bases)
			look->kept[look->kept_count++] = m;
		else
			look->dropped[look->dropped_count++] = m;
	}
	buf_done(&ignored);
	return is_certain;
}

static int begin(struct look *look, const struct sweep_options *options, struct kept *kept)
{
	int rc = kept_list(kept, options->io, options->dir);

	*look = (struct look){ .options = options, .names = BUF_INIT(BUF_NO_MAX) };
	if (rc == 0 && read_kept(look, kept))
		rc = options->io->list(options->io->arg, options->dir, note_stray, look);
	return rc;
}

static void end(struct look *look)
{
	for (size_t i = 0; i < look->kept_count; i++)
		manifest_done(&look->kept[i]);
	for (size_t i = 0; i < look->dropped_count; i++)
		manifest_done(&look->dropped[i]);
	free(look->kept);
	free(look->dropped);
	buf_done(&look->names);
}

static const char *next_name(const struct look *look, size_t *at)
{
	const char *name;

	if (*at == look->names.len)
		return NULL;
	name = buf_data(&look->names) + *at;
	*at += strlen(name) + 1;
	return name;
}

static struct stray_log describe_log(const struct sweep_options *o)
{
	const struct manifest *m = o->current;

	return (struct stray_log){ o->sequence, m->log_count > 0 ? m->logs[m->log_count - 1] : 0 };
}

int sweep_find_newer(const struct sweep_options *options, struct stray *ret_stray)
{
	struct stray_log log = describe_log(options);
	struct look look;
	struct kept kept;
	const char *name;
	uint64_t number;
	bool is_base;
	int rc = begin(&look, options, &kept), found = 0;

	*ret_stray = (struct stray){ .number = UINT64_MAX };
	for (size_t at = 0; rc == 0 && (name = next_name(&look, &at)) != NULL;) {
		struct stray stray;

		if (!journal_parse_name(name, &is_base, &number) || is_base ||
		    is_obsolete(&look, is_base, number))
			continue;
		stray_examine(&stray, options->io, options->dir, is_base, number, &log);
		if (stray.kind != STRAY_NEWER || number > ret_stray->number)
			continue;
		*ret_stray = stray;
		found = 1;
	}
	end(&look);
	kept_done(&kept);
	return rc < 0 ? rc : found;
}

/* The server may have begun another segment since the manifest was read. */
static bool is_current_now(const struct journal_io *io, const char *dir, uint64_t number)
{
	struct buf ignored = BUF_INIT(BUF_NO_MAX);
	struct manifest m;
	bool is_current =
		manifest_read(&m, io, dir, &ignored) == 0 && manifest_has(&m, false, number);

	manifest_done(&m);
	buf_done(&ignored);
	return is_current;
}

int sweep_check(const struct journal_io *io, const char *dir, const struct recovery *r,
		struct buf *ret_error)
{
	struct sweep_options options = { .io = io,
					 .dir = dir,
					 .current = &r->manifest,
					 .keep_bases = UINT_MAX,
					 .sequence = r->log_end - 1 };
	struct stray stray;
	int rc = sweep_find_newer(&options, &stray);

	if (rc < 0)
		buf_printf(ret_error, "cannot read the directory %s: %s", dir, strerror(-rc));
	if (rc <= 0 || is_current_now(io, dir, stray.number))
		return rc < 0 ? rc : 0;
	buf_printf(ret_error,
		   "the manifest of %s is an old one: it does not name log-%08" PRIu64
		   ", which has records from sequence %" PRIu64 " to %" PRIu64
		   ", and the log ends with sequence %" PRIu64
		   ". Nothing was changed. To make a new manifest from all files run: "
		   "qlessd-check --fix %s. To do without these records, move the file away",
		   dir, stray.number, stray.first, stray.last, r->log_end - 1, dir);
	return -EBADMSG;
}

int sweep_set_aside(const struct journal_io *io, const char *dir, const char *name,
		    struct buf *ret_names)
{
	char from[JOURNAL_PATH_MAX], to[JOURNAL_PATH_MAX], orphan[64];
	int rc = -EEXIST;

	journal_path(from, dir, name);
	for (int i = 1; i <= ORPHANS_MAX && rc == -EEXIST; i++) {
		int fd;

		snprintf(orphan, sizeof orphan, i == 1 ? "%.30s.orphan" : "%.30s.orphan-%d", name,
			 i);
		journal_path(to, dir, orphan);
		fd = io->open(io->arg, to, O_RDONLY | O_NOFOLLOW);
		if (fd >= 0)
			io->close(io->arg, fd);
		else if (fd == -ENOENT)
			rc = io->rename(io->arg, from, to);
	}
	if (rc == 0)
		buf_printf(ret_names, "%s\n", orphan);
	return rc;
}

/* Remove a stray file, or set it aside. */
static void handle(const struct look *look, const char *name)
{
	const struct sweep_options *o = look->options;
	struct stray_log log = describe_log(o);
	char path[JOURNAL_PATH_MAX];
	struct stray stray;
	uint64_t number;
	bool is_base;

	if (journal_parse_name(name, &is_base, &number) && !is_obsolete(look, is_base, number)) {
		stray_examine(&stray, o->io, o->dir, is_base, number, &log);
		if (stray.kind != STRAY_OLD && o->orphans != NULL)
			sweep_set_aside(o->io, o->dir, name, o->orphans);
		if (stray.kind != STRAY_OLD)
			return;
	}
	journal_path(path, o->dir, name);
	o->io->remove(o->io->arg, path);
}

/* Remove kept manifests that are no longer to be kept. */
static void remove_manifests(const struct look *look, const struct kept *kept)
{
	const struct sweep_options *o = look->options;
	struct buf ignored = BUF_INIT(BUF_NO_MAX);
	unsigned left = o->keep_bases;

	for (size_t i = kept->count; i > 0; i--) {
		struct manifest m;
		int rc = -EBADMSG;

		if (kept->numbers[i - 1] <= o->current->base && left > 0)
			rc = kept_read(&m, kept->numbers[i - 1], o->io, o->dir, &ignored);
		if (rc == 0) {
			manifest_done(&m);
			left--;
		} else if (rc == -EBADMSG) {
			kept_remove(kept->numbers[i - 1], o->io, o->dir);
		}
	}
	buf_done(&ignored);
}

void sweep(const struct sweep_options *options)
{
	struct look look;
	struct kept kept;
	const char *name;

	if (begin(&look, options, &kept) == 0) {
		remove_manifests(&look, &kept);
		for (size_t at = 0; (name = next_name(&look, &at)) != NULL;)
			handle(&look, name);
	}
	end(&look);
	kept_done(&kept);
}
