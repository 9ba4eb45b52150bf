/*
 * The command that verifies the state and repairs it.
 *
 * The check of a large state takes seconds, so a child process does it, on the state of one moment.
 * The child also finds the repairs, and the server makes them over several turns.
 */
#include "command/classic_int.h"

#include <assert.h>
#include <stdlib.h>

#include "command/repairing.h"
#include "command/work.h"
#include "engine/view.h"
#include "util/container.h"
#include "util/hash.h"
#include "util/intern.h"
#include "util/mem.h"

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

/* Find defects of the state, and jobs that wait for themselves. Only defects can be repaired;
 * returns their number. */
static size_t find_all(const struct request *req, struct findings *f)
{
	size_t defects = qless_check(req->engine, add_finding, f);

	qless_find_circles(req->engine, add_finding, f);
	return defects;
}

/* ---- at once ---- */

static int resolve(struct request *req, struct operation *op, const struct findings *found)
{
	struct operation_outcome outcome;
	struct findings left;
	int rc = request_run(req, op, &outcome);

	if (rc < 0)
		return rc;
	findings_init(&left);
	find_all(req, &left);
	reply_repairs(req, found, &left);
	findings_done(&left);
	return 0;
}

static int check_at_once(struct request *req, struct operation *op)
{
	struct findings found;
	int rc;

	findings_init(&found);
	find_all(req, &found);
	rc = request_has(req, 0) ? resolve(req, op, &found) : reply_findings(req, &found);
	findings_done(&found);
	return rc;
}

/* ---- by a child process ---- */

/* Jobs and other objects that are checked at once. That takes some milliseconds. */
#define AT_ONCE_MAX 1000
/* Findings that a child returns at most. */
#define FINDINGS_MAX 10000

/* Times that a child looks for repairs at most. It looks again for those above PORTION_REPAIRS_MAX,
 * and for those that the server could not make because the state had changed. */
#define ROUNDS_MAX 50

#define CANNOT_REPAIR                                                                              \
	"A list with more than %d entries has damaged links, so nothing is repaired. Restart the " \
	"server, which links all lists anew"

/*
 *	BEGINS --> READS_FINDINGS --> REPAIRS --> READS_REST --> (the reply)
 *	                                 ^             |
 *	                                 +-------------+
 */
enum check_phase {
	CHECK_BEGINS,
	CHECK_READS_FINDINGS,
	CHECK_REPAIRS,
	CHECK_READS_REST,
};

struct check_work {
	struct work work;
	enum check_phase phase;
	struct findings found;
	struct findings left; /* after the repairs */
	struct repairing repairing;
	int rounds;
};

/* One finding a line. The names in them are JSON, so that they have no line ends. */
static void write_lines(const struct findings *f, struct buf *output)
{
	size_t count = findings_count(f), i;

	for (i = 0; i < count && i < FINDINGS_MAX; i++) {
		buf_append_str(output, findings_at(f, i));
		buf_append_char(output, '\n');
	}
	if (count > FINDINGS_MAX)
		buf_printf(output, "There are %zu more findings\n", count - FINDINGS_MAX);
}

/* In the child: the findings, an empty line, and portions of repairs. */
static void write_findings(const struct request *req, struct buf *output)
{
	struct buf portions = BUF_INIT(BUF_NO_MAX);
	struct findings found;
	bool has_defects;

	findings_init(&found);
	has_defects = find_all(req, &found) > 0;
	write_lines(&found, output);
	findings_done(&found);
	if (has_defects && request_has(req, 0) && !repairing_find(req, &portions))
		buf_printf(output, CANNOT_REPAIR "\n", QLESS_REBUILD_MAX);
	buf_append_char(output, '\n');
	buf_append_str(output, buf_str(&portions));
	buf_done(&portions);
}

/* Returns false, and has replied, if the child failed. */
static bool read_findings(struct check_work *w, struct request *req, struct findings *f)
{
	struct qless_str rest, line;

	if (req->output->mem == NULL) {
		reply_error(req->reply, "ERR",
			    STR("The check has failed: its process ended early. See the log of "
				"the system about memory"));
		return false;
	}
	findings_done(f);
	findings_init(f);
	rest = buf_str(req->output);
	do {
		const char *end = memchr(rest.ptr, '\n', rest.len);

		assert(end != NULL);
		line = str_make(rest.ptr, (size_t)(end - rest.ptr));
		rest = str_make(end + 1, rest.len - line.len - 1);
		if (line.len != 0)
			add_finding(f, line);
	} while (line.len != 0);
	repairing_take(&w->repairing, rest);
	return true;
}

/* Returns whether the work goes on. */
static bool start_child(struct check_work *w, struct request *req, enum check_phase next)
{
	const char *error = req->env->start_child(req->env->arg, req, write_findings);

	w->phase = next;
	repairing_begin(&w->repairing, req);
	if (error != NULL)
		reply_errorf(req->reply, "ERR", "The check cannot begin: %s", error);
	return error == NULL;
}

static bool read_first(struct check_work *w, struct request *req)
{
	if (!read_findings(w, req, &w->found))
		return false;
	if (!request_has(req, 0) || findings_count(&w->found) == 0) {
		reply_findings(req, &w->found);
		return false;
	}
	if (w->repairing.left.len == 0) {
		reply_repairs(req, &w->found, &w->found);
		return false;
	}
	w->phase = CHECK_REPAIRS;
	return true;
}

/* The state may change while the child looks at it, so the last round may leave something. */
static bool read_rest(struct check_work *w, struct request *req, bool has_made_repairs)
{
	if (!read_findings(w, req, &w->left))
		return false;
	if (w->repairing.left.len == 0 || !has_made_repairs || ++w->rounds == ROUNDS_MAX) {
		reply_repairs(req, &w->found, &w->left);
		return false;
	}
	w->phase = CHECK_REPAIRS;
	return true;
}

static bool go_on(struct work *work, struct request *req)
{
	struct check_work *w = container_of(work, struct check_work, work);

	switch (w->phase) {
	case CHECK_BEGINS:
		return start_child(w, req, CHECK_READS_FINDINGS);
	case CHECK_READS_FINDINGS:
		return read_first(w, req);
	case CHECK_REPAIRS:
		if (!repairing_go_on(&w->repairing, req))
			return false;
		return w->repairing.left.len != 0 || start_child(w, req, CHECK_READS_REST);
	case CHECK_READS_REST:
		return read_rest(w, req, w->repairing.made > 0);
	}
	return false;
}

static void free_check(struct work *work)
{
	struct check_work *w = container_of(work, struct check_work, work);

	findings_done(&w->found);
	findings_done(&w->left);
	repairing_done(&w->repairing);
	free(w);
}

static void check_by_child(struct request *req)
{
	static const struct work_ops ops = { .go_on = go_on, .free = free_check };
	struct check_work *w = mem_zalloc(sizeof *w);

	w->work.ops = &ops;
	findings_init(&w->found);
	findings_init(&w->left);
	work_begin(req, &w->work);
}

static bool is_small(const struct request *req)
{
	struct view_counts counts;

	view_counts(req->engine, &counts);
	return counts.jobs + counts.recurs + counts.groups + counts.tags +
		       view_queue_count(req->engine) + skiplist_count(view_workers(req->engine)) <=
	       AT_ONCE_MAX;
}

int classic_consistencycheck(struct request *req)
{
	struct operation op;
	int rc = request_has(req, 0) ? decode_consistencycheck(req, &op) : 0;

	if (rc < 0)
		return rc;
	if (is_small(req) || req->env->start_child == NULL)
		return check_at_once(req, &op);
	if (req->parts_left != NULL)
		return request_fail(req, QLESS_ELIMIT,
				    "The command takes too long for a transaction. Send it "
				    "outside of MULTI");
	check_by_child(req);
	return 0;
}
