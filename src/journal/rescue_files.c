/*
 * Headers, and salts in place of those that are damaged: the segments that one process wrote share
 * their salt.
 */
#include "journal/rescue_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/state.h"
#include "util/mem.h"
#include "util/minmax.h"
#include "util/wire.h"

/* Where a header has the version of the format, the salt and the size of a closed file: see
 * record.c. */
#define HEADER_FORMAT 8
#define HEADER_SALT   32
#define HEADER_CLOSED 48

/* Sequence numbers that a search may pass over where nothing tells how many are missing. Random
 * bytes hardly ever have one in a range of this size. */
#define SEQUENCES_MAX (UINT64_C(1) << 32)

struct look {
	struct rescue_files *files;
	const struct journal_io *io;
	const char *dir;
	struct buf *notes, *error;
	int rc;
};

static struct rescue_file *add(struct rescue_list *list, const struct rescue_file *file)
{
	list->all = mem_grow(list->all, &list->cap, list->count + 1, sizeof *list->all);
	list->all[list->count] = *file;
	return &list->all[list->count++];
}

static int complain(struct look *look, const char *path, int rc)
{
	buf_printf(look->error, "cannot read %s: %s", path, strerror(-rc));
	return rc;
}

/* Read the header of a file. -EBADMSG if it is damaged. */
static int read_header(struct look *look, const char *path, struct rescue_file *file)
{
	const struct journal_io *io = look->io;
	unsigned char bytes[RECORD_FILE_HEADER_BYTES];
	int fd = io->open(io->arg, path, O_RDONLY);
	ssize_t got = fd < 0 ? fd : journal_read_all(io, fd, bytes, sizeof bytes, 0);
	int rc = got < 0 ? (int)got : io->size(io->arg, fd, &file->size);

	if (fd >= 0)
		io->close(io->arg, fd);
	if (rc < 0)
		return complain(look, path, rc);
	switch (record_decode_header(bytes, (size_t)got, &file->header)) {
	case RECORD_OK:
		return 0;
	case RECORD_ALIEN:
		buf_printf(look->error,
			   "%s has format version %" PRIu32
			   ", which is unknown to this program: use a newer one",
			   path, file->header.format);
		return -EPROTO;
	case RECORD_SHORT:
	case RECORD_BAD:
		break;
	}
	return -EBADMSG;
}

static void note_file(void *arg, const char *name)
{
	struct look *look = arg;
	struct rescue_file file = { .state = RESCUE_HEADER_WHOLE };
	char path[JOURNAL_PATH_MAX];
	bool is_base;
	int rc;

	if (look->rc < 0 || !journal_parse_name(name, &is_base, &file.number))
		return;
	journal_path(path, look->dir, name);
	rc = read_header(look, path, &file);
	if (rc < 0 && rc != -EBADMSG) {
		look->rc = rc;
		return;
	}
	if (rc == 0 && file.header.kind != (is_base ? RECORD_FILE_BASE : RECORD_FILE_LOG))
		rc = -EBADMSG;
	if (rc < 0) {
		file.state = RESCUE_HEADER_LOST;
		buf_printf(look->notes, "the header of %s is damaged\n", name);
	}
	if (!is_base || rc == 0)
		add(is_base ? &look->files->bases : &look->files->logs, &file);
}

static int compare_files(const void *a, const void *b)
{
	const struct rescue_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void sort(struct rescue_list *list)
{
	if (list->count > 1)
		qsort(list->all, list->count, sizeof *list->all, compare_files);
}

/* ---- damaged headers ---- */

/* Read a whole file. */
static int read_file(struct look *look, const struct rescue_file *file, struct buf *ret_bytes)
{
	const struct journal_io *io = look->io;
	size_t size = (size_t)file->size;
	char path[JOURNAL_PATH_MAX];
	ssize_t got;
	int fd;

	journal_log_path(path, look->dir, file->number);
	fd = io->open(io->arg, path, O_RDONLY);
	got = fd < 0 ? fd : journal_read_all(io, fd, buf_reserve(ret_bytes, size + 1), size, 0);
	if (fd >= 0)
		io->close(io->arg, fd);
	if (got < 0)
		return complain(look, path, (int)got);
	buf_commit(ret_bytes, (size_t)got);
	return 0;
}

/* Whether a salt is the one that the records of a file were written with. */
static bool fits(const struct buf *bytes, uint64_t salt, uint64_t low, uint64_t high)
{
	return record_find((const unsigned char *)buf_data(bytes), bytes->len,
			   RECORD_FILE_HEADER_BYTES, salt, low, high) < bytes->len;
}

/* Returns the highest sequence number that the header of a segment before the i-th tells. */
static uint64_t bound_below(const struct rescue_files *files, size_t i)
{
	uint64_t low = 1;

	while (i-- > 0) {
		if (files->logs.all[i].state == RESCUE_HEADER_WHOLE &&
		    files->logs.all[i].header.format != RECORD_FORMAT_GROUP)
			low = max_u64(low, files->logs.all[i].header.sequence);
	}
	return low;
}

/* In a group a later segment may replace records of all segments before it. */
uint64_t rescue_files_bound(const struct rescue_files *files, size_t i)
{
	uint64_t bound = UINT64_MAX;

	for (; i < files->logs.count; i++) {
		const struct rescue_file *file = &files->logs.all[i];

		if (file->state == RESCUE_HEADER_WHOLE &&
		    (bound == UINT64_MAX || file->header.format == RECORD_FORMAT_GROUP))
			bound = min_u64(bound, file->header.sequence);
	}
	return bound;
}

/* Returns a sequence number that the log had reached, and that the i-th segment may begin after. */
static uint64_t reached(const struct rescue_files *files, size_t i)
{
	uint64_t sequence = bound_below(files, i);

	for (size_t base = 0; base < files->bases.count; base++)
		sequence = max_u64(sequence, files->bases.all[base].header.sequence);
	return sequence;
}

/* The salt in the header may be intact. Otherwise another segment may have the same one. */
static void guess_header(struct rescue_files *files, size_t i, const struct buf *bytes)
{
	struct rescue_file *file = &files->logs.all[i];
	const unsigned char *header = (const unsigned char *)buf_data(bytes);
	uint64_t low = bound_below(files, i), bound = rescue_files_bound(files, i + 1);
	uint64_t high = bound == UINT64_MAX ? reached(files, i) + SEQUENCES_MAX : bound - 1;
	uint32_t format = wire_get_u32(header + HEADER_FORMAT);
	uint64_t salt = wire_get_u64(header + HEADER_SALT);
	uint64_t closed_size = wire_get_u64(header + HEADER_CLOSED);
	bool found = fits(bytes, salt, low, high);

	if (format < RECORD_FORMAT_OLDEST || format > RECORD_FORMAT_NEWEST)
		format = RECORD_FORMAT_VERSION;
	for (size_t other = 0; other < files->logs.count && !found; other++) {
		const struct rescue_file *o = &files->logs.all[other];

		if (o->state != RESCUE_HEADER_WHOLE || (salt == o->header.salt && other > 0))
			continue;
		salt = o->header.salt;
		format = o->header.format;
		found = fits(bytes, salt, low, high);
	}
	if (!found)
		return;
	file->state = RESCUE_HEADER_GUESSED;
	file->is_cut = closed_size != 0 && closed_size != file->size;
	file->header = (struct record_file_header){ .kind = RECORD_FILE_LOG,
						    .format = format,
						    .engine = STATE_VERSION,
						    .number = file->number,
						    .salt = salt };
}

static int guess_headers(struct look *look)
{
	struct rescue_list *logs = &look->files->logs;
	int rc = 0;

	for (size_t i = 0; i < logs->count && rc == 0; i++) {
		struct buf bytes = BUF_INIT(BUF_NO_MAX);

		if (logs->all[i].state != RESCUE_HEADER_LOST ||
		    logs->all[i].size <= RECORD_FILE_HEADER_BYTES)
			continue;
		rc = read_file(look, &logs->all[i], &bytes);
		if (rc == 0 && bytes.len > RECORD_FILE_HEADER_BYTES)
			guess_header(look->files, i, &bytes);
		buf_done(&bytes);
	}
	return rc;
}

/* ---- the manifest ---- */

static int read_manifest(struct look *look)
{
	struct buf error = BUF_INIT(look->error->max);
	int rc = manifest_read(&look->files->manifest, look->io, look->dir, &error);

	if (rc == -ENOENT)
		buf_printf(look->notes, "there is no manifest\n");
	else if (rc == -EBADMSG || rc == -EFBIG)
		buf_printf(look->notes, "the manifest is damaged\n");
	else if (rc < 0)
		buf_append_str(look->error, buf_str(&error));
	buf_done(&error);
	return rc == -ENOENT || rc == -EBADMSG || rc == -EFBIG ? 0 : rc;
}

static bool has(const struct rescue_list *list, uint64_t number)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->all[i].number == number)
			return true;
	}
	return false;
}

/* A manifest has hundreds of files at most, and few of them are gone. */
static void add_missing_files(struct rescue_files *files)
{
	for (size_t i = 0; i < files->manifest.log_count; i++) {
		uint64_t number = files->manifest.logs[i];

		if (!has(&files->logs, number))
			add(&files->logs,
			    &(struct rescue_file){ .number = number, .state = RESCUE_NO_FILE });
	}
	sort(&files->logs);
}

/* A segment that was made and never became part of the log has no records. The log went on in the
 * segment before it, and may have the numbers that its header claims. */
static int drop_unused(struct look *look)
{
	struct rescue_list *logs = &look->files->logs;
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < logs->count && rc == 0; i++) {
		const struct rescue_file *file = &logs->all[i];
		bool is_unused = file->state == RESCUE_HEADER_WHOLE &&
				 !manifest_has(&look->files->manifest, false, file->number);
		struct buf bytes = BUF_INIT(BUF_NO_MAX);

		if (is_unused)
			rc = read_file(look, file, &bytes);
		for (size_t at = RECORD_FILE_HEADER_BYTES; at < bytes.len && is_unused; at++)
			is_unused = buf_data(&bytes)[at] == 0;
		buf_done(&bytes);
		if (!is_unused)
			logs->all[kept++] = *file;
	}
	if (rc == 0)
		logs->count = kept;
	return rc;
}

int rescue_files_read(struct rescue_files *files, const struct journal_io *io, const char *dir,
		      struct buf *ret_notes, struct buf *ret_error)
{
	struct look look = {
		.files = files, .io = io, .dir = dir, .notes = ret_notes, .error = ret_error
	};
	int rc;

	*files = (struct rescue_files){ 0 };
	rc = io->list(io->arg, dir, note_file, &look);
	if (rc < 0)
		return complain(&look, dir, rc);
	if (look.rc < 0)
		return look.rc;
	sort(&files->bases);
	sort(&files->logs);
	rc = read_manifest(&look);
	if (rc == 0)
		rc = drop_unused(&look);
	if (rc == 0)
		rc = guess_headers(&look);
	if (rc == 0)
		add_missing_files(files);
	return rc;
}

void rescue_files_done(struct rescue_files *files)
{
	manifest_done(&files->manifest);
	free(files->bases.all);
	free(files->logs.all);
	*files = (struct rescue_files){ 0 };
}
