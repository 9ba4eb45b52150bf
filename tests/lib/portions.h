/*
 * Repairs in portions, as the server makes them: a child process finds them in its copy of the
 * state, and the parent makes them.
 */
#ifndef TESTS_PORTIONS_H
#define TESTS_PORTIONS_H

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operation/operation.h"
#include "operation/portion.h"
#include "unit.h"
#include "util/buf.h"

/* Runs in a child process: appends its result. */
typedef void in_child_fn(struct qless *q, struct buf *ret);

static inline void write_to_pipe(int fd, struct qless_str bytes)
{
	while (bytes.len != 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);

		if (n <= 0)
			_exit(1);
		bytes = str_make(bytes.ptr + n, bytes.len - (size_t)n);
	}
}

/* Append what the function appends in a copy of the state. */
static inline void run_in_child(struct qless *q, in_child_fn *fn, struct buf *ret)
{
	int ends[2], status = 0;
	ssize_t n;
	pid_t pid;

	TEST_ASSERT_EQUAL_INT(0, pipe(ends));
	pid = fork();
	TEST_ASSERT_GREATER_OR_EQUAL_INT(0, pid);
	if (pid == 0) {
		struct buf result = BUF_INIT(BUF_NO_MAX);

		fn(q, &result);
		write_to_pipe(ends[1], buf_str(&result));
		_exit(0);
	}
	close(ends[1]);
	while ((n = read(ends[0], buf_reserve(ret, 65536), 65536)) > 0)
		buf_commit(ret, (size_t)n);
	close(ends[0]);
	TEST_ASSERT_EQUAL_INT(pid, waitpid(pid, &status, 0));
	TEST_ASSERT_EQUAL_INT(0, status);
}

static inline void find_in_child(struct qless *q, struct buf *ret)
{
	struct portions p;

	portions_begin(&p, ret);
	if (!qless_find_repairs(q, 2000, portions_add, &p))
		_exit(2);
	portions_end(&p);
}

/* Take the next portion off the bytes and make its repairs. The bytes of what was run are appended
 * to `log`, which may be NULL. Returns the number of repairs. */
static inline uint64_t run_portion(struct qless *q, struct qless_str *portions, struct buf *log)
{
	struct operation_room room = { 0 };
	struct operation op;
	struct operation_outcome outcome;
	struct buf error = BUF_INIT(4096);

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, operation_decode(portions, &room, &op, &error),
				      buf_cstr(&error));
	TEST_ASSERT_EQUAL_INT(OPERATION_REPAIR, op.kind);
	op.now = 2000;
	qless_aim_repairs(q, (struct qless_repair *)(uintptr_t)op.repair.items, op.repair.count);
	if (log != NULL)
		operation_encode(&op, log);
	TEST_ASSERT_EQUAL_INT(0, operation_run(q, &op, &outcome));
	TEST_ASSERT_EQUAL_INT(outcome.count > 0, outcome.changed);
	operation_room_done(&room);
	buf_done(&error);
	return outcome.count;
}

/* Find the repairs and make them all. */
static inline uint64_t repair_in_portions(struct qless *q, struct buf *log)
{
	struct buf portions = BUF_INIT(BUF_NO_MAX);
	struct qless_str left;
	uint64_t repairs = 0;

	run_in_child(q, find_in_child, &portions);
	left = buf_str(&portions);
	while (left.len != 0)
		repairs += run_portion(q, &left, log);
	buf_done(&portions);
	return repairs;
}

static inline void append_piece(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static inline void append_line(void *arg, struct qless_str line)
{
	buf_append_str(arg, line);
	buf_append_char(arg, '\n');
}

/* The whole state and the findings in it, without the time of the latest change: in one piece, a
 * repair counts as a change even if it repairs nothing. */
static inline void describe_state(const struct qless *q, struct buf *ret)
{
	struct buf dump = BUF_INIT(BUF_NO_MAX);

	qless_dump(q, append_piece, &dump);
	TEST_ASSERT_EQUAL_STRING_LEN("latest ", buf_cstr(&dump), 7);
	buf_append_str(ret, str_from(strchr(buf_cstr(&dump) + 7, ' ')));
	qless_check(q, append_line, ret);
	buf_done(&dump);
}

#endif
