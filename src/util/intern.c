#include "util/intern.h"

#include <assert.h>

#include "util/container.h"
#include "util/mem.h"

static struct qless_str key_of(const struct hash_node *node)
{
	return intern_str(container_of(node, const struct intern, node));
}

static size_t size_of(size_t len)
{
	return offsetof(struct intern, text) + len + 1;
}

void intern_init(struct intern_table *table, uint64_t seed)
{
	*table = (struct intern_table){ 0 };
	hash_init(&table->hash, key_of, seed);
}

void intern_done(struct intern_table *table)
{
	struct intern *s;

	while ((s = intern_take(table)) != NULL)
		free(s);
	hash_done(&table->hash);
}

size_t intern_memory(const struct intern_table *table)
{
	return hash_memory(&table->hash) + table->bytes;
}

struct intern *intern_from_node(struct hash_node *node)
{
	return container_of(node, struct intern, node);
}

static bool is_recent(const struct intern_table *table, struct qless_str s)
{
	return table->recent != NULL && str_equal(intern_str(table->recent), s);
}

struct intern *intern_get(struct intern_table *table, struct qless_str s)
{
	struct hash_node *node;
	struct intern *added;
	uint32_t hash;

	if (is_recent(table, s))
		return intern_ref(table->recent);
	hash = hash_compute(table->hash.seed, s);
	node = hash_find_hashed(&table->hash, s, hash);
	if (node != NULL) {
		table->recent = intern_from_node(node);
		return intern_ref(table->recent);
	}
	assert(s.len <= INTERN_LEN_MAX);
	added = mem_alloc(size_of(s.len));
	added->node.aux = 1;
	added->user = NULL;
	added->len = (uint32_t)s.len;
	if (s.len != 0)
		memcpy(added->text, s.ptr, s.len);
	added->text[s.len] = '\0';
	hash_insert_hashed(&table->hash, &added->node, hash);
	table->bytes += size_of(s.len);
	table->recent = added;
	return added;
}

struct intern *intern_find(const struct intern_table *table, struct qless_str s)
{
	struct hash_node *node = hash_find(&table->hash, s);

	return node != NULL ? intern_from_node(node) : NULL;
}

struct intern *intern_recall(struct intern_table *table, struct qless_str s)
{
	struct intern *found;

	if (is_recent(table, s))
		return table->recent;
	found = intern_find(table, s);
	if (found != NULL)
		table->recent = found;
	return found;
}

/* The string leaves the table. */
static void forget(struct intern_table *table, const struct intern *s)
{
	table->bytes -= size_of(s->len);
	if (table->recent == s)
		table->recent = NULL;
}

struct intern *intern_take(struct intern_table *table)
{
	struct hash_node *node = hash_take(&table->hash);
	struct intern *s;

	if (node == NULL)
		return NULL;
	s = intern_from_node(node);
	forget(table, s);
	return s;
}

struct intern *intern_ref(struct intern *s)
{
	assert(s->node.aux != 0 && s->node.aux != UINT32_MAX);
	s->node.aux++;
	return s;
}

void intern_unref(struct intern_table *table, struct intern *s)
{
	if (s == NULL)
		return;
	assert(s->node.aux != 0);
	if (--s->node.aux != 0)
		return;
	assert(s->user == NULL);
	hash_remove(&table->hash, &s->node);
	forget(table, s);
	free(s);
}
