/*
 * A client without a server: it sends EVALSHA and QLESS, which go through the table of commands to
 * their handlers, with a session, permissions and a loaded script, as in the server.
 */
#ifndef TESTS_SCRIPT_CLIENT_H
#define TESTS_SCRIPT_CLIENT_H

#include <stdlib.h>
#include <string.h>

#include "admit.h"
#include "command/acl.h"
#include "command/databases.h"
#include "command/request.h"
#include "command/rows.h"
#include "command/scripts.h"
#include "resp/reply.h"
#include "util/mem.h"

/* The SHA-1 of the script in its errors. */
#define SCRIPT_CLIENT_SHA "0123456789abcdef0123456789abcdef01234567"

struct script_client {
	struct command_table *table;
	struct scratch scratch;
	struct command_env env;
	struct session session;
};

/* Borrows the databases; env.databases can be set to others later. */
static inline void script_client_init(struct script_client *c, struct databases *databases)
{
	const struct command_rows rows[] = { queue_command_rows, layer_command_rows };

	*c = (struct script_client){ .session = { .id = 1, .proto = 2 } };
	scratch_init(&c->scratch);
	c->env.scratch = &c->scratch;
	c->table = command_table_new(rows, 2);
	c->env.table = c->table;
	c->env.acl = acl_new(c->env.table);
	c->env.databases = databases;
	c->env.scripts = scripts_new(1, NULL);
	scripts_add(c->env.scripts, STR(SCRIPT_CLIENT_SHA), &dialect_classic, NULL, 0);
	c->session.user = acl_default_user(c->env.acl);
}

static inline void script_client_done(struct script_client *c)
{
	scripts_free(c->env.scripts);
	acl_free(c->env.acl);
	command_table_free(c->table);
	scratch_done(&c->scratch);
}

static inline void script_client_send(struct script_client *c, const struct qless_str *argv,
				      size_t argc, struct reply *reply)
{
	struct request req = { .argv = argv,
			       .argc = (int)argc,
			       .reply = reply,
			       .session = &c->session,
			       .env = &c->env };

	admit(&req);
}

/* Send a command, now and arguments in the form of a script or of QLESS. */
static inline void script_client_run(struct script_client *c, enum request_form form,
				     const struct qless_str *words, size_t count,
				     struct reply *reply)
{
	static const struct qless_str script[] = { STR_INIT("EVALSHA"), STR_INIT(SCRIPT_CLIENT_SHA),
						   STR_INIT("0") };
	static const struct qless_str explicit[] = { STR_INIT("QLESS") };
	const struct qless_str *before = form == REQUEST_SCRIPT ? script : explicit;
	size_t before_count = form == REQUEST_SCRIPT ? 3 : 1;
	struct qless_str *argv = mem_realloc_array(NULL, before_count + count, sizeof *argv);

	memcpy(argv, before, before_count * sizeof *argv);
	if (count > 0)
		memcpy(argv + before_count, words, count * sizeof *argv);
	script_client_send(c, argv, before_count + count, reply);
	free(argv);
}

#endif
