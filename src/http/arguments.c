#include "http/arguments.h"

#include <assert.h>
#include <string.h>

#include "http/arguments_int.h"
#include "http/body.h"
#include "util/mem.h"
#include "util/nearest.h"
#include "util/num.h"

/* The memory that arguments_trim() keeps. */
#define KEEP_ARGS  256
#define KEEP_BYTES ((size_t)4096)
/* Bytes for what is made without the request: numbers, and the prefix of a key. */
#define OWN_BYTES ((size_t)1024)
/* Seconds for which a job is not put again with the same Idempotency-Key: a day. */
#define IDEMPOTENCY_SECONDS "86400"

void arguments_init(struct arguments *a)
{
	*a = (struct arguments){ .error = BUF_INIT(ARGUMENTS_ERROR_MAX),
				 .text = BUF_INIT(BUF_NO_MAX),
				 .filled = BUF_INIT(BUF_NO_MAX) };
}

void arguments_done(struct arguments *a)
{
	free(a->argv);
	buf_done(&a->error);
	buf_done(&a->text);
	buf_done(&a->filled);
	arguments_init(a);
}

size_t arguments_memory(const struct arguments *a)
{
	return a->argv_cap * sizeof *a->argv + a->error.cap + a->text.cap + a->filled.cap;
}

void arguments_trim(struct arguments *a)
{
	a->argc = 0;
	buf_clear(&a->text);
	buf_shrink(&a->text, KEEP_BYTES);
	buf_clear(&a->filled);
	buf_shrink(&a->filled, KEEP_BYTES);
	if (a->argv_cap > KEEP_ARGS) {
		free(a->argv);
		a->argv = NULL;
		a->argv_cap = 0;
	}
}

/* ---- errors ---- */

bool arguments_fail(struct arguments *a, const char *code, const char *format, ...)
{
	va_list args;

	a->code = code;
	buf_clear(&a->error);
	if (a->element != 0)
		buf_printf(&a->error, "Element %zu of the body: ", a->element);
	va_start(args, format);
	if (!buf_vprintf(&a->error, format, args))
		buf_append_str(&a->error, STR("The request is not valid"));
	va_end(args);
	return false;
}

static const char *place_text(const struct arguments *a)
{
	return route_has_body(a->route) ? "member" : "parameter";
}

bool arguments_fail_kind(struct arguments *a, const struct route_arg *arg, const char *expected,
			 struct qless_str found)
{
	if (!route_has_body(a->route))
		return arguments_fail(a, "BADARG",
				      "The parameter \"%s\" must be %s; found \"%.*s\"", arg->name,
				      expected, QUOTE(found));
	return arguments_fail(a, "BADARG", "The member \"%s\" must be %s; found %s", arg->name,
			      expected, body_kind_text(body_kind_of(found)));
}

/* Appends the names that the route knows. */
static void list_names(struct arguments *a)
{
	const char *before = "; expected ";

	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		if (arg->kind == ROUTE_SEGMENT || arg->kind == ROUTE_WORD)
			continue;
		buf_printf(&a->error, "%s%s", before, arg->name);
		before = ", ";
	}
}

static bool fail_unknown(struct arguments *a, struct qless_str name)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		if (arg->kind != ROUTE_SEGMENT && arg->kind != ROUTE_WORD)
			nearest_try(&nearest, str_from(arg->name));
	}
	arguments_fail(a, "BADARG", "There is no %s \"%.*s\" here", place_text(a), QUOTE(name));
	if (nearest.found.ptr != NULL)
		buf_printf(&a->error, "; did you mean \"%.*s\"?", QUOTE(nearest.found));
	else
		list_names(a);
	return false;
}

bool arguments_fail_repeated(struct arguments *a, struct qless_str name)
{
	return arguments_fail(a, "BADARG", "The %s \"%.*s\" occurs more than once", place_text(a),
			      QUOTE(name));
}

static bool fail_missing(struct arguments *a, const struct route_arg *arg)
{
	return arguments_fail(a, "BADARG", "The %s \"%s\" is missing: %s", place_text(a), arg->name,
			      arg->help);
}

/* ---- arguments ---- */

void arguments_add(struct arguments *a, struct qless_str argument)
{
	if (a->argc == a->argv_cap)
		a->argv = mem_grow(a->argv, &a->argv_cap, a->argc + 1, sizeof *a->argv);
	a->argv[a->argc++] = argument;
}

bool arguments_check_count(struct arguments *a)
{
	size_t max = a->context->max_args;

	return max == 0 || a->argc <= max ||
	       arguments_fail(a, "LIMIT",
			      "More values in one request than client-max-arguments (%zu)", max);
}

void arguments_add_word(struct arguments *a, const struct route_arg *arg)
{
	if (arg->word != NULL)
		arguments_add(a, str_from(arg->word));
}

/* The room for text has been made, so the slices do not move. */
static struct qless_str keep(struct arguments *a, const char *bytes, size_t len)
{
	char *to = a->text.mem + a->text.start + a->text.len;

	assert(len <= a->text.cap - a->text.start - a->text.len);
	memcpy(to, bytes, len);
	buf_commit(&a->text, len);
	return str_make(to, len);
}

struct qless_str arguments_decode(struct arguments *a, struct qless_str inside)
{
	char *to = a->text.mem + a->text.start + a->text.len;
	size_t len;

	if (inside.len == 0 || memchr(inside.ptr, '\\', inside.len) == NULL)
		return inside;
	assert(inside.len <= a->text.cap - a->text.start - a->text.len);
	len = body_decode(inside, to);
	buf_commit(&a->text, len);
	return str_make(to, len);
}

struct qless_str arguments_keep_number(struct arguments *a, double number)
{
	char text[NUM_MAX];

	return keep(a, text, num_format_g17(text, number));
}

/* The name of a command, and that of its subcommand after `|`. */
static void add_command(struct arguments *a, const char *command)
{
	const char *bar = strchr(command, '|');

	if (bar == NULL) {
		arguments_add(a, str_from(command));
		return;
	}
	arguments_add(a, str_make(command, (size_t)(bar - command)));
	arguments_add(a, str_from(bar + 1));
}

/* ---- members of the body ---- */

const struct arguments_value *arguments_value_of(const struct arguments *a,
						 const struct route_arg *arg)
{
	return &a->values[arg - a->route->args];
}

/* Finds the argument of a member or parameter. The name `args` stands for data. */
static const struct route_arg *find_arg(const struct arguments *a, struct qless_str name)
{
	bool is_args = str_equal(name, STR("args"));

	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		if (arg->kind == ROUTE_WORD || arg->kind == ROUTE_SEGMENT)
			continue;
		if (str_equal(str_from(arg->name), name))
			return arg;
		if (is_args && arg->kind == ROUTE_DATA)
			return arg;
	}
	return NULL;
}

static bool is_timeout(const struct arguments *a, struct qless_str name)
{
	return a->route->waiting != NULL && str_equal(name, STR("timeout"));
}

bool arguments_set(struct arguments *a, struct arguments_value *to, struct qless_str name,
		   struct qless_str value)
{
	if (to->is_set)
		return arguments_fail_repeated(a, name);
	to->is_set = true;
	to->text = value;
	return true;
}

/* The data has one of two names. As `args` it is an array. */
static bool check_data(struct arguments *a, const struct arguments_value *data,
		       struct qless_str name, struct qless_str value)
{
	bool is_args = str_equal(name, STR("args"));

	if (data->is_set && is_args != a->data_is_args)
		return arguments_fail(a, "BADARG",
				      "The members \"data\" and \"args\" exclude each other");
	a->data_is_args = is_args;
	return !is_args || body_kind_of(value) == BODY_ARRAY ||
	       arguments_fail(a, "BADARG", "The member \"args\" must be an array; found %s",
			      body_kind_text(body_kind_of(value)));
}

static bool take_member(struct arguments *a, struct qless_str name, struct qless_str value)
{
	const struct route_arg *arg;
	struct arguments_value *to;

	if (is_timeout(a, name)) {
		if (body_kind_of(value) != BODY_NUMBER)
			return arguments_fail(a, "BADARG",
					      "The member \"timeout\" must be a number; found %s",
					      body_kind_text(body_kind_of(value)));
		return arguments_set(a, &a->timeout, name, value);
	}
	arg = find_arg(a, name);
	if (arg == NULL)
		return fail_unknown(a, name);
	to = &a->values[arg - a->route->args];
	return (arg->kind != ROUTE_DATA || check_data(a, to, name, value)) &&
	       arguments_set(a, to, name, value);
}

static bool take_members(struct arguments *a, struct qless_str object)
{
	struct qless_str name, value;

	memset(a->values, 0, sizeof a->values);
	while (body_next_member(&object, &name, &value)) {
		if (!take_member(a, arguments_decode(a, name), value))
			return false;
	}
	return true;
}

/* ---- parameters of the query ---- */

static bool take_parameter(struct arguments *a, const struct http_parameter *parameter)
{
	const struct route_arg *arg;
	struct arguments_value *to;

	if (str_equal(parameter->name, STR("db"))) {
		if (a->has_db)
			return arguments_fail_repeated(a, parameter->name);
		a->has_db = true;
		a->db = parameter->value;
		return true;
	}
	if (route_has_body(a->route))
		return arguments_fail(
			a, "BADARG",
			"There is no parameter \"%.*s\" here: the body has the values, and the "
			"query only db",
			QUOTE(parameter->name));
	arg = find_arg(a, parameter->name);
	if (arg == NULL)
		return fail_unknown(a, parameter->name);
	to = &a->values[arg - a->route->args];
	if (to->is_set && route_arg_is_list(arg))
		return true;
	return arguments_set(a, to, parameter->name, parameter->value);
}

static bool take_parameters(struct arguments *a)
{
	const struct http_target *target = &a->req->target;

	for (size_t i = 0; i < target->parameter_count; i++) {
		if (!take_parameter(a, &target->parameters[i]))
			return false;
	}
	return true;
}

/* ---- rows ---- */

/* Returns the segment of the path at the place that the pattern has the name in braces. */
static struct qless_str find_segment(const struct arguments *a, const char *name)
{
	const char *at = a->route->path;
	size_t len = strlen(name);

	for (size_t i = 0; *at != '\0'; i++) {
		at++;
		if (*at == '{' && strncmp(at + 1, name, len) == 0 && at[1 + len] == '}')
			return a->req->target.segments[i];
		at += strcspn(at, "/");
	}
	assert(false);
	return STR("");
}

/* Whether a value without a word follows. */
static bool is_followed(const struct arguments *a, const struct route_arg *arg)
{
	for (arg++; !route_arg_is_end(arg); arg++) {
		if (arg->kind != ROUTE_WORD && arg->word == NULL && arg->kind != ROUTE_RAW &&
		    arguments_value_of(a, arg)->is_set)
			return true;
	}
	return false;
}

static void add_gap(struct arguments *a, const struct route_arg *arg)
{
	struct arguments_gap *gap = &a->gaps[a->gap_count++];

	assert(a->gap_count <= ARGUMENTS_GAPS_MAX);
	gap->at = a->argc;
	gap->kind = arg->kind == ROUTE_DATA	      ? ARGUMENTS_GAP_DATA
		    : strcmp(arg->name, "class") == 0 ? ARGUMENTS_GAP_CLASS
						      : ARGUMENTS_GAP_QUEUE;
	arguments_add(a, STR(""));
}

static bool add_missing(struct arguments *a, const struct route_arg *arg)
{
	switch (arg->need) {
	case ROUTE_REQUIRED:
		return fail_missing(a, arg);
	case ROUTE_DEFAULT:
		arguments_add(a, str_from(arg->fallback));
		break;
	case ROUTE_FILLED:
		if (is_followed(a, arg))
			arguments_add(a, str_from(arg->fallback));
		break;
	case ROUTE_USER:
		arguments_add(a, a->context->user);
		break;
	case ROUTE_NOW:
		arguments_add(a, arguments_keep_number(a, a->context->now));
		break;
	case ROUTE_JOB:
		add_gap(a, arg);
		break;
	case ROUTE_OPTIONAL:
		if (arg->word == NULL && arg->kind != ROUTE_RAW && arg->kind != ROUTE_OFFSET &&
		    arg->kind != ROUTE_DATA && is_followed(a, arg))
			return fail_missing(a, arg);
		break;
	case ROUTE_EITHER:
		break;
	}
	return true;
}

static bool add_arg(struct arguments *a, const struct route_arg *arg)
{
	const struct arguments_value *value = arguments_value_of(a, arg);

	if (arg->kind == ROUTE_WORD) {
		arguments_add_word(a, arg);
		return true;
	}
	if (value->is_set && arg->word != NULL && strcmp(arg->word, "unique") == 0)
		a->is_keyed = true;
	if (arg->kind == ROUTE_SEGMENT && strcmp(arg->name, "jid") == 0)
		a->jid = find_segment(a, arg->name);
	if (arg->kind == ROUTE_SEGMENT)
		arguments_add(a, find_segment(a, arg->name));
	else if (!value->is_set && !add_missing(a, arg))
		return false;
	else if (value->is_set && !route_has_body(a->route) &&
		 !arguments_add_from_query(a, arg, value->text))
		return false;
	else if (value->is_set && route_has_body(a->route) &&
		 !arguments_add_from_body(a, arg, value->text))
		return false;
	return true;
}

/* Checks that one of two values that exclude each other is there. */
static bool check_either(struct arguments *a)
{
	const struct route_arg *first = NULL, *second = NULL;
	unsigned count = 0;

	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		if (arg->need != ROUTE_EITHER)
			continue;
		if (first == NULL)
			first = arg;
		else
			second = arg;
		count += arguments_value_of(a, arg)->is_set;
	}
	if (first == NULL || count == 1)
		return true;
	return arguments_fail(a, "BADARG", "The body needs either \"%s\" or \"%s\"; found %s",
			      first->name, second->name, count == 0 ? "neither" : "both");
}

static bool add_all(struct arguments *a)
{
	if (!check_either(a))
		return false;
	if (a->timeout.is_set) {
		add_command(a, a->route->waiting);
		arguments_add(a, a->timeout.text);
	} else {
		add_command(a, a->route->command);
	}
	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		if (!add_arg(a, arg))
			return false;
	}
	return true;
}

/* The key of a request that may be sent again: a job that has it is not put twice. With the length
 * of its name, a user cannot have the key of another one. */
static bool add_idempotency_key(struct arguments *a)
{
	struct qless_str key = a->req->fields[HTTP_FIELD_IDEMPOTENCY_KEY], user = a->context->user;
	struct qless_str prefix = a->context->idempotency_prefix, unique;
	char length[NUM_MAX];

	if (a->route->many == NULL || !http_has_field(a->req, HTTP_FIELD_IDEMPOTENCY_KEY))
		return true;
	a->element = 0;
	if (a->job_count != 0)
		return arguments_fail(a, "BADARG",
				      "An array of jobs cannot have an Idempotency-Key");
	if (a->is_keyed)
		return arguments_fail(
			a, "BADARG",
			"The member \"unique\" and an Idempotency-Key exclude each other");
	if (key.len == 0)
		return arguments_fail(a, "BADARG", "The Idempotency-Key must not be empty");
	unique = keep(a, prefix.ptr, prefix.len);
	unique.len += keep(a, length, num_format_i64(length, (int64_t)user.len)).len;
	unique.len += keep(a, ":", 1).len + keep(a, user.ptr, user.len).len;
	unique.len += keep(a, ":", 1).len + keep(a, key.ptr, key.len).len;
	arguments_add(a, STR("unique"));
	arguments_add(a, unique);
	arguments_add(a, STR("until"));
	arguments_add(a, STR(IDEMPOTENCY_SECONDS));
	a->is_keyed = a->is_idempotent = true;
	return true;
}

/* ---- arrays of jobs ---- */

/* Returns whether each job of an array has its own. The other values apply to all of them. */
static bool is_of_each(const struct route_arg *arg)
{
	return arg->kind == ROUTE_DATA || (arg->name != NULL && (strcmp(arg->name, "jid") == 0 ||
								 strcmp(arg->name, "class") == 0));
}

static bool add_shared(struct arguments *a)
{
	add_command(a, a->route->many);
	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		if (!is_of_each(arg) && !add_arg(a, arg))
			return false;
	}
	arguments_add(a, STR("jobs"));
	return true;
}

static bool add_each(struct arguments *a)
{
	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		if (is_of_each(arg) && !add_arg(a, arg))
			return false;
	}
	return true;
}

static bool check_shared(struct arguments *a, const struct arguments_value *first)
{
	for (const struct route_arg *arg = a->route->args; !route_arg_is_end(arg); arg++) {
		const struct arguments_value *own = arguments_value_of(a, arg), *shared;

		shared = &first[arg - a->route->args];
		if (is_of_each(arg) || (own->is_set == shared->is_set &&
					(!own->is_set || str_equal(own->text, shared->text))))
			continue;
		return arguments_fail(
			a, "BADARG",
			"The member \"%s\" must be that of the first element, because it is for "
			"all jobs: only \"jid\", \"class\", \"data\" and \"args\" may differ",
			arg->name);
	}
	return true;
}

/* The command would refuse them, too. Reading all of them first would take long. */
static bool fail_count(struct arguments *a)
{
	size_t max = a->context->max_jobs;

	a->element = 0;
	return arguments_fail(a, "LIMIT", "More jobs in one call than max-jobs-per-call (%zu)",
			      max);
}

static bool add_many(struct arguments *a, struct qless_str array)
{
	struct arguments_value first[ROUTE_ARGS_MAX];
	struct qless_str job;

	while (body_next_element(&array, &job)) {
		if (a->element++ == a->context->max_jobs && a->context->max_jobs != 0)
			return fail_count(a);
		if (body_kind_of(job) != BODY_OBJECT)
			return arguments_fail(a, "BADARG", "A job must be an object; found %s",
					      body_kind_text(body_kind_of(job)));
		if (!take_members(a, job))
			return false;
		if (a->element == 1) {
			memcpy(first, a->values, sizeof first);
			if (!add_shared(a))
				return false;
		} else if (!check_shared(a, first)) {
			return false;
		}
		if (!add_each(a) || !arguments_check_count(a))
			return false;
	}
	a->job_count = a->element;
	return a->job_count != 0 ||
	       arguments_fail(a, "BADARG", "The array of jobs must not be empty");
}

/* ---- requests ---- */

static bool check_body(struct arguments *a)
{
	struct qless_str body = body_trim(a->req->body);
	char why[BODY_ERROR_SIZE];

	if (body.len == 0)
		return true;
	if (!route_has_body(a->route))
		return arguments_fail(a, "BADARG", "A %.*s request of this path has no body",
				      QUOTE(http_method_name(a->route->method)));
	/* The object of the body, and the array around it. */
	return body_check(body, a->context->max_json_depth + 2, why) ||
	       arguments_fail(a, "BADJSON",
			      "The body must be JSON, at most max-json-depth levels deep: %s", why);
}

static bool take_body(struct arguments *a)
{
	struct qless_str body = body_trim(a->req->body);

	if (body.len == 0)
		return add_all(a);
	if (a->route->many != NULL && body_kind_of(body) == BODY_ARRAY)
		return add_many(a, body);
	if (body_kind_of(body) != BODY_OBJECT)
		return arguments_fail(a, "BADARG", "The body must be an object; found %s",
				      body_kind_text(body_kind_of(body)));
	return take_members(a, body) && add_all(a);
}

static void begin(struct arguments *a, const struct route *route, const struct http_request *req,
		  const struct arguments_context *context)
{
	a->argc = 0;
	a->has_db = false;
	a->is_keyed = a->is_idempotent = a->data_is_args = false;
	a->db = a->jid = STR("");
	a->gap_count = a->element = a->job_count = 0;
	a->code = NULL;
	a->route = route;
	a->req = req;
	a->context = context;
	memset(a->values, 0, sizeof a->values);
	a->timeout.is_set = false;
	buf_clear(&a->error);
	buf_clear(&a->text);
	/* Each byte of the body is decoded twice at most, so that the slices never move. */
	buf_reserve(&a->text, 2 * req->body.len + OWN_BYTES + context->user.len +
				      req->fields[HTTP_FIELD_IDEMPOTENCY_KEY].len);
}

bool arguments_begin(struct arguments *a, const struct route *route, const struct http_request *req,
		     const struct arguments_context *context)
{
	begin(a, route, req, context);
	return take_parameters(a) && check_body(a);
}

bool arguments_end(struct arguments *a, const struct arguments_context *context)
{
	a->context = context;
	return take_body(a) && add_idempotency_key(a);
}

bool arguments_make(struct arguments *a, const struct route *route, const struct http_request *req,
		    const struct arguments_context *context)
{
	return arguments_begin(a, route, req, context) && arguments_end(a, context);
}

void arguments_fill(struct arguments *a, struct qless_str queue, struct qless_str klass,
		    struct qless_str data, bool data_is_raw)
{
	const struct qless_str values[] = {
		[ARGUMENTS_GAP_QUEUE] = queue,
		[ARGUMENTS_GAP_CLASS] = klass,
		[ARGUMENTS_GAP_DATA] = data,
	};
	char *at;

	buf_clear(&a->filled);
	/* All at once, so that the copies do not move. */
	at = buf_reserve(&a->filled, queue.len + klass.len + data.len + 1);
	for (size_t i = 0; i < a->gap_count; i++) {
		struct qless_str value = values[a->gaps[i].kind];

		if (value.len != 0)
			memcpy(at, value.ptr, value.len);
		a->argv[a->gaps[i].at] = str_make(at, value.len);
		at += value.len;
		if (a->gaps[i].kind == ARGUMENTS_GAP_DATA && data_is_raw)
			arguments_add(a, STR("raw"));
	}
}
