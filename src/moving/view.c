#include "moving/view.h"

#include <stdlib.h>
#include <yyjson.h>

#include "keyspace/keyspace.h"
#include "keyspace/names.h"
#include "util/json.h"
#include "util/num.h"

#define EXAMPLES 10

static void add_element(void *arg, struct qless_str element)
{
	key_add(arg, element);
}

static void add_field(void *arg, struct qless_str field, struct qless_str value)
{
	key_add_pair(arg, field, value);
}

static void add_members(struct key *key, const struct skipmerge *order)
{
	const struct skipnode *node;
	char score[NUM_MAX];

	for (node = skipmerge_first(order); node != NULL; node = skipmerge_next(order, node)) {
		size_t len = num_format_g17(score, node->score);

		key_add_pair(key, skipmerge_member(order, node), str_make(score, len));
	}
}

struct key *view_key(const struct qless *engine, struct qless_str name)
{
	struct keyspace_key from;
	struct key *key;

	if (!keyspace_find(engine, name, &from))
		return NULL;
	switch (from.type) {
	case KEYSPACE_HASH:
		key = key_new(name, KEY_HASH);
		keyspace_each_field(&from, add_field, key);
		return key;
	case KEYSPACE_LIST:
		key = key_new(name, KEY_LIST);
		keyspace_each_element(&from, 0, SIZE_MAX, add_element, key);
		return key;
	case KEYSPACE_SET:
		key = key_new(name, KEY_SET);
		keyspace_each_member(&from, SIZE_MAX, add_element, key);
		return key;
	case KEYSPACE_ZSET:
		key = key_new(name, KEY_ZSET);
		add_members(key, &from.order);
		return key;
	}
	return NULL;
}

/* ---- comparing ---- */

static bool same_json(struct qless_str a, struct qless_str b)
{
	yyjson_doc *x = yyjson_read(a.ptr, a.len, YYJSON_READ_ALLOW_INVALID_UNICODE);
	yyjson_doc *y = yyjson_read(b.ptr, b.len, YYJSON_READ_ALLOW_INVALID_UNICODE);
	bool same = x != NULL && y != NULL &&
		    yyjson_equals(yyjson_doc_get_root(x), yyjson_doc_get_root(y));

	yyjson_doc_free(x);
	yyjson_doc_free(y);
	return same;
}

static bool is_empty_list(struct qless_str text)
{
	return str_equal(text, STR("[]")) || str_equal(text, STR("{}"));
}

bool view_same(const struct key *key, struct qless_str field, struct qless_str a,
	       struct qless_str b)
{
	const struct names_field_row *row = names_find_field(field);
	double x, y;

	if (key->type == KEY_LIST)
		return same_json(a, b);
	if (row != NULL && row->is_exact)
		return false;
	if (str_equal(key->name, STR(NAMES_CONFIG)))
		return false;
	if (num_parse_lua(a, &x) && num_parse_lua(b, &y))
		return x == y;
	return (is_empty_list(a) && is_empty_list(b)) || same_json(a, b);
}

struct comparing {
	const struct qless *engine;
	const struct keys *keys;
	struct findings *findings;
	struct comparison *result;
};

static bool ends_with(struct qless_str s, struct qless_str suffix)
{
	return s.len >= suffix.len &&
	       str_equal(str_make(s.ptr + s.len - suffix.len, suffix.len), suffix);
}

/* Values that qlessd derives from the jobs. The reference counts them separately, and may be wrong.
 * */
static bool is_derived(const struct comparing *c, struct qless_str name)
{
	if (str_equal(name, STR(NAMES_TAGS)))
		findings_add(c->findings, FINDING_TAG_COUNT, name, STR(""));
	else if (str_equal(name, STR(NAMES_FAILURES)))
		findings_add(c->findings, FINDING_GROUP, name, STR(""));
	else if (ends_with(name, STR(NAMES_JOB_DEPENDENTS)))
		findings_add(c->findings, FINDING_DEPENDENCY, name, STR(""));
	else if (str_starts_with(name, STR(NAMES_RECUR)))
		findings_add(c->findings, FINDING_FIELD, name, STR(""));
	else
		return false;
	return true;
}

static void differ(const struct comparing *c, struct qless_str name, const char *how)
{
	struct comparison *result = c->result;

	if (findings_is_touched(c->findings, name) || is_derived(c, name)) {
		result->explained++;
		return;
	}
	if (result->different++ >= EXAMPLES)
		return;
	buf_append_str(&result->examples, STR("    "));
	json_append_string(&result->examples, name);
	buf_printf(&result->examples, " %s\n", how);
}

static void compare_read(const struct comparing *c, const struct key *key)
{
	struct key *made = view_key(c->engine, key->name);

	if (made == NULL) {
		differ(c, key->name, "is missing");
	} else if (!key_equal(key, made, view_same)) {
		differ(c, key->name, "holds something else");
	} else {
		c->result->equal++;
		if (key->type == KEY_HASH && str_starts_with(key->name, STR(NAMES_JOB)))
			c->result->jobs++;
	}
	key_free(made);
}

static void compare_made(void *arg, struct qless_str name, enum keyspace_type type)
{
	const struct comparing *c = arg;

	(void)type;
	if (keys_find(c->keys, name) == NULL)
		differ(c, name, "was not read");
}

void compare_keys(const struct qless *engine, const struct keys *keys, struct findings *findings,
		  struct comparison *ret_comparison)
{
	struct comparing c = { engine, keys, findings, ret_comparison };
	size_t count;
	struct key **sorted = keys_sorted(keys, &count);

	*ret_comparison = (struct comparison){ .examples = BUF_INIT(BUF_NO_MAX) };
	for (size_t i = 0; i < count; i++)
		compare_read(&c, sorted[i]);
	free(sorted);
	keyspace_each_key(engine, STR(NAMES_ALL), compare_made, &c);
}

void comparison_done(struct comparison *comparison)
{
	buf_done(&comparison->examples);
}
