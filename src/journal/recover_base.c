/*
 * Loading a snapshot: the state of the databases, and operations for everything else. Every record
 * must be there.
 */
#include "journal/recover_int.h"

#include <errno.h>
#include <inttypes.h>

#include "engine/state.h"
#include "journal/log_index.h"

struct base_source {
	struct recovery_job *job;
	struct reader *reader;
	uint64_t expected; /* sequence number of the next record */
	uint64_t bytes;	   /* of the state of this database, so far */
	bool ended;
	int rc;
};

/* Read the next record of the snapshot, which must be there. */
static int next_of_base(struct base_source *s, struct record *record)
{
	int rc = reader_next(s->reader, record);

	if (rc == 1 && record->sequence == s->expected) {
		s->expected++;
		recovery_visit(s->job, s->reader, record);
		return 1;
	}
	if (rc == 1 || rc == 0 || rc == -EBADMSG)
		return recovery_complain(s->job, -EBADMSG,
					 "%s is damaged at offset %" PRIu64 ": its record %" PRIu64
					 " is missing",
					 s->reader->path, s->reader->offset, s->expected);
	return recovery_fail_reading(s->job, s->reader, rc);
}

static int fail_base(struct base_source *s)
{
	return recovery_complain(s->job, -EBADMSG, "%s has an unexpected record at offset %" PRIu64,
				 s->reader->path, s->reader->offset);
}

/* The first record of the snapshot of a group, and of no other one. */
static int load_group(struct base_source *s, struct record *record)
{
	struct log_index *index = s->job->target->index;
	struct record_group group;
	int rc = next_of_base(s, record);

	if (rc < 0)
		return rc;
	if (record->type != RECORD_GROUP || !record_decode_group(record->payload, &group))
		return fail_base(s);
	if (index != NULL)
		log_index_set_base(index, s->reader->header.sequence, &group);
	return 0;
}

/* Get the next piece of the state. It is empty at the end, and after a failure. */
static struct qless_str next_piece(void *arg)
{
	struct base_source *s = arg;
	struct record record;
	uint64_t total;

	if (s->ended || s->rc < 0)
		return STR("");
	s->rc = next_of_base(s, &record);
	if (s->rc == 1)
		s->rc = recovery_tell_progress(s->job, s->reader, 0);
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
	if (s->job->target->engine != NULL) {
		engine = s->job->target->engine(s->job->target->arg, (unsigned)db);
		if (engine == NULL)
			return recovery_complain(
				s->job, -EBADMSG,
				"%s holds database %" PRIu64
				", but there are fewer: raise the directive databases",
				s->reader->path, db);
	}
	if (engine == NULL) {
		while (next_piece(s).len > 0)
			;
		return s->rc;
	}
	if (state_load(engine, next_piece, s) < 0 && s->rc == 0) {
		struct qless_str why = qless_error_text(engine);

		return recovery_complain(s->job, -EBADMSG,
					 "%s cannot be loaded, offset %" PRIu64 ": %.*s",
					 s->reader->path, s->reader->offset, (int)why.len, why.ptr);
	}
	return s->rc;
}

static int load_records_of_base(struct base_source *s)
{
	struct record record;
	uint64_t count;
	int rc = 0;

	if (s->reader->header.format == RECORD_FORMAT_GROUP)
		rc = load_group(s, &record);
	if (rc < 0)
		return rc;
	for (;;) {
		rc = next_of_base(s, &record);
		if (rc < 0)
			return rc;
		switch (record.type) {
		case RECORD_STATE_BEGIN:
			rc = load_database(s, record.payload);
			break;
		case RECORD_OPERATIONS:
		case RECORD_COMMANDS:
			rc = recovery_apply(s->job, s->reader, &record);
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
		case RECORD_TERM:
		case RECORD_MEMBERS:
		case RECORD_BARRIER:
		case RECORD_FEATURE:
		case RECORD_GROUP:
			return fail_base(s);
		}
		if (rc < 0)
			return rc;
	}
}

int recovery_load_base(struct recovery_job *job)
{
	struct recovery *r = job->r;
	struct reader reader;
	struct base_source source = { .job = job, .reader = &reader, .expected = 1 };
	int rc;

	if (r->manifest.base == 0)
		return 0;
	rc = reader_open(&reader, job->io, job->dir, RECORD_FILE_BASE, r->manifest.base,
			 job->error);
	if (rc < 0)
		return rc;
	rc = recovery_check_engine(job, &reader);
	if (rc == 0 && reader.header.sequence != r->manifest.base_sequence)
		rc = recovery_complain(job, -EBADMSG,
				       "%s is another snapshot than the one in the manifest",
				       reader.path);
	if (rc == 0 && (reader.header.format == RECORD_FORMAT_GROUP) != r->manifest.has_group)
		rc = recovery_complain(
			job, -EBADMSG,
			"%s belongs to a group, or the manifest says so, but not both",
			reader.path);
	if (rc == 0) {
		r->base_bytes = reader.size;
		r->base_us = reader.header.created_us;
		r->last_sequence = reader.header.sequence;
		recovery_note_time(r, reader.header.created_us);
		rc = load_records_of_base(&source);
	}
	reader_close(&reader);
	return rc;
}
