/*
 * usage: core_sim [--from SEED] [--count N] [--fault NAME [--find]]
 *        core_sim --seed SEED [--fault NAME] [--verbose]
 *
 * Simulate groups of nodes, one for each seed, and check that the core keeps its promises. Every
 * seed runs in a process of its own, because a failed assertion ends it. Prints the seeds that
 * fail, and what happened in all of them.
 *
 *   --fault NAME   plant an error: early-reply or lost-vote
 *   --find         succeed if a seed finds the planted error, and stop there
 *   --seed SEED    run one seed in this process
 *   --verbose      print each action
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_world.h"
#include "util/mem.h"

static const char *const fault_names[] = { "none", "early-reply", "lost-vote" };

struct settings {
	uint64_t from, count, seed;
	enum world_fault fault;
	bool is_one, is_finding, is_verbose;
};

/* The result of a child process, in memory that it shares with its parent. */
struct result {
	struct world_counts counts;
	uint64_t digest;
};

static int run_one(const struct settings *s, uint64_t seed, struct result *result)
{
	struct world *w = mem_zalloc(sizeof *w);

	w->seed = seed;
	w->fault = s->fault;
	w->is_talkative = s->is_verbose;
	world_run(w);
	result->counts = w->counts;
	result->digest = w->digest;
	free(w);
	return 0;
}

/* Returns whether the seed is good. Prints the output of a bad one. */
static bool run_in_child(const struct settings *s, uint64_t seed, struct result *result)
{
	char output[4000];
	size_t len = 0;
	ssize_t got;
	int pipes[2], status;
	pid_t child;

	if (pipe(pipes) != 0 || (child = fork()) < 0) {
		perror("core_sim");
		exit(2);
	}
	if (child == 0) {
		struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		dup2(pipes[1], STDOUT_FILENO);
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[0]);
		exit(run_one(s, seed, result));
	}
	close(pipes[1]);
	while ((got = read(pipes[0], output + len, sizeof output - 1 - len)) > 0)
		len += (size_t)got;
	close(pipes[0]);
	output[len] = '\0';
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	printf("seed %llu: %s", (unsigned long long)seed,
	       output[0] != '\0' ? output : "ended without a word\n");
	return false;
}

static void add(struct world_counts *sum, const struct world_counts *counts)
{
	sum->commits += counts->commits;
	sum->leaders += counts->leaders;
	sum->installs += counts->installs;
	sum->changes += counts->changes;
	sum->cuts += counts->cuts;
	sum->crashes += counts->crashes;
	sum->bases += counts->bases;
	sum->transfers += counts->transfers;
}

static int run_many(const struct settings *s, const char *program)
{
	struct result *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct world_counts sum = { 0 };
	uint64_t good = 0, bad = 0, first_bad = 0, digest = 0;

	if (shared == MAP_FAILED) {
		perror("core_sim");
		return 2;
	}
	for (uint64_t seed = s->from; seed < s->from + s->count; seed++) {
		fflush(stdout);
		memset(shared, 0, sizeof *shared);
		if (run_in_child(s, seed, shared)) {
			good++;
			add(&sum, &shared->counts);
			/* The same seed takes the same course, or a failure could not be repeated.
			 */
			if (seed % 100 == 1) {
				digest = shared->digest;
				if (!run_in_child(s, seed, shared) || shared->digest != digest) {
					printf("seed %llu takes another course\n",
					       (unsigned long long)seed);
					bad++;
				}
			}
			continue;
		}
		bad++;
		if (first_bad == 0)
			first_bad = seed;
		if (s->is_finding)
			break;
	}
	printf("%llu good, %llu bad; %llu commits, %llu leaders, %llu cuts, %llu crashes, %llu "
	       "changes, "
	       "%llu snapshots, %llu installed, %llu transfers\n",
	       (unsigned long long)good, (unsigned long long)bad, (unsigned long long)sum.commits,
	       (unsigned long long)sum.leaders, (unsigned long long)sum.cuts,
	       (unsigned long long)sum.crashes, (unsigned long long)sum.changes,
	       (unsigned long long)sum.bases, (unsigned long long)sum.installs,
	       (unsigned long long)sum.transfers);
	if (first_bad != 0)
		printf("to repeat: %s --seed %llu --verbose%s%s\n", program,
		       (unsigned long long)first_bad, s->fault != FAULT_NONE ? " --fault " : "",
		       s->fault != FAULT_NONE ? fault_names[s->fault] : "");
	if (s->is_finding && bad == 0)
		printf("the planted error was not found\n");
	return s->is_finding == (bad != 0) ? 0 : 1;
}

static enum world_fault find_fault(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (strcmp(name, fault_names[i]) == 0)
			return (enum world_fault)i;
	fprintf(stderr, "core_sim: no such fault: %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "from", required_argument, NULL, 'f' },
		{ "count", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "fault", required_argument, NULL, 'p' },
		{ "find", no_argument, NULL, 'F' },
		{ "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	struct settings s = { .from = 1, .count = 100 };
	struct result result;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			s.from = strtoull(optarg, NULL, 10);
			break;
		case 'c':
			s.count = strtoull(optarg, NULL, 10);
			break;
		case 's':
			s.seed = strtoull(optarg, NULL, 10);
			s.is_one = true;
			break;
		case 'p':
			s.fault = find_fault(optarg);
			break;
		case 'F':
			s.is_finding = true;
			break;
		case 'v':
			s.is_verbose = true;
			break;
		default:
			return 2;
		}
	}
	return s.is_one ? run_one(&s, s.seed, &result) : run_many(&s, argv[0]);
}
