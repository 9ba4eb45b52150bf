/*
 * A read that fails is repeated sector by sector, so that only the sectors which cannot be read are
 * lost.
 */
#include "journal/rescue_io.h"

#include <errno.h>
#include <string.h>

#include "util/minmax.h"

/* Bytes that a disk reads at once. */
#define SECTOR_BYTES ((uint64_t)4096)
/* The value of a byte that cannot be read. Zeros at the end of a log are no damage, so it is not 0.
 */
#define FILLER 0xff

static int do_open(void *arg, const char *path, int flags)
{
	const struct rescue_io *r = arg;

	return r->real->open(r->real->arg, path, flags);
}

static int do_close(void *arg, int fd)
{
	const struct rescue_io *r = arg;

	return r->real->close(r->real->arg, fd);
}

static int do_size(void *arg, int fd, uint64_t *ret_size)
{
	const struct rescue_io *r = arg;

	return r->real->size(r->real->arg, fd, ret_size);
}

static int do_list(void *arg, const char *path, journal_name_fn *each, void *each_arg)
{
	const struct rescue_io *r = arg;

	return r->real->list(r->real->arg, path, each, each_arg);
}

/* Read up to the end of a sector, and fill what cannot be read. */
static ssize_t read_sector(struct rescue_io *r, int fd, void *to, size_t len, uint64_t offset)
{
	uint64_t size;
	ssize_t got;
	int rc;

	len = (size_t)min_u64(len, SECTOR_BYTES - offset % SECTOR_BYTES);
	got = r->real->read(r->real->arg, fd, to, len, offset);
	if (got != -EIO)
		return got;
	rc = r->real->size(r->real->arg, fd, &size);
	if (rc < 0 || offset >= size)
		return rc;
	r->unreadable++;
	len = (size_t)min_u64(len, size - offset);
	memset(to, FILLER, len);
	return (ssize_t)len;
}

static ssize_t do_read(void *arg, int fd, void *to, size_t len, uint64_t offset)
{
	struct rescue_io *r = arg;
	ssize_t got = r->real->read(r->real->arg, fd, to, len, offset);

	return got == -EIO ? read_sector(r, fd, to, len, offset) : got;
}

void rescue_io_init(struct rescue_io *r, const struct journal_io *real)
{
	*r = (struct rescue_io){ .real = real };
	r->io = (struct journal_io){ .arg = r,
				     .open = do_open,
				     .close = do_close,
				     .read = do_read,
				     .size = do_size,
				     .list = do_list };
}
