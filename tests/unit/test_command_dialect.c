/*
 * The words of a dialect for the errors of the engine.
 */
#include "command/dialect.h"

#include <string.h>

#include "unit.h"

static struct buf words;

void setUp(void)
{
	buf_init(&words, BUF_NO_MAX);
}

void tearDown(void)
{
	buf_done(&words);
}

static struct qless_str words_for(const struct qless_error *error)
{
	buf_clear(&words);
	dialect_append_error(&dialect_classic, error, &words);
	return buf_str(&words);
}

static void every_reason_has_words_in_every_operation(void)
{
	static const enum qless_reason reasons[] = {
#define REASON(name, code, text) name,
		QLESS_REASONS(REASON)
#undef REASON
	};
	static const enum qless_operation operations[] = {
#define OPERATION(name, word) name,
		QLESS_OPERATIONS(OPERATION)
#undef OPERATION
	};

	for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
		for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++) {
			struct qless_error error = { .reason = reasons[i],
						     .operation = operations[k] };

			TEST_ASSERT_TRUE(words_for(&error).len > 0);
		}
	}
}

static void operation_and_reason_choose_the_words(void)
{
	struct qless_error error = { .operation = QLESS_OP_FAIL,
				     .reason = QLESS_WHY_STATE,
				     .jid = STR("j1"),
				     .detail = STR("waiting") };

	/* The reference forgets a blank here. */
	ASSERT_STR("Fail(): Job j1not currently running: waiting", words_for(&error));
	error.operation = QLESS_OP_RETRY;
	ASSERT_STR("Retry(): Job j1 is not currently running: waiting", words_for(&error));
}

static void an_argument_can_have_words_of_its_own(void)
{
	struct qless_error error = { .operation = QLESS_OP_PUT,
				     .reason = QLESS_WHY_NAME_BYTES,
				     .argument = "tags",
				     .number = 64 };

	ASSERT_STR("A tag is longer than max-name-length (64 bytes)", words_for(&error));
	error.argument = "queue";
	ASSERT_STR("The queue is longer than max-name-length (64 bytes)", words_for(&error));
}

static void a_dialect_is_found_by_its_name(void)
{
	TEST_ASSERT_EQUAL_PTR(&dialect_classic, dialect_find(STR("classic")));
	TEST_ASSERT_NULL(dialect_find(STR("CLASSIC")));
	TEST_ASSERT_NULL(dialect_find(STR("")));
}

static struct qless_str history_of(const struct qless *q, const struct json_style *style)
{
	const char *begin, *end;

	buf_clear(&words);
	json_append_job(&words, qless_get(q, STR("j")), style, 0);
	begin = strstr(buf_cstr(&words), "\"history\":");
	end = strchr(begin, ']');
	return str_make(begin, (size_t)(end - begin) + 1);
}

static void the_style_names_the_queue_of_a_put(void)
{
	static const struct json_style longer = {
		JSON_EMPTY_ARRAY, JSON_EMPTY_OBJECT, JSON_PUT_QUEUE, false, false, false
	};
	struct qless *q = qless_new(NULL);
	struct qless_put put = {
		.queue = STR("mail"), .jid = STR("j"), .klass = STR("Send"), .data = STR("{}")
	};

	TEST_ASSERT_EQUAL_INT(0, qless_put(q, 7, &put));
	ASSERT_STR("\"history\":[{\"when\":7,\"q\":\"mail\",\"what\":\"put\"}]",
		   history_of(q, dialect_style(&dialect_classic, REQUEST_SCRIPT)));
	ASSERT_STR("\"history\":[{\"when\":7,\"queue\":\"mail\",\"what\":\"put\"}]",
		   history_of(q, &longer));
	qless_free(q);
}

/* The whole reply can be spelled in another way than what is inside one. */
static void the_style_spells_empty_lists(void)
{
	static const struct json_style mixed = {
		JSON_EMPTY_ARRAY, JSON_EMPTY_OBJECT, JSON_PUT_Q, false, false, false
	};
	struct json_job_list list;
	struct qless *q = qless_new(NULL);
	struct qless_put put = {
		.queue = STR("mail"), .jid = STR("j"), .klass = STR("Send"), .data = STR("{}")
	};

	json_job_list_begin(&list, &words, &mixed, 0);
	json_job_list_end(&list);
	ASSERT_STR("[]", buf_str(&words));
	TEST_ASSERT_EQUAL_INT(0, qless_put(q, 7, &put));
	buf_clear(&words);
	json_append_job(&words, qless_get(q, STR("j")), &mixed, 0);
	TEST_ASSERT_NOT_NULL(strstr(buf_cstr(&words), "\"tags\":{}"));
	qless_free(q);
}

static void a_dialect_has_defaults_of_its_own(void)
{
	static const struct dialect_option own[] = {
		{ STR_INIT("application"), STR_INIT("other") },
		{ STR_INIT("max-job-history"), { NULL, 0 } },
	};
	static const struct dialect other = { .options = own, .option_count = 2 };
	struct qless *q = qless_new(NULL);
	struct qless_option option;

	TEST_ASSERT_TRUE(dialect_find_option(&dialect_classic, q, STR("application"), &option));
	ASSERT_STR("qless", option.value);
	TEST_ASSERT_TRUE(dialect_find_option(&other, q, STR("application"), &option));
	ASSERT_STR("other", option.value);
	TEST_ASSERT_FALSE(
		dialect_find_option(&dialect_classic, q, STR("max-job-history"), &option));
	TEST_ASSERT_TRUE(dialect_find_option(&other, q, STR("max-job-history"), &option));
	ASSERT_STR("100", option.value);
	TEST_ASSERT_FALSE(dialect_find_option(&other, q, STR("heartbeat"), &option));
	TEST_ASSERT_EQUAL_INT(0, qless_config_set(q, 0, STR("heartbeat"), STR("7")));
	TEST_ASSERT_TRUE(dialect_find_option(&other, q, STR("heartbeat"), &option));
	ASSERT_STR("7", option.value);
	TEST_ASSERT_FALSE(dialect_find_option(&other, q, STR("nope"), &option));
	qless_free(q);
}

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_reason_has_words_in_every_operation);
	RUN(operation_and_reason_choose_the_words);
	RUN(an_argument_can_have_words_of_its_own);
	RUN(a_dialect_is_found_by_its_name);
	RUN(the_style_names_the_queue_of_a_put);
	RUN(a_dialect_has_defaults_of_its_own);
	RUN(the_style_spells_empty_lists);
	return UNIT_RESULT();
}
