/*
 * The log of a group on a disk in memory, with a model of what it should hold. The state is the
 * text of all operations that were applied.
 */
#ifndef TESTS_GROUP_LOG_H
#define TESTS_GROUP_LOG_H

#include <stdio.h>
#include <stdlib.h>

#include "disk.h"

#include "journal/journal.h"
#include "journal/vote.h"
#include "util/mem.h"
#include "util/minmax.h"

#define GROUP_ENTRIES_MAX 3000
#define GROUP_TEXT_BYTES  40
#define GROUP_VOTES_MAX	  100

struct model_entry {
	uint64_t term;
	enum record_type type;
	size_t len;
	char text[GROUP_TEXT_BYTES];
};

/* A log as it should be. */
struct model {
	uint64_t last;
	struct model_entry entries[GROUP_ENTRIES_MAX + 1]; /* by index */
};

struct group_log_test {
	struct disk disk;
	struct journal *journal;
	struct journal_options options;
	struct rebuild_options rebuild;
	struct recovery recovery;
	struct buf error;
	struct buf state;
	struct model model;
	uint64_t durable; /* the highest index that the log has called durable */
	uint64_t commit;  /* that was noted, or recovered */
	uint64_t fixed;	  /* the highest that was ever noted: these entries are never replaced */
	uint64_t term;
	/* The vote that is stored, and those that were passed since then. */
	struct journal_vote votes[GROUP_VOTES_MAX];
	size_t vote_count;
	int64_t us;
	unsigned texts; /* that were ever made, so that no two are equal */
};

static const struct journal_identity group_identity = { "a group of tests", 2 };

/* ---- the state ---- */

static inline int group_apply(void *arg, const struct record *record, uint64_t *ret_count,
			      struct buf *ret_error)
{
	struct buf *state = arg;

	(void)ret_error;
	TEST_ASSERT_EQUAL_INT(RECORD_OPERATIONS, record->type);
	buf_append_str(state, record->payload);
	++*ret_count;
	return 0;
}

static inline struct recovery_target group_target(struct buf *state)
{
	return (struct recovery_target){ .arg = state, .apply = group_apply };
}

static inline struct recovery_target group_begin_rebuild(void *arg)
{
	struct buf *state = mem_zalloc(sizeof *state);

	(void)arg;
	buf_init(state, BUF_NO_MAX);
	return group_target(state);
}

static inline void group_save_rebuilt(void *state, struct base_writer *w)
{
	base_add_operations(w, buf_str(state));
}

static inline void group_end_rebuild(void *state)
{
	buf_done(state);
	free(state);
}

static inline void group_save(void *arg, struct base_writer *w)
{
	struct group_log_test *t = arg;

	base_add_operations(w, buf_str(&t->state));
}

static inline uint64_t group_state_bytes(void *arg)
{
	(void)arg;
	return 1;
}

/* ---- life ---- */

static inline void group_init(struct group_log_test *t)
{
	memset(t, 0, sizeof *t);
	disk_init(&t->disk);
	buf_init(&t->error, 4096);
	buf_init(&t->state, BUF_NO_MAX);
	t->us = 1700000000000000;
	t->term = 1;
	t->rebuild = (struct rebuild_options){ .begin = group_begin_rebuild,
					       .save = group_save_rebuilt,
					       .end = group_end_rebuild };
	t->options = (struct journal_options){ .dir = "data",
					       .io = &t->disk.io,
					       .sync = JOURNAL_SYNC_ALWAYS,
					       .segment_bytes = 1200,
					       .cache_bytes = 600,
					       .save = group_save,
					       .rebuild = &t->rebuild,
					       .state_bytes = group_state_bytes,
					       .arg = t };
}

static inline void group_forget(struct group_log_test *t)
{
	journal_close(t->journal, NULL);
	t->journal = NULL;
	recovery_done(&t->recovery);
	memset(&t->recovery, 0, sizeof t->recovery);
	buf_clear(&t->state);
	buf_clear(&t->error);
}

static inline void group_done(struct group_log_test *t)
{
	group_forget(t);
	buf_done(&t->state);
	buf_done(&t->error);
	disk_done(&t->disk);
}

static inline int group_open(struct group_log_test *t)
{
	struct recovery_target target = group_target(&t->state);

	t->journal = journal_open(&t->options, &t->error);
	if (t->journal == NULL)
		return -EIO;
	return journal_recover(t->journal, &target, &t->recovery, &t->error);
}

static inline void group_must_open(struct group_log_test *t)
{
	int rc = group_open(t);

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&t->error));
}

static inline void model_add(struct model *m, uint64_t term, enum record_type type,
			     struct qless_str text)
{
	struct model_entry *entry = &m->entries[++m->last];

	TEST_ASSERT_TRUE(m->last <= GROUP_ENTRIES_MAX && text.len <= GROUP_TEXT_BYTES);
	*entry = (struct model_entry){ .term = term, .type = type, .len = text.len };
	memcpy(entry->text, text.ptr, text.len);
}

/* Open an empty directory, and begin a group in it. Returns the result of
 * journal_begin_group(). */
static inline int group_begin(struct group_log_test *t)
{
	int rc = group_open(t);

	if (rc == 0)
		rc = journal_begin_group(t->journal, &group_identity, STR("members"), &t->error);
	if (rc < 0)
		return rc;
	model_add(&t->model, 1, RECORD_MEMBERS, STR("members"));
	t->durable = t->commit = t->fixed = 1;
	t->votes[0] = (struct journal_vote){ .term = 1 };
	t->vote_count = 1;
	return 0;
}

static inline void group_must_begin(struct group_log_test *t)
{
	int rc = group_begin(t);

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&t->error));
}

/* ---- steps ---- */

/* Append an entry that no other one equals. */
static inline void group_append(struct group_log_test *t, enum record_type type, size_t extra)
{
	char text[GROUP_TEXT_BYTES];
	struct qless_str payload = STR("");
	int len;

	if (type != RECORD_BARRIER) {
		len = snprintf(text, sizeof text, "%u@%llu %.*s;", ++t->texts,
			       (unsigned long long)t->term, (int)extra, "xxxxxxxxxxxxxxxxxxxx");
		payload = str_make(text, (size_t)len);
	}
	model_add(&t->model, t->term, type, payload);
	TEST_ASSERT_EQUAL_UINT64(t->model.last,
				 journal_append_entry(t->journal, t->term, type, payload));
}

static inline void group_flush(struct group_log_test *t)
{
	t->us += 10000;
	commit_log_flush(journal_log(t->journal),
			 &(struct commit_log_turn){ .mono_us = t->us, .wall_us = t->us });
	if (t->disk.dead)
		return;
	TEST_ASSERT_EQUAL_INT_MESSAGE(COMMIT_LOG_HEALTHY, journal_log(t->journal)->state,
				      commit_log_complaint(journal_log(t->journal)));
	TEST_ASSERT_EQUAL_UINT64(t->model.last, journal_last_index(t->journal));
	t->durable = journal_durable_index(t->journal);
	if (journal_is_vote_stored(t->journal)) {
		t->votes[0] = t->votes[t->vote_count - 1];
		t->vote_count = 1;
	}
}

/* Flush until everything is on the disk. */
static inline void group_settle(struct group_log_test *t)
{
	for (int i = 0; i < 10; i++)
		group_flush(t);
}

static inline void group_note_commit(struct group_log_test *t, uint64_t index)
{
	t->commit = max_u64(t->commit, index);
	t->fixed = max_u64(t->fixed, index);
	journal_note_commit(t->journal, index);
}

/* The entries from `from` on are replaced by those that are appended next. */
static inline int group_replace(struct group_log_test *t, uint64_t from)
{
	int rc = journal_replace_tail(t->journal, from);

	/* If the machine has stopped, the new segment may be in the manifest or not. */
	t->durable = min_u64(t->durable, from - 1);
	if (rc < 0)
		return rc;
	t->model.last = t->durable = from - 1;
	TEST_ASSERT_EQUAL_UINT64(from - 1, journal_last_index(t->journal));
	TEST_ASSERT_EQUAL_UINT64(from - 1, journal_durable_index(t->journal));
	return 0;
}

static inline void group_vote(struct group_log_test *t, struct journal_vote vote)
{
	TEST_ASSERT_TRUE(t->vote_count < GROUP_VOTES_MAX);
	t->votes[t->vote_count++] = vote;
	journal_store_vote(t->journal, vote);
}

/* The process dies. */
static inline void group_kill(struct group_log_test *t, enum disk_crash how,
			      unsigned long long *rng)
{
	t->disk.dead = true;
	journal_close(t->journal, NULL);
	t->journal = NULL;
	disk_crash(&t->disk, how, rng);
	group_forget(t);
}

/* ---- checks ---- */

static inline bool is_entry_of(const struct model *m, uint64_t index,
			       const struct journal_entry *entry)
{
	const struct model_entry *expected = &m->entries[index];

	return index <= m->last && entry->head.term == expected->term &&
	       entry->head.type == expected->type && entry->payload.len == expected->len &&
	       (expected->len == 0 ||
		memcmp(entry->payload.ptr, expected->text, expected->len) == 0);
}

/* Read all entries of the log in steps of some bytes, and compare them with a model. Returns false
 * if one differs. */
static inline bool group_reads_as(struct group_log_test *t, const struct model *m, size_t step)
{
	uint64_t last = journal_last_index(t->journal), at = journal_first_index(t->journal);
	struct journal_entries entries = { 0 };
	struct journal_head head;
	bool is_same = last <= m->last;

	while (is_same && at <= last) {
		int count = journal_read_entries(t->journal, at, last, step, &entries);

		TEST_ASSERT_TRUE(count > 0);
		TEST_ASSERT_EQUAL_UINT64(at, entries.first);
		TEST_ASSERT_EQUAL_INT(count, entries.count);
		for (int i = 0; i < count && is_same; i++, at++) {
			is_same = is_entry_of(m, at, &entries.all[i]);
			TEST_ASSERT_TRUE(journal_get_head(t->journal, at, &head));
			TEST_ASSERT_EQUAL_UINT64(entries.all[i].head.term, head.term);
			TEST_ASSERT_EQUAL_INT(entries.all[i].head.type, head.type);
		}
	}
	journal_entries_done(&entries);
	return is_same;
}

/* The state is that of the operations of a model up to an index. */
static inline void group_expect_state(struct group_log_test *t, const struct model *m,
				      uint64_t index, const char *message)
{
	struct buf expected = BUF_INIT(BUF_NO_MAX);

	for (uint64_t i = 1; i <= index; i++) {
		if (m->entries[i].type == RECORD_OPERATIONS)
			buf_append(&expected, m->entries[i].text, m->entries[i].len);
	}
	TEST_ASSERT_EQUAL_STRING_MESSAGE(buf_cstr(&expected), buf_cstr(&t->state), message);
	buf_done(&expected);
}

static inline bool group_may_have_voted(const struct group_log_test *t, struct journal_vote vote)
{
	for (size_t i = 0; i < t->vote_count; i++) {
		if (t->votes[i].term == vote.term && t->votes[i].node == vote.node)
			return true;
	}
	return false;
}

/* The log that was opened is a prefix of the model that has all that was promised. */
static inline void group_expect_recovered(struct group_log_test *t, const char *message)
{
	uint64_t last = journal_last_index(t->journal), commit = journal_get_commit(t->journal);
	struct journal_base base = journal_get_base(t->journal);
	struct journal_vote vote = journal_get_vote(t->journal);
	const struct model *m = &t->model;

	TEST_ASSERT_TRUE_MESSAGE(group_reads_as(t, m, 100), message);
	TEST_ASSERT_TRUE_MESSAGE(last >= t->durable && last >= t->fixed, message);
	TEST_ASSERT_TRUE_MESSAGE(commit <= t->commit && commit >= base.index, message);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(last, journal_durable_index(t->journal), message);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(commit, t->recovery.last_sequence, message);
	TEST_ASSERT_TRUE_MESSAGE(journal_first_index(t->journal) <= base.index + 1, message);
	if (base.index > 0)
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(m->entries[base.index].term, base.term, message);
	group_expect_state(t, m, commit, message);
	TEST_ASSERT_TRUE_MESSAGE(group_may_have_voted(t, vote), message);
	/* Go on from here. */
	t->model.last = last;
	t->durable = last;
	t->commit = commit;
	t->votes[0] = vote;
	t->vote_count = 1;
}

/* The members that the snapshot has are those of the model. */
static inline void group_expect_members(struct group_log_test *t, const char *message)
{
	struct journal_base base = journal_get_base(t->journal);
	const struct model *m = &t->model;
	uint64_t index = base.index;

	if (base.index == 0)
		return;
	while (m->entries[index].type != RECORD_MEMBERS)
		index--;
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(index, base.members_index, message);
	TEST_ASSERT_EQUAL_size_t(m->entries[index].len, base.members.len);
	TEST_ASSERT_EQUAL_MEMORY(m->entries[index].text, base.members.ptr, base.members.len);
}

#endif
