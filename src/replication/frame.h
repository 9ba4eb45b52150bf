/*
 * Frames: what the nodes of a group send to each other, as bytes.
 *
 * Numbers are little-endian. A varint has seven bits in each byte, the low ones first.
 *
 *	 0   4	length of the body
 *	 4   4	checksum of everything after it: the low half of XXH3-64 with the length as seed
 *	 8   1	type
 *	 9   8	term of the sender, as of the message; 0 in frames that have none
 *	17   .	body, by type; see frame.c
 *
 * The first frame of each direction is HELLO. It is the same in all versions of the protocol, and
 * so is REFUSED.
 *
 * An entry of the log travels as
 *
 *	varint term, 1 byte kind, varint length of the payload, payload
 *
 * and several entries follow each other without anything between them. The kind is the sender's
 * and the receiver's business. An entry with more than FRAME_ENTRIES_BYTES bytes travels in pieces,
 * one in each frame, with other frames between them.
 *
 * Decoding copies nothing and allocates nothing: slices of a decoded frame point to the caller's
 * bytes. Every length and count is checked against a limit below as soon as it has arrived, so the
 * caller never makes room for more than FRAME_MAX bytes.
 *
 * Pure: no I/O, no clock, no globals.
 */
#ifndef REPLICATION_FRAME_H
#define REPLICATION_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replication/message.h"
#include "util/buf.h"
#include "util/str.h"

/* Versions of the protocol that this program speaks. */
#define FRAME_VERSION_MIN 1
#define FRAME_VERSION_MAX 1

/* Bytes before the body. */
#define FRAME_HEADER_BYTES ((size_t)17)
/* Bytes of encoded entries in a frame. */
#define FRAME_ENTRIES_BYTES ((size_t)1024 * 1024)
/* Entries in a frame. */
#define FRAME_ENTRIES_COUNT 4096
/* Bytes of a piece of an entry. Small, because heartbeats wait for the end of a piece: at 100 Mbit
 * a second it takes 20 ms. */
#define FRAME_PIECE_BYTES ((size_t)256 * 1024)
/* Bytes of the payload of an entry: those of a record of the log. */
#define FRAME_PAYLOAD_MAX ((size_t)0x7fffffff)
/* Bytes of an entry before its payload. */
#define FRAME_ENTRY_HEADER_MAX ((size_t)(10 + 1 + 5))
/* The highest index of an entry, and the highest term. */
#define FRAME_INDEX_MAX ((uint64_t)INT64_MAX)
/* Bytes of a piece of a snapshot file. */
#define FRAME_BASE_PIECE_BYTES FRAME_ENTRIES_BYTES
/* Bytes of a group's id. */
#define FRAME_GROUP_BYTES 16
/* Bytes of a frame of any type. A piece of a snapshot or entries are the longest part of it. */
#define FRAME_MAX (FRAME_HEADER_BYTES + (size_t)64 + FRAME_ENTRIES_BYTES)
/* Bytes of a HELLO frame, the only one that a stranger may send. */
#define FRAME_HELLO_MAX ((size_t)1024)

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_REFUSED, /* the answer to a HELLO that is not accepted; the connection ends */
	FRAME_ALIVE,   /* a sign of life, with the wall clock of the sender */
	FRAME_MESSAGE, /* a message of the core, with the bytes of entries or the file of a snapshot
			*/
	FRAME_PIECE,   /* a piece of one large entry */
	FRAME_PROBE,   /* asks whether the receiver agrees that the sender leads in its term */
	FRAME_PROBE_RESULT, /* the term of the answering node */
	FRAME_BASE_ASK,	    /* asks for bytes of the file of a snapshot */
	FRAME_BASE_PIECE,   /* the bytes that were asked for */
	FRAME_BASE_GONE,    /* the file is not there any more */
};

/* The purpose of a connection. */
enum frame_purpose {
	FRAME_FOR_MESSAGES = 1,
	FRAME_FOR_BASE, /* the connecting node asks for pieces of a snapshot */
};

enum frame_refusal {
	FRAME_REFUSED_GROUP = 1,   /* the node belongs to another group */
	FRAME_REFUSED_NODE,	   /* the connecting node is not a member */
	FRAME_REFUSED_SELF,	   /* the node is not the one that the HELLO is for */
	FRAME_REFUSED_VERSION,	   /* there is no common version */
	FRAME_REFUSED_CERTIFICATE, /* the certificate does not have the name of the member */
};

struct frame_hello {
	uint32_t version_min;
	uint32_t version_max;
	unsigned char group[FRAME_GROUP_BYTES];
	uint64_t from;
	uint64_t to;
	enum frame_purpose purpose;
	/* Where other nodes reach the sender, as host:port. */
	struct qless_str address;
	/* Where clients reach it. May be empty. */
	struct qless_str announce;
};

/* The file of a snapshot. */
struct frame_base {
	uint64_t index; /* of the last entry that it covers */
	uint64_t term;	/* of that entry */
	uint64_t size;	/* bytes */
	uint64_t salt;	/* tells this file from all others: see journal/record.c */
};

/* A piece of an entry that is too large for a message. All pieces of an entry have the same fields,
 * except for offset and bytes, and a commit index that may rise. */
struct frame_piece {
	uint64_t previous_index; /* of the entry before it */
	uint64_t previous_term;
	uint64_t commit;
	uint64_t entry_term;
	uint8_t entry_kind;
	uint32_t size; /* bytes of the whole payload */
	uint32_t offset;
	struct qless_str bytes;
};

struct frame {
	enum frame_type type;
	uint64_t term; /* of the sender, or of the message; 0 in frames that have none */
	struct frame_hello hello;
	enum frame_refusal refusal;
	int64_t wall_us; /* ALIVE: microseconds since 1970 */
	struct {
		/* For a message of kind CORE_ENTRIES, without heads. That of kind CORE_BASE_OFFER
		 * has `offer`. */
		struct core_message message;
		struct core_base offer;
		struct qless_str entries; /* of CORE_ENTRIES: `count` valid entries */
	};
	struct frame_piece piece;
	uint64_t probe; /* PROBE and PROBE_RESULT: number of the round */
	struct {
		struct frame_base base; /* CORE_BASE_OFFER, BASE_ASK, BASE_PIECE, BASE_GONE */
		uint64_t offset;	/* BASE_ASK, BASE_PIECE */
		uint32_t length;	/* BASE_ASK: bytes wanted */
		struct qless_str bytes; /* BASE_PIECE */
	};
};

/* Append a frame. It keeps the limits, which is asserted. The entries of a message are those of
 * `entries`, and its term is that of the frame. */
void frame_encode(struct buf *out, const struct frame *frame);

/*
 * Write the bytes of a frame in place, for frames with many of them:
 *
 *	at = frame_begin_entries(out);
 *	... append encoded entries of at most FRAME_ENTRIES_BYTES bytes ...
 *	frame_end_entries(out, at, &message);
 *
 * or take back what was begun with buf_truncate(out, at). The fields `bytes` of a piece are not
 * used.
 */
size_t frame_begin_entries(struct buf *out);
void frame_end_entries(struct buf *out, size_t at, const struct core_message *message);
size_t frame_begin_piece(struct buf *out);
void frame_end_piece(struct buf *out, size_t at, uint64_t term, const struct frame_piece *piece);
size_t frame_begin_base_piece(struct buf *out);
void frame_end_base_piece(struct buf *out, size_t at, const struct frame_base *base,
			  uint64_t offset);

/* Returns the bytes that were appended since a frame was begun at `at`. */
size_t frame_entries_written(const struct buf *out, size_t at);
size_t frame_piece_written(const struct buf *out, size_t at);
size_t frame_base_piece_written(const struct buf *out, size_t at);

enum frame_status {
	FRAME_NEED_MORE, /* the frame has not arrived completely */
	FRAME_READY,
	FRAME_INVALID, /* `*ret_error` says why; the stream is useless from here on */
};

/*
 * Decode the frame that begins at `base`. `len` counts all bytes that have arrived from there on.
 * The call keeps no state and looks at the body only when all of it is there, so a frame that
 * comes byte by byte costs little more than one that comes whole.
 *
 * `max` bounds the whole frame: FRAME_HELLO_MAX for a stranger, FRAME_MAX otherwise. A stranger's
 * frame must be HELLO; the caller checks that with the type.
 *
 * FRAME_READY sets *ret_frame, and *ret_size to the bytes of the frame. FRAME_NEED_MORE sets
 * *ret_size to the bytes that the frame will have, or to FRAME_HEADER_BYTES as long as that is
 * unknown.
 */
enum frame_status frame_decode(const char *base, size_t len, size_t max, struct frame *ret_frame,
			       size_t *ret_size, const char **ret_error);

/* ---- entries ---- */

struct frame_entry {
	uint64_t term;
	uint8_t kind;
	struct qless_str payload;
};

/* Returns the bytes of the entry when it is encoded. */
size_t frame_entry_size(uint64_t term, size_t payload_len);
void frame_put_entry(struct buf *out, const struct frame_entry *entry);
/* Append what comes before the payload. */
void frame_put_entry_header(struct buf *out, uint64_t term, uint8_t kind, size_t payload_len);

/* Take the first entry from encoded entries. Returns false at their end, and if the bytes are not
 * valid, which never happens with those of a decoded frame. */
bool frame_take_entry(struct qless_str *entries, struct frame_entry *ret_entry);

/* Returns the name of a reason, as for a log: "it belongs to another group". */
const char *frame_refusal_text(enum frame_refusal refusal);

#endif
