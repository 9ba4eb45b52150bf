#!/bin/sh
# usage: test_clients_manual.sh QLESSD-CLIENTS.7 WORKER.PY
#
# The last display of the manual page equals the file of the Python example.

set -eu

page=$1
example=$2
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
