#!/usr/bin/env python3
"""usage: check.py PROGRAM BUDGETS COMPILER VALGRIND [--update]

Count the instructions of each operation that PROGRAM (budget.c) does, and compare them with the file
BUDGETS. One that takes more than 10% over its budget has failed. The same instructions are counted
on every machine, however busy it is: only those in our own code count, not those of libraries, which
choose other code on another processor.

Compilers differ, so each has a column in BUDGETS, named by COMPILER, such as gcc-12-x86_64. With one
that has none, the first column is the measure, and 25% more is allowed: gcc 12 and clang 14 differ
by up to 7%, and what has gone wrong in earnest still shows.

  --update   write what was counted to BUDGETS: for a change that is worth its instructions, which
             then shows in the diff of that change (ninja -C build-test update-budgets)
"""

import os
import re
import subprocess
import sys
import tempfile

CALLS = 512  # for each operation; JOBS in budget.c
TOLERANCE = 0.10
TOLERANCE_UNKNOWN = 0.25


def self_cost(path, program):
    """The instructions of one part in the object of that name."""
    total = 0
    ours = False
    skip = False
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("ob="):
                ours = line.rstrip().endswith("/" + program)
            elif line.startswith("calls="):
                skip = True  # the next line has the cost of what is called
            elif line[0].isdigit():
                if ours and not skip:
                    total += int(line.split()[1])
                skip = False
    return total


def count(program, valgrind):
    """Instructions of a call of each operation, by name."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out")
        run = subprocess.run(
            [valgrind, "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
             "--toggle-collect=budget_measure", "--dump-after=budget_measure",
             "--callgrind-out-file=" + out, program],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode != 0:
            sys.exit(run.stderr)
        names = run.stdout.splitlines()
        return {name: round(self_cost(f"{out}.{i}", os.path.basename(program)) / CALLS)
                for i, name in enumerate(names, 1)}


def read_budgets(path):
    """The names of the columns, and for each operation a figure for each column, or None."""
    columns, budgets = [], {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = re.split(r"  +", line.strip())
            if fields[0] == "operation":
                columns = fields[1:]
            elif columns and not line.startswith("#") and line.strip():
                budgets[fields[0]] = [int(f) if f != "-" else None for f in fields[1:]]
    return columns, budgets


def write_budgets(path, compiler, counted):
    columns, budgets = read_budgets(path)
    if compiler not in columns:
        columns.append(compiler)
    at = columns.index(compiler)
    with open(path, encoding="utf-8") as file:
        head = [line for line in file if line.startswith("#")]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(head)
        file.write("\n" + f"{'operation':30}" + "".join(f"{c:>18}" for c in columns) + "\n")
        for name, instructions in counted.items():
            figures = (budgets.get(name, []) + [None] * len(columns))[:len(columns)]
            figures[at] = instructions
            file.write(f"{name:30}"
                       + "".join(f"{f if f is not None else '-':>18}" for f in figures) + "\n")


def check(path, compiler, counted):
    columns, budgets = read_budgets(path)
    known = compiler in columns
    at = columns.index(compiler) if known else 0
    tolerance = TOLERANCE if known else TOLERANCE_UNKNOWN
    if not known:
        print(f"# no budgets for {compiler}: those of {columns[0]}, with 25% more allowed")
    print(f"1..{len(counted)}")
    failed = 0
    for i, (name, instructions) in enumerate(counted.items(), 1):
        budget = budgets.get(name, [None] * len(columns))[at]
        if budget is None:
            print(f"not ok {i} - {name}: {instructions} instructions, and no budget")
            failed += 1
            continue
        change = instructions / budget - 1
        good = change <= tolerance
        failed += not good
        print(f"{'ok' if good else 'not ok'} {i} - {name}: {instructions} instructions, "
              f"budget {budget} ({change:+.1%})")
    if failed:
        print(f"# {failed} over budget. Make them cheaper; or, if the change is worth it, put the new "
              "figures into the same commit:\n#     ninja -C build-test update-budgets")
    return failed == 0


def main():
    arguments = [a for a in sys.argv[1:] if a != "--update"]
    if len(arguments) != 4:
        sys.exit(__doc__)
    program, path, compiler, valgrind = arguments
    counted = count(program, valgrind)
    if "--update" in sys.argv:
        write_budgets(path, compiler, counted)
    elif not check(path, compiler, counted):
        sys.exit(1)


main()
