/*
 * Any text as a manifest. It is refused with a reason, or it can be written and read again with the
 * same result. Each of its lines is also tried as the name of a file.
 *
 * The text is read unchanged, and again followed by its checksum.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdint.h>
#include <xxhash.h>

#include "journal/kept.h"
#include "journal/manifest.h"
#include "util/buf.h"
#include "util/mem.h"

static bool is_same(const struct manifest *a, const struct manifest *b)
{
	return a->has_group == b->has_group && memcmp(a->group, b->group, sizeof a->group) == 0 &&
	       a->base == b->base && a->base_sequence == b->base_sequence &&
	       a->log_count == b->log_count &&
	       memcmp(a->logs, b->logs, a->log_count * sizeof *a->logs) == 0;
}

static void check_text(struct qless_str text)
{
	struct buf error = BUF_INIT(4096), written = BUF_INIT(BUF_NO_MAX);
	struct manifest m, again;

	if (manifest_parse(&m, text, &error) < 0) {
		assert(error.len > 0);
		assert(m.logs == NULL && m.log_count == 0 && m.base == 0 && !m.has_group);
	} else {
		assert(error.len == 0 && m.log_count > 0);
		for (size_t i = 0; i < m.log_count; i++) {
			assert(m.logs[i] > (i > 0 ? m.logs[i - 1] : 0));
			assert(manifest_has(&m, false, m.logs[i]));
			assert(manifest_highest(&m) >= m.logs[i]);
		}
		assert(m.base == 0 || manifest_has(&m, true, m.base));
		manifest_format(&m, &written);
		assert(manifest_parse(&again, buf_str(&written), &error) == 0);
		assert(is_same(&m, &again));
		manifest_done(&again);
	}
	manifest_done(&m);
	buf_done(&error);
	buf_done(&written);
}

/* A valid name is the one made from its number, unless it has leading zeros. */
static void check_name(const char *name)
{
	char path[JOURNAL_PATH_MAX];
	uint64_t number;
	bool is_base;

	if (!journal_parse_name(name, &is_base, &number))
		return;
	if (is_base)
		journal_base_path(path, "d", number);
	else
		journal_log_path(path, "d", number);
	assert(strlen(path + 2) <= strlen(name));
	if (strlen(path + 2) == strlen(name))
		assert(strcmp(path + 2, name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A block of just this size, so that a sanitizer sees a read of the byte after it. */
	char *copy = mem_alloc(size + (size == 0));
	struct qless_str text = str_make(copy, size);
	struct buf summed = BUF_INIT(BUF_NO_MAX);
	char *names, *name, *rest;

	if (size != 0)
		memcpy(copy, data, size);
	check_text(text);
	buf_append_str(&summed, text);
	buf_printf(&summed, "checksum %016" PRIx64 "\n", (uint64_t)XXH3_64bits(copy, size));
	check_text(buf_str(&summed));

	names = mem_dup(copy, size);
	for (name = strtok_r(names, "\n", &rest); name != NULL; name = strtok_r(NULL, "\n", &rest))
		check_name(name);
	free(names);
	free(copy);
	buf_done(&summed);
	return 0;
}
