/*
 * Reading the whole configuration, at the start and again later, and the file of CONFIG REWRITE.
 *
 * With a rewrite-file the configuration file is never written. The rewrite-file is read after it,
 * and before the command line. It sets only what can change at run time, and includes nothing,
 * because the server that writes it may have fewer rights than the one that reads it.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/config_int.h"
#include "sys/files.h"

/* The file may contain passwords. */
#define REWRITE_FILE_MODE 0600

static const char rewrite_header[] =
	"# Written by CONFIG REWRITE: what differs from the configuration file. qlessd reads this\n"
	"# file after that one. Delete lines of it to return to what that one says.\n";

static bool is_reloadable(enum config_opt opt)
{
	return (config_options[opt].flags & CONFIG_FLAG_RELOADABLE) != 0;
}

/* Returns 0 if only directives differ that can change at run time. */
static int check_rewritten(const struct config *cfg, const struct config *next, const char *path,
			   struct buf *ret_error)
{
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		if (is_reloadable(opt) || config_value_equal(cfg, next, opt))
			continue;
		config_escape(str_from(path), ret_error);
		buf_printf(ret_error,
			   ": %s cannot be in this file, because it is read at the start only",
			   config_options[opt].name);
		return -1;
	}
	return 0;
}

/* A file that does not exist has no lines. */
static int read_rewritten(struct config *cfg, const char *path, struct buf *ret_error)
{
	struct config next;
	int status;

	if (access(path, F_OK) != 0 && errno == ENOENT)
		return 0;
	config_copy(&next, cfg);
	status = config_parse_plain_file(&next, path, ret_error);
	if (status == 0)
		status = check_rewritten(cfg, &next, path, ret_error);
	return config_settle(cfg, &next, status);
}

/* Returns the path of the file without links, which can change between two readings. Paths of
 * `include` lines are relative to its directory. If it does not exist, the error names the file as
 * it was given. */
static const char *find_file(const struct config_source *source, char target[PATH_MAX])
{
	return realpath(source->file, target) != NULL ? target : source->file;
}

/* Read the file, the rewrite-file unless the path is empty, and the command line. */
static int read_with(struct config *cfg, const struct config_source *source,
		     const char *rewrite_file, struct buf *ret_error)
{
	char target[PATH_MAX];
	int status = 0;

	if (source->file != NULL)
		status = config_parse_file(cfg, find_file(source, target), ret_error);
	if (status == 0 && rewrite_file[0] != '\0')
		status = read_rewritten(cfg, rewrite_file, ret_error);
	if (status == 0)
		status = config_parse_args(cfg, source->argc, source->argv, ret_error);
	if (status == 0)
		status = config_check(cfg, ret_error);
	return status;
}

int config_read(struct config *cfg, const struct config_source *source, struct buf *ret_error)
{
	struct config given, next;
	int status;

	/* Only the whole of the file and the command line names the rewrite-file. */
	config_init(&given);
	config_init(&next);
	status = read_with(&given, source, "", ret_error);
	if (status == 0)
		status = read_with(&next, source, given.rewrite_file, ret_error);
	config_done(&given);
	return config_settle(cfg, &next, status);
}

/*
 * Writing
 */

/* Returns 0 if the text, read after the configuration file, gives what can change at run time. */
static int verify(const struct config *cfg, const struct config *given, struct qless_str text,
		  struct buf *ret_error)
{
	struct config again;
	int status;

	config_copy(&again, given);
	status = config_parse_text(&again, cfg->rewrite_file, text, ret_error);
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT && status == 0; opt++) {
		if (!is_reloadable(opt) || config_value_equal(cfg, &again, opt))
			continue;
		buf_printf(ret_error, "%s: %s cannot be written", cfg->rewrite_file,
			   config_options[opt].name);
		status = -1;
	}
	config_done(&again);
	return status;
}

static int write_rewritten(const struct config *cfg, const struct config *given,
			   struct buf *ret_error)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int status;

	buf_append_str(&text, str_from(rewrite_header));
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		if (is_reloadable(opt) && !config_value_equal(cfg, given, opt))
			config_format_lines(cfg, opt, &text);
	}
	status = verify(cfg, given, buf_str(&text), ret_error);
	if (status == 0) {
		status = files_replace(cfg->rewrite_file, buf_str(&text), REWRITE_FILE_MODE);
		if (status < 0)
			buf_printf(ret_error, "%s: cannot write the file: %s", cfg->rewrite_file,
				   strerror(-status));
	}
	buf_done(&text);
	return status == 0 ? 0 : -1;
}

int config_rewrite_source(const struct config *cfg, const struct config_source *source,
			  struct buf *ret_error)
{
	char target[PATH_MAX];
	struct config given;
	int status;

	if (cfg->rewrite_file[0] == '\0')
		return config_rewrite(cfg, find_file(source, target), ret_error);
	config_init(&given);
	status = read_with(&given, source, "", ret_error);
	if (status == 0)
		status = write_rewritten(cfg, &given, ret_error);
	config_done(&given);
	return status;
}

/*
 * Reading again
 */

/* Gives `to` the value of `from`, by way of the lines of a file. */
static int take_value(struct config *to, const struct config *from, enum config_opt opt,
		      struct buf *ret_error)
{
	struct buf lines = BUF_INIT(BUF_NO_MAX);
	int status;

	config_format_lines(from, opt, &lines);
	status = config_parse_text(to, config_options[opt].name, buf_str(&lines), ret_error);
	buf_done(&lines);
	return status;
}

static void add_change(struct config_changes *changes, enum config_opt opt)
{
	changes->of[opt] = true;
	changes->count++;
}

int config_adopt(struct config *cfg, const struct config *was_read, const struct config *is_read,
		 config_apply_fn apply, void *arg, struct config_changes *ret_applied,
		 struct config_changes *ret_waiting, struct buf *ret_error)
{
	struct config next;
	int status = 0;

	*ret_applied = *ret_waiting = (struct config_changes){ .count = 0 };
	config_copy(&next, cfg);
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT && status == 0; opt++) {
		if (config_value_equal(was_read, is_read, opt) ||
		    config_value_equal(cfg, is_read, opt))
			continue;
		if (!is_reloadable(opt)) {
			add_change(ret_waiting, opt);
		} else {
			status = take_value(&next, is_read, opt, ret_error);
			add_change(ret_applied, opt);
		}
	}
	if (status == 0)
		status = config_check(&next, ret_error);
	if (status == 0 && apply != NULL && ret_applied->count != 0)
		status = apply(cfg, &next, ret_applied, ret_error, arg);
	if (status == 0) {
		struct config was = *cfg;

		*cfg = next;
		next = was;
	}
	config_done(&next);
	return status;
}
