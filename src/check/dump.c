/*
 * The lines of a record, and the filter.
 */
#include "check/dump.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Seconds since 1970. A time from there on is printed as a number. */
#define TIME_LIMIT 1e11

void dump_init(struct dump *d, const struct dump_filter *filter)
{
	*d = (struct dump){ .filter = *filter };
	buf_init(&d->line, BUF_NO_MAX);
	legacy_init(&d->legacy);
}

void dump_done(struct dump *d)
{
	operation_room_done(&d->room);
	legacy_done(&d->legacy);
	buf_done(&d->line);
}

const char *dump_format_time(double seconds, char to[DUMP_TIME_MAX])
{
	time_t whole = (time_t)floor(seconds);
	struct tm tm;
	size_t len;

	if (!(fabs(seconds) < TIME_LIMIT) || gmtime_r(&whole, &tm) == NULL) {
		snprintf(to, DUMP_TIME_MAX, "%.17g", seconds);
		return to;
	}
	len = strftime(to, DUMP_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(to + len, DUMP_TIME_MAX - len, ".%06dZ",
		 (int)((seconds - floor(seconds)) * 1e6 + 0.5) % 1000000);
	return to;
}

/* ---- the filter ---- */

static bool is_in_time(const struct dump_filter *f, double now)
{
	return now >= f->since && now <= f->until;
}

static bool is_wanted(const struct dump_filter *f, const struct operation *op)
{
	return (f->jid.ptr == NULL || operation_mentions(op, f->jid)) &&
	       (f->queue.ptr == NULL || operation_mentions(op, f->queue)) && is_in_time(f, op->now);
}

static bool is_wanted_command(const struct dump_filter *f, const struct legacy_command *command)
{
	return (f->jid.ptr == NULL || legacy_mentions(command, f->jid)) &&
	       (f->queue.ptr == NULL || legacy_mentions(command, f->queue)) &&
	       is_in_time(f, command->now);
}

static bool wants_all(const struct dump_filter *f)
{
	return f->jid.ptr == NULL && f->queue.ptr == NULL && isinf(f->since) && isinf(f->until);
}

/* ---- lines ---- */

/* Where a record is. */
struct place {
	const char *path;
	uint64_t offset;
	uint64_t sequence;
};

static void begin_line(struct dump *d, const struct place *place)
{
	const char *slash = strrchr(place->path, '/');

	buf_clear(&d->line);
	buf_printf(&d->line, "%" PRIu64 " %s:%" PRIu64 " ", place->sequence,
		   slash != NULL ? slash + 1 : place->path, place->offset);
}

static void append_time(struct dump *d, double seconds)
{
	char time[DUMP_TIME_MAX];

	buf_printf(&d->line, "%s ", dump_format_time(seconds, time));
}

static void end_line(struct dump *d)
{
	buf_append_char(&d->line, '\n');
	fwrite(buf_data(&d->line), 1, d->line.len, stdout);
}

static void dump_operations(struct dump *d, const struct place *place, struct qless_str payload)
{
	struct buf error = BUF_INIT(4096);
	struct operation op;

	while (payload.len > 0 && operation_decode(&payload, &d->room, &op, &error) == 0) {
		if (!is_wanted(&d->filter, &op))
			continue;
		begin_line(d, place);
		append_time(d, op.now);
		operation_describe(&op, &d->line);
		end_line(d);
	}
	buf_done(&error);
}

static void dump_commands(struct dump *d, const struct place *place, struct qless_str payload)
{
	struct legacy_command command;

	while (payload.len > 0 && legacy_take(&d->legacy, &payload, &command)) {
		if (!is_wanted_command(&d->filter, &command))
			continue;
		begin_line(d, place);
		append_time(d, command.now);
		legacy_describe(&command, &d->line);
		end_line(d);
	}
}

static void append_mark(struct dump *d, const struct record_mark *mark)
{
	char time[DUMP_TIME_MAX];

	buf_printf(&d->line, " %s durable up to %" PRIu64,
		   dump_format_time((double)mark->wall_us / 1e6, time), mark->durable);
	if (mark->has_commit)
		buf_printf(&d->line, ", committed up to %" PRIu64, mark->commit);
}

/* Append the content of a mark, or of a record of a snapshot. */
static void append_payload(struct dump *d, const struct record *record)
{
	struct record_group group;
	struct record_mark mark;
	uint64_t number;

	if (record->type == RECORD_MARK && record_decode_mark(record->payload, &mark))
		append_mark(d, &mark);
	else if (record->type == RECORD_GROUP && record_decode_group(record->payload, &group))
		buf_printf(&d->line, " term %" PRIu64 ", members of %" PRIu64 ", %zu bytes",
			   group.term, group.members_index, group.members.len);
	else if (record->type == RECORD_MEMBERS)
		buf_printf(&d->line, " %zu bytes", record->payload.len);
	else if (record->type == RECORD_STATE_DATA)
		buf_printf(&d->line, " %zu bytes", record->payload.len);
	else if (record_decode_number(record->payload, &number))
		buf_printf(&d->line, " %" PRIu64, number);
}

void dump_record(void *dump, const char *path, uint64_t offset, const struct record *record)
{
	struct place place = { path, offset, record->sequence };
	struct dump *d = dump;

	if (record->type == RECORD_OPERATIONS) {
		dump_operations(d, &place, record->payload);
	} else if (record->type == RECORD_COMMANDS) {
		dump_commands(d, &place, record->payload);
	} else if (wants_all(&d->filter)) {
		begin_line(d, &place);
		buf_append_str(&d->line, str_from(record_type_name(record->type)));
		append_payload(d, record);
		end_line(d);
	}
}
