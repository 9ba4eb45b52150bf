#include "server/push_metrics.h"

#include <string.h>

#include "push/circuit.h"
#include "server/metrics_text.h"
#include "server/push.h"
#include "server/server_int.h"

struct family {
	const char *name;
	const char *type;
	const char *help;
	double (*value)(const struct push_status *status);
};

static double open_of(const struct push_status *status)
{
	return strcmp(status->state, circuit_state_name(CIRCUIT_OPEN)) == 0;
}

static double running_of(const struct push_status *status)
{
	return (double)status->running;
}

static double failures_of(const struct push_status *status)
{
	return (double)status->failures;
}

static double sent_of(const struct push_status *status)
{
	return (double)status->sent;
}

static double completed_of(const struct push_status *status)
{
	return (double)status->completed;
}

static double retried_of(const struct push_status *status)
{
	return (double)status->retried;
}

static double failed_of(const struct push_status *status)
{
	return (double)status->failed;
}

static const struct family families[] = {
	{ "endpoint_open", "gauge", "Whether the endpoint is left alone because it does not answer",
	  open_of },
	{ "endpoint_running_jobs", "gauge", "Jobs that are posted to the endpoint now",
	  running_of },
	{ "endpoint_failures", "gauge", "Requests in a row that were not answered, or badly",
	  failures_of },
	{ "endpoint_sent_total", "counter", "Requests to the endpoint", sent_of },
	{ "endpoint_completed_total", "counter", "Jobs that the endpoint completed", completed_of },
	{ "endpoint_retried_total", "counter",
	  "Jobs that the endpoint did not answer, or gave back", retried_of },
	{ "endpoint_failed_total", "counter",
	  "Jobs that the endpoint failed, or that were not JSON", failed_of },
};

struct samples {
	const struct family *family;
	struct buf *out;
};

static void append_sample(void *arg, unsigned db, struct qless_str name,
			  const struct push_status *status)
{
	const struct samples *samples = arg;
	struct metrics_series series = {
		.metric = samples->family->name, .label = "endpoint", .text = name, .db = db
	};

	metrics_append_sample(samples->out, &series, "", samples->family->value(status));
}

void push_metrics_append(struct server *s, struct buf *out)
{
	if (s->push == NULL)
		return;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		struct samples samples = { &families[i], out };

		metrics_append_head(out, families[i].name, families[i].type, families[i].help);
		push_each(s, append_sample, &samples);
	}
}
