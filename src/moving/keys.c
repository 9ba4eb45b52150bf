#include "moving/keys.h"

#include <assert.h>
#include <stdlib.h>

#include "util/container.h"
#include "util/mem.h"
#include "util/num.h"

static const struct qless_str type_names[KEY_TYPES] = {
	[KEY_HASH] = STR_INIT("hash"), [KEY_LIST] = STR_INIT("list"),	[KEY_SET] = STR_INIT("set"),
	[KEY_ZSET] = STR_INIT("zset"), [KEY_OTHER] = STR_INIT("other"),
};

const char *key_type_text(enum key_type type)
{
	return type_names[type].ptr;
}

enum key_type key_type_from(struct qless_str text)
{
	for (int type = 0; type < KEY_OTHER; type++) {
		if (str_equal(text, type_names[type]))
			return (enum key_type)type;
	}
	return KEY_OTHER;
}

/* ---- one key ---- */

struct key *key_new(struct qless_str name, enum key_type type)
{
	struct key *key = mem_zalloc(sizeof *key + name.len);

	if (name.len > 0)
		memcpy(key + 1, name.ptr, name.len);
	key->name = str_make((const char *)(key + 1), name.len);
	key->type = type;
	buf_init(&key->content, BUF_NO_MAX);
	return key;
}

void key_free(struct key *key)
{
	if (key == NULL)
		return;
	buf_done(&key->content);
	free(key);
}

static void add(struct key *key, struct qless_str element)
{
	uint64_t len = element.len;

	buf_append(&key->content, &len, sizeof len);
	buf_append_str(&key->content, element);
}

void key_add(struct key *key, struct qless_str element)
{
	assert(key_type_stride(key->type) == 1);
	add(key, element);
	key->count++;
}

void key_add_pair(struct key *key, struct qless_str first, struct qless_str second)
{
	assert(key_type_stride(key->type) == 2);
	add(key, first);
	add(key, second);
	key->count++;
}

void key_end(struct key *key)
{
	buf_shrink(&key->content, key->content.len);
}

bool key_next(const struct key *key, size_t *at, struct qless_str *ret_element)
{
	const char *bytes;
	uint64_t len;

	if (*at >= key->content.len)
		return false;
	bytes = buf_data(&key->content) + *at;
	memcpy(&len, bytes, sizeof len);
	*ret_element = str_make(bytes + sizeof len, (size_t)len);
	*at += sizeof len + (size_t)len;
	return true;
}

bool key_next_pair(const struct key *key, size_t *at, struct qless_str *ret_first,
		   struct qless_str *ret_second)
{
	return key_next(key, at, ret_first) && key_next(key, at, ret_second);
}

struct qless_str key_field(const struct key *key, struct qless_str field)
{
	struct qless_str name, value;
	size_t at = 0;

	while (key_next_pair(key, &at, &name, &value)) {
		if (str_equal(name, field))
			return value;
	}
	return str_make(NULL, 0);
}

/* ---- comparing ---- */

static bool is_same(const struct key *key, key_same_fn *same, struct qless_str field,
		    struct qless_str a, struct qless_str b)
{
	return str_equal(a, b) || (same != NULL && same(key, field, a, b));
}

static bool equal_hashes(const struct key *a, const struct key *b, key_same_fn *same)
{
	struct qless_str field, value, other;
	size_t at = 0;

	while (key_next_pair(a, &at, &field, &value)) {
		other = key_field(b, field);
		if (other.ptr == NULL || !is_same(a, same, field, value, other))
			return false;
	}
	return true;
}

static int compare_elements(const void *a, const void *b)
{
	return str_compare(*(const struct qless_str *)a, *(const struct qless_str *)b);
}

static struct qless_str *sorted_elements(const struct key *key)
{
	struct qless_str *list = mem_realloc_array(NULL, key->count + 1, sizeof *list);
	size_t at = 0;

	for (size_t i = 0; i < key->count; i++)
		key_next(key, &at, &list[i]);
	if (key->count > 0)
		qsort(list, key->count, sizeof *list, compare_elements);
	return list;
}

static bool equal_sets(const struct key *a, const struct key *b)
{
	struct qless_str *x = sorted_elements(a);
	struct qless_str *y = sorted_elements(b);
	bool equal = true;

	for (size_t i = 0; i < a->count && equal; i++)
		equal = str_equal(x[i], y[i]);
	free(x);
	free(y);
	return equal;
}

static bool equal_scores(struct qless_str a, struct qless_str b)
{
	double x, y;

	return str_equal(a, b) || (num_parse_lua(a, &x) && num_parse_lua(b, &y) && x == y);
}

static bool equal_zsets(const struct key *a, const struct key *b)
{
	struct qless_str member, score, other, other_score;
	size_t at = 0, other_at = 0;

	while (key_next_pair(a, &at, &member, &score)) {
		if (!key_next_pair(b, &other_at, &other, &other_score) ||
		    !str_equal(member, other) || !equal_scores(score, other_score))
			return false;
	}
	return true;
}

static bool equal_lists(const struct key *a, const struct key *b, key_same_fn *same)
{
	struct qless_str x, y;
	size_t at = 0, other_at = 0;

	while (key_next(a, &at, &x)) {
		if (!key_next(b, &other_at, &y) || !is_same(a, same, STR(""), x, y))
			return false;
	}
	return true;
}

bool key_equal(const struct key *a, const struct key *b, key_same_fn *same)
{
	if (a->type != b->type || a->count != b->count)
		return false;
	switch (a->type) {
	case KEY_HASH:
		return equal_hashes(a, b, same);
	case KEY_SET:
		return equal_sets(a, b);
	case KEY_ZSET:
		return equal_zsets(a, b);
	case KEY_LIST:
		return equal_lists(a, b, same);
	case KEY_OTHER:
	case KEY_TYPES:
		break;
	}
	return true;
}

/* ---- many of them ---- */

static struct key *key_from_node(const struct hash_node *node)
{
	return container_of((struct hash_node *)(uintptr_t)node, struct key, hash);
}

static struct qless_str key_name(const struct hash_node *node)
{
	return key_from_node(node)->name;
}

void keys_init(struct keys *keys, uint64_t seed)
{
	hash_init(&keys->table, key_name, seed);
	keys->bytes = 0;
}

void keys_done(struct keys *keys)
{
	struct hash_node *node;

	while ((node = hash_take(&keys->table)) != NULL)
		key_free(key_from_node(node));
	hash_done(&keys->table);
}

struct key *keys_find(const struct keys *keys, struct qless_str name)
{
	struct hash_node *node = hash_find(&keys->table, name);

	return node != NULL ? key_from_node(node) : NULL;
}

void keys_add(struct keys *keys, struct key *key)
{
	assert(keys_find(keys, key->name) == NULL);
	key_end(key);
	keys->bytes += key->name.len + key->content.len;
	hash_insert(&keys->table, &key->hash);
}

size_t keys_count(const struct keys *keys)
{
	return hash_count(&keys->table);
}

static int compare_keys(const void *a, const void *b)
{
	return str_compare((*(struct key *const *)a)->name, (*(struct key *const *)b)->name);
}

struct key **keys_sorted(const struct keys *keys, size_t *ret_count)
{
	struct key **list = mem_realloc_array(NULL, keys_count(keys) + 1, sizeof(struct key *));
	struct hash_iter it;
	struct hash_node *node;
	size_t count = 0;

	HASH_FOREACH(node, &it, &keys->table)
		list[count++] = key_from_node(node);
	if (count > 0)
		qsort(list, count, sizeof(struct key *), compare_keys);
	*ret_count = count;
	return list;
}
