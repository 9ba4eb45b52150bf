#include "server/http_api.h"

#include <stdlib.h>

#include "build_config.h"

#include "command/acl.h"
#include "command/databases.h"
#include "command/permit.h"
#include "command/term_options.h"
#include "http/arguments.h"
#include "http/openapi.h"
#include "http/statuses.h"
#include "server/conn.h"
#include "server/http_answer.h"
#include "server/http_conn.h"
#include "server/http_history.h"
#include "server/server_int.h"
#include "util/mem.h"

/* Seconds after which a request that the server could not carry out now may be sent again. */
#define RETRY_AFTER_SECONDS "1"

/* Bytes of a body above which each step of the request takes a turn of its own. The connection
 * keeps such a request in its own buffer. */
#define LARGE_BODY_BYTES CONN_READ_BYTES

struct http_api {
	struct arguments arguments;
	struct buf text;
};

/* The results of the steps of a large request, and the state that they depend on. */
struct http_api_large {
	struct arguments arguments;
	bool is_made; /* they are complete */
	struct qless_str body;
	const struct user *user;
	uint64_t users; /* the generation of all of them */
};

struct http_api *http_api_new(void)
{
	struct http_api *api = mem_zalloc(sizeof *api);

	arguments_init(&api->arguments);
	buf_init(&api->text, BUF_NO_MAX);
	return api;
}

void http_api_free(struct http_api *api)
{
	if (api == NULL)
		return;
	arguments_done(&api->arguments);
	buf_done(&api->text);
	free(api);
}

/* ---- large requests ---- */

void http_api_forget(struct http_api_call *call)
{
	if (call->large == NULL)
		return;
	arguments_done(&call->large->arguments);
	free(call->large);
	call->large = NULL;
}

size_t http_api_memory(const struct http_api_call *call)
{
	return call->large != NULL ? sizeof *call->large + arguments_memory(&call->large->arguments)
				   : 0;
}

static struct http_api_large *begin_large(struct conn *c, const struct http_request *r)
{
	struct http_api_large *large = mem_zalloc(sizeof *large);

	http_api_forget(&c->http->api);
	arguments_init(&large->arguments);
	large->body = r->body;
	large->user = c->client.session.user;
	large->users = acl_generation(c->client.server->env.acl);
	c->http->api.large = large;
	return large;
}

/* Returns what earlier turns made, or NULL. The arguments are slices of the body, of the user's
 * name and of the target, which is in the same place because it was read again. */
static struct http_api_large *find_large(const struct conn *c, const struct http_request *r)
{
	struct http_api_large *large = c->http->api.large;
	bool is_same = large != NULL && large->body.ptr == r->body.ptr &&
		       large->body.len == r->body.len && large->user == c->client.session.user &&
		       large->users == acl_generation(c->client.server->env.acl);

	return is_same ? large : NULL;
}

/* ---- answers ---- */

static void end_reply(struct conn *c, int status)
{
	if (http_may_retry(status))
		http_reply_field(c, STR("Retry-After"), STR(RETRY_AFTER_SECONDS));
	http_reply_end(c, status, HTTP_TYPE_JSON);
}

/* An error of ours, which counts like one of a command. */
static void refuse(struct conn *c, const char *code, struct qless_str message)
{
	struct client *client = &c->client;

	chain_done(http_reply(c));
	json_reply_begin(&c->http->json, STR(""), JSON_REPLY_STRING);
	reply_error(&client->writer, code, message);
	stats_count_error(client);
	end_reply(c, http_status_of(code));
}

static void refuse_path(struct conn *c, unsigned allowed)
{
	struct buf methods = BUF_INIT(BUF_NO_MAX);

	if (allowed == 0) {
		refuse(c, "NOTFOUND",
		       STR("There is nothing at this path. GET /v1/openapi.json describes the "
			   "API"));
		return;
	}
	for (unsigned method = 0; method < HTTP_METHOD_COUNT; method++) {
		if ((allowed & 1u << method) == 0)
			continue;
		if (methods.len != 0)
			buf_append_str(&methods, STR(", "));
		buf_append_str(&methods, http_method_name(method));
		if (method == HTTP_METHOD_GET)
			buf_append_str(&methods, STR(", HEAD"));
	}
	http_reply_field(c, STR("Allow"), buf_str(&methods));
	http_refuse(c, 405, "BADMETHOD", "The header field Allow has the methods of this path");
	buf_done(&methods);
}

/* Replaces a null, or a zero that means the same. */
static void answer_null(struct conn *c, const struct http_api_call *call)
{
	switch (call->route->null) {
	case ROUTE_NULL_NONE:
	case ROUTE_NULL_ZERO_IS_NONE:
		refuse(c, "NOTFOUND", STR("There is nothing of that name"));
		return;
	case ROUTE_NULL_NOJOB:
	case ROUTE_NULL_ZERO_IS_NOJOB:
		refuse(c, "NOJOB", STR("There is no such job"));
		return;
	case ROUTE_NULL_EXISTS:
		refuse(c, "EXISTS", STR("There is a job with this jid"));
		return;
	case ROUTE_NULL_DONE:
		chain_append_str(http_reply(c), STR("{\"ok\":true}"));
		break;
	case ROUTE_NULL_EMPTY:
		chain_append_str(http_reply(c), STR("[]"));
		break;
	}
	end_reply(c, call->route->status);
}

static bool is_zero_nothing(const struct http_api_call *call, const struct json_reply *json)
{
	return (call->route->null == ROUTE_NULL_ZERO_IS_NONE ||
		call->route->null == ROUTE_NULL_ZERO_IS_NOJOB) &&
	       json->has_number && json->number == 0;
}

static enum qless_put_end read_put_end(const struct conn *c, size_t index)
{
	const struct session *session = &c->client.session;
	struct qless_str holder;

	return qless_read_put_end(
		databases_get(c->client.server->env.databases, session->db)->engine, index,
		&holder);
}

/* Adds what became of each job of an array. Returns the status: that of the route if at least one
 * job was put. */
static int add_outcomes(struct conn *c, const struct http_api_call *call)
{
	static const struct qless_str words[] = {
		[QLESS_PUT_DONE] = STR_INIT("\"put\""),
		[QLESS_PUT_EXISTS] = STR_INIT("\"exists\""),
		[QLESS_PUT_HELD] = STR_INIT("\"held\""),
	};
	struct chain *reply = http_reply(c);
	int status = 200;

	/* The object goes on. */
	chain_truncate(reply, reply->len - 1);
	chain_append_str(reply, STR(",\"outcomes\":["));
	for (size_t i = 0; i < call->job_count; i++) {
		enum qless_put_end end = read_put_end(c, i);

		if (i != 0)
			chain_append_str(reply, STR(","));
		chain_append_str(reply, words[end]);
		if (end == QLESS_PUT_DONE)
			status = call->route->status;
	}
	chain_append_str(reply, STR("]}"));
	return status;
}

/* A put with a unique key may have found its holder. */
static int status_of_put(const struct conn *c, const struct http_api_call *call)
{
	bool is_held = call->is_keyed && read_put_end(c, 0) == QLESS_PUT_HELD;

	return is_held ? 200 : call->route->status;
}

void http_api_finish(struct conn *c)
{
	const struct http_api_call *call = &c->http->api;
	const struct json_reply *json = &c->http->json;

	if (json->is_error)
		end_reply(c, http_status_of(c->client.writer.last_error));
	else if (json->is_null || is_zero_nothing(call, json))
		answer_null(c, call);
	else if (call->job_count != 0)
		end_reply(c, add_outcomes(c, call));
	else if (call->route->many != NULL)
		end_reply(c, status_of_put(c, call));
	else
		end_reply(c, call->route->status);
}

/* ---- requests ---- */

/* The request is about another database, if the user may SELECT it. Returns DISPATCH_DONE, with
 * *ret_ok false if the client has its answer. */
static enum dispatch_result select_database(struct conn *c, struct qless_str db, bool *ret_ok)
{
	struct qless_str argv[] = { STR_INIT("select"), db };
	enum dispatch_result result = dispatch_request(&c->client, argv, 2);

	*ret_ok = false;
	if (result != DISPATCH_DONE)
		return result;
	if (c->http->json.is_error) {
		end_reply(c, http_status_of(c->client.writer.last_error));
		return result;
	}
	chain_done(http_reply(c));
	*ret_ok = true;
	return result;
}

/* Fills in what the request leaves out about its job. A user that may not read the job gets the
 * error of a job that does not exist. Returns false if the client has its answer. Without a user or
 * while the state is loaded, the command will be refused anyway. */
static bool fill_gaps(struct conn *c, struct arguments *a)
{
	const struct session *session = &c->client.session;
	const struct server *s = c->client.server;
	const struct database *database;
	const struct qless_job *job;
	struct qless_job_info info;

	if (a->gap_count == 0 || session->user == NULL || s->loading)
		return true;
	database = databases_get(s->env.databases, session->db);
	job = qless_get(database->engine, a->jid);
	if (job == NULL || !permit_job(session->user, database->engine, job, ACL_READ)) {
		refuse(c, "NOJOB", STR("There is no such job"));
		return false;
	}
	qless_job_read(job, &info);
	arguments_fill(a, info.queue, info.klass, info.data, info.is_raw);
	return true;
}

static enum dispatch_result dispatch(struct conn *c, struct arguments *a)
{
	enum dispatch_result result;

	c->client.session.is_idempotent = a->is_idempotent;
	result = dispatch_request(&c->client, a->argv, (int)a->argc);
	c->client.session.is_idempotent = false;
	/* The answer may ask the engine about its last call. */
	if (result == DISPATCH_DONE)
		http_api_finish(c);
	return result;
}

static enum dispatch_result run_command(struct conn *c, struct arguments *a)
{
	struct http_api_call *call = &c->http->api;
	enum dispatch_result result;

	json_reply_begin(&c->http->json,
			 call->job_count != 0 ? STR("jids") : str_from(call->route->wrap),
			 call->route->text);
	c->http->leaves_entries = false;
	if (!http_history_is_kept(c))
		return dispatch(c, a);
	c->http->leaves_entries = http_history_begin(c, a->argv, (int)a->argc);
	result = dispatch(c, a);
	if (result == DISPATCH_WAIT)
		http_history_put_off(c);
	else
		http_history_end(c, result == DISPATCH_DONE && !c->http->json.is_error);
	return result;
}

static struct arguments_context context_of(const struct conn *c)
{
	const struct server *s = c->client.server;
	const struct user *user = c->client.session.user;

	return (struct arguments_context){
		.user = user != NULL ? acl_user_name(user) : STR(""),
		.idempotency_prefix = STR(TERM_IDEMPOTENCY_PREFIX),
		.now = clock_seconds(steady_clock_peek_us(&s->clocks.native)),
		.max_json_depth = s->config->max_json_depth,
		.max_jobs = s->config->max_jobs_per_call,
		.max_args = s->config->client_max_arguments,
	};
}

static void refuse_arguments(struct conn *c, const struct arguments *a)
{
	refuse(c, a->code, buf_str(&a->error));
}

static enum dispatch_result run_arguments(struct conn *c, struct arguments *a)
{
	struct http_api_call *call = &c->http->api;
	enum dispatch_result result;
	bool is_selected;

	call->job_count = a->job_count;
	call->is_keyed = a->is_keyed;
	if (a->has_db) {
		result = select_database(c, a->db, &is_selected);
		if (!is_selected)
			return result;
	}
	return fill_gaps(c, a) ? run_command(c, a) : DISPATCH_DONE;
}

static enum dispatch_result run_small(struct conn *c, const struct http_request *r)
{
	struct arguments *a = &c->client.server->http->api->arguments;
	const struct arguments_context context = context_of(c);

	if (arguments_make(a, c->http->api.route, r, &context))
		return run_arguments(c, a);
	refuse_arguments(c, a);
	return DISPATCH_DONE;
}

/* Makes the next step of a large request. */
static enum dispatch_result run_large(struct conn *c, const struct http_request *r)
{
	struct http_api_large *large = find_large(c, r);
	const struct arguments_context context = context_of(c);
	enum dispatch_result result;
	bool is_fine;

	if (large == NULL) {
		large = begin_large(c, r);
		is_fine = arguments_begin(&large->arguments, c->http->api.route, r, &context);
	} else if (!large->is_made) {
		is_fine = large->is_made = arguments_end(&large->arguments, &context);
	} else {
		result = run_arguments(c, &large->arguments);
		http_api_forget(&c->http->api);
		return result;
	}
	if (is_fine)
		return DISPATCH_NEXT;
	refuse_arguments(c, &large->arguments);
	http_api_forget(&c->http->api);
	return DISPATCH_DONE;
}

static void answer_description(struct conn *c)
{
	struct buf *text = &c->client.server->http->api->text;

	buf_clear(text);
	openapi_append(text, STR(QLESSD_VERSION));
	chain_append_str(http_reply(c), buf_str(text));
	http_reply_end(c, 200, HTTP_TYPE_JSON);
	buf_done(text);
}

enum dispatch_result http_api_run(struct conn *c, const struct http_request *r)
{
	enum http_method method = r->method == HTTP_METHOD_HEAD ? HTTP_METHOD_GET : r->method;
	struct http_api_call *call = &c->http->api;
	enum dispatch_result result;
	unsigned allowed;

	/* A browser sees all entries of what its user did last. */
	if (http_history_is_kept(c) && http_history_can_run(c->client.server))
		return DISPATCH_NEXT;
	c->client.session.db = 0;
	json_reply_begin(&c->http->json, STR(""), JSON_REPLY_STRING);
	if (method == HTTP_METHOD_GET && str_equal(r->target.path, STR("/v1/openapi.json"))) {
		answer_description(c);
		return DISPATCH_DONE;
	}
	call->route = routes_find(method, &r->target, &allowed);
	if (call->route == NULL) {
		refuse_path(c, allowed);
		return DISPATCH_DONE;
	}
	result = r->body.len > LARGE_BODY_BYTES ? run_large(c, r) : run_small(c, r);
	arguments_trim(&c->client.server->http->api->arguments);
	return result;
}
