/*
 * A disk in memory that implements struct journal_io and forgets what a real disk forgets.
 *
 * It separates what programs see from what survives a crash. Bytes survive once their file was
 * synced, names once their directory was synced. disk_crash() discards everything else, or some of
 * its sectors and names, as a real disk does. A test can make a call fail, or stop the machine at a
 * call.
 */
#ifndef TESTS_DISK_H
#define TESTS_DISK_H

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "unit.h"

#include "journal/io.h"
#include "util/buf.h"

#define DISK_FILES_MAX	64
#define DISK_FDS_MAX	64
#define DISK_NAME_BYTES 64
#define DISK_SECTOR	512
#define DISK_GHOSTS	8
/* A descriptor of the directory has this in place of the number of a file. */
#define DISK_DIRECTORY (DISK_FILES_MAX + 1)

enum disk_call {
	DISK_OPEN = 1 << 0,
	DISK_WRITE = 1 << 1,
	DISK_TRUNCATE = 1 << 2,
	DISK_ALLOCATE = 1 << 3,
	DISK_SYNC = 1 << 4,
	DISK_SYNC_DIR = 1 << 5,
	DISK_RENAME = 1 << 6,
	DISK_REMOVE = 1 << 7,
	DISK_READ = 1 << 8,
	DISK_CHANGES =
		DISK_WRITE | DISK_TRUNCATE | DISK_SYNC | DISK_SYNC_DIR | DISK_RENAME | DISK_REMOVE,
	DISK_ALL = (1 << 9) - 1,
};

enum disk_crash {
	DISK_KEEP_SYNCED, /* only what was synced */
	DISK_KEEP_ALL,	  /* the process dies, and the machine writes everything */
	DISK_KEEP_MEMORY, /* the process dies, and the machine still has it in memory */
	DISK_KEEP_SOME,	  /* some sectors, and some changes of names */
	/* As DISK_KEEP_SOME, but a lost sector may also hold zeros, garbage, or what a file that
	 * is gone had at the same offset. File systems that do not order data leave that. */
	DISK_KEEP_ANY,
};

struct disk_file {
	struct buf now;
	struct buf synced;
	size_t dirty_from, dirty_to; /* written since the last sync */
	/* A sync of these bytes failed. They count as written, so later syncs skip them. */
	size_t forgotten_from, forgotten_to;
	bool used;
};

struct disk_name {
	char name[DISK_NAME_BYTES];
	int file; /* -1: no file has that name */
};

struct disk {
	struct journal_io io;
	struct disk_file files[DISK_FILES_MAX];
	struct disk_name names[DISK_FILES_MAX];
	struct disk_name synced_names[DISK_FILES_MAX];
	/* The bytes of files that were removed, cut, or lost in a crash. */
	struct buf ghosts[DISK_GHOSTS];
	unsigned ghost_count;  /* ever; the last DISK_GHOSTS are there */
	int fds[DISK_FDS_MAX]; /* file + 1, DISK_DIRECTORY, or 0 */
	bool locked[DISK_FDS_MAX];

	/* `count` calls from call number `after` of those kinds fail with `error`. */
	unsigned calls; /* of those kinds, made so far */
	unsigned fail_kinds;
	unsigned fail_after;
	unsigned fail_count;
	int fail_error;
	size_t fail_written; /* bytes that a failing write writes first */
	uint64_t room;	     /* bytes for all files together; a write above it fails with -ENOSPC */
	bool dead;	     /* the machine has stopped: every call fails and does nothing */
	bool stop;	     /* the machine stops instead of failing the call */
	/* In addition, the machine stops at call number `stop_after` of those kinds. */
	unsigned stop_kinds;
	unsigned stop_after;
};

static inline int disk_fails(struct disk *d, enum disk_call kind)
{
	if (d->dead)
		return -EIO;
	if ((d->stop_kinds & kind) != 0 && d->stop_after-- == 0) {
		d->dead = true;
		return -EIO;
	}
	if ((d->fail_kinds & kind) == 0)
		return 0;
	d->calls++;
	if (d->fail_count == 0 || d->calls <= d->fail_after ||
	    d->calls > d->fail_after + d->fail_count)
		return 0;
	d->dead = d->stop;
	return d->fail_error;
}

static inline const char *disk_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static inline struct disk_name *disk_find(struct disk_name *names, const char *path)
{
	const char *name = disk_base_name(path);

	for (int i = 0; i < DISK_FILES_MAX; i++) {
		if (names[i].file >= 0 && strcmp(names[i].name, name) == 0)
			return &names[i];
	}
	return NULL;
}

static inline struct disk_name *disk_add_name(struct disk_name *names, const char *path, int file)
{
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		if (names[i].file < 0) {
			strcpy(names[i].name, disk_base_name(path));
			names[i].file = file;
			return &names[i];
		}
	}
	TEST_FAIL_MESSAGE("the disk has too few names");
	return NULL;
}

static inline struct disk_file *disk_of(struct disk *d, int fd)
{
	TEST_ASSERT_TRUE_MESSAGE(fd >= 0 && fd < DISK_FDS_MAX && d->fds[fd] != 0,
				 "a descriptor is used that is not open");
	return &d->files[d->fds[fd] - 1];
}

static inline uint64_t disk_used(const struct disk *d)
{
	uint64_t used = 0;

	/* Files that only a name from before a sync leads to take no space. */
	for (int i = 0; i < DISK_FILES_MAX; i++)
		used += d->names[i].file >= 0 ? d->files[d->names[i].file].now.len : 0;
	return used;
}

/* A file without a name and without a file descriptor is free. */
static inline bool disk_is_free(const struct disk *d, int file)
{
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		if (d->names[i].file == file || d->synced_names[i].file == file)
			return false;
	}
	for (int i = 0; i < DISK_FDS_MAX; i++) {
		if (d->fds[i] == file + 1)
			return false;
	}
	return true;
}

/* Somewhere on the disk the bytes of a file stay. */
static inline void disk_add_ghost(struct disk *d, const struct disk_file *f)
{
	struct buf *ghost = &d->ghosts[d->ghost_count++ % DISK_GHOSTS];

	if (ghost->max == 0)
		buf_init(ghost, BUF_NO_MAX);
	buf_clear(ghost);
	buf_append_str(ghost, buf_str(&f->now));
}

static inline int disk_new_file(struct disk *d)
{
	int file = 0;

	while (d->files[file].used && !disk_is_free(d, file))
		TEST_ASSERT_TRUE(++file < DISK_FILES_MAX);
	buf_done(&d->files[file].now);
	buf_done(&d->files[file].synced);
	d->files[file] = (struct disk_file){ .now = BUF_INIT(BUF_NO_MAX),
					     .synced = BUF_INIT(BUF_NO_MAX),
					     .used = true };
	return file;
}

static inline int disk_open(void *arg, const char *path, int flags)
{
	struct disk *d = arg;
	struct disk_name *name;
	int rc = disk_fails(d, DISK_OPEN), fd = 0;

	if (rc < 0)
		return rc;
	while (d->fds[fd] != 0)
		TEST_ASSERT_TRUE(++fd < DISK_FDS_MAX);
	if ((flags & O_DIRECTORY) != 0) {
		d->fds[fd] = DISK_DIRECTORY;
		return fd;
	}
	name = disk_find(d->names, path);
	if (name != NULL && (flags & O_EXCL) != 0)
		return -EEXIST;
	if (name == NULL) {
		if ((flags & O_CREAT) == 0)
			return -ENOENT;
		/* A symbolic link may have that name already, and may lead anywhere. */
		TEST_ASSERT_TRUE_MESSAGE((flags & O_NOFOLLOW) != 0, path);
		name = disk_add_name(d->names, path, disk_new_file(d));
	}
	if ((flags & O_TRUNC) != 0) {
		buf_clear(&d->files[name->file].now);
		d->files[name->file].forgotten_from = d->files[name->file].forgotten_to = 0;
	}
	d->fds[fd] = name->file + 1;
	return fd;
}

static inline int disk_close(void *arg, int fd)
{
	struct disk *d = arg;

	TEST_ASSERT_TRUE(fd >= 0 && fd < DISK_FDS_MAX && d->fds[fd] != 0);
	d->fds[fd] = 0;
	d->locked[fd] = false;
	return 0;
}

/* Extend a range so that it includes another one. */
static inline void disk_widen(size_t *from, size_t *to, size_t more_from, size_t more_to)
{
	if (*from == *to)
		*from = more_from;
	if (more_from < *from)
		*from = more_from;
	if (more_to > *to)
		*to = more_to;
}

static inline ssize_t disk_write(void *arg, int fd, const void *bytes, size_t len, uint64_t offset)
{
	struct disk *d = arg;
	struct disk_file *f = disk_of(d, fd);
	int rc = disk_fails(d, DISK_WRITE);
	uint64_t used = disk_used(d);
	size_t fresh;

	TEST_ASSERT_TRUE_MESSAGE(offset <= f->now.len, "a hole is written");

	if (rc < 0 && d->fail_written == 0)
		return rc;
	if (rc < 0 && len > d->fail_written)
		len = d->fail_written;
	if (rc < 0)
		d->fail_written = 0;
	fresh = offset + len > f->now.len ? (size_t)offset + len - f->now.len : 0;
	if (used + fresh > d->room)
		len -= used + fresh - d->room < fresh ? (size_t)(used + fresh - d->room) : fresh;
	if (len == 0)
		return -ENOSPC;
	fresh = offset + len > f->now.len ? (size_t)offset + len - f->now.len : 0;
	memcpy(buf_reserve(&f->now, fresh) + offset - f->now.len, bytes, len);
	buf_commit(&f->now, fresh);
	disk_widen(&f->dirty_from, &f->dirty_to, (size_t)offset, (size_t)offset + len);
	/* A short write: the next call fails. */
	if (rc < 0)
		d->fail_count++;
	return (ssize_t)len;
}

static inline ssize_t disk_read(void *arg, int fd, void *to, size_t len, uint64_t offset)
{
	struct disk *d = arg;
	struct disk_file *f = disk_of(d, fd);
	int rc = disk_fails(d, DISK_READ);

	if (rc < 0)
		return rc;
	if (offset >= f->now.len)
		return 0;
	if (len > f->now.len - offset)
		len = f->now.len - (size_t)offset;
	memcpy(to, buf_data(&f->now) + offset, len);
	return (ssize_t)len;
}

static inline int disk_size(void *arg, int fd, uint64_t *ret_size)
{
	*ret_size = disk_of(arg, fd)->now.len;
	return 0;
}

static inline int disk_truncate(void *arg, int fd, uint64_t size)
{
	struct disk_file *f = disk_of(arg, fd);
	int rc = disk_fails(arg, DISK_TRUNCATE);

	if (rc < 0)
		return rc;
	if (size < f->now.len)
		disk_add_ghost(arg, f);
	if (size > f->now.len) {
		size_t more = (size_t)size - f->now.len;

		memset(buf_reserve(&f->now, more), 0, more);
		buf_commit(&f->now, more);
	}
	buf_truncate(&f->now, (size_t)size);
	return 0;
}

static inline int disk_allocate(void *arg, int fd, uint64_t offset, uint64_t len)
{
	struct disk *d = arg;
	int rc = disk_fails(d, DISK_ALLOCATE);

	(void)len;
	if (rc < 0)
		return rc;
	return disk_used(d) - disk_of(d, fd)->now.len + offset < d->room ? 0 : -ENOSPC;
}

static inline int disk_sync(void *arg, int fd)
{
	struct disk_file *f = disk_of(arg, fd);
	struct disk *d = arg;
	int rc = disk_fails(d, DISK_SYNC);
	struct buf old;

	if (rc < 0 && !d->dead && f->dirty_from < f->dirty_to)
		disk_widen(&f->forgotten_from, &f->forgotten_to, f->dirty_from, f->dirty_to);
	if (rc < 0)
		return rc;
	old = f->synced;
	f->synced = (struct buf)BUF_INIT(BUF_NO_MAX);
	buf_append_str(&f->synced, buf_str(&f->now));
	for (size_t i = f->forgotten_from; i < f->forgotten_to && i < f->synced.len; i++)
		buf_data(&f->synced)[i] = i < old.len ? buf_data(&old)[i] : 0;
	buf_done(&old);
	f->dirty_from = f->dirty_to = 0;
	return 0;
}

static inline int disk_rewrite(void *arg, const char *path, uint64_t size)
{
	struct disk *d = arg;
	int fd = disk_open(arg, path, O_RDWR), rc;

	if (fd < 0)
		return fd;
	rc = disk_fails(d, DISK_WRITE);
	TEST_ASSERT_EQUAL_UINT64(disk_of(d, fd)->now.len, size);
	if (rc == 0)
		disk_of(d, fd)->forgotten_from = disk_of(d, fd)->forgotten_to = 0;
	if (rc == 0)
		rc = disk_sync(d, fd);
	d->fds[fd] = 0;
	return rc;
}

static inline int disk_sync_dir(void *arg, const char *path)
{
	struct disk *d = arg;
	int rc = disk_fails(d, DISK_SYNC_DIR);

	(void)path;
	if (rc < 0)
		return rc;
	memcpy(d->synced_names, d->names, sizeof d->names);
	return 0;
}

static inline int disk_rename(void *arg, const char *from, const char *to)
{
	struct disk *d = arg;
	int rc = disk_fails(d, DISK_RENAME);
	struct disk_name *old;

	if (rc < 0)
		return rc;
	old = disk_find(d->names, to);
	if (old != NULL)
		old->file = -1;
	strcpy(disk_find(d->names, from)->name, disk_base_name(to));
	return 0;
}

static inline int disk_remove(void *arg, const char *path)
{
	struct disk *d = arg;
	int rc = disk_fails(d, DISK_REMOVE);
	struct disk_name *name;

	if (rc < 0)
		return rc;
	name = disk_find(d->names, path);
	if (name == NULL)
		return -ENOENT;
	disk_add_ghost(d, &d->files[name->file]);
	name->file = -1;
	return 0;
}

static inline int disk_list(void *arg, const char *path, journal_name_fn *each, void *each_arg)
{
	struct disk *d = arg;

	(void)path;
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		if (d->names[i].file >= 0)
			each(each_arg, d->names[i].name);
	}
	return 0;
}

static inline int disk_lock(void *arg, int fd)
{
	struct disk *d = arg;

	for (int i = 0; i < DISK_FDS_MAX; i++) {
		if (d->locked[i] && d->fds[i] == d->fds[fd])
			return -EWOULDBLOCK;
	}
	d->locked[fd] = true;
	return 0;
}

static inline void disk_init(struct disk *d)
{
	memset(d, 0, sizeof *d);
	d->io = (struct journal_io){ .arg = d,
				     .open = disk_open,
				     .close = disk_close,
				     .write = disk_write,
				     .read = disk_read,
				     .size = disk_size,
				     .truncate = disk_truncate,
				     .allocate = disk_allocate,
				     .sync = disk_sync,
				     .rewrite = disk_rewrite,
				     .sync_dir = disk_sync_dir,
				     .rename = disk_rename,
				     .remove = disk_remove,
				     .list = disk_list,
				     .lock = disk_lock };
	d->room = UINT64_MAX;
	for (int i = 0; i < DISK_FILES_MAX; i++)
		d->names[i].file = d->synced_names[i].file = -1;
}

static inline void disk_done(struct disk *d)
{
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		buf_done(&d->files[i].now);
		buf_done(&d->files[i].synced);
	}
	for (int i = 0; i < DISK_GHOSTS; i++)
		buf_done(&d->ghosts[i]);
}

/* Make call number `after` of those kinds fail, where 0 is the next one. */
static inline void disk_fail(struct disk *d, unsigned kinds, unsigned after, int error)
{
	d->calls = 0;
	d->fail_kinds = kinds;
	d->fail_after = after;
	d->fail_count = 1;
	d->fail_error = error;
	d->fail_written = 0;
	d->stop = false;
}

/* Stop the machine at that call. */
static inline void disk_stop(struct disk *d, unsigned kinds, unsigned after)
{
	disk_fail(d, kinds, after, -EIO);
	d->stop = true;
}

/* Fill a sector that no sync has covered with bytes that nobody has just written. */
static inline void disk_haunt(const struct disk *d, char *sector, size_t at, size_t len,
			      unsigned long long *rng)
{
	const struct buf *ghost = &d->ghosts[unit_random(rng) % DISK_GHOSTS];
	unsigned choice = (unsigned)(unit_random(rng) % 4);

	if (choice == 0) {
		memset(sector, 0, len);
	} else if (choice == 1) {
		for (size_t i = 0; i < len; i++)
			sector[i] = (char)unit_random(rng);
	} else if (ghost->len >= at + len) {
		memcpy(sector, buf_data(ghost) + at, len);
	}
}

/* Each unsynced sector of a file reached the disk or did not, and so did the size. */
static inline void disk_keep_some(struct disk *d, struct disk_file *f, enum disk_crash how,
				  unsigned long long *rng)
{
	size_t size = f->synced.len;
	size_t from = f->dirty_from < size ? f->dirty_from : size;
	char *bytes;

	if (f->now.len > size)
		size += (size_t)(unit_random(rng) % (f->now.len - size + 1));
	if (unit_random(rng) % 3 == 0 && f->now.len > size)
		size = f->now.len;
	bytes = calloc(1, size + 1);
	memcpy(bytes, buf_data(&f->synced) != NULL ? buf_data(&f->synced) : "", f->synced.len);
	for (size_t at = from; at < size;) {
		size_t end = (at / DISK_SECTOR + 1) * DISK_SECTOR;
		bool has_synced =
			at % DISK_SECTOR != 0 || (end > f->dirty_to && f->synced.len > f->dirty_to);

		if (end > size)
			end = size;
		if (unit_random(rng) % 2 == 0)
			memcpy(bytes + at, buf_data(&f->now) + at, end - at);
		else if (how == DISK_KEEP_ANY && !has_synced)
			disk_haunt(d, bytes + at, at, end - at, rng);
		at = end;
	}
	buf_clear(&f->now);
	buf_append(&f->now, bytes, size);
	free(bytes);
}

/* Each change of a name since the last sync of the directory reached the disk or did not, in any *
 * order. */
static inline void disk_keep_some_names(struct disk *d, unsigned long long *rng)
{
	struct disk_name kept[DISK_FILES_MAX];

	memcpy(kept, d->synced_names, sizeof kept);
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		const struct disk_name *now = &d->names[i];
		struct disk_name *old = now->file >= 0 ? disk_find(kept, now->name) : NULL;

		if (now->file < 0 || unit_random(rng) % 2 == 0)
			continue;
		if (old != NULL)
			old->file = now->file;
		else
			disk_add_name(kept, now->name, now->file);
	}
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		if (kept[i].file >= 0 && disk_find(d->names, kept[i].name) == NULL &&
		    unit_random(rng) % 2 == 0)
			kept[i].file = -1;
	}
	memcpy(d->names, kept, sizeof kept);
}

/* The machine stops and starts again. */
static inline void disk_crash(struct disk *d, enum disk_crash how, unsigned long long *rng)
{
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		if (d->files[i].used && !disk_is_free(d, i))
			disk_add_ghost(d, &d->files[i]);
	}
	if (how == DISK_KEEP_SYNCED)
		memcpy(d->names, d->synced_names, sizeof d->names);
	else if (how == DISK_KEEP_SOME || how == DISK_KEEP_ANY)
		disk_keep_some_names(d, rng);
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		struct disk_file *f = &d->files[i];

		if (!f->used || how == DISK_KEEP_ALL || how == DISK_KEEP_MEMORY)
			continue;
		if (how >= DISK_KEEP_SOME && f->now.len >= f->synced.len) {
			disk_keep_some(d, f, how, rng);
		} else {
			buf_clear(&f->now);
			buf_append_str(&f->now, buf_str(&f->synced));
		}
	}
	memset(d->fds, 0, sizeof d->fds);
	memset(d->locked, 0, sizeof d->locked);
	d->dead = false;
	d->fail_kinds = d->stop_kinds = 0;
	if (how == DISK_KEEP_MEMORY)
		return;
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		d->files[i].forgotten_from = d->files[i].forgotten_to = 0;
		disk_sync(d, (d->fds[0] = i + 1, 0));
	}
	d->fds[0] = 0;
	disk_sync_dir(d, "");
}

/* Copy all files as programs see them, so that a test can try several things. */
static inline void disk_copy(struct disk *to, const struct disk *from)
{
	disk_init(to);
	to->room = from->room;
	memcpy(to->names, from->names, sizeof to->names);
	memcpy(to->synced_names, from->names, sizeof to->names);
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		if (!from->files[i].used)
			continue;
		to->files[i].used = true;
		buf_init(&to->files[i].now, BUF_NO_MAX);
		buf_init(&to->files[i].synced, BUF_NO_MAX);
		buf_append_str(&to->files[i].now, buf_str(&from->files[i].now));
		buf_append_str(&to->files[i].synced, buf_str(&from->files[i].now));
	}
}

/* Returns the bytes of a file as programs see them, or NULL if there is none with that name. */
static inline struct buf *disk_file(struct disk *d, const char *name)
{
	struct disk_name *found = disk_find(d->names, name);

	return found != NULL ? &d->files[found->file].now : NULL;
}

#endif
