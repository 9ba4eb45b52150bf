/*
 * Any keys of a Redis, moved in. The engine built from them is consistent, survives a snapshot, and
 * differs from the keys only if a finding says why.
 *
 * An input is text. A line that begins with a letter is a key: the letter chooses its type, and the
 * rest is its name. A line that begins with a blank is the next element of that key.
 */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/state.h"
#include "moving/build.h"
#include "moving/view.h"
#include "qless.h"
#include "util/buf.h"
#include "util/mem.h"
#include "util/num.h"

#define NOW	     1700000000.0
#define MAX_ELEMENTS 100

/* ---- keys as a Redis holds them ---- */

struct element {
	struct qless_str first;
	struct qless_str second; /* value of a field */
	double score;
};

struct draft {
	struct qless_str name;
	enum key_type type;
	struct element elements[MAX_ELEMENTS];
	size_t count;
	bool is_half; /* the last element has no second part yet */
};

static int compare_scores(const void *a, const void *b)
{
	const struct element *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return str_compare(x->first, y->first);
}

/* Fields and members are unique. */
static bool has_first(const struct draft *d, struct qless_str first)
{
	for (size_t i = 0; i < d->count; i++) {
		if (str_equal(d->elements[i].first, first))
			return true;
	}
	return false;
}

static void add_line(struct draft *d, struct qless_str line)
{
	struct element *last = d->count > 0 ? &d->elements[d->count - 1] : NULL;

	if (d->is_half) {
		last->second = line;
		if (!num_parse_lua(line, &last->score) || isnan(last->score))
			last->score = 0;
		d->is_half = false;
	} else if (d->count < MAX_ELEMENTS && d->type != KEY_OTHER &&
		   (d->type == KEY_LIST || !has_first(d, line))) {
		d->elements[d->count++] = (struct element){ .first = line, .second = STR("") };
		d->is_half = key_type_stride(d->type) == 2;
	}
}

static void end_key(struct draft *d, struct keys *keys)
{
	struct key *key;
	char score[NUM_MAX];

	if (keys_find(keys, d->name) != NULL || (d->count == 0 && d->type != KEY_OTHER))
		return;
	key = key_new(d->name, d->type);
	if (d->type == KEY_ZSET)
		qsort(d->elements, d->count, sizeof *d->elements, compare_scores);
	for (size_t i = 0; i < d->count; i++) {
		const struct element *e = &d->elements[i];

		if (d->type == KEY_ZSET)
			key_add_pair(key, e->first,
				     str_make(score, num_format_g17(score, e->score)));
		else if (d->type == KEY_HASH)
			key_add_pair(key, e->first, e->second);
		else
			key_add(key, e->first);
	}
	keys_add(keys, key);
}

static enum key_type type_of(char letter)
{
	static const char letters[] = "hlsz";
	const char *found = strchr(letters, letter);

	return letter != '\0' && found != NULL ? (enum key_type)(found - letters) : KEY_OTHER;
}

static void read_keys(struct qless_str text, struct keys *keys)
{
	struct draft draft = { .type = KEY_OTHER };
	bool has_key = false;

	while (text.len > 0) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end != NULL ? (size_t)(end - text.ptr) : text.len;
		struct qless_str rest = str_make(text.ptr + 1, len > 0 ? len - 1 : 0);

		if (len > 0 && text.ptr[0] == ' ') {
			add_line(&draft, rest);
		} else if (len > 0) {
			if (has_key)
				end_key(&draft, keys);
			draft.name = rest;
			draft.type = type_of(text.ptr[0]);
			draft.count = 0;
			draft.is_half = false;
			has_key = true;
		}
		len += end != NULL;
		text.ptr += len;
		text.len -= len;
	}
	if (has_key)
		end_key(&draft, keys);
}

/* ---- what was built ---- */

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
	abort();
}

static bool append_saved(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
	return true;
}

static struct qless_str next_piece(void *arg)
{
	struct qless_str *rest = arg, piece = *rest;

	rest->len = 0;
	return piece;
}

/* The log that is written begins with a snapshot. */
static void check_snapshot(const struct qless *engine)
{
	struct qless_hooks hooks = { .hash_seed = 2 };
	struct qless *again = qless_new(&hooks);
	struct buf saved = BUF_INIT(BUF_NO_MAX), second = BUF_INIT(BUF_NO_MAX);
	struct qless_str rest;
	int rc;

	state_save(engine, append_saved, &saved);
	rest = buf_str(&saved);
	rc = state_load(again, next_piece, &rest);
	if (rc < 0)
		fprintf(stderr, "%.*s\n", (int)qless_error_text(again).len,
			qless_error_text(again).ptr);
	assert(rc == 0);
	qless_check(again, fail_finding, NULL);
	state_save(again, append_saved, &second);
	assert(str_equal(buf_str(&saved), buf_str(&second)));
	qless_free(again);
	buf_done(&saved);
	buf_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct qless_hooks hooks = { .hash_seed = 1 };
	struct qless *engine = qless_new(&hooks);
	struct comparison comparison;
	struct findings findings;
	struct keys keys;

	keys_init(&keys, 1);
	findings_init(&findings, 1);
	read_keys(str_make((const char *)data, size), &keys);
	build_engine(engine, &keys, NOW, &findings);
	qless_check(engine, fail_finding, NULL);
	compare_keys(engine, &keys, &findings, &comparison);
	if (comparison.different > 0)
		fprintf(stderr, "%s", buf_cstr(&comparison.examples));
	assert(comparison.different == 0);
	check_snapshot(engine);

	comparison_done(&comparison);
	findings_done(&findings);
	keys_done(&keys);
	qless_free(engine);
	return 0;
}
