/*
 * Lines of the configuration, and their words.
 */
#include "config/config_int.h"
#include "util/escape.h"
#include "util/mem.h"

/* Bytes of a word that a message shows. */
#define BRIEF_BYTES 64

void config_list_add(struct config_list *list, struct qless_str word)
{
	list->words = mem_realloc_array(list->words, list->count + 1, sizeof list->words[0]);
	list->words[list->count++] = mem_dup(word.ptr, word.len);
}

void config_list_copy(struct config_list *to, const struct config_list *from)
{
	*to = (struct config_list){ .count = 0 };
	for (size_t i = 0; i < from->count; i++)
		config_list_add(to, str_from(from->words[i]));
}

bool config_list_equal(const struct config_list *a, const struct config_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->words[i], b->words[i]) != 0)
			return false;
	}
	return true;
}

void config_list_done(struct config_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->words[i]);
	free(list->words);
	*list = (struct config_list){ .count = 0 };
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

/* Read a quoted part that begins at *at. *at advances to the byte after it. */
static const char *split_quoted(struct qless_str line, size_t *at, struct buf *word)
{
	char quote = line.ptr[*at];

	for (size_t i = *at + 1; i < line.len; i++) {
		char c = line.ptr[i];

		if (c == quote) {
			*at = i + 1;
			if (*at < line.len && !is_blank(line.ptr[*at]))
				return "a closing quote must end the word";
			return NULL;
		}
		if (c == '\\' && i + 1 < line.len && (quote == '"' || line.ptr[i + 1] == '\'')) {
			const char *next;

			c = escape_read(line.ptr + i + 1, line.ptr + line.len, &next);
			i = (size_t)(next - line.ptr) - 1;
		}
		if (c == '\0')
			return "a NUL byte cannot be in a word";
		buf_append_char(word, c);
	}
	return "a quote is not closed";
}

const char *config_split(struct qless_str line, struct config_list *words)
{
	struct buf word = BUF_INIT(BUF_NO_MAX);
	const char *wrong = NULL;
	size_t at = 0;

	while (wrong == NULL) {
		while (at < line.len && is_blank(line.ptr[at]))
			at++;
		if (at == line.len)
			break;
		buf_clear(&word);
		while (wrong == NULL && at < line.len && !is_blank(line.ptr[at])) {
			char c = line.ptr[at];

			if (c == '"' || c == '\'') {
				wrong = split_quoted(line, &at, &word);
			} else if (c == '\0') {
				wrong = "a NUL byte cannot be in a word";
			} else {
				buf_append_char(&word, c);
				at++;
			}
		}
		if (wrong == NULL && words->count == CONFIG_VALUE_MAX_WORDS + 1)
			wrong = "too many words";
		if (wrong == NULL)
			config_list_add(words, buf_str(&word));
	}
	buf_done(&word);
	return wrong;
}

static bool is_plain(char c)
{
	return (unsigned char)c > 0x20 && c != 0x7f && c != '"' && c != '\'' && c != '\\';
}

static void append_escaped(char c, struct buf *out)
{
	char escape[ESCAPE_MAX];

	if (c == ' ' || c == '\'' || is_plain(c))
		buf_append_char(out, c);
	else
		buf_append(out, escape, (size_t)(escape_write(escape, c) - escape));
}

void config_escape(struct qless_str word, struct buf *out)
{
	for (size_t i = 0; i < word.len; i++)
		append_escaped(word.ptr[i], out);
}

void config_quote(struct qless_str word, struct buf *out)
{
	bool plain = word.len != 0;

	for (size_t i = 0; i < word.len; i++)
		plain = plain && is_plain(word.ptr[i]);
	if (plain) {
		buf_append_str(out, word);
		return;
	}
	buf_append_char(out, '"');
	config_escape(word, out);
	buf_append_char(out, '"');
}

void config_escape_briefly(struct qless_str word, struct buf *out)
{
	bool is_cut = word.len > BRIEF_BYTES;

	config_escape(is_cut ? str_make(word.ptr, BRIEF_BYTES) : word, out);
	if (is_cut)
		buf_append_str(out, STR("..."));
}

void config_quote_briefly(struct qless_str word, struct buf *out)
{
	buf_append_char(out, '"');
	config_escape_briefly(word, out);
	buf_append_char(out, '"');
}

bool config_next_line(struct qless_str *text, struct qless_str *ret_line)
{
	const char *end;

	if (text->len == 0)
		return false;
	end = memchr(text->ptr, '\n', text->len);
	*ret_line = str_make(text->ptr, end != NULL ? (size_t)(end - text->ptr) : text->len);
	text->ptr += ret_line->len;
	text->len -= ret_line->len;
	if (text->len != 0) {
		text->ptr++;
		text->len--;
	}
	if (ret_line->len != 0 && ret_line->ptr[ret_line->len - 1] == '\r')
		ret_line->len--;
	return true;
}

bool config_line_is_void(struct qless_str line)
{
	size_t at = 0;

	while (at < line.len && is_blank(line.ptr[at]))
		at++;
	return at == line.len || line.ptr[at] == '#';
}
