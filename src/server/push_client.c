#include "server/push_client.h"

#include <arpa/inet.h>
#include <assert.h>
#include <event2/event.h>
#include <limits.h>
#include <math.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "push/allow.h"
#include "push/url.h"
#include "server/curl.h"
#include "server/server_int.h"
#include "sys/clock.h"
#include "util/mem.h"
#include "util/minmax.h"

/* Bytes of the headers of an answer; more than that makes it none. */
#define HEADERS_MAX ((size_t)64 * 1024)
/* Bytes of a Retry-After that are kept. */
#define RETRY_AFTER_MAX 64
/* Connections that are kept alive while no request uses them. */
#define IDLE_CONNECTIONS_MAX 1024L

TAILQ_HEAD(post_list, post);

struct push_client {
	struct server *server;
	struct curl_api api;
	CURLM *multi;
	struct event *timer;
	struct post_list posts;
	bool is_inside;	    /* libcurl is running, and may not be called to end posts */
	int64_t changed_us; /* monotonic: when directives changed last */
};

struct post {
	struct push_client *client;
	post_fn *fn;
	void *arg;
	CURL *easy;
	struct curl_slist *headers;
	struct buf request; /* its body */
	struct buf body;    /* of the answer */
	size_t body_max;
	size_t header_bytes;
	bool has_head;	/* all headers have come */
	bool is_cut;	/* the body is longer */
	bool is_denied; /* push-allow does not allow the address */
	bool is_coded;	/* the answer has a coding that nothing asked for */
	int64_t begin_us;
	size_t retry_after_len;
	char retry_after[RETRY_AFTER_MAX];
	char error[CURL_ERROR_SIZE];
	TAILQ_ENTRY(post) link;
};

/*
 * Destinations
 */

static bool allows_host(const struct config_list *allowed, struct qless_str host)
{
	unsigned char address[ALLOW_ADDRESS_MAX];
	size_t len = allow_read_address(host, address);

	for (size_t i = 0; i < allowed->count; i++) {
		struct qless_str element = str_from(allowed->words[i]);

		if (allow_host(element, host) || (len != 0 && allow_address(element, address, len)))
			return true;
	}
	return false;
}

/* Returns whether the list has a network, so that a host may be allowed by its addresses. */
static bool has_network(const struct config_list *allowed)
{
	for (size_t i = 0; i < allowed->count; i++) {
		if (strchr(allowed->words[i], '/') != NULL)
			return true;
	}
	return false;
}

static bool allows_address(const struct config_list *allowed, const struct sockaddr *address)
{
	const unsigned char *bytes;
	size_t len;

	if (address->sa_family == AF_INET) {
		bytes = (const unsigned char *)&((const struct sockaddr_in *)(const void *)address)
				->sin_addr;
		len = 4;
	} else if (address->sa_family == AF_INET6) {
		bytes = (const unsigned char *)&((const struct sockaddr_in6 *)(const void *)address)
				->sin6_addr;
		len = ALLOW_ADDRESS_MAX;
	} else {
		return false;
	}
	for (size_t i = 0; i < allowed->count; i++) {
		if (allow_address(str_from(allowed->words[i]), bytes, len))
			return true;
	}
	return false;
}

/* A name whose addresses are unknown yet is judged when the connection is made. */
bool push_client_allows(const struct server *s, struct qless_str url)
{
	const struct config_list *allowed = &s->config->push_allow;
	unsigned char address[ALLOW_ADDRESS_MAX];
	struct url parts;

	if (url_read(url, &parts) != NULL)
		return false;
	if (allows_host(allowed, parts.host))
		return true;
	return allow_read_address(parts.host, address) == 0 && s->config->push_proxy[0] == '\0' &&
	       has_network(allowed);
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct post *post = arg;
	const struct config *config = post->client->server->config;
	const char *url = NULL;
	struct url parts;

	(void)purpose;
	post->client->api.easy_getinfo(post->easy, CURLINFO_EFFECTIVE_URL, &url);
	/* A proxy finds the address itself, so that only the name can be judged. */
	if (url == NULL || url_read(str_from(url), &parts) != NULL ||
	    (!allows_host(&config->push_allow, parts.host) &&
	     (config->push_proxy[0] != '\0' ||
	      !allows_address(&config->push_allow, &address->addr)))) {
		post->is_denied = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/*
 * Answers
 */

static bool is_header(struct qless_str line, struct qless_str name, struct qless_str *ret_value)
{
	if (line.len <= name.len || line.ptr[name.len] != ':' ||
	    !str_equal_nocase(str_make(line.ptr, name.len), name))
		return false;
	*ret_value = str_make(line.ptr + name.len + 1, line.len - name.len - 1);
	while (ret_value->len != 0 && (ret_value->ptr[ret_value->len - 1] == '\n' ||
				       ret_value->ptr[ret_value->len - 1] == '\r'))
		ret_value->len--;
	return true;
}

/* libcurl decodes what the answer names here, also if it is compressed several times over. A few
 * kilobytes could then become gigabytes that never reach on_body(). */
static bool is_chunked(struct qless_str coding)
{
	while (coding.len != 0 && (coding.ptr[0] == ' ' || coding.ptr[0] == '\t'))
		coding = str_make(coding.ptr + 1, coding.len - 1);
	while (coding.len != 0 &&
	       (coding.ptr[coding.len - 1] == ' ' || coding.ptr[coding.len - 1] == '\t'))
		coding.len--;
	return str_equal_nocase(coding, STR("chunked"));
}

/* Called with each line. An answer after `100 Continue` begins anew. */
static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
	struct post *post = arg;
	struct qless_str line = str_make(bytes, size * count), value;

	post->header_bytes += line.len;
	if (post->header_bytes > HEADERS_MAX)
		return 0;
	if (str_starts_with(line, STR("HTTP/"))) {
		post->retry_after_len = 0;
		post->has_head = false;
	} else if (str_equal(line, STR("\r\n")) || str_equal(line, STR("\n"))) {
		post->has_head = true;
	} else if (is_header(line, STR("Retry-After"), &value) && value.len <= RETRY_AFTER_MAX) {
		memcpy(post->retry_after, value.ptr, value.len);
		post->retry_after_len = value.len;
	} else if (is_header(line, STR("Transfer-Encoding"), &value) && !is_chunked(value)) {
		post->is_coded = true;
		return 0;
	}
	return line.len;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct post *post = arg;
	size_t len = size * count, room = post->body_max - post->body.len;

	buf_append(&post->body, bytes, len < room ? len : room);
	if (len <= room)
		return len;
	post->is_cut = true;
	return 0;
}

/*
 * Posts
 */

static void post_free(struct post *post)
{
	struct push_client *client = post->client;

	TAILQ_REMOVE(&client->posts, post, link);
	client->api.multi_remove_handle(client->multi, post->easy);
	client->api.easy_cleanup(post->easy);
	client->api.slist_free_all(post->headers);
	buf_done(&post->request);
	buf_done(&post->body);
	free(post);
}

void post_cancel(struct post *post)
{
	assert(!post->client->is_inside);
	post_free(post);
}

static const char *describe_error(const struct post *post, CURLcode code)
{
	if (post->is_denied)
		return "push-allow does not allow the address of the host";
	if (post->header_bytes > HEADERS_MAX)
		return "the answer has more than 64 kB of headers";
	if (post->is_coded)
		return "the answer has another Transfer-Encoding than chunked";
	if (code == CURLE_OK)
		return "the connection ended within the headers of the answer";
	return post->error[0] != '\0' ? post->error : post->client->api.easy_strerror(code);
}

static void end_post(struct post *post, CURLcode code)
{
	struct post_answer answer = { .status = 0 };
	post_fn *fn = post->fn;
	void *arg = post->arg;
	long status = 0;

	/* libcurl takes headers for whole if the connection ends within them. */
	if (post->has_head && (code == CURLE_OK || post->is_cut))
		post->client->api.easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &status);
	answer.status = (int)status;
	answer.is_timeout = code == CURLE_OPERATION_TIMEDOUT;
	if (status == 0)
		answer.error = describe_error(post, code);
	answer.body = buf_str(&post->body);
	answer.retry_after = str_make(post->retry_after, post->retry_after_len);
	answer.seconds = (double)(clock_mono_us() - post->begin_us) / 1e6;
	fn(arg, &answer);
	post_free(post);
}

/* Calls the callbacks of the posts that have ended. */
static void end_posts(struct push_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = client->api.multi_info_read(client->multi, &left)) != NULL) {
		char *post = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		client->api.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &post);
		end_post((struct post *)(void *)post, message->data.result);
	}
}

#define SET(option, value) api->easy_setopt(post->easy, option, value)

/* A connection from before the last change of the directives may go where push-allow no longer
 * allows it. libcurl measures ages in seconds. */
static void forbid_older(struct post *post)
{
	const struct curl_api *api = &post->client->api;
	int64_t age_s = (post->begin_us - post->client->changed_us) / 1000000;

	if (age_s < 2)
		SET(CURLOPT_FRESH_CONNECT, 1L);
	else
		SET(CURLOPT_MAXLIFETIME_CONN, (long)min_i64(age_s - 1, LONG_MAX));
}

static void set_connection(struct post *post, const struct config *config)
{
	const struct curl_api *api = &post->client->api;

	SET(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Otherwise the end of a post would wait for the name server, and the server with it. */
	SET(CURLOPT_QUICK_EXIT, 1L);
#endif
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_HTTP_VERSION,
	    (long)(api->has_http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
	SET(CURLOPT_TCP_NODELAY, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)config->push_connect_timeout_s * 1000L);
	/* Without a text here, libcurl would look at the environment. */
	SET(CURLOPT_PROXY, config->push_proxy);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	if (config->push_ca_cert_file[0] != '\0')
		SET(CURLOPT_CAINFO, config->push_ca_cert_file);
	SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(CURLOPT_OPENSOCKETDATA, post);
	if (post->client->changed_us != 0)
		forbid_older(post);
}

static void set_request(struct post *post, const struct post_request *request, const char *url)
{
	const struct curl_api *api = &post->client->api;

	SET(CURLOPT_URL, url);
	SET(CURLOPT_PATH_AS_IS, 1L);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDS, buf_cstr(&post->request));
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->request.len);
	SET(CURLOPT_TIMEOUT_MS, (long)ceil(request->timeout_s * 1000));
	for (size_t i = 0; i < request->header_count; i++)
		post->headers = api->slist_append(post->headers, request->headers[i]);
	post->headers = api->slist_append(post->headers, "Expect:");
	SET(CURLOPT_HTTPHEADER, post->headers);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, post);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, post);
	SET(CURLOPT_ERRORBUFFER, post->error);
	SET(CURLOPT_PRIVATE, post);
}

struct post *push_client_post(struct push_client *client, const struct post_request *request,
			      post_fn *fn, void *arg)
{
	struct post *post = mem_zalloc(sizeof *post);
	struct buf url = BUF_INIT(BUF_NO_MAX);

	post->client = client;
	post->fn = fn;
	post->arg = arg;
	post->begin_us = clock_mono_us();
	post->body_max = client->server->config->push_max_response_bytes;
	buf_init(&post->request, BUF_NO_MAX);
	buf_init(&post->body, BUF_NO_MAX);
	buf_append_str(&post->request, request->body);
	buf_append_str(&url, request->url);
	TAILQ_INSERT_TAIL(&client->posts, post, link);
	post->easy = client->api.easy_init();
	set_connection(post, client->server->config);
	set_request(post, request, buf_cstr(&url));
	client->api.multi_add_handle(client->multi, post->easy);
	buf_done(&url);
	return post;
}

/*
 * The event loop
 */

static void act(struct push_client *client, curl_socket_t fd, int events)
{
	int running;

	client->is_inside = true;
	client->api.multi_socket_action(client->multi, fd, events, &running);
	client->is_inside = false;
	end_posts(client);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct push_client *client = arg;

	server_read_clock(client->server);
	act(client, fd,
	    ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
		    ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
	struct push_client *client = arg;

	(void)fd;
	(void)what;
	server_read_clock(client->server);
	act(client, CURL_SOCKET_TIMEOUT, 0);
}

/* libcurl wants to know when a socket is ready. Its argument is the event. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct push_client *client = arg;
	struct event *event = socket_arg;
	int wanted = EV_PERSIST | ((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
		     ((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0);

	(void)easy;
	if (event != NULL)
		event_free(event);
	event = NULL;
	if (what != CURL_POLL_REMOVE) {
		event = event_new(client->server->base, fd, (short)wanted, on_socket, client);
		event_add(event, NULL);
	}
	client->api.multi_assign(client->multi, fd, event);
	return 0;
}

static int watch_time(CURLM *multi, long timeout_ms, void *arg)
{
	struct push_client *client = arg;
	struct timeval after = { .tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000 };

	(void)multi;
	if (timeout_ms < 0)
		event_del(client->timer);
	else
		event_add(client->timer, &after);
	return 0;
}

struct push_client *push_client_new(struct server *s, struct buf *ret_error)
{
	struct push_client *client = mem_zalloc(sizeof *client);
	const struct curl_api *api = &client->api;

	if (curl_load(&client->api, ret_error) < 0) {
		free(client);
		return NULL;
	}
	client->server = s;
	TAILQ_INIT(&client->posts);
	client->timer = event_new(s->base, -1, 0, on_time, client);
	client->multi = api->multi_init();
	api->multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	api->multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
	api->multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, watch_time);
	api->multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
	api->multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS_MAX);
	return client;
}

void push_client_apply_config(struct push_client *client)
{
	client->changed_us = clock_mono_us();
}

void push_client_free(struct push_client *client)
{
	if (client == NULL)
		return;
	assert(TAILQ_EMPTY(&client->posts));
	client->api.multi_cleanup(client->multi);
	event_free(client->timer);
	curl_unload(&client->api);
	free(client);
}
