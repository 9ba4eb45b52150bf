/*
 * Users with patterns of keys and channels, over real connections: subscriptions, transactions,
 * ACL LOG, and users after a restart.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "tempdir.h"
#include "textfile.h"
#include "unit.h"
#include "util/buf.h"

#define NO_KEY	   "-NOPERM No permissions to access a key\r\n"
#define NO_CHANNEL "-NOPERM No permissions to access a channel\r\n"

static struct tempdir dir;
static struct qlessd q;
static struct peer *p;	  /* may do everything */
static struct peer *mail; /* is the user of that name */

/* Users: `mail` may use its queues and the channels of its workers. */
static void start(void)
{
	QLESSD_START(&q, "--dir", dir.path);
	p = peer_connect(&q);
	ASK(p, "ACL SETUSER mail on >pw ~mail* &ql:w:* &chat +@all", "+OK\r\n");
	ASK(p, "PUT w bank b1 k {} 0", "$2\r\nb1\r\n");
	mail = peer_connect(&q);
	ASK(mail, "AUTH mail pw", "+OK\r\n");
}

void setUp(void)
{
	tempdir_init(&dir);
	q = (struct qlessd){ 0 };
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	tempdir_done(&dir);
}

/* ---- channels ---- */

static void the_channel_of_a_queue_needs_a_rule(void)
{
	start();
	ASK(mail, "SUBSCRIBE ql:q:mail:events", NO_CHANNEL);
	ASK(p, "ACL SETUSER mail &ql:q:mail:events", "+OK\r\n");
	ASK(mail, "SUBSCRIBE ql:q:bank:events", NO_CHANNEL);
	ASK(mail, "PSUBSCRIBE ql:q:*", NO_CHANNEL);
	ASK(mail, "SUBSCRIBE ql:q:mail:events",
	    "*3\r\n$9\r\nsubscribe\r\n$16\r\nql:q:mail:events\r\n:1\r\n");
	ASK(p, "PUT w bank b2 k {} 0", "$2\r\nb2\r\n");
	ASK(p, "PUT w mail m1 k {} 0", "$2\r\nm1\r\n");
	peer_expect(mail, "*3\r\n$7\r\nmessage\r\n$16\r\nql:q:mail:events\r\n"
			  "$41\r\n{\"jid\":\"m1\",\"event\":\"put\",\"queue\":\"mail\"}\r\n");
}

static void a_user_subscribes_to_its_own_channels(void)
{
	start();
	ASK(mail, "SUBSCRIBE ql:log", NO_CHANNEL);
	ASK(mail, "SUBSCRIBE ql:w:1 ql:log", NO_CHANNEL);
	ASK(mail, "PSUBSCRIBE *", NO_CHANNEL);
	/* A pattern needs the same pattern in the rules, as in Redis. */
	ASK(mail, "PSUBSCRIBE ql:w:1*", NO_CHANNEL);
	ASK(p, "PUBSUB CHANNELS", "*0\r\n");
	ASK(mail, "PSUBSCRIBE ql:w:*", "*3\r\n$10\r\npsubscribe\r\n$6\r\nql:w:*\r\n:1\r\n");
	ASK(mail, "SUBSCRIBE chat ql:w:1",
	    "*3\r\n$9\r\nsubscribe\r\n$4\r\nchat\r\n:2\r\n"
	    "*3\r\n$9\r\nsubscribe\r\n$6\r\nql:w:1\r\n:3\r\n");
	ASK(p, "PUBLISH chat hello", ":1\r\n");
	peer_expect(mail, "*3\r\n$7\r\nmessage\r\n$4\r\nchat\r\n$5\r\nhello\r\n");
	ASK(p, "PUBLISH other x", ":0\r\n");
}

static void a_user_publishes_on_its_own_channels(void)
{
	struct peer *other;

	start();
	other = peer_connect(&q);
	peer_ask(other, "SUBSCRIBE chat other");
	peer_skip_replies(other, 1);
	ASK(mail, "PUBLISH chat 1", ":1\r\n");
	ASK(mail, "PUBLISH other 1", NO_CHANNEL);
	ASK_HAS(mail, "PUBLISH ql:w:1 1", "the user lacks +@events");
	ASK(mail, "PUBSUB CHANNELS", "*1\r\n$4\r\nchat\r\n");
	ASK(mail, "PUBSUB NUMSUB chat other", "*4\r\n$4\r\nchat\r\n:1\r\n$5\r\nother\r\n:0\r\n");
}

static void patterns_of_keys_alone_give_no_channels(void)
{
	start();
	ASK(p, "ACL SETUSER narrow on nopass ~mail +@all", "+OK\r\n");
	ASK_HAS(p, "ACL LIST", "user narrow on nopass ~mail resetchannels +@all\r\n");
	ASK(mail, "AUTH narrow x", "+OK\r\n");
	ASK(mail, "SUBSCRIBE ql:log", NO_CHANNEL);
}

static void subscriptions_end_when_the_user_loses_the_channel(void)
{
	struct peer *stays, *by_pattern, *monitor;

	start();
	stays = peer_connect(&q);
	by_pattern = peer_connect(&q);
	monitor = peer_connect(&q);
	ASK(stays, "AUTH mail pw", "+OK\r\n");
	ASK(by_pattern, "AUTH mail pw", "+OK\r\n");
	ASK_HAS(mail, "SUBSCRIBE chat", "chat");
	ASK_HAS(stays, "SUBSCRIBE ql:w:1", "ql:w:1");
	ASK_HAS(by_pattern, "PSUBSCRIBE ql:w:*", "ql:w:*");
	ASK(p, "ACL SETUSER mail &more", "+OK\r\n");
	ASK(p, "PUBLISH chat x", ":1\r\n");
	peer_expect(mail, "*3\r\n$7\r\nmessage\r\n$4\r\nchat\r\n$1\r\nx\r\n");
	ASK(p, "ACL SETUSER mail resetchannels &ql:w:? &ql:w:*", "+OK\r\n");
	peer_expect_end(mail);
	ASK(p, "ACL SETUSER mail resetchannels &ql:w:?", "+OK\r\n");
	peer_expect_end(by_pattern);
	ASK(p, "PUBSUB NUMSUB chat ql:w:1", "*4\r\n$4\r\nchat\r\n:0\r\n$6\r\nql:w:1\r\n:1\r\n");
	ASK(p, "PUBSUB NUMPAT", ":0\r\n");
	/* A monitor sees everything. */
	ASK(p, "ACL SETUSER boss on nopass +@all", "+OK\r\n");
	ASK(monitor, "AUTH boss x", "+OK\r\n");
	ASK(monitor, "MONITOR", "+OK\r\n");
	ASK(p, "ACL SETUSER boss resetkeys", "+OK\r\n");
	peer_expect_end(monitor);
	ASK_HAS(stays, "PING", "pong");
}

/* ---- transactions ---- */

static void a_transaction_is_checked_when_it_is_queued_and_when_it_runs(void)
{
	start();
	ASK(mail, "MULTI", "+OK\r\n");
	ASK(mail, "POP bank w 1", NO_KEY);
	ASK(mail, "EXEC", "-EXECABORT Transaction discarded because of previous errors.\r\n");
	/* A job that does not exist yet may be named. */
	ASK(mail, "MULTI", "+OK\r\n");
	ASK(mail, "PUT w mail j1 k {} 0", "+QUEUED\r\n");
	ASK(mail, "LOG j1 text", "+QUEUED\r\n");
	ASK(mail, "GET b1", "+QUEUED\r\n");
	ASK(mail, "HGETALL ql:j:b1", "+QUEUED\r\n");
	ASK(mail, "QLESS get 1 b1", "+QUEUED\r\n");
	ASK(mail, "EXEC", "*5\r\n$2\r\nj1\r\n$-1\r\n" NO_KEY NO_KEY NO_KEY);
	ASK(mail, "MULTI", "+OK\r\n");
	ASK(mail, "LENGTH mail", "+QUEUED\r\n");
	ASK(mail, "PUBLISH chat x", "+QUEUED\r\n");
	ASK(p, "ACL SETUSER mail resetkeys ~other resetchannels", "+OK\r\n");
	ASK(mail, "EXEC", "*2\r\n" NO_KEY NO_CHANNEL);
	ASK(p, "LENGTH bank", ":1\r\n");
}

/* ---- what the server tells ---- */

/* Puts 400 jobs with the tag `many` into each queue, in turns. */
static void put_many(void)
{
	struct buf batch = BUF_INIT(BUF_NO_MAX);

	for (int i = 0; i < 800; i++)
		buf_printf(&batch, "PUT w %s n%03d k {} 0 tags '[\"many\"]'\r\n",
			   i % 2 == 0 ? "mail" : "bank", i);
	peer_send(p, buf_data(&batch), batch.len);
	peer_skip_replies(p, 800);
	buf_done(&batch);
}

/* The reply is made over several turns. */
static void a_long_listing_shows_only_the_jobs_of_the_user(void)
{
	start();
	put_many();
	ASK(mail, "TAG get many 0 2", "$36\r\n{\"jobs\":[\"n000\",\"n002\"],\"total\":400}\r\n");
	ASK(mail, "TAG get many 399 5", "$29\r\n{\"jobs\":[\"n798\"],\"total\":400}\r\n");
	ASK(mail, "TAG get many -1 1", "$29\r\n{\"jobs\":[\"n798\"],\"total\":400}\r\n");
	ASK_HAS(p, "TAG get many 0 1", "\"total\":800}");
	ASK(mail, "TAG top", "$8\r\n[\"many\"]\r\n");
	ASK_LACKS(mail, "KEYS ql:j:*", "ql:j:n001\r\n");
	ASK_HAS(mail, "KEYS ql:j:*", "*800\r\n");
	ASK_LACKS(mail, "QUEUES", "bank");
}

static void info_names_only_the_queues_of_the_user(void)
{
	start();
	ASK(p, "PUT w mail j1 k {} 0", "$2\r\nj1\r\n");
	ASK_HAS(mail, "INFO queues", "name=mail,");
	ASK_LACKS(mail, "INFO queues", "bank");
	ASK_HAS(p, "INFO queues", "name=bank,");
}

static void monitor_and_slowlog_are_for_users_of_all_queues(void)
{
	start();
	ASK(mail, "MONITOR", NO_KEY);
	ASK(mail, "SLOWLOG GET", NO_KEY);
	ASK(mail, "FLUSHALL", NO_KEY);
	ASK(mail, "MEMORY QUEUES", NO_KEY);
	ASK(p, "LENGTH bank", ":1\r\n");
}

#define ENTRY(count, reason, context, object, user)                   \
	"*20\r\n$5\r\ncount\r\n:" count "\r\n$6\r\nreason\r\n" reason \
	"\r\n$7\r\ncontext\r\n" context "\r\n$6\r\nobject\r\n" object \
	"\r\n$8\r\nusername\r\n" user "\r\n$11\r\nage-seconds\r\n"

static void acl_log_tells_what_was_refused(void)
{
	start();
	ASK(p, "ACL LOG", "*0\r\n");
	ASK(mail, "GET b1", NO_KEY);
	ASK(mail, "GET b1", NO_KEY);
	ASK_HAS(p, "ACL LOG",
		"*1\r\n" ENTRY("2", "$3\r\nkey", "$8\r\ntoplevel", "$2\r\nb1", "$4\r\nmail"));
	ASK_HAS(p, "ACL LOG", "$11\r\nclient-info\r\n");
	ASK_HAS(p, "ACL LOG", " cmd=");
	ASK(mail, "PUBLISH other x", NO_CHANNEL);
	ASK_HAS(p, "ACL LOG 1",
		"*1\r\n" ENTRY("1", "$7\r\nchannel", "$8\r\ntoplevel", "$5\r\nother",
			       "$4\r\nmail"));
	ASK(p, "ACL SETUSER mail -echo", "+OK\r\n");
	ASK_HAS(mail, "ECHO x", "-NOPERM ");
	ASK_HAS(p, "ACL LOG 1",
		"*1\r\n" ENTRY("1", "$7\r\ncommand", "$8\r\ntoplevel", "$4\r\necho", "$4\r\nmail"));
	ASK_HAS(mail, "AUTH mail wrong", "-WRONGPASS");
	ASK_HAS(p, "ACL LOG 1",
		"*1\r\n" ENTRY("1", "$4\r\nauth", "$8\r\ntoplevel", "$4\r\nauth", "$4\r\nmail"));
	ASK(mail, "MULTI", "+OK\r\n");
	ASK(mail, "POP bank w 1", NO_KEY);
	ASK_HAS(p, "ACL LOG 1",
		"*1\r\n" ENTRY("1", "$3\r\nkey", "$5\r\nmulti", "$4\r\nbank", "$4\r\nmail"));
	ASK(mail, "DISCARD", "+OK\r\n");
	ASK(mail, "MULTI", "+OK\r\n");
	ASK(mail, "TAG add b1 x", "+QUEUED\r\n");
	ASK(mail, "EXEC", "*1\r\n" NO_KEY);
	ASK_HAS(p, "ACL LOG 1",
		"*1\r\n" ENTRY("1", "$3\r\nkey", "$5\r\nmulti", "$2\r\nb1", "$4\r\nmail"));
	ASK(mail, "MULTIHEARTBEAT w b1", "*1\r\n" NO_KEY);
	ASK_HAS(p, "ACL LOG 1",
		"*1\r\n" ENTRY("3", "$3\r\nkey", "$8\r\ntoplevel", "$2\r\nb1", "$4\r\nmail"));
	ASK_HAS(p, "ACL LOG", "*6\r\n");
	TEST_ASSERT_EQUAL_INT64(5, peer_ask_number(p, "INFO stats", "acl_access_denied_key:"));
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO stats", "acl_access_denied_channel:"));
	TEST_ASSERT_EQUAL_INT64(1, peer_ask_number(p, "INFO stats", "acl_access_denied_cmd:"));
	TEST_ASSERT_EQUAL_INT64(6, peer_ask_number(p, "INFO stats", "acl_log_len:"));
	ASK(p, "ACL LOG x", "-ERR value is not an integer or out of range\r\n");
	ASK(p, "ACL LOG -1", "*0\r\n");
	ASK(p, "CONFIG SET acllog-max-len 2", "+OK\r\n");
	ASK_HAS(p, "ACL LOG", "*2\r\n");
	ASK(p, "ACL LOG RESET", "+OK\r\n");
	ASK(p, "ACL LOG", "*0\r\n");
	ASK(p, "CONFIG SET acllog-max-len 0", "+OK\r\n");
	ASK(mail, "GET b1", NO_KEY);
	ASK(p, "ACL LOG", "*0\r\n");
}

static void getuser_shows_the_patterns(void)
{
	start();
	ASK_HAS(p, "ACL GETUSER mail", "$4\r\nkeys\r\n$6\r\n~mail*\r\n");
	ASK_HAS(p, "ACL GETUSER mail", "$8\r\nchannels\r\n$13\r\n&ql:w:* &chat\r\n");
	ASK_HAS(p, "ACL GETUSER default",
		"$4\r\nkeys\r\n$2\r\n~*\r\n$8\r\nchannels\r\n$2\r\n&*\r\n");
	ASK(p, "ACL SETUSER mail resetkeys resetchannels", "+OK\r\n");
	ASK_HAS(p, "ACL GETUSER mail", "$4\r\nkeys\r\n$0\r\n\r\n$8\r\nchannels\r\n$0\r\n\r\n");
}

/* ---- users after a restart ---- */

static void start_with_users(const char *lines)
{
	textfile_write(tempdir_file(&dir, "qlessd.conf"), lines);
	QLESSD_START(&q, tempdir_file(&dir, "qlessd.conf"), "--dir", dir.path);
	p = peer_connect(&q);
}

static void stop(void)
{
	peer_close_all();
	qlessd_stop(&q);
}

static void patterns_survive_a_restart(void)
{
	start_with_users("");
	ASK(p, "ACL SETUSER mail on nopass ~mail* %R~x\"'\\#y %W~z &ql:w:* +@all", "+OK\r\n");
	ASK(p, "ACL SETUSER none on nopass resetkeys +@all", "+OK\r\n");
	stop();
	start_with_users("");
	ASK_HAS(p, "ACL LIST",
		"user mail on nopass ~mail* %R~x\"'\\#y %W~z resetchannels &ql:w:* "
		"+@all\r\n");
	ASK_HAS(p, "ACL LIST", "user none on nopass resetkeys resetchannels +@all\r\n");
	ASK(p, "CONFIG REWRITE", "+OK\r\n");
	stop();
	QLESSD_START(&q, tempdir_file(&dir, "qlessd.conf"), "--dir", dir.path);
	p = peer_connect(&q);
	ASK_HAS(p, "ACL LIST",
		"user mail on nopass ~mail* %R~x\"'\\#y %W~z resetchannels &ql:w:* "
		"+@all\r\n");
	ASK_HAS(p, "ACL LIST", "user none on nopass resetkeys resetchannels +@all\r\n");
	ASK(p, "AUTH mail x", "+OK\r\n");
	ASK(p, "LENGTH mail", ":0\r\n");
	ASK(p, "LENGTH bank", NO_KEY);
}

/* Lines as 0.1.0 documents them, and as people copy them from a Redis. */
static void users_without_patterns_may_use_all_queues(void)
{
	static const char *const names[] = { "worker", "copied", "flags" };

	start_with_users("user worker on nopass +@all -@admin -@dangerous\n"
			 "user copied on nopass sanitize-payload ~* &* +@all\n"
			 "user flags on nopass allkeys allchannels +@all\n"
			 "user mail on nopass ~mail* +@qless\n");
	ASK(p, "PUT w bank b1 k {} 0", "$2\r\nb1\r\n");
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char words[64];

		snprintf(words, sizeof words, "AUTH %s x", names[i]);
		ASK(p, words, "+OK\r\n");
		ASK(p, "LENGTH bank", ":1\r\n");
		ASK_HAS(p, "QUEUES", "bank");
		ASK(p, "PUBLISH mine x", ":0\r\n");
	}
	ASK(p, "AUTH mail x", "+OK\r\n");
	ASK(p, "LENGTH bank", NO_KEY);
	ASK(p, "PUT w mail m1 k {} 0", "$2\r\nm1\r\n");
}

static void a_user_line_with_a_wrong_pattern_stops_the_start(void)
{
	char *output;

	textfile_write(tempdir_file(&dir, "qlessd.conf"), "user mail on nopass ~* ~mail* +@all\n");
	TEST_ASSERT_NOT_EQUAL_INT(
		0, QLESSD_RUN(&output, tempdir_file(&dir, "qlessd.conf"), "--dir", dir.path));
	TEST_ASSERT_NOT_NULL(strstr(output, "user mail: Error in ACL SETUSER modifier '~mail*'"));
	free(output);
}

#define NO_COMMAND(name) "-NOPERM this user has no permissions to run the '" name "' command\r\n"

static void roles_have_what_their_users_need(void)
{
	struct peer *shop, *worker, *carla, *grafana;

	start_with_users("user shop on nopass +@producer\nuser worker on nopass +@worker\n"
			 "user carla on nopass +@operator\nuser grafana on nopass +@dashboard\n");
	shop = peer_connect(&q);
	ASK(shop, "AUTH shop x", "+OK\r\n");
	ASK(shop, "PING", "+PONG\r\n");
	ASK(shop, "CLIENT SETINFO LIB-NAME redis-py", "+OK\r\n");
	ASK(shop, "QLESS put 1 w q j k {} 0", "$1\r\nj\r\n");
	ASK(shop, "PUT w q j2 k {} 0", "$2\r\nj2\r\n");
	ASK(shop, "POP q w 1", NO_COMMAND("pop"));
	ASK_HAS(shop, "QLESS pop 1 q w 1", "-NOPERM");
	ASK(shop, "CONFIG.SET heartbeat 60", NO_COMMAND("config.set"));
	worker = peer_connect(&q);
	ASK(worker, "AUTH worker x", "+OK\r\n");
	ASK(worker, "PING", "+PONG\r\n");
	ASK_HAS(worker, "BPOP 1 w 1 q", "\"jid\":\"j\"");
	ASK(worker, "COMPLETE j w q {}", "$8\r\ncomplete\r\n");
	ASK(worker, "CONFIG.SET heartbeat 60", NO_COMMAND("config.set"));
	ASK(worker, "PUT w q j3 k {} 0", NO_COMMAND("put"));
	ASK(worker, "SUBSCRIBE ql:w:w", "*3\r\n$9\r\nsubscribe\r\n$6\r\nql:w:w\r\n:1\r\n");
	grafana = peer_connect(&q);
	ASK(grafana, "AUTH grafana x", "+OK\r\n");
	ASK(grafana, "PING", "+PONG\r\n");
	ASK_HAS(grafana, "QUEUES", "\"waiting\":1");
	ASK_HAS(grafana, "QLESS queues 1", "\"waiting\":1");
	ASK_HAS(grafana, "INFO server", "qlessd_version:");
	ASK(grafana, "PUT w q j3 k {} 0", NO_COMMAND("put"));
	ASK_HAS(grafana, "QLESS put 1 w q j3 k {} 0", "-NOPERM");
	carla = peer_connect(&q);
	ASK(carla, "AUTH carla x", "+OK\r\n");
	ASK(carla, "PING", "+PONG\r\n");
	peer_ask(carla, "CONFIG.SET heartbeat 77");
	ASK_HAS(carla, "CONFIG.GET heartbeat", "77");
	ASK_HAS(carla, "CLIENT LIST", "user=grafana");
	ASK_HAS(carla, "CANCEL j2", "j2");
	ASK(carla, "SHUTDOWN", NO_COMMAND("shutdown"));
	ASK(carla, "CONFIG SET timeout 1", NO_COMMAND("config|set"));
	ASK(carla, "ACL SETUSER eve on", NO_COMMAND("acl|setuser"));
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(the_channel_of_a_queue_needs_a_rule);
	RUN(a_user_subscribes_to_its_own_channels);
	RUN(a_user_publishes_on_its_own_channels);
	RUN(patterns_of_keys_alone_give_no_channels);
	RUN(subscriptions_end_when_the_user_loses_the_channel);
	RUN(a_transaction_is_checked_when_it_is_queued_and_when_it_runs);
	RUN(a_long_listing_shows_only_the_jobs_of_the_user);
	RUN(info_names_only_the_queues_of_the_user);
	RUN(monitor_and_slowlog_are_for_users_of_all_queues);
	RUN(acl_log_tells_what_was_refused);
	RUN(getuser_shows_the_patterns);
	RUN(patterns_survive_a_restart);
	RUN(users_without_patterns_may_use_all_queues);
	RUN(a_user_line_with_a_wrong_pattern_stops_the_start);
	RUN(roles_have_what_their_users_need);
	return UNIT_RESULT();
}
