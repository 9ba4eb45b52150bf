/*
 * Recurring jobs with a cron expression. A schedule in UTC stands for all of them, unless a case is
 * about zones: test_calendar_cron has the ticks.
 */
#include "engine.h"

#include <math.h>

#include "engine/state.h"
#include "operation/operation.h"

#define HOUR 3600.0
#define DAY  86400.0
#define YEAR (365 * DAY)

/* 2026-11-20 00:00:00 UTC */
#define TODAY 1795132800.0
#define NOW   (TODAY + 30)

#define BERLIN STR_INIT("CET-1CEST,M3.5.0,M10.5.0/3")

static struct qless_schedule schedule;

void setUp(void)
{
	engine_set_up();
	schedule = (struct qless_schedule){ .cron = STR("*/10 * * * *"),
					    .zone = STR("UTC"),
					    .rule = STR("UTC0") };
}

void tearDown(void)
{
	engine_tear_down();
}

static struct qless_recur_put a_recur(void)
{
	return (struct qless_recur_put){ .queue = STR("q"),
					 .jid = STR("r"),
					 .klass = STR("Klass"),
					 .data = STR("{}"),
					 .retries = 5,
					 .schedule = &schedule };
}

static void recur(double now)
{
	struct qless_recur_put put_recur = a_recur();

	OK(qless_recur(q, now, &put_recur));
}

static struct qless_recur_info recur_info(void)
{
	const struct qless_recur *recur_job = qless_recur_get(q, STR("r"));
	struct qless_recur_info info;

	TEST_ASSERT_NOT_NULL(recur_job);
	qless_recur_read(recur_job, &info);
	return info;
}

static void assert_next(double expected)
{
	/* A lock may expire earlier. */
	TEST_ASSERT_TRUE(qless_queue_next_due(q, STR("q")) <= expected);
	TEST_ASSERT_TRUE(qless_next_tick(q, NULL) == expected);
}

/* Make the jobs that are due without a pop. Returns their number. */
static uint64_t tick(double now, int64_t max)
{
	uint64_t made = 7;

	OK(qless_tick(q, now, STR("r"), max, &made));
	return made;
}

/* ---- ticks ---- */

static void each_tick_makes_a_job(void)
{
	recur(NOW);
	TEST_ASSERT_TRUE(qless_queue_next_due(q, STR("q")) == TODAY + 600);
	TEST_ASSERT_EQUAL_STRING("", pop(TODAY + 599, "q", "w", 5));
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 600, "q", "w", 5));
	ASSERT_STR("r", info_of("r-1").spawned_from);
	TEST_ASSERT_EQUAL_STRING("put@1795133400 popped@1795133400 ", history_of("r-1"));
	assert_next(TODAY + 1200);
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(TODAY + 1201, "q", "w", 5));
	TEST_ASSERT_EQUAL_UINT64(2, recur_info().count);
}

static void a_tick_at_the_time_of_the_call_is_over(void)
{
	recur(TODAY);
	TEST_ASSERT_EQUAL_STRING("", pop(TODAY, "q", "w", 5));
	assert_next(TODAY + 600);
}

static void ticks_make_their_jobs_without_a_pop(void)
{
	struct qless_str queue = STR("q");

	recur(NOW);
	OK(qless_pause(q, NOW, &queue, 1));
	TEST_ASSERT_EQUAL_UINT64(0, tick(TODAY + 599, 10));
	TEST_ASSERT_EQUAL_UINT64(1, tick(TODAY + 600, 10));
	TEST_ASSERT_EQUAL_UINT64(0, tick(TODAY + 600, 10));
	TEST_ASSERT_TRUE(qless_next_tick(q, NULL) == TODAY + 1200);
	TEST_ASSERT_EQUAL_INT(QLESS_WAITING, info_of("r-1").state);
	OK(qless_unpause(q, TODAY + 700, &queue, 1));
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 700, "q", "w", 5));
}

static void the_clocks_of_the_zone_decide(void)
{
	/* 2027-03-28, when clocks in Berlin go from 02:00 to 03:00. */
	double midnight = 1806188400;
	int made = 0;

	schedule.cron = STR("30 2 * * *");
	schedule.rule = (struct qless_str)BERLIN;
	recur(midnight - 2 * DAY);
	assert_next(midnight - 2 * DAY + 2.5 * HOUR);
	for (double now = midnight - 2 * DAY; now < midnight + 2 * DAY; now += HOUR / 2)
		made += (int)tick(now, 9);
	TEST_ASSERT_EQUAL_INT(4, made);
	TEST_ASSERT_EQUAL_STRING("put@1806111000 ", history_of("r-2"));
	/* The first instant after the skipped hour. */
	TEST_ASSERT_EQUAL_STRING("put@1806195600 ", history_of("r-3"));
	TEST_ASSERT_EQUAL_STRING("put@1806280200 ", history_of("r-4"));
}

static void times_are_the_next_ticks(void)
{
	double times[3] = { 0 };
	const struct qless_recur *recur_job;

	recur(NOW);
	recur_job = qless_recur_get(q, STR("r"));
	TEST_ASSERT_EQUAL_size_t(3, qless_recur_times(recur_job, NOW, times, 3));
	TEST_ASSERT_TRUE(times[0] == TODAY + 600 && times[1] == TODAY + 1200 &&
			 times[2] == TODAY + 1800);
	/* A tick that is due is not next. */
	TEST_ASSERT_EQUAL_size_t(1, qless_recur_times(recur_job, TODAY + 601, times, 1));
	TEST_ASSERT_TRUE(times[0] == TODAY + 1200);
	/* The last second of the year 9999. */
	TEST_ASSERT_EQUAL_size_t(0, qless_recur_times(recur_job, 253402300799.0, times, 3));
}

static void times_of_an_interval_keep_its_rhythm(void)
{
	struct qless_recur_put put_recur = a_recur();
	double times[2] = { 0 };

	put_recur.schedule = NULL;
	put_recur.interval = 60;
	put_recur.offset = 10;
	OK(qless_recur(q, 1000, &put_recur));
	TEST_ASSERT_EQUAL_size_t(2,
				 qless_recur_times(qless_recur_get(q, STR("r")), 1000, times, 2));
	TEST_ASSERT_TRUE(times[0] == 1010 && times[1] == 1070);
	TEST_ASSERT_EQUAL_size_t(2,
				 qless_recur_times(qless_recur_get(q, STR("r")), 1070, times, 2));
	TEST_ASSERT_TRUE(times[0] == 1130 && times[1] == 1190);
	TEST_ASSERT_TRUE(qless_next_tick(q, NULL) == INFINITY);
}

/* ---- missed ticks ---- */

static void one_job_makes_up_for_all_missed_ticks(void)
{
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 3 * HOUR + 599, "q", "w", 5));
	/* It is the job of the last one. */
	TEST_ASSERT_EQUAL_STRING("put@1795143600 popped@1795144199 ", history_of("r-1"));
	assert_next(TODAY + 3 * HOUR + 600);
	TEST_ASSERT_EQUAL_STRING("", pop(TODAY + 3 * HOUR + 599, "q", "w", 5));
}

static void missed_ticks_can_be_left_out(void)
{
	schedule.missed = QLESS_MISSED_SKIP;
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("", pop(TODAY + HOUR + QLESS_MISSED_SECONDS + 1, "q", "w", 5));
	assert_next(TODAY + HOUR + 600);
	/* The last tick is not missed yet. */
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 3 * HOUR + QLESS_MISSED_SECONDS, "q", "w", 5));
	assert_next(TODAY + 3 * HOUR + 600);
}

static void all_missed_ticks_can_be_made_up_for(void)
{
	schedule.missed = QLESS_MISSED_ALL;
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("r-1 r-2 ", pop(TODAY + HOUR, "q", "w", 2));
	assert_next(TODAY + 1800);
	TEST_ASSERT_EQUAL_UINT64(4, tick(TODAY + HOUR, 10));
	TEST_ASSERT_EQUAL_STRING("r-3 r-4 r-5 r-6 ", pop(TODAY + HOUR, "q", "w", 9));
	assert_next(TODAY + HOUR + 600);
}

static void years_of_missed_seconds_cost_one_job(void)
{
	schedule.cron = STR("* * * * * *");
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(NOW + 30 * YEAR, "q", "w", 9));
	assert_next(NOW + 30 * YEAR + 1);
}

/* ---- overlap ---- */

static void ticks_are_left_out_while_the_last_job_is_not_over(void)
{
	double remaining;

	schedule.overlap = QLESS_OVERLAP_SKIP;
	recur(NOW);
	/* Waiting. */
	TEST_ASSERT_EQUAL_UINT64(1, tick(TODAY + 600, 10));
	TEST_ASSERT_EQUAL_UINT64(0, tick(TODAY + 1200, 10));
	assert_next(TODAY + 1800);
	/* Running. */
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 1790, "q", "w", 5));
	TEST_ASSERT_EQUAL_UINT64(0, tick(TODAY + 1800, 10));
	/* Scheduled. */
	OK(qless_retry(
		q, TODAY + 1810,
		&(struct qless_retry){
			.jid = STR("r-1"), .queue = STR("q"), .worker = STR("w"), .delay = 900 },
		&remaining));
	TEST_ASSERT_EQUAL_UINT64(0, tick(TODAY + 2400, 10));
	TEST_ASSERT_EQUAL_UINT64(1, recur_info().count);
	/* Complete. */
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 2720, "q", "w", 5));
	complete(TODAY + 2730, "q", "r-1", "w");
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(TODAY + 3000, "q", "w", 5));
	/* Failed. */
	fail(TODAY + 3010, "r-2", "w", "group");
	TEST_ASSERT_EQUAL_STRING("r-3 ", pop(TODAY + 3600, "q", "w", 5));
	/* Canceled. */
	TEST_ASSERT_EQUAL_STRING("", pop(TODAY + 4200, "q", "w", 5));
	OK(qless_cancel(q, TODAY + 4210, &STR("r-3"), 1));
	TEST_ASSERT_EQUAL_STRING("r-4 ", pop(TODAY + 4800, "q", "w", 5));
}

static void a_job_with_the_same_name_that_somebody_else_put_is_no_overlap(void)
{
	schedule.overlap = QLESS_OVERLAP_SKIP;
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 600, "q", "w", 5));
	OK(qless_cancel(q, TODAY + 610, &STR("r-1"), 1));
	put(TODAY + 620, "other", "r-1");
	TEST_ASSERT_EQUAL_STRING("r-2 ", pop(TODAY + 1200, "q", "w", 5));
}

static void all_missed_ticks_make_one_job_if_jobs_must_not_overlap(void)
{
	schedule.missed = QLESS_MISSED_ALL;
	schedule.overlap = QLESS_OVERLAP_SKIP;
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 30 * YEAR, "q", "w", 9));
	assert_next(TODAY + 30 * YEAR + 600);
}

/* ---- changes ---- */

static void putting_the_same_schedule_again_keeps_a_due_tick(void)
{
	recur(NOW);
	schedule.missed = QLESS_MISSED_ALL;
	recur(TODAY + 700);
	assert_next(TODAY + 600);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 700, "q", "w", 5));
	/* Another expression starts anew. */
	schedule.cron = STR("*/5 * * * *");
	recur(TODAY + 1300);
	assert_next(TODAY + 1500);
}

static void an_interval_and_a_schedule_replace_each_other(void)
{
	struct qless_recur_put put_recur = a_recur();

	recur(NOW);
	put_recur.schedule = NULL;
	put_recur.interval = 60;
	OK(qless_recur(q, NOW, &put_recur));
	TEST_ASSERT_FALSE(recur_info().has_schedule);
	TEST_ASSERT_TRUE(qless_next_tick(q, NULL) == INFINITY);
	TEST_ASSERT_TRUE(qless_queue_next_due(q, STR("q")) == NOW);
	recur(NOW);
	TEST_ASSERT_TRUE(recur_info().has_schedule);
	TEST_ASSERT_TRUE(recur_info().interval == 0);
	assert_next(TODAY + 600);
	OK(qless_unrecur(q, NOW, STR("r")));
	TEST_ASSERT_TRUE(qless_next_tick(q, NULL) == INFINITY);
}

static void update(double now, const struct qless_recur_change *changes, size_t count)
{
	OK(qless_recur_update(q, now, STR("r"), changes, count));
}

static void an_update_changes_parts_of_the_schedule(void)
{
	const struct qless_recur_change zone[] = {
		{ .field = QLESS_RECUR_ZONE, .text = STR_INIT("Europe/Berlin") },
		{ .field = QLESS_RECUR_RULE, .text = BERLIN },
	};
	const struct qless_recur_change choices[] = {
		{ .field = QLESS_RECUR_MISSED, .number = QLESS_MISSED_SKIP },
		{ .field = QLESS_RECUR_OVERLAP, .number = QLESS_OVERLAP_SKIP },
	};
	const struct qless_recur_change cron = { .field = QLESS_RECUR_CRON,
						 .text = STR_INIT("0 6 * * *") };
	const struct qless_recur_change interval = { .field = QLESS_RECUR_INTERVAL, .number = 60 };

	recur(NOW);
	update(NOW, choices, 2);
	assert_next(TODAY + 600);
	update(NOW, &cron, 1);
	assert_next(TODAY + 6 * HOUR);
	update(NOW, zone, 2);
	assert_next(TODAY + 5 * HOUR);
	ASSERT_STR("0 6 * * *", recur_info().schedule.cron);
	ASSERT_STR("Europe/Berlin", recur_info().schedule.zone);
	ASSERT_STR("CET-1CEST,M3.5.0,M10.5.0/3", recur_info().schedule.rule);
	TEST_ASSERT_EQUAL_INT(QLESS_MISSED_SKIP, recur_info().schedule.missed);
	TEST_ASSERT_EQUAL_INT(QLESS_OVERLAP_SKIP, recur_info().schedule.overlap);
	update(NOW, &interval, 1);
	TEST_ASSERT_FALSE(recur_info().has_schedule);
	TEST_ASSERT_TRUE(qless_queue_next_due(q, STR("q")) == NOW + 60);
	update(NOW, &cron, 1);
	ASSERT_STR("UTC0", recur_info().schedule.rule);
	assert_next(TODAY + 6 * HOUR);
}

static void assert_update_refused(const char *text, struct qless_recur_change change)
{
	const struct qless_recur_change changes[] = {
		{ .field = QLESS_RECUR_PRIORITY, .number = 7 },
		change,
	};

	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_recur_update(q, NOW, STR("r"), changes, 2));
	TEST_ASSERT_EQUAL_STRING_LEN(text, qless_error_text(q).ptr, strlen(text));
	TEST_ASSERT_TRUE(recur_info().priority == 0);
}

static void an_invalid_schedule_changes_nothing(void)
{
	struct qless_recur_put put_recur = a_recur();

	schedule.cron = STR("61 * * * *");
	ASSERT_ERROR(QLESS_EBADARG,
		     "recur: the schedule is invalid: The minute of cron must be from 0 to 59; "
		     "found \"61\"",
		     qless_recur(q, NOW, &put_recur));
	schedule.cron = STR("0 0 30 2 *");
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_recur(q, NOW, &put_recur));
	schedule.cron = STR("@daily");
	schedule.rule = STR("CET-1CEST");
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_recur(q, NOW, &put_recur));
	schedule.rule = STR("UTC0");
	schedule.zone = STR("../UTC");
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_recur(q, NOW, &put_recur));
	schedule.zone = STR("UTC");
	schedule.missed = (enum qless_missed)3;
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_recur(q, NOW, &put_recur));
	schedule.missed = QLESS_MISSED_ONE;
	schedule.overlap = (enum qless_overlap)2;
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, qless_recur(q, NOW, &put_recur));
	TEST_ASSERT_NULL(qless_recur_get(q, STR("r")));

	schedule.overlap = QLESS_OVERLAP_ALLOW;
	recur(NOW);
	assert_update_refused("recur_update: the schedule is invalid: The hour",
			      (struct qless_recur_change){ .field = QLESS_RECUR_CRON,
							   .text = STR_INIT("0 24 * * *") });
	assert_update_refused(
		"recur_update: the schedule is invalid: an offset",
		(struct qless_recur_change){ .field = QLESS_RECUR_RULE, .text = STR_INIT("UTC") });
	assert_update_refused(
		"recur_update: missed must be",
		(struct qless_recur_change){ .field = QLESS_RECUR_MISSED, .number = 0.5 });
	assert_update_refused(
		"recur_update: overlap must be",
		(struct qless_recur_change){ .field = QLESS_RECUR_OVERLAP, .number = NAN });
}

/* ---- steps of the clock ---- */

static void step(double from, double to)
{
	OK(qless_step_clock(q, to, from));
}

static void a_step_forward_bounds_what_is_made_up_for(void)
{
	schedule.missed = QLESS_MISSED_ALL;
	recur(NOW);
	step(NOW, NOW + YEAR);
	TEST_ASSERT_EQUAL_UINT64(QLESS_STEP_RUNS_MAX, tick(NOW + YEAR, 100000));
	TEST_ASSERT_TRUE(qless_next_tick(q, NULL) == TODAY + YEAR + 600);
}

static void a_short_step_forward_costs_no_tick(void)
{
	schedule.missed = QLESS_MISSED_ALL;
	recur(NOW);
	step(NOW, NOW + 3000);
	TEST_ASSERT_EQUAL_UINT64(5, tick(NOW + 3000, 100000));
}

static void ticks_come_once_if_the_clock_was_a_little_ahead(void)
{
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 600, "q", "w", 5));
	step(TODAY + 601, TODAY + 590);
	TEST_ASSERT_EQUAL_STRING("", pop(TODAY + 600, "q", "w", 5));
	assert_next(TODAY + 1200);
}

static void ticks_come_again_if_the_clock_was_far_ahead(void)
{
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(NOW + YEAR, "q", "w", 5));
	step(NOW + YEAR, NOW + HOUR);
	assert_next(TODAY + HOUR + 600);
}

/* ---- log and snapshot ---- */

static bool save_piece(void *arg, struct qless_str piece)
{
	return buf_append_str(arg, piece);
}

static struct qless_str give_all(void *arg)
{
	struct qless_str *left = arg, all = *left;

	*left = STR("");
	return all;
}

static void dump(struct qless *engine, struct buf *to)
{
	buf_clear(to);
	qless_dump(engine, append_piece, to);
}

static void assert_same(struct qless *a, struct qless *b)
{
	struct buf dump_a = BUF_INIT(BUF_NO_MAX), dump_b = BUF_INIT(BUF_NO_MAX);

	dump(a, &dump_a);
	dump(b, &dump_b);
	/* A message with the whole state would be too long. */
	TEST_ASSERT_TRUE(str_equal(buf_str(&dump_a), buf_str(&dump_b)));
	TEST_ASSERT_TRUE(qless_next_tick(a, NULL) == qless_next_tick(b, NULL));
	buf_done(&dump_a);
	buf_done(&dump_b);
}

static struct qless *reload(struct qless *engine)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct qless *loaded = qless_new(NULL);
	struct qless_str left;

	TEST_ASSERT_TRUE(state_save(engine, save_piece, &bytes));
	left = buf_str(&bytes);
	OK(state_load(loaded, give_all, &left));
	buf_done(&bytes);
	return loaded;
}

static void a_snapshot_has_the_schedule(void)
{
	struct qless *loaded;

	schedule.rule = (struct qless_str)BERLIN;
	schedule.zone = STR("Europe/Berlin");
	schedule.missed = QLESS_MISSED_ALL;
	schedule.overlap = QLESS_OVERLAP_SKIP;
	recur(NOW);
	TEST_ASSERT_EQUAL_STRING("r-1 ", pop(TODAY + 600, "q", "w", 5));
	/* A tick is due. */
	OK(qless_recur_tag(q, TODAY + 1300, STR("r"), &STR("tag"), 1));
	loaded = reload(q);
	assert_same(q, loaded);
	TEST_ASSERT_TRUE(qless_next_tick(loaded, NULL) == TODAY + 1200);
	qless_free(loaded);
}

static struct operation random_operation(unsigned long long *seed, double now)
{
	static const struct qless_str crons[] = {
		STR_INIT("* * * * *"),	    STR_INIT("*/7 * * * *"),   STR_INIT("30 2 * * *"),
		STR_INIT("*/20 * * * * *"), STR_INIT("0 */3 * * sun"),
	};
	static const struct qless_str rules[] = { STR_INIT("UTC0"), BERLIN,
						  STR_INIT("EST5EDT,M3.2.0,M11.1.0") };
	static const struct qless_str jids[] = { STR_INIT("r"), STR_INIT("s"), STR_INIT("t") };
	static struct qless_schedule made;
	static struct qless_recur_change changes[3];
	struct operation op = { .now = now };
	struct qless_str jid = jids[unit_random(seed) % 3];

	made = (struct qless_schedule){
		.cron = crons[unit_random(seed) % 5],
		.zone = STR("Some/Zone"),
		.rule = rules[unit_random(seed) % 3],
		.missed = (enum qless_missed)(unit_random(seed) % 3),
		.overlap = (enum qless_overlap)(unit_random(seed) % 2),
	};
	switch (unit_random(seed) % 8) {
	case 0:
		op.kind = OPERATION_RECUR;
		op.recur = a_recur();
		op.recur.jid = jid;
		op.recur.schedule = unit_random(seed) % 4 != 0 ? &made : NULL;
		op.recur.interval = 1000;
		break;
	case 1:
		op.kind = OPERATION_RECUR_UPDATE;
		changes[0] =
			(struct qless_recur_change){ .field = QLESS_RECUR_CRON, .text = made.cron };
		changes[1] =
			(struct qless_recur_change){ .field = QLESS_RECUR_RULE, .text = made.rule };
		changes[2] = (struct qless_recur_change){ .field = QLESS_RECUR_OVERLAP,
							  .number = made.overlap };
		op.recur_update.jid = jid;
		op.recur_update.changes = changes;
		op.recur_update.count = 1 + unit_random(seed) % 3;
		break;
	case 2:
		op.kind = OPERATION_POP;
		op.pop.queue = STR("q");
		op.pop.worker = STR("w");
		op.pop.count = (int64_t)(unit_random(seed) % 5);
		break;
	case 3:
		op.kind = OPERATION_STEP_CLOCK;
		op.step_clock.from = now - (double)(unit_random(seed) % 100000);
		break;
	case 4:
		op.kind = OPERATION_UNRECUR;
		op.job.jid = jid;
		break;
	default:
		op.kind = OPERATION_TICK;
		op.tick.jid = jid;
		op.tick.max = (int64_t)(unit_random(seed) % 20);
		break;
	}
	return op;
}

static void a_log_and_snapshots_lead_to_the_same_state(void)
{
	unsigned long long seed = 7;
	struct qless *other = qless_new(NULL), *loaded;
	struct operation_room room = { 0 };
	struct operation op, decoded;
	struct operation_outcome outcome;
	struct buf bytes = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(BUF_NO_MAX);
	double now = NOW;

	for (int i = 0; i < 3000; i++) {
		struct qless_str left;

		op = random_operation(&seed, now);
		now += (double)(unit_random(&seed) % 4000);
		if (operation_run(q, &op, &outcome) < 0 || !outcome.changed)
			continue;
		buf_clear(&bytes);
		operation_encode(&op, &bytes);
		left = buf_str(&bytes);
		OK(operation_decode(&left, &room, &decoded, &error));
		OK(operation_run(other, &decoded, &outcome));
		if (i % 50 != 0)
			continue;
		assert_same(q, other);
		TEST_ASSERT_EQUAL_size_t(0, qless_check(other, on_finding, NULL));
		loaded = reload(other);
		assert_same(q, loaded);
		qless_free(other);
		other = loaded;
	}
	TEST_ASSERT_GREATER_THAN_UINT64(500, qless_queue_length(q, STR("q")));
	qless_free(other);
	operation_room_done(&room);
	buf_done(&bytes);
	buf_done(&error);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(each_tick_makes_a_job);
	RUN(a_tick_at_the_time_of_the_call_is_over);
	RUN(ticks_make_their_jobs_without_a_pop);
	RUN(the_clocks_of_the_zone_decide);
	RUN(times_are_the_next_ticks);
	RUN(times_of_an_interval_keep_its_rhythm);
	RUN(one_job_makes_up_for_all_missed_ticks);
	RUN(missed_ticks_can_be_left_out);
	RUN(all_missed_ticks_can_be_made_up_for);
	RUN(years_of_missed_seconds_cost_one_job);
	RUN(ticks_are_left_out_while_the_last_job_is_not_over);
	RUN(a_job_with_the_same_name_that_somebody_else_put_is_no_overlap);
	RUN(all_missed_ticks_make_one_job_if_jobs_must_not_overlap);
	RUN(putting_the_same_schedule_again_keeps_a_due_tick);
	RUN(an_interval_and_a_schedule_replace_each_other);
	RUN(an_update_changes_parts_of_the_schedule);
	RUN(an_invalid_schedule_changes_nothing);
	RUN(a_step_forward_bounds_what_is_made_up_for);
	RUN(a_short_step_forward_costs_no_tick);
	RUN(ticks_come_once_if_the_clock_was_a_little_ahead);
	RUN(ticks_come_again_if_the_clock_was_far_ahead);
	RUN(a_snapshot_has_the_schedule);
	RUN(a_log_and_snapshots_lead_to_the_same_state);
	return UNIT_RESULT();
}
