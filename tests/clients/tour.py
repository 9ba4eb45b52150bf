"""The tour of a document gives the output that is shown there.

Usage: tour.py README.md|PAGE.7, with a qlessd of its own on the port QLESSD_PORT. In a Markdown file
the tour is what is indented, in a manual page it is the literal displays. A line after a prompt is
typed. The lines below it, up to the next prompt or the end of the block, are its output; lines that
begin with blanks continue the line before. Times of today stand for the times in the text, and "..."
stands for anything.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

PROMPT = re.compile(r"(127\.0\.0\.1:7537)?> ")
LISTEN = "$ redis-cli -p 7537 psubscribe "
PATIENCE_S = 10
FEWEST_COMMANDS = 10  # below this the text has changed, and the tour is no longer found

REDIS_CLI = ["redis-cli", "-p", os.environ["QLESSD_PORT"]]
A_TIME = re.compile(r"\b1\d{9}(\.\d+)?\b")


def markdown_blocks(text):
    """The lines of each block that is indented by four blanks."""
    for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE):
        yield [line[4:] for line in block.splitlines()]


def manual_blocks(text):
    """The lines of each literal display, as the page shows them."""
    for block in re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", text, re.MULTILINE):
        yield block.replace(r"\&", "").replace(r"\e", "\\").splitlines()


def read_tour(path):
    """Each line that is typed, with the output shown below it."""
    text = path.read_text(encoding="utf-8")
    blocks = markdown_blocks(text) if path.suffix == ".md" else manual_blocks(text)
    for block in blocks:
        typed, shown = None, []
        for line in [*block, "$ "]:
            if not PROMPT.match(line) and not line.startswith("$ "):
                if typed is not None and line.startswith(" "):
                    shown[-1] += line.strip()
                elif typed is not None:
                    shown.append(line)
                continue
            if typed is not None:
                yield typed, shown
            typed, shown = line, []


def pattern(lines):
    text = A_TIME.sub("TIME", "\n".join(lines))
    return ".*".join(re.escape(part) for part in text.split("..."))


def matches(lines, output):
    return re.fullmatch(pattern(lines), A_TIME.sub("TIME", output.strip("\n")), re.DOTALL)


def run(command):
    words = A_TIME.sub(str(int(time.time())), command)
    result = subprocess.run([*REDIS_CLI, "--no-raw"], input=words + "\n", text=True,
                            capture_output=True, timeout=PATIENCE_S, check=True)
    return result.stdout


def complain(path, typed, shown, output):
    print(f"{typed}\n{path.name} has:\n" + "\n".join(shown) + f"\nthe server says:\n{output}",
          file=sys.stderr)


def main():
    path = pathlib.Path(sys.argv[1])
    tour = list(read_tour(path))
    commands = [(typed, shown) for typed, shown in tour if PROMPT.match(typed)]
    events = [shown for typed, shown in tour if typed.startswith(LISTEN)]
    failed = len(commands) < FEWEST_COMMANDS

    listener = subprocess.Popen([*REDIS_CLI, "psubscribe", "ql:*"], stdout=subprocess.PIPE,
                                text=True, bufsize=1)
    for _ in range(3):
        listener.stdout.readline()  # the confirmation of the subscription
    for typed, shown in commands:
        output = run(PROMPT.sub("", typed, count=1))
        if not matches(shown, output):
            complain(path, typed, shown, output)
            failed = True

    run("PUBLISH ql:end end")
    heard = []
    while not heard or heard[-1] != "end\n":
        heard.append(listener.stdout.readline())
    listener.terminate()
    listener.wait(PATIENCE_S)
    for shown in events:
        if not matches([*shown, "..."], "".join(heard)):
            complain(path, LISTEN, shown, "".join(heard))
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
