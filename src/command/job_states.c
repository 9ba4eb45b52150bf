#include "command/job_states.h"

#include "command/classic_int.h"
#include "command/job_queue.h"
#include "engine/view.h"

static const struct {
	struct qless_str name;
	unsigned states;
} state_words[] = {
	{ STR_INIT("waiting"), JOB_WAITING },	{ STR_INIT("running"), JOB_RUNNING },
	{ STR_INIT("reserved"), JOB_RESERVED }, { STR_INIT("started"), JOB_STARTED },
	{ STR_INIT("stalled"), JOB_STALLED },	{ STR_INIT("scheduled"), JOB_SCHEDULED },
	{ STR_INIT("depends"), JOB_DEPENDS },	{ STR_INIT("failed"), JOB_FAILED },
	{ STR_INIT("complete"), JOB_COMPLETE },
};

unsigned job_states_find(struct qless_str word)
{
	for (size_t i = 0; i < sizeof state_words / sizeof *state_words; i++) {
		if (str_equal_nocase(state_words[i].name, word))
			return state_words[i].states;
	}
	return 0;
}

int job_states_parse(struct request *req, size_t *at, unsigned *ret_states)
{
	size_t first = *at;
	unsigned states;

	*ret_states = 0;
	while (*at < req->nargs && (states = job_states_find(req->args[*at])) != 0) {
		*ret_states |= states;
		++*at;
	}
	if (*at > first)
		return 0;
	return request_fail(req, QLESS_EBADARG,
			    "STATE must be \"waiting\", \"running\", \"reserved\", \"started\", "
			    "\"stalled\", \"scheduled\", \"depends\", \"failed\" or "
			    "\"complete\"; found \"%S\"",
			    request_text(req, *at));
}

static bool is_started(const struct qless_job *job, const struct qless_job_info *info)
{
	struct qless_account account;

	return info->carries && qless_job_account(job, &account) && account.is_started;
}

static bool is_due(const struct request *req, const struct qless_job *job)
{
	return !req->is_still && view_job_due(job) <= req->now;
}

unsigned job_states_of(const struct request *req, const struct qless_job *job,
		       const struct qless_job_info *info)
{
	switch (info->state) {
	case QLESS_WAITING:
		return JOB_WAITING;
	case QLESS_RUNNING:
		if (info->expires <= req->now)
			return JOB_STALLED;
		return is_started(job, info) ? JOB_STARTED : JOB_RESERVED;
	case QLESS_STALLED:
		return JOB_STALLED;
	case QLESS_SCHEDULED:
		return is_due(req, job) ? JOB_WAITING : JOB_SCHEDULED;
	case QLESS_DEPENDS:
		return JOB_DEPENDS;
	case QLESS_FAILED:
		return JOB_FAILED;
	case QLESS_COMPLETE:
		break;
	}
	return JOB_COMPLETE;
}

struct qless_str job_state_word(const struct request *req, const struct qless_job *job,
				const struct qless_job_info *info)
{
	unsigned state = job_states_of(req, job, info);

	for (size_t i = 0; i < sizeof state_words / sizeof *state_words; i++) {
		if (state_words[i].states & state)
			return state_words[i].name;
	}
	return qless_state_text(info->state);
}

unsigned job_states_match(const struct request *req, unsigned states, const struct qless_job *job,
			  const struct qless_job_info *info)
{
	unsigned state = job_states_of(req, job, info) & states;
	struct qless_str queue;

	if (state == 0 || !job_queue_find(req->engine, job, info, &queue) ||
	    !str_equal(queue, req->args[0]))
		return 0;
	return state;
}
