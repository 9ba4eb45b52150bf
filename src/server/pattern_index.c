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
	for (size_t i = 0; i < PATTERN_MATCHES; i++)
		buf_init(&index->matches[i].channel, BUF_NO_MAX);
}

void pattern_index_done(struct pattern_index *index)
{
	assert(hash_count(&index->groups) == 0);
	hash_done(&index->groups);
	for (size_t i = 0; i < PATTERN_MATCHES; i++) {
		buf_done(&index->matches[i].channel);
		free(index->matches[i].patterns);
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

static void add_match(struct pattern_matches *m, const struct channel *pattern)
{
	m->patterns = mem_grow(m->patterns, &m->cap, m->count + 1, sizeof *m->patterns);
	m->patterns[m->count++] = pattern;
}

/* Compares the channel with all patterns that begin like it. */
static void compare(const struct pattern_index *index, struct qless_str channel,
		    struct pattern_matches *m)
{
	size_t longest = channel.len < index->longest ? channel.len : index->longest;

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
				add_match(m, pattern);
		}
	}
}

static const struct pattern_matches *find_matches(struct pattern_index *index,
						  struct qless_str channel)
{
	struct pattern_matches *m;

	for (size_t i = 0; i < PATTERN_MATCHES; i++) {
		m = &index->matches[i];
		if (m->version == index->version && str_equal(buf_str(&m->channel), channel))
			return m;
	}
	m = &index->matches[index->next_matches++ % PATTERN_MATCHES];
	m->version = index->version;
	m->count = 0;
	buf_clear(&m->channel);
	buf_append_str(&m->channel, channel);
	compare(index, channel, m);
	return m;
}

void pattern_index_match(struct pattern_index *index, struct qless_str channel,
			 pattern_visit_fn *visit, void *arg)
{
	const struct pattern_matches *m;

	if (hash_count(&index->groups) == 0)
		return;
	m = find_matches(index, channel);
	for (size_t i = 0; i < m->count; i++)
		visit(m->patterns[i], arg);
}
