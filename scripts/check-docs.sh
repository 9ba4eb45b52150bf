#!/bin/sh
# usage: scripts/check-docs.sh DUMP-OPTIONS QLESSD.CONF QLESSD.CONF.5
#
# Hold the documents to the tables in the source. DUMP-OPTIONS is a program that prints the table of
# directives (tests/checks/dump_options.c). The sample file must have every directive at its
# default, under a comment, and the manual page must have it with its default and with whether it
# can be changed while the server runs; and neither may have any other.

set -eu

dump=$1
sample=$2
page=$3
tab=$(printf '\t')
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

# usage: compare WHAT EXPECTED-FILE FOUND-FILE
compare() {
  sort "$2" >"$2.sorted"
  sort "$3" >"$3.sorted"
  if ! diff "$2.sorted" "$3.sorted" >"$dir/diff"; then
    echo "$1 (< as in the source, > as in the document):"
    grep '^[<>]' "$dir/diff"
    status=1
  fi
}

# The sample file: its lines are those of a file with all defaults. A directive without a line at
# its default has an example in a comment.
check_sample() {
  sed -n "s/^line$tab//p" "$dir/dump" >"$dir/lines"
  grep -v -e '^#' -e '^[[:blank:]]*$' "$sample" >"$dir/sample_lines" || true
  compare "$sample: the directives and their defaults" "$dir/lines" "$dir/sample_lines"

  sed -n "s/^option$tab\([^$tab]*\)$tab.*/\1/p" "$dir/dump" | while read -r name; do
    grep -q -e "^$name " -e "^# $name " "$sample" || echo "$sample: nothing about $name"
  done >"$dir/missing"

  # A comment explains the directives that follow it, up to the next blank line.
  awk -v sample="$sample" '
    /^#/ { explained = 1 }
    /^[ \t]*$/ { explained = 0 }
    /^[^# \t]/ && !explained { print sample ": no comment about " $1 }
  ' "$sample" >>"$dir/missing"
  if [ -s "$dir/missing" ]; then
    cat "$dir/missing"
    status=1
  fi
}

# The manual page: each directive is an item (.It Ic name) that ends with a line
# "Default: value." or "Default: value; read at the start.".
check_page() {
  awk -F "$tab" '
    $1 == "option" {
      value = $4 == "" ? "empty" : $4
      print $2 " Default: " value ($3 == "start" ? "; read at the start." : ".")
    }
  ' "$dir/dump" >"$dir/items"
  awk '
    function end_item() {
      if (name != "")
        print name " " text
      name = ""
    }
    /^\.It Ic / { end_item(); name = $3; text = "without a default" }
    /^Default: / { text = $0 }
    /^\.El/ { end_item() }
  ' "$page" >"$dir/page_items"
  compare "$page: the directives and their defaults" "$dir/items" "$dir/page_items"
}

"$dump" >"$dir/dump"
check_sample
check_page
exit "$status"
