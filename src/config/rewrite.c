/*
 * CONFIG REWRITE: writing the current configuration to its file.
 *
 * Each directive of the file is compared with its current value, and only lines that differ are
 * changed. So comments, order and the operator's spelling of values stay. Before the file is
 * replaced, the new text is parsed as at a start, and must give the current configuration.
 */
#include <errno.h>

#include "config/config_int.h"
#include "sys/files.h"

/* A new file may contain passwords. */
#define NEW_FILE_MODE 0600

/* The line numbers of directives in the old text, from 0. */
struct places {
	bool differs[CONFIG_OPT_COUNT];
	bool has_line[CONFIG_OPT_COUNT];
	size_t last_line[CONFIG_OPT_COUNT];
	bool has_include;
	size_t last_include;
	bool has_marker;
};

/* The subject of a line: a directive, `include`, or neither. */
struct subject {
	const struct config_option *option;
	bool is_include;
};

static struct subject subject_of(struct qless_str line)
{
	struct subject subject = { .option = NULL };
	struct config_list words = { .count = 0 };

	if (config_line_is_void(line))
		return subject;
	if (config_split(line, &words) == NULL) {
		struct qless_str name = str_from(words.words[0]);

		subject.option = config_option_find(name);
		subject.is_include = str_equal_nocase(name, STR("include"));
	}
	config_list_done(&words);
	return subject;
}

static void find_places(struct qless_str text, struct places *places)
{
	struct qless_str line;

	for (size_t number = 0; config_next_line(&text, &line); number++) {
		struct subject subject = subject_of(line);

		if (subject.is_include) {
			places->has_include = true;
			places->last_include = number;
		} else if (subject.option != NULL) {
			enum config_opt opt = config_opt_of(subject.option);

			places->has_line[opt] = true;
			places->last_line[opt] = number;
		}
		if (str_equal(line, STR(CONFIG_REWRITE_MARKER)))
			places->has_marker = true;
	}
}

/* A file that is included after the line would override it. */
static bool can_stay_in_place(const struct places *places, enum config_opt opt)
{
	return places->has_line[opt] &&
	       !(places->has_include && places->last_include > places->last_line[opt]);
}

static void append_lines(const struct config *cfg, enum config_opt opt, const char *line_end,
			 struct buf *out)
{
	struct buf lines = BUF_INIT(BUF_NO_MAX);
	struct qless_str rest, line;

	config_format_lines(cfg, opt, &lines);
	rest = buf_str(&lines);
	while (config_next_line(&rest, &line)) {
		buf_append_str(out, line);
		buf_append_str(out, str_from(line_end));
	}
	buf_done(&lines);
}

static void edit_lines(const struct config *cfg, struct qless_str text, const struct places *places,
		       const char *line_end, struct buf *out)
{
	struct qless_str line;

	for (size_t number = 0;; number++) {
		const char *start = text.ptr;
		const struct config_option *option;
		enum config_opt opt;

		if (!config_next_line(&text, &line))
			return;
		option = subject_of(line).option;
		if (option == NULL || !places->differs[config_opt_of(option)]) {
			buf_append(out, start, (size_t)(text.ptr - start));
			continue;
		}
		opt = config_opt_of(option);
		if (places->last_line[opt] == number && can_stay_in_place(places, opt))
			append_lines(cfg, opt, line_end, out);
	}
}

static void add_lines(const struct config *cfg, const struct places *places, const char *line_end,
		      struct buf *out)
{
	struct buf added = BUF_INIT(BUF_NO_MAX);

	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		if (places->differs[opt] && !can_stay_in_place(places, opt))
			append_lines(cfg, opt, line_end, &added);
	}
	if (added.len != 0) {
		if (out->len != 0 && buf_data(out)[out->len - 1] != '\n')
			buf_append_str(out, str_from(line_end));
		if (!places->has_marker)
			buf_printf(out, "%s%s%s", out->len != 0 ? line_end : "",
				   CONFIG_REWRITE_MARKER, line_end);
		buf_append_str(out, buf_str(&added));
	}
	buf_done(&added);
}

static const char *line_end_of(struct qless_str text)
{
	const char *end = text.len != 0 ? memchr(text.ptr, '\n', text.len) : NULL;

	return end != NULL && end != text.ptr && end[-1] == '\r' ? "\r\n" : "\n";
}

static void find_differences(const struct config *cfg, const struct config *in_file,
			     struct places *places)
{
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++)
		places->differs[opt] = !config_value_equal(cfg, in_file, opt);
}

/* Returns 0 if the text, parsed as `path`, gives the current configuration. */
static int verify(const struct config *cfg, const char *path, struct qless_str text,
		  struct buf *ret_error)
{
	struct config again;
	int status;

	config_init(&again);
	status = config_parse_text(&again, path, text, ret_error);
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT && status == 0; opt++) {
		if (!config_value_equal(cfg, &again, opt)) {
			buf_printf(ret_error, "%s: %s cannot be written: an included file has it",
				   path, config_options[opt].name);
			status = -1;
		}
	}
	config_done(&again);
	return status;
}

/* The new text of the file. */
static int edit(const struct config *cfg, const char *path, struct qless_str text, struct buf *out,
		struct buf *ret_error)
{
	struct places places = { .has_marker = false };
	const char *line_end = line_end_of(text);
	struct config in_file;
	int status;

	config_init(&in_file);
	status = config_parse_text(&in_file, path, text, ret_error);
	if (status == 0) {
		find_differences(cfg, &in_file, &places);
		find_places(text, &places);
		edit_lines(cfg, text, &places, line_end, out);
		add_lines(cfg, &places, line_end, out);
		status = verify(cfg, path, buf_str(out), ret_error);
	}
	config_done(&in_file);
	return status;
}

static int replace(const char *path, struct qless_str old, struct qless_str text,
		   struct buf *ret_error)
{
	int status = 0;

	if (text.len > CONFIG_FILE_MAX_BYTES)
		status = -EFBIG;
	else if (old.len == 0 || !str_equal(old, text))
		status = files_replace(path, text, NEW_FILE_MODE);
	if (status == 0)
		return 0;
	buf_printf(ret_error, "%s: cannot write the file: %s", path, strerror(-status));
	return -1;
}

int config_rewrite(const struct config *cfg, const char *path, struct buf *ret_error)
{
	struct buf old = BUF_INIT(CONFIG_FILE_MAX_BYTES), text = BUF_INIT(BUF_NO_MAX);
	int status = files_read(path, CONFIG_FILE_MAX_BYTES, &old);

	if (status != 0 && status != -ENOENT) {
		buf_printf(ret_error, "%s: cannot read the file: %s", path, strerror(-status));
		status = -1;
	} else {
		status = edit(cfg, path, buf_str(&old), &text, ret_error);
	}
	if (status == 0)
		status = replace(path, buf_str(&old), buf_str(&text), ret_error);
	buf_done(&old);
	buf_done(&text);
	return status;
}
