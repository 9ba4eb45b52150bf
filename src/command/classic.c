/*
 * Code that the handlers of the queue commands share: arguments, errors, running and recording,
 * replies.
 */
#include "command/classic.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command/classic_int.h"
#include "command/databases.h"
#include "command/rows.h"
#include "command/scripts.h"
#include "command/table.h"
#include "util/escape.h"
#include "util/mem.h"
#include "util/num.h"

/* Bound of an index or count. Redis writes numbers with 17 digits, so it takes larger ones for no
 * integer. */
#define INDEX_MAX 1e17

/* Bytes of the JSON buffer that are kept after a large reply. */
#define KEEP_BYTES ((size_t)64 * 1024)

/* ---- errors ---- */

static struct qless_str cut_at_nul(struct qless_str text)
{
	const char *nul = text.len > 0 ? memchr(text.ptr, '\0', text.len) : NULL;

	return nul != NULL ? str_make(text.ptr, (size_t)(nul - text.ptr)) : text;
}

/* Put a message into the envelope of a script error. `before` goes in front of the message. */
static struct qless_str wrap(struct request *req, const char *before, struct qless_str message)
{
	struct buf *line = &req->scratch->line;

	buf_clear(line);
	if (req->env->envelope == SCRIPT_ENVELOPE_REDIS6) {
		buf_append_str(line, STR("Error running script (call to f_"));
		buf_append_str(line, req->sha);
		buf_append_str(line, STR("): @user_script:1: "));
		buf_append_str(line, str_from(before));
		buf_append_str(line, message);
	} else {
		buf_append_str(line, str_from(before));
		buf_append_str(line, message);
		buf_append_str(line, STR(" script: "));
		buf_append_str(line, req->sha);
		buf_append_str(line, STR(", on @user_script:1."));
	}
	return buf_str(line);
}

/* Clients look for the message of a script after `user_script:<line>: `. A message of the store has
 * no such prefix. */
static void write_script_error(struct request *req, struct qless_str message, bool is_store)
{
	const char *before = "user_script:1: ";

	if (is_store)
		before = req->env->envelope == SCRIPT_ENVELOPE_REDIS6 ? "ERR " : "";
	reply_error(req->reply, "ERR", wrap(req, before, message));
}

static void write_error(struct request *req, int code, struct qless_str message, bool is_store)
{
	message = cut_at_nul(message);
	if (req->form == REQUEST_SCRIPT)
		write_script_error(req, message, is_store);
	else if (req->form == REQUEST_QLESS)
		reply_error(req->reply, "ERR", message);
	else
		reply_error(req->reply, qless_error_word(code), message);
}

void classic_write_error(struct request *req, struct qless_str message)
{
	write_error(req, QLESS_EBADARG, message, false);
}

void classic_write_store_error(struct request *req, struct qless_str message)
{
	write_error(req, QLESS_EBADARG, message, true);
}

void classic_write_limit(struct request *req, struct qless_str message)
{
	if (req->row->run != NULL)
		write_error(req, QLESS_ELIMIT, message, true);
	else
		reply_error(req->reply, "ERR", message);
}

void classic_write_refusal(struct request *req, struct qless_str line)
{
	if (req->form != REQUEST_SCRIPT)
		reply_error_line(req->reply, line);
	else if (req->env->envelope == SCRIPT_ENVELOPE_REDIS6)
		reply_error(req->reply, "ERR", wrap(req, "", line));
	else
		reply_error_line(req->reply, wrap(req, "", line));
}

/* Quote an argument for a person: not all of a long one, and with its control characters. */
static void append_native_quoted(struct buf *error, struct qless_str s)
{
	char escape[ESCAPE_MAX];

	s = command_quote(s);
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
			buf_append(error, escape,
				   (size_t)(escape_write(escape, s.ptr[i]) - escape));
		else
			buf_append_char(error, s.ptr[i]);
	}
}

/* Quote an argument, but no more of it than a name may have. */
static void append_quoted(const struct request *req, struct buf *error, struct qless_str s)
{
	if (req->form == REQUEST_NATIVE)
		append_native_quoted(error, s);
	else
		buf_append(error, s.ptr,
			   s.len < QLESS_MAX_NAME_BYTES ? s.len : QLESS_MAX_NAME_BYTES);
}

static void word(struct request *req, const char *format, va_list args)
{
	struct buf *error = &req->scratch->error;
	char number[NUM_MAX];

	buf_clear(error);
	for (; *format != '\0'; format++) {
		if (*format != '%') {
			buf_append_char(error, *format);
			continue;
		}
		format++;
		if (*format == 'S')
			append_quoted(req, error, va_arg(args, struct qless_str));
		else if (*format == 'g')
			buf_append(error, number, num_format_g14(number, va_arg(args, double)));
		else
			buf_append_str(error, str_from(dialect_text_of(
						      req->dialect, va_arg(args, const char *))));
	}
}

int request_fail(struct request *req, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	word(req, dialect_text_of(req->dialect, format), args);
	va_end(args);
	req->is_said = true;
	return code;
}

struct qless_str request_word(struct request *req, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	word(req, format, args);
	va_end(args);
	return buf_str(&req->scratch->error);
}

int request_fail_store(struct request *req, const char *message)
{
	req->is_store = true;
	return request_fail(req, QLESS_EBADARG, "%s", message);
}

/* Word the engine's error unless request_fail() has worded another one. */
static void word_error(struct request *req)
{
	struct buf *error = &req->scratch->error;

	if (req->is_said)
		return;
	buf_clear(error);
	dialect_append_error(req->dialect, qless_last_error(req->engine), error);
	req->is_said = true;
}

void answer_error(struct request *req, int code)
{
	word_error(req);
	write_error(req, code, buf_str(&req->scratch->error),
		    req->is_store || code == QLESS_ERETRIES);
	req->is_said = false;
	req->is_store = false;
}

/* Add the arguments that a native command expects. Clients often swap two of them, and the message
 * only names the first one that is invalid. */
static void append_expected(struct request *req)
{
	word_error(req);
	command_append_expected(req->row, &req->scratch->error);
}

void answer_expected(struct request *req)
{
	append_expected(req);
	answer_error(req, QLESS_EBADARG);
}

/* ---- running ---- */

void request_record(struct request *req, struct operation *op,
		    const struct operation_outcome *outcome)
{
	const struct operation_recorder *recorder = req->database->recorder;

	if (recorder == NULL || !outcome->changed)
		return;
	op->keeps_data = outcome->kept_data;
	if (outcome->is_stopped) {
		op->pop.has_steps = true;
		op->pop.steps = outcome->steps;
	}
	recorder->record(recorder->arg, op);
}

int request_run_part(struct request *req, struct operation *op, size_t i,
		     struct operation_outcome *ret_outcome)
{
	bool has_changed = i > 0 && ret_outcome->changed;
	int rc;

	request_complete_operation(req, op);
	rc = operation_run_part(req->engine, op, i, ret_outcome);
	ret_outcome->changed |= has_changed;
	return rc;
}

int classic_run(struct request *req)
{
	int rc;

	req->until = req->now;
	rc = req->row->run(req);
	if ((rc == QLESS_EBADARG || rc == QLESS_EBADJSON) && req->form == REQUEST_NATIVE)
		append_expected(req);
	if (rc < 0)
		answer_error(req, rc);
	scratch_forget_decoded(req->scratch);
	if (req->scratch->json.cap > KEEP_BYTES) {
		buf_clear(&req->scratch->json);
		buf_shrink(&req->scratch->json, KEEP_BYTES);
	}
	return rc;
}

int request_decode(struct request *req, decode_fn *decode, struct operation *ret_op)
{
	int rc;

	scratch_forget_decoded(req->scratch);
	rc = decode(req, ret_op);
	request_complete_operation(req, ret_op);
	if (rc < 0)
		word_error(req);
	return rc;
}

static bool has_form(const struct command *row, enum request_form form)
{
	return row != NULL && (row->forms & 1U << form) != 0;
}

bool classic_is_command_of_scripts(struct qless_str name)
{
	return has_form(queue_command_find(name), REQUEST_SCRIPT);
}

bool classic_parse_script(struct request *req, const struct command *row,
			  const struct qless_str *argv, size_t argc)
{
	if (!has_form(row, req->form) || argc < 2 || !text_is_number(argv[1], &req->now))
		return false;
	req->row = row;
	req->args = argv + 2;
	req->nargs = argc - 2;
	return true;
}

int classic_refuse_script(struct request *req, const struct command *row,
			  const struct qless_str *argv, size_t argc)
{
	struct qless_str message = STR("Arg \"now\" missing or not a number: nil");
	struct buf *error = &req->scratch->error;

	if (argc == 0) {
		message = STR("Must provide a command");
	} else if (!has_form(row, req->form)) {
		buf_clear(error);
		buf_append_str(error, STR("Unknown command "));
		append_quoted(req, error, argv[0]);
		message = buf_str(error);
	}
	classic_write_error(req, message);
	return QLESS_EBADARG;
}

int request_advance(struct request *req, enum qless_advance_kind kind, struct qless_str queue,
		    int64_t max)
{
	struct operation op = { .kind = OPERATION_ADVANCE, .advance = { kind, queue, max } };
	struct operation_outcome outcome;

	return req->is_still ? 0 : request_run(req, &op, &outcome);
}

/* ---- arguments ---- */

struct qless_str request_text(const struct request *req, size_t i)
{
	return request_has(req, i) ? req->args[i] : STR("nil");
}

struct decoded *request_lists(struct request *req)
{
	req->scratch->decoded.is_used = true;
	return &req->scratch->decoded;
}

struct qless_str request_keep(struct request *req, struct qless_str text)
{
	struct decoded *lists = request_lists(req);
	char *copy = mem_dup(text.len > 0 ? text.ptr : "", text.len);

	lists->kept =
		mem_grow(lists->kept, &lists->kept_cap, lists->kept_count + 1, sizeof *lists->kept);
	lists->kept[lists->kept_count++] = copy;
	return str_make(copy, text.len);
}

struct operation_names request_rest(const struct request *req, size_t i)
{
	size_t count = request_has(req, i) ? req->nargs - i : 0;

	return (struct operation_names){ count != 0 ? req->args + i : NULL, count };
}

bool text_is_number(struct qless_str text, double *ret_number)
{
	double number;

	if (!num_parse_lua(text, &number) || !isfinite(number))
		return false;
	*ret_number = number;
	return true;
}

bool request_reads_number(const struct request *req, struct qless_str text, double *ret_number)
{
	if (req->form == REQUEST_NATIVE)
		return num_parse_decimal(text, ret_number);
	return text_is_number(text, ret_number);
}

int request_number(struct request *req, size_t i, const char *message, double *ret_number)
{
	if (!request_has(req, i) || !request_reads_number(req, req->args[i], ret_number))
		return request_fail(req, QLESS_EBADARG, "%s%S", message, request_text(req, i));
	return 0;
}

int request_optional_number(struct request *req, size_t i, const char *message, double number,
			    double *ret_number)
{
	if (request_has(req, i))
		return request_number(req, i, message, ret_number);
	*ret_number = number;
	return 0;
}

int request_check_option(struct request *req, const char *command, struct qless_str name)
{
	const struct script *script = req->form == REQUEST_SCRIPT ? req->script : NULL;

	if (script == NULL || !script_has_option(script, name))
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "%s(): qlessd lacks the option \"%S\" of this script", command, name);
}

int request_whole(struct request *req, size_t i, const char *message, double min,
		  double *ret_number)
{
	double number;
	int rc = request_number(req, i, message, &number);

	if (rc < 0)
		return rc;
	/* A number in this range fits into an integer, which costs less than floor(). */
	if (req->form == REQUEST_NATIVE &&
	    (number < min || number > STRICT_NUMBER_MAX || number != (double)(int64_t)number))
		return request_fail(req, QLESS_EBADARG, "%s%S", message, req->args[i]);
	*ret_number = number + 0.0; /* not -0 */
	return 0;
}

int request_optional_whole(struct request *req, size_t i, const char *message, double min,
			   double number, double *ret_number)
{
	if (request_has(req, i))
		return request_whole(req, i, message, min, ret_number);
	*ret_number = number;
	return 0;
}

/* Returns whether Redis takes a number from a script for an index. */
static bool is_index(double number)
{
	return number == floor(number) && fabs(number) < INDEX_MAX &&
	       !(number == 0 && signbit(number));
}

static int fail_index(struct request *req)
{
	return request_fail_store(req, "value is not an integer or out of range");
}

int request_page_numbers(struct request *req, size_t i, const char *offset_message,
			 const char *count_message, double *ret_offset, double *ret_count)
{
	/* A negative offset counts from the end of some lists. */
	int rc = request_optional_whole(req, i, offset_message, -STRICT_NUMBER_MAX, 0, ret_offset);

	if (rc < 0)
		return rc;
	return request_optional_whole(req, i + 1, count_message, 0, 25, ret_count);
}

int request_index_page(struct request *req, double offset, double count,
		       struct classic_page *ret_page)
{
	double stop = offset + count - 1;

	if (!is_index(offset) || !is_index(stop))
		return fail_index(req);
	ret_page->offset = (int64_t)offset;
	ret_page->count = (int64_t)stop - ret_page->offset + 1;
	return 0;
}

int request_limit_page(struct request *req, double offset, double count,
		       struct classic_page *ret_page)
{
	if (!is_index(offset) || !is_index(count))
		return fail_index(req);
	ret_page->offset = (int64_t)offset;
	ret_page->count = (int64_t)count;
	return 0;
}

int request_count(struct request *req, double number, const char *command, int64_t *ret_count)
{
	/* request_whole() has checked it. */
	if (req->form == REQUEST_NATIVE) {
		*ret_count = (int64_t)number;
		return 0;
	}
	if (number < 0)
		return request_fail(req, QLESS_EBADARG,
				    "%s(): Arg \"count\" must not be negative: %g", command,
				    number);
	if (number != floor(number))
		return request_fail(req, QLESS_EBADARG, "%s(): Arg \"count\" not an integer: %g",
				    command, number);
	*ret_count = number < INDEX_MAX ? (int64_t)number : INT64_MAX;
	return 0;
}

int request_check_jobs(struct request *req, size_t count)
{
	size_t max = qless_get_limits(req->engine)->max_jobs;

	return count <= max ? 0
			    : request_fail(req, QLESS_ELIMIT,
					   "More jobs in one call than max-jobs-per-call (%g)",
					   (double)max);
}

static int fail_depth(struct request *req)
{
	return request_fail(req, QLESS_ELIMIT,
			    "A JSON text is nested deeper than max-json-depth (%g levels)",
			    (double)req->database->max_json_depth);
}

/* Fail with the message of the JSON parser, which is in scratch->error. */
static int fail_json(struct request *req, const char *argument, struct qless_str text)
{
	struct buf *parser = &req->scratch->line;

	if (req->form != REQUEST_NATIVE) {
		req->is_said = true;
		return QLESS_EBADJSON;
	}
	buf_clear(parser);
	buf_append_str(parser, buf_str(&req->scratch->error));
	if (text.len == 0)
		return request_fail(req, QLESS_EBADJSON, "%s must be JSON; found \"\"", argument);
	return request_fail(req, QLESS_EBADJSON, "%s must be JSON; found \"%S\": %S", argument,
			    text, buf_str(parser));
}

/* Check a long text, up to an element after `max_elements`. */
static int walk_text(struct request *req, const char *argument, struct qless_str text,
		     size_t max_elements, struct json_shape *ret_shape)
{
	struct json_bounds bounds = { req->database->max_json_depth, max_elements };

	if (json_walk(text, &bounds, ret_shape, &req->scratch->error) || ret_shape->is_too_long)
		return 0;
	if (ret_shape->is_too_deep)
		return fail_depth(req);
	return fail_json(req, argument, text);
}

/* Returns whether the text is a flat object, which the unique key of the request may need again. */
static inline bool is_flat(struct scratch *scratch, struct qless_str text, enum json_kind *ret_kind)
{
	if (!json_flat_read(text, &scratch->flat))
		return false;
	scratch->flat_text = text;
	*ret_kind = JSON_OBJECT;
	return true;
}

int request_json_text(struct request *req, const char *argument, struct qless_str text,
		      enum json_kind *ret_kind)
{
	size_t max_bytes = qless_get_limits(req->engine)->max_data_bytes;
	size_t max_depth = req->database->max_json_depth;
	struct json_shape shape = { 0 };
	int rc;

	req->scratch->flat_text.ptr = NULL;
	if (text.len > max_bytes)
		return request_fail(req, QLESS_ELIMIT,
				    "A JSON text is longer than max-data-size (%g bytes)",
				    (double)max_bytes);
	if (text.len > JSON_LONG_BYTES) {
		rc = walk_text(req, argument, text, SIZE_MAX, &shape);
		*ret_kind = shape.kind;
		return rc;
	}
	if (max_depth >= JSON_PLAIN_DEPTH_MAX &&
	    (is_flat(req->scratch, text, ret_kind) || json_is_plain(text, ret_kind)))
		return 0;
	if (json_is_deeper(text, max_depth))
		return fail_depth(req);
	if (json_check(text, ret_kind, &req->scratch->error))
		return 0;
	return fail_json(req, argument, text);
}

int request_json_list(struct request *req, const char *argument, struct qless_str text, size_t max,
		      const char *message, enum json_kind *ret_kind)
{
	struct json_shape shape = { 0 };
	int rc;

	if (text.len <= JSON_LONG_BYTES || text.len > qless_get_limits(req->engine)->max_data_bytes)
		return request_json_text(req, argument, text, ret_kind);
	rc = walk_text(req, argument, text, max, &shape);
	if (rc == 0 && shape.is_too_long && shape.kind == JSON_ARRAY)
		return request_fail(req, QLESS_ELIMIT, "%s (%g)", message, (double)max);
	if (rc == 0 && shape.is_too_long)
		rc = walk_text(req, argument, text, SIZE_MAX, &shape);
	*ret_kind = shape.kind;
	return rc;
}

int request_fail_no_json(struct request *req)
{
	return request_fail(req, QLESS_EBADARG,
			    "bad argument #1 to 'decode' (string expected, got nil)");
}

/* ---- replies ---- */

int answer_nothing(struct request *req, const struct operation *op,
		   const struct operation_outcome *outcome)
{
	(void)op;
	(void)outcome;
	return answer_null(req);
}

int answer_one(struct request *req, const struct operation *op,
	       const struct operation_outcome *outcome)
{
	(void)op;
	(void)outcome;
	return answer_integer(req, 1);
}

int answer_integer(struct request *req, double number)
{
	/* As Redis converts the number of a script: towards zero; INT64_MIN if it does not fit. */
	bool fits = number > -9223372036854775808.0 && number < 9223372036854775808.0;

	reply_integer(req->reply, fits ? (int64_t)number : INT64_MIN);
	return 0;
}

int answer_time(struct request *req, double seconds)
{
	int64_t time;

	if (seconds >= 9223372036854775808.0)
		time = INT64_MAX;
	else if (seconds <= -9223372036854775808.0)
		time = 0;
	else
		time = (int64_t)seconds;
	reply_integer(req->reply, time);
	return 0;
}

int answer_null(struct request *req)
{
	reply_null(req->reply);
	return 0;
}

int answer_bulk(struct request *req, struct qless_str text)
{
	reply_bulk(req->reply, text);
	return 0;
}

int answer_json(struct request *req)
{
	reply_json(req->reply, buf_str(&req->scratch->json));
	return 0;
}

int answer_array(struct request *req, const struct qless_str *items, size_t count)
{
	size_t i;

	reply_array(req->reply, count);
	for (i = 0; i < count; i++)
		reply_bulk(req->reply, items[i]);
	return 0;
}

struct buf *request_json_buf(struct request *req)
{
	buf_clear(&req->scratch->json);
	return &req->scratch->json;
}
