/*
 * Commands about the whole server: TIME, MONITOR, FLUSHALL, SHUTDOWN, DEBUG.
 */
#include <math.h>
#include <signal.h>
#include <time.h>

#include "command/databases.h"
#include "command/handlers.h"
#include "server/commands.h"
#include "server/recording.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "util/num.h"

void cmd_time(struct request *req)
{
	int64_t now_us = clock_wall_us();

	reply_array(req->reply, 2);
	reply_bulk_integer(req->reply, now_us / 1000000);
	reply_bulk_integer(req->reply, now_us % 1000000);
}

void cmd_monitor(struct request *req)
{
	if (!client_check_connection(client_of(req)))
		return;
	client_set_monitor(client_of(req), true);
	reply_ok(req->reply);
}

/* Tools ask for this to learn what the server can do. */
void module_cmd_list(struct request *req)
{
	reply_array(req->reply, 0);
}

void cmd_swapdb(struct request *req)
{
	reply_error(req->reply, "ERR",
		    STR("SWAPDB is not supported: the queues of two databases cannot change "
			"places while workers hold their jobs"));
}

/* SYNC and ASYNC mean the same: the data is gone when the reply comes, and the memory is freed
 * later. */
static bool parse_flush(struct request *req)
{
	if (req->nargs == 0 || (req->nargs == 1 && (str_equal_nocase(req->args[0], STR("SYNC")) ||
						    str_equal_nocase(req->args[0], STR("ASYNC")))))
		return true;
	reply_error(req->reply, "ERR", STR("syntax error"));
	return false;
}

void cmd_flushdb(struct request *req)
{
	if (!parse_flush(req))
		return;
	databases_flush(req->env->databases, req->session->db);
	reply_ok(req->reply);
}

void cmd_flushall(struct request *req)
{
	struct databases *databases = req->env->databases;

	if (!parse_flush(req))
		return;
	recording_begin_group(server_of(req));
	for (unsigned i = 0; i < databases_count(databases); i++)
		databases_flush(databases, i);
	recording_end_group(server_of(req));
	reply_ok(req->reply);
}

/* SHUTDOWN [NOSAVE|SAVE] [NOW] [FORCE] [ABORT] */
void cmd_shutdown(struct request *req)
{
	struct client *c = client_of(req);
	bool save = false, nosave = false, abort = false;

	for (size_t i = 0; i < req->nargs; i++) {
		struct qless_str word = req->args[i];

		if (str_equal_nocase(word, STR("SAVE")) && !nosave) {
			save = true;
		} else if (str_equal_nocase(word, STR("NOSAVE")) && !save) {
			nosave = true;
		} else if (str_equal_nocase(word, STR("ABORT")) && req->nargs == 1) {
			abort = true;
		} else if (!str_equal_nocase(word, STR("NOW")) &&
			   !str_equal_nocase(word, STR("FORCE"))) {
			reply_error(req->reply, "ERR", STR("syntax error"));
			return;
		}
	}
	if (abort) {
		reply_error(req->reply, "ERR", STR("No shutdown in progress."));
		return;
	}
	log_write(LOG_LEVEL_NOTICE,
		  LOG_FIELDS(LOG_INT("id", c->session.id), LOG_TEXT("addr", c->peer)),
		  "SHUTDOWN received, stopping");
	c->server->stop.saves_log = save;
	stop_begin(c->server);
}

/*
 * DEBUG: commands for tests
 */

/* A longer sleep is a mistake, and nothing could end it. */
#define DEBUG_SLEEP_MAX_SECONDS 3600

static bool debug_is_allowed(struct request *req)
{
	const struct client *c = client_of(req);
	bool is_local = c->kind == CLIENT_UNIX || str_starts_with(str_from(c->peer), STR("127.")) ||
			str_starts_with(str_from(c->peer), STR("[::1]"));

	switch ((enum config_access)c->server->config->enable_debug_command) {
	case CONFIG_ACCESS_YES:
		return true;
	case CONFIG_ACCESS_LOCAL:
		if (is_local)
			return true;
		break;
	case CONFIG_ACCESS_NO:
		break;
	}
	reply_error(req->reply, "ERR",
		    STR("DEBUG command not allowed. If the enable-debug-command option is set "
			"to \"local\", you can run it from a local connection, otherwise you "
			"need to set this option in the configuration file, and then restart "
			"the server."));
	return false;
}

void debug_cmd_sleep(struct request *req)
{
	struct timespec delay;
	double seconds;

	if (!debug_is_allowed(req))
		return;
	if (!num_parse_double(req->args[0], &seconds) || !(seconds >= 0) ||
	    seconds > DEBUG_SLEEP_MAX_SECONDS) {
		reply_error(req->reply, "ERR", STR("value is not a valid float"));
		return;
	}
	delay.tv_sec = (time_t)seconds;
	delay.tv_nsec = (long)((seconds - floor(seconds)) * 1e9);
	nanosleep(&delay, NULL);
	reply_ok(req->reply);
}

void debug_cmd_segfault(struct request *req)
{
	if (debug_is_allowed(req))
		raise(SIGSEGV);
}
