#!/usr/bin/python3
"""usage: run_examples.py PAGE [NAME]...

Runs every example of a manual page as it stands there, and compares the output. With names, it runs
only these.

The table of the page says what each example needs, or why it is not run. An example for redis-cli
that is not in the table runs on an empty server. Any other example must be in the table, and so must
each entry of the table be an example. QLESSD is the path of the daemon.
"""

import concurrent.futures
import importlib
import pathlib
import sys

from kinds import NotRun, Typed
from pages import read_examples


def table_of(page):
    return importlib.import_module("on_" + page.stem.replace("-", "_").replace(".", "_")).EXAMPLES


def problem_of(example, table):
    kind = table.get(example.name)
    if kind is None and example.is_for_redis_cli():
        kind = Typed()
    if kind is None:
        return "the example is neither run nor listed with a reason"
    return None if isinstance(kind, NotRun) else kind.run(example)


def main():
    page = pathlib.Path(sys.argv[1])
    only = sys.argv[2:]
    table = table_of(page)
    examples = [e for e in read_examples(page) if not only or e.name in only]
    problems = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for example, problem in zip(examples, pool.map(lambda e: problem_of(e, table), examples)):
            problems[example.name] = problem and f"{page.name}:{example.line}: {problem}"
    for name in table.keys() - problems.keys() if not only else ():
        problems[name] = "the table has an entry without an example"

    print(f"1..{len(problems)}")
    for number, (name, problem) in enumerate(problems.items(), start=1):
        print(f"{'not ok' if problem else 'ok'} {number} - {name}".replace("#", r"\#"))
        if problem:
            print(problem, file=sys.stderr)
    return any(problems.values())


if __name__ == "__main__":
    sys.exit(main())
