#!/bin/sh
# usage: check-manual.sh HEADER MANUAL
#
# The manual page names every function and every error of the header, and no others.

set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
names='qless_[a-z_]+|QLESS_STORE_E[A-Z]+'
grep -oE '\b(qless_[a-z0-9_]+\(|QLESS_STORE_E[A-Z]+ =)' "$1" | grep -oE "$names" |
  grep -vx 'qless_store_log_fn' | sort -u >"$dir/header"
grep -E '^\.(Fn|It Dv|Dv) ' "$2" | grep -oE "^\.(Fn|It Dv|Dv) ($names)" | grep -oE "$names" |
  sort -u >"$dir/manual"
diff "$dir/header" "$dir/manual" >"$dir/diff" && exit
echo "< only in the header, > only in the manual page:"
grep '^[<>]' "$dir/diff"
exit 1
