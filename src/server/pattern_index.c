#include "server/pattern_index.h"

#include <assert.h>

#include "util/container.h"
#include "util/mem.h"

struct pattern_group {
	struct hash_node node;
	struct pattern_list patterns;
	unsigned count;
	struct qless_str prefix;
	char text[];
};

static struct qless_str group_key(const struct hash_node *node)
{
	return container_of(node, const struct pattern_group, node)->prefix;
}

void pattern_index_init(struct pattern_index *index, uint64_t hash_seed)
{
	*index = (struct pattern_index){ .longest = 0 };
	hash_init(&index->groups, group_key, hash_seed);
}

void pattern_index_done(struct pattern_index *index)
{
	assert(hash_count(&index->groups) == 0);
	hash_done(&index->groups);
}

static struct pattern_group *find_group(const struct pattern_index *index, struct qless_str prefix)
{
	struct hash_node *node = hash_find(&index->groups, prefix);

	return node != NULL ? container_of(node, struct pattern_group, node) : NULL;
}

static struct pattern_group *add_group(struct pattern_index *index, struct qless_str prefix)
{
	struct pattern_group *group = mem_zalloc(sizeof *group + prefix.len);

	if (prefix.len != 0)
		memcpy(group->text, prefix.ptr, prefix.len);
	group->prefix = str_make(group->text, prefix.len);
	TAILQ_INIT(&group->patterns);
	hash_insert(&index->groups, &group->node);
	index->by_length[prefix.len]++;
	if (prefix.len > index->longest)
		index->longest = prefix.len;
	return group;
}

static void drop_group(struct pattern_index *index, struct pattern_group *group)
{
	hash_remove(&index->groups, &group->node);
	index->by_length[group->prefix.len]--;
	while (index->longest != 0 && index->by_length[index->longest] == 0)
		index->longest--;
	free(group);
}

void pattern_index_add(struct pattern_index *index, struct channel *pattern)
{
	struct qless_str prefix = glob_prefix(pattern->name);
	struct pattern_group *group = find_group(index, prefix);

	assert(pattern->name.len <= GLOB_MAX_BYTES);
	if (group == NULL)
		group = add_group(index, prefix);
	TAILQ_INSERT_TAIL(&group->patterns, pattern, link);
	group->count++;
}

void pattern_index_remove(struct pattern_index *index, struct channel *pattern)
{
	struct pattern_group *group = find_group(index, glob_prefix(pattern->name));

	assert(group != NULL);
	TAILQ_REMOVE(&group->patterns, pattern, link);
	if (--group->count == 0)
		drop_group(index, group);
}

unsigned pattern_index_similar(const struct pattern_index *index, struct qless_str pattern)
{
	const struct pattern_group *group = find_group(index, glob_prefix(pattern));

	return group != NULL ? group->count : 0;
}

void pattern_index_match(const struct pattern_index *index, struct qless_str channel,
			 pattern_visit_fn *visit, void *arg)
{
	size_t longest = channel.len < index->longest ? channel.len : index->longest;

	if (hash_count(&index->groups) == 0)
		return;
	for (size_t len = 0; len <= longest; len++) {
		const struct pattern_group *group;
		const struct channel *pattern;

		if (index->by_length[len] == 0)
			continue;
		group = find_group(index, str_make(channel.ptr, len));
		if (group == NULL)
			continue;
		TAILQ_FOREACH(pattern, &group->patterns, link) {
			if (glob_match(pattern->name, channel, false))
				visit(pattern, arg);
		}
	}
}
