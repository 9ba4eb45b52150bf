#!/bin/sh
# usage: test_check_command_docs.sh CHECK MANUAL COMMANDS.DEF...
#
# The check must find a missing entry, an entry with another name, and one with another synopsis.

set -u

bad=$(mktemp)
trap 'rm -f "$bad"' EXIT
status=0

# usage: refuses SED-SCRIPT COMPLAINT
refuses() {
  edit=$1 complaint=$2
  shift 2
  sed "$edit" "$manual" >"$bad"
  if complaints=$("$check" "$bad" "$@"); then
    echo "accepted: $edit"
    status=1
  fi
  case $complaints in
  *"$complaint"*) ;;
  *)
    echo "no complaint \"$complaint\" about: $edit"
    status=1
    ;;
  esac
}

check=$1 manual=$2
shift 2
refuses '/^[.]Ss TIME/,/^[.]Dl/d' 'missing or different: TIME' "$@"
refuses 's/^[.]Ss PING/.Ss PONG/' 'no such row: PONG' "$@"
refuses 's/^[.]Dl ECHO message/.Dl ECHO text/' 'no such row: ECHO text' "$@"
refuses '/^[.]Dl MULTI/d' 'no such row: MULTI (no synopsis)' "$@"
exit "$status"
