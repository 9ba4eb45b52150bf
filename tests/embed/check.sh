#!/bin/sh
# usage: check.sh PROGRAM EXPECTED
#
# Run a program that embeds the engine, and compare its output.

set -eu

"$1" | diff -u "$2" -
