/*
 * ENDPOINT.SET, ENDPOINT.DELETE, ENDPOINT.PAUSE, ENDPOINT.UNPAUSE and ENDPOINT.TEST.
 */
#include "command/native_endpoint.h"

#include <math.h>
#include <stdlib.h>

#include "command/classic_int.h"
#include "command/endpoint_args.h"
#include "command/options.h"
#include "command/permit.h"
#include "command/push.h"
#include "command/work.h"
#include "push/header.h"
#include "push/url.h"
#include "util/buf.h"
#include "util/container.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/utf8.h"

#define CONCURRENCY_DEFAULT 10
/* Seconds of TIMEOUT: the default, and the longest, which is 30 days. */
#define TIMEOUT_DEFAULT 60
#define TIMEOUT_MAX	2592000.0
/* Bytes of the longest secret. The hash function takes longer ones, which are no stronger. */
#define SECRET_MAX 1024
/* Each worker has the name of its endpoint after this, and is no longer than other names. */
#define WORKER_PREFIX_BYTES (sizeof PUSH_WORKER_PREFIX - 1)

/* ---- names and permissions ---- */

static int check_text(struct request *req, const char *what, struct qless_str text, size_t max)
{
	if (text.len == 0)
		return request_fail(req, QLESS_EBADARG, "%s must not be empty", what);
	if (text.len > max)
		return request_fail(req, QLESS_ELIMIT,
				    "The %s is longer than max-name-length allows (%g bytes)", what,
				    (double)max);
	if (!utf8_is_valid(text))
		return request_fail(req, QLESS_EBADARG, "The %s is not UTF-8", what);
	return 0;
}

static int check_name(struct request *req)
{
	size_t max = qless_get_limits(req->engine)->max_name_bytes;

	max = max > WORKER_PREFIX_BYTES ? max - WORKER_PREFIX_BYTES : 0;
	return check_text(req, "name", req->args[0], max);
}

bool endpoint_is_permitted(const struct request *req, const struct endpoint *endpoint,
			   unsigned access, struct qless_str *ret_queue)
{
	const struct user *viewer = permit_viewer(req);

	for (size_t i = 0; viewer != NULL && i < endpoint->queue_count; i++) {
		*ret_queue = endpoint->queues[i];
		if (!acl_may_use_key(viewer, endpoint->queues[i], access))
			return false;
	}
	return true;
}

const struct endpoint *endpoint_of_request(const struct request *req)
{
	return endpoints_find(databases_endpoints(req->env->databases, req->database->index),
			      req->args[0]);
}

/* Returns whether the user may pop from all queues of the endpoint. Otherwise writes an error. */
static bool may_change(struct request *req, const struct endpoint *endpoint)
{
	struct qless_str queue;

	if (endpoint == NULL || endpoint_is_permitted(req, endpoint, ACL_READ | ACL_WRITE, &queue))
		return true;
	if (req->env->denied != NULL)
		req->env->denied(req->env->user_gone_arg, req, DENIAL_KEY, queue);
	reply_error(req->reply, "NOPERM", STR("No permissions to access a key"));
	return false;
}

/* ---- the options of ENDPOINT.SET ---- */

struct endpoint_options {
	const struct qless_str *url;
	const struct qless_str *queues; /* the first one */
	size_t queue_count;
	const struct qless_str *klass;
	const struct qless_str *concurrency;
	const struct qless_str *timeout;
	const struct qless_str *secret;
	struct qless_str *headers; /* names and values; from malloc() */
	size_t header_count;
};

/* Explains why the option at argument `i` has no width. */
static int fail_option(struct request *req, size_t i)
{
	static const struct option_slot known[] = {
		{ STR_INIT("URL"), NULL, 1 },	      { STR_INIT("QUEUES"), NULL, 1 },
		{ STR_INIT("CONCURRENCY"), NULL, 1 }, { STR_INIT("TIMEOUT"), NULL, 1 },
		{ STR_INIT("HEADER"), NULL, 2 },      { STR_INIT("SECRET"), NULL, 1 },
		{ STR_INIT("CLASS"), NULL, 1 },
	};
	struct qless_str name = req->args[i];
	int64_t count;

	for (size_t j = 0; j < sizeof known / sizeof *known; j++) {
		if (!str_equal_nocase(known[j].name, name))
			continue;
		if (!str_equal_nocase(name, STR("QUEUES")) || req->nargs - i < 2)
			return known[j].values == 2
				       ? request_fail(req, QLESS_EBADARG,
						      "Option \"%S\" needs a name and a value",
						      name)
				       : options_fail_without_value(req, name);
		if (!num_parse_i64(req->args[i + 1], &count) || count < 1)
			return request_fail(
				req, QLESS_EBADARG,
				"QUEUES must be followed by a whole number above 0; found \"%S\"",
				req->args[i + 1]);
		return request_fail(req, QLESS_EBADARG, "QUEUES is %S, but %g arguments follow",
				    req->args[i + 1], (double)(req->nargs - i - 2));
	}
	return options_fail_unknown(req, name, known, sizeof known / sizeof *known);
}

static int take_option(struct request *req, size_t i, size_t width, struct endpoint_options *ret)
{
	const struct {
		struct qless_str name;
		const struct qless_str **value;
	} slots[] = {
		{ STR_INIT("URL"), &ret->url },
		{ STR_INIT("CONCURRENCY"), &ret->concurrency },
		{ STR_INIT("TIMEOUT"), &ret->timeout },
		{ STR_INIT("SECRET"), &ret->secret },
		{ STR_INIT("CLASS"), &ret->klass },
	};
	struct qless_str name = req->args[i];

	if (str_equal_nocase(name, STR("HEADER"))) {
		ret->headers[ret->header_count++] = req->args[i + 1];
		ret->headers[ret->header_count++] = req->args[i + 2];
		return 0;
	}
	if (str_equal_nocase(name, STR("QUEUES"))) {
		if (ret->queues != NULL)
			return options_fail_repeated(req, name);
		ret->queues = &req->args[i + 2];
		ret->queue_count = width - 2;
		return 0;
	}
	for (size_t j = 0; j < sizeof slots / sizeof *slots; j++) {
		if (!str_equal_nocase(name, slots[j].name))
			continue;
		if (*slots[j].value != NULL)
			return options_fail_repeated(req, name);
		*slots[j].value = &req->args[i + 1];
	}
	return 0;
}

/* The caller frees the headers. */
static int read_options(struct request *req, struct endpoint_options *ret)
{
	size_t width;
	int rc = 0;

	*ret = (struct endpoint_options){ .headers = NULL };
	ret->headers = mem_realloc_array(NULL, req->nargs, sizeof *ret->headers);
	for (size_t i = 1; rc == 0 && i < req->nargs; i += width) {
		width = endpoint_option_width(req->args, req->nargs, i);
		if (width == 0)
			return fail_option(req, i);
		rc = take_option(req, i, width, ret);
	}
	return rc;
}

/* The error may be logged by the client, so it leaves out what may be secret. */
static int fail_url(struct request *req, const char *wrong, struct qless_str url)
{
	struct buf masked = BUF_INIT(BUF_NO_MAX);
	int rc;

	url_append_masked(&masked, url);
	rc = request_fail(req, QLESS_EBADARG, "URL %s; found \"%S\"", wrong,
			  command_quote(buf_str(&masked)));
	buf_done(&masked);
	return rc;
}

static int check_url(struct request *req, const struct qless_str *url)
{
	const struct push_ops *push = req->env->push;
	const char *wrong;
	struct url parts;

	if (url == NULL)
		return request_fail(req, QLESS_EBADARG, "The option \"%s\" is missing", "URL");
	wrong = url_read(*url, &parts);
	if (wrong != NULL)
		return fail_url(req, wrong, *url);
	if (push != NULL && !push->allows(req->env->arg, *url))
		return request_fail(req, QLESS_EBADARG,
				    "The directive push-allow does not allow the host of the URL; "
				    "found \"%S\"",
				    parts.host);
	return 0;
}

static int check_queues(struct request *req, const struct endpoint_options *options)
{
	size_t max = qless_get_limits(req->engine)->max_name_bytes;
	int rc = 0;

	if (options->queues == NULL)
		return request_fail(req, QLESS_EBADARG, "The option \"%s\" is missing", "QUEUES");
	for (size_t i = 0; rc == 0 && i < options->queue_count; i++) {
		rc = check_text(req, "queue", options->queues[i], max);
		for (size_t j = 0; rc == 0 && j < i; j++) {
			if (str_equal(options->queues[i], options->queues[j]))
				rc = request_fail(req, QLESS_EBADARG,
						  "The queue \"%S\" is repeated",
						  options->queues[i]);
		}
	}
	return rc;
}

static int check_headers(struct request *req, const struct endpoint_options *options)
{
	size_t max = req->env->limits.endpoint_headers;
	const char *wrong;

	if (max != 0 && options->header_count / 2 > max)
		return request_fail(req, QLESS_ELIMIT,
				    "An endpoint has more headers than max-endpoint-headers (%g)",
				    (double)max);
	for (size_t i = 0; i < options->header_count; i += 2) {
		struct qless_str name = options->headers[i];

		wrong = header_check_name(name);
		if (wrong != NULL)
			return request_fail(req, QLESS_EBADARG, "The header \"%S\" %s",
					    command_quote(name), wrong);
		wrong = header_check_value(options->headers[i + 1]);
		if (wrong != NULL)
			return request_fail(req, QLESS_EBADARG, "The value of header \"%S\" %s",
					    command_quote(name), wrong);
		for (size_t j = 0; j < i; j += 2) {
			if (str_equal_nocase(name, options->headers[j]))
				return request_fail(req, QLESS_EBADARG,
						    "The header \"%S\" is repeated",
						    command_quote(name));
		}
	}
	return 0;
}

static int parse_concurrency(struct request *req, const struct qless_str *text,
			     int64_t *ret_concurrency)
{
	int64_t max = (int64_t)req->env->limits.endpoint_concurrency;

	*ret_concurrency = max != 0 && max < CONCURRENCY_DEFAULT ? max : CONCURRENCY_DEFAULT;
	if (text == NULL)
		return 0;
	if (!num_parse_i64(*text, ret_concurrency) || *ret_concurrency < 1)
		return request_fail(req, QLESS_EBADARG,
				    "CONCURRENCY must be a whole number above 0; found \"%S\"",
				    *text);
	if (max == 0 || *ret_concurrency <= max)
		return 0;
	return request_fail(req, QLESS_ELIMIT,
			    "CONCURRENCY is larger than max-endpoint-concurrency (%g)",
			    (double)max);
}

static int parse_timeout(struct request *req, const struct qless_str *text, double *ret_timeout)
{
	*ret_timeout = TIMEOUT_DEFAULT;
	if (text == NULL)
		return 0;
	if (num_parse_decimal(*text, ret_timeout) && *ret_timeout >= 0 &&
	    *ret_timeout <= TIMEOUT_MAX) {
		*ret_timeout += 0.0; /* not -0 */
		return 0;
	}
	return request_fail(req, QLESS_EBADARG,
			    "TIMEOUT must be a number of seconds from 0 to %g; found \"%S\"",
			    TIMEOUT_MAX, *text);
}

static int check_secret(struct request *req, const struct qless_str *secret)
{
	if (secret == NULL || (secret->len != 0 && secret->len <= SECRET_MAX))
		return 0;
	if (secret->len == 0)
		return request_fail(req, QLESS_EBADARG, "%s must not be empty", "SECRET");
	return request_fail(req, QLESS_ELIMIT, "SECRET is longer than %g bytes",
			    (double)SECRET_MAX);
}

static int check_size(struct request *req)
{
	size_t max = req->env->limits.endpoint_bytes, bytes = 0;

	for (size_t i = 0; i < req->nargs; i++)
		bytes += req->args[i].len;
	if (max == 0 || bytes <= max)
		return 0;
	return request_fail(req, QLESS_ELIMIT,
			    "The endpoint is larger than max-endpoint-size (%g bytes)",
			    (double)max);
}

static int make_operation(struct request *req, struct endpoint_options *options,
			  struct operation *op)
{
	int rc = check_url(req, options->url);

	if (rc == 0)
		rc = check_queues(req, options);
	if (rc == 0 && options->klass != NULL)
		rc = check_text(req, "class", *options->klass,
				qless_get_limits(req->engine)->max_name_bytes);
	if (rc == 0)
		rc = parse_concurrency(req, options->concurrency, &op->endpoint.concurrency);
	if (rc == 0)
		rc = parse_timeout(req, options->timeout, &op->endpoint.timeout_s);
	if (rc == 0)
		rc = check_headers(req, options);
	if (rc == 0)
		rc = check_secret(req, options->secret);
	if (rc == 0)
		rc = check_size(req);
	if (rc < 0)
		return rc;
	op->endpoint.name = req->args[0];
	op->endpoint.url = *options->url;
	op->endpoint.queues = (struct operation_names){ options->queues, options->queue_count };
	op->endpoint.headers = (struct operation_names){ options->headers, options->header_count };
	op->endpoint.klass = options->klass;
	op->endpoint.secret = options->secret;
	return 0;
}

/* ---- changes ---- */

static void begin_operation(const struct request *req, enum operation_kind kind,
			    struct operation *op)
{
	*op = (struct operation){ .kind = kind, .db = req->database->index, .now = req->now };
	op->endpoint.name = req->args[0];
}

static int check_room(struct request *req, const struct endpoint *known)
{
	size_t max = req->env->limits.endpoints;

	if (known != NULL || max == 0 ||
	    endpoints_count(databases_endpoints(req->env->databases, req->database->index)) < max)
		return 0;
	return request_fail(req, QLESS_ELIMIT,
			    "The database would have more endpoints than max-endpoints (%g)",
			    (double)max);
}

int native_endpoint_set(struct request *req)
{
	const struct endpoint *known = endpoint_of_request(req);
	struct endpoint_options options = { .headers = NULL };
	struct operation op;
	int rc = check_name(req);

	begin_operation(req, OPERATION_ENDPOINT_SET, &op);
	if (rc == 0)
		rc = read_options(req, &options);
	if (rc == 0)
		rc = make_operation(req, &options, &op);
	if (rc == 0)
		rc = check_room(req, known);
	if (rc == 0 && may_change(req, known)) {
		databases_run_endpoint(req->env->databases, &op);
		reply_ok(req->reply);
	}
	free(options.headers);
	return rc;
}

int native_endpoint_delete(struct request *req)
{
	struct operation op;
	int rc = check_name(req);

	if (rc < 0 || !may_change(req, endpoint_of_request(req)))
		return rc;
	begin_operation(req, OPERATION_ENDPOINT_DELETE, &op);
	return answer_integer(req, databases_run_endpoint(req->env->databases, &op) ? 1 : 0);
}

static int pause(struct request *req, bool is_paused)
{
	const struct endpoint *endpoint = endpoint_of_request(req);
	struct operation op;
	int rc = check_name(req);

	if (rc < 0 || !may_change(req, endpoint))
		return rc;
	if (endpoint == NULL)
		return answer_null(req);
	begin_operation(req, OPERATION_ENDPOINT_PAUSE, &op);
	op.endpoint.is_paused = is_paused;
	return answer_integer(req, databases_run_endpoint(req->env->databases, &op) ? 1 : 0);
}

int native_endpoint_pause(struct request *req)
{
	return pause(req, true);
}

int native_endpoint_unpause(struct request *req)
{
	return pause(req, false);
}

/* ---- ENDPOINT.TEST ---- */

struct test_work {
	struct work work;
	bool has_begun;
	const struct command_env *env;
};

static void answer_test(struct request *req)
{
	struct qless_str rest = buf_str(req->output);
	struct qless_str lines[3] = { { "", 0 }, { "", 0 }, { "", 0 } };
	int64_t number = 0;

	for (size_t i = 0; i < 3 && rest.len != 0; i++) {
		const char *end = memchr(rest.ptr, '\n', rest.len);
		size_t len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;

		lines[i] = str_make(rest.ptr, len);
		rest = str_make(rest.ptr + len + (end != NULL), rest.len - len - (end != NULL));
	}
	reply_map(req->reply, 3);
	reply_bulk(req->reply, STR("status"));
	num_parse_i64(lines[0], &number);
	if (number != 0)
		reply_integer(req->reply, number);
	else
		reply_null(req->reply);
	reply_bulk(req->reply, STR("milliseconds"));
	number = 0;
	num_parse_i64(lines[1], &number);
	reply_integer(req->reply, number);
	reply_bulk(req->reply, STR("error"));
	if (lines[2].len != 0)
		reply_bulk(req->reply, lines[2]);
	else
		reply_null(req->reply);
}

static bool test_go_on(struct work *work, struct request *req)
{
	struct test_work *test = container_of(work, struct test_work, work);
	const struct endpoint *endpoint = endpoint_of_request(req);
	const char *refusal;

	if (test->has_begun) {
		answer_test(req);
		return false;
	}
	test->has_begun = true;
	if (endpoint == NULL) {
		reply_null(req->reply);
		return false;
	}
	refusal = req->env->push->begin_test(req->env->arg, req, endpoint, test);
	if (refusal == NULL)
		return true;
	reply_errorf(req->reply, "ERR", "The endpoint cannot be tested: %s", refusal);
	return false;
}

static void free_test(struct work *work)
{
	struct test_work *test = container_of(work, struct test_work, work);

	test->env->push->end_test(test->env->arg, test);
	free(test);
}

int native_endpoint_test(struct request *req)
{
	static const struct work_ops ops = { test_go_on, free_test };
	struct test_work *test;
	int rc = check_name(req);

	if (rc < 0 || !may_change(req, endpoint_of_request(req)))
		return rc;
	if (req->env->push == NULL)
		return request_fail(req, QLESS_EBADARG, "This server posts no jobs");
	test = mem_zalloc(sizeof *test);
	test->work.ops = &ops;
	test->env = req->env;
	work_begin(req, &test->work);
	return 0;
}
