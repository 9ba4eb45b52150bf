/*
 * Three servers of a group on loopback. The leader is killed or stopped while a client works, and a
 * ledger has what was acknowledged: none of it is lost, and all states are equal in the end.
 *
 * The environment variable QLESSD_GROUP_ROUNDS sets how often the leader is killed.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "group_node.h"
#include "qlessd.h"
#include "stored_dump.h"
#include "unit.h"
#include "wait.h"

#define NODES	  3
#define DATABASES 1
#define JOBS_MAX  20000
#define ROUNDS	  "6"
/* Commands between two kills. */
#define COMMANDS 150
#define ATTEMPTS 10

enum known {
	UNKNOWN, /* no command about it was acknowledged */
	PUT,
	COMPLETED,
	MAYBE_COMPLETED, /* a completion was sent, and its connection ended */
};

struct node {
	struct qlessd q;
	int port, group_port;
	redisContext *context; /* NULL: there is no connection */
};

static struct node nodes[NODES];
static struct node *leader;
static enum known jobs[JOBS_MAX];
static int job_count;
static unsigned long long rng = 1;

/* ---- requests ---- */

static void disconnect(struct node *n)
{
	redisFree(n->context);
	n->context = NULL;
}

static bool has_connection(struct node *n)
{
	struct timeval patience = { .tv_sec = 2 };

	if (n->q.pid <= 0)
		return false;
	if (n->context == NULL)
		n->context = redisConnectWithTimeout("127.0.0.1", n->port, patience);
	if (n->context != NULL && n->context->err == 0) {
		redisSetTimeout(n->context, patience);
		return true;
	}
	disconnect(n);
	return false;
}

/* Returns the reply, which the caller frees. NULL: the outcome is unknown. */
static redisReply *ask(struct node *n, const char *format, ...)
{
	redisReply *reply = NULL;
	va_list args;

	if (!has_connection(n))
		return NULL;
	va_start(args, format);
	reply = redisvCommand(n->context, format, args);
	va_end(args);
	if (reply == NULL)
		disconnect(n);
	return reply;
}

static bool is_error(const redisReply *reply)
{
	return reply == NULL || reply->type == REDIS_REPLY_ERROR;
}

/* Returns a number of INFO replication, or -1. */
static long long figure(struct node *n, const char *name)
{
	redisReply *reply = ask(n, "INFO replication");
	const char *at = reply != NULL && reply->str != NULL ? strstr(reply->str, name) : NULL;
	long long value = at != NULL ? strtoll(at + strlen(name), NULL, 10) : -1;

	freeReplyObject(reply);
	return value;
}

static bool leads(struct node *n)
{
	redisReply *reply = ask(n, "INFO replication");
	bool result =
		reply != NULL && reply->str != NULL && strstr(reply->str, "role:master") != NULL;

	freeReplyObject(reply);
	return result;
}

static bool find_leader(const struct node *other_than)
{
	leader = NULL;
	for (int i = 0; i < NODES && leader == NULL; i++) {
		if (&nodes[i] != other_than && leads(&nodes[i]))
			leader = &nodes[i];
	}
	return leader != NULL;
}

/* ---- nodes ---- */

static void start(struct node *n, enum group_birth birth)
{
	char members[GROUP_MEMBERS_SIZE];
	int len = 0;

	for (int i = 0; i < NODES; i++)
		len += snprintf(members + len, sizeof members - (size_t)len, "%d=127.0.0.1:%d ",
				i + 1, nodes[i].group_port);
	group_node_start(&n->q, &(struct group_node_start){ .id = (int)(n - nodes) + 1,
							    .port = n->port,
							    .group_port = n->group_port,
							    .birth = birth,
							    .members = members });
}

void setUp(void)
{
	memset(jobs, 0, sizeof jobs);
	job_count = 0;
	for (int i = 0; i < NODES; i++)
		nodes[i] = (struct node){ .port = qlessd_free_port(),
					  .group_port = qlessd_free_port() };
	for (int i = 0; i < NODES; i++)
		start(&nodes[i], GROUP_FOUNDS);
	WAIT_UNTIL(find_leader(NULL));
}

void tearDown(void)
{
	for (int i = 0; i < NODES; i++) {
		if (nodes[i].context != NULL)
			disconnect(&nodes[i]);
		qlessd_stop(&nodes[i].q);
	}
}

static void kill_node(struct node *n)
{
	TEST_ASSERT_EQUAL_INT(0, kill(n->q.pid, SIGKILL));
	TEST_ASSERT_TRUE(WIFSIGNALED(qlessd_wait(&n->q)));
	disconnect(n);
}

/* ---- work ---- */

static void put_job(void)
{
	int job = job_count++;
	redisReply *reply = ask(leader, "PUT w q j%d klass {} 0", job);

	if (!is_error(reply))
		jobs[job] = PUT;
	freeReplyObject(reply);
}

/* Pops a job and completes it. */
static void work(void)
{
	redisReply *reply = ask(leader, "POP q w 1"), *done;
	const char *jid;
	int job;

	jid = reply != NULL && reply->str != NULL ? strstr(reply->str, "\"jid\":\"j") : NULL;
	if (jid != NULL) {
		job = (int)strtol(jid + strlen("\"jid\":\"j"), NULL, 10);
		TEST_ASSERT_TRUE_MESSAGE(jobs[job] != COMPLETED, "a completed job came back");
		done = ask(leader, "COMPLETE j%d w q {}", job);
		if (!is_error(done))
			jobs[job] = COMPLETED;
		else if (done == NULL)
			jobs[job] = MAYBE_COMPLETED;
		freeReplyObject(done);
	}
	freeReplyObject(reply);
}

static void run_commands(int count)
{
	for (int i = 0; i < count; i++) {
		if (unit_random(&rng) % 3 == 0)
			work();
		else
			put_job();
	}
}

/* Every acknowledged command has left its trace. */
static void check_ledger(void)
{
	for (int job = 0; job < job_count; job++) {
		redisReply *reply;
		char message[300];

		if (jobs[job] == UNKNOWN)
			continue;
		reply = ask(leader, "GET j%d", job);
		snprintf(message, sizeof message, "job j%d: %.250s", job,
			 reply != NULL && reply->str != NULL ? reply->str : "(nothing)");
		TEST_ASSERT_TRUE_MESSAGE(reply != NULL && reply->type == REDIS_REPLY_STRING,
					 message);
		if (jobs[job] == COMPLETED)
			TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply->str, "\"state\":\"complete\""),
						     message);
		freeReplyObject(reply);
	}
}

static bool have_all_applied(void)
{
	long long last = figure(leader, "group_last:");

	for (int i = 0; i < NODES; i++) {
		if (figure(&nodes[i], "group_applied:") != last ||
		    figure(&nodes[i], "group_commit:") != last)
			return false;
	}
	return true;
}

/* The logs of all nodes lead to one state. */
static void check_states(void)
{
	struct buf dumps[NODES];

	WAIT_UNTIL(have_all_applied());
	for (int i = 0; i < NODES; i++) {
		struct stored_dump load = { .visit = NULL };
		char *dir = strdup(nodes[i].q.dir.path);

		disconnect(&nodes[i]);
		kill(nodes[i].q.pid, SIGTERM);
		TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&nodes[i].q));
		buf_init(&dumps[i], BUF_NO_MAX);
		stored_dump_files(&load, dir, DATABASES, (uint64_t)i + 1, &dumps[i]);
		free(dir);
		TEST_ASSERT_EQUAL_STRING(buf_cstr(&dumps[0]), buf_cstr(&dumps[i]));
	}
	TEST_ASSERT_TRUE(dumps[0].len > 10000);
	for (int i = 0; i < NODES; i++)
		buf_done(&dumps[i]);
}

/* ---- tests ---- */

static void a_follower_says_where_the_leader_is(void)
{
	char expected[100];

	for (int i = 0; i < NODES; i++) {
		redisReply *reply;

		if (&nodes[i] == leader)
			continue;
		snprintf(expected, sizeof expected, "READONLY the leader is 127.0.0.1:%d",
			 leader->port);
		for (int64_t until = wait_now_ms() + WAIT_MAX_MS;;) {
			reply = ask(&nodes[i], "PUT w q j klass {} 0");
			TEST_ASSERT_NOT_NULL(reply);
			TEST_ASSERT_EQUAL_INT(REDIS_REPLY_ERROR, reply->type);
			if (strcmp(reply->str, expected) == 0 || wait_now_ms() > until)
				break;
			freeReplyObject(reply);
			wait_ms(2);
		}
		TEST_ASSERT_EQUAL_STRING(expected, reply->str);
		freeReplyObject(reply);
		reply = ask(&nodes[i], "ROLE");
		TEST_ASSERT_EQUAL_STRING("slave", reply->element[0]->str);
		TEST_ASSERT_EQUAL_INT(leader->port, reply->element[2]->integer);
		freeReplyObject(reply);
	}
}

static bool has_followers(void)
{
	return figure(leader, "connected_slaves:") == NODES - 1;
}

static void a_leader_says_who_follows(void)
{
	redisReply *reply;

	WAIT_UNTIL(has_followers());
	WAIT_UNTIL(have_all_applied());
	reply = ask(leader, "ROLE");
	TEST_ASSERT_NOT_NULL(reply);
	TEST_ASSERT_EQUAL_STRING("master", reply->element[0]->str);
	TEST_ASSERT_EQUAL_size_t(NODES - 1, reply->element[2]->elements);
	for (size_t i = 0; i < NODES - 1; i++) {
		const redisReply *row = reply->element[2]->element[i];
		int port = (int)strtol(row->element[1]->str, NULL, 10);

		TEST_ASSERT_EQUAL_STRING("127.0.0.1", row->element[0]->str);
		TEST_ASSERT_TRUE(port != leader->port);
		TEST_ASSERT_TRUE(port == nodes[0].port || port == nodes[1].port ||
				 port == nodes[2].port);
	}
	freeReplyObject(reply);
	TEST_ASSERT_TRUE(figure(leader, ",state=online,offset=") > 0);
}

static void followers_flush_when_the_leader_does(void)
{
	redisReply *reply;

	run_commands(COMMANDS);
	reply = ask(leader, "FLUSHALL");
	TEST_ASSERT_FALSE(is_error(reply));
	freeReplyObject(reply);
	memset(jobs, 0, sizeof jobs);
	run_commands(COMMANDS);
	WAIT_UNTIL(have_all_applied());
	for (int i = 0; i < NODES; i++)
		TEST_ASSERT_EQUAL_INT(0, figure(&nodes[i], "group_rebuilds:"));
	check_ledger();
	check_states();
}

static void a_killed_leader_loses_nothing(void)
{
	const char *rounds = getenv("QLESSD_GROUP_ROUNDS");

	for (int round = (int)strtol(rounds != NULL ? rounds : ROUNDS, NULL, 10); round > 0;
	     round--) {
		struct node *killed = leader;

		run_commands(COMMANDS);
		kill_node(killed);
		WAIT_UNTIL(find_leader(killed));
		run_commands(COMMANDS / 3);
		check_ledger();
		start(killed, GROUP_CONTINUES);
	}
	check_states();
}

static void a_leader_that_stood_still_follows(void)
{
	struct node *halted = leader;

	run_commands(COMMANDS);
	qlessd_halt(&halted->q);
	/* Its connection would not answer before it goes on. */
	disconnect(halted);
	WAIT_UNTIL(find_leader(halted));
	TEST_ASSERT_TRUE(leader != halted);
	run_commands(COMMANDS);
	qlessd_go_on(&halted->q);
	WAIT_UNTIL(figure(halted, "group_commit:") == figure(leader, "group_commit:"));
	TEST_ASSERT_FALSE(leads(halted));
	check_ledger();
	check_states();
}

/* The leader runs a command that nobody else gets, and another node leads then. Returns whether it
 * has run it: on a busy machine, it may have ceased to lead before. */
static bool forget_command(void)
{
	struct node *old = leader;
	redisReply *reply;

	WAIT_UNTIL(have_all_applied());
	for (int i = 0; i < NODES; i++) {
		if (&nodes[i] != old)
			kill_node(&nodes[i]);
	}
	/* Nobody acknowledges it, so the leader ceases to lead and closes the connection. */
	reply = ask(old, "PUT w q alone klass {} 0");
	TEST_ASSERT_TRUE(is_error(reply));
	freeReplyObject(reply);
	disconnect(old);
	qlessd_halt(&old->q);
	for (int i = 0; i < NODES; i++) {
		if (&nodes[i] != old)
			start(&nodes[i], GROUP_CONTINUES);
	}
	WAIT_UNTIL(find_leader(old));
	run_commands(COMMANDS / 3);
	qlessd_go_on(&old->q);
	WAIT_UNTIL(have_all_applied());
	return figure(old, "group_rebuilds:") == 1;
}

static void a_leader_forgets_what_only_it_has_run(void)
{
	bool has_forgotten = false;
	redisReply *reply;

	run_commands(COMMANDS);
	for (int i = 0; i < ATTEMPTS && !has_forgotten; i++)
		has_forgotten = forget_command();
	TEST_ASSERT_TRUE(has_forgotten);
	reply = ask(leader, "GET alone");
	TEST_ASSERT_NOT_NULL(reply);
	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_NIL, reply->type);
	freeReplyObject(reply);
	check_ledger();
	check_states();
}

/* Another leader may have changed what it would read. */
static void a_leader_that_hears_from_nobody_answers_no_reads(void)
{
	struct node *asked = leader;
	redisReply *reply;

	put_job();
	reply = ask(asked, "GET j0");
	TEST_ASSERT_FALSE(is_error(reply));
	freeReplyObject(reply);
	for (int i = 0; i < NODES; i++) {
		if (&nodes[i] != asked)
			qlessd_halt(&nodes[i].q);
	}
	/* Its connection ends when it ceases to lead, or the test stops waiting. */
	TEST_ASSERT_NULL(ask(asked, "GET j0"));
	for (int i = 0; i < NODES; i++) {
		if (&nodes[i] != asked)
			qlessd_go_on(&nodes[i].q);
	}
	WAIT_UNTIL(find_leader(NULL));
	check_ledger();
}

static void without_a_majority_nothing_is_acknowledged(void)
{
	struct node *others[NODES];
	redisReply *reply;
	int count = 0;

	run_commands(COMMANDS);
	for (int i = 0; i < NODES; i++) {
		if (&nodes[i] != leader)
			others[count++] = &nodes[i];
	}
	kill_node(others[0]);
	kill_node(others[1]);
	reply = ask(leader, "PUT w q alone klass {} 0");
	TEST_ASSERT_TRUE(is_error(reply));
	freeReplyObject(reply);
	WAIT_UNTIL(!leads(leader));
	reply = ask(leader, "PUT w q alone klass {} 0");
	TEST_ASSERT_NOT_NULL(reply);
	TEST_ASSERT_EQUAL_STRING("MASTERDOWN no leader is known", reply->str);
	freeReplyObject(reply);
	start(others[0], GROUP_CONTINUES);
	start(others[1], GROUP_CONTINUES);
	WAIT_UNTIL(find_leader(NULL));
	run_commands(COMMANDS);
	check_ledger();
	check_states();
}

/* Starts a server that must not start, and looks for the reason. */
#define REFUSED(reason, ...)                                                         \
	do {                                                                         \
		char *output_;                                                       \
		int status_ = QLESSD_RUN(&output_, "--dir", dir.path, "--port", "0", \
					 "--unixsocket", socket, __VA_ARGS__);       \
		TEST_ASSERT_NOT_EQUAL_INT(0, status_);                               \
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(output_, reason), output_);      \
		free(output_);                                                       \
	} while (0)

static void a_group_that_cannot_be_is_refused(void)
{
	char socket[QLESSD_PATH_MAX];
	struct tempdir dir;

	tempdir_init(&dir);
	snprintf(socket, sizeof socket, "%s/socket", dir.path);
	REFUSED("needs the directives replication-id and replication-port", "--begin-group");
	REFUSED("--group-id 12 does not have 32 hexadecimal digits", "--begin-group",
		"--replication-id", "1", "--replication-port", "1", "--group-id", "12");
	REFUSED("--group-members 1:h is not a list of members", "--begin-group", "--replication-id",
		"1", "--replication-port", "1", "--group-members", "1:h");
	REFUSED("--group-members 1=h:1 1=i:1 is not a list of members", "--begin-group",
		"--replication-id", "1", "--replication-port", "1", "--group-members",
		"1=h:1 1=i:1");
	REFUSED("does not have this node, 3", "--begin-group", "--replication-id", "3",
		"--replication-port", "1", "--group-members", "1=h:1 2=i:1");
	REFUSED("a group of servers needs a log", "--begin-group", "--appendonly", "no");
	tempdir_done(&dir);
}

static void the_log_of_a_group_needs_its_directives(void)
{
	struct qlessd *q = &nodes[0].q;
	struct tempdir dir;
	char socket[QLESSD_PATH_MAX];

	/* This one is a node already. */
	disconnect(&nodes[0]);
	kill(q->pid, SIGTERM);
	TEST_ASSERT_EQUAL_INT(0, qlessd_wait(q));
	dir = q->dir;
	snprintf(socket, sizeof socket, "%s/other", dir.path);
	REFUSED("is that of a group already", "--begin-group", "--replication-id", "1",
		"--replication-port", "1");
	REFUSED("set replication-port", "--replication-id", "1");
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_follower_says_where_the_leader_is);
	RUN(a_leader_says_who_follows);
	RUN(followers_flush_when_the_leader_does);
	RUN(a_killed_leader_loses_nothing);
	RUN(a_leader_that_stood_still_follows);
	RUN(a_leader_forgets_what_only_it_has_run);
	RUN(a_leader_that_hears_from_nobody_answers_no_reads);
	RUN(without_a_majority_nothing_is_acknowledged);
	RUN(a_group_that_cannot_be_is_refused);
	RUN(the_log_of_a_group_needs_its_directives);
	return UNIT_RESULT();
}
