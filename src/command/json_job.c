/*
 * Jobs in JSON, as clients read them.
 *
 * A job consists of about thirty small pieces. So that the buffer need not count each of them,
 * every function takes the place of its piece, `to`, and returns the place of the next one.
 * buf_close() counts them all at the end.
 */
#include "command/json.h"
#include "command/term_options.h"

#include <math.h>
#include <string.h>

#include "util/base64.h"
#include "util/json.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Always inline: the compiler then copies a literal in one or two instructions. */
ALWAYS_INLINE char *put(struct buf *b, char *to, struct qless_str text)
{
	to = buf_room(b, to, text.len);
	memcpy(to, text.ptr, text.len);
	return to + text.len;
}

/* `before` precedes the value: a brace or comma, the name, a colon. */
ALWAYS_INLINE char *put_string(struct buf *b, char *to, struct qless_str before,
			       struct qless_str value)
{
	return json_put_string(b, put(b, to, before), value);
}

ALWAYS_INLINE char *put_number(struct buf *b, char *to, struct qless_str before, double value)
{
	return json_put_number(b, put(b, to, before), value);
}

/* Most lists of a job are empty. */
ALWAYS_INLINE char *put_empty(struct buf *b, char *to, enum json_empty empty)
{
	return put(b, to, empty == JSON_EMPTY_OBJECT ? STR("{}") : STR("[]"));
}

/* ---- values repeated from the last time ---- */

static void init_memo(struct json_job_memo *memo, double now)
{
	memo->now = now;
	memo->queue.text = memo->worker.text = str_make(NULL, SIZE_MAX);
	memo->klass.text = memo->state.text = str_make(NULL, SIZE_MAX);
	memo->put.value = memo->popped.value = memo->expires.value = NAN;
}

static char *put_other_name(struct buf *b, char *to, struct qless_str name,
			    struct json_text_memo *memo)
{
	size_t begin = (size_t)(to - buf_data(b)), len;

	to = json_put_string(b, to, name);
	len = (size_t)(to - buf_data(b)) - begin;
	if (len <= sizeof memo->written) {
		memo->text = name;
		memo->len = len;
		memcpy(memo->written, to - len, len);
	}
	return to;
}

/* Compares texts by address: the engine has each name only once, and does not change while a reply
 * is written. */
ALWAYS_INLINE char *put_name(struct buf *b, char *to, struct qless_str before,
			     struct qless_str name, struct json_text_memo *memo)
{
	to = put(b, buf_room(b, to, before.len + sizeof memo->written), before);
	if (name.ptr != memo->text.ptr || name.len != memo->text.len)
		return put_other_name(b, to, name, memo);
	memcpy(to, memo->written, sizeof memo->written);
	return to + memo->len;
}

/* The memo is copied whole, because a copy of a fixed size needs no call. */
static char *put_other_number(char *to, double value, struct json_number_memo *memo)
{
	memo->value = value;
	memo->len = json_format_number(memo->written, value);
	memcpy(to, memo->written, sizeof memo->written);
	return to + memo->len;
}

ALWAYS_INLINE char *put_same_number(struct buf *b, char *to, struct qless_str before, double value,
				    struct json_number_memo *memo)
{
	to = put(b, buf_room(b, to, before.len + sizeof memo->written), before);
	/* 0 and -0 are equal, but are written differently. */
	if (value != memo->value || value == 0)
		return put_other_number(to, value, memo);
	memcpy(to, memo->written, sizeof memo->written);
	return to + memo->len;
}

/* ---- the parts of a job ---- */

static char *put_item_members(struct buf *b, char *to, struct qless_str item)
{
	buf_close(b, to);
	json_append_item_members(b, item);
	return buf_open(b);
}

/* The reference writes the members in this order. */
static char *put_event(struct buf *b, char *to, const struct qless_event *event,
		       enum json_put_key put_key, struct json_job_memo *memo)
{
	switch (event->kind) {
	case QLESS_EVENT_PUT:
		to = put_same_number(b, to, STR("{\"when\":"), event->when, &memo->put);
		to = put_key == JSON_PUT_Q
			     ? put_name(b, to, STR(",\"q\":"), event->queue, &memo->queue)
			     : put_name(b, to, STR(",\"queue\":"), event->queue, &memo->queue);
		return put(b, to, STR(",\"what\":\"put\"}"));
	case QLESS_EVENT_POPPED:
		to = put_same_number(b, to, STR("{\"when\":"), event->when, &memo->popped);
		to = put_name(b, to, STR(",\"what\":\"popped\",\"worker\":"), event->worker,
			      &memo->worker);
		break;
	case QLESS_EVENT_DONE:
	case QLESS_EVENT_TIMED_OUT:
		to = put_number(b, to, STR("{\"when\":"), event->when);
		to = put_string(b, to, STR(",\"what\":"), event->what);
		break;
	case QLESS_EVENT_FAILED:
		to = put_string(b, to, STR("{\"group\":"), event->group);
		to = put_number(b, to, STR(",\"what\":\"failed\",\"when\":"), event->when);
		to = put_string(b, to, STR(",\"worker\":"), event->worker);
		break;
	case QLESS_EVENT_EXHAUSTED:
		to = put_number(b, to, STR("{\"when\":"), event->when);
		to = put_string(b, to, STR(",\"group\":"), event->group);
		return put(b, to, STR(",\"what\":\"failed\"}"));
	case QLESS_EVENT_LOG:
		to = put(b, to, STR("{"));
		if (event->item.ptr != NULL)
			to = put_item_members(b, to, event->item);
		to = put_number(b, to, STR("\"when\":"), event->when);
		to = put_string(b, to, STR(",\"what\":"), event->what);
		break;
	}
	return put(b, to, STR("}"));
}

static char *put_history(struct buf *b, char *to, const struct qless_job *job,
			 const struct json_style *style, struct json_job_memo *memo)
{
	struct qless_event event;
	size_t cursor = 0;

	if (!qless_job_next_event(job, &cursor, &event))
		return put_empty(b, to, style->inner);
	to = put(b, to, STR("["));
	to = put_event(b, to, &event, style->put_key, memo);
	while (qless_job_next_event(job, &cursor, &event))
		to = put_event(b, put(b, to, STR(",")), &event, style->put_key, memo);
	return put(b, to, STR("]"));
}

static char *put_tags(struct buf *b, char *to, const struct qless_job *job, enum json_empty empty)
{
	struct qless_str tag;
	size_t cursor = 0;

	if (!qless_job_next_tag(job, &cursor, &tag))
		return put_empty(b, to, empty);
	to = put_string(b, to, STR("["), tag);
	while (qless_job_next_tag(job, &cursor, &tag))
		to = put_string(b, to, STR(","), tag);
	return put(b, to, STR("]"));
}

/* The names of a job or a recurring job, with the member before them. Most have none. */
static char *put_limits(struct buf *b, char *to, const void *of,
			bool (*next)(const void *, size_t *, struct qless_str *))
{
	struct qless_str name;
	size_t cursor = 0;

	if (!next(of, &cursor, &name))
		return to;
	to = put_string(b, to, STR(",\"limits\":["), name);
	while (next(of, &cursor, &name))
		to = put_string(b, to, STR(","), name);
	return put(b, to, STR("]"));
}

static bool next_limit(const void *job, size_t *cursor, struct qless_str *ret_name)
{
	return qless_job_next_limit(job, cursor, ret_name);
}

static bool next_recur_limit(const void *recur, size_t *cursor, struct qless_str *ret_name)
{
	return qless_recur_next_limit(recur, cursor, ret_name);
}

/* Bytes as a string with JSON in it, as other data: each client can parse it. */
static __attribute__((noinline, cold)) char *put_raw(struct buf *b, char *to,
						     struct qless_str bytes)
{
	struct buf json = BUF_INIT(BUF_NO_MAX);

	base64_append_json(&json, bytes);
	to = json_put_string(b, to, buf_str(&json));
	buf_done(&json);
	return to;
}

/* The data of a job. Replies in RESP have it as a string, and this is not in their way. */
static __attribute__((noinline, cold)) char *put_embedded(struct buf *b, char *to,
							  struct qless_str data, bool is_raw)
{
	buf_close(b, to);
	if (is_raw)
		base64_append_json(b, data);
	else
		json_append_text(b, data);
	return buf_open(b);
}

ALWAYS_INLINE char *put_data(struct buf *b, char *to, struct qless_str data, bool is_raw,
			     const struct json_style *style)
{
	if (style->embeds_data)
		return put_embedded(b, to, data, is_raw);
	return is_raw ? put_raw(b, to, data) : json_put_string(b, to, data);
}

static char *put_backoff(struct buf *b, char *to, const struct qless_backoff *backoff)
{
	to = put_string(b, to, STR(",\"backoff\":{\"kind\":"), qless_backoff_text(backoff->kind));
	to = put_number(b, to, STR(",\"base\":"), backoff->base);
	to = put_number(b, to, STR(",\"max\":"), backoff->max);
	return put(b, to, STR("}"));
}

/* The engine lets a claim for some seconds stand until another job wants the key. */
static bool is_held(const struct qless_unique *unique, double now)
{
	return unique->is_held && (unique->until != QLESS_UNTIL_SECONDS || now < unique->ends);
}

/* `now` is NULL for a recurring job, which does not hold the key itself. */
static char *put_unique(struct buf *b, char *to, const struct qless_unique *unique,
			const double *now)
{
	char room[TERM_ARGS_TEXT_BYTES];

	to = put_string(b, to, STR(",\"unique\":{\"key\":"), term_unique_text(unique->key, room));
	if (unique->until == QLESS_UNTIL_SECONDS)
		to = put_number(b, to, STR(",\"until\":"), unique->seconds);
	else
		to = put_string(b, to, STR(",\"until\":"), qless_until_text(unique->until));
	if (now != NULL && unique->until == QLESS_UNTIL_SECONDS)
		to = put_number(b, to, STR(",\"ends\":"), unique->ends);
	if (now != NULL)
		to = put(b, to,
			 is_held(unique, *now) ? STR(",\"held\":true") : STR(",\"held\":false"));
	return put(b, to, STR("}"));
}

static char *put_retain(struct buf *b, char *to, double seconds)
{
	if (isinf(seconds))
		return put(b, to, STR(",\"retain\":\"ack\""));
	return put_number(b, to, STR(",\"retain\":"), seconds);
}

/* How long a complete job is retained, which may be because of its last queue. */
static char *put_retained(struct buf *b, char *to, const struct qless_retained *retained,
			  bool has_retain)
{
	if (!has_retain)
		to = put_retain(b, to, retained->seconds);
	if (isfinite(retained->ends))
		to = put_number(b, to, STR(",\"retained_until\":"), retained->ends);
	return to;
}

/* The terms of a job or a recurring job, with a comma before each; `now` as for put_unique(). */
static char *put_terms(struct buf *b, char *to, const struct qless_terms *terms, const double *now)
{
	if (terms->has_backoff && terms->backoff.kind != QLESS_BACKOFF_NONE)
		to = put_backoff(b, to, &terms->backoff);
	if (terms->has_runtime && terms->runtime > 0)
		to = put_number(b, to, STR(",\"runtime\":"), terms->runtime);
	if (terms->has_retain)
		to = put_retain(b, to, terms->retain);
	if (terms->is_raw)
		to = put(b, to, STR(",\"raw\":true"));
	if (terms->has_unique)
		to = put_unique(b, to, &terms->unique, now);
	return to;
}

/* The fields of the application. */
static char *put_meta(struct buf *b, char *to, const struct qless_job *job)
{
	struct qless_str field, value;
	size_t cursor = 0;

	to = put(b, to, STR(",\"meta\":"));
	while (qless_job_next_meta(job, &cursor, &field, &value)) {
		to = put_string(b, to, cursor == 1 ? STR("{") : STR(","), field);
		to = put_string(b, to, STR(":"), value);
	}
	return put(b, to, STR("}"));
}

/* The process that runs the job. */
static char *put_start(struct buf *b, char *to, const struct qless_account *account)
{
	to = put_number(b, to, STR(",\"started\":"), account->started);
	if (account->pid != 0)
		to = put_number(b, to, STR(",\"pid\":"), (double)account->pid);
	if (account->node.ptr != NULL)
		to = put_string(b, to, STR(",\"node\":"), account->node);
	return to;
}

static char *put_account(struct buf *b, char *to, const struct qless_job *job,
			 const struct qless_account *account, enum qless_state state)
{
	if (account->is_started && state == QLESS_RUNNING)
		to = put_start(b, to, account);
	if (account->has_progress)
		to = put_number(b, to, STR(",\"progress\":"), account->percent);
	if (account->note.ptr != NULL)
		to = put_string(b, to, STR(",\"note\":"), account->note);
	if (account->meta_count != 0)
		to = put_meta(b, to, job);
	if (account->result.ptr != NULL)
		to = put_string(b, to, STR(",\"result\":"), account->result);
	if (account->error.ptr != NULL)
		to = put_string(b, to, STR(",\"error\":"), account->error);
	return to;
}

/* The members that few jobs have. Not inline, to keep the writing of the other jobs short. */
static __attribute__((noinline)) char *put_carried(struct buf *b, char *to,
						   const struct qless_job *job,
						   enum qless_state state, const double *now)
{
	struct qless_account account;
	struct qless_retained retained;
	struct qless_terms terms;

	if (qless_job_terms(job, &terms))
		to = put_terms(b, to, &terms, now);
	if (qless_job_retained(job, &retained))
		to = put_retained(b, to, &retained, terms.has_retain);
	if (qless_job_account(job, &account))
		to = put_account(b, to, job, &account, state);
	return to;
}

static char *put_related(struct buf *b, char *to, const struct qless_job *job,
			 enum json_empty empty,
			 bool (*next)(const struct qless_job *, const void **, struct qless_str *))
{
	const void *cursor = NULL;
	struct qless_str jid;

	if (!next(job, &cursor, &jid))
		return put_empty(b, to, empty);
	to = put_string(b, to, STR("["), jid);
	while (next(job, &cursor, &jid))
		to = put_string(b, to, STR(","), jid);
	return put(b, to, STR("]"));
}

static char *put_failure(struct buf *b, char *to, const struct qless_failure *failure)
{
	to = put_string(b, to, STR("{\"message\":"), failure->message);
	to = put_string(b, to, STR(",\"group\":"), failure->group);
	to = put_number(b, to, STR(",\"when\":"), failure->when);
	to = put_string(b, to, STR(",\"worker\":"), failure->worker);
	return put(b, to, STR("}"));
}

static char *put_lock(struct buf *b, char *to, uint64_t number)
{
	static const struct qless_str before = STR_INIT(",\"lock\":");

	to = put(b, buf_room(b, to, before.len + NUM_MAX), before);
	return to + num_format_u64(to, number);
}

static char *put_job(struct buf *b, char *to, const struct qless_job *job,
		     const struct json_style *style, struct json_job_memo *memo)
{
	enum json_empty empty = style->inner;
	struct qless_job_info info;

	qless_job_read(job, &info);
	if (style->tells_run && info.state != QLESS_RUNNING) {
		info.worker = STR("");
		info.expires = 0;
	}
	to = put_string(b, to, STR("{\"jid\":"), info.jid);
	to = put_number(b, to, STR(",\"retries\":"), info.retries);
	to = put(b, to, STR(",\"data\":"));
	to = put_data(b, to, info.data, info.is_raw, style);
	to = put(b, to, STR(",\"failure\":"));
	to = info.has_failure ? put_failure(b, to, &info.failure) : put(b, to, STR("{}"));
	to = put_same_number(b, to, STR(",\"expires\":"), info.expires, &memo->expires);
	if (style->tells_run && info.state == QLESS_RUNNING && info.lock != 0)
		to = put_lock(b, to, info.lock);
	to = put_number(b, to, STR(",\"remaining\":"), floor(info.remaining));
	to = put(b, to, STR(",\"spawned_from_jid\":"));
	to = info.spawned_from.ptr != NULL ? json_put_string(b, to, info.spawned_from)
					   : put(b, to, STR("false"));
	to = put(b, to, STR(",\"dependencies\":"));
	to = info.has_lists ? put_related(b, to, job, empty, qless_job_next_dependency)
			    : put_empty(b, to, empty);
	to = put_name(b, to, STR(",\"klass\":"), info.klass, &memo->klass);
	to = put(b, to,
		 info.tracked ? STR(",\"tracked\":true,\"tags\":")
			      : STR(",\"tracked\":false,\"tags\":"));
	to = info.has_lists ? put_tags(b, to, job, empty) : put_empty(b, to, empty);
	to = put_name(b, to, STR(",\"queue\":"), info.queue, &memo->queue);
	to = put_name(b, to, STR(",\"state\":"), qless_state_text(info.state), &memo->state);
	to = put(b, to, STR(",\"history\":"));
	to = put_history(b, to, job, style, memo);
	to = put(b, to, STR(",\"dependents\":"));
	to = info.has_lists ? put_related(b, to, job, empty, qless_job_next_dependent)
			    : put_empty(b, to, empty);
	if (info.has_limits && style->tells_own)
		to = put_limits(b, to, job, next_limit);
	if (info.carries && style->tells_own)
		to = put_carried(b, to, job, info.state, &memo->now);
	to = put_number(b, to, STR(",\"priority\":"), info.priority);
	to = put_name(b, to, STR(",\"worker\":"), info.worker, &memo->worker);
	return put(b, to, STR("}"));
}

void json_append_job(struct buf *b, const struct qless_job *job, const struct json_style *style,
		     double now)
{
	struct json_job_memo memo;

	init_memo(&memo, now);
	buf_close(b, put_job(b, buf_open(b), job, style, &memo));
}

void json_append_job_tags(struct buf *b, const struct qless_job *job, enum json_empty empty)
{
	buf_close(b, put_tags(b, buf_open(b), job, empty));
}

/* ---- many jobs ---- */

void json_job_list_begin(struct json_job_list *list, struct buf *b, const struct json_style *style,
			 double now)
{
	list->buf = b;
	list->count = 0;
	list->style = style;
	init_memo(&list->memo, now);
	buf_append_char(b, '[');
}

void json_job_list_add(struct json_job_list *list, const struct qless_job *job)
{
	char *to = buf_open(list->buf);

	if (list->count++ != 0)
		to = put(list->buf, to, STR(","));
	buf_close(list->buf, put_job(list->buf, to, job, list->style, &list->memo));
}

void json_job_list_forget(struct json_job_list *list)
{
	init_memo(&list->memo, list->memo.now);
}

void json_job_list_end(struct json_job_list *list)
{
	if (list->count != 0)
		buf_append_char(list->buf, ']');
	else
		json_end_list(list->buf, list->buf->len, list->style->whole);
}

/* ---- recurring jobs ---- */

static char *put_recur_tags(struct buf *b, char *to, const struct qless_recur *recur,
			    enum json_empty empty)
{
	struct qless_str tag;
	size_t cursor = 0;

	if (!qless_recur_next_tag(recur, &cursor, &tag))
		return put_empty(b, to, empty);
	to = put_string(b, to, STR("["), tag);
	while (qless_recur_next_tag(recur, &cursor, &tag))
		to = put_string(b, to, STR(","), tag);
	return put(b, to, STR("]"));
}

void json_append_recur_tags(struct buf *b, const struct qless_recur *recur, enum json_empty empty)
{
	buf_close(b, put_recur_tags(b, buf_open(b), recur, empty));
}

static char *put_schedule(struct buf *b, char *to, const struct qless_schedule *schedule)
{
	to = put_string(b, to, STR(",\"cron\":"), schedule->cron);
	to = put_string(b, to, STR(",\"tz\":"), schedule->zone);
	to = put_string(b, to, STR(",\"rule\":"), schedule->rule);
	to = put_string(b, to, STR(",\"missed\":"), qless_missed_text(schedule->missed));
	return put_string(b, to, STR(",\"overlap\":"), qless_overlap_text(schedule->overlap));
}

void json_append_recur(struct buf *b, const struct qless_recur *recur,
		       const struct json_style *style)
{
	struct qless_recur_info info;
	char *to = buf_open(b);

	qless_recur_read(recur, &info);
	to = put_recur_tags(b, put(b, to, STR("{\"tags\":")), recur, style->inner);
	to = put_string(b, to, STR(",\"jid\":"), info.jid);
	to = put_number(b, to, STR(",\"retries\":"), info.retries);
	to = put(b, to, STR(",\"data\":"));
	to = put_data(b, to, info.data, info.terms != NULL && info.terms->is_raw, style);
	to = put_string(b, to, STR(",\"queue\":"), info.queue);
	to = put(b, to, STR(",\"state\":\"recur\""));
	to = put_number(b, to, STR(",\"count\":"), (double)info.count);
	to = put_number(b, to, STR(",\"interval\":"), info.interval);
	to = put_string(b, to, STR(",\"klass\":"), info.klass);
	to = put_number(b, to, STR(",\"backlog\":"), info.backlog);
	to = put_number(b, to, STR(",\"priority\":"), info.priority);
	if (style->tells_own)
		to = put_limits(b, to, recur, next_recur_limit);
	if (style->tells_own && info.has_schedule)
		to = put_schedule(b, to, &info.schedule);
	if (style->tells_own && info.terms != NULL)
		to = put_terms(b, to, info.terms, NULL);
	buf_close(b, put(b, to, STR("}")));
}
