#!/bin/sh
# usage: test_check_purity.sh CHECK IMPURE-LIBRARY
#
# The check must refuse an impure library, and name every reason.

set -u

if complaints=$("$1" "$2"); then
  echo "an impure library was accepted"
  exit 1
fi

status=0
for name in puts time forbidden_words forbidden_counter forbidden_thread_counter; do
  case $complaints in
  *": $name is "*) ;;
  *)
    echo "no complaint about $name"
    status=1
    ;;
  esac
done
case $complaints in
*allowed_words* | *impure_count*)
  echo "a complaint about what is allowed"
  status=1
  ;;
esac
printf '%s\n' "$complaints"
exit "$status"
