#include "random_calls.h"

#include "engine/state.h"
#include "util/hex.h"
#include "util/mem.h"

#define SEEDS 12
#define STEPS 1500

static struct engines from, to;
static struct buf bytes, dump_from, dump_to;

void setUp(void)
{
	engines_init(&from, 1, 1);
	engines_init(&to, 1, 99);
	buf_init(&bytes, BUF_NO_MAX);
	buf_init(&dump_from, BUF_NO_MAX);
	buf_init(&dump_to, BUF_NO_MAX);
}

void tearDown(void)
{
	engines_done(&from);
	engines_done(&to);
	buf_done(&bytes);
	buf_done(&dump_from);
	buf_done(&dump_to);
}

static void fresh_target(void)
{
	engines_done(&to);
	engines_init(&to, 1, 99);
}

static bool append_piece(void *arg, struct qless_str piece)
{
	TEST_ASSERT_TRUE(piece.len > 0 && piece.len <= STATE_PIECE_BYTES);
	return buf_append_str(arg, piece);
}

struct source {
	struct qless_str left;
	size_t step; /* 0: all at once */
	char *copy;  /* the last piece, in memory that ends where the piece ends */
};

static struct qless_str give_piece(void *arg)
{
	struct source *s = arg;
	size_t n = s->step != 0 && s->step < s->left.len ? s->step : s->left.len;

	free(s->copy);
	s->copy = NULL;
	if (n == 0)
		return STR("");
	s->copy = malloc(n);
	memcpy(s->copy, s->left.ptr, n);
	s->left.ptr += n;
	s->left.len -= n;
	return str_make(s->copy, n);
}

static int load(struct engines *e, struct qless_str text, size_t step)
{
	struct source source = { .left = text, .step = step };
	int rc = state_load(engines_get(e, 0), give_piece, &source);

	free(source.copy);
	return rc;
}

static void save(struct engines *e, struct buf *out)
{
	buf_clear(out);
	TEST_ASSERT_TRUE(state_save(engines_get(e, 0), append_piece, out));
}

static void report(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
}

static void assert_same_engines(void)
{
	engines_dump(&from, 0, &dump_from);
	engines_dump(&to, 0, &dump_to);
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&dump_from), buf_cstr(&dump_to));
	TEST_ASSERT_EQUAL_UINT64(qless_changes(engines_get(&from, 0)),
				 qless_changes(engines_get(&to, 0)));
	TEST_ASSERT_TRUE(qless_latest(engines_get(&from, 0)) == qless_latest(engines_get(&to, 0)));
	TEST_ASSERT_EQUAL_size_t(0, qless_check(engines_get(&to, 0), report, NULL));
}

static void an_empty_engine_is_saved_and_loaded(void)
{
	save(&from, &bytes);
	TEST_ASSERT_EQUAL_INT(0, load(&to, buf_str(&bytes), 0));
	assert_same_engines();
}

static void a_loaded_engine_is_the_same_and_behaves_alike(void)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct random_calls calls;
		struct buf again = BUF_INIT(BUF_NO_MAX);

		random_calls_init(&calls, seed);
		for (int i = 0; i < STEPS; i++) {
			random_step(&calls, &from, 0);
			if (i % 100 != 99)
				continue;
			save(&from, &bytes);
			fresh_target();
			TEST_ASSERT_EQUAL_INT_MESSAGE(
				0, load(&to, buf_str(&bytes), 1 + random_pick(&calls, 3000)),
				buf_cstr(&bytes) ? qless_error_text(engines_get(&to, 0)).ptr : "");
			assert_same_engines();
			/* The bytes follow from the state alone. */
			save(&to, &again);
			TEST_ASSERT_EQUAL_size_t(bytes.len, again.len);
			TEST_ASSERT_EQUAL_MEMORY(buf_data(&bytes), buf_data(&again), bytes.len);
		}
		for (int i = 0; i < STEPS; i++) {
			int rc = random_step(&calls, &from, 0);

			TEST_ASSERT_EQUAL_INT(
				rc, engines_run(&to, 0, calls.now, calls.argv, calls.argc));
		}
		assert_same_engines();
		buf_done(&again);
		engines_done(&from);
		engines_init(&from, 1, seed);
		fresh_target();
	}
}

static void make_small_state(void)
{
	struct random_calls calls;

	random_calls_init(&calls, 7);
	calls.jids = 12;
	for (int i = 0; i < 300; i++)
		random_step(&calls, &from, 0);
	save(&from, &bytes);
}

/* A job in each list, an option, a recurring job, a paused queue and a tracked job. */
static void make_sample(struct qless *q)
{
	const struct qless_str tag = STR("t"), on = STR("waits"), slow = STR("slow"),
			       paused = STR("p");
	const struct qless_complete complete = {
		.jid = STR("done"), .worker = STR("w"), .queue = STR("q"), .data = STR("{}")
	};
	const struct qless_recur_put recur = { .queue = STR("q"),
					       .jid = STR("r"),
					       .klass = STR("k"),
					       .data = STR("[]"),
					       .interval = 60,
					       .offset = 30,
					       .priority = 1,
					       .retries = 2,
					       .backlog = 3,
					       .tags = &tag,
					       .tag_count = 1 };
	static const char *const jids[] = { "done", "failed", "slow", "running" };
	struct qless_put put = { .queue = STR("q"), .klass = STR("k"), .data = STR("{}") };
	struct qless_jobs jobs;
	enum qless_state state;
	bool is_new;
	int failures = qless_config_set(q, 1, STR("heartbeat"), STR("30"));

	for (size_t i = 0; i < 4; i++) {
		put.jid = str_from(jids[i]);
		failures += qless_put(q, 10, &put);
	}
	failures += qless_pop(q, 11, STR("q"), STR("w"), 4, &jobs);
	failures += qless_complete(q, 12, &complete, &state);
	failures += qless_fail(q, 13, STR("failed"), STR("w"), STR("g"), STR("message"), NULL);
	failures += qless_timeout(q, 14, &slow, 1);
	put.jid = on;
	put.has_tags = true;
	put.tags = &tag;
	put.tag_count = 1;
	put.has_priority = true;
	put.priority = 5;
	failures += qless_put(q, 10, &put);
	put.has_tags = put.has_priority = false;
	put.jid = STR("later");
	put.delay = 100;
	failures += qless_put(q, 10, &put);
	put.delay = 0;
	put.jid = STR("depends");
	put.depends = &on;
	put.depend_count = 1;
	failures += qless_put(q, 10, &put);
	failures += qless_recur(q, 20, &recur);
	failures += qless_track(q, 21, on, &is_new);
	failures += qless_log(q, 22, on, STR("note"), NULL);
	failures += qless_pause(q, 23, &paused, 1);
	TEST_ASSERT_EQUAL_INT(0, failures);
}

/* A snapshot of version 1, which every later version must load. A new version gets another
 * sample, and the one before is then only loaded. */
static const char sample[] =
	"0101096865617274626561740233300105776169747381bd831401017200017100016b025b5d0305"
	"7907008185d41b010001740101017002000000000001000180e89226010109030101730304030301"
	"01730301000303025005776169747300027b7d0b010b010001020001000681ecb80b046e6f746500"
	"811004736c6f7700027b7d0180e3be0a0b000177030080897a000181897a0003819bee0201050772"
	"756e6e696e6700027b7d01809bee020b818ece1c0002008097c81d000181897a000108056c617465"
	"7200027b7d0180897a0b000000000000805b4001000100010007646570656e647300027b7d01010b"
	"0100010000010001670128066661696c656400027b7d0181897a0b00000000000000f03f0000076d"
	"6573736167658192f40101000300809bee02000181897a00048192f40100000001800804646f6e65"
	"00027b7d0180897a0b03008092f401000181897a000281897a010001000180897a020772756e6e69"
	"6e67818ece1c04736c6f770101010401010100212f0351";

/* The same state in version 2, which adds the numbers of hand-outs. */
static const char sample_2[] =
	"0201096865617274626561740233300105776169747381bd831401017200017100016b025b5d03"
	"057907008185d41b010001740101017002000000000001000180e8922601010903010173030403"
	"030101730301000303025005776169747300027b7d0b010b010001020001000681ecb80b046e6f"
	"746500813004736c6f7700027b7d0180e3be0a0b00017701030080897a000181897a0003819bee"
	"020185200772756e6e696e6700027b7d01809bee020b818ece1c000202008097c81d000181897a"
	"000108056c6174657200027b7d0180897a0b000000000000805b4001000100010007646570656e"
	"647300027b7d01010b01000100000100016701a820066661696c656400027b7d0181897a0b0000"
	"0000000000f03f030000076d6573736167658192f40101000300809bee02000181897a00048192"
	"f40100000001802804646f6e6500027b7d0180897a0b0403008092f401000181897a000281897a"
	"010001000180897a020772756e6e696e67818ece1c04736c6f770101010401010100212f030451";

static void load_hex(const char *hex, size_t len)
{
	buf_clear(&bytes);
	for (size_t i = 0; i < len; i += 2) {
		char pair[3] = { hex[i], hex[i + 1], '\0' };

		buf_append_char(&bytes, (char)strtoul(pair, NULL, 16));
	}
	TEST_ASSERT_EQUAL_INT(0, load(&to, buf_str(&bytes), 0));
}

static void snapshots_of_version_2_are_loaded(void)
{
	make_sample(engines_get(&from, 0));
	load_hex(sample_2, sizeof sample_2 - 1);
	assert_same_engines();
}

/* Add a rule, a pattern, a hold, a queue with fair order, and jobs with limits: one waits, one
 * runs, and one is recurring. */
static void add_limits(struct qless *q)
{
	const struct qless_str names[] = { STR("db"), STR("api:x") };
	struct qless_limit_change change = { .name = STR("db"),
					     .has_concurrency = true,
					     .concurrency = 1 };
	struct qless_put put = { .queue = STR("q"),
				 .jid = STR("limited"),
				 .klass = STR("k"),
				 .data = STR("{}"),
				 .has_limits = true,
				 .limits = names,
				 .limit_count = 2 };
	struct qless_recur_put recur = { .queue = STR("q"),
					 .jid = STR("s"),
					 .klass = STR("k"),
					 .data = STR("[]"),
					 .interval = 60,
					 .offset = 30,
					 .limits = names,
					 .limit_count = 1 };
	struct qless_jobs jobs;
	double until;
	int failures = qless_config_set(q, 29, STR("r-order"), STR("fair"));

	failures += qless_limit_set(q, 30, &change);

	change = (struct qless_limit_change){ .name = STR("api:*"),
					      .has_rate = true,
					      .rate = 1,
					      .per = 2.5,
					      .has_ttl = true,
					      .ttl = 600 };
	failures += qless_limit_set(q, 30, &change);
	failures += qless_put(q, 31, &put);
	put.queue = STR("r");
	put.jid = STR("limited too");
	failures += qless_put(q, 32, &put);
	failures += qless_pop(q, 33, STR("r"), STR("w"), 1, &jobs);
	failures += qless_limit_hold(q, 34, STR("held"), 60, &until);
	failures += qless_recur(q, 35, &recur);
	TEST_ASSERT_EQUAL_INT(0, failures);
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
}

static void add_schedule(struct qless *q)
{
	const struct qless_schedule schedule = { .cron = STR("@daily"),
						 .zone = STR("Europe/Berlin"),
						 .rule = STR("CET-1CEST,M3.5.0,M10.5.0/3"),
						 .missed = QLESS_MISSED_ALL,
						 .overlap = QLESS_OVERLAP_SKIP };
	const struct qless_recur_put recur = { .queue = STR("q"),
					       .jid = STR("cron"),
					       .klass = STR("k"),
					       .data = STR("{}"),
					       .schedule = &schedule };

	TEST_ASSERT_EQUAL_INT(0, qless_recur(q, 36, &recur));
}

/* Version 3 adds limits, turns and schedules. */
static const char sample_3[] =
	"03020968656172746265617402333007722d6f7264657204666169720105776169747381bd8314"
	"0400056170693a2a030003000000000000000440030381e9e4c40401056170693a7804c0e6fab6"
	"0402026462010201030303030468656c6408c18ee53703017200017100016b025b5d0305790700"
	"808cfb2901000174000001730000025b5d01017901008187a70e00010102000463726f6e000002"
	"7b7d010101010081a79fb6e80400000106406461696c790d4575726f70652f4265726c696e1a43"
	"45542d31434553542c4d332e352e302c4d31302e352e302f330201010101700200000000000000"
	"0100018096d9eae80401010903010173030403030101730301000303025005776169747300027b"
	"7d0b010b010001020001000681ecb80b046e6f746500813004736c6f7700027b7d0180e3be0a0b"
	"00017701030080897a000181897a0003819bee020185200772756e6e696e6700027b7d01809bee"
	"020b818ece1c000202008097c81d000181897a000108056c6174657200027b7d0180897a0b0000"
	"00000000805b4001000100010007646570656e647300027b7d01010b01000100018040076c696d"
	"6974656400027b7d0181bd83140b020202010100010000010201720181897a0101030301017303"
	"0101010100000000000185600b6c696d6974656420746f6f00027b7d0181897a0b818ece1c0005"
	"0202008097c81d020181897a00000000010101010203000100016701a820066661696c65640002"
	"7b7d0180c6fd140b00000000000000f03f030000076d6573736167658192f40101000300809bee"
	"02000181897a00048192f40100000001802804646f6e6500027b7d0180897a0b0403008092f401"
	"000181897a000281897a010001000181bd8314030772756e6e696e6781c8d00704736c6f77010b"
	"6c696d6974656420746f6f81c6fd14010105010101002e49030551";

static void snapshots_of_version_3_have_the_bytes_they_always_had(void)
{
	struct buf hex = BUF_INIT(BUF_NO_MAX);

	make_sample(engines_get(&from, 0));
	add_limits(engines_get(&from, 0));
	add_schedule(engines_get(&from, 0));
	save(&from, &bytes);
	hex_write(buf_reserve(&hex, 2 * bytes.len), buf_data(&bytes), bytes.len);
	buf_commit(&hex, 2 * bytes.len);
	TEST_ASSERT_EQUAL_STRING(sample_3, buf_cstr(&hex));
	buf_done(&hex);
	load_hex(sample_3, sizeof sample_3 - 1);
	assert_same_engines();
}

static uint64_t lock_of(const char *jid)
{
	const struct qless_job *job = qless_get(engines_get(&to, 0), str_from(jid));
	struct qless_job_info info;

	TEST_ASSERT_NOT_NULL(job);
	qless_job_read(job, &info);
	return info.lock;
}

/* All but the numbers of hand-outs is as in version 2. */
static void snapshots_of_version_1_are_loaded(void)
{
	struct qless_jobs jobs;

	load_hex(sample, sizeof sample - 1);
	TEST_ASSERT_EQUAL_UINT64(0, lock_of("running"));
	TEST_ASSERT_EQUAL_INT(0, qless_pop(engines_get(&to, 0), 15, STR("q"), STR("w"), 1, &jobs));
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
	TEST_ASSERT_EQUAL_UINT64(1, lock_of("slow"));
	fresh_target();
	load_hex(sample_2, sizeof sample_2 - 1);
	TEST_ASSERT_EQUAL_UINT64(2, lock_of("running"));
	TEST_ASSERT_EQUAL_INT(0, qless_pop(engines_get(&to, 0), 15, STR("q"), STR("w"), 1, &jobs));
	TEST_ASSERT_EQUAL_UINT64(5, lock_of("slow"));
}

static void a_snapshot_loads_however_it_is_cut_into_pieces(void)
{
	make_small_state();
	for (size_t step = 1; step < 40; step++) {
		fresh_target();
		TEST_ASSERT_EQUAL_INT(0, load(&to, buf_str(&bytes), step));
		assert_same_engines();
	}
}

static void a_snapshot_that_ends_too_early_is_refused(void)
{
	make_small_state();
	for (size_t len = 0; len < bytes.len; len++) {
		fresh_target();
		TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, load(&to, str_make(buf_data(&bytes), len), 0));
	}
}

static void bytes_after_the_end_are_refused(void)
{
	make_small_state();
	buf_append_char(&bytes, 0);
	TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, load(&to, buf_str(&bytes), 0));
}

static void a_damaged_snapshot_is_refused_or_gives_a_sound_engine(void)
{
	unsigned long long rng = 5;
	unsigned loaded = 0;

	make_small_state();
	for (size_t i = 0; i < bytes.len * 3; i++) {
		char *at = buf_data(&bytes) + i % bytes.len;
		char old = *at;

		*at = (char)unit_random(&rng);
		fresh_target();
		if (load(&to, buf_str(&bytes), 0) == 0) {
			TEST_ASSERT_EQUAL_size_t(0, qless_check(engines_get(&to, 0), report, NULL));
			loaded++;
		}
		*at = old;
	}
	TEST_ASSERT_TRUE(loaded > 0);
}

static void put_numbered(unsigned number)
{
	char jid[16];
	struct qless_put put = { .queue = QLESS_STR("q"),
				 .klass = QLESS_STR("k"),
				 .worker = QLESS_STR("w"),
				 .data = QLESS_STR("{}") };

	put.jid = str_make(jid, (size_t)snprintf(jid, sizeof jid, "job-%05u", number));
	TEST_ASSERT_EQUAL_INT(0, qless_put(engines_get(&from, 0), 10 + number, &put));
}

static void a_job_that_comes_twice_is_refused_however_far_apart(void)
{
	for (unsigned i = 0; i < 1000; i++)
		put_numbered(i);
	save(&from, &bytes);
	TEST_ASSERT_EQUAL_INT(0, load(&to, buf_str(&bytes), 0));
	for (unsigned i = 1; i < 1000; i++) {
		char jid[16];
		char *at;

		snprintf(jid, sizeof jid, "job-%05u", i);
		at = memmem(buf_data(&bytes), bytes.len, jid, 9);
		TEST_ASSERT_NOT_NULL(at);
		memcpy(at, "job-00000", 9);
		fresh_target();
		TEST_ASSERT_EQUAL_INT(QLESS_EBADARG, load(&to, buf_str(&bytes), 0));
		memcpy(at, jid, 9);
	}
}

/* The engine makes longer names than a call may have. */
static void names_made_from_the_longest_names_come_back(void)
{
	char *name = malloc(QLESS_MAX_NAME_BYTES);
	struct qless_str longest = { name, QLESS_MAX_NAME_BYTES };
	struct qless_recur_put recur = { .queue = longest,
					 .jid = longest,
					 .klass = STR("k"),
					 .data = STR("{}"),
					 .interval = 10 };
	struct qless *q = engines_get(&from, 0);
	struct qless_jobs jobs;

	memset(name, 'n', QLESS_MAX_NAME_BYTES);
	TEST_ASSERT_EQUAL_INT(0, qless_recur(q, 1, &recur));
	TEST_ASSERT_EQUAL_INT(0, qless_config_set(q, 1, STR("grace-period"), STR("0")));
	TEST_ASSERT_EQUAL_INT(0, qless_pop(q, 1, longest, STR("w"), 1, &jobs));
	TEST_ASSERT_EQUAL_size_t(1, jobs.count);
	TEST_ASSERT_EQUAL_INT(0, qless_pop(q, 1000, longest, STR("v"), 1, &jobs));
	save(&from, &bytes);
	TEST_ASSERT_EQUAL_INT(0, load(&to, buf_str(&bytes), 0));
	assert_same_engines();
	free(name);
}

static bool refuse_piece(void *arg, struct qless_str piece)
{
	(void)piece;
	++*(int *)arg;
	return false;
}

static void saving_stops_when_the_writer_refuses_a_piece(void)
{
	int calls = 0;

	make_small_state();
	TEST_ASSERT_FALSE(state_save(engines_get(&from, 0), refuse_piece, &calls));
	TEST_ASSERT_EQUAL_INT(1, calls);
}

static void data_larger_than_a_piece_comes_back_whole(void)
{
	size_t len = 3 * STATE_PIECE_BYTES + 17;
	char *data = malloc(len);
	struct qless_put put = { .queue = QLESS_STR("q"),
				 .jid = QLESS_STR("j"),
				 .klass = QLESS_STR("k"),
				 .worker = QLESS_STR("w") };

	for (size_t i = 0; i < len; i++)
		data[i] = (char)('a' + i % 26);
	put.data = str_make(data, len);
	TEST_ASSERT_EQUAL_INT(0, qless_put(engines_get(&from, 0), 10, &put));
	save(&from, &bytes);
	TEST_ASSERT_EQUAL_INT(0, load(&to, buf_str(&bytes), STATE_PIECE_BYTES));
	assert_same_engines();
	free(data);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(an_empty_engine_is_saved_and_loaded);
	RUN(a_loaded_engine_is_the_same_and_behaves_alike);
	RUN(snapshots_of_version_1_are_loaded);
	RUN(snapshots_of_version_2_are_loaded);
	RUN(snapshots_of_version_3_have_the_bytes_they_always_had);
	RUN(a_snapshot_loads_however_it_is_cut_into_pieces);
	RUN(a_snapshot_that_ends_too_early_is_refused);
	RUN(bytes_after_the_end_are_refused);
	RUN(a_damaged_snapshot_is_refused_or_gives_a_sound_engine);
	RUN(a_job_that_comes_twice_is_refused_however_far_apart);
	RUN(names_made_from_the_longest_names_come_back);
	RUN(saving_stops_when_the_writer_refuses_a_piece);
	RUN(data_larger_than_a_piece_comes_back_whole);
	return UNIT_RESULT();
}
