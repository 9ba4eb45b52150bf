#include "server/pattern_index.h"

#include <assert.h>
#include <stdlib.h>

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
	*index = (struct pattern_index){ .version = 1 };
	hash_init(&index->groups, group_key, hash_seed);
	for (size_t i = 0; i < PATTERN_MEMORY; i++)
		buf_init(&index->memory[i].channel, BUF_NO_MAX);
}

void pattern_index_done(struct pattern_index *index)
{
	assert(hash_count(&index->groups) == 0);
	hash_done(&index->groups);
	for (size_t i = 0; i < PATTERN_MEMORY; i++) {
		buf_done(&index->memory[i].channel);
		pattern_matches_done(&index->memory[i].matches);
	}
}

static size_t round_down(size_t len)
{
	if (len <= PATTERN_BEGIN_EXACT)
		return len;
	return len < PATTERN_BEGIN_MAX ? len - len % PATTERN_BEGIN_STEP : PATTERN_BEGIN_MAX;
}

struct qless_str pattern_index_begin(struct qless_str pattern)
{
	return str_make(pattern.ptr, round_down(glob_prefix(pattern).len));
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
	struct qless_str prefix = pattern_index_begin(pattern->name);
	struct pattern_group *group = find_group(index, prefix);

	assert(pattern->name.len <= GLOB_MAX_BYTES);
	if (group == NULL)
		group = add_group(index, prefix);
	TAILQ_INSERT_TAIL(&group->patterns, pattern, link);
	group->count++;
	index->version++;
}

void pattern_index_remove(struct pattern_index *index, struct channel *pattern)
{
	struct pattern_group *group = find_group(index, pattern_index_begin(pattern->name));

	assert(group != NULL);
	TAILQ_REMOVE(&group->patterns, pattern, link);
	index->version++;
	if (--group->count == 0)
		drop_group(index, group);
}

unsigned pattern_index_similar(const struct pattern_index *index, struct qless_str pattern)
{
	const struct pattern_group *group = find_group(index, pattern_index_begin(pattern));

	return group != NULL ? group->count : 0;
}

void pattern_matches_add(struct pattern_matches *m, struct channel *pattern)
{
	m->patterns = mem_grow(m->patterns, &m->cap, m->count + 1, sizeof *m->patterns);
	m->patterns[m->count++] = pattern;
}

void pattern_matches_done(struct pattern_matches *m)
{
	free(m->patterns);
	*m = (struct pattern_matches){ 0 };
}

uint64_t pattern_index_version(const struct pattern_index *index)
{
	return index->version;
}

bool pattern_index_is_empty(const struct pattern_index *index)
{
	return hash_count(&index->groups) == 0;
}

/* The first pattern whose beginning has at least `len` bytes, and which begins like the channel. */
static struct channel *first_from(const struct pattern_index *index, struct qless_str channel,
				  size_t len)
{
	size_t longest = channel.len < index->longest ? channel.len : index->longest;

	for (; len <= longest; len++) {
		const struct pattern_group *group;

		if (index->by_length[len] == 0)
			continue;
		group = find_group(index, str_make(channel.ptr, len));
		if (group != NULL)
			return TAILQ_FIRST(&group->patterns);
	}
	return NULL;
}

struct channel *pattern_index_first(const struct pattern_index *index, struct qless_str channel)
{
	return first_from(index, channel, 0);
}

struct channel *pattern_index_next(const struct pattern_index *index, struct qless_str channel,
				   const struct channel *pattern)
{
	struct channel *next = TAILQ_NEXT(pattern, link);

	return next != NULL
		       ? next
		       : first_from(index, channel, pattern_index_begin(pattern->name).len + 1);
}

const struct pattern_matches *pattern_index_recall(const struct pattern_index *index,
						   struct qless_str channel)
{
	for (size_t i = 0; i < PATTERN_MEMORY; i++) {
		const struct pattern_memory *memory = &index->memory[i];

		if (memory->version == index->version &&
		    str_equal(buf_str(&memory->channel), channel))
			return &memory->matches;
	}
	return NULL;
}

void pattern_index_remember(struct pattern_index *index, struct qless_str channel,
			    struct pattern_matches *matches)
{
	struct pattern_memory *memory = &index->memory[index->next_memory++ % PATTERN_MEMORY];

	memory->version = index->version;
	buf_clear(&memory->channel);
	buf_append_str(&memory->channel, channel);
	pattern_matches_done(&memory->matches);
	memory->matches = *matches;
	*matches = (struct pattern_matches){ 0 };
}
