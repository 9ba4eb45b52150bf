"""Workers and producers for qlessd, over redis-py.

    from qlessd_worker import Worker

    worker = Worker("redis://localhost:7537", queues=["mail"])

    @worker.on("Send")
    def send(job):
        print("hello", job.data["to"])

    worker.run()

A worker waits for jobs without polling. The server keeps the locks of its jobs while the worker is
attached, so handlers send no heartbeats. A handler that returns completes its job, and a handler
that raises an exception fails it.

This file needs Python 3.8 or later, and redis-py 4.3 or later with RESP2 or RESP3. It depends on
nothing else, so a project may copy it.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import inspect
import json
import logging
import math
import os
import random
import re
import select
import signal
import socket
import sys
import threading
import time
import traceback
import uuid
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Type, Union

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry as RedisRetry

__all__ = ["Client", "Job", "JobLost", "Retry", "Worker"]

log = logging.getLogger("qlessd_worker")

DEFAULT_URL = "redis://localhost:7537"
DEFAULT_PORT = 7537

# Seconds for which BPOP waits. A longer wait saves requests, and a shorter one notices sooner that
# the server's machine is gone.
WAIT_SECONDS = 30
# Seconds of silence after which a connection counts as lost. BPOP may wait for nearly as long.
SILENCE_SECONDS = WAIT_SECONDS + 10
# Seconds after which a reply to the thread that keeps the worker attached is overdue.
REPLY_SECONDS = 5
# Seconds between two PINGs of the connection that keeps the worker attached.
PING_SECONDS = 10
# Characters of a failure's message that are kept. The end of a traceback says most.
MESSAGE_MAX = 16384
# Seconds that interrupted handlers get to end before the process does.
UNWIND_SECONDS = 2
# Seconds until the next attempt of a job that the server does not let this worker end.
RETRY_SECONDS = 60
# Exit status of a child process that fails for a reason that does not pass: EX_CONFIG.
HOPELESS_STATUS = 78
# Points between two entries about progress in the history of a job.
PROGRESS_STEP = 10

# The worker has lost the job.
LOST_CODES = {"NOTRUNNING", "NOTOWNER", "WRONGQUEUE", "NOJOB"}
# The server cannot do this now, and has changed nothing.
PASSING_CODES = {"MISCONF", "OOM", "LOADING", "READONLY", "MASTERDOWN", "BUSY", "UNBLOCKED"}

# The connection is lost, or there is none. So is a server that is still loading its log.
CONNECTION_ERRORS = (redis.ConnectionError, redis.TimeoutError, OSError)
# These are connection errors for redis-py, but trying again does not help.
LOGIN_ERRORS = tuple(
    getattr(redis.exceptions, name)
    for name in ("AuthenticationError", "AuthorizationError")
    if hasattr(redis.exceptions, name)
)


class JobLost(BaseException):
    """The worker no longer holds the lock of the job, so the handler must end.

    The lock has expired, or somebody canceled the job or took it away. Another worker may have it.
    Methods of a job raise this. It is no `Exception`, so that a handler does not swallow it along
    with the errors that it expects.
    """


class Retry(Exception):
    """A handler raises this to return its job to the queue, as `Job.retry()` does."""

    def __init__(self, delay: Optional[float] = None) -> None:
        super().__init__("retry" if delay is None else f"retry in {delay} s")
        self.delay = delay


class _Refused(Exception):
    """The server answered that the job is not this worker's."""

    def __init__(self, text: str, is_repeated: bool) -> None:
        super().__init__(text)
        self.is_repeated = is_repeated  # an earlier attempt may have succeeded


def _code(error: redis.ResponseError) -> str:
    """The code of an error. redis-py removes the codes that it has classes for."""
    for name, code in (("OutOfMemoryError", "OOM"), ("ReadOnlyError", "READONLY")):
        kind = getattr(redis.exceptions, name, None)
        if kind is not None and isinstance(error, kind):
            return code
    words = str(error).split(None, 1)
    return words[0] if words else ""


def _pauses() -> Iterator[float]:
    """Seconds to wait between attempts: from 0.1 up to 5, with a random part."""
    longest = 0.1
    while True:
        yield longest * random.uniform(0.5, 1)
        longest = min(longest * 2, 5)


def _shorten(text: str) -> str:
    return text if len(text) <= MESSAGE_MAX else "...\n" + text[-MESSAGE_MAX:]


def _describe(error: BaseException) -> Tuple[str, str]:
    """The failure group and the message of an exception, without the frame of this library."""
    frames = error.__traceback__
    if frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    return type(error).__name__, _shorten("".join(lines))


class Job:
    """A job that this worker runs.

    fields    all that the server says about the job
    jid, klass, queue, tags, priority
    attempt   1 for the first run
    state     "running" until the job ends; then what the server answered, such as "complete"
    """

    def __init__(self, fields: Dict[str, Any], link: Any, worker: str) -> None:
        self.fields = fields
        self.jid: str = fields["jid"]
        self.klass: str = fields["klass"]
        self.queue: str = fields["queue"]
        self.tags: List[str] = list(fields["tags"])
        self.priority: int = fields["priority"]
        self.attempt: int = max(1, fields["retries"] - fields["remaining"] + 1)
        self.state = "running"
        self._link = link
        self._worker = worker
        self._lock_number: Optional[int] = fields.get("lock")
        self._lost: Optional[str] = None
        self._guard = threading.Lock()  # of the members below
        self._thread: Optional[int] = None  # that may be interrupted now
        self._interrupt: Optional[Callable[[int], None]] = None
        self._is_interrupted = False

    def __repr__(self) -> str:
        return f"<Job {self.jid} {self.klass} {self.state}>"

    @property
    def data(self) -> Any:
        """The data of the job: a value read from JSON, or the bytes of a raw job.

        Changes are not sent unless you pass them on.
        """
        if not hasattr(self, "_data"):
            value = json.loads(self.fields["data"])
            self._data = base64.b64decode(value["base64"]) if self.fields.get("raw") else value
        return self._data

    @property
    def meta(self) -> Dict[str, str]:
        """The fields that the application gave the job, as of the hand-out."""
        return dict(self.fields.get("meta", {}))

    @property
    def cancelled(self) -> bool:
        """Whether the worker has lost the job. A long handler looks at this between its steps."""
        return self._lost is not None

    def check(self) -> None:
        """Raise JobLost if the worker has lost the job."""
        if self._lost is not None:
            raise JobLost(self._lost)

    def heartbeat(self, data: Any = None) -> None:
        """Renew the lock, and store new data if given. Raise JobLost if the lock is lost."""
        self._call("HEARTBEAT", self.jid, self._worker, *([] if data is None else [_text(data)]))

    def start(self) -> None:
        """Tell the server that the work begins, in this process on this machine.

        In a queue with a start timeout, a job that is not started in time goes to another worker.
        The option `report_start` of the worker calls this before each handler.
        """
        self._call("JOB.START", self.jid, self._worker, "PID", os.getpid(),
                   "NODE", socket.gethostname())

    def set_meta(self, **fields: Any) -> None:
        """Give the job fields of the application. Values that are no texts become JSON."""
        self.heartbeat()  # JOB.META has no LOCK
        words = [word for name, value in fields.items() for word in (name, _text_of(value))]
        self._link.insist("JOB.META", self.jid, "SET", *words)
        self.fields["meta"] = {**self.meta, **dict(zip(words[::2], words[1::2]))}

    def delete_meta(self, *names: str) -> None:
        """Remove fields of the application."""
        self.heartbeat()  # JOB.META has no LOCK
        self._link.insist("JOB.META", self.jid, "DEL", *names)
        self.fields["meta"] = {name: value for name, value in self.meta.items()
                               if name not in names}

    def log(self, message: str, **data: Any) -> None:
        """Add an entry to the history of the job."""
        self.heartbeat()  # LOG has no LOCK
        self._link.insist("LOG", self.jid, message, _dump(data))

    def progress(self, percent: float, note: Optional[str] = None) -> None:
        """Say how far the job is, from 0 to 100. The server shows it with the job."""
        self._call("JOB.PROGRESS", self.jid, self._worker, percent,
                   *([] if note is None else [note]))

    def complete(self, data: Any = None, *, result: Any = None, next: Optional[str] = None,
                 delay: float = 0, depends: Sequence[str] = (),
                 limits: Optional[Sequence[str]] = None) -> None:
        """Complete the job, and store new data if given. A raw job takes bytes.

        The server keeps `result` with the job: a text or bytes, or any value as JSON. With `next`,
        the job moves to that queue instead. There it waits for `delay` seconds, or until the jobs
        in `depends` complete, under the limits that it has or those in `limits`.
        """
        options: List[Any] = [] if data is None else [_text(data)]
        if result is not None:
            options += ["result", _text_of(result)]
        if next is not None:
            options += ["next", next]
            if delay:
                options += ["delay", delay]
            if depends:
                options += ["depends", _dump(list(depends))]
            if limits is not None:
                options += ["limits", _dump(list(limits))]
        elif delay or depends or limits is not None:
            raise ValueError("delay, depends and limits need next, the queue in which the job "
                             "waits")
        self._end(None, "COMPLETE", self.jid, self._worker, self.queue, *options)

    def retry(self, delay: Optional[float] = None, *, group: Optional[str] = None,
              message: Optional[str] = None) -> None:
        """Return the job to its queue, where it waits for `delay` seconds.

        Without a delay, its backoff decides, and if it has none, it does not wait. If the job has
        no retries left, it fails in this group, with this message.
        """
        reason = [] if group is None else [group, _shorten(message or "")]
        waits = bool(self.fields.get("backoff") if delay is None else delay)
        self._end("scheduled" if waits else "waiting", "RETRY", self.jid, self.queue, self._worker,
                  "backoff" if delay is None else delay, *reason)

    def fail(self, group: str, message: str, error: Optional[str] = None) -> None:
        """Fail the job. It stays in the failure group until a person has looked.

        `error` may be a long text that the server keeps with the message.
        """
        self._end("failed", "FAIL", self.jid, self._worker, group, _shorten(message),
                  *([] if error is None else ["error", error]))

    def _call(self, *command: Any) -> Any:
        self.check()
        if self.state != "running":
            raise RuntimeError(f"the job has ended: {self!r}")
        fence = [] if self._lock_number is None else ["LOCK", self._lock_number]
        try:
            return self._link.insist(*command, *fence)
        except _Refused as refused:
            self._lost = self._lost or str(refused)
            raise JobLost(str(refused)) from refused

    def _end(self, state: Optional[str], *command: Any) -> None:
        """Send a command that ends the run. `state` follows, or else the reply is the state."""
        try:
            reply = self._call(*command)
        except JobLost as lost:
            if isinstance(lost.__cause__, _Refused) and lost.__cause__.is_repeated:
                self.state = "unknown"
                log.warning("job %s has ended, or is lost: the connection broke before the reply "
                            "to %s", self.jid, command[0])
                return
            raise
        self.state = "failed" if command[0] == "RETRY" and int(reply) < 0 else state or str(reply)

    def _lose(self, reason: str) -> None:
        """Tell the handler that the job is lost. Any thread may call this."""
        with self._guard:
            self._lost = self._lost or reason
            if self._interrupt is None or self._thread is None or self._is_interrupted:
                return
            self._is_interrupted = True
            self._interrupt(self._thread)

    def _enter(self) -> None:
        """From now on, _lose() may raise JobLost in this thread."""
        with self._guard:
            self._thread = threading.get_ident()

    def _leave(self) -> None:
        """From now on, it may not. Calling this again does nothing."""
        while self._thread is not None:
            try:
                with self._guard:
                    self._thread = None
                    if self._is_interrupted:
                        _clear_interrupt()
            except JobLost:  # it was on its way
                pass


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(data: Any) -> Union[str, bytes]:
    """Data for the server: JSON, or the bytes of a raw job."""
    return data if isinstance(data, bytes) else _dump(data)


def _text_of(value: Any) -> Union[str, bytes]:
    """A text or bytes as they are, and any other value as JSON."""
    return value if isinstance(value, str) else _text(value)


def _interrupt_thread(ident: int) -> None:
    """Raise JobLost in a thread. It arrives when the thread runs Python code again."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(JobLost))


def _clear_interrupt() -> None:
    """Take back an exception for this thread that has not arrived yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)


def _interrupt_main_thread(ident: int) -> None:
    """Raise JobLost in the main thread, even if it waits in a system call; see _Session."""
    signal.pthread_kill(ident, signal.SIGUSR2)


def _connection_options(client: redis.Redis) -> Dict[str, Any]:
    """The options of a client's connections, without those that belong to its own pool."""
    options = dict(client.connection_pool.connection_kwargs)
    for name in list(options):
        if name.startswith(("maint_", "maintenance_", "orig_", "oss_", "event_")):
            del options[name]
    return options


def _urls_of_group(url: str) -> List[str]:
    """The URL of each server of "redis://host:port,host:port/0"."""
    match = re.match(r"([^:]+://(?:[^/]*@)?)([^/?#]*)(.*)", url, re.DOTALL)
    if match is None or "," not in match[2]:
        return [url]
    return [match[1] + host + match[3] for host in match[2].split(",")]


def _kind_for_group(kind: Any) -> Any:
    """A class of connections, of which each connects to the server that leads the group."""

    class GroupConnection(kind):  # type: ignore[misc]
        def __init__(self, *, servers: List[Tuple[str, int]], **options: Any) -> None:
            super().__init__(**options)
            self._servers = list(servers)

        def connect(self) -> None:
            if getattr(self, "_sock", None) is not None:
                return
            failure: Exception = redis.ConnectionError("there is no server")
            for _ in range(len(self._servers)):
                self.host, self.port = self._servers[0]
                try:
                    self._connect_to_leader()
                    return
                except LOGIN_ERRORS:
                    raise
                except CONNECTION_ERRORS as error:
                    failure = error
                    self.disconnect()
                    self._servers.append(self._servers.pop(0))
            raise failure

        def _connect_to_leader(self) -> None:
            # A server that hangs must not hold up the search for as long as BPOP may wait.
            patience: Any = self.socket_timeout
            self.socket_timeout: Any = REPLY_SECONDS
            try:
                super().connect()
                self.send_command("ROLE")
                role = self.read_response()[0]
            except redis.ResponseError:
                role = "master"  # the user may not ask: a refused command will tell
            finally:
                self.socket_timeout = patience
            if role in ("slave", b"slave"):
                raise redis.ConnectionError(f"{self.host}:{self.port} does not lead its group")
            self._sock.settimeout(patience)

    return GroupConnection


class _Server:
    """How to reach the server: makes clients and connections."""

    def __init__(self, url: Union[str, redis.Redis, None]) -> None:
        # Any bytes of a jid survive. The library itself decides what is sent twice.
        own = {"decode_responses": True, "encoding": "utf-8", "encoding_errors": "surrogateescape",
               "retry": RedisRetry(NoBackoff(), 0), "retry_on_error": [],
               "retry_on_timeout": False, "socket_timeout": SILENCE_SECONDS,
               "health_check_interval": 0}
        if isinstance(url, redis.Redis):
            self.kind: Any = url.connection_pool.connection_class
            self.options = {**_connection_options(url), **own}
        else:
            urls = _urls_of_group(url or os.environ.get("QLESSD_URL") or DEFAULT_URL)
            pools = [redis.ConnectionPool.from_url(one, port=DEFAULT_PORT) for one in urls]
            self.kind = pools[0].connection_class
            self.options = {**pools[0].connection_kwargs, **own}
            if len(urls) > 1:
                self.kind = _kind_for_group(self.kind)
                self.options.setdefault("socket_connect_timeout", REPLY_SECONDS)
                self.options["servers"] = [
                    (pool.connection_kwargs.get("host", "localhost"),
                     pool.connection_kwargs["port"]) for pool in pools]
        if "path" in self.options:
            self.options.pop("port", None)
        else:
            self.options["socket_keepalive"] = True

    def client(self, **options: Any) -> redis.Redis:
        """A client with a pool of its own. Threads may share it."""
        return redis.Redis(connection_pool=redis.ConnectionPool(
            connection_class=self.kind, **{**self.options, **options}))

    def connection(self) -> Any:
        return self.kind(**self.options)


class _Link:
    """A connection for the commands of one thread. It connects again when necessary."""

    def __init__(self, server: _Server, sleep: Callable[[float], bool],
                 may_wait: Callable[[], bool] = lambda: True) -> None:
        self._connection = server.connection()
        self._lock = threading.Lock()  # a handler may have threads
        self._sleep = sleep  # returns False if nobody waits for replies any longer
        self._may_wait = may_wait
        self._is_waiting = False
        self.is_ended = False  # by end_wait(): this is no failure of the connection

    def execute(self, *command: Any) -> Any:
        """Send a command once, and return its reply."""
        with self._lock:
            self._connection.send_command(*command)
            return self._connection.read_response()

    def insist(self, *command: Any) -> Any:
        """Send a command until the server has answered it.

        After a lost connection nobody knows whether the command ran. Repeating it is harmless,
        because it is refused if it ended the job before: then _Refused says so.
        """
        is_repeated = False
        for pause in _pauses():
            try:
                return self.execute(*command)
            except LOGIN_ERRORS:
                raise
            except CONNECTION_ERRORS as error:
                log.debug("%s has no reply, and is sent again: %s", command[0], error)
                is_repeated = True
            except redis.ResponseError as error:
                if _code(error) in LOST_CODES:
                    raise _Refused(str(error), is_repeated) from error
                if _code(error) not in PASSING_CODES:
                    raise
                log.warning("%s is sent again, because the server refuses it for now: %s",
                            command[0], error)
            if not self._sleep(pause):
                raise JobLost(f"the worker stopped before the server answered {command[0]}")

    def wait(self, *command: Any) -> Any:
        """Send a command that may wait. Returns None if end_wait() came first."""
        with self._lock:
            self._connection.connect()
            self.is_ended = False
            self._is_waiting = True
            try:
                if not self._may_wait():
                    return None
                self._connection.send_command(*command)
                return self._connection.read_response()
            finally:
                self._is_waiting = False

    def end_wait(self) -> None:
        """End wait() in another thread.

        Closes the sending direction, after which the server hands out nothing. A reply that is on
        its way still arrives.
        """
        sock = getattr(self._connection, "_sock", None)
        if self._is_waiting and sock is not None:
            self.is_ended = True
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_WR)  # of TCP, also below TLS

    def close(self) -> None:
        self._connection.disconnect()


class _Memory:
    """A few commands of the server for tests without one. Time does not pass: every job is due."""

    def __init__(self) -> None:
        self.jobs: Dict[str, Dict[str, Any]] = {}
        self._hand_outs = 0

    def execute(self, *command: Any) -> Any:
        return getattr(self, "_" + command[0].lower().replace(".", "_"))(*command[1:])

    insist = execute

    def _put(self, worker: str, queue: str, jid: str, klass: str, data: str, delay: float,
             *options: Any) -> str:
        given = dict(zip(options[::2], options[1::2]))
        retries = int(given.get("retries", 5))
        self.jobs[jid] = {
            "jid": jid, "klass": klass, "queue": queue, "data": data, "state": "waiting",
            "priority": int(given.get("priority", 0)), "retries": retries, "remaining": retries,
            "tags": json.loads(given.get("tags", "[]")), "history": [], "failure": {},
            "dependencies": json.loads(given.get("depends", "[]")),
        }
        return jid

    def _mpop(self, worker: str, count: int, *words: str) -> str:
        queues, options = words[:int(count)], words[int(count):]
        klass = dict(zip(options[::2], options[1::2])).get("CLASS")
        for queue in queues:
            ready = [job for job in self.jobs.values()
                     if self._is_ready(job, queue) and klass in (None, job["klass"])]
            if ready:
                job = max(ready, key=_priority)  # the first of equals
                return json.dumps([self.hand_out(job["jid"], worker)])
        return "[]"

    def hand_out(self, jid: str, worker: str) -> Dict[str, Any]:
        self._hand_outs += 1
        self.jobs[jid].update(state="running", worker=worker, lock=self._hand_outs)
        return dict(self.jobs[jid])

    def _is_ready(self, job: Dict[str, Any], queue: str) -> bool:
        others = (self.jobs.get(jid) for jid in job["dependencies"])
        return (job["queue"] == queue and job["state"] == "waiting" and
                all(other is None or other["state"] == "complete" for other in others))

    def _held(self, jid: str, options: Sequence[Any]) -> Dict[str, Any]:
        job = self.jobs.get(jid, {})
        if job.get("state") != "running" or list(options[-2:]) != ["LOCK", job["lock"]]:
            raise _Refused(f"NOTRUNNING Job {jid} not currently running", False)
        return job

    def _heartbeat(self, jid: str, worker: str, *options: Any) -> int:
        job = self._held(jid, options)
        if len(options) > 2:
            job["data"] = options[0]
        return 0

    def _log(self, jid: str, message: str, data: str) -> None:
        self.jobs[jid]["history"].append({"what": message, **json.loads(data)})

    def _job_start(self, jid: str, worker: str, *options: Any) -> str:
        job = self._held(jid, options)
        given = dict(zip(options[::2], options[1::2]))
        job.update(started=0, pid=given["PID"], node=given["NODE"])
        return str(job["data"])

    def _job_progress(self, jid: str, worker: str, percent: float, *options: Any) -> None:
        job = self._held(jid, options)
        job["progress"] = percent
        if len(options) > 2:
            job["note"] = options[0]

    def _job_meta(self, jid: str, verb: str, *words: str) -> None:
        meta = self.jobs[jid].setdefault("meta", {})
        if verb == "SET":
            meta.update(zip(words[::2], words[1::2]))
        else:
            for name in words:
                meta.pop(name, None)

    def _complete(self, jid: str, worker: str, queue: str, *words: Any) -> str:
        options = list(words)
        job = self._held(jid, options)
        if len(options) % 2 != 0:
            job["data"] = options.pop(0)
        given = dict(zip(options[::2], options[1::2]))
        job.update(state="complete", dependencies=json.loads(given.get("depends", "[]")))
        if "result" in given:
            job["result"] = given["result"]
        if "next" in given:
            del self.jobs[jid]  # it comes after the others
            self.jobs[jid] = {**job, "queue": given["next"], "state": "waiting"}
        return str(self.jobs[jid]["state"])

    def _retry(self, jid: str, queue: str, worker: str, delay: Any, *options: Any) -> int:
        job = self._held(jid, options)
        job["remaining"] -= 1
        job["state"] = "waiting"
        if job["remaining"] < 0:
            group, message = options[:2] if len(options) > 2 else (f"failed-retries-{queue}", "")
            job.update(state="failed", failure={"group": group, "message": message})
        return int(job["remaining"])

    def _fail(self, jid: str, worker: str, group: str, message: str, *options: Any) -> str:
        job = self._held(jid, options)
        job.update(state="failed", failure={"group": group, "message": message})
        if len(options) > 2:
            job["error"] = options[1]
        return jid


def _priority(job: Dict[str, Any]) -> int:
    return int(job["priority"])


class Client:
    """Puts jobs.

    url      a URL of redis-py, or a client whose options are used. The default is the variable
             QLESSD_URL of the environment, or redis://localhost:7537. For a group of servers,
             redis://host:port,host:port,host:port
    name     the name of the producer, which the server keeps
    timeout  seconds for which put() tries to reach the server
    """

    def __init__(self, url: Union[str, redis.Redis, None] = None, *, name: Optional[str] = None,
                 timeout: float = 10) -> None:
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self._redis = _Server(url).client()
        self._timeout = timeout

    def put(self, queue: str, klass: str, data: Any = None, *, jid: Optional[str] = None,
            delay: float = 0, priority: Optional[int] = None, tags: Sequence[str] = (),
            retries: Optional[int] = None, depends: Sequence[str] = (),
            limits: Sequence[str] = ()) -> str:
        """Put a job into a queue, and return its jid. `limits` are names of limits.

        If the connection breaks, put() connects again. It then puts the job only if the first
        attempt did not arrive. With a jid of your own it cannot know, and raises the error.
        """
        command = _put_command(self.name, queue, klass, data, jid, delay, priority, tags, retries,
                               depends, limits)
        end = time.monotonic() + self._timeout
        is_repeated = False
        for pause in _pauses():
            try:
                if is_repeated and self._redis.execute_command("GET", command[3]) is not None:
                    return str(command[3])
                return str(self._redis.execute_command(*command))
            except LOGIN_ERRORS:
                raise
            except CONNECTION_ERRORS:
                if jid is not None or time.monotonic() + pause > end:
                    raise
                is_repeated = True
            except redis.ResponseError as error:
                if _code(error) not in PASSING_CODES or time.monotonic() + pause > end:
                    raise
            time.sleep(pause)
        raise AssertionError("the pauses have no end")

    def close(self) -> None:
        """Close the connections. They are opened again when needed."""
        self._redis.connection_pool.disconnect()


def _put_command(name: str, queue: str, klass: str, data: Any, jid: Optional[str], delay: float,
                 priority: Optional[int], tags: Sequence[str], retries: Optional[int],
                 depends: Sequence[str], limits: Sequence[str]) -> List[Any]:
    options: List[Any] = []
    if priority is not None:
        options += ["priority", priority]
    if retries is not None:
        options += ["retries", retries]
    if tags:
        options += ["tags", _dump(list(tags))]
    if depends:
        options += ["depends", _dump(list(depends))]
    if limits:
        options += ["limits", _dump(list(limits))]
    return ["PUT", name, queue, jid or uuid.uuid4().hex, klass, _dump({} if data is None else data),
            delay, *options]


class _Handler:
    """A function for jobs of one class."""

    def __init__(self, function: Callable[[Job], Any], retry_on: Tuple[Type[BaseException], ...],
                 delay: Union[float, Callable[[int], float], None]) -> None:
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{function.__name__} is a coroutine; a handler is a plain function")
        self.function = function
        self.retry_on = retry_on
        self.delay = delay

    def delay_after(self, attempt: int) -> Optional[float]:
        return self.delay(attempt) if callable(self.delay) else self.delay


class Worker:
    """Waits for jobs, and runs them.

    url           a URL of redis-py, or a client whose options are used. The default is the variable
                  QLESSD_URL of the environment, or redis://localhost:7537. For a group of servers,
                  redis://host:port,host:port,host:port
    queues        names of the queues
    concurrency   how many jobs run at once
    processes     whether each of them runs in a process of its own, instead of in a thread
    order         "ordered" empties the first queue first; "roundrobin" takes turns
    klass         the class of the jobs that the worker takes; it leaves the others to other workers
    name          the beginning of the name of the worker. No other worker may have it, so the
                  default contains the host, the process and a random part
    grace         seconds after which the server gives the jobs of a lost worker to others
    exclusive     a queue that only one worker of this host may serve. Others with this option wait
    stop_timeout  seconds that running jobs get to end when the worker stops. Then they are released
    interrupt     whether a lost job also raises JobLost in the thread of its handler, between two
                  instructions. In processes this always happens
    report_start  whether each job is started with JOB.START before its handler, as queues with a
                  start timeout need it. It costs a request for each job
    """

    def __init__(self, url: Union[str, redis.Redis, None] = None, queues: Sequence[str] = (), *,
                 concurrency: int = 1, processes: bool = False, order: str = "ordered",
                 klass: Optional[str] = None, name: Optional[str] = None, grace: Optional[float] = None,
                 exclusive: Optional[str] = None, stop_timeout: float = 25,
                 interrupt: bool = False, report_start: bool = False) -> None:
        if isinstance(queues, str) or not queues:
            raise ValueError(f"queues is a list of names; found {queues!r}")
        if concurrency < 1:
            raise ValueError(f"concurrency is at least 1; found {concurrency}")
        if order not in ("ordered", "roundrobin"):
            raise ValueError(f'order is "ordered" or "roundrobin"; found {order!r}')
        if klass == "":
            raise ValueError("klass is the name of a class, or None for all; found ''")
        if processes and exclusive is not None and concurrency > 1:
            raise ValueError("each process is a worker, so only one can have an exclusive queue")
        if processes and not hasattr(os, "fork"):
            raise ValueError("processes needs a system that can fork")
        self.queues = list(queues)
        self.concurrency = concurrency
        self.processes = processes
        self.order = order
        self.klass = klass
        self.name = name or f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:4]}"
        self.grace = grace
        self.exclusive = exclusive
        self.stop_timeout = stop_timeout
        self.interrupt = interrupt
        self.report_start = report_start
        self._url = url
        self._server = _Server(url)
        self._client: Optional[Client] = None
        self._memory: Optional[_Memory] = None
        self._handlers: Dict[str, _Handler] = {}
        self._default: Optional[_Handler] = None
        self._runner: Union[_Session, _Supervisor, None] = None

    # ---- handlers ----

    def on(self, *klasses: str, retry_on: Sequence[Type[BaseException]] = (),
           delay: Union[float, Callable[[int], float], None] = None) -> Callable[[Any], Any]:
        """Make a function the handler of jobs of these classes, or of all others if none is named.

        Exceptions in `retry_on` return the job to its queue for `delay` seconds, until it has no
        retries left. `delay` may be a function of the attempt, which is 1 for the first run.
        Without it, the backoff of the job decides.
        """
        def decorate(function: Callable[[Job], Any]) -> Callable[[Job], Any]:
            handler = _Handler(function, tuple(retry_on), delay)
            for klass in klasses:
                self._handlers[klass] = handler
            if not klasses:
                self._default = handler
            return function
        return decorate

    def _perform(self, job: Job, raise_errors: bool = False) -> None:
        """Run the handler, and end the job in the way in which the handler ended."""
        began = time.monotonic()
        try:
            self._run_handler(job, raise_errors)
        except JobLost as lost:
            job._leave()  # the exception may have arrived before this was done
            if job.state == "running":
                job.state = "lost"
            log.warning("lost job %s (%s): %s", job.jid, job.klass, lost)
        except redis.RedisError as error:
            log.error("cannot end job %s (%s), which is tried again later: %s", job.jid, job.klass,
                      error)
            with contextlib.suppress(JobLost, redis.RedisError):
                job.retry(RETRY_SECONDS)
            if raise_errors:
                raise
        else:
            log.info("job %s (%s) from %s is %s after %.3f s", job.jid, job.klass, job.queue,
                     job.state, time.monotonic() - began)

    def _run_handler(self, job: Job, raise_errors: bool) -> None:
        handler = self._handlers.get(job.klass, self._default)
        if handler is None:
            job.fail("no-handler", f"the worker {self.name} has no handler for {job.klass}")
            return
        try:
            try:
                job._enter()
                if self.report_start:
                    job.start()
                handler.function(job)
            finally:
                job._leave()
            if job.state == "running":
                job.complete()
        except JobLost:
            raise
        except Retry as retry:
            if job.state == "running":
                job.retry(retry.delay)
        except BaseException as error:  # the job fails, whatever the handler did
            if job.state != "running":
                log.exception("job %s (%s) is %s, but its handler failed after that", job.jid,
                              job.klass, job.state)
            elif isinstance(error, handler.retry_on):
                group, message = _describe(error)
                job.retry(handler.delay_after(job.attempt), group=group, message=message)
            else:
                log.error("job %s (%s) fails", job.jid, job.klass, exc_info=True)
                job.fail(*_describe(error))
                if raise_errors:
                    raise

    # ---- life ----

    def run(self) -> None:
        """Work until stop(), SIGTERM or SIGINT.

        In the main thread, SIGTSTP and SIGUSR1 call quiet(), SIGCONT calls resume(), and a second
        SIGTERM or SIGINT does not wait for running jobs.
        """
        if self._runner is not None:
            raise RuntimeError("the worker runs already")
        runner: Union[_Session, _Supervisor]
        if self.processes:
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("a worker with processes runs in the main thread")
            runner = _Supervisor(self)
        else:
            runner = _Session(self, self.name)
        self._runner = runner
        try:
            runner.run()
        finally:
            self._runner = None

    def stop(self) -> None:
        """Take no more jobs, let running jobs end within stop_timeout, and end run()."""
        self._tell(_STOP)

    def quiet(self) -> None:
        """Take no more jobs, but go on with those that run."""
        self._tell(_QUIET)

    def resume(self) -> None:
        """Take jobs again after quiet()."""
        self._tell(_RESUME)

    def _tell(self, order: int) -> None:
        runner = self._runner
        if runner is not None:
            runner.wake.write(order)

    # ---- producers and tests ----

    def put(self, queue: str, klass: str, data: Any = None, **options: Any) -> str:
        """Put a job; see Client.put(). Within inline(), the job stays in memory."""
        if self._memory is not None:
            return _put_in_memory(self._memory, queue, klass, data, options)
        if self._client is None:
            self._client = Client(self._url, name=self.name)
        return self._client.put(queue, klass, data, **options)

    @contextlib.contextmanager
    def inline(self) -> Iterator[Dict[str, Dict[str, Any]]]:
        """For tests: within this context, jobs are kept in memory, and drain() runs them.

        There is no server. Time does not pass, so delays are over at once. The value is a
        dictionary of all jobs by their jids.
        """
        outer, self._memory = self._memory, _Memory()
        try:
            yield self._memory.jobs
        finally:
            self._memory = outer

    def run_inline(self, klass: str, data: Any = None, *, queue: Optional[str] = None,
                   raise_errors: bool = True, **options: Any) -> Job:
        """For tests: run one job in this thread, without a server, and return it after its end.

        An exception that fails the job is raised again, unless `raise_errors` is False.
        """
        if self._memory is None:
            with self.inline():
                return self.run_inline(klass, data, queue=queue, raise_errors=raise_errors,
                                       **options)
        jid = _put_in_memory(self._memory, queue or self.queues[0], klass, data, options)
        job = Job(self._memory.hand_out(jid, self.name), self._memory, self.name)
        self._perform(job, raise_errors)
        return job

    def drain(self, *, limit: Optional[int] = None, raise_errors: bool = False) -> List[Job]:
        """For tests: run the jobs of the queues in this thread until none is left, or `limit` jobs.

        Returns these jobs. Within inline() there is no server. Otherwise jobs come from the server,
        and their locks are not renewed. An exception that fails a job is raised again if
        `raise_errors`.
        """
        link: Any = self._memory or _Link(self._server, _sleep)
        done: List[Job] = []
        try:
            while limit is None or len(done) < limit:
                popped = json.loads(link.insist(*_pop_command("MPOP", self, self.name)))
                if not popped:
                    break
                done.append(Job(popped[0], link, self.name))
                self._perform(done[-1], raise_errors)
        finally:
            if isinstance(link, _Link):
                link.close()
        return done


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return True


def _put_in_memory(memory: _Memory, queue: str, klass: str, data: Any,
                   options: Dict[str, Any]) -> str:
    given: Dict[str, Any] = {"jid": None, "delay": 0, "priority": None, "tags": (),
                             "retries": None, "depends": (), "limits": (), **options}
    return str(memory.execute(*_put_command("inline", queue, klass, data, **given)))


def _pop_command(command: str, worker: Worker, name: str) -> List[Any]:
    timeout = [WAIT_SECONDS] if command == "BPOP" else []
    order = ["ORDER", "roundrobin"] if worker.order == "roundrobin" else []
    klass = ["CLASS", worker.klass] if worker.klass is not None else []
    return [command, *timeout, name, len(worker.queues), *worker.queues, *order, *klass]


# Orders to the thread that reads a _Wake. The others are numbers of signals, as the interpreter
# writes them.
_ENDED = 0
_STOP = 250
_TERMINATE = 251  # stop; the second time, stop at once
_QUIET = 252
_RESUME = 253

_ORDERS = {
    getattr(signal, name): order
    for name, order in (("SIGTERM", _TERMINATE), ("SIGINT", _TERMINATE),
                        ("SIGTSTP", _QUIET), ("SIGUSR1", _QUIET), ("SIGCONT", _RESUME))
    if hasattr(signal, name)
}


class _Wake:
    """A pipe for orders and signals, which one thread reads."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._handlers: Dict[int, Any] = {}
        self._old_fd = -1

    def write(self, order: int) -> None:
        with contextlib.suppress(BlockingIOError, OSError):
            os.write(self._writer, bytes([order]))

    def read(self, timeout: Optional[float], *others: int) -> List[int]:
        """Wait for orders, or until one of the other descriptors can be read."""
        poller = select.poll()
        for descriptor in (self._reader, *others):
            poller.register(descriptor, select.POLLIN)
        poller.poll(None if timeout is None else math.ceil(max(0, timeout) * 1000))
        try:
            return [_ORDERS.get(byte, byte) for byte in os.read(self._reader, 4096)]
        except BlockingIOError:
            return []

    @contextlib.contextmanager
    def signals(self, *numbers: int) -> Iterator[None]:
        """Receive these signals, if this is the main thread. The handlers of Python do nothing,
        because they may run between any two instructions."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        old_fd = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        handlers = {number: signal.signal(number, lambda *_: None) for number in numbers}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_fd)

    def close(self) -> None:
        reader, self._reader = self._reader, -1
        writer, self._writer = self._writer, -1
        os.close(reader)
        os.close(writer)


class _Session:
    """One run of a worker in this process.

    Each slot has a thread and a connection, with which it waits for jobs and ends them. One more
    thread and connection keep the worker attached and hear of lost jobs. Another thread, which may
    be the main thread, reads orders and signals, and keeps the time when the worker stops.

    In a child of _Supervisor, the main thread is the only slot. A signal can interrupt it even in a
    system call.
    """

    def __init__(self, worker: Worker, name: str, parent: Optional[int] = None) -> None:
        self.worker = worker
        self.name = name
        self.wake = _Wake()
        self.failure: Optional[BaseException] = None
        self._parent = parent  # a pipe that ends with the parent process, in a child
        self._client = worker._server.client(socket_timeout=REPLY_SECONDS)
        self._links: List[_Link] = []
        self._threads: List[threading.Thread] = []
        self._changed = threading.Condition()  # guards the members below
        self._is_stopping = False
        self._is_quiet = False
        self._is_attached = False
        self._is_over = False
        self._is_out = False  # the server cannot be reached
        self._audit_at: Optional[float] = None  # when a slot looks for lost hand-overs once more
        self._held: Dict[Tuple[str, Optional[int]], Job] = {}
        self._presence = _Presence(self)

    # ---- the thread of orders ----

    def run(self) -> None:
        server = self.worker._server
        slots = 1 if self._parent is not None else self.worker.concurrency
        for _ in range(slots):
            self._links.append(_Link(server, self._pause, self._may_take))
        log.info("worker %s waits for jobs of %s", self.name, ", ".join(self.worker.queues))
        with self.wake.signals(*self._signals()), self._signal_for_lost_jobs():
            if self._parent is not None:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, _ORDERS)
            self._presence.start()
            if self._parent is not None:
                control = threading.Thread(target=self._control, name="control", daemon=True)
                control.start()
                self._serve(self._links[0])
                control.join()
            else:
                for link in self._links:
                    thread = threading.Thread(target=self._serve, args=[link], daemon=True,
                                              name=f"slot-{len(self._threads)}")
                    self._threads.append(thread)
                    thread.start()
                self._control()
        self.wake.close()
        if self.failure is not None:
            raise self.failure

    def _signals(self) -> List[int]:
        if self._parent is None:
            return list(_ORDERS)
        return [signal.SIGTERM, signal.SIGUSR1, signal.SIGCONT]  # see _Supervisor._begin_child()

    def _control(self) -> None:
        """Obey orders until all slots have ended, or the time to stop is over."""
        running = len(self._links)
        deadline: Optional[float] = None
        others = [] if self._parent is None else [self._parent]
        while running > 0:
            limit = self._limit(deadline)
            orders = self.wake.read(None if limit is None else limit - time.monotonic(), *others)
            if others and self._has_ended(others[0]):
                log.warning("worker %s stops, because its parent process has ended", self.name)
                others = []
                orders.append(_STOP)
            running -= orders.count(_ENDED)
            if _STOP in orders or _TERMINATE in orders:
                if deadline is None:
                    log.info("worker %s stops", self.name)
                    deadline = time.monotonic() + self.worker.stop_timeout
                    self._set(_is_stopping=True)
                elif _TERMINATE in orders and self._parent is None:
                    deadline = time.monotonic()
            elif _QUIET in orders or _RESUME in orders:
                self._set(_is_quiet=_QUIET in orders)
            for link in self._links if orders else []:
                if not self._may_take():
                    link.end_wait()
            limit = self._limit(deadline)
            if running > 0 and limit is not None and time.monotonic() >= limit:
                running = self._give_up(running)
                break
        self._leave()
        if running > 0 and self._parent is not None:
            _exit_now(0)

    @staticmethod
    def _has_ended(reader: int) -> bool:
        """Whether a pipe, in which nothing is ever written, has no writer any longer."""
        poller = select.poll()
        poller.register(reader, select.POLLIN)
        return bool(poller.poll(0))

    def _limit(self, deadline: Optional[float]) -> Optional[float]:
        """When to give up. A slot without a job only waits for a server that does not answer."""
        if deadline is None or self._held:
            return deadline
        return min(deadline, deadline - self.worker.stop_timeout + REPLY_SECONDS)

    def _give_up(self, running: int) -> int:
        """Tell the handlers that their jobs are lost. Returns the number of slots that go on."""
        with self._changed:
            held = list(self._held.values())
            self._is_over = True  # nobody waits for the server any longer
            self._changed.notify_all()
        for job in held:
            log.warning("job %s (%s) has not ended in time, and is released", job.jid, job.klass)
            job._lose("the worker stops")
        end = time.monotonic() + UNWIND_SECONDS
        while running > 0 and time.monotonic() < end:
            running -= self.wake.read(end - time.monotonic()).count(_ENDED)
        return running

    def _leave(self) -> None:
        """Release what is left, and detach."""
        self._set(_is_over=True)
        self._presence.close()
        _release(self._client, self.name, False)
        self._client.connection_pool.disconnect()
        log.info("worker %s has stopped", self.name)

    def _set(self, **members: bool) -> None:
        with self._changed:
            for name, value in members.items():
                setattr(self, name, value)
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """End the run with an error that does not pass."""
        if self.failure is None:
            self.failure = error
        self.wake.write(_STOP)

    # ---- slots ----

    def _may_take(self) -> bool:
        return not self._is_stopping and not self._is_quiet

    def _pause(self, seconds: float) -> bool:
        """Sleep, and return False if nobody waits for replies any longer."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over, seconds)
            return not self._is_over

    def _serve(self, link: _Link) -> None:
        is_unsure = False  # a reply with a job may be lost
        pauses = _pauses()
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._is_stopping or (
                        self._is_attached and (is_unsure or not self._is_quiet)))
                    if self._is_stopping:
                        break
                try:
                    is_unsure = is_unsure or self._begins_audit()
                    if is_unsure:
                        job = self._adopt(link)
                        is_unsure = job is not None
                    else:
                        job = self._pop(link)
                except LOGIN_ERRORS:
                    raise
                except CONNECTION_ERRORS as error:
                    is_unsure = True
                    with self._changed:
                        self._audit_at = time.monotonic() + WAIT_SECONDS
                    if not link.is_ended:
                        self._out(error)
                except redis.ResponseError as error:
                    if _code(error) not in PASSING_CODES:
                        raise
                    self._out(error)
                else:
                    pauses = _pauses()
                    self._in()
                    if job is not None:
                        self._run(job)
                    continue
                with self._changed:
                    self._changed.wait_for(lambda: not self._may_take(), next(pauses))
        except BaseException as error:  # no permission, or a mistake of this library
            self.fail(error)
        finally:
            link.close()
            self.wake.write(_ENDED)

    def _pop(self, link: _Link) -> Optional[Job]:
        reply = link.wait(*_pop_command("BPOP", self.worker, self.name))
        popped = json.loads(reply) if reply is not None else []
        return self._hold(popped[0], link) if popped else None

    def _adopt(self, link: _Link) -> Optional[Job]:
        """Take a job that the server handed out in a reply that never arrived.

        The server keeps its lock, so nobody else ever gets it.
        """
        for jid in json.loads(link.execute("WORKERS", self.name))["jobs"] or []:
            fields = json.loads(link.execute("GET", jid) or "{}")
            if fields.get("state") != "running" or fields.get("worker") != self.name:
                continue
            job = self._hold(fields, link)
            if job is None:
                continue
            try:
                job.heartbeat()  # another slot may have ended it in the meantime
            except JobLost:
                self._forget(job)
                continue
            log.info("found job %s (%s), whose hand-over was lost", job.jid, job.klass)
            return job
        return None

    def _begins_audit(self) -> bool:
        """Whether this slot looks for lost hand-overs, because the time for that has come.

        A server that has not noticed the end of a connection hands out jobs to it until its BPOP
        times out.
        """
        with self._changed:
            is_due = self._audit_at is not None and time.monotonic() >= self._audit_at
            if is_due:
                self._audit_at = None
            return is_due

    def _hold(self, fields: Dict[str, Any], link: _Link) -> Optional[Job]:
        """The job, or None if another slot has it."""
        job = Job(fields, link, self.name)
        if self._parent is not None:
            job._interrupt = _interrupt_main_thread
        elif self.worker.interrupt:
            job._interrupt = _interrupt_thread
        with self._changed:
            return job if self._held.setdefault((job.jid, job._lock_number), job) is job else None

    def _forget(self, job: Job) -> None:
        with self._changed:
            del self._held[job.jid, job._lock_number]

    def _run(self, job: Job) -> None:
        try:
            self.worker._perform(job)
        finally:
            self._forget(job)

    def _out(self, error: Exception) -> None:
        with self._changed:
            is_new, self._is_out = not self._is_out, True
        if is_new and not self._is_over:
            log.warning("worker %s tries again to reach the server: %s", self.name, error)

    def _in(self) -> None:
        if self._is_out:
            self._set(_is_out=False)
            log.info("worker %s has reached the server again", self.name)

    # ---- lost jobs ----

    def verify(self, jid: Optional[str] = None) -> None:
        """Ask the server for the locks of one job or of all, and tell the handlers of lost ones."""
        with self._changed:
            jobs = [job for job in self._held.values() if jid in (None, job.jid)]
        if not jobs:
            return
        with self._client.pipeline(transaction=False) as pipeline:
            for job in jobs:
                fence = [] if job._lock_number is None else ["LOCK", job._lock_number]
                pipeline.execute_command("HEARTBEAT", job.jid, self.name, *fence)
            replies = pipeline.execute(raise_on_error=False)
        for job, reply in zip(jobs, replies):
            if isinstance(reply, redis.ResponseError) and _code(reply) in LOST_CODES:
                if self._parent is not None and not job.cancelled:
                    self._expect_end_of(job)
                job._lose(str(reply))

    def _expect_end_of(self, job: Job) -> None:
        """End this process if the handler ignores that its job is lost. The parent begins anew."""
        def end() -> None:
            if self._held.get((job.jid, job._lock_number)) is job:
                log.error("the handler of job %s (%s) ignores that the job is lost; its process "
                          "ends", job.jid, job.klass)
                _exit_now(1)
        timer = threading.Timer(self.worker.stop_timeout, end)
        timer.daemon = True
        timer.start()

    @contextlib.contextmanager
    def _signal_for_lost_jobs(self) -> Iterator[None]:
        """Let SIGUSR2 raise JobLost in the handler of a lost job, in a child."""
        if self._parent is None:
            yield
            return

        def interrupt(*_: Any) -> None:
            for job in list(self._held.values()):
                if job._is_interrupted and job._thread is not None:
                    raise JobLost(job._lost)
        old = signal.signal(signal.SIGUSR2, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGUSR2, old)


class _Presence(threading.Thread):
    """Keeps the worker attached, and hears of lost jobs."""

    def __init__(self, session: _Session) -> None:
        super().__init__(name="presence", daemon=True)
        self._session = session
        self._connection: Any = None
        self._has_events = False
        self._was_attached = False

    def run(self) -> None:
        session = self._session
        pauses = _pauses()
        while not session._is_over:
            try:
                self._attach()
                pauses = _pauses()
                session._set(_is_attached=True)
                self._listen()
            except LOGIN_ERRORS as error:
                session.fail(error)
                return
            except CONNECTION_ERRORS as error:
                session._set(_is_attached=False)
                session._out(error)
            except redis.ResponseError as error:
                session._set(_is_attached=False)
                if _code(error) not in PASSING_CODES:
                    session.fail(error)
                    return
                session._out(error)
            session._pause(next(pauses))

    def _attach(self) -> None:
        worker, name = self._session.worker, self._session.name
        if self._connection is not None:
            self._connection.disconnect()
        self._connection = worker._server.connection()
        options = ["NODE", socket.gethostname(), "PID", os.getpid()]
        if worker.grace is not None:
            options += ["GRACE", worker.grace]
        if worker.exclusive is not None:
            options += ["EXCLUSIVE", worker.exclusive]
        if not self._was_attached:
            # An earlier process of this name has died: its locks would never expire.
            self._ask("WORKER.RELEASE", name, "RETRY")
        self._ask("WORKER.ATTACH", name, *options)
        self._was_attached = True
        self._has_events = self._is_resp3() or self._subscribe(name)
        self._session.verify()

    def _subscribe(self, name: str) -> bool:
        """Ask for the events that RESP2 cannot push. Returns whether the user may have them."""
        try:
            self._ask("SUBSCRIBE", f"ql:w:{name}")
            return True
        except redis.exceptions.NoPermissionError as error:
            log.warning("worker %s asks for its locks every %d s, because it gets no events: %s",
                        name, PING_SECONDS, error)
            return False

    def _ask(self, *command: Any) -> Any:
        self._connection.send_command(*command)
        while True:
            reply = self._read()
            if not self._is_event(reply):
                return reply

    def _is_resp3(self) -> bool:
        return str(getattr(self._connection, "protocol", 2)) == "3"

    def _read(self) -> Any:
        if self._is_resp3():
            return self._connection.read_response(push_request=True)
        return self._connection.read_response()

    def _listen(self) -> None:
        """Read events until the connection is lost."""
        session = self._session
        while not session._is_over:
            if self._connection.can_read(timeout=PING_SECONDS):
                self._is_event(self._read())
            else:
                self._ask("PING")
                if not self._has_events:
                    session.verify()

    def _is_event(self, reply: Any) -> bool:
        """Whether this is an event; then look at the lock of its job.

        An event is a hint: a job with this jid may have been handed out again, even to this worker.
        """
        if not isinstance(reply, list) or reply[0] not in ("message", "worker"):
            return False
        jid = json.loads(reply[2]).get("jid") if reply[0] == "message" else reply[3]
        self._session.verify(jid)
        return True

    def close(self) -> None:
        """End the thread, which may wait for an event."""
        sock = getattr(self._connection, "_sock", None)
        if sock is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        self.join(UNWIND_SECONDS)


def _release(client: redis.Redis, name: str, is_counted: bool) -> None:
    """Return the jobs of a worker to their queues, and count it as a retry if asked to."""
    try:
        client.execute_command("WORKER.RELEASE", name, *(["RETRY"] if is_counted else []))
    except (redis.RedisError, OSError) as error:
        log.warning("the jobs of worker %s are not released before their grace period ends: %s",
                    name, error)


def _exit_now(status: int) -> None:
    """End this process, although threads may run."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


class _Supervisor:
    """Runs a worker in child processes, and replaces those that die.

    The parent has no connections and no threads, so forking is safe. Signals of a terminal reach
    all processes, so children ignore them, and obey the parent.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.wake = _Wake()
        self._names: Dict[int, str] = {}  # of children, by their process ids
        self._began: Dict[int, float] = {}
        self._count = 0
        self._lifeline = os.pipe()  # ends with this process
        self._is_quiet = False
        self._is_hopeless = False
        self._pauses = _pauses()

    def run(self) -> None:
        with self.wake.signals(*_ORDERS, signal.SIGCHLD):
            for _ in range(self.worker.concurrency):
                self._spawn()
            self._control()
        self.wake.close()
        for end in self._lifeline:
            os.close(end)
        if self._is_hopeless:
            raise RuntimeError("the processes of the worker cannot work; the log says why")

    def _control(self) -> None:
        deadline: Optional[float] = None
        next_spawn: Optional[float] = None
        while self._names or deadline is None:
            times = [at for at in (deadline, next_spawn) if at is not None]
            timeout = max(0.0, min(times) - time.monotonic()) if times else None
            orders = self.wake.read(timeout)
            if _STOP in orders or _TERMINATE in orders:
                if deadline is None:
                    deadline = time.monotonic() + self.worker.stop_timeout + 3 * UNWIND_SECONDS
                    next_spawn = None
                    self._signal(signal.SIGTERM)
                elif _TERMINATE in orders:
                    deadline = time.monotonic()
            elif _QUIET in orders or _RESUME in orders:
                self._is_quiet = _QUIET in orders
                self._signal(signal.SIGUSR1 if self._is_quiet else signal.SIGCONT)
            early_death = self._bury(deadline is not None)
            if deadline is not None and time.monotonic() >= deadline:
                self._signal(signal.SIGKILL)
                deadline = time.monotonic() + 60  # they cannot refuse
            elif deadline is None and len(self._names) < self.worker.concurrency:
                if early_death:
                    next_spawn = time.monotonic() + next(self._pauses)
                if next_spawn is None or time.monotonic() >= next_spawn:
                    next_spawn = None
                    while len(self._names) < self.worker.concurrency:
                        self._spawn()

    def _signal(self, number: int) -> None:
        for pid in self._names:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _bury(self, is_stopping: bool) -> bool:
        """Wait for children that have ended, and release the jobs of those that died.

        Returns whether one died in its first second.
        """
        is_early = False
        for pid in list(self._names):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended == 0:
                continue
            name = self._names.pop(pid)
            age = time.monotonic() - self._began.pop(pid)
            if status == 0 and is_stopping:
                continue
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) == HOPELESS_STATUS:
                self._is_hopeless = True
                self.wake.write(_STOP)
            if age < 1:
                is_early = True
            else:
                self._pauses = _pauses()
            log.error("process %d of worker %s has died: %s", pid, name,
                      f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status)
                      else f"exit status {os.WEXITSTATUS(status)}")
            client = self.worker._server.client(socket_timeout=UNWIND_SECONDS)
            _release(client, name, True)
            client.connection_pool.disconnect()
        return is_early

    def _spawn(self) -> None:
        self._count += 1
        name = f"{self.worker.name}-{self._count}"
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        # Until the child has its own pipe for signals, theirs would reach the parent.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ORDERS)
        pid = os.fork()
        if pid == 0:
            self._begin_child(name)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ORDERS)
        self._names[pid] = name
        self._began[pid] = time.monotonic()

    def _begin_child(self, name: str) -> None:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGTSTP):
                signal.signal(number, signal.SIG_IGN)
            os.close(self._lifeline[1])
            self.worker._client = None
            session = _Session(self.worker, name, parent=self._lifeline[0])
            session._is_quiet = self._is_quiet
            session.run()
            status = 0
        except redis.RedisError as error:  # a wrong password, no permission: so would the next one
            log.error("worker %s cannot work: %s", name, error)
            status = HOPELESS_STATUS
        except BaseException:  # the parent begins anew
            log.exception("worker %s fails", name)
        _exit_now(status)
