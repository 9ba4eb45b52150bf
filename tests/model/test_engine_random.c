/*
 * Random calls of the whole API, with few names so that they meet. Whatever the calls are, the
 * state stays consistent, and a failed call has no effects. Engines with other hash seeds, and
 * engines that get only the calls that changed something, end in the same state.
 */
#include "unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "script_client.h"
#include "resp/writer.h"
#include "qless.h"
#include "util/buf.h"
#include "util/chain.h"

#define ARGS_MAX   24
#define ARG_BYTES  160
#define STEPS	   4000
#define SEEDS	   12
#define DUMP_EVERY 50

struct subject {
	struct qless *engine;
	struct databases *databases;
	struct script_client client;
	struct chunk_pool pool;
	struct chain out;
	struct reply writer;
	size_t events;
};

/* A random call. */
struct call {
	struct qless_str args[ARGS_MAX];
	char text[ARGS_MAX][ARG_BYTES];
	size_t count;
};

static unsigned long long rng;
static double now;

static unsigned pick(unsigned below)
{
	return (unsigned)(unit_random(&rng) % below);
}

/* ---- engines ---- */

static void on_event(void *arg, struct qless_str channel, struct qless_str payload)
{
	struct subject *s = arg;

	TEST_ASSERT_TRUE(str_starts_with(channel, STR("ql:")));
	TEST_ASSERT_TRUE(payload.ptr != NULL);
	s->events++;
}

static void subject_init(struct subject *s, uint64_t seed)
{
	struct qless_hooks hooks = { .publish = on_event, .arg = s, .hash_seed = seed };

	memset(s, 0, sizeof(*s));
	s->databases = databases_new(1, &hooks);
	s->engine = databases_get(s->databases, 0)->engine;
	script_client_init(&s->client, s->databases);
	chunk_pool_init(&s->pool, 2);
	chain_init(&s->out, &s->pool);
	resp_writer_init(&s->writer, &s->out, 2);
}

static void subject_done(struct subject *s)
{
	script_client_done(&s->client);
	databases_free(s->databases);
	chain_done(&s->out);
	chunk_pool_done(&s->pool);
}

/* Returns whether the call succeeds. */
static bool subject_run(struct subject *s, const struct call *call)
{
	struct iovec first;
	bool is_error;

	script_client_run(&s->client, REQUEST_QLESS, call->args, call->count, &s->writer);
	TEST_ASSERT_EQUAL_INT(1, chain_peek(&s->out, &first, 1, 1));
	is_error = *(const char *)first.iov_base == '-';
	chain_consume(&s->out, s->out.len);
	return !is_error;
}

static void append_piece(void *arg, struct qless_str piece)
{
	buf_append_str(arg, piece);
}

static void dump(const struct subject *s, struct buf *ret)
{
	buf_clear(ret);
	qless_dump(s->engine, append_piece, ret);
}

/* ---- making up calls ---- */

static void add(struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct call *c, const char *format, ...)
{
	va_list args;
	int len;

	TEST_ASSERT_TRUE(c->count < ARGS_MAX);
	va_start(args, format);
	len = vsnprintf(c->text[c->count], ARG_BYTES, format, args);
	va_end(args);
	c->args[c->count] = str_make(c->text[c->count], (size_t)len);
	c->count++;
}

static void add_jid(struct call *c)
{
	if (pick(10) == 0)
		add(c, "r%u-%u", pick(2), pick(12));
	else
		add(c, "j%u", pick(12));
}

static void add_queue(struct call *c)
{
	static const char *const queues[] = { "q", "p", "q", "", "x-history" };

	add(c, "%s", queues[pick(sizeof(queues) / sizeof(queues[0]))]);
}

static void add_worker(struct call *c)
{
	static const char *const workers[] = { "w1", "w2", "w1", "" };

	add(c, "%s", workers[pick(sizeof(workers) / sizeof(workers[0]))]);
}

/* Add a small number or, rarely, something else. */
static void add_number(struct call *c, int min, int max)
{
	static const char *const odd[] = { "x", "", "nan", "inf", "1.5", "-0", "0x10" };

	if (pick(15) == 0)
		add(c, "%s", odd[pick(sizeof(odd) / sizeof(odd[0]))]);
	else
		add(c, "%d", min + (int)pick((unsigned)(max - min + 1)));
}

static void add_json(struct call *c)
{
	static const char *const texts[] = { "{}",
					     "[]",
					     "{\"a\":[1,2,{}]}",
					     "\"text\"",
					     "null",
					     "{",
					     "{\"what\":1,\"b\":\"\\u0000\"}" };

	add(c, "%s", texts[pick(sizeof(texts) / sizeof(texts[0]))]);
}

static void add_tags(struct call *c)
{
	static const char *const texts[] = { "[]", "[\"a\"]", "[\"a\",\"b\",\"a\"]", "[1,\"b\"]",
					     "{}", "false",   "[\"c\",\"d\"]",	     "[null]" };

	add(c, "%s", texts[pick(sizeof(texts) / sizeof(texts[0]))]);
}

static void add_jids(struct call *c)
{
	switch (pick(4)) {
	case 0:
		add(c, "[]");
		break;
	case 1:
		add(c, "[\"j%u\"]", pick(12));
		break;
	case 2:
		add(c, "[\"j%u\",\"j%u\",\"nope\"]", pick(12), pick(12));
		break;
	default:
		add(c, "[\"j%u\",\"j%u\",\"j%u\"]", pick(12), pick(12), pick(12));
		break;
	}
}

static void add_several(struct call *c, void (*add_one)(struct call *))
{
	unsigned count = pick(4);

	while (count-- > 0)
		add_one(c);
}

static void add_tag(struct call *c)
{
	add(c, "%c", "abcd"[pick(4)]);
}

static void add_put_options(struct call *c)
{
	if (pick(3) == 0) {
		add(c, "priority");
		add_number(c, -3, 10);
	}
	if (pick(3) == 0) {
		add(c, "retries");
		add_number(c, -1, 3);
	}
	if (pick(3) == 0) {
		add(c, "tags");
		add_tags(c);
	}
	if (pick(4) == 0) {
		add(c, "depends");
		add_jids(c);
	}
}

static void make_put(struct call *c)
{
	add_worker(c);
	add_queue(c);
	add_jid(c);
	add(c, "k%u", pick(3));
	add_json(c);
	switch (pick(20)) {
	case 0:
		add(c, "%s", pick(2) == 0 ? "1.7e308" : "-1e300");
		break;
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
		add_number(c, -1, 100);
		break;
	default:
		add(c, "0");
		break;
	}
	add_put_options(c);
}

static void make_complete(struct call *c)
{
	add_jid(c);
	add_worker(c);
	add_queue(c);
	add_json(c);
	if (pick(2) == 0) {
		add(c, "next");
		add_queue(c);
		if (pick(2) == 0) {
			add(c, "delay");
			add_number(c, 0, 50);
		}
		if (pick(2) == 0) {
			add(c, "depends");
			add_jids(c);
		}
	}
}

static void make_depends(struct call *c)
{
	static const char *const commands[] = { "on", "off", "off", "nope" };

	add_jid(c);
	add(c, "%s", commands[pick(4)]);
	if (pick(6) == 0)
		add(c, "all");
	add_several(c, add_jid);
}

static void make_recur(struct call *c)
{
	add_queue(c);
	add(c, "r%u", pick(2));
	add(c, "k");
	add_json(c);
	add(c, "interval");
	add_number(c, 0, 100);
	add_number(c, -50, 50);
	if (pick(2) == 0) {
		add(c, "backlog");
		add_number(c, 0, 3);
	}
	if (pick(2) == 0) {
		add(c, "tags");
		add_tags(c);
	}
}

static void make_recur_update(struct call *c)
{
	static const char *const names[] = { "priority", "interval", "retries", "backlog",
					     "queue",	 "klass",    "data",	"nope" };
	unsigned i;

	add(c, "r%u", pick(2));
	for (i = pick(3); i > 0; i--) {
		unsigned name = pick(8);

		add(c, "%s", names[name]);
		if (name < 4)
			add_number(c, -1, 50);
		else if (name == 4)
			add_queue(c);
		else
			add_json(c);
	}
}

static void make_config(struct call *c)
{
	static const char *const names[] = { "heartbeat",	   "grace-period",
					     "max-job-history",	   "jobs-history",
					     "jobs-history-count", "q-max-concurrency",
					     "p-heartbeat",	   "max-worker-age",
					     "stats-history",	   "histogram-history" };

	add(c, "%s", names[pick(sizeof(names) / sizeof(names[0]))]);
	add_number(c, -2, 100);
}

static void make_tag(struct call *c)
{
	static const char *const commands[] = { "add", "remove", "get", "top", "add" };
	unsigned command = pick(5);

	add(c, "%s", commands[command]);
	if (command == 2 || command == 3) {
		if (command == 2)
			add_tag(c);
		add_number(c, -2, 3);
		add_number(c, -2, 3);
		return;
	}
	add_jid(c);
	add_several(c, add_tag);
}

static void make_jobs(struct call *c)
{
	static const char *const states[] = { "complete",  "running", "stalled",
					      "scheduled", "depends", "recurring" };
	unsigned state = pick(6);

	add(c, "%s", states[state]);
	if (state > 0)
		add_queue(c);
	add_number(c, -3, 3);
	add_number(c, -3, 10);
}

/* Add the arguments after the name and `now`. Popular calls are listed more than once. */
static void make_args(struct call *c, const char *name)
{
	if (strcmp(name, "put") == 0 || strcmp(name, "requeue") == 0) {
		make_put(c);
	} else if (strcmp(name, "pop") == 0) {
		add_queue(c);
		add_worker(c);
		add_number(c, 0, 4);
	} else if (strcmp(name, "peek") == 0) {
		add_queue(c);
		add_number(c, -1, 4);
	} else if (strcmp(name, "complete") == 0) {
		make_complete(c);
	} else if (strcmp(name, "heartbeat") == 0) {
		add_jid(c);
		add_worker(c);
		if (pick(2) == 0)
			add_json(c);
	} else if (strcmp(name, "fail") == 0) {
		add_jid(c);
		add_worker(c);
		add(c, "g%u", pick(2));
		add(c, "message");
		if (pick(2) == 0)
			add_json(c);
	} else if (strcmp(name, "retry") == 0) {
		add_jid(c);
		add_queue(c);
		add_worker(c);
		add_number(c, -1, 20);
		if (pick(2) == 0) {
			add(c, "g%u", pick(2));
			add(c, "again");
		}
	} else if (strcmp(name, "unfail") == 0) {
		add_queue(c);
		add(c, pick(3) == 0 ? "failed-retries-q" : "g%u", pick(2));
		add_number(c, -1, 3);
	} else if (strcmp(name, "depends") == 0) {
		make_depends(c);
	} else if (strcmp(name, "priority") == 0) {
		add_jid(c);
		add_number(c, -5, 20);
	} else if (strcmp(name, "log") == 0) {
		add_jid(c);
		add(c, "said/%u", pick(3));
		if (pick(2) == 0)
			add_json(c);
	} else if (strcmp(name, "tag") == 0) {
		make_tag(c);
	} else if (strcmp(name, "track") == 0) {
		add(c, "%s", pick(3) == 0 ? "untrack" : "track");
		add_jid(c);
	} else if (strcmp(name, "recur") == 0) {
		make_recur(c);
	} else if (strcmp(name, "recur.update") == 0) {
		make_recur_update(c);
	} else if (strncmp(name, "recur.", 6) == 0 || strcmp(name, "unrecur") == 0) {
		add(c, "r%u", pick(2));
		add_several(c, add_tag);
	} else if (strcmp(name, "config.set") == 0 || strcmp(name, "config.unset") == 0) {
		make_config(c);
	} else if (strcmp(name, "jobs") == 0) {
		make_jobs(c);
	} else if (strcmp(name, "stats") == 0) {
		add_queue(c);
		add_number(c, 0, 1000000);
	} else if (strcmp(name, "workers") == 0) {
		if (pick(2) == 0)
			add_worker(c);
	} else if (strcmp(name, "worker.deregister") == 0) {
		add_several(c, add_worker);
	} else if (strcmp(name, "cancel") == 0 || strcmp(name, "timeout") == 0 ||
		   strcmp(name, "multiget") == 0) {
		add_several(c, add_jid);
	} else if (strcmp(name, "get") == 0) {
		add_jid(c);
	} else {
		add_several(c, add_queue);
	}
}

static void make_call(struct call *c)
{
	static const char *const often[] = { "put",	  "put",      "pop",   "pop",
					     "pop",	  "complete", "fail",  "retry",
					     "heartbeat", "unfail",   "cancel" };
	const struct command_rows *commands = &queue_command_rows;
	const char *name;

	name = pick(2) == 0 ? often[pick(sizeof(often) / sizeof(often[0]))]
			    : commands->rows[pick((unsigned)commands->count)].name;
	c->count = 0;
	add(c, "%s", name);
	switch (pick(30)) {
	case 0:
		now += pick(200000);
		break;
	case 1:
		now -= pick(100);
		break;
	default:
		now += pick(40) / 4.0;
		break;
	}
	add(c, "%.17g", now);
	make_args(c, name);
	/* Rarely, leave out the last argument. */
	if (pick(40) == 0 && c->count > 2)
		c->count--;
}

/* ---- the cases ---- */

static void report_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	printf("%.*s\n", (int)finding.len, finding.ptr);
}

static void show_call(const struct call *c)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		printf("%s'%s'", i > 0 ? " " : "", c->text[i]);
	printf("\n");
}

void setUp(void)
{
	now = 1000000;
}

void tearDown(void)
{
}

static void every_call_leaves_a_consistent_state(void)
{
	struct subject s;
	struct call call;
	unsigned seed;
	int i;

	for (seed = 1; seed <= SEEDS; seed++) {
		rng = seed;
		subject_init(&s, seed);
		for (i = 0; i < STEPS; i++) {
			make_call(&call);
			subject_run(&s, &call);
			if (qless_check(s.engine, report_finding, NULL) == 0)
				continue;
			show_call(&call);
			TEST_FAIL_MESSAGE("the state is inconsistent");
		}
		subject_done(&s);
	}
}

/* All the queues that calls name. */
static const struct qless_str queue_names[] = { STR_INIT("q"), STR_INIT("p"), STR_INIT(""),
						STR_INIT("x-history") };

#define QUEUES (sizeof queue_names / sizeof queue_names[0])

static void count_waiting(const struct subject *s, uint64_t waiting[QUEUES])
{
	struct qless_queue_counts counts;

	for (size_t i = 0; i < QUEUES; i++) {
		TEST_ASSERT_EQUAL_INT(0,
				      qless_queue_counts(s->engine, now, queue_names[i], &counts));
		waiting[i] = counts.paused ? UINT64_MAX : counts.waiting;
	}
}

static void take_woken(const struct subject *s, bool woken[QUEUES])
{
	struct qless_str name;

	memset(woken, 0, QUEUES * sizeof *woken);
	while (qless_take_woken(s->engine, &name)) {
		for (size_t i = 0; i < QUEUES; i++)
			woken[i] |= str_equal(name, queue_names[i]);
	}
}

static void a_queue_that_has_more_jobs_waiting_has_woken(void)
{
	uint64_t before[QUEUES], after[QUEUES];
	bool woken[QUEUES];
	struct subject s;
	struct call call;

	for (unsigned seed = 400; seed < 400 + SEEDS / 3; seed++) {
		rng = seed;
		subject_init(&s, seed);
		for (int step = 0; step < STEPS; step++) {
			count_waiting(&s, before);
			make_call(&call);
			subject_run(&s, &call);
			count_waiting(&s, after);
			take_woken(&s, woken);
			for (size_t i = 0; i < QUEUES; i++) {
				if (after[i] == UINT64_MAX || after[i] <= before[i] || woken[i])
					continue;
				show_call(&call);
				TEST_FAIL_MESSAGE("a queue that has more jobs did not wake");
			}
		}
		subject_done(&s);
	}
}

static bool is_poppable(const struct subject *s, double at, size_t queue)
{
	/* A lock that expires at this very instant still counts as running. */
	return qless_is_poppable(s->engine, nextafter(at, INFINITY), queue_names[queue]);
}

/* Clients that wait for a job depend on this: a pop that finds nothing need not be repeated before
 * its queue wakes. */
static void a_queue_with_something_to_pop_woke(void)
{
	bool awake[QUEUES], woken[QUEUES];
	struct qless_str name;
	struct subject s;
	struct call call;
	double latest;

	for (unsigned seed = 700; seed < 700 + SEEDS; seed++) {
		rng = seed;
		latest = 0;
		memset(awake, 0, sizeof awake);
		subject_init(&s, seed);
		for (int step = 0; step < STEPS; step++) {
			make_call(&call);
			subject_run(&s, &call);
			/* The clock of those that wait does not go back, as that of clients may. */
			latest = fmax(latest, now);
			while (qless_take_due(s.engine, latest, &name))
				continue;
			take_woken(&s, woken);
			for (size_t i = 0; i < QUEUES; i++) {
				bool has_something = is_poppable(&s, latest, i);

				awake[i] = (awake[i] || woken[i]) && has_something;
				if (awake[i] || !has_something)
					continue;
				show_call(&call);
				TEST_FAIL_MESSAGE(
					"a pop would find something, but the queue sleeps");
			}
		}
		subject_done(&s);
	}
}

static double next_due_of_all(const struct subject *s)
{
	double due = INFINITY;

	for (size_t i = 0; i < QUEUES; i++)
		due = fmin(due, qless_queue_next_due(s->engine, queue_names[i]));
	return due;
}

static void the_next_due_time_is_the_earliest_of_all_queues(void)
{
	struct subject s;
	struct call call;

	for (unsigned seed = 500; seed < 500 + SEEDS / 3; seed++) {
		rng = seed;
		subject_init(&s, seed);
		for (int step = 0; step < STEPS; step++) {
			make_call(&call);
			subject_run(&s, &call);
			if (qless_next_due(s.engine) == next_due_of_all(&s))
				continue;
			show_call(&call);
			TEST_FAIL_MESSAGE("another time is the next one");
		}
		subject_done(&s);
	}
}

static void reporting_due_queues_leaves_a_consistent_state(void)
{
	struct qless_str name;
	struct subject s;
	struct call call;

	for (unsigned seed = 600; seed < 600 + SEEDS / 3; seed++) {
		rng = seed;
		subject_init(&s, seed);
		for (int step = 0; step < STEPS; step++) {
			make_call(&call);
			subject_run(&s, &call);
			if (pick(3) > 0)
				continue;
			while (qless_take_due(s.engine, now, &name))
				TEST_ASSERT_TRUE(qless_queue_next_due(s.engine, name) <= now);
			TEST_ASSERT_TRUE(qless_next_due(s.engine) > now);
			if (qless_check(s.engine, report_finding, NULL) == 0)
				continue;
			show_call(&call);
			TEST_FAIL_MESSAGE("the state is inconsistent");
		}
		subject_done(&s);
	}
}

static void a_call_that_fails_or_counts_no_change_has_no_effect(void)
{
	struct buf before = BUF_INIT(BUF_NO_MAX);
	struct buf after = BUF_INIT(BUF_NO_MAX);
	struct subject s;
	struct call call;
	unsigned seed;
	int i;

	for (seed = 100; seed < 100 + SEEDS / 3; seed++) {
		rng = seed;
		subject_init(&s, seed);
		dump(&s, &before);
		for (i = 0; i < STEPS; i++) {
			uint64_t changes = qless_changes(s.engine);
			bool ok;

			make_call(&call);
			s.events = 0;
			ok = subject_run(&s, &call);
			dump(&s, &after);
			if (!ok && (changes != qless_changes(s.engine) || s.events > 0)) {
				show_call(&call);
				TEST_FAIL_MESSAGE("the call failed and had effects");
			}
			if (changes == qless_changes(s.engine) &&
			    !str_equal(buf_str(&before), buf_str(&after))) {
				show_call(&call);
				TEST_FAIL_MESSAGE("the call counted no change but made one");
			}
			buf_clear(&before);
			buf_append_str(&before, buf_str(&after));
		}
		subject_done(&s);
	}
	buf_done(&before);
	buf_done(&after);
}

static void the_calls_that_changed_something_rebuild_the_state(void)
{
	struct buf left = BUF_INIT(BUF_NO_MAX);
	struct buf right = BUF_INIT(BUF_NO_MAX);
	struct subject original;
	struct subject replay;
	struct call call;
	unsigned seed;
	int i;

	for (seed = 200; seed < 200 + SEEDS; seed++) {
		rng = seed;
		subject_init(&original, seed);
		subject_init(&replay, ~(uint64_t)seed);
		for (i = 0; i < STEPS; i++) {
			uint64_t changes = qless_changes(original.engine);

			make_call(&call);
			subject_run(&original, &call);
			if (changes != qless_changes(original.engine))
				subject_run(&replay, &call);
			if (pick(500) == 0) {
				qless_maintain(original.engine);
				qless_maintain(replay.engine);
			}
			if (i % DUMP_EVERY != 0)
				continue;
			dump(&original, &left);
			dump(&replay, &right);
			if (str_equal(buf_str(&left), buf_str(&right)))
				continue;
			show_call(&call);
			TEST_FAIL_MESSAGE("the replayed engine is in another state");
		}
		subject_done(&original);
		subject_done(&replay);
	}
	buf_done(&left);
	buf_done(&right);
}

/* Times, priorities and delays near the largest double. */
static void extreme_numbers_do_no_harm(void)
{
	static const double times[] = { 1.7976931348623157e308,
					-1.7976931348623157e308,
					1e300,
					-1e300,
					1e17,
					0,
					-0.0,
					5e-324,
					1700000000.123 };
	struct subject s;
	struct call call;
	unsigned seed;
	int i;

	for (seed = 300; seed < 300 + SEEDS; seed++) {
		rng = seed;
		subject_init(&s, seed);
		for (i = 0; i < STEPS; i++) {
			make_call(&call);
			now = times[pick(sizeof(times) / sizeof(times[0]))];
			if (pick(4) != 0)
				call.args[1] = str_make(
					call.text[1],
					(size_t)snprintf(call.text[1], ARG_BYTES, "%.17g", now));
			subject_run(&s, &call);
			if (qless_check(s.engine, report_finding, NULL) == 0)
				continue;
			show_call(&call);
			TEST_FAIL_MESSAGE("the state is inconsistent");
		}
		subject_done(&s);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_call_leaves_a_consistent_state);
	RUN(a_queue_that_has_more_jobs_waiting_has_woken);
	RUN(a_queue_with_something_to_pop_woke);
	RUN(the_next_due_time_is_the_earliest_of_all_queues);
	RUN(reporting_due_queues_leaves_a_consistent_state);
	RUN(a_call_that_fails_or_counts_no_change_has_no_effect);
	RUN(extreme_numbers_do_no_harm);
	RUN(the_calls_that_changed_something_rebuild_the_state);
	return UNIT_RESULT();
}
