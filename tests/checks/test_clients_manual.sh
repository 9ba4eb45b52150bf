#!/bin/sh
# usage: test_clients_manual.sh QLESSD-CLIENTS.7 WORKER.PY WORKER...
#
# The last display of the manual page equals the file of the Python example. The page says how long
# the other examples are at most.

set -eu

page=$1
example=$2
shift 2
shown=$(mktemp)
trap 'rm -f "$shown"' EXIT

awk '
  /^[.]Bd -literal/ { text = ""; inside = 1; next }
  /^[.]Ed/ { inside = 0; next }
  inside {
    sub(/^\\&/, "")
    gsub(/\\e/, "\\")
    text = text $0 "\n"
  }
  END { printf "%s", text }
' "$page" >"$shown"

diff "$example" "$shown"

most=$(sed -n 's/^Each has at most \([0-9]*\) lines[.]$/\1/p' "$page")
for worker; do
  lines=$(wc -l <"$worker")
  if ! [ "$lines" -le "$most" ]; then
    echo "$worker has $lines lines, but the manual page says at most $most" >&2
    exit 1
  fi
done
