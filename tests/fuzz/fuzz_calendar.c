/*
 * Arbitrary bytes as a rule of a zone, a newline and a cron expression, and as a zone file. Each
 * gives a result or an error. Ticks must follow each other, and the last tick of a time must be the
 * one before the next.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calendar/cron.h"
#include "calendar/tzif.h"
#include "calendar/zone.h"
#include "util/buf.h"
#include "util/mem.h"

#define NOW   INT64_C(1795000000) /* 2026-11-18 */
#define TICKS 20

static void check_span(const struct zone *zone, int64_t at)
{
	struct zone_span span = zone_span_at(zone, at);

	assert(span.since <= at && at < span.until);
	assert(span.offset == zone->standard || span.offset == zone->daylight);
}

static void check_ticks(const struct cron *cron, const struct zone *zone, int64_t after)
{
	int64_t tick, next, last;

	if (!cron_next(cron, zone, after, &tick))
		return;
	for (int i = 0; i < TICKS && cron_next(cron, zone, tick, &next); i++) {
		assert(next > tick);
		assert(cron_last(cron, zone, after, next - 1, &last) && last == tick);
		check_span(zone, tick);
		tick = next;
	}
}

static void check_error(bool is_valid, struct buf *error)
{
	assert(is_valid == (error->len == 0));
	buf_clear(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Blocks of exactly these sizes: a sanitizer notices a read of the next byte. */
	const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t rule_len = newline != NULL ? (size_t)(newline - data) : size;
	size_t text_len = newline != NULL ? size - rule_len - 1 : 0;
	char *rule = mem_realloc_array(NULL, rule_len, 1);
	char *text = mem_realloc_array(NULL, text_len, 1);
	struct buf error = BUF_INIT(4096);
	struct zone zone = { 0 };
	struct qless_str found;
	struct cron cron;
	bool is_zone, is_cron;

	if (rule_len > 0)
		memcpy(rule, data, rule_len);
	if (text_len > 0)
		memcpy(text, newline + 1, text_len);
	is_zone = zone_parse(str_make(rule, rule_len), &zone, &error);
	check_error(is_zone, &error);
	is_cron = cron_parse(str_make(text, text_len), &cron, &error);
	check_error(is_cron, &error);
	check_span(&zone, NOW);
	if (is_cron) {
		check_ticks(&cron, &zone, NOW);
		check_ticks(&cron, &zone, INT64_MIN);
		check_ticks(&cron, &zone, ZONE_INSTANT_MAX - 100);
	}
	check_error(tzif_find_rule(str_make((const char *)data, size), NOW, &found, &error),
		    &error);
	buf_done(&error);
	free(rule);
	free(text);
	return 0;
}
