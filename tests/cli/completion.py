"""Completion of qless in real shells, with names that a real server has."""

import os
import pathlib
import pty
import select
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "lib"))
from ports import Reserved  # noqa: E402

from harness import (PATIENCE_S, QLESS, call, contains, environment, equal, fail, pop, put, qless,
                     run)

SCRIPTS = os.environ["COMPLETION"]


def fill():
    put("mail", "j-1", klass="Send")
    put("mall:shop", "j-2")
    put("with blank", "j-3")
    put("evil\033[2J", "j-4")
    pop("mail")
    fail("j-1", "smtp", "broken")


def proposals(*words):
    return [line.split("\t")[0] for line in qless("__complete", "--", *words).lines]


def the_program_proposes_commands_and_options():
    contains("queues", proposals(""))
    equal(["pause", "put"], sorted(proposals("p")))
    equal(["show"], proposals("sh"))
    equal(["--state"], proposals("jobs", "mail", "--sta"))
    equal([], proposals("bogus", ""))
    contains("--host", proposals("--h"))
    contains("--json", proposals("queues", "--"))
    equal([], proposals("queues", "--stat"))


def the_program_proposes_names_of_the_server():
    fill()
    call("LIMIT.SET", "db", "CONCURRENCY", "1")
    equal(["mail", "mall:shop"], sorted(proposals("jobs", "ma")))
    equal(["mail"], proposals("pause", "mall:shop", "mai"))
    equal([], proposals("jobs", "mail", ""))
    equal(["mail"], proposals("retry", "--queue", "mai"))
    equal(["smtp"], proposals("retry", "--group", ""))
    equal(["smtp"], proposals("failures", ""))
    equal(["db"], proposals("limit", "d"))
    equal(["j-1"], proposals("show", "j-1"))
    contains("w1", proposals("workers", ""))
    equal(["waiting"], proposals("jobs", "mail", "--state", "w"))
    equal([":files"], proposals("--cacert", ""))
    assert not any("evil" in name for name in proposals("jobs", ""))


def the_program_asks_the_server_on_the_command_line():
    fill()
    equal([], proposals("-n", "1", "jobs", "ma"))
    free = Reserved()
    equal([], proposals("-p", str(free.port), "jobs", "ma"))
    free.close()
    equal(["mail"], proposals("-n", "0", "jobs", "mai"))


class Shell:
    """A shell on a terminal. What it shows after a key is compared with what is expected."""

    def __init__(self, *command, setup=()):
        env = environment(TERM="dumb", PATH=f"{os.path.dirname(QLESS)}:{os.environ['PATH']}",
                          HOME="/nonexistent", PS1="READY> ")
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, env)
        for line in setup:
            self.type(line + "\r")
        # A line that prints something else than it has as text.
        self.type("echo BE''GIN\r")
        self.wait_for("BEGIN\r")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def wait_for(self, part):
        end = time.monotonic() + PATIENCE_S
        while part not in self.text:
            if select.select([self.fd], [], [], 0.1)[0]:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
            elif time.monotonic() > end:
                raise AssertionError(f"{part!r} is not in {self.text!r}")

    def completes(self, keys, expected):
        """Type the beginning of a line, and a tab. The shell then shows this."""
        self.text = ""
        self.type(keys + "\t")
        self.wait_for(expected)
        self.type("\x15")

    def end(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def bash_completes():
    fill()
    shell = Shell("bash", "--norc", "--noprofile", setup=[
        "bind 'set enable-bracketed-paste off'", "bind 'set completion-query-items 0'",
        "source /usr/share/bash-completion/bash_completion", f"source '{SCRIPTS}/qless.bash'"])
    shell.completes("qless fai", "qless failures ")
    shell.completes("qless jobs mai", "qless jobs mail ")
    shell.completes("qless jobs mall:s", "qless jobs mall:shop ")
    shell.completes("qless jobs wit", "qless jobs with\\ blank ")
    shell.completes("qless retry --gro", "qless retry --group ")
    shell.completes("qless retry --group s", "qless retry --group smtp ")
    shell.completes(f"qless --cacert {SCRIPTS}/qless.fi", "qless.fish")
    shell.end()


def bash_completes_without_its_library():
    fill()
    shell = Shell("bash", "--norc", "--noprofile", setup=[
        "bind 'set enable-bracketed-paste off'", f"source '{SCRIPTS}/qless.bash'"])
    shell.completes("qless fai", "qless failures ")
    shell.completes("qless jobs mai", "qless jobs mail ")
    shell.end()


def zsh_completes():
    fill()
    shell = Shell("zsh", "-f", setup=[
        f"fpath=('{SCRIPTS}' $fpath)", "autoload -Uz compinit", "compinit -u -D",
        "unsetopt zle_bracketed_paste; unset zle_bracketed_paste"])
    shell.completes("qless fai", "lures ")
    shell.completes("qless jobs mai", "l ")
    shell.completes("qless jobs mall", ":shop")
    shell.completes("qless jobs wit", "h\\ blank")
    shell.completes("qless retry --group s", "mtp")
    shell.completes("qless retry --gro", "up ")
    shell.completes("qless un", "pause")
    shell.end()


def fish_completes():
    fill()
    # The command `complete` of fish prints what it would propose.
    def proposes(line):
        found = subprocess.run(
            ["fish", "--no-config", "-c",
             f"source '{SCRIPTS}/qless.fish'; complete --do-complete \"{line}\""],
            capture_output=True, check=True,
            env=environment(PATH=f"{os.path.dirname(QLESS)}:{os.environ['PATH']}")).stdout
        return [text.split("\t")[0] for text in found.decode().splitlines()]

    contains("failures", proposes("qless fai"))
    equal(["mail", "mall:shop"], sorted(proposes("qless jobs ma")))
    equal(["with blank"], [name.replace("\\", "") for name in proposes("qless jobs wit")])
    equal(["smtp"], proposes("qless retry --group s"))
    equal([f"{SCRIPTS}/qless.fish"], proposes(f"qless --cacert {SCRIPTS}/qless.fi"))
    contains("--state", proposes("qless jobs --sta"))


if __name__ == "__main__":
    sys.exit(run([
        the_program_proposes_commands_and_options,
        the_program_proposes_names_of_the_server,
        the_program_asks_the_server_on_the_command_line,
        bash_completes,
        bash_completes_without_its_library,
        zsh_completes,
        fish_completes,
    ]))
