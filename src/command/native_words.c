/*
 * Texts that native clients read when a command fails. Each text names the argument, what was
 * found, and what was expected.
 *
 * The decoders word errors as the reference does, and the engine reports them as data. This dialect
 * replaces all texts of the reference that a native command can cause.
 */
#include "command/dialect.h"

#define COUNT_OF(rows) (sizeof(rows) / sizeof((rows)[0]))

/* ---- errors of the engine ---- */

#define MESSAGE(reason, text)                                \
	{                                                    \
		QLESS_OP_ANY, QLESS_WHY_##reason, NULL, text \
	}

/* A reason that is missing here has the same text in all dialects. */
static const struct dialect_message messages[] = {
	MESSAGE(NO_NUMBER, "%a must be a number; found \"%v\""),
	MESSAGE(NO_INTEGER, "%a must be a whole number; found \"%v\""),
	MESSAGE(RANGE, "%a must be %d; found \"%n\""),
	MESSAGE(OPTION, "The value of \"%j\" must be %d; found \"%n\""),
	MESSAGE(NEGATIVE, "%a must not be negative; found \"%n\""),
	MESSAGE(NOT_POSITIVE, "%a must be greater than 0; found \"%n\""),
	MESSAGE(SCHEDULE, "%d"),
	MESSAGE(NO_FIELD, "A recurring job has no %a"),
	MESSAGE(RETRIES, "The retries left of job %j are not a whole number"),
	MESSAGE(NO_RECUR, "Recurring job %j does not exist"),
	MESSAGE(STATE, "Job %j is not running: its state is %d"),
	MESSAGE(OVERTIME,
		"The run of job %j is over: it took longer than its runtime of %n seconds"),
	MESSAGE(NO_START,
		"The run of job %j is over: its worker did not start it within %n seconds"),
	MESSAGE(WORKER, "Job %j is held by another worker: %d"),
	MESSAGE(QUEUE, "Job %j is in another queue: %d"),
	MESSAGE(DEPENDENT, "Job %d depends on job %j and is not canceled with it"),
	MESSAGE(NO_WAITING_JOB, "Job %j does not exist"),
	MESSAGE(NOT_DEPENDS, "Job %j does not wait for other jobs: its state is %d"),
	MESSAGE(HISTORY, "The history of job %j is full (%n bytes)"),
};

/* ---- errors of decoders ---- */

#define NUMBER	"number from -1e+15 to 1e+15"
#define DELAY	"delay must be a number from 0 to 1e+15"
#define WHOLE	"a whole number from 0 to 1e+15"
#define STRINGS "a JSON array of strings"
#define DATA	"data must be JSON other than false; found \"false\""

/* A text that ends with what was found takes the text of the argument after it. */
static const struct dialect_text texts[] = {
	{ "%s%S", "%s; found \"%S\"" },

	/* An argument that only some forms of a command need is missing. */
	{ "Queue(): no queue name provided", "queue is missing" },
	{ "Job(): no jid provided", "jid is missing" },
	{ "Recurring(): no jid provided", "jid is missing" },
	{ "Jobs(): Arg \"queue\" missing", "queue is missing" },
	{ "Tag(): Arg \"jid\" missing", "jid is missing" },
	{ "Tag(): Arg \"tag\" missing", "tag is missing" },
	{ "Track(): Arg \"jid\" missing", "jid is missing" },
	{ "bad argument #1 to 'decode' (string expected, got nil)", "data is missing" },

	/* Numbers. */
	{ "Put(): Arg \"delay\" not a number: ", DELAY },
	{ "Multiput(): Arg \"delay\" not a number: ", DELAY },
	{ "Retry(): Arg \"delay\" not a number: ", DELAY },
	{ "assertion failed!", DELAY "; found \"%S\"" },
	{ "Put(): Arg \"priority\" not a number", "priority must be a " NUMBER },
	{ "Priority(): Arg \"priority\" missing or not a number: ", "priority must be a " NUMBER },
	{ "Recur(): Arg \"priority\" not a number: ", "priority must be a " NUMBER },
	{ "Put(): Arg \"retries\" not a number: ", "retries must be " WHOLE },
	{ "Recur(): Arg \"retries\" not a number: ", "retries must be " WHOLE },
	{ "Recur(): Arg \"backlog\" not a number: ", "backlog must be " WHOLE },
	{ "Recur(): Arg \"interval\" not a number: ", "interval must be a number from 1 to 1e+15" },
	{ "Recur(): Arg \"offset\" not a number: ", "offset must be a " NUMBER },
	{ "Recur(): Arg \"%S\" must be a number: %S", "%S must be a number; found \"%S\"" },
	{ "Pop(): Arg \"count\" missing or not a number: ", "count must be " WHOLE },
	{ "Peek(): Arg \"count\" missing or not a number: ", "count must be " WHOLE },
	{ "Unfail(): Arg \"count\" not a number: ", "count must be " WHOLE },
	{ "Jobs(): Arg \"offset\" not a number: ", "offset must be a whole " NUMBER },
	{ "Jobs(): Arg \"count\" not a number: ", "count must be " WHOLE },
	{ "Tag(): Arg \"offset\" not a number: ", "offset must be a whole " NUMBER },
	{ "Tag(): Arg \"count\" not a number: ", "count must be " WHOLE },
	{ "Failed(): Arg \"start\" is not a number: ", "start must be a whole " NUMBER },
	{ "Failed(): Arg \"limit\" is not a number: ", "limit must be " WHOLE },
	{ "Stats(): Arg \"date\" missing or not a number: ",
	  "date must be a number of seconds since 1970, up to 1e+15" },

	/* JSON. */
	{ "Put(): Arg \"data\" missing or not JSON: false", DATA },
	{ "Complete(): Arg \"data\" missing or not JSON: false", DATA },
	{ "RecurringJob On(): Arg \"data\" not JSON: false", DATA },
	{ "Recur(): Arg \"data\" is not JSON-encoded: %S",
	  "data must be JSON other than false; found \"%S\"" },
	{ "Multiput(): Data of job %S not JSON: false",
	  "data of job \"%S\" must be JSON other than false; found \"false\"" },
	{ "Log(): Argument 'data' not a JSON object: %S",
	  "data must be a JSON object; found \"%S\"" },
	{ "Put(): Arg \"tags\" not JSON", "tags must be " STRINGS },
	{ "Put(): Arg \"depends\" not JSON: ", "depends must be " STRINGS },
	{ "Complete(): Arg \"depends\" not JSON: ", "depends must be " STRINGS },
	{ "Recur(): Arg \"tags\" must be JSON string array: %S",
	  "tags must be " STRINGS "; found \"%S\"" },
	{ "Recur(): Arg \"tags\" not a JSON array of strings: %S",
	  "tags must be " STRINGS "; found \"%S\"" },

	/* Words. */
	{ "Recur(): schedule type \"%S\" unknown",
	  "The fifth argument must be \"interval\" or \"cron\"; found \"%S\"" },
	{ "Track(): Unknown action \"%S\"",
	  "The action must be \"track\" or \"untrack\"; found \"%S\"" },
	{ "ConsistencyCheck(): Unknown argument \"%S\"",
	  "The argument must be \"RESOLVE\"; found \"%S\"" },
	{ "Complete(): \"delay\" cannot be used without a \"next\".",
	  "Option \"delay\" needs the option \"next\"" },
	{ "Complete(): \"depends\" cannot be used without a \"next\".",
	  "Option \"depends\" needs the option \"next\"" },
	{ "Multiput(): Word \"jobs\" missing",
	  "The word \"jobs\" is missing, and the jobs after it" },

	{ "Multiput(): Each job needs a jid, a klass and data",
	  "Each job needs a jid, a klass and data" },
	{ "Multicomplete(): Each job needs a jid and data", "Each job needs a jid and data" },

	/* Jobs. */
	{ "Requeue(): Job %S does not exist", "Job %S does not exist" },
};

const struct dialect dialect_native = {
	.name = STR_INIT("native"),
	.messages = messages,
	.message_count = COUNT_OF(messages),
	.texts = texts,
	.text_count = COUNT_OF(texts),
	.options = dialect_classic_options,
	.option_count = DIALECT_CLASSIC_OPTIONS,
	.has_numbers = true,
	.native = { JSON_EMPTY_ARRAY, JSON_EMPTY_ARRAY, JSON_PUT_Q, true, true, false },
	.embedding = { JSON_EMPTY_ARRAY, JSON_EMPTY_ARRAY, JSON_PUT_Q, true, true, true },
};
