/*
 * The history of a job as compact bytes. history.c describes their layout.
 */
#ifndef ENGINE_HISTORY_H
#define ENGINE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "qless.h"
#include "util/wire.h"

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

static inline const unsigned char *history_bytes(const struct history *h)
{
	const unsigned char *mem;

	if (h->cap == 0)
		return h->room;
	memcpy(&mem, h->room, sizeof(mem));
	return mem;
}

/* The time of the first entry; NAN if there is none. */
double history_first_time(const struct history *h);

/* The top bits of the first eight bytes of a history that begins at a usual time, and those of them
 * that belong to that time. */
#define HISTORY_USUAL_TOPS  0x0000008080808000
#define HISTORY_USUAL_BYTES 0x0000808080808080

/* history_first_time(), for a caller that needs it for each job. Nearly all times are varints of
 * five bytes, and are read without a loop. */
static inline double history_since(const struct history *h)
{
	uint64_t head;

	if (__builtin_expect(h->len < sizeof(head), 0))
		return history_first_time(h);
	head = wire_get_u64(history_bytes(h));
	if (__builtin_expect((head & HISTORY_USUAL_BYTES) != HISTORY_USUAL_TOPS, 0))
		return history_first_time(h);
	return (double)wire_unzigzag((head >> 8 & 0x7f) | (head >> 9 & 0x3f80) |
				     (head >> 10 & 0x1fc000) | (head >> 11 & 0xfe00000) |
				     (head >> 12 & 0x7f0000000));
}

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
