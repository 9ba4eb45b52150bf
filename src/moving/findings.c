#include "moving/findings.h"

#include <inttypes.h>

#include "util/json.h"

struct kind {
	const char *name;
	const char *what;
	const char *rule;
};

static const struct kind kinds[FINDING_KINDS] = {
#define X(id, name, what, rule) [FINDING_##id] = { name, what, rule },
	FINDINGS(X)
#undef X
};

void findings_init(struct findings *f, uint64_t seed)
{
	*f = (struct findings){ .counts = { 0 } };
	for (int kind = 0; kind < FINDING_KINDS; kind++)
		buf_init(&f->examples[kind], BUF_NO_MAX);
	keys_init(&f->touched, seed);
}

void findings_done(struct findings *f)
{
	for (int kind = 0; kind < FINDING_KINDS; kind++)
		buf_done(&f->examples[kind]);
	keys_done(&f->touched);
}

void findings_touch(struct findings *f, struct qless_str key)
{
	if (keys_find(&f->touched, key) == NULL)
		keys_add(&f->touched, key_new(key, KEY_OTHER));
}

void findings_add(struct findings *f, enum finding kind, struct qless_str key,
		  struct qless_str detail)
{
	struct buf *b = &f->examples[kind];

	if (f->counts[kind]++ < FINDING_EXAMPLES) {
		buf_append_str(b, STR("    "));
		json_append_string(b, key);
		if (detail.len > 0) {
			buf_append_str(b, STR(" "));
			json_append_string(b, detail);
		}
		buf_append_char(b, '\n');
	}
	findings_touch(f, key);
}

bool findings_is_touched(const struct findings *f, struct qless_str key)
{
	return keys_find(&f->touched, key) != NULL;
}

uint64_t findings_total(const struct findings *f)
{
	uint64_t total = 0;

	for (int kind = 0; kind < FINDING_KINDS; kind++)
		total += f->counts[kind];
	return total;
}

void findings_print(const struct findings *f, FILE *to)
{
	for (int kind = 0; kind < FINDING_KINDS; kind++) {
		if (f->counts[kind] == 0)
			continue;
		fprintf(to, "  %s: %" PRIu64 " x %s; %s\n", kinds[kind].name, f->counts[kind],
			kinds[kind].what, kinds[kind].rule);
		fwrite(buf_data(&f->examples[kind]), 1, f->examples[kind].len, to);
		if (f->counts[kind] > FINDING_EXAMPLES)
			fprintf(to, "    ...\n");
	}
}
