/*
 * Engines with a log on a disk in memory. Commands run and are recorded as in the server.
 */
#ifndef TESTS_JOURNAL_FIXTURE_H
#define TESTS_JOURNAL_FIXTURE_H

#include "disk.h"
#include "random_calls.h"

#include "command/replay.h"
#include "journal/journal.h"
#include "util/mem.h"

#define FIXTURE_DBS 2

struct fixture {
	struct disk disk;
	struct engines engines;
	struct journal *journal;
	struct journal_options options;
	struct rebuild_options rebuild;
	struct recovery recovery;
	struct buf error;
	int64_t us; /* the clocks of the journal */
};

static inline void fixture_save(void *arg, struct base_writer *w)
{
	struct fixture *f = arg;

	for (unsigned db = 0; db < FIXTURE_DBS; db++)
		base_add_database(w, db, engines_get(&f->engines, db));
}

static inline struct qless *fixture_engine(void *arg, unsigned db)
{
	struct fixture *f = arg;

	return db < FIXTURE_DBS ? engines_get(&f->engines, db) : NULL;
}

static inline int fixture_apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct fixture *f = arg;

	TEST_ASSERT_TRUE(op->db < FIXTURE_DBS);
	return databases_apply(f->engines.databases, op, ret_error);
}

static inline int fixture_replay(struct databases *databases, const struct record *record,
				 int (*apply)(void *arg, const struct operation *op,
					      struct buf *ret_error),
				 void *arg, uint64_t *ret_count, struct buf *ret_error)
{
	struct replay replay;
	int rc;

	replay_init(&replay, databases, apply, arg);
	if (record->type == RECORD_COMMANDS)
		rc = replay_commands(&replay, record->payload, ret_count, ret_error);
	else
		rc = replay_operations(&replay, record->payload, ret_count, ret_error);
	replay_done(&replay);
	return rc;
}

static inline int fixture_apply_record(void *arg, const struct record *record, uint64_t *ret_count,
				       struct buf *ret_error)
{
	struct fixture *f = arg;

	return fixture_replay(f->engines.databases, record, fixture_apply, f, ret_count, ret_error);
}

static inline struct recovery_target fixture_target(struct fixture *f)
{
	return (struct recovery_target){ .arg = f,
					 .engine = fixture_engine,
					 .apply = fixture_apply_record };
}

/* ---- a second state, for snapshots from the files ---- */

static inline struct qless *fixture_second_engine(void *arg, unsigned db)
{
	return db < FIXTURE_DBS ? engines_get(arg, db) : NULL;
}

static inline int fixture_apply_to_second(void *arg, const struct operation *op,
					  struct buf *ret_error)
{
	struct engines *second = arg;

	return databases_apply(second->databases, op, ret_error);
}

static inline int fixture_apply_record_to_second(void *arg, const struct record *record,
						 uint64_t *ret_count, struct buf *ret_error)
{
	struct engines *second = arg;

	return fixture_replay(second->databases, record, fixture_apply_to_second, second, ret_count,
			      ret_error);
}

static inline struct recovery_target fixture_begin_second(void *arg)
{
	struct engines *second = mem_zalloc(sizeof *second);

	(void)arg;
	engines_init(second, FIXTURE_DBS, 2);
	return (struct recovery_target){ .arg = second,
					 .engine = fixture_second_engine,
					 .apply = fixture_apply_record_to_second };
}

static inline void fixture_save_second(void *state, struct base_writer *w)
{
	for (unsigned db = 0; db < FIXTURE_DBS; db++)
		base_add_database(w, db, engines_get(state, db));
}

static inline void fixture_end_second(void *state)
{
	engines_done(state);
	free(state);
}

static inline uint64_t fixture_state_bytes(void *arg)
{
	(void)arg;
	return 1;
}

/* The next start uses the rewriter for snapshots. */
static inline void fixture_rebuild(struct fixture *f)
{
	f->rebuild = (struct rebuild_options){ .begin = fixture_begin_second,
					       .save = fixture_save_second,
					       .end = fixture_end_second };
	f->options.rebuild = &f->rebuild;
	f->options.state_bytes = fixture_state_bytes;
}

static inline void fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof *f);
	disk_init(&f->disk);
	engines_init(&f->engines, FIXTURE_DBS, 1);
	buf_init(&f->error, 4096);
	f->us = 1700000000000000;
	f->options = (struct journal_options){ .dir = "data",
					       .io = &f->disk.io,
					       .sync = JOURNAL_SYNC_ALWAYS,
					       .segment_bytes = 1 << 20,
					       .save = fixture_save,
					       .arg = f };
}

/* Forget everything that is not on the disk. */
static inline void fixture_forget(struct fixture *f)
{
	engines_done(&f->engines);
	engines_init(&f->engines, FIXTURE_DBS, 1);
	recovery_done(&f->recovery);
	memset(&f->recovery, 0, sizeof f->recovery);
	buf_clear(&f->error);
}

static inline void fixture_record(void *arg, const struct operation *op)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct fixture *f = arg;

	operation_encode(op, &bytes);
	commit_log_append(journal_log(f->journal), buf_str(&bytes));
	buf_done(&bytes);
}

/* Record what is changed from now on. */
static inline void fixture_begin_recording(struct fixture *f)
{
	struct operation_recorder recorder = { .record = fixture_record, .arg = f };

	databases_set_recorder(f->engines.databases, &recorder);
}

/* Start like the daemon: load, then record what changes. Returns the result of journal_recover();
 * if that is 0, the journal is open. */
static inline int fixture_start(struct fixture *f)
{
	struct recovery_target target = fixture_target(f);
	int rc;

	f->journal = journal_open(&f->options, &f->error);
	if (f->journal == NULL)
		return -EBUSY;
	rc = journal_recover(f->journal, &target, &f->recovery, &f->error);
	if (rc == 0) {
		fixture_begin_recording(f);
	} else {
		journal_close(f->journal, NULL);
		f->journal = NULL;
	}
	return rc;
}

/* End a turn, some time after the last one. */
static inline void fixture_flush(struct fixture *f)
{
	f->us += 10000;
	commit_log_flush(journal_log(f->journal),
			 &(struct commit_log_turn){ .mono_us = f->us, .wall_us = f->us });
}

/* End a turn in which a single client waits. */
static inline void fixture_flush_urgently(struct fixture *f)
{
	f->us += 10000;
	commit_log_flush(
		journal_log(f->journal),
		&(struct commit_log_turn){ .mono_us = f->us, .wall_us = f->us, .is_urgent = true });
}

/* Run a random command. Returns whether it changed the state, and was recorded. */
static inline bool fixture_step(struct fixture *f, struct random_calls *calls)
{
	unsigned db = random_pick(calls, 8) == 0;
	uint64_t changes = qless_changes(engines_get(&f->engines, db));

	random_step(calls, &f->engines, db);
	return qless_changes(engines_get(&f->engines, db)) != changes;
}

/* ---- steps of a test ---- */

/* Start, which must succeed. */
static inline void fixture_must_start(struct fixture *f)
{
	int rc = fixture_start(f);

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&f->error));
}

/* Close the log, which must succeed. */
static inline void fixture_finish(struct fixture *f)
{
	journal_close(f->journal, &f->error);
	f->journal = NULL;
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&f->error));
}

static inline void fixture_restart(struct fixture *f)
{
	fixture_finish(f);
	fixture_forget(f);
	fixture_must_start(f);
}

/* Make `count` recorded changes, each in a turn of its own. */
static inline void fixture_make_changes(struct fixture *f, struct random_calls *calls, int count)
{
	while (count > 0) {
		count -= fixture_step(f, calls);
		fixture_flush(f);
	}
	fixture_flush(f);
}

/* The process dies: its open files and memory are lost without another call. */
static inline void fixture_kill(struct fixture *f, enum disk_crash how, unsigned long long *rng)
{
	f->disk.dead = true;
	journal_close(f->journal, NULL);
	f->journal = NULL;
	disk_crash(&f->disk, how, rng);
	fixture_forget(f);
}

static inline void fixture_done(struct fixture *f)
{
	journal_close(f->journal, NULL);
	engines_done(&f->engines);
	recovery_done(&f->recovery);
	buf_done(&f->error);
	disk_done(&f->disk);
}

/* Returns the state of all databases as text, which the caller frees. */
static inline char *fixture_dump(struct fixture *f)
{
	struct buf all = BUF_INIT(BUF_NO_MAX), one = BUF_INIT(BUF_NO_MAX);

	for (unsigned db = 0; db < FIXTURE_DBS; db++) {
		engines_dump(&f->engines, db, &one);
		buf_printf(&all, "changes %llu\n",
			   (unsigned long long)qless_changes(engines_get(&f->engines, db)));
		buf_append_str(&all, buf_str(&one));
	}
	buf_done(&one);
	return buf_cstr(&all); /* belongs to the caller */
}

/* Close the log, load it again, and compare the states. */
static inline void fixture_expect_same_after_restart(struct fixture *f)
{
	char *live = fixture_dump(f), *dump;

	fixture_restart(f);
	dump = fixture_dump(f);
	TEST_ASSERT_EQUAL_STRING(live, dump);
	free(live);
	free(dump);
}

#endif
