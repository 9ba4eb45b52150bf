#include "command/legacy.h"

#include "unit.h"

#include "command/databases.h"
#include "command/replay.h"
#include "util/wire.h"

static struct databases *databases;
static struct legacy legacy;
static struct buf payload, text, error;

void setUp(void)
{
	struct qless_hooks hooks = { 0 };

	databases = databases_new(2, &hooks);
	legacy_init(&legacy);
	buf_init(&payload, BUF_NO_MAX);
	buf_init(&text, BUF_NO_MAX);
	buf_init(&error, 4096);
}

void tearDown(void)
{
	databases_free(databases);
	legacy_done(&legacy);
	buf_done(&payload);
	buf_done(&text);
	buf_done(&error);
}

static void append_varint(size_t value)
{
	unsigned char bytes[WIRE_VARINT_MAX];

	buf_append(&payload, bytes, wire_put_varint(bytes, value));
}

/* Append a command in format 3. Blanks separate its words. */
static void append(unsigned db, double now, const char *words)
{
	unsigned char bytes[8];
	size_t count = 1;

	for (const char *c = words; *c != '\0'; c++)
		count += *c == ' ';
	append_varint(db);
	wire_put_double(bytes, now);
	buf_append(&payload, bytes, sizeof bytes);
	append_varint(count);
	for (; count > 0; count--, words += strcspn(words, " ") + 1) {
		append_varint(strcspn(words, " "));
		buf_append(&payload, words, strcspn(words, " "));
	}
}

static void commands_are_read_one_by_one(void)
{
	struct legacy_command command;
	struct qless_str rest;

	append(1, 1700000000.25, "pop mail w1 5");
	append(0, 2, "queues");
	rest = buf_str(&payload);
	TEST_ASSERT_TRUE(legacy_take(&legacy, &rest, &command));
	TEST_ASSERT_EQUAL_UINT(1, command.db);
	TEST_ASSERT_TRUE(command.now == 1700000000.25);
	ASSERT_STR("pop", command.name);
	TEST_ASSERT_EQUAL_size_t(3, command.count);
	ASSERT_STR("w1", command.args[1]);
	TEST_ASSERT_TRUE(legacy_mentions(&command, STR("mail")));
	TEST_ASSERT_FALSE(legacy_mentions(&command, STR("pop")));
	legacy_describe(&command, &text);
	TEST_ASSERT_EQUAL_STRING("db1 pop \"mail\" \"w1\" \"5\"", buf_cstr(&text));
	TEST_ASSERT_TRUE(legacy_take(&legacy, &rest, &command));
	TEST_ASSERT_EQUAL_size_t(0, command.count);
	TEST_ASSERT_EQUAL_size_t(0, rest.len);
}

static void an_invalid_payload_is_refused(void)
{
	static const struct qless_str bad[] = {
		STR_INIT(""),
		STR_INIT("\0"),
		STR_INIT("\0"
			 "12345678"),
		STR_INIT("\0"
			 "12345678"
			 "\0"),
		STR_INIT("\0"
			 "12345678"
			 "\1"),
		STR_INIT("\0"
			 "12345678"
			 "\1"
			 "\2"
			 "x"),
		STR_INIT("\0"
			 "12345678"
			 "\377\377\377\377\377\377\377\377\377\1"),
		STR_INIT("\377\377\377\377\377\377\377\377\377\377\377"
			 "12345678"
			 "\1"
			 "\1"
			 "x"),
	};
	struct legacy_command command;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct qless_str rest = bad[i];

		TEST_ASSERT_FALSE(legacy_take(&legacy, &rest, &command));
	}
}

/* Decode one command, and describe the operation. */
static const char *decode(const char *words)
{
	struct legacy_command command;
	struct operation op;
	struct qless_str rest;

	buf_clear(&payload);
	buf_clear(&text);
	buf_clear(&error);
	append(0, 7, words);
	rest = buf_str(&payload);
	TEST_ASSERT_TRUE(legacy_take(&legacy, &rest, &command));
	if (legacy_decode(&legacy, databases, &command, &op, &error) < 0)
		return buf_cstr(&error);
	TEST_ASSERT_TRUE(op.now == 7 || !operation_is_for_engine(&op) ||
			 op.kind == OPERATION_MAINTAIN);
	operation_describe(&op, &text);
	return buf_cstr(&text);
}

static void commands_of_clients_become_operations(void)
{
	TEST_ASSERT_EQUAL_STRING("db0 pop queue=\"q\" worker=\"w\" count=3", decode("pop q w 3"));
	TEST_ASSERT_EQUAL_STRING("db0 depends-off-all jid=\"j\"", decode("depends j off all"));
	TEST_ASSERT_EQUAL_STRING("db0 untrack jid=\"j\"", decode("track UNTRACK j"));
	TEST_ASSERT_EQUAL_STRING("db0 resolve", decode("consistencycheck resolve"));
	TEST_ASSERT_EQUAL_STRING(
		"db0 put worker=\"w\" queue=\"q\" jid=\"j\" klass=\"k\" data=\"{}\" delay=5 "
		"tags=[\"t\"]",
		decode("put w q j k {} 5 tags [\"t\"]"));
	TEST_ASSERT_EQUAL_STRING("db0 complete-many worker=\"w\" queue=\"q\" jobs=[\"a\",\"{}\"]",
				 decode("multicomplete w q b { a {}"));
}

static void listings_become_an_advance(void)
{
	TEST_ASSERT_EQUAL_STRING("db0 advance kind=pop queue=\"q\" max=3", decode("peek q 3"));
	TEST_ASSERT_EQUAL_STRING("db0 advance kind=queue queue=\"q\" max=1000",
				 decode("jobs scheduled q 0 25"));
	TEST_ASSERT_EQUAL_STRING("db0 advance kind=queue queue=\"q\" max=1000", decode("queues q"));
	TEST_ASSERT_EQUAL_STRING("db0 advance kind=known queue=\"\" max=1000", decode("queues"));
	TEST_ASSERT_EQUAL_STRING("db0 advance kind=workers queue=\"\" max=9223372036854775807",
				 decode("workers w"));
}

static void the_mark_in_place_of_data_keeps_the_data(void)
{
	TEST_ASSERT_EQUAL_STRING("db0 heartbeat jid=\"j\" worker=\"w\" keeps-data",
				 decode("heartbeat j w ="));
	TEST_ASSERT_EQUAL_STRING(
		"db0 complete jid=\"j\" worker=\"w\" queue=\"q\" keeps-data next=\"q2\"",
		decode("complete j w q = next q2"));
	TEST_ASSERT_EQUAL_STRING(
		"db0 fail jid=\"j\" worker=\"w\" group=\"g\" message=\"=\" keeps-data",
		decode("fail j w g = ="));
}

static void changes_other_than_queue_commands_become_operations(void)
{
	TEST_ASSERT_EQUAL_STRING("db0 flush", decode("@flush"));
	TEST_ASSERT_EQUAL_STRING("db0 maintain", decode("@maintain"));
	TEST_ASSERT_EQUAL_STRING("db0 script-added sha=\"5c6b\" dialect=\"classic\"",
				 decode("@script 5c6b classic"));
	TEST_ASSERT_EQUAL_STRING("db0 scripts-cleared", decode("@script-flush"));
	TEST_ASSERT_EQUAL_STRING("db0 user-set name=\"joe\" rules=[\"on\",\"#...\"]",
				 decode("@user joe e3 on #5e88"));
	TEST_ASSERT_EQUAL_STRING("db0 user-deleted name=\"joe\"", decode("@user-gone joe e3"));
	TEST_ASSERT_EQUAL_STRING("db0 user-as-configured name=\"joe\"",
				 decode("@user-configured joe"));
}

static void errors_name_the_command_that_cannot_be_decoded(void)
{
	TEST_ASSERT_EQUAL_STRING("there is no command put2", decode("put2 w q"));
	TEST_ASSERT_EQUAL_STRING("there is no command get", decode("get j"));
	TEST_ASSERT_EQUAL_STRING("@script has too few arguments", decode("@script 5c6b"));
	TEST_ASSERT_EQUAL_STRING("pop cannot be read: Pop(): Arg \"worker\" missing",
				 decode("pop q"));
	TEST_ASSERT_EQUAL_STRING("requeue cannot be read: Requeue(): Job j does not exist",
				 decode("requeue w q j k {} 0"));
}

static int apply(void *arg, const struct operation *op, struct buf *ret_error)
{
	(void)arg;
	return databases_apply(databases, op, ret_error);
}

static int replay(uint64_t *ret_count)
{
	struct replay r;
	int rc;

	replay_init(&r, databases, apply, NULL);
	*ret_count = 0;
	buf_clear(&error);
	rc = replay_commands(&r, buf_str(&payload), ret_count, &error);
	replay_done(&r);
	return rc;
}

static void replay_stops_at_the_first_failure(void)
{
	uint64_t count;

	append(1, 1, "put w q j k {} 0");
	append(1, 2, "pop q w 1");
	append(1, 3, "complete j w q =");
	TEST_ASSERT_EQUAL_INT(0, replay(&count));
	TEST_ASSERT_EQUAL_UINT64(3, count);
	buf_clear(&payload);
	append(1, 4, "pause q");
	append(1, 5, "heartbeat j w =");
	append(1, 6, "unpause q");
	TEST_ASSERT_EQUAL_INT(QLESS_ENOTRUNNING, replay(&count));
	TEST_ASSERT_EQUAL_UINT64(1, count);
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&error), "heartbeat was refused: "));
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&error), "job j is not running"));
	buf_clear(&payload);
	append(2, 1, "pause q");
	TEST_ASSERT_LESS_THAN_INT(0, replay(&count));
	TEST_ASSERT_EQUAL_STRING("there is no database 2: see the directive databases",
				 buf_cstr(&error));
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(commands_are_read_one_by_one);
	RUN(an_invalid_payload_is_refused);
	RUN(commands_of_clients_become_operations);
	RUN(listings_become_an_advance);
	RUN(the_mark_in_place_of_data_keeps_the_data);
	RUN(changes_other_than_queue_commands_become_operations);
	RUN(errors_name_the_command_that_cannot_be_decoded);
	RUN(replay_stops_at_the_first_failure);
	return UNIT_RESULT();
}
