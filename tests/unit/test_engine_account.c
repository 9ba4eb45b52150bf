/*
 * Random reports of workers, compared with a slow model. The state follows from the records of the
 * calls alone, and snapshots do not change it.
 */
#include "engine/engine_int.h"

#include "limiting.h"
#include "operation/operation.h"

void setUp(void)
{
	engine_set_up();
}

void tearDown(void)
{
	engine_tear_down();
}

#define STEPS  20000
#define JOBS   30
#define FIELDS 5

struct drawer {
	uint64_t state;
};

static unsigned draw(struct drawer *d, unsigned below)
{
	d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(d->state >> 33) % below;
}

/* ---- the model: what each job must have. Texts are numbers, and -1 is none. ---- */

struct model_job {
	bool is_started;
	int pid;
	int node;
	int percent;
	int note;
	int result;
	int error;
	int fields[FIELDS];
};

static struct model_job model[JOBS];

static void forget_job(struct model_job *job)
{
	*job = (struct model_job){
		.pid = 0, .node = -1, .percent = -1, .note = -1, .result = -1, .error = -1
	};
	for (int i = 0; i < FIELDS; i++)
		job->fields[i] = -1;
}

static void begin_run(struct model_job *job)
{
	job->is_started = false;
	job->pid = 0;
	job->node = job->percent = job->note = job->result = -1;
}

static void assert_text(int expected, struct qless_str found)
{
	char text[16];

	snprintf(text, sizeof text, "t%d", expected);
	TEST_ASSERT_EQUAL(expected < 0, found.ptr == NULL);
	if (expected >= 0)
		TEST_ASSERT_TRUE(str_equal(str_from(text), found));
}

static struct qless_account account_of(const struct qless_job *job)
{
	struct qless_account account = { .is_started = false };

	if (!qless_job_account(job, &account))
		return (struct qless_account){ .is_started = false };
	return account;
}

static void assert_fields(const struct model_job *expected, const struct qless_job *job)
{
	struct qless_str value;
	size_t count = 0;
	char name[16];

	for (int i = 0; i < FIELDS; i++) {
		bool is_there;

		snprintf(name, sizeof name, "f%d", i);
		is_there = qless_job_find_meta(job, str_from(name), &value);
		TEST_ASSERT_EQUAL(expected->fields[i] >= 0, is_there);
		if (is_there)
			assert_text(expected->fields[i], value);
		count += is_there;
	}
	TEST_ASSERT_EQUAL_size_t(count, account_of(job).meta_count);
}

/* A job that the model has nothing about has no account. */
static void assert_job(const struct model_job *expected, const struct qless_job *job)
{
	struct qless_account account = account_of(job);

	TEST_ASSERT_EQUAL(expected->is_started, account.is_started);
	TEST_ASSERT_EQUAL_INT64(expected->pid, account.pid);
	assert_text(expected->node, account.node);
	TEST_ASSERT_EQUAL(expected->percent >= 0, account.has_progress);
	if (account.has_progress)
		TEST_ASSERT_EQUAL_DOUBLE(expected->percent, account.percent);
	assert_text(expected->note, account.note);
	assert_text(expected->result, account.result);
	assert_text(expected->error, account.error);
	assert_fields(expected, job);
}

static void assert_model(const struct qless *engine)
{
	for (int i = 0; i < JOBS; i++) {
		const struct qless_job *job;
		char jid[16];

		snprintf(jid, sizeof jid, "j%d", i);
		job = qless_get(engine, str_from(jid));
		if (job != NULL)
			assert_job(&model[i], job);
		else
			forget_job(&model[i]);
	}
}

/* ---- calls ---- */

struct random_call {
	struct operation op;
	int number; /* of the job */
	int text;
	int node;
	char jid[16];
	char texts[2][16];
	char names[4][16];
	struct qless_str slices[8];
	struct qless_str optional;
};

static struct qless_str draw_text(struct drawer *d, int *ret_number, char text[16])
{
	*ret_number = (int)draw(d, 1000);
	snprintf(text, 16, "t%d", *ret_number);
	return str_from(text);
}

/* Draws a text, or none. */
static const struct qless_str *draw_optional(struct drawer *d, struct random_call *c)
{
	c->text = -1;
	if (draw(d, 2) == 0)
		return NULL;
	c->optional = draw_text(d, &c->text, c->texts[0]);
	return &c->optional;
}

static void draw_start(struct drawer *d, struct random_call *c)
{
	c->op.kind = OPERATION_JOB_START;
	c->op.start.jid = str_from(c->jid);
	c->op.start.worker = STR("w");
	c->op.start.pid = draw(d, 2) * draw(d, 100);
	c->node = -1;
	c->op.start.node = STR("");
	if (draw(d, 2) == 0)
		c->op.start.node = draw_text(d, &c->node, c->texts[1]);
}

static void draw_meta(struct drawer *d, struct random_call *c)
{
	size_t count = draw(d, 3);

	c->op.kind = OPERATION_JOB_META;
	c->op.meta.jid = str_from(c->jid);
	for (size_t i = 0; i < count; i++) {
		snprintf(c->names[i], 16, "f%u", draw(d, FIELDS));
		c->slices[2 * i] = str_from(c->names[i]);
		c->slices[2 * i + 1] = draw_text(d, &c->text, c->texts[i]);
	}
	c->op.meta.set = (struct operation_names){ c->slices, 2 * count };
	count = draw(d, 3);
	for (size_t i = 0; i < count; i++) {
		snprintf(c->names[2 + i], 16, "f%u", draw(d, FIELDS));
		c->slices[4 + i] = str_from(c->names[2 + i]);
	}
	c->op.meta.removed = (struct operation_names){ c->slices + 4, count };
}

static void draw_end(struct drawer *d, struct random_call *c)
{
	struct operation *op = &c->op;

	switch (draw(d, 6)) {
	case 0:
		op->kind = OPERATION_FAIL;
		op->fail = (struct qless_fail){ .jid = str_from(c->jid),
						.worker = STR("w"),
						.group = STR("g"),
						.message = STR("m"),
						.error = draw_optional(d, c) };
		break;
	case 1:
		op->kind = OPERATION_JOB_ABORT;
		op->abort = (struct qless_abort){ str_from(c->jid), STR("s"), STR("g"), STR("m") };
		break;
	case 2:
		op->kind = OPERATION_RETRY;
		op->retry = (struct qless_retry){ .jid = str_from(c->jid),
						  .queue = STR("q"),
						  .worker = STR("w") };
		break;
	default:
		op->complete = (struct qless_complete){ .jid = str_from(c->jid),
							.worker = STR("w"),
							.queue = STR("q"),
							.data = STR("{}"),
							.result = draw_optional(d, c) };
		op->kind =
			op->complete.result != NULL ? OPERATION_COMPLETE_WITH : OPERATION_COMPLETE;
	}
}

static void draw_call(struct drawer *d, double now, struct random_call *c)
{
	struct operation *op = &c->op;

	memset(c, 0, sizeof *c);
	op->now = now;
	c->number = (int)draw(d, JOBS);
	snprintf(c->jid, sizeof c->jid, "j%d", c->number);
	c->slices[7] = str_from(c->jid);
	switch (draw(d, 10)) {
	case 0:
	case 1:
		op->kind = OPERATION_PUT;
		op->put = (struct qless_put){ .worker = STR("p"),
					      .queue = STR("q"),
					      .jid = str_from(c->jid),
					      .klass = STR("k"),
					      .data = STR("{}"),
					      .has_retries = true,
					      .retries = 1 };
		break;
	case 2:
	case 3:
		op->kind = OPERATION_POP;
		op->pop.queue = STR("q");
		op->pop.worker = STR("w");
		op->pop.count = 1 + draw(d, 3);
		break;
	case 4:
		draw_start(d, c);
		break;
	case 5:
		op->kind = OPERATION_JOB_PROGRESS;
		op->progress = (struct qless_progress){ str_from(c->jid), STR("w"), draw(d, 101),
							draw_optional(d, c) };
		break;
	case 6:
		draw_meta(d, c);
		break;
	case 7:
		op->kind = draw(d, 2) == 0 ? OPERATION_JOB_DELETE : OPERATION_CANCEL;
		op->names = (struct operation_names){ &c->slices[7], 1 };
		break;
	default:
		draw_end(d, c);
	}
}

/* ---- the model follows a call that succeeded ---- */

static void note_pop(const struct operation_outcome *outcome)
{
	for (size_t i = 0; i < outcome->jobs.count; i++) {
		struct qless_job_info info;

		qless_job_read(outcome->jobs.items[i], &info);
		begin_run(&model[strtol(info.jid.ptr + 1, NULL, 10)]);
	}
}

static void note_meta(struct model_job *job, const struct operation *op)
{
	const struct qless_str *set = op->meta.set.items;

	for (size_t i = 0; i < op->meta.set.count; i += 2)
		job->fields[strtol(set[i].ptr + 1, NULL, 10)] =
			(int)strtol(set[i + 1].ptr + 1, NULL, 10);
	for (size_t i = 0; i < op->meta.removed.count; i++)
		job->fields[strtol(op->meta.removed.items[i].ptr + 1, NULL, 10)] = -1;
}

static void note(const struct random_call *c, const struct operation_outcome *outcome)
{
	struct model_job *job = &model[c->number];

	switch ((int)c->op.kind) {
	case OPERATION_POP:
		note_pop(outcome);
		break;
	case OPERATION_JOB_START:
		job->is_started = true;
		job->pid = (int)c->op.start.pid;
		job->node = c->node;
		break;
	case OPERATION_JOB_PROGRESS:
		job->percent = (int)c->op.progress.percent;
		job->note = c->text;
		break;
	case OPERATION_JOB_META:
		note_meta(job, &c->op);
		break;
	case OPERATION_COMPLETE:
	case OPERATION_COMPLETE_WITH:
		job->result = c->text;
		job->error = -1;
		break;
	case OPERATION_FAIL:
		job->error = c->text;
		break;
	case OPERATION_JOB_ABORT:
		job->error = -1;
		break;
	case OPERATION_RETRY:
		if (outcome->remaining < 0)
			job->error = -1;
		break;
	default:
		break;
	}
}

/* ---- the test ---- */

static void replay(struct qless *replica, struct qless_str records)
{
	struct operation_room room = { NULL };
	struct buf error = BUF_INIT(BUF_NO_MAX);

	while (records.len != 0) {
		struct operation_outcome outcome;
		struct operation op;

		OK(operation_decode(&records, &room, &op, &error));
		OK(operation_run(replica, &op, &outcome));
	}
	operation_room_done(&room);
	buf_done(&error);
}

static void dump_to(struct qless *engine, struct buf *out)
{
	buf_clear(out);
	qless_dump(engine, append_dump, out);
	buf_append_char(out, '\0');
}

/* The replica runs the records, and the engine is loaded from its own snapshot now and then. */
static void reports_follow_the_model_the_records_and_the_snapshots(void)
{
	struct drawer d = { 47 };
	struct buf dump = BUF_INIT(BUF_NO_MAX), other_dump = BUF_INIT(BUF_NO_MAX);
	struct buf records = BUF_INIT(BUF_NO_MAX);
	struct qless *replica = qless_new(NULL);
	double now = 1000;

	/* The model knows nothing of locks that expire. */
	set_option("heartbeat", "1000000");
	OK(qless_config_set(replica, 0, STR("heartbeat"), STR("1000000")));
	for (int i = 0; i < JOBS; i++)
		forget_job(&model[i]);
	for (int i = 0; i < STEPS; i++) {
		struct operation_outcome outcome;
		struct random_call call;

		now += 1;
		draw_call(&d, now, &call);
		if (operation_run(q, &call.op, &outcome) == 0)
			note(&call, &outcome);
		if (outcome.changed) {
			call.op.keeps_data = outcome.kept_data;
			operation_encode(&call.op, &records);
		}
		assert_model(q);
		forget_events();
		if (i % 100 != 0)
			continue;
		replay(replica, buf_str(&records));
		buf_clear(&records);
		reload();
		dump_to(q, &dump);
		dump_to(replica, &other_dump);
		TEST_ASSERT_EQUAL_STRING(buf_data(&dump), buf_data(&other_dump));
		TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
	}
	qless_free(replica);
	buf_done(&dump);
	buf_done(&other_dump);
	buf_done(&records);
}

static void a_snapshot_knows_which_jobs_must_start(void)
{
	struct qless_start start = { STR("a"), STR("w"), 0, STR("") };

	set_option("q-start-timeout", "10");
	put(0, "q", "a");
	put(0, "q", "b");
	pop(1, "q", "w", 2);
	reload();
	TEST_ASSERT_EQUAL_DOUBLE(11, qless_next_overtime(q, NULL));
	OK(qless_job_start(q, 2, &start));
	TEST_ASSERT_EQUAL_DOUBLE(11, qless_next_overtime(q, NULL));
	start.jid = STR("b");
	OK(qless_job_start(q, 3, &start));
	TEST_ASSERT_EQUAL_DOUBLE(INFINITY, qless_next_overtime(q, NULL));
	reload();
	TEST_ASSERT_EQUAL_size_t(0, qless_check(q, on_finding, NULL));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(reports_follow_the_model_the_records_and_the_snapshots);
	RUN(a_snapshot_knows_which_jobs_must_start);
	return UNIT_RESULT();
}
