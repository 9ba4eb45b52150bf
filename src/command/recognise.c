#include "command/recognise.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "command/lua.h"

/* Tables of one script that get a command assigned; known scripts have fewer than ten. Further ones
 * are ignored. */
#define TABLES_MAX 64

/* Parameters of a `put` without worker: those before the options, `now` included. */
#define ANCIENT_PUT_PARAMETERS 6
#define UNKNOWN_PARAMETERS     (-1)

/* Tokens of the longest pattern: name [ 'command' ] = . */
#define WINDOW 5

/* Variables of one put that may hold its options. Known versions have one that does. */
#define SUBJECTS_MAX 32

/* Functions named put that are searched for options; known scripts have two. Each search can take
 * as long as the rest of the script. */
#define PUTS_MAX 16

/* The commands that identify an API: every version has them. */
static const char *const classic_marks[] = {
	"cancel", "complete", "fail", "get", "heartbeat", "peek", "pop", "put", "retry",
};
#define CLASSIC_MARKS (sizeof classic_marks / sizeof classic_marks[0])

static const char *const reqless_marks[] = {
	"job.cancel", "job.complete", "job.fail",  "job.get",	"job.heartbeat",
	"job.retry",  "queue.peek",   "queue.pop", "queue.put",
};
#define REQLESS_MARKS (sizeof reqless_marks / sizeof reqless_marks[0])

/* The facts known about one table of the script. */
struct table {
	struct qless_str name;
	unsigned classic;   /* a bit for each mark */
	unsigned reqless;   /* a bit for each mark */
	int put_parameters; /* or UNKNOWN_PARAMETERS */
	bool is_indexed;    /* by a variable: commands are chosen from it */
};

/* A window of tokens, and the text after them. */
struct tokens {
	struct qless_str rest;
	struct lua_token window[WINDOW];
};

struct look {
	struct tokens tokens;
	struct table tables[TABLES_MAX];
	size_t table_count;
	bool has_prefix;
	bool has_call_name;   /* "Put(): ..." in a string */
	bool takes_by_number; /* KEYS[1] or ARGV[1] */
};

static void begin_tokens(struct tokens *tokens, struct qless_str text)
{
	tokens->rest = text;
	for (int i = 0; i < WINDOW; i++)
		tokens->window[i] = lua_next(&tokens->rest);
}

static bool has_token(const struct tokens *tokens)
{
	return tokens->window[0].type != LUA_END;
}

static void next_token(struct tokens *tokens)
{
	memmove(tokens->window, tokens->window + 1, (WINDOW - 1) * sizeof tokens->window[0]);
	tokens->window[WINDOW - 1] = lua_next(&tokens->rest);
}

/* Returns the part of the script that follows a token of the window. */
static struct qless_str text_after(const struct tokens *tokens, const struct lua_token *token)
{
	const char *end = tokens->rest.ptr + tokens->rest.len;
	const char *from = token->text.ptr + token->text.len;

	return str_make(from, (size_t)(end - from));
}

/* ---- definitions of functions ---- */

/* A function that is assigned to a member of a table. */
struct definition {
	struct qless_str table;
	struct qless_str name;
	struct qless_str after; /* the text after the name */
};

static bool is_function_ahead(struct qless_str text)
{
	struct lua_token token = lua_next(&text);

	if (lua_is_symbol(&token, "="))
		token = lua_next(&text);
	return lua_is_name(&token, "function");
}

/* Whether the window begins with one of
 *
 *	function table.name	table.name =	table['name'] =
 *
 * The last two can also assign something that is not a function. */
static bool read_definition(const struct tokens *tokens, struct definition *ret)
{
	const struct lua_token *w = tokens->window;

	if (lua_is_name(&w[0], "function") && w[1].type == LUA_NAME && lua_is_symbol(&w[2], ".") &&
	    w[3].type == LUA_NAME) {
		*ret = (struct definition){ w[1].text, w[3].text, text_after(tokens, &w[3]) };
		return true;
	}
	if (w[0].type != LUA_NAME)
		return false;
	if (lua_is_symbol(&w[1], ".") && w[2].type == LUA_NAME && lua_is_symbol(&w[3], "=")) {
		*ret = (struct definition){ w[0].text, w[2].text, text_after(tokens, &w[2]) };
		return true;
	}
	if (lua_is_symbol(&w[1], "[") && w[2].type == LUA_STRING && lua_is_symbol(&w[3], "]") &&
	    lua_is_symbol(&w[4], "=")) {
		*ret = (struct definition){ w[0].text, w[2].text, text_after(tokens, &w[3]) };
		return true;
	}
	return false;
}

/* Whether the window begins with a definition that assigns a function. */
static bool read_function(const struct tokens *tokens, struct definition *ret)
{
	return read_definition(tokens, ret) &&
	       (lua_is_name(&tokens->window[0], "function") || is_function_ahead(ret->after));
}

/* ---- what a script is ---- */

/* Returns the bit of a name among the marks, or 0. */
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

/* Counts the parameters of a function. The text begins with them, or with the word `function`. */
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

static void note_definition(struct look *l, const struct definition *definition)
{
	unsigned classic = mark_of(definition->name, classic_marks, CLASSIC_MARKS);
	unsigned reqless = mark_of(definition->name, reqless_marks, REQLESS_MARKS);
	struct table *table;

	if (classic == 0 && reqless == 0)
		return;
	table = get_table(l, definition->table);
	if (table == NULL)
		return;
	table->classic |= classic;
	table->reqless |= reqless;
	if (str_equal(definition->name, STR("put")))
		table->put_parameters = count_parameters(definition->after);
}

/* Whether a text begins like a message of a command, such as `Put(): `. */
static bool begins_with_call(struct qless_str text)
{
	size_t i = 0;

	while (i < text.len && ((text.ptr[i] >= 'A' && text.ptr[i] <= 'Z') ||
				(text.ptr[i] >= 'a' && text.ptr[i] <= 'z')))
		i++;
	return i > 0 && str_starts_with(str_make(text.ptr + i, text.len - i), STR("(): "));
}

static void look_at_window(struct look *l)
{
	const struct lua_token *w = l->tokens.window;
	struct definition definition;
	struct table *table;

	if (w[0].type == LUA_STRING) {
		l->has_prefix |= str_starts_with(w[0].text, STR("ql:"));
		l->has_call_name |= begins_with_call(w[0].text);
	}
	if (read_definition(&l->tokens, &definition))
		note_definition(l, &definition);
	if (w[0].type != LUA_NAME || !lua_is_symbol(&w[1], "["))
		return;
	if (w[2].type == LUA_NUMBER)
		l->takes_by_number |= lua_is_name(&w[0], "KEYS") || lua_is_name(&w[0], "ARGV");
	if (w[2].type != LUA_NAME || !lua_is_symbol(&w[3], "]") || lua_is_symbol(&w[4], "="))
		return;
	table = find_table(l, w[0].text);
	if (table != NULL)
		table->is_indexed = true;
}

/* Returns the kind, and the table of the commands, NULL if there is none. */
static enum script_kind judge(const struct look *l, const struct table **ret_table)
{
	enum script_kind kind = SCRIPT_UNKNOWN;

	*ret_table = NULL;
	for (size_t i = 0; l->has_prefix && i < l->table_count; i++) {
		const struct table *table = &l->tables[i];

		if (!table->is_indexed)
			continue;
		/* Early versions of the successor had the old names as well. */
		if (table->reqless == (1U << REQLESS_MARKS) - 1) {
			*ret_table = table;
			return SCRIPT_REQLESS;
		}
		if (table->classic == (1U << CLASSIC_MARKS) - 1) {
			*ret_table = table;
			kind = table->put_parameters == ANCIENT_PUT_PARAMETERS ? SCRIPT_ANCIENT
									       : SCRIPT_CLASSIC;
		}
	}
	/* A script of one command, without a table of commands. */
	if (kind == SCRIPT_UNKNOWN && l->has_prefix && l->has_call_name && l->takes_by_number)
		kind = SCRIPT_ANCIENT;
	return kind;
}

static enum script_kind look_at_script(struct qless_str script, struct look *ret_look,
				       const struct table **ret_table)
{
	*ret_look = (struct look){ .table_count = 0 };
	for (begin_tokens(&ret_look->tokens, script); has_token(&ret_look->tokens);
	     next_token(&ret_look->tokens))
		look_at_window(ret_look);
	return judge(ret_look, ret_table);
}

enum script_kind recognise_script(struct qless_str script)
{
	const struct table *table;
	struct look l;

	return look_at_script(script, &l, &table);
}

/* ---- what a script has ---- */

static bool has_name(const struct script_names *names, struct qless_str name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (str_equal(names->items[i], name))
			return true;
	}
	return false;
}

static void add_name(struct script_names *names, struct qless_str name)
{
	if (names->count < SCRIPT_NAMES_MAX && name.len <= SCRIPT_NAME_BYTES_MAX &&
	    !has_name(names, name))
		names->items[names->count++] = name;
}

/* A variable of put, with the names that index it or are compared with it. */
struct subject {
	struct qless_str variable;
	struct script_names names;
};

struct subjects {
	struct subject items[SUBJECTS_MAX];
	size_t count;
};

static void note_subject(struct subjects *s, struct qless_str variable, struct qless_str name)
{
	struct subject *subject = s->items;

	while (subject < s->items + s->count && !str_equal(subject->variable, variable))
		subject++;
	if (subject == s->items + s->count) {
		if (s->count == SUBJECTS_MAX)
			return;
		s->count++;
		subject->variable = variable;
		subject->names.count = 0;
	}
	add_name(&subject->names, name);
}

/* Notes options['tags'], options.tags, name == 'tags' and 'tags' == name. */
static void look_for_option(const struct tokens *tokens, struct subjects *s)
{
	const struct lua_token *w = tokens->window;

	if (w[0].type == LUA_STRING && lua_is_symbol(&w[1], "==") && w[2].type == LUA_NAME)
		note_subject(s, w[2].text, w[0].text);
	if (w[0].type != LUA_NAME)
		return;
	if ((lua_is_symbol(&w[1], "[") || lua_is_symbol(&w[1], "==")) && w[2].type == LUA_STRING)
		note_subject(s, w[0].text, w[2].text);
	else if (lua_is_symbol(&w[1], ".") && w[2].type == LUA_NAME)
		note_subject(s, w[0].text, w[2].text);
}

/* Returns the change of the nesting of blocks by a word. Loops count by their `do`. */
static int nesting_of(const struct lua_token *token)
{
	static const char *const openers[] = { "do", "function", "if", "repeat" };

	for (size_t i = 0; i < sizeof openers / sizeof openers[0]; i++) {
		if (lua_is_name(token, openers[i]))
			return 1;
	}
	return lua_is_name(token, "end") || lua_is_name(token, "until") ? -1 : 0;
}

/* Whether two of the names are options of every version. */
static bool holds_options(const struct subject *subject)
{
	static const char *const known[] = { "depends", "priority", "retries", "tags" };
	int count = 0;

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		count += has_name(&subject->names, str_from(known[i]));
	return count >= 2;
}

/* `text` begins with the parameters of a put, or with the word `function` before them. */
static void collect_options(struct qless_str text, struct script_names *options)
{
	struct subjects subjects;
	struct tokens tokens;
	int depth = 1;

	subjects.count = 0;
	begin_tokens(&tokens, text);
	while (has_token(&tokens) && !lua_is_symbol(&tokens.window[0], "("))
		next_token(&tokens);
	for (; has_token(&tokens) && depth > 0; next_token(&tokens)) {
		depth += nesting_of(&tokens.window[0]);
		look_for_option(&tokens, &subjects);
	}
	for (size_t i = 0; i < subjects.count; i++) {
		const struct script_names *names = &subjects.items[i].names;

		for (size_t k = 0; holds_options(&subjects.items[i]) && k < names->count; k++)
			add_name(options, names->items[k]);
	}
}

/* Whether the window begins with `function queue:put`. */
static bool is_put_method(const struct lua_token *w)
{
	return lua_is_name(&w[0], "function") && w[1].type == LUA_NAME &&
	       lua_is_symbol(&w[2], ":") && lua_is_name(&w[3], "put");
}

void recognise_parts(struct qless_str script, struct script_parts *ret_parts)
{
	struct definition definition;
	const struct table *table;
	struct tokens tokens;
	struct look l;
	int puts = 0;

	ret_parts->commands.count = 0;
	ret_parts->put_options.count = 0;
	look_at_script(script, &l, &table);
	for (begin_tokens(&tokens, script); has_token(&tokens); next_token(&tokens)) {
		struct qless_str put = STR("");

		if (is_put_method(tokens.window)) {
			put = text_after(&tokens, &tokens.window[3]);
		} else if (read_function(&tokens, &definition)) {
			if (str_equal(definition.name, STR("put")))
				put = definition.after;
			if (table != NULL && str_equal(definition.table, table->name))
				add_name(&ret_parts->commands, definition.name);
		}
		if (put.len > 0 && puts++ < PUTS_MAX)
			collect_options(put, &ret_parts->put_options);
	}
}

/* ---- */

const char *recognise_refusal(enum script_kind kind)
{
	switch (kind) {
	case SCRIPT_CLASSIC:
		return NULL;
	case SCRIPT_REQLESS:
		return "This script belongs to reqless, whose commands qlessd does not know; "
		       "qlessd runs the scripts of qless";
	case SCRIPT_ANCIENT:
		return "This script belongs to a qless before 0.10; qlessd runs the scripts of "
		       "qless 0.10 and later";
	case SCRIPT_UNKNOWN:
		break;
	}
	return "qlessd is a server for job queues and runs qless scripts only: this one does not "
	       "define the commands of qless; libraries that keep their jobs in Redis itself, such "
	       "as BullMQ, Sidekiq, RQ and Celery, need Redis";
}
