#include "server/users_log.h"

#include "command/acl.h"
#include "server/server_int.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "sys/log.h"
#include "util/mem.h"

/* Records: name, what the configuration made of it, and the rules that make it what it is now. */
static const struct qless_str set_name = STR_INIT("@user");
/* Name, and what the configuration made of it. */
static const struct qless_str gone_name = STR_INIT("@user-gone");
/* Name: it is what the configuration makes of it, whatever was recorded before. */
static const struct qless_str configured_name = STR_INIT("@user-configured");

struct users_log {
	struct acl *configured;
	/* Names of whom the log says something that the configuration has gone over. */
	struct buf *outdated;
	size_t outdated_count;
};

struct users_log *users_log_new(struct acl *configured)
{
	struct users_log *u = mem_zalloc(sizeof *u);

	u->configured = configured;
	return u;
}

void users_log_free(struct users_log *u)
{
	if (u == NULL)
		return;
	for (size_t i = 0; i < u->outdated_count; i++)
		buf_done(&u->outdated[i]);
	free(u->outdated);
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

/* Call `record` with what is to be recorded of a user. */
static void describe(struct server *s, struct qless_str name,
		     void (*record)(void *arg, const struct record_command *command), void *arg)
{
	const struct user *user = acl_find(s->env.acl, name);
	struct buf rules = BUF_INIT(BUF_NO_MAX);
	char fingerprint[ACL_FINGERPRINT_BYTES + 1];
	struct record_command command = { .name = user != NULL ? set_name : gone_name };
	struct qless_str *args;
	size_t words = 0;

	acl_fingerprint(acl_find(s->users_log->configured, name), fingerprint);
	if (user != NULL)
		acl_describe(user, &rules);
	for (size_t i = 0; i < rules.len; i++)
		words += buf_data(&rules)[i] == ' ';
	args = mem_realloc_array(NULL, words + 3, sizeof *args);
	args[command.count++] = name;
	args[command.count++] = str_from(fingerprint);
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

void users_log_note_change(void *arg, struct qless_str name)
{
	describe(arg, name, record_in_log, arg);
}

void users_log_note_password(struct server *s, struct qless_str password)
{
	acl_set_default_password(s->users_log->configured, password);
}

static void record_as_configured(struct server *s, struct qless_str name)
{
	struct record_command command = { .name = configured_name, .args = &name, .count = 1 };

	recording_append(s, &command);
}

/* Whoever is not as configured, those that are gone included. */
static void each_changed(struct server *s,
			 void (*call)(struct server *s, struct qless_str name, void *arg),
			 void *arg)
{
	const struct acl *lists[] = { s->env.acl, s->users_log->configured };

	for (size_t k = 0; k < 2; k++) {
		for (int i = 0; i < acl_count(lists[k]); i++) {
			struct qless_str name = acl_user_name(acl_user_at(lists[k], i));

			if ((k == 0 || acl_find(lists[0], name) == NULL) &&
			    !is_as_configured(s, name))
				call(s, name, arg);
		}
	}
}

static void forget_record(struct server *s, struct qless_str name, void *arg)
{
	(void)arg;
	record_as_configured(s, name);
}

void users_log_note_rewrite(struct server *s, struct acl *configured)
{
	if (configured == NULL)
		return;
	each_changed(s, forget_record, NULL);
	acl_free(s->users_log->configured);
	s->users_log->configured = configured;
}

struct saving {
	void (*record)(void *arg, const struct record_command *command);
	void *arg;
};

static void save_user(struct server *s, struct qless_str name, void *arg)
{
	const struct saving *saving = arg;

	describe(s, name, saving->record, saving->arg);
}

void users_log_save(struct server *s,
		    void (*record)(void *arg, const struct record_command *command), void *arg)
{
	struct saving saving = { record, arg };

	each_changed(s, save_user, &saving);
}

/*
 * Loading
 */

bool users_log_is_record(struct qless_str name)
{
	return str_equal(name, set_name) || str_equal(name, gone_name) ||
	       str_equal(name, configured_name);
}

static void forget_outdated(struct users_log *u, struct qless_str name)
{
	for (size_t i = 0; i < u->outdated_count; i++) {
		if (!str_equal(buf_str(&u->outdated[i]), name))
			continue;
		buf_done(&u->outdated[i]);
		u->outdated[i] = u->outdated[--u->outdated_count];
		return;
	}
}

static void note_outdated(struct users_log *u, struct qless_str name)
{
	struct buf *copy;

	forget_outdated(u, name);
	u->outdated = mem_realloc_array(u->outdated, u->outdated_count + 1, sizeof *u->outdated);
	copy = &u->outdated[u->outdated_count++];
	buf_init(copy, BUF_NO_MAX);
	buf_append_str(copy, name);
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

int users_log_apply(struct server *s, const struct record_command *command, struct buf *ret_error)
{
	struct qless_str name = command->count > 0 ? command->args[0] : STR("");
	char fingerprint[ACL_FINGERPRINT_BYTES + 1];

	if (command->count < 1 ||
	    (command->count < 2 && !str_equal(command->name, configured_name))) {
		buf_printf(ret_error, "it does not say what the user is");
		return -1;
	}
	forget_outdated(s->users_log, name);
	if (str_equal(command->name, configured_name)) {
		set_as_configured(s, name);
		return 0;
	}
	acl_fingerprint(acl_find(s->users_log->configured, name), fingerprint);
	if (!str_equal(command->args[1], str_from(fingerprint))) {
		note_outdated(s->users_log, name);
		return 0;
	}
	if (str_equal(command->name, set_name))
		return set_user(s, name, command->args + 2, command->count - 2, ret_error);
	delete_user(s, name);
	return 0;
}

/* Who came while the log was read was let in by the configuration alone. Who has listened since
 * would go on to hear everything. */
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
			conn_kill(c, "it has to authenticate anew");
	}
}

void users_log_loaded(struct server *s)
{
	struct users_log *u = s->users_log;

	check_sessions(s);
	/* The next start has to come to the same end, however the configuration changes again. */
	while (u->outdated_count > 0) {
		struct qless_str name = buf_str(&u->outdated[u->outdated_count - 1]);

		log_notice("user %.*s is as the configuration says, which has changed since the "
			   "user was set at run time",
			   (int)name.len, name.ptr);
		record_as_configured(s, name);
		forget_outdated(u, name);
	}
}
