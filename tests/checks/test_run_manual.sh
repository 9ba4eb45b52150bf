#!/bin/sh
# usage: test_run_manual.sh QLESS-RUN QLESS-RUN.1 HANDLER...
#
# The manual page lists exactly the options of the program, except those that name a server. It shows
# the handlers that the tests run, which are short.

set -eu

program=$1
page=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$program" --help | sed '/^The server:/,$d' | grep -o -e '--[a-z-]* ' -e '--[a-z-]*$' |
  tr -d ' ' | sed 's/^--//' | sort -u >"$dir/options"
{
  sed -n '/^\.Sh OPTIONS/,/^\.Sh WHAT/ s/^\.It .*Fl Fl \([a-z-]*\).*/\1/p' "$page"
  sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/p' "$page" | grep -o 'Fl Fl [a-z][a-z-]*' | sed 's/Fl Fl //'
} | sort -u >"$dir/page_options"
diff "$dir/options" "$dir/page_options"

mandoc -Tascii -Owidth=200 "$page" | col -bx | sed 's/^ *//' >"$dir/text"
for handler; do
  test "$(wc -l <"$handler")" -le 15
  sed 's/^ *//' "$handler" >"$dir/handler"
  # The lines of the handler follow each other in the page.
  awk 'NR == FNR { line[++count] = $0; next }
    { at = $0 == line[at + 1] ? at + 1 : ($0 == line[1] ? 1 : 0) }
    at == count { found = 1; exit }
    END { exit !found }' "$dir/handler" "$dir/text" || {
    echo "$page does not show $handler"
    exit 1
  }
done
