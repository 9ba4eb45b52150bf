"""The load: threads that change everything that the log records, with a token in each change.

A token is a word that occurs in one command and in what that command makes. The judge finds it in
the record of the command, and in the replies that tell of it: see tokens.h.
"""

import json
import random
import socket
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "soak"))

from resp import Peer

QUEUES = [f"q{n}" for n in range(4)]
PRIVATE_QUEUE = "private"  # nobody pops from it
FLUSHED_DATABASE = 3
RECENT_MAX = 200
TIMEOUT_SECONDS = 60
SCRIPT = Path(__file__).resolve().parent.parent / "clients" / "qless.lua"


class UnixPeer(Peer):
    """A connection by a Unix socket."""

    def __init__(self, path):  # pylint: disable=super-init-not-called
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT_SECONDS)
        self.socket.connect(str(path))
        self.input = self.socket.makefile("rb", 65536)


class Load:
    """State that the threads share."""

    def __init__(self, path, seed, first_token, requests, seconds, syncs):
        self.path = path
        self.rng = random.Random(seed)
        self.requests = requests  # at least this many, and at least for this time
        self.until = time.monotonic() + seconds
        self.syncs = syncs  # values of appendfsync that are allowed
        self.sent = 0
        self.is_over = False
        self.recent = []
        self.lock = threading.Lock()
        self.next_token = first_token  # the number of the next one
        self.trouble = []

    def token(self):
        with self.lock:
            number = self.next_token
            self.next_token += 1
        return f"tk{number:08d}z"

    def note_job(self, jid):
        with self.lock:
            self.recent.append(jid)
            del self.recent[:-RECENT_MAX]

    def goes_on(self):
        return not self.is_over and (self.sent < self.requests or time.monotonic() < self.until)

    def run_client(self, function, rng):
        """Run a client until the load is over. If it loses its connection, it makes another."""
        try:
            while self.goes_on():
                try:
                    client = Client(self, rng)
                except OSError:
                    time.sleep(0.01)
                    continue
                try:
                    while self.goes_on():
                        function(client)
                except OSError:
                    pass
                client.peer.close()
        except Exception as error:  # pylint: disable=broad-except
            self.trouble.append(f"{function.__name__}: {error!r}")
            raise

    def run(self):
        """Start all clients. The server may be killed before the load is over."""
        threads = [threading.Thread(target=self.run_client, daemon=True,
                                    args=(function, random.Random(self.rng.random())))
                   for function, count in CLIENTS for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads


class Client:
    """One connection."""

    def __init__(self, load, rng):
        self.load = load
        self.rng = rng
        self.peer = UnixPeer(load.path)
        self.is_subscribed = False

    def ask(self, *words):
        self.load.sent += 1
        return self.peer.ask(*words)

    def pipeline(self, requests):
        self.load.sent += len(requests)
        return self.peer.pipeline(requests)

    def token(self):
        return self.load.token()

    def data(self):
        rng = self.rng
        size = 9000 if rng.random() < 0.05 else rng.randrange(10, 1500)
        return json.dumps({"x": "y" * size})


def put_words(client, jid):
    rng = client.rng
    words = ["put", "producer", rng.choice(QUEUES), jid, "Class", client.data(),
             rng.choice((0, 0, 0, 0, 1, 3600))]
    if rng.random() < 0.3:
        words += ["tags", json.dumps([client.token()])]
    if rng.random() < 0.3:
        words += ["priority", rng.randrange(10)]
    if rng.random() < 0.2 and client.load.recent:
        words[6] = 0
        words += ["depends", json.dumps([rng.choice(client.load.recent)])]
    return words


def producer(client):
    jids = [client.token() for _ in range(client.rng.randrange(1, 6))]
    client.pipeline([put_words(client, jid) for jid in jids])
    for jid in jids:
        client.load.note_job(jid)
    time.sleep(client.rng.choice((0, 0.002, 0.01)))


def work(client, worker, queue, job):
    rng, jid, token = client.rng, job["jid"], client.token()
    data = json.dumps({"t": token})
    return rng.choice((
        ("complete", jid, worker, queue, data),
        ("complete", jid, worker, queue, data),
        ("complete", jid, worker, queue, data, "next", rng.choice(QUEUES), "delay", 0),
        ("fail", jid, worker, "broken", token),
        ("retry", jid, queue, worker, 0, "again", token),
        ("heartbeat", jid, worker, data),
        ("log", jid, token, "{}"),
        ("tag", "add", jid, token),
        ("priority", jid, rng.randrange(10)),
    ))


def worker(client):
    name, queue = client.token(), client.rng.choice(QUEUES)
    reply = client.ask("pop", queue, name, client.rng.randrange(1, 5))
    jobs = json.loads(reply) if isinstance(reply, str) and reply else []
    if jobs:
        client.pipeline([work(client, name, queue, job) for job in jobs])
    else:
        time.sleep(0.005)


def transactor(client):
    tokens = [client.token() for _ in range(client.rng.randrange(2, 5))]
    requests = [("put", "producer", client.rng.choice(QUEUES), token, "Class", client.data(), 0)
                for token in tokens]
    requests.append(("config.set", client.token(), client.token()))
    client.pipeline([("multi",), *requests, ("exec",)])
    batch = [word for _ in range(3) for word in (client.token(), "Class", client.data())]
    client.ask("multiput", "producer", client.rng.choice(QUEUES), 0, "jobs", *batch)
    time.sleep(client.rng.choice((0, 0.01)))


def canceller(client):
    """Removes what no other client mentions, because the judge looks for the last mention."""
    jid, recurring, user = client.token(), client.token(), client.token()
    client.pipeline([
        ("put", "producer", PRIVATE_QUEUE, jid, "Class", client.data(), 0),
        ("cancel", jid),
        ("recur", PRIVATE_QUEUE, recurring, "Class", "{}", "interval", 3600, 0),
        ("recur.update", recurring, "priority", 3),
        ("unrecur", recurring),
        ("acl", "setuser", user, "on", ">secret", "~*", "+@all"),
        ("acl", "deluser", user),
    ])
    time.sleep(0.01)


def janitor(client):
    rng, queue = client.rng, client.rng.choice(QUEUES)
    requests = [
        ("config.set", "jobs-history-count", rng.choice((20, 50, 100))),
        ("pause", queue), ("unpause", queue),
        ("unfail", queue, "broken", 5),
        ("recur", "recurring", client.token(), "Class", "{}", "interval", 1, 0, "backlog", 2),
        ("track", "track", rng.choice(client.load.recent or ["none"])),
        ("acl", "setuser", client.token(), "on", ">secret", "~*", "+@all"),
        ("select", FLUSHED_DATABASE),
        ("put", "producer", "flushed", client.token(), "Class", client.data(), 0),
        ("flushdb",),
        ("put", "producer", "flushed", client.token(), "Class", client.data(), 0),
        ("select", 0),
    ]
    client.pipeline(requests)
    if rng.random() < 0.2:
        client.ask("script", "load", SCRIPT.read_text(encoding="utf-8"))
    if rng.random() < 0.1:
        client.ask("script", "flush")
    time.sleep(0.02)


def endpointer(client):
    """Sets and deletes endpoints. No job waits for them, so nothing is posted."""
    rng, gone = client.rng, client.token()

    def settings():
        return ("URL", f"http://127.0.0.1:1/{client.token()}", "QUEUES", 2, "posted",
                client.token(), "CONCURRENCY", rng.randrange(1, 9), "TIMEOUT", rng.randrange(1, 9),
                "HEADER", "X-Token", client.token(), "SECRET", client.token())

    kept = f"kept{rng.randrange(4)}"
    client.pipeline([
        ("endpoint.set", kept, *settings()),
        (rng.choice(("endpoint.pause", "endpoint.unpause")), kept),
        ("endpoint.set", gone, *settings()),
        ("endpoint.pause", gone),
        ("endpoint.set", gone, *settings()),
        ("endpoint.delete", gone),
    ])
    time.sleep(0.02)


def drain(client):
    """Ends waiting jobs, so that the state stays small."""
    name, queue = client.token(), client.rng.choice((*QUEUES, "recurring"))
    reply = client.ask("pop", queue, name, 20)
    jobs = json.loads(reply) if isinstance(reply, str) and reply else []
    if jobs:
        client.pipeline([("complete", job["jid"], name, queue, "{}") for job in jobs])
    time.sleep(0.01)


def reader(client):
    some = [client.rng.choice(client.load.recent or ["none"]) for _ in range(3)]
    client.pipeline([
        ("get", some[0]), ("multiget", *some), ("jobs", "running", client.rng.choice(QUEUES)),
        ("peek", client.rng.choice(QUEUES), 3), ("workers",), ("queues",),
    ])
    time.sleep(0.005)


def rewriter(client):
    """Makes snapshots in both ways, at different speeds."""
    rng = client.rng
    client.pipeline([
        ("config", "set", "fork-max-memory", rng.choice(("0", "1gb"))),
        ("config", "set", "rewrite-rate-limit", rng.choice(("0", "1mb", "4mb"))),
        ("config", "set", "log-keep-bases", rng.choice((0, 0, 1))),
        ("config", "set", "log-segment-size", rng.choice(("64kb", "256kb", "2mb"))),
        ("config", "set", "appendfsync", rng.choice(client.load.syncs)),
        ("bgrewriteaof",),
    ])
    time.sleep(rng.choice((0.02, 0.1, 0.3)))


def listener(client):
    if not client.is_subscribed:
        client.is_subscribed = True
        client.peer.send("psubscribe", "ql:*")
        client.peer.socket.settimeout(0.2)
    try:
        client.peer.receive()
    except TimeoutError:
        raise ConnectionError("a part of a message may be lost") from None


CLIENTS = (
    (producer, 2), (worker, 2), (transactor, 1), (canceller, 1), (janitor, 1), (drain, 1),
    (reader, 1), (rewriter, 1), (listener, 1), (endpointer, 1),
)
