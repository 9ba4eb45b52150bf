#include "command/synopsis.h"

#include <assert.h>
#include <stddef.h>

/*
 * A run of arguments while it is parsed, from left to right. Later text can change arguments that
 * are parsed already: "..." repeats the argument before it, and "x [x ...]" becomes one argument.
 */
struct run {
	int args[SYNOPSIS_MAX_ARGS];
	int count;
	struct qless_str
		token; /* a literal word whose argument may follow; empty if there is none */
};

struct parser {
	const char *at;
	struct synopsis *out;
	bool failed;
};

/* The types of arguments by name. All others are strings. */
static const struct {
	const char *name;
	enum synopsis_type type;
} known_types[] = {
	{ "client-id", SYNOPSIS_INTEGER },    { "count", SYNOPSIS_INTEGER },
	{ "cursor", SYNOPSIS_INTEGER },	      { "db", SYNOPSIS_INTEGER },
	{ "index", SYNOPSIS_INTEGER },	      { "limit", SYNOPSIS_INTEGER },
	{ "milliseconds", SYNOPSIS_INTEGER }, { "numkeys", SYNOPSIS_INTEGER },
	{ "offset", SYNOPSIS_INTEGER },	      { "protover", SYNOPSIS_INTEGER },
	{ "start", SYNOPSIS_INTEGER },	      { "stop", SYNOPSIS_INTEGER },
	{ "seconds", SYNOPSIS_DOUBLE },	      { "timeout", SYNOPSIS_DOUBLE },
	{ "pattern", SYNOPSIS_PATTERN },
};

static int parse_alternatives(struct parser *p);

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

static bool is_word(char c)
{
	return c != '\0' && !is_blank(c) && strchr("[]<>|", c) == NULL;
}

static bool is_literal(struct qless_str word)
{
	bool upper = false;

	/* Skip the closing quote of a quoted word. */
	if (word.ptr[word.len] == '\'')
		return true;
	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] >= 'a' && word.ptr[i] <= 'z')
			return false;
		upper |= word.ptr[i] >= 'A' && word.ptr[i] <= 'Z';
	}
	return upper;
}

static enum synopsis_type type_of(struct qless_str name)
{
	if (is_literal(name))
		return SYNOPSIS_TOKEN;
	for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++) {
		if (str_equal(name, str_from(known_types[i].name)))
			return known_types[i].type;
	}
	return SYNOPSIS_STRING;
}

static void skip_blanks(struct parser *p)
{
	while (is_blank(*p->at))
		p->at++;
}

static bool take(struct parser *p, const char *text)
{
	size_t len = strlen(text);

	skip_blanks(p);
	if (strncmp(p->at, text, len) != 0)
		return false;
	p->at += len;
	return true;
}

/* Makes an argument that belongs to no run. Returns its index, or -1 if there are too many. */
static int new_arg(struct parser *p, enum synopsis_type type)
{
	struct synopsis *s = p->out;

	if (s->count == SYNOPSIS_MAX_ARGS) {
		p->failed = true;
		return -1;
	}
	s->args[s->count] = (struct synopsis_arg){ .type = type, .child = -1, .next = -1 };
	return s->count++;
}

static void run_push(struct run *r, int arg)
{
	/* A run has no more arguments than there are. */
	assert(r->count < SYNOPSIS_MAX_ARGS);
	r->args[r->count++] = arg;
}

/* Links the last `count` arguments of a run. Returns the first one, or -1 if there is none. */
static int run_link(struct parser *p, const struct run *r, int count)
{
	int first = -1;

	for (int i = 0; i < count; i++) {
		int arg = r->args[r->count - 1 - i];

		p->out->args[arg].next = first;
		first = arg;
	}
	return first;
}

/* Makes one argument of a run: the only one, or a group of all. */
static int run_close(struct parser *p, const struct run *r, enum synopsis_type group)
{
	int arg;

	if (r->count == 1)
		return r->args[0];
	arg = new_arg(p, group);
	if (arg >= 0)
		p->out->args[arg].child = run_link(p, r, r->count);
	return arg;
}

static struct qless_str read_word(struct parser *p)
{
	const char *start = p->at, *end;

	if (*start == '\'') {
		end = strchr(++start, '\'');
		p->failed |= end == NULL;
		p->at = end != NULL ? end + 1 : start;
		return str_make(start, end != NULL ? (size_t)(end - start) : 0);
	}
	while (is_word(*p->at) && strncmp(p->at, "...", 3) != 0)
		p->at++;
	return str_make(start, (size_t)(p->at - start));
}

static int word_arg(struct parser *p, struct qless_str word)
{
	int arg = new_arg(p, type_of(word));

	if (arg < 0)
		return -1;
	p->out->args[arg].name = word;
	if (p->out->args[arg].type == SYNOPSIS_TOKEN)
		p->out->args[arg].token = word;
	return arg;
}

/* a|b|c */
static int parse_words(struct parser *p, struct qless_str first)
{
	struct run words = { .count = 0 };
	int arg = word_arg(p, first);

	while (arg >= 0) {
		run_push(&words, arg);
		if (p->at[0] != '|' || !is_word(p->at[1]))
			return run_close(p, &words, SYNOPSIS_ONEOF);
		p->at++;
		arg = word_arg(p, read_word(p));
	}
	return -1;
}

/* Parses <...> and [...], from the position after the opening bracket. */
static int parse_group(struct parser *p, const char *end, bool optional)
{
	int arg = parse_alternatives(p);

	if (arg >= 0 && take(p, end)) {
		p->out->args[arg].optional |= optional;
		return arg;
	}
	p->failed = true;
	return -1;
}

/* Makes an argument of the pending word, because no argument of the word follows. */
static void settle_token(struct parser *p, struct run *r)
{
	int arg;

	if (r->token.len == 0)
		return;
	arg = word_arg(p, r->token);
	if (arg >= 0)
		run_push(r, arg);
	r->token = str_make(NULL, 0);
}

static bool same_name(const struct synopsis_arg *a, const struct synopsis_arg *b)
{
	return a->type == b->type && a->child < 0 && b->child < 0 && str_equal(a->name, b->name);
}

/* Makes one repeated argument of "x [x ...]". */
static void merge_single(struct parser *p, struct run *r)
{
	const struct synopsis_arg *repeated = &p->out->args[r->args[r->count - 1]];
	struct synopsis_arg *first = &p->out->args[r->args[r->count - 2]];

	if (!same_name(first, repeated))
		return;
	if (repeated->token.len != 0 && !str_equal(first->token, repeated->token))
		return;
	first->multiple = true;
	first->multiple_token = repeated->token.len != 0;
	r->count--;
}

/* Makes one repeated, mandatory block of "x y [x y ...]". */
static void merge_block(struct parser *p, struct run *r)
{
	struct synopsis_arg *args = p->out->args;
	int block = r->args[r->count - 1];
	int inner = args[block].child;
	int length = synopsis_run_length(p->out, inner);

	if (r->count <= length)
		return;
	for (int i = r->count - 1 - length; i < r->count - 1; i++) {
		if (!same_name(&args[r->args[i]], &args[inner]) ||
		    !str_equal(args[r->args[i]].token, args[inner].token))
			return;
		inner = args[inner].next;
	}
	args[block].optional = false;
	r->count -= length;
	r->args[r->count - 1] = block;
}

/* Merges the last argument with those before it, if it only says that they are repeated. */
static void merge_repetition(struct parser *p, struct run *r)
{
	const struct synopsis_arg *last = &p->out->args[r->args[r->count - 1]];

	if (r->count == 1 || !last->optional || !last->multiple)
		return;
	if (last->type == SYNOPSIS_BLOCK)
		merge_block(p, r);
	else
		merge_single(p, r);
}

static void add_arg(struct parser *p, struct run *r, int arg)
{
	if (arg < 0)
		return;
	if (r->token.len != 0 && p->out->args[arg].token.len == 0 && !p->out->args[arg].optional) {
		p->out->args[arg].token = r->token;
		r->token = str_make(NULL, 0);
	}
	settle_token(p, r);
	run_push(r, arg);
}

static void parse_item(struct parser *p, struct run *r)
{
	struct qless_str word;

	if (take(p, "[")) {
		int arg = parse_group(p, "]", true);

		add_arg(p, r, arg);
		if (arg >= 0 && take(p, "...")) {
			p->out->args[arg].multiple = true;
			p->out->args[arg].multiple_token = p->out->args[arg].token.len != 0;
		}
	} else if (take(p, "<")) {
		add_arg(p, r, parse_group(p, ">", false));
	} else {
		word = read_word(p);
		if (word.len == 0) {
			p->failed = true;
		} else if (is_literal(word) && *p->at != '|') {
			settle_token(p, r);
			r->token = word;
		} else {
			add_arg(p, r, parse_words(p, word));
		}
	}
}

/* Parses up to a bar, a closing bracket or the end. Returns one argument, or -1. */
static int parse_run(struct parser *p, bool bracketed)
{
	struct run r = { .count = 0 };
	bool repeat_all = false;
	int arg;

	for (skip_blanks(p); !p->failed && strchr("|]>", *p->at) == NULL; skip_blanks(p)) {
		if (take(p, "...")) {
			settle_token(p, &r);
			if (r.count == 0)
				p->failed = true;
			else if (bracketed && r.count > 1)
				repeat_all = true;
			else
				p->out->args[r.args[r.count - 1]].multiple = true;
			continue;
		}
		parse_item(p, &r);
		if (!p->failed && r.count > 0)
			merge_repetition(p, &r);
	}
	settle_token(p, &r);
	if (p->failed || r.count == 0) {
		p->failed = true;
		return -1;
	}
	arg = run_close(p, &r, SYNOPSIS_BLOCK);
	if (arg >= 0 && repeat_all)
		p->out->args[arg].multiple = true;
	return arg;
}

static int parse_alternatives(struct parser *p)
{
	struct run alternatives = { .count = 0 };

	do {
		int arg = parse_run(p, true);

		if (arg < 0)
			return -1;
		run_push(&alternatives, arg);
	} while (take(p, "|"));
	return run_close(p, &alternatives, SYNOPSIS_ONEOF);
}

bool synopsis_parse(const char *text, struct synopsis *ret_synopsis)
{
	struct parser p = { .at = text, .out = ret_synopsis };
	int arg;

	ret_synopsis->count = 0;
	ret_synopsis->first = -1;
	skip_blanks(&p);
	if (*p.at == '\0')
		return true;
	arg = parse_run(&p, false);
	if (arg < 0 || *p.at != '\0')
		return false;
	/* Arguments outside of brackets are a run, not a group. */
	ret_synopsis->first = ret_synopsis->args[arg].type == SYNOPSIS_BLOCK &&
					      !ret_synopsis->args[arg].optional &&
					      !ret_synopsis->args[arg].multiple
				      ? ret_synopsis->args[arg].child
				      : arg;
	return true;
}

int synopsis_run_length(const struct synopsis *s, int arg)
{
	int length = 0;

	for (; arg >= 0; arg = s->args[arg].next)
		length++;
	return length;
}
