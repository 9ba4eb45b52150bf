/*
 * The format of the files of the log: encoding, decoding, checksums. Pure.
 *
 * record.c begins with the layout. Only the files of this folder know it.
 */
#ifndef JOURNAL_RECORD_H
#define JOURNAL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/str.h"

#define RECORD_FORMAT_VERSION	 4
#define RECORD_FORMAT_OLDEST	 2 /* that can be read */
#define RECORD_FILE_HEADER_BYTES ((size_t)64)
#define RECORD_FRAME_BYTES	 ((size_t)21)
/* No record is longer, so a damaged length is not taken for a long record. */
#define RECORD_PAYLOAD_MAX ((size_t)0x7fffffff)
#define RECORD_MARK_BYTES  ((size_t)16)

/* ---- the head of a file ---- */

enum record_file_kind {
	RECORD_FILE_LOG,
	RECORD_FILE_BASE,
};

struct record_file_header {
	enum record_file_kind kind;
	uint32_t format; /* RECORD_FORMAT_VERSION of who wrote it */
	uint32_t engine; /* version of the engine's rules and of its snapshot */
	uint64_t number; /* as in the file's name */
	/* log: of its first record; base: of the last record whose effect it holds */
	uint64_t sequence;
	uint64_t salt; /* seeds the checksums of its records */
	int64_t created_us;
};

enum record_status {
	RECORD_OK,
	RECORD_SHORT, /* the bytes end before the record does */
	RECORD_BAD,   /* the checksum does not fit, or what it covers makes no sense */
	RECORD_ALIEN, /* intact, but of a version or type we do not know */
};

void record_encode_header(const struct record_file_header *header,
			  unsigned char to[RECORD_FILE_HEADER_BYTES]);
/* `len` may be anything. RECORD_ALIEN if the format version is none that can be read; *ret_header
 * is then filled in too. */
enum record_status record_decode_header(const unsigned char *from, size_t len,
					struct record_file_header *ret_header);

/* ---- records ---- */

enum record_type {
	RECORD_COMMANDS = 1,	/* log and base, before format 4: commands of clients */
	RECORD_MARK = 2,	/* log: what was durable when this was written, and the time */
	RECORD_STATE_BEGIN = 3, /* base: the snapshot of a database begins */
	RECORD_STATE_DATA = 4,	/* base: the next piece of it */
	RECORD_STATE_END = 5,	/* base: it is complete */
	RECORD_BASE_END = 6,	/* base: the file is complete */
	RECORD_OPERATIONS = 7,	/* log and base: what is done again, see operation/ */
};

struct record {
	enum record_type type;
	bool after_sync; /* everything before it in the file had been synced when it was written */
	uint64_t sequence;	  /* mark: of the record that follows it */
	struct qless_str payload; /* borrows from what was decoded */
};

/* The sequence number that the record after this one has, in a file of that format. Records of
 * every type have a number of their own, except marks from version 4 on. */
uint64_t record_next_sequence(const struct record *record, uint32_t format);

/* The name of a type, such as "command". */
const char *record_type_name(enum record_type type);

/* Append a record to the buffer. */
void record_append(struct buf *out, uint64_t salt, enum record_type type, uint64_t sequence,
		   struct qless_str payload);

/* Have the record that begins at `record` say that all before it has been synced. */
void record_set_after_sync(char *record, uint64_t salt);

/* Decode the record at `from`. With RECORD_OK *ret_size is the size of the whole record; with
 * RECORD_SHORT how many bytes are needed to tell more. */
enum record_status record_decode(const unsigned char *from, size_t len, uint64_t salt,
				 struct record *ret_record, size_t *ret_size);

/* ---- payloads ---- */

struct record_mark {
	uint64_t
		durable; /* every record up to this one had been synced; less than the mark's own */
	int64_t wall_us;
};

void record_append_mark(struct buf *out, uint64_t salt, uint64_t sequence,
			const struct record_mark *mark);
bool record_decode_mark(struct qless_str payload, struct record_mark *ret_mark);

/* RECORD_STATE_BEGIN holds the number of the database, STATE_END and BASE_END a length and a count:
 * each is one varint. */
void record_append_number(struct buf *out, uint64_t salt, enum record_type type, uint64_t sequence,
			  uint64_t number);
bool record_decode_number(struct qless_str payload, uint64_t *ret_number);

/* ---- damage ---- */

struct record_damage {
	bool followed;	 /* there are intact records behind the damage */
	size_t skip;	 /* bytes up to the first of them */
	bool was_synced; /* one of them says that the damaged bytes had been synced */
	/* Sectors of zeros begin the damage or lie in it: writes that never reached the disk. */
	bool has_hole;
	size_t zeros; /* of which the bytes are that come last */
};

/* Examine the bytes from the place on where a record with that sequence number was expected and
 * none was found. `offset` is where `from` is in the file with that header. */
void record_examine_damage(const unsigned char *from, size_t len, uint64_t offset,
			   const struct record_file_header *header, uint64_t sequence,
			   struct record_damage *ret_damage);

#endif
