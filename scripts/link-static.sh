#!/bin/sh
# usage: scripts/link-static.sh OUTPUT COMPILER... -- LIBRARY...
#
# Make one static library of several, in which only the names of include/qless.h can be seen: those
# that begin with qless_. A program that links with it may have a buf_append of its own. OBJCOPY, AR
# in the environment are used where they are set.

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

# Objects for LTO have no machine code yet, and their names could not be hidden.
if echo 'int x;' | $compiler -flinker-output=nolto-rel -r -x c - -o "$object" 2>/dev/null; then
  compiler="$compiler -flinker-output=nolto-rel"
fi
$compiler -r -nostdlib -Wl,--whole-archive "$@" -Wl,--no-whole-archive -o "$object"
"${OBJCOPY:-objcopy}" --wildcard --keep-global-symbol='qless_*' "$object"
rm -f "$output"
"${AR:-ar}" rcs "$output" "$object"
rm -f "$object"
