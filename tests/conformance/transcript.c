#include "transcript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "util/mem.h"
#include "util/num.h"

#define SHOWN_MAX 2000

/* ---- reporting ---- */

void show_text(const char *label, struct qless_str text)
{
	printf("    %-9s%.*s%s\n", label, (int)(text.len > SHOWN_MAX ? SHOWN_MAX : text.len),
	       text.ptr, text.len > SHOWN_MAX ? " ..." : "");
}

void show_json(const char *label, yyjson_val *value)
{
	size_t len;
	char *text = yyjson_val_write(value, YYJSON_WRITE_ESCAPE_SLASHES, &len);

	show_text(label, text != NULL ? str_make(text, len) : STR("(nothing)"));
	free(text);
}

void scenario_differ(struct scenario *s, const char *what)
{
	s->failed = true;
	printf("%s: step %lld: %s\n", s->id,
	       (long long)yyjson_get_int(yyjson_obj_get(s->step, "n")), what);
	show_json("now", yyjson_obj_get(s->step, "now"));
	show_json("command", yyjson_obj_get(s->step, "cmd"));
}

struct qless_str json_text(yyjson_val *value)
{
	return str_make(yyjson_get_str(value), yyjson_get_len(value));
}

struct qless_str *step_arguments(const struct scenario *s, size_t *ret_count)
{
	yyjson_val *cmd = yyjson_obj_get(s->step, "cmd");
	yyjson_val *now = yyjson_obj_get(s->step, "now");
	struct qless_str *argv = mem_realloc_array(NULL, yyjson_arr_size(cmd) + 2, sizeof *argv);
	yyjson_arr_iter it;
	yyjson_val *arg;
	size_t argc = 0;

	yyjson_arr_iter_init(cmd, &it);
	while ((arg = yyjson_arr_iter_next(&it)) != NULL) {
		argv[argc++] = json_text(arg);
		if (argc == 1 && !yyjson_is_null(now))
			argv[argc++] = json_text(now);
	}
	*ret_count = argc;
	return argv;
}

/* ---- texts in a row ---- */

void append_text(struct buf *to, struct qless_str text)
{
	buf_append(to, &text.len, sizeof text.len);
	buf_append_str(to, text);
}

struct qless_str take_text(struct qless_str *from)
{
	struct qless_str s;

	memcpy(&s.len, from->ptr, sizeof s.len);
	s.ptr = from->ptr + sizeof s.len;
	from->ptr = s.ptr + s.len;
	from->len -= sizeof s.len + s.len;
	return s;
}

/* ---- comparing replies ---- */

/* One line of RESP, without its type and its end. */
static struct qless_str take_line(struct qless_str *from)
{
	const char *end = memchr(from->ptr, '\r', from->len);
	struct qless_str line = str_make(from->ptr + 1, (size_t)(end - from->ptr) - 1);

	from->len -= line.len + 3;
	from->ptr += line.len + 3;
	return line;
}

static void cut_front(struct qless_str *s, const char *prefix)
{
	if (str_starts_with(*s, str_from(prefix))) {
		s->ptr += strlen(prefix);
		s->len -= strlen(prefix);
	}
}

/* Cut ` script: <sha1>, on @user_script:1.` off the end. */
static void cut_place(struct qless_str *s)
{
	static const char front[] = " script: ", back[] = ", on @user_script:1.";
	size_t len = sizeof front - 1 + 40 + sizeof back - 1;
	struct qless_str end;

	if (s->len < len)
		return;
	end = str_make(s->ptr + s->len - len, len);
	if (!str_starts_with(end, str_from(front)) ||
	    memcmp(end.ptr + sizeof front - 1 + 40, back, sizeof back - 1) != 0)
		return;
	s->len -= len;
}

/* An error in the form of the transcripts. */
static struct qless_str bare_error(struct qless_str line)
{
	cut_front(&line, "ERR ");
	cut_front(&line, "user_script:1: ");
	cut_place(&line);
	return line;
}

static bool match_error_text(struct qless_str expected, struct qless_str got)
{
	const char *addr = memmem(expected.ptr, expected.len, "<addr>", 6);

	if (addr != NULL)
		return str_starts_with(got, str_make(expected.ptr, (size_t)(addr - expected.ptr)));
	return str_equal(expected, got);
}

static bool match_error(yyjson_val *step, yyjson_val *expected, struct qless_str got)
{
	yyjson_val *accept = yyjson_obj_get(step, "accept");
	size_t i;

	if (!yyjson_equals_str(yyjson_obj_get(step, "errclass"), "api"))
		return true;
	if (match_error_text(json_text(expected), got))
		return true;
	for (i = 0; i < yyjson_arr_size(accept); i++) {
		if (match_error_text(json_text(yyjson_arr_get(accept, i)), got))
			return true;
	}
	return false;
}

/* Compare a reply and remove it from `got`. */
static bool match_reply(yyjson_val *step, yyjson_val *expected, struct qless_str *got)
{
	char type = got->len > 0 ? got->ptr[0] : '\0';
	yyjson_val *value;
	struct qless_str line;
	struct qless_str bulk;
	int64_t number;
	size_t i;

	if (type == '\0')
		return false;
	line = take_line(got);
	value = yyjson_obj_get(expected, "err");
	if (value != NULL)
		return type == '-' && match_error(step, value, bare_error(line));
	value = yyjson_obj_get(expected, "int");
	if (value != NULL)
		return type == ':' && num_parse_i64(line, &number) &&
		       number == yyjson_get_sint(value);
	value = yyjson_obj_get(expected, "arr");
	if (value != NULL) {
		if (type != '*' || !num_parse_i64(line, &number) ||
		    (size_t)number != yyjson_arr_size(value))
			return false;
		for (i = 0; i < yyjson_arr_size(value); i++) {
			if (!match_reply(step, yyjson_arr_get(value, i), got))
				return false;
		}
		return true;
	}
	if (type != '$' || !num_parse_i64(line, &number))
		return false;
	if (yyjson_obj_get(expected, "nil") != NULL || number < 0)
		return yyjson_obj_get(expected, "nil") != NULL && number < 0;
	bulk = str_make(got->ptr, (size_t)number);
	got->ptr += number + 2;
	got->len -= (size_t)number + 2;
	return compare_texts(json_text(yyjson_obj_get(expected, "str")), bulk);
}

void check_reply(struct scenario *s, struct qless_str reply)
{
	yyjson_val *expected = yyjson_obj_get(s->step, "reply");
	struct qless_str got = reply;

	if (match_reply(s->step, expected, &got) && got.len == 0)
		return;
	scenario_differ(s, "another reply");
	show_json("expected", expected);
	show_text("got", reply);
}

/* ---- comparing events ---- */

void events_add(struct events *events, struct qless_str channel, struct qless_str payload)
{
	append_text(&events->text, channel);
	append_text(&events->text, payload);
	events->count++;
}

void check_events(struct scenario *s, const struct events *events)
{
	yyjson_val *expected = yyjson_obj_get(s->step, "events");
	struct qless_str got = buf_str(&events->text);
	bool same = yyjson_arr_size(expected) == events->count;
	size_t i;

	for (i = 0; same && i < events->count; i++) {
		yyjson_val *event = yyjson_arr_get(expected, i);
		struct qless_str channel = take_text(&got);
		struct qless_str payload = take_text(&got);

		same = str_equal(channel, json_text(yyjson_arr_get(event, 0))) &&
		       compare_texts(json_text(yyjson_arr_get(event, 1)), payload);
	}
	if (same)
		return;
	scenario_differ(s, "other events");
	show_json("expected", expected);
	got = buf_str(&events->text);
	while (got.len > 0) {
		show_text("channel", take_text(&got));
		show_text("payload", take_text(&got));
	}
}

/* ---- files ---- */

static void begin(struct scenario *s, yyjson_val *line)
{
	struct qless_str id = json_text(yyjson_obj_get(line, "id"));

	*s = (struct scenario){ .id = mem_dup(id.ptr, id.len) };
}

static void end(struct scenario *s, const struct transcript_ops *ops, void *arg,
		struct tally *tally)
{
	if (s->id == NULL)
		return;
	ops->end(arg);
	*(s->failed ? &tally->failed : &tally->passed) += 1;
	free(s->id);
	s->id = NULL;
}

void transcript_run(const char *path, const char *only, struct scenario *s,
		    const struct transcript_ops *ops, void *arg, struct tally *tally)
{
	FILE *file = fopen(path, "r");
	yyjson_doc *step_doc = NULL;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	if (file == NULL) {
		perror(path);
		exit(2);
	}
	while ((len = getline(&line, &cap, file)) > 0) {
		yyjson_doc *doc = yyjson_read(line, (size_t)len, 0);
		yyjson_val *root = yyjson_doc_get_root(doc);
		yyjson_val *type = yyjson_obj_get(root, "t");
		bool is_step = yyjson_equals_str(type, "step");

		if (yyjson_equals_str(type, "scenario")) {
			end(s, ops, arg, tally);
			if (only == NULL || yyjson_equals_str(yyjson_obj_get(root, "id"), only)) {
				begin(s, root);
				ops->begin(arg);
			}
		} else if (s->id != NULL && !s->failed) {
			if (is_step)
				s->step = root;
			ops->line(arg, root);
		}
		/* A report names the step until its state has been compared. */
		if (is_step) {
			yyjson_doc_free(step_doc);
			step_doc = doc;
		} else {
			yyjson_doc_free(doc);
		}
	}
	end(s, ops, arg, tally);
	yyjson_doc_free(step_doc);
	free(line);
	fclose(file);
}
