#include "engine/error.h"

#include <assert.h>

#include "engine/engine_int.h"
#include "util/num.h"

static const int codes[] = {
#define REASON_CODE(name, code, text) [name] = (code),
	QLESS_REASONS(REASON_CODE)
#undef REASON_CODE
};

static const char *const texts[] = {
#define REASON_TEXT(name, code, text) [name] = (text),
	QLESS_REASONS(REASON_TEXT)
#undef REASON_TEXT
};

static const char *const words[] = {
#define OPERATION_WORD(name, word) [name] = (word),
	QLESS_OPERATIONS(OPERATION_WORD)
#undef OPERATION_WORD
};

void engine_error_init(struct engine_error *e)
{
	e->last = (struct qless_error){ 0 };
	buf_init(&e->kept, BUF_NO_MAX);
	buf_init(&e->text, BUF_NO_MAX);
}

void engine_error_done(struct engine_error *e)
{
	buf_done(&e->kept);
	buf_done(&e->text);
}

/* Copy a slice; what is too long to be a name is cut. */
static struct qless_str cut(struct qless_str s)
{
	return str_make(s.ptr, s.len < QLESS_MAX_NAME_BYTES ? s.len : QLESS_MAX_NAME_BYTES);
}

/* Slices are copied, because they may belong to the caller or to an object that is freed next. */
int engine_fail(struct qless *q, struct qless_error error)
{
	struct buf *kept = &q->error.kept;
	struct qless_str jid = cut(error.jid);
	struct qless_str detail = cut(error.detail);

	buf_clear(kept);
	buf_append_str(kept, jid);
	buf_append_str(kept, detail);
	error.jid = str_make(buf_str(kept).ptr, jid.len);
	error.detail = str_make(buf_str(kept).ptr + jid.len, detail.len);
	error.code = codes[error.reason];
	q->error.last = error;
	return error.code;
}

int engine_fail_job(struct qless *q, enum qless_operation operation, enum qless_reason why,
		    struct qless_str jid, struct qless_str detail)
{
	return engine_fail(
		q, (struct qless_error){
			   .operation = operation, .reason = why, .jid = jid, .detail = detail });
}

int engine_fail_number(struct qless *q, enum qless_operation operation, enum qless_reason why,
		       const char *argument, double number)
{
	return engine_fail(q, (struct qless_error){ .operation = operation,
						    .reason = why,
						    .argument = argument,
						    .number = number });
}

int engine_fail_text(struct qless *q, enum qless_operation operation, enum qless_reason why,
		     const char *argument, struct qless_str text)
{
	return engine_fail(q, (struct qless_error){ .operation = operation,
						    .reason = why,
						    .argument = argument,
						    .detail = text });
}

int engine_fail_during(struct qless *q, enum qless_operation operation)
{
	assert(q->error.last.code < 0);
	q->error.last.operation = operation;
	return q->error.last.code;
}

static void append_number(struct buf *out, double value)
{
	char number[NUM_MAX];

	buf_append(out, number, num_format_g14(number, value));
}

void error_append(struct buf *out, const char *template, const struct qless_error *error)
{
	for (const char *p = template; *p != '\0'; p++) {
		if (*p != '%') {
			buf_append_char(out, *p);
			continue;
		}
		switch (*++p) {
		case 'j':
			buf_append_str(out, error->jid);
			break;
		case 'a':
			if (error->argument != NULL)
				buf_append_str(out, str_from(error->argument));
			break;
		case 'n':
			append_number(out, error->number);
			break;
		case 'v':
			if (error->detail.len == 0)
				append_number(out, error->number);
			else
				buf_append_str(out, error->detail);
			break;
		default:
			assert(*p == 'd');
			buf_append_str(out, error->detail);
		}
	}
}

const struct qless_error *qless_last_error(const struct qless *q)
{
	return &q->error.last;
}

struct qless_str qless_error_text(struct qless *q)
{
	const struct qless_error *error = &q->error.last;
	struct buf *text = &q->error.text;

	buf_clear(text);
	if (error->code == 0)
		return buf_str(text);
	if (error->operation != QLESS_OP_ANY) {
		buf_append_str(text, str_from(words[error->operation]));
		buf_append_str(text, STR(": "));
	}
	error_append(text, texts[error->reason], error);
	return buf_str(text);
}

const char *qless_error_word(int code)
{
	switch (code) {
#define ERROR_WORD(name, value, word) \
	case name:                    \
		return word;
		QLESS_ERRORS(ERROR_WORD)
#undef ERROR_WORD
	default:
		return "ERR";
	}
}
