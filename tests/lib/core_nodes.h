/*
 * Nodes of a group in one process: a core each, with a log in memory and messages that arrive when
 * the test says so. What a node appends is on its disk at once, unless the test holds the disk
 * back.
 */
#ifndef CORE_NODES_H
#define CORE_NODES_H

#include <string.h>

#include "replication/core.h"
#include "unit.h"
#include "util/mem.h"

#define NODES	      5
#define NODE_LOG      200
#define NODE_ACTIONS  400
#define NODE_MESSAGES 400
#define ELECTION_MS   400
#define HEARTBEAT_MS  80

struct node_message {
	uint64_t from, to;
	struct core_message message;
	struct core_base base;
	struct core_head heads[NODE_LOG];
	struct members lists[4]; /* of the heads */
};

struct node {
	struct core *core;
	uint64_t id;
	bool is_cut_off;   /* nothing leaves, and nothing arrives */
	bool is_disk_held; /* what is appended is not synced */
	uint64_t term, vote;
	struct core_base base;
	uint64_t first, last, durable, commit; /* of the log */
	struct core_head log[NODE_LOG];	       /* by index */
	struct members lists[NODE_LOG];
	uint64_t payload[NODE_LOG]; /* what `data` pointed to */
	enum core_role role;
	uint64_t leader;
	unsigned offers; /* that it has sent */
	bool is_offered; /* CORE_INSTALL has come, and `offer` is it */
	struct core_base offer;
	/* Kinds of all actions, in order. */
	enum core_action_kind actions[NODE_ACTIONS];
	unsigned action_count;
};

struct nodes {
	struct node node[NODES + 1]; /* by id */
	int64_t now;
	struct node_message *message[NODE_MESSAGES];
	unsigned message_count;
	uint64_t next_payload;
};

static inline struct members node_members(unsigned voters, unsigned learners)
{
	struct members m = { 0 };
	char address[20];

	for (unsigned i = 1; i <= voters + learners; i++) {
		snprintf(address, sizeof address, "n%u:1", i);
		TEST_ASSERT_TRUE(members_set(&m, i, address, i <= voters));
	}
	return m;
}

static inline void node_post(struct nodes *g, struct node *n, uint64_t to,
			     const struct core_message *m)
{
	struct node_message *copy;
	unsigned lists = 0;

	if (n->is_cut_off)
		return;
	TEST_ASSERT_TRUE(g->message_count < NODE_MESSAGES);
	copy = mem_zalloc(sizeof *copy);
	g->message[g->message_count++] = copy;
	copy->from = n->id;
	copy->to = to;
	copy->message = *m;
	if (m->kind == CORE_BASE_OFFER) {
		n->offers++;
		copy->base = *m->offer;
		copy->message.offer = &copy->base;
	}
	if (m->kind != CORE_ENTRIES || m->entries.count == 0)
		return;
	TEST_ASSERT_NULL(m->entries.heads);
	copy->message.entries.heads = copy->heads;
	for (uint32_t i = 0; i < m->entries.count; i++) {
		uint64_t index = m->entries.previous_index + 1 + i;

		TEST_ASSERT_TRUE(index >= n->first && index <= n->last);
		copy->heads[i] = n->log[index];
		copy->heads[i].data = &n->payload[index];
		if (copy->heads[i].kind == CORE_MEMBERS) {
			TEST_ASSERT_TRUE(lists < 4);
			copy->lists[lists] = n->lists[index];
			copy->heads[i].members = &copy->lists[lists++];
		}
	}
}

static inline void node_append(struct node *n, const struct core_action *a)
{
	TEST_ASSERT_EQUAL_UINT64(n->last + 1, a->append.first);
	for (size_t i = 0; i < a->append.count; i++) {
		const struct core_head *head = &a->append.heads[i];
		uint64_t index = ++n->last;

		TEST_ASSERT_TRUE(index < NODE_LOG);
		n->log[index] = *head;
		n->log[index].data = NULL;
		n->payload[index] = head->data != NULL ? *(const uint64_t *)head->data : 0;
		if (head->kind == CORE_MEMBERS) {
			n->lists[index] = *head->members;
			n->log[index].members = &n->lists[index];
		}
	}
}

/* Do one action. Messages are queued. */
static inline void node_do(struct nodes *g, struct node *n, const struct core_action *a)
{
	TEST_ASSERT_TRUE(n->action_count < NODE_ACTIONS);
	n->actions[n->action_count++] = a->kind;
	switch (a->kind) {
	case CORE_STORE_VOTE:
		n->term = a->store_vote.term;
		n->vote = a->store_vote.vote;
		break;
	case CORE_ROLE:
		n->role = a->role.role;
		n->leader = a->role.leader;
		TEST_ASSERT_EQUAL_UINT64(n->term, a->role.term);
		break;
	case CORE_CUT:
		TEST_ASSERT_TRUE(a->cut.index > n->commit && a->cut.index <= n->last);
		n->last = a->cut.index - 1;
		if (n->durable > n->last)
			n->durable = n->last;
		break;
	case CORE_APPEND:
		node_append(n, a);
		break;
	case CORE_SEND:
		node_post(g, n, a->send.to, &a->send.message);
		break;
	case CORE_COMMIT:
		TEST_ASSERT_TRUE(a->commit.index > n->commit && a->commit.index <= n->last);
		n->commit = a->commit.index;
		break;
	case CORE_INSTALL:
		n->offer = *a->install.base;
		n->is_offered = true;
		break;
	case CORE_BROKEN:
		TEST_FAIL_MESSAGE(a->broken.why);
	}
}

/* Take all actions, and sync what they have appended. */
static inline void node_settle(struct nodes *g, uint64_t id)
{
	struct node *n = &g->node[id];
	struct core_action action;

	for (;;) {
		while (core_next(n->core, &action))
			node_do(g, n, &action);
		if (n->durable == n->last || n->is_disk_held)
			break;
		n->durable = n->last;
		core_persisted(n->core, n->durable);
	}
}

/* Start a node with what is on its disk. */
static inline void node_start(struct nodes *g, uint64_t id)
{
	struct node *n = &g->node[id];
	struct core_options options = {
		.id = id,

		.seed = id * 977 + (uint64_t)g->now,
		.election_ms = ELECTION_MS,
		.heartbeat_ms = HEARTBEAT_MS,
		.catch_up_ms = 5000,
	};
	struct core_start start = { .term = n->term, .vote = n->vote, .base = &n->base };

	core_free(n->core);
	if (n->first == 0)
		n->first = 1;
	start.first_index = n->first;
	n->last = n->durable;
	n->commit = n->base.index;
	n->role = CORE_FOLLOWER;
	n->leader = 0;
	n->is_offered = false;
	n->core = core_create(&options, &start);
	for (uint64_t i = n->first; i <= n->last; i++)
		core_load(n->core, &n->log[i]);
	core_start(n->core, g->now);
	node_settle(g, id);
}

/* A group whose first entry names its members. Nodes above them start with nothing. */
static inline void nodes_init(struct nodes *g, unsigned voters, unsigned learners)
{
	struct members members = node_members(voters, learners);

	memset(g, 0, sizeof *g);
	g->now = 1000;
	for (uint64_t id = 1; id <= NODES; id++) {
		struct node *n = &g->node[id];

		n->id = id;
		n->first = 1;
		if (id <= voters + learners) {
			n->term = 1;
			n->lists[1] = members;
			n->log[1] = (struct core_head){ .term = 1,
							.kind = CORE_MEMBERS,
							.members = &n->lists[1] };
			n->last = n->durable = 1;
		}
		node_start(g, id);
	}
}

static inline void nodes_done(struct nodes *g)
{
	for (uint64_t id = 1; id <= NODES; id++)
		core_free(g->node[id].core);
	for (unsigned i = 0; i < g->message_count; i++)
		free(g->message[i]);
}

/* Take the oldest message. Returns false if there is none. */
static inline bool nodes_deliver_one(struct nodes *g)
{
	struct node_message *m;
	struct node *to;

	if (g->message_count == 0)
		return false;
	m = g->message[0];
	memmove(&g->message[0], &g->message[1], --g->message_count * sizeof g->message[0]);
	to = &g->node[m->to];
	if (!to->is_cut_off && !g->node[m->from].is_cut_off) {
		TEST_ASSERT_TRUE(core_receive(to->core, m->from, &m->message));
		node_settle(g, m->to);
	}
	free(m);
	return true;
}

static inline void nodes_deliver(struct nodes *g)
{
	while (nodes_deliver_one(g))
		continue;
}

/* Let time pass, a millisecond at a time; messages arrive at once. */
static inline void nodes_run(struct nodes *g, int64_t ms)
{
	for (int64_t end = g->now + ms; g->now < end; g->now++) {
		for (uint64_t id = 1; id <= NODES; id++) {
			core_tick(g->node[id].core, g->now);
			node_settle(g, id);
		}
		nodes_deliver(g);
	}
}

/* The leader of the highest term; 0 if there is none. */
static inline uint64_t nodes_leader(const struct nodes *g)
{
	uint64_t leader = 0;

	for (uint64_t id = 1; id <= NODES; id++)
		if (g->node[id].role == CORE_LEADER &&
		    (leader == 0 || g->node[id].term > g->node[leader].term))
			leader = id;
	return leader;
}

/* Run until there is a leader, and return it. */
static inline uint64_t nodes_elect(struct nodes *g)
{
	for (int i = 0; i < 100 && nodes_leader(g) == 0; i++)
		nodes_run(g, 100);
	TEST_ASSERT_NOT_EQUAL_UINT64(0, nodes_leader(g));
	nodes_run(g, 2 * HEARTBEAT_MS);
	return nodes_leader(g);
}

/* Submit an entry with the next payload. Returns its index, 0 if it was refused. */
static inline uint64_t node_submit(struct nodes *g, uint64_t id)
{
	uint64_t payload = ++g->next_payload;
	struct core_head head = { .kind = CORE_OPERATIONS, .data = &payload };
	uint64_t index = core_submit(g->node[id].core, &head, 1);

	node_settle(g, id);
	return index;
}

#endif
