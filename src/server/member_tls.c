#include "server/member_tls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "server/member_int.h"
#include "server/tls.h"

/* Microseconds between two warnings. */
#define WARN_US (INT64_C(86400) * 1000000)

static bool is_loopback(const char *host)
{
	struct in6_addr in6;
	struct in_addr in;

	if (inet_pton(AF_INET, host, &in) == 1)
		return ntohl(in.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, host, &in6) == 1 && IN6_IS_ADDR_LOOPBACK(&in6);
}

int member_tls_load(const struct config *config, struct tls **ret_tls, struct buf *ret_error)
{
	*ret_tls = NULL;
	if (!config->replication_tls)
		return 0;
	if (tls_has_files_for_nodes(config)) {
		*ret_tls = tls_new_for_nodes(config, ret_error);
		return *ret_tls != NULL ? 0 : -1;
	}
	for (size_t i = 0; i < config->replication_bind.count; i++) {
		const char *host = config->replication_bind.words[i];

		if (is_loopback(host))
			continue;
		buf_printf(ret_error,
			   "replication-bind %s: other machines can be reached there, and nodes "
			   "speak TLS with them. Set replication-tls-cert-file, "
			   "replication-tls-key-file and replication-tls-ca-cert-file, or "
			   "replication-tls no",
			   host);
		return -1;
	}
	return 0;
}

int member_tls_reload(struct server *s, const struct config *config, struct buf *ret_error)
{
	struct membership *m = s->member;
	struct tls *tls;

	if (m == NULL || m->tls == NULL)
		return 0;
	tls = tls_new_for_nodes(config, ret_error);
	if (tls == NULL)
		return -1;
	nodes_set_tls(m->nodes, tls);
	tls_free(m->tls);
	m->tls = tls;
	m->tls_warned_us = s->clocks.mono_us;
	return 0;
}

void member_tls_tick(struct server *s)
{
	struct membership *m = s->member;

	if (m == NULL || m->tls == NULL || s->clocks.mono_us - m->tls_warned_us < WARN_US)
		return;
	m->tls_warned_us = s->clocks.mono_us;
	tls_warn_of_expiry(m->tls, s->clocks.wall_us / 1000000);
}
