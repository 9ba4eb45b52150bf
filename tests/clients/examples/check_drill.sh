#!/bin/sh
# usage: check_drill.sh PYTHON DRILL.PY: what was loaded is found, and what is taken away is missed.
set -eu
book=$(mktemp)
trap 'rm -f "$book"' EXIT
"$1" "$2" load "$book" 1
"$1" "$2" check "$book" | grep -q '; 0 are wrong$'
redis-cli -p "$QLESSD_PORT" cancel "$(redis-cli -p "$QLESSD_PORT" peek drill-0 1 |
  sed 's/.*"jid":"\([^"]*\)".*/\1/')" >/dev/null
"$1" "$2" check "$book" | grep -q '; 1 are wrong$'
