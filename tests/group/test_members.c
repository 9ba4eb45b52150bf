/*
 * The members of a group change: FAILOVER, REPLICA ADD, REMOVE and REPLACE with real servers.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "group_node.h"
#include "qlessd.h"
#include "stored_dump.h"
#include "unit.h"
#include "wait.h"

#define FOUNDERS 3
#define NODES	 4
/* Clients that send commands while the leader changes, and commands of each. */
#define CLIENTS 6
#define BURST	100

struct node {
	struct qlessd q;
	int id, port, group_port;
};

static struct node nodes[NODES];
static int job_count;

/* ---- requests ---- */

static redisContext *connect_to(const struct node *n)
{
	redisContext *c =
		redisConnectWithTimeout("127.0.0.1", n->port, (struct timeval){ .tv_sec = 10 });

	TEST_ASSERT_NOT_NULL(c);
	if (c->err != 0) {
		redisFree(c);
		return NULL;
	}
	redisSetTimeout(c, (struct timeval){ .tv_sec = 10 });
	return c;
}

/* Returns the reply, or NULL if the server does not answer. */
static redisReply *ask(const struct node *n, const char *command)
{
	redisContext *c = n->q.pid > 0 ? connect_to(n) : NULL;
	redisReply *reply = c != NULL ? redisCommand(c, command) : NULL;

	if (c != NULL)
		redisFree(c);
	return reply;
}

static void check_reply(const struct node *n, const char *command, const char *expected)
{
	redisReply *reply = ask(n, command);

	TEST_ASSERT_NOT_NULL_MESSAGE(reply, command);
	TEST_ASSERT_NOT_NULL_MESSAGE(reply->str, command);
	TEST_ASSERT_EQUAL_STRING_MESSAGE(expected, reply->str, command);
	freeReplyObject(reply);
}

/* A leader that has just been elected refuses changes of the group for some turns. */
static bool is_done(const struct node *n, const char *command)
{
	redisReply *reply = ask(n, command);
	bool result = reply != NULL && reply->type == REDIS_REPLY_STATUS;

	freeReplyObject(reply);
	return result;
}

static bool info_has(const struct node *n, const char *text)
{
	redisReply *reply = ask(n, "INFO replication");
	bool result = reply != NULL && reply->str != NULL && strstr(reply->str, text) != NULL;

	freeReplyObject(reply);
	return result;
}

static bool leads(const struct node *n)
{
	return info_has(n, "role:master");
}

static struct node *find_leader(void)
{
	for (int i = 0; i < NODES; i++) {
		if (leads(&nodes[i]))
			return &nodes[i];
	}
	return NULL;
}

static struct node *leader(void)
{
	struct node *n = NULL;

	WAIT_UNTIL((n = find_leader()) != NULL);
	return n;
}

/* Returns a node that does not lead. */
static struct node *follower(const struct node *other_than)
{
	const struct node *first = leader();

	for (int i = 0; i < NODES; i++) {
		if (nodes[i].q.pid > 0 && &nodes[i] != first && &nodes[i] != other_than)
			return &nodes[i];
	}
	TEST_FAIL_MESSAGE("there is no other node");
	return NULL;
}

/* Returns the role of a node in REPLICA LIST, or an empty string. */
static const char *role_in_list(const struct node *asked, int id)
{
	static char role[16];
	redisReply *reply = ask(asked, "REPLICA LIST");

	role[0] = '\0';
	for (size_t i = 0; reply != NULL && i < reply->elements; i++) {
		redisReply *one = reply->element[i];

		TEST_ASSERT_EQUAL_UINT64(18, one->elements);
		TEST_ASSERT_EQUAL_STRING("id", one->element[0]->str);
		TEST_ASSERT_EQUAL_STRING("role", one->element[6]->str);
		if (one->element[1]->integer == id)
			snprintf(role, sizeof role, "%s", one->element[7]->str);
	}
	freeReplyObject(reply);
	return role;
}

/* ---- nodes ---- */

static void start(struct node *n, enum group_birth birth)
{
	char members[GROUP_MEMBERS_SIZE];
	int len = 0;

	for (int i = 0; i < FOUNDERS; i++)
		len += snprintf(members + len, sizeof members - (size_t)len, "%d=127.0.0.1:%d ",
				nodes[i].id, nodes[i].group_port);
	group_node_start(&n->q, &(struct group_node_start){ .id = n->id,
							    .port = n->port,
							    .group_port = n->group_port,
							    .birth = birth,
							    .members = members });
}

void setUp(void)
{
	job_count = 0;
	for (int i = 0; i < NODES; i++)
		nodes[i] = (struct node){ .id = i + 1,
					  .port = qlessd_free_port(),
					  .group_port = qlessd_free_port() };
	for (int i = 0; i < FOUNDERS; i++)
		start(&nodes[i], GROUP_FOUNDS);
	leader();
}

void tearDown(void)
{
	for (int i = 0; i < NODES; i++)
		qlessd_stop(&nodes[i].q);
}

static void kill_node(struct node *n)
{
	TEST_ASSERT_EQUAL_INT(0, kill(n->q.pid, SIGKILL));
	TEST_ASSERT_TRUE(WIFSIGNALED(qlessd_wait(&n->q)));
}

static void put_jobs(int count)
{
	redisContext *c = connect_to(leader());

	TEST_ASSERT_NOT_NULL(c);
	for (int i = 0; i < count; i++)
		TEST_ASSERT_EQUAL_INT(REDIS_OK,
				      redisAppendCommand(c, "PUT w q j%d klass {} 0", job_count++));
	for (int i = 0; i < count; i++) {
		redisReply *reply;

		TEST_ASSERT_EQUAL_INT(REDIS_OK, redisGetReply(c, (void **)&reply));
		TEST_ASSERT_TRUE(reply->type != REDIS_REPLY_ERROR);
		freeReplyObject(reply);
	}
	redisFree(c);
}

static long long figure(const struct node *n, const char *name)
{
	redisReply *reply = ask(n, "INFO replication");
	const char *at = reply != NULL && reply->str != NULL ? strstr(reply->str, name) : NULL;
	long long value = at != NULL ? strtoll(at + strlen(name), NULL, 10) : -1;

	freeReplyObject(reply);
	return value;
}

static bool have_all_applied(void)
{
	long long last = figure(leader(), "group_last:");

	for (int i = 0; i < NODES; i++) {
		if (nodes[i].q.pid > 0 && (figure(&nodes[i], "group_applied:") != last ||
					   figure(&nodes[i], "group_commit:") != last))
			return false;
	}
	return true;
}

/* Stops the nodes that run, and compares their states. */
static void check_states(void)
{
	struct buf first, other;
	bool has_first = false;

	WAIT_UNTIL(have_all_applied());
	buf_init(&first, BUF_NO_MAX);
	for (int i = 0; i < NODES; i++) {
		struct stored_dump load = { .visit = NULL };

		if (nodes[i].q.pid <= 0)
			continue;
		TEST_ASSERT_EQUAL_INT(0, kill(nodes[i].q.pid, SIGTERM));
		TEST_ASSERT_EQUAL_INT(0, qlessd_wait(&nodes[i].q));
		buf_init(&other, BUF_NO_MAX);
		stored_dump_files(&load, nodes[i].q.dir.path, 1, (uint64_t)i + 1,
				  has_first ? &other : &first);
		if (has_first)
			TEST_ASSERT_EQUAL_STRING(buf_cstr(&first), buf_cstr(&other));
		has_first = true;
		buf_done(&other);
	}
	TEST_ASSERT_TRUE(first.len > 1000);
	buf_done(&first);
}

/* ---- FAILOVER ---- */

/* Reads the reply to a PUT, and notes whether the job exists. Returns false if there is none. */
static bool read_reply(redisContext *c, bool *is_acknowledged)
{
	redisReply *reply;

	if (redisGetReply(c, (void **)&reply) != REDIS_OK)
		return false;
	*is_acknowledged = reply->type != REDIS_REPLY_ERROR;
	if (!*is_acknowledged)
		TEST_ASSERT_EQUAL_STRING("MASTERDOWN this node hands over to another one, and did "
					 "not run the command",
					 reply->str);
	freeReplyObject(reply);
	return true;
}

/* Sends what was appended, unless the connection has ended. */
static void send_all(redisContext *c)
{
	int done = 0;

	while (!done && redisBufferWrite(c, &done) == REDIS_OK)
		continue;
}

static void a_handover_runs_what_it_answers_and_nothing_else(void)
{
	struct node *old = leader();
	bool is_acknowledged[CLIENTS * BURST] = { false };
	redisContext *clients[CLIENTS], *c;
	redisReply *reply;
	int acknowledged = 0;

	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = connect_to(old);
		TEST_ASSERT_NOT_NULL(clients[i]);
		for (int k = 0; k < BURST; k++)
			redisAppendCommand(clients[i], "PUT w q j%d klass {} 0", i * BURST + k);
	}
	c = connect_to(old);
	/* The first half of the clients has begun before FAILOVER. */
	for (int i = 0; i < CLIENTS / 2; i++) {
		send_all(clients[i]);
		TEST_ASSERT_TRUE(read_reply(clients[i], &is_acknowledged[i * BURST]));
	}
	redisAppendCommand(c, "FAILOVER");
	send_all(c);
	for (int i = CLIENTS / 2; i < CLIENTS; i++)
		send_all(clients[i]);
	TEST_ASSERT_EQUAL_INT(REDIS_OK, redisGetReply(c, (void **)&reply));
	TEST_ASSERT_EQUAL_STRING("OK", reply->str);
	freeReplyObject(reply);
	TEST_ASSERT_EQUAL_INT(REDIS_ERR, redisGetReply(c, (void **)&reply));
	redisFree(c);
	for (int i = 0; i < CLIENTS; i++) {
		int job = i * BURST + (i < CLIENTS / 2);

		while (job < (i + 1) * BURST && read_reply(clients[i], &is_acknowledged[job]))
			job++;
		redisFree(clients[i]);
	}
	WAIT_UNTIL(find_leader() != NULL && find_leader() != old);
	c = connect_to(leader());
	for (int i = 0; i < CLIENTS * BURST; i++) {
		char message[100];

		reply = redisCommand(c, "GET j%d", i);
		TEST_ASSERT_NOT_NULL(reply);
		snprintf(message, sizeof message, "job j%d was%s acknowledged", i,
			 is_acknowledged[i] ? "" : " not");
		TEST_ASSERT_EQUAL_INT_MESSAGE(is_acknowledged[i] ? REDIS_REPLY_STRING
								 : REDIS_REPLY_NIL,
					      reply->type, message);
		acknowledged += is_acknowledged[i];
		freeReplyObject(reply);
	}
	redisFree(c);
	TEST_ASSERT_TRUE(acknowledged >= CLIENTS / 2);
	check_states();
}

static void a_handover_ends_the_waits_of_clients(void)
{
	struct node *old = leader();
	redisContext *c = connect_to(old);
	redisReply *reply;

	redisAppendCommand(c, "BPOP 0 w 1 empty");
	send_all(c);
	for (int64_t until = wait_now_ms() + WAIT_MAX_MS;;) {
		bool is_waiting;

		reply = ask(old, "INFO clients");
		TEST_ASSERT_NOT_NULL(reply);
		is_waiting = strstr(reply->str, "blocked_clients:1") != NULL;
		freeReplyObject(reply);
		if (is_waiting)
			break;
		TEST_ASSERT_TRUE(wait_now_ms() < until);
		wait_ms(2);
	}
	check_reply(old, "FAILOVER", "OK");
	TEST_ASSERT_EQUAL_INT(REDIS_OK, redisGetReply(c, (void **)&reply));
	TEST_ASSERT_EQUAL_INT(REDIS_REPLY_ERROR, reply->type);
	TEST_ASSERT_EQUAL_STRING_LEN("UNBLOCKED", reply->str, 9);
	freeReplyObject(reply);
	redisFree(c);
	WAIT_UNTIL(find_leader() != NULL && find_leader() != old);
}

static void failover_to_an_address_makes_that_node_lead(void)
{
	struct node *old = leader(), *heir = follower(NULL);
	char command[100], expected[100];

	/* The server waits for its jobs by itself, and that holds nothing up. */
	check_reply(old, "ENDPOINT.SET e URL http://127.0.0.1:1/ QUEUES 1 posted", "OK");
	check_reply(old, "FAILOVER TO 127.0.0.1 1",
		    "ERR FAILOVER target HOST and PORT is not a replica.");
	check_reply(old, "FAILOVER FROM 127.0.0.1 1", "ERR syntax error");
	snprintf(command, sizeof command, "FAILOVER TO 127.0.0.1 %d", old->port);
	snprintf(expected, sizeof expected,
		 "ERR FAILOVER target 127.0.0.1:%d leads the group already", old->port);
	check_reply(old, command, expected);
	snprintf(command, sizeof command, "FAILOVER TO 127.0.0.1 %d", heir->port);
	snprintf(expected, sizeof expected, "READONLY the leader is 127.0.0.1:%d", old->port);
	WAIT_UNTIL(figure(heir, "group_leader:") == old->id);
	check_reply(heir, command, expected);
	check_reply(old, command, "OK");
	WAIT_UNTIL(leads(heir));
	WAIT_UNTIL(figure(old, "group_leader:") == heir->id);
	TEST_ASSERT_TRUE(info_has(old, "master_failover_state:no-failover"));
}

static void a_leader_whose_heir_hangs_leads_again(void)
{
	struct node *old = leader(), *heir = follower(NULL);
	char command[100];

	put_jobs(10);
	WAIT_UNTIL(have_all_applied());
	qlessd_halt(&heir->q);
	snprintf(command, sizeof command, "FAILOVER TO 127.0.0.1 %d", heir->port);
	check_reply(old, command, "OK");
	WAIT_UNTIL(qlessd_has_logged(&old->q, "does not take over"));
	WAIT_UNTIL(leads(old));
	put_jobs(10);
	/* It may still try to lead, as it was told. */
	qlessd_go_on(&heir->q);
	check_states();
}

/* ---- REPLICA ---- */

static void a_fourth_node_joins_under_load_and_leads(void)
{
	struct node *new = &nodes[3], *killed, *old = leader();
	char command[100];

	put_jobs(500);
	snprintf(command, sizeof command, "REPLICA ADD 4 127.0.0.1:%d", new->group_port);
	WAIT_UNTIL(is_done(old, command));
	check_reply(old, command, "OK");
	TEST_ASSERT_EQUAL_STRING("learner", role_in_list(old, 4));
	TEST_ASSERT_TRUE(info_has(old, "progress=waits for a connection"));
	start(new, GROUP_JOINS);
	for (int64_t until = wait_now_ms() + WAIT_MAX_MS;
	     strcmp(role_in_list(old, 4), "voter") != 0;) {
		TEST_ASSERT_TRUE(wait_now_ms() < until);
		put_jobs(20);
	}
	killed = follower(new);
	kill_node(killed);
	put_jobs(100);
	snprintf(command, sizeof command, "REPLICA REMOVE %d", killed->id);
	WAIT_UNTIL(is_done(old, command));
	TEST_ASSERT_EQUAL_STRING("", role_in_list(old, killed->id));
	snprintf(command, sizeof command, "FAILOVER TO 127.0.0.1 %d", new->group_port);
	check_reply(old, command, "OK");
	WAIT_UNTIL(leads(new));
	put_jobs(100);
	check_states();
	/* A node that has joined needs no option to start again. */
	for (int i = 0; i < NODES; i++) {
		if (&nodes[i] != killed)
			start(&nodes[i], GROUP_CONTINUES);
	}
	put_jobs(10);
}

static void replace_removes_the_old_node_when_the_new_one_votes(void)
{
	struct node *new = &nodes[3], *old = follower(NULL), *first = leader();
	char command[100];

	put_jobs(50);
	snprintf(command, sizeof command, "REPLICA REPLACE %d 4 127.0.0.1:%d", old->id,
		 new->group_port);
	WAIT_UNTIL(is_done(first, command));
	TEST_ASSERT_TRUE(info_has(first, "progress=is replaced"));
	TEST_ASSERT_EQUAL_STRING("voter", role_in_list(first, old->id));
	start(new, GROUP_JOINS);
	WAIT_UNTIL(strcmp(role_in_list(first, 4), "voter") == 0 &&
		   role_in_list(first, old->id)[0] == '\0');
	kill_node(old);
	put_jobs(50);
	check_states();
}

static void a_change_that_would_stop_the_group_is_refused(void)
{
	struct node *first = leader(), *dead = follower(NULL), *other = follower(dead);
	char command[100], expected[200];

	check_reply(first, "REPLICA ADD 0 127.0.0.1:1",
		    "ERR the number of a node is an integer from 1");
	check_reply(first, "REPLICA ADD 4 127.0.0.1",
		    "ERR the address of a node is host:port, such as 10.0.0.4:7539");
	check_reply(first, "REPLICA ADD 4 127.0.0.1:65536",
		    "ERR the address of a node is host:port, such as 10.0.0.4:7539");
	snprintf(command, sizeof command, "REPLICA ADD 4 127.0.0.1:%d", dead->group_port);
	snprintf(expected, sizeof expected, "ERR 127.0.0.1:%d is the address of node %d",
		 dead->group_port, dead->id);
	check_reply(first, command, expected);
	snprintf(command, sizeof command, "REPLICA ADD %d 127.0.0.1:1", dead->id);
	snprintf(expected, sizeof expected, "ERR node %d is a member already, at 127.0.0.1:%d",
		 dead->id, dead->group_port);
	check_reply(first, command, expected);
	check_reply(first, "REPLICA REMOVE 7", "ERR the group has no node 7");
	check_reply(first, "REPLICA REPLACE 7 8 127.0.0.1:1", "ERR the group has no node 7");
	snprintf(command, sizeof command, "REPLICA REMOVE %d", first->id);
	snprintf(expected, sizeof expected,
		 "ERR node %d leads the group: send FAILOVER, and then repeat the command on the "
		 "new leader",
		 first->id);
	check_reply(first, command, expected);
	kill_node(dead);
	snprintf(command, sizeof command, "REPLICA REMOVE %d", other->id);
	snprintf(expected, sizeof expected,
		 "ERR without node %d the group would stop, because too few of its other voters "
		 "are connected",
		 other->id);
	WAIT_UNTIL(figure(first, "group_member0:id=") == 1);
	check_reply(first, command, expected);
	put_jobs(10);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(a_handover_runs_what_it_answers_and_nothing_else);
	RUN(a_handover_ends_the_waits_of_clients);
	RUN(failover_to_an_address_makes_that_node_lead);
	RUN(a_leader_whose_heir_hangs_leads_again);
	RUN(a_fourth_node_joins_under_load_and_leads);
	RUN(replace_removes_the_old_node_when_the_new_one_votes);
	RUN(a_change_that_would_stop_the_group_is_refused);
	return UNIT_RESULT();
}
