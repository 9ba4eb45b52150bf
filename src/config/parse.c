/*
 * Reading files and the command line.
 */
#include <errno.h>
#include <stdio.h>

#include "config/config_int.h"
#include "sys/files.h"
#include "util/nearest.h"

/* Most edits that make an unknown name a guess. A short name may differ by at most a third of its
 * bytes. */
#define GUESS_MAX_DISTANCE 2

/* The most similar name, or NULL if none is similar. */
static const char *guess_name(struct qless_str name)
{
	size_t limit = name.len / 3 < GUESS_MAX_DISTANCE ? name.len / 3 : GUESS_MAX_DISTANCE;
	size_t best = limit + 1;
	const char *guess = NULL;

	if (name.len > NEAREST_MAX)
		return NULL;
	for (size_t i = 0; i < CONFIG_OPT_COUNT; i++) {
		struct qless_str candidate = str_from(config_options[i].name);
		size_t far =
			candidate.len <= NEAREST_MAX ? nearest_distance(name, candidate) : best;

		if (far < best) {
			best = far;
			guess = config_options[i].name;
		}
	}
	return guess;
}

/* Set a directive. On failure `why` gets the error without the place. */
static int set_directive(struct config *cfg, struct qless_str name,
			 const struct config_list *values, struct buf *why)
{
	const struct config_option *option = config_option_find(name);
	const char *guess;

	if (option != NULL) {
		buf_printf(why, "%s: ", option->name);
		return config_value_parse(cfg, config_opt_of(option), values, why);
	}
	config_quote_briefly(name, why);
	buf_append_str(why, STR(": unknown directive"));
	guess = guess_name(name);
	if (guess != NULL)
		buf_printf(why, "; did you mean %s?", guess);
	return -1;
}

static int parse_lines(struct config *cfg, const char *path, struct qless_str text, int depth,
		       struct buf *ret_error);

/* Paths may come from a file, so they may contain any byte. */
static void append_unreadable(const char *path, int status, struct buf *ret_error)
{
	config_escape(str_from(path), ret_error);
	buf_printf(ret_error, ": cannot read the file: %s", strerror(-status));
}

static int include_file(struct config *cfg, const char *path, int depth, struct buf *ret_error)
{
	struct buf text = BUF_INIT(CONFIG_FILE_MAX_BYTES);
	int status = files_read(path, CONFIG_FILE_MAX_BYTES, &text);

	if (status == 0 && files_is_open_to_all(path)) {
		config_escape(str_from(path), ret_error);
		buf_append_str(ret_error, STR(": everybody may write to the file, and so decide "
					      "what the server does: chmod o-w it"));
		status = -EPERM;
	} else if (status == 0) {
		status = parse_lines(cfg, path, buf_str(&text), depth, ret_error);
	} else {
		append_unreadable(path, status, ret_error);
	}
	buf_done(&text);
	return status == 0 ? 0 : -1;
}

static int parse_include(struct config *cfg, const char *path, const struct config_list *values,
			 int depth, struct buf *why)
{
	struct config_list paths = { .count = 0 };
	int status;

	if (depth == CONFIG_INCLUDE_MAX_DEPTH) {
		buf_printf(why, "include: expected no more than %d files in one another",
			   CONFIG_INCLUDE_MAX_DEPTH);
		return -1;
	}
	status = config_list_included(path, values, &paths, why);
	for (size_t i = 0; i < paths.count && status == 0; i++)
		status = include_file(cfg, paths.words[i], depth + 1, why);
	config_list_done(&paths);
	return status;
}

static int parse_line(struct config *cfg, const char *path, struct qless_str line, int depth,
		      struct buf *why)
{
	struct config_list words = { .count = 0 }, values;
	const char *wrong = config_split(line, &words);
	int status = -1;

	if (wrong != NULL) {
		/* The word that was read last identifies the line, in case it has moved. */
		if (words.count != 0) {
			config_quote_briefly(str_from(words.words[0]), why);
			buf_append_str(why, STR(": "));
		}
		buf_append_str(why, str_from(wrong));
	} else {
		values.words = words.words + 1;
		values.count = words.count - 1;
		if (str_equal_nocase(str_from(words.words[0]), STR("include")))
			status = parse_include(cfg, path, &values, depth, why);
		else
			status = set_directive(cfg, str_from(words.words[0]), &values, why);
	}
	config_list_done(&words);
	return status;
}

static int parse_lines(struct config *cfg, const char *path, struct qless_str text, int depth,
		       struct buf *ret_error)
{
	struct buf why = BUF_INIT(BUF_NO_MAX);
	struct qless_str line;
	size_t number = 0;
	int status = 0;

	while (status == 0 && config_next_line(&text, &line)) {
		number++;
		if (config_line_is_void(line))
			continue;
		buf_clear(&why);
		status = parse_line(cfg, path, line, depth, &why);
	}
	if (status != 0) {
		config_escape(str_from(path), ret_error);
		buf_printf(ret_error, ":%zu: ", number);
		buf_append_str(ret_error, buf_str(&why));
	}
	buf_done(&why);
	return status;
}

int config_settle(struct config *cfg, struct config *next, int status)
{
	if (status == 0) {
		config_done(cfg);
		*cfg = *next;
	} else {
		config_done(next);
	}
	return status;
}

int config_parse_text(struct config *cfg, const char *path, struct qless_str text,
		      struct buf *ret_error)
{
	struct config next;

	config_copy(&next, cfg);
	return config_settle(cfg, &next, parse_lines(&next, path, text, 0, ret_error));
}

int config_parse_file(struct config *cfg, const char *path, struct buf *ret_error)
{
	struct config next;

	config_copy(&next, cfg);
	return config_settle(cfg, &next, include_file(&next, path, 0, ret_error));
}

/* An include would be one too deep. */
int config_parse_plain_file(struct config *cfg, const char *path, struct buf *ret_error)
{
	struct config next;

	config_copy(&next, cfg);
	return config_settle(cfg, &next,
			     include_file(&next, path, CONFIG_INCLUDE_MAX_DEPTH, ret_error));
}

static bool is_directive(const char *arg)
{
	return arg[0] == '-' && arg[1] == '-';
}

/* Remove an argument. The NULL at the end moves with the others. */
static void drop_arg(int *argc, char **argv, int at)
{
	for (int i = at; i < *argc; i++)
		argv[i] = argv[i + 1];
	(*argc)--;
}

bool config_args_take_flag(int *argc, char **argv, const char *flag)
{
	bool found = false;

	for (int i = 1; i < *argc;) {
		if (strcmp(argv[i], flag) == 0) {
			drop_arg(argc, argv, i);
			found = true;
		} else {
			i++;
		}
	}
	return found;
}

const char *config_args_take_file(int *argc, char **argv)
{
	const char *file;

	if (*argc < 2 || is_directive(argv[1]))
		return NULL;
	file = argv[1];
	drop_arg(argc, argv, 1);
	return file;
}

/* Parse the directive at argv[*at], and advance *at to the argument after its values. */
static int parse_arg(struct config *cfg, int argc, char *const *argv, int *at,
		     struct buf *ret_error)
{
	struct config_list values = { .count = 0 };
	const char *name = argv[(*at)++];
	int status;

	if (!is_directive(name)) {
		config_quote_briefly(str_from(name), ret_error);
		buf_append_str(ret_error, STR(": expected --directive"));
		return -1;
	}
	for (; *at < argc && !is_directive(argv[*at]); (*at)++)
		config_list_add(&values, str_from(argv[*at]));
	buf_append_str(ret_error, STR("command line: "));
	status = set_directive(cfg, str_from(name + 2), &values, ret_error);
	config_list_done(&values);
	return status;
}

int config_parse_args(struct config *cfg, int argc, char *const *argv, struct buf *ret_error)
{
	size_t before = ret_error->len;
	struct config next;
	int status = 0;

	config_copy(&next, cfg);
	for (int at = 1; at < argc && status == 0;) {
		buf_truncate(ret_error, before);
		status = parse_arg(&next, argc, argv, &at, ret_error);
	}
	if (status == 0)
		buf_truncate(ret_error, before);
	return config_settle(cfg, &next, status);
}
