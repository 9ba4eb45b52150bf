"""qless on a terminal: the screen of top, keys, questions, signals and pipes."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from harness import (PATIENCE_S, QLESS, call, contains, environment, equal, fail, pop, put, run,
                     wait_until)


class Terminal:
    """qless on a terminal of its own, and everything that it has written there."""

    def __init__(self, *arguments, rows=24, columns=80, **changes):
        self.text = ""
        changes = {"TERM": "xterm", **changes}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            self.resize(rows, columns, 0)
            os.execve(QLESS, [QLESS, *arguments], environment(**changes))
        self.resize(rows, columns)

    def resize(self, rows, columns, fd=None):
        fcntl.ioctl(self.fd if fd is None else fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, timeout_s):
        if not select.select([self.fd], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.text += data.decode("utf-8", "replace")
        return data != b""

    def wait_for(self, condition):
        """Read until the text that was written fulfils a condition."""
        end = time.monotonic() + PATIENCE_S
        while not condition(self.text):
            if time.monotonic() > end or not self.read(0.1):
                raise AssertionError(f"waited in vain, and saw\n{self.text!r}")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        """Read to the end. Returns the exit code, or minus the signal."""
        end = time.monotonic() + PATIENCE_S
        while self.read(0.1):
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"it does not end: {self.text!r}")
        status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def screen_of(text):
    """The lines of the last screen in the output of top, without colours."""
    last = re.sub(r"\033\[[0-9;]*m", "", text).split("\033[H")[-1]
    return [line.replace("\033[K", "").rstrip("\r") for line in last.split("\033[J")[0].split("\n")]


def is_drawn(text):
    return text.endswith("\033[J")


def top_fills_the_screen_and_q_quits():
    put("mail", "j1")
    top = Terminal("top", rows=24, columns=80)
    top.wait_for(lambda text: "mail" in text and is_drawn(text))
    lines = screen_of(top.text)
    contains("qlessd 127.0.0.1:", lines[0])
    contains("jobs  1 waiting  0 running", lines[1])
    equal(True, lines[4].startswith("QUEUE"))
    contains("q quit", lines[-1])
    assert len(lines) <= 24 and all(len(line) <= 80 for line in lines), lines
    top.type("q")
    equal(0, top.end())
    contains("\033[?1049h", top.text)
    contains("\033[?25h\033[?1049l", top.text)


def top_fits_a_small_terminal():
    put("a-queue-with-a-long-name", "j1")
    for rows, columns in ((24, 40), (5, 20), (2, 10)):
        top = Terminal("top", rows=rows, columns=columns)
        top.wait_for(is_drawn)
        lines = screen_of(top.text)
        assert all(len(line) <= columns for line in lines), lines
        assert len(lines) <= rows, lines
        top.type("q")
        equal(0, top.end())


def top_ends_at_an_interrupt_and_restores_the_terminal():
    for end in (lambda top: top.type("\x03"), lambda top: os.kill(top.pid, signal.SIGTERM)):
        top = Terminal("top")
        top.wait_for(is_drawn)
        equal(0, termios.tcgetattr(top.fd)[3] & (termios.ECHO | termios.ICANON))
        end(top)
        top.wait_for(lambda text: "\033[?1049l" in text)
        equal(0, top.end())


def top_follows_the_size_of_the_terminal():
    for i in range(30):
        put(f"queue-{i:02}", f"j{i}")
    top = Terminal("top", "--interval", "1000", rows=24, columns=80)
    top.wait_for(is_drawn)
    equal(24, len(screen_of(top.text)))
    top.text = ""
    top.resize(10, 132)
    top.wait_for(lambda text: is_drawn(text) and "SCHED" in text)
    equal(10, len(screen_of(top.text)))
    contains("30 queues", screen_of(top.text)[-1])
    top.type("q")
    equal(0, top.end())


def top_obeys_keys():
    for i in range(30):
        put(f"queue-{i:02}", f"j{i}")
    top = Terminal("top", "--interval", "1000", rows=12)
    top.wait_for(lambda text: is_drawn(text) and "sorted by waiting" in text)
    contains("queue-00", screen_of(top.text)[5])
    top.text = ""
    top.type("j")
    top.wait_for(lambda text: is_drawn(text) and "queue-01" in screen_of(text)[5])
    top.type("\033[A")
    top.wait_for(lambda text: is_drawn(text) and "queue-00" in screen_of(text)[5])
    top.type("s")
    top.wait_for(lambda text: is_drawn(text) and "sorted by running" in text)
    put("queue-new", "j")
    top.type(" ")
    top.wait_for(lambda text: is_drawn(text) and "31 queues" in text)
    top.type("q")
    equal(0, top.end())


def top_updates_by_itself():
    top = Terminal("top", "--interval", "0.05")
    top.wait_for(is_drawn)
    put("arrived", "j1")
    top.wait_for(lambda text: "arrived" in text)
    top.type("q")
    equal(0, top.end())


def top_shows_why_its_figures_are_old():
    put("mail", "j1")
    top = Terminal("top", "--interval", "0.05")
    top.wait_for(lambda text: "mail" in text and is_drawn(text))
    call("ACL", "SETUSER", "default", "-info")
    top.wait_for(lambda text: "NOPERM" in text and is_drawn(text))
    contains("mail", "\n".join(screen_of(top.text)))
    call("ACL", "SETUSER", "default", "+info")
    top.text = ""
    top.wait_for(lambda text: is_drawn(text) and "NOPERM" not in screen_of(text)[3])
    top.type("q")
    equal(0, top.end())


def top_shows_hostile_names_as_escapes():
    put("evil\033[2J\x9b31m", "j1")
    top = Terminal("top", columns=132)
    top.wait_for(lambda text: "evil" in text and is_drawn(text))
    contains("evil\\x1b[2J\\u009b31m", "\n".join(screen_of(top.text)))
    top.type("q")
    equal(0, top.end())


def a_question_waits_for_an_answer():
    for answer, code, left in (("n\r", 2, 1), ("\r", 2, 1), ("y\r", 0, 0)):
        put("mail", "j1")
        cancel = Terminal("cancel", "--queue", "mail")
        cancel.wait_for(lambda text: "Cancel 1 job? [y/N] " in text)
        cancel.type(answer)
        equal(code, cancel.end())
        equal(left, int(call("EXISTS", "ql:j:j1")))


def tables_on_a_terminal_have_colours_and_its_width():
    put("a-queue-with-a-name-that-is-much-longer-than-it-should-be", "j1")
    wide = Terminal("queues", columns=70)
    equal(0, wide.end())
    contains("\033[1mQUEUE\033[0m", wide.text)
    lines = re.sub(r"\033\[[0-9;]*m", "", wide.text).splitlines()
    assert all(len(line) <= 70 for line in lines), lines
    contains("…", lines[1])
    for changes in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = Terminal("queues", **changes)
        equal(0, plain.end())
        assert "\033" not in plain.text, plain.text
    ascii_only = Terminal("queues", columns=70, LC_ALL="C")
    equal(0, ascii_only.end())
    ascii_only.text.encode("ascii")


def json_on_a_terminal_controls_nothing():
    put("q", "j1", data='"\x9b31m\x7f"')
    show = Terminal("show", "--json", "j1")
    equal(0, show.end())
    assert not set(show.text) & {"\033", "\x9b", "\x7f"}, show.text
    contains("\\u009b31m", show.text)


def a_password_is_asked_for_without_showing_it():
    call("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all")
    put("mail", "j1")
    ask = Terminal("queues", "-q", "--user", "ann", "--askpass")
    ask.wait_for(lambda text: "Password: " in text)
    ask.type("wrong\x15secreX\x7ft\r")
    equal(0, ask.end())
    contains("mail", ask.text)
    assert "secre" not in ask.text, ask.text
    ask = Terminal("queues", "--askpass")
    ask.wait_for(lambda text: "Password: " in text)
    ask.type("\x03")
    equal(2, ask.end())
    contains("no password was given", ask.text)
    call("ACL", "DELUSER", "ann")


def tail_shows_events_until_an_interrupt():
    tail = Terminal("tail", NO_COLOR="1")
    wait_until(lambda: call("PUBSUB", "NUMSUB", "ql:log")[1] == 1)
    put("mail", "j1")
    pop("mail")
    fail("j1", "smtp", "no \033[31mroute")
    tail.wait_for(lambda text: "group=smtp" in text)
    lines = [re.sub(r"^\d\d:\d\d:\d\d", "TIME", line) for line in tail.text.splitlines()]
    equal("TIME  put        mail         j1", lines[0])
    contains("TIME  failed     mail         j1", lines[1])
    contains("message=no \\x1b[31mroute", lines[1])
    tail.type("\x03")
    equal(-signal.SIGINT, tail.end())


def wait_ends_at_an_interrupt():
    put("mail", "j1")
    wait = Terminal("wait", "j1")
    wait_until(lambda: b"cmd=job.wait" in call("CLIENT", "LIST"))
    wait.type("\x03")
    equal(-signal.SIGINT, wait.end())


def tail_ends_when_nobody_reads_its_pipe():
    tail = subprocess.Popen([QLESS, "tail"], stdout=subprocess.PIPE, env=environment())
    head = subprocess.Popen(["head", "-n", "1"], stdin=tail.stdout, stdout=subprocess.PIPE)
    tail.stdout.close()
    wait_until(lambda: call("PUBSUB", "NUMSUB", "ql:log")[1] == 1)
    put("mail", "j1")
    contains(b"j1", head.communicate()[0])
    # No further event is needed.
    tail.wait(PATIENCE_S)
    assert tail.returncode in (0, -signal.SIGPIPE), tail.returncode


def a_list_ends_when_nobody_reads_its_pipe():
    pipe = [f"j{i}" for i in range(3000)]
    call("MULTIPUT", "me", "mail", 0, "jobs",
         *[word for jid in pipe for word in (jid, "Send", "{}")])
    jobs = subprocess.Popen([QLESS, "jobs", "mail"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment())
    jobs.stdout.readline()
    jobs.stdout.close()
    jobs.wait(PATIENCE_S)
    equal(b"", jobs.stderr.read())
    assert jobs.returncode in (0, -signal.SIGPIPE), jobs.returncode


def a_full_disk_is_an_error():
    with open("/dev/full", "wb") as full:
        process = subprocess.run([QLESS, "queues"], stdout=full, stderr=subprocess.PIPE,
                                 env=environment())
    equal(1, process.returncode)
    contains(b"cannot write the output: No space left", process.stderr)


if __name__ == "__main__":
    sys.exit(run([
        top_fills_the_screen_and_q_quits,
        top_fits_a_small_terminal,
        top_ends_at_an_interrupt_and_restores_the_terminal,
        top_follows_the_size_of_the_terminal,
        top_obeys_keys,
        top_updates_by_itself,
        top_shows_why_its_figures_are_old,
        top_shows_hostile_names_as_escapes,
        a_question_waits_for_an_answer,
        tables_on_a_terminal_have_colours_and_its_width,
        json_on_a_terminal_controls_nothing,
        a_password_is_asked_for_without_showing_it,
        tail_shows_events_until_an_interrupt,
        wait_ends_at_an_interrupt,
        tail_ends_when_nobody_reads_its_pipe,
        a_list_ends_when_nobody_reads_its_pipe,
        a_full_disk_is_an_error,
    ]))
