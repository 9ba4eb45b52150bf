"""Shared by the tests of push: a qlessd of their own, and the cases.

QLESSD is the path of the daemon. A case is a function whose name is a sentence. It gets a Server.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import redis

QLESSD = os.environ["QLESSD"]
PATIENCE_S = 100


class Server:
    """A qlessd in a directory of its own."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="qlessd-push-")
        self.socket = os.path.join(self.directory, "s")
        self.log = os.path.join(self.directory, "log")
        self.process = None
        self.arguments = []
        self.environment = dict(os.environ)
        self.db = None

    def start(self, *arguments):
        """Start, or start again with the same arguments."""
        self.arguments = list(arguments) or self.arguments
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [QLESSD, "--port", "0", "--unixsocket", self.socket, "--dir", self.directory,
                 "--appendfsync", "no", *self.arguments],
                stdout=log, stderr=log, env=self.environment)
        self.db = redis.Redis(unix_socket_path=self.socket)
        wait_until(self.is_ready)
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError("qlessd has ended:\n" + self.logged())
        try:
            return bool(self.db.ping())
        except redis.exceptions.RedisError:
            return False

    def logged(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Stop, and check the exit code."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        if code != 0:
            raise AssertionError(f"qlessd has ended with {code}:\n" + self.logged())

    def remove(self):
        try:
            if self.process is not None and self.process.poll() is None:
                self.kill()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    def call(self, *words):
        return self.db.execute_command(*words)

    def set(self, name, url, *options, queues=("q",)):
        self.call("ENDPOINT.SET", name, "URL", url, "QUEUES", len(queues), *queues, *options)

    def put(self, jid, data="{}", queue="q", klass="Send", delay=0, options=()):
        self.call("PUT", "producer", queue, jid, klass, data, delay, *options)

    def job(self, jid):
        return json.loads(self.call("GET", jid))

    def state(self, jid):
        return self.job(jid)["state"]

    def status(self, name):
        """The map of ENDPOINT.GET."""
        return as_map(self.call("ENDPOINT.GET", name))

    def figure(self, name):
        self.db.set_response_callback("INFO", lambda reply, **_: reply)
        for line in self.call("INFO", "stats").decode().splitlines():
            if line.startswith(name + ":"):
                return int(line.split(":")[1])
        raise AssertionError("INFO has no " + name)


def as_map(pairs):
    def text(value):
        return value.decode() if isinstance(value, bytes) else value

    result = {}
    for i in range(0, len(pairs), 2):
        value = pairs[i + 1]
        result[text(pairs[i])] = [text(v) for v in value] if isinstance(value, list) else text(value)
    return result


def equal(expected, found):
    if expected != found:
        raise AssertionError(f"expected\n{expected!r}\nbut found\n{found!r}")


def contains(part, text):
    if part not in text:
        raise AssertionError(f"{part!r} is not in\n{text!r}")


def refuses(part, function, *arguments):
    """The call fails with an error that has this part."""
    try:
        reply = function(*arguments)
    except redis.exceptions.ResponseError as error:
        contains(part, str(error))
        return
    raise AssertionError(f"{arguments} was not refused, but answered {reply!r}")


def wait_until(condition, patience_s=PATIENCE_S):
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.005)


def run(cases):
    """Run the cases whose names contain an argument, or all of them, and print TAP."""
    chosen = [case for case in cases
              if len(sys.argv) < 2 or any(word in case.__name__ for word in sys.argv[1:])]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, case in enumerate(chosen, 1):
        server = Server()
        try:
            case(server)
            server.stop()
            print(f"ok {number} {case.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} {case.__name__}", flush=True)
            print("".join("# " + line for line in traceback.format_exc().splitlines(True)))
            if os.path.exists(server.log):
                print("".join("# " + line for line in server.logged().splitlines(True)[-20:]))
        finally:
            server.remove()
    sys.exit(failed != 0)
