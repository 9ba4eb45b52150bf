#!/bin/sh
# usage: scripts/link-static.sh OUTPUT COMPILER... -- LIBRARY...
#
# Make one static library of several that exports only the names of include/qless.h: those that begin
# with qless_. A program that links with it may define its own buf_append. The environment may set
# OBJCOPY and AR.

set -eu

output=$1
shift
object=$output.o
compiler=
while [ "$1" != -- ]; do
  compiler="$compiler $1"
  shift
done
shift

# The names of LTO objects cannot be hidden, because they have no machine code yet.
if echo 'int x;' | $compiler -flinker-output=nolto-rel -r -x c - -o "$object" 2>/dev/null; then
  compiler="$compiler -flinker-output=nolto-rel"
fi
$compiler -r -nostdlib -Wl,--whole-archive "$@" -Wl,--no-whole-archive -o "$object"
"${OBJCOPY:-objcopy}" --wildcard --keep-global-symbol='qless_*' "$object"
rm -f "$output"
"${AR:-ar}" rcs "$output" "$object"
rm -f "$object"
