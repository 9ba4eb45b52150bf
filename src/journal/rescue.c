/*
 * Three steps: load the newest snapshot that is whole, survey the log segments after it, and apply
 * their records. The survey finds what is missing and where to stop. Both walk through the same
 * records in the same order.
 *
 * Sequence numbers decide what counts. Each record must have a higher number than the one before
 * it, and a lower one than the next segment begins with. In a group it must have a lower one than
 * any later segment begins with. All entries of a group count, committed or not.
 */
#include "journal/rescue.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "journal/recover_int.h"
#include "journal/rescue_files.h"
#include "journal/rescue_io.h"
#include "util/mem.h"
#include "util/minmax.h"

/* Largest number of sequence numbers that one damaged place of a segment may cost. The bytes of
 * most data are no number in such a range, so no checksum is computed for them. */
#define SKIP_MAX (UINT64_C(1) << 32)
/* Progress is reported after this many records. */
#define PROGRESS_RECORDS 1024

struct walk {
	struct rescue *r;
	struct recovery_job *job;
	const struct rescue_files *files;
	const struct rescue_owner *owner;
	bool is_survey;
	bool is_over;	   /* the limit was reached */
	size_t first_log;  /* index of the segment to begin with */
	uint64_t expected; /* sequence number of the next record */
	uint64_t stop;	   /* the last sequence number to apply */
	/* Where the last record ended. */
	uint64_t file, offset;
	/* ---- the survey ---- */
	size_t open_gaps;    /* gaps from this index on end with the next record */
	size_t untimed_gaps; /* gaps from this index on end before the next time that is found */
	int64_t last_us;
	uint64_t unsure; /* a mark before this record may be missing; 0: none is */
	/* ---- applying ---- */
	size_t gap; /* gaps before this index are before the record */
};

static bool is_missing(const struct rescue_gap *gap)
{
	return gap->last >= gap->first;
}

bool rescue_is_incomplete(const struct rescue *r)
{
	for (size_t i = 0; i < r->gap_count; i++) {
		if (is_missing(&r->gaps[i]))
			return true;
	}
	return false;
}

/* ---- gaps ---- */

static void add_gap(struct walk *w, uint64_t file, bool is_no_file, uint64_t offset, uint64_t bytes)
{
	struct rescue *r = w->r;

	if (!w->is_survey)
		return;
	r->gaps = mem_grow(r->gaps, &r->gap_cap, r->gap_count + 1, sizeof *r->gaps);
	r->gaps[r->gap_count++] = (struct rescue_gap){ .file = file,
						       .is_no_file = is_no_file,
						       .offset = offset,
						       .bytes = bytes,
						       .first = w->expected,
						       .after_us = w->last_us };
}

/* The open gaps end before a sequence number. All of them share the numbers that are missing. */
static void close_gaps(struct walk *w, uint64_t sequence)
{
	struct rescue *r = w->r;

	for (size_t i = w->open_gaps; i < r->gap_count; i++) {
		r->gaps[i].last = sequence - 1;
		r->gaps[i].is_continued = i > w->open_gaps;
	}
	if (r->gap_count > w->open_gaps && w->unsure == 0)
		w->unsure = sequence;
	w->open_gaps = r->gap_count;
}

/* The next record has that number. */
static void reach(struct walk *w, uint64_t sequence)
{
	assert(sequence >= w->expected);
	if (w->is_survey && sequence > w->expected && w->open_gaps == w->r->gap_count)
		add_gap(w, w->file, false, w->offset, 0);
	if (w->is_survey)
		close_gaps(w, sequence);
	w->expected = sequence;
}

/* Everything before this place was written before that time. */
static void reach_time(struct walk *w, int64_t us)
{
	struct rescue *r = w->r;

	w->unsure = 0;
	w->last_us = us > w->last_us ? us : w->last_us;
	for (; w->untimed_gaps < w->open_gaps; w->untimed_gaps++)
		r->gaps[w->untimed_gaps].before_us = us;
}

/* ---- records ---- */

static void end_walk(struct walk *w, uint64_t stop)
{
	w->is_over = true;
	w->r->recovery.limited = true;
	if (w->unsure != 0 && w->unsure <= stop) {
		w->r->untimed_sequence = w->unsure;
		stop = w->unsure - 1;
	}
	w->stop = min_u64(w->stop, stop);
}

static void survey_record(struct walk *w, const struct record *record)
{
	const struct recovery_limit *limit = w->job->limit;
	struct record_mark mark;
	bool is_mark = record->type == RECORD_MARK && record_decode_mark(record->payload, &mark);

	if (record->sequence > limit->sequence) {
		w->unsure = 0;
		end_walk(w, limit->sequence);
	} else if (is_mark && mark.wall_us > limit->wall_us) {
		end_walk(w, record->sequence - 1);
	} else if (is_mark) {
		reach_time(w, mark.wall_us);
	}
}

/* Count what did not work for the last gap before the record. */
static void count_troubles(struct walk *w, uint64_t sequence, const struct rescue_tally *before)
{
	struct rescue *r = w->r;

	while (w->gap < r->gap_count && r->gaps[w->gap].first <= sequence)
		w->gap++;
	if (w->gap == 0)
		return;
	r->gaps[w->gap - 1].refused += w->owner->tally->refused - before->refused;
	r->gaps[w->gap - 1].idle += w->owner->tally->idle - before->idle;
}

static int apply_record(struct walk *w, const struct reader *reader, const struct record *record)
{
	struct recovery *recovery = &w->r->recovery;
	struct rescue_tally before = *w->owner->tally;
	struct record_mark mark;
	int rc = 0;

	if (record->sequence > w->stop) {
		w->is_over = true;
		return 0;
	}
	/* The snapshot covers this record. */
	if (record->sequence <= recovery->last_sequence)
		return 0;
	recovery_visit(w->job, reader, record);
	recovery->last_sequence = record_next_sequence(record, reader->header.format) - 1;
	if (record->type == RECORD_MARK && record_decode_mark(record->payload, &mark))
		recovery_note_time(recovery, mark.wall_us);
	if (record->type == RECORD_OPERATIONS || record->type == RECORD_COMMANDS)
		rc = recovery_apply(w->job, reader, record);
	count_troubles(w, record->sequence, &before);
	if (rc == 0 && recovery->records % PROGRESS_RECORDS == 0)
		rc = recovery_tell_progress(w->job, reader, recovery->log_bytes);
	return rc;
}

/* ---- segments ---- */

/* Pass over bytes that are no record which counts. */
static int skip(struct walk *w, struct reader *reader, uint64_t high)
{
	uint64_t offset = reader->offset, closed = reader->header.closed_size, bytes;
	uint64_t far = max_u64(w->expected, w->r->recovery.manifest.base_sequence) + SKIP_MAX;
	int rc = reader_skip(reader, w->expected, min_u64(high, far), &bytes);

	if (rc < 0)
		return recovery_fail_reading(w->job, reader, rc);
	if (reader->offset == reader->size && offset + bytes < closed)
		bytes = closed - offset;
	if (bytes > 0)
		add_gap(w, reader->header.number, false, offset, bytes);
	return 0;
}

/* Walk through the records of a segment that have numbers up to `high`. */
static int walk_records(struct walk *w, struct reader *reader, uint64_t high)
{
	uint64_t skipped_to = 0;
	struct record record;
	int rc = 0;

	while (rc == 0 && !w->is_over) {
		rc = reader_next(reader, &record);
		if (rc == 0)
			break;
		if (rc == 1 && record.sequence >= w->expected && record.sequence <= high) {
			w->offset = reader->offset;
			reach(w, record.sequence);
			rc = 0;
			if (w->is_survey)
				survey_record(w, &record);
			else
				rc = apply_record(w, reader, &record);
			if (!w->is_over)
				w->expected = record_next_sequence(&record, reader->header.format);
			w->offset += reader->taken;
		} else if (rc == 1 && record.sequence > high &&
			   reader->header.format == RECORD_FORMAT_GROUP) {
			rc = 0; /* a later segment replaces it */
		} else if (rc == 1 || rc == -EBADMSG) {
			rc = skip(w, reader, high);
			skipped_to = reader->offset;
		} else {
			rc = recovery_fail_reading(w->job, reader, rc);
		}
	}
	if (rc == 0 && !w->is_over && skipped_to < reader->size &&
	    reader->size < reader->header.closed_size)
		add_gap(w, reader->header.number, false, reader->size,
			reader->header.closed_size - reader->size);
	return rc;
}

static int walk_segment(struct walk *w, const struct rescue_file *file, uint64_t high)
{
	struct reader reader;
	int rc = reader_open_known(&reader, w->job->io, w->job->dir, file->number, &file->header,
				   w->job->error);

	if (rc < 0)
		return rc;
	reader.header.number = file->number;
	rc = recovery_check_engine(w->job, &reader);
	w->file = file->number;
	w->offset = reader.offset;
	if (rc == 0)
		rc = walk_records(w, &reader, high);
	if (rc == 0 && file->is_cut && high == UINT64_MAX && !w->is_over)
		add_gap(w, file->number, false, reader.offset, 0);
	if (!w->is_survey)
		w->r->recovery.log_bytes += reader.offset;
	reader_close(&reader);
	return rc;
}

/* Whether later segments of a group replace all records of one. */
static bool is_replaced(const struct rescue_file *file, uint64_t bound)
{
	return file->state == RESCUE_HEADER_WHOLE && file->header.format == RECORD_FORMAT_GROUP &&
	       file->header.sequence >= bound;
}

static int walk_file(struct walk *w, size_t i)
{
	const struct rescue_file *file = &w->files->logs.all[i];
	uint64_t bound = rescue_files_bound(w->files, i + 1);

	if (is_replaced(file, bound))
		return 0;
	switch (file->state) {
	case RESCUE_NO_FILE:
	case RESCUE_HEADER_LOST:
		add_gap(w, file->number, file->state == RESCUE_NO_FILE, 0, file->size);
		return 0;
	case RESCUE_HEADER_WHOLE:
		if (file->header.sequence >= w->expected)
			reach(w, file->header.sequence);
		if (w->is_survey && i > w->first_log &&
		    file->header.created_us > w->job->limit->wall_us)
			end_walk(w, w->expected - 1);
		else if (w->is_survey)
			reach_time(w, file->header.created_us);
		break;
	case RESCUE_HEADER_GUESSED:
		break;
	}
	if (w->is_over || bound <= w->expected)
		return 0;
	return walk_segment(w, file, bound == UINT64_MAX ? bound : bound - 1);
}

/* The segment that begins before the snapshot ends, or right after it. */
static size_t first_log(const struct rescue_files *files, uint64_t sequence)
{
	size_t first = 0;

	for (size_t i = 0; i < files->logs.count; i++) {
		const struct rescue_file *file = &files->logs.all[i];

		if (file->state == RESCUE_HEADER_WHOLE && file->header.sequence <= sequence + 1)
			first = i;
	}
	return first;
}

static int walk_all(struct walk *w)
{
	const struct rescue_list *logs = &w->files->logs;
	uint64_t base = w->r->recovery.last_sequence;
	int rc = 0;

	w->first_log = first_log(w->files, base);
	w->expected = base + 1;
	/* Without its header, the segment may begin anywhere. */
	if (logs->count > 0)
		w->expected =
			min_u64(w->expected, max_u64(1, logs->all[w->first_log].header.sequence));
	for (size_t i = w->first_log; i < logs->count && rc == 0 && !w->is_over; i++)
		rc = walk_file(w, i);
	return rc;
}

/* ---- the survey ---- */

/* Leave out what the snapshot covers, and what is after the limit. */
static void drop_gaps(struct rescue *r, uint64_t base, uint64_t stop)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->gap_count; i++) {
		struct rescue_gap gap = r->gaps[i];

		if (gap.first > stop || (is_missing(&gap) ? gap.last : gap.first) <= base)
			continue;
		gap.first = max_u64(gap.first, base + 1);
		if (gap.last != UINT64_MAX)
			gap.last = min_u64(gap.last, stop);
		gap.is_continued &= kept > 0;
		r->gaps[kept++] = gap;
	}
	r->gap_count = kept;
}

static int survey(struct walk *w)
{
	struct rescue *r = w->r;
	int rc;

	w->is_survey = true;
	rc = walk_all(w);
	if (rc < 0)
		return rc;
	for (size_t i = w->open_gaps; i < r->gap_count && !w->is_over; i++) {
		r->gaps[i].last = UINT64_MAX;
		r->gaps[i].is_continued = i > w->open_gaps;
	}
	/* No mark after the last gap tells that the rest is not too late. */
	if (!w->is_over && w->job->limit->wall_us != INT64_MAX && w->unsure != 0 &&
	    w->unsure < w->expected)
		end_walk(w, w->expected - 1);
	drop_gaps(r, r->recovery.last_sequence, w->stop);
	return 0;
}

/* ---- the snapshot ---- */

static int load_base(struct recovery_job *job, const struct rescue_owner *owner,
		     const struct rescue_file *base, struct rescue *r)
{
	struct buf *error = job->error, why = BUF_INIT(job->error->max);
	struct recovery *recovery = &r->recovery;
	int rc;

	recovery->manifest.has_group = base->header.format == RECORD_FORMAT_GROUP;
	recovery->manifest.base = base->number;
	recovery->manifest.base_sequence = base->header.sequence;
	job->error = &why;
	rc = recovery_load_base(job);
	job->error = error;
	if (rc < 0) {
		owner->clear(owner->target.arg);
		*recovery = (struct recovery){ .orphans = recovery->orphans };
	}
	if (rc == -EBADMSG)
		buf_printf(&r->notes, "a snapshot was left out: %s\n", buf_cstr(&why));
	else if (rc < 0)
		buf_append_str(error, buf_str(&why));
	buf_done(&why);
	return rc;
}

static bool is_in_limit(const struct recovery_limit *limit, const struct rescue_file *base)
{
	return base->header.sequence <= limit->sequence &&
	       base->header.created_us <= limit->wall_us;
}

/* The next snapshot to try: first that of the manifest, then the others, newest first. Returns NULL
 * if there is no other. */
static const struct rescue_file *next_base(const struct rescue_files *files,
					   const struct recovery_limit *limit, bool *is_tried)
{
	const struct rescue_list *bases = &files->bases;
	size_t best = bases->count;

	for (size_t i = 0; i < bases->count; i++) {
		const struct rescue_file *base = &bases->all[i];

		if (is_tried[i] || !is_in_limit(limit, base))
			continue;
		if (base->number == files->manifest.base) {
			best = i;
			break;
		}
		if (best == bases->count ||
		    base->header.sequence >= bases->all[best].header.sequence)
			best = i;
	}
	if (best == bases->count)
		return NULL;
	is_tried[best] = true;
	return &bases->all[best];
}

/* Load the newest snapshot that is whole, if there is one. */
static int choose_base(struct recovery_job *job, const struct rescue_owner *owner,
		       const struct rescue_files *files, struct rescue *r)
{
	bool *is_tried = mem_zalloc(files->bases.count + 1);
	const struct rescue_file *base;
	int rc = -EBADMSG;

	while (rc == -EBADMSG && (base = next_base(files, job->limit, is_tried)) != NULL)
		rc = load_base(job, owner, base, r);
	free(is_tried);
	return rc == -EBADMSG ? 0 : rc;
}

/* Whether the limit is before everything in the directory. */
static int check_reach(struct recovery_job *job, const struct rescue_files *files)
{
	const struct rescue_file *oldest = NULL;

	for (size_t i = 0; i < files->bases.count; i++) {
		const struct rescue_file *base = &files->bases.all[i];

		if (is_in_limit(job->limit, base))
			return 0;
		if (oldest == NULL || base->header.sequence < oldest->header.sequence)
			oldest = base;
	}
	if (oldest == NULL || rescue_files_bound(files, 0) == 1)
		return 0;
	return recovery_complain(job, -ERANGE,
				 "the oldest state that can be recovered from %s is that of "
				 "sequence %" PRIu64 ", in base-%08" PRIu64
				 ". To go back further, use an older copy of the directory",
				 job->dir, oldest->header.sequence, oldest->number);
}

/* ---- all of it ---- */

static int run(struct recovery_job *job, const struct rescue_owner *owner,
	       const struct rescue_files *files, struct rescue *r)
{
	struct walk w = { .r = r, .job = job, .files = files, .owner = owner, .stop = UINT64_MAX };
	uint64_t stop;
	int rc = check_reach(job, files);

	if (rc == 0)
		rc = choose_base(job, owner, files, r);
	if (rc == 0)
		rc = survey(&w);
	if (rc < 0)
		return rc;
	stop = w.stop;
	w = (struct walk){ .r = r, .job = job, .files = files, .owner = owner, .stop = stop };
	return walk_all(&w);
}

int rescue_run(struct rescue *r, const struct journal_io *io, const char *dir,
	       const struct recovery_limit *limit, const struct rescue_owner *owner,
	       struct buf *ret_error)
{
	struct rescue_io readable;
	struct recovery_job job = { .r = &r->recovery,
				    .io = &readable.io,
				    .dir = dir,
				    .limit = limit,
				    .target = &owner->target,
				    .error = ret_error };
	struct rescue_files files;
	int rc;

	*r = (struct rescue){ .notes = BUF_INIT(BUF_NO_MAX),
			      .recovery = { .orphans = BUF_INIT(BUF_NO_MAX) } };
	buf_init(&job.said, ret_error->max);
	rescue_io_init(&readable, io);
	rc = rescue_files_read(&files, &readable.io, dir, &r->notes, ret_error);
	if (rc == 0 && files.bases.count == 0 && files.logs.count == 0)
		rc = -ENOENT;
	if (rc == 0)
		rc = run(&job, owner, &files, r);
	if (readable.unreadable > 0)
		buf_printf(
			&r->notes,
			"the disk failed to read parts of the files: copy them to another one\n");
	rescue_files_done(&files);
	buf_done(&job.said);
	return rc;
}

void rescue_done(struct rescue *r)
{
	free(r->gaps);
	buf_done(&r->notes);
	recovery_done(&r->recovery);
	*r = (struct rescue){ 0 };
}
