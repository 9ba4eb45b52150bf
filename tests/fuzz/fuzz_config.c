/*
 * Any text as a configuration file. It is refused with a reason and leaves the configuration
 * unchanged, or it can be written and read again with the same result. Its words also go to CONFIG
 * SET and CONFIG GET.
 *
 * Files that the text includes do not exist, because their directory does not.
 */
#include <assert.h>
#include <stdint.h>

#include "config/config.h"
#include "util/buf.h"
#include "util/glob.h"
#include "util/mem.h"

#define PATH	  "/nonexistent/fuzz.conf"
#define MAX_WORDS 16

static void write_all(const struct config *cfg, struct buf *out)
{
	for (int i = 0; i < CONFIG_OPT_COUNT; i++)
		config_format_lines(cfg, (enum config_opt)i, out);
}

/* An absolute path could name something that blocks, such as a terminal. */
static bool includes_from_root(struct qless_str text)
{
	return glob_match(STR("*include*/*"), text, true);
}

/* Messages go to a terminal and into a log: one line without control characters. */
static void check_message(const struct buf *error)
{
	assert(error->len > 0);
	for (size_t i = 0; i < error->len; i++)
		assert((unsigned char)buf_data(error)[i] >= ' ');
}

static void check_file(struct config *cfg, struct qless_str text)
{
	struct buf before = BUF_INIT(BUF_NO_MAX), after = BUF_INIT(BUF_NO_MAX);
	struct buf error = BUF_INIT(64 * 1024);
	struct config again;

	write_all(cfg, &before);
	if (config_parse_text(cfg, PATH, text, &error) < 0) {
		check_message(&error);
		write_all(cfg, &after);
		assert(str_equal(buf_str(&before), buf_str(&after)));
	} else {
		assert(error.len == 0);
		buf_clear(&before);
		write_all(cfg, &before);
		config_init(&again);
		assert(config_parse_text(&again, PATH, buf_str(&before), &error) == 0);
		write_all(&again, &after);
		assert(str_equal(buf_str(&before), buf_str(&after)));
		config_done(&again);
		(void)config_check(cfg, &error);
	}
	buf_done(&before);
	buf_done(&after);
	buf_done(&error);
}

static void visit(const char *name, struct qless_str value, void *arg)
{
	size_t *bytes = arg;

	*bytes += str_from(name).len + value.len;
}

/* The words of the first lines, as arguments of CONFIG SET and CONFIG GET. */
static void check_set(struct config *cfg, struct qless_str text)
{
	struct buf before = BUF_INIT(BUF_NO_MAX), after = BUF_INIT(BUF_NO_MAX);
	struct buf error = BUF_INIT(64 * 1024);
	struct qless_str words[MAX_WORDS];
	size_t count = 0, bytes = 0;

	while (text.len > 0 && count < MAX_WORDS) {
		size_t len = 0;

		while (len < text.len && text.ptr[len] != '\n' && text.ptr[len] != ' ')
			len++;
		words[count++] = str_make(text.ptr, len);
		len += len < text.len;
		text.ptr += len;
		text.len -= len;
	}
	config_get(cfg, words, count, visit, &bytes);
	write_all(cfg, &before);
	if (config_set_many(cfg, words, count - count % 2, NULL, NULL, &error) < 0) {
		assert(error.len > 0);
		write_all(cfg, &after);
		assert(str_equal(buf_str(&before), buf_str(&after)));
	}
	buf_done(&before);
	buf_done(&after);
	buf_done(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A block of just this size, so that a sanitizer sees a read of the byte after it. */
	char *copy = mem_alloc(size + (size == 0));
	struct qless_str text = str_make(copy, size);
	struct config cfg;

	if (size != 0)
		memcpy(copy, data, size);
	config_init(&cfg);
	check_set(&cfg, text);
	if (!includes_from_root(text))
		check_file(&cfg, text);
	config_done(&cfg);
	free(copy);
	return 0;
}
