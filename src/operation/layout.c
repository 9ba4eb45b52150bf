/*
 * The bytes of an operation:
 *
 *	1 byte	the kind; the top bit is set if a database other than 0 follows
 *	varint	number of the database, if it follows
 *	1 byte	a bit for each optional field, the lowest for the first: the field is present
 *	8 bytes	time (IEEE 754 double, seconds since 1970); MAINTAIN and the kinds that do not
 *		change an engine have none
 *	.	the fields that are present, in the order of the table below
 *
 *	field		bytes
 *	text, ref	varint length, bytes
 *	texts		varint count of tuples (of `step` texts), then each text
 *	number		a varint: twice the zigzag of a whole number below 2^52; or 1, and then a
 *			double of 8 bytes. It is finite
 *	count		varint, zigzag
 *	advance		varint, the enum qless_advance_kind
 *	changes		varint count, then for each: varint field (the order of struct
 *			qless_recur_change), a number, a text, for limits a varint count and
 *			each text, or terms
 *	repairs		varint count, then for each: varint kind (enum qless_repair_kind), varint
 *			what, the texts name, member and other; for ENTER_TABLE and EVICT the score,
 *			8 bytes; for COUNT the varints from and to
 *	schedule	the texts cron, zone and rule; varints: enum qless_missed,
 *			enum qless_overlap
 *	flag		none: its bit is its value
 *	terms		two bytes with a bit for each term, the lowest for the first row of the
 *			table at the end; then the values of the terms that are given: numbers,
 *			texts, flags, and choices, which are varints
 *
 * Numbers are little-endian. A varint has seven bits in each byte, the low ones first; the top bit
 * is set in every byte but the last. Unused bits of optional fields are 0.
 *
 * To add a kind, give it an unused number in operation.h, a row here, and a case in run.c. To add
 * an optional field, put it at the end of the row: in old records its bit is 0. Any other change of
 * a row needs a new kind with a new number. Then keep the old row under another name
 * (OPERATION_PUT_1), and convert it to the new kind at the end of operation_decode(). Readers
 * refuse kinds and bits that they do not know. test_operation.c pins the bytes of each kind.
 */
#include "operation/layout.h"

#include <assert.h>

#define AT(member) offsetof(struct operation, member)

#define FIELD(name_, type_, presence_, member, count_, test_, step_)                        \
	{                                                                                   \
		.name = (name_), .type = (type_), .presence = (presence_), .step = (step_), \
		.offset = AT(member), .counted = AT(count_), .test = AT(test_)              \
	}
#define ROW(type, presence, name, member) FIELD(name, type, presence, member, member, member, 1)

#define TEXT(name, member)	    ROW(FIELD_TEXT, PRESENT_ALWAYS, name, member)
#define TEXT_IF_SET(name, member)   ROW(FIELD_TEXT_REF, PRESENT_IF_REF, name, member)
#define NUMBER(name, member)	    ROW(FIELD_NUMBER, PRESENT_ALWAYS, name, member)
#define NUMBER_IF_SET(name, member) ROW(FIELD_NUMBER, PRESENT_IF_NUMBER, name, member)
#define COUNT(name, member)	    ROW(FIELD_COUNT, PRESENT_ALWAYS, name, member)
#define NUMBER_IF_HAS(name, member, has) \
	FIELD(name, FIELD_NUMBER, PRESENT_IF_TRUE, member, member, has, 1)
#define COUNT_IF_HAS(name, member, has) \
	FIELD(name, FIELD_COUNT, PRESENT_IF_TRUE, member, member, has, 1)

/* Lists that are always present: names, or tuples of `step` texts. */
#define NAMES(name, list) TUPLES(name, list, 1)
#define TUPLES(name, list, step) \
	FIELD(name, FIELD_TEXTS, PRESENT_ALWAYS, list.items, list.count, list.count, step)
#define TEXTS_IF_SET(name, member, count) \
	FIELD(name, FIELD_TEXTS, PRESENT_IF_COUNT, member, count, count, 1)
#define TEXTS_IF_HAS(name, member, count, has) \
	FIELD(name, FIELD_TEXTS, PRESENT_IF_TRUE, member, count, has, 1)

/* The job keeps its data, or gets the data that follows. */
#define KEPT		 ROW(FIELD_FLAG, PRESENT_IF_TRUE, "keeps-data", keeps_data)
#define DATA(member)	 ROW(FIELD_TEXT, PRESENT_IF_NEW, "data", member)
#define DATA_REF(member) ROW(FIELD_TEXT_REF, PRESENT_IF_NEW_REF, "data", member)

#define TERMS(member) ROW(FIELD_TERMS, PRESENT_IF_REF, "terms", member)

/* All of struct qless_put after its data. */
#define PUT_OPTIONS                                                                  \
	NUMBER_IF_SET("delay", put.delay),                                           \
		NUMBER_IF_HAS("priority", put.priority, put.has_priority),           \
		NUMBER_IF_HAS("retries", put.retries, put.has_retries),              \
		TEXTS_IF_HAS("tags", put.tags, put.tag_count, put.has_tags),         \
		TEXTS_IF_SET("depends", put.depends, put.depend_count),              \
		TEXTS_IF_HAS("limits", put.limits, put.limit_count, put.has_limits), \
		TERMS(put.terms)

#define PUT_FIELDS                                                                  \
	TEXT("worker", put.worker), TEXT("queue", put.queue), TEXT("jid", put.jid), \
		TEXT("klass", put.klass), TEXT("data", put.data), PUT_OPTIONS

/* PUT_OPTIONS also describes put_many.common. */
static_assert(AT(put) == AT(put_many.common), "they begin at the same place");

#define JID TEXT("jid", job.jid)
#define NOTHING              \
	{                    \
		.name = NULL \
	}

#define LAYOUT(kind, name_, timed, ...) \
	[kind] = { .name = (name_), .has_time = (timed), .fields = { __VA_ARGS__ } }
#define TIMED(kind, name, ...)	  LAYOUT(kind, name, true, __VA_ARGS__)
#define TIMELESS(kind, name, ...) LAYOUT(kind, name, false, __VA_ARGS__)

static const struct layout layouts[] = {
	TIMED(OPERATION_PUT, "put", PUT_FIELDS),
	TIMED(OPERATION_PUT_MANY, "put-many", TEXT("worker", put.worker), TEXT("queue", put.queue),
	      PUT_OPTIONS, TUPLES("jobs", put_many.jobs, 3),
	      TEXTS_IF_SET("unique-keys", put_many.keys.items, put_many.keys.count)),
	TIMED(OPERATION_REQUEUE, "requeue", PUT_FIELDS),
	TIMED(OPERATION_POP, "pop", TEXT("queue", pop.queue), TEXT("worker", pop.worker),
	      COUNT("count", pop.count), COUNT_IF_HAS("steps", pop.steps, pop.has_steps),
	      TEXT_IF_SET("class", pop.klass)),
	TIMED(OPERATION_ADVANCE, "advance",
	      ROW(FIELD_ADVANCE, PRESENT_ALWAYS, "kind", advance.kind),
	      TEXT("queue", advance.queue), COUNT("max", advance.max)),
	TIMED(OPERATION_HEARTBEAT, "heartbeat", TEXT("jid", heartbeat.jid),
	      TEXT("worker", heartbeat.worker), KEPT, DATA_REF(heartbeat.data)),
	TIMED(OPERATION_HEARTBEAT_MANY, "heartbeat-many", TEXT("worker", heartbeat_many.worker),
	      NAMES("jids", heartbeat_many.jids)),
	TIMED(OPERATION_COMPLETE, "complete", TEXT("jid", complete.jid),
	      TEXT("worker", complete.worker), TEXT("queue", complete.queue), KEPT,
	      DATA(complete.data), TEXT_IF_SET("next", complete.next),
	      NUMBER_IF_SET("delay", complete.delay),
	      TEXTS_IF_SET("depends", complete.depends, complete.depend_count),
	      TEXTS_IF_HAS("limits", complete.limits, complete.limit_count, complete.has_limits),
	      COUNT_IF_HAS("purge-max", complete.purge_max, complete.has_purge_max),
	      TERMS(complete.terms)),
	TIMED(OPERATION_COMPLETE_MANY, "complete-many", TEXT("worker", complete_many.worker),
	      TEXT("queue", complete_many.queue), TUPLES("jobs", complete_many.jobs, 2),
	      COUNT_IF_HAS("purge-end", complete_many.purge_end, complete_many.has_purge_end)),
	TIMED(OPERATION_FAIL, "fail", TEXT("jid", fail.jid), TEXT("worker", fail.worker),
	      TEXT("group", fail.group), TEXT("message", fail.message), KEPT, DATA_REF(fail.data),
	      TEXT_IF_SET("error", fail.error)),
	TIMED(OPERATION_RETRY, "retry", TEXT("jid", retry.jid), TEXT("queue", retry.queue),
	      TEXT("worker", retry.worker), NUMBER_IF_SET("delay", retry.delay),
	      TEXT_IF_SET("group", retry.group), TEXT_IF_SET("message", retry.message),
	      ROW(FIELD_FLAG, PRESENT_IF_TRUE, "backs-off", retry.backs_off)),
	TIMED(OPERATION_TIMEOUT, "timeout", NAMES("jids", names)),
	TIMED(OPERATION_CANCEL, "cancel", NAMES("jids", names)),
	TIMED(OPERATION_DEPENDS_ON, "depends-on", JID, NAMES("jids", job.names)),
	TIMED(OPERATION_DEPENDS_OFF, "depends-off", JID, NAMES("jids", job.names)),
	TIMED(OPERATION_DEPENDS_OFF_ALL, "depends-off-all", JID),
	TIMED(OPERATION_PRIORITY, "priority", TEXT("jid", priority.jid),
	      NUMBER("priority", priority.priority)),
	TIMED(OPERATION_LOG, "log", TEXT("jid", log.jid), TEXT("message", log.message),
	      TEXT_IF_SET("item", log.item)),
	TIMED(OPERATION_UNFAIL, "unfail", TEXT("queue", unfail.queue), TEXT("group", unfail.group),
	      COUNT("count", unfail.count)),
	TIMED(OPERATION_PAUSE, "pause", NAMES("queues", names)),
	TIMED(OPERATION_UNPAUSE, "unpause", NAMES("queues", names)),
	TIMED(OPERATION_QUEUE_FORGET, "queue-forget", NAMES("queues", names)),
	TIMED(OPERATION_WORKER_DEREGISTER, "worker-deregister", NAMES("workers", names)),
	TIMED(OPERATION_TAG, "tag", JID, NAMES("tags", job.names)),
	TIMED(OPERATION_UNTAG, "untag", JID, NAMES("tags", job.names)),
	TIMED(OPERATION_TRACK, "track", JID),
	TIMED(OPERATION_UNTRACK, "untrack", JID),
	TIMED(OPERATION_RECUR, "recur", TEXT("queue", recur.queue), TEXT("jid", recur.jid),
	      TEXT("klass", recur.klass), TEXT("data", recur.data),
	      NUMBER("interval", recur.interval), NUMBER("offset", recur.offset),
	      NUMBER_IF_SET("priority", recur.priority), NUMBER_IF_SET("retries", recur.retries),
	      NUMBER_IF_SET("backlog", recur.backlog),
	      TEXTS_IF_SET("tags", recur.tags, recur.tag_count),
	      TEXTS_IF_SET("limits", recur.limits, recur.limit_count),
	      ROW(FIELD_SCHEDULE, PRESENT_IF_REF, "schedule", recur.schedule), TERMS(recur.terms)),
	TIMED(OPERATION_UNRECUR, "unrecur", JID),
	TIMED(OPERATION_RECUR_UPDATE, "recur-update", TEXT("jid", recur_update.jid),
	      FIELD("changes", FIELD_CHANGES, PRESENT_ALWAYS, recur_update.changes,
		    recur_update.count, recur_update.count, 1)),
	TIMED(OPERATION_RECUR_TAG, "recur-tag", JID, NAMES("tags", job.names)),
	TIMED(OPERATION_RECUR_UNTAG, "recur-untag", JID, NAMES("tags", job.names)),
	TIMED(OPERATION_CONFIG_SET, "config-set", TEXT("option", config.name),
	      TEXT("value", config.value)),
	TIMED(OPERATION_CONFIG_UNSET, "config-unset", TEXT("option", config.name)),
	TIMED(OPERATION_RESOLVE, "resolve", NOTHING),
	TIMELESS(OPERATION_MAINTAIN, "maintain", NOTHING),
	TIMED(OPERATION_STEP_CLOCK, "step-clock", NUMBER("from", step_clock.from)),
	TIMED(OPERATION_REPAIR, "repair",
	      FIELD("repairs", FIELD_REPAIRS, PRESENT_ALWAYS, repair.items, repair.count,
		    repair.count, 1)),
	TIMED(OPERATION_WORKER_RENEW, "worker-renew", TEXT("worker", renewal.worker),
	      NUMBER("after", renewal.after), NUMBER("until", renewal.until),
	      COUNT("max", renewal.max)),
	TIMED(OPERATION_WORKER_RELEASE, "worker-release", TEXT("worker", release.worker),
	      ROW(FIELD_FLAG, PRESENT_IF_TRUE, "counts-retry", release.counts),
	      COUNT("max", release.max)),
	TIMED(OPERATION_LIMIT_SET, "limit-set", TEXT("name", limit_set.name),
	      COUNT_IF_HAS("concurrency", limit_set.concurrency, limit_set.has_concurrency),
	      NUMBER_IF_HAS("rate", limit_set.rate, limit_set.has_rate),
	      NUMBER_IF_HAS("per", limit_set.per, limit_set.has_rate),
	      NUMBER_IF_HAS("burst", limit_set.burst, limit_set.has_burst),
	      NUMBER_IF_HAS("weight", limit_set.weight, limit_set.has_weight),
	      NUMBER_IF_HAS("ttl", limit_set.ttl, limit_set.has_ttl)),
	TIMED(OPERATION_LIMIT_DELETE, "limit-delete", TEXT("name", limit_name)),
	TIMED(OPERATION_LIMIT_HOLD, "limit-hold", TEXT("name", limit_hold.name),
	      NUMBER("seconds", limit_hold.seconds)),
	TIMED(OPERATION_LIMIT_SWEEP, "limit-sweep", COUNT("max", limit_sweep.max)),
	TIMED(OPERATION_TICK, "tick", TEXT("jid", tick.jid), COUNT("max", tick.max)),
	TIMED(OPERATION_OVERTIME, "overtime", TEXT("jid", overtime)),
	TIMED(OPERATION_JOB_START, "job-start", TEXT("jid", start.jid),
	      TEXT("worker", start.worker), COUNT("pid", start.pid), TEXT("node", start.node)),
	TIMED(OPERATION_JOB_PROGRESS, "job-progress", TEXT("jid", progress.jid),
	      TEXT("worker", progress.worker), NUMBER("percent", progress.percent),
	      TEXT_IF_SET("note", progress.note)),
	TIMED(OPERATION_JOB_META, "job-meta", TEXT("jid", meta.jid), TUPLES("set", meta.set, 2),
	      NAMES("removed", meta.removed)),
	TIMED(OPERATION_JOB_DELETE, "job-delete", NAMES("jids", names)),
	TIMED(OPERATION_JOB_ABORT, "job-abort", TEXT("jid", abort.jid),
	      TEXT("supervisor", abort.supervisor), TEXT("group", abort.group),
	      TEXT("message", abort.message)),
	/* The delay is always there, because eight fields are optional. */
	TIMED(OPERATION_COMPLETE_WITH, "complete-with", TEXT("jid", complete.jid),
	      TEXT("worker", complete.worker), TEXT("queue", complete.queue), KEPT,
	      DATA(complete.data), TEXT_IF_SET("next", complete.next),
	      NUMBER("delay", complete.delay),
	      TEXTS_IF_SET("depends", complete.depends, complete.depend_count),
	      TEXTS_IF_HAS("limits", complete.limits, complete.limit_count, complete.has_limits),
	      COUNT_IF_HAS("purge-max", complete.purge_max, complete.has_purge_max),
	      TERMS(complete.terms), TEXT_IF_SET("result", complete.result)),
	TIMELESS(OPERATION_ENDPOINT_SET, "endpoint-set", TEXT("name", endpoint.name),
		 TEXT("url", endpoint.url), NAMES("queues", endpoint.queues),
		 TEXT_IF_SET("class", endpoint.klass), COUNT("concurrency", endpoint.concurrency),
		 NUMBER("timeout", endpoint.timeout_s), TUPLES("headers", endpoint.headers, 2),
		 TEXT_IF_SET("secret", endpoint.secret)),
	TIMELESS(OPERATION_ENDPOINT_DELETE, "endpoint-delete", TEXT("name", endpoint.name)),
	TIMELESS(OPERATION_ENDPOINT_PAUSE, "endpoint-pause", TEXT("name", endpoint.name),
		 ROW(FIELD_FLAG, PRESENT_IF_TRUE, "paused", endpoint.is_paused)),
	TIMELESS(OPERATION_FLUSH, "flush", NOTHING),
	TIMELESS(OPERATION_SCRIPT_ADDED, "script-added", TEXT("sha", script.sha),
		 TEXT("dialect", script.dialect),
		 TEXTS_IF_SET("options", script.options.items, script.options.count)),
	TIMELESS(OPERATION_SCRIPTS_CLEARED, "scripts-cleared", NOTHING),
	TIMELESS(OPERATION_USER_SET, "user-set", TEXT("name", user.name),
		 NAMES("rules", user.rules)),
	TIMELESS(OPERATION_USER_DELETED, "user-deleted", TEXT("name", user.name)),
	TIMELESS(OPERATION_USER_AS_CONFIGURED, "user-as-configured", TEXT("name", user.name)),
};

#define TERM_AT(member) offsetof(struct qless_terms, member)
#define TERM(bit_, name_, type_, member, has, max_, words_)                                        \
	{                                                                                          \
		.name = (name_), .type = (type_), .bit = (bit_), .max = (max_), .words = (words_), \
		.offset = TERM_AT(member), .test = TERM_AT(has)                                    \
	}
#define TERM_NUMBER(bit, name, member, has) TERM(bit, name, FIELD_NUMBER, member, has, 0, NULL)
#define TERM_TEXT(bit, name, member, has)   TERM(bit, name, FIELD_TEXT, member, has, 0, NULL)
#define TERM_FLAG(bit, name, member)	    TERM(bit, name, FIELD_FLAG, member, member, 0, NULL)
#define TERM_CHOICE(bit, name, member, has, max, words) \
	TERM(bit, name, FIELD_CHOICE, member, has, max, words)

/* A bit is never reused. Readers refuse bits that they do not know. */
const struct term terms_layout[] = {
	TERM_CHOICE(0, "backoff", backoff.kind, has_backoff, QLESS_BACKOFF_EXPONENTIAL,
		    qless_backoff_text),
	TERM_NUMBER(0, "base", backoff.base, has_backoff),
	TERM_NUMBER(0, "max", backoff.max, has_backoff),
	TERM_NUMBER(1, "at", at, has_at),
	TERM_NUMBER(2, "runtime", runtime, has_runtime),
	TERM_FLAG(3, "raw", is_raw),
	TERM_FLAG(4, "nx", is_new),
	TERM_NUMBER(5, "number", number, has_number),
	TERM_TEXT(TERM_UNIQUE_BIT, "unique", unique.key, has_unique),
	TERM_CHOICE(TERM_UNIQUE_BIT, "until", unique.until, has_unique, QLESS_UNTIL_SECONDS,
		    qless_until_text),
	TERM_NUMBER(TERM_UNIQUE_BIT, "seconds", unique.seconds, has_unique),
	TERM_FLAG(9, "replace", unique.replace),
	TERM(10, "retain", FIELD_SPAN, retain, has_retain, 0, NULL),
	NOTHING,
};

const struct layout *layout_find(unsigned kind)
{
	if (kind >= sizeof layouts / sizeof *layouts || layouts[kind].name == NULL)
		return NULL;
	return &layouts[kind];
}

const char *operation_name(unsigned kind)
{
	const struct layout *layout = layout_find(kind);

	return layout != NULL ? layout->name : NULL;
}
