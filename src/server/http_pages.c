#include "server/http_pages.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/conn_int.h"
#include "server/http_answer.h"
#include "server/member.h"
#include "server/metrics.h"
#include "server/persist.h"
#include "server/server_int.h"
#include "util/mem.h"

/* Number of pages of metrics that are sent at once. Each holds figures of up to http-max-queues
 * queues. */
#define SCRAPES_MAX 4
/* Bytes of a portion of a page of metrics. Making one takes well below a millisecond. */
#define PORTION_BYTES ((size_t)64 * 1024)
/* Microseconds without a new portion after which a client loses its place to another one. */
#define STALL_US INT64_C(1000000)

struct scrape {
	struct conn *conn;
	int64_t portion_us; /* monotonic: when the last portion was made */
	struct metrics *metrics;
	TAILQ_ENTRY(scrape) link;
};

struct http_pages {
	TAILQ_HEAD(, scrape) scrapes; /* the first one has waited longest for its next portion */
	size_t scrape_count;
};

struct http_pages *http_pages_new(void)
{
	struct http_pages *p = mem_zalloc(sizeof *p);

	TAILQ_INIT(&p->scrapes);
	return p;
}

void http_pages_free(struct http_pages *p)
{
	assert(p == NULL || TAILQ_EMPTY(&p->scrapes));
	free(p);
}

/*
 * Short pages
 */

static enum dispatch_result reply_text(struct conn *c, int status, const char *text)
{
	chain_append_str(http_reply(c), str_from(text));
	chain_append_str(http_reply(c), STR("\n"));
	http_reply_field(c, STR("Cache-Control"), STR("no-store"));
	http_reply_end(c, status, HTTP_TYPE_TEXT);
	return DISPATCH_DONE;
}

static enum dispatch_result reply_health(struct conn *c)
{
	return reply_text(c, 200, "ok");
}

static enum dispatch_result reply_ready(struct conn *c)
{
	const struct server *s = c->client.server;
	const char *reason = NULL;
	char text[512];

	if (s->stop.is_begun)
		reason = "stopping";
	else if (s->loading)
		reason = "loading";
	else if (s->member != NULL && !member_leads(s))
		reason = "another server of the group leads";
	else if (server_is_out_of_memory(s))
		reason = "out of memory: used memory is above maxmemory, jobs are refused";
	else if (sync_watch_is_late(s)) {
		snprintf(
			text, sizeof text,
			"the disk is slow: the oldest unsynced record is %.1f seconds old, %s wait",
			(double)sync_watch_age_us(s) / 1e6,
			sync_watch_must_hold(s) ? "changes" : "replies");
		reason = text;
	} else if (persist_complaint(s) != NULL) {
		snprintf(text, sizeof text, "the log cannot be written, changes are refused: %s",
			 persist_complaint(s));
		reason = text;
	}
	return reply_text(c, reason != NULL ? 503 : 200, reason != NULL ? reason : "ready");
}

/*
 * Metrics
 */

static void scrape_free(struct http_pages *p, struct scrape *scrape)
{
	TAILQ_REMOVE(&p->scrapes, scrape, link);
	p->scrape_count--;
	metrics_free(scrape->metrics);
	free(scrape);
}

static void on_scraper_gone(struct conn *c)
{
	struct http_pages *p = c->client.server->http->pages;
	struct scrape *scrape = TAILQ_FIRST(&p->scrapes);

	while (scrape->conn != c)
		scrape = TAILQ_NEXT(scrape, link);
	scrape_free(p, scrape);
}

/* Sends the next portion. Returns false at the end of the page. */
static bool send_portion(struct scrape *scrape)
{
	struct conn *c = scrape->conn;
	struct server *s = c->client.server;
	struct buf text = BUF_INIT(BUF_NO_MAX);
	int64_t begin_us = stats_begin_latency(s);
	bool more = metrics_append(scrape->metrics, &text, PORTION_BYTES);

	scrape->portion_us = s->clocks.mono_us;
	http_stream_write(c, buf_str(&text));
	buf_done(&text);
	stats_end_latency(s, "http-metrics", begin_us);
	if (more)
		return true;
	scrape_free(s->http->pages, scrape);
	http_stream_end(c);
	return false;
}

static bool has_room(const struct scrape *scrape)
{
	return http_stream_backlog(scrape->conn) < PORTION_BYTES;
}

/* Whether the client does not read its page. A page that waits for the log is our own fault. */
static bool is_stalled(const struct scrape *scrape)
{
	const struct server *s = scrape->conn->client.server;

	return !has_room(scrape) && !conn_has_held_output(scrape->conn) &&
	       s->clocks.mono_us - scrape->portion_us >= STALL_US;
}

/* Returns whether there is a place for a page. If all are taken, closes the connection whose client
 * has not read for the longest time. */
static bool make_place(struct server *s)
{
	struct scrape *scrape;

	if (s->http->pages->scrape_count < SCRAPES_MAX)
		return true;
	TAILQ_FOREACH(scrape, &s->http->pages->scrapes, link) {
		if (!is_stalled(scrape))
			continue;
		s->stats.http_disconnects++;
		conn_kill(scrape->conn, "it did not read its page of metrics, and another client "
					"wanted one");
		return true;
	}
	return false;
}

static enum dispatch_result reply_metrics(struct conn *c)
{
	static const struct http_stream_ops ops = { .gone = on_scraper_gone };
	const struct qless_str type = STR("text/plain; version=0.0.4; charset=utf-8");
	struct server *s = c->client.server;
	struct http_pages *p = s->http->pages;
	struct scrape *scrape;
	int64_t begin_us;

	http_reply_field(c, STR("Cache-Control"), STR("no-store"));
	if (c->http->is_head) {
		http_stream_begin(c, 200, type, &ops);
		http_stream_end(c);
		return DISPATCH_DONE;
	}
	if (!make_place(s)) {
		http_reply_field(c, STR("Retry-After"), STR("1"));
		http_refuse(c, 503, "BUSY", "too many requests for metrics at once");
		return DISPATCH_DONE;
	}
	begin_us = stats_begin_latency(s);
	scrape = mem_zalloc(sizeof *scrape);
	scrape->conn = c;
	scrape->metrics = metrics_new(s);
	stats_end_latency(s, "http-metrics", begin_us);
	TAILQ_INSERT_TAIL(&p->scrapes, scrape, link);
	p->scrape_count++;
	http_stream_begin(c, 200, type, &ops);
	return send_portion(scrape) ? DISPATCH_WAIT : DISPATCH_DONE;
}

bool http_pages_can_run(const struct server *s)
{
	const struct scrape *scrape;

	TAILQ_FOREACH(scrape, &s->http->pages->scrapes, link) {
		if (has_room(scrape))
			return true;
	}
	return false;
}

/* One portion in a turn: the pages take turns. */
void http_pages_go_on(struct server *s)
{
	struct http_pages *p = s->http->pages;
	struct scrape *scrape;

	TAILQ_FOREACH(scrape, &p->scrapes, link) {
		if (!has_room(scrape))
			continue;
		TAILQ_REMOVE(&p->scrapes, scrape, link);
		TAILQ_INSERT_TAIL(&p->scrapes, scrape, link);
		send_portion(scrape);
		return;
	}
}

/*
 * The pages
 */

static const struct page {
	struct qless_str path;
	enum dispatch_result (*handler)(struct conn *c);
} pages[] = {
	{ STR_INIT("/metrics"), reply_metrics },
	{ STR_INIT("/healthz"), reply_health },
	{ STR_INIT("/readyz"), reply_ready },
};

static const struct page *find_page(const struct http_target *target)
{
	for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
		if (str_equal(target->path, pages[i].path))
			return &pages[i];
	}
	return NULL;
}

bool http_pages_have(const struct http_target *target)
{
	return find_page(target) != NULL;
}

bool http_pages_run(struct conn *c, const struct http_request *r, enum dispatch_result *ret_result)
{
	const struct page *page = find_page(&r->target);

	if (page == NULL)
		return false;
	if (r->method == HTTP_METHOD_GET || r->method == HTTP_METHOD_HEAD) {
		*ret_result = page->handler(c);
		return true;
	}
	http_reply_field(c, STR("Allow"), STR("GET, HEAD"));
	http_refuse(c, 405, "BADMETHOD", "only GET and HEAD");
	*ret_result = DISPATCH_DONE;
	return true;
}
