#include "command/limit_reply.h"

#include <math.h>

#include "command/classic_int.h"
#include "command/limit_names.h"
#include "command/permit.h"
#include "engine/view.h"

/* Pairs of the map of a limit without its holders. */
#define SHORT_PAIRS 14

static void write_name(struct request *req, const char *name)
{
	reply_bulk(req->reply, str_from(name));
}

static void write_text(struct request *req, const char *name, struct qless_str text)
{
	write_name(req, name);
	if (text.ptr != NULL)
		reply_bulk(req->reply, text);
	else
		reply_null(req->reply);
}

static void write_integer(struct request *req, const char *name, int64_t number)
{
	write_name(req, name);
	reply_integer(req->reply, number);
}

static void write_double(struct request *req, const char *name, double number)
{
	write_name(req, name);
	reply_short_double(req->reply, number);
}

void limit_reply_time(struct request *req, double seconds)
{
	if (seconds != 0)
		reply_short_double(req->reply, seconds);
	else
		reply_null(req->reply);
}

static void write_time(struct request *req, const char *name, double seconds)
{
	write_name(req, name);
	limit_reply_time(req, seconds);
}

/* Returns whether the limit allows another job, or why it does not. */
static const char *state_of(const struct request *req, const struct qless_limit_info *info)
{
	if (info->concurrency < 0)
		return "closed";
	if (info->held_until > req->now)
		return "held";
	if (info->is_full)
		return "full";
	return info->opens > req->now ? "rate" : "open";
}

static void write_members(struct request *req, const struct qless_limit_info *info)
{
	bool is_open = info->opens <= req->now;
	bool is_held = info->held_until > req->now;

	write_text(req, "name", info->name);
	write_text(req, "rule", info->rule);
	write_integer(req, "concurrency", info->concurrency);
	write_double(req, "rate", info->rate);
	write_double(req, "per", info->per);
	write_double(req, "burst", info->burst);
	write_double(req, "weight", info->weight);
	write_time(req, "expires", isinf(info->expires) ? 0 : info->expires);
	write_text(req, "state", str_from(state_of(req, info)));
	write_time(req, "opens", is_open ? 0 : info->opens);
	write_time(req, "held-until", is_held ? info->held_until : 0);
	write_double(req, "tokens", info->tokens);
	write_integer(req, "running", (int64_t)info->running);
	write_integer(req, "waiting", (int64_t)info->waiting);
}

static void write_holder(struct request *req, const struct qless_limit_holder *holder)
{
	reply_map(req->reply, 4);
	write_text(req, "jid", holder->jid);
	write_text(req, "queue", holder->queue);
	write_text(req, "worker", holder->worker);
	write_double(req, "expires", holder->expires);
}

/* The jobs that run in a queue hold its limit. Returns how many of them were written. */
static size_t write_holders_of_queue(struct request *req, struct qless_str queue)
{
	const struct skiplist *locks = view_queue(req->engine, queue, QUEUE_LOCKS);
	const struct skipnode *node = NULL;
	struct qless_job_info info;
	size_t count = 0;

	if (locks != NULL && permit_shows_queue(permit_viewer(req), queue))
		node = skiplist_first(locks);
	for (; node != NULL && count < LIMIT_HOLDERS_SHOWN; node = skiplist_next(node)) {
		const struct qless_job *job = qless_get(req->engine, locks->member(node));

		if (job == NULL || node->score <= req->now)
			continue;
		qless_job_read(job, &info);
		write_holder(req, &(struct qless_limit_holder){ info.jid, info.queue, info.worker,
								info.expires });
		count++;
	}
	return count;
}

static size_t write_holders(struct request *req, struct qless_str name)
{
	const struct user *viewer = permit_viewer(req);
	struct qless_limit_holder holder;
	const void *cursor = NULL;
	size_t count = 0;

	for (int i = 0; i < LIMIT_HOLDERS_SHOWN &&
			qless_limit_next_holder(req->engine, name, &cursor, &holder);
	     i++) {
		if (!permit_shows_queue(viewer, holder.queue))
			continue;
		write_holder(req, &holder);
		count++;
	}
	return count;
}

void limit_reply_holders(struct request *req, struct qless_str name)
{
	struct reply_deferred list;
	struct qless_str queue;
	size_t count;

	reply_deferred_begin(req->reply, &list, REPLY_ARRAY);
	count = limit_is_of_queue(name, &queue) ? write_holders_of_queue(req, queue)
						: write_holders(req, name);
	reply_deferred_end(req->reply, &list, count);
}

void limit_reply_short(struct request *req, const struct qless_limit_info *info)
{
	reply_map(req->reply, SHORT_PAIRS);
	write_members(req, info);
}

void limit_reply_whole(struct request *req, const struct qless_limit_info *info)
{
	reply_map(req->reply, SHORT_PAIRS + 1);
	write_members(req, info);
	write_name(req, "holders");
	limit_reply_holders(req, info->name);
}
