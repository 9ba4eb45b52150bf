#include "server/preflight.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/acl.h"
#include "command/table.h"
#include "config/config.h"
#include "server/commands.h"
#include "server/listen.h"
#include "server/member_tls.h"
#include "server/server_int.h"
#include "server/tls.h"
#include "server/users.h"
#include "util/mem.h"

static int check_users(const struct config *config, struct buf *ret_error)
{
	struct command_table *table = commands_new(config->replication_port != 0);
	struct acl *acl = users_load(config, table, ret_error);
	int status = acl != NULL ? 0 : -1;

	acl_free(acl);
	command_table_free(table);
	return status;
}

static int check_certificates(const struct config *config, struct buf *ret_error)
{
	struct tls *tls;

	if (config->tls_port != 0) {
		tls = tls_new(config, ret_error);
		tls_free(tls);
		if (tls == NULL)
			return -1;
	}
	if (config->replication_port == 0)
		return 0;
	if (member_tls_load(config, &tls, ret_error) < 0)
		return -1;
	tls_free(tls);
	return 0;
}

static int check_addresses(struct config *config, struct buf *ret_error)
{
	struct server *s = mem_zalloc(sizeof *s);
	int status;

	s->config = config;
	status = listen_try_all(s, ret_error);
	free(s);
	return status;
}

static int refuse_place(const char *directive, const char *path, const char *what,
			struct buf *ret_error)
{
	buf_printf(ret_error, "%s: cannot %s %s: %s", directive, what, path, strerror(errno));
	return -1;
}

/* A file that the server opens or makes. */
static int check_file(const char *directive, const char *path, struct buf *ret_error)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	if (path[0] == '\0' || access(path, W_OK) == 0)
		return 0;
	if (errno != ENOENT)
		return refuse_place(directive, path, "write to", ret_error);
	snprintf(parent, sizeof parent, "%.*s", slash != NULL ? (int)(slash + 1 - path) : 1,
		 slash != NULL ? path : ".");
	if (access(parent, W_OK | X_OK) == 0)
		return 0;
	return refuse_place(directive, path, "make", ret_error);
}

static int check_files(const struct config *config, struct buf *ret_error)
{
	if (config->appendonly && access(".", R_OK | W_OK | X_OK) != 0)
		return refuse_place("dir", config->dir, "write to", ret_error);
	if (check_file("logfile", config->logfile, ret_error) < 0 ||
	    check_file("pidfile", config->pidfile, ret_error) < 0 ||
	    check_file("unixsocket", config->unixsocket, ret_error) < 0)
		return -1;
	return 0;
}

int preflight_check(struct config *config, struct buf *ret_error)
{
	if (check_files(config, ret_error) < 0 || check_users(config, ret_error) < 0 ||
	    check_certificates(config, ret_error) < 0)
		return -1;
	return check_addresses(config, ret_error);
}
