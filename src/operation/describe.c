#include <inttypes.h>
#include <math.h>

#include "operation/layout.h"
#include "util/json.h"

static const char *const advance_names[] = {
	[QLESS_ADVANCE_POP] = "pop",
	[QLESS_ADVANCE_QUEUE] = "queue",
	[QLESS_ADVANCE_KNOWN] = "known",
	[QLESS_ADVANCE_WORKERS] = "workers",
};

static const char *const change_names[] = {
	[QLESS_RECUR_PRIORITY] = "priority", [QLESS_RECUR_INTERVAL] = "interval",
	[QLESS_RECUR_RETRIES] = "retries",   [QLESS_RECUR_BACKLOG] = "backlog",
	[QLESS_RECUR_DATA] = "data",	     [QLESS_RECUR_KLASS] = "klass",
	[QLESS_RECUR_QUEUE] = "queue",	     [QLESS_RECUR_LIMITS] = "limits",
	[QLESS_RECUR_CRON] = "cron",	     [QLESS_RECUR_ZONE] = "tz",
	[QLESS_RECUR_RULE] = "rule",	     [QLESS_RECUR_MISSED] = "missed",
	[QLESS_RECUR_OVERLAP] = "overlap",   [QLESS_RECUR_UNIQUE] = "unique",
	[QLESS_RECUR_TERMS] = "terms",	     [QLESS_RECUR_RAW] = "raw",
};

static const char *const repair_names[] = {
	[QLESS_REPAIR_REBUILD] = "rebuild",
	[QLESS_REPAIR_MOVE_FIRST] = "move-first",
	[QLESS_REPAIR_MOVE_AFTER] = "move-after",
	[QLESS_REPAIR_ENTER_TABLE] = "enter-table",
	[QLESS_REPAIR_EVICT] = "evict",
	[QLESS_REPAIR_ENTER_LIST] = "enter-list",
	[QLESS_REPAIR_JOB] = "job",
	[QLESS_REPAIR_EDGES] = "edges",
	[QLESS_REPAIR_STATE] = "state",
	[QLESS_REPAIR_TAGS] = "tags",
	[QLESS_REPAIR_TAG] = "tag",
	[QLESS_REPAIR_QUEUE] = "queue",
	[QLESS_REPAIR_GROUP] = "group",
	[QLESS_REPAIR_DROP] = "drop",
	[QLESS_REPAIR_COUNT] = "count",
	[QLESS_REPAIR_LIMITS] = "limits",
	[QLESS_REPAIR_UNIQUE] = "unique",
	[QLESS_REPAIR_RETAINED] = "retained",
};

/* Returns what is shown in place of a text that is secret, otherwise the text. A rule of a user
 * that begins with # is the hash of a password. The value of a header of an endpoint may be one. */
static struct qless_str hide(const struct operation *op, struct operation_names texts, size_t i)
{
	if (op->kind == OPERATION_USER_SET && str_starts_with(texts.items[i], STR("#")))
		return STR("#...");
	if (op->kind == OPERATION_ENDPOINT_SET && texts.items == op->endpoint.headers.items &&
	    i % 2 == 1)
		return STR("...");
	return texts.items[i];
}

static void describe_texts(const struct operation *op, struct operation_names texts,
			   struct buf *out)
{
	buf_append_char(out, '[');
	for (size_t i = 0; i < texts.count; i++) {
		if (i != 0)
			buf_append_char(out, ',');
		json_append_string(out, hide(op, texts, i));
	}
	buf_append_char(out, ']');
}

/* A record may have any number. The engine refuses most of them. */
static void describe_choice(const struct qless_recur_change *change, struct buf *out)
{
	double number = change->number;

	if (change->field == QLESS_RECUR_MISSED && number >= 0 && number <= QLESS_MISSED_ALL)
		buf_append_str(out, qless_missed_text((unsigned)number));
	else if (change->field == QLESS_RECUR_OVERLAP && number >= 0 &&
		 number <= QLESS_OVERLAP_SKIP)
		buf_append_str(out, qless_overlap_text((unsigned)number));
	else
		json_append_number(out, number);
}

static void describe_schedule(const struct qless_schedule *schedule, struct buf *out)
{
	buf_append_str(out, STR(" cron="));
	json_append_string(out, schedule->cron);
	buf_append_str(out, STR(" tz="));
	json_append_string(out, schedule->zone);
	buf_append_str(out, STR(" rule="));
	json_append_string(out, schedule->rule);
	buf_append_str(out, STR(" missed="));
	buf_append_str(out, qless_missed_text(schedule->missed));
	buf_append_str(out, STR(" overlap="));
	buf_append_str(out, qless_overlap_text(schedule->overlap));
}

static void describe_terms(const struct qless_terms *terms, struct buf *out);
static bool is_in_terms(const struct qless_terms *terms, struct qless_str text);

static void describe_changes(const struct operation *op, const struct qless_recur_change *changes,
			     size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		if (changes[i].field == QLESS_RECUR_TERMS) {
			describe_terms(changes[i].terms, out);
			continue;
		}
		buf_printf(out, " %s=", change_names[changes[i].field]);
		if (changes[i].field == QLESS_RECUR_MISSED ||
		    changes[i].field == QLESS_RECUR_OVERLAP)
			describe_choice(&changes[i], out);
		else if (change_is_number(&changes[i]))
			json_append_number(out, changes[i].number);
		else if (changes[i].field == QLESS_RECUR_LIMITS)
			describe_texts(op, change_limits(&changes[i]), out);
		else
			json_append_string(out, changes[i].text);
	}
}

/* ` <kind>(<what>,"name","member","other")`, and the values of a counter. */
static void describe_repairs(const struct qless_repair *repairs, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, " %s(%u,", repair_names[repairs[i].kind], repairs[i].what);
		json_append_string(out, repairs[i].name);
		buf_append_char(out, ',');
		json_append_string(out, repairs[i].member);
		buf_append_char(out, ',');
		json_append_string(out, repairs[i].other);
		if (repairs[i].kind == QLESS_REPAIR_COUNT)
			buf_printf(out, ",%" PRIu64 ",%" PRIu64, repairs[i].from, repairs[i].to);
		buf_append_char(out, ')');
	}
}

static void describe_span(double span, struct buf *out)
{
	if (isinf(span))
		buf_append_str(out, STR("ack"));
	else
		json_append_number(out, span);
}

static void describe_terms(const struct qless_terms *terms, struct buf *out)
{
	for (const struct term *term = terms_layout; term->name != NULL; term++) {
		const void *value = term_at(terms, term);

		if (!term_is_given(terms, term))
			continue;
		buf_printf(out, term->type == FIELD_FLAG ? " %s" : " %s=", term->name);
		if (term->type == FIELD_NUMBER)
			json_append_number(out, *(const double *)value);
		else if (term->type == FIELD_SPAN)
			describe_span(*(const double *)value, out);
		else if (term->type == FIELD_TEXT)
			json_append_string(out, *(const struct qless_str *)value);
		else if (term->type == FIELD_CHOICE)
			buf_append_str(out, term->words(*(const unsigned *)value));
	}
}

static void describe_value(const struct operation *op, const struct field *field, struct buf *out)
{
	switch ((enum field_type)field->type) {
	case FIELD_TEXT:
		json_append_string(out, field_text(op, field));
		break;
	case FIELD_TEXT_REF:
		if (field->offset == offsetof(struct operation, endpoint.secret) &&
		    op->kind == OPERATION_ENDPOINT_SET)
			json_append_string(out, STR("..."));
		else
			json_append_string(out, *field_ref(op, field));
		break;
	case FIELD_TEXTS:
		describe_texts(op, field_texts(op, field), out);
		break;
	case FIELD_NUMBER:
		json_append_number(out, field_number(op, field));
		break;
	case FIELD_COUNT:
		buf_printf(out, "%" PRId64, field_count(op, field));
		break;
	case FIELD_ADVANCE:
		buf_append_str(out, str_from(advance_names[field_advance(op, field)]));
		break;
	case FIELD_CHANGES:
	case FIELD_REPAIRS:
	case FIELD_SCHEDULE:
	case FIELD_TERMS:
	case FIELD_CHOICE:
	case FIELD_SPAN:
	case FIELD_FLAG:
		break;
	}
}

static void describe_field(const struct operation *op, const struct field *field, struct buf *out)
{
	const struct qless_recur_change *changes;
	const struct qless_repair *repairs;
	size_t count;

	if (field->type == FIELD_REPAIRS) {
		repairs = field_repairs(op, field, &count);
		describe_repairs(repairs, count, out);
		return;
	}
	if (field->type == FIELD_SCHEDULE) {
		describe_schedule(field_schedule(op, field), out);
		return;
	}
	if (field->type == FIELD_TERMS) {
		describe_terms(field_terms(op, field), out);
		return;
	}
	if (field->type == FIELD_CHANGES) {
		changes = field_changes(op, field, &count);
		describe_changes(op, changes, count, out);
		return;
	}
	buf_printf(out, field->type == FIELD_FLAG ? " %s" : " %s=", field->name);
	describe_value(op, field, out);
}

void operation_describe(const struct operation *op, struct buf *out)
{
	const struct layout *layout = layout_find(op->kind);

	buf_printf(out, "db%u %s", op->db, layout->name);
	for (const struct field *field = layout->fields; field->name != NULL; field++) {
		if (field_is_present(op, field))
			describe_field(op, field, out);
	}
}

static bool is_in_texts(struct operation_names texts, struct qless_str text)
{
	for (size_t i = 0; i < texts.count; i++) {
		if (str_equal(texts.items[i], text))
			return true;
	}
	return false;
}

static bool is_in_changes(const struct qless_recur_change *changes, size_t count,
			  struct qless_str text)
{
	for (size_t i = 0; i < count; i++) {
		if (changes[i].field == QLESS_RECUR_LIMITS) {
			if (is_in_texts(change_limits(&changes[i]), text))
				return true;
		} else if (changes[i].field == QLESS_RECUR_TERMS) {
			if (is_in_terms(changes[i].terms, text))
				return true;
		} else if (!change_is_number(&changes[i]) && str_equal(changes[i].text, text)) {
			return true;
		}
	}
	return false;
}

static bool is_in_repairs(const struct qless_repair *repairs, size_t count, struct qless_str text)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(repairs[i].name, text) || str_equal(repairs[i].member, text) ||
		    str_equal(repairs[i].other, text))
			return true;
	}
	return false;
}

static bool is_in_terms(const struct qless_terms *terms, struct qless_str text)
{
	for (const struct term *term = terms_layout; term->name != NULL; term++) {
		if (term->type == FIELD_TEXT && term_is_given(terms, term) &&
		    str_equal(*(const struct qless_str *)term_at(terms, term), text))
			return true;
	}
	return false;
}

static bool field_mentions(const struct operation *op, const struct field *field,
			   struct qless_str text)
{
	const struct qless_recur_change *changes;
	const struct qless_repair *repairs;
	size_t count;

	switch ((enum field_type)field->type) {
	case FIELD_TEXT:
		return str_equal(field_text(op, field), text);
	case FIELD_TEXT_REF:
		return str_equal(*field_ref(op, field), text);
	case FIELD_TEXTS:
		return is_in_texts(field_texts(op, field), text);
	case FIELD_CHANGES:
		changes = field_changes(op, field, &count);
		return is_in_changes(changes, count, text);
	case FIELD_REPAIRS:
		repairs = field_repairs(op, field, &count);
		return is_in_repairs(repairs, count, text);
	case FIELD_SCHEDULE:
		return str_equal(field_schedule(op, field)->cron, text) ||
		       str_equal(field_schedule(op, field)->zone, text) ||
		       str_equal(field_schedule(op, field)->rule, text);
	case FIELD_TERMS:
		return is_in_terms(field_terms(op, field), text);
	case FIELD_NUMBER:
	case FIELD_COUNT:
	case FIELD_ADVANCE:
	case FIELD_CHOICE:
	case FIELD_SPAN:
	case FIELD_FLAG:
		break;
	}
	return false;
}

bool operation_mentions(const struct operation *op, struct qless_str text)
{
	const struct layout *layout = layout_find(op->kind);

	for (const struct field *field = layout->fields; field->name != NULL; field++) {
		if (field_is_present(op, field) && field_mentions(op, field, text))
			return true;
	}
	return false;
}
