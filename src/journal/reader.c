/*
 * A window that moves through the file, one record at a time.
 */
#include "journal/reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

/* Bytes that one call reads. */
#define READ_BYTES ((size_t)1024 * 1024)

static int check_header(struct reader *r, enum record_file_kind kind, uint64_t number,
			struct buf *ret_error)
{
	unsigned char head[RECORD_FILE_HEADER_BYTES];
	ssize_t got = journal_read_all(r->io, r->fd, head, sizeof head, 0);

	if (got < 0) {
		buf_printf(ret_error, "cannot read %s: %s", r->path, strerror((int)-got));
		return (int)got;
	}
	switch (record_decode_header(head, (size_t)got, &r->header)) {
	case RECORD_OK:
		break;
	case RECORD_ALIEN:
		buf_printf(ret_error,
			   "%s has format version %" PRIu32
			   ", which is unknown to this program: use a newer one",
			   r->path, r->header.format);
		return -EBADMSG;
	case RECORD_SHORT:
	case RECORD_BAD:
		buf_printf(ret_error, "the header of %s is damaged", r->path);
		return -EBADMSG;
	}
	if (r->header.kind != kind || r->header.number != number) {
		buf_printf(ret_error, "%s has been renamed: its header says %s-%08" PRIu64, r->path,
			   r->header.kind == RECORD_FILE_BASE ? "base" : "log", r->header.number);
		return -EBADMSG;
	}
	return 0;
}

/* Open a file without a look at what is in it. */
static int open_file(struct reader *r, const struct journal_io *io, const char *dir,
		     enum record_file_kind kind, uint64_t number, struct buf *ret_error)
{
	int rc;

	*r = (struct reader){ .io = io, .window = BUF_INIT(BUF_NO_MAX) };
	if (kind == RECORD_FILE_BASE)
		journal_base_path(r->path, dir, number);
	else
		journal_log_path(r->path, dir, number);
	r->fd = io->open(io->arg, r->path, O_RDONLY);
	rc = r->fd < 0 ? r->fd : io->size(io->arg, r->fd, &r->size);
	if (rc < 0)
		buf_printf(ret_error, "cannot read %s: %s", r->path, strerror(-rc));
	return rc;
}

int reader_open_known(struct reader *r, const struct journal_io *io, const char *dir,
		      uint64_t number, const struct record_file_header *header,
		      struct buf *ret_error)
{
	int rc = open_file(r, io, dir, RECORD_FILE_LOG, number, ret_error);

	if (rc < 0) {
		reader_close(r);
		return rc;
	}
	r->header = *header;
	r->offset = RECORD_FILE_HEADER_BYTES;
	if (r->size < r->offset)
		r->size = r->offset;
	return 0;
}

int reader_open(struct reader *r, const struct journal_io *io, const char *dir,
		enum record_file_kind kind, uint64_t number, struct buf *ret_error)
{
	int rc = open_file(r, io, dir, kind, number, ret_error);

	if (rc == 0)
		rc = check_header(r, kind, number, ret_error);
	if (rc < 0) {
		reader_close(r);
		return rc;
	}
	r->offset = RECORD_FILE_HEADER_BYTES;
	return 0;
}

void reader_close(struct reader *r)
{
	if (r->fd >= 0)
		r->io->close(r->io->arg, r->fd);
	r->fd = -1;
	buf_done(&r->window);
}

/* Have at least `want` bytes in the window, or all that the file has. */
static int fill(struct reader *r, uint64_t want)
{
	uint64_t left = r->size - r->offset;
	size_t more;
	ssize_t got;

	if (want > left)
		want = left;
	if (r->window.len >= want)
		return 0;
	more = (size_t)want - r->window.len;
	if (more < READ_BYTES && left - r->window.len >= READ_BYTES)
		more = READ_BYTES;
	else if (more < left - r->window.len && left - r->window.len < READ_BYTES)
		more = (size_t)left - r->window.len;
	got = journal_read_all(r->io, r->fd, buf_reserve(&r->window, more), more,
			       r->offset + r->window.len);
	if (got < 0)
		return (int)got;
	buf_commit(&r->window, (size_t)got);
	/* Another process cut the file in the meantime. */
	if ((size_t)got < more)
		r->size = r->offset + r->window.len;
	return 0;
}

int reader_next(struct reader *r, struct record *ret_record)
{
	size_t need = RECORD_FRAME_BYTES;
	int rc;

	assert(r->taken <= r->window.len && r->offset + r->taken <= r->size);
	buf_consume(&r->window, r->taken);
	r->offset += r->taken;
	r->taken = 0;
	if (r->offset == r->size)
		return 0;
	for (;;) {
		rc = fill(r, need);
		if (rc < 0)
			return rc;
		switch (record_decode((const unsigned char *)buf_data(&r->window), r->window.len,
				      r->header.salt, ret_record, &need)) {
		case RECORD_OK:
			r->taken = need;
			return 1;
		case RECORD_ALIEN:
			return -EPROTO;
		case RECORD_BAD:
			return -EBADMSG;
		case RECORD_SHORT:
			if (need > r->size - r->offset)
				return -EBADMSG;
			break;
		}
	}
}

int reader_examine(struct reader *r, uint64_t sequence, struct record_damage *ret_damage)
{
	int rc = fill(r, UINT64_MAX);

	if (rc < 0)
		return rc;
	record_examine_damage((const unsigned char *)buf_data(&r->window), r->window.len,
			      &r->header, sequence, ret_damage);
	return 0;
}

int reader_skip(struct reader *r, uint64_t low, uint64_t high, uint64_t *ret_bytes)
{
	const char *bytes;
	size_t found, len;
	int rc;

	r->taken = 0;
	rc = fill(r, UINT64_MAX);
	if (rc < 0)
		return rc;
	bytes = buf_data(&r->window);
	len = r->window.len;
	found = record_find((const unsigned char *)bytes, len, 1, r->header.salt, low, high);
	*ret_bytes = found;
	while (found == len && *ret_bytes > 0 && bytes[*ret_bytes - 1] == 0)
		(*ret_bytes)--;
	buf_consume(&r->window, found);
	r->offset += found;
	return 0;
}
