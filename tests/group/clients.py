"""Clients of a group with faults. Each is a thread that writes what it does into the books."""

import hashlib
import json
import random
import threading
import time
from pathlib import Path

from resp import ServerError

PATIENCE_SECONDS = 1.5  # a client takes the outcome for unknown after this time
AGAIN_SECONDS = 0.02
QUEUES = ("qa", "qb", "qc")
LIVE_MAX = 400
LATER = 100000  # seconds
VALUES_MAX = 100  # of one name
# Errors of a server that has changed nothing, because it does not lead.
ELSEWHERE = ("READONLY", "MASTERDOWN", "LOADING", "MISCONF")
# Errors that a client gets because its lock has ended, another client was faster, or the leader
# hands over.
RACES = ("UNBLOCKED", "NOJOB", "NOTRUNNING", "NOTOWNER", "WRONGQUEUE", "NOTDEPENDS")


class Unknown(Exception):
    """The reply did not arrive: the outcome is unknown."""


class Client(threading.Thread):
    """A client that looks for the leader, or stays with one node if `home` is given."""

    def __init__(self, run, seed, home=None):
        super().__init__(daemon=True)
        self.run_of = run
        self.rng = random.Random(seed)
        self.home = home
        self.node = home or self.rng.choice(run.group.nodes)
        self.peer = None
        self.is_idle = False

    def run(self):
        while not self.run_of.is_over:
            self.is_idle = True
            self.run_of.may_work.wait()
            self.is_idle = False
            if not self.run_of.may_work.is_set() or self.run_of.is_over:
                continue
            try:
                self.step()
            except (Unknown, ServerError):
                pass
            except Exception as error:  # pylint: disable=broad-exception-caught
                self.run_of.found(f"{type(self).__name__} ends: {error!r}")
                break
        self.is_idle = True
        self.disconnect()

    def step(self):
        raise NotImplementedError

    def disconnect(self):
        if self.peer:
            self.peer.close()
            self.peer = None

    def look_elsewhere(self):
        self.disconnect()
        if self.home is None:
            nodes = self.run_of.group.nodes
            self.node = nodes[(nodes.index(self.node) + 1) % len(nodes)]
        time.sleep(AGAIN_SECONDS)
        if not self.run_of.may_work.is_set() or self.run_of.is_over:
            raise Unknown()

    def connect(self):
        while self.peer is None:
            try:
                self.peer = self.node.connect(PATIENCE_SECONDS)
                self.greet()
            except (OSError, ConnectionError):
                self.look_elsewhere()

    def greet(self):
        """Say what each new connection says first."""

    def ask(self, *words):
        """The reply of the leader. Raises Unknown, and ServerError for a race."""
        while True:
            self.connect()
            try:
                self.peer.socket.settimeout(PATIENCE_SECONDS)
                reply = self.peer.ask(*words)
            except (OSError, ConnectionError):
                self.look_elsewhere_after_doubt()
                raise Unknown() from None
            if not isinstance(reply, ServerError):
                return reply
            text = str(reply)
            if text.startswith(ELSEWHERE):
                self.look_elsewhere()
                continue
            if not text.startswith(RACES):
                self.run_of.found(f"{words!r:.200} is answered {text}")
            raise reply

    def transact(self, *requests):
        """The reply of EXEC: all of the requests happened, or none."""
        self.connect()
        began = time.monotonic()
        try:
            self.peer.socket.settimeout(PATIENCE_SECONDS)
            reply = self.peer.pipeline([("multi",), *requests, ("exec",)])[-1]
        except (OSError, ConnectionError):
            self.look_elsewhere_after_doubt()
            raise Unknown() from None
        if isinstance(reply, ServerError):  # this node does not lead
            self.look_elsewhere_after_doubt()
            raise Unknown()
        self.run_of.acknowledged(began)
        return reply

    def look_elsewhere_after_doubt(self):
        try:
            self.look_elsewhere()
        except Unknown:
            pass

    def change(self, *words):
        """Ask for something that changes the state."""
        began = time.monotonic()
        reply = self.ask(*words)
        if words[0] not in ("pop", "bpop"):  # these may have found nothing
            self.run_of.acknowledged(began)
        return reply


class Producer(Client):
    """Puts jobs at one node: one, many, or in a transaction."""

    def step(self):
        ledger = self.run_of.ledger
        time.sleep(self.rng.random() * self.run_of.pace)
        if ledger.live_count() > LIVE_MAX and self.rng.random() < 0.9:
            return
        chance = self.rng.random()
        jids = [self.run_of.new_jid() for _ in range(1 if chance < 0.7 else 3)]
        queue = self.rng.choice(QUEUES)
        for jid in jids:
            ledger.announce_put(jid)
        if chance < 0.7:
            self.change("put", "p", queue, jids[0], "Fault", "{}", 0, "retries", 1000)
        elif chance < 0.85:
            words = [word for jid in jids for word in (jid, "Fault", "{}")]
            self.change("multiput", "p", queue, 0, "retries", 1000, "jobs", *words)
        else:
            self.transact(*(("put", "p", queue, jid, "Fault", "{}", 0, "retries", 1000)
                            for jid in jids))
        for jid in jids:
            ledger.confirm_put(jid)


class Worker(Client):
    """Pops jobs, and returns, fails, moves, forgets or completes them."""

    def __init__(self, run, seed, name):
        super().__init__(run, seed)
        self.name_of_worker = name

    def step(self):
        name = self.name_of_worker
        if self.rng.random() < 0.5:
            reply = self.change("pop", self.rng.choice(QUEUES), name, self.rng.choice((1, 1, 3)))
        else:
            reply = self.change("bpop", "0.2", name, "3", *QUEUES, "count", 1)
        jobs = json.loads(reply) if reply else []
        for job in jobs:
            self.run_of.hand_outs.handed_out(job["jid"], job["lock"], job["expires"])
        for job in jobs:
            try:
                self.work(job["jid"], job["lock"], job["queue"])
            except ServerError:
                pass  # the lock has ended
        if not jobs:
            time.sleep(self.run_of.pace)

    def work(self, jid, lock, queue):
        hand_outs = self.run_of.hand_outs
        name = self.name_of_worker
        time.sleep(self.rng.random() * self.run_of.pace)
        if self.rng.random() < 0.2:
            expires = self.change("heartbeat", jid, name, '{"beat":1}', "lock", lock)
            hand_outs.kept(jid, lock, expires)
        chance = self.rng.random()
        if chance < 0.05:
            return  # the lock will end
        if chance < 0.15:
            hand_outs.released(jid, lock)
            self.change("retry", jid, queue, name, 0, "lock", lock)
        elif chance < 0.22:
            hand_outs.released(jid, lock)
            self.end(jid, "failed", "fail", jid, name, "keep", "did not work")
        elif chance < 0.35:
            hand_outs.released(jid, lock)
            self.change("complete", jid, name, queue, "{}", "next", self.rng.choice(QUEUES),
                        "lock", lock)
        else:
            self.end(jid, "complete", "complete", jid, name, queue, "{}", "lock", lock)
            hand_outs.was_completed(jid)

    def end(self, jid, end, *words):
        ledger = self.run_of.ledger
        ledger.announce_end(jid, end)
        try:
            self.change(*words)
        except ServerError:
            ledger.refuse_end(jid, end)
            raise
        ledger.confirm_end(jid, end)


def in_list(words, name):
    """A value of a reply that is a map."""
    return words[words.index(name) + 1]


class Kind:
    """A kind of change: `make` prepares a name, `write` gives it a number, `read` returns it."""

    def __init__(self, make, write, read):
        self.make, self.write, self.read = make, write, read


def job(name):
    return [("put", "p", "later", name, "Fault", '{"n":0}', LATER)]


def job_field(field):
    return lambda ask, name: json.loads(ask("get", name))[field]


def read_data(ask, name):
    return json.loads(json.loads(ask("get", name))["data"])["n"]


def read_tags(ask, name):
    return max([int(tag[1:]) for tag in json.loads(ask("get", name))["tags"]], default=0)


def read_dependencies(ask, name):
    return max(int(jid.rpartition("-")[2]) for jid in json.loads(ask("get", name))["dependencies"])


def read_user(ask, name):
    return int(in_list(ask("acl", "getuser", name), "keys")[2:])


def read_scripts(ask, name):
    known = ask("script", "exists", *(sha(name, number) for number in range(VALUES_MAX + 1)))
    return max(number * is_known for number, is_known in enumerate(known))


SCRIPT = (Path(__file__).parent.parent / "clients" / "qless.lua").read_text(encoding="utf-8")


SCRIPT_HASH = hashlib.sha1(SCRIPT.encode())


def mark_of(name, number):
    """A comment that makes the script another one."""
    return f"\n-- {name} {number}\n"


def sha(name, number):
    digest = SCRIPT_HASH.copy()
    digest.update(mark_of(name, number).encode())
    return digest.hexdigest()


KINDS = {
    "priority": Kind(job, lambda name, n: [("priority", name, n)], job_field("priority")),
    "tag": Kind(job, lambda name, n: [("tag", "add", name, f"t{n}")], read_tags),
    "depends": Kind(
        lambda name: job(f"{name}-0") + [("put", "p", "later", name, "Fault", "{}", 0, "depends",
                                         f'["{name}-0"]')],
        lambda name, n: job(f"{name}-{n}") + [("depends", name, "on", f"{name}-{n}")],
        read_dependencies),
    "recur": Kind(
        lambda name: [("recur", "later", name, "Fault", '{"n":0}', "interval", LATER, LATER)],
        lambda name, n: [("recur.update", name, "data", f'{{"n":{n}}}')],
        lambda ask, name: json.loads(json.loads(ask("recur.get", name))["data"])["n"]),
    "limit": Kind(
        lambda name: [("limit.set", name, "concurrency", 1000)],
        lambda name, n: [("limit.set", name, "concurrency", 1000 + n)],
        lambda ask, name: in_list(ask("limit.get", name), "concurrency") - 1000),
    "endpoint": Kind(
        lambda name: [("endpoint.set", name, "url", "http://127.0.0.1:1/0", "queues", 1, name)],
        lambda name, n: [("endpoint.set", name, "url", f"http://127.0.0.1:1/{n}", "queues", 1,
                          name)],
        lambda ask, name: int(in_list(ask("endpoint.get", name), "url").rpartition("/")[2])),
    "user": Kind(
        lambda name: [("acl", "setuser", name, "resetkeys", "~k0")],
        lambda name, n: [("acl", "setuser", name, "resetkeys", f"~k{n}")], read_user),
    "config": Kind(
        lambda name: [("config.set", f"{name}-max-concurrency", 1000)],
        lambda name, n: [("config.set", f"{name}-max-concurrency", 1000 + n)],
        lambda ask, name: int(ask("config.get", f"{name}-max-concurrency")) - 1000),
    "transaction": Kind(
        lambda name: job(name) + job(f"{name}-twin"),
        lambda name, n: [("priority", name, n), ("priority", f"{name}-twin", n)],
        lambda ask, name: read_twins(ask, name)),
    "data": Kind(
        lambda name: [("put", "p", name, name, "Fault", '{"n":0}', 0),
                      ("config.set", f"{name}-heartbeat", LATER), ("pop", name, "holder", 1)],
        lambda name, n: [("heartbeat", name, "holder", f'{{"n":{n}}}')], read_data),
    "script": Kind(lambda name: [], None, read_scripts),
}


def read_twins(ask, name):
    """The transaction sets both, or none."""
    jobs = json.loads(ask("multiget", name, f"{name}-twin"))
    first, second = (one["priority"] for one in jobs)
    if first != second:
        raise ValueError(f"half of a transaction is there: {first} and {second}")
    return first


def read(ask, register):
    """The value that the server has, or None if there is nothing of that name."""
    try:
        return KINDS[register.kind].read(ask, register.name)
    except (AttributeError, IndexError, TypeError):  # no reply has the value
        return None


class Setter(Client):
    """Changes values of all kinds, one after the other."""

    def __init__(self, run, seed, number):
        super().__init__(run, seed)
        self.number = number
        self.names = {}

    def step(self):
        kind_name = self.rng.choice(list(KINDS))
        if kind_name == "script" and self.rng.random() < 0.9:
            return  # it is large
        if kind_name not in self.names:
            self.prepare(kind_name)
            return
        register = self.run_of.registers.register(self.names[kind_name])
        time.sleep(self.run_of.pace / 2)
        if register.is_in_doubt:
            return  # nothing overtakes a write of which nobody knows when it comes
        if register.sent >= VALUES_MAX:
            del self.names[kind_name]  # the next one gets another name
            return
        value = register.sent + 1
        register.sent = value
        register.is_in_doubt = True
        self.write(kind_name, self.names[kind_name], value)
        register.is_in_doubt = False
        self.run_of.registers.acknowledge(register, value)

    def prepare(self, kind_name):
        """Until all of it was acknowledged, nobody asks for it."""
        name = f"{kind_name}{self.number}-{self.run_of.new_jid()}"
        for words in KINDS[kind_name].make(name):
            self.change(*words)
        register = self.run_of.registers.register(name)
        register.kind = kind_name
        self.names[kind_name] = name
        self.run_of.published.append(name)

    def write(self, kind_name, name, value):
        if kind_name == "script":
            self.change("script", "load", SCRIPT + mark_of(name, value))
            return
        requests = KINDS[kind_name].write(name, value)
        if kind_name == "transaction":
            self.transact(*requests)
            return
        for words in requests:
            self.change(*words)


class Reader(Client):
    """Reads what others change."""

    def step(self):
        registers = self.run_of.registers
        time.sleep(self.run_of.pace / 2)
        if not self.run_of.published:
            return
        name = self.rng.choice(self.run_of.published[-20:])
        register = registers.register(name)
        floor = registers.begin_read(register)
        value = read(self.ask, register)
        if register.kind == "user":  # nodes that follow also answer, and may lag
            floor, value = 0, value or 0
        registers.end_read(register, floor, value)


class Janitor(Client):
    """Cancels jobs that have failed."""

    def step(self):
        time.sleep(self.run_of.pace * 10)
        listed = json.loads(self.ask("failed", "keep", 0, 20))
        for one in listed["jobs"] or ():
            jid = one if isinstance(one, str) else one["jid"]
            ledger = self.run_of.ledger
            self.run_of.events.is_cancelled(jid)
            ledger.announce_end(jid, "cancelled")
            self.change("cancel", jid)
            ledger.confirm_end(jid, "cancelled")


class Listener(Client):
    """Hears the events of one node."""

    def greet(self):
        reply = self.peer.ask("subscribe", "ql:log")
        if isinstance(reply, ServerError):
            raise ConnectionError("no events here")

    def step(self):
        self.connect()
        self.peer.socket.settimeout(0.2)
        try:
            message = self.peer.receive()
        except TimeoutError:
            return self.disconnect()  # an event may have been read in part
        except (OSError, ConnectionError):
            return self.look_elsewhere()
        if isinstance(message, ServerError):
            return self.look_elsewhere()
        event = json.loads(message[2])
        jid = event.get("jid", "")
        if jid.startswith("j") and event["event"] in ("put", "completed", "advanced", "failed"):
            is_end = event["event"] == "completed"
            self.run_of.events.tell(jid, "complete" if is_end else "exists")
        return None


class Waiter(Client):
    """Waits for the ends of jobs."""

    def step(self):
        jid = self.run_of.ledger.some_jid(self.rng)
        reply = self.ask("job.wait", "0.3", jid)
        for one, state, _result in reply or ():
            if state == "complete":
                self.run_of.events.tell(one, "complete")
        time.sleep(self.run_of.pace)
