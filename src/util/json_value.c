/*
 * The text is walked once. The label and the values of the open arrays and objects are written one
 * after the other into a buffer, without white space, and each in the one way that all texts of its
 * value share. At its end, an array or object is replaced by a hash of its bytes. So no byte is
 * copied more than twice, however deeply it is nested.
 *
 *	string		a quote, the characters with a backslash before quotes, backslashes and
 *			control characters, a quote
 *	number		see json_decimal.h
 *	true ...	the first letter
 *	array, object	a mark and a hash. The hash is over the bracket or brace that opens it, and
 *			what is in it: elements with commas between them; or members, each a
 *			string, a colon and a value, in the order of the bytes of these strings
 *
 * The result is the hash over the length of the label, 4 bytes, the label, and the value. An
 * outermost array or object is not hashed before that.
 */
#include "util/json_value.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/block.h"
#include "util/hash.h"
#include "util/json.h"
#include "util/json_decimal.h"
#include "util/mem.h"
#include "util/utf8.h"
#include "util/wire.h"

/* A member of an open object. */
struct json_member {
	uint64_t head; /* the first bytes of the name, as a number that sorts as they do */
	union {
		size_t offset;	  /* in the buffer */
		const char *text; /* once the object ends */
	} at;
	uint32_t name_len;
	uint32_t len; /* of name and value, once the object ends */
};

/* An open array or object. */
struct json_level {
	size_t begin;  /* of its bytes in the buffer */
	size_t member; /* the number of its first member */
	bool is_object;
	bool is_sorted; /* the names so far increase */
};

/* Where the walk reads and where it writes. Passed by value, so that both stay in registers. */
struct cursor {
	const char *at;
	char *to;
};

/* Blocks are read beyond the end of the text, which is copied to where there is room for that. */
#define PADDING ((size_t)2 * BLOCK_BYTES)
/* A value takes at most this many bytes for each byte of its text, unless it is an array or an
 * object; and a few more, because blocks are written as a whole. */
#define GROWTH 2
static_assert(JSON_VALUE_BYTES_MAX <= UINT32_MAX / GROWTH, "lengths have 32 bits");
#define OVERRUN (PADDING + JSON_DECIMAL_ROOM)
/* Begins what stands for an array or an object, and the bytes of that. */
#define CLOSED_MARK  '#'
#define CLOSED_BYTES (1 + HASH_WIDE_BYTES)
/* Bytes of the length of the label. */
#define LENGTH_BYTES 4

void json_value_room_done(struct json_value_room *room)
{
	buf_done(&room->padded);
	buf_done(&room->text);
	buf_done(&room->sorted);
	free(room->members);
	free(room->levels);
	*room = (struct json_value_room){ 0 };
}

/* Frees what a large text needed. */
static void shrink_room(struct json_value_room *room)
{
	if (room->padded.cap + room->text.cap + room->sorted.cap +
		    room->member_cap * sizeof(*room->members) +
		    room->level_cap * sizeof(*room->levels) >
	    JSON_VALUE_KEEP_BYTES)
		json_value_room_done(room);
}

/* The text ends in a NUL. */
static inline const char *skip_blanks(const char *at)
{
	while (__builtin_expect((unsigned char)(*at - 1) < ' ', 0))
		at++;
	return at;
}

/* Makes room for the rest of the text, up to its next array or object, and for that. */
static inline char *make_room(struct json_value_room *room, char *to, const char *at)
{
	size_t left = (size_t)(buf_data(&room->padded) + room->padded.len - at);

	return buf_room(&room->text, to, CLOSED_BYTES + GROWTH * left + OVERRUN);
}

/* ---- values without members ---- */

/* Added to a control character after a backslash: no such character is a quote or a backslash. */
#define CONTROL_OFFSET 0x60

static __attribute__((noinline)) struct cursor put_escape(struct cursor c)
{
	char character[UTF8_MAX];
	size_t len = json_decode_escape(&c.at, character);

	if (*character == '"' || *character == '\\') {
		*c.to++ = '\\';
	} else if ((unsigned char)*character < ' ') {
		*c.to++ = '\\';
		*character = (char)(*character + CONTROL_OFFSET);
	}
	memcpy(c.to, character, len);
	c.to += len;
	return c;
}

/* `at` is at the opening quote. */
static inline struct cursor put_string(struct cursor c)
{
	*c.to++ = *c.at++;
	for (;;) {
		block b = block_load(c.at);
		unsigned marks = block_marks((block)(b == '"') | (block)(b == '\\'));

		memcpy(c.to, &b, BLOCK_BYTES);
		if (marks == 0) {
			c.at += BLOCK_BYTES;
			c.to += BLOCK_BYTES;
			continue;
		}
		c.at += __builtin_ctz(marks);
		c.to += __builtin_ctz(marks);
		if (__builtin_expect(*c.at == '"', 1))
			break;
		c = put_escape(c);
	}
	*c.to++ = *c.at++;
	return c;
}

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Any number. */
static __attribute__((noinline)) struct cursor put_decimal(struct cursor c)
{
	const char *begin = c.at;

	while (is_digit(*c.at) || *c.at == '.' || *c.at == '-' || *c.at == '+' ||
	       (*c.at | 0x20) == 'e')
		c.at++;
	c.to = json_decimal_put(c.to, str_make(begin, (size_t)(c.at - begin)));
	return c;
}

/* Whether a whole number is written as it is. That is not so for -0 and long ones that end in 0. */
static inline bool is_kept(const char *begin, const char *end)
{
	return end[-1] != '0' ||
	       (*begin != '-' ? end - begin <= JSON_DECIMAL_WHOLE
			      : end - begin > 2 && end - begin <= JSON_DECIMAL_WHOLE);
}

/* Most numbers are whole, and are written as they are. */
static inline struct cursor put_number(struct cursor c)
{
	const char *at = c.at;
	char *to = c.to;

	if (*at == '-')
		*to++ = *at++;
	while (is_digit(*at))
		*to++ = *at++;
	if (*at == '.' || (*at | 0x20) == 'e' || !is_kept(c.at, at))
		return put_decimal(c);
	return (struct cursor){ at, to };
}

/* ---- objects and arrays ---- */

static inline struct qless_str name_of(const struct json_member *member)
{
	return str_make(member->at.text, member->name_len);
}

/* The first bytes of a name, where more bytes may be read. */
static inline uint64_t head_of(const char *name, size_t len)
{
	uint64_t head = __builtin_bswap64(wire_get_u64((const unsigned char *)name));

	return len >= sizeof head ? head : head & ~(UINT64_MAX >> 8 * len);
}

static inline int compare_names(const struct json_member *a, const struct json_member *b)
{
	if (__builtin_expect(a->head != b->head, 1))
		return a->head < b->head ? -1 : 1;
	return str_compare(name_of(a), name_of(b));
}

/* Orders members by name, and those with one name by their place. */
static inline int compare_members(const struct json_member *a, const struct json_member *b)
{
	int order = compare_names(a, b);

	return order != 0 ? order : (a->at.text > b->at.text) - (a->at.text < b->at.text);
}

static int compare_for_qsort(const void *a, const void *b)
{
	return compare_members(a, b);
}

/* Objects with more members are left to the C library. */
#define FEW_MEMBERS 12

static void sort_members(struct json_member *members, size_t count)
{
	if (count > FEW_MEMBERS) {
		qsort(members, count, sizeof(*members), compare_for_qsort);
		return;
	}
	for (struct json_member *next = members + 1; next < members + count; next++) {
		struct json_member member = *next;
		struct json_member *to = next;

		for (; to > members && compare_members(to - 1, &member) > 0; to--)
			*to = to[-1];
		*to = member;
	}
}

/* Returns the bytes of an object, from `begin` to `end` in the buffer, with its members in their
 * order: of each name the last. */
static struct qless_str order_members(struct json_value_room *room, const char *begin,
				      const char *end, struct json_member *members, size_t count)
{
	const char *text = buf_data(&room->text);
	const char *first = text + members->at.offset;
	struct json_member *last = members + count - 1, *member;
	char *to = buf_reserve(&room->sorted, (size_t)(end - begin));

	for (member = last; member >= members; member--) {
		member->at.text = text + member->at.offset;
		member->len = (uint32_t)(end - member->at.text);
		end = member->at.text;
	}
	sort_members(members, count);
	memcpy(to, begin, (size_t)(first - begin));
	to += first - begin;
	for (member = members; member <= last; member++) {
		if (member < last && compare_names(member, member + 1) == 0)
			continue;
		memcpy(to, member->at.text, member->len);
		to += member->len;
	}
	return str_make(buf_data(&room->sorted), (size_t)(to - buf_data(&room->sorted)));
}

static inline struct cursor open_level(struct json_value_room *room, struct cursor c)
{
	room->levels = mem_grow(room->levels, &room->level_cap, room->level_count + 1,
				sizeof(*room->levels));
	room->levels[room->level_count] = (struct json_level){
		.begin = room->level_count > 0 ? (size_t)(c.to - buf_data(&room->text)) : 0,
		.member = room->member_count,
		.is_object = *c.at == '{',
		.is_sorted = true
	};
	room->level_count++;
	*c.to++ = *c.at;
	c.at = skip_blanks(c.at + 1);
	return c;
}

/* Replaces the innermost array or object by its hash. */
static struct cursor close_level(struct json_value_room *room, struct cursor c)
{
	const struct json_level *level = &room->levels[--room->level_count];
	char *begin = buf_data(&room->text) + level->begin;
	struct qless_str bytes = str_make(begin, (size_t)(c.to - begin));

	if (!level->is_sorted)
		bytes = order_members(room, begin, c.to, room->members + level->member,
				      room->member_count - level->member);
	room->member_count = level->member;
	hash_bytes_wide(bytes, (unsigned char *)begin + 1);
	*begin = CLOSED_MARK;
	c.at++;
	c.to = make_room(room, begin + CLOSED_BYTES, c.at);
	return c;
}

/* Writes the name of the next member of the innermost object, and skips its colon. */
static inline struct cursor put_name(struct json_value_room *room, struct cursor c)
{
	struct json_level *level = &room->levels[room->level_count - 1];
	struct json_member *member;
	const char *name = c.to;

	room->members = mem_grow(room->members, &room->member_cap, room->member_count + 1,
				 sizeof(*room->members));
	member = &room->members[room->member_count];
	c.at = skip_blanks(c.at);
	c = put_string(c);
	c.at = skip_blanks(c.at) + 1;
	member->at.offset = (size_t)(name - buf_data(&room->text));
	member->name_len = (uint32_t)(c.to - name);
	*c.to++ = ':';
	member->head = head_of(name, member->name_len);
	/* Names that begin alike are compared later. */
	if (room->member_count++ > level->member && member[-1].head >= member->head)
		level->is_sorted = false;
	return c;
}

/* Walks from the end of a value to the next value: over ends of arrays and objects, and a comma. */
static inline struct cursor put_ends(struct json_value_room *room, struct cursor c)
{
	for (;; c = close_level(room, c)) {
		if (room->level_count == 0)
			return c;
		c.at = skip_blanks(c.at);
		if (*c.at == ',')
			break;
	}
	c.at++;
	if (room->levels[room->level_count - 1].is_object)
		return put_name(room, c);
	*c.to++ = ',';
	return c;
}

/* Writes a value, or the beginning of an array or object, up to the next value. */
static inline struct cursor put_value(struct json_value_room *room, struct cursor c)
{
	c.at = skip_blanks(c.at);
	switch (*c.at) {
	case '"':
		c = put_string(c);
		break;
	case '{':
		c = open_level(room, c);
		if (*c.at != '}')
			return put_name(room, c);
		c = close_level(room, c);
		break;
	case '[':
		c = open_level(room, c);
		if (*c.at != ']')
			return c;
		c = close_level(room, c);
		break;
	case 't':
	case 'f':
	case 'n':
		*c.to++ = *c.at;
		c.at += *c.at == 'f' ? strlen("false") : strlen("true");
		break;
	default:
		c = put_number(c);
	}
	return put_ends(room, c);
}

/* ---- flat objects ---- */

/* Most data is a flat object. Its members are copied once, into their order. */

/* Bytes of the longest label of a flat object. */
#define FLAT_LABEL 128
/* Bytes that wire_put_bytes() may write after a short text. */
#define SPARE_BYTES 8

/* Small, because members move while they are put in order. */
struct flat_member {
	uint64_t head;
	const struct json_flat_member *member;
};

/* Inserts a member in its order. Returns false if the heads of two names are equal. */
static inline bool insert_flat(struct flat_member *members, size_t count, struct flat_member member)
{
	struct flat_member *to = members + count;

	for (; to > members && to[-1].head > member.head; to--)
		*to = to[-1];
	*to = member;
	return to == members || to[-1].head != member.head;
}

/* Orders the members. Returns false if the heads of two names are equal. */
static inline bool order_flat(const char *text, const struct json_flat *flat,
			      struct flat_member members[JSON_FLAT_MEMBERS])
{
	for (unsigned i = 0; i < flat->count; i++) {
		const struct json_flat_member *m = &flat->members[i];
		const unsigned char *name = (const unsigned char *)text + m->name;
		uint64_t head = wire_get_word(name, (size_t)m->name_end - m->name);

		if (!insert_flat(members, i, (struct flat_member){ __builtin_bswap64(head), m }))
			return false;
	}
	return true;
}

static inline char *put_bytes(char *to, const char *from, const char *end)
{
	size_t len = (size_t)(end - from);

	/* The length of most members, so it is tested first. */
	if (__builtin_expect(len > 16 && len <= 32, 1)) {
		memcpy(to, from, 16);
		memcpy(to + len - 16, from + len - 16, 16);
	} else {
		wire_put_bytes((unsigned char *)to, (const unsigned char *)from, len);
	}
	return to + len;
}

/* Writes a name, a colon and a value. Returns NULL if the value is a number that is not written as
 * it is. */
static inline char *put_flat(char *to, const char *text, const struct json_flat_member *m)
{
	const char *value = text + m->value, *end = text + m->value_end;

	if (*value != '"') {
		if (*value == 't' || *value == 'f' || *value == 'n')
			end = value + 1;
		else if (!is_kept(value, end))
			return NULL;
	}
	if (m->value == m->name_end + 1)
		return put_bytes(to, text + m->name, end);
	to = put_bytes(to, text + m->name, text + m->name_end);
	*to++ = ':';
	return put_bytes(to, value, end);
}

bool json_hash_flat(struct qless_str label, const char *text, const struct json_flat *flat,
		    unsigned char ret_hash[HASH_WIDE_BYTES])
{
	struct flat_member members[JSON_FLAT_MEMBERS];
	char out[LENGTH_BYTES + FLAT_LABEL + 1 + JSON_FLAT_BYTES + SPARE_BYTES];
	char *to = out + LENGTH_BYTES;

	if (label.len > FLAT_LABEL || flat->has_fraction || !order_flat(text, flat, members))
		return false;
	wire_put_u32((unsigned char *)out, (uint32_t)label.len);
	wire_put_bytes((unsigned char *)to, (const unsigned char *)label.ptr, label.len);
	to += label.len;
	*to++ = '{';
	for (unsigned i = 0; i < flat->count; i++) {
		to = put_flat(to, text, members[i].member);
		if (to == NULL)
			return false;
	}
	hash_bytes_wide(str_make(out, (size_t)(to - out)), ret_hash);
	return true;
}

/* ---- any text ---- */

/* Copies the text to where more bytes may be read after it. */
static const char *pad(struct json_value_room *room, struct qless_str text)
{
	char *to;

	room->padded.max = room->text.max = room->sorted.max = BUF_NO_MAX;
	room->padded.len = 0;
	to = buf_reserve(&room->padded, text.len + PADDING);
	memcpy(to, text.ptr, text.len);
	memset(to + text.len, 0, PADDING);
	room->padded.len = text.len;
	return to;
}

/* Writes the label where the values follow. */
static char *put_label(struct json_value_room *room, struct qless_str label)
{
	char *to;

	room->text.len = 0;
	to = buf_reserve(&room->text, LENGTH_BYTES + label.len);
	wire_put_u32((unsigned char *)to, (uint32_t)label.len);
	if (label.len > 0)
		memcpy(to + LENGTH_BYTES, label.ptr, label.len);
	return to + LENGTH_BYTES + label.len;
}

void json_hash_value(struct qless_str label, struct qless_str text, struct json_value_room *room,
		     unsigned char ret_hash[HASH_WIDE_BYTES])
{
	struct json_flat flat;
	struct cursor c;
	bool is_leaf;

	assert(text.len > 0);
	if (json_flat_read_valid(text, &flat) && json_hash_flat(label, text.ptr, &flat, ret_hash))
		return;
	assert(room->level_count == 0 && room->member_count == 0);
	assert(label.len <= UINT32_MAX && text.len <= JSON_VALUE_BYTES_MAX);
	c.at = skip_blanks(pad(room, text));
	c.to = make_room(room, put_label(room, label), c.at);
	is_leaf = *c.at != '{' && *c.at != '[';
	do {
		c = put_value(room, c);
	} while (room->level_count > 0);
	text = str_make(buf_data(&room->text), (size_t)(c.to - buf_data(&room->text)));
	if (is_leaf)
		hash_bytes_wide(text, ret_hash);
	else
		memcpy(ret_hash, text.ptr + 1, HASH_WIDE_BYTES);
	shrink_room(room);
}
