/*
 * Snapshot files: records of the state, written at a limited rate.
 */
#include "journal/base.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "engine/state.h"
#include "journal/manifest.h"
#include "sys/clock.h"

/* Bytes written at a time. */
#define WRITE_BYTES ((size_t)512 * 1024)
/* Bytes between two syncs. So the last sync is short, and no other sync has to wait for many bytes
 * of this file. */
#define SYNC_BYTES ((uint64_t)4 * 1024 * 1024)

/* Sleep if more was written than the rate allows. */
static void keep_to_rate(const struct base_writer *w)
{
	uint64_t rate = w->options.bytes_per_second;
	int64_t due_us, ahead_us;
	struct timespec delay;

	if (rate == 0)
		return;
	due_us = w->started_us + (int64_t)((double)w->bytes / (double)rate * 1e6);
	ahead_us = due_us - clock_mono_us();
	if (ahead_us <= 0)
		return;
	delay.tv_sec = ahead_us / 1000000;
	delay.tv_nsec = ahead_us % 1000000 * 1000;
	while (nanosleep(&delay, &delay) < 0 && errno == EINTR)
		;
}

static void flush(struct base_writer *w)
{
	const struct journal_io *io = w->options.io;
	size_t written;

	if (w->rc == 0)
		w->rc = journal_write_all(io, w->fd, buf_data(&w->out), w->out.len, w->bytes,
					  &written);
	w->bytes += w->out.len;
	w->unsynced += w->out.len;
	buf_clear(&w->out);
	if (w->rc == 0 && w->unsynced >= SYNC_BYTES) {
		w->rc = io->sync(io->arg, w->fd);
		w->unsynced = 0;
	}
	if (w->rc != 0)
		return;
	if (w->options.progress != NULL)
		w->options.progress(w->options.progress_arg, w->bytes);
	keep_to_rate(w);
}

static void flush_if_full(struct base_writer *w)
{
	if (w->out.len >= WRITE_BYTES)
		flush(w);
}

void base_begin(struct base_writer *w, const struct base_options *options)
{
	struct record_file_header header = {
		.kind = RECORD_FILE_BASE,
		.format = options->group != NULL ? RECORD_FORMAT_GROUP : RECORD_FORMAT_VERSION,
		.engine = STATE_VERSION,
		.number = options->number,
		.sequence = options->sequence,
		.salt = options->salt,
		.created_us = options->wall_us,
	};
	unsigned char head[RECORD_FILE_HEADER_BYTES];
	char path[JOURNAL_PATH_MAX];

	*w = (struct base_writer){ .options = *options,
				   .out = BUF_INIT(BUF_NO_MAX),
				   .started_us = clock_mono_us() };
	journal_base_path(path, options->dir, options->number);
	w->fd = journal_create_file(options->io, path);
	w->rc = w->fd < 0 ? w->fd : 0;
	record_encode_header(&header, head);
	buf_append(&w->out, head, sizeof head);
	if (options->group != NULL)
		record_append_group(&w->out, options->salt, ++w->sequence, options->group);
}

static bool write_piece(void *arg, struct qless_str piece)
{
	struct base_writer *w = arg;

	record_append(&w->out, w->options.salt, RECORD_STATE_DATA, ++w->sequence, piece);
	w->state_bytes += piece.len;
	flush_if_full(w);
	return w->rc == 0;
}

void base_add_database(struct base_writer *w, unsigned db, const struct qless *engine)
{
	if (w->rc != 0)
		return;
	record_append_number(&w->out, w->options.salt, RECORD_STATE_BEGIN, ++w->sequence, db);
	w->state_bytes = 0;
	if (state_save(engine, write_piece, w))
		record_append_number(&w->out, w->options.salt, RECORD_STATE_END, ++w->sequence,
				     w->state_bytes);
}

void base_add_operations(struct base_writer *w, struct qless_str operations)
{
	if (w->rc != 0)
		return;
	record_append(&w->out, w->options.salt, RECORD_OPERATIONS, ++w->sequence, operations);
	flush_if_full(w);
}

int base_finish(struct base_writer *w, uint64_t *ret_bytes)
{
	const struct journal_io *io = w->options.io;
	int rc;

	record_append_number(&w->out, w->options.salt, RECORD_BASE_END, w->sequence + 1,
			     w->sequence);
	flush(w);
	if (w->rc == 0)
		w->rc = io->sync(io->arg, w->fd);
	if (w->fd >= 0) {
		rc = io->close(io->arg, w->fd);
		if (w->rc == 0)
			w->rc = rc;
	}
	buf_done(&w->out);
	*ret_bytes = w->bytes;
	return w->rc;
}
