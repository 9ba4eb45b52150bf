/*
 * A whole server inside of the test process, and an internal client that submits commands to it.
 */
#ifndef TESTS_SUBMITTING_H
#define TESTS_SUBMITTING_H

#include <sys/stat.h>
#include <unistd.h>

#include "command/acl.h"
#include "config/config.h"
#include "server/loading.h"
#include "server/server_int.h"
#include "tempdir.h"
#include "unit.h"
#include "util/buf.h"

#define WORDS_MAX   16
#define ANSWERS_MAX 16

static struct tempdir dir;
static struct config config;
static struct server *server;
static struct submitter by;
/* The calls of callbacks, in order: argument, outcome and reply. */
static struct {
	const char *arg;
	enum submit_outcome outcome;
	struct buf reply;
} answers[ANSWERS_MAX];
static int answer_count;

static void note(void *arg, enum submit_outcome outcome, const struct chain *reply)
{
	struct iovec iov[64];
	int pieces = chain_peek(reply, iov, 64, reply->len);

	TEST_ASSERT_TRUE(answer_count < ANSWERS_MAX);
	answers[answer_count].arg = arg;
	answers[answer_count].outcome = outcome;
	for (int i = 0; i < pieces; i++)
		buf_append(&answers[answer_count].reply, iov[i].iov_base, iov[i].iov_len);
	answer_count++;
}

/* Submit a command whose words are separated by blanks. */
static void submit_with(struct submitter *from, const char *line, submit_fn *fn, const char *arg)
{
	struct qless_str argv[WORDS_MAX];
	int argc = 0;

	for (const char *at = line; *at != '\0'; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		TEST_ASSERT_TRUE(argc < WORDS_MAX);
		argv[argc++] = str_make(at, len);
		at += len;
	}
	server_submit(server, from, argv, argc, fn, (void *)(uintptr_t)arg);
}

static void submit(const char *line)
{
	submit_with(&by, line, note, line);
}

/* A turn waits for an event, such as the end of a sync or of a child process, however long that
 * takes on a busy machine. */
static inline void turns_until(int answered)
{
	while (answer_count < answered)
		turn_run(server, /* wait= */ true);
	TEST_ASSERT_EQUAL_INT(answered, answer_count);
}

static void start(const char *directives)
{
	struct loading_origin origin = { .limit = RECOVERY_NO_LIMIT };
	struct buf text = BUF_INIT(BUF_NO_MAX), error = BUF_INIT(4096);
	int rc;

	buf_printf(&text, "port 0\nunixsocket %s/socket\n%s", dir.path, directives);
	config_init(&config);
	rc = config_parse_text(&config, "test.conf", buf_str(&text), &error);
	TEST_ASSERT_EQUAL_INT_MESSAGE(0, rc, buf_cstr(&error));
	server = server_new(&config, NULL, &error);
	TEST_ASSERT_NOT_NULL_MESSAGE(server, buf_cstr(&error));
	TEST_ASSERT_EQUAL_INT(0, loading_run(server, &origin));
	submitter_init(&by, server, "internal:test", acl_default_user(server->env.acl));
	buf_done(&text);
	buf_done(&error);
}

static void stop(void)
{
	submitter_done(&by);
	server_free(server);
	config_done(&config);
	server = NULL;
}

void setUp(void)
{
	tempdir_init(&dir);
	TEST_ASSERT_EQUAL_INT(0, chdir(dir.path));
	for (int i = 0; i < ANSWERS_MAX; i++)
		buf_init(&answers[i].reply, BUF_NO_MAX);
	answer_count = 0;
}

void tearDown(void)
{
	if (server != NULL)
		stop();
	for (int i = 0; i < ANSWERS_MAX; i++)
		buf_done(&answers[i].reply);
	TEST_ASSERT_EQUAL_INT(0, chdir("/"));
	tempdir_done(&dir);
}

static inline void assert_answer(int i, const char *line, const char *reply)
{
	TEST_ASSERT_EQUAL_STRING(line, answers[i].arg);
	TEST_ASSERT_EQUAL_INT(SUBMIT_ANSWERED, answers[i].outcome);
	TEST_ASSERT_EQUAL_STRING(reply, buf_cstr(&answers[i].reply));
}

#endif
