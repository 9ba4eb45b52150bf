/*
 * The history of a job as compact bytes. history.c describes their layout.
 */
#ifndef ENGINE_HISTORY_H
#define ENGINE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "qless.h"

struct intern;
struct queue;

/* Bytes in the struct itself: enough for the first entry of most jobs. */
#define HISTORY_INLINE_BYTES 14

/* Bytes of a history above which log entries are refused. */
#define HISTORY_LOG_BYTES_MAX ((size_t)1 << 29)

struct history {
	uint32_t len;
	uint32_t cap; /* 0: the bytes are in `room`; otherwise `room` holds a pointer to them */
	uint32_t count;
	unsigned char room[HISTORY_INLINE_BYTES];
	uint16_t aux; /* for the owner; the history ignores it */
};

void history_append_put(struct qless *q, struct history *h, double now, struct queue *queue);
void history_append_popped(struct qless *q, struct history *h, double now, struct intern *worker);
void history_append_plain(struct qless *q, struct history *h, double now,
			  enum qless_event_kind kind);
/* `worker` is NULL if the retries were exhausted. */
void history_append_failed(struct qless *q, struct history *h, double now, struct intern *group,
			   struct intern *worker);
void history_append_log(struct qless *q, struct history *h, double now, struct qless_str what,
			const struct qless_str *item);
/* Whether a log entry of that size fits. */
bool history_has_room(const struct history *h, struct qless_str what, const struct qless_str *item);
/* The length that the history would have, at most, with a log entry of that size. */
size_t history_len_with(const struct qless *q, const struct history *h, struct qless_str what,
			const struct qless_str *item);
/* Visit each reference to a name in the history. */
void history_each_name(const struct history *h, void (*visit)(void *arg, const struct intern *name),
		       void *arg);
/* Step through the entries. `*cursor` starts as 0; false means the end. */
bool history_next(const struct history *h, size_t *cursor, struct qless_event *ret_event);
void history_done(struct qless *q, struct history *h);
/* Free the history without releasing its names, for an engine that is being freed. */
void history_discard(struct history *h);

#endif
