/*
 * Any bytes as the replies of a Redis whose keys are read. The keys are read to the end, or there
 * is an error. An engine can be built from whatever was read.
 *
 * The first byte of an input chooses the number of keys in a request.
 */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "moving/build.h"
#include "moving/peer.h"
#include "moving/view.h"
#include "qless.h"
#include "util/buf.h"

#define NOW 1700000000.0
/* ---- the other end ---- */

struct redis {
	char path[64];
	int listener;
	struct qless_str answers;
};

static struct redis redis = { .listener = -1 };

static void redis_remove(void)
{
	unlink(redis.path);
}

static void redis_listen(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (redis.listener >= 0)
		return;
	snprintf(redis.path, sizeof redis.path, "/tmp/qlessd-fuzz-peer-%d.sock", (int)getpid());
	strcpy(address.sun_path, redis.path);
	unlink(redis.path);
	redis.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(redis.listener >= 0);
	if (bind(redis.listener, (struct sockaddr *)&address, sizeof address) < 0 ||
	    listen(redis.listener, 1) < 0) {
		perror(redis.path);
		abort();
	}
	atexit(redis_remove);
}

static void send_all(int fd, struct qless_str bytes)
{
	while (bytes.len > 0) {
		ssize_t sent = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		bytes.ptr += sent;
		bytes.len -= (size_t)sent;
	}
}

/* Send everything without reading, then read until the connection ends. */
static void *redis_serve(void *arg)
{
	int fd = accept(redis.listener, NULL, NULL);
	char ignored[4096];

	assert(fd >= 0);
	send_all(fd, STR("+OK\r\n")); /* the reply to SELECT */
	send_all(fd, redis.answers);
	shutdown(fd, SHUT_WR);
	while (read(fd, ignored, sizeof ignored) > 0)
		;
	close(fd);
	return arg;
}

/* ---- this end ---- */

struct reading {
	struct keys keys;
	size_t progress;
};

static void take_key(void *arg, struct key *key)
{
	struct reading *reading = arg;

	assert(keys_find(&reading->keys, key->name) == NULL);
	assert(key->count > 0 || key->type == KEY_OTHER);
	keys_add(&reading->keys, key);
}

static void take_progress(void *arg, uint64_t count)
{
	struct reading *reading = arg;

	assert(count >= reading->progress);
	reading->progress = (size_t)count;
}

static void fail_finding(void *arg, struct qless_str finding)
{
	(void)arg;
	fprintf(stderr, "%.*s\n", (int)finding.len, finding.ptr);
	abort();
}

static void check_keys(const struct keys *keys)
{
	struct qless_hooks hooks = { .hash_seed = 1 };
	struct qless *engine = qless_new(&hooks);
	struct comparison comparison;
	struct findings findings;

	findings_init(&findings, 1);
	build_engine(engine, keys, NOW, &findings);
	qless_check(engine, fail_finding, NULL);
	compare_keys(engine, keys, &findings, &comparison);
	comparison_done(&comparison);
	findings_done(&findings);
	qless_free(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer_options options;
	struct reading reading = { .progress = 0 };
	struct peer *peer;
	uint64_t count = 0;
	pthread_t thread;
	bool ok;

	if (size == 0)
		return 0;
	redis.answers = str_make((const char *)data + 1, size - 1);
	redis_listen();
	assert(pthread_create(&thread, NULL, redis_serve, NULL) == 0);
	peer_options_init(&options, 0);
	client_settings_set_text(&options.server.socket, redis.path);
	options.server.db = 1; /* so that there is a SELECT */
	options.batch = 1 + data[0] % 8;
	keys_init(&reading.keys, 1);

	peer = peer_open(&options);
	ok = peer_error(peer) == NULL && peer_count_keys(peer, &count) &&
	     peer_read(peer, take_key, take_progress, &reading);
	assert(ok == (peer_error(peer) == NULL));
	assert(!ok || reading.progress >= keys_count(&reading.keys));
	peer_close(peer);
	peer_options_done(&options);
	pthread_join(thread, NULL);
	check_keys(&reading.keys);
	keys_done(&reading.keys);
	return 0;
}
