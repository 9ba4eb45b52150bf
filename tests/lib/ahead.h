/*
 * The clock of a qlessd, which a test sets ahead. The server preloads the library SET_CLOCK, and
 * reads the file from here.
 */
#ifndef TESTS_AHEAD_H
#define TESTS_AHEAD_H

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "peer.h"
#include "qlessd.h"
#include "unit.h"
#include "variable.h"

struct ahead {
	struct tempdir dir;
	/* Microseconds by which the wall clock, and the monotonic clocks, are ahead. */
	volatile int64_t *us;
};

#define AHEAD_BYTES (2 * sizeof(int64_t))

static inline void ahead_init(struct ahead *ahead)
{
	char path[QLESSD_PATH_MAX];
	int fd;

	tempdir_init(&ahead->dir);
	snprintf(path, sizeof path, "%s/clock", ahead->dir.path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	TEST_ASSERT_EQUAL_INT(0, ftruncate(fd, AHEAD_BYTES));
	ahead->us = mmap(NULL, AHEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	TEST_ASSERT_TRUE((void *)(uintptr_t)ahead->us != MAP_FAILED);
	close(fd);
	setenv("QLESSD_CLOCK", path, 1);
}

static inline void ahead_done(struct ahead *ahead)
{
	munmap((void *)(uintptr_t)ahead->us, AHEAD_BYTES);
	tempdir_done(&ahead->dir);
}

/* The library is preloaded into the server alone: call one before its start, the other after. */
static inline void ahead_begin_start(void)
{
	setenv("LD_PRELOAD", variable_get("SET_CLOCK"), 1);
}

static inline void ahead_end_start(void)
{
	unsetenv("LD_PRELOAD");
}

/* Start a server whose clock can be set. */
static inline void ahead_start(struct qlessd *q, const char *const *args)
{
	ahead_begin_start();
	qlessd_start_with(q, args);
	ahead_end_start();
}
#define AHEAD_START(q, ...) ahead_start(q, (const char *const[]){ __VA_ARGS__, NULL })

/* Start a server whose clock can be set, or start it again with its files. Returns a connection. */
static inline struct peer *ahead_connect(struct qlessd *q, bool again)
{
	ahead_begin_start();
	if (again)
		qlessd_start_again(q, (const char *const[]){ NULL });
	else
		qlessd_start(q);
	ahead_end_start();
	return peer_connect(q);
}

/* End the server as an operator does, and keep its files. */
static inline void ahead_end(struct qlessd *q)
{
	peer_close_all();
	kill(q->pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(q));
}

/* Let time pass for the server, on all its clocks at once. */
static inline void ahead_pass(struct ahead *ahead, const struct qlessd *q, double seconds)
{
	qlessd_halt(q);
	ahead->us[0] += (int64_t)(seconds * 1e6);
	ahead->us[1] += (int64_t)(seconds * 1e6);
	qlessd_go_on(q);
}

#endif
