/*
 * The life of a segment: entered once, growing until it is left.
 */
#include "journal/segment.h"

#include <assert.h>

/* Disk space is reserved in steps of this many bytes, so that few commands pay for it. */
#define ALLOCATE_BYTES ((uint64_t)4 * 1024 * 1024)

void segment_init(struct segment *s)
{
	*s = (struct segment){ .fd = -1 };
}

void segment_enter(struct segment *s, const struct journal_io *io, int fd,
		   const struct record_file_header *header, uint64_t size, uint64_t zeroed)
{
	assert(fd >= 0 && header->kind == RECORD_FILE_LOG);
	assert(header->number > s->header.number);
	assert(size >= RECORD_FILE_HEADER_BYTES && (zeroed == 0 || zeroed >= size));
	segment_leave(s, io);
	*s = (struct segment){
		.fd = fd,
		.header = *header,
		.size = size,
		.synced_size = size,
		.zeroed = zeroed,
		.cannot_allocate = s->cannot_allocate,
	};
}

void segment_leave(struct segment *s, const struct journal_io *io)
{
	if (s->fd >= 0)
		io->close(io->arg, s->fd);
	s->fd = -1;
}

int segment_set_closed_size(const struct journal_io *io, int fd,
			    const struct record_file_header *header, uint64_t closed_size)
{
	struct record_file_header changed = *header;
	unsigned char bytes[RECORD_FILE_HEADER_BYTES];
	size_t written;

	if (header->format < RECORD_FORMAT_CLOSED_SIZE)
		return 0;
	changed.closed_size = closed_size;
	record_encode_header(&changed, bytes);
	return journal_write_all(io, fd, bytes, sizeof bytes, 0, &written);
}

int segment_seal(struct segment *s, const struct journal_io *io)
{
	int rc = segment_set_closed_size(io, s->fd, &s->header, s->size);

	return rc == 0 ? io->sync(io->arg, s->fd) : rc;
}

int segment_reserve(struct segment *s, const struct journal_io *io, uint64_t end)
{
	uint64_t from = segment_room(s);
	int rc;

	assert(s->fd >= 0);
	if (s->cannot_allocate || end <= from)
		return 0;
	rc = io->allocate(io->arg, s->fd, from, end - from + ALLOCATE_BYTES);
	if (rc == 0)
		s->allocated = end + ALLOCATE_BYTES;
	else if (!journal_is_disk_full(rc))
		s->cannot_allocate = true;
	return journal_is_disk_full(rc) ? rc : 0;
}

void segment_forget_room(struct segment *s)
{
	s->allocated = s->zeroed = 0;
}
