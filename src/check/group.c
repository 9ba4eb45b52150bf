/*
 * The group, the vote and the end of the log.
 */
#include "check/group.h"

#include <inttypes.h>
#include <stdio.h>

#include "journal/vote.h"

static void print_vote(const char *dir)
{
	struct buf error = BUF_INIT(8192);
	struct vote vote;

	if (vote_read(&vote, &journal_io_system, dir, &error) < 0)
		printf("vote: %s\n", buf_cstr(&error));
	else if (vote.content.node == 0)
		printf("node: %" PRIu64 ", term: %" PRIu64 ", no vote in this term\n",
		       vote.identity.node, vote.content.term);
	else
		printf("node: %" PRIu64 ", term: %" PRIu64 ", vote for node %" PRIu64 "\n",
		       vote.identity.node, vote.content.term, vote.content.node);
	buf_done(&error);
}

void group_print(const char *dir, const struct recovery *r)
{
	uint64_t last = r->log_end - 1;

	printf("group: ");
	for (size_t i = 0; i < sizeof r->manifest.group; i++)
		printf("%02x", r->manifest.group[i]);
	putchar('\n');
	print_vote(dir);
	if (last > r->last_sequence && !r->limited)
		printf("entries %" PRIu64 " to %" PRIu64
		       " are not known to be committed and were not applied\n",
		       r->last_sequence + 1, last);
}
