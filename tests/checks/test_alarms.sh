#!/bin/sh
# usage: test_alarms.sh RULES TESTS
#
# Check the alarms for Prometheus: promtool accepts them, and each fires at what its tests say.

set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$1" "$dir/alarms.yml"
cp "$2" "$dir/alarms_test.yml"
cd "$dir"
promtool check rules alarms.yml
promtool test rules alarms_test.yml
# Each alarm has a test in which it fires.
sed -n 's/^ *- alert: //p' alarms.yml | while read -r name; do
  if ! grep -A 2 "alertname: $name\$" alarms_test.yml | grep -q 'exp_labels'; then
    echo "no test lets $name fire"
    exit 1
  fi
done
