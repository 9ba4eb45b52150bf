/*
 * FAILOVER: the leader hands over to another node, and no client is left with an unknown outcome.
 *
 *	NONE --FAILOVER--> DRAINING --all is committed and sent--> TRANSFERRING --another leads-->
 *NONE ^                   |                                         |
 *	  +----- time is up --+-------- no node has taken over ---------+
 *
 * While it drains, the leader refuses commands, and says that it did not run them. Commands that
 * wait for jobs end with an error. As soon as everything is committed, every reply has left and the
 * heir has the whole log, the node closes the connections and transfers leadership.
 */
#include <inttypes.h>

#include "server/member_int.h"
#include "sys/log.h"

/* Microseconds after which the leader stops draining, and serves its clients again. */
#define DRAIN_US INT64_C(5000000)
/* Microseconds of draining after which replies that clients do not read hold nothing up. Their
 * connections stay open until the replies have left. */
#define READERS_US INT64_C(500000)

bool member_is_handing_over(const struct membership *m)
{
	return m->handover.state != HANDOVER_NONE;
}

const char *member_handover_state(const struct membership *m)
{
	switch (m->handover.state) {
	case HANDOVER_DRAINING:
		return "waiting-for-sync";
	case HANDOVER_TRANSFERRING:
		return "failover-in-progress";
	case HANDOVER_NONE:
		break;
	}
	return "no-failover";
}

static bool is_reached(const struct membership *m, uint64_t id)
{
	struct nodes_member_info info;

	return nodes_get_member(m->nodes, id, &info) && info.is_sending && info.is_receiving;
}

/* Returns the voter with the longest log among those that are connected, or 0. */
static uint64_t choose_heir(const struct membership *m)
{
	const struct members *members = group_members(m->group);
	uint64_t own = journal_get_identity(m->server->persist->journal)->node, best = 0;

	for (unsigned i = 0; i < members->count; i++) {
		const struct member *one = &members->member[i];

		if (one->is_voter && one->id != own && is_reached(m, one->id) &&
		    (best == 0 || group_match(m->group, one->id) > group_match(m->group, best)))
			best = one->id;
	}
	return best;
}

/* Finds the member with an address, which is the one for clients or the one for nodes. */
static const struct member *find_address(const struct membership *m, const char *address)
{
	struct member_peer peer;

	for (unsigned i = 0; i < member_count(m->server); i++) {
		member_get_peer(m->server, i, &peer);
		if (strcmp(peer.address, address) == 0 || strcmp(peer.clients, address) == 0)
			return members_find(group_members(m->group), peer.id);
	}
	return NULL;
}

static uint64_t find_heir(const struct membership *m, const char *address, struct buf *ret_error)
{
	const struct member *one;
	uint64_t heir;

	if (address == NULL) {
		heir = choose_heir(m);
		if (heir == 0)
			buf_printf(ret_error, "FAILOVER requires connected replicas.");
		return heir;
	}
	one = find_address(m, address);
	if (one == NULL)
		buf_printf(ret_error, "FAILOVER target HOST and PORT is not a replica.");
	else if (one->id == journal_get_identity(m->server->persist->journal)->node)
		buf_printf(ret_error, "FAILOVER target %s leads the group already", address);
	else if (!one->is_voter)
		buf_printf(ret_error, "FAILOVER target %s is a learner, and cannot lead", address);
	else if (!is_reached(m, one->id))
		buf_printf(ret_error, "FAILOVER target %s is not connected", address);
	else
		return one->id;
	return 0;
}

bool member_begin_handover(struct server *s, const char *address, struct buf *ret_error)
{
	struct membership *m = s->member;
	struct conn *c, *next;
	uint64_t heir;

	if (member_is_handing_over(m)) {
		buf_printf(ret_error, "FAILOVER already in progress.");
		return false;
	}
	heir = find_heir(m, address, ret_error);
	if (heir == 0)
		return false;
	log_notice("this node hands over its group to node %" PRIu64, heir);
	m->handover = (struct handover){
		.state = HANDOVER_DRAINING,
		.heir = heir,
		.begin_us = s->clocks.mono_us,
	};
	for (c = TAILQ_FIRST(&s->conns.all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		waiting_unblock(&c->client, /* with_error= */ true);
	}
	return true;
}

static bool has_output(const struct server *s)
{
	const struct conn *c;

	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (c->client.out.len != 0)
			return true;
	}
	return false;
}

/* Waits of the server itself, such as those for jobs that it posts, hold nothing up. */
static bool has_waiting_client(const struct server *s)
{
	const struct conn *c;

	TAILQ_FOREACH(c, &s->conns.all, all) {
		if (c->client.waiting != NULL)
			return true;
	}
	return false;
}

static bool is_drained(const struct membership *m)
{
	const struct server *s = m->server;
	const struct commit_log *log = s->persist->log;

	return !has_waiting_client(s) && log->committed == log->last &&
	       group_match(m->group, m->handover.heir) == log->last &&
	       (!has_output(s) || s->clocks.mono_us - m->handover.begin_us >= READERS_US);
}

static void give_up(struct membership *m, const char *why)
{
	log_warning("node %" PRIu64 " does not take over: %s", m->handover.heir, why);
	m->handover.state = HANDOVER_NONE;
}

static void transfer(struct membership *m)
{
	struct conn *c, *next;
	enum core_result result = group_transfer(m->group, m->handover.heir);

	if (result != CORE_OK) {
		give_up(m, core_result_text(result));
		return;
	}
	m->handover.state = HANDOVER_TRANSFERRING;
	for (c = TAILQ_FIRST(&m->server->conns.all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		conn_finish(c);
	}
}

void member_run_handover(struct membership *m)
{
	const struct server *s = m->server;
	struct group_info info;

	group_get_info(m->group, &info);
	switch (m->handover.state) {
	case HANDOVER_NONE:
		return;
	case HANDOVER_DRAINING:
		if (!info.is_ready)
			m->handover.state = HANDOVER_NONE;
		else if (is_drained(m))
			transfer(m);
		else if (s->clocks.mono_us - m->handover.begin_us >= DRAIN_US)
			give_up(m, "there was not enough time to finish what clients had begun");
		return;
	case HANDOVER_TRANSFERRING:
		if (info.role != CORE_LEADER)
			m->handover.state = HANDOVER_NONE;
		else if (info.is_ready)
			give_up(m, "it did not answer");
		return;
	}
}
