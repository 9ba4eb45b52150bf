#include "config/config.h"

#include <sys/stat.h>
#include <syslog.h>

#include "sys/log.h"
#include "tempdir.h"
#include "unit.h"

static struct config cfg;
static struct buf error;
static struct tempdir dir;

void setUp(void)
{
	config_init(&cfg);
	buf_init(&error, BUF_NO_MAX);
	tempdir_init(&dir);
}

void tearDown(void)
{
	config_done(&cfg);
	buf_done(&error);
	tempdir_done(&dir);
}

/* Returns "" or the error. */
static const char *parse(struct qless_str text)
{
	int status;

	buf_clear(&error);
	status = config_parse_text(&cfg, "q.conf", text, &error);
	TEST_ASSERT_EQUAL_INT(error.len != 0 ? -1 : 0, status);
	return buf_cstr(&error);
}

static void defaults_come_from_the_table(void)
{
	TEST_ASSERT_EQUAL_size_t(2, cfg.bind.count);
	TEST_ASSERT_EQUAL_STRING("127.0.0.1", cfg.bind.words[0]);
	TEST_ASSERT_EQUAL_STRING("-::1", cfg.bind.words[1]);
	TEST_ASSERT_EQUAL_INT(7537, cfg.port);
	TEST_ASSERT_EQUAL_STRING("", cfg.unixsocket);
	TEST_ASSERT_EQUAL_UINT(0700, cfg.unixsocketperm);
	TEST_ASSERT_EQUAL_INT64(300, cfg.tcp_keepalive_s);
	TEST_ASSERT_EQUAL_size_t(10000, cfg.maxclients);
	TEST_ASSERT_TRUE(cfg.protected_mode);
	TEST_ASSERT_EQUAL_size_t(0, cfg.users.count);
	TEST_ASSERT_EQUAL_size_t(8u << 20, cfg.proto_max_bulk_bytes);
	TEST_ASSERT_EQUAL_size_t(1u << 30, cfg.output_limits.of[CONFIG_CLIENT_NORMAL].hard_bytes);
	TEST_ASSERT_EQUAL_size_t(8u << 20, cfg.output_limits.of[CONFIG_CLIENT_PUBSUB].soft_bytes);
	TEST_ASSERT_EQUAL_INT64(60, cfg.output_limits.of[CONFIG_CLIENT_PUBSUB].soft_s);
	TEST_ASSERT_EQUAL_INT(LOG_LEVEL_NOTICE, cfg.loglevel);
	TEST_ASSERT_EQUAL_INT(LOG_LOCAL0, cfg.syslog_facility);
	TEST_ASSERT_EQUAL_INT(CONFIG_ACCESS_NO, cfg.enable_debug_command);
	TEST_ASSERT_EQUAL_STRING(".", cfg.dir);
	TEST_ASSERT_EQUAL_INT64(10000, cfg.slowlog_slower_than_us);
	TEST_ASSERT_EQUAL_INT(0, config_check(&cfg, &error));
}

static void a_file_sets_fields_of_every_type(void)
{
	TEST_ASSERT_EQUAL_STRING("", parse(STR("# a comment\n"
					       "\n"
					       "  # another\r\n"
					       "bind 10.0.0.1 -fe80::1\r\n"
					       "PORT 0\n"
					       "timeout\t3600\n"
					       "unixsocket \"/tmp/a b\"\n"
					       "unixsocketperm 770\n"
					       "protected-mode No\n"
					       "proto-max-bulk-len 1MB\n"
					       "max-inline-length 2k\n"
					       "slowlog-log-slower-than -1\n"
					       "loglevel DEBUG\n"
					       "log-format logfmt\n"
					       "syslog-facility local7\n"
					       "supervised auto\n"
					       "client-output-buffer-limit pubsub 1mb 0 10\n"
					       "logfile ''")));
	TEST_ASSERT_EQUAL_size_t(2, cfg.bind.count);
	TEST_ASSERT_EQUAL_STRING("-fe80::1", cfg.bind.words[1]);
	TEST_ASSERT_EQUAL_INT(0, cfg.port);
	TEST_ASSERT_EQUAL_INT64(3600, cfg.timeout_s);
	TEST_ASSERT_EQUAL_STRING("/tmp/a b", cfg.unixsocket);
	TEST_ASSERT_EQUAL_UINT(0770, cfg.unixsocketperm);
	TEST_ASSERT_FALSE(cfg.protected_mode);
	TEST_ASSERT_EQUAL_size_t(1024 * 1024, cfg.proto_max_bulk_bytes);
	TEST_ASSERT_EQUAL_size_t(2000, cfg.max_inline_bytes);
	TEST_ASSERT_EQUAL_INT64(-1, cfg.slowlog_slower_than_us);
	TEST_ASSERT_EQUAL_INT(LOG_LEVEL_DEBUG, cfg.loglevel);
	TEST_ASSERT_EQUAL_INT(LOG_FORMAT_LOGFMT, cfg.log_format);
	TEST_ASSERT_EQUAL_INT(LOG_LOCAL7, cfg.syslog_facility);
	TEST_ASSERT_EQUAL_INT(CONFIG_SUPERVISED_AUTO, cfg.supervised);
	TEST_ASSERT_EQUAL_size_t(1 << 20, cfg.output_limits.of[CONFIG_CLIENT_PUBSUB].hard_bytes);
	TEST_ASSERT_EQUAL_size_t(0, cfg.output_limits.of[CONFIG_CLIENT_PUBSUB].soft_bytes);
	TEST_ASSERT_EQUAL_size_t(1u << 30, cfg.output_limits.of[CONFIG_CLIENT_NORMAL].hard_bytes);
	TEST_ASSERT_EQUAL_STRING("", cfg.logfile);
}

static void the_last_of_several_lines_counts_but_users_add_up(void)
{
	TEST_ASSERT_EQUAL_STRING("", parse(STR("port 1\nport 2\n"
					       "user alice on #0a1b ~* \"a b\"\n"
					       "user bob off\n")));
	TEST_ASSERT_EQUAL_INT(2, cfg.port);
	TEST_ASSERT_EQUAL_size_t(2, cfg.users.count);
	TEST_ASSERT_EQUAL_size_t(5, cfg.users.of[0].count);
	TEST_ASSERT_EQUAL_STRING("alice", cfg.users.of[0].words[0]);
	TEST_ASSERT_EQUAL_STRING("#0a1b", cfg.users.of[0].words[2]);
	TEST_ASSERT_EQUAL_STRING("a b", cfg.users.of[0].words[4]);
	TEST_ASSERT_EQUAL_STRING("bob", cfg.users.of[1].words[0]);
}

static void an_empty_list_is_written_as_an_empty_word(void)
{
	TEST_ASSERT_EQUAL_STRING("", parse(STR("bind \"\"\n")));
	TEST_ASSERT_EQUAL_size_t(0, cfg.bind.count);
}

static void errors_name_the_line_the_directive_and_what_was_expected(void)
{
	static const struct {
		const char *line;
		const char *error;
	} cases[] = {
		{ "maxclients many",
		  "maxclients: expected a whole number from 1 to 1000000, got \"many\"" },
		{ "maxclients 0",
		  "maxclients: expected a whole number from 1 to 1000000, got \"0\"" },
		{ "maxclients 1000001",
		  "maxclients: expected a whole number from 1 to 1000000, got \"1000001\"" },
		{ "maxclients 99999999999999999999",
		  "maxclients: expected a whole number from 1 to 1000000, got "
		  "\"99999999999999999999\"" },
		{ "MaxClients 1.5",
		  "maxclients: expected a whole number from 1 to 1000000, got \"1.5\"" },
		{ "port -1", "port: expected a whole number from 0 to 65535, got \"-1\"" },
		{ "port", "port: expected a whole number from 0 to 65535, got nothing" },
		{ "port 1 2", "port: expected a whole number from 0 to 65535, got 2 values" },
		{ "port \"\"", "port: expected a whole number from 0 to 65535, got \"\"" },
		{ "slowlog-log-slower-than -2",
		  "slowlog-log-slower-than: expected a whole number from -1 to 3600000000, got "
		  "\"-2\"" },
		{ "daemonize maybe", "daemonize: expected yes or no, got \"maybe\"" },
		{ "daemonize 1", "daemonize: expected yes or no, got \"1\"" },
		{ "loglevel loud",
		  "loglevel: expected debug, verbose, notice or warning, got \"loud\"" },
		{ "log-format json", "log-format: expected text or logfmt, got \"json\"" },
		{ "max-data-size 1",
		  "max-data-size: expected a size from 1kb to 512mb, got \"1\"" },
		{ "max-data-size 1gb",
		  "max-data-size: expected a size from 1kb to 512mb, got \"1gb\"" },
		{ "max-data-size 16 mb",
		  "max-data-size: expected a size from 1kb to 512mb, got 2 values" },
		{ "max-data-size 16mib",
		  "max-data-size: expected a size from 1kb to 512mb, got \"16mib\"" },
		{ "proto-max-bulk-len 99999999999gb",
		  "proto-max-bulk-len: expected a size from 1kb to 4096gb, got "
		  "\"99999999999gb\"" },
		{ "unixsocketperm 789",
		  "unixsocketperm: expected octal permissions from 0 to 777, got \"789\"" },
		{ "unixsocketperm 1777",
		  "unixsocketperm: expected octal permissions from 0 to 777, got \"1777\"" },
		{ "dir", "dir: expected one value, got nothing" },
		{ "dir a b", "dir: expected one value, got 2 values" },
		{ "requirepass top secret", "requirepass: expected one value, got 2 values" },
		{ "bind", "bind: expected one or more values, got nothing" },
		{ "bind a \"\"", "bind: expected no empty value among others" },
		{ "user", "user: expected a name and rules, got nothing" },
		{ "client-output-buffer-limit",
		  "client-output-buffer-limit: expected class, hard limit, soft limit and "
		  "seconds, got 0 values" },
		{ "client-output-buffer-limit normal",
		  "client-output-buffer-limit: expected class, hard limit, soft limit and "
		  "seconds, got 1 value" },
		{ "client-output-buffer-limit slow 0 0 0",
		  "client-output-buffer-limit: expected a class, normal or pubsub, got \"slow\"" },
		{ "client-output-buffer-limit normal x 0 0",
		  "client-output-buffer-limit: expected a size as hard limit, got \"x\"" },
		{ "client-output-buffer-limit normal 0 -1 0",
		  "client-output-buffer-limit: expected a size as soft limit, got \"-1\"" },
		{ "client-output-buffer-limit normal 0 0 -1",
		  "client-output-buffer-limit: expected seconds from 0 to 31536000 for the soft "
		  "limit, got \"-1\"" },
		{ "maxclient 5", "\"maxclient\": unknown directive; did you mean maxclients?" },
		{ "MAXCLIENT 5", "\"MAXCLIENT\": unknown directive; did you mean maxclients?" },
		{ "prt 5", "\"prt\": unknown directive; did you mean port?" },
		{ "work 5", "\"work\": unknown directive" },
		{ "save 900 1", "\"save\": unknown directive" },
		{ "\"\" x", "\"\": unknown directive" },
		{ "port \"7", "\"port\": a quote is not closed" },
		{ "\"port", "a quote is not closed" },
		{ "dir \"a\"b", "\"dir\": a closing quote must end the word" },
		{ "dir \"a\\x00\"", "\"dir\": a NUL byte cannot be in a word" },
		{ "include", "include: expected one path" },
		{ "include a b", "include: expected one path" },
		{ "include nowhere", "nowhere: cannot read the file: No such file or directory" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char text[300], expected[300];

		snprintf(text, sizeof text, "# first\nport 1\n%s\nport 2\n", cases[i].line);
		snprintf(expected, sizeof expected, "q.conf:3: %s", cases[i].error);
		TEST_ASSERT_EQUAL_STRING(expected, parse(str_from(text)));
		TEST_ASSERT_EQUAL_INT(7537, cfg.port);
	}
}

static void a_value_that_is_too_long_is_refused(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	buf_append_str(&text, STR("requirepass "));
	for (size_t i = 0; i < CONFIG_VALUE_MAX_BYTES; i++)
		buf_append_char(&text, 'p');
	TEST_ASSERT_EQUAL_STRING("", parse(buf_str(&text)));
	buf_append_char(&text, 'p');
	TEST_ASSERT_EQUAL_STRING("q.conf:1: requirepass: expected no more than 32768 bytes in 1024 "
				 "words, got 32769 in 1",
				 parse(buf_str(&text)));
	buf_done(&text);
}

static void a_file_is_read_with_the_files_it_includes(void)
{
	tempdir_write(&dir, "main", STR("port 1\ninclude sub\ntimeout 9\n"));
	tempdir_write(&dir, "sub", STR("port 2\ntimeout 8\nmaxclients 7\n"));
	TEST_ASSERT_EQUAL_INT(0, config_parse_file(&cfg, tempdir_file(&dir, "main"), &error));
	TEST_ASSERT_EQUAL_INT(2, cfg.port);
	TEST_ASSERT_EQUAL_INT64(9, cfg.timeout_s);
	TEST_ASSERT_EQUAL_size_t(7, cfg.maxclients);
}

static void a_directory_is_read_in_the_order_of_names(void)
{
	char line[300];

	tempdir_write(&dir, "10-first.conf", STR("port 1\ntimeout 1\nmaxclients 1\n"));
	tempdir_write(&dir, "20-second.conf", STR("timeout 2\nmaxclients 2\n"));
	tempdir_write(&dir, "9-last.conf", STR("maxclients 9\n"));
	tempdir_write(&dir, "30-second.conf.dpkg-old", STR("port 30\n"));
	tempdir_write(&dir, ".hidden.conf", STR("port 40\n"));
	tempdir_write(&dir, "notes", STR("this is no configuration\n"));
	snprintf(line, sizeof line, "port 7\ninclude %s\n", dir.path);
	TEST_ASSERT_EQUAL_STRING("", parse(str_from(line)));
	TEST_ASSERT_EQUAL_INT(1, cfg.port);
	TEST_ASSERT_EQUAL_INT64(2, cfg.timeout_s);
	TEST_ASSERT_EQUAL_size_t(9, cfg.maxclients);
}

static void a_pattern_is_read_in_the_order_of_names(void)
{
	tempdir_write(&dir, "main", STR("include ?-*.conf\ninclude [x]*\ntimeout 9\n"));
	TEST_ASSERT_EQUAL_INT(0, config_parse_file(&cfg, tempdir_file(&dir, "main"), &error));
	tempdir_write(&dir, "2-port.conf", STR("port 2\n"));
	tempdir_write(&dir, "1-port.conf", STR("port 1\ntimeout 8\n"));
	tempdir_write(&dir, "10-port.conf", STR("port 10\n"));
	TEST_ASSERT_EQUAL_INT(0, config_parse_file(&cfg, tempdir_file(&dir, "main"), &error));
	TEST_ASSERT_EQUAL_INT(2, cfg.port);
	TEST_ASSERT_EQUAL_INT64(9, cfg.timeout_s);
}

static void a_directory_that_everybody_can_write_to_is_not_read(void)
{
	static const char why[] = ": everybody may write to the directory, and so decide what the "
				  "server does: chmod o-w it";
	char line[300], expected[600];

	tempdir_write(&dir, "a.conf", STR("port 1\n"));
	TEST_ASSERT_EQUAL_INT(0, chmod(dir.path, 0777));
	snprintf(line, sizeof line, "include %s\n", dir.path);
	snprintf(expected, sizeof expected, "q.conf:1: %s%s", dir.path, why);
	TEST_ASSERT_EQUAL_STRING(expected, parse(str_from(line)));
	snprintf(line, sizeof line, "include %s/*.conf\n", dir.path);
	TEST_ASSERT_EQUAL_STRING(expected, parse(str_from(line)));
	TEST_ASSERT_EQUAL_INT(0, chmod(dir.path, 0700));
	TEST_ASSERT_EQUAL_STRING("", parse(str_from(line)));
}

static void too_many_included_files_are_refused(void)
{
	char name[32], line[300];

	for (int i = 0; i <= CONFIG_INCLUDE_MAX_FILES; i++) {
		snprintf(name, sizeof name, "%d.conf", i);
		tempdir_write(&dir, name, STR(""));
	}
	snprintf(line, sizeof line, "include %s\n", dir.path);
	TEST_ASSERT_EQUAL_STRING("q.conf:1: include: expected no more than 1000 files",
				 parse(str_from(line)));
	unlink(tempdir_file(&dir, name));
	TEST_ASSERT_EQUAL_STRING("", parse(str_from(line)));
}

static void an_error_in_an_included_file_names_both_places(void)
{
	char expected[300];

	tempdir_write(&dir, "main", STR("\ninclude sub\n"));
	tempdir_write(&dir, "sub", STR("port x\n"));
	TEST_ASSERT_EQUAL_INT(-1, config_parse_file(&cfg, tempdir_file(&dir, "main"), &error));
	snprintf(expected, sizeof expected,
		 "%s/main:2: %s/sub:1: port: expected a whole number from 0 to 65535, got \"x\"",
		 dir.path, dir.path);
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&error));
}

static void a_file_that_includes_itself_is_refused(void)
{
	tempdir_write(&dir, "main", STR("include main\n"));
	TEST_ASSERT_EQUAL_INT(-1, config_parse_file(&cfg, tempdir_file(&dir, "main"), &error));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&error),
				    ":1: include: expected no more than 8 files in one another"));
}

static void a_file_that_cannot_be_read_is_an_error(void)
{
	char expected[300];

	TEST_ASSERT_EQUAL_INT(-1, config_parse_file(&cfg, "/nowhere/q.conf", &error));
	TEST_ASSERT_EQUAL_STRING("/nowhere/q.conf: cannot read the file: No such file or directory",
				 buf_cstr(&error));
	buf_clear(&error);
	TEST_ASSERT_EQUAL_INT(-1, config_parse_file(&cfg, dir.path, &error));
	snprintf(expected, sizeof expected, "%s: cannot read the file: Is a directory", dir.path);
	TEST_ASSERT_EQUAL_STRING(expected, buf_cstr(&error));
}

#define ARGS(...)                                                    \
	char *argv_[] = { (char[]){ "qlessd" }, __VA_ARGS__, NULL }; \
	int argc_ = sizeof argv_ / sizeof argv_[0] - 1
#define A(text) ((char[]){ text })

static void arguments_set_directives_up_to_the_next_one(void)
{
	ARGS(A("--port"), A("1234"), A("--bind"), A("10.0.0.1"), A("-::1"), A("--logfile"), A(""),
	     A("--user"), A("alice"), A("on"), A("--user"), A("bob"), A("--Timeout"), A("5"));

	TEST_ASSERT_EQUAL_INT(0, config_parse_args(&cfg, argc_, argv_, &error));
	TEST_ASSERT_EQUAL_size_t(0, error.len);
	TEST_ASSERT_EQUAL_INT(1234, cfg.port);
	TEST_ASSERT_EQUAL_size_t(2, cfg.bind.count);
	TEST_ASSERT_EQUAL_STRING("-::1", cfg.bind.words[1]);
	TEST_ASSERT_EQUAL_size_t(2, cfg.users.count);
	TEST_ASSERT_EQUAL_STRING("bob", cfg.users.of[1].words[0]);
	TEST_ASSERT_EQUAL_INT64(5, cfg.timeout_s);
}

static const char *parse_args(int argc, char **argv)
{
	buf_clear(&error);
	TEST_ASSERT_EQUAL_INT(-1, config_parse_args(&cfg, argc, argv, &error));
	TEST_ASSERT_EQUAL_INT64(0, cfg.timeout_s);
	return buf_cstr(&error);
}

static void errors_in_arguments_are_reported_and_change_nothing(void)
{
	{
		ARGS(A("--timeout"), A("5"), A("--port"), A("x"));
		TEST_ASSERT_EQUAL_STRING("command line: port: expected a whole number from 0 to "
					 "65535, got \"x\"",
					 parse_args(argc_, argv_));
	}
	{
		ARGS(A("--timeout"), A("5"), A("--timeuot"), A("5"));
		TEST_ASSERT_EQUAL_STRING("command line: \"timeuot\": unknown directive; did you "
					 "mean timeout?",
					 parse_args(argc_, argv_));
	}
	{
		ARGS(A("--port"));
		TEST_ASSERT_EQUAL_STRING("command line: port: expected a whole number from 0 to "
					 "65535, got nothing",
					 parse_args(argc_, argv_));
	}
	{
		ARGS(A("-p"), A("5"));
		TEST_ASSERT_EQUAL_STRING("\"-p\": expected --directive", parse_args(argc_, argv_));
	}
}

static void flags_and_the_file_are_removed_from_any_place(void)
{
	ARGS(A("--check-config"), A("/etc/q.conf"), A("--port"), A("1"), A("--version"));

	TEST_ASSERT_FALSE(config_args_take_flag(&argc_, argv_, "--help"));
	TEST_ASSERT_TRUE(config_args_take_flag(&argc_, argv_, "--check-config"));
	TEST_ASSERT_TRUE(config_args_take_flag(&argc_, argv_, "--version"));
	TEST_ASSERT_EQUAL_STRING("/etc/q.conf", config_args_take_file(&argc_, argv_));
	TEST_ASSERT_NULL(config_args_take_file(&argc_, argv_));
	TEST_ASSERT_EQUAL_INT(3, argc_);
	TEST_ASSERT_NULL(argv_[3]);
	TEST_ASSERT_EQUAL_INT(0, config_parse_args(&cfg, argc_, argv_, &error));
	TEST_ASSERT_EQUAL_INT(1, cfg.port);
}

static void rules_between_directives_are_checked(void)
{
	TEST_ASSERT_EQUAL_STRING("", parse(STR("port 0\n")));
	TEST_ASSERT_EQUAL_INT(-1, config_check(&cfg, &error));
	TEST_ASSERT_EQUAL_STRING(
		"port: nothing to listen on: there is no tls-port and no unixsocket either",
		buf_cstr(&error));
	TEST_ASSERT_EQUAL_STRING("", parse(STR("port 1\nbind ''\n")));
	TEST_ASSERT_EQUAL_INT(-1, config_check(&cfg, &error));
	TEST_ASSERT_EQUAL_STRING("bind: nothing to listen on: there is no unixsocket either",
				 buf_cstr(&error));
	TEST_ASSERT_EQUAL_STRING("", parse(STR("unixsocket /x\n")));
	TEST_ASSERT_EQUAL_INT(0, config_check(&cfg, &error));
	TEST_ASSERT_EQUAL_STRING("", parse(STR("daemonize yes\nsupervised systemd\n")));
	TEST_ASSERT_EQUAL_INT(-1, config_check(&cfg, &error));
	TEST_ASSERT_EQUAL_STRING("daemonize: expected no, because supervised is systemd, got yes",
				 buf_cstr(&error));
}

static void rules_of_tls_are_checked(void)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "tls-port 1\n", "tls-cert-file: tls-port needs a certificate and its key: "
				  "tls-cert-file and tls-key-file" },
		{ "tls-port 1\ntls-cert-file c\n",
		  "tls-key-file: tls-port needs a certificate and its key: tls-cert-file and "
		  "tls-key-file" },
		{ "tls-port 1\ntls-cert-file c\ntls-key-file k\n",
		  "tls-auth-clients: certificates of clients can only be checked with a "
		  "tls-ca-cert-file or tls-ca-cert-dir; no asks for none" },
		{ "tls-port 7537\n",
		  "tls-port: 7537 is port already; the two need ports of their own" },
		{ "tls-protocols 'TLSv1.3 SSLv3'\n", "tls-protocols: expected TLSv1.2, TLSv1.3 or "
						     "both, got \"TLSv1.3 SSLv3\"" },
		{ "port 0\nbind ''\ntls-port 1\n",
		  "bind: nothing to listen on: there is no unixsocket either" },
		{ "port 0\ntls-port 1\ntls-cert-file c\ntls-key-file k\ntls-auth-clients no\n",
		  "" },
		{ "tls-port 1\ntls-cert-file c\ntls-key-file k\ntls-ca-cert-dir d\n"
		  "tls-protocols tlsv1.3\n",
		  "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		config_done(&cfg);
		config_init(&cfg);
		buf_clear(&error);
		TEST_ASSERT_EQUAL_STRING("", parse(str_from(cases[i].text)));
		config_check(&cfg, &error);
		TEST_ASSERT_EQUAL_STRING(cases[i].error, buf_cstr(&error));
	}
}

/* Lines of meaningful pieces and random bytes. */
static void append_random_line(unsigned long long *seed, struct buf *text)
{
	static const char *const pieces[] = {
		" ",
		"\"",
		"'",
		"\\",
		"\\x4",
		"#",
		"user ",
		"include ",
		"yes",
		"1",
		"gb",
		"-1",
		"99999999",
		"\t",
		"normal 1 1 1",
		"client-output-buffer-limit ",
		"port",
		"dir",
		"bind",
		"requirepass",
	};
	size_t count = unit_random(seed) % 12;

	if (unit_random(seed) % 2 == 0)
		buf_printf(text, "%s ", config_options[unit_random(seed) % CONFIG_OPT_COUNT].name);
	for (size_t i = 0; i < count; i++) {
		if (unit_random(seed) % 4 == 0)
			buf_append_char(text, (char)unit_random(seed));
		else
			buf_append_str(text, str_from(pieces[unit_random(seed) %
							     (sizeof pieces / sizeof pieces[0])]));
	}
	buf_append_char(text, '\n');
}

static void random_lines_are_taken_or_refused_in_one_line(void)
{
	unsigned long long seed = 42;
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int taken = 0;

	for (int round = 0; round < 20000; round++) {
		const char *said;

		buf_clear(&text);
		append_random_line(&seed, &text);
		said = parse(buf_str(&text));
		TEST_ASSERT_EQUAL_size_t(error.len, strlen(said));
		for (const char *c = said; *c != '\0'; c++)
			TEST_ASSERT_TRUE((unsigned char)*c >= ' ');
		if (said[0] == '\0') {
			taken++;
		} else {
			TEST_ASSERT_EQUAL_INT(0, strncmp(said, "q.conf:", 7));
		}
	}
	TEST_ASSERT_GREATER_THAN(1000, taken);
	buf_done(&text);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(defaults_come_from_the_table);
	RUN(a_file_sets_fields_of_every_type);
	RUN(the_last_of_several_lines_counts_but_users_add_up);
	RUN(an_empty_list_is_written_as_an_empty_word);
	RUN(errors_name_the_line_the_directive_and_what_was_expected);
	RUN(a_value_that_is_too_long_is_refused);
	RUN(a_file_is_read_with_the_files_it_includes);
	RUN(a_directory_is_read_in_the_order_of_names);
	RUN(a_pattern_is_read_in_the_order_of_names);
	RUN(a_directory_that_everybody_can_write_to_is_not_read);
	RUN(too_many_included_files_are_refused);
	RUN(an_error_in_an_included_file_names_both_places);
	RUN(a_file_that_includes_itself_is_refused);
	RUN(a_file_that_cannot_be_read_is_an_error);
	RUN(arguments_set_directives_up_to_the_next_one);
	RUN(errors_in_arguments_are_reported_and_change_nothing);
	RUN(flags_and_the_file_are_removed_from_any_place);
	RUN(rules_between_directives_are_checked);
	RUN(rules_of_tls_are_checked);
	RUN(random_lines_are_taken_or_refused_in_one_line);
	return UNIT_RESULT();
}
