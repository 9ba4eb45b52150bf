/*
 * JOB.SEARCH, compared with a walk through a plain list of the same jobs.
 */
#include "native.h"

#include "flatmap.h"

static struct native_fixture f;

void setUp(void)
{
	native_setup(&f);
}

void tearDown(void)
{
	native_teardown(&f);
}

#define FOUND(cursor, count, jids) "*2\r\n$" cursor "\r\n*" count "\r\n" jids
#define NOTHING			   FOUND("1\r\n0", "0", "")
#define ONLY(jid)		   FOUND("1\r\n0", "1", "$1\r\n" jid "\r\n")

static void put(const char *queue, const char *jid, const char *klass, const char *data)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", queue, jid, klass, data, "0", "retries", "5");
	f.now += 1;
}

/* ---- conditions ---- */

static void each_condition_selects_jobs(void)
{
	put("mail", "a", "Send", "{\"user\":{\"id\":7}}");
	put("mail", "b", "Sort", "{\"user\":{\"id\":\"7\"}}");
	put("video", "c", "Send", "[1,{\"x\":null}]");
	ASSERT_BEGINS("$", &f, "TAG", "add", "b", "red");
	ASSERT_BEGINS("$", &f, "POP", "video", "w", "1");
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "JID", "a");
	ASSERT_NATIVE(ONLY("b"), &f, "JOB.SEARCH", "prefix", "b");
	ASSERT_NATIVE(ONLY("b"), &f, "JOB.SEARCH", "CLASS", "Sort");
	ASSERT_NATIVE(ONLY("c"), &f, "JOB.SEARCH", "QUEUE", "video");
	ASSERT_NATIVE(ONLY("c"), &f, "JOB.SEARCH", "STATE", "running", "failed");
	ASSERT_NATIVE(ONLY("b"), &f, "JOB.SEARCH", "TAG", "red");
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "DATA", "user.id", "7");
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "DATA", "user.id", "7.0");
	ASSERT_NATIVE(ONLY("b"), &f, "JOB.SEARCH", "DATA", "user.id", "\"\\u0037\"");
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "DATA", "user", " { \"id\" : 7 } ");
	ASSERT_NATIVE(ONLY("c"), &f, "JOB.SEARCH", "DATA", "1.x", "null", "DATA", "0", "1");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "DATA", "user.name", "7");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "JID", "a", "CLASS", "Sort");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "JID", "nothing");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "TAG", "red", "TAG", "blue");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "QUEUE", "nothing", "STATE", "waiting");
	ASSERT_BEGINS("*2\r\n$1\r\n0\r\n*3\r\n", &f, "JOB.SEARCH");
}

/* Puts jobs that are due soon, and lets the time come. */
static void put_due(void)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", "mail", "a", "k", "{}", "10", "tags", "[\"t\"]");
	ASSERT_BEGINS("$", &f, "PUT", "me", "video", "b", "k", "{}", "10");
	ASSERT_BEGINS("$", &f, "PUT", "me", "mail", "c", "k", "{}", "1000");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "STATE", "waiting");
	f.now += 20;
}

static void jobs_that_have_come_due_are_waiting(void)
{
	put_due();
	ASSERT_NATIVE(ONLY("c"), &f, "JOB.SEARCH", "QUEUE", "mail", "STATE", "scheduled");
	ASSERT_NATIVE(ONLY("c"), &f, "JOB.SEARCH", "STATE", "scheduled");
	ASSERT_BEGINS("*2\r\n$1\r\n0\r\n*2\r\n", &f, "JOB.SEARCH", "STATE", "waiting");
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "QUEUE", "mail", "STATE", "waiting");
}

static void a_search_for_a_job_or_a_tag_finds_it_due(void)
{
	put_due();
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "JID", "b", "STATE", "scheduled");
	ASSERT_NATIVE(ONLY("b"), &f, "JOB.SEARCH", "JID", "b", "STATE", "waiting");
	ASSERT_MEMBER("waiting", "state",
		      strstr(NATIVE(&f, "JOB.SEARCH", "TAG", "t", "WITH", "state"), "*1\r\n") + 4);
}

static void only_a_search_for_waiting_jobs_of_a_queue_moves_jobs(void)
{
	uint64_t changes;

	put_due();
	changes = qless_changes(native_engine(&f));
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "QUEUE", "mail", "STATE", "failed", "running");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "JID", "nothing");
	ASSERT_BEGINS("*2\r\n$1\r\n0\r\n*2\r\n", &f, "JOB.SEARCH", "STATE", "waiting");
	ASSERT_BEGINS("-BADARG", &f, "JOB.SEARCH", "STATE", "waiting", "nothing", "x");
	TEST_ASSERT_EQUAL_UINT64(changes, qless_changes(native_engine(&f)));
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "QUEUE", "mail", "STATE", "waiting");
	TEST_ASSERT_TRUE(qless_changes(native_engine(&f)) > changes);
}

static void raw_data_has_no_values(void)
{
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "a", "k", "{\"x\":1}", "0", "raw");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "DATA", "x", "1");
	put("q", "b", "k", "{\"x\":1}");
	ASSERT_NATIVE(ONLY("b"), &f, "JOB.SEARCH", "DATA", "x", "1");
}

static void fields_show_what_was_found(void)
{
	const char *map;

	put("q", "a", "k", "{\"x\":1}");
	map = strstr(NATIVE(&f, "JOB.SEARCH", "WITH", "jid", "queue", "state"), "*1\r\n") + 4;
	ASSERT_MEMBER("a", "jid", map);
	ASSERT_MEMBER("q", "queue", map);
	ASSERT_MEMBER("waiting", "state", map);
}

static void jobs_of_other_queues_are_left_out(void)
{
	struct call_fixture *call = &f.call;

	put("mail", "a", "k", "{}");
	put("video", "b", "k", "{}");
	ASSERT_NATIVE("+OK\r\n", &f, "ACL", "SETUSER", "limited", "on", "nopass", "~mail", "+@all");
	call->session.user = acl_find(call->env.acl, STR("limited"));
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "CLASS", "k");
	ASSERT_NATIVE(NOTHING, &f, "JOB.SEARCH", "JID", "b");
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "STATE", "waiting", "QUEUE", "mail");
	ASSERT_BEGINS("-NOPERM", &f, "JOB.SEARCH", "STATE", "waiting", "QUEUE", "video");
	ASSERT_BEGINS("-NOPERM", &f, "JOB.SEARCH", "DATA", "queue", "1", "queue", "video");
	call->session.user = acl_default_user(call->env.acl);
}

/* ---- random searches ---- */

#define JOBS   400
#define TAGS   3
#define QUEUES 2

struct model_job {
	char jid[16];
	int klass;
	int queue;
	int value;
	bool tags[TAGS];
	const char *state;
};

static struct model_job jobs[JOBS];
static unsigned long long seed;

static int draw(int below)
{
	return (int)(unit_random(&seed) % (unsigned)below);
}

static const char *text(char *to, const char *begin, int number)
{
	snprintf(to, 32, "%s%d", begin, number);
	return to;
}

/* Leads a job to a state. The queue of each job that is popped is empty otherwise. */
static void lead_to_state(struct model_job *job)
{
	static const char *const states[] = { "waiting", "scheduled", "depends",
					      "running", "failed",    "complete" };
	char home[32], klass[32], data[32];
	bool is_popped;

	job->state = states[draw(6)];
	is_popped = job->state[0] == 'r' || job->state[0] == 'f' || job->state[0] == 'c';
	text(home, "q", job->queue);
	text(klass, "k", job->klass);
	snprintf(data, sizeof data, "{ \"w\":[%d], \"v\":%d%s}", draw(5), job->value,
		 draw(2) == 0 ? "" : ".0");
	ASSERT_BEGINS("$", &f, "PUT", "me", home, job->jid, klass, data,
		      job->state[0] == 's' ? "1000000" : "0", "depends",
		      job->state[0] == 'd' ? "[\"never\"]" : "[]", "priority",
		      is_popped ? "9" : "0", "retries", "5");
	f.now += 0.001;
	if (!is_popped)
		return;
	ASSERT_BEGINS("$", &f, "POP", home, "w", "1");
	if (job->state[0] == 'f')
		ASSERT_BEGINS("$", &f, "FAIL", job->jid, "w", "g", "m");
	if (job->state[0] == 'c')
		ASSERT_BEGINS("$", &f, "COMPLETE", job->jid, "w", home, data);
}

static void make_jobs(void)
{
	char tag[32];

	ASSERT_BEGINS("$", &f, "PUT", "me", "away", "never", "away", "{}", "0");
	for (int i = 0; i < JOBS; i++) {
		struct model_job *job = &jobs[i];

		*job = (struct model_job){ .klass = draw(3),
					   .queue = draw(QUEUES),
					   .value = draw(4) };
		snprintf(job->jid, sizeof job->jid, "j%d", i);
		lead_to_state(job);
		for (int t = 0; t < TAGS; t++) {
			job->tags[t] = draw(t + 2) == 0;
			if (job->tags[t])
				ASSERT_BEGINS("$", &f, "TAG", "add", job->jid, text(tag, "t", t));
		}
	}
}

struct model_search {
	int klass, queue, value, tags[2], prefix; /* -1: no such condition */
	const char *states[2];
	char texts[32][32];
	const char *args[32];
	size_t nargs;
};

static void add(struct model_search *s, const char *word)
{
	s->args[s->nargs++] = word;
}

static void add_condition(struct model_search *s, const char *word, const char *begin, int *number,
			  int below)
{
	*number = draw(3) == 0 ? draw(below) : -1;
	if (*number < 0)
		return;
	add(s, word);
	if (strcmp(word, "DATA") == 0)
		add(s, "v");
	add(s, text(s->texts[s->nargs], begin, *number));
}

static void draw_search(struct model_search *s)
{
	static const char *const states[] = { "waiting", "scheduled", "depends",
					      "running", "failed",    "complete" };

	*s = (struct model_search){ .klass = -1 };
	add(s, "JOB.SEARCH");
	add_condition(s, "CLASS", "k", &s->klass, 3);
	add_condition(s, "QUEUE", "q", &s->queue, QUEUES);
	if (draw(2) == 0) {
		add(s, "STATE");
		for (int i = 0; i < 2; i++)
			add(s, s->states[i] = states[draw(6)]);
	}
	add_condition(s, "DATA", "", &s->value, 4);
	add_condition(s, "TAG", "t", &s->tags[0], TAGS);
	add_condition(s, "TAG", "t", &s->tags[1], TAGS);
	add_condition(s, "PREFIX", "j", &s->prefix, 10);
}

static bool is_meant(const struct model_search *s, const struct model_job *job)
{
	for (int i = 0; i < 2; i++) {
		if (s->tags[i] >= 0 && !job->tags[s->tags[i]])
			return false;
	}
	if (s->states[0] != NULL && strcmp(job->state, s->states[0]) != 0 &&
	    strcmp(job->state, s->states[1]) != 0)
		return false;
	return (s->klass < 0 || s->klass == job->klass) &&
	       (s->queue < 0 || s->queue == job->queue) &&
	       (s->value < 0 || s->value == job->value) &&
	       (s->prefix < 0 || job->jid[1] == '0' + s->prefix);
}

/* Counts the jobs of a reply, and returns its cursor. */
static void read_page(const char *reply, int found[JOBS], char cursor[128])
{
	const char *at = reply;

	TEST_ASSERT_EQUAL_INT_MESSAGE(1, sscanf(reply, "*2\r\n$%*d\r\n%127s", cursor), reply);
	at = flatmap_skip(strstr(reply, "\r\n") + 2);
	while ((at = strstr(at, "\r\nj")) != NULL) {
		long number = strtol(at + 3, NULL, 10);

		TEST_ASSERT_LESS_THAN(JOBS, number);
		found[number]++;
		at++;
	}
}

/* Calls until the end with a few jobs in each. Returns the number of calls. */
static int collect(struct model_search *s, int found[JOBS])
{
	struct qless_str argv[32];
	char cursor[128] = "0", count[32];
	int calls = 0;

	memset(found, 0, JOBS * sizeof *found);
	add(s, "CURSOR");
	add(s, cursor);
	add(s, "COUNT");
	add(s, count);
	do {
		text(count, "", 1 + draw(30));
		for (size_t i = 0; i < s->nargs; i++)
			argv[i] = str_from(s->args[i]);
		read_page(call_run_argv(&f.call, argv, (int)s->nargs), found, cursor);
		calls++;
	} while (strcmp(cursor, "0") != 0);
	return calls;
}

static void a_search_finds_each_job_that_a_plain_walk_finds(void)
{
	struct model_search s;
	int found[JOBS], all = 0, calls = 0;

	seed = 4711;
	make_jobs();
	for (int round = 0; round < 500; round++) {
		draw_search(&s);
		calls += collect(&s, found);
		for (int i = 0; i < JOBS; i++) {
			all += found[i];
			TEST_ASSERT_EQUAL_INT_MESSAGE(is_meant(&s, &jobs[i]), found[i],
						      jobs[i].jid);
		}
	}
	TEST_ASSERT_GREATER_THAN_INT(10000, all);
	TEST_ASSERT_GREATER_THAN_INT(1000, calls);
}

/* ---- which way a search takes ---- */

/* Returns the first byte of the cursor after one job. */
static char way_of(const char *word, const char *value)
{
	const char *reply = word != NULL ? NATIVE(&f, "JOB.SEARCH", "COUNT", "1", word, value)
					 : NATIVE(&f, "JOB.SEARCH", "COUNT", "1");

	return *(strstr(strstr(reply, "$"), "\r\n") + 2);
}

static void a_search_walks_through_the_shortest_list(void)
{
	char jid[32];

	for (int i = 0; i < 300; i++) {
		put(i % 3 == 0 ? "mail" : "video", text(jid, "j", i), "k", "{}");
		if (i % 30 == 0)
			ASSERT_BEGINS("$", &f, "TAG", "add", jid, "red");
	}
	TEST_ASSERT_NOT_EQUAL('s', way_of("CLASS", "k"));
	TEST_ASSERT_NOT_EQUAL('t', way_of("CLASS", "k"));
	TEST_ASSERT_EQUAL_CHAR('t', way_of("TAG", "red"));
	ASSERT_BEGINS("*2\r\n$28\r\ns0-", &f, "JOB.SEARCH", "QUEUE", "mail", "STATE", "waiting",
		      "COUNT", "1");
	ASSERT_BEGINS("*2\r\n$24\r\nt0-", &f, "JOB.SEARCH", "QUEUE", "mail", "STATE", "waiting",
		      "TAG", "red", "COUNT", "1");
}

/* A cursor of one search is refused by a search that has no such list. */
static void a_cursor_belongs_to_its_search(void)
{
	char cursor[64];
	const char *reply;

	for (int i = 0; i < 3; i++) {
		put("q", i == 0 ? "a" : i == 1 ? "b" : "c", "k", "{}");
		ASSERT_BEGINS("$", &f, "TAG", "add", i == 0 ? "a" : i == 1 ? "b" : "c", "red");
	}
	reply = NATIVE(&f, "JOB.SEARCH", "TAG", "red", "COUNT", "1");
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, sscanf(reply, "*2\r\n$%*d\r\n%63s", cursor), reply);
	ASSERT_BEGINS("-BADARG CURSOR must be", &f, "JOB.SEARCH", "CURSOR", cursor);
	ASSERT_BEGINS("-BADARG CURSOR must be", &f, "JOB.SEARCH", "JID", "a", "CURSOR", cursor);
	ASSERT_BEGINS("-BADARG CURSOR must be", &f, "JOB.SEARCH", "TAG", "red", "CURSOR", "t1-");
	ASSERT_BEGINS("-BADARG CURSOR must be", &f, "JOB.SEARCH", "TAG", "red", "CURSOR",
		      "t0-7ff8000000000000-61");
	ASSERT_BEGINS("-BADARG CURSOR must be", &f, "JOB.SEARCH", "TAG", "red", "CURSOR", "t0-61");
	ASSERT_BEGINS("*2\r\n", &f, "JOB.SEARCH", "TAG", "red", "CURSOR", cursor);
}

/* A cursor stands for a place, so jobs before and after it may leave the list. */
static void a_walk_goes_on_where_its_job_was(void)
{
	char cursor[64];
	const char *reply;

	put("q", "a", "k", "{}");
	put("q", "b", "k", "{}");
	put("q", "c", "k", "{}");
	ASSERT_BEGINS("$", &f, "PUT", "me", "q", "never", "k", "{}", "1000");
	reply = NATIVE(&f, "JOB.SEARCH", "QUEUE", "q", "STATE", "waiting", "COUNT", "1");
	TEST_ASSERT_EQUAL_INT_MESSAGE(1, sscanf(reply, "*2\r\n$%*d\r\n%63s", cursor), reply);
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply, "\r\nc\r\n"), reply);
	ASSERT_BEGINS("*1\r\n", &f, "CANCEL", "c");
	ASSERT_BEGINS("*1\r\n", &f, "CANCEL", "b");
	ASSERT_NATIVE(ONLY("a"), &f, "JOB.SEARCH", "QUEUE", "q", "STATE", "waiting", "CURSOR",
		      cursor);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(each_condition_selects_jobs);
	RUN(jobs_that_have_come_due_are_waiting);
	RUN(a_search_for_a_job_or_a_tag_finds_it_due);
	RUN(only_a_search_for_waiting_jobs_of_a_queue_moves_jobs);
	RUN(raw_data_has_no_values);
	RUN(fields_show_what_was_found);
	RUN(jobs_of_other_queues_are_left_out);
	RUN(a_search_finds_each_job_that_a_plain_walk_finds);
	RUN(a_search_walks_through_the_shortest_list);
	RUN(a_cursor_belongs_to_its_search);
	RUN(a_walk_goes_on_where_its_job_was);
	return UNIT_RESULT();
}
