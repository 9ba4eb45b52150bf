"""Reads the examples of a manual page."""

import re
from dataclasses import dataclass, field

OF_REDIS_CLI = re.compile(r"(127\.0\.0\.1:7537)?> ")
OF_A_SHELL = re.compile(r"[$] |# (?=[a-z])")  # "# Queues" is output
HERE_DOCUMENT = re.compile(r"<<(\w+)")


@dataclass
class Step:
    """A line that is typed, and the output that the page shows below it."""

    typed: str
    shown: list = field(default_factory=list)


@dataclass
class Example:
    """A literal display, or a line of its own (.Dl)."""

    name: str  # the headings above it, with a number from the second one below them
    line: int
    lines: list

    @property
    def text(self):
        return "\n".join(self.lines)

    def is_for_redis_cli(self):
        return bool(OF_REDIS_CLI.match(self.lines[0]))

    def steps(self):
        """Its typed lines. A command of several lines, or with a here-document, is one step."""
        prompt = OF_REDIS_CLI if self.is_for_redis_cli() else OF_A_SHELL
        steps, end = [], None
        for line in self.lines:
            last = steps[-1] if steps else None
            if end is not None:
                last.typed += "\n" + line
                end = None if line == end else end
            elif last is not None and last.typed.endswith("\\"):
                last.typed += "\n" + line
            elif prompt.match(line):
                steps.append(Step(prompt.sub("", line, count=1)))
                here = HERE_DOCUMENT.search(line)
                end = here.group(1) if here else None
            else:
                last.shown.append(line)
        return steps


def plain(text):
    """A line of a display as the page shows it."""
    for escape, shown in ((r"\&", ""), (r"\e", "\\"), (r"\(dq", '"'), (r"\-", "-")):
        text = text.replace(escape, shown)
    return text


def read_examples(path):
    """The examples of a page. The synopsis below the heading of a command is no example."""
    examples, counts = [], {}
    section = subsection = ""
    display = None
    begin = 0
    heading = False  # the line before was .Ss

    def add(number, lines):
        name = f"{section}: {subsection}" if subsection else section
        counts[name] = counts.get(name, 0) + 1
        if counts[name] > 1:
            name += f" #{counts[name]}"
        examples.append(Example(name, number, lines))

    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line == ".Ed" and display is not None:
            add(begin, display)
            display = None
        elif display is not None:
            display.append(plain(line) if not line.startswith(".") else line)
        elif line.startswith(".Bd -literal"):
            begin, display = number, []
        elif line.startswith(".Sh "):
            section, subsection = line[4:], ""
        elif line.startswith(".Ss "):
            subsection = line[4:]
        elif line.startswith(".Dl ") and not (heading and line.startswith(f".Dl {subsection}")):
            add(number, [plain(line[4:])])
        heading = line.startswith(".Ss ")
    return examples
