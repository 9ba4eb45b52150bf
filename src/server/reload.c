#include "server/reload.h"

#include "command/acl.h"
#include "server/member_tls.h"
#include "server/server_int.h"
#include "server/users.h"
#include "server/users_log.h"
#include "sys/log.h"

/* Bytes of the longest error text. */
#define ERROR_TEXT_MAX 4096

void reload_init(struct server *s, const struct config_source *source)
{
	if (source != NULL)
		s->reload.source = *source;
	config_init(&s->reload.read);
	reload_note_rewrite(s);
}

void reload_done(struct server *s)
{
	config_done(&s->reload.read);
}

/* If the file cannot be read, the next reload finds what has changed since the last one. */
void reload_note_rewrite(struct server *s)
{
	struct buf error = BUF_INIT(ERROR_TEXT_MAX);

	config_read(&s->reload.read, &s->reload.source, &error);
	buf_done(&error);
}

static bool has_tls_changes(const struct config_changes *changes)
{
	static const enum config_opt of_tls[] = {
		CONFIG_OPT_tls_cert_file,
		CONFIG_OPT_tls_key_file,
		CONFIG_OPT_tls_key_file_pass,
		CONFIG_OPT_tls_ca_cert_file,
		CONFIG_OPT_tls_ca_cert_dir,
		CONFIG_OPT_tls_auth_clients,
		CONFIG_OPT_tls_protocols,
		CONFIG_OPT_tls_ciphers,
		CONFIG_OPT_tls_ciphersuites,
		CONFIG_OPT_replication_tls_cert_file,
		CONFIG_OPT_replication_tls_key_file,
		CONFIG_OPT_replication_tls_key_file_pass,
		CONFIG_OPT_replication_tls_ca_cert_file,
	};

	for (size_t i = 0; i < sizeof of_tls / sizeof of_tls[0]; i++) {
		if (changes->of[of_tls[i]])
			return true;
	}
	return false;
}

/* Load the certificates for clients and for nodes, or none of them. */
static int apply_tls(struct server *s, const struct config *was, const struct config *now,
		     struct buf *ret_error)
{
	struct buf ignored = BUF_INIT(ERROR_TEXT_MAX);

	if (s->certificates.tls != NULL && certificates_load(s, now, ret_error) < 0)
		return -1;
	if (member_tls_reload(s, now, ret_error) == 0)
		return 0;
	if (s->certificates.tls != NULL)
		certificates_load(s, was, &ignored);
	buf_done(&ignored);
	return -1;
}

int reload_apply(const struct config *was, const struct config *now,
		 const struct config_changes *changes, struct buf *ret_error, void *arg)
{
	struct server *s = arg;

	if (changes->of[CONFIG_OPT_maxclients]) {
		if (!conns_make_room(s, now->maxclients)) {
			buf_printf(ret_error, "the system allows open files for %zu clients only",
				   s->conns.limit);
			conns_make_room(s, was->maxclients);
			return -1;
		}
	}
	if (has_tls_changes(changes) && apply_tls(s, was, now, ret_error) < 0) {
		conns_make_room(s, was->maxclients);
		return -1;
	}
	if (changes->of[CONFIG_OPT_requirepass]) {
		acl_set_default_password(s->env.acl, str_from(now->requirepass));
		users_log_note_password(s, str_from(now->requirepass));
		http_sessions_check(s);
	}
	if (changes->of[CONFIG_OPT_loglevel])
		log_set_level((enum log_level)now->loglevel);
	if (changes->of[CONFIG_OPT_log_format])
		log_set_format((enum log_format)now->log_format);
	return 0;
}

static void log_change(const struct config *config, enum config_opt opt)
{
	const struct config_option *option = &config_options[opt];
	struct buf value = BUF_INIT(BUF_NO_MAX);

	config_format(config, opt, &value);
	if ((option->flags & (CONFIG_FLAG_SECRET | CONFIG_FLAG_HIDDEN)) != 0)
		log_notice("%s has changed", option->name);
	else
		log_notice("%s is now \"%s\"", option->name, buf_cstr(&value));
	buf_done(&value);
}

static int check_users(const struct server *s, const struct config *config, struct buf *ret_error)
{
	struct acl *acl = users_load(config, s->table, ret_error);
	int status = acl != NULL ? 0 : -1;

	acl_free(acl);
	return status;
}

/* The password of the default user may be one of CONFIG SET. A new requirepass does not replace the
 * password of a line for that user. */
static void adopt_users(struct server *s, const struct config *is_read,
			const struct config_changes *applied)
{
	bool are_new = !config_value_equal(&s->reload.read, is_read, CONFIG_OPT_users);
	struct buf error = BUF_INIT(ERROR_TEXT_MAX);

	if (!are_new && !applied->of[CONFIG_OPT_requirepass])
		return;
	config_set_users(s->config, &is_read->users);
	users_log_reconfigure(s, users_load(s->config, s->table, &error));
	http_sessions_check(s);
	if (are_new)
		log_notice("the users are as configured, apart from those that were changed at run "
			   "time");
	buf_done(&error);
}

static int adopt(struct server *s, const struct config *is_read, struct buf *ret_error)
{
	struct config_changes applied, waiting;

	if (check_users(s, is_read, ret_error) < 0 ||
	    config_adopt(s->config, &s->reload.read, is_read, reload_apply, s, &applied, &waiting,
			 ret_error) < 0)
		return -1;
	adopt_users(s, is_read, &applied);
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		if (applied.of[opt])
			log_change(s->config, opt);
		else if (waiting.of[opt] && opt != CONFIG_OPT_users)
			log_warning("%s takes its new value at the next start",
				    config_options[opt].name);
	}
	server_apply_config(s);
	return 0;
}

static void reload_config(struct server *s)
{
	struct buf error = BUF_INIT(ERROR_TEXT_MAX);
	struct config is_read;

	config_init(&is_read);
	if (config_read(&is_read, &s->reload.source, &error) < 0 ||
	    adopt(s, &is_read, &error) < 0) {
		log_warning("cannot reload the configuration, the old one stays in use: %s",
			    buf_cstr(&error));
	} else {
		struct config was_read = s->reload.read;

		s->reload.read = is_read;
		is_read = was_read;
		log_notice("configuration reloaded");
	}
	config_done(&is_read);
	buf_done(&error);
}

static void reload_node_certificate(struct server *s)
{
	struct buf error = BUF_INIT(ERROR_TEXT_MAX);

	if (member_tls_reload(s, s->config, &error) < 0)
		log_warning("cannot reload the certificate of this node, the old one stays in use: "
			    "%s",
			    buf_cstr(&error));
	buf_done(&error);
}

static void reload_certificates(struct server *s)
{
	struct buf error = BUF_INIT(ERROR_TEXT_MAX);

	reload_node_certificate(s);
	if (s->certificates.tls == NULL)
		return;
	if (certificates_load(s, s->config, &error) == 0)
		log_notice("certificate and key reloaded");
	else
		log_warning("cannot reload the certificate, the old one stays in use: %s",
			    buf_cstr(&error));
	buf_done(&error);
}

/* A program that rotates logs or renews certificates may have replaced both. */
void reload_run(struct server *s)
{
	struct buf error = BUF_INIT(ERROR_TEXT_MAX);

	if (log_reopen(&error) == 0)
		log_notice("SIGHUP received, log file reopened");
	else
		log_warning("SIGHUP received, but %s", buf_cstr(&error));
	buf_done(&error);
	if (s->loading) {
		reload_certificates(s);
		s->reload.is_asked_for = true;
		return;
	}
	notify_reloading(&s->notify);
	/* The configuration may name other files for the certificate and the key. */
	reload_config(s);
	reload_certificates(s);
	notify_ready(&s->notify, NULL);
}

void reload_catch_up(struct server *s)
{
	if (s->reload.is_asked_for)
		reload_config(s);
	s->reload.is_asked_for = false;
}
