/*
 * Verify the state.
 */
#include "engine/engine_int.h"

size_t qless_check(const struct qless *q, void (*report)(void *arg, struct qless_str finding),
		   void *arg)
{
	(void)q; (void)report; (void)arg;
	return 0;
}
