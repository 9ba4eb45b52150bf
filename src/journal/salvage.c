/*
 * Trying the snapshots of a directory, newest first, and last the log without a snapshot.
 */
#include "journal/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "journal/reader.h"
#include "journal/vote.h"
#include "util/mem.h"

struct file {
	uint64_t number;
	uint64_t sequence; /* as in its header */
	bool has_group;
};

struct files {
	struct file *all; /* ascending by number */
	size_t count;
	size_t cap;
};

struct search {
	const struct journal_io *io;
	const char *dir;
	struct files bases, logs;
	bool has_group; /* there are segments of a group */
	struct vote vote;
	struct buf *unreadable;
};

static void note_file(void *arg, const char *name)
{
	struct search *s = arg;
	struct buf ignored = BUF_INIT(BUF_NO_MAX);
	struct reader reader;
	struct files *to;
	uint64_t number;
	bool is_base;

	if (!journal_parse_name(name, &is_base, &number))
		return;
	to = is_base ? &s->bases : &s->logs;
	if (reader_open(&reader, s->io, s->dir, is_base ? RECORD_FILE_BASE : RECORD_FILE_LOG,
			number, &ignored) == 0) {
		to->all = mem_grow(to->all, &to->cap, to->count + 1, sizeof *to->all);
		to->all[to->count++] = (struct file){
			.number = number,
			.sequence = reader.header.sequence,
			.has_group = reader.header.format == RECORD_FORMAT_GROUP,
		};
		s->has_group |= reader.header.format == RECORD_FORMAT_GROUP;
		reader_close(&reader);
	} else {
		buf_printf(s->unreadable, "%s\n", name);
	}
	buf_done(&ignored);
}

static int compare_files(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void sort(struct files *files)
{
	if (files->count > 1)
		qsort(files->all, files->count, sizeof *files->all, compare_files);
}

/* Returns the index of the segment that holds the record after `sequence`, or begins with it. */
static size_t first_segment(const struct files *logs, uint64_t sequence)
{
	size_t first = logs->count;

	for (size_t i = 0; i < logs->count; i++) {
		if (logs->all[i].sequence <= sequence + 1)
			first = i;
	}
	return first;
}

/* Make the manifest of a snapshot, or of the log without one. Returns false if no segment follows.
 */
static bool make_manifest(const struct search *s, const struct file *base, struct manifest *m)
{
	const struct files *logs = &s->logs;

	*m = (struct manifest){ 0 };
	if (base != NULL) {
		m->base = base->number;
		m->base_sequence = base->sequence;
	}
	for (size_t i = first_segment(logs, m->base_sequence); i < logs->count; i++) {
		m->has_group |= logs->all[i].has_group;
		/* A segment without records is followed by one that begins with the same number. In
		 * a group, that one may also replace all its records. */
		if (i + 1 == logs->count || logs->all[i].sequence != logs->all[i + 1].sequence)
			manifest_add_log(m, logs->all[i].number);
	}
	memcpy(m->group, s->vote.identity.group, sizeof m->group);
	return m->log_count > 0;
}

/* Whether a failed attempt is better than the one before it. */
static bool is_better(const struct recovery *r, const struct recovery *best)
{
	return r->damaged && (!best->damaged || r->last_sequence > best->last_sequence);
}

/* Try a manifest. *best becomes what it leads to if that is better. */
static int attempt(const struct search *s, const struct file *base, struct recovery *best,
		   struct buf *ret_error)
{
	struct recovery_target no_target = { 0 };
	struct buf error = BUF_INIT(ret_error->max);
	struct recovery r;
	struct manifest m;
	int rc;

	if (!make_manifest(s, base, &m)) {
		manifest_done(&m);
		return -ENOENT;
	}
	rc = recovery_run_manifest(&r, s->io, s->dir, &m, &no_target, &error);
	if (rc == 0 || ret_error->len == 0 || is_better(&r, best)) {
		struct recovery worse = *best;

		*best = r;
		r = worse;
		buf_clear(ret_error);
		buf_append_str(ret_error, buf_str(&error));
	}
	recovery_done(&r);
	manifest_done(&m);
	buf_done(&error);
	return rc;
}

static bool exists(const struct journal_io *io, const char *dir, const char *name)
{
	char path[JOURNAL_PATH_MAX];
	int fd;

	journal_path(path, dir, name);
	fd = io->open(io->arg, path, O_RDONLY);
	if (fd >= 0)
		io->close(io->arg, fd);
	return fd != -ENOENT;
}

/* The files are pieces of a state that another process was about to write. */
static bool is_unfinished(const struct journal_io *io, const char *dir)
{
	return exists(io, dir, MANIFEST_UNFINISHED) && !exists(io, dir, MANIFEST_NAME);
}

int salvage_find(struct recovery *ret_recovery, const struct journal_io *io, const char *dir,
		 struct buf *ret_unreadable, struct buf *ret_error)
{
	struct search s = { .io = io, .dir = dir, .unreadable = ret_unreadable };
	int rc, tried;

	*ret_recovery = (struct recovery){ .orphans = BUF_INIT(BUF_NO_MAX) };
	if (is_unfinished(io, dir)) {
		buf_printf(ret_error, "a recovery into the directory %s was interrupted: repeat it",
			   dir);
		return -EBADMSG;
	}
	rc = io->list(io->arg, dir, note_file, &s);
	if (rc < 0)
		buf_printf(ret_error, "cannot read the directory %s: %s", dir, strerror(-rc));
	sort(&s.bases);
	sort(&s.logs);
	if (rc == 0 && s.has_group)
		rc = vote_read(&s.vote, io, dir, ret_error);
	tried = rc < 0 ? 0 : -ENOENT;
	for (size_t i = s.bases.count + 1; i > 0 && tried < 0; i--)
		tried = attempt(&s, i > 1 ? &s.bases.all[i - 2] : NULL, ret_recovery, ret_error);
	if (rc == 0 && tried < 0) {
		rc = -EBADMSG;
		if (ret_error->len == 0)
			buf_printf(ret_error, "%s has no log segment whose header can be read",
				   dir);
	}
	free(s.bases.all);
	free(s.logs.all);
	return rc;
}
