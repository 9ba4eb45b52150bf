/*
 * ACL: users and their rules, with replies like those of Redis 7.
 */
#include "command/handlers.h"

#include "command/acl.h"
#include "command/databases.h"
#include "command/permit.h"
#include "command/table.h"
#include "resp/reply.h"
#include "util/buf.h"
#include "util/hex.h"
#include "util/num.h"

/* Bytes of the longest error text. */
#define ERROR_TEXT_MAX 1024

void cmd_acl_whoami(struct request *req)
{
	reply_bulk(req->reply, acl_user_name(req->session->user));
}

void cmd_acl_users(struct request *req)
{
	const struct acl *acl = req->env->acl;

	reply_array(req->reply, (size_t)acl_count(acl));
	for (int i = 0; i < acl_count(acl); i++)
		reply_bulk(req->reply, acl_user_name(acl_user_at(acl, i)));
}

void cmd_acl_list(struct request *req)
{
	const struct acl *acl = req->env->acl;
	struct buf line = BUF_INIT(BUF_NO_MAX);

	reply_array(req->reply, (size_t)acl_count(acl));
	for (int i = 0; i < acl_count(acl); i++) {
		const struct user *user = acl_user_at(acl, i);

		buf_clear(&line);
		buf_printf(&line, "user ");
		buf_append_str(&line, acl_user_name(user));
		buf_append_char(&line, ' ');
		acl_describe(user, &line);
		reply_bulk(req->reply, buf_str(&line));
	}
	buf_done(&line);
}

static void write_user_flags(struct reply *w, const struct user *user)
{
	reply_set(w, acl_user_has_nopass(user) ? 2 : 1);
	reply_bulk(w, acl_user_is_enabled(user) ? STR("on") : STR("off"));
	if (acl_user_has_nopass(user))
		reply_bulk(w, STR("nopass"));
}

static void write_user_passwords(struct reply *w, const struct user *user)
{
	struct buf hex = BUF_INIT(BUF_NO_MAX);

	reply_array(w, (size_t)acl_user_password_count(user));
	for (int i = 0; i < acl_user_password_count(user); i++) {
		buf_clear(&hex);
		acl_describe_password(user, i, &hex);
		reply_bulk(w, buf_str(&hex));
	}
	buf_done(&hex);
}

static void write_rules(struct reply *w, const char *name, const struct user *user,
			void (*describe)(const struct user *user, struct buf *out))
{
	struct buf rules = BUF_INIT(BUF_NO_MAX);

	describe(user, &rules);
	reply_bulk(w, str_from(name));
	reply_bulk(w, buf_str(&rules));
	buf_done(&rules);
}

void cmd_acl_getuser(struct request *req)
{
	const struct user *user = acl_find(req->env->acl, req->args[0]);
	struct reply *w = req->reply;

	if (user == NULL) {
		reply_null(w);
		return;
	}
	reply_map(w, 6);
	reply_bulk(w, STR("flags"));
	write_user_flags(w, user);
	reply_bulk(w, STR("passwords"));
	write_user_passwords(w, user);
	write_rules(w, "commands", user, acl_describe_commands);
	write_rules(w, "keys", user, acl_describe_keys);
	write_rules(w, "channels", user, acl_describe_channels);
	reply_bulk(w, STR("selectors"));
	reply_array(w, 0);
}

/* A user whose name is a forgotten name's password would reveal it in every list of users. */
static bool is_password_rule(struct qless_str text)
{
	return text.len != 0 && memchr("><#!", text.ptr[0], 4) != NULL;
}

void cmd_acl_setuser(struct request *req)
{
	const struct command_env *env = req->env;
	struct qless_str name = req->args[0];
	struct buf error = BUF_INIT(ERROR_TEXT_MAX);
	char was[ACL_FINGERPRINT_BYTES + 1], is[ACL_FINGERPRINT_BYTES + 1];

	if (acl_find(env->acl, name) == NULL && is_password_rule(name)) {
		reply_error(req->reply, "ERR",
			    STR("The first argument is a rule about a password, and a name was "
				"expected: ACL SETUSER username [rule ...]"));
		return;
	}
	acl_fingerprint(acl_find(env->acl, name), was);
	if (acl_set_user(env->acl, name, req->args + 1, (int)req->nargs - 1, &error))
		reply_ok(req->reply);
	else
		reply_error(req->reply, "ERR", buf_str(&error));
	acl_fingerprint(acl_find(env->acl, name), is);
	if (env->user_changed != NULL && strcmp(was, is) != 0)
		env->user_changed(env->user_gone_arg, name);
	buf_done(&error);
}

void cmd_acl_deluser(struct request *req)
{
	const struct command_env *env = req->env;
	int64_t deleted = 0;

	for (size_t i = 0; i < req->nargs; i++) {
		if (acl_find(env->acl, req->args[i]) != acl_default_user(env->acl))
			continue;
		reply_error(req->reply, "ERR", STR("The 'default' user cannot be removed"));
		return;
	}
	for (size_t i = 0; i < req->nargs; i++) {
		const struct user *user = acl_find(env->acl, req->args[i]);

		if (user == NULL)
			continue;
		if (env->user_gone != NULL)
			env->user_gone(env->user_gone_arg, user);
		acl_delete_user(env->acl, req->args[i]);
		if (env->user_changed != NULL)
			env->user_changed(env->user_gone_arg, req->args[i]);
		deleted++;
	}
	reply_integer(req->reply, deleted);
}

static void write_commands_in(struct reply *w, const struct command_table *t, int category)
{
	struct reply_deferred list;
	size_t count = 0;

	reply_deferred_begin(w, &list, REPLY_ARRAY);
	for (int i = 0; i < command_table_count(t); i++) {
		const struct command *cmd = command_table_row(t, i);

		if ((command_categories(cmd) & 1U << category) == 0)
			continue;
		reply_bulk(w, str_from(cmd->name));
		count++;
	}
	reply_deferred_end(w, &list, count);
}

void cmd_acl_cat(struct request *req)
{
	struct qless_str quoted;
	int category;

	if (req->nargs == 0) {
		reply_array(req->reply, COMMAND_CATEGORY_COUNT);
		for (int bit = 0; bit < COMMAND_CATEGORY_COUNT; bit++)
			reply_bulk(req->reply, str_from(command_category_name(bit)));
		return;
	}
	category = command_category_find(req->args[0]);
	if (category >= 0) {
		write_commands_in(req->reply, req->env->table, category);
		return;
	}
	quoted = command_quote(req->args[0]);
	reply_errorf(req->reply, "ERR", "Unknown category '%.*s'", (int)quoted.len, quoted.ptr);
}

static void write_not_found(struct reply *w, const char *what, struct qless_str name)
{
	struct qless_str quoted = command_quote(name);

	reply_errorf(w, "ERR", "%s '%.*s' not found", what, (int)quoted.len, quoted.ptr);
}

static void write_denied(struct reply *w, const char *kind, struct qless_str name)
{
	struct qless_str quoted = command_quote(name);

	reply_bulkf(w, "This user has no permissions to access the '%.*s' %s", (int)quoted.len,
		    quoted.ptr, kind);
}

/* Answers whether the user may run a command on what the arguments name, in the state of now. */
static void judge_objects(struct request *req, const struct user *user,
			  const struct object_request *request)
{
	struct buf object = BUF_INIT(BUF_NO_MAX);
	struct permit_query query = { .user = user };

	if (req->env->databases != NULL)
		query.engine = databases_peek(req->env->databases, req->session->db);
	switch (permit_request(&query, request, &object)) {
	case PERMIT_YES:
		reply_ok(req->reply);
		break;
	case PERMIT_NO_KEY:
		write_denied(req->reply, "key", buf_str(&object));
		break;
	case PERMIT_NO_CHANNEL:
		write_denied(req->reply, "channel", buf_str(&object));
		break;
	}
	buf_done(&object);
}

/* Answers whether the user may run a command, or the queue command that QLESS or a script names. */
static void judge(struct request *req, const struct user *user, const struct command *cmd,
		  const struct qless_str *args, size_t nargs)
{
	struct object_request request = { cmd, REQUEST_NATIVE, args, nargs };
	const struct command_table *t = req->env->table;

	objects_unwrap(t, &request);
	if (!acl_may_run(user, t, cmd) || !acl_may_run(user, t, request.row))
		reply_bulkf(req->reply, "This user has no permissions to run the '%s' command",
			    acl_may_run(user, t, cmd) ? request.row->name : cmd->name);
	else if (strcmp(cmd->name, "publish") == 0 && !acl_may_publish(user, args[0]))
		write_denied(req->reply, "channel", args[0]);
	else
		judge_objects(req, user, &request);
}

void cmd_acl_dryrun(struct request *req)
{
	const struct command_table *t = req->env->table;
	const struct user *user = acl_find(req->env->acl, req->args[0]);
	const struct qless_str *argv = req->args + 1;
	const struct command *cmd;
	int argc = (int)req->nargs - 1, name_args;

	if (user == NULL) {
		write_not_found(req->reply, "User", req->args[0]);
		return;
	}
	cmd = command_table_lookup(t, argv, argc, &name_args);
	if (cmd == NULL)
		write_not_found(req->reply, "Command", argv[0]);
	else if (!command_takes(cmd, argc - name_args))
		reply_errorf(req->reply, "ERR", "wrong number of arguments for '%s' command",
			     cmd->name);
	else
		judge(req, user, cmd, argv + name_args, (size_t)(argc - name_args));
}

/* Bits of a password of ACL GENPASS, unless the client says how many, and the most. */
#define GENPASS_BITS	 256
#define GENPASS_BITS_MAX 4096
/* Bits of a hexadecimal digit. */
#define DIGIT_BITS 4

void cmd_acl_genpass(struct request *req)
{
	const struct command_env *env = req->env;
	char password[GENPASS_BITS_MAX / DIGIT_BITS];
	uint64_t bits = GENPASS_BITS;
	size_t digits;

	if (req->nargs == 1 && !num_parse_u64(req->args[0], 1, GENPASS_BITS_MAX, &bits)) {
		reply_error(req->reply, "ERR",
			    STR("ACL GENPASS argument must be the number of bits for the output "
				"password, a positive number up to 4096"));
		return;
	}
	digits = ((size_t)bits + DIGIT_BITS - 1) / DIGIT_BITS;
	/* Each number gives 16 digits. */
	for (size_t at = 0; at < digits; at += 2 * sizeof(uint64_t)) {
		uint64_t number = env->random(env->arg);

		hex_write(password + at, &number, sizeof number);
	}
	reply_bulk(req->reply, str_make(password, digits));
}

/* ACL LOAD and ACL SAVE. */
void cmd_acl_file(struct request *req)
{
	reply_error(req->reply, "ERR",
		    STR("There is no ACL file: users are lines of qlessd.conf. CONFIG REWRITE "
			"saves them there"));
}

void cmd_acl_log(struct request *req)
{
	if (req->env->show_denials != NULL)
		req->env->show_denials(req);
	else
		reply_array(req->reply, 0);
}
