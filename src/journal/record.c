/*
 * The format, versions 4 and 5. Version 5 is that of a group of servers: its log has terms. All
 * other logs are written in version 4. Numbers are little-endian. A varint has seven bits in each
 *byte, the low ones first, and the top bit set in every byte but the last.
 *
 * A log directory holds a manifest (see manifest.c), at most one current snapshot and one or more
 * log segments. It may also hold earlier ones that are kept (see kept.h). Both kinds of files begin
 * with a header of 64 bytes:
 *
 *	 0   8	magic: "QLESSLOG" for a segment, "QLESSBAS" for a snapshot
 *	 8   4	version of this format
 *	12   4	version of the engine that wrote it: of its rules and of its state
 *	16   8	number of the file, as in its name
 *	24   8	segment: sequence number of its first record
 *		snapshot: sequence number of the last record that it covers
 *	32   8	salt
 *	40   8	time of creation, in microseconds since 1970
 *	48   8	segment: its size when it was closed; 0 if it was not, or has been continued since
 *	56   8	checksum of the 56 bytes before: XXH3-64 with seed 0
 *
 * Records follow the header, one after the other, up to the end of the file. The last segment may
 * end with zeros: space that is written ahead of the records, because a sync is faster then. 21
 * zeros are no record, because no sequence number is 0. A segment that another one follows has no
 * such zeros.
 *
 *	 0   8	checksum of everything after it: XXH3-64 with the salt as seed
 *	 8   8	sequence number
 *	16   4	length of the payload
 *	20   1	type; the top bit is set if everything before this record in the file had been
 *		synced when it was written
 *	21   .	payload
 *
 * Sequence numbers of the log begin with 1 and increase by one from record to record and from
 * segment to segment. A mark has no number of its own: it carries that of the record after it. The
 * numbers in a snapshot begin with 1 in each file. The salt is random, so nobody without the file
 * can place bytes in a job's data that read as a record.
 *
 *	type		payload
 *	1 commands	only before version 4: see command/legacy.c
 *	2 mark		8 bytes sequence number: all records up to this one had been synced when
 *			the mark was written; 8 bytes time in microseconds since 1970
 *	3 state begin	varint database
 *	4 state data	the next bytes of the state of that database: see engine/state.c
 *	5 state end	varint number of these bytes
 *	6 base end	varint number of records before this one in the file
 *	7 operations	one or more operations, one after the other, which operation/layout.c
 *			describes. They come from a transaction, or arrived together. Either all
 *			of them count or none
 *
 * Only in version 5:
 *
 *	2 mark		in addition 8 bytes: all entries up to this number are committed
 *	8 term		varint: the term of the entries after it. It has no number of its own and
 *			carries that of the next record
 *	9 members	the members of the group, see replication/core.c
 *	10 barrier	nothing: an entry that begins the term of a leader
 *	11 feature	varint: a feature that all members use from here on
 *	12 group	the first record of a snapshot: varint term of the last entry that it
 *			covers, varint number of the entry that has the members, the members
 *
 * Marks also tell when records were written. The time in an operation does not, because a client
 * may choose it.
 *
 *
 * Torn ends
 *
 * When the power fails, each sector that was written and not yet synced may hold the new bytes, the
 * bytes from before, zeros, or bytes of a file that was removed earlier. Sectors of the same write
 * differ in that. So the last segment may have a torn end, and recovery cuts it off. The bytes
 * before the torn end had been synced, and a power failure does not damage them. Recovery must not
 * pass over such damage. Records tell the two apart in two ways:
 *
 * - The top bit of the type vouches for bytes: for everything before this record in its file. The
 *   first record of a write has the bit if a sync has covered everything before.
 * - A mark vouches for records: for all up to the number in its payload.
 *
 * Suppose there is damage at the place where record N should begin. It is damage of synced bytes if
 * an intact record after it has the bit, or is a mark that vouches for N. It is also that if the
 * header says that the file was closed, because then everything in it was synced. Otherwise it is a
 * torn end: nothing shows that N had been synced. No record after N was committed before N, so
 * nothing after N is missed either.
 *
 * Old bytes may be intact records of this log. They are told from new ones in two ways:
 *
 * - A segment that was not closed is never continued. The next process begins a segment, with
 *   another salt. So no record that was lost in a crash comes back among those that got its number.
 *   Snapshots have salts of their own.
 * - Other old records have lower numbers than N. In the last segment, a record with a lower number
 *   than expected counts as damage.
 *
 * The damaged bytes may be those of a mark that carries the number N. A later mark that vouches for
 * N - 1 does not tell whether they had been synced. This hides nothing: a mark and the record after
 * it are written together, so a sync that covers the mark also covers N, and later marks vouch for
 * N. Two marks have no record after them. The header vouches for the last mark of a log that was
 * closed. The mark of a log at rest holds nothing that is missed: it was written after a second
 * without a change, to vouch for the records before it.
 *
 *
 * Terms, and tails that are replaced
 *
 * An entry of a group is a record of type 7, 9, 10 or 11. Its index is its sequence number. The
 * record "term" comes before the first entry of each segment and before each entry whose term
 * differs from that of the entry before it. Within a segment terms never decrease.
 *
 * A leader may tell a follower to replace entries from some index N on that are not committed. No
 * byte of them is changed. The current segment is cut at its last record, synced and ended, and
 * the next segment begins with N: the header has a lower number than the one that was expected. So
 * a segment holds entries only up to the lowest number that the header of a later segment has. The
 * rest of its entries are dead. Their terms may be lower or higher than those of the entries which
 * replace them, so terms do not tell which of them count.
 *
 * The rules about torn ends stay right, for these reasons:
 *
 * - Numbers in a file increase by one, dead or not. So in the last segment a lower number than
 *   expected is still an old byte and not a replacement.
 * - Only the last segment can have a torn end. A segment that holds dead entries is not the last
 *   one, and was synced before the manifest named the next one. Damage in it is damage of synced
 *   bytes, as in any segment that another one follows.
 * - A segment that begins with a replacement has another salt. So no dead entry, which has a number
 *   that is used again, can appear among the entries that replace it, even if its sectors are
 *   used again after its file was removed. Segments with the same salt have increasing numbers.
 * - The bit and the marks vouch for records of their own file. No record of a segment vouches for
 *   one of a segment that was ended before it, and none needs to.
 *
 * The power may fail at any moment of a replacement. Before the new manifest is on the disk, the
 * log is the old one, and the new segment is a stray file without records. From then on, the log
 * ends before N until records of the new segment are on the disk. Nobody was told of those before
 * they were synced. So a mixture of both tails is never read. It does not matter that no mark
 * follows: the header tells where the old tail ends, and the replaced entries were not committed.
 *
 * An entry is committed when a mark says so, or when a snapshot covers it. Such an entry is never
 * replaced, so recovery refuses a segment that begins with its number. It applies no other entry.
 * Marks do not vouch for an entry by calling it committed: a majority may have it, and not this
 * disk.
 *
 * A crash may undo the removal of a segment, whose dead entries may have numbers after the end of
 * the log. So the number of a file tells whether a segment that no manifest names is newer than the
 * log: see stray.h.
 *
 *
 * Versions
 *
 * To change the format, add a record type or raise the version, decode the old and the new one in
 * this file, and write only the new one. Readers refuse unknown versions and types. A log that ends
 * with a segment of an earlier version continues in a new one.
 *
 * In versions 2 and 3 marks had sequence numbers of their own, and the bit vouched for the records
 * with lower numbers. They held commands instead of operations.
 */
#include "journal/record.h"

#include <assert.h>

/* Inlining saves a call for each record. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "util/minmax.h"
#include "util/wire.h"

#define MAGIC_BYTES    8
#define HEADER_HASHED  (RECORD_FILE_HEADER_BYTES - 8)
#define FRAME_SEQUENCE 8
#define FRAME_LENGTH   16
#define FRAME_TYPE     20

#define TYPE_AFTER_SYNC 0x80

/* The first version of the format in which marks have no sequence numbers of their own. */
#define FORMAT_MARKS_UNNUMBERED 4

/* Bytes that a disk writes at once. */
#define SECTOR_BYTES ((size_t)512)

/* A search for a record computes checksums of up to this many bytes for each byte that it searches.
 * Then it passes over payloads above SMALL_BYTES, which no server writes unless a single call is as
 * large. Only bytes that were chosen to look like records get there. */
#define SEARCH_FACTOR 64
#define SMALL_BYTES   ((size_t)64 * 1024)

static const char magic[][MAGIC_BYTES + 1] = {
	[RECORD_FILE_LOG] = "QLESSLOG",
	[RECORD_FILE_BASE] = "QLESSBAS",
};

void record_encode_header(const struct record_file_header *header,
			  unsigned char to[RECORD_FILE_HEADER_BYTES])
{
	memset(to, 0, RECORD_FILE_HEADER_BYTES);
	memcpy(to, magic[header->kind], MAGIC_BYTES);
	wire_put_u32(to + 8, header->format);
	wire_put_u32(to + 12, header->engine);
	wire_put_u64(to + 16, header->number);
	wire_put_u64(to + 24, header->sequence);
	wire_put_u64(to + 32, header->salt);
	wire_put_u64(to + 40, (uint64_t)header->created_us);
	wire_put_u64(to + 48, header->closed_size);
	wire_put_u64(to + HEADER_HASHED, XXH3_64bits(to, HEADER_HASHED));
}

enum record_status record_decode_header(const unsigned char *from, size_t len,
					struct record_file_header *ret_header)
{
	enum record_file_kind kind;

	if (len < RECORD_FILE_HEADER_BYTES)
		return RECORD_SHORT;
	if (wire_get_u64(from + HEADER_HASHED) != XXH3_64bits(from, HEADER_HASHED))
		return RECORD_BAD;
	if (memcmp(from, magic[RECORD_FILE_LOG], MAGIC_BYTES) == 0)
		kind = RECORD_FILE_LOG;
	else if (memcmp(from, magic[RECORD_FILE_BASE], MAGIC_BYTES) == 0)
		kind = RECORD_FILE_BASE;
	else
		return RECORD_BAD;
	*ret_header = (struct record_file_header){
		.kind = kind,
		.format = wire_get_u32(from + 8),
		.engine = wire_get_u32(from + 12),
		.number = wire_get_u64(from + 16),
		.sequence = wire_get_u64(from + 24),
		.salt = wire_get_u64(from + 32),
		.created_us = (int64_t)wire_get_u64(from + 40),
		.closed_size = wire_get_u64(from + 48),
	};
	return ret_header->format >= RECORD_FORMAT_OLDEST &&
			       ret_header->format <= RECORD_FORMAT_NEWEST
		       ? RECORD_OK
		       : RECORD_ALIEN;
}

/* Whether a record has a sequence number of its own. */
static bool is_numbered(enum record_type type, uint32_t format)
{
	return type != RECORD_TERM && (type != RECORD_MARK || format < FORMAT_MARKS_UNNUMBERED);
}

uint64_t record_next_sequence(const struct record *record, uint32_t format)
{
	return record->sequence + is_numbered(record->type, format);
}

bool record_is_entry(enum record_type type)
{
	return type == RECORD_OPERATIONS || type == RECORD_MEMBERS || type == RECORD_BARRIER ||
	       type == RECORD_FEATURE;
}

const char *record_type_name(enum record_type type)
{
	switch (type) {
	case RECORD_COMMANDS:
		return "commands";
	case RECORD_MARK:
		return "mark";
	case RECORD_STATE_BEGIN:
		return "state-begin";
	case RECORD_STATE_DATA:
		return "state-data";
	case RECORD_STATE_END:
		return "state-end";
	case RECORD_BASE_END:
		return "base-end";
	case RECORD_OPERATIONS:
		return "operations";
	case RECORD_TERM:
		return "term";
	case RECORD_MEMBERS:
		return "members";
	case RECORD_BARRIER:
		return "barrier";
	case RECORD_FEATURE:
		return "feature";
	case RECORD_GROUP:
		return "group";
	}
	return "unknown";
}

/* Reserve room for a record with a payload of up to `max` bytes. Returns the place of the payload.
 */
static unsigned char *begin_record(struct buf *out, size_t max)
{
	return (unsigned char *)buf_reserve(out, RECORD_FRAME_BYTES + max) + RECORD_FRAME_BYTES;
}

/* Returns the checksum of a record with a payload of `size` bytes. */
static uint64_t checksum(const unsigned char *frame, size_t size, uint64_t salt)
{
	return XXH3_64bits_withSeed(frame + FRAME_SEQUENCE,
				    RECORD_FRAME_BYTES - FRAME_SEQUENCE + size, salt);
}

static void end_record(struct buf *out, unsigned char *payload, size_t size, uint64_t salt,
		       enum record_type type, uint64_t sequence)
{
	unsigned char *frame = payload - RECORD_FRAME_BYTES;

	assert(size <= RECORD_PAYLOAD_MAX);
	wire_put_u64(frame + FRAME_SEQUENCE, sequence);
	wire_put_u32(frame + FRAME_LENGTH, (uint32_t)size);
	frame[FRAME_TYPE] = (unsigned char)type;
	wire_put_u64(frame, checksum(frame, size, salt));
	buf_commit(out, RECORD_FRAME_BYTES + size);
}

void record_set_after_sync(char *record, uint64_t salt)
{
	unsigned char *frame = (unsigned char *)record;
	size_t size = wire_get_u32(frame + FRAME_LENGTH);

	if ((frame[FRAME_TYPE] & TYPE_AFTER_SYNC) != 0)
		return;
	frame[FRAME_TYPE] |= TYPE_AFTER_SYNC;
	wire_put_u64(frame, checksum(frame, size, salt));
}

void record_append(struct buf *out, uint64_t salt, enum record_type type, uint64_t sequence,
		   struct qless_str payload)
{
	unsigned char *to = begin_record(out, payload.len);

	if (payload.len > 0)
		memcpy(to, payload.ptr, payload.len);
	end_record(out, to, payload.len, salt, type, sequence);
}

enum record_status record_decode(const unsigned char *from, size_t len, uint64_t salt,
				 struct record *ret_record, size_t *ret_size)
{
	size_t size;
	int type;

	if (len < RECORD_FRAME_BYTES) {
		*ret_size = RECORD_FRAME_BYTES;
		return RECORD_SHORT;
	}
	size = wire_get_u32(from + FRAME_LENGTH);
	if (size > RECORD_PAYLOAD_MAX)
		return RECORD_BAD;
	if (len - RECORD_FRAME_BYTES < size) {
		*ret_size = RECORD_FRAME_BYTES + size;
		return RECORD_SHORT;
	}
	if (wire_get_u64(from) != checksum(from, size, salt))
		return RECORD_BAD;
	type = from[FRAME_TYPE] & ~TYPE_AFTER_SYNC;
	*ret_size = RECORD_FRAME_BYTES + size;
	*ret_record = (struct record){
		.type = (enum record_type)type,
		.after_sync = (from[FRAME_TYPE] & TYPE_AFTER_SYNC) != 0,
		.sequence = wire_get_u64(from + FRAME_SEQUENCE),
		.payload = str_make((const char *)from + RECORD_FRAME_BYTES, size),
	};
	return type >= RECORD_COMMANDS && type <= RECORD_GROUP ? RECORD_OK : RECORD_ALIEN;
}

/* ---- payloads ---- */

void record_append_mark(struct buf *out, uint64_t salt, uint64_t sequence,
			const struct record_mark *mark)
{
	unsigned char *to = begin_record(out, RECORD_MARK_GROUP_BYTES);
	size_t size = mark->has_commit ? RECORD_MARK_GROUP_BYTES : RECORD_MARK_BYTES;

	assert(mark->durable < sequence && mark->commit < sequence);
	wire_put_u64(to, mark->durable);
	wire_put_u64(to + 8, (uint64_t)mark->wall_us);
	wire_put_u64(to + 16, mark->commit);
	end_record(out, to, size, salt, RECORD_MARK, sequence);
}

bool record_decode_mark(struct qless_str payload, struct record_mark *ret_mark)
{
	const unsigned char *from = (const unsigned char *)payload.ptr;

	if (payload.len != RECORD_MARK_BYTES && payload.len != RECORD_MARK_GROUP_BYTES)
		return false;
	*ret_mark = (struct record_mark){
		.durable = wire_get_u64(from),
		.wall_us = (int64_t)wire_get_u64(from + 8),
		.has_commit = payload.len == RECORD_MARK_GROUP_BYTES,
	};
	if (ret_mark->has_commit)
		ret_mark->commit = wire_get_u64(from + 16);
	return true;
}

void record_append_number(struct buf *out, uint64_t salt, enum record_type type, uint64_t sequence,
			  uint64_t number)
{
	unsigned char bytes[WIRE_VARINT_MAX];
	size_t len = wire_put_varint(bytes, number);

	record_append(out, salt, type, sequence, str_make((const char *)bytes, len));
}

bool record_decode_number(struct qless_str payload, uint64_t *ret_number)
{
	return payload.len > 0 && wire_get_varint((const unsigned char *)payload.ptr, payload.len,
						  ret_number) == payload.len;
}

void record_append_group(struct buf *out, uint64_t salt, uint64_t sequence,
			 const struct record_group *group)
{
	unsigned char *to = begin_record(out, 2 * WIRE_VARINT_MAX + group->members.len);
	size_t len = wire_put_varint(to, group->term);

	len += wire_put_varint(to + len, group->members_index);
	if (group->members.len > 0)
		memcpy(to + len, group->members.ptr, group->members.len);
	end_record(out, to, len + group->members.len, salt, RECORD_GROUP, sequence);
}

bool record_decode_group(struct qless_str payload, struct record_group *ret_group)
{
	const unsigned char *from = (const unsigned char *)payload.ptr;
	size_t first, second;

	if (payload.len == 0)
		return false;
	first = wire_get_varint(from, payload.len, &ret_group->term);
	if (first == 0 || first == payload.len)
		return false;
	second = wire_get_varint(from + first, payload.len - first, &ret_group->members_index);
	ret_group->members = str_make(payload.ptr + first + second, payload.len - first - second);
	return second > 0;
}

/* ---- damage ---- */

static bool is_zero(const unsigned char *from, size_t len)
{
	return from[0] == 0 && memcmp(from, from + 1, len - 1) == 0;
}

static size_t count_last_zeros(const unsigned char *from, size_t len)
{
	size_t left = len;

	while (left >= SECTOR_BYTES && is_zero(from + left - SECTOR_BYTES, SECTOR_BYTES))
		left -= SECTOR_BYTES;
	while (left > 0 && from[left - 1] == 0)
		left--;
	return len - left;
}

/* Whether a record begins `at` bytes after the place where `sequence` was expected. Only as many
 * records fit in between as there is space for, so most numbers are impossible, and no checksum is
 * computed. */
static bool is_record(const unsigned char *from, size_t at, size_t len, uint64_t salt,
		      uint64_t sequence, struct record *ret_record, size_t *ret_size)
{
	uint64_t found;

	if (len - at < RECORD_FRAME_BYTES)
		return false;
	found = wire_get_u64(from + at + FRAME_SEQUENCE);
	if (found < sequence || found - sequence > at / RECORD_FRAME_BYTES)
		return false;
	return record_decode(from + at, len - at, salt, ret_record, ret_size) == RECORD_OK;
}

/* Whether a record vouches for the damaged bytes before it, at the place where record `expected`
 * should begin. The comment at the top has the reasoning. */
static bool vouches(const struct record *record, uint32_t format, uint64_t expected)
{
	struct record_mark mark;

	if (record->after_sync)
		return format >= FORMAT_MARKS_UNNUMBERED || record->sequence > expected;
	return record->type == RECORD_MARK && record_decode_mark(record->payload, &mark) &&
	       mark.durable >= expected;
}

void record_examine_damage(const unsigned char *from, size_t len,
			   const struct record_file_header *header, uint64_t sequence,
			   struct record_damage *ret_damage)
{
	struct record record;
	size_t at, size;

	*ret_damage = (struct record_damage){ .skip = len, .zeros = count_last_zeros(from, len) };
	for (at = 0; at < len; at += size) {
		while (at < len &&
		       !is_record(from, at, len, header->salt, sequence, &record, &size))
			at++;
		if (at == len)
			break;
		if (!ret_damage->followed)
			ret_damage->skip = at;
		ret_damage->followed = true;
		if (record.type != RECORD_MARK && record.type != RECORD_TERM)
			ret_damage->highest = max_u64(ret_damage->highest, record.sequence);
		ret_damage->was_synced |= vouches(&record, header->format, sequence);
	}
}

size_t record_find(const unsigned char *from, size_t len, size_t at, uint64_t salt, uint64_t low,
		   uint64_t high)
{
	uint64_t hashed = 0, budget = (uint64_t)len * SEARCH_FACTOR;

	for (; at < len && len - at >= RECORD_FRAME_BYTES; at++) {
		uint64_t sequence = wire_get_u64(from + at + FRAME_SEQUENCE);
		size_t size = wire_get_u32(from + at + FRAME_LENGTH);

		if (sequence < low || sequence > high || size > len - at - RECORD_FRAME_BYTES ||
		    (hashed > budget && size > SMALL_BYTES))
			continue;
		if (wire_get_u64(from + at) == checksum(from + at, size, salt))
			return at;
		hashed += size;
	}
	return len;
}
