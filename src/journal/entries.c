/*
 * The entries of a group: appending them, replacing the last ones, and reading them back.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "journal/group_int.h"
#include "journal/journal_int.h"
#include "journal/reader.h"
#include "util/mem.h"
#include "util/minmax.h"

/* ---- appending ---- */

uint64_t journal_append_entry(struct journal *j, uint64_t term, enum record_type type,
			      struct qless_str payload)
{
	struct buf *pending = &j->backlog.pending;
	struct group_log *g = j->group;

	assert(g != NULL && record_is_entry(type) && term > 0);
	if (pending->len == 0)
		append_begin_pending(j);
	if (g->term != term)
		record_append_number(pending, j->salt, RECORD_TERM, j->log.last + 1, term);
	g->term = term;
	record_append(pending, j->salt, type, ++j->log.last, payload);
	log_index_add(&g->index, term, type, payload);
	entry_cache_add(&g->cache, j->log.last, type, payload);
	return j->log.last;
}

/* ---- replacing ---- */

/* The log ends before `from` now, and all of it is on the disk. */
static void go_back(struct journal *j, uint64_t from)
{
	j->log.last = from - 1;
	j->positions = (struct positions){ .written = from - 1, .synced = from - 1 };
	j->mark.durable = min_u64(j->mark.durable, from - 1);
	unsynced_init(&j->unsynced, from - 1);
	entry_cache_cut(&j->group->cache, from);
	journal_publish(j);
}

int journal_replace_tail(struct journal *j, uint64_t from)
{
	int rc;

	assert(from > j->group->commit && from <= j->log.last);
	task_wait(j);
	if (journal_is_healthy(j))
		write_pending(j);
	if (!journal_is_healthy(j))
		return -EIO;
	rc = rotate_replace(j, from);
	if (rc == 0)
		go_back(j, from);
	return rc;
}

/* ---- reading ---- */

void journal_entries_done(struct journal_entries *entries)
{
	free(entries->all);
	buf_done(&entries->bytes);
	*entries = (struct journal_entries){ 0 };
}

/* Add an entry to a list. Its payload is known by its length until the list is complete. */
static void add_entry(const struct journal *j, struct journal_entries *to, enum record_type type,
		      struct qless_str payload)
{
	uint64_t term = terms_at(&j->group->index.terms, to->first + to->count);

	to->all = mem_grow(to->all, &to->cap, to->count + 1, sizeof *to->all);
	to->all[to->count++] = (struct journal_entry){ { term, type }, { NULL, payload.len } };
	buf_append_str(&to->bytes, payload);
}

static void set_payloads(struct journal_entries *to)
{
	const char *at = buf_data(&to->bytes);

	for (size_t i = 0; i < to->count; i++) {
		to->all[i].payload.ptr = at;
		at += to->all[i].payload.len;
	}
}

static bool is_full(const struct journal_entries *to, uint64_t last, size_t max_bytes)
{
	return to->first + to->count > last || (to->count > 0 && to->bytes.len >= max_bytes);
}

/* Read entries from one segment. The list is not empty after it, unless that fails. */
static int read_segment(struct journal *j, uint64_t last, size_t max_bytes,
			struct journal_entries *to)
{
	const struct log_segment *segment;
	const struct log_place *place =
		log_index_find(&j->group->index, to->first + to->count, &segment);
	struct record_file_header header = { .kind = RECORD_FILE_LOG,
					     .format = RECORD_FORMAT_GROUP,
					     .number = segment->number,
					     .salt = segment->salt };
	struct buf ignored = BUF_INIT(BUF_NO_MAX);
	struct reader reader;
	struct record record;
	size_t count = to->count;
	int rc = reader_open_known(&reader, j->io, j->options.dir, segment->number, &header,
				   &ignored);

	buf_done(&ignored);
	if (rc < 0)
		return rc;
	reader.offset = min_u64(place->offset, reader.size);
	last = min_u64(last, segment->end - 1);
	while (!is_full(to, last, max_bytes) && (rc = reader_next(&reader, &record)) == 1) {
		if (record_is_entry(record.type) && record.sequence == to->first + to->count)
			add_entry(j, to, record.type, record.payload);
	}
	reader_close(&reader);
	/* The entry was written, so the file has it. */
	if (rc == 0 && to->count == count)
		rc = -EBADMSG;
	return rc < 0 ? rc : 0;
}

/* Read entries that are no longer in memory. */
static int read_files(struct journal *j, uint64_t last, size_t max_bytes,
		      struct journal_entries *to)
{
	const struct entry_cache *cache = &j->group->cache;
	uint64_t end = cache->count > 0 ? cache->first : j->log.last + 1;
	int rc = 0;

	last = min_u64(last, end - 1);
	while (rc == 0 && !is_full(to, last, max_bytes))
		rc = read_segment(j, last, max_bytes, to);
	return rc;
}

int journal_read_entries(struct journal *j, uint64_t first, uint64_t last, size_t max_bytes,
			 struct journal_entries *to)
{
	const struct cached_entry *cached;
	int rc = 0;

	to->first = first;
	to->count = 0;
	if (to->bytes.max == 0)
		buf_init(&to->bytes, BUF_NO_MAX);
	buf_clear(&to->bytes);
	last = min_u64(last, j->log.last);
	if (first < journal_first_index(j))
		return -ENOENT;
	if (first > last)
		return 0;
	if (entry_cache_get(&j->group->cache, first) == NULL)
		rc = read_files(j, last, max_bytes, to);
	while (rc == 0 && !is_full(to, last, max_bytes) &&
	       (cached = entry_cache_get(&j->group->cache, first + to->count)) != NULL)
		add_entry(j, to, cached->type, str_make(cached->bytes, cached->len));
	set_payloads(to);
	return rc < 0 ? rc : (int)min_u64(to->count, INT32_MAX);
}

int journal_read_payload(struct journal *j, uint64_t index, size_t offset, size_t max_bytes,
			 struct buf *out, size_t *ret_size)
{
	const struct cached_entry *cached = entry_cache_get(&j->group->cache, index);
	struct journal_entries one = { 0 };
	struct qless_str payload = STR("");
	int rc = 1;

	if (cached != NULL)
		payload = str_make(cached->bytes, cached->len);
	else
		rc = journal_read_entries(j, index, index, 0, &one);
	if (rc == 1 && cached == NULL)
		payload = one.all[0].payload;
	*ret_size = payload.len;
	offset = (size_t)min_u64(offset, payload.len);
	if (rc == 1)
		buf_append(out, payload.ptr + offset,
			   (size_t)min_u64(max_bytes, payload.len - offset));
	journal_entries_done(&one);
	return rc == 1 ? 0 : rc == 0 ? -ENOENT : rc;
}
