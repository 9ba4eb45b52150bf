/*
 * Options. They are kept as the text that was set. The options that the engine uses are checked
 * when they are set, and also kept as numbers.
 */
#include "engine/settings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/due.h"
#include "engine/engine_int.h"
#include "engine/error.h"
#include "engine/event.h"
#include "engine/fair.h"
#include "engine/limit.h"
#include "engine/queue.h"
#include "engine/runtime.h"
#include "util/mem.h"
#include "util/num.h"

struct setting {
	struct qless_str name;
	struct qless_str text; /* the default */
	double value;
	size_t offset;	/* in struct settings; SIZE_MAX if the engine does not use it */
	bool is_listed; /* listings have it while it is not set, too */
	bool is_integer;
	/* Any text is accepted, because old logs may have it. What is no positive number is 0. */
	bool is_lenient;
	double min; /* see qless_option_range() */
};

#define FIELD(name) offsetof(struct settings, name)

/* Seconds. A lock that expires as soon as it is given would be handed out again and again. */
#define HEARTBEAT_MIN 0.001

/* In the order of listings. */
static const struct setting known[] = {
	{ STR_INIT("application"), STR_INIT("qless"), 0, SIZE_MAX, true, false, false, 0 },
	{ STR_INIT("grace-period"), STR_INIT("10"), 10, FIELD(grace_period), true, false, false,
	  0 },
	{ STR_INIT("stats-history"), STR_INIT("30"), 30, FIELD(stats_history), true, false, false,
	  0 },
	{ STR_INIT("jobs-history"), STR_INIT("604800"), 604800, FIELD(jobs_history), true, false,
	  false, 1 },
	{ STR_INIT("heartbeat"), STR_INIT("60"), 60, FIELD(heartbeat), true, false, false,
	  HEARTBEAT_MIN },
	{ STR_INIT("jobs-history-count"), STR_INIT("50000"), 50000, FIELD(jobs_history_count), true,
	  true, false, 1 },
	{ STR_INIT("histogram-history"), STR_INIT("7"), 7, FIELD(histogram_history), true, false,
	  false, 0 },
	{ STR_INIT("max-job-history"), STR_INIT("100"), 100, FIELD(max_job_history), false, true,
	  false, 0 },
	{ STR_INIT("max-worker-age"), STR_INIT("86400"), 86400, FIELD(max_worker_age), false, false,
	  false, 1 },
	{ STR_INIT("failed-history"), STR_INIT("0"), 0, FIELD(failed_history), false, false, true,
	  0 },
	{ STR_INIT("failed-history-count"), STR_INIT("0"), 0, FIELD(failed_history_count), false,
	  true, true, 0 },
};

#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

static const struct qless_str heartbeat_suffix = STR_INIT("-heartbeat");
static const struct qless_str concurrency_suffix = STR_INIT("-max-concurrency");
static const struct qless_str order_suffix = STR_INIT("-order");
static const struct qless_str runtime_suffix = STR_INIT("-runtime");
static const struct qless_str start_suffix = STR_INIT("-start-timeout");
static const struct qless_str retain_suffix = STR_INIT("-retain");

static const struct setting *find_known(struct qless_str name)
{
	size_t i;

	for (i = 0; i < KNOWN_COUNT; i++) {
		if (str_equal(known[i].name, name))
			return &known[i];
	}
	return NULL;
}

static void set_number(struct settings *s, const struct setting *setting, double value)
{
	if (setting->offset != SIZE_MAX)
		*(double *)((char *)s + setting->offset) = value;
}

void settings_init(struct settings *s)
{
	size_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < KNOWN_COUNT; i++)
		set_number(s, &known[i], known[i].value);
}

static struct qless_str option_name(const struct option *option)
{
	return str_make(option->name, option->name_len);
}

static struct qless_str option_value(const struct option *option)
{
	return str_make(option->value, option->value_len);
}

static void option_done(struct option *option)
{
	free(option->name);
	free(option->value);
}

void settings_done(struct settings *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		option_done(&s->options[i]);
	free(s->options);
}

/* The index of the option, or where it would be inserted. */
static size_t find_place(const struct settings *s, struct qless_str name)
{
	size_t low = 0;
	size_t high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (str_compare(option_name(&s->options[mid]), name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct option *settings_find(const struct settings *s, struct qless_str name)
{
	size_t i = find_place(s, name);

	return i < s->count && str_equal(option_name(&s->options[i]), name) ? &s->options[i] : NULL;
}

/* Whether the name ends in the suffix; if so *ret is the part before it. */
static bool strip_suffix(struct qless_str name, struct qless_str suffix, struct qless_str *ret)
{
	if (name.len < suffix.len ||
	    memcmp(name.ptr + name.len - suffix.len, suffix.ptr, suffix.len) != 0)
		return false;
	*ret = str_make(name.ptr, name.len - suffix.len);
	return true;
}

double settings_queue_number(const struct qless *q, struct qless_str queue, struct qless_str suffix)
{
	const struct option *option;
	struct buf name = BUF_INIT(BUF_NO_MAX);
	double value = NAN;

	if (q->settings.count == 0)
		return value;
	buf_append_str(&name, queue);
	buf_append_str(&name, suffix);
	option = settings_find(&q->settings, buf_str(&name));
	if (option != NULL)
		num_parse_lua(option_value(option), &value);
	buf_done(&name);
	return value;
}

static bool is_fair(struct qless_str value)
{
	return str_equal(value, STR("fair"));
}

bool settings_is_fair(const struct qless *q, struct qless_str queue)
{
	const struct option *option;
	struct buf name = BUF_INIT(BUF_NO_MAX);
	bool found;

	if (q->settings.count == 0)
		return false;
	buf_append_str(&name, queue);
	buf_append_str(&name, order_suffix);
	option = settings_find(&q->settings, buf_str(&name));
	found = option != NULL && is_fair(option_value(option));
	buf_done(&name);
	return found;
}

static double runtime_of(struct qless_str value)
{
	double seconds;

	return num_parse_lua(value, &seconds) && isfinite(seconds) && seconds > 0 ? seconds : 0;
}

/* The text of an option of a queue; empty if it is not set. */
static struct qless_str read_text(const struct qless *q, struct qless_str queue,
				  struct qless_str suffix)
{
	const struct option *option;
	struct buf name = BUF_INIT(BUF_NO_MAX);

	if (q->settings.count == 0)
		return STR("");
	buf_append_str(&name, queue);
	buf_append_str(&name, suffix);
	option = settings_find(&q->settings, buf_str(&name));
	buf_done(&name);
	return option != NULL ? option_value(option) : STR("");
}

double settings_runtime(const struct qless *q, struct qless_str queue)
{
	return runtime_of(read_text(q, queue, runtime_suffix));
}

double settings_start_timeout(const struct qless *q, struct qless_str queue)
{
	return runtime_of(read_text(q, queue, start_suffix));
}

static double retain_of(struct qless_str value)
{
	double seconds;

	if (str_equal(value, STR("ack")))
		return INFINITY;
	return num_parse_lua(value, &seconds) && isfinite(seconds) && seconds >= 0 ? seconds : NAN;
}

double settings_retain(const struct qless *q, struct qless_str queue)
{
	return retain_of(read_text(q, queue, retain_suffix));
}

/* Apply an option that may be the order of a queue, its runtime, its time to start, or how long its
 * complete jobs are retained. */
static void apply_text(struct qless *q, struct qless_str name, struct qless_str value)
{
	struct qless_str queue_text;
	struct queue *queue = NULL;

	if (strip_suffix(name, order_suffix, &queue_text))
		queue = queue_find(q, queue_text);
	if (queue != NULL)
		queue_set_fair(q, queue, is_fair(value));
	queue = NULL;
	if (strip_suffix(name, runtime_suffix, &queue_text))
		queue = queue_find(q, queue_text);
	if (queue != NULL)
		queue->runtime = runtime_of(value);
	queue = NULL;
	if (strip_suffix(name, start_suffix, &queue_text))
		queue = queue_find(q, queue_text);
	if (queue != NULL)
		queue->start_timeout = runtime_of(value);
	queue = NULL;
	if (strip_suffix(name, retain_suffix, &queue_text))
		queue = queue_find(q, queue_text);
	if (queue != NULL)
		queue->retain = retain_of(value);
}

/* Apply the value of an option; NAN means that it is no longer set. */
static void apply(struct qless *q, struct qless_str name, double value)
{
	const struct setting *setting = find_known(name);
	struct qless_str queue_text;
	struct queue *queue;

	if (setting != NULL)
		set_number(&q->settings, setting, isnan(value) ? setting->value : value);
	if (strip_suffix(name, heartbeat_suffix, &queue_text)) {
		queue = queue_find(q, queue_text);
		if (queue != NULL)
			queue->heartbeat = value;
	}
	if (strip_suffix(name, concurrency_suffix, &queue_text)) {
		queue = queue_find(q, queue_text);
		if (queue != NULL) {
			queue->max_concurrency = value;
			queue_wake(q, queue);
		}
	}
}

struct qless_str qless_option_name(size_t i)
{
	return i < KNOWN_COUNT ? known[i].name : str_make(NULL, 0);
}

struct qless_str qless_queue_option_name(size_t i)
{
	const struct qless_str *const suffixes[] = { &heartbeat_suffix, &concurrency_suffix,
						     &order_suffix,	&runtime_suffix,
						     &start_suffix,	&retain_suffix };

	if (i >= sizeof suffixes / sizeof *suffixes)
		return str_make(NULL, 0);
	return str_make(suffixes[i]->ptr + 1, suffixes[i]->len - 1); /* without its hyphen */
}

bool qless_option_range(struct qless_str name, double *ret_min, double *ret_max)
{
	const struct setting *setting = find_known(name);
	struct qless_str queue;
	double min = 0;

	if (setting != NULL && setting->offset != SIZE_MAX)
		min = setting->min;
	else if (strip_suffix(name, heartbeat_suffix, &queue))
		min = HEARTBEAT_MIN;
	else if (strip_suffix(name, runtime_suffix, &queue) ||
		 strip_suffix(name, start_suffix, &queue))
		min = RUNTIME_MIN;
	else if (!strip_suffix(name, concurrency_suffix, &queue) &&
		 !strip_suffix(name, retain_suffix, &queue))
		return false;
	*ret_min = min;
	*ret_max = NUMBER_MAX;
	return true;
}

/* Check a value. *ret_value is left alone for options that are free text. */
static int check_value(struct qless *q, struct qless_str name, struct qless_str text,
		       double *ret_value)
{
	const struct setting *setting = find_known(name);
	struct qless_str queue;
	bool is_count = strip_suffix(name, concurrency_suffix, &queue);
	bool is_number = is_count || strip_suffix(name, heartbeat_suffix, &queue) ||
			 (setting != NULL && setting->offset != SIZE_MAX);
	double value;

	if (!is_number)
		return 0;
	if (setting != NULL && setting->is_lenient) {
		*ret_value = runtime_of(text);
		return 0;
	}
	if (!num_parse_lua(text, &value) || !isfinite(value))
		return engine_fail_text(q, QLESS_OP_CONFIG_SET, QLESS_WHY_NO_NUMBER, "value", text);
	if ((is_count || (setting != NULL && setting->is_integer)) && value != floor(value))
		return engine_fail_text(q, QLESS_OP_CONFIG_SET, QLESS_WHY_NO_INTEGER, "value",
					text);
	if (q->limits.is_strict && fabs(value) > NUMBER_MAX)
		return engine_fail(q, (struct qless_error){
					      .operation = QLESS_OP_CONFIG_SET,
					      .reason = QLESS_WHY_OPTION,
					      .jid = name,
					      .detail = STR("from -1e+15 to 1e+15"),
					      .number = value,
				      });
	*ret_value = value;
	return 0;
}

static void store(struct settings *s, struct qless_str name, struct qless_str value)
{
	size_t i = find_place(s, name);
	struct option *option;

	if (settings_find(s, name) == NULL) {
		s->options = mem_grow(s->options, &s->cap, s->count + 1, sizeof(*s->options));
		memmove(s->options + i + 1, s->options + i, (s->count - i) * sizeof(*s->options));
		s->options[i] = (struct option){ .name = engine_dup(name), .name_len = name.len };
		s->count++;
	}
	assert(i < s->count);
	option = &s->options[i];
	free(option->value);
	option->value = engine_dup(value);
	option->value_len = value.len;
}

static int set(struct qless *q, struct qless_str name, struct qless_str value)
{
	const struct option *old;
	double number = NAN;
	int rc;

	if (limit_check_name(q, "name", name) < 0 || limit_check_data(q, "value", value) < 0)
		return engine_fail_during(q, QLESS_OP_CONFIG_SET);
	rc = check_value(q, name, value, &number);
	if (rc < 0)
		return rc;
	event_config_set(q, name, value);
	old = settings_find(&q->settings, name);
	if (old != NULL && str_equal(option_value(old), value))
		return 0;
	store(&q->settings, name, value);
	apply(q, name, number);
	apply_text(q, name, value);
	engine_changed(q);
	return 0;
}

int qless_config_set(struct qless *q, double now, struct qless_str name, struct qless_str value)
{
	return engine_begin(q, now) ? set(q, name, value) : QLESS_EBADARG;
}

/* Returns whether the option was set. */
static bool unset(struct qless *q, struct qless_str name)
{
	struct settings *s = &q->settings;
	size_t i;

	event_config_unset(q, name);
	if (settings_find(s, name) == NULL)
		return false;
	apply(q, name, NAN);
	apply_text(q, name, STR(""));
	i = find_place(s, name);
	assert(i < s->count && str_equal(option_name(&s->options[i]), name));
	option_done(&s->options[i]);
	s->count--;
	memmove(s->options + i, s->options + i + 1, (s->count - i) * sizeof(*s->options));
	engine_changed(q);
	return true;
}

int qless_config_unset(struct qless *q, double now, struct qless_str name)
{
	if (!engine_begin(q, now))
		return QLESS_EBADARG;
	if (limit_check_published(q, "name", &name, 1) < 0)
		return engine_fail_during(q, QLESS_OP_CONFIG_UNSET);
	unset(q, name);
	return 0;
}

static void append_concurrency_name(struct buf *out, struct qless_str queue)
{
	buf_append_str(out, queue);
	buf_append_str(out, concurrency_suffix);
}

int settings_set_concurrency(struct qless *q, struct qless_str queue, int64_t concurrency)
{
	struct buf name = BUF_INIT(BUF_NO_MAX);
	char number[NUM_MAX];
	int rc = 0;

	append_concurrency_name(&name, queue);
	if (concurrency != 0)
		rc = set(q, buf_str(&name), str_make(number, num_format_i64(number, concurrency)));
	else if (settings_find(&q->settings, buf_str(&name)) != NULL)
		unset(q, buf_str(&name));
	buf_done(&name);
	return rc;
}

bool settings_unset_concurrency(struct qless *q, struct qless_str queue)
{
	struct buf name = BUF_INIT(BUF_NO_MAX);
	bool was = false;

	append_concurrency_name(&name, queue);
	if (settings_find(&q->settings, buf_str(&name)) != NULL)
		was = unset(q, buf_str(&name));
	buf_done(&name);
	return was;
}

bool qless_config_get(const struct qless *q, struct qless_str name, struct qless_option *ret_option)
{
	const struct option *option = settings_find(&q->settings, name);
	const struct setting *setting = find_known(name);

	if (option != NULL) {
		*ret_option =
			(struct qless_option){ option_name(option), option_value(option), true };
		return true;
	}
	if (setting == NULL)
		return false;
	*ret_option = (struct qless_option){ setting->name, setting->text, false };
	return true;
}

/* The listed options first, then the others that are set, by name. */
bool qless_config_next(const struct qless *q, size_t *cursor, struct qless_option *ret_option)
{
	const struct settings *s = &q->settings;

	for (; *cursor < KNOWN_COUNT; (*cursor)++) {
		if (known[*cursor].is_listed) {
			qless_config_get(q, known[(*cursor)++].name, ret_option);
			return true;
		}
	}
	for (; *cursor - KNOWN_COUNT < s->count; (*cursor)++) {
		const struct option *option = &s->options[*cursor - KNOWN_COUNT];
		const struct setting *setting = find_known(option_name(option));

		if (setting != NULL && setting->is_listed)
			continue;
		*ret_option =
			(struct qless_option){ option_name(option), option_value(option), true };
		(*cursor)++;
		return true;
	}
	return false;
}
