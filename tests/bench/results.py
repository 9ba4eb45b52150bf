#!/usr/bin/env python3
"""Write sections of tests/bench/RESULTS.md.

compare.py, turns.py, handoff.py, waiting.py, crowd.py, limits.py, unique.py and push.py write theirs with
--results. As a program, this runs benchmarks of single parts and writes a section for each:

    deep      a life of a job on top of a backlog (bench_deep)
    stall     the slowest call of each kind (bench_stall)
    state     a snapshot, saved and loaded (bench_state)
    engine    calls of the engine (bench_engine)
    commands  commands without a network (bench_classic)
"""

import argparse
import contextlib
import io
import os
import platform
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "tests", "bench", "RESULTS.md")

# The title of a section, and the program below the build directory with its arguments.
PARTS = {
    "deep": ("The engine on top of a backlog", ["tests/bench/bench_deep"]),
    "stall": ("The slowest calls of the engine", ["tests/bench/bench_stall"]),
    "state": ("Snapshots", ["tests/bench/bench_state"]),
    "engine": ("Calls of the engine", ["tests/bench/bench_engine"]),
    "commands": ("Commands without a network", ["tests/bench/bench_classic"]),
}


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip()


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def commit():
    """The commit of the checkout, and whether files differ from it."""
    name = output_of("git", "-C", ROOT, "rev-parse", "--short=10", "HEAD")
    changed = output_of("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no",
                        "--", ROOT, f":!{RESULTS}")
    return f"commit {name or 'unknown'}{' with local changes' if changed else ''}"


def origin(words, *versions):
    """When, how, from what, and where a section was made."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    facts = [commit(), *versions, f"{os.cpu_count()} × {processor()}, Linux {platform.release()}"]
    return f"Made on {day} by `{' '.join(words)}`:\n{'; '.join(facts)}.\n"


def replace_section(page, title, body):
    """The page with another body below `## title`. A new section goes before those made by hand."""
    section = f"## {title}\n\n{body.strip()}\n\n"
    old = re.compile(rf"^## {re.escape(title)}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    by_hand = re.compile(r"^(?=## Measured by hand)|\Z", re.MULTILINE)
    place = old if old.search(page) else by_hand
    return place.sub(lambda _: section, page, count=1).rstrip() + "\n"


def write_section(title, body):
    with open(RESULTS, encoding="utf-8") as file:
        page = file.read()
    with open(RESULTS, "w", encoding="utf-8") as file:
        file.write(replace_section(page, title, body))


class Tee(io.StringIO):
    """Keeps the text, and also passes it on at once."""

    def __init__(self, to):
        super().__init__()
        self.to = to

    def write(self, text):
        self.to.write(text)
        self.to.flush()
        return super().write(text)


@contextlib.contextmanager
def section(title, is_kept):
    """A section on standard output. If `is_kept`, it also replaces that of the page at the end."""
    print(f"## {title}\n")
    body = Tee(sys.stdout)
    with contextlib.redirect_stdout(body):
        yield
    print()
    if is_kept:
        write_section(title, body.getvalue())


def run_part(name, build):
    title, (program, *arguments) = PARTS[name]
    path = os.path.join(build, program)
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} does not exist: run ninja -C {build}")
    with section(title, is_kept=True):
        print(origin([os.path.basename(program), *arguments]))
        print("```")
        print(output_of(path, *arguments))
        print("```")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default=os.path.join(ROOT, "build-test"), metavar="DIR",
                        help="directory of the build; build-test/ unless given")
    parser.add_argument("parts", nargs="+", choices=PARTS, metavar="PART",
                        help=", ".join(PARTS))
    args = parser.parse_args()
    for name in args.parts:
        run_part(name, args.build)


if __name__ == "__main__":
    main()
