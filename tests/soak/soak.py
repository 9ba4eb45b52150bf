#!/usr/bin/env python3
"""Run qlessd for a long time under mixed load, to find defects that take time.

Load comes in bursts. At the end of a burst the server is stopped, killed, or loses the end of its
log as in a power failure, and is started again. Or it keeps running until its queues are drained.
Then the ledger of acknowledged work is compared with the state of the server. The first half of the
time has restarts. In the second half the server stays up, so that leaks of memory and descriptors show.

Findings are:

    acknowledged work that is lost or undone, or comes back;
    jobs that never end: after draining each is complete, failed or cancelled;
    findings of CONSISTENCYCHECK, and of qlessd-check after each stop;
    growth of memory after draining, of the log directory, of descriptors and connections;
    replies that a request cannot have, and connections that end unexpectedly;
    unexplained warnings in the log.

Exit status: 0 without findings, 1 with findings, 2 if the run could not be completed.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True

import load
from ledger import COMPLETE, FAILED, Ledger
from server import LAG_BYTES, MIB, REWRITE_MIN_BYTES, SEGMENT_BYTES, Server

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE.parent / "clients" / "qless.lua"

DRAIN_SECONDS = 60
STRAYS_SECONDS = 60
HISTORY_COUNT = 2000  # completed jobs that the server keeps
SETTLE_BATCH = 100
FINDINGS_MAX = 200
SLOW_REPLY_SECONDS = 10
SLOWER_MAX = 1.5  # ratio of the processor times of an operation in the halves of the samples
SLOWER_SAMPLES = 12

# A power failure loses some of the bytes written in this many seconds before it. With everysec a
# real one may lose two seconds. This is less, so that none of these bytes is known to be on the disk.
POWER_LOSS_SECONDS = 0.5

STOP, KILL, CUT, REST = "stop", "kill", "cut", "rest"
ENDS = (STOP, KILL, KILL, CUT, REST)

# States of jobs that a queue still has to work on.
BUSY_STATES = ("waiting", "running", "scheduled", "depends", "stalled")

# Warnings that this test provokes, and the ends of the previous process after which they may come.
EXPLAINED = (
    (re.compile(r"bytes after its last intact record"), (KILL, CUT)),
    (re.compile(r"running as root without need"), None),
    (re.compile(r"client closed for reaching client-output-buffer-limit"), None),
    (re.compile(r"client closed for sending an HTTP request"), None),
    (re.compile(r"more lines about refused clients"), None),
    (re.compile(r"the disk is slow"), None),
)


def slope(points):
    """The slope of the best linear fit."""
    n = len(points)
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


class Soak:
    def __init__(self, options, directory):
        self.options = options
        self.rng = random.Random(options.seed)
        self.server = Server(options.build, directory)
        self.ledger = Ledger(HISTORY_COUNT)
        self.control = None
        self.script_sha = None
        self.recurring = set()
        self.operations = collections.Counter()
        self.races = collections.Counter()
        self.ends = collections.Counter()
        self.findings = []
        self.lock = threading.Lock()
        self.jid_number = 0
        self.log_position = 0
        self.warnings = collections.Counter()
        self.slowest_reply = (0, "")
        self.rest_samples = []  # figures of the current process after each draining
        self.trends = []
        self.directory_max = 0
        self.base_max = 0
        self.rss_max = 0
        self.size_history = collections.deque(maxlen=1000)  # (when, files and sizes)
        self.rewrites = 0
        self.rewrites_before = 0
        self.from_log = 0
        self.from_log_before = 0
        self.settled = 0
        self.planned = []  # ends of the next bursts, in reverse order
        self.is_ending = False
        self.is_over = False

    # ---- called by the load ----

    def found(self, text):
        with self.lock:
            if len(self.findings) < FINDINGS_MAX:
                self.findings.append(text)
                print(f"FOUND: {text}", file=sys.stderr, flush=True)

    def new_jid(self, prefix="j"):
        with self.lock:
            self.jid_number += 1
            return f"{prefix}{self.jid_number}"

    def slowest(self, name, seconds):
        if seconds > self.slowest_reply[0]:
            self.slowest_reply = (seconds, name)
        if seconds > SLOW_REPLY_SECONDS:
            self.found(f"the reply to {name} took {seconds:.1f} seconds")

    # ---- the life of the server ----

    def start(self, after):
        # With "always" a power failure loses nothing that was acknowledged, so nothing can be cut.
        fsync = self.rng.choice(("always", "everysec")) if self.next_end() != CUT else "everysec"
        self.control = self.server.start(fsync)
        self.size_history.clear()
        self.sample_sizes()
        self.rest_samples = []
        self.rewrites_before = self.rewrites
        self.from_log_before = self.from_log
        if self.script_sha is None:
            self.script_sha = self.control.call("script", "load", SCRIPT.read_text())
            # Values that keep memory level and let locks expire during the run.
            for name, value in (("jobs-history-count", HISTORY_COUNT), ("heartbeat", 3),
                                ("grace-period", 1)):
                self.control.call("config.set", name, value)
        elif self.control.call("script", "exists", self.script_sha) != [1]:
            self.found("a script that was loaded is unknown after a restart")
            self.control.call("script", "load", SCRIPT.read_text())
        self.read_log(after)

    def stop(self, how):
        """End the server, and return the time up to which acknowledged work must exist."""
        safe_until = time.monotonic()
        status = self.server.end(signal.SIGTERM if how == STOP else signal.SIGKILL)
        if how == STOP and status != 0:
            self.found(f"SIGTERM ended qlessd with {status}")
        if how == CUT:
            safe_until = self.cut_log()
        status, report = self.server.check_directory()
        torn_may_be = how in (KILL, CUT) and "torn end" in report
        if status != 0 and not torn_may_be:
            self.found(f"qlessd-check after {how} says {status}: {report}")
        return float("inf") if how != CUT else safe_until

    def cut_log(self):
        """Remove some of the last bytes, as in a power failure.

        Return up to when acknowledged work was written to what is left.
        """
        now = time.monotonic()
        sizes = self.server.sizes()
        newest = max((name for name in sizes if name.startswith("log-")), default=None)
        older = [(when, files.get(newest)) for when, files in self.size_history
                 if now - when >= POWER_LOSS_SECONDS and files.get(newest)]
        if not older:
            return now  # too new to know which bytes of the segment were synced
        when, least = older[-1]
        with open(self.server.directory / newest, "r+b") as f:
            f.truncate(self.rng.randint(least, sizes[newest]))
        return when

    def sample_sizes(self):
        when = time.monotonic()  # first, so that the sizes include all work acknowledged by then
        sizes = self.server.sizes()
        self.size_history.append((when, sizes))
        self.directory_max = max(self.directory_max, sum(sizes.values()))
        bases = [size for name, size in sizes.items() if name.startswith("base-")]
        self.base_max = max([self.base_max, *bases])

    def watch(self):
        """A thread that samples what is visible from outside."""
        while not self.is_over:
            self.sample_sizes()
            try:
                self.rss_max = max(self.rss_max, self.server.rss_bytes())
            except (FileNotFoundError, ProcessLookupError):
                pass
            time.sleep(0.1)

    def read_log(self, after):
        """Check the lines that were logged since the last call."""
        with open(self.server.log, "rb") as f:
            f.seek(self.log_position)
            lines = f.read().decode(errors="replace").splitlines()
            self.log_position = f.tell()
        for line in lines:
            if "level=warning" not in line:
                continue
            for pattern, ends in EXPLAINED:
                if pattern.search(line) and (ends is None or after in ends):
                    self.warnings[pattern.pattern] += 1
                    break
            else:
                self.found(f"logged after {after}: {line}")

    # ---- bursts ----

    def run_client(self, name, generator, over):
        try:
            for _ in generator:
                if over.is_set():
                    return
        except OSError as error:
            if not self.is_ending:
                self.found(f"{name} lost its connection: {error!r}")
        except Exception as error:
            if not self.is_ending:
                self.found(f"{name} failed: {error!r}")

    def burst(self, seconds, how):
        """Run load for some time, end it, and compare with the ledger."""
        over = threading.Event()
        self.is_ending = False
        threads = [threading.Thread(target=self.run_client, args=(name, generator, over))
                   for name, generator in load.clients(self, self.rng.random())]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.ends[how] += 1
        if how == REST:
            over.set()
        else:
            self.note_rewrites()
            self.control.close()
            self.is_ending = True
            fsync = self.server.fsync
            safe_until = self.stop(how)
            over.set()
        for thread in threads:
            thread.join(DRAIN_SECONDS)
            if thread.is_alive():
                raise RuntimeError("a client of the load does not end")
        threads.clear()
        if how == REST:
            self.settle(float("inf"), how, self.server.fsync)
            self.read_log(how)
        else:
            self.start(how)
            self.settle(safe_until, how, fsync)
            self.find_strays(f"after {how}")

    def settle(self, safe_until, how, fsync):
        """Compare the ledger with the state, and run CONSISTENCYCHECK."""
        jids = list(self.ledger.entries)
        jobs = {}
        for first in range(0, len(jids), SETTLE_BATCH):
            batch = jids[first:first + SETTLE_BATCH]
            for jid, reply in zip(batch, self.control.pipeline([("get", j) for j in batch])):
                jobs[jid] = json.loads(reply) if reply else None
        for wrong in self.ledger.settle(jobs, safe_until):
            self.found(f"after {how} with appendfsync {fsync}: {wrong}")
        self.settled += len(jids)
        for sentence in self.control.call("consistencycheck"):
            self.found(f"CONSISTENCYCHECK after {how}: {sentence}")
        completed = self.control.call("zcard", "ql:completed")
        if completed > HISTORY_COUNT:
            self.found(f"{completed} completed jobs are kept, and not {HISTORY_COUNT}")
        self.note_rewrites()

    def find_strays(self, when):
        """Unused files must disappear, by the end of a rewrite at the latest."""
        deadline = time.monotonic() + STRAYS_SECONDS
        while strays := self.server.strays():
            if time.monotonic() > deadline:
                self.found(f"{when} the directory has {strays}")
                return
            time.sleep(0.05)

    def info(self):
        fields = {}
        for line in self.control.call("info", "everything").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                fields[name] = value
        return fields

    def note_rewrites(self):
        info = self.info()
        self.rewrites = self.rewrites_before + int(info.get("aof_rewrites", 0))
        self.from_log = self.from_log_before + int(info.get("aof_rewrites_from_log", 0))
        if info.get("log_state") != "ok" or info.get("aof_last_bgrewrite_status") != "ok":
            self.found(f"the log is in the state {info.get('log_state')}: {info.get('log_error')}, "
                       f"rewrite {info.get('aof_last_bgrewrite_status')}")

    # ---- rest ----

    def drain(self):
        """Work until the queues are empty. Jobs that stay while nothing moves are stuck."""
        session = load.Session(self, "native", self.rng)
        for jid in list(self.recurring):
            session("unrecur", jid)
        self.recurring.clear()
        session.peer.pipeline([("select", load.FLUSHED_DATABASE), ("flushdb",), ("select", 0)])
        session("unpause", *load.QUEUES)
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline:
            idle = True
            for queue in load.QUEUES:
                for job in json.loads(session("pop", queue, "drainer", 100)) or ():
                    idle = False
                    deadline = time.monotonic() + DRAIN_SECONDS
                    self.ledger.saw(job["jid"])
                    session.end(COMPLETE, job["jid"], "complete", job["jid"], "drainer", queue,
                                "{}")
            load.clear_failed(session)
            if idle:
                counts = json.loads(session("queues"))
                busy = any(queue[state] for queue in counts for state in BUSY_STATES)
                if not busy and not json.loads(session("failed")):
                    break
                time.sleep(0.05)
        session.peer.close()
        for jid in list(self.ledger.entries):
            job = json.loads(self.control.call("get", jid) or "null")
            if job and job["state"] not in (COMPLETE, FAILED):
                self.found(f"{jid} is stuck: {job!r:.600}")
        self.settle(float("inf"), REST, self.server.fsync)
        if self.ledger.entries:
            self.found(f"{len(self.ledger.entries)} jobs are left at rest")
        for queue in json.loads(self.control.call("queues")):
            if any(queue[state] for state in BUSY_STATES) or queue["recurring"]:
                self.found(f"at rest there is the queue {queue}")

    def wait_until_alone(self):
        """Wait until the server has noticed that its clients are gone."""
        deadline = time.monotonic() + DRAIN_SECONDS
        while True:
            info = self.info()
            if int(info["connected_clients"]) == 1 and info.get("aof_rewrite_in_progress") != "1":
                return info
            if time.monotonic() > deadline:
                self.found(f"at rest there are {info['connected_clients']} clients: "
                           f"{self.control.call('client', 'list')}")
                return info
            time.sleep(0.05)

    def rest(self):
        self.drain()
        self.wait_until_alone()
        self.find_strays("at rest")
        self.control.call("memory", "purge")
        info = self.info()
        sample = {
            "seconds": time.monotonic(),
            "rss": self.server.rss_bytes(),
            "used": int(info["used_memory"]),
            "cpu": self.server.cpu_seconds(),
            "descriptors": self.server.descriptors(),
            "keys": self.control.call("dbsize"),
            "operations": sum(self.operations.values()),
        }
        self.rest_samples.append(sample)

    def judge_rest(self):
        """The figures of one process after each draining must not grow.

        Sanitizers and libc keep freed memory; only jemalloc returns it.
        """
        if not self.info()["mem_allocator"].startswith("jemalloc"):
            return
        samples = self.rest_samples[len(self.rest_samples) // 4:]  # without those of filling pools
        if len(samples) < 4:
            return
        trend = {"samples": len(samples), "minutes": 0.0}
        minutes = (samples[-1]["seconds"] - samples[0]["seconds"]) / 60
        trend["minutes"] = minutes
        for what, free_bytes in (("rss", 4 * MIB), ("used", MIB)):
            points = [(s["seconds"] / 60, s[what]) for s in samples]
            by_operation = slope([(s["operations"], s[what]) for s in samples])
            trend[what + "_bytes_a_minute"] = slope(points)
            trend[what + "_bytes_an_operation"] = by_operation
            trend[what + "_first"], trend[what + "_last"] = points[0][1], points[-1][1]
            growth = slope(points) * minutes
            if growth > points[0][1] * 0.1 + free_bytes:
                self.found(f"{what} grew by {growth / MIB:.1f} MiB in {minutes:.1f} minutes")
        descriptors = [s["descriptors"] for s in samples]
        if descriptors[-1] > descriptors[0] + 2:
            self.found(f"descriptors at rest: {descriptors}")
        half = len(samples) // 2
        trend["cpu_us_an_operation"] = before, after = [
            1e6 * slope([(s["operations"], s["cpu"]) for s in part])
            for part in (samples[:half + 1], samples[half:])]
        if len(samples) >= SLOWER_SAMPLES and after > SLOWER_MAX * before:
            self.found(f"an operation takes {after:.0f} us of processor time, and took {before:.0f}")
        trend["descriptors"] = (descriptors[0], descriptors[-1])
        self.trends.append(trend)

    def judge_directory(self):
        """The limit for the directory: a snapshot, the log up to a rewrite, and during a rewrite
        both of them again. On a busy machine a rewrite takes long; a leak would be far larger."""
        bound = (3 * self.base_max + 2 * max(REWRITE_MIN_BYTES, self.base_max) +
                 4 * SEGMENT_BYTES + LAG_BYTES)
        if self.directory_max > bound:
            self.found(f"the log took {self.directory_max / MIB:.1f} MiB, with a base of "
                       f"{self.base_max / MIB:.1f}")

    # ---- the whole run ----

    def burst_seconds(self):
        longest = min(45.0, self.options.minutes * 60 / 16)
        return self.rng.uniform(longest / 4, longest)

    def next_end(self):
        """The end of the next burst: each kind equally often, in random order."""
        if not self.planned:
            self.planned = self.rng.sample(ENDS, len(ENDS))
        return self.planned[-1]

    def run(self):
        total = self.options.minutes * 60
        began = time.monotonic()
        self.server.make_certificate()
        self.start(None)
        watcher = threading.Thread(target=self.watch, daemon=True)
        watcher.start()
        try:
            while time.monotonic() < began + total / 2:
                how = self.next_end()
                if how == CUT and self.server.fsync == "always":
                    how = KILL
                self.planned.pop()
                self.burst(self.burst_seconds(), how)
                self.progress(began)
            while not self.rest_samples or time.monotonic() < began + total:
                self.burst(self.burst_seconds(), REST)
                self.rest()
                self.progress(began)
            self.judge_rest()
            self.judge_directory()
            self.control.close()
            self.is_ending = True
            self.stop(STOP)
            self.read_log(STOP)
        finally:
            self.is_ending = True
            self.is_over = True
            watcher.join()
            if self.server.process.poll() is None:
                self.server.end(signal.SIGKILL)

    def progress(self, began):
        print(f"{time.monotonic() - began:7.0f} s  {sum(self.operations.values())} operations, "
              f"{dict(self.ends)}, {len(self.findings)} findings", file=sys.stderr, flush=True)

    def report(self):
        return {
            "seed": self.options.seed,
            "minutes": self.options.minutes,
            "operations": sum(self.operations.values()),
            "operations_by_name": dict(sorted(self.operations.items())),
            "lost_races": dict(self.races),
            "jobs": dict(self.ledger.totals),
            "jobs_compared": self.settled,
            "ends_of_bursts": dict(self.ends),
            "rewrites": self.rewrites,
            "rewrites_from_log": self.from_log,
            "slowest_reply": self.slowest_reply,
            "log_bytes_max": self.directory_max,
            "base_bytes_max": self.base_max,
            "rss_bytes_max": self.rss_max,
            "at_rest": self.trends,
            "explained_warnings": dict(self.warnings),
            "findings": self.findings,
        }


def print_report(report):
    print(f"{report['operations']} operations, jobs: {report['jobs']}, "
          f"{report['jobs_compared']} compared with the ledger")
    print(f"bursts ended by: {report['ends_of_bursts']}; {report['rewrites']} rewrites, "
          f"{report['rewrites_from_log']} of them from the log; "
          f"slowest reply {report['slowest_reply'][0]:.2f} s ({report['slowest_reply'][1]})")
    print(f"at most {report['log_bytes_max'] / MIB:.1f} MiB of log with a base of "
          f"{report['base_bytes_max'] / MIB:.1f}, {report['rss_bytes_max'] / MIB:.1f} MiB resident")
    for trend in report["at_rest"]:
        before, after = trend["cpu_us_an_operation"]
        print(f"at rest, {trend['samples']} samples in {trend['minutes']:.1f} minutes: "
              f"RSS {trend['rss_first'] / MIB:.1f} to {trend['rss_last'] / MIB:.1f} MiB, "
              f"{trend['rss_bytes_a_minute']:+.0f} bytes a minute, "
              f"{trend['rss_bytes_an_operation']:+.3f} an operation; "
              f"allocated {trend['used_bytes_a_minute']:+.0f} and "
              f"{trend['used_bytes_an_operation']:+.3f}; descriptors {trend['descriptors']}; "
              f"processor time of an operation {before:.0f} us, later {after:.0f}")
    for what, count in report["explained_warnings"].items():
        print(f"logged and explained, {count} times: {what}")
    for finding in report["findings"]:
        print(f"FOUND: {finding}")
    print(f"{len(report['findings'])} findings")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build",
                        help="the build directory (default: build)")
    parser.add_argument("--minutes", type=float, default=60, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (default: 1)")
    parser.add_argument("--json", metavar="FILE", help="write the report to a file as well")
    parser.add_argument("--keep", action="store_true", help="keep the directory of the server")
    return parser.parse_args()


def main():
    options = parse_arguments()
    if not (options.build / "src" / "qlessd").exists():
        print(f"there is no qlessd in {options.build}", file=sys.stderr)
        return 2
    options.build = options.build.resolve()
    top = pathlib.Path(tempfile.mkdtemp(prefix="qlessd-soak-"))
    (top / "data").mkdir(mode=0o700)
    soak = Soak(options, top / "data")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # which also ends the server
    try:
        soak.run()
    except KeyboardInterrupt:
        soak.found("the run was interrupted")
    except Exception as error:
        soak.found(f"the run ended early: {error!r}")
    report = soak.report()
    print_report(report)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1), encoding="utf-8")
    if options.keep or report["findings"]:
        print(f"kept: {top}")
    else:
        shutil.rmtree(top)
    return 1 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
