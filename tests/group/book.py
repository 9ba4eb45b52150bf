"""The books of a run with faults: what was acknowledged, read and heard, and what that forbids.

An operation without a reply may or may not have happened. It may also happen later, until the next
settling.
"""

import collections
import threading

CLOCK_STEP = 0.001  # seconds by which replies round the time


class HandOuts:
    """The locks that workers were given."""

    def __init__(self, lock_seconds, found):
        self.lock_seconds, self.found = lock_seconds, found
        self.lock = threading.Lock()
        self.by_jid = collections.defaultdict(dict)  # jid -> number -> [expires, is_released]
        self.completed = set()
        self.count = 0

    def handed_out(self, jid, number, expires):
        with self.lock:
            self.count += 1
            if jid in self.completed:
                self.found(f"{jid} is handed out after its completion")
            if number in self.by_jid[jid]:
                self.found(f"{jid} is handed out twice with lock {number}")
            self.by_jid[jid][number] = [expires, False]
            self.check(jid)

    def check(self, jid):
        """No lock begins before the earlier one has ended. Numbers grow with each hand-out."""
        earlier_number = earlier = None
        for number, lock in sorted(self.by_jid[jid].items()):
            if earlier and not earlier[1]:
                begin = lock[2] if len(lock) > 2 else lock[0] - self.lock_seconds
                if begin + CLOCK_STEP < earlier[0]:
                    self.found(f"{jid} is handed out with lock {number} at {begin:.3f}, "
                               f"and lock {earlier_number} ends at {earlier[0]:.3f}")
            earlier_number, earlier = number, lock

    def kept(self, jid, number, expires):
        """A heartbeat was acknowledged. Its reply has whole seconds."""
        with self.lock:
            lock = self.by_jid[jid][number]
            if len(lock) == 2:
                lock.append(lock[0] - self.lock_seconds)  # when it began
            lock[0] = max(lock[0], expires)

    def released(self, jid, number):
        """The worker is about to give the job back."""
        with self.lock:
            self.by_jid[jid][number][1] = True

    def was_completed(self, jid):
        with self.lock:
            self.completed.add(jid)


class Register:
    """A value that one client writes, in rising order."""

    def __init__(self, name):
        self.name = name
        self.sent = self.acknowledged = self.seen = 0
        self.is_in_doubt = False
        self.kind = None


class Registers:
    """Values, and what readers saw of them."""

    def __init__(self, found, is_strict):
        self.found, self.is_strict = found, is_strict
        self.lock = threading.Lock()
        self.all = {}
        self.stale_reads = self.reads = self.writes = 0

    def register(self, name):
        with self.lock:
            return self.all.setdefault(name, Register(name))

    def begin_read(self, register):
        with self.lock:
            return max(register.acknowledged, register.seen)

    def end_read(self, register, floor, value):
        """A value was read, and `floor` was known before the request. None: there is no value."""
        with self.lock:
            self.reads += 1
            if value is None or value < floor:
                self.stale_reads += 1
                if self.is_strict:
                    self.found(f"{register.name} is read as {value} after {floor}")
                return
            register.seen = max(register.seen, value)
            if value > register.sent:
                self.found(f"{register.name} is {value}, which nobody has written")

    def acknowledge(self, register, value):
        with self.lock:
            self.writes += 1
            register.acknowledged = value

    def settle(self, register, value):
        with self.lock:
            if value < register.acknowledged:
                self.found(f"{register.name} is {value}, and {register.acknowledged} was "
                           f"acknowledged")
            elif value < register.seen:
                self.found(f"{register.name} is {value}, and a client has seen {register.seen}")
            elif value > register.sent:
                self.found(f"{register.name} is {value}, and at most {register.sent} was written")
            register.acknowledged = register.seen = value
            register.is_in_doubt = False


class Events:
    """The news of jobs that listeners and waiting clients got."""

    def __init__(self, found):
        self.found = found
        self.lock = threading.Lock()
        self.told = {}  # jid -> "complete" or "exists"
        self.cancelled = set()  # or about to be
        self.count = 0

    def tell(self, jid, state):
        with self.lock:
            self.count += 1
            if self.told.get(jid) != "complete":
                self.told[jid] = state

    def is_cancelled(self, jid):
        with self.lock:
            self.cancelled.add(jid)

    def settle(self, states):
        """`states` has those of all jobs, by jid; None for a job that does not exist."""
        with self.lock:
            for jid, told in self.told.items():
                state = states.get(jid, told)
                if told == "complete" and state != "complete":
                    self.found(f"{jid} is {state}, and a client was told of its completion")
                elif state is None and jid not in self.cancelled:
                    self.found(f"{jid} does not exist, and a client was told of it")
            self.told.clear()


class Terms:
    """The leaders of terms. There is one leader a term, and no node forgets a term."""

    def __init__(self, found):
        self.found = found
        self.leaders = {}
        self.known = {}  # node -> the term of the last settling

    def saw(self, node, info):
        term = int(info["group_term"])
        if info["role"] == "master":
            leader = self.leaders.setdefault(term, node)
            if leader != node:
                self.found(f"nodes {leader} and {node} both lead in term {term}")
        if term < self.known.get(node, 0):
            self.found(f"node {node} has forgotten term {self.known[node]}: it is in {term}")

    def settle(self, node, info):
        self.known[node] = int(info["group_term"])
