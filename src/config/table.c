/*
 * options.def as data.
 */
#include <assert.h>
#include <stddef.h>
#include <syslog.h>

#include "config/config.h"
#include "sys/log.h"
#include "util/glob.h"

static_assert(GLOB_MAX_BYTES == 4096, "the upper bound of max-pattern-length");

static const struct config_choice access_choices[] = {
	{ "no", CONFIG_ACCESS_NO },
	{ "local", CONFIG_ACCESS_LOCAL },
	{ "yes", CONFIG_ACCESS_YES },
	{ NULL, 0 },
};

static const struct config_choice appendfsync_choices[] = {
	{ "no", CONFIG_APPENDFSYNC_NO },
	{ "everysec", CONFIG_APPENDFSYNC_EVERYSEC },
	{ "always", CONFIG_APPENDFSYNC_ALWAYS },
	{ NULL, 0 },
};

static const struct config_choice reads_choices[] = {
	{ "local", CONFIG_READS_LOCAL },
	{ "round", CONFIG_READS_ROUND },
	{ NULL, 0 },
};

static const struct config_choice auth_clients_choices[] = {
	{ "no", CONFIG_AUTH_CLIENTS_NO },
	{ "optional", CONFIG_AUTH_CLIENTS_OPTIONAL },
	{ "yes", CONFIG_AUTH_CLIENTS_YES },
	{ NULL, 0 },
};

static const struct config_choice loglevel_choices[] = {
	{ "debug", LOG_LEVEL_DEBUG },
	{ "verbose", LOG_LEVEL_VERBOSE },
	{ "notice", LOG_LEVEL_NOTICE },
	{ "warning", LOG_LEVEL_WARNING },
	{ NULL, 0 },
};

static const struct config_choice log_format_choices[] = {
	{ "text", LOG_FORMAT_TEXT },
	{ "logfmt", LOG_FORMAT_LOGFMT },
	{ NULL, 0 },
};

static const struct config_choice script_error_choices[] = {
	{ "redis7", CONFIG_SCRIPT_ERRORS_REDIS7 },
	{ "redis6", CONFIG_SCRIPT_ERRORS_REDIS6 },
	{ NULL, 0 },
};

static const struct config_choice facility_choices[] = {
	{ "user", LOG_USER },
	{ "daemon", LOG_DAEMON },
	{ "local0", LOG_LOCAL0 },
	{ "local1", LOG_LOCAL1 },
	{ "local2", LOG_LOCAL2 },
	{ "local3", LOG_LOCAL3 },
	{ "local4", LOG_LOCAL4 },
	{ "local5", LOG_LOCAL5 },
	{ "local6", LOG_LOCAL6 },
	{ "local7", LOG_LOCAL7 },
	{ NULL, 0 },
};

static const struct config_choice policy_choices[] = {
	{ "noeviction", CONFIG_POLICY_NOEVICTION },
	{ NULL, 0 },
};

static const struct config_choice supervised_choices[] = {
	{ "no", CONFIG_SUPERVISED_NO },
	{ "systemd", CONFIG_SUPERVISED_SYSTEMD },
	{ "auto", CONFIG_SUPERVISED_AUTO },
	{ NULL, 0 },
};

#define RANGE(low, high) .min = (low), .max = (high)
#define CHOICES(list)	 .choices = (list)
#define ANY		 .choices = NULL

#define FIXED	   CONFIG_FLAG_FIXED
#define RELOADABLE CONFIG_FLAG_RELOADABLE
#define SECRET	   CONFIG_FLAG_SECRET
#define HIDDEN	   CONFIG_FLAG_HIDDEN

const struct config_option config_options[CONFIG_OPT_COUNT] = {
#define OPTION(a_name, a_type, field, a_def, bounds, a_flags, a_help) \
	[CONFIG_OPT_##field] = {                                      \
		.name = (a_name),                                     \
		.type = CONFIG_TYPE_##a_type,                         \
		.offset = offsetof(struct config, field),             \
		.def = (a_def),                                       \
		.flags = (a_flags),                                   \
		.help = (a_help),                                     \
		bounds,                                               \
	},
#include "config/options.def"
#undef OPTION
};

const struct config_option *config_option_find(struct qless_str name)
{
	for (size_t i = 0; i < CONFIG_OPT_COUNT; i++) {
		if (str_equal_nocase(name, str_from(config_options[i].name)))
			return &config_options[i];
	}
	return NULL;
}
