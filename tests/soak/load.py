"""The load: threads that use a server in every way, until they are told to stop.

Each kind of client is a generator that does a little and yields; between two yields it may be
ended. The connection of a client that loses it while the server is up is a finding.
"""

import json
import random
import re
import socket
import time

import ledger as book
from resp import Peer, ServerError, encode

QUEUES = [f"q{n}" for n in range(6)]
TAGS = [f"tag{n}" for n in range(20)]
CLASSES = [f"Class{n}" for n in range(5)]
DIALECTS = ("native", "qless", "evalsha")
FLUSHED_DATABASE = 3
AGAIN_GROUP = "again"
LIVE_MAX = 3000  # producers wait at this number of jobs
SLOW_SECONDS = 20  # time after which a client that does not read must be disconnected

# Errors that a client may get because another one was faster.
RACES = re.compile(r"NOJOB|NOTRUNNING|NOTOWNER|WRONGQUEUE|DEPENDENTS|NOTDEPENDS|does not exist|"
                   r"not currently running|given out to another worker|another worker|"
                   r"running in another queue|is a dependency|not in the depends state|"
                   r"not in depends|not in running state|not running", re.I)


class Session:
    """One client of the queues, in one of the dialects."""

    def __init__(self, soak, dialect, random_numbers):
        self.soak = soak
        self.ledger = soak.ledger
        self.dialect = dialect
        self.rng = random_numbers
        self.peer = soak.server.connect(is_encrypted=random_numbers.random() < 0.25)

    def request(self, name, *arguments):
        if self.dialect == "native":
            return (name, *arguments)
        now = repr(time.time())
        if self.dialect == "qless":
            return ("qless", name, now, *arguments)
        return ("evalsha", self.soak.script_sha, 0, name, now, *arguments)

    def __call__(self, name, *arguments):
        """The reply, or None and a count if another client was faster."""
        self.soak.operations[name] += 1
        reply = self.send(self.request(name, *arguments))
        if isinstance(reply, ServerError):
            if not RACES.search(str(reply)):
                self.soak.found(f"{self.dialect} {name} {arguments!r:.200} is answered {reply}")
            self.soak.races[name] += 1
            return None
        return reply

    def send(self, words):
        began = time.monotonic()
        self.peer.send(*words)
        reply = self.peer.receive()
        self.soak.slowest(words[0], time.monotonic() - began)
        return reply

    def put(self, name, jid, *arguments):
        self.ledger.announce_put(jid)
        if self(name, *arguments) is None:
            self.ledger.refuse_put(jid)
        else:
            self.ledger.confirm_put(jid)

    def end(self, end, jid, name, *arguments, may_return=False):
        """Run an operation that moves the job to a state if it succeeds."""
        self.ledger.announce_end(jid, end)
        if self(name, *arguments) is None:
            self.ledger.refuse_end(jid, end)
        else:
            self.ledger.confirm_end(jid, end, may_return)


def payload(rng):
    size = 9000 if rng.random() < 0.02 else rng.randrange(20, 300)
    return json.dumps({"x": "y" * size})


def options(session):
    rng = session.rng
    words = []
    if rng.random() < 0.3:
        words += ["priority", rng.randrange(-5, 20)]
    if rng.random() < 0.3:
        words += ["tags", json.dumps(rng.sample(TAGS, rng.randrange(1, 4)))]
    if rng.random() < 0.2:
        words += ["retries", rng.randrange(1, 6)]
    return words


def producer(soak, rng):
    session = Session(soak, rng.choice(DIALECTS), rng)
    recent = []
    while True:
        yield
        if soak.ledger.live_count() > LIVE_MAX:
            time.sleep(0.05)
            continue
        for _ in range(20):
            jid = soak.new_jid()
            words = options(session)
            if recent and rng.random() < 0.15:
                words += ["depends", json.dumps(rng.sample(recent, min(len(recent), 2)))]
                delay = 0
            else:
                delay = rng.choice((0, 0, 0, 0, 0, 0, 1, 2))
            session.put("put", jid, "producer", rng.choice(QUEUES), jid, rng.choice(CLASSES),
                        payload(rng), delay, *words)
            recent = recent[-9:] + [jid]


def batch_producer(soak, rng):
    """Transactions and MULTIPUT: all or nothing."""
    session = Session(soak, "native", rng)
    while True:
        yield
        time.sleep(0.02)
        if soak.ledger.live_count() > LIVE_MAX:
            continue
        jids = [soak.new_jid() for _ in range(5)]
        queue = rng.choice(QUEUES)
        for jid in jids:
            soak.ledger.announce_put(jid)
        if rng.random() < 0.5:
            words = [word for jid in jids for word in (jid, "Class0", "{}")]
            done = session("multiput", "producer", queue, 0, "jobs", *words) == jids
        else:
            puts = [("put", "producer", queue, jid, "Class0", "{}", 0) for jid in jids]
            replies = session.peer.pipeline([("multi",), *puts, ("exec",)])
            soak.operations["exec"] += 1
            done = replies[-1] == jids
        if not done:
            soak.found("a batch of puts was not answered with its jids")
        for jid in jids:
            soak.ledger.confirm_put(jid)


def worker(soak, rng):
    session = Session(soak, rng.choice(DIALECTS), rng)
    name = f"worker{rng.randrange(12)}"
    while True:
        yield
        queue = rng.choice(QUEUES)
        reply = session("pop", queue, name, rng.choice((1, 1, 5)))
        jobs = json.loads(reply) if reply else []
        if not jobs:
            time.sleep(0.01)
        for job in jobs:
            work(session, name, queue, job)


def work(session, name, queue, job):
    rng, jid = session.rng, job["jid"]
    session.ledger.saw(jid)
    chance = rng.random()
    if chance < 0.05:
        session("heartbeat", jid, name, '{"beat":1}')
    elif chance < 0.08:
        session("log", jid, "halfway", '{"n":1}')
    elif chance < 0.11:
        session("tag", "add", jid, rng.choice(TAGS))
    elif chance < 0.13:
        session("priority", jid, rng.randrange(10))
    chance = rng.random()
    if chance < 0.02:
        pass  # the lock will expire
    elif chance < 0.04:
        session("timeout", jid)
    elif chance < 0.08:
        session("retry", jid, queue, name, rng.choice((0, 1)))
    elif chance < 0.11:
        group = rng.choice((book.KEEP_GROUP, AGAIN_GROUP))
        session.end(book.FAILED, jid, "fail", jid, name, group, "did not work",
                    may_return=group == AGAIN_GROUP)
    elif chance < 0.20:
        session("complete", jid, name, queue, "{}", "next", rng.choice(QUEUES), "delay",
                rng.choice((0, 0, 1)))
    else:
        session.end(book.COMPLETE, jid, "complete", jid, name, queue, '{"done":true}')


def janitor(soak, rng):
    """Cancels jobs, puts failed jobs again, and pauses queues."""
    session = Session(soak, rng.choice(DIALECTS), rng)
    while True:
        yield
        time.sleep(0.05)
        clear_failed(session)
        if rng.random() < 0.2:
            for _ in range(3):
                jid = soak.ledger.some_jid(rng)
                session.end(book.CANCELLED, jid, "cancel", jid)
        if rng.random() < 0.05:
            queue = rng.choice(QUEUES)
            session("pause", queue)
            time.sleep(0.1)
            session("unpause", queue)


def clear_failed(session):
    groups = json.loads(session("failed"))
    for group in groups or ():
        if group == AGAIN_GROUP:
            session("unfail", session.rng.choice(QUEUES), group, 10)
            continue
        listed = json.loads(session("failed", group, 0, 10))
        for job in listed["jobs"] or ():
            jid = job if isinstance(job, str) else job["jid"]
            session.ledger.saw(jid)
            if session.rng.random() < 0.5:
                session.end(book.CANCELLED, jid, "cancel", jid)
            else:
                session.ledger.announce_return(jid)
                session("requeue", "janitor", session.rng.choice(QUEUES), jid, "Class0", "{}", 0)


def recurrer(soak, rng):
    session = Session(soak, "native", rng)
    while True:
        jid = soak.new_jid("r")
        soak.recurring.add(jid)
        session("recur", rng.choice(QUEUES), jid, "Nightly", "{}", "interval", 1, 0, "backlog", 5)
        for _ in range(10):
            yield
            time.sleep(0.1)
        session("recur.tag", jid, rng.choice(TAGS))
        session("recur.update", jid, "priority", 3)
        session("unrecur", jid)  # a power failure can undo this, so the jid stays in the list


def endpointer(soak, rng):
    """Sets, pauses and deletes an endpoint. No job waits for it, so nothing is posted."""
    session = Session(soak, "native", rng)
    name = "soaked"  # no other client changes it
    while True:
        url = f"http://127.0.0.1:1/{rng.randrange(10 ** 9)}"
        session("endpoint.set", name, "URL", url, "QUEUES", 2, "posted", "Posted too",
                "CONCURRENCY", rng.randrange(1, 10), "HEADER", "X-Soak", rng.randrange(10),
                "SECRET", rng.randrange(10))
        session(rng.choice(("endpoint.pause", "endpoint.unpause")), name)
        yield
        time.sleep(rng.choice((0.01, 0.1)))
        if url not in (session("endpoint.get", name) or ()):
            soak.found(f"endpoint {name} has lost the URL {url}")
        if rng.random() < 0.3:
            session("endpoint.delete", name)


def reader(soak, rng):
    session = Session(soak, "native", rng)
    while True:
        yield
        jid, queue = soak.ledger.some_jid(rng), rng.choice(QUEUES)
        requests = [
            ("get", jid), ("queues",), ("queues", queue), ("workers",), ("workers", "worker1"),
            ("stats", queue, int(time.time())), ("jobs", "complete", 0, 20),
            ("jobs", "running", queue), ("jobs", "scheduled", queue), ("jobs", "depends", queue),
            ("jobs", "stalled", queue), ("peek", queue, 5), ("length", queue), ("failed",),
            ("tag", "top"), ("tag", "get", rng.choice(TAGS)), ("track",), ("config.get",),
            ("multiget", jid, soak.ledger.some_jid(rng)),
            ("hgetall", f"ql:j:{jid}"), ("type", f"ql:j:{jid}"), ("dbsize",),
            ("zrange", f"ql:q:{queue}-work", 0, 10), ("zcard", f"ql:q:{queue}-locks"),
            ("zrevrange", "ql:completed", 0, 10, "withscores"), ("smembers", "ql:failures"),
            ("zrange", "ql:queues", 0, -1), ("info",), ("info", "everything"),
            ("memory", "queues"), ("memory", "stats"), ("slowlog", "get", 10),
            ("latency", "histogram"), ("client", "list"), ("command", "docs", "put"),
        ]
        words = rng.choice(requests)
        soak.operations[f"read {words[0]}"] += 1
        reply = session.send(words)
        if isinstance(reply, ServerError):
            soak.found(f"{words} is answered {reply}")
        if rng.random() < 0.05:
            cursor = "0"
            for _ in range(20):
                cursor, _keys = session.peer.call("scan", cursor, "count", 200)
                if cursor == "0":
                    break


def tracker(soak, rng):
    session = Session(soak, rng.choice(DIALECTS), rng)
    while True:
        yield
        time.sleep(0.05)
        jid = soak.ledger.some_jid(rng)
        session("track", "track", jid)
        session("track", "untrack", jid)


def listener(soak, rng):
    """A subscriber that reads, alternating between the protocols."""
    while True:
        peer = Peer(soak.server.port)
        peer.send("psubscribe", "ql:*")
        peer.socket.settimeout(0.2)
        for _ in range(30):
            yield
            try:
                for _ in range(200):
                    peer.receive()
                    soak.operations["event"] += 1
            except (TimeoutError, socket.timeout):
                # A timeout may have left a part of a message, so connect again.
                break
        peer.close()


def deaf_listener(soak, rng):
    """A subscriber that never reads. It is disconnected, and other clients are not affected."""
    while True:
        peer = Peer(soak.server.port)
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.send_raw(encode(("psubscribe", "*")))
        for _ in range(100):
            yield
            time.sleep(0.1)
        soak.operations["deaf listener"] += 1
        peer.close()


def deaf_reader(soak, rng):
    """Requests large replies and never reads. It is disconnected at the output limit."""
    while True:
        peer = Peer(soak.server.port, timeout=5)
        request = encode(("command", "docs"))
        try:
            for _ in range(200):
                yield
                peer.send_raw(request)
                time.sleep(0.01)
        except (ConnectionError, TimeoutError, socket.timeout):
            soak.operations["deaf reader disconnected"] += 1
        peer.close()
        for _ in range(20):
            yield
            time.sleep(0.1)


def dawdler(soak, rng):
    """Sends a request byte by byte, or half of one, and disconnects."""
    while True:
        peer = Peer(soak.server.port)
        request = encode(("put", "w", rng.choice(QUEUES), "half", "Class0", "{}" * 20, 0))
        for position in range(rng.randrange(len(request) - 1)):
            peer.send_raw(request[position:position + 1])
            yield
            time.sleep(0.01)
        peer.close()
        soak.operations["half request"] += 1


def vandal(soak, rng):
    """Sends invalid requests. The reply is an error or the end of the connection."""
    while True:
        yield
        time.sleep(0.02)
        peer = Peer(soak.server.port, timeout=10)
        expected = rng.choice((
            (b"*1\r\n$999999999999\r\n", b"-ERR"),
            (b"*1\r\n$600000000\r\n", b"-ERR"),
            (b"*-7\r\n*9999999999\r\n", b"-ERR"),
            (b"*1\r\n:5\r\n", b"-ERR"),
            (b"x" * 70000, b"-ERR"),
            (encode(("put", "w")), b"-ERR wrong number"),
            (encode(("nonsense", "a", "b")), b"-ERR unknown"),
            (encode(("pop", "q0", "w", "many")), b"-BADARG"),
            (encode(("put", "w", "q0", "bad", "Class0", "{", 0)), b"-BADJSON"),
            (encode(("put", "w", "q0", "bad", "Class0", "[" * 5000, 0)), b"-"),
            (encode(("put", "w", "q0", "b" * 2000, "Class0", "{}", 0)), b"-LIMIT"),
            (encode(("put", "w", "q0", "bad", "Class0", "{}", "nan")), b"-BADARG"),
            (encode(("qless", "put")), b"-"),
            (encode(("evalsha", "0" * 40, 0)), b"-NOSCRIPT"),
            (encode(("eval", "return 1", 0)), b"-"),
            (encode(("set", "ql:j:x", "y")), b"-"),
            (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", None),
            (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", None),
            (bytes(rng.randrange(256) for _ in range(300)) + b"\r\n", None),
        ))
        data, wanted = expected
        got = b""
        try:
            peer.send_raw(data)
            peer.socket.settimeout(10 if wanted else 0.05)
            got = peer.socket.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            pass  # unread bytes reset the connection when it is closed
        except (TimeoutError, socket.timeout):
            if wanted:
                soak.found(f"{data[:60]!r} is not answered")
        if wanted and got and not got.startswith(wanted):
            soak.found(f"{data[:60]!r} is answered {got[:100]!r}")
        soak.operations["bad input"] += 1
        peer.close()


def rewriter(soak, rng):
    """Switches between snapshots from the log and by forks, also for automatic rewrites."""
    session = Session(soak, "native", rng)
    while True:
        for _ in range(rng.choice((3, 10, 30, 100))):
            yield
            time.sleep(0.1)
        session.send(("config", "set", "fork-max-memory", rng.choice(("0", "1gb"))))
        reply = session.send(("bgrewriteaof",))
        soak.operations["bgrewriteaof"] += 1
        if isinstance(reply, ServerError) and "in progress" not in str(reply):
            soak.found(f"BGREWRITEAOF is answered {reply}")


def scraper(soak, rng):
    """Reads the metrics, and sometimes disconnects in the middle."""
    while True:
        peer = Peer(soak.server.http_port)
        peer.send_raw(b"GET /metrics HTTP/1.0\r\n\r\n")
        if rng.random() < 0.2:
            peer.input.read(1000)
        else:
            text = peer.input.read()
            is_whole = b" 200 OK\r\n" in text and text.endswith(b"\n")
            if not is_whole and not soak.is_ending:
                soak.found(f"/metrics is answered {text[:200]!r}")
            soak.operations["scrape"] += 1
        peer.close()
        for _ in range(5):
            yield
            time.sleep(0.1)


def flusher(soak, rng):
    """Fills a database of its own and deletes it."""
    session = Session(soak, rng.choice(DIALECTS), rng)
    session.peer.call("select", FLUSHED_DATABASE)
    while True:
        for number in range(rng.randrange(300)):
            words = ["depends", json.dumps([f"f{number - 1}"])] if rng.random() < 0.3 else []
            session("put", "flusher", "flushed", f"f{number}", "Class0", payload(rng),
                    rng.choice((0, 0, 1000)), *options(session), *words)
            if number % 20 == 0:
                yield
        session("pop", "flushed", "flusher", 10)
        session("recur", "flushed", "again", "Nightly", "{}", "interval", 1, 0)
        session("track", "track", "f0")
        session.peer.call("flushdb")
        soak.operations["flushdb"] += 1
        left = session.peer.call("dbsize")
        if left:
            soak.found(f"{left} keys are left after FLUSHDB")
        for _ in range(5):
            yield
            time.sleep(0.1)


def passer_by(soak, rng):
    """Connects to the TLS port and disconnects: after the handshake, during it, or abruptly."""
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
    while True:
        chance = rng.random()
        if chance < 0.5:
            soak.server.connect(is_encrypted=True).close()
        else:
            peer = Peer(soak.server.tls_port)
            peer.send_raw(hello if chance < 0.75 else b"PING\r\n")
            yield
            time.sleep(0.1)
            peer.close()
        soak.operations["tls passer-by"] += 1
        for _ in range(3):
            yield
            time.sleep(0.1)


# Each kind of generator, and the number of its threads.
CLIENTS = (
    (producer, 3), (batch_producer, 1), (worker, 6), (janitor, 1), (recurrer, 1), (reader, 2),
    (tracker, 1), (listener, 1), (deaf_listener, 1), (deaf_reader, 1), (dawdler, 1), (vandal, 1),
    (rewriter, 1), (scraper, 1), (passer_by, 1), (flusher, 1), (endpointer, 1),
)


def clients(soak, seed):
    """The generators of one burst of load, each with random numbers of its own."""
    numbered = 0
    for kind, count in CLIENTS:
        for _ in range(count):
            numbered += 1
            yield kind.__name__, kind(soak, random.Random(f"{seed} {numbered}"))
