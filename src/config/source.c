/*
 * Reading the whole configuration, at the start and again later.
 */
#include "config/config_int.h"

int config_read(struct config *cfg, const struct config_source *source, struct buf *ret_error)
{
	struct config next;
	int status = 0;

	config_init(&next);
	if (source->file != NULL)
		status = config_parse_file(&next, source->file, ret_error);
	if (status == 0)
		status = config_parse_args(&next, source->argc, source->argv, ret_error);
	if (status == 0)
		status = config_check(&next, ret_error);
	if (status == 0) {
		config_done(cfg);
		*cfg = next;
	} else {
		config_done(&next);
	}
	return status;
}

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
		if (config_value_equal(was_read, is_read, opt))
			continue;
		if ((config_options[opt].flags & CONFIG_FLAG_RELOADABLE) == 0) {
			add_change(ret_waiting, opt);
		} else if (!config_value_equal(cfg, is_read, opt)) {
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
