#!/bin/bash
# usage: test_check_includes.sh CHECK COMPILER ARGUMENT...
#
# Runs the check on a small tree that obeys every rule, and then on copies that each break one.

set -euo pipefail
check=$1
shift
compiler=("$@")
good=$(mktemp -d)
bad=$(mktemp -d)
trap 'rm -rf "$good" "$bad"' EXIT
status=0

# usage: write PATH LINE...
write() {
  local path=$1
  shift
  mkdir -p "$(dirname "$path")"
  printf '%s\n' "$@" >"$path"
}

make_good_tree() {
  write "$good/src/meson.build" \
    "layers = [ # lowest first" \
    "  ['low', files('low/low.c')," \
    "    [], []]," \
    "  ['middle', files('middle/middle.c', 'middle/part.c', 'middle/other.c')," \
    "    ['low'], [dep_threads]]," \
    "]" \
    "executable('program', 'main.c'," \
    "  dependencies: [layer_deps['middle'], layer_deps['low']])"
  write "$good/src/low/low.h" "int low(void);"
  write "$good/src/low/low.c" '#include "low/low.h"'
  write "$good/src/middle/middle.h" '#include "low/low.h"' "int middle(void);"
  write "$good/src/middle/middle.c" '#include "middle/middle.h"' '#include "middle/middle_int.h"'
  write "$good/src/middle/middle_int.h" "#include <pthread.h>"
  write "$good/src/middle/part.c" '#include "middle/middle_int.h"'
  write "$good/src/middle/part.h" "int part(void);"
  write "$good/src/middle/other.c" '#include "low/low.h"'
  write "$good/src/main.c" '#include "middle/middle.h"' '#include "low/low.h"'
}

# usage: expect_complaint TEXT FILE LINE...
#
# Appends the lines to a file of a copy of the tree. The check must print the text.
expect_complaint() {
  local text=$1 file=$2 complaints
  shift 2
  rm -rf "${bad:?}/src"
  cp -r "$good/src" "$bad"
  printf '%s\n' "$@" >>"$bad/src/$file"
  if complaints=$("$check" "$bad" "${compiler[@]}"); then
    echo "accepted in $file: $*"
    status=1
  elif [[ $complaints != *"$text"* ]]; then
    echo "not '$text' about $file, but:"
    printf '%s\n' "$complaints"
    status=1
  fi
}

make_good_tree
if ! "$check" "$good" "${compiler[@]}"; then
  echo "refused a tree that obeys every rule"
  exit 1
fi

expect_complaint "src/low/low.c:2: low may not include middle/middle.h" \
  low/low.c '#include "middle/middle.h"'
expect_complaint "src/low/low.h:2: low may not include middle/middle.h" \
  low/low.h '#include "middle/middle.h"'
expect_complaint "src/main.c:3: middle/middle_int.h is internal to middle" \
  main.c '#include "middle/middle_int.h"'
expect_complaint "src/low/low.c:2: low does not name the library of <pthread.h>" \
  low/low.c '#include <pthread.h>'
expect_complaint 'src/low/low.c:2: "low.h" is no path below src' low/low.c '#include "low.h"'
expect_complaint "src/low/new.c: is in no layer and no program" low/new.c "int new_one;"
expect_complaint "low/low.h: does not compile alone" low/low.h "unknown_type low_two(void);"
expect_complaint "src/middle/other.c:1: middle/other.h must be included first" \
  middle/other.h "int other(void);"
expect_complaint "low names middle, but includes none of its headers" meson.build \
  "  ['low', files(), ['middle'], []],"
exit "$status"
