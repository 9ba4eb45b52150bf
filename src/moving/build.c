#include "moving/build_int.h"

#include <stdlib.h>
#include <yyjson.h>

#include "util/container.h"
#include "util/mem.h"
#include "util/num.h"

struct qless_str build_name(struct build *b, struct qless_str prefix, struct qless_str middle,
			    struct qless_str suffix)
{
	buf_clear(&b->name);
	buf_append_str(&b->name, prefix);
	buf_append_str(&b->name, middle);
	buf_append_str(&b->name, suffix);
	return buf_str(&b->name);
}

bool build_between(struct qless_str s, struct qless_str prefix, struct qless_str suffix,
		   struct qless_str *ret_middle)
{
	if (s.len < prefix.len + suffix.len || !str_starts_with(s, prefix) ||
	    !str_equal(str_make(s.ptr + s.len - suffix.len, suffix.len), suffix))
		return false;
	*ret_middle = str_make(s.ptr + prefix.len, s.len - prefix.len - suffix.len);
	return true;
}

bool build_is_name(struct build *b, struct qless_str key, struct qless_str name)
{
	if (name.len <= QLESS_MAX_NAME_BYTES)
		return true;
	findings_add(b->findings, FINDING_TOO_LONG, key, STR(""));
	return false;
}

double build_number_if(struct build *b, const struct key *key, struct qless_str field, double other)
{
	struct qless_str text = key_field(key, field);
	double value;

	if (text.len == 0)
		return other;
	if (num_parse_lua(text, &value) && isfinite(value))
		return value != 0 ? value : 0;
	findings_add(b->findings, FINDING_FIELD, key->name, field);
	return other;
}

double build_number(struct build *b, const struct key *key, struct qless_str field, double other)
{
	if (key_field(key, field).len == 0)
		findings_add(b->findings, FINDING_FIELD, key->name, field);
	return build_number_if(b, key, field, other);
}

double build_score(struct qless_str text)
{
	double score;

	return num_parse_lua(text, &score) && !isnan(score) && score != 0 ? score : 0;
}

/* ---- tags ---- */

static void add_tag(struct build *b, struct qless_str tag)
{
	b->tags = mem_grow(b->tags, &b->tag_cap, b->tag_count + 1, sizeof *b->tags);
	b->tags[b->tag_count++] = tag;
}

void *build_tags(struct build *b, const struct key *key)
{
	struct qless_str text = key_field(key, NAMES_FIELD(TAGS));
	yyjson_doc *doc;
	yyjson_val *value;
	size_t i, max;

	b->tag_count = 0;
	if (str_equal(text, STR("{}")))
		return NULL;
	doc = text.len > 0 ? yyjson_read(text.ptr, text.len, YYJSON_READ_ALLOW_INVALID_UNICODE)
			   : NULL;
	if (doc == NULL || !yyjson_is_arr(yyjson_doc_get_root(doc))) {
		findings_add(b->findings, FINDING_FIELD, key->name, NAMES_FIELD(TAGS));
		yyjson_doc_free(doc);
		return NULL;
	}
	yyjson_arr_foreach(yyjson_doc_get_root(doc), i, max, value)
	{
		struct qless_str tag = str_make(yyjson_get_str(value), yyjson_get_len(value));

		if (!yyjson_is_str(value) || tag.len > QLESS_MAX_NAME_BYTES)
			findings_add(b->findings, FINDING_FIELD, key->name, NAMES_FIELD(TAGS));
		else
			add_tag(b, tag);
	}
	return doc;
}

void build_tags_done(void *document)
{
	yyjson_doc_free(document);
}

/* ---- the order of things ---- */

void build_engine(struct qless *engine, const struct keys *keys, double now,
		  struct findings *findings)
{
	struct build b = { .keys = keys, .findings = findings, .engine = engine };

	buf_init(&b.name, BUF_NO_MAX);
	b.sorted = keys_sorted(keys, &b.count);
	import_begin(&b.import, engine);
	build_options(&b);
	import_keep_histories(&b.import);
	build_tracked(&b);
	build_jobs(&b);
	build_rest(&b);
	import_end(&b.import, now);
	hash_done(&b.jobs);
	free(b.found);
	free(b.sorted);
	free(b.tags);
	buf_done(&b.name);
}
