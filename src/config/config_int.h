/*
 * Between the files of config/.
 */
#ifndef CONFIG_CONFIG_INT_H
#define CONFIG_CONFIG_INT_H

#include "config/config.h"

/* words.c: lines to words and back. */

void config_list_add(struct config_list *list, struct qless_str word);
void config_list_copy(struct config_list *to, const struct config_list *from);
bool config_list_equal(const struct config_list *a, const struct config_list *b);
void config_list_done(struct config_list *list);

/* Add the words of a line to the list. NULL, or what is wrong with the line. */
const char *config_split(struct qless_str line, struct config_list *words);

/* The word as it must stand in a file to be read as this again. */
void config_quote(struct qless_str word, struct buf *out);

/* For messages: without control bytes; the same with a long one cut; and that in quotes. */
void config_escape(struct qless_str word, struct buf *out);
void config_escape_briefly(struct qless_str word, struct buf *out);
void config_quote_briefly(struct qless_str word, struct buf *out);

/* The first line of `text`, which is taken off, without its end. False if nothing is left. */
bool config_next_line(struct qless_str *text, struct qless_str *ret_line);

/* True for a blank line or a comment. */
bool config_line_is_void(struct qless_str line);

/* value.c: what the types mean. */

/* Set the field from the words behind the directive; for `user`, add them as one more line. On
 * failure -1, "expected ..., got ..." in `why`, and the field as it was. */
int config_value_parse(struct config *cfg, enum config_opt opt, const struct config_list *words,
		       struct buf *why);
/* After the struct was copied as it is: give the field a copy of its own. */
void config_value_dup(struct config *cfg, enum config_opt opt);
bool config_value_equal(const struct config *a, const struct config *b, enum config_opt opt);
void config_value_done(struct config *cfg, enum config_opt opt);

/* config.c */

/* A copy in storage that holds nothing yet. */
void config_copy(struct config *to, const struct config *from);

static inline enum config_opt config_opt_of(const struct config_option *option)
{
	return (enum config_opt)(option - config_options);
}

/* config_check(), and which directive breaks a rule; `why` does not name it. */
int config_check_rules(const struct config *cfg, enum config_opt *ret_opt, struct buf *why);

#endif
