#!/bin/sh
# usage: test_check_command_docs.sh CHECK COMMANDS.DEF MANUAL
#
# The check has to notice an entry that is missing, one that has another name, and one that has
# another synopsis.

set -u

bad=$(mktemp)
trap 'rm -f "$bad"' EXIT
status=0

# usage: refuses SED-SCRIPT COMPLAINT
refuses() {
  sed "$1" "$manual" >"$bad"
  if complaints=$("$check" "$commands" "$bad"); then
    echo "accepted: $1"
    status=1
  fi
  case $complaints in
  *"$2"*) ;;
  *)
    echo "no complaint \"$2\" about: $1"
    status=1
    ;;
  esac
}

check=$1 commands=$2 manual=$3
refuses '/^[.]Ss TIME/,/^[.]Dl/d' 'missing or different: TIME'
refuses 's/^[.]Ss PING/.Ss PONG/' 'no such row: PONG'
refuses 's/^[.]Dl ECHO message/.Dl ECHO text/' 'no such row: ECHO text'
refuses '/^[.]Dl MULTI/d' 'no such row: MULTI (no synopsis)'
exit "$status"
