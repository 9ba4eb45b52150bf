/*
 * Many jobs with limits: what is handed out when, counted on a clock that the test sets.
 */
#include "limiting.h"

#define START 1000.0

#define DOMAINS		 5000u
#define JOBS_OF_A_DOMAIN 8u
#define INTERVAL	 10.0 /* seconds between two jobs of a domain */
#define MINUTE		 60.0

#define TENANTS	  10u /* with few jobs */
#define FEW_JOBS  10u
#define MANY_JOBS 100000u
#define FAIR_POPS 220u

void setUp(void)
{
	engine_set_up();
	is_heard = false;
}

void tearDown(void)
{
	engine_tear_down();
}

static void put_for(double now, unsigned name, unsigned number)
{
	char jid[32], limit[32];

	snprintf(jid, sizeof jid, "%u-%u", name, number);
	snprintf(limit, sizeof limit, "domain:%u", name);
	put_limited(now, "q", jid, limit);
}

/* Returns the number of the name of the next job, or -1 if there is none. */
static int pop_name(double now)
{
	struct qless_job_info info;
	struct qless_jobs jobs;

	OK(qless_pop(q, now, STR("q"), STR("w"), 1, &jobs));
	if (jobs.count == 0)
		return -1;
	qless_job_read(jobs.items[0], &info);
	return atoi(info.jid.ptr);
}

/* The queue is popped when the engine says that something has come due, and only then. */
static void each_domain_gets_all_the_jobs_that_its_rate_allows(void)
{
	static double last[DOMAINS];
	static unsigned counts[DOMAINS];
	struct qless_str name;
	double now = START;
	unsigned wakes = 0;

	set_rate(START, "domain:*", 1, INTERVAL, 1);
	OK(qless_config_set(q, START, STR("heartbeat"), STR("100000")));
	for (unsigned d = 0; d < DOMAINS; d++) {
		for (unsigned i = 0; i < JOBS_OF_A_DOMAIN; i++)
			put_for(START, d, i);
		last[d] = -INFINITY;
	}
	for (; now <= START + MINUTE; now = qless_next_due(q)) {
		int domain;

		while (qless_take_due(q, now, &name))
			continue;
		while ((domain = pop_name(now)) >= 0) {
			TEST_ASSERT_TRUE(now >= last[domain] + INTERVAL);
			last[domain] = now;
			counts[domain]++;
		}
		wakes++;
	}
	for (unsigned d = 0; d < DOMAINS; d++)
		TEST_ASSERT_EQUAL_UINT(1 + MINUTE / INTERVAL, counts[d]);
	TEST_ASSERT_LESS_OR_EQUAL(2 * (1 + MINUTE / INTERVAL), wakes);
}

/* The first jobs of the queue are all under limits that are shut. */
static void a_job_that_may_run_is_found_among_many_that_may_not(void)
{
	OK(qless_config_set(q, START, STR("heartbeat"), STR("100000")));
	set_concurrency(START, "domain:*", 1);
	for (unsigned d = 0; d < DOMAINS; d++) {
		put_for(START, d, 0);
		TEST_ASSERT_EQUAL_INT(d, pop_name(START));
		put_for(START, d, 1);
	}
	TEST_ASSERT_EQUAL_INT(-1, pop_name(START + 1));
	put_for(START + 1, DOMAINS, 0);
	TEST_ASSERT_EQUAL_INT(DOMAINS, pop_name(START + 1));
	complete(START + 2, "q", "77-0", "w");
	TEST_ASSERT_EQUAL_INT(77, pop_name(START + 2));
	TEST_ASSERT_EQUAL_INT(-1, pop_name(START + 2));
}

/* Returns how many of the holders of slots of `shared` have a lock until `expires`. */
static unsigned count_holders_until(double expires)
{
	struct qless_limit_holder holder;
	const void *cursor = NULL;
	unsigned count = 0;

	while (qless_limit_next_holder(q, STR("shared"), &cursor, &holder))
		count += holder.expires == expires;
	return count;
}

/* All workers died, and each of the next pops warns some of them. */
static void one_pop_does_not_look_after_all_expired_locks_of_a_limit(void)
{
	double expired = START + 60, later = expired + 10; /* when the grace period ends */
	unsigned warned = 0, pops = 0;
	struct qless_jobs jobs;
	struct qless_str name;
	char jid[32];

	for (unsigned i = 0; i < DOMAINS; i++) {
		snprintf(jid, sizeof jid, "%u", i);
		put_limited(START, "dead", jid, "shared");
	}
	put_limited(START, "q", "0-next", "shared");
	OK(qless_pop(q, START, STR("dead"), STR("dead"), DOMAINS, &jobs));
	TEST_ASSERT_EQUAL_size_t(DOMAINS, jobs.count);
	set_concurrency(START, "shared", DOMAINS);
	while (warned < DOMAINS) {
		unsigned before = warned;

		while (qless_take_woken(q, &name))
			continue;
		TEST_ASSERT_EQUAL_INT(-1, pop_name(expired));
		warned = count_holders_until(later);
		TEST_ASSERT_TRUE(warned > before && warned - before <= DOMAINS / 2);
		TEST_ASSERT_EQUAL(warned < DOMAINS, qless_is_poppable(q, expired, STR("q")));
		TEST_ASSERT_EQUAL(warned < DOMAINS, qless_has_woken(q));
		pops++;
	}
	TEST_ASSERT_LESS_OR_EQUAL_UINT(10, pops);
	TEST_ASSERT_EQUAL_INT(0, pop_name(later));
}

static void put_large(const char *jid, const char *limit, size_t size)
{
	struct qless_str name = str_from(limit);
	struct qless_put p = a_put("q", jid);
	struct buf data = BUF_INIT(BUF_NO_MAX);

	for (size_t i = 0; i < size; i++)
		buf_append_char(&data, 'x');
	p.data = buf_str(&data);
	p.has_limits = true;
	p.limits = &name;
	p.limit_count = 1;
	OK(qless_put(q, START, &p));
	buf_done(&data);
}

/* The bytes of jobs that are shut do not count: they may be smaller or larger than the others. */
static void a_pop_chooses_four_megabytes_of_jobs_at_most(void)
{
	/* The largest job is the last of twelve, and is handed out alone. */
	static const size_t counts[] = { 4, 4, 3, 1, 0 };
	struct qless_jobs jobs;
	char jid[32];

	hold(START, "shut", 1000);
	for (unsigned i = 0; i < 12; i++) {
		snprintf(jid, sizeof jid, "%u-shut", i);
		put_large(jid, "shut", i % 2 == 0 ? 0 : 8000000);
	}
	for (unsigned i = 0; i < 12; i++) {
		snprintf(jid, sizeof jid, "%u-open", i);
		put_large(jid, "open", i == 0 ? 5000000 : 900000);
	}
	TEST_ASSERT_EQUAL_INT(12, qless_count_poppable(q, START, STR("q"), 12, 4000000, true));
	for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
		OK(qless_pop(q, START, STR("q"), STR("w"), 12, &jobs));
		TEST_ASSERT_EQUAL_size_t(counts[i], jobs.count);
	}
}

static void a_tenant_with_many_jobs_does_not_hold_up_those_with_few(void)
{
	unsigned handed_out = 0, pops = 0;

	set_option("q-order", "fair");
	for (unsigned i = 0; i < MANY_JOBS; i++)
		put_for(START, 0, i);
	for (unsigned tenant = 1; tenant <= TENANTS; tenant++) {
		for (unsigned i = 0; i < FEW_JOBS; i++)
			put_for(START + tenant, tenant, i);
	}
	for (; handed_out < TENANTS * FEW_JOBS && pops < MANY_JOBS; pops++)
		handed_out += pop_name(START + 100) > 0;
	TEST_ASSERT_LESS_OR_EQUAL(FAIR_POPS, pops);
}

#define EIGHT	       8u
#define SLOTS_OF_A_POP 25000u

/* A pop takes few enough slots, and looks after few enough expired locks. */
static void a_pop_chooses_jobs_with_few_limits_together(void)
{
	static const struct qless_str names[EIGHT] = {
		STR_INIT("a"), STR_INIT("b"), STR_INIT("c"), STR_INIT("d"),
		STR_INIT("e"), STR_INIT("f"), STR_INIT("g"), STR_INIT("h"),
	};
	size_t most = SLOTS_OF_A_POP / EIGHT;
	double expired = START + 60;
	struct qless_jobs jobs;
	char jid[32];

	for (unsigned i = 0; i < DOMAINS; i++) {
		struct qless_put p;

		snprintf(jid, sizeof jid, "%u", i);
		p = a_put("q", jid);
		p.has_limits = true;
		p.limits = names;
		p.limit_count = EIGHT;
		OK(qless_put(q, START, &p));
	}
	OK(qless_pop(q, START, STR("q"), STR("w"), DOMAINS, &jobs));
	TEST_ASSERT_EQUAL_size_t(most, jobs.count);
	OK(qless_pop(q, START, STR("q"), STR("w"), DOMAINS, &jobs));
	TEST_ASSERT_EQUAL_size_t(DOMAINS - most, jobs.count);
	TEST_ASSERT_EQUAL_INT(most,
			      qless_count_poppable(q, expired, STR("q"), DOMAINS, 4000000, false));
}

/* Jobs with one limit each are all handed out at once. */
static void a_pop_chooses_many_jobs_with_one_limit_each(void)
{
	struct qless_jobs jobs;

	for (unsigned d = 0; d < DOMAINS; d++)
		put_for(START, d, 0);
	OK(qless_pop(q, START, STR("q"), STR("w"), DOMAINS, &jobs));
	TEST_ASSERT_EQUAL_size_t(DOMAINS, jobs.count);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(each_domain_gets_all_the_jobs_that_its_rate_allows);
	RUN(a_job_that_may_run_is_found_among_many_that_may_not);
	RUN(one_pop_does_not_look_after_all_expired_locks_of_a_limit);
	RUN(a_pop_chooses_four_megabytes_of_jobs_at_most);
	RUN(a_pop_chooses_jobs_with_few_limits_together);
	RUN(a_pop_chooses_many_jobs_with_one_limit_each);
	RUN(a_tenant_with_many_jobs_does_not_hold_up_those_with_few);
	return UNIT_RESULT();
}
