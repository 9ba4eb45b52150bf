"""Shared by the tests of qless: the program, a connection of their own, and the cases.

A qlessd of the test listens at QLESSD_URL, and QLESS is the path of the program. A case is a function
whose name is a sentence. The database is empty before each of them.
"""

import json
import os
import re
import subprocess
import sys
import time
import traceback

import redis

QLESS = os.environ["QLESS"]
PORT = int(os.environ["QLESSD_PORT"])
PATIENCE_S = 100

# An address, because not every machine knows the name localhost.
db = redis.Redis("127.0.0.1", PORT, **({"protocol": 2} if redis.VERSION[0] >= 5 else {}))

DURATION = re.compile(r"\b(\d+(ms|s|m|h|d))+\b")


def environment(**changes):
    env = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC")
    for name in ("NO_COLOR", "QLESSCLI_AUTH", "COLUMNS"):
        env.pop(name, None)
    env.update(changes)
    return env


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout.decode("utf-8")
        self.err = process.stderr.decode("utf-8")

    @property
    def lines(self):
        return self.out.splitlines()


def qless(*arguments, stdin=b"", env=None, expect=0):
    """Run qless, which must end with this exit code."""
    process = subprocess.run(
        [QLESS, *map(os.fsencode, arguments)], input=stdin, capture_output=True,
        timeout=PATIENCE_S, env=env or environment())
    result = Result(process)
    if result.code != expect:
        raise AssertionError(
            f"qless {' '.join(arguments)}: exit code {result.code} instead of {expect}\n"
            f"{result.out}{result.err}")
    return result


def as_json(*arguments, **options):
    """The only line of the output, which is JSON."""
    (line,) = qless(*arguments, "--json", **options).lines
    return json.loads(line)


def as_json_lines(*arguments, **options):
    return [json.loads(line) for line in qless(*arguments, "--json", **options).lines]


def without_times(text):
    """The text with AGE in place of each duration, and columns two blanks apart."""
    text = DURATION.sub("AGE", text)
    return "\n".join(re.sub(r" {2,}", "  ", line).strip() for line in text.splitlines())


def equal(expected, found):
    if expected != found:
        raise AssertionError(f"expected\n{expected}\nbut found\n{found}")


def shows(expected, *arguments, **options):
    """The output is this table, apart from durations and the widths of columns."""
    equal(without_times(expected), without_times(qless(*arguments, **options).out))


def contains(part, text):
    if part not in text:
        raise AssertionError(f"{part!r} is not in\n{text}")


def wait_until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.005)


def call(*words):
    """Send a command as any client does."""
    return db.execute_command(*words)


def put(queue, jid, *options, klass="Send", data='{"to":"x"}', delay=0):
    call("PUT", "producer", queue, jid, klass, data, delay, *options)


def pop(queue, worker="w1", count=1):
    return [job["jid"] for job in json.loads(call("POP", queue, worker, count))]


def fail(jid, group, message, worker="w1"):
    call("FAIL", jid, worker, group, message)


def run(cases):
    """Run the cases whose names contain an argument, or all of them, and print TAP."""
    chosen = [case for case in cases
              if len(sys.argv) < 2 or any(word in case.__name__ for word in sys.argv[1:])]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, case in enumerate(chosen, 1):
        call("FLUSHALL")
        try:
            case()
            print(f"ok {number} - {case.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {case.__name__}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            sys.stdout.flush()
    return failed != 0
