/*
 * Any bytes as a snapshot. Loading gives an error, or an engine whose invariants hold. Such an
 * engine is the same after another snapshot, and commands can run on it.
 *
 * The first byte of an input chooses how the rest is cut into pieces. This level has no checksums,
 * so an input gets as far as a damaged file with correct checksums.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "queue.h"
#include "engine/state.h"
#include "qless.h"
#include "resp/writer.h"
#include "util/buf.h"
#include "util/chain.h"
#include "util/mem.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
#define MAX_WORDS	16
/* Later than all times in the snapshots of the corpus. */
#define LATER 1700100000.0

/* Each piece is a block of its own, so that a sanitizer sees a read of the byte after it. */
struct source {
	struct qless_str left;
	size_t piece_bytes;
	char *piece;
};

static struct qless_str next_piece(void *arg)
{
	struct source *s = arg;
	size_t len = s->left.len < s->piece_bytes ? s->left.len : s->piece_bytes;

	free(s->piece);
	s->piece = NULL;
	if (len == 0)
		return STR("");
	s->piece = mem_dup(s->left.ptr, len);
	/* A block of just this size. */
	s->piece = mem_realloc_array(s->piece, len, 1);
	s->left.ptr += len;
	s->left.len -= len;
	return str_make(s->piece, len);
}

static struct qless *load(struct qless_str bytes, size_t piece_bytes, uint64_t seed, int *ret_rc)
{
	struct source source = { .left = bytes, .piece_bytes = piece_bytes };
	struct qless_hooks hooks = { .hash_seed = seed };
	struct qless *q = qless_new(&hooks);

	*ret_rc = state_load(q, next_piece, &source);
	free(source.piece);
	if (*ret_rc < 0)
		assert(qless_error_text(q).len > 0);
	return q;
}

static bool append_saved(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
	return true;
}

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
	abort();
}

static void check_again(struct qless *q)
{
	struct buf first = BUF_INIT(BUF_NO_MAX), second = BUF_INIT(BUF_NO_MAX);
	struct qless *again;
	int rc;

	qless_check(q, fail_finding, NULL);
	state_save(q, append_saved, &first);
	again = load(buf_str(&first), SIZE_MAX, 2, &rc);
	assert(rc == 0);
	qless_check(again, fail_finding, NULL);
	state_save(again, append_saved, &second);
	assert(str_equal(buf_str(&first), buf_str(&second)));
	qless_free(again);
	buf_done(&first);
	buf_done(&second);
}

/* Calls that touch all objects in the snapshots of the corpus, by their names. */
static const char *const calls[] = {
	"queues",
	"workers",
	"workers w0",
	"stats q0 1700000000",
	"peek q0 10",
	"pop q0 w0 10",
	"pop q1 w1 3",
	"put w0 q0 j1 K {} 0",
	"put w0 q2 j2 K {} 10 depends [\"j1\",\"j3\"]",
	"depends j4 off all",
	"complete j0 w0 q0 {} next q1",
	"complete j3 w0 q0 {}",
	"fail j5 w0 group1 message",
	"retry j6 q0 w0",
	"heartbeat j7 w0",
	"priority j8 3",
	"tag add j9 t1 t2",
	"tag remove j9 t1",
	"tag get t1",
	"log j9 seen",
	"recur.get r0",
	"recur.update r1 interval 60 queue q2",
	"unrecur r2",
	"timeout j1 j10",
	"failed",
	"failed group1",
	"unfail q1 group1 5",
	"track untrack j1",
	"track track j2",
	"jobs running q0",
	"jobs complete",
	"worker.deregister w0",
	"pause q0",
	"unpause q0",
	"config.set jobs-history-count 1",
	"config.unset heartbeat",
	"complete j1 w0 q0 {}",
	"cancel j1 j2 j3 j4",
	"queue.forget q1",
	"consistencycheck",
	"get j11",
};

static size_t split(const char *text, struct qless_str *words)
{
	size_t count = 0;

	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		words[count++] = str_make(text, len);
		text += len;
		text += *text == ' ';
	}
	return count;
}

static void go_on(struct qless *q)
{
	struct queue_caller classic;
	struct chunk_pool pool;
	struct reply writer;
	struct chain out;

	queue_caller_init(&classic, q);
	chunk_pool_init(&pool, 2);
	chain_init(&out, &pool);
	resp_writer_init(&writer, &out, 2);
	for (size_t i = 0; i < COUNT_OF(calls); i++) {
		struct qless_str words[MAX_WORDS];
		size_t count = split(calls[i], words);
		const struct command *command = queue_command_find(words[0]);

		assert(command != NULL);
		queue_run(&classic, command, REQUEST_QLESS, LATER + (double)i, words + 1, count - 1,
			  &writer);
		chain_consume(&out, out.len);
	}
	qless_maintain(q);
	qless_check(q, fail_finding, NULL);
	chain_done(&out);
	chunk_pool_done(&pool);
	queue_caller_done(&classic);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t piece_bytes[] = { SIZE_MAX, 1, 2, 7, 16, 100 };
	struct qless *q;
	int rc;

	if (size == 0)
		return 0;
	q = load(str_make((const char *)data + 1, size - 1),
		 piece_bytes[data[0] % COUNT_OF(piece_bytes)], 1, &rc);
	if (rc == 0) {
		check_again(q);
		go_on(q);
	}
	qless_free(q);
	return 0;
}
