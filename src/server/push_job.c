#include "server/push_job.h"

#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "build_config.h"
#include "command/endpoints.h"
#include "server/push_client.h"
#include "util/hex.h"
#include "util/json.h"
#include "util/mem.h"
#include "util/num.h"

/* Bytes of a body that the message of a failure shows. */
#define MESSAGE_BODY_MAX 256
#define SHA256_BYTES	 32

/*
 * Reading
 */

static struct qless_str text_of(yyjson_val *job, const char *name)
{
	yyjson_val *value = yyjson_obj_get(job, name);

	if (!yyjson_is_str(value))
		return STR("");
	return str_make(yyjson_get_str(value), yyjson_get_len(value));
}

static double number_of(yyjson_val *job, const char *name)
{
	return yyjson_get_num(yyjson_obj_get(job, name));
}

static struct qless_str keep(char **at, struct qless_str text)
{
	struct qless_str copy = str_make(*at, text.len);

	memcpy(*at, text.ptr, text.len);
	*at += text.len;
	return copy;
}

/* The first attempt has all retries left. Each that is lost or given back uses one up. */
static unsigned attempt_of(yyjson_val *json)
{
	double used = number_of(json, "retries") - number_of(json, "remaining");

	return used > 0 && used < 1e9 ? (unsigned)used + 1 : 1;
}

static void read_job(yyjson_val *json, struct taken_job *ret)
{
	struct qless_str jid = text_of(json, "jid"), klass = text_of(json, "klass");
	struct qless_str queue = text_of(json, "queue"), data = text_of(json, "data");
	char *at;

	*ret = (struct taken_job){ .is_raw = yyjson_is_true(yyjson_obj_get(json, "raw")) };
	if (ret->is_raw)
		data = STR("");
	at = ret->memory = mem_alloc(jid.len + klass.len + queue.len + data.len + 1);
	ret->jid = keep(&at, jid);
	ret->klass = keep(&at, klass);
	ret->queue = keep(&at, queue);
	ret->data = keep(&at, data);
	ret->has_backoff = yyjson_obj_get(json, "backoff") != NULL;
	ret->lock = yyjson_get_uint(yyjson_obj_get(json, "lock"));
	ret->expires = number_of(json, "expires");
	ret->attempt = attempt_of(json);
}

bool taken_jobs_read(struct qless_str json, taken_job_fn *fn, void *arg)
{
	yyjson_doc *doc = yyjson_read(json.ptr, json.len, YYJSON_READ_NOFLAG);
	yyjson_val *jobs = yyjson_doc_get_root(doc), *job;
	struct taken_job taken;
	size_t i, count;

	if (!yyjson_is_arr(jobs)) {
		yyjson_doc_free(doc);
		return false;
	}
	yyjson_arr_foreach(jobs, i, count, job)
	{
		read_job(job, &taken);
		fn(arg, &taken);
	}
	yyjson_doc_free(doc);
	return true;
}

void taken_job_done(struct taken_job *job)
{
	free(job->memory);
	job->memory = NULL;
}

/*
 * The request
 */

static void append_member(struct buf *out, struct qless_str before, struct qless_str text)
{
	buf_append_str(out, before);
	json_append_plain_string(out, text);
}

/* Returns the name of the member for the data: a list is the arguments of the class. Returns NULL
 * if it is no JSON. */
static const char *data_member(struct qless_str data)
{
	yyjson_doc *doc = yyjson_read(data.ptr, data.len, YYJSON_READ_NOFLAG);
	const char *name = NULL;

	if (doc != NULL)
		name = yyjson_is_arr(yyjson_doc_get_root(doc)) ? ",\"args\":" : ",\"data\":";
	yyjson_doc_free(doc);
	return name;
}

bool push_body_append(const struct taken_job *job, struct buf *out)
{
	const char *member = job->is_raw ? NULL : data_member(job->data);

	if (member == NULL)
		return false;
	append_member(out, STR("{\"id\":"), job->jid);
	append_member(out, STR(",\"class\":"), job->klass);
	buf_append_str(out, str_from(member));
	buf_append_str(out, job->data);
	append_member(out, STR(",\"queue\":"), job->queue);
	buf_printf(out, ",\"attempt\":%u}", job->attempt);
	return true;
}

static void end_line(struct push_headers *headers)
{
	buf_append_char(&headers->text, '\0');
	headers->count++;
}

/* A jid may have any bytes. Those that could break a header are percent-encoded. */
static void append_visible(struct buf *out, struct qless_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (c > ' ' && c <= '~' && c != '%')
			buf_append_char(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

static void add_signature(struct push_headers *headers, struct qless_str secret,
			  struct qless_str body)
{
	unsigned char mac[SHA256_BYTES];
	char digits[2 * SHA256_BYTES];
	unsigned len = sizeof mac;

	HMAC(EVP_sha256(), secret.ptr, (int)secret.len, (const unsigned char *)body.ptr, body.len,
	     mac, &len);
	hex_write(digits, mac, sizeof mac);
	buf_append_str(&headers->text, STR("X-Qlessd-Signature: sha256="));
	buf_append(&headers->text, digits, sizeof digits);
	end_line(headers);
}

void push_headers_init(struct push_headers *headers, const struct endpoint *endpoint,
		       const struct taken_job *job, struct qless_str body)
{
	char *line;

	*headers = (struct push_headers){ .text = BUF_INIT(BUF_NO_MAX) };
	buf_append_str(&headers->text, STR("Content-Type: application/json"));
	end_line(headers);
	buf_append_str(&headers->text, STR("User-Agent: qlessd/" QLESSD_VERSION));
	end_line(headers);
	if (job != NULL) {
		buf_append_str(&headers->text, STR("X-Qlessd-Jid: "));
		append_visible(&headers->text, job->jid);
		end_line(headers);
		buf_printf(&headers->text, "X-Qlessd-Attempt: %u", job->attempt);
	} else {
		buf_append_str(&headers->text, STR("X-Qlessd-Test: 1"));
	}
	end_line(headers);
	if (endpoint->secret.ptr != NULL)
		add_signature(headers, endpoint->secret, body);
	for (size_t i = 0; i < endpoint->header_count; i++) {
		buf_append_str(&headers->text, endpoint->headers[i].name);
		buf_append_str(&headers->text, STR(": "));
		buf_append_str(&headers->text, endpoint->headers[i].value);
		end_line(headers);
	}
	headers->lines = mem_realloc_array(NULL, headers->count, sizeof *headers->lines);
	line = buf_data(&headers->text);
	for (size_t i = 0; i < headers->count; i++, line += strlen(line) + 1)
		headers->lines[i] = line;
}

void push_headers_done(struct push_headers *headers)
{
	free(headers->lines);
	buf_done(&headers->text);
}

/*
 * The outcome
 */

static void outcome_init(struct push_outcome *outcome, enum verdict_kind kind)
{
	push_outcome_done(outcome);
	*outcome = (struct push_outcome){ .kind = kind,
					  .delay_s = -1,
					  .group = BUF_INIT(BUF_NO_MAX),
					  .message = BUF_INIT(BUF_NO_MAX),
					  .result = BUF_INIT(BUF_NO_MAX) };
}

void push_outcome_done(struct push_outcome *outcome)
{
	buf_done(&outcome->group);
	buf_done(&outcome->message);
	buf_done(&outcome->result);
}

static void describe(struct push_outcome *outcome, const struct post_answer *answer)
{
	if (answer->status == 0) {
		buf_append_str(&outcome->group,
			       answer->is_timeout ? STR("http-timeout") : STR("http-lost"));
		push_append_text(&outcome->message, str_from(answer->error), MESSAGE_BODY_MAX);
		return;
	}
	buf_printf(&outcome->group, "http-%d", answer->status);
	buf_printf(&outcome->message, "The endpoint answered %d", answer->status);
	if (answer->body.len != 0) {
		buf_append_str(&outcome->message, STR(": "));
		push_append_text(&outcome->message, answer->body, MESSAGE_BODY_MAX);
	}
}

/* The delay that the answer asks for counts, then the backoff of the job, then that of push. */
static double delay_of(const struct taken_job *job, const struct post_answer *answer,
		       const struct push_bounds *bounds)
{
	double after = -1;

	if (answer->status != 0 && answer->retry_after.len != 0)
		after = push_read_retry_after(answer->retry_after, bounds->now_s,
					      bounds->max_retry_after_s);
	if (after >= 0)
		return after;
	return job->has_backoff ? -1 : push_backoff(job->jid, job->attempt);
}

void push_outcome_decide(struct push_outcome *outcome, const struct taken_job *job,
			 const struct post_answer *answer, const struct push_bounds *bounds)
{
	outcome_init(outcome, push_verdict(answer->status));
	push_append_text(&outcome->result, answer->body, bounds->max_result);
	if (outcome->kind != PUSH_COMPLETE)
		describe(outcome, answer);
	if (outcome->kind == PUSH_RETRY)
		outcome->delay_s = delay_of(job, answer, bounds);
}

void push_outcome_refuse(struct push_outcome *outcome)
{
	outcome_init(outcome, PUSH_FAIL);
	buf_append_str(&outcome->group, STR("invalid"));
	buf_append_str(&outcome->message,
		       STR("The data is not JSON, so it cannot be posted to an endpoint"));
}

static void add(struct push_command *command, struct qless_str text)
{
	command->argv[command->argc++] = text;
}

void push_command_init(struct push_command *command, const struct taken_job *job,
		       struct qless_str worker, const struct push_outcome *outcome)
{
	command->argc = 0;
	switch (outcome->kind) {
	case PUSH_COMPLETE:
		add(command, STR("COMPLETE"));
		add(command, job->jid);
		add(command, worker);
		add(command, job->queue);
		if (outcome->result.len != 0) {
			add(command, STR("RESULT"));
			add(command, buf_str(&outcome->result));
		}
		break;
	case PUSH_RETRY:
		add(command, STR("RETRY"));
		add(command, job->jid);
		add(command, job->queue);
		add(command, worker);
		if (outcome->delay_s < 0)
			add(command, STR("backoff"));
		else
			add(command, str_make(command->delay,
					      num_format_g14(command->delay, outcome->delay_s)));
		add(command, buf_str(&outcome->group));
		add(command, buf_str(&outcome->message));
		break;
	case PUSH_FAIL:
		add(command, STR("FAIL"));
		add(command, job->jid);
		add(command, worker);
		add(command, buf_str(&outcome->group));
		add(command, buf_str(&outcome->message));
		if (outcome->result.len != 0) {
			add(command, STR("ERROR"));
			add(command, buf_str(&outcome->result));
		}
		break;
	}
	add(command, STR("LOCK"));
	add(command, str_make(command->lock, num_format_u64(command->lock, job->lock)));
}
