"""usage: count-cases.py TESTLOG STATUS

Print the failures in a testlog.json of meson, and as the last line `N passed, N failed`. The exit
code is 0 if a test passed, none failed, and meson's STATUS is 0.

The output of a test determines how it counts. The line "N Tests N Failures N Ignored" of Unity counts
the cases, and "N scenarios passed, N failed" the scenarios. With a plan "1..N" of the Test Anything
Protocol, the lines "ok" and "not ok" count, and cases of the plan that are missing have failed. Any
other test counts as one. An ignored or skipped case has failed, and so has a skipped test. A test
that meson reports (crash, time-out, leak) has at least one failure, whatever its output. If Unity did
not get to its last line, the cases before the crash count.
"""

import json
import re
import sys

UNITY_TOTAL = re.compile(r"^(\d+) Tests (\d+) Failures (\d+) Ignored", re.MULTILINE)
SCENARIOS = re.compile(r"^(\d+) scenarios passed, (\d+) failed", re.MULTILINE)
UNITY_CASE = re.compile(r"^\S+\.c:\d+:\w+:(PASS|FAIL)\b", re.MULTILINE)
TAP_PLAN = re.compile(r"^1\.\.(\d+)$", re.MULTILINE)
TAP_CASE = re.compile(r"^(?:not )?ok\b.*$", re.MULTILINE)
TAP_PASSED = re.compile(r"ok\b(?!.*# *(?:skip|todo))", re.IGNORECASE)
UNITY_IGNORED = re.compile(r"^.*:IGNORE.*$", re.MULTILINE)


def count(test):
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    output = test.get("stdout", "")
    if totals := UNITY_TOTAL.findall(output):
        cases, failures, ignored = map(int, totals[-1])
        failed = failures + ignored
        passed = cases - failed
    elif totals := SCENARIOS.findall(output):
        passed, failed = map(int, totals[-1])
    elif plan := TAP_PLAN.search(output):
        cases = TAP_CASE.findall(output)
        passed = sum(TAP_PASSED.match(case) is not None for case in cases)
        failed = max(len(cases), int(plan.group(1))) - passed
    elif outcomes := UNITY_CASE.findall(output):
        passed = outcomes.count("PASS")
        failed = outcomes.count("FAIL") + (not good)
    else:
        passed, failed = (1, 0) if good else (0, 1)
    return passed, failed if good else max(failed, 1)


def main(path, status):
    try:
        with open(path, encoding="utf-8") as log:
            tests = [json.loads(line) for line in log]
    except FileNotFoundError:
        tests = []

    passed = failed = 0
    for test in tests:
        test_passed, test_failed = count(test)
        passed += test_passed
        failed += test_failed
        if test_failed:
            print(f"{test['name']}: {test_failed} failed ({test['result']})")
            for line in UNITY_IGNORED.findall(test.get("stdout", "")):
                print(line)

    if failed == 0 and (status != 0 or passed == 0):
        print(f"No test ran to its end (meson test: {status}).")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
