/*
 * Shared by the files of the member. No other file includes this.
 *
 *	member.c	the node on the event loop
 *	member_base.c	snapshots that nodes fetch from each other
 *	member_tls.c	certificates of the connections between nodes
 *	member_reads.c	replies to reads wait for a round
 *	member_change.c	REPLICA
 *	member_handover.c	FAILOVER
 *	member_words.c	the words about itself, and about its birth
 *	sentinel.c	what it says about the group to client libraries
 */
#ifndef SERVER_MEMBER_INT_H
#define SERVER_MEMBER_INT_H

#include "journal/journal_group.h"
#include "replication/group.h"
#include "replication/rounds.h"
#include "server/member.h"
#include "server/nodes.h"
#include "server/persist_int.h"
#include "server/sentinel.h"
#include "server/users_log.h"

enum handover_state { HANDOVER_NONE, HANDOVER_DRAINING, HANDOVER_TRANSFERRING };

struct handover {
	enum handover_state state;
	uint64_t heir;
	int64_t begin_us; /* monotonic */
};

/* REPLICA REPLACE: a node that leaves when its successor votes. */
struct leaving {
	uint64_t id; /* 0: none */
	uint64_t successor;
};

struct membership {
	struct server *server;
	struct group *group;
	struct nodes *nodes;
	struct rounds rounds;
	int64_t round_us;      /* when the round under way was sent; monotonic */
	struct tls *tls;       /* of the connections to other nodes; NULL: none */
	int64_t tls_warned_us; /* when its expiry was last checked; monotonic */
	struct event *timer;   /* when the group needs a turn */
	struct replay replay;
	struct members members;	       /* as the nodes know them */
	struct journal_base_file base; /* the snapshot that was offered to others */
	struct frame_base offered;     /* and the one that the leader has offered */
	int64_t newest_us; /* the newest time in the log that came from the clock of a leader */
	int64_t leader_ahead_us; /* by which the clock of the leader is ahead of the own */
	bool leads;
	bool is_applying;
	bool has_given_up;
	struct handover handover;
	struct leaving leaving;
	bool has_changed; /* the members, since the last flush */
	char own_clients[SENTINEL_ADDRESS_SIZE];
	char refusal[400];
	/* The leader that clients were told last, and its address. 0 and empty: none. */
	uint64_t told_id;
	char told_leader[SENTINEL_ADDRESS_SIZE];
};

/* ---- member_base.c ---- */

void member_offer_base(struct membership *m, uint64_t to, const struct core_message *message);
void member_close_base(struct membership *m);
void member_install(void *arg, uint64_t from, const struct core_base *base);
/* For struct nodes_ops. */
enum nodes_fetched member_read_base(void *arg, const struct frame_base *base, uint64_t offset,
				    size_t max, struct buf *out);
void member_base_offered(void *arg, uint64_t from, const struct core_message *message,
			 const struct frame_base *base);
bool member_base_piece(void *arg, uint64_t offset, struct qless_str bytes);
void member_base_ended(void *arg, enum nodes_base_end end);

/* ---- member_handover.c ---- */

/* Returns whether FAILOVER is under way. */
bool member_is_handing_over(const struct membership *m);
/* Returns its progress in the words of INFO. */
const char *member_handover_state(const struct membership *m);
/* Do what is due. Once in each turn, after the log was flushed. */
void member_run_handover(struct membership *m);

/* ---- member_change.c ---- */

/* Begin the next steps of changes. Once in each turn, after the log was flushed. */
void member_run_changes(struct membership *m);
/* Returns what happens to a member, for people. */
const char *member_progress(const struct membership *m, const struct member *one);

/* ---- member_words.c ---- */

/* Where other nodes reach this one. */
void member_own_address(const struct config *config, char to[MEMBERS_ADDRESS_SIZE]);

/* Reads the wishes of the command line. Returns false with a line in `ret_error` if they cannot be
 * fulfilled. */
bool member_parse_birth(const struct config *config, const struct member_birth *birth,
			struct journal_identity *ret_identity, struct members *ret_members,
			struct buf *ret_error);

#endif
