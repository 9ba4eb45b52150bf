/*
 * The parts of http.py in C: a client with many connections that are kept alive, and the server
 * that it compares with.
 *
 *	bench_http serve PORT				evhttp, with an empty answer to everything
 *	bench_http empty PORT CONNECTIONS SECONDS	GET /healthz on each connection
 *	bench_http life PORT CONNECTIONS SECONDS	put, pop and complete on each connection
 *
 * A client prints the number of answers and the seconds that they took.
 */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 1024
#define ANSWER_BYTES	8192
#define JID_BYTES	64
/* Queues that the connections share, so that jobs change hands. */
#define QUEUES 8

enum step {
	STEP_PUT,
	STEP_POP,
	STEP_COMPLETE,
	STEP_EMPTY,
};

struct client {
	int fd;
	unsigned number;
	unsigned long jobs;
	enum step step;
	char jid[JID_BYTES];
	char answer[ANSWER_BYTES];
	size_t len;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the server ---- */

static void answer(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evhttp_send_reply(req, 200, "OK", NULL);
}

static int serve(unsigned short port)
{
	struct event_base *base = event_base_new();
	struct evhttp *http = evhttp_new(base);

	evhttp_set_gencb(http, answer, NULL);
	if (evhttp_bind_socket(http, "127.0.0.1", port) != 0)
		fail("bind");
	event_base_dispatch(base);
	return 0;
}

/* ---- clients ---- */

static void connect_to(struct client *c, unsigned short port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int on = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) < 0)
		fail("connect");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void send_request(struct client *c)
{
	char body[256] = "", request[1024];
	const char *method = "POST";
	char path[128] = "/";
	int len;

	switch (c->step) {
	case STEP_PUT:
		snprintf(path, sizeof path, "/v1/queues/q%u/jobs", c->number % QUEUES);
		snprintf(body, sizeof body,
			 "{\"jid\":\"%u-%lu\",\"class\":\"Send\",\"data\":{\"to\":\"x\"}}",
			 c->number, c->jobs++);
		break;
	case STEP_POP:
		snprintf(path, sizeof path, "/v1/queues/q%u/pop", c->number % QUEUES);
		snprintf(body, sizeof body, "{\"worker\":\"w%u\"}", c->number);
		break;
	case STEP_COMPLETE:
		snprintf(path, sizeof path, "/v1/jobs/%s/complete", c->jid);
		snprintf(body, sizeof body, "{\"worker\":\"w%u\",\"queue\":\"q%u\"}", c->number,
			 c->number % QUEUES);
		break;
	case STEP_EMPTY:
		method = "GET";
		snprintf(path, sizeof path, "/healthz");
		break;
	}
	len = snprintf(request, sizeof request,
		       "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
		       "Content-Length: %zu\r\n\r\n%s",
		       method, path, strlen(body), body);
	if (send(c->fd, request, (size_t)len, MSG_NOSIGNAL) != len)
		fail("send");
	c->len = 0;
}

/* Whether the answer is complete. */
static bool is_complete(const struct client *c)
{
	const char *end = strstr(c->answer, "\r\n\r\n");
	const char *length = strstr(c->answer, "Content-Length: ");

	if (end == NULL || length == NULL || length > end)
		return false;
	return c->len >= (size_t)(end + 4 - c->answer) + strtoul(length + 16, NULL, 10);
}

/* Another connection may have popped the job of this one, but each pop finds one. */
static void take_jid(struct client *c)
{
	const char *jid = strstr(c->answer, "\"jid\":\"");

	if (jid == NULL || sscanf(jid, "\"jid\":\"%63[^\"]", c->jid) != 1) {
		fprintf(stderr, "no job was popped:\n%s\n", c->answer);
		exit(1);
	}
}

static void go_on(struct client *c)
{
	if (strncmp(c->answer, "HTTP/1.1 20", 11) != 0) {
		fprintf(stderr, "%s\n", c->answer);
		exit(1);
	}
	if (c->step == STEP_POP)
		take_jid(c);
	if (c->step != STEP_EMPTY)
		c->step = (c->step + 1) % STEP_EMPTY;
	send_request(c);
}

static bool receive(struct client *c)
{
	ssize_t n = recv(c->fd, c->answer + c->len, sizeof c->answer - 1 - c->len, 0);

	if (n <= 0)
		fail("recv");
	c->len += (size_t)n;
	c->answer[c->len] = '\0';
	return is_complete(c);
}

static int load(enum step step, unsigned short port, unsigned count, double seconds)
{
	static struct client clients[CONNECTIONS_MAX];
	struct epoll_event events[CONNECTIONS_MAX];
	int epoll = epoll_create1(0);
	unsigned long answers = 0;
	double begin, end;

	for (unsigned i = 0; i < count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = &clients[i] };

		clients[i].number = i + (unsigned)getpid() * CONNECTIONS_MAX;
		clients[i].step = step;
		connect_to(&clients[i], port);
		epoll_ctl(epoll, EPOLL_CTL_ADD, clients[i].fd, &event);
		send_request(&clients[i]);
	}
	begin = now();
	do {
		int ready = epoll_wait(epoll, events, CONNECTIONS_MAX, 1000);

		for (int i = 0; i < ready; i++) {
			struct client *c = events[i].data.ptr;

			if (!receive(c))
				continue;
			answers++;
			go_on(c);
		}
		end = now();
	} while (end - begin < seconds);
	printf("%lu %.3f\n", answers, end - begin);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned short port = argc > 2 ? (unsigned short)atoi(argv[2]) : 0;

	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve(port);
	if (argc == 5 && strcmp(argv[1], "empty") == 0)
		return load(STEP_EMPTY, port, (unsigned)atoi(argv[3]), atof(argv[4]));
	if (argc == 5 && strcmp(argv[1], "life") == 0)
		return load(STEP_PUT, port, (unsigned)atoi(argv[3]), atof(argv[4]));
	fprintf(stderr, "usage: bench_http serve|empty|life PORT [CONNECTIONS SECONDS]\n");
	return 2;
}
