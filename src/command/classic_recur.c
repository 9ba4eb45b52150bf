/*
 * Queue commands on recurring jobs.
 */
#include "command/classic_int.h"
#include "command/native_recur.h"
#include "command/options.h"

#include <string.h>

#include "util/mem.h"

#define NO_QUEUE "Queue(): no queue name provided"
#define NO_JID	 "Recurring(): no jid provided"

/* ---- recur ---- */

/* queue jid klass data spec interval offset */
enum {
	ARG_QUEUE,
	ARG_JID,
	ARG_KLASS,
	ARG_DATA,
	ARG_SPEC,
	ARG_INTERVAL,
	ARG_CRON = ARG_INTERVAL, /* of a native command, which then has no offset */
	ARG_OFFSET,
	ARG_OPTIONS,
};

static bool has_cron(const struct request *req)
{
	return req->form == REQUEST_NATIVE && native_recur_has_cron(req->args, req->nargs);
}

/* Whether data that is not JSON is valid, because the command is native and its jobs are raw. */
static bool takes_any_data(struct request *req, int rc)
{
	size_t first = has_cron(req) ? NATIVE_RECUR_CRON_OPTIONS : ARG_OPTIONS;

	if (req->form != REQUEST_NATIVE || !request_has(req, ARG_DATA) || rc == QLESS_ELIMIT ||
	    !term_options_have_raw(req, first))
		return false;
	req->is_said = false;
	return true;
}

static int decode_names(struct request *req, struct qless_recur_put *put)
{
	struct qless_str spec;
	enum json_kind kind;
	int rc = request_need(req, ARG_QUEUE, NO_QUEUE, &put->queue);

	if (rc == 0)
		rc = request_need(req, ARG_JID, "RecurringJob On(): Arg \"jid\" missing",
				  &put->jid);
	if (rc == 0)
		rc = request_need(req, ARG_KLASS, "RecurringJob On(): Arg \"klass\" missing",
				  &put->klass);
	if (rc == 0)
		rc = request_need(req, ARG_SPEC, "RecurringJob On(): Arg \"spec\" missing", &spec);
	if (rc < 0)
		return rc;
	rc = request_json(req, ARG_DATA, &kind);
	if (rc == 0 && kind == JSON_FALSE)
		rc = request_fail(req, QLESS_EBADARG,
				  "RecurringJob On(): Arg \"data\" not JSON: false");
	if (rc < 0 && !takes_any_data(req, rc))
		return rc;
	put->data = req->args[ARG_DATA];
	if (has_cron(req))
		return 0;
	if (!request_is_word(req, spec, STR("interval")))
		return request_fail(req, QLESS_EBADARG, "Recur(): schedule type \"%S\" unknown",
				    spec);
	return 0;
}

static int decode_times(struct request *req, struct qless_recur_put *put)
{
	int rc = 0;

	if (req->form == REQUEST_NATIVE && req->nargs <= ARG_OFFSET)
		return request_fail(req, QLESS_EBADARG, "offset is missing");
	rc = request_number(req, ARG_INTERVAL,
			    "Recur(): Arg \"interval\" not a number: ", &put->interval);

	if (rc == 0)
		rc = request_number(req, ARG_OFFSET,
				    "Recur(): Arg \"offset\" not a number: ", &put->offset);
	if (rc < 0)
		return rc;
	/* strict_recur() checks a native one. */
	if (req->form == REQUEST_NATIVE)
		return 0;
	if (put->interval <= 0)
		return request_fail(req, QLESS_EBADARG,
				    "Recur(): Arg \"interval\" must be greater than 0");
	if ((req->nargs - ARG_OPTIONS) % 2 != 0)
		return request_fail(req, QLESS_EBADARG,
				    "Odd number of additional args: table: 0x0");
	return 0;
}

static int decode_number(struct request *req, const struct qless_str *text, const char *message,
			 double *ret_number)
{
	if (text == NULL || request_reads_number(req, *text, ret_number))
		return 0;
	return request_fail(req, QLESS_EBADARG, "%s%S", message, *text);
}

static int decode_tags(struct request *req, const struct qless_str *text)
{
	enum json_kind kind;
	int rc;

	if (text == NULL)
		return 0;
	rc = request_json_list(req, "tags", *text, qless_get_limits(req->engine)->max_tags,
			       TOO_MANY_TAGS, &kind);
	if (rc == 0 && kind == JSON_FALSE)
		rc = request_fail(req, QLESS_EBADARG,
				  "Recur(): Arg \"tags\" must be JSON string array: %S", *text);
	return rc;
}

/* The last of the options, and of the fields, of a recurring job, which the reference lacks. */
#define OWN_OPTIONS 4
#define OWN_FIELDS  6
/* Options besides terms. */
#define RECUR_SLOTS 8

/* The options of recur; NULL if the client did not send one. */
struct recur_options {
	const struct qless_str *priority;
	const struct qless_str *tags;
	const struct qless_str *retries;
	const struct qless_str *backlog;
	const struct qless_str *limits;
	struct native_schedule schedule;
	struct term_options terms;
};

static int read_options(struct request *req, size_t first, struct recur_options *ret)
{
	struct option_slot slots[RECUR_SLOTS + TERM_SLOTS_MAX] = {
		{ STR_INIT("priority"), &ret->priority, 1 },
		{ STR_INIT("tags"), &ret->tags, 1 },
		{ STR_INIT("retries"), &ret->retries, 1 },
		{ STR_INIT("backlog"), &ret->backlog, 1 },
		{ STR_INIT("limits"), &ret->limits, 1 },
		{ STR_INIT("tz"), &ret->schedule.zone, 1 },
		{ STR_INIT("missed"), &ret->schedule.missed, 1 },
		{ STR_INIT("overlap"), &ret->schedule.overlap, 1 },
	};
	const size_t reference_count = RECUR_SLOTS - OWN_OPTIONS;
	size_t terms = term_options_slots(TERM_OF_RECUR, &ret->terms, slots + RECUR_SLOTS);
	int rc = 0;

	*ret = (struct recur_options){ .priority = NULL };
	if (req->form == REQUEST_NATIVE)
		return options_read(req, first, req->nargs, slots, RECUR_SLOTS + terms);
	/* In the reference, the last of repeated options counts, and unknown ones do nothing. */
	for (size_t i = ARG_OPTIONS; rc == 0 && i + 1 < req->nargs; i += 2) {
		size_t k = 0;

		while (k < reference_count && !str_equal(slots[k].name, req->args[i]))
			k++;
		if (k < reference_count)
			*slots[k].value = &req->args[i + 1];
		else
			rc = request_check_option(req, "Recur", req->args[i]);
	}
	return rc;
}

/* Read the schedule, and refuse options that do not fit what the job recurs by. */
static int decode_schedule(struct request *req, const struct recur_options *options,
			   struct qless_recur_put *put)
{
	const struct native_schedule *schedule = &options->schedule;

	if (has_cron(req) && options->backlog != NULL)
		return request_fail(req, QLESS_EBADARG,
				    "Option \"backlog\" needs an interval; a cron expression has "
				    "the option \"missed\"");
	if (has_cron(req))
		return native_schedule_read(req, req->args[ARG_CRON], schedule, &put->schedule);
	if (schedule->zone == NULL && schedule->missed == NULL && schedule->overlap == NULL)
		return 0;
	return request_fail(req, QLESS_EBADARG, "Option \"%s\" needs a cron expression",
			    schedule->zone != NULL     ? "tz"
			    : schedule->missed != NULL ? "missed"
						       : "overlap");
}

static int decode_options(struct request *req, struct qless_recur_put *put)
{
	struct operation_names limits = { NULL, 0 };
	size_t first = has_cron(req) ? NATIVE_RECUR_CRON_OPTIONS : ARG_OPTIONS;
	struct recur_options options;
	struct decoded *lists;
	int rc = read_options(req, first, &options);

	if (rc == 0)
		rc = decode_schedule(req, &options, put);
	if (rc == 0)
		rc = decode_tags(req, options.tags);
	if (rc == 0)
		rc = decode_number(req, options.priority,
				   "Recur(): Arg \"priority\" not a number: ", &put->priority);
	if (rc == 0)
		rc = decode_number(req, options.retries,
				   "Recur(): Arg \"retries\" not a number: ", &put->retries);
	if (rc == 0)
		rc = decode_number(req, options.backlog,
				   "Recur(): Arg \"backlog\" not a number: ", &put->backlog);
	if (rc == 0 && options.limits != NULL)
		rc = limit_names_decode(req, *options.limits, &limits);
	if (rc == 0 && !term_options_are_absent(&options.terms))
		rc = term_options_decode(req, &options.terms, &put->terms);
	put->limits = limits.items;
	put->limit_count = limits.count;
	if (rc < 0 || options.tags == NULL)
		return rc;
	lists = request_lists(req);
	if (!json_read_strings(*options.tags, false, &lists->tags))
		return request_fail(req, QLESS_EBADARG,
				    "Recur(): Arg \"tags\" not a JSON array of strings: %S",
				    *options.tags);
	put->tags = lists->tags.items;
	put->tag_count = lists->tags.count;
	return 0;
}

int decode_recur(struct request *req, struct operation *op)
{
	int rc;

	op->kind = OPERATION_RECUR;
	op->recur = (struct qless_recur_put){ 0 };
	rc = decode_names(req, &op->recur);
	if (rc == 0 && !has_cron(req))
		rc = decode_times(req, &op->recur);
	if (rc == 0)
		rc = decode_options(req, &op->recur);
	if (rc == 0)
		rc = term_unique_decode(req, op->recur.terms, &op->recur.klass, &op->recur.data,
					op->recur.terms != NULL && op->recur.terms->is_raw);
	if (rc == 0 && req->last_number != 0)
		term_add_number(req, &op->recur.terms);
	return rc;
}

static int answer_recur(struct request *req, const struct operation *op,
			const struct operation_outcome *outcome)
{
	(void)outcome;
	return answer_bulk(req, op->recur.jid);
}

int classic_recur(struct request *req)
{
	return request_strict_operation(req, decode_recur, strict_recur, answer_recur);
}

/* ---- the others ---- */

int decode_unrecur(struct request *req, struct operation *op)
{
	op->kind = OPERATION_UNRECUR;
	return request_need(req, 0, NO_JID, &op->job.jid);
}

static int answer_zero(struct request *req, const struct operation *op,
		       const struct operation_outcome *outcome)
{
	(void)op;
	(void)outcome;
	return answer_integer(req, 0);
}

/* The reference always replies with 1, and a native command with the number of jobs that it
 * deleted.
 */
int classic_unrecur(struct request *req)
{
	bool deletes = req->form != REQUEST_NATIVE ||
		       qless_recur_get(req->engine, request_text(req, 0)) != NULL;

	return request_operation(req, decode_unrecur, deletes ? answer_one : answer_zero);
}

int classic_recur_get(struct request *req)
{
	const struct qless_recur *recur;
	struct qless_str jid;
	int rc = request_need(req, 0, NO_JID, &jid);

	if (rc < 0)
		return rc;
	recur = qless_recur_get(req->engine, jid);
	if (recur == NULL)
		return answer_null(req);
	json_append_recur(request_json_buf(req), recur, req->style);
	return answer_json(req);
}

static int decode_change_number(struct request *req, struct qless_str name, struct qless_str value,
				struct qless_recur_change *change)
{
	/* strict_recur_update() checks the range of a native one. */
	if (!request_reads_number(req, value, &change->number))
		return request_fail(req, QLESS_EBADARG, "Recur(): Arg \"%S\" must be a number: %S",
				    name, value);
	if (change->field == QLESS_RECUR_INTERVAL && change->number <= 0 &&
	    req->form != REQUEST_NATIVE)
		return request_fail(req, QLESS_EBADARG,
				    "Recur(): Arg \"interval\" must be greater than 0");
	return 0;
}

/* The data of a recurring job with raw jobs is bytes. */
static int check_change_data(struct request *req, struct qless_str data, bool is_raw)
{
	enum json_kind kind;
	int rc = request_json_text(req, "data", data, &kind);

	if (rc == 0 && kind == JSON_FALSE)
		rc = request_fail(req, QLESS_EBADARG,
				  "Recur(): Arg \"data\" is not JSON-encoded: %S", data);
	if (rc < 0 && rc != QLESS_ELIMIT && is_raw) {
		req->is_said = false;
		return 0;
	}
	return rc;
}

static int decode_change_raw(struct request *req, struct qless_recur_change *change)
{
	bool is_yes = str_equal_nocase(change->text, STR("yes"));

	change->number = is_yes;
	if (is_yes || str_equal_nocase(change->text, STR("no")))
		return 0;
	return request_fail(req, QLESS_EBADARG, "raw must be \"yes\" or \"no\"; found \"%S\"",
			    change->text);
}

/* The fields of a recurring job by name. */
static const struct field {
	struct qless_str name;
	enum qless_recur_field field;
} fields[] = {
	{ STR_INIT("priority"), QLESS_RECUR_PRIORITY },
	{ STR_INIT("interval"), QLESS_RECUR_INTERVAL },
	{ STR_INIT("retries"), QLESS_RECUR_RETRIES },
	{ STR_INIT("data"), QLESS_RECUR_DATA },
	{ STR_INIT("klass"), QLESS_RECUR_KLASS },
	{ STR_INIT("queue"), QLESS_RECUR_QUEUE },
	{ STR_INIT("backlog"), QLESS_RECUR_BACKLOG },
	{ STR_INIT("limits"), QLESS_RECUR_LIMITS },
	{ STR_INIT("cron"), QLESS_RECUR_CRON },
	{ STR_INIT("tz"), QLESS_RECUR_ZONE },
	{ STR_INIT("missed"), QLESS_RECUR_MISSED },
	{ STR_INIT("overlap"), QLESS_RECUR_OVERLAP },
	{ STR_INIT("raw"), QLESS_RECUR_RAW },
};

#define FIELD_COUNT (sizeof fields / sizeof *fields)

/* The reference lacks the last ones. */
static size_t count_fields(const struct request *req)
{
	return req->form == REQUEST_NATIVE ? FIELD_COUNT : FIELD_COUNT - OWN_FIELDS;
}

static const struct field *find_field(const struct request *req, struct qless_str name)
{
	for (size_t i = 0; i < count_fields(req); i++) {
		if (request_is_word(req, name, fields[i].name))
			return &fields[i];
	}
	return NULL;
}

static int fail_field(struct request *req, struct qless_str name)
{
	struct option_slot slots[FIELD_COUNT + TERM_SLOTS_MAX];
	struct term_options unused;
	size_t terms = term_options_slots(TERM_OF_RECUR_UPDATE, &unused, slots + FIELD_COUNT);

	if (req->form != REQUEST_NATIVE)
		return request_fail(req, QLESS_EBADARG, "Recur(): Unrecognized option \"%S\"",
				    name);
	for (size_t i = 0; i < FIELD_COUNT; i++)
		slots[i] = (struct option_slot){ fields[i].name, NULL, 1 };
	return options_fail_unknown(req, name, slots, FIELD_COUNT + terms);
}

/* Native changes may name a field once. */
static int check_repeated(struct request *req, const struct operation *op,
			  const struct field *field, struct qless_str name)
{
	for (size_t i = 0; req->form == REQUEST_NATIVE && i < op->recur_update.count; i++) {
		if (op->recur_update.changes[i].field == field->field)
			return options_fail_repeated(req, name);
	}
	return 0;
}

static int decode_change_limits(struct request *req, struct qless_recur_change *change)
{
	struct operation_names names;
	int rc = limit_names_decode(req, change->text, &names);

	if (rc < 0)
		return rc;
	change->limits = names.items;
	change->limit_count = names.count;
	return 0;
}

static int decode_change(struct request *req, size_t i, struct operation *op,
			 struct qless_recur_change *change)
{
	struct qless_str name = req->args[i];
	bool is_native = req->form == REQUEST_NATIVE;
	const struct field *field = find_field(req, name);
	struct qless_str rule;
	int rc;

	if (!request_has(req, i + 1) && !is_native)
		return request_fail(req, QLESS_EBADARG, "No value provided for %S", name);
	if (field == NULL)
		return fail_field(req, name);
	rc = check_repeated(req, op, field, name);
	if (rc < 0)
		return rc;
	if (!request_has(req, i + 1))
		return options_fail_without_value(req, name);
	*change = (struct qless_recur_change){ .field = field->field, .text = req->args[i + 1] };
	switch (field->field) {
	case QLESS_RECUR_PRIORITY:
	case QLESS_RECUR_INTERVAL:
	case QLESS_RECUR_RETRIES:
		return decode_change_number(req, field->name, change->text, change);
	case QLESS_RECUR_BACKLOG:
		return decode_number(req, &change->text,
				     "Recur(): Arg \"backlog\" not a number: ", &change->number);
	case QLESS_RECUR_DATA:
		/* A native change may still say that the data is raw. */
		return is_native ? 0 : check_change_data(req, change->text, false);
	case QLESS_RECUR_RAW:
		return decode_change_raw(req, change);
	case QLESS_RECUR_LIMITS:
		return decode_change_limits(req, change);
	case QLESS_RECUR_ZONE:
		rc = native_schedule_change(req, change, &rule);
		/* The rule follows as a change of its own. */
		change[1] = (struct qless_recur_change){ .field = QLESS_RECUR_RULE, .text = rule };
		op->recur_update.count += rc == 0;
		return rc;
	case QLESS_RECUR_CRON:
	case QLESS_RECUR_MISSED:
	case QLESS_RECUR_OVERLAP:
		return native_schedule_change(req, change, &rule);
	case QLESS_RECUR_KLASS:
	case QLESS_RECUR_QUEUE:
	case QLESS_RECUR_RULE:
	case QLESS_RECUR_UNIQUE:
	case QLESS_RECUR_TERMS:
		break;
	}
	return 0;
}

/* A recurring job as it is after its changes. */
struct changed_recur {
	struct qless_recur_info info;
	bool is_raw;
	bool gets_data;	      /* or other data that is raw, or no longer is */
	bool gets_source;     /* its class or its data changes, of which a unique key may be made */
	struct qless_str key; /* of its jobs, for the option `until` */
};

static void read_changed(struct request *req, const struct operation *op, struct changed_recur *ret)
{
	*ret = (struct changed_recur){ .is_raw = false };
	qless_recur_read(qless_recur_get(req->engine, op->recur_update.jid), &ret->info);
	ret->is_raw = ret->info.terms != NULL && ret->info.terms->is_raw;
	for (size_t i = 0; i < op->recur_update.count; i++) {
		const struct qless_recur_change *change = &op->recur_update.changes[i];

		ret->gets_data |=
			change->field == QLESS_RECUR_DATA || change->field == QLESS_RECUR_RAW;
		ret->gets_source |= ret->gets_data || change->field == QLESS_RECUR_KLASS;
		if (change->field == QLESS_RECUR_DATA)
			ret->info.data = change->text;
		else if (change->field == QLESS_RECUR_KLASS)
			ret->info.klass = change->text;
		else if (change->field == QLESS_RECUR_RAW)
			ret->is_raw = change->number != 0;
	}
}

/* Whether the unique key of its jobs is made of their class and data. */
static bool has_args_key(const struct qless_recur_info *info)
{
	return info->terms != NULL && info->terms->has_unique &&
	       qless_is_args_key(info->terms->unique.key);
}

/* Without `unique`, the option `until` is about the key that the jobs have. The change frees that
 * key before it is recorded, so the request keeps a copy. */
static void complete_until(struct request *req, struct changed_recur *changed,
			   struct term_options *options)
{
	const struct qless_terms *terms = changed->info.terms;

	if (options->until == NULL || options->unique != NULL || terms == NULL ||
	    !terms->has_unique)
		return;
	changed->key =
		has_args_key(&changed->info) ? STR("args") : request_keep(req, terms->unique.key);
	options->unique = &changed->key;
}

/* Decode the options that are terms. An empty unique key takes the key away. */
static int decode_change_terms(struct request *req, struct changed_recur *changed,
			       struct term_options *options, struct qless_recur_change *change)
{
	bool drops_key = options->unique != NULL && options->unique->len == 0;
	int rc;

	if (drops_key)
		options->unique = NULL;
	else
		complete_until(req, changed, options);
	rc = term_options_decode(req, options, &change->terms);
	if (rc == 0 && drops_key)
		req->scratch->decoded.terms.has_unique = true;
	else if (rc == 0)
		rc = term_unique_decode(req, change->terms, &changed->info.klass,
					&changed->info.data, changed->is_raw);
	change->field = QLESS_RECUR_TERMS;
	return rc;
}

/* Add what follows from the changes that the client sent, and check the data. The list has room. */
static int complete_changes(struct request *req, struct operation *op, struct term_options *options,
			    struct qless_recur_change *changes)
{
	struct changed_recur changed;
	struct qless_recur_change *change = &changes[op->recur_update.count];
	int rc = 0;

	read_changed(req, op, &changed);
	if (changed.gets_data && req->form == REQUEST_NATIVE)
		rc = check_change_data(req, changed.info.data, changed.is_raw);
	if (rc == 0 && !term_options_are_absent(options)) {
		*change = (struct qless_recur_change){ .field = QLESS_RECUR_TERMS };
		rc = decode_change_terms(req, &changed, options, change);
		op->recur_update.count++;
		if (rc < 0 || change->terms->has_unique)
			return rc;
		change++;
	}
	if (rc < 0 || !changed.gets_source || !has_args_key(&changed.info))
		return rc;
	*change = (struct qless_recur_change){
		.field = QLESS_RECUR_UNIQUE,
		.text = term_unique_make(req, changed.info.klass, changed.info.data,
					 changed.is_raw),
	};
	op->recur_update.count++;
	return 0;
}

/* Read the option at argument i, if it becomes a term. Returns the number of its arguments, or 0 if
 * it is another one; or fails. */
static int read_term(struct request *req, size_t i, struct term_options *options)
{
	struct option_slot slots[TERM_SLOTS_MAX];
	size_t width = option_width(req->args[i]);
	size_t count = term_options_slots(TERM_OF_RECUR_UPDATE, options, slots);
	int rc;

	for (size_t k = 0; k < count; k++) {
		if (!str_equal_nocase(slots[k].name, req->args[i]))
			continue;
		rc = options_read(req, i, width < req->nargs - i ? i + width : req->nargs, slots,
				  count);
		return rc < 0 ? rc : (int)width;
	}
	return 0;
}

int decode_recur_update(struct request *req, struct operation *op)
{
	struct term_options options = { .at = NULL };
	struct qless_recur_change *changes;
	int rc, width = 0;

	op->kind = OPERATION_RECUR_UPDATE;
	rc = request_need(req, 0, NO_JID, &op->recur_update.jid);
	/* An error of the job comes before errors of the changes. */
	if (rc == 0)
		rc = qless_recur_update(req->engine, req->now, op->recur_update.jid, NULL, 0);
	if (rc < 0)
		return rc;
	changes = mem_realloc_array(NULL, req->nargs / 2 + 4, sizeof(*changes));
	request_lists(req)->changes = changes;
	op->recur_update.changes = changes;
	op->recur_update.count = 0;
	for (size_t i = 1; rc == 0 && i < req->nargs; i += (size_t)width) {
		width = req->form == REQUEST_NATIVE ? read_term(req, i, &options) : 0;
		if (width < 0)
			return width;
		if (width > 0)
			continue;
		rc = decode_change(req, i, op, &changes[op->recur_update.count]);
		op->recur_update.count++;
		width = 2;
	}
	return rc < 0 ? rc : complete_changes(req, op, &options, changes);
}

int classic_recur_update(struct request *req)
{
	return request_strict_operation(req, decode_recur_update, strict_recur_update, answer_one);
}

static int decode_tagging(struct request *req, struct operation *op)
{
	int rc = request_need(req, 0, NO_JID, &op->job.jid);

	if (rc == 0)
		op->job.names = request_rest(req, 1);
	return rc;
}

int decode_recur_tag(struct request *req, struct operation *op)
{
	op->kind = OPERATION_RECUR_TAG;
	return decode_tagging(req, op);
}

int decode_recur_untag(struct request *req, struct operation *op)
{
	op->kind = OPERATION_RECUR_UNTAG;
	return decode_tagging(req, op);
}

static int answer_tags(struct request *req, const struct operation *op,
		       const struct operation_outcome *outcome)
{
	(void)outcome;
	json_append_recur_tags(request_json_buf(req), qless_recur_get(req->engine, op->job.jid),
			       req->style->whole);
	return answer_json(req);
}

int classic_recur_tag(struct request *req)
{
	return request_strict_operation(req, decode_recur_tag, strict_tag, answer_tags);
}

int classic_recur_untag(struct request *req)
{
	return request_operation(req, decode_recur_untag, answer_tags);
}
