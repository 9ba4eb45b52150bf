#include "server/latency.h"

#include "util/mem.h"

struct latency_monitor *latency_new(void)
{
	return mem_zalloc(sizeof(struct latency_monitor));
}

void latency_free(struct latency_monitor *m)
{
	if (m != NULL)
		latency_reset_all(m);
	free(m);
}

const struct latency_event *latency_find(const struct latency_monitor *m, struct qless_str name)
{
	for (unsigned i = 0; i < m->count; i++) {
		if (str_equal(str_from(m->events[i]->name), name))
			return m->events[i];
	}
	return NULL;
}

static struct latency_event *find_or_add(struct latency_monitor *m, const char *name)
{
	for (unsigned i = 0; i < m->count; i++) {
		if (m->events[i]->name == name || strcmp(m->events[i]->name, name) == 0)
			return m->events[i];
	}
	if (m->count == LATENCY_EVENTS)
		return NULL;
	m->events[m->count] = mem_zalloc(sizeof(struct latency_event));
	m->events[m->count]->name = name;
	return m->events[m->count++];
}

void latency_add(struct latency_monitor *m, const char *event, int64_t when_s, int64_t elapsed_ms)
{
	struct latency_event *e = find_or_add(m, event);
	struct latency_sample *last;

	if (e == NULL)
		return;
	if (elapsed_ms > e->max_ms)
		e->max_ms = elapsed_ms;
	last = &e->samples[(e->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES];
	if (e->count != 0 && last->when_s == when_s) {
		if (elapsed_ms > last->elapsed_ms)
			last->elapsed_ms = elapsed_ms;
		return;
	}
	e->samples[e->next] = (struct latency_sample){ .when_s = when_s, .elapsed_ms = elapsed_ms };
	e->next = (e->next + 1) % LATENCY_SAMPLES;
	if (e->count < LATENCY_SAMPLES)
		e->count++;
}

struct latency_sample latency_sample_at(const struct latency_event *e, unsigned index)
{
	return e->samples[(e->next + LATENCY_SAMPLES - e->count + index) % LATENCY_SAMPLES];
}

bool latency_reset(struct latency_monitor *m, struct qless_str name)
{
	for (unsigned i = 0; i < m->count; i++) {
		if (!str_equal(str_from(m->events[i]->name), name))
			continue;
		free(m->events[i]);
		m->events[i] = m->events[--m->count];
		return true;
	}
	return false;
}

unsigned latency_reset_all(struct latency_monitor *m)
{
	unsigned count = m->count;

	while (m->count != 0)
		free(m->events[--m->count]);
	return count;
}
