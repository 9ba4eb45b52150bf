#!/bin/sh
# usage: test_check_docs.sh CHECK DUMP-OPTIONS QLESSD.CONF QLESSD.CONF.5
#
# The check must find every kind of difference between a document and the table, and name the
# directive.

set -u

check=$1
dump=$2
sample=$3
page=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

# usage: expect_complaint DIRECTIVE SED-SCRIPT DOCUMENT
#
# Change a copy of one document. The complaints of the check must name the directive.
expect_complaint() {
  cp "$sample" "$dir/sample"
  cp "$page" "$dir/page"
  sed -i "$2" "$dir/$3"
  if complaints=$("$check" "$dump" "$dir/sample" "$dir/page"); then
    echo "accepted: $2 in the $3"
    status=1
  elif ! printf '%s\n' "$complaints" | grep -q "$1"; then
    echo "nothing about $1 after $2 in the $3:"
    printf '%s\n' "$complaints"
    status=1
  fi
}

expect_complaint maxclients '/^maxclients /d' sample
expect_complaint maxclients 's/^maxclients .*/maxclients 5/' sample
expect_complaint logfile 's/^logfile ""/logfile "x"/' sample
expect_complaint pubsub '/^client-output-buffer-limit pubsub/d' sample
expect_complaint user '/^# user /d' sample
expect_complaint 'no comment about port' '/^# The TCP port/d' sample
expect_complaint no-such-directive '$ a no-such-directive 1' sample
expect_complaint maxclients '/^\.It Ic maxclients/d' page
expect_complaint maxclients 's/^Default: 10000\./Default: 9999./' page
expect_complaint 'timeout Default: 0; read' \
  '/^\.It Ic timeout/,/^Default/ s/0\./0; read at the start./' page
expect_complaint dir '/^\.It Ic dir/,/^Default/ s/^Default.*//' page
expect_complaint no-such-directive 's/^\.It Ic port/.It Ic no-such-directive\nDefault: 1.\n&/' page
exit "$status"
