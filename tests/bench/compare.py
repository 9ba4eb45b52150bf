#!/usr/bin/env python3
"""Measure qlessd, and redis-server where it is installed, and write Markdown.

A row is measured in rounds. In each round every contender runs once, on a new server, with the same
settings and an append-only log that is synced every second. A figure is the median of the rounds.
The contenders are:

    qlessd with native commands, and with EVALSHA as client libraries call it;
    redis-server with SET of the same payload, as a yardstick for its loop and log;
    redis-server with qless.lua, if --script names a copy that this redis-server accepts.

The tables go to standard output, with lines that say how they were made. Progress goes to standard
error.
"""

import argparse
import json
import socket
import statistics
import subprocess
import sys
import time

from results import section
from servers import (EVALSHA, NATIVE, PING, REFERENCE, SET, START_SECONDS, Server, add_arguments,
                     check_arguments, client_options, head, number, print_how, row, say)

TITLES = {
    NATIVE: "qlessd",
    EVALSHA: "qlessd, EVALSHA",
    REFERENCE: "Redis, qless.lua",
    SET: "Redis, SET",
    PING: "Redis, PING",
}

# Workload, connections, pipeline, further options, and whether the reference is fast enough to run
# it.
THROUGHPUT = [
    ("lifecycle", 64, 16, [], True),
    ("lifecycle", 16, 1, [], True),
    ("lifecycle", 1, 1, [], True),
    ("put", 64, 16, [], True),
    ("heartbeat", 64, 16, [], True),
    ("get", 64, 16, [], True),
    ("deep", 64, 16, ["--backlog", "1k"], True),
    ("deep", 64, 16, ["--backlog", "100k"], False),
    ("deep", 64, 16, ["--backlog", "1M"], False),
    ("scheduled", 64, 16, ["--backlog", "1M"], False),
    ("recurring", 64, 16, [], True),
    ("fan-in", 64, 16, [], True),
    ("chain", 64, 16, [], True),
    ("tags", 64, 16, [], True),
    ("priorities", 64, 16, [], True),
    ("many-queues", 64, 16, [], True),
    ("mixed", 64, 16, [], True),
]
# Commands that run while another client sends PING: a name, how to prepare the server, the commands.
STALL_AFTER_SECONDS = 0.7
QUEUE = "bench-00000001-000000"
STALLS = [
    ("nothing", [], []),
    ("FLUSHALL of 1M jobs", ["--workload", "put", "--jobs", "1M"], ["FLUSHALL"]),
    ("50k completed jobs are no longer kept", ["--workload", "lifecycle", "--jobs", "60k"],
     ["CONFIG.SET jobs-history-count 0", f"PUT w {QUEUE} j k {{}} 0", f"POP {QUEUE} w 1",
      f"COMPLETE j w {QUEUE} {{}}"]),
    ("POP of 10k jobs", ["--workload", "put", "--jobs", "20k"], [f"POP {QUEUE} w 10000"]),
]

LARGE = [("deep", 64, 16, ["--backlog", "10M"], False)]


def run(args, kind, options):
    """Run one contender once. Returns the result of qlessd-benchmark --json, or None if it failed."""
    options = client_options(args, kind, options)
    with Server(args, kind) as server:
        done = subprocess.run(
            [*args.pin_client, args.benchmark, "--port", str(server.port), "--json", *options],
            stdout=subprocess.PIPE,
            check=False,
        )
    if done.returncode != 0:
        say(f"  {TITLES[kind]}: qlessd-benchmark {' '.join(options)} failed")
        args.failed += 1
        return None
    result = json.loads(done.stdout)
    if result["warning"]:
        say(f"  {TITLES[kind]}: {result['warning']}")
    return result


def measure_all(args, plans):
    """Run all rounds of several plans in turns. A plan is the contenders and their options. Returns
    the results by contender, for each plan."""
    results = [{kind: [] for kind in kinds} for kinds, _ in plans]
    for _ in range(args.rounds):
        for (kinds, options), got in zip(plans, results):
            for kind in kinds:
                got[kind].append(run(args, kind, options))
    for (kinds, options), got in zip(plans, results):
        args.raw += [
            {"contender": kind, "options": options, "results": got[kind]} for kind in kinds
        ]
    return results


def measure(args, kinds, options):
    return measure_all(args, [(kinds, options)])[0]


def median(results, *path):
    """The median of the figure at a path of keys, or None if no result has it."""
    values = []
    for value in results:
        for key in path:
            value = value.get(key) if value else None
        if value is not None:
            values.append(value)
    return statistics.median(values) if values else None


def ratio(above, below):
    return f"{above / below:.2f}" if above and below else "-"


def speed(results):
    """Jobs a second, or commands if there are no jobs."""
    return median(results, "jobs_per_second") or median(results, "commands_per_second")


def settings(workload, connections, pipeline, more):
    options = ["--workload", workload, "--connections", str(connections)]
    return options + ["--pipeline", str(pipeline), *more]


def groups_of(rows):
    """Groups of rows. Those with a backlog are one group, because they are compared with each other."""
    with_backlog = [line for line in rows if line[3]]
    done = False
    for line in rows:
        if not line[3]:
            yield [line]
        elif not done:
            yield with_backlog
            done = True


def plan(args, workload, connections, pipeline, more, for_reference):
    """The contenders of a row, and their options."""
    kinds = [NATIVE, EVALSHA]
    if args.redis:
        kinds.append(SET)
    if args.script and for_reference:
        kinds.append(REFERENCE)
    options = settings(workload, connections, pipeline, more)
    return kinds, [*options, "--duration", str(args.duration), "--warmup", str(args.duration / 10)]


def of_backlogs(lines):
    """Print the speed relative to that with the first backlog: medians of the ratios of a round."""
    if len(lines) < 2:
        return
    print(f"\nRelative to {lines[0][0]} in the same round, qlessd had", end=" ")
    parts = []
    for name, _, got in lines[1:]:
        pairs = [b["commands_per_second"] / a["commands_per_second"]
                 for a, b in zip(lines[0][2][NATIVE], got[NATIVE]) if a and b]
        parts.append(f"{number(statistics.median(pairs) if pairs else None)} with {name}")
    print(", ".join(parts) + ".")


def explain(args):
    """How the figures of a section were made."""
    words = ["tests/bench/compare.py", "--rounds", str(args.rounds)]
    words += ["--duration", f"{args.duration:g}", *(["--only", args.only] if args.only else [])]
    print_how(args, words)
    print(f"Medians of {args.rounds} runs; contenders take turns. Client and server share one")
    print("machine. The log is synced every second, and the payload has 100 bytes.\n")


def throughput(args, rows):
    with section("Throughput", args.results):
        explain(args)
        print("Jobs a second, or commands if a workload finishes no jobs.\n")
        measured = measure_throughput(args, rows)
    with section("Processor time", args.results):
        explain(args)
        print("Microseconds of the server's processor time for each command. The time of other")
        print("processes is not included, but a shared core or cache makes every command slower.\n")
        head("workload", "clients", "qlessd", "EVALSHA", "qless.lua on Redis", "SET of Redis",
             "ratio")
        for name, clients, got in measured:
            each = {kind: median(of, "server_us_per_command") for kind, of in got.items()}
            row([name, clients,
                 *(number(each.get(kind)) for kind in (NATIVE, EVALSHA, REFERENCE, SET)),
                 ratio(each.get(SET), each[NATIVE])])


def measure_throughput(args, rows):
    """Print a row for each workload. Returns a name, the clients and the results for each."""
    head("workload", "clients", "qlessd", "EVALSHA", "qless.lua on Redis", "times",
         "commands/s of qlessd", "SET of Redis", "ratio")
    measured = []
    for group in groups_of(rows):
        names = [" ".join([workload, *more[1:2]]) for workload, _, _, more, _ in group]
        say(", ".join(names))
        results = measure_all(args, [plan(args, *line) for line in group])
        for name, line, got in zip(names, group, results):
            clients = f"{line[1]} × {line[2]}"
            native, other = got[NATIVE], got.get(REFERENCE, [])
            commands = median(native, "commands_per_second")
            yardstick = median(got.get(SET, []), "commands_per_second")
            row([name, clients, number(speed(native)), number(speed(got[EVALSHA])),
                 number(speed(other)) if other else "-",
                 ratio(speed(native), speed(other)) if other else "-",
                 number(commands), number(yardstick), ratio(commands, yardstick)])
            measured.append((name, clients, got))
    of_backlogs([line for line in measured if len(line[0].split()) > 1])
    return measured


def memory(args):
    jobs = {NATIVE: args.memory_jobs, REFERENCE: args.memory_jobs // 10}
    print("Resident memory for each waiting job, with 100 bytes of data and a jid of 32.\n")
    head("server", "jobs", "bytes a job")
    for kind in [NATIVE] + ([REFERENCE] if args.script else []):
        say(f"memory, {TITLES[kind]}")
        options = settings("put", 64, 16, ["--jobs", str(jobs[kind])])
        got = measure(args, [kind], options)[kind]
        grown = [(r["rss_after"] - r["rss_before"]) / r["jobs"] for r in got if r]
        row([TITLES[kind], f"{jobs[kind]:,}", number(statistics.median(grown) if grown else None)])


def latency_row(title, results):
    keys = ("p50_us", "p90_us", "p99_us", "p99.9_us", "p99.99_us", "max_us")
    row([title, *(number(median(results, "latency", "all", key)) for key in keys)])


def half_of_maximum(args):
    """Half of the commands a second that 64 connections reach if each waits for every reply."""
    say("the rate for latencies")
    options = settings("lifecycle", 64, 1, ["--duration", str(args.duration)])
    return int((median(measure(args, [NATIVE], options)[NATIVE], "commands_per_second") or 0) / 2)


def latency(args):
    rate = args.rate or half_of_maximum(args)
    print(f"Microseconds at {rate:,} requests a second on 64 connections.")
    print("The clock of a request starts at its scheduled time, even if it is sent later.\n")
    head("server", "p50", "p90", "p99", "p99.9", "p99.99", "max")
    kinds = [NATIVE, EVALSHA] + ([PING] if args.redis else [])
    options = ["--workload", "lifecycle", "--connections", "64", "--rate", str(rate)]
    options += ["--duration", str(args.duration), "--warmup", str(args.duration / 10)]
    say(f"latency at {rate}")
    for kind, results in measure(args, kinds, options).items():
        latency_row(TITLES[kind] + (", lifecycle" if kind in (NATIVE, EVALSHA) else ""), results)
    options[1] = "mixed"
    options += ["--backlog", "1M", "--queues", "10k"]
    say("latency with many jobs and queues")
    latency_row("qlessd, mixed, 1M jobs in 10k queues", measure(args, [NATIVE], options)[NATIVE])


def send(port, lines):
    """Send inline commands, and return when the last of them has its reply."""
    with socket.create_connection(("127.0.0.1", port), START_SECONDS) as s:
        replies = s.makefile("rb")
        for line in lines:
            s.sendall(line.encode() + b"\r\n")
            header = replies.readline()
            if header.startswith(b"$") and not header.startswith(b"$-"):
                replies.readline()


def stall(args, prepare, lines):
    """The longest time of a PING in microseconds while the commands run."""
    with Server(args, NATIVE) as server:
        command = [*args.pin_client, args.benchmark, "--port", str(server.port), "--json"]
        if prepare:
            subprocess.run([*command, "--pipeline", "16", "--seed", "1", *prepare], check=True,
                           stdout=subprocess.DEVNULL)
        pings = ["--workload", "ping", "--rate", "2000", "--duration", str(2 * STALL_AFTER_SECONDS)]
        with subprocess.Popen([*command, *pings], stdout=subprocess.PIPE) as process:
            time.sleep(STALL_AFTER_SECONDS)
            send(server.port, lines)
            return json.loads(process.stdout.read())["latency"]["all"]["max_us"]


def stalls(args):
    print("The longest time that another client waits for the reply to a PING, in microseconds,")
    print("while the server does something large.\n")
    head("what", "qlessd")
    for name, prepare, lines in STALLS:
        say(name)
        row([name, number(statistics.median(stall(args, prepare, lines)
                                            for _ in range(args.rounds)))])


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--duration", type=float, default=3, metavar="SECONDS",
                        help="of each run, after a warm-up of a tenth")
    parser.add_argument("--only", metavar="WORKLOADS",
                        help="comma-separated workloads, or memory, latency, stalls")
    parser.add_argument("--large", action="store_true", help="also a backlog of ten million jobs")
    parser.add_argument("--rate", type=int,
                        help="for the latencies; half of the maximum of 64 connections "
                             "unless given")
    parser.add_argument("--memory-jobs", type=int, default=1000000, metavar="N")
    add_arguments(parser)
    args = check_arguments(parser)
    args.failed = 0
    return args


def main():
    args = parse()
    rows = THROUGHPUT + (LARGE if args.large else [])
    if args.only:
        rows = [r for r in rows if r[0] in args.only.split(",")]
    if rows:
        throughput(args, rows)
    for title, name, measure_it in [("Memory", "memory", memory), ("Latency", "latency", latency),
                                    ("Stalls", "stalls", stalls)]:
        if not args.only or name in args.only.split(","):
            with section(title, args.results):
                explain(args)
                measure_it(args)
    if args.raw_file:
        with open(args.raw_file, "w", encoding="utf-8") as file:
            json.dump(args.raw, file, indent=1)
    if args.failed:
        sys.exit(f"{args.failed} runs failed and were left out")


main()
