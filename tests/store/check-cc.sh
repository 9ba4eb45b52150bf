#!/bin/sh
# usage: check-cc.sh COMPILER SOURCE INCLUDE-DIRECTORY LIBRARY
#
# Compile a program in C++ with the public header, with all warnings as errors, and run it.

set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Wold-style-cast -Werror -I "$3" "$2" \
  -o "$dir/program" "$4" -Wl,-rpath,"$(dirname "$4")"
mkdir -m 700 "$dir/store"
test "$("$dir/program" "$dir/store")" = 'hello from C++'
