/*
 * Replaying the log segments, and telling a torn end from damage.
 */
#include "journal/recover_int.h"

#include <errno.h>
#include <inttypes.h>

#include "journal/log_index.h"
#include "util/minmax.h"

/* Progress is reported after this many records, or after this many bytes, because one record may
 * put a thousand jobs. */
#define PROGRESS_RECORDS 1024
#define PROGRESS_BYTES	 ((uint64_t)64 * 1024)

/* Returns how it is known that the damaged bytes had been synced, or NULL. Then a power failure can
 * have caused the damage. record.c has the reasoning. */
static const char *why_synced(const struct recovery_job *job, const struct reader *reader,
			      const struct record_damage *damage, uint64_t expected, bool is_last)
{
	if (!is_last)
		return "later segments follow";
	if (damage->was_synced)
		return "later records say that this was on the disk";
	if (reader->offset < reader->header.closed_size)
		return "the log was closed after this was on the disk";
	/* A snapshot becomes current when the records that it covers are synced. */
	if (expected <= job->r->manifest.base_sequence)
		return "the snapshot was made after this was on the disk";
	return NULL;
}

static int handle_damage(struct recovery_job *job, struct reader *reader, uint64_t expected,
			 bool is_last)
{
	struct recovery *r = job->r;
	struct record_damage damage;
	int rc = reader_examine(reader, expected, &damage);
	uint64_t left = reader->size - reader->offset;
	const char *why;

	if (rc < 0)
		return recovery_fail_reading(job, reader, rc);
	why = why_synced(job, reader, &damage, expected, is_last);
	/* A log that was closed cleanly ends with a record. */
	r->sealed = false;
	if (is_last)
		r->spare_bytes = damage.zeros;
	if (why == NULL && damage.zeros == left)
		return 0;
	r->damaged_file = reader->header.number;
	r->damaged_offset = reader->offset;
	r->damaged_sequence = expected;
	if (why == NULL) {
		r->cut_bytes = left - damage.zeros;
		return 0;
	}
	r->damaged = true;
	return recovery_complain(
		job, -EBADMSG,
		"%s is damaged at offset %" PRIu64 ", where sequence %" PRIu64
		" should be, and %s. Nothing was changed. To see what is left run: qlessd-check %s",
		reader->path, reader->offset, expected, why, job->dir);
}

/* The file ends with a whole record, but before the end that it had when it was closed. */
static int complain_about_end(struct recovery_job *job, const struct reader *reader,
			      uint64_t expected)
{
	struct recovery *r = job->r;

	r->damaged = true;
	r->damaged_file = reader->header.number;
	r->damaged_offset = reader->offset;
	r->damaged_sequence = expected;
	return recovery_complain(job, -EBADMSG,
				 "%s ends at offset %" PRIu64 ", where sequence %" PRIu64
				 " should be, but was %" PRIu64
				 " bytes long when the log was closed. Nothing was changed. To see "
				 "what is left run: qlessd-check %s",
				 reader->path, reader->offset, expected, reader->header.closed_size,
				 job->dir);
}

static bool is_beyond(const struct recovery_limit *limit, const struct record *record)
{
	struct record_mark mark;

	return record->sequence > limit->sequence ||
	       (record->type == RECORD_MARK && record_decode_mark(record->payload, &mark) &&
		mark.wall_us > limit->wall_us);
}

static int complain_about_type(struct recovery_job *job, const struct reader *reader,
			       const struct record *record)
{
	return recovery_complain(job, -EBADMSG,
				 "%s has a %s at offset %" PRIu64
				 ", which does not belong in a log segment",
				 reader->path, record_type_name(record->type), reader->offset);
}

static int take_mark(struct recovery_job *job, const struct reader *reader,
		     const struct record *record)
{
	struct record_mark mark;

	if (record->type != RECORD_MARK || !record_decode_mark(record->payload, &mark))
		return complain_about_type(job, reader, record);
	recovery_note_time(job->r, mark.wall_us);
	job->marked = max_u64(job->marked, mark.commit);
	job->r->sealed = mark.durable + 1 == record->sequence;
	return 0;
}

static int take_record(struct recovery_job *job, const struct reader *reader,
		       const struct record *record)
{
	struct recovery *r = job->r;

	/* The snapshot covers this record. */
	if (record->sequence <= r->last_sequence)
		return 0;
	recovery_visit(job, reader, record);
	r->last_sequence = record_next_sequence(record, reader->header.format) - 1;
	r->sealed = false;
	if (record->type == RECORD_OPERATIONS || record->type == RECORD_COMMANDS)
		return recovery_apply(job, reader, record);
	return take_mark(job, reader, record);
}

/* ---- a group ---- */

static int take_term(struct recovery_job *job, const struct reader *reader,
		     const struct record *record)
{
	uint64_t term;

	if (!record_decode_number(record->payload, &term) || term == 0 || term < job->term)
		return recovery_complain(job, -EBADMSG, "%s has a wrong term at offset %" PRIu64,
					 reader->path, reader->offset);
	job->term = term;
	return 0;
}

/* Put an entry into the index of the owner, and apply it if it is committed. */
static int take_entry(struct recovery_job *job, const struct reader *reader,
		      const struct record *record)
{
	struct log_index *index = job->target->index;
	struct recovery *r = job->r;

	if (job->term == 0)
		return recovery_complain(job, -EBADMSG,
					 "%s has an entry without a term at offset %" PRIu64,
					 reader->path, reader->offset);
	if (index != NULL) {
		log_index_add(index, job->term, record->type, record->payload);
		log_index_note_written(index, record->sequence, reader->offset);
	}
	if (record->sequence <= r->last_sequence || record->sequence > job->commit)
		return 0;
	r->last_sequence = record->sequence;
	if (record->type != RECORD_OPERATIONS)
		return 0;
	return recovery_apply(job, reader, record);
}

/* Take a record of a segment whose entries from `bound` on were replaced. */
static int take_group_record(struct recovery_job *job, const struct reader *reader,
			     const struct record *record, uint64_t bound)
{
	if (record->sequence > job->r->manifest.base_sequence)
		recovery_visit(job, reader, record);
	job->r->sealed = false;
	if (record->type == RECORD_TERM)
		return take_term(job, reader, record);
	if (!record_is_entry(record->type))
		return take_mark(job, reader, record);
	return record->sequence < bound ? take_entry(job, reader, record) : 0;
}

/* Whether a record is the last one up to a limit that is committed. Nothing after it is read,
 * because the log may be in use: bytes are being written there. */
static bool is_last_wanted(const struct recovery_job *job, const struct record *record,
			   uint64_t bound)
{
	return job->bounds != NULL && job->limit->is_committed && record_is_entry(record->type) &&
	       record->sequence == job->limit->sequence && record->sequence < bound;
}

/* Replay one log segment, from the record with sequence number *expected on. */
static int replay_records(struct recovery_job *job, struct reader *reader, uint64_t *expected,
			  bool is_last, uint64_t bound)
{
	uint64_t told_offset = reader->offset;
	struct record record;
	int rc;

	while ((rc = reader_next(reader, &record)) == 1) {
		if (is_last && record.sequence < *expected)
			return handle_damage(job, reader, *expected, is_last);
		/* A failing machine wrote it, or the files of two logs were mixed. */
		if (record.sequence != *expected)
			return recovery_complain(job, -EBADMSG,
						 "%s has sequence %" PRIu64 " at offset %" PRIu64
						 ", where %" PRIu64 " should be",
						 reader->path, record.sequence, reader->offset,
						 *expected);
		if (is_beyond(job->limit, &record) && record.sequence < bound) {
			job->r->limited = true;
			return 0;
		}
		rc = job->bounds != NULL ? take_group_record(job, reader, &record, bound)
					 : take_record(job, reader, &record);
		if (rc == 0 && (record.sequence % PROGRESS_RECORDS == 0 ||
				reader->offset - told_offset >= PROGRESS_BYTES)) {
			told_offset = reader->offset;
			rc = recovery_tell_progress(job, reader,
						    job->r->base_bytes + job->r->log_bytes);
		}
		if (rc < 0)
			return rc;
		*expected = record_next_sequence(&record, reader->header.format);
		if (is_last_wanted(job, &record, bound)) {
			job->r->limited = true;
			return 0;
		}
	}
	if (rc == -EBADMSG)
		return handle_damage(job, reader, *expected, is_last);
	if (rc == 0 && reader->offset < reader->header.closed_size)
		return complain_about_end(job, reader, *expected);
	return rc < 0 ? recovery_fail_reading(job, reader, rc) : 0;
}

/* Check that a segment of the log of a group continues it, or replaces its last entries, which are
 * not committed. */
static int begin_group_segment(struct recovery_job *job, const struct reader *reader,
			       uint64_t expected)
{
	const struct record_file_header *header = &reader->header;
	struct log_index *index = job->target->index;

	if (header->format != RECORD_FORMAT_GROUP)
		return recovery_complain(job, -EBADMSG,
					 "%s does not belong to a group, but the manifest says so",
					 reader->path);
	if (header->sequence < expected && header->sequence <= job->marked)
		return recovery_complain(job, -EBADMSG,
					 "%s begins with sequence %" PRIu64
					 ", but the log is committed up to %" PRIu64,
					 reader->path, header->sequence, job->marked);
	job->term = 0;
	if (index == NULL)
		return 0;
	if (expected == 0)
		index->last = header->sequence - 1;
	/* All entries of this segment may be replaced, too. Then the index has fewer entries. */
	if (header->sequence <= index->last)
		log_index_cut(index, header->sequence);
	log_index_begin_segment(index, header->number, header->salt, header->sequence);
	return 0;
}

/* Whether the first record of a segment is the right one to continue with `expected`. */
static bool continues(const struct recovery_job *job, uint64_t sequence, uint64_t expected)
{
	return sequence == expected || (job->bounds != NULL && sequence < expected);
}

/* Whether a segment and all that follow it are after the limit. */
static bool is_after_limit(const struct recovery_job *job, const struct reader *reader,
			   uint64_t bound)
{
	return reader->header.created_us > job->limit->wall_us ||
	       min_u64(reader->header.sequence, bound) > job->limit->sequence;
}

static int replay_file(struct recovery_job *job, size_t index, uint64_t *expected)
{
	struct recovery *r = job->r;
	bool is_last = index + 1 == r->manifest.log_count;
	uint64_t bound = job->bounds != NULL ? job->bounds[index] : UINT64_MAX;
	struct reader reader;
	int rc = reader_open(&reader, job->io, job->dir, RECORD_FILE_LOG, r->manifest.logs[index],
			     job->error);

	if (rc < 0)
		return rc;
	rc = recovery_check_engine(job, &reader);
	/* The first segment begins before the snapshot ends, or right after it. */
	if (rc == 0 && (index == 0 ? reader.header.sequence > r->last_sequence + 1
				   : !continues(job, reader.header.sequence, *expected)))
		rc = recovery_complain(job, -EBADMSG,
				       "%s begins with sequence %" PRIu64 ", where %" PRIu64
				       " should be",
				       reader.path, reader.header.sequence,
				       index == 0 ? r->last_sequence + 1 : *expected);
	if (rc == 0 && index > 0 && is_after_limit(job, &reader, bound))
		r->limited = true;
	if (rc == 0 && !r->limited && job->bounds != NULL)
		rc = begin_group_segment(job, &reader, *expected);
	if (rc == 0 && !r->limited) {
		*expected = reader.header.sequence;
		recovery_note_time(r, reader.header.created_us);
		rc = replay_records(job, &reader, expected, is_last, bound);
	}
	r->tail = reader.header;
	r->tail_size = reader.offset;
	r->closed = reader.offset == reader.header.closed_size;
	r->log_bytes += reader.offset;
	if (rc == 0 && job->bounds != NULL && job->target->index != NULL)
		log_index_end_segment(job->target->index, reader.offset);
	reader_close(&reader);
	return rc;
}

int recovery_replay_logs(struct recovery_job *job)
{
	struct recovery *r = job->r;
	uint64_t expected = 0;
	int rc;

	/* The snapshot has all that is wanted: see is_last_wanted(). */
	if (job->bounds != NULL && job->limit->is_committed &&
	    job->limit->sequence == r->last_sequence) {
		r->limited = true;
		r->log_end = r->last_sequence + 1;
		return 0;
	}
	for (size_t i = 0; i < r->manifest.log_count && !r->limited; i++) {
		rc = replay_file(job, i, &expected);
		if (rc < 0)
			return rc;
	}
	r->log_end = expected;
	/* A snapshot covers only records of the log, so the log does not end before it. */
	if (expected <= max_u64(r->last_sequence, r->manifest.base_sequence) && !r->limited)
		return recovery_complain(job, -EBADMSG,
					 "the log in %s ends with sequence %" PRIu64
					 ", but its snapshot goes up to %" PRIu64,
					 job->dir, expected - 1, r->last_sequence);
	if (expected <= job->proved && !r->limited)
		return recovery_complain(job, -EBADMSG,
					 "the log in %s ends with sequence %" PRIu64
					 ", but it was committed up to %" PRIu64,
					 job->dir, expected - 1, job->proved);
	return 0;
}
