/*
 * Reads of a node of a group that leads: see replication/rounds.h.
 */
#ifndef SERVER_MEMBER_READS_H
#define SERVER_MEMBER_READS_H

#include <stdint.h>

struct membership;
struct server;

/* This node has begun to lead. */
void member_reads_begin(struct membership *m);

/* The log has been flushed: tell the gate which output may leave, and ask the other nodes whether
 * this one leads if that is not known. */
void member_reads_end_turn(struct server *s);

/* For struct nodes_ops. */
void member_reads_asked(void *arg, uint64_t from, uint64_t term, uint64_t number);
void member_reads_answered(void *arg, uint64_t from, uint64_t term, uint64_t number);

#endif
