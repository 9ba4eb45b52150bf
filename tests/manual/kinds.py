"""How an example is run: each kind has run(stage-less example) and returns complaints, if any."""

import os
import re
import subprocess
from dataclasses import dataclass, field

from compare import matches
from stage import Stage

# A server in the background writes its log between the output of the commands.
LOG_LINE = re.compile(r"^\S+Z \d+ (?:notice|warning) .*\n", re.MULTILINE)


def complaint(shown, output):
    return f"the page has:\n{shown}\nthe real output is:\n{output}"


def replaced(text, replacements):
    for theirs, ours in replacements.items():
        text = text.replace(theirs, ours)
    return text


@dataclass
class Typed:
    """Commands that redis-cli sends on one connection to a new server.

    Before them, `before` runs on another connection, and `first` on the same one. Each element of
    `others` is a connection that sends commands and stays open. `after` runs in the shell when
    the output of an example that goes on has begun.
    """

    before: list = field(default_factory=list)
    first: list = field(default_factory=list)
    others: list = field(default_factory=list)
    after: list = field(default_factory=list)
    options: list = field(default_factory=list)
    any_number: bool = False

    def run(self, example):
        steps = example.steps()
        shown = "\n".join(line for step in steps for line in step.shown)
        with Stage(*self.options) as stage:
            stage.start()
            if self.before:
                stage.run(*self.before)
            if self.others:
                stage.start_others(self.others)
            child = stage.redis_cli()
            done = self.first and "=first="
            stage.type_in(child, [*self.first, *([f"ECHO {done}"] if done else [])])
            stage.type_in(child, [step.typed for step in steps])

            def output():
                text = child.output.read_text(encoding="utf-8", errors="replace")
                return stage.there(text.split(f'"{done}"\n', 1)[-1] if done else text)

            if self.after:
                first_line = steps[0].shown[0]
                stage.wait_for(lambda: matches(f"...{first_line}...", output()))
                stage.shell(*self.after)
                stage.wait_for(lambda: matches(shown, output(), self.any_number))
                child.kill()
            else:
                child.stdin.close()
            stage.wait_for(lambda: child.poll() is not None)
            text = output()
        return None if matches(shown, text, self.any_number) else complaint(shown, text)


@dataclass
class Inline:
    """A command that redis-cli would not send. The reply is an array of strings."""

    def run(self, example):
        (step,) = example.steps()
        with Stage() as stage:
            stage.start()
            reply = stage.send(f"{step.typed}\r\nQUIT\r\n")
        lines = reply.split("\r\n")[2::2]
        output = "\n".join(f'{i}) "{line}"' for i, line in enumerate(lines[:-1], start=1))
        shown = "\n".join(step.shown)
        return None if matches(shown, output) else complaint(shown, reply)


@dataclass
class Shell:
    """Lines for a shell. `before` is for redis-cli, and `shell` for the shell; both run first.

    `answers` are typed when a program asks. A command without output on the page must end with one
    of `statuses`.
    """

    before: list = field(default_factory=list)
    shell: list = field(default_factory=list)
    options: list = field(default_factory=list)
    any_number: bool = False
    starts: bool = True  # whether the server runs already
    silent: bool = False  # the page shows no output, whatever it is
    instead: dict = field(default_factory=dict)  # replaces what would take too long
    answers: str = ""
    statuses: tuple = (0,)

    def run(self, example):
        steps = example.steps()
        for step in steps:
            step.typed = replaced(step.typed, self.instead)
        with Stage(*self.options) as stage:
            if self.starts:
                stage.start()
            if self.before:
                stage.run(*self.before)
            results = stage.shell(*self.shell, *(step.typed for step in steps),
                                  answers=self.answers)[len(self.shell):]
        problems = []
        for i, step in enumerate(steps):
            shown = "\n".join(step.shown)
            status, output = results[i] if i < len(results) else (-1, "the shell has ended")
            if "journalctl" not in step.typed:
                output = LOG_LINE.sub("", output)
            for answer in self.answers.splitlines():
                output = output.replace("[y/N] ", f"[y/N] {answer}\n")
            if not shown and status not in self.statuses:
                problems.append(f"{step.typed}\nfails with status {status}:\n{output}")
            elif (shown or not self.silent) and not matches(shown, output, self.any_number):
                problems.append(f"{step.typed}\n" + complaint(shown, output))
        return "\n".join(problems) or None


@dataclass
class Configuration:
    """Lines of qlessd.conf, which the daemon accepts. `instead` replaces what this machine lacks."""

    instead: dict = field(default_factory=dict)

    def run(self, example):
        with Stage() as stage:
            conf = stage.root / "qlessd.conf"
            text = replaced(example.text, self.instead)
            conf.write_text(stage.here(text) + "\n")
            result = subprocess.run([os.environ["QLESSD"], conf, "--check-config"], text=True,
                                    capture_output=True, check=False)
        return None if result.returncode == 0 else result.stdout + result.stderr


@dataclass
class Sent:
    """A command without prompt and reply, which the server accepts."""

    before: list = field(default_factory=list)
    instead: dict = field(default_factory=dict)

    def run(self, example):
        with Stage() as stage:
            stage.start()
            if self.before:
                stage.run(*self.before)
            output = stage.run(replaced(example.text, self.instead))
        return complaint(example.text, output) if "(error)" in output else None


@dataclass
class Output:
    """Text that the last of these commands of the shell prints."""

    shell: list
    before: list = field(default_factory=list)
    options: list = field(default_factory=list)
    any_number: bool = True
    within: bool = False  # the command may print more before and after it
    instead: dict = field(default_factory=dict)

    def run(self, example):
        with Stage(*self.options) as stage:
            stage.start()
            if self.before:
                stage.run(*self.before)
            output = stage.shell(*self.shell)[-1][1]
        shown = replaced(example.text, self.instead)
        shown = shown.replace("\\\n", "")
        shown = f"...{shown}..." if self.within else shown
        return None if matches(shown, output, self.any_number) else complaint(shown, output)


@dataclass
class NotRun:
    """An example that cannot be run, and why."""

    reason: str
