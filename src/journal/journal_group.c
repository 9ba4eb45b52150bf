/*
 * The log of a group as a whole: how it begins, its vote, and what it knows about itself.
 */
#include "journal/journal_group.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "journal/group_int.h"
#include "journal/journal_int.h"
#include "journal/sweep.h"
#include "sys/entropy.h"
#include "util/mem.h"
#include "util/minmax.h"

/* The term of a group's first entry, or of the snapshot that it begins with. */
#define FIRST_TERM 1
/* Bytes of the last entries in memory. A follower that is up to date, or a few seconds late, gets
 * its entries from there. */
#define CACHE_BYTES ((uint64_t)64 * 1024 * 1024)

/* ---- opening ---- */

static struct group_log *new_group(const struct vote *vote)
{
	struct group_log *g = mem_zalloc(sizeof *g);

	g->vote = *vote;
	g->stored_counter = vote->counter;
	g->keep_from = UINT64_MAX;
	log_index_init(&g->index);
	install_init(&g->install);
	return g;
}

void group_log_free(struct group_log *g)
{
	if (g == NULL)
		return;
	log_index_done(&g->index);
	entry_cache_done(&g->cache);
	base_check_done(&g->install.check);
	free(g);
}

/* From now on the log takes entries only, and syncs always. */
static void become_group(struct journal *j)
{
	j->log.ops = &journal_group_ops;
	j->options.sync = JOURNAL_SYNC_ALWAYS;
}

/* A rescue does without the vote of the group that is lost. */
static int read_vote(struct journal *j, struct vote *ret_vote, struct buf *ret_error)
{
	int rc = vote_read(ret_vote, j->io, j->options.dir, ret_error);

	if (!j->options.rescue || (rc != -ENOENT && rc != -EBADMSG))
		return rc;
	buf_clear(ret_error);
	return 0;
}

int group_log_open(struct journal *j, const unsigned char group[JOURNAL_GROUP_ID_BYTES],
		   struct log_index *index, uint64_t commit, struct buf *ret_error)
{
	struct vote vote;
	int rc = read_vote(j, &vote, ret_error);

	if (rc < 0)
		return rc;
	if (!j->options.rescue && memcmp(vote.identity.group, group, JOURNAL_GROUP_ID_BYTES) != 0) {
		buf_printf(ret_error,
			   "vote-1 and vote-2 in %s belong to another group than the manifest",
			   j->options.dir);
		return -EBADMSG;
	}
	/* A vote that was read may be only in the memory of the system, and one of its files may be
	 * torn. */
	vote.counter++;
	rc = vote_write(&vote, j->io, j->options.dir);
	if (rc < 0) {
		buf_printf(ret_error, "cannot write the vote in %s: %s", j->options.dir,
			   strerror(-rc));
		return rc;
	}
	j->group = new_group(&vote);
	j->group->index = *index;
	log_index_init(index);
	j->group->commit = commit;
	become_group(j);
	install_clean_up(j);
	return 0;
}

/* ---- beginning ---- */

/* Write the state of the owner as the snapshot that the group begins with. */
static int write_base(struct journal *j, const struct record_group *head, uint64_t number,
		      uint64_t *ret_bytes)
{
	struct base_options options = {
		.io = j->io,
		.dir = j->options.dir,
		.number = number,
		.sequence = j->log.last,
		.salt = entropy_u64(),
		.wall_us = j->schedule.wall_us,
		.group = head,
	};
	struct base_writer w;

	base_begin(&w, &options);
	j->options.save(j->options.arg, &w);
	return base_finish(&w, ret_bytes);
}

int group_begin_log(struct journal *j, struct manifest *fresh, uint64_t sequence, bool *ret_unclear)
{
	struct disk_create create = rotate_describe(j, sequence + 1);
	struct disk_task *task = &j->task;
	struct manifest old;
	int rc;

	create.header.salt = entropy_u64();
	disk_task_init_begin(task, &create, fresh);
	helper_run(j->helper, task);
	rc = task->result.rc;
	*ret_unclear = task->result.is_unclear;
	if (rc == 0) {
		j->salt = create.header.salt;
		j->group->term = 0;
		manifest_copy(&old, &j->files.manifest);
		task_put_in_force(j);
		sweep(&(struct sweep_options){ .io = j->io,
					       .dir = j->options.dir,
					       .current = &j->files.manifest,
					       .obsolete = &old,
					       .sequence = sequence });
		manifest_done(&old);
	}
	disk_task_done(task, j->io);
	return rc;
}

/* Store the members as the first entry, and a mark that calls it committed. */
static int append_members(struct journal *j, struct qless_str members)
{
	journal_append_entry(j, FIRST_TERM, RECORD_MEMBERS, members);
	write_start_sync(j);
	task_wait(j);
	if (!journal_is_healthy(j))
		return -EIO;
	journal_note_commit(j, j->log.last);
	write_last_mark(j);
	task_wait(j);
	return journal_is_healthy(j) ? 0 : -EIO;
}

/* From here on the journal has a group in memory. The directory has it with the new manifest. */
static int begin_files(struct journal *j, uint64_t term, struct qless_str members)
{
	struct record_group head = { term, j->log.last, members };
	struct manifest fresh = { .has_group = true };
	uint64_t base_bytes = 0;
	bool is_unclear;
	int rc = 0;

	memcpy(fresh.group, j->group->vote.identity.group, sizeof fresh.group);
	if (j->log.last > 0) {
		fresh.base = j->files.next_number++;
		fresh.base_sequence = j->log.last;
		rc = write_base(j, &head, fresh.base, &base_bytes);
		log_index_set_base(&j->group->index, j->log.last, &head);
		log_index_restart(&j->group->index);
		entry_cache_cut(&j->group->cache, 0);
	}
	if (rc == 0)
		rc = group_begin_log(j, &fresh, j->log.last, &is_unclear);
	manifest_done(&fresh);
	if (rc < 0)
		return rc;
	j->files.ended_bytes = 0;
	j->files.base_bytes = base_bytes;
	j->files.base_wall_us = fresh.base != 0 ? j->schedule.wall_us : 0;
	j->group->commit = j->log.last;
	become_group(j);
	return 0;
}

static int check_beginning(const struct journal *j, struct qless_str members, struct buf *ret_error)
{
	if (j->log.last > 0 && members.len == 0) {
		buf_printf(
			ret_error,
			"the directory %s has a log, so it cannot join a group: use an empty one",
			j->options.dir);
		return -EINVAL;
	}
	return 0;
}

int journal_begin_group(struct journal *j, const struct journal_identity *identity,
			struct qless_str members, struct buf *ret_error)
{
	struct vote vote = { .identity = *identity,
			     .content = { .term = members.len > 0 ? FIRST_TERM : 0 },
			     .counter = 1 };
	int rc;

	assert(j->group == NULL && identity->node > 0);
	assert(journal_is_idle(j) && backlog_bytes(&j->backlog) == 0);
	rc = check_beginning(j, members, ret_error);
	if (rc < 0)
		return rc;
	journal_read_clocks(j);
	rc = vote_write(&vote, j->io, j->options.dir);
	if (rc == 0) {
		bool is_empty = j->log.last == 0;

		j->group = new_group(&vote);
		rc = begin_files(j, FIRST_TERM, members);
		if (rc == 0 && is_empty && members.len > 0)
			rc = append_members(j, members);
	}
	if (rc < 0)
		buf_printf(ret_error, "cannot begin a group in the directory %s: %s",
			   j->options.dir, strerror(-rc));
	return rc;
}

int journal_rescue_group(struct journal *j, const struct journal_identity *identity,
			 struct qless_str members, struct buf *ret_error)
{
	struct group_log *g = j->group;
	uint64_t term = max_u64(FIRST_TERM, terms_at(&g->index.terms, j->log.last));
	struct vote vote = {
		.identity = *identity,
		.content = { .term = max_u64(term, g->vote.content.term) + 1 },
		.counter = g->vote.counter + 1,
	};
	int rc = j->log.last > 0 ? 0 : -ENODATA;

	assert(j->options.rescue && identity->node > 0 && members.len > 0);
	assert(journal_is_idle(j) && backlog_bytes(&j->backlog) == 0);
	term = max_u64(term, g->index.base.index == j->log.last ? g->index.base.term : 0);
	journal_read_clocks(j);
	if (rc == 0)
		rc = vote_write(&vote, j->io, j->options.dir);
	if (rc == 0) {
		g->vote = vote;
		g->stored_counter = vote.counter;
		rc = begin_files(j, term, members);
	}
	if (rc < 0)
		buf_printf(ret_error, "cannot rescue the group in the directory %s: %s",
			   j->options.dir, strerror(-rc));
	return rc;
}

/* ---- the vote ---- */

void journal_store_vote(struct journal *j, struct journal_vote vote)
{
	assert(vote.term >= j->group->vote.content.term);
	j->group->vote.content = vote;
	j->group->vote.counter++;
}

bool journal_is_vote_stored(const struct journal *j)
{
	return j->group->stored_counter == j->group->vote.counter;
}

void group_start_vote(struct journal *j)
{
	disk_task_init_vote(&j->task, &j->group->vote);
	task_start(j);
}

void group_finish_vote(struct journal *j, const struct disk_task *task)
{
	if (disk_task_has_failed(task))
		health_fail(j, COMMIT_LOG_FAILED, task->result.rc, "writing the vote");
	else
		j->group->stored_counter = task->vote.counter;
}

/* ---- the files ---- */

void group_begin_segment(struct journal *j)
{
	const struct record_file_header *header = &j->segment.header;
	struct group_log *g = j->group;

	if (g->replaces != 0)
		log_index_cut(&g->index, g->replaces);
	g->replaces = 0;
	log_index_begin_segment(&g->index, header->number, header->salt, header->sequence);
}

void group_prepare_switch(struct journal *j, unsigned char group[JOURNAL_GROUP_ID_BYTES])
{
	struct group_log *g = j->group;
	struct rewrite *r = &j->rewrite;

	memcpy(group, g->vote.identity.group, JOURNAL_GROUP_ID_BYTES);
	r->first_log = log_index_first_needed(&g->index, min_u64(r->sequence, g->keep_from - 1),
					      &r->ended_bytes);
}

void group_finish_switch(struct journal *j)
{
	struct group_log *g = j->group;
	struct record_group group;

	if (log_index_describe(&g->index, j->rewrite.sequence, &group))
		log_index_set_base(&g->index, j->rewrite.sequence, &group);
	log_index_forget_segments(&g->index, j->rewrite.first_log);
}

void group_note_written(struct journal *j, uint64_t last, uint64_t offset)
{
	uint64_t bytes = j->options.cache_bytes != 0 ? j->options.cache_bytes : CACHE_BYTES;

	log_index_note_written(&j->group->index, last, offset);
	entry_cache_shrink(&j->group->cache, last, (size_t)bytes);
}

/* ---- figures ---- */

bool journal_has_group(const struct journal *j)
{
	return j->group != NULL;
}

const struct journal_identity *journal_get_identity(const struct journal *j)
{
	return &j->group->vote.identity;
}

struct journal_vote journal_get_vote(const struct journal *j)
{
	return j->group->vote.content;
}

struct journal_base journal_get_base(const struct journal *j)
{
	const struct log_base *base = &j->group->index.base;

	return (struct journal_base){ base->index, base->term, base->members_index,
				      buf_str(&base->members) };
}

uint64_t journal_get_commit(const struct journal *j)
{
	return j->group->commit;
}

void journal_note_commit(struct journal *j, uint64_t index)
{
	assert(index <= j->log.last);
	j->group->commit = max_u64(j->group->commit, index);
}

void journal_keep_from(struct journal *j, uint64_t index)
{
	j->group->keep_from = index;
}

uint64_t journal_first_index(const struct journal *j)
{
	return log_index_first(&j->group->index);
}

uint64_t journal_last_index(const struct journal *j)
{
	return j->log.last;
}

uint64_t journal_durable_index(const struct journal *j)
{
	return j->positions.synced;
}

bool journal_get_head(const struct journal *j, uint64_t index, struct journal_head *ret_head)
{
	return log_index_get(&j->group->index, index, &ret_head->term, &ret_head->type);
}
