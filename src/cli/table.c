#include "cli/table.h"

#include <assert.h>
#include <stdlib.h>

#include "cli/text.h"
#include "cli/width.h"
#include "util/mem.h"

/* Width to which texts are cut before a column is left out, and after that; and blanks between two
 * columns. */
#define TEXT_GOOD ((size_t)16)
#define TEXT_MIN  ((size_t)6)
#define GAP	  ((size_t)2)

struct cell {
	size_t end; /* offset of its end in `text` */
	size_t width;
	enum table_style style;
};

struct table {
	const struct table_column *columns;
	size_t column_count;
	const struct table_look *look;
	bool has_begun; /* the titles are printed */
	size_t widths[TABLE_COLUMNS_MAX];
	bool is_left_out[TABLE_COLUMNS_MAX]; /* decided when the first rows are printed */
	struct cell *cells;
	size_t cell_count;
	size_t cell_cap;
	struct buf text;
};

struct table *table_new(const struct table_column *columns, size_t count,
			const struct table_look *look)
{
	struct table *t = mem_zalloc(sizeof *t);

	assert(count > 0 && count <= TABLE_COLUMNS_MAX);
	t->columns = columns;
	t->column_count = count;
	t->look = look;
	buf_init(&t->text, BUF_NO_MAX);
	for (size_t i = 0; i < count; i++)
		t->widths[i] = width_of_text(str_from(columns[i].title));
	return t;
}

void table_free(struct table *t)
{
	if (t == NULL)
		return;
	free(t->cells);
	buf_done(&t->text);
	free(t);
}

/* The text of the cell begins at `start`. */
static void end_cell(struct table *t, size_t start, enum table_style style)
{
	size_t column = t->cell_count % t->column_count;
	struct cell *cell;

	t->cells = mem_grow(t->cells, &t->cell_cap, t->cell_count + 1, sizeof *t->cells);
	cell = &t->cells[t->cell_count++];
	cell->end = t->text.len;
	cell->style = style;
	cell->width = width_of_text(str_make(buf_str(&t->text).ptr + start, t->text.len - start));
	if (cell->width > t->widths[column])
		t->widths[column] = cell->width;
}

void table_text(struct table *t, enum table_style style, struct qless_str text)
{
	size_t start = t->text.len;

	text_append(&t->text, text, t->look->is_utf8);
	end_cell(t, start, style);
}

void table_safe(struct table *t, enum table_style style, struct qless_str text)
{
	size_t start = t->text.len;

	buf_append_str(&t->text, text);
	end_cell(t, start, style);
}

void table_count(struct table *t, enum table_style style, double count)
{
	size_t start = t->text.len;

	text_append_count(&t->text, count);
	end_cell(t, start, count == 0 ? TABLE_DIM : style);
}

size_t table_rows(const struct table *t)
{
	return t->cell_count / t->column_count;
}

void table_append_styled(struct buf *out, const struct table_look *look, enum table_style style,
			 struct qless_str text)
{
	static const char *const codes[] = {
		[TABLE_BOLD] = "1",    [TABLE_DIM] = "2",    [TABLE_RED] = "31",
		[TABLE_YELLOW] = "33", [TABLE_GREEN] = "32",
	};

	if (style == TABLE_PLAIN || !look->has_colour || text.len == 0) {
		buf_append_str(out, text);
		return;
	}
	buf_printf(out, "\033[%sm", codes[style]);
	buf_append_str(out, text);
	buf_append_str(out, STR("\033[0m"));
}

/* The width of the table if texts are cut to `text_max` columns. */
static size_t total_width(const struct table *t, const size_t *widths, size_t text_max)
{
	size_t total = 0;

	for (size_t i = 0; i < t->column_count; i++) {
		if (t->is_left_out[i])
			continue;
		total += total > 0 ? GAP : 0;
		total += t->columns[i].is_text && widths[i] > text_max ? text_max : widths[i];
	}
	return total;
}

/* Leaves out columns until the others fit. */
static void leave_out(struct table *t)
{
	while (t->look->width > 0 && total_width(t, t->widths, TEXT_GOOD) > t->look->width) {
		size_t least = SIZE_MAX;

		for (size_t i = 0; i < t->column_count; i++) {
			if (!t->is_left_out[i] && t->columns[i].spare > 0 &&
			    (least == SIZE_MAX || t->columns[i].spare > t->columns[least].spare))
				least = i;
		}
		if (least == SIZE_MAX)
			return;
		t->is_left_out[least] = true;
	}
}

/* Narrows the widest texts until the table fits, or no text can be narrower. */
static void fit(const struct table *t, size_t *widths)
{
	while (t->look->width > 0 && total_width(t, widths, SIZE_MAX) > t->look->width) {
		size_t widest = SIZE_MAX;

		for (size_t i = 0; i < t->column_count; i++) {
			if (!t->is_left_out[i] && t->columns[i].is_text && widths[i] > TEXT_MIN &&
			    (widest == SIZE_MAX || widths[i] > widths[widest]))
				widest = i;
		}
		if (widest == SIZE_MAX)
			return;
		widths[widest]--;
	}
}

static void append_blanks(struct buf *out, size_t count)
{
	while (count-- > 0)
		buf_append_char(out, ' ');
}

static bool has_left_neighbour(const struct table *t, size_t column)
{
	for (size_t i = 0; i < column; i++) {
		if (!t->is_left_out[i])
			return true;
	}
	return false;
}

static void append_cell(const struct table *t, struct buf *out, size_t column, size_t width,
			enum table_style style, struct qless_str text)
{
	struct buf cut = BUF_INIT(BUF_NO_MAX);
	size_t used, padding;

	if (t->is_left_out[column])
		return;
	if (has_left_neighbour(t, column))
		append_blanks(out, GAP);
	text_append_cut(&cut, text, width, t->look->is_utf8);
	used = width_of_text(buf_str(&cut));
	padding = width > used ? width - used : 0;
	if (t->columns[column].is_number)
		append_blanks(out, padding);
	table_append_styled(out, t->look, style, buf_str(&cut));
	if (!t->columns[column].is_number && column + 1 < t->column_count)
		append_blanks(out, padding);
	buf_done(&cut);
}

/* An empty last cell leaves blanks at the end of the line. */
static void end_line(struct buf *out)
{
	while (out->len > 0 && buf_data(out)[out->len - 1] == ' ')
		buf_truncate(out, out->len - 1);
	buf_append_char(out, '\n');
}

void table_take(struct table *t, struct buf *out)
{
	size_t widths[TABLE_COLUMNS_MAX], start = 0;

	assert(t->cell_count % t->column_count == 0);
	if (!t->has_begun)
		leave_out(t);
	memcpy(widths, t->widths, sizeof widths);
	fit(t, widths);
	if (!t->has_begun) {
		for (size_t i = 0; i < t->column_count; i++)
			append_cell(t, out, i, widths[i], TABLE_BOLD,
				    str_from(t->columns[i].title));
		end_line(out);
	}
	t->has_begun = true;
	for (size_t i = 0; i < t->cell_count; i++) {
		const struct cell *cell = &t->cells[i];
		size_t column = i % t->column_count;

		append_cell(t, out, column, widths[column], cell->style,
			    str_make(buf_str(&t->text).ptr + start, cell->end - start));
		start = cell->end;
		if (column + 1 == t->column_count)
			end_line(out);
	}
	t->cell_count = 0;
	buf_clear(&t->text);
}

void table_print(struct table *t, FILE *to)
{
	struct buf out = BUF_INIT(BUF_NO_MAX);

	table_take(t, &out);
	fwrite(buf_str(&out).ptr, 1, out.len, to);
	buf_done(&out);
}
