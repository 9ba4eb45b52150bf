/*
 * The command that verifies the state and repairs it.
 */
#include "command/classic_int.h"

#include <stdlib.h>

#include "util/hash.h"
#include "util/intern.h"

/* Findings: each sentence once, in the order of their arrival. */
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

static void reply_finding(struct request *req, const char *prefix, struct qless_str finding)
{
	struct buf *text = request_json_buf(req);

	buf_append_str(text, str_from(prefix));
	buf_append_str(text, finding);
	answer_bulk(req, buf_str(text));
}

static int reply_findings(struct request *req, const struct findings *f)
{
	size_t i;

	reply_array(req->reply, findings_count(f));
	for (i = 0; i < findings_count(f); i++)
		reply_bulk(req->reply, findings_at(f, i));
	return 0;
}

/* Reply with the findings and whether they are repaired, then with findings that only the repairs
 * revealed. */
static int reply_repairs(struct request *req, const struct findings *found,
			 const struct findings *left)
{
	size_t count = findings_count(found);
	size_t i;

	for (i = 0; i < findings_count(left); i++)
		count += !findings_have(found, findings_at(left, i));
	reply_array(req->reply, count);
	for (i = 0; i < findings_count(found); i++) {
		struct qless_str finding = findings_at(found, i);

		reply_finding(req, findings_have(left, finding) ? "left: " : "repaired: ", finding);
	}
	for (i = 0; i < findings_count(left); i++) {
		if (!findings_have(found, findings_at(left, i)))
			reply_finding(req, "left: ", findings_at(left, i));
	}
	return 0;
}

/* Decodes the form that changes something. */
int decode_consistencycheck(struct request *req, struct operation *op)
{
	op->kind = OPERATION_RESOLVE;
	if (str_equal_nocase(request_text(req, 0), STR("resolve")))
		return 0;
	return request_fail(req, QLESS_EBADARG, "ConsistencyCheck(): Unknown argument \"%S\"",
			    request_text(req, 0));
}

static int resolve(struct request *req, struct operation *op, const struct findings *found)
{
	struct operation_outcome outcome;
	struct findings left;
	int rc = request_run(req, op, &outcome);

	if (rc < 0)
		return rc;
	findings_init(&left);
	qless_check(req->engine, add_finding, &left);
	reply_repairs(req, found, &left);
	findings_done(&left);
	return 0;
}

int classic_consistencycheck(struct request *req)
{
	struct findings found;
	struct operation op;
	int rc = request_has(req, 0) ? decode_consistencycheck(req, &op) : 0;

	if (rc < 0)
		return rc;
	findings_init(&found);
	qless_check(req->engine, add_finding, &found);
	rc = request_has(req, 0) ? resolve(req, &op, &found) : reply_findings(req, &found);
	findings_done(&found);
	return rc;
}
