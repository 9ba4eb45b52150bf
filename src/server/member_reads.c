#include "server/member_reads.h"

#include "server/member_int.h"

static uint64_t own_term(const struct membership *m)
{
	struct group_info info;

	group_get_info(m->group, &info);
	return info.term;
}

/* Ask all other voters. */
static void send_round(struct membership *m)
{
	const struct members *members = group_members(m->group);
	uint64_t term = own_term(m);

	m->round_us = m->server->clocks.mono_us;
	for (unsigned i = 0; i < members->count; i++) {
		const struct member *member = &members->member[i];

		if (member->is_voter && member->id != m->rounds.self)
			nodes_send_probe(m->nodes, member->id, term, m->rounds.sent);
	}
}

void member_reads_begin(struct membership *m)
{
	rounds_reset(&m->rounds, m->server->persist->log->last);
}

void member_reads_end_turn(struct server *s)
{
	const struct commit_log *log = s->persist->log;
	struct membership *m = s->member;
	bool has_read = s->turn.has_read && s->config->replication_reads == CONFIG_READS_ROUND;
	int64_t beat_us = s->config->replication_election_timeout_ms * INT64_C(1000) / 5;

	s->turn.has_read = false;
	if (!m->leads)
		return;
	if (rounds_end_turn(&m->rounds, log->last, has_read, group_members(m->group)))
		send_round(m);
	else if (rounds_are_under_way(&m->rounds) && s->clocks.mono_us - m->round_us > beat_us)
		send_round(m);
	rounds_advance(&m->rounds, log->committed);
	gate_advance(&s->gate, m->rounds.done_ticket, m->rounds.last_ticket);
}

/* The answer is the term of this node, in which it may have voted for another leader. */
void member_reads_asked(void *arg, uint64_t from, uint64_t term, uint64_t number)
{
	struct membership *m = arg;

	if (own_term(m) == term)
		nodes_answer_probe(m->nodes, from, term, number);
}

void member_reads_answered(void *arg, uint64_t from, uint64_t term, uint64_t number)
{
	struct membership *m = arg;

	server_read_clock(m->server);
	if (m->leads && own_term(m) == term &&
	    rounds_take_answer(&m->rounds, from, number, group_members(m->group)))
		send_round(m);
}
