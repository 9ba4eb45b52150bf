#!/bin/sh
# usage: scripts/install-config.sh FILE DIRECTORY
#
# Called by meson install: copy the sample configuration into DIRECTORY, below DESTDIR if that is set.
# An existing file stays, because it belongs to the operator.

set -eu

to=${DESTDIR-}$2/$(basename "$1")
if [ -e "$to" ]; then
  echo "Keeping $to"
else
  install -D -m 0644 "$1" "$to"
fi
