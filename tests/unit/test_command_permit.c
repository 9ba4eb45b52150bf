/*
 * Permissions per queue: what a user with patterns of keys may do and see.
 *
 * The queues are `mail` and `bank`. The user `mail` may use queues that begin with "mail".
 */
#include "native.h"

#include <strings.h>

#include "command/scripts.h"
#include "luatext.h"

static struct native_fixture f;

#define NO_KEY "-NOPERM No permissions to access a key\r\n"

/* Runs a request, whose words are separated by blanks. */
static const char *run(const char *words)
{
	struct qless_str argv[CALL_MAX_ARGS];
	int argc = 0;

	for (const char *word = words; *word != '\0';) {
		size_t len = strcspn(word, " ");

		TEST_ASSERT_TRUE(argc < CALL_MAX_ARGS);
		argv[argc++] = str_make(word, len);
		word += len + (word[len] == ' ');
	}
	return call_run_argv(&f.call, argv, argc);
}

static void set_user(const char *name, const char *rules)
{
	char words[512];

	f.call.session.user = acl_default_user(f.call.env.acl);
	snprintf(words, sizeof words, "ACL SETUSER %s reset on nopass %s", name, rules);
	TEST_ASSERT_EQUAL_STRING("+OK\r\n", run(words));
}

static void become(const char *name)
{
	f.call.session.user = acl_find(f.call.env.acl, str_from(name));
	TEST_ASSERT_NOT_NULL(f.call.session.user);
}

static const char *as_admin(const char *words)
{
	const struct user *user = f.call.session.user;
	const char *reply;

	f.call.session.user = acl_default_user(f.call.env.acl);
	reply = run(words);
	f.call.session.user = user;
	return reply;
}

#define ASSERT_RUN(expected, words) TEST_ASSERT_EQUAL_STRING_MESSAGE(expected, run(words), words)
#define ASSERT_DENIED(words)	    ASSERT_RUN(NO_KEY, words)
#define ASSERT_ADMIN(part, words)   assert_has(part, as_admin(words), words)
#define ASSERT_PART(part, words)    assert_has(part, run(words), words)
#define ASSERT_NO_PART(part, words) assert_lacks(part, run(words), words)

static void assert_has(const char *part, const char *reply, const char *words)
{
	char message[1024];

	snprintf(message, sizeof message, "%s: %.800s", words, reply);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply, part), message);
}

static void assert_lacks(const char *part, const char *reply, const char *words)
{
	char message[1024];

	snprintf(message, sizeof message, "%s: %.800s", words, reply);
	TEST_ASSERT_TRUE_MESSAGE(reply[0] != '-', message);
	TEST_ASSERT_NULL_MESSAGE(strstr(reply, part), message);
}

static uint64_t make_number(void *arg)
{
	(void)arg;
	return 7;
}

/* Jobs of both queues in each state, tagged and tracked. */
void setUp(void)
{
	static const char *const words[] = {
		"PUT w mail m1 k {} 0 tags [\"t\",\"mine\"]",
		"PUT w mail m2 k {} 0 tags [\"t\",\"mine\"]",
		"PUT w bank b1 k {\"secret\":1} 0 tags [\"t\",\"theirs\"]",
		"PUT w bank b2 k {} 0 tags [\"t\",\"theirs\"]",
		"PUT w mail m-run k {} 0 priority 9",
		"PUT w bank b-run k {} 0 priority 9",
		"POP mail mw 1",
		"POP bank bw 1",
		"PUT w mail m-fail k {} 0 priority 9",
		"PUT w bank b-fail k {} 0 priority 9",
		"PUT w bank b-fail2 k {} 0 priority 9",
		"POP mail fw 1",
		"POP bank fw 2",
		"FAIL b-fail fw both text",
		"FAIL m-fail fw both text",
		"FAIL b-fail2 fw theirs text",
		"PUT w mail m-done k {} 0 priority 9",
		"PUT w bank b-done k {} 0 priority 9",
		"POP mail dw 1",
		"POP bank dw 1",
		"COMPLETE m-done dw mail {}",
		"COMPLETE b-done dw bank {}",
		"PUT w mail m-wait k {} 0 depends [\"m1\"]",
		"PUT w bank b-wait k {} 0 depends [\"b1\"]",
		"RECUR mail m-rec k {} interval 60 60",
		"RECUR bank b-rec k {} interval 60 60",
		"TRACK track m1",
		"TRACK track b1",
		"CONFIG.SET bank-heartbeat 61",
		"CONFIG.SET mail-heartbeat 62",
	};

	native_setup(&f);
	f.call.env.random = make_number;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		f.now++;
		TEST_ASSERT_TRUE_MESSAGE(run(words[i])[0] != '-', words[i]);
	}
	f.now++;
	set_user("mail", "~mail* +@all");
	become("mail");
}

void tearDown(void)
{
	f.call.session.user = acl_default_user(f.call.env.acl);
	native_teardown(&f);
}

/* ---- commands ---- */

/* Requests that name something of the queue `bank`. The jid `gone` stands in for it where no job
 * exists. */
static const char *const denied[] = {
	"GET b1",
	"CANCEL b1",
	"CANCEL m1 b2",
	"TIMEOUT b-run",
	"TIMEOUT m-run b-run",
	"HEARTBEAT b-run bw",
	"COMPLETE b-run bw bank {}",
	"COMPLETE b-run bw mail {}",
	"COMPLETE b-run bw mail {} next mail",
	"COMPLETE m-run mw mail {} next bank",
	"COMPLETE m-run mw mail {} next bank next mail",
	"COMPLETE m-run mw mail {} next mail depends [\"b1\"]",
	"COMPLETE m-run mw mail {} NEXT bank",
	"COMPLETE m-run mw mail {} Next mail Depends [\"b1\"]",
	"FAIL b-run bw group text",
	"RETRY b-run bank bw",
	"RETRY b-run mail bw",
	"RETRY m-run bank mw",
	"LOG b1 text",
	"PRIORITY b1 5",
	"DEPENDS b-wait on b2",
	"DEPENDS b-wait off all",
	"DEPENDS m-wait on b1",
	"DEPENDS m-wait ON b1",
	"DEPENDS m-wait on m2 b1",
	"PUT w bank x k {} 0",
	"PUT w mail b1 k {} 0",
	"PUT w mail b-done k {} 0",
	"PUT w mail x k {} 0 depends [\"b1\"]",
	"PUT w mail x k {} 0 depends [\"b1\"] depends []",
	"PUT w mail x k {} 0 DEPENDS [\"b1\"]",
	"REQUEUE w mail b1 k {} 0",
	"REQUEUE w bank m1 k {} 0",
	"MULTIPUT w bank 0 jobs x k {}",
	"MULTIPUT w mail 0 jobs x k {} b1 k {}",
	"MULTIPUT w mail 0 depends [\"b1\"] jobs x k {}",
	"MULTIPUT w mail 0 Depends [\"b1\"] JOBS x k {}",
	"MULTIPUT w mail 0 JOBS b1 k {}",
	"MULTICOMPLETE bw bank b-run {}",
	"POP bank bw 1",
	"PEEK bank 1",
	"QUEUE.COUNT bank BY state",
	"LENGTH bank",
	"QUEUES bank",
	"STATS bank 1000",
	"PAUSE bank",
	"PAUSE mail bank",
	"UNPAUSE mail bank",
	"QUEUE.FORGET bank",
	"JOBS running bank",
	"JOBS scheduled bank",
	"JOBS depends bank",
	"JOBS stalled bank",
	"JOBS recurring bank",
	"UNFAIL bank both",
	"TAG add b1 x",
	"TAG remove b1 t",
	"TRACK track b1",
	"TRACK untrack b1",
	"RECUR bank x k {} interval 60 0",
	"RECUR mail b-rec k {} interval 60 0",
	"RECUR.GET b-rec",
	"RECUR.TAG b-rec x",
	"RECUR.UNTAG b-rec x",
	"RECUR.UPDATE b-rec priority 1",
	"RECUR.UPDATE b-rec queue mail",
	"RECUR.UPDATE m-rec queue bank",
	"RECUR.UPDATE m-rec QUEUE bank",
	"RECUR.UPDATE m-rec priority 1 queue bank",
	"UNRECUR b-rec",
	"CONFIG.GET bank-heartbeat",
	"CONFIG.SET bank-heartbeat 60",
	"CONFIG.SET bank-max-concurrency 1",
	"CONFIG.SET bank-order fair",
	"CONFIG.UNSET bank-heartbeat",
	"CONFIG.SET heartbeat 1",
	"CONFIG.UNSET jobs-history",
	"WORKER.DEREGISTER bw",
	"WORKER.DEREGISTER mw bw",
	"CONSISTENCYCHECK",
	"CONSISTENCYCHECK RESOLVE",
	"FLUSHDB",
	"FLUSHALL",
	"DBSIZE",
	"RANDOMKEY",
	"MONITOR",
	"SLOWLOG GET",
	"MEMORY QUEUES",
	"HGETALL ql:j:b1",
	"HGET ql:j:b1 data",
	"LRANGE ql:j:b1-history 0 -1",
	"SMEMBERS ql:j:b1-dependents",
	"HGETALL ql:r:b-rec",
	"ZRANGE ql:q:bank-work 0 -1",
	"ZCARD ql:q:bank-locks",
	"ZSCAN ql:q:bank-recur 0",
	"HGETALL ql:s:stats:0:bank",
	"HGETALL ql:s:wait:0:bank",
	"HGETALL ql:s:run:0:bank",
	"ZRANGE ql:queues 0 -1",
	"ZRANGE ql:workers 0 -1",
	"ZRANGE ql:completed 0 -1",
	"ZRANGE ql:tracked 0 -1",
	"ZRANGE ql:tags 0 -1",
	"SMEMBERS ql:failures",
	"LRANGE ql:f:both 0 -1",
	"ZRANGE ql:w:bw:jobs 0 -1",
	"ZRANGE ql:t:t 0 -1",
	"HGETALL ql:config",
	"SMEMBERS ql:paused_queues",
	"EXISTS ql:j:b1",
	"EXISTS ql:j:m1 ql:j:b1",
	"TYPE ql:j:b1",
	"TTL ql:j:b1",
	"OBJECT ENCODING ql:j:b1",
	"MEMORY USAGE ql:j:b1",
	"WATCH ql:j:m1 ql:j:b1",
	"DEL ql:j:b1",
	"EXISTS other",
};

static void a_request_that_names_something_of_another_queue_is_refused(void)
{
	char *before = strdup(native_dump(&f));

	for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++)
		ASSERT_DENIED(denied[i]);
	TEST_ASSERT_EQUAL_STRING(before, native_dump(&f));
	free(before);
	for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++) {
		if (strstr(denied[i], "MONITOR") == NULL && strstr(denied[i], "SLOWLOG") == NULL &&
		    strstr(denied[i], "MEMORY") == NULL && strstr(denied[i], "FLUSH") == NULL &&
		    strstr(denied[i], "WATCH") == NULL)
			TEST_ASSERT_NULL_MESSAGE(strstr(as_admin(denied[i]), "NOPERM"), denied[i]);
	}
}

/* Replaces each jid of the queue `bank` by one that does not exist. */
static bool replace_jids(const char *words, char *to)
{
	bool replaced = false;

	while (*words != '\0') {
		if (words[0] == 'b' && (words[1] == '-' || words[1] == '1' || words[1] == '2')) {
			to += sprintf(to, "gone");
			words += strcspn(words + 1, " \"-") + 1;
			if (*words == '-')
				words += strcspn(words, " \"");
			replaced = true;
			continue;
		}
		*to++ = *words++;
	}
	*to = '\0';
	return replaced;
}

static void nothing_tells_whether_a_job_of_another_queue_exists(void)
{
	char words[256];
	size_t compared = 0;

	for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++) {
		/* A command that makes a job cannot take a jid that is in use. */
		if (strncmp(denied[i], "PUT w mail b", 12) == 0 ||
		    strncasecmp(denied[i], "MULTIPUT w mail 0 jobs", 22) == 0 ||
		    strncmp(denied[i], "RECUR mail b", 12) == 0 ||
		    strstr(denied[i], "TYPE") != NULL || !replace_jids(denied[i], words))
			continue;
		ASSERT_DENIED(words);
		compared++;
	}
	TEST_ASSERT_GREATER_THAN(35, compared);
	ASSERT_DENIED("TYPE ql:j:gone");
}

static void every_form_of_a_command_is_checked(void)
{
	ASSERT_DENIED("QLESS get 1100 b1");
	ASSERT_DENIED("QLESS put 1100 w bank x k {} 0");
	ASSERT_DENIED("QLESS pop 1100 bank w 1");
	ASSERT_DENIED("QLESS cancel 1100 b1");
	ASSERT_DENIED("QLESS multiput 1100 w mail 0 jobs b1 k {}");
	ASSERT_PART("\"jid\":\"m1\"", "QLESS get 1100 m1");
	ASSERT_DENIED("qless queues 1100 bank");
}

static void a_script_is_checked_like_its_command(void)
{
	char sha[SCRIPT_SHA_BYTES + 1] = { 0 };

	f.call.env.scripts = scripts_new(1, NULL);
	scripts_compute_sha(STR(LUATEXT_CLASSIC), sha);
	TEST_ASSERT_NOT_NULL(
		strstr(NATIVE(&f, "EVAL", LUATEXT_CLASSIC, "0", "get", "1100", "b1"),
		       "-ERR The user executing the script can't access at least one of the keys "
		       "mentioned in the command script: "));
	TEST_ASSERT_NOT_NULL(
		strstr(NATIVE(&f, "EVALSHA", sha, "0", "pop", "1100", "bank", "w", "1"),
		       "can't access at least one of the keys"));
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "EVALSHA_RO", sha, "0", "get", "1100", "b1"),
				    "can't access at least one of the keys"));
	TEST_ASSERT_NOT_NULL(strstr(NATIVE(&f, "EVALSHA", sha, "0", "get", "1100", "m1"), "m1"));
	TEST_ASSERT_NULL(strstr(NATIVE(&f, "EVALSHA", sha, "0", "queues", "1100"), "bank"));
	ASSERT_ADMIN("\"state\":\"waiting\"", "GET b1");
	scripts_free(f.call.env.scripts);
}

static void a_user_may_do_everything_in_its_own_queues(void)
{
	ASSERT_PART("\"jid\":\"m1\"", "GET m1");
	ASSERT_PART("\"state\":\"complete\"", "GET m-done");
	ASSERT_RUN("$6\r\nmail-x\r\n", "PUT w mail-2 mail-x k {} 0");
	ASSERT_PART("00000001", "PUT w mail * k {} 0");
	ASSERT_RUN("$2\r\nm1\r\n", "PUT w mail-2 m1 k {} 0 depends [\"m2\"]");
	ASSERT_RUN("$2\r\nm1\r\n", "REQUEUE w mail m1 k {} 0");
	ASSERT_RUN("*1\r\n$1\r\ny\r\n", "MULTIPUT w mail 0 jobs y k {}");
	ASSERT_RUN(":1\r\n", "DEPENDS m-wait on m2");
	ASSERT_RUN(":1\r\n", "DEPENDS m-wait off b1 gone");
	ASSERT_PART(":", "HEARTBEAT m-run mw");
	ASSERT_RUN("$7\r\nwaiting\r\n", "COMPLETE m-run mw mail {} next mail-2");
	ASSERT_PART("\"jid\":\"m-run\"", "POP mail-2 w 5");
	ASSERT_RUN("$2\r\n62\r\n", "CONFIG.GET mail-heartbeat");
	ASSERT_PART("60", "CONFIG.GET heartbeat");
	ASSERT_RUN("$-1\r\n", "CONFIG.SET mail-max-concurrency 5");
	ASSERT_RUN("$5\r\nm-rec\r\n", "RECUR mail m-rec k {} interval 60 0");
	ASSERT_RUN(":1\r\n", "RECUR.UPDATE m-rec queue mail-2");
	ASSERT_RUN(":1\r\n", "UNRECUR m-rec");
	ASSERT_RUN("$-1\r\n", "WORKER.DEREGISTER mw idle");
	ASSERT_RUN("*1\r\n$1\r\ny\r\n", "CANCEL y");
	ASSERT_PART("m-fail", "HGET ql:j:m-fail jid");
	ASSERT_RUN("*0\r\n", "SMEMBERS ql:j:m-fail-dependencies");
	ASSERT_RUN(":0\r\n", "ZCARD ql:q:mail-none-work");
	ASSERT_RUN(":1\r\n", "EXISTS ql:j:m-fail");
}

static void a_jid_of_several_is_answered_by_itself(void)
{
	ASSERT_PART("\"jid\":\"m1\"", "MULTIGET b1 m1 gone");
	ASSERT_NO_PART("b1", "MULTIGET b1 m1 gone");
	ASSERT_RUN("*3\r\n" NO_KEY ":1093\r\n" NO_KEY, "MULTIHEARTBEAT mw b-run m-run gone");
	ASSERT_RUN("*2\r\n" NO_KEY "$8\r\ncomplete\r\n", "MULTICOMPLETE mw mail b-run {} m-run {}");
	ASSERT_ADMIN("\"state\":\"running\"", "GET b-run");
	ASSERT_ADMIN("\"state\":\"complete\"", "GET m-run");
}

/* ---- kinds of access ---- */

static void a_reader_changes_nothing(void)
{
	set_user("reader", "%R~mail +@all");
	become("reader");
	ASSERT_PART("\"jid\":\"m1\"", "GET m1");
	ASSERT_PART("\"jid\":\"m1\"", "PEEK mail 5");
	ASSERT_PART("m1", "HGETALL ql:j:m1");
	ASSERT_DENIED("POP mail w 1");
	ASSERT_DENIED("PUT w mail x k {} 0");
	ASSERT_DENIED("PUT w mail m1 k {} 0");
	ASSERT_DENIED("CANCEL m1");
	ASSERT_DENIED("TAG add m1 x");
	ASSERT_DENIED("PAUSE mail");
	ASSERT_DENIED("CONFIG.SET mail-heartbeat 1");
	ASSERT_DENIED("DEL ql:j:m1");
	ASSERT_RUN("*1\r\n" NO_KEY, "MULTIHEARTBEAT mw m-run");
	ASSERT_DENIED("MULTICOMPLETE mw mail m-run {}");
	ASSERT_PART("m-fail", "FAILED both");
	ASSERT_DENIED("UNFAIL mail both");
}

static void a_writer_reads_nothing(void)
{
	set_user("writer", "%W~mail ~out +@all");
	become("writer");
	ASSERT_RUN("$1\r\nx\r\n", "PUT w mail x k {} 0");
	ASSERT_RUN("$1\r\nx\r\n", "PUT w mail x k {} 0");
	ASSERT_RUN("*1\r\n$1\r\nx\r\n", "CANCEL x");
	ASSERT_DENIED("GET m1");
	ASSERT_DENIED("POP mail w 1");
	ASSERT_DENIED("PEEK mail 1");
	ASSERT_DENIED("LENGTH mail");
	ASSERT_DENIED("TAG add m1 x");
	ASSERT_DENIED("HGETALL ql:j:m1");
	/* A job that moves to a queue that the user may read would be read there. */
	ASSERT_DENIED("PUT w out m1 k {} 0");
	ASSERT_DENIED("REQUEUE w out m1 k {} 0");
	ASSERT_DENIED("RETRY m-run out mw");
	ASSERT_DENIED("COMPLETE m-run mw mail {} next out");
	ASSERT_DENIED("RECUR.UPDATE m-rec queue out");
	ASSERT_DENIED("RECUR out m-rec k {} interval 60 0");
	ASSERT_RUN(":0\r\n", "UNFAIL out both");
	ASSERT_RUN("$2\r\n[]\r\n", "QUEUES");
}

static void patterns_match_the_names_of_keys_too(void)
{
	set_user("view", "~ql:q:bank-* %R~ql:queues %W~ql:config +@all");
	become("view");
	ASSERT_PART("b2", "ZRANGE ql:q:bank-work 0 -1");
	ASSERT_PART("bank", "ZRANGE ql:queues 0 -1");
	ASSERT_DENIED("ZRANGE ql:workers 0 -1");
	ASSERT_DENIED("HGETALL ql:j:b1");
	ASSERT_DENIED("GET b1");
	ASSERT_DENIED("LENGTH bank");
	ASSERT_RUN("$-1\r\n", "CONFIG.SET heartbeat 65");
	ASSERT_DENIED("HGETALL ql:config");
	ASSERT_PART("ql:queues", "KEYS *");
	ASSERT_NO_PART("ql:j:", "KEYS *");
}

/* All keys begin with "ql:", and a pattern of queues may happen to match them. */
static void patterns_of_queues_do_not_match_the_names_of_keys(void)
{
	set_user("view", "~q* ~*b* ~[a-z]* ~?l* +@all");
	become("view");
	ASSERT_PART("\"name\":\"bank\"", "QUEUES");
	ASSERT_DENIED("CONFIG.SET heartbeat 65");
	ASSERT_DENIED("ZRANGE ql:workers 0 -1");
	set_user("view", "~q* ~ql* ~*b1 +@all");
	become("view");
	ASSERT_DENIED("HGETALL ql:j:b1");
	ASSERT_DENIED("ZRANGE ql:queues 0 -1");
	ASSERT_RUN("*0\r\n", "KEYS *");
	set_user("view", "%R~* +@all");
	become("view");
	ASSERT_PART("bank", "ZRANGE ql:queues 0 -1");
}

/* ---- listings ---- */

static void listings_show_only_what_the_user_may_see(void)
{
	ASSERT_PART("\"name\":\"mail\"", "QUEUES");
	ASSERT_NO_PART("bank", "QUEUES");
	ASSERT_RUN("*1\r\n$6\r\nm-done\r\n", "JOBS complete");
	ASSERT_RUN("*0\r\n", "JOBS complete 1 5");
	ASSERT_RUN("*1\r\n$6\r\nm-done\r\n", "JOBS complete -1 1");
	ASSERT_RUN("$10\r\n{\"both\":1}\r\n", "FAILED");
	ASSERT_RUN("$29\r\n{\"jobs\":[\"m-fail\"],\"total\":1}\r\n", "FAILED both");
	ASSERT_RUN("$21\r\n{\"jobs\":[],\"total\":1}\r\n", "FAILED both 1 5");
	ASSERT_RUN("$21\r\n{\"jobs\":[],\"total\":0}\r\n", "FAILED theirs");
	ASSERT_RUN("$30\r\n{\"jobs\":[\"m1\",\"m2\"],\"total\":2}\r\n", "TAG get t");
	ASSERT_RUN("$25\r\n{\"jobs\":[\"m2\"],\"total\":2}\r\n", "TAG get t 1 1");
	ASSERT_RUN("$21\r\n{\"jobs\":[],\"total\":0}\r\n", "TAG get theirs");
	ASSERT_PART("\"t\"", "TAG top");
	ASSERT_PART("\"mine\"", "TAG top");
	ASSERT_NO_PART("theirs", "TAG top");
	ASSERT_PART("\"jid\":\"m1\"", "TRACK");
	ASSERT_NO_PART("b1", "TRACK");
	ASSERT_PART("\"name\":\"mw\"", "WORKERS");
	ASSERT_NO_PART("bw", "WORKERS");
	ASSERT_RUN("$34\r\n{\"stalled\":[],\"jobs\":[],\"days\":[]}\r\n", "WORKERS bw");
	ASSERT_PART("\"jobs\":[\"m-run\"]", "WORKERS mw");
	ASSERT_PART("mail-heartbeat", "CONFIG.GET");
	ASSERT_NO_PART("bank", "CONFIG.GET");
}

/* Long lists are counted and written in parts. */
static void long_listings_show_only_what_the_user_may_see(void)
{
	char words[128];

	for (int i = 0; i < 600; i++) {
		const char *queue = i % 3 == 0 ? "mail" : "bank";

		snprintf(words, sizeof words, "PUT w %s l%03d k {} 0 priority 99 tags [\"long\"]",
			 queue, i);
		as_admin(words);
		snprintf(words, sizeof words, "POP %s %s 1", queue, i < 300 ? "lw" : "fw");
		as_admin(words);
		if (i < 300)
			continue;
		snprintf(words, sizeof words, "FAIL l%03d fw long text", i);
		as_admin(words);
	}
	ASSERT_PART("$21\r\n{\"", "FAILED");
	ASSERT_PART("\"both\":1", "FAILED");
	ASSERT_PART("\"long\":100", "FAILED");
	ASSERT_PART("{\"jobs\":[\"l597\",\"l594\"],\"total\":100}", "FAILED long 0 2");
	ASSERT_PART("{\"jobs\":[\"l303\",\"l300\"],\"total\":100}", "FAILED long 98 25");
	ASSERT_PART("{\"jobs\":[\"l306\",\"l303\"],\"total\":100}", "FAILED long -3 2");
	ASSERT_PART("{\"jobs\":[],\"total\":100}", "FAILED long 100 25");
	ASSERT_PART("{\"jobs\":[\"l450\"],\"total\":200}", "TAG get long 150 1");
	ASSERT_PART("{\"stalled\":0,\"name\":\"lw\",\"jobs\":100}", "WORKERS");
	ASSERT_PART("\"jobs\":[\"l", "WORKERS lw");
	ASSERT_NO_PART("l001", "WORKERS lw");
	ASSERT_PART("[\"long\"]", "TAG top 0 1");
	ASSERT_PART("[\"t\",\"mine\"]", "TAG top 1 25");
	ASSERT_PART("[\"mine\"]", "TAG top 2 1");
	ASSERT_RUN("$2\r\n[]\r\n", "TAG top 3 1");
	ASSERT_RUN("$2\r\n[]\r\n", "TAG top -1 5");
	ASSERT_RUN("$2\r\n[]\r\n", "TAG top 0 0");
	ASSERT_PART("[\"long\",\"t\",\"mine\"]", "TAG top 0 100");
	ASSERT_RUN(":50\r\n", "UNFAIL mail long 50");
	ASSERT_PART("\"total\":50}", "FAILED long");
	ASSERT_PART("\"state\":\"waiting\"", "GET l300");
	ASSERT_PART("\"state\":\"failed\"", "GET l597");
	ASSERT_ADMIN("\"total\":250}", "FAILED long");
}

static void the_error_about_a_circle_names_no_other_jobs(void)
{
	as_admin("PUT w mail m-low k {} 0");
	as_admin("PUT w bank b-mid k {} 0 depends [\"m-low\"]");
	as_admin("PUT w mail m-top k {} 0 depends [\"b-mid\"]");
	ASSERT_ADMIN("m-low -> m-top -> b-mid -> m-low",
		     "PUT w mail m-low k {} 0 depends [\"m-top\"]");
	ASSERT_PART("-BADARG Job m-low would wait for itself (expected: PUT worker ",
		    "PUT w mail m-low k {} 0 depends [\"m-top\"]");
}

/* The replies of all listings in the other forms. */
static void listings_of_other_forms_are_limited(void)
{
	static const char *const lists[] = { "queues",	   "failed", "workers",
					     "config.get", "tag",    "track" };
	char words[64];

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		bool is_tag = strcmp(lists[i], "tag") == 0;

		snprintf(words, sizeof words, "QLESS %s 1100%s", lists[i], is_tag ? " top" : "");
		ASSERT_NO_PART("theirs", words);
		ASSERT_NO_PART("bank", words);
		ASSERT_NO_PART("b1", words);
		ASSERT_NO_PART("bw", words);
	}
	ASSERT_NO_PART("b-done", "QLESS jobs 1100 complete");
	ASSERT_NO_PART("b1", "QLESS multiget 1100 b1 m1");
}

static void a_tracked_jid_without_a_job_is_hidden(void)
{
	as_admin("PUT w bank gone-1 k {} 0");
	as_admin("TRACK track gone-1");
	as_admin("CANCEL gone-1");
	ASSERT_ADMIN("gone-1", "TRACK");
	ASSERT_NO_PART("gone-1", "TRACK");
}

static void a_worker_of_several_queues_shows_the_jobs_of_some(void)
{
	as_admin("PUT w mail both-m k {} 0 priority 99");
	as_admin("PUT w bank both-b k {} 0 priority 99");
	as_admin("POP mail both 1");
	as_admin("POP bank both 1");
	ASSERT_ADMIN("\"name\":\"both\",\"jobs\":2", "WORKERS");
	ASSERT_PART("\"name\":\"both\",\"jobs\":1", "WORKERS");
	ASSERT_PART("\"jobs\":[\"both-m\"]", "WORKERS both");
	ASSERT_NO_PART("popped", "WORKERS both");
	ASSERT_ADMIN("popped", "WORKERS both");
	ASSERT_DENIED("WORKER.DEREGISTER both");
}

static void keys_of_other_queues_are_not_listed(void)
{
	static const char *const lists[] = { "KEYS *", "SCAN 0 COUNT 1000", "KEYS ql:j:*" };

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		ASSERT_PART("ql:j:m1", lists[i]);
		ASSERT_PART("ql:j:m-done", lists[i]);
		ASSERT_NO_PART("ql:j:b", lists[i]);
		ASSERT_NO_PART("bank", lists[i]);
		ASSERT_NO_PART("ql:queues", lists[i]);
		ASSERT_NO_PART("ql:t:", lists[i]);
	}
	ASSERT_PART("ql:q:mail-work", "KEYS *");
	ASSERT_PART("ql:r:m-rec", "KEYS *");
	ASSERT_RUN("*0\r\n", "KEYS ql:j:b1");
	ASSERT_RUN("*1\r\n$7\r\nql:j:m1\r\n", "KEYS ql:j:m1");
}

/* ---- jobs that moved ---- */

static void unfail_moves_only_jobs_of_the_user(void)
{
	ASSERT_RUN(":1\r\n", "UNFAIL mail both 5");
	ASSERT_PART("\"state\":\"waiting\"", "GET m-fail");
	ASSERT_ADMIN("\"state\":\"failed\"", "GET b-fail");
	ASSERT_RUN(":0\r\n", "UNFAIL mail both 5");
	ASSERT_RUN(":0\r\n", "UNFAIL mail theirs");
	ASSERT_RUN(":0\r\n", "UNFAIL mail nothing");
	ASSERT_PART("-BADARG", "UNFAIL mail both -1");
	ASSERT_ADMIN(":1\r\n", "UNFAIL bank both 5");
}

static void unfail_moves_the_oldest_jobs_first(void)
{
	as_admin("PUT w mail old k {\"a\":1} 0 priority 99");
	as_admin("PUT w mail new k {\"a\":2} 0 priority 98");
	as_admin("POP mail fw 2");
	as_admin("FAIL old fw order text");
	as_admin("FAIL new fw order text");
	ASSERT_RUN(":1\r\n", "UNFAIL mail-2 order 1");
	ASSERT_PART("\"queue\":\"mail-2\"", "GET old");
	ASSERT_PART("\"data\":\"{\\\"a\\\":1}\"", "GET old");
	ASSERT_PART("\"state\":\"failed\"", "GET new");
}

/* A job belongs to the queue that it is in, wherever it was before. */
static void permissions_follow_a_job_to_another_queue(void)
{
	as_admin("REQUEUE w bank m1 k {} 0");
	ASSERT_DENIED("GET m1");
	ASSERT_DENIED("REQUEUE w mail m1 k {} 0");
	as_admin("REQUEUE w mail m1 k {} 0");
	ASSERT_PART("\"jid\":\"m1\"", "GET m1");
	as_admin("REQUEUE w bank m1 k {} 0 priority 99");
	as_admin("POP bank w 1");
	as_admin("COMPLETE m1 w bank {}");
	ASSERT_DENIED("GET m1");
	ASSERT_NO_PART("m1", "JOBS complete");
}

/* The first entry of a long history stays, and the ones after it are dropped. So an old job of
 * `mail` must not be taken for one of `mail` because nothing else is left. */
static void a_complete_job_with_a_shortened_history_is_hidden(void)
{
	as_admin("CONFIG.SET max-job-history 5");
	as_admin("REQUEUE w bank m2 k {} 0 priority 99");
	as_admin("POP bank w 1");
	for (int i = 0; i < 9; i++)
		as_admin("LOG m2 text");
	as_admin("COMPLETE m2 w bank {}");
	ASSERT_ADMIN("\"when\":1002,\"q\":\"mail\",\"what\":\"put\"", "GET m2");
	ASSERT_DENIED("GET m2");
}

/* ---- the table ---- */

/* The limit of a queue belongs to it. Other limits are for everybody who has the command. */
static void patterns_decide_about_the_limits_of_queues_alone(void)
{
	as_admin("LIMIT.SET queue:bank CONCURRENCY 5");
	as_admin("LIMIT.SET queue:mail CONCURRENCY 5");
	become("mail");
	ASSERT_DENIED("LIMIT.SET queue:bank CONCURRENCY 1");
	ASSERT_DENIED("LIMIT.GET queue:bank");
	ASSERT_DENIED("LIMIT.HOLD queue:bank 60");
	ASSERT_DENIED("LIMIT.DELETE queue:bank");
	ASSERT_RUN("+OK\r\n", "LIMIT.SET queue:mail CONCURRENCY 1");
	ASSERT_RUN("+OK\r\n", "LIMIT.SET bank CONCURRENCY 1");
	ASSERT_RUN("+OK\r\n", "LIMIT.HOLD bank 60");
	ASSERT_PART("$4\r\nbank\r\n", "LIMIT.LIST");
	ASSERT_NO_PART("queue:bank", "LIMIT.LIST");
	ASSERT_ADMIN("$1\r\n5\r\n", "CONFIG.GET bank-max-concurrency");
	ASSERT_ADMIN("$1\r\n1\r\n", "CONFIG.GET mail-max-concurrency");
}

static void a_list_of_recurring_jobs_leaves_out_other_queues(void)
{
	as_admin("RECUR bank secret k {} interval 60 0");
	as_admin("RECUR mail open k {} interval 60 0");
	become("mail");
	ASSERT_PART("\"jid\":\"open\"", "RECUR.LIST");
	ASSERT_NO_PART("secret", "RECUR.LIST");
	ASSERT_NO_PART("secret", "RECUR.LIST QUEUE bank");
	ASSERT_ADMIN("secret", "RECUR.LIST QUEUE bank");
}

/* A limit is shared with queues that the user must not see. */
static void a_limit_shows_no_holders_of_other_queues(void)
{
	as_admin("PUT w vault secret k {} 0 limits [\"db\"]");
	as_admin("PUT w mailing open k {} 0 limits [\"db\"]");
	as_admin("POP vault banker 1");
	as_admin("POP mailing mailer 1");
	become("mail");
	ASSERT_PART("$7\r\nrunning\r\n:2\r\n", "LIMIT.GET db");
	ASSERT_PART("mailer", "LIMIT.GET db");
	ASSERT_NO_PART("secret", "LIMIT.GET db");
	ASSERT_NO_PART("banker", "LIMIT.GET db");
}

static void each_queue_command_says_what_it_names(void)
{
	/* An endpoint has queues, which its handlers look at. */
	static const char *const none[] = { "consistencycheck", "endpoint.delete", "endpoint.get",
					    "endpoint.list",	"endpoint.pause",  "endpoint.test",
					    "endpoint.unpause", "failed",	   "limit.list",
					    "multiget",		"multiheartbeat",  "recur.list",
					    "workers" };
	size_t count = 0;

	for (int i = 0; i < command_table_count(f.call.table); i++) {
		const struct command *row = command_table_row(f.call.table, i);
		bool is_none = false;

		for (size_t k = 0; k < sizeof none / sizeof none[0]; k++)
			is_none |= strcmp(row->name, none[k]) == 0;
		if (row->run == NULL)
			continue;
		TEST_ASSERT_EQUAL_MESSAGE(is_none, row->objects == NULL, row->name);
		count++;
	}
	TEST_ASSERT_GREATER_THAN(40, count);
}

static void getkeys_returns_the_queues(void)
{
	ASSERT_RUN("*1\r\n$4\r\nbank\r\n", "COMMAND GETKEYS PUT w bank b1 k {} 0");
	ASSERT_RUN("*2\r\n$4\r\nmail\r\n$4\r\nbank\r\n",
		   "COMMAND GETKEYS COMPLETE m1 w mail {} next bank");
	ASSERT_RUN("*2\r\n$1\r\na\r\n$1\r\nb\r\n", "COMMAND GETKEYS PAUSE a b");
	ASSERT_RUN("*1\r\n$4\r\nbank\r\n", "COMMAND GETKEYS QLESS pop 10 bank w 1");
	ASSERT_RUN("*1\r\n$4\r\nbank\r\n", "COMMAND GETKEYS EVALSHA x 0 pop 10 bank w 1");
	ASSERT_RUN("*2\r\n$1\r\na\r\n$1\r\nb\r\n", "COMMAND GETKEYS EXISTS a b");
	ASSERT_RUN("-ERR The command has no key arguments\r\n", "COMMAND GETKEYS GET b1");
	ASSERT_RUN("-ERR The command has no key arguments\r\n", "COMMAND GETKEYS PING");
	ASSERT_RUN("*1\r\n$4\r\nbank\r\n", "COMMAND GETKEYS LIMIT.SET queue:bank CONCURRENCY 1");
	ASSERT_RUN("-ERR The command has no key arguments\r\n",
		   "COMMAND GETKEYS LIMIT.SET bank CONCURRENCY 1");
	ASSERT_RUN("*1\r\n*2\r\n$4\r\nbank\r\n*2\r\n+RO\r\n+access\r\n",
		   "COMMAND GETKEYSANDFLAGS LENGTH bank");
	ASSERT_RUN("*1\r\n*2\r\n$4\r\nbank\r\n*2\r\n+RW\r\n+update\r\n",
		   "COMMAND GETKEYSANDFLAGS POP bank w 1");
}

#define NO_ACCESS(name) "This user has no permissions to access the '" name "' key\r\n"

static void dryrun_names_the_key(void)
{
	f.call.session.user = acl_default_user(f.call.env.acl);
	ASSERT_RUN("+OK\r\n", "ACL DRYRUN mail GET m1");
	ASSERT_PART(NO_ACCESS("b1"), "ACL DRYRUN mail GET b1");
	ASSERT_PART(NO_ACCESS("bank"), "ACL DRYRUN mail POP bank w 1");
	ASSERT_PART(NO_ACCESS("bank"), "ACL DRYRUN mail QLESS pop 10 bank w 1");
	ASSERT_PART(NO_ACCESS("bank"), "ACL DRYRUN mail EVALSHA x 0 pop 10 bank w 1");
	ASSERT_PART(NO_ACCESS("ql:j:b1"), "ACL DRYRUN mail HGETALL ql:j:b1");
	ASSERT_PART(NO_ACCESS("*"), "ACL DRYRUN mail FLUSHALL");
	ASSERT_PART("This user has no permissions to access the 'ql:log' channel\r\n",
		    "ACL DRYRUN mail SUBSCRIBE ql:log");
	ASSERT_RUN("+OK\r\n", "ACL DRYRUN default GET b1");
	set_user("pop", "~mail +qless +pop");
	ASSERT_PART("This user has no permissions to run the 'get' command\r\n",
		    "ACL DRYRUN pop QLESS get 10 m1");
}

static void a_user_without_patterns_may_use_everything(void)
{
	set_user("old", "+@all -@admin -@dangerous");
	become("old");
	ASSERT_PART("\"jid\":\"b1\"", "GET b1");
	ASSERT_PART("bank", "QUEUES");
	ASSERT_PART("ql:j:b1", "SCAN 0 COUNT 1000");
	ASSERT_RUN("$-1\r\n", "GET gone");
	set_user("none", "resetkeys +@all");
	become("none");
	ASSERT_DENIED("GET m1");
	ASSERT_DENIED("LENGTH mail");
	ASSERT_RUN("$2\r\n[]\r\n", "QUEUES");
	ASSERT_RUN("*0\r\n", "KEYS *");
}

/* ---- unique keys ---- */

static void a_key_that_a_foreign_job_holds_is_refused(void)
{
	as_admin("PUT me bank key-b k {} 0 unique key");
	as_admin("PUT me mail key-m k {} 0 unique mine");
	become("mail");
	ASSERT_PART("-WRONGQUEUE The unique key is held by a job in a queue that the user may not "
		    "read",
		    "PUT me mail key-n k {} 0 unique key");
	ASSERT_PART("-WRONGQUEUE The unique key is held by a job in a queue that the user may not "
		    "change",
		    "PUT me mail key-n k [] 0 unique key replace");
	ASSERT_PART("-WRONGQUEUE", "MULTIPUT me mail 0 unique key jobs key-n k {}");
	ASSERT_RUN("$5\r\nkey-m\r\n", "PUT me mail key-n k {} 0 unique mine");
	ASSERT_RUN("$5\r\nkey-m\r\n", "PUT me mail key-n k [] 0 unique mine replace");
	ASSERT_ADMIN("\"data\":\"{}\"", "GET key-b");
	ASSERT_ADMIN("\"data\":\"[]\"", "GET key-m");
	/* A job that lost its key to a foreign job does not name that. */
	as_admin("POP mail w 9");
	as_admin("FAIL key-m w g m");
	as_admin("PUT me bank key-c k {} 0 unique mine");
	ASSERT_PART("unique", "JOB.WHY key-m");
	ASSERT_NO_PART("key-c", "JOB.WHY key-m");
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(a_request_that_names_something_of_another_queue_is_refused);
	RUN(nothing_tells_whether_a_job_of_another_queue_exists);
	RUN(every_form_of_a_command_is_checked);
	RUN(a_script_is_checked_like_its_command);
	RUN(a_user_may_do_everything_in_its_own_queues);
	RUN(a_jid_of_several_is_answered_by_itself);
	RUN(a_reader_changes_nothing);
	RUN(a_writer_reads_nothing);
	RUN(patterns_match_the_names_of_keys_too);
	RUN(patterns_of_queues_do_not_match_the_names_of_keys);
	RUN(listings_show_only_what_the_user_may_see);
	RUN(long_listings_show_only_what_the_user_may_see);
	RUN(the_error_about_a_circle_names_no_other_jobs);
	RUN(listings_of_other_forms_are_limited);
	RUN(a_tracked_jid_without_a_job_is_hidden);
	RUN(a_worker_of_several_queues_shows_the_jobs_of_some);
	RUN(keys_of_other_queues_are_not_listed);
	RUN(unfail_moves_only_jobs_of_the_user);
	RUN(unfail_moves_the_oldest_jobs_first);
	RUN(permissions_follow_a_job_to_another_queue);
	RUN(a_complete_job_with_a_shortened_history_is_hidden);
	RUN(patterns_decide_about_the_limits_of_queues_alone);
	RUN(a_list_of_recurring_jobs_leaves_out_other_queues);
	RUN(a_limit_shows_no_holders_of_other_queues);
	RUN(each_queue_command_says_what_it_names);
	RUN(getkeys_returns_the_queues);
	RUN(dryrun_names_the_key);
	RUN(a_user_without_patterns_may_use_everything);
	RUN(a_key_that_a_foreign_job_holds_is_refused);
	return UNIT_RESULT();
}
