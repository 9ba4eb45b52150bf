/*
 * Tables for people: aligned columns, as wide as their content, cut to the width of the terminal.
 *
 * Rows may be printed in portions, so a long list takes little memory: columns only grow. Cells are
 * added from left to right.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/buf.h"

#define TABLE_COLUMNS_MAX 16

enum table_style {
	TABLE_PLAIN,
	TABLE_BOLD,
	TABLE_DIM,
	TABLE_RED,
	TABLE_YELLOW,
	TABLE_GREEN,
};

struct table_column {
	const char *title;
	bool is_number; /* aligned to the right */
	bool is_text;	/* may be cut if the table is too wide */
	/* If the table is still too wide, the column with the highest number is left out first; 0:
	 * never. */
	unsigned char spare;
};

struct table_look {
	size_t width; /* columns of the terminal; 0: no limit */
	bool is_utf8;
	bool has_colour;
};

struct table;

/* Borrows the columns and the look. */
struct table *table_new(const struct table_column *columns, size_t count,
			const struct table_look *look);
void table_free(struct table *t);

/* Adds a cell with a text from the server. */
void table_text(struct table *t, enum table_style style, struct qless_str text);
/* Adds a cell with text that is safe to show. */
void table_safe(struct table *t, enum table_style style, struct qless_str text);
/* Adds a cell with a count; 0 is dim. */
void table_count(struct table *t, enum table_style style, double count);

/* Rows that were added and not printed. */
size_t table_rows(const struct table *t);

/* Appends the rows to `out` and forgets them; before the first row of all, the titles. */
void table_take(struct table *t, struct buf *out);
/* Prints what table_take() appends. */
void table_print(struct table *t, FILE *to);

/* Appends a text in a style. */
void table_append_styled(struct buf *out, const struct table_look *look, enum table_style style,
			 struct qless_str text);

#endif
