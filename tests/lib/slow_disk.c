/*
 * A disk that is as slow as a test wants. With this library preloaded, each fdatasync() of a
 * program waits while another process holds an exclusive lock on the file that SLOW_DISK_GATE
 * names.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

static void pass_gate(const char *path)
{
	int gate = open(path, O_RDONLY | O_CLOEXEC);

	if (gate < 0)
		return;
	flock(gate, LOCK_SH);
	close(gate);
}

int fdatasync(int fd)
{
	const char *path = getenv("SLOW_DISK_GATE");

	if (path != NULL)
		pass_gate(path);
	return (int)syscall(SYS_fdatasync, fd);
}
