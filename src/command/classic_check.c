/*
 * The command that verifies the state, and repairs it.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "util/hash.h"
#include "util/intern.h"

/* Sentences, each once, in the order in which they came. */
struct findings {
	struct intern_table table;
	struct buf order; /* of struct intern * */
};

static void findings_init(struct findings *f)
{
	intern_init(&f->table, 0);
	buf_init(&f->order, BUF_NO_MAX);
}

static void findings_done(struct findings *f)
{
	intern_done(&f->table);
	buf_done(&f->order);
}

static size_t findings_count(const struct findings *f)
{
	return f->order.len / sizeof(struct intern *);
}

static struct qless_str findings_at(const struct findings *f, size_t i)
{
	struct intern *text;

	memcpy(&text, buf_data(&f->order) + i * sizeof(text), sizeof(text));
	return intern_str(text);
}

static bool findings_have(const struct findings *f, struct qless_str text)
{
	return intern_find(&f->table, text) != NULL;
}

static void add_finding(void *arg, struct qless_str finding)
{
	struct findings *f = arg;
	struct intern *text;

	if (findings_have(f, finding))
		return;
	text = intern_get(&f->table, finding);
	buf_append(&f->order, &text, sizeof(text));
}

static void reply_finding(struct classic_call *call, const char *prefix, struct qless_str finding)
{
	struct buf *text = call_json_buf(call);

	buf_append_str(text, str_from(prefix));
	buf_append_str(text, finding);
	answer_bulk(call, buf_str(text));
}

static int reply_findings(struct classic_call *call, const struct findings *f)
{
	size_t i;

	reply_array(call->reply, findings_count(f));
	for (i = 0; i < findings_count(f); i++)
		reply_bulk(call->reply, findings_at(f, i));
	return 0;
}

/* What was found, with whether it is repaired; then what came to light only by the repairs. */
static int reply_repairs(struct classic_call *call, const struct findings *found,
			 const struct findings *left)
{
	size_t count = findings_count(found);
	size_t i;

	for (i = 0; i < findings_count(left); i++)
		count += !findings_have(found, findings_at(left, i));
	reply_array(call->reply, count);
	for (i = 0; i < findings_count(found); i++) {
		struct qless_str finding = findings_at(found, i);

		reply_finding(call,
			      findings_have(left, finding) ? "left: " : "repaired: ", finding);
	}
	for (i = 0; i < findings_count(left); i++) {
		if (!findings_have(found, findings_at(left, i)))
			reply_finding(call, "left: ", findings_at(left, i));
	}
	return 0;
}

/* Of the form that changes something. */
int decode_consistencycheck(struct classic_call *call, struct operation *op)
{
	op->kind = OPERATION_RESOLVE;
	if (str_equal_nocase(call_text(call, 0), STR("resolve")))
		return 0;
	return call_fail(call, QLESS_EBADARG, "ConsistencyCheck(): Unknown argument \"%S\"",
			 call_text(call, 0));
}

static int resolve(struct classic_call *call, struct operation *op, const struct findings *found)
{
	struct operation_outcome outcome;
	struct findings left;
	int rc = call_run(call, op, &outcome);

	if (rc < 0)
		return rc;
	findings_init(&left);
	qless_check(call->engine, add_finding, &left);
	reply_repairs(call, found, &left);
	findings_done(&left);
	return 0;
}

int classic_consistencycheck(struct classic_call *call)
{
	struct findings found;
	struct operation op;
	int rc = call_has(call, 0) ? decode_consistencycheck(call, &op) : 0;

	if (rc < 0)
		return rc;
	findings_init(&found);
	qless_check(call->engine, add_finding, &found);
	rc = call_has(call, 0) ? resolve(call, &op, &found) : reply_findings(call, &found);
	findings_done(&found);
	return rc;
}
