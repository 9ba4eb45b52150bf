#!/bin/sh
# usage: test_check.sh CHECK PROGRAM BUDGETS COMPILER VALGRIND
#
# The check must find operations above their budget or without one, and count the same each time.

set -eu

check=$1 program=$2 budgets=$3 valgrind=$5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
  echo "$1"
  cat "$dir/output"
  exit 1
}

# Budgets for a compiler that does not exist.
grep '^#' "$budgets" >"$dir/budgets"
"$check" "$program" "$dir/budgets" other-1-cpu "$valgrind" --update
"$check" "$program" "$dir/budgets" other-1-cpu "$valgrind" >"$dir/output" ||
  fail "what was just written is over budget"
# Sets of limits are found by addresses, so a probe more or less may change the last digit.
if grep '^ok' "$dir/output" | grep -qv ' ([+-]0\.0%)$'; then
  fail "two runs did not count the same"
fi

# Reduce one budget by a fifth, and remove another.
awk '/^complete  / { sub(/[0-9]+$/, int($NF * 0.8)) } !/^cancel  /' "$dir/budgets" >"$dir/changed"
if "$check" "$program" "$dir/changed" other-1-cpu "$valgrind" >"$dir/output"; then
  fail "nothing was over budget"
fi
grep -q '^not ok [0-9]* - complete: .* (+25.[0-9]%)$' "$dir/output" || fail "complete is not over budget"
grep -q '^not ok [0-9]* - cancel: .*no budget$' "$dir/output" || fail "cancel has a budget"
if [ "$(grep -c '^not ok' "$dir/output")" -ne 2 ]; then
  fail "others are over budget, too"
fi

"$check" "$program" "$budgets" another-2-cpu "$valgrind" >"$dir/output" || true
grep -q '^# no budgets for another-2-cpu' "$dir/output" || fail "an unknown compiler goes unnoticed"
