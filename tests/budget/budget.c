/*
 * A fixed amount of work whose instructions are counted: see check.py.
 *
 * Each step runs for JOBS jobs, most steps with a call for each. A step with a name is measured:
 * budget_measure() is called once for it, and afterwards its name is printed. The other steps
 * prepare for what follows. Steps are the lines of the table below, in their order, on one state. A
 * new operation is a new line.
 *
 * Nothing here may depend on the machine, the time or chance.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "luatext.h"
#include "native.h"

#include "command/scripts.h"
#include "engine/meter.h"
#include "util/num.h"

#define JOBS	   512
#define JID_BYTES  32
#define NOW_BYTES  20
#define ARGS_MAX   16
#define NAME_BYTES 32
#define NAMES	   64
#define CALL_STEP  0.001 /* seconds from one call to the next */
#define DATA	   "{\"to\":\"somebody@example.com\",\"subject\":\"hello\",\"attempt\":1}"
#define TIME_ARG   "%"
#define JID_ARG	   "@"
#define SCRIPT_ARG "$"
#define COUNT_ARG  "#"
#define LIMIT_ARG  "^"
#define DATA_ARG   "~"
#define DATA_BYTES 80

struct step {
	const char *name;    /* NULL if it only prepares */
	const char *command; /* words; JID_ARG, TIME_ARG and SCRIPT_ARG are the jid, the time and
				the SHA-1, LIMIT_ARG a list with the limit of the job, and DATA_ARG
				data that only this job has. COUNT_ARG is JOBS, for a single call
				about all jobs */
	double wait;	     /* seconds before it */
};

static const struct step steps[] = {
	{ "put", "PUT client queue @ Klass " DATA " 0", 0 },
	{ "get", "GET @", 0 },
	{ "peek", "PEEK queue 1", 0 },
	{ "pop", "POP queue worker 1", 0 },
	{ "heartbeat", "HEARTBEAT @ worker", 0 },
	{ "retry", "RETRY @ queue worker 0", 0 },
	{ NULL, "POP queue worker 1", 0 },
	{ "fail", "FAIL @ worker group message", 0 },
	{ "unfail", "UNFAIL queue group 1", 0 },
	{ NULL, "POP queue worker 1", 0 },
	{ "complete", "COMPLETE @ worker queue " DATA, 0 },
	{ "put again", "PUT client queue @ Klass " DATA " 0", 0 },
	{ "cancel", "CANCEL @", 0 },

	{ "put with unique args", "PUT client queue @ Klass ~ 0 unique args", 0 },
	{ "put that finds its args", "PUT client queue other Klass ~ 0 unique args", 0 },
	{ "pop with unique args", "POP queue worker 1", 0 },
	{ "complete with unique args", "COMPLETE @ worker queue ~ next queue", 0 },
	{ NULL, "CANCEL @", 0 },
	{ "put with a unique key", "PUT client queue @ Klass " DATA " 0 unique @", 0 },
	{ NULL, "CANCEL @", 0 },

	{ "put with a delay", "PUT client queue @ Klass " DATA " 60", 0 },
	{ "pop what is due", "POP queue worker 1", 120 },
	{ NULL, "CANCEL @", 0 },

	{ "put with tags", "PUT client queue @ Klass " DATA " 0 tags [\"a\",\"b\"]", 0 },
	{ "untag", "TAG remove @ b", 0 },
	{ "tag", "TAG add @ b", 0 },
	{ NULL, "POP queue worker 1", 0 },
	{ NULL, "POP queue worker 1", 120 }, /* warns its owner */
	{ "pop what was locked", "POP queue worker 1", 20 },
	{ NULL, "CANCEL @", 0 },

	{ NULL, "PUT client queue @ Klass " DATA " 0", 0 },
	{ "pop of many", "POP queue worker #", 0 },
	{ NULL, "CANCEL @", 0 },

	{ "put by QLESS", "QLESS put % client queue @ Klass " DATA " 0", 0 },
	{ NULL, "CANCEL @", 0 },
	{ "put by EVALSHA", "EVALSHA $ 0 put % client queue @ Klass " DATA " 0", 0 },
	{ "pop by EVALSHA", "EVALSHA $ 0 pop % queue worker 1", 0 },
	{ "heartbeat by EVALSHA", "EVALSHA $ 0 heartbeat % @ worker", 0 },
	{ "complete by EVALSHA", "EVALSHA $ 0 complete % @ worker queue " DATA, 0 },

	{ NULL, "LIMIT.SET domain:* RATE 1000000 PER 1 BURST 1000000", 0 },
	{ "put with a limit", "PUT client limited @ Klass " DATA " 0 limits ^", 0 },
	{ "pop with a limit", "POP limited worker 1", 0 },
	{ "complete with a limit", "COMPLETE @ worker limited " DATA, 0 },
};

#define STEPS (sizeof steps / sizeof steps[0])

/* The arguments of all calls of a step, made before the first is measured. */
struct made_request {
	struct qless_str argv[ARGS_MAX];
	int argc;
	double now;
	char jid[JID_BYTES + 1];
	char now_text[NOW_BYTES];
	char limit[NAME_BYTES];
	char data[DATA_BYTES];
};

static struct native_fixture fixture;
static struct made_request requests[JOBS];
static char sha[SCRIPT_SHA_BYTES + 1];
static char count[NUM_MAX];

/* Unity needs both. */
void setUp(void)
{
}

void tearDown(void)
{
}

/* Instructions are counted in this function and in its callees. */
void budget_measure(unsigned calls);

__attribute__((noinline)) void budget_measure(unsigned calls)
{
	for (unsigned i = 0; i < calls; i++) {
		fixture.now = requests[i].now;
		call_run_argv(&fixture.call, requests[i].argv, requests[i].argc);
		buf_clear(&fixture.events);
	}
}

static void prepare(struct made_request *r, const char *command, unsigned i, double now)
{
	snprintf(r->jid, sizeof r->jid, "%08x%024x", i * 2654435761u, i);
	snprintf(r->now_text, sizeof r->now_text, "%.3f", now);
	snprintf(r->limit, sizeof r->limit, "[\"domain:%u\"]", i % NAMES);
	snprintf(r->data, sizeof r->data,
		 "{\"to\":\"someone@example.com\",\"subject\":\"hello\",\"attempt\":%u}", 1000 + i);
	r->now = now;
	r->argc = 0;
	for (const char *word = command; *word != '\0'; word += strspn(word, " ")) {
		struct qless_str arg = str_make(word, strcspn(word, " "));

		word += arg.len;
		if (str_equal(arg, STR(JID_ARG)))
			arg = str_make(r->jid, JID_BYTES);
		else if (str_equal(arg, STR(TIME_ARG)))
			arg = str_from(r->now_text);
		else if (str_equal(arg, STR(SCRIPT_ARG)))
			arg = str_from(sha);
		else if (str_equal(arg, STR(COUNT_ARG)))
			arg = str_from(count);
		else if (str_equal(arg, STR(LIMIT_ARG)))
			arg = str_from(r->limit);
		else if (str_equal(arg, STR(DATA_ARG)))
			arg = str_from(r->data);
		r->argv[r->argc++] = arg;
	}
}

/* A measured call must have succeeded and found something. */
static void check_reply(const struct step *step)
{
	static const char *const bad[] = { "-", "*0", "*-1", "$-1", "$2\r\n" };
	const char *reply = buf_cstr(&fixture.call.reply);

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		if (strncmp(reply, bad[i], strlen(bad[i])) == 0) {
			fprintf(stderr, "%s: %s\n", step->command, reply);
			exit(1);
		}
	}
}

int main(void)
{
	double now = 1700000000;

	snprintf(count, sizeof count, "%d", JOBS);
	native_setup(&fixture);
	databases_set_limits(fixture.call.env.databases,
			     &(struct databases_limits){ .engine = { .is_strict = true },
							 .metered_classes = METER_CLASSES_DEFAULT,
							 .max_json_depth = JSON_DEPTH_MAX });
	fixture.call.env.scripts = scripts_new(1, NULL);
	scripts_compute_sha(STR(LUATEXT_CLASSIC), sha);
	CALL(&fixture.call, "SCRIPT", "LOAD", LUATEXT_CLASSIC);
	for (size_t s = 0; s < STEPS; s++) {
		now += steps[s].wait;
		for (unsigned i = 0; i < JOBS; i++)
			prepare(&requests[i], steps[s].command, i, now += CALL_STEP);
		if (steps[s].name != NULL) {
			budget_measure(strstr(steps[s].command, COUNT_ARG) != NULL ? 1 : JOBS);
			check_reply(&steps[s]);
			printf("%s\n", steps[s].name);
		} else {
			for (unsigned i = 0; i < JOBS; i++) {
				fixture.now = requests[i].now;
				call_run_argv(&fixture.call, requests[i].argv, requests[i].argc);
			}
			buf_clear(&fixture.events);
		}
	}
	scripts_free(fixture.call.env.scripts);
	native_teardown(&fixture);
	return 0;
}
