#include "replication/core.h"

#include "core_nodes.h"

/* Large, so not on the stack. */
static struct nodes g;

void setUp(void)
{
}

void tearDown(void)
{
	nodes_done(&g);
	memset(&g, 0, sizeof g);
}

static struct node *leader(void)
{
	return &g.node[nodes_elect(&g)];
}

/* Another voter than this one. */
static struct node *follower_of(const struct node *n)
{
	return &g.node[n->id == 1 ? 2 : 1];
}

static void logs_are_equal(uint64_t count)
{
	for (uint64_t id = 2; id <= count; id++) {
		TEST_ASSERT_EQUAL_UINT64(g.node[1].last, g.node[id].last);
		TEST_ASSERT_EQUAL_UINT64(g.node[1].commit, g.node[id].commit);
		for (uint64_t i = g.node[id].first; i <= g.node[id].last; i++) {
			TEST_ASSERT_EQUAL_UINT64(g.node[1].log[i].term, g.node[id].log[i].term);
			TEST_ASSERT_EQUAL_UINT64(g.node[1].payload[i], g.node[id].payload[i]);
		}
	}
}

/* ---- elections ---- */

static void a_group_elects_one_leader(void)
{
	struct node *l;

	nodes_init(&g, 3, 0);
	l = leader();
	for (uint64_t id = 1; id <= 3; id++) {
		TEST_ASSERT_EQUAL_INT(id == l->id ? CORE_LEADER : CORE_FOLLOWER, g.node[id].role);
		TEST_ASSERT_EQUAL_UINT64(l->id, g.node[id].leader);
		TEST_ASSERT_EQUAL_UINT64(l->term, core_term(g.node[id].core));
		TEST_ASSERT_EQUAL_UINT64(l->id, core_leader(g.node[id].core));
	}
}

static void the_first_entry_of_a_leader_is_a_barrier(void)
{
	struct node *l;

	nodes_init(&g, 3, 0);
	l = leader();
	TEST_ASSERT_EQUAL_INT(CORE_BARRIER, l->log[2].kind);
	TEST_ASSERT_EQUAL_UINT64(l->term, l->log[2].term);
	TEST_ASSERT_EQUAL_UINT64(2, l->commit);
}

static void a_group_goes_on_without_its_leader(void)
{
	struct node *old, *l;

	nodes_init(&g, 3, 0);
	old = leader();
	node_submit(&g, old->id);
	nodes_run(&g, 100);
	old->is_cut_off = true;
	nodes_run(&g, 3000);
	l = &g.node[nodes_leader(&g)];
	TEST_ASSERT_TRUE(l != old);
	TEST_ASSERT_TRUE(l->term > old->term);
	/* A leader that hears of no majority stops leading. */
	TEST_ASSERT_NOT_EQUAL_INT(CORE_LEADER, old->role);
	TEST_ASSERT_NOT_EQUAL_UINT64(0, node_submit(&g, l->id));
	old->is_cut_off = false;
	nodes_run(&g, 2000);
	logs_are_equal(3);
	TEST_ASSERT_EQUAL_UINT64(1, g.node[1].payload[3]);
}

static void a_minority_elects_nobody(void)
{
	nodes_init(&g, 3, 0);
	g.node[1].is_cut_off = true;
	g.node[2].is_cut_off = true;
	nodes_run(&g, 5000);
	TEST_ASSERT_EQUAL_UINT64(0, nodes_leader(&g));
	/* Trial votes leave the term as it is. */
	TEST_ASSERT_EQUAL_UINT64(1, g.node[3].term);
}

static void a_node_that_may_not_stand_follows(void)
{
	nodes_init(&g, 3, 0);
	core_set_may_stand(g.node[1].core, false);
	core_set_may_stand(g.node[2].core, false);
	TEST_ASSERT_EQUAL_UINT64(3, nodes_elect(&g));
	g.node[3].is_cut_off = true;
	nodes_run(&g, 5000);
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, g.node[1].role);
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, g.node[2].role);
	/* It does not believe for ever in a leader that is silent, and so votes for another. */
	TEST_ASSERT_EQUAL_UINT64(0, g.node[1].leader);
	core_set_may_stand(g.node[2].core, true);
	nodes_run(&g, 3000);
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, g.node[2].role);
}

static void a_node_with_unsynced_entries_does_not_stand(void)
{
	struct node *l, *f;

	nodes_init(&g, 3, 0);
	l = leader();
	f = follower_of(l);
	f->is_disk_held = true;
	node_submit(&g, l->id);
	nodes_run(&g, 100);
	TEST_ASSERT_EQUAL_UINT64(f->last - 1, core_stored_index(f->core));
	for (uint64_t id = 1; id <= NODES; id++)
		g.node[id].is_cut_off = id != f->id;
	nodes_run(&g, 5000);
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, f->role);
	TEST_ASSERT_EQUAL_UINT64(0, f->leader);
	f->is_disk_held = false;
	nodes_run(&g, 2000);
	TEST_ASSERT_EQUAL_INT(CORE_CANDIDATE, f->role);
}

static void a_group_of_one_commits_what_it_has_synced(void)
{
	struct node *n = &g.node[1];

	nodes_init(&g, 1, 0);
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, n->role);
	TEST_ASSERT_EQUAL_UINT64(2, n->commit);
	n->is_disk_held = true;
	TEST_ASSERT_EQUAL_UINT64(3, node_submit(&g, 1));
	TEST_ASSERT_EQUAL_UINT64(2, n->commit);
	n->is_disk_held = false;
	node_settle(&g, 1);
	TEST_ASSERT_EQUAL_UINT64(3, n->commit);
	/* Each start is a term of its own. */
	node_start(&g, 1);
	TEST_ASSERT_EQUAL_UINT64(3, n->term);
	TEST_ASSERT_EQUAL_UINT64(1, n->vote);
	TEST_ASSERT_EQUAL_UINT64(4, n->commit);
}

/* ---- entries ---- */

static void entries_are_committed_by_a_majority(void)
{
	struct node *l;
	uint64_t index;

	nodes_init(&g, 3, 0);
	l = leader();
	g.node[1].is_disk_held = g.node[2].is_disk_held = g.node[3].is_disk_held = true;
	index = node_submit(&g, l->id);
	nodes_run(&g, 50);
	TEST_ASSERT_EQUAL_UINT64(index - 1, l->commit);
	/* The leader's own disk is not needed for it. */
	for (uint64_t id = 1; id <= 3; id++)
		g.node[id].is_disk_held = id == l->id;
	nodes_run(&g, 50);
	TEST_ASSERT_EQUAL_UINT64(index, l->commit);
	TEST_ASSERT_TRUE(l->durable < index);
}

static void what_was_submitted_comes_back_as_it_was(void)
{
	uint64_t payloads[3] = { 11, 12, 13 };
	struct core_head heads[3];
	struct node *l;
	uint64_t first;

	nodes_init(&g, 3, 0);
	l = leader();
	for (int i = 0; i < 3; i++)
		heads[i] = (struct core_head){ .kind = CORE_OPERATIONS, .data = &payloads[i] };
	first = core_submit(l->core, heads, 3);
	TEST_ASSERT_EQUAL_UINT64(3, first);
	node_settle(&g, l->id);
	nodes_run(&g, 200);
	logs_are_equal(3);
	TEST_ASSERT_EQUAL_UINT64(12, g.node[1].payload[4]);
	TEST_ASSERT_EQUAL_UINT64(5, g.node[1].commit);
}

static void a_follower_takes_no_entries_of_its_own(void)
{
	nodes_init(&g, 3, 0);
	TEST_ASSERT_EQUAL_UINT64(0, node_submit(&g, follower_of(leader())->id));
}

static void a_follower_that_was_away_gets_what_it_missed(void)
{
	struct node *l, *f;

	nodes_init(&g, 3, 0);
	l = leader();
	f = follower_of(l);
	f->is_cut_off = true;
	for (int i = 0; i < 20; i++)
		node_submit(&g, l->id);
	nodes_run(&g, 300);
	TEST_ASSERT_EQUAL_UINT64(22, l->commit);
	f->is_cut_off = false;
	nodes_run(&g, 2000);
	logs_are_equal(3);
}

static void entries_that_nobody_else_has_are_cut_off(void)
{
	struct node *old, *l;

	nodes_init(&g, 3, 0);
	old = leader();
	old->is_cut_off = true;
	node_submit(&g, old->id);
	node_submit(&g, old->id);
	TEST_ASSERT_EQUAL_UINT64(4, old->last);
	nodes_run(&g, 3000);
	l = &g.node[nodes_leader(&g)];
	node_submit(&g, l->id);
	nodes_run(&g, 100);
	old->action_count = 0;
	old->is_cut_off = false;
	nodes_run(&g, 2000);
	logs_are_equal(3);
	TEST_ASSERT_EQUAL_UINT64(3, old->payload[4]);
	for (unsigned i = 0; i < old->action_count; i++)
		if (old->actions[i] == CORE_CUT)
			return;
	TEST_FAIL_MESSAGE("nothing was cut");
}

static void a_node_begins_with_what_is_on_its_disk(void)
{
	struct node *l;

	nodes_init(&g, 3, 0);
	l = leader();
	for (int i = 0; i < 5; i++)
		node_submit(&g, l->id);
	nodes_run(&g, 200);
	for (uint64_t id = 1; id <= 3; id++) {
		node_start(&g, id);
		TEST_ASSERT_EQUAL_UINT64(7, core_last_index(g.node[id].core));
		TEST_ASSERT_EQUAL_UINT64(l->log[7].term, core_term_at(g.node[id].core, 7));
		TEST_ASSERT_EQUAL_UINT64(1, core_term_at(g.node[id].core, 1));
		TEST_ASSERT_EQUAL_UINT64(0, core_term_at(g.node[id].core, 8));
	}
	nodes_elect(&g);
	nodes_run(&g, 200);
	logs_are_equal(3);
	TEST_ASSERT_EQUAL_UINT64(8, g.node[1].commit);
}

static void a_node_goes_on_from_what_was_committed(void)
{
	struct core_options options = { .id = 1,
					.election_ms = ELECTION_MS,
					.heartbeat_ms = HEARTBEAT_MS };
	struct core_start start = { .term = 1, .commit = 3 };
	struct members members = node_members(2, 0);
	struct core_head list = { .term = 1, .kind = CORE_MEMBERS, .members = &members };
	struct core_head operations = { .term = 1, .kind = CORE_OPERATIONS };
	struct core_action action;
	struct core_base base;
	struct core *core = core_create(&options, &start);

	nodes_init(&g, 3, 0);
	core_load(core, &list);
	core_load(core, &operations);
	TEST_ASSERT_TRUE(members_set(&members, 3, "n3:1", false));
	core_load(core, &list);
	core_load(core, &operations);
	core_start(core, 1000);
	TEST_ASSERT_EQUAL_UINT64(3, core_commit(core));
	TEST_ASSERT_TRUE(core_base_at(core, 3, &base));
	TEST_ASSERT_EQUAL_UINT64(3, base.members_index);
	TEST_ASSERT_FALSE(core_base_at(core, 4, &base));
	core_base_made(core, 3, 4);
	while (core_next(core, &action))
		TEST_ASSERT_NOT_EQUAL_INT(CORE_COMMIT, action.kind);
	core_free(core);
}

/* ---- snapshots ---- */

/* Make a base of all committed entries, and keep the log from `first` on. */
static void make_base(struct node *n, uint64_t index, uint64_t first)
{
	TEST_ASSERT_TRUE(core_base_at(n->core, index, &n->base));
	n->first = first;
	core_base_made(n->core, index, first);
	node_settle(&g, n->id);
}

static void install(struct node *n)
{
	n->base = n->offer;
	n->first = n->base.index + 1;
	n->last = n->durable = n->commit = n->base.index;
	n->is_offered = false;
	core_base_installed(n->core);
	node_settle(&g, n->id);
}

static struct node *lagging_behind_a_base(struct node **ret_leader)
{
	struct node *l, *f;

	nodes_init(&g, 3, 0);
	l = leader();
	f = follower_of(l);
	f->is_cut_off = true;
	for (int i = 0; i < 20; i++)
		node_submit(&g, l->id);
	nodes_run(&g, 300);
	make_base(l, 20, 18);
	f->is_cut_off = false;
	nodes_run(&g, 1000);
	*ret_leader = l;
	return f;
}

static void a_base_says_the_members_of_its_time(void)
{
	struct core_base base;
	struct node *l;

	nodes_init(&g, 3, 0);
	l = leader();
	node_submit(&g, l->id);
	nodes_run(&g, 200);
	TEST_ASSERT_FALSE(core_base_at(l->core, 0, &base));
	TEST_ASSERT_FALSE(core_base_at(l->core, 4, &base));
	TEST_ASSERT_TRUE(core_base_at(l->core, 3, &base));
	TEST_ASSERT_EQUAL_UINT64(l->term, base.term);
	TEST_ASSERT_EQUAL_UINT64(1, base.members_index);
	TEST_ASSERT_EQUAL_UINT(3, base.members.count);
	make_base(l, 3, 4);
	TEST_ASSERT_EQUAL_UINT64(4, core_first_index(l->core));
	TEST_ASSERT_EQUAL_UINT64(base.term, core_term_at(l->core, 3));
	TEST_ASSERT_FALSE(core_base_at(l->core, 2, &base));
	/* It goes on from there, also after a start. */
	node_submit(&g, l->id);
	nodes_run(&g, 200);
	node_start(&g, l->id);
	TEST_ASSERT_EQUAL_UINT64(4, core_last_index(l->core));
}

static void a_node_far_behind_is_offered_a_base(void)
{
	struct node *l;
	struct node *f = lagging_behind_a_base(&l);

	TEST_ASSERT_TRUE(f->is_offered);
	TEST_ASSERT_EQUAL_UINT64(20, f->offer.index);
	TEST_ASSERT_EQUAL_UINT64(l->log[20].term, f->offer.term);
	TEST_ASSERT_TRUE(members_equal(&l->base.members, &f->offer.members));
	/* It fetches one at a time, and the leader does not repeat the offer with each heartbeat.
	 */
	f->is_offered = false;
	l->offers = 0;
	nodes_run(&g, 5000);
	TEST_ASSERT_FALSE(f->is_offered);
	TEST_ASSERT_TRUE(l->offers <= 5000 / (2 * ELECTION_MS) + 1);
	TEST_ASSERT_NOT_EQUAL_UINT(0, l->offers);
	TEST_ASSERT_EQUAL_UINT64(2, f->commit);

	TEST_ASSERT_TRUE(core_base_accept(f->core));
	install(f);
	TEST_ASSERT_EQUAL_UINT64(l->id, core_leader(f->core));
	nodes_run(&g, 500);
	TEST_ASSERT_EQUAL_UINT64(22, f->commit);
	TEST_ASSERT_EQUAL_UINT64(22, f->last);
}

static void an_older_base_than_the_leaders_serves_as_well(void)
{
	struct node *l;
	struct node *f = lagging_behind_a_base(&l);

	/* The leader keeps the log from the last entry of the base that is being fetched. */
	for (int i = 0; i < 10; i++)
		node_submit(&g, l->id);
	nodes_run(&g, 200);
	make_base(l, 30, 20);
	nodes_run(&g, 1000);
	TEST_ASSERT_TRUE(core_base_accept(f->core));
	install(f);
	f->is_offered = false;
	nodes_run(&g, 1000);
	TEST_ASSERT_FALSE(f->is_offered);
	TEST_ASSERT_EQUAL_UINT64(32, f->commit);
}

static void a_base_that_was_not_fetched_is_offered_again(void)
{
	struct node *l;
	struct node *f = lagging_behind_a_base(&l);

	f->is_offered = false;
	core_base_dropped(f->core);
	nodes_run(&g, 2000);
	TEST_ASSERT_TRUE(f->is_offered);
}

static void a_base_that_is_not_needed_any_more_is_not_accepted(void)
{
	struct node *l, *other;
	struct node *f = lagging_behind_a_base(&l);

	TEST_ASSERT_TRUE(f->is_offered);
	/* The next leader has the whole log. */
	other = &g.node[6 - l->id - f->id];
	l->is_cut_off = true;
	nodes_run(&g, 3000);
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, other->role);
	TEST_ASSERT_EQUAL_UINT64(other->last, f->last);
	TEST_ASSERT_FALSE(core_base_accept(f->core));
}

static void a_node_is_deaf_while_its_log_is_replaced(void)
{
	struct node *l;
	struct node *f = lagging_behind_a_base(&l);
	struct core_action action;

	TEST_ASSERT_TRUE(core_base_accept(f->core));
	f->action_count = 0;
	nodes_run(&g, 3000);
	TEST_ASSERT_EQUAL_UINT(0, f->action_count);
	TEST_ASSERT_FALSE(core_next(f->core, &action));
	TEST_ASSERT_EQUAL_INT64(INT64_MAX, core_deadline(f->core));
	core_persisted(f->core, 2);
	install(f);
	nodes_run(&g, 1000);
	TEST_ASSERT_EQUAL_UINT64(l->commit, f->commit);
}

/* ---- members ---- */

static struct members changed(const struct node *n, uint64_t id, bool is_voter)
{
	uint64_t index;
	bool is_committed;
	struct members m = *core_members(n->core, &index, &is_committed);
	char address[20];

	snprintf(address, sizeof address, "n%d:1", (int)id);
	TEST_ASSERT_TRUE(members_set(&m, id, address, is_voter));
	return m;
}

static void a_learner_catches_up_and_becomes_a_voter(void)
{
	struct node *l, *f = &g.node[4];
	struct members m;
	uint64_t index;
	bool is_committed;

	nodes_init(&g, 3, 0);
	l = leader();
	for (int i = 0; i < 20; i++)
		node_submit(&g, l->id);
	m = changed(l, 4, true);
	TEST_ASSERT_EQUAL_INT(CORE_NOT_CAUGHT_UP, core_change(l->core, &m));
	m = changed(l, 4, false);
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_change(l->core, &m));
	TEST_ASSERT_EQUAL_INT(CORE_CHANGING, core_catch_up(l->core, 4));
	node_settle(&g, l->id);
	nodes_run(&g, 500);
	TEST_ASSERT_EQUAL_UINT64(l->commit, f->commit);
	TEST_ASSERT_EQUAL_UINT64(l->last, core_match(l->core, 4));
	m = changed(l, 4, true);
	TEST_ASSERT_EQUAL_INT(CORE_NOT_CAUGHT_UP, core_change(l->core, &m));
	TEST_ASSERT_EQUAL_INT(CORE_CATCH_UP_NONE, core_catch_up_state(l->core, 4));
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_catch_up(l->core, 4));
	TEST_ASSERT_EQUAL_INT(CORE_CATCH_UP_RUNNING, core_catch_up_state(l->core, 4));
	TEST_ASSERT_EQUAL_INT(CORE_CHANGING, core_change(l->core, &m));
	node_settle(&g, l->id);
	nodes_run(&g, 500);
	TEST_ASSERT_EQUAL_INT(CORE_CATCH_UP_DONE, core_catch_up_state(l->core, 4));
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_change(l->core, &m));
	node_settle(&g, l->id);
	nodes_run(&g, 500);
	TEST_ASSERT_TRUE(members_equal(&m, core_members(f->core, &index, &is_committed)));
	TEST_ASSERT_TRUE(is_committed);
	/* Two of four are not enough any more. */
	follower_of(l)->is_cut_off = true;
	f->is_cut_off = true;
	index = node_submit(&g, l->id);
	nodes_run(&g, 200);
	TEST_ASSERT_TRUE(l->commit < index);
}

static void a_learner_that_hears_nothing_does_not_catch_up(void)
{
	struct node *l;

	nodes_init(&g, 3, 1);
	l = leader();
	g.node[4].is_cut_off = true;
	node_submit(&g, l->id);
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_catch_up(l->core, 4));
	node_settle(&g, l->id);
	nodes_run(&g, 5500);
	TEST_ASSERT_EQUAL_INT(CORE_CATCH_UP_FAILED, core_catch_up_state(l->core, 4));
	g.node[4].is_cut_off = false;
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_catch_up(l->core, 4));
	node_settle(&g, l->id);
	nodes_run(&g, 1000);
	TEST_ASSERT_EQUAL_INT(CORE_CATCH_UP_DONE, core_catch_up_state(l->core, 4));
}

static void a_learner_has_no_vote(void)
{
	struct node *l;
	uint64_t index;

	nodes_init(&g, 3, 2);
	l = leader();
	for (uint64_t id = 1; id <= 3; id++)
		g.node[id].is_cut_off = id != l->id;
	index = node_submit(&g, l->id);
	nodes_run(&g, 100);
	TEST_ASSERT_TRUE(l->commit < index);
	nodes_run(&g, 3000);
	TEST_ASSERT_EQUAL_UINT64(0, nodes_leader(&g));
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, g.node[4].role);
}

static void changes_that_are_none_or_too_many_are_refused(void)
{
	struct node *l, *f;
	struct members m;

	nodes_init(&g, 3, 2);
	l = leader();
	f = follower_of(l);
	m = changed(l, 4, false);
	TEST_ASSERT_EQUAL_INT(CORE_NOT_ONE_CHANGE, core_change(l->core, &m));
	TEST_ASSERT_TRUE(members_remove(&m, 4));
	TEST_ASSERT_EQUAL_INT(CORE_NOT_LEADER, core_change(f->core, &m));
	TEST_ASSERT_TRUE(members_remove(&m, 5));
	TEST_ASSERT_EQUAL_INT(CORE_NOT_ONE_CHANGE, core_change(l->core, &m));
	TEST_ASSERT_EQUAL_INT(CORE_NO_MEMBER, core_catch_up(l->core, 1));
	TEST_ASSERT_EQUAL_INT(CORE_NO_MEMBER, core_catch_up(l->core, 9));
	TEST_ASSERT_EQUAL_INT(CORE_NOT_LEADER, core_catch_up(f->core, 4));
	memset(&m, 0, sizeof m);
	TEST_ASSERT_EQUAL_INT(CORE_NOT_ONE_CHANGE, core_change(l->core, &m));
	TEST_ASSERT_EQUAL_STRING("there is no such member", core_result_text(CORE_NO_MEMBER));
}

static void the_members_of_a_lost_change_come_back(void)
{
	struct node *old, *l;
	struct members m;
	uint64_t index;
	bool is_committed;

	nodes_init(&g, 3, 0);
	old = leader();
	old->is_cut_off = true;
	m = changed(old, 4, false);
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_change(old->core, &m));
	node_settle(&g, old->id);
	TEST_ASSERT_EQUAL_UINT(4, core_members(old->core, &index, &is_committed)->count);
	TEST_ASSERT_FALSE(is_committed);
	nodes_run(&g, 3000);
	l = &g.node[nodes_leader(&g)];
	TEST_ASSERT_TRUE(l != old);
	old->is_cut_off = false;
	nodes_run(&g, 1000);
	TEST_ASSERT_EQUAL_UINT(3, core_members(old->core, &index, &is_committed)->count);
	TEST_ASSERT_EQUAL_UINT64(1, index);
	TEST_ASSERT_TRUE(is_committed);
}

static void a_leader_cannot_remove_itself(void)
{
	struct node *l;
	struct members m;

	nodes_init(&g, 3, 0);
	l = leader();
	m = changed(l, l->id, false);
	TEST_ASSERT_EQUAL_INT(CORE_LEADING, core_change(l->core, &m));
	TEST_ASSERT_TRUE(members_remove(&m, l->id));
	TEST_ASSERT_EQUAL_INT(CORE_LEADING, core_change(l->core, &m));
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_transfer(l->core, 0));
	node_settle(&g, l->id);
	nodes_run(&g, 100);
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_change(g.node[nodes_leader(&g)].core, &m));
	node_settle(&g, nodes_leader(&g));
	nodes_run(&g, 100);
	TEST_ASSERT_EQUAL_UINT64(g.node[nodes_leader(&g)].last, g.node[nodes_leader(&g)].commit);
	/* The removed node does not stand any more, or the others do not listen. */
	nodes_run(&g, 3000);
	TEST_ASSERT_NOT_EQUAL_INT(CORE_LEADER, l->role);
}

static void a_change_waits_for_the_last_new_voter(void)
{
	struct node *l;
	struct members m;

	nodes_init(&g, 3, 2);
	l = leader();
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_catch_up(l->core, 4));
	node_settle(&g, l->id);
	nodes_run(&g, 500);
	TEST_ASSERT_EQUAL_INT(CORE_CATCH_UP_DONE, core_catch_up_state(l->core, 4));
	g.node[4].is_cut_off = true;
	m = changed(l, 4, true);
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_change(l->core, &m));
	node_settle(&g, l->id);
	nodes_run(&g, 200);
	TEST_ASSERT_EQUAL_UINT64(l->last, l->commit);
	TEST_ASSERT_TRUE(members_remove(&m, 5));
	TEST_ASSERT_EQUAL_INT(CORE_CHANGING, core_change(l->core, &m));
	/* Unless it is about the new voter itself. */
	m = changed(l, 4, false);
	TEST_ASSERT_EQUAL_INT(CORE_DEMOTING, core_change(l->core, &m));
	TEST_ASSERT_TRUE(members_remove(&m, 4));
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_change(l->core, &m));
	node_settle(&g, l->id);
	nodes_run(&g, 200);
	TEST_ASSERT_TRUE(members_remove(&m, 5));
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_change(l->core, &m));
}

/* ---- handing over ---- */

static void leadership_is_handed_over(void)
{
	struct node *l, *f;

	nodes_init(&g, 3, 0);
	l = leader();
	f = follower_of(l);
	TEST_ASSERT_EQUAL_INT(CORE_NO_MEMBER, core_transfer(l->core, 4));
	TEST_ASSERT_EQUAL_INT(CORE_NO_MEMBER, core_transfer(l->core, l->id));
	TEST_ASSERT_EQUAL_INT(CORE_NOT_LEADER, core_transfer(f->core, l->id));
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_transfer(l->core, f->id));
	TEST_ASSERT_TRUE(core_is_transferring(l->core));
	TEST_ASSERT_EQUAL_UINT64(0, node_submit(&g, l->id));
	nodes_run(&g, 20);
	TEST_ASSERT_EQUAL_UINT64(f->id, nodes_leader(&g));
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, l->role);
	TEST_ASSERT_NOT_EQUAL_UINT64(0, node_submit(&g, f->id));
}

static void handing_over_waits_until_the_heir_has_all_entries(void)
{
	struct node *l, *f;

	nodes_init(&g, 3, 0);
	l = leader();
	f = follower_of(l);
	f->is_disk_held = true;
	node_submit(&g, l->id);
	nodes_run(&g, 10);
	node_submit(&g, l->id);
	nodes_run(&g, 10);
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_transfer(l->core, f->id));
	/* The first acknowledgement is not the last. */
	f->durable = f->last - 1;
	core_persisted(f->core, f->durable);
	node_settle(&g, f->id);
	nodes_run(&g, 100);
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, l->role);
	f->is_disk_held = false;
	nodes_run(&g, 20);
	TEST_ASSERT_EQUAL_UINT64(f->id, nodes_leader(&g));
}

static void handing_over_to_who_does_not_answer_ends(void)
{
	struct node *l, *f;

	nodes_init(&g, 3, 0);
	l = leader();
	f = follower_of(l);
	f->is_cut_off = true;
	node_submit(&g, l->id);
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_transfer(l->core, f->id));
	nodes_run(&g, ELECTION_MS + HEARTBEAT_MS);
	TEST_ASSERT_FALSE(core_is_transferring(l->core));
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, l->role);
	TEST_ASSERT_NOT_EQUAL_UINT64(0, node_submit(&g, l->id));
	/* Without a name it is who has most. */
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_transfer(l->core, 0));
	nodes_run(&g, 50);
	TEST_ASSERT_EQUAL_UINT64(6 - l->id - f->id, nodes_leader(&g));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_group_elects_one_leader);
	RUN(the_first_entry_of_a_leader_is_a_barrier);
	RUN(a_group_goes_on_without_its_leader);
	RUN(a_minority_elects_nobody);
	RUN(a_node_that_may_not_stand_follows);
	RUN(a_node_with_unsynced_entries_does_not_stand);
	RUN(a_group_of_one_commits_what_it_has_synced);
	RUN(entries_are_committed_by_a_majority);
	RUN(what_was_submitted_comes_back_as_it_was);
	RUN(a_follower_takes_no_entries_of_its_own);
	RUN(a_follower_that_was_away_gets_what_it_missed);
	RUN(entries_that_nobody_else_has_are_cut_off);
	RUN(a_node_begins_with_what_is_on_its_disk);
	RUN(a_node_goes_on_from_what_was_committed);
	RUN(a_base_says_the_members_of_its_time);
	RUN(a_node_far_behind_is_offered_a_base);
	RUN(an_older_base_than_the_leaders_serves_as_well);
	RUN(a_base_that_was_not_fetched_is_offered_again);
	RUN(a_base_that_is_not_needed_any_more_is_not_accepted);
	RUN(a_node_is_deaf_while_its_log_is_replaced);
	RUN(a_learner_catches_up_and_becomes_a_voter);
	RUN(a_learner_that_hears_nothing_does_not_catch_up);
	RUN(a_learner_has_no_vote);
	RUN(changes_that_are_none_or_too_many_are_refused);
	RUN(the_members_of_a_lost_change_come_back);
	RUN(a_leader_cannot_remove_itself);
	RUN(a_change_waits_for_the_last_new_voter);
	RUN(leadership_is_handed_over);
	RUN(handing_over_waits_until_the_heir_has_all_entries);
	RUN(handing_over_to_who_does_not_answer_ends);
	return UNIT_RESULT();
}
