#include "command/table.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "util/buf.h"
#include "util/mem.h"

/* What a row leaves to be computed. */
struct entry {
	size_t name_len;
	int parent; /* the row of its container, or -1 */
	int subcommands;
};

/* Open addressing; never more than a quarter of the slots are taken, so that a probe nearly always
 * ends at once. */
struct slot {
	uint32_t hash;
	int32_t row; /* -1: free */
};

struct command_table {
	const struct command *rows;
	struct entry *entries;
	struct slot *slots;
	uint32_t slot_mask;
	int count;
};

/* A name in lower case, padded with NULs so that it can be hashed in whole words. */
struct name {
	char bytes[COMMAND_NAME_MAX];
	size_t len;
};

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* False if the name is too long to be in the table. */
static bool name_append(struct name *n, struct qless_str text)
{
	if (text.len > COMMAND_NAME_MAX - n->len)
		return false;
	for (size_t i = 0; i < text.len; i++)
		n->bytes[n->len + i] = lower(text.ptr[i]);
	n->len += text.len;
	return true;
}

/* The names are our own, so the hash only has to be quick and not to cluster. */
static uint32_t name_hash(const struct name *n)
{
	uint64_t hash = n->len;
	uint64_t word;

	static_assert(COMMAND_NAME_MAX % sizeof(word) == 0, "names are hashed in whole words");
	for (size_t at = 0; at < n->len; at += sizeof(word)) {
		memcpy(&word, n->bytes + at, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

/* The slot that holds the name, or the free one where it would go. */
static struct slot *find_slot(const struct command_table *t, const struct name *n, uint32_t hash)
{
	for (uint32_t at = hash;; at++) {
		struct slot *slot = &t->slots[at & t->slot_mask];

		if (slot->row < 0)
			return slot;
		if (slot->hash == hash && t->entries[slot->row].name_len == n->len &&
		    memcmp(t->rows[slot->row].name, n->bytes, n->len) == 0)
			return slot;
	}
}

/* The row of a name, or -1. */
static int find_row(const struct command_table *t, const struct name *n)
{
	return find_slot(t, n, name_hash(n))->row;
}

/* A name that may be that of a subcommand belongs to the container in front of it. */
static int container_before(const struct command_table *t, int row)
{
	const char *bar = strchr(t->rows[row].name, '|');
	struct qless_str container;
	int before = row - 1;

	if (bar == NULL)
		return -1;
	container = str_make(t->rows[row].name, (size_t)(bar - t->rows[row].name));
	if (before >= 0 && t->entries[before].parent >= 0)
		before = t->entries[before].parent;
	assert(before >= 0 && "a subcommand follows its container");
	assert((t->rows[before].flags & CMD_CONTAINER) != 0);
	assert(str_equal(container, str_from(t->rows[before].name)));
	return before;
}

static void add_row(struct command_table *t, int row)
{
	struct qless_str text = str_from(t->rows[row].name);
	struct name name = { .len = 0 };
	struct slot *slot;
	uint32_t hash;

	assert(text.len > 0 && name_append(&name, text));
	assert(memcmp(name.bytes, text.ptr, text.len) == 0 && "names are in lower case");
	hash = name_hash(&name);
	slot = find_slot(t, &name, hash);
	assert(slot->row < 0 && "a name stands only once");
	*slot = (struct slot){ .hash = hash, .row = row };

	t->entries[row].name_len = text.len;
	t->entries[row].parent = container_before(t, row);
	if (t->entries[row].parent >= 0)
		t->entries[t->entries[row].parent].subcommands++;
}

struct command_table *command_table_new(const struct command *rows, int count)
{
	struct command_table *t = mem_zalloc(sizeof(*t));
	uint32_t slots = 16;

	assert(count >= 0);
	while (slots < (uint32_t)count * 4)
		slots *= 2;
	t->rows = rows;
	t->count = count;
	t->slot_mask = slots - 1;
	t->slots = mem_realloc_array(NULL, slots, sizeof(*t->slots));
	t->entries = mem_zalloc(((size_t)count + 1) * sizeof(*t->entries));
	for (uint32_t i = 0; i < slots; i++)
		t->slots[i].row = -1;
	for (int i = 0; i < count; i++)
		add_row(t, i);
	return t;
}

void command_table_free(struct command_table *t)
{
	if (t == NULL)
		return;
	free(t->entries);
	free(t->slots);
	free(t);
}

int command_table_count(const struct command_table *t)
{
	return t->count;
}

const struct command *command_table_row(const struct command_table *t, int index)
{
	assert(index >= 0 && index < t->count);
	return &t->rows[index];
}

int command_table_index(const struct command_table *t, const struct command *cmd)
{
	return (int)(cmd - t->rows);
}

const struct command *command_table_find(const struct command_table *t, struct qless_str name)
{
	struct name folded = { .len = 0 };
	int row;

	if (!name_append(&folded, name))
		return NULL;
	row = find_row(t, &folded);
	return row >= 0 ? &t->rows[row] : NULL;
}

const struct command *command_table_parent(const struct command_table *t, const struct command *cmd)
{
	int parent = t->entries[command_table_index(t, cmd)].parent;

	return parent >= 0 ? &t->rows[parent] : NULL;
}

int command_table_subcommands(const struct command_table *t, const struct command *container,
			      int *ret_first)
{
	int row = command_table_index(t, container);

	*ret_first = row + 1;
	return t->entries[row].subcommands;
}

/* The command without its subcommand: "parent|sub" as one word is not a request. */
static const struct command *find_top(const struct command_table *t, struct qless_str name)
{
	const struct command *cmd = command_table_find(t, name);

	return cmd != NULL && command_table_parent(t, cmd) == NULL ? cmd : NULL;
}

static const struct command *find_subcommand(const struct command_table *t,
					     const struct command *container, struct qless_str sub)
{
	struct name name = { .len = 0 };
	int row;

	if (!name_append(&name, str_from(container->name)) || !name_append(&name, STR("|")) ||
	    !name_append(&name, sub))
		return NULL;
	row = find_row(t, &name);
	return row >= 0 ? &t->rows[row] : NULL;
}

const struct command *command_table_lookup(const struct command_table *t,
					   const struct qless_str *argv, int argc,
					   int *ret_name_args)
{
	const struct command *cmd = find_top(t, argv[0]);

	*ret_name_args = 1;
	if (cmd == NULL || argc == 1 || (cmd->flags & CMD_CONTAINER) == 0)
		return cmd;
	*ret_name_args = 2;
	return find_subcommand(t, cmd, argv[1]);
}

bool command_takes(const struct command *cmd, int nargs)
{
	return nargs >= cmd->min_args &&
	       (cmd->max_args == COMMAND_ANY_ARGS || nargs <= cmd->max_args);
}

static void describe_unknown(const struct qless_str *argv, int argc, struct buf *error)
{
	struct qless_str part;
	size_t start, quoted;

	buf_printf(error, "ERR unknown command '");
	buf_append_str(error, command_quote(argv[0]));
	buf_printf(error, "', with args beginning with: ");
	start = error->len;
	for (int i = 1; i < argc; i++) {
		quoted = error->len - start;
		if (quoted >= COMMAND_QUOTED_MAX)
			return;
		buf_append_char(error, '\'');
		part = command_quote(argv[i]);
		if (part.len > COMMAND_QUOTED_MAX - quoted)
			part.len = COMMAND_QUOTED_MAX - quoted;
		buf_append_str(error, part);
		buf_printf(error, "' ");
	}
}

static void describe_unknown_subcommand(const struct command *container, struct qless_str sub,
					struct buf *error)
{
	buf_printf(error, "ERR unknown subcommand '");
	buf_append_str(error, command_quote(sub));
	buf_printf(error, "'. Try ");
	for (const char *c = container->name; *c != '\0'; c++)
		buf_append_char(error, (char)(*c >= 'a' && *c <= 'z' ? *c - ('a' - 'A') : *c));
	buf_printf(error, " HELP.");
}

const struct command *command_table_resolve(const struct command_table *t,
					    const struct qless_str *argv, int argc,
					    int *ret_name_args, struct buf *error)
{
	int name_args;
	const struct command *cmd = command_table_lookup(t, argv, argc, &name_args);

	if (cmd == NULL && name_args == 1) {
		describe_unknown(argv, argc, error);
		return NULL;
	}
	if (cmd == NULL) {
		describe_unknown_subcommand(find_top(t, argv[0]), argv[1], error);
		return NULL;
	}
	if (!command_takes(cmd, argc - name_args)) {
		buf_printf(error, "ERR wrong number of arguments for '%s' command", cmd->name);
		return NULL;
	}
	*ret_name_args = name_args;
	return cmd;
}

unsigned command_categories(const struct command *cmd)
{
	unsigned categories = cmd->categories;

	if (cmd->flags & CMD_WRITE)
		categories |= CAT_WRITE;
	if (cmd->flags & CMD_READ)
		categories |= CAT_READ;
	if (cmd->flags & CMD_ADMIN)
		categories |= CAT_ADMIN | CAT_DANGEROUS;
	if (cmd->flags & CMD_PUBSUB)
		categories |= CAT_PUBSUB;
	if (cmd->flags & CMD_BLOCKING)
		categories |= CAT_BLOCKING;
	categories |= cmd->flags & CMD_FAST ? CAT_FAST : CAT_SLOW;
	return categories;
}

const char *command_category_name(int bit)
{
	static const char *const names[COMMAND_CATEGORY_COUNT] = {
#define X(category, name) [category##_BIT] = name,
		COMMAND_CATEGORIES(X)
#undef X
	};

	assert(bit >= 0 && bit < COMMAND_CATEGORY_COUNT);
	return names[bit];
}

int command_category_find(struct qless_str name)
{
	for (int bit = 0; bit < COMMAND_CATEGORY_COUNT; bit++) {
		if (str_equal_nocase(name, str_from(command_category_name(bit))))
			return bit;
	}
	return -1;
}
