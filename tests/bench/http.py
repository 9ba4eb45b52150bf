#!/usr/bin/env python3
"""Measure the HTTP API against an empty answer of evhttp, and write Markdown.

Each round has the same client on both servers, one after the other, with connections that are kept
alive. Processor time depends less on the load of the machine than the rate does.

Each round also has clients of RESP, first alone and then beside as many clients of HTTP. Both have a
request under way on each connection, so a fair server gives a command of each kind the same turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from results import ROOT
from servers import Server, free_port

TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measure(args, pid, what, port):
    """Answers a second, and microseconds of the server for each."""
    before = processor_seconds(pid)
    output = subprocess.run(
        [*args.pin_client, args.client, what, str(port), str(args.connections), str(args.seconds)],
        check=True, capture_output=True, text=True).stdout.split()
    answers, seconds = int(output[0]), float(output[1])
    return answers / seconds, (processor_seconds(pid) - before) / answers * 1e6


def start_http(args, what, port, seconds):
    return subprocess.Popen(
        [*args.pin_client, args.client, what, str(port), str(args.connections), str(seconds)],
        stdout=subprocess.PIPE, text=True)


def run_resp(args, port):
    """Put, pop and complete in RESP: commands a second, and microseconds of the server for each."""
    output = subprocess.run(
        [*args.pin_client, args.benchmark, "--port", str(port), "--workload", "lifecycle",
         "--connections", str(args.connections), "--duration", str(args.seconds), "--warmup", "0", "--json"],
        check=True, capture_output=True, text=True).stdout
    result = json.loads(output)
    return result["commands_per_second"], result["server_us_per_command"]


def measure_beside(args, http_port, port):
    """RESP alone: commands a second, and microseconds of the server for each. Then commands of RESP
    and answers of HTTP a second, when both run at the same time."""
    alone, cost = run_resp(args, port)
    http = start_http(args, "life", http_port, args.seconds)
    beside, _ = run_resp(args, port)
    answers, seconds = http.communicate()[0].split()
    return alone, cost, beside, int(answers) / float(seconds)


def print_beside(rounds, http_cost):
    """Print what RESP keeps, and what it would keep if each kind of command got the same turns."""
    alone, cost, beside, http = (statistics.median(values) for values in zip(*rounds))
    kept = statistics.median(r[2] / r[0] for r in rounds)
    fair = cost / (cost + http_cost)
    print(f"\nput, pop and complete in RESP: {alone:,.0f} a second alone, {cost:.1f} µs each; "
          f"{beside:,.0f} beside {http:,.0f} of HTTP. RESP keeps {kept:.2f} of its rate; "
          f"with equal turns for both it would keep {fair:.2f}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qlessd", default=os.path.join(ROOT, "build", "src", "qlessd"))
    parser.add_argument("--client", default=os.path.join(ROOT, "build-test", "tests", "bench", "bench_http"))
    parser.add_argument("--benchmark", default=os.path.join(ROOT, "build", "src", "qlessd-benchmark"))
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", default="/tmp")
    parser.add_argument("--pin-server", type=str.split, default=[], help="such as: taskset -c 0")
    parser.add_argument("--pin-client", type=str.split, default=[])
    args = parser.parse_args()

    port, empty_port = free_port(), free_port()
    empty = subprocess.Popen([*args.pin_server, args.client, "serve", str(empty_port)])
    results = {"empty": [], "healthz": [], "life": []}
    beside = []
    try:
        with Server(args, "native", ["--http-port", str(port), "--loglevel", "warning"]) as server:
            time.sleep(0.2)
            for _ in range(args.rounds):
                results["empty"].append(measure(args, empty.pid, "empty", empty_port))
                results["healthz"].append(measure(args, server.process.pid, "empty", port))
                results["life"].append(measure(args, server.process.pid, "life", port))
                beside.append(measure_beside(args, port, server.port))
    finally:
        empty.kill()
        empty.wait()

    names = {"empty": "evhttp, empty answer", "healthz": "/healthz", "life": "put, pop and complete"}
    print("| server | answers a second | processor time of an answer |")
    print("| --- | ---: | ---: |")
    for what, rounds in results.items():
        rate, cost = (statistics.median(values) for values in zip(*rounds))
        print(f"| {names[what]} | {rate:,.0f} | {cost:.1f} µs |")
    for what in ("healthz", "life"):
        ratios = [own[0] / plain[0] for own, plain in zip(results[what], results["empty"])]
        costs = [plain[1] / own[1] for own, plain in zip(results[what], results["empty"])]
        print(f"\n{names[what]}: ratio of the rates {statistics.median(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f}), of the processor times "
              f"{statistics.median(costs):.2f} ({min(costs):.2f} to {max(costs):.2f}).")
    print_beside(beside, statistics.median(cost for _, cost in results["life"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
