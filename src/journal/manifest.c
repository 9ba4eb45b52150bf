/*
 * Manifests as text, in files, and the names of the files of a log.
 */
#include "journal/manifest.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "util/mem.h"
#include "util/num.h"

#define FIRST_LINE "qlessd-manifest 1"
/* Bytes that a slash, the name of a file and a NUL never exceed. */
#define NAME_ROOM 64
/* Largest number of a file that counts when a new file gets its number. No log has that many files,
 * and numbers can still increase from there. */
#define NUMBER_MAX (UINT64_MAX / 2)

void manifest_done(struct manifest *m)
{
	free(m->logs);
	*m = (struct manifest){ 0 };
}

void manifest_copy(struct manifest *to, const struct manifest *from)
{
	*to = (struct manifest){ .has_group = from->has_group,
				 .base = from->base,
				 .base_sequence = from->base_sequence };
	memcpy(to->group, from->group, sizeof to->group);
	for (size_t i = 0; i < from->log_count; i++)
		manifest_add_log(to, from->logs[i]);
}

void manifest_add_log(struct manifest *m, uint64_t number)
{
	assert(number > 0 && (m->log_count == 0 || number > m->logs[m->log_count - 1]));
	m->logs = mem_grow(m->logs, &m->log_cap, m->log_count + 1, sizeof *m->logs);
	m->logs[m->log_count++] = number;
}

uint64_t manifest_highest(const struct manifest *m)
{
	uint64_t last = m->log_count > 0 ? m->logs[m->log_count - 1] : 0;

	return m->base > last ? m->base : last;
}

bool manifest_has(const struct manifest *m, bool is_base, uint64_t number)
{
	if (is_base)
		return m->base == number;
	for (size_t i = 0; i < m->log_count; i++) {
		if (m->logs[i] == number)
			return true;
	}
	return false;
}

static void append_group(const struct manifest *m, struct buf *out)
{
	buf_printf(out, "group ");
	for (size_t i = 0; i < sizeof m->group; i++)
		buf_printf(out, "%02x", m->group[i]);
	buf_append_char(out, '\n');
}

void manifest_format(const struct manifest *m, struct buf *out)
{
	size_t start = out->len;

	buf_printf(out, FIRST_LINE "\n");
	if (m->has_group)
		append_group(m, out);
	if (m->base != 0)
		buf_printf(out, "base base-%08" PRIu64 " %" PRIu64 "\n", m->base, m->base_sequence);
	for (size_t i = 0; i < m->log_count; i++)
		buf_printf(out, "log log-%08" PRIu64 "\n", m->logs[i]);
	buf_printf(out, "checksum %016" PRIx64 "\n",
		   (uint64_t)XXH3_64bits(buf_data(out) + start, out->len - start));
}

static bool take_line(struct qless_str *text, struct qless_str *ret_line)
{
	const char *end = text->len > 0 ? memchr(text->ptr, '\n', text->len) : NULL;

	if (end == NULL)
		return false;
	*ret_line = str_make(text->ptr, (size_t)(end - text->ptr));
	text->len -= ret_line->len + 1;
	text->ptr = end + 1;
	return true;
}

static bool skip_word(struct qless_str *line, struct qless_str word)
{
	if (!str_starts_with(*line, word))
		return false;
	line->ptr += word.len;
	line->len -= word.len;
	return true;
}

/* Take digits up to a blank or the end. Leading zeros are allowed. */
static bool take_number(struct qless_str *line, uint64_t *ret_number)
{
	size_t zeros = 0, digits;

	while (zeros + 1 < line->len && line->ptr[zeros] == '0')
		zeros++;
	for (digits = zeros; digits < line->len && line->ptr[digits] != ' '; digits++)
		;
	if (!num_parse_u64(str_make(line->ptr + zeros, digits - zeros), 0, UINT64_MAX, ret_number))
		return false;
	line->ptr += digits;
	line->len -= digits;
	return true;
}

/* Take 32 hexadecimal digits, up to the end of the line. */
static bool take_group(struct manifest *m, struct qless_str line)
{
	static const char digits[] = "0123456789abcdef";

	if (m->has_group || m->base != 0 || m->log_count > 0 || line.len != 2 * sizeof m->group)
		return false;
	for (size_t i = 0; i < line.len; i++) {
		const char *digit = memchr(digits, line.ptr[i], sizeof digits - 1);

		if (digit == NULL)
			return false;
		m->group[i / 2] = (unsigned char)(m->group[i / 2] << 4 | (digit - digits));
	}
	m->has_group = true;
	return true;
}

static bool parse_file_line(struct manifest *m, struct qless_str line)
{
	uint64_t number;

	if (skip_word(&line, STR("group ")))
		return take_group(m, line);
	if (skip_word(&line, STR("base base-")))
		return m->base == 0 && m->log_count == 0 && take_number(&line, &m->base) &&
		       m->base != 0 && skip_word(&line, STR(" ")) &&
		       take_number(&line, &m->base_sequence) && line.len == 0;
	if (!skip_word(&line, STR("log log-")) || !take_number(&line, &number) || line.len != 0 ||
	    number == 0 || (m->log_count > 0 && number <= m->logs[m->log_count - 1]))
		return false;
	manifest_add_log(m, number);
	return true;
}

static bool parse(struct manifest *m, struct qless_str text)
{
	const char *start = text.ptr;
	char expected[32];
	struct qless_str line;
	int len;

	if (!take_line(&text, &line) || !str_equal(line, STR(FIRST_LINE)))
		return false;
	while (take_line(&text, &line)) {
		if (!str_starts_with(line, STR("checksum "))) {
			if (!parse_file_line(m, line))
				return false;
			continue;
		}
		len = snprintf(expected, sizeof expected, "checksum %016" PRIx64,
			       (uint64_t)XXH3_64bits(start, (size_t)(line.ptr - start)));
		return text.len == 0 && m->log_count > 0 &&
		       str_equal(line, str_make(expected, (size_t)len));
	}
	return false;
}

int manifest_parse(struct manifest *m, struct qless_str text, struct buf *ret_error)
{
	*m = (struct manifest){ 0 };
	if (parse(m, text))
		return 0;
	manifest_done(m);
	buf_printf(ret_error, "it is damaged, or its version is unknown to this program");
	return -EBADMSG;
}

int manifest_read(struct manifest *m, const struct journal_io *io, const char *dir,
		  struct buf *ret_error)
{
	char path[JOURNAL_PATH_MAX];

	journal_path(path, dir, MANIFEST_NAME);
	return manifest_read_file(m, io, path, ret_error);
}

int manifest_read_file(struct manifest *m, const struct journal_io *io, const char *path,
		       struct buf *ret_error)
{
	struct buf text = BUF_INIT(MANIFEST_BYTES_MAX + 1);
	uint64_t size = 0;
	ssize_t got;
	int fd, rc;

	*m = (struct manifest){ 0 };
	fd = io->open(io->arg, path, O_RDONLY);
	if (fd == -ENOENT)
		return fd;
	rc = fd < 0 ? fd : io->size(io->arg, fd, &size);
	if (rc == 0 && size > MANIFEST_BYTES_MAX)
		rc = -EFBIG;
	if (rc < 0) {
		buf_printf(ret_error, "cannot read %s: %s", path, strerror(-rc));
		goto done;
	}
	got = journal_read_all(io, fd, buf_reserve(&text, (size_t)size + 1), (size_t)size, 0);
	if (got < 0) {
		rc = (int)got;
		buf_printf(ret_error, "cannot read %s: %s", path, strerror(-rc));
		goto done;
	}
	buf_commit(&text, (size_t)got);
	buf_printf(ret_error, "cannot use %s: ", path);
	rc = manifest_parse(m, buf_str(&text), ret_error);
	if (rc == 0)
		buf_clear(ret_error);

done:
	if (fd >= 0)
		io->close(io->arg, fd);
	buf_done(&text);
	return rc;
}

/* A crash may have left a file of that name, which no log needs. */
static int create_anew(const struct journal_io *io, const char *path)
{
	int fd = journal_create_file(io, path);

	if (fd != -EEXIST)
		return fd;
	io->remove(io->arg, path);
	return journal_create_file(io, path);
}

int manifest_write_file(const struct manifest *m, const struct journal_io *io, const char *path)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	size_t written;
	int fd, rc;

	manifest_format(m, &text);
	fd = create_anew(io, path);
	rc = fd < 0 ? fd : journal_write_all(io, fd, buf_data(&text), text.len, 0, &written);
	if (rc == 0)
		rc = io->sync(io->arg, fd);
	if (fd >= 0)
		io->close(io->arg, fd);
	buf_done(&text);
	return rc;
}

int manifest_replace(const struct manifest *m, const struct journal_io *io, const char *dir,
		     bool *ret_unclear)
{
	char path[JOURNAL_PATH_MAX], fresh[JOURNAL_PATH_MAX];
	int rc;

	journal_path(path, dir, MANIFEST_NAME);
	journal_path(fresh, dir, MANIFEST_NEW);
	rc = manifest_write_file(m, io, fresh);
	/* Sync the names of its files first: the manifest must not exist without them. */
	if (rc == 0)
		rc = io->sync_dir(io->arg, dir);
	*ret_unclear = rc == 0;
	if (rc == 0)
		rc = io->rename(io->arg, fresh, path);
	if (rc == 0)
		rc = io->sync_dir(io->arg, dir);
	return rc;
}

/* ---- names ---- */

int journal_check_dir(const char *dir)
{
	return strlen(dir) + NAME_ROOM <= JOURNAL_PATH_MAX ? 0 : -ENAMETOOLONG;
}

void journal_path(char to[JOURNAL_PATH_MAX], const char *dir, const char *name)
{
	snprintf(to, JOURNAL_PATH_MAX, "%s/%s", dir, name);
}

void journal_log_path(char to[JOURNAL_PATH_MAX], const char *dir, uint64_t number)
{
	snprintf(to, JOURNAL_PATH_MAX, "%s/log-%08" PRIu64, dir, number);
}

void journal_base_path(char to[JOURNAL_PATH_MAX], const char *dir, uint64_t number)
{
	snprintf(to, JOURNAL_PATH_MAX, "%s/base-%08" PRIu64, dir, number);
}

bool journal_parse_number(const char *name, const char *prefix, uint64_t *ret_number)
{
	struct qless_str text = str_from(name);

	return skip_word(&text, str_from(prefix)) && text.len >= 8 &&
	       take_number(&text, ret_number) && text.len == 0;
}

bool journal_parse_name(const char *name, bool *ret_is_base, uint64_t *ret_number)
{
	*ret_is_base = journal_parse_number(name, "base-", ret_number);
	return *ret_is_base || journal_parse_number(name, "log-", ret_number);
}

static void note_number(void *arg, const char *name)
{
	static const char *const prefixes[] = { "base-", "log-", MANIFEST_NAME "-" };
	uint64_t *highest = arg, number;

	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		struct qless_str text = str_from(name);

		if (!skip_word(&text, str_from(prefixes[i])))
			continue;
		text.len = strspn(text.ptr, "0123456789");
		if (take_number(&text, &number) && number <= NUMBER_MAX && number > *highest)
			*highest = number;
	}
}

int journal_find_highest(const struct journal_io *io, const char *dir, uint64_t *ret_number)
{
	*ret_number = 0;
	return io->list(io->arg, dir, note_number, ret_number);
}
