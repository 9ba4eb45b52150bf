#include "server/sentinel.h"

#include <stdio.h>
#include <string.h>

#include "server/member_int.h"
#include "server/pubsub.h"
#include "server/server_int.h"
#include "util/hex.h"
#include "util/num.h"

/* Bytes of the group's ID in a run ID. The 16 digits of the node's ID follow. */
#define RUN_ID_GROUP_BYTES 12

/*
 * Addresses
 */

bool sentinel_split_address(const char *address, struct qless_str *ret_host,
			    struct qless_str *ret_port)
{
	const char *colon = strrchr(address, ':');
	struct qless_str host;

	*ret_host = *ret_port = STR("");
	if (colon == NULL || colon == address || colon[1] == '\0')
		return false;
	host = str_make(address, (size_t)(colon - address));
	if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = str_make(host.ptr + 1, host.len - 2);
	*ret_host = host;
	*ret_port = str_from(colon + 1);
	return true;
}

bool sentinel_check_config(const struct config *config, struct buf *ret_error)
{
	struct qless_str host, port;
	int64_t number;

	if (config->replication_name[0] == '\0' ||
	    strpbrk(config->replication_name, " \t\r\n") != NULL) {
		buf_printf(ret_error, "replication-name '%s' is not one word",
			   config->replication_name);
		return false;
	}
	if (config->replication_announce[0] == '\0')
		return true;
	if (strlen(config->replication_announce) < MEMBERS_ADDRESS_SIZE &&
	    sentinel_split_address(config->replication_announce, &host, &port) &&
	    num_parse_i64(port, &number) && number > 0 && number <= UINT16_MAX)
		return true;
	buf_printf(ret_error, "replication-announce '%s' is not an address such as 10.0.0.1:7537",
		   config->replication_announce);
	return false;
}

/* Returns the first word that is one address, or NULL. A leading "-" makes an address optional. */
static const char *first_address(const struct config_list *addresses)
{
	for (size_t i = 0; i < addresses->count; i++) {
		const char *word = addresses->words[i];

		word += word[0] == '-';
		if (strchr(word, '*') == NULL && strcmp(word, "0.0.0.0") != 0 &&
		    strcmp(word, "::") != 0)
			return word;
	}
	return NULL;
}

void sentinel_configured_address(const struct server *s, char to[SENTINEL_ADDRESS_SIZE])
{
	const struct config *config = s->config;
	int port = config->port != 0 ? config->port : config->tls_port;
	const char *host = first_address(&config->bind);

	if (host == NULL)
		host = first_address(&config->replication_bind);
	if (config->replication_announce[0] != '\0')
		snprintf(to, SENTINEL_ADDRESS_SIZE, "%s", config->replication_announce);
	else if (host != NULL && port != 0)
		snprintf(to, SENTINEL_ADDRESS_SIZE, strchr(host, ':') != NULL ? "[%s]:%d" : "%s:%d",
			 host, port);
	else
		to[0] = '\0';
}

/*
 * The view
 */

static void make_run_id(const struct membership *m, uint64_t id, char to[SENTINEL_RUN_ID_BYTES])
{
	const struct journal_identity *identity = journal_get_identity(m->server->persist->journal);

	hex_write(to, identity->group, RUN_ID_GROUP_BYTES);
	for (size_t i = SENTINEL_RUN_ID_BYTES; i-- > 2 * RUN_ID_GROUP_BYTES; id >>= 4)
		to[i] = hex_digits[id & 15];
}

static void look_at_own(const struct membership *m, const char *local, struct sentinel_node *node)
{
	node->is_own = node->is_reached = true;
	if (local != NULL && m->server->config->replication_announce[0] == '\0')
		snprintf(node->address, sizeof node->address, "%s", local);
	else
		sentinel_configured_address(m->server, node->address);
}

static void look_at_other(const struct membership *m, struct sentinel_node *node)
{
	struct nodes_member_info info;

	if (!nodes_get_member(m->nodes, node->id, &info))
		return;
	node->is_reached = info.is_sending || info.is_receiving;
	snprintf(node->address, sizeof node->address, "%s", info.announce);
}

/* Returns the ID of the node that serves clients, or 0. */
static uint64_t serving_node(const struct membership *m, const struct group_info *info)
{
	const struct journal_identity *identity = journal_get_identity(m->server->persist->journal);

	if (m->leads)
		return identity->node;
	return info->role != CORE_LEADER && info->leader != identity->node ? info->leader : 0;
}

void sentinel_look(const struct server *s, const char *local, struct sentinel_view *ret)
{
	const struct membership *m = s->member;
	const struct journal_identity *identity = journal_get_identity(s->persist->journal);
	const struct members *members = group_members(m->group);
	struct group_info info;
	uint64_t leader;

	group_get_info(m->group, &info);
	leader = serving_node(m, &info);
	*ret = (struct sentinel_view){ .term = info.term,
				       .count = members->count,
				       .quorum = members_voters(members) / 2 + 1 };
	for (unsigned i = 0; i < members->count; i++) {
		const struct member *member = &members->member[i];
		struct sentinel_node *node = &ret->nodes[i];

		node->id = member->id;
		node->is_voter = member->is_voter;
		make_run_id(m, node->id, node->run_id);
		if (node->id == identity->node) {
			ret->own = node;
			look_at_own(m, local, node);
		} else {
			look_at_other(m, node);
		}
		ret->reached += node->is_reached && node->is_voter;
		node->is_leader = node->id == leader;
		if (sentinel_split_address(node->address, &node->host, &node->port) &&
		    node->is_leader)
			ret->leader = node;
	}
}

/*
 * Changes of the leader
 */

static void append_address(struct buf *message, const char *address)
{
	struct qless_str host, port;

	sentinel_split_address(address, &host, &port);
	buf_append_char(message, ' ');
	buf_append_str(message, host);
	buf_append_char(message, ' ');
	buf_append_str(message, port);
}

void sentinel_note_leader(struct server *s)
{
	struct membership *m = s->member;
	struct buf message = BUF_INIT(BUF_NO_MAX);
	struct sentinel_view view;
	struct group_info info;
	uint64_t leader;

	group_get_info(m->group, &info);
	leader = serving_node(m, &info);
	if (leader == 0 || leader == m->told_id)
		return;
	sentinel_look(s, NULL, &view);
	if (view.leader == NULL)
		return;
	if (m->told_leader[0] != '\0') {
		buf_append_str(&message, str_from(s->config->replication_name));
		append_address(&message, m->told_leader);
		append_address(&message, view.leader->address);
		pubsub_publish(s, STR(SENTINEL_CHANNEL), buf_str(&message), NULL);
	}
	m->told_id = leader;
	snprintf(m->told_leader, sizeof m->told_leader, "%s", view.leader->address);
	buf_done(&message);
}
