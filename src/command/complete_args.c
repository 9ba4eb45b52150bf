#include "command/complete_args.h"

#include "command/term_options.h"

static bool is_one_of(struct qless_str word, const struct qless_str *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal_nocase(word, words[i]))
			return true;
	}
	return false;
}

size_t complete_find_options(const struct qless_str *args)
{
	static const struct qless_str words[] = { STR_INIT("next"),    STR_INIT("delay"),
						  STR_INIT("depends"), STR_INIT("limits"),
						  STR_INIT("lock"),    STR_INIT("result") };
	struct qless_str first = args[COMPLETE_DATA_AT];
	bool is_missing = is_one_of(first, words, sizeof words / sizeof *words);

	return COMPLETE_DATA_AT + (is_missing || term_option_is(first) ? 0u : 1u);
}

size_t fail_find_options(const struct qless_str *args)
{
	static const struct qless_str words[] = { STR_INIT("error"), STR_INIT("lock") };
	bool is_missing = is_one_of(args[FAIL_DATA_AT], words, sizeof words / sizeof *words);

	return FAIL_DATA_AT + (is_missing ? 0u : 1u);
}
