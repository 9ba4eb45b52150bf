#include "run/environment.h"

#include <stdlib.h>
#include <string.h>

#include "util/mem.h"
#include "util/num.h"

/* Prefixes of variables that no program gets. */
static const struct qless_str dropped[] = {
	STR_INIT("QLESS_"),
	/* Passwords. */
	STR_INIT("QLESSCLI_AUTH="),
	STR_INIT("REDISCLI_AUTH="),
	STR_INIT("QLESSD_PASSWORD="),
	/* A program is not the service. */
	STR_INIT("NOTIFY_SOCKET="),
	STR_INIT("WATCHDOG_PID="),
	STR_INIT("WATCHDOG_USEC="),
	STR_INIT("LISTEN_PID="),
	STR_INIT("LISTEN_FDS="),
	STR_INIT("LISTEN_FDNAMES="),
};

/* The address of the server, which may have a password before the host. */
#define ADDRESS STR("QLESSD_URL=")

static bool is_dropped(const char *variable)
{
	if (str_starts_with(str_from(variable), ADDRESS) && strchr(variable, '@') != NULL)
		return true;
	for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++) {
		if (str_starts_with(str_from(variable), dropped[i]))
			return true;
	}
	return false;
}

static void add(struct environment *e, char *variable)
{
	e->variables = mem_grow(e->variables, &e->cap, e->count + 2, sizeof *e->variables);
	e->variables[e->count++] = variable;
	e->variables[e->count] = NULL;
}

void environment_init(struct environment *e, char **from)
{
	*e = (struct environment){ 0 };
	for (; *from != NULL; from++) {
		if (!is_dropped(*from))
			add(e, *from);
	}
	e->inherited = e->count;
	e->variables = mem_grow(e->variables, &e->cap, e->count + 1, sizeof *e->variables);
	e->variables[e->count] = NULL;
}

static void drop_job(struct environment *e)
{
	while (e->count > e->inherited)
		free(e->variables[--e->count]);
	e->variables[e->count] = NULL;
}

void environment_done(struct environment *e)
{
	drop_job(e);
	free(e->variables);
}

struct writer {
	struct environment *e;
	size_t value_max;
	struct buf omitted;
};

static void set(struct writer *w, const char *name, struct qless_str value)
{
	struct buf text = BUF_INIT(BUF_NO_MAX);

	if (value.len > w->value_max || memchr(value.ptr, '\0', value.len) != NULL) {
		buf_printf(&w->omitted, "%s%s", w->omitted.len != 0 ? " " : "", name);
		return;
	}
	buf_printf(&text, "%s=", name);
	buf_append_str(&text, value);
	add(w->e, mem_dup(buf_data(&text), text.len));
	buf_done(&text);
}

static void set_number(struct writer *w, const char *name, int64_t value)
{
	char text[NUM_MAX];
	size_t len = num_format_i64(text, value);

	set(w, name, str_make(text, len));
}

static void set_job(struct writer *w, const struct job *job)
{
	set(w, "QLESS_JID", buf_str(&job->jid));
	set(w, "QLESS_CLASS", buf_str(&job->klass));
	set(w, "QLESS_QUEUE", buf_str(&job->queue));
	set(w, "QLESS_DATA", buf_str(&job->data));
	set(w, "QLESS_TAGS", job->tags);
	set_number(w, "QLESS_PRIORITY", job->priority);
	set_number(w, "QLESS_ATTEMPT", job_attempt(job));
	set_number(w, "QLESS_RETRIES", job->retries);
	set_number(w, "QLESS_RETRIES_LEFT", job->remaining);
	set_number(w, "QLESS_LOCK", (int64_t)job->lock);
}

void environment_set_job(struct environment *e, const struct job *job, const char *scratch,
			 struct qless_str worker, size_t value_max)
{
	struct writer w = { .e = e, .value_max = value_max, .omitted = BUF_INIT(BUF_NO_MAX) };

	drop_job(e);
	if (job != NULL)
		set_job(&w, job);
	set(&w, "QLESS_WORKER", worker);
	if (scratch != NULL) {
		set(&w, "QLESS_SCRATCH", str_from(scratch));
		set(&w, "TMPDIR", str_from(scratch));
	}
	w.value_max = ENVIRONMENT_VALUE_MAX;
	if (w.omitted.len != 0)
		set(&w, "QLESS_OMITTED", buf_str(&w.omitted));
	buf_done(&w.omitted);
}

const char *environment_get(const struct environment *e, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = e->inherited; i < e->count; i++) {
		if (strncmp(e->variables[i], name, len) == 0 && e->variables[i][len] == '=')
			return e->variables[i] + len + 1;
	}
	return NULL;
}
