/*
 * The classic qless API: 37 commands, decoded from their arguments and answered, and extensions to
 * it, which the script form does not know because the reference does not.
 *
 * The same commands are called in three forms, which differ in where the time comes from and in how
 * errors and empty lists are spelled:
 *
 *	native		put <worker> ...		now is the server's; `NOJOB text`; []
 *	explicit	QLESS put <now> <worker> ...	now is an argument; `ERR text`; []
 *	script		EVALSHA ... put <now> ...	as the Lua script answers, with the
 *							position in errors; {} is an empty list
 *
 * Arguments are checked as the reference does, in its order, before the engine is called; each
 * command makes one change or none, and writes exactly one reply.
 */
#ifndef COMMAND_CLASSIC_H
#define COMMAND_CLASSIC_H

#include <stdbool.h>
#include <stddef.h>

#include "command/json.h"
#include "qless.h"
#include "resp/reply.h"
#include "util/buf.h"
#include "util/str.h"

enum classic_form {
	CLASSIC_NATIVE,
	CLASSIC_EXPLICIT,
	CLASSIC_SCRIPT,
};

/* How the errors of CLASSIC_SCRIPT are wrapped: clients find the message behind
 * `user_script:<line>: ` in both. */
enum classic_envelope {
	CLASSIC_ENVELOPE_REDIS7,
	CLASSIC_ENVELOPE_REDIS6, /* the way of all Redis before 7, which some clients insist on */
};

enum classic_flag {
	CLASSIC_READ = 0,
	CLASSIC_WRITE = 1 << 0,	    /* may change something */
	CLASSIC_EXTENSION = 1 << 1, /* unknown to scripts */
	CLASSIC_MOVES_DUE = 1 << 2, /* reads; first moves what has come due, if it may */
};

struct script;
struct classic_call; /* see classic_int.h */

struct classic_command {
	struct qless_str name;
	int (*run)(struct classic_call *call);
	unsigned flags;
	const char *args; /* for people, without `now` */
	const char *summary;
	/* The argument with the data of the job that the first one names; 0: none. */
	size_t data_at;
};

/* Told of each command that has changed something, with all it takes to do the same again by
 * classic_run_again(): data that a job had already is not repeated. */
struct classic_recorder {
	void (*record)(void *arg, unsigned db, double now, struct qless_str name,
		       const struct qless_str *args, size_t count);
	void *arg;
};

/* Lists that a decoded operation borrows, up to the end of the call. */
struct classic_decoded {
	bool is_used;
	struct json_strings tags;
	struct json_strings depends;
	struct qless_recur_change *changes;
	struct qless_str *texts;
};

/* What calls share: the engine and room to work in. */
struct classic {
	struct qless *engine;
	unsigned db;				 /* its number, for the recorder */
	const struct classic_recorder *recorder; /* NULL: nobody is told */
	size_t max_json_depth; /* JSON_DEPTH_MAX unless somebody sets it lower [max-json-depth] */
	struct qless_str sha;  /* of the script, for the errors of CLASSIC_SCRIPT */
	const struct script *script; /* that CLASSIC_SCRIPT stands for; NULL: any classic one */
	enum classic_envelope envelope;
	bool is_still; /* nothing may change: listings leave what has come due */
	double until;  /* the latest time the last call used: its `now`, or later */
	struct classic_decoded decoded;
	struct buf json;
	struct buf error;
	struct buf line;
};

/* Borrows the engine. */
void classic_init(struct classic *c, struct qless *engine);
void classic_done(struct classic *c);

/* The table, by name, extensions included. */
const struct classic_command *classic_commands(size_t *ret_count);

/* Whether scripts know the command. */
bool classic_is_command_of_scripts(struct qless_str name);
bool classic_is_put_option(struct qless_str name);

/* Names are case sensitive; NULL if there is no such command. */
const struct classic_command *classic_find(struct qless_str name);

/* Run a command with arguments that do not include `now`, which is finite. Returns 0 or an engine
 * error, which has been written as the reply. */
int classic_run(struct classic *c, const struct classic_command *command, enum classic_form form,
		double now, const struct qless_str *args, size_t count, struct reply *reply);

/* The same with what a recorder was told. QLESS_ENOJOB, without a reply, if it leaves out the data
 * of a job that is not there. */
int classic_run_again(struct classic *c, const struct classic_command *command, double now,
		      const struct qless_str *args, size_t count, struct reply *reply);

/* Look at what stands behind QLESS or EVALSHA <sha> 0: command, now, arguments, of which the
 * arguments are left to the caller. `command` is the one of that name, NULL if there is none. */
bool classic_parse_script(enum classic_form form, const struct classic_command *command,
			  const struct qless_str *argv, size_t argc, double *ret_now);
/* Write what is wrong with it. Returns the error of the engine that it is like. */
int classic_refuse_script(struct classic *c, enum classic_form form,
			  const struct classic_command *command, const struct qless_str *argv,
			  size_t argc, struct reply *reply);

/* Find the command, check, and run it. */
int classic_run_script(struct classic *c, enum classic_form form, const struct qless_str *argv,
		       size_t argc, struct reply *reply);

/* The jobs among the arguments of multiput: so many arguments each, jid, class and data. Returns
 * where they begin; `count` if they do not. */
#define CLASSIC_MULTIPUT_JOB_ARGS 3
size_t classic_multiput_jobs(const struct qless_str *args, size_t count);

/* Write an error of the script form or the explicit one that does not come from a command: one that
 * the script would raise, or one that the store would. */
void classic_write_error(struct classic *c, enum classic_form form, struct qless_str message,
			 struct reply *reply);
void classic_write_store_error(struct classic *c, enum classic_form form, struct qless_str message,
			       struct reply *reply);

/* The same in any form for an error that has a code of its own, which is the first word of the
 * line, and stays the first of the reply where the envelope allows it. */
void classic_write_refusal(struct classic *c, enum classic_form form, struct qless_str line,
			   struct reply *reply);

#endif
