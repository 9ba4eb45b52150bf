#!/usr/bin/env python3
"""Measure queues whose jobs have limits, and write Markdown.

    domains   a queue with jobs for many domains, each with a rate of its own, and workers that wait;
              and the same hand-outs from a queue without limits
    live      processor time to put, pop and complete a job with a limit and without one
    tenants   a tenant with many jobs and some with few, in a queue with the order `fair`
    memory    bytes that a limit takes for each waiting job

Processor time is that of the server process, so other load on the machine hardly matters. The
latency of a pop is that of the server, without the network.
"""

import argparse
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys

from results import ROOT, section
from servers import NATIVE, Server, add_arguments, check_arguments, head, number, print_how, row, say

sys.path.insert(0, os.path.join(ROOT, "tests", "soak"))
from resp import Peer  # noqa: E402

WORKERS = 64
# Seconds in which each domain may have one job.
INTERVAL = 10
LIVE_JOBS, LIVE_NAMES, LIVE_ROUNDS = 64 * 3000, 1000, 7
TENANTS, FEW_JOBS, FAIR_POPS = 10, 10, 220
MEMORY_NAMES, MEMORY_JOBS = 50, 6000
PEER_SECONDS = 600
# Times are read with four decimals.
TIME_ERROR = 0.0002


def control(server):
    return Peer(server.port, timeout=PEER_SECONDS)


def ask(peer, *words):
    reply = peer.ask(*words)
    if isinstance(reply, Exception):
        sys.exit(f"{' '.join(words)}: {reply}")
    return reply


def info(peer):
    return dict(line.split(":", 1) for line in ask(peer, "info", "everything").splitlines()
                if ":" in line)


def processor_seconds(peer):
    figures = info(peer)
    return float(figures["used_cpu_user"]) + float(figures["used_cpu_sys"])


def client(args, *words):
    done = subprocess.run([*args.pin_client, args.client, *(str(word) for word in words)],
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in words)} failed")
    return done.stdout


# ---- domains ----

def work_domains(args, kind):
    """Let workers wait for the jobs of all domains. Returns the figures."""
    with Server(args, NATIVE, ["--appendfsync", "no"]) as server:
        peer = control(server)
        if kind == "limited":
            ask(peer, "limit.set", "domain:*", "rate", "1", "per", str(INTERVAL))
        say(f"domains, {kind}: {args.domains * args.jobs:,} jobs are put")
        client(args, "fill", server.port, "q", args.domains, args.jobs, kind)
        memory = int(info(peer)["used_memory"])
        ask(peer, "config", "resetstat")
        before = processor_seconds(peer)
        say(f"domains, {kind}: {WORKERS} workers wait for {args.seconds:g} s")
        # Without limits, the client keeps to the rate.
        pace = [] if kind == "limited" else [args.domains]
        figures = json.loads(client(args, "work", server.port, "q", WORKERS, args.domains,
                                    args.seconds, INTERVAL, *pace))
        figures["processor"] = processor_seconds(peer) - before
        after = info(peer)
        figures["memory"] = memory
        figures["turn_max_us"] = int(after["eventloop_cpu_max"])
        figures["pop_us"] = {name: float(value) for name, value in re.findall(
            r"(p[\d.]+)=([\d.]+)", after["latency_percentiles_usec_bpop"])}
        peer.close()
    figures["kind"] = kind
    args.raw.append(figures)
    return figures


def measure_domains(args):
    """The ratio is the median of several turns with limits and without, so that a short load of the
    machine does not decide it. The table shows the turns with that ratio."""
    turns = []
    for i in range(args.turns):
        kinds = ("limited", "unlimited") if i % 2 == 0 else ("unlimited", "limited")
        figures = {kind: work_domains(args, kind) for kind in kinds}
        each = [figures[kind]["processor"] / figures[kind]["jobs"]
                for kind in ("limited", "unlimited")]
        turns.append((each[0] / each[1], figures))
        say(f"domains: {each[0] / each[1]:.2f} times the processor time")
        check_domains(figures["limited"])
    turns.sort(key=lambda turn: turn[0])
    ratios = [turn[0] for turn in turns]
    ratio, figures = turns[len(turns) // 2]
    limited, unlimited = figures["limited"], figures["unlimited"]
    print(f"{args.domains * args.jobs:,} jobs of {args.domains:,} domains wait in a queue. Each "
          f"domain may have one job in {INTERVAL} s.\n{WORKERS} workers wait for jobs and complete "
          f"them, for {args.seconds:g} s. Without limits, the\nclient takes as many jobs in each "
          f"{INTERVAL} s:\n")
    head("", "with limits", "without")
    both = limited, unlimited
    row(["jobs handed out", *(number(f["jobs"]) for f in both)])
    row(["jobs of a domain, least and most",
         f"{limited['least']} and {limited['most']}", "-"])
    row(["domains that missed more than one turn", str(limited["missed"]), "-"])
    row(["shortest time between two jobs of a domain, s",
         f"{limited['shortest_gap']:.4f}", "-"])
    for name in "p50", "p99", "p99.9":
        row([f"BPOP, {name}, µs", *(number(f["pop_us"][name]) for f in both)])
    row(["longest turn of the loop, processor ms",
         *(number(f["turn_max_us"] / 1e3) for f in both)])
    row(["processor time of the server, s", *(number(f["processor"]) for f in both)])
    row(["processor time for a job, µs",
         *(number(f["processor"] * 1e6 / f["jobs"]) for f in both)])
    print(f"\nThe processor time for a job with limits is {ratio:.2f} of that without: the median of "
          f"{len(ratios)} turns, from {ratios[0]:.2f}\nto {ratios[-1]:.2f}. The limits take "
          f"{(limited['memory'] - unlimited['memory']) / (args.domains * args.jobs):.0f} "
          "bytes for each job.\n")
    require(ratio <= 1.5, "limits take more than half as much again")


def check_domains(limited):
    require(limited["shortest_gap"] >= INTERVAL - TIME_ERROR, "a domain exceeds its rate")
    require(limited["missed"] == 0, "a domain misses more than one turn")
    require(limited["pop_us"]["p99"] < 1000, "pops take a millisecond or more")


# ---- live ----

def measure_live(args):
    figures = {"limited": [], "unlimited": []}
    say("live")
    with Server(args, NATIVE, ["--appendfsync", "no"]) as server:
        peer = control(server)
        ask(peer, "limit.set", "domain:*", "concurrency", "100", "rate", "100000", "per", "1",
            "burst", "100000")
        for i in range(LIVE_ROUNDS):
            for kind in figures if i % 2 == 0 else reversed(figures):
                before = processor_seconds(peer)
                client(args, "live", server.port, "q", LIVE_NAMES, LIVE_JOBS, kind)
                figures[kind].append((processor_seconds(peer) - before) / LIVE_JOBS * 1e6)
        peer.close()
    ratio = statistics.median(b / a for a, b in zip(figures["limited"], figures["unlimited"]))
    print("A job is put, popped and completed, in pipelines. Processor time of the server for a "
          f"job, the\nmedian of {LIVE_ROUNDS} turns:\n")
    head("", "with a limit", "without", "rate with a limit")
    row(["processor time, µs", *(number(statistics.median(f)) for f in figures.values()),
         f"{ratio:.2f}"])
    print()
    args.raw.append(figures)
    require(ratio >= 0.7, "the rate with a limit is below 0.7 of that without")


# ---- tenants ----

def measure_tenants(args):
    say("tenants")
    pops, seen = 0, {}
    with Server(args, NATIVE, ["--appendfsync", "no"]) as server:
        peer = control(server)
        ask(peer, "config.set", "q-order", "fair")
        # Name 0 of the client has many jobs, and came first.
        client(args, "fill", server.port, "q", 1, args.tenant_jobs, "limited")
        for tenant in range(TENANTS):
            words = [word for i in range(FEW_JOBS) for word in (f"t{tenant}-{i}", "k", "{}")]
            ask(peer, "multiput", "client", "q", "0", "limits", f'["tenant:{tenant}"]', "jobs",
                *words)
        while sum(seen.values()) < TENANTS * FEW_JOBS and pops < 10 * FAIR_POPS:
            pops += 1
            (name,) = re.findall(r'"jid":"(\w+)-', ask(peer, "pop", "q", "worker", "1"))
            if name.startswith("t"):
                seen[name] = seen.get(name, 0) + 1
        peer.close()
    print(f"A tenant has {args.tenant_jobs:,} jobs, and {TENANTS} tenants have {FEW_JOBS} each. "
          "They share a queue with the order `fair`.\n"
          f"The jobs of the {TENANTS} are handed out within the first {pops} pops.\n")
    args.raw.append({"fair_pops": pops})
    require(pops <= FAIR_POPS, "small tenants wait for the large one")


# ---- memory ----

def measure_memory(args):
    say("memory")
    used = []
    for kind in "unlimited", "limited":
        with Server(args, NATIVE, ["--appendonly", "no"]) as server:
            peer = control(server)
            before = int(info(peer)["used_memory"])
            client(args, "fill", server.port, "q", MEMORY_NAMES, MEMORY_JOBS, kind)
            used.append((int(info(peer)["used_memory"]) - before) / (MEMORY_NAMES * MEMORY_JOBS))
            peer.close()
    print(f"{MEMORY_NAMES * MEMORY_JOBS:,} waiting jobs of {MEMORY_NAMES:,} names:\n")
    head("", "with a limit", "without", "difference")
    row(["bytes for a job", number(used[1]), number(used[0]), number(used[1] - used[0])])
    print()
    args.raw.append({"memory": used})
    require(used[1] - used[0] <= 80, "a limit takes more than 80 bytes for a job")


PARTS = {"domains": measure_domains, "live": measure_live, "tenants": measure_tenants,
         "memory": measure_memory}

failures = []


def require(condition, what):
    if not condition:
        failures.append(what)
        say(f"NOT MET: {what}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAMES", help=f"comma-separated: {', '.join(PARTS)}")
    parser.add_argument("--domains", type=int, default=100000)
    parser.add_argument("--jobs", type=int, default=20, help="of each domain")
    parser.add_argument("--tenant-jobs", type=int, default=1000000, help="of the large tenant")
    parser.add_argument("--seconds", type=float, default=60, help="for which the workers wait")
    parser.add_argument("--turns", type=int, default=3,
                        help="of the domains, with limits and without; an odd number")
    add_arguments(parser)
    args = check_arguments(parser)
    args.redis = args.beanstalkd = None
    args.client = os.path.join(ROOT, "build-test", "tests", "bench", "bench_limits")
    names = args.only.split(",") if args.only else list(PARTS)
    for name in names:
        if name not in PARTS:
            parser.error(f"unknown part {name}; known are {', '.join(PARTS)}")
    for ending in signal.SIGTERM, signal.SIGHUP:
        signal.signal(ending, lambda *_: sys.exit("ended by a signal"))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    words = ["tests/bench/limits.py", *(["--only", args.only] if args.only else [])]
    with section("Limits", args.results):
        print_how(args, words)
        for name in names:
            PARTS[name](args)
    if args.raw_file:
        with open(args.raw_file, "w", encoding="utf-8") as file:
            json.dump(args.raw, file, indent=1)
    if failures:
        sys.exit("not met: " + "; ".join(failures))


main()
