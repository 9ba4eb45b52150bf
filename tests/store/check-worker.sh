#!/bin/sh
# usage: check-worker.sh WORKER EXPECTED QLESSD QLESSD-CHECK
#
# Run the same worker with jobs in a directory, and on a server that has a directory of its own. The
# output and the states of the jobs must be the same.

set -eu

worker=$1
expected=$2
qlessd=$3
check=$4
dir=$(mktemp -d)
pid=
trap 'test -z "$pid" || kill "$pid"; rm -rf "$dir"' EXIT

mkdir -m 700 "$dir/inside" "$dir/server"
"$worker" "$dir/inside" >"$dir/inside.txt"
diff -u "$expected" "$dir/inside.txt"

"$qlessd" --port 0 --unixsocket "$dir/socket" --dir "$dir/server" --logfile "$dir/log" &
pid=$!
until grep -q 'ready to accept connections' "$dir/log" 2>/dev/null; do
  kill -0 "$pid"
  sleep 0.02
done
"$worker" "unix://$dir/socket" >"$dir/server.txt"
diff -u "$expected" "$dir/server.txt"
kill "$pid"
wait "$pid"
pid=

for place in inside server; do
  "$check" "$dir/$place" | sed -n 's/^database 0: //p' >"$dir/$place.states"
done
grep -q '^4 jobs, .* 1 failed, 3 complete$' "$dir/inside.states"
diff -u "$dir/inside.states" "$dir/server.states"
