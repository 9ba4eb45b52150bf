#include "config/config.h"

#include "sys/log.h"
#include "unit.h"

static struct config cfg;
static struct buf error;
static struct buf seen;

void setUp(void)
{
	config_init(&cfg);
	buf_init(&error, BUF_NO_MAX);
	buf_init(&seen, BUF_NO_MAX);
}

void tearDown(void)
{
	config_done(&cfg);
	buf_done(&error);
	buf_done(&seen);
}

static void note(const char *name, struct qless_str value, void *arg)
{
	(void)arg;
	buf_printf(&seen, "%s=%.*s;", name, (int)value.len, value.ptr);
}

/* The reply of CONFIG GET as name=value, one after the other. */
static const char *get(const char *pattern, const char *other)
{
	struct qless_str patterns[2] = { str_from(pattern) };

	if (other != NULL)
		patterns[1] = str_from(other);
	buf_clear(&seen);
	config_get(&cfg, patterns, other != NULL ? 2 : 1, note, NULL);
	return buf_cstr(&seen);
}

/* Called with the changes; refuses if `arg` is a text. */
static int apply(const struct config *was, const struct config *now,
		 const struct config_changes *changes, struct buf *ret_error, void *arg)
{
	size_t count = 0;

	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		if (!changes->of[opt])
			continue;
		count++;
		buf_printf(&seen, "%s ", config_options[opt].name);
		config_format(was, opt, &seen);
		buf_append_str(&seen, STR(" -> "));
		config_format(now, opt, &seen);
		buf_append_char(&seen, ';');
	}
	TEST_ASSERT_EQUAL_size_t(count, changes->count);
	if (arg == NULL)
		return 0;
	buf_append_str(ret_error, str_from(arg));
	return -1;
}

/* Returns "" or the error of CONFIG SET with these words. */
static const char *set_words(const struct qless_str *words, size_t count, char *refusal)
{
	int status;

	buf_clear(&error);
	buf_clear(&seen);
	status = config_set_many(&cfg, words, count, apply, refusal, &error);
	TEST_ASSERT_EQUAL_INT(error.len != 0 ? -1 : 0, status);
	return buf_cstr(&error);
}

#define SET(...)                                                                                \
	set_words((const struct qless_str[]){ __VA_ARGS__ },                                    \
		  sizeof((const struct qless_str[]){ __VA_ARGS__ }) / sizeof(struct qless_str), \
		  NULL)

static void get_gives_plain_values(void)
{
	TEST_ASSERT_EQUAL_STRING("port=7537;", get("port", NULL));
	TEST_ASSERT_EQUAL_STRING("bind=127.0.0.1 -::1;", get("BIND", NULL));
	TEST_ASSERT_EQUAL_STRING("unixsocketperm=700;", get("unixsocketperm", NULL));
	TEST_ASSERT_EQUAL_STRING("proto-max-bulk-len=8388608;", get("proto-max-bulk-len", NULL));
	TEST_ASSERT_EQUAL_STRING("loglevel=notice;", get("loglevel", NULL));
	TEST_ASSERT_EQUAL_STRING("daemonize=no;", get("daemonize", NULL));
	TEST_ASSERT_EQUAL_STRING("logfile=;", get("logfile", NULL));
	TEST_ASSERT_EQUAL_STRING("client-output-buffer-limit=normal 1073741824 268435456 60 pubsub "
				 "33554432 8388608 60;",
				 get("client-output-buffer-limit", NULL));
}

static void get_takes_several_globs_and_names_each_directive_once(void)
{
	TEST_ASSERT_EQUAL_STRING("slowlog-log-slower-than=10000;slowlog-max-len=128;"
				 "acllog-max-len=128;",
				 get("slowlog-*", "*-max-len"));
	TEST_ASSERT_EQUAL_STRING("", get("nothing", "user"));
	get("*", NULL);
	TEST_ASSERT_NULL(strstr(buf_cstr(&seen), "user="));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&seen), "requirepass=;"));
}

static void set_changes_values_and_reports_changes(void)
{
	TEST_ASSERT_EQUAL_STRING("", SET(STR("MaxClients"), STR("50"), STR("loglevel"),
					 STR("notice"), STR("max-data-size"), STR("1mb")));
	TEST_ASSERT_EQUAL_STRING("maxclients 10000 -> 50;max-data-size 2097152 -> 1048576;",
				 buf_cstr(&seen));
	TEST_ASSERT_EQUAL_size_t(50, cfg.maxclients);
	TEST_ASSERT_EQUAL_size_t(1 << 20, cfg.max_data_bytes);
}

static void setting_the_current_value_applies_nothing(void)
{
	TEST_ASSERT_EQUAL_STRING("", SET(STR("maxclients"), STR("10000")));
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&seen));
}

static void a_text_is_taken_unchanged(void)
{
	TEST_ASSERT_EQUAL_STRING("", SET(STR("requirepass"), STR("a \"b\" # c\n")));
	TEST_ASSERT_EQUAL_STRING("a \"b\" # c\n", cfg.requirepass);
	TEST_ASSERT_EQUAL_STRING("", SET(STR("requirepass"), STR("")));
	TEST_ASSERT_EQUAL_STRING("", cfg.requirepass);
}

static void a_class_that_is_not_named_keeps_its_limits(void)
{
	TEST_ASSERT_EQUAL_STRING("",
				 SET(STR("client-output-buffer-limit"), STR("pubsub 1mb 2kb 3")));
	TEST_ASSERT_EQUAL_STRING("client-output-buffer-limit=normal 1073741824 268435456 60 pubsub "
				 "1048576 2048 3;",
				 get("client-output*", NULL));
}

static void one_bad_value_refuses_all(void)
{
	TEST_ASSERT_EQUAL_STRING("CONFIG SET failed (possibly related to argument 'timeout') - "
				 "expected a whole number from 0 to 31536000, got \"x\"",
				 SET(STR("maxclients"), STR("50"), STR("timeout"), STR("x")));
	TEST_ASSERT_EQUAL_size_t(10000, cfg.maxclients);
	TEST_ASSERT_EQUAL_STRING("", buf_cstr(&seen));
}

static void names_are_checked_before_values(void)
{
	TEST_ASSERT_EQUAL_STRING("Unknown option or number of arguments for CONFIG SET - 'nope'",
				 SET(STR("timeout"), STR("x"), STR("nope"), STR("1")));
	TEST_ASSERT_EQUAL_STRING("Unknown option or number of arguments for CONFIG SET - 'user'",
				 SET(STR("user"), STR("alice on")));
	TEST_ASSERT_EQUAL_STRING(
		"Unknown option or number of arguments for CONFIG SET - 'a\\r\\nb'",
		SET(STR("a\r\nb"), STR("1")));
	TEST_ASSERT_EQUAL_STRING("CONFIG SET failed (possibly related to argument 'port') - can't "
				 "set immutable config",
				 SET(STR("timeout"), STR("5"), STR("Port"), STR("1")));
	TEST_ASSERT_EQUAL_STRING("CONFIG SET failed (possibly related to argument 'timeout') - "
				 "duplicate parameter",
				 SET(STR("timeout"), STR("5"), STR("TIMEOUT"), STR("6")));
	TEST_ASSERT_EQUAL_STRING("wrong number of arguments for 'config|set' command",
				 SET(STR("timeout"), STR("5"), STR("maxclients")));
	TEST_ASSERT_EQUAL_STRING("wrong number of arguments for 'config|set' command",
				 set_words(NULL, 0, NULL));
	TEST_ASSERT_EQUAL_INT64(0, cfg.timeout_s);
}

static void values_that_no_file_can_hold_are_refused(void)
{
	static char big[CONFIG_VALUE_MAX_BYTES + 1];

	memset(big, 'x', sizeof big);
	TEST_ASSERT_EQUAL_STRING("CONFIG SET failed (possibly related to argument 'requirepass') - "
				 "the value is too long",
				 SET(STR("requirepass"), str_make(big, sizeof big)));
	TEST_ASSERT_EQUAL_STRING("CONFIG SET failed (possibly related to argument 'requirepass') - "
				 "a NUL byte cannot be in a value",
				 SET(STR("requirepass"), STR("a\0b")));
	TEST_ASSERT_EQUAL_STRING("CONFIG SET failed (possibly related to argument "
				 "'client-output-buffer-limit') - a quote is not closed",
				 SET(STR("client-output-buffer-limit"), STR("normal \"1 1 1")));
	TEST_ASSERT_EQUAL_STRING("CONFIG SET failed (possibly related to argument "
				 "'client-output-buffer-limit') - expected class, hard limit, soft "
				 "limit and seconds, got 1 value",
				 SET(STR("client-output-buffer-limit"), STR("")));
}

static void values_that_the_program_refuses_are_not_set(void)
{
	const struct qless_str words[] = { STR_INIT("timeout"), STR_INIT("5"),
					   STR_INIT("maxclients"), STR_INIT("900000") };
	char refusal[] = "no more than 1000 files may be open";

	TEST_ASSERT_EQUAL_STRING("CONFIG SET failed (possibly related to argument 'timeout') - no "
				 "more than 1000 files may be open",
				 set_words(words, 4, refusal));
	TEST_ASSERT_EQUAL_INT64(0, cfg.timeout_s);
	TEST_ASSERT_EQUAL_size_t(10000, cfg.maxclients);
}

static void random_settings_apply_all_or_nothing(void)
{
	static const char *const values[] = { "1", "0", "64kb",	 "yes",		 "no",
					      "",  "x", "debug", "normal 1 1 1", "1000" };
	unsigned long long seed = 11;
	int set = 0;

	for (int round = 0; round < 5000; round++) {
		struct qless_str words[4];
		char before[4096];

		for (size_t i = 0; i < 4; i += 2) {
			words[i] = str_from(
				config_options[unit_random(&seed) % CONFIG_OPT_COUNT].name);
			words[i + 1] = str_from(values[unit_random(&seed) % 10]);
		}
		snprintf(before, sizeof before, "%s", get("*", NULL));
		if (set_words(words, 4, NULL)[0] == '\0')
			set++;
		else
			TEST_ASSERT_EQUAL_STRING(before, get("*", NULL));
	}
	TEST_ASSERT_GREATER_THAN(20, set);
}

static void users_can_be_replaced_by_themselves(void)
{
	char *words[] = { (char[]){ "alice" }, (char[]){ "on" } };
	struct config_list line = { words, 2 };
	struct config_lines users = { &line, 1 };

	config_set_users(&cfg, &users);
	config_set_users(&cfg, &cfg.users);
	TEST_ASSERT_EQUAL_size_t(1, cfg.users.count);
	TEST_ASSERT_EQUAL_STRING("on", cfg.users.of[0].words[1]);
	config_set_users(&cfg, &(struct config_lines){ .count = 0 });
	TEST_ASSERT_EQUAL_size_t(0, cfg.users.count);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(get_gives_plain_values);
	RUN(get_takes_several_globs_and_names_each_directive_once);
	RUN(set_changes_values_and_reports_changes);
	RUN(setting_the_current_value_applies_nothing);
	RUN(a_text_is_taken_unchanged);
	RUN(a_class_that_is_not_named_keeps_its_limits);
	RUN(one_bad_value_refuses_all);
	RUN(names_are_checked_before_values);
	RUN(values_that_no_file_can_hold_are_refused);
	RUN(values_that_the_program_refuses_are_not_set);
	RUN(random_settings_apply_all_or_nothing);
	RUN(users_can_be_replaced_by_themselves);
	return UNIT_RESULT();
}
