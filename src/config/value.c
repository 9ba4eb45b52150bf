/*
 * The types of directives: text to field, and field to text.
 */
#include <assert.h>
#include <inttypes.h>

#include "config/config_int.h"
#include "util/mem.h"
#include "util/num.h"

/* Seconds that a client may be over its soft limit, at most. */
#define SOFT_LIMIT_MAX_S 31536000

static const char *const class_names[CONFIG_CLIENT_CLASSES] = {
	[CONFIG_CLIENT_NORMAL] = "normal",
	[CONFIG_CLIENT_PUBSUB] = "pubsub",
};

static void *field_of(struct config *cfg, enum config_opt opt)
{
	return (char *)cfg + config_options[opt].offset;
}

static const void *const_field_of(const struct config *cfg, enum config_opt opt)
{
	return (const char *)cfg + config_options[opt].offset;
}

/* Uses the largest unit that gives an integer. */
static void append_bytes(uint64_t bytes, struct buf *out)
{
	static const char *const units[] = { "", "kb", "mb", "gb" };
	size_t unit = 0;

	while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < sizeof units / sizeof units[0]) {
		bytes /= 1024;
		unit++;
	}
	buf_printf(out, "%" PRIu64 "%s", bytes, units[unit]);
}

static void append_choices(const struct config_choice *choice, struct buf *out)
{
	for (const struct config_choice *first = choice; choice->name != NULL; choice++) {
		if (choice != first)
			buf_append_str(out, choice[1].name != NULL ? STR(", ") : STR(" or "));
		buf_append_str(out, str_from(choice->name));
	}
}

/* "expected ..." for a directive with one value. */
static void append_expected(const struct config_option *option, struct buf *why)
{
	buf_append_str(why, STR("expected "));
	switch (option->type) {
	case CONFIG_TYPE_BOOL:
		buf_append_str(why, STR("yes or no"));
		break;
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_COUNT:
	case CONFIG_TYPE_DURATION:
		buf_printf(why, "a whole number from %" PRId64 " to %" PRId64, option->min,
			   option->max);
		break;
	case CONFIG_TYPE_BYTES:
		buf_append_str(why, STR("a size from "));
		append_bytes((uint64_t)option->min, why);
		buf_append_str(why, STR(" to "));
		append_bytes((uint64_t)option->max, why);
		break;
	case CONFIG_TYPE_SHARE:
		buf_append_str(why, STR("a size up to "));
		append_bytes((uint64_t)option->max, why);
		buf_append_str(why, STR(", or 1% to 100%"));
		break;
	case CONFIG_TYPE_MODE:
		buf_printf(why, "octal permissions from 0 to %" PRIo64, (uint64_t)option->max);
		break;
	case CONFIG_TYPE_ENUM:
		append_choices(option->choices, why);
		break;
	case CONFIG_TYPE_STRING:
	case CONFIG_TYPE_PATH:
	case CONFIG_TYPE_LIST:
	case CONFIG_TYPE_LINES:
	case CONFIG_TYPE_OUTPUT_LIMITS:
		buf_append_str(why, STR("one value"));
		break;
	}
}

static bool parse_bool(struct qless_str text, bool *ret_value)
{
	bool yes = str_equal_nocase(text, STR("yes"));

	if (!yes && !str_equal_nocase(text, STR("no")))
		return false;
	*ret_value = yes;
	return true;
}

static bool parse_number(const struct config_option *option, struct qless_str text,
			 int64_t *ret_value)
{
	uint64_t bytes;

	if (option->type != CONFIG_TYPE_BYTES)
		return num_parse_i64(text, ret_value) && *ret_value >= option->min &&
		       *ret_value <= option->max;
	if (!num_parse_bytes(text, &bytes) || bytes < (uint64_t)option->min ||
	    bytes > (uint64_t)option->max)
		return false;
	*ret_value = (int64_t)bytes;
	return true;
}

/* "5%" or "64mb", as Redis writes maxmemory-clients. */
static bool parse_share(const struct config_option *option, struct qless_str text,
			struct config_share *ret_value)
{
	uint64_t bytes;
	int64_t percent;

	if (text.len > 1 && text.ptr[text.len - 1] == '%') {
		if (!num_parse_i64(str_make(text.ptr, text.len - 1), &percent) || percent < 1 ||
		    percent > 100)
			return false;
		*ret_value = (struct config_share){ .percent = (int)percent };
		return true;
	}
	if (!num_parse_bytes(text, &bytes) || bytes > (uint64_t)option->max)
		return false;
	*ret_value = (struct config_share){ .bytes = (size_t)bytes };
	return true;
}

static bool parse_mode(const struct config_option *option, struct qless_str text, mode_t *ret_value)
{
	mode_t mode = 0;

	if (text.len == 0 || text.len > 5)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '7')
			return false;
		mode = mode * 8 + (mode_t)(text.ptr[i] - '0');
	}
	if (mode > (mode_t)option->max)
		return false;
	*ret_value = mode;
	return true;
}

static bool parse_choice(const struct config_choice *choice, struct qless_str text, int *ret_value)
{
	for (; choice->name != NULL; choice++) {
		if (str_equal_nocase(text, str_from(choice->name))) {
			*ret_value = choice->value;
			return true;
		}
	}
	return false;
}

/* Returns false, and leaves the field unchanged, if the text is not a value of the type. */
static bool parse_scalar(const struct config_option *option, struct qless_str text, void *field)
{
	int64_t number;

	switch (option->type) {
	case CONFIG_TYPE_BOOL:
		return parse_bool(text, field);
	case CONFIG_TYPE_SHARE:
		return parse_share(option, text, field);
	case CONFIG_TYPE_MODE:
		return parse_mode(option, text, field);
	case CONFIG_TYPE_ENUM:
		return parse_choice(option->choices, text, field);
	case CONFIG_TYPE_STRING:
	case CONFIG_TYPE_PATH:
		free(*(char **)field);
		*(char **)field = mem_dup(text.ptr, text.len);
		return true;
	default:
		break;
	}
	if (!parse_number(option, text, &number))
		return false;
	if (option->type == CONFIG_TYPE_INT)
		*(int *)field = (int)number;
	else if (option->type == CONFIG_TYPE_DURATION)
		*(int64_t *)field = number;
	else
		*(size_t *)field = (size_t)number;
	return true;
}

static int parse_one(const struct config_option *option, void *field,
		     const struct config_list *words, struct buf *why)
{
	struct qless_str text;

	if (words->count != 1) {
		append_expected(option, why);
		if (words->count == 0)
			buf_append_str(why, STR(", got nothing"));
		else
			buf_printf(why, ", got %zu values", words->count);
		return -1;
	}
	text = str_from(words->words[0]);
	if (parse_scalar(option, text, field))
		return 0;
	append_expected(option, why);
	buf_append_str(why, STR(", got "));
	config_quote_briefly(text, why);
	return -1;
}

/* An empty list is written as one empty word. */
static int parse_list(struct config_list *list, const struct config_list *words, struct buf *why)
{
	bool is_empty = words->count == 1 && words->words[0][0] == '\0';

	if (words->count == 0) {
		buf_append_str(why, STR("expected one or more values, got nothing"));
		return -1;
	}
	for (size_t i = 0; i < words->count && !is_empty; i++) {
		if (words->words[i][0] == '\0') {
			buf_append_str(why, STR("expected no empty value among others"));
			return -1;
		}
	}
	config_list_done(list);
	if (!is_empty)
		config_list_copy(list, words);
	return 0;
}

static void add_line(struct config_lines *lines, const struct config_list *words)
{
	lines->of = mem_realloc_array(lines->of, lines->count + 1, sizeof lines->of[0]);
	config_list_copy(&lines->of[lines->count++], words);
}

static int parse_line(struct config_lines *lines, const struct config_list *words, struct buf *why)
{
	if (words->count == 0 || words->words[0][0] == '\0') {
		buf_append_str(why, STR("expected a name and rules, got nothing"));
		return -1;
	}
	add_line(lines, words);
	return 0;
}

static int refuse(struct buf *why, const char *expected, const char *got)
{
	buf_printf(why, "expected %s, got ", expected);
	config_quote_briefly(str_from(got), why);
	return -1;
}

/* One group: class, hard limit, soft limit, seconds. */
static int parse_output_limit(struct config_output_limits *limits, char *const *words,
			      struct buf *why)
{
	struct config_output_limit *limit = NULL;
	uint64_t hard, soft;
	int64_t seconds;

	for (size_t i = 0; i < CONFIG_CLIENT_CLASSES; i++) {
		if (str_equal_nocase(str_from(words[0]), str_from(class_names[i])))
			limit = &limits->of[i];
	}
	if (limit == NULL)
		return refuse(why, "a class, normal or pubsub", words[0]);
	if (!num_parse_bytes(str_from(words[1]), &hard) || hard > SIZE_MAX)
		return refuse(why, "a size as hard limit", words[1]);
	if (!num_parse_bytes(str_from(words[2]), &soft) || soft > SIZE_MAX)
		return refuse(why, "a size as soft limit", words[2]);
	if (!num_parse_i64(str_from(words[3]), &seconds) || seconds < 0 ||
	    seconds > SOFT_LIMIT_MAX_S)
		return refuse(why, "seconds from 0 to 31536000 for the soft limit", words[3]);
	limit->hard_bytes = (size_t)hard;
	limit->soft_bytes = (size_t)soft;
	limit->soft_s = seconds;
	return 0;
}

/* Classes that are not named keep their limits. */
static int parse_output_limits(struct config_output_limits *limits, const struct config_list *words,
			       struct buf *why)
{
	struct config_output_limits parsed = *limits;

	if (words->count == 0 || words->count % 4 != 0) {
		buf_printf(why,
			   "expected class, hard limit, soft limit and seconds, got %zu value%s",
			   words->count, words->count == 1 ? "" : "s");
		return -1;
	}
	for (size_t i = 0; i < words->count; i += 4) {
		if (parse_output_limit(&parsed, words->words + i, why) != 0)
			return -1;
	}
	*limits = parsed;
	return 0;
}

int config_value_parse(struct config *cfg, enum config_opt opt, const struct config_list *words,
		       struct buf *why)
{
	const struct config_option *option = &config_options[opt];
	void *field = field_of(cfg, opt);
	size_t bytes = 0;

	for (size_t i = 0; i < words->count; i++)
		bytes += strlen(words->words[i]);
	if (bytes > CONFIG_VALUE_MAX_BYTES || words->count > CONFIG_VALUE_MAX_WORDS) {
		buf_printf(why, "expected no more than %zu bytes in %d words, got %zu in %zu",
			   CONFIG_VALUE_MAX_BYTES, CONFIG_VALUE_MAX_WORDS, bytes, words->count);
		return -1;
	}
	switch (option->type) {
	case CONFIG_TYPE_LIST:
		return parse_list(field, words, why);
	case CONFIG_TYPE_LINES:
		return parse_line(field, words, why);
	case CONFIG_TYPE_OUTPUT_LIMITS:
		return parse_output_limits(field, words, why);
	default:
		return parse_one(option, field, words, why);
	}
}

void config_value_dup(struct config *cfg, enum config_opt opt)
{
	void *field = field_of(cfg, opt);
	struct config_lines shared_lines;
	struct config_list shared_list;

	switch (config_options[opt].type) {
	case CONFIG_TYPE_STRING:
	case CONFIG_TYPE_PATH:
		*(char **)field = mem_dup(*(char **)field, strlen(*(char **)field));
		break;
	case CONFIG_TYPE_LIST:
		shared_list = *(struct config_list *)field;
		config_list_copy(field, &shared_list);
		break;
	case CONFIG_TYPE_LINES:
		shared_lines = *(struct config_lines *)field;
		*(struct config_lines *)field = (struct config_lines){ .count = 0 };
		for (size_t i = 0; i < shared_lines.count; i++)
			add_line(field, &shared_lines.of[i]);
		break;
	default:
		break;
	}
}

void config_value_done(struct config *cfg, enum config_opt opt)
{
	void *field = field_of(cfg, opt);
	struct config_lines *lines;

	switch (config_options[opt].type) {
	case CONFIG_TYPE_STRING:
	case CONFIG_TYPE_PATH:
		free(*(char **)field);
		*(char **)field = NULL;
		break;
	case CONFIG_TYPE_LIST:
		config_list_done(field);
		break;
	case CONFIG_TYPE_LINES:
		lines = field;
		for (size_t i = 0; i < lines->count; i++)
			config_list_done(&lines->of[i]);
		free(lines->of);
		*lines = (struct config_lines){ .count = 0 };
		break;
	default:
		break;
	}
}

static const char *choice_name(const struct config_choice *choice, int value)
{
	while (choice->name != NULL && choice->value != value)
		choice++;
	assert(choice->name != NULL);
	return choice->name;
}

/* Style for people: sizes have units, permissions a leading zero, and words their quotes. CONFIG
 * GET has none of these. */
enum style {
	FOR_FILE,
	FOR_CLIENT,
};

static void append_text(const char *text, enum style style, struct buf *out)
{
	if (style == FOR_FILE)
		config_quote(str_from(text), out);
	else
		buf_append_str(out, str_from(text));
}

static void append_size(size_t bytes, enum style style, struct buf *out)
{
	if (style == FOR_FILE)
		append_bytes(bytes, out);
	else
		buf_printf(out, "%zu", bytes);
}

static void append_share(const struct config_share *share, enum style style, struct buf *out)
{
	if (share->percent != 0)
		buf_printf(out, "%d%%", share->percent);
	else
		append_size(share->bytes, style, out);
}

static void append_list(const struct config_list *list, enum style style, struct buf *out)
{
	if (list->count == 0)
		append_text("", style, out);
	for (size_t i = 0; i < list->count; i++) {
		if (i != 0)
			buf_append_char(out, ' ');
		append_text(list->words[i], style, out);
	}
}

static void append_output_limit(const struct config_output_limits *limits, size_t class,
				enum style style, struct buf *out)
{
	const struct config_output_limit *limit = &limits->of[class];

	assert(class < CONFIG_CLIENT_CLASSES);
	buf_printf(out, "%s ", class_names[class]);
	append_size(limit->hard_bytes, style, out);
	buf_append_char(out, ' ');
	append_size(limit->soft_bytes, style, out);
	buf_printf(out, " %" PRId64, limit->soft_s);
}

/* The number of lines of a file that the value takes. */
static size_t count_lines(const struct config *cfg, enum config_opt opt)
{
	const struct config_lines *lines;

	switch (config_options[opt].type) {
	case CONFIG_TYPE_LINES:
		lines = const_field_of(cfg, opt);
		return lines->count;
	case CONFIG_TYPE_OUTPUT_LIMITS:
		return CONFIG_CLIENT_CLASSES;
	default:
		return 1;
	}
}

static void append_line(const struct config *cfg, enum config_opt opt, size_t line,
			enum style style, struct buf *out)
{
	const struct config_option *option = &config_options[opt];
	const void *field = const_field_of(cfg, opt);

	switch (option->type) {
	case CONFIG_TYPE_BOOL:
		buf_append_str(out, *(const bool *)field ? STR("yes") : STR("no"));
		break;
	case CONFIG_TYPE_INT:
		buf_printf(out, "%d", *(const int *)field);
		break;
	case CONFIG_TYPE_COUNT:
		buf_printf(out, "%zu", *(const size_t *)field);
		break;
	case CONFIG_TYPE_BYTES:
		append_size(*(const size_t *)field, style, out);
		break;
	case CONFIG_TYPE_SHARE:
		append_share(field, style, out);
		break;
	case CONFIG_TYPE_DURATION:
		buf_printf(out, "%" PRId64, *(const int64_t *)field);
		break;
	case CONFIG_TYPE_MODE:
		buf_printf(out, style == FOR_FILE ? "%04o" : "%o", *(const mode_t *)field);
		break;
	case CONFIG_TYPE_ENUM:
		append_text(choice_name(option->choices, *(const int *)field), style, out);
		break;
	case CONFIG_TYPE_STRING:
	case CONFIG_TYPE_PATH:
		append_text(*(char *const *)field, style, out);
		break;
	case CONFIG_TYPE_LIST:
		append_list(field, style, out);
		break;
	case CONFIG_TYPE_LINES:
		append_list(&((const struct config_lines *)field)->of[line], style, out);
		break;
	case CONFIG_TYPE_OUTPUT_LIMITS:
		append_output_limit(field, line, style, out);
		break;
	}
}

void config_format(const struct config *cfg, enum config_opt opt, struct buf *out)
{
	for (size_t i = 0; i < count_lines(cfg, opt); i++) {
		if (i != 0)
			buf_append_char(out, ' ');
		append_line(cfg, opt, i, FOR_CLIENT, out);
	}
}

void config_format_lines(const struct config *cfg, enum config_opt opt, struct buf *out)
{
	for (size_t i = 0; i < count_lines(cfg, opt); i++) {
		buf_printf(out, "%s ", config_options[opt].name);
		append_line(cfg, opt, i, FOR_FILE, out);
		buf_append_char(out, '\n');
	}
}

bool config_value_equal(const struct config *a, const struct config *b, enum config_opt opt)
{
	struct buf text_a = BUF_INIT(BUF_NO_MAX), text_b = BUF_INIT(BUF_NO_MAX);
	bool equal;

	/* Different values are never written in the same way. */
	config_format_lines(a, opt, &text_a);
	config_format_lines(b, opt, &text_b);
	equal = str_equal(buf_str(&text_a), buf_str(&text_b));
	buf_done(&text_a);
	buf_done(&text_b);
	return equal;
}
