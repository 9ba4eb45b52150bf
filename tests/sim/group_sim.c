/*
 * Three nodes of a group in one process, with real engines and real logs on disks in memory. Time
 * and network are made of a seed: delays, losses, duplicates, links that are cut in one or both
 * directions, machines that crash with any part of what was not synced, slow turns, and snapshots.
 *
 * At every commit: the entry is the same on all nodes. In the end, after some quiet time: one node
 * leads, nothing that a leader has acknowledged is lost, and all engines are equal to one that has
 * run the committed entries in order.
 */
#include "journal_fixture.h"

#include <inttypes.h>

#include "replication/group.h"
#include "util/mem.h"

#define NODES	    3
#define STEP_US	    2000
#define STEPS	    6000
#define QUIET_STEPS 4000
#define ENTRIES_MAX 60000
#define WIRE_BYTES  ((size_t)64 * 1024)
#define SEEDS	    60

struct packet {
	int64_t at_us;
	uint64_t from, to;
	struct core_message message;
	struct core_base base;
	struct buf entries;
};

struct node {
	uint64_t id;
	struct fixture f;
	struct replay replay;
	struct group *group;   /* NULL: the machine is down */
	int64_t up_us;	       /* when it starts again */
	int64_t slow_us;       /* its turns do not run before this time */
	uint64_t fetches_from; /* the node whose snapshot it fetches; 0: none */
	struct core_base fetched;
	int64_t fetched_us; /* when that has ended */
	uint64_t starts;
};

struct entry {
	uint64_t term;
	uint64_t sum;
};

static struct {
	struct node nodes[NODES];
	struct packet *packets;
	size_t packet_count, packet_cap;
	bool is_cut[NODES + 1][NODES + 1];
	int64_t us;
	unsigned long long rng;
	unsigned long long seed;
	bool is_quiet;
	struct random_calls calls;
	/* The entries that some node knew to be committed, and those whose replies have left. */
	struct entry committed[ENTRIES_MAX], acknowledged[ENTRIES_MAX];
	uint64_t committed_last, acknowledged_last;
	bool answers_early; /* a planted fault: replies leave before the commit */
	struct {
		uint64_t changes, elections, replaced, rebuilds, installs, crashes, lost;
	} count;
} world;

static unsigned pick(unsigned below)
{
	return (unsigned)(unit_random(&world.rng) % below);
}

static const char *where(void)
{
	static char text[64];

	snprintf(text, sizeof text, "seed %llu, second %.3f", world.seed,
		 (double)(world.us % 1000000000) / 1e6);
	return text;
}

/*
 * The network
 */

static void put_packet(const struct node *from, uint64_t to, const struct core_message *message,
		       const struct buf *entries)
{
	struct packet *p;

	world.packets = mem_grow(world.packets, &world.packet_cap, world.packet_count + 1,
				 sizeof *world.packets);
	p = &world.packets[world.packet_count++];
	*p = (struct packet){ .at_us = world.us + 200 + pick(6000),
			      .from = from->id,
			      .to = to,
			      .message = *message };
	if (!world.is_quiet && pick(50) == 0)
		p->at_us += pick(300000);
	if (message->kind == CORE_BASE_OFFER) {
		p->base = *message->offer;
		p->message.offer = NULL;
	}
	buf_init(&p->entries, BUF_NO_MAX);
	buf_append_str(&p->entries, buf_str(entries));
}

/* As nodes.c does: the range is what the journal has, and the commit index covers no more. */
static void send(void *arg, uint64_t to, const struct core_message *message)
{
	struct node *n = arg;
	struct core_message copy = *message;
	struct buf entries = BUF_INIT(BUF_NO_MAX);
	uint64_t count = 0;

	if (message->kind == CORE_ENTRIES) {
		uint64_t last = copy.entries.previous_index;

		if (copy.entries.count > 0 &&
		    group_fetch(n->group, copy.term, last + 1, copy.entries.count, WIRE_BYTES,
				&entries, &count) == GROUP_GONE)
			goto out;
		copy.entries.count = (uint32_t)count;
		if (copy.entries.commit > last + count)
			copy.entries.commit = last + count;
	}
	if (world.is_cut[n->id][to] || (!world.is_quiet && pick(40) == 0)) {
		world.count.lost++;
		goto out;
	}
	put_packet(n, to, &copy, &entries);
	if (!world.is_quiet && pick(60) == 0)
		put_packet(n, to, &copy, &entries);
out:
	buf_done(&entries);
}

static void deliver(struct packet *p)
{
	struct node *n = &world.nodes[p->to - 1];

	if (p->message.kind == CORE_BASE_OFFER)
		p->message.offer = &p->base;
	if (n->group != NULL)
		group_receive(n->group, p->from, &p->message, buf_str(&p->entries));
	buf_done(&p->entries);
}

static void deliver_due(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < world.packet_count; i++) {
		if (world.packets[i].at_us <= world.us)
			deliver(&world.packets[i]);
		else
			world.packets[kept++] = world.packets[i];
	}
	world.packet_count = kept;
}

static void drop_packets(void)
{
	for (size_t i = 0; i < world.packet_count; i++)
		buf_done(&world.packets[i].entries);
	free(world.packets);
	world.packets = NULL;
	world.packet_count = world.packet_cap = 0;
}

/*
 * Nodes
 */

static int apply_operation(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct node *n = arg;

	return databases_apply(n->f.engines.databases, op, ret_error);
}

static int apply(void *arg, const struct record *record, struct buf *ret_error)
{
	struct node *n = arg;
	uint64_t count = 0;

	return fixture_replay(n->f.engines.databases, record, apply_operation, n, &count,
			      ret_error);
}

static void record(void *arg, const struct operation *op)
{
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct node *n = arg;

	operation_encode(op, &bytes);
	commit_log_append(group_log(n->group), buf_str(&bytes));
	buf_done(&bytes);
}

static void record_changes(struct node *n)
{
	struct operation_recorder recorder = { .record = record, .arg = n };

	databases_set_recorder(n->f.engines.databases, &recorder);
}

/* Fetches a snapshot, which takes some time. */
static void install(void *arg, uint64_t from, const struct core_base *base)
{
	struct node *n = arg;

	n->fetches_from = from;
	n->fetched = *base;
	n->fetched_us = world.us + pick(400000);
}

/* Copies the snapshot in pieces. Returns false if the other node does not have it any more. */
static bool copy_base(struct node *n, struct node *from)
{
	struct journal_base_file file = { .fd = -1 };
	uint64_t offset = 0;
	char piece[1500];
	bool is_there;

	if (from->group == NULL || world.is_cut[from->id][n->id])
		return false;
	is_there = journal_open_base(from->f.journal, &file) == 0 &&
		   file.index == n->fetched.index && file.term == n->fetched.term &&
		   journal_begin_install(n->f.journal, file.size, file.salt, &offset) == 0;
	while (is_there && offset < file.size) {
		ssize_t len =
			journal_read_base(from->f.journal, &file, piece, sizeof piece, offset);

		is_there = len > 0 &&
			   journal_install_piece(n->f.journal, str_make(piece, (size_t)len)) == 0;
		offset += (uint64_t)len;
	}
	journal_close_base(from->f.journal, &file);
	return is_there;
}

static void fetch_base(struct node *n)
{
	struct node *from = &world.nodes[n->fetches_from - 1];

	n->fetches_from = 0;
	group_end_install(n->group, copy_base(n, from));
}

static void begin_group(struct node *n)
{
	struct journal_identity identity = { .group = { 1 }, .node = n->id };
	struct members members = { 0 };
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	char address[32];
	int rc;

	for (uint64_t id = 1; id <= NODES; id++) {
		snprintf(address, sizeof address, "node%u:1", (unsigned)id);
		members_set(&members, id, address, true);
	}
	members_encode(&members, &bytes);
	rc = journal_begin_group(n->f.journal, &identity, buf_str(&bytes), &n->f.error);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&n->f.error));
	buf_done(&bytes);
}

static void start(struct node *n)
{
	struct group_options options = {
		.id = n->id,
		.seed = world.seed * 100 + n->id + 10 * n->starts++,
		.election_ms = 400,
		.heartbeat_ms = 80,
		.catch_up_ms = 5000,
		.send = send,
		.keep_entries = 1 + pick(20),
		.install = install,
		.apply = apply,
		.arg = n,
	};

	n->f.us = world.us;
	fixture_must_start(&n->f);
	if (!journal_has_group(n->f.journal))
		begin_group(n);
	n->group = group_open(&options, n->f.journal, world.us, &n->f.error);
	TEST_ASSERT_NOT_NULL_MESSAGE(n->group, buf_cstr(&n->f.error));
	record_changes(n);
}

static void crash(struct node *n)
{
	static const enum disk_crash ways[] = { DISK_KEEP_SYNCED, DISK_KEEP_ALL, DISK_KEEP_SOME,
						DISK_KEEP_ANY };
	struct group_info info;

	group_get_info(n->group, &info);
	world.count.elections += info.elections;
	world.count.replaced += info.replaced;
	world.count.rebuilds += info.rebuilds;
	world.count.crashes++;
	world.count.installs += info.installs;
	group_close(n->group);
	n->group = NULL;
	n->fetches_from = 0;
	fixture_kill(&n->f, ways[pick(4)], &world.rng);
	n->up_us = world.us + pick(pick(4) == 0 ? 5000000 : 1000000);
}

static uint64_t sum_of(struct qless_str payload)
{
	uint64_t sum = 1469598103934665603u;

	for (size_t i = 0; i < payload.len; i++)
		sum = (sum ^ (unsigned char)payload.ptr[i]) * 1099511628211u;
	return sum;
}

static struct entry read_entry(struct node *n, uint64_t index)
{
	struct journal_entries entries = { 0 };
	int count = journal_read_entries(n->f.journal, index, index, 0, &entries);
	struct entry entry = { 0 };

	TEST_ASSERT_EQUAL_INT_MESSAGE(1, count, where());
	entry = (struct entry){ entries.all[0].head.term, sum_of(entries.all[0].payload) };
	journal_entries_done(&entries);
	return entry;
}

/* An entry of the past may be only in a snapshot, if the node that has committed it died in the
 * same turn. Nobody has got a reply then. The result has no term. */
static struct entry look_up(struct node *n, uint64_t index)
{
	if (index < journal_first_index(n->f.journal))
		return (struct entry){ 0 };
	return read_entry(n, index);
}

/* Notes the entries that this node is the first to know as committed. */
static void check_commit(struct node *n)
{
	struct group_info info;

	group_get_info(n->group, &info);
	TEST_ASSERT_TRUE(info.commit < ENTRIES_MAX);
	while (world.committed_last < info.commit) {
		uint64_t index = ++world.committed_last;

		world.committed[index] = look_up(n, index);
	}
}

/* The leader sends the replies that wait for entries up to `last`. */
static void acknowledge(struct node *n, uint64_t last)
{
	while (world.acknowledged_last < last) {
		uint64_t index = ++world.acknowledged_last;

		world.acknowledged[index] = look_up(n, index);
	}
}

static void check_all_entries(struct node *n)
{
	for (uint64_t index = journal_first_index(n->f.journal); index <= world.committed_last;
	     index++) {
		struct entry entry = read_entry(n, index);

		if (world.committed[index].term == 0)
			continue;
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(world.committed[index].term, entry.term, where());
		TEST_ASSERT_EQUAL_HEX64_MESSAGE(world.committed[index].sum, entry.sum, where());
	}
}

/* As the server does when the engine has run what is not in the log. */
static void rebuild(struct node *n)
{
	struct recovery_target target = fixture_target(&n->f);
	struct group_info info;
	uint64_t index;
	int rc;

	group_get_info(n->group, &info);
	index = info.commit < info.durable ? info.commit : info.durable;
	engines_done(&n->f.engines);
	engines_init(&n->f.engines, FIXTURE_DBS, 1);
	rc = journal_load_state(n->f.journal, index, &target, &n->f.error);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&n->f.error));
	group_rebuilt(n->group, index);
	record_changes(n);
}

static void run_commands(struct node *n)
{
	for (unsigned i = pick(4); i > 0; i--)
		world.count.changes += fixture_step(&n->f, &world.calls);
}

static void turn(struct node *n)
{
	struct commit_log *log = group_log(n->group);
	bool was_healthy = log->state == COMMIT_LOG_HEALTHY;

	if (was_healthy && !world.is_quiet && pick(3) == 0)
		run_commands(n);
	if (n->fetches_from != 0 && world.us >= n->fetched_us)
		fetch_base(n);
	n->f.us = world.us;
	commit_log_flush(log,
			 &(struct commit_log_turn){ .mono_us = world.us, .wall_us = world.us });
	if (n->f.disk.dead || group_failure(n->group) != NULL) {
		TEST_ASSERT_TRUE_MESSAGE(n->f.disk.dead, group_failure(n->group));
		crash(n);
		return;
	}
	check_commit(n);
	if (was_healthy && log->state == COMMIT_LOG_HEALTHY)
		acknowledge(n, world.answers_early ? log->last : log->committed);
	if (group_needs_rebuild(n->group))
		rebuild(n);
	else if (group_can_apply(n->group))
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, group_apply(n->group, 1 + pick(4000), &n->f.error),
					      buf_cstr(&n->f.error));
}

/*
 * Trouble
 */

static void make_trouble(void)
{
	struct node *n = &world.nodes[pick(NODES)];
	unsigned from = 1 + pick(NODES), to = 1 + pick(NODES);

	switch (pick(600)) {
	case 0:
		if (n->group != NULL)
			crash(n);
		break;
	case 1:
		/* The machine stops in the middle of what it does with the disk. */
		if (n->group != NULL)
			disk_stop(&n->f.disk, DISK_CHANGES, pick(12));
		break;
	case 2:
	case 3:
		world.is_cut[from][to] = true;
		break;
	case 4:
		for (unsigned other = 1; other <= NODES; other++)
			world.is_cut[from][other] = world.is_cut[other][from] = true;
		break;
	case 5:
	case 6:
	case 7:
		memset(world.is_cut, 0, sizeof world.is_cut);
		break;
	case 8:
		n->slow_us = world.us + pick(900000);
		break;
	case 9:
	case 10:
	case 11:
	case 12:
		if (n->group != NULL)
			commit_log_snapshot(group_log(n->group));
		break;
	default:
		break;
	}
}

static void step(void)
{
	world.us += STEP_US;
	if (!world.is_quiet)
		make_trouble();
	deliver_due();
	for (int i = 0; i < NODES; i++) {
		struct node *n = &world.nodes[i];

		if (n->group == NULL && world.us >= n->up_us)
			start(n);
		if (n->group != NULL && world.us >= n->slow_us)
			turn(n);
	}
}

static void make_quiet(void)
{
	world.is_quiet = true;
	memset(world.is_cut, 0, sizeof world.is_cut);
	for (int i = 0; i < NODES; i++) {
		world.nodes[i].up_us = world.nodes[i].slow_us = 0;
		world.nodes[i].f.disk.fail_kinds = 0;
	}
}

static void check_end(void)
{
	char *first = NULL;
	int leaders = 0;

	for (int i = 0; i < NODES; i++) {
		struct node *n = &world.nodes[i];
		struct group_info info;
		char *dump;

		TEST_ASSERT_NOT_NULL_MESSAGE(n->group, where());
		group_get_info(n->group, &info);
		leaders += info.is_ready;
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(world.committed_last, info.commit, where());
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(world.committed_last, info.engine, where());
		check_all_entries(n);
		dump = fixture_dump(&n->f);
		if (first == NULL)
			first = dump;
		else
			TEST_ASSERT_EQUAL_STRING_MESSAGE(first, dump, where());
		if (first != dump)
			free(dump);
		world.count.elections += info.elections;
		world.count.replaced += info.replaced;
		world.count.rebuilds += info.rebuilds;
		world.count.installs += info.installs;
	}
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, leaders, where());
	free(first);
}

/* Returns how many acknowledged entries are not those that all nodes have. */
static uint64_t count_lost(void)
{
	uint64_t lost = 0;

	for (uint64_t index = 1; index <= world.acknowledged_last; index++) {
		const struct entry *now = &world.committed[index];
		const struct entry *then = &world.acknowledged[index];

		lost += index > world.committed_last ||
			(now->term != 0 && then->term != 0 &&
			 (now->term != then->term || now->sum != then->sum));
	}
	return lost;
}

static void begin_world(unsigned long long seed)
{
	world.seed = world.rng = seed;
	world.us = 1700000000000000;
	world.is_quiet = false;
	world.committed_last = world.acknowledged_last = 0;
	memset(world.is_cut, 0, sizeof world.is_cut);
	random_calls_init(&world.calls, seed);
	for (int i = 0; i < NODES; i++) {
		struct node *n = &world.nodes[i];

		*n = (struct node){ .id = (uint64_t)i + 1 };
		fixture_init(&n->f);
		n->f.options.segment_bytes = 5000;
		fixture_rebuild(&n->f);
		start(n);
	}
}

static void run_steps(int count)
{
	for (int i = 0; i < count; i++)
		step();
}

static void end_world(void)
{
	check_end();
	for (int i = 0; i < NODES; i++) {
		group_close(world.nodes[i].group);
		fixture_done(&world.nodes[i].f);
	}
	drop_packets();
}

/* Returns the number of acknowledged entries that are lost in the end. */
static uint64_t run(unsigned long long seed)
{
	begin_world(seed);
	run_steps(STEPS);
	make_quiet();
	run_steps(QUIET_STEPS);
	end_world();
	return count_lost();
}

void setUp(void)
{
}

void tearDown(void)
{
}

/* The seeds of an argument, or the usual ones. */
static unsigned long long first_seed = 1, seed_count = SEEDS;

static void nothing_acknowledged_is_lost_and_states_are_equal(void)
{
	for (unsigned long long seed = first_seed; seed < first_seed + seed_count; seed++)
		TEST_ASSERT_EQUAL_UINT64_MESSAGE(0, run(seed), where());
	printf("%llu seeds: %" PRIu64 " changes, %" PRIu64 " elections, %" PRIu64
	       " entries replaced, %" PRIu64 " engines rebuilt, %" PRIu64
	       " snapshots installed, %" PRIu64 " crashes, %" PRIu64 " messages lost\n",
	       seed_count, world.count.changes, world.count.elections, world.count.replaced,
	       world.count.rebuilds, world.count.installs, world.count.crashes, world.count.lost);
	/* The trouble was worth its name. */
	TEST_ASSERT_TRUE(world.count.changes > 0);
	TEST_ASSERT_TRUE(world.count.elections > 0);
	TEST_ASSERT_TRUE(world.count.crashes > 0);
	if (seed_count >= SEEDS) {
		TEST_ASSERT_TRUE(world.count.replaced > 0);
		TEST_ASSERT_TRUE(world.count.rebuilds > 0);
		TEST_ASSERT_TRUE(world.count.installs > 0);
	}
}

/* The test would notice. */
static void replies_before_the_commit_are_found(void)
{
	uint64_t lost = 0;

	world.answers_early = true;
	for (unsigned long long seed = first_seed; lost == 0 && seed < first_seed + 100; seed++)
		lost = run(seed);
	world.answers_early = false;
	TEST_ASSERT_TRUE(lost > 0);
}

/* While leadership is being transferred, the leader takes no operations that it could not append.
 */
static void a_transfer_that_fails_spoils_no_engine(void)
{
	struct node *leader = NULL;
	struct group_info info;
	uint64_t heir;

	begin_world(1);
	make_quiet();
	run_steps(1000);
	for (int i = 0; i < NODES; i++)
		if (group_log(world.nodes[i].group)->state == COMMIT_LOG_HEALTHY)
			leader = &world.nodes[i];
	TEST_ASSERT_NOT_NULL(leader);
	heir = leader->id % NODES + 1;
	world.is_cut[leader->id][heir] = world.is_cut[heir][leader->id] = true;
	/* The heir lacks an entry now, so it cannot take over. */
	world.count.changes += fixture_step(&leader->f, &world.calls);
	run_steps(20);
	TEST_ASSERT_EQUAL_INT(CORE_OK, group_transfer(leader->group, heir));
	for (int i = 0; i < 150; i++) {
		if (group_log(leader->group)->state == COMMIT_LOG_HEALTHY)
			fixture_step(&leader->f, &world.calls);
		step();
	}
	make_quiet();
	run_steps(QUIET_STEPS);
	group_get_info(leader->group, &info);
	TEST_ASSERT_EQUAL_UINT64(0, info.rebuilds);
	end_world();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		first_seed = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		seed_count = strtoull(argv[2], NULL, 10);
	UNITY_BEGIN();
	RUN_TEST(nothing_acknowledged_is_lost_and_states_are_equal);
	if (argc == 1)
		RUN_TEST(replies_before_the_commit_are_found);
	RUN_TEST(a_transfer_that_fails_spoils_no_engine);
	return UNITY_END();
}
