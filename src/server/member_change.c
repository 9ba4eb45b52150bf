/*
 * Changes of the members of a group, on its leader.
 *
 *	REPLICA ADD --> learner --connected, gets the log--> catches up --> voter
 *
 * A learner follows and does not vote. Every leader makes voters of the learners that it finds in
 * the list, so a change of the leader stops no ADD. The second half of REPLACE, which removes the
 * old node, is known to the leader only: another leader needs the command again.
 */
#include <inttypes.h>

#include "server/member_int.h"
#include "server/recording.h"
#include "sys/log.h"

/* Entries that a learner may lack when its catching up begins to be measured. */
#define CLOSE_ENTRIES 4096

static uint64_t own_id(const struct membership *m)
{
	return journal_get_identity(m->server->persist->journal)->node;
}

static bool is_connected(const struct membership *m, uint64_t id)
{
	struct nodes_member_info info;

	return nodes_get_member(m->nodes, id, &info) && info.is_sending && info.is_receiving;
}

/* Returns a negative value, with a line in `ret_error`, if the list cannot be changed now. */
static int change(struct membership *m, const struct members *members, struct buf *ret_error)
{
	enum core_result result;

	/* The operations of the turn have their numbers, which the change must not take. */
	recording_end_batch(m->server);
	result = group_change_members(m->group, members);
	m->has_changed = true;
	if (result == CORE_OK)
		return 0;
	buf_printf(ret_error, "the group cannot change now: %s", core_result_text(result));
	return -1;
}

/*
 * Adding
 */

int member_add(struct server *s, uint64_t id, const char *address, struct buf *ret_error)
{
	struct membership *m = s->member;
	struct members members = *group_members(m->group);
	const struct member *one = members_find(&members, id);

	if (one != NULL && strcmp(one->address, address) == 0)
		return 0;
	if (one != NULL) {
		buf_printf(ret_error, "node %" PRIu64 " is a member already, at %s", id,
			   one->address);
		return -1;
	}
	for (unsigned i = 0; i < members.count; i++) {
		if (strcmp(members.member[i].address, address) != 0)
			continue;
		buf_printf(ret_error, "%s is the address of node %" PRIu64, address,
			   members.member[i].id);
		return -1;
	}
	if (!members_set(&members, id, address, /* is_voter= */ false)) {
		buf_printf(ret_error, "a group has at most %d nodes", MEMBERS_MAX);
		return -1;
	}
	if (change(m, &members, ret_error) < 0)
		return -1;
	log_notice("node %" PRIu64 " at %s joins the group", id, address);
	return 0;
}

/*
 * Removing
 */

/* Returns whether the connected voters are a majority of a list. */
static bool has_majority(const struct membership *m, const struct members *members)
{
	unsigned connected = 0;

	for (unsigned i = 0; i < members->count; i++) {
		const struct member *one = &members->member[i];

		if (one->is_voter && (one->id == own_id(m) || is_connected(m, one->id)))
			connected++;
	}
	return connected > members_voters(members) / 2;
}

/* Makes the list without a node. Returns false, with a line in `ret_error`, if the group would stop
 * without it. */
static bool make_smaller(const struct membership *m, uint64_t id, struct members *ret,
			 struct buf *ret_error)
{
	*ret = *group_members(m->group);
	if (id == own_id(m)) {
		buf_printf(ret_error,
			   "node %" PRIu64 " leads the group: send FAILOVER, and then repeat the "
			   "command on the new leader",
			   id);
		return false;
	}
	if (!members_remove(ret, id)) {
		buf_printf(ret_error, "the group has no node %" PRIu64, id);
		return false;
	}
	if (has_majority(m, ret))
		return true;
	buf_printf(ret_error,
		   "without node %" PRIu64 " the group would stop, because too few of its other "
		   "voters are connected",
		   id);
	return false;
}

int member_remove(struct server *s, uint64_t id, struct buf *ret_error)
{
	struct membership *m = s->member;
	struct members members;

	if (!make_smaller(m, id, &members, ret_error) || change(m, &members, ret_error) < 0)
		return -1;
	log_notice("node %" PRIu64 " leaves the group", id);
	return 0;
}

int member_replace(struct server *s, uint64_t old, uint64_t new, const char *address,
		   struct buf *ret_error)
{
	struct membership *m = s->member;

	if (old == new) {
		buf_printf(ret_error, "the new node needs another number than node %" PRIu64, old);
		return -1;
	}
	if (old == own_id(m)) {
		buf_printf(ret_error,
			   "node %" PRIu64 " leads the group: send FAILOVER, and then repeat the "
			   "command on the new leader",
			   old);
		return -1;
	}
	if (members_find(group_members(m->group), old) == NULL) {
		buf_printf(ret_error, "the group has no node %" PRIu64, old);
		return -1;
	}
	if (member_add(s, new, address, ret_error) < 0)
		return -1;
	m->leaving = (struct leaving){ .id = old, .successor = new };
	return 0;
}

/*
 * The steps that follow
 */

static void promote(struct membership *m, const struct member *learner)
{
	struct members members = *group_members(m->group);
	struct buf error = BUF_INIT(1024);

	members_set(&members, learner->id, learner->address, /* is_voter= */ true);
	if (change(m, &members, &error) == 0)
		log_notice("node %" PRIu64 " has caught up, and votes from now on", learner->id);
	buf_done(&error);
}

static void look_at_learner(struct membership *m, const struct member *learner)
{
	uint64_t match = group_match(m->group, learner->id);

	switch (group_catch_up_state(m->group, learner->id)) {
	case CORE_CATCH_UP_RUNNING:
		return;
	case CORE_CATCH_UP_DONE:
		promote(m, learner);
		return;
	case CORE_CATCH_UP_NONE:
	case CORE_CATCH_UP_FAILED:
		if (match == 0 || m->server->persist->log->last - match > CLOSE_ENTRIES)
			return;
		if (group_catch_up(m->group, learner->id) == CORE_OK)
			m->has_changed = true;
		return;
	}
}

static void look_at_leaving(struct membership *m)
{
	const struct members *members = group_members(m->group);
	const struct member *successor = members_find(members, m->leaving.successor);
	struct buf error = BUF_INIT(1024);

	if (successor == NULL || members_find(members, m->leaving.id) == NULL)
		m->leaving.id = 0;
	else if (successor->is_voter && member_remove(m->server, m->leaving.id, &error) == 0)
		m->leaving.id = 0;
	buf_done(&error);
}

void member_run_changes(struct membership *m)
{
	const struct members *members = group_members(m->group);
	struct member learners[MEMBERS_MAX];
	unsigned count = 0;

	m->has_changed = false;
	if (!m->leads || member_is_handing_over(m)) {
		m->leaving.id = 0;
		return;
	}
	for (unsigned i = 0; i < members->count; i++) {
		if (!members->member[i].is_voter)
			learners[count++] = members->member[i];
	}
	for (unsigned i = 0; i < count; i++)
		look_at_learner(m, &learners[i]);
	if (m->leaving.id != 0)
		look_at_leaving(m);
}

/*
 * Progress
 */

const char *member_progress(const struct membership *m, const struct member *one)
{
	if (m->leaving.id == one->id && m->leaving.id != 0)
		return "is replaced";
	if (one->is_voter || !m->leads)
		return "";
	if (!is_connected(m, one->id))
		return "waits for a connection";
	switch (group_catch_up_state(m->group, one->id)) {
	case CORE_CATCH_UP_RUNNING:
		return "catches up";
	case CORE_CATCH_UP_DONE:
		return "becomes a voter";
	case CORE_CATCH_UP_NONE:
	case CORE_CATCH_UP_FAILED:
		break;
	}
	return "receives the log";
}

unsigned member_count(const struct server *s)
{
	return group_members(s->member->group)->count;
}

void member_get_peer(const struct server *s, unsigned i, struct member_peer *ret)
{
	const struct membership *m = s->member;
	const struct member *one = &group_members(m->group)->member[i];
	struct nodes_member_info node;
	struct group_info info;

	group_get_info(m->group, &info);
	*ret = (struct member_peer){
		.id = one->id,
		.address = one->address,
		.clients = "",
		.role = one->id == info.leader ? "leader"
			: one->is_voter	       ? "voter"
					       : "learner",
		.progress = member_progress(m, one),
	};
	if (one->id == own_id(m)) {
		ret->is_connected = true;
		ret->has_index = true;
		ret->index = info.last;
		ret->clients = m->own_clients;
	} else if (nodes_get_member(m->nodes, one->id, &node)) {
		ret->is_connected = node.is_sending && node.is_receiving;
		ret->clients = node.announce;
		ret->has_clock = node.has_clock;
		ret->clock_ahead_us = node.clock_ahead_us;
	}
	if (m->leads && one->id != own_id(m)) {
		ret->index = group_match(m->group, one->id);
		ret->has_index = ret->index != 0;
	}
	ret->last = info.last;
}
