#!/bin/sh
# usage: test_check_prose.sh CHECK FIXTURES
#
# The complaints about the fixtures must be exactly the expected ones. The folder is copied, because
# the check skips folders named fixtures.

set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cp -r "$2" "$dir/prose"
cd "$dir"
if "$1" prose >found; then
  echo "accepted the violations"
  exit 1
fi
diff prose/expected.txt found

rm prose/bad.* prose/meson.build
if ! "$1" prose; then
  echo "complained about files without a violation"
  exit 1
fi

mkdir fixtures && echo "so many" >fixtures/page.md
"$1" .
