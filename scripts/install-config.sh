#!/bin/sh
# usage: scripts/install-config.sh FILE TARGET
#
# Called by meson install: copy the configuration of the service to TARGET, below DESTDIR if that is
# set, and make the directory conf.d beside it. An existing file stays, because it belongs to the
# operator.

set -eu

to=${DESTDIR-}$2
install -d "$(dirname "$to")/conf.d"
if [ -e "$to" ]; then
  echo "Keeping $to"
else
  install -D -m 0644 "$1" "$to"
fi
