/* The core and single messages: above all, what libraft leaves to its user or gets
 * wrong. */
#include "replication/core.h"

#include "core_nodes.h"

static struct nodes g;
/* The node that gets the messages, and the last message that it sent. */
static struct node *n;
static struct node_message *sent;

void setUp(void)
{
	nodes_init(&g, 2, 0);
	n = &g.node[1];
	sent = NULL;
}

void tearDown(void)
{
	free(sent);
	nodes_done(&g);
	memset(&g, 0, sizeof g);
}

/* Take the messages that wait, and keep the last one of node 1. */
static void look(void)
{
	free(sent);
	sent = NULL;
	for (unsigned i = 0; i < g.message_count; i++) {
		if (g.message[i]->from == 1) {
			free(sent);
			sent = g.message[i];
		} else {
			free(g.message[i]);
		}
	}
	g.message_count = 0;
}

static bool receive(uint64_t from, const struct core_message *m)
{
	bool is_taken;

	n->action_count = 0;
	is_taken = core_receive(n->core, from, m);
	node_settle(&g, 1);
	look();
	return is_taken;
}

/* Node 2, which leads in this term, sends entries of kinds: 'o'perations, 'b'arrier, 'm'embers.
 * Lists get one more learner each. */
static void receive_entries(uint64_t term, uint64_t previous, uint64_t previous_term,
			    uint64_t commit, const char *kinds, uint64_t entry_term)
{
	static unsigned learners;
	static struct core_head heads[20];
	static struct members lists[20];
	struct core_message m = { .kind = CORE_ENTRIES, .term = term };

	memset(heads, 0, sizeof heads);
	if (previous == 1)
		learners = 0;
	for (unsigned i = 0; kinds[i] != '\0'; i++) {
		heads[i].term = entry_term;
		heads[i].kind = CORE_OPERATIONS;
		if (kinds[i] == 'b')
			heads[i].kind = CORE_BARRIER;
		if (kinds[i] == 'm') {
			lists[i] = node_members(2, ++learners);
			heads[i].kind = CORE_MEMBERS;
			heads[i].members = &lists[i];
		}
		m.entries.count++;
	}
	m.entries.previous_index = previous;
	m.entries.previous_term = previous_term;
	m.entries.commit = commit;
	m.entries.heads = heads;
	TEST_ASSERT_TRUE(receive(2, &m));
}

static unsigned member_count(uint64_t *ret_index)
{
	bool is_committed;

	return core_members(n->core, ret_index, &is_committed)->count;
}

static void answer_is(uint64_t rejected, uint64_t last_index)
{
	TEST_ASSERT_NOT_NULL(sent);
	TEST_ASSERT_EQUAL_INT(CORE_ENTRIES_RESULT, sent->message.kind);
	TEST_ASSERT_EQUAL_UINT64(2, sent->to);
	TEST_ASSERT_EQUAL_UINT64(rejected, sent->message.entries_result.rejected);
	TEST_ASSERT_EQUAL_UINT64(last_index, sent->message.entries_result.last_index);
}

/* Hear of nobody until this node stands. */
static void stand(void)
{
	for (uint64_t id = 2; id <= NODES; id++)
		g.node[id].is_cut_off = true;
	while (n->role != CORE_CANDIDATE)
		nodes_run(&g, 1);
	look();
}

/* Become leader by the vote of node 2. Returns a bit, 1 << id, for each node that gets a heartbeat:
 * these are the members that the library knows. */
static unsigned heartbeats_as_leader(void)
{
	struct core_message m = { .kind = CORE_VOTE_RESULT, .vote_result = { true, true } };
	unsigned receivers = 0;

	stand();
	m.term = n->term + 1;
	TEST_ASSERT_TRUE(core_receive(n->core, 2, &m));
	m.vote_result.is_trial = false;
	TEST_ASSERT_TRUE(core_receive(n->core, 2, &m));
	node_settle(&g, 1);
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, n->role);
	for (unsigned i = 0; i < g.message_count; i++)
		if (g.message[i]->message.kind == CORE_ENTRIES)
			receivers |= 1u << g.message[i]->to;
	look();
	return receivers;
}

/* ---- rule 1: the vote first ---- */

static void a_vote_is_stored_before_it_is_sent(void)
{
	struct core_message m = { .kind = CORE_VOTE,
				  .term = 5,
				  .vote = { .last_index = 9, .last_term = 4 } };

	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_EQUAL_INT(CORE_STORE_VOTE, n->actions[0]);
	TEST_ASSERT_EQUAL_UINT64(5, n->term);
	TEST_ASSERT_EQUAL_UINT64(2, n->vote);
	TEST_ASSERT_EQUAL_INT(CORE_SEND, n->actions[n->action_count - 1]);
	TEST_ASSERT_TRUE(sent->message.vote_result.is_granted);
}

static void a_new_term_is_stored_before_its_entries(void)
{
	receive_entries(4, 1, 1, 1, "oo", 4);
	TEST_ASSERT_EQUAL_INT(CORE_STORE_VOTE, n->actions[0]);
	TEST_ASSERT_EQUAL_INT(CORE_ROLE, n->actions[1]);
	TEST_ASSERT_EQUAL_INT(CORE_APPEND, n->actions[2]);
	TEST_ASSERT_EQUAL_INT(CORE_SEND, n->actions[3]);
	TEST_ASSERT_EQUAL_UINT64(0, n->vote);
	answer_is(0, 3);
}

static void a_candidate_stores_its_own_vote(void)
{
	struct core_message m = { .kind = CORE_VOTE_RESULT, .term = 2 };

	nodes_run(&g, 1);
	g.node[2].is_cut_off = true;
	while (n->role != CORE_CANDIDATE)
		nodes_run(&g, 10);
	TEST_ASSERT_EQUAL_UINT64(1, n->term);
	m.vote_result.is_granted = true;
	m.vote_result.is_trial = true;
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_EQUAL_INT(CORE_STORE_VOTE, n->actions[0]);
	TEST_ASSERT_EQUAL_UINT64(2, n->term);
	TEST_ASSERT_EQUAL_UINT64(1, n->vote);
	TEST_ASSERT_FALSE(sent->message.vote.is_trial);
	TEST_ASSERT_EQUAL_UINT64(2, sent->message.term);
	m.vote_result.is_trial = false;
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, n->role);
}

/* ---- rule 3: a cut, and syncs that began before it ---- */

static void an_older_tail_can_replace_a_newer_one(void)
{
	receive_entries(3, 1, 1, 1, "oo", 3);
	receive_entries(4, 1, 1, 1, "o", 2);
	TEST_ASSERT_EQUAL_INT(CORE_CUT, n->actions[2]);
	TEST_ASSERT_EQUAL_INT(CORE_APPEND, n->actions[3]);
	TEST_ASSERT_EQUAL_UINT64(2, n->last);
	TEST_ASSERT_EQUAL_UINT64(2, n->log[2].term);
	TEST_ASSERT_EQUAL_UINT64(2, core_term_at(n->core, 2));
}

static void a_sync_from_before_a_cut_counts_for_nothing(void)
{
	static struct core_head heads[1] = { { .term = 4, .kind = CORE_OPERATIONS } };
	struct core_message m = { .kind = CORE_ENTRIES, .term = 4 };
	struct core_action action;

	n->is_disk_held = true;
	receive_entries(3, 1, 1, 1, "oo", 3);
	m.entries.previous_index = 1;
	m.entries.previous_term = 1;
	m.entries.count = 1;
	m.entries.heads = heads;
	TEST_ASSERT_TRUE(core_receive(n->core, 2, &m));
	/* The owner has not yet seen the cut when it hears from its disk. */
	core_persisted(n->core, 3);
	core_persisted(n->core, 2);
	TEST_ASSERT_EQUAL_UINT64(1, core_stored_index(n->core));
	while (core_next(n->core, &action))
		node_do(&g, n, &action);
	core_persisted(n->core, 2);
	TEST_ASSERT_EQUAL_UINT64(2, core_stored_index(n->core));
	node_settle(&g, 1);
	look();
	answer_is(0, 2);
}

static void entries_are_acknowledged_when_they_are_on_the_disk(void)
{
	n->is_disk_held = true;
	receive_entries(3, 1, 1, 1, "ooo", 3);
	TEST_ASSERT_NULL(sent);
	n->durable = 3;
	core_persisted(n->core, 3);
	node_settle(&g, 1);
	look();
	answer_is(0, 3);
	receive_entries(3, 4, 3, 4, "", 3);
	answer_is(0, 3);
	TEST_ASSERT_EQUAL_UINT64(4, n->commit);
}

/* ---- rule 5: time ---- */

static void time_does_not_go_back(void)
{
	core_set_time(n->core, 5000);
	receive_entries(3, 1, 1, 1, "", 3);
	TEST_ASSERT_TRUE(core_deadline(n->core) >= 5000 + ELECTION_MS);
	/* Otherwise this heartbeat would be an old one. */
	core_set_time(n->core, 4000);
	receive_entries(3, 1, 1, 1, "", 3);
	TEST_ASSERT_TRUE(core_deadline(n->core) >= 5000 + ELECTION_MS);
	core_tick(n->core, 3000);
	core_tick(n->core, -1);
	node_settle(&g, 1);
	TEST_ASSERT_TRUE(core_deadline(n->core) >= 5000 + ELECTION_MS);
	look();
}

static void heartbeats_that_waited_for_a_long_turn_prevent_an_election(void)
{
	receive_entries(3, 1, 1, 1, "", 3);
	core_set_time(n->core, g.now + 5000);
	receive_entries(3, 1, 1, 1, "", 3);
	core_tick(n->core, g.now + 5000);
	node_settle(&g, 1);
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, n->role);
	core_tick(n->core, g.now + 6000);
	node_settle(&g, 1);
	TEST_ASSERT_EQUAL_INT(CORE_CANDIDATE, n->role);
	look();
}

/* ---- rule 6: changes of members in a message ---- */

/* The library notes a change at the index of the first entry of its message. */
static void a_change_inside_of_a_message_is_noted_at_its_own_index(void)
{
	uint64_t index;

	receive_entries(3, 1, 1, 1, "omo", 3);
	TEST_ASSERT_EQUAL_UINT(3, member_count(&index));
	TEST_ASSERT_EQUAL_UINT64(3, index);
	receive_entries(3, 4, 3, 4, "", 3);
	TEST_ASSERT_EQUAL_UINT64(4, n->commit);
	/* Were it noted at index 2, this would not know that it is committed, and undo it. */
	receive_entries(3, 4, 3, 4, "m", 3);
	TEST_ASSERT_EQUAL_UINT(4, member_count(&index));
	receive_entries(4, 4, 3, 4, "o", 4);
	TEST_ASSERT_EQUAL_UINT(3, member_count(&index));
	TEST_ASSERT_EQUAL_UINT64(3, index);
	TEST_ASSERT_EQUAL_UINT(0x6 << 1, heartbeats_as_leader());
}

/* The library does not learn that a change is committed if a later one is in the log by then. */
static void a_change_that_is_undone_leads_back_to_the_one_before(void)
{
	uint64_t index;

	receive_entries(3, 1, 1, 1, "m", 3);
	receive_entries(3, 2, 3, 2, "m", 3);
	TEST_ASSERT_EQUAL_UINT64(2, n->commit);
	TEST_ASSERT_EQUAL_UINT(4, member_count(&index));
	receive_entries(4, 2, 3, 2, "o", 4);
	TEST_ASSERT_EQUAL_UINT(3, member_count(&index));
	TEST_ASSERT_EQUAL_UINT64(2, index);
	TEST_ASSERT_EQUAL_UINT(0x6 << 1, heartbeats_as_leader());
}

/* A second change shows that the first is committed, even if this leader does not know it yet. */
static void two_changes_in_one_message_leave_the_first_one_certain(void)
{
	uint64_t index;

	receive_entries(3, 1, 1, 1, "omom", 3);
	TEST_ASSERT_EQUAL_UINT64(1, n->commit);
	TEST_ASSERT_EQUAL_UINT(4, member_count(&index));
	TEST_ASSERT_EQUAL_UINT64(5, index);
	receive_entries(4, 4, 3, 1, "o", 4);
	TEST_ASSERT_EQUAL_UINT(3, member_count(&index));
	TEST_ASSERT_EQUAL_UINT(0x6 << 1, heartbeats_as_leader());
}

static void a_repeated_change_is_taken_once(void)
{
	uint64_t index;

	receive_entries(3, 1, 1, 1, "omo", 3);
	TEST_ASSERT_EQUAL_UINT64(4, n->last);
	receive_entries(3, 1, 1, 1, "omoo", 3);
	TEST_ASSERT_EQUAL_UINT64(5, n->last);
	TEST_ASSERT_EQUAL_UINT(3, member_count(&index));
	TEST_ASSERT_EQUAL_UINT64(3, index);
	receive_entries(3, 5, 3, 5, "", 3);
	TEST_ASSERT_EQUAL_UINT(0x6 << 1, heartbeats_as_leader());
}

static void entries_after_a_gap_are_refused_once(void)
{
	receive_entries(3, 4, 3, 1, "omom", 3);
	TEST_ASSERT_EQUAL_UINT(1, n->action_count - 2); /* after the vote and the role */
	answer_is(4, 1);
	TEST_ASSERT_EQUAL_UINT64(1, n->last);
}

static void a_long_tail_of_another_leader_is_refused_at_once(void)
{
	receive_entries(3, 1, 1, 1, "oooooooooo", 3);
	receive_entries(3, 4, 3, 4, "", 3);
	receive_entries(5, 9, 4, 4, "o", 4);
	answer_is(9, 4);
	/* Entries that are missing are asked for from the first one on. */
	receive_entries(5, 15, 4, 4, "", 4);
	answer_is(15, 11);
}

/* ---- votes ---- */

/* Were the term of the request repeated, two nodes could refuse each other for ever: one has the
 * longer log and the other the higher term. */
static void a_refused_trial_vote_tells_the_term(void)
{
	struct core_message m = { .kind = CORE_VOTE, .term = 4 };

	receive_entries(9, 1, 1, 1, "o", 9);
	m.vote.is_trial = true;
	m.vote.last_index = 1;
	m.vote.last_term = 1;
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_FALSE(sent->message.vote_result.is_granted);
	TEST_ASSERT_TRUE(sent->message.vote_result.is_trial);
	TEST_ASSERT_EQUAL_UINT64(9, sent->message.term);
	TEST_ASSERT_EQUAL_UINT64(9, n->term);
}

static void a_candidate_learns_a_higher_term_from_a_refusal(void)
{
	struct core_message m = { .kind = CORE_VOTE_RESULT,
				  .term = 9,
				  .vote_result = { .is_trial = true } };

	stand();
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_EQUAL_UINT64(9, n->term);
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, n->role);
}

/* The candidate has an older list, or a newer one. */
static void a_node_votes_whatever_its_own_list_says(void)
{
	static struct members others;
	struct core_head head = { .term = 3, .kind = CORE_MEMBERS, .members = &others };
	struct core_message m = { .kind = CORE_ENTRIES, .term = 3 };

	TEST_ASSERT_TRUE(members_set(&others, 2, "n2:1", true));
	TEST_ASSERT_TRUE(members_set(&others, 3, "n3:1", true));
	m.entries.previous_index = 1;
	m.entries.previous_term = 1;
	m.entries.commit = 1;
	m.entries.count = 1;
	m.entries.heads = &head;
	TEST_ASSERT_TRUE(receive(2, &m));
	for (uint64_t id = 2; id <= NODES; id++)
		g.node[id].is_cut_off = true;
	nodes_run(&g, 2 * ELECTION_MS + 1);
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, n->role);
	m = (struct core_message){ .kind = CORE_VOTE, .term = 4, .vote = { 2, 3, true, false } };
	TEST_ASSERT_TRUE(receive(3, &m));
	TEST_ASSERT_TRUE(sent->message.vote_result.is_granted);
	m.vote.is_trial = false;
	TEST_ASSERT_TRUE(receive(3, &m));
	TEST_ASSERT_TRUE(sent->message.vote_result.is_granted);
	TEST_ASSERT_EQUAL_UINT64(3, n->vote);
	TEST_ASSERT_EQUAL_UINT64(4, n->term);
	/* Not against what it has. */
	m.term = 5;
	m.vote.last_index = 1;
	m.vote.last_term = 1;
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_FALSE(sent->message.vote_result.is_granted);
}

static void the_result_of_a_vote_that_comes_too_late_changes_nothing(void)
{
	struct core_message m = { .kind = CORE_VOTE_RESULT, .term = 4 };

	/* First without a leader, then with one: the library looks at other bytes. */
	for (int i = 0; i < 8; i++) {
		if (i == 4)
			receive_entries(3, 1, 1, 1, "o", 3);
		m.vote_result.is_granted = i & 1;
		m.vote_result.is_trial = i & 2;
		TEST_ASSERT_TRUE(receive(2, &m));
		TEST_ASSERT_EQUAL_UINT(0, n->action_count);
	}
	TEST_ASSERT_EQUAL_UINT64(3, n->term);
}

static void a_vote_that_nobody_asked_for_changes_nothing(void)
{
	struct core_message m = { .kind = CORE_VOTE_RESULT,
				  .term = 7,
				  .vote_result = { true, true } };

	stand();
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_EQUAL_UINT(0, n->action_count);
	m.vote_result.is_trial = false;
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_EQUAL_INT(CORE_CANDIDATE, n->role);
}

/* ---- the only voter ---- */

/* The leader of this term may be about to remove itself, and still lead. */
static void the_only_voter_leads_in_a_term_of_its_own(void)
{
	static struct members alone;
	struct core_head head = { .term = 3, .kind = CORE_MEMBERS, .members = &alone };
	struct core_message m = { .kind = CORE_ENTRIES, .term = 3 };

	alone = node_members(1, 0);
	m.entries.previous_index = 1;
	m.entries.previous_term = 1;
	m.entries.commit = 1;
	m.entries.count = 1;
	m.entries.heads = &head;
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, n->role);
	/* Told to stand, it does not lead in this term either. */
	m = (struct core_message){ .kind = CORE_TIMEOUT_NOW, .term = 3, .timeout_now = { 2, 3 } };
	TEST_ASSERT_TRUE(receive(2, &m));
	TEST_ASSERT_EQUAL_INT(CORE_FOLLOWER, n->role);
	for (uint64_t id = 2; id <= NODES; id++)
		g.node[id].is_cut_off = true;
	nodes_run(&g, 2 * ELECTION_MS + 1);
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, n->role);
	TEST_ASSERT_EQUAL_UINT64(4, n->term);
	TEST_ASSERT_EQUAL_UINT64(1, n->vote);
	TEST_ASSERT_EQUAL_UINT64(4, n->log[3].term);
}

/* ---- results of entries ---- */

static void lead(void)
{
	(void)heartbeats_as_leader();
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, n->role);
}

static void result(uint64_t from, uint64_t rejected, uint64_t last_index)
{
	struct core_message m = { .kind = CORE_ENTRIES_RESULT, .term = n->term };

	m.entries_result.rejected = rejected;
	m.entries_result.last_index = last_index;
	TEST_ASSERT_TRUE(receive(from, &m));
}

/* Let time pass until there is a message with entries for a node. */
static const struct node_message *next_entries_to(uint64_t id)
{
	for (int i = 0; i < 4 * HEARTBEAT_MS; i++) {
		core_tick(n->core, ++g.now);
		node_settle(&g, 1);
		for (unsigned k = 0; k < g.message_count; k++)
			if (g.message[k]->to == id && g.message[k]->message.kind == CORE_ENTRIES)
				return g.message[k];
	}
	TEST_FAIL_MESSAGE("nothing is sent");
	return NULL;
}

static void a_refusal_that_comes_late_changes_nothing(void)
{
	nodes_done(&g);
	nodes_init(&g, 3, 0);
	lead();
	for (int i = 0; i < 10; i++)
		node_submit(&g, 1);
	result(2, 0, 8);
	TEST_ASSERT_EQUAL_UINT64(8, core_match(n->core, 2));
	/* Node 2 is silent until the leader asks again whether it has entry 8. */
	for (int i = 0; i < 3; i++) {
		nodes_run(&g, ELECTION_MS - 10);
		result(3, 0, 12);
	}
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, n->role);
	look();
	result(2, 8, 4);
	TEST_ASSERT_EQUAL_UINT64(8, core_match(n->core, 2));
	/* Otherwise it would go on with an entry that the node has, and count wrongly from there.
	 */
	TEST_ASSERT_EQUAL_UINT64(8, next_entries_to(2)->message.entries.previous_index);
	result(2, 0, 12);
	TEST_ASSERT_EQUAL_UINT64(12, core_match(n->core, 2));
}

static void members_do_not_change_before_an_entry_of_the_term_is_committed(void)
{
	struct members m = node_members(2, 1);

	lead();
	TEST_ASSERT_EQUAL_INT(CORE_NOT_READY, core_change(n->core, &m));
	result(2, 0, n->last);
	TEST_ASSERT_EQUAL_UINT64(n->last, n->commit);
	TEST_ASSERT_EQUAL_INT(CORE_OK, core_change(n->core, &m));
	node_settle(&g, 1);
	look();
	/* One at a time. */
	TEST_ASSERT_TRUE(members_set(&m, 4, "n4:1", false));
	TEST_ASSERT_EQUAL_INT(CORE_CHANGING, core_change(n->core, &m));
}

static void an_answer_to_an_older_term_has_no_undefined_parts(void)
{
	receive_entries(9, 1, 1, 1, "o", 9);
	receive_entries(3, 1, 1, 1, "o", 3);
	answer_is(1, 0);
	TEST_ASSERT_EQUAL_UINT64(9, sent->message.term);
}

/* ---- entries that the base covers ---- */

static void entries_that_the_base_covers_are_skipped(void)
{
	struct core_base base;

	receive_entries(3, 1, 1, 1, "ooooo", 3);
	receive_entries(3, 6, 3, 6, "", 3);
	TEST_ASSERT_TRUE(core_base_at(n->core, 5, &base));
	core_base_made(n->core, 5, 6);
	node_settle(&g, 1);
	/* From the first entry on: the leader is new, and does not know what this node has. */
	receive_entries(4, 2, 3, 6, "oooo", 3);
	answer_is(0, 6);
	TEST_ASSERT_EQUAL_UINT64(6, n->last);
	receive_entries(4, 2, 3, 6, "ooooo", 3);
	TEST_ASSERT_EQUAL_UINT64(7, n->last);
	receive_entries(4, 0, 0, 6, "", 3);
	answer_is(0, 5);
	receive_entries(4, 2, 3, 6, "o", 3);
	answer_is(0, 5);
}

/* ---- what no node sends ---- */

static void impossible_messages_are_refused(void)
{
	struct members none = { 0 };
	struct core_head heads[2] = { { .term = 3 }, { .term = 2 } };
	struct core_base base = {
		.index = 5, .term = 2, .members_index = 1, .members = node_members(2, 0)
	};
	struct core_message m = { .kind = CORE_ENTRIES, .term = 3 };

	m.entries.previous_index = 1;
	m.entries.previous_term = 1;
	TEST_ASSERT_FALSE(receive(0, &m));
	TEST_ASSERT_FALSE(receive(1, &m));
	m.entries.count = 2;
	TEST_ASSERT_FALSE(receive(2, &m)); /* without heads */
	m.entries.heads = heads;
	TEST_ASSERT_FALSE(receive(2, &m)); /* terms fall */
	heads[1].term = 4;
	TEST_ASSERT_FALSE(receive(2, &m)); /* after the leader's */
	heads[1].term = 3;
	heads[1].kind = CORE_MEMBERS;
	TEST_ASSERT_FALSE(receive(2, &m)); /* without members */
	heads[1].members = &none;
	TEST_ASSERT_FALSE(receive(2, &m));
	m.entries.count = 1;
	m.entries.previous_term = 0;
	TEST_ASSERT_FALSE(receive(2, &m));
	m.entries.previous_term = 4;
	TEST_ASSERT_FALSE(receive(2, &m));
	m = (struct core_message){ .kind = CORE_VOTE };
	TEST_ASSERT_FALSE(receive(2, &m)); /* without a term */
	m = (struct core_message){ .kind = CORE_ENTRIES_RESULT,
				   .term = 3,
				   .entries_result = { 4, 4 } };
	TEST_ASSERT_FALSE(receive(2, &m));
	m = (struct core_message){ .kind = CORE_BASE_OFFER, .term = 3, .offer = &base };
	base.members_index = 6;
	TEST_ASSERT_FALSE(receive(2, &m));
	base.members_index = 1;
	base.term = 4;
	TEST_ASSERT_FALSE(receive(2, &m));
	base.term = 2;
	base.members.count = 0;
	TEST_ASSERT_FALSE(receive(2, &m));
	m.kind = 0;
	TEST_ASSERT_FALSE(receive(2, &m));
	TEST_ASSERT_EQUAL_UINT64(1, n->term);
}

static void a_second_leader_of_a_term_is_refused(void)
{
	struct core_message m = { .kind = CORE_ENTRIES };

	lead();
	m.term = n->term;
	TEST_ASSERT_FALSE(receive(2, &m));
	TEST_ASSERT_EQUAL_INT(CORE_LEADER, n->role);
}

static void a_committed_entry_that_is_another_breaks_the_node(void)
{
	static struct core_head head = { .term = 4, .kind = CORE_OPERATIONS };
	struct core_message m = { .kind = CORE_ENTRIES, .term = 4 };
	struct core_action action;
	bool is_broken = false;

	receive_entries(3, 1, 1, 1, "oo", 3);
	receive_entries(3, 3, 3, 3, "", 3);
	TEST_ASSERT_EQUAL_UINT64(3, n->commit);
	m.entries.previous_index = 2;
	m.entries.previous_term = 3;
	m.entries.count = 1;
	m.entries.heads = &head;
	TEST_ASSERT_TRUE(core_receive(n->core, 2, &m));
	while (core_next(n->core, &action))
		is_broken = action.kind == CORE_BROKEN;
	TEST_ASSERT_TRUE(is_broken);
	/* Nothing follows. */
	TEST_ASSERT_TRUE(core_receive(n->core, 2, &m));
	core_tick(n->core, g.now + 100000);
	TEST_ASSERT_FALSE(core_next(n->core, &action));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_vote_is_stored_before_it_is_sent);
	RUN(a_new_term_is_stored_before_its_entries);
	RUN(a_candidate_stores_its_own_vote);
	RUN(an_older_tail_can_replace_a_newer_one);
	RUN(a_sync_from_before_a_cut_counts_for_nothing);
	RUN(entries_are_acknowledged_when_they_are_on_the_disk);
	RUN(time_does_not_go_back);
	RUN(heartbeats_that_waited_for_a_long_turn_prevent_an_election);
	RUN(a_change_inside_of_a_message_is_noted_at_its_own_index);
	RUN(a_change_that_is_undone_leads_back_to_the_one_before);
	RUN(two_changes_in_one_message_leave_the_first_one_certain);
	RUN(a_repeated_change_is_taken_once);
	RUN(entries_after_a_gap_are_refused_once);
	RUN(a_long_tail_of_another_leader_is_refused_at_once);
	RUN(a_refused_trial_vote_tells_the_term);
	RUN(a_candidate_learns_a_higher_term_from_a_refusal);
	RUN(a_node_votes_whatever_its_own_list_says);
	RUN(the_result_of_a_vote_that_comes_too_late_changes_nothing);
	RUN(a_vote_that_nobody_asked_for_changes_nothing);
	RUN(the_only_voter_leads_in_a_term_of_its_own);
	RUN(a_refusal_that_comes_late_changes_nothing);
	RUN(members_do_not_change_before_an_entry_of_the_term_is_committed);
	RUN(an_answer_to_an_older_term_has_no_undefined_parts);
	RUN(entries_that_the_base_covers_are_skipped);
	RUN(impossible_messages_are_refused);
	RUN(a_second_leader_of_a_term_is_refused);
	RUN(a_committed_entry_that_is_another_breaks_the_node);
	return UNIT_RESULT();
}
