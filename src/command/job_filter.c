#include "command/job_filter.h"

#include <string.h>

#include "command/classic_int.h"
#include "command/job_queue.h"
#include "command/job_states.h"
#include "command/options.h"
#include "command/permit.h"
#include "engine/view.h"

/* ---- arguments ---- */

/* A condition that a search has once, with one value. */
static int parse_text(struct request *req, size_t *at, size_t *value)
{
	struct qless_str name = req->args[*at];

	if (*value != 0)
		return options_fail_repeated(req, name);
	if (*at + 1 >= req->nargs)
		return options_fail_without_value(req, name);
	*value = *at + 1;
	*at += 2;
	return 0;
}

static int fail_too_many(struct request *req, struct qless_str name, size_t max)
{
	return request_fail(req, QLESS_EBADARG, "A search has at most %g conditions \"%S\"",
			    (double)max, name);
}

static int parse_tag(struct request *req, size_t *at, struct job_filter *filter)
{
	if (filter->tag_count == JOB_FILTER_TAGS_MAX)
		return fail_too_many(req, req->args[*at], JOB_FILTER_TAGS_MAX);
	return parse_text(req, at, &filter->tags[filter->tag_count++]);
}

static int parse_states(struct request *req, size_t *at, struct job_filter *filter)
{
	struct qless_str name = req->args[*at];

	if (filter->states != 0)
		return options_fail_repeated(req, name);
	if (*at + 1 >= req->nargs)
		return options_fail_without_value(req, name);
	++*at;
	return job_states_parse(req, at, &filter->states);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static struct qless_str strip(struct qless_str text)
{
	while (text.len != 0 && is_blank(text.ptr[0]))
		text = str_make(text.ptr + 1, text.len - 1);
	while (text.len != 0 && is_blank(text.ptr[text.len - 1]))
		text.len--;
	return text;
}

static void hash_value(struct job_filter *filter, struct qless_str value, unsigned char *ret_hash)
{
	json_hash_value(STR(""), value, &filter->room, ret_hash);
}

static int parse_data(struct request *req, size_t *at, struct job_filter *filter)
{
	struct job_filter_data *data = &filter->data[filter->data_count];
	struct qless_str name = req->args[*at], path;
	int rc;

	if (filter->data_count == JOB_FILTER_DATA_MAX)
		return fail_too_many(req, name, JOB_FILTER_DATA_MAX);
	if (*at + 2 >= req->nargs)
		return request_fail(req, QLESS_EBADARG,
				    "Option \"%S\" must have a path and a value", name);
	path = req->args[*at + 1];
	rc = request_json_text(req, "value of DATA", req->args[*at + 2], &data->kind);
	if (rc < 0)
		return rc;
	if (!json_path_parse(path, &data->path))
		return request_fail(req, QLESS_EBADARG,
				    "The path of DATA must be up to %g names with dots between "
				    "them; found \"%S\"",
				    (double)JSON_PATH_NAMES_MAX, path);
	filter->data_count++;
	data->value = *at + 2;
	hash_value(filter, req->args[data->value], data->hash);
	*at += 3;
	return 0;
}

int job_filter_parse(struct request *req, size_t *at, struct job_filter *filter,
		     bool *ret_is_condition)
{
	struct qless_str name = req->args[*at];

	*ret_is_condition = true;
	if (str_equal_nocase(name, STR("JID")))
		return parse_text(req, at, &filter->jid);
	if (str_equal_nocase(name, STR("PREFIX")))
		return parse_text(req, at, &filter->prefix);
	if (str_equal_nocase(name, STR("CLASS")))
		return parse_text(req, at, &filter->klass);
	if (str_equal_nocase(name, STR("QUEUE")))
		return parse_text(req, at, &filter->queue);
	if (str_equal_nocase(name, STR("TAG")))
		return parse_tag(req, at, filter);
	if (str_equal_nocase(name, STR("STATE")))
		return parse_states(req, at, filter);
	if (str_equal_nocase(name, STR("DATA")))
		return parse_data(req, at, filter);
	*ret_is_condition = false;
	return 0;
}

void job_filter_done(struct job_filter *filter)
{
	for (size_t i = 0; i < filter->data_count; i++)
		json_path_done(&filter->data[i].path);
	json_value_room_done(&filter->room);
}

/* ---- data ---- */

static bool is_whole_number(struct qless_str text)
{
	for (size_t i = text.ptr[0] == '-'; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
	}
	return true;
}

/* Whether every other text is another value, except for -0. Most values are short and plain, so
 * that few need a hash. */
static bool is_plain(enum json_kind kind, struct qless_str text)
{
	switch (kind) {
	case JSON_STRING:
		return memchr(text.ptr, '\\', text.len) == NULL;
	case JSON_NUMBER:
		return is_whole_number(text) && !str_equal(text, STR("-0"));
	case JSON_ARRAY:
	case JSON_OBJECT:
		return false;
	default:
		return true;
	}
}

static bool is_same_value(struct job_filter *filter, const struct request *req,
			  const struct job_filter_data *data, struct qless_str value)
{
	unsigned char hash[HASH_WIDE_BYTES];
	struct qless_str wanted = strip(req->args[data->value]);

	if (json_kind_of(value.ptr[0]) != data->kind)
		return false;
	if (str_equal(value, wanted))
		return true;
	if (is_plain(data->kind, value) && is_plain(data->kind, wanted))
		return false;
	hash_value(filter, value, hash);
	return memcmp(hash, data->hash, sizeof hash) == 0;
}

static bool data_matches(struct job_filter *filter, const struct request *req,
			 const struct qless_job_info *info, size_t *bytes)
{
	struct qless_str value;

	if (filter->data_count != 0 && info->is_raw)
		return false;
	for (size_t i = 0; i < filter->data_count; i++) {
		*bytes += info->data.len;
		if (!json_path_find(&filter->data[i].path, info->data, &value) ||
		    !is_same_value(filter, req, &filter->data[i], value))
			return false;
	}
	return true;
}

/* ---- other conditions ---- */

static bool queue_matches(const struct job_filter *filter, const struct request *req,
			  const struct qless_job *job, const struct qless_job_info *info)
{
	struct qless_str queue;

	return filter->queue == 0 || (job_queue_find(req->engine, job, info, &queue) &&
				      str_equal(queue, req->args[filter->queue]));
}

static bool tags_match(const struct job_filter *filter, const struct request *req,
		       struct qless_str jid)
{
	for (size_t i = 0; i < filter->tag_count; i++) {
		if (view_find_tag_job(req->engine, req->args[filter->tags[i]], jid) == NULL)
			return false;
	}
	return true;
}

/* Whether a text of the job is the argument, if that was sent. */
static bool is_text(const struct request *req, size_t arg, struct qless_str text)
{
	return arg == 0 || str_equal(text, req->args[arg]);
}

bool job_filter_matches(struct job_filter *filter, const struct request *req,
			const struct qless_job *job, size_t *bytes)
{
	struct qless_job_info info;

	qless_job_read(job, &info);
	return is_text(req, filter->jid, info.jid) &&
	       (filter->prefix == 0 || str_starts_with(info.jid, req->args[filter->prefix])) &&
	       is_text(req, filter->klass, info.klass) &&
	       (filter->states == 0 || (job_states_of(req, job, &info) & filter->states) != 0) &&
	       queue_matches(filter, req, job, &info) && tags_match(filter, req, info.jid) &&
	       data_matches(filter, req, &info, bytes) &&
	       permit_shows_job(permit_viewer(req), req->engine, job);
}
