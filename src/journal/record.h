/*
 * The format of log segments and snapshots: encoding, decoding, checksums. Pure.
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

#define RECORD_FORMAT_VERSION 4 /* of a log without a group */
#define RECORD_FORMAT_GROUP   5 /* of the log of a group, which has terms */
#define RECORD_FORMAT_OLDEST  2 /* the oldest version that can be read */
#define RECORD_FORMAT_NEWEST  RECORD_FORMAT_GROUP
/* The first version whose headers have `closed_size`. */
#define RECORD_FORMAT_CLOSED_SIZE 4
#define RECORD_FILE_HEADER_BYTES  ((size_t)64)
#define RECORD_FRAME_BYTES	  ((size_t)21)
/* Largest size of a payload, in bytes. A larger length is damage. */
#define RECORD_PAYLOAD_MAX ((size_t)0x7fffffff)
#define RECORD_MARK_BYTES  ((size_t)16)
/* A mark in the log of a group. */
#define RECORD_MARK_GROUP_BYTES ((size_t)24)

/* ---- the header of a file ---- */

enum record_file_kind {
	RECORD_FILE_LOG,
	RECORD_FILE_BASE,
};

struct record_file_header {
	enum record_file_kind kind;
	uint32_t format; /* RECORD_FORMAT_VERSION or RECORD_FORMAT_GROUP */
	uint32_t engine; /* STATE_VERSION of that program */
	uint64_t number; /* as in the file's name */
	/* log segment: of its first record; snapshot: of the last record that it covers */
	uint64_t sequence;
	uint64_t salt; /* seed of the checksums of its records */
	int64_t created_us;
	/* log segment: its size, if it was closed and nothing was written to it since; otherwise 0
	 */
	uint64_t closed_size;
};

enum record_status {
	RECORD_OK,
	RECORD_SHORT, /* the bytes end before the record does */
	RECORD_BAD,   /* the checksum is wrong, or the bytes are invalid */
	RECORD_ALIEN, /* intact, but of an unknown version or type */
};

void record_encode_header(const struct record_file_header *header,
			  unsigned char to[RECORD_FILE_HEADER_BYTES]);
/* Decode a header from the first `len` bytes of a file, which may be fewer than it has. *ret_header
 * is set with RECORD_OK, and with RECORD_ALIEN if the format version cannot be read. */
enum record_status record_decode_header(const unsigned char *from, size_t len,
					struct record_file_header *ret_header);

/* ---- records ---- */

enum record_type {
	RECORD_COMMANDS = 1, /* log and snapshot, before format 4: commands of clients */
	RECORD_MARK = 2, /* log: how far it was synced when the mark was written, and the time */
	RECORD_STATE_BEGIN = 3, /* snapshot: the state of a database begins */
	RECORD_STATE_DATA = 4,	/* snapshot: the next piece of it */
	RECORD_STATE_END = 5,	/* snapshot: it is complete */
	RECORD_BASE_END = 6,	/* snapshot: the file is complete */
	RECORD_OPERATIONS = 7,	/* log and snapshot: operations to run again, see operation/ */
	RECORD_TERM = 8,	/* log of a group: the term of the entries after it */
	RECORD_MEMBERS = 9,	/* log of a group: its members from here on */
	RECORD_BARRIER = 10,	/* log of a group: the beginning of a leader's term */
	RECORD_FEATURE = 11,	/* log of a group: all members use a feature from here on */
	RECORD_GROUP = 12,	/* snapshot of a group: its term and members */
};

struct record {
	enum record_type type;
	bool after_sync; /* everything before it in the file had been synced when it was written */
	uint64_t sequence;	  /* mark or term: of the record that follows it */
	struct qless_str payload; /* borrows from what was decoded */
};

/* Returns the sequence number of the record after this one, in a file of that format. Every record
 * has a number of its own, except terms, and marks from version 4 on. */
uint64_t record_next_sequence(const struct record *record, uint32_t format);

/* Returns whether records of that type are entries of a group. */
bool record_is_entry(enum record_type type);

/* Returns the name of a type, such as "operations". */
const char *record_type_name(enum record_type type);

/* Append a record to the buffer. */
void record_append(struct buf *out, uint64_t salt, enum record_type type, uint64_t sequence,
		   struct qless_str payload);

/* Set the bit of an encoded record which says that everything before it was synced. */
void record_set_after_sync(char *record, uint64_t salt);

/* Decode the record at `from`. *ret_size is the size of the whole record with RECORD_OK, and the
 * number of bytes needed to continue with RECORD_SHORT. */
enum record_status record_decode(const unsigned char *from, size_t len, uint64_t salt,
				 struct record *ret_record, size_t *ret_size);

/* ---- payloads ---- */

struct record_mark {
	uint64_t durable; /* all records up to this number had been synced */
	int64_t wall_us;
	bool has_commit; /* the mark is in the log of a group */
	uint64_t commit; /* then: all entries up to this number are committed */
};

/* `sequence` is that of the record which will follow the mark, and more than `durable` and
 * `commit`. */
void record_append_mark(struct buf *out, uint64_t salt, uint64_t sequence,
			const struct record_mark *mark);
bool record_decode_mark(struct qless_str payload, struct record_mark *ret_mark);

/* The payload of RECORD_GROUP. */
struct record_group {
	uint64_t term;		  /* of the last entry that the snapshot covers */
	uint64_t members_index;	  /* of the entry that has the members */
	struct qless_str members; /* borrows from what was decoded */
};

void record_append_group(struct buf *out, uint64_t salt, uint64_t sequence,
			 const struct record_group *group);
bool record_decode_group(struct qless_str payload, struct record_group *ret_group);

/* A payload of one varint: the number of a database in RECORD_STATE_BEGIN, a length in
 * RECORD_STATE_END, a count in RECORD_BASE_END, a term in RECORD_TERM. */
void record_append_number(struct buf *out, uint64_t salt, enum record_type type, uint64_t sequence,
			  uint64_t number);
bool record_decode_number(struct qless_str payload, uint64_t *ret_number);

/* ---- damage ---- */

struct record_damage {
	bool followed;	  /* intact records follow the damage */
	size_t skip;	  /* bytes up to the first of them */
	uint64_t highest; /* the highest sequence number among them, without marks and terms */
	bool was_synced;  /* one of them vouches for the damaged bytes */
	size_t zeros;	  /* number of zeros at the end of the bytes */
};

/* Examine the bytes from a place where the record with that sequence number was expected, and is
 * not intact. They are from the file with that header. */
void record_examine_damage(const unsigned char *from, size_t len,
			   const struct record_file_header *header, uint64_t sequence,
			   struct record_damage *ret_damage);

/* Find the first intact record that begins at `at` or later and has a sequence number from `low` to
 * `high`. Returns where it begins, or `len` if there is none. The time grows in proportion to
 * `len`, even if a client has chosen the bytes. */
size_t record_find(const unsigned char *from, size_t len, size_t at, uint64_t salt, uint64_t low,
		   uint64_t high);

#endif
