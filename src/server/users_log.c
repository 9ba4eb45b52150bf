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

/* Call `record` with the operation that makes the user what it is now. */
static void describe(struct server *s, struct qless_str name,
		     void (*record)(void *arg, const struct operation *op), void *arg)
{
	const struct user *user = acl_find(s->env.acl, name);
	struct buf rules = BUF_INIT(BUF_NO_MAX);
	struct operation op = { .kind = OPERATION_USER_DELETED, .user.name = name };
	struct qless_str *words;
	size_t count = 1;

	if (user != NULL) {
		op.kind = OPERATION_USER_SET;
		acl_describe(user, &rules);
	}
	for (size_t i = 0; i < rules.len; i++)
		count += buf_data(&rules)[i] == ' ';
	words = mem_realloc_array(NULL, count, sizeof *words);
	op.user.rules.items = words;
	for (size_t at = 0; at < rules.len;) {
		const char *word = buf_data(&rules) + at;
		const char *end = memchr(word, ' ', rules.len - at);
		size_t len = end != NULL ? (size_t)(end - word) : rules.len - at;

		words[op.user.rules.count++] = str_make(word, len);
		at += len + 1;
	}
	record(arg, &op);
	free(words);
	buf_done(&rules);
}

static void record_in_log(void *arg, const struct operation *op)
{
	recording_append(arg, op);
}

static void append_operation(void *arg, const struct operation *op)
{
	operation_encode(op, arg);
}

static void record_as_configured(struct server *s, struct qless_str name)
{
	recording_append(
		s, &(struct operation){ .kind = OPERATION_USER_AS_CONFIGURED, .user.name = name });
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

void users_log_save(struct server *s, struct buf *out)
{
	struct hash_iter it;
	struct hash_node *node;

	HASH_FOREACH(node, &it, &s->users_log->changed)
		describe(s, changed_key(node), append_operation, out);
}

/*
 * Loading
 */

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

/* Deletes, and sets, the users of `acl` as configured. */
static void follow_configuration(struct server *s, const struct acl *acl)
{
	for (int i = acl_count(acl); i > 0; i--) {
		struct qless_str name = acl_user_name(acl_user_at(acl, i - 1));

		if (hash_find(&s->users_log->changed, name) == NULL)
			set_as_configured(s, name);
	}
}

void users_log_reconfigure(struct server *s, struct acl *configured)
{
	struct acl *was = s->users_log->configured;

	s->users_log->configured = configured;
	follow_configuration(s, was);
	follow_configuration(s, configured);
	acl_free(was);
}

void users_log_forget(struct server *s)
{
	struct hash_iter it;
	struct hash_node *node;

	while ((node = hash_first(&it, &s->users_log->changed)) != NULL) {
		struct changed_user *user = container_of(node, struct changed_user, node);

		hash_remove(&s->users_log->changed, node);
		set_as_configured(s, changed_key(node));
		free(user);
	}
}

/* Returns whether an operation counts. One of an old log counts only while the configuration
 * still makes the user that it made then. */
static bool counts(const struct server *s, const struct operation *op)
{
	char fingerprint[ACL_FINGERPRINT_BYTES + 1];

	if (op->kind == OPERATION_USER_AS_CONFIGURED)
		return false;
	if (op->user.basis == NULL)
		return true;
	acl_fingerprint(acl_find(s->users_log->configured, op->user.name), fingerprint);
	return str_equal(*op->user.basis, str_from(fingerprint));
}

int users_log_apply(struct server *s, const struct operation *op, struct buf *ret_error)
{
	struct qless_str name = op->user.name;

	if (!counts(s, op)) {
		forget_changed(s->users_log, name);
		set_as_configured(s, name);
		return 0;
	}
	note_changed(s->users_log, name);
	if (op->kind == OPERATION_USER_SET)
		return set_user(s, name, op->user.rules.items, op->user.rules.count, ret_error);
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
