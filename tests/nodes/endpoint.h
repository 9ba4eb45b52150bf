/*
 * Nodes of a group in one process, over real sockets: each has a made-up log, and counts what it
 * receives. The test runs the event loop they share.
 */
#ifndef TESTS_ENDPOINT_H
#define TESTS_ENDPOINT_H

#include <event2/event.h>

#include "server/nodes.h"
#include "util/buf.h"
#include "wait.h"

/* Nodes of a test, with ids from 1. */
#define ENDPOINTS_MAX 3
/* Milliseconds between heartbeats. */
#define ENDPOINT_BEAT_MS 5
/* Heartbeats without a sign of life in tests about that. Otherwise a connection is never given up,
 * because the kernel may take longer than a heartbeat to repeat a packet. */
#define ENDPOINT_SILENT_BEATS 10

/* One node, and what happens to it. */
struct endpoint {
	struct nodes *nodes;
	uint64_t id;
	int port;
	char address[32];

	/* Its log: the entries from `first` to `last` are there. */
	uint64_t leads; /* the term in which it leads; others get nothing */
	uint64_t first;
	uint64_t last;
	size_t entry_bytes;   /* of each payload */
	uint64_t large_index; /* an entry with `large_bytes` */
	size_t large_bytes;
	bool is_reading; /* entries have to be read first */
	uint64_t fetches;
	size_t fetched_bytes; /* of payloads */

	/* Its last message, and what came before. */
	uint64_t messages;
	uint64_t from;
	struct core_message message;
	struct members offered_members;
	struct frame_base offered;
	uint64_t heartbeats;
	uint64_t entries; /* that arrived in order, from 1 on or from the first one */
	uint64_t next;	  /* index that must arrive next; 0: any */
	uint64_t heartbeats_before_large;
	uint64_t probes;
	uint64_t probe_answers;
	uint64_t probe_term;
	uint64_t probe_number;

	/* Its answer to nodes that it does not know. */
	bool admits;
	bool joins; /* it takes over their group */
	uint64_t admitted;

	/* The snapshot that it has, of `snapshot.size` made-up bytes, and the one that it fetches.
	 */
	struct frame_base snapshot;
	uint64_t base_reads;
	uint64_t base_read_from; /* the lowest offset since the test set it */
	uint64_t base_bytes;
	bool is_base_full; /* it cannot store more */
	uint64_t base_ends;
	enum nodes_base_end base_end;
};

/* The loop of all nodes. */
extern struct event_base *loop;
extern struct endpoint endpoints[ENDPOINTS_MAX + 1];

/* Options that tests change before endpoint_open(). */
extern struct nodes_options endpoint_options;

/* In setUp() and tearDown(). */
void endpoints_init(void);
void endpoints_done(void);

/* Make a node that listens on a free port of 127.0.0.1, or on the one that it had before. */
struct endpoint *endpoint_open(uint64_t id);
/* End a node. Its figures stay. */
void endpoint_close(struct endpoint *e);
/* Make the nodes from 1 to `count`, which know each other. */
void endpoints_open(unsigned count);
/* Tell a node that these ids are the members. Ends with 0. */
void endpoint_set_members(struct endpoint *e, const uint64_t *ids);
void endpoint_make_members(struct members *to, const uint64_t *ids);

struct nodes_member_info endpoint_member(const struct endpoint *e, uint64_t id);
struct nodes_info endpoint_info(const struct endpoint *e);
/* Returns whether both directions between all nodes from 1 to `count` are open. */
bool endpoints_are_connected(unsigned count);

/* Send a message about the entries of a node that leads. */
void endpoint_send_entries(struct endpoint *e, uint64_t to, uint64_t first, uint32_t count,
			   uint64_t commit);
void endpoint_send_simple(struct endpoint *e, uint64_t to, enum core_message_kind kind);

/* The byte at an offset of the snapshot. */
static inline char endpoint_base_byte(uint64_t offset)
{
	return (char)(offset * 7 + offset / 251);
}

/* Run one turn of the loop: it waits for an event, at most for a heartbeat. */
void loop_turn(void);

/* Run the loop until a condition holds. */
#define LOOP_UNTIL(condition)                                                         \
	do {                                                                          \
		int64_t until_ = wait_now_ms() + WAIT_MAX_MS;                         \
		while (!(condition)) {                                                \
			if (wait_now_ms() > until_)                                   \
				TEST_FAIL_MESSAGE("waited in vain for: " #condition); \
			loop_turn();                                                  \
		}                                                                     \
	} while (0)

/* Run the loop for this number of heartbeats. */
void loop_beats(unsigned count);

#endif
