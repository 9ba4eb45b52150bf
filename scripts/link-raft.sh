#!/bin/sh
# usage: scripts/link-raft.sh OUTPUT LIBRAFT COMPILER...
#
# Make a static library of the core of libraft: what raft_step() needs, and nothing of the parts that
# use libuv and lz4. It exports only names that begin with raft_. The environment may set OBJCOPY, AR
# and NM.
#
# The code of Debian's static library cannot become part of a shared library, as libqless-store is,
# because it refers to data of the C library: stderr for traces, and the name of the program, for a test
# of another project. src/replication/raft_glue.c has replacements, which do nothing.

set -eu

output=$1
archive=$2
shift 2
object=$output.o

# LTO objects would need a plugin; these are none.
"$@" -r -nostdlib -Wl,-u,raft_step,-u,raft_init "$archive" -o "$object"

if "${NM:-nm}" -u "$object" | grep -E ' (uv_|LZ4)' >&2; then
  echo "$0: the core of libraft needs more than the C library" >&2
  rm -f "$object"
  exit 1
fi

"${OBJCOPY:-objcopy}" --redefine-sym stderr=raft_glue_stderr --redefine-sym __progname=raft_glue_program \
  --wildcard --keep-global-symbol='raft_*' "$object"
rm -f "$output"
"${AR:-ar}" rcs "$output" "$object"
rm -f "$object"
