"""How an example is run: each kind has run(stage-less example) and returns complaints, if any."""

import os
import subprocess
import tempfile
from dataclasses import dataclass, field

from compare import matches
from stage import Stage


def complaint(shown, output):
    return f"the page has:\n{shown}\nthe real output is:\n{output}"


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
            for commands in self.others:
                other = stage.redis_cli()
                stage.type_in(other, commands)
                stage.wait_for(lambda: stage.run("CLIENT LIST").count("\n") > len(stage.children))
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
    """Lines for a shell. `before` is for redis-cli, and `shell` for the shell; both run first."""

    before: list = field(default_factory=list)
    shell: list = field(default_factory=list)
    options: list = field(default_factory=list)
    any_number: bool = False
    starts: bool = True  # whether the server runs already
    silent: bool = False  # the page shows no output, whatever it is

    def run(self, example):
        steps = example.steps()
        with Stage(*self.options) as stage:
            if self.starts:
                stage.start()
            if self.before:
                stage.run(*self.before)
            outputs = stage.shell(*self.shell, *(step.typed for step in steps))[len(self.shell):]
        problems = []
        for step, output in zip(steps, outputs + ["(nothing, because the shell has ended)"] * 9):
            shown = "\n".join(step.shown)
            if not shown and "command not found" not in output and (
                    self.silent or "rror" not in output):
                continue
            if not matches(shown, output, self.any_number):
                problems.append(f"{step.typed}\n" + complaint(shown, output))
        return "\n".join(problems) or None


@dataclass
class Configuration:
    """Lines of qlessd.conf, which the daemon accepts."""

    places: list = field(default_factory=list)

    def run(self, example):
        with Stage() as stage:
            conf = stage.root / "qlessd.conf"
            conf.write_text(stage.here(example.text) + "\n")
            result = subprocess.run([os.environ["QLESSD"], conf, "--check-config"], text=True,
                                    capture_output=True, check=False)
        return None if result.returncode == 0 else result.stdout + result.stderr


@dataclass
class Output:
    """Text that the last of these commands of the shell prints."""

    shell: list
    before: list = field(default_factory=list)
    options: list = field(default_factory=list)
    any_number: bool = True
    within: bool = False  # the command may print more before and after it

    def run(self, example):
        with Stage(*self.options) as stage:
            stage.start()
            if self.before:
                stage.run(*self.before)
            output = stage.shell(*self.shell)[-1]
        shown = f"...{example.text}..." if self.within else example.text
        return None if matches(shown, output, self.any_number) else complaint(shown, output)


@dataclass
class NotRun:
    """An example that cannot be run, and why."""

    reason: str
