#include "operation/operation.h"

#include <math.h>
#include <stdlib.h>

#include "unit.h"

#include "util/hex.h"
#include "util/mem.h"

#define S(literal) STR(literal)

static struct buf bytes, again, text, error;
static struct operation_room room;

void setUp(void)
{
	buf_init(&bytes, BUF_NO_MAX);
	buf_init(&again, BUF_NO_MAX);
	buf_init(&text, BUF_NO_MAX);
	buf_init(&error, 4096);
}

void tearDown(void)
{
	buf_done(&bytes);
	buf_done(&again);
	buf_done(&text);
	buf_done(&error);
	operation_room_done(&room);
}

/* ---- an operation of each kind ---- */

static const struct qless_str names[] = { STR_INIT("a"), STR_INIT(""), STR_INIT("c\0d") };
static const struct qless_str rules[] = { STR_INIT("on"), STR_INIT("#5e88"), STR_INIT("+get") };
static const struct qless_str one = STR_INIT("one"), two = STR_INIT("2");
static const struct qless_recur_change changes[] = {
	{ QLESS_RECUR_PRIORITY, .number = -0.0 },     { QLESS_RECUR_INTERVAL, .number = 0.5 },
	{ QLESS_RECUR_RETRIES, .number = 7 },	      { QLESS_RECUR_BACKLOG, .number = 0 },
	{ QLESS_RECUR_DATA, .text = STR_INIT("{}") }, { QLESS_RECUR_KLASS, .text = STR_INIT("k") },
	{ QLESS_RECUR_QUEUE, .text = STR_INIT("q") },
};

static const struct qless_terms terms = {
	.has_backoff = true,
	.backoff = { QLESS_BACKOFF_LINEAR, 0.5, 60 },
};
static const struct qless_terms terms_of_a_put = {
	.has_at = true,
	.at = 60,
	.is_new = true,
	.is_raw = true,
	.has_number = true,
	.number = 7,
	.has_runtime = true,
	.runtime = 1,
};

static const struct qless_terms retain_terms = { .has_retain = true, .retain = 60 };
static const struct qless_terms ack_terms = { .has_retain = true, .retain = INFINITY };

static const struct qless_terms unique_terms = {
	.has_unique = true,
	.unique = { .key = STR_INIT("key"),
		    .until = QLESS_UNTIL_SECONDS,
		    .seconds = 60,
		    .replace = true },
};

static const struct qless_recur_change key_change[] = {
	{ QLESS_RECUR_UNIQUE, .text = STR_INIT("key") },
};

static const struct qless_recur_change term_changes[] = {
	{ QLESS_RECUR_TERMS,
	  .terms = &(const struct qless_terms){ .has_runtime = true,
						.runtime = 5,
						.has_unique = true,
						.unique = { .key = STR_INIT("u") } } },
	{ QLESS_RECUR_RAW, .number = 1 },
};

static const struct qless_recur_change limit_change[] = {
	{ QLESS_RECUR_LIMITS, .limits = names, .limit_count = 2 },
};

static const struct qless_recur_change schedule_changes[] = {
	{ QLESS_RECUR_CRON, .text = STR_INIT("@daily") },
	{ QLESS_RECUR_ZONE, .text = STR_INIT("UTC") },
	{ QLESS_RECUR_RULE, .text = STR_INIT("UTC0") },
	{ QLESS_RECUR_MISSED, .number = QLESS_MISSED_SKIP },
	{ QLESS_RECUR_OVERLAP, .number = QLESS_OVERLAP_ALLOW },
};

static const struct qless_schedule schedule = {
	.cron = STR_INIT("@daily"),
	.zone = STR_INIT("UTC"),
	.rule = STR_INIT("UTC0"),
	.missed = QLESS_MISSED_ALL,
	.overlap = QLESS_OVERLAP_SKIP,
};

static const struct qless_repair repairs[] = {
	{ QLESS_REPAIR_MOVE_AFTER, 8, STR_INIT("q"), STR_INIT("j"), STR_INIT("i"), 0, 0, 0 },
	{ QLESS_REPAIR_EVICT, 7, STR_INIT("t"), STR_INIT("j"), STR_INIT(""), INFINITY, 0, 0 },
	{ QLESS_REPAIR_COUNT, 4, STR_INIT("k"), STR_INIT(""), STR_INIT(""), 0, 300, 299 },
};

static const struct qless_repair key_repair[] = { { .kind = QLESS_REPAIR_UNIQUE } };

#define T   STR_INIT
#define NOW .now = 1.5
#define NAMES            \
	{                \
		names, 3 \
	}

/*
 * Encodings never change, because a program must read what an earlier one wrote. If one of these
 * fails, see layout.c.
 */
static const struct sample {
	struct operation op;
	const char *hex;
	const char *described;
} samples[] = {
	{ { .kind = OPERATION_PUT,
	    NOW,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}") } },
	  "0100000000000000f83f01770171016a016b027b7d",
	  "db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\"" },
	{ { .kind = OPERATION_PUT,
	    NOW,
	    .db = 3,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}"),
		     .delay = 60,
		     .has_priority = true,
		     .priority = -1.5,
		     .has_retries = true,
		     .has_tags = true,
		     .tags = names,
		     .tag_count = 3,
		     .depends = names,
		     .depend_count = 1 } },
	  "81031f000000000000f83f01770171016a016b027b7df00101000000000000f8bf0003016100036300640101"
	  "61",
	  "db3 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" delay=60 "
	  "priority=-1.5 retries=0 tags=[\"a\",\"\",\"c\\u0000d\"] depends=[\"a\"]" },
	{ { .kind = OPERATION_PUT_MANY,
	    NOW,
	    .put_many = { .common = { .worker = T("w"),
				      .queue = T("q"),
				      .delay = 0.5,
				      .has_tags = true },
			  .jobs = NAMES } },
	  "0209000000000000f83f0177017101000000000000e03f000101610003630064",
	  "db0 put-many worker=\"w\" queue=\"q\" delay=0.5 tags=[] "
	  "jobs=[\"a\",\"\",\"c\\u0000d\"]" },
	{ { .kind = OPERATION_PUT,
	    NOW,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}"),
		     .has_limits = true,
		     .limits = names,
		     .limit_count = 1 } },
	  "0120000000000000f83f01770171016a016b027b7d010161",
	  "db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" limits=[\"a\"]" },
	{ { .kind = OPERATION_PUT,
	    NOW,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}"),
		     .terms = &terms } },
	  "0140000000000000f83f01770171016a016b027b7d01000201000000000000e03ff001",
	  "db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" backoff=linear "
	  "base=0.5 "
	  "max=60" },
	{ { .kind = OPERATION_PUT,
	    NOW,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}"),
		     .terms = &terms_of_a_put } },
	  "0140000000000000f83f01770171016a016b027b7d3e00f001041c",
	  "db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" at=60 "
	  "runtime=1 raw nx number=7" },
	{ { .kind = OPERATION_PUT,
	    NOW,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}"),
		     .terms = &retain_terms } },
	  "0140000000000000f83f01770171016a016b027b7d0004f001",
	  "db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" retain=60" },
	{ { .kind = OPERATION_PUT,
	    NOW,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}"),
		     .terms = &ack_terms } },
	  "0140000000000000f83f01770171016a016b027b7d000402",
	  "db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" retain=ack" },
	{ { .kind = OPERATION_PUT,
	    NOW,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}"),
		     .terms = &unique_terms } },
	  "0140000000000000f83f01770171016a016b027b7d4002036b657902f001",
	  "db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" unique=\"key\" "
	  "until=seconds seconds=60 replace" },
	{ { .kind = OPERATION_PUT_MANY,
	    NOW,
	    .put_many = { .common = { .worker = T("w"), .queue = T("q"), .terms = &unique_terms },
			  .jobs = { names, 3 },
			  .keys = { names, 1 } } },
	  "02c0000000000000f83f017701714002036b657902f0010101610003630064010161",
	  "db0 put-many worker=\"w\" queue=\"q\" unique=\"key\" until=seconds seconds=60 replace "
	  "jobs=[\"a\",\"\",\"c\\u0000d\"] unique-keys=[\"a\"]" },
	{ { .kind = OPERATION_REQUEUE,
	    NOW,
	    .put = { .worker = T("w"),
		     .queue = T("q"),
		     .jid = T("j"),
		     .klass = T("k"),
		     .data = T("{}") } },
	  "0300000000000000f83f01770171016a016b027b7d",
	  "db0 requeue worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\"" },
	{ { .kind = OPERATION_POP, NOW, .pop = { .queue = T("q"), .worker = T("w"), .count = 5 } },
	  "0400000000000000f83f017101770a",
	  "db0 pop queue=\"q\" worker=\"w\" count=5" },
	{ { .kind = OPERATION_POP,
	    NOW,
	    .pop = { .queue = T("q"),
		     .worker = T("w"),
		     .count = 5,
		     .has_steps = true,
		     .steps = 3 } },
	  "0401000000000000f83f017101770a06",
	  "db0 pop queue=\"q\" worker=\"w\" count=5 steps=3" },
	{ { .kind = OPERATION_POP,
	    NOW,
	    .pop = { .queue = T("q"), .worker = T("w"), .klass = &one, .count = 5 } },
	  "0402000000000000f83f017101770a036f6e65",
	  "db0 pop queue=\"q\" worker=\"w\" count=5 class=\"one\"" },
	{ { .kind = OPERATION_ADVANCE, NOW, .advance = { QLESS_ADVANCE_QUEUE, T("q"), 1000 } },
	  "0500000000000000f83f010171d00f",
	  "db0 advance kind=queue queue=\"q\" max=1000" },
	{ { .kind = OPERATION_ADVANCE,
	    NOW,
	    .advance = { QLESS_ADVANCE_WORKERS, T(""), INT64_MAX } },
	  "0500000000000000f83f0300feffffffffffffffff01",
	  "db0 advance kind=workers queue=\"\" max=9223372036854775807" },
	{ { .kind = OPERATION_HEARTBEAT, NOW, .heartbeat = { T("j"), T("w"), NULL } },
	  "0600000000000000f83f016a0177",
	  "db0 heartbeat jid=\"j\" worker=\"w\"" },
	{ { .kind = OPERATION_HEARTBEAT, NOW, .heartbeat = { T("j"), T("w"), &two } },
	  "0602000000000000f83f016a01770132",
	  "db0 heartbeat jid=\"j\" worker=\"w\" data=\"2\"" },
	{ { .kind = OPERATION_HEARTBEAT,
	    NOW,
	    .keeps_data = true,
	    .heartbeat = { T("j"), T("w"), &two } },
	  "0601000000000000f83f016a0177",
	  "db0 heartbeat jid=\"j\" worker=\"w\" keeps-data" },
	{ { .kind = OPERATION_HEARTBEAT_MANY, NOW, .heartbeat_many = { T("w"), NAMES } },
	  "0700000000000000f83f01770301610003630064",
	  "db0 heartbeat-many worker=\"w\" jids=[\"a\",\"\",\"c\\u0000d\"]" },
	{ { .kind = OPERATION_COMPLETE,
	    NOW,
	    .complete = { .jid = T("j"), .worker = T("w"), .queue = T("q"), .data = T("{}") } },
	  "0802000000000000f83f016a01770171027b7d",
	  "db0 complete jid=\"j\" worker=\"w\" queue=\"q\" data=\"{}\"" },
	{ { .kind = OPERATION_COMPLETE,
	    NOW,
	    .keeps_data = true,
	    .complete = { .jid = T("j"),
			  .worker = T("w"),
			  .queue = T("q"),
			  .data = T("{}"),
			  .next = &one,
			  .delay = 3600,
			  .depends = names,
			  .depend_count = 1 } },
	  "081d000000000000f83f016a01770171036f6e65c070010161",
	  "db0 complete jid=\"j\" worker=\"w\" queue=\"q\" keeps-data next=\"one\" delay=3600 "
	  "depends=[\"a\"]" },
	{ { .kind = OPERATION_COMPLETE,
	    NOW,
	    .complete = { .jid = T("j"),
			  .worker = T("w"),
			  .queue = T("q"),
			  .data = T("{}"),
			  .next = &one,
			  .has_limits = true } },
	  "0826000000000000f83f016a01770171027b7d036f6e6500",
	  "db0 complete jid=\"j\" worker=\"w\" queue=\"q\" data=\"{}\" next=\"one\" limits=[]" },
	{ { .kind = OPERATION_COMPLETE,
	    NOW,
	    .complete = { .jid = T("j"),
			  .worker = T("w"),
			  .queue = T("q"),
			  .data = T("{}"),
			  .has_purge_max = true,
			  .purge_max = 1 } },
	  "0842000000000000f83f016a01770171027b7d02",
	  "db0 complete jid=\"j\" worker=\"w\" queue=\"q\" data=\"{}\" purge-max=1" },
	{ { .kind = OPERATION_COMPLETE_MANY,
	    NOW,
	    .complete_many = { T("w"), T("q"), { names, 2 }, false, 0 } },
	  "0900000000000000f83f0177017101016100",
	  "db0 complete-many worker=\"w\" queue=\"q\" jobs=[\"a\",\"\"]" },
	{ { .kind = OPERATION_COMPLETE_MANY,
	    NOW,
	    .complete_many = { T("w"), T("q"), { names, 2 }, true, 1 } },
	  "0901000000000000f83f017701710101610002",
	  "db0 complete-many worker=\"w\" queue=\"q\" jobs=[\"a\",\"\"] purge-end=1" },
	{ { .kind = OPERATION_FAIL, NOW, .fail = { T("j"), T("w"), T("g"), T("m"), &two, NULL } },
	  "0a02000000000000f83f016a01770167016d0132",
	  "db0 fail jid=\"j\" worker=\"w\" group=\"g\" message=\"m\" data=\"2\"" },
	{ { .kind = OPERATION_FAIL,
	    NOW,
	    .keeps_data = true,
	    .fail = { T("j"), T("w"), T("g"), T("m"), NULL, NULL } },
	  "0a01000000000000f83f016a01770167016d",
	  "db0 fail jid=\"j\" worker=\"w\" group=\"g\" message=\"m\" keeps-data" },
	{ { .kind = OPERATION_RETRY,
	    NOW,
	    .retry = { T("j"), T("q"), T("w"), 0, NULL, NULL, false } },
	  "0b00000000000000f83f016a01710177",
	  "db0 retry jid=\"j\" queue=\"q\" worker=\"w\"" },
	{ { .kind = OPERATION_RETRY,
	    NOW,
	    .retry = { T("j"), T("q"), T("w"), -5, &one, &two, false } },
	  "0b07000000000000f83f016a0171017712036f6e650132",
	  "db0 retry jid=\"j\" queue=\"q\" worker=\"w\" delay=-5 group=\"one\" message=\"2\"" },
	{ { .kind = OPERATION_RETRY,
	    NOW,
	    .retry = { T("j"), T("q"), T("w"), 0, NULL, NULL, true } },
	  "0b08000000000000f83f016a01710177",
	  "db0 retry jid=\"j\" queue=\"q\" worker=\"w\" backs-off" },
	{ { .kind = OPERATION_TIMEOUT, NOW, .names = NAMES },
	  "0c00000000000000f83f0301610003630064",
	  "db0 timeout jids=[\"a\",\"\",\"c\\u0000d\"]" },
	{ { .kind = OPERATION_CANCEL, NOW, .names = { NULL, 0 } },
	  "0d00000000000000f83f00",
	  "db0 cancel jids=[]" },
	{ { .kind = OPERATION_DEPENDS_ON, NOW, .job = { T("j"), NAMES } },
	  "0e00000000000000f83f016a0301610003630064",
	  "db0 depends-on jid=\"j\" jids=[\"a\",\"\",\"c\\u0000d\"]" },
	{ { .kind = OPERATION_DEPENDS_OFF, NOW, .job = { T("j"), NAMES } },
	  "0f00000000000000f83f016a0301610003630064",
	  "db0 depends-off jid=\"j\" jids=[\"a\",\"\",\"c\\u0000d\"]" },
	{ { .kind = OPERATION_DEPENDS_OFF_ALL, NOW, .job.jid = T("j") },
	  "1000000000000000f83f016a",
	  "db0 depends-off-all jid=\"j\"" },
	{ { .kind = OPERATION_PRIORITY, NOW, .priority = { T("j"), 12.5 } },
	  "1100000000000000f83f016a010000000000002940",
	  "db0 priority jid=\"j\" priority=12.5" },
	{ { .kind = OPERATION_LOG, NOW, .log = { T("j"), T("m"), NULL } },
	  "1200000000000000f83f016a016d",
	  "db0 log jid=\"j\" message=\"m\"" },
	{ { .kind = OPERATION_LOG, NOW, .log = { T("j"), T("m"), &two } },
	  "1201000000000000f83f016a016d0132",
	  "db0 log jid=\"j\" message=\"m\" item=\"2\"" },
	{ { .kind = OPERATION_UNFAIL, NOW, .unfail = { T("q"), T("g"), 25 } },
	  "1300000000000000f83f0171016732",
	  "db0 unfail queue=\"q\" group=\"g\" count=25" },
	{ { .kind = OPERATION_PAUSE, NOW, .names = NAMES },
	  "1400000000000000f83f0301610003630064",
	  "db0 pause queues=[\"a\",\"\",\"c\\u0000d\"]" },
	{ { .kind = OPERATION_UNPAUSE, NOW, .names = { names, 1 } },
	  "1500000000000000f83f010161",
	  "db0 unpause queues=[\"a\"]" },
	{ { .kind = OPERATION_QUEUE_FORGET, NOW, .names = { names, 1 } },
	  "1600000000000000f83f010161",
	  "db0 queue-forget queues=[\"a\"]" },
	{ { .kind = OPERATION_WORKER_DEREGISTER, NOW, .names = { names, 1 } },
	  "1700000000000000f83f010161",
	  "db0 worker-deregister workers=[\"a\"]" },
	{ { .kind = OPERATION_TAG, NOW, .job = { T("j"), NAMES } },
	  "1800000000000000f83f016a0301610003630064",
	  "db0 tag jid=\"j\" tags=[\"a\",\"\",\"c\\u0000d\"]" },
	{ { .kind = OPERATION_UNTAG, NOW, .job = { T("j"), { names, 1 } } },
	  "1900000000000000f83f016a010161",
	  "db0 untag jid=\"j\" tags=[\"a\"]" },
	{ { .kind = OPERATION_TRACK, NOW, .job.jid = T("j") },
	  "1a00000000000000f83f016a",
	  "db0 track jid=\"j\"" },
	{ { .kind = OPERATION_UNTRACK, NOW, .job.jid = T("j") },
	  "1b00000000000000f83f016a",
	  "db0 untrack jid=\"j\"" },
	{ { .kind = OPERATION_RECUR,
	    NOW,
	    .recur = { .queue = T("q"),
		       .jid = T("j"),
		       .klass = T("k"),
		       .data = T("{}"),
		       .interval = 60 } },
	  "1c00000000000000f83f0171016a016b027b7df00100",
	  "db0 recur queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" interval=60 offset=0" },
	{ { .kind = OPERATION_RECUR,
	    NOW,
	    .recur = { T("q"), T("j"), T("k"), T("{}"), 0.25, -1, 1, 2, 3, names, 3, NULL, 0, NULL,
		       NULL } },
	  "1c0f000000000000f83f0171016a016b027b7d01000000000000d03f0204080c0301610003630064",
	  "db0 recur queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" interval=0.25 offset=-1 "
	  "priority=1 retries=2 backlog=3 tags=[\"a\",\"\",\"c\\u0000d\"]" },
	{ { .kind = OPERATION_RECUR,
	    NOW,
	    .recur = { T("q"), T("j"), T("k"), T("{}"), 60, 0, 0, 0, 0, NULL, 0, names, 1, NULL,
		       NULL } },
	  "1c10000000000000f83f0171016a016b027b7df00100010161",
	  "db0 recur queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" interval=60 offset=0 "
	  "limits=[\"a\"]" },
	{ { .kind = OPERATION_RECUR,
	    NOW,
	    .recur = { .queue = T("q"),
		       .jid = T("j"),
		       .klass = T("k"),
		       .data = T("{}"),
		       .schedule = &schedule } },
	  "1c20000000000000f83f0171016a016b027b7d000006406461696c79035554430455544330020"
	  "1",
	  "db0 recur queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" interval=0 offset=0 "
	  "cron=\"@daily\" tz=\"UTC\" rule=\"UTC0\" missed=all overlap=skip" },
	{ { .kind = OPERATION_UNRECUR, NOW, .job.jid = T("j") },
	  "1d00000000000000f83f016a",
	  "db0 unrecur jid=\"j\"" },
	{ { .kind = OPERATION_RECUR_UPDATE, NOW, .recur_update = { T("j"), changes, 7 } },
	  "1e00000000000000f83f016a07000100000000000000800101000000000000e03f021c030004027b7d05016b"
	  "060171",
	  "db0 recur-update jid=\"j\" priority=-0 interval=0.5 retries=7 backlog=0 data=\"{}\" "
	  "klass=\"k\" queue=\"q\"" },
	{ { .kind = OPERATION_RECUR_UPDATE, NOW, .recur_update = { T("j"), key_change, 1 } },
	  "1e00000000000000f83f016a010d036b6579",
	  "db0 recur-update jid=\"j\" unique=\"key\"" },
	{ { .kind = OPERATION_RECUR_UPDATE, NOW, .recur_update = { T("j"), term_changes, 2 } },
	  "1e00000000000000f83f016a020e440014017500000f04",
	  "db0 recur-update jid=\"j\" runtime=5 unique=\"u\" until=finished seconds=0 raw=1" },
	{ { .kind = OPERATION_RECUR_UPDATE, NOW, .recur_update = { T("j"), limit_change, 1 } },
	  "1e00000000000000f83f016a010702016100",
	  "db0 recur-update jid=\"j\" limits=[\"a\",\"\"]" },
	{ { .kind = OPERATION_RECUR_UPDATE, NOW, .recur_update = { T("j"), schedule_changes, 5 } },
	  "1e00000000000000f83f016a050806406461696c7909035554430a04555443300b040c00",
	  "db0 recur-update jid=\"j\" cron=\"@daily\" tz=\"UTC\" rule=\"UTC0\" missed=skip "
	  "overlap=allow" },
	{ { .kind = OPERATION_OVERTIME, NOW, .overtime = T("j") },
	  "2e00000000000000f83f016a",
	  "db0 overtime jid=\"j\"" },
	{ { .kind = OPERATION_TICK, NOW, .tick = { T("j"), 5 } },
	  "2d00000000000000f83f016a0a",
	  "db0 tick jid=\"j\" max=5" },
	{ { .kind = OPERATION_RECUR_TAG, NOW, .job = { T("j"), { names, 1 } } },
	  "1f00000000000000f83f016a010161",
	  "db0 recur-tag jid=\"j\" tags=[\"a\"]" },
	{ { .kind = OPERATION_RECUR_UNTAG, NOW, .job = { T("j"), { names, 1 } } },
	  "2000000000000000f83f016a010161",
	  "db0 recur-untag jid=\"j\" tags=[\"a\"]" },
	{ { .kind = OPERATION_CONFIG_SET, NOW, .config = { T("heartbeat"), T("60") } },
	  "2100000000000000f83f09686561727462656174023630",
	  "db0 config-set option=\"heartbeat\" value=\"60\"" },
	{ { .kind = OPERATION_CONFIG_UNSET, NOW, .config.name = T("heartbeat") },
	  "2200000000000000f83f09686561727462656174",
	  "db0 config-unset option=\"heartbeat\"" },
	{ { .kind = OPERATION_RESOLVE, NOW }, "2300000000000000f83f", "db0 resolve" },
	{ { .kind = OPERATION_MAINTAIN, .db = 300 }, "a4ac0200", "db300 maintain" },
	{ { .kind = OPERATION_STEP_CLOCK, NOW, .step_clock.from = 7 },
	  "2500000000000000f83f1c",
	  "db0 step-clock from=7" },
	{ { .kind = OPERATION_REPAIR, NOW, .repair = { key_repair, 1 } },
	  "2600000000000000f83f011100000000",
	  "db0 repair unique(0,\"\",\"\",\"\")" },
	{ { .kind = OPERATION_REPAIR, NOW, .repair = { repairs, 3 } },
	  "2600000000000000f83f0303080171016a016905070174016a00000000000000f07f0f04016b0000ac02ab0"
	  "2",
	  "db0 repair move-after(8,\"q\",\"j\",\"i\") evict(7,\"t\",\"j\",\"\") "
	  "count(4,\"k\",\"\",\"\",300,299)" },
	{ { .kind = OPERATION_WORKER_RENEW, NOW, .renewal = { T("w"), 7, 0.5, 64 } },
	  "2700000000000000f83f01771c01000000000000e03f8001",
	  "db0 worker-renew worker=\"w\" after=7 until=0.5 max=64" },
	{ { .kind = OPERATION_WORKER_RELEASE, NOW, .release = { T("w"), false, 64 } },
	  "2800000000000000f83f01778001",
	  "db0 worker-release worker=\"w\" max=64" },
	{ { .kind = OPERATION_WORKER_RELEASE, NOW, .release = { T("w"), true, 1 } },
	  "2801000000000000f83f017702",
	  "db0 worker-release worker=\"w\" counts-retry max=1" },
	{ { .kind = OPERATION_LIMIT_SET, NOW, .limit_set.name = T("l") },
	  "2900000000000000f83f016c",
	  "db0 limit-set name=\"l\"" },
	{ { .kind = OPERATION_LIMIT_SET,
	    NOW,
	    .limit_set = { T("l*"), true, -1, true, 2, 0.5, true, 3, true, 4, true, 60 } },
	  "293f000000000000f83f026c2a010801000000000000e03f0c10f001",
	  "db0 limit-set name=\"l*\" concurrency=-1 rate=2 per=0.5 burst=3 weight=4 ttl=60" },
	{ { .kind = OPERATION_LIMIT_DELETE, NOW, .limit_name = T("l") },
	  "2a00000000000000f83f016c",
	  "db0 limit-delete name=\"l\"" },
	{ { .kind = OPERATION_LIMIT_HOLD, NOW, .limit_hold = { T("l"), 60 } },
	  "2b00000000000000f83f016cf001",
	  "db0 limit-hold name=\"l\" seconds=60" },
	{ { .kind = OPERATION_LIMIT_SWEEP, NOW, .limit_sweep.max = 64 },
	  "2c00000000000000f83f8001",
	  "db0 limit-sweep max=64" },
	{ { .kind = OPERATION_JOB_START, NOW, .start = { T("j"), T("w"), 42, T("n") } },
	  "3200000000000000f83f016a017754016e",
	  "db0 job-start jid=\"j\" worker=\"w\" pid=42 node=\"n\"" },
	{ { .kind = OPERATION_JOB_PROGRESS, NOW, .progress = { T("j"), T("w"), 50, &one } },
	  "3301000000000000f83f016a0177c801036f6e65",
	  "db0 job-progress jid=\"j\" worker=\"w\" percent=50 note=\"one\"" },
	{ { .kind = OPERATION_JOB_META, NOW, .meta = { T("j"), { names, 2 }, { names, 1 } } },
	  "3400000000000000f83f016a010161000101"
	  "61",
	  "db0 job-meta jid=\"j\" set=[\"a\",\"\"] removed=[\"a\"]" },
	{ { .kind = OPERATION_JOB_DELETE, NOW, .names = { names, 2 } },
	  "3500000000000000f83f02016100",
	  "db0 job-delete jids=[\"a\",\"\"]" },
	{ { .kind = OPERATION_JOB_ABORT, NOW, .abort = { T("j"), T("s"), T("g"), T("m") } },
	  "3600000000000000f83f016a01730167016d",
	  "db0 job-abort jid=\"j\" supervisor=\"s\" group=\"g\" message=\"m\"" },
	{ { .kind = OPERATION_COMPLETE_WITH,
	    NOW,
	    .complete = { .jid = T("j"),
			  .worker = T("w"),
			  .queue = T("q"),
			  .data = T("{}"),
			  .result = &one } },
	  "3782000000000000f83f016a01770171027b7d00036f6e65",
	  "db0 complete-with jid=\"j\" worker=\"w\" queue=\"q\" data=\"{}\" delay=0 "
	  "result=\"one\"" },
	{ { .kind = OPERATION_FAIL,
	    NOW,
	    .fail = { .jid = T("j"),
		      .worker = T("w"),
		      .group = T("g"),
		      .message = T("m"),
		      .error = &one } },
	  "0a04000000000000f83f016a01770167016d036f6e65",
	  "db0 fail jid=\"j\" worker=\"w\" group=\"g\" message=\"m\" error=\"one\"" },
	{ { .kind = OPERATION_ENDPOINT_SET,
	    .endpoint = { .name = T("e"),
			  .url = T("http://a"),
			  .queues = { names, 1 },
			  .concurrency = 2,
			  .timeout_s = 1.5,
			  .headers = { names, 0 } } },
	  "3a00016508687474703a2f2f610101610401000000000000f83f00",
	  "db0 endpoint-set name=\"e\" url=\"http:\\/\\/a\" queues=[\"a\"] concurrency=2 "
	  "timeout=1.5 headers=[]" },
	{ { .kind = OPERATION_ENDPOINT_SET,
	    .db = 1,
	    .endpoint = { .name = T("e"),
			  .url = T("http://a"),
			  .queues = { names, 2 },
			  .klass = &one,
			  .concurrency = 2,
			  .timeout_s = 0,
			  .headers = { rules, 2 },
			  .secret = &one } },
	  "ba0103016508687474703a2f2f6102016100036f6e65040001026f6e052335653838036f6e65",
	  "db1 endpoint-set name=\"e\" url=\"http:\\/\\/a\" queues=[\"a\",\"\"] class=\"one\" "
	  "concurrency=2 timeout=0 headers=[\"on\",\"...\"] secret=\"...\"" },
	{ { .kind = OPERATION_ENDPOINT_DELETE, .endpoint.name = T("e") },
	  "3b000165",
	  "db0 endpoint-delete name=\"e\"" },
	{ { .kind = OPERATION_ENDPOINT_PAUSE, .endpoint = { .name = T("e"), .is_paused = true } },
	  "3c010165",
	  "db0 endpoint-pause name=\"e\" paused" },
	{ { .kind = OPERATION_ENDPOINT_PAUSE, .endpoint = { .name = T("e") } },
	  "3c000165",
	  "db0 endpoint-pause name=\"e\"" },
	{ { .kind = OPERATION_FLUSH, .db = 300 }, "c0ac0200", "db300 flush" },
	{ { .kind = OPERATION_SCRIPT_ADDED, .script = { T("5c6b"), T("classic"), { NULL, 0 } } },
	  "4100043563366207636c6173736963",
	  "db0 script-added sha=\"5c6b\" dialect=\"classic\"" },
	{ { .kind = OPERATION_SCRIPT_ADDED, .script = { T("5c6b"), T("classic"), { names, 1 } } },
	  "4101043563366207636c6173736963010161",
	  "db0 script-added sha=\"5c6b\" dialect=\"classic\" options=[\"a\"]" },
	{ { .kind = OPERATION_SCRIPTS_CLEARED }, "4200", "db0 scripts-cleared" },
	{ { .kind = OPERATION_USER_SET, .user = { T("joe"), { rules, 3 }, NULL } },
	  "4300036a6f6503026f6e052335653838042b676574",
	  "db0 user-set name=\"joe\" rules=[\"on\",\"#...\",\"+get\"]" },
	{ { .kind = OPERATION_USER_DELETED, .user.name = T("joe") },
	  "4400036a6f65",
	  "db0 user-deleted name=\"joe\"" },
	{ { .kind = OPERATION_USER_AS_CONFIGURED, .user.name = T("joe") },
	  "4500036a6f65",
	  "db0 user-as-configured name=\"joe\"" },
};

#define SAMPLES (sizeof samples / sizeof samples[0])

static void append_hex(struct buf *out, struct qless_str from)
{
	hex_write(buf_reserve(out, 2 * from.len), from.ptr, from.len);
	buf_commit(out, 2 * from.len);
}

static void the_encoding_of_each_kind_never_changes(void)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		buf_clear(&bytes);
		buf_clear(&text);
		operation_encode(&samples[i].op, &bytes);
		append_hex(&text, buf_str(&bytes));
		TEST_ASSERT_EQUAL_STRING_MESSAGE(samples[i].hex, buf_cstr(&text),
						 operation_name(samples[i].op.kind));
	}
}

static void each_kind_has_a_sample(void)
{
	size_t kinds = 0;

	for (unsigned kind = 0; kind < 256; kind++) {
		bool found = false;

		for (size_t i = 0; i < SAMPLES; i++)
			found |= samples[i].op.kind == kind;
		if (operation_name(kind) != NULL)
			TEST_ASSERT_TRUE_MESSAGE(found, operation_name(kind));
		kinds += operation_name(kind) != NULL;
	}
	TEST_ASSERT_EQUAL_size_t(61, kinds);
}

static void each_kind_is_decoded_as_it_was_encoded(void)
{
	struct operation op;
	struct qless_str rest;

	for (size_t i = 0; i < SAMPLES; i++)
		operation_encode(&samples[i].op, &bytes);
	rest = buf_str(&bytes);
	for (size_t i = 0; i < SAMPLES; i++) {
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, operation_decode(&rest, &room, &op, &error),
					      buf_cstr(&error));
		TEST_ASSERT_EQUAL_INT(samples[i].op.kind, op.kind);
		TEST_ASSERT_EQUAL_UINT(samples[i].op.db, op.db);
		buf_clear(&text);
		operation_describe(&op, &text);
		TEST_ASSERT_EQUAL_STRING(samples[i].described, buf_cstr(&text));
		operation_encode(&op, &again);
	}
	TEST_ASSERT_EQUAL_size_t(0, rest.len);
	TEST_ASSERT_EQUAL_size_t(bytes.len, again.len);
	TEST_ASSERT_EQUAL_MEMORY(buf_data(&bytes), buf_data(&again), bytes.len);
}

/* ---- damage ---- */

/* Decode bytes from a block of exactly their size, so that a sanitizer notices reads beyond the
 * end. An operation that is accepted can be encoded again. */
static int decode_copy(struct qless_str from)
{
	char *copy = mem_realloc_array(NULL, from.len, 1);
	struct qless_str rest = str_make(copy, from.len);
	struct operation op;
	int rc;

	memcpy(copy, from.ptr, from.len);
	buf_clear(&error);
	rc = operation_decode(&rest, &room, &op, &error);
	if (rc == 0) {
		buf_clear(&again);
		operation_encode(&op, &again);
		buf_clear(&text);
		operation_describe(&op, &text);
	} else {
		TEST_ASSERT_GREATER_THAN(0, error.len);
	}
	free(copy);
	return rc;
}

static void truncated_bytes_are_an_error(void)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		buf_clear(&bytes);
		operation_encode(&samples[i].op, &bytes);
		for (size_t len = 1; len < bytes.len; len++)
			TEST_ASSERT_LESS_THAN_INT(0, decode_copy(str_make(buf_data(&bytes), len)));
	}
}

static void damaged_bytes_never_crash_the_decoder(void)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		buf_clear(&bytes);
		operation_encode(&samples[i].op, &bytes);
		for (size_t at = 0; at < bytes.len; at++) {
			char whole = buf_data(&bytes)[at];

			for (int value = 0; value < 256; value++) {
				buf_data(&bytes)[at] = (char)value;
				decode_copy(buf_str(&bytes));
			}
			buf_data(&bytes)[at] = whole;
		}
	}
}

static void expect_error(const char *hex, const char *expected)
{
	unsigned char raw[64];
	size_t len = strlen(hex) / 2;

	TEST_ASSERT_TRUE(hex_read(raw, hex, len));
	TEST_ASSERT_LESS_THAN_INT(0, decode_copy(str_make((const char *)raw, len)));
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&error));
}

static void errors_name_the_operation_and_the_field(void)
{
	expect_error("00", "an operation of kind 0 is unknown to this program");
	expect_error("7f", "an operation of kind 127 is unknown to this program");
	expect_error("c0", "an operation flush cannot be read: its database is damaged");
	expect_error("40", "an operation flush cannot be read: its byte of bits is damaged");
	expect_error("4001", "an operation flush cannot be read: its byte of bits is damaged");
	expect_error("1a00", "an operation track cannot be read: its time is damaged");
	expect_error("1a00000000000000f87f00",
		     "an operation track cannot be read: its time is damaged");
	expect_error("1a00000000000000f83f02",
		     "an operation track cannot be read: its jid is damaged");
	/* Data that is kept and also present; data that is neither. */
	expect_error("0803000000000000f83f016a01770171027b7d",
		     "an operation complete cannot be read: its data is damaged");
	expect_error("0800000000000000f83f016a01770171",
		     "an operation complete cannot be read: its data is damaged");
	/* A repair of no known kind, and one with a score that is not a number. */
	expect_error("2600000000000000f83f011300000000",
		     "an operation repair cannot be read: its repairs is damaged");
	expect_error("2600000000000000f83f0105070000000000000000f87f",
		     "an operation repair cannot be read: its repairs is damaged");
	/* Two unique keys for one job. */
	expect_error("0280000000000000f83f000001016a016b027b7d0201610162",
		     "an operation put-many cannot be read: its unique-keys is damaged");
	/* The count of a list exceeds the bytes that are left. */
	expect_error("0c00000000000000f83fffffffff0f00",
		     "an operation timeout cannot be read: its jids is damaged");
}

/* ---- numbers ---- */

static void all_finite_numbers_survive_encoding(void)
{
	const double numbers[] = { 0,
				   -0.0,
				   1,
				   -1,
				   63,
				   0.5,
				   1e300,
				   -1e-300,
				   4503599627370495.0,
				   -4503599627370495.0,
				   4503599627370496.0,
				   9e15,
				   5e-324,
				   1.7976931348623157e308 };
	struct operation op = { .kind = OPERATION_PRIORITY, .priority.jid = STR_INIT("j") };
	struct operation read;
	struct qless_str rest;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		op.priority.priority = numbers[i];
		buf_clear(&bytes);
		operation_encode(&op, &bytes);
		rest = buf_str(&bytes);
		TEST_ASSERT_EQUAL_INT(0, operation_decode(&rest, &room, &read, &error));
		TEST_ASSERT_EQUAL_MEMORY(&numbers[i], &read.priority.priority, sizeof(double));
	}
}

/* ---- running ---- */

static struct qless *q;
static struct operation_outcome outcome;

static int run_at(double now, struct operation op)
{
	op.now = now;
	return operation_run(q, &op, &outcome);
}

static void put(const char *jid)
{
	struct operation op = { .kind = OPERATION_PUT,
				.put = { .queue = S("q"),
					 .jid = str_from(jid),
					 .klass = S("k"),
					 .data = S("{\"n\":1}") } };

	TEST_ASSERT_EQUAL_INT(0, run_at(1, op));
}

static void pop(int64_t count)
{
	struct operation op = { .kind = OPERATION_POP,
				.pop = { .queue = S("q"), .worker = S("w"), .count = count } };

	TEST_ASSERT_EQUAL_INT(0, run_at(2, op));
}

static void the_outcome_tells_if_the_state_changed(void)
{
	q = qless_new(NULL);
	put("j");
	TEST_ASSERT_TRUE(outcome.changed);
	pop(1);
	TEST_ASSERT_TRUE(outcome.changed);
	TEST_ASSERT_EQUAL_size_t(1, outcome.jobs.count);
	pop(1);
	TEST_ASSERT_FALSE(outcome.changed);
	TEST_ASSERT_EQUAL_size_t(0, outcome.jobs.count);
	qless_free(q);
}

static void a_refused_operation_leaves_the_error_of_the_engine(void)
{
	struct operation op = { .kind = OPERATION_TIMEOUT, .names = { &one, 1 } };

	q = qless_new(NULL);
	TEST_ASSERT_EQUAL_INT(QLESS_ENOJOB, run_at(1, op));
	TEST_ASSERT_FALSE(outcome.changed);
	buf_append_str(&text, qless_error_text(q));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&text), "one"));
	qless_free(q);
}

static void a_job_keeps_its_data_if_the_operation_says_so(void)
{
	struct operation op = { .kind = OPERATION_COMPLETE,
				.complete = { .jid = S("j"),
					      .worker = S("w"),
					      .queue = S("q"),
					      .data = S("{\"n\":1}") } };
	struct qless_job_info info;

	q = qless_new(NULL);
	put("j");
	pop(1);
	TEST_ASSERT_EQUAL_INT(0, run_at(3, op));
	TEST_ASSERT_TRUE(outcome.kept_data);
	put("j");
	pop(1);
	op.complete.data = S("");
	op.keeps_data = true;
	TEST_ASSERT_EQUAL_INT(0, run_at(3, op));
	TEST_ASSERT_EQUAL_INT(QLESS_COMPLETE, outcome.state);
	TEST_ASSERT_TRUE(outcome.kept_data);
	qless_job_read(qless_get(q, S("j")), &info);
	ASSERT_STR("{\"n\":1}", info.data);
	op.complete.jid = S("another");
	TEST_ASSERT_EQUAL_INT(QLESS_ENOJOB, run_at(3, op));
	qless_free(q);
}

static void put_many_puts_jobs_in_order(void)
{
	static const struct qless_str jobs[] = { STR_INIT("j1"), STR_INIT("k1"), STR_INIT("1"),
						 STR_INIT("j2"), STR_INIT("k2"), STR_INIT("2") };
	struct operation op = { .kind = OPERATION_PUT_MANY,
				.put_many = { .common = { .queue = S("q") },
					      .jobs = { jobs, 6 } } };
	struct qless_job_info info;

	q = qless_new(NULL);
	TEST_ASSERT_EQUAL_INT(0, run_at(1, op));
	TEST_ASSERT_TRUE(outcome.until > 1);
	qless_job_read(qless_get(q, S("j2")), &info);
	ASSERT_STR("k2", info.klass);
	ASSERT_STR("2", info.data);
	put("j3");
	TEST_ASSERT_TRUE(outcome.until == 1);
	qless_free(q);
}

static void complete(const char *jid)
{
	struct operation op = { .kind = OPERATION_COMPLETE,
				.complete = { .jid = str_from(jid),
					      .worker = S("w"),
					      .queue = S("q"),
					      .data = S("{}") } };

	TEST_ASSERT_EQUAL_INT(0, run_at(3, op));
}

/* Completes two jobs while there are three old jobs, of which one may be kept. Returns whether the
 * newest of these still exists. */
static bool keeps_newest(int64_t purge_end)
{
	static const struct qless_str jobs[] = { STR_INIT("j4"), STR_INIT("{}"), STR_INIT("j5"),
						 STR_INIT("{}") };
	struct operation both = { .kind = OPERATION_COMPLETE_MANY,
				  .complete_many = {
					  S("w"), S("q"), { jobs, 4 }, true, purge_end } };
	struct operation keep = { .kind = OPERATION_CONFIG_SET,
				  .config = { S("jobs-history-count"), S("1") } };
	bool exists;

	q = qless_new(NULL);
	for (const char *const *jid = (const char *const[]){ "j1", "j2", "j3", "j4", "j5", NULL };
	     *jid != NULL; jid++)
		put(*jid);
	pop(5);
	complete("j1");
	complete("j2");
	complete("j3");
	TEST_ASSERT_EQUAL_INT(0, run_at(4, keep));
	TEST_ASSERT_EQUAL_INT(0, run_at(5, both));
	TEST_ASSERT_NULL(qless_get(q, S("j2")));
	TEST_ASSERT_NOT_NULL(qless_get(q, S("j5")));
	exists = qless_get(q, S("j3")) != NULL;
	qless_free(q);
	return exists;
}

static void from_its_purge_end_on_each_part_purges_one_job(void)
{
	TEST_ASSERT_TRUE(keeps_newest(0));
	TEST_ASSERT_FALSE(keeps_newest(1));
}

static void a_refused_part_does_not_stop_the_others(void)
{
	static const struct qless_str jobs[] = { STR_INIT("nobody"), STR_INIT("{}"), STR_INIT("j1"),
						 STR_INIT("{}") };
	static const struct qless_str jids[] = { STR_INIT("nobody"), STR_INIT("j2") };
	struct operation complete = {
		.kind = OPERATION_COMPLETE_MANY,
		.now = 3,
		.complete_many = { .worker = S("w"), .queue = S("q"), .jobs = { jobs, 4 } }
	};
	struct operation heartbeat = { .kind = OPERATION_HEARTBEAT_MANY,
				       .now = 3,
				       .heartbeat_many = { .worker = S("w"),
							   .jids = { jids, 2 } } };

	q = qless_new(NULL);
	put("j1");
	put("j2");
	pop(2);
	TEST_ASSERT_EQUAL_INT(0, run_at(3, complete));
	TEST_ASSERT_TRUE(outcome.changed);
	TEST_ASSERT_EQUAL_INT(QLESS_COMPLETE, outcome.state);
	TEST_ASSERT_EQUAL_size_t(2, operation_count_parts(&heartbeat));
	TEST_ASSERT_EQUAL_INT(QLESS_ENOJOB, operation_run_part(q, &heartbeat, 0, &outcome));
	TEST_ASSERT_FALSE(outcome.changed);
	TEST_ASSERT_EQUAL_INT(0, operation_run_part(q, &heartbeat, 1, &outcome));
	TEST_ASSERT_TRUE(outcome.changed);
	TEST_ASSERT_TRUE(outcome.expires == 63);
	qless_free(q);
}

/* ---- for people ---- */

static void mentions_finds_texts_in_all_fields(void)
{
	const struct operation change = { .kind = OPERATION_RECUR_UPDATE,
					  .recur_update = { S("jid"), changes, 7 } };
	const struct operation limited = { .kind = OPERATION_RECUR_UPDATE,
					   .recur_update = { S("jid"), limit_change, 1 } };
	const struct operation retry = { .kind = OPERATION_RETRY,
					 .retry = { .jid = S("j"), .group = &one } };
	const struct operation cancel = { .kind = OPERATION_CANCEL, .names = NAMES };

	const struct operation repair = { .kind = OPERATION_REPAIR, .repair = { repairs, 3 } };

	TEST_ASSERT_TRUE(operation_mentions(&limited, S("a")));
	TEST_ASSERT_FALSE(operation_mentions(&limited, S("c\0d")));
	TEST_ASSERT_TRUE(operation_mentions(&repair, S("k")));
	TEST_ASSERT_TRUE(operation_mentions(&repair, S("i")));
	TEST_ASSERT_FALSE(operation_mentions(&repair, S("300")));
	TEST_ASSERT_TRUE(operation_mentions(&change, S("jid")));
	TEST_ASSERT_TRUE(operation_mentions(&change, S("q")));
	TEST_ASSERT_FALSE(operation_mentions(&change, S("another")));
	TEST_ASSERT_TRUE(operation_mentions(&retry, S("one")));
	TEST_ASSERT_FALSE(operation_mentions(&retry, S("2")));
	TEST_ASSERT_TRUE(operation_mentions(&cancel, S("c\0d")));
	TEST_ASSERT_FALSE(operation_mentions(&cancel, S("c")));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(the_encoding_of_each_kind_never_changes);
	RUN(each_kind_has_a_sample);
	RUN(each_kind_is_decoded_as_it_was_encoded);
	RUN(truncated_bytes_are_an_error);
	RUN(damaged_bytes_never_crash_the_decoder);
	RUN(errors_name_the_operation_and_the_field);
	RUN(all_finite_numbers_survive_encoding);
	RUN(the_outcome_tells_if_the_state_changed);
	RUN(a_refused_operation_leaves_the_error_of_the_engine);
	RUN(a_job_keeps_its_data_if_the_operation_says_so);
	RUN(put_many_puts_jobs_in_order);
	RUN(from_its_purge_end_on_each_part_purges_one_job);
	RUN(a_refused_part_does_not_stop_the_others);
	RUN(mentions_finds_texts_in_all_fields);
	return UNIT_RESULT();
}
