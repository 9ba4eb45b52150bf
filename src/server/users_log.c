#include "server/users_log.h"

#include <stdlib.h>
#include <string.h>

#include "command/acl.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "sys/log.h"
#include "util/container.h"
#include "util/hash.h"
#include "util/mem.h"

/* Name, basis, and the rules that make the user what it is. */
static const struct qless_str set_name = STR_INIT("@user");
/* Name, basis: the user was deleted. */
static const struct qless_str gone_name = STR_INIT("@user-gone");
/* Name: the user is what the configuration makes of it. */
static const struct qless_str configured_name = STR_INIT("@user-configured");

/* The basis of a record that always counts. In logs before format 4 it is a fingerprint of what
 * the configuration made of the user: such a record counts as long as that is the same. */
#define NO_BASIS STR("-")

/* A user that was set or deleted at run time. */
struct changed_user {
	struct hash_node node;
	size_t len;
	char name[];
};

struct users_log {
	struct acl *configured; /* the users that the configuration makes */
	struct hash changed;
};

static struct qless_str changed_key(const struct hash_node *node)
{
	const struct changed_user *user = container_of(node, const struct changed_user, node);

	return str_make(user->name, user->len);
}

struct users_log *users_log_new(struct acl *configured, uint64_t hash_seed)
{
	struct users_log *u = mem_zalloc(sizeof *u);

	u->configured = configured;
	hash_init(&u->changed, changed_key, hash_seed);
	return u;
}

static void note_changed(struct users_log *u, struct qless_str name)
{
	struct changed_user *user;

	if (hash_find(&u->changed, name) != NULL)
		return;
	user = mem_zalloc(sizeof *user + name.len);
	user->len = name.len;
	memcpy(user->name, name.ptr, name.len);
	hash_insert(&u->changed, &user->node);
}

static void forget_changed(struct users_log *u, struct qless_str name)
{
	struct hash_node *node = hash_find(&u->changed, name);

	if (node == NULL)
		return;
	hash_remove(&u->changed, node);
	free(container_of(node, struct changed_user, node));
}

static void forget_all(struct users_log *u)
{
	struct hash_iter it;
	struct hash_node *node;

	while ((node = hash_first(&it, &u->changed)) != NULL)
		forget_changed(u, changed_key(node));
}

void users_log_free(struct users_log *u)
{
	if (u == NULL)
		return;
	forget_all(u);
	hash_done(&u->changed);
	acl_free(u->configured);
	free(u);
}

static bool is_as_configured(const struct server *s, struct qless_str name)
{
	const struct user *now = acl_find(s->env.acl, name);
	const struct user *configured = acl_find(s->users_log->configured, name);
	char of_now[ACL_FINGERPRINT_BYTES + 1], of_configured[ACL_FINGERPRINT_BYTES + 1];

	acl_fingerprint(now, of_now);
	acl_fingerprint(configured, of_configured);
	return strcmp(of_now, of_configured) == 0;
}

/*
 * Recording
 */

/* Call `record` with the record of a user. */
static void describe(struct server *s, struct qless_str name,
		     void (*record)(void *arg, const struct record_command *command), void *arg)
{
	const struct user *user = acl_find(s->env.acl, name);
	struct buf rules = BUF_INIT(BUF_NO_MAX);
	struct record_command command = { .name = user != NULL ? set_name : gone_name };
	struct qless_str *args;
	size_t words = 0;

	if (user != NULL)
		acl_describe(user, &rules);
	for (size_t i = 0; i < rules.len; i++)
		words += buf_data(&rules)[i] == ' ';
	args = mem_realloc_array(NULL, words + 3, sizeof *args);
	args[command.count++] = name;
	args[command.count++] = NO_BASIS;
	for (size_t at = 0; at < rules.len;) {
		const char *word = buf_data(&rules) + at;
		const char *end = memchr(word, ' ', rules.len - at);
		size_t len = end != NULL ? (size_t)(end - word) : rules.len - at;

		args[command.count++] = str_make(word, len);
		at += len + 1;
	}
	command.args = args;
	record(arg, &command);
	free(args);
	buf_done(&rules);
}

static void record_in_log(void *arg, const struct record_command *command)
{
	recording_append(arg, command);
}

static void record_as_configured(struct server *s, struct qless_str name)
{
	struct record_command command = { .name = configured_name, .args = &name, .count = 1 };

	recording_append(s, &command);
}

void users_log_note_change(void *arg, struct qless_str name)
{
	struct server *s = arg;
	struct users_log *u = s->users_log;

	if (acl_find(s->env.acl, name) == NULL && acl_find(u->configured, name) == NULL) {
		/* The configuration does not define the user, so it needs no record that deletes
		 * it. */
		forget_changed(u, name);
		record_as_configured(s, name);
		return;
	}
	note_changed(u, name);
	describe(s, name, record_in_log, s);
}

void users_log_note_password(struct server *s, struct qless_str password)
{
	struct qless_str name = acl_user_name(acl_default_user(s->env.acl));

	acl_set_default_password(s->users_log->configured, password);
	/* Only a user that is part of the state keeps the password without CONFIG REWRITE. */
	if (hash_find(&s->users_log->changed, name) != NULL)
		users_log_note_change(s, name);
}

void users_log_note_rewrite(struct server *s, struct acl *configured)
{
	struct users_log *u = s->users_log;
	struct hash_iter it;
	struct hash_node *node;

	if (configured == NULL)
		return;
	HASH_FOREACH(node, &it, &u->changed)
		record_as_configured(s, changed_key(node));
	forget_all(u);
	acl_free(u->configured);
	u->configured = configured;
}

void users_log_save(struct server *s,
		    void (*record)(void *arg, const struct record_command *command), void *arg)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &s->users_log->changed)
		describe(s, changed_key(node), record, arg);
}

/*
 * Loading
 */

bool users_log_is_record(struct qless_str name)
{
	return str_equal(name, set_name) || str_equal(name, gone_name) ||
	       str_equal(name, configured_name);
}

static void delete_user(struct server *s, struct qless_str name)
{
	const struct user *user = acl_find(s->env.acl, name);

	if (user == NULL || user == acl_default_user(s->env.acl))
		return;
	s->env.user_gone(s->env.user_gone_arg, user);
	acl_delete_user(s->env.acl, name);
}

static int set_user(struct server *s, struct qless_str name, const struct qless_str *rules,
		    size_t count, struct buf *ret_error)
{
	struct qless_str *words = mem_realloc_array(NULL, count + 1, sizeof *words);
	bool ok;

	words[0] = STR("reset");
	if (count > 0)
		memcpy(words + 1, rules, count * sizeof *rules);
	ok = acl_set_user(s->env.acl, name, words, (int)count + 1, ret_error);
	free(words);
	return ok ? 0 : -1;
}

static void set_as_configured(struct server *s, struct qless_str name)
{
	const struct user *configured = acl_find(s->users_log->configured, name);

	if (configured != NULL)
		acl_set_like(s->env.acl, configured);
	else
		delete_user(s, name);
}

static bool counts(const struct server *s, struct qless_str name, struct qless_str basis)
{
	char fingerprint[ACL_FINGERPRINT_BYTES + 1];

	acl_fingerprint(acl_find(s->users_log->configured, name), fingerprint);
	return str_equal(basis, NO_BASIS) || str_equal(basis, str_from(fingerprint));
}

int users_log_apply(struct server *s, const struct record_command *command, struct buf *ret_error)
{
	struct qless_str name = command->count > 0 ? command->args[0] : STR("");

	if (command->count < 1 ||
	    (command->count < 2 && !str_equal(command->name, configured_name))) {
		buf_printf(ret_error, "a record about a user is incomplete");
		return -1;
	}
	if (str_equal(command->name, configured_name) || !counts(s, name, command->args[1])) {
		forget_changed(s->users_log, name);
		set_as_configured(s, name);
		return 0;
	}
	note_changed(s->users_log, name);
	if (str_equal(command->name, set_name))
		return set_user(s, name, command->args + 2, command->count - 2, ret_error);
	delete_user(s, name);
	return 0;
}

/* Sessions that began during loading were admitted by the configuration alone. They have to
 * authenticate again if the log changes their user. Subscribers are disconnected, because they
 * would go on receiving messages. */
static void check_sessions(struct server *s)
{
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&s->conns.all); c != NULL; c = next) {
		const struct user *user = c->client.session.user;

		next = TAILQ_NEXT(c, all);
		if (user == NULL || acl_user_needs_no_password(user) ||
		    is_as_configured(s, acl_user_name(user)))
			continue;
		c->client.session.user = NULL;
		if (c->client.session.subscribed || c->client.is_monitor)
			conn_kill(c, "it must authenticate again");
	}
}

static bool is_in_configuration(const struct server *s, struct qless_str name)
{
	const struct config_lines *lines = &s->config->users;

	for (size_t i = 0; i < lines->count; i++) {
		if (str_equal(str_from(lines->of[i].words[0]), name))
			return true;
	}
	return s->config->requirepass[0] != '\0' &&
	       str_equal(name, acl_user_name(acl_default_user(s->env.acl)));
}

void users_log_loaded(struct server *s)
{
	struct hash_iter it;
	struct hash_node *node;

	check_sessions(s);
	HASH_FOREACH(node, &it, &s->users_log->changed) {
		struct qless_str name = changed_key(node);

		if (!is_in_configuration(s, name) || is_as_configured(s, name))
			continue;
		log_notice("user %.*s is not as the configuration says: it was %s at run time, and "
			   "that takes precedence. CONFIG REWRITE writes it to the configuration",
			   (int)name.len, name.ptr,
			   acl_find(s->env.acl, name) != NULL ? "set" : "deleted");
	}
}
