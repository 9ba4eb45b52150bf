/*
 * ENDPOINT.GET and ENDPOINT.LIST.
 */
#include "command/native_endpoint.h"

#include "command/classic_int.h"
#include "command/push.h"
#include "push/header.h"
#include "push/url.h"
#include "util/buf.h"

/* Pairs of the map of an endpoint. */
#define PAIRS 20

static void write_name(struct request *req, const char *name)
{
	reply_bulk(req->reply, str_from(name));
}

static void write_text(struct request *req, const char *name, struct qless_str text)
{
	write_name(req, name);
	if (text.ptr != NULL && text.len != 0)
		reply_bulk(req->reply, text);
	else
		reply_null(req->reply);
}

static void write_integer(struct request *req, const char *name, uint64_t number)
{
	write_name(req, name);
	reply_integer(req->reply, (int64_t)number);
}

static void write_time(struct request *req, const char *name, double seconds)
{
	write_name(req, name);
	if (seconds != 0)
		reply_short_double(req->reply, seconds);
	else
		reply_null(req->reply);
}

/* Many services take a token as a parameter of the URL. */
static void write_url(struct request *req, struct qless_str url)
{
	struct buf masked = BUF_INIT(BUF_NO_MAX);

	url_append_masked(&masked, url);
	write_text(req, "url", buf_str(&masked));
	buf_done(&masked);
}

static void write_settings(struct request *req, const struct endpoint *endpoint)
{
	write_text(req, "name", endpoint->name);
	write_url(req, endpoint->url);
	write_name(req, "queues");
	reply_array(req->reply, endpoint->queue_count);
	for (size_t i = 0; i < endpoint->queue_count; i++)
		reply_bulk(req->reply, endpoint->queues[i]);
	write_text(req, "class", endpoint->klass);
	write_integer(req, "concurrency", (uint64_t)endpoint->concurrency);
	write_name(req, "timeout");
	reply_short_double(req->reply, endpoint->timeout_s);
	write_name(req, "headers");
	reply_map(req->reply, endpoint->header_count);
	for (size_t i = 0; i < endpoint->header_count; i++) {
		const struct endpoint_header *header = &endpoint->headers[i];

		reply_bulk(req->reply, header->name);
		reply_bulk(req->reply,
			   header_is_secret(header->name) ? STR("(redacted)") : header->value);
	}
	write_integer(req, "signed", endpoint->secret.ptr != NULL);
	write_integer(req, "paused", endpoint->is_paused);
}

static void write_status(struct request *req, const struct endpoint *endpoint)
{
	struct push_status status = { .state = "closed" };

	if (req->env->push != NULL)
		req->env->push->status(req->env->arg, req->database->index, endpoint->name,
				       &status);
	write_text(req, "state", str_from(status.state));
	write_integer(req, "running", status.running);
	write_integer(req, "failures", status.failures);
	write_time(req, "opens", status.opens);
	write_integer(req, "sent", status.sent);
	write_integer(req, "completed", status.completed);
	write_integer(req, "retried", status.retried);
	write_integer(req, "failed", status.failed);
	write_time(req, "last-sent", status.last_sent);
	write_name(req, "last-status");
	if (status.last_status != 0)
		reply_integer(req->reply, status.last_status);
	else
		reply_null(req->reply);
	write_text(req, "last-error", status.last_error);
}

static void write_endpoint(struct request *req, const struct endpoint *endpoint)
{
	reply_map(req->reply, PAIRS);
	write_settings(req, endpoint);
	write_status(req, endpoint);
}

/* A user sees an endpoint if it may see all of its queues. */
static bool is_shown(const struct request *req, const struct endpoint *endpoint)
{
	struct qless_str queue;

	return endpoint != NULL && endpoint_is_permitted(req, endpoint, ACL_READ, &queue);
}

int native_endpoint_get(struct request *req)
{
	const struct endpoint *endpoint = endpoint_of_request(req);

	if (!is_shown(req, endpoint))
		return answer_null(req);
	write_endpoint(req, endpoint);
	return 0;
}

struct listing {
	struct request *req;
	size_t count;
};

static void list_endpoint(void *arg, const struct endpoint *endpoint)
{
	struct listing *listing = arg;

	if (!is_shown(listing->req, endpoint))
		return;
	write_endpoint(listing->req, endpoint);
	listing->count++;
}

/* There are at most max-endpoints, so one part lists them all. */
int native_endpoint_list(struct request *req)
{
	struct listing listing = { .req = req };
	struct reply_deferred deferred;

	reply_deferred_begin(req->reply, &deferred, REPLY_ARRAY);
	endpoints_each(databases_endpoints(req->env->databases, req->database->index),
		       list_endpoint, &listing);
	reply_deferred_end(req->reply, &deferred, listing.count);
	return 0;
}
