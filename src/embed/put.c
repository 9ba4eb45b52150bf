/*
 * qless_store_put().
 */
#include <stdlib.h>

#include "embed/failure.h"
#include "embed/members.h"
#include "embed/reply.h"
#include "embed/store.h"
#include "sys/entropy.h"
#include "util/mem.h"
#include "util/num.h"
#include "util/str.h"

/* Words of PUT before its options. */
#define WORDS 7
/* Random bytes of a jid that the library makes: as many as the server takes. */
#define JID_RANDOM_BYTES 16
/* The worker of PUT, which is only written to the history of a job. */
#define PRODUCER "qless-store"

int qless_store_put(struct qless_store *store, const struct qless_store_put *put,
		    struct qless_reply **ret_jid, struct qless_store_error *error)
{
	char jid[2 * JID_RANDOM_BYTES + 1], delay[NUM_MAX];
	struct client_reply reply;
	struct qless_store_put own;
	struct qless_str *argv;
	int rc = MEMBERS_READ(&own, put, error);

	if (rc == 0)
		rc = store_check_owner(store, error);
	if (rc < 0)
		return rc;
	entropy_hex(jid, JID_RANDOM_BYTES);
	argv = mem_alloc((WORDS + own.word_count) * sizeof *argv);
	argv[0] = STR("PUT");
	argv[1] = STR(PRODUCER);
	argv[2] = own.queue;
	argv[3] = own.jid.len > 0 ? own.jid : str_from(jid);
	argv[4] = own.klass;
	argv[5] = own.data.len > 0 ? own.data : STR("{}");
	argv[6] = str_make(delay, num_format_g17(delay, own.delay_s));
	for (size_t i = 0; i < own.word_count; i++)
		argv[WORDS + i] = own.words[i];
	rc = store_call(store, argv, WORDS + own.word_count, &LINK_NO_LIMITS, &reply, error);
	free(argv);
	if (rc < 0)
		return rc;
	if (ret_jid != NULL)
		*ret_jid = reply_take(&reply);
	else
		client_reply_done(&reply);
	return failure_none(error, 0);
}
