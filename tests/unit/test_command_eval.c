/*
 * EVAL and SCRIPT without a server.
 */
#include <math.h>

#include "call.h"

#include "command/databases.h"
#include "command/scripts.h"
#include "luatext.h"
#include "server/commands.h"

#define SHA_UNKNOWN "0123456789abcdef0123456789abcdef01234567"
#define NOSCRIPT    "-NOSCRIPT No matching script. Please use EVAL.\r\n"

static struct call_fixture f;
static char sha[SCRIPT_SHA_BYTES + 1]; /* of LUATEXT_CLASSIC */
static double noted_now;
static struct buf warning;

/* Refuses the times after 1000. */
static const char *refuse_now(void *arg, struct session *session, double now)
{
	(void)arg;
	TEST_ASSERT_EQUAL_INT(1, session->id);
	noted_now = now;
	return now > 1000 ? "CLOCKSKEW too far" : NULL;
}

static void warn(void *arg, struct qless_str line)
{
	(void)arg;
	buf_append_str(&warning, line);
}

void setUp(void)
{
	struct qless_hooks hooks = { .hash_seed = 1 };

	call_setup(&f, commands_new(/* has_group= */ false));
	f.env.databases = databases_new(2, &hooks);
	f.env.scripts = scripts_new(1, NULL);
	f.env.now_refusal = refuse_now;
	f.env.warn = warn;
	buf_init(&warning, BUF_NO_MAX);
	noted_now = (double)NAN;
	scripts_compute_sha(STR(LUATEXT_CLASSIC), sha);
}

void tearDown(void)
{
	buf_done(&warning);
	databases_free(f.env.databases);
	scripts_free(f.env.scripts);
	call_teardown(&f);
}

static void load(void)
{
	char reply[64];

	snprintf(reply, sizeof reply, "$40\r\n%s\r\n", sha);
	ASSERT_REPLY(reply, &f, "SCRIPT", "LOAD", LUATEXT_CLASSIC);
}

/* Expects an error of the script; @@ in the format stands for its SHA-1. */
static void assert_error(const char *format, const char *reply)
{
	struct buf expected = BUF_INIT(4096);

	for (; *format != '\0'; format++) {
		if (*format == '@' && format[1] == '@')
			buf_append(&expected, sha, SCRIPT_SHA_BYTES), format++;
		else
			buf_append_char(&expected, *format);
	}
	TEST_ASSERT_EQUAL_STRING(buf_cstr(&expected), reply);
	buf_done(&expected);
}

#define ASSERT_SCRIPT_ERROR(message, ...)                                                  \
	assert_error("-ERR user_script:1: " message " script: @@, on @user_script:1.\r\n", \
		     CALL(&f, __VA_ARGS__))
#define ASSERT_STORE_ERROR(message, ...) \
	assert_error("-ERR " message " script: @@, on @user_script:1.\r\n", CALL(&f, __VA_ARGS__))

static void a_loaded_script_is_called_by_its_sha(void)
{
	load();
	ASSERT_REPLY("$1\r\nj\r\n", &f, "EVALSHA", sha, "0", "put", "1", "w", "q", "j", "k", "{}",
		     "0");
	ASSERT_REPLY(":1\r\n", &f, "EVALSHA", sha, "0", "length", "1", "q");
}

static void a_sha_may_be_in_upper_case(void)
{
	char upper[SCRIPT_SHA_BYTES + 1] = { 0 };

	load();
	for (int i = 0; i < SCRIPT_SHA_BYTES; i++)
		upper[i] = (char)(sha[i] >= 'a' ? sha[i] - 'a' + 'A' : sha[i]);
	ASSERT_REPLY(":0\r\n", &f, "EVALSHA", upper, "0", "length", "1", "q");
	ASSERT_SCRIPT_ERROR("Unknown command x", "EVALSHA", upper, "0", "x");
	ASSERT_REPLY("*2\r\n:1\r\n:1\r\n", &f, "SCRIPT", "EXISTS", upper, sha);
}

static void eval_loads_its_script(void)
{
	ASSERT_REPLY(NOSCRIPT, &f, "EVALSHA", sha, "0", "length", "1", "q");
	ASSERT_REPLY(":0\r\n", &f, "EVAL", LUATEXT_CLASSIC, "0", "length", "1", "q");
	ASSERT_REPLY(":0\r\n", &f, "EVALSHA", sha, "0", "length", "1", "q");
	ASSERT_REPLY("+OK\r\n", &f, "SCRIPT", "FLUSH");
	ASSERT_REPLY(NOSCRIPT, &f, "EVALSHA", sha, "0", "length", "1", "q");
	ASSERT_REPLY(":0\r\n", &f, "EVAL_RO", LUATEXT_CLASSIC, "0", "length", "1", "q");
	ASSERT_REPLY(":0\r\n", &f, "EVALSHA_RO", sha, "0", "length", "1", "q");
}

static void an_unknown_sha_gets_noscript(void)
{
	ASSERT_REPLY(NOSCRIPT, &f, "EVALSHA", SHA_UNKNOWN, "0");
	ASSERT_REPLY(NOSCRIPT, &f, "EVALSHA_RO", SHA_UNKNOWN, "0");
	ASSERT_REPLY(NOSCRIPT, &f, "EVALSHA", "abc", "0");
	ASSERT_REPLY(NOSCRIPT, &f, "EVALSHA", "abc", "x");
	ASSERT_REPLY(NOSCRIPT, &f, "EVALSHA", "", "0");
}

static void the_number_of_keys_is_checked_first(void)
{
	static const char integer[] = "-ERR value is not an integer or out of range\r\n";
	static const char greater[] =
		"-ERR Number of keys can't be greater than number of args\r\n";
	static const char negative[] = "-ERR Number of keys can't be negative\r\n";

	load();
	ASSERT_REPLY(integer, &f, "EVAL", "any", "x");
	ASSERT_REPLY(integer, &f, "EVAL", "any", "1.5");
	ASSERT_REPLY(integer, &f, "EVAL", "any", "99999999999999999999");
	ASSERT_REPLY(integer, &f, "EVALSHA", SHA_UNKNOWN, "");
	ASSERT_REPLY(greater, &f, "EVAL", "any", "1");
	ASSERT_REPLY(greater, &f, "EVALSHA", sha, "2", "a");
	ASSERT_REPLY(greater, &f, "EVALSHA", sha, "9223372036854775807", "a");
	ASSERT_REPLY(negative, &f, "EVAL", "any", "-1");
	ASSERT_REPLY(negative, &f, "EVALSHA_RO", SHA_UNKNOWN, "-9223372036854775808");
}

static void errors_of_a_call_look_like_those_of_the_script(void)
{
	load();
	ASSERT_SCRIPT_ERROR("No Keys should be provided", "EVALSHA", sha, "1", "key", "length", "1",
			    "q");
	ASSERT_SCRIPT_ERROR("No Keys should be provided", "EVAL", LUATEXT_CLASSIC, "1", "key");
	ASSERT_SCRIPT_ERROR("Must provide a command", "EVALSHA", sha, "0");
	ASSERT_SCRIPT_ERROR("Unknown command resource.set", "EVALSHA", sha, "0", "resource.set",
			    "1", "r");
	ASSERT_SCRIPT_ERROR("Unknown command popByJid", "EVALSHA", sha, "0", "popByJid", "1");
	ASSERT_SCRIPT_ERROR("Unknown command PUT", "EVALSHA", sha, "0", "PUT", "1");
	ASSERT_SCRIPT_ERROR("Unknown command a b", "EVALSHA", sha, "0", "a\nb", "1");
	ASSERT_SCRIPT_ERROR("Arg \"now\" missing or not a number: nil", "EVALSHA", sha, "0", "get",
			    "soon", "j");
	ASSERT_SCRIPT_ERROR("Heartbeat(): Job j does not exist", "EVALSHA", sha, "0", "heartbeat",
			    "1", "j", "w");
}

static void an_error_of_the_store_has_no_line(void)
{
	load();
	ASSERT_STORE_ERROR("value is not an integer or out of range", "EVALSHA", sha, "0", "jobs",
			   "1", "complete", "0.5");
}

static void errors_can_look_like_those_before_redis_7(void)
{
	load();
	f.env.envelope = SCRIPT_ENVELOPE_REDIS6;
	assert_error("-ERR Error running script (call to f_@@): @user_script:1: "
		     "user_script:1: Unknown command x\r\n",
		     CALL(&f, "EVALSHA", sha, "0", "x"));
	assert_error("-ERR Error running script (call to f_@@): @user_script:1: "
		     "ERR value is not an integer or out of range\r\n",
		     CALL(&f, "EVALSHA", sha, "0", "jobs", "1", "complete", "0.5"));
	f.session.db = 1;
	assert_error("-ERR Error running script (call to f_@@): @user_script:1: "
		     "user_script:1: Must provide a command\r\n",
		     CALL(&f, "EVALSHA", sha, "0"));
	f.env.envelope = SCRIPT_ENVELOPE_REDIS7;
	ASSERT_SCRIPT_ERROR("Must provide a command", "EVALSHA", sha, "0");
}

static void replies_look_like_those_of_a_script(void)
{
	load();
	ASSERT_REPLY("$2\r\n{}\r\n", &f, "EVALSHA", sha, "0", "peek", "1", "q", "5");
	ASSERT_REPLY("*0\r\n", &f, "EVALSHA", sha, "0", "jobs", "1", "complete");
	ASSERT_REPLY("$-1\r\n", &f, "EVALSHA", sha, "0", "get", "1", "j");
	CALL(&f, "EVALSHA", sha, "0", "put", "1", "w", "q", "j", "k", "{}", "0");
	CALL(&f, "EVALSHA", sha, "0", "pop", "1.5", "q", "w", "1");
	ASSERT_REPLY(":62\r\n", &f, "EVALSHA", sha, "0", "heartbeat", "2.75", "j", "w");
	call_use_proto(&f, 3);
	ASSERT_REPLY("_\r\n", &f, "EVALSHA", sha, "0", "get", "1", "none");
	ASSERT_REPLY("$2\r\n{}\r\n", &f, "EVALSHA", sha, "0", "peek", "1", "q", "5");
	ASSERT_REPLY("*0\r\n", &f, "EVALSHA", sha, "0", "jobs", "1", "complete");
	ASSERT_REPLY(":1\r\n", &f, "EVALSHA", sha, "0", "length", "1", "q");
}

static void a_read_only_script_may_not_write(void)
{
	load();
	ASSERT_STORE_ERROR("Write commands are not allowed from read-only scripts.", "EVALSHA_RO",
			   sha, "0", "put", "1", "w", "q", "j", "k", "{}", "0");
	ASSERT_STORE_ERROR("Write commands are not allowed from read-only scripts.", "EVAL_RO",
			   LUATEXT_CLASSIC, "0", "pop", "1", "q", "w", "1");
	ASSERT_SCRIPT_ERROR("Unknown command x", "EVALSHA_RO", sha, "0", "x");
	ASSERT_REPLY("$-1\r\n", &f, "EVALSHA_RO", sha, "0", "get", "1", "j");
	TEST_ASSERT_NULL(strstr(CALL(&f, "EVALSHA", sha, "0", "queues", "1"), "\"q\""));
}

static void a_read_only_script_lists_without_promoting_due_jobs(void)
{
	load();
	CALL(&f, "EVALSHA", sha, "0", "put", "1", "w", "q", "j", "k", "{}", "5");
	TEST_ASSERT_NOT_NULL(
		strstr(CALL(&f, "EVALSHA_RO", sha, "0", "queues", "9", "q"), "\"scheduled\":1"));
	ASSERT_REPLY("$2\r\n{}\r\n", &f, "EVALSHA_RO", sha, "0", "peek", "9", "q", "5");
	ASSERT_REPLY("*1\r\n$1\r\nj\r\n", &f, "EVALSHA_RO", sha, "0", "jobs", "9", "scheduled",
		     "q");
	ASSERT_REPLY("$2\r\n{}\r\n", &f, "EVAL_RO", LUATEXT_CLASSIC, "0", "workers", "9");
	TEST_ASSERT_NOT_NULL(
		strstr(CALL(&f, "EVALSHA_RO", sha, "0", "get", "9", "j"), "\"scheduled\""));
	ASSERT_REPLY("*0\r\n", &f, "EVALSHA", sha, "0", "jobs", "9", "scheduled", "q");
}

static void other_scripts_are_refused(void)
{
	static const char refusal[] = "-ERR qlessd is a server for job queues and runs qless "
				      "scripts only: this one does not define the commands "
				      "of qless; libraries that keep their jobs in Redis "
				      "itself, such as BullMQ, Sidekiq, RQ and Celery, need "
				      "Redis\r\n";

	ASSERT_REPLY(refusal, &f, "SCRIPT", "LOAD", "return 1");
	ASSERT_REPLY(refusal, &f, "EVAL", "return 1", "0");
	ASSERT_REPLY(refusal, &f, "EVAL_RO", "", "0");
	TEST_ASSERT_EQUAL_INT(0, scripts_count(f.env.scripts));
}

static void options_that_only_the_script_knows_are_refused(void)
{
	ASSERT_REPLY("$1\r\nj\r\n", &f, "EVAL", LUATEXT_FORK, "0", "put", "1", "w", "q", "j", "k",
		     "{}", "0", "tags", "[]", "color", "red");
	scripts_compute_sha(STR(LUATEXT_FORK), sha);
	ASSERT_SCRIPT_ERROR("Put(): qlessd lacks the option \"throttles\" of this script",
			    "EVALSHA", sha, "0", "put", "1", "w", "q", "j", "k", "{}", "0", "tags",
			    "[]", "throttles", "[\"t\"]");
	ASSERT_SCRIPT_ERROR("Recur(): qlessd lacks the option \"resources\" of this script",
			    "EVALSHA", sha, "0", "recur", "1", "q", "r", "k", "{}", "interval", "5",
			    "0", "resources", "[]");
	/* Elsewhere they are unknown options, which are ignored. */
	ASSERT_REPLY("$1\r\nj\r\n", &f, "QLESS", "put", "1", "w", "q", "j", "k", "{}", "0",
		     "throttles", "[]");
	ASSERT_REPLY("$1\r\nj\r\n", &f, "EVAL", LUATEXT_CLASSIC, "0", "put", "1", "w", "q", "j",
		     "k", "{}", "0", "throttles", "[]");
}

static void a_warning_names_what_a_script_has_and_qlessd_lacks(void)
{
	char line[250];

	load();
	ASSERT_STR("", buf_str(&warning));
	scripts_compute_sha(STR(LUATEXT_FORK), sha);
	snprintf(line, sizeof line,
		 "script %s has commands or options that qlessd lacks, and calls that use them "
		 "fail; commands: "
		 "throttle.set; options of put: throttles resources",
		 sha);
	CALL(&f, "SCRIPT", "LOAD", LUATEXT_FORK);
	CALL(&f, "SCRIPT", "LOAD", LUATEXT_FORK);
	TEST_ASSERT_EQUAL_STRING(line, buf_cstr(&warning));
}

/* Another dialect is another table of words and spellings. */
static void a_script_speaks_the_dialect_that_it_was_stored_with(void)
{
	static const struct dialect_message messages[] = {
		{ QLESS_OP_FAIL, QLESS_WHY_NO_JOB, NULL, "Fail(): Job does not exist" },
	};
	static const struct dialect_text texts[] = {
		{ "Complete(): Arg \"queue\" missing", "Complete(): Arg \"queue_name\" missing" },
		{ "Pop(): Arg \"count\" missing or not a number: ",
		  "Pop(): Arg \"limit\" missing or not a number: " },
		{ "%s(): Arg \"count\" must not be negative: %g",
		  "%s(): Arg \"limit\" must not be negative: %g" },
	};
	static const struct dialect_option options[] = {
		{ STR_INIT("application"), STR_INIT("other") },
		{ STR_INIT("heartbeat"), { NULL, 0 } },
	};
	static const struct dialect other = {
		.name = STR_INIT("other"),
		.messages = messages,
		.message_count = 1,
		.texts = texts,
		.text_count = 3,
		.options = options,
		.option_count = 2,
		.in_scripts = { JSON_EMPTY_ARRAY, JSON_EMPTY_OBJECT, JSON_PUT_QUEUE, false, false,
				false },
	};
	const char *job;

	memcpy(sha, SHA_UNKNOWN, sizeof sha);
	TEST_ASSERT_NOT_NULL(scripts_add(f.env.scripts, str_from(sha), &other, NULL, 0));
	ASSERT_SCRIPT_ERROR("Fail(): Job does not exist", "EVALSHA", sha, "0", "fail", "1", "j",
			    "w", "g", "m");
	ASSERT_SCRIPT_ERROR("Complete(): Arg \"queue_name\" missing", "EVALSHA", sha, "0",
			    "complete", "1", "j", "w");
	ASSERT_SCRIPT_ERROR("Pop(): Arg \"limit\" missing or not a number: x", "EVALSHA", sha, "0",
			    "pop", "1", "q", "w", "x");
	ASSERT_SCRIPT_ERROR("Pop(): Arg \"limit\" must not be negative: -1", "EVALSHA", sha, "0",
			    "pop", "1", "q", "w", "-1");
	ASSERT_REPLY("$2\r\n[]\r\n", &f, "EVALSHA", sha, "0", "pop", "1", "q", "w", "1");
	ASSERT_REPLY("$40\r\n{\"application\":\"other\",\"heartbeat\":\"60\"}\r\n", &f, "EVALSHA",
		     sha, "0", "config.get", "1");
	ASSERT_REPLY("$2\r\n60\r\n", &f, "EVALSHA", sha, "0", "config.get", "1", "heartbeat");
	ASSERT_REPLY("$-1\r\n", &f, "EVALSHA", sha, "0", "config.get", "1", "grace-period");
	CALL(&f, "EVALSHA", sha, "0", "put", "1", "w", "q", "j", "k", "{}", "0");
	job = CALL(&f, "EVALSHA", sha, "0", "get", "1", "j");
	TEST_ASSERT_NOT_NULL(strstr(job, "\"tags\":{}"));
	TEST_ASSERT_NOT_NULL(strstr(job, "\"history\":[{\"when\":1,\"queue\":\"q\","));
	/* QLESS is classic. */
	ASSERT_REPLY("-ERR Fail(): Job xdoes not exist\r\n", &f, "QLESS", "fail", "1", "x", "w",
		     "g", "m");
}

static void exists_says_which_scripts_are_loaded(void)
{
	load();
	ASSERT_REPLY("*3\r\n:0\r\n:1\r\n:0\r\n", &f, "SCRIPT", "EXISTS", SHA_UNKNOWN, sha, "abc");
	ASSERT_REPLY("+OK\r\n", &f, "SCRIPT", "FLUSH", "async");
	ASSERT_REPLY("*1\r\n:0\r\n", &f, "SCRIPT", "EXISTS", sha);
}

static void flush_accepts_sync_or_async(void)
{
	static const char error[] = "-ERR SCRIPT FLUSH only support SYNC|ASYNC option\r\n";

	load();
	ASSERT_REPLY(error, &f, "SCRIPT", "FLUSH", "now");
	ASSERT_REPLY(error, &f, "SCRIPT", "FLUSH", "SYNC", "ASYNC");
	ASSERT_REPLY("*1\r\n:1\r\n", &f, "SCRIPT", "EXISTS", sha);
	ASSERT_REPLY("+OK\r\n", &f, "SCRIPT", "FLUSH", "SYNC");
}

static void script_kill_never_finds_a_script(void)
{
	ASSERT_REPLY("-NOTBUSY No scripts in execution right now.\r\n", &f, "SCRIPT", "KILL");
}

static void the_number_of_scripts_is_limited(void)
{
	char other[SCRIPT_SHA_BYTES + 1];

	for (int i = 0; i < SCRIPTS_MAX; i++) {
		snprintf(other, sizeof other, "%040x", (unsigned)i);
		scripts_add(f.env.scripts, str_from(other), &dialect_classic, NULL, 0);
	}
	ASSERT_REPLY("-ERR 1024 scripts are loaded, and no more are taken; SCRIPT FLUSH forgets "
		     "them\r\n",
		     &f, "SCRIPT", "LOAD", LUATEXT_CLASSIC);
}

static void the_time_of_a_client_is_noted_if_its_command_runs(void)
{
	load();
	CALL(&f, "EVALSHA", sha, "0", "x", "12");
	CALL(&f, "EVALSHA", sha, "0", "get", "soon", "j");
	CALL(&f, "EVALSHA_RO", sha, "0", "cancel", "12", "j");
	TEST_ASSERT_TRUE(isnan(noted_now));
	CALL(&f, "EVALSHA", sha, "0", "get", "12.5", "j");
	TEST_ASSERT_TRUE(noted_now == 12.5);
	CALL(&f, "QLESS", "get", "13", "j");
	TEST_ASSERT_TRUE(noted_now == 13);
}

static void a_time_that_is_refused_changes_nothing(void)
{
	load();
	CALL(&f, "QLESS", "put", "12", "w", "q", "j", "k", "{}", "0");
	ASSERT_REPLY("-CLOCKSKEW too far\r\n", &f, "QLESS", "pop", "1001", "q", "w", "1");
	TEST_ASSERT_NOT_NULL(strstr(CALL(&f, "EVALSHA", sha, "0", "pop", "1001", "q", "w", "1"),
				    "-CLOCKSKEW too far"));
	ASSERT_REPLY(":1\r\n", &f, "QLESS", "length", "13", "q");
}

static void permissions_hold_in_all_forms(void)
{
	struct qless_str no_cancel = STR("-cancel");
	struct buf error = BUF_INIT(1024);

	load();
	TEST_ASSERT_TRUE(acl_set_user(f.env.acl, STR("default"), &no_cancel, 1, &error));
	ASSERT_STORE_ERROR("The user executing the script can't run this command or subcommand",
			   "EVALSHA", sha, "0", "cancel", "1", "j");
	ASSERT_REPLY("-NOPERM this user has no permissions to run the 'cancel' command\r\n", &f,
		     "QLESS", "cancel", "1", "j");
	ASSERT_REPLY("$-1\r\n", &f, "EVALSHA", sha, "0", "get", "1", "j");
	buf_done(&error);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_loaded_script_is_called_by_its_sha);
	RUN(a_sha_may_be_in_upper_case);
	RUN(eval_loads_its_script);
	RUN(an_unknown_sha_gets_noscript);
	RUN(the_number_of_keys_is_checked_first);
	RUN(errors_of_a_call_look_like_those_of_the_script);
	RUN(an_error_of_the_store_has_no_line);
	RUN(errors_can_look_like_those_before_redis_7);
	RUN(replies_look_like_those_of_a_script);
	RUN(a_read_only_script_may_not_write);
	RUN(a_read_only_script_lists_without_promoting_due_jobs);
	RUN(other_scripts_are_refused);
	RUN(options_that_only_the_script_knows_are_refused);
	RUN(a_warning_names_what_a_script_has_and_qlessd_lacks);
	RUN(a_script_speaks_the_dialect_that_it_was_stored_with);
	RUN(exists_says_which_scripts_are_loaded);
	RUN(flush_accepts_sync_or_async);
	RUN(script_kill_never_finds_a_script);
	RUN(the_number_of_scripts_is_limited);
	RUN(the_time_of_a_client_is_noted_if_its_command_runs);
	RUN(a_time_that_is_refused_changes_nothing);
	RUN(permissions_hold_in_all_forms);
	return UNIT_RESULT();
}
