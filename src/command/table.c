#include "command/table.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "command/classic.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/wire.h"

#define WORD_BYTES    8
#define NAME_WORDS    (COMMAND_NAME_MAX / WORD_BYTES)
#define SLOTS_PER_ROW 4

/*
 * A name in lower case, packed into words and padded with zeros. Every request is looked up, most
 * of them by a name that fits into one word: such a name is folded, hashed and compared without
 * leaving the registers.
 */
struct name {
	uint64_t words[NAME_WORDS + 1]; /* in lower case; the last stays zero */
	size_t len;
};

/* What a row leaves to be computed. */
struct entry {
	struct name name;
	int parent; /* the row of its container, or -1 */
	int subcommands;
	const struct classic_command *classic; /* that it stands for, or NULL */
};

/* Open addressing; most slots are free, so that a probe nearly always ends at once. */
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

#define EACH_BYTE(value) (0x0101010101010101ULL * (value))

/* Eight characters in lower case. Without their highest bits nothing is carried from one to the
 * next, and that bit of the sums says which are not below 'A', and which are above 'Z'. */
static uint64_t lower(uint64_t word)
{
	uint64_t low_bits = word & EACH_BYTE(0x7f);
	uint64_t from_a = low_bits + EACH_BYTE(0x80 - 'A');
	uint64_t above_z = low_bits + EACH_BYTE(0x7f - 'Z');
	uint64_t is_upper = from_a & ~above_z & ~word & EACH_BYTE(0x80);

	return word | is_upper >> 2;
}

/* The name as it is sent. False if it is too long to be in the table. */
static inline bool name_read(struct name *n, struct qless_str text)
{
	size_t i = 0;

	if (text.len > COMMAND_NAME_MAX)
		return false;
	n->len = text.len;
	for (; text.len - i * WORD_BYTES > WORD_BYTES; i++)
		n->words[i] = wire_get_u64((const unsigned char *)text.ptr + i * WORD_BYTES);
	n->words[i] = wire_get_word((const unsigned char *)text.ptr + i * WORD_BYTES,
				    text.len - i * WORD_BYTES);
	return true;
}

/* False if the name is too long to be in the table. */
static bool name_append(struct name *n, struct qless_str text)
{
	size_t first = n->len / WORD_BYTES;

	if (text.len > COMMAND_NAME_MAX - n->len)
		return false;
	if (text.len != 0)
		memcpy((char *)n->words + n->len, text.ptr, text.len);
	n->len += text.len;
	for (size_t i = first; i * WORD_BYTES < n->len; i++)
		n->words[i] = lower(n->words[i]);
	return true;
}

static bool name_equal(const struct name *a, const struct name *b)
{
	uint64_t differences = a->len ^ b->len;

	for (size_t i = 0; i * WORD_BYTES < a->len; i++)
		differences |= a->words[i] ^ b->words[i];
	return differences == 0;
}

/* The names are our own, so the hash only has to be quick and not to cluster. */
static uint32_t name_hash(const struct name *n)
{
	uint64_t hash = n->len;

	for (size_t i = 0; i * WORD_BYTES < n->len; i++) {
		hash = (hash ^ n->words[i]) * 0x9e3779b97f4a7c15ULL;
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
		if (slot->hash == hash && name_equal(&t->entries[slot->row].name, n))
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
	struct entry *entry = &t->entries[row];
	struct qless_str name = str_from(t->rows[row].name);
	bool fits = name_append(&entry->name, name);
	struct slot *slot;
	uint32_t hash;

	assert(fits && name.len > 0);
	assert(memcmp(entry->name.words, name.ptr, name.len) == 0 && "names are in lower case");
	hash = name_hash(&entry->name);
	slot = find_slot(t, &entry->name, hash);
	assert(slot->row < 0 && "a name stands only once");
	*slot = (struct slot){ .hash = hash, .row = row };

	entry->classic = classic_find(name);
	entry->parent = container_before(t, row);
	if (entry->parent >= 0)
		t->entries[entry->parent].subcommands++;
}

struct command_table *command_table_new(const struct command *rows, int count)
{
	struct command_table *t = mem_zalloc(sizeof(*t));
	uint32_t slots = 16;

	assert(count >= 0);
	while (slots < (uint32_t)count * SLOTS_PER_ROW)
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
	struct name folded;
	int row;

	if (!name_read(&folded, name))
		return NULL;
	for (size_t i = 0; i * WORD_BYTES < folded.len; i++)
		folded.words[i] = lower(folded.words[i]);
	row = find_row(t, &folded);
	return row >= 0 ? &t->rows[row] : NULL;
}

const struct classic_command *command_table_classic(const struct command_table *t,
						    const struct command *cmd)
{
	return t->entries[command_table_index(t, cmd)].classic;
}

const struct classic_command *command_table_find_classic(const struct command_table *t,
							 struct qless_str name,
							 const struct command **ret_row)
{
	struct name exact;
	int row;

	if (!name_read(&exact, name))
		return NULL;
	/* All names are in lower case, so one that is found as it was sent is equal. */
	row = find_row(t, &exact);
	if (row < 0)
		return NULL;
	*ret_row = &t->rows[row];
	return t->entries[row].classic;
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
	struct name name = t->entries[command_table_index(t, container)].name;
	int row;

	if (!name_append(&name, STR("|")) || !name_append(&name, sub))
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

/* Commands of which some forms only read or delete, and where the word stands that tells. */
static const struct {
	const char *name;
	size_t at;
	struct qless_str word;
} growing_forms[] = {
	{ "depends", 1, STR_INIT("on") },
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
			       str_equal(args[growing_forms[i].at], growing_forms[i].word);
	}
	return true;
}
