#!/bin/sh
# usage: check-symbols.sh HEADER SHARED-LIBRARY [STATIC-LIBRARY]
#
# Each library must export exactly the functions that the header declares.

set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
${CC:-cc} -E "$1" | grep -oE '^[^{]*\bqless_[a-z0-9_]+\(' | grep -vE '^(static inline|typedef) ' |
  grep -oE '\bqless_[a-z0-9_]+\($' | tr -d '(' | sort -u >"$dir/declared"
nm -D --defined-only "$2" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$dir/shared"
libraries=shared
if [ $# -gt 2 ]; then
  nm -g --defined-only "$3" | awk 'NF == 3 { print $3 }' | sort >"$dir/static"
  libraries="shared static"
fi

status=0
for library in $libraries; do
  if ! diff "$dir/declared" "$dir/$library" >"$dir/diff"; then
    echo "the $library library (< only in the header, > only in the library):"
    grep '^[<>]' "$dir/diff"
    status=1
  fi
done
exit "$status"
