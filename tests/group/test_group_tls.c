/*
 * Two servers of a group that speak TLS with each other. Nothing is acknowledged without both, so a
 * reply shows that they are connected.
 */
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certs.h"
#include "group_node.h"
#include "qlessd.h"
#include "unit.h"
#include "wait.h"

#define NODES 2

struct node {
	struct qlessd q;
	int port, group_port;
	const char *cert; /* the name of its files */
};

static struct tempdir dir;
static struct node nodes[NODES];

static void start(struct node *n, enum group_birth birth)
{
	char members[GROUP_MEMBERS_SIZE], cert[300], key[300], ca[300];

	snprintf(members, sizeof members, "1=127.0.0.1:%d 2=127.0.0.1:%d", nodes[0].group_port,
		 nodes[1].group_port);
	snprintf(cert, sizeof cert, "%s/%s.crt", dir.path, n->cert);
	snprintf(key, sizeof key, "%s/%s.key", dir.path, n->cert);
	snprintf(ca, sizeof ca, "%s/ca.crt", dir.path);
	const char *const certificates[] = { "--replication-tls-cert-file",
					     cert,
					     "--replication-tls-key-file",
					     key,
					     "--replication-tls-ca-cert-file",
					     ca,
					     NULL };

	group_node_start(&n->q, &(struct group_node_start){ .id = (int)(n - nodes) + 1,
							    .port = n->port,
							    .group_port = n->group_port,
							    .birth = birth,
							    .members = members,
							    .others = certificates });
}

/* Start both nodes, of which the second one has another certificate. */
static void start_both(const char *second)
{
	nodes[0].cert = "server";
	nodes[1].cert = second;
	for (int i = 0; i < NODES; i++) {
		nodes[i].port = qlessd_free_port();
		nodes[i].group_port = qlessd_free_port();
	}
	for (int i = 0; i < NODES; i++)
		start(&nodes[i], GROUP_FOUNDS);
}

void setUp(void)
{
	memset(nodes, 0, sizeof nodes);
	tempdir_init(&dir);
	certs_make(&dir);
	certs_make_named(&dir, "elsewhere", "IP:127.0.0.2");
}

void tearDown(void)
{
	for (int i = 0; i < NODES; i++)
		qlessd_stop(&nodes[i].q);
	tempdir_done(&dir);
}

/* Returns whether the reply to a command has this text. Gives up soon, because a leader without the
 * other node does not answer. */
static bool replies(struct node *n, const char *command, const char *expected)
{
	struct timeval patience = { .tv_sec = 1 };
	redisContext *context = redisConnectWithTimeout("127.0.0.1", n->port, patience);
	redisReply *reply = NULL;
	bool result;

	TEST_ASSERT_NOT_NULL(context);
	redisSetTimeout(context, patience);
	if (context->err == 0)
		reply = redisCommand(context, command);
	result = reply != NULL && reply->str != NULL && strstr(reply->str, expected) != NULL;
	freeReplyObject(reply);
	redisFree(context);
	return result;
}

static bool accepts_a_job(void)
{
	return replies(&nodes[0], "PUT w q j klass {} 0", "j") ||
	       replies(&nodes[1], "PUT w q j klass {} 0", "j");
}

static void nodes_with_good_certificates_replicate(void)
{
	start_both("server");
	WAIT_UNTIL(accepts_a_job());
}

static void a_node_with_the_name_of_another_machine_stays_outside(void)
{
	start_both("elsewhere");
	WAIT_UNTIL(qlessd_has_logged(&nodes[0].q,
				     "its certificate does not have its address as a name"));
	WAIT_UNTIL(qlessd_has_logged(&nodes[1].q, "it refuses this node: the certificate of this "
						  "node does not have its address as a name"));
	TEST_ASSERT_FALSE(qlessd_has_logged(&nodes[0].q, "connected to node"));
	TEST_ASSERT_FALSE(qlessd_has_logged(&nodes[1].q, "connected to node"));

	/* A better certificate lets it in, without a restart. */
	certs_make_named(&dir, "elsewhere", "IP:127.0.0.1");
	TEST_ASSERT_EQUAL_INT(0, kill(nodes[1].q.pid, SIGHUP));
	WAIT_UNTIL(accepts_a_job());
}

static void a_change_to_bad_files_is_refused(void)
{
	char command[400];

	start_both("elsewhere");
	TEST_ASSERT_TRUE(replies(&nodes[1],
				 "CONFIG SET replication-tls-cert-file /nowhere/node.crt",
				 "replication-tls-cert-file /nowhere/node.crt: No such file or "
				 "directory"));
	snprintf(command, sizeof command,
		 "CONFIG SET replication-tls-cert-file %s/server.crt replication-tls-key-file "
		 "%s/server.key",
		 dir.path, dir.path);
	TEST_ASSERT_TRUE(replies(&nodes[1], command, "OK"));
	WAIT_UNTIL(accepts_a_job());
}

static void a_node_on_a_network_does_not_start_without_a_certificate(void)
{
	char *output;

	TEST_ASSERT_EQUAL_INT(1, QLESSD_RUN(&output, "--check-config", "--replication-port", "1",
					    "--replication-bind", "10.0.0.1"));
	TEST_ASSERT_NOT_NULL(strstr(output, "replication-bind 10.0.0.1: other machines can be "
					    "reached there"));
	free(output);
}

int main(int argc, char **argv)
{
	qlessd_take_args(&argc, argv);
	UNITY_BEGIN();
	RUN(nodes_with_good_certificates_replicate);
	RUN(a_node_with_the_name_of_another_machine_stays_outside);
	RUN(a_change_to_bad_files_is_refused);
	RUN(a_node_on_a_network_does_not_start_without_a_certificate);
	return UNIT_RESULT();
}
