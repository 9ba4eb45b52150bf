#!/bin/sh
# usage: test_run_unit.sh QLESS-RUN QLESS-RUN@.SERVICE
#
# systemd accepts the example of a unit, which is well confined and runs a command that qless-run
# understands.

set -eu

program=$(realpath "$1")
unit=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

sed -e "s|^ExecStart=[^ ]*|ExecStart=$program|" -e "s|/usr/local/lib/qless-run/%i|/bin/true|" \
  "$unit" >"$dir/qless-run@.service"
systemd-analyze verify --man=no --recursive-errors=no "$dir/qless-run@.service"
systemd-analyze security --offline=true --threshold=30 --no-pager "$dir/qless-run@.service"

# The arguments of the unit, with specifiers and variables replaced, and a server that is not there.
# shellcheck disable=SC2016 # the variable is one of the unit
arguments=$(sed -n 's/^ExecStart=[^ ]* //p' "$dir/qless-run@.service" |
  sed -e 's/%H/host/g' -e 's/%i/mail/g' -e "s|%C|$dir|g" -e 's|\$OPTIONS|--version|')
# shellcheck disable=SC2086 # the words are the arguments
"$program" $arguments | grep -q '^qless-run [0-9]'
