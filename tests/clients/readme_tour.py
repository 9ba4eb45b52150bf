"""The tour of README.md gives the output that is shown there.

Usage: readme_tour.py README.md, with a qlessd of its own on the port QLESSD_PORT. Times of today
stand for those in the text, and "..." there for anything.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

PROMPT = "127.0.0.1:7537> "
LISTEN = "$ redis-cli -p 7537 psubscribe "
PATIENCE_S = 10

REDIS_CLI = ["redis-cli", "-p", os.environ["QLESSD_PORT"]]
A_TIME = re.compile(r"\b1\d{9}(\.\d+)?\b")


def read_tour(path):
    """What is typed, and what is shown below it up to the next prompt or the end of the block."""
    text = path.read_text(encoding="utf-8")
    tour = text[text.index("\n## A short tour\n") + 1 :]
    tour = tour[: tour.index("\n## ")]
    typed = None
    for line in [*tour.splitlines(), ""]:
        is_prompt = line.startswith("    " + PROMPT) or line.startswith("    $ ")
        if typed is not None and (is_prompt or not line.startswith("    ")):
            yield typed, shown
            typed = None
        if is_prompt:
            typed, shown = line[4:], []
        elif typed is not None:
            shown.append(line[4:])


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


def complain(typed, shown, output):
    print(f"{typed}\nREADME.md has:\n" + "\n".join(shown) + f"\nthe server says:\n{output}",
          file=sys.stderr)


def main():
    tour = list(read_tour(pathlib.Path(sys.argv[1])))
    commands = [(typed, shown) for typed, shown in tour if typed.startswith(PROMPT)]
    (events,) = [shown for typed, shown in tour if typed.startswith(LISTEN)]
    failed = len(commands) < 10  # the text has changed, and nothing is found any more

    listener = subprocess.Popen([*REDIS_CLI, "psubscribe", "ql:*"], stdout=subprocess.PIPE,
                                text=True, bufsize=1)
    for _ in range(3):
        listener.stdout.readline()  # what confirms the subscription
    for typed, shown in commands:
        output = run(typed[len(PROMPT) :])
        if not matches(shown, output):
            complain(typed, shown, output)
            failed = True

    run("PUBLISH ql:end end")
    heard = []
    while not heard or heard[-1] != "end\n":
        heard.append(listener.stdout.readline())
    listener.terminate()
    listener.wait(PATIENCE_S)
    if not matches([*events, "..."], "".join(heard)):
        complain(LISTEN, events, "".join(heard))
        failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
