/*
 * Reading the configuration again while the server runs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "wait.h"

static struct qlessd q;
static struct tempdir dir;
static char path[300];
static struct peer *p;
static int reloads;

void setUp(void)
{
	tempdir_init(&dir);
	snprintf(path, sizeof path, "%s", tempdir_file(&dir, "qlessd.conf"));
	reloads = 0;
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	tempdir_done(&dir);
}

static void start_with(const char *text)
{
	textfile_write(path, text);
	QLESSD_START(&q, path);
	p = peer_connect(&q);
}

static int count_logged(const char *what)
{
	char *text = textfile_read(q.log_path);
	int count = 0;

	for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
		count++;
	free(text);
	return count;
}

/* Replace the file, and wait until the server has taken it. */
static void reload(const char *text)
{
	textfile_write(path, text);
	kill(q.pid, SIGHUP);
	reloads++;
	WAIT_UNTIL(count_logged("configuration reloaded") == reloads);
}

static void a_reload_applies_what_changed(void)
{
	start_with("timeout 100\nslowlog-max-len 10\nloglevel notice\n");
	reload("timeout 200\nslowlog-max-len 10\nloglevel verbose\n");
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n200\r\n");
	ASK_HAS(p, "CONFIG GET loglevel", "verbose");
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "timeout is now \"200\""));
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "slowlog-max-len is now"));
	/* A line that is gone means the default. */
	reload("");
	ASK_HAS(p, "CONFIG GET timeout", "$1\r\n0\r\n");
	ASK_HAS(p, "CONFIG GET loglevel", "notice");
}

static void a_reload_keeps_what_was_set_at_run_time(void)
{
	start_with("timeout 100\n");
	ASK(p, "CONFIG SET slowlog-max-len 77 timeout 300", "+OK\r\n");
	reload("maxclients 99\ntimeout 100\n");
	ASK_HAS(p, "CONFIG GET slowlog-max-len", "$2\r\n77\r\n");
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n300\r\n");
	ASK_HAS(p, "CONFIG GET maxclients", "$2\r\n99\r\n");
	reload("maxclients 99\ntimeout 101\n");
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n101\r\n");
}

static void a_reload_names_what_needs_a_restart(void)
{
	start_with("databases 3\n");
	reload("databases 4\ntimeout 5\n");
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "databases takes its new value at the next start"));
	ASK_HAS(p, "CONFIG GET databases", "$1\r\n3\r\n");
	ASK_HAS(p, "CONFIG GET timeout", "$1\r\n5\r\n");
	ASK(p, "SELECT 3", "-ERR DB index is out of range\r\n");
	/* The server has the old value already. */
	reload("databases 3\ntimeout 5\n");
	TEST_ASSERT_EQUAL_INT(1, count_logged("databases takes its new value"));
}

static void a_file_with_an_error_changes_nothing(void)
{
	start_with("timeout 100\n");
	textfile_write(path, "timeout 200\nmaxclients none\n");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(
		&q, "cannot reload the configuration, the old one stays in use: "));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "qlessd.conf:2: maxclients: expected"));
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n100\r\n");
	/* A mended file is compared with the last one that was read. */
	reload("timeout 200\nmaxclients 50\n");
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n200\r\n");
	ASK_HAS(p, "CONFIG GET maxclients", "$2\r\n50\r\n");
}

static void a_value_that_cannot_take_effect_changes_nothing(void)
{
	q.max_files = 200;
	start_with("timeout 100\nmaxclients 50\n");
	textfile_write(path, "timeout 200\nmaxclients 100000\n");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "the system allows open files for"));
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n100\r\n");
	ASK_HAS(p, "CONFIG GET maxclients", "$2\r\n50\r\n");
	q.max_files = 0;
}

static void point_link_to(const char *link, const char *target)
{
	char fresh[300];

	snprintf(fresh, sizeof fresh, "%s", tempdir_file(&dir, "fresh"));
	TEST_ASSERT_EQUAL_INT(0, symlink(target, fresh));
	TEST_ASSERT_EQUAL_INT(0, rename(fresh, link));
}

/* Kubernetes mounts a configuration so: the link changes, and then the old file is deleted. */
static void a_reload_follows_a_link_that_has_changed(void)
{
	char old[300], new[300], *text;

	snprintf(old, sizeof old, "%s", tempdir_file(&dir, "old.conf"));
	snprintf(new, sizeof new, "%s", tempdir_file(&dir, "new.conf"));
	textfile_write(old, "timeout 100\n");
	textfile_write(new, "timeout 200\n");
	point_link_to(path, "old.conf");
	QLESSD_START(&q, path);
	p = peer_connect(&q);
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n100\r\n");
	point_link_to(path, "new.conf");
	TEST_ASSERT_EQUAL_INT(0, unlink(old));
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(count_logged("configuration reloaded") + count_logged("cannot reload") == 1);
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n200\r\n");
	/* CONFIG REWRITE keeps the link. */
	ASK(p, "CONFIG SET timeout 300", "+OK\r\n");
	ASK(p, "CONFIG REWRITE", "+OK\r\n");
	text = textfile_read(new);
	TEST_ASSERT_EQUAL_INT(0, strncmp(text, "timeout 300\n", 12));
	free(text);
}

static void the_command_line_takes_precedence(void)
{
	textfile_write(path, "timeout 100\n");
	QLESSD_START(&q, path, "--timeout", "500");
	p = peer_connect(&q);
	reload("timeout 200\nmaxclients 50\n");
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n500\r\n");
	ASK_HAS(p, "CONFIG GET maxclients", "$2\r\n50\r\n");
}

static void a_reload_sets_and_deletes_users(void)
{
	struct peer *ann, *bob;

	start_with("user ann on >pa +@all ~* &*\nuser bob on >pb +@all ~* &*\n");
	ann = peer_connect(&q);
	ASK(ann, "AUTH ann pa", "+OK\r\n");
	bob = peer_connect(&q);
	ASK(bob, "AUTH bob pb", "+OK\r\n");
	ASK(p, "ACL SETUSER eve on >pe +ping", "+OK\r\n");
	reload("user ann on >pa +@all -echo ~* &*\nuser cat on >pc +ping\n");
	ASK_HAS(ann, "ECHO a", "-NOPERM");
	ASK(ann, "PING", "+PONG\r\n");
	peer_expect_end(bob);
	ASK(p, "AUTH bob pb", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
	ASK(p, "AUTH cat pc", "+OK\r\n");
	/* The configuration does not speak of a user that was set at run time. */
	ASK(p, "AUTH eve pe", "+OK\r\n");
}

static void a_user_of_the_run_time_stays_until_config_rewrite(void)
{
	start_with("user ann on >pa +ping\n");
	ASK(p, "ACL SETUSER ann +echo", "+OK\r\n");
	reload("user ann on >pa +ping +time\n");
	ASK_HAS(p, "ACL GETUSER ann", "+echo");
	ASK(p, "CONFIG REWRITE", "+OK\r\n");
	reload("user ann on >pa +ping +time\n");
	ASK_HAS(p, "ACL GETUSER ann", "+time");
}

static void a_reload_keeps_a_password_of_the_run_time(void)
{
	start_with("requirepass old\n");
	ASK(p, "AUTH old", "+OK\r\n");
	ASK(p, "CONFIG SET requirepass new", "+OK\r\n");
	reload("requirepass old\nuser ann on >pa +ping\n");
	ASK(p, "AUTH ann pa", "+OK\r\n");
	ASK(p, "AUTH new", "+OK\r\n");
	reload("requirepass newest\nuser ann on >pa +ping\n");
	ASK(p, "AUTH newest", "+OK\r\n");
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "requirepass has changed"));
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "newest"));
}

static void a_user_line_takes_precedence_over_requirepass(void)
{
	struct peer *other;

	start_with("requirepass one\nuser default on >line +@all ~* &*\n");
	ASK(p, "AUTH line", "+OK\r\n");
	reload("requirepass two\nuser default on >line +@all ~* &*\n");
	other = peer_connect(&q);
	ASK_HAS(other, "AUTH two", "-WRONGPASS");
	ASK(other, "AUTH line", "+OK\r\n");
}

static void a_bad_user_changes_nothing(void)
{
	start_with("timeout 100\nuser ann on >pa +ping\n");
	textfile_write(path, "timeout 200\nuser ann on +nonsense\n");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "cannot reload the configuration"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "user ann: "));
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n100\r\n");
	ASK(p, "AUTH ann pa", "+OK\r\n");
}

static void config_rewrite_writes_to_a_file_of_its_own(void)
{
	char own[300], line[400], *text;

	snprintf(own, sizeof own, "%s", tempdir_file(&dir, "own.conf"));
	snprintf(line, sizeof line, "# mine\ntimeout 100\nrewrite-file %s\n", own);
	textfile_write(path, line);
	QLESSD_START(&q, path, "--maxclients", "60");
	p = peer_connect(&q);
	ASK(p, "CONFIG SET timeout 300 slowlog-max-len 7 requirepass secret", "+OK\r\n");
	ASK(p, "ACL SETUSER eve on >pe +ping", "+OK\r\n");
	ASK(p, "CONFIG REWRITE", "+OK\r\n");
	text = textfile_read(path);
	TEST_ASSERT_EQUAL_STRING(line, text);
	free(text);
	text = textfile_read(own);
	TEST_ASSERT_NOT_NULL(strstr(text, "\ntimeout 300\n"));
	TEST_ASSERT_NOT_NULL(strstr(text, "\nslowlog-max-len 7\n"));
	TEST_ASSERT_NULL(strstr(text, "maxclients"));
	TEST_ASSERT_NULL(strstr(text, "eve"));
	free(text);
	qlessd_stop(&q);
	QLESSD_START(&q, path, "--slowlog-max-len", "9");
	p = peer_connect(&q);
	ASK(p, "AUTH secret", "+OK\r\n");
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n300\r\n");
	ASK_HAS(p, "CONFIG GET slowlog-max-len", "$1\r\n9\r\n");
	/* A reload reads both files. */
	textfile_write(own, "timeout 301\nrequirepass secret\n");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "timeout is now \"301\""));
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n301\r\n");
}

static void a_rewrite_file_sets_only_what_can_change(void)
{
	char own[300], line[400];

	snprintf(own, sizeof own, "%s", tempdir_file(&dir, "own.conf"));
	snprintf(line, sizeof line, "timeout 100\nrewrite-file %s\n", own);
	start_with(line);
	textfile_write(own, "timeout 300\nrun-as root\n");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q,
				     "own.conf: run-as cannot be in this file, because it is read "
				     "at the start only"));
	textfile_write(own, "include /etc/passwd\n");
	kill(q.pid, SIGHUP);
	WAIT_UNTIL(qlessd_has_logged(&q, "own.conf:1: include: "));
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "root:"));
	ASK_HAS(p, "CONFIG GET timeout", "$3\r\n100\r\n");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_reload_applies_what_changed);
	RUN(a_reload_keeps_what_was_set_at_run_time);
	RUN(a_reload_names_what_needs_a_restart);
	RUN(a_file_with_an_error_changes_nothing);
	RUN(a_value_that_cannot_take_effect_changes_nothing);
	RUN(a_reload_follows_a_link_that_has_changed);
	RUN(the_command_line_takes_precedence);
	RUN(a_reload_sets_and_deletes_users);
	RUN(a_user_of_the_run_time_stays_until_config_rewrite);
	RUN(a_reload_keeps_a_password_of_the_run_time);
	RUN(a_user_line_takes_precedence_over_requirepass);
	RUN(a_bad_user_changes_nothing);
	RUN(config_rewrite_writes_to_a_file_of_its_own);
	RUN(a_rewrite_file_sets_only_what_can_change);
	return UNITY_END();
}
