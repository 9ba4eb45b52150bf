/*
 * The recorder: a library that is loaded into the daemon with LD_PRELOAD, and writes a trace of all
 * calls that concern the directory of the log or a client.
 *
 * It does not sync anything. A sync takes a random time, during which other threads and processes
 * go on, and may fail. The judge builds what a disk could hold, whatever the real one does.
 *
 * The variable POWERLOSS_FAULT breaks the daemon on purpose. Syncs of some files then return at
 * once, and say that they succeeded:
 *
 *	manifest	files with a name that begins with "manifest", before they are renamed.
 *			Nothing is synced
 *	directory	the directory. Nothing is synced
 *	log		log segments. The sync ends when the next one begins, so replies leave
 *			before their records are safe
 */
/* With it, the compiler would give the functions below the names of others, such as open64. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

#define FDS_MAX 65536
/* One of this many syncs takes SLOW_TIMES times as long as the others, as on a busy disk. */
#define SLOW_EVERY 20
#define SLOW_TIMES 20
/* No sync takes more microseconds than this. */
#define DELAY_MAX_US ((uint64_t)6 * 1000 * 1000)

enum fd_kind {
	FD_NONE,
	FD_FILE,
	FD_DIRECTORY,
	FD_CONNECTION,
};

enum fault {
	FAULT_NONE,
	FAULT_MANIFEST,
	FAULT_LOG,
	FAULT_DIRECTORY,
};

struct fd {
	_Atomic uint32_t handle;
	_Atomic uint8_t kind;
	_Atomic uint8_t fault; /* the one that concerns this file */
	_Atomic uint64_t late; /* where a sync began that has not ended: FAULT_LOG */
};

static struct trace_header *trace; /* NULL: nothing is recorded */
static struct fd fds[FDS_MAX];
static dev_t dir_dev;
static ino_t dir_ino;
static enum fault fault;
static unsigned delay_us, log_delay_us, fail_every;
static _Atomic uint64_t rng;

/* The real functions, once find_real() has found them. Other libraries may make calls before this
 * one is initialised. */
static struct {
	int (*open)(const char *path, int flags, ...);
	int (*openat)(int dirfd, const char *path, int flags, ...);
	int (*close)(int fd);
	int (*close_range)(unsigned first, unsigned last, int flags);
	int (*dup2)(int from, int to);
	ssize_t (*pwrite)(int fd, const void *bytes, size_t len, off_t offset);
	ssize_t (*write)(int fd, const void *bytes, size_t len);
	ssize_t (*writev)(int fd, const struct iovec *iov, int count);
	ssize_t (*send)(int fd, const void *bytes, size_t len, int flags);
	ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
	ssize_t (*recv)(int fd, void *to, size_t size, int flags);
	ssize_t (*read)(int fd, void *to, size_t size);
	int (*ftruncate)(int fd, off_t size);
	int (*fallocate)(int fd, int mode, off_t offset, off_t len);
	int (*renameat)(int from_dir, const char *from, int to_dir, const char *to);
	int (*renameat2)(int from_dir, const char *from, int to_dir, const char *to,
			 unsigned flags);
	int (*linkat)(int from_dir, const char *from, int to_dir, const char *to, int flags);
	int (*unlinkat)(int dirfd, const char *path, int flags);
	int (*accept4)(int fd, __SOCKADDR_ARG address, socklen_t *len, int flags);
	int (*fsync)(int fd);
	int (*fdatasync)(int fd);
} found;

#define FIND(name) *(void **)&found.name = dlsym(RTLD_NEXT, #name)

static void find_real(void)
{
	FIND(openat), FIND(close), FIND(close_range), FIND(dup2);
	FIND(pwrite), FIND(write), FIND(writev), FIND(send), FIND(sendmsg), FIND(recv), FIND(read);
	FIND(ftruncate), FIND(fallocate), FIND(fsync), FIND(fdatasync);
	FIND(renameat), FIND(renameat2), FIND(linkat), FIND(unlinkat), FIND(accept4);
	FIND(open); /* the last one: the others are there if this is */
}

static const __typeof__(found) *get_real(void)
{
	if (found.open == NULL)
		find_real();
	return &found;
}

/* ---- the trace ---- */

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* splitmix64 */
static uint64_t random_number(void)
{
	uint64_t x = atomic_fetch_add(&rng, UINT64_C(0x9e3779b97f4a7c15));

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* A process that was killed while it had the lock has not moved the end, so its event is not
 * there. */
static void lock_trace(void)
{
	if (pthread_mutex_lock(&trace->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&trace->lock);
}

static void copy_pieces(char *to, const struct iovec *iov, size_t len)
{
	for (; len > 0; iov++) {
		size_t part = iov->iov_len < len ? iov->iov_len : len;

		memcpy(to, iov->iov_base, part);
		to += part;
		len -= part;
	}
}

/* Write an event with the first `len` bytes of the pieces. Returns its offset in the trace. Leaves
 * errno alone. */
static uint64_t record_pieces(struct trace_event event, const struct iovec *iov, size_t len)
{
	int saved_errno = errno;
	uint64_t at;

	event.bytes = (uint32_t)((sizeof event + len + 7) / 8 * 8);
	event.data_bytes = (uint32_t)len;
	lock_trace();
	at = trace->end;
	if (at + event.bytes > TRACE_BYTES_MAX) {
		fprintf(stderr, "powerloss: the trace is full\n");
		abort();
	}
	event.time_us = now_us();
	memcpy((char *)trace + at, &event, sizeof event);
	copy_pieces((char *)trace + at + sizeof event, iov, len);
	trace->end = at + event.bytes;
	pthread_mutex_unlock(&trace->lock);
	errno = saved_errno;
	return at;
}

static uint64_t record(struct trace_event event, const void *data, size_t len)
{
	union {
		const void *from;
		void *to;
	} base = { .from = data };
	struct iovec iov = { .iov_base = base.to, .iov_len = len };

	return record_pieces(event, &iov, len);
}

static void record_unknown(const char *call)
{
	record((struct trace_event){ .kind = TRACE_UNKNOWN }, call, strlen(call));
}

static uint32_t new_handle(void)
{
	uint32_t handle;

	lock_trace();
	handle = ++trace->last_handle;
	pthread_mutex_unlock(&trace->lock);
	return handle;
}

/* ---- file descriptors and paths ---- */

static struct fd *find_fd(int fd, enum fd_kind kind)
{
	if (trace == NULL || fd < 0 || fd >= FDS_MAX || fds[fd].kind != kind)
		return NULL;
	return &fds[fd];
}

static uint32_t enter_fd(int fd, enum fd_kind kind, uint32_t handle)
{
	if (fd >= FDS_MAX) {
		fprintf(stderr, "powerloss: there are too many file descriptors\n");
		abort();
	}
	fds[fd].handle = handle;
	fds[fd].fault = FAULT_NONE;
	fds[fd].late = 0;
	fds[fd].kind = (uint8_t)kind;
	return handle;
}

static void forget_fds(unsigned first, unsigned last)
{
	for (unsigned fd = first; fd <= last && fd < FDS_MAX; fd++)
		fds[fd].kind = FD_NONE;
}

static bool is_dir(const struct stat *st)
{
	return st->st_dev == dir_dev && st->st_ino == dir_ino;
}

/* Returns the name of a file in the directory of the log, or NULL for any other path. */
static const char *name_of(int dirfd, const char *path)
{
	const char *slash = strrchr(path, '/');
	char parent[4096] = ".";
	struct stat st;

	if (trace == NULL)
		return NULL;
	if (slash != NULL && (size_t)(slash - path) + 2 > sizeof parent)
		return NULL;
	if (slash != NULL) {
		memcpy(parent, path, (size_t)(slash - path) + 1);
		parent[slash - path + 1] = '\0';
	}
	if (fstatat(dirfd, parent, &st, 0) < 0 || !is_dir(&st))
		return NULL;
	return slash != NULL ? slash + 1 : path;
}

static enum fault fault_of_name(const char *name)
{
	if (strncmp(name, "manifest", 8) == 0)
		return FAULT_MANIFEST;
	return strncmp(name, "log-", 4) == 0 ? FAULT_LOG : FAULT_NONE;
}

/* ---- open and close ---- */

static int note_open(int fd, int dirfd, const char *path, int flags)
{
	int saved_errno = errno;
	struct trace_event event = { .kind = TRACE_OPEN, .value = (uint64_t)(unsigned)flags };
	const char *name;
	struct stat st;

	if (fd < 0 || trace == NULL)
		return fd;
	forget_fds((unsigned)fd, (unsigned)fd);
	name = name_of(dirfd, path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (is_dir(&st)) {
			enter_fd(fd, FD_DIRECTORY, TRACE_DIRECTORY);
			fds[fd].fault = FAULT_DIRECTORY;
		}
	} else if (name != NULL) {
		event.handle = enter_fd(fd, FD_FILE, new_handle());
		fds[fd].fault = (uint8_t)fault_of_name(name);
		record(event, name, strlen(name));
		if ((flags & (O_DIRECT | O_TMPFILE)) == O_DIRECT ||
		    (flags & O_TMPFILE) == O_TMPFILE)
			record_unknown("open with O_DIRECT or O_TMPFILE");
	}
	errno = saved_errno;
	return fd;
}

static mode_t mode_of(int flags, va_list args)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t)
									  : 0;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return note_open(get_real()->open(path, flags, mode), AT_FDCWD, path, flags);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int openat(int dirfd, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return note_open(get_real()->openat(dirfd, path, flags, mode), dirfd, path, flags);
}

int openat64(int dirfd, const char *path, int flags, ...) __attribute__((alias("openat")));

/* The compiler calls these with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

int __open_2(const char *path, int flags)
{
	return note_open(get_real()->open(path, flags, 0), AT_FDCWD, path, flags);
}

int __open64_2(const char *path, int flags)
{
	return __open_2(path, flags);
}

int __openat_2(int dirfd, const char *path, int flags)
{
	return note_open(get_real()->openat(dirfd, path, flags, 0), dirfd, path, flags);
}

int __openat64_2(int dirfd, const char *path, int flags)
{
	return __openat_2(dirfd, path, flags);
}

int close(int fd)
{
	/* Before the call: another thread may get the number as soon as it is free. */
	if (fd >= 0)
		forget_fds((unsigned)fd, (unsigned)fd);
	return get_real()->close(fd);
}

int close_range(unsigned first, unsigned last, int flags)
{
	forget_fds(first, last);
	return get_real()->close_range(first, last, flags);
}

int dup2(int from, int to)
{
	int fd = get_real()->dup2(from, to);

	if (fd >= 0 && fd < FDS_MAX && from < FDS_MAX && fd != from) {
		fds[fd].kind = FD_NONE;
		fds[fd].handle = fds[from].handle;
		fds[fd].fault = fds[from].fault;
		fds[fd].kind = fds[from].kind;
	}
	return fd;
}

/* ---- files ---- */

static bool is_zero(const char *bytes, size_t len)
{
	return len > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

static void note_write(const struct fd *f, const void *bytes, ssize_t n, uint64_t offset)
{
	struct trace_event event = {
		.kind = TRACE_WRITE, .handle = f->handle, .offset = offset, .value = (uint64_t)n
	};

	if (n <= 0)
		return;
	event.is_zero = is_zero(bytes, (size_t)n);
	record(event, bytes, event.is_zero ? 0 : (size_t)n);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	const struct fd *f = find_fd(fd, FD_FILE);
	ssize_t n = get_real()->pwrite(fd, bytes, len, offset);

	if (f != NULL)
		note_write(f, bytes, n, (uint64_t)offset);
	return n;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t offset)
	__attribute__((alias("pwrite")));

static void note_send(const struct fd *f, const struct iovec *iov, ssize_t n)
{
	if (n > 0)
		record_pieces((struct trace_event){ .kind = TRACE_SEND, .handle = f->handle }, iov,
			      (size_t)n);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	ssize_t n = get_real()->write(fd, bytes, len);
	const struct fd *f;

	f = find_fd(fd, FD_FILE);
	if (f != NULL && n > 0)
		note_write(f, bytes, n, (uint64_t)lseek(fd, 0, SEEK_CUR) - (uint64_t)n);
	f = find_fd(fd, FD_CONNECTION);
	if (f != NULL && n > 0)
		record((struct trace_event){ .kind = TRACE_SEND, .handle = f->handle }, bytes,
		       (size_t)n);
	return n;
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	ssize_t n = get_real()->writev(fd, iov, count);
	const struct fd *f = find_fd(fd, FD_CONNECTION);

	if (f != NULL)
		note_send(f, iov, n);
	if (find_fd(fd, FD_FILE) != NULL)
		record_unknown("writev to a file");
	return n;
}

int ftruncate(int fd, off_t size)
{
	const struct fd *f = find_fd(fd, FD_FILE);
	int rc = get_real()->ftruncate(fd, size);

	if (f != NULL && rc == 0)
		record((struct trace_event){ .kind = TRACE_TRUNCATE,
					     .handle = f->handle,
					     .value = (uint64_t)size },
		       NULL, 0);
	return rc;
}

int ftruncate64(int fd, off_t size) __attribute__((alias("ftruncate")));

/* Reserved space changes nothing that a reader could see. */
int fallocate(int fd, int mode, off_t offset, off_t len)
{
	if (find_fd(fd, FD_FILE) != NULL && mode != FALLOC_FL_KEEP_SIZE)
		record_unknown("fallocate that changes a file");
	return get_real()->fallocate(fd, mode, offset, len);
}

int fallocate64(int fd, int mode, off_t offset, off_t len) __attribute__((alias("fallocate")));

/* ---- syncs ---- */

static void take_time(const struct fd *f)
{
	uint64_t average_us = f->fault == FAULT_LOG && log_delay_us != 0 ? log_delay_us : delay_us;
	uint64_t us = average_us == 0 ? 0 : random_number() % (2 * average_us);
	struct timespec delay;

	if (us > 0 && random_number() % SLOW_EVERY == 0)
		us *= SLOW_TIMES;
	us = us < DELAY_MAX_US ? us : DELAY_MAX_US;
	delay.tv_sec = (time_t)(us / 1000000);
	delay.tv_nsec = (long)(us % 1000000) * 1000;
	if (us > 0)
		nanosleep(&delay, NULL);
}

static uint64_t begin_sync(const struct fd *f)
{
	return record((struct trace_event){ .kind = TRACE_SYNC_BEGIN, .handle = f->handle }, NULL,
		      0);
}

static void end_sync(const struct fd *f, uint64_t began, bool failed)
{
	record((struct trace_event){ .kind = TRACE_SYNC_END,
				     .handle = f->handle,
				     .offset = began,
				     .value = failed },
	       NULL, 0);
}

/* A sync that ends when the next one begins. */
static int sync_late(struct fd *f)
{
	if (f->late != 0)
		end_sync(f, f->late, false);
	f->late = begin_sync(f);
	return 0;
}

static int sync_fd(struct fd *f)
{
	uint64_t began;
	bool failed;

	if (fault != FAULT_NONE && f->fault == fault)
		return fault == FAULT_LOG ? sync_late(f) : 0;
	began = begin_sync(f);
	take_time(f);
	failed = f->kind == FD_FILE && fail_every != 0 && random_number() % fail_every == 0;
	end_sync(f, began, failed);
	if (!failed)
		return 0;
	errno = EIO;
	return -1;
}

static struct fd *find_syncable(int fd)
{
	struct fd *f = find_fd(fd, FD_FILE);

	return f != NULL ? f : find_fd(fd, FD_DIRECTORY);
}

int fsync(int fd)
{
	struct fd *f = find_syncable(fd);

	return f != NULL ? sync_fd(f) : get_real()->fsync(fd);
}

int fdatasync(int fd)
{
	struct fd *f = find_syncable(fd);

	return f != NULL ? sync_fd(f) : get_real()->fdatasync(fd);
}

/* ---- names ---- */

static int note_name(int rc, enum trace_kind kind, const char *name)
{
	if (rc == 0 && name != NULL)
		record((struct trace_event){ .kind = (uint16_t)kind }, name, strlen(name));
	return rc;
}

/* Both names, with a slash between them. */
static int note_names(int rc, enum trace_kind kind, const char *from, const char *to)
{
	char both[2 * TRACE_NAME_BYTES + 2];

	if (rc < 0 || (from == NULL && to == NULL))
		return rc;
	if (from == NULL || to == NULL) {
		record_unknown("rename or link between directories");
		return rc;
	}
	snprintf(both, sizeof both, "%s/%s", from, to);
	return note_name(rc, kind, both);
}

int rename(const char *from, const char *to)
{
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	const char *old_name = name_of(from_dir, from), *new_name = name_of(to_dir, to);

	return note_names(get_real()->renameat(from_dir, from, to_dir, to), TRACE_RENAME, old_name,
			  new_name);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	const char *old_name = name_of(from_dir, from), *new_name = name_of(to_dir, to);
	int rc = get_real()->renameat2(from_dir, from, to_dir, to, flags);

	if (rc == 0 && (flags & ~(unsigned)RENAME_NOREPLACE) != 0 &&
	    (old_name != NULL || new_name != NULL))
		record_unknown("renameat2 that exchanges names");
	return note_names(rc, TRACE_RENAME, old_name, new_name);
}

int link(const char *from, const char *to)
{
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	const char *old_name = name_of(from_dir, from), *new_name = name_of(to_dir, to);

	return note_names(get_real()->linkat(from_dir, from, to_dir, to, flags), TRACE_LINK,
			  old_name, new_name);
}

int unlink(const char *path)
{
	const char *name = name_of(AT_FDCWD, path);

	return note_name(get_real()->unlinkat(AT_FDCWD, path, 0), TRACE_UNLINK, name);
}

int unlinkat(int dirfd, const char *path, int flags)
{
	const char *name = name_of(dirfd, path);

	return note_name(get_real()->unlinkat(dirfd, path, flags), TRACE_UNLINK, name);
}

/* ---- connections ---- */

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *len, int flags)
{
	int client = get_real()->accept4(fd, address, len, flags);

	if (client >= 0 && trace != NULL)
		record((struct trace_event){ .kind = TRACE_ACCEPT,
					     .handle = enter_fd(client, FD_CONNECTION,
								new_handle()) },
		       NULL, 0);
	return client;
}

ssize_t recv(int fd, void *to, size_t size, int flags)
{
	const struct fd *f = find_fd(fd, FD_CONNECTION);
	ssize_t n = get_real()->recv(fd, to, size, flags);

	if (f != NULL && n > 0 && (flags & MSG_PEEK) == 0)
		record((struct trace_event){ .kind = TRACE_RECEIVE, .handle = f->handle }, to,
		       (size_t)n);
	return n;
}

ssize_t read(int fd, void *to, size_t size)
{
	const struct fd *f = find_fd(fd, FD_CONNECTION);
	ssize_t n = get_real()->read(fd, to, size);

	if (f != NULL && n > 0)
		record((struct trace_event){ .kind = TRACE_RECEIVE, .handle = f->handle }, to,
		       (size_t)n);
	return n;
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	const struct fd *f = find_fd(fd, FD_CONNECTION);
	ssize_t n = get_real()->send(fd, bytes, len, flags);

	if (f != NULL && n > 0)
		record((struct trace_event){ .kind = TRACE_SEND, .handle = f->handle }, bytes,
		       (size_t)n);
	return n;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	const struct fd *f = find_fd(fd, FD_CONNECTION);
	ssize_t n = get_real()->sendmsg(fd, message, flags);

	if (f != NULL)
		note_send(f, message->msg_iov, n);
	return n;
}

/* ---- calls that the model does not know ---- */

/* Allocators call this before libraries can be searched. */
void *mmap(void *address, size_t len, int protection, int flags, int fd, off_t offset)
{
	union {
		long result;
		void *memory;
	} u = { .result = syscall(SYS_mmap, address, len, protection, flags, fd, offset) };

	if (u.result != -1 && (flags & MAP_SHARED) != 0 && (protection & PROT_WRITE) != 0 &&
	    find_fd(fd, FD_FILE) != NULL)
		record_unknown("mmap of a file for writing");
	return u.memory;
}

void *mmap64(void *address, size_t len, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

ssize_t copy_file_range(int from, off_t *from_offset, int to, off_t *to_offset, size_t len,
			unsigned flags)
{
	static ssize_t (*real_copy)(int, off_t *, int, off_t *, size_t, unsigned);

	if (real_copy == NULL)
		*(void **)&real_copy = dlsym(RTLD_NEXT, "copy_file_range");
	if (find_fd(to, FD_FILE) != NULL)
		record_unknown("copy_file_range");
	return real_copy(from, from_offset, to, to_offset, len, flags);
}

/* A process that gets only idle time and has the lock of the trace would stop all others. */
int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	(void)pid;
	(void)policy;
	(void)param;
	return 0;
}

/* ---- the beginning ---- */

static unsigned number_of(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static enum fault fault_of(const char *text)
{
	if (text == NULL || text[0] == '\0')
		return FAULT_NONE;
	if (strcmp(text, "manifest") == 0)
		return FAULT_MANIFEST;
	if (strcmp(text, "log") == 0)
		return FAULT_LOG;
	if (strcmp(text, "directory") == 0)
		return FAULT_DIRECTORY;
	fprintf(stderr, "powerloss: %s has the unknown value %s\n", TRACE_ENV_FAULT, text);
	abort();
}

static void init_header(struct trace_header *header)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&header->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	header->end = TRACE_FIRST;
	header->last_handle = TRACE_DIRECTORY;
	header->magic = TRACE_MAGIC;
}

static struct trace_header *map_trace(const char *path)
{
	int fd = get_real()->open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct trace_header *header = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 &&
	    get_real()->ftruncate(fd, (off_t)TRACE_BYTES_MAX) == 0)
		header = mmap(NULL, TRACE_BYTES_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED) {
		fprintf(stderr, "powerloss: cannot write the trace %s\n", path);
		abort();
	}
	get_real()->close(fd);
	/* A daemon that is started again continues the trace. */
	if (header->magic != TRACE_MAGIC)
		init_header(header);
	return header;
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv(TRACE_ENV_FILE), *dir = getenv(TRACE_ENV_DIR);
	struct stat st;

	if (path == NULL || dir == NULL || stat(dir, &st) < 0)
		return;
	dir_dev = st.st_dev;
	dir_ino = st.st_ino;
	fault = fault_of(getenv(TRACE_ENV_FAULT));
	delay_us = number_of(TRACE_ENV_DELAY);
	log_delay_us = number_of(TRACE_ENV_LOG_DELAY);
	fail_every = number_of(TRACE_ENV_FAIL);
	rng = number_of(TRACE_ENV_SEED);
	trace = map_trace(path);
	record((struct trace_event){ .kind = TRACE_START }, NULL, 0);
}
