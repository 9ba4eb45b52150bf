#include "moved.h"

#include "keyspace/keyspace.h"
#include "moving/build.h"
#include "moving/view.h"

/* A dump without the state that is in no key: the time of the last call, the days of workers, and
 * the numbers of hand-outs. */
struct outline {
	struct buf text;
	struct buf worker; /* the line of a worker, while only its name is known */
	bool in_worker;
};

static void add_line(void *arg, struct qless_str line)
{
	struct outline *outline = arg;

	if (str_starts_with(line, STR("latest ")) || str_starts_with(line, STR("  lock ")))
		return;
	if (str_starts_with(line, STR("worker "))) {
		buf_clear(&outline->worker);
		buf_append_str(&outline->worker, line);
		outline->in_worker = true;
		return;
	}
	if (!str_starts_with(line, STR("  ")))
		outline->in_worker = false;
	if (outline->in_worker && str_starts_with(line, STR("  day")))
		return;
	if (outline->in_worker) {
		buf_append_str(&outline->text, buf_str(&outline->worker));
		buf_clear(&outline->worker);
	}
	buf_append_str(&outline->text, line);
}

static void outline_init(struct outline *outline, const struct qless *engine)
{
	*outline = (struct outline){ .text = BUF_INIT(BUF_NO_MAX), .worker = BUF_INIT(BUF_NO_MAX) };
	qless_dump(engine, add_line, outline);
}

static void outline_done(struct outline *outline)
{
	buf_done(&outline->text);
	buf_done(&outline->worker);
}

struct reading {
	const struct qless *engine;
	struct keys keys;
};

static void read_key(void *arg, struct qless_str name, enum keyspace_type type)
{
	struct reading *reading = arg;

	(void)type;
	keys_add(&reading->keys, view_key(reading->engine, name));
}

static void note_difference(const struct qless *engine, const struct qless *moved,
			    const struct findings *findings, struct buf *out)
{
	struct outline before, after;
	size_t same = 0, line = 0;

	outline_init(&before, engine);
	outline_init(&after, moved);
	if (findings_total(findings) > 0) {
		for (int kind = 0; kind < FINDING_KINDS; kind++)
			buf_append_str(out, buf_str(&findings->examples[kind]));
	} else if (!str_equal(buf_str(&before.text), buf_str(&after.text))) {
		const char *a = buf_cstr(&before.text);
		const char *b = buf_cstr(&after.text);

		for (; a[same] == b[same] && a[same] != '\0'; same++) {
			if (a[same] == '\n')
				line = same + 1;
		}
		buf_printf(out, "\n%.300s\n-- but --\n%.300s", a + line, b + line);
	}
	outline_done(&before);
	outline_done(&after);
}

static void note_defect(void *arg, struct qless_str finding)
{
	buf_append_str(arg, finding);
}

bool moved_is_same(const struct qless *engine, struct buf *ret_difference)
{
	struct reading reading = { .engine = engine };
	struct qless *moved = qless_new(NULL);
	struct findings findings;
	struct comparison comparison;

	keys_init(&reading.keys, 3);
	findings_init(&findings, 3);
	keyspace_each_key(engine, STR(""), read_key, &reading);
	build_engine(moved, &reading.keys, 0, &findings);
	note_difference(engine, moved, &findings, ret_difference);
	qless_check(moved, note_defect, ret_difference);
	compare_keys(moved, &reading.keys, &findings, &comparison);
	buf_append_str(ret_difference, buf_str(&comparison.examples));
	comparison_done(&comparison);
	findings_done(&findings);
	keys_done(&reading.keys);
	qless_free(moved);
	return ret_difference->len == 0;
}
