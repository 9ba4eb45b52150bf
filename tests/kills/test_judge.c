/*
 * The judge accepts a correct history, and finds each kind of wrong one.
 */
#include "judge.h"

#include <stdlib.h>

#include "unit.h"

#define GRACE_S	       0.1
#define ATTACH_GRACE_S 0.5

static struct history h;
static struct judge *j;
static FILE *findings;
static char *text;
static size_t text_len;
static double now;

void setUp(void)
{
	h = (struct history){ .entries = calloc(100, sizeof *h.entries) };
	findings = open_memstream(&text, &text_len);
	j = judge_new(
		&(struct judge_options){ .grace_s = GRACE_S, .attach_grace_s = ATTACH_GRACE_S },
		findings);
	now = 1000;
}

void tearDown(void)
{
	judge_free(j);
	fclose(findings);
	free(text);
	free(h.entries);
}

/* Each entry is a tenth of a second after the one before. */
static void enter(enum happening what, uint32_t process, uint64_t job, uint64_t lock,
		  double expires)
{
	h.entries[h.count++] = (struct history_entry){
		.what = (uint32_t)what,
		.process = process,
		.job = job,
		.lock = lock,
		.expires = expires,
		.time = now,
	};
	now += 0.1;
}

static void put(uint64_t job)
{
	enter(HISTORY_PUT_SENT, 0, job, 0, 0);
	enter(HISTORY_PUT_DONE, 0, job, 0, 0);
}

static void hand_out(uint32_t process, uint64_t job, uint64_t lock, double duration)
{
	enter(HISTORY_HANDED_OUT, process, job, lock, now + duration);
}

static void complete(uint32_t process, uint64_t job, uint64_t lock)
{
	enter(HISTORY_COMPLETE_SENT, process, job, lock, 0);
	enter(HISTORY_COMPLETE_DONE, process, job, lock, 0);
}

static void attach(uint32_t process)
{
	enter(HISTORY_ATTACH_SENT, process, 0, 0, 0);
	h.entries[h.count - 1].name = process % 10;
	enter(HISTORY_ATTACH_DONE, process, 0, 0, 0);
}

static void expect_right(void)
{
	judge_read(j, &h);
	fflush(findings);
	TEST_ASSERT_EQUAL_STRING("", text);
	TEST_ASSERT_EQUAL_UINT64(0, judge_counts(j)->findings);
}

static void expect_wrong(const char *part)
{
	judge_read(j, &h);
	fflush(findings);
	TEST_ASSERT_EQUAL_UINT64(1, judge_counts(j)->findings);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(text, part), text);
}

static void a_life_of_a_job_is_right(void)
{
	put(1);
	hand_out(1, 1, 7, 1);
	enter(HISTORY_HEARTBEAT_SENT, 1, 1, 7, 0);
	enter(HISTORY_HEARTBEAT_DONE, 1, 1, 7, now + 1);
	enter(HISTORY_RETRY_SENT, 1, 1, 7, 0);
	enter(HISTORY_RETRY_DONE, 1, 1, 7, 0);
	hand_out(2, 1, 8, 1);
	complete(2, 1, 8);
	expect_right();
	judge_settle(j, 1, 'c');
	expect_right();
	TEST_ASSERT_EQUAL_UINT64(2, judge_counts(j)->hand_outs);
	TEST_ASSERT_EQUAL_UINT64(0, judge_counts(j)->expired);
}

static void an_expired_lock_may_be_given_again_and_is_refused(void)
{
	put(1);
	hand_out(1, 1, 7, 0.1);
	now += GRACE_S;
	hand_out(2, 1, 8, 1);
	enter(HISTORY_COMPLETE_SENT, 1, 1, 7, 0);
	enter(HISTORY_REFUSED, 1, 0, 0, 0);
	complete(2, 1, 8);
	expect_right();
	TEST_ASSERT_EQUAL_UINT64(1, judge_counts(j)->expired);
	TEST_ASSERT_EQUAL_UINT64(1, judge_counts(j)->refusals);
}

static void a_lock_that_is_given_early_is_found(void)
{
	put(1);
	hand_out(1, 1, 7, 1);
	hand_out(2, 1, 8, 1);
	expect_wrong("job 1 is handed out with lock 8, 1.0000 seconds before lock 7 could end");
}

static void the_grace_period_is_part_of_a_lock(void)
{
	put(1);
	hand_out(1, 1, 7, 0.05);
	hand_out(2, 1, 8, 1);
	expect_wrong("before lock 7 could end");
}

static void workers_may_learn_of_hand_outs_in_any_order(void)
{
	put(1);
	hand_out(2, 1, 8, 1);
	enter(HISTORY_HANDED_OUT, 1, 1, 7, now - 0.3);
	expect_right();
	enter(HISTORY_HANDED_OUT, 3, 1, 6, now + 1);
	expect_wrong("before lock 6 could end");
}

static void a_heartbeat_extends_a_lock(void)
{
	put(1);
	hand_out(1, 1, 7, 0.3);
	enter(HISTORY_HEARTBEAT_SENT, 1, 1, 7, 0);
	enter(HISTORY_HEARTBEAT_DONE, 1, 1, 7, now + 1);
	now += 0.5;
	hand_out(2, 1, 8, 1);
	expect_wrong("before lock 7 could end");
}

static void a_heartbeat_that_is_learned_late_extends_a_lock(void)
{
	put(1);
	hand_out(1, 1, 7, 0.1);
	enter(HISTORY_HEARTBEAT_SENT, 1, 1, 7, 0);
	now += GRACE_S;
	hand_out(2, 1, 8, 1);
	enter(HISTORY_HEARTBEAT_DONE, 1, 1, 7, now + 1);
	expect_wrong("before lock 7 could end");
}

static void a_number_that_is_used_twice_is_found(void)
{
	put(1);
	put(2);
	hand_out(1, 1, 7, 1);
	hand_out(2, 2, 7, 1);
	expect_wrong("lock 7 is given twice, for job 1 and for job 2");
}

static void an_old_lock_that_is_accepted_is_found(void)
{
	put(1);
	hand_out(1, 1, 7, 0.1);
	now += GRACE_S;
	hand_out(2, 1, 8, 1);
	enter(HISTORY_HEARTBEAT_SENT, 1, 1, 7, 0);
	enter(HISTORY_HEARTBEAT_DONE, 1, 1, 7, now - 0.5);
	expect_wrong("lock 7 of job 1 is accepted after lock 8 was given");
}

static void a_good_lock_that_is_refused_is_found(void)
{
	put(1);
	hand_out(1, 1, 7, 10);
	enter(HISTORY_COMPLETE_SENT, 1, 1, 7, 0);
	enter(HISTORY_REFUSED, 1, 0, 0, 0);
	expect_wrong("lock 7 of job 1 is refused");
}

static void a_second_completion_may_be_refused(void)
{
	put(1);
	hand_out(1, 1, 7, 10);
	enter(HISTORY_COMPLETE_SENT, 1, 1, 7, 0);
	enter(HISTORY_COMPLETE_SENT, 1, 1, 7, 0);
	enter(HISTORY_REFUSED, 1, 0, 0, 0);
	expect_right();
	judge_settle(j, 1, 'c');
	expect_right();
}

static void a_completed_job_that_is_handed_out_is_found(void)
{
	put(1);
	hand_out(1, 1, 7, 1);
	complete(1, 1, 7);
	hand_out(2, 1, 8, 1);
	expect_wrong("job 1 is handed out with lock 8 after its completion with lock 7");
}

static void a_job_that_nobody_put_is_found(void)
{
	hand_out(1, 1, 7, 1);
	expect_wrong("job 1 is handed out and was never put");
}

static void a_lost_job_is_found(void)
{
	put(1);
	judge_read(j, &h);
	judge_settle(j, 1, '-');
	expect_wrong("job 1 is lost");
}

static void a_lost_completion_is_found(void)
{
	put(1);
	hand_out(1, 1, 7, 1);
	complete(1, 1, 7);
	judge_read(j, &h);
	judge_settle(j, 1, 'r');
	expect_wrong("job 1 has not ended");
}

static void a_completion_out_of_nothing_is_found(void)
{
	put(1);
	judge_read(j, &h);
	judge_settle(j, 1, 'c');
	expect_wrong("job 1 is complete, but no worker completed it");
}

static void a_put_without_a_reply_may_have_happened(void)
{
	enter(HISTORY_PUT_SENT, 0, 1, 0, 0);
	judge_read(j, &h);
	judge_settle(j, 1, '-');
	hand_out(1, 1, 7, 1);
	complete(1, 1, 7);
	judge_read(j, &h);
	judge_settle(j, 1, 'c');
	expect_right();
}

static void the_return_of_the_jobs_of_a_killed_worker_is_measured(void)
{
	put(1);
	hand_out(1, 1, 7, 0.2);
	enter(HISTORY_WORKER_KILLED, 1, 3, 0, 0);
	now += 0.35;
	hand_out(2, 1, 8, 1);
	expect_right();
	TEST_ASSERT_EQUAL_UINT64(1, judge_counts(j)->returns.count);
	TEST_ASSERT_DOUBLE_WITHIN(0.001, 0.25, judge_counts(j)->returns.max_s);
}

static void a_return_that_other_kills_delay_is_not_measured(void)
{
	put(1);
	put(2);
	hand_out(1, 1, 7, 0.2);
	hand_out(1, 2, 8, 0.2);
	enter(HISTORY_WORKER_KILLED, 1, 3, 0, 0);
	enter(HISTORY_WORKER_KILLED, 2, 4, 0, 0);
	now += 0.35;
	hand_out(3, 1, 9, 1);
	hand_out(3, 2, 10, 0.1);
	enter(HISTORY_WORKER_KILLED, 3, 5, 0, 0);
	enter(HISTORY_SERVER_KILLED, 0, 0, 0, 0);
	now += 1;
	hand_out(4, 2, 11, 1);
	expect_right();
	TEST_ASSERT_EQUAL_UINT64(0, judge_counts(j)->returns.count);
}

static void an_attached_worker_keeps_its_locks(void)
{
	put(1);
	attach(1);
	hand_out(1, 1, 7, 0.1);
	now += 10;
	expect_right();
	hand_out(2, 1, 8, 1);
	expect_wrong("job 1 is handed out with lock 8, inf seconds before lock 7 could end");
}

static void the_jobs_of_a_killed_attached_worker_come_back_after_its_grace_period(void)
{
	put(1);
	put(2);
	attach(1);
	hand_out(1, 1, 7, 10);
	hand_out(1, 2, 8, 10);
	enter(HISTORY_WORKER_KILLED, 1, 3, 0, 0);
	now += ATTACH_GRACE_S - 0.05;
	hand_out(2, 1, 9, 1);
	expect_right();
	TEST_ASSERT_EQUAL_UINT64(1, judge_counts(j)->attached_returns.count);
	TEST_ASSERT_DOUBLE_WITHIN(0.001, 0.05, judge_counts(j)->attached_returns.max_s);
	now -= 0.2;
	hand_out(2, 2, 10, 1);
	expect_wrong("job 2 is handed out with lock 10, 0.0500 seconds before lock 8 could end");
}

static void a_process_of_the_same_name_releases_the_jobs(void)
{
	put(1);
	put(2);
	attach(1);
	attach(2);
	hand_out(1, 1, 7, 10);
	hand_out(2, 2, 8, 10);
	enter(HISTORY_WORKER_KILLED, 1, 3, 0, 0);
	enter(HISTORY_RELEASE_SENT, 11, 0, 0, 0);
	h.entries[h.count - 1].name = 1;
	hand_out(3, 1, 9, 1);
	expect_right();
	TEST_ASSERT_EQUAL_UINT64(0, judge_counts(j)->attached_returns.count);
	hand_out(3, 2, 10, 1);
	expect_wrong("job 2 is handed out with lock 10");
}

static void the_end_of_the_server_detaches_and_a_valid_lock_is_attached_again(void)
{
	put(1);
	put(2);
	attach(1);
	hand_out(1, 1, 7, 0.1);
	hand_out(1, 2, 8, 10);
	enter(HISTORY_SERVER_KILLED, 0, 0, 0, 0);
	enter(HISTORY_SERVER_DEAD, 0, 0, 0, 0);
	attach(1);
	hand_out(2, 1, 9, 1);
	expect_right();
	now += 20;
	hand_out(2, 2, 10, 1);
	expect_wrong("job 2 is handed out with lock 10, inf seconds");
}

static void a_server_that_died_may_have_attached_the_worker(void)
{
	put(1);
	enter(HISTORY_ATTACH_SENT, 1, 0, 0, 0);
	enter(HISTORY_SERVER_KILLED, 0, 0, 0, 0);
	enter(HISTORY_ATTACH_DONE, 1, 0, 0, 0);
	hand_out(1, 1, 7, 0.1);
	now += GRACE_S;
	hand_out(2, 1, 8, 1);
	expect_right();
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_life_of_a_job_is_right);
	RUN(an_expired_lock_may_be_given_again_and_is_refused);
	RUN(a_lock_that_is_given_early_is_found);
	RUN(the_grace_period_is_part_of_a_lock);
	RUN(workers_may_learn_of_hand_outs_in_any_order);
	RUN(a_heartbeat_extends_a_lock);
	RUN(a_heartbeat_that_is_learned_late_extends_a_lock);
	RUN(a_number_that_is_used_twice_is_found);
	RUN(an_old_lock_that_is_accepted_is_found);
	RUN(a_good_lock_that_is_refused_is_found);
	RUN(a_second_completion_may_be_refused);
	RUN(a_completed_job_that_is_handed_out_is_found);
	RUN(a_job_that_nobody_put_is_found);
	RUN(a_lost_job_is_found);
	RUN(a_lost_completion_is_found);
	RUN(a_completion_out_of_nothing_is_found);
	RUN(a_put_without_a_reply_may_have_happened);
	RUN(the_return_of_the_jobs_of_a_killed_worker_is_measured);
	RUN(a_return_that_other_kills_delay_is_not_measured);
	RUN(an_attached_worker_keeps_its_locks);
	RUN(the_jobs_of_a_killed_attached_worker_come_back_after_its_grace_period);
	RUN(a_process_of_the_same_name_releases_the_jobs);
	RUN(the_end_of_the_server_detaches_and_a_valid_lock_is_attached_again);
	RUN(a_server_that_died_may_have_attached_the_worker);
	return UNIT_RESULT();
}
