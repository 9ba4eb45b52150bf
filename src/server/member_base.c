/*
 * Snapshots that nodes of a group fetch from each other.
 *
 * The leader has one file open at a time, the one that it has offered last. A node that asks for
 * another one is told that it is gone, and gets a new offer.
 */
#include <string.h>

#include "server/member_int.h"
#include "sys/log.h"
#include "util/minmax.h"

/* ---- the leader ---- */

static bool open_base(struct membership *m, uint64_t index)
{
	struct journal *journal = m->server->persist->journal;

	if (m->base.fd >= 0 && m->base.index == index)
		return true;
	member_close_base(m);
	if (journal_open_base(journal, &m->base) == 0 && m->base.index == index)
		return true;
	member_close_base(m);
	return false;
}

void member_offer_base(struct membership *m, uint64_t to, const struct core_message *message)
{
	struct frame_base base;

	if (!open_base(m, message->offer->index))
		return;
	base = (struct frame_base){ .index = m->base.index,
				    .term = m->base.term,
				    .size = m->base.size,
				    .salt = m->base.salt };
	nodes_offer_base(m->nodes, to, message, &base);
}

void member_close_base(struct membership *m)
{
	journal_close_base(m->server->persist->journal, &m->base);
	m->base.fd = -1;
}

enum nodes_fetched member_read_base(void *arg, const struct frame_base *base, uint64_t offset,
				    size_t max, struct buf *out)
{
	struct membership *m = arg;
	size_t before = out->len;
	ssize_t len;

	if (m->base.fd < 0 || m->base.index != base->index || m->base.salt != base->salt ||
	    offset >= m->base.size)
		return NODES_GONE;
	max = (size_t)min_u64(max, m->base.size - offset);
	len = journal_read_base(m->server->persist->journal, &m->base, buf_reserve(out, max), max,
				offset);
	if (len <= 0)
		return NODES_GONE;
	buf_commit(out, (size_t)len);
	return out->len > before ? NODES_FETCHED : NODES_GONE;
}

/* ---- a node that fetches ---- */

void member_base_offered(void *arg, uint64_t from, const struct core_message *message,
			 const struct frame_base *base)
{
	struct membership *m = arg;

	m->offered = *base;
	server_read_clock(m->server);
	group_receive(m->group, from, message, STR(""));
}

void member_install(void *arg, uint64_t from, const struct core_base *base)
{
	struct membership *m = arg;
	uint64_t offset = 0;

	if (m->offered.index != base->index ||
	    journal_begin_install(m->server->persist->journal, m->offered.size, m->offered.salt,
				  &offset) < 0) {
		group_end_install(m->group, /* is_complete= */ false);
		return;
	}
	log_notice("fetching the snapshot of node %llu, %llu MB", (unsigned long long)from,
		   (unsigned long long)(m->offered.size >> 20));
	if (offset < m->offered.size)
		nodes_fetch_base(m->nodes, from, &m->offered, offset);
	else
		group_end_install(m->group, /* is_complete= */ true);
}

bool member_base_piece(void *arg, uint64_t offset, struct qless_str bytes)
{
	struct membership *m = arg;

	(void)offset;
	server_read_clock(m->server);
	return journal_install_piece(m->server->persist->journal, bytes) == 0;
}

void member_base_ended(void *arg, enum nodes_base_end end)
{
	struct membership *m = arg;

	server_read_clock(m->server);
	if (end != NODES_BASE_COMPLETE)
		log_notice("the snapshot of another node cannot be fetched to its end");
	group_end_install(m->group, end == NODES_BASE_COMPLETE);
}
