#!/usr/bin/env python3
"""Check that no power failure loses what a client was told.

The daemon runs under load while a recorder writes a trace of its file calls, its requests and its
replies. The daemon is killed, stopped and started again in between. From the trace the judge builds
images as a power failure could leave them, at any moment, and recovers each of them. README.md of
the tests says what a disk may do.

The second run of each kind begins with such an image. In short runs, the power fails again while
the daemon starts from an image. Other runs break the daemon on purpose: it leaves out syncs. There
the judge must find something.

Output is in the Test Anything Protocol. The exit status is 1 if a case failed. Then the run is
kept, and the judge prints a command that builds the same image again.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from load import Load, UnixPeer
from resp import ServerError

HERE = Path(__file__).resolve().parent
START_SECONDS = 60
START_ATTEMPTS = 5
END_SECONDS = 60
JUDGE_SECONDS = 1800
MEMORY_BYTES = 2 << 30  # enough for all traces at the same time
LIVES = 3  # of the daemon in a run
RESTART_IMAGES = 10  # of each start from an image
DELAY_US = 1500  # average time of a sync
# Runs with a planted fault: few images must be enough.
FAULT_IMAGES = 100
# Promises of at most this time may be broken with everysec. The server admits changes for two
# seconds without a sync. The rest is for a busy machine, on which a reply may leave late.
EVERYSEC_BOUND_MS = 3000


class Kind:
    """The settings of a run."""

    def __init__(self, name, sync, requests=1200, seconds=0.0, log_delay_us=0, fail_every=0,
                 fault="", is_long=False):
        self.name = name
        self.sync = sync  # the weakest one, with which the daemon starts
        self.syncs = (sync, sync, "always")
        self.requests = requests  # of each life of the daemon
        self.seconds = seconds
        self.log_delay_us = log_delay_us
        self.fail_every = fail_every
        self.fault = fault
        self.is_long = is_long


KINDS = (
    Kind("appendfsync always", "always"),
    Kind("appendfsync everysec", "everysec", requests=300, seconds=1.2),
    Kind("failing syncs", "always", fail_every=60),
    Kind("failing syncs and appendfsync everysec", "everysec", requests=300, seconds=3,
         fail_every=40, is_long=True),
    Kind("slow syncs and appendfsync everysec", "everysec", requests=300, seconds=10,
         log_delay_us=3000000, is_long=True),
)

FAULTS = (
    Kind("a manifest is not synced before it is renamed", "always", fault="manifest"),
    Kind("a reply leaves before its record is synced", "always", fault="log"),
    Kind("the directory is not synced", "always", fault="directory"),
)


class Run:
    """One trace, in a directory of its own."""

    def __init__(self, options, top, kind, seed):
        self.options = options
        self.kind = kind
        self.rng = random.Random(seed)
        self.dir = top
        self.data = top / "data"
        self.socket = top / "socket"
        self.process = None
        self.next_token = 0
        top.mkdir()

    def environment(self):
        asan = os.environ.get("ASAN_OPTIONS", "")
        return {
            **os.environ,
            "LD_PRELOAD": str(self.options.build / "tests" / "powerloss" /
                              "powerloss_recorder.so"),
            # The recorder comes before the library of the sanitizer.
            "ASAN_OPTIONS": asan + (":" if asan else "") + "verify_asan_link_order=0",
            "POWERLOSS_TRACE": str(self.dir / "trace"),
            "POWERLOSS_DIR": str(self.data),
            "POWERLOSS_SEED": str(self.rng.randrange(1 << 31)),
            "POWERLOSS_DELAY_US": str(DELAY_US),
            "POWERLOSS_LOG_DELAY_US": str(self.kind.log_delay_us),
            "POWERLOSS_FAIL_EVERY": str(self.kind.fail_every),
            "POWERLOSS_FAULT": self.kind.fault,
        }

    def start(self):
        """Start the daemon. A sync that fails during a start ends it, so there are attempts."""
        for _ in range(START_ATTEMPTS if self.kind.fail_every else 1):
            if self.try_to_start():
                return
        raise RuntimeError(f"qlessd did not start: see {self.dir}/qlessd.log")

    def try_to_start(self):
        with open(self.dir / "qlessd.log", "ab") as log:
            self.process = subprocess.Popen([
                self.options.build / "src" / "qlessd", "--dir", self.data, "--port", "0",
                "--unixsocket", self.socket, "--appendfsync", self.kind.sync,
                "--log-segment-size", self.rng.choice(("64kb", "64kb", "256kb", "2mb")),
                "--databases", "4", "--auto-rewrite-min-size", "256kb",
            ], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment())
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return False
            try:
                peer = UnixPeer(self.socket)
                is_loaded = not isinstance(peer.ask("get", "none"), ServerError)
                peer.close()
                if is_loaded:
                    return True
            except OSError:
                pass
            time.sleep(0.01)
        return False

    def live(self, number, is_last):
        """One life of the daemon: start, load, and an end."""
        self.start()
        load = Load(self.socket, self.rng.random(), self.next_token, self.kind.requests,
                    self.kind.seconds, self.kind.syncs)
        threads = load.run()
        while load.goes_on() and not load.trouble:
            time.sleep(0.01)
        is_killed = not is_last and number % 2 == 0
        if not is_killed:
            load.is_over = True
            for thread in threads:
                thread.join(END_SECONDS)
        self.process.send_signal(signal.SIGKILL if is_killed else signal.SIGTERM)
        status = self.process.wait(END_SECONDS)
        load.is_over = True
        for thread in threads:
            thread.join(END_SECONDS)
        self.next_token = load.next_token
        if load.trouble:
            raise RuntimeError(load.trouble[0])
        if status not in (0, -signal.SIGKILL) and not self.kind.fail_every:
            raise RuntimeError(f"qlessd ended with {status}: see {self.dir}/qlessd.log")

    def restart(self):
        """A life without load."""
        self.start()
        self.process.send_signal(self.rng.choice((signal.SIGKILL, signal.SIGTERM)))
        self.process.wait(END_SECONDS)

    def run(self, initial, next_token, is_restart=False):
        """Make the trace. `initial` is a directory to begin with, or None."""
        self.next_token = next_token
        if initial:
            shutil.copytree(initial, self.data)
            shutil.copytree(initial, self.dir / "initial")
            os.chmod(self.data, 0o700)
        else:
            self.data.mkdir(mode=0o700)
        try:
            if is_restart:
                self.restart()
            for number in range(0 if is_restart else LIVES):
                self.live(number, is_last=number == LIVES - 1)
        finally:
            if self.process and self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.data)

    def judge(self, images, *arguments):
        """The exit status and the output of the judge."""
        bound = EVERYSEC_BOUND_MS if self.kind.sync == "everysec" else 0
        command = [self.options.build / "tests" / "powerloss" / "powerloss_judge",
                   "--seed", str(self.options.seed), "--images", str(images),
                   "--bound-ms", str(bound), *arguments, self.dir]
        if self.options.old_blocks:
            command.insert(1, "--old-blocks")
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=JUDGE_SECONDS, check=False)
        return done.returncode, done.stdout


class Cases:
    """The results, as they are printed."""

    def __init__(self):
        self.count = self.failures = 0

    def note(self, name, passed, text):
        self.count += 1
        self.failures += not passed
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}")
        for line in text.splitlines():
            print(f"# {line}")
        sys.stdout.flush()


def check_restarts(options, top, kind, first, count):
    """The power fails again while the daemon starts from an image of the run `first`."""
    for number in range(count):
        initial = top / "initial"
        first.judge(0, "--image", str(number), "--write", str(initial))
        run = Run(options, top / f"restart-{number}", kind, f"{options.seed} restart {number}")
        run.run(initial, 0, is_restart=True)
        status, text = run.judge(RESTART_IMAGES)
        if status != 0:
            return status, text
        shutil.rmtree(run.dir)
        shutil.rmtree(initial)
    return 0, f"{count} starts, with {RESTART_IMAGES} images each"


def check_load(options, top, kind, images, number, previous):
    """A run with load, which begins with an image of the previous run unless that is None."""
    run = Run(options, top / f"load-{number}", kind, f"{options.seed} {kind.name} {number}")
    initial = None
    if previous:
        initial = top / "initial"
        previous.judge(0, "--image", str(images // 2), "--write", str(initial))
    run.run(initial, previous.next_token if previous else 0)
    if initial:
        shutil.rmtree(initial)
    return (run, *run.judge(images))


def check_kind(options, top, kind, images, cases):
    """A run from an empty directory, and others from its images."""
    top = top / kind.name.replace(" ", "-")
    top.mkdir()
    name = f"no power failure breaks a promise with {kind.name}"
    failures = cases.failures
    restarts = 1 + images // (10 * RESTART_IMAGES)
    loaded = max(images - restarts * RESTART_IMAGES, 2)
    try:
        first, status, text = check_load(options, top, kind, loaded - loaded // 2, 0, None)
        cases.note(name, status == 0, text)
        if status != 0:
            return
        name += ", after another power failure"
        _, status, text = check_load(options, top, kind, loaded // 2, 1, first)
        cases.note(name, status == 0, text)
        name = f"no power failure during a start breaks a promise with {kind.name}"
        status, text = check_restarts(options, top, kind, first, restarts)
        cases.note(name, status == 0, text)
    except Exception as error:  # pylint: disable=broad-except
        cases.note(name, False, f"{error!r}")
    if cases.failures == failures and not options.keep:
        shutil.rmtree(top)


def check_fault(options, top, kind, cases):
    run = Run(options, top / kind.fault, kind, f"{options.seed} {kind.name}")
    try:
        run.run(None, 0)
        status, text = run.judge(FAULT_IMAGES)
    except Exception as error:  # pylint: disable=broad-except
        status, text = 2, f"{error}"
    text = "\n".join(text.splitlines()[:4])
    cases.note(f"the judge finds that {kind.name}", status == 1, text)


def find_memory():
    """A directory in memory with enough space for the traces, or None."""
    shared = Path("/dev/shm")
    if os.access(shared, os.W_OK) and shutil.disk_usage(shared).free >= MEMORY_BYTES:
        return shared
    return None


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build-test",
                        help="the build directory (default: build-test)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (default: 1)")
    parser.add_argument("--images", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--old-blocks", action="store_true",
                        help="unwritten sectors have what removed files left there")
    parser.add_argument("--no-faults", action="store_true", help="without runs that must fail")
    parser.add_argument("--long", action="store_true", help="with runs that take minutes")
    parser.add_argument("--keep", action="store_true", help="keep all runs")
    parser.add_argument("--only", default="", help="kinds with this text in their names")
    return parser.parse_args()


def main():
    options = parse_arguments()
    options.build = options.build.absolute()
    top = Path(tempfile.mkdtemp(prefix="qlessd-powerloss-", dir=find_memory()))
    cases = Cases()
    began = time.monotonic()
    kinds = [kind for kind in KINDS if options.only in kind.name
             and (options.long or not kind.is_long)]
    faults = [] if options.no_faults else [kind for kind in FAULTS if options.only in kind.name]
    for number, kind in enumerate(kinds):
        share = (options.images * (number + 1) // len(kinds)
                 - options.images * number // len(kinds))
        check_kind(options, top, kind, share, cases)
    for kind in faults:
        check_fault(options, top, kind, cases)
    print(f"1..{cases.count}")
    print(f"# {time.monotonic() - began:.0f} seconds")
    if cases.failures or options.keep:
        print(f"# kept: {top}")
    else:
        shutil.rmtree(top)
    return cases.failures != 0


if __name__ == "__main__":
    sys.exit(main())
