#include "run/task.h"

#include <assert.h>
#include <stdlib.h>

#include "sys/clock.h"
#include "util/mem.h"

struct task *task_new(struct task **head, struct job *job)
{
	struct task *t = mem_zalloc(sizeof *t);

	t->job = *job;
	outcome_init(&t->outcome);
	t->began_us = clock_mono_us();
	t->next = *head;
	t->link = head;
	if (t->next != NULL)
		t->next->link = &t->next;
	*head = t;
	return t;
}

static void free_unused(struct task *t)
{
	if (t->state != TASK_DONE || t->requests != 0)
		return;
	job_done(&t->job);
	outcome_done(&t->outcome);
	free(t);
}

void task_finish(struct task *t)
{
	assert(t->state != TASK_DONE);
	t->state = TASK_DONE;
	*t->link = t->next;
	if (t->next != NULL)
		t->next->link = t->link;
	free_unused(t);
}

void task_hold(struct task *t)
{
	t->requests++;
}

void task_release(struct task *t)
{
	assert(t->requests > 0);
	t->requests--;
	free_unused(t);
}

struct task *task_find_slot(struct task *head, unsigned slot)
{
	while (head != NULL && (head->state != TASK_RUNNING || head->slot != slot))
		head = head->next;
	return head;
}

struct task *task_find(struct task *head, struct qless_str jid, uint64_t lock)
{
	while (head != NULL && (head->job.lock != lock || !str_equal(buf_str(&head->job.jid), jid)))
		head = head->next;
	return head;
}
