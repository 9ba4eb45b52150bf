/*
 * The life of a configuration, CONFIG GET and CONFIG SET.
 */
#include "config/config.h"

#include <assert.h>

#include "config/config_int.h"
#include "push/allow.h"
#include "util/glob.h"

/* Parsers free the previous value of a field; a zeroed field has none. */
void config_init(struct config *cfg)
{
	*cfg = (struct config){ .bind = { .count = 0 } };
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		const struct config_option *option = &config_options[opt];
		struct config_list words = { .count = 0 };
		struct buf why = BUF_INIT(BUF_NO_MAX);
		int status = 0;

		config_split(str_from(option->def), &words);
		if (words.count == 0)
			config_list_add(&words, STR(""));
		if (option->type != CONFIG_TYPE_LINES)
			status = config_value_parse(cfg, opt, &words, &why);
		assert(status == 0);
		config_list_done(&words);
		buf_done(&why);
	}
}

void config_done(struct config *cfg)
{
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++)
		config_value_done(cfg, opt);
}

void config_copy(struct config *to, const struct config *from)
{
	*to = *from;
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++)
		config_value_dup(to, opt);
}

void config_set_users(struct config *cfg, const struct config_lines *users)
{
	struct config given = *cfg;

	/* Copied before the old lines are freed: they may be the same. */
	given.users = *users;
	config_value_dup(&given, CONFIG_OPT_users);
	config_value_done(cfg, CONFIG_OPT_users);
	cfg->users = given.users;
}

static int check_http_ports(const struct config *cfg, enum config_opt *ret_opt, struct buf *why)
{
	if (cfg->https_port == 0 || cfg->https_port != cfg->http_port)
		return 0;
	*ret_opt = CONFIG_OPT_https_port;
	buf_printf(why, "%d is http-port already; the two need ports of their own", cfg->http_port);
	return -1;
}

static int check_listeners(const struct config *cfg, enum config_opt *ret_opt, struct buf *why)
{
	bool has_port = cfg->port != 0 || cfg->tls_port != 0;

	if ((!has_port || cfg->bind.count == 0) && cfg->unixsocket[0] == '\0') {
		*ret_opt = !has_port ? CONFIG_OPT_port : CONFIG_OPT_bind;
		buf_append_str(why, has_port ? STR("nothing to listen on: there is no unixsocket "
						   "either")
					     : STR("nothing to listen on: there is no tls-port and "
						   "no unixsocket either"));
		return -1;
	}
	if (cfg->tls_port != 0 && cfg->tls_port == cfg->port) {
		*ret_opt = CONFIG_OPT_tls_port;
		buf_printf(why, "%d is port already; the two need ports of their own", cfg->port);
		return -1;
	}
	return check_http_ports(cfg, ret_opt, why);
}

/* The rules that need no access to the files. */
static int check_tls(const struct config *cfg, enum config_opt *ret_opt, struct buf *why)
{
	for (size_t i = 0; i < cfg->tls_protocols.count; i++) {
		struct qless_str name = str_from(cfg->tls_protocols.words[i]);

		if (str_equal_nocase(name, STR("TLSv1.2")) ||
		    str_equal_nocase(name, STR("TLSv1.3")))
			continue;
		*ret_opt = CONFIG_OPT_tls_protocols;
		buf_append_str(why, STR("expected TLSv1.2, TLSv1.3 or both, got "));
		config_quote_briefly(name, why);
		return -1;
	}
	if (cfg->tls_port == 0 && cfg->https_port == 0)
		return 0;
	if (cfg->tls_cert_file[0] == '\0' || cfg->tls_key_file[0] == '\0') {
		*ret_opt = cfg->tls_cert_file[0] == '\0' ? CONFIG_OPT_tls_cert_file
							 : CONFIG_OPT_tls_key_file;
		buf_append_str(why, cfg->tls_port != 0 ? STR("tls-port") : STR("https-port"));
		buf_append_str(why, STR(" needs a certificate and its key: tls-cert-file and "
					"tls-key-file"));
		return -1;
	}
	if (cfg->tls_auth_clients != CONFIG_AUTH_CLIENTS_NO && cfg->tls_ca_cert_file[0] == '\0' &&
	    cfg->tls_ca_cert_dir[0] == '\0') {
		*ret_opt = CONFIG_OPT_tls_auth_clients;
		buf_append_str(why, STR("certificates of clients can only be checked with a "
					"tls-ca-cert-file or tls-ca-cert-dir; no asks for none"));
		return -1;
	}
	return 0;
}

static int check_push(const struct config *cfg, enum config_opt *ret_opt, struct buf *why)
{
	for (size_t i = 0; i < cfg->push_allow.count; i++) {
		struct qless_str element = str_from(cfg->push_allow.words[i]);

		if (allow_is_element(element))
			continue;
		*ret_opt = CONFIG_OPT_push_allow;
		buf_append_str(why, STR("expected networks, addresses and globs of hosts, got "));
		config_quote_briefly(element, why);
		return -1;
	}
	return 0;
}

int config_check_rules(const struct config *cfg, enum config_opt *ret_opt, struct buf *why)
{
	if (check_listeners(cfg, ret_opt, why) < 0 || check_tls(cfg, ret_opt, why) < 0 ||
	    check_push(cfg, ret_opt, why) < 0)
		return -1;
	if (cfg->rewrite_file[0] != '\0' && cfg->rewrite_file[0] != '/') {
		*ret_opt = CONFIG_OPT_rewrite_file;
		buf_append_str(why, STR("expected a path that begins with /, got "));
		config_quote_briefly(str_from(cfg->rewrite_file), why);
		return -1;
	}
	if (cfg->daemonize && cfg->supervised == CONFIG_SUPERVISED_SYSTEMD) {
		*ret_opt = CONFIG_OPT_daemonize;
		buf_append_str(why, STR("expected no, because supervised is systemd, got yes"));
		return -1;
	}
	return 0;
}

int config_check(const struct config *cfg, struct buf *ret_error)
{
	struct buf why = BUF_INIT(BUF_NO_MAX);
	enum config_opt opt;
	int status = config_check_rules(cfg, &opt, &why);

	if (status != 0)
		buf_printf(ret_error, "%s: %s", config_options[opt].name, buf_cstr(&why));
	buf_done(&why);
	return status;
}

static bool matches_any(const char *name, const struct qless_str *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (glob_match(patterns[i], str_from(name), /* ignore_case= */ true))
			return true;
	}
	return false;
}

void config_get(const struct config *cfg, const struct qless_str *patterns, size_t count,
		config_visit_fn visit, void *arg)
{
	struct buf value = BUF_INIT(BUF_NO_MAX);

	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		const struct config_option *option = &config_options[opt];

		if ((option->flags & CONFIG_FLAG_HIDDEN) != 0 ||
		    !matches_any(option->name, patterns, count))
			continue;
		buf_clear(&value);
		config_format(cfg, opt, &value);
		visit(option->name, buf_str(&value), arg);
	}
	buf_done(&value);
}

static int fail_set(struct buf *ret_error, const char *name, struct qless_str why)
{
	buf_printf(ret_error, "CONFIG SET failed (possibly related to argument '%s') - ", name);
	buf_append_str(ret_error, why);
	return -1;
}

static int fail_unknown(struct buf *ret_error, struct qless_str name)
{
	buf_append_str(ret_error, STR("Unknown option or number of arguments for CONFIG SET - '"));
	config_escape_briefly(name, ret_error);
	buf_append_char(ret_error, '\'');
	return -1;
}

/* Check the names of the pairs before their values. */
static int check_names(const struct qless_str *words, size_t count, struct buf *ret_error)
{
	bool seen[CONFIG_OPT_COUNT] = { false };

	if (count == 0 || count % 2 != 0) {
		buf_append_str(ret_error,
			       STR("wrong number of arguments for 'config|set' command"));
		return -1;
	}
	for (size_t i = 0; i < count; i += 2) {
		const struct config_option *option = config_option_find(words[i]);

		if (option == NULL || (option->flags & CONFIG_FLAG_HIDDEN) != 0)
			return fail_unknown(ret_error, words[i]);
		if ((option->flags & CONFIG_FLAG_RELOADABLE) == 0)
			return fail_set(ret_error, option->name, STR("can't set immutable config"));
		if (seen[config_opt_of(option)])
			return fail_set(ret_error, option->name, STR("duplicate parameter"));
		seen[config_opt_of(option)] = true;
	}
	return 0;
}

/* The words of a value from CONFIG SET. Types with one value take the text unchanged. */
static const char *words_of(const struct config_option *option, struct qless_str text,
			    struct config_list *words)
{
	if (option->type == CONFIG_TYPE_LIST || option->type == CONFIG_TYPE_OUTPUT_LIMITS) {
		const char *wrong = config_split(text, words);

		if (wrong == NULL && words->count == 0)
			config_list_add(words, STR(""));
		return wrong;
	}
	if (text.len > CONFIG_VALUE_MAX_BYTES)
		return "the value is too long";
	if (text.len != 0 && memchr(text.ptr, '\0', text.len) != NULL)
		return "a NUL byte cannot be in a value";
	config_list_add(words, text);
	return NULL;
}

static int set_pair(struct config *cfg, const struct config_option *option, struct qless_str text,
		    struct buf *ret_error)
{
	struct config_list words = { .count = 0 };
	struct buf why = BUF_INIT(BUF_NO_MAX);
	const char *wrong = words_of(option, text, &words);
	int status = -1;

	if (wrong != NULL)
		buf_append_str(&why, str_from(wrong));
	else
		status = config_value_parse(cfg, config_opt_of(option), &words, &why);
	if (status != 0)
		fail_set(ret_error, option->name, buf_str(&why));
	config_list_done(&words);
	buf_done(&why);
	return status;
}

static int check_set(const struct config *cfg, struct buf *ret_error)
{
	struct buf why = BUF_INIT(BUF_NO_MAX);
	enum config_opt opt;
	int status = config_check_rules(cfg, &opt, &why);

	if (status != 0)
		fail_set(ret_error, config_options[opt].name, buf_str(&why));
	buf_done(&why);
	return status;
}

static void find_changes(const struct config *was, const struct config *now,
			 struct config_changes *ret_changes)
{
	*ret_changes = (struct config_changes){ .count = 0 };
	for (enum config_opt opt = 0; opt < CONFIG_OPT_COUNT; opt++) {
		ret_changes->of[opt] = !config_value_equal(was, now, opt);
		ret_changes->count += ret_changes->of[opt];
	}
}

/* Let the program apply the changes. `first` is the option that a refusal names. */
static int apply_changes(const struct config *was, const struct config *now, config_apply_fn apply,
			 void *arg, const char *first, struct buf *ret_error)
{
	struct config_changes changes;
	struct buf why = BUF_INIT(BUF_NO_MAX);
	int status = 0;

	find_changes(was, now, &changes);
	if (apply != NULL && changes.count != 0)
		status = apply(was, now, &changes, &why, arg);
	if (status != 0)
		fail_set(ret_error, first, buf_str(&why));
	buf_done(&why);
	return status;
}

int config_set_many(struct config *cfg, const struct qless_str *words, size_t count,
		    config_apply_fn apply, void *arg, struct buf *ret_error)
{
	struct config next;
	int status = check_names(words, count, ret_error);

	if (status != 0)
		return status;
	config_copy(&next, cfg);
	for (size_t i = 0; i < count && status == 0; i += 2)
		status = set_pair(&next, config_option_find(words[i]), words[i + 1], ret_error);
	if (status == 0)
		status = check_set(&next, ret_error);
	if (status == 0)
		status = apply_changes(cfg, &next, apply, arg, config_option_find(words[0])->name,
				       ret_error);
	if (status == 0) {
		struct config was = *cfg;

		*cfg = next;
		next = was;
	}
	config_done(&next);
	return status;
}
