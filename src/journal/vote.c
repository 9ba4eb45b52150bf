/*
 * The two files of a vote.
 */
#include "journal/vote.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

#include "journal/manifest.h"
#include "util/wire.h"

#define MAGIC	    "QLESSVOT"
#define MAGIC_BYTES ((size_t)8)
#define VERSION	    1
#define VOTE_HASHED (VOTE_BYTES - 8)

static const char *const names[] = { "vote-1", "vote-2" };

#define NAME_COUNT (sizeof names / sizeof *names)

void vote_encode(const struct vote *vote, unsigned char to[VOTE_BYTES])
{
	memcpy(to, MAGIC, MAGIC_BYTES);
	wire_put_u64(to + 8, VERSION);
	memcpy(to + 16, vote->identity.group, JOURNAL_GROUP_ID_BYTES);
	wire_put_u64(to + 32, vote->identity.node);
	wire_put_u64(to + 40, vote->counter);
	wire_put_u64(to + 48, vote->content.term);
	wire_put_u64(to + 56, vote->content.node);
	wire_put_u64(to + VOTE_HASHED, XXH3_64bits(to, VOTE_HASHED));
}

bool vote_decode(const unsigned char *from, size_t len, struct vote *ret_vote)
{
	if (len < VOTE_BYTES || memcmp(from, MAGIC, MAGIC_BYTES) != 0 ||
	    wire_get_u64(from + 8) != VERSION ||
	    wire_get_u64(from + VOTE_HASHED) != XXH3_64bits(from, VOTE_HASHED))
		return false;
	memcpy(ret_vote->identity.group, from + 16, JOURNAL_GROUP_ID_BYTES);
	ret_vote->identity.node = wire_get_u64(from + 32);
	ret_vote->counter = wire_get_u64(from + 40);
	ret_vote->content.term = wire_get_u64(from + 48);
	ret_vote->content.node = wire_get_u64(from + 56);
	return true;
}

/* Read one file. -EBADMSG if it is not whole, -ENOENT if it is not there. */
static int read_one(struct vote *vote, const struct journal_io *io, const char *path)
{
	unsigned char bytes[VOTE_BYTES];
	int fd = io->open(io->arg, path, O_RDONLY);
	ssize_t got;

	if (fd < 0)
		return fd;
	got = journal_read_all(io, fd, bytes, sizeof bytes, 0);
	io->close(io->arg, fd);
	if (got < 0)
		return (int)got;
	return vote_decode(bytes, (size_t)got, vote) ? 0 : -EBADMSG;
}

static bool is_same_node(const struct vote *a, const struct vote *b)
{
	return a->identity.node == b->identity.node &&
	       memcmp(a->identity.group, b->identity.group, JOURNAL_GROUP_ID_BYTES) == 0;
}

static int complain(struct buf *ret_error, const char *dir, int rc)
{
	if (rc == -ENOENT)
		buf_printf(ret_error, "%s has neither vote-1 nor vote-2", dir);
	else
		buf_printf(ret_error, "vote-1 and vote-2 in %s are both damaged", dir);
	buf_printf(ret_error, ". The node no longer knows how it has voted. Remove it from its "
			      "group, and let it join the group again with an empty directory");
	return rc;
}

int vote_read(struct vote *ret_vote, const struct journal_io *io, const char *dir,
	      struct buf *ret_error)
{
	char path[JOURNAL_PATH_MAX];
	struct vote vote;
	int result = -ENOENT, rc;

	*ret_vote = (struct vote){ .counter = 0 };

	for (size_t i = 0; i < NAME_COUNT; i++) {
		journal_path(path, dir, names[i]);
		rc = read_one(&vote, io, path);
		if (rc < 0 && rc != -ENOENT && rc != -EBADMSG) {
			buf_printf(ret_error, "cannot read %s: %s", path, strerror(-rc));
			return rc;
		}
		if (rc == 0 && result == 0 && !is_same_node(&vote, ret_vote)) {
			buf_printf(ret_error, "vote-1 and vote-2 in %s belong to different nodes",
				   dir);
			return -EBADMSG;
		}
		if (rc == 0 && (result < 0 || vote.counter > ret_vote->counter))
			*ret_vote = vote;
		if (rc == 0 || result == -ENOENT)
			result = rc;
	}
	return result < 0 ? complain(ret_error, dir, result) : 0;
}

/* Replace the bytes of a file, or make it. */
static int write_one(const unsigned char bytes[VOTE_BYTES], const struct journal_io *io,
		     const char *dir, const char *name)
{
	char path[JOURNAL_PATH_MAX];
	bool is_new = false;
	size_t written;
	int fd, rc;

	journal_path(path, dir, name);
	fd = io->open(io->arg, path, O_WRONLY | O_NOFOLLOW);
	if (fd == -ENOENT) {
		fd = journal_create_file(io, path);
		is_new = true;
	}
	if (fd < 0)
		return fd;
	rc = journal_write_all(io, fd, bytes, VOTE_BYTES, 0, &written);
	if (rc == 0)
		rc = io->sync(io->arg, fd);
	io->close(io->arg, fd);
	return rc == 0 && is_new ? io->sync_dir(io->arg, dir) : rc;
}

int vote_write(const struct vote *vote, const struct journal_io *io, const char *dir)
{
	unsigned char bytes[VOTE_BYTES];
	int rc = 0;

	vote_encode(vote, bytes);
	for (size_t i = 0; i < NAME_COUNT && rc == 0; i++)
		rc = write_one(bytes, io, dir, names[i]);
	return rc;
}
