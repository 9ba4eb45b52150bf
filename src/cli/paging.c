#include "cli/paging.h"

/* Jobs that one request asks for. */
#define PAGE 500

struct qless_str paging_field(const struct client_reply *fields, const char *name)
{
	for (size_t i = 0; i + 1 < fields->count; i += 2) {
		if (str_equal(client_reply_str(&fields->elements[i]), str_from(name)))
			return client_reply_str(&fields->elements[i + 1]);
	}
	return STR("");
}

void paging_add_states(struct query *q, const char *states)
{
	if (states == NULL || states[0] == '\0')
		return;
	query_text(q, "STATE");
	query_list(q, states);
}

static void make_request(const struct paging *paging, const struct buf *cursor, uint64_t left,
			 struct query *q)
{
	query_text(q, "QUEUE.JOBS");
	query_text(q, paging->queue);
	paging_add_states(q, paging->states);
	query_text(q, "CURSOR");
	query_add(q, buf_str(cursor));
	query_text(q, "COUNT");
	query_number(q, left < PAGE ? (double)left : PAGE);
	query_text(q, "WITH");
	query_words(q, paging->fields);
}

static bool is_page(const struct client_reply *reply)
{
	return reply->type == CLIENT_REPLY_ARRAY && reply->count == 2 &&
	       reply->elements[0].type == CLIENT_REPLY_STRING &&
	       reply->elements[1].type == CLIENT_REPLY_ARRAY;
}

/* Shows the jobs of a page. *left counts the jobs that may still be shown. */
static void take_page(const struct paging *paging, const struct client_reply *jobs, uint64_t *left)
{
	for (size_t i = 0; i<jobs->count && * left> 0; i++) {
		const struct client_reply *fields = &jobs->elements[i];

		if (paging->klass != NULL &&
		    !str_equal(paging_field(fields, "klass"), str_from(paging->klass)))
			continue;
		paging->each(paging->arg, fields);
		(*left)--;
	}
	if (paging->end_page != NULL)
		paging->end_page(paging->arg);
}

bool paging_run(struct cli *cli, const struct paging *paging)
{
	uint64_t left = paging->limit > 0 ? paging->limit : UINT64_MAX;
	struct buf cursor = BUF_INIT(BUF_NO_MAX);
	bool ok = true;

	buf_append_char(&cursor, '0');
	do {
		const struct client_reply *reply;
		struct query q = { 0 };

		make_request(paging, &cursor, left, &q);
		reply = cli_call_query(cli, &q);
		query_done(&q);
		ok = reply != NULL;
		if (ok && !is_page(reply)) {
			cli_complain(cli, CLI_FAILED,
				     "the reply of the server to QUEUE.JOBS is invalid");
			ok = false;
		}
		if (!ok)
			break;
		buf_clear(&cursor);
		buf_append_str(&cursor, client_reply_str(&reply->elements[0]));
		take_page(paging, &reply->elements[1], &left);
	} while (left > 0 && !str_equal(buf_str(&cursor), STR("0")) && !cli_output_is_gone());
	buf_done(&cursor);
	return ok;
}
