#!/usr/bin/python3
"""Three servers of a group work while they are killed, stopped, and cut off from each other.

After each round all is healed, and must agree: the books of the clients with what the leader has,
and the states of all nodes with each other. Partitions need the rights of root, for network
namespaces. Without them, only processes are killed and stopped.

    tests/group/faults.py --build build-test --rounds 1000 --seed 1

The result is 0 if nothing was found. With --planted, the daemon has a fault, and the result is 0 if
it was found.
"""

import argparse
import json
import math
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "soak"), str(HERE.parent / "lib")]

# pylint: disable=wrong-import-position
import clients
import votes
from book import Events, HandOuts, Registers, Terms
from ledger import Ledger
from network import Link, Network, is_possible
from nodes import Group
from resp import ServerError

NODES = 3
LOCK_SECONDS = 3
GRACE_SECONDS = 0.5
FIRST_REPLY_SECONDS = 60
IDLE_SECONDS = 60
ROUNDS_OF_EPOCH = 25  # then the directories are new
HISTORY_COUNT = 20000
COPY_ATTEMPTS = 3
# Snapshots are made often.
DIRECTIVES = ("--log-segment-size", "256kb", "--auto-rewrite-min-size", "512kb")
CUT = Link(loss=1)


class Run:
    """A group with clients, and the books of the clients."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.rng = random.Random(options.seed)
        self.pace = options.pace
        self.network = Network(NODES, options.seed) if options.has_network else None
        self.findings = []
        self.round = 0
        self.first_replies = {}  # fault -> seconds until a command was acknowledged
        self.counts = {}
        self.acknowledged_count = 0
        self.last_began = self.last_acknowledged = 0.0
        self.changed = threading.Condition()
        self.may_work = threading.Event()
        self.is_over = False
        self.jids = 0
        self.group = None
        self.threads = []
        self.stale_reads = self.reads = self.handed_out = self.events_told = 0

    def found(self, what):
        line = f"round {self.round}: {what}"
        if len(self.findings) < 50:
            print(f"FOUND {line}", flush=True)
        self.findings.append(line)

    # ---- what clients use ----

    def new_jid(self):
        with self.changed:
            self.jids += 1
            return f"j{self.jids}"

    def acknowledged(self, began):
        """A change that was sent at `began` was acknowledged."""
        with self.changed:
            self.acknowledged_count += 1
            if began > self.last_began:
                self.last_began, self.last_acknowledged = began, time.monotonic()
                self.changed.notify_all()

    # ---- epochs ----

    def begin_epoch(self):
        directory = Path(tempfile.mkdtemp(dir=self.directory))
        self.group = Group(self.options.program, directory, NODES, self.network,
                           directives=DIRECTIVES)
        self.ledger = Ledger(4 * HISTORY_COUNT)
        self.hand_outs = HandOuts(LOCK_SECONDS, self.found)
        self.registers = Registers(self.found, self.options.strict)
        self.events = Events(self.found)
        self.terms = Terms(self.found)
        self.published = []
        self.is_over = False
        self.group.begin()
        peer = self.group.wait_for_leader().connect(10)
        for name, value in (("heartbeat", LOCK_SECONDS), ("grace-period", GRACE_SECONDS),
                            ("jobs-history-count", HISTORY_COUNT)):
            peer.call("config.set", name, value)
        peer.close()
        seed = self.rng.randrange
        self.threads = [clients.Producer(self, seed(1 << 30), node) for node in self.group.nodes]
        self.threads += [clients.Worker(self, seed(1 << 30), f"w{i}") for i in range(3)]
        self.threads += [clients.Setter(self, seed(1 << 30), i) for i in range(2)]
        self.threads += [clients.Reader(self, seed(1 << 30)) for i in range(2)]
        self.threads += [clients.Listener(self, seed(1 << 30), node) for node in self.group.nodes]
        self.threads += [clients.Waiter(self, seed(1 << 30)), clients.Janitor(self, seed(1 << 30))]
        for thread in self.threads:
            thread.start()
        self.watcher = threading.Thread(target=self.watch_terms, daemon=True)
        self.watcher.start()

    def watch_terms(self):
        while not self.is_over:
            for node in self.group.nodes:
                if node.is_running() and not node.is_stopped:
                    info = node.info()
                    if info:
                        self.terms.saw(node.number, info)
            time.sleep(0.1)

    def end_epoch(self):
        self.is_over = True
        self.may_work.set()
        for thread in self.threads:
            thread.join(IDLE_SECONDS)
        self.watcher.join(IDLE_SECONDS)
        self.may_work.clear()
        index = self.group.wait_until_equal()
        for node in self.group.nodes:
            if node.is_running() and node.end() != 0:
                self.found(f"node {node.number} does not end well")
        problem = self.compare_states([node.directory for node in self.group.nodes], index)
        if problem is not None:
            self.found(problem)
        self.sum_up()
        self.group.close()
        if not self.findings:
            shutil.rmtree(self.group.directory)

    def sum_up(self):
        self.reads += self.registers.reads
        self.stale_reads += self.registers.stale_reads
        self.handed_out += self.hand_outs.count
        self.events_told += self.events.count

    # ---- faults ----

    def others(self, node):
        return [one for one in self.group.nodes if one is not node]

    def cut(self, *pairs):
        """Cut links, each from one node to another."""
        self.network.set_links({(a.number, b.number): CUT for a, b in pairs})

    def all_pairs(self):
        return [(a, b) for a in self.group.nodes for b in self.group.nodes if a is not b]

    def kill_leader(self, leader):
        leader.kill()

    def restart_leader(self, leader):
        if leader.end() != 0:
            self.found(f"node {leader.number} does not end well")

    def hand_over(self, leader):
        """Let the leader hand over. It may have ceased to lead by itself."""
        peer = leader.connect(10)
        try:
            reply = peer.ask("failover")
            if isinstance(reply, ServerError) and not str(reply).startswith(clients.ELSEWHERE):
                self.found(f"FAILOVER is answered {reply}")
        except (OSError, ConnectionError):
            pass  # the leader closes connections when it ceases to lead
        finally:
            peer.close()

    def stop_leader(self, leader):
        leader.stop()

    def kill_follower(self, leader):
        self.rng.choice(self.others(leader)).kill()

    def stop_follower(self, leader):
        self.rng.choice(self.others(leader)).stop()

    def kill_all(self, _leader):
        for node in self.group.nodes:
            node.kill()
        for node in self.group.nodes:
            node.launch()

    def kill_leader_alone(self, leader):
        """The leader works without the others for a moment, and they go on without the leader."""
        for node in self.others(leader):
            node.kill()
        self.work_for(0.05, 0.3)
        leader.kill()
        for node in self.others(leader):
            node.launch()

    def kill_leader_and_return(self, leader):
        leader.kill()
        leader.launch()

    def cut_leader(self, leader):
        self.cut(*((leader, b) for b in self.others(leader)),
                 *((b, leader) for b in self.others(leader)))

    def cut_leader_from(self, leader):
        """Lose what the leader sends."""
        self.cut(*((leader, b) for b in self.others(leader)))

    def cut_leader_to(self, leader):
        """Lose what is sent to the leader."""
        self.cut(*((b, leader) for b in self.others(leader)))

    def cut_one_link(self, leader):
        other = self.rng.choice(self.others(leader))
        self.cut((leader, other), (other, leader))

    def cut_follower(self, leader):
        node = self.rng.choice(self.others(leader))
        self.cut(*((node, b) for b in self.others(node)), *((b, node) for b in self.others(node)))

    def cut_all(self, _leader):
        self.cut(*self.all_pairs())
        self.work_for(0.2, 1.5)
        self.network.set_links({})

    def lose_packets(self, _leader):
        self.network.set_links({(a.number, b.number): Link(loss=self.rng.choice((0.05, 0.2)))
                                for a, b in self.all_pairs()})

    def delay_packets(self, _leader):
        delay = self.rng.choice((0.01, 0.04))
        self.network.set_links({(a.number, b.number): Link(delay=delay, jitter=delay)
                                for a, b in self.all_pairs()})

    def cut_and_kill(self, leader):
        """The cut leader is killed, and comes back with what it alone has."""
        self.cut_leader(leader)
        self.work_for(0.05, 0.4)
        leader.kill()
        leader.launch()

    PROCESS_FAULTS = (kill_leader, kill_leader, restart_leader, stop_leader, stop_leader,
                      kill_follower, stop_follower, kill_all, kill_leader_alone,
                      kill_leader_and_return, hand_over, hand_over)
    NETWORK_FAULTS = (cut_leader, cut_leader, cut_leader_from, cut_leader_to, cut_one_link,
                      cut_follower, cut_all, lose_packets, delay_packets, cut_and_kill)
    # The faults after which the time until the first acknowledged command is told.
    TIMED = (kill_leader, hand_over, restart_leader, stop_leader, cut_leader, cut_leader_from,
             cut_leader_to)

    def heal(self):
        if self.network:
            self.network.set_links({})
        for node in self.group.nodes:
            if node.is_stopped:
                node.go_on()
            if not node.is_running():
                node.launch()

    # ---- rounds ----

    def work_for(self, least, most):
        time.sleep(least + self.rng.random() * (most - least))

    def wait_for_first_reply(self, began):
        """Seconds until a command that was sent after `began` was acknowledged."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.last_began > began, FIRST_REPLY_SECONDS):
                self.found(f"no command is acknowledged within {FIRST_REPLY_SECONDS} seconds")
                return math.inf
            return self.last_acknowledged - began

    def run_round(self, faults):
        self.may_work.set()
        self.work_for(0.2, 0.8)
        fault = faults[self.round % len(faults)]
        leader = self.group.wait_for_leader()
        if self.options.verbose:
            print(f"round {self.round}: {fault.__name__}, node {leader.number} leads", flush=True)
        self.counts[fault.__name__] = self.counts.get(fault.__name__, 0) + 1
        is_disturbed = self.network and fault in self.PROCESS_FAULTS and self.rng.random() < 0.25
        if is_disturbed:
            self.rng.choice((Run.lose_packets, Run.delay_packets))(self, leader)
        began = time.monotonic()
        fault(self, leader)
        seconds = self.wait_for_first_reply(began)
        if fault in self.TIMED and not is_disturbed:
            self.first_replies.setdefault(fault.__name__, []).append(seconds)
        self.work_for(0.1, 0.8)
        self.heal()
        self.work_for(0.1, 0.4)
        self.settle()

    def settle(self):
        """Let all clients pause, and compare."""
        self.may_work.clear()
        deadline = time.monotonic() + IDLE_SECONDS
        while not all(thread.is_idle for thread in self.threads):
            if time.monotonic() > deadline:
                busy = [type(thread).__name__ for thread in self.threads if not thread.is_idle]
                self.found(f"{busy} do not pause")
                return
            time.sleep(0.01)
        if self.group.wait_until_equal() is None:
            self.found(f"the nodes stay at {self.group.positions()}: last, commit, applied")
            return
        try:
            self.compare_books()
        except (OSError, ServerError, ValueError) as error:
            self.found(f"the books cannot be compared: {error!r}")
        for node in self.group.nodes:
            info = node.info()
            if info:
                self.terms.settle(node.number, info)
        for attempt in range(COPY_ATTEMPTS):
            problem = self.compare_copies()
            if problem is None:
                return
            print(f"round {self.round}, attempt {attempt}: {problem}", flush=True)
        self.found(problem)

    def compare_copies(self):
        """The difference between the states of running nodes, whose files may change meanwhile."""
        copies = [node.directory.with_name(f"copy{node.number}") for node in self.group.nodes]
        index = self.group.wait_until_equal()
        try:
            for node, copy in zip(self.group.nodes, copies):
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(node.directory, copy)
        except (OSError, shutil.Error) as error:
            return f"the files cannot be copied: {error}"
        problem = self.compare_states(copies, index)
        for copy in copies if problem is None else ():
            shutil.rmtree(copy)
        return problem

    def ask_leader(self, requests):
        """Replies of the leader, which clients do not change now."""
        while True:
            peer = self.group.wait_for_leader().connect(10)
            try:
                replies = peer.pipeline(requests)
            except (OSError, ConnectionError):
                continue
            finally:
                peer.close()
            if not any(isinstance(r, ServerError) and str(r).startswith(clients.ELSEWHERE)
                       for r in replies):
                return replies

    def compare_books(self):
        inconsistencies = self.ask_leader([("consistencycheck",)])[0]
        if inconsistencies:
            self.found(f"the leader is not consistent: {inconsistencies!r:.500}")
        jids = list(self.ledger.entries)
        replies = self.ask_leader([("get", jid) for jid in jids]) if jids else []
        jobs = {jid: json.loads(reply) if reply else None for jid, reply in zip(jids, replies)}
        for line in self.ledger.settle(jobs, math.inf):
            self.found(line)
        self.events.settle({jid: job["state"] if job else None for jid, job in jobs.items()})
        for name in self.published:
            register = self.registers.register(name)
            value = clients.read(lambda *words: self.ask_leader([words])[0], register)
            if value is None:
                self.found(f"{name} does not exist, and its making was acknowledged")
            else:
                self.registers.settle(register, value)

    def compare_states(self, directories, index):
        """The difference between the states at an entry, as a sentence, or None."""
        texts = []
        if index is None:
            return f"the nodes stay at {self.group.positions()}: last, commit, applied"
        for directory in directories:
            state = directory.with_suffix(".state")
            done = subprocess.run([self.options.write_state, directory, state, str(index)],
                                  check=False, capture_output=True, text=True)
            if done.returncode != 0:
                return (f"the log in {directory} cannot be read: status {done.returncode}, "
                        f"{done.stdout[:500]} {done.stderr[:500]}")
            texts.append(state.read_text(errors="replace").splitlines())
            state.unlink()
        for number, text in enumerate(texts[1:], 2):
            if text != texts[0]:
                one = [line for line in texts[0] if line not in set(text)][:3]
                two = [line for line in text if line not in set(texts[0])][:3]
                return f"nodes 1 and {number} differ: {one!r:.600} and {two!r:.600}"
        return None

    def run_rounds(self):
        faults = list(self.PROCESS_FAULTS + (self.NETWORK_FAULTS if self.network else ()))
        if self.options.faults:
            faults = [fault for fault in faults if fault.__name__ in self.options.faults]
        while self.round < self.options.rounds and not self.findings:
            if self.round % len(faults) == 0:
                self.rng.shuffle(faults)
            if self.group is None:
                self.begin_epoch()
            self.run_round(faults)
            self.round += 1
            if self.round % ROUNDS_OF_EPOCH == 0 or self.round == self.options.rounds:
                self.end_epoch()
                self.group = None

    def close(self):
        self.is_over = True
        if self.group:
            self.sum_up()
            self.group.close()
        if self.network:
            self.network.close()

    def print_figures(self):
        print(f"{self.round} rounds: " + ", ".join(
            f"{count} {name}" for name, count in sorted(self.counts.items())))
        print(f"{self.acknowledged_count} changes acknowledged, {self.handed_out} jobs handed out, "
              f"{self.events_told} events, {self.reads} reads, of which {self.stale_reads} stale")
        for name, times in sorted(self.first_replies.items()):
            print(f"{name}: first acknowledged command after {statistics.median(times):.3f} s "
                  f"(median), {max(times):.3f} s (longest), {len(times)} times")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="directory of the build")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--pace", type=float, default=0.02,
                        help="seconds that a client pauses between two commands, at most")
    parser.add_argument("--no-network", action="store_true", help="make no partitions")
    parser.add_argument("--faults", nargs="+", metavar="name",
                        help="only these, such as kill_leader")
    parser.add_argument("--planted", choices=("early-reply", "lost-vote"))
    parser.add_argument("--strict", action="store_true", help="find reads that are stale")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


def main():
    options = parse_arguments()
    options.has_network = not options.no_network and is_possible()
    options.write_state = options.build / "tests" / "group" / "write_state"
    options.program = options.build / "src" / "qlessd"
    if options.planted:
        options.program = options.build / "tests" / "group" / "qlessd_planted"
        os.environ["QLESSD_PLANTED"] = options.planted
    print(f"seed {options.seed}, {'with' if options.has_network else 'without'} partitions",
          flush=True)
    directory = Path(tempfile.mkdtemp(prefix="qlessd-faults-"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run = Run(options, directory)
    try:
        votes.check(options.program, directory, run.found)
        run.run_rounds()
    except KeyboardInterrupt:
        print("ended by a signal")
    finally:
        run.close()
    run.print_figures()
    if not run.findings or options.planted:
        shutil.rmtree(directory)
    else:
        print(f"logs and directories of the nodes are in {directory}")
    print(f"{len(run.findings)} findings")
    return bool(run.findings) != bool(options.planted)


if __name__ == "__main__":
    sys.exit(main())
