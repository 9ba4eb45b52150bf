/*
 * Any bytes as a log directory. Reading them gives a state or an error, and a state is the same
 * when it is read again.
 *
 * An input is a list of pieces: a byte for the kind, one for the size, and the bytes. If the top
 * bit of the first byte of an input is set, the checksums of manifest, headers and records are
 * corrected, so that the code after them is reached. Otherwise the files have exactly the bytes of
 * the input. The log may be that of a group, whose second segment may replace the end of the first.
 *
 * The snapshot is also checked in pieces, as if it arrived from another node.
 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/databases.h"
#include "command/replay.h"
#include "engine/state.h"
#include "journal/base_check.h"
#include "journal/log_index.h"
#include "journal/manifest.h"
#include "journal/reader.h"
#include "journal/record.h"
#include "journal/recover.h"
#include "qless.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/wire.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
#define DATABASES	2
#define SALT		UINT64_C(0x0123456789abcdef)
/* The number of a later snapshot than the existing one. */
#define NEXT_SEQUENCE 200
#define CREATED_US    INT64_C(1700000000000000)

/* ---- a directory in memory, for reading ---- */

enum { FILE_MANIFEST, FILE_KEPT, FILE_BASE, FILE_LOG_1, FILE_LOG_2, FILE_COUNT };

static const char *const file_names[FILE_COUNT] = {
	"manifest", "manifest-00000004", "base-00000002", "log-00000002", "log-00000003",
};

struct directory {
	struct journal_io io;
	struct buf files[FILE_COUNT];
	int open;
};

static int dir_open(void *arg, const char *path, int flags)
{
	const char *name = strrchr(path, '/');
	struct directory *d = arg;

	(void)flags;
	for (int i = 0; i < FILE_COUNT; i++) {
		if (strcmp(name + 1, file_names[i]) != 0 || d->files[i].len == 0)
			continue;
		d->open++;
		return i;
	}
	return -ENOENT;
}

static int dir_close(void *arg, int fd)
{
	struct directory *d = arg;

	(void)fd;
	d->open--;
	return 0;
}

static ssize_t dir_read(void *arg, int fd, void *to, size_t len, uint64_t offset)
{
	const struct directory *d = arg;
	const struct buf *file = &d->files[fd];

	if (offset >= file->len)
		return 0;
	if (len > file->len - offset)
		len = file->len - (size_t)offset;
	memcpy(to, buf_data(file) + offset, len);
	return (ssize_t)len;
}

static int dir_size(void *arg, int fd, uint64_t *ret_size)
{
	const struct directory *d = arg;

	*ret_size = d->files[fd].len;
	return 0;
}

static int dir_list(void *arg, const char *path, journal_name_fn *each, void *each_arg)
{
	const struct directory *d = arg;

	(void)path;
	for (int i = 0; i < FILE_COUNT; i++) {
		if (d->files[i].len > 0)
			each(each_arg, file_names[i]);
	}
	return 0;
}

static void dir_init(struct directory *d)
{
	*d = (struct directory){ .io = { .arg = d,
					 .open = dir_open,
					 .close = dir_close,
					 .read = dir_read,
					 .size = dir_size,
					 .list = dir_list } };
	for (int i = 0; i < FILE_COUNT; i++)
		buf_init(&d->files[i], BUF_NO_MAX);
}

static void dir_done(struct directory *d)
{
	assert(d->open == 0);
	for (int i = 0; i < FILE_COUNT; i++)
		buf_done(&d->files[i]);
}

/* ---- from the input to the files ---- */

struct input {
	const uint8_t *at;
	const uint8_t *end;
};

static uint8_t take(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static struct qless_str take_bytes(struct input *in, size_t len)
{
	struct qless_str s;

	if (len > (size_t)(in->end - in->at))
		len = (size_t)(in->end - in->at);
	s = str_make((const char *)in->at, len);
	in->at += len;
	return s;
}

static void append_head(struct buf *file, int which, uint64_t sequence, bool has_group)
{
	struct record_file_header header = {
		.kind = which == FILE_BASE ? RECORD_FILE_BASE : RECORD_FILE_LOG,
		.format = has_group ? RECORD_FORMAT_GROUP : RECORD_FORMAT_VERSION,
		.engine = STATE_VERSION,
		.number = which == FILE_LOG_2 ? 3 : 2,
		.sequence = sequence,
		.salt = SALT,
		.created_us = CREATED_US,
	};
	unsigned char head[RECORD_FILE_HEADER_BYTES];

	record_encode_header(&header, head);
	buf_append(file, head, sizeof head);
}

/* Cut the input into files, without corrections. */
static void fill_raw(struct directory *d, struct input *in)
{
	for (int i = 0; i < FILE_COUNT; i++) {
		size_t size = take(in);

		size += (size_t)take(in) << 8;
		buf_append_str(&d->files[i], take_bytes(in, i + 1 < FILE_COUNT ? size : SIZE_MAX));
	}
}

/* Append a record with the next sequence number, unless the input chooses another one. */
static void append_piece(struct buf *file, struct input *in, uint64_t *sequence, bool has_group)
{
	uint8_t kind = take(in);
	enum record_type type = (enum record_type)(kind & 0x0f);
	size_t size = take(in);
	struct qless_str bytes;

	if (kind & 0x40)
		size += (size_t)take(in) << 8;
	bytes = take_bytes(in, size);
	if (kind & 0x20)
		*sequence += take(in);
	if (kind & 0x10) /* not a record */
		buf_append_str(file, bytes);
	else
		record_append(file, SALT, type, *sequence, bytes);
	if ((kind & 0x10) == 0 && (!has_group || (type != RECORD_MARK && type != RECORD_TERM)))
		++*sequence;
}

/* Correct headers and checksums around the bytes of the input. */
static void fill_framed(struct directory *d, struct input *in, bool has_base, bool is_kept,
			bool has_group)
{
	uint64_t base_sequence = has_base ? take(in) : 0;
	uint64_t sequence;
	struct manifest m = { .has_group = has_group,
			      .base = has_base ? 2 : 0,
			      .base_sequence = base_sequence };
	uint8_t count;

	if (has_base) {
		append_head(&d->files[FILE_BASE], FILE_BASE, base_sequence, has_group);
		sequence = 1;
		for (count = take(in); count > 0 && in->at < in->end; count--)
			append_piece(&d->files[FILE_BASE], in, &sequence, has_group);
	}
	sequence = base_sequence + 1;
	for (int i = FILE_LOG_1; i <= FILE_LOG_2; i++) {
		manifest_add_log(&m, i == FILE_LOG_1 ? 2 : 3);
		if (has_group && i == FILE_LOG_2)
			sequence -= take(in) % sequence;
		append_head(&d->files[i], i, sequence, has_group);
		for (count = i == FILE_LOG_1 ? take(in) : UINT8_MAX; count > 0 && in->at < in->end;
		     count--)
			append_piece(&d->files[i], in, &sequence, has_group);
	}
	manifest_format(&m, &d->files[is_kept ? FILE_KEPT : FILE_MANIFEST]);
	manifest_done(&m);
	if (is_kept) {
		m = (struct manifest){ .has_group = has_group,
				       .base = 4,
				       .base_sequence = NEXT_SEQUENCE };
		manifest_add_log(&m, 5);
		manifest_format(&m, &d->files[FILE_MANIFEST]);
		manifest_done(&m);
	}
}

/* ---- recovery ---- */

struct subject {
	struct databases *databases;
	struct recovery recovery;
	struct log_index index;
	struct buf error;
	int rc;
};

static struct qless *engine_of(void *arg, unsigned db)
{
	struct subject *s = arg;

	/* Each database is loaded once: a snapshot makes a new engine each time. */
	if (db >= DATABASES || databases_peek(s->databases, db) != NULL)
		return NULL;
	return databases_get(s->databases, db)->engine;
}

static int apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct subject *s = arg;

	if (op->db >= DATABASES || !(op->now > -1e12 && op->now < 1e12)) {
		buf_append_str(ret_error, STR("out of range"));
		return -1;
	}
	if (!operation_is_for_engine(op) && op->kind != OPERATION_FLUSH)
		return 0;
	return databases_apply(s->databases, op, ret_error);
}

static int apply_record(void *arg, const struct record *record, uint64_t *ret_count,
			struct buf *ret_error)
{
	struct subject *s = arg;
	struct replay replay;
	int rc;

	replay_init(&replay, s->databases, apply, s);
	if (record->type == RECORD_COMMANDS)
		rc = replay_commands(&replay, record->payload, ret_count, ret_error);
	else
		rc = replay_operations(&replay, record->payload, ret_count, ret_error);
	replay_done(&replay);
	return rc;
}

static void run(struct subject *s, const struct directory *d, const struct recovery_limit *limit,
		uint64_t seed)
{
	struct qless_hooks hooks = { .hash_seed = seed };
	struct recovery_target target = {
		.arg = s, .engine = engine_of, .apply = apply_record, .index = &s->index
	};

	log_index_init(&s->index);
	s->databases = databases_new(DATABASES, &hooks);
	buf_init(&s->error, 64 * 1024);
	s->rc = recovery_run(&s->recovery, &d->io, "dir", limit, &target, &s->error);
	/* A failed start has an error. A missing log is not a failure. */
	assert(s->rc == 0 || s->rc == -ENOENT || s->error.len > 0);
}

static void subject_done(struct subject *s)
{
	databases_free(s->databases);
	recovery_done(&s->recovery);
	log_index_done(&s->index);
	buf_done(&s->error);
}

/* ---- an arriving snapshot ---- */

/* Returns whether the bytes are a whole snapshot. */
static bool check_in_pieces(struct qless_str bytes, size_t step)
{
	struct base_check c;
	bool is_good = true;

	base_check_init(&c);
	while (is_good && bytes.len > 0) {
		size_t len = step < bytes.len ? step : bytes.len;

		is_good = base_check_take(&c, str_make(bytes.ptr, len));
		bytes = str_make(bytes.ptr + len, bytes.len - len);
	}
	is_good = is_good && base_check_is_whole(&c);
	base_check_done(&c);
	return is_good;
}

static void check_base(const struct buf *file)
{
	bool is_whole = check_in_pieces(buf_str(file), SIZE_MAX);

	assert(check_in_pieces(buf_str(file), 1) == is_whole);
	assert(check_in_pieces(buf_str(file), 61) == is_whole);
}

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
	abort();
}

static void append_dump(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static void compare(struct subject *a, struct subject *b)
{
	assert(a->rc == b->rc);
	assert(str_equal(buf_str(&a->error), buf_str(&b->error)));
	for (unsigned db = 0; db < DATABASES && a->rc == 0; db++) {
		struct qless *one = databases_peek(a->databases, db);
		struct qless *two = databases_peek(b->databases, db);
		struct buf x = BUF_INIT(BUF_NO_MAX), y = BUF_INIT(BUF_NO_MAX);

		assert((one == NULL) == (two == NULL));
		if (one == NULL)
			continue;
		qless_check(one, fail_finding, NULL);
		qless_dump(one, append_dump, &x);
		qless_dump(two, append_dump, &y);
		assert(str_equal(buf_str(&x), buf_str(&y)));
		buf_done(&x);
		buf_done(&y);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct recovery_limit limit = RECOVERY_NO_LIMIT;
	struct directory d;
	struct subject a, b;
	uint8_t how = take(&in);

	if (how & 0x20)
		limit.sequence = take(&in);
	limit.is_committed = how & 0x04;
	dir_init(&d);
	if (how & 0x80)
		fill_framed(&d, &in, how & 0x40, how & 0x10, how & 0x08);
	else
		fill_raw(&d, &in);
	run(&a, &d, &limit, 1);
	run(&b, &d, &limit, 0x9e3779b97f4a7c15);
	compare(&a, &b);
	check_base(&d.files[FILE_BASE]);
	subject_done(&a);
	subject_done(&b);
	dir_done(&d);
	return 0;
}
