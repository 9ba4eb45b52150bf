/*
 * Shared by the files of config/.
 */
#ifndef CONFIG_CONFIG_INT_H
#define CONFIG_CONFIG_INT_H

#include "config/config.h"

/* words.c: lines to words, and words to lines. */

void config_list_add(struct config_list *list, struct qless_str word);
void config_list_copy(struct config_list *to, const struct config_list *from);
bool config_list_equal(const struct config_list *a, const struct config_list *b);
void config_list_done(struct config_list *list);

/* Adds the words of a line to the list. Returns NULL, or a description of the error. */
const char *config_split(struct qless_str line, struct config_list *words);

/* Quotes the word so that a file with the result reads as this word. */
void config_quote(struct qless_str word, struct buf *out);

/* For messages, without control bytes: the whole word, the word with a maximum length, and that in
 * quotes. */
void config_escape(struct qless_str word, struct buf *out);
void config_escape_briefly(struct qless_str word, struct buf *out);
void config_quote_briefly(struct qless_str word, struct buf *out);

/* Removes the first line from `text` and returns it without its end. Returns false if `text` is
 * empty. */
bool config_next_line(struct qless_str *text, struct qless_str *ret_line);

/* Whether the line is blank or a comment. */
bool config_line_is_void(struct qless_str line);

/* include.c */

/* The files that the values of an `include` line in the file `from` name, in the order in which
 * they are read. On failure writes the reason to `why`. The caller frees the list in any case. */
int config_list_included(const char *from, const struct config_list *values,
			 struct config_list *ret_paths, struct buf *why);

/* value.c: the types of directives. */

/* Sets the field from the words after the directive; for `user`, adds a line. On failure returns
 * -1, writes "expected ..., got ..." to `why`, and leaves the field unchanged. */
int config_value_parse(struct config *cfg, enum config_opt opt, const struct config_list *words,
		       struct buf *why);
/* Gives the field a copy of its own, after the struct was copied byte by byte. */
void config_value_dup(struct config *cfg, enum config_opt opt);
void config_value_done(struct config *cfg, enum config_opt opt);

/* parse.c */

/* Like config_parse_file(), but the file may include no other. */
int config_parse_plain_file(struct config *cfg, const char *path, struct buf *ret_error);

/* Replace `cfg` with `next` if the status is 0, and free the other one. Returns the status. */
int config_settle(struct config *cfg, struct config *next, int status);

/* config.c */

/* Copies to storage that holds no configuration yet. */
void config_copy(struct config *to, const struct config *from);

static inline enum config_opt config_opt_of(const struct config_option *option)
{
	return (enum config_opt)(option - config_options);
}

/* config_check() that also returns the directive that breaks a rule. `why` does not name it. */
int config_check_rules(const struct config *cfg, enum config_opt *ret_opt, struct buf *why);

#endif
