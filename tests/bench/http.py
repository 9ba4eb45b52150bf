#!/usr/bin/env python3
"""Measure the HTTP API against an empty answer of evhttp, and write Markdown.

Each round has the same client on both servers, one after the other, with connections that are kept
alive. Processor time depends less on the load of the machine than the rate does.
"""

import argparse
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qlessd", default=os.path.join(ROOT, "build", "src", "qlessd"))
    parser.add_argument("--client", default=os.path.join(ROOT, "build-test", "tests", "bench", "bench_http"))
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
    try:
        with Server(args, "native", ["--http-port", str(port), "--loglevel", "warning"]) as server:
            time.sleep(0.2)
            for _ in range(args.rounds):
                results["empty"].append(measure(args, empty.pid, "empty", empty_port))
                results["healthz"].append(measure(args, server.process.pid, "empty", port))
                results["life"].append(measure(args, server.process.pid, "life", port))
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
