#include "server/figures.h"

#include <math.h>

#include "command/scripts.h"
#include "journal/journal.h"
#include "server/latency.h"
#include "server/member.h"
#include "server/persist.h"
#include "server/pubsub.h"
#include "server/push.h"
#include "server/queues.h"
#include "server/server_int.h"
#include "server/acl_log.h"
#include "server/slowlog.h"
#include "server/tls.h"
#include "server/tls_session.h"
#include "sys/log.h"
#include "sys/memory.h"
#include "sys/process.h"
#include "util/num.h"

enum figure_form {
	FORM_WHOLE,
	FORM_BYTES,  /* a whole number, and a second line <name>_human */
	FORM_RATIO,  /* with two decimals */
	FORM_MICROS, /* with six */
	FORM_ANY,    /* with as many as there are */
};

enum figure_type {
	GAUGE,
	COUNTER,
};

struct figure {
	const char *info;
	const char *metric;
	const char *help;
	double scale;
	enum figures_group group;
	enum figure_form form;
	enum figure_type type;
};

static const struct figure figures[] = {
#define FIGURE(group, info, form, metric, type, scale, value, help) \
	{ info, metric, help, scale, FIGURES_##group, FORM_##form, type },
#include "server/figures.def"
#undef FIGURE
};
#define FIGURE_COUNT (sizeof figures / sizeof figures[0])

/* Sources of the figures besides the server itself. Each part is read only if a group needs it. */
struct figures_input {
	struct {
		size_t normal, pubsub, monitors, held;
		size_t max_input, max_output;
	} clients;
	size_t tls_clients;
	struct memory_figures memory;
	struct persist_info persist;
	struct process_usage usage;
	struct queues_totals queues;
	struct push_figures push;
};

static double ratio(uint64_t above, uint64_t below)
{
	return below != 0 ? (double)above / (double)below : 0;
}

static void read_clients(struct server *s, struct figures_input *in)
{
	struct conn *c;

	TAILQ_FOREACH(c, &s->conns.all, all) {
		in->clients.pubsub += c->client.session.subscribed;
		in->clients.monitors += c->client.is_monitor;
		in->clients.normal +=
			!c->client.session.subscribed && !c->client.is_monitor && c->http == NULL;
		in->clients.held += c->state == CONN_HELD;
		if (c->in.len > in->clients.max_input)
			in->clients.max_input = c->in.len;
		if (c->client.out.len > in->clients.max_output)
			in->clients.max_output = c->client.out.len;
	}
}

static void read_tls(struct server *s, struct figures_input *in)
{
	struct conn *c;

	TAILQ_FOREACH(c, &s->conns.all, all)
		in->tls_clients += tls_session_version(&c->transport) != NULL;
}

static void read_group(struct server *s, enum figures_group group, struct figures_input *in)
{
	switch (group) {
	case FIGURES_CLIENTS:
		read_clients(s, in);
		break;
	case FIGURES_TLS:
		read_tls(s, in);
		break;
	case FIGURES_MEMORY:
		memory_read(&in->memory);
		break;
	case FIGURES_LOADING:
	case FIGURES_LOG:
		persist_get_info(s, &in->persist);
		break;
	case FIGURES_STATS:
		push_get_figures(s, &in->push);
		break;
	case FIGURES_CPU:
		process_usage_read(&in->usage);
		break;
	case FIGURES_QUEUES:
		queues_sum(s, &in->queues);
		break;
	default:
		break;
	}
}

static bool is_present(const struct server *s, enum figures_group group)
{
	switch (group) {
	case FIGURES_LOADING:
		return s->loading;
	case FIGURES_LOG:
		return persist_is_loaded(s);
	default:
		return true;
	}
}

static void read_values(struct server *s, const struct figures_input *f,
			double values[FIGURE_COUNT])
{
	size_t i = 0;

#define FIGURE(group, info, form, metric, type, scale, value, help) values[i++] = (value);
#include "server/figures.def"
#undef FIGURE
}

void figures_append_human(struct buf *out, const char *name, double bytes)
{
	static const char units[] = "BKMGTP";
	int unit = 0;

	while (bytes >= 1024 && unit < 5) {
		bytes /= 1024;
		unit++;
	}
	buf_printf(out, "%s:%.*f%c\r\n", name, unit == 0 ? 0 : 2, bytes, units[unit]);
}

static void append_info(const struct figure *figure, double value, struct buf *out)
{
	char name[64];

	switch (figure->form) {
	case FORM_WHOLE:
		buf_printf(out, "%s:%.0f\r\n", figure->info, value);
		break;
	case FORM_BYTES:
		buf_printf(out, "%s:%.0f\r\n", figure->info, value);
		snprintf(name, sizeof name, "%s_human", figure->info);
		figures_append_human(out, name, value);
		break;
	case FORM_RATIO:
		buf_printf(out, "%s:%.2f\r\n", figure->info, value);
		break;
	case FORM_MICROS:
		buf_printf(out, "%s:%.6f\r\n", figure->info, value);
		break;
	case FORM_ANY:
		buf_printf(out, "%s:%.14g\r\n", figure->info, value);
		break;
	}
}

void figures_append_info(struct server *s, enum figures_group group, struct buf *out)
{
	struct figures_input in = { 0 };
	double values[FIGURE_COUNT];

	if (!is_present(s, group))
		return;
	read_group(s, group, &in);
	read_values(s, &in, values);
	for (size_t i = 0; i < FIGURE_COUNT; i++) {
		if (figures[i].group == group)
			append_info(&figures[i], values[i], out);
	}
}

void figures_append_value(struct buf *out, double value)
{
	char text[NUM_MAX + 1];
	size_t len;

	if (value >= 0 && value < 1e15 && value == floor(value))
		len = num_format_u64(text, (uint64_t)value);
	else
		len = num_format_g14(text, value);
	text[len++] = '\n';
	buf_append(out, text, len);
}

void figures_append_metrics(struct server *s, struct buf *out)
{
	static const char *const types[] = { [GAUGE] = "gauge", [COUNTER] = "counter" };
	struct figures_input in = { 0 };
	double values[FIGURE_COUNT];

	for (enum figures_group group = 0; group < FIGURES_NONE; group++)
		read_group(s, group, &in);
	read_values(s, &in, values);
	for (size_t i = 0; i < FIGURE_COUNT; i++) {
		const struct figure *figure = &figures[i];

		if (!is_present(s, figure->group))
			continue;
		buf_printf(out,
			   "# HELP qlessd_%s %s (%s in INFO).\n# TYPE qlessd_%s %s\nqlessd_%s ",
			   figure->metric, figure->help, figure->info, figure->metric,
			   types[figure->type], figure->metric);
		figures_append_value(out, values[i] * figure->scale);
	}
}
