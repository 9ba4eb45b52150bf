#include "judge.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A worker does one thing after the other, and processes are numbered from 0. */
#define PROCESSES_MAX 65536
/* Findings that are written. A broken server has too many of them to read. */
#define WRITTEN_MAX 20

/* One hand-out that a worker learned of. */
struct hand_out {
	uint64_t lock;
	uint64_t at;	    /* index of the entry in the history */
	uint64_t sent_at;   /* index of the last request under this lock, or 0 */
	double time;	    /* when the worker learned of it */
	double lease_until; /* end of the lock and its grace period, as the worker knows */
	double good_until;  /* before this time, no other worker may get the job */
	double killed_at;   /* when its worker was killed, or 0 */
	uint64_t round;	    /* of that kill */
	unsigned returns;   /* how often COMPLETE or RETRY was sent, after which the lock may end */
	bool server_died;   /* after the hand-out */
	bool was_attached;  /* when its worker was killed */
	struct hand_out *next_of_process;
};

struct job {
	struct hand_out **hand_outs; /* by number */
	size_t count;
	bool is_put_sent, is_put;
	bool is_complete_sent;
	uint64_t completed_by; /* lock under which COMPLETE was acknowledged, or 0 */
};

enum attachment {
	UNATTACHED,
	ATTACHING, /* it has sent the request */
	ATTACHED,
};

struct process {
	struct hand_out *held;		/* all hand-outs that it learned of, the last one first */
	struct history_entry last_sent; /* under a lock */
	enum attachment attachment;
	uint64_t name; /* of an attached worker, plus 1 */
};

struct judge {
	struct judge_options options;
	FILE *findings;
	uint64_t next; /* entry to read */
	struct job *jobs;
	uint64_t job_count;
	uint64_t *owners; /* by lock: the job, plus 1 */
	uint64_t owner_count;
	uint64_t round; /* of the last kill of a worker */
	struct process processes[PROCESSES_MAX];
	struct judge_counts counts;
};

struct judge *judge_new(const struct judge_options *options, FILE *findings)
{
	struct judge *j = calloc(1, sizeof *j);

	assert(j != NULL);
	j->options = *options;
	j->findings = findings;
	return j;
}

void judge_free(struct judge *j)
{
	if (j == NULL)
		return;
	for (uint64_t i = 0; i < j->job_count; i++) {
		for (size_t k = 0; k < j->jobs[i].count; k++)
			free(j->jobs[i].hand_outs[k]);
		free(j->jobs[i].hand_outs);
	}
	free(j->jobs);
	free(j->owners);
	free(j);
}

const struct judge_counts *judge_counts(const struct judge *j)
{
	return &j->counts;
}

static void find(struct judge *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void find(struct judge *j, const char *format, ...)
{
	va_list args;

	if (++j->counts.findings > WRITTEN_MAX)
		return;
	va_start(args, format);
	vfprintf(j->findings, format, args);
	va_end(args);
	fputc('\n', j->findings);
}

/* Grow an array to more than `index` elements, with zeros. */
static void *reach(void *array, uint64_t *count, uint64_t index, size_t size)
{
	uint64_t more = *count;

	if (index < *count)
		return array;
	while (more <= index)
		more = more * 2 + 1024;
	array = realloc(array, more * size);
	assert(array != NULL);
	memset((char *)array + *count * size, 0, (more - *count) * size);
	*count = more;
	return array;
}

static struct job *job_of(struct judge *j, uint64_t number)
{
	j->jobs = reach(j->jobs, &j->job_count, number, sizeof *j->jobs);
	return &j->jobs[number];
}

static struct hand_out *find_hand_out(const struct job *job, uint64_t lock)
{
	for (size_t i = 0; i < job->count; i++) {
		if (job->hand_outs[i]->lock == lock)
			return job->hand_outs[i];
	}
	return NULL;
}

/* The hand-outs before and after this number, or NULL. */
static struct hand_out *hand_out_before(const struct job *job, uint64_t lock)
{
	struct hand_out *found = NULL;

	for (size_t i = 0; i < job->count && job->hand_outs[i]->lock < lock; i++)
		found = job->hand_outs[i];
	return found;
}

static struct hand_out *hand_out_after(const struct job *job, uint64_t lock)
{
	for (size_t i = 0; i < job->count; i++) {
		if (job->hand_outs[i]->lock > lock)
			return job->hand_outs[i];
	}
	return NULL;
}

static struct hand_out *add_hand_out(struct judge *j, struct job *job,
				     const struct history_entry *e, uint64_t at)
{
	struct process *process = &j->processes[e->process];
	struct hand_out *h = calloc(1, sizeof *h);
	size_t i = job->count;

	job->hand_outs = realloc(job->hand_outs, (job->count + 1) * sizeof(struct hand_out *));
	assert(h != NULL && job->hand_outs != NULL);
	for (; i > 0 && job->hand_outs[i - 1]->lock > e->lock; i--)
		job->hand_outs[i] = job->hand_outs[i - 1];
	job->hand_outs[i] = h;
	job->count++;
	*h = (struct hand_out){
		.lock = e->lock,
		.at = at,
		.time = e->time,
		.lease_until = e->expires + j->options.grace_s,
		.next_of_process = process->held,
	};
	h->good_until = process->attachment == ATTACHED ? INFINITY : h->lease_until;
	process->held = h;
	return h;
}

/* Check that a lock had ended when a worker learned of the next one. */
static void check_succession(struct judge *j, uint64_t number, const struct hand_out *earlier,
			     const struct hand_out *later)
{
	if (earlier == NULL || later == NULL || earlier->returns > 0)
		return;
	if (later->time < earlier->good_until)
		find(j,
		     "job %llu is handed out with lock %llu, %.4f seconds before lock %llu could "
		     "end",
		     (unsigned long long)number, (unsigned long long)later->lock,
		     earlier->good_until - later->time, (unsigned long long)earlier->lock);
}

static void count_return(struct judge *j, const struct hand_out *earlier,
			 const struct hand_out *later)
{
	struct judge_returns *returns;
	double lateness;

	if (earlier == NULL || earlier->returns > 0)
		return;
	j->counts.expired++;
	/* A process that was killed later may have taken the job without a trace. */
	if (earlier->killed_at == 0 || earlier->server_died || earlier->round != j->round)
		return;
	returns = earlier->was_attached ? &j->counts.attached_returns : &j->counts.returns;
	lateness = later->time - fmax(earlier->good_until, earlier->killed_at);
	returns->count++;
	returns->sum_s += lateness;
	returns->max_s = fmax(returns->max_s, lateness);
}

static void read_hand_out(struct judge *j, const struct history_entry *e, uint64_t at)
{
	struct job *job = job_of(j, e->job);
	struct hand_out *h;

	j->counts.hand_outs++;
	if (!job->is_put_sent)
		find(j, "job %llu is handed out and was never put", (unsigned long long)e->job);
	/* Each number is used for one hand-out, so it is at most the number of entries that there
	 * can be. */
	if (e->lock == 0 || e->lock >= HISTORY_ENTRIES_MAX) {
		find(j, "job %llu is handed out with lock %llu", (unsigned long long)e->job,
		     (unsigned long long)e->lock);
		return;
	}
	j->owners = reach(j->owners, &j->owner_count, e->lock, sizeof *j->owners);
	if (j->owners[e->lock] != 0) {
		find(j, "lock %llu is given twice, for job %llu and for job %llu",
		     (unsigned long long)e->lock, (unsigned long long)j->owners[e->lock] - 1,
		     (unsigned long long)e->job);
		return;
	}
	j->owners[e->lock] = e->job + 1;
	if (job->completed_by != 0 && job->completed_by < e->lock)
		find(j, "job %llu is handed out with lock %llu after its completion with lock %llu",
		     (unsigned long long)e->job, (unsigned long long)e->lock,
		     (unsigned long long)job->completed_by);
	h = add_hand_out(j, job, e, at);
	check_succession(j, e->job, hand_out_before(job, e->lock), h);
	check_succession(j, e->job, h, hand_out_after(job, e->lock));
	count_return(j, hand_out_before(job, e->lock), h);
}

static void read_sent(struct judge *j, const struct history_entry *e, uint64_t at)
{
	struct hand_out *h = find_hand_out(job_of(j, e->job), e->lock);

	j->processes[e->process].last_sent = *e;
	if (h == NULL)
		return;
	h->sent_at = at;
	if (e->what != HISTORY_HEARTBEAT_SENT)
		h->returns++;
}

/* The server accepted a request under a lock. */
static struct hand_out *read_accepted(struct judge *j, const struct history_entry *e)
{
	struct job *job = job_of(j, e->job);
	struct hand_out *h = find_hand_out(job, e->lock);

	if (h == NULL)
		return NULL;
	for (size_t i = 0; i < job->count; i++) {
		if (job->hand_outs[i]->lock > e->lock && job->hand_outs[i]->at < h->sent_at) {
			find(j, "lock %llu of job %llu is accepted after lock %llu was given",
			     (unsigned long long)e->lock, (unsigned long long)e->job,
			     (unsigned long long)job->hand_outs[i]->lock);
			break;
		}
	}
	return h;
}

static void read_heartbeat(struct judge *j, const struct history_entry *e)
{
	struct hand_out *h = read_accepted(j, e);

	j->counts.heartbeats++;
	if (h == NULL)
		return;
	h->lease_until = fmax(h->lease_until, e->expires + j->options.grace_s);
	h->good_until = fmax(h->good_until, h->lease_until);
	check_succession(j, e->job, h, hand_out_after(job_of(j, e->job), e->lock));
}

static void read_completion(struct judge *j, const struct history_entry *e)
{
	struct job *job = job_of(j, e->job);

	j->counts.completions++;
	read_accepted(j, e);
	if (job->completed_by != 0)
		find(j, "job %llu is completed with lock %llu and with lock %llu",
		     (unsigned long long)e->job, (unsigned long long)job->completed_by,
		     (unsigned long long)e->lock);
	job->completed_by = e->lock;
	if (hand_out_after(job, e->lock) != NULL)
		find(j, "job %llu is handed out with lock %llu and completed with lock %llu",
		     (unsigned long long)e->job,
		     (unsigned long long)hand_out_after(job, e->lock)->lock,
		     (unsigned long long)e->lock);
}

static void read_refusal(struct judge *j, const struct history_entry *e)
{
	const struct history_entry *sent = &j->processes[e->process].last_sent;
	struct hand_out *h = find_hand_out(job_of(j, sent->job), sent->lock);

	j->counts.refusals++;
	if (h != NULL && h->returns <= (sent->what != HISTORY_HEARTBEAT_SENT) &&
	    e->time < h->good_until)
		find(j, "lock %llu of job %llu is refused %.4f seconds before it could end",
		     (unsigned long long)sent->lock, (unsigned long long)sent->job,
		     h->good_until - e->time);
}

/* The server keeps the locks that have not expired when the worker attaches. */
static void read_attached(struct judge *j, const struct history_entry *e)
{
	struct process *process = &j->processes[e->process];

	/* A server that died afterwards may have sent the reply. */
	if (process->attachment != ATTACHING)
		return;
	process->attachment = ATTACHED;
	for (struct hand_out *h = process->held; h != NULL; h = h->next_of_process) {
		if (e->time < h->lease_until - j->options.grace_s)
			h->good_until = INFINITY;
	}
}

/* A process releases all jobs of its name, which may be those of a process before it. */
static void read_release(struct judge *j, const struct history_entry *e)
{
	uint64_t name = (uint64_t)e->name + 1;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct hand_out *h = j->processes[i].name == name ? j->processes[i].held : NULL;

		for (; h != NULL; h = h->next_of_process)
			h->returns++;
	}
}

static void read_kill(struct judge *j, const struct history_entry *e)
{
	struct process *process = &j->processes[e->process];
	double released = e->time + j->options.attach_grace_s;

	j->round = e->job;
	for (struct hand_out *h = process->held; h != NULL; h = h->next_of_process) {
		h->killed_at = e->time;
		h->round = e->job;
		h->was_attached = isinf(h->good_until);
		if (process->attachment != UNATTACHED)
			h->good_until = fmin(h->good_until, released);
	}
	process->attachment = UNATTACHED;
}

/* No worker is attached to the next process, and locks expire as the log says. */
static void read_server_end(struct judge *j)
{
	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		struct hand_out *h = j->processes[i].held;

		j->processes[i].attachment = UNATTACHED;
		for (; h != NULL; h = h->next_of_process) {
			h->server_died = true;
			h->good_until = fmin(h->good_until, h->lease_until);
		}
	}
}

static void read_entry(struct judge *j, const struct history_entry *e, uint64_t at)
{
	assert(e->process < PROCESSES_MAX);
	switch ((enum happening)e->what) {
	case HISTORY_EMPTY:
		break;
	case HISTORY_PUT_SENT:
		job_of(j, e->job)->is_put_sent = true;
		break;
	case HISTORY_PUT_DONE:
		job_of(j, e->job)->is_put = true;
		j->counts.puts++;
		break;
	case HISTORY_HANDED_OUT:
		read_hand_out(j, e, at);
		break;
	case HISTORY_HEARTBEAT_SENT:
		read_sent(j, e, at);
		break;
	case HISTORY_HEARTBEAT_DONE:
		read_heartbeat(j, e);
		break;
	case HISTORY_COMPLETE_SENT:
		job_of(j, e->job)->is_complete_sent = true;
		read_sent(j, e, at);
		break;
	case HISTORY_COMPLETE_DONE:
		read_completion(j, e);
		break;
	case HISTORY_RETRY_SENT:
		read_sent(j, e, at);
		break;
	case HISTORY_RETRY_DONE:
		read_accepted(j, e);
		j->counts.retries++;
		break;
	case HISTORY_REFUSED:
		read_refusal(j, e);
		break;
	case HISTORY_ODD_REPLY:
		find(j, "process %u got a reply that its request cannot have", e->process);
		break;
	case HISTORY_ATTACH_SENT:
		j->processes[e->process].name = (uint64_t)e->name + 1;
		j->processes[e->process].attachment = ATTACHING;
		break;
	case HISTORY_ATTACH_DONE:
		read_attached(j, e);
		break;
	case HISTORY_RELEASE_SENT:
		read_release(j, e);
		break;
	case HISTORY_WORKER_KILLED:
		read_kill(j, e);
		break;
	case HISTORY_SERVER_KILLED:
	case HISTORY_SERVER_DEAD:
		read_server_end(j);
		break;
	}
}

void judge_read(struct judge *j, const struct history *h)
{
	for (uint64_t count = h->count; j->next < count; j->next++)
		read_entry(j, &h->entries[j->next], j->next);
}

void judge_settle(struct judge *j, uint64_t number, char state)
{
	const struct job *job = job_of(j, number);
	unsigned long long name = number;

	if (state == 'c') {
		if (!job->is_complete_sent)
			find(j, "job %llu is complete, but no worker completed it", name);
		return;
	}
	if (state != '-')
		find(j, "job %llu has not ended: its state begins with '%c'", name, state);
	else if (job->is_put || job->completed_by != 0)
		find(j, "job %llu is lost", name);
}
