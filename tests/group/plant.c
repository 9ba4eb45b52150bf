/*
 * Faults for a qlessd that tests are to find something wrong with. The linker puts these functions
 * in the place of the real ones (-Wl,--wrap). The environment variable QLESSD_PLANTED names the
 * fault:
 *
 *	early-reply	replies leave before most nodes have what they tell of
 *	lost-vote	votes are not stored
 */
#include <stdlib.h>
#include <string.h>

#include "journal/journal_group.h"
#include "server/gate.h"

void __real_gate_advance(struct gate *g, uint64_t durable, uint64_t last);
void __wrap_gate_advance(struct gate *g, uint64_t durable, uint64_t last);
void __real_journal_store_vote(struct journal *j, struct journal_vote vote);
void __wrap_journal_store_vote(struct journal *j, struct journal_vote vote);

static bool is_planted(const char *name)
{
	const char *planted = getenv("QLESSD_PLANTED");

	return planted != NULL && strcmp(planted, name) == 0;
}

void __wrap_gate_advance(struct gate *g, uint64_t durable, uint64_t last)
{
	__real_gate_advance(g, is_planted("early-reply") ? last : durable, last);
}

/* journal_is_vote_stored() goes on to say that there is none to store. */
void __wrap_journal_store_vote(struct journal *j, struct journal_vote vote)
{
	if (!is_planted("lost-vote"))
		__real_journal_store_vote(j, vote);
}
