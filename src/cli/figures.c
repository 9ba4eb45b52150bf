#include "cli/figures.h"

#include <math.h>
#include <stdlib.h>

#include "util/escape.h"
#include "util/mem.h"
#include "util/num.h"

/* Returns the value of "name<separator>value", which ends at `end` or at the end of the text. The
 * name is at the beginning of the text or after `end`. */
static bool find_value(struct qless_str text, const char *name, char separator, char end,
		       struct qless_str *ret_value)
{
	size_t name_len = strlen(name), at = 0;

	while (at < text.len) {
		const char *stop = memchr(text.ptr + at, end, text.len - at);
		size_t len = (stop != NULL ? (size_t)(stop - text.ptr) : text.len) - at;

		if (len > name_len && text.ptr[at + name_len] == separator &&
		    memcmp(text.ptr + at, name, name_len) == 0) {
			*ret_value = str_make(text.ptr + at + name_len + 1, len - name_len - 1);
			if (ret_value->len > 0 && ret_value->ptr[ret_value->len - 1] == '\r')
				ret_value->len--;
			return true;
		}
		at += len + 1;
	}
	return false;
}

static struct qless_str decode_name(struct figures *f, struct qless_str text)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	size_t start = f->names.len;

	while (at < end) {
		if (*at == '\\' && at + 1 < end)
			buf_append_char(&f->names, escape_read(at + 1, end, &at));
		else
			buf_append_char(&f->names, *at++);
	}
	/* `names` moves when it grows, so only the offset is kept until all are known. */
	return str_make((const char *)(uintptr_t)start, f->names.len - start);
}

static void add_queue(struct figures *f, struct qless_str fields, double db)
{
	struct qless_str name, text;
	struct figures_queue *queue;
	double number;

	if (!find_value(fields, "db", '=', ',', &text) || !num_parse_double(text, &number) ||
	    number != db || !find_value(fields, "name", '=', ',', &name))
		return;
	f->queues = mem_grow(f->queues, &f->cap, f->count + 1, sizeof *f->queues);
	queue = &f->queues[f->count++];
	queue->name = decode_name(f, name);
	queue->fields = fields;
}

/* Lines "queue0:name=...,db=0,...". */
static void find_queues(struct figures *f, double db)
{
	struct qless_str rest = buf_str(&f->text);

	while (rest.len > 0) {
		const char *lf = memchr(rest.ptr, '\n', rest.len);
		size_t len = lf != NULL ? (size_t)(lf - rest.ptr) : rest.len;
		struct qless_str line = str_make(rest.ptr, len), number;
		const char *colon = memchr(line.ptr, ':', line.len);

		if (line.len > 0 && line.ptr[line.len - 1] == '\r')
			line.len--;
		if (colon != NULL && str_strip_prefix(line, STR("queue"), &number) &&
		    number.ptr[0] >= '0' && number.ptr[0] <= '9')
			add_queue(f, str_make(colon + 1, (size_t)(line.ptr + line.len - colon) - 1),
				  db);
		rest = str_make(rest.ptr + len, rest.len - len);
		if (rest.len > 0)
			rest = str_make(rest.ptr + 1, rest.len - 1);
	}
	for (size_t i = 0; i < f->count; i++)
		f->queues[i].name.ptr = buf_str(&f->names).ptr + (uintptr_t)f->queues[i].name.ptr;
}

static int compare_names(const void *a, const void *b)
{
	const struct figures_queue *x = a, *y = b;

	return str_compare(x->name, y->name);
}

void figures_parse(struct cli *cli, struct figures *f, struct qless_str reply)
{
	*f = (struct figures){ .text = BUF_INIT(BUF_NO_MAX), .names = BUF_INIT(BUF_NO_MAX) };
	buf_append_str(&f->text, reply);
	find_queues(f, cli->server.settings.db);
	if (f->count > 0)
		qsort(f->queues, f->count, sizeof *f->queues, compare_names);
}

bool figures_read(struct cli *cli, struct figures *f, const char *sections, bool must_succeed)
{
	const struct client_reply *reply;
	struct query q = { 0 };

	*f = (struct figures){ .text = BUF_INIT(BUF_NO_MAX), .names = BUF_INIT(BUF_NO_MAX) };
	query_text(&q, "INFO");
	query_words(&q, sections);
	reply = must_succeed ? cli_call_query(cli, &q) : client_call(cli->client, q.words, q.count);
	query_done(&q);
	if (reply == NULL || client_reply_is_error(reply))
		return !must_succeed;
	figures_parse(cli, f, client_reply_str(reply));
	return true;
}

void figures_done(struct figures *f)
{
	buf_done(&f->text);
	buf_done(&f->names);
	free(f->queues);
	*f = (struct figures){ .queues = NULL };
}

struct qless_str figures_text(const struct figures *f, const char *name)
{
	struct qless_str value = STR("");

	find_value(buf_str(&f->text), name, ':', '\n', &value);
	return value;
}

double figures_number(const struct figures *f, const char *name)
{
	double value = 0;

	num_parse_double(figures_text(f, name), &value);
	return value;
}

const struct figures_queue *figures_find(const struct figures *f, struct qless_str queue)
{
	struct figures_queue key = { .name = queue };

	if (f->count == 0)
		return NULL;
	return bsearch(&key, f->queues, f->count, sizeof *f->queues, compare_names);
}

double figures_of(const struct figures_queue *queue, const char *name)
{
	struct qless_str text;
	double value;

	if (queue == NULL || !find_value(queue->fields, name, '=', ',', &text) ||
	    !num_parse_double(text, &value))
		return NAN;
	return value;
}
