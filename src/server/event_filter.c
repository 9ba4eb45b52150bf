#include "server/event_filter.h"

#include <string.h>

#include "command/acl.h"
#include "server/pubsub.h"
#include "util/json.h"

#define LOG_CHANNEL "ql:log"

static const struct qless_str all_kinds[] = {
	STR_INIT("advanced"),	STR_INIT("canceled"),	  STR_INIT("completed"),
	STR_INIT("config_set"), STR_INIT("config_unset"), STR_INIT("deleted"),
	STR_INIT("failed"),	STR_INIT("lock_lost"),	  STR_INIT("progress"),
	STR_INIT("put"),
};

/* ---- lists of names ---- */

static void add_name(struct event_names *names, struct qless_str name)
{
	buf_append(&names->text, &name.len, sizeof name.len);
	buf_append_str(&names->text, name);
	names->count++;
}

static bool next_name(const struct event_names *names, size_t *at, struct qless_str *ret_name)
{
	size_t len;

	if (*at == names->text.len)
		return false;
	memcpy(&len, buf_data(&names->text) + *at, sizeof len);
	*ret_name = str_make(buf_data(&names->text) + *at + sizeof len, len);
	*at += sizeof len + len;
	return true;
}

static bool has_name(const struct event_names *names, struct qless_str name)
{
	struct qless_str own;

	for (size_t at = 0; next_name(names, &at, &own);) {
		if (str_equal(own, name))
			return true;
	}
	return false;
}

/* ---- parameters ---- */

static bool is_kind(struct qless_str text)
{
	for (size_t i = 0; i < sizeof all_kinds / sizeof *all_kinds; i++) {
		if (str_equal(all_kinds[i], text))
			return true;
	}
	return false;
}

/* Begins a sentence about a value that was found. */
static void complain(struct buf *error, const char *what, struct qless_str found)
{
	buf_clear(error);
	buf_printf(error, "%s; found ", what);
	json_append_plain_string(error, found);
}

static bool add_parameter(struct event_filter *filter, const struct http_parameter *parameter,
			  struct buf *error)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	if (str_equal(parameter->name, STR("queue"))) {
		add_name(&filter->queues, parameter->value);
		return true;
	}
	if (str_equal(parameter->name, STR("jid"))) {
		json_append_string(&text, parameter->value);
		add_name(&filter->jids, buf_str(&text));
		buf_done(&text);
		return true;
	}
	if (!str_equal(parameter->name, STR("event"))) {
		complain(error, "the parameters are \"queue\", \"jid\" and \"event\"",
			 parameter->name);
		return false;
	}
	if (!is_kind(parameter->value)) {
		complain(
			error,
			"event must be \"advanced\", \"canceled\", \"completed\", \"config_set\", "
			"\"config_unset\", \"deleted\", \"failed\", \"lock_lost\", \"progress\" or "
			"\"put\"",
			parameter->value);
		return false;
	}
	add_name(&filter->kinds, parameter->value);
	return true;
}

bool event_filter_parse(const struct http_target *target, struct event_filter *ret,
			struct buf *error)
{
	*ret = (struct event_filter){ .queues.text = BUF_INIT(BUF_NO_MAX),
				      .jids.text = BUF_INIT(BUF_NO_MAX),
				      .kinds.text = BUF_INIT(BUF_NO_MAX) };
	for (size_t i = 0; i < target->parameter_count; i++) {
		if (!add_parameter(ret, &target->parameters[i], error)) {
			event_filter_done(ret);
			return false;
		}
	}
	return true;
}

void event_filter_done(struct event_filter *filter)
{
	buf_done(&filter->queues.text);
	buf_done(&filter->jids.text);
	buf_done(&filter->kinds.text);
}

/* ---- events ---- */

bool event_filter_is_open(const struct event_filter *filter)
{
	return filter->queues.count + filter->jids.count + filter->kinds.count == 0;
}

static bool matches_queue(const struct event_filter *filter, const struct ring_event *event)
{
	for (size_t i = 0; i < event->queue_count; i++) {
		if (has_name(&filter->queues, event->queues[i]))
			return true;
	}
	return filter->queues.count == 0;
}

bool event_filter_matches(const struct event_filter *filter, const struct ring_event *event)
{
	return (filter->kinds.count == 0 || has_name(&filter->kinds, event->kind)) &&
	       (filter->jids.count == 0 || has_name(&filter->jids, event->jid)) &&
	       matches_queue(filter, event);
}

bool event_filter_next_queue(const struct event_filter *filter, size_t *at,
			     struct qless_str *ret_queue)
{
	return next_name(&filter->queues, at, ret_queue);
}

/* ---- permissions ---- */

static bool may_subscribe(const struct user *user, struct qless_str queue)
{
	struct buf channel = BUF_INIT(BUF_NO_MAX);
	bool may = acl_may_use_channel(user, STR(LOG_CHANNEL));

	if (may)
		return true;
	buf_append_str(&channel, STR(PUBSUB_QUEUE_PREFIX));
	buf_append_str(&channel, queue);
	buf_append_str(&channel, STR(":events"));
	may = acl_may_use_channel(user, buf_str(&channel));
	buf_done(&channel);
	return may;
}

bool event_filter_may_follow(const struct user *user, struct qless_str queue)
{
	return acl_may_use_key(user, queue, ACL_READ) && may_subscribe(user, queue);
}

bool event_filter_may_follow_all(const struct user *user)
{
	return !acl_limits_keys(user) && acl_may_use_channel(user, STR(LOG_CHANNEL));
}

bool event_filter_may_see(const struct user *user, const struct ring_event *event)
{
	for (size_t i = 0; i < event->queue_count; i++) {
		if (event_filter_may_follow(user, event->queues[i]))
			return true;
	}
	return event->queue_count == 0 && event_filter_may_follow_all(user);
}
