#include "command/table.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "command/foreign.h"
#include "util/buf.h"
#include "util/mem.h"
#include "command/roles.h"
#include "util/wire.h"

#define WORD_BYTES    8
#define KEY_BYTES     (2 * WORD_BYTES)
#define SLOTS_PER_ROW 4

/*
 * The key of a name: its length, and its first KEY_BYTES bytes as two words, padded with zeros.
 * Nearly all names fit into the two words. The server looks up every request, and folds, hashes and
 * compares such a name in registers alone.
 */
struct key {
	uint64_t first, second;
	size_t len;
};

/* Data that is computed from a row once. */
struct entry {
	struct qless_str name;
	int parent; /* index of the row of its container, or -1 */
	int subcommands;
};

/* Open addressing. Most slots are free, so a search nearly always ends at its first slot. */
struct slot {
	uint64_t first, second;
	uint32_t len;
	int32_t row; /* -1: free */
};

struct command_table {
	struct command *rows;
	struct entry *entries;
	struct slot *slots;
	uint32_t slot_mask;
	int count;
};

#define EACH_BYTE(value) (0x0101010101010101ULL * (value))

/* Converts eight characters to lower case. Their highest bits are masked, so that no sum carries
 * into the next character. The highest bits of the two sums then tell which characters are at least
 * 'A', and which are above 'Z'. */
static inline uint64_t lower(uint64_t word)
{
	uint64_t low_bits = word & EACH_BYTE(0x7f);
	uint64_t from_a = low_bits + EACH_BYTE(0x80 - 'A');
	uint64_t above_z = low_bits + EACH_BYTE(0x7f - 'Z');
	uint64_t is_upper = from_a & ~above_z & ~word & EACH_BYTE(0x80);

	return word | is_upper >> 2;
}

/* Makes the key of a name without changing its case. */
static inline struct key key_of(struct qless_str name)
{
	const unsigned char *at = (const unsigned char *)name.ptr;
	struct key key = { .len = name.len };

	if (name.len <= WORD_BYTES) {
		key.first = wire_get_word(at, name.len);
		return key;
	}
	key.first = wire_get_u64(at);
	if (name.len >= KEY_BYTES)
		key.second = wire_get_u64(at + WORD_BYTES);
	else
		/* Read the last eight bytes, and shift out those that are in the first word. */
		key.second = wire_get_u64(at + name.len - WORD_BYTES) >> 8 * (KEY_BYTES - name.len);
	return key;
}

static inline struct key key_folded(struct qless_str name)
{
	struct key key = key_of(name);

	key.first = lower(key.first);
	if (name.len > WORD_BYTES)
		key.second = lower(key.second);
	return key;
}

/* The names are our own, so the hash has to be fast and spread well, and not to resist attacks. */
static inline uint32_t key_hash(const struct key *key)
{
	uint64_t hash = (key->first ^ key->len) * 0x9e3779b97f4a7c15ULL;

	hash = (hash ^ hash >> 33 ^ key->second) * 0x9e3779b97f4a7c15ULL;
	return (uint32_t)(hash >> 32);
}

/* Returns the part of a long name that its key does not have. */
static struct qless_str rest_of(struct qless_str name)
{
	return str_make(name.ptr + KEY_BYTES, name.len - KEY_BYTES);
}

typedef bool equal_fn(struct qless_str a, struct qless_str b);

/* Finds the slot of a name, or the free slot where it belongs. If `equal` ignores case, the caller
 * has folded the key: all names in the table are in lower case. This is not part of find_row(),
 * which then calls no function and needs no stack. */
static __attribute__((noinline)) struct slot *find_slot(const struct command_table *t,
							struct key key, struct qless_str name,
							equal_fn *equal)
{
	for (uint32_t at = key_hash(&key);; at++) {
		struct slot *slot = &t->slots[at & t->slot_mask];

		if (slot->row < 0)
			return slot;
		if (slot->first == key.first && slot->second == key.second &&
		    slot->len == key.len &&
		    (key.len <= KEY_BYTES ||
		     equal(rest_of(t->entries[slot->row].name), rest_of(name))))
			return slot;
	}
}

/* Returns the index of the row of a name, or -1. */
static inline int find_row(const struct command_table *t, struct key key, struct qless_str name,
			   equal_fn *equal)
{
	if (key.len > KEY_BYTES)
		return find_slot(t, key, name, equal)->row;
	for (uint32_t at = key_hash(&key);; at++) {
		const struct slot *slot = &t->slots[at & t->slot_mask];

		if (slot->row < 0 || (slot->first == key.first && slot->second == key.second &&
				      slot->len == key.len))
			return slot->row;
	}
}

/* Returns the index of the row of a name in any case, or -1. */
static inline int find_folded_row(const struct command_table *t, struct qless_str name)
{
	return find_row(t, key_folded(name), name, str_equal_nocase);
}

/* Returns the row of the container before a subcommand, or -1 if the row is none. */
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
	struct entry *entry = &t->entries[row];
	struct qless_str name = str_from(t->rows[row].name);
	struct key key = key_of(name);
	struct slot *slot = find_slot(t, key, name, str_equal_nocase);

	assert(name.len > 0 && name.len <= COMMAND_NAME_MAX);
	assert(strpbrk(name.ptr, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL && "in lower case");
	assert(slot->row < 0 && "a name is unique");
	/* A queue command runs in its forms, and makes one operation or several if it writes. */
	assert((t->rows[row].run != NULL) == (t->rows[row].forms != 0));
	assert(t->rows[row].run == NULL ||
	       command_is_logged(&t->rows[row]) == ((t->rows[row].flags & CMD_WRITE) != 0));
	*slot = (struct slot){ key.first, key.second, (uint32_t)name.len, row };

	entry->name = name;
	entry->parent = container_before(t, row);
	if (entry->parent >= 0)
		t->entries[entry->parent].subcommands++;
}

struct command_table *command_table_new(const struct command_rows *parts, size_t count)
{
	struct command_table *t = mem_zalloc(sizeof(*t));
	size_t rows = 0, slots = 16;

	for (size_t i = 0; i < count; i++)
		rows += parts[i].count;
	while (slots < rows * SLOTS_PER_ROW)
		slots *= 2;
	t->rows = mem_zalloc((rows + 1) * sizeof(*t->rows));
	t->entries = mem_zalloc((rows + 1) * sizeof(*t->entries));
	t->slot_mask = (uint32_t)slots - 1;
	t->slots = mem_realloc_array(NULL, slots, sizeof(*t->slots));
	for (size_t i = 0; i < slots; i++)
		t->slots[i].row = -1;
	for (size_t i = 0; i < count; i++) {
		for (size_t row = 0; row < parts[i].count; row++) {
			t->rows[t->count] = parts[i].rows[row];
			t->rows[t->count].index = t->count;
			t->rows[t->count].categories |= roles_of_command(parts[i].rows[row].name);
			add_row(t, t->count++);
		}
	}
	return t;
}

void command_table_free(struct command_table *t)
{
	if (t == NULL)
		return;
	free(t->rows);
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

const struct command *command_table_find(const struct command_table *t, struct qless_str name)
{
	int row = find_folded_row(t, name);

	return row >= 0 ? &t->rows[row] : NULL;
}

const struct command *command_table_find_queue(const struct command_table *t, struct qless_str name)
{
	int row = find_row(t, key_of(name), name, str_equal);

	return row >= 0 && t->rows[row].run != NULL ? &t->rows[row] : NULL;
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

static const struct command *find_subcommand(const struct command_table *t,
					     const struct command *container, struct qless_str sub)
{
	struct qless_str parent = t->entries[command_table_index(t, container)].name;
	char text[COMMAND_NAME_MAX];

	if (sub.len >= sizeof text - parent.len)
		return NULL;
	memcpy(text, parent.ptr, parent.len);
	text[parent.len] = '|';
	if (sub.len != 0)
		memcpy(text + parent.len + 1, sub.ptr, sub.len);
	return command_table_find(t, str_make(text, parent.len + 1 + sub.len));
}

/* Finds a command that is no subcommand. "parent|sub" as one argument is not a request. */
static inline const struct command *find_top(const struct command_table *t, struct qless_str name)
{
	int row = find_folded_row(t, name);

	return row >= 0 && t->entries[row].parent < 0 ? &t->rows[row] : NULL;
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

static void describe_unknown(const struct qless_str *argv, int argc, struct buf *error)
{
	const char *advice = foreign_advice(argv[0]);
	struct qless_str part;
	size_t start, quoted;

	buf_printf(error, "ERR unknown command '");
	buf_append_str(error, command_quote(argv[0]));
	if (advice != NULL) {
		buf_printf(error, "': " FOREIGN_IS "; %s", advice);
		return;
	}
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

static void append_upper(struct buf *out, const char *name)
{
	for (const char *c = name; *c != '\0'; c++) {
		if (*c == '|')
			buf_append_char(out, ' ');
		else
			buf_append_char(out,
					(char)(*c >= 'a' && *c <= 'z' ? *c - ('a' - 'A') : *c));
	}
}

void command_append_expected(const struct command *cmd, struct buf *out)
{
	buf_append_str(out, STR(" (expected: "));
	append_upper(out, cmd->name);
	if (cmd->handler == NULL) {
		buf_append_str(out, STR(" and a subcommand; see "));
		append_upper(out, cmd->name);
		buf_append_str(out, STR(" HELP"));
	} else if (cmd->arguments[0] != '\0') {
		buf_append_char(out, ' ');
		buf_append_str(out, str_from(cmd->arguments));
	}
	buf_append_char(out, ')');
}

static void describe_unknown_subcommand(const struct command *container, struct qless_str sub,
					struct buf *error)
{
	buf_printf(error, "ERR unknown subcommand '");
	buf_append_str(error, command_quote(sub));
	buf_printf(error, "'. Try ");
	append_upper(error, container->name);
	buf_printf(error, " HELP.");
}

void command_table_describe_unknown(const struct command_table *t, const struct qless_str *argv,
				    int argc, struct buf *error)
{
	const struct command *container = find_top(t, argv[0]);

	if (container == NULL)
		describe_unknown(argv, argc, error);
	else
		describe_unknown_subcommand(container, argv[1], error);
}

unsigned command_categories(const struct command *cmd)
{
	unsigned categories = cmd->categories;

	if (cmd->flags & (CMD_WRITE | CMD_LATER))
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

/* Commands that make the state grow only if the argument at `at` is `word`. The reference refuses
 * words that are not in lower case, so their case does not matter here. */
static const struct {
	const char *name;
	size_t at;
	struct qless_str word;
} growing_forms[] = {
	{ "depends", 1, STR_INIT("on") },
	{ "job.meta", 1, STR_INIT("set") },
	{ "tag", 0, STR_INIT("add") },
	{ "track", 0, STR_INIT("track") },
};

bool command_grows(const struct command *cmd, const struct qless_str *args, size_t count)
{
	if ((cmd->flags & CMD_DENYOOM) == 0)
		return false;
	for (size_t i = 0; i < sizeof growing_forms / sizeof growing_forms[0]; i++) {
		if (strcmp(cmd->name, growing_forms[i].name) == 0)
			return growing_forms[i].at < count &&
			       str_equal_nocase(args[growing_forms[i].at], growing_forms[i].word);
	}
	return true;
}

bool command_is_listing(const struct command *cmd, const struct qless_str *args, size_t count)
{
	if (strcmp(cmd->name, "tag") == 0)
		return count > 0 && (str_equal_nocase(args[0], STR("get")) ||
				     str_equal_nocase(args[0], STR("top")));
	if (strcmp(cmd->name, "job.meta") == 0)
		return count > 1 && str_equal_nocase(args[1], STR("get"));
	return strcmp(cmd->name, "track") == 0 && count == 0;
}

bool command_changes(const struct command *cmd, const struct qless_str *args, size_t count)
{
	return (cmd->flags & CMD_WRITE) != 0 && !command_is_listing(cmd, args, count);
}

/* The arguments before the request that a command names, or -1. */
static int arguments_before_request(const struct command *cmd)
{
	if (strcmp(cmd->name, "acl|dryrun") == 0)
		return 1;
	return str_starts_with(str_from(cmd->name), STR("command|getkeys")) ? 0 : -1;
}

bool command_is_secret(const struct command_table *t, const struct qless_str *argv, int argc)
{
	while (argc > 0) {
		int name_args, before;
		const struct command *cmd = command_table_lookup(t, argv, argc, &name_args);

		if (cmd == NULL || (cmd->flags & CMD_SECRET) != 0)
			return cmd != NULL;
		before = arguments_before_request(cmd);
		if (before < 0)
			return false;
		argv += name_args + before;
		argc -= name_args + before;
	}
	return false;
}
