/*
 * qlessd: reads the configuration, detaches if configured, serves, and reports the result.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_config.h"
#include "config/config.h"
#include "journal/recover.h"
#include "server/loading.h"
#include "server/preflight.h"
#include "server/server.h"
#include "server/version.h"
#include "sys/crash.h"
#include "sys/daemon.h"
#include "sys/files.h"
#include "sys/log.h"
#include "sys/pidfile.h"
#include "sys/privileges.h"

#define ERROR_MAX 8192

static const char usage[] =
	"Usage: qlessd [file] [--directive value ...] ...\n"
	"\n"
	"Runs the job-queue server qlessd. The command line may have every directive of\n"
	"qlessd.conf(5), and takes precedence over the file:\n"
	"\n"
	"  qlessd /etc/qlessd/qlessd.conf --port 7538 --loglevel verbose\n"
	"\n"
	"  --recover-from directory\n"
	"                  begin a new log with the state of the log in that directory, which\n"
	"                  does not change\n"
	"  --recover-to limit\n"
	"                  load that log up to a sequence number, or a time such as\n"
	"                  2026-11-18T14:00:00 (UTC) or @1795000000.5\n"
	"  --begin-group   make a group of servers of the log, with --group-id digits and\n"
	"                  --group-members \"1=host:port 2=host:port\"; see qlessd.conf(5)\n"
	"  --join-group    begin as a node that REPLICA ADD adds to a group, with --group-id "
	"digits\n"
	"  --check-config  check the configuration and what it names, and exit\n"
	"  -p port         the same as --port\n"
	"  -v, --version   print the versions of qlessd and its libraries, and exit\n"
	"  -h, --help      print this and exit\n";

/* Short forms, as other programs have them. A word after a directive is its value. */
static void expand_short_forms(int argc, char **argv)
{
	static char help[] = "--help", version[] = "--version", port[] = "--port";

	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i - 1], "--", 2) == 0)
			continue;
		if (strcmp(argv[i], "-h") == 0)
			argv[i] = help;
		else if (strcmp(argv[i], "-v") == 0)
			argv[i] = version;
		else if (strcmp(argv[i], "-p") == 0)
			argv[i] = port;
	}
}

static void print_version(void)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	version_describe(&text);
	fputs(buf_cstr(&text), stdout);
	buf_done(&text);
}

/* Remove a flag and the word after it from the arguments. Returns the word, or NULL if the flag
 * is missing. */
static const char *take_value(int *argc, char **argv, const char *flag)
{
	for (int i = 1; i + 1 < *argc; i++) {
		const char *value = argv[i + 1];

		if (strcmp(argv[i], flag) != 0)
			continue;
		*argc -= 2;
		memmove(argv + i, argv + i + 2, (size_t)(*argc - i + 1) * sizeof *argv);
		return value;
	}
	return NULL;
}

/* Read where the state comes from, and whether a group begins with it. Returns 0, or -1 with the
 * reason printed. */
static int read_origin(struct loading_origin *origin, int *argc, char **argv)
{
	const char *from = take_value(argc, argv, "--recover-from");
	const char *to = take_value(argc, argv, "--recover-to");

	if (to != NULL && from == NULL) {
		fputs("qlessd: --recover-to needs --recover-from: the new log is in another "
		      "directory, and the old log does not change\n",
		      stderr);
		return -1;
	}
	if (to != NULL && !recovery_parse_limit(to, &origin->limit)) {
		fprintf(stderr, "qlessd: --recover-to %s is neither a sequence number nor a time\n",
			to);
		return -1;
	}
	origin->birth.group = take_value(argc, argv, "--group-id");
	origin->birth.members = take_value(argc, argv, "--group-members");
	if (from == NULL)
		return 0;
	origin->dir = realpath(from, NULL);
	if (origin->dir == NULL)
		fprintf(stderr, "qlessd: --recover-from %s: %s\n", from, strerror(errno));
	return origin->dir != NULL ? 0 : -1;
}

static int open_log(const struct config *config, struct buf *error)
{
	struct log_options options = {
		.level = (enum log_level)config->loglevel,
		.format = (enum log_format)config->log_format,
		.file = config->logfile,
		.syslog = config->syslog_enabled,
		.syslog_ident = config->syslog_ident,
		.syslog_facility = config->syslog_facility,
	};

	return log_open(&options, error);
}

/* Returns the absolute path of the file, because the working directory changes later; the path
 * itself if that is not possible. Links stay in the path, because they can change until the file is
 * read again. */
static const char *make_absolute(const char *file, char path[PATH_MAX])
{
	char cwd[PATH_MAX];
	int len;

	if (file[0] == '/' || getcwd(cwd, sizeof cwd) == NULL)
		return file;
	len = snprintf(path, PATH_MAX, "%s/%s", cwd, file);
	return len >= 0 && len < PATH_MAX ? path : file;
}

/* Become the configured user before any file is opened. Root could otherwise open a file through
 * a link that this user made. */
static int become_user(const struct config *config, struct buf *error)
{
	struct privileges_user user;

	umask(config->file_umask);
	if (config->run_as[0] == '\0')
		return 0;
	if (privileges_find(config->run_as, &user, error) < 0)
		return -1;
	return privileges_become(&user, error);
}

/* Anybody who can write to the directory could put a log there, which the server would load. */
static int enter_dir(const struct config *config, struct buf *error)
{
	if (chdir(config->dir) < 0) {
		buf_printf(error, "cannot change to the directory %s: %s", config->dir,
			   strerror(errno));
		return -1;
	}
	if (files_is_open_to_all(".")) {
		buf_printf(error,
			   "every user can write to the directory %s, and so change the jobs: take "
			   "that permission away (chmod o-w), or set dir to another directory",
			   config->dir);
		return -1;
	}
	return 0;
}

static void warn_of_root(const struct config *config)
{
	if (geteuid() == 0 && config->run_as[0] == '\0')
		log_warning("running as root without need: set run-as to a user, or to root to "
			    "avoid this "
			    "warning");
}

/*
 * Run the server. From here on, problems are logged. The order matters: first the user, who opens
 * all files; then the directory, because all paths are relative to it; then the background process,
 * whose id the pid file holds; last the sockets, because then clients come.
 */
static int run(struct config *config, const struct config_source *source,
	       const struct loading_origin *origin)
{
	struct buf error = BUF_INIT(ERROR_MAX);
	struct pidfile pidfile = PIDFILE_INIT;
	struct server *server = NULL;
	int ready_fd = -1, status = EXIT_FAILURE, rc;

	if (become_user(config, &error) < 0 || enter_dir(config, &error) < 0)
		goto fail;
	privileges_set_core_dumps(config->core_dumps);
	if (config->daemonize) {
		rc = daemon_detach(&ready_fd);
		if (rc < 0) {
			buf_printf(&error, "cannot go into the background: %s", strerror(-rc));
			goto fail;
		}
	}
	if (open_log(config, &error) < 0)
		goto fail;
	if (config->crash_log_enabled)
		crash_install(QLESSD_VERSION);
	if (config->pidfile[0] != '\0' && pidfile_create(&pidfile, config->pidfile, &error) < 0)
		goto fail;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit on file sizes fails with EFBIG */

	log_notice("qlessd %s starting, process %d", QLESSD_VERSION, (int)getpid());
	warn_of_root(config);
	server = server_new(config, source, &error);
	if (server == NULL)
		goto fail;
	if (ready_fd >= 0)
		daemon_ready(ready_fd);
	switch (server_run(server, origin)) {
	case SERVER_EXIT_STOPPED:
		log_notice("qlessd stopped");
		status = EXIT_SUCCESS;
		break;
	case SERVER_EXIT_NOT_STARTED:
		log_fatal("qlessd did not start");
		break;
	case SERVER_EXIT_FAILED:
		log_fatal("qlessd failed");
		break;
	}
	goto done;

fail:
	log_fatal("%s", buf_cstr(&error));
	log_fatal("qlessd did not start");
done:
	server_free(server);
	pidfile_remove(&pidfile);
	log_close();
	buf_done(&error);
	return status;
}

/* An error in the configuration: for a person at a terminal, or for the journal. */
static void report_error(const char *error, bool check_only)
{
	if (check_only || !log_is_journal()) {
		fprintf(stderr, "qlessd: %s\n", error);
		return;
	}
	log_fatal("%s", error);
	log_fatal("qlessd did not start");
}

/* Check what else would stop a start, as the user of the server. */
static int check_surroundings(struct config *config, struct buf *error)
{
	if (become_user(config, error) < 0 || enter_dir(config, error) < 0)
		return -1;
	return preflight_check(config, error);
}

/* Check the configuration, or run the server. */
static int check_or_run(struct config *config, const struct config_source *source, bool check_only,
			const struct loading_origin *origin)
{
	struct buf error = BUF_INIT(ERROR_MAX);
	int status = config_read(config, source, &error);

	if (status == 0 && check_only)
		status = check_surroundings(config, &error);
	if (status < 0)
		report_error(buf_cstr(&error), check_only);
	buf_done(&error);
	if (status < 0)
		return EXIT_FAILURE;
	if (!check_only)
		return run(config, source, origin);
	printf("%s: the configuration is valid\n", source->file != NULL ? source->file : "qlessd");
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct loading_origin origin = { .limit = RECOVERY_NO_LIMIT };
	struct config_source source;
	struct config config;
	bool check_only;
	const char *file;
	char path[PATH_MAX];
	int status;

	log_find_journal();
	/* A flag takes no value, so a short form may follow it. */
	check_only = config_args_take_flag(&argc, argv, "--check-config");
	origin.birth.begins = config_args_take_flag(&argc, argv, "--begin-group");
	origin.birth.joins = config_args_take_flag(&argc, argv, "--join-group");
	expand_short_forms(argc, argv);
	if (config_args_take_flag(&argc, argv, "--version")) {
		print_version();
		return EXIT_SUCCESS;
	}
	if (config_args_take_flag(&argc, argv, "--help")) {
		fputs(usage, stdout);
		return EXIT_SUCCESS;
	}
	if (read_origin(&origin, &argc, argv) < 0)
		return EXIT_FAILURE;
	file = config_args_take_file(&argc, argv);
	if (file != NULL)
		file = make_absolute(file, path);
	source = (struct config_source){ .file = file, .argc = argc, .argv = argv };
	config_init(&config);
	status = check_or_run(&config, &source, check_only, &origin);
	config_done(&config);
	free(origin.dir);
	return status;
}
