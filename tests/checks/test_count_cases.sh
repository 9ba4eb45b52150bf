#!/bin/sh
# usage: test_count_cases.sh COUNT-CASES
#
# The last line of a test run must report every failure.

log=$(mktemp)
trap 'rm -f "$log"' EXIT
result=0

# expect COUNTS EXIT-CODE MESON-STATUS: check the counts of the testlog on standard input.
expect() {
  cat >"$log"
  output=$(python3 "$counter" "$log" "$3")
  status=$?
  last=$(printf '%s\n' "$output" | tail -n 1)
  if [ "$last" != "$1" ] || [ "$status" != "$2" ]; then
    printf 'expected %s (exit %s), got exit %s and:\n%s\n' "$1" "$2" "$status" "$output"
    result=1
  fi
}

counter=$1

# Cases are counted, not binaries. A test without output counts as one.
expect '18 passed, 0 failed' 0 0 <<'END'
{"name": "a", "result": "OK", "stdout": "x.c:1:some_case:PASS\n8 Tests 0 Failures 0 Ignored \nOK\n"}
{"name": "b", "result": "OK"}
{"name": "c", "result": "OK", "stdout": "7 scenarios passed, 0 failed\n"}
{"name": "d", "result": "OK", "stdout": "1..2\nok 1 - one\nok 2 - not ok\n"}
END

# An ignored or skipped case has failed.
expect '3 passed, 3 failed' 1 0 <<'END'
{"name": "a", "result": "OK", "stdout": "x.c:1:some_case:IGNORE\n3 Tests 0 Failures 1 Ignored \n"}
{"name": "b", "result": "SKIP"}
{"name": "c", "result": "OK", "stdout": "1..2\nok 1 - one\nok 2 - two # SKIP no time\n"}
END

# A crash is a failure, also after the last case or before the first. Cases that are missing after it
# have failed if their number is known.
expect '12 passed, 11 failed' 1 4 <<'END'
{"name": "failing", "result": "FAIL", "stdout": "5 Tests 2 Failures 0 Ignored \nFAIL\n"}
{"name": "differing", "result": "FAIL", "stdout": "2 scenarios passed, 1 failed\n"}
{"name": "leaking", "result": "FAIL", "stdout": "3 Tests 0 Failures 0 Ignored \nOK\n"}
{"name": "crashing", "result": "FAIL", "stdout": "x.c:1:some:PASS\nx.c:2:bad:FAIL: Was 1\nx.c:3:more:PASS\n"}
{"name": "tap", "result": "FAIL", "stdout": "1..2\nnot ok 1 - one\nok 2 - two\n"}
{"name": "short", "result": "ERROR", "stdout": "1..4\nok 1 - one\n"}
{"name": "hanging", "result": "TIMEOUT", "stdout": ""}
END

# A run without tests has failed, and so has one in which meson itself fails.
expect '0 passed, 1 failed' 1 0 <<'END'
END
expect '1 passed, 1 failed' 1 1 <<'END'
{"name": "a", "result": "OK"}
END

exit "$result"
