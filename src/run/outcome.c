#include "run/outcome.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "run/answer.h"
#include "run/capture.h"
#include "util/hash.h"

/* The part of a delay that may be taken off, so that jobs that failed together do not come back
 * together. */
#define JITTER 0.2
/* Bytes of a line that is no answer which the message quotes. */
#define NONSENSE_MAX ((size_t)200)

void outcome_init(struct outcome *o)
{
	*o = (struct outcome){ .kind = OUTCOME_NONE };
	buf_init(&o->result, BUF_NO_MAX);
	buf_init(&o->group, BUF_NO_MAX);
	buf_init(&o->message, BUF_NO_MAX);
}

void outcome_done(struct outcome *o)
{
	buf_done(&o->result);
	buf_done(&o->group);
	buf_done(&o->message);
}

/* Exponential, minus up to a fifth by a hash of the jid and the attempt. */
static double find_delay(const struct outcome_rules *rules, const struct job *job)
{
	int64_t attempt = job_attempt(job);
	double delay = rules->backoff_base_s * exp2((double)(attempt - 1));
	double part = (double)(hash_bytes((uint64_t)attempt, buf_str(&job->jid)) >> 11) / 0x1p53;

	if (!(delay < rules->backoff_max_s))
		delay = rules->backoff_max_s;
	return floor(delay * (1 - JITTER * part) * 1000) / 1000;
}

static void retry(struct outcome *o, const struct outcome_rules *rules, const struct job *job)
{
	o->kind = OUTCOME_RETRY;
	o->has_delay = !job->has_backoff;
	if (o->has_delay)
		o->delay_s = find_delay(rules, job);
}

/* The message is what the program said. If it said nothing, or if that does not explain enough,
 * something about the program comes first. */
static void add_message(struct outcome *o, const struct outcome_rules *rules,
			const struct outcome_run *run, const char *about, bool is_needed)
{
	struct buf words = BUF_INIT(BUF_NO_MAX);

	capture_append_last_lines(&words, run->errors, run->ended.are_errors_cut != 0,
				  rules->message_max - strlen(about) - 2);
	if (is_needed || words.len == 0)
		buf_printf(&o->message, "%s%s", about, words.len != 0 ? ":\n" : "");
	buf_append_str(&o->message, buf_str(&words));
	buf_done(&words);
}

static void decide_exit(struct outcome *o, const struct outcome_rules *rules, const struct job *job,
			const struct outcome_run *run)
{
	int status = run->ended.value;
	char about[64];

	if (status == 0 && !rules->is_by_lines) {
		o->kind = OUTCOME_COMPLETE;
		capture_append_text(&o->result, run->result, rules->result_max);
		return;
	}
	if (status == 0) {
		retry(o, rules, job);
		buf_append_str(&o->group, STR("no-answer"));
		add_message(o, rules, run, "the program ended without an answer", true);
		return;
	}
	if (status == OUTCOME_TRY_AGAIN)
		retry(o, rules, job);
	else
		o->kind = OUTCOME_FAIL;
	buf_printf(&o->group, "exit-%d", status);
	snprintf(about, sizeof about, "the program ended with status %d", status);
	add_message(o, rules, run, about, false);
}

static void decide_signal(struct outcome *o, const struct outcome_rules *rules,
			  const struct outcome_run *run)
{
	const char *name = sigabbrev_np(run->ended.value);
	char text[16], about[64];

	if (name == NULL) {
		snprintf(text, sizeof text, "%d", (int)run->ended.value);
		name = text;
	}
	o->kind = OUTCOME_FAIL;
	buf_printf(&o->group, "signal-%s", name);
	snprintf(about, sizeof about, "a signal ended the program: %s", name);
	add_message(o, rules, run, about, true);
}

static void decide_answer(struct outcome *o, const struct outcome_rules *rules,
			  const struct job *job, const struct outcome_run *run)
{
	struct answer a;
	const char *fault = answer_init(&a, run->result, buf_str(&job->jid));

	assert(fault == NULL); /* the slot has read it */
	(void)fault;
	switch (a.status) {
	case ANSWER_COMPLETE:
		o->kind = OUTCOME_COMPLETE;
		capture_append_text(&o->result, buf_str(&a.result), rules->result_max);
		break;
	case ANSWER_RETRY:
		retry(o, rules, job);
		if (a.has_delay) {
			o->has_delay = true;
			o->delay_s = a.delay_s;
		}
		break;
	case ANSWER_FAIL:
	case ANSWER_PROGRESS:
		o->kind = OUTCOME_FAIL;
		break;
	}
	if (o->kind != OUTCOME_COMPLETE) {
		if (a.group.len != 0)
			buf_append_str(&o->group, buf_str(&a.group));
		else
			buf_append_str(&o->group, STR("answer"));
		capture_append_text(&o->message, buf_str(&a.message), rules->message_max);
	}
	answer_done(&a);
}

static void decide_nonsense(struct outcome *o, const struct outcome_rules *rules,
			    const struct outcome_run *run)
{
	o->kind = OUTCOME_FAIL;
	buf_append_str(&o->group, STR("bad-answer"));
	buf_append_str(&o->message, STR("a line of the program is no answer: "));
	capture_append_text(&o->message, run->result, NONSENSE_MAX);
	buf_append_char(&o->message, '\n');
	capture_append_last_lines(&o->message, run->errors, run->ended.are_errors_cut != 0,
				  rules->message_max - o->message.len);
}

void outcome_decide(struct outcome *o, const struct outcome_rules *rules, const struct job *job,
		    const struct outcome_run *run)
{
	switch ((enum message_cause)run->ended.cause) {
	case CAUSE_EXITED:
		decide_exit(o, rules, job, run);
		break;
	case CAUSE_SIGNALLED:
		decide_signal(o, rules, run);
		break;
	case CAUSE_NOT_STARTED:
		retry(o, rules, job);
		buf_append_str(&o->group, STR("not-started"));
		add_message(o, rules, run, "the program cannot be started", false);
		break;
	case CAUSE_ANSWERED:
		decide_answer(o, rules, job, run);
		break;
	case CAUSE_NONSENSE:
		decide_nonsense(o, rules, run);
		break;
	case CAUSE_TIMED_OUT:
		retry(o, rules, job);
		buf_append_str(&o->group, STR("timed-out"));
		add_message(o, rules, run, "the time for the program was over", true);
		break;
	case CAUSE_ORDERED:
		break;
	}
}

void outcome_decide_died(struct outcome *o, const struct outcome_rules *rules,
			 const struct job *job)
{
	retry(o, rules, job);
	buf_append_str(&o->group, STR("slot-died"));
	buf_append_str(&o->message, STR("the process that ran the program was killed"));
}

void outcome_decide_away(struct outcome *o)
{
	o->kind = OUTCOME_RETRY;
	o->has_delay = true;
	o->delay_s = 0;
	buf_append_str(&o->group, STR("away"));
	buf_append_str(&o->message, STR("the server could not be reached for too long"));
}
