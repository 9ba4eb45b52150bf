#!/bin/sh
# usage: check.sh COMMAND [ARGUMENT]...
#
# Run an example of a worker, and compare what it prints with what all of them print. with_qlessd
# runs this.

set -eu

output=$("$@")
expected='hello ann
complete
failed j2'
if [ "$output" != "$expected" ]; then
  printf 'expected:\n%s\nfound:\n%s\n' "$expected" "$output" >&2
  exit 1
fi
