#include "command/dialect.h"

#include <assert.h>
#include <string.h>

#include "engine/error.h"

#define MESSAGE(operation, reason, argument, text)                       \
	{                                                                \
		QLESS_OP_##operation, QLESS_WHY_##reason, argument, text \
	}

#define COUNT_OF(rows) (sizeof(rows) / sizeof((rows)[0]))

/* ---- what all dialects share ---- */

/* The references have no limits: these texts are ours. */
static const struct dialect_message common[] = {
	MESSAGE(ANY, NAME_BYTES, "klass", "The class is longer than max-name-length (%n bytes)"),
	MESSAGE(ANY, NAME_BYTES, "name", "The option is longer than max-name-length (%n bytes)"),
	MESSAGE(ANY, NAME_BYTES, "next",
		"The next queue is longer than max-name-length (%n bytes)"),
	MESSAGE(ANY, NAME_BYTES, "tags", "A tag is longer than max-name-length (%n bytes)"),
	MESSAGE(ANY, NAME_BYTES, "jids", "A jid is longer than max-name-length (%n bytes)"),
	MESSAGE(ANY, NAME_BYTES, "queues", "A queue is longer than max-name-length (%n bytes)"),
	MESSAGE(ANY, NAME_BYTES, "limits", "A limit is longer than max-name-length (%n bytes)"),
	MESSAGE(ANY, NAME_BYTES, NULL, "The %a is longer than max-name-length (%n bytes)"),
	MESSAGE(ANY, DATA_BYTES, NULL, "The %a is longer than max-data-size (%n bytes)"),
	MESSAGE(ANY, RESULT_BYTES, NULL, "The %a is longer than max-result-size (%n bytes)"),
	MESSAGE(ANY, NOTE_BYTES, NULL, "The %a is longer than max-note-size (%n bytes)"),
	MESSAGE(ANY, META_FIELDS, NULL, "The job would have more fields than max-meta-fields (%n)"),
	MESSAGE(ANY, META_BYTES, NULL,
		"The fields of the job would be larger than max-meta-size (%n bytes)"),
	MESSAGE(ANY, NOT_FINISHED, NULL,
		"Job %j is not complete or failed: its state is %d. CANCEL deletes such jobs"),
	MESSAGE(JOB_DELETE, DEPENDENT, NULL, "Job %d depends on job %j"),
	MESSAGE(ANY, TAGS, NULL, "A job would have more tags than max-tags (%n)"),
	MESSAGE(ANY, LIMITS, NULL, "A job would have more limits than max-limits-per-job (%n)"),
	MESSAGE(ANY, DEPENDENCIES, NULL,
		"A job would have more dependencies than max-dependencies (%n)"),
	MESSAGE(ANY, DEPENDENTS, NULL, "More jobs would depend on %j than max-dependents (%n)"),
	MESSAGE(ANY, CALL_DEPENDENCIES, NULL,
		"The jobs of one call have more dependencies than max-dependencies (%n)"),
	MESSAGE(ANY, CALL_TAGS, NULL,
		"The jobs of one call have more tags than max-jobs-per-call (%n)"),
	MESSAGE(ANY, JOBS, NULL, "More jobs in one call than max-jobs-per-call (%n)"),
	MESSAGE(ANY, CIRCLE_STEPS, NULL,
		"The search for a circle of dependencies needs more than max-dependency-steps "
		"(%n)"),
	MESSAGE(ANY, JOB_BYTES, NULL,
		"History and tags of the job would be larger than max-job-size (%n bytes)"),
	MESSAGE(ANY, NOT_UTF8, "klass", "The class is not UTF-8: %d"),
	MESSAGE(ANY, NOT_UTF8, "name", "The option is not UTF-8: %d"),
	MESSAGE(ANY, NOT_UTF8, "next", "The next queue is not UTF-8: %d"),
	MESSAGE(ANY, NOT_UTF8, "tags", "A tag is not UTF-8: %d"),
	MESSAGE(ANY, NOT_UTF8, "queues", "A queue is not UTF-8: %d"),
	MESSAGE(ANY, NOT_UTF8, "limits", "A limit is not UTF-8: %d"),
	MESSAGE(ANY, CIRCLE, NULL, "Job %j would wait for itself: %d"),
	MESSAGE(ANY, NOT_UTF8, NULL, "The %a is not UTF-8: %d"),
	MESSAGE(ANY, HISTORY, NULL, "Log(): The history of job %j is full (%n bytes)"),
	MESSAGE(ANY, SCHEDULE, NULL, "Recur(): %d"),
	MESSAGE(ANY, SNAPSHOT, NULL, "The snapshot is invalid: %d"),
	MESSAGE(ANY, LIMIT_NAME, NULL, "%a must not be %d"),
	MESSAGE(ANY, NO_FIELD, NULL, "Recur(): The %a is no member of a recurring job"),
	MESSAGE(ANY, NO_NUMBER, "now", "Arg \"now\" missing or not a number: nil"),
	MESSAGE(ANY, NO_NUMBER, NULL, "Arg \"%a\" not a number: %v"),
	MESSAGE(ANY, NO_INTEGER, NULL, "Arg \"%a\" not an integer: %v"),
	MESSAGE(ANY, RANGE, NULL, "Arg \"%a\" must be %d: %n"),
	MESSAGE(ANY, OPTION, NULL, "config.set(): Option \"%j\" must be %d: %n"),
	MESSAGE(ANY, NEGATIVE, NULL, "Arg \"%a\" must not be negative: %n"),
	MESSAGE(ANY, NOT_POSITIVE, NULL, "Arg \"%a\" must be greater than 0"),
	/* In the reference, Redis says this to the script. */
	MESSAGE(ANY, RETRIES, NULL, "hash value is not an integer"),
	MESSAGE(ANY, NO_JOB, NULL, "Job %j does not exist"),
	MESSAGE(ANY, NO_RECUR, NULL, "No recurring job %j"),
	MESSAGE(ANY, STATE, NULL, "Job %j is not currently running: %d"),
	MESSAGE(ANY, OVERTIME, NULL, "Job %j is not currently running: %n seconds are over"),
	MESSAGE(ANY, NO_START, NULL, "Job %j is not currently running: %n seconds are over"),
	MESSAGE(ANY, WORKER, NULL, "Job %j has been given to another worker: %d"),
	MESSAGE(ANY, LOCK, NULL, "Job %j was handed out again, and its lock is %n"),
	MESSAGE(ANY, QUEUE, NULL, "Job %j running in another queue: %d"),
	MESSAGE(ANY, DEPENDENT, NULL, "%j is a dependency of %d"),
	MESSAGE(ANY, NO_WAITING_JOB, NULL, "Job %j not in the depends state: false"),
	MESSAGE(ANY, NOT_DEPENDS, NULL, "Job %j not in the depends state: %d"),
};

/* ---- classic ---- */

/* The texts of the reference, including its spelling mistakes. */
static const struct dialect_message classic_messages[] = {
	MESSAGE(PUT, NO_NUMBER, "priority", "Put(): Arg \"priority\" not a number%n"),
	MESSAGE(PUT, RANGE, NULL, "Put(): Arg \"%a\" must be %d: %n"),
	MESSAGE(REQUEUE, RANGE, NULL, "Put(): Arg \"%a\" must be %d: %n"),
	MESSAGE(RECUR, RANGE, NULL, "Recur(): Arg \"%a\" must be %d: %n"),
	MESSAGE(RECUR_UPDATE, RANGE, NULL, "Recur(): Arg \"%a\" must be %d: %n"),
	MESSAGE(PUT, NO_NUMBER, NULL, "Put(): Arg \"%a\" not a number: %n"),
	MESSAGE(REQUEUE, NO_NUMBER, "priority", "Put(): Arg \"priority\" not a number%n"),
	MESSAGE(REQUEUE, NO_NUMBER, NULL, "Put(): Arg \"%a\" not a number: %n"),
	MESSAGE(REQUEUE, NO_JOB, NULL, "Requeue(): Job %j does not exist"),
	MESSAGE(POP, NEGATIVE, NULL, "Pop(): Arg \"%a\" must not be negative: %n"),
	MESSAGE(PEEK, NEGATIVE, NULL, "Peek(): Arg \"%a\" must not be negative: %n"),
	MESSAGE(HEARTBEAT, NO_JOB, NULL, "Heartbeat(): Job %j does not exist"),
	MESSAGE(HEARTBEAT, STATE, NULL, "Heartbeat(): Job %j not currently running: %d"),
	MESSAGE(HEARTBEAT, OVERTIME, NULL,
		"Heartbeat(): Job %j not currently running: its runtime of %n seconds is over"),
	MESSAGE(HEARTBEAT, WORKER, NULL, "Heartbeat(): Job %j given out to another worker: %d"),
	MESSAGE(COMPLETE, NO_NUMBER, NULL, "Complete(): Arg \"%a\" not a number: %n"),
	MESSAGE(COMPLETE, NO_JOB, NULL, "Complete(): Job %j does not exist"),
	MESSAGE(COMPLETE, STATE, NULL, "Complete(): Job %j is not currently running: %d"),
	MESSAGE(COMPLETE, WORKER, NULL,
		"Complete(): Job %j has been handed out to another worker: %d"),
	MESSAGE(COMPLETE, QUEUE, NULL, "Complete(): Job %j running in another queue: %d"),
	MESSAGE(FAIL, NO_JOB, NULL, "Fail(): Job %jdoes not exist"),
	MESSAGE(FAIL, STATE, NULL, "Fail(): Job %jnot currently running: %d"),
	MESSAGE(FAIL, WORKER, NULL, "Fail(): Job %j running with another worker: %d"),
	MESSAGE(RETRY, NO_NUMBER, NULL, "Retry(): Arg \"%a\" not a number: %n"),
	MESSAGE(RETRY, NO_JOB, NULL, "Retry(): Job %j does not exist"),
	MESSAGE(RETRY, STATE, NULL, "Retry(): Job %j is not currently running: %d"),
	MESSAGE(RETRY, WORKER, NULL, "Retry(): Job %j has been given to another worker: %d"),
	MESSAGE(TIMEOUT, NO_JOB, NULL, "Timeout(): Job %j does not exist"),
	MESSAGE(TIMEOUT, STATE, NULL, "Timeout(): Job %j not running"),
	MESSAGE(CANCEL, DEPENDENT, NULL,
		"Cancel(): %j is a dependency of %d but is not mentioned to be canceled"),
	MESSAGE(DEPENDS, NO_WAITING_JOB, NULL, "Depends(): Job %j not in the depends state: false"),
	MESSAGE(DEPENDS, NOT_DEPENDS, NULL, "Depends(): Job %j not in the depends state: %d"),
	MESSAGE(PRIORITY, NO_NUMBER, NULL, "Priority(): Arg \"%a\" missing or not a number: %n"),
	MESSAGE(PRIORITY, NO_JOB, NULL, "Priority(): Job %j does not exist"),
	MESSAGE(LOG, NO_JOB, NULL, "Log(): Job %j does not exist"),
	MESSAGE(UNFAIL, NEGATIVE, NULL, "Unfail(): Arg \"%a\" must not be negative: %n"),
	MESSAGE(TAG, NO_JOB, NULL, "Tag(): Job %j does not exist"),
	MESSAGE(UNTAG, NO_JOB, NULL, "Tag(): Job %j does not exist"),
	MESSAGE(TRACK, NO_JOB, NULL, "Track(): Job does not exist"),
	MESSAGE(RECUR, NO_NUMBER, NULL, "Recur(): Arg \"%a\" not a number: %n"),
	MESSAGE(RECUR, NOT_POSITIVE, NULL, "Recur(): Arg \"%a\" must be greater than 0"),
	MESSAGE(RECUR_UPDATE, NO_NUMBER, NULL, "Recur(): Arg \"%a\" must be a number: %n"),
	MESSAGE(RECUR_UPDATE, NOT_POSITIVE, NULL, "Recur(): Arg \"%a\" must be greater than 0"),
	MESSAGE(RECUR_UPDATE, NO_RECUR, NULL, "Recur(): No recurring job %j"),
	MESSAGE(RECUR_TAG, NO_RECUR, NULL, "Tag(): Job %j does not exist"),
	MESSAGE(RECUR_UNTAG, NO_RECUR, NULL, "Untag(): Job %j does not exist"),
	MESSAGE(CONFIG_SET, NO_NUMBER, NULL, "config.set(): Arg \"%a\" not a number: %v"),
	MESSAGE(CONFIG_SET, NO_INTEGER, NULL, "config.set(): Arg \"%a\" not an integer: %v"),
};

const struct dialect_option dialect_classic_options[DIALECT_CLASSIC_OPTIONS] = {
	{ STR_INIT("application"), STR_INIT("qless") },
	{ STR_INIT("grace-period"), { NULL, 0 } },
	{ STR_INIT("stats-history"), { NULL, 0 } },
	{ STR_INIT("jobs-history"), { NULL, 0 } },
	{ STR_INIT("heartbeat"), { NULL, 0 } },
	{ STR_INIT("jobs-history-count"), { NULL, 0 } },
	{ STR_INIT("histogram-history"), { NULL, 0 } },
};

const struct dialect dialect_classic = {
	.name = STR_INIT("classic"),
	.messages = classic_messages,
	.message_count = COUNT_OF(classic_messages),
	.options = dialect_classic_options,
	.option_count = DIALECT_CLASSIC_OPTIONS,
	.has_numbers = true,
	.in_scripts = { JSON_EMPTY_OBJECT, JSON_EMPTY_OBJECT, JSON_PUT_Q, false, false, false },
	.in_qless = { JSON_EMPTY_ARRAY, JSON_EMPTY_ARRAY, JSON_PUT_Q, false, false, false },
};

/* ---- all dialects ---- */

static const struct dialect *const dialects[] = { &dialect_classic };

const struct dialect *dialect_find(struct qless_str name)
{
	for (size_t i = 0; i < COUNT_OF(dialects); i++) {
		if (str_equal(dialects[i]->name, name))
			return dialects[i];
	}
	return NULL;
}

const char *dialect_text_of(const struct dialect *dialect, const char *classic)
{
	for (size_t i = 0; i < dialect->text_count; i++) {
		if (strcmp(dialect->texts[i].classic, classic) == 0)
			return dialect->texts[i].own;
	}
	return classic;
}

static const struct dialect_option *find_option(const struct dialect *dialect,
						struct qless_str name)
{
	for (size_t i = 0; i < dialect->option_count; i++) {
		if (str_equal(dialect->options[i].name, name))
			return &dialect->options[i];
	}
	return NULL;
}

bool dialect_lists_option(const struct dialect *dialect, struct qless_str name)
{
	return find_option(dialect, name) != NULL;
}

bool dialect_find_option(const struct dialect *dialect, const struct qless *engine,
			 struct qless_str name, struct qless_option *ret_option)
{
	const struct dialect_option *own = find_option(dialect, name);
	struct qless_option option = { .is_set = false };
	bool is_found = qless_config_get(engine, name, &option);

	if (own != NULL && !option.is_set && own->text.ptr != NULL)
		option = (struct qless_option){ own->name, own->text, false };
	else if (!is_found || (own == NULL && !option.is_set))
		return false;
	*ret_option = option;
	return true;
}

static bool fits(const struct dialect_message *row, const struct qless_error *error)
{
	return row->reason == error->reason &&
	       (row->operation == QLESS_OP_ANY || row->operation == error->operation) &&
	       (row->argument == NULL ||
		(error->argument != NULL && strcmp(row->argument, error->argument) == 0));
}

static const char *find_text(const struct dialect_message *rows, size_t count,
			     const struct qless_error *error)
{
	for (size_t i = 0; i < count; i++) {
		if (fits(&rows[i], error))
			return rows[i].text;
	}
	return NULL;
}

void dialect_append_error(const struct dialect *dialect, const struct qless_error *error,
			  struct buf *out)
{
	const char *text = find_text(dialect->messages, dialect->message_count, error);

	if (text == NULL)
		text = find_text(common, COUNT_OF(common), error);
	assert(text != NULL); /* each reason has a common text */
	error_append(out, text, error);
}
