#!/bin/sh
# usage: test_check_error_codes.sh CHECK MANUAL DIRECTORY...
#
# The check must find a code that the manual page lacks, and a listed code that no error has.

set -u

bad=$(mktemp)
trap 'rm -f "$bad"' EXIT
status=0

# usage: refuses SED-SCRIPT COMPLAINT DIRECTORY...
refuses() {
  sed "$1" "$manual" >"$bad"
  complaint=$2
  shift 2
  if complaints=$("$check" "$bad" "$@"); then
    echo "accepted, although: $complaint"
    status=1
  fi
  case $complaints in
  *"$complaint") ;;
  *)
    echo "no complaint: $complaint"
    status=1
    ;;
  esac
}

check=$1 manual=$2
shift 2
for code in MISCONF LOADING DENIED CLOCKSKEW UNBLOCKED NOJOB NOTBUSY; do
  refuses "/^[.]It Li $code\$/d" "lacks $code" "$@"
done
refuses 's/^[.]It Li BADARG , BADJSON/.It Li BADARG/' 'lacks BADJSON' "$@"
refuses 's/^[.]It Li ERR$/.It Li ERR , NOSUCH/' 'has the code NOSUCH' "$@"
exit "$status"
