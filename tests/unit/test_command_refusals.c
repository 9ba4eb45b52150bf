/*
 * Native queue commands refuse wrong numbers of arguments, options that are unknown, repeated or
 * without a value, empty names, and numbers out of range. Each refusal is compared to the last
 * byte, and must leave the state as it was.
 */
#include "native.h"

#include <ctype.h>

#include "command/rows.h"
#include "util/glob.h"

#define WORDS_MAX 40

static struct native_fixture f;

static const struct databases_limits limits = {
	.engine = { .is_strict = true, .max_dependency_steps = 1000 },
	.max_json_depth = 1000,
};

/* A request as one line. Blanks separate its words, and '' is an empty word. */
static const char *run_line(const char *line)
{
	struct qless_str words[WORDS_MAX];
	char text[1000];
	int count = 0;

	TEST_ASSERT_TRUE(strlen(line) < sizeof text);
	snprintf(text, sizeof text, "%s", line);
	for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
		TEST_ASSERT_TRUE(count < WORDS_MAX);
		words[count++] = strcmp(word, "''") == 0 ? STR("") : str_from(word);
	}
	return call_run_argv(&f.call, words, count);
}

static void run_well(const char *line)
{
	const char *reply = run_line(line);

	TEST_ASSERT_TRUE_MESSAGE(reply[0] != '-', reply);
	f.now += 1;
}

/* The jobs `running`, `waiting`, `dependent`, which waits for `waiting`, and `failed`; the
 * recurring job `often`, and a queue of each state. */
void setUp(void)
{
	native_setup(&f);
	databases_set_limits(f.call.env.databases, &limits);
	run_well("PUT w q failed k {} 0 tags [\"t\"]");
	run_well("POP q w 1");
	run_well("FAIL failed w group message");
	run_well("PUT w q running k {} 0");
	run_well("POP q w 1");
	run_well("PUT w q waiting k {} 0");
	run_well("PUT w q dependent k {} 0 depends [\"waiting\"]");
	run_well("RECUR q often k {} interval 1000 500");
	run_well("PAUSE paused");
	run_well("CONFIG.SET heartbeat 600");
}

void tearDown(void)
{
	native_teardown(&f);
}

/* Copies the dump, because the next call overwrites it. */
static void copy_dump(struct buf *to)
{
	buf_clear(to);
	buf_append_str(to, str_from(native_dump(&f)));
}

/* Expects the reply, and that the command changes nothing. */
static void assert_refused(const char *line, const char *expected)
{
	struct buf before = BUF_INIT(BUF_NO_MAX);
	uint64_t changes = qless_changes(native_engine(&f));

	copy_dump(&before);
	buf_clear(&f.events);
	TEST_ASSERT_EQUAL_STRING_MESSAGE(expected, run_line(line), line);
	TEST_ASSERT_EQUAL_UINT64_MESSAGE(changes, qless_changes(native_engine(&f)), line);
	TEST_ASSERT_EQUAL_STRING_MESSAGE("", buf_cstr(&f.events), line);
	TEST_ASSERT_EQUAL_STRING_MESSAGE(buf_cstr(&before), native_dump(&f), line);
	buf_done(&before);
}

static const struct command *row_of(const char *line)
{
	size_t len = strcspn(line, " ");
	const struct command *row = command_table_find(f.call.table, str_make(line, len));

	TEST_ASSERT_NOT_NULL_MESSAGE(row, line);
	return row;
}

/* The end of an error about an argument: what the command expects. */
static void append_expected(struct buf *to, const struct command *row)
{
	buf_append_str(to, STR(" (expected: "));
	for (const char *c = row->name; *c != '\0'; c++)
		buf_append_char(to, (char)toupper((unsigned char)*c));
	if (row->arguments[0] != '\0')
		buf_printf(to, " %s", row->arguments);
	buf_append_str(to, STR(")\r\n"));
}

/* Expects a refusal that begins with a code and a sentence, and ends as all of its code do. */
static void assert_error(const char *line, const char *error)
{
	struct buf expected = BUF_INIT(BUF_NO_MAX);

	buf_printf(&expected, "-%s", error);
	if (strncmp(error, "BAD", 3) == 0)
		append_expected(&expected, row_of(line));
	else
		buf_append_str(&expected, STR("\r\n"));
	assert_refused(line, buf_cstr(&expected));
	buf_done(&expected);
}

/* ---- the number of arguments ---- */

static void assert_arity(const struct command *row, int count)
{
	struct buf line = BUF_INIT(BUF_NO_MAX), expected = BUF_INIT(BUF_NO_MAX);

	buf_printf(&line, "%s", row->name);
	for (int i = 0; i < count; i++)
		buf_append_str(&line, STR(" 1"));
	buf_printf(&expected, "-ERR wrong number of arguments for '%s' command", row->name);
	append_expected(&expected, row);
	assert_refused(buf_cstr(&line), buf_cstr(&expected));
	buf_done(&line);
	buf_done(&expected);
}

static void a_wrong_number_of_arguments_shows_the_synopsis(void)
{
	for (size_t i = 0; i < queue_command_rows.count; i++) {
		const struct command *row = &queue_command_rows.rows[i];

		if (row->min_args > 0) {
			assert_arity(row, 0);
			assert_arity(row, row->min_args - 1);
		}
		if (row->max_args != COMMAND_ANY_ARGS)
			assert_arity(row, row->max_args + 1);
	}
}

/* An option that follows the arguments of HEARTBEAT, FAIL or RETRY may not be one too many. */
static void too_many_arguments_before_an_option_show_the_synopsis(void)
{
	const char *const lines[] = {
		"HEARTBEAT running w {} {} {}",
		"FAIL running w group message {} error text {} {} {}",
		"RETRY running q w 0 group message {} {}",
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct buf expected = BUF_INIT(BUF_NO_MAX);
		const struct command *row = row_of(lines[i]);

		buf_printf(&expected, "-ERR wrong number of arguments for '%s' command", row->name);
		append_expected(&expected, row);
		assert_refused(lines[i], buf_cstr(&expected));
		buf_done(&expected);
	}
}

/* ---- options ---- */

struct optioned {
	const char *command; /* without options */
	const char *rest;    /* what follows the options, or NULL */
	struct {
		const char *name, *value;
	} options[8];
};

static const struct optioned optioned[] = {
	{ "BPOP 0 w 1 q", NULL, { { "COUNT", "1" }, { "ORDER", "ordered" } } },
	{ "COMPLETE running w q {}", NULL, { { "next", "out" }, { "next", "out" } } },
	{ "COMPLETE running w q {} next out", NULL, { { "delay", "5" }, { "lock", "2" } } },
	{ "COMPLETE running w q {} next out",
	  NULL,
	  { { "depends", "[\"waiting\"]" }, { "limits", "[\"a\"]" } } },
	{ "LIMIT.LIST", NULL, { { "MATCH", "a*" }, { "CURSOR", "0" }, { "COUNT", "5" } } },
	{ "LIMIT.SET a RATE 1 PER 2",
	  NULL,
	  { { "CONCURRENCY", "1" }, { "BURST", "2" }, { "WEIGHT", "2" }, { "TTL", "60" } } },
	{ "LIMIT.SET a PER 2", NULL, { { "RATE", "1" } } },
	{ "LIMIT.SET a RATE 1", NULL, { { "PER", "0.5" } } },
	{ "MPOP w 1 q", NULL, { { "COUNT", "1" }, { "ORDER", "roundrobin" } } },
	{ "RECUR.LIST", NULL, { { "QUEUE", "q" }, { "CURSOR", "0" }, { "COUNT", "5" } } },
	{ "QUEUE.COUNT q", NULL, { { "STATE", "waiting" } } },
	{ "QUEUE.JOBS q", NULL, { { "STATE", "waiting" }, { "CURSOR", "0" }, { "COUNT", "5" } } },
	{ "JOB.SEARCH",
	  NULL,
	  { { "JID", "a" },
	    { "PREFIX", "a" },
	    { "CLASS", "k" },
	    { "QUEUE", "q" },
	    { "STATE", "waiting" },
	    { "CURSOR", "0" },
	    { "COUNT", "5" } } },
	{ "MULTIPUT w q 0",
	  "jobs j k {}",
	  { { "priority", "1" },
	    { "tags", "[\"a\"]" },
	    { "retries", "1" },
	    { "depends", "[\"waiting\"]" },
	    { "limits", "[\"a\",\"b\"]" } } },
	{ "PUT w q j k {} 0",
	  NULL,
	  { { "priority", "1" },
	    { "tags", "[\"a\"]" },
	    { "retries", "1" },
	    { "depends", "[\"waiting\"]" },
	    { "limits", "[\"a\",\"b\"]" } } },
	{ "RECUR q r k {} interval 60 0",
	  NULL,
	  { { "priority", "1" },
	    { "tags", "[\"a\"]" },
	    { "retries", "1" },
	    { "backlog", "1" },
	    { "limits", "[\"a\"]" } } },
	{ "RECUR q r k {} cron @daily",
	  NULL,
	  { { "missed", "one" }, { "overlap", "skip" }, { "tags", "[\"a\"]" } } },
	{ "RECUR.UPDATE often",
	  NULL,
	  { { "priority", "1" },
	    { "interval", "60" },
	    { "retries", "1" },
	    { "data", "{}" },
	    { "klass", "k" },
	    { "queue", "other" },
	    { "backlog", "1" },
	    { "limits", "[\"a\"]" } } },
	{ "REQUEUE w q waiting k {} 0",
	  NULL,
	  { { "priority", "1" },
	    { "tags", "[\"a\"]" },
	    { "retries", "1" },
	    { "depends", "[\"running\"]" },
	    { "limits", "[\"a\"]" } } },
};

#define OPTIONED (sizeof optioned / sizeof *optioned)

static const char *line_of(const struct optioned *o, const char *options)
{
	static char line[1000];

	snprintf(line, sizeof line, "%s %s %s", o->command, options,
		 o->rest != NULL ? o->rest : "");
	return line;
}

typedef void option_fn(const struct optioned *o, const char *name, const char *value);

static void for_each_option(option_fn *fn)
{
	for (size_t i = 0; i < OPTIONED; i++) {
		for (size_t k = 0; k < 8 && optioned[i].options[k].name != NULL; k++) {
			fn(&optioned[i], optioned[i].options[k].name, optioned[i].options[k].value);
			tearDown();
			setUp();
		}
	}
}

static void refuse_without_value(const struct optioned *o, const char *name, const char *value)
{
	char error[200];

	(void)value;
	/* LOCK at the end of the pairs is not taken as an option. */
	if (strcmp(name, "lock") == 0)
		return;
	snprintf(error, sizeof error, "BADARG Option \"%s\" has no value", name);
	if (o->rest == NULL)
		assert_error(line_of(o, name), error);
}

static void an_option_without_its_value_is_refused(void)
{
	for_each_option(refuse_without_value);
}

static void refuse_repeated(const struct optioned *o, const char *name, const char *value)
{
	char options[200], error[200], upper[50] = { 0 };

	for (size_t i = 0; name[i] != '\0'; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	snprintf(options, sizeof options, "%s %s %s %s", name, value, upper, value);
	snprintf(error, sizeof error, "BADARG Option \"%s\" is repeated", upper);
	assert_error(line_of(o, options), error);
}

static void a_repeated_option_is_refused(void)
{
	for_each_option(refuse_repeated);
}

static void refuse_misspelt(const struct optioned *o, const char *name, const char *value)
{
	char options[200], error[200], wrong[50];

	snprintf(wrong, sizeof wrong, "%c%c%sx", name[1], name[0], name + 2);
	snprintf(options, sizeof options, "%s %s", wrong, value);
	snprintf(error, sizeof error, "BADARG Unknown option \"%s\"; did you mean \"%s\"?", wrong,
		 name);
	if (strcmp(name, "lock") != 0)
		assert_error(line_of(o, options), error);
}

static void an_unknown_option_is_refused_with_the_nearest_name(void)
{
	for_each_option(refuse_misspelt);
	for (size_t i = 0; i < OPTIONED; i++)
		assert_error(line_of(&optioned[i], "zzzz 5"), "BADARG Unknown option \"zzzz\"");
	assert_error("PUT w q j k {} 0 prio 5",
		     "BADARG Unknown option \"prio\"; did you mean \"priority\"?");
	assert_error("COMPLETE running w q {} nxt out",
		     "BADARG Unknown option \"nxt\"; did you mean \"next\"?");
}

static void take_in_any_case(const struct optioned *o, const char *name, const char *value)
{
	char options[200];

	for (unsigned upper = 0; upper < 3; upper++) {
		int len = snprintf(options, sizeof options, "%s", name);

		for (int i = 0; i < len; i++) {
			if (upper == 2 || (upper == 1 && i % 2 == 1))
				options[i] = (char)toupper((unsigned char)options[i]);
			else
				options[i] = (char)tolower((unsigned char)options[i]);
		}
		snprintf(options + len, sizeof options - (size_t)len, " %s", value);
		run_well(line_of(o, options));
		tearDown();
		setUp();
	}
}

static void an_option_is_taken_in_any_case(void)
{
	for_each_option(take_in_any_case);
	run_well("PUT w q j k {} 0 PRIORITY 7");
	TEST_ASSERT_NOT_NULL(strstr(run_line("GET j"), "\"priority\":7,"));
}

static void a_word_is_taken_in_any_case(void)
{
	run_well("RECUR q r k {} Interval 60 0");
	run_well("MULTIPUT w q 0 JOBS j k {}");
	run_well("TAG ADD waiting new");
	run_well("TAG Remove waiting new");
	run_well("TAG GET t");
	run_well("TAG Top");
	run_well("DEPENDS dependent ON j");
	run_well("DEPENDS dependent Off ALL");
	run_well("JOBS COMPLETE");
	run_well("JOBS Running q");
	run_well("TRACK TRACK waiting");
	run_well("CONSISTENCYCHECK Resolve");
	TEST_ASSERT_NOT_NULL(strstr(run_line("GET dependent"), "\"state\":\"waiting\""));
}

/* Other forms take the arguments as the reference does. */
static void the_forms_of_the_reference_stay_lenient(void)
{
	run_well("QLESS put 2000 w q j k {} 0 prio 5 priority 3 priority 4 PRIORITY 9");
	TEST_ASSERT_NOT_NULL(strstr(run_line("GET j"), "\"priority\":4,"));
	run_well("QLESS complete 2000 running w q {} nxt out next");
	run_well("QLESS recur 2000 q r k {} interval 60 0 prio 5");
	run_well("QLESS put 2000 w q early k {} -5");
	ASSERT_NATIVE("-ERR Jobs(): Arg \"queue\" missing\r\n", &f, "QLESS", "jobs", "2000",
		      "waiting");
	ASSERT_NATIVE("-ERR Odd number of additional args: table: 0x0\r\n", &f, "QLESS", "put",
		      "2000", "w", "q", "j", "k", "{}", "0", "tags");
}

/* ---- single arguments ---- */

#define DELAY	"BADARG delay must be a number from 0 to 1e+15; found "
#define SECONDS "BADARG seconds must be a number from 0 to 1000000000; found "
#define COUNT	"BADARG count must be a whole number from 0 to 1e+15; found "

struct refusal {
	const char *line, *error;
};

static const struct refusal refusals[] = {
	{ "BPOP x w 1 q",
	  "BADARG timeout must be a number of seconds from 0 to 9.2e+15; found \"x\"" },
	{ "BPOP -1 w 1 q",
	  "BADARG timeout must be a number of seconds from 0 to 9.2e+15; found \"-1\"" },
	{ "BPOP nan w 1 q",
	  "BADARG timeout must be a number of seconds from 0 to 9.2e+15; found \"nan\"" },
	{ "BPOP 0 '' 1 q", "BADARG worker must not be empty" },
	{ "BPOP 0 w 0 q", "BADARG numqueues must be a whole number above 0; found \"0\"" },
	{ "BPOP 0 w 1 ''", "BADARG queue must not be empty" },
	{ "BPOP 0 w 1 q COUNT 1.5", "BADARG COUNT must be a whole number above 0; found \"1.5\"" },
	{ "CANCEL waiting",
	  "DEPENDENTS Job dependent depends on job waiting and is not canceled with it" },
	{ "COMPLETE running w q {",
	  "BADJSON data must be JSON; found \"{\": Invalid JSON: unexpected "
	  "end of data at character 2" },
	{ "COMPLETE running w q ''", "BADJSON data must be JSON; found \"\"" },
	{ "COMPLETE running w q false",
	  "BADARG data must be JSON other than false; found \"false\"" },
	{ "COMPLETE none w q {}", "NOJOB Job none does not exist" },
	{ "COMPLETE waiting w q {}",
	  "NOTRUNNING Job waiting is not running: its state is waiting" },
	{ "COMPLETE running v q {}", "NOTOWNER Job running is held by another worker: w" },
	{ "COMPLETE running w other {}", "WRONGQUEUE Job running is in another queue: q" },
	{ "COMPLETE running w q {} next ''", "BADARG next must not be empty" },
	{ "COMPLETE running w q {} next out delay -1", DELAY "\"-1\"" },
	{ "COMPLETE running w q {} next out delay x", DELAY "\"x\"" },
	{ "COMPLETE running w q {} next out delay 1e16", DELAY "\"1e+16\"" },
	{ "COMPLETE running w q {} delay 5", "BADARG Option \"delay\" needs the option \"next\"" },
	{ "COMPLETE running w q {} depends []",
	  "BADARG Option \"depends\" needs the option \"next\"" },
	{ "COMPLETE running w q {} next out depends x",
	  "BADJSON depends must be JSON; found \"x\": Invalid JSON: unexpected character, expected "
	  "a "
	  "valid root value at character 1" },
	{ "COMPLETE running w q {} next out depends 5",
	  "BADARG depends must be a JSON array of strings; found \"5\"" },
	{ "COMPLETE running w q {} next out depends false",
	  "BADARG depends must be a JSON array of strings; found \"false\"" },
	{ "COMPLETE running w q {} next out depends [\"\"]",
	  "BADARG depends must not contain an empty name" },
	{ "COMPLETE running w q {} next out depends [\"running\"]",
	  "BADARG Job running would wait for itself: running -> running" },
	{ "COMPLETE running w q {} limits []",
	  "BADARG Option \"limits\" needs the option \"next\"" },
	{ "COMPLETE running w q {} next out limits [\"a\",\"\"]",
	  "BADARG limits must not contain an empty name" },
	{ "COMPLETE running w q {} lock 0",
	  "BADARG LOCK must be the number of a hand-out, a whole number above 0; found \"0\"" },
	{ "COMPLETE running w q {} lock 1",
	  "NOTOWNER Job running was handed out again, and its lock is 2" },
	{ "CONFIG.SET '' 1", "BADARG option must not be empty" },
	{ "CONFIG.SET hartbeat 5",
	  "BADARG Unknown option \"hartbeat\"; did you mean \"heartbeat\"?" },
	{ "CONFIG.SET HEARTBEAT 5",
	  "BADARG Unknown option \"HEARTBEAT\"; did you mean \"heartbeat\"?" },
	{ "CONFIG.SET job-history 5",
	  "BADARG Unknown option \"job-history\"; did you mean \"jobs-history\"?" },
	{ "CONFIG.SET a-mail-hartbeet 5",
	  "BADARG Unknown option \"a-mail-hartbeet\"; did you mean \"a-mail-heartbeat\"?" },
	{ "CONFIG.SET mail-max-concurency 5",
	  "BADARG Unknown option \"mail-max-concurency\"; did you mean \"mail-max-concurrency\"?" },
	{ "CONFIG.SET maxmemory 1gb",
	  "BADARG Unknown option \"maxmemory\". CONFIG.GET lists the options, a name of your own "
	  "begins with \"x-\", and CONFIG SET sets directives of the server" },
	{ "CONFIG.SET q-order fairly",
	  "BADARG The value of \"q-order\" must be priority or fair; found \"fairly\"" },
	{ "CONFIG.SET heartbeat x", "BADARG value must be a number; found \"x\"" },
	{ "CONFIG.SET heartbeat -1",
	  "BADARG The value of \"heartbeat\" must be from 0.001 to 1e+15; found \"-1\"" },
	{ "CONFIG.SET jobs-history-count 1.5",
	  "BADARG value must be a whole number; found \"1.5\"" },
	{ "CONFIG.SET q-max-concurrency 1e16",
	  "BADARG The value of \"q-max-concurrency\" must be from 0 to 1e+15; found \"1e16\"" },
	{ "CONSISTENCYCHECK now", "BADARG The argument must be \"RESOLVE\"; found \"now\"" },
	{ "DEPENDS dependent with x",
	  "BADARG The second argument must be \"on\" or \"off\"; found \"with\"" },
	{ "DEPENDS dependent on ''", "BADARG jid must not be empty" },
	{ "DEPENDS dependent on dependent",
	  "BADARG Job dependent would wait for itself: dependent -> dependent" },
	{ "DEPENDS waiting on running",
	  "NOTDEPENDS Job waiting does not wait for other jobs: its state is waiting" },
	{ "DEPENDS none on running", "NOTDEPENDS Job none does not exist" },
	{ "FAIL running w '' message", "BADARG group must not be empty" },
	{ "FAIL running w group message [", "BADJSON data must be JSON; found \"[\": Invalid JSON: "
					    "unexpected end of data at character 2" },
	{ "FAIL running w group message lock",
	  "BADJSON data must be JSON; found \"lock\": Invalid JSON: "
	  "unexpected character, expected a valid root value at "
	  "character 1" },
	{ "FAIL running w group message lock x",
	  "BADARG LOCK must be the number of a hand-out, a whole number above 0; found \"x\"" },
	{ "FAIL none w group message", "NOJOB Job none does not exist" },
	{ "FAIL waiting w group message",
	  "NOTRUNNING Job waiting is not running: its state is waiting" },
	{ "FAIL running v group message", "NOTOWNER Job running is held by another worker: w" },
	{ "FAILED group x",
	  "BADARG start must be a whole number from -1e+15 to 1e+15; found \"x\"" },
	{ "FAILED group 0.5",
	  "BADARG start must be a whole number from -1e+15 to 1e+15; found \"0.5\"" },
	{ "FAILED group 0 -1",
	  "BADARG limit must be a whole number from 0 to 1e+15; found \"-1\"" },
	{ "FAILED group 0 1e16",
	  "BADARG limit must be a whole number from 0 to 1e+15; found \"1e16\"" },
	{ "HEARTBEAT none w", "NOJOB Job none does not exist" },
	{ "HEARTBEAT waiting w", "NOTRUNNING Job waiting is not running: its state is waiting" },
	{ "HEARTBEAT running v", "NOTOWNER Job running is held by another worker: w" },
	{ "HEARTBEAT running w x",
	  "BADJSON data must be JSON; found \"x\": Invalid JSON: unexpected "
	  "character, expected a valid root value at character 1" },
	{ "HEARTBEAT running w lock -1",
	  "BADARG LOCK must be the number of a hand-out, a whole number above 0; found \"-1\"" },
	{ "JOBS none", "BADARG state must be \"waiting\", \"running\", \"stalled\", \"scheduled\", "
		       "\"depends\", \"recurring\", \"failed\" or \"complete\"; found \"none\"" },
	{ "JOBS running", "BADARG queue is missing" },
	{ "JOBS waiting", "BADARG queue is missing" },
	{ "JOBS failed q 9000 1001",
	  "BADARG offset and count of failed jobs must be at most 10000 together; found 10001. "
	  "QUEUE.JOBS lists all of them" },
	{ "JOBS failed q -1",
	  "BADARG offset must be a whole number from 0 to 1e+15; found \"-1\"" },
	{ "JOBS complete q x",
	  "BADARG offset must be a whole number from 0 to 1e+15; found \"x\"" },
	{ "JOB.WAIT x j",
	  "BADARG timeout must be a number of seconds from 0 to 9.2e+15; found \"x\"" },
	{ "JOB.WAIT -1 j",
	  "BADARG timeout must be a number of seconds from 0 to 9.2e+15; found \"-1\"" },
	{ "QUEUE.JOBS q STATE none",
	  "BADARG STATE must be \"waiting\", \"running\", \"reserved\", \"started\", "
	  "\"stalled\", \"scheduled\", \"depends\", \"failed\" or \"complete\"; found "
	  "\"none\"" },
	{ "JOB.ABORT running '' g m", "BADARG supervisor must not be empty" },
	{ "JOB.ABORT running s '' m", "BADARG group must not be empty" },
	{ "JOB.DELETE waiting",
	  "NOTFINISHED Job waiting is not complete or failed: its state is waiting. CANCEL deletes "
	  "such jobs" },
	{ "JOB.META waiting PUT a b",
	  "BADARG The action must be \"SET\", \"GET\" or \"DEL\"; found \"PUT\"" },
	{ "JOB.META waiting SET a",
	  "BADARG SET must have a value for each field; found 1 arguments" },
	{ "JOB.META waiting SET '' b", "BADARG field must not be empty" },
	{ "JOB.META waiting DEL", "BADARG DEL must have a field" },
	{ "JOB.PROGRESS running w 101",
	  "BADARG percent must be a number from 0 to 100; found \"101\"" },
	{ "JOB.PROGRESS running w x",
	  "BADARG percent must be a number from 0 to 100; found \"x\"" },
	{ "JOB.START running w PID 0",
	  "BADARG PID must be a whole number from 1 to 2147483647; found \"0\"" },
	{ "JOB.START running w NODE ''", "BADARG NODE must not be empty" },
	{ "JOB.START running w HOST h", "BADARG Unknown option \"HOST\"" },
	{ "JOB.SEARCH COLOR red", "BADARG Unknown option \"COLOR\"" },
	{ "JOB.SEARCH KLASS k", "BADARG Unknown option \"KLASS\"; did you mean \"CLASS\"?" },
	{ "JOB.SEARCH STATE none",
	  "BADARG STATE must be \"waiting\", \"running\", \"reserved\", \"started\", "
	  "\"stalled\", \"scheduled\", \"depends\", \"failed\" or \"complete\"; found "
	  "\"none\"" },
	{ "JOB.SEARCH TAG a TAG b TAG c TAG d TAG e TAG f TAG g TAG h TAG i",
	  "BADARG A search has at most 8 conditions \"TAG\"" },
	{ "JOB.SEARCH DATA a 1 DATA a 1 DATA a 1 DATA a 1 DATA a 1 DATA a 1 DATA a 1 DATA a 1 "
	  "DATA a 1",
	  "BADARG A search has at most 8 conditions \"DATA\"" },
	{ "JOB.SEARCH DATA a", "BADARG Option \"DATA\" must have a path and a value" },
	{ "JOB.SEARCH DATA a bob",
	  "BADJSON value of DATA must be JSON; found \"bob\": Invalid JSON: unexpected character, "
	  "expected a valid root value at character 1" },
	{ "JOB.SEARCH DATA a\\ 1",
	  "BADARG The path of DATA must be up to 32 names with dots between them; found \"a\\\"" },
	{ "JOB.SEARCH COUNT 0",
	  "BADARG COUNT must be a whole number from 1 to 10000; found \"0\"" },
	{ "JOB.SEARCH CURSOR t0-",
	  "BADARG CURSOR must be 0 or the cursor of an earlier reply to the same search; found "
	  "\"t0-\"" },
	{ "JOB.SEARCH WITH color",
	  "BADARG WITH must name fields of a job, such as \"jid\" and \"worker\"; found "
	  "\"color\"" },
	{ "QUEUE.COUNT q STATE none",
	  "BADARG STATE must be \"waiting\", \"running\", \"reserved\", \"started\", "
	  "\"stalled\", \"scheduled\", \"depends\", \"failed\" or \"complete\"; found "
	  "\"none\"" },
	{ "QUEUE.COUNT q BY", "BADARG Option \"BY\" has no value" },
	{ "QUEUE.COUNT q BY color",
	  "BADARG BY must name one or two of \"state\", \"klass\", \"priority\", "
	  "\"remaining\", \"worker\" and \"group\"; found \"color\"" },
	{ "QUEUE.COUNT q BY class",
	  "BADARG BY must name one or two fields; found \"class\", did you mean \"klass\"?" },
	{ "QUEUE.COUNT q BY klass KLASS", "BADARG BY names field \"KLASS\" twice" },
	{ "QUEUE.COUNT q BY klass state worker",
	  "BADARG BY must name one or two fields; found a third, \"worker\"" },
	{ "QUEUE.JOBS q STATE waiting none", "BADARG Unknown option \"none\"" },
	{ "QUEUE.JOBS q CURSOR x",
	  "BADARG CURSOR must be 0 or the cursor of an earlier reply; found \"x\"" },
	{ "QUEUE.JOBS q COUNT 10001",
	  "BADARG COUNT must be a whole number from 1 to 10000; found \"10001\"" },
	{ "QUEUE.JOBS q WITH jid jid", "BADARG WITH names field \"jid\" twice" },
	{ "QUEUE.JOBS q WITH color",
	  "BADARG WITH must name fields of a job, such as \"jid\" and \"worker\"; found "
	  "\"color\"" },
	{ "QUEUE.JOBS q WITH workers",
	  "BADARG WITH must name fields of a job; found \"workers\", did you mean \"worker\"?" },
	{ "JOBS running q 0 -1", COUNT "\"-1\"" },
	{ "JOBS running q 0 1.5", COUNT "\"1.5\"" },
	{ "ENDPOINT.DELETE ''", "BADARG name must not be empty" },
	{ "ENDPOINT.PAUSE ''", "BADARG name must not be empty" },
	{ "ENDPOINT.SET e URL http://a/ QUEUES 1 q URLS x",
	  "BADARG Unknown option \"URLS\"; did you mean \"URL\"?" },
	{ "ENDPOINT.SET e URL http://a/ QUEUES 2 q", "BADARG QUEUES is 2, but 1 arguments follow" },
	{ "ENDPOINT.TEST ''", "BADARG name must not be empty" },
	{ "ENDPOINT.UNPAUSE ''", "BADARG name must not be empty" },
	{ "LIMIT.DELETE ''", "BADARG name must not be empty" },
	{ "LIMIT.DELETE queue:",
	  "BADARG name must have a queue after \"queue:\"; found \"queue:\"" },
	{ "LIMIT.DELETE queue:*",
	  "BADARG name must not be a pattern of queues; found \"queue:*\"" },
	{ "LIMIT.GET ''", "BADARG name must not be empty" },
	{ "LIMIT.HOLD '' 5", "BADARG name must not be empty" },
	{ "LIMIT.HOLD a* 5",
	  "BADARG name must be the name of one limit; found the pattern \"a*\"" },
	{ "LIMIT.HOLD a x", SECONDS "\"x\"" },
	{ "LIMIT.HOLD a -1", SECONDS "\"-1\"" },
	{ "LIMIT.HOLD a inf", SECONDS "\"inf\"" },
	{ "LIMIT.HOLD a 1e10", SECONDS "\"1e10\"" },
	{ "LIMIT.LIST CURSOR x",
	  "BADARG CURSOR must be 0 or the cursor of an earlier reply; found \"x\"" },
	{ "LIMIT.LIST CURSOR -1",
	  "BADARG CURSOR must be 0 or the cursor of an earlier reply; found \"-1\"" },
	{ "LIMIT.LIST COUNT 0",
	  "BADARG COUNT must be a whole number from 1 to 10000; found \"0\"" },
	{ "LIMIT.LIST COUNT 1.5",
	  "BADARG COUNT must be a whole number from 1 to 10000; found \"1.5\"" },
	{ "LIMIT.LIST COUNT 10001",
	  "BADARG COUNT must be a whole number from 1 to 10000; found \"10001\"" },
	{ "RECUR.LIST CURSOR x",
	  "BADARG CURSOR must be 0 or the cursor of an earlier reply; found \"x\"" },
	{ "RECUR.LIST COUNT 0",
	  "BADARG COUNT must be a whole number from 1 to 10000; found \"0\"" },
	{ "LIMIT.SET a", "BADARG An option is missing: CONCURRENCY, RATE, WEIGHT or TTL" },
	{ "LIMIT.SET '' CONCURRENCY 1", "BADARG name must not be empty" },
	{ "LIMIT.SET queue: CONCURRENCY 1",
	  "BADARG name must have a queue after \"queue:\"; found \"queue:\"" },
	{ "LIMIT.SET queue:mail* CONCURRENCY 1",
	  "BADARG name must not be a pattern of queues; found \"queue:mail*\"" },
	{ "LIMIT.SET a CONCURRENCY -1",
	  "BADARG CONCURRENCY must be a whole number from 0 to 1000000000; found \"-1\"" },
	{ "LIMIT.SET a CONCURRENCY 1.5",
	  "BADARG CONCURRENCY must be a whole number from 0 to 1000000000; found \"1.5\"" },
	{ "LIMIT.SET a CONCURRENCY 1e10",
	  "BADARG CONCURRENCY must be a whole number from 0 to 1000000000; found \"1e10\"" },
	{ "LIMIT.SET a RATE 1", "BADARG Option \"RATE\" needs the option \"PER\"" },
	{ "LIMIT.SET a PER 1", "BADARG Option \"PER\" needs the option \"RATE\"" },
	{ "LIMIT.SET a BURST 5", "BADARG Option \"BURST\" needs the option \"RATE\"" },
	{ "LIMIT.SET a RATE x PER 1",
	  "BADARG RATE must be a whole number from 0 to 1000000000; found \"x\"" },
	{ "LIMIT.SET a RATE 0.5 PER 1",
	  "BADARG RATE must be a whole number from 0 to 1000000000; found \"0.5\"" },
	{ "LIMIT.SET a RATE 1 PER 0",
	  "BADARG PER must be a number of seconds from 0.001 to 1000000000; found \"0\"" },
	{ "LIMIT.SET a RATE 1 PER nan",
	  "BADARG PER must be a number of seconds from 0.001 to 1000000000; found \"nan\"" },
	{ "LIMIT.SET a RATE 1 PER 1 BURST 0",
	  "BADARG BURST must be a whole number from 1 to 1000000000; found \"0\"" },
	{ "LIMIT.SET a WEIGHT 0",
	  "BADARG WEIGHT must be a number from 0.001 to 1000000; found \"0\"" },
	{ "LIMIT.SET a TTL -1",
	  "BADARG TTL must be a number of seconds from 0 to 1000000000; found \"-1\"" },
	{ "LOG none message", "NOJOB Job none does not exist" },
	{ "LOG waiting message []", "BADARG data must be a JSON object; found \"[]\"" },
	{ "LOG waiting message {",
	  "BADJSON data must be JSON; found \"{\": Invalid JSON: unexpected end "
	  "of data at character 2" },
	{ "MPOP '' 1 q", "BADARG worker must not be empty" },
	{ "MPOP w 1 ''", "BADARG queue must not be empty" },
	{ "MPOP w 1.5 q", "BADARG numqueues must be a whole number above 0; found \"1.5\"" },
	{ "MPOP w 2 q", "BADARG numqueues is 2, but 1 arguments follow" },
	{ "MPOP w 1 q COUNT -1", "BADARG COUNT must be a whole number above 0; found \"-1\"" },
	{ "MPOP w 1 q ORDER random",
	  "BADARG ORDER must be \"ordered\" or \"roundrobin\"; found \"random\"" },
	{ "MULTICOMPLETE w q running {} x",
	  "BADARG Each job needs a jid and data; found 3 arguments for them" },
	{ "MULTIPUT w '' 0 jobs j k {}", "BADARG queue must not be empty" },
	{ "MULTIPUT w q -1 jobs j k {}", DELAY "\"-1\"" },
	{ "MULTIPUT w q x jobs j k {}", DELAY "\"x\"" },
	{ "MULTIPUT w q 0 jobs '' k {}", "BADARG jid must not be empty" },
	{ "MULTIPUT w q 0 jobs j '' {}", "BADARG klass must not be empty" },
	{ "MULTIPUT w q 0 jobs j k {", "BADJSON data of job \"j\" must be JSON; found \"{\"" },
	{ "MULTIPUT w q 0 retries 1.5 jobs j k {}",
	  "BADARG retries must be a whole number from 0 to 1e+15; found \"1.5\"" },
	{ "MULTIPUT w q 0 jobs j k {} x",
	  "BADARG Each job needs a jid, a klass and data; found 4 arguments "
	  "for them" },
	{ "MULTIPUT w q 0 priority 1 tags []",
	  "BADARG The word \"jobs\" is missing, and the jobs after it" },
	{ "PAUSE ''", "BADARG queue must not be empty" },
	{ "PAUSE q ''", "BADARG queue must not be empty" },
	{ "PEEK q -1", COUNT "\"-1\"" },
	{ "PEEK q x", COUNT "\"x\"" },
	{ "PEEK q 1.5", COUNT "\"1.5\"" },
	{ "PEEK q 1e16", COUNT "\"1e16\"" },
	{ "POP '' w 1", "BADARG queue must not be empty" },
	{ "POP q '' 1", "BADARG worker must not be empty" },
	{ "POP q w -1", COUNT "\"-1\"" },
	{ "POP q w 1.5", COUNT "\"1.5\"" },
	{ "POP q w ''", COUNT "\"\"" },
	{ "POP q w 1e16", COUNT "\"1e16\"" },
	{ "PRIORITY waiting x",
	  "BADARG priority must be a number from -1e+15 to 1e+15; found \"x\"" },
	{ "PRIORITY waiting 1e16",
	  "BADARG priority must be a number from -1e+15 to 1e+15; found \"1e+16\"" },
	{ "PRIORITY none 1", "NOJOB Job none does not exist" },
	{ "PUT w '' j k {} 0", "BADARG queue must not be empty" },
	{ "PUT w q '' k {} 0", "BADARG jid must not be empty" },
	{ "PUT w q j '' {} 0", "BADARG klass must not be empty" },
	{ "PUT w q j k { 0",
	  "BADJSON data must be JSON; found \"{\": Invalid JSON: unexpected end of "
	  "data at character 2" },
	{ "PUT w q j k false 0", "BADARG data must be JSON other than false; found \"false\"" },
	{ "PUT w q j k {} x", DELAY "\"x\"" },
	{ "PUT w q j k {} -1", DELAY "\"-1\"" },
	{ "PUT w q j k {} inf", DELAY "\"inf\"" },
	{ "PUT w q j k {} 1e16", DELAY "\"1e+16\"" },
	{ "PUT w q j k {} 0x10", DELAY "\"0x10\"" },
	{ "PUT w q j k {} 0 priority 0x1",
	  "BADARG priority must be a number from -1e+15 to 1e+15; found \"0x1\"" },
	{ "PUT w q j k {} 0 retries 0x1",
	  "BADARG retries must be a whole number from 0 to 1e+15; found \"0x1\"" },
	{ "POP q w 0x1", "BADARG count must be a whole number from 0 to 1e+15; found \"0x1\"" },
	{ "RECUR q r k {} interval 0x3c 0",
	  "BADARG interval must be a number from 1 to 1e+15; found \"0x3c\"" },
	{ "RECUR.UPDATE often interval 0x3c", "BADARG interval must be a number; found \"0x3c\"" },
	{ "RECUR.NEXT often 0x1",
	  "BADARG count must be a whole number from 1 to 1000; found \"0x1\"" },
	{ "CONFIG.SET jobs-history 0x10",
	  "BADARG The value of \"jobs-history\" must be from 1 to 1e+15; found \"0x10\"" },
	{ "LIMIT.SET a CONCURRENCY 0x10",
	  "BADARG CONCURRENCY must be a whole number from 0 to 1000000000; found \"0x10\"" },
	{ "LIMIT.SET a RATE 1 PER 0x10",
	  "BADARG PER must be a number of seconds from 0.001 to 1000000000; found \"0x10\"" },
	{ "BPOP 0x1 w 1 q",
	  "BADARG timeout must be a number of seconds from 0 to 9.2e+15; found \"0x1\"" },
	{ "PUT w q j k {} 0 limits [1]",
	  "BADARG limits must be a JSON array of strings; found \"[1]\"" },
	{ "PUT w q j k {} 0 limits {}",
	  "BADARG limits must be a JSON array of strings; found \"{}\"" },
	{ "PUT w q j k {} 0 priority x",
	  "BADARG priority must be a number from -1e+15 to 1e+15; found \"x\"" },
	{ "PUT w q j k {} 0 retries x",
	  "BADARG retries must be a whole number from 0 to 1e+15; found \"x\"" },
	{ "PUT w q j k {} 0 retries -1",
	  "BADARG retries must be a whole number from 0 to 1e+15; found \"-1\"" },
	{ "PUT w q j k {} 0 retries 0.5",
	  "BADARG retries must be a whole number from 0 to 1e+15; found \"0.5\"" },
	{ "PUT w q j k {} 0 tags {\"a\":1}",
	  "BADARG tags must be a JSON array of strings; found \"{\"a\":1}\"" },
	{ "PUT w q j k {} 0 tags [\"\"]", "BADARG tags must not contain an empty name" },
	{ "PUT w q j k {} 0 depends [\"\"]", "BADARG depends must not contain an empty name" },
	{ "PUT w q j k {} 0 limits x", "BADJSON limits must be JSON; found \"x\": Invalid JSON: "
				       "unexpected character, expected a "
				       "valid root value at character 1" },
	{ "PUT w q j k {} 0 limits \"a\"",
	  "BADARG limits must be a JSON array of strings; found \"\"a\"\"" },
	{ "PUT w q j k {} 0 limits false",
	  "BADARG limits must be a JSON array of strings; found \"false\"" },
	{ "PUT w q j k {} 0 limits [{}]",
	  "BADARG limits must be a JSON array of strings; found \"[{}]\"" },
	{ "PUT w q j k {} 0 limits [\"\"]", "BADARG limits must not contain an empty name" },
	{ "PUT w q j k {} 0 limits [\"a*\"]", "BADARG limits must not contain a pattern; found "
					      "\"a*\". A name that ends in \"*\" is for "
					      "LIMIT.SET" },
	{ "PUT w q j k {} 0 limits [\"queue:q\"]", "BADARG limits must not contain a name that "
						   "begins with \"queue:\"; found \"queue:q\". The "
						   "limit of a queue applies to all of its jobs" },
	{ "PUT w q j k {} 0 depends [\"j\"]", "BADARG Job j would wait for itself: j -> j" },
	{ "RECUR '' r k {} interval 60 0", "BADARG queue must not be empty" },
	{ "RECUR q '' k {} interval 60 0", "BADARG jid must not be empty" },
	{ "RECUR q r '' {} interval 60 0", "BADARG klass must not be empty" },
	{ "RECUR q r k false interval 60 0",
	  "BADARG data must be JSON other than false; found \"false\"" },
	{ "RECUR q r k {} daily 60 0",
	  "BADARG The fifth argument must be \"interval\" or \"cron\"; found \"daily\"" },
	{ "RECUR q r k {} cron @dayly",
	  "BADARG cron must have five or six fields, or be a word such as @daily; found "
	  "\"@dayly\"" },
	{ "RECUR q r k {} interval x 0",
	  "BADARG interval must be a number from 1 to 1e+15; found \"x\"" },
	{ "RECUR q r k {} interval 0 0",
	  "BADARG interval must be a number from 1 to 1e+15; found \"0\"" },
	{ "RECUR q r k {} interval -1 0",
	  "BADARG interval must be a number from 1 to 1e+15; found \"-1\"" },
	{ "RECUR q r k {} interval 60 x",
	  "BADARG offset must be a number from -1e+15 to 1e+15; found \"x\"" },
	{ "RECUR q r k {} interval 60 -61",
	  "BADARG offset must be a number from -60 to 1e+15; found \"-61\"" },
	{ "RECUR q r k {} interval 60 0 backlog -1",
	  "BADARG backlog must be a whole number from 0 to 1e+15; found \"-1\"" },
	{ "RECUR q r k {} interval 60 0 tags 5",
	  "BADARG tags must be a JSON array of strings; found \"5\"" },
	{ "RECUR q r k {} interval 60 0 limits [\"\"]",
	  "BADARG limits must not contain an empty name" },
	{ "RECUR.UPDATE often limits {\"a\":1}",
	  "BADARG limits must be a JSON array of strings; found \"{\"a\":1}\"" },
	{ "MULTIPUT w q 0 limits [\"a*\"] jobs j k {}",
	  "BADARG limits must not contain a pattern; found \"a*\". A name that ends in \"*\" is "
	  "for "
	  "LIMIT.SET" },
	{ "REQUEUE w q waiting k {} 0 limits 5",
	  "BADARG limits must be a JSON array of strings; found \"5\"" },
	{ "RECUR.NEXT often 0", "BADARG count must be a whole number from 1 to 1000; found \"0\"" },
	{ "RECUR.TAG often ''", "BADARG tag must not be empty" },
	{ "RECUR.TAG none t", "NOJOB Recurring job none does not exist" },
	{ "RECUR.UNTAG none t", "NOJOB Recurring job none does not exist" },
	{ "RECUR.UPDATE none priority 1", "NOJOB Recurring job none does not exist" },
	{ "RECUR.UPDATE often interval 0",
	  "BADARG interval must be a number from 1 to 1e+15; found \"0\"" },
	{ "RECUR.UPDATE often interval x", "BADARG interval must be a number; found \"x\"" },
	{ "RECUR.UPDATE often priority 1 backlog 0.5",
	  "BADARG backlog must be a whole number from 0 to 1e+15; found \"0.5\"" },
	{ "RECUR.UPDATE often data false",
	  "BADARG data must be JSON other than false; found \"false\"" },
	{ "RECUR.UPDATE often klass ''", "BADARG klass must not be empty" },
	{ "RECUR.UPDATE often queue ''", "BADARG queue must not be empty" },
	{ "REQUEUE w q none k {} 0", "NOJOB Job none does not exist" },
	{ "REQUEUE w '' waiting k {} 0", "BADARG queue must not be empty" },
	{ "REQUEUE w q waiting k {} -1", DELAY "\"-1\"" },
	{ "RETRY running '' w", "BADARG queue must not be empty" },
	{ "RETRY running q w x", DELAY "\"x\"" },
	{ "RETRY running q w -1", DELAY "\"-1\"" },
	{ "RETRY running q w 0 ''", "BADARG group must not be empty" },
	{ "RETRY running q w lock", DELAY "\"lock\"" },
	{ "RETRY running q w lock 1.5",
	  "BADARG LOCK must be the number of a hand-out, a whole number above 0; found \"1.5\"" },
	{ "RETRY none q w", "NOJOB Job none does not exist" },
	{ "RETRY waiting q w", "NOTRUNNING Job waiting is not running: its state is waiting" },
	{ "RETRY running q v", "NOTOWNER Job running is held by another worker: w" },
	{ "STATS q x",
	  "BADARG date must be a number of seconds since 1970, up to 1e+15; found \"x\"" },
	{ "STATS q -1", "BADARG date must be a number from 0 to 1e+15; found \"-1\"" },
	{ "TAG set waiting t",
	  "BADARG The first argument must be \"add\", \"remove\", \"get\" or \"top\"; "
	  "found \"set\"" },
	{ "TAG add", "BADARG jid is missing" },
	{ "TAG get", "BADARG tag is missing" },
	{ "TAG add waiting ''", "BADARG tag must not be empty" },
	{ "TAG add none t", "NOJOB Job none does not exist" },
	{ "TAG get t x", "BADARG offset must be a whole number from -1e+15 to 1e+15; found \"x\"" },
	{ "TAG top 0 -1", COUNT "\"-1\"" },
	{ "TIMEOUT none", "NOJOB Job none does not exist" },
	{ "TIMEOUT waiting", "NOTRUNNING Job waiting is not running: its state is waiting" },
	{ "TRACK track", "BADARG jid is missing" },
	{ "TRACK follow waiting",
	  "BADARG The action must be \"track\" or \"untrack\"; found \"follow\"" },
	{ "TRACK track none", "NOJOB Job none does not exist" },
	{ "UNFAIL '' group", "BADARG queue must not be empty" },
	{ "UNFAIL q group x", COUNT "\"x\"" },
	{ "UNFAIL q group -1", COUNT "\"-1\"" },
	{ "UNFAIL q group 0.5", COUNT "\"0.5\"" },
	{ "WORKER.ATTACH ''", "BADARG worker must not be empty" },
	{ "WORKER.ATTACH w GRACE x",
	  "BADARG GRACE must be a number of seconds from 0 to 86400; found \"x\"" },
	{ "WORKER.ATTACH w PID 0",
	  "BADARG PID must be a whole number from 1 to 2147483647; found \"0\"" },
	{ "WORKER.ATTACH w NODE ''", "BADARG node must not be empty" },
	{ "WORKER.ATTACH w EXCLUSIVE q",
	  "BADARG EXCLUSIVE allows one worker for each node, so it needs the option NODE" },
	{ "WORKER.DETACH ''", "BADARG worker must not be empty" },
	{ "WORKER.HEARTBEAT ''", "BADARG worker must not be empty" },
	{ "WORKER.LIST QUEUES q", "BADARG Unknown option \"QUEUES\"; did you mean \"QUEUE\"?" },
	{ "WORKER.LIST QUEUE", "BADARG Option \"QUEUE\" has no value" },
	{ "WORKER.RELEASE w RTRY", "BADARG Unknown option \"RTRY\"; did you mean \"RETRY\"?" },
};

static void an_error_names_what_was_found_and_what_was_expected(void)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		assert_error(refusals[i].line, refusals[i].error);
}

/* Commands without an argument that could be wrong. */
static const char *const harmless[] = {
	"config.get",	     "config.unset", "endpoint.get", "endpoint.list", "get",
	"job.result",	     "job.why",	     "length",	     "multiget",      "multiheartbeat",
	"queue.forget",	     "queues",	     "recur.get",    "unpause",	      "unrecur",
	"worker.deregister", "workers",
};

static void each_command_has_a_refusal_here(void)
{
	for (size_t i = 0; i < queue_command_rows.count; i++) {
		const char *name = queue_command_rows.rows[i].name;
		bool is_known = false;

		for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++)
			is_known |= strcmp(harmless[k], name) == 0;
		for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++)
			is_known |= row_of(refusals[k].line) == row_of(name);
		TEST_ASSERT_TRUE_MESSAGE(is_known, name);
	}
}

static void a_long_or_unprintable_argument_is_quoted_in_part(void)
{
	char argument[300], expected[600];

	memset(argument, 'x', sizeof argument - 1);
	argument[sizeof argument - 1] = '\0';
	snprintf(expected, sizeof expected,
		 "-BADARG "
		 "count must be a whole number from 0 to 1e+15; found \"%.128s\" "
		 "(expected: PEEK queue count)\r\n",
		 argument);
	ASSERT_NATIVE(expected, &f, "peek", "q", argument);
	ASSERT_NATIVE("-BADARG count must be a whole number from 0 to 1e+15; found \"a\\n\\x7fb\" "
		      "(expected: PEEK queue count)\r\n",
		      &f, "peek", "q",
		      "a\n\x7f"
		      "b");
}

/* ---- any arguments ---- */

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 16;
}

/* Words that only make sense to somebody who knows the Lua script of the reference. */
static const char *const relics[] = {
	"*(): *",      "*table: 0x*", "*number?*[a-z0-9]high*",
	"*T_END*",     "* nil*",      "*state: false*",
	"*assertion*", "*Arg \"*",
};

static void assert_no_relic(const char *reply, const char *line)
{
	char text[2000];

	if (reply[0] != '-')
		return;
	for (size_t i = 0; i < sizeof relics / sizeof *relics; i++) {
		if (!glob_match(str_from(relics[i]), str_from(reply), false))
			continue;
		snprintf(text, sizeof text, "%s: %s", line, reply);
		TEST_FAIL_MESSAGE(text);
	}
}

static void no_error_has_a_word_of_the_reference(void)
{
	static const char *const words[] = {
		"''",	 "w",	  "q",	     "j",	 "running", "waiting", "failed", "often",
		"group", "{}",	  "[]",	     "{",	 "0",	    "-1",      "0.5",	 "1e16",
		"1e999", "tags",  "depends", "priority", "retries", "next",    "delay",	 "jobs",
		"lock",	 "COUNT", "ORDER",   "interval", "on",	    "off",     "add",	 "get",
		"track", "false", "[\"j\"]", "klass",	 "data",    "queue",   "x",	 "5",
	};
	unsigned state = 7;
	char line[1000];

	for (int round = 0; round < 50000; round++) {
		const struct refusal *like =
			&refusals[next_random(&state) % (sizeof refusals / sizeof *refusals)];
		char copy[1000];
		int len = 0;

		/* One word in four is another one. */
		snprintf(copy, sizeof copy, "%s", like->line);
		for (const char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
			if (len != 0 && next_random(&state) % 4 == 0)
				word = (char *)(uintptr_t)
					words[next_random(&state) % (sizeof words / sizeof *words)];
			len += snprintf(line + len, sizeof line - (size_t)len, "%s%s",
					len != 0 ? " " : "", word);
		}
		f.now += 0.25;
		assert_no_relic(run_line(line), line);
	}
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_wrong_number_of_arguments_shows_the_synopsis);
	RUN(too_many_arguments_before_an_option_show_the_synopsis);
	RUN(an_option_without_its_value_is_refused);
	RUN(a_repeated_option_is_refused);
	RUN(an_unknown_option_is_refused_with_the_nearest_name);
	RUN(an_option_is_taken_in_any_case);
	RUN(a_word_is_taken_in_any_case);
	RUN(the_forms_of_the_reference_stay_lenient);
	RUN(an_error_names_what_was_found_and_what_was_expected);
	RUN(each_command_has_a_refusal_here);
	RUN(a_long_or_unprintable_argument_is_quoted_in_part);
	RUN(no_error_has_a_word_of_the_reference);
	return UNIT_RESULT();
}
