/*
 * Reading stray files to their ends.
 */
#include "journal/stray.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "journal/reader.h"
#include "util/mem.h"
#include "util/minmax.h"

/* Largest and smallest size of the last record of a snapshot, whose payload is a varint. */
#define BASE_END_MAX (RECORD_FRAME_BYTES + 10)
#define BASE_END_MIN (RECORD_FRAME_BYTES + 1)

#define LOOK_BYTES ((size_t)64 * 1024)

/* Whether a file has nothing but zeros, as a crash leaves a file that was never synced. */
static bool is_blank(const struct journal_io *io, const char *path)
{
	char *bytes = mem_alloc(LOOK_BYTES);
	int fd = io->open(io->arg, path, O_RDONLY);
	ssize_t got = fd < 0 ? fd : 1;
	bool blank = true;

	for (uint64_t at = 0; blank && got > 0; at += (uint64_t)got) {
		got = journal_read_all(io, fd, bytes, LOOK_BYTES, at);
		for (ssize_t i = 0; blank && i < got; i++)
			blank = bytes[i] == 0;
	}
	if (fd >= 0)
		io->close(io->arg, fd);
	free(bytes);
	return fd == -ENOENT || (blank && got == 0);
}

/* Whether the last record of a snapshot is there, which says that it is complete. */
static bool has_end(const struct reader *reader)
{
	unsigned char bytes[BASE_END_MAX];
	size_t len = (size_t)min_u64(sizeof bytes, reader->size), size;
	struct record record;

	if (journal_read_all(reader->io, reader->fd, bytes, len, reader->size - len) !=
	    (ssize_t)len)
		return false;
	for (size_t at = 0; at + BASE_END_MIN <= len; at++) {
		if (record_decode(bytes + at, len - at, reader->header.salt, &record, &size) ==
			    RECORD_OK &&
		    size == len - at && record.type == RECORD_BASE_END)
			return true;
	}
	return false;
}

static void examine_base(struct stray *stray, const struct reader *reader, uint64_t sequence)
{
	if (reader->header.sequence <= sequence || !has_end(reader))
		return;
	stray->kind = STRAY_NEWER;
	stray->first = stray->last = reader->header.sequence;
}

/* Whether a segment holds something that comes after the end of the log. `highest` is the number of
 * its last record. */
static bool is_newer(const struct reader *reader, uint64_t highest, const struct stray_log *log)
{
	if (reader->header.format == RECORD_FORMAT_GROUP)
		return highest > 0 && reader->header.number > log->number;
	return highest > log->sequence;
}

static void examine_segment(struct stray *stray, struct reader *reader, const struct stray_log *log)
{
	uint64_t expected = reader->header.sequence, highest = 0;
	struct record_damage damage = { 0 };
	struct record record;
	int rc;

	while ((rc = reader_next(reader, &record)) == 1) {
		if (record.type != RECORD_MARK && record.type != RECORD_TERM)
			highest = record.sequence;
		expected = record_next_sequence(&record, reader->header.format);
	}
	if (rc == -EBADMSG)
		rc = reader_examine(reader, expected, &damage);
	highest = max_u64(highest, damage.highest);
	if (is_newer(reader, highest, log)) {
		stray->kind = STRAY_NEWER;
		stray->first = reader->header.sequence;
		stray->last = highest;
	} else if (rc < 0 || damage.zeros != reader->size - reader->offset) {
		stray->kind = STRAY_UNKNOWN;
	}
}

void stray_examine(struct stray *ret_stray, const struct journal_io *io, const char *dir,
		   bool is_base, uint64_t number, const struct stray_log *log)
{
	struct buf ignored = BUF_INIT(BUF_NO_MAX);
	char path[JOURNAL_PATH_MAX];
	struct reader reader;

	*ret_stray = (struct stray){ .is_base = is_base, .number = number, .kind = STRAY_OLD };
	if (is_base)
		journal_base_path(path, dir, number);
	else
		journal_log_path(path, dir, number);
	if (reader_open(&reader, io, dir, is_base ? RECORD_FILE_BASE : RECORD_FILE_LOG, number,
			&ignored) < 0) {
		if (!is_blank(io, path))
			ret_stray->kind = STRAY_UNKNOWN;
	} else {
		if (is_base)
			examine_base(ret_stray, &reader, log->sequence);
		else
			examine_segment(ret_stray, &reader, log);
		reader_close(&reader);
	}
	buf_done(&ignored);
}
