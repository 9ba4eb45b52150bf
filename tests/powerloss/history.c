#include "history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dirs.h"
#include "journal/manifest.h"
#include "journal/record.h"
#include "tokens.h"
#include "util/mem.h"

struct entry {
	bool is_there;
	bool is_doubtful; /* from a file of the start, which may not belong to the log */
	struct buf payload;
};

struct snapshot {
	uint64_t number, sequence;
	struct buf content;
};

/* The records with a token. */
struct span {
	uint64_t first, last;
	bool is_old; /* the state at the start had the token, so no record here made it */
};

struct history {
	const char *scratch;
	struct entry *entries; /* by sequence number, from `begin` + 1 on */
	size_t entry_count, entry_cap;
	struct snapshot *snapshots;
	size_t snapshot_count, snapshot_cap;
	struct span *tokens;
	uint64_t begin;
	struct replica replica;
	uint64_t applied; /* the replica has the records up to this one */
};

/* ---- reading ---- */

/* Text that mentions tokens: a record, or a snapshot. A snapshot has what the records up to its
 * sequence number made. */
struct mention {
	struct history *h;
	uint64_t sequence;
	bool is_snapshot;
};

static void note_token(void *arg, size_t number)
{
	const struct mention *mention = arg;
	struct span *span = &mention->h->tokens[number];

	if (span->is_old)
		return;
	if (span->first == 0 || mention->sequence < span->first)
		span->first = mention->sequence;
	if (span->last == 0 || (mention->sequence > span->last && !mention->is_snapshot))
		span->last = mention->sequence;
}

/* Returns the entry of a sequence number after the start. */
static struct entry *reach_entry(struct history *h, uint64_t sequence)
{
	while (h->begin + h->entry_count < sequence) {
		h->entries =
			mem_grow(h->entries, &h->entry_cap, h->entry_count + 1, sizeof *h->entries);
		h->entries[h->entry_count++] = (struct entry){ .payload = BUF_INIT(BUF_NO_MAX) };
	}
	return &h->entries[sequence - h->begin - 1];
}

static bool add_record(struct history *h, const struct record *record, const struct medium_file *f,
		       struct buf *ret_error)
{
	struct mention mention = { .h = h, .sequence = record->sequence };
	struct entry *entry;

	if (record->type == RECORD_MARK || record->sequence <= h->begin)
		return true;
	entry = reach_entry(h, record->sequence);
	if (entry->is_there && str_equal(buf_str(&entry->payload), record->payload))
		return true;
	if (entry->is_there && !entry->is_doubtful) {
		buf_printf(ret_error, "%s has another record %" PRIu64 " than an earlier file",
			   f->name, record->sequence);
		return false;
	}
	entry->is_there = true;
	entry->is_doubtful = f->is_initial;
	buf_clear(&entry->payload);
	buf_append_str(&entry->payload, record->payload);
	tokens_find(record->payload, note_token, &mention);
	return true;
}

static bool read_segment(struct history *h, const struct buf *content, const struct medium_file *f,
			 struct buf *ret_error)
{
	const unsigned char *bytes = (const unsigned char *)buf_data(content);
	struct record_file_header header;
	size_t at = RECORD_FILE_HEADER_BYTES, size;
	struct record record;

	if (record_decode_header(bytes, content->len, &header) != RECORD_OK)
		return true; /* it was not finished */
	while (record_decode(bytes + at, content->len - at, header.salt, &record, &size) ==
	       RECORD_OK) {
		if (!add_record(h, &record, f, ret_error))
			return false;
		at += size;
	}
	return true;
}

/* Whether the bytes after the header of a snapshot are records up to the last one. */
static bool is_complete(const unsigned char *bytes, size_t len, uint64_t salt)
{
	struct record record = { .type = RECORD_MARK };
	size_t size;

	while (record_decode(bytes, len, salt, &record, &size) == RECORD_OK) {
		bytes += size;
		len -= size;
	}
	return record.type == RECORD_BASE_END;
}

static void read_snapshot(struct history *h, const struct buf *content)
{
	const unsigned char *bytes = (const unsigned char *)buf_data(content);
	struct record_file_header header;
	struct snapshot *s;

	if (record_decode_header(bytes, content->len, &header) != RECORD_OK ||
	    !is_complete(bytes + RECORD_FILE_HEADER_BYTES, content->len - RECORD_FILE_HEADER_BYTES,
			 header.salt))
		return;
	h->snapshots = mem_grow(h->snapshots, &h->snapshot_cap, h->snapshot_count + 1,
				sizeof *h->snapshots);
	s = &h->snapshots[h->snapshot_count++];
	*s = (struct snapshot){ header.number, header.sequence, BUF_INIT(BUF_NO_MAX) };
	buf_append_str(&s->content, buf_str(content));
}

/* Whether the daemon dropped records. */
static bool has_gap(const struct history *h)
{
	for (size_t i = 0; i < h->entry_count; i++) {
		if (!h->entries[i].is_there)
			return true;
	}
	return false;
}

static bool read_files(struct history *h, const struct medium *m, struct buf *ret_error)
{
	struct buf content = BUF_INIT(BUF_NO_MAX);
	bool ok = true;

	for (size_t i = 0; i < medium_file_count(m) && ok; i++) {
		const struct medium_file *f = medium_file(m, i);

		medium_read_file(f, &content);
		if (strncmp(f->name, "log-", 4) == 0)
			ok = read_segment(h, &content, f, ret_error);
		else if (strncmp(f->name, "base-", 5) == 0)
			read_snapshot(h, &content);
	}
	buf_done(&content);
	/* Only snapshots tell of dropped records. */
	for (size_t i = 0; i < h->snapshot_count && has_gap(h); i++) {
		struct mention mention = { .h = h,
					   .sequence = h->snapshots[i].sequence,
					   .is_snapshot = true };

		tokens_find(buf_str(&h->snapshots[i].content), note_token, &mention);
	}
	return ok;
}

static void note_old_token(void *arg, size_t number)
{
	struct history *h = arg;

	h->tokens[number].is_old = true;
}

static bool load(struct history *h, const char *dir, const char *what, struct buf *ret_error)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct recovery_target target;
	struct recovery r;
	int rc;

	replica_done(&h->replica);
	replica_init(&h->replica);
	target = replica_target(&h->replica);
	rc = recovery_run(&r, &journal_io_system, dir, &all, &target, ret_error);
	h->applied = r.last_sequence;
	recovery_done(&r);
	if (rc == -ENOENT && ret_error->len == 0)
		rc = 0;
	if (rc < 0)
		buf_printf(ret_error, " (%s)", what);
	return rc == 0;
}

struct history *history_new(const struct medium *m, const char *initial, const char *scratch,
			    struct buf *ret_error)
{
	struct history *h = mem_zalloc(sizeof *h);

	h->scratch = scratch;
	h->tokens = mem_zalloc(TOKENS_MAX * sizeof *h->tokens);
	replica_init(&h->replica);
	if (initial != NULL && !load(h, initial, "the directory at the start", ret_error)) {
		history_free(h);
		return NULL;
	}
	h->begin = h->applied;
	replica_find_tokens(&h->replica, note_old_token, h);
	if (!read_files(h, m, ret_error)) {
		history_free(h);
		return NULL;
	}
	return h;
}

void history_free(struct history *h)
{
	for (size_t i = 0; i < h->entry_count; i++)
		buf_done(&h->entries[i].payload);
	for (size_t i = 0; i < h->snapshot_count; i++)
		buf_done(&h->snapshots[i].content);
	free(h->entries);
	free(h->snapshots);
	free(h->tokens);
	replica_done(&h->replica);
	free(h);
}

uint64_t history_first_with(const struct history *h, size_t token)
{
	return h->tokens[token].first;
}

uint64_t history_last_with(const struct history *h, size_t token)
{
	return h->tokens[token].last;
}

bool history_is_old(const struct history *h, size_t token)
{
	return h->tokens[token].is_old;
}

uint64_t history_begin(const struct history *h)
{
	return h->begin;
}

uint64_t history_end(const struct history *h)
{
	return h->begin + h->entry_count;
}

/* ---- the replica ---- */

/* Write a log that consists of the snapshot alone. */
static int write_snapshot(const struct history *h, const struct snapshot *s)
{
	struct record_file_header header = {
		.kind = RECORD_FILE_LOG,
		.format = RECORD_FORMAT_VERSION,
		.number = s->number + 1,
		.sequence = s->sequence + 1,
		.salt = 1,
	};
	struct manifest m = { .base = s->number, .base_sequence = s->sequence };
	struct record_file_header of_snapshot;
	unsigned char bytes[RECORD_FILE_HEADER_BYTES];
	char path[JOURNAL_PATH_MAX];
	int rc;

	record_decode_header((const unsigned char *)buf_data(&s->content), s->content.len,
			     &of_snapshot);
	header.engine = of_snapshot.engine;
	manifest_add_log(&m, header.number);
	record_encode_header(&header, bytes);
	journal_base_path(path, h->scratch, s->number);
	rc = dirs_write_file(path, buf_str(&s->content));
	journal_log_path(path, h->scratch, header.number);
	if (rc == 0)
		rc = dirs_write_file(path, str_make((const char *)bytes, sizeof bytes));
	journal_path(path, h->scratch, MANIFEST_NAME);
	if (rc == 0)
		rc = manifest_write_file(&m, &journal_io_system, path);
	manifest_done(&m);
	return rc;
}

/* The record after the last one that was applied was dropped: continue with the first snapshot that
 * has its effect. */
static bool pass_gap(struct history *h, uint64_t sequence, struct buf *ret_error)
{
	const struct snapshot *next = NULL;
	uint64_t missing = h->applied + 1;
	bool ok;

	for (size_t i = 0; i < h->snapshot_count; i++) {
		const struct snapshot *s = &h->snapshots[i];

		if (s->sequence >= missing && (next == NULL || s->sequence < next->sequence))
			next = s;
	}
	if (next == NULL || next->sequence > sequence) {
		buf_printf(ret_error, "the daemon never wrote record %" PRIu64 " to the log",
			   missing);
		return false;
	}
	ok = dirs_empty(h->scratch) == 0 && write_snapshot(h, next) == 0 &&
	     load(h, h->scratch, "a snapshot in place of dropped records", ret_error);
	dirs_empty(h->scratch);
	return ok;
}

static bool apply_next(struct history *h, struct buf *ret_error)
{
	const struct entry *entry = &h->entries[h->applied - h->begin];

	if (replica_apply(&h->replica, buf_str(&entry->payload), ret_error) < 0)
		return false;
	h->applied++;
	return true;
}

bool history_digest(struct history *h, uint64_t sequence, uint64_t *ret_digest,
		    struct buf *ret_error)
{
	while (h->applied < sequence) {
		bool is_there =
			h->applied < history_end(h) && h->entries[h->applied - h->begin].is_there;

		if (!(is_there ? apply_next(h, ret_error) : pass_gap(h, sequence, ret_error)))
			return false;
	}
	if (h->applied > sequence) {
		buf_printf(ret_error, "the log cannot end with sequence %" PRIu64, sequence);
		return false;
	}
	*ret_digest = replica_digest(&h->replica);
	return true;
}
