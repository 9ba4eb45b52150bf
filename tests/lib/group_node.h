/*
 * How tests start a node of a group.
 */
#ifndef TESTS_LIB_GROUP_NODE_H
#define TESTS_LIB_GROUP_NODE_H

#include <stdio.h>

#include "qlessd.h"

#define GROUP_ID "00112233445566778899aabbccddeeff"

/* Longest list of members, and number of other options. */
#define GROUP_MEMBERS_SIZE 200
#define GROUP_OTHERS_MAX   8

enum group_birth {
	GROUP_FOUNDS,	 /* with the other members */
	GROUP_JOINS,	 /* and REPLICA ADD makes it a member */
	GROUP_CONTINUES, /* its directory says which group it belongs to */
};

struct group_node_start {
	int id, port, group_port;
	enum group_birth birth;
	const char *members;	   /* of GROUP_FOUNDS: "1=host:port 2=host:port" */
	const char *const *others; /* more options; may be NULL */
};

static inline void group_node_start(struct qlessd *q, const struct group_node_start *start)
{
	char id[16], port[16], group_port[16], announce[32];
	const char *args[17 + GROUP_OTHERS_MAX];
	size_t count = 0;

	snprintf(id, sizeof id, "%d", start->id);
	snprintf(port, sizeof port, "%d", start->port);
	snprintf(group_port, sizeof group_port, "%d", start->group_port);
	snprintf(announce, sizeof announce, "127.0.0.1:%d", start->port);
	const char *const common[] = { "--replication-id",
				       id,
				       "--replication-port",
				       group_port,
				       "--replication-announce",
				       announce,
				       "--port",
				       port,
				       "--databases",
				       "1" };

	for (size_t i = 0; i < sizeof common / sizeof *common; i++)
		args[count++] = common[i];
	for (size_t i = 0; start->others != NULL && start->others[i] != NULL; i++)
		args[count++] = start->others[i];
	if (start->birth != GROUP_CONTINUES) {
		args[count++] = start->birth == GROUP_JOINS ? "--join-group" : "--begin-group";
		args[count++] = "--group-id";
		args[count++] = GROUP_ID;
	}
	if (start->birth == GROUP_FOUNDS) {
		args[count++] = "--group-members";
		args[count++] = start->members;
	}
	args[count] = NULL;
	if (start->birth == GROUP_CONTINUES)
		qlessd_start_again(q, args);
	else
		qlessd_start_with(q, args);
}

#endif
