#include "core_world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/mem.h"

uint64_t world_below(struct world *w, uint64_t limit)
{
	uint64_t z = (w->random += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % limit;
}

bool world_is_quiet(const struct world *w)
{
	return w->now >= WORLD_WILD_MS;
}

void world_fail(const struct world *w, const char *format, ...)
{
	va_list args;

	printf("at %d ms: ", (int)w->now);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	exit(1);
}

void world_say(const struct world *w, const char *format, ...)
{
	va_list args;

	if (!w->is_talkative)
		return;
	printf("%6d ", (int)w->now);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

/* ---- actions ---- */

static uint64_t number_of_list(struct world *w, const struct members *members)
{
	for (unsigned i = w->lists; i > 0; i--)
		if (members_equal(&w->list[i - 1], members))
			return i - 1;
	assert(w->lists < WORLD_LISTS);
	w->list[w->lists] = *members;
	return w->lists++;
}

static void say_members(const struct world *w, const struct world_node *n,
			const struct members *members)
{
	char text[400] = "";
	size_t len = 0;

	for (unsigned i = 0; i < members->count; i++)
		len += (size_t)snprintf(text + len, sizeof text - len, " %s %s",
					members->member[i].is_voter ? "voter" : "learner",
					members->member[i].address);
	world_say(w, "node %d has at %d:%s", (int)n->id, (int)n->last, text);
}

static void append(struct world *w, struct world_node *n, const struct core_action *a)
{
	if (a->append.first != n->last + 1)
		world_fail(w, "node %d appends at %d after %d", (int)n->id, (int)a->append.first,
			   (int)n->last);
	if (n->last + a->append.count >= WORLD_ENTRIES)
		world_fail(w, "there are too many entries");
	for (size_t i = 0; i < a->append.count; i++) {
		const struct core_head *head = &a->append.heads[i];
		struct world_entry entry = { .term = head->term, .kind = head->kind };

		entry.id = head->kind == CORE_MEMBERS ? number_of_list(w, head->members)
						      : (uint64_t)(uintptr_t)head->data;
		disk_append(n, &entry);
		if (head->kind == CORE_MEMBERS)
			say_members(w, n, head->members);
	}
	if (w->fault == FAULT_EARLY_REPLY)
		core_persisted(n->core, n->last);
}

static void change_role(struct world *w, struct world_node *n, const struct core_action *a)
{
	/* A leader that steps down builds its engine again, and may not lead until that is done. */
	if (n->role == CORE_LEADER && a->role.role != CORE_LEADER && world_below(w, 2) == 0) {
		core_set_may_stand(n->core, false);
		n->stand_at = w->now + 1 + (int64_t)world_below(w, 600);
	}
	n->role = a->role.role;
	if (n->role == CORE_LEADER)
		facts_leader(w, n, a->role.term);
}

static void begin_fetch(struct world *w, struct world_node *n, const struct core_action *a)
{
	n->fetch_from = a->install.from;
	n->fetch = *a->install.base;
	n->fetch_at =
		w->now + 5 +
		(int64_t)world_below(w, !world_is_quiet(w) && world_below(w, 5) == 0 ? 2000 : 200);
	facts_base(w, n, &n->fetch);
}

static void note(struct world *w, const struct world_node *n, const struct core_action *a)
{
	static const char *const kinds[] = { "store vote", "role",   "cut",	"append",
					     "send",	   "commit", "install", "broken" };
	const struct core_message *m = &a->send.message;
	uint64_t index = 0;

	switch (a->kind) {
	case CORE_STORE_VOTE:
		index = a->store_vote.term * 10 + a->store_vote.vote;
		break;
	case CORE_ROLE:
		index = a->role.term * 100 + a->role.role * 10 + a->role.leader;
		break;
	case CORE_CUT:
		index = a->cut.index;
		break;
	case CORE_APPEND:
		index = a->append.first * 10 + a->append.count;
		break;
	case CORE_SEND:
		index = a->send.to;
		break;
	case CORE_COMMIT:
		index = a->commit.index;
		break;
	case CORE_INSTALL:
		index = a->install.base->index;
		break;
	case CORE_BROKEN:
		break;
	}
	w->digest = (w->digest ^ index ^ n->id << 32 ^ (uint64_t)a->kind << 40) * 0x100000001b3u;
	if (a->kind == CORE_SEND && m->kind == CORE_ENTRIES)
		world_say(
			w,
			"node %d sends to %d in term %d: %d entries after %d of term %d, commit %d",
			(int)n->id, (int)a->send.to, (int)m->term, (int)m->entries.count,
			(int)m->entries.previous_index, (int)m->entries.previous_term,
			(int)m->entries.commit);
	else if (a->kind == CORE_SEND && m->kind == CORE_ENTRIES_RESULT)
		world_say(w, "node %d answers to %d in term %d: rejected %d, last %d", (int)n->id,
			  (int)a->send.to, (int)m->term, (int)m->entries_result.rejected,
			  (int)m->entries_result.last_index);
	else if (a->kind == CORE_SEND)
		world_say(w, "node %d sends to %d in term %d: %s", (int)n->id, (int)a->send.to,
			  (int)m->term, core_message_name(m->kind));
	else
		world_say(w, "node %d: %s %d", (int)n->id, kinds[a->kind], (int)index);
}

static void do_action(struct world *w, struct world_node *n, const struct core_action *a)
{
	note(w, n, a);
	switch (a->kind) {
	case CORE_STORE_VOTE:
		disk_store_vote(w, n, a->store_vote.term, a->store_vote.vote);
		/* Crashes are most dangerous now. */
		if (!world_is_quiet(w) && world_below(w, w->is_stormy ? 3 : 12) == 0)
			n->crash_at = w->now + 1 + (int64_t)world_below(w, 30);
		break;
	case CORE_ROLE:
		change_role(w, n, a);
		break;
	case CORE_CUT:
		if (a->cut.index <= n->commit || a->cut.index > n->last)
			world_fail(w, "node %d cuts at %d; %d of %d are committed", (int)n->id,
				   (int)a->cut.index, (int)n->commit, (int)n->last);
		w->counts.cuts++;
		disk_cut(n, a->cut.index);
		break;
	case CORE_APPEND:
		append(w, n, a);
		break;
	case CORE_SEND:
		net_send(w, n, a);
		break;
	case CORE_COMMIT:
		facts_commit(w, n, a->commit.index);
		break;
	case CORE_INSTALL:
		begin_fetch(w, n, a);
		break;
	case CORE_BROKEN:
		world_fail(w, "node %d is broken: %s", (int)n->id, a->broken.why);
	}
}

/* Returns whether the node waits for its vote to be stored. */
static bool is_voting(const struct world *w, const struct world_node *n)
{
	return n->vote_at != 0 && w->fault != FAULT_LOST_VOTE;
}

/* Do all actions, or those before a vote that is to be stored. */
static void settle(struct world *w, struct world_node *n)
{
	struct core_action action;

	while (!is_voting(w, n) && core_next(n->core, &action))
		do_action(w, n, &action);
}

/* ---- nodes ---- */

static void start(struct world *w, struct world_node *n)
{
	const struct world_image *disk = n->disk;
	struct core_options options = {
		.id = n->id,
		.seed = world_below(w, UINT64_MAX),
		.election_ms = WORLD_ELECTION_MS,
		.heartbeat_ms = WORLD_HEARTBEAT_MS,
		.catch_up_ms = 3000,
		.inflight_entries = 32 + (unsigned)world_below(w, 200),
	};
	struct core_start start = { .term = disk->term,
				    .vote = disk->vote,
				    .base = &disk->base,
				    .first_index = disk->first };

	n->last = disk->last;
	n->commit = disk->base.index;
	/* A mark in the log may say what was committed. */
	if (world_below(w, 2) == 0 && n->marked >= n->commit && n->marked <= disk->last)
		n->commit = start.commit = n->marked;
	n->role = CORE_FOLLOWER;
	n->stand_at = 0;
	n->core = core_create(&options, &start);
	for (uint64_t i = disk->first; i <= disk->last; i++) {
		struct core_head head = { .term = disk->entry[i].term,
					  .kind = disk->entry[i].kind };

		n->entry[i] = disk->entry[i];
		if (head.kind == CORE_MEMBERS)
			head.members = &w->list[disk->entry[i].id];
		core_load(n->core, &head);
	}
	world_say(w, "node %d starts with entries %d to %d", (int)n->id, (int)disk->first,
		  (int)disk->last);
	core_start(n->core, w->now);
	settle(w, n);
}

static void crash(struct world *w, struct world_node *n)
{
	world_say(w, "node %d crashes", (int)n->id);
	w->counts.crashes++;
	core_free(n->core);
	n->core = NULL;
	n->marked = disk_durable(n) < n->commit ? disk_durable(n) : n->commit;
	n->role = CORE_FOLLOWER;
	n->paused_until = 0;
	n->up_at = w->now + 1 + (int64_t)world_below(w, n->crash_at != 0 ? 50 : 1500);
	n->crash_at = 0;
	n->is_synced = false;
	disk_crash(w, n);
	net_drop(w, n->id);
}

static void end_install(struct world *w, struct world_node *n)
{
	n->install_at = 0;
	w->counts.installs++;
	disk_install(n, &n->fetch);
	n->commit = n->fetch.index;
	core_base_installed(n->core);
	settle(w, n);
}

static void end_fetch(struct world *w, struct world_node *n)
{
	const struct world_node *from = &w->node[n->fetch_from];

	n->fetch_from = 0;
	if (from->core == NULL || w->cut[from->id][n->id]) {
		core_base_dropped(n->core);
	} else if (core_base_accept(n->core)) {
		n->install_at = w->now + 1 + (int64_t)world_below(w, 50);
	}
}

/* The log is kept from the last entry of each snapshot that a node fetches here, or has fetched a
 * short time ago. */
static uint64_t needed_from(const struct world *w, const struct world_node *n)
{
	uint64_t needed = UINT64_MAX;

	for (uint64_t id = 1; id <= WORLD_NODES; id++) {
		const struct world_node *other = &w->node[id];

		if ((other->fetch_from == n->id || w->now < other->fetch_at + 3000) &&
		    other->fetch.index < needed)
			needed = other->fetch.index;
	}
	return needed;
}

static void make_base(struct world *w, struct world_node *n)
{
	struct core_base base;
	uint64_t first = n->commit + 1, needed = needed_from(w, n),
		 trailing = world_is_quiet(w) ? 1000 : world_below(w, 40);

	if (n->commit > disk_durable(n) || !core_base_at(n->core, n->commit, &base))
		return;
	first = first > trailing ? first - trailing : 1;
	if (first > needed)
		first = needed;
	if (first < n->disk->first)
		first = n->disk->first;
	facts_base(w, n, &base);
	disk_set_base(n, &base, first);
	w->counts.bases++;
	core_base_made(n->core, base.index, first);
	settle(w, n);
}

static void submit(struct world *w, struct world_node *n)
{
	struct core_head heads[4] = { { 0 } };
	size_t count = 1 + world_below(w, 4);

	for (size_t i = 0; i < count; i++) {
		heads[i].kind = CORE_OPERATIONS;
		heads[i].data = (void *)(uintptr_t)++w->next_id;
	}
	core_submit(n->core, heads, count);
	settle(w, n);
}

/* A learner more, a voter more or less, or another address. */
static void change_members(struct world *w, struct world_node *n)
{
	uint64_t index, id = 1 + world_below(w, WORLD_NODES);
	bool is_committed;
	struct members members = *core_members(n->core, &index, &is_committed);
	const struct member *member = members_find(&members, id);
	char address[20];

	snprintf(address, sizeof address, "n%d:%d", (int)id, (int)world_below(w, 3));
	if (member == NULL)
		members_set(&members, id, address, false);
	else if (world_below(w, 3) == 0)
		members_remove(&members, id);
	else if (member->is_voter)
		members_set(&members, id, address, true);
	else if (core_catch_up_state(n->core, id) != CORE_CATCH_UP_DONE)
		core_catch_up(n->core, id);
	else
		members_set(&members, id, member->address, true);
	settle(w, n);
	if (!is_voting(w, n) && core_change(n->core, &members) == CORE_OK) {
		w->counts.changes++;
		settle(w, n);
	}
}

static void lead(struct world *w, struct world_node *n)
{
	if (w->now < WORLD_WILD_MS + WORLD_QUIET_MS - 1500 && world_below(w, 8) == 0)
		submit(w, n);
	if (world_is_quiet(w))
		return;
	if (!is_voting(w, n) && world_below(w, w->is_churning ? 10 : 150) == 0)
		change_members(w, n);
	if (!is_voting(w, n) && world_below(w, 2000) == 0 &&
	    core_transfer(n->core, world_below(w, WORLD_NODES + 1)) == CORE_OK) {
		w->counts.transfers++;
		settle(w, n);
	}
}

/* Returns whether the node has something to wait for, so that it takes no event. */
static bool is_busy(const struct world *w, const struct world_node *n)
{
	return n->core == NULL || is_voting(w, n) || w->now < n->paused_until;
}

static void store_vote(struct world *w, struct world_node *n)
{
	if (n->vote_at == 0 || w->now < n->vote_at)
		return;
	n->vote_at = 0;
	n->disk->term = n->vote_term;
	n->disk->vote = n->vote;
	settle(w, n);
}

static void run_node(struct world *w, struct world_node *n)
{
	if (n->core == NULL && w->now >= n->up_at)
		start(w, n);
	if (n->core != NULL && n->crash_at != 0 && w->now >= n->crash_at)
		crash(w, n);
	if (n->core == NULL || w->now < n->paused_until)
		return;
	store_vote(w, n);
	if (disk_work(w, n))
		n->is_synced = true;
	if (n->is_synced && !is_voting(w, n)) {
		n->is_synced = false;
		core_persisted(n->core, disk_durable(n));
		settle(w, n);
	}
	if (n->install_at != 0 && w->now >= n->install_at)
		end_install(w, n);
	if (!is_voting(w, n) && n->fetch_from != 0 && w->now >= n->fetch_at)
		end_fetch(w, n);
	if (n->stand_at != 0 && w->now >= n->stand_at) {
		n->stand_at = 0;
		core_set_may_stand(n->core, true);
	}
	if (!is_voting(w, n) && core_role(n->core) == CORE_LEADER)
		lead(w, n);
	if (!is_voting(w, n) && n->commit > n->disk->base.index + 30 + world_below(w, 300))
		make_base(w, n);
	if (!is_voting(w, n) && w->now >= core_deadline(n->core)) {
		/* A clock that goes back sometimes. */
		core_tick(n->core,
			  w->now - (int64_t)(world_below(w, 10) == 0 ? world_below(w, 20) : 0));
		settle(w, n);
	}
}

static void deliver(struct world *w, struct world_message *m)
{
	struct world_node *to = &w->node[m->to];
	int64_t later = w->now + 1;

	if (to->core == NULL) {
		net_free(m);
		return;
	}
	if (is_busy(w, to)) {
		if (to->vote_at > later)
			later = to->vote_at;
		if (to->paused_until > later)
			later = to->paused_until;
		net_delay(w, m, later);
		return;
	}
	core_set_time(to->core, w->now);
	if (!core_receive(to->core, m->from, &m->message))
		world_fail(w, "node %d refuses a message of %d", (int)m->to, (int)m->from);
	settle(w, to);
	net_free(m);
}

/* ---- the world ---- */

static void disturb(struct world *w)
{
	struct world_node *n = &w->node[1 + world_below(w, WORLD_NODES)];

	if (world_below(w, w->is_stormy || w->is_churning ? 150 : 500) == 0)
		net_partition(w);
	if (world_below(w, 700) == 0 && n->core != NULL)
		crash(w, n);
	if (world_below(w, 2500) == 0)
		n->slow_until = w->now + (int64_t)world_below(w, 2000);
	if (world_below(w, 2500) == 0 && n->core != NULL)
		n->paused_until = w->now + (int64_t)world_below(w, 2000);
}

static void calm_down(struct world *w)
{
	net_heal(w);
	for (uint64_t id = 1; id <= WORLD_NODES; id++) {
		w->node[id].slow_until = 0;
		w->node[id].paused_until = 0;
		w->node[id].crash_at = 0;
		if (w->node[id].up_at > w->now)
			w->node[id].up_at = w->now;
	}
}

/* The first members have the same first entry; the others join with nothing. */
static void begin(struct world *w)
{
	unsigned voters = 1 + (unsigned)world_below(w, WORLD_NODES);
	struct members members = { 0 };
	char address[20];

	for (unsigned id = 1; id <= WORLD_NODES; id++) {
		snprintf(address, sizeof address, "n%u:0", id);
		if (id <= voters || world_below(w, 3) == 0)
			members_set(&members, id, address, id <= voters);
	}
	for (uint64_t id = 1; id <= WORLD_NODES; id++) {
		struct world_node *n = &w->node[id];

		n->id = id;
		n->disk = mem_zalloc(sizeof *n->disk);
		n->disk->first = 1;
		if (id <= voters) {
			n->disk->term = 1;
			n->disk->last = 1;
			n->disk->entry[1].term = 1;
			n->disk->entry[1].kind = CORE_MEMBERS;
			n->disk->entry[1].id = number_of_list(w, &members);
		}
	}
}

void world_run(struct world *w)
{
	struct world_message *m;

	w->random = w->seed * 2654435761u;
	w->is_rough = w->seed % 2 == 0;
	w->is_stormy = w->seed % 8 >= 6;
	w->is_churning = w->seed % 8 == 4 || w->seed % 8 == 5;
	begin(w);
	for (w->now = 1; w->now < WORLD_WILD_MS + WORLD_QUIET_MS; w->now++) {
		if (w->now == WORLD_WILD_MS)
			calm_down(w);
		if (!world_is_quiet(w))
			disturb(w);
		for (uint64_t id = 1; id <= WORLD_NODES; id++)
			run_node(w, &w->node[id]);
		while ((m = net_take(w)) != NULL)
			deliver(w, m);
	}
	facts_end(w);
	for (uint64_t id = 1; id <= WORLD_NODES; id++) {
		core_free(w->node[id].core);
		free(w->node[id].writes);
		free(w->node[id].disk);
	}
	net_end(w);
}
