#!/bin/sh
# usage: test_benchmark_manual.sh QLESSD-BENCHMARK QLESSD-BENCHMARK.1
#
# The manual page lists exactly the options and workloads of the program.

set -eu

program=$1
page=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$program" --help | sed -n 's/^  --\([a-z]*\).*/\1/p' | sort >"$dir/options"
grep -o 'Fl Fl [a-z]*' "$page" | sed 's/Fl Fl //' | sort -u >"$dir/page_options"

"$program" --workload help | sed 's/ .*//' | sort >"$dir/workloads"
sed -n '/^\.Sh WORKLOADS/,/^\.Sh OUTPUT/ s/^\.It Cm //p' "$page" | sort >"$dir/page_workloads"

diff "$dir/options" "$dir/page_options"
diff "$dir/workloads" "$dir/page_workloads"
