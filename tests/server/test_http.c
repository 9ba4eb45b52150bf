/*
 * The HTTP port: its answers, and whether /metrics is valid for Prometheus and has every figure of
 * INFO.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "peer.h"
#include "textfile.h"
#include "unit.h"
#include "util/buf.h"
#include "variable.h"
#include "wait.h"

#define LINE_MAX_BYTES 4096

/* Number of attempts to do something in time. */
#define ATTEMPTS 5

static struct qlessd q;
static struct peer *p;
static int http_port;
static struct buf page; /* the last reply: headers and body */

void setUp(void)
{
	buf_init(&page, BUF_NO_MAX);
}

void tearDown(void)
{
	peer_close_all();
	qlessd_stop(&q);
	buf_done(&page);
}

static void start_with(const char *option, const char *value)
{
	char port[16];

	http_port = qlessd_free_port();
	snprintf(port, sizeof port, "%d", http_port);
	QLESSD_START(&q, "--http-port", port, "--enable-debug-command", "yes", option, value);
	p = peer_connect(&q);
}

static void start(void)
{
	start_with("--timeout", "0");
}

/* Read until the other side closes. */
static const char *request(const char *text)
{
	struct peer *http = peer_connect_to("127.0.0.1", http_port);

	buf_clear(&page);
	/* The server may close before it has read all of a request that is too large. */
	peer_send_blindly(http, text, strlen(text));
	while (peer_gets_more(http)) {
		buf_append(&page, http->buf + http->start, http->end - http->start);
		http->start = http->end;
	}
	peer_close(http);
	return buf_cstr(&page);
}

/* HTTP/1.0: the body ends with the connection. */
static const char *get(const char *path)
{
	char text[256];

	snprintf(text, sizeof text, "GET %s HTTP/1.0\r\n\r\n", path);
	return request(text);
}

static const char *body_of(const char *reply)
{
	const char *end = strstr(reply, "\r\n\r\n");

	TEST_ASSERT_NOT_NULL(end);
	return end + 4;
}

static void assert_has(const char *reply, const char *text)
{
	TEST_ASSERT_NOT_NULL_MESSAGE(strstr(reply, text), reply);
}

static void only_the_paths_of_pages_have_pages(void)
{
	start();
	assert_has(get("/healthz"), " 200 OK\r\n");
	TEST_ASSERT_EQUAL_STRING("ok\n", body_of(buf_cstr(&page)));
	assert_has(get("/readyz"), " 200 OK\r\n");
	assert_has(get("/metrics"), " 200 OK\r\n");
	assert_has(buf_cstr(&page), "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
	assert_has(get("/metrics?name=x"), "\nqlessd_connected_clients 1\n");
	assert_has(get("/metric"), " 404 Not Found\r\n");
	assert_has(get("/metrics/"), " 404 Not Found\r\n");
	assert_has(get("/%00"), " 404 Not Found\r\n");
}

static void only_get_and_head_are_allowed(void)
{
	start();
	assert_has(request("POST /metrics HTTP/1.0\r\nContent-Length: 1\r\n\r\nx"), " 405 ");
	assert_has(buf_cstr(&page), "Allow: GET, HEAD\r\n");
	assert_has(request("DELETE /healthz HTTP/1.0\r\n\r\n"), " 405 ");
	assert_has(request("HEAD /healthz HTTP/1.0\r\n\r\n"), " 200 OK\r\n");
	TEST_ASSERT_EQUAL_STRING("", body_of(buf_cstr(&page)));
	assert_has(request("HEAD /metrics HTTP/1.0\r\n\r\n"), " 200 OK\r\n");
	TEST_ASSERT_EQUAL_STRING("", body_of(buf_cstr(&page)));
}

static void large_requests_are_refused(void)
{
	char *text = malloc(70000);

	start();
	memset(text, 'x', 70000);
	memcpy(text, "GET /healthz HTTP/1.0\r\nX: ", 26);
	memcpy(text + 60000, "\r\n\r\n", 5);
	TEST_ASSERT_NULL(strstr(request(text), " 200 "));
	memcpy(text, "POST /healthz HTTP/1.0\r\nContent-Length: 60000\r\n\r\n", 49);
	text[60000] = '\0';
	TEST_ASSERT_NULL(strstr(request(text), " 200 "));
	free(text);
	ASK(p, "PING", "+PONG\r\n");
}

static void readyz_reports_a_server_without_memory(void)
{
	start_with("--maxmemory", "1mb");
	assert_has(get("/readyz"), " 200 OK\r\n");
	if (!qlessd_is_sanitized()) {
		char words[4200] = "PUT w q jj K ";
		size_t len = strlen(words);

		memset(words + len, '1', 4000);
		strcpy(words + len + 4000, " 0");
		for (int i = 0; i < 26 * 26; i++) {
			words[9] = (char)('a' + i % 26);
			words[8] = (char)('a' + i / 26);
			if (peer_ask(p, words)[0] == '-')
				break;
		}
		assert_has(get("/readyz"), " 503 Service Unavailable\r\n");
		assert_has(buf_cstr(&page), "out of memory");
		assert_has(get("/healthz"), " 200 OK\r\n");
	}
}

static void set_file_limit(rlim_t bytes)
{
	struct rlimit limit = { bytes, RLIM_INFINITY };

	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_FSIZE, &limit, NULL));
}

static void readyz_reports_a_log_that_failed(void)
{
	start_with("--appendfsync", "always");
	set_file_limit(64);
	peer_send_words(p, "PUT w q j klass {} 0");
	peer_expect_end(p);
	assert_has(get("/readyz"), " 503 Service Unavailable\r\n");
	assert_has(buf_cstr(&page),
		   "the log cannot be written, changes are refused: File too large");
	assert_has(get("/healthz"), " 200 OK\r\n");
	assert_has(get("/metrics"), "\nqlessd_log_ok 0\n");
	set_file_limit(RLIM_INFINITY);
	WAIT_UNTIL(strstr(get("/readyz"), " 200 OK\r\n") != NULL);
	assert_has(get("/metrics"), "\nqlessd_log_ok 1\n");
}

static int64_t http_connections(void)
{
	return peer_ask_number(p, "INFO stats", "http_connections:");
}

/* Slow clients take all places, and each goes on sending a byte now and then. Returns the
 * milliseconds that others take. */
static int64_t get_among_slow_clients(void)
{
	struct peer *slow[80];
	int64_t started_ms, took_ms;

	for (int i = 0; i < 80; i++) {
		slow[i] = peer_connect_to("127.0.0.1", http_port);
		peer_send_blindly(slow[i], "GET /healthz HTTP/1.1\r\nX: ", 26);
	}
	started_ms = wait_now_ms();
	for (int i = 0; i < 20; i++) {
		assert_has(get("/healthz"), " 200 OK\r\n");
		for (int k = 0; k < 80; k++)
			(void)!send(slow[k]->fd, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	took_ms = wait_now_ms() - started_ms;
	TEST_ASSERT_LESS_OR_EQUAL_INT64(32, http_connections());
	for (int i = 0; i < 80; i++)
		peer_close(slow[i]);
	return took_ms;
}

/* A slow client has ten seconds. The machine may take as long for one attempt. */
static void slow_clients_do_not_keep_others_out(void)
{
	int64_t took_ms = INT64_MAX;

	start_with("--http-maxclients", "32");
	for (int i = 0; i < ATTEMPTS && took_ms > 8000; i++)
		took_ms = get_among_slow_clients();
	TEST_ASSERT_LESS_THAN_INT64(8000, took_ms);
	TEST_ASSERT_GREATER_THAN_INT64(0, peer_ask_number(p, "INFO stats", "http_disconnections:"));
	TEST_ASSERT_TRUE(qlessd_has_logged(&q, "closed the slowest connection to http-port"));
	peer_close_all();
}

/* A scraper with a connection of its own is served by it as long as it sends requests. */
static void a_scraper_outlasts_slow_clients(void)
{
	static const char text[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
	struct peer *scraper;

	start_with("--http-maxclients", "32");
	scraper = peer_connect_to("127.0.0.1", http_port);
	for (int i = 0; i < 100; i++) {
		struct peer *slow = peer_connect_to("127.0.0.1", http_port);
		char c;

		peer_send_blindly(slow, text, 10);
		peer_send_text(scraper, text);
		TEST_ASSERT_TRUE(peer_has_input(scraper, WAIT_MAX_MS));
		while (recv(scraper->fd, &c, 1, MSG_DONTWAIT) == 1)
			continue;
	}
}

static void set_open_files(unsigned long count)
{
	struct rlimit limit;

	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_NOFILE, NULL, &limit));
	limit.rlim_cur = count;
	TEST_ASSERT_EQUAL_INT(0, prlimit(q.pid, RLIMIT_NOFILE, &limit, NULL));
}

static size_t log_bytes(void)
{
	char *log = textfile_read(q.log_path);
	size_t len = strlen(log);

	free(log);
	return len;
}

static void without_descriptors_the_log_stays_small(void)
{
	struct peer *waiting;
	size_t before;

	start();
	before = log_bytes();
	set_open_files(5);
	waiting = peer_connect_to("127.0.0.1", http_port);
	WAIT_UNTIL(qlessd_has_logged(&q, "no file descriptors left"));
	wait_ms(1000);
	TEST_ASSERT_LESS_THAN_size_t(before + 8192, log_bytes());
	set_open_files(1000);
	peer_send_text(waiting, "GET /healthz HTTP/1.1\r\n\r\n");
	TEST_ASSERT_TRUE(peer_has_input(waiting, WAIT_MAX_MS));
}

/* Clients take all descriptors that they can have. */
static void clients_leave_descriptors_to_http_and_to_rewrites(void)
{
	q.max_files = 200;
	start();
	q.max_files = 0;
	while (peer_ask_number(p, "INFO stats", "rejected_connections:") == 0)
		peer_connect(&q);
	for (int i = 0; i < 31; i++)
		peer_connect_to("127.0.0.1", http_port);
	assert_has(get("/healthz"), " 200 OK\r\n");
	ASK_HAS(p, "BGREWRITEAOF", "+");
	WAIT_UNTIL(peer_ask_number(p, "INFO persistence", "aof_rewrites:") == 1);
	TEST_ASSERT_FALSE(qlessd_has_logged(&q, "no file descriptors left"));
}

/* Makes a page that is larger than what the buffers of sockets take. */
static void put_in_many_queues(void)
{
	for (int i = 0; i < 3000; i++) {
		char words[100];

		snprintf(words, sizeof words, "PUT w queue-%d j%d K {} 0", i, i);
		peer_send_words(p, words);
	}
	peer_skip_replies(p, 3000);
}

static void a_scraper_that_disconnects_is_forgotten(void)
{
	start_with("--http-max-queues", "5000");
	put_in_many_queues();
	for (int i = 0; i < 8; i++) {
		struct peer *http = peer_connect_to("127.0.0.1", http_port);

		peer_send_text(http, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
		peer_skip(http, 1000);
		peer_reset(http);
	}
	WAIT_UNTIL(strstr(get("/metrics"), " 200 OK\r\n") != NULL);
	assert_has(buf_cstr(&page), "qlessd_queues_left_out 0\n");
	assert_has(buf_cstr(&page), "qlessd_queue_waiting_jobs{queue=\"queue-2999\",db=\"0\"} 1\n");
	ASK(p, "CONFIG SET http-max-queues 10", "+OK\r\n");
	assert_has(get("/metrics"), "qlessd_queues_left_out 2990\n");
}

static void begin_page_and_read_no_more(void)
{
	struct peer *http;

	peer_connect_small_buffers(true);
	http = peer_connect_to("127.0.0.1", http_port);
	peer_connect_small_buffers(false);
	peer_send_text(http, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	peer_skip(http, 1000);
}

/* Only the one that has not read for the longest time loses its place. */
static void scrapers_that_do_not_read_keep_no_place(void)
{
	start_with("--http-max-queues", "5000");
	ASK(p, "CONFIG SET http-idle-timeout 86400", "+OK\r\n");
	put_in_many_queues();
	for (int i = 0; i < 4; i++)
		begin_page_and_read_no_more();
	for (int i = 0; i < 4; i++) {
		WAIT_UNTIL(strstr(get("/metrics"), " 200 OK\r\n") != NULL);
		assert_has(buf_cstr(&page), "qlessd_queues_left_out 0\n");
		TEST_ASSERT_EQUAL_INT64(1 + i,
					peer_ask_number(p, "INFO stats", "http_disconnections:"));
		begin_page_and_read_no_more();
	}
}

/*
 * The format
 */

/* Make a state that has some of everything. */
static void make_state(void)
{
	static const char *const words[] = {
		"PUT w q a K {} 0",
		"PUT w q b K {} 0",
		"PUT w q c K {} 0",
		"PUT w q d K {} 1000",
		"PUT w q e K {} 0 depends [\"a\"]",
		"PUT w paused f K {} 0",
		"RECUR q r K {} interval 60 1000",
		"PAUSE paused",
		"POP q w 2",
		"COMPLETE a w q {}",
		"FAIL b w group message",
		"POP q w 1",
		"CLIENT SETINFO LIB-NAME test-lib",
		"SELECT 1",
		"PUT w other g K {} 0",
		"SELECT 0",
		"NOSUCH",
		"PUBLISH a b",
		"PUT w back h K {} 0",
		"POP back w 1",
		"RETRY h back w",
		"POP back w 1",
		"TIMEOUT h",
		"LIMIT.SET db CONCURRENCY 1",
	};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		peer_ask(p, words[i]);
}

static bool is_name(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalpha((unsigned char)text[i]) && text[i] != '_' &&
		    (i == 0 || !isdigit((unsigned char)text[i])))
			return false;
	}
	return len != 0;
}

/* A family of metrics on the page. */
struct family {
	char name[128];
	char type[16];
	/* State of the histogram that is being read. */
	double last_bound;
	double last_count;
};

static void check_bucket(struct family *f, const char *labels, double value)
{
	const char *le = strstr(labels, "le=\"");
	double bound = strncmp(le + 4, "+Inf", 4) == 0 ? INFINITY : strtod(le + 4, NULL);

	if (bound > f->last_bound)
		TEST_ASSERT_TRUE_MESSAGE(value >= f->last_count, labels);
	f->last_bound = bound;
	f->last_count = value;
}

/* name{labels} value */
static void check_sample(struct family *f, char *line)
{
	size_t len = strcspn(line, "{ ");
	const char *suffix = line + strlen(f->name);
	char *at = line + len, *end;
	double value;

	TEST_ASSERT_TRUE_MESSAGE(is_name(line, len), line);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, strncmp(line, f->name, strlen(f->name)), line);
	if (*at == '{') {
		do {
			size_t label = strcspn(at + 1, "=");

			TEST_ASSERT_TRUE_MESSAGE(is_name(at + 1, label), line);
			at += label + 2;
			TEST_ASSERT_EQUAL_INT_MESSAGE('"', *at, line);
			for (at++; *at != '"'; at++) {
				TEST_ASSERT_TRUE_MESSAGE((unsigned char)*at >= ' ', line);
				if (*at == '\\')
					TEST_ASSERT_NOT_NULL_MESSAGE(strchr("\\\"n", *++at), line);
			}
			at++;
		} while (*at == ',');
		TEST_ASSERT_EQUAL_INT_MESSAGE('}', *at++, line);
	}
	TEST_ASSERT_EQUAL_INT_MESSAGE(' ', *at, line);
	value = strtod(at + 1, &end);
	TEST_ASSERT_TRUE_MESSAGE(end != at + 1 && *end == '\0', line);
	if (strcmp(f->type, "summary") == 0)
		TEST_ASSERT_TRUE_MESSAGE(strncmp(suffix, "_sum{", 5) == 0 ||
						 strncmp(suffix, "_count{", 7) == 0,
					 line);
	else if (strcmp(f->type, "histogram") != 0)
		TEST_ASSERT_EQUAL_size_t(strlen(f->name), len);
	else if (strncmp(suffix, "_bucket{", 8) == 0)
		check_bucket(f, line, value);
	else if (strncmp(suffix, "_count{", 7) == 0)
		TEST_ASSERT_TRUE_MESSAGE(isinf(f->last_bound) && value == f->last_count, line);
	else
		TEST_ASSERT_EQUAL_INT_MESSAGE(0, strncmp(suffix, "_sum{", 5), line);
}

static void check_type(struct family *f, const char *line)
{
	bool is_total;

	TEST_ASSERT_EQUAL_INT(2, sscanf(line, "# TYPE %127s %15s", f->name, f->type));
	f->last_bound = INFINITY;
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, strncmp(f->name, "qlessd_", 7), line);
	is_total = strlen(f->name) > 6 && strcmp(f->name + strlen(f->name) - 6, "_total") == 0;
	TEST_ASSERT_TRUE_MESSAGE((strcmp(f->type, "counter") == 0) == is_total, line);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Check that each family has a help and a type, and that no family and no series appears twice. */
static void check_page(char *text)
{
	struct family f = { 0 };
	char *helped = NULL, **series = NULL;
	size_t count = 0;

	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		if (strncmp(line, "# HELP ", 7) == 0) {
			helped = line + 7;
		} else if (strncmp(line, "# TYPE ", 7) == 0) {
			check_type(&f, line);
			TEST_ASSERT_NOT_NULL(helped);
			TEST_ASSERT_EQUAL_INT(0, strncmp(helped, f.name, strlen(f.name)));
			helped = NULL;
		} else {
			check_sample(&f, line);
			*strrchr(line, ' ') = '\0';
		}
		series = realloc(series, (count + 1) * sizeof *series);
		series[count++] = line;
	}
	TEST_ASSERT_TRUE(count > 100);
	qsort(series, count, sizeof *series, compare_lines);
	for (size_t i = 1; i < count; i++)
		TEST_ASSERT_TRUE_MESSAGE(strcmp(series[i - 1], series[i]) != 0, series[i]);
	free(series);
}

static void metrics_are_in_the_format_of_prometheus(void)
{
	char *text;

	start();
	make_state();
	get("/metrics");
	text = strdup(body_of(buf_cstr(&page)));
	check_page(text);
	free(text);
}

#define PORTION_BYTES ((size_t)64 * 1024)

/* Put a job into a queue whose name has `length` bytes. */
static void put_into_queue(int number, size_t name_len)
{
	char name[512], put[1024];

	TEST_ASSERT_TRUE(name_len < sizeof name);
	memset(name, 'q', name_len);
	name[name_len] = '\0';
	snprintf(put, sizeof put, "PUT w %d%s %d k {} 0", number, name + 4, number);
	TEST_ASSERT_EQUAL_INT('$', peer_ask(p, put)[0]);
}

/* Figures about the waiting jobs of queues. */
static size_t waiting_bytes(void)
{
	const char *from, *to;

	get("/metrics");
	from = strstr(buf_cstr(&page), "# HELP qlessd_queue_waiting_jobs ");
	to = strstr(buf_cstr(&page), "# HELP qlessd_queue_running_jobs ");
	TEST_ASSERT_NOT_NULL(from);
	TEST_ASSERT_NOT_NULL(to);
	return (size_t)(to - from);
}

/* The head of the next family does not fit after it. */
static void a_family_may_end_near_the_end_of_a_portion(void)
{
	const size_t wanted = PORTION_BYTES - 10, name_len = 400;
	int number = 1000;
	size_t bytes, line;
	char *text;

	start();
	put_into_queue(number++, name_len);
	bytes = waiting_bytes();
	put_into_queue(number++, name_len);
	line = waiting_bytes() - bytes;
	for (bytes += line; bytes + line + line / 2 < wanted; bytes += line)
		put_into_queue(number++, name_len);
	put_into_queue(number, name_len + wanted - line - bytes);
	TEST_ASSERT_EQUAL_size_t(wanted, waiting_bytes());
	text = strdup(body_of(buf_cstr(&page)));
	check_page(text);
	free(text);
}

static void metrics_describe_queues(void)
{
	static const char *const lines[] = {
		"qlessd_queue_waiting_jobs{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_running_jobs{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_scheduled_jobs{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_recurring_jobs{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_failed_jobs{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_paused{queue=\"paused\",db=\"0\"} 1\n",
		"qlessd_queue_paused{queue=\"q\",db=\"0\"} 0\n",
		"qlessd_queue_puts_total{queue=\"q\",db=\"0\"} 5\n",
		"qlessd_queue_pops_total{queue=\"q\",db=\"0\"} 3\n",
		"qlessd_queue_completes_total{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_fails_total{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_retries_total{queue=\"q\",db=\"0\"} 0\n",
		"qlessd_queue_retries_total{queue=\"back\",db=\"0\"} 1\n",
		"qlessd_queue_lost_locks_total{queue=\"back\",db=\"0\"} 1\n",
		"qlessd_queue_oldest_waiting_seconds{queue=\"paused\",db=\"0\"} ",
		"qlessd_queue_job_wait_seconds_count{queue=\"q\",db=\"0\"} 3\n",
		"qlessd_queue_job_run_seconds_bucket{queue=\"q\",db=\"0\",le=\"+Inf\"} 1\n",
		"qlessd_queue_waiting_jobs{queue=\"other\",db=\"1\"} 1\n",
		"qlessd_queues 4\n",
		"qlessd_jobs_complete 1\n",
		"qlessd_errors_total{code=\"ERR\"} 1\n",
		"qlessd_command_calls_total{command=\"put\"} 8\n",
		"qlessd_clients_by_library{library=\"test-lib\"} 1\n",
	};

	start();
	make_state();
	get("/metrics");
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		assert_has(buf_cstr(&page), lines[i]);
}

static void metrics_describe_limits(void)
{
	static const char *const lines[] = {
		"qlessd_limits_left_out 0\n",
		"qlessd_limit_waiting_jobs{limit=\"db\",db=\"0\"} 1\n",
		"qlessd_limit_running_jobs{limit=\"db\",db=\"0\"} 1\n",
		"qlessd_limit_concurrency{limit=\"db\",db=\"0\"} 1\n",
		"qlessd_limit_closed_seconds{limit=\"db\",db=\"0\"} ",
		"qlessd_limit_closed_seconds{limit=\"idle\",db=\"0\"} 0\n",
	};

	start();
	make_state();
	ASK(p, "LIMIT.SET idle CONCURRENCY 1", "+OK\r\n");
	peer_ask(p, "PUT w limited i K {} 0 limits [\"db\"]");
	peer_ask(p, "PUT w limited j K {} 0 limits [\"db\"]");
	peer_ask(p, "POP limited w 1");
	get("/metrics");
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		assert_has(buf_cstr(&page), lines[i]);
}

/* The limits are looked at in portions. */
static void only_the_limits_with_most_jobs_have_metrics(void)
{
	start_with("--http-max-limits", "2");
	for (int i = 0; i < 3000; i++) {
		char words[100];

		snprintf(words, sizeof words, "LIMIT.SET limit-%d CONCURRENCY 1", i);
		peer_send_words(p, words);
	}
	peer_skip_replies(p, 3000);
	peer_ask(p, "PUT w q i K {} 0 limits [\"limit-1234\",\"limit-2345\"]");
	assert_has(get("/metrics"), "qlessd_limits_left_out 2998\n");
	assert_has(buf_cstr(&page), "qlessd_limit_waiting_jobs{limit=\"limit-1234\",db=\"0\"} 1\n");
	assert_has(buf_cstr(&page), "qlessd_limit_waiting_jobs{limit=\"limit-2345\",db=\"0\"} 1\n");
	ASK(p, "CONFIG SET http-max-limits 0", "+OK\r\n");
	assert_has(get("/metrics"), "qlessd_limits_left_out 3000\n");
	TEST_ASSERT_NULL(strstr(buf_cstr(&page), "qlessd_limit_waiting_jobs{"));
}

static void metrics_describe_classes(void)
{
	static const char *const lines[] = {
		"qlessd_class_puts_total{class=\"K\",db=\"0\"} 7\n",
		"qlessd_class_pops_total{class=\"K\",db=\"0\"} 5\n",
		"qlessd_class_completes_total{class=\"K\",db=\"0\"} 1\n",
		"qlessd_class_fails_total{class=\"K\",db=\"0\"} 1\n",
		"qlessd_class_retries_total{class=\"K\",db=\"0\"} 1\n",
		"qlessd_class_lost_locks_total{class=\"K\",db=\"0\"} 1\n",
		"qlessd_class_puts_total{class=\"K\",db=\"1\"} 1\n",
		"qlessd_class_job_wait_seconds_count{class=\"K\",db=\"0\"} 5\n",
		"qlessd_class_job_run_seconds_bucket{class=\"K\",db=\"0\",le=\"+Inf\"} 1\n",
		"qlessd_class_job_completion_seconds_count{class=\"K\",db=\"0\"} 1\n",
		"qlessd_class_job_failure_seconds_count{class=\"K\",db=\"0\"} 1\n",
		"qlessd_class_job_lifetime_seconds_count{class=\"K\",db=\"0\"} 2\n",
		"qlessd_class_job_attempts_sum{class=\"K\",db=\"0\"} 1\n",
		"qlessd_queue_job_completion_seconds_count{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_job_failure_seconds_count{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_job_lifetime_seconds_count{queue=\"q\",db=\"0\"} 2\n",
		"qlessd_queue_job_attempts_sum{queue=\"q\",db=\"0\"} 1\n",
		"qlessd_queue_job_attempts_count{queue=\"q\",db=\"0\"} 1\n",
	};

	start();
	make_state();
	get("/metrics");
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		assert_has(buf_cstr(&page), lines[i]);
}

/* The page is sent in portions. */
static void only_so_many_classes_have_metrics(void)
{
	char *text;

	start_with("--metrics-max-classes", "2000");
	for (int i = 0; i < 3000; i++) {
		char words[100];

		snprintf(words, sizeof words, "PUT w q j%d class-%d {} 0", i, i);
		peer_send_words(p, words);
	}
	peer_skip_replies(p, 3000);
	assert_has(get("/metrics"), "qlessd_class_puts_total{class=\"class-0\",db=\"0\"} 1\n");
	assert_has(buf_cstr(&page), "qlessd_class_puts_total{class=\"class-1999\",db=\"0\"} 1\n");
	assert_has(buf_cstr(&page), "qlessd_class_puts_total{class=\"other\",db=\"0\"} 1000\n");
	TEST_ASSERT_NULL(strstr(buf_cstr(&page), "{class=\"class-2000\""));
	text = strdup(body_of(buf_cstr(&page)));
	check_page(text);
	free(text);
	ASK(p, "CONFIG SET metrics-max-classes 0", "+OK\r\n");
	assert_has(get("/metrics"), "qlessd_class_puts_total{class=\"other\",db=\"0\"} 3000\n");
	TEST_ASSERT_NULL(strstr(buf_cstr(&page), "{class=\"class-"));
}

static void any_class_name_is_a_valid_label(void)
{
	static const char put_odd[] = "*7\r\n$3\r\nPUT\r\n$1\r\nw\r\n$1\r\nq\r\n$1\r\nj\r\n"
				      "$5\r\n\"\\\n\xc3\xa4\r\n$2\r\n{}\r\n$1\r\n0\r\n";
	char *text;

	start();
	peer_send(p, put_odd, sizeof put_odd - 1);
	peer_skip_replies(p, 1);
	get("/metrics");
	assert_has(buf_cstr(&page),
		   "qlessd_class_puts_total{class=\"\\\"\\\\x5c\\\\x0a\xc3\xa4\",db=\"0\"} 1\n");
	text = strdup(body_of(buf_cstr(&page)));
	check_page(text);
	free(text);
	ASK_HAS(p, "INFO classes", "class0:name=\"\\x5c\\x0a\\xc3\\xa4,db=0,puts=1,");
}

static void any_queue_name_is_a_valid_label(void)
{
	static const char put_odd[] = "*7\r\n$3\r\nPUT\r\n$1\r\nw\r\n$8\r\n\"\\\n\xc3\xa4\x01\\x"
				      "\r\n$1\r\nj\r\n$1\r\nK\r\n$2\r\n{}\r\n$1\r\n0\r\n";
	char *text;

	start();
	peer_send(p, put_odd, sizeof put_odd - 1);
	peer_skip_replies(p, 1);
	get("/metrics");
	assert_has(buf_cstr(&page),
		   "qlessd_queue_waiting_jobs{queue=\"\\\"\\\\x5c\\\\x0a\xc3\xa4\\\\x01\\\\"
		   "x5cx\",db=\"0\"} 1\n");
	text = strdup(body_of(buf_cstr(&page)));
	check_page(text);
	free(text);
	ASK_HAS(p, "INFO queues", "queue0:name=\"\\x5c\\x0a\\xc3\\xa4\\x01\\x5cx,db=0,");
}

/* Words, and figures that follow from others. */
static bool has_no_metric(const char *name)
{
	static const char *const names[] = {
		"redis_version",
		"qlessd_version",
		"redis_mode",
		"os",
		"arch_bits",
		"multiplexing_api",
		"libevent_version",
		"gcc_version",
		"process_id",
		"process_supervised",
		"run_id",
		"tcp_port",
		"listeners",
		"uptime_in_days",
		"executable",
		"config_file",
		"maxmemory_policy",
		"mem_allocator",
		"aof_last_bgrewrite_status",
		"aof_last_write_status",
		"log_state",
		"log_error",
		"role",
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_human") == 0;
}

static void every_figure_of_info_has_a_metric(void)
{
	static const char *const families[] = {
		"cmdstat_", "errorstat_", "latency_percentiles_usec_", "client_library", "queue",
		"class",    "db",
	};
	char name[256], wanted[300], *info;
	int count = 0;

	start();
	make_state();
	info = strdup(peer_ask(p, "INFO everything"));
	get("/metrics");
	strtok(info, "\r\n");
	for (char *line = strtok(NULL, "\r\n"); line != NULL; line = strtok(NULL, "\r\n")) {
		if (line[0] == '#')
			continue;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(line, ":"), line);
		for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
			size_t len = strlen(families[i]);

			if (strncmp(name, families[i], len) == 0 &&
			    (families[i][len - 1] == '_' || isdigit((unsigned char)name[len])))
				name[len - (families[i][len - 1] == '_')] = '\0';
		}
		if (has_no_metric(name))
			continue;
		snprintf(wanted, sizeof wanted, "(%s in INFO)", name);
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&page), wanted), wanted);
		count++;
	}
	TEST_ASSERT_TRUE(count > 80);
	free(info);
}

/* Each metric that the file names is on the page. Returns how often it names one. */
static int count_metrics(const char *path)
{
	char *text = textfile_read(path), name[128], family[140];
	int count = 0;

	start();
	make_state();
	get("/metrics");
	for (char *at = text; (at = strstr(at, "qlessd_")) != NULL; count++) {
		size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");

		TEST_ASSERT_TRUE(len < sizeof name);
		memcpy(name, at, len);
		name[len] = '\0';
		at += len;
		snprintf(family, sizeof family, "\n%s", name);
		TEST_ASSERT_NOT_NULL_MESSAGE(strstr(buf_cstr(&page), family), name);
		TEST_ASSERT_NOT_NULL_MESSAGE(
			strchr(" {", strstr(buf_cstr(&page), family)[strlen(family)]), name);
	}
	free(text);
	return count;
}

/* Environment variables name the files. */
static void the_dashboard_uses_existing_metrics(void)
{
	TEST_ASSERT_TRUE(count_metrics(variable_get("DASHBOARD")) > 20);
}

static void the_alarms_use_existing_metrics(void)
{
	TEST_ASSERT_TRUE(count_metrics(variable_get("ALARMS")) > 10);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(only_the_paths_of_pages_have_pages);
	RUN(only_get_and_head_are_allowed);
	RUN(large_requests_are_refused);
	RUN(readyz_reports_a_server_without_memory);
	RUN(readyz_reports_a_log_that_failed);
	RUN(slow_clients_do_not_keep_others_out);
	RUN(a_scraper_outlasts_slow_clients);
	RUN(without_descriptors_the_log_stays_small);
	RUN(clients_leave_descriptors_to_http_and_to_rewrites);
	RUN(a_scraper_that_disconnects_is_forgotten);
	RUN(scrapers_that_do_not_read_keep_no_place);
	RUN(metrics_are_in_the_format_of_prometheus);
	RUN(a_family_may_end_near_the_end_of_a_portion);
	RUN(metrics_describe_queues);
	RUN(metrics_describe_limits);
	RUN(only_the_limits_with_most_jobs_have_metrics);
	RUN(metrics_describe_classes);
	RUN(only_so_many_classes_have_metrics);
	RUN(any_class_name_is_a_valid_label);
	RUN(any_queue_name_is_a_valid_label);
	RUN(every_figure_of_info_has_a_metric);
	RUN(the_dashboard_uses_existing_metrics);
	RUN(the_alarms_use_existing_metrics);
	return UNITY_END() != 0;
}
