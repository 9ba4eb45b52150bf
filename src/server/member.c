#include "server/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal/journal_group.h"
#include "replication/group.h"
#include "server/member_int.h"
#include "server/member_reads.h"
#include "server/member_tls.h"
#include "server/push.h"
#include "server/tls.h"
#include "sys/entropy.h"
#include "sys/log.h"
#include "util/hex.h"
#include "util/mem.h"

/* Microseconds of a turn for applying what is committed. */
#define APPLY_US 2000
/* Bytes of records that are applied between two looks at the clock. */
#define APPLY_BYTES ((size_t)64 * 1024)
/* Microseconds between two looks whether FAILOVER can go on. */
#define HANDOVER_LOOK_US 1000
/* Microseconds by which the newest time of a log may be ahead of the clock of its leader, and still
 * count as a time of that clock. Times of clients may be anything. */
#define AHEAD_US INT64_C(2000000)

/*
 * The engine
 */

/* Notes the newest time that came from the clock of a leader. It must not be given again. */
static void note_time(struct membership *m, const struct operation *op)
{
	int64_t now_us = m->server->clocks.wall_us + AHEAD_US + m->leader_ahead_us;
	double us = op->now * 1e6;

	if (op->kind == OPERATION_STEP_CLOCK)
		m->newest_us = clock_from_seconds(op->now);
	else if (us > (double)m->newest_us && us <= (double)now_us)
		m->newest_us = (int64_t)us;
}

static int apply_operation(void *arg, const struct operation *op, struct buf *ret_error)
{
	struct membership *m = arg;
	struct stored stored = persist_stored(m->server);

	note_time(m, op);
	if (operation_is_for_user(op))
		return users_log_apply(m->server, op, ret_error);
	return stored_apply(&stored, op, ret_error);
}

static int apply_record(void *arg, const struct record *record, struct buf *ret_error)
{
	struct membership *m = arg;
	uint64_t count = 0;

	return stored_replay(&m->replay, record, &count, ret_error);
}

/* The state of this node cannot become that of the others: it must not go on. */
static void give_up(struct membership *m, const char *why)
{
	if (m->has_given_up)
		return;
	m->has_given_up = true;
	log_fatal("this node of the group cannot go on: %s", why);
	m->server->turn.loop_failed = true;
}

static void apply_some(struct membership *m)
{
	struct buf error = BUF_INIT(4096);
	int64_t end_us;

	if (!group_can_apply(m->group))
		return;
	end_us = clock_mono_us() + APPLY_US;
	m->is_applying = true;
	do {
		if (group_apply(m->group, APPLY_BYTES, &error) < 0)
			give_up(m, buf_cstr(&error));
	} while (!m->has_given_up && group_can_apply(m->group) && clock_mono_us() < end_us);
	m->is_applying = false;
	buf_done(&error);
}

bool member_leads(const struct server *s)
{
	return s->member->leads;
}

bool member_follows(const struct server *s)
{
	if (s->member == NULL)
		return s->loading && s->config->replication_port != 0;
	return !s->member->leads;
}

bool member_takes_changes(const struct server *s)
{
	return s->member->leads && !s->member->is_applying && !s->loading;
}

/*
 * Messages
 */

static void send_message(void *arg, uint64_t to, const struct core_message *message)
{
	struct membership *m = arg;

	if (m->nodes == NULL)
		return;
	if (message->kind == CORE_BASE_OFFER)
		member_offer_base(m, to, message);
	else
		nodes_send(m->nodes, to, message);
}

static void on_received(void *arg, uint64_t from, const struct core_message *message,
			struct qless_str entries)
{
	struct membership *m = arg;

	server_read_clock(m->server);
	group_receive(m->group, from, message, entries);
}

static enum nodes_fetched to_nodes(enum group_fetched fetched)
{
	switch (fetched) {
	case GROUP_FETCHED:
		return NODES_FETCHED;
	case GROUP_LARGE:
		return NODES_LARGE;
	case GROUP_GONE:
		break;
	}
	return NODES_GONE;
}

static enum nodes_fetched fetch(void *arg, uint64_t term, uint64_t first, uint64_t count,
				size_t max, struct buf *out, uint64_t *ret_count)
{
	struct membership *m = arg;

	return to_nodes(group_fetch(m->group, term, first, count, max, out, ret_count));
}

static enum nodes_fetched fetch_piece(void *arg, uint64_t term, uint64_t index, size_t offset,
				      size_t max, struct buf *out, struct frame_entry *ret_entry)
{
	struct membership *m = arg;

	return to_nodes(group_fetch_piece(m->group, term, index, offset, max, out, ret_entry));
}

/* A node of the group that this one does not know yet may be a newer leader. */
static bool admit(void *arg, const struct frame_hello *hello)
{
	const struct membership *m = arg;
	const struct journal_identity *identity = journal_get_identity(m->server->persist->journal);

	return memcmp(hello->group, identity->group, sizeof identity->group) == 0;
}

/*
 * Roles
 */

/* FAILOVER has finished the connections already: replies on them may still be on their way. */
static void close_clients(struct server *s)
{
	struct conn *c, *next;

	if (member_is_handing_over(s->member))
		return;
	for (c = TAILQ_FIRST(&s->conns.all); c != NULL; c = next) {
		next = TAILQ_NEXT(c, all);
		conn_kill(c, "this node has ceased to lead");
	}
}

static void cease(struct membership *m)
{
	struct server *s = m->server;

	log_notice("this node has ceased to lead its group");
	notify_status(&s->notify, "Another node leads the group");
	environment_apply_config(s);
	push_done(s);
	close_clients(s);
	submissions_lose_turn(s);
	presence_forget_all(s);
}

static void take_over(struct membership *m)
{
	struct server *s = m->server;

	log_notice("this node leads its group");
	member_reads_begin(m);
	notify_status(&s->notify, SERVER_STATUS_READY);
	environment_apply_config(s);
	steady_clock_pass(&s->clocks.native, m->newest_us);
	users_log_loaded(s);
	queues_begin(s);
	ticks_look(s);
	overtime_look(s);
	push_begin(s);
}

static void note_role(struct membership *m)
{
	struct nodes_member_info leader;
	struct group_info info;

	group_get_info(m->group, &info);
	m->leader_ahead_us = 0;
	if (m->nodes != NULL && info.role != CORE_LEADER && info.leader != 0 &&
	    nodes_get_member(m->nodes, info.leader, &leader) && leader.has_clock &&
	    leader.clock_ahead_us > 0)
		m->leader_ahead_us = leader.clock_ahead_us;
	if (info.is_ready == m->leads)
		return;
	m->leads = info.is_ready;
	if (m->leads)
		take_over(m);
	else
		cease(m);
}

static void note_members(struct membership *m)
{
	const struct members *members = group_members(m->group);
	const struct member *own;

	if (m->nodes == NULL || members_equal(members, &m->members))
		return;
	m->members = *members;
	own = members_find(members, journal_get_identity(m->server->persist->journal)->node);
	if (own != NULL)
		nodes_set_address(m->nodes, own->address);
	nodes_set_members(m->nodes, members);
}

static void set_timer(struct membership *m)
{
	int64_t deadline_us = group_deadline_us(m->group), left_us;
	struct timeval after;

	if (deadline_us == INT64_MAX) {
		event_del(m->timer);
		return;
	}
	left_us = deadline_us - clock_mono_us();
	if (member_is_handing_over(m) && left_us > HANDOVER_LOOK_US)
		left_us = HANDOVER_LOOK_US;
	if (left_us < 0)
		left_us = 0;
	after = (struct timeval){ .tv_sec = left_us / 1000000, .tv_usec = left_us % 1000000 };
	event_add(m->timer, &after);
}

void member_end_turn(struct server *s)
{
	struct membership *m = s->member;

	if (group_failure(m->group) != NULL)
		give_up(m, group_failure(m->group));
	apply_some(m);
	member_run_changes(m);
	member_run_handover(m);
	note_role(m);
	note_members(m);
	sentinel_note_leader(s);
	set_timer(m);
}

void member_send(struct server *s)
{
	if (s->member->nodes != NULL)
		nodes_flush(s->member->nodes);
}

bool member_can_run(const struct server *s)
{
	return s->member->has_changed || group_can_apply(s->member->group) ||
	       group_needs_rebuild(s->member->group);
}

/*
 * Loading again
 */

bool member_needs_loading(const struct server *s)
{
	return group_needs_rebuild(s->member->group) && !s->member->has_given_up;
}

uint64_t member_loadable(const struct server *s)
{
	struct group_info info;

	group_get_info(s->member->group, &info);
	return info.commit < info.durable ? info.commit : info.durable;
}

void member_loaded(struct server *s, uint64_t sequence)
{
	group_rebuilt(s->member->group, sequence);
}

/*
 * The beginning
 */

/* The end of the turn does the work. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct membership *m = arg;

	(void)fd;
	(void)what;
	server_read_clock(m->server);
}

/* Nodes that begin together have the same log. */
static bool may_begin(const struct server *s, const struct members *members, struct buf *ret_error)
{
	if (members->count == 1 || s->persist->log->last == 0)
		return true;
	buf_printf(ret_error,
		   "a server joins a group, or begins one with others, only without jobs: the log "
		   "in %s is not empty",
		   s->config->dir);
	return false;
}

static int begin_group(struct server *s, const struct member_birth *birth, struct buf *ret_error)
{
	struct journal_identity identity = { .node = (uint64_t)s->config->replication_id };
	struct buf bytes = BUF_INIT(BUF_NO_MAX);
	struct members members;
	int rc = -1;

	if (member_parse_birth(s->config, birth, &identity, &members, ret_error) &&
	    may_begin(s, &members, ret_error)) {
		if (!birth->joins)
			members_encode(&members, &bytes);
		rc = journal_begin_group(s->persist->journal, &identity, buf_str(&bytes),
					 ret_error);
	}
	buf_done(&bytes);
	return rc < 0 ? -1 : 0;
}

static int open_nodes(struct membership *m, const struct journal_identity *identity,
		      const char *address, struct buf *ret_error)
{
	const struct config *config = m->server->config;
	char announce[SENTINEL_ADDRESS_SIZE];
	struct nodes_options options = {
		.id = identity->node,
		.has_group = true,
		.address = address,
		.announce = announce,
		.tls = m->tls,
		.heartbeat_ms = (unsigned)config->replication_election_timeout_ms / 5,
		.hello_ms = 2000,
		.seed = entropy_u64(),
		.ops = {
			.received = on_received,
			.probed = member_reads_asked,
			.probe_answered = member_reads_answered,
			.fetch = fetch,
			.fetch_piece = fetch_piece,
			.admit = admit,
			.base_offered = member_base_offered,
			.base_read = member_read_base,
			.base_piece = member_base_piece,
			.base_ended = member_base_ended,
			.arg = m,
		},
	};

	sentinel_configured_address(m->server, announce);
	memcpy(options.group, identity->group, sizeof options.group);
	m->nodes = nodes_new(&options, m->server->base);
	for (size_t i = 0; i < config->replication_bind.count; i++) {
		if (nodes_listen(m->nodes, config->replication_bind.words[i],
				 config->replication_port, ret_error) < 0)
			return -1;
	}
	return 0;
}

int member_begin(struct server *s, const struct member_birth *birth, int64_t newest_us,
		 struct buf *ret_error)
{
	const struct config *config = s->config;
	const struct journal_identity *identity;
	struct group_options options = {
		.seed = entropy_u64(),
		.election_ms = (unsigned)config->replication_election_timeout_ms,
		.heartbeat_ms = (unsigned)config->replication_election_timeout_ms / 5,
		.catch_up_ms = 60000,
		.send = send_message,
		.install = member_install,
		.apply = apply_record,
	};
	char address[MEMBERS_ADDRESS_SIZE];
	struct membership *m;

	if ((birth->begins || birth->joins) && journal_has_group(s->persist->journal)) {
		buf_printf(ret_error, "the log in %s is that of a group already", config->dir);
		return -1;
	}
	if ((birth->begins || birth->joins) && begin_group(s, birth, ret_error) < 0)
		return -1;
	if (!journal_has_group(s->persist->journal))
		return 0;
	if (config->replication_port == 0 || s->is_inside) {
		buf_printf(ret_error, "the log is that of a group of servers: %s",
			   s->is_inside ? "only qlessd can continue it"
					: "set replication-port, at which the others reach this "
					  "one");
		return -1;
	}
	if (!sentinel_check_config(config, ret_error))
		return -1;
	identity = journal_get_identity(s->persist->journal);
	m = s->member = mem_zalloc(sizeof *m);
	m->server = s;
	rounds_init(&m->rounds, identity->node);
	sentinel_configured_address(s, m->own_clients);
	m->newest_us = newest_us;
	m->base.fd = -1;
	m->timer = evtimer_new(s->base, on_timer, m);
	replay_init(&m->replay, s->env.databases, apply_operation, m);
	member_own_address(config, address);
	options.id = identity->node;
	options.arg = m;
	m->group = group_open(&options, s->persist->journal, clock_mono_us(), ret_error);
	if (m->group == NULL || member_tls_load(config, &m->tls, ret_error) < 0 ||
	    open_nodes(m, identity, address, ret_error) < 0)
		return -1;
	m->tls_warned_us = s->clocks.mono_us;
	s->persist->log = group_log(m->group);
	s->persist->state = s->persist->log->state;
	environment_apply_config(s);
	note_members(m);
	set_timer(m);
	return 0;
}

void member_done(struct server *s)
{
	struct membership *m = s->member;

	if (m == NULL)
		return;
	nodes_free(m->nodes);
	tls_free(m->tls);
	member_close_base(m);
	if (s->persist != NULL && m->group != NULL)
		s->persist->log = journal_log(s->persist->journal);
	group_close(m->group);
	rounds_done(&m->rounds);
	replay_done(&m->replay);
	event_free(m->timer);
	free(m);
	s->member = NULL;
}
