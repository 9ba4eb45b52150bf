/*
 * Code that no pure layer may contain, for the test of scripts/check-purity.sh.
 */
#include <stdio.h>
#include <time.h>

long impure_count(const char *name);

static const char *const allowed_words[] = { "no", "yes" };
static const char *forbidden_words[] = { "no", "yes" };
static long forbidden_counter;
static _Thread_local long forbidden_thread_counter;

long impure_count(const char *name)
{
	forbidden_words[forbidden_counter & 1] = name;
	puts(forbidden_words[0]);
	puts(allowed_words[++forbidden_counter & 1]);
	return (long)time(NULL) + forbidden_counter + ++forbidden_thread_counter;
}
