/*
 * The words of a dialect for the errors of the engine.
 */
#include "command/dialect.h"

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

int main(int argc, char **argv)
{
	UNITY_BEGIN();
	RUN(every_reason_has_words_in_every_operation);
	RUN(operation_and_reason_choose_the_words);
	RUN(an_argument_can_have_words_of_its_own);
	RUN(a_dialect_is_found_by_its_name);
	return UNIT_RESULT();
}
