#!/bin/sh
# usage: scripts/install-config.sh FILE DIRECTORY
#
# Called by meson install: put the sample configuration into DIRECTORY, or under DESTDIR where that
# is set. A file that is there stays: it is the operator's.

set -eu

to=${DESTDIR-}$2/$(basename "$1")
if [ -e "$to" ]; then
  echo "Keeping $to"
else
  install -D -m 0644 "$1" "$to"
fi
