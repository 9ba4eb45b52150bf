/*
 * The words of a node: about itself, and about its birth.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/member_int.h"
#include "server/sentinel.h"
#include "sys/entropy.h"
#include "util/hex.h"
#include "util/num.h"

/*
 * Birth
 */

void member_own_address(const struct config *config, char to[MEMBERS_ADDRESS_SIZE])
{
	const char *host = config->replication_bind.count > 0 ? config->replication_bind.words[0]
							      : "127.0.0.1";

	snprintf(to, MEMBERS_ADDRESS_SIZE, strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d", host,
		 config->replication_port);
}

static bool parse_group(const char *text, unsigned char to[JOURNAL_GROUP_ID_BYTES],
			struct buf *ret_error)
{
	if (text == NULL) {
		entropy_bytes(to, JOURNAL_GROUP_ID_BYTES);
		return true;
	}
	if (strlen(text) == 2 * JOURNAL_GROUP_ID_BYTES &&
	    hex_read(to, text, JOURNAL_GROUP_ID_BYTES))
		return true;
	buf_printf(ret_error, "--group-id %s does not have %zu hexadecimal digits", text,
		   2 * JOURNAL_GROUP_ID_BYTES);
	return false;
}

/* Adds one member, "id=host:port". */
static bool add_member(struct members *members, char *word)
{
	char *equals = strchr(word, '=');
	uint64_t id;

	if (equals == NULL)
		return false;
	*equals = '\0';
	return num_parse_u64(str_from(word), 1, INT64_MAX, &id) &&
	       strchr(equals + 1, ':') != NULL && members_find(members, id) == NULL &&
	       members_set(members, id, equals + 1, /* is_voter= */ true);
}

static bool parse_members(const char *text, struct members *ret, struct buf *ret_error)
{
	char *words = strdup(text), *rest = words, *word;
	bool is_valid = true;

	*ret = (struct members){ 0 };
	while (is_valid && (word = strsep(&rest, " ")) != NULL)
		is_valid = word[0] == '\0' || add_member(ret, word);
	free(words);
	if (is_valid && members_are_valid(ret))
		return true;
	buf_printf(ret_error,
		   "--group-members %s is not a list of members, such as \"1=10.0.0.1:7539 "
		   "2=10.0.0.2:7539\", with different numbers and addresses",
		   text);
	return false;
}

bool member_parse_birth(const struct config *config, const struct member_birth *birth,
			struct journal_identity *ret_identity, struct members *ret_members,
			struct buf *ret_error)
{
	char own[MEMBERS_ADDRESS_SIZE];

	if (config->replication_id == 0 || config->replication_port == 0) {
		buf_printf(ret_error, "a node of a group needs the directives replication-id and "
				      "replication-port");
		return false;
	}
	ret_identity->node = (uint64_t)config->replication_id;
	if (birth->joins && (birth->begins || birth->members != NULL || birth->group == NULL)) {
		buf_printf(ret_error, "--join-group needs the --group-id of the group, and allows "
				      "neither --begin-group nor --group-members");
		return false;
	}
	if (!parse_group(birth->group, ret_identity->group, ret_error))
		return false;
	*ret_members = (struct members){ 0 };
	if (birth->joins)
		return true;
	if (birth->members == NULL) {
		*ret_members = (struct members){ 0 };
		member_own_address(config, own);
		members_set(ret_members, ret_identity->node, own, /* is_voter= */ true);
		return true;
	}
	if (!parse_members(birth->members, ret_members, ret_error))
		return false;
	if (members_find(ret_members, ret_identity->node) != NULL)
		return true;
	buf_printf(ret_error, "--group-members %s does not have this node, %" PRIu64,
		   birth->members, ret_identity->node);
	return false;
}

/*
 * Roles
 */

void member_get_role(const struct server *s, struct member_role *ret)
{
	const struct membership *m = s->member;
	struct nodes_member_info leader;
	struct group_info info;

	group_get_info(m->group, &info);
	*ret = (struct member_role){ .leads = info.is_ready && !member_is_handing_over(m),
				     .commit = info.commit };
	if (member_is_handing_over(m))
		return;
	if (info.role == CORE_LEADER)
		sentinel_configured_address(s, ret->leader);
	else if (info.leader != 0 && nodes_get_member(m->nodes, info.leader, &leader))
		snprintf(ret->leader, sizeof ret->leader, "%s", leader.announce);
}

const char *member_refusal(const struct server *s)
{
	struct membership *m = s->member;
	struct member_role role;

	if (member_is_handing_over(m))
		return "MASTERDOWN this node hands over to another one, and did not run the "
		       "command";
	if (m->leads)
		return NULL;
	member_get_role(s, &role);
	if (role.leader[0] != '\0' && !role.leads)
		snprintf(m->refusal, sizeof m->refusal, "READONLY the leader is %s", role.leader);
	else
		snprintf(m->refusal, sizeof m->refusal, "MASTERDOWN no leader is known");
	return m->refusal;
}

bool member_has_copy(const struct server *s)
{
	struct group_info info;

	group_get_info(s->member->group, &info);
	return !info.is_rebuilding && info.engine <= info.commit;
}

bool member_is_replica(const struct sentinel_node *node)
{
	return !node->is_own && node->is_reached && node->port.len > 0;
}

unsigned member_replicas(const struct server *s)
{
	struct sentinel_view view;
	unsigned count = 0;

	if (s->member == NULL || !s->member->leads)
		return 0;
	sentinel_look(s, NULL, &view);
	for (size_t i = 0; i < view.count; i++)
		count += member_is_replica(&view.nodes[i]);
	return count;
}

uint64_t member_offset(const struct server *s, uint64_t id)
{
	return group_match(s->member->group, id);
}

/* Appends the lines that tools for Redis read. A node that is connected has been heard within a
 * second, so its lag is 0. */
static void append_replicas(const struct server *s, struct buf *out)
{
	struct sentinel_view view;
	unsigned number = 0;

	sentinel_look(s, NULL, &view);
	for (size_t i = 0; i < view.count; i++) {
		const struct sentinel_node *node = &view.nodes[i];

		if (member_is_replica(node))
			buf_printf(out,
				   "slave%u:ip=%.*s,port=%.*s,state=online,offset=%" PRIu64
				   ",lag=0\r\n",
				   number++, (int)node->host.len, node->host.ptr,
				   (int)node->port.len, node->port.ptr, member_offset(s, node->id));
	}
}

void member_append_info(const struct server *s, struct buf *out)
{
	const struct membership *m = s->member;
	const struct journal_identity *identity = journal_get_identity(s->persist->journal);
	const struct members *members = group_members(m->group);
	char group[2 * JOURNAL_GROUP_ID_BYTES + 1];
	struct member_role role;
	struct group_info info;

	group_get_info(m->group, &info);
	member_get_role(s, &role);
	hex_write(group, identity->group, JOURNAL_GROUP_ID_BYTES);
	group[2 * JOURNAL_GROUP_ID_BYTES] = '\0';
	buf_printf(out, "role:%s\r\n", role.leads ? "master" : "slave");
	if (role.leads)
		append_replicas(s, out);
	buf_printf(out, "group_id:%s\r\n", group);
	buf_printf(out, "group_node:%" PRIu64 "\r\n", identity->node);
	buf_printf(out, "group_leader:%" PRIu64 "\r\n", info.leader);
	buf_printf(out, "group_leader_address:%s\r\n", role.leader);
	buf_printf(out, "group_term:%" PRIu64 "\r\n", info.term);
	buf_printf(out, "group_last:%" PRIu64 "\r\n", info.last);
	buf_printf(out, "group_durable:%" PRIu64 "\r\n", info.durable);
	buf_printf(out, "group_commit:%" PRIu64 "\r\n", info.commit);
	buf_printf(out, "group_applied:%" PRIu64 "\r\n", info.engine);
	buf_printf(out, "master_failover_state:%s\r\n", member_handover_state(m));
	buf_printf(out, "group_elections:%" PRIu64 "\r\n", info.elections);
	buf_printf(out, "group_rebuilds:%" PRIu64 "\r\n", info.rebuilds);
	buf_printf(out, "group_installs:%" PRIu64 "\r\n", info.installs);
	for (unsigned i = 0; i < members->count; i++) {
		buf_printf(out,
			   "group_member%u:id=%" PRIu64
			   ",address=%s,voter=%d,progress=%s,match=%" PRIu64 "\r\n",
			   i, members->member[i].id, members->member[i].address,
			   members->member[i].is_voter, member_progress(m, &members->member[i]),
			   info.role == CORE_LEADER ? group_match(m->group, members->member[i].id)
						    : 0);
	}
}
