#include "core_world.h"

void facts_leader(struct world *w, const struct world_node *n, uint64_t term)
{
	if (term >= WORLD_TERMS)
		world_fail(w, "term %d is too high", (int)term);
	if (w->leader_of[term] != 0 && w->leader_of[term] != n->id)
		world_fail(w, "nodes %d and %d lead in term %d", (int)w->leader_of[term],
			   (int)n->id, (int)term);
	if (w->leader_of[term] == 0)
		w->counts.leaders++;
	w->leader_of[term] = n->id;
	/* A leader has all that is committed: logs that have the last entry are equal up to there.
	 */
	if (w->commit > n->disk->base.index &&
	    (w->commit > n->last || n->entry[w->commit].term != w->committed[w->commit].term ||
	     n->entry[w->commit].id != w->committed[w->commit].id))
		world_fail(w, "node %d leads in term %d without the committed entry %d", (int)n->id,
			   (int)term, (int)w->commit);
}

void facts_commit(struct world *w, struct world_node *n, uint64_t commit)
{
	if (commit <= n->commit || commit > n->last)
		world_fail(w, "node %d commits %d after %d, and has entries up to %d", (int)n->id,
			   (int)commit, (int)n->commit, (int)n->last);
	for (uint64_t i = n->commit + 1; i <= commit; i++) {
		const struct world_entry *entry = &n->entry[i];
		struct world_entry *fact = &w->committed[i];

		if (i <= w->commit) {
			if (fact->term != entry->term || fact->id != entry->id ||
			    fact->kind != entry->kind)
				world_fail(w,
					   "node %d commits entry %d as %d of term %d; it was %d "
					   "of term %d",
					   (int)n->id, (int)i, (int)entry->id, (int)entry->term,
					   (int)fact->id, (int)fact->term);
			continue;
		}
		*fact = *entry;
		w->commit = i;
		w->counts.commits++;
	}
	n->commit = commit;
}

void facts_base(struct world *w, const struct world_node *n, const struct core_base *base)
{
	const struct world_entry *list = &w->committed[base->members_index];

	if (base->index > w->commit || w->committed[base->index].term != base->term)
		world_fail(w, "node %d has a snapshot up to %d of term %d, which is not committed",
			   (int)n->id, (int)base->index, (int)base->term);
	if (list->kind != CORE_MEMBERS || !members_equal(&w->list[list->id], &base->members))
		world_fail(w, "the snapshot of node %d up to %d has other members than entry %d",
			   (int)n->id, (int)base->index, (int)base->members_index);
	for (uint64_t i = base->members_index + 1; i <= base->index; i++)
		if (w->committed[i].kind == CORE_MEMBERS)
			world_fail(w,
				   "the snapshot of node %d up to %d has the members of entry %d, "
				   "not %d",
				   (int)n->id, (int)base->index, (int)base->members_index, (int)i);
}

void facts_end(struct world *w)
{
	const struct world_node *leader = NULL;
	const struct members *members;
	uint64_t index;
	bool is_committed;

	for (uint64_t id = 1; id <= WORLD_NODES; id++) {
		const struct world_node *n = &w->node[id];

		if (n->core != NULL && n->role == CORE_LEADER &&
		    (leader == NULL || core_term(n->core) > core_term(leader->core)))
			leader = n;
	}
	if (leader == NULL)
		world_fail(w, "there is no leader at the end");
	if (leader->commit != leader->last || leader->commit != w->commit)
		world_fail(w, "leader %d has committed %d of %d entries; %d were committed",
			   (int)leader->id, (int)leader->commit, (int)leader->last, (int)w->commit);
	members = core_members(leader->core, &index, &is_committed);
	for (unsigned i = 0; i < members->count; i++) {
		const struct world_node *n = &w->node[members->member[i].id];

		if (n->commit != leader->commit || n->last != leader->last)
			world_fail(
				w,
				"member %d has committed %d of %d entries at the end, leader %d %d",
				(int)n->id, (int)n->commit, (int)n->last, (int)leader->id,
				(int)leader->commit);
	}
}
