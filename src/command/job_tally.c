#include "command/job_tally.h"

#include <stdlib.h>
#include <string.h>

#include "resp/reply.h"
#include "util/buf.h"
#include "util/container.h"
#include "util/hash.h"
#include "util/mem.h"

/* The key of a row: for each field, its length plus one, and its bytes. A null has length 0. */
struct row {
	struct hash_node node;
	uint64_t count;
	size_t len;
	char key[];
};

struct job_tally {
	size_t fields;
	struct hash rows;
	size_t bytes; /* of all keys */
	uint64_t others;
	struct buf key; /* of the job that is counted */
};

static struct qless_str key_of(const struct hash_node *node)
{
	const struct row *row = container_of(node, const struct row, node);

	return str_make(row->key, row->len);
}

struct job_tally *job_tally_new(uint64_t hash_seed, size_t fields)
{
	struct job_tally *t = mem_zalloc(sizeof *t);

	t->fields = fields;
	hash_init(&t->rows, key_of, hash_seed);
	buf_init(&t->key, BUF_NO_MAX);
	return t;
}

void job_tally_free(struct job_tally *t)
{
	struct hash_node *node;

	if (t == NULL)
		return;
	while ((node = hash_take(&t->rows)) != NULL)
		free(container_of(node, struct row, node));
	hash_done(&t->rows);
	buf_done(&t->key);
	free(t);
}

static void append_value(struct buf *key, struct qless_str value)
{
	size_t size = value.ptr != NULL ? value.len + 1 : 0;

	buf_append(key, (const char *)&size, sizeof size);
	if (size != 0)
		buf_append_str(key, value);
}

static struct qless_str take_value(struct qless_str *key)
{
	struct qless_str value = str_make(NULL, 0);
	size_t size;

	memcpy(&size, key->ptr, sizeof size);
	*key = str_make(key->ptr + sizeof size, key->len - sizeof size);
	if (size == 0)
		return value;
	value = str_make(key->ptr, size - 1);
	*key = str_make(key->ptr + value.len, key->len - value.len);
	return value;
}

static void add_row(struct job_tally *t, struct qless_str key)
{
	struct row *row;

	if (hash_count(&t->rows) == JOB_TALLY_ROWS_MAX ||
	    key.len > JOB_TALLY_BYTES_MAX - t->bytes) {
		t->others++;
		return;
	}
	row = mem_alloc(sizeof *row + key.len);
	row->count = 1;
	row->len = key.len;
	memcpy(row->key, key.ptr, key.len);
	t->bytes += key.len;
	hash_insert(&t->rows, &row->node);
}

void job_tally_add(struct job_tally *t, const struct qless_str values[])
{
	struct hash_node *node;

	buf_clear(&t->key);
	for (size_t i = 0; i < t->fields; i++)
		append_value(&t->key, values[i]);
	node = hash_find(&t->rows, buf_str(&t->key));
	if (node != NULL)
		container_of(node, struct row, node)->count++;
	else
		add_row(t, buf_str(&t->key));
}

/* The largest number first; rows with the same number by their values, a null first. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *one = *(const struct row *const *)a;
	const struct row *other = *(const struct row *const *)b;
	struct qless_str left = str_make(one->key, one->len);
	struct qless_str right = str_make(other->key, other->len);

	if (one->count != other->count)
		return one->count < other->count ? 1 : -1;
	while (left.len != 0 && right.len != 0) {
		int order = str_compare(take_value(&left), take_value(&right));

		if (order != 0)
			return order;
	}
	return 0;
}

static void write_row(const struct job_tally *t, const struct row *row, struct reply *reply)
{
	struct qless_str key = str_make(row->key, row->len);

	reply_array(reply, t->fields + 1);
	for (size_t i = 0; i < t->fields; i++) {
		struct qless_str value = take_value(&key);

		if (value.ptr != NULL)
			reply_bulk(reply, value);
		else
			reply_null(reply);
	}
	reply_integer(reply, (int64_t)row->count);
}

static void write_others(const struct job_tally *t, struct reply *reply)
{
	reply_array(reply, t->fields + 1);
	for (size_t i = 0; i < t->fields; i++)
		reply_bulk(reply, STR("other"));
	reply_integer(reply, (int64_t)t->others);
}

void job_tally_write(const struct job_tally *t, struct reply *reply)
{
	size_t count = hash_count(&t->rows), filled = 0;
	const struct row **rows = mem_alloc((count + 1) * sizeof(*rows));
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &t->rows)
		rows[filled++] = container_of(node, const struct row, node);
	qsort(rows, count, sizeof(*rows), compare_rows);
	reply_array(reply, count + (t->others != 0 ? 1 : 0));
	for (size_t i = 0; i < count; i++)
		write_row(t, rows[i], reply);
	if (t->others != 0)
		write_others(t, reply);
	free(rows);
}
