/*
 * Extensions to the classic commands that do for many jobs what the others do for one.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "util/mem.h"

/* ---- multiput ---- */

enum {
	ARG_WORKER,
	ARG_QUEUE,
	ARG_DELAY,
	ARG_OPTIONS,
};

size_t classic_multiput_jobs(const struct qless_str *args, size_t count)
{
	size_t i;

	for (i = ARG_OPTIONS; i < count; i += 2) {
		if (str_equal(args[i], STR("jobs")))
			return i + 1;
	}
	return count;
}

/* What the jobs have in common, but the options. */
static int decode_common(struct classic_call *call, struct qless_put *put)
{
	int rc = call_need(call, ARG_WORKER, "Multiput(): Arg \"worker\" missing", &put->worker);

	if (rc == 0)
		rc = call_need(call, ARG_QUEUE, "Multiput(): Arg \"queue\" missing", &put->queue);
	if (rc == 0)
		rc = call_number(call, ARG_DELAY,
				 "Multiput(): Arg \"delay\" not a number: ", &put->delay);
	return rc;
}

/* The options, up to the word that ends them; *ret_first is behind it. */
static int read_options(struct classic_call *call, struct put_options *ret, size_t *ret_first)
{
	size_t i;

	*ret = (struct put_options){ NULL, NULL, NULL, NULL };
	for (i = ARG_OPTIONS; i < call->count; i += 2) {
		if (str_equal(call->args[i], STR("jobs"))) {
			*ret_first = i + 1;
			return 0;
		}
		if (!put_option_set(ret, call->args[i],
				    call_has(call, i + 1) ? &call->args[i + 1] : NULL))
			return call_fail(call, QLESS_EBADARG, "Multiput(): Unknown option \"%S\"",
					 call->args[i]);
	}
	return call_fail(call, QLESS_EBADARG, "Multiput(): Word \"jobs\" missing");
}

static int decode_jobs(struct classic_call *call, const struct qless_put *common,
		       const struct qless_str *args, size_t count, struct qless_put *ret_puts)
{
	enum json_kind kind;
	size_t i;
	int rc;

	for (i = 0; i < count; i++, args += CLASSIC_MULTIPUT_JOB_ARGS) {
		rc = call_json_text(call, args[2], &kind);
		if (rc < 0)
			return rc;
		if (kind == JSON_FALSE)
			return call_fail(call, QLESS_EBADARG,
					 "Multiput(): Data of job %S not JSON: false", args[0]);
		ret_puts[i] = *common;
		ret_puts[i].jid = args[0];
		ret_puts[i].klass = args[1];
		ret_puts[i].data = args[2];
	}
	return 0;
}

static void reply_jids(struct classic_call *call, const struct qless_put *puts, size_t count)
{
	size_t i;

	reply_array(call->reply, count);
	for (i = 0; i < count; i++)
		reply_bulk(call->reply, puts[i].jid);
}

/* The jobs begin at `first`. */
static int put_jobs(struct classic_call *call, const struct qless_put *common, size_t first)
{
	size_t count = (call->count - first) / CLASSIC_MULTIPUT_JOB_ARGS;
	struct qless_put *puts;
	int rc;

	if (count == 0 || (call->count - first) % CLASSIC_MULTIPUT_JOB_ARGS != 0)
		return call_fail(call, QLESS_EBADARG,
				 "Multiput(): Each job needs a jid, a klass and data");
	puts = mem_realloc_array(NULL, count, sizeof(*puts));
	rc = decode_jobs(call, common, call->args + first, count, puts);
	if (rc == 0)
		rc = qless_put_many(call->engine, call->now, puts, count, &call->c->until);
	if (rc == 0)
		reply_jids(call, puts, count);
	free(puts);
	return rc;
}

int classic_multiput(struct classic_call *call)
{
	struct qless_put common = { 0 };
	struct put_options options;
	struct json_strings tags = { 0 };
	struct json_strings depends = { 0 };
	size_t first = 0;
	int rc = decode_common(call, &common);

	if (rc == 0)
		rc = read_options(call, &options, &first);
	if (rc == 0)
		rc = put_options_decode(call, &options, &common, &tags, &depends);
	if (rc == 0)
		rc = put_jobs(call, &common, first);
	json_strings_done(&tags);
	json_strings_done(&depends);
	return rc;
}

/* ---- multicomplete ---- */

static int complete_one(struct classic_call *call, struct qless_str jid, struct qless_str data)
{
	struct qless_complete complete = {
		.jid = jid, .worker = call->args[0], .queue = call->args[1], .data = data
	};
	enum qless_state state;
	enum json_kind kind;
	int rc = call_json_text(call, data, &kind);

	if (rc == 0 && kind == JSON_FALSE)
		rc = call_fail(call, QLESS_EBADARG,
			       "Complete(): Arg \"data\" missing or not JSON: false");
	if (rc == 0)
		rc = qless_complete(call->engine, call->now, &complete, &state);
	return rc < 0 ? rc : answer_bulk(call, qless_state_text(state));
}

int classic_multicomplete(struct classic_call *call)
{
	size_t i;
	int rc;

	if (!call_has(call, 0))
		return call_fail(call, QLESS_EBADARG, "Multicomplete(): Arg \"worker\" missing");
	if (!call_has(call, 1))
		return call_fail(call, QLESS_EBADARG, "Multicomplete(): Arg \"queue\" missing");
	if (call->count == 2 || call->count % 2 != 0)
		return call_fail(call, QLESS_EBADARG,
				 "Multicomplete(): Each job needs a jid and data");
	reply_array(call->reply, (call->count - 2) / 2);
	for (i = 2; i < call->count; i += 2) {
		rc = complete_one(call, call->args[i], call->args[i + 1]);
		if (rc < 0)
			answer_error(call, rc);
	}
	return 0;
}

/* ---- multiheartbeat ---- */

int classic_multiheartbeat(struct classic_call *call)
{
	double expires;
	size_t i;
	int rc;

	if (!call_has(call, 0))
		return call_fail(call, QLESS_EBADARG, "Multiheartbeat(): Arg \"worker\" missing");
	if (!call_has(call, 1))
		return call_fail(call, QLESS_EBADARG, "Multiheartbeat(): Arg \"jid\" missing");
	reply_array(call->reply, call->count - 1);
	for (i = 1; i < call->count; i++) {
		rc = qless_heartbeat(call->engine, call->now, call->args[i], call->args[0], NULL,
				     &expires);
		if (rc == 0)
			answer_integer(call, expires);
		else
			answer_error(call, rc);
	}
	return 0;
}
