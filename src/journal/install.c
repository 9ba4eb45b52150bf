/*
 * Snapshots that nodes send to each other: reading the own one, and putting one that arrives in the
 * place of the log.
 */
#include "journal/install.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "engine/state.h"
#include "journal/group_int.h"
#include "journal/journal_int.h"
#include "sys/entropy.h"

/* Bytes between two syncs, so that none of them takes long. */
#define SYNC_BYTES ((uint64_t)4 * 1024 * 1024)

/* ---- sending ---- */

int journal_open_base(struct journal *j, struct journal_base_file *ret_file)
{
	const struct log_base *base = &j->group->index.base;
	unsigned char bytes[RECORD_FILE_HEADER_BYTES];
	struct record_file_header header;
	char path[JOURNAL_PATH_MAX];
	ssize_t got;
	int rc;

	*ret_file = (struct journal_base_file){ .fd = -1, .members = BUF_INIT(BUF_NO_MAX) };
	if (base->index == 0)
		return -ENOENT;
	journal_base_path(path, j->options.dir, j->files.manifest.base);
	ret_file->fd = j->io->open(j->io->arg, path, O_RDONLY);
	if (ret_file->fd < 0)
		return ret_file->fd;
	rc = j->io->size(j->io->arg, ret_file->fd, &ret_file->size);
	got = journal_read_all(j->io, ret_file->fd, bytes, sizeof bytes, 0);
	if (rc == 0 && got < 0)
		rc = (int)got;
	if (rc == 0 && record_decode_header(bytes, (size_t)got, &header) != RECORD_OK)
		rc = -EBADMSG;
	if (rc < 0) {
		journal_close_base(j, ret_file);
		return rc;
	}
	ret_file->salt = header.salt;
	ret_file->index = base->index;
	ret_file->term = base->term;
	ret_file->members_index = base->members_index;
	buf_append_str(&ret_file->members, buf_str(&base->members));
	return 0;
}

ssize_t journal_read_base(struct journal *j, const struct journal_base_file *file, void *to,
			  size_t len, uint64_t offset)
{
	return journal_read_all(j->io, file->fd, to, len, offset);
}

void journal_close_base(struct journal *j, struct journal_base_file *file)
{
	if (file->fd >= 0)
		j->io->close(j->io->arg, file->fd);
	buf_done(&file->members);
	file->fd = -1;
}

/* ---- receiving ---- */

void install_init(struct install *in)
{
	*in = (struct install){ .fd = -1 };
	base_check_init(&in->check);
}

static void incoming_path(const struct journal *j, char to[JOURNAL_PATH_MAX])
{
	journal_path(to, j->options.dir, INSTALL_NAME);
}

void install_clean_up(const struct journal *j)
{
	char path[JOURNAL_PATH_MAX];

	incoming_path(j, path);
	j->io->remove(j->io->arg, path);
}

static void leave(struct journal *j)
{
	struct install *in = &j->group->install;

	if (in->fd >= 0)
		j->io->close(j->io->arg, in->fd);
	base_check_done(&in->check);
	install_init(in);
}

void journal_give_up_install(struct journal *j)
{
	if (j->group->install.fd < 0)
		return;
	leave(j);
	install_clean_up(j);
}

int journal_begin_install(struct journal *j, uint64_t size, uint64_t salt, uint64_t *ret_offset)
{
	struct install *in = &j->group->install;
	char path[JOURNAL_PATH_MAX];

	*ret_offset = in->written;
	if (in->fd >= 0 && in->size == size && in->salt == salt)
		return 0;
	journal_give_up_install(j);
	*ret_offset = 0;
	incoming_path(j, path);
	in->fd = journal_create_file(j->io, path);
	if (in->fd < 0) {
		int rc = in->fd;

		in->fd = -1;
		return rc;
	}
	in->size = size;
	in->salt = salt;
	return 0;
}

int journal_install_piece(struct journal *j, struct qless_str bytes)
{
	struct install *in = &j->group->install;
	size_t written;
	int rc;

	assert(in->fd >= 0);
	if (bytes.len > in->size - in->written || !base_check_take(&in->check, bytes))
		return -EBADMSG;
	rc = journal_write_all(j->io, in->fd, bytes.ptr, bytes.len, in->written, &written);
	if (rc < 0)
		return rc;
	in->written += bytes.len;
	in->unsynced += bytes.len;
	if (in->unsynced < SYNC_BYTES)
		return 0;
	in->unsynced = 0;
	return j->io->sync(j->io->arg, in->fd);
}

/* Whether the log has the last entry that the snapshot covers. */
static bool is_known(const struct journal *j, const struct base_check *c)
{
	struct journal_head head;

	return c->header.sequence <= j->group->commit ||
	       (journal_get_head(j, c->header.sequence, &head) && head.term == c->term);
}

static int check_whole(const struct journal *j, struct buf *ret_error)
{
	const struct install *in = &j->group->install;
	const struct base_check *c = &in->check;

	if (in->written != in->size || !base_check_is_whole(c) || c->header.salt != in->salt) {
		buf_printf(ret_error, "the snapshot that arrived is damaged or not complete");
		return -EBADMSG;
	}
	if (c->header.engine == 0 || c->header.engine > STATE_VERSION) {
		buf_printf(ret_error,
			   "the snapshot that arrived has engine version %" PRIu32
			   ", but this program knows 1 to %d",
			   c->header.engine, STATE_VERSION);
		return -EBADMSG;
	}
	return is_known(j, c) ? -EALREADY : 0;
}

/* Give the file its number and its name, and sync it. */
static int name_file(struct journal *j, uint64_t number)
{
	struct install *in = &j->group->install;
	struct record_file_header header = in->check.header;
	char from[JOURNAL_PATH_MAX], to[JOURNAL_PATH_MAX];
	unsigned char bytes[RECORD_FILE_HEADER_BYTES];
	size_t written;
	int rc;

	header.number = number;
	record_encode_header(&header, bytes);
	rc = journal_write_all(j->io, in->fd, bytes, sizeof bytes, 0, &written);
	if (rc == 0)
		rc = j->io->sync(j->io->arg, in->fd);
	incoming_path(j, from);
	journal_base_path(to, j->options.dir, number);
	return rc == 0 ? j->io->rename(j->io->arg, from, to) : rc;
}

/* The log is empty now, and begins after the snapshot. */
static void restart_log(struct journal *j)
{
	struct install *in = &j->group->install;
	struct group_log *g = j->group;
	uint64_t index = in->check.header.sequence;
	struct record_group group = { in->check.term, in->check.members_index,
				      buf_str(&in->check.members) };

	log_index_set_base(&g->index, index, &group);
	log_index_restart(&g->index);
	group_begin_segment(j);
	entry_cache_cut(&g->cache, 0);
	g->commit = index;
	j->log.last = index;
	j->positions = (struct positions){ .written = index, .synced = index };
	j->mark.durable = index;
	unsynced_init(&j->unsynced, index);
	backlog_end_pending(&j->backlog);
	j->files.ended_bytes = 0;
	j->files.base_bytes = in->size;
	j->files.base_wall_us = in->check.header.created_us;
	journal_publish(j);
}

static int make_current(struct journal *j)
{
	const struct record_file_header *header = &j->group->install.check.header;
	struct manifest fresh = { .has_group = true,
				  .base = j->files.next_number++,
				  .base_sequence = header->sequence };
	bool is_unclear = false;
	int rc = name_file(j, fresh.base);

	memcpy(fresh.group, j->group->vote.identity.group, sizeof fresh.group);
	if (rc == 0)
		rc = group_begin_log(j, &fresh, header->sequence, &is_unclear);
	manifest_done(&fresh);
	if (rc == 0)
		restart_log(j);
	else if (is_unclear)
		health_fail(j, COMMIT_LOG_FAILED, rc, "replacing the manifest");
	return rc;
}

int journal_finish_install(struct journal *j, struct buf *ret_error)
{
	int rc;

	assert(j->group->install.fd >= 0);
	rewrite_give_up(j, -ECANCELED);
	task_wait(j);
	rc = check_whole(j, ret_error);
	if (rc == 0 && !journal_is_healthy(j))
		rc = -EIO;
	if (rc == 0) {
		rc = make_current(j);
		if (rc < 0)
			buf_printf(ret_error, "cannot use the snapshot that arrived: %s",
				   strerror(-rc));
	}
	if (rc < 0)
		journal_give_up_install(j);
	else
		leave(j);
	return rc;
}

/* ---- the state ---- */

int journal_load_state(struct journal *j, uint64_t index, const struct recovery_target *target,
		       struct buf *ret_error)
{
	struct recovery_limit limit = { .sequence = index,
					.wall_us = INT64_MAX,
					.is_committed = true };
	struct recovery r;
	int rc;

	assert(index >= j->group->index.base.index && index <= j->positions.synced);
	rc = recovery_run(&r, j->io, j->options.dir, &limit, target, ret_error);
	assert(rc < 0 || r.last_sequence == index);
	recovery_done(&r);
	return rc;
}
