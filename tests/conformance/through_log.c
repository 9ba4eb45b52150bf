/*
 * Replays recorded scenarios on two engines: one in memory, and one with a log on a disk in memory
 * that is restarted and rewritten at random. Both must have the same state, byte for byte, and the
 * same replies.
 *
 *	through_log <file.jsonl>... [<part of the name of a case>]
 */
#include <stdio.h>

#include "journal_fixture.h"
#include "script_client.h"

#include "transcript.h"

/* How many of a hundred steps are followed by ... */
struct habits {
	unsigned flushes; /* the end of a turn */
	unsigned rewrites;
	unsigned restarts; /* a clean stop, or a crash after which all synced bytes exist */
};

struct double_run {
	struct scenario scenario;
	struct engines live;
	struct fixture logged;
	struct script_client client; /* of both, in turns */
	const struct habits *habits;
	unsigned long long rng;
	struct buf replies[2]; /* of the last step: from memory, with a log */
	size_t restarts, rewrites;
};

static char **files;
static int file_count;

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- the log ---- */

static void start(struct double_run *r)
{
	int rc = fixture_start(&r->logged);

	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&r->logged.error));
}

static void end_turn(struct double_run *r)
{
	fixture_flush(&r->logged);
	fixture_flush(&r->logged);
}

static void finish(struct double_run *r)
{
	journal_close(r->logged.journal, &r->logged.error);
	r->logged.journal = NULL;
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&r->logged.error));
	fixture_forget(&r->logged);
}

static void restart(struct double_run *r)
{
	if (unit_random(&r->rng) % 2 == 0) {
		finish(r);
	} else {
		end_turn(r);
		fixture_kill(&r->logged, DISK_KEEP_SYNCED, &r->rng);
	}
	start(r);
	r->restarts++;
}

static bool happens(struct double_run *r, unsigned percent)
{
	return unit_random(&r->rng) % 100 < percent;
}

static void go_on(struct double_run *r)
{
	if (happens(r, r->habits->flushes))
		fixture_flush(&r->logged);
	if (happens(r, r->habits->rewrites) && journal_rewrite(r->logged.journal))
		r->rewrites++;
	if (happens(r, r->habits->restarts))
		restart(r);
}

/* ---- a scenario ---- */

static void run_step(struct double_run *r, struct engines *e, struct buf *reply)
{
	struct iovec iov[64];
	size_t argc;
	struct qless_str *argv = step_arguments(&r->scenario, &argc);

	r->client.env.databases = e->databases;
	script_client_run(&r->client, REQUEST_SCRIPT, argv, argc, &e->writer);
	free(argv);
	buf_clear(reply);
	while (e->out.len > 0) {
		int count = chain_peek(&e->out, iov, 64, e->out.len);

		for (int i = 0; i < count; i++) {
			buf_append(reply, iov[i].iov_base, iov[i].iov_len);
			chain_consume(&e->out, iov[i].iov_len);
		}
	}
}

static void check_dumps(struct double_run *r)
{
	struct buf dumps[2] = { BUF_INIT(BUF_NO_MAX), BUF_INIT(BUF_NO_MAX) };
	struct engines *both[2] = { &r->live, &r->logged.engines };

	for (int i = 0; i < 2; i++) {
		engines_dump(both[i], 0, &dumps[i]);
		buf_printf(&dumps[i], "changes %llu\n",
			   (unsigned long long)qless_changes(engines_get(both[i], 0)));
	}
	if (!str_equal(buf_str(&dumps[0]), buf_str(&dumps[1]))) {
		scenario_differ(&r->scenario, "the state that its log leads to is another");
		show_text("live", buf_str(&dumps[0]));
		show_text("logged", buf_str(&dumps[1]));
	}
	buf_done(&dumps[0]);
	buf_done(&dumps[1]);
}

static void scenario_begin(void *arg)
{
	struct double_run *r = arg;

	engines_init(&r->live, 1, 0x9e3779b97f4a7c15);
	fixture_init(&r->logged);
	r->logged.options.segment_bytes = 3000;
	start(r);
}

static void scenario_line(void *arg, yyjson_val *line)
{
	struct double_run *r = arg;

	if (!yyjson_equals_str(yyjson_obj_get(line, "t"), "step"))
		return;
	run_step(r, &r->live, &r->replies[0]);
	run_step(r, &r->logged.engines, &r->replies[1]);
	check_reply(&r->scenario, buf_str(&r->replies[1]));
	if (!r->scenario.failed && !str_equal(buf_str(&r->replies[0]), buf_str(&r->replies[1]))) {
		scenario_differ(&r->scenario, "the answer after having come back is another");
		show_text("live", buf_str(&r->replies[0]));
		show_text("logged", buf_str(&r->replies[1]));
	}
	go_on(r);
}

static void scenario_end(void *arg)
{
	struct double_run *r = arg;

	if (!r->scenario.failed) {
		restart(r);
		check_dumps(r);
	}
	engines_done(&r->live);
	fixture_done(&r->logged);
}

static void replay_files(const struct habits *habits)
{
	static const struct transcript_ops ops = { scenario_begin, scenario_line, scenario_end };
	static struct double_run r;
	struct tally tally = { 0, 0 };

	memset(&r, 0, sizeof r);
	r.habits = habits;
	r.rng = 5;
	script_client_init(&r.client, NULL);
	buf_init(&r.replies[0], BUF_NO_MAX);
	buf_init(&r.replies[1], BUF_NO_MAX);
	for (int i = 0; i < file_count; i++)
		transcript_run(files[i], NULL, &r.scenario, &ops, &r, &tally);
	script_client_done(&r.client);
	buf_done(&r.replies[0]);
	buf_done(&r.replies[1]);
	printf("%zu scenarios passed, %zu failed, %zu restarts, %zu rewrites\n", tally.passed,
	       tally.failed, r.restarts, r.rewrites);
	TEST_ASSERT_EQUAL_INT(0, tally.failed);
	TEST_ASSERT_GREATER_THAN(0, tally.passed);
	TEST_ASSERT_GREATER_OR_EQUAL_size_t(tally.passed, r.restarts);
}

static void the_log_alone_leads_back_to_the_state(void)
{
	static const struct habits habits = { .flushes = 30 };

	replay_files(&habits);
}

static void bases_and_logs_lead_back_to_the_state_at_every_restart(void)
{
	static const struct habits habits = { .flushes = 30, .rewrites = 4, .restarts = 6 };

	replay_files(&habits);
}

static void a_base_after_each_few_steps_leads_back_to_the_state(void)
{
	static const struct habits habits = { .flushes = 90, .rewrites = 50, .restarts = 1 };

	replay_files(&habits);
}

int main(int argc, char **argv)
{
	files = argv + 1;
	while (file_count + 1 < argc && strstr(argv[file_count + 1], ".jsonl") != NULL)
		file_count++;
	argv += file_count;
	argc -= file_count;
	UNITY_BEGIN();
	RUN(the_log_alone_leads_back_to_the_state);
	RUN(bases_and_logs_lead_back_to_the_state_at_every_restart);
	RUN(a_base_after_each_few_steps_leads_back_to_the_state);
	return UNIT_RESULT();
}
