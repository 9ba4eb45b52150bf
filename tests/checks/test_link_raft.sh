#!/bin/sh
# usage: test_link_raft.sh LINK-RAFT LIBRAFT CORE PROGRAM... -- COMPILER...
#
# What is linked of libraft needs the C library only, and a part that needs more is refused.

set -eu

link_raft=$1
archive=$2
core=$3
shift 3

# Programs and shared libraries.
while [ "$1" != -- ]; do
  if readelf -d "$1" | grep -E 'TEXTREL|NEEDED.*(libraft|libuv|liblz4)'; then
    echo "$1 needs a library of libraft at run time, or has code that is not shared"
    exit 1
  fi
  shift
done
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

needed=$(nm -u "$core" | awk 'NF == 2 { print $2 }')
for name in $needed; do
  case $name in
  raft_glue_stderr | raft_glue_program) ;;
  abort | aligned_alloc | calloc | clock_gettime | free | getenv | malloc | mem* | realloc) ;;
  __assert_fail | __*_chk | __stack_chk_fail | _GLOBAL_OFFSET_TABLE_ | fprintf | snprintf | sprintf | str*) ;;
  *)
    echo "the core of libraft needs $name"
    exit 1
    ;;
  esac
done

"$link_raft" "$work/core.a" "$archive" "$@"
nm "$work/core.a" | grep -q ' T raft_step$'
if nm "$work/core.a" | grep -E ' [A-TV-Z] ' | grep -v ' raft_'; then
  echo "other names than raft_ are visible"
  exit 1
fi

# With the entry to its input and output, libuv would be needed.
if "$link_raft" "$work/all.a" "$archive" "$@" -Wl,-u,raft_uv_init 2>"$work/errors"; then
  echo "a core that needs libuv is not refused"
  exit 1
fi
grep -q 'uv_' "$work/errors"
test ! -e "$work/all.a"
