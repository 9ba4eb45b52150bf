/*
 * Power failures on file systems that do not order data: a sector that was not synced holds new
 * bytes, old ones, zeros, garbage, or what a file that is gone had there.
 *
 * A log goes through many lives on the same disk. Its state is a digest of all operations, so each
 * moment of a life has another state. A ledger says which moments there were, and what was synced.
 * A power failure may lose only what was not synced, and never stops the next start. Damage of
 * bytes that the log says were synced always stops it.
 */
#include "disk.h"

#include "journal/journal.h"
#include "journal/recover.h"
#include "journal/salvage.h"
#include "util/wire.h"

#define LIVES	    3000
#define TURNS_MAX   60
#define MOMENTS_MAX 2000
/* Bytes of most operations. Their records have 64 bytes like the header, so one of eight records
 * begins where a sector begins, and an old sector fits exactly after a new one. */
#define RECORD_BYTES (64 - (int)RECORD_FRAME_BYTES)
#define FLIPS	     20 /* in the files of one life */

struct moment {
	uint64_t sequence;
	uint64_t state;
};

static struct disk disk;
static struct journal_options options;
static struct journal *journal;
static struct recovery recovery;
static struct buf error;
static int64_t now_us;
static uint64_t state;
static struct moment moments[MOMENTS_MAX];
static int moment_count;
static uint64_t synced; /* the last record that a power failure must not lose */
static uint64_t made;	/* operations so far, in all lives */
static unsigned long long rng;

static unsigned pick(unsigned n)
{
	return (unsigned)(unit_random(&rng) % n);
}

/* ---- the state ---- */

static void add_to_state(struct qless_str operation)
{
	for (size_t i = 0; i < operation.len; i++)
		state = (state ^ (unsigned char)operation.ptr[i]) * UINT64_C(0x100000001b3);
}

/* A snapshot is one operation, which sets the state. */
static void save(void *arg, struct base_writer *w)
{
	unsigned char bytes[9] = "S";

	(void)arg;
	wire_put_u64(bytes + 1, state);
	base_add_operations(w, str_make((const char *)bytes, sizeof bytes));
}

static int apply(void *arg, const struct record *record, uint64_t *ret_count, struct buf *ret_error)
{
	(void)arg;
	(void)ret_error;
	if (record->payload.ptr[0] == 'S')
		state = wire_get_u64((const unsigned char *)record->payload.ptr + 1);
	else
		add_to_state(record->payload);
	++*ret_count;
	return 0;
}

static void note_moment(uint64_t sequence)
{
	TEST_ASSERT_TRUE(moment_count < MOMENTS_MAX);
	moments[moment_count++] = (struct moment){ sequence, state };
}

/* ---- a life ---- */

static void reset(unsigned long long seed)
{
	rng = seed;
	disk_init(&disk);
	options = (struct journal_options){
		.dir = "data", .io = &disk.io, .segment_bytes = 16 * 1024, .save = save
	};
	now_us = 1700000000000000;
	made = 0;
	state = 0;
	moment_count = 0;
	synced = 0;
}

void setUp(void)
{
	buf_init(&error, 4096);
	reset(1009);
}

void tearDown(void)
{
	journal_close(journal, NULL);
	journal = NULL;
	recovery_done(&recovery);
	buf_done(&error);
	disk_done(&disk);
}

static int start(void)
{
	static const struct recovery_target target = { .apply = apply };
	int rc = -EBUSY;

	state = 0;
	recovery_done(&recovery);
	buf_clear(&error);
	journal = journal_open(&options, &error);
	if (journal != NULL)
		rc = journal_recover(journal, &target, &recovery, &error);
	if (rc < 0) {
		journal_close(journal, NULL);
		journal = NULL;
	}
	return rc;
}

static void change(void)
{
	char text[2 * RECORD_BYTES];
	size_t len = RECORD_BYTES + (pick(200) == 0 ? pick(RECORD_BYTES) : 0);

	memset(text, '.', sizeof text);
	text[snprintf(text, sizeof text, "%llu", (unsigned long long)++made)] = '.';
	commit_log_append(journal_log(journal), str_make(text, len));
	add_to_state(str_make(text, len));
	note_moment(journal_log(journal)->last);
}

static void end_turn(void)
{
	struct journal_info info;

	now_us += 10000;
	commit_log_flush(journal_log(journal),
			 &(struct commit_log_turn){ .mono_us = now_us, .wall_us = now_us });
	journal_get_info(journal, &info);
	if (journal_log(journal)->state == COMMIT_LOG_HEALTHY)
		synced = info.durable_sequence;
}

/* Live on, up to the end or until the machine stops. */
static void live(void)
{
	unsigned turns = pick(TURNS_MAX);

	for (unsigned i = 0; i < turns && !disk.dead; i++) {
		for (unsigned n = pick(30); n > 0; n--)
			change();
		if (pick(30) == 0)
			journal_rewrite(journal);
		if (pick(20) == 0)
			now_us += 1000000;
		end_turn();
		/* At rest, the log writes a mark after a second. */
		for (unsigned rest = pick(4) == 0 ? pick(4) : 0; rest > 0; rest--) {
			now_us += 600000;
			end_turn();
		}
	}
}

static void die(enum disk_crash how)
{
	disk.dead = true;
	journal_close(journal, NULL);
	journal = NULL;
	disk_crash(&disk, how, &rng);
}

/* Returns the index of the moment to which the next start came back. */
static int check_state(const char *message)
{
	int i = moment_count - 1;

	while (i >= 0 && moments[i].state != state)
		i--;
	TEST_ASSERT_TRUE_MESSAGE(i >= 0, message);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(moments[i].sequence, recovery.last_sequence, message);
	TEST_ASSERT_TRUE_MESSAGE(recovery.last_sequence >= synced, message);
	return i;
}

/* Files that a power failure left in pieces were set aside. Make room on the disk. */
static void remove_orphans(void)
{
	for (int i = 0; i < DISK_FILES_MAX; i++) {
		if (disk.names[i].file >= 0 && strstr(disk.names[i].name, ".orphan") != NULL)
			disk.names[i].file = -1;
	}
}

/* The last life is over. Begin the next one, from a state that the last one had. */
static void start_next_life(const char *message)
{
	remove_orphans();
	moments[0] = moments[check_state(message)];
	moment_count = 1;
	synced = moments[0].sequence;
}

static void start_or_fail(int number)
{
	char message[256];
	int rc;

	options.sync = pick(3) == 0 ? JOURNAL_SYNC_EVERYSEC : JOURNAL_SYNC_ALWAYS;
	rc = start();
	snprintf(message, sizeof message, "life %d: %.200s", number, buf_cstr(&error));
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, message);
	start_next_life(message);
}

/* Close the log. The machine may stop while that happens. */
static void close_log(void)
{
	disk_stop(&disk, DISK_CHANGES, pick(30));
	journal_close(journal, NULL);
	journal = NULL;
	if (disk.dead)
		disk_crash(&disk, DISK_KEEP_ANY, &rng);
	else
		synced = moments[moment_count - 1].sequence;
	disk.fail_kinds = 0;
}

/* The machine stops while a process starts. */
static void try_to_start(void)
{
	disk_stop(&disk, DISK_CHANGES, pick(10));
	start();
	die(DISK_KEEP_ANY);
}

/* A manifest from the headers leads at least as far as the one that is there. */
static void check_salvage(void)
{
	struct buf unreadable = BUF_INIT(BUF_NO_MAX);
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct recovery_target no_target = { 0 };
	struct recovery current, found;

	buf_clear(&error);
	TEST_ASSERT_EQUAL_INT(0,
			      recovery_run(&current, &disk.io, "data", &all, &no_target, &error));
	TEST_ASSERT_EQUAL_INT(0, salvage_find(&found, &disk.io, "data", &unreadable, &error));
	TEST_ASSERT_TRUE(found.last_sequence >= current.last_sequence);
	recovery_done(&current);
	recovery_done(&found);
	buf_done(&unreadable);
}

/* ---- tests ---- */

static void a_power_failure_never_stops_the_next_start_and_loses_only_what_was_not_synced(void)
{
	unsigned torn = 0, lost = 0, whole = 0, closed = 0;
	int rc;

	note_moment(0);
	for (int i = 0; i < LIVES; i++) {
		start_or_fail(i);
		disk_stop(&disk, DISK_CHANGES, pick(pick(2) == 0 ? 6 : 150));
		live();
		if (!disk.dead && pick(2) == 0)
			close_log();
		else
			die(pick(8) == 0 ? DISK_KEEP_ALL : DISK_KEEP_ANY);
		if (pick(4) == 0)
			try_to_start();
		if (pick(4) == 0)
			check_salvage();
		rc = start();
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&error));
		torn += recovery.cut_bytes > 0;
		closed += recovery.closed;
		lost += recovery.last_sequence < moments[moment_count - 1].sequence;
		whole += recovery.last_sequence == moments[moment_count - 1].sequence;
		start_next_life("after a power failure");
		die(DISK_KEEP_ANY);
	}
	TEST_ASSERT_TRUE(torn > 500 && lost > 500 && whole > 100 && closed > 50);
}

/* Claims that the records of the last segment make about each other. */
struct claims {
	char path[32];
	uint64_t ends[MOMENTS_MAX]; /* where the record with that number ends */
	uint64_t first;		    /* number of the first of them */
	uint64_t last;		    /* number of the last one before a torn end */
	uint64_t synced_end;	    /* everything before this offset was synced */
	uint64_t synced_sequence;
};

static void claim(struct claims *claims, uint64_t end, uint64_t sequence)
{
	if (end > claims->synced_end)
		claims->synced_end = end;
	if (sequence > claims->synced_sequence)
		claims->synced_sequence = sequence;
}

static void claim_records(struct claims *claims, uint64_t sequence)
{
	if (sequence >= claims->first && sequence <= claims->last)
		claim(claims, claims->ends[sequence - claims->first], sequence);
}

static void read_claim(struct claims *claims, uint64_t offset, const struct record *record,
		       bool is_torn)
{
	struct record_mark mark;

	if (record->after_sync && !is_torn)
		claim(claims, offset, claims->last);
	/* An old record in a torn end is not where it was written. */
	if (record->after_sync && is_torn)
		claim_records(claims, record->sequence);
	if (record->type == RECORD_MARK && record_decode_mark(record->payload, &mark))
		claim_records(claims, mark.durable);
}

/* Look for records at every offset of the segment. */
static void read_segment(struct claims *claims, const struct recovery *r)
{
	const struct buf *log = disk_file(&disk, claims->path);
	const unsigned char *bytes = (const unsigned char *)buf_data(log);
	uint64_t end = RECORD_FILE_HEADER_BYTES;
	struct record record;
	size_t size;

	for (size_t at = RECORD_FILE_HEADER_BYTES; at < log->len; at++) {
		if (record_decode(bytes + at, log->len - at, r->tail.salt, &record, &size) !=
		    RECORD_OK)
			continue;
		read_claim(claims, at, &record, at >= r->tail_size);
		if (at != end || at >= r->tail_size)
			continue;
		end = at + size;
		if (record.type == RECORD_MARK)
			continue;
		TEST_ASSERT_EQUAL_UINT64(claims->last + 1, record.sequence);
		TEST_ASSERT_TRUE(record.sequence - claims->first < MOMENTS_MAX);
		claims->ends[record.sequence - claims->first] = end;
		claims->last++;
	}
	TEST_ASSERT_EQUAL_UINT64(r->tail_size, end);
}

static void read_claims(struct claims *claims)
{
	struct recovery_limit all = RECOVERY_NO_LIMIT;
	struct recovery_target no_target = { 0 };
	struct recovery r;

	*claims = (struct claims){ 0 };
	TEST_ASSERT_EQUAL_INT(0, recovery_run(&r, &disk.io, "data", &all, &no_target, &error));
	snprintf(claims->path, sizeof claims->path, "log-%08llu",
		 (unsigned long long)r.tail.number);
	claims->first = r.tail.sequence;
	claims->last = r.tail.sequence - 1;
	claim(claims, RECORD_FILE_HEADER_BYTES, claims->last);
	read_segment(claims, &r);
	claim_records(claims, r.manifest.base_sequence);
	if (r.closed)
		claim(claims, r.tail_size, r.last_sequence);
	recovery_done(&r);
}

/* Flip a bit of the last segment, start, and repair the bit. Returns whether the start succeeded.
 */
static bool start_with_flipped_bit(const struct claims *claims, size_t offset)
{
	unsigned bit = 1U << pick(8);
	struct disk before = disk;
	bool started;

	disk_copy(&disk, &before);
	options.io = &disk.io;
	buf_data(disk_file(&disk, claims->path))[offset] ^= (char)bit;
	started = start() == 0;
	die(DISK_KEEP_ALL);
	disk_done(&disk);
	disk = before;
	return started;
}

static void damage_of_synced_bytes_stops_the_start_and_other_damage_is_cut(void)
{
	unsigned refused = 0, cut = 0;

	for (unsigned long long seed = 1; seed <= 100; seed++) {
		struct claims claims;

		disk_done(&disk);
		reset(seed);
		note_moment(0);
		start_or_fail((int)seed);
		live();
		if (pick(4) == 0) {
			journal_close(journal, NULL);
			journal = NULL;
		} else {
			die(DISK_KEEP_ANY);
		}
		read_claims(&claims);
		synced = claims.synced_sequence;
		for (int i = 0; i < FLIPS; i++) {
			size_t offset = pick((unsigned)disk_file(&disk, claims.path)->len);
			bool started = start_with_flipped_bit(&claims, offset);

			TEST_ASSERT_EQUAL_INT_MESSAGE(offset >= claims.synced_end, started,
						      buf_cstr(&error));
			refused += !started;
			cut += started;
			if (!started)
				continue;
			check_state("after damage of what no record vouches for");
		}
	}
	TEST_ASSERT_TRUE(refused > 300 && cut > 300);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_power_failure_never_stops_the_next_start_and_loses_only_what_was_not_synced);
	RUN(damage_of_synced_bytes_stops_the_start_and_other_damage_is_cut);
	return UNIT_RESULT();
}
