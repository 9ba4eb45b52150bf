/*
 * The text is read twice. The first pass looks at a block at a time: it marks all quotes, and
 * refuses the bytes that need a closer look anywhere. After that each quote begins or ends a
 * string, and the second pass goes from mark to mark. It checks no bound, because the last byte of
 * the text is a brace, which ends whatever it follows.
 */
#include "util/json_flat.h"

#include <string.h>

#include "util/block.h"

#define WORD_BITS 64

typedef signed char signed_block __attribute__((vector_size(BLOCK_BYTES)));

/* The quotes, a bit for each byte of the text. */
struct quotes {
	uint64_t words[JSON_FLAT_BYTES / WORD_BITS];
	size_t last; /* the last word that has bits of the text */
};

/* The bytes of a block that no flat object has: control characters and backslashes, and unless the
 * text is known to be valid, bytes beyond ASCII, which are negative here. */
static inline block find_others(block b, bool is_valid)
{
	return (is_valid ? (block)(b < ' ') : (block)((signed_block)b < ' ')) | (block)(b == '\\');
}

/* Marks the quotes of a text of BLOCK_BYTES or more. Returns false if it has other bytes than a
 * flat object. */
static inline bool mark_quotes(struct qless_str text, bool is_valid, struct quotes *quotes)
{
	block b, others = { 0 };
	size_t at = 0;

	*quotes = (struct quotes){ .last = (text.len - 1) / WORD_BITS };
	for (; text.len - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
		b = block_load(text.ptr + at);
		others |= find_others(b, is_valid);
		quotes->words[at / WORD_BITS] |= (uint64_t)block_marks((block)(b == '"'))
						 << at % WORD_BITS;
	}
	if (at < text.len) {
		/* The last block overlaps the one before it. */
		b = block_load(text.ptr + text.len - BLOCK_BYTES);
		others |= find_others(b, is_valid);
		quotes->words[at / WORD_BITS] |= (uint64_t)block_marks((block)(b == '"')) >>
						 (at + BLOCK_BYTES - text.len) << at % WORD_BITS;
	}
	return block_marks(others) == 0;
}

/* Returns the offset after the string whose opening quote is there; 0 if it does not end. */
static inline size_t skip_string(const struct quotes *quotes, size_t at)
{
	size_t word = (at + 1) / WORD_BITS;
	uint64_t bits = quotes->words[word] >> (at + 1) % WORD_BITS;

	if (__builtin_expect(bits != 0, 1))
		return at + 2 + (size_t)__builtin_ctzll(bits);
	while (++word <= quotes->last) {
		if (quotes->words[word] != 0)
			return word * WORD_BITS + 1 + (size_t)__builtin_ctzll(quotes->words[word]);
	}
	return 0;
}

static inline size_t skip_spaces(const char *text, size_t at)
{
	while (__builtin_expect(text[at] == ' ', 0))
		at++;
	return at;
}

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Returns the offset after a number whose digits begin there; 0 if it is not one. */
static inline size_t skip_digits(const char *text, size_t at, bool *has_fraction)
{
	size_t whole = at;

	do
		at++;
	while (is_digit(text[at]));
	if (text[whole] == '0' && at - whole > 1)
		return 0;
	if (text[at] != '.')
		return at;
	*has_fraction = true;
	if (!is_digit(text[++at]))
		return 0;
	while (is_digit(text[at]))
		at++;
	return at;
}

/* Returns the offset after true, false or null; 0 if there is something else. */
static __attribute__((noinline)) size_t skip_word(struct qless_str text, size_t at)
{
	static const struct qless_str words[] = { STR_INIT("true"), STR_INIT("false"),
						  STR_INIT("null") };

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		if (text.len - at > words[i].len &&
		    memcmp(text.ptr + at, words[i].ptr, words[i].len) == 0)
			return at + words[i].len;
	}
	return 0;
}

/* Returns the offset after a string, number or word; 0 if there is something else. */
static inline size_t skip_value(struct qless_str text, const struct quotes *quotes, size_t at,
				bool *has_fraction)
{
	if (text.ptr[at] == '"')
		return skip_string(quotes, at);
	if (is_digit(text.ptr[at]))
		return skip_digits(text.ptr, at, has_fraction);
	if (text.ptr[at] == '-' && is_digit(text.ptr[at + 1]))
		return skip_digits(text.ptr, at + 1, has_fraction);
	return skip_word(text, at);
}

static inline __attribute__((always_inline)) bool read_flat(struct qless_str text, bool is_valid,
							    struct json_flat *ret_flat)
{
	/* cppcheck-suppress ctuuninitvar; the members are written, not read */
	struct json_flat_member *member = ret_flat->members;
	struct quotes quotes;
	size_t at = 0;

	if (text.len < BLOCK_BYTES || text.len > JSON_FLAT_BYTES || *text.ptr != '{' ||
	    text.ptr[text.len - 1] != '}' || !mark_quotes(text, is_valid, &quotes))
		return false;
	ret_flat->has_fraction = false;
	do {
		size_t name = skip_spaces(text.ptr, at + 1), name_end, value;

		if (text.ptr[name] != '"' || member == ret_flat->members + JSON_FLAT_MEMBERS)
			return false;
		name_end = skip_string(&quotes, name);
		if (name_end == 0)
			return false;
		at = skip_spaces(text.ptr, name_end);
		if (text.ptr[at] != ':')
			return false;
		value = skip_spaces(text.ptr, at + 1);
		at = skip_value(text, &quotes, value, &ret_flat->has_fraction);
		if (at == 0)
			return false;
		member->name = (uint16_t)name;
		member->name_end = (uint16_t)name_end;
		member->value = (uint16_t)value;
		member->value_end = (uint16_t)at;
		member++;
		at = skip_spaces(text.ptr, at);
	} while (text.ptr[at] == ',');
	ret_flat->count = (unsigned)(member - ret_flat->members);
	return at == text.len - 1;
}

bool json_flat_read(struct qless_str text, struct json_flat *ret_flat)
{
	return read_flat(text, false, ret_flat);
}

bool json_flat_read_valid(struct qless_str text, struct json_flat *ret_flat)
{
	return read_flat(text, true, ret_flat);
}
