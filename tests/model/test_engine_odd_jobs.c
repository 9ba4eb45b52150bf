/*
 * Whatever jobs an old log, an import or a client of the reference has left: no job makes a command
 * of others fail. Every listing and every pop succeeds and is valid JSON, the state stays
 * consistent, and the operations that are recorded lead to the same state.
 */
#include "native.h"

#include <float.h>
#include <math.h>

#include <yyjson.h>

#include "command/json.h"
#include "engine/import.h"
#include "operation/operation.h"

#define SEEDS	   60
#define ODD_STEPS  150
#define STEPS	   250
#define JIDS	   24
#define QUEUES	   4
#define WORKERS	   4
#define NAME_BYTES 80

static struct native_fixture f;
static struct databases *twin; /* gets only what is recorded */
static struct operation_room room;
static unsigned long long rng;

static unsigned pick(unsigned below)
{
	return (unsigned)(unit_random(&rng) % below);
}

/* ---- recording ---- */

static void record(void *arg, const struct operation *op)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(256);
	struct operation decoded;
	struct qless_str rest;

	(void)arg;
	operation_encode(op, &bytes);
	rest = buf_str(&bytes);
	TEST_ASSERT_EQUAL_INT(0, operation_decode(&rest, &room, &decoded, &error));
	if (databases_apply(twin, &decoded, &error) < 0)
		TEST_FAIL_MESSAGE(buf_cstr(&error));
	buf_done(&bytes);
	buf_done(&error);
}

/* As in the server, limits are strict for new commands, and there are none while a log is loaded.
 */
static const struct databases_limits strict = {
	.engine = { .is_strict = true, .max_job_bytes = 20000, .max_dependency_steps = 1000 },
	.max_json_depth = 1000,
};

void setUp(void)
{
	native_setup(&f);
	twin = databases_new(1, &(struct qless_hooks){ .hash_seed = 99 });
}

void tearDown(void)
{
	operation_room_done(&room);
	databases_free(twin);
	native_teardown(&f);
}

/* ---- odd values ---- */

static double odd_number(void)
{
	static const double numbers[] = {
		0,
		-0.0,
		1,
		-1,
		0.5,
		1.5,
		-2.5,
		1e-300,
		-1e300,
		1e300,
		DBL_MAX,
		-DBL_MAX,
		DBL_MIN,
		1e15,
		1e17,
		-1e17,
		9007199254740992,
		86400,
		-86400,
		1000,
		1e9,
		4e18,
		-4e18,
		3.14159,
		60,
		5,
		2,
	};

	return numbers[pick(sizeof numbers / sizeof *numbers)];
}

/* Times around now, and others. */
static double odd_time(void)
{
	return pick(3) == 0 ? odd_number() : 900 + pick(400) + 0.25 * pick(4);
}

/* A name of its kind, sometimes an odd one. Names that are equal get the same bytes. */
static struct qless_str odd_name(char *to, const char *kind, unsigned number)
{
	static const struct qless_str odd[] = {
		STR_INIT(""),
		STR_INIT("\xe9"),
		STR_INIT("a\0b"),
		STR_INIT("\xff\xfe"),
		STR_INIT("\"\\/\b\n\x7f"),
		STR_INIT("\xf0\x9f\x90\x9f"),
		STR_INIT("\xed\xa0\x80"),
		STR_INIT("-0"),
		STR_INIT("{}"),
		STR_INIT("%s%n"),
	};

	if (number < sizeof odd / sizeof *odd && number % 2 == 0)
		return odd[number];
	return str_make(to, (size_t)snprintf(to, NAME_BYTES, "%s%u", kind, number));
}

struct names {
	char text[8][NAME_BYTES];
	unsigned used;
};

static struct qless_str some(struct names *n, const char *kind, unsigned count)
{
	TEST_ASSERT_TRUE(n->used < 8);
	return odd_name(n->text[n->used++], kind, pick(count));
}

static struct qless_str odd_text(void)
{
	static const struct qless_str texts[] = {
		STR_INIT("{}"),
		STR_INIT(""),
		STR_INIT("not JSON"),
		STR_INIT("\xff"),
		STR_INIT("[[[[]]]]"),
		STR_INIT("\"\\ud800\""),
		STR_INIT("{\"a\":1}"),
		STR_INIT("1e400"),
		STR_INIT("{\"when\":\"x\",\"\xe9\":NaN}"),
		STR_INIT("null\0"),
	};

	return texts[pick(sizeof texts / sizeof *texts)];
}

/* ---- jobs that were there before ---- */

static void run(struct operation *op)
{
	struct operation_outcome outcome;
	int rc = operation_run(native_engine(&f), op, &outcome);

	if (rc == 0 && outcome.changed) {
		op->keeps_data = outcome.kept_data;
		record(NULL, op);
	}
}

static struct qless_put odd_put(struct names *n)
{
	return (struct qless_put){
		.worker = some(n, "w", WORKERS),
		.queue = some(n, "q", QUEUES),
		.jid = some(n, "j", JIDS),
		.klass = some(n, "k", 3),
		.data = odd_text(),
		.delay = pick(2) ? 0 : odd_number(),
		.has_priority = pick(2),
		.priority = odd_number(),
		.has_retries = pick(2),
		.retries = odd_number(),
	};
}

static void put_odd(double now)
{
	struct names n = { .used = 0 };
	struct operation op = { .kind = OPERATION_PUT, .now = now, .put = odd_put(&n) };
	struct qless_str tags[2] = { some(&n, "t", 5), some(&n, "t", 5) };
	struct qless_str depends[2] = { some(&n, "j", JIDS), op.put.jid };

	op.put.has_tags = pick(3) == 0;
	op.put.tags = tags;
	op.put.tag_count = 2;
	if (pick(4) == 0) {
		op.put.depends = depends;
		op.put.depend_count = 1 + pick(2);
	}
	run(&op);
}

static void recur_odd(double now)
{
	struct names n = { .used = 0 };
	struct operation op = {
		.kind = OPERATION_RECUR,
		.now = now,
		.recur = { .queue = some(&n, "q", QUEUES),
			   .jid = some(&n, "r", 8),
			   .klass = some(&n, "k", 3),
			   .data = odd_text(),
			   .interval = fabs(odd_number()),
			   .offset = odd_number(),
			   .priority = odd_number(),
			   .retries = odd_number(),
			   .backlog = odd_number() },
	};

	run(&op);
}

static void set_odd(double now)
{
	static const char *const names[] = {
		"heartbeat",	   "grace-period",	"jobs-history",	  "jobs-history-count",
		"max-job-history", "max-worker-age",	"q1-heartbeat",	  "q3-max-concurrency",
		"stats-history",   "histogram-history", "failed-history", "free text",
	};
	struct operation op = { .kind = OPERATION_CONFIG_SET, .now = now };
	char value[40];

	op.config.name = str_from(names[pick(sizeof names / sizeof *names)]);
	snprintf(value, sizeof value, "%.17g", odd_number());
	op.config.value = str_from(value);
	run(&op);
}

static struct qless_str copy_name(char *to, struct qless_str name)
{
	TEST_ASSERT_TRUE(name.len <= NAME_BYTES);
	if (name.len > 0)
		memcpy(to, name.ptr, name.len);
	return str_make(to, name.len);
}

static void work_odd(double now)
{
	struct names n = { .used = 0 };
	struct operation op = { .now = now };
	struct qless_str jid = some(&n, "j", JIDS), worker = some(&n, "w", WORKERS);
	struct qless_str queue = some(&n, "q", QUEUES), text = odd_text();
	const struct qless_job *job = qless_get(native_engine(&f), jid);
	struct qless_job_info info;

	/* The call may free the names of the job that it is about, so they are copied. */
	if (job != NULL && pick(4) != 0) {
		qless_job_read(job, &info);
		queue = copy_name(n.text[6], info.queue);
		worker = copy_name(n.text[7], info.worker);
	}
	switch (pick(10)) {
	case 0:
	case 1:
		op.kind = OPERATION_POP;
		op.pop.queue = queue;
		op.pop.worker = worker;
		op.pop.count = pick(4);
		break;
	case 2:
		op.kind = OPERATION_FAIL;
		op.fail.jid = jid;
		op.fail.worker = worker;
		op.fail.group = some(&n, "g", 6);
		op.fail.message = text;
		break;
	case 3:
		op.kind = OPERATION_LOG;
		op.log.jid = jid;
		op.log.message = some(&n, "m", 10);
		op.log.item = pick(2) ? &text : NULL;
		break;
	case 4:
		op.kind = OPERATION_COMPLETE;
		op.complete = (struct qless_complete){
			.jid = jid, .worker = worker, .queue = queue, .data = text
		};
		break;
	case 5:
		op.kind = OPERATION_TIMEOUT;
		op.names.items = &jid;
		op.names.count = 1;
		break;
	case 6:
		op.kind = OPERATION_TRACK;
		op.job.jid = jid;
		break;
	case 7:
		op.kind = OPERATION_WORKER_RENEW;
		op.renewal = (struct qless_renewal){ worker, odd_time(), odd_time(), pick(6) };
		break;
	case 8:
		op.kind = OPERATION_WORKER_RELEASE;
		op.release = (struct qless_release){ worker, pick(2), pick(6) };
		break;
	default:
		op.kind = OPERATION_PRIORITY;
		op.priority.jid = jid;
		op.priority.priority = odd_number();
	}
	run(&op);
}

static void leave_odd_jobs(void)
{
	databases_set_limits(f.call.env.databases, NULL);
	for (int i = 0; i < ODD_STEPS; i++) {
		double now = odd_time();

		switch (pick(8)) {
		case 0:
			recur_odd(now);
			break;
		case 1:
			set_odd(now);
			break;
		case 2:
		case 3:
		case 4:
			put_odd(now);
			break;
		default:
			work_odd(now);
		}
	}
	databases_set_limits(f.call.env.databases, &strict);
}

/* ---- jobs that were moved in ---- */

static void import_events(struct import *import, struct qless_job *job)
{
	for (unsigned i = 1 + pick(4); i > 0; i--) {
		struct names n = { .used = 0 };
		struct qless_event event = {
			.kind = (enum qless_event_kind)pick(QLESS_EVENT_LOG + 1),
			.when = odd_time(),
			.queue = some(&n, "q", QUEUES),
			.worker = some(&n, "w", WORKERS),
			.group = some(&n, "g", 6),
			.what = some(&n, "m", 10),
			.item = pick(2) ? odd_text() : str_make(NULL, 0),
		};

		import_event(import, job, &event);
	}
}

static void import_one(struct import *import)
{
	struct names n = { .used = 0 };
	struct qless_str tags[1] = { some(&n, "t", 5) };
	struct import_job from = {
		.info = { .jid = some(&n, "j", JIDS),
			  .klass = some(&n, "k", 3),
			  .queue = some(&n, "q", QUEUES),
			  .worker = some(&n, "w", WORKERS),
			  .data = odd_text(),
			  .state = (enum qless_state)pick(QLESS_COMPLETE + 1),
			  .priority = odd_number(),
			  .retries = odd_number(),
			  .remaining = odd_number(),
			  .expires = odd_time(),
			  .time = odd_time() },
		.is_warned = pick(2),
		.due = NAN,
		.score = odd_time(),
		.tags = tags,
		.tag_count = pick(2),
	};
	struct qless_job *job;

	if (pick(5) == 0 && from.info.state == QLESS_STALLED)
		from.score = INFINITY;
	if (from.info.state == QLESS_FAILED || pick(4) == 0) {
		from.info.has_failure = true;
		from.info.failure = (struct qless_failure){ .group = some(&n, "g", 6),
							    .message = odd_text(),
							    .worker = some(&n, "w", WORKERS),
							    .when = odd_time() };
	}
	job = import_job(import, &from);
	if (job != NULL)
		import_events(import, job);
}

static void import_odd_jobs(void)
{
	struct import import;

	import_begin(&import, native_engine(&f));
	import_keep_histories(&import);
	for (int i = 0; i < JIDS; i++)
		import_one(&import);
	for (int i = 0; i < JIDS; i++) {
		struct names n = { .used = 0 };
		struct qless_str jid = some(&n, "j", JIDS), on = some(&n, "j", JIDS);

		import_dependency(&import, jid, on);
	}
	for (unsigned i = 0; i < QUEUES; i++) {
		char text[NAME_BYTES];

		import_queue(&import, odd_name(text, "q", i), odd_time());
	}
	import_end(&import, odd_time());
}

/* ---- what others do ---- */

static const char *reply_to(const struct qless_str *argv, int argc)
{
	return call_run_argv(&f.call, argv, argc);
}

/* The command succeeds. If its reply is a string, it is JSON. */
static void succeed(const struct qless_str *argv, int argc, bool is_json)
{
	const char *reply = reply_to(argv, argc);
	size_t head, len;
	yyjson_doc *doc;
	char message[400];

	snprintf(message, sizeof message, "%.*s: %.300s", (int)argv[0].len, argv[0].ptr, reply);
	TEST_ASSERT_TRUE_MESSAGE(reply[0] != '-', message);
	if (!is_json || reply[0] != '$' || reply[1] == '-')
		return;
	head = (size_t)(strchr(reply, '\n') + 1 - reply);
	len = f.call.reply.len - head - 2;
	doc = yyjson_read(reply + head, len, 0);
	TEST_ASSERT_NOT_NULL_MESSAGE(doc, message);
	yyjson_doc_free(doc);
}

static void succeed_native(bool is_json, const struct qless_str *argv)
{
	int argc = 0;

	while (argv[argc].ptr != NULL)
		argc++;
	succeed(argv, argc, is_json);
}

#define END             \
	{               \
		NULL, 0 \
	}
#define SUCCEED(is_json, ...) \
	succeed_native(is_json, (const struct qless_str[]){ __VA_ARGS__, END })

static void read_something(struct names *n)
{
	static const struct qless_str states[] = { STR_INIT("running"), STR_INIT("stalled"),
						   STR_INIT("scheduled"), STR_INIT("depends"),
						   STR_INIT("recurring") };
	struct qless_str queue = some(n, "q", QUEUES), jid = some(n, "j", JIDS);

	switch (pick(14)) {
	case 0:
		SUCCEED(true, STR("queues"));
		break;
	case 1:
		SUCCEED(true, STR("queues"), queue);
		break;
	case 2:
		SUCCEED(false, STR("jobs"), states[pick(5)], queue);
		break;
	case 3:
		SUCCEED(false, STR("jobs"), STR("complete"));
		break;
	case 4:
		SUCCEED(true, STR("failed"));
		break;
	case 5:
		SUCCEED(true, STR("failed"), some(n, "g", 6));
		break;
	case 6:
		SUCCEED(true, STR("workers"));
		break;
	case 7:
		SUCCEED(true, STR("workers"), some(n, "w", WORKERS));
		break;
	case 8:
		SUCCEED(true, STR("get"), jid);
		break;
	case 9:
		SUCCEED(true, STR("stats"), queue, STR("1000"));
		break;
	case 10:
		SUCCEED(true, STR("tag"), STR("get"), some(n, "t", 5));
		break;
	case 11:
		SUCCEED(true, STR("track"));
		break;
	case 12:
		SUCCEED(true, STR("recur.get"), some(n, "r", 8));
		break;
	default:
		SUCCEED(true, STR("config.get"));
	}
}

static void do_something(void)
{
	struct names n = { .used = 0 };
	struct qless_str queue = some(&n, "q", QUEUES);
	char now[40];

	f.now += pick(5) == 0 ? pick(100000) : pick(40);
	snprintf(now, sizeof now, "%.17g", f.now);
	switch (pick(8)) {
	case 0:
	case 1:
		SUCCEED(true, STR("pop"), queue, STR("somebody"), STR("3"));
		break;
	case 2:
		SUCCEED(true, STR("qless"), STR("pop"), str_from(now), queue, STR("somebody"),
			STR("2"));
		break;
	case 3:
		SUCCEED(true, STR("peek"), queue, STR("5"));
		break;
	case 4:
		SUCCEED(false, STR("put"), STR("me"), STR("q1"), STR("fine"), STR("k"), STR("{}"),
			STR("0"));
		break;
	default:
		read_something(&n);
	}
}

static void assert_same_state(void)
{
	struct buf dump = BUF_INIT(BUF_NO_MAX);

	qless_dump(databases_get(twin, 0)->engine, native_append_dump, &dump);
	TEST_ASSERT_EQUAL_STRING(native_dump(&f), buf_cstr(&dump));
	buf_done(&dump);
}

static void serve_others(void)
{
	for (int i = 0; i < STEPS; i++) {
		do_something();
		if (i % 10 == 0)
			qless_check(native_engine(&f), native_fail_finding, NULL);
	}
}

/* The number of jobs that failed because their retries are invalid. */
static uint64_t count_invalid(void)
{
	struct qless_list groups;
	const uint64_t *counts;
	uint64_t invalid = 0;

	qless_failures(native_engine(&f), &groups, &counts);
	for (size_t i = 0; i < groups.count; i++) {
		if (str_starts_with(groups.items[i], STR("invalid-retries-")))
			invalid += counts[i];
	}
	return invalid;
}

static void odd_jobs_of_a_log_make_no_command_of_others_fail(void)
{
	struct operation_recorder recorder = { .record = record };
	uint64_t invalid = 0;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		rng = seed;
		leave_odd_jobs();
		assert_same_state();
		databases_set_recorder(f.call.env.databases, &recorder);
		serve_others();
		assert_same_state();
		invalid += count_invalid();
		tearDown();
		setUp();
	}
	TEST_ASSERT_GREATER_THAN_UINT64(SEEDS, invalid);
}

static void odd_jobs_of_an_import_make_no_command_of_others_fail(void)
{
	uint64_t invalid = 0;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		rng = 1000 + seed;
		import_odd_jobs();
		qless_check(native_engine(&f), native_fail_finding, NULL);
		databases_set_limits(f.call.env.databases, &strict);
		serve_others();
		invalid += count_invalid();
		tearDown();
		setUp();
	}
	TEST_ASSERT_GREATER_THAN_UINT64(SEEDS, invalid);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(odd_jobs_of_a_log_make_no_command_of_others_fail);
	RUN(odd_jobs_of_an_import_make_no_command_of_others_fail);
	return UNIT_RESULT();
}
