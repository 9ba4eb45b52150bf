/*
 * The events of a turn that wait for the core, with the bytes of their entries.
 */
#ifndef REPLICATION_GROUP_INBOX_H
#define REPLICATION_GROUP_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "journal/record.h"
#include "replication/core.h"
#include "util/buf.h"
#include "util/str.h"

/* An entry as the journal takes it. */
struct group_entry {
	enum record_type type;
	struct qless_str payload;
};

/* A received message. */
struct group_letter {
	TAILQ_ENTRY(group_letter) link;
	uint64_t from;
	struct core_message message;
	struct core_base base;	     /* of an offer */
	struct core_head *heads;     /* of the entries */
	struct group_entry *entries; /* their payloads point into `bytes` */
	struct members *members;     /* of the entries that have them */
	struct buf bytes;
};

TAILQ_HEAD(group_letters, group_letter);

struct group_inbox {
	struct group_letters letters;
	size_t bytes;
	uint64_t dropped;
};

void group_inbox_init(struct group_inbox *inbox);
void group_inbox_done(struct group_inbox *inbox);

/* Copies a message with its encoded entries. Drops it if the inbox is full, or the entries are not
 * what the message says. */
void group_inbox_put(struct group_inbox *inbox, uint64_t from, const struct core_message *message,
		     struct qless_str entries);

/* Returns the oldest letter, which then belongs to the caller; NULL if there is none. */
struct group_letter *group_inbox_take(struct group_inbox *inbox);
/* NULL is a no-op. */
void group_letter_free(struct group_letter *letter);

#endif
