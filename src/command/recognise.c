#include "command/recognise.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/lua.h"

/* Tables in one script to which anything of interest is assigned; all known ones have fewer than
 * ten. Should there be more, the rest goes unnoticed. */
#define TABLES_MAX 64

/* Parameters of `put` before the options, `now` included, when it did not take the worker. */
#define ANCIENT_PUT_PARAMETERS 6
#define UNKNOWN_PARAMETERS     (-1)

/* A marking is as long as the longest pattern: name [ 'command' ] = . */
#define WINDOW 5

/* The commands that make an API: every version of it has them. */
static const char *const classic_marks[] = {
	"cancel", "complete", "fail", "get", "heartbeat", "peek", "pop", "put", "retry",
};
#define CLASSIC_MARKS (sizeof classic_marks / sizeof classic_marks[0])

static const char *const reqless_marks[] = {
	"job.cancel", "job.complete", "job.fail",  "job.get",	"job.heartbeat",
	"job.retry",  "queue.peek",   "queue.pop", "queue.put",
};
#define REQLESS_MARKS (sizeof reqless_marks / sizeof reqless_marks[0])

/* What has been seen of one table of the script. */
struct table {
	struct qless_str name;
	unsigned classic;   /* a bit for each mark */
	unsigned reqless;   /* likewise */
	int put_parameters; /* or UNKNOWN_PARAMETERS */
	bool is_indexed;    /* by a variable: commands are chosen from it */
};

struct look {
	struct qless_str rest;
	struct lua_token window[WINDOW];
	struct table tables[TABLES_MAX];
	size_t table_count;
	bool has_prefix;
};

/* The bit of a name among the marks; 0 if it is none. */
static unsigned mark_of(struct qless_str name, const char *const *marks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(name, str_from(marks[i])))
			return 1U << i;
	}
	return 0;
}

static struct table *find_table(struct look *l, struct qless_str name)
{
	for (size_t i = 0; i < l->table_count; i++) {
		if (str_equal(l->tables[i].name, name))
			return &l->tables[i];
	}
	return NULL;
}

static struct table *get_table(struct look *l, struct qless_str name)
{
	struct table *table = find_table(l, name);

	if (table == NULL && l->table_count < TABLES_MAX) {
		table = &l->tables[l->table_count++];
		*table = (struct table){ .name = name, .put_parameters = UNKNOWN_PARAMETERS };
	}
	return table;
}

/* The names between the parentheses of a function that begins here, with or without the word in
 * front of them. */
static int count_parameters(struct qless_str text)
{
	struct lua_token token = lua_next(&text);
	int count = 0;

	if (lua_is_symbol(&token, "="))
		token = lua_next(&text);
	if (lua_is_name(&token, "function"))
		token = lua_next(&text);
	if (!lua_is_symbol(&token, "("))
		return UNKNOWN_PARAMETERS;
	do {
		token = lua_next(&text);
		count += token.type == LUA_NAME;
	} while (token.type == LUA_NAME || lua_is_symbol(&token, ","));
	return count;
}

/* A function is put into a table under a name; `after` is the text behind the name. */
static void note_command(struct look *l, struct qless_str table_name, struct qless_str command,
			 struct qless_str after)
{
	unsigned classic = mark_of(command, classic_marks, CLASSIC_MARKS);
	unsigned reqless = mark_of(command, reqless_marks, REQLESS_MARKS);
	struct table *table;

	if (classic == 0 && reqless == 0)
		return;
	table = get_table(l, table_name);
	if (table == NULL)
		return;
	table->classic |= classic;
	table->reqless |= reqless;
	if (str_equal(command, STR("put")))
		table->put_parameters = count_parameters(after);
}

/* All of the script that follows a token. */
static struct qless_str text_after(const struct look *l, const struct lua_token *token)
{
	const char *end = l->rest.ptr + l->rest.len;
	const char *from = token->text.ptr + token->text.len;

	return str_make(from, (size_t)(end - from));
}

static void look_at_window(struct look *l)
{
	const struct lua_token *w = l->window;
	struct table *table;

	if (w[0].type == LUA_STRING && str_starts_with(w[0].text, STR("ql:")))
		l->has_prefix = true;
	if (lua_is_name(&w[0], "function") && w[1].type == LUA_NAME && lua_is_symbol(&w[2], ".") &&
	    w[3].type == LUA_NAME)
		note_command(l, w[1].text, w[3].text, text_after(l, &w[3]));
	if (w[0].type != LUA_NAME)
		return;
	if (lua_is_symbol(&w[1], ".") && w[2].type == LUA_NAME && lua_is_symbol(&w[3], "=")) {
		note_command(l, w[0].text, w[2].text, text_after(l, &w[2]));
	} else if (lua_is_symbol(&w[1], "[") && lua_is_symbol(&w[3], "]")) {
		if (w[2].type == LUA_STRING && lua_is_symbol(&w[4], "="))
			note_command(l, w[0].text, w[2].text, text_after(l, &w[3]));
		table = find_table(l, w[0].text);
		if (table != NULL && w[2].type == LUA_NAME && !lua_is_symbol(&w[4], "="))
			table->is_indexed = true;
	}
}

static enum script_kind judge(const struct look *l)
{
	enum script_kind kind = SCRIPT_UNKNOWN;

	for (size_t i = 0; l->has_prefix && i < l->table_count; i++) {
		const struct table *table = &l->tables[i];

		if (!table->is_indexed)
			continue;
		/* Early versions of the successor had the old names as well. */
		if (table->reqless == (1U << REQLESS_MARKS) - 1)
			return SCRIPT_REQLESS;
		if (table->classic == (1U << CLASSIC_MARKS) - 1)
			kind = table->put_parameters == ANCIENT_PUT_PARAMETERS ? SCRIPT_ANCIENT
									       : SCRIPT_CLASSIC;
	}
	return kind;
}

enum script_kind recognise_script(struct qless_str script)
{
	struct look l = { .rest = script };

	for (int i = 0; i < WINDOW; i++)
		l.window[i] = lua_next(&l.rest);
	while (l.window[0].type != LUA_END) {
		look_at_window(&l);
		memmove(l.window, l.window + 1, (WINDOW - 1) * sizeof l.window[0]);
		l.window[WINDOW - 1] = lua_next(&l.rest);
	}
	return judge(&l);
}

const char *recognise_refusal(enum script_kind kind)
{
	switch (kind) {
	case SCRIPT_CLASSIC:
		return NULL;
	case SCRIPT_REQLESS:
		return "This is a script of reqless, whose commands qlessd does not know yet; it "
		       "runs the scripts of qless";
	case SCRIPT_ANCIENT:
		return "This script is of a qless before 0.10, whose put does not take a worker; "
		       "qlessd runs those since";
	case SCRIPT_UNKNOWN:
		break;
	}
	return "qlessd runs qless scripts only: this one does not define the commands of qless";
}
