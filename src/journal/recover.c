#include "journal/recover.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "engine/state.h"
#include "journal/kept.h"
#include "journal/reader.h"

/* Progress is told after so many records, or so many bytes of them: one record may put a thousand
 * jobs. */
#define PROGRESS_RECORDS 1024
#define PROGRESS_BYTES	 ((uint64_t)64 * 1024)

struct run {
	struct recovery *r;
	const struct journal_io *io;
	const char *dir;
	const struct recovery_limit *limit;
	const struct recovery_target *target;
	struct buf *error;
	struct recovery_progress progress;
	struct record_args args;
	struct buf said; /* what the target has to say about a command */
};

static int complain(struct run *run, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int complain(struct run *run, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(run->error, format, args);
	va_end(args);
	return rc;
}

static int tell_progress(struct run *run, const struct reader *reader, uint64_t done_before)
{
	run->progress.bytes_done = done_before + reader->offset;
	run->progress.records = run->r->records;
	run->progress.sequence = run->r->last_sequence;
	if (run->target->progress == NULL ||
	    run->target->progress(run->target->arg, &run->progress))
		return 0;
	return complain(run, -ECANCELED, "the recovery was ended");
}

static void visit(struct run *run, const struct reader *reader, const struct record *record)
{
	if (run->target->visit != NULL)
		run->target->visit(run->target->arg, reader->path, reader->offset, record);
	run->r->records++;
}

static int fail_reading(struct run *run, const struct reader *reader, int rc)
{
	if (rc == -EPROTO)
		return complain(run, -EBADMSG,
				"%s has a record at offset %" PRIu64
				" that this program does not know: it was written by a newer one",
				reader->path, reader->offset);
	return complain(run, rc, "cannot read %s at offset %" PRIu64 ": %s", reader->path,
			reader->offset, strerror(-rc));
}

static int apply_command(struct run *run, const struct reader *reader, uint64_t sequence,
			 const struct record_command *command)
{
	run->r->commands++;
	if (run->target->apply == NULL)
		return 0;
	buf_clear(&run->said);
	if (run->target->apply(run->target->arg, command, &run->said) == 0)
		return 0;
	return complain(run, -EBADMSG,
			"%s has a command at offset %" PRIu64 ", sequence %" PRIu64
			", that cannot be run again: %s",
			reader->path, reader->offset, sequence, buf_cstr(&run->said));
}

static int apply(struct run *run, const struct reader *reader, const struct record *record)
{
	struct qless_str rest = record->payload;
	struct record_command command;
	int rc;

	do {
		if (!record_take_command(&rest, &run->args, &command))
			return complain(run, -EBADMSG,
					"%s has a command at offset %" PRIu64 ", sequence %" PRIu64
					", that cannot be read",
					reader->path, reader->offset, record->sequence);
		rc = apply_command(run, reader, record->sequence, &command);
	} while (rc == 0 && rest.len > 0);
	return rc;
}

/* ---- the base ---- */

struct base_source {
	struct run *run;
	struct reader *reader;
	uint64_t expected; /* sequence number of the next record */
	uint64_t bytes;	   /* of the snapshot of this database */
	bool ended;
	int rc;
};

/* The next record of the base: each has to be there. */
static int next_of_base(struct base_source *s, struct record *record)
{
	int rc = reader_next(s->reader, record);

	if (rc == 1 && record->sequence == s->expected) {
		s->expected++;
		visit(s->run, s->reader, record);
		return 1;
	}
	if (rc == 1 || rc == 0 || rc == -EBADMSG)
		return complain(s->run, -EBADMSG,
				"%s is damaged at offset %" PRIu64 ": its record %" PRIu64
				" is not there",
				s->reader->path, s->reader->offset, s->expected);
	return fail_reading(s->run, s->reader, rc);
}

static int fail_base(struct base_source *s)
{
	return complain(s->run, -EBADMSG, "%s makes no sense at offset %" PRIu64, s->reader->path,
			s->reader->offset);
}

/* The next piece of the snapshot; none at its end, and none if something is wrong. */
static struct qless_str next_piece(void *arg)
{
	struct base_source *s = arg;
	struct record record;
	uint64_t total;

	if (s->ended || s->rc < 0)
		return STR("");
	s->rc = next_of_base(s, &record);
	if (s->rc == 1)
		s->rc = tell_progress(s->run, s->reader, 0);
	if (s->rc < 0)
		return STR("");
	if (record.type == RECORD_STATE_DATA && record.payload.len > 0) {
		s->bytes += record.payload.len;
		return record.payload;
	}
	s->ended = true;
	if (record.type != RECORD_STATE_END || !record_decode_number(record.payload, &total) ||
	    total != s->bytes)
		s->rc = fail_base(s);
	return STR("");
}

static int load_database(struct base_source *s, struct qless_str payload)
{
	struct qless *engine = NULL;
	uint64_t db;

	if (!record_decode_number(payload, &db) || db > UINT32_MAX)
		return fail_base(s);
	s->bytes = 0;
	s->ended = false;
	s->rc = 0;
	if (s->run->target->engine != NULL) {
		engine = s->run->target->engine(s->run->target->arg, (unsigned)db);
		if (engine == NULL)
			return complain(s->run, -EBADMSG,
					"%s holds database %" PRIu64
					", and there are fewer: see the directive databases",
					s->reader->path, db);
	}
	if (engine == NULL) {
		while (next_piece(s).len > 0)
			;
		return s->rc;
	}
	if (state_load(engine, next_piece, s) < 0 && s->rc == 0) {
		struct qless_str why = qless_error(engine);

		return complain(s->run, -EBADMSG, "%s cannot be loaded, offset %" PRIu64 ": %.*s",
				s->reader->path, s->reader->offset, (int)why.len, why.ptr);
	}
	return s->rc;
}

static int load_records_of_base(struct base_source *s)
{
	struct record record;
	uint64_t count;
	int rc;

	for (;;) {
		rc = next_of_base(s, &record);
		if (rc < 0)
			return rc;
		switch (record.type) {
		case RECORD_STATE_BEGIN:
			rc = load_database(s, record.payload);
			break;
		case RECORD_COMMAND:
			rc = apply(s->run, s->reader, &record);
			break;
		case RECORD_BASE_END:
			if (!record_decode_number(record.payload, &count) ||
			    count != record.sequence - 1 ||
			    s->reader->offset + s->reader->taken != s->reader->size)
				return fail_base(s);
			return 0;
		case RECORD_MARK:
		case RECORD_STATE_DATA:
		case RECORD_STATE_END:
			return fail_base(s);
		}
		if (rc < 0)
			return rc;
	}
}

static void note_time(struct recovery *r, int64_t us)
{
	if (r->first_us == 0)
		r->first_us = us;
	if (us > r->last_us)
		r->last_us = us;
}

static int check_engine(struct run *run, const struct reader *reader)
{
	if (reader->header.engine == STATE_VERSION)
		return 0;
	return complain(run, -EBADMSG,
			"%s is of engine version %" PRIu32 ", and this program's is %d",
			reader->path, reader->header.engine, STATE_VERSION);
}

static int load_base(struct run *run)
{
	struct recovery *r = run->r;
	struct reader reader;
	struct base_source source = { .run = run, .reader = &reader, .expected = 1 };
	int rc;

	if (r->manifest.base == 0)
		return 0;
	rc = reader_open(&reader, run->io, run->dir, RECORD_FILE_BASE, r->manifest.base,
			 run->error);
	if (rc < 0)
		return rc;
	rc = check_engine(run, &reader);
	if (rc == 0 && reader.header.sequence != r->manifest.base_sequence)
		rc = complain(run, -EBADMSG, "%s is not the base that the manifest means",
			      reader.path);
	if (rc == 0) {
		r->base_bytes = reader.size;
		r->base_us = reader.header.created_us;
		r->last_sequence = reader.header.sequence;
		note_time(r, reader.header.created_us);
		rc = load_records_of_base(&source);
	}
	reader_close(&reader);
	return rc;
}

/* ---- which base ---- */

/* When the base of the manifest was made. */
static int read_base_time(struct run *run, const struct manifest *m, int64_t *ret_us)
{
	struct reader reader;
	int rc = reader_open(&reader, run->io, run->dir, RECORD_FILE_BASE, m->base, run->error);

	if (rc < 0)
		return rc;
	*ret_us = reader.header.created_us;
	reader_close(&reader);
	return 0;
}

/* 1: the manifest leads to the limit; 0: its base is later; or an error. */
static int leads_to_limit(struct run *run, const struct manifest *m)
{
	int64_t base_us;
	int rc;

	if (m->base == 0)
		return 1;
	if (m->base_sequence > run->limit->sequence)
		return 0;
	if (run->limit->wall_us == INT64_MAX)
		return 1;
	rc = read_base_time(run, m, &base_us);
	return rc < 0 ? rc : base_us <= run->limit->wall_us;
}

static int fail_to_reach(struct run *run, const struct manifest *oldest)
{
	char time[32] = "";
	struct tm tm;
	int64_t us;
	time_t s;
	int rc = read_base_time(run, oldest, &us);

	if (rc < 0)
		return rc;
	s = (time_t)(us / 1000000);
	if (gmtime_r(&s, &tm) != NULL)
		strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &tm);
	return complain(run, -ERANGE,
			"the oldest state that can be recovered from %s is that of sequence "
			"%" PRIu64 ", of %s UTC, in base-%08" PRIu64
			". To go back further, use an older copy of the directory; the directive "
			"log-keep-bases keeps more from now on",
			run->dir, oldest->base_sequence, time, oldest->base);
}

/* The manifest in force, or else the latest of those that are kept, that leads to the limit. */
static int choose_manifest(struct run *run)
{
	struct manifest *chosen = &run->r->manifest, oldest;
	uint64_t newest_base = chosen->base;
	struct kept kept;
	int rc = leads_to_limit(run, chosen);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	manifest_copy(&oldest, chosen);
	rc = kept_list(&kept, run->io, run->dir);
	for (size_t i = kept.count; i > 0 && rc == 0; i--) {
		if (kept.numbers[i - 1] > newest_base)
			continue;
		manifest_done(&oldest);
		rc = kept_read(&oldest, kept.numbers[i - 1], run->io, run->dir, run->error);
		if (rc == 0)
			rc = leads_to_limit(run, &oldest);
	}
	if (rc == 1) {
		manifest_done(chosen);
		manifest_copy(chosen, &oldest);
		rc = 0;
	} else if (rc == 0) {
		rc = fail_to_reach(run, &oldest);
	}
	manifest_done(&oldest);
	kept_done(&kept);
	return rc;
}

/* ---- the log ---- */

/* No intact record is where `expected` should be. True if a crash can have done that. */
static bool is_torn(const struct record_damage *damage, uint64_t expected)
{
	if (!damage->followed)
		return true;
	/* A crash loses what was not synced yet, sectors of it and not bits. */
	return damage->durable < expected && damage->has_hole;
}

static int handle_damage(struct run *run, struct reader *reader, uint64_t expected, bool is_last)
{
	struct recovery *r = run->r;
	struct record_damage damage;
	int rc = reader_examine(reader, expected, &damage);
	uint64_t left = reader->size - reader->offset;

	if (rc < 0)
		return fail_reading(run, reader, rc);
	/* Not what it is when the log was brought to its end. */
	r->sealed = false;
	if (is_last)
		r->spare_bytes = damage.zeros;
	if (is_last && damage.zeros == left)
		return 0;
	r->damaged_file = reader->header.number;
	r->damaged_offset = reader->offset;
	r->damaged_sequence = expected;
	if (is_last && is_torn(&damage, expected)) {
		r->cut_bytes = left - damage.zeros;
		return 0;
	}
	r->damaged = true;
	return complain(
		run, -EBADMSG,
		"%s is damaged at offset %" PRIu64 ", where sequence %" PRIu64
		" should be%s. Nothing was changed. To see what is left run: qlessd-check %s",
		reader->path, reader->offset, expected,
		damage.followed ? ", and intact records follow" : ", and later files follow",
		run->dir);
}

static bool is_beyond(const struct recovery_limit *limit, const struct record *record)
{
	struct record_mark mark;

	return record->sequence > limit->sequence ||
	       (record->type == RECORD_MARK && record_decode_mark(record->payload, &mark) &&
		mark.wall_us > limit->wall_us);
}

static int take_record(struct run *run, const struct reader *reader, const struct record *record)
{
	struct recovery *r = run->r;
	struct record_mark mark;

	/* What the base holds already is only read. */
	if (record->sequence <= r->last_sequence)
		return 0;
	visit(run, reader, record);
	r->last_sequence = record->sequence;
	r->sealed = false;
	if (record->type == RECORD_COMMAND)
		return apply(run, reader, record);
	if (record->type != RECORD_MARK || !record_decode_mark(record->payload, &mark))
		return complain(run, -EBADMSG,
				"%s has a %s at offset %" PRIu64 ", which has no place in a log",
				reader->path, record_type_name(record->type), reader->offset);
	note_time(r, mark.wall_us);
	r->sealed = mark.durable + 1 == record->sequence;
	return 0;
}

/* Records of one log file from the one with sequence *expected on. */
static int replay_records(struct run *run, struct reader *reader, uint64_t *expected, bool is_last)
{
	uint64_t told_offset = reader->offset;
	struct record record;
	int rc;

	while ((rc = reader_next(reader, &record)) == 1) {
		/* Written by a failing machine, or put together from two logs. */
		if (record.sequence != *expected)
			return complain(run, -EBADMSG,
					"%s has sequence %" PRIu64 " at offset %" PRIu64
					", where %" PRIu64 " should be",
					reader->path, record.sequence, reader->offset, *expected);
		if (is_beyond(run->limit, &record)) {
			run->r->limited = true;
			return 0;
		}
		rc = take_record(run, reader, &record);
		if (rc == 0 && (record.sequence % PROGRESS_RECORDS == 0 ||
				reader->offset - told_offset >= PROGRESS_BYTES)) {
			told_offset = reader->offset;
			rc = tell_progress(run, reader, run->r->base_bytes + run->r->log_bytes);
		}
		if (rc < 0)
			return rc;
		++*expected;
	}
	if (rc == -EBADMSG)
		return handle_damage(run, reader, *expected, is_last);
	return rc < 0 ? fail_reading(run, reader, rc) : 0;
}

static int replay_file(struct run *run, size_t index, uint64_t *expected)
{
	struct recovery *r = run->r;
	bool is_last = index + 1 == r->manifest.log_count;
	struct reader reader;
	int rc = reader_open(&reader, run->io, run->dir, RECORD_FILE_LOG, r->manifest.logs[index],
			     run->error);

	if (rc < 0)
		return rc;
	rc = check_engine(run, &reader);
	/* The first file may begin before the base ends, but must not begin behind it. */
	if (rc == 0 && (index == 0 ? reader.header.sequence > r->last_sequence + 1
				   : reader.header.sequence != *expected))
		rc = complain(run, -EBADMSG,
			      "%s begins with sequence %" PRIu64 ", where %" PRIu64 " should be",
			      reader.path, reader.header.sequence,
			      index == 0 ? r->last_sequence + 1 : *expected);
	if (rc == 0 && index > 0 &&
	    (reader.header.created_us > run->limit->wall_us ||
	     reader.header.sequence > run->limit->sequence))
		r->limited = true;
	if (rc == 0 && !r->limited) {
		*expected = reader.header.sequence;
		note_time(r, reader.header.created_us);
		rc = replay_records(run, &reader, expected, is_last);
	}
	r->tail = reader.header;
	r->tail_size = reader.offset;
	r->log_bytes += reader.offset;
	reader_close(&reader);
	return rc;
}

static int replay_logs(struct run *run)
{
	struct recovery *r = run->r;
	uint64_t expected = 0;
	int rc;

	for (size_t i = 0; i < r->manifest.log_count && !r->limited; i++) {
		rc = replay_file(run, i, &expected);
		if (rc < 0)
			return rc;
	}
	/* A base is made from what had been recorded, so the log goes at least as far. */
	if (expected <= r->last_sequence && !r->limited)
		return complain(run, -EBADMSG,
				"the log in %s ends with sequence %" PRIu64
				", before the base, which goes up to %" PRIu64,
				run->dir, expected - 1, r->last_sequence);
	return 0;
}

static void sum_sizes(struct run *run)
{
	const struct manifest *m = &run->r->manifest;
	char path[JOURNAL_PATH_MAX];

	for (size_t i = 0; i <= m->log_count; i++) {
		uint64_t size = 0;
		int fd;

		if (i < m->log_count)
			journal_log_path(path, run->dir, m->logs[i]);
		else if (m->base != 0)
			journal_base_path(path, run->dir, m->base);
		else
			break;
		fd = run->io->open(run->io->arg, path, 0);
		if (fd < 0)
			continue;
		if (run->io->size(run->io->arg, fd, &size) == 0)
			run->progress.bytes_total += size;
		run->io->close(run->io->arg, fd);
	}
}

int recovery_run(struct recovery *r, const struct journal_io *io, const char *dir,
		 const struct recovery_limit *limit, const struct recovery_target *target,
		 struct buf *ret_error)
{
	struct run run = { .r = r,
			   .io = io,
			   .dir = dir,
			   .limit = limit,
			   .target = target,
			   .error = ret_error,
			   .said = BUF_INIT(64 * 1024) };
	int rc;

	*r = (struct recovery){ 0 };
	rc = manifest_read(&r->manifest, io, dir, ret_error);
	if (rc < 0)
		return rc;
	rc = choose_manifest(&run);
	sum_sizes(&run);
	if (rc == 0)
		rc = load_base(&run);
	if (rc == 0)
		rc = replay_logs(&run);
	record_args_done(&run.args);
	buf_done(&run.said);
	return rc;
}

void recovery_done(struct recovery *r)
{
	manifest_done(&r->manifest);
}
