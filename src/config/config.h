/*
 * The configuration: qlessd.conf, the command line, CONFIG GET, SET and REWRITE.
 *
 * All directives are rows of options.def. A struct config is plain data with typed fields that any
 * module may read; only the functions here write it. There are no globals.
 *
 * Functions that can fail return 0 or -1. On failure they append one line without a newline to
 * `ret_error`, and leave the configuration unchanged.
 *
 * A line of a file is `directive value ...`. Words may be quoted. In "..." a backslash begins \n \r
 * \t \b \a \xHH or precedes a literal byte; in '...' only \' is special. A line whose first byte
 * other than blanks is `#` is a comment. `include path` reads another file at this point, or all
 * files `*.conf` of a directory, or all files that match a pattern, in the order of their names.
 * The path is relative to the file with the line. A repeated directive replaces the earlier one,
 * except `user`, whose lines add up.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/buf.h"
#include "util/str.h"

#define CONFIG_FILE_MAX_BYTES	 ((size_t)4 * 1024 * 1024)
#define CONFIG_VALUE_MAX_BYTES	 ((size_t)32 * 1024) /* of one directive, all words together */
#define CONFIG_VALUE_MAX_WORDS	 1024
#define CONFIG_INCLUDE_MAX_DEPTH 8
#define CONFIG_INCLUDE_MAX_FILES 1000 /* of a directory or a pattern */

/* Values of enable-debug-command. */
enum config_access {
	CONFIG_ACCESS_NO,
	CONFIG_ACCESS_LOCAL,
	CONFIG_ACCESS_YES,
};

/* Values of replication-reads. */
enum {
	CONFIG_READS_LOCAL,
	CONFIG_READS_ROUND,
};

/* Values of tls-auth-clients. */
enum config_auth_clients {
	CONFIG_AUTH_CLIENTS_NO,
	CONFIG_AUTH_CLIENTS_OPTIONAL,
	CONFIG_AUTH_CLIENTS_YES,
};

enum config_supervised {
	CONFIG_SUPERVISED_NO,
	CONFIG_SUPERVISED_SYSTEMD,
	CONFIG_SUPERVISED_AUTO,
};

/* Values of maxmemory-policy. A queue has nothing that it could evict. */
enum config_policy {
	CONFIG_POLICY_NOEVICTION,
};

/* Values of script-error-format. */
enum config_appendfsync {
	CONFIG_APPENDFSYNC_NO,
	CONFIG_APPENDFSYNC_EVERYSEC,
	CONFIG_APPENDFSYNC_ALWAYS,
};

enum config_script_errors {
	CONFIG_SCRIPT_ERRORS_REDIS7,
	CONFIG_SCRIPT_ERRORS_REDIS6,
};

/* The classes of client-output-buffer-limit. */
enum config_client_class {
	CONFIG_CLIENT_NORMAL,
	CONFIG_CLIENT_PUBSUB,
	CONFIG_CLIENT_CLASSES,
};

/* A size, or percent of another one. `percent` is 0 for a size; 0 bytes are no limit. */
struct config_share {
	size_t bytes;
	int percent;
};

/* 0 bytes means no limit. */
struct config_output_limit {
	size_t hard_bytes;
	size_t soft_bytes;
	int64_t soft_s;
};

struct config_output_limits {
	struct config_output_limit of[CONFIG_CLIENT_CLASSES];
};

struct config_list {
	char **words; /* each ends with a NUL and contains none */
	size_t count;
};

/* The lines of a directive that may be repeated, without its name. A line of `user` is the name of
 * the user and its rules, as ACL SETUSER takes them. */
struct config_lines {
	struct config_list *of;
	size_t count;
};

/* The C type of each type of row. Strings and paths are never NULL. */
#define CONFIG_FIELD_BOOL	   bool
#define CONFIG_FIELD_INT	   int
#define CONFIG_FIELD_COUNT	   size_t
#define CONFIG_FIELD_BYTES	   size_t
#define CONFIG_FIELD_SHARE	   struct config_share
#define CONFIG_FIELD_DURATION	   int64_t
#define CONFIG_FIELD_MODE	   mode_t
#define CONFIG_FIELD_ENUM	   int
#define CONFIG_FIELD_STRING	   char *
#define CONFIG_FIELD_PATH	   char *
#define CONFIG_FIELD_LIST	   struct config_list
#define CONFIG_FIELD_LINES	   struct config_lines
#define CONFIG_FIELD_OUTPUT_LIMITS struct config_output_limits

/* Enumerations: loglevel is an enum log_level, log_format an enum log_format (sys/log.h),
 * syslog_facility a LOG_... of <syslog.h>, the others are of the types above. */
struct config {
#define OPTION(name, type, field, def, bounds, flags, help) CONFIG_FIELD_##type field;
#include "config/options.def"
#undef OPTION
};

/* The number of each directive: CONFIG_OPT_<field>. */
enum config_opt {
#define OPTION(name, type, field, def, bounds, flags, help) CONFIG_OPT_##field,
#include "config/options.def"
#undef OPTION
	CONFIG_OPT_COUNT,
};

enum config_type {
	CONFIG_TYPE_BOOL,
	CONFIG_TYPE_INT,
	CONFIG_TYPE_COUNT,
	CONFIG_TYPE_BYTES,
	CONFIG_TYPE_SHARE,
	CONFIG_TYPE_DURATION,
	CONFIG_TYPE_MODE,
	CONFIG_TYPE_ENUM,
	CONFIG_TYPE_STRING,
	CONFIG_TYPE_PATH,
	CONFIG_TYPE_LIST,
	CONFIG_TYPE_LINES,
	CONFIG_TYPE_OUTPUT_LIMITS,
};

enum config_flags {
	CONFIG_FLAG_FIXED = 0,
	CONFIG_FLAG_RELOADABLE = 1 << 0,
	CONFIG_FLAG_SECRET = 1 << 1,
	CONFIG_FLAG_HIDDEN = 1 << 2,
};

struct config_choice {
	const char *name; /* NULL in the last row */
	int value;
};

/* One row of options.def. */
struct config_option {
	const char *name;
	enum config_type type;
	size_t offset; /* of the field in struct config */
	const char *def;
	int64_t min, max; /* both 0 if any value of the type is valid */
	const struct config_choice *choices;
	unsigned flags;
	const char *help;
};

/* Indexed by enum config_opt. */
extern const struct config_option config_options[CONFIG_OPT_COUNT];

/* Ignores case. Returns NULL if there is no such option. */
const struct config_option *config_option_find(struct qless_str name);

/* The defaults. */
void config_init(struct config *cfg);
void config_done(struct config *cfg);

/* Remove `flag`, such as "--version", from the arguments of main(). Returns false if it is not
 * among them. A value never begins with `--`, so the rest keeps its meaning. */
bool config_args_take_flag(int *argc, char **argv, const char *flag);

/* Remove the name of the configuration file from the arguments of main(): the first argument,
 * unless it is a directive. Returns NULL if there is none. */
const char *config_args_take_file(int *argc, char **argv);

/* Read the remaining arguments from argv[1]: `--directive value ...`. The values end before the
 * next word that begins with `--`. */
int config_parse_args(struct config *cfg, int argc, char *const *argv, struct buf *ret_error);

int config_parse_file(struct config *cfg, const char *path, struct buf *ret_error);

/* Parses the text as the content of a file with this path. */
int config_parse_text(struct config *cfg, const char *path, struct qless_str text,
		      struct buf *ret_error);

/* Check the rules between directives, such as that there is an address to listen on. The
 * functions that read or change a whole configuration do it by themselves. */
int config_check(const struct config *cfg, struct buf *ret_error);

/* Where a configuration comes from. */
struct config_source {
	const char *file; /* NULL: there is none */
	int argc;	  /* of the command line, which takes precedence; argv[0] is not read */
	char *const *argv;
};

/* Replace `cfg` by the defaults, the file, its rewrite-file, and the command line. */
int config_read(struct config *cfg, const struct config_source *source, struct buf *ret_error);

/* The value as CONFIG GET shows it. */
void config_format(const struct config *cfg, enum config_opt opt, struct buf *out);

bool config_value_equal(const struct config *a, const struct config *b, enum config_opt opt);

/* The line or lines of a file that set the value, each with a newline. */
void config_format_lines(const struct config *cfg, enum config_opt opt, struct buf *out);

/* Calls `visit` in the order of the table, once for each directive that matches one of the globs.
 * Ignores case. The value is valid during the call. */
typedef void (*config_visit_fn)(const char *name, struct qless_str value, void *arg);
void config_get(const struct config *cfg, const struct qless_str *patterns, size_t count,
		config_visit_fn visit, void *arg);

struct config_changes {
	bool of[CONFIG_OPT_COUNT];
	size_t count;
};

/* Apply the changes to the rest of the program. `now` becomes the configuration if this returns 0.
 * To refuse all changes, undo what was done, and return -1 with a reason in `ret_error`. */
typedef int (*config_apply_fn)(const struct config *was, const struct config *now,
			       const struct config_changes *changes, struct buf *ret_error,
			       void *arg);

/* CONFIG SET: `words` is `count` pairs of name and value. Checks all pairs, calls `apply` (which
 * may be NULL) if a value changes, and then sets all: either all or none. The error is the reply of
 * Redis without its leading "ERR ". */
int config_set_many(struct config *cfg, const struct qless_str *words, size_t count,
		    config_apply_fn apply, void *arg, struct buf *ret_error);

/*
 * The configuration was read again. Each directive that differs between the two readings, and that
 * may change at run time, takes the value that was read, as by CONFIG SET; what CONFIG SET changed,
 * and the file did not, stays. `*ret_waiting` has those that need a restart.
 */
int config_adopt(struct config *cfg, const struct config *was_read, const struct config *is_read,
		 config_apply_fn apply, void *arg, struct config_changes *ret_applied,
		 struct config_changes *ret_waiting, struct buf *ret_error);

/* Replace the `user` lines with a copy of `users`. CONFIG REWRITE needs that after ACL commands. */
void config_set_users(struct config *cfg, const struct config_lines *users);

/*
 * Write the current configuration to its file, which is replaced as a whole or not at all.
 *
 * If the file already sets a directive to its current value, its lines stay. Otherwise the last of
 * them is changed in place, or a line is added at the end under CONFIG_REWRITE_MARKER. Comments and
 * order stay. A missing file is created; a file with errors is not touched.
 */
#define CONFIG_REWRITE_MARKER "# Written by CONFIG REWRITE"
int config_rewrite(const struct config *cfg, const char *path, struct buf *ret_error);

/* CONFIG REWRITE: writes the rewrite-file, or else the configuration file, of which there is one.
 */
int config_rewrite_source(const struct config *cfg, const struct config_source *source,
			  struct buf *ret_error);

#endif
